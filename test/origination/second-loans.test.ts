/** What a clerk's mistake would make a second loan of, or lose the promise of a first one (clerk, session 37). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import mapping from '../../config/request-mapping.json' with { type: 'json' };
import { capOperations, evolve } from '../../src/bidding/evolve.ts';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { CreditNote, Resolved } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { contractAsked, renegotiationAsked, stepAsked } from '../../src/http/api/requests.ts';
import { stepBodies } from '../../src/http/api/schemas.ts';
import { flowView } from '../../src/http/api/views.ts';
import { resolveRequest } from '../../src/operating/endings.ts';
import { eventsToShow } from '../../src/origination/events-of-nobody.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import { notContemplated } from '../../src/origination/preparation.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { settings as bidSettings } from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { orderOf } from './flow-house.ts';
import { plainVault, settings } from './orders.ts';
import { heard, refusedBy, takingHouse, uuid } from './taking-house.ts';

const json = (body: string) => ({ status: 200, body });

test('a contract that the service says is endorsed is neither generated again, signed again nor given up', async (context) => {
  const { ask, start, noted, sign, state, reaches, world } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const refused = { kind: 'rejected', code: 'CONTRATO_JA_AVERBADO', errors: [] } as const;
  world.answerTo = () => ({ ...refused, ...heard, response: json('{}') });
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await reaches('c-701', 'endorsement-refused');
  const possible = nextSteps((await state('c-701'))!, settings, null);
  assert.ok(possible.includes('confirm'));
  for (const step of ['regenerate', 'cancel', 'sign'] as const) {
    assert.ok(!possible.includes(step), step);
    const asked =
      step === 'sign'
        ? await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' })
        : await ask('c-701', { step, reason: 'x' });
    assert.deepEqual(refusedBy(asked), [['endorsed-once', 'step']], step);
  }
  assert.equal((await ask('c-701', { step: 'confirm', reason: 'no portal', requestCode: null })).kind, 'taken');
  await reaches('c-701', 'endorsed');
});

test('a code of which nothing was told confirms nothing while something waits, and nothing is generated again then', async (context) => {
  const { ask, start, world, reaches, noteFor, tell, flows, sent } = await takingHouse(context, { noteTimeoutMs: 1 });
  await start('700');
  await reaches('c-700', 'awaiting-note');
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await start('701');
  await reaches('c-701', 'unclear');
  const note = await noteFor('c-700', { noteNumber: 'N-1' });
  const event = { kind: 'credit-note', requestCode: 'q-lost', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-lost', { ...event, note, errors: [] });
  await eventually(async () => (await flows.read(['event:q-lost'])).get('event:q-lost')?.phase === 'unclaimed');
  const invented = { step: 'confirm', reason: 'no portal', requestCode: uuid(7) } as const;
  assert.deepEqual(refusedBy(await ask('c-701', invented)), [['event-of-nobody', 'requestCode']]);
  assert.equal((await ask('c-701', { ...invented, despiteEvents: true })).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  const before = sent.length;
  const again = await ask('c-701', { step: 'regenerate', reason: 'a CCB não vem' });
  assert.deepEqual(refusedBy(again), [['event-of-nobody', 'step']]);
  assert.equal(sent.length, before);
  const known = await ask('c-701', { step: 'regenerate', reason: 'é de outro', despiteEvents: true });
  assert.equal(known.kind, 'taken');
});

test('a contract whose note may wait unclaimed is neither given up nor begun again unseen', async (context) => {
  const { ask, start, reaches, noteFor, tell, flows, sent, front, state } = await takingHouse(context, {
    noteTimeoutMs: 1,
  });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const tells = async (code: string, note: CreditNote) => {
    const event = { kind: 'credit-note', requestCode: code, of: 'contract', sealed: '{}', at: Date.now() } as const;
    await tell(code, { ...event, note, errors: [] });
    await eventually(async () => (await flows.read([`event:${code}`])).get(`event:${code}`)?.phase === 'unclaimed');
  };
  const note = await noteFor('c-701', { noteNumber: 'N-1' });
  // What was lent at quite other figures is the contract of somebody else.
  const other = { loanCents: note.loanCents! * 3, installmentCents: note.installmentCents! * 3 };
  await tells('q-else', { ...note, ...other, noteNumber: 'N-9' });
  // A query beside it hides nothing of what was done.
  await ask('c-701', { step: 'proposal', request: { dto: { CodigoProposta: 'p-1' } } });
  await eventually(async () => (await state('c-701'))!.steps.every(({ outcome }) => outcome !== 'pending'));
  const cancel = { step: 'cancel', reason: 'a CCB não vem' } as const;
  await tells('q-lost', { ...note, loanCents: note.loanCents! + 100 });
  const generated = () => sent.filter(({ operation }) => operation === 'contract').length;
  for (const asked of [cancel, { step: 'regenerate', reason: 'x' } as const]) {
    const refused = await ask('c-701', asked);
    assert.deepEqual(refusedBy(refused), [['event-of-nobody', 'step']]);
    assert.match(JSON.stringify(refused), /\(q-lost\)/);
  }
  assert.equal((await ask('c-701', { ...cancel, despiteEvents: true })).kind, 'taken');
  await reaches('c-701', 'cancelled');
  const again = (key: string, despite: object) =>
    front.startContract({ by: key === 'k-3' ? 'rui' : 'ana', key }, { ...orderOf('701'), ...despite });
  assert.deepEqual(refusedBy(await again('k-2', {})), [['event-of-nobody', 'despiteEvents']]);
  assert.equal(generated(), 1);
  assert.equal((await again('k-701', { despiteBid: true })).kind, 'known', 'the key of the one that was cancelled');
  assert.equal((await again('k-3', { despiteEvents: true })).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  assert.equal(generated(), 2);
  // Whoever ordered it again did so then, not when it was begun first (back office, session 46).
  const { by, startedAt, orderedAt, earlier } = (await state('c-701'))!;
  assert.deepEqual([by, earlier?.length], ['rui', 1]);
  assert.ok(orderedAt! > startedAt, `${orderedAt} ${startedAt}`);
});

test('a contract that was refused is not amended unseen while a note waits that may be its own', async (context) => {
  const { ask, start, reaches, noteFor, tell, flows, sent, world, state, front } = await takingHouse(context);
  const rejected = { kind: 'rejected', code: 'status-404', errors: [], ...heard, response: json('{}') } as const;
  const taking = world.answerTo;
  world.answerTo = () => rejected;
  await start('701');
  await reaches('c-701', 'refused');
  const event = { kind: 'credit-note', requestCode: 'q-done', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-done', { ...event, note: await noteFor('c-701', { noteNumber: 'N-1' }), errors: [] });
  await eventually(async () => (await flows.read(['event:q-done'])).get('event:q-done')?.phase === 'unclaimed');
  assert.deepEqual(await eventsToShow(flows, (await state('c-701'))!), ['q-done']);
  const refused = await ask('c-701', { step: 'amend' });
  assert.deepEqual(refusedBy(refused), [['event-of-nobody', 'step']]);
  assert.match(JSON.stringify(refused), /\(q-done\).*a second loan/);
  assert.equal(sent.length, 1);
  world.answerTo = taking;
  assert.equal((await ask('c-701', { step: 'amend', despiteEvents: true })).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  assert.equal(sent.length, 2);
  // Refused, given up and begun again it would be the same.
  world.answerTo = () => rejected;
  await start('702');
  await reaches('c-702', 'refused');
  const note = await noteFor('c-702', { noteNumber: 'N-2' });
  await tell('q-two', { ...event, requestCode: 'q-two', at: Date.now(), note, errors: [] });
  await eventually(async () => (await flows.read(['event:q-two'])).get('event:q-two')?.phase === 'unclaimed');
  const cancel = { step: 'cancel', reason: 'x' } as const;
  assert.deepEqual(refusedBy(await ask('c-702', cancel)), [['event-of-nobody', 'step']]);
  assert.equal((await ask('c-702', { ...cancel, despiteEvents: true })).kind, 'taken');
  await reaches('c-702', 'cancelled');
  const again = await front.startContract({ by: 'ana', key: 'k-again' }, orderOf('702'));
  assert.deepEqual(refusedBy(again), [['event-of-nobody', 'despiteEvents']]);
});

test('an endorsement that was refused, and perhaps done, leads to no other contract unseen', async (context) => {
  const { ask, start, noted, sign, reaches, world, tell, flows } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  world.answerTo = () => ({ kind: 'rejected', code: 'status-404', errors: [], ...heard, response: json('{}') });
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await reaches('c-701', 'endorsement-refused');
  const endpoint = '/contrato/oferta-leilao/averbar-contrato';
  const event = { kind: 'operation-event', at: Date.now(), requestCode: 'q-end', endpoint, errors: [] } as const;
  await tell('q-end', { ...event, sealed: '{}' } as never);
  await eventually(async () => (await flows.read(['event:q-end'])).get('event:q-end')?.phase === 'unclaimed');
  for (const step of ['regenerate', 'cancel'] as const) {
    assert.deepEqual(refusedBy(await ask('c-701', { step, reason: 'x' })), [['event-of-nobody', 'step']], step);
  }
  assert.equal((await ask('c-701', { step: 'regenerate', reason: 'x', despiteEvents: true })).kind, 'taken');
});

test('a success that comes before the refusing answer, under a code of its own, bars the next signature', async (context) => {
  const { ask, start, noted, sign, state, reaches, world, tell, flows, sent } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const requestCode = uuid(9);
  const endpoint = '/contrato/oferta-leilao/averbar-contrato';
  const payload = { Conteudo: { Mensagem: 'Contrato averbado com sucesso' }, Erros: [] };
  const callback = JSON.stringify({ CodigoRequisicao: requestCode, Endpoint: endpoint, Payload: payload });
  const now = Date.now();
  const read = readWebhook(callback, { mapping: mapping as never, vault: plainVault as never, receivedAt: now, now });
  assert.ok(read.kind === 'entries' && read.entries[0]?.topic === 'callbacks');
  const { record } = read.entries[0];
  const refusal = '{"Erros":[{"mensagem":"Erro"}]}';
  const reading = readOperationAnswer('endorsement', 400, refusal);
  world.answerTo = () => ({ ...reading, ...heard, response: { status: 400, body: refusal } }) as never;
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await reaches('c-701', 'endorsement-refused');
  await tell(requestCode, { ...record, at: (await state('c-701'))!.operation!.intent!.at } as never);
  const eventId = `event:${requestCode}`;
  await eventually(async () => (await flows.read([eventId])).get(eventId)?.phase === 'unclaimed');
  const before = sent.length;
  const again = { step: 'sign', signedAt: Date.now(), content: { numeroContrato: 'N-1', assinatura: 'c' } } as const;
  assert.deepEqual(refusedBy(await ask('c-701', again)), [['event-of-nobody', 'step']]);
  assert.equal(sent.length, before);
  assert.equal((await ask('c-701', { ...again, despiteEvents: true })).kind, 'taken');
  await eventually(() => sent.length === before + 1);
});

test('no month that turns generates another contract while an event waits that may be the success of a refused endorsement', async (context) => {
  const look = { competenceLookMs: 20 };
  const { start, noted, sign, state, reaches, world, tell, flows, sent } = await takingHouse(context, look);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  world.answerTo = () => ({ kind: 'rejected', code: 'status-400', errors: [], ...heard, response: json('{}') });
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await reaches('c-701', 'endorsement-refused');
  const endpoint = '/contrato/oferta-leilao/averbar-contrato';
  const event = { kind: 'operation-event', at: Date.now(), requestCode: 'q-end', endpoint, errors: [] } as const;
  await tell('q-end', { ...event, shows: 'success', sealed: '{}' } as never);
  await eventually(async () => (await flows.read(['event:q-end'])).get('event:q-end')?.phase === 'unclaimed');
  const before = sent.length;
  const { now } = Date;
  context.mock.method(Date, 'now', () => now() + 40 * 86_400_000);
  // Long enough for a record and what is done after it.
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.deepEqual([(await state('c-701'))!.phase, sent.length], ['endorsement-refused', before]);
});

test('an event with the figures of another loan keeps nothing back', async (context) => {
  const { ask, start, reaches, noteFor, tell, flows, sent } = await takingHouse(context, { noteTimeoutMs: 1 });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const note = await noteFor('c-701', { noteNumber: 'N-9' });
  const event = { kind: 'credit-note', requestCode: 'q-else', of: 'contract', sealed: '{}', at: Date.now() } as const;
  const other = { loanCents: note.loanCents! + 100_000, installmentCents: note.installmentCents! + 10_000 };
  await tell('q-else', { ...event, note: { ...note, ...other }, errors: [] });
  await eventually(async () => (await flows.read(['event:q-else'])).get('event:q-else')?.phase === 'unclaimed');
  assert.equal((await ask('c-701', { step: 'regenerate', reason: 'a CCB não vem' })).kind, 'taken');
  await eventually(() => sent.filter(({ operation }) => operation === 'contract').length === 2);
});

test('despiteEvents comes to every step and order that names it', () => {
  const reason = 'x';
  assert.deepEqual(stepAsked('amend', { despiteEvents: true }), { step: 'amend', despiteEvents: true });
  for (const step of ['cancel', 'regenerate', 'deny', 'confirm'] as const) {
    const body = stepBodies[step].parse({ reason, despiteEvents: true });
    assert.equal((stepAsked(step, body) as { despiteEvents?: boolean }).despiteEvents, true, step);
    assert.ok(!('despiteEvents' in stepAsked(step, stepBodies[step].parse({ reason }))), step);
  }
  assert.equal(contractAsked({ despiteEvents: true, requestId: '1' } as never).despiteEvents, true);
  assert.equal(renegotiationAsked({ despiteEvents: true } as never).despiteEvents, true);
});

test('the very same splits are not sent again under another key', async (context) => {
  const { ask, world, front, state, reaches, sent } = await takingHouse(context);
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
  const idle = () => eventually(async () => (await state(flowId))!.steps.every(({ outcome }) => outcome !== 'pending'));
  await ask(flowId, { step: 'simulation', request: {} });
  await idle();
  const included = await ask(flowId, {
    step: 'inclusion',
    request: { period: 3, splits: [{ amountCents: 1_000, pixKey: { key: '+5511987654321' } }] },
  });
  assert.equal(included.kind, 'taken', JSON.stringify(included));
  await reaches(flowId, 'included');
  await ask(flowId, { step: 'proposal', request: { dto: {} } });
  await idle();
  const splits = (amountCents: number) =>
    ask(flowId, { step: 'splits', request: { splits: [{ amountCents, pixKey: { key: '+5511987654321' } }] } });
  assert.equal((await splits(10_000)).kind, 'taken');
  await idle();
  assert.deepEqual(refusedBy(await splits(10_000)), [['splits-once', 'splits']]);
  assert.equal((await splits(10_001)).kind, 'taken');
  await idle();
  assert.equal(sent.filter(({ operation }) => operation === 'splits').length, 2);
});

/** What a person's word about a bid is judged by, where no process runs. */
function bidsFor(won: ReadonlyMap<string, RequestState>) {
  const rowOf = (id: string) => ({ state: won.get(id)!, reservation: 'held' as const, hadRoom: true });
  return {
    log: { ends: async () => new Map([[0, 1]]) },
    views: {
      read: async (ids: readonly string[]) => new Map(ids.map((id) => [id, rowOf(id)])),
      applied: async () => 1,
    },
    control: { acknowledged: async () => [] },
    partitionOf: async () => 0,
  };
}

