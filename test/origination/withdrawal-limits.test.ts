/** A withdrawal is at most what was simulated last for the worker, and its splits at most its own proposal. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { refusalPt } from '../../src/cli/refusal-texts-pt.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { flowView } from '../../src/http/api/views.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { shownAmount, shownRecord } from '../../src/origination/shown-flows.ts';
import { decideInclusion } from '../../src/origination/withdrawals-beside.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { isId } from '../../src/wire/plain-ids.ts';
import { eventually } from '../conformance/backend.ts';
import { plainVault, settings, started } from './orders.ts';
import { heard, refusedBy, takingHouse } from './taking-house.ts';

const pixKey = { key: '+5511987654321' };
const own = '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00,"VlrTAC":10.00}]}';

/** A withdrawal whose service answers each operation as the test says. */
async function withdrawing(context: TestContext, answers: Record<string, string> = {}) {
  const house = await takingHouse(context);
  const { world, front, state } = house;
  const bodies: Record<string, string> = {
    ...{ simulation: own, inclusion: '{"HasError":false,"CodigoProposta":"p-1"}', splits: '{"hasError":false}' },
    ...answers,
  };
  world.answerTo = ({ operation }) => {
    const response = { status: 200, body: bodies[operation]! };
    return { ...readOperationAnswer(operation, 200, response.body), ...heard, response } as ReturnType<
      typeof world.answerTo
    >;
  };
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begun = await front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  const step = async (asked: StepAsked) => {
    const result = await house.ask(flowId, asked);
    await eventually(async () => !(await state(flowId))!.steps.some(({ outcome }) => outcome === 'pending'));
    return result;
  };
  const simulate = (request = {}) => step({ step: 'simulation', request });
  const include = (request: object = {}) =>
    step({ step: 'inclusion', request: { period: 3, pix: pixKey, ...request } });
  return { ...house, bodies, flowId, step, simulate, include };
}

test('the same signers are registered once; another list is sent', async (context) => {
  const proposal = { HasError: false, Codigo: 'p-1', CodigoProposta: 'p-1', VlrTotalCredito: 1000, QtdeParcelas: 3 };
  const { step, simulate, include, sent, front, flowId, state } = await withdrawing(context, {
    ...{ proposal: JSON.stringify({ ...proposal, PercJurosMensal: 1.8, VlrSeguro: 0 }), signers: '{"hasError":false}' },
  });
  await simulate({ cpf: '52998224725' });
  await include();
  await step({ step: 'proposal', request: { dto: {} } });
  await step({ step: 'accept', reason: 'como está' });
  const signed = (name: string): StepAsked => ({
    step: 'signers',
    request: { signers: [{ name, document: '52998224725', signedAt: Date.now(), ip: '203.0.113.9' }] },
  });
  const first = signed('Maria');
  assert.equal((await step(first)).kind, 'taken');
  assert.equal((await state(flowId))!.phase, 'signed', JSON.stringify((await state(flowId))!.steps.at(-1)));
  const count = () => sent.filter(({ operation }) => operation === 'signers').length;
  assert.equal(count(), 1);
  const again = await front.ask(flowId, { by: 'rui', key: 'another' }, first);
  assert.deepEqual(refusedBy(again), [['signers-once', 'signers']]);
  assert.ok(again.kind === 'refused' && again.problem === 'conflict');
  assert.equal(count(), 1, 'nothing is sent for it');
  assert.equal((await step(signed('Maria de Souza'))).kind, 'taken', 'the list has changed');
  assert.equal(count(), 2);
});

test('an inclusion below its simulation is refused with both figures until somebody says that it is meant so', async (context) => {
  const { bodies, simulate, step, sent } = await withdrawing(context);
  bodies.simulation =
    '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00,"VlrEmprestimoCliente":950.00}]}';
  await simulate({ cpf: '52998224725' });
  const before = sent.length;
  const ask = (amountCents: number, despiteSimulation: boolean) =>
    step({ step: 'inclusion', request: { period: 3, pix: pixKey, amountCents }, despiteSimulation });
  const refused = await ask(90_000, false);
  assert.deepEqual(refusedBy(refused), [['as-simulated', 'amountCents']]);
  assert.match(JSON.stringify(refused), /was 100000, and this is 90000: send what was simulated/);
  assert.deepEqual(refusedBy(await ask(100_001, true)), [['amount-simulated', 'amountCents']], 'more is no less');
  assert.equal(sent.length, before);
  assert.equal((await ask(95_000, false)).kind, 'taken', 'either amount of the simulation');
  const other = await withdrawing(context);
  await other.simulate({ cpf: '52998224725' });
  assert.equal((await other.include({ amountCents: 90_000 })).kind, 'taken', 'meant so');
  assert.ok(!JSON.stringify(other.sent).includes('despite'), 'nothing of it goes to the service');
});

test('an inclusion is held to the last simulation, which is of the own balance', async (context) => {
  const { bodies, simulate, include, sent, state, flowId } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  bodies.simulation = '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":900000.00}]}';
  await simulate({ balanceCents: 100_000_000 });
  const before = sent.length;
  assert.deepEqual(refusedBy(await include({ amountCents: 90_000_000 })), [['simulated-first', 'step']]);
  assert.ok(!nextSteps((await state(flowId))!, settings, null).includes('inclusion'));
  for (const body of [
    '{"HasError":true,"Msg":"falhou","Messages":[{"Code":"E1"}]}',
    '{"HasError":false,"Simulacoes":null,"SimulacoesErro":[{"Periodo":3,"HasError":true,"Msg":"sem saldo"}]}',
    '{"HasError":false,"Simulacoes":[{"Periodo":3}]}',
  ]) {
    bodies.simulation = own;
    await simulate({ cpf: '52998224725' });
    bodies.simulation = body;
    await simulate({ cpf: '52998224725' });
    for (const period of [3, 5]) {
      const refused = await include({ period, amountCents: 99_999_900 });
      assert.deepEqual(refusedBy(refused), [['period-simulated', 'period']], body);
    }
  }
  assert.ok(!sent.slice(before).some(({ operation }) => operation === 'inclusion'));
  bodies.simulation = own;
  await simulate({ cpf: '52998224725' });
  assert.deepEqual(refusedBy(await include({ amountCents: 100_001 })), [['amount-simulated', 'amountCents']]);
  assert.equal((await include({ amountCents: 100_000 })).kind, 'taken');
});

test('a simulation in which every period failed says so and why, and the next step is another one', async (context) => {
  const { bodies, simulate, state, flowId } = await withdrawing(context);
  const open = plainVault.open as never;
  const shown = async (language: 'en' | 'pt') =>
    flowText(createFormat(language), (await state(flowId))!, { open, settings });
  bodies.simulation =
    '{"HasError":false,"Simulacoes":null,"SimulacoesErro":[{"Periodo":3,"Msg":"Sem saldo","Messages":[{"Code":"E9","Description":"Saldo insuficiente"}]},{"Msg":"Sem saldo de 529.982.247-25"}]}';
  await simulate({ cpf: '52998224725' });
  const view = flowView((await state(flowId))!, open, settings);
  assert.deepEqual(view.waitsFor, ['simulation']);
  assert.ok(!view.nextSteps.includes('inclusion') && view.nextSteps.includes('simulation'));
  assert.equal(view.errors[0], 'Periodo 3: E9: Saldo insuficiente');
  assert.equal(view.errors.length, 2);
  assert.doesNotMatch(view.errors[1]!, /982/);
  assert.deepEqual(
    view.barriers.map(({ rule }) => rule),
    ['period-simulated'],
  );
  assert.match(await shown('en'), /The service simulated no period of the withdrawal/);
  assert.match(await shown('en'), /E9: Saldo insuficiente/);
  assert.doesNotMatch(await shown('en'), /Its proposal is to be included next/);
  assert.match(await shown('pt'), /O serviço não simulou nenhum período do saque/);
  assert.match(await shown('pt'), /a última simulação não trouxe valores/);
  assert.deepEqual(flowView((await state(flowId))!, null, settings).errors, [], 'for those who work on it alone');
  bodies.simulation = own;
  await simulate({ cpf: '52998224725' });
  const whole = flowView((await state(flowId))!, open, settings);
  assert.deepEqual([whole.waitsFor, whole.errors, whole.barriers], [['inclusion'], [], []]);
  assert.match(await shown('en'), /Its proposal is to be included next/);
});

