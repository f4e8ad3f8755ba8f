/** Where the log leaves each request: a fold of its own, beside that of the desks. */
import { evolve } from '../../src/bidding/evolve.ts';
import type { BiddingSettings } from '../../src/config/sections.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import type { Phase, RequestState } from '../../src/domain/states.ts';

export type Phases = Readonly<Partial<Record<Phase, number>>>;

export type Tally = {
  /** The state after it. */
  fold: (record: AuctionRecord) => RequestState;
  phases: () => Phases;
  /** Claims without an answer, by the process that made them. */
  claimedBy: (instance: string) => number;
};

export function createTally(settings: BiddingSettings): Tally {
  const states = new Map<string, RequestState>();
  const phases: Partial<Record<Phase, number>> = {};
  const claimed = new Map<string, number>();

  const count = ({ phase, claim }: RequestState, by: 1 | -1) => {
    phases[phase] = (phases[phase] ?? 0) + by;
    if (phase === 'claimed' && claim !== null) claimed.set(claim.instance, (claimed.get(claim.instance) ?? 0) + by);
  };

  return {
    fold: (record) => {
      const before = states.get(record.requestId) ?? null;
      const after = evolve(before, record, settings);
      if (before !== null) count(before, -1);
      count(after, 1);
      states.set(record.requestId, after);
      return after;
    },
    phases: () => ({ ...phases }),
    claimedBy: (instance) => claimed.get(instance) ?? 0,
  };
}
