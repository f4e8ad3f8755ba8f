/**
 * The arithmetic of caps: what is used under a cap, whether an amount has room, and what reserving, releasing and committing
 * make of it. Pure: times are arguments, and what a sum says depends only on the reservations and the time asked about, never
 * on when it was asked before. So a replay with other reading times refuses the same requests.
 */
import assert from 'node:assert/strict';
import { dayOf } from './clock.ts';
import type { AmountCents, Day, EpochMs, RequestId } from './glossary.ts';
import type { CapReservation, Usage } from './offer.ts';
import type { ExposureStatus } from './states.ts';

/** Keys of caps that an operator set by hand begin with it, so that they count apart from those of the rules. */
export const operatorPrefix = 'operator:';

export function operatorKeyStart(name: string): string {
  return `${operatorPrefix}${name}|`;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * The keys of a cap of a day, that of the day first. The others are for clocks that were wrong over midnight and were corrected: what one
 * that was ahead had claimed on the day after, and what one that may have been behind had claimed in the last minutes of the day before.
 */
export function dayKeys(start: string, at: EpochMs): readonly string[] {
  const day = dayOf(at);
  return [dayKey(start, at), `${start}|eve-${day}`, `${start}|${dayAfter(day)}`];
}

/** The first of them. */
export function dayKey(start: string, at: EpochMs): string {
  return `${start}|${dayOf(at)}`;
}

/** The same of a cap by hand. */
export function operatorDayKeys(name: string, at: EpochMs): readonly string[] {
  return dayKeys(`${operatorPrefix}${name}`, at);
}

/** So long before midnight a bid counts on the day that comes as well: a clock that is further behind is not believed. */
const eveMs = 900_000;

/**
 * What a bid of that time counts under beside its caps, where that is in the last minutes of a day: the eve of the next day, for each cap
 * of a day. They limit nothing: a cap reads the eve of its own day.
 */
export function eveCapsOf(caps: readonly CapReservation[], at: EpochMs): readonly CapReservation[] {
  const [day, next] = [dayOf(at), dayOf(at + eveMs)];
  if (day === next) return [];
  const end = `|${day}`;
  return caps.flatMap(({ keys: [key = ''] }) =>
    key.endsWith(end)
      ? { keys: [`${key.slice(0, -end.length)}|eve-${next}`], limitAmountCents: null, limitCount: null }
      : [],
  );
}

/** Whether it is one of `eveCapsOf`. */
export function isEveCap({ keys: [key = ''] }: CapReservation): boolean {
  const last = key.lastIndexOf('|');
  return last >= 0 && key.startsWith('eve-', last + 1);
}

let cachedDay = '';
let cachedDayAfter = '';

function dayAfter(day: Day): Day {
  if (day !== cachedDay) {
    cachedDay = day;
    cachedDayAfter = new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10);
  }
  return cachedDayAfter;
}

/** The longest window that a cap may have. */
export const longestWindowHours = 720;
/** Up to so many hours a window is summed from buckets of an hour, beyond them from wide ones: a decision reads 170 keys at most. */
const narrowWindowHours = 168;
const wideBucketHours = 6;
const bucketPattern = /\|(hour|6h)-(\d+)$/;
const hourCode = 'h'.charCodeAt(0);
const sixCode = '6'.charCodeAt(0);

/**
 * The keys of a rolling window, the current bucket first. They cover the window, and up to a bucket more: a cap may close that much
 * early (an hour, or six beyond a week). It closes late only for claims that a slow clock made, by as much as that clock was behind. The
 * last one is the bucket that comes next: what was claimed by a clock that was ahead, of another process or of this one before it was
 * corrected, counts too.
 */
export function windowKeys(start: string, hours: number, at: EpochMs): readonly string[] {
  const isWide = hours > narrowWindowHours;
  const bucketHours = isWide ? wideBucketHours : 1;
  const bucket = Math.floor(at / (bucketHours * hourMs));
  const prefix = `${start}|${isWide ? '6h' : 'hour'}-`;
  const keys = Array.from({ length: Math.ceil(hours / bucketHours) + 1 }, (_, back) => `${prefix}${bucket - back}`);
  keys.push(`${prefix}${bucket + 1}`);
  return keys;
}

/**
 * Whether a bid of either time counts under the same keys: days and the buckets of windows all begin with an hour, and the eve of a day
 * with a quarter of one.
 */
