/** The judge of what the desk learns, on recorded auctions that are made here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noRivalCell } from '../../src/domain/glossary.ts';
import { type BreakEven, breakEvensOf, measureLearnt, measureLive } from '../../src/impact/learn.ts';
import { dimensionsOf, type RecordedAuction, readAuctions } from '../../src/impact/recorded-auctions.ts';
import { settings } from '../pricing/setting.ts';
import { auctionsOf } from './auctions.ts';

const { winCurve } = settings;

test('smooth rates: fifty auctions teach much more than their histogram, and shares rise with the sample', () => {
  const { breakEven } = measureLearnt(auctionsOf('smooth', 3_000), { winCurve, draws: 40, seed: 3 }, () => {});
  const { learning } = breakEven.mid;
  assert.ok(learning['50']!.mean > learning['50']!.histogramMean + 0.003);
  assert.ok(learning['1000']!.mean > learning['100']!.mean && learning['100']!.mean > learning['50']!.mean);
  assert.ok(learning['1000']!.p05 <= learning['1000']!.mean && learning['1000']!.mean < 1);
});

test('when rivals change regime twice, most of what a clairvoyant of each regime earns is kept', (t) => {
  const auctions = auctionsOf('smooth', 9_000);
  const bounds = [3_000, 6_000];
  for (const [shifts, least] of [
    [[0, -50, 40], 0.98],
    [[0, -120, 60], 0.97],
  ] as const) {
    const shifted = auctions.map((auction, index) => {
      const { bestRivalCell } = auction;
      const moved = Math.max(2, Math.min(497, bestRivalCell + shifts[Math.floor(index / 3_000)]!));
      return bestRivalCell === noRivalCell ? auction : { ...auction, bestRivalCell: moved };
    });
    const { policy, histogram } = measureLive(shifted, 'mid', { winCurve }, { from: 60, dimensions: [], bounds });
    t.diagnostic(`figure: shifts ${shifts.join(', ')}: ${policy.toFixed(4)}, histogram ${histogram.toFixed(4)}`);
    assert.ok(policy >= least && policy > histogram + 0.01, `${shifts}: ${policy} and ${histogram}`);
  }
});

test('the interval of a share holds what other files of the same market give', () => {
  const [first, ...others] = [0, 1, 2, 3].map((part) =>
    auctionsOf('smooth', 12_000).slice(3_000 * part, 3_000 * (part + 1)),
  );
  const run = { from: 60, dimensions: [], bounds: [] };
  const { policy, interval } = measureLive(first!, 'mid', { winCurve }, run);
  const { low, high } = interval.policy;
  assert.ok(low < policy && policy < high && high - low < 0.02, `${low} … ${high}`);
  for (const other of others) {
    const again = measureLive(other, 'mid', { winCurve }, run).policy;
    assert.ok(Math.abs(again - policy) < 2 * (high - low), `${again} for ${low} … ${high}`);
  }
});

test('results that come late are not known before: until the first of them nothing is learnt', () => {
  const auctions = auctionsOf('smooth', 200);
  const run = { from: 60, dimensions: [], bounds: [] };
  const day = 86_400_000;
  const clock = { auctionsADay: 100, halfLifeMs: Number.POSITIVE_INFINITY, delayMs: 2 * day };
  const { histogram } = measureLive(auctions, 'mid', { winCurve, clock }, run);
  assert.equal(histogram, 0);
  const soon = measureLive(auctions, 'mid', { winCurve, clock: { ...clock, delayMs: 0 } }, run);
  assert.deepEqual(soon, measureLive(auctions, 'mid', { winCurve }, run));
});

test('break-evens are evenly spaced, also where the range would begin below the grid', () => {
  const auctions = Array.from({ length: 100 }, (_, index) => ({
    segment: {},
    bestRivalCell: 60 + 5 * index,
    bestRivalOffGrid: false,
  }));
  // Quantiles 70 and 360: 0.5 of the way is 215, −0.75 of it far below 1.
  const breakEvens = breakEvensOf(auctions, 'low', 4);
  assert.deepEqual([...breakEvens], [27.75, 81.25, 134.75, 188.25]);
});

test('the figures of the plain histogram are those of sums taken by hand', () => {
  const cells = [200, 220, 240, 260, 280, 300];
  const auctions = Array.from({ length: 120 }, (_, index) => ({
    segment: {},
    bestRivalCell: cells[index % cells.length]!,
    bestRivalOffGrid: index % 4 === 1,
  }));
  const names: readonly BreakEven[] = ['low', 'mid', 'high'];
  for (const name of names) {
    const breakEvens = breakEvensOf(auctions, name, 41);
    const wins = (rate: number, { bestRivalCell, bestRivalOffGrid }: RecordedAuction) =>
      rate < bestRivalCell ? 1 : rate === bestRivalCell && !bestRivalOffGrid ? 0.5 : 0;
    const best = (known: readonly RecordedAuction[], breakEven: number): number => {
      let rate = Math.ceil(breakEven);
      const earns = (at: number) => (at - breakEven) * known.reduce((sum, auction) => sum + wins(at, auction), 0);
      for (let other = rate; other <= 497; other += 1) if (earns(other) > earns(rate) + 1e-9) rate = other;
      return rate;
    };
    let [earned, possible] = [0, 0];
    for (const breakEven of breakEvens) {
      const ideal = best(auctions.slice(60), breakEven);
      for (let start = 60; start < auctions.length; start += 20) {
        const rate = best(auctions.slice(0, start), breakEven);
        for (const auction of auctions.slice(start, start + 20)) {
          earned += (rate - breakEven) * wins(rate, auction);
          possible += (ideal - breakEven) * wins(ideal, auction);
        }
      }
    }
    const { histogram } = measureLive(auctions, name, { winCurve }, { from: 60, dimensions: [], bounds: [] });
    assert.ok(Math.abs(histogram - earned / possible) < 1e-3, `${name}: ${histogram} and ${earned / possible}`);
  }
});

test('a file is read line by line, and what is wrong is named', async () => {
  const readText = (text: string) => readAuctions(text.split('\n'));
  const line = (entry: unknown) => `${JSON.stringify(entry)}\n`;
  const good = line({ id: '1', segment: { region: 'a', size: 3 }, rates: [250, 211.5] });
  const reading = await readText(`${good}\n${line({ rates: [] })}${line({ rates: [600, 777] })}`);
  assert.equal(reading.kind, 'auctions');
  assert.deepEqual(reading.kind === 'auctions' && reading.auctions, [
    { segment: { region: 'a', size: '3' }, bestRivalCell: 212, bestRivalOffGrid: true },
    { segment: {}, bestRivalCell: noRivalCell, bestRivalOffGrid: false },
    { segment: {}, bestRivalCell: noRivalCell, bestRivalOffGrid: false },
  ]);
  assert.deepEqual(await readText(`${good}{"rates":`), { kind: 'refused', line: 2, field: 'line' });
  assert.deepEqual(await readText(line({ rates: ['2,5'] })), { kind: 'refused', line: 1, field: 'rates' });
  assert.deepEqual(await readText(good + line({ rates: [2], segment: [] })), {
    kind: 'refused',
    line: 2,
    field: 'segment',
  });
});

test('dimensions are the parts of segments that repeat often enough', () => {
  const auctions = auctionsOf('smooth', 200).map((auction, index) => ({
    ...auction,
    segment: { ...auction.segment, id: String(index), same: 'x' },
  }));
  assert.deepEqual(dimensionsOf(auctions), ['group', 'noise']);
});