test('a bid whose contract is made keeps its promise, whatever a person says of it', async (context) => {
  const { start, noted, flows, won, ask, clock } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const said: unknown[] = [];
  const append = async (entries: readonly unknown[]) => void said.push(...entries);
  const parts = { ...bidsFor(won), flows, clock, append };
  const who = { by: 'ana', via: 'cli' } as never;
  const order = { requestId: '701', as: 'cancelled', reason: 'x' } as const;
  const refused = await resolveRequest(parts, who, order);
  assert.deepEqual(refused, { kind: 'under-contract', flowId: 'c-701', flowPhase: 'awaiting-signature' });
  assert.deepEqual(said, []);
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'desistiu' })).kind, 'taken');
  await eventually(async () => (await flows.read(['c-701'])).get('c-701')?.phase === 'cancelled');
  assert.equal((await resolveRequest(parts, who, order)).kind, 'stored');
  assert.equal(said.length, 1);
});

test('a bid that was given up by mistake is taken up again, its promise counts again, and the log keeps both words', async (context) => {
  const { won, start, front, ask, state, reaches, clock } = await takingHouse(context, { noteTimeoutMs: 1 });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'engano' })).kind, 'taken');
  const said: (Resolved & { requestId: string })[] = [];
  const flows = { read: async () => new Map([['c-701', (await state('c-701'))!]]) };
  const append = async (entries: readonly { record: unknown }[]) => void said.push(entries[0]!.record as Resolved);
  const parts = { ...bidsFor(won), flows, clock, append };
  const resolve = async (as: 'cancelled' | 'contemplated' | 'lost' | 'won') => {
    const before = won.get('701')!;
    const outcome = await resolveRequest(parts, { by: 'ana', via: 'cli' } as never, {
      ...{ requestId: '701', as, reason: `visto: ${as}` },
    });
    if (outcome.kind !== 'stored') return { outcome: outcome.kind, caps: [] };
    const after = evolve(before, said.at(-1)!, bidSettings);
    won.set('701', after);
    return { outcome: after.phase, caps: capOperations(before, after, said.length).map(({ kind }) => kind) };
  };
  assert.deepEqual(await resolve('cancelled'), { outcome: 'cancelled', caps: ['release'] });
  assert.deepEqual(await resolve('contemplated'), { outcome: 'contemplated', caps: ['hold'] });
  const order = orderOf('701');
  const again = await front.startContract({ by: 'ana', key: 'k-again' }, order);
  assert.equal(again.kind, 'taken', JSON.stringify(again));
  await reaches('c-701', 'awaiting-note');
  assert.equal((await state('c-701'))!.proposal!.code, won.get('701')!.winner!.proposalCode, 'its events told of it');
  assert.deepEqual((await resolve('cancelled')).outcome, 'under-contract');
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'engano' })).kind, 'taken');
  assert.deepEqual(await resolve('cancelled'), { outcome: 'cancelled', caps: ['release'] });
  assert.deepEqual(await resolve('lost'), { outcome: 'lost', caps: [] });
  assert.deepEqual(
    said.map(({ as, by, reason }) => [as, by, reason]),
    ['cancelled', 'contemplated', 'cancelled', 'lost'].map((as) => [as, 'ana', `visto: ${as}`]),
  );
});

