/** What the log says of each request, in log order, read from its text. */
import type { AuctionRecord } from '../../src/domain/records.ts';
import type { LogStore } from './event-log.ts';

type Kind = AuctionRecord['kind'];
type OfKind<K extends Kind> = Extract<AuctionRecord, { kind: K }>;

export type Entry<R extends AuctionRecord = AuctionRecord> = {
  record: R;
  landedAt: number;
  by: string;
  triedAt: number;
};

export type Trails = ReadonlyMap<string, readonly Entry[]>;

export function readTrails(log: LogStore): Trails {
  const trails = new Map<string, Entry[]>();
  for (const partition of log.topics.auctions) {
    for (const { key, text, landedAt, by, triedAt } of partition) {
      const trail = trails.get(key) ?? [];
      trail.push({ record: JSON.parse(text), landedAt, by, triedAt });
      trails.set(key, trail);
    }
  }
  return trails;
}

export function ofKind<K extends Kind>(trail: readonly Entry[] | undefined, kind: K): Entry<OfKind<K>>[] {
  return (trail ?? []).filter((entry): entry is Entry<OfKind<K>> => entry.record.kind === kind);
}
