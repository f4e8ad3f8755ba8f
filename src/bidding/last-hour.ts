/**
 * What this process has folded in the last 60 minutes, and the alarms that it raised: sums a minute, kept as it happens and cheap to
 * read. A record counts in the minute in which it was written, so that what is read late counts where it belongs.
 */
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import type { Phase } from '../domain/states.ts';
import type { DeskEvent } from './observer.ts';

/**
 * `bids`: those that the service has taken. `expectedCents`: what the bids whose auction has ended were expected to bring;
 * `realisedCents`: what those of them that were won are expected to bring now. Neither is money received.
 */
type HourFigures = {
  requests: number;
  bids: number;
  wins: number;
  expectedCents: AmountCents;
  realisedCents: AmountCents;
};
type HourAlarm = { code: string; count: number; lastAt: EpochMs };

export type LastHour = {
  note: (event: DeskEvent, now: EpochMs) => void;
  alarm: (code: string, now: EpochMs) => void;
  /** `from`: the first moment that counts: 60 minutes ago to the minute, or the start of the process. */
  told: (now: EpochMs) => { from: EpochMs; figures: HourFigures; alarms: readonly HourAlarm[] };
};

const minuteMs = 60_000;
const minutes = 60;
/** By how much the clock of a process that writes records may be ahead of ours. */
const mostAhead = 5;

const none: HourFigures = { requests: 0, bids: 0, wins: 0, expectedCents: 0, realisedCents: 0 };

/** The service has our bid. */
const taken: ReadonlySet<Phase> = new Set<Phase>([
  'accepted',
  'accepted-presumed',
  'accepted-outside',
  'won',
  'lost',
  'ambiguous',
  'contemplated',
  'proposed',
]);
/** A bid that was taken, or won, may have come to this since: it does not count anew. */
const takenBefore: ReadonlySet<Phase> = new Set([
  ...taken,
  ...(['result-missing', 'winner-failed', 'cancelled', 'expired'] as const),
]);
const won: ReadonlySet<Phase> = new Set<Phase>(['won', 'contemplated', 'proposed']);
const wonBefore: ReadonlySet<Phase> = new Set<Phase>([...won, 'winner-failed', 'cancelled', 'expired']);
const begun: ReadonlySet<Phase> = new Set<Phase>(['requested', 'passed']);

/** What was counted in a minute. `touchedMs`: when last, by the clock that is never set. */
type Minute<T> = { counted: T; touchedMs: number };

/**
 * `startedAt`: of the process. What was written before it is left out, for most of it was folded by the process before.
 *
 * The wall clock may be set, to and fro. So nothing is forgotten by it: what was counted while it was wrong goes by the age that
 * `monotonicMs` gives it, and what was counted before is there when the clock is right again.
 */
export function createLastHour(startedAt: EpochMs, monotonicMs: () => number): LastHour {
  const figures = new Map<number, Minute<HourFigures>>();
  const alarms = new Map<string, { byMinute: Map<number, Minute<number>>; lastAt: EpochMs }>();

  const minuteOf = (at: EpochMs) => Math.floor(at / minuteMs);
  const firstMinute = (now: EpochMs) => minuteOf(now) - minutes + 1;

  let firstAt = startedAt;
  /** The first moment that counts. Where the clock was ahead at the start, the minute in which it was seen to be right. */
  function beginning(now: EpochMs): EpochMs {
    if (now < firstAt) firstAt = minuteOf(now) * minuteMs;
    return firstAt;
  }

  function add(at: EpochMs, now: EpochMs, name: keyof HourFigures, more: number): void {
    const minute = minuteOf(at);
    if (at < beginning(now) || minute < firstMinute(now) || minute > minuteOf(now) + mostAhead) return;
    minuteIn(figures, minute, () => ({ ...none })).counted[name] += more;
  }

  /** To be counted in. */
  function minuteIn<T>(kept: Map<number, Minute<T>>, minute: number, empty: () => T): Minute<T> {
    const known = kept.get(minute);
    if (known !== undefined && !isOld(known)) {
      known.touchedMs = monotonicMs();
      return known;
    }
    for (const [other, each] of kept) if (isOld(each)) kept.delete(other);
    const begun = { counted: empty(), touchedMs: monotonicMs() };
    kept.set(minute, begun);
    return begun;
  }

  /** Of an hour that is over, even if it was counted for a minute to come. */
  function isOld({ touchedMs }: Minute<unknown>): boolean {
    return monotonicMs() - touchedMs > (minutes + mostAhead + 1) * minuteMs;
  }

  return {
    note: (event, now) => {
      if (event.kind === 'settled') {
        add(event.at, now, 'expectedCents', Math.round(event.expectedCents));
        add(event.at, now, 'realisedCents', Math.round(event.wonCents));
      }
      if (event.kind !== 'folded') return;
      const { from, to, at } = event;
      if ((from === null || from === 'early-ended') && begun.has(to)) add(at, now, 'requests', 1);
      if (taken.has(to) && (from === null || !takenBefore.has(from))) add(at, now, 'bids', 1);
      if (won.has(to) && (from === null || !wonBefore.has(from))) add(at, now, 'wins', 1);
    },
    alarm: (code, now) => {
      const alarm = alarms.get(code) ?? { byMinute: new Map<number, Minute<number>>(), lastAt: now };
      minuteIn(alarm.byMinute, minuteOf(now), () => 0).counted += 1;
      alarm.lastAt = now;
      alarms.set(code, alarm);
    },
    told: (now) => {
      const isOfHour = ([minute, each]: readonly [number, Minute<unknown>]) =>
        minute >= firstMinute(now) && minute <= minuteOf(now) && !isOld(each);
      const raised = [...alarms].flatMap(([code, { byMinute, lastAt }]) => {
        const count = [...byMinute].filter(isOfHour).reduce((sum, [, { counted }]) => sum + counted, 0);
        return count === 0 ? [] : { code, count, lastAt };
      });
      return {
        from: Math.max(beginning(now), firstMinute(now) * minuteMs),
        figures: [...figures].filter(isOfHour).reduce((sum, [, { counted }]) => plus(sum, counted), none),
        alarms: raised.sort((one, other) => other.lastAt - one.lastAt),
      };
    },
  };
}

function plus(one: HourFigures, other: HourFigures): HourFigures {
  return {
    requests: one.requests + other.requests,
    bids: one.bids + other.bids,
    wins: one.wins + other.wins,
    expectedCents: one.expectedCents + other.expectedCents,
    realisedCents: one.realisedCents + other.realisedCents,
  };
}
