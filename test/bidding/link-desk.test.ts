/** Requests that wait for their employment link: one query a link, woken by its detail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthorisations, noting } from '../../src/bidding/authorisations.ts';
import { createLinkDesk } from '../../src/bidding/link-desk.ts';
import type { LinkQuery, QueryAnswer, Service } from '../../src/bidding/ports.ts';
import type { Link, LoanRequest, WorkerIdentity } from '../../src/domain/request.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { workerKeyOf } from '../../src/wire/identity.ts';
import { isDetailOf } from '../../src/wire/links.ts';
import { sampleLink, sampleRequest } from '../rules/sample-request.ts';
import { createTestVault } from '../wire/vault.ts';
import { createManualClock } from './manual-clock.ts';
import { at, folded, requested, settings } from './parts.ts';

const vault = createTestVault();
const keyOf = (cpf: string) => workerKeyOf(vault, cpf);
const identity: WorkerIdentity = {
  cpf: '00000000191',
  name: 'Worker',
  registration: '7',
  employerId: sampleRequest.employerId,
  employerIdType: 1,
};

function waiting(requestId: string, change: Partial<LoanRequest> = {}, asked = identity): RequestState {
  const sealed = vault.seal(sealedPlaces.request(requestId), JSON.stringify({ identity: asked }));
  return folded({ ...requested({ sealed, request: { ...sampleRequest, requestId, ...change } }), requestId });
}

/** A detail of the link of `identity`, with what is changed in it. */
const told = (
  linkKey: string,
  requestCode: string | null = null,
  workerKey = 'worker-pseudonym',
  change: { matricula?: string; numeroInscricaoEmpregador?: string | number } = {},
) => ({
  detail: { ...sampleLink, linkKey, workerKey },
  requestCode,
  sealed: vault.seal(
    sealedPlaces.callback(workerKey),
    JSON.stringify({
      CodigoRequisicao: requestCode,
      Payload: {
        ...{ cpf: 191, matricula: '007', inscricaoEmpregador: { codigo: 1 }, elegivel: true },
        ...{ numeroInscricaoEmpregador: identity.employerId, ...change },
      },
    }),
  ),
});
const acknowledged: QueryAnswer = { kind: 'acknowledged', requestCode: null };
const failed: QueryAnswer = { kind: 'failed', reason: 'headers-timeout' };
const refused: QueryAnswer = { kind: 'refused', reason: 'authorisation-expired', response: { status: 422, body: '' } };

function setUp(answers: readonly QueryAnswer[], always = false) {
  const clock = createManualClock(at);
  const asked: { list: boolean; query: LinkQuery }[] = [];
  const refusals: string[] = [];
  const ends: [linkKey: string, isRefused: boolean][] = [];
  const answer = (list: boolean) => async (query: LinkQuery) => {
    asked.push({ list, query });
    return answers[Math.min(asked.length, answers.length) - 1]!;
  };
  const refusalIn = (text: string) => (text.includes('NSU') ? 'authorisation-missing' : 'unclassified');
  const authorisations = createAuthorisations({ always });
  const service = { askLinkDetail: answer(false), listLinks: answer(true), refusalIn, isDetailOf };
  const desk = createLinkDesk({
    service: service as Pick<Service, 'askLinkDetail' | 'listLinks' | 'refusalIn' | 'isDetailOf'> as Service,
    authorisations,
    vault,
    clock,
    settings,
    observer: (event) => {
      if (event.kind === 'link-query') ends.push([event.linkKey, event.isRefused]);
    },
    stopping: () => false,
    onUnwritable: () => assert.fail('nothing is unwritable'),
    onRefused: (requestIds, reason) => refusals.push(...requestIds.map((requestId) => `${requestId} ${reason}`)),
  });
  return { clock, asked, refusals, ends, desk, authorisations };
}

test('one query a link, however many requests wait for it', async () => {
  const { clock, asked, desk } = setUp([acknowledged]);
  assert.equal(desk.park(waiting('1'), 'needed'), null);
  assert.equal(desk.park(waiting('2'), 'needed'), null);
  assert.equal(desk.park(waiting('1'), 'needed'), null);
  await clock.advance(10_000);
  assert.equal(asked.length, 1);
  assert.deepEqual(asked[0], { list: false, query: { identity, authorisationNumber: '1', cached: true } });
  assert.equal(desk.parkedCount(), 2);
  assert.deepEqual(desk.detailArrived(told('link-pseudonym')), ['1', '2']);
  desk.unpark('1');
  assert.deepEqual(desk.detailArrived(told('link-pseudonym')), ['2']);
  assert.deepEqual(desk.detailArrived(told('another')), []);
});

