/** Flows case by case: what is asked, checked, sent and believed, and when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FlowAsked,
  type FlowFoldTerms,
  type FlowIntended,
  type FlowRecord,
  flowSteps,
} from '../../src/domain/flow-records.ts';
import { type FlowState, flowPhases } from '../../src/domain/flow-states.ts';
import type { CreditNote } from '../../src/domain/records.ts';
import { differencesOf, expectedLoan } from '../../src/origination/differences.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import { alarmsOf, react } from '../../src/origination/react.ts';
import { allowsStep } from '../../src/origination/steps.ts';
import { isFinished, transitions } from '../../src/origination/transitions.ts';
import { createFlowWorld, type FlowWorld, otherTerms } from './flow-world.ts';
import { asked, dayMs, goodTerms, pricing, settings, startAt, started, stepRequests, workerKey } from './orders.ts';

const phaseOf = (real: FlowWorld) => real.state().phase;
const kindsOf = (real: FlowWorld) => real.log.map(({ kind }) => kind);
/** Reads, decides and does so many times; the last send has the fate. */
function goOn(real: FlowWorld, times: number, fate: Parameters<FlowWorld['act']>[1] = 'taken', index = 0): void {
  for (let count = 0; count < times; count += 1) {
    real.plan(index);
    real.act(index, fate);
  }
}
const sign = (real: FlowWorld, stepId: string) =>
  real.append(
    asked(real.state().flowId, 'sign', stepId, real.world.now, { signedAt: real.world.now, request: { a: 'b' } }),
  );
const deliverAll = (real: FlowWorld) => {
  for (const event of real.events) real.append(event);
};

test('the tables name phases of their own kind, every phase can be reached, and only ends have no way on', () => {
  for (const [flow, table] of Object.entries(transitions)) {
    const phases: readonly string[] = flowPhases[flow as keyof typeof flowPhases];
    assert.deepEqual(new Set(Object.keys(table)), new Set(phases));
    const targets = new Set(Object.values(table).flatMap((row) => Object.values(row)));
    for (const target of targets) assert.ok(phases.includes(target), `${flow}: ${target}`);
    const [first] = phases;
    for (const phase of phases)
      assert.ok(phase === first || targets.has(phase as never) || phase === 'preparing', `${flow}: ${phase}`);
    for (const [phase, row] of Object.entries(table)) {
      const forward = Object.values(row).filter((target) => target !== phase);
      if (forward.length === 0) assert.ok(isFinished(phase as never), `${flow} is stuck in ${phase}`);
    }
  }
});

test('a margin older than 24 hours is asked for again, and nothing is generated before it comes', () => {
  const real = createFlowWorld(started('contract'));
  real.world.marginAt = startAt - dayMs - 1;
  goOn(real, 1);
  assert.equal(phaseOf(real), 'preparing');
  real.plan(0);
  real.act(0, 'taken');
  assert.equal(kindsOf(real).at(-1), 'margin-asked');
  assert.ok(!kindsOf(real).includes('intended'));
  goOn(real, 1);
  assert.equal(kindsOf(real).at(-1), 'intended');
});

test('an operation without a key that was cut off is never sent again by itself, and a person settles it', () => {
  const real = createFlowWorld(started('contract'));
  goOn(real, 3);
  assert.equal(phaseOf(real), 'generating');
  goOn(real, 1, 'dies');
  assert.equal(real.executed.length, 1);
  goOn(real, 6, 'taken', 1);
  assert.deepEqual([phaseOf(real), real.executed.length], ['unclear', 1]);
  assert.deepEqual(nextSteps(real.state(), settings, null), ['confirm', 'deny']);
  real.append(asked('c-374', 'confirm', 'x', real.world.now, { requestCode: 'code-1' }));
  assert.equal(phaseOf(real), 'awaiting-note');
  deliverAll(real);
  assert.equal(phaseOf(real), 'awaiting-signature');
});

test('what was certainly not sent is prepared and sent anew, as a second intent', () => {
  const real = createFlowWorld(started('contract'));
  goOn(real, 4, 'not-sent');
  assert.equal(phaseOf(real), 'preparing');
  real.pass(5_000);
  goOn(real, 2);
  assert.equal(phaseOf(real), 'awaiting-note');
  assert.equal(kindsOf(real).filter((kind) => kind === 'intended').length, 2);
  assert.equal(real.executed.length, 1);
});

