/** What the owner of a request does next, for each state and each time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alarmsOf, type Command, react } from '../../src/bidding/react.ts';
import type { Reservation } from '../../src/domain/cap-book.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import {
  accepted,
  answered,
  at,
  bid,
  claimed,
  contemplated,
  deadlineAt,
  duplicate,
  ended,
  folded,
  offer,
  outside,
  passed,
  proposed,
  rejected,
  requested,
  resolved,
  settings,
  unknown,
} from './parts.ts';

/** Commands in short: what is appended is named by kind and by what it says. */
function short(command: Command): string {
  if (command.kind === 'wait') return `wait ${command.until}`;
  if (command.kind === 'alarm') return `alarm ${command.code}`;
  if (command.kind === 'send') return `send ${command.claim.claimId} until ${command.deadlineAt}`;
  if (command.kind !== 'append') return command.kind;
  const { record } = command;
  if (record.kind === 'passed') return `passed ${record.code} ${record.claimId}`;
  if (record.kind === 'resolved') return `resolved ${record.as} by ${record.by}`;
  return record.kind === 'answered' ? `answered ${record.outcome.kind} ${record.earlierAttemptPossible}` : record.kind;
}

function commands(state: RequestState, now: number, reservation: Reservation = state.exposure): string[] {
  return react(state, reservation, now, settings).map(short);
}

const validityEnd = offer.validUntil + settings.graceMs;
const resultAt = deadlineAt + settings.resultTimeoutMs;
const endedAt = deadlineAt + 500;

test('requested: decided until the deadline, then passed with the reason', () => {
  const state = folded(requested());
  assert.deepEqual(commands(state, deadlineAt - 1), ['decide', `wait ${deadlineAt}`]);
  assert.deepEqual(commands(state, deadlineAt), ['passed deadline null']);
  const over = folded(ended([]), requested());
  assert.deepEqual(commands(over, at), ['passed auction-ended null']);
});

test('claimed: sent until the deadline, whoever claimed it; unknown afterwards; never sent over a cap', () => {
  const state = folded(requested(), claimed('b:4'));
  assert.deepEqual(commands(state, at), [`send b:4 until ${deadlineAt}`, `wait ${deadlineAt}`]);
  assert.deepEqual(commands(state, deadlineAt), ['answered unknown true']);
  assert.deepEqual(commands(state, at, 'refused'), ['passed cap b:4']);
  assert.deepEqual(commands(state, deadlineAt, 'refused'), ['passed cap b:4']);
});

const claim = [requested(), claimed()] as const;
const waiting: readonly { records: readonly AuctionRecord[]; dueAt: number; ending: string }[] = [
  { records: [...claim, answered(accepted)], dueAt: resultAt, ending: 'resolved result-missing by desk' },
  { records: [...claim, answered(duplicate, true)], dueAt: resultAt, ending: 'resolved result-missing by desk' },
  { records: [...claim, answered(duplicate)], dueAt: resultAt, ending: 'resolved result-missing by desk' },
  { records: [...claim, answered(unknown)], dueAt: resultAt, ending: 'resolved result-missing by desk' },
  { records: [...claim, answered(outside)], dueAt: validityEnd, ending: 'resolved expired by desk' },
  { records: [...claim, answered(unknown), ended([])], dueAt: validityEnd, ending: 'resolved expired by desk' },
  {
    records: [...claim, answered(accepted), resolved('result-missing')],
    dueAt: validityEnd,
    ending: 'resolved expired by desk',
  },
  { records: [...claim, answered(accepted), contemplated()], dueAt: validityEnd, ending: 'resolved expired by desk' },
  {
    records: [...claim, answered(accepted), proposed([], at + 5_000)],
    dueAt: at + 5_000 + settings.graceMs,
    ending: 'resolved expired by desk',
  },
];

test('each timer waits for its time, then ends what nothing else ended', () => {
  for (const { records, dueAt, ending } of waiting) {
    const state = folded(...records);
    assert.deepEqual(commands(state, dueAt - 1), [`wait ${dueAt}`], state.phase);
    assert.deepEqual(commands(state, dueAt), [ending], state.phase);
  }
});

test('what is over asks for nothing more, and what the desk appends ends its timer', () => {
  const over = [
    [requested(), passed(null)],
    [...claim, answered(rejected)],
    [...claim, answered(accepted), ended([bid('ours', { position: 2 })])],
    [...claim, answered(accepted), contemplated(['refused'])],
    [...claim, answered(accepted), resolved('cancelled')],
    [ended([])],
  ];
  for (const records of over) assert.deepEqual(commands(folded(...records), validityEnd + 1), []);
  for (const { records, dueAt } of waiting) {
    const state = folded(...records);
    const [command] = react(state, state.exposure, dueAt, settings);
    assert.ok(command?.kind === 'append');
    assert.notDeepEqual(folded(...records, command.record).timer, state.timer);
  }
});

