/** What is asked of the service on a person's demand: links of a worker, and proposals made elsewhere. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallbackRecord } from '../../src/domain/records.ts';
import { nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { allowsStep } from '../../src/origination/steps.ts';
import { readResult } from '../../src/origination/worker-reading.ts';
import { workerKeyOf } from '../../src/wire/identity.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleLink } from '../rules/sample-request.ts';
import { startFlowHouse } from './flow-house.ts';
import { plainVault, settings } from './orders.ts';

const cpf = '52998224725';
const workerKey = workerKeyOf(plainVault, cpf);
const asked = { cpf, link: null, authorisationNumber: '880011', cached: null, reason: 'o cliente pediu' };
const link = { registration: 'M-7', employerId: '12345678', employerIdType: 1 };
const body = JSON.stringify({ payload: { vinculos: [{ cpf, motivoInelegibilidade: { codigo: 3 } }] } });

test('links of a worker are asked for once for each key, answered by callback, and each reading is recorded (line 15)', async (context) => {
  const { front, world, queries, tell, append, reaches, state, clock } = await startFlowHouse(context);
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: 'q-1' });
  const begun = await front.startLookup({ by: 'ana', key: 'k1' }, asked);
  assert.ok(begun.kind === 'taken', JSON.stringify(begun));
  const { flowId } = begun.state;
  assert.equal((await front.startLookup({ by: 'ana', key: 'k1' }, asked)).kind, 'known');
  await reaches(flowId, 'awaiting-answer');
  assert.equal(queries.length, 1);
  assert.deepEqual([queries[0]!.identity.registration, queries[0]!.authorisationNumber], [null, '880011']);
  const list = { kind: 'link-list', at: Date.now(), requestCode: 'q-1', workerKey, links: [], sealed: body } as const;
  await tell('another', { ...list, workerKey: 'another' });
  await tell(workerKey, list);
  await reaches(flowId, 'answered');
  const answered = (await state(flowId))!;
  const reading = { what: 'links', who: { by: 'bia', via: 'api' as const }, reason: 'conferir' };
  const world_ = { append: (entries: never) => append(...(entries as never[])), vault: plainVault as never, clock };
  const result = await readResult(world_ as never, answered, reading);
  assert.equal(JSON.stringify(result?.answer), body);
  await eventually(
    async () => (await front.ask(flowId, { by: 'x', key: 'x' }, { step: 'cancel', reason: 'x' })).kind === 'refused',
  );
  assert.equal(await readResult(world_ as never, answered, { ...reading, what: 'proposal' }), null);
});

test('one link is asked for by its own query; what is refused is said; without a code the worker is the key (line 15)', async (context) => {
  const { front, world, queries, tell, reaches, state } = await startFlowHouse(context);
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: null });
  const one = await front.startLookup({ by: 'ana', key: 'k2' }, { ...asked, link, cached: true });
  assert.ok(one.kind === 'taken');
  await reaches(one.state.flowId, 'awaiting-answer');
  assert.deepEqual([queries[0]!.identity.registration, queries[0]!.cached], ['M-7', true]);
  const detail = { ...sampleLink, linkKey: 'any', workerKey, receivedAt: Date.now() };
  const told: CallbackRecord = { kind: 'link-detail', at: Date.now(), requestCode: null, detail, sealed: '{}' };
  await tell(workerKey, told);
  await reaches(one.state.flowId, 'answered');
  assert.deepEqual(Object.keys((await state(one.state.flowId))!.results), ['links']);
  const refused = { kind: 'refused', reason: 'authorisation-expired', response: { status: 422, body: '' } } as const;
  world.answerToQuery = () => refused;
  const other = await front.startLookup({ by: 'ana', key: 'k3' }, asked);
  assert.ok(other.kind === 'taken');
  await reaches(other.state.flowId, 'refused');
  assert.deepEqual((await state(other.state.flowId))!.errors, ['authorisation-expired']);
  assert.deepEqual(nextSteps((await state(other.state.flowId))!, settings, null), ['cancel']);
});

test('a lookup without the NSU that the first query needs says how to ask again (clerk, issue 16)', async (context) => {
  const { front, reaches, state } = await startFlowHouse(context);
  const begun = await front.startLookup({ by: 'ana', key: 'n1' }, { ...asked, authorisationNumber: null });
  assert.ok(begun.kind === 'taken');
  await reaches(begun.state.flowId, 'refused');
  const [breach] = (await state(begun.state.flowId))!.breaches;
  assert.match(breach!.problem, /start another lookup with authorisationNumber$/);
  assert.equal(breach!.field, 'authorisationNumber');
});

test('a proposal made elsewhere is taken up by its code once: its state, instalments, splits and account (line 15)', async (context) => {
  const { front, sent, state } = await startFlowHouse(context);
  const order = { cpf, birthDate: null, signerCpfs: [], proposalCode: 'e3b0c442-98fc-4c14-9afb-f4c8996fb924' };
  const begun = await front.startWithdrawal({ by: 'ana', key: 'k1' }, order);
  assert.ok(begun.kind === 'taken', JSON.stringify(begun));
  const { flowId, phase } = begun.state;
  assert.equal(phase, 'included');
  for (const step of ['proposal', 'installments', 'splits', 'account-update'] as const)
    assert.ok(allowsStep(begun.state, step), step);
  assert.ok(!allowsStep(begun.state, 'inclusion'));
  const twice = await front.startWithdrawal({ by: 'ana', key: 'k2' }, order);
  assert.ok(twice.kind === 'refused' && twice.breaches[0]!.rule === 'flow-exists');
  const inCapitals = { ...order, proposalCode: order.proposalCode.toUpperCase() };
  const again = await front.startWithdrawal({ by: 'ana', key: 'k3' }, inCapitals);
  assert.ok(again.kind === 'refused' && again.breaches[0]!.rule === 'flow-exists', 'a GUID in capitals is the same');
  for (const spelt of [order.proposalCode.replaceAll('-', ''), `{${order.proposalCode}}`]) {
    const bare = await front.startWithdrawal({ by: 'ana', key: 'k4' }, { ...order, proposalCode: spelt });
    assert.ok(bare.kind === 'refused' && bare.breaches[0]!.rule === 'proposal-code', spelt);
  }
  const step = await front.ask(
    flowId,
    { by: 'ana', key: 's1' },
    { step: 'installments', request: { installments: 2 } },
  );
  assert.equal(step.kind, 'taken', JSON.stringify(step));
  await eventually(() => sent.length > 0);
  assert.match(sent[0]!.body, /"CodigoProposta":"e3b0c442-98fc-4c14-9afb-f4c8996fb924"/);
  assert.equal((await state(flowId))!.proposalCode, order.proposalCode);
});

test('a mistyped code of a proposal made elsewhere is given up: nothing was sent that could be undone', async (context) => {
  const { front, world, state, reaches } = await startFlowHouse(context);
  const order = { cpf, birthDate: null, signerCpfs: [], proposalCode: 'deadbeef' };
  const begun = await front.startWithdrawal({ by: 'ana', key: 'k1' }, order);
  assert.ok(begun.kind === 'taken', JSON.stringify(begun));
  const { flowId } = begun.state;
  const body = '{"HasError":true,"Messages":[{"Code":"PROPOSTA_INEXISTENTE"}]}';
  const response = { status: 200, body };
  world.answerTo = ({ operation }) =>
    ({ ...readOperationAnswer(operation, 200, body), firstByteAt: Date.now(), attempts: 1, response }) as never;
  const ask = (key: string, step: StepAsked) => front.ask(flowId, { by: 'ana', key }, step);
  const ended = async (key: string) =>
    eventually(async () => (await state(flowId))!.steps.find(({ stepId }) => stepId === key)!.outcome !== 'pending');
  await ask('s1', { step: 'proposal', request: { dto: {} } });
  await ended('s1');
  const refused = (await state(flowId))!;
  assert.ok(nextSteps(refused, settings, null).includes('cancel'));
  assert.deepEqual(waitsFor(refused, settings, null), ['cancel', 'proposal']);
  assert.equal((await ask('c1', { step: 'cancel', reason: 'código errado' })).kind, 'taken');
  await reaches(flowId, 'cancelled');
  assert.deepEqual(waitsFor((await state(flowId))!, settings, null), []);
  // It may be taken up again, and what may have changed the proposal is settled first.
  assert.equal((await front.startWithdrawal({ by: 'ana', key: 'k2' }, order)).kind, 'taken');
  await reaches(flowId, 'included');
  const again = (await state(flowId))!;
  assert.ok(allowsStep(again, 'cancel'));
  const split = { ...again.steps[0]!, step: 'splits' as const };
  for (const [outcome, isAllowed] of [
    ['unclear', false],
    ['done', false],
    ['pending', false],
    ['rejected', true],
  ] as const) {
    assert.equal(allowsStep({ ...again, steps: [{ ...split, outcome }] }, 'cancel'), isAllowed, outcome);
  }
  // One that was unclear and that a person denied may have changed it all the same.
  const denied = [
    { ...split, outcome: 'rejected' },
    { ...split, step: 'deny', outcome: 'done' },
  ] as const;
  assert.ok(!allowsStep({ ...again, steps: denied }, 'cancel'));
  // Once shown it stays shown, whatever a later query is answered.
  const query = { ...again.steps[0]!, step: 'proposal' as const };
  const seen = [
    { steps: [{ ...query, outcome: 'done' as const }] },
    { situation: 2 },
    { saidFigures: {} },
    { saidFinalised: true as const },
  ];
  for (const change of seen) assert.ok(!allowsStep({ ...again, ...change }, 'cancel'), JSON.stringify(change));
});

test('the day of birth of the order goes with a simulation that leaves it out', async (context) => {
  const { front, sent } = await startFlowHouse(context);
  const begun = await front.startWithdrawal({ by: 'ana', key: 'k1' }, { cpf, birthDate: '1990-05-17', signerCpfs: [] });
  assert.ok(begun.kind === 'taken', JSON.stringify(begun));
  const step = await front.ask(begun.state.flowId, { by: 'ana', key: 's1' }, { step: 'simulation', request: {} });
  assert.equal(step.kind, 'taken', JSON.stringify(step));
  await eventually(() => sent.length > 0);
  assert.match(sent[0]!.body, /"DtAniversario":"1990-05-17/);
});

test('without an address of its root a withdrawal is refused at once; by the desk where the asker does not know (line 18)', async (context) => {
  const unset = { fgts: false, proposal: false };
  const order = { cpf, birthDate: null, signerCpfs: [] };
  const known = await startFlowHouse(context, { desk: unset, front: unset });
  const refused = await known.front.startWithdrawal({ by: 'ana', key: 'k1' }, order);
  assert.ok(refused.kind === 'refused');
  assert.deepEqual([refused.breaches[0]!.rule, refused.breaches[0]!.field], ['address-set', 'LANCE_FGTS_URL']);
  const unknown = await startFlowHouse(context, { desk: unset, front: null });
  const begun = await unknown.front.startWithdrawal({ by: 'ana', key: 'k1' }, order);
  assert.ok(begun.kind === 'taken');
  const { flowId } = begun.state;
  const request = { birthDay: '1990-05-17' };
  const step = await unknown.front.ask(flowId, { by: 'ana', key: 's1' }, { step: 'simulation', request });
  assert.equal(step.kind, 'taken');
  await eventually(async () => (await unknown.state(flowId))!.breaches[0]?.rule === 'address-set');
  assert.equal(unknown.sent.length, 0);
  assert.ok(allowsStep((await unknown.state(flowId))!, 'simulation'), 'once it is set it can be asked for again');
});