test('insurance is a small part of the loan, and the proposal has to name as much', async (context) => {
  const { bodies, simulate, include, step, state, flowId, alarms } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  for (const insuranceCents of [10_001, 75_000]) {
    assert.deepEqual(refusedBy(await include({ insuranceCents })), [['insurance-of-loan', 'insuranceCents']]);
  }
  assert.equal((await include({ insuranceCents: 10_000 })).kind, 'taken');
  const shown = () =>
    state(flowId).then((one) => flowText(createFormat('en'), one!, { open: plainVault.open as never, settings }));
  assert.match(await shown(), /^Insurance +R\$ 100\.00$/m);
  bodies.proposal =
    '{"HasError":false,"Codigo":"p-1","CodigoProposta":"p-1","VlrTotalCredito":1000.00,"VlrSeguro":0,"QtdeParcelas":3}';
  await step({ step: 'proposal', request: { dto: {} } });
  const told = (await state(flowId))!;
  assert.deepEqual(told.differences, [{ field: 'insuranceCents', ours: 10_000, theirs: 0 }]);
  await eventually(() => alarms.includes('proposal-differs'));
  assert.ok(nextSteps(told, settings, null).includes('accept'));
  assert.match(await shown(), /^Not as calculated here +insurance: ours R\$ 100\.00, the service's R\$ 0\.00$/m);
});

test('insurance that nobody ordered is a difference', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  await include();
  bodies.proposal = '{"HasError":false,"Codigo":"p-1","CodigoProposta":"p-1","VlrSeguro":50.00}';
  await step({ step: 'proposal', request: { dto: {} } });
  assert.deepEqual((await state(flowId))!.differences, [{ field: 'insuranceCents', ours: 0, theirs: 5_000 }]);
});

test('a proposal is known by its code, whatever its number is, and what else is named is shown', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  bodies.inclusion = JSON.stringify({ HasError: false, CodigoProposta: code });
  await include();
  const query = async (codes: object) => {
    bodies.proposal = JSON.stringify({ ...proposedWhole, ...codes });
    await step({ step: 'proposal', request: { dto: {} } });
    return flowView((await state(flowId))!, plainVault.open as never, settings);
  };
  const told = await query({ Codigo: code, CodigoProposta: '2026000123' });
  assert.deepEqual([told.breaches, told.namedProposal], [[], '2026000123']);
  assert.ok(told.nextSteps.includes('signers') && told.nextSteps.includes('splits'));
  assert.match(
    flowText(createFormat('en'), (await state(flowId))!, { open: plainVault.open as never, settings }),
    /2026000123/,
  );
  const other = await query({ Codigo: 'p-9', CodigoProposta: code });
  assert.deepEqual([other.breaches.map(({ rule }) => rule), other.namedProposal], [['proposal-of-flow'], 'p-9']);
  assert.match(other.breaches[0]!.problem, /namedProposal.*begin a withdrawal with that code as proposalCode/);
  assert.equal(flowView((await state(flowId))!, null, settings).namedProposal, null);
  assert.equal((await query({ Codigo: code, CodigoProposta: code })).namedProposal, null);
});

test('a finalisation that the service calls done already is confirmed by a person, whatever was asked for after it', async (context) => {
  const { bodies, simulate, include, step, state, flowId, ask } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  await include();
  bodies.proposal = JSON.stringify({ ...proposedWhole, Codigo: 'p-1' });
  await step({ step: 'proposal', request: { dto: {} } });
  await step({ ...signed });
  const seen = async () => flowView((await state(flowId))!, plainVault.open as never, settings);
  const confirm = { step: 'confirm', reason: 'visto no portal', requestCode: null } as const;
  assert.equal((await ask(flowId, confirm)).kind, 'refused');
  bodies.finalisation = '{"hasError":true,"messages":[{"code":"P","description":"Proposta não finalizada"}]}';
  await step({ step: 'finalisation', request: {} });
  assert.ok(!(await seen()).nextSteps.includes('confirm'), 'said in other words');
  bodies.finalisation = '{"hasError":true,"messages":[{"code":"P","description":"Proposta já finalizada"}]}';
  await step({ step: 'finalisation', request: {} });
  await step({ step: 'proposal', request: { dto: {} } });
  const { phase, nextSteps: steps, waitsFor } = await seen();
  assert.deepEqual([phase, steps.includes('confirm'), waitsFor], ['signed', true, ['confirm']]);
  assert.equal((await ask(flowId, confirm)).kind, 'taken');
  const done = await seen();
  assert.deepEqual([done.phase, done.errors, done.waitsFor], ['finalised', [], ['proposal']]);
  assert.ok(!done.nextSteps.includes('finalisation') && done.nextSteps.includes('account-update'));
  assert.equal((await ask(flowId, confirm)).kind, 'refused');
});

test('splits are not held to the amount of another proposal', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  await include();
  const amountOf = async () => shownAmount((await state(flowId))!, plainVault.open as never);
  assert.equal(await amountOf(), 100_000);
  const told = (code: string) =>
    `{"HasError":false,"Codigo":"${code}","CodigoProposta":"${code}","VlrTotalCredito":99999.99}`;
  bodies.proposal = told('p-1');
  await step({ step: 'proposal', request: { dto: {} } });
  bodies.proposal = told('p-9');
  await step({ step: 'proposal', request: { dto: {} } });
  assert.equal(await amountOf(), 100_000);
  const other = (await state(flowId))!;
  assert.deepEqual(
    [other.operation?.status, other.breaches.map(({ rule }) => rule)],
    ['rejected', ['proposal-of-flow']],
  );
  const held = await step({ step: 'splits', request: { splits: [{ amountCents: 1, pixKey }] } });
  assert.deepEqual(refusedBy(held), [['proposal-asked', 'step']]);
  bodies.proposal = told('p-1');
  await step({ step: 'proposal', request: { dto: {} } });
  const splits = { splits: [{ amountCents: 100_001, pixKey }] };
  assert.deepEqual(refusedBy(await step({ step: 'splits', request: splits })), [['splits-of-loan', 'splits']]);
  assert.deepEqual((await state(flowId))!.breaches, []);
  assert.equal(await amountOf(), 100_000, 'at most what was included');
  bodies.proposal = told('p-1').replace('99999.99', '900.00');
  await step({ step: 'proposal', request: { dto: {} } });
  assert.equal(await amountOf(), 90_000);
});

test('an entry that was split is not split again among others', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  const one = { amountCents: 1_000, fieldId: 'A', pixKey };
  const two = { ...one, fieldId: 'B' };
  await include({ splits: [one] });
  bodies.proposal = '{"HasError":false,"Codigo":"p-1","Situacao":1}';
  await step({ step: 'proposal', request: { dto: {} } });
  const split = (splits: object[]) => step({ step: 'splits', request: { splits } });
  assert.deepEqual(refusedBy(await split([{ ...two, fieldId: 'C' }, one])), [['split-once', 'splits.1']]);
  assert.equal((await split([two])).kind, 'taken');
  assert.equal((await state(flowId))!.steps.at(-1)?.outcome, 'done');
  assert.deepEqual(refusedBy(await split([two, { ...two, fieldId: 'D' }])), [['split-once', 'splits.0']]);
});

test('a split to the CPF of another person is questioned, in an inclusion and as a step (back office, session 49)', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  const [own, other] = ['52998224725', '11144477735'].map((key) => ({ amountCents: 1_000, pixKey: { key } }));
  const named = [['payee-other', 'splits.1.pixKey.key']];
  const inclusion = { step: 'inclusion', request: { period: 3, pix: pixKey, splits: [own!, other!] } } as const;
  assert.deepEqual(refusedBy(await step({ ...inclusion, despitePayee: false })), named);
  await include({ splits: [own!] });
  bodies.proposal = '{"HasError":false,"Codigo":"p-1","Situacao":1}';
  await step({ step: 'proposal', request: { dto: {} } });
  const splits = { step: 'splits', request: { splits: [{ ...own!, fieldId: 'B' }, other!] } } as const;
  assert.deepEqual(refusedBy(await step(splits)), named);
  assert.equal((await step({ ...splits, despitePayee: true })).kind, 'taken');
  assert.equal((await state(flowId))!.steps.at(-1)?.outcome, 'done');
});