test('a key that has begun one contract begins no other', async (context) => {
  const { start, won, front, sent, reaches, ask } = await takingHouse(context, { noteTimeoutMs: 1 });
  await start('701');
  await start('702');
  await reaches('c-701', 'awaiting-note');
  await reaches('c-702', 'awaiting-note');
  assert.equal((await ask('c-702', { step: 'cancel', reason: 'x' })).kind, 'taken');
  await reaches('c-702', 'cancelled');
  won.set('703', won.get('701')!);
  const before = sent.length;
  const order = orderOf('703');
  for (const [requestId, flowId] of [
    ['703', 'c-701'],
    ['702', 'c-701'],
    ['703', 'c-702'],
  ] as const) {
    const asked = {
      ...order,
      contract: { ...order.contract, requestId, account: { ...order.contract.account, branch: '7' } },
    };
    const refused = await front.startContract({ by: 'ana', key: flowId.replace('c', 'k') }, asked);
    assert(refused.kind === 'refused' && refused.problem === 'conflict', JSON.stringify(refused));
    assert.deepEqual(refusedBy(refused), [['key-reused', 'Idempotency-Key']]);
    assert.match(refused.breaches[0]!.problem, new RegExp(`${flowId}, .*requestId, .*account\\.branch; use`));
  }
  assert.equal(sent.length, before);
  assert.equal((await start('701')).kind, 'known');
});

