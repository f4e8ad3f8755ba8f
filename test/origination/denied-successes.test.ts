/** An endorsement that the service, or a person, has shown to be done is not undone by one person's word: another one would be a second loan. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { refusalPt } from '../../src/cli/refusal-texts-pt.ts';
import type { FlowRecord, FlowStep } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { flowView } from '../../src/http/api/views.ts';
import { resolveRequest } from '../../src/operating/endings.ts';
import { evolveAll } from '../../src/origination/evolve.ts';
import { barriersNow, nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { react } from '../../src/origination/react.ts';
import { eventually } from '../conformance/backend.ts';
import { orderOf } from './flow-house.ts';
import { sampleNote } from './flow-world.ts';
import { asked, dayMs, settings, startAt, started } from './orders.ts';
import { heard, refusedBy, takingHouse, uuid } from './taking-house.ts';

const endpoint = '/contrato/oferta-leilao/averbar-contrato';
const content = { numeroContrato: 'N-1', assinatura: 'b' };

/** Signed by `ana`, who ordered it; `refusal`: what the service answers in place of taking it. */
async function signed(context: TestContext, refusal?: string) {
  const house = await takingHouse(context);
  const { world, front, reaches, tell, state } = house;
  await house.start('701');
  await house.noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const taking = world.answerTo;
  if (refusal !== undefined) {
    const errors = [{ code: refusal, field: null, text: refusal, whole: null }];
    const response = { status: 400, body: '{}' };
    world.answerTo = () => ({ kind: 'rejected', code: refusal, errors, ...heard, response }) as never;
  }
  await house.sign('c-701', content);
  await reaches('c-701', refusal === undefined ? 'endorsed' : 'endorsement-refused');
  world.answerTo = taking;
  const asks = (by: string, step: StepAsked, more: { via?: 'offline' } = {}) =>
    front.ask('c-701', { by, key: randomUUID(), ...more }, step);
  const code = (await state('c-701'))!.endorsementCode ?? '';
  let bodies = 0;
  const event = (said: object) => {
    bodies += 1;
    const known = { kind: 'operation-event', at: Date.now(), requestCode: code, endpoint, errors: [] } as const;
    return tell(code, { ...known, ...said, sealed: `{"n":${bodies}}` });
  };
  /** What is told of the endorsement under the code of the contract. */
  const sayOfContract = async (errors: readonly string[]) => {
    bodies += 1;
    const { requestCode } = (await state('c-701'))!;
    const said = { kind: 'operation-event', at: Date.now(), requestCode: requestCode!, endpoint, errors } as const;
    await tell(requestCode!, { ...said, sealed: `{"n":${bodies}}` });
  };
  return { ...house, asks, event, sayOfContract, code };
}

const deny = { step: 'deny', reason: 'arrependido' } as const;
const accept = { step: 'accept', reason: 'desfeita no portal' } as const;
const lending = [
  { step: 'sign', signedAt: Date.now(), content },
  { step: 'regenerate', reason: 'x' },
  { step: 'cancel', reason: 'x' },
] as const satisfies StepAsked[];
const anew: readonly FlowStep[] = ['sign', 'regenerate', 'cancel'];

test('a contract that is only received for endorsement is not called endorsed in a refusal', async (context) => {
  const { asks, event } = await signed(context);
  const problemOf = async (step: StepAsked) => {
    const refused = await asks('ana', step, { via: 'offline' });
    assert.ok(refused.kind === 'refused');
    return refused.breaches[0]!.problem;
  };
  const confirm = { step: 'confirm', reason: 'x', requestCode: null } as const;
  const received = [await problemOf(deny), await problemOf(confirm)];
  assert.match(received[0]!, /^the service has received this contract for endorsement, so whoever denies it/);
  assert.match(refusalPt(received[0]!), /^o serviço recebeu este contrato para averbação, então quem o nega/);
  assert.match(received[1]!, /^confirm cannot be asked for while the flow is received for endorsement; /);
  assert.match(refusalPt(received[1]!), /não pode ser pedido na fase “recebido para averbação”; /);
  await event({ shows: 'success' });
  await eventually(async () => /^it was shown that this contract is endorsed/.test(await problemOf(deny)));
  assert.match(await problemOf(confirm), /while the flow is endorsed; /);
});

