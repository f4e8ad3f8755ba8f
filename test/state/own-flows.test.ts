/** The flows of all partitions in files of one process: what is put together, what a question waits for, and files that do not fit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { evolve } from '../../src/origination/evolve.ts';
import type { FlowRow } from '../../src/origination/ports.ts';
import { settings, started } from '../origination/orders.ts';
import { createPlace, endlessLog, openFlows } from './state-store.ts';

const at = 1_763_700_000_000;
const everything = { flow: null, phase: null, code: null, before: null };

function rowOf(flowId: string, startedAt: number, codes: readonly string[] = []): FlowRow {
  const state = { ...evolve(null, started('withdrawal'), settings)!, flowId, startedAt };
  return { state, open: true, codes, givenUp: [] };
}

const isUnavailable = { code: 'views-unavailable' };

test('flows of all partitions are found together, the latest first whatever their partition', async () => {
  const { flows, close } = await openFlows(createPlace());
  await Promise.all([0, 1, 2].map(flows.own.take));
  for (const partition of [0, 1, 2]) {
    const rows = [
      rowOf(`f${partition}`, at + ((partition * 2) % 3), ['worker']),
      rowOf(`g${partition}`, at - partition),
    ];
    assert.equal((await flows.apply({ partition, first: 0, next: 2, rows })).kind, 'applied');
  }
  const ids = async (limit: number, before: string | null = null) =>
    (await flows.query({ ...everything, limit, before })).map(({ flowId }) => flowId);
  assert.deepEqual(await ids(9), ['f1', 'f2', 'g0', 'f0', 'g1', 'g2']);
  assert.deepEqual(await ids(2), ['f1', 'f2']);
  assert.equal((await flows.findByCode(['worker', 'nobody'])).get('worker'), 'f1');
  assert.deepEqual([...(await flows.read(['g2', 'f1', 'nobody'])).keys()].sort(), ['f1', 'g2']);
  assert.deepEqual(
    (await flows.open(2)).flatMap(({ rows }) => rows.map(({ flowId }) => flowId)),
    ['f2', 'g2'],
  );
  await close();
});

test('what is asked across flows is answered when everything is folded that the log held at the question', async () => {
  let end = 0;
  const { flows, close } = await openFlows(createPlace(), { ends: async () => new Map([[0, end]]) });
  const early = flows.findByCode(['worker']);
  await sleep(20);
  await flows.own.take(0);
  assert.equal((await early).size, 0, 'it waited for the partition to be taken up, and not for what was written later');
  end = 1;
  const asked = flows.findByCode(['worker']);
  const others = flows.query({ ...everything, code: 'worker', limit: 5 });
  let isAnswered = false;
  void asked.then(() => {
    isAnswered = true;
  });
  await sleep(50);
  assert.ok(!isAnswered, 'it was answered before the record was folded');
  await flows.apply({ partition: 0, first: 0, next: 1, rows: [rowOf('f', at, ['worker'])] });
  assert.equal((await asked).get('worker'), 'f');
  assert.equal((await others).length, 1);
  await close();
});

test('an end that was asked for before the question says nothing of it', async () => {
  let end = 0;
  const answers: (() => void)[] = [];
  const ends = () => {
    const told = new Map([[0, end]]);
    return new Promise<typeof told>((resolve) => answers.push(() => resolve(told)));
  };
  const { flows, close } = await openFlows(createPlace(), { ends });
  await flows.own.take(0);
  const first = flows.read(['f']);
  end = 1;
  const second = flows.read(['f']);
  answers.shift()!();
  assert.equal((await first).size, 0);
  await sleep(20);
  answers.shift()!();
  await sleep(20);
  await flows.apply({ partition: 0, first: 0, next: 1, rows: [rowOf('f', at)] });
  assert.equal((await second).size, 1);
  await close();
});

test('a fold that stays behind is told, and a partition that cannot be read any further is not waited for', async () => {
  const { flows, close } = await openFlows(createPlace(), { ends: async () => new Map([[0, 7]]), waitMs: 50 });
  await flows.own.take(0);
  await assert.rejects(flows.read(['f']), isUnavailable);
  await flows.apply({ partition: 0, first: 0, next: 1, rows: [rowOf('f', at)] });
  flows.own.giveUp(0);
  assert.equal((await flows.read(['f'])).size, 1);
  await close();
});

test('a file is gone on with, one of another log is folded again, and a log that lacks its records is refused', async () => {
  const place = createPlace();
  const before = await openFlows(place);
  await before.flows.own.take(0);
  await before.flows.apply({ partition: 0, first: 0, next: 5, rows: [rowOf('f', at)] });
  await before.close();
  const again = await openFlows(place);
  assert.equal(await again.flows.own.take(0), 5);
  assert.equal((await again.flows.read(['f'])).size, 1);
  await again.close();
  const shorter = endlessLog({ extent: async () => ({ first: 0, end: 4 }) });
  const refused = await openFlows(place, { logOf: () => shorter });
  await assert.rejects(refused.flows.own.take(0), { code: 'store-set-back', message: /partition 0 of flows/ });
  await refused.close();
  const discarded: unknown[] = [];
  const other = await openFlows(place, {
    logOf: () => endlessLog({ genesis: 'another' }),
    onDiscarded: (...told) => discarded.push(told),
  });
  assert.equal(await other.flows.own.take(0), 0);
  assert.deepEqual(discarded, [[0, 'it is of another log', 'flows']]);
  assert.equal((await other.flows.read(['f'])).size, 0);
  await other.close();
});
