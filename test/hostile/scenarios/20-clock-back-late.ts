/** Twenty minutes back while offers wait for a slow service: none is sent after its auction has ended. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startClockWorld, until } from '../clock-world.ts';
import type { Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  line: 20,
  name: 'clock 20 min back while offers wait',
  run: async (directory) => {
    const windowMs = 2_500;
    const bidding = { sendLimit: 4 };
    const given = { directory, windowMs, bidding, answerDelayMs: 400 };
    const world = await startClockWorld({ ...given, followedBefore: true });
    assert.notEqual(await world.daemon.ready, null, world.daemon.output());
    world.open(60);
    await until('bids flow', () => world.bids().length > 4);
    world.shift(-1_200_000);
    await sleep(windowMs + 2_500);
    const deadlines = new Map(world.requests().map(({ requestId, deadlineAt }) => [requestId, deadlineAt]));
    const lateMs = world.bids().map(({ requestId, arrivedAt }) => arrivedAt - deadlines.get(requestId)!);
    const late = lateMs.filter((ms) => ms >= 0);
    assert.equal(late.length, 0, `${late.length} bids came after the end, the last one ${Math.max(...late)} ms`);
    world.shift(0);
    const before = world.bids().length;
    world.open(10);
    await until('bids flow again', () => world.bids().length > before);
    await world.close();
    return { bids: world.bids().length, late: late.length };
  },
};
