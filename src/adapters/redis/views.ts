/**
 * The views, shared by all instances: one Lua function folds a batch in, another reads. Each partition's part stands under keys
 * of its own and what is common is summed when read, so that a partition can be made again without touching the others.
 */
import type { ApplyResult, LedgerRow, RowsAt, ViewLoss, Views } from '../../bidding/ports.ts';
import { holdersIn, mergedHolders } from '../../domain/code-holders.ts';
import type { RequestId } from '../../domain/glossary.ts';
import { sumHistograms } from '../../domain/histogram.ts';
import type { Usage } from '../../domain/offer.ts';
import { phases } from '../../domain/states.ts';
import { Fault } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { createPageReader } from './view-pages.ts';
import { encodeBatch, keysOf, ledgerRow, readHistogram } from './view-text.ts';
import { createWholeness } from './wholeness.ts';

/** Rows asked for in one call: a reply of about a megabyte, and an argument list that Lua's stack can hold. */
const rowsAtOnce = 500;

function* pagesOf<T>(list: readonly T[]): Generator<T[]> {
  for (let from = 0; from < list.length; from += rowsAtOnce) yield list.slice(from, from + rowsAtOnce);
}

function usageIn(capKeys: readonly string[], sums: readonly string[]): Map<string, Usage> {
  return new Map(capKeys.map((key, i) => [key, { amountCents: Number(sums[2 * i]), count: Number(sums[2 * i + 1]) }]));
}

/** A page of closed rows goes away only when they were put on another one. */
const attempts = 3;

export function createViews(connection: Connection, prefix: string): Views {
  const keys = keysOf(prefix);
  const ask = (question: string, ...args: string[]): Promise<string[]> =>
    connection.run(scripts.read, [keys.generations, keys.applied], [prefix, question, ...args]);
  const pages = createPageReader(connection);

  /** Triples of request, row and reservation, after `head` other answers. */
  async function askRows(
    head: number,
    question: string,
    ...args: string[]
  ): Promise<{ head: string[]; rows: LedgerRow[] }> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await ask(question, ...args);
      const found: string[] = [];
      const reservations: string[] = [];
      for (let i = head; i + 2 < answer.length; i += 3) {
        found.push(answer[i + 1]!);
        reservations.push(answer[i + 2]!);
      }
      const states = await pages.statesOf(found);
      if (states !== null) {
        return { head: answer.slice(0, head), rows: states.map((state, i) => ledgerRow(state, reservations[i]!)) };
      }
      if (attempt === attempts) throw new Fault('views-behind', 'The views were lost while they were read.');
    }
  }

  /** Asked in one turn, answered by one question. */
  let asking: { partitions: string[]; answer: Promise<string[]> } | null = null;

  async function askApplied(partitions: readonly string[]): Promise<string[]> {
    await Promise.resolve();
    asking = null;
    return ask('applied', ...partitions);
  }

  async function applied(partition: number): Promise<number> {
    if (asking === null) {
      const partitions: string[] = [];
      asking = { partitions, answer: askApplied(partitions) };
    }
    const place = asking.partitions.push(String(partition)) - 1;
    return Number((await asking.answer)[place]);
  }

  return {
    applied,
    apply: async (batch): Promise<ApplyResult> => {
      const [applied, whole, ...refused] = await connection.run<string[]>(
        scripts.apply,
        [keys.applied, keys.generations],
        [prefix, ...encodeBatch(batch)],
      );
      if (applied !== '') return { kind: 'out-of-step', applied: Number(applied) };
      return { kind: 'applied', refused, whole: whole === '1' };
    },
    read: async (requestIds) => {
      const found = new Map<RequestId, LedgerRow>();
      for (const page of pagesOf(requestIds)) {
        for (const row of (await askRows(0, 'read', ...page)).rows) found.set(row.state.requestId, row);
      }
      return found;
    },
    readAt: async (partition, requestIds) => {
      const found: RowsAt<LedgerRow>[] = [];
      for (const page of pagesOf(requestIds)) {
        const { head, rows } = await askRows(1, 'at', String(partition), ...page);
        found.push({ applied: Number(head[0]), rows });
      }
      return found;
    },
    open: async (partition) => {
      const found: RowsAt<LedgerRow>[] = [];
      const seen = new Set<RequestId>();
      for (let cursor = '0'; ; ) {
        const page = await askRows(2, 'open', String(partition), cursor, String(rowsAtOnce));
        const [applied, next] = page.head;
        // Pages may overlap.
        const rows = page.rows.filter(({ state }) => !seen.has(state.requestId));
        for (const { state } of rows) seen.add(state.requestId);
        found.push({ applied: Number(applied), rows });
        if (next === undefined || next === '0') return found;
        cursor = next;
      }
    },
    findByBid: async (bidIds) => {
      // A pair for each partition that has the code.
      const found: [string, readonly RequestId[]][] = [];
      for (const page of pagesOf(bidIds)) {
        const pairs = await ask('bids', ...page);
        for (let i = 0; i + 1 < pairs.length; i += 2) found.push([pairs[i]!, holdersIn(pairs[i + 1]!)]);
      }
      return mergedHolders(found);
    },
    usage: async (capKeys, at) => {
      const found = new Map<string, Usage>();
      for (const page of pagesOf(capKeys)) {
        for (const [key, usage] of usageIn(page, await ask('usage', String(at), ...page))) found.set(key, usage);
      }
      return found;
    },
    areWhole: createWholeness(connection, prefix),
    losses: async () => {
      const [evicting, ...flat] = await connection.run<string[]>(scripts.losses, [keys.lost], []);
      const lost: ViewLoss[] = [];
      for (let i = 0; i + 2 < flat.length; i += 3) {
        lost.push({ partition: Number(flat[i]), at: Number(flat[i + 1]), what: flat[i + 2]! });
      }
      return { lost, evicting: evicting === '' ? null : evicting! };
    },
    wholeUsage: async (capKeys, at) => {
      // One answer, of one moment: caps are few.
      const sums = await ask('wholeUsage', String(at), ...capKeys);
      return sums.length === 2 * capKeys.length ? usageIn(capKeys, sums) : null;
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
    query: async ({ phase, limit, before }) =>
      (await askRows(0, 'query', String(limit), before ?? '', ...(phase === null ? phases : [phase]))).rows,
  };
}