export function haveSameCapKeys(one: EpochMs, other: EpochMs): boolean {
  return Math.floor(one / eveMs) === Math.floor(other / eveMs);
}

/**
 * The caps as the version read them that made `recorded`: earlier ones knew no eve, and read of a day its own key alone and of a window
 * no bucket that was still to come. A replay of what they decided has to say the same.
 */
export function capsAsRecorded(
  caps: readonly CapReservation[],
  recorded: readonly CapReservation[],
): readonly CapReservation[] {
  const known = new Map(recorded.map(({ keys }) => [keys[0], keys]));
  return caps.flatMap((cap) => {
    const [first = '', ...others] = cap.keys;
    const then = known.get(first);
    if (then === undefined) return isEveCap(cap) ? [] : cap;
    const isOfClocks = (key: string) => (isWindowKey(first) ? key === cap.keys.at(-1) : others.includes(key));
    return { ...cap, keys: cap.keys.filter((key) => then.includes(key) || !isOfClocks(key)) };
  });
}

/** Whether it is the key of a bucket of a rolling window. */
export function isWindowKey(key: string): boolean {
  // Most keys are none, and a look at their last part says so.
  const last = key.charCodeAt(key.lastIndexOf('|') + 1);
  return (last === hourCode || last === sixCode) && bucketPattern.test(key);
}

/** How many hours the window of these keys covers, beyond a week rounded up to whole wide buckets; null: it is a day, not a window. */
export function windowHoursOf(keys: readonly string[]): number | null {
  const buckets = keys.filter(isWindowKey);
  const [, width] = bucketPattern.exec(buckets[0] ?? '') ?? [];
  if (width === undefined) return null;
  const numbers = buckets.map((key) => Number(bucketPattern.exec(key)![2]));
  return (numbers[0]! - Math.min(...numbers)) * (width === 'hour' ? 1 : wideBucketHours);
}

/**
 * From when on no cap reads the bucket, however long a window is: rules may make the window of a cap longer while its bids stand.
 * `-Infinity`: it is no bucket of a window.
 */
export function windowEndOf(key: string): EpochMs {
  const [, width, bucket] = bucketPattern.exec(key) ?? [];
  if (bucket === undefined) return Number.NEGATIVE_INFINITY;
  const bucketHours = width === 'hour' ? 1 : wideBucketHours;
  return ((Number(bucket) + 1) * bucketHours + longestWindowHours) * hourMs;
}

/** What became of a request's reservation; `refused`: a cap had no room. */
export type Reservation = ExposureStatus | 'refused';

/** Reserves under every cap or under none. */
export type Reserve = {
  requestId: RequestId;
  at: EpochMs;
  amountCents: AmountCents;
  caps: readonly CapReservation[];
  /** From then on it counts no more, released or not. */
  expiresAt: EpochMs;
  /** Reserve even over a cap, and again after a release or a refusal: the money is promised already. */
  force: boolean;
};

/**
 * Money that counts under its keys until it is released or expires. What is committed does not expire under the buckets of windows: a
 * loan that is paid out counts until the window has passed, and only the log says that, or that none came of it.
 */
export type Promised = {
  requestId: RequestId;
  status: 'held' | 'committed';
  amountCents: AmountCents;
  /** Distinct: a request counts once under a key. */
  keys: readonly string[];
  expiresAt: EpochMs;
};

export const nothingUsed: Usage = Object.freeze({ amountCents: 0, count: 0 });

/** Every key that has to be read to check the caps. A key may come more than once. */
export function capKeysOf(caps: readonly CapReservation[]): readonly string[] {
  return caps.flatMap((cap) => cap.keys);
}

/** The keys that a reservation counts under: the first of each cap, each once. */
export function reservedKeysOf(caps: readonly CapReservation[]): readonly string[] {
  return [...new Set(caps.flatMap(({ keys }) => keys.slice(0, 1)))];
}

/** False: the cap only counts. */
export function isLimiting({ limitAmountCents, limitCount }: CapReservation): boolean {
  return limitAmountCents !== null || limitCount !== null;
}

