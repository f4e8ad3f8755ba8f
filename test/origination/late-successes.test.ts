/** What counts as not done, and is told later to be done, is shown and settled by a person before anything more is lent. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { refusalPt } from '../../src/cli/refusal-texts-pt.ts';
import type { FlowOperation, FlowRecord, FlowTold } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { flowView } from '../../src/http/api/views.ts';
import { evolve, evolveAll } from '../../src/origination/evolve.ts';
import { successSettled } from '../../src/origination/late-successes.ts';
import { barriersNow, nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { alarmsOf, maySend, react } from '../../src/origination/react.ts';
import {
  accepted as acceptedBid,
  answered as answeredBid,
  claimed,
  contemplated,
  folded as foldedBid,
  requested,
  resolved,
} from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { sampleNote } from './flow-world.ts';
import { asked, goodTerms, settings, startAt, started, stepRequests, workerKey } from './orders.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

const endpoint = '/contrato/oferta-leilao/averbar-contrato';

function lost(requestId: string) {
  const ours = requested({ requestId, request: { ...sampleRequest, workerKey } });
  return foldedBid(ours, claimed(), answeredBid(acceptedBid), contemplated(), resolved('cancelled'));
}

/** The endorsement was taken under `q-2`; a person says that it was not done, and a second one that it is settled. */
async function denied(context: Parameters<typeof takingHouse>[0]) {
  const house = await takingHouse(context);
  const { start, noted, sign, reaches, state } = house;
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  await sign('c-701', { numeroContrato: 'N-1', assinatura: 'b' });
  await reaches('c-701', 'endorsed');
  const code = (await state('c-701'))!.endorsementCode!;
  const as = (by: string, asked: StepAsked) => house.front.ask('c-701', { by, key: `k-${by}` }, asked);
  assert.equal((await as('bruno', { step: 'deny', reason: 'não está no portal' })).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  assert.equal((await as('carla', { step: 'accept', reason: 'desfeita no portal' })).kind, 'taken');
  let bodies = 0;
  const tellDone = async () => {
    bodies += 1;
    const event = { kind: 'operation-event', at: Date.now(), requestCode: code, endpoint, errors: [] } as const;
    await house.tell(code, { ...event, shows: 'success', sealed: `{"averbado":${bodies}}` });
  };
  const late = () => eventually(async () => ((await state('c-701'))?.lateSuccesses ?? []).length === 1);
  return { ...house, code, tellDone, late };
}

test('a success under the code of a denied endorsement bars the signature of the next contract', async (context) => {
  const { ask, front, noted, sign, state, reaches, alarms, sent, code, tellDone, late } = await denied(context);
  assert.equal((await ask('c-701', { step: 'regenerate', reason: 'de novo' })).kind, 'taken');
  await noted('c-701', { noteNumber: 'N-2', proposalCode: uuid(2) });
  await tellDone();
  await late();
  await eventually(() => alarms.includes('success-late'));
  const marked = (await state('c-701'))!;
  const next = nextSteps(marked, settings, null);
  assert.ok(!next.includes('sign') && next.includes('accept') && next.includes('confirm'), next.join());
  assert.deepEqual(waitsFor(marked, settings, null).toSorted(), ['accept', 'confirm']);
  assert.ok(barriersNow(marked, settings, null).some(({ rule }) => rule === 'success-settled'));
  assert.deepEqual(
    flowView(marked, null, settings).lateSuccesses.map(({ operation, code }) => [operation, code]),
    [['endorsement', code]],
  );
  const content = { numeroContrato: 'N-2', assinatura: 'b' };
  assert.deepEqual(refusedBy(await sign('c-701', content)), [['success-settled', 'step']]);
  const before = sent.length;
  // It is undone at the service, says who has looked: nobody who stands for the loan, and no name that was only typed.
  const accept = { step: 'accept', reason: 'desfeita no portal' } as const;
  for (const who of [
    { by: 'ana' },
    { by: ' Ana', via: 'api' },
    { by: 'ana', via: 'offline' },
    { by: 'eva', via: 'offline' },
  ] as const)
    assert.deepEqual(refusedBy(await front.ask('c-701', { ...who, key: randomUUID() }, accept)), [
      ['second-person', 'step'],
    ]);
  // Where both who work on flows stand for the loan, they are told what is left to do.
  const alone = await front.ask('c-701', { by: 'ana', key: randomUUID(), via: 'api' }, accept);
  assert(alone.kind === 'refused');
  const { problem } = alone.breaches[0]!;
  assert.match(problem, /if the contract is endorsed, one of them takes the step confirm/);
  assert.match(problem, /a third person gets a token of their own \(lance tokens create\) and takes the step accept$/);
  assert.match(refusalPt(problem), /se o contrato está averbado, uma delas usa a etapa confirm/);
  assert.match(
    refusalPt(problem),
    /uma terceira pessoa recebe um token próprio \(lance tokens create\) e usa a etapa accept$/,
  );
  assert.equal((await front.ask('c-701', { by: 'carla', key: 'k-late', via: 'api' }, accept)).kind, 'taken');
  assert.equal((await sign('c-701', content)).kind, 'taken');
  await reaches('c-701', 'endorsed');
  assert.equal(sent.length, before + 1);
  assert.deepEqual((await state('c-701'))!.lateSuccesses, []);
});

test('a person who learns that the denied contract is endorsed takes that over, and nothing more is lent', async (context) => {
  const { ask, noted, state, reaches, sent, code, tellDone, late } = await denied(context);
  assert.equal((await ask('c-701', { step: 'regenerate', reason: 'de novo' })).kind, 'taken');
  await noted('c-701', { noteNumber: 'N-2', proposalCode: uuid(2) });
  await tellDone();
  await late();
  const before = sent.length;
  assert.equal((await ask('c-701', { step: 'confirm', reason: 'está no portal', requestCode: null })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  const state2 = (await state('c-701'))!;
  assert.deepEqual([state2.note?.noteNumber, state2.endorsementCode], ['N-1', code]);
  assert.ok(state2.earlierNotes?.includes('N-2'));
  assert.deepEqual(state2.lateSuccesses, []);
  assert.deepEqual(nextSteps(state2, settings, null), ['deny']);
  assert.equal(sent.length, before);
});

test('what was signed when it is told is not endorsed, and a cancelled flow that is begun again signs nothing', async (context) => {
  const { ask, state, front, reaches, noted, sign, tellDone, late } = await denied(context);
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'desistiu' })).kind, 'taken');
  await reaches('c-701', 'cancelled');
  await tellDone();
  await late();
  assert.ok(nextSteps((await state('c-701'))!, settings, null).includes('confirm'));
  const { orderOf } = await import('./flow-house.ts');
  assert.equal((await front.startContract({ by: 'ana', key: 'k-again' }, orderOf('701'))).kind, 'taken');
  await noted('c-701', { noteNumber: 'N-3', proposalCode: uuid(3) });
  assert.deepEqual(refusedBy(await sign('c-701', { numeroContrato: 'N-3', assinatura: 'b' })), [
    ['success-settled', 'step'],
  ]);
});