test('a query that failed is asked again, as long as somebody waits', async () => {
  const { clock, asked, desk } = setUp([failed]);
  desk.park(waiting('1'), 'needed');
  await clock.advance(100 + 200 + 400);
  assert.equal(asked.length, 4);
  desk.unpark('1');
  await clock.advance(60_000);
  assert.equal(asked.length, 4);
  assert.equal(desk.waitingSince('1'), null);
});

test('each query tells once how it ended: refused in unknown words, or not', async () => {
  const forbidden: QueryAnswer = { kind: 'refused', reason: 'unclassified', response: { status: 403, body: '' } };
  for (const [answers, expected] of [
    [[failed, forbidden], [['link-pseudonym', true]]],
    [[refused], [['link-pseudonym', false]]],
    [[acknowledged], []],
  ] as const) {
    const { clock, ends, desk } = setUp(answers);
    desk.park(waiting('1'), 'needed');
    desk.park(waiting('2'), 'needed');
    await clock.advance(1_000);
    assert.deepEqual(ends, expected);
  }
  const { clock, ends, desk } = setUp([{ kind: 'acknowledged', requestCode: 'q' }]);
  desk.park(waiting('1'), 'needed');
  await clock.advance(1_000);
  desk.detailArrived(told('of-another-process'));
  assert.deepEqual(ends, []);
  desk.detailArrived(told('link-pseudonym'));
  assert.deepEqual(ends, [['link-pseudonym', false]]);
});

test('a refused query is told to everybody who waits', async () => {
  const { clock, refusals, desk } = setUp([failed, refused]);
  desk.park(waiting('1'), 'needed');
  desk.park(waiting('2'), 'needed');
  await clock.advance(1_000);
  assert.deepEqual(refusals, ['1 authorisation-expired', '2 authorisation-expired']);
});

test('an answer that cannot be read is told to everybody who waits, whenever its code is known', async () => {
  const unread = { requestCode: 'q-1', errors: [], unread: true, sealed: '' } as const;
  for (const order of ['after', 'before'] as const) {
    const { clock, refusals, desk } = setUp([{ kind: 'acknowledged', requestCode: 'q-1' }]);
    desk.park(waiting('1'), 'needed');
    desk.park(waiting('2'), 'useful');
    if (order === 'before') desk.failureArrived(unread);
    await clock.settle();
    if (order === 'after') desk.failureArrived(unread);
    assert.deepEqual(refusals, ['1 unread', '2 unread'], order);
  }
});

test('a request that is decided without its link as well is given up alone, and is not asked for again', async () => {
  const { clock, asked, desk } = setUp([refused, acknowledged]);
  desk.park(waiting('1'), 'needed');
  desk.park(waiting('2'), 'useful');
  await clock.settle();
  assert.deepEqual(desk.giveUp(['1', '2']), ['2']);
  assert.equal(desk.park(waiting('2'), 'useful'), 'in-vain');
  assert.deepEqual([desk.waitingSince('1') === null, desk.waitingSince('2'), asked.length], [false, null, 1]);
  // It ended; what comes under its id again is another matter.
  desk.unpark('2');
  assert.equal(desk.park(waiting('2'), 'useful'), null);
});

test('without an authorisation number it is not asked for, unless the setting allows it', async () => {
  const strict = setUp([acknowledged]);
  assert.equal(strict.desk.park(waiting('1', { authorisationNumber: null }), 'needed'), 'authorisation-missing');
  const lenient = setUp([acknowledged], true);
  assert.equal(lenient.desk.park(waiting('1', { authorisationNumber: null }), 'needed'), null);
  await lenient.clock.settle();
  assert.deepEqual([strict.asked.length, lenient.asked.length], [0, 1]);
  assert.equal(strict.desk.park(waiting('2', { workerKey: null }), 'needed'), 'margin-missing');
});

test('once the service took a query with a number, later ones of the worker need none', async () => {
  const { asked, desk, authorisations, clock } = setUp([acknowledged]);
  const workerKey = workerKeyOf(vault, identity.cpf!);
  const later = waiting('2', { workerKey, authorisationNumber: null });
  const query = { identity, cached: true };
  authorisations.taken(workerKey, null);
  assert.equal(desk.park(later, 'needed'), 'authorisation-missing');
  authorisations.taken(workerKey, '1');
  assert.equal(desk.park(later, 'needed'), null);
  assert.equal(
    desk.park(waiting('3', { workerKey: 'another', authorisationNumber: null }), 'needed'),
    'authorisation-missing',
  );
  await clock.settle();
  assert.deepEqual(asked, [{ list: false, query: { ...query, authorisationNumber: null } }]);
});

