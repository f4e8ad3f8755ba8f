/** A person is asked before a bid: in virtual time, with two desks on one log, against what people and processes may do meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evolve } from '../../src/bidding/evolve.ts';
import { differencesOf, type Replay, replayDecision } from '../../src/bidding/explain.ts';
import { type NearestBid, nearestBids } from '../../src/bidding/nearest-bids.ts';
import { react } from '../../src/bidding/react.ts';
import { waitingByQueue } from '../../src/bidding/review.ts';
import { readRecord } from '../../src/domain/record-shapes.ts';
import type { Claimed, Passed, ReviewAnswered, ReviewAsked } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { encode, settings } from '../simulation/policy.ts';
import { createHandOver } from './hand-over.ts';
import { at, claimed, deadlineAt, folded, settings as foldSettings, passed, requested, requestId } from './parts.ts';

type World = Awaited<ReturnType<typeof createHandOver>>;

const always = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };
const large = { all: [{ fact: 'request.amountReais', operator: 'greaterThan', value: 5000 }] };

function reviewRule(change: object = {}, conditions: object = always, name = 'Seen by a person'): object {
  return { name, conditions, event: { type: 'review', params: { queue: 'large', minutes: 1, ...change } } };
}

function asked(world: World): ReviewAsked {
  const record = world.records().find((each) => each.kind === 'review-asked');
  assert.ok(record?.kind === 'review-asked', 'nobody was asked');
  return record;
}

function answer(world: World, decision: 'pass' | 'bid', change: Partial<ReviewAnswered> = {}): ReviewAnswered {
  const who = { by: 'ana', via: 'api', reason: 'seen' } as const;
  return { kind: 'review-answered', requestId: world.requestId, at: world.now(), decision, ...who, ...change };
}

const claims = (world: World) => world.records().filter((record): record is Claimed => record.kind === 'claimed');
const passes = (world: World) => world.records().filter((record): record is Passed => record.kind === 'passed');

/** The recorded decision, made again from the log and the stored inputs alone. */
function replayOf(world: World, recorded: Claimed | Passed): Replay {
  const stored = (kind: string) => world.policy.stored.find((input) => input.kind === kind)!.content;
  const { trace } = recorded;
  assert.ok(trace !== null);
  const request = world
    .records()
    .find((record) => record.kind === 'requested' && record.requestId === recorded.requestId);
  assert.ok(request?.kind === 'requested');
  const curve = world.inputs().find(({ hash }) => hash === trace.curveHash)?.content ?? null;
  const shapes = world.inputs().find(({ hash }) => hash === trace.tailoring?.shapesHash)?.content ?? null;
  const contents = { ruleSet: stored('rule-set'), settings: stored('settings'), curve, shapes };
  return replayDecision({ request: request.request, trace, contents, encodeBid: encode });
}

/** As a process reads them from the log: what it cannot read it freezes, and explains to nobody. */
function assertReadable(world: World): void {
  for (const [offset, record] of world.records().entries()) {
    // The desks of this test forget nothing, which no settings can say.
    const { terms } = record.kind === 'claimed' ? record : {};
    const stored = terms === undefined ? record : { ...record, terms: { ...terms, halfLifeMs: 1 } };
    const read = readRecord('auctions', { partition: 0, offset, key: record.requestId }, stored);
    assert.equal(read.kind, record.kind, JSON.stringify(read));
  }
}

function assertReplays(world: World, recorded: Claimed | Passed): void {
  assertReadable(world);
  assert.deepEqual(differencesOf(replayOf(world, recorded), recorded), []);
}

/** What would have made a bid of the only pass. */
function nearestOf(world: World): NearestBid[] {
  const [pass] = passes(world);
  return nearestBids(replayOf(world, pass!), pass!.trace!);
}

