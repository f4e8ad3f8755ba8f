/** The code of a proposal that somebody confirmed by mistake is corrected while nothing has come under it, and nothing is included again. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { proposalIndex } from '../../src/origination/evolve.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { settings } from './orders.ts';
import { heard, refusedBy, takingHouse } from './taking-house.ts';

const simulated = '{"HasError":false,"VlrDispSaque":9000.00,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}';
const unknown = '{"HasError":true,"Messages":[{"Code":"P404","Description":"proposta não encontrada"}]}';
const told = (code: string) => `{"HasError":false,"Codigo":"${code}","CodigoProposta":"${code}","Situacao":2}`;

/** A withdrawal whose inclusion is unclear, and a service that knows the proposal `p-1`. */
async function unclearInclusion(context: TestContext) {
  const house = await takingHouse(context);
  const { world, front, state, sent } = house;
  const bodies: Record<string, string> = { simulation: simulated, proposal: unknown, installments: unknown };
  world.answerTo = ({ operation }) => {
    if (operation === 'inclusion') return { kind: 'unknown', reason: 'status-500', response: null, ...heard };
    const response = { status: 200, body: bodies[operation]! };
    return { ...readOperationAnswer(operation, 200, response.body), ...heard, response } as ReturnType<
      typeof world.answerTo
    >;
  };
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begin = async () => {
    const begun = await front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
    assert(begun.kind === 'taken');
    const { flowId } = begun.state;
    const step = async (asked: StepAsked) => {
      const result = await house.ask(flowId, asked);
      await eventually(async () => !(await state(flowId))!.steps.some(({ outcome }) => outcome === 'pending'));
      return result;
    };
    await step({ step: 'simulation', request: { cpf: '52998224725' } });
    await step({ step: 'inclusion', request: { period: 3, pix: { key: '+5511987654321' } } });
    await eventually(async () => (await state(flowId))!.operation?.status === 'unclear');
    const confirm = (requestCode: string) => step({ step: 'confirm', reason: 'visto no portal', requestCode });
    const mayConfirm = async () => nextSteps((await state(flowId))!, settings, null).includes('confirm');
    return { flowId, step, confirm, mayConfirm };
  };
  const inclusions = () => sent.filter(({ operation }) => operation === 'inclusion').length;
  return { ...house, ...(await begin()), begin, bodies, inclusions };
}

test('a code that the service does not know is corrected, and the inclusion is not sent again', async (context) => {
  const { confirm, step, state, flowId, flows, inclusions, history, mayConfirm, sent, bodies } =
    await unclearInclusion(context);
  const before = inclusions();
  assert.equal((await confirm('p-9')).kind, 'taken');
  await step({ step: 'proposal', request: { dto: {} } });
  assert.equal((await state(flowId))!.results.proposal?.refused, true);
  assert.ok(await mayConfirm());
  assert.deepEqual(refusedBy(await confirm('p-9')), [['code-of-other-flow', 'requestCode']]);
  assert.deepEqual(refusedBy(await step({ step: 'deny', reason: 'x' })), [['step-allowed', 'step']]);
  assert.equal((await confirm('p-1')).kind, 'taken');
  const corrected = (await state(flowId))!;
  assert.deepEqual([corrected.phase, corrected.proposalCode], ['included', 'p-1']);
  assert.deepEqual([corrected.results.proposal, corrected.errors], [undefined, []]);
  assert.deepEqual([...(await flows.findByCode([proposalIndex('p-9')]))], []);
  assert.deepEqual([...(await flows.findByCode([proposalIndex('p-1')]))], [[proposalIndex('p-1'), flowId]]);
  const asked = (await history(flowId)).findLast((record) => record.kind === 'asked');
  assert(asked?.kind === 'asked' && asked.corrects === true);
  assert.deepEqual([asked.by, asked.requestCode], ['ana', 'p-1']);
  assert.match(asked.sealedReason!, /visto no portal/);
  bodies.proposal = told('p-1');
  await step({ step: 'proposal', request: { dto: {} } });
  assert.match(String(sent.at(-1)!.body), /p-1/);
  assert.equal(inclusions(), before);
});

test('once the service has answered under a code it is not corrected any more, and the answer says why', async (context) => {
  for (const operation of ['proposal', 'installments'] as const) {
    const { confirm, step, state, flowId, bodies, mayConfirm } = await unclearInclusion(context);
    assert.equal((await confirm('p-9')).kind, 'taken');
    bodies.proposal = told('p-9');
    bodies.installments = '{"HasError":false,"Parcelas":[]}';
    await step(
      operation === 'proposal' ? { step: 'proposal', request: { dto: {} } } : { step: operation, request: {} },
    );
    assert.equal((await state(flowId))!.results[operation]?.refused, undefined, operation);
    assert.ok(!(await mayConfirm()), operation);
    const refused = await confirm('p-1');
    assert.deepEqual(refusedBy(refused), [['code-answered', 'requestCode']], operation);
    assert.match(JSON.stringify(refused), /p-9/);
    assert.equal((await state(flowId))!.proposalCode, 'p-9');
  }
});

test('a code that was given up is free for the flow whose it is', async (context) => {
  const { confirm, begin, state } = await unclearInclusion(context);
  const other = await begin();
  assert.equal((await confirm('p-2')).kind, 'taken');
  assert.deepEqual(refusedBy(await other.confirm('p-2')), [['code-of-other-flow', 'requestCode']]);
  assert.equal((await confirm('p-1')).kind, 'taken');
  assert.deepEqual(refusedBy(await confirm('{a1b2c3d4-0000-4000-8000-000000000001}')), [
    ['proposal-code', 'requestCode'],
  ]);
  assert.equal((await other.confirm('p-2')).kind, 'taken');
  assert.equal((await state(other.flowId))!.proposalCode, 'p-2');
});

test('a code that the service gave itself is not corrected', async (context) => {
  const { ask, front, state, world } = await takingHouse(context);
  world.answerTo = ({ operation }) => {
    const body = operation === 'simulation' ? simulated : '{"HasError":false,"CodigoProposta":"p-1"}';
    return { ...readOperationAnswer(operation, 200, body), ...heard, response: { status: 200, body } } as ReturnType<
      typeof world.answerTo
    >;
  };
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begun = await front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  await ask(flowId, { step: 'simulation', request: { cpf: '52998224725' } });
  await eventually(async () => (await state(flowId))!.phase === 'simulated');
  await ask(flowId, { step: 'inclusion', request: { period: 3, pix: { key: '+5511987654321' } } });
  await eventually(async () => (await state(flowId))!.phase === 'included');
  const refused = await ask(flowId, { step: 'confirm', reason: 'x', requestCode: 'p-2' });
  assert.deepEqual(refusedBy(refused), [['step-allowed', 'step']]);
});
