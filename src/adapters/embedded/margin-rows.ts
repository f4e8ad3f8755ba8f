/** The margin cache as rows, and how many direct queries a day has cost. */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditKey } from '../../domain/audit.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import { createMarginMac, type MarginMac } from '../../domain/margin-mac.ts';
import { readKeptDetail } from '../../domain/record-shapes.ts';
import type { LinkDetail } from '../../domain/request.ts';
import { writeOne } from '../../state/schema.ts';
import type { Pace } from './chain.ts';

/** Parallel lists; `forgetBefore` removes rows received earlier. A code is null where there is no key. */
export type MarginFlush = {
  linkKeys: string[];
  receivedAts: number[];
  details: string[];
  macs: (string | null)[];
  forgetBefore: EpochMs | null;
};

/** Whoever hands over a flush has looked whether something later is kept. */
export function createMarginWriter(database: DatabaseSync): (flush: MarginFlush) => void {
  const upsert = database.prepare(
    'INSERT INTO margins (link_key, received_at, detail, mac) VALUES (?, ?, ?, ?) ON CONFLICT (link_key) DO UPDATE SET received_at = excluded.received_at, detail = excluded.detail, mac = excluded.mac',
  );
  const forget = database.prepare('DELETE FROM margins WHERE received_at < ?');
  return ({ linkKeys, receivedAts, details, macs, forgetBefore }) => {
    for (const [i, linkKey] of linkKeys.entries()) writeOne(upsert, linkKey, receivedAts[i]!, details[i]!, macs[i]!);
    if (forgetBefore !== null) forget.run(forgetBefore);
  };
}

type Row = { received_at: number; detail: string; mac: string | null };

/** `mac` null: there is no key, and nothing is looked at. */
function isOurs(mac: MarginMac | null, linkKey: string, row: Row): boolean {
  return mac === null || row.mac === mac(linkKey, row.received_at, row.detail);
}

export type MarginReader = {
  read: (linkKey: string) => LinkDetail | null;
  /** Of every row, in order. */
  linkKeys: () => Iterable<string>;
};

/** Rows of which the keys are read in one statement. */
const keysAtOnce = 10_000;

/** A row that this desk has not written is as good as none; `onUnfit` hears of each time that one is met. */
export function createMarginReader(database: DatabaseSync, mac: MarginMac | null, onUnfit: () => void): MarginReader {
  const select = database.prepare('SELECT received_at, detail, mac FROM margins WHERE link_key = ?');
  const page = database.prepare(
    `SELECT json_group_array(link_key) AS keys
       FROM (SELECT link_key FROM margins WHERE link_key > ? ORDER BY link_key LIMIT ${keysAtOnce})`,
  );
  return {
    read: (linkKey) => {
      const row = select.get(linkKey) as Row | undefined;
      if (row === undefined) return null;
      if (isOurs(mac, linkKey, row)) return readKeptDetail(linkKey, row.detail);
      onUnfit();
      return null;
    },
    linkKeys: function* () {
      for (let last = ''; ; ) {
        const keys = JSON.parse((page.get(last) as { keys: string }).keys) as string[];
        yield* keys;
        if (keys.length < keysAtOnce) return;
        last = keys.at(-1)!;
      }
    },
  };
}

/** How many rows nobody with the key has written. */
export async function countUnfitMargins(database: DatabaseSync, key: AuditKey, pace: Pace): Promise<number> {
  // Of an earlier version, which wrote no codes: the next start empties it.
  const hasMacs = database.prepare("SELECT 1 FROM pragma_table_info('margins') WHERE name = 'mac'").get() !== undefined;
  if (!hasMacs) return 0;
  const mac = createMarginMac(key);
  const page = database.prepare('SELECT * FROM margins WHERE link_key > ? ORDER BY link_key LIMIT ?');
  let count = 0;
  for (let last = ''; ; ) {
    const rows = page.all(last, pace.rows) as (Row & { link_key: string })[];
    count += rows.filter((row) => !isOurs(mac, row.link_key, row)).length;
    if (rows.length < pace.rows) return count;
    last = rows.at(-1)!.link_key;
    await pace.rest();
  }
}

/** Counts one where fewer than `limit` are; only the latest days are kept. */
export function createDirectQueryCounter(database: DatabaseSync): (day: string, limit: number) => boolean {
  const count = database.prepare(
    'INSERT INTO direct_queries (day, taken) SELECT :day, 1 WHERE :limit > 0 ON CONFLICT (day) DO UPDATE SET taken = taken + 1 WHERE taken < :limit',
  );
  const forget = database.prepare(
    'DELETE FROM direct_queries WHERE substr(day, 1, 10) NOT IN (SELECT DISTINCT substr(day, 1, 10) FROM direct_queries ORDER BY 1 DESC LIMIT 3)',
  );
  return (day, limit) => {
    const counted = count.run({ day, limit }).changes === 1;
    if (counted) forget.run();
    return counted;
  };
}
