/** What the desk tells those who watch it: metrics, journal, and the runs that kill it at named steps. */
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { SourceFailure } from '../domain/offer.ts';
import type { Answered, AuctionRecord, Claimed, Passed, Topic } from '../domain/records.ts';
import type { Phase } from '../domain/states.ts';
import type { BiddingStatus } from './bidding-status.ts';
import type { EarlierBid } from './earlier-bids.ts';
import type { LinkQueryEnd } from './lately.ts';
import type { AlarmCode } from './react.ts';
import type { Following } from './rival-watch.ts';
import type { TimeDoubt } from './time-watch.ts';

type Stage =
  | 'received-to-folded'
  | 'received-to-decided'
  | 'decided-to-claimed'
  | 'received-to-first-byte'
  | 'send-to-answer';

/** Places right after something became durable or left the house. */
export const steps = [
  'requested-read-back',
  'claim-appended',
  'claim-read-back',
  'reserved',
  'answer-received',
  'answer-appended',
  'pass-appended',
  'ended-folded',
  'callback-rekeyed',
] as const;
export type Step = (typeof steps)[number];

/** `name` without the values of a segment: `all|employer.sector`. */
type Weight = { name: string; weight: number };

export type DeskEvent =
  | { kind: 'step'; step: Step }
  | {
      kind: 'folded';
      record: AuctionRecord['kind'];
      requestId: RequestId;
      from: Phase | null;
      to: Phase;
      code: string | null;
      /** When the record was written. */
      at: EpochMs;
    }
  /** A bid that was to be: written, answered, or passed. */
  | { kind: 'would-be'; record: Claimed | Answered | Passed }
  /** Those that were decided before this process had their partition. */
  | { kind: 'earlier-bids'; bids: readonly EarlierBid[] }
  | ({ kind: 'link-query' } & LinkQueryEnd)
  /** An external source has answered, or not: then why. */
  | { kind: 'source'; source: string; failure: SourceFailure | null; at: EpochMs }
  /** A decision took hold: rules that had an effect, and the one whose reason a pass gives first; null: no rule's. */
  | { kind: 'ruled'; effects: readonly string[]; decidedBy: string | null }
  | { kind: 'duration'; stage: Stage; durationMs: number }
  | { kind: 'alarm'; code: AlarmCode; requestId: RequestId | null; sharedWith?: readonly RequestId[]; text?: string }
  | { kind: 'late-claim'; requestId: RequestId }
  /** Whether the time of day is believed has changed; `movedMs`: by how much the other clock is ahead of the time kept. */
  | { kind: 'time'; doubt: TimeDoubt | null; movedMs: number }
  /** `before`: null at the start. */
  | { kind: 'bidding'; status: BiddingStatus; before: BiddingStatus | null }
  /** The first byte of a bid is about to be written; it may come to nothing. */
  | { kind: 'sending'; at: EpochMs }
  /** `durationMs`: from sending to the answer, or to its end without one; null: nothing was written, or nobody was reached. */
  | { kind: 'attempt'; outcome: string; durationMs: number | null }
  | { kind: 'log-refused'; topic: Topic; message: string }
  /** How much each candidate policy counts in the curve just made: ways to read a histogram, and dimensions of segments. */
  | { kind: 'weights'; readings: readonly Weight[]; segments: readonly Weight[] }
  /**
   * The auction of a bid of ours has ended, as its decision had expected or not; `at`: when the record of it was written. `wonCents`:
   * what a won bid was expected to bring once won. `surplus`: what the price would have earned, and whoever knew the best rival; null
   * without a rival.
   */
  | {
      kind: 'settled';
      at: EpochMs;
      winProbability: number;
      position: number;
      gapHundredths: number | null;
      expectedCents: number;
      wonCents: number;
      surplus: { earnedHundredths: number; hindsightHundredths: number } | null;
    }
  | { kind: 'rivals'; following: Following }
  | { kind: 'fault'; code: string; message: string };

export type DeskObserver = (event: DeskEvent) => void;
