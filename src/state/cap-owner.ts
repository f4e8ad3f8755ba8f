/**
 * What one process does to keep the cap book and to get verdicts from it (rules 1 and 4 to 7 of `cap-book.ts`). It does no I/O: it
 * says what the next step is, and takes what came of it. One step is under way at a time; a step without an answer is asked for
 * again, and the operations in it are found by their offsets.
 */
import assert from 'node:assert/strict';
import type { CapOperation, CapVerdict } from '../domain/cap-book.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Usage } from '../domain/offer.ts';
import {
  type ApplyCall,
  type BeginCall,
  type BookAnswer,
  type CapBookLost,
  type CapEpoch,
  type CommitCall,
  epochAfter,
  noEpoch,
} from './cap-book.ts';

type LossCause = 'never-begun' | 'server-changed' | 'book-gone' | 'book-behind' | 'partition-unknown';

export type CapStep =
  /** Append the record to `controls`, then read on there. */
  | { kind: 'tell-loss'; record: CapBookLost; cause: LossCause }
  | { kind: 'begin'; call: BeginCall }
  /** Read the ends of all partitions of the log, for `endsRead`. */
  | { kind: 'read-ends'; id: string }
  | { kind: 'commit'; call: CommitCall }
  | { kind: 'apply'; call: ApplyCall }
  /** Nothing before that time, unless records are folded or read on `controls`. */
  | { kind: 'wait'; untilMs: number };

/** Why no claim can get a verdict. */
export type CapBookTrouble =
  /** Not at all, or not for too long. */
  | { kind: 'controls-unread' }
  /** Not asked yet, or it does not answer. */
  | { kind: 'unanswered' }
  | { kind: 'lost'; cause: LossCause }
  /** These partitions have not committed. */
  | { kind: 'filling'; missing: readonly number[] };

/** What the state store keeps of a partition beside its sums. */
type RestoredPart = {
  partition: number;
  applied: number;
  /** All operations of records before it are known to be in the book. */
  acknowledged: number;
  /** Every operation from `acknowledged` on, and every reservation of a claim that awaits its verdict; in order of offsets. */
  operations: readonly CapOperation[];
};

export type CapOwnerSettings = {
  /** Bidding that has not read `controls` for so long has stopped. */
  ageLimitMs: number;
  /** The book is asked again after this time, whether or not there is something new. */
  pollMs: number;
  /** In one call. */
  maxOperations: number;
};

type Part = {
  applied: number;
  acknowledged: number;
  operations: CapOperation[];
  /** By request: the reservation, and its verdict in the present book. */
  claims: Map<RequestId, { reservation: CapOperation; verdict: 'granted' | 'refused' | null }>;
  /** In the present book; null: not known. */
  base: number | null;
};

export type CapOwner = {
  /** Takes up a partition as the state store has it. */
  take: (restored: RestoredPart) => void;
  drop: (partition: number) => void;
  /** Records before `applied` were folded, and yielded these operations. */
  folded: (partition: number, applied: number, operations: readonly CapOperation[]) => void;
  /** A record of `controls`, in their order. */
  lossRead: (record: CapBookLost, nowMs: number) => void;
  /** `controls` were read to their end, by a fetch sent at that time. */
  controlsRead: (askedAtMs: number) => void;
  next: (nowMs: number) => CapStep;
  /** `id`: of the step. */
  endsRead: (id: string, ends: ReadonlyMap<number, number>) => void;
  /** The answer to the step that was under way. */
  answered: (step: Extract<CapStep, { call: unknown }>, answer: BookAnswer, nowMs: number) => void;
  /** Nothing is known of the outcome of the step that was under way. */
  unanswered: () => void;
  verdictOf: (partition: number, requestId: RequestId, nowMs: number) => CapVerdict;
  /** Null: verdicts can be had. */
  trouble: (nowMs: number) => CapBookTrouble | null;
  /** Null unless the book is open. */
  openBookId: () => string | null;
  /** What the state store may forget: operations of records before it. */
  acknowledged: (partition: number) => number;
};

