/** The whole check of a store: its chains, the heads signed in it, and the anchor outside of it. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditKey, ChainVerdict } from '../../domain/audit.ts';
import { findSetBack, isAnchored, readAnchors, type SetBack } from './anchor.ts';
import { atOnce, headsOf, type Pace, verifyChains } from './chain.ts';
import { logTables } from './log-rows.ts';
import { countUnfitMargins } from './margin-rows.ts';
import { commitName, hasCommit } from './signed-commits.ts';
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
  const refused = brokenBy(database, file, findSetBack(database, { file, key }));
  if (refused !== null) return { ...refused, unverified };
  const anchoredAt = outside.anchored.length === 0 ? null : Math.max(...outside.anchored.map(({ at }) => at));
  return { ...verdict, anchors: outside.anchored.length, anchoredAt, unverified };
}

type Broken<V = ChainVerdict> = V extends { kind: 'intact' } ? never : Omit<V, 'unverified'>;

/** What makes a start refuse the store, as a verdict; null: nothing, or what is not verified says it. The walk has found most of it. */
function brokenBy(database: DatabaseSync, file: string, setBack: SetBack | null): Broken | null {
  switch (setBack?.kind) {
    case undefined:
      return null;
    case 'behind': {
      const { table, has } = setBack;
      return { kind: 'broken', table, offset: has + (logTables.includes(table) ? 0 : 1), what: 'truncated' };
    }
    case 'other': {
      const [count] = headsOf(database)[setBack.table] ?? [0];
      return { kind: 'broken', table: setBack.table, offset: 0, what: 'rewritten', until: count };
    }
    case 'beyond':
      return { kind: 'broken', table: setBack.table, offset: setBack.place, what: 'inserted' };
    case 'missing':
      return signingOf(database) === 'old' ? null : { kind: 'anchor-missing', place: setBack.mark ?? file };
    case 'unsigned':
      return { kind: 'anchor-missing', place: file };
    case 'foreign':
      return brokenByOther(database, file, setBack.why);
    default:
      return setBack satisfies undefined;
  }
}

function brokenByOther(
  database: DatabaseSync,
  file: string,
  why: Extract<SetBack, { kind: 'foreign' }>['why'],
): Broken | null {
  switch (why) {
    case 'key':
      return null;
    case 'log':
      return { kind: 'broken', table: commitName, offset: 1, what: hasCommit(database) ? 'changed' : 'deleted' };
    case 'store':
      return { kind: 'anchor-broken', place: file, line: 1 };
    case 'edited':
      return { kind: 'anchor-broken', place: file, line: 0 };
    default:
      return why satisfies never;
  }
}