/** What is used under all keys of a cap together; a key that stands in it twice counts once. `usedOf`: undefined for none. */
export function usageUnder({ keys }: Pick<CapReservation, 'keys'>, usedOf: (key: string) => Usage | undefined): Usage {
  let amountCents = 0;
  let count = 0;
  /** Of a long window most keys have nothing under them: only the others are looked at for repetition. */
  let seen: Set<string> | null = null;
  for (const key of keys) {
    const used = usedOf(key);
    if (used === undefined || (used.amountCents === 0 && used.count === 0)) continue;
    if (keys.length > 1) {
      if (seen?.has(key)) continue;
      seen ??= new Set();
      seen.add(key);
    }
    amountCents += used.amountCents;
    count += used.count;
  }
  return { amountCents, count };
}

/** The same, but a key counts as often as it stands there. Never less, and without a set of the keys. */
function usageAtMost({ keys }: CapReservation, usedOf: (key: string) => Usage | undefined): Usage {
  let amountCents = 0;
  let count = 0;
  for (const key of keys) {
    const used = usedOf(key);
    if (used === undefined) continue;
    amountCents += used.amountCents;
    count += used.count;
  }
  return { amountCents, count };
}

/** A cap may be full to the cent. */
function hasRoom({ limitAmountCents, limitCount }: CapReservation, used: Usage, more: Usage): boolean {
  return (
    (limitAmountCents === null || used.amountCents + more.amountCents <= limitAmountCents) &&
    (limitCount === null || used.count + more.count <= limitCount)
  );
}

/** The first key of the first cap that has no room for `more` beside what is used; null when all have. */
export function fullCap(
  caps: readonly CapReservation[],
  more: Usage,
  usedOf: (key: string) => Usage | undefined,
): string | null {
  for (const cap of caps) {
    if (!isLimiting(cap)) continue;
    // Most caps have room, which the cheaper sum shows.
    if (hasRoom(cap, usageAtMost(cap, usedOf), more)) continue;
    if (!hasRoom(cap, usageUnder(cap, usedOf), more)) return cap.keys[0] ?? 'cap';
  }
  return null;
}

/** Whether money in this status counts under its caps. */
export function isPromised(status: string): status is Promised['status'] {
  return status === 'held' || status === 'committed';
}

/**
 * What one record of the log does to the promises under caps. A reservation counts under every key, with the amount and as one
 * request. `offset` is that of the record, so an operation can be told from the same one coming again.
 */
export type CapOperation = {
  offset: number;
  requestId: RequestId;
  amountCents: AmountCents;
  /** Distinct. */
  keys: readonly string[];
} & (
  | {
      /** Counts if every limit has room, and is refused otherwise. */
      kind: 'reserve';
      limits: readonly CapReservation[];
    }
  | {
      /** Counts whatever the limits. `reserved`: a reservation came before it, so only a refusal is undone. */
      kind: 'hold';
      reserved: boolean;
    }
  /** Counts no more, where it was not refused. */
  | { kind: 'release' }
);

/**
 * What the book of all partitions says of a claim. `granted`: it may be sent while this stays so. `refused`: a cap has no room.
 * `forfeited`: it is older than the book, counts there and is never sent. `pending`: not known. A refusal has to be as fresh as a
 * grant: what it ends may be granted in a later book.
 */
export type CapVerdict = 'granted' | 'refused' | 'forfeited' | 'pending';

/** How a request stands with its caps before or after a record. */
export type CapStanding = {
  /** Its money is promised. */
  isCounted: boolean;
  /** It is claimed, and nothing that came since shows that its bid went out. */
  awaitsVerdict: boolean;
};

/** The operation of the record that led from one standing to the other, at most one. */
export function capOperationOf(
  before: CapStanding,
  after: CapStanding,
  {
    caps,
    ...request
  }: { offset: number; requestId: RequestId; amountCents: AmountCents; caps: readonly CapReservation[] },
): CapOperation | null {
  const operation = { ...request, keys: reservedKeysOf(caps) };
  if (before.isCounted && !after.isCounted) return { ...operation, kind: 'release' };
  if (!after.isCounted) return null;
  if (before.isCounted) {
    const isShownSent = before.awaitsVerdict && !after.awaitsVerdict;
    return isShownSent ? { ...operation, kind: 'hold', reserved: true } : null;
  }
  if (!after.awaitsVerdict) return { ...operation, kind: 'hold', reserved: false };
  return { ...operation, kind: 'reserve', limits: caps.filter(isLimiting) };
}

