/** The desk on virtual time: no promise is broken, every fault does happen, and a seed plays one history only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultKinds } from './faults.ts';
import { playInParallel } from './play.ts';
import { describe, summarise } from './summary.ts';
import { type History, playHistory } from './world.ts';

const seeds = 150;
const histories = new Map<number, History>();

test(`${seeds} seeds: no promise is broken, and every kind of fault came about`, async (context) => {
  const summary = summarise();
  const broken: string[] = [];
  let next = 1;
  await playInParallel(
    () => (next > seeds ? null : next++),
    2,
    (history) => {
      histories.set(history.seed, history);
      summary.add(history);
      for (const { kind, text } of history.violations) broken.push(`seed ${history.seed}: ${kind}: ${text}`);
    },
  );
  const figures = summary.figures();
  context.diagnostic(`figure: ${describe(figures)}`);
  assert.deepEqual(broken, []);
  assert.deepEqual(
    faultKinds.filter((kind) => figures.faults[kind] === 0),
    [],
    'these faults never came about',
  );
  // What was sent after the end of its auction was told counted before; it is not sent any more.
  assert(figures.bids >= figures.requests * 0.38, `only ${figures.bids} bids for ${figures.requests} requests`);
});

test('the same seed plays the same history, byte for byte, in another thread too', async () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const again = await playHistory(seed);
    const { hash, events, faults } = histories.get(seed)!;
    assert.deepEqual({ hash: again.hash, events: again.events, faults: again.faults }, { hash, events, faults });
  }
  assert.equal(new Set([...histories.values()].map(({ hash }) => hash)).size, histories.size, 'seeds must differ');
});
