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
import { bucketsOf, isWindow, windowsPassedAt } from './windows.ts';

type Reservation = { keys: readonly string[]; amountCents: number; expiresAt: EpochMs };

/** What a promise counts under: buckets of windows of hours, or all else. A request has one stretch of each. */
type Share = 'windows' | 'others';

/** One stretch of time for which a request had money promised to it. `position`: index in the log of the record that says so. */
export type Promised = Omit<Reservation, 'expiresAt'> & {
  requestId: RequestId;
  share: Share;
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

const shares: readonly Share[] = ['windows', 'others'];

function placeOf(requestId: RequestId, share: Share): string {
  return `${requestId} ${share}`;
}

function createBook() {
  /** By request and share. */
  const reserved = new Map<string, Reservation>();
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
    for (const [place, reservation] of reserved) {
      if (reservation.expiresAt <= at) remove(place);
      else nextExpiry = Math.min(nextExpiry, reservation.expiresAt);
    }
  };
  const remove = (place: string) => {
    const reservation = reserved.get(place);
    if (reservation === undefined) return;
    reserved.delete(place);
    count(reservation, -1);
  };
  return {
    sums,
    expire,
    remove,
    put: (place: string, reservation: Reservation) => {
      remove(place);
      reserved.set(place, reservation);
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
  /** What is won counts in a window of hours until that has passed, unless it came to nothing; all else until the promise is over. */
  const reservationOf = (claimed: Claimed, proposalEnd: number | null, share: Share, isWon: boolean): Reservation => {
    const own = bucketsOf(claimed.trace.caps).filter((key) => isWindow(key) === (share === 'windows'));
    const overAt = endOf(claimed, proposalEnd) + graceMs;
    const expiresAt = isWon && share === 'windows' ? Math.max(windowsPassedAt(claimed.trace.caps), overAt) : overAt;
    return { keys: own, amountCents: claimed.offer.amountCents, expiresAt };
  };
  const promised = new Map<string, Promised>();
  const ended: Promised[] = [];
  const put = (claimed: Claimed, proposalEnd: number | null, isWon: boolean, position: number, at: EpochMs) => {
    for (const share of shares) {
      const place = placeOf(claimed.requestId, share);
      const reservation = reservationOf(claimed, proposalEnd, share, isWon);
      book.put(place, reservation);
      const { keys, amountCents, expiresAt } = reservation;
      const from = promised.get(place)?.from ?? { position, at };
      const { requestId } = claimed;
      promised.set(place, { requestId, share, keys, amountCents, from, until: { position: null, at: expiresAt } });
    }
  };
  const removeShare = (requestId: RequestId, share: Share, position: number, at: EpochMs) => {
    const place = placeOf(requestId, share);
    book.remove(place);
    const own = promised.get(place);
    if (own === undefined) return;
    promised.delete(place);
    ended.push(at < own.until.at ? { ...own, until: { position, at } } : own);
  };
  const remove = (requestId: RequestId, position: number, at: EpochMs) => {
    for (const share of shares) removeShare(requestId, share, position, at);
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
    if (full === null) put(claimed, null, false, position, claimed.at);
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
    const isOver = money === 'committed' && (from === 'expired') !== (end === 'expired');
    if (evidence.claim === null || (money === before && !isRenewed && !isRevealed && !isOver)) continue;
    book.expire(record.at);
    if (record === evidence.claim) {
      claim(record, position);
    } else if (money === 'released') {
      remove(requestId, position, record.at);
      if (statuses.get(requestId) !== 'refused') statuses.set(requestId, 'released');
    } else {
      // What came to light late is promised already, room or not.
      put(evidence.claim, evidence.word?.validUntil ?? null, money === 'committed', position, record.at);
      if (end === 'expired') removeShare(requestId, 'others', position, record.at);
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