test('what is told late of a cancelled flow is settled though its bid is lost', async (context) => {
  const { ask, front, reaches, state, won, tellDone, late } = await denied(context);
  assert.equal((await ask('c-701', { step: 'cancel', reason: 'desistiu' })).kind, 'taken');
  await reaches('c-701', 'cancelled');
  await tellDone();
  await late();
  won.set('701', lost('701'));
  const settling = { step: 'accept', reason: 'desfeita no portal' } as const;
  assert.equal((await front.ask('c-701', { by: 'carla', key: 'k-late' }, settling)).kind, 'taken');
  assert.deepEqual((await state('c-701'))!.lateSuccesses, []);
});

// --- The fold --------------------------------------------------------------------------------------------------------

const flowId = 'c-374';
const retry = { keyedAttempts: 3, retryMs: 1_000, retryMaxMs: 8_000 };

function intended(operation: FlowOperation, number: number, more: Partial<FlowRecord> = {}): FlowRecord {
  const bytes = { instance: 'a', idempotencyKey: null, path: '/x', sealedBody: '{}', expected: null, retry };
  const named = { intentId: `i-${number}`, operation, slot: `${operation}#${number}` };
  return { kind: 'intended', flowId, at: startAt + number, ...named, ...bytes, ...more } as FlowRecord;
}

type Answered = Extract<FlowRecord, { kind: 'answered' }>;

function answered(operation: FlowOperation, number: number, result: Answered['result'], more: object = {}): FlowRecord {
  return {
    ...{ kind: 'answered', flowId, at: startAt + number, intentId: `i-${number}`, instance: 'a', result, operation },
    ...{ earlierAttemptPossible: false, firstByteAt: startAt + number, attempts: 1, status: 200, sealedAnswer: '{}' },
    ...more,
  };
}

const accepted = (requestCode: string | null, proposalCode: string | null = null) =>
  ({ kind: 'accepted', requestCode, proposalCode, situation: null }) as const;
const unheard = { kind: 'unknown', reason: 'time-out' } as const;

function told(change: Partial<FlowTold>): FlowTold {
  const said = { of: 'operation', note: null, errors: [], sealed: '{}', requestCode: 'q-2' } as const;
  return { kind: 'told', flowId, at: startAt + 20, holder: null, ...said, ...change };
}