test('a state answer that is not as included is shown with an alarm, and keeps signing back until somebody takes it', async (context) => {
  const { bodies, simulate, include, step, state, flowId, alarms, sent, history } = await withdrawing(context, {
    simulation: '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00,"TaxaMensal":1.79}]}',
    signers: '{"hasError":false}',
    finalisation: '{"hasError":false}',
  });
  const told = (credit: number, rate: number, term: number) =>
    `{"HasError":false,"Codigo":"p-1","CodigoProposta":"p-1","Situacao":1,"VlrTotalCredito":${credit},"PercJurosMensal":${rate},"QtdeParcelas":${term}}`;
  const query = async (body: string) => {
    bodies.proposal = body;
    await step({ step: 'proposal', request: { dto: {} } });
    return (await state(flowId))!;
  };
  const differs = () => alarms.filter((code) => code === 'proposal-differs').length;
  await simulate({ cpf: '52998224725' });
  await include();
  assert.deepEqual((await query(told(1000.02, 1.79, 3))).differences, [
    { field: 'creditCents', ours: 100_000, theirs: 100_002 },
  ]);
  assert.equal(differs(), 0, 'rounding is tolerated');
  const wrong = await query(told(99_999.99, 0.01, 12));
  assert.deepEqual(wrong.differences, [
    { field: 'creditCents', ours: 100_000, theirs: 9_999_999 },
    { field: 'rateHundredths', ours: 179, theirs: 1 },
    { field: 'installments', ours: 3, theirs: 12 },
  ]);
  await eventually(() => differs() === 1);
  assert.equal(shownAmount(wrong, plainVault.open as never), 100_000);
  assert.equal(flowView(wrong, plainVault.open as never, settings).differences.length, 3);
  assert.deepEqual(flowView(wrong, null, settings).differences, [], 'amounts are for those who work on it');
  const toViewers = JSON.stringify((await history(flowId)).map((record) => shownRecord(record, null)));
  assert.ok(!toViewers.includes('9999999') && !toViewers.includes('100000'), toViewers);
  assert.ok(nextSteps(wrong, settings, null).includes('accept'));
  const split = (amountCents: number) => step({ step: 'splits', request: { splits: [{ amountCents, pixKey }] } });
  assert.deepEqual(refusedBy(await split(100_001)), [['splits-of-loan', 'splits']]);
  const signers = {
    step: 'signers',
    request: { signers: [{ name: 'A', document: '52998224725', signedAt: Date.now(), ip: '203.0.113.9' }] },
  } as const;
  assert.deepEqual(refusedBy(await step(signers)), [['proposal-accepted', 'step']]);
  // The same again is nothing new; what it leaves out stands as it was said.
  await query(told(99_999.99, 0.01, 12));
  const silent = await query('{"HasError":false,"Codigo":"p-1","Situacao":1}');
  assert.equal(silent.differences.length, 3);
  assert.equal(differs(), 1);
  assert.equal((await step({ step: 'accept', reason: 'seen with the service' })).kind, 'taken');
  assert.equal((await state(flowId))!.noteAccepted?.by, 'ana');
  assert.ok(!nextSteps((await state(flowId))!, settings, null).includes('accept'));
  await query(told(99_999.99, 0.01, 12));
  assert.equal((await step(signers)).kind, 'taken', 'what was taken stays taken');
  assert.equal((await state(flowId))!.phase, 'signed');
  await query(told(500, 1.79, 3));
  await eventually(() => differs() === 2);
  assert.equal((await state(flowId))!.noteAccepted, null);
  assert.deepEqual(refusedBy(await step({ step: 'finalisation', request: {} })), [['proposal-accepted', 'step']]);
  assert.deepEqual(refusedBy(await split(50_001)), [['splits-of-loan', 'splits']]);
  assert.deepEqual((await query(told(1000, 1.79, 3))).differences, []);
  assert.equal((await step({ step: 'finalisation', request: {} })).kind, 'taken');
  await eventually(async () => (await state(flowId))!.phase === 'finalised');
  assert.ok(!sent.some(({ operation }) => operation === 'splits'));
});

/** As a service answers that gives every figure: the simulation, and the proposal of the loan that was simulated. */
const simulatedWhole =
  '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00,"VlrTAC":10.00,"TaxaMensal":1.79,"TaxaJurosAnual":23.73,"TaxaCETMensal":1.95,"TaxaCETAnual":26.08,"VlrIOF":15.00,"VlrIOFAdicional":3.80,"VlrOperacao":1028.80,"VlrOutrasDespesas":0,"SimulacaoParcelas":[{"VlrRepasse":700.00},{"VlrRepasse":500.00}]}]}';
const proposedWhole = {
  ...{
    HasError: false,
    Codigo: 'p-1',
    CodigoProposta: 'p-1',
    Situacao: 1,
    VlrTotalCredito: 1000,
    PercJurosMensal: 1.79,
  },
  ...{ QtdeParcelas: 3, VlrSeguro: 0, VlrFinanciado: 1028.8, VlrTAC: 10, VlrIOF: 18.8, VlrOutrasDespesas: 0 },
  ...{ VlrOutrosServicos: 0, VlrTotalDivida: 1200, PercCETMensal: 1.95, PercCETAnual: 26.08, PercJurosAnual: 23.73 },
};
const whole = { simulation: simulatedWhole, signers: '{"hasError":false}' };
const signed = {
  step: 'signers',
  request: { signers: [{ name: 'A', document: '52998224725', signedAt: Date.now(), ip: '203.0.113.9' }] },
} as const;

test('every figure that simulation and proposal both name is compared', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  await include();
  const fields = async (more: object) => {
    bodies.proposal = JSON.stringify({ ...proposedWhole, ...more });
    await step({ step: 'proposal', request: { dto: {} } });
    return (await state(flowId))!.differences.map(({ field, ours, theirs }) => [field, ours, theirs]);
  };
  assert.deepEqual(await fields({}), []);
  assert.deepEqual(await fields({ VlrIOF: 15 }), [], 'the contract does not say whether it holds the additional tax');
  const lies = [
    ['VlrFinanciado', 9028.8, ['financedCents', 102_880, 902_880]],
    ['VlrTAC', 500, ['feeCents', 1_000, 50_000]],
    ['VlrIOF', 90, ['iofCents', 1_880, 9_000]],
    ['VlrOutrasDespesas', 70, ['otherCostsCents', 0, 7_000]],
    ['VlrOutrosServicos', 80, ['otherServicesCents', 0, 8_000]],
    ['VlrTotalDivida', 3200, ['totalDebtCents', 120_000, 320_000]],
    ['PercCETMensal', 4.9, ['cetMonthlyHundredths', 195, 490]],
    ['PercCETAnual', 77.5, ['cetAnnualHundredths', 2_608, 7_750]],
    ['PercJurosAnual', 99, ['rateAnnualHundredths', 2_373, 9_900]],
  ] as const;
  for (const [name, value, expected] of lies) {
    assert.deepEqual(await fields({ [name]: value }), [expected]);
    const withheld = await step({ ...signed });
    assert.deepEqual(refusedBy(withheld), [['proposal-accepted', 'step']], name);
    assert.ok(JSON.stringify(withheld).includes(expected[0]));
  }
  assert.deepEqual(await fields({}), []);
  assert.equal((await step({ ...signed })).kind, 'taken');
});

test('less than was simulated is not held to figures of the whole', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  await include({ amountCents: 50_000 });
  const half = { VlrTotalCredito: 500, VlrFinanciado: 520, VlrIOF: 9.4, VlrTotalDivida: 610, PercCETMensal: 1.99 };
  bodies.proposal = JSON.stringify({ ...proposedWhole, ...half });
  await step({ step: 'proposal', request: { dto: {} } });
  assert.deepEqual((await state(flowId))!.differences, []);
});

test('a loan with its fee by percent is compared as one with the fee in cents', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  assert.deepEqual(refusedBy(await include({ feePercent: 50 })), [['fee-simulated', 'feePercent']]);
  await include({ feePercent: 1 });
  const differing = async (more: object) => {
    bodies.proposal = JSON.stringify({ ...proposedWhole, ...more });
    await step({ step: 'proposal', request: { dto: {} } });
    return (await state(flowId))!.differences.map(({ field }) => field);
  };
  assert.deepEqual(await differing({}), []);
  const raised = { VlrTAC: 293.86, VlrFinanciado: 1893.05, VlrTotalDivida: 1997.5, PercCETMensal: 4.9 };
  const fields = ['financedCents', 'feeCents', 'totalDebtCents', 'cetMonthlyHundredths'];
  assert.deepEqual((await differing(raised)).toSorted(), fields.toSorted());
  assert.deepEqual(refusedBy(await step({ ...signed })), [['proposal-accepted', 'step']]);
});