test('only a query that the service acknowledged counts as one', async () => {
  const authorisations = createAuthorisations({ always: false });
  const workerKey = workerKeyOf(vault, identity.cpf!);
  let answer: QueryAnswer = refused;
  const service = noting({ listLinks: async () => answer, askLinkDetail: async () => answer }, authorisations, keyOf);
  await service.askLinkDetail({ identity, authorisationNumber: '1', cached: true });
  assert.equal(authorisations.mayAsk(workerKey, null), false);
  answer = acknowledged;
  await service.listLinks({ identity, authorisationNumber: '1', cached: true });
  assert.equal(authorisations.mayAsk(workerKey, null), true);
});

test('a request that names no link: the list is asked, then the one link that fits', async () => {
  const { clock, asked, desk } = setUp([acknowledged]);
  const link = (linkKey: string, change: Partial<Link> = {}): Link => ({
    linkKey,
    eligible: true,
    employerId: sampleRequest.employerId,
    employerIdType: 1,
    sealedIdentity: vault.seal(
      sealedPlaces.link(sampleRequest.workerKey!, linkKey),
      JSON.stringify({ ...identity, registration: linkKey, employerId: change.employerId ?? identity.employerId }),
    ),
    ...change,
  });
  for (const requestId of ['1', '2']) desk.park(waiting(requestId, { linkKey: null }), 'needed');
  await clock.settle();
  assert.deepEqual(
    asked.map(({ list }) => list),
    [true],
  );
  const others = [link('other', { employerId: '99' }), link('barred', { eligible: false })];
  assert.deepEqual(desk.listArrived('worker-pseudonym', [...others, link('fits')]), []);
  await clock.settle();
  assert.deepEqual(
    asked.map(({ list, query }) => [list, query.identity.registration]),
    [
      [true, '7'],
      [false, 'fits'],
    ],
  );
  assert.equal(desk.linkKeyOf(waiting('1', { linkKey: null })), 'fits');
  assert.equal(desk.waitingSince('1'), at);
  assert.deepEqual(desk.detailArrived(told('fits')), ['1', '2']);
  assert.deepEqual(desk.detailArrived(told('worker-pseudonym')), []);
  // Several that fit leave it open which margin counts.
  desk.park(waiting('3', { linkKey: null }), 'needed');
  assert.deepEqual(desk.listArrived('worker-pseudonym', [link('one'), link('two')]), ['3']);
});

test('a full CNPJ in the request and its root in the list are one employer; the identifier goes back as the list has it', async () => {
  const { clock, asked, desk } = setUp([acknowledged]);
  const listed = (linkKey: string, employerId: string, registration: string): Link => ({
    ...{ linkKey, eligible: true, employerId, employerIdType: 1 },
    sealedIdentity: vault.seal(
      sealedPlaces.link(sampleRequest.workerKey!, linkKey),
      JSON.stringify({ ...identity, employerId, registration }),
    ),
  });
  const cases: [requested: string, listed: string][] = [
    ['12345678000195', '12345678'],
    ['12.345.678/0001-95', '12345678000276'],
    ['1234567', '01234567000195'],
    ['12ABC34501DE35', '12abc345'],
  ];
  for (const [index, [requestedId, listedId]] of cases.entries()) {
    const requestId = String(index);
    const sealed = vault.seal(
      sealedPlaces.request(requestId),
      JSON.stringify({ identity: { ...identity, registration: null, employerId: requestedId } }),
    );
    const request = { ...sampleRequest, requestId, linkKey: null, employerId: requestedId };
    desk.park({ ...waiting(requestId), request, sealed }, 'needed');
    const links = [listed(`link ${requestId}`, listedId, 'M-1'), listed('other', '99888777', 'M-2')];
    assert.deepEqual(desk.listArrived('worker-pseudonym', links), [], requestedId);
    await clock.settle();
    assert.equal(asked.at(-1)!.list, false);
    assert.equal(asked.at(-1)!.query.identity.employerId, listedId);
    desk.unpark(requestId);
  }
});

test('of two links at one employer the one with the registration named is asked', async () => {
  const { clock, asked, desk } = setUp([acknowledged]);
  const listed = (registration: string): Link => ({
    ...{ linkKey: `link ${registration}`, eligible: true, employerId: identity.employerId, employerIdType: 1 },
    sealedIdentity: vault.seal(
      sealedPlaces.link(sampleRequest.workerKey!, `link ${registration}`),
      JSON.stringify({ ...identity, registration }),
    ),
  });
  desk.park(waiting('1', { linkKey: null }), 'needed');
  assert.deepEqual(desk.listArrived('worker-pseudonym', [listed('6'), listed('7')]), []);
  await clock.settle();
  assert.equal(asked.at(-1)!.query.identity.registration, '7');
});

const failure = (requestCode: string, errors: readonly string[], body = '') => ({
  ...{ requestCode, errors, sealed: vault.seal(sealedPlaces.callback(requestCode), body) },
});
const acknowledgedAs = (requestCode: string): QueryAnswer => ({ kind: 'acknowledged', requestCode });

