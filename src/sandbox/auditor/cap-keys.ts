/**
 * Whether a claim stands under each cap that was ordered, in the bucket of its own time. Names, buckets and days are computed here from
 * the rules, the facts of the request and the time of the claim: what the claim itself says of its caps is what is judged.
 */
import type { EpochMs } from '../../domain/glossary.ts';
import type { CapReservation } from '../../domain/offer.ts';
import type { Claimed } from '../../domain/records.ts';
import {
  appliesTo,
  type CapRule,
  capsByHandAt,
  type Facts,
  factsOf,
  type Orders,
  ruleSetsAt,
  zoneMs,
} from './orders.ts';
import type { RequestCase } from './run.ts';
import type { AuditSettings, Report } from './violation.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Bids of the last minutes of a day count on the next one too. */
const eveMs = 15 * minuteMs;
/** Windows up to a week are counted by the hour, longer ones in six hours. */
const hourlyUpTo = 168;

/** How a version of the desk writes the keys of a claim. All caps of one claim are written in one way. */
type Writing = {
  /** A day reads its eve and the day after, and a bid of the last minutes counts under the eve of the next day. */
  readsBesideMidnight: boolean;
  /** A window reads the bucket that comes next. */
  readsNextBucket: boolean;
  /** Requests of which a fact of a cap's key is not known share one cap; else they are not bid for. */
  sharesUnknown: boolean;
};

const current: Writing = { readsBesideMidnight: true, readsNextBucket: true, sharesUnknown: false };
/** A claim says by `capKeys` that this version or a later one wrote it. Without it one of these did, the latest first. */
const earlier: readonly Writing[] = [
  { readsBesideMidnight: false, readsNextBucket: true, sharesUnknown: true },
  { readsBesideMidnight: false, readsNextBucket: false, sharesUnknown: true },
];

function dayAt(at: EpochMs): string {
  return new Date(at + zoneMs).toISOString().slice(0, 10);
}

function bucketKeys(start: string, windowHours: number | null, at: EpochMs, writing: Writing): string[] {
  if (windowHours === null) {
    const today = `${start}|${dayAt(at)}`;
    const besides = [`${start}|eve-${dayAt(at)}`, `${start}|${dayAt(at + 24 * hourMs)}`];
    return writing.readsBesideMidnight ? [today, ...besides] : [today];
  }
  const [unit, width] = windowHours <= hourlyUpTo ? ['hour', 1] : ['6h', 6];
  const running = Math.floor(at / (width * hourMs));
  const keys: string[] = [];
  for (let bucket = running; bucket >= running - Math.ceil(windowHours / width); bucket -= 1) {
    keys.push(`${start}|${unit}-${bucket}`);
  }
  if (writing.readsNextBucket) keys.push(`${start}|${unit}-${running + 1}`);
  return keys;
}

/** As it stands in a key; null: not known. */
function partOf(value: Facts[string] | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string') return `${value}`;
  if (value.length > 80) return '?';
  return /^[\w.-]*$/.test(value) && value !== '' ? value : encodeURIComponent(value);
}

/** The keys of one cap, the one that it counts under first. `unknown`: facts of the key that the request does not say. */
type Expected = { name: string; bucket: string; keys: readonly string[]; unknown: readonly string[] };

function expectedOf(
  { name, keyFacts, windowHours }: Pick<CapRule, 'name' | 'keyFacts' | 'windowHours'>,
  facts: Facts,
  at: EpochMs,
  writing: Writing,
): Expected[] {
  const parts = keyFacts.map((fact) => [fact, partOf(facts[fact])] as const);
  const start = [name, ...parts.map(([fact, part]) => `${fact}=${part ?? '?'}`)].join('|');
  const keys = bucketKeys(start, windowHours, at, writing);
  const unknown = parts.flatMap(([fact, part]) => (part === null ? [fact] : []));
  const own = { name, bucket: lastPart(keys[0]!), keys, unknown };
  const next = dayAt(at + eveMs);
  if (windowHours !== null || !writing.readsBesideMidnight || next === dayAt(at)) return [own];
  return [own, { ...own, bucket: `eve-${next}`, keys: [`${start}|eve-${next}`] }];
}

function lastPart(key: string): string {
  return key.slice(key.lastIndexOf('|') + 1);
}

/** Keys of claims that nobody can read come after a cap's own. */
function ownKeys({ keys }: CapReservation): string {
  return JSON.stringify(keys.filter((key) => !key.startsWith('standing:unread')));
}

/** What is wrong with the caps of a claim by one rule set and one way of writing them, in words that name no worker. */
function faultsOf(claim: Claimed, expected: readonly Expected[], { sharesUnknown }: Writing): string[] {
  const { caps } = claim.trace;
  const told = new Set(caps.map(ownKeys));
  const faults: string[] = [];
  for (const { name, bucket, keys, unknown } of expected) {
    if (unknown.length > 0 && !sharesUnknown)
      faults.push(`${unknown.join(', ')} is not known, by which ${name} counts`);
    else if (!told.has(JSON.stringify(keys))) {
      const own = caps.flatMap((cap) => (cap.keys[0]?.startsWith(`${name}|`) ? [lastPart(cap.keys[0])] : []));
      faults.push(`${name} in ${bucket} is missing${own.length === 0 ? '' : `, and it names ${own.join(', ')}`}`);
    }
  }
  return faults;
}

export function checkCapKeys(known: RequestCase, orders: Orders, settings: AuditSettings, report: Report): void {
  const { requestId, evidence } = known;
  const { claim } = evidence;
  if (claim === null) return;
  const { decidedAt, capKeys } = claim.trace;
  const facts = factsOf(known);
  const byHand = capsByHandAt(orders, decidedAt, settings).map(({ name }) => `operator:${name}`);
  const handRules = byHand.map((name) => ({ name, keyFacts: [], windowHours: null }));
  let least: string[] | null = null;
  for (const writing of capKeys === undefined ? earlier : [current]) {
    for (const { caps } of ruleSetsAt(orders, decidedAt, settings)) {
      const rules = [...caps.filter((rule) => appliesTo(rule, facts)), ...handRules];
      const faults = faultsOf(
        claim,
        rules.flatMap((rule) => expectedOf(rule, facts, claim.at, writing)),
        writing,
      );
      if (least === null || faults.length < least.length) least = faults;
    }
  }
  for (const fault of least ?? []) report('cap-keys', requestId, `its claim does not stand under its caps: ${fault}`);
}
