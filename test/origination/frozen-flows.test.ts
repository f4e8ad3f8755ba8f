/** A flow whose records cannot be processed stands still under an alarm, and the process and the other flows go on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { readRecord } from '../../src/domain/record-shapes.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { evolveAgain, evolveOrFreeze } from '../../src/origination/evolve.ts';
import { alarmsOf, maySend, react } from '../../src/origination/react.ts';
import { openHouse } from '../bidding/house.ts';
import { flowsSandbox, noRivals } from '../flows/world.ts';
import { createFlowWorld } from './flow-world.ts';
import { asked, link, settings, startAt, started } from './orders.ts';

const flowId = 'r-9001';
const thaw = (action: 'retry' | 'cancel', at = startAt + 9): FlowRecord => {
  return { kind: 'unfrozen', flowId, at, action, by: 'ana', reason: 'seen with the vendor' };
};

/** Records of a flow that runs to its end, as the desk writes them. */
function history(): FlowRecord[] {
  const real = createFlowWorld(started('renegotiation'));
  real.settle();
  for (const event of real.events) real.append(event);
  return [...real.log, asked(flowId, 'cancel', 'c', startAt), thaw('cancel'), { kind: 'turned', flowId, at: startAt }];
}

const values = fc.constantFrom<unknown>(...[undefined, null, '', '0123', -1, 1.5, 1e308, true, [], [7], {}]);

test('whatever stands in the log of a flow, folding and going on never throw; frozen it sends nothing (defect line 9)', () => {
  const records = history();
  assert.ok(records.length > 6);
  let frozen = 0;
  const spoiled = fc
    .tuple(fc.constantFrom(...records), fc.nat(30), fc.nat(30), values)
    .map(([record, one, two, value]) => {
      const copy = structuredClone(record) as Record<string, unknown>;
      const names = Object.keys(copy);
      const name = names[one % names.length]!;
      const inner = copy[name];
      if (typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0) {
        (inner as Record<string, unknown>)[Object.keys(inner)[two % Object.keys(inner).length]!] = value;
      } else copy[name] = value;
      return JSON.parse(JSON.stringify(copy)) as unknown;
    });
  const place = { partition: 0, offset: 3, key: flowId };
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom<unknown>(...records), spoiled), { maxLength: 9 }), (log) => {
      let state: FlowState | null = null;
      for (const value of log) {
        const before: FlowState | null = state;
        state = evolveOrFreeze(before, readRecord('flows', place, value), settings);
        if (state !== null) alarmsOf(before, state, settings);
      }
      if (state === null) return;
      const around = { now: startAt + 60_000, instance: 'a', margin: null, tried: () => false };
      const commands = react(state, around, settings);
      if (state.frozen === undefined) return;
      frozen += 1;
      assert.deepEqual(
        commands.map(({ kind }) => kind),
        ['alarm', 'wait'],
      );
      assert.equal(maySend(state, state.operation?.intent?.intentId ?? '', around, settings), false);
    }),
    { numRuns: 3_000 },
  );
  assert.ok(frozen > 500, `${frozen} of the runs froze their flow`);
});

test('a cancelled flow ends, unless something of it may have been sent: then somebody has to say', () => {
  const unreadable = readRecord('flows', { partition: 0, offset: 1, key: flowId }, undefined);
  const fold = (...records: readonly FlowRecord[]) =>
    records.reduce<FlowState | null>((state, record) => evolveOrFreeze(state, record, settings), null)!;
  const waiting = fold(started('renegotiation'), unreadable, thaw('cancel'));
  assert.deepEqual([waiting.phase, waiting.frozen], ['cancelled', undefined]);
  const real = createFlowWorld(started('renegotiation'));
  for (let round = 0; real.state().operation?.status !== 'intended' && round < 9; round += 1) {
    real.plan(0);
    real.act(0, 'taken');
  }
  const intended = fold(...real.log, unreadable, thaw('cancel'));
  assert.deepEqual([intended.phase, intended.operation?.status], ['unclear', 'unclear']);
  assert.match(intended.operation!.reason!, /cancelled by ana: seen with the vendor/);
  const retried = evolveAgain(real.log, thaw('retry') as never, settings);
  assert.deepEqual(retried, real.state(), 'read again without the damage it is as if there had been none');
});

test('an order that does not make a query stops its flow, not the process (defect line 9)', async (context) => {
  const house = await openHouse({
    seed: 9,
    sandbox: flowsSandbox(false),
    rivals: noRivals,
    bidding: { windowMs: 1_500, skewAllowanceMs: 200, marginWaitMs: 700 },
    more: { flows: { pollMs: 50, retryMs: 50 } },
  });
  context.after(() => house.close());
  const { log, flows } = house.store;
  const vault = createVault(house.config.pseudonymKey);
  const plant = async (id: string, sealed: string) => {
    const record = { ...started('renegotiation'), flowId: id, at: Date.now(), sealed };
    await log.append([{ topic: 'flows', key: id, record }]);
  };
  const orderOf = (id: string, authorisationNumber: string) =>
    vault.seal(sealedPlaces.flowOrder(id), JSON.stringify({ link: { ...link, authorisationNumber } }));
  const until = async (what: string, is: () => boolean | Promise<boolean>) => {
    for (let round = 0; round < 200; round += 1) {
      if (await is()) return;
      await sleep(25);
    }
    assert.fail(`never: ${what}`);
  };
  const frozenOf = async (id: string) => (await flows.read([id])).get(id)?.frozen;

  await plant('r-zeros', orderOf('r-zeros', '0123'));
  await plant('r-letters', orderOf('r-letters', 'abc'));
  await plant('r-unsealed', 'not sealed at all');
  await until('asked with the number that the digits name', () =>
    JSON.stringify(house.sandbox.record.of('call')).includes('nsuAutorizacaoDigital\\":123'),
  );
  for (const id of ['r-letters', 'r-unsealed'])
    await until(`${id} is frozen`, async () => (await frozenOf(id)) !== undefined);
  assert.match((await frozenOf('r-letters'))!.problem, /the query of its link: an id that is written as a number/);
  assert.equal(await frozenOf('r-zeros'), undefined);
  const alarms = await (await fetch(`${house.engine.url}/metrics`)).text();
  assert.match(alarms, /lance_alarms_total\{code="flow-frozen"\} 2/);

  const first = (await frozenOf('r-letters'))!.at;
  const retry = { kind: 'unfrozen', action: 'retry', by: 'ana', reason: 'again' } as const;
  await log.append([{ topic: 'flows', key: 'r-letters', record: { ...retry, flowId: 'r-letters', at: Date.now() } }]);
  await until('tried again, and frozen again', async () => ((await frozenOf('r-letters'))?.at ?? first) > first);
});
