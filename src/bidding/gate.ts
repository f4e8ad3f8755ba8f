/** Whether anything may be written to the service right now: asked before each write, closed when in doubt. */

import type { BiddingSettings } from '../config/sections.ts';
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { Fault } from '../errors.ts';
import type { ClosedCause } from './bidding-status.ts';
import { type Control, type ControlState, endedAt, type Service } from './ports.ts';
import type { TimeDoubt } from './time-watch.ts';

export type Gate = {
  /** Reads the control once before it resolves, then polls. */
  start: () => Promise<void>;
  /** The last sign of this process says that it ends: nobody waits for it. */
  stop: () => Promise<void>;
  isOpen: () => boolean;
  /** Null when open. What stops bids without closing the gate is in the bidding status alone. */
  closedBecause: () => ClosedCause | null;
  /** What operators last said; null when it is too old to be obeyed. */
  control: () => ControlState | null;
  /** Why it cannot be read, for people; null: nothing is known against it. */
  controlTrouble: () => string | null;
};

export function createGate(options: {
  instance: string;
  control: Control;
  service: Service;
  clock: Clock;
  settings: BiddingSettings;
  stopping: () => boolean;
  /** Hears what operators say, each time that it was read. */
  onControl?: (state: ControlState, readAtMs: number) => void;
  /** Null: the rules to follow now are not here. */
  policy: (at: EpochMs) => object | null;
  /** Why the time of day is not to be believed; null: it is. */
  timeDoubt: () => TimeDoubt | null;
  /** Nothing that was promised is missing from the views. */
  viewsWhole: () => boolean;
  /** Why the log takes nothing at all just now; null: it does. */
  logTrouble?: () => string | null;
  /** Why the log is not what was written; null: nothing is known against it. */
  logChanged?: () => string | null;
  onOpen: () => void;
}): Gate {
  const { control, clock, settings } = options;
  /** `readAtMs` and `acknowledgedAtMs` are on the monotonic clock, `readAt` is the time of day. */
  let known: { state: ControlState; readAtMs: number; readAt: EpochMs } | null = null;
  /** It was too old, and no answer since came so fast that the next one will be in time. */
  let isSlow = false;
  let timer: Timer | null = null;
  let acknowledgedAtMs = Number.NEGATIVE_INFINITY;
  let acknowledged = -1;
  let wasOpen = false;
  let controlTrouble: string | null = null;

  /** The age counts from before the read: what was read may be that old. */
  async function poll(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    const readAt = clock.now();
    try {
      const state = await control.read();
      isSlow = (isSlow || isStale()) && !isFast(clock.monotonicMs() - startedAtMs);
      known = { state, readAtMs: startedAtMs, readAt };
      controlTrouble = null;
      options.onControl?.(state, startedAtMs);
      await acknowledge(state.revision, startedAtMs);
    } catch (fault) {
      // Unread, the state grows old and closes the gate.
      if (fault instanceof Fault) controlTrouble = fault.message;
    }
    if (options.stopping()) return;
    if (isOpen() && !wasOpen) options.onOpen();
    wasOpen = isOpen();
    timer = clock.after(settings.controlPollMs, () => void poll());
  }

  /** At once when something changed, else often enough to be seen alive. */
  async function acknowledge(revision: number, readAtMs: number): Promise<void> {
    if (options.stopping()) return;
    if (revision === acknowledged && readAtMs - acknowledgedAtMs < settings.controlMaxAgeMs / 2) return;
    await control.acknowledge(options.instance, revision, Math.round(clock.now() - (clock.monotonicMs() - readAtMs)));
    acknowledged = revision;
    acknowledgedAtMs = readAtMs;
  }

  async function stop(): Promise<void> {
    timer?.cancel();
    if (acknowledged < 0) return;
    try {
      await control.acknowledge(options.instance, acknowledged, endedAt);
    } catch (fault) {
      // Unsaid, it counts as one that hangs for a few seconds.
      if (!(fault instanceof Fault)) throw fault;
    }
  }

  function isStale(): boolean {
    return known === null || clock.monotonicMs() - known.readAtMs > settings.controlMaxAgeMs;
  }

  /** With answers that take so long each one comes before the one before it is too old. */
  function isFast(tookMs: number): boolean {
    const { controlPollMs, controlMaxAgeMs } = settings;
    return 2 * tookMs + Math.min(controlPollMs, controlMaxAgeMs) <= controlMaxAgeMs;
  }

  function troubleText(): string | null {
    const { server } = control;
    if (server === undefined || !isClosedByAge()) return controlTrouble;
    const text = controlTrouble ?? (isStale() ? `${server} does not answer.` : `${server} answers too slowly.`);
    if (known === null) return text;
    const last = new Date(known.readAt).toISOString();
    return `${text.replace(/\.$/, '')}; the orders of operators were read last at ${last}.`;
  }

  function isClosedByAge(): boolean {
    return isSlow || isStale();
  }

  function closedBecause(): ClosedCause | null {
    if (options.stopping()) return 'stopping';
    const doubt = options.timeDoubt();
    if (doubt !== null) return doubt;
    // Before what it says itself: the controls stand in it.
    if ((options.logChanged?.() ?? null) !== null) return 'log-changed';
    if (known === null || isClosedByAge()) return 'control-stale';
    if (known.state.pause !== null) return 'paused';
    if (options.policy(clock.now()) === null) return 'rule-set-missing';
    if (!options.viewsWhole()) return 'views-incomplete';
    if ((options.logTrouble?.() ?? null) !== null) return 'log-refused';
    return options.service.ready() ? null : 'service-unauthorised';
  }

  function isOpen(): boolean {
    return closedBecause() === null;
  }

  return {
    start: poll,
    stop,
    isOpen,
    closedBecause,
    control: () => (known === null || isStale() ? null : known.state),
    controlTrouble: troubleText,
  };
}