test('the first intent of a slot is the intent, whoever wrote it; a second one is counted and never sent', () => {
  const real = createFlowWorld(started('contract'));
  goOn(real, 2);
  real.plan(0);
  real.plan(1);
  real.act(0, 'taken');
  real.act(1, 'taken');
  assert.equal(kindsOf(real).filter((kind) => kind === 'intended').length, 2);
  assert.deepEqual([phaseOf(real), real.state().strays], ['generating', 1]);
  assert.match(real.state().operation!.intent!.intentId, /^a1:/);
  goOn(real, 1, 'taken', 0);
  goOn(real, 3, 'taken', 1);
  assert.equal(real.executed.length, 1);
});

test('with a key an unknown answer is asked for again with the same bytes; a "no" after it proves nothing', () => {
  const real = createFlowWorld(started('withdrawal'));
  const step = (name: 'simulation' | 'inclusion', id: string) =>
    real.append(asked('w-1', name, id, real.world.now, { request: stepRequests[name], personKeys: [workerKey] }));
  step('simulation', 's1');
  goOn(real, 2);
  assert.equal(phaseOf(real), 'simulated');
  step('inclusion', 'i1');
  goOn(real, 2, 'lost');
  assert.equal(real.state().operation?.status, 'intended');
  real.pass(60_000);
  real.plan(1);
  real.act(1, 'taken');
  assert.deepEqual(
    [phaseOf(real), real.executed.filter(({ operation }) => operation === 'inclusion').length],
    ['included', 1],
  );
  const doubtful = createFlowWorld(started('withdrawal'));
  doubtful.append(
    asked('w-1', 'simulation', 's1', startAt, { request: stepRequests.simulation, personKeys: [workerKey] }),
  );
  goOn(doubtful, 2);
  doubtful.append(asked('w-1', 'inclusion', 'i1', startAt, { request: stepRequests.inclusion }));
  goOn(doubtful, 2, 'lost-before');
  doubtful.pass(60_000);
  goOn(doubtful, 1, 'refused');
  assert.notEqual(doubtful.state().operation?.status, 'rejected');
});

test('records of a version that recorded no terms fold with the settings of the process', () => {
  const written = createFlowWorld(started('withdrawal'));
  const request = stepRequests.simulation;
  const step = (stepId: string) =>
    written.append(asked('w-1', 'simulation', stepId, written.world.now, { request, personKeys: [workerKey] }));
  step('s1');
  goOn(written, 2, 'lost');
  const earlier = written.log.map((record): FlowRecord => {
    const { stepsKept: _kept, ...unasked } = record as FlowAsked;
    const { retry: _retry, ...unintended } = record as FlowIntended;
    if (record.kind === 'asked') return unasked;
    return record.kind === 'intended' ? unintended : record;
  });
  const folded = (terms: FlowFoldTerms) =>
    earlier.reduce<FlowState | null>((state, record) => evolve(state, record, terms), null)!;
  assert.equal(folded(settings).operation!.retryAt, written.world.now + settings.retryMs);
  assert.equal(folded(otherTerms).operation!.status, 'unclear');
});

test('when the competence turns before the endorsement, the contract is generated and signed again', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  deliverAll(real);
  assert.equal(phaseOf(real), 'awaiting-signature');
  sign(real, 's1');
  real.pass(20 * dayMs);
  real.settle();
  assert.equal(phaseOf(real), 'awaiting-note');
  assert.equal(real.state().signature, null);
  assert.equal(real.state().steps.find(({ stepId }) => stepId === 's1')?.outcome, 'withheld');
  assert.equal(real.executed.filter(({ operation }) => operation === 'endorsement').length, 0);
  deliverAll(real);
  sign(real, 's2');
  real.settle();
  assert.deepEqual([phaseOf(real), real.state().generations], ['endorsed', 2]);
});

test('a note of a contract that counts no more changes nothing; one told twice is counted', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  real.pass(20 * dayMs);
  deliverAll(real);
  real.settle();
  const [first] = real.events;
  const before = real.state();
  real.append(first!);
  assert.deepEqual({ ...real.state(), strays: 0 }, { ...before, strays: 0 });
});

