/** Four days ahead for 1.5 s while bids stand: none of them is over by that, and the cap that they fill stays full. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { quiet, startClockWorld, until } from '../clock-world.ts';
import type { Scenario } from '../scenario.ts';

const capReais = 15_000;
const fourDaysMs = 4 * 86_400_000;

export const scenario: Scenario = {
  line: 20,
  name: 'clock 4 days ahead for 1.5 s, with bids standing under a full cap',
  run: async (directory) => {
    const world = await startClockWorld({ directory, windowMs: 60_000, deskDayReais: capReais });
    assert.notEqual(await world.daemon.ready, null, world.daemon.output());
    const promised = () => {
      const amounts = new Map(world.bids().map(({ requestId, amountCents }) => [requestId, amountCents]));
      return [...amounts.values()].reduce((sum, cents) => sum + cents, 0) / 100;
    };
    world.open(40);
    await until('some bids', () => world.bids().length > 0);
    await quiet(world, 400);
    const before = promised();
    assert.ok(before > 0 && before <= capReais, `${before} reais before the step`);
    world.shift(fourDaysMs);
    world.open(20);
    await sleep(1_500);
    const closed = await (await fetch(`${world.daemon.url}/readyz?verbose`)).text();
    world.shift(0);
    world.open(20);
    await until('ready again', async () => (await fetch(`${world.daemon.url}/readyz`)).status === 200);
    await quiet(world, 600);
    const expired = await world.metric('lance_phases_total{phase="expired"}');
    const missing = await world.metric('lance_phases_total{phase="result-missing"}');
    const alarms = await world.metric('lance_alarms_total{code="clock-step"}');
    const after = promised();
    assert.ok(after <= capReais, `${after} reais were promised under a cap of ${capReais}`);
    assert.equal(expired + missing, 0, `${expired} bids expired and ${missing} results were missed`);
    assert.match(closed, /clock-step/);
    assert.equal(alarms, 1);
    await world.close();
    return { promisedReais: after, capReais, bids: world.bids().length };
  },
};