const noted: readonly FlowRecord[] = [
  started('contract'),
  { kind: 'proposed', flowId, at: startAt, proposalCode: 'p-1', proposalNumber: null, validUntil: null, errors: [] },
  intended('contract', 1),
  answered('contract', 1, accepted('q-1')),
  told({ requestCode: 'q-1', of: 'contract', note: sampleNote, at: startAt + 2 }),
];
const sign = (id: string, at: number) =>
  asked(flowId, 'sign', id, startAt + at, { request: { assinatura: 'x' }, signedAt: startAt + at });
const unclear: readonly FlowRecord[] = [
  ...[...noted, sign('sign', 3)],
  ...[intended('endorsement', 3), answered('endorsement', 3, unheard)],
];
const deny = asked(flowId, 'deny', 'deny', startAt + 30);
const folded = (records: readonly FlowRecord[]): FlowState => evolveAll(records, settings)!;

test('an answer that comes after somebody said that nothing was done counts, and nothing is sent again', () => {
  const state = folded([...unclear, deny, answered('endorsement', 3, accepted('q-2'))]);
  assert.deepEqual([state.phase, state.endorsementCode], ['endorsed', 'q-2']);
  const old = { operation: undefined };
  const earlier = folded([...unclear, deny, answered('endorsement', 3, accepted('q-2'), old)]);
  assert.deepEqual([earlier.phase, earlier.strays], ['signed', 1], 'of an earlier version it changes nothing');
});

test('an answer to an endorsement that was sent once more is a mark, once', () => {
  const records = [...unclear, deny, intended('endorsement', 4), answered('endorsement', 4, accepted('q-3'))];
  const before = folded(records);
  const late = answered('endorsement', 3, accepted('q-2'));
  const after = folded([...records, late]);
  assert.deepEqual(
    after.lateSuccesses?.map(({ code, intentId }) => [code, intentId]),
    [['q-2', 'i-3']],
  );
  assert.ok(after.codes.includes('q-2'), 'what is told under it is found');
  assert.deepEqual(alarmsOf(before, after, settings), ['success-late']);
  const again = folded([...records, late, late, told({ shows: 'success', bodyKey: 'b-1' })]);
  assert.equal(again.lateSuccesses?.length, 1);
  assert.deepEqual(waitsFor(after, settings, null), ['accept']);
  const seen = { ...asked(flowId, 'accept', 'seen', startAt + 40), lateIntentId: 'i-3' };
  const settled = folded([...records, late, told({ shows: 'success', bodyKey: 'b-1' }), seen]);
  assert.deepEqual([settled.phase, settled.lateSuccesses], ['endorsed', []]);
  assert.deepEqual(folded([...records, late, seen, late]).lateSuccesses, [], 'told again it is nothing new');
});

test('events of earlier versions, failures and denials under a code that is given up change nothing', () => {
  const code = { endorsementCode: 'q-2' };
  const records = [
    ...[...noted, sign('sign', 3), intended('endorsement', 3), answered('endorsement', 3, accepted('q-2'))],
    { ...deny, ofEndorsed: true as const },
    asked(flowId, 'regenerate', 'again', startAt + 31),
  ];
  assert.equal(folded(records).endorsementCode, null, code.endorsementCode);
  for (const change of [
    { settles: true as const },
    { errors: ['E1'], settles: true as const },
    { denies: true as const },
  ]) {
    assert.deepEqual(folded([...records, told({ bodyKey: 'b', ...change })]).lateSuccesses ?? [], []);
  }
  assert.equal(folded([...records, told({ bodyKey: 'b', shows: 'success' })]).lateSuccesses?.length, 1);
  const open = folded([...records, told({ bodyKey: 'b', shows: 'nothing', sealed: '{"m":"Em processamento"}' })]);
  // It may have been done: what would lend again waits for a person.
  assert.deepEqual(
    open.lateSuccesses?.map(({ unshown }) => unshown),
    [true],
  );
  assert.deepEqual([open.errors, open.errorsIn?.sealed], [['told-nothing'], '{"m":"Em processamento"}']);
  assert.deepEqual(alarmsOf(folded(records), open, settings), ['success-late']);
  assert.match(successSettled(open.lateSuccesses![0]!, true).problem, /words that do not show whether it was done/);
  const shown = evolve(open, told({ bodyKey: 'c', shows: 'success' }), settings);
  assert.deepEqual(
    shown?.lateSuccesses?.map(({ unshown }) => unshown),
    [undefined],
    'shown after all',
  );
  const ofOther = told({ bodyKey: 'b', shows: 'success', requestCode: 'q-9' });
  assert.deepEqual(folded([...records, ofOther]).lateSuccesses, []);
});

