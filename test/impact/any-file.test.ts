/** Files of other trades: what the desk learns there from samples is never much worse than a plain histogram. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureLearning } from '../../src/impact/learn.ts';
import { settings } from '../pricing/setting.ts';
import { auctionsOf } from './auctions.ts';

const { winCurve } = settings;

for (const kind of ['atoms', 'floor', 'bimodal'] as const) {
  test(`${kind}: no sample teaches less than its plain histogram by more than 0.003`, (t) => {
    const measured = measureLearning(auctionsOf(kind, 8_000), { winCurve, draws: 30, seed: 3 }, () => {});
    for (const [name, learning] of Object.entries(measured)) {
      const gains = Object.values(learning).map(({ mean, histogramMean }) => mean - histogramMean);
      const means = Object.values(learning).map(({ mean }) => mean);
      t.diagnostic(`figure: ${kind} ${name} gains ${gains.map((gain) => gain.toFixed(4)).join(' ')}`);
      for (const gain of gains) assert.ok(gain >= -0.003, `${kind} ${name}: ${gains}`);
      for (const mean of means) assert.ok(mean > 0.8 && mean <= 1 + 1e-9, `${kind} ${name}: ${means}`);
    }
  });
}