test('the number of the note in a signature is a text, as the contract has it', async (context) => {
  const { start, noted, sign, reaches, sent } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: '9001', proposalCode: uuid(1) });
  const before = sent.length;
  for (const content of [{ numeroContrato: 9001 }, { dados: { NumeroCCB: 9001 } }]) {
    const [place] = refusedBy(await sign('c-701', { ...content, assinatura: 'b' }))!;
    assert.match(String(place), /^note-as-text,content\./);
  }
  assert.equal(sent.length, before);
  assert.equal((await sign('c-701', { numeroContrato: '9001', assinatura: 'b' })).kind, 'taken');
  await reaches('c-701', 'endorsed');
});

test('a note that was given up is named by the flow that is begun again, and by one that is generated again', async (context) => {
  const { start, front, noted, ask, reaches, state } = await takingHouse(context);
  const shown = async () => {
    const now = (await state('c-701'))!;
    return {
      text: flowText(createFormat('en'), now, { open: null, settings }),
      notes: flowView(now, null, settings).earlierNotes,
    };
  };
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  assert.deepEqual((await shown()).notes, []);
  await ask('c-701', { step: 'cancel', reason: 'desistiu' });
  await reaches('c-701', 'cancelled');
  const cancelled = await shown();
  assert.match(cancelled.text, /^Credit note +N-1$/m);
  assert.doesNotMatch(cancelled.text, /Earlier notes/);
  const again = await front.startContract({ by: 'ana', key: 'k-again' }, orderOf('701'));
  assert.equal(again.kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  const begun = await shown();
  assert.match(begun.text, /^Earlier notes +N-1 \(given up here; the service was told nothing of it\)$/m);
  assert.deepEqual(begun.notes, ['N-1']);
  await noted('c-701', { noteNumber: 'N-2', proposalCode: uuid(2) });
  await ask('c-701', { step: 'regenerate', reason: 'de novo' });
  await reaches('c-701', 'awaiting-note');
  assert.deepEqual((await shown()).notes, ['N-1', 'N-2']);
});

function passOf(maybeSent: boolean) {
  return { code: 'restored', reasons: [], at: 1, maybeSent };
}

test('nobody is asked to say that a lost bid is contemplated', () => {
  for (const phase of ['lost', 'passed'] as const) {
    const { problem } = notContemplated({ requestId: '1', phase, pass: passOf(false), answer: null });
    assert.doesNotMatch(problem, /resolve/, phase);
    assert.match(problem, /the request that you mean/);
  }
  for (const [phase, pass] of [
    ['won', null],
    ['passed', passOf(true)],
  ] as const) {
    const { problem } = notContemplated({ requestId: '1', phase, pass, answer: null });
    assert.match(problem, /resolve 1 --as contemplated/, phase);
  }
});

test('a signature that names the proposal of the bid is told which one its note names', async (context) => {
  const { start, noted, sign, state } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const refused = await sign('c-701', { codigoProposta: 'proposal', assinatura: 'b' });
  assert.deepEqual(refusedBy(refused), [['note-of-this-flow', 'content.codigoProposta']]);
  const text = `it is not the proposal that the note of this flow names: that is ${uuid(1)}, and the note N-1`;
  assert.ok(refused.kind === 'refused' && refused.breaches[0]!.problem === text, JSON.stringify(refused));
  const shown = flowText(createFormat('en'), (await state('c-701'))!, { open: null, settings });
  assert.match(shown, new RegExp(`^Proposal, as the note says +${uuid(1)}$`, 'm'));
});

test('a file that is not there is said to be none, and a signature that was given up is not said to be withheld', async (context) => {
  for (const language of ['en', 'pt'] as const) {
    const { flows, mapping } = createFormat(language).texts;
    for (const text of [flows.unreadable('x.json', 'ENOENT'), mapping.unreadable('x.json', 'ENOENT')])
      assert.match(text, /^(?:There is no file|Não há o arquivo) x\.json\.$/);
  }
  const { start, noted, sign, ask, reaches, state, world } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  world.isOpen = false;
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await ask('c-701', { step: 'cancel', reason: 'x' });
  await reaches('c-701', 'cancelled');
  const shown = flowText(createFormat('en'), (await state('c-701'))!, { open: null, settings });
  assert.match(shown, /sign \(ana\): not sent: withheld by a rule, or given up before$/m);
});
