/** Which flows wait for a person, over the API: by any step, or by one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latestFlows } from '../../src/origination/latest-flows.ts';
import { flowCursor } from '../../src/origination/ports.ts';
import { stepsOf } from '../../src/origination/steps.ts';
import type { Flow } from '../flows/client.ts';
import { createFlowWorld } from '../origination/flow-world.ts';
import { started } from '../origination/orders.ts';
import { startApi } from './api-house.ts';

type Page = { flows: (Flow & { waitsFor: string[] })[]; next: string | null };

test('a list of flows is narrowed to those that wait for a person', async (context) => {
  const { call, store } = await startApi(context);
  const cpfs = ['52998224725', '11144477735'];
  for (const cpf of cpfs) {
    const begun = await call('POST', '/v1/withdrawals', { key: `k-${cpf}`, body: { cpf, birthDate: '1990-03-02' } });
    assert.equal(begun.status, 201, begun.text);
  }
  const listed = async (query: string) => {
    const answer = await call('GET', `/v1/withdrawals?${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body as Page;
  };
  const all = (await listed('')).flows.map(({ flowId }) => flowId);
  assert.equal(all.length, 2);
  const [last, first] = all;
  assert.equal(
    (await call('POST', `/v1/withdrawals/${first}/cancel`, { key: 'c', body: { reason: 'x' } })).status,
    202,
  );
  for (const step of ['person', 'simulation']) {
    const page = await listed(`waitsFor=${step}`);
    assert.deepEqual(
      page.flows.map(({ flowId, waitsFor }) => [flowId, waitsFor]),
      [[last, ['simulation']]],
      step,
    );
    assert.equal(page.next, null);
  }
  assert.deepEqual((await listed('waitsFor=inclusion')).flows, []);
  const frozen = { kind: 'frozen', flowId: first!, at: Date.now(), problem: 'x' } as const;
  await store.log.append([{ topic: 'flows', key: first!, record: frozen }]);
  for (let tries = 0; (await listed('waitsFor=person')).flows.length < 2; tries += 1) {
    assert.ok(tries < 200);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const page = await listed('waitsFor=person&limit=1');
  assert.deepEqual([page.flows[0]!.flowId, page.next === null], [last, false]);
  const rest = await listed(`waitsFor=person&limit=1&before=${page.next}`);
  assert.equal(rest.flows[0]!.flowId, first);
  assert.equal((await call('GET', '/v1/withdrawals?waitsFor=sign')).status, 422, 'no step of a withdrawal');

  const { paths } = (await call('GET', '/v1/openapi.json', { role: null })).body as {
    paths: Record<string, { get: { parameters: { name: string; description: string; schema: { enum: string[] } }[] } }>;
  };
  const described = paths['/v1/contracts']!.get.parameters.find(({ name }) => name === 'waitsFor')!;
  assert.deepEqual(described.schema.enum, ['person', ...stepsOf('contract')]);
  assert.match(described.description, /wait for a person/);
});

test('many flows that wait for nobody end a page before it is full, and the next one goes on', async () => {
  const state = createFlowWorld(started('contract')).state();
  const states = Array.from({ length: 1_200 }, (_, index) => ({
    ...state,
    flowId: `c-${index}`,
    startedAt: 9_000 - index,
  }));
  const query = async ({ limit, before }: { limit: number; before: string | null }) =>
    states.filter((each) => before === null || flowCursor(each) < before).slice(0, limit);
  const around = { flow: 'contract', phase: null, code: null, limit: 5, before: null } as const;
  const isShown = ({ flowId }: { flowId: string }) => flowId === 'c-1100';
  const first = await latestFlows({ query }, around, isShown, 1_000);
  assert.deepEqual([first.states, first.next], [[], flowCursor(states[999]!)]);
  const second = await latestFlows({ query }, { ...around, before: first.next }, isShown, 1_000);
  assert.deepEqual([second.states.map(({ flowId }) => flowId), second.next], [['c-1100'], null]);
});
