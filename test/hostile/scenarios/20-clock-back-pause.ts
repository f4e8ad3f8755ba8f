/** A minute back, and then a pause: it is heard, obeyed and acknowledged, and bidding goes on when both are over. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startClockWorld, until } from '../clock-world.ts';
import type { Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  line: 20,
  name: 'clock 60 s back, then a pause',
  run: async (directory) => {
    const world = await startClockWorld({ directory, windowMs: 30_000, followedBefore: true });
    assert.notEqual(await world.daemon.ready, null, world.daemon.output());
    world.open(1_000);
    await until('bids flow', () => world.bids().length > 10);
    world.shift(-60_000);
    await world.command('pause', '--by', 'ana', '--reason', 'the clock');
    const pausedAt = Date.now();
    const before = world.bids().length;
    await sleep(700);
    const unheard = world.bids().filter(({ arrivedAt }) => arrivedAt > pausedAt).length;
    assert.equal(unheard, 0, `${unheard} bids followed the pause`);
    world.shift(0);
    await sleep(500);
    const later = world.bids().length - before;
    assert.equal(later, 0, `${later} bids followed when the clock was right again`);
    await world.command('resume', '--by', 'ana', '--reason', 'it is right again');
    await until('bids flow again', () => world.bids().length > before + 10);
    await world.close();
    return { bidsAfterThePause: unheard + later };
  },
};
