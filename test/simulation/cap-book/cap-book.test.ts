/** The protocol of the cap book keeps every cap whatever befalls its owners, and none of its rules could be left out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playCapBooks } from '../play.ts';
import { describeCapBooks, summariseCapBooks } from './summary.ts';
import { type Switch, type SwitchName, switches } from './switches.ts';
import { lossKinds } from './world.ts';

async function play(without: SwitchName | null, seeds: number, from = 1) {
  const summary = summariseCapBooks();
  const broken: string[] = [];
  let next = from;
  await playCapBooks(
    without,
    () => (next >= from + seeds || (without !== null && broken.length > 0) ? null : next++),
    2,
    (history) => {
      summary.add(history);
      for (const { kind, text } of history.violations) broken.push(`seed ${history.seed}: ${kind}: ${text}`);
    },
  );
  return { figures: summary.figures(), broken };
}

test('200 seeds: no cap is exceeded, the book is right in the end, and every loss came about', async (context) => {
  const { figures, broken } = await play(null, 200);
  context.diagnostic(`figure: ${describeCapBooks(figures)}`);
  assert.deepEqual(broken, []);
  assert.deepEqual(
    lossKinds.filter((kind) => figures.losses[kind] === 0),
    [],
    'these losses never came about',
  );
  assert(figures.sends > 10 * figures.seeds, `only ${figures.sends} bids`);
});

test('each of the seven rules can be left out', () => {
  const rules = new Set(Object.values(switches).map(({ rule }) => rule));
  assert.deepEqual([...rules].sort(), [1, 2, 3, 4, 5, 6, 7]);
});

for (const [name, { rule, seeds, from }] of Object.entries(switches) as [SwitchName, Switch][]) {
  test(`rule ${rule} without ${name}: caught within ${seeds} seeds`, async (context) => {
    const { figures, broken } = await play(name, seeds, from);
    context.diagnostic(`${figures.seeds} seeds: ${JSON.stringify(figures.violationsByKind)}`);
    assert(broken.length > 0, `nothing was found in ${figures.seeds} seeds`);
  });
}