test('a request waits, and the answer `bid` makes the bid, once', async () => {
  const world = await createHandOver([reviewRule()]);
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  const { queue, rules, until, otherwise, at: askedAt } = asked(world);
  assert.deepEqual([queue, rules, otherwise], ['large', ['Seen by a person'], 'pass']);
  assert.ok(until > askedAt && until <= askedAt + 60_000);
  await world.pass(3_000);
  assert.deepEqual(world.status('a').reviews, { large: 1, other: 0 });
  assert.deepEqual([world.state().phase, world.written.length, claims(world).length], ['requested', 0, 0]);
  await world.append(answer(world, 'bid'));
  await world.until(() => world.written.length === 1);
  const [claim, ...others] = claims(world);
  assert.deepEqual(others, []);
  assert.deepEqual(claim!.trace.review?.answer, {
    ...{ decision: 'bid', by: 'ana', via: 'api', reason: 'seen' },
    at: world.state().review!.answer!.at,
  });
  assert.equal(world.records().filter(({ kind }) => kind === 'review-asked').length, 1);
  assert.deepEqual(world.status('a').reviews, { large: 0, other: 0 });
  assertReplays(world, claim!);
});

test('the answer `pass` is no bid', async () => {
  const world = await createHandOver([reviewRule({ otherwise: 'bid' })]);
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  await world.append(answer(world, 'pass'));
  await world.until(() => world.state().phase === 'passed');
  const [pass] = passes(world);
  assert.deepEqual([pass!.code, pass!.reasons[0]!.rule], ['review-refused', 'Seen by a person']);
  assert.equal(world.written.length, 0);
  assertReplays(world, pass!);
});

test('nobody answers: no bid', async () => {
  const world = await createHandOver([reviewRule()]);
  await world.arrive();
  await world.until(() => world.state().phase === 'passed', settings.windowMs);
  const [pass] = passes(world);
  assert.equal(pass!.code, 'review-expired');
  assert.ok(pass!.trace!.decidedAt >= asked(world).until);
  assert.equal(pass!.trace!.review!.answer, null);
  assertReplays(world, pass!);
  assert.equal(world.written.length, 0);
});

test('nobody answers, and the rule says `bid` for that: it is in time, and told', async () => {
  const world = await createHandOver([reviewRule({ otherwise: 'bid' })]);
  await world.arrive();
  await world.until(() => world.written.length === 1, settings.windowMs);
  const [claim] = claims(world);
  assert.ok(claim!.trace.decidedAt >= asked(world).until);
  assert.deepEqual([claim!.trace.review!.answer, claim!.trace.review!.otherwise], [null, 'bid']);
  assertReplays(world, claim!);
});

test('what is no bid anyway asks nobody, and an answer lifts nothing that came meanwhile', async () => {
  const world = await createHandOver([reviewRule()]);
  await world.arrive(['8000001'], { politicallyExposed: true });
  await world.until(() => passes(world).length === 1);
  assert.equal(world.records().filter(({ kind }) => kind === 'review-asked').length, 0);
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  world.control.state = { ...world.control.state, caps: { book: 1 } };
  await world.pass(settings.controlPollMs + 100);
  await world.append(answer(world, 'bid'));
  await world.until(() => world.state().phase === 'passed');
  const pass = passes(world).at(-1)!;
  assert.equal(pass.code, 'cap');
  assert.equal(pass.trace!.review!.answer!.decision, 'bid');
  assertReplays(world, pass);
});

test('a rule that cannot be decided asks as well; one that is false does not', async () => {
  const conditions = { all: [{ fact: 'extra.income', operator: 'greaterThan', value: 1 }] };
  const world = await createHandOver([reviewRule({}, conditions)]);
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  const other = await createHandOver([reviewRule({}, large)]);
  await other.arrive(undefined, { requestedAmountCents: 400_000 });
  await other.until(() => other.written.length === 1);
  assert.equal(other.state().review, undefined);
});

test('several rules: the queue of the first, the fewest minutes, no bid where any says so', async () => {
  const first = { ...reviewRule({ queue: 'compliance', minutes: 3, otherwise: 'bid' }), priority: 5 };
  const world = await createHandOver([first, reviewRule({ queue: 'other' }, large, 'Large')]);
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  const { queue, rules, otherwise } = asked(world);
  assert.deepEqual([queue, rules, otherwise], ['compliance', ['Seen by a person', 'Large'], 'pass']);
});

