/** The margin cache: one key a link, gone a day after it was written. */
import type { MarginCache, QueryBudget } from '../../bidding/ports.ts';
import { readKeptDetail } from '../../domain/record-shapes.ts';
import type { LinkDetail } from '../../domain/request.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** The service's own validity of a link detail. */
const validityMs = 86_400_000;
const detailsAtOnce = 500;

export function createMargins(connection: Connection, prefix: string): MarginCache {
  const keyOf = (linkKey: string) => `${prefix}m:${linkKey}`;
  return {
    read: async (linkKeys, at) => {
      const found = new Map<string, LinkDetail>();
      for (let from = 0; from < linkKeys.length; from += detailsAtOnce) {
        const page = linkKeys.slice(from, from + detailsAtOnce);
        const texts = await connection.command<(string | null)[]>('MGET', ...page.map(keyOf));
        for (const [i, text] of texts.entries()) {
          if (text === null) continue;
          const detail = readKeptDetail(page[i]!, text.slice(text.indexOf('\n') + 1));
          if (detail !== null && at - detail.receivedAt <= validityMs) found.set(page[i]!, detail);
        }
      }
      return found;
    },
    write: async (details) => {
      for (let from = 0; from < details.length; from += detailsAtOnce) {
        const page = details.slice(from, from + detailsAtOnce);
        const texts = page.map((detail) => `${detail.receivedAt}\n${JSON.stringify(detail)}`);
        const keys = page.map((detail) => keyOf(detail.linkKey));
        await connection.run(scripts.margins, keys, [String(validityMs), ...texts]);
      }
    },
  };
}

/** Longer than any two clocks differ about the day. */
const keptMs = 3 * validityMs;

export function createQueryBudget(connection: Connection, prefix: string): QueryBudget {
  return {
    take: async (day, limit) => {
      if (limit <= 0) return false;
      const key = `${prefix}q:${day}`;
      await connection.command('SET', key, '0', 'NX', 'PX', String(keptMs));
      return (await connection.command<number>('INCR', key)) <= limit;
    },
  };
}