/** The note with another loan. */
function differing(told: FlowRecord): FlowRecord {
  assert.ok(told.kind === 'told' && told.note !== null);
  return { ...told, note: { ...told.note, loanCents: told.note.loanCents! + 500 } };
}

test('a note that does not come, or is not to be signed, is asked for anew; an old note changes nothing then (line 14)', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  assert.deepEqual([phaseOf(real), nextSteps(real.state(), settings, null)], ['awaiting-note', ['proposal']]);
  const lateAt = real.state().generatedAt! + settings.noteTimeoutMs;
  assert.deepEqual(nextSteps(real.state(), settings, null, lateAt - 1), ['proposal']);
  assert.deepEqual(nextSteps(real.state(), settings, null, lateAt), ['cancel', 'regenerate', 'proposal']);
  real.append(asked('c-374', 'regenerate', 'r1', real.world.now));
  real.settle();
  assert.deepEqual([phaseOf(real), real.executed.length, real.state().generations], ['awaiting-note', 2, 2]);
  const [old, fresh] = real.events;
  real.append(old!);
  assert.equal(phaseOf(real), 'awaiting-note');
  real.append(differing(fresh!));
  assert.equal(phaseOf(real), 'awaiting-signature');
  assert.ok(real.state().differences.length > 0);
  assert.deepEqual(nextSteps(real.state(), settings, null), ['cancel', 'regenerate', 'accept', 'proposal']);
  real.append(asked('c-374', 'accept', 'a1', real.world.now));
  assert.deepEqual(real.state().noteAccepted, { by: 'ana', at: real.world.now });
  assert.deepEqual(nextSteps(real.state(), settings, null), ['sign', 'cancel', 'regenerate', 'proposal']);
  real.append(asked('c-374', 'regenerate', 'r2', real.world.now));
  assert.deepEqual([phaseOf(real), real.state().noteAccepted, real.state().note], ['preparing', null, null]);
});

test('a note that does not come or differs is asked for again by a query, which moves the flow nowhere (line 14)', () => {
  const real = createFlowWorld(started('contract'));
  goOn(real, 4);
  assert.equal(phaseOf(real), 'awaiting-note');
  assert.ok(nextSteps(real.state(), settings, null).includes('proposal'));
  const ask = (stepId: string) =>
    real.append(asked('c-374', 'proposal', stepId, real.world.now, { request: { dto: {} } }));
  const outcomeOf = (id: string) => real.state().steps.find(({ stepId }) => stepId === id)?.outcome;
  const bodies = () => real.executed.filter(({ operation }) => operation === 'proposal').map(({ body }) => body);
  ask('q1');
  assert.ok(!nextSteps(real.state(), settings, null).includes('regenerate'), 'one thing at a time');
  goOn(real, 2);
  assert.deepEqual([phaseOf(real), outcomeOf('q1')], ['awaiting-note', 'done']);
  assert.deepEqual(JSON.parse(bodies()[0]!), { dto: { CodigoProposta: 'pc' } });
  assert.ok(real.state().results.proposal !== undefined);
  // The note comes while the query is under way: it counts, and the query's answer is kept.
  ask('q2');
  goOn(real, 1);
  deliverAll(real);
  assert.equal(phaseOf(real), 'awaiting-signature');
  goOn(real, 1);
  assert.deepEqual([phaseOf(real), outcomeOf('q2')], ['awaiting-signature', 'done']);
  // Asked for before the signature, under way after it: both come to their end.
  ask('q3');
  sign(real, 's1');
  real.settle();
  assert.deepEqual([phaseOf(real), outcomeOf('q3')], ['endorsed', 'done']);
  assert.deepEqual(JSON.parse(bodies()[2]!), { dto: { CodigoProposta: 'other' } });
});

test('a signature that is overtaken by a cancellation is withheld', () => {
  const real = createFlowWorld(started('contract'));
  goOn(real, 4);
  deliverAll(real);
  sign(real, 's1');
  real.append(asked('c-374', 'cancel', 'x1', real.world.now));
  const outcomes = real.state().steps.map(({ stepId, outcome }) => [stepId, outcome]);
  assert.deepEqual(
    [phaseOf(real), outcomes],
    [
      'cancelled',
      [
        ['s1', 'withheld'],
        ['x1', 'done'],
      ],
    ],
  );
});

