/**
 * How many bids may be under way at once, learnt from what the service does, and a circuit breaker for when it does
 * nothing at all. Pure but for what it remembers; time is passed in. The setting `sendLimit` is the most it allows.
 *
 * The limit follows the gradient of answer times (Netflix, concurrency-limits, Gradient2): answers that take longer than
 * they long have mean a queue over there, and more of ours would only make it longer. So that a queue of our own does not
 * become what is usual, an average that has crept up is checked with half the slots. A 429 cuts it at once, as TCP does
 * on a loss (RFC 5681), and so do failures when they are many; afterwards it is soon near where it was cut, goes slowly
 * past there, and then searches on, as CUBIC does (RFC 9438): one refusal by chance costs little, and a real bound is met
 * seldom.
 */
import { moved } from './mean.ts';

/**
 * `failed`: no whole answer came, or a 5xx. `throttled`: 429. Whatever else was answered is `answered`. `alone`: one of the first two
 * again and again for one claim, while others were answered between: it says nothing of the service.
 */
export type AttemptEnd = 'answered' | 'throttled' | 'failed' | 'alone';

export type Circuit = 'closed' | 'open' | 'probing';

export type SendLimit = {
  /** Slots for bids under way. */
  current: () => number;
  /** When the next attempt may be made: `nowMs`, or later while the circuit is open. Asking takes the one probe. All times are on the monotonic clock. */
  admit: (nowMs: number) => number;
  /**
   * One attempt that wrote bytes, or could not write any, is over. `inFlight` counts it still. `ownDelayMs`: the part of `durationMs`
   * that this process took itself.
   */
  heard: (end: AttemptEnd, durationMs: number, inFlight: number, nowMs: number, ownDelayMs?: number) => void;
  /** The attempt that was let in did not try the service after all. */
  withdrawn: () => void;
  /** When an attempt was answered last; -∞ when none was. */
  answeredAtMs: () => number;
  /** How long a slot rests after a 429: longer each time that all are refused. */
  restMs: () => number;
  circuit: () => Circuit;
};

const leastSlots = 4;
const firstSlots = 16;
/** Failures in a row, and none answered between them, that open the circuit. */
const failuresToOpen = 12;
const firstRestMs = 250;
const longestRestMs = 500;
/** Of a slot, after one 429 upon the other. */
const longestThrottledRestMs = 2_000;
/** A probe that nobody reports on is given up. */
const probeTimeoutMs = 10_000;
/** The long average has crept up by so much since it was last held against half the slots: is that us or them? */
const creep = 1.25;
/** The short average must exceed the long one by this much before it counts as a queue. */
const tolerance = 1.5;
/** A failure here and there is the network's; only a share above this one says that the service has too much to do. */
const failureShareToCut = 0.3;
const failureSamples = 20;
/** Longer by less than this is no queue: it costs no auction, and a process of ours that is busy looks the same. */
const slackMs = 25;
/** Below this much of the calm average, the short one shows no queue at all. */
const steady = 1.05;
/** Growth in one round of answers without a queue, away from where the limit was last cut. */
const searchGrowth = 0.25;
/** So near to where the limit was last cut, it grows slowly. */
const cautiousShare = 0.1;
const shortSamples = 10;
const longSamples = 600;

