/** From a won bid to its contract: whose word it takes that the bid is won. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { evolve } from '../../src/bidding/evolve.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { CallbackRecord } from '../../src/domain/records.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { stepAsked } from '../../src/http/api/requests.ts';
import { stepBodies } from '../../src/http/api/schemas.ts';
import { flowView } from '../../src/http/api/views.ts';
import type { FlowFront } from '../../src/origination/front.ts';
import { withLostBids } from '../../src/origination/lost-bids.ts';
import { barriersNow, nextSteps } from '../../src/origination/next-steps.ts';
import { noteIndex } from '../../src/origination/notes.ts';
import { shownErrors, shownRecord } from '../../src/origination/shown-flows.ts';
import { linkKeyOf, workerKeyOf } from '../../src/wire/identity.ts';
import { type JsonObject, parseJson } from '../../src/wire/json.ts';
import { type Prepared, readOperationAnswer } from '../../src/wire/operations.ts';
import {
  accepted,
  answered,
  settings as bidSettings,
  claimed,
  contemplated,
  folded,
  offer,
  proposed,
  requested,
  requestId,
  resolved,
} from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleLink, sampleRequest } from '../rules/sample-request.ts';
import { orderOf, startFlowHouse } from './flow-house.ts';
import { sampleNote } from './flow-world.ts';
import { plainVault, settings } from './orders.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

const workerKey = workerKeyOf(plainVault, '52998224725');
const ours = requested({ request: { ...sampleRequest, workerKey } });
/** Not as ordered, and within the bid. */
const ownNote = { ...sampleNote, installmentCents: 38_000 };
const outside = { ...answered({ kind: 'accepted-outside', bidId: 'bid' }), codes: ['call'] };

/** The notes of these tests are not as ordered. */
async function takeNote(front: FlowFront): Promise<void> {
  const taken = await front.ask(`c-${requestId}`, { by: 'ana', key: randomUUID() }, { step: 'accept', reason: 'seen' });
  assert.equal(taken.kind, 'taken', JSON.stringify(taken));
}

test('a person says that a bid is contemplated, and its contract goes on without the codes of a proposal', async (context) => {
  const { front, won, reaches, state } = await startFlowHouse(context);
  const asker = { by: 'ana', key: 'k1' };
  won.set(requestId, folded(ours, claimed(), outside, resolved('won')));
  const early = await front.startContract(asker, orderOf(requestId));
  assert(early.kind === 'refused');
  assert.match(early.breaches[0]!.problem, /is won, not contemplated.*lance bids resolve .* --as contemplated/);
  won.set(requestId, folded(ours, claimed(), outside, resolved('won'), resolved('contemplated')));
  const begun = await front.startContract(asker, orderOf(requestId));
  assert.equal(begun.kind, 'taken', JSON.stringify(begun));
  await reaches(`c-${requestId}`, 'preparing');
  const { proposal } = (await state(`c-${requestId}`))!;
  assert.deepEqual(proposal, { code: null, number: null, validUntil: null });
});

test('a link query that fails by callback stops the flow with an alarm, and is not asked again', async (context) => {
  const { front, world, won, queries, alarms, tell, reaches, state } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const flowId = `c-${requestId}`;
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: 'q-1' });
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  await eventually(async () => (await state(flowId))?.codes.includes('q-1') === true);
  const failed: CallbackRecord = {
    kind: 'operation-event',
    at: Date.now(),
    requestCode: 'q-last',
    endpoint: '/trabalhador/consultar-dados-vinculo',
    errors: ['VINCULO_INVALIDO'],
    sealed: '{}',
  };
  // The house asks again at once; the code of an earlier query counts no longer.
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: `q-${queries.length}` });
  await eventually(() => alarms.includes('margin-late'));
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: 'q-last' });
  await eventually(async () => (await state(flowId))?.marginAsks?.code === 'q-last');
  await tell('q-1', { ...failed, requestCode: 'q-1' });
  await tell('q-last', failed);
  await reaches(flowId, 'withheld');
  assert.deepEqual((await state(flowId))!.errors, ['VINCULO_INVALIDO']);
  await eventually(() => alarms.includes('flow-refused'));
  const asked = queries.length;
  await sleep(200);
  assert.equal(queries.length, asked);
});

test('a bid that failed, or that a person ended, gets no contract and no signature', async (context) => {
  const { front, won, reaches, sent } = await startFlowHouse(context);
  const winning = [ours, claimed(), answered(accepted), contemplated(), proposed()] as const;
  const ended = [folded(...winning, resolved('cancelled')), folded(...winning, proposed(['E']))];
  for (const [index, state] of ended.entries()) {
    won.set(requestId, state);
    const begun = await front.startContract({ by: 'ana', key: `k${index}` }, orderOf(requestId));
    assert.deepEqual(
      [state.phase, begun.kind === 'refused' && begun.breaches[0]!.rule],
      [index === 0 ? 'cancelled' : 'winner-failed', 'bid-won'],
    );
  }
  won.set(requestId, folded(...winning));
  assert.equal((await front.startContract({ by: 'ana', key: 'k9' }, orderOf(requestId))).kind, 'taken');
  const flowId = `c-${requestId}`;
  await reaches(flowId, 'preparing');
  const before = sent.length;
  for (const state of ended) {
    won.set(requestId, state);
    for (const asked of [
      { step: 'regenerate', reason: 'again' },
      { step: 'sign', signedAt: Date.now() - 1, content: { assinatura: 'b' } },
    ] as const) {
      const refused = await front.ask(flowId, { by: 'ana', key: randomUUID() }, asked);
      assert.equal(refused.kind === 'refused' && refused.breaches[0]!.rule, 'bid-won', asked.step);
    }
  }
  assert.equal(sent.length, before);
  assert.equal((await front.ask(flowId, { by: 'ana', key: 'x' }, { step: 'cancel', reason: 'lost' })).kind, 'taken');
});