test('a query that is refused or never answered keeps a contract from nothing (line 14)', () => {
  for (const fate of ['refused', 'lost-before'] as const) {
    const real = createFlowWorld(started('contract'));
    goOn(real, 4);
    deliverAll(real);
    real.append(asked('c-374', 'proposal', 'q1', real.world.now, { request: { dto: {} } }));
    for (let round = 0; round < 6; round += 1) {
      goOn(real, 1, fate);
      real.pass(60_000);
    }
    assert.deepEqual([phaseOf(real), real.state().steps[0]?.outcome], ['awaiting-signature', 'rejected'], fate);
    assert.ok(nextSteps(real.state(), settings, null).includes('proposal'));
    sign(real, 's1');
    real.settle();
    assert.equal(phaseOf(real), 'endorsed');
  }
});

test('a cancelled flow begins again: nothing of before is taken for it, and it goes its whole way (line 13)', () => {
  const real = createFlowWorld(started('contract'));
  real.settle();
  real.append(asked('c-374', 'cancel', 'x1', real.world.now));
  const again = { ...started('contract', goodTerms, real.world.now + 1), key: 'second', requestHash: 'h2' };
  real.append(again);
  assert.equal(phaseOf(real), 'cancelled', 'only a beginning that says so');
  real.append({ ...again, again: true });
  assert.deepEqual([phaseOf(real), real.state().key, real.state().earlier], ['waiting-proposal', 'second', ['start']]);
  real.settle();
  deliverAll(real);
  assert.equal(phaseOf(real), 'awaiting-signature');
  assert.deepEqual([real.executed.length, real.state().requestCode], [2, 'code-2']);
  real.append({ ...again, key: 'third', again: true });
  assert.equal(real.state().key, 'second', 'only a cancelled one');
});

test('a renegotiation may cost 4.98, a contract stays below it and below its bid', () => {
  const withheldBy = (flow: 'contract' | 'renegotiation', rateHundredths: number) => {
    const real = createFlowWorld(started(flow, { ...goodTerms, rateHundredths }));
    real.settle();
    return real.state().breaches.map(({ rule }) => rule);
  };
  assert.deepEqual(withheldBy('renegotiation', 498), []);
  assert.deepEqual(withheldBy('renegotiation', 499), ['rate-at-most-maximum', 'rate-within-original']);
  assert.deepEqual(withheldBy('contract', 300), []);
  assert.deepEqual(withheldBy('contract', 301), ['rate-within-bid']);
  assert.ok(withheldBy('contract', 498).includes('rate-below-maximum'));
});

test('a withdrawal is finalised only after every signer has signed', () => {
  const other = {
    ...started('withdrawal'),
    subject: { ...started('withdrawal').subject, signerKeys: [workerKey, 'p(other)'] },
  };
  const real = createFlowWorld(other);
  const step = (name: 'simulation' | 'inclusion' | 'proposal' | 'signers' | 'finalisation', personKeys: string[]) => {
    real.append(
      asked('w-1', name, `${name}-${real.log.length}`, real.world.now, { request: stepRequests[name], personKeys }),
    );
    real.settle();
  };
  step('simulation', [workerKey]);
  step('inclusion', []);
  step('proposal', []);
  assert.ok(!allowsStep(real.state(), 'finalisation'));
  step('signers', [workerKey]);
  step('finalisation', []);
  assert.deepEqual(
    real.state().breaches.map(({ rule }) => rule),
    ['all-signed'],
  );
  step('signers', ['p(other)']);
  step('finalisation', []);
  assert.equal(phaseOf(real), 'finalised');
  assert.equal(real.executed.filter(({ operation }) => operation === 'finalisation').length, 1);
});

test('a step that is not allowed where the flow stands changes nothing but the list of steps', () => {
  for (const flow of ['contract', 'renegotiation', 'withdrawal'] as const) {
    for (const step of flowSteps) {
      const real = createFlowWorld(started(flow));
      const before = real.state();
      if (allowsStep(before, step)) continue;
      real.append(asked(before.flowId, step, 'x', startAt));
      assert.equal(real.state().steps[0]?.outcome, 'ignored');
      assert.deepEqual({ ...real.state(), steps: [], changedAt: 0 }, { ...before, steps: [], changedAt: 0 });
    }
  }
});