test('position 1 without a word: an alarm, then the end of the promise', () => {
  const won = folded(...claim, answered(accepted), ended([bid('ours')]));
  const dueAt = endedAt + settings.contemplationTimeoutMs;
  assert.deepEqual(commands(won, dueAt - 1), [`wait ${dueAt}`]);
  assert.deepEqual(commands(won, dueAt), ['alarm contemplation-late', `wait ${validityEnd}`]);
  assert.deepEqual(commands(won, validityEnd), ['resolved expired by desk']);
  const ambiguous = folded(...claim, answered(unknown), ended([bid('one'), bid('two')]));
  assert.deepEqual(commands(ambiguous, dueAt), [`wait ${validityEnd}`]);
});

test('alarms are raised by the step, once', () => {
  const refusal = { kind: 'rejected', code: 'request-expired', names: ['ours'] } as const;
  const steps: readonly [readonly AuctionRecord[], AuctionRecord, readonly string[]][] = [
    [claim, answered(duplicate), ['foreign-bid']],
    [claim, answered({ kind: 'rejected', code: 'unclassified' }), ['rejected-unclassified']],
    [claim, answered(rejected), []],
    [claim, answered({ kind: 'unknown', reason: 'refused-in-doubt' }), ['rejected-unclassified']],
    [claim, answered(unknown), []],
    [[...claim, answered(refusal)], ended([bid('ours')]), ['bid-after-refusal']],
    [[...claim, answered(refusal)], ended([bid('ours', { position: 2 })]), ['bid-after-refusal']],
    [[...claim, answered(refusal)], ended([bid('ours'), bid('ours')]), ['bid-after-refusal']],
    [[...claim, answered(refusal), ended([bid('ours'), bid('ours')])], resolved('won'), []],
    [[...claim, answered(refusal), ended([bid('ours')])], contemplated(), []],
    [[...claim, ended([bid('ours')])], answered(refusal), ['bid-after-refusal']],
    [[...claim, answered(refusal)], ended([]), []],
    [[...claim, answered(unknown)], ended([bid('ours')]), []],
    // Refused without a code, and published with the same figures (integrator, session 49); other figures are a rival's.
    [[...claim, answered(rejected)], ended([bid('other')]), ['bid-after-refusal']],
    [[...claim, ended([bid('other')])], answered(rejected), ['bid-after-refusal']],
    [[...claim, answered(rejected)], ended([bid('other', { amountCents: 1 })]), []],
    [[...claim, answered(rejected), ended([bid('other')])], contemplated(), ['win-after-loss']],
    [[...claim, answered(accepted)], resolved('result-missing'), ['result-missing']],
    [[...claim, answered(accepted)], contemplated(['refused']), ['winner-failed']],
    [[...claim, answered(accepted), ended([bid('ours', { position: 2 })])], contemplated(), ['win-after-loss']],
    [[...claim, answered(accepted), ended([bid('ours')])], contemplated(), []],
    // Under our code, with figures that we did not send; the end folds as ever.
    [[...claim, answered(accepted)], ended([bid('ours', { rateHundredths: 249 })]), ['bid-differs']],
    [[...claim, answered(accepted)], ended([bid('ours', { offGrid: true })]), ['bid-differs']],
    [[...claim, answered(accepted)], ended([bid('ours', { amountCents: 1, position: 2 })]), ['bid-differs']],
    [[...claim, answered(accepted)], ended([bid('ours'), bid('ours', { installments: 1 })]), ['bid-differs']],
    [[...claim, answered(refusal)], ended([bid('ours', { installments: 1 })]), ['bid-after-refusal', 'bid-differs']],
    [[...claim, answered(accepted), contemplated()], ended([bid('ours', { installments: 1 })]), ['bid-differs']],
    [[...claim, answered(accepted), ended([bid('ours', { installments: 1 })])], resolved('lost'), []],
    // What a list may say of our bid beside its figures: its rank, and when it came.
    [[...claim, answered(accepted)], ended([bid('ours', { position: 9, placedAt: null })]), []],
    [[...claim, answered(accepted)], ended([bid('ours'), bid('rival', { rateHundredths: 1 })]), []],
    // The end of an auction is told a second time, with another list.
    [[...claim, answered(accepted), ended([bid('ours', { position: 2 })])], ended([bid('ours')]), ['list-differs']],
    [[...claim, answered(accepted), ended([bid('ours')])], ended([bid('ours', { position: 2 })]), ['list-differs']],
    [[...claim, answered(accepted), ended([])], ended([bid('ours')]), ['list-differs']],
    [[...claim, answered(accepted), ended([bid('ours')])], ended([bid('ours'), bid('rival', { position: 2 })]), []],
    // Without a code, or without a claim that can be read, nobody knows which bid is ours.
    [[...claim, answered(unknown)], ended([bid('other', { rateHundredths: 1 })]), []],
    [[...claim, answered(outside)], ended([bid('other', { rateHundredths: 1 })]), []],
    [[requested(), answered(accepted)], ended([bid('ours', { rateHundredths: 1 })]), []],
  ];
  for (const [before, record, alarms] of steps) {
    const after = folded(...before, record);
    assert.deepEqual(alarmsOf(folded(...before), after), alarms);
    assert.deepEqual(alarmsOf(after, folded(...before, record, record)), []);
  }
});
