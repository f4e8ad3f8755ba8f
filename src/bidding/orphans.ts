/**
 * Winner events whose bid nobody knows yet. Whoever has the token may send any number of them, for one bid or for many: what is
 * kept is bounded, and nothing here looks at all of them at once.
 */
import type { CallbackRecord } from '../domain/records.ts';
import { spellingsOf } from '../domain/request-codes.ts';

export type WinnerEvent = Extract<CallbackRecord, { requestCode: string; kind: 'contemplated' | 'proposed' }>;
export type Orphan = { offset: number; event: WinnerEvent; partition: number };

export type Orphans = {
  /** Keeps it, unless it repeats what is kept. Returns those given up for it. */
  add: (orphan: Orphan) => readonly Orphan[];
  has: (orphan: Orphan) => boolean;
  remove: (orphan: Orphan) => void;
  /** Those under any of the codes. */
  under: (codes: readonly string[]) => Orphan[];
  /** Codes to look for, each in its turn. */
  nextCodes: (most: number) => string[];
  /** Takes out those of a partition, from the oldest on, that are too old. */
  takeOld: (partition: number, isTooOld: (orphan: Orphan) => boolean) => Orphan[];
  /** The offset of the first one of a partition. */
  first: (partition: number) => number | null;
  lose: (partition: number) => void;
};

export type OrphanLimits = {
  /** Of one bid, how many that differ: the first half of them and the last half. */
  ofCode: number;
  inAll: number;
};

/** A day of events at the pace of a large lender is some thousands; those of one bid are two. */
export const orphanLimits: OrphanLimits = { ofCode: 8, inAll: 20_000 };

/** Codes of the bid that the event is about, each in every spelling: that of the call, and the one in the content of the second event (contract, Winner confirmation events). */
export function codesNamedBy(event: WinnerEvent): readonly (readonly string[])[] {
  const told = event.kind === 'proposed' ? event.proposalCode : null;
  return [event.requestCode, ...(told === null ? [] : [told])].map(spellingsOf);
}

export function codesOf(event: WinnerEvent): readonly string[] {
  return [...new Set(codesNamedBy(event).flat())];
}

/** A code of the service may be the number of a person. */
const mayBePerson = /(?<!\d)\d{11}(?!\d)/;

/** As it may stand in a journal, and before everybody's eyes. */
export function shownCode(code: string): string {
  return mayBePerson.test(code) ? '***' : code;
}

/** What the event says, whenever it came. */
function contentOf(event: WinnerEvent): string {
  return JSON.stringify({ ...event, at: 0 });
}

export function createOrphans(limits: OrphanLimits): Orphans {
  /** By partition and offset, in the order of the log unless `sorted` lacks the partition. */
  const byPlace = new Map<number, Map<number, Orphan>>();
  const sorted = new Set<number>();
  /** By partition, the greatest offset since it was empty. */
  const lastOffsets = new Map<number, number>();
  /** In the order in which they are looked for. */
  const byCode = new Map<string, Set<Orphan>>();
  /** By what the event says, its code among it. */
  const contents = new Set<string>();
  let count = 0;

  const placesOf = (partition: number) => {
    const known = byPlace.get(partition);
    if (known === undefined || sorted.has(partition)) return known;
    const places = new Map([...known].sort(([one], [other]) => one - other));
    byPlace.set(partition, places);
    sorted.add(partition);
    return places;
  };

  const has = ({ partition, offset }: Orphan) => byPlace.get(partition)?.has(offset) === true;

  const remove = (orphan: Orphan) => {
    const { partition, offset, event } = orphan;
    const places = byPlace.get(partition);
    const kept = places?.get(offset);
    if (places === undefined || kept === undefined) return;
    places.delete(offset);
    count -= 1;
    contents.delete(contentOf(event));
    for (const code of codesOf(event)) {
      const waiting = byCode.get(code);
      waiting?.delete(kept);
      if (waiting?.size === 0) byCode.delete(code);
    }
  };

  const oldest = (partition: number): Orphan | null => placesOf(partition)?.values().next().value ?? null;

  return {
    add: (orphan) => {
      const { partition, offset, event } = orphan;
      const content = contentOf(event);
      if (has(orphan) || contents.has(content)) return [];
      const places = placesOf(partition) ?? new Map<number, Orphan>();
      if (places.size === 0) sorted.add(partition);
      else if (offset < (lastOffsets.get(partition) ?? 0)) sorted.delete(partition);
      lastOffsets.set(partition, Math.max(offset, places.size === 0 ? 0 : (lastOffsets.get(partition) ?? 0)));
      byPlace.set(partition, places.set(offset, orphan));
      contents.add(content);
      count += 1;
      const givenUp = new Set<Orphan>();
      for (const code of codesOf(event)) {
        const waiting = byCode.get(code) ?? new Set();
        byCode.set(code, waiting.add(orphan));
        // The first ones of the code are kept, and the last ones.
        if (waiting.size > limits.ofCode) givenUp.add([...waiting][limits.ofCode >> 1]!);
      }
      if (count > limits.inAll) givenUp.add(oldest(partition)!);
      for (const each of givenUp) remove(each);
      return [...givenUp];
    },
    has,
    remove,
    under: (codes) => [...new Set(codes.flatMap((code) => [...(byCode.get(code) ?? [])]))],
    nextCodes: (most) => {
      const codes: string[] = [];
      for (const [code, waiting] of byCode) {
        if (codes.length === most) break;
        codes.push(code);
        byCode.delete(code);
        byCode.set(code, waiting);
        if (codes.length === byCode.size) break;
      }
      return codes;
    },
    takeOld: (partition, isTooOld) => {
      const old: Orphan[] = [];
      for (const orphan of placesOf(partition)?.values() ?? []) {
        if (!isTooOld(orphan)) break;
        old.push(orphan);
      }
      for (const orphan of old) remove(orphan);
      return old;
    },
    first: (partition) => oldest(partition)?.offset ?? null,
    lose: (partition) => {
      for (const orphan of [...(byPlace.get(partition)?.values() ?? [])]) remove(orphan);
      byPlace.delete(partition);
    },
  };
}