test('a loan that is not as simulated comes to no more than was simulated', async (context) => {
  for (const [order, honest] of [
    [{ amountCents: 50_000 }, { VlrTotalCredito: 500, VlrFinanciado: 520, VlrIOF: 9.4, VlrTotalDivida: 610 }],
    [{ feePercent: 0.5 }, { VlrTAC: 5, VlrFinanciado: 1023.8 }],
    [{ feeCents: 0 }, { VlrTAC: 0, VlrFinanciado: 1018.8 }],
    [{ insuranceCents: 10_000 }, { VlrSeguro: 100, VlrFinanciado: 1128.8, VlrIOF: 20.6, VlrTotalDivida: 1316.6 }],
    [{ transfers: [{ onDay: `${new Date().getFullYear() + 1}-06-01`, amountCents: 70_000 }] }, {}],
  ] as const) {
    const { bodies, simulate, include, step, state, flowId } = await withdrawing(context, whole);
    await simulate({ cpf: '52998224725' });
    assert.equal((await include(order)).kind, 'taken');
    const differing = async (more: object) => {
      bodies.proposal = JSON.stringify({ ...proposedWhole, ...honest, ...more });
      await step({ step: 'proposal', request: { dto: {} } });
      return (await state(flowId))!.differences.map(({ field }) => field);
    };
    assert.deepEqual(await differing({}), [], JSON.stringify(order));
    for (const [name, value, field] of [
      ['VlrFinanciado', 1893.05, 'financedCents'],
      ['VlrTAC', 293.86, 'feeCents'],
      ['VlrTotalDivida', 1997.5, 'totalDebtCents'],
      ['VlrIOF', 90, 'iofCents'],
    ] as const) {
      assert.deepEqual(await differing({ [name]: value }), [field], JSON.stringify(order));
      assert.deepEqual(refusedBy(await step({ ...signed })), [['proposal-accepted', 'step']]);
    }
  }
});

test('a split of the proposal that nobody ordered is a difference', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  await include({ splits: [{ amountCents: 5_000, fieldId: 'A', pixKey }] });
  const told = async (...PropostaLancamentos: object[]) => {
    bodies.proposal = JSON.stringify({ ...proposedWhole, PropostaLancamentos });
    await step({ step: 'proposal', request: { dto: {} } });
    return (await state(flowId))!.differences;
  };
  const own = { CampoID: 'A', VlrTransacao: 50, Situacao: 1 };
  const payout = { VlrTransacao: 950, DocumentoFederal: '529.982.247-25' };
  assert.deepEqual(await told(own, payout), []);
  const stranger = { VlrTransacao: 9000, DocumentoFederal: '39053344705' };
  const foreign = { field: 'foreignSplitCents', ours: 0 };
  assert.deepEqual(await told(own, stranger), [{ ...foreign, theirs: 900_000 }]);
  assert.deepEqual(await told(own, own), [{ ...foreign, theirs: 5_000 }]);
  assert.deepEqual(refusedBy(await step({ ...signed })), [['proposal-accepted', 'step']]);
  assert.deepEqual(await told(payout), []);
});

test('an entry to a payee whom nobody ordered is seen however its amount is said', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  const account = { accountType: 1, branch: '1', account: '0123456', accountDigit: '7', bankNumber: '341' };
  const paidTo = { account: { ...account, holderCpf: '52998224725' }, pix: null };
  await include({ ...paidTo, splits: [{ amountCents: 5_000, fieldId: 'A', pixKey: { key: '11144477735' } }] });
  const told = async (PropostaLancamentos: unknown) => {
    bodies.proposal = JSON.stringify({ ...proposedWhole, PropostaLancamentos });
    await step({ step: 'proposal', request: { dto: {} } });
    const { differences, notSaid } = flowView((await state(flowId))!, plainVault.open as never, settings);
    return [...differences.map(({ field, theirs }) => `${field} ${theirs}`), ...notSaid];
  };
  const ordered = { CampoID: 'A', VlrTransacao: 50 };
  const own = { DocumentoFederal: '529.982.247-25' };
  const stranger = { DocumentoFederal: '39053344705' };
  const clean: object[][] = [
    [ordered, { ...own, VlrTransacao: 950 }],
    [{ ...ordered, DocumentoFederal: '111.444.777-35' }],
    [
      { ...own, VlrTransacao: 950, Conta: '123456', ContaDig: '7' },
      { ...stranger, VlrTransacao: 0 },
    ],
    [{ VlrTransacao: 950, Conta: '123456-7' }],
    [{ CampoID: 'A', VlrTransacao: null }],
  ];
  for (const entries of clean) assert.deepEqual(await told(entries), [], JSON.stringify(entries));
  const lies = [
    [[{ ...stranger, VlrTransacao: 500 }], 'foreignSplitCents 50000'],
    [
      [
        { ...stranger, VlrTransacao: 500 },
        { ...stranger, VlrTransacao: -500 },
      ],
      'foreignSplitCents 100000',
    ],
    [[{ ...stranger, VlrBoleto: 500 }], 'foreignSplitCents 50000'],
    [[{ ...own, VlrBoleto: 500 }], 'foreignSplitCents 50000'],
    [[{ ...own, VlrTransacao: 950, LinhaDigitavel: '23790' }], 'foreignSplitCents 95000'],
    [[{ ...ordered, VlrBoleto: 500 }], 'foreignSplitCents 50000'],
    [[{ ...ordered, DocumentoFederal: '39053344705' }], 'foreignSplitCents 5000'],
    [[{ ...ordered, VlrTransacao: -50 }], 'foreignSplitCents 5000'],
    [[{ ...own, VlrTransacao: 950, Conta: '999999' }], 'foreignSplitCents 95000'],
  ] as const;
  for (const [entries, expected] of lies) {
    assert.deepEqual(await told(entries), [expected], JSON.stringify(entries));
    assert.deepEqual(await told([]), []);
  }
  const unread = [
    [{ ...stranger, VlrTransacao: '500,00 reais' }],
    [{ ...stranger, VlrTransacao: null }],
    [{ ...stranger, VlrTransacao: 0, VlrBoleto: '500,00 reais' }],
    [{ ...stranger, VlrTransacao: 0, vlrTransacao: 500 }],
    [stranger],
    [{ ...ordered, VlrTransacao: '9.000,00 reais' }],
    'none',
    [1],
  ];
  for (const entries of unread) {
    assert.deepEqual(await told(entries), ['foreignSplitCents'], JSON.stringify(entries));
    assert.deepEqual(refusedBy(await step({ ...signed })), [['proposal-accepted', 'step']]);
    assert.deepEqual(await told([]), []);
  }
});

test('a figure that was said and is nothing now, or cannot be read, is a doubt', async (context) => {
  const { bodies, simulate, include, step, state, flowId, alarms } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  await include();
  const notSaid = async (more: object) => {
    bodies.proposal = JSON.stringify({ ...proposedWhole, ...more });
    await step({ step: 'proposal', request: { dto: {} } });
    return flowView((await state(flowId))!, null, settings).notSaid;
  };
  assert.deepEqual(await notSaid({ VlrTotalDivida: '20.000', VlrTAC: null }), ['totalDebtCents']);
  assert.deepEqual(await notSaid({ VlrTAC: null }), [], 'it was never said');
  assert.deepEqual(await notSaid({}), []);
  for (const [name, figure, unread] of [
    ['VlrTotalCredito', 'creditCents', '9.999'],
    ['PercJurosMensal', 'rateHundredths', '9,90 ao mes'],
    ['QtdeParcelas', 'installments', 'doze'],
    ['VlrTotalDivida', 'totalDebtCents', '20.000'],
    ['VlrTAC', 'feeCents', {}],
    ['PercCETMensal', 'cetMonthlyHundredths', '4,9 ao mes'],
  ] as const) {
    for (const value of [null, '', unread]) {
      const seen = alarms.length;
      assert.deepEqual(await notSaid({ [name]: value }), [figure], `${name} ${JSON.stringify(value)}`);
      await eventually(() => alarms.length > seen);
      assert.deepEqual(refusedBy(await step({ ...signed })), [['proposal-accepted', 'step']]);
      assert.deepEqual(await notSaid({ [name]: undefined }), [figure], 'what is left out stands as it was said');
      assert.deepEqual(await notSaid({}), []);
    }
    assert.deepEqual(await notSaid({ [name.toLowerCase()]: 9 }), [figure], 'said twice, and each time something else');
    assert.deepEqual(await notSaid({}), []);
  }
  assert.deepEqual(await notSaid({ VlrTotalCredito: null }), ['creditCents']);
  assert.equal((await step({ step: 'accept', reason: 'seen with the service' })).kind, 'taken');
  assert.deepEqual(await notSaid({ VlrTotalCredito: null }), ['creditCents']);
  assert.equal((await step({ ...signed })).kind, 'taken', 'what was taken stays taken');
});