/** Adds to what is used under some keys; a key with nothing under it is left out of the map. */
export function addUsage(
  sums: Map<string, Usage>,
  keys: readonly string[],
  amountCents: AmountCents,
  sign: 1 | -1,
): void {
  for (const key of keys) {
    const { amountCents: before, count } = sums.get(key) ?? nothingUsed;
    const after = { amountCents: before + sign * amountCents, count: count + sign };
    assert(after.count >= 0 && after.amountCents >= 0, `more was released than reserved under ${key}`);
    assert(after.count > 0 || after.amountCents === 0, `money is left under ${key}, and no request`);
    if (after.count === 0) sums.delete(key);
    else sums.set(key, after);
  }
}

/**
 * Who has reserved what. The book keeps only what still counts; the other outcomes are kept by its owner, who says what the
 * reservation was before and is told what it is then. Doing anything twice changes nothing.
 */
export type CapBook = {
  reserve: (before: Reservation, order: Reserve) => Reservation;
  release: (before: Reservation, requestId: RequestId) => Reservation;
  /** The same money counts on, until `expiresAt`. */
  commit: (before: Reservation, requestId: RequestId, expiresAt: EpochMs) => Reservation;
  /** Of what is promised: it counts under these keys from now on. */
  countUnder: (requestId: RequestId, keys: readonly string[], expiresAt: EpochMs) => void;
  /** Takes in what was stored. */
  restore: (promised: Promised) => void;
  /** Null: nothing of this request counts. */
  find: (requestId: RequestId) => Promised | null;
  /** What counts under one key at that time. */
  usage: (key: string, at: EpochMs) => Usage;
};

/** The part of a promise that expires at one time. `Infinity`: it does not expire, and ends by a record. */
type Part = { keys: readonly string[]; amountCents: AmountCents; expiresAt: EpochMs };

function partsOf({ status, amountCents, keys, expiresAt }: Promised): readonly Part[] {
  const lasting = status === 'committed' ? keys.filter(isWindowKey) : [];
  if (lasting.length === 0) return [{ keys, amountCents, expiresAt }];
  const untilSaid = Number.POSITIVE_INFINITY;
  if (lasting.length === keys.length) return [{ keys, amountCents, expiresAt: untilSaid }];
  const others = keys.filter((key) => !isWindowKey(key));
  return [
    { keys: lasting, amountCents, expiresAt: untilSaid },
    { keys: others, amountCents, expiresAt },
  ];
}

/** Whether it counts under one of its keys at that time. */
export function countsUnder(
  { status, expiresAt }: { status: string; expiresAt: EpochMs },
  key: string,
  at: EpochMs,
): boolean {
  return expiresAt > at || (status === 'committed' && isWindowKey(key));
}

/** The sums hold what expires after the horizon's minute; `lapsed` are looked at one by one: few, for what expired is released. */
type KeySums = { amountCents: number; count: number; lapsed: Set<Part> | null };

const bucketMs = 60_000;
const none: readonly Part[] = [];

function isEmpty({ count, lapsed }: KeySums): boolean {
  return count === 0 && (lapsed === null || lapsed.size === 0);
}

