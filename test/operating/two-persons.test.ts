/** What takes two persons: what one of them said may be taken back, and does not wait for the other for ever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Control, RuleBookEntry } from '../../src/bidding/ports.ts';
import { isApprovalNeeded } from '../../src/bidding/rule-book.ts';
import { Fault } from '../../src/errors.ts';
import { type ControlParts, setCap, waitingRaises } from '../../src/operating/controls.ts';
import { type RuleOrderParts, setApproval } from '../../src/operating/rule-orders.ts';
import { createManualClock } from '../bidding/manual-clock.ts';

const start = 1_000_000;
const dayMs = 86_400_000;

function desk() {
  const entries: RuleBookEntry[] = [];
  const caps: Record<string, number> = {};
  let [now, revision] = [start, 0];
  const clock = { ...createManualClock(start), now: () => now };
  const control = {
    read: async () => ({ caps, pause: null }),
    acknowledged: async () => [],
    setCap: async (name: string, limitCents: number | null) => {
      if (limitCents === null) delete caps[name];
      else caps[name] = limitCents;
      revision += 1;
      return revision;
    },
  } as unknown as Control;
  let isBookThere = true;
  const ruleBook = {
    read: async () => {
      if (!isBookThere) throw new Fault('log-unavailable', 'no broker answers');
      return [...entries];
    },
    append: async (entry: RuleBookEntry) => {
      entries.push(entry);
    },
  };
  const parts = { clock, control, ruleBook, approval: false } as unknown as RuleOrderParts & ControlParts;
  return {
    entries,
    caps,
    pass: (ms: number) => {
      now += ms;
    },
    loseBook: () => {
      isBookThere = false;
    },
    waiting: () => waitingRaises(parts),
    approval: async (by: string, needed: boolean, of?: 'caps') =>
      (await setApproval(parts, { by, via: 'api' }, needed, of)).kind,
    cap: async (by: string, limitCents: number | null, via: 'api' | 'offline' = 'api') =>
      (await setCap(parts, { by, via }, { name: 'dia', limitCents, reason: null })).kind,
  };
}

for (const about of [undefined, 'caps'] as const) {
  test(`whoever asks for approval takes back what was said for its end (${about ?? 'sets'}; attacker, session 49)`, async () => {
    const { entries, approval } = desk();
    assert.equal(await approval('ana', true, about), 'approval-on');
    assert.equal(await approval('ana', false, about), 'approval-one-more');
    assert.equal(await approval('ana', true, about), 'approval-on');
    assert.equal(await approval('ana', true, about), 'approval-on');
    assert.deepEqual(
      entries.map(({ kind }) => kind),
      ['approval-required', 'approval-lift', 'approval-required'],
      'once, and nothing where nothing is to be taken back',
    );
    assert.equal(await approval('bruno', false, about), 'approval-one-more');
    assert.equal(await approval('ana', false, about), 'approval-off');
  });

  test(`what was said for the end of approval waits a day for the other person (${about ?? 'sets'})`, async () => {
    const { approval, pass } = desk();
    await approval('ana', true, about);
    assert.equal(await approval('ana', false, about), 'approval-one-more');
    pass(dayMs);
    assert.equal(await approval('bruno', false, about), 'approval-one-more');
    pass(dayMs - 1);
    assert.equal(await approval('bruno', false, about), 'approval-one-more', 'the same person again');
    pass(1);
    assert.equal(await approval('ana', false, about), 'approval-off', 'within a day of the last word');
  });
}

test('a book of an earlier version, whose lifts did not expire, comes to what it came to', () => {
  const via = 'api' as const;
  const required = { kind: 'approval-required', at: start, by: 'ana', via } as const;
  const lift = (by: string, at: number, until?: number) =>
    ({ kind: 'approval-lift', by, at, via, ...(until === undefined ? {} : { until }) }) as const;
  const late = start + 9 * dayMs;
  assert.ok(!isApprovalNeeded([required, lift('ana', start), lift('bruno', late)]));
  assert.ok(isApprovalNeeded([required, lift('ana', start), lift('bruno', late, late + dayMs)]));
  const byConfiguration = { ...required, by: null };
  assert.ok(!isApprovalNeeded([required, lift('ana', start), byConfiguration, lift('bruno', start)]));
});

test('a later order of the same person for the same cap takes the raise back that waits for another (attacker, session 49)', async () => {
  const { caps, approval, cap, entries } = desk();
  await cap('ana', 200);
  await approval('ana', true, 'caps');
  assert.equal(await cap('ana', 500), 'cap-one-more');
  assert.equal(await cap('ana', 100), 'stored');
  assert.equal(await cap('bruno', 500), 'cap-one-more', 'ana does not stand for it any more');
  assert.equal(caps.dia, 100);
  assert.equal(await cap('bruno', 300), 'cap-one-more');
  assert.equal(await cap('ana', 500), 'cap-one-more', 'bruno wants another raise by now');
  assert.equal(await cap('ana', 300), 'stored');
  assert.equal(caps.dia, 300);
  assert.equal(await cap('ana', 400), 'cap-one-more');
  assert.equal(await cap('carla', 250), 'stored');
  assert.equal(await cap('bruno', 400), 'stored', 'the order of somebody else takes nothing back');
  assert.equal(await cap('ana', 900), 'cap-one-more');
  assert.equal(await cap('Ana', 50, 'offline'), 'stored');
  assert.equal(await cap('bruno', 900), 'cap-one-more', 'a typed name may stop bids');
  const before = entries.length;
  assert.equal(await cap('carla', 40), 'stored');
  assert.equal(entries.length, before, 'who has no open raise writes nothing beside the order');
});

test('what waits for another person can be read until it was done, taken back, or has expired', async () => {
  const { approval, cap, waiting, pass } = desk();
  await cap('ana', 200);
  await approval('ana', true, 'caps');
  assert.deepEqual(await waiting(), []);
  await cap('ana', 500);
  pass(1_000);
  await cap('bruno', null);
  const [at, later] = [start, start + 1_000];
  const common = { name: 'dia', reason: null };
  assert.deepEqual(await waiting(), [
    { ...common, limitCents: 500, by: 'ana', at, until: at + dayMs },
    { ...common, limitCents: null, by: 'bruno', at: later, until: later + dayMs },
  ]);
  pass(dayMs - 1_000);
  assert.deepEqual(
    (await waiting()).map(({ by }) => by),
    ['bruno'],
    'a day after it was ordered',
  );
  await cap('bruno', 100);
  assert.deepEqual(await waiting(), [], 'taken back');
  await cap('ana', 300);
  await cap('bruno', 300);
  assert.deepEqual(await waiting(), [], 'done');
  await cap('ana', 900);
  assert.equal((await waiting()).length, 1);
  await approval('ana', false, 'caps');
  await approval('bruno', false, 'caps');
  assert.deepEqual(await waiting(), [], 'nobody has to be waited for');
});

test('a cap is lowered though nobody can read what raises wait', async () => {
  const { caps, cap, loseBook } = desk();
  await cap('ana', 200);
  loseBook();
  assert.equal(await cap('ana', 100), 'stored');
  assert.equal(await cap('ana', 300), 'not-stored');
  assert.equal(caps.dia, 100);
});
