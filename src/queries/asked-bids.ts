/** Requests of all partitions of a desk, whoever owns them: asked at the owners, with what could not be asked said by name. */
import type { BidSearch } from '../bidding/bid-search.ts';
import type {
  LedgerQuery,
  LedgerRow,
  Owner,
  OwnerBook,
  UnaskedPartition,
  UnaskedReason,
  Views,
} from '../bidding/ports.ts';
import { mergedHolders } from '../domain/code-holders.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { RequestState } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import {
  answerBids,
  type BidAnswers,
  type BidQuestion,
  bidQuestion,
  type HeldPartition,
  mergeFound,
  mostIds,
  mostRows,
} from './bid-questions.ts';
import { type Asked, askOwners, unaskedTexts } from './owners.ts';

/** What a process is asked, and answers, about its partitions of one topic. */
export type Question = { topic: 'auctions'; partitions: readonly number[]; question: BidQuestion };
export type Answer = { elsewhere: readonly number[]; answer: BidAnswers[BidQuestion['kind']] };

export type FoundBids = { found: readonly RequestState[]; next: string | null; unasked: readonly UnaskedPartition[] };

export type AskedBids = {
  /** Rejects with `owner-unasked`, which names the partition, where one of them could not be asked. So do the last two before `learnt`. */
  read: Views['read'];
  /** What could be asked of these requests: what else a page shows does not hang on them. */
  readKnown: Views['read'];
  findByBid: Views['findByBid'];
  applied: Views['applied'];
  /** The same of every partition that could be asked. */
  appliedKnown: () => Promise<ReadonlyMap<number, number>>;
  /** How many results all partitions have folded under a key; null: not all of them could be asked. */
  learnt: (key: string) => Promise<number | null>;
  /** As `searchBids`; what could not be asked is told beside what was found. */
  search: (search: BidSearch, page: { limit: number; before: string | null }) => Promise<FoundBids>;
};

/** Null for a partition that others have, or that is not caught up yet. */
type HeldHere = (partition: number) => Promise<HeldPartition | null>;

/**
 * A partition that was just taken up may be folded from its beginning: what it knows by then would be told as all there is. So it is
 * answered for when it is folded as far as the log was when it was asked about first. `changed`: it was taken up or left.
 */
export function createCaughtUp(
  held: (partition: number) => HeldPartition | null,
  ends: () => Promise<ReadonlyMap<number, number>>,
): { held: HeldHere; changed: (partition: number) => void } {
  /** How far it has to be; null: it was that far. */
  const awaited = new Map<number, number | null>();
  return {
    changed: (partition) => void awaited.delete(partition),
    held: async (partition) => {
      const folded = held(partition);
      if (folded === null) return null;
      if (!awaited.has(partition)) {
        const end = (await ends()).get(partition) ?? 0;
        if (!awaited.has(partition)) awaited.set(partition, end);
      }
      const end = awaited.get(partition) ?? null;
      if (end === null) return folded;
      if ((await folded.views.applied(partition)) < end) return null;
      awaited.set(partition, null);
      return folded;
    },
  };
}

/** Null for what is no question that this version knows. */
export async function answerQuestion(held: HeldHere, asked: unknown): Promise<Answer | null> {
  const { topic, partitions, question } = (asked ?? {}) as Partial<Record<keyof Question, unknown>>;
  const read = bidQuestion.safeParse(question);
  if (topic !== 'auctions' || !read.success || !Array.isArray(partitions)) return null;
  const own = new Map<number, HeldPartition>();
  const elsewhere: number[] = [];
  for (const partition of new Set<unknown>(partitions)) {
    if (!Number.isSafeInteger(partition)) return null;
    const folded = await held(partition as number);
    if (folded === null) elsewhere.push(partition as number);
    else own.set(partition as number, folded);
  }
  return { elsewhere, answer: await answerBids(own, read.data) };
}