test('a bid that failed after its contract was generated says why nothing is signed, and goes on by the word of a person', async (context) => {
  const house = await takingHouse(context);
  const { won, ask, start, noted, sign, reaches } = house;
  await start('701');
  const winning = won.get('701')!;
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const people = withLostBids(house.flows, house.views);
  const seen = async () => {
    const [state] = await people.query({ flow: 'contract', phase: null, code: null, limit: 9, before: null });
    assert.deepEqual((await people.read(['c-701'])).get('c-701'), state);
    return flowView(state!, plainVault.open as never, settings);
  };
  assert.deepEqual([(await seen()).nextSteps.includes('sign'), (await seen()).barriers], [true, []]);
  const failed = evolve(winning, { ...proposed(['Proposta recusada']), proposalCode: null }, bidSettings);
  won.set('701', failed);
  const { nextSteps: steps, barriers, waitsFor } = await seen();
  assert.deepEqual([steps, waitsFor], [['cancel', 'proposal'], ['cancel']]);
  assert.deepEqual(
    barriers.map(({ rule }) => rule),
    ['bid-won'],
  );
  // A denial of an endorsed one would be refused, too, and is not offered.
  const before = (await house.state('c-701'))!;
  const operation = { operation: 'endorsement', status: 'done' } as never;
  const done = { ...before, phase: 'endorsed' as const, operation };
  const read = async (_flowIds: readonly string[]) => new Map([['c-701', done]]);
  const endorsed = (await withLostBids({ ...house.flows, read }, house.views).read(['c-701'])).get('c-701')!;
  assert.ok(nextSteps(done, settings, null).includes('deny'));
  assert.ok(!nextSteps(endorsed, settings, null).includes('deny'));
  assert.match(barriers[0]!.problem, /is winner-failed, not contemplated.*lance bids resolve 701 --as contemplated/);
  assert.deepEqual(refusedBy(await sign('c-701', { numeroContrato: 'N-1' })), [['bid-won', 'requestId']]);
  const early = await ask('c-701', { step: 'confirm', reason: 'x', requestCode: null });
  assert.ok(
    early.kind === 'refused' && /possible now: cancel, proposal$/.test(early.breaches[0]!.problem),
    JSON.stringify(early),
  );
  won.set('701', evolve(failed, resolved('contemplated'), bidSettings));
  assert.deepEqual([(await seen()).nextSteps.includes('sign'), (await seen()).barriers], [true, []]);
  await sign('c-701', { numeroContrato: 'N-1' });
  await reaches('c-701', 'endorsed');
});

test('a contract that was ordered before its proposal failed goes on where a person says that the bid is contemplated', async (context) => {
  const { front, won, reaches, state, flows, views } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated()));
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  const flowId = `c-${requestId}`;
  await reaches(flowId, 'waiting-proposal');
  const failed = folded(ours, claimed(), answered(accepted), contemplated(), proposed(['Proposta recusada']));
  won.set(requestId, failed);
  await reaches(flowId, 'failed');
  const amend = () => front.ask(flowId, { by: 'ana', key: randomUUID() }, { step: 'amend' });
  assert.deepEqual(refusedBy(await amend()), [['bid-won', 'requestId']]);
  const shown = (await withLostBids(flows, views).read([flowId])).get(flowId)!;
  assert.deepEqual(
    [nextSteps(shown, settings, null), barriersNow(shown, settings, null).map(({ rule }) => rule)],
    [[], ['bid-won']],
  );
  won.set(requestId, evolve(failed, resolved('contemplated'), bidSettings));
  assert.equal((await amend()).kind, 'taken');
  await reaches(flowId, 'preparing');
  assert.deepEqual((await state(flowId))!.errors, []);
});

test('a detail that names the link otherwise is taken by the code of its query; of another worker it is not (line 3)', async (context) => {
  const { front, world, won, details, alarms, tell, state } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const flowId = `c-${requestId}`;
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: 'q-1' });
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  await eventually(async () => (await state(flowId))?.marginAsks?.code === 'q-1');
  const { cpf, employerIdType } = orderOf(requestId).link!;
  // The registration in small letters, and the root of the CNPJ.
  const linkKey = linkKeyOf(plainVault, cpf, 'm-77', employerIdType, '12ABC345');
  assert.notEqual(linkKey, (await state(flowId))!.subject.linkKey);
  const detail = { ...sampleLink, linkKey, workerKey, receivedAt: Date.now(), availableMarginCents: 200_000 };
  const bodyOf = (matricula: string) =>
    JSON.stringify({
      CodigoRequisicao: 'q-1',
      Payload: {
        ...{ cpf: Number(cpf), matricula, inscricaoEmpregador: { codigo: employerIdType }, elegivel: true },
        numeroInscricaoEmpregador: '12ABC345',
      },
    });
  const sealed = plainVault.seal(sealedPlaces.callback(workerKey), bodyOf('m-77'));
  const told: CallbackRecord = { kind: 'link-detail', at: Date.now(), requestCode: 'q-1', detail, sealed };
  // The same worker's other employment, with a great margin: nothing is known of this one by it.
  const other = { ...detail, linkKey: 'other', availableMarginCents: 9_999_900 };
  details.set('other', other);
  const sealedOther = plainVault.seal(sealedPlaces.callback(workerKey), bodyOf('M-78'));
  await tell(workerKey, { ...told, detail: other, sealed: sealedOther });
  await sleep(150);
  assert.equal((await state(flowId))!.phase, 'preparing');
  assert.notEqual((await state(flowId))!.subject.linkKey, 'other');
  const foreign = { ...detail, linkKey: 'another', workerKey: 'another' };
  await tell('another', { ...told, detail: foreign });
  details.set('another', foreign);
  details.set(linkKey, detail);
  await tell(workerKey, told);
  await eventually(async () => (await state(flowId))?.subject.linkKey === linkKey);
  await eventually(async () => (await state(flowId))?.phase !== 'preparing');
  assert.ok(!alarms.includes('flow-frozen'));
});

test('a link query of nobody here is no event of a flow', async (context) => {
  const { tell, front, won, reaches, state } = await startFlowHouse(context);
  const event = {
    kind: 'operation-event',
    at: Date.now(),
    requestCode: 'q-9',
    errors: ['no-links'],
    sealed: '{}',
  } as const;
  await tell('q-9', { ...event, endpoint: '/trabalhador/listar-autorizados' });
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  await reaches(`c-${requestId}`, 'preparing');
  assert.equal(await state('event:q-9'), undefined);
});

test('the first query about a worker is not sent without the number of the authorisation; a later one is (line 9)', async (context) => {
  const { front, world, won, queries, alarms, reaches, state } = await startFlowHouse(context);
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: null });
  const flowOf = async (id: string, authorisationNumber: string | null) => {
    const request = { ...ours.request, authorisationNumber: null };
    won.set(id, folded({ ...ours, requestId: id, request }, claimed(), answered(accepted), contemplated(), proposed()));
    const order = orderOf(id);
    await front.startContract({ by: 'ana', key: id }, { ...order, link: { ...order.link!, authorisationNumber } });
    return `c-${id}`;
  };
  const first = await flowOf('501', null);
  await reaches(first, 'withheld');
  const withheld = (await state(first))!;
  assert.deepEqual([withheld.errors, queries.length], [['authorisation-missing'], 0]);
  const [missing] = withheld.breaches;
  assert.deepEqual([missing?.rule, missing?.field], ['authorisation-given', 'link.authorisationNumber']);
  assert.match(missing!.problem, /nobody was asked.*NSU.*amend/s);
  await eventually(() => alarms.includes('flow-refused'));
  await flowOf('502', '880011');
  await eventually(() => queries.length > 0);
  const later = await flowOf('503', null);
  await eventually(() => queries.some(({ authorisationNumber }) => authorisationNumber === null));
  assert.equal((await state(later))!.phase, 'preparing');
});