test('a shown success is denied by a known person, and nothing is lent again until a second one settles it', async (context) => {
  const { asks, state, reaches, alarms, sent } = await signed(context);
  assert.deepEqual(refusedBy(await asks('ana', deny, { via: 'offline' })), [['second-person', 'step']]);
  assert.deepEqual(refusedBy(await asks('bruno', deny, { via: 'offline' })), [['second-person', 'step']]);
  assert.equal((await asks('bruno', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  await eventually(() => alarms.includes('success-denied'));
  assert.ok(!alarms.includes('flow-refused'), 'the service refused nothing');
  const denied = (await state('c-701'))!;
  assert.equal(denied.steps.find(({ step }) => step === 'sign')?.outcome, 'done', 'what was done stays done');
  assert.deepEqual(nextSteps(denied, settings, null), ['confirm', 'accept']);
  assert.deepEqual(waitsFor(denied, settings, null), ['confirm', 'accept']);
  const told = barriersNow(denied, settings, null).find(({ rule }) => rule === 'success-settled')!;
  assert.match(told.problem, /bruno says that it was not/);
  assert.match(
    refusalPt(told.problem),
    /^o serviço recebeu esta averbação e não mostrou que foi feita, e bruno diz que não foi: endorsement/,
  );
  assert.deepEqual(
    flowView(denied, null, settings).lateSuccesses.map(({ deniedBy, noteNumber }) => [deniedBy, noteNumber]),
    [['bruno', 'N-1']],
  );
  const textOf = (state: FlowState) => flowText(createFormat('en'), state, { open: null, settings });
  assert.match(textOf(denied), /^Phase +endorsement denied here$/m);
  assert.match(textOf(denied), /^Operation +\S+ denied by bruno/m);
  assert.match(textOf(denied), /sign \(ana\): done$/m);
  assert.match(textOf(denied), /note N-1, denied by bruno/);
  const before = sent.length;
  for (const by of ['ana', 'bruno', 'carla'])
    for (const step of lending) assert.deepEqual(refusedBy(await asks(by, step)), [['success-settled', 'step']]);
  assert.deepEqual(refusedBy(await asks('bruno', accept)), [['second-person', 'step']]);
  assert.deepEqual(refusedBy(await asks('carla', accept, { via: 'offline' })), [['second-person', 'step']]);
  assert.equal((await asks('carla', accept)).kind, 'taken');
  const settled = (await state('c-701'))!;
  assert.deepEqual([settled.phase, settled.lateSuccesses], ['endorsement-refused', []]);
  for (const step of anew) assert.ok(nextSteps(settled, settings, null).includes(step), step);
  assert.equal(sent.length, before);
  assert.equal((await asks('ana', lending[1])).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  assert.match(
    textOf((await state('c-701'))!),
    /^Earlier notes +N-1 \(given up here after it was sent to be endorsed:/m,
  );
});

test('a known answer that it is endorsed already is not forgotten once it was confirmed', async (context) => {
  const { asks, state, reaches } = await signed(context, 'CONTRATO_JA_AVERBADO');
  assert.deepEqual(nextSteps((await state('c-701'))!, settings, null), ['confirm']);
  assert.equal((await asks('bruno', { step: 'confirm', reason: 'portal', requestCode: null })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  // Both stand for the loan: one of them may deny it, and the other one settle that.
  assert.equal((await asks('bruno', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  for (const step of lending) assert.deepEqual(refusedBy(await asks('ana', step)), [['success-settled', 'step']]);
  assert.deepEqual(refusedBy(await asks('bruno', accept)), [['second-person', 'step']]);
  assert.equal((await asks('ana', accept)).kind, 'taken');
  assert.ok(nextSteps((await state('c-701'))!, settings, null).includes('regenerate'));
  // Nothing is lost by a person who knows better.
  assert.equal((await asks('ana', { step: 'confirm', reason: 'está lá', requestCode: null })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  assert.deepEqual((await state('c-701'))!.lateSuccesses, []);
});

test("the service's own word settles a denial: a failure where nothing else was shown, and a success", async (context) => {
  const { asks, state, reaches, event } = await signed(context);
  await asks('bruno', deny);
  await reaches('c-701', 'endorsement-refused');
  await event({ shows: 'nothing' });
  await eventually(async () => (await state('c-701'))!.errors.includes('told-nothing'));
  assert.equal((await state('c-701'))!.lateSuccesses?.length, 1, 'words that show nothing settle nothing');
  await event({ errors: ['E1'], settles: true });
  await eventually(async () => (await state('c-701'))!.lateSuccesses?.length === 0);
  for (const step of anew) assert.ok(nextSteps((await state('c-701'))!, settings, null).includes(step), step);
  await event({ shows: 'success', settles: true });
  await reaches('c-701', 'endorsed');
  await asks('bruno', deny);
  await reaches('c-701', 'endorsement-refused');
  // After a success of its own it says both, and is no second person.
  await event({ errors: ['E1'], settles: true });
  await eventually(async () => (await state('c-701'))!.errors.includes('told-both'));
  assert.equal((await state('c-701'))!.lateSuccesses?.length, 1);
  await event({ shows: 'success', settles: true });
  await reaches('c-701', 'endorsed');
  const endorsed = (await state('c-701'))!;
  assert.deepEqual([endorsed.lateSuccesses, endorsed.operation?.status], [[], 'done']);
});

test('a success that was shown stays shown after words that show nothing', async (context) => {
  const { asks, state, reaches, event } = await signed(context);
  await event({ shows: 'nothing' });
  await reaches('c-701', 'endorsement-unclear');
  assert.deepEqual(refusedBy(await asks('ana', deny, { via: 'offline' })), [['second-person', 'step']]);
  assert.equal((await asks('ana', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  assert.deepEqual(nextSteps((await state('c-701'))!, settings, null), ['confirm', 'accept']);
});

test('a success that was shown stays shown after a no under the code of its contract, which is not its own', async (context) => {
  const { asks, state, reaches, history, alarms, sayOfContract } = await signed(context);
  await sayOfContract(['E1']);
  await reaches('c-701', 'endorsement-unclear');
  assert.equal((await state('c-701'))!.operation?.wasShown, true);
  assert.equal((await asks('bruno', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  assert.deepEqual(nextSteps((await state('c-701'))!, settings, null), ['confirm', 'accept']);
  for (const step of lending) assert.deepEqual(refusedBy(await asks('ana', step)), [['success-settled', 'step']]);
  // Told anew after the denial it settles nothing, and is shown.
  const before = alarms.length;
  await sayOfContract(['E2']);
  await eventually(async () => (await state('c-701'))!.errors.includes('told-no-of-contract'));
  const denied = (await state('c-701'))!;
  assert.deepEqual([denied.errors, denied.lateSuccesses?.length], [['denied', 'told-no-of-contract'], 1]);
  assert.equal(denied.errorsIn?.sealed, '{"n":2}');
  await eventually(() => alarms.slice(before).includes('success-denied'));
  await sayOfContract(['E3']);
  await eventually(() => alarms.slice(before).filter((alarm) => alarm === 'success-denied').length === 2);
  // An answer that comes after such a no, too.
  const records = await history('c-701');
  const answeredAt = records.findLastIndex(({ kind }) => kind === 'answered');
  const no = records.find((record) => record.kind === 'told' && record.endorses === true)!;
  const late = evolveAll([...records.slice(0, answeredAt), no, records[answeredAt]!], settings)!;
  assert.deepEqual([late.phase, late.operation?.wasShown], ['endorsement-unclear', true]);
});

test('beside a contract that is told late the denied one is settled first, as every barrier says', async (context) => {
  const { asks, state, reaches, event, noted, sign, code, history } = await signed(context);
  await event({ errors: ['E1'], settles: true });
  await reaches('c-701', 'endorsement-refused');
  assert.equal((await asks('ana', lending[1])).kind, 'taken');
  await noted('c-701', { noteNumber: 'N-2', proposalCode: uuid(2) });
  assert.equal((await sign('c-701', { numeroContrato: 'N-2', assinatura: 'b' })).kind, 'taken');
  await reaches('c-701', 'endorsed');
  await event({ shows: 'success' });
  await eventually(async () => (await state('c-701'))!.lateSuccesses?.length === 1);
  assert.equal((await asks('bruno', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  const both = (await state('c-701'))!;
  assert.deepEqual(
    both.lateSuccesses?.map(({ note, denied }) => [note?.noteNumber, denied?.by]),
    [
      ['N-1', undefined],
      ['N-2', 'bruno'],
    ],
  );
  const second = both.endorsementCode!;
  const told = barriersNow(both, settings, null).filter(({ rule }) => rule === 'success-settled');
  assert.equal(told.length, 1);
  assert.ok(told[0]!.problem.includes(second) && !told[0]!.problem.includes(code));
  assert.deepEqual(refusedBy(await asks('bruno', accept)), [['second-person', 'step']]);
  const confirm = { step: 'confirm', reason: 'está lá', requestCode: null } as const;
  assert.deepEqual(refusedBy(await asks('carla', { ...confirm, requestCode: code })), [
    ['success-settled', 'requestCode'],
  ]);
  const before = await history('c-701');
  assert.equal((await asks('carla', confirm)).kind, 'taken');
  await reaches('c-701', 'endorsed');
  const taken = (await state('c-701'))!;
  assert.deepEqual([taken.note?.noteNumber, taken.endorsementCode], ['N-2', second]);
  assert.deepEqual(
    taken.lateSuccesses?.map(({ note }) => note?.noteNumber),
    ['N-1'],
  );
  // An earlier version took over the oldest one.
  const { intentId } = both.lateSuccesses![0]!;
  const old = { ...asked('c-701', 'confirm', 'old', both.changedAt), lateIntentId: intentId };
  assert.equal(evolveAll([...before, old], settings)!.note?.noteNumber, 'N-1');
});

test('one person denies what the service itself denies', async (context) => {
  const { asks, state, reaches, event } = await signed(context);
  await event({ shows: 'nothing' });
  await reaches('c-701', 'endorsement-unclear');
  await event({ denies: true, shows: undefined });
  await eventually(async () => (await state('c-701'))!.errors.includes('told-no'));
  assert.equal((await asks('ana', deny)).kind, 'taken');
  await reaches('c-701', 'endorsement-refused');
  for (const step of anew) assert.ok(nextSteps((await state('c-701'))!, settings, null).includes(step), step);
});

test('a bid whose contract has a denied success is not released, and no new order is taken', async (context) => {
  const { asks, state, reaches, front, append, won, flows, clock } = await signed(context);
  await asks('bruno', deny);
  await reaches('c-701', 'endorsement-refused');
  const at = clock.now();
  await append({
    topic: 'flows',
    key: 'c-701',
    record: { kind: 'frozen', flowId: 'c-701', at, problem: 'x' },
  });
  await append({
    topic: 'flows',
    key: 'c-701',
    record: { kind: 'unfrozen', flowId: 'c-701', at, action: 'cancel', by: 'dora', reason: 'x' },
  });
  await reaches('c-701', 'cancelled');
  assert.equal((await state('c-701'))!.lateSuccesses?.length, 1);
  const again = await front.startContract({ by: 'eva', key: 'k-again' }, orderOf('701'));
  assert.deepEqual(refusedBy(again), [['success-settled', 'requestId']]);
  const views = { read: async () => new Map([['701', { state: won.get('701') }]]) };
  const parts = { views, flows, clock } as never;
  const resolution = { requestId: '701', as: 'cancelled', reason: 'x' } as const;
  const outcome = await resolveRequest(parts, { by: 'eva', via: 'api' }, resolution);
  assert.deepEqual(outcome, { kind: 'under-contract', flowId: 'c-701', flowPhase: 'cancelled' });
});

// --- The fold --------------------------------------------------------------------------------------------------------

const flowId = 'c-374';

function intended(operation: 'contract' | 'endorsement', number: number): FlowRecord {
  const bytes = { instance: 'a', idempotencyKey: null, path: '/x', sealedBody: '{}', expected: null };
  const named = { intentId: `i-${number}`, operation, slot: `${operation}#${number}` };
  return { kind: 'intended', flowId, at: startAt + number, ...named, ...bytes };
}

type Answered = Extract<FlowRecord, { kind: 'answered' }>;

function answered(operation: 'contract' | 'endorsement', number: number, change: Partial<Answered> = {}): Answered {
  const result = { kind: 'accepted', requestCode: `q-${number}`, proposalCode: null, situation: null } as const;
  return {
    ...{ kind: 'answered', flowId, at: startAt + number, intentId: `i-${number}`, instance: 'a', result, operation },
    ...{ earlierAttemptPossible: false, firstByteAt: startAt, attempts: 1, status: 200, sealedAnswer: '{}' },
    ...change,
  };
}

const noted: readonly FlowRecord[] = [
  started('contract'),
  { kind: 'proposed', flowId, at: startAt, proposalCode: 'p-1', proposalNumber: null, validUntil: null, errors: [] },
  intended('contract', 1),
  answered('contract', 1),
  {
    ...{ kind: 'told', flowId, at: startAt + 2, holder: null, of: 'contract', requestCode: 'q-1' },
    ...{ note: sampleNote, errors: [], sealed: '{}' },
  },
  asked(flowId, 'sign', 'sign', startAt + 3, { request: { assinatura: 'x' }, signedAt: startAt + 3 }),
  intended('endorsement', 3),
];
const deniedBefore = { ...asked(flowId, 'deny', 'deny', startAt + 30), ofEndorsed: true as const };
const folded = (records: readonly FlowRecord[]) => evolveAll(records, settings)!;

test('a denial of an earlier version bars what would lend again, and what was lent after it folds as it did', () => {
  const records = [...noted, answered('endorsement', 3), deniedBefore];
  const denied = folded(records);
  assert.deepEqual([denied.phase, denied.steps[0]?.outcome], ['endorsement-refused', 'rejected']);
  assert.deepEqual(nextSteps(denied, settings, null), ['confirm', 'accept']);
  for (const [step, phase] of [
    ['cancel', 'cancelled'],
    ['regenerate', 'preparing'],
  ] as const) {
    const after = folded([...records, asked(flowId, step, 'next', startAt + 31)]);
    assert.deepEqual([after.phase, after.lateSuccesses], [phase, []]);
  }
});

test('what this version writes is held to by the fold: a step that came meanwhile lends nothing', () => {
  const denied = [...noted, answered('endorsement', 3), { ...deniedBefore, ofShown: true as const, by: 'bruno' }];
  for (const step of anew) {
    const after = folded([...denied, asked(flowId, step, 'next', startAt + 31, { signedAt: startAt + 31 })]);
    assert.deepEqual([after.phase, after.steps.at(-1)?.outcome], ['endorsement-refused', 'ignored'], step);
  }
  const seen = (by: string) => ({ ...asked(flowId, 'accept', 'seen', startAt + 40), lateIntentId: 'i-3', by });
  assert.equal(folded([...denied, seen('bruno')]).lateSuccesses?.length, 1);
  assert.equal(folded([...denied, seen('ana')]).lateSuccesses?.length, 0);
});

test('an answer that it is endorsed already is known after a hand-over, too, and no month makes another contract of it', () => {
  const already = { kind: 'rejected', code: 'already-endorsed', errors: ['already-endorsed'] } as const;
  const refused = folded([...noted, answered('endorsement', 3, { result: already })]);
  const around = { now: startAt + 40 * dayMs, instance: 'a', margin: null, tried: () => false };
  assert.deepEqual(react(refused, around, settings), []);
  const unclear = folded([...noted, answered('endorsement', 3, { result: already, instance: 'b' })]);
  assert.equal(unclear.phase, 'endorsement-unclear');
  const record = { ...asked(flowId, 'deny', 'deny', startAt + 30), ofShown: true as const };
  const denied = folded([...noted, answered('endorsement', 3, { result: already, instance: 'b' }), record]);
  assert.deepEqual([denied.phase, denied.lateSuccesses?.length], ['endorsement-refused', 1]);
  assert.deepEqual(nextSteps(denied, settings, null), ['confirm', 'accept']);
});

test('a denial that was asked for before the success was known denies nothing', () => {
  const isDone = (records: readonly FlowRecord[]) => folded(records).operation?.wasShown;
  const no: FlowRecord = {
    ...{ kind: 'told', flowId, at: startAt + 4, holder: null, of: 'operation', requestCode: 'q-1' },
    ...{ note: null, errors: ['E1'], sealed: '{}', endorses: true, bodyKey: 'b-1' },
  };
  const before = [...noted, no];
  assert.deepEqual([folded(before).phase, isDone(before)], ['endorsement-unclear', undefined]);
  const shown = [...before, answered('endorsement', 3)];
  assert.deepEqual([folded(shown).phase, isDone(shown)], ['endorsement-unclear', true]);
  const asks = (more: object) => ({ ...asked(flowId, 'deny', 'deny', startAt + 30), ...more });
  const late = folded([...shown, asks({ via: 'api' })]);
  assert.deepEqual([late.phase, late.steps.at(-1)?.outcome], ['endorsement-unclear', 'ignored']);
  assert.ok(nextSteps(late, settings, null).includes('deny'), 'who knows of the success may ask again');
  // Where nothing was shown one person denies, and so it was in records of earlier versions.
  assert.equal(folded([...before, asks({ via: 'api' })]).phase, 'endorsement-refused');
  assert.equal(folded([...shown, asks({})]).phase, 'endorsement-refused');
  const denied = folded([...shown, asks({ via: 'api', ofShown: true })]);
  assert.deepEqual([denied.phase, denied.lateSuccesses?.length], ['endorsement-refused', 1]);
});

test('words that showed nothing beside an old denial bar the signature of the next contract, as they did', () => {
  const second = { ...sampleNote, noteNumber: '78', proposalCode: uuid(8) };
  const event = (requestCode: string, change: object): FlowRecord => ({
    ...{ kind: 'told', flowId, at: startAt + 31, holder: null, of: 'operation', requestCode },
    ...{ note: null, errors: [], sealed: '{}', ...change },
  });
  const nothing = event('q-3', { shows: 'nothing', bodyKey: 'b-1' });
  const refused = [...noted, answered('endorsement', 3), deniedBefore, nothing];
  const denied = folded(refused);
  assert.deepEqual([denied.phase, denied.errors], ['endorsement-refused', ['denied', 'told-nothing']]);
  assert.deepEqual(nextSteps(denied, settings, null), ['confirm', 'accept'], 'the denial bars what would lend again');
  const generated = [
    ...[...refused, asked(flowId, 'regenerate', 'again', startAt + 32), intended('contract', 5)],
    ...[answered('contract', 5), event('q-5', { of: 'contract', note: second })],
  ];
  const next = folded(generated);
  assert.equal(next.phase, 'awaiting-signature');
  assert.deepEqual(
    next.lateSuccesses?.map(({ intentId, unshown, denied }) => [intentId, unshown, denied]),
    [['i-3', true, undefined]],
  );
  assert.ok(barriersNow(next, settings, null).some(({ rule }) => rule === 'success-settled'));
  assert.deepEqual(waitsFor(next, settings, null).toSorted(), ['accept', 'confirm']);
  // A success takes the place of words that showed nothing, and an endorsement that counts again needs no mark.
  const shown = folded([...generated, event('q-3', { shows: 'success', bodyKey: 'b-2' })]);
  assert.deepEqual(
    shown.lateSuccesses?.map(({ unshown }) => unshown),
    [undefined],
  );
  const done = folded([...refused, event('q-3', { shows: 'success', settles: true, bodyKey: 'b-2' })]);
  assert.deepEqual([done.phase, done.lateSuccesses], ['endorsed', []]);
  // Whoever denied it could settle such words in an earlier version.
  const seen = { ...asked(flowId, 'accept', 'seen', startAt + 40), lateIntentId: 'i-3' };
  const settled = folded([...refused, seen]);
  assert.deepEqual([settled.lateSuccesses, settled.steps.at(-1)?.outcome], [[], 'done']);
  const again = event('q-3', { shows: 'nothing', bodyKey: 'b-3' });
  assert.deepEqual(folded([...refused, seen, again]).lateSuccesses, [], 'as it was settled');
  const known = folded([...refused, { ...seen, via: 'api' }]);
  assert.deepEqual([known.lateSuccesses?.length, known.steps.at(-1)?.outcome], [1, 'ignored']);
  const untold = folded([...refused.slice(0, -1), seen]);
  assert.deepEqual([untold.lateSuccesses?.length, untold.steps.at(-1)?.outcome], [1, 'ignored']);
});
