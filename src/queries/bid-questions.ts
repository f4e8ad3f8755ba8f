/** What processes of one desk ask each other about requests, and what is answered from the views of the partitions that are held. */
import { z } from 'zod';
import { searchBids } from '../bidding/bid-search.ts';
import { cursorOf, type LedgerRow, type Views } from '../bidding/ports.ts';
import { mergedHolders } from '../domain/code-holders.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { RequestState } from '../domain/states.ts';
import { mergePages, type Page } from './owners.ts';

/** Of one question; whoever has more to ask asks again. */
export const mostIds = 500;
export const mostRows = 200;
/** Rows of one answer, as JSON: what is left over comes with the next page. */
const pageCharacters = 4_000_000;

const text = z.string().max(500);
const ids = z.array(text).max(mostIds).readonly();
const moment = z.number().optional();
const search = z.strictObject({
  state: text.optional(),
  code: text.optional(),
  batchIds: ids.optional(),
  segment: text.optional(),
  workerKey: text.optional(),
  since: moment,
  until: moment,
});

/** A question is of some partitions. `applied`: how far each is folded. `learnt`: how many results each has folded under a key. */
export const bidQuestion = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('applied') }),
  z.strictObject({ kind: z.literal('read'), requestIds: ids }),
  z.strictObject({ kind: z.literal('find-by-bid'), bidIds: ids }),
  z.strictObject({ kind: z.literal('learnt'), key: text }),
  z.strictObject({
    kind: z.literal('search'),
    search,
    limit: z.int().min(1).max(mostRows),
    before: text.nullable(),
  }),
]);
export type BidQuestion = z.infer<typeof bidQuestion>;

/** As JSON carries it. */
export type BidAnswers = {
  applied: readonly (readonly [partition: number, applied: number])[];
  read: readonly LedgerRow[];
  'find-by-bid': readonly (readonly [bidId: string, holders: readonly RequestId[]])[];
  learnt: readonly number[];
  search: Page<RequestState>;
};

/** A partition that is folded here. */
export type HeldPartition = {
  views: Pick<Views, 'applied' | 'read' | 'findByBid' | 'query'>;
  learnt: (keys: readonly string[]) => ReadonlyMap<string, { count: number }>;
};

/** `held`: each partition that is asked about. */
export async function answerBids(
  held: ReadonlyMap<number, HeldPartition>,
  question: BidQuestion,
): Promise<BidAnswers[BidQuestion['kind']]> {
  const views = [...held.values()].map((each) => each.views);
  switch (question.kind) {
    case 'applied':
      return Promise.all(
        [...held].map(async ([partition, { views }]) => [partition, await views.applied(partition)] as const),
      );
    case 'read': {
      const found = await Promise.all(views.map((each) => each.read(question.requestIds)));
      return found.flatMap((rows) => [...rows.values()]);
    }
    case 'find-by-bid': {
      const found = await Promise.all(views.map((each) => each.findByBid(question.bidIds)));
      return [...mergedHolders(found.flatMap((holders) => [...holders]))];
    }
    case 'learnt':
      return [...held.values()].map(({ learnt }) => learnt([question.key]).get(question.key)?.count ?? 0);
    case 'search': {
      const { search: asked, ...page } = question;
      const { found, next } = await searchBids({ query: queryOf(views) }, asked, page);
      return shortened({ rows: found, next });
    }
    default:
      return question satisfies never;
  }
}

function queryOf(views: readonly HeldPartition['views'][]): Views['query'] {
  return async (query) => {
    const pages = await Promise.all(views.map((each) => each.query(query)));
    return pages.flat().sort(latestFirst).slice(0, query.limit);
  };
}

function latestFirst(left: LedgerRow, right: LedgerRow): number {
  const [before, after] = [cursorOf(left.state), cursorOf(right.state)];
  return before === after ? 0 : before < after ? 1 : -1;
}

function shortened({ rows, next }: Page<RequestState>): Page<RequestState> {
  let characters = 0;
  for (const [place, row] of rows.entries()) {
    characters += JSON.stringify(row).length;
    // The first one always goes: nobody would get further otherwise.
    if (place > 0 && characters > pageCharacters)
      return { rows: rows.slice(0, place), next: cursorOf(rows[place - 1]!) };
  }
  return { rows, next };
}

/** One page of those of all owners. */
export function mergeFound(pages: readonly Page<RequestState>[], limit: number): Page<RequestState> {
  return mergePages(pages, cursorOf, limit);
}
