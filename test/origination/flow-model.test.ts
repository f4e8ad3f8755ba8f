/**
 * Each flow as a state machine against a model (fast-check commands): two processes, a service that loses answers, events that
 * come late and twice, crashes, a month that turns, people who ask for anything at any time. Whatever happens, the service has
 * executed nothing that the contract forbids, and when the world is calm again the flow comes to its end.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type FlowStep, flowSteps } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { flowPhases } from '../../src/domain/flow-states.ts';
import type { CreditNote } from '../../src/domain/records.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { nextSteps, waitsFor } from '../../src/origination/next-steps.ts';
import { prepareOperation } from '../../src/origination/preparation.ts';
import { react } from '../../src/origination/react.ts';
import {
  allowsStep,
  isProposalSaid,
  lendsAgain,
  mayCorrect,
  mayDenyAwaited,
  mayDenyContradicted,
} from '../../src/origination/steps.ts';
import { isOperation } from '../../src/origination/transitions.ts';
import { createFlowWorld, type Fate, type FlowWorld } from './flow-world.ts';
import {
  asked,
  contractOrder,
  dayMs,
  goodTerms,
  plainVault,
  pricing,
  settings,
  startAt,
  started,
  stepRequests,
  type Terms,
  workerKey,
} from './orders.ts';

/** What the contract lets happen, kept apart from the flow: the steps that were taken, as the person saw them. */
type Model = { steps: number; signedAt: number[]; cancelled: number | null; noted: boolean; again: number };

const fates: Fate[] = [
  'taken',
  'taken',
  'taken',
  'dies',
  'late',
  'lost',
  'lost-before',
  'refused',
  'not-sent',
  'turned-away',
];
const terms: fc.Arbitrary<Terms> = fc.record({
  amountCents: fc.constantFrom(1_000_000, 1_000_000, null, 9_000_000),
  installmentCents: fc.constantFrom(null, null, 40_000, 200_000),
  installments: fc.constantFrom(36, 12),
  rateHundredths: fc.constantFrom(250, 300, 301, 497, 498, 499),
  insuranceCents: fc.constantFrom(null, 5_000),
});

/** The first month of the world counts up to 20 March; then from 21 to 20. Counted in São Paulo, three hours behind. */
function competence(at: number): string {
  const day = new Date(at - 3 * 3_600_000);
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + (day.getUTCDate() > 20 ? 1 : 0), 1)).toISOString();
}

function check(model: Model, real: FlowWorld): void {
  const state = real.state();
  const { executed } = real;
  assert.ok((flowPhases[state.flow] as readonly string[]).includes(state.phase), state.phase);
  const unkeyed = executed.filter(({ key }) => key === null);
  for (const { intentId } of unkeyed)
    assert.equal(real.writes.get(intentId), 1, 'bytes without a key are written once');
  const keys = executed.flatMap(({ key }) => key ?? []);
  assert.equal(new Set(keys).size, keys.length);
  const of = (operation: string) => executed.filter((one) => one.operation === operation);
  for (const operation of ['contract', 'endorsement', 'renegotiation']) {
    const months = of(operation).map(({ at }) => (operation === 'renegotiation' ? '' : competence(at)));
    const asked = operation === 'endorsement' ? 0 : model.again;
    assert.ok(
      months.length - new Set(months).size <= asked,
      `${operation} was executed twice, and nobody asked for it`,
    );
  }
  for (const { body } of of('contract')) {
    const sent = JSON.parse(body);
    assert.equal((sent.valorLiberado === undefined ? 0 : 1) + (sent.valorParcela === undefined ? 0 : 1), 1);
    assert.ok(sent.valorTaxaMensal <= 3 && sent.valorTaxaMensal > 0.01);
    if (sent.valorParcela !== undefined) assert.ok(sent.valorParcela <= 1_000);
    if (sent.valorSeguro !== undefined) assert.ok(sent.numeroApolice);
  }
  for (const { body } of of('renegotiation')) assert.ok(JSON.parse(body).valorTaxaMensal <= 4.98);
  for (const { at } of of('endorsement')) {
    const contract = of('contract').findLast((one) => one.at <= at && competence(one.at) === competence(at));
    assert.ok(contract !== undefined, 'endorsed what was generated in the same competence');
    assert.ok(
      model.signedAt.some((signedAt) => signedAt >= contract.at && signedAt <= at),
      'signed in between',
    );
    assert.ok(model.noted);
  }
  const { cancelled } = model;
  // The answer to an inclusion that was on its way undoes it.
  const isUndone = real.state().steps.findLast(({ step }) => step === 'cancel')?.outcome === 'ignored';
  if (cancelled !== null && !isUndone)
    assert.ok(executed.length <= cancelled, 'nothing is executed after a cancellation');
  checkWithdrawal(real);
}