test('a refused link query says in the words of the service why, such as a registration that it does not know', async (context) => {
  const { front, world, won, reaches, state, history } = await startFlowHouse(context);
  const body =
    '{"CodigoRequisicao":"q","Conteudo":null,"Erros":[{"Codigo":"VINCULO_INEXISTENTE","Mensagem":"Trabalhador ou vínculo não encontrado"}]}';
  world.answerToQuery = () => ({ kind: 'refused', reason: 'unclassified', response: { status: 404, body } });
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  await reaches(`c-${requestId}`, 'withheld');
  const flow = (await state(`c-${requestId}`))!;
  assert.deepEqual(shownErrors(flow, plainVault.open), ['VINCULO_INEXISTENTE: Trabalhador ou vínculo não encontrado']);
  assert.deepEqual(shownErrors(flow, null), ['(sealed)']);
  const [asked] = (await history(`c-${requestId}`)).filter(({ kind }) => kind === 'margin-asked');
  const shown = shownRecord(asked!, plainVault.open);
  assert.deepEqual(shown.errors, ['VINCULO_INEXISTENTE: Trabalhador ou vínculo não encontrado']);
  assert.doesNotMatch(JSON.stringify(shownRecord(asked!, null)), /Trabalhador/);
  assert.deepEqual(flow.breaches, []);
});

test('a link named without a number goes with the number of its request', async (context) => {
  const { front, world, won, queries } = await startFlowHouse(context);
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: null });
  const request = { ...ours.request, authorisationNumber: '77' };
  won.set(requestId, folded({ ...ours, request }, claimed(), answered(accepted), contemplated(), proposed()));
  const order = orderOf(requestId);
  const link = { ...order.link!, authorisationNumber: null };
  await front.startContract({ by: 'ana', key: 'k1' }, { ...order, link });
  await eventually(() => queries.length > 0);
  assert.equal(queries[0]!.authorisationNumber, '77');
});

test('an amendment that changes nothing is refused where nothing stands in the way (clerk, issue 16)', async (context) => {
  const { front, won } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated()));
  const begun = await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  assert(begun.kind === 'taken' && begun.state.phase === 'waiting-proposal', JSON.stringify(begun));
  const empty = await front.ask(begun.state.flowId, { by: 'ana', key: 'e' }, { step: 'amend' });
  assert(empty.kind === 'refused' && empty.breaches[0]!.rule === 'amends-something', JSON.stringify(empty));
});

test('a corrected link and a new NSU are asked with; a link of another worker is refused (line 13)', async (context) => {
  const { front, world, won, queries, state, reaches, history } = await startFlowHouse(context);
  world.answerToQuery = () => ({
    ...{ kind: 'refused', reason: 'authorisation-expired', response: { status: 422, body: '' } },
  });
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const flowId = `c-${requestId}`;
  await front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  await reaches(flowId, 'withheld');
  const { authorisationNumber: _, ...link } = orderOf(requestId).link!;
  const foreign = await front.ask(
    flowId,
    { by: 'ana', key: 'f' },
    { step: 'amend', link: { ...link, cpf: '11144477735' } },
  );
  assert(foreign.kind === 'refused' && foreign.breaches[0]!.rule === 'link-of-worker');
  const amended = async (key: string, body: object) => {
    const asked = stepAsked('amend', stepBodies.amend.parse(body));
    const before = queries.length;
    assert.equal((await front.ask(flowId, { by: 'ana', key }, asked)).kind, 'taken');
    await eventually(() => queries.length > before);
    await reaches(flowId, 'withheld');
    const { identity, authorisationNumber } = queries.at(-1)!;
    return [identity.registration, authorisationNumber];
  };
  assert.deepEqual(await amended('n', { authorisationNumber: '0990022' }), ['M-77', '990022']);
  assert.deepEqual(await amended('l', { link: { ...link, registration: 'M-78' } }), ['M-78', '990022']);
  const asked = (await history(flowId)).filter((record) => record.kind === 'asked');
  assert.deepEqual(
    asked.map(({ stepsKept }) => stepsKept),
    [50, 50],
  );
  const { cpf, employerIdType, employerId } = link;
  assert.equal((await state(flowId))!.subject.linkKey, linkKeyOf(plainVault, cpf, 'M-78', employerIdType, employerId));
});

test('a cancelled flow is begun again under a new key, once; the keys of before begin nothing (line 13)', async (context) => {
  const { front, won, state, reaches } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const flowId = `c-${requestId}`;
  const start = (key: string) => front.startContract({ by: 'ana', key }, orderOf(requestId));
  const cancel = (key: string) => front.ask(flowId, { by: 'ana', key }, { step: 'cancel', reason: 'wrong link' });
  await start('k1');
  await reaches(flowId, 'preparing');
  const early = await start('k2');
  assert(early.kind === 'refused' && early.breaches[0]!.rule === 'flow-exists');
  assert.equal((await cancel('x1')).kind, 'taken');
  assert.equal((await start('k1')).kind, 'known');
  assert.equal((await start('k2')).kind, 'taken');
  assert.equal((await start('k2')).kind, 'known');
  await reaches(flowId, 'preparing');
  assert.equal((await cancel('x2')).kind, 'taken');
  const reused = await start('k1');
  assert(reused.kind === 'refused' && reused.breaches[0]!.rule === 'key-reused');
  assert.deepEqual((await state(flowId))!.earlier, ['k1']);
});

const goodLink = {
  ...{ ...sampleLink, workerKey, eligible: true, terminationDate: null, availableMarginCents: 100_000 },
};

