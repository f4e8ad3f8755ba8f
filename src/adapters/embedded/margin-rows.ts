/** The margin cache as rows, and how many direct queries a day has cost. */
import type { DatabaseSync } from 'node:sqlite';
import type { EpochMs } from '../../domain/glossary.ts';

/** Parallel lists; `forgetBefore` removes rows received earlier. */
export type MarginFlush = {
  linkKeys: string[];
  receivedAts: number[];
  details: string[];
  forgetBefore: EpochMs | null;
};

export function createMarginWriter(database: DatabaseSync): (flush: MarginFlush) => void {
  const upsert = database.prepare(
    'INSERT INTO margins (link_key, received_at, detail) VALUES (?, ?, ?) ON CONFLICT (link_key) DO UPDATE SET received_at = excluded.received_at, detail = excluded.detail WHERE excluded.received_at >= margins.received_at',
  );
  const forget = database.prepare('DELETE FROM margins WHERE received_at < ?');
  return ({ linkKeys, receivedAts, details, forgetBefore }) => {
    for (let i = 0; i < linkKeys.length; i += 1) upsert.run(linkKeys[i]!, receivedAts[i]!, details[i]!);
    if (forgetBefore !== null) forget.run(forgetBefore);
  };
}

/** Counts one where fewer than `limit` are; only the latest days are kept. */
export function createDirectQueryCounter(database: DatabaseSync): (day: string, limit: number) => boolean {
  const count = database.prepare(
    'INSERT INTO direct_queries (day, taken) SELECT :day, 1 WHERE :limit > 0 ON CONFLICT (day) DO UPDATE SET taken = taken + 1 WHERE taken < :limit',
  );
  const forget = database.prepare(
    'DELETE FROM direct_queries WHERE day NOT IN (SELECT day FROM direct_queries ORDER BY day DESC LIMIT 3)',
  );
  return (day, limit) => {
    const counted = count.run({ day, limit }).changes === 1;
    if (counted) forget.run();
    return counted;
  };
}
