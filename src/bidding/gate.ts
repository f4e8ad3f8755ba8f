/** Whether anything may be written to the service right now: asked before each write, closed when in doubt. */
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { Control, ControlState, Service } from './ports.ts';
import type { BiddingSettings } from './settings.ts';

export type Gate = {
  /** Reads the control once before it resolves, then polls. */
  start: () => Promise<void>;
  stop: () => void;
  isOpen: () => boolean;
  /** A word for people; null when open. */
  closedBecause: () => string | null;
  /** What operators last said; null when it is too old to be obeyed. */
  control: () => ControlState | null;
};

export function createGate(options: {
  instance: string;
  control: Control;
  service: Service;
  clock: Clock;
  settings: BiddingSettings;
  stopping: () => boolean;
  /** Hears what operators say, each time that it was read. */
  onControl?: (state: ControlState, readAt: EpochMs) => void;
  /** Null: the rules to follow now are not here. */
  policy: (at: EpochMs) => object | null;
  /** Nothing that was promised is missing from the views. */
  viewsWhole: () => boolean;
  onOpen: () => void;
}): Gate {
  const { control, clock, settings } = options;
  let known: { state: ControlState; readAt: EpochMs } | null = null;
  let timer: Timer | null = null;
  let acknowledgedAt = Number.NEGATIVE_INFINITY;
  let acknowledged = -1;
  let wasOpen = false;

  /** The age counts from before the read: what was read may be that old. */
  async function poll(): Promise<void> {
    const startedAt = clock.now();
    try {
      const state = await control.read();
      known = { state, readAt: startedAt };
      options.onControl?.(state, startedAt);
      await acknowledge(state.revision, startedAt);
    } catch {
      // Unread, the state grows old and closes the gate.
    }
    if (options.stopping()) return;
    if (isOpen() && !wasOpen) options.onOpen();
    wasOpen = isOpen();
    timer = clock.schedule(clock.now() + settings.controlPollMs, () => void poll());
  }

  /** At once when something changed, else often enough to be seen alive. */
  async function acknowledge(revision: number, at: EpochMs): Promise<void> {
    if (revision === acknowledged && at - acknowledgedAt < settings.controlMaxAgeMs / 2) return;
    await control.acknowledge(options.instance, revision, at);
    acknowledged = revision;
    acknowledgedAt = at;
  }

  function closedBecause(): string | null {
    if (options.stopping()) return 'stopping';
    if (known === null || clock.now() - known.readAt > settings.controlMaxAgeMs) return 'control-stale';
    if (known.state.pause !== null) return 'paused';
    if (options.policy(clock.now()) === null) return 'rule-set-missing';
    if (!options.viewsWhole()) return 'views-incomplete';
    return options.service.ready() ? null : 'service-unauthorised';
  }

  function isOpen(): boolean {
    return closedBecause() === null;
  }

  return {
    start: poll,
    stop: () => timer?.cancel(),
    isOpen,
    closedBecause,
    control: () => (known === null || clock.now() - known.readAt > settings.controlMaxAgeMs ? null : known.state),
  };
}
