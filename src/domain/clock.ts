/** Time and chance, passed in so that a simulation can own both. */
import type { Day, EpochMs } from './glossary.ts';

export type Timer = { cancel: () => void };

export type Clock = {
  /** The time of day: what records, deadlines and days are made of. It may be corrected, so no age and no timeout is taken from it. */
  now: () => EpochMs;
  /** Milliseconds since an unknown moment, on a clock that is never corrected: for ages, polls and timeouts. */
  monotonicMs: () => number;
  /** By how much `now` is ahead of `monotonicMs`; a few milliseconds old at most, and read from no clock. */
  offsetMs: () => number;
  /** Runs `run` once, not before the time of day is `at`. */
  schedule: (at: EpochMs, run: () => void) => Timer;
  /** Runs `run` once, `delayMs` later on the monotonic clock. */
  after: (delayMs: number, run: () => void) => Timer;
  /** Runs `run` each time that `now` has jumped: what was planned for a time of day may be due, or be a long way off. */
  onJump: (run: () => void) => void;
};

/** Uniform in [0, 1). */
export type Chance = () => number;

const hourFormat = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'America/Sao_Paulo',
  hour: '2-digit',
  hourCycle: 'h23',
});
const dayFormat = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Sao_Paulo', dateStyle: 'short' });

type LocalHour = { hour: number; day: Day; hourOfDay: number };

/** The two hours that were asked about last: what is decided at the end of an hour looks into the next one too. */
let latest: LocalHour = { hour: Number.NaN, day: '', hourOfDay: 0 };
let other: LocalHour = latest;

/** The calendar day in São Paulo: the day on which a daily cap counts. Zone changes happen on whole hours. */
export function dayOf(at: EpochMs): Day {
  return localHourAt(at).day;
}

/** Hours since midnight in São Paulo, with their fraction: 0 up to 24. */
export function hourOfDay(at: EpochMs): number {
  const { hour, hourOfDay } = localHourAt(at);
  return hourOfDay + (at / 3_600_000 - hour);
}

function localHourAt(at: EpochMs): LocalHour {
  const hour = Math.floor(at / 3_600_000);
  if (hour === latest.hour) return latest;
  const found =
    hour === other.hour ? other : { hour, day: dayFormat.format(at), hourOfDay: Number(hourFormat.format(at)) };
  other = latest;
  latest = found;
  return found;
}
