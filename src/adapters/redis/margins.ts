/** The margin cache: one key a link, gone a day after it was written. */
import type { MarginCache, QueryBudget } from '../../bidding/ports.ts';
import type { AuditKey } from '../../domain/audit.ts';
import { createMarginMac } from '../../domain/margin-mac.ts';
import { readKeptDetail } from '../../domain/record-shapes.ts';
import type { LinkDetail } from '../../domain/request.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** The service's own validity of a link detail. */
const validityMs = 86_400_000;
const detailsAtOnce = 500;

/**
 * A text is `receivedAt\nMAC JSON`, without a code where there is no key. What nobody with the key has written is as good as nothing, and `onUnfit`
 * hears of it; of an earlier version it is not told, for it wrote no codes and its margins last a day.
 */
export function createMargins(
  connection: Connection,
  prefix: string,
  { key, onUnfit }: { key: AuditKey | null; onUnfit: () => void },
): MarginCache {
  const mac = key === null ? null : createMarginMac(key);
  /** Null: it is not ours. */
  const jsonOf = (linkKey: string, text: string): string | null => {
    const end = text.indexOf('\n');
    const body = text.slice(end + 1);
    if (mac === null) return body.slice(body.indexOf('{'));
    const blank = body.indexOf(' ');
    const json = body.slice(blank + 1);
    if (body.slice(0, blank) === mac(linkKey, Number(text.slice(0, end)), json)) return json;
    if (!body.startsWith('{')) onUnfit();
    return null;
  };
  const textOf = (detail: LinkDetail): string => {
    const { linkKey, receivedAt } = detail;
    const json = JSON.stringify(detail);
    return `${receivedAt}\n${mac === null ? json : `${mac(linkKey, receivedAt, json)} ${json}`}`;
  };
  const keyOf = (linkKey: string) => `${prefix}m:${linkKey}`;
  return {
    read: async (linkKeys, at) => {
      const found = new Map<string, LinkDetail>();
      for (let from = 0; from < linkKeys.length; from += detailsAtOnce) {
        const page = linkKeys.slice(from, from + detailsAtOnce);
        const texts = await connection.command<(string | null)[]>('MGET', ...page.map(keyOf));
        for (const [i, text] of texts.entries()) {
          if (text === null) continue;
          const json = jsonOf(page[i]!, text);
          const detail = json === null ? null : readKeptDetail(page[i]!, json);
          if (detail !== null && at - detail.receivedAt <= validityMs) found.set(page[i]!, detail);
        }
      }
      return found;
    },
    write: async (details) => {
      for (let from = 0; from < details.length; from += detailsAtOnce) {
        const page = details.slice(from, from + detailsAtOnce);
        const texts = page.map(textOf);
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
    take: async (day, limit, source) => {
      if (limit <= 0) return false;
      const key = `${prefix}q:${day}${source === undefined ? '' : `:${source}`}`;
      await connection.command('SET', key, '0', 'NX', 'PX', String(keptMs));
      return (await connection.command<number>('INCR', key)) <= limit;
    },
  };
}