test('an acceptance of words that showed nothing does not swallow the success that comes later', () => {
  const second = { ...sampleNote, noteNumber: '78', proposalCode: uuid(8) };
  const records: readonly FlowRecord[] = [
    ...[...noted, sign('sign', 3), intended('endorsement', 3), answered('endorsement', 3, accepted('q-2'))],
    told({ bodyKey: 'b-1', errors: ['E1'], settles: true, at: startAt + 4 }),
    ...[asked(flowId, 'regenerate', 'again', startAt + 5), intended('contract', 5)],
    answered('contract', 5, accepted('q-6')),
    told({ requestCode: 'q-6', of: 'contract', note: second, at: startAt + 7 }),
    told({ bodyKey: 'b-2', shows: 'nothing', at: startAt + 8 }),
  ];
  assert.deepEqual(
    folded(records).lateSuccesses?.map(({ unshown }) => unshown),
    [true],
  );
  const accept = (id: string, who: object) => ({
    ...asked(flowId, 'accept', id, startAt + 9),
    ...{ lateIntentId: 'i-3', ...who },
  });
  const settled = [...records, accept('seen', { by: 'ana', via: 'offline' })];
  const before = folded(settled);
  const isBarred = (state: FlowState) =>
    barriersNow(state, settings, null).some(({ rule }) => rule === 'success-settled');
  assert.deepEqual([before.phase, isBarred(before)], ['awaiting-signature', false]);
  const nothing = told({ bodyKey: 'b-3', shows: 'nothing', at: startAt + 10 });
  assert.deepEqual(folded([...settled, nothing]).lateSuccesses, [], 'words that show nothing are nothing new');
  const success = told({ bodyKey: 'b-4', shows: 'success', at: startAt + 11 });
  const shown = folded([...settled, nothing, success]);
  assert.deepEqual(
    shown.lateSuccesses?.map(({ intentId, unshown }) => [intentId, unshown]),
    [['i-3', undefined]],
  );
  assert.deepEqual(alarmsOf(before, shown, settings), ['success-late']);
  assert.ok(isBarred(shown));
  const all = [...settled, nothing, success];
  const alone = folded([...all, accept('alone', { by: 'ana', via: 'api' })]);
  assert.equal(alone.lateSuccesses?.length, 1);
  const known = [...all, accept('known', { by: 'carla', via: 'api' })];
  assert.deepEqual(folded(known).lateSuccesses, []);
  const again = told({ bodyKey: 'b-5', shows: 'success', at: startAt + 12 });
  assert.deepEqual(folded([...known, again]).lateSuccesses, [], 'what was shown is settled for good');
  // A stored state of an earlier version does not say what was settled: a success is news, until somebody settles it.
  for (const stored of [settled, known]) {
    const row = JSON.parse(JSON.stringify(folded(stored))) as FlowState & { operationsGivenUp: object[] };
    for (const given of row.operationsGivenUp as { isSettledUnshown?: true; isSettledShown?: true }[]) {
      delete given.isSettledUnshown;
      delete given.isSettledShown;
    }
    assert.equal(isBarred(row), false);
    assert.deepEqual(evolve(row, nothing, settings)!.lateSuccesses, []);
    const told = evolve(row, again, settings)!;
    assert.equal(told.lateSuccesses?.length, 1);
    assert.ok(isBarred(told));
    assert.equal(evolve(told, accept('alone-2', { by: 'ana', via: 'api' }), settings)!.lateSuccesses?.length, 1);
    const done = evolve(told, accept('known-2', { by: 'carla', via: 'api' }), settings)!;
    assert.deepEqual(done.lateSuccesses, []);
    assert.deepEqual(evolve(done, { ...again, bodyKey: 'b-6' }, settings)!.lateSuccesses, []);
  }
});

test('an answer that comes after words without a code that showed nothing were accepted is news', () => {
  const nothing = told({ requestCode: 'q-1', endorses: true, bodyKey: 'b-1', shows: 'nothing', at: startAt + 32 });
  const turned: FlowRecord = { kind: 'turned', flowId, at: startAt + 31 };
  const records = [...unclear, deny, turned, nothing];
  assert.deepEqual(
    folded(records).lateSuccesses?.map(({ unshown, code }) => [unshown, code]),
    [[true, null]],
  );
  const seen = { ...asked(flowId, 'accept', 'seen', startAt + 40), lateIntentId: 'i-3' };
  const late = folded([...records, seen, answered('endorsement', 3, accepted(null))]);
  assert.deepEqual(
    late.lateSuccesses?.map(({ intentId, unshown }) => [intentId, unshown]),
    [['i-3', undefined]],
  );
});

