/** Arms of an experiment against sums by hand; equal arms differ by chance alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportExperiments, type Trialled } from '../../src/impact/experiments.ts';

function one(batch: number, arm: Trialled['arm'], bid: Trialled['bid'], taken = false): Trialled {
  return { name: 'rate-up', layer: 'price', arm, batch: String(batch), bid, taken };
}

test('each arm is summed by itself; what cannot be judged earns nothing', () => {
  const trialled = [
    one(0, 'treated', { win: 1, profitCents: 900 }, true),
    one(0, 'treated', { win: 0, profitCents: -2 }),
    one(1, 'treated', { win: null, profitCents: 0 }),
    one(1, 'treated', null),
    one(0, 'control', { win: 0.5, profitCents: 400 }),
    one(2, 'control', null),
  ];
  const [report] = reportExperiments(trialled, { draws: 50, seed: 1 });
  assert.deepEqual(report!.treated, { requests: 4, bids: 3, judgedBids: 2, wins: 1, profitCents: 898, taken: 1 });
  assert.deepEqual(report!.control, { requests: 2, bids: 1, judgedBids: 1, wins: 0.5, profitCents: 400, taken: 0 });
  const { bidShare, winRate, profitPerRequestCents, takenShare } = report!.difference;
  assert.deepEqual(
    [bidShare.value, winRate.value, profitPerRequestCents.value, takenShare.value],
    [0.25, 0, 24.5, 0.25],
  );
});

test('experiments are told apart, by layer and name, whatever order they come in', () => {
  const trialled = (name: string, layer: string, profitCents: number): Trialled[] => [
    { name, layer, arm: 'treated', batch: '0', bid: { win: 1, profitCents }, taken: false },
    { name, layer, arm: 'control', batch: '1', bid: { win: 1, profitCents: 1 }, taken: false },
  ];
  const all = [...trialled('b', 'price', 10), ...trialled('a', 'price', 20), ...trialled('z', 'limits', 30)];
  const told = reportExperiments(all, { draws: 10, seed: 1 });
  assert.deepEqual(
    told.map(({ layer, name, treated, control }) => [layer, name, treated.profitCents, control.profitCents]),
    [
      ['limits', 'z', 30, 1],
      ['price', 'a', 20, 1],
      ['price', 'b', 10, 1],
    ],
  );
});

test('a real effect lies outside of nought, none lies around it', () => {
  const arms = (effect: number) =>
    Array.from({ length: 4_000 }, (_, index): Trialled => {
      const arm = index % 2 === 0 ? 'treated' : 'control';
      const noise = ((index * 7_919) % 1_000) - 500;
      return one(Math.floor(index / 20), arm, { win: 1, profitCents: noise + (arm === 'treated' ? effect : 0) });
    });
  const [none] = reportExperiments(arms(0), { draws: 400, seed: 2 });
  assert.deepEqual(reportExperiments(arms(0), { draws: 400, seed: 2 }), [none], 'the same bytes again');
  assert.notDeepEqual(reportExperiments(arms(0), { draws: 400, seed: 3 }), [none], 'other draws');
  const [some] = reportExperiments(arms(100), { draws: 400, seed: 2 });
  const { low, high } = none!.difference.profitPerRequestCents;
  assert.ok(low < 3 && high > -3);
  assert.ok(some!.difference.profitPerRequestCents.low > 50);
});