test('a proposal of which the service says no figures is not signed before somebody says what it comes to', async (context) => {
  const { bodies, simulate, include, step, state, flowId, alarms } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  await include();
  const query = async (body: object) => {
    bodies.proposal = JSON.stringify(body);
    await step({ step: 'proposal', request: { dto: {} } });
    return (await state(flowId))!;
  };
  const nothing = Object.fromEntries(Object.keys(proposedWhole).map((name) => [name, null]));
  const silent = await query({ ...nothing, HasError: false, Codigo: 'p-1' });
  assert.deepEqual(flowView(silent, null, settings).notSaid, ['creditCents', 'rateHundredths', 'installments']);
  assert.match(flowText(createFormat('en'), silent, { open: null, settings }), /^Not in the proposal +credit/m);
  await eventually(() => alarms.includes('proposal-differs'));
  const withheld = await step({ ...signed });
  assert.deepEqual(refusedBy(withheld), [['proposal-accepted', 'step']]);
  assert.match(JSON.stringify(withheld), /creditCents, rateHundredths, installments/);
  assert.ok(nextSteps(silent, settings, null).includes('accept'));
  const nameless = await query({ ...proposedWhole, Codigo: null, CodigoProposta: null });
  assert.deepEqual(
    nameless.breaches.map(({ rule }) => rule),
    ['proposal-of-flow'],
  );
  assert.deepEqual(flowView(await query({ ...nothing, ...proposedWhole }), null, settings).notSaid, []);
  // What was said once stands when it is left out.
  assert.deepEqual(flowView(await query({ HasError: false, Codigo: 'p-1' }), null, settings).notSaid, []);
  assert.equal((await step({ ...signed })).kind, 'taken');
});

test('a proposal that is said to be cancelled is not split, signed or finalised before somebody says so', async (context) => {
  for (const reason of ['MotivoCancelamento', 'MotivoRejeicao']) {
    const { bodies, simulate, include, step, state, flowId, alarms, sent } = await withdrawing(context, {
      signers: '{"hasError":false}',
      finalisation: '{"hasError":false}',
    });
    const query = async (words: string) => {
      bodies.proposal = `{"HasError":false,"Codigo":"p-1","Situacao":9,"VlrTotalCredito":1000,"QtdeParcelas":3,"${reason}":${words}}`;
      await step({ step: 'proposal', request: { dto: {} } });
      return (await state(flowId))!;
    };
    await simulate({ cpf: '52998224725' });
    await include();
    for (const empty of ['null', '""', '"  "']) assert.equal((await query(empty)).ending ?? null, null, empty);
    const signers = {
      step: 'signers',
      request: { signers: [{ name: 'A', document: '52998224725', signedAt: Date.now(), ip: '203.0.113.9' }] },
    } as const;
    const splits = { step: 'splits', request: { splits: [{ amountCents: 1_000, pixKey }] } } as const;
    const ended = await query('"desistência"');
    assert.equal(ended.ending, reason === 'MotivoRejeicao' ? 'rejection' : 'cancellation');
    await eventually(() => alarms.filter((code) => code === 'proposal-differs').length === 1);
    assert.ok(!nextSteps(ended, settings, null).some((next) => ['splits', 'signers', 'finalisation'].includes(next)));
    for (const asked of [signers, splits]) {
      assert.deepEqual(refusedBy(await step(asked)), [['proposal-live', 'step']]);
    }
    assert.equal((await query('null')).ending, null);
    assert.equal((await step(signers)).kind, 'taken', 'a newer answer without it');
    await query('"desistência"');
    assert.deepEqual(refusedBy(await step({ step: 'finalisation', request: {} })), [['proposal-live', 'step']]);
    assert.ok(!sent.some(({ operation }) => operation === 'splits' || operation === 'finalisation'));
    assert.equal((await step({ step: 'accept', reason: 'the portal says it stands' })).kind, 'taken');
    assert.equal((await step({ step: 'finalisation', request: {} })).kind, 'taken');
  }
});

test('beside a withdrawal that is finalised and not seen to be paid no other begins, unless it is meant', async (context) => {
  for (const told of ['"Situacao":5', '"Situacao":9,"MotivoCancelamento":"desistência"']) {
    const { bodies, simulate, include, step, front, flowId } = await withdrawing(context, {
      ...{ signers: '{"hasError":false}', finalisation: '{"hasError":false}' },
    });
    await simulate({ cpf: '52998224725' });
    await include();
    const query = async (said: string) => {
      bodies.proposal = `{"HasError":false,"Codigo":"p-1","VlrTotalCredito":1000,"QtdeParcelas":3,${said}}`;
      await step({ step: 'proposal', request: { dto: {} } });
    };
    await query('"Situacao":1');
    const signers = [{ name: 'A', document: '52998224725', signedAt: Date.now(), ip: '203.0.113.9' }];
    await step({ step: 'signers', request: { signers } });
    await step({ step: 'finalisation', request: {} });
    const start = (key: string, more: object = {}) =>
      front.startWithdrawal({ by: 'ana', key }, { cpf: '52998224725', birthDate: null, signerCpfs: [], ...more });
    for (const [index, said] of [null, '"Situacao":2'].entries()) {
      if (said !== null) await query(said);
      const refused = await start(`k-${index}`);
      assert.deepEqual(refusedBy(refused), [['withdrawal-unpaid', 'alongside']]);
      assert.match(JSON.stringify(refused), new RegExp(`${flowId}.+step proposal`));
    }
    await query(told);
    assert.equal((await start('k-3')).kind, 'taken', told);
    assert.equal((await start('k-4', { alongside: true })).kind, 'taken');
  }
});

test('a simulation of another worker, or above what may be withdrawn, is none', async (context) => {
  const { bodies, simulate, include, state, flowId, sent } = await withdrawing(context);
  const values = (released: string, rest: string) =>
    `{"HasError":false,${rest},"Simulacoes":[{"Periodo":3,"VlrLiberado":${released},"VlrEmprestimoCliente":1000.00}]}`;
  for (const [body, rule] of [
    [values('1000.00', '"Consulta":{"cpfTrabalhador":"11144477735"}'), 'simulation-of-worker'],
    [values('1000.00', '"Consulta":{"cpfTrabalhador":"111.444.777-35"}'), 'simulation-of-worker'],
    [values('3000.00', '"VlrDispSaque":1500.00'), 'simulation-within-balance'],
    [values('900.00', '"VlrDispSaque":950.00'), 'simulation-within-balance'],
  ] as const) {
    bodies.simulation = body;
    await simulate({ cpf: '52998224725' });
    const refused = (await state(flowId))!;
    assert.equal(refused.phase, 'started', body);
    assert.equal(refused.operation?.status, 'rejected');
    assert.deepEqual(
      refused.breaches.map((each) => each.rule),
      [rule],
    );
    assert.deepEqual(flowView(refused, plainVault.open as never, settings).errors, [rule]);
    assert.deepEqual(flowView(refused, null, settings).errors, [rule], 'in words of our own, for everybody');
    assert.equal((await include()).kind, 'refused');
  }
  for (const consulted of ['"52998224725"', '"529.982.247-25"', '"***.982.247-**"', 'null', '""']) {
    bodies.simulation = values('1000.00', `"VlrDispSaque":1500.00,"Consulta":{"cpfTrabalhador":${consulted}}`);
    await simulate({ cpf: '52998224725' });
    assert.equal((await state(flowId))!.phase, 'simulated', consulted);
    assert.deepEqual((await state(flowId))!.breaches, []);
  }
  // By a balance that is given the service does not look at the worker's own.
  bodies.simulation = values('1000.00', '"VlrDispSaque":0');
  await simulate({ balanceCents: 1_000_000 });
  assert.equal((await state(flowId))!.operation?.status, 'done');
  assert.ok(!sent.some(({ operation }) => operation === 'inclusion'));
});

