/** A start twenty minutes behind: bidding stays closed until the clock is set, and begins then without anybody's help. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startClockWorld, until } from '../clock-world.ts';
import type { Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  line: 20,
  name: 'start 20 min behind, corrected later',
  run: async (directory) => {
    const world = await startClockWorld({ directory, windowMs: 30_000, shiftMs: -1_200_000 });
    const readyz = async () => {
      const answer = await fetch(`${world.daemon.url}/readyz?verbose`).catch(() => null);
      return answer === null ? '' : await answer.text();
    };
    await until('the skew is seen', async () => (await readyz()).includes('clock-skew'));
    world.open(20);
    await sleep(1_000);
    assert.equal(world.bids().length, 0);
    world.shift(0);
    const correctedAtMs = performance.now();
    await until('bidding begins', () => world.bids().length > 0);
    const healedMs = Math.round(performance.now() - correctedAtMs);
    await world.close();
    return { healedMs, bids: world.bids().length };
  },
};
