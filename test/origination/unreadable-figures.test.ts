/** Figures that the service writes as nobody expects: they are read, or nobody takes them unseen (integrator, session 56). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import mapping from '../../config/request-mapping.json' with { type: 'json' };
import type { CallbackRecord } from '../../src/domain/records.ts';
import { flowView } from '../../src/http/api/views.ts';
import { nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { shownRecord } from '../../src/origination/shown-flows.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { errorsOf, reportsError } from '../../src/wire/service-errors.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { eventually } from '../conformance/backend.ts';
import { startFlowHouse } from './flow-house.ts';
import { plainVault, settings } from './orders.ts';
import { heard, refusedBy, takingHouse } from './taking-house.ts';

/** As the webhook of a desk reads it; the letters among its entries are left out. */
function told(body: object): { deadLetters: number; records: readonly CallbackRecord[] } {
  const parts = { mapping: mapping as never, vault: plainVault as never, receivedAt: 1, now: 1 };
  const reading = readWebhook(JSON.stringify(body), parts);
  assert.ok(reading.kind === 'entries', reading.kind);
  const records = reading.entries.flatMap(({ topic, record }) => (topic === 'callbacks' ? [record] : []));
  return { deadLetters: reading.deadLetters, records: records as readonly CallbackRecord[] };
}

const wholeNote = {
  ...{ NumeroCCB: 'N-1', ValorCETAnual: 40, ValorCETMensal: 2.9, ValorEmprestimo: 10_300, ValorIOF: 300 },
  ...{ ValorParcela: 437.25, ValorTaxaAnual: 34.49, ValorTaxaMensal: 2.5, ValorSeguro: 0, CodigoProposta: 'P-1' },
};

function noteOf(payload: object, endpoint = '/oferta-leilao/gerar-contrato') {
  const [record] = told({ CodigoRequisicao: 'q-1', Endpoint: endpoint, Payload: payload }).records;
  assert.ok(record?.kind === 'credit-note');
  return record;
}

test('figures of a note that come as texts with a comma are read', () => {
  const { note } = noteOf({
    ...wholeNote,
    ...{ ValorTaxaMensal: '4,90', ValorEmprestimo: '99.999,99', ValorParcela: '1234,5', ValorTaxaAnual: '77,55' },
    ...{ ValorIOF: '0,640', ValorSeguro: '-1.050,00' },
  });
  assert.ok(note !== null && note.unreadable === undefined);
  assert.deepEqual([note.rateMonthlyPercent, note.rateAnnualPercent], [4.9, 77.55]);
  assert.deepEqual([note.loanCents, note.installmentCents], [9_999_999, 123_450]);
  assert.deepEqual([note.iofCents, note.insuranceCents], [64, -105_000]);
});

test('percentages with their sign or three decimals after a comma, and reais with their sign, are read', () => {
  const { note } = noteOf({
    ...wholeNote,
    ...{ ValorTaxaMensal: '1,990', ValorTaxaAnual: '26,674 %', ValorCETAnual: '40 %', ValorCETMensal: ' 2.9% ' },
    ...{ ValorEmprestimo: 'R$ 10.300,00', ValorSeguro: '-R$ 1,50' },
  });
  assert.ok(note !== null);
  assert.equal(note.unreadable, undefined);
  assert.deepEqual(
    [note.rateMonthlyPercent, note.rateAnnualPercent, note.cetAnnualPercent, note.cetMonthlyPercent],
    [1.99, 26.674, 40, 2.9],
  );
  assert.deepEqual([note.loanCents, note.insuranceCents], [1_030_000, -150]);
});

test('figures that have two meanings or none, and two spellings with other values, are said to be unreadable', () => {
  for (const [change, unreadable] of [
    [{ ValorTaxaMensal: 'a combinar' }, ['rateMonthlyPercent']],
    [{ ValorEmprestimo: '99.999', ValorIOF: '1,234' }, ['loanCents', 'iofCents']],
    [{ ValorSeguro: { valor: 1 } }, ['insuranceCents']],
    [{ ValorCETAnual: '40 por cento', ValorTaxaAnual: '%' }, ['cetAnnualPercent', 'rateAnnualPercent']],
    [{ ValorParcela: '1,990', ValorSeguro: 'R$ 1.990' }, ['installmentCents', 'insuranceCents']],
    [{ valorTaxaMensal: 4.9 }, ['rateMonthlyPercent']],
    [{ valorTaxaMensal: 'x' }, ['rateMonthlyPercent']],
    [{ ValorParcela: null, valorparcela: 1 }, ['installmentCents']],
    [{ valorTaxaMensal: 2.5, valorEmprestimo: '10.300,00', VALORIOF: null }, undefined],
  ] as const) {
    const { note } = noteOf({ ...wholeNote, ...change });
    assert.deepEqual(note?.unreadable?.toSorted(), unreadable?.toSorted(), JSON.stringify(change));
  }
  for (const change of [{ numeroCCB: 'N-2' }, { codigoproposta: 'P-2' }]) {
    assert.deepEqual(
      [noteOf({ ...wholeNote, ...change }).note, noteOf({ ...wholeNote, ...change }).unread],
      [null, true],
    );
  }
  const twice = told({
    ...{ CodigoRequisicao: 'q-1', Endpoint: '/oferta-leilao/gerar-contrato' },
    ...{ Payload: wholeNote, payload: { ...wholeNote, ValorTaxaMensal: 4.9 } },
  });
  assert.deepEqual([twice.deadLetters, twice.records.map((each) => 'unread' in each && each.unread)], [1, [true]]);
});

