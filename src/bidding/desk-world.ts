/** What the desk is made of, and what it says of itself to health checks, metrics and people. */

import type { BiddingSettings } from '../config/sections.ts';
import type { Chance } from '../domain/clock.ts';
import type { AmountCents, EpochMs, RequestId } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import type { FoldTerms, LostClaim } from '../domain/records.ts';
import type { SteadyClock } from '../domain/steady-clock.ts';
import type { Vault } from '../domain/vault.ts';
import type { Authorisations } from './authorisations.ts';
import type { BiddingStatus } from './bidding-status.ts';
import type { Policy } from './decide.ts';
import type { RebuildProgress } from './intake.ts';
import type { DeskObserver } from './observer.ts';
import type { Control, ControlState, Enrichment, EventLog, MarginCache, Service, Views } from './ports.ts';
import type { Circuit } from './send-limit.ts';
import type { TimeDoubt } from './time-watch.ts';

export type DeskWorld = {
  /** After an accepted restore: see `react`. */
  noBidReceivedBefore?: EpochMs;
  /** Drawn anew at each start of a process. */
  instance: string;
  /** True where the backend lets in one process at a time. */
  soleOwner: boolean;
  log: EventLog;
  /** Why the log takes nothing at all just now; null: nothing is known against it. */
  logTrouble?: () => string | null;
  /** Why the log is not what was written, so that nothing is bid for; null: nothing is known against it. */
  logChanged?: () => string | null;
  /**
   * The claim of a request that the log refused to claim, for it was claimed before and the log has lost that; null: no more is known of
   * it; undefined: nothing is known of one. Left out: nobody knows of any.
   */
  lostClaim?: (requestId: RequestId) => LostClaim | null | undefined;
  /** Why the log does not answer just now, where it is a server; null: it does. */
  logSilence?: () => string | null;
  views: Views;
  /** Requests of all partitions, asked at the processes that own them; see `createCallbacks`. */
  askedBids?: Pick<Views, 'findByBid' | 'read'> | null;
  margins: MarginCache;
  control: Control;
  service: Service;
  authorisations: Authorisations;
  /** Left out or null: the configuration names no source, and none is asked. */
  enrichment?: Enrichment | null;
  vault: Vault;
  clock: SteadyClock;
  chance: Chance;
  settings: BiddingSettings;
  /** As the log states them: see `earlier-terms.ts`. */
  earlierTerms: FoldTerms;
  /** False freezes the statistics: every curve is the prior. */
  learning: boolean;
  /** What decisions made at that time follow, the same for all made at one; null: nothing may be decided, nor sent. */
  policy: (at: EpochMs) => Policy | null;
  /** Hears what operators say, each time that it was read; `readAtMs` on the monotonic clock. */
  onControl?: (state: ControlState, readAtMs: number) => void;
  encodeBid: (requestId: RequestId, offer: Offer) => string;
  /** Whether these are the bytes of that offer, with whatever contacts: those of a claim that was found may be anybody's. */
  isBidOf: (requestId: RequestId, offer: Offer, body: string) => boolean;
  observer: DeskObserver;
  /** The observer hears of would-be bids from before the start (`earlier-bids`). Left out: it does not. */
  tellsEarlierBids?: true;
  /** Before a partition is taken up: opens views that this process folds by itself. */
  restoreViews?: (partition: number) => Promise<unknown>;
  /** The partition is somebody else's: for views that this process folds by itself. */
  leaveViews?: (partition: number) => Promise<void>;
  /** Hears how far views are that are made again. */
  onRebuild?: (progress: RebuildProgress) => void;
};

export type DeskStatus = {
  /** Caught up with the log and bidding unless the gate says otherwise. */
  live: boolean;
  gate: string | null;
  /** Why no bids flow, if they do not; see `BiddingStatus`. */
  bidding: BiddingStatus;
  /** When the pause was ordered that this process obeys; null: none is known to hold. */
  pausedAt: EpochMs | null;
  /** Limits in cents a day that operators set, by name; null: not known just now. */
  capsByHand: Readonly<Record<string, number>> | null;
  /** Why the time of day is not believed, and by how much the other clock is ahead of the time kept; null: it is believed. */
  timeDoubt: { doubt: TimeDoubt; movedMs: number } | null;
  open: number;
  /** Open requests that wait for somebody to retry or cancel them. */
  frozen: number;
  /** Partitions that cannot be read any further, with the cause. */
  closed: readonly string[];
  unsettled: number;
  queued: number;
  oldestQueuedAt: EpochMs | null;
  parked: number;
  /** Requests that wait for a person, by queue: those of the set that decides, and `other` for all others. */
  reviews: Readonly<Record<string, number>>;
  sending: number;
  /** Bids that may be under way at once, as learnt; and whether the service is being let alone. */
  sendLimit: number;
  circuit: Circuit;
  /** Bids sent whose answer is unknown. */
  unknown: { count: number; oldestAt: EpochMs | null };
  exposure: { held: AmountCents; committed: AmountCents };
};