test('whoever looked at a flow before its operation was prepared does not prepare it again', async (context) => {
  const held: (() => void)[] = [];
  // Before the house's own hook, which waits for them.
  context.after(() => {
    for (const go of held) go();
  });
  const { front, won, world, details, clock, state, reaches, history, append } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const flowId = `c-${requestId}`;
  const order = orderOf(requestId);
  const { cpf, registration, employerIdType, employerId } = order.link!;
  const linkKey = linkKeyOf(plainVault, cpf, registration, employerIdType, employerId);
  world.answerToQuery = () => ({ kind: 'acknowledged', requestCode: 'q' });
  await front.startContract({ by: 'ana', key: 'k1' }, order);
  await reaches(flowId, 'preparing');
  world.answerTo = ({ operation }) => {
    const body = '{"codigoRequisicao":"q-7"}';
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  const hold = (): Promise<void> => new Promise((resolve) => void held.push(resolve));
  const stray = { kind: 'told', flowId, at: Date.now(), requestCode: 'x', of: 'operation', note: null } as const;
  const strays = async () => (await state(flowId))!.strays;
  // The first look has to be one by the clock: one that a record has caused holds back the records after it.
  for (let tries = 0; ; tries += 1) {
    assert.ok(tries < 50, 'no look by the clock was held');
    world.beforeMargins = async () => {};
    for (const go of held.splice(0)) go();
    await sleep(100);
    world.beforeMargins = hold;
    await eventually(() => held.length > 0, 5_000);
    const before = await strays();
    await append({ topic: 'flows', key: flowId, record: { ...stray, errors: [], sealed: '{}' } });
    await sleep(200);
    if (held.length === 2 && (await strays()) > before) break;
  }
  details.set(linkKey, { ...goodLink, linkKey, receivedAt: clock.now(), availableMarginCents: 100_000_000 });
  world.beforeMargins = async () => {};
  const intents = async () => (await history(flowId)).filter(({ kind }) => kind === 'intended').length;
  held[1]!();
  await reaches(flowId, 'awaiting-note');
  held[0]!();
  await sleep(100);
  assert.equal(await intents(), 1);
  const intended = (await history(flowId)).find((record) => record.kind === 'intended');
  assert.deepEqual(intended?.retry, { keyedAttempts: 3, retryMs: 20, retryMaxMs: 20 }, 'the settings of its desk');
});

test('what is told of a flow while its operation is on its way into the log prepares nothing again', async (context) => {
  let release = (): void => undefined;
  context.after(() => release());
  const { front, won, world, details, clock, state, reaches, append } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const flowId = `c-${requestId}`;
  const order = orderOf(requestId);
  const { cpf, registration, employerIdType, employerId } = order.link!;
  const linkKey = linkKeyOf(plainVault, cpf, registration, employerIdType, employerId);
  const freed = new Promise<void>((resolve) => {
    release = resolve;
  });
  let intended = 0;
  world.beforeAppend = async (kinds) => {
    if (!kinds.includes('intended')) return;
    intended += 1;
    await freed;
  };
  details.set(linkKey, { ...goodLink, linkKey, receivedAt: clock.now(), availableMarginCents: 100_000_000 });
  await front.startContract({ by: 'ana', key: 'k1' }, order);
  await eventually(() => intended === 1, 5_000);
  const stray = { kind: 'told', flowId, at: Date.now(), requestCode: 'x', of: 'operation', note: null } as const;
  await append({ topic: 'flows', key: flowId, record: { ...stray, errors: [], sealed: '{}' } });
  await eventually(async () => (await state(flowId))!.strays === 1, 5_000);
  await sleep(200);
  assert.equal(intended, 1);
  release();
  await reaches(flowId, 'generating');
});

test('a contract is not begun on a link that its detail forbids, and the fact is named', async (context) => {
  const { front, won, details, clock, state } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const order = orderOf(requestId);
  const { cpf, registration, employerIdType, employerId } = order.link!;
  const linkKey = linkKeyOf(plainVault, cpf, registration, employerIdType, employerId);
  const receivedAt = clock.now();
  for (const [fact, rule, words] of [
    [{ eligible: false, ineligibilityCode: 3 }, 'link-eligible', /not eligible \(motivoInelegibilidade 3\)/],
    [{ terminationDate: '2026-02-01' }, 'link-not-terminated', /terminated on 2026-02-01/],
    [{ workerKey: 'another' }, 'link-of-worker', /another worker/],
  ] as const) {
    details.set(linkKey, { ...goodLink, linkKey, receivedAt, ...fact });
    const refused = await front.startContract({ by: 'ana', key: rule }, order);
    assert(refused.kind === 'refused' && refused.problem === 'breach', JSON.stringify(refused));
    assert.deepEqual([refused.breaches.length, refused.breaches[0]!.rule], [1, rule]);
    assert.match(refused.breaches[0]!.problem, words);
  }
  details.set(linkKey, { ...goodLink, linkKey, receivedAt });
  const foreign = { ...order, link: { ...order.link!, cpf: '11144477735' } };
  const refused = await front.startContract({ by: 'ana', key: 'foreign' }, foreign);
  assert(refused.kind === 'refused' && refused.breaches[0]!.rule === 'link-of-worker');
  assert.equal(await state(`c-${requestId}`), undefined);
  assert.equal((await front.startContract({ by: 'ana', key: 'good' }, order)).kind, 'taken');
});

const notedFlow = async (context: TestContext) => {
  const house = await startFlowHouse(context);
  house.won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const begun = await house.front.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId));
  assert(begun.kind === 'taken');
  const { linkKey } = begun.state.subject;
  const receivedAt = house.clock.now();
  house.details.set(linkKey!, { ...goodLink, linkKey: linkKey!, receivedAt });
  return house;
};
const heard = { firstByteAt: Date.now(), attempts: 1 };

test('a refused answer is found among the results, and its error is shown with all that came', async (context) => {
  const { world, reaches, state } = await notedFlow(context);
  const body = '{"CodigoRequisicao":null,"Erros":[{"Situacao":12345678901234567890}]}';
  world.answerTo = ({ operation }) => {
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'rejected');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  await reaches(`c-${requestId}`, 'refused');
  const flow = (await state(`c-${requestId}`))!;
  assert.deepEqual(flow.results.contract, { at: flow.results.contract!.at, sealedAnswer: body, refused: true });
  assert.deepEqual(shownErrors(flow, plainVault.open as never), ['{"Situacao":12345678901234567890}']);
});

test('a failure that says nothing but that it failed is shown as it came', () => {
  const words = (body: string) =>
    shownErrors(
      {
        ...({} as FlowState),
        errors: ['unclassified'],
        errorsIn: { place: sealedPlaces.flowAnswer('w-1'), sealed: body },
      },
      plainVault.open as never,
    );
  assert.deepEqual(words('{"HasError":true,"Msg":null,"Messages":null,"Extra":1}'), [
    '{"HasError":true,"Msg":null,"Messages":null,"Extra":1}',
  ]);
  assert.deepEqual(words('{"HasError":true,"Messages":[{"Code":"7","Context":"Saldo","Description":"sem saldo"}]}'), [
    '7: Saldo: sem saldo',
  ]);
});

