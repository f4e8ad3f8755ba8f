/** What comes under a flow's own code and cannot be read as its note is a doubt in the flow (integrator, session 54). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { eventually } from '../conformance/backend.ts';
import { plainVault, settings } from './orders.ts';
import { heard, refusedBy, takingHouse, uuid } from './taking-house.ts';

const read = readRequestMapping(mappingFile);
assert(read.kind === 'read');
const { mapping } = read;

/** A house that is told what the webhook of a body becomes. */
async function toldHouse(context: TestContext) {
  const house = await takingHouse(context);
  const receive = async (body: object) => {
    const vault = plainVault as never;
    const reading = readWebhook(JSON.stringify(body), { mapping, vault, receivedAt: Date.now(), now: Date.now() });
    assert(reading.kind === 'entries', JSON.stringify(reading));
    for (const entry of reading.entries) if (entry.topic === 'callbacks') await house.tell(entry.key, entry.record);
    return reading;
  };
  const doubtful = (flowId: string) => eventually(async () => (await house.state(flowId))!.noteAgain != null);
  return { ...house, receive, doubtful };
}

const contractEndpoint = '/oferta-leilao/gerar-contrato';
const renegotiationEndpoint = '/contrato/renegociacao/gerar-contrato';
const content = { numeroContrato: 'N-1', assinatura: 'b' };

test('a callback under the code of a flow that cannot be read is a dead letter, and shown in the flow', async (context) => {
  const { start, reaches, state, ask, receive, doubtful, alarms, noteFor, tellNote, sign } = await toldHouse(context);
  for (const [index, NumeroCCB] of [null, ' 6299478471 9 '].entries()) {
    const flowId = `c-70${index}`;
    await start(`70${index}`);
    await reaches(flowId, 'awaiting-note');
    const CodigoRequisicao = (await state(flowId))!.requestCode!;
    const body = { CodigoRequisicao, Endpoint: contractEndpoint, Payload: { NumeroCCB, ValorTaxaMensal: 9.9 } };
    const { deadLetters } = await receive(body);
    assert.equal(deadLetters, 1);
    await doubtful(flowId);
    assert.match(
      flowText(createFormat('en'), (await state(flowId))!, { open: null, settings }),
      /cannot be read as its note/,
    );
    for (const step of ['regenerate', 'cancel'] as const) {
      assert.deepEqual(refusedBy(await ask(flowId, { step, reason: 'x' })), [['event-unread', 'step']]);
    }
    await eventually(() => alarms.includes('note-differs'));
    // Its note comes after all, and is signed only once somebody has looked.
    await tellNote(flowId, await noteFor(flowId, { noteNumber: 'N-1', proposalCode: uuid(index) }));
    await reaches(flowId, 'awaiting-signature');
    assert.deepEqual(refusedBy(await sign(flowId, content)), [['note-accepted', 'step']]);
    assert.equal((await ask(flowId, { step: 'accept', reason: 'olhei' })).kind, 'taken');
    const { strays } = (await state(flowId))!;
    await receive(body);
    await eventually(async () => (await state(flowId))!.strays > strays);
    assert.notEqual((await state(flowId))!.noteAccepted, null, 'the same bytes once more are nothing new');
    assert.equal((await ask(flowId, { step: 'cancel', reason: 'x' })).kind, 'taken');
  }
});

test('a note under the code of a contract counts for it, whatever its endpoint says', async (context) => {
  const { start, noted, reaches, state, receive, doubtful, sign, ask } = await toldHouse(context);
  const bodies = [
    { Endpoint: renegotiationEndpoint, Payload: { NumeroCCB: 'N-9', ValorTaxaMensal: 9.9 } },
    { Endpoint: renegotiationEndpoint, Payload: { NumeroCCB: null, ValorTaxaMensal: 9.9 } },
    { Endpoint: '/contrato/oferta-leilao/averbar-contrato', Payload: { NumeroCCB: 'N-9', ValorTaxaMensal: 9.9 } },
  ];
  for (const [index, body] of bodies.entries()) {
    const flowId = `c-71${index}`;
    await start(`71${index}`);
    await noted(flowId, { noteNumber: `N-71${index}`, proposalCode: uuid(index) });
    await receive({ CodigoRequisicao: (await state(flowId))!.requestCode!, ...body });
    await doubtful(flowId);
    const signed = await sign(flowId, { numeroContrato: `N-71${index}`, assinatura: 'b' });
    assert.notEqual(signed.kind, 'taken', JSON.stringify(body));
  }
  // Before its own note: it is the note, and doubtful.
  await start('715');
  await reaches('c-715', 'awaiting-note');
  await receive({ CodigoRequisicao: (await state('c-715'))!.requestCode!, ...bodies[0] });
  await reaches('c-715', 'awaiting-signature');
  const { note, noteAgain } = (await state('c-715'))!;
  assert.deepEqual([note?.noteNumber, noteAgain?.unread], ['N-9', true]);
  assert.equal((await ask('c-715', { step: 'accept', reason: 'x' })).kind, 'refused', 'its rate is above the bid');
});

test('an unread callback is looked at before its contract is ended, whatever note came after it', async (context) => {
  const { start, reaches, state, ask, receive, doubtful, noteFor, tellNote } = await toldHouse(context);
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const CodigoRequisicao = (await state('c-701'))!.requestCode!;
  await receive({ CodigoRequisicao, Endpoint: contractEndpoint, Payload: { NumeroCCB: null, ValorTaxaMensal: 9.9 } });
  await doubtful('c-701');
  const note = await noteFor('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  for (const change of [{}, { cetMonthlyPercent: 2.71 }]) await tellNote('c-701', { ...note, ...change });
  await eventually(async () => (await state('c-701'))!.noteAgain?.note?.cetMonthlyPercent === 2.71);
  for (const step of ['regenerate', 'cancel'] as const) {
    assert.deepEqual(refusedBy(await ask('c-701', { step, reason: 'x' })), [['event-unread', 'step']]);
  }
  assert.equal((await ask('c-701', { step: 'accept', reason: 'olhei' })).kind, 'taken');
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'x' })).kind, 'taken');
});

test('the code of another loan is not confirmed because its first callback could not be read', async (context) => {
  const { start, reaches, state, ask, tell, noteFor, world } = await toldHouse(context);
  await start('700');
  await reaches('c-700', 'awaiting-note');
  const note = await noteFor('c-700', {});
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await start('701');
  await reaches('c-701', 'unclear');
  const event = { kind: 'credit-note', of: 'contract', sealed: '{}', requestCode: 'q-9', errors: [] } as const;
  await tell('q-9', { ...event, at: Date.now(), note: null, unread: true });
  await tell('q-9', { ...event, at: Date.now(), note: { ...note, noteNumber: 'N-9', loanCents: note.loanCents! * 2 } });
  await eventually(async () => ((await state('event:q-9'))?.strays ?? 0) > 0);
  const confirm = { step: 'confirm', reason: 'no portal', requestCode: 'q-9' } as const;
  assert.deepEqual(refusedBy(await ask('c-701', confirm)), [['event-of-other-loan', 'requestCode']]);
});
