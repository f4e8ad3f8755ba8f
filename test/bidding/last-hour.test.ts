/** What a process counts of the last 60 minutes, by the times of the records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLastHour } from '../../src/bidding/last-hour.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { Phase } from '../../src/domain/states.ts';

const minuteMs = 60_000;
const startedAt = Date.parse('2026-03-02T12:00:30Z');
/** Long after the start, at 43 seconds of a minute. */
const now = Date.parse('2026-03-02T20:17:43Z');
const none = { requests: 0, bids: 0, wins: 0, expectedCents: 0, realisedCents: 0 };

const folded = (from: Phase | null, to: Phase, at: number): DeskEvent => ({
  ...{ kind: 'folded', record: 'answered', requestId: '1', code: null },
  ...{ from, to, at },
});
const settled = (expectedCents: number, wonCents: number, at: number): DeskEvent => ({
  ...{ kind: 'settled', winProbability: 0.5, position: 1, gapHundredths: null, surplus: null },
  ...{ expectedCents, wonCents, at },
});

test('a request, its bid, its win and its profit count once, whatever they come to afterwards', () => {
  const hour = createLastHour(startedAt, () => 0);
  const lives: readonly (readonly (Phase | null)[])[] = [
    [null, 'requested', 'passed', 'requested', 'claimed', 'accepted', 'won', 'contemplated', 'proposed', 'cancelled'],
    ['early-ended', 'requested', 'claimed', 'unknown', 'accepted-presumed', 'accepted', 'result-missing', 'won'],
    [null, 'requested', 'claimed', 'unknown', 'lost', 'contemplated', 'winner-failed', 'contemplated'],
    [null, 'requested', 'claimed', 'rejected'],
    [null, 'passed'],
    [null, 'early-ended'],
    ['requested', 'requested'],
  ];
  for (const life of lives)
    for (const [index, to] of life.slice(1).entries()) hour.note(folded(life[index]!, to!, now), now);
  // In cents, whatever the shares are.
  hour.note(settled(1_000.4, 2_000.6, now), now);
  hour.note(settled(-300, 0, now), now);
  assert.deepEqual(hour.told(now).figures, { requests: 5, bids: 3, wins: 3, expectedCents: 700, realisedCents: 2_001 });
});

test('what is older than the hour, or from before the start, is left out, and memory does not grow', () => {
  const hour = createLastHour(startedAt, () => 0);
  const came = (at: number, seenAt: number) => hour.note(folded(null, 'requested', at), seenAt);
  assert.deepEqual(hour.told(startedAt + 5), { from: startedAt, figures: none, alarms: [] });
  // Read again, or late, after the start.
  came(startedAt - 1, startedAt + minuteMs);
  came(startedAt, startedAt + minuteMs);
  assert.deepEqual(hour.told(startedAt + minuteMs), { from: startedAt, figures: { ...none, requests: 1 }, alarms: [] });

  const from = Date.parse('2026-03-02T19:18:00Z');
  for (const at of [from - 1, from, now - minuteMs, now]) came(at, now);
  assert.deepEqual(hour.told(now), { from, figures: { ...none, requests: 3 }, alarms: [] });
  // The clock of whoever wrote it is ahead: it counts when its time has come; what is far ahead never does.
  came(now + 2 * minuteMs, now);
  came(now + 30 * minuteMs, now);
  assert.equal(hour.told(now).figures.requests, 3);
  assert.equal(hour.told(now + 2 * minuteMs).figures.requests, 3, 'one came, and one left');
  assert.equal(hour.told(now + 30 * minuteMs).figures.requests, 3);
  assert.equal(hour.told(now + 62 * minuteMs).figures.requests, 0);
  // As after a step of the clock: each minute of a year.
  for (let minute = 0; minute < 500; minute += 1) came(now + minute * minuteMs, now + minute * minuteMs);
  assert.equal(hour.told(now + 499 * minuteMs).figures.requests, 60);
});

test('alarms are counted by code, the latest first', () => {
  const hour = createLastHour(startedAt, () => 0);
  hour.alarm('clock-step', now - 70 * minuteMs);
  for (const at of [now - 61 * minuteMs, now - 30 * minuteMs, now - 2]) hour.alarm('result-missing', at);
  hour.alarm('log-changed', now - 1);
  assert.deepEqual(hour.told(now).alarms, [
    { code: 'log-changed', count: 1, lastAt: now - 1 },
    { code: 'result-missing', count: 2, lastAt: now - 2 },
  ]);
  assert.deepEqual(hour.told(now + 61 * minuteMs).alarms, []);
});

test('a clock that is set takes no figures with it, and brings none back', () => {
  const hourMs = 60 * minuteMs;
  let monotonicMs = 0;
  // Two hours ahead at the start, then corrected.
  const ahead = createLastHour(now + 2 * hourMs, () => monotonicMs);
  ahead.note(folded(null, 'requested', now + 2 * hourMs), now + 2 * hourMs);
  assert.equal(ahead.told(now + 2 * hourMs).figures.requests, 1);
  for (const at of [now - 2 * minuteMs, now - 5, now]) ahead.note(folded(null, 'requested', at), now);
  const corrected = ahead.told(now);
  assert.deepEqual([corrected.figures.requests, corrected.from], [2, Math.floor(now / minuteMs) * minuteMs]);

  // Ahead, or behind, for one event, then back.
  const hour = createLastHour(startedAt, () => monotonicMs);
  for (let minute = 59; minute >= 0; minute -= 1) {
    hour.note(folded(null, 'requested', now - minute * minuteMs), now - minute * minuteMs);
    hour.alarm('clock-step', now - minute * minuteMs);
  }
  for (const wrong of [now + 2 * hourMs, now - 2 * hourMs]) {
    hour.note(folded(null, 'requested', wrong), wrong);
    hour.alarm('clock-step', wrong);
  }
  const told = () => [hour.told(now).figures.requests, hour.told(now).alarms[0]?.count];
  assert.deepEqual(told(), [60, 60]);
  // When the wrong time has come it is two hours later.
  monotonicMs += 2 * hourMs;
  assert.deepEqual(hour.told(now + 2 * hourMs), { from: hour.told(now + 2 * hourMs).from, figures: none, alarms: [] });
});