export function createCapBook(): CapBook {
  const byRequest = new Map<RequestId, { promised: Promised; parts: readonly Part[] }>();
  const byMinute = new Map<number, Set<Part>>();
  const byKey = new Map<string, KeySums>();
  let horizon = Number.NEGATIVE_INFINITY;

  const sumsOf = (key: string) => {
    let sums = byKey.get(key);
    if (sums === undefined) {
      sums = { amountCents: 0, count: 0, lapsed: null };
      byKey.set(key, sums);
    }
    return sums;
  };
  const count = (part: Part, sign: 1 | -1) => {
    for (const key of part.keys) {
      const sums = sumsOf(key);
      sums.amountCents += sign * part.amountCents;
      sums.count += sign;
      if (isEmpty(sums)) byKey.delete(key);
    }
  };
  const lapse = (part: Part) => {
    for (const key of part.keys) {
      const sums = sumsOf(key);
      sums.lapsed ??= new Set();
      sums.lapsed.add(part);
    }
  };
  const minuteOf = (at: EpochMs) => Math.floor(at / bucketMs);

  const lapseMinute = (minute: number) => {
    const bucket = byMinute.get(minute);
    if (bucket === undefined) return;
    byMinute.delete(minute);
    for (const part of bucket) {
      lapse(part);
      count(part, -1);
    }
  };
  const advance = (minute: number) => {
    if (minute <= horizon) return;
    if (minute - horizon > byMinute.size) {
      for (const bucket of [...byMinute.keys()]) if (bucket <= minute) lapseMinute(bucket);
    } else {
      for (let passed = horizon + 1; passed <= minute; passed += 1) lapseMinute(passed);
    }
    horizon = minute;
  };

  const removePart = (part: Part) => {
    if (part.expiresAt === Number.POSITIVE_INFINITY) {
      count(part, -1);
      return;
    }
    const minute = minuteOf(part.expiresAt);
    const bucket = byMinute.get(minute);
    if (bucket?.delete(part)) {
      if (bucket.size === 0) byMinute.delete(minute);
      count(part, -1);
      return;
    }
    for (const key of part.keys) {
      const sums = sumsOf(key);
      sums.lapsed?.delete(part);
      if (isEmpty(sums)) byKey.delete(key);
    }
  };
  const remove = (requestId: RequestId) => {
    const known = byRequest.get(requestId);
    if (known === undefined) return;
    byRequest.delete(requestId);
    for (const part of known.parts) removePart(part);
  };

  const expireIn = (minute: number, part: Part) => {
    const bucket = byMinute.get(minute);
    if (bucket === undefined) byMinute.set(minute, new Set([part]));
    else bucket.add(part);
  };
  const putPart = (part: Part) => {
    const minute = minuteOf(part.expiresAt);
    if (minute <= horizon) {
      lapse(part);
      return;
    }
    if (part.expiresAt !== Number.POSITIVE_INFINITY) expireIn(minute, part);
    count(part, 1);
  };
  /** Where nothing but the time changes at which it expires, the sums stay as they are. False: something else does. */
  const postpone = (known: readonly Part[], parts: readonly Part[]): boolean => {
    const [before, after] = [known[0]!, parts[0]!];
    if (known.length > 1 || parts.length > 1 || before.keys !== after.keys) return false;
    if (before.amountCents !== after.amountCents || after.expiresAt === Number.POSITIVE_INFINITY) return false;
    const minute = minuteOf(after.expiresAt);
    const earlier = minuteOf(before.expiresAt);
    const bucket = byMinute.get(earlier);
    if (minute <= horizon || !bucket?.delete(before)) return false;
    if (bucket.size === 0) byMinute.delete(earlier);
    expireIn(minute, after);
    return true;
  };
  const put = (promised: Promised) => {
    const known = byRequest.get(promised.requestId);
    const parts = partsOf(promised);
    const isPostponed = known !== undefined && postpone(known.parts, parts);
    if (!isPostponed) {
      remove(promised.requestId);
      for (const part of parts) putPart(part);
    }
    byRequest.set(promised.requestId, { promised, parts });
  };

  const usage = (key: string, at: EpochMs): Usage => {
    advance(minuteOf(at));
    const sums = byKey.get(key);
    if (sums === undefined) return nothingUsed;
    let { amountCents, count } = sums;
    // Beyond the horizon's own minute nothing in the sums can have expired at `at`; in it and before, look.
    for (const part of sums.lapsed ?? none) {
      if (part.expiresAt <= at) continue;
      amountCents += part.amountCents;
      count += 1;
    }
    return { amountCents, count };
  };

  return {
    reserve: (before, { requestId, at, amountCents, caps, expiresAt, force }) => {
      if (isPromised(before) || (before !== 'none' && !force)) return before;
      if (!force && fullCap(caps, { amountCents, count: 1 }, (key) => usage(key, at)) !== null) return 'refused';
      put({ requestId, status: 'held', amountCents, keys: reservedKeysOf(caps), expiresAt });
      return 'held';
    },
    release: (before, requestId) => {
      if (!isPromised(before)) return before;
      remove(requestId);
      return 'released';
    },
    commit: (before, requestId, expiresAt) => {
      const known = byRequest.get(requestId);
      if (known === undefined) return before;
      put({ ...known.promised, status: 'committed', expiresAt });
      return 'committed';
    },
    countUnder: (requestId, keys, expiresAt) => {
      const known = byRequest.get(requestId);
      if (known !== undefined) put({ ...known.promised, keys, expiresAt });
    },
    restore: put,
    find: (requestId) => byRequest.get(requestId)?.promised ?? null,
    usage,
  };
}
