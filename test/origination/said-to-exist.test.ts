/** A refusal that says that such a thing is there already, or a conflict: somebody looks before it counts as refused. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { evolveAll } from '../../src/origination/evolve.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import { type OperationName, readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { plainVault, settings } from './orders.ts';
import { heard, refusedBy, takingHouse } from './taking-house.ts';

const exists = ['P1', 'Já existe contrato para esta solicitação'] as const;
const margin = ['E1', 'Margem insuficiente'] as const;

const refusal = ([code, text]: readonly [string, string]) =>
  JSON.stringify({ Erros: [{ Codigo: code, Mensagem: text }] });

/** A house whose service answers the operation that is named as the test says, and takes the others. */
async function refusing(context: TestContext, named: OperationName, status: number, body: string) {
  const house = await takingHouse(context);
  const takes = house.world.answerTo;
  const answer = { status, body };
  house.world.answerTo = (prepared, maxAttempts) => {
    if (prepared.operation !== named) return takes(prepared, maxAttempts);
    const reading = readOperationAnswer(named, answer.status, answer.body);
    return { ...reading, ...heard, response: { status: answer.status, body: answer.body } } as ReturnType<typeof takes>;
  };
  const inEnglish = (one: FlowState) => flowText(createFormat('en'), one, { open: plainVault.open as never, settings });
  return { ...house, answer, inEnglish };
}

const denial = { step: 'deny', reason: 'nada consta no portal' } as const;

test('a contract that is said to exist waits for a person, and counts as refused once one denies it', async (context) => {
  const cases = [
    [422, refusal(exists)],
    [200, refusal(['CONTRATO_JA_EXISTE', 'Recusado'])],
    [400, refusal(['9', 'Solicitação em duplicidade'])],
    [409, refusal(margin)],
    [409, ''],
  ] as const;
  const house = await refusing(context, 'contract', 422, '');
  const { answer, start, ask, state, reaches, sent, alarms, inEnglish } = house;
  for (const [index, [status, body]] of cases.entries()) {
    Object.assign(answer, { status, body });
    const flowId = `c-${711 + index}`;
    await start(String(711 + index));
    await reaches(flowId, 'unclear');
    const unclear = (await state(flowId))!;
    assert.equal(unclear.operation?.reason, 'said-to-exist');
    assert.deepEqual(nextSteps(unclear, settings, null), ['confirm', 'deny']);
    assert.deepEqual(refusedBy(await ask(flowId, { step: 'amend' })), [['step-allowed', 'step']]);
    assert.match(inEnglish(unclear), /says that it is there already/);
    if (body.includes('solicitação')) assert.match(inEnglish(unclear), /Já existe contrato para esta solicitação/);
    await eventually(() => alarms.filter((code) => code === 'operation-unclear').length === index + 1);
    assert.equal((await ask(flowId, denial)).kind, 'taken');
    await reaches(flowId, 'refused');
    const refused = (await state(flowId))!;
    assert.deepEqual([refused.operation?.status, refused.steps.at(-1)?.outcome], ['rejected', 'done']);
    assert.ok(
      nextSteps(refused, settings, null).includes('amend') && nextSteps(refused, settings, null).includes('cancel'),
    );
    assert.equal(sent.length, index + 1, 'nothing is sent again by itself');
  }
});

test('a contract that is said to exist goes on under the code that a person gives', async (context) => {
  const { start, ask, state, reaches, tellNote, noteFor } = await refusing(context, 'contract', 422, refusal(exists));
  await start('721');
  await reaches('c-721', 'unclear');
  const confirm = { step: 'confirm', reason: 'visto no portal', requestCode: 'q-own' } as const;
  for (const requestCode of ['0', '00000000-0000-0000-0000-000000000000']) {
    const refused = await ask('c-721', { ...confirm, requestCode });
    assert.ok(refused.kind === 'refused' && refused.breaches[0]!.rule === 'code-given', requestCode);
  }
  assert.equal((await ask('c-721', confirm)).kind, 'taken');
  await reaches('c-721', 'awaiting-note');
  assert.deepEqual([(await state('c-721'))!.errors, (await state('c-721'))!.errorsIn], [[], null]);
  await tellNote('c-721', await noteFor('c-721', { noteNumber: 'N-1' }));
  await reaches('c-721', 'awaiting-signature');
});

/** Of a refusal: its words, and whether they are taken to say that what lends is there already. */
const wordings: readonly (readonly [text: string, isTaken: boolean])[] = [
  ['Ja existe contrato para esta solicitacao', true],
  ['JÁ EXISTE PROPOSTA EM ANDAMENTO', true],
  ['Já existem contratos para esta solicitação', true],
  ['Contratos já existentes', true],
  // Of what does not lend, too, as before: nobody knows what it stands for, and a person looks.
  ['Já existe consignado ativo no vínculo', true],
  ['Proposta já cadastrada', true],
  ['PROPOSTA_JA_CADASTRADA', true],
  ['Operação já incluída', true],
  ['Solicitação já foi registrada', true],
  ['Contrato nº 123 já registrado', true],
  ['Já foi registrada uma solicitação', true],
  ['Já cadastrada', true],
  ['Proposta existente', true],
  ['SOLICITACAO EXISTENTE', true],
  ['Propostas duplicadas', true],
  ['OPERACAO DUPLICADA', true],
  ['Duplicidade de proposta', true],
  ['CPF já cadastrado em outra instituição', false],
  ['Conta já cadastrada para outro titular', false],
  ['Proposta recusada: trabalhador já cadastrado', false],
  ['Trabalhador já incluído no cadastro', false],
  ['Contrato inexistente', false],
  ['Contrato não existente', false],
  ['Proposta existente não localizada', false],
  ['Proposta ainda não cadastrada', false],
  ['Margem existente insuficiente', false],
  ['Contatos duplicados', false],
];

