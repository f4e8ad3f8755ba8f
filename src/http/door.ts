/**
 * The door: a webhook is answered with 2xx only when everything in it is durable in the log. It does not depend on an HTTP
 * server, so the simulation can call it on virtual time.
 */
import type { EventLog } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { FoldTerms } from '../domain/records.ts';
import type { Vault } from '../domain/vault.ts';
import type { WireFault } from '../wire/casing.ts';
import type { EventKind } from '../wire/events.ts';
import type { RequestMapping } from '../wire/mapping-table.ts';
import { readWebhook, type WebhookEntry, type WebhookReading } from '../wire/webhook.ts';

type DoorLimits = {
  bodyLimitBytes: number;
  /** Deepest nesting of a webhook's JSON. */
  depthLimit: number;
  /** Webhooks that may wait for the log. */
  doorQueueLimit: number;
  /** A webhook that has waited so long to be read is refused. Once the log was asked to take it, its answer is waited for. */
  appendTimeoutMs: number;
};

export type DoorAnswer = {
  status: 200 | 202 | 400 | 413 | 503;
  /** JSON text; never quotes what was sent. */
  body: string;
  /** Seconds, with 503. */
  retryAfterS?: number;
};

/** What happened to one webhook, for metrics and journal. Faults carry pointers and kinds, no values. */
export type DoorReport = {
  status: DoorAnswer['status'];
  event: EventKind | 'requests' | 'none';
  requests: number;
  deadLetters: number;
  faults: readonly WireFault[];
  /** `reading-failed`: a defect of ours, or a body that took all memory; it is kept. */
  problem:
    | 'malformed'
    | 'too-large'
    | 'not-understood'
    | 'reading-failed'
    | 'queue-full'
    | 'log-refused'
    | 'log-slow'
    | null;
  durationMs: number;
};

export type Door = {
  receive: (body: Buffer) => Promise<DoorAnswer>;
  /** Asked before a body is read, so that a flood is turned away unread. */
  isFull: () => boolean;
  inFlight: () => number;
  /** Why a webhook that comes now would not be answered soon; null: it would. */
  hindrance: () => string | null;
};

/** Bytes to entries: in this thread (`bodyReader`), or in another one. Null: it waited too long and was not read. */
export type BodyReader = (
  body: Buffer,
  receivedAt: EpochMs,
  /** When the records are written; by default they are written as it is received. */
  now?: EpochMs,
) => WebhookReading | null | Promise<WebhookReading | null>;

type ReadHere = (body: Buffer, receivedAt: EpochMs, now?: EpochMs) => WebhookReading;

export type DoorParts = {
  append: EventLog['append'];
  readBody: BodyReader;
  clock: Clock;
  limits: DoorLimits;
  observer: (report: DoorReport) => void;
};

const retryAfterS = 2;

export type ReadingParts = {
  mapping: RequestMapping;
  limits: DoorLimits;
  /** Written into the records. */
  terms: Pick<FoldTerms, 'windowMs' | 'halfLifeMs'>;
};

export function bodyReader(parts: ReadingParts & { vault: Vault }): ReadHere {
  const { vault, mapping, limits, terms } = parts;
  const jsonLimits = { maxBytes: limits.bodyLimitBytes, maxDepth: limits.depthLimit };
  return (body, receivedAt, now = receivedAt) =>
    readWebhook(body, { mapping, vault, receivedAt, now, terms, limits: jsonLimits });
}