test('an error under another spelling is one', () => {
  const twice = JSON.parse('{"Erros":[],"erros":[{"Codigo":"E1"}]}');
  assert.deepEqual([reportsError(twice), errorsOf(twice).map(({ code }) => code)], [true, ['E1']]);
  const flags = JSON.parse('{"HasError":false,"hasError":true,"Msg":"não"}');
  assert.deepEqual([reportsError(flags), errorsOf(flags).length], [true, 1]);
  assert.equal(reportsError(JSON.parse('{"Erros":null,"HasError":false}')), false);
});

test('a note with an unreadable figure is neither accepted nor signed, and its history shows what was written', async (context) => {
  const { ask, start, noteFor, reaches, state, tell, sign, alarms, history } = await takingHouse(context);
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const note = await noteFor('c-701', {
    noteNumber: 'N-1',
    rateAnnualPercent: null,
    unreadable: ['rateAnnualPercent'],
  });
  const { requestCode } = (await state('c-701'))!;
  const sealed = JSON.stringify({ Payload: { ...wholeNote, ValorTaxaAnual: '99 e meio' } });
  const event = { kind: 'credit-note', at: Date.now(), of: 'contract', note, errors: [], sealed } as const;
  await tell(requestCode!, { ...event, requestCode: requestCode! });
  await reaches('c-701', 'awaiting-signature');
  await eventually(() => alarms.includes('note-differs'));
  for (const result of [
    await ask('c-701', { step: 'accept', reason: 'x' }),
    await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' }),
  ]) {
    assert.deepEqual(refusedBy(result), [['note-readable', 'step']]);
  }
  const steps = nextSteps((await state('c-701'))!, settings, null);
  assert.ok(!steps.includes('accept') && !steps.includes('sign') && steps.includes('regenerate'));
  const record = (await history('c-701')).find(({ kind }) => kind === 'told')!;
  assert.match(JSON.stringify(shownRecord(record, plainVault.open as never)), /99 e meio/);
  assert.doesNotMatch(JSON.stringify(shownRecord(record, null)), /99 e meio/);
});

const own = '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00},{"Periodo":4,"VlrLiberado":1200.00}]';

/** A withdrawal whose service answers each operation as the test says. */
async function withdrawing(context: TestContext, answers: Record<string, string>) {
  const house = await takingHouse(context);
  const bodies: Record<string, string> = {
    ...{ simulation: `${own}}`, inclusion: '{"HasError":false,"CodigoProposta":"p-1"}' },
    ...answers,
  };
  house.world.answerTo = ({ operation }) => {
    const response = { status: 200, body: bodies[operation]! };
    return { ...readOperationAnswer(operation, 200, response.body), ...heard, response } as never;
  };
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begun = await house.front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  const step = async (asked: StepAsked) => {
    const result = await house.ask(flowId, asked);
    const isSettled = async () => !(await house.state(flowId))!.steps.some(({ outcome }) => outcome === 'pending');
    await eventually(isSettled, 5_000);
    return result;
  };
  const simulate = () => step({ step: 'simulation', request: { cpf: '52998224725' } });
  const include = (period: number) => step({ step: 'inclusion', request: { period, pix: { key: '+5511987654321' } } });
  return { ...house, bodies, flowId, step, simulate, include };
}

test('what may be withdrawn is compared however it is written, and what cannot be read simulates nothing', async (context) => {
  const { bodies, simulate, state, flowId, include } = await withdrawing(context, {});
  for (const [rest, rule] of [
    ['"VlrDispSaque":"1,00"', 'simulation-within-balance'],
    ['"VlrDispSaque":"muito"', 'simulation-readable'],
    ['"VlrDispSaque":5000,"vlrDispSaque":1', 'simulation-readable'],
    ['"SimulacoesErro":{"Periodo":3}', 'simulation-readable'],
    ['"Consulta":"52998224725"', 'simulation-readable'],
    ['"Consulta":{"cpfTrabalhador":{"n":1}}', 'simulation-readable'],
  ] as const) {
    bodies.simulation = `${own},${rest}}`;
    await simulate();
    const { breaches, phase } = (await state(flowId))!;
    assert.deepEqual([phase, breaches.map((each) => each.rule)], ['started', [rule]], rest);
  }
  bodies.simulation = `${own},"VlrDispSaque":"1.200,00"}`;
  await simulate();
  assert.equal((await include(4)).kind, 'taken');
});