export function createAskedBids(parts: {
  /** How many partitions `auctions` has. */
  partitions: () => Promise<number>;
  partitionOf: (requestId: RequestId) => Promise<number>;
  owners: OwnerBook['read'];
  /** What comes may be of another version. */
  ask: (
    owner: Owner,
    question: Question,
  ) => Promise<{ kind: 'answered'; answer: unknown } | { kind: 'failed'; why: UnaskedReason }>;
  /** The partitions of this process, which nobody needs to be asked for; null: it has none. */
  here: { owner: () => Owner; held: HeldHere } | null;
}): AskedBids {
  const { partitionOf, here } = parts;

  async function owners(): Promise<readonly Owner[]> {
    const own = here?.owner() ?? null;
    const others = await parts.owners().catch((fault: unknown) => {
      // What is held here can be answered all the same.
      if (own === null) throw fault;
      return [];
    });
    return own === null ? others : [own, ...others.filter(({ instance }) => instance !== own.instance)];
  }

  async function askAll<K extends BidQuestion['kind']>(
    partitions: readonly number[],
    question: Extract<BidQuestion, { kind: K }>,
  ): Promise<{ answers: readonly BidAnswers[K][]; unasked: readonly UnaskedPartition[] }> {
    const { answers, unasked } = await askOwners<Answer>({
      topic: 'auctions',
      partitions,
      owners,
      ask: async (owner, ofOwner) => {
        const asked: Question = { topic: 'auctions', partitions: ofOwner, question };
        if (owner.instance === here?.owner().instance) return readAnswer(await answerQuestion(here.held, asked));
        const got = await parts.ask(owner, asked);
        return got.kind === 'failed' ? got : readAnswer(got.answer);
      },
    });
    return { answers: answers.map(({ answer }) => answer as BidAnswers[K]), unasked };
  }

  const everyPartition = async () => Array.from({ length: await parts.partitions() }, (_, partition) => partition);

  async function readWith(
    onUnasked: (unasked: readonly UnaskedPartition[]) => void,
    requestIds: readonly RequestId[],
  ): Promise<ReadonlyMap<RequestId, LedgerRow>> {
    const rows = new Map<RequestId, LedgerRow>();
    for (const some of inParts(requestIds)) {
      const partitions = [...new Set(await Promise.all(some.map(partitionOf)))];
      const { answers, unasked } = await askAll(partitions, { kind: 'read', requestIds: [...some] });
      onUnasked(unasked);
      for (const row of answers.flat()) rows.set(row.state.requestId, row);
    }
    return rows;
  }

  return {
    read: (requestIds) => readWith(refuseUnasked, requestIds),
    readKnown: (requestIds) => readWith(() => undefined, requestIds),
    findByBid: async (bidIds) => {
      const holders: (readonly [string, readonly RequestId[]])[] = [];
      for (const some of inParts(bidIds)) {
        const { answers, unasked } = await askAll(await everyPartition(), { kind: 'find-by-bid', bidIds: [...some] });
        refuseUnasked(unasked);
        holders.push(...answers.flat());
      }
      return mergedHolders(holders);
    },
    applied: async (partition) => {
      const { answers, unasked } = await askAll([partition], { kind: 'applied' });
      refuseUnasked(unasked);
      return answers.flat().find(([of]) => of === partition)?.[1] ?? 0;
    },
    appliedKnown: async () => new Map((await askAll(await everyPartition(), { kind: 'applied' })).answers.flat()),
    learnt: async (key) => {
      const { answers, unasked } = await askAll(await everyPartition(), { kind: 'learnt', key });
      return unasked.length > 0 ? null : answers.flat().reduce((sum, count) => sum + count, 0);
    },
    search: async (search, page) => {
      const { answers, unasked } = await askAll(await everyPartition(), { kind: 'search', search, ...page });
      const { rows, next } = mergeFound(answers, page.limit);
      return { found: rows, next, unasked };
    },
  };
}

/** As `Views.query`, of all owners and states alone. `missing`: partitions that could not be asked so far. */
export function bidsOfAll({ search }: Pick<AskedBids, 'search'>): {
  query: (query: LedgerQuery) => Promise<Pick<LedgerRow, 'state'>[]>;
  missing: () => readonly number[];
} {
  const missing = new Set<number>();
  return {
    query: async ({ phase, limit, before }) => {
      const states: RequestState[] = [];
      for (let from = before; states.length < limit; ) {
        const page = { limit: Math.min(limit - states.length, mostRows), before: from };
        const { found, next, unasked } = await search({ state: phase ?? undefined }, page);
        states.push(...found);
        for (const { partition } of unasked) missing.add(partition);
        from = next;
        if (from === null) break;
      }
      return states.map((state) => ({ state }));
    },
    missing: () => [...missing],
  };
}

function readAnswer(answer: unknown): Asked<Answer> {
  const { elsewhere, answer: said } = (answer ?? {}) as Partial<Answer>;
  if (!Array.isArray(elsewhere) || typeof said !== 'object' || said === null) return { kind: 'failed', why: 'refused' };
  return { kind: 'answered', answer: { elsewhere, answer: said }, elsewhere };
}

function* inParts(ids: readonly string[]): Generator<readonly string[]> {
  for (let first = 0; first < ids.length; first += mostIds) yield ids.slice(first, first + mostIds);
}

function refuseUnasked(unasked: readonly UnaskedPartition[]): void {
  const [first] = unasked;
  if (first === undefined) return;
  const { partition, instance, why } = first;
  const who = instance === null ? '' : ` (${instance})`;
  throw new Fault(
    'owner-unasked',
    `Partition ${partition} of auctions could not be asked: ${unaskedTexts[why]}${who}.`,
  );
}