test('an inclusion that counts as not done and is answered late is a mark, and nothing is included or split before somebody settled it', () => {
  const w = 'w-1';
  const of = (record: FlowRecord): FlowRecord => ({ ...record, flowId: w });
  const include = (id: string, at: number) =>
    asked(w, 'inclusion', id, startAt + at, { request: stepRequests.inclusion });
  const keyed = (number: number) =>
    ({ idempotencyKey: `key-${number}`, retry: { ...retry, keyedAttempts: 1 } }) as object;
  const records: FlowRecord[] = [
    started('withdrawal'),
    asked(w, 'simulation', 's1', startAt, { request: stepRequests.simulation, personKeys: [workerKey] }),
    of(intended('simulation', 1, keyed(1))),
    of(answered('simulation', 1, accepted(null))),
    include('s2', 2),
    of(intended('inclusion', 2, keyed(2))),
    of(answered('inclusion', 2, unheard)),
    asked(w, 'deny', 's3', startAt + 3),
  ];
  const late = of(answered('inclusion', 2, accepted(null, 'p-late')));
  const taken = folded([...records, late]);
  assert.deepEqual([taken.phase, taken.proposalCode], ['included', 'p-late'], 'nothing else was begun');
  const again = folded([...records, include('s4', 4), of(intended('inclusion', 3, keyed(3))), late]);
  assert.deepEqual(
    again.lateSuccesses?.map(({ operation, code }) => [operation, code]),
    [['inclusion', 'p-late']],
  );
  // Another one that is written, and surely not taken yet, waits for the person too.
  const around = { now: startAt + 10_000_000, instance: 'a', margin: null, tried: () => false };
  assert.deepEqual(react(again, around, settings), []);
  assert.equal(maySend(again, again.operation!.intent!.intentId, around, settings), false);
  const seen = { ...asked(w, 'accept', 'seen', startAt + 40), lateIntentId: again.lateSuccesses![0]!.intentId };
  const settled = evolve(again, seen, settings)!;
  assert.deepEqual(react(settled, around, settings), [{ kind: 'send' }]);
  const rejected = folded([
    ...[...records, include('s4', 4), of(intended('inclusion', 3, keyed(3))), late],
    of(answered('inclusion', 3, { kind: 'rejected', code: 'E1', errors: [] })),
  ]);
  const next = nextSteps(rejected, settings, (_place, sealed) => sealed);
  assert.ok(next.includes('accept') && !next.includes('inclusion') && !next.includes('confirm'), next.join());
});

const amended = asked(flowId, 'amend', 'amend', startAt + 32, { terms: { ...goodTerms, amountCents: 500_000 } });

test('an endorsement that is acknowledged while another contract is prepared is a mark, and no generation', () => {
  const late = answered('endorsement', 3, accepted('q-2'));
  const again = asked(flowId, 'regenerate', 'again', startAt + 31);
  const refused = answered('endorsement', 3, { kind: 'rejected', code: 'E1', errors: [] });
  const turned: FlowRecord = { kind: 'turned', flowId, at: startAt + 31 };
  for (const way of [
    [...unclear, deny, turned],
    [
      ...unclear,
      deny,
      { kind: 'withheld', flowId, at: startAt + 31, operation: 'endorsement', slot: 'endorsement#4', breaches: [] },
      again,
    ],
    [...unclear.slice(0, -1), refused, again],
  ] as FlowRecord[][]) {
    assert.equal(folded(way).phase, 'preparing');
    const state = folded([...way, late]);
    assert.deepEqual([state.phase, state.requestCode, state.generations], ['preparing', null, 1]);
    assert.deepEqual(
      state.lateSuccesses?.map(({ code, note }) => [code, note?.noteNumber]),
      [['q-2', sampleNote.noteNumber]],
    );
    assert.deepEqual(alarmsOf(folded(way), state, settings), ['success-late']);
    const old = folded([...way, answered('endorsement', 3, accepted('q-2'), { operation: undefined })]);
    assert.deepEqual([old.phase, old.strays, old.lateSuccesses], ['preparing', 1, undefined]);
  }
});

test('an old acceptance of a refused endorsement that is signed again changes nothing', () => {
  const refused = answered('endorsement', 3, { kind: 'rejected', code: 'E1', errors: [] });
  const records = [...unclear.slice(0, -1), refused, sign('again', 5)];
  const old = folded([...records, answered('endorsement', 3, accepted('q-2'), { operation: undefined })]);
  assert.deepEqual([old.phase, old.strays, old.endorsementCode], ['signed', 1, null]);
  const now = folded([...records, answered('endorsement', 3, accepted('q-2'))]);
  assert.deepEqual([now.phase, now.endorsementCode, now.steps.at(-1)?.outcome], ['endorsed', 'q-2', 'withheld']);
});

