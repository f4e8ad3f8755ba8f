/**
 * The views, shared by all instances: one Lua function folds a batch in, another reads. Each partition's part stands under keys
 * of its own and what is common is summed when read, so that a partition can be made again without touching the others.
 */
import type { ApplyResult, LedgerRow, Views } from '../../bidding/ports.ts';
import type { RequestId } from '../../domain/glossary.ts';
import { phases } from '../../domain/states.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { encodeBatch, keysOf, ledgerRow, readHistogram, sumHistograms } from './view-text.ts';

/** Rows asked for in one call: a reply of about a megabyte, and an argument list that Lua's stack can hold. */
const rowsAtOnce = 500;

function* pagesOf<T>(list: readonly T[]): Generator<T[]> {
  for (let from = 0; from < list.length; from += rowsAtOnce) yield list.slice(from, from + rowsAtOnce);
}

function rowsFrom(triples: readonly string[], found: Map<RequestId, LedgerRow>): void {
  for (let i = 0; i + 2 < triples.length; i += 3) found.set(triples[i]!, ledgerRow(triples[i + 1]!, triples[i + 2]!));
}

export function createViews(connection: Connection, prefix: string): Views {
  const keys = keysOf(prefix);
  const ask = (question: string, ...args: string[]): Promise<string[]> =>
    connection.run(scripts.read, [keys.generations], [prefix, question, ...args]);

  return {
    applied: async (partition) =>
      Number((await connection.command<string | null>('HGET', keys.applied, String(partition))) ?? 0),
    apply: async (batch): Promise<ApplyResult> => {
      const [applied, ...refused] = await connection.run<string[]>(
        scripts.apply,
        [keys.applied, keys.generations],
        [prefix, ...encodeBatch(batch)],
      );
      return applied === '' ? { kind: 'applied', refused } : { kind: 'out-of-step', applied: Number(applied) };
    },
    read: async (requestIds) => {
      const found = new Map<RequestId, LedgerRow>();
      for (const page of pagesOf(requestIds)) rowsFrom(await ask('read', ...page), found);
      return found;
    },
    open: async (partition) => {
      const found = new Map<RequestId, LedgerRow>();
      for (let cursor = '0'; ; ) {
        const [next, ...rows] = await ask('open', String(partition), cursor, String(rowsAtOnce));
        rowsFrom(rows, found);
        if (next === undefined || next === '0') return [...found.values()];
        cursor = next;
      }
    },
    findByBid: async (bidIds) => {
      const found = new Map<string, RequestId>();
      for (const page of pagesOf(bidIds)) {
        const pairs = await ask('bids', ...page);
        for (let i = 0; i + 1 < pairs.length; i += 2) found.set(pairs[i]!, pairs[i + 1]!);
      }
      return found;
    },
    usage: async (capKeys, at) => {
      const found = new Map();
      for (const page of pagesOf(capKeys)) {
        const sums = await ask('usage', String(at), ...page);
        for (const [i, key] of page.entries()) {
          found.set(key, { amountCents: Number(sums[2 * i]), count: Number(sums[2 * i + 1]) });
        }
      }
      return found;
    },
    statistics: async (statisticKeys) => {
      const parts = new Map<string, ReturnType<typeof readHistogram>[]>();
      for (const page of pagesOf(statisticKeys)) {
        const args = [prefix, 'statistics', ...page];
        const pairs = await connection.runBytes<Buffer[]>(scripts.read, [keys.generations], args);
        for (let i = 0; i + 1 < pairs.length; i += 2) {
          const key = pairs[i]!.toString();
          const histogram = readHistogram(pairs[i + 1]!);
          const others = parts.get(key);
          if (others === undefined) parts.set(key, [histogram]);
          else others.push(histogram);
        }
      }
      return new Map([...parts].map(([key, histograms]) => [key, sumHistograms(histograms)]));
    },
    query: async ({ phase, limit, before }) => {
      const found = new Map<RequestId, LedgerRow>();
      rowsFrom(await ask('query', String(limit), before ?? '', ...(phase === null ? phases : [phase])), found);
      return [...found.values()];
    },
  };
}
