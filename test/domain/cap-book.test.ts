/** The cap book against its rules, written out once more: every sum is taken over the list of all that was ever reserved. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  capsAsRecorded,
  createCapBook,
  dayKeys,
  eveCapsOf,
  fullCap,
  type Reservation,
  type Reserve,
  windowKeys,
} from '../../src/domain/cap-book.ts';
import type { Usage } from '../../src/domain/offer.ts';

const start = Date.UTC(2026, 10, 20, 12);
const keys = ['day|a', 'day|b', 'desk|hour-1', 'desk|hour-2', 'desk|6h-3'];
const requestIds = ['1', '2', '3', '4', '5', '6'];

/** Most of them within few minutes, on and beside whole minutes; and in any order, as the times of records may be. */
const times = fc.oneof(
  fc.integer({ min: 0, max: 12 }).map((step) => start + step * 30_000),
  fc.integer({ min: -1, max: 1 }).map((step) => start + 60_000 + step),
  fc.constantFrom(start - 86_400_000, start + 86_400_000),
);
const caps = fc.array(
  fc.record({
    keys: fc.array(fc.constantFrom(...keys), { maxLength: 4 }),
    limitAmountCents: fc.option(fc.integer({ min: 0, max: 400 })),
    limitCount: fc.option(fc.integer({ min: 0, max: 4 })),
  }),
  { maxLength: 4 },
);

type Step =
  | ({ kind: 'reserve' } & Reserve)
  | { kind: 'release'; requestId: string }
  | { kind: 'commit'; requestId: string; expiresAt: number }
  | { kind: 'count-under'; requestId: string; keys: readonly string[]; expiresAt: number }
  | { kind: 'look'; at: number };

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      requestId: fc.constantFrom(...requestIds),
      at: times,
      amountCents: fc.integer({ min: 1, max: 150 }),
      caps,
      expiresAt: times,
      force: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
    }),
  },
  fc.record({ kind: fc.constant('release' as const), requestId: fc.constantFrom(...requestIds) }),
  fc.record({ kind: fc.constant('commit' as const), requestId: fc.constantFrom(...requestIds), expiresAt: times }),
  fc.record({
    kind: fc.constant('count-under' as const),
    requestId: fc.constantFrom(...requestIds),
    keys: fc.uniqueArray(fc.constantFrom(...keys), { maxLength: 3 }),
    expiresAt: times,
  }),
  fc.record({ kind: fc.constant('look' as const), at: times }),
);

type Entry = {
  requestId: string;
  keys: Set<string>;
  amountCents: number;
  expiresAt: number;
  over: boolean;
  committed: boolean;
};