test('a signature that came while an earlier one was doubtful is not wanted once that is endorsed; old records leave it', () => {
  const turnedAway = answered('endorsement', 3, { kind: 'not-sent', reason: 'throttled', retryAt: null });
  const heldBack = { kind: 'withheld', flowId, at: startAt + 4, operation: 'endorsement', breaches: [] } as const;
  const records = [
    ...[...unclear.slice(0, -1), turnedAway, { ...heldBack, slot: 'endorsement#4' }, sign('again', 5)],
    answered('endorsement', 3, unheard),
  ];
  assert.equal(folded(records).phase, 'endorsement-unclear');
  const now = folded([...records, answered('endorsement', 3, accepted('q-2'))]);
  assert.deepEqual([now.phase, now.steps.at(-1)?.outcome], ['endorsed', 'withheld']);
  const old = folded([...records, answered('endorsement', 3, accepted('q-2'), { operation: undefined })]);
  assert.deepEqual([old.phase, old.steps.at(-1)?.outcome], ['endorsed', 'pending']);
});

test('a contract that was amended since is not replaced by the one that is accepted late', () => {
  const denied = [...noted.slice(0, 3), answered('contract', 1, unheard), asked(flowId, 'deny', 'd', startAt + 30)];
  const late = answered('contract', 1, accepted('q-1'));
  const taken = folded([...denied, late]);
  assert.deepEqual([taken.phase, taken.requestCode], ['awaiting-note', 'q-1']);
  const state = folded([...denied, amended, late]);
  assert.deepEqual([state.phase, state.requestCode, state.terms?.amountCents], ['preparing', null, 500_000]);
  assert.deepEqual(alarmsOf(folded([...denied, amended]), state, settings), ['success-late']);
  assert.ok(state.codes.includes('q-1'), 'what is told under it is found');
});

const secondNote = { ...sampleNote, noteNumber: '78', proposalCode: uuid(8) };
const dayLater = 30 * 86_400_000;
/** The first endorsement brought no code and counts as not done; another contract is generated, and noted. */
const secondContract: readonly FlowRecord[] = [
  ...[...unclear, deny, { kind: 'turned', flowId, at: startAt + dayLater } as FlowRecord],
  { ...intended('contract', 5), at: startAt + dayLater },
  answered('contract', 5, accepted('q-5'), { at: startAt + dayLater, firstByteAt: startAt + dayLater }),
  told({ requestCode: 'q-5', of: 'contract', note: secondNote, at: startAt + dayLater }),
];
const takes = (id: string, lateIntentId = 'i-3') => ({
  ...asked(flowId, 'confirm', id, startAt + dayLater + 1),
  lateIntentId,
});

test('a contract that is taken over is the one that was endorsed, with what belongs to it', () => {
  const marked = folded([...secondContract, answered('endorsement', 3, accepted('q-2'))]);
  assert.equal(marked.phase, 'awaiting-signature');
  const records = [...secondContract, answered('endorsement', 3, accepted('q-2')), takes('over')];
  const state = folded(records);
  const { note, requestCode, endorsementCode, generatedAt, operation } = state;
  assert.deepEqual(
    [state.phase, note?.noteNumber, requestCode, endorsementCode, generatedAt],
    ['endorsed', sampleNote.noteNumber, 'q-1', 'q-2', startAt + 1],
  );
  assert.deepEqual(
    [operation?.operation, operation?.status, operation?.intent?.intentId],
    ['endorsement', 'done', 'i-3'],
  );
  assert.ok(state.earlierNotes?.includes(secondNote.noteNumber));
  assert.equal(state.steps.find(({ stepId }) => stepId === 'sign')?.outcome, 'done');
});

test('of a contract that was taken over a failure, a denial and a person who knows better are heard', () => {
  const records = [...secondContract, answered('endorsement', 3, accepted('q-2')), takes('over')];
  assert.ok(nextSteps(folded(records), settings, null).includes('deny'));
  const no = folded([...records, told({ bodyKey: 'b-1', denies: true })]);
  assert.deepEqual([no.phase, no.operation?.status], ['endorsement-unclear', 'unclear']);
  const failure = told({ bodyKey: 'b-1', errors: ['E1'], settles: true });
  const failed = folded([...records, failure]);
  assert.equal(failed.phase, 'endorsement-refused', 'as a record of an earlier version folds');
  const around = { now: startAt + dayLater + 2, instance: 'a', margin: null, tried: () => false };
  assert.deepEqual(react(failed, around, settings), [], 'its competence has gone, and it was said to be endorsed');
  assert.deepEqual(nextSteps(failed, settings, null), ['confirm', 'deny']);
  const doubtful = folded([...records, { ...failure, keepsDone: true }]);
  assert.deepEqual([doubtful.phase, doubtful.operation?.reason], ['endorsement-unclear', 'told-both']);
});