function checkWithdrawal(real: FlowWorld): void {
  const order = real.executed.map(({ operation }) => operation);
  const first = (operation: string) => order.indexOf(operation);
  if (first('inclusion') !== -1) {
    assert.ok(first('simulation') !== -1 && first('simulation') < first('inclusion'));
    assert.equal(first('inclusion'), order.lastIndexOf('inclusion'));
  }
  for (const later of ['splits', 'signers', 'finalisation', 'account-update', 'installments']) {
    if (first(later) !== -1) assert.ok(first('inclusion') !== -1 && first('inclusion') < first(later), later);
  }
  for (const later of ['splits', 'signers', 'finalisation']) {
    if (first(later) !== -1) assert.ok(first('proposal') !== -1 && first('proposal') < first(later), later);
  }
  if (first('finalisation') !== -1) {
    assert.ok(first('signers') !== -1 && first('signers') < first('finalisation'));
    assert.equal(first('finalisation'), order.lastIndexOf('finalisation'));
    assert.ok(real.state().signedKeys.includes(workerKey), 'all who have to sign have signed');
  }
}

type Step = fc.Command<Model, FlowWorld>;

function command(name: string, run: (model: Model, real: FlowWorld) => void): Step {
  return {
    check: () => true,
    run: (model, real) => {
      run(model, real);
      check(model, real);
    },
    toString: () => name,
  };
}

/** A person who tells the truth of what the service has done. */
function ask(model: Model, real: FlowWorld, step: FlowStep, amended: Terms | null): void {
  const { world } = real;
  const before = real.state();
  // So is a denial of what is awaited, or of what an earlier version took for refused.
  const isOther = step === 'deny' && (mayDenyAwaited(before) || mayDenyContradicted(before));
  const allowed = allowsStep(before, step, world.now) && !isOther;
  // A correction is another record, which nobody here writes.
  const known = allowed && (step === 'confirm' || step === 'deny') && !mayCorrect(before);
  // The service's portal knows; nobody says otherwise.
  if (known && (step === 'confirm') !== real.wasDone()) return;
  model.steps += 1;
  const request = step === 'sign' ? { assinatura: 'x', contrato: '77' } : requestOf(step, world.now);
  const requestCode = known && step === 'confirm' ? (before.flow === 'withdrawal' ? 'prop-1' : real.codeOf()) : null;
  const personKeys = step === 'simulation' || step === 'signers' ? [workerKey] : [];
  const order = step === 'amend' && amended !== null ? contractOrder(amended) : request;
  const more = {
    ...{ signedAt: world.now, requestCode, personKeys },
    ...(order === undefined ? {} : { request: order }),
    ...(step === 'amend' && amended !== null && before.flow === 'contract' ? { terms: amended } : {}),
  };
  const given = step === 'amend' && before.flow !== 'contract' ? { ...more, request: undefined } : more;
  real.append(asked(before.flowId, step, `s${model.steps}`, world.now, given as typeof more));
  if (!allowed) assert.equal(real.state().phase, before.phase);
  if (allowed && step === 'cancel') model.cancelled = real.executed.length;
  if (allowed && step === 'regenerate') model.again += 1;
  if (allowed && step === 'sign') model.signedAt.push(world.now);
}

function deliver(model: Model, real: FlowWorld, index: number): void {
  const event = real.events[index % Math.max(1, real.events.length)];
  if (event === undefined) return;
  real.append({ ...event, at: real.world.now });
  if (real.state().note !== null) model.noted = true;
}

const steps: fc.Arbitrary<Step>[] = [
  fc.nat(1).map((index) => command(`${'ab'[index]} plans`, (_, real) => real.plan(index))),
  fc
    .tuple(fc.nat(1), fc.constantFrom(...fates))
    .map(([index, fate]) => command(`${'ab'[index]} acts (${fate})`, (_, real) => real.act(index, fate))),
  fc.tuple(fc.nat(1), fc.constantFrom(...fates)).map(([index, fate]) =>
    command(`${'ab'[index]} goes on (${fate})`, (_, real) => {
      real.plan(index);
      for (let count = 0; count < 3; count += 1) real.act(index, fate);
    }),
  ),
  fc.nat(1).map((index) => command(`${'ab'[index]} dies`, (_, real) => real.crash(index))),
  fc.constant(command('answers arrive', (_, real) => real.arrive())),
  fc.nat(5).map((index) => command(`event ${index}`, (model, real) => deliver(model, real, index))),
  fc
    .constantFrom(1_000, 3_600_000, dayMs, 20 * dayMs)
    .map((ms) => command(`${ms} ms pass`, (_, real) => real.pass(ms))),
  fc
    .tuple(fc.constantFrom(...flowSteps), fc.option(terms))
    .map(([step, amended]) => command(`asks ${step}`, (model, real) => ask(model, real, step, amended))),
  fc.nat().map((draw) =>
    command('asks what is allowed', (model, real) => {
      const allowed = nextSteps(real.state(), settings, null);
      const step = allowed[draw % Math.max(1, allowed.length)];
      if (step !== undefined) ask(model, real, step, goodTerms);
    }),
  ),
];

