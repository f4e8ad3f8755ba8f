/**
 * The sandbox's record: what arrived, what was told and what is true. The auditor judges a run from it, so it is written
 * before any fault is played. In memory, and line by line in a file when one is given.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { AmountCents, EpochMs, RateHundredths, RequestId } from '../domain/glossary.ts';
import type { AnswerFault, SourceFault, WebhookFault } from './faults.ts';
import type { DayNumber } from './loan.ts';
import type { Pledge, WorkerChoice } from './worker-choice.ts';
import type { Segment } from './world.ts';

/** Truth of one request, written when its batch opens. */
export type EmittedRequest = {
  kind: 'request';
  requestId: RequestId;
  index: number;
  batchId: string;
  segment: Segment;
  regime: number;
  amountCents: AmountCents;
  installments: number;
  guarantee: Pledge | null;
  /** The margin that the service holds; said in the request unless `marginOmitted`. */
  marginCents: AmountCents;
  marginOmitted: boolean;
  eligible: boolean;
  politicallyExposed: boolean;
  tenureDays: number;
  ageDays: number;
  releasedOn: DayNumber;
  startsAt: EpochMs;
  /** The auction's end: no first byte at or after it. */
  deadlineAt: EpochMs;
  expiresAt: EpochMs;
  /** Rivals' rates in hundredths; .5 is half a hundredth below a cell. Ours never. */
  rivals: readonly { lender: string; rateHundredths: number; placedAt: EpochMs }[];
};

export type ArrivedCall = {
  kind: 'call';
  path: string;
  /** Read from the raw bytes, whatever else is wrong with them; null when there is none. */
  requestId: RequestId | null;
  sha256: string;
  body: string;
  arrivedAt: EpochMs;
  /** Monotonic, milliseconds. */
  arrivedMonotonicMs: number;
  authorised: boolean;
  /** The body was handed to the service: false for 401, 429 and errors before landing. */
  landed: boolean;
  /** What the service made of it; null when it did not land. */
  outcome: string | null;
  /** Request code of an accepted bid (its bid id) or of an acknowledged query. */
  requestCode: string | null;
  fault: AnswerFault | null;
  /** The header, where one came. */
  idempotencyKey?: string;
};

/** A question to the played source, with what it says if nothing goes wrong. */
type SourceQuestion = { kind: 'question'; body: string; score: number; fault: SourceFault | null; at: EpochMs };

type DeliveryKind =
  | 'requests'
  | 'ended'
  | 'contemplated'
  | 'proposed'
  | 'link-list'
  | 'link-detail'
  | 'contract'
  | 'renegotiation'
  | 'endorsement';

/** One operation that the service has executed: what happens to the same subject twice was done twice. */
type ExecutedOperation = {
  kind: 'operation';
  operation: string;
  /** Request and competence, note number, proposal code, or the body's hash: what must not be done again. */
  subject: string;
  /** The idempotency key it came with. */
  key: string | null;
  requestCode: string | null;
  at: EpochMs;
};

export type Delivery = {
  kind: 'delivery';
  /** Key of the delivery; a duplicate fault is an attempt of the same delivery. */
  deliveryId: string;
  what: DeliveryKind;
  requestIds: readonly RequestId[];
  batchId: string | null;
  requestCode: string | null;
  sha256: string;
  dueAt: EpochMs;
  fault: WebhookFault | null;
};

type DeliveryAttempt = {
  kind: 'attempt';
  deliveryId: string;
  attempt: number;
  sentAt: EpochMs;
  answeredAt: EpochMs;
  /** Null when no answer came; `error` then has its code. */
  status: number | null;
  error: string | null;
  /** Answered 2xx: from here on the desk answers for it. */
  acknowledged: boolean;
};

export type AuctionEnd = {
  kind: 'ended';
  requestId: RequestId;
  batchId: string;
  endedAt: EpochMs;
  /** Best first. `ours` marks the bid of the partner that is tested. */
  ranked: readonly { bidId: string; ours: boolean; rateHundredths: number; position: number; placedAt: EpochMs }[];
};

export type WonTruth = {
  kind: 'won';
  requestId: RequestId;
  bidId: string;
  rateHundredths: RateHundredths;
  amountCents: AmountCents;
  installments: number;
  outside: boolean;
  errors: readonly string[];
  choice: WorkerChoice;
};

export type SandboxEntry =
  | EmittedRequest
  | ArrivedCall
  | Delivery
  | DeliveryAttempt
  | AuctionEnd
  | WonTruth
  | ExecutedOperation
  | SourceQuestion;

export type SandboxRecord = {
  write: (entry: SandboxEntry) => void;
  entries: () => readonly SandboxEntry[];
  of: <K extends SandboxEntry['kind']>(kind: K) => Extract<SandboxEntry, { kind: K }>[];
  close: () => void;
};

/** `file`: path of an NDJSON file, made anew; each entry is in it before the call returns. */
export function createRecord(file: string | null): SandboxRecord {
  const entries: SandboxEntry[] = [];
  let descriptor = file === null ? null : openSync(file, 'w');
  return {
    write: (entry) => {
      entries.push(entry);
      if (descriptor !== null) writeSync(descriptor, `${JSON.stringify(entry)}\n`);
    },
    entries: () => entries,
    of: <K extends SandboxEntry['kind']>(kind: K) =>
      entries.filter((entry): entry is Extract<SandboxEntry, { kind: K }> => entry.kind === kind),
    close: () => {
      if (descriptor !== null) closeSync(descriptor);
      descriptor = null;
    },
  };
}

/** The id in a bid's bytes, found without trusting the rest of them. */
export function requestIdIn(body: string): RequestId | null {
  return /"numeroSolicitacao"\s*:\s*"?0*(\d+)/i.exec(body)?.[1] ?? null;
}
