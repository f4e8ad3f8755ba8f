/** Economics of the settings: which ones decide where two persons have to stand for a change, and who has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuleBookEntry } from '../../src/bidding/ports.ts';
import type { ApprovalOf } from '../../src/domain/kept-book.ts';
import { approveEconomics, economicsStanding, settleEconomics } from '../../src/operating/economics.ts';
import { type RuleOrderParts, setApproval } from '../../src/operating/rule-orders.ts';

const sourceOf = (percent: number) => JSON.stringify({ economics: { fundingAnnualPercent: percent } });
const economics = (percent: number) => ({ hash: `${percent}`.padEnd(12, 'a'), source: sourceOf(percent) });

function desk() {
  const entries: RuleBookEntry[] = [];
  let now = 1_000;
  const clock = { now: () => now };
  const ruleBook = {
    read: async () => [...entries],
    append: async (entry: RuleBookEntry) => {
      now += 1;
      entries.push(entry);
    },
  };
  const parts = { clock, ruleBook, approval: false } as unknown as RuleOrderParts;
  return {
    kinds: () => entries.map(({ kind }) => kind),
    start: async (percent: number) => {
      const settled = await settleEconomics(parts, economics(percent), (kept) => kept === sourceOf(percent));
      return settled.kind === 'own' ? percent : JSON.parse(settled.used.source).economics.fundingAnnualPercent;
    },
    approve: async (by: string, percent: number, via: 'api' | 'offline' = 'api') =>
      (await approveEconomics(parts, { by, via }, economics(percent).hash)).kind,
    approval: async (by: string, needed: boolean, of: ApprovalOf = 'economics') =>
      (await setApproval(parts, { by, via: 'api' }, needed, of)).kind,
    standing: () => economicsStanding(parts),
  };
}

test('without a record of it a process decides by its settings, and what it decides by is written down once', async () => {
  const { start, kinds, standing, approval } = desk();
  assert.equal(await start(13), 13);
  assert.equal(await start(13), 13);
  await approval('ana', true, 'caps');
  assert.equal(await start(12), 12, 'caps alone need two persons');
  assert.deepEqual(kinds(), ['economics-used', 'approval-required', 'economics-used']);
  assert.deepEqual(await standing(), { used: economics(12).hash, approvalNeeded: false, waiting: [] });
});

test('where two persons have to stand for it, a change decides once two identities have approved it', async () => {
  const { start, kinds, standing, approve, approval } = desk();
  await start(13);
  await approval('ana', true);
  assert.equal(await start(13), 13, 'what decided decides on');
  assert.equal(await approve('ana', 12), 'set-unknown', 'no process has them yet');
  assert.equal(await start(12), 13);
  assert.equal(await start(12), 13, 'a restart changes nothing');
  assert.deepEqual(kinds(), ['economics-used', 'approval-required', 'economics-proposed']);
  const { waiting } = await standing();
  assert.deepEqual(
    waiting.map(({ hash, approved, approvals, differences }) => ({ hash, approved, approvals, differences })),
    [
      {
        ...{ hash: economics(12).hash, approved: false, approvals: [] },
        differences: [{ at: 'economics.fundingAnnualPercent', before: 13, after: 12 }],
      },
    ],
  );
  assert.equal(await approve('bruno', 12, 'offline'), 'identity-needed');
  assert.equal(await approve('ana', 12), 'one-more');
  assert.equal(await approve('Ana ', 12), 'same-person');
  assert.equal(await start(12), 13, 'one is not enough');
  assert.equal(await start(11), 13);
  assert.equal(await approve('bruno', 12), 'economics-approved');
  assert.equal(await start(11), 13, 'these and no others');
  assert.equal(await start(12), 12);
  assert.deepEqual((await standing()).waiting, []);
  assert.equal(await start(11), 12);
  assert.equal((await standing()).waiting.length, 1, 'they wait again after what decides has changed');
});

test('it takes two persons to end it, and then the settings decide', async () => {
  const { start, approval } = desk();
  await start(13);
  await approval('ana', true);
  assert.equal(await start(12), 13);
  assert.equal(await approval('ana', false), 'approval-one-more');
  assert.equal(await start(12), 13);
  assert.equal(await approval('bruno', false), 'approval-off');
  assert.equal(await start(12), 12);
});

test('what a later version reads as the same is no change, and is written down in its form', async () => {
  const entries: RuleBookEntry[] = [
    { kind: 'economics-used', hash: 'earlier', source: sourceOf(13), at: 1, by: null },
    { kind: 'approval-required', of: 'economics', at: 2, by: 'ana', via: 'api' },
  ];
  const ruleBook = {
    read: async () => entries,
    append: async (entry: RuleBookEntry) => void entries.push(entry),
  };
  const own = { hash: 'later', source: '{"economics":{"fundingAnnualPercent":13,"new":0}}' };
  const settled = await settleEconomics({ ruleBook, clock: { now: () => 3 } }, own, (kept) => kept === sourceOf(13));
  assert.deepEqual(settled, { kind: 'own' });
  assert.deepEqual(entries.at(-1), { kind: 'economics-used', ...own, at: 3, by: null });
});