test('an endorsement whose contract was cancelled is taken over as it was', () => {
  const cancel = asked(flowId, 'cancel', 'cancel', startAt + 31);
  const records = [...unclear, deny, cancel, answered('endorsement', 3, accepted('q-2'))];
  const state = folded([...records, { ...takes('over'), at: startAt + 40 }]);
  assert.deepEqual(
    [state.phase, state.note?.noteNumber, state.operation?.status, state.requestCode],
    ['endorsed', sampleNote.noteNumber, 'done', 'q-1'],
  );
});

/** The endorsement was taken under `q-2` and failed; the contract is signed once more, and sent. */
const sentAgain = (more: Partial<FlowRecord> = { forgetsCode: true }): readonly FlowRecord[] => [
  ...[...unclear.slice(0, -1), answered('endorsement', 3, accepted('q-2'))],
  told({ bodyKey: 'b-1', errors: ['E1'], settles: true, at: startAt + 4 }),
  ...[sign('again', 5), intended('endorsement', 5, more)],
];

test('what is told under the code of an earlier endorsement is not about the one that was sent since', () => {
  assert.equal(folded(sentAgain()).operation?.intent?.intentId, 'i-5');
  const done = folded([...sentAgain(), told({ bodyKey: 'b-2', shows: 'success', settles: true })]);
  assert.deepEqual([done.phase, done.operation?.status], ['endorsing', 'intended']);
  assert.deepEqual(
    done.lateSuccesses?.map(({ intentId }) => intentId),
    ['i-3'],
  );
  const failed = folded([...sentAgain(), told({ bodyKey: 'b-2', errors: ['E2'], settles: true })]);
  assert.deepEqual([failed.phase, failed.operation?.status], ['endorsing', 'intended']);
  const heard = folded([
    ...sentAgain(),
    told({ bodyKey: 'b-2', shows: 'success' }),
    answered('endorsement', 5, accepted('q-5')),
  ]);
  assert.deepEqual([heard.phase, heard.endorsementCode, heard.operation?.status], ['endorsed', 'q-5', 'done']);
});

test('a process that finds an old endorsement in flight of a flow that is endorsed writes once that it is unclear', () => {
  let state = folded([...sentAgain({}), told({ bodyKey: 'b-2', settles: true })]);
  assert.deepEqual([state.phase, state.operation?.status], ['endorsed', 'intended'], 'as earlier versions folded it');
  const around = { now: startAt + 60_000, instance: 'b', margin: null, tried: () => false };
  let written = 0;
  for (let turn = 0; turn < 3; turn += 1) {
    for (const command of react(state, around, settings)) {
      if (command.kind !== 'append') continue;
      written += 1;
      state = evolve(state, command.record, settings)!;
    }
  }
  assert.deepEqual([written, state.phase, state.operation?.status], [1, 'endorsed', 'unclear']);
  assert.deepEqual(waitsFor(state, settings, null).toSorted(), ['confirm', 'deny']);
});

test('a code that the service gave itself is not corrected where its contract fails, whatever was confirmed before', () => {
  const confirmed = [...noted.slice(0, 3), answered('contract', 1, unheard)];
  const confirm = asked(flowId, 'confirm', 'c', startAt + 2, { requestCode: 'q-1' });
  const fails = (requestCode: string) =>
    told({ requestCode, of: 'contract', note: null, errors: ['E1'], at: startAt + 60 });
  assert.ok(nextSteps(folded([...confirmed, confirm, fails('q-1')]), settings, null).includes('confirm'));
  const note = told({ requestCode: 'q-1', of: 'contract', note: sampleNote, at: startAt + 3 });
  const own = (number: number) => [intended('contract', number), answered('contract', number, accepted('q-9'))];
  const turned: FlowRecord = { kind: 'turned', flowId, at: startAt + 31 };
  const again: FlowRecord = { ...started('contract'), at: startAt + 40, key: 'k2', again: true };
  const proposed: FlowRecord = { ...noted[1]!, at: startAt + 41 };
  const cancel = asked(flowId, 'cancel', 'x', startAt + 31);
  for (const way of [
    [...confirmed, confirm, note, turned, ...own(3)],
    [...confirmed, confirm, fails('q-1'), cancel, again, proposed, ...own(3)],
  ]) {
    const state = folded([...way, fails('q-9')]);
    assert.deepEqual([state.phase, state.requestCode], ['refused', 'q-9']);
    assert.ok(!nextSteps(state, settings, null).includes('confirm'));
  }
});

