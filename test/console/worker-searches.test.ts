/** Searches by CPF are kept for each person: nobody's are displaced by those of somebody else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWorkerSearches } from '../../src/console/worker-searches.ts';

test('one person who searches without end displaces their own searches alone, and memory has a bound', () => {
  let nowMs = 0;
  const searches = createWorkerSearches(() => nowMs);
  const ana = searches.begin('ana', 'w-ana');
  const bruno = Array.from({ length: 1_000 }, (_, each) => searches.begin('bruno', `w-${each}`));
  assert.equal(searches.find('ana', ana), 'w-ana');
  assert.equal(searches.find('bruno', ana), null);
  assert.equal(searches.find('bruno', bruno[0]!), null);
  assert.equal(searches.find('bruno', bruno.at(-1)!), 'w-999');
  assert.ok(bruno.filter((name) => searches.find('bruno', name) !== null).length <= 200);
  nowMs = 30 * 60_000;
  assert.equal(searches.find('ana', ana), null);
  // What is over is forgotten with the next search.
  for (let each = 0; each < 100; each += 1) searches.begin(`person-${each}`, 'w');
  nowMs *= 2;
  searches.begin('ana', 'w-ana');
  assert.equal(searches.size(), 1);
});
