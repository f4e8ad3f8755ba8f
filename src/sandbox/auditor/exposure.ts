/**
 * Money promised, added up from the log alone: reserved at the first claim, released once or committed, never over a cap. Of
 * several partitions nobody knows which was folded first: shared-caps.ts judges their caps.
 */
import type { EpochMs, RequestId } from '../../domain/glossary.ts';
import type { CapReservation, Usage } from '../../domain/offer.ts';
import type { Claimed } from '../../domain/records.ts';
import { absorb, type Evidence, noEvidence, standingOf } from './evidence.ts';
import type { Run } from './run.ts';
import type { ExposureWord, Report, ViewsRead } from './violation.ts';

type Reservation = { keys: readonly string[]; amountCents: number; expiresAt: EpochMs };

/** One stretch of time for which a request had money promised to it. `position`: index in the log of the record that says so. */
export type Promised = Omit<Reservation, 'expiresAt'> & {
  requestId: RequestId;
  from: { position: number; at: EpochMs };
  /** `position` is null where it runs out by itself. */
  until: { position: number | null; at: EpochMs };
};

export type ExposureFold = {
  statusOf: (requestId: RequestId) => ExposureWord;
  /** What is promised and not expired at `at`. */
  usageAt: (at: EpochMs) => Map<string, Usage>;
  /** All cap keys that anything was ever reserved under. */
  keys: ReadonlySet<string>;
  /** Claims that found no room, with the cap that had none. */
  refused: ReadonlyMap<RequestId, string>;
  promised: readonly Promised[];
};

export const noUsage: Usage = { amountCents: 0, count: 0 };

/** The bucket of the first cap that has no room for `own` beside what is used; null when all have. */
export function fullCap(caps: readonly CapReservation[], own: Usage, usedOf: (key: string) => Usage): string | null {
  for (const { keys, limitAmountCents, limitCount } of caps) {
    let { amountCents, count } = own;
    for (const key of new Set(keys)) {
      const used = usedOf(key);
      amountCents += used.amountCents;
      count += used.count;
    }
    const over = limitAmountCents !== null && amountCents > limitAmountCents;
    if (over || (limitCount !== null && count > limitCount)) return keys[0] ?? 'a cap without a key';
  }
  return null;
}

/** One cap has one bucket to write to, and sums others for its check; two caps may share a bucket. */
function bucketsOf(caps: readonly CapReservation[]): string[] {
  return [...new Set(caps.flatMap((cap) => cap.keys.slice(0, 1)))];
}

function createBook() {
  const reserved = new Map<RequestId, Reservation>();
  const sums = new Map<string, Usage>();
  let nextExpiry = Number.POSITIVE_INFINITY;

  const count = ({ keys, amountCents }: Reservation, sign: 1 | -1) => {
    for (const key of keys) {
      const sum = sums.get(key) ?? noUsage;
      sums.set(key, { amountCents: sum.amountCents + sign * amountCents, count: sum.count + sign });
    }
  };
  /** Takes what has expired out of the sums. */
  const expire = (at: EpochMs) => {
    if (at < nextExpiry) return;
    nextExpiry = Number.POSITIVE_INFINITY;
    for (const [requestId, reservation] of reserved) {
      if (reservation.expiresAt <= at) remove(requestId);
      else nextExpiry = Math.min(nextExpiry, reservation.expiresAt);
    }
  };
  const remove = (requestId: RequestId) => {
    const reservation = reserved.get(requestId);
    if (reservation === undefined) return;
    reserved.delete(requestId);
    count(reservation, -1);
  };
  return {
    sums,
    expire,
    remove,
    put: (requestId: RequestId, reservation: Reservation) => {
      remove(requestId);
      reserved.set(requestId, reservation);
      count(reservation, 1);
      nextExpiry = Math.min(nextExpiry, reservation.expiresAt);
    },
  };
}