/** `sumsOf`: what the fold says is promised under each key by open claims of a partition, as of its `applied`. Times are monotonic. */
export function createCapOwner(options: {
  settings: CapOwnerSettings;
  partitions: number;
  sumsOf: (partition: number) => ReadonlyMap<string, Usage>;
}): CapOwner {
  const { settings, sumsOf } = options;
  const parts = new Map<number, Part>();
  let controlsAskedAtMs = Number.NEGATIVE_INFINITY;
  let newest: CapEpoch & { readAtMs: number } = { ...noEpoch, readAtMs: Number.NEGATIVE_INFINITY };
  /** The book of the newest epoch as it answered last; null: not known. */
  let book: { id: string; isOpen: boolean; missing: readonly number[] } | null = null;
  /** An operation or a commit of this process stands in that book. */
  let hasPart = false;
  let ends: ReadonlyMap<number, number> | null = null;
  let loss: { cause: LossCause; server: string } | null = null;
  let isAnswering = true;
  let askedAtMs = Number.NEGATIVE_INFINITY;

  /** A loss that is not read yet was told less than the age limit ago: the refill has not read the ends. */
  function isFresh(nowMs: number): boolean {
    return nowMs - controlsAskedAtMs <= settings.ageLimitMs;
  }

  function lose(cause: LossCause, server: string): void {
    loss = { cause, server };
    leaveBook();
  }

  function leaveBook(): void {
    book = null;
    hasPart = false;
    ends = null;
    for (const part of parts.values()) forgetVerdicts(part);
  }

  function next(nowMs: number): CapStep {
    if (controlsAskedAtMs === Number.NEGATIVE_INFINITY) return { kind: 'wait', untilMs: nowMs + settings.pollMs };
    if (loss !== null) {
      const record: CapBookLost = { kind: 'cap-book-lost', epoch: newest.epoch + 1, server: loss.server };
      return { kind: 'tell-loss', record, cause: loss.cause };
    }
    if (book === null) return lookAgain(nowMs);
    return book.isOpen ? applyOr(book.id, nowMs) : fill(book, nowMs);
  }

  function begin(): CapStep {
    const { epoch, server } = newest;
    return { kind: 'begin', call: { epoch, server, partitions: options.partitions } };
  }

  /** Looks again, where others may have gone on. */
  function lookAgain(nowMs: number): CapStep {
    const untilMs = askedAtMs + settings.pollMs;
    return nowMs < untilMs ? { kind: 'wait', untilMs } : begin();
  }

  function fill({ id, missing }: { id: string; missing: readonly number[] }, nowMs: number): CapStep {
    const own = missing.filter((partition) => parts.has(partition));
    if (own.length === 0) return lookAgain(nowMs);
    const readableAtMs = newest.readAtMs + settings.ageLimitMs;
    if (nowMs < readableAtMs) return { kind: 'wait', untilMs: readableAtMs };
    if (ends === null) return { kind: 'read-ends', id };
    const ready = own.filter((partition) => parts.get(partition)!.applied >= (ends!.get(partition) ?? 0));
    if (ready.length === 0) return lookAgain(nowMs);
    const commits = ready.map((partition) => ({
      partition,
      applied: parts.get(partition)!.applied,
      sums: sumsOf(partition),
    }));
    return { kind: 'commit', call: { server: newest.server, id, parts: commits } };
  }

  function applyOr(id: string, nowMs: number): CapStep {
    const calls = [...parts].map(([partition, part]) => ({ partition, part, operations: wanted(part) }));
    const untilMs = askedAtMs + settings.pollMs;
    const isQuiet = calls.every(({ part, operations }) => operations.length === 0 && part.base !== null);
    if (isQuiet && nowMs < untilMs) return { kind: 'wait', untilMs };
    let left = settings.maxOperations;
    const taken = calls.map(({ partition, part, operations }) => {
      const some = operations.slice(0, left);
      left -= some.length;
      const firstLeft = operations.slice(some.length).find(({ offset }) => offset >= part.acknowledged);
      const applied = some.length === operations.length ? part.applied : (firstLeft?.offset ?? part.applied);
      return { partition, acknowledged: part.acknowledged, applied, operations: some };
    });
    return { kind: 'apply', call: { server: newest.server, id, parts: taken } };
  }

  function answered(step: Extract<CapStep, { call: unknown }>, answer: BookAnswer, nowMs: number): void {
    if (loss !== null || step.call.server !== newest.server) return;
    askedAtMs = nowMs;
    isAnswering = true;
    if (answer.server !== newest.server) {
      lose(newest.epoch === 0 ? 'never-begun' : 'server-changed', answer.server);
      return;
    }
    const found = answer.book;
    // A newer one will be read on `controls`.
    if (found !== null && found.epoch > newest.epoch) {
      leaveBook();
      return;
    }
    if (found === null || found.epoch < newest.epoch || (book !== null && found.id !== book.id)) {
      // Begun by nobody, or anew. Where nothing of ours was in it, the ends are read again, and it is filled.
      if (hasPart) lose('book-gone', answer.server);
      else leaveBook();
      askedAtMs = Number.NEGATIVE_INFINITY;
      return;
    }
    if ([...parts.keys()].some((partition) => partition >= found.partitions)) {
      lose('partition-unknown', answer.server);
      return;
    }
    book = { id: found.id, isOpen: found.isOpen, missing: answer.missing };
    if (step.kind === 'begin' || step.call.id !== found.id) return;
    for (const [index, { partition }] of step.call.parts.entries()) {
      const part = parts.get(partition);
      const at = answer.parts[index]?.at ?? null;
      const least = Math.max(part?.acknowledged ?? 0, step.kind === 'apply' ? step.call.parts[index]!.acknowledged : 0);
      if (at === null ? step.kind === 'apply' : at < least) {
        lose('book-behind', answer.server);
        return;
      }
    }
    if (!answer.isDone) return;
    hasPart = true;
    for (const [index, { partition }] of step.call.parts.entries()) {
      const part = parts.get(partition);
      const stands = answer.parts[index];
      if (part === undefined || stands == null) continue;
      part.base = stands.base;
      part.acknowledged = Math.max(part.acknowledged, stands.at);
      part.operations = part.operations.filter(({ offset }) => offset >= part.acknowledged);
      // Another owner may be further: what it took in has to be folded here first.
      const isKnown = stands.at <= part.applied;
      if (step.kind === 'apply' && isKnown) judge(part, step.call.parts[index]!.operations, answer.refused);
    }
  }

  return {
    take: ({ partition, applied, acknowledged, operations }) => {
      assert(!parts.has(partition), `partition ${partition} is taken up twice`);
      const part: Part = { applied, acknowledged, operations: [], claims: new Map(), base: null };
      add(part, operations);
      parts.set(partition, part);
    },
    drop: (partition) => void parts.delete(partition),
    folded: (partition, applied, operations) => {
      const part = parts.get(partition);
      assert(part !== undefined, `partition ${partition} is not taken up`);
      assert(applied >= part.applied, `partition ${partition} is folded backwards`);
      assert(
        operations.every(({ offset }) => offset >= part.applied && offset < applied),
        `an operation of partition ${partition} is not of the records folded`,
      );
      part.applied = applied;
      add(part, operations);
    },
    lossRead: (record, nowMs) => {
      const after = epochAfter(newest, record);
      if (after === newest) return;
      newest = { ...after, readAtMs: nowMs };
      loss = null;
      askedAtMs = Number.NEGATIVE_INFINITY;
      leaveBook();
    },
    controlsRead: (askedAtMs) => {
      controlsAskedAtMs = Math.max(controlsAskedAtMs, askedAtMs);
    },
    next,
    endsRead: (id, read) => {
      if (book?.id === id) ends = read;
    },
    answered,
    unanswered: () => {
      isAnswering = false;
    },
    verdictOf: (partition, requestId, nowMs) => {
      const part = parts.get(partition);
      const claim = part?.claims.get(requestId);
      if (part === undefined || claim === undefined || part.base === null) return 'pending';
      if (claim.reservation.offset < part.base) return 'forfeited';
      return (book?.isOpen && isFresh(nowMs) ? claim.verdict : null) ?? 'pending';
    },
    trouble: (nowMs) => {
      if (!isFresh(nowMs)) return { kind: 'controls-unread' };
      if (loss !== null) return { kind: 'lost', cause: loss.cause };
      if (book === null || !isAnswering) return { kind: 'unanswered' };
      return book.isOpen ? null : { kind: 'filling', missing: book.missing };
    },
    openBookId: () => (book?.isOpen ? book.id : null),
    acknowledged: (partition) => parts.get(partition)?.acknowledged ?? 0,
  };
}

