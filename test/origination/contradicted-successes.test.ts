/** A success of an endorsement that was shown, and is contradicted, is a doubt that two people settle, and never a refusal: another one would be a second loan. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import mapping from '../../config/request-mapping.json' with { type: 'json' };
import { flowText, phaseText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { refusalPt } from '../../src/cli/refusal-texts-pt.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { CallbackRecord } from '../../src/domain/records.ts';
import { flowView } from '../../src/http/api/views.ts';
import { evolveAll } from '../../src/origination/evolve.ts';
import { nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { react } from '../../src/origination/react.ts';
import { isShownDone, isToldDone } from '../../src/origination/steps.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { eventually } from '../conformance/backend.ts';
import { orderOf } from './flow-house.ts';
import { asked, dayMs, plainVault, settings } from './orders.ts';
import { heard, refusedBy, takingHouse, uuid } from './taking-house.ts';

const code = 'aabbccdd-0000-4000-8000-000000000001';
const endpoint = '/contrato/oferta-leilao/averbar-contrato';
const receipt = `{"CodigoRequisicao":"${code}","Origem":"x","Conteudo":{"Mensagem":"Recebido"},"Erros":[]}`;
const done = { Conteudo: { Mensagem: 'Contrato averbado com sucesso' }, Erros: [] };
const failed = { Erros: [{ mensagem: 'Erro ao averbar' }] };
const both = { Conteudo: { Mensagem: 'Contrato averbado com sucesso' }, Erros: [{ mensagem: 'Erro ao averbar' }] };

/** As the webhook of a desk reads it. */
function callback(payload: object, requestCode = code): CallbackRecord {
  const body = JSON.stringify({ CodigoRequisicao: requestCode, Endpoint: endpoint, Payload: payload });
  const now = Date.now();
  const reading = readWebhook(body, { mapping: mapping as never, vault: plainVault as never, receivedAt: now, now });
  assert.ok(reading.kind === 'entries' && reading.entries[0]?.topic === 'callbacks');
  return reading.entries[0].record as CallbackRecord;
}

/** Ordered and signed by `ana`. */
async function signed(context: TestContext, body: string, phase: string, status = 200) {
  const house = await takingHouse(context);
  await house.start('701');
  await house.noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const taking = house.world.answerTo;
  const reading = readOperationAnswer('endorsement', status, body);
  house.world.answerTo = () => ({ ...reading, ...heard, response: { status, body } }) as never;
  await house.sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await house.reaches('c-701', phase);
  house.world.answerTo = taking;
  const asks = (by: string, step: StepAsked) => house.front.ask('c-701', { by, key: randomUUID() }, step);
  const tells = (payload: object) => house.tell(code, callback(payload));
  const now = async () => (await house.state('c-701'))!;
  return { ...house, asks, tells, now };
}

const deny = { step: 'deny', reason: 'não está no portal' } as const;
const accept = { step: 'accept', reason: 'desfeita no portal' } as const;
const sign = () =>
  ({ step: 'sign', signedAt: Date.now(), content: { numeroContrato: 'N-1', assinatura: 'b' } }) as const;
const lending = () =>
  [sign(), { step: 'regenerate', reason: 'x' }, { step: 'cancel', reason: 'x' }] as const satisfies StepAsked[];