/** The rules, one after the other, without a thought of speed. */
function createOracle() {
  const entries: Entry[] = [];
  const outcomes = new Map<string, Reservation>();
  const usage = (key: string, at: number): Usage => {
    const lasts = (entry: Entry) => entry.committed && (key.includes('|hour-') || key.includes('|6h-'));
    const live = entries.filter(
      (entry) => !entry.over && entry.keys.has(key) && (at < entry.expiresAt || lasts(entry)),
    );
    return { amountCents: live.reduce((sum, { amountCents }) => sum + amountCents, 0), count: live.length };
  };
  /** A cap sums its keys, each once; its limits may be met, not passed. */
  const hasRoom = ({ at, amountCents }: Reserve, cap: Reserve['caps'][number]): boolean => {
    const used = keys.filter((key) => cap.keys.includes(key)).map((key) => usage(key, at));
    const amount = used.reduce((sum, each) => sum + each.amountCents, 0) + amountCents;
    const count = used.reduce((sum, each) => sum + each.count, 0) + 1;
    return (
      !(cap.limitAmountCents !== null && amount > cap.limitAmountCents) &&
      !(cap.limitCount !== null && count > cap.limitCount)
    );
  };
  const outcomeOf = (requestId: string): Reservation => outcomes.get(requestId) ?? 'none';
  const standing = (requestId: string) => entries.find((entry) => entry.requestId === requestId && !entry.over);
  return {
    usage,
    hasRoom,
    outcomeOf,
    take: (step: Step): void => {
      if (step.kind === 'look') return;
      const { requestId } = step;
      const outcome = outcomeOf(requestId);
      const stands = outcome === 'held' || outcome === 'committed';
      if (step.kind === 'reserve') {
        if (stands || (outcome !== 'none' && !step.force)) return;
        const fits = step.force || step.caps.every((cap) => hasRoom(step, cap));
        outcomes.set(requestId, fits ? 'held' : 'refused');
        if (!fits) return;
        const { amountCents, expiresAt } = step;
        const own = new Set(step.caps.filter((cap) => cap.keys.length > 0).map((cap) => cap.keys[0]!));
        entries.push({ requestId, keys: own, amountCents, expiresAt, over: false, committed: false });
      } else if (stands && step.kind === 'count-under') {
        Object.assign(standing(requestId)!, { keys: new Set(step.keys), expiresAt: step.expiresAt });
      } else if (stands && step.kind !== 'count-under') {
        outcomes.set(requestId, step.kind === 'release' ? 'released' : 'committed');
        if (step.kind === 'release') standing(requestId)!.over = true;
        else Object.assign(standing(requestId)!, { expiresAt: step.expiresAt, committed: true });
      }
    },
  };
}

/** Plays the plan on a book and on the oracle, which have to say the same after each step. `hear`: what a step came to. */
function play(plan: readonly Step[], hear: (after: Reservation) => void): void {
  const book = createCapBook();
  const oracle = createOracle();
  for (const step of plan) {
    if (step.kind === 'look') {
      for (const key of keys) assert.deepEqual({ ...book.usage(key, step.at) }, oracle.usage(key, step.at));
      continue;
    }
    const { requestId } = step;
    const before = oracle.outcomeOf(requestId);
    oracle.take(step);
    if (step.kind === 'count-under') {
      book.countUnder(requestId, step.keys, step.expiresAt);
      continue;
    }
    const after =
      step.kind === 'reserve'
        ? book.reserve(before, step)
        : step.kind === 'release'
          ? book.release(before, requestId)
          : book.commit(before, requestId, step.expiresAt);
    assert.equal(after, oracle.outcomeOf(requestId));
    assert.equal(book.find(requestId)?.status ?? null, after === 'held' || after === 'committed' ? after : null);
    hear(after);
  }
}

test('reserved, released, committed, expired: outcomes and sums are what the rules say, whenever they are asked', () => {
  const seen = new Set<Reservation>();
  let repeated = 0;
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 60 }), (plan) => {
      play(plan, (after) => seen.add(after));
      for (const step of plan) {
        if (step.kind === 'reserve' && step.caps.some((cap) => new Set(cap.keys).size < cap.keys.length)) repeated += 1;
      }
    }),
    { numRuns: 2_000, seed: 17 },
  );
  assert.deepEqual([...seen].sort(), ['committed', 'held', 'none', 'refused', 'released']);
  assert.ok(repeated > 1_000, `${repeated} reservations with a key twice in one cap`);
});

test('while time goes on slowly, what is committed counts until it expires', () => {
  const day = fc.constantFrom('day|a', 'day|b');
  const ahead = fc.integer({ min: 0, max: 8 }).map((step) => step * 45_000);
  const slow = fc.oneof(
    fc.record({ kind: fc.constant('reserve' as const), requestId: fc.constantFrom(...requestIds), key: day, ahead }),
    fc.record({ kind: fc.constant('commit' as const), requestId: fc.constantFrom(...requestIds), ahead }),
    fc.record({ kind: fc.constant('look' as const), ahead }),
  );
  let committed = 0;
  fc.assert(
    fc.property(fc.array(slow, { minLength: 10, maxLength: 60 }), (plan) => {
      const steps = plan.map((step, index): Step => {
        const at = start + index * 15_000;
        if (step.kind === 'look') return { kind: 'look', at: at - 60_000 + step.ahead };
        const expiresAt = at + step.ahead;
        if (step.kind === 'commit') return { kind: 'commit', requestId: step.requestId, expiresAt };
        const cap = { keys: [step.key], limitAmountCents: 400, limitCount: null };
        return {
          ...{ kind: 'reserve', requestId: step.requestId, at, amountCents: 100 },
          ...{ caps: [cap], expiresAt, force: false },
        };
      });
      play(steps, (after) => {
        if (after === 'committed') committed += 1;
      });
    }),
    { numRuns: 1_000, seed: 17 },
  );
  assert.ok(committed > 3_000, `${committed} commits`);
});