function forgetVerdicts(part: Part): void {
  part.base = null;
  for (const claim of part.claims.values()) claim.verdict = null;
}

function add(part: Part, operations: readonly CapOperation[]): void {
  for (const operation of operations) {
    if (operation.offset >= part.acknowledged) part.operations.push(operation);
    if (operation.kind === 'reserve') part.claims.set(operation.requestId, { reservation: operation, verdict: null });
    else part.claims.delete(operation.requestId);
  }
}

/**
 * What has to be in the next call: operations that are not acknowledged, and reservations acknowledged without their verdict.
 * Nothing while the book is further than the fold here.
 */
function wanted(part: Part): readonly CapOperation[] {
  if (part.applied < part.acknowledged) return [];
  const base = part.base ?? 0;
  const asked: CapOperation[] = [];
  for (const { reservation, verdict } of part.claims.values()) {
    const { offset } = reservation;
    if (verdict === null && offset >= base && offset < part.acknowledged) asked.push(reservation);
  }
  return asked.length === 0 ? part.operations : [...asked, ...part.operations];
}

function judge(part: Part, operations: readonly CapOperation[], refusals: readonly RequestId[]): void {
  const refused = new Set(refusals);
  for (const { kind, offset, requestId } of operations) {
    const claim = part.claims.get(requestId);
    if (kind !== 'reserve' || claim === undefined || claim.reservation.offset !== offset) continue;
    claim.verdict = refused.has(requestId) ? 'refused' : 'granted';
  }
}
