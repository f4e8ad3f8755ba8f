/** An endorsement counts as done only where the service says so in the shape that the contract shows (integrator, session 56). */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import mapping from '../../config/request-mapping.json' with { type: 'json' };
import type { FlowTold } from '../../src/domain/flow-records.ts';
import { evolve, evolveAll } from '../../src/origination/evolve.ts';
import { nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { shownErrors } from '../../src/origination/shown-flows.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { eventually } from '../conformance/backend.ts';
import { createTestVault } from '../wire/vault.ts';
import { asked, settings } from './orders.ts';
import { heard, takingHouse, uuid } from './taking-house.ts';

const code = 'aabbccdd-0000-4000-8000-000000000001';
const endpoint = '/contrato/oferta-leilao/averbar-contrato';

/** As the acknowledgements of its siblings are, and what a service answers that took it. */
const taken = [
  `{"codigoRequisicao":"${code}"}`,
  `{"CodigoRequisicao":"${code}","Origem":"${endpoint}","Conteudo":{"Mensagem":"Contrato enviado para averbação"},"Erros":[]}`,
  `{"CodigoRequisicao":"${code}","Origem":null,"Conteudo":null,"Erros":null}`,
  '{"Erros":[]}',
];

const doubtful = [
  '',
  '{}',
  '[]',
  '<html>',
  '"ok"',
  '{"sucesso":false,"mensagem":"Não averbado"}',
  '{"erro":"assinatura inválida"}',
  '{"Conteudo":{"Situacao":"REJEITADA"},"Erros":null}',
  '{"Conteudo":{"Mensagem":"Contrato NÃO averbado: biometria reprovada"},"Erros":[]}',
  '{"message":"Unauthorized"}',
  '{"Erros":null}',
  '{"Conteudo":{"Mensagem":"Contrato averbado"},"Erros":[]}',
  `{"CodigoRequisicao":"${code}","Conteudo":{"Mensagem":"Contrato NÃO averbado"},"Erros":[]}`,
  `{"CodigoRequisicao":"${code}","Conteudo":{"Mensagem":"CONTRATO_NAO_AVERBADO"},"Erros":[]}`,
  `{"CodigoRequisicao":"${code}","Conteudo":{"Mensagem":"Em análise"},"Erros":[]}`,
  `{"CodigoRequisicao":"${code}","Conteudo":{"Mensagem":"Recebido","Situacao":"X"},"Erros":[]}`,
  `{"CodigoRequisicao":"${code}","sucesso":false,"Erros":[]}`,
  `{"CodigoRequisicao":"não sei","Erros":[]}`,
  '{"Erros":[],"erros":null}',
];

test('an endorsement is taken where the answer is the one of the contract, and nothing else is a success', () => {
  for (const body of taken) assert.equal(readOperationAnswer('endorsement', 200, body).kind, 'accepted', body);
  for (const body of doubtful) {
    for (const status of body === '' ? [200, 204] : [200]) {
      const reading = readOperationAnswer('endorsement', status, body);
      assert.ok(reading.kind === 'unknown' && reading.reason === 'unshown-success', `${status} ${body}`);
      assert.equal(reading.code, body.includes(code) ? code : undefined, body);
    }
  }
  assert.equal(readOperationAnswer('endorsement', 200, '{"Erros":[{"Codigo":"A"}]}').kind, 'rejected');
});

async function signed(context: TestContext, body: string) {
  const house = await takingHouse(context);
  await house.start('701');
  await house.noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const reading = readOperationAnswer('endorsement', 200, body);
  const response = { status: 200, body };
  house.world.answerTo = () => ({ ...reading, ...heard, response }) as never;
  await house.sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  return house;
}

test('an answer that is none stops the flow for a person, and a denial lets it be signed, generated again or ended', async (context) => {
  const { ask, state, reaches, alarms, sent } = await signed(context, '{"sucesso":false,"mensagem":"Não averbado"}');
  await reaches('c-701', 'endorsement-unclear');
  await eventually(() => alarms.includes('operation-unclear'));
  const unclear = (await state('c-701'))!;
  assert.deepEqual(waitsFor(unclear, settings, null), ['confirm', 'deny']);
  assert.match(unclear.results.endorsement?.sealedAnswer ?? '', /Não averbado/, 'the person can read it');
  const before = sent.length;
  assert.equal((await ask('c-701', { step: 'deny', reason: 'no portal' })).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  const steps = nextSteps((await state('c-701'))!, settings, null);
  for (const step of ['confirm', 'sign', 'regenerate', 'cancel'] as const) assert.ok(steps.includes(step), step);
  assert.equal(sent.length, before, 'the same signature is not sent again by itself');
});

test('a person who learns that an endorsed contract is not denies it, with a reason, and a second one settles it', async (context) => {
  const { ask, front, state, history, reaches, alarms } = await signed(context, taken[1]!);
  await reaches('c-701', 'endorsed');
  const endorsed = (await state('c-701'))!;
  assert.deepEqual(nextSteps(endorsed, settings, null), ['deny']);
  assert.deepEqual(waitsFor(endorsed, settings, null), []);
  const as = (by: string, step: StepAsked) => front.ask('c-701', { by, key: `k-${by}` }, step);
  assert.equal((await as('bruno', { step: 'deny', reason: 'o banco recusou' })).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  assert.ok(alarms.includes('success-denied'));
  const step = (await history('c-701')).findLast((record) => record.kind === 'asked');
  assert.ok(step?.kind === 'asked' && step.by === 'bruno' && step.sealedReason?.includes('o banco recusou'));
  assert.equal((await as('carla', { step: 'accept', reason: 'no portal' })).kind, 'taken');
  const steps = nextSteps((await state('c-701'))!, settings, null);
  for (const each of ['confirm', 'sign', 'regenerate', 'cancel'] as const) assert.ok(steps.includes(each), each);
  assert.equal((await ask('c-701', { step: 'confirm', reason: 'doch', requestCode: null })).kind, 'taken');
  await reaches('c-701', 'endorsed');
});

test('a denial of what was unclear does not take back an endorsement that the service has told of since', async (context) => {
  const { state, reaches } = await signed(context, taken[1]!);
  await reaches('c-701', 'endorsed');
  const late = asked('c-701', 'deny', 'late', Date.now());
  const after = evolve((await state('c-701'))!, late, settings)!;
  assert.deepEqual([after.phase, after.steps.at(-1)?.outcome], ['endorsed', 'ignored']);
});

/** What the service tells of its endorsement, as the webhook of a desk reads it. */
function callback(payload: object, requestCode = code) {
  const body = JSON.stringify({ CodigoRequisicao: requestCode, Endpoint: endpoint, Payload: payload });
  const reading = readWebhook(body, { mapping: mapping as never, vault: createTestVault(), receivedAt: 1, now: 1 });
  assert.ok(reading.kind === 'entries' && reading.entries[0]?.topic === 'callbacks');
  return reading.entries[0].record as never;
}

test('a callback whose words say no takes nothing as endorsed, and alarms', async (context) => {
  const { ask, state, reaches, alarms, tell } = await signed(context, taken[1]!);
  await reaches('c-701', 'endorsed');
  await tell(code, callback({ Conteudo: { Mensagem: 'Contrato averbado' }, Erros: [] }));
  await tell(code, callback({ Conteudo: { Mensagem: 'Averbação recusada' }, Erros: [] }));
  await reaches('c-701', 'endorsement-unclear');
  await eventually(() => alarms.includes('operation-unclear'));
  assert.deepEqual(waitsFor((await state('c-701'))!, settings, null), ['confirm', 'deny']);
  await tell(code, callback({ Situacao: 'REJEITADA' }));
  await tell(code, callback({ Conteudo: { Mensagem: 'Contrato averbado em definitivo' }, Erros: [] }));
  await reaches('c-701', 'endorsed');
  assert.equal((await state('c-701'))!.operation?.status, 'done', 'nobody is asked any more');
  await tell(code, callback({ Conteudo: { sucesso: false } }));
  await reaches('c-701', 'endorsement-unclear');
  assert.equal((await ask('c-701', { step: 'deny', reason: 'no portal' })).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
});

test('a callback whose words nobody knows settles nothing: a person says what became of the endorsement', async (context) => {
  const { front, state, reaches, alarms, tell } = await signed(context, taken[1]!);
  await reaches('c-701', 'endorsed');
  await tell(code, callback({ Conteudo: { Mensagem: 'Retorno 17 do convênio' } }));
  await reaches('c-701', 'endorsement-unclear');
  await eventually(() => alarms.includes('operation-unclear'));
  const unclear = (await state('c-701'))!;
  assert.deepEqual([unclear.errors, unclear.operation?.reason], [['told-nothing'], 'told-nothing']);
  assert.deepEqual(waitsFor(unclear, settings, null), ['confirm', 'deny']);
  const as = (by: string, step: StepAsked) => front.ask('c-701', { by, key: `k-${by}` }, step);
  assert.equal((await as('bruno', { step: 'deny', reason: 'no portal' })).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  assert.equal((await as('carla', { step: 'accept', reason: 'no portal' })).kind, 'taken');
  // And none makes a refusal a success.
  await tell(code, callback({ Conteudo: { Mensagem: 'Retorno 18 do convênio' } }));
  await eventually(async () => (await state('c-701'))!.errors.includes('told-nothing'));
  const refused = (await state('c-701'))!;
  assert.deepEqual(
    [refused.phase, refused.errors, refused.lateSuccesses?.map(({ unshown }) => unshown)],
    ['endorsement-refused', ['denied', 'told-nothing'], [true]],
  );
  await tell(code, callback({ Conteudo: { Mensagem: 'Contrato averbado' } }));
  await reaches('c-701', 'endorsed');
  assert.deepEqual((await state('c-701'))!.lateSuccesses, []);
});

test('a denial under the code of the contract itself makes its endorsement unclear, and names the cause', async (context) => {
  const { ask, front, state, reaches, alarms, tell } = await signed(context, taken[1]!);
  await reaches('c-701', 'endorsed');
  const { requestCode } = (await state('c-701'))!;
  const before = alarms.length;
  const denial = callback(
    { Conteudo: { Mensagem: 'Contrato recusado' }, Erros: ['Averbação negada pela Dataprev'] },
    requestCode!,
  );
  await tell(requestCode!, denial);
  await reaches('c-701', 'endorsement-unclear');
  await eventually(() => alarms.slice(before).includes('operation-unclear'));
  assert.deepEqual(alarms.slice(before), ['operation-unclear']);
  const unclear = (await state('c-701'))!;
  assert.deepEqual([unclear.errors, unclear.operation?.reason], [['told-no-of-contract'], 'told-no-of-contract']);
  assert.match(shownErrors(unclear, createTestVault().open).join(), /Averbação negada pela Dataprev/);
  assert.deepEqual(waitsFor(unclear, settings, null), ['confirm', 'deny']);
  // A person has looked: delivered again it is nothing new.
  assert.equal((await ask('c-701', { step: 'confirm', reason: 'portal', requestCode: null })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  const { strays } = (await state('c-701'))!;
  await tell(requestCode!, denial);
  await eventually(async () => (await state('c-701'))!.strays > strays);
  assert.equal((await state('c-701'))!.phase, 'endorsed');
  // In words alone, and denied by one person and another.
  await tell(requestCode!, callback({ Conteudo: { Mensagem: 'Averbação recusada' }, Erros: [] }, requestCode!));
  await reaches('c-701', 'endorsement-unclear');
  const as = (by: string, step: StepAsked) => front.ask('c-701', { by, key: `k-${by}` }, step);
  assert.equal((await as('bruno', { step: 'deny', reason: 'portal' })).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  assert.equal((await as('carla', { step: 'accept', reason: 'portal' })).kind, 'taken');
  // And a success there is one of this contract.
  await tell(requestCode!, callback({ Conteudo: { Mensagem: 'Contrato averbado' }, Erros: [] }, requestCode!));
  await reaches('c-701', 'endorsed');
});

test('an answer that takes an endorsement does not undo a denial that came before it', async (context) => {
  const { state, history, reaches } = await signed(context, taken[1]!);
  await reaches('c-701', 'endorsed');
  const records = await history('c-701');
  const answeredAt = records.findLastIndex(({ kind }) => kind === 'answered');
  const { requestCode } = (await state('c-701'))!;
  const told: FlowTold = {
    ...{ kind: 'told', flowId: 'c-701', at: Date.now(), requestCode: requestCode!, of: 'operation', note: null },
    ...{ holder: null, endorses: true, settles: true, bodyKey: 'b', errors: ['E1'], sealed: '' },
  };
  const denied = evolveAll([...records.slice(0, answeredAt), told], settings)!;
  assert.deepEqual([denied.phase, denied.operation?.status], ['endorsement-unclear', 'unclear']);
  const answered = evolve(denied, records[answeredAt]!, settings)!;
  assert.deepEqual([answered.phase, answered.endorsementCode], ['endorsement-unclear', code]);
  const { endorses: _, ...earlier } = told;
  const old = evolveAll([...records, earlier], settings)!;
  assert.equal(old.phase, 'endorsed', 'a record of an earlier version folds as it did');
});

test('a success under the code of a contract that was given up is a late one', async (context) => {
  const { ask, front, state, reaches, alarms, tell } = await signed(context, taken[1]!);
  await reaches('c-701', 'endorsed');
  const { requestCode } = (await state('c-701'))!;
  const as = (by: string, step: StepAsked) => front.ask('c-701', { by, key: `k-${by}` }, step);
  assert.equal((await as('bruno', { step: 'deny', reason: 'portal' })).kind, 'taken');
  assert.equal((await as('carla', { step: 'accept', reason: 'portal' })).kind, 'taken');
  assert.equal((await ask('c-701', { step: 'regenerate', reason: 'de novo' })).kind, 'taken');
  await reaches('c-701', 'unclear');
  await tell(requestCode!, callback({ Conteudo: { Mensagem: 'Contrato averbado' }, Erros: [] }, requestCode!));
  await eventually(() => alarms.includes('success-late'));
  assert.equal((await state('c-701'))!.lateSuccesses?.length, 1);
});