test('nothing is split, signed or finalised before the proposal was asked for, nor while the splits exceed its credit', async (context) => {
  const { bodies, simulate, include, step, state, flowId, sent } = await withdrawing(context, {
    signers: '{"hasError":false}',
    finalisation: '{"hasError":false}',
  });
  const told = (credit: number) =>
    `{"HasError":false,"Codigo":"p-1","Situacao":1,"QtdeParcelas":3,"VlrTotalCredito":${credit}}`;
  const query = async (body: string) => {
    bodies.proposal = body;
    await step({ step: 'proposal', request: { dto: {} } });
    return (await state(flowId))!;
  };
  const split = (amountCents: number) => ({ step: 'splits', request: { splits: [{ amountCents, pixKey }] } }) as const;
  const signers = {
    step: 'signers',
    request: { signers: [{ name: 'A', document: '52998224725', signedAt: Date.now(), ip: '203.0.113.9' }] },
  } as const;
  const finalisation = { step: 'finalisation', request: {} } as const;
  await simulate({ cpf: '52998224725' });
  await include({ splits: [{ amountCents: 60_000, pixKey }] });
  const included = (await state(flowId))!;
  assert.ok(!nextSteps(included, settings, null).some((next) => ['splits', 'signers', 'finalisation'].includes(next)));
  for (const asked of [signers, split(1_000)]) {
    assert.deepEqual(refusedBy(await step(asked)), [['proposal-asked', 'step']]);
  }
  bodies.proposal = '{"HasError":true,"Messages":[{"Code":"E1"}]}';
  await step({ step: 'proposal', request: { dto: {} } });
  assert.deepEqual(refusedBy(await step(signers)), [['proposal-asked', 'step']], 'no answer that says anything');
  const beyond = await query(told(500));
  assert.deepEqual(flowView(beyond, plainVault.open as never, settings).differences, [
    { field: 'creditCents', ours: 100_000, theirs: 50_000 },
    { field: 'splitCents', ours: 60_000, theirs: 50_000 },
  ]);
  assert.deepEqual(flowView(beyond, null, settings).differences, []);
  assert.equal((await step({ step: 'accept', reason: 'as it is' })).kind, 'taken');
  assert.deepEqual(refusedBy(await step(signers)), [['splits-of-loan', 'step']]);
  await query(told(1000));
  assert.equal((await step(signers)).kind, 'taken');
  await query(told(599.99));
  await step({ step: 'accept', reason: 'as it is' });
  assert.deepEqual(refusedBy(await step(finalisation)), [['splits-of-loan', 'step']]);
  await query(told(600));
  await step({ step: 'accept', reason: 'as it is' });
  assert.equal((await step(finalisation)).kind, 'taken');
  await eventually(async () => (await state(flowId))!.phase === 'finalised');
  assert.equal(sent.filter(({ operation }) => operation === 'splits').length, 0);
});

const code = '1b4e28ba-2fa1-11d2-883f-0016d3cca427';
const spellings = [
  code.toUpperCase(),
  `{${code}}`,
  `urn:uuid:${code}`,
  code.replaceAll('-', '_'),
  code.replaceAll('-', ''),
  `${code.replaceAll('-', '').slice(0, 9)}-${code.replaceAll('-', '').slice(9)}`,
];

test('one proposal in other spellings is of the flow that has it', async (context) => {
  const { bodies, simulate, include, state, flowId, front, ask } = await withdrawing(context, {
    simulation: own.replace('{', '{"VlrDispSaque":9000.00,'),
    inclusion: `{"HasError":false,"CodigoProposta":"${code}"}`,
  });
  await simulate({ cpf: '52998224725' });
  await include();
  assert.equal((await state(flowId))!.proposalCode, code);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const another = await front.startWithdrawal({ by: 'ana', key: 'other' }, { ...order, proposalCode: 'p-else' });
  assert(another.kind === 'taken');
  for (const proposalCode of spellings) {
    const begun = await front.startWithdrawal({ by: 'ana', key: proposalCode }, { ...order, proposalCode });
    const rule = refusedBy(begun)[0]![0];
    assert.ok(['flow-exists', 'proposal-code'].includes(rule), `${rule} ${proposalCode}`);
    const asked = { step: 'proposal', request: { dto: { CodigoProposta: proposalCode } } } as const;
    const named = refusedBy(await ask(another.state.flowId, asked));
    assert.deepEqual(named, [['locator-kept', 'dto.CodigoProposta']]);
    assert.match(JSON.stringify(await ask(another.state.flowId, asked)), new RegExp(`of the flow ${flowId}`));
  }
  // Included by another flow in another spelling, it is nothing of that flow.
  for (const proposalCode of spellings.filter(isId)) {
    bodies.inclusion = `{"HasError":false,"CodigoProposta":"${proposalCode}"}`;
    const begun = await front.startWithdrawal({ by: 'ana', key: `k-${proposalCode}` }, order);
    assert(begun.kind === 'taken', JSON.stringify(begun));
    const other = begun.state.flowId;
    const idle = () => eventually(async () => !(await state(other))!.steps.some((each) => each.outcome === 'pending'));
    await ask(other, { step: 'simulation', request: { cpf: '52998224725' } });
    await idle();
    await ask(other, { step: 'inclusion', request: { period: 3, pix: pixKey } });
    await eventually(async () => (await state(other))!.operation?.status === 'unclear');
    assert.match((await state(other))!.operation!.reason!, new RegExp(`the proposal of the flow ${flowId}`));
  }
});

test('of two flows that an earlier version gave one proposal, neither changes it', async (context) => {
  const { front, append, ask, state } = await takingHouse(context);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const first = await front.startWithdrawal({ by: 'ana', key: 'a' }, { ...order, proposalCode: code });
  assert(first.kind === 'taken');
  const record = { ...started('withdrawal', undefined, Date.now()), flowId: 'w-old', key: 'old', proposalCode: code };
  await append({ topic: 'flows', key: 'w-old', record });
  await eventually(async () => (await state('w-old')) !== undefined);
  for (const [flowId, other] of [
    ['w-old', first.state.flowId],
    [first.state.flowId, 'w-old'],
  ] as const) {
    const refused = await ask(flowId, { step: 'account-update', request: { extra: { conta: '1' } } });
    assert.deepEqual(refusedBy(refused), [['proposal-of-one-flow', 'step']]);
    assert.match(JSON.stringify(refused), new RegExp(`the flow ${other} has this proposal too`));
  }
});

test('figures of a proposal that come as texts with a comma are compared', async (context) => {
  const { bodies, simulate, include, step, state, flowId } = await withdrawing(context, whole);
  await simulate({ cpf: '52998224725' });
  await include();
  const commas = {
    VlrTotalCredito: '1.000,00',
    PercJurosMensal: '1,79',
    VlrTotalDivida: '1200,0',
    PercCETAnual: '26,08',
  };
  bodies.proposal = JSON.stringify({ ...proposedWhole, ...commas });
  await step({ step: 'proposal', request: { dto: {} } });
  const { differences, unusableFigures } = (await state(flowId))!;
  assert.deepEqual([differences, unusableFigures], [[], []]);
  bodies.proposal = JSON.stringify({ ...proposedWhole, VlrTotalCredito: '99.999,99' });
  await step({ step: 'proposal', request: { dto: {} } });
  const found = (await state(flowId))!.differences;
  assert.deepEqual(found, [{ field: 'creditCents', ours: 100_000, theirs: 9_999_999 }]);
});

