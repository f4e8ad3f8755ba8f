/**
 * Whether the time of day is to be believed. A step of the machine's clock is not followed (`SteadyClock`) until the service's
 * own time, read off the Date header of an answer, agrees with it; until then nothing is promised and nothing is sent. The same
 * holds for a start whose time is before the newest record or long after it, and for a service whose time is so far from ours
 * that one of the two must be wrong, or so far ahead that each auction seems to be over when its request comes in. Where requests
 * come in after their own end, one after the other, the service is asked: its clock may be right, and ours ahead of it.
 */

import type { BiddingSettings } from '../config/sections.ts';
import type { Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { type SteadyClock, stepToleranceMs } from '../domain/steady-clock.ts';
import { Fault } from '../errors.ts';
import type { DeskObserver } from './observer.ts';
import type { EventLog, Service } from './ports.ts';
import { cutoffOf } from './send-claim.ts';
import { sleep } from './sleep.ts';

/** Words of the gate. `clock-step`: the machine's clock moved. `clock-skew`: the service's time and ours leave no time to bid. */
export type TimeDoubt = 'clock-step' | 'clock-skew';

export type TimeWatch = {
  /** Compares the time with the newest record before it resolves, then watches. */
  start: () => Promise<void>;
  stop: () => void;
  /** A request has come in: `closesAt` is the end of its auction, where it names one. */
  requestCame: (request: { receivedAt: EpochMs; closesAt: EpochMs | null }) => void;
  /** Null: the time is believed. */
  doubt: () => TimeDoubt | null;
  /** The same, with by how much the other clock is ahead of the time kept. */
  status: () => { doubt: TimeDoubt; movedMs: number } | null;
};

const pollMs = 250;
const askEveryMs = 1_000;
/** A service that is ahead may be so for good; it is asked only because bids, and with them its Dates, may have become few. */
const askAheadEveryMs = 5_000;
/** Bids bring Dates; a desk that sends none asks for one this often. */
export const askIdleEveryMs = 60_000;
/** So many requests in a row that come after their own end are more than webhooks that were late. */
const lateRun = 5;
/** A start later than this after the newest record asks the service first: a clock that is ahead looks the same. */
const longestSilenceMs = 3_600_000;
/** A Date is cut to the second and takes up to two seconds on its way; what is left is what a step may be. */
const agreementMs = stepToleranceMs + 1_000;
/** Without a witness: a clock that stays put for so long after a step is followed. */
const settledMs = 10_000;

export function createTimeWatch(options: {
  clock: SteadyClock;
  log: Pick<EventLog, 'ends' | 'read'>;
  service: Pick<Service, 'askTime' | 'latestSkewMs' | 'skewBelieved' | 'clockSkewMs' | 'networkP99Ms'>;
  settings: BiddingSettings;
  observer: DeskObserver;
  stopping: () => boolean;
}): TimeWatch {
  const { clock, log, service, settings, observer, stopping } = options;
  const hasWitness = settings.timeWitness === 'service';
  let timer: Timer | null = null;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let told: TimeDoubt | null = null;
  let late = { count: 0, leastMs: Number.POSITIVE_INFINITY };
  let settled = { movedMs: 0, sinceMs: 0 };

  function doubt(): TimeDoubt | null {
    if (clock.step() !== null) return 'clock-step';
    if (leavesNoTime() || seemsOverByOurs()) return 'clock-skew';
    return hasWitness && !service.skewBelieved() ? 'clock-skew' : null;
  }

  /** No bid is sent then, so that no answer brings another Date: it has to be asked for. */
  function leavesNoTime(): boolean {
    return cutoffOf(settings.windowMs, service, settings) <= 0;
  }

  function isRunLate(): boolean {
    return late.count >= lateRun;
  }

  /** By the service's time at least one of those requests came before its end: ours is ahead. */
  function seemsOverByOurs(): boolean {
    return isRunLate() && -service.clockSkewMs() > late.leastMs;
  }

  function requestCame({ receivedAt, closesAt }: { receivedAt: EpochMs; closesAt: EpochMs | null }): void {
    if (closesAt === null) return;
    const lateMs = receivedAt - closesAt;
    if (lateMs < 0) late = { count: 0, leastMs: Number.POSITIVE_INFINITY };
    else late = { count: late.count + 1, leastMs: Math.min(late.leastMs, lateMs) };
  }

  function isAskDue(): boolean {
    if (leavesNoTime()) return true;
    const sinceMs = clock.monotonicMs() - askedAtMs;
    if (hasWitness && told !== null) return sinceMs >= askEveryMs;
    if (hasWitness && sinceMs >= (isRunLate() ? askAheadEveryMs : askIdleEveryMs)) return true;
    return service.clockSkewMs() > stepToleranceMs && sinceMs >= askAheadEveryMs;
  }

  function status(): { doubt: TimeDoubt; movedMs: number } | null {
    const step = clock.step();
    if (step !== null) return { doubt: 'clock-step', movedMs: Math.round(step.movedMs) };
    return doubt() === null ? null : { doubt: 'clock-skew', movedMs: Math.round(service.latestSkewMs() ?? 0) };
  }

  function tell(): void {
    const known = status();
    if ((known?.doubt ?? null) === told) return;
    told = known?.doubt ?? null;
    if (told !== null) observer({ kind: 'alarm', code: told, requestId: null });
    observer({ kind: 'time', doubt: told, movedMs: known?.movedMs ?? 0 });
  }

  async function askWitness(): Promise<void> {
    askedAtMs = clock.monotonicMs();
    const answer = await service.askTime();
    const step = clock.step();
    if (!hasWitness || answer.kind !== 'told' || step === null) return;
    const { skewMs } = answer;
    const apartMs = Math.abs(skewMs - step.movedMs);
    // After a small step the service is near both times: the nearer one is right.
    if (apartMs <= agreementMs && apartMs < Math.abs(skewMs)) clock.follow();
  }

  /** Nobody is asked: the operator vouches for a clock that has come to rest. */
  function followSettled(): void {
    const step = clock.step();
    if (step === null) return;
    const nowMs = clock.monotonicMs();
    const moved = Math.abs(step.movedMs - settled.movedMs) > stepToleranceMs || step.sinceMonotonicMs > settled.sinceMs;
    if (moved) settled = { movedMs: step.movedMs, sinceMs: nowMs };
    else if (nowMs - settled.sinceMs >= settledMs) clock.follow();
  }

  async function watch(): Promise<void> {
    tell();
    if (!hasWitness) followSettled();
    if (isAskDue()) await askWitness();
    tell();
    if (!stopping()) timer = clock.after(pollMs, () => void watch());
  }

  async function newestRecordAt(): Promise<EpochMs | null> {
    const filled = [...(await log.ends('auctions'))].filter(([, end]) => end > 0);
    const last = await Promise.all(filled.map(([partition, end]) => log.read('auctions', partition, end - 1, 1)));
    const times = last.flatMap((entries) => entries.map(({ record }) => record.at));
    return times.length === 0 ? null : Math.max(...times);
  }

  /** The log may be away for a while. */
  async function newestRecordAtLast(): Promise<EpochMs | null> {
    for (;;) {
      try {
        return await newestRecordAt();
      } catch (fault) {
        if (!(fault instanceof Fault) || !fault.retryable || stopping()) throw fault;
        await sleep(clock, settings.retryFirstMs);
      }
    }
  }

  return {
    start: async () => {
      const newest = await newestRecordAtLast();
      if (newest !== null) {
        const silentMs = clock.now() - newest;
        if (silentMs < -stepToleranceMs || silentMs > longestSilenceMs) {
          clock.keep(newest);
          if (hasWitness) await askWitness();
        }
      }
      // How far the two clocks are apart is better known before the first bid than after it.
      if (hasWitness && askedAtMs === Number.NEGATIVE_INFINITY) void askWitness();
      await watch();
    },
    stop: () => timer?.cancel(),
    requestCame,
    doubt,
    status,
  };
}