test('of the wordings of a refusal these say that it is there already, and those do not', async (context) => {
  const { answer, start, reaches, state } = await refusing(context, 'contract', 422, '');
  for (const [index, [text, isTaken]] of wordings.entries()) {
    answer.body = refusal(['E9', text]);
    const flowId = `c-${801 + index}`;
    await start(String(801 + index));
    await reaches(flowId, isTaken ? 'unclear' : 'refused').catch(() => assert.fail(text));
    assert.equal((await state(flowId))!.operation?.reason, isTaken ? 'said-to-exist' : 'E9', text);
  }
});

test('a plain refusal stays one', async (context) => {
  const { answer, start, reaches, state } = await refusing(context, 'contract', 422, '');
  const plain = [
    margin,
    ['E2', 'Trabalhador não existe'],
    ['E3', 'Já não existe vínculo'],
    ['E4', 'Contato duplicado'],
    ['E5', 'Existe divergência'],
  ] as const;
  for (const [index, said] of plain.entries()) {
    answer.body = refusal(said);
    const flowId = `c-${731 + index}`;
    await start(String(731 + index));
    await reaches(flowId, 'refused');
    assert.equal((await state(flowId))!.operation?.reason, said[0]);
  }
});

test('an endorsement that is a conflict waits for a person, and is not sent again once one denies it', async (context) => {
  const { start, noted, sign, ask, state, reaches, sent } = await refusing(
    context,
    'endorsement',
    409,
    refusal(margin),
  );
  await start('741');
  await noted('c-741', { noteNumber: 'N-1' });
  await sign('c-741', { hash: 'h' });
  await reaches('c-741', 'endorsement-unclear');
  assert.equal((await state('c-741'))!.operation?.reason, 'said-to-exist');
  assert.equal((await ask('c-741', denial)).kind, 'taken');
  await reaches('c-741', 'endorsement-refused');
  assert.equal(sent.filter(({ operation }) => operation === 'endorsement').length, 1);
});

test('a conflict whose words say that the contract is endorsed is denied by two people, as before', async (context) => {
  const body = '{"Conteudo":{"Mensagem":"Contrato averbado com sucesso"}}';
  const { start, noted, sign, ask, state, reaches } = await refusing(context, 'endorsement', 409, body);
  await start('751');
  await noted('c-751', { noteNumber: 'N-1' });
  await sign('c-751', { hash: 'h' });
  await reaches('c-751', 'endorsement-unclear');
  const { operation } = (await state('c-751'))!;
  assert.deepEqual([operation?.reason, operation?.toldDone], ['status-409', true]);
  await ask('c-751', denial);
  await reaches('c-751', 'endorsement-refused');
  assert.deepEqual(nextSteps((await state('c-751'))!, settings, null), ['confirm', 'accept']);
});

test('an inclusion that is said to exist is not sent again with its key, and can be ordered again once it is denied', async (context) => {
  const house = await takingHouse(context);
  const { world, front, ask, state, sent, history } = house;
  const bodies: Record<string, string> = {
    simulation: '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00,"VlrTAC":10.00}]}',
    inclusion: '{"HasError":true,"Messages":[{"Code":"7","Description":"Já existe proposta em andamento"}]}',
  };
  world.answerTo = ({ operation }) => {
    const response = { status: 200, body: bodies[operation]! };
    return { ...readOperationAnswer(operation, 200, response.body), ...heard, response } as ReturnType<
      typeof world.answerTo
    >;
  };
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [] };
  const begun = await front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  await ask(flowId, { step: 'simulation', request: { cpf: order.cpf } });
  await eventually(async () => (await state(flowId))!.phase === 'simulated');
  const include = { step: 'inclusion', request: { period: 3, pix: { key: '+5511987654321' } } } as const;
  await ask(flowId, include);
  await eventually(async () => (await state(flowId))!.operation?.status === 'unclear');
  const inclusions = () => sent.filter(({ operation }) => operation === 'inclusion').length;
  const unclear = (await state(flowId))!;
  assert.deepEqual([unclear.operation?.reason, unclear.phase, inclusions()], ['said-to-exist', 'simulated', 1]);
  assert.equal((await ask(flowId, denial)).kind, 'taken');
  bodies.inclusion = '{"HasError":false,"CodigoProposta":"p-1"}';
  assert.equal((await ask(flowId, include)).kind, 'taken');
  await eventually(async () => (await state(flowId))!.phase === 'included');
  // As an earlier version wrote it.
  const withoutMark = (await history(flowId)).map((record): FlowRecord => {
    if (record.kind !== 'answered' || record.result.kind !== 'rejected') return record;
    const { saysExists: _, ...result } = record.result;
    return { ...record, result };
  });
  const upTo = withoutMark.findIndex((record) => record.kind === 'answered' && record.result.kind === 'rejected') + 1;
  const before = evolveAll(withoutMark.slice(0, upTo), settings)!;
  assert.deepEqual([before.operation?.status, before.operation?.reason], ['rejected', '7']);
});
