/** What belongs to another flow, or was told of another loan, goes out in nobody's name: notes, proposals, request codes, people. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CreditNote } from '../../src/domain/records.ts';
import { flowView } from '../../src/http/api/views.ts';
import type { FrontResult } from '../../src/origination/front.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import type { JsonObject } from '../../src/wire/json.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import {
  accepted,
  answered,
  claimed,
  contemplated,
  folded,
  offer,
  proposed,
  requested,
  resolved,
} from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { settings } from './orders.ts';
import { heard, refusedBy, takingHouse, uuid } from './taking-house.ts';

test('a signature that names another proposal than that of its note is refused', async (context) => {
  const { ask, start, noted, sign, sent, reaches } = await takingHouse(context);
  for (const requestId of ['701', '702']) assert.equal((await start(requestId)).kind, 'taken');
  const [own, other, replaced] = [uuid(3), uuid(2), uuid(1)];
  await noted('c-702', { noteNumber: 'N-2', proposalCode: other });
  await noted('c-701', { noteNumber: 'N-1', proposalCode: replaced });
  assert.equal((await ask('c-701', { step: 'regenerate', reason: 'outra conta' })).kind, 'taken');
  await noted('c-701', { noteNumber: 'N-3', proposalCode: own });
  const before = sent.length;
  for (const [content, field, words] of [
    [{ codigoProposta: replaced }, 'codigoProposta', /a note of this flow that was replaced.*this flow is N-3/],
    [{ codigoProposta: other }, 'codigoProposta', /of the flow c-702.*this flow is N-3/],
    [{ numeroContrato: 'N-3', codigoProposta: other.toUpperCase() }, 'codigoProposta', /of the flow c-702/],
    [{ numeroContrato: 'N-3', dados: { ref: [other] } }, 'dados.ref.0', /of the flow c-702/],
    [{ numeroContrato: 'N-3', CodigoProposta: uuid(9) }, 'CodigoProposta', /proposal that the note of this flow names/],
    [{ numeroContrato: 'N-2', codigoProposta: own }, 'numeroContrato', /of the flow c-702/],
    [{ codigoProposta: 'N-3' }, 'codigoProposta', /not the note of this flow/],
  ] as const) {
    const refused = await sign('c-701', { assinatura: 'b', ...content } as JsonObject);
    assert.deepEqual(refusedBy(refused), [['note-of-this-flow', `content.${field}`]], JSON.stringify(content));
    assert(refused.kind === 'refused');
    assert.match(refused.breaches[0]!.problem, words);
  }
  assert.equal(sent.length, before);
  const signed = await sign('c-701', { assinatura: 'b', codigoProposta: own.toUpperCase() });
  assert.equal(signed.kind, 'taken', JSON.stringify(signed));
  await reaches('c-701', 'endorsed');
  assert.match(sent.at(-1)!.body, new RegExp(own.toUpperCase()));
});

test('a proposal code that is no GUID is another one in capitals', async (context) => {
  const { start, noted, sign } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: 'proposta-a' });
  for (const name of ['codigoProposta', 'ref']) {
    const refused = await sign('c-701', { assinatura: 'b', [name]: 'PROPOSTA-A' });
    assert.deepEqual(refusedBy(refused), [['note-of-this-flow', `content.${name}`]]);
  }
  assert.equal((await sign('c-701', { assinatura: 'b', codigoProposta: 'proposta-a' })).kind, 'taken');
});

test('a signature that names another person is refused', async (context) => {
  const { start, noted, sign } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1' });
  const refused = await sign('c-701', { cpf: '39053344705', numeroContrato: 'N-1', assinatura: 'b' });
  assert.deepEqual(refusedBy(refused), [['signer-is-worker', 'content.cpf']]);
  const signed = await sign('c-701', { cpf: '52998224725', numeroContrato: 'N-1', assinatura: 'b' });
  assert.equal(signed.kind, 'taken', JSON.stringify(signed));
});

test('a note that another flow has is an alarm, and neither is signed while both have it', async (context) => {
  const { ask, start, noted, noteFor, tellNote, sign, state, reaches, alarms } = await takingHouse(context);
  for (const requestId of ['701', '702', '703']) await start(requestId);
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  assert.ok(!alarms.includes('note-differs'));
  await noted('c-702', { noteNumber: 'N-1', proposalCode: uuid(2) });
  await eventually(() => alarms.filter((code) => code === 'note-differs').length === 1);
  const shared = (await state('c-702'))!;
  assert.equal(flowView(shared, null, settings).noteHolder, 'c-701');
  assert.ok(nextSteps(shared, settings, null).includes('accept'));
  // By the proposal alone, whatever its case.
  await noted('c-703', { noteNumber: 'N-3', proposalCode: uuid(2).toUpperCase() });
  await eventually(() => alarms.filter((code) => code === 'note-differs').length === 2);
  assert.equal((await state('c-703'))!.noteHolder, 'c-702');
  assert.equal((await ask('c-702', { step: 'accept', reason: 'seen' })).kind, 'taken');
  for (const flowId of ['c-701', 'c-702', 'c-703']) {
    const content = { numeroContrato: (await state(flowId))!.note!.noteNumber, assinatura: 'b' };
    const rules = refusedBy(await sign(flowId, content)).map(([rule]) => rule);
    assert.ok(rules.includes('note-of-one-flow') || rules.includes('note-accepted'), JSON.stringify(rules));
  }
  assert.equal((await ask('c-702', { step: 'regenerate', reason: 'de outro' })).kind, 'taken');
  await noted('c-702', { noteNumber: 'N-2', proposalCode: uuid(4) });
  const signed = await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  assert.equal(signed.kind, 'taken', JSON.stringify(signed));
  await reaches('c-701', 'endorsed');
  // A note that comes again for its own flow is of nobody else.
  await tellNote('c-701', await noteFor('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) }));
  await eventually(async () => (await state('c-701'))!.strays > 0);
  assert.equal((await state('c-701'))!.noteHolder ?? null, null);
});

test('what is told for a contract after its note is an alarm, and is signed only when somebody took it', async (context) => {
  const { ask, start, noted, noteFor, tellNote, sign, state, reaches, alarms, append } = await takingHouse(context);
  for (const [requestId, change] of [
    ['701', { noteNumber: 'N-9' }],
    ['702', { loanCents: 660_000 }],
    ['703', null],
  ] as const) {
    const flowId = `c-${requestId}`;
    const own = { noteNumber: `N-${requestId}`, proposalCode: uuid(Number(requestId)) };
    await start(requestId);
    await noted(flowId, own);
    await tellNote(flowId, await noteFor(flowId, own));
    await eventually(async () => (await state(flowId))!.strays === 1);
    assert.ok(!alarms.includes('note-differs'), 'the same note again');
    // Records of earlier versions, which did not look for a holder, fold as they did.
    const { requestCode } = (await state(flowId))!;
    const old = {
      kind: 'told',
      flowId,
      at: Date.now(),
      requestCode: requestCode!,
      of: 'contract',
      errors: ['E0'],
    } as const;
    await append({ topic: 'flows', key: flowId, record: { ...old, note: null, sealed: '{}' } });
    await eventually(async () => (await state(flowId))!.strays === 2);
    assert.deepEqual([(await state(flowId))!.noteAgain, (await state(flowId))!.errors], [null, []]);
    const later = change === null ? null : await noteFor(flowId, { ...own, ...change });
    await tellNote(flowId, later, change === null ? ['E1'] : []);
    await eventually(async () => (await state(flowId))!.noteAgain != null);
    await eventually(() => alarms.splice(0).includes('note-differs'));
    const seen = (await state(flowId))!;
    assert.deepEqual([seen.note!.noteNumber, seen.noteAgain!.note], [own.noteNumber, later]);
    const view = flowView(seen, null, settings);
    assert.deepEqual(view.noteAgain?.note ?? null, later);
    assert.deepEqual(view.errors, change === null ? ['E1'] : []);
    const content = { numeroContrato: own.noteNumber, assinatura: 'b' };
    assert.deepEqual(refusedBy(await sign(flowId, content)), [['note-accepted', 'step']]);
    assert.equal((await ask(flowId, { step: 'accept', reason: 'o serviço confirmou a primeira' })).kind, 'taken');
    const signed = await sign(flowId, content);
    assert.equal(signed.kind, 'taken', JSON.stringify(signed));
    await reaches(flowId, 'endorsed');
  }
});

test('a note that comes after a second generation is an alarm, and nothing is signed before somebody has seen it', async (context) => {
  const { ask, start, noted, noteFor, sign, state, reaches, alarms, tell } = await takingHouse(context, {
    noteTimeoutMs: 1,
  });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const { requestCode } = (await state('c-701'))!;
  const old = await noteFor('c-701', { noteNumber: 'N-OLD', proposalCode: uuid(1) });
  await ask('c-701', { step: 'regenerate', reason: 'não veio' });
  await eventually(async () => (await state('c-701'))!.generations === 2);
  const event = { kind: 'credit-note', requestCode: requestCode!, of: 'contract', errors: [], sealed: '{}' } as const;
  const tellOld = (note: CreditNote | null) => tell(requestCode!, { ...event, note, at: Date.now() });
  await tellOld(old);
  await eventually(() => alarms.includes('note-unexpected'));
  const waits = (await state('c-701'))!;
  assert.deepEqual(
    [waits.phase, waits.note, nextSteps(waits, settings, null).includes('accept')],
    ['awaiting-note', null, false],
  );
  assert.deepEqual(
    [flowView(waits, null, settings).lateNote?.note.noteNumber, waits.lateNote?.isLast],
    ['N-OLD', false],
  );
  await noted('c-701', { noteNumber: 'N-NEW', proposalCode: uuid(2) });
  const content = { numeroContrato: 'N-NEW', assinatura: 'b' };
  assert.deepEqual(refusedBy(await sign('c-701', content)), [['note-accepted', 'step']]);
  const other = await sign('c-701', { numeroContrato: 'N-NEW', ref: 'N-OLD', assinatura: 'b' });
  assert.deepEqual(refusedBy(other), [['note-of-this-flow', 'content.ref']]);
  assert.equal((await ask('c-701', { step: 'accept', reason: 'a antiga será baixada' })).kind, 'taken');
  assert.equal(flowView((await state('c-701'))!, null, settings).lateNote, null);
  alarms.splice(0);
  // Told again, or failed after all, it is nothing new.
  const { strays } = (await state('c-701'))!;
  for (const note of [old, null]) await tellOld(note);
  await eventually(async () => (await state('c-701'))!.strays === strays + 2);
  assert.deepEqual([alarms, (await state('c-701'))!.lateNote], [[], null]);
  assert.equal((await sign('c-701', content)).kind, 'taken');
  await reaches('c-701', 'endorsed');
});

test('a note that comes after the cancellation is an alarm, and a person may take it up', async (context) => {
  const { ask, start, noted, noteFor, tellNote, sign, state, reaches, alarms, sent } = await takingHouse(context, {
    noteTimeoutMs: 1,
  });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'desistiu' })).kind, 'taken');
  assert.deepEqual(nextSteps((await state('c-701'))!, settings, null), []);
  const note = await noteFor('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  await tellNote('c-701', note);
  await eventually(() => alarms.includes('note-unexpected'));
  const ended = (await state('c-701'))!;
  assert.deepEqual([ended.phase, ended.note, nextSteps(ended, settings, null)], ['cancelled', null, ['accept']]);
  assert.equal(sent.length, 1);
  assert.equal((await ask('c-701', { step: 'accept', reason: 'quer sim' })).kind, 'taken');
  await reaches('c-701', 'awaiting-signature');
  assert.equal((await state('c-701'))!.note!.noteNumber, 'N-1');
  assert.equal((await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  // The note that it had before its end, told again, is nothing new; another one is.
  await start('702');
  await noted('c-702', { noteNumber: 'N-2', proposalCode: uuid(2) });
  await ask('c-702', { step: 'cancel', reason: 'desistiu' });
  alarms.splice(0);
  const had = (await state('c-702'))!;
  await tellNote('c-702', had.note);
  await eventually(async () => (await state('c-702'))!.strays > had.strays);
  assert.deepEqual([alarms, nextSteps((await state('c-702'))!, settings, null)], [[], []]);
  await tellNote('c-702', { ...had.note!, rateMonthlyPercent: 3.51, noteNumber: 'N-3' });
  await eventually(() => alarms.includes('note-unexpected'));
  assert.deepEqual(nextSteps((await state('c-702'))!, settings, null), [], 'its rate is above the bid');
  assert.deepEqual(refusedBy(await ask('c-702', { step: 'accept', reason: 'x' })), [['rate-within-bid', 'step']]);
});

test('an operation is not denied while a note waits that may be its own, unless somebody knows that it is not', async (context) => {
  const { ask, start, world, reaches, noteFor, tell, flows, sent } = await takingHouse(context);
  await start('700');
  await reaches('c-700', 'awaiting-note');
  const takes = world.answerTo;
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  for (const requestId of ['701', '702']) {
    await start(requestId);
    await reaches(`c-${requestId}`, 'unclear');
  }
  const note = await noteFor('c-700', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const event = { kind: 'credit-note', requestCode: 'q-lost', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-lost', { ...event, note, errors: [] });
  await eventually(async () => (await flows.read(['event:q-lost'])).get('event:q-lost')?.phase === 'unclaimed');
  const before = sent.length;
  const denied = await ask('c-701', { step: 'deny', reason: 'não vejo no portal' });
  assert.deepEqual(refusedBy(denied), [['event-of-nobody', 'step']]);
  assert(denied.kind === 'refused');
  assert.match(denied.breaches[0]!.problem, /q-lost.*confirm.*despiteEvents/);
  assert.equal(sent.length, before);
  // It is of the other one, whose note has come then.
  assert.equal((await ask('c-702', { step: 'confirm', reason: 'no portal', requestCode: 'q-lost' })).kind, 'taken');
  await reaches('c-702', 'awaiting-signature');
  const there = await ask('c-702', { step: 'deny', reason: 'x' });
  assert(there.kind === 'refused');
  assert.match(there.breaches[0]!.problem, /its note has come, so it was done/);
  await tell('q-other', { ...event, requestCode: 'q-other', note: { ...note, noteNumber: 'N-2' }, errors: [] });
  await eventually(async () => (await flows.read(['event:q-other'])).get('event:q-other')?.phase === 'unclaimed');
  world.answerTo = takes;
  const known = await ask('c-701', { step: 'deny', reason: 'a nota é de outro parceiro', despiteEvents: true });
  assert.equal(known.kind, 'taken', JSON.stringify(known));
  await reaches('c-701', 'awaiting-note');
});

test('a note whose rate is above the bid is accepted by nobody', async (context) => {
  const { ask, start, noted, sign, state } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', rateMonthlyPercent: 3.51 });
  assert.ok(!nextSteps((await state('c-701'))!, settings, null).includes('accept'));
  assert.deepEqual(refusedBy(await ask('c-701', { step: 'accept', reason: 'x' })), [['rate-within-bid', 'step']]);
  const content = { numeroContrato: 'N-1', assinatura: 'b' };
  assert.deepEqual(refusedBy(await sign('c-701', content)), [['rate-within-bid', 'step']]);
  assert.ok(nextSteps((await state('c-701'))!, settings, null).includes('regenerate'));
});

test('a request code or a proposal of another flow confirms nothing', async (context) => {
  const { ask, start, world, reaches, state, noted, front } = await takingHouse(context, { noteTimeoutMs: 1 });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const taken = (await state('c-701'))!.requestCode!;
  const takes = world.answerTo;
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await start('702');
  await reaches('c-702', 'unclear');
  for (const requestCode of [taken]) {
    const refused = await ask('c-702', { step: 'confirm', reason: 'x', requestCode });
    assert.deepEqual(refusedBy(refused), [['code-of-other-flow', 'requestCode']]);
    assert(refused.kind === 'refused');
    assert.match(refused.breaches[0]!.problem, /c-701/);
  }
  assert.equal((await ask('c-702', { step: 'confirm', reason: 'x', requestCode: 'q-new' })).kind, 'taken');
  await reaches('c-702', 'awaiting-note');
  world.answerTo = takes;
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  // One that this flow had before brings the note of then.
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  assert.equal((await ask('c-702', { step: 'regenerate', reason: 'x' })).kind, 'taken');
  await reaches('c-702', 'unclear');
  const again = await ask('c-702', { step: 'confirm', reason: 'x', requestCode: 'q-new' });
  assert.deepEqual(refusedBy(again), [['code-of-other-flow', 'requestCode']]);
  // The proposal of an inclusion.
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [] };
  const withdrawal = await front.startWithdrawal({ by: 'ana', key: 'w' }, order);
  assert(withdrawal.kind === 'taken');
  const { flowId } = withdrawal.state;
  world.answerTo = ({ operation }) => {
    if (operation !== 'simulation') return { kind: 'rejected', code: 'x', errors: [], ...heard, response: json('{}') };
    const reading = readOperationAnswer(
      operation,
      200,
      '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}',
    );
    assert(reading.kind === 'accepted');
    return {
      ...reading,
      ...heard,
      response: json('{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}'),
    };
  };
  await ask(flowId, { step: 'simulation', request: {} });
  await reaches(flowId, 'simulated');
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard, attempts: 3 });
  await ask(flowId, { step: 'inclusion', request: { period: 3, pix: { key: 'ana@exemplo.example' } } });
  await eventually(async () => (await state(flowId))!.operation?.status === 'unclear');
  for (const requestCode of [uuid(1), uuid(1).toUpperCase()]) {
    const refused = await ask(flowId, { step: 'confirm', reason: 'x', requestCode });
    assert.deepEqual(refusedBy(refused), [['code-of-other-flow', 'requestCode']]);
  }
  assert.equal((await ask(flowId, { step: 'confirm', reason: 'x', requestCode: uuid(8) })).kind, 'taken');
});

test('an endorsement that was denied by mistake, or done elsewhere, is confirmed after its refusal', async (context) => {
  const { ask, start, noted, sign, state, reaches, world } = await takingHouse(context);
  const refuse = (code: string) => {
    world.answerTo = () => ({ kind: 'rejected', code, errors: [], ...heard, response: json('{}') });
  };
  const takes = world.answerTo;
  const confirm = (flowId: string) => ask(flowId, { step: 'confirm', reason: 'averbado no portal', requestCode: null });
  for (const [requestId, isDenied, code] of [
    ['701', true, 'E9'],
    ['702', false, 'CONTRATO_JA_AVERBADO'],
    ['703', false, 'BIOMETRIA_INVALIDA'],
  ] as const) {
    const flowId = `c-${requestId}`;
    world.answerTo = takes;
    await start(requestId);
    await noted(flowId, { noteNumber: `N-${requestId}`, proposalCode: uuid(Number(requestId)) });
    if (isDenied) world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
    else refuse(code);
    await sign(flowId, { numeroContrato: `N-${requestId}`, assinatura: 'b' });
    if (isDenied) {
      await reaches(flowId, 'endorsement-unclear');
      refuse(code);
      assert.equal((await ask(flowId, { step: 'deny', reason: 'não vi' })).kind, 'taken');
    }
    await reaches(flowId, 'endorsement-refused');
    const isOffered = requestId !== '703';
    assert.equal(nextSteps((await state(flowId))!, settings, null).includes('confirm'), isOffered, requestId);
    assert.ok(!nextSteps((await state(flowId))!, settings, null).includes('deny'));
    assert.equal((await confirm(flowId)).kind, isOffered ? 'taken' : 'refused');
    if (!isOffered) continue;
    await reaches(flowId, 'endorsed');
    assert.deepEqual((await state(flowId))!.errors, []);
  }
});

test('a request code in another form than the service writes confirms nothing', async (context) => {
  const { ask, start, world, reaches, noteFor, tell, flows, state } = await takingHouse(context);
  await start('700');
  await reaches('c-700', 'awaiting-note');
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await start('701');
  await reaches('c-701', 'unclear');
  const [code, other] = [uuid(5), uuid(6).replaceAll('-', '')];
  const bare = code.replaceAll('-', '');
  const forms = [bare, `{${code}}`, bare.toUpperCase()];
  const confirm = (requestCode: string) => ask('c-701', { step: 'confirm', reason: 'no portal', requestCode });
  for (const form of forms) {
    const refused = await confirm(form);
    assert.deepEqual(refusedBy(refused), [['request-code', 'requestCode']], form);
    assert(refused.kind === 'refused');
    assert.match(refused.breaches[0]!.problem, /with its hyphens, as the service writes it$/);
  }
  const note = await noteFor('c-700', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const waits = async (requestCode: string) => {
    const event = { kind: 'credit-note', requestCode, of: 'contract', note, errors: [], sealed: '{}' } as const;
    await tell(requestCode, { ...event, at: Date.now() });
    const id = `event:${requestCode}`;
    await eventually(async () => (await flows.read([id])).get(id)?.phase === 'unclaimed');
  };
  await waits(code);
  for (const form of forms) {
    const refused = await confirm(form);
    assert(refused.kind === 'refused');
    assert.match(refused.breaches[0]!.problem, new RegExp(`waits under ${code}$`));
  }
  // The service itself may write one so.
  await waits(other);
  assert.equal((await confirm(other)).kind, 'taken');
  await reaches('c-701', 'awaiting-signature');
  assert.equal((await state('c-701'))!.requestCode, other);
});

function json(body: string) {
  return { status: 200, body };
}

test('a withdrawal that is answered with the proposal of another one stands still until somebody has looked', async (context) => {
  const { ask, world, front, state, sent, alarms } = await takingHouse(context);
  world.answerTo = ({ operation }) => {
    const body =
      operation === 'simulation'
        ? '{"HasError":false,"VlrDispSaque":9000.00,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}'
        : '{"HasError":false,"CodigoProposta":"p-1"}';
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted', operation);
    return { ...reading, ...heard, response: json(body) };
  };
  const pixKey = { key: '+5511987654321' };
  const included = async (key: string): Promise<string> => {
    const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
    const begun = await front.startWithdrawal({ by: 'ana', key }, order);
    assert(begun.kind === 'taken');
    const { flowId } = begun.state;
    const settled = () => eventually(async () => !(await state(flowId))!.steps.some(isPending));
    await ask(flowId, { step: 'simulation', request: {} });
    await settled();
    await ask(flowId, { step: 'inclusion', request: { period: 3, pix: pixKey } });
    await settled();
    return flowId;
  };
  const first = await included('w1');
  const second = await included('w2');
  await eventually(async () => (await state(second))!.operation?.status === 'unclear');
  assert.match((await state(second))!.operation!.reason!, new RegExp(`the proposal of the flow ${first}.*confirm`));
  assert.deepEqual(nextSteps((await state(second))!, settings, null), ['confirm', 'deny']);
  const beside = await front.startWithdrawal(
    { by: 'ana', key: 'w3' },
    { cpf: '52998224725', birthDate: null, signerCpfs: [] },
  );
  assert(beside.kind === 'refused');
  assert.match(
    beside.breaches[0]!.problem,
    /cannot be cancelled where it stands; possible now: [a-z, -]+\), or send true/,
  );
  assert.equal((await state(first))!.proposalCode, 'p-1');
  await eventually(() => alarms.includes('operation-unclear'));
  const before = sent.length;
  const split = await ask(second, { step: 'splits', request: { splits: [{ amountCents: 100, pixKey }] } });
  assert.equal(split.kind === 'refused' && split.breaches[0]!.rule, 'step-allowed');
  assert.equal(sent.length, before);
  const confirm = (requestCode: string) => ask(second, { step: 'confirm', reason: 'no portal', requestCode });
  assert.deepEqual(refusedBy(await confirm('p-1')), [['code-of-other-flow', 'requestCode']]);
  assert.equal((await confirm('p-2')).kind, 'taken');
  await eventually(async () => (await state(second))!.proposalCode === 'p-2');
});

test('the splits of all steps together are at most the loan', async (context) => {
  const { ask, world, front, state, reaches, sent, history } = await takingHouse(context);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [] };
  const begun = await front.startWithdrawal({ by: 'ana', key: 'w' }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  const bodies: Readonly<Record<string, string>> = {
    simulation: '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1703.19}]}',
    inclusion: '{"HasError":false,"CodigoProposta":"p-1"}',
    splits: '{"hasError":false}',
    proposal: '{"HasError":false,"Codigo":"p-1","Situacao":1}',
  };
  world.answerTo = ({ operation }) => {
    const body = bodies[operation]!;
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted', operation);
    return { ...reading, ...heard, response: json(body) };
  };
  const pixKey = { key: '+5511987654321' };
  const idle = async () => (await state(flowId))!.operation?.status === 'done';
  const step = async (asked: StepAsked): Promise<FrontResult> => {
    const result = await ask(flowId, asked);
    if (result.kind === 'taken') await eventually(async () => !(await state(flowId))!.steps.some(isPending));
    return result;
  };
  const splits = (...cents: number[]) =>
    step({ step: 'splits', request: { splits: cents.map((amountCents) => ({ amountCents, pixKey })) } });
  await step({ step: 'simulation', request: {} });
  await step({ step: 'inclusion', request: { period: 3, splits: [{ amountCents: 1_000, pixKey }] } });
  await reaches(flowId, 'included');
  await step({ step: 'proposal', request: { dto: {} } });
  assert.deepEqual(refusedBy(await splits(170_319)), [['splits-of-loan', 'splits']]);
  assert.equal((await splits(69_000, 1)).kind, 'taken');
  await eventually(idle);
  const left = 170_319 - 1_000 - 69_001;
  const beyond = await splits(left + 1);
  assert.deepEqual(refusedBy(beyond), [['splits-of-loan', 'splits']]);
  assert(beyond.kind === 'refused');
  assert.match(beyond.breaches[0]!.problem, new RegExp(`at most ${left} cents: 70001 of the 170319`));
  // One that may have been done counts once somebody says that it was.
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard, attempts: 3 });
  await ask(flowId, { step: 'splits', request: { splits: [{ amountCents: left - 5, pixKey }] } });
  await eventually(async () => (await state(flowId))!.operation?.status === 'unclear');
  assert.equal((await ask(flowId, { step: 'confirm', reason: 'no portal', requestCode: null })).kind, 'taken');
  const refused = await splits(6);
  assert.deepEqual(refusedBy(refused), [['splits-of-loan', 'splits']], JSON.stringify(refused));
  assert.equal(sent.filter(({ operation }) => operation === 'splits').length >= 2, true);
  const old = (await history(flowId)).find((record) => record.kind === 'asked' && record.step === 'splits');
  assert(old?.kind === 'asked' && old.splitCents === 69_001);
});

function isPending({ outcome }: { outcome: string }): boolean {
  return outcome === 'pending';
}

test('an order goes not beyond the instalment of its bid by insurance or a shorter term', async (context) => {
  const { start } = await takingHouse(context);
  const { amountCents, installments } = offer;
  const beyond = (result: FrontResult) => refusedBy(result).filter(([rule]) => rule === 'as-bid');
  const insured = { insuranceCents: 250_000, policyNumber: 'A' };
  assert.deepEqual(beyond(await start('701', insured)), [['as-bid', 'insuranceCents']]);
  assert.deepEqual(beyond(await start('701', { installments: 6 })), [['as-bid', 'installments']]);
  const both = { ...insured, installments: 6 };
  assert.deepEqual(beyond(await start('701', both)), [['as-bid', 'installments']]);
  const less = { amountCents: amountCents - 250_000, installments, insuranceCents: 20_000, policyNumber: 'A' };
  assert.equal((await start('701', less)).kind, 'taken');
});

test('a bid that is lost while its contract or its signature waits gets neither', async (context) => {
  const { ask, start, noted, sign, state, reaches, world, won, sent, details, history } = await takingHouse(context);
  const winning = (requestId: string) =>
    [
      requested({ requestId, request: sampleRequest }),
      claimed(),
      answered(accepted),
      contemplated(),
      proposed(),
    ] as const;
  const lose = (requestId: string, index: number) =>
    won.set(requestId, folded(...winning(requestId), index === 0 ? resolved('cancelled') : proposed(['E1'])));
  const sentFor = (requestId: string) => sent.filter(({ body }) => body.includes(`"numeroSolicitacao":"${requestId}"`));

  const [link] = [...details];
  for (const [index, requestId] of ['800', '801'].entries()) {
    details.clear();
    await start(requestId);
    await reaches(`c-${requestId}`, 'preparing');
    lose(requestId, index);
    details.set(...link!);
    await reaches(`c-${requestId}`, 'withheld');
    assert.deepEqual(
      (await state(`c-${requestId}`))!.breaches.map(({ rule }) => rule),
      ['bid-won'],
    );
    assert.deepEqual(sentFor(requestId), []);
  }

  // Lost between the record of what is to be sent and its first byte.
  const { promise, resolve } = Promise.withResolvers<void>();
  world.beforeAppend = async (kinds) => {
    if (!kinds.includes('intended')) return;
    lose('802', 1);
    resolve();
  };
  await start('802');
  await promise;
  await reaches('c-802', 'withheld');
  assert.deepEqual(sentFor('802'), []);
  const told = (await history('c-802')).find((record) => record.kind === 'answered');
  assert.deepEqual(told?.kind === 'answered' && told.result, { kind: 'not-sent', reason: 'bid-lost', retryAt: null });
  world.beforeAppend = async () => undefined;

  await start('803');
  await noted('c-803', { noteNumber: 'N-803' });
  world.isOpen = false;
  assert.equal((await sign('c-803', { numeroContrato: 'N-803', assinatura: 'b' })).kind, 'taken');
  await reaches('c-803', 'signed');
  lose('803', 1);
  const before = sent.length;
  world.isOpen = true;
  await reaches('c-803', 'awaiting-signature');
  assert.equal(sent.length, before);
  assert.equal((await state('c-803'))!.breaches[0]!.rule, 'bid-won');
  assert.equal((await ask('c-803', { step: 'cancel', reason: 'lost' })).kind, 'taken');
});

test('a contract that is answered with the request code of another one waits until somebody has looked', async (context) => {
  const { ask, start, state, reaches, world, noted, sent } = await takingHouse(context);
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const { requestCode } = (await state('c-701'))!;
  world.answerTo = ({ operation }) => {
    const response = json(`{"codigoRequisicao":"${requestCode}"}`);
    const reading = readOperationAnswer(operation, 200, response.body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response };
  };
  await start('702');
  await reaches('c-702', 'unclear');
  assert.match((await state('c-702'))!.operation!.reason!, /the request code of the flow c-701.*confirm/);
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  assert.equal((await state('c-702'))!.note, null);
  assert.equal((await ask('c-702', { step: 'confirm', reason: 'no portal', requestCode: 'q-own' })).kind, 'taken');
  await reaches('c-702', 'awaiting-note');
  assert.equal(sent.length, 2);
});

test('an event of an endorsement that is delivered again changes nothing', async (context) => {
  const { start, noted, sign, state, reaches, tell } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await reaches('c-701', 'endorsed');
  const requestCode = (await state('c-701'))!.endorsementCode!;
  const told = (errors: readonly string[], sealed: string) =>
    tell(requestCode, { kind: 'operation-event', at: Date.now(), requestCode, endpoint: null, errors, sealed });
  const failed = ['E1'];
  const first = '{"Erros":[{"Codigo":"E1"}],"vez":1}';
  await told(failed, first);
  await reaches('c-701', 'endorsement-refused');
  await told(failed, '{"Erros":[{"Codigo":"E1"}],"vez":2}');
  await eventually(async () => (await state('c-701'))!.strays === 1);
  await told([], '{"Erros":[]}');
  await reaches('c-701', 'endorsed');
  for (const vez of [1, 2]) await told(failed, `{"Erros":[{"Codigo":"E1"}],"vez":${vez}}`);
  await eventually(async () => (await state('c-701'))!.strays === 3 || (await state('c-701'))!.phase !== 'endorsed');
  assert.deepEqual([(await state('c-701'))!.phase, (await state('c-701'))!.errors], ['endorsed', []]);
  // This is another event, and a success was shown before it.
  await told(failed, '{"Erros":[{"Codigo":"E1"}],"vez":3}');
  await reaches('c-701', 'endorsement-unclear');
});