test('where no time is left nobody is asked, and what the rule says otherwise holds', async () => {
  for (const [otherwise, phase] of [
    ['pass', 'passed'],
    ['bid', 'claimed'],
  ] as const) {
    const world = await createHandOver([reviewRule({ otherwise })]);
    // The way to the service takes most of what is left.
    await world.arrive(undefined, { closesAt: world.now() + settings.skewAllowanceMs + 900 });
    await world.until(() => world.state().phase === phase);
    assert.equal(world.records().filter(({ kind }) => kind === 'review-asked').length, 0);
    const decided = [...claims(world), ...passes(world)][0]!;
    assert.deepEqual([decided.trace!.review!.until, decided.trace!.review!.answer], [decided.trace!.decidedAt, null]);
    if (decided.kind === 'passed') assert.equal(decided.code, 'review-expired');
    assertReplays(world, decided);
  }
});

test('the partition goes to another process while it waits: the same end, the answer holds, one bid', async () => {
  const world = await createHandOver([reviewRule()]);
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  const { until } = asked(world);
  world.give('b');
  await world.pass(2_000);
  assert.equal(world.state().review!.until, until);
  // Answered just as the partition goes again: whoever has it then decides.
  world.unsettle();
  await world.append(answer(world, 'bid'));
  world.give('a');
  await world.until(() => world.written.length === 1);
  assert.equal(new Set(claims(world).map(({ body }) => body)).size, 1);
  assert.equal(world.records().filter(({ kind }) => kind === 'review-asked').length, 1);
});

test('answers that count for nothing: twice, after the end, for what does not wait', async () => {
  const world = await createHandOver([reviewRule()]);
  await world.append(answer(world, 'bid', { requestId: '8000009' }));
  await world.arrive();
  await world.until(() => world.state().review !== undefined);
  await world.append(answer(world, 'pass', { at: asked(world).until }));
  assert.equal(world.state().review!.answer, null);
  await world.append(answer(world, 'pass', { by: 'rui' }));
  await world.append(answer(world, 'bid'));
  await world.until(() => world.state().phase === 'passed');
  assert.equal(world.state().pass!.code, 'review-refused');
  await world.append(answer(world, 'bid'));
  await world.pass(1_000);
  assert.deepEqual([world.state().phase, world.written.length], ['passed', 0]);
});

const reviewAsked: ReviewAsked = {
  ...{ kind: 'review-asked', requestId, at: at + 1, queue: 'large', rules: ['R'], until: at + 20_000 },
  ...{ otherwise: 'pass', ruleSetHash: 'rules' },
};
const said: ReviewAnswered = {
  ...{ kind: 'review-answered', requestId, at: at + 10, decision: 'pass', by: 'ana', via: 'api', reason: 'no' },
};

function commands(state: RequestState, now: number) {
  return react(state, state.exposure, now, foldSettings);
}

test('the fold: an answer needs a question before it, the first question counts, what is decided is not asked about', () => {
  assert.equal(folded(requested(), said).review, undefined);
  assert.equal(folded(said, requested(), reviewAsked).review!.answer, null);
  const again = { ...reviewAsked, queue: 'other', until: at + 90_000 };
  assert.deepEqual(folded(requested(), reviewAsked, again), folded(requested(), reviewAsked));
  assert.equal(folded(requested(), passed(null), reviewAsked).review, undefined);
  assert.equal(folded(requested(), reviewAsked, claimed(), said).review!.answer, null);
  const before = { ...said, at: reviewAsked.at - 1 };
  assert.equal(folded(requested(), reviewAsked, before).review!.answer, null, 'by a clock that was wrong');
  // Strayed in before the request.
  assert.equal(evolve(null, reviewAsked, foldSettings).review, undefined);
});

