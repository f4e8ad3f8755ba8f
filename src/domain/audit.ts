/** What proves later that the records of a store are those that were written: chains, their heads, and the key of the heads. */
import type { EpochMs, RequestId } from './glossary.ts';
import type { AuctionRecord, LostClaim } from './records.ts';

/** Signs heads that leave the store. `id` names the key without telling anything about it. */
export type AuditKey = { id: string; secret: Uint8Array };

/** How far a chain was: how many records, and the link of the last one. */
export type ChainHead = readonly [count: number, link: string];

/**
 * Requests claimed in the part of a log that was lost, with what was kept of each claim; null: nothing. `complete`: no other request
 * was claimed there.
 */
export type LostClaims = { claims: ReadonlyMap<RequestId, LostClaim | null>; complete: boolean };

/** Of the answer that stands in for what the service said to a lost claim. */
export const lostClaimReason =
  'its claim stood in a part of the log that was lost: what the service answered is not known';

/** Written by an acceptance of a restore, or alike: no claim of the log is among these, and none stands behind them. */
export function isOfAcceptance(record: AuctionRecord): boolean {
  switch (record.kind) {
    case 'passed':
      return record.code === 'restored';
    case 'answered':
      return record.outcome.kind === 'unknown' && record.outcome.reason === lostClaimReason;
    default:
      return false;
  }
}

/** By the name of the table or, on Kafka, of the topic and partition. */
export type ChainHeads = Readonly<Record<string, ChainHead>>;

/**
 * What was done to the first record that differs. `rewritten`: the chain is consistent in itself, but a head that was
 * anchored outside the store differs: the first changed record is one of `offset` … `until`. `front-cut`: the records before
 * `until` and that one are gone, and some of those from `offset` on are younger than the log keeps.
 */
export type Tampering = 'changed' | 'deleted' | 'inserted' | 'reordered' | 'rewritten' | 'truncated' | 'front-cut';

/** Stands in what is told of an open store whose last records were removed or rewritten: nothing but a copy put back helps there. */
export const recordsGone = 'records-gone';

/** Stands in what is told of topics that somebody altered so that they could lose records, or take none. */
export const topicsUnsafe = 'topics-unsafe';

/** What a verification could not do, and why. */
export type Unverified =
  /** No LANCE_PSEUDONYM_KEY or LANCE_AUDIT_KEY was given: the anchors were compared, but their signatures were not checked. */
  | { kind: 'no-key' }
  /** Anchors signed with another key were not compared. */
  | { kind: 'other-key'; anchors: number }
  /** There is no anchor: a chain that was rewritten or truncated as a whole cannot be told. */
  | { kind: 'no-anchor'; place: string }
  /** Records from before the chain of their table began; they are checked as a whole from the upgrade on. */
  | { kind: 'before-chain'; table: string; until: number }
  /** Records of a version that signed nothing: they are checked from the time on at which they were taken over. */
  | { kind: 'before-key'; entries: number; at: EpochMs }
  /** Anchors of a part of the store that was lost; a restore without it was accepted. */
  | { kind: 'lost-part'; anchors: number; at: EpochMs }
  /** Margins in the cache that nobody with the key wrote, or an earlier version did. A desk leaves them out, and asks anew. */
  | { kind: 'margins'; rows: number }
  /** Records that the log no longer keeps: its first offset is `until`. */
  | { kind: 'expired'; table: string; until: number };

export type ChainVerdict = { unverified: readonly Unverified[] } & (
  | {
      kind: 'intact';
      /** Of `auctions`. */
      entries: number;
      head: string;
      tables: Readonly<Record<string, { entries: number; head: string }>>;
      /** Anchors that were compared, and when the last one was written. */
      anchors: number;
      anchoredAt: EpochMs | null;
    }
  /** `offset` is the first record that differs, in `table`. */
  | { kind: 'broken'; table: string; offset: number; what: Tampering; until?: number }
  /** Somebody edited the anchor file or topic: line or record `line` is not signed by us, or one before it is missing. */
  | { kind: 'anchor-broken'; place: string; line: number }
  /** The store was anchored, or would have been by the version that made it, and its anchor, or the file of it that `place` names, is not there or not whole. */
  | { kind: 'anchor-missing'; place: string }
);

/** What happened to the store as a whole, kept with the log. */
export type OriginEntry =
  /** The store was set back, and somebody accepted that. */
  | {
      kind: 'restored';
      at: EpochMs;
      by: string;
      reason: string;
      /** What the store had then, and what was known to have been stored; null: nobody knows. */
      heads: ChainHeads;
      lost: ChainHeads | null;
      /** A request received before this time is not bid for: it may be one that was bid for in the part that was lost. */
      noBidReceivedBefore: EpochMs;
    }
  /** The desk was imported: `heads` and `hash` are what the file says of its source. */
  | { kind: 'imported'; at: EpochMs; source: string; heads: ChainHeads | null; hash: string };
