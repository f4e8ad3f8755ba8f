/** What a replayed decision knew at its time: the controls, the link and the acceptance of the record; and exposure that ends by itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordedCase } from '../../src/impact/recorded-cases.ts';
import { type Replayed, replaySets } from '../../src/impact/replay-sets.ts';
import { sampleLink } from '../rules/sample-request.ts';
import { casesOf, policyWith, ruleFile, settings } from './recorded.ts';

async function replay(cases: readonly RecordedCase[], policy = policyWith()): Promise<Replayed> {
  const [replayed] = await replaySets(cases, [{ policy, shares: false }], settings, () => undefined);
  return replayed!;
}

const bidsIn = ({ decisions }: Replayed) => decisions.filter(({ kind }) => kind === 'bid').length;
const codesIn = ({ decisions }: Replayed) =>
  new Set(decisions.map((decision) => (decision.kind === 'bid' ? 'bid' : decision.code)));

test('requests of one moment are decided together, but for those with other controls', async () => {
  const cases = casesOf(10).map((recorded, place) => {
    const caps: Record<string, number> = place < 4 ? { desk: 1 } : {};
    return { ...recorded, control: { paused: false, caps } };
  });
  const replayed = await replay(cases);
  assert.deepEqual(replayed.groups, [4, 6]);
  assert.equal(replayed.decisions.slice(0, 4).filter(({ kind }) => kind === 'bid').length, 0);
  assert.ok(bidsIn(replayed) > 0);
  assert.deepEqual((await replay(casesOf(20))).groups, [10, 10]);
});

test('what own wins had taught of acceptance by then counts', async () => {
  const taught = casesOf(60, (recorded) => ({
    ...recorded,
    acceptance: { midpointShiftPercent: 0, ceilingFactor: 0.5 },
  }));
  const [plain, shifted] = [await replay(casesOf(60)), await replay(taught)];
  const most = ({ decisions }: Replayed) =>
    Math.max(...decisions.map((decision) => (decision.kind === 'bid' ? decision.worth.acceptance : 0)));
  assert.ok(most(shifted) > 0 && most(shifted) < 0.6 * most(plain), `${most(shifted)} ${most(plain)}`);
});

test('the link counts as it was known then', async () => {
  const barred = casesOf(60, (recorded) => ({ ...recorded, link: { ...sampleLink, eligible: false } }));
  const replayed = await replay(barred);
  assert.equal(bidsIn(replayed), 0);
  assert.ok(codesIn(replayed).has('not-eligible'));
  assert.ok(bidsIn(await replay(casesOf(60))) > 20);
});

test('what is promised and never heard of again is free when the bid and its grace are over', async () => {
  const apartMs = settings.bidValidityMs + settings.graceMs;
  const open = casesOf(20).map((recorded, place) => {
    const receivedAt = recorded.request.receivedAt + (place < 10 ? 0 : apartMs);
    return { ...recorded, auction: null, decidedAt: receivedAt, request: { ...recorded.request, receivedAt } };
  });
  const { moves } = await replay(open);
  const sums = moves.map((own) => own.map(({ amountCents }) => amountCents));
  // Before each group is decided: what came under exposure since the one before, and what left it.
  const promised = [...sums[0]!, ...sums[1]!].filter((cents) => cents > 0).reduce((sum, cents) => sum + cents, 0);
  const freed = sums[1]!.filter((cents) => cents < 0).reduce((sum, cents) => sum + cents, 0);
  const first = sums[0]!.reduce((sum, cents) => sum + cents, 0);
  assert.ok(first > 0 && promised > first);
  assert.equal(freed, -first);
});

test('a cap on the number of bids holds', async () => {
  const few = ruleFile(
    'Three a day',
    { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
    { type: 'cap', params: { name: 'three', keyFacts: [], window: 'day', maxCount: 3 } },
  );
  const open = casesOf(60, (recorded) => ({ ...recorded, auction: null }));
  const replayed = await replay(open, policyWith(few));
  assert.equal(bidsIn(replayed), 3);
  assert.ok(codesIn(replayed).has('cap'));
  assert.equal(replayed.capPeaks.get('three')?.count, 3);
});