test('a request that waits is left alone until the end of its wait, and is decided then', () => {
  const state = folded(requested(), reviewAsked);
  assert.deepEqual(commands(state, at + 5), [{ kind: 'wait', until: reviewAsked.until }]);
  assert.equal(commands(state, reviewAsked.until)[0]!.kind, 'decide');
  assert.equal(commands(folded(requested(), reviewAsked, said), at + 11)[0]!.kind, 'decide');
});

test('no process ran until the deadline: it ends by what holds without an answer', () => {
  const codeOf = (state: RequestState) => {
    const [command] = commands(state, deadlineAt);
    return command?.kind === 'append' && command.record.kind === 'passed' ? command.record.code : null;
  };
  assert.equal(codeOf(folded(requested(), reviewAsked)), 'review-expired');
  assert.equal(codeOf(folded(requested(), { ...reviewAsked, otherwise: 'bid' })), 'deadline');
  assert.equal(codeOf(folded(requested(), reviewAsked, { ...said, decision: 'bid' })), 'deadline');
  assert.equal(codeOf(folded(requested(), reviewAsked, { ...said, decision: 'pass' })), 'review-refused');
});

test('an answer `pass` that the log has before a claim keeps the claim back, whoever made it', () => {
  const state = folded(requested(), { ...reviewAsked, otherwise: 'bid' }, said, claimed());
  const [command, ...others] = commands(state, at + 30);
  assert.ok(command?.kind === 'append' && command.record.kind === 'passed');
  assert.deepEqual([command.record.code, command.record.claimId, others], ['review-refused', 'a:1', []]);
  assert.equal(sampleRequest.requestId, command.record.requestId);
});

test('series of waiting reviews are those of the set that decides, and one for all others', () => {
  const waiting = new Map([
    ['large', 2],
    ['gone', 1],
    ['gone-too', 4],
  ]);
  assert.deepEqual(waitingByQueue(waiting, ['compliance', 'large']), { compliance: 0, large: 2, other: 5 });
  const many = Array.from({ length: 500 }, (_, index) => `queue-${index}`);
  assert.equal(Object.keys(waitingByQueue(waiting, many)).length, 101);
});

test('where nobody answered, an answer was missing, and no change of a fact that leaves the review wanted', async () => {
  const world = await createHandOver([reviewRule()]);
  await world.arrive();
  await world.until(() => world.state().phase === 'passed');
  assert.deepEqual(
    nearestOf(world).map(({ fact }) => fact),
    ['review'],
  );
});

test('a change helps by which nobody would have been asked', async () => {
  for (const decision of [null, 'pass'] as const) {
    const world = await createHandOver([reviewRule({}, large)]);
    await world.arrive();
    await world.until(() => world.state().review !== undefined);
    if (decision !== null) await world.append(answer(world, decision));
    await world.until(() => world.state().phase === 'passed');
    assert.equal(passes(world)[0]!.code, decision === null ? 'review-expired' : 'review-refused');
    const near = nearestOf(world);
    assert.deepEqual(
      near.map(({ fact }) => fact),
      ['review', 'amount'],
    );
    assert.ok(Number(near[1]!.to) <= 500_000, String(near[1]!.to));
  }
});

test('a review that only the change would bring has no answer: what it says otherwise holds', async () => {
  const tooLarge = { all: [{ fact: 'request.amountReais', operator: 'greaterThan', value: 1000 }] };
  const refusal = {
    name: 'Too large',
    conditions: tooLarge,
    event: { type: 'pass', params: { code: 'politically-exposed', reason: 'Large.' } },
  };
  const nearOf = async (otherwise: string) => {
    const small = { all: [{ fact: 'request.amountReais', operator: 'lessThanInclusive', value: 1000 }] };
    const world = await createHandOver([refusal, reviewRule({ otherwise }, small)]);
    await world.arrive();
    await world.until(() => world.state().phase === 'passed');
    return nearestOf(world).map(({ fact }) => fact);
  };
  assert.deepEqual(await nearOf('pass'), []);
  assert.deepEqual(await nearOf('bid'), ['amount']);
});