test('numbers that are only carried keep every digit: from the order to the bytes of the endorsement', async (context) => {
  const { world, front, sent, reaches, tell } = await notedFlow(context);
  const accept = ({ operation }: Prepared) => {
    const body = '{"codigoRequisicao":"q-7"}';
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  world.answerTo = accept;
  await reaches(`c-${requestId}`, 'awaiting-note');
  const note = { ...ownNote, noteNumber: 'N-1' };
  const event = { kind: 'credit-note', at: Date.now(), requestCode: 'q-7', of: 'contract', note } as const;
  await tell('q-7', { ...event, errors: [], sealed: '{}' });
  await reaches(`c-${requestId}`, 'awaiting-signature');
  await takeNote(front);
  const content = parseJson('{"id":12345678901234567890,"valor":0.12345678901234567890,"lista":[99999999999999999]}');
  assert(content.kind === 'parsed');
  const early = { step: 'sign', signedAt: Date.now() - 3_600_000, content: content.value as JsonObject } as const;
  const refused = await front.ask(`c-${requestId}`, { by: 'ana', key: 's0' }, early);
  assert(refused.kind === 'refused' && refused.breaches[0]?.rule === 'signed-after-note', JSON.stringify(refused));
  const signed = await front.ask(`c-${requestId}`, { by: 'ana', key: 's1' }, { ...early, signedAt: Date.now() });
  assert.equal(signed.kind, 'taken', JSON.stringify(signed));
  await reaches(`c-${requestId}`, 'endorsed');
  assert.equal(
    sent.at(-1)!.body,
    '{"id":12345678901234567890,"valor":0.12345678901234567890,"lista":[99999999999999999]}',
  );
});

test("a signature that names another flow's note is refused, wherever it names it", async (context) => {
  const { world, front, flows, sent, reaches, tell } = await notedFlow(context);
  world.answerTo = ({ operation }) => {
    const body = '{"codigoRequisicao":"q-7"}';
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  await reaches(`c-${requestId}`, 'awaiting-note');
  const event = { kind: 'credit-note', at: Date.now(), requestCode: 'q-7', of: 'contract', note: ownNote } as const;
  await tell('q-7', { ...event, errors: [], sealed: '{}' });
  await reaches(`c-${requestId}`, 'awaiting-signature');
  await takeNote(front);
  const { findByCode } = flows;
  flows.findByCode = async (codes) => {
    const others = codes.filter((code) => code === noteIndex('8778500993')).map((code) => [code, 'c-99'] as const);
    return new Map([...(await findByCode(codes)), ...others]);
  };
  const sign = (key: string, content: JsonObject) =>
    front.ask(`c-${requestId}`, { by: 'ana', key }, { step: 'sign', signedAt: Date.now(), content });
  const before = sent.length;
  const cases: [content: string, field: string][] = [
    ['{"numeroContrato":"8778500993"}', 'content.numeroContrato'],
    ['{"biometria":"x","contratos":[{"id":8778500993}]}', 'content.contratos.0.id'],
    ['{"contrato":" 8778500993 "}', 'content.contrato'],
  ];
  for (const [index, [text, field]] of cases.entries()) {
    const content = parseJson(text);
    assert(content.kind === 'parsed');
    const refused = await sign(`f${index}`, content.value as JsonObject);
    assert(refused.kind === 'refused', JSON.stringify(refused));
    const [breach] = refused.breaches;
    assert.deepEqual([breach?.rule, breach?.field], ['note-of-this-flow', field]);
    assert.match(breach!.problem, new RegExp(`c-99; the note of this flow is ${ownNote.noteNumber}`));
  }
  // Known to no flow, as a note of a renegotiation or a mistyped one (integrator, session 33).
  const unknown = await sign('unknown', { numeroContrato: '999' });
  assert(unknown.kind === 'refused' && unknown.breaches[0]?.rule === 'note-of-this-flow', JSON.stringify(unknown));
  assert.match(unknown.breaches[0]!.problem, /not the note of this flow; the note of this flow is 77/);
  assert.equal(sent.length, before);
  const own = await sign('own', { numeroContrato: ownNote.noteNumber });
  assert.equal(own.kind, 'taken', JSON.stringify(own));
});

test('a signature that names a note which was replaced is refused (second stranger of issue 16)', async (context) => {
  const { world, front, sent, reaches, tell } = await notedFlow(context);
  let asked = 0;
  world.answerTo = ({ operation }) => {
    asked += 1;
    const body = `{"codigoRequisicao":"q-${asked}"}`;
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  const flowId = `c-${requestId}`;
  const noted = async (noteNumber: string) => {
    await reaches(flowId, 'awaiting-note');
    const requestCode = `q-${asked}`;
    const note = { ...ownNote, noteNumber };
    const event = { kind: 'credit-note', at: Date.now(), requestCode, of: 'contract', note } as const;
    await tell(requestCode, { ...event, errors: [], sealed: '{}' });
    await reaches(flowId, 'awaiting-signature');
    await takeNote(front);
  };
  await noted('1065125498');
  const again = await front.ask(flowId, { by: 'ana', key: 'r' }, { step: 'regenerate', reason: 'valor errado' });
  assert.equal(again.kind, 'taken', JSON.stringify(again));
  await noted('4536717063');
  const sign = (key: string, numeroContrato: string) =>
    front.ask(flowId, { by: 'ana', key }, { step: 'sign', signedAt: Date.now(), content: { numeroContrato } });
  const before = sent.length;
  const refused = await sign('old', '1065125498');
  assert(refused.kind === 'refused', JSON.stringify(refused));
  assert.deepEqual(
    refused.breaches.map(({ rule, field, problem }) => [rule, field, problem]),
    [
      [
        'note-of-this-flow',
        'content.numeroContrato',
        'it is a note of this flow that was replaced; the note of this flow is 4536717063',
      ],
    ],
  );
  assert.equal(sent.length, before);
  assert.equal((await sign('new', '4536717063')).kind, 'taken');
});

test('of signatures asked for at the same moment the one that was sent is told as done, the others as ignored', async (context) => {
  const { world, front, state, reaches, tell } = await notedFlow(context);
  world.answerTo = ({ operation }) => {
    const body = '{"codigoRequisicao":"q-7"}';
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  const flowId = `c-${requestId}`;
  await reaches(flowId, 'awaiting-note');
  const event = { kind: 'credit-note', at: Date.now(), requestCode: 'q-7', of: 'contract', note: ownNote } as const;
  await tell('q-7', { ...event, errors: [], sealed: '{}' });
  await reaches(flowId, 'awaiting-signature');
  await takeNote(front);
  const content = { numeroContrato: ownNote.noteNumber };
  const keys = ['par1', 'par2', 'par3'];
  const results = await Promise.all(
    keys.map((key) => front.ask(flowId, { by: 'ana', key }, { step: 'sign', signedAt: Date.now(), content })),
  );
  await reaches(flowId, 'endorsed');
  const signs = (await state(flowId))!.steps.filter(({ step }) => step === 'sign');
  assert.deepEqual(
    signs.map(({ outcome }) => outcome),
    ['done', 'ignored', 'ignored'],
  );
  for (const [index, key] of keys.entries()) {
    assert.equal(results[index]!.kind === 'taken', key === signs[0]!.stepId, key);
  }
});

test('a simulation by a balance alone leaves the CPF out, and is none of the worker', async (context) => {
  const { front, sent, world } = await startFlowHouse(context);
  world.answerTo = ({ operation }) => {
    const body =
      operation === 'inclusion'
        ? '{"HasError":false,"CodigoProposta":"p-1"}'
        : '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}';
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  const begun = await front.startWithdrawal(
    { by: 'ana', key: 'w' },
    { cpf: '52998224725', birthDate: null, signerCpfs: [] },
  );
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  const simulate = (key: string, balanceAlone: boolean) =>
    front.ask(flowId, { by: 'ana', key }, stepAsked('simulation', { balanceCents: 5_000, balanceAlone }));
  const include = (key: string) =>
    front.ask(
      flowId,
      { by: 'ana', key },
      { step: 'inclusion', request: { period: 3, pix: { key: 'ana@exemplo.example' } } },
    );
  assert.equal((await simulate('s1', true)).kind, 'taken');
  await eventually(() => sent.length === 1);
  assert.equal(sent[0]!.body, '{"dto":{"Saldo":50}}');
  let early = await include('i1');
  for (let round = 0; round < 50 && early.kind === 'refused' && early.problem === 'not-allowed'; round += 1) {
    await sleep(50);
    early = await include('i1');
  }
  assert(early.kind === 'refused' && early.breaches[0]?.rule === 'simulated-first', JSON.stringify(early));
  assert.equal((await simulate('s2', false)).kind, 'taken');
  await eventually(() => sent.length === 2);
  assert.match(sent[1]!.body, /"CpfTrabalhador":"52998224725"/);
  // The worker's CPF beside a balance that somebody gave: the service reckons with that balance (integrator, session 33).
  const settled = async (key: string) => {
    for (let round = 0; ; round += 1) {
      const answer = await include(key);
      if (answer.kind !== 'refused' || answer.problem !== 'not-allowed' || round === 50) return answer;
      await sleep(50);
    }
  };
  const given = await settled('i2');
  assert(given.kind === 'refused' && given.breaches[0]?.rule === 'simulated-first', JSON.stringify(given));
  const own = await front.ask(flowId, { by: 'ana', key: 's3' }, stepAsked('simulation', {}));
  assert.equal(own.kind, 'taken', JSON.stringify(own));
  await eventually(() => sent.length === 3);
  assert.doesNotMatch(sent[2]!.body, /Saldo/);
  const included = await settled('i3');
  assert.equal(included.kind, 'taken', JSON.stringify(included));
});

test('a contract goes not beyond the bid, nor so far below it that its unit was mistaken (clerk, session 33)', async (context) => {
  const { won, front } = await startFlowHouse(context);
  won.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  const order = orderOf(requestId);
  const start = async (change: object) => {
    const result = await front.startContract(
      { by: 'ana', key: randomUUID() },
      { ...order, contract: { ...order.contract, ...change } },
    );
    return result.kind === 'refused' ? result.breaches.filter(({ rule }) => rule === 'as-bid') : [];
  };
  for (const [change, field] of [
    [{ amountCents: 650_001 }, 'amountCents'],
    [{ amountCents: 6_500 }, 'amountCents'],
    // R$ 6,500.00 with a digit lost.
    [{ amountCents: 65_000 }, 'amountCents'],
    [{ amountCents: null, installmentCents: 38_001 }, 'installmentCents'],
    [{ installments: 25 }, 'installments'],
    [{ rateHundredths: 24 }, 'rateHundredths'],
  ] as const) {
    const breaches = await start(change);
    assert.deepEqual(
      breaches.map((breach) => breach.field),
      [field],
      JSON.stringify([change, breaches]),
    );
    assert.match(breaches[0]!.problem, /^the bid was \d+: /);
    const isSmall = 'amountCents' in change && change.amountCents !== null && change.amountCents < 650_000;
    if (isSmall) assert.match(breaches[0]!.problem, /and cannot be ordered: send more than 65000 /);
  }
  // Below the bid, which somebody may have typed by mistake (back office, session 47).
  const { amountCents, installments, rateHundredths } = offer;
  const below = { amountCents: 100_000, installments: 6, rateHundredths: 200 };
  const least = [...(await start(below)), ...(await start({ amountCents: null, installmentCents: 30_000 }))];
  assert.deepEqual(
    least.map(({ field, problem }) => [field, problem.slice(0, problem.indexOf(':'))]),
    [
      ['amountCents', `the bid was ${amountCents}, and this is 100000`],
      ['installments', `the bid was ${installments}, and this is 6`],
      ['rateHundredths', `the bid was ${rateHundredths}, and this is 200`],
      ['installmentCents', `the bid was ${offer.installmentCents}, and this is 30000`],
    ],
  );
  for (const { problem } of least) assert.match(problem, /send what was bid, or, .* send true in despiteBid$/);
  const lower = { ...order, despiteBid: true, contract: { ...order.contract, ...below } };
  assert.equal((await front.startContract({ by: 'ana', key: randomUUID() }, lower)).kind, 'taken');
  // Nothing is known of its link, so it stays in preparation however slowly this goes on.
  const { front: other, won: wonThere, state } = await startFlowHouse(context);
  wonThere.set(requestId, folded(ours, claimed(), answered(accepted), contemplated(), proposed()));
  assert.equal((await other.startContract({ by: 'ana', key: 'k1' }, orderOf(requestId))).kind, 'taken');
  const amended = await other.ask(
    `c-${requestId}`,
    { by: 'ana', key: 'a1' },
    { step: 'amend', contract: { ...order.contract, installments: 240 } },
  );
  assert(amended.kind === 'refused', JSON.stringify(amended));
  assert.deepEqual([amended.breaches[0]?.rule, amended.breaches[0]?.field], ['as-bid', 'contract.installments']);
  const amend = async (amountCents: number, account: object, confirmed: { despiteBid?: boolean } = {}) => {
    const contract = { ...order.contract, account: { ...order.contract.account, ...account }, amountCents };
    const asker = { by: 'ana', key: randomUUID() };
    const result = await other.ask(`c-${requestId}`, asker, { step: 'amend', contract, ...confirmed });
    return result.kind === 'refused'
      ? result.breaches.map(({ rule, field }) => `${rule} ${field}`).join()
      : result.kind;
  };
  assert.equal(await amend(600_000, {}), 'as-bid contract.amountCents');
  assert.equal(await amend(600_000, {}, { despiteBid: true }), 'taken');
  // Who amends something else later does not say it again.
  await sleep(300);
  assert.equal(await amend(600_000, { account: '777' }), 'taken');
  assert.equal((await state(`c-${requestId}`))!.phase, 'preparing');
  assert.equal(await amend(590_000, {}), 'as-bid contract.amountCents');
  const kind = await other.ask(
    `c-${requestId}`,
    { by: 'ana', key: 'a2' },
    { step: 'amend', renegotiation: { installments: 3, rateHundredths: 100 } },
  );
  assert(kind.kind === 'refused' && kind.breaches[0]?.rule === 'amends-own-kind', JSON.stringify(kind));
});

test('a query or an account update that names a proposal of another flow is refused (integrator, session 33)', async (context) => {
  const { front, flows, sent } = await startFlowHouse(context);
  const begun = await front.startWithdrawal(
    { by: 'ana', key: 'w' },
    { cpf: '52998224725', birthDate: null, signerCpfs: [], proposalCode: 'own-1' },
  );
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  const { findByCode } = flows;
  flows.findByCode = async (codes) => {
    const others = codes.filter((code) => code === 'proposal:other-2').map((code) => [code, 'w-2'] as const);
    return new Map([...(await findByCode(codes)), ...others]);
  };
  for (const asked of [
    { step: 'proposal', request: { dto: { CodigoProposta: 'other-2' } } },
    { step: 'proposal', request: { dto: { qualquer: ['other-2'] } } },
    { step: 'account-update', request: { extra: { conta: 'other-2' } } },
  ] as const) {
    const refused = await front.ask(flowId, { by: 'ana', key: randomUUID() }, asked as never);
    assert(refused.kind === 'refused' && refused.breaches[0]?.rule === 'locator-kept', JSON.stringify(refused));
    assert.match(refused.breaches[0]!.problem, /w-2/);
  }
  assert.equal(sent.length, 0);
});

test('a result code that several wins have is no code of their proposals, and keeps nothing back', async (context) => {
  const { world, won, start, noted, sign, reaches, ask, front, state, flows } = await takingHouse(context);
  const { answerTo } = world;
  const rejected = {
    kind: 'rejected',
    code: 'E1',
    errors: [],
    ...heard,
    response: { status: 400, body: '{}' },
  } as const;
  world.answerTo = (prepared, most) => (prepared.operation === 'proposal' ? rejected : answerTo(prepared, most));
  const codes = ['0', 'SUCESSO', '00', 'prop-77'];
  const { set } = won;
  for (const [index, proposalCode] of codes.entries()) {
    won.set = (id, bid) => set.call(won, id, { ...bid, winner: { ...bid.winner!, proposalCode } });
    for (const requestId of [`70${index}`, `71${index}`]) await start(requestId);
    await noted(`c-70${index}`, { noteNumber: `N-70${index}`, proposalCode: uuid(index) });
    await noted(`c-71${index}`, { noteNumber: `N-71${index}`, proposalCode: uuid(50 + index) });
    assert.equal((await state(`c-70${index}`))!.proposal?.code, proposalCode);
  }
  const order = { cpf: '39053344705', birthDate: null, signerCpfs: [], proposalCode: uuid(99) };
  const begun = await front.startWithdrawal({ by: 'ana', key: 'w' }, order);
  assert(begun.kind === 'taken');
  for (const [index, code] of codes.entries()) {
    const content = { numeroContrato: `N-70${index}`, resultadoLiveness: code };
    const query = { step: 'proposal', request: { dto: { CodigoProposta: uuid(99), digito: code } } } as const;
    if (code === 'prop-77') {
      assert.equal((await flows.findByCode([`proposal:${code}`])).size, 1);
      assert.deepEqual(refusedBy(await ask(begun.state.flowId, query)), [['locator-kept', 'dto.digito']]);
      continue;
    }
    const asked = await ask(begun.state.flowId, query);
    assert.equal(asked.kind, 'taken', JSON.stringify(asked));
    await eventually(async () =>
      (await state(begun.state.flowId))!.steps.every(({ outcome }) => outcome !== 'pending'),
    );
    assert.equal((await sign(`c-70${index}`, content)).kind, 'taken', code);
    await reaches(`c-70${index}`, 'endorsed');
  }
});

test('a second withdrawal of a worker beside one under way is refused, unless it is meant', async (context) => {
  const { front, reaches } = await startFlowHouse(context);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [] };
  const start = (key: string, more: object = {}) => front.startWithdrawal({ by: 'ana', key }, { ...order, ...more });
  const first = await start('w1');
  assert(first.kind === 'taken');
  assert.equal((await start('w1')).kind, 'known');
  const second = await start('w2');
  assert(second.kind === 'refused' && second.problem === 'conflict');
  assert.deepEqual([second.breaches[0]?.rule, second.breaches[0]?.field], ['withdrawal-live', 'alongside']);
  assert.ok(second.breaches[0]!.problem.includes(first.state.flowId));
  assert.equal((await start('w3', { cpf: '39053344705' })).kind, 'taken');
  assert.equal((await start('w4', { alongside: true })).kind, 'taken');
  for (const [index, key] of ['w5', 'w6'].entries()) {
    const live = await start(key);
    assert(live.kind === 'refused');
    const [flowId] = /w-[0-9a-f]+/.exec(live.breaches[0]!.problem)!;
    await front.ask(flowId, { by: 'ana', key: `x${index}` }, { step: 'cancel', reason: 'not this one' });
    await reaches(flowId, 'cancelled');
  }
  assert.equal((await start('w7')).kind, 'taken', "those that ended are in nobody's way");
});

test('of withdrawals of one worker that are ordered at once, one begins', async (context) => {
  const { front, history, reaches, flows } = await startFlowHouse(context);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [] };
  const start = (key: string, more: object = {}) => front.startWithdrawal({ by: 'ana', key }, { ...order, ...more });
  const atOnce = (round: string) => Promise.all([1, 2, 3, 4, 5, 6].map((each) => start(`${round}-${each}`)));
  const taken: string[] = [];
  for (const round of ['a', 'b']) {
    const results = await atOnce(round);
    const begun = results.flatMap((result) => (result.kind === 'taken' ? [result.state] : []));
    assert.equal(begun.length, 1, results.map(({ kind }) => kind).join());
    const { flowId, key } = begun[0]!;
    for (const result of results.filter(({ kind }) => kind !== 'taken')) {
      assert(result.kind === 'refused' && result.problem === 'conflict', JSON.stringify(result));
      const [breach] = result.breaches;
      assert.deepEqual([breach!.rule, breach!.field], ['withdrawal-live', 'alongside']);
      assert.ok(breach!.problem.includes(flowId) && breach!.problem.includes('alongside'), breach!.problem);
    }
    taken.push(flowId);
    assert.equal((await start(key!)).kind, 'known', 'its key finds it');
    const other = await start(key!, { cpf: '39053344705' });
    assert(other.kind === 'refused' && other.breaches[0]?.rule === 'key-reused', JSON.stringify(other));
    await front.ask(flowId, { by: 'ana', key: `x-${round}` }, { step: 'cancel', reason: 'not this one' });
    await reaches(flowId, 'cancelled');
    const again = await start(key!);
    assert(again.kind === 'known' && again.state.flowId === flowId, 'its key finds it when it has ended');
  }
  assert.equal(new Set(taken).size, 2);
  const around = { flow: 'withdrawal', phase: null, code: null, limit: 20, before: null } as const;
  const known = (await flows.query(around)).map(({ flowId }) => flowId);
  assert.deepEqual(known.toSorted(), taken.toSorted());
  assert.ok((await history(taken[0]!)).some(({ kind }) => kind === 'started'));
});

test('a withdrawal of somebody who is no adult of at most 120 years is refused', async (context) => {
  const { front } = await startFlowHouse(context);
  for (const birthDate of ['1800-01-01', '2020-05-17']) {
    const order = { cpf: '52998224725', birthDate, signerCpfs: [] };
    const refused = await front.startWithdrawal({ by: 'ana', key: birthDate }, order);
    assert(refused.kind === 'refused', birthDate);
    const [breach] = refused.breaches;
    assert.deepEqual([breach?.rule, breach?.field], ['birth-date-adult', 'birthDate']);
    assert.match(breach!.problem, /18 to 120 years/);
  }
});

test('a second process whose view has not heard of the first withdrawal begins no other beside it', async (context) => {
  const { front, flows } = await startFlowHouse(context);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [] };
  const { query, read } = flows;
  let isBlind = true;
  flows.query = async (asked) => (isBlind ? [] : query(asked));
  flows.read = async (flowIds) => (isBlind ? new Map() : read(flowIds));
  const first = front.startWithdrawal({ by: 'ana', key: 'one' }, order);
  const second = front.startWithdrawal({ by: 'bea', key: 'two' }, order);
  await new Promise((resolve) => setTimeout(resolve, 100));
  isBlind = false;
  const kinds = (await Promise.all([first, second])).map(({ kind }) => kind);
  assert.deepEqual(kinds.toSorted(), ['refused', 'taken']);
});

test("a proposal that was taken up by a code that nobody has seen is in no withdrawal's way (clerk, issue 16)", async (context) => {
  const { front } = await startFlowHouse(context);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [] };
  const invented = await front.startWithdrawal({ by: 'ana', key: 'p' }, { ...order, proposalCode: 'invented-1' });
  assert(invented.kind === 'taken');
  assert.equal((await front.startWithdrawal({ by: 'ana', key: 'w' }, order)).kind, 'taken');
});

test('a key that may hold a CPF is stored as a pseudonym; one stored as it came is known again (defect line 14)', async (context) => {
  const { front, append, state } = await startFlowHouse(context);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const asItCame = (key: string) => `w-${createHash('sha256').update(`withdrawal\n${key}`).digest('hex').slice(0, 24)}`;
  const key = 'order-529.982.247-25';
  const begun = await front.startWithdrawal({ by: 'ana', key }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  assert.equal(begun.state.key, plainVault.pseudonym(`key:${key}`));
  assert.notEqual(flowId, asItCame(key));
  assert.equal((await front.startWithdrawal({ by: 'ana', key }, order)).kind, 'known');
  const cancel = () => front.ask(flowId, { by: 'ana', key }, { step: 'cancel', reason: 'not this one' });
  const [first, again] = [await cancel(), await cancel()];
  assert(first.kind === 'taken' && again.kind === 'known', JSON.stringify(again));
  assert.deepEqual(
    again.state.steps.map(({ stepId }) => stepId),
    [plainVault.pseudonym(`key:${key}`)],
  );
  const old = 'order-52998224725';
  const { subject, requestHash, sealed } = begun.state;
  await append({
    topic: 'flows',
    key: asItCame(old),
    record: {
      ...{
        kind: 'started',
        flowId: asItCame(old),
        at: Date.now(),
        flow: 'withdrawal',
        by: 'ana',
        key: old,
        terms: null,
      },
      ...{ subject, requestHash: requestHash!, sealed: sealed! },
    },
  });
  await eventually(async () => (await state(asItCame(old)))?.key === old);
  const known = await front.startWithdrawal({ by: 'ana', key: old }, order);
  assert(known.kind === 'known' && known.state.flowId === asItCame(old), JSON.stringify(known));
});

test('an order whose CPF has wrong check digits begins nothing and names the field', async (context) => {
  const { front } = await startFlowHouse(context);
  const [right, wrong] = ['52998224725', '52998224726'];
  const asker = { by: 'ana', key: 'wrong' };
  const lookup = { link: null, authorisationNumber: null, cached: null, reason: 'asked by the worker' };
  const refused = [
    [await front.startWithdrawal(asker, { cpf: wrong, birthDate: null, signerCpfs: [] }), ['cpf']],
    [
      await front.startWithdrawal(asker, { cpf: wrong, birthDate: null, signerCpfs: [right, wrong] }),
      ['cpf', 'signerCpfs.1'],
    ],
    [await front.startWithdrawal(asker, { cpf: right, birthDate: null, signerCpfs: [wrong] }), ['signerCpfs.0']],
    [await front.startLookup(asker, { cpf: wrong, ...lookup }), ['cpf']],
  ] as const;
  for (const [result, fields] of refused) {
    assert(result.kind === 'refused' && result.problem === 'breach', JSON.stringify(result));
    assert.deepEqual(
      result.breaches.map(({ rule, field }) => [rule, field]),
      fields.map((field) => ['cpf-valid', field]),
    );
    assert.ok(!JSON.stringify(result).includes(wrong));
  }
  assert.equal((await front.startLookup(asker, { cpf: right, ...lookup })).kind, 'taken');
});

test('a step out of order is told which ones are possible', async (context) => {
  const { front } = await startFlowHouse(context);
  const begun = await front.startWithdrawal(
    { by: 'ana', key: 'w' },
    { cpf: '52998224725', birthDate: null, signerCpfs: [] },
  );
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  const early = await front.ask(flowId, { by: 'ana', key: 'f' }, { step: 'finalisation', request: {} });
  assert(early.kind === 'refused' && early.problem === 'not-allowed');
  assert.match(early.breaches[0]!.problem, /while the flow is started; possible now: cancel, simulation$/);
  await front.ask(flowId, { by: 'ana', key: 'c' }, { step: 'cancel', reason: 'over' });
  const late = await front.ask(flowId, { by: 'ana', key: 'g' }, { step: 'finalisation', request: {} });
  assert(late.kind === 'refused');
  assert.match(
    late.breaches[0]!.problem,
    /while the flow is cancelled; no step is possible now: start it again under another key$/,
  );
});

test('an operation with a key is sent so often in all as is set, however the attempts are spread, and that is shown', async (context) => {
  const { front, sent, world, state } = await startFlowHouse(context);
  const asked: number[] = [];
  world.answerTo = (_prepared, maxAttempts) => {
    asked.push(maxAttempts);
    const attempts = Math.min(2, maxAttempts);
    return { kind: 'unknown', reason: 'status-503', response: null, firstByteAt: Date.now(), attempts };
  };
  const begun = await front.startWithdrawal(
    { by: 'ana', key: 'w' },
    { cpf: '52998224725', birthDate: null, signerCpfs: [] },
  );
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  await front.ask(flowId, { by: 'ana', key: 's1' }, { step: 'simulation', request: {} });
  await eventually(async () => (await state(flowId))?.operation?.status === 'unclear', 5_000);
  assert.deepEqual(asked, [3, 1]);
  assert.equal(new Set(sent.map(({ idempotencyKey, body }) => `${idempotencyKey} ${body}`)).size, 1);
  assert.equal(flowView((await state(flowId))!, null, settings).operation?.attempts, 3);
  // Everybody sees whether the money is out (integrator, session 33).
  const now = (await state(flowId))!;
  const told = (situation: number | null): FlowState => ({ ...now, situation });
  const known = [{ code: 5, state: 'released' }] as const;
  assert.deepEqual(flowView(told(5), null, { ...settings, situations: known }).situation, {
    code: 5,
    state: 'released',
    at: null,
  });
  assert.deepEqual(flowView(told(7), null, { ...settings, situations: known }).situation, {
    ...{ code: 7, state: null, at: null },
  });
  assert.equal(flowView(told(null), null, { ...settings, situations: known }).situation, null);
  const signed = { ...now, phase: 'signed', operation: null, signedKeys: [] } as const;
  assert.ok(!nextSteps(signed, settings, null).includes('finalisation'), 'a signer is missing');
  const whole = { ...signed, signedKeys: signed.subject.signerKeys };
  assert.ok(!nextSteps(whole, settings, null).includes('finalisation'), 'nothing was said of the proposal');
  const said = { ...whole.results, proposal: { at: 1, sealedAnswer: null } };
  assert.ok(nextSteps({ ...whole, results: said }, settings, null).includes('finalisation'));
  const simulated = { ...signed, phase: 'simulated', simulatedKey: null } as const;
  assert.ok(
    !nextSteps(simulated, settings, null).includes('inclusion'),
    "no balance of the worker's own was simulated",
  );
  assert.ok(nextSteps({ ...simulated, simulatedKey: 'w' }, settings, null).includes('inclusion'));
});