test('withdrawals of one worker that run at once pledge no more together than the service said may be withdrawn', async (context) => {
  const answer = (shown: string, released: string) =>
    `{"HasError":false,${shown}"Simulacoes":[{"Periodo":3,"VlrLiberado":${released}}]}`;
  const { bodies, simulate, include, flowId, front, ask, state, sent } = await withdrawing(context, {
    simulation: answer('"VlrDispSaque":1500.00,', '1000.00'),
  });
  await simulate({ cpf: '52998224725' });
  assert.equal((await include()).kind, 'taken');
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begin = async (key: string) => {
    const begun = await front.startWithdrawal({ by: 'ana', key }, order);
    assert(begun.kind === 'taken');
    const other = begun.state.flowId;
    await ask(other, { step: 'simulation', request: {} });
    await eventually(async () => (await state(other))!.phase === 'simulated');
    return other;
  };
  const inclusion = (other: string, amountCents: number) =>
    ask(other, { step: 'inclusion', request: { period: 3, pix: pixKey, amountCents } });
  const second = await begin('k-second');
  const before = sent.length;
  const refused = await inclusion(second, 50_001);
  assert.deepEqual(refusedBy(refused), [['withdrawals-within-balance', 'amountCents']]);
  assert(refused.kind === 'refused');
  const { problem } = refused.breaches[0]!;
  assert.ok(problem.includes(flowId) && problem.includes('send at most 50000 cents'), problem);
  assert.equal(sent.length, before);
  assert.match(refusalPt(problem), /que somam 100000 dos 150000 centavos .* envie no máximo 50000 centavos/);
  // Told after the first inclusion, the balance may be without it.
  bodies.simulation = answer('"VlrDispSaque":500.00,', '500.00');
  const third = await begin('k-third');
  bodies.inclusion = '{"HasError":false,"CodigoProposta":"p-3"}';
  assert.equal((await inclusion(third, 50_000)).kind, 'taken');
  assert.deepEqual(refusedBy(await inclusion(second, 10_000)), [['withdrawals-within-balance', 'amountCents']]);
});

/** Each withdrawal of this worker simulated with a balance, included, and finalised, at times that the test sets. */
async function withdrawals(context: TestContext) {
  const house = await withdrawing(context, { finalisation: '{"hasError":false}', signers: '{"hasError":false}' });
  const { bodies, front, ask, state, clock } = house;
  const realNow = clock.now;
  let laterMs = 0;
  clock.now = () => realNow() + laterMs;
  const wait = (ms: number) => {
    laterMs += ms;
  };
  const settled = (flowId: string) =>
    eventually(async () => !(await state(flowId))!.steps.some(({ outcome }) => outcome === 'pending'));
  const step = async (flowId: string, asked: StepAsked) => {
    const result = await ask(flowId, asked);
    await settled(flowId);
    return result;
  };
  const begin = async () => {
    const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
    const begun = await front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
    assert(begun.kind === 'taken');
    return begun.state.flowId;
  };
  /** `shown` null: the service tells no balance. */
  const simulate = async (flowId: string, shown: string | null, released: string) => {
    const balance = shown === null ? '' : `"VlrDispSaque":${shown},`;
    bodies.simulation = `{"HasError":false,${balance}"Simulacoes":[{"Periodo":3,"VlrLiberado":${released},"VlrTAC":10.00}]}`;
    await step(flowId, { step: 'simulation', request: {} });
  };
  const include = (flowId: string, amountCents: number) => {
    bodies.inclusion = `{"HasError":false,"CodigoProposta":"p-${flowId}"}`;
    return step(flowId, { step: 'inclusion', request: { period: 3, pix: pixKey, amountCents } });
  };
  const propose = async (flowId: string, situation: number) => {
    bodies.proposal = JSON.stringify({
      ...{ HasError: false, Codigo: `p-${flowId}`, CodigoProposta: `p-${flowId}`, Situacao: situation },
    });
    await step(flowId, { step: 'proposal', request: { dto: {} } });
  };
  const finalise = async (flowId: string) => {
    await propose(flowId, 2);
    await step(flowId, { step: 'accept', reason: 'vista no portal' });
    const signers = await step(flowId, { ...signed });
    assert.equal(signers.kind, 'taken', JSON.stringify(signers));
    const result = await step(flowId, { step: 'finalisation', request: {} });
    assert.equal((await state(flowId))!.phase, 'finalised', JSON.stringify(result));
  };
  const first = async (shown: string | null, amountCents: number) => {
    const flowId = await begin();
    await simulate(flowId, shown, '1000.00');
    assert.equal((await include(flowId, amountCents)).kind, 'taken');
    return flowId;
  };
  return { ...house, wait, begin, simulate, include, propose, finalise, first };
}

const beyond = [['withdrawals-within-balance', 'amountCents']];

/** Three of one worker, each simulated with a balance that holds one of them. */
async function threeWithdrawals(context: TestContext) {
  const house = await withdrawals(context);
  const { begin, simulate, bodies, state, sent } = house;
  const flowIds = [await begin(), await begin(), await begin()];
  for (const flowId of flowIds) await simulate(flowId, '1500.00', '1000.00');
  bodies.inclusion = '{"HasError":false,"CodigoProposta":"p-1"}';
  const request = { period: 3, pix: pixKey, amountCents: 100_000 };
  const states = async () => (await Promise.all(flowIds.map((flowId) => state(flowId)))).map((one) => one!);
  const settled = () =>
    eventually(async () => (await states()).every(({ steps }) => steps.every(({ outcome }) => outcome !== 'pending')));
  const inclusions = () => sent.filter(({ operation }) => operation === 'inclusion').length;
  return { ...house, flowIds, request, states, settled, inclusions };
}

test('of inclusions that are ordered in the same moment only those go out that fit', async (context) => {
  const { flowIds, request, ask, settled, states, inclusions } = await threeWithdrawals(context);
  // Each is checked before a record of another one stands in the log.
  await Promise.all(flowIds.map((flowId) => ask(flowId, { step: 'inclusion', request })));
  await settled();
  assert.equal(inclusions(), 1);
  assert.equal((await states()).filter(({ phase }) => phase === 'included').length, 1);
});

test('of inclusions that stand in the log together the first one goes out, and what is held back says why', async (context) => {
  const house = await threeWithdrawals(context);
  const { flowIds, request, append, ask, settled, states, inclusions, clock, bodies, reaches } = house;
  const first = flowIds[1]!;
  const order = [first, flowIds[0]!, flowIds[2]!];
  const records = order.map((flowId, index) => ({
    ...({ kind: 'asked', flowId, stepId: `s-${index}`, by: 'ana', step: 'inclusion', requestHash: 'h' } as const),
    ...{ terms: null, signedAt: null, requestCode: null, personKeys: [], stepsKept: 100, reason: null },
    at: clock.now() - order.length + index,
    sealed: plainVault.seal(sealedPlaces.flowStep(flowId), JSON.stringify(request)),
  }));
  await append(...records.map((record) => ({ topic: 'flows' as const, key: record.flowId, record })));
  await eventually(async () => (await states()).every(({ steps }) => steps.at(-1)!.step === 'inclusion'));
  await settled();
  assert.equal(inclusions(), 1);
  for (const { flowId, phase, steps, breaches } of await states()) {
    const rules = breaches.map(({ rule }) => rule);
    const told = [steps.at(-1)!.outcome, phase, rules];
    const held = ['withheld', 'simulated', ['withdrawals-within-balance']];
    assert.deepEqual(told, flowId === first ? ['done', 'included', []] : held);
  }
  bodies.inclusion = '{"HasError":false,"CodigoProposta":"p-2"}';
  const smaller = { step: 'inclusion', request: { ...request, amountCents: 50_000 } } as const;
  assert.equal((await ask(flowIds[0]!, smaller)).kind, 'taken');
  await reaches(flowIds[0]!, 'included');
});

function undecided(flowId: string, at: number, amountCents = 100_000, simulation: string | null = null): FlowState {
  const begun = evolve(null, started('withdrawal'), settings)!;
  const request = { period: 3, pix: pixKey, amountCents };
  const step = { stepId: 's', step: 'inclusion', by: 'ana', at, requestHash: 'h', outcome: 'pending' } as const;
  return {
    ...{ ...begun, flowId, phase: 'simulated', steps: [step] },
    ...(simulation === null
      ? {}
      : { simulatedKey: begun.subject.workerKey, results: { simulation: { at, sealedAnswer: simulation } } }),
    operation: {
      ...{ operation: 'inclusion', slot: 'inclusion#1', status: 'asked', stepId: 's', personKeys: [], intent: null },
      ...{ sealedRequest: JSON.stringify(request), unknowns: 0, retryAt: null, reason: null },
    },
  };
}

