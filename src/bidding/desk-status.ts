/** What the desk says of itself to health checks, metrics and people. */
import type { AmountCents, EpochMs } from '../domain/glossary.ts';

export type DeskStatus = {
  /** Caught up with the log and bidding unless the gate says otherwise. */
  live: boolean;
  gate: string | null;
  open: number;
  unsettled: number;
  queued: number;
  oldestQueuedAt: EpochMs | null;
  parked: number;
  sending: number;
  exposure: { held: AmountCents; committed: AmountCents };
  /** When a batch was last folded, or the log was seen to have nothing new. */
  progressAt: EpochMs;
};
