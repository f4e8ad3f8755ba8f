/** The whole check of a store: its chains, the heads signed in it, and the anchor outside of it. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditKey, ChainVerdict } from '../../domain/audit.ts';
import { findUnsigned, isAnchored, readAnchors } from './anchor.ts';
import { atOnce, type Pace, verifyChains } from './chain.ts';
import { countUnfitMargins } from './margin-rows.ts';
import { readSignedHeads, signedHeads, signingOf } from './signed-heads.ts';

/** `key` null: nobody gave it, so signatures are not checked. `onProgress` hears how many records fit so far. */
export async function verifyStore(
  database: DatabaseSync,
  { file, key }: { file: string; key: AuditKey | null },
  onProgress: (verified: number) => void,
  pace?: Pace,
): Promise<ChainVerdict> {
  // The files first: beside a running desk the store holds all that they say, and more.
  const outside = readAnchors(file, key);
  const inside = readSignedHeads(database, key);
  const verdict = await verifyChains(database, [...outside.anchored, ...inside.anchored], onProgress, pace);
  const margins = key === null ? 0 : await countUnfitMargins(database, key, pace ?? atOnce);
  const said = new Set(outside.unverified.map(({ kind }) => kind));
  const unverified = [
    ...verdict.unverified,
    ...outside.unverified,
    ...inside.unverified.filter(({ kind }) => !said.has(kind)),
    ...(margins === 0 ? [] : [{ kind: 'margins' as const, rows: margins }]),
  ];
  if (verdict.kind === 'broken') return { ...verdict, unverified };
  if (inside.edited !== null) {
    return { kind: 'broken', table: signedHeads, offset: inside.edited, what: 'changed', unverified };
  }
  if (outside.edited !== null) return { kind: 'anchor-broken', place: file, line: outside.edited, unverified };
  if (outside.lacking !== null && isAnchored(database) && signingOf(database) !== 'old') {
    return { kind: 'anchor-missing', place: outside.lacking, unverified };
  }
  const unsigned = findUnsigned(database, { file, key });
  if (unsigned !== null) {
    const { table, place } = unsigned;
    return { kind: 'broken', table, offset: place, what: 'inserted', unverified };
  }
  const anchoredAt = outside.anchored.length === 0 ? null : Math.max(...outside.anchored.map(({ at }) => at));
  return { ...verdict, anchors: outside.anchored.length, anchoredAt, unverified };
}