test('figures of the credit note are held against our own arithmetic, to the cent', () => {
  const expected = expectedLoan(goodTerms, startAt, pricing);
  const note: CreditNote = {
    noteNumber: '1',
    proposalCode: null,
    loanCents: expected.loanCents!,
    iofCents: expected.iofCents!,
    insuranceCents: 0,
    installmentCents: expected.installmentCents!,
    rateMonthlyPercent: 2.5,
    rateAnnualPercent: null,
    cetMonthlyPercent: expected.cetMonthlyHundredths! / 100,
    cetAnnualPercent: expected.cetAnnualHundredths! / 100,
  };
  assert.deepEqual(differencesOf(expected, note), []);
  const dearer = { ...note, installmentCents: note.installmentCents! + 1, rateMonthlyPercent: 2.51 };
  assert.deepEqual(differencesOf(expected, dearer), [
    { field: 'rateHundredths', ours: 250, theirs: 251 },
    { field: 'installmentCents', ours: expected.installmentCents, theirs: expected.installmentCents! + 1 },
  ]);
  assert.deepEqual(differencesOf(expected, { ...note, iofCents: null }), [], 'what it does not say cannot differ');
});

test('the loan of a note is the released value, IOF and insurance together, or it differs', () => {
  const insured = { ...goodTerms, insuranceCents: 2_500 };
  const expected = expectedLoan(insured, startAt, pricing);
  assert.equal(expected.loanCents, insured.amountCents! + expected.iofCents! + 2_500);
  const figures = { rateAnnualPercent: null, cetMonthlyPercent: null, cetAnnualPercent: null, rateMonthlyPercent: 2.5 };
  const note: CreditNote = {
    ...{ noteNumber: '1', proposalCode: null, installmentCents: expected.installmentCents!, ...figures },
    ...{ loanCents: expected.loanCents!, iofCents: expected.iofCents!, insuranceCents: 2_500 },
  };
  assert.deepEqual(differencesOf(expected, note), []);
  const withoutInsurance = { ...note, loanCents: note.loanCents! - 2_500 };
  assert.deepEqual(differencesOf(expected, withoutInsurance), [
    { field: 'loanCents', ours: expected.loanCents, theirs: expected.loanCents! - 2_500 },
  ]);
});

test('an alarm is raised once, and for a note only when its figures lie further off than rounding does', () => {
  const real = createFlowWorld(started('contract'));
  goOn(real, 4);
  deliverAll(real);
  const noted = real.state();
  assert.equal(noted.phase, 'awaiting-signature');
  const without = { ...noted, note: null, differences: [] };
  const alarms = (field: 'iofCents' | 'rateHundredths', theirs: number) =>
    alarmsOf(without, { ...noted, differences: [{ field, ours: 300, theirs }] }, settings);
  assert.deepEqual(alarms('iofCents', 300 + settings.noteTolerance), []);
  assert.deepEqual(alarms('iofCents', 299 - settings.noteTolerance), ['note-differs']);
  assert.deepEqual(alarms('rateHundredths', 301), ['note-differs']);
  const refused = { ...noted, phase: 'refused' as const };
  assert.deepEqual(alarmsOf(noted, refused, settings), ['flow-refused']);
  assert.deepEqual(alarmsOf(refused, refused, settings), []);
});

test('an event that nobody waits for is looked after for a day, and alarms once no answer can name its code any more', () => {
  const told: FlowRecord = {
    ...{ kind: 'told', flowId: 'event:zz', at: startAt, requestCode: 'zz', of: 'contract' },
    ...{ note: null, errors: ['x'], sealed: '' },
  };
  const event = evolve(null, told, settings)!;
  const commands = (ageMs: number) =>
    react(event, { now: startAt + ageMs, instance: 'a', margin: null, tried: () => false }, settings);
  const kinds = (ageMs: number) => commands(ageMs).map(({ kind }) => kind);
  assert.deepEqual(kinds(settings.noteTimeoutMs - 1), ['look-up-flow', 'wait']);
  assert.deepEqual(kinds(settings.noteTimeoutMs), ['alarm', 'look-up-flow', 'wait']);
  assert.deepEqual(kinds(dayMs + 1), []);
});