test('what a person has settled stays settled for its intent and code, and another code is new', () => {
  const again = asked(flowId, 'regenerate', 'again', startAt + 31);
  const records = [
    ...[...noted, sign('sign', 3), intended('endorsement', 3), answered('endorsement', 3, accepted('q-2'))],
    ...[{ ...deny, ofEndorsed: true as const }, again, told({ bodyKey: 'b-1', shows: 'success' })],
  ];
  const seen = { ...asked(flowId, 'accept', 'seen', startAt + 40), lateIntentId: 'i-3' };
  const otherBody = told({ bodyKey: 'b-2', shows: 'success' });
  assert.deepEqual(folded([...records, seen, otherBody]).lateSuccesses, []);
  assert.deepEqual(folded([...records, seen, answered('endorsement', 3, accepted('q-2'))]).lateSuccesses, []);
  const other = folded([...records, seen, answered('endorsement', 3, accepted('q-7')), otherBody]);
  assert.deepEqual(
    other.lateSuccesses?.map(({ code }) => code),
    ['q-7'],
  );
});

test('the way out that is named is one that may be taken', () => {
  const waiting = folded([...secondContract, answered('endorsement', 3, accepted('q-2'))]);
  const told = (state: FlowState) => barriersNow(state, settings, null).find(({ rule }) => rule === 'success-settled')!;
  assert.match(told(waiting).problem, /take the step confirm;/);
  const endorsedTwice = folded([
    ...[...unclear, deny, intended('endorsement', 4), answered('endorsement', 4, accepted('q-3'))],
    answered('endorsement', 3, accepted('q-2')),
  ]);
  assert.deepEqual(waitsFor(endorsedTwice, settings, null), ['accept']);
  assert.doesNotMatch(told(endorsedTwice).problem, /step confirm/);
  const generation = folded([
    ...[...noted.slice(0, 3), answered('contract', 1, unheard), asked(flowId, 'deny', 'd', startAt + 30), amended],
    answered('contract', 1, accepted('q-1')),
  ]);
  assert.doesNotMatch(told(generation).problem, /confirm/);
});

test('a generation that is accepted late is a mark wherever its flow stands, and no other one is prepared meanwhile', () => {
  for (const operation of ['contract', 'renegotiation'] as const) {
    const of = (record: FlowRecord): FlowRecord =>
      operation === 'contract' ? record : { ...record, flowId: 'r-9001' };
    const begun = operation === 'contract' ? noted.slice(0, 2) : [started('renegotiation')];
    const step = (name: 'deny' | 'amend' | 'cancel', at: number) =>
      of(asked(flowId, name, name, startAt + at, name === 'amend' ? { terms: goodTerms } : {}));
    const open = [...begun, of(intended(operation, 1)), of(answered(operation, 1, unheard)), step('deny', 30)];
    const late = of(answered(operation, 1, accepted('q-1')));
    const breach = { rule: 'margin', field: 'x', problem: 'y' };
    const heldBack = { kind: 'withheld', flowId, at: startAt + 31, operation, slot: `${operation}#2` } as const;
    for (const way of [
      [...open, of({ ...heldBack, breaches: [breach] })],
      [...open, step('cancel', 31)],
      [...open, of(intended(operation, 2))],
      [...open, step('amend', 31)],
    ]) {
      const before = folded(way);
      const state = folded([...way, late]);
      assert.equal(state.phase, before.phase);
      assert.deepEqual(alarmsOf(before, state, settings), ['success-late'], `${operation} ${state.phase}`);
      assert.deepEqual(
        state.lateSuccesses?.map(({ code }) => code),
        ['q-1'],
      );
      const old = folded([...way, of(answered(operation, 1, accepted('q-1'), { operation: undefined }))]);
      assert.deepEqual([old.phase, old.lateSuccesses, old.strays], [before.phase, undefined, before.strays + 1]);
    }
    const amendedSince = folded([...open, step('amend', 31), late]);
    const margin = { receivedAt: startAt + 60, availableMarginCents: 100_000 };
    const around = { now: startAt + 60, instance: 'a', margin, tried: () => false };
    assert.deepEqual(react(amendedSince, around, settings), []);
    const seen = { ...of(asked(flowId, 'accept', 'seen', startAt + 50)), lateIntentId: 'i-1' } as FlowRecord;
    const settled = folded([...open, step('amend', 31), late, seen]);
    const [next] = react(settled, around, settings);
    assert.equal(next?.kind === 'prepare' && next.operation, operation);
  }
});
