/** What the auditor judges: the sandbox's record and the log, put side by side, request by request. Nothing else is believed. */
import type { EpochMs, RequestId } from '../../domain/glossary.ts';
import type { Limits } from '../../domain/policy.ts';
import type { AuctionRecord, CallbackRecord } from '../../domain/records.ts';
import { bidPath } from '../../wire/bid.ts';
import type { ArrivedCall, AuctionEnd, Delivery, EmittedRequest, SandboxRecord, WonTruth } from '../record.ts';
import { absorb, type Evidence, noEvidence, type Standing, standingOf } from './evidence.ts';
import type { AuditSettings } from './violation.ts';

type LogItem = { partition: number; offset: number; record: AuctionRecord };
type CallbackItem = { offset: number; record: CallbackRecord };

export type RequestCase = {
  requestId: RequestId;
  /** Of the log, where all records of the request stand; 0 when there are none. */
  partition: number;
  truth: EmittedRequest | null;
  /** Bytes that arrived for incluir-lance, in order of arrival. */
  calls: ArrivedCall[];
  /** In log order. */
  records: AuctionRecord[];
  auctionEnd: AuctionEnd | null;
  wins: WonTruth[];
  evidence: Evidence;
  standing: Standing;
};

export type Telling = {
  delivery: Delivery;
  /** When the first attempt that was answered 2xx went out; null when none was. */
  acknowledgedSentAt: EpochMs | null;
  /** When the first such answer came. */
  acknowledgedAt: EpochMs | null;
};

export type Run = {
  cases: ReadonlyMap<RequestId, RequestCase>;
  /** Bids whose bytes name no request. */
  nameless: readonly ArrivedCall[];
  /** All records, in log order within a partition, one partition after the other. */
  log: readonly AuctionRecord[];
  tellings: readonly Telling[];
  callbacks: readonly CallbackRecord[];
  /** Partitions that hold any record. */
  partitions: number;
};

type RunSources = {
  record: Pick<SandboxRecord, 'entries'>;
  /** Topic `auctions`, in log order within a partition, one partition after the other. */
  log: Iterable<LogItem> | AsyncIterable<LogItem>;
  /** Topic `callbacks`, in log order. */
  callbacks: Iterable<CallbackItem> | AsyncIterable<CallbackItem>;
};

/** Reads a run once; every judgement and every figure is made from what this returns. */
export async function readRun(sources: RunSources): Promise<Run> {
  const cases = new Map<RequestId, RequestCase>();
  const caseOf = (requestId: RequestId): RequestCase => {
    let found = cases.get(requestId);
    if (found === undefined) {
      const evidence = noEvidence();
      const standing = standingOf(evidence);
      found = {
        requestId,
        partition: 0,
        truth: null,
        calls: [],
        records: [],
        auctionEnd: null,
        wins: [],
        evidence,
        standing,
      };
      cases.set(requestId, found);
    }
    return found;
  };
  const { nameless, tellings } = readRecord(sources.record, caseOf);
  const log: AuctionRecord[] = [];
  const partitions = new Set<number>();
  for await (const { partition, record } of sources.log) {
    log.push(record);
    partitions.add(partition);
    const known = caseOf(record.requestId);
    known.partition = partition;
    known.records.push(record);
    absorb(known.evidence, record);
  }
  for (const known of cases.values()) known.standing = standingOf(known.evidence);
  const callbacks: CallbackRecord[] = [];
  for await (const { record } of sources.callbacks) callbacks.push(record);
  return { cases, nameless, log, tellings, callbacks, partitions: partitions.size };
}

function readRecord(record: RunSources['record'], caseOf: (requestId: RequestId) => RequestCase) {
  const nameless: ArrivedCall[] = [];
  const tellings = new Map<string, Telling>();
  for (const entry of record.entries()) {
    switch (entry.kind) {
      case 'request':
        caseOf(entry.requestId).truth = entry;
        break;
      case 'call':
        if (entry.path !== bidPath) break;
        if (entry.requestId === null) nameless.push(entry);
        else caseOf(entry.requestId).calls.push(entry);
        break;
      case 'delivery':
        tellings.set(entry.deliveryId, { delivery: entry, acknowledgedSentAt: null, acknowledgedAt: null });
        break;
      case 'attempt': {
        const telling = tellings.get(entry.deliveryId);
        if (entry.acknowledged && telling !== undefined) {
          telling.acknowledgedSentAt = Math.min(telling.acknowledgedSentAt ?? entry.sentAt, entry.sentAt);
          telling.acknowledgedAt = Math.min(telling.acknowledgedAt ?? entry.answeredAt, entry.answeredAt);
        }
        break;
      }
      case 'ended':
        caseOf(entry.requestId).auctionEnd = entry;
        break;
      case 'won':
        caseOf(entry.requestId).wins.push(entry);
        break;
      case 'operation':
        // Operations after a bid are judged by their own summary.
        break;
      case 'question':
        // What a source was asked says of no request; that a decision notes what was answered is told by the log.
        break;
      default:
        entry satisfies never;
    }
  }
  return { nameless, tellings: [...tellings.values()] };
}

/** The call by which our bid came to stand in the auction or outside it. */
export function landedBid(known: RequestCase): ArrivedCall | null {
  return known.calls.find((call) => call.outcome === 'accepted' || call.outcome === 'accepted-outside') ?? null;
}

/** What the risk team allows for a request: by the request as it was understood and what else it was decided by. */
export function limitsFor(
  { evidence }: RequestCase,
  truth: EmittedRequest,
  { limitsOf }: Pick<AuditSettings, 'limitsOf'>,
): Limits {
  const trace = (evidence.claim ?? evidence.pass)?.trace ?? null;
  return limitsOf(truth, evidence.requested?.request ?? null, trace);
}