export function createDoor(parts: DoorParts): Door {
  const { clock, limits } = parts;
  /** When each webhook that is not answered yet came, by the monotonic clock; the first is the oldest. */
  const waiting = new Set<{ sinceMs: number }>();
  const isFull = (): boolean => waiting.size >= limits.doorQueueLimit;

  function hindrance(): string | null {
    if (isFull()) return 'too many webhooks are waiting';
    const [oldest] = waiting;
    if (oldest === undefined || clock.monotonicMs() - oldest.sinceMs <= limits.appendTimeoutMs) return null;
    return `a webhook has waited for its answer for more than ${limits.appendTimeoutMs / 1_000} s`;
  }

  async function receive(body: Buffer): Promise<DoorAnswer> {
    const receivedAt = clock.now();
    const receivedAtMs = clock.monotonicMs();
    const report = (answer: DoorAnswer, what: Partial<DoorReport>): DoorAnswer => {
      const durationMs = clock.monotonicMs() - receivedAtMs;
      const nothing = { event: 'none', requests: 0, deadLetters: 0, faults: [], problem: null } as const;
      parts.observer({ ...nothing, ...what, status: answer.status, durationMs });
      return answer;
    };
    if (isFull()) return report(refusal('too many webhooks are waiting'), { problem: 'queue-full' });
    if (body.length > limits.bodyLimitBytes) return report(tooLarge(limits), { problem: 'too-large' });
    const mine = { sinceMs: receivedAtMs };
    waiting.add(mine);
    try {
      const reading = await parts.readBody(body, receivedAt);
      if (reading === null) return report(refusal('webhooks are not read fast enough'), { problem: 'log-slow' });
      if (reading.kind === 'malformed') {
        return report({ status: 400, body: problemBody('malformed', reading.text) }, { problem: 'malformed' });
      }
      const taken = await appended(entriesOf(reading));
      if (taken !== 'durable') return report(refusal('the log did not take the webhook'), { problem: taken });
      return report(acceptance(reading), reportOf(reading));
    } finally {
      waiting.delete(mine);
    }
  }

  /** Never rejects: whatever keeps an entry from being durable is a reason to be asked again. */
  async function appended(entries: readonly WebhookEntry[]): Promise<'durable' | 'log-refused'> {
    if (entries.length === 0) return 'durable';
    // No time limit here: it would refuse what is stored a moment later. A log on servers has one of its own, and what it gave up
    // may be stored all the same: the sender comes again and the fold absorbs the repeat.
    try {
      await parts.append(entries);
      return 'durable';
    } catch {
      return 'log-refused';
    }
  }

  return { receive, isFull, inFlight: () => waiting.size, hindrance };
}

type Readable = Exclude<WebhookReading, { kind: 'malformed' }>;

function entriesOf(reading: Readable): readonly WebhookEntry[] {
  return reading.kind === 'entries' ? reading.entries : [reading.letter];
}

function acceptance(reading: Readable): DoorAnswer {
  if (reading.kind === 'dead-letter') {
    return {
      status: 202,
      body: JSON.stringify({ status: 'kept', detail: 'valid JSON that was not understood; it is kept' }),
    };
  }
  if (reading.deadLetters === 0) return { status: 200, body: JSON.stringify({ status: 'taken' }) };
  return {
    status: 202,
    body: JSON.stringify({ status: 'taken', detail: `${reading.deadLetters} not understood and kept` }),
  };
}

function reportOf(reading: Readable): Partial<DoorReport> {
  if (reading.kind === 'dead-letter') {
    return { deadLetters: 1, problem: reading.failed ? 'reading-failed' : 'not-understood' };
  }
  const { event, entries, deadLetters, faults } = reading;
  const requests = entries.filter((entry) => entry.topic === 'auctions' && entry.record.kind === 'requested').length;
  return { event, requests, deadLetters, faults };
}

function tooLarge(limits: DoorLimits): DoorAnswer {
  const detail = `the body is larger than the ${limits.bodyLimitBytes} bytes allowed; send it in parts`;
  return { status: 413, body: problemBody('too-large', detail) };
}

function refusal(detail: string): DoorAnswer {
  return { status: 503, body: problemBody('unavailable', `${detail}; send it again`), retryAfterS };
}

function problemBody(problem: string, detail: string): string {
  return JSON.stringify({ problem, detail });
}
