/** What is turned away with 401 or 429 may have been done all the same: without a key it is not sent again unseen (integrator, session 53). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { flowView } from '../../src/http/api/views.ts';
import type { OperationResult } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { settings } from './orders.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

const turnedAway = (retryAt: number | null): OperationResult<never> => ({
  kind: 'not-sent',
  reason: 'throttled',
  retryAt,
  attempts: 1,
});

test('a contract that is turned away every time is sent three times, and then somebody has to look', async (context) => {
  const { start, world, sent, reaches, state, ask } = await takingHouse(context);
  world.answerTo = () => turnedAway(null);
  await start('701');
  await reaches('c-701', 'unclear');
  assert.equal(sent.length, 3);
  const { operation } = flowView((await state('c-701'))!, null, settings);
  assert.deepEqual([operation?.status, operation?.attempts], ['unclear', 3]);
  const shown = (language: 'pt' | 'en', flow: FlowState) =>
    flowText(createFormat(language), flow, { open: null, settings });
  const unclear = (await state('c-701'))!;
  assert.match(shown('en', unclear), /3×.*turned it away each time with 401 or 429/);
  assert.match(shown('pt', unclear), /3×.*recusou todas as vezes com 401 ou 429/);
  assert.equal((await ask('c-701', { step: 'deny', reason: 'não está no portal' })).kind, 'taken');
  await eventually(() => sent.length === 4);
  await eventually(async () => (await state('c-701'))!.operation?.attempts === 1, 5_000);
});

test('an answer that brings no byte out is tried without end, and counts for none', async (context) => {
  const { start, world, sent, state } = await takingHouse(context);
  world.answerTo = () => ({ kind: 'not-sent', reason: 'unreachable', retryAt: null });
  await start('701');
  await eventually(() => sent.length > 5);
  const { operation, phase } = (await state('c-701'))!;
  assert.ok(phase === 'preparing' || phase === 'generating');
  assert.equal(operation?.attempts, undefined);
});

test('a contract that was turned away is not sent again while a note waits that may be its own', async (context) => {
  const { start, world, sent, reaches, state, ask, noteFor, tell, flows } = await takingHouse(context, {
    retryMaxMs: 2_000,
  });
  world.answerTo = () => turnedAway(Date.now() + 400);
  await start('701');
  await eventually(() => sent.length === 1);
  await eventually(async () => (await state('c-701'))!.operation?.status === 'not-sent');
  const note = await noteFor('c-701', { noteNumber: 'N-1' });
  const event = { kind: 'credit-note', requestCode: 'q-lost', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-lost', { ...event, note, errors: [] });
  await eventually(async () => (await flows.read(['event:q-lost'])).get('event:q-lost')?.phase === 'unclaimed');
  await reaches('c-701', 'unclear');
  assert.equal(sent.length, 1);
  const { operation } = (await state('c-701'))!;
  assert.match(operation?.reason ?? '', /turned away.*q-lost/);
  assert.equal(operation?.attempts, 1);
  assert.deepEqual(refusedBy(await ask('c-701', { step: 'deny', reason: 'x' })), [['event-of-nobody', 'step']]);
  assert.equal((await ask('c-701', { step: 'confirm', reason: 'x', requestCode: 'q-lost' })).kind, 'taken');
  await reaches('c-701', 'awaiting-signature');
  assert.equal(sent.length, 1);
});

test('whoever denies what was turned away has it sent again, whatever waits', async (context) => {
  const { start, world, sent, reaches, state, ask, noteFor, tell, flows } = await takingHouse(context, {
    retryMaxMs: 2_000,
  });
  const taking = world.answerTo;
  world.answerTo = () => turnedAway(Date.now() + 300);
  await start('701');
  await eventually(async () => (await state('c-701'))?.operation?.status === 'not-sent');
  const event = { kind: 'credit-note', requestCode: 'q-else', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-else', { ...event, note: await noteFor('c-701', { noteNumber: 'N-9' }), errors: [] });
  await eventually(async () => (await flows.read(['event:q-else'])).get('event:q-else')?.phase === 'unclaimed');
  await reaches('c-701', 'unclear');
  world.answerTo = taking;
  assert.equal((await ask('c-701', { step: 'deny', reason: 'é de outro', despiteEvents: true })).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  assert.equal(sent.length, 2);
});

test('a note that names its proposal settles a contract that was turned away', async (context) => {
  const { start, world, sent, reaches, state, noteFor, tell } = await takingHouse(context, { retryMaxMs: 2_000 });
  world.answerTo = () => turnedAway(Date.now() + 400);
  await start('701');
  await eventually(async () => (await state('c-701'))?.operation?.status === 'not-sent');
  const proposalCode = (await state('c-701'))!.proposal!.code;
  const note = await noteFor('c-701', { noteNumber: 'N-1', proposalCode });
  const event = { kind: 'credit-note', requestCode: 'q-own', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-own', { ...event, note, errors: [] });
  await reaches('c-701', 'awaiting-signature');
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.equal(sent.length, 1);
  const own = (await state('c-701'))!;
  assert.deepEqual([own.phase, own.requestCode, own.lateNote ?? null], ['awaiting-signature', 'q-own', null]);
});

test('an endorsement that was turned away is not sent again while an event waits that may be its own', async (context) => {
  const { start, noted, world, sent, reaches, sign, tell, flows, state, ask } = await takingHouse(context, {
    retryMaxMs: 2_000,
  });
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  world.answerTo = () => turnedAway(Date.now() + 400);
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await eventually(async () => (await state('c-701'))!.operation?.status === 'not-sent');
  const endpoint = '/contrato/oferta-leilao/averbar-contrato';
  const event = { kind: 'operation-event', at: Date.now(), requestCode: 'q-end', endpoint, errors: [] } as const;
  await tell('q-end', { ...event, sealed: '{}' } as never);
  await eventually(async () => (await flows.read(['event:q-end'])).get('event:q-end')?.phase === 'unclaimed');
  await reaches('c-701', 'endorsement-unclear');
  assert.equal(sent.filter(({ operation }) => operation === 'endorsement').length, 1);
  assert.equal((await ask('c-701', { step: 'confirm', reason: 'x', requestCode: null })).kind, 'taken');
  await reaches('c-701', 'endorsed');
});

test('what is turned away beside its code is unclear at once, and the note under that code settles it', async (context) => {
  const { start, world, sent, reaches, state, noteFor, tellNote } = await takingHouse(context);
  world.answerTo = () => ({
    ...{ kind: 'unknown', reason: 'refused-with-code', code: 'q-9', attempts: 1, firstByteAt: Date.now() },
    response: { status: 429, body: '{"codigoRequisicao":"q-9"}' },
  });
  await start('701');
  await reaches('c-701', 'unclear');
  assert.equal((await state('c-701'))!.requestCode, 'q-9');
  await tellNote('c-701', await noteFor('c-701', { noteNumber: 'N-1' }));
  await reaches('c-701', 'awaiting-signature');
  assert.equal(sent.length, 1);
});
