/** Time and chance, passed in so that a simulation can own both. */
import type { Day, EpochMs } from './glossary.ts';

export type Timer = { cancel: () => void };

export type Clock = {
  now: () => EpochMs;
  /** Runs `run` once, not before `at`. */
  schedule: (at: EpochMs, run: () => void) => Timer;
};

/** Uniform in [0, 1). */
export type Chance = () => number;

const dayFormat = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Sao_Paulo', dateStyle: 'short' });
let cachedHour = Number.NaN;
let cachedDay = '';

/** The calendar day in São Paulo: the day on which a daily cap counts. Zone changes happen on whole hours. */
export function dayOf(at: EpochMs): Day {
  const hour = Math.floor(at / 3_600_000);
  if (hour !== cachedHour) {
    cachedDay = dayFormat.format(at);
    cachedHour = hour;
  }
  return cachedDay;
}