export function createSendLimit(most: number): SendLimit {
  const least = Math.min(leastSlots, most);
  let limit = Math.min(firstSlots, most);
  let slowStart = true;
  let shortMs: number | null = null;
  let longMs: number | null = null;
  let samples = 0;
  /** The long average when it was last known to be without a queue of ours. */
  let calmMs = Number.POSITIVE_INFINITY;
  let check: { until: number; slots: number; totalMs: number; counted: number } | null = null;
  /** Attempts begun before this tell about the time before the last cut. */
  let cutAt = Number.NEGATIVE_INFINITY;
  let cutFrom = 0;
  let failures = 0;
  let failureShare = 0;
  let restMs = firstRestMs;
  let circuit: Circuit = 'closed';
  let reopensAt = 0;
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  let throttledRestMs = 0;

  function answered(durationMs: number, inFlight: number, nowMs: number): void {
    answeredAtMs = nowMs;
    throttledRestMs = 0;
    failures = 0;
    if (circuit !== 'closed') {
      circuit = 'closed';
      restMs = firstRestMs;
      limit = least;
      slowStart = true;
      check = null;
    }
    samples += 1;
    if (check !== null) {
      compared(check, durationMs);
      return;
    }
    shortMs = moved(shortMs, durationMs, Math.min(samples, shortSamples));
    longMs = moved(longMs, durationMs, Math.min(samples, longSamples));
    // A service that became faster for good: the memory of slow days must not hide a queue.
    if (longMs > 2 * shortMs) longMs *= 0.95;
    // One quick answer alone is no measure of what is usual.
    if (samples < shortSamples) {
      if (slowStart && inFlight >= limit / 2) limit = Math.min(most, limit + 1);
      return;
    }
    calmMs = Math.min(calmMs, longMs);
    // Slots that nobody uses say nothing of what more would do.
    if (inFlight < limit / 2) return;
    if (longMs > creep * calmMs + slackMs) {
      startCheck();
      return;
    }
    const gradient = Math.max(0.5, Math.min(1, (tolerance * calmMs + slackMs) / Math.max(shortMs, 1)));
    if (slowStart && gradient === 1) {
      limit = Math.min(most, limit + 1);
      return;
    }
    slowStart = false;
    const searching = shortMs < steady * calmMs + slackMs && Math.abs(limit - cutFrom) > cautiousShare * cutFrom;
    const growth = searching ? searchGrowth * limit : Math.sqrt(limit) / 2;
    // Each answer moves it by its part of one round of answers.
    limit = clamped(limit + (limit * (gradient - 1) + growth) / limit);
  }

  /** Half the slots for a while: if answers get faster, the queue was of our own making. */
  function startCheck(): void {
    check = { until: samples + 3 * Math.ceil(limit), slots: limit, totalMs: 0, counted: 0 };
    limit = clamped(limit / 2);
  }

  function compared(running: NonNullable<typeof check>, durationMs: number): void {
    // The first ones were sent while the slots were full.
    if (samples > running.until - running.slots) {
      running.totalMs += durationMs;
      running.counted += 1;
    }
    if (samples < running.until) return;
    const meanMs = running.totalMs / Math.max(1, running.counted);
    const ours = longMs !== null && meanMs * 1.2 < longMs;
    if (ours) longMs = meanMs;
    else limit = clamped(running.slots);
    shortMs = meanMs;
    calmMs = longMs ?? meanMs;
    check = null;
  }

  /** False: all that was under way together is cut once. */
  function cut(share: number, durationMs: number, nowMs: number): boolean {
    slowStart = false;
    check = null;
    if (nowMs - durationMs < cutAt) return false;
    cutAt = nowMs;
    cutFrom = limit;
    limit = clamped(limit * share);
    return true;
  }

  function throttled(durationMs: number, nowMs: number): void {
    failures = 0;
    circuit = 'closed';
    if (!cut(0.7, durationMs, nowMs)) return;
    throttledRestMs = Math.min(longestThrottledRestMs, throttledRestMs === 0 ? firstRestMs : throttledRestMs * 2);
  }

  function failed(nowMs: number): void {
    failures += 1;
    if (circuit === 'probing') restMs = Math.min(longestRestMs, restMs * 2);
    else if (circuit === 'open' || failures < failuresToOpen) return;
    circuit = 'open';
    reopensAt = nowMs + restMs;
  }

  /** The probe told nothing, so another one is tried as soon as this one would have been. */
  function alone(nowMs: number): void {
    if (circuit !== 'probing') return;
    circuit = 'open';
    reopensAt = nowMs + restMs;
  }

  function clamped(slots: number): number {
    return Math.max(least, Math.min(most, slots));
  }

  return {
    current: () => (circuit === 'closed' ? Math.floor(limit) : 1),
    admit: (nowMs) => {
      if (circuit === 'closed') return nowMs;
      if (nowMs < reopensAt) return reopensAt;
      circuit = 'probing';
      reopensAt = nowMs + probeTimeoutMs;
      return nowMs;
    },
    heard: (end, durationMs, inFlight, nowMs, ownDelayMs = 0) => {
      if (end === 'alone') return alone(nowMs);
      failureShare = moved(failureShare, end === 'failed' ? 1 : 0, failureSamples);
      switch (end) {
        case 'answered':
          return answered(Math.max(0, durationMs - ownDelayMs), inFlight, nowMs);
        case 'throttled':
          return throttled(durationMs, nowMs);
        case 'failed':
          if (failureShare > failureShareToCut) cut(0.8, durationMs, nowMs);
          return failed(nowMs);
        default:
          return end satisfies never;
      }
    },
    withdrawn: () => {
      if (circuit !== 'probing') return;
      circuit = 'open';
      reopensAt = 0;
    },
    circuit: () => circuit,
    answeredAtMs: () => answeredAtMs,
    restMs: () => throttledRestMs,
  };
}