test('the cap that is named as full is the first one without room', () => {
  let [full, free] = [0, 0];
  const usages = fc.dictionary(
    fc.constantFrom(...keys),
    fc.record({ amountCents: fc.integer({ min: 0, max: 200 }), count: fc.integer({ min: 0, max: 3 }) }),
  );
  const amounts = fc.integer({ min: 0, max: 150 });
  fc.assert(
    fc.property(caps, usages, amounts, fc.boolean(), (all, used, amountCents, isNew) => {
      // Without an own bid, what is used may just meet the limits.
      const more = isNew ? { amountCents, count: 1 } : { amountCents: 0, count: 0 };
      const sums = (cap: Reserve['caps'][number], of: keyof Usage) =>
        keys.filter((key) => cap.keys.includes(key)).reduce((sum, key) => sum + (used[key]?.[of] ?? 0), more[of]);
      const first = all.find(
        (cap) =>
          (cap.limitAmountCents !== null && sums(cap, 'amountCents') > cap.limitAmountCents) ||
          (cap.limitCount !== null && sums(cap, 'count') > cap.limitCount),
      );
      const told = fullCap(all, more, (key) => used[key]);
      assert.equal(told, first === undefined ? null : (first.keys[0] ?? 'cap'));
      if (told === null) free += 1;
      else full += 1;
    }),
    { numRuns: 5_000, seed: 17 },
  );
  assert.ok(full > 500 && free > 500, `${full} full, ${free} free`);
});

test('the last 15 minutes of a day are the eve of the next one, and the day after a day is told across months', () => {
  const midnight = Date.parse('2026-12-01T03:00:00Z');
  const cap = (keys: readonly string[]) => ({ keys, limitAmountCents: 5, limitCount: null });
  const eveAt = (at: number) =>
    eveCapsOf([cap(dayKeys('a|b=1', at)), cap(windowKeys('c', 2, at))], at).map((each) => each.keys);
  assert.deepEqual(dayKeys('a', midnight - 1), ['a|2026-11-30', 'a|eve-2026-11-30', 'a|2026-12-01']);
  assert.deepEqual(eveAt(midnight - 900_001), []);
  for (const at of [midnight - 900_000, midnight - 1]) assert.deepEqual(eveAt(at), [['a|b=1|eve-2026-12-01']]);
  assert.deepEqual(eveAt(midnight), []);
});

test('caps are read again as the version read them that made the record', () => {
  const at = Date.parse('2026-12-01T02:55:00Z');
  const cap = (keys: readonly string[]) => ({ keys, limitAmountCents: 5, limitCount: null });
  const own = [cap(dayKeys('a', at)), cap(windowKeys('c', 200, at))];
  const now = [...own, ...eveCapsOf(own, at)];
  assert.deepEqual(capsAsRecorded(now, now), now);
  const before = own.map(({ keys }) => cap(keys[0]!.startsWith('a') ? keys.slice(0, 1) : keys.slice(0, -1)));
  assert.deepEqual(capsAsRecorded(now, before), before);
  const short = [own[0]!, cap(own[1]!.keys.slice(0, -2))];
  assert.notDeepEqual(capsAsRecorded(own, short), short, 'no version read fewer buckets back');
});
