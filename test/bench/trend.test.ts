/** A soak says that something grows when it does, and not for noise. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trendOf } from '../../bench/trend.ts';
import { chanceOf } from '../../src/sandbox/chance.ts';

const noise = chanceOf('trend');
const samplesOf = (valueAt: (share: number) => number) =>
  Array.from({ length: 120 }, (_, index) => ({ at: index * 1_000, value: valueAt(index / 119) + 4 * (noise() - 0.5) }));

test('a figure that stays is flat, and its interval holds no growth', () => {
  const { isFlat, from, to, mean } = trendOf(
    samplesOf(() => 100),
    'mean',
  );
  assert.equal(isFlat, true);
  assert.ok(from < 1 && to > -1 && to - from < 5, `${from} … ${to}`);
  assert.ok(Math.abs(mean - 100) < 1);
});

test('a figure that grows by a fifth is not flat, and the interval holds the growth', () => {
  const { isFlat, growth, from, to } = trendOf(
    samplesOf((share) => 100 + 20 * share),
    'mean',
  );
  assert.equal(isFlat, false);
  assert.ok(from < 20 && to > 20, `${growth}: ${from} … ${to}`);
});

test('a heap that is collected again and again counts by its least values', () => {
  const sawtooth = (share: number) => 100 + 60 * ((share * 23) % 1);
  assert.equal(trendOf(samplesOf(sawtooth), 'least').isFlat, true);
  assert.equal(
    trendOf(
      samplesOf((share) => sawtooth(share) + 30 * share),
      'least',
    ).isFlat,
    false,
  );
});

test('a slack in units leaves small figures alone; too few samples are refused', () => {
  const fewHandles = Array.from({ length: 40 }, (_, index) => ({ at: index, value: index < 20 ? 10 : 12 }));
  assert.equal(trendOf(fewHandles, 'mean').isFlat, false);
  assert.equal(trendOf(fewHandles, 'mean', 3).isFlat, true);
  assert.throws(() => trendOf(fewHandles.slice(0, 3), 'mean'), /too few/);
});