/** One person lends nothing again, whatever that one asks; a second one settles it. */
async function isSettledByTwo({ asks, now, front, reaches, sent }: Awaited<ReturnType<typeof signed>>) {
  const before = sent.length;
  assert.deepEqual(nextSteps(await now(), settings, null), ['confirm', 'deny']);
  assert.deepEqual(waitsFor(await now(), settings, null), ['confirm', 'deny']);
  for (const step of lending()) assert.equal((await asks('bruno', step)).kind, 'refused', step.step);
  assert.equal((await front.startContract({ by: 'bruno', key: 'again' }, orderOf('701'))).kind, 'refused');
  assert.equal((await asks('bruno', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  for (const step of lending()) assert.deepEqual(refusedBy(await asks('bruno', step)), [['success-settled', 'step']]);
  assert.deepEqual(refusedBy(await asks('bruno', accept)), [['second-person', 'step']]);
  assert.equal(sent.length, before);
  assert.equal((await asks('carla', accept)).kind, 'taken');
  const steps = nextSteps(await now(), settings, null);
  for (const step of ['sign', 'regenerate', 'cancel'] as const) assert.ok(steps.includes(step), step);
}

test('an error callback after a success is a doubt, named by the alarm, that two people settle', async (context) => {
  const house = await signed(context, receipt, 'endorsed');
  const { tells, now, reaches, alarms } = house;
  assert.equal(isToldDone(await now()), false, 'a receipt shows nothing');
  await tells(done);
  await eventually(async () => isToldDone(await now()));
  const before = alarms.length;
  await tells(failed);
  await reaches('c-701', 'endorsement-unclear');
  await eventually(() => alarms.slice(before).includes('success-denied'));
  assert.ok(!alarms.slice(before).includes('flow-refused'));
  const unclear = await now();
  assert.deepEqual([unclear.errors, unclear.operation?.reason], [['told-both'], 'told-both']);
  // Delivered again they say nothing new.
  await tells(failed);
  await tells(done);
  await eventually(async () => (await now()).strays >= unclear.strays + 2);
  await isSettledByTwo(house);
  await tells({ Erros: [{ mensagem: 'Outro erro' }] });
  await tells({ Conteudo: { Mensagem: 'Contrato averbado, sim' }, Erros: [] });
  await reaches('c-701', 'endorsed');
});

test('an error callback after a mere receipt is a refusal, and a success that comes then still counts', async (context) => {
  const { tells, now, reaches, alarms } = await signed(context, receipt, 'endorsed');
  await tells(failed);
  await reaches('c-701', 'endorsement-refused');
  await eventually(() => alarms.includes('flow-refused'));
  assert.ok(!alarms.includes('success-denied'));
  const steps = nextSteps(await now(), settings, null);
  for (const step of ['sign', 'regenerate', 'cancel'] as const) assert.ok(steps.includes(step), step);
  await tells(done);
  await reaches('c-701', 'endorsed');
  // And from then on it was shown.
  await tells({ Erros: [{ mensagem: 'Erro 2' }] });
  await reaches('c-701', 'endorsement-unclear');
});

test('what was only received is not shown as endorsed to people and programs', async (context) => {
  const { tells, now } = await signed(context, receipt, 'endorsed');
  const shown = (state: FlowState, language: 'en' | 'pt') =>
    flowText(createFormat(language), state, { open: null, settings });
  const received = await now();
  assert.match(shown(received, 'en'), /^Phase +received for endorsement; the service has not shown it done$/m);
  assert.match(shown(received, 'pt'), /recebido para averbação; o serviço ainda não confirmou/);
  assert.equal(
    phaseText(createFormat('en').texts.flows, received, 'short'),
    'received for endorsement, not shown done',
  );
  assert.deepEqual([received.phase, flowView(received, null, settings).shownDone], ['endorsed', false]);
  await tells(done);
  await eventually(async () => flowView(await now(), null, settings).shownDone);
  assert.match(shown(await now(), 'en'), /^Phase +endorsed$/m);
  await tells(failed);
  await eventually(async () => !flowView(await now(), null, settings).shownDone);
});

test('of successes and errors in turn none is a refusal, and a second denial needs two people too', async (context) => {
  const house = await signed(context, receipt, 'endorsed');
  const { tells, now, reaches, asks } = house;
  await tells(done);
  await tells(failed);
  await reaches('c-701', 'endorsement-unclear');
  await tells({ ...done, n: 2 });
  await reaches('c-701', 'endorsed');
  await tells({ ...failed, n: 2 });
  await reaches('c-701', 'endorsement-unclear');
  await tells({ ...failed, n: 3 });
  await eventually(async () => (await now()).endorsementEvents?.length === 5);
  assert.equal((await now()).phase, 'endorsement-unclear');
  assert.equal((await asks('bruno', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  // The service has said both: its next no is not the second person.
  await tells({ ...failed, n: 4 });
  await eventually(async () => (await now()).errors.includes('told-both'));
  assert.equal((await now()).lateSuccesses?.length, 1);
  for (const step of lending()) assert.deepEqual(refusedBy(await asks('bruno', step)), [['success-settled', 'step']]);
});

test('one callback that says both is a doubt', async (context) => {
  const house = await signed(context, receipt, 'endorsed');
  await house.tells(both);
  await house.reaches('c-701', 'endorsement-unclear');
  await house.tells(failed);
  await eventually(async () => (await house.now()).endorsementEvents?.length === 2);
  assert.equal((await house.now()).phase, 'endorsement-unclear');
  await isSettledByTwo(house);
});

test('a no in words after a success needs two people, as one in the error list does', async (context) => {
  const house = await signed(context, receipt, 'endorsed');
  await house.tells(done);
  await house.tells({ Conteudo: { Mensagem: 'Averbação recusada' }, Erros: [] });
  await house.reaches('c-701', 'endorsement-unclear');
  await isSettledByTwo(house);
});

for (const [name, body, phase] of [
  [
    'the answer of the contract',
    `{"CodigoRequisicao":"${code}","Conteudo":{"Mensagem":"Contrato averbado com sucesso"},"Erros":[]}`,
    'endorsed',
  ],
  [
    'an answer with more fields',
    `{"CodigoRequisicao":"${code}","Conteudo":{"Mensagem":"Contrato averbado com sucesso","Situacao":"X"},"Erros":[]}`,
    'endorsement-unclear',
  ],
] as const) {
  test(`${name} that says that it is endorsed shows a success`, async (context) => {
    const house = await signed(context, body, phase);
    assert.ok(house.sent.length > 0 && isToldDone(await house.now()));
    await house.tells(failed);
    await eventually(async () => (await house.now()).operation?.reason === 'told-both');
    assert.equal((await house.now()).phase, 'endorsement-unclear');
    await isSettledByTwo(house);
  });
}

test('what a person confirmed is not undone by an error callback', async (context) => {
  const house = await signed(context, `{"CodigoRequisicao":"${code}","sucesso":false}`, 'endorsement-unclear');
  assert.equal((await house.asks('ana', { step: 'confirm', reason: 'portal', requestCode: null })).kind, 'taken');
  await house.reaches('c-701', 'endorsed');
  await house.tells(failed);
  await house.reaches('c-701', 'endorsement-unclear');
  await isSettledByTwo(house);
});

test('records and states of earlier versions fold as they did, and nothing is lent again by one person', async (context) => {
  const { tells, reaches, history, now } = await signed(context, receipt, 'endorsed');
  await tells(done);
  await tells(failed);
  await reaches('c-701', 'endorsement-unclear');
  const old = (await history('c-701')).map((record): FlowRecord => {
    if (record.kind !== 'told') return record;
    const { keepsDone: _, ...earlier } = record;
    return earlier;
  });
  const refused = evolveAll(old, settings)!;
  const { toldDone: _, ...operation } = refused.operation!;
  const around = { now: Date.now() + 40 * dayMs, instance: 'a', margin: null, tried: () => false };
  assert.deepEqual([refused.phase, refused.operation?.status], ['endorsement-refused', 'done']);
  assert.deepEqual(nextSteps(refused, settings, null), ['confirm', 'deny']);
  assert.deepEqual(react(refused, around, settings), [], 'and none is generated by itself');
  // Of a row that an earlier version stored nobody knows what was told: it may have been refused twice.
  assert.deepEqual(nextSteps({ ...refused, operation }, settings, null), ['sign', 'cancel', 'regenerate']);
  const at = (await now()).changedAt + 1;
  const again = evolveAll([...old, asked('c-701', 'regenerate', 'r', at)], settings)!;
  assert.equal(again.phase, 'preparing', 'what was lent then stands in the records');
  const confirmed = evolveAll([...old, asked('c-701', 'confirm', 'c', at)], settings)!;
  assert.deepEqual([confirmed.phase, nextSteps(confirmed, settings, null)], ['endorsed', ['deny']]);
});

test('what is answered after words that say both settles nothing', async (context) => {
  const { history, now } = await signed(context, receipt, 'endorsed');
  const records = await history('c-701');
  const place = records.findLastIndex((record) => record.kind === 'answered' && record.operation === 'endorsement');
  const answer = records[place]! as Extract<FlowRecord, { kind: 'answered' }>;
  const told = (said: object) =>
    ({
      ...{
        kind: 'told',
        flowId: 'c-701',
        at: answer.at,
        requestCode: requestCode!,
        of: 'operation',
        note: null,
        holder: null,
      },
      ...{ errors: [], settles: true, endorses: true, keepsDone: true, sealed: '{}', bodyKey: JSON.stringify(said) },
      ...said,
    }) as unknown as FlowRecord;
  const { requestCode } = await now();
  const refusal: FlowRecord = { ...answer, result: { kind: 'rejected', code: 'E', errors: ['E'] } };
  const isOpen = (...later: FlowRecord[]) => {
    const state = evolveAll([...records.slice(0, place), ...later], settings)!;
    assert.deepEqual([state.phase, state.operation?.reason], ['endorsement-unclear', 'told-both']);
    assert.deepEqual(nextSteps(state, settings, null), ['confirm', 'deny']);
    assert.ok(isShownDone(state), 'and two people settle it');
  };
  const both = told({ errors: ['E1'], saysDone: true });
  isOpen(both, answer);
  isOpen(both, refusal);
  // Told while it was sent.
  isOpen(told({ shows: 'success' }), refusal);
});

test('after a refusal by callback, words that say both and a success under another code bar the next signature', async (context) => {
  const { asks, tells, reaches, now, sent } = await signed(context, receipt, 'endorsed');
  await tells(failed);
  await reaches('c-701', 'endorsement-refused');
  await tells(both);
  await eventually(async () => (await now()).lateSuccesses?.length === 1);
  const before = sent.length;
  assert.deepEqual(refusedBy(await asks('ana', accept)), [['second-person', 'step']]);
  assert.equal((await asks('ana', sign())).kind, 'refused');
  assert.equal(sent.length, before);

  const house = await signed(context, receipt, 'endorsed');
  await house.tells(failed);
  await house.reaches('c-701', 'endorsement-refused');
  const other = 'ffbbccdd-0000-4000-8000-000000000009';
  await house.tell(other, callback(done, other));
  await eventually(async () => (await house.state(`event:${other}`))?.phase === 'unclaimed');
  assert.deepEqual(refusedBy(await house.asks('ana', sign())), [['event-of-nobody', 'step']]);
});

test('a refusal of an earlier version that contradicts a shown success is settled by two people as well', async (context) => {
  const house = await signed(context, receipt, 'endorsed');
  const { tells, now, reaches, append, front, asks } = house;
  await tells(done);
  await eventually(async () => isToldDone(await now()));
  const record: FlowRecord = {
    ...{ kind: 'told', flowId: 'c-701', at: Date.now(), holder: null, of: 'operation', requestCode: code },
    ...{ note: null, errors: ['E1'], sealed: '{}', bodyKey: 'old' },
  };
  await append({ topic: 'flows', key: 'c-701', record });
  await reaches('c-701', 'endorsement-refused');
  const refused = await asks('bruno', { step: 'regenerate', reason: 'x' });
  assert.deepEqual(refusedBy(refused), [['endorsed-once', 'step']]);
  assert(refused.kind === 'refused');
  assert.match(refused.breaches[0]!.problem, /take the step confirm, and once it is known not to be, deny/);
  assert.match(refusalPt(refused.breaches[0]!.problem), /está averbado, e depois foi dito que não/);
  const typed = await front.ask('c-701', { by: 'bruno', key: randomUUID(), via: 'offline' }, deny);
  assert.deepEqual(refusedBy(typed), [['second-person', 'step']]);
  await isSettledByTwo(house);
});