/** Folds the whole log once more, in log order across requests: a cap is shared by many. With several partitions whoever passed for want of room is taken at its word. */
export function foldExposure(run: Run, graceMs: number): ExposureFold {
  const book = createBook();
  const evidences = new Map<RequestId, Evidence>();
  const statuses = new Map<RequestId, ExposureWord>();
  const refused = new Map<RequestId, string>();
  const keys = new Set<string>();

  /** A proposal that ends before its bid was made is as none; one of more than 30 days past the bid's validity is cut there. */
  const endOf = ({ at, offer }: Claimed, proposalEnd: number | null): number => {
    if (proposalEnd === null || proposalEnd <= at) return offer.validUntil;
    return Math.min(proposalEnd, Math.max(at, offer.validUntil) + 30 * 86_400_000);
  };
  const reservationOf = (claimed: Claimed, proposalEnd: number | null): Reservation => ({
    keys: bucketsOf(claimed.trace.caps),
    amountCents: claimed.offer.amountCents,
    expiresAt: endOf(claimed, proposalEnd) + graceMs,
  });
  const promised = new Map<RequestId, Promised>();
  const ended: Promised[] = [];
  const put = (requestId: RequestId, reservation: Reservation, position: number, at: EpochMs) => {
    book.put(requestId, reservation);
    const from = promised.get(requestId)?.from ?? { position, at };
    const { keys, amountCents, expiresAt } = reservation;
    promised.set(requestId, { requestId, keys, amountCents, from, until: { position: null, at: expiresAt } });
  };
  const remove = (requestId: RequestId, position: number, at: EpochMs) => {
    book.remove(requestId);
    const own = promised.get(requestId);
    if (own === undefined) return;
    promised.delete(requestId);
    ended.push(at < own.until.at ? { ...own, until: { position, at } } : own);
  };
  const fullCapOf = ({ requestId, trace, offer }: Claimed): string | null => {
    if (run.partitions < 2) {
      return fullCap(trace.caps, { amountCents: offer.amountCents, count: 1 }, (key) => book.sums.get(key) ?? noUsage);
    }
    return run.cases.get(requestId)?.evidence.unsent?.code === 'cap' ? 'a cap' : null;
  };
  const claim = (claimed: Claimed, position: number) => {
    const { requestId, trace } = claimed;
    for (const key of bucketsOf(trace.caps)) keys.add(key);
    const full = fullCapOf(claimed);
    if (full === null) put(requestId, reservationOf(claimed, null), position, claimed.at);
    else refused.set(requestId, full);
    statuses.set(requestId, full === null ? 'held' : 'refused');
  };

  for (const [position, record] of run.log.entries()) {
    const { requestId } = record;
    const evidence = evidences.get(requestId) ?? noEvidence();
    evidences.set(requestId, evidence);
    const { money: before, end: from } = standingOf(evidence);
    const wasUntil = evidence.word?.validUntil;
    absorb(evidence, record);
    const { money, end } = standingOf(evidence);
    const isRenewed = money === 'committed' && evidence.word?.validUntil !== wasUntil;
    const isRevealed = money === 'held' && from === 'claimed' && end !== 'claimed';
    if (evidence.claim === null || (money === before && !isRenewed && !isRevealed)) continue;
    book.expire(record.at);
    if (record === evidence.claim) {
      claim(record, position);
    } else if (money === 'released') {
      remove(requestId, position, record.at);
      if (statuses.get(requestId) !== 'refused') statuses.set(requestId, 'released');
    } else {
      // What came to light late is promised already, room or not.
      put(requestId, reservationOf(evidence.claim, evidence.word?.validUntil ?? null), position, record.at);
      statuses.set(requestId, money);
    }
  }
  return {
    statusOf: (requestId) => statuses.get(requestId) ?? 'none',
    usageAt: (at) => {
      book.expire(at);
      return new Map(book.sums);
    },
    keys,
    refused,
    promised: [...ended, ...promised.values()],
  };
}

/** What has to be true of the log by itself: nothing is sent over a cap, and no room is denied that there was. */
export function checkReservations(run: Run, fold: ExposureFold, report: Report): void {
  for (const [requestId, cap] of fold.refused) {
    const known = run.cases.get(requestId)!;
    if (known.calls.length === 0 && known.standing.end === 'passed') continue;
    report('exposure', requestId, `the cap ${cap} had no room at the first claim, and the bid went on all the same`);
  }
  for (const { requestId, evidence } of run.cases.values()) {
    if (evidence.unsent?.code === 'cap' && !fold.refused.has(requestId)) {
      report('exposure', requestId, 'passed for want of room under a cap; by the log every cap had room');
    }
  }
}

/** What the views say against what the log adds up to. */
export function checkViewsExposure(run: Run, fold: ExposureFold, views: ViewsRead, report: Report): void {
  const reservations = new Map(views.ledger.map(({ state, reservation }) => [state.requestId, reservation]));
  // In which order partitions are folded once more after a loss, and so who finds no room then, is not said.
  const wordOf = (word: ExposureWord) => (run.partitions > 1 && word === 'refused' ? 'released' : word);
  for (const { requestId, evidence } of run.cases.values()) {
    if (evidence.claim === null) continue;
    const own = wordOf(fold.statusOf(requestId));
    const told = wordOf(reservations.get(requestId) ?? 'none');
    if (own === told) continue;
    report('exposure', requestId, `the views say that its exposure is ${told}, the log says ${own}`);
  }
  const expected = fold.usageAt(views.usageAt);
  for (const key of new Set([...expected.keys(), ...views.usage.keys()])) {
    const own = expected.get(key) ?? noUsage;
    const told = views.usage.get(key) ?? noUsage;
    if (own.amountCents === told.amountCents && own.count === told.count) continue;
    const text = `under ${key} the views hold ${told.amountCents} cents for ${told.count} bids, the log adds up to ${own.amountCents} for ${own.count}`;
    report('exposure', null, text);
  }
}