test('a query that brings nothing ends the waiting at once, by its code, before its acknowledgement or after', async () => {
  const { clock, refusals, desk } = setUp([acknowledgedAs('q1'), acknowledgedAs('q2'), acknowledgedAs('q3')]);
  desk.park(waiting('1', { linkKey: null }), 'needed');
  await clock.settle();
  desk.failureArrived(failure('unheard-of', ['X']));
  assert.deepEqual(refusals, []);
  desk.failureArrived(failure('q1', ['no-links']));
  assert.deepEqual(refusals, ['1 no-links']);
  desk.unpark('1');
  desk.failureArrived(failure('q2', ['AUTH'], '{"Erros":[{"Mensagem":"NSU ausente"}]}'));
  desk.park(waiting('2'), 'needed');
  await clock.settle();
  assert.deepEqual(refusals.slice(1), ['2 authorisation-missing']);
  desk.unpark('2');
  desk.park(waiting('3'), 'needed');
  await clock.settle();
  desk.failureArrived({ ...failure('q3', ['X']), sealed: 'unreadable' });
  assert.deepEqual(refusals.slice(2), ['3 unclassified']);
});

test('a detail under the code of the query is for who asked, though its link is named otherwise', async () => {
  const { clock, desk } = setUp([acknowledgedAs('q1')]);
  desk.park(waiting('1'), 'needed');
  await clock.settle();
  assert.deepEqual(desk.detailArrived(told('renamed', 'q1', 'another worker')), []);
  assert.deepEqual(desk.detailArrived(told('renamed', 'q2')), []);
  assert.deepEqual(desk.detailArrived(told('other', 'q1', undefined, { matricula: '77' })), [], 'another registration');
  const employer = { numeroInscricaoEmpregador: '11222333000181' };
  assert.deepEqual(desk.detailArrived(told('other', 'q1', undefined, employer)), [], 'another employer');
  assert.deepEqual(desk.detailArrived({ ...told('other', 'q1'), sealed: 'unreadable' }), []);
  assert.deepEqual(desk.detailArrived(told('renamed', 'q1')), ['1']);
  assert.equal(desk.linkKeyOf(waiting('1')), 'renamed');
});

test('whoever waits is told of a detail under the code of the query that is of somebody else (integrator, session 49)', async () => {
  const foreign: [string, ReturnType<typeof told>][] = [
    ['another worker', told('other', 'q1', 'another worker')],
    ['another registration', told('other', 'q1', undefined, { matricula: '77' })],
  ];
  for (const [what, detail] of foreign) {
    const { clock, desk, refusals } = setUp([acknowledgedAs('q1')]);
    desk.park(waiting('1'), 'needed');
    desk.park(waiting('2'), 'useful');
    await clock.settle();
    desk.detailArrived({ ...detail, requestCode: 'q2' });
    assert.deepEqual(refusals, [], 'under a code of nobody here');
    assert.deepEqual(desk.detailArrived(detail), []);
    assert.deepEqual(refusals, ['1 other-link', '2 other-link'], what);
  }
  const { clock, desk, refusals } = setUp([acknowledgedAs('q1')]);
  desk.park(waiting('1'), 'needed');
  await clock.settle();
  assert.deepEqual(desk.detailArrived(told('link-pseudonym', 'q1')), ['1']);
  assert.deepEqual(refusals, []);
});

test('a number that has lost its leading zeros is the employer that was asked about', async () => {
  const ids: [sent: string, came: number][] = [
    ['00000000000191', 191],
    ['00000000000272', 272],
    ['00000001000191', 1_000_191],
  ];
  for (const [employerId, came] of ids) {
    const { clock, desk } = setUp([acknowledgedAs('q1')]);
    desk.park(waiting('1', {}, { ...identity, employerId }), 'needed');
    await clock.settle();
    const other = { numeroInscricaoEmpregador: came + 1 };
    assert.deepEqual(desk.detailArrived(told('other', 'q1', undefined, other)), [], 'another employer');
    const detail = told('renamed', 'q1', undefined, { numeroInscricaoEmpregador: came });
    assert.deepEqual(desk.detailArrived(detail), ['1'], employerId);
    assert.equal(desk.linkKeyOf(waiting('1')), 'renamed');
  }
});

test('a detail that may be of two links wakes who waits for either, without the code of the query and once', async () => {
  const { clock, desk, ends } = setUp([acknowledged]);
  desk.park(waiting('1'), 'needed');
  await clock.settle();
  const detail = { ...told('as a root'), otherLinkKey: 'link-pseudonym' };
  assert.deepEqual(desk.detailArrived(detail), ['1']);
  assert.equal(desk.linkKeyOf(waiting('1')), sampleRequest.linkKey);
  assert.equal(ends.length, 1);
});