/** No faults any more, every event comes, and people do what is next. */
function calm(model: Model, real: FlowWorld): void {
  const ends = ['endorsed', 'renegotiated', 'finalised', 'cancelled'];
  const goOn: readonly FlowStep[] = [
    ...(['proposal', 'amend', 'sign', 'simulation', 'inclusion', 'signers', 'finalisation', 'accept'] as const),
  ];
  for (let round = 0; round < 60; round += 1) {
    real.arrive();
    real.settle();
    check(model, real);
    for (const index of real.events.keys()) deliver(model, real, index);
    real.settle();
    check(model, real);
    const state = real.state();
    if (ends.includes(state.phase) && state.operation?.status !== 'unclear') return;
    if (state.operation?.status === 'unclear') {
      ask(model, real, real.wasDone() ? 'confirm' : 'deny', null);
      continue;
    }
    // Generated anew just now: its note is on the way.
    if (state.phase === 'awaiting-note') continue;
    const signing = state.signedKeys.includes(workerKey) ? 'finalisation' : 'signers';
    const isProposalOpen = state.proposalCode !== null && !isProposalSaid(state);
    // A simulation that brought no values, as one whose answer was lost, is to be asked for again.
    const hasNoValues = state.breaches.some(({ rule }) => rule === 'period-simulated');
    const wanted = hasNoValues ? 'simulation' : isProposalOpen ? 'proposal' : signing;
    const allowed = goOn.filter((step) => allowsStep(state, step));
    const step = state.flow === 'withdrawal' && allowed.includes(wanted) ? wanted : allowed.at(-1);
    assert.ok(step !== undefined, `nothing can be done in ${state.phase}`);
    ask(model, real, step, state.flow === 'contract' ? goodTerms : null);
  }
  assert.fail(`never ends: ${real.state().phase}`);
}

/** Who signs does so now. */
function requestOf(step: FlowStep, signedAt: number) {
  const request = stepRequests[step as keyof typeof stepRequests];
  if (step !== 'signers') return request;
  return { signers: stepRequests.signers.signers.map((signer) => ({ ...signer, signedAt })) };
}

const fresh = (): Model => ({ steps: 0, signedAt: [], cancelled: null, noted: false, again: 0 });

for (const flow of ['contract', 'renegotiation', 'withdrawal'] as const) {
  test(`${flow}: no sequence of calls reaches what the contract forbids`, () => {
    const begin = flow === 'contract' ? terms : fc.constantFrom(goodTerms, { ...goodTerms, rateHundredths: 498 });
    fc.assert(
      fc.property(begin, fc.commands(steps, { maxCommands: 60, size: '+1' }), (order, commands) => {
        fc.modelRun(() => ({ model: fresh(), real: createFlowWorld(started(flow, order)) }), commands);
      }),
      { numRuns: 1_500, includeErrorInReport: true },
    );
  });
}

/** By rules that say where the flow stands, and not what was sent; null: something else is done first. */
function isRefused(state: FlowState, step: FlowStep, now: number, held: typeof settings): boolean | null {
  const personKeys = step === 'simulation' || step === 'signers' ? [workerKey] : [];
  const request = step === 'sign' ? { assinatura: 'x' } : requestOf(step, now);
  const more = { signedAt: now, personKeys, ...(request === undefined ? {} : { request }) };
  const next = evolve(state, asked(state.flowId, step, 'tried', now, more), held)!;
  if (next.steps.at(-1)?.outcome === 'ignored') return true;
  const margin = { receivedAt: now, availableMarginCents: 100_000 };
  const due = react(next, { now, instance: 'x', margin, tried: () => false }, held).find(
    (command) => command.kind === 'prepare',
  );
  if (due?.kind !== 'prepare' || due.operation !== (step === 'sign' ? 'endorsement' : step)) return null;
  const facts = {
    now,
    margin,
    ...plainVault,
    bodyKey: plainVault.pseudonym,
    pricing,
    settings: held,
    addresses: null,
    bid: null,
  };
  const { preparation } = prepareOperation(next, due.operation, due.slot, facts);
  return preparation.kind === 'withheld' && preparation.breaches.some(({ field }) => field === 'step');
}