test('a period that an error names, that is there twice or whose figures cannot be read is not included', async (context) => {
  const { bodies, simulate, include } = await withdrawing(context, {});
  const failed = (period: number | null) => `{"Periodo":${period},"HasError":true,"Msg":"sem saldo"}`;
  for (const [body, good] of [
    [`${own},"SimulacoesErro":[${failed(3)},${failed(4)}]}`, []],
    [`${own},"SimulacoesErro":[${failed(3)}]}`, [4]],
    [`${own},"SimulacoesErro":[${failed(null)}]}`, []],
    [`${own.slice(0, -1)},{"Periodo":3,"VlrLiberado":9000.00}]}`, [4]],
    ['{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":10,"VlrEmprestimoCliente":"x"}]}', []],
    ['{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":10,"TaxaMensal":"1.8","taxamensal":9}]}', []],
  ] as const) {
    bodies.simulation = body;
    await simulate();
    for (const period of [3, 4].filter((each) => !(good as readonly number[]).includes(each))) {
      assert.deepEqual(refusedBy(await include(period)), [['period-simulated', 'period']], body);
    }
  }
});

test('an inclusion whose code names no proposal is unclear, and a person says what it is', async (context) => {
  for (const code of ['00000000-0000-0000-0000-000000000000', 'pendente', '0', '']) {
    const reading = readOperationAnswer('inclusion', 200, `{"HasError":false,"CodigoProposta":"${code}"}`);
    assert.deepEqual(reading, { kind: 'unknown', reason: 'incomplete-success' }, code);
  }
  const pending = '{"HasError":false,"CodigoProposta":"pendente"}';
  const { simulate, include, step, state, flowId, reaches } = await withdrawing(context, { inclusion: pending });
  await simulate();
  await include(3);
  const unclear = (await state(flowId))!;
  assert.deepEqual([unclear.phase, unclear.operation?.status], ['simulated', 'unclear']);
  assert.deepEqual(waitsFor(unclear, settings, null), ['confirm', 'deny']);
  const right = 'aabbccdd-0000-4000-8000-000000000009';
  assert.equal((await step({ step: 'confirm', reason: 'no portal', requestCode: right })).kind, 'taken');
  await reaches(flowId, 'included');
  assert.equal((await state(flowId))!.proposalCode, right);
});

test('events of a cancellation keep a proposal back as its reason does', async (context) => {
  const { bodies, simulate, include, step, state, flowId, alarms } = await withdrawing(context, {});
  await simulate();
  await include(3);
  const said = '{"HasError":false,"Codigo":"p-1","CodigoProposta":"p-1","VlrTotalCredito":1000.00,"QtdeParcelas":3';
  const doc = { name: 'A', document: '52998224725', signedAt: Date.now(), ip: '10.0.0.1' };
  for (const events of ['[{"NomeEvento":"CANCELAMENTO","DtEvento":"2026-11-01"}]', '{"NomeEvento":"X"}', '[{}]']) {
    bodies.proposal = `${said},"CancelamentoFGTS":[]}`;
    await step({ step: 'proposal', request: { dto: {} } });
    assert.equal((await state(flowId))!.ending ?? null, null);
    bodies.proposal = `${said},"CancelamentoFGTS":${events}}`;
    await step({ step: 'proposal', request: { dto: {} } });
    assert.equal((await state(flowId))!.ending, 'cancellation', events);
    await eventually(() => alarms.includes('proposal-differs'));
    const refused = refusedBy(await step({ step: 'signers', request: { signers: [doc] } }));
    assert.ok(
      refused.some(([, field]) => field === 'step'),
      JSON.stringify(refused),
    );
  }
});

test('the answer to a lookup that came and cannot be read is told to it', async (context) => {
  const { front, world, tell, reaches, state } = await startFlowHouse(context);
  const lookup = { cpf: '52998224725', link: null, authorisationNumber: '880011', cached: null, reason: 'pediu' };
  for (const [index, vinculos] of [null, 'x', [{}], [null]].entries()) {
    const code = `q-${index}`;
    world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: code });
    const begun = await front.startLookup({ by: 'ana', key: `k${index}` }, lookup);
    assert.ok(begun.kind === 'taken');
    await reaches(begun.state.flowId, 'awaiting-answer');
    const endpoint = '/trabalhadores/listar-autorizados';
    const { deadLetters, records } = told({ codigoRequisicao: code, endpoint, payload: { vinculos } });
    assert.deepEqual([deadLetters, records.length], [1, 1]);
    await tell(code, records[0]!);
    await reaches(begun.state.flowId, 'refused');
    const shown = flowView((await state(begun.state.flowId))!, null, settings);
    assert.deepEqual(shown.errors, ['callback-unread']);
  }
});

test('a simulation is included as it was read when it came, however its numbers are written', async (context) => {
  const { bodies, simulate, include } = await withdrawing(context, {});
  bodies.simulation =
    '{"HasError":false,"VlrDispSaque":1.5E3,"Simulacoes":[{"Periodo":3.0,"VlrLiberado":1000.00},{"Periodo":12.0,"VlrLiberado":1.2E3}]}';
  await simulate();
  assert.equal((await include(12)).kind, 'taken');
});