/** The desks of several partitions on one store: whatever they do in between, each row is written and read whole. */
test('inclusions of several partitions never come to more than the balance, in whatever order they are written, read and decided', () => {
  const simulation = '{"HasError":false,"VlrDispSaque":1500.00,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}';
  const open = plainVault.open as never;
  const wait = { now: 100, longestWaitMs: 1_000 };
  let together = 0;
  let waits = 0;
  const orders = fc.array(fc.record({ at: fc.nat(3), amountCents: fc.constantFrom(50_000, 70_000, 100_000) }), {
    minLength: 2,
    maxLength: 4,
  });
  fc.assert(
    fc.property(orders, fc.array(fc.nat(3), { maxLength: 60 }), (given, schedule) => {
      const rows = new Map<string, FlowState>();
      const desks = given.map(({ at, amountCents }, index) => ({
        own: undecided(`w-${index}`, at, amountCents, simulation),
        seen: null as readonly FlowState[] | null,
        amountCents,
        end: null as 'goes' | 'held' | null,
      }));
      const turn = (desk: (typeof desks)[number]) => {
        const { own, seen } = desk;
        if (desk.end !== null) return;
        if (!rows.has(own.flowId)) rows.set(own.flowId, own);
        else if (seen === null) desk.seen = [...rows.values()];
        else {
          const others = seen.map((state) => ({ state, isReleased: false }));
          const decision = decideInclusion(own, others, open, wait);
          desk.seen = null;
          if (decision === 'waits') waits += 1;
          if (decision === 'waits') return;
          desk.end = decision === 'goes' ? 'goes' : 'held';
          const status = decision === 'goes' ? ('intended' as const) : ('withheld' as const);
          rows.set(own.flowId, { ...own, operation: { ...own.operation!, status } });
        }
      };
      for (const index of schedule) turn(desks[index % desks.length]!);
      for (let round = 0; desks.some(({ end }) => end === null); round += 1) {
        assert.ok(round < 40, 'nothing waits for ever');
        for (const desk of desks) turn(desk);
      }
      const gone = desks.filter(({ end }) => end === 'goes');
      assert.ok(gone.reduce((sum, { amountCents }) => sum + amountCents, 0) <= 150_000);
      assert.ok(gone.length > 0, 'one goes');
      if (gone.length > 1) together += 1;
    }),
    { numRuns: 800 },
  );
  assert.ok(together > 20 && waits > 20, `${together} ${waits}`);
});

test('an inclusion waits for one that was ordered after it and is not decided, and goes out once that one is held back', () => {
  const open = plainVault.open as never;
  const own = undecided('w-1', 10);
  const later = { state: undecided('w-2', 20), isReleased: false };
  const wait = { now: 100, longestWaitMs: 1_000 };
  const rule = (decision: ReturnType<typeof decideInclusion>) =>
    typeof decision === 'string' ? decision : decision.rule;
  assert.equal(rule(decideInclusion(own, [later], open, wait)), 'waits');
  const beyondIt = 'withdrawals-within-balance';
  assert.equal(rule(decideInclusion(later.state, [{ ...later, state: own }], open, wait)), beyondIt);
  const withOperation = (change: object) => ({
    ...later,
    state: { ...later.state, operation: { ...later.state.operation!, ...change } },
  });
  assert.equal(rule(decideInclusion(own, [withOperation({ status: 'intended' })], open, wait)), beyondIt);
  assert.equal(rule(decideInclusion(own, [withOperation({ status: 'withheld' })], open, wait)), 'goes');
  const frozen = { ...later, state: { ...later.state, frozen: { at: 1, problem: 'x' } } };
  assert.equal(rule(decideInclusion(own, [frozen], open, wait)), beyondIt);
  // Where nobody decides the other one, its partition may have no owner.
  assert.equal(rule(decideInclusion(own, [later], open, { now: 1_010, longestWaitMs: 1_000 })), beyondIt);
});

test('a withdrawal that was finalised before a balance was told counts no more against that balance', async (context) => {
  const { wait, begin, simulate, include, finalise, first } = await withdrawals(context);
  const one = await first('1500.00', 100_000);
  await finalise(one);
  // Nobody says that it is paid: no situation of it is told any more.
  wait(120_000);
  const second = await begin();
  await simulate(second, '800.00', '800.00');
  assert.equal((await include(second, 80_000)).kind, 'taken', 'the balance is without the first one');
  // The second one is not finalised: the balance is with it, or may be.
  const third = await begin();
  await simulate(third, '800.00', '800.00');
  const refused = await include(third, 10_000);
  assert.deepEqual(refusedBy(refused), beyond);
  assert(refused.kind === 'refused');
  assert.ok(!refused.breaches[0]!.problem.includes(one) && refused.breaches[0]!.problem.includes(second));
  assert.match(refusalPt(refused.breaches[0]!.problem), /que somam 80000 dos 80000 centavos .* no máximo 0 centavos/);
});

test('a withdrawal that was finalised after a balance was told, or just before, counts against it', async (context) => {
  const { wait, begin, simulate, include, finalise, first, propose } = await withdrawals(context);
  const one = await first('1500.00', 100_000);
  const second = await begin();
  await simulate(second, '1500.00', '1000.00');
  await finalise(one);
  assert.deepEqual(refusedBy(await include(second, 50_001)), beyond);
  // The clocks of two processes may differ.
  await simulate(second, '1500.00', '1000.00');
  assert.deepEqual(refusedBy(await include(second, 50_001)), beyond);
  // Paid or not, the balance was told before.
  await propose(one, 5);
  assert.deepEqual(refusedBy(await include(second, 50_001)), beyond);
  wait(120_000);
  await simulate(second, '900.00', '900.00');
  assert.equal((await include(second, 90_000)).kind, 'taken');
});

test('the balance told to one under way is not taken for what is left after another one was paid', async (context) => {
  const { wait, begin, simulate, include, finalise, propose, first } = await withdrawals(context);
  const underWay = await first('1500.00', 20_000);
  const paid = await begin();
  await simulate(paid, '1500.00', '1000.00');
  assert.equal((await include(paid, 100_000)).kind, 'taken');
  await finalise(paid);
  await propose(paid, 5);
  wait(120_000);
  const own = await begin();
  await simulate(own, '400.00', '400.00');
  const refused = await include(own, 30_001);
  assert.deepEqual(refusedBy(refused), beyond);
  assert(refused.kind === 'refused');
  // Of the 1 500 that were told first 1 200 are gone.
  assert.ok(refused.breaches[0]!.problem.includes('send at most 30000 cents'), refused.breaches[0]!.problem);
  assert.ok(refused.breaches[0]!.problem.includes(underWay));
  assert.equal((await include(own, 30_000)).kind, 'taken');
});

test('a withdrawal that was finalised elsewhere and is said to be paid counts as one that was finalised here', async (context) => {
  const { wait, begin, simulate, include, propose, first } = await withdrawals(context);
  const one = await first('1500.00', 100_000);
  const second = await begin();
  await propose(one, 2);
  wait(120_000);
  await simulate(second, '800.00', '800.00');
  assert.deepEqual(refusedBy(await include(second, 80_000)), beyond);
  await propose(one, 5);
  assert.deepEqual(refusedBy(await include(second, 80_000)), beyond, 'the balance was told before');
  wait(120_000);
  await simulate(second, '800.00', '800.00');
  assert.equal((await include(second, 80_000)).kind, 'taken');
});

test('where no balance is told, one that was finalised before the simulation does not bar another one', async (context) => {
  const { wait, begin, simulate, include, finalise, first } = await withdrawals(context);
  const one = await first(null, 100_000);
  const second = await begin();
  await simulate(second, null, '1000.00');
  assert.deepEqual(refusedBy(await include(second, 10_000)), beyond);
  await finalise(one);
  assert.deepEqual(refusedBy(await include(second, 10_000)), beyond);
  wait(120_000);
  await simulate(second, null, '1000.00');
  assert.equal((await include(second, 10_000)).kind, 'taken');
});

test('beside another withdrawal nothing is included where no balance was told', async (context) => {
  const { simulate, include, front, ask, state } = await withdrawing(context);
  await simulate({ cpf: '52998224725' });
  assert.equal((await include()).kind, 'taken');
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begun = await front.startWithdrawal({ by: 'ana', key: 'k-second' }, order);
  assert(begun.kind === 'taken');
  const second = begun.state.flowId;
  await ask(second, { step: 'simulation', request: {} });
  await eventually(async () => (await state(second))!.phase === 'simulated');
  const asked = await ask(second, { step: 'inclusion', request: { period: 3, pix: pixKey, amountCents: 10_000 } });
  assert.deepEqual(refusedBy(asked), [['withdrawals-within-balance', 'amountCents']]);
});