/** What makes any state doubtful, or settles it. */
const taken = { noteAccepted: { by: 'ana', at: startAt } };
const doubtfulNotes: readonly Partial<FlowState>[] = [
  {},
  taken,
  { noteHolder: 'c-9' },
  { differences: [{ field: 'iofCents', ours: 1, theirs: 2 }] },
];
const doubtfulProposals: readonly Partial<FlowState>[] = [
  {},
  { ending: 'rejection' },
  { differences: [{ field: 'creditCents', ours: 1, theirs: 9 }] },
  { ...taken, splitCents: 900_000_000 },
  { situation: 9 },
];
const changedNotes: readonly Partial<CreditNote>[] = [
  {},
  { iofCents: 1 },
  { installmentCents: 900_000 },
  { insuranceCents: 500_000 },
  { rateAnnualPercent: 99 },
  { loanCents: null },
];

test('what is offered in any state is not refused for where the flow stands, and what would be refused is not offered', () => {
  const tellsOtherwise = fc.tuple(fc.nat(5), fc.constantFrom(...changedNotes)).map(([index, change]) =>
    command('another note', (_, real) => {
      const event = real.events[index % Math.max(1, real.events.length)];
      if (event?.kind === 'told') real.append({ ...event, at: real.world.now, note: { ...event.note!, ...change } });
    }),
  );
  const goesOn: fc.Arbitrary<Step> = fc.constant(
    command('what is due is done', (model, real) => {
      const [step] = waitsFor(real.state(), settings, plainVault.open as never);
      if (step !== undefined) ask(model, real, step, goodTerms);
      real.settle();
      // What was planned before is done by no desk after that.
      for (const index of [0, 1]) real.plan(index);
    }),
  );
  const seen = new Set<string>();
  for (const flow of ['contract', 'renegotiation', 'withdrawal'] as const) {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(tellsOtherwise, goesOn, goesOn, goesOn, ...steps), { maxLength: 40, size: 'max' }),
        (commands) => {
          const real = createFlowWorld(started(flow));
          const model = { ...fresh(), noted: true };
          for (const each of commands) {
            const before = real.state();
            void each.run(model, real);
            if (real.state() === before) continue;
            for (const change of flow === 'withdrawal' ? doubtfulProposals : doubtfulNotes) {
              for (const finalisationEnabled of flow === 'withdrawal' ? [true, false] : [true]) {
                const state = { ...real.state(), ...change };
                const held = { ...settings, finalisationEnabled };
                const offered = nextSteps(state, held, plainVault.open as never);
                for (const step of flowSteps) {
                  // The others are taken where the phase knows them, or refused by the very function that is asked here.
                  const isPrepared = step === 'sign' || (isOperation(step) && step !== 'inclusion');
                  if (!isPrepared || !allowsStep(state, step) || lendsAgain(state, step)) continue;
                  const refused = isRefused(state, step, real.world.now, held);
                  if (refused === null) continue;
                  assert.equal(offered.includes(step), !refused, `${step} in ${flow} ${state.phase}`);
                  seen.add(`${step} ${refused}`);
                }
              }
            }
          }
        },
      ),
      { numRuns: 100, includeErrorInReport: true },
    );
  }
  for (const step of ['sign', 'signers', 'finalisation', 'splits', 'account-update']) {
    for (const refused of [true, false]) assert.ok(seen.has(`${step} ${refused}`), `${step} ${refused}`);
  }
});

test('after anything, a calm world brings each flow to its end', () => {
  for (const flow of ['contract', 'renegotiation', 'withdrawal'] as const) {
    fc.assert(
      fc.property(terms, fc.array(fc.oneof(...steps), { maxLength: 40, size: 'max' }), (order, commands) => {
        const real = createFlowWorld(started(flow, flow === 'renegotiation' ? goodTerms : order));
        const model = fresh();
        for (const each of commands) void each.run(model, real);
        calm(model, real);
      }),
      { numRuns: 100, includeErrorInReport: true },
    );
  }
});

test('an equal record folded again changes nothing but counters', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...steps), { maxLength: 40, size: 'max' }), (commands) => {
      const real = createFlowWorld(started('contract'));
      const model = fresh();
      for (const each of commands) void each.run(model, real);
      const last = real.log.at(-1)!;
      const { strays: _before, ...before } = real.state();
      if (last.kind === 'margin-asked' || last.kind === 'withheld') return;
      real.append(last);
      const { strays: _after, ...after } = real.state();
      assert.deepEqual(after, before);
    }),
    { numRuns: 100, includeErrorInReport: true },
  );
  assert.ok(settings.stepsKept > 40);
});
