/** What may go wrong, how often it did, and the switch that ends it all so that a history can come to rest. */
import type { SeededChance } from './seeded-chance.ts';

export const faultKinds = [
  'append-slow',
  'append-failed',
  'append-failed-though-written',
  'append-written-after-failure',
  'append-written-in-part',
  'append-doubled',
  'consumer-paused',
  'log-read-slow',
  'views-slow',
  'views-read-failed',
  'views-apply-failed',
  'views-apply-answer-lost',
  'views-restored-older',
  'views-lost',
  'margin-miss',
  'margin-cache-lost',
  'margin-cache-failed',
  'control-slow',
  'control-failed',
  'control-cut',
  'control-paused',
  'control-cap',
  'bid-latency',
  'bid-lost-before-landing',
  'bid-answer-lost',
  'bid-landed-late',
  'bid-doubled',
  'bid-500-landed',
  'bid-500-not-landed',
  'bid-garbage-answer',
  'bid-refused',
  'bid-429',
  'bid-401',
  'bid-unreachable',
  'foreign-bid',
  'equal-rival',
  'query-failed',
  'query-refused',
  'callback-late',
  'callback-doubled',
  'callback-lost',
  'webhook-doubled',
  'webhook-late',
  'webhook-reordered',
  'webhook-answer-lost',
  'webhook-retried',
  'webhook-changed',
  'webhook-not-understood',
  'result-missing',
  'end-told-late',
  'ended-early',
  'winner-errors',
  'winner-event-lost',
  'freeze',
  'crash',
  'all-crash',
  'crash-in-port-call',
  'graceful-restart',
  'clock-skew',
  'clock-ahead',
  'clock-behind',
  'clock-corrected',
  'time-untold',
  'partitions-moved',
  'rules-changed',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export type FaultCounts = Record<FaultKind, number>;

export type Faults = {
  counts: FaultCounts;
  /** True when this fault shall happen now; it is counted then. */
  strikes: (kind: FaultKind, probability: number) => boolean;
  /** Counts a fault that came about otherwise. */
  note: (kind: FaultKind) => void;
  end: () => void;
  over: () => boolean;
};

export function noFaults(): FaultCounts {
  return Object.fromEntries(faultKinds.map((kind) => [kind, 0])) as FaultCounts;
}

/** Each seed leaves out some kinds and exaggerates others, so that rare meetings of two kinds come about. */
export function createFaults(chance: SeededChance): Faults {
  const counts = noFaults();
  const draws = chance.fork('faults');
  const calm = draws.happens(0.05);
  const weights = new Map(faultKinds.map((kind) => [kind, calm ? 0 : draws.pick([0, 0.5, 1, 1, 2, 4])]));
  let over = false;
  return {
    counts,
    strikes: (kind, probability) => {
      if (over) return false;
      const hit = draws.happens(Math.min(0.9, probability * weights.get(kind)!));
      if (hit) counts[kind] += 1;
      return hit;
    },
    note: (kind) => {
      if (!over) counts[kind] += 1;
    },
    end: () => {
      over = true;
    },
    over: () => over,
  };
}
