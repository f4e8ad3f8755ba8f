/** Where the desk dies: alternately at a random moment and at a named step, every step in turn. */
import { type Step, steps } from '../../src/bidding/observer.ts';
import type { Chance } from '../../src/domain/clock.ts';

export type PlannedKill =
  | { kind: 'step'; step: Step; times: number }
  /** After the desk was ready, or, counted from its start, while it is still catching up. */
  | { kind: 'moment'; after: 'start' | 'ready'; delayMs: number };

/**
 * How often a step is passed until the desk dies there: least, and most. Chosen so that a desk is mostly ready by then
 * and under load; some steps come once a record, others once an append.
 */
const timesOf: Readonly<Record<Step, readonly [number, number]>> = {
  'requested-read-back': [200, 900],
  'claim-appended': [10, 90],
  'claim-read-back': [100, 500],
  // What the one before had claimed is reserved again at the start.
  reserved: [200, 600],
  'answer-received': [50, 450],
  'answer-appended': [50, 450],
  'pass-appended': [8, 50],
  'ended-folded': [100, 700],
  'callback-rekeyed': [5, 60],
};

const duringStart = { share: 0.2, leastMs: 50, mostMs: 700 };
const whileReady = { leastMs: 50, mostMs: 3_000 };

/** `pace`: how often a desk comes by its steps here, beside one that has all the load of the embedded run. */
export function planKill(index: number, chance: Chance, pace = 1): PlannedKill {
  const between = (least: number, most: number) => Math.round(least + chance() * (most - least));
  if (index % 2 === 1) {
    const step = steps[Math.floor(index / 2) % steps.length]!;
    return { kind: 'step', step, times: Math.max(1, Math.round(pace * between(...timesOf[step]))) };
  }
  // The very first start has nothing to catch up with.
  if (index > 0 && chance() < duringStart.share) {
    return { kind: 'moment', after: 'start', delayMs: between(duringStart.leastMs, duringStart.mostMs) };
  }
  return { kind: 'moment', after: 'ready', delayMs: between(whileReady.leastMs, whileReady.mostMs) };
}

/** What happens to the servers that all desks share. */
export const serverFaults = [
  'broker-restart',
  'redis-flush',
  'redis-restart',
  'redis-rollback',
  'registry-stop',
] as const;
export type ServerFault = (typeof serverFaults)[number];

const serverFaultsWanted = 10;

/** The one that comes after so many kills, each in turn; null for none. About ten in a run, and in a short one after every kill. */
export function planServerFault(kills: number, of: number): ServerFault | null {
  const every = Math.max(1, Math.floor(of / serverFaultsWanted));
  return kills % every === 0 ? serverFaults[(kills / every - 1) % serverFaults.length]! : null;
}
