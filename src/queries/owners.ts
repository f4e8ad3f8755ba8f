/**
 * Questions to the processes that own partitions: who is asked for what, once more where an owner changed meanwhile, which partitions
 * could not be asked, and how the pages of several owners become one. It knows nothing of what is asked, so requests and flows go by it.
 */
import type { OwnedTopic, Owner, UnaskedPartition, UnaskedReason } from '../bidding/ports.ts';

/** Why a partition could not be asked, in words. */
export const unaskedTexts: Readonly<Record<UnaskedReason, string>> = {
  'no-owner': 'no running process owns it',
  moved: 'it is changing hands',
  gone: 'its process cannot be reached',
  'time-limit': 'its process did not answer in time',
  busy: 'its process answers too many questions already',
  refused: 'its process gave no answer that counts',
};

/** What asking one process came to. `elsewhere`: partitions of the question that it does not own, or not any more. */
export type Asked<Answer> =
  | { kind: 'answered'; answer: Answer; elsewhere: readonly number[] }
  | { kind: 'failed'; why: UnaskedReason };

export type Asking<Answer> = {
  topic: OwnedTopic;
  /** Of the topic. */
  partitions: readonly number[];
  /** Asked once, and once more where something is still to be asked. */
  owners: () => Promise<readonly Owner[]>;
  ask: (owner: Owner, partitions: readonly number[]) => Promise<Asked<Answer>>;
};

export type AskedAll<Answer> = { answers: readonly Answer[]; unasked: readonly UnaskedPartition[] };

/** Whom to ask for what. `tried`: by partition, who did not answer for it. The first of the owners that name a partition is asked. */
export function routesOf(
  topic: OwnedTopic,
  partitions: readonly number[],
  owners: readonly Owner[],
  tried: ReadonlyMap<number, ReadonlySet<string>> = new Map(),
): { routes: ReadonlyMap<Owner, number[]>; without: readonly number[] } {
  const ownerOf = new Map<number, Owner>();
  for (const owner of owners) {
    for (const partition of owner.partitions[topic] ?? []) {
      if (tried.get(partition)?.has(owner.instance) === true || ownerOf.has(partition)) continue;
      ownerOf.set(partition, owner);
    }
  }
  const routes = new Map<Owner, number[]>();
  const without: number[] = [];
  for (const partition of new Set(partitions)) {
    const owner = ownerOf.get(partition);
    if (owner === undefined) without.push(partition);
    else if (routes.has(owner)) routes.get(owner)!.push(partition);
    else routes.set(owner, [partition]);
  }
  return { routes, without };
}

/** Every owner is asked at the same time. A partition that was not answered for is asked at another owner of it, where one is known by then. */
export async function askOwners<Answer>({ topic, partitions, owners, ask }: Asking<Answer>): Promise<AskedAll<Answer>> {
  const answers: Answer[] = [];
  const tried = new Map<number, Set<string>>();
  const unasked = new Map<number, UnaskedPartition>();

  async function round(open: readonly number[]): Promise<void> {
    const { routes, without } = routesOf(topic, open, await owners(), tried);
    for (const partition of without) {
      if (!unasked.has(partition)) unasked.set(partition, { partition, instance: null, why: 'no-owner' });
    }
    const asked = [...routes].map(async ([owner, ofOwner]) => ({ owner, ofOwner, got: await ask(owner, ofOwner) }));
    for (const { owner, ofOwner, got } of await Promise.all(asked)) {
      if (got.kind === 'answered') answers.push(got.answer);
      for (const partition of ofOwner) {
        const isAnswered = got.kind === 'answered' && !got.elsewhere.includes(partition);
        if (isAnswered) {
          unasked.delete(partition);
          continue;
        }
        const before = tried.get(partition) ?? new Set();
        tried.set(partition, before.add(owner.instance));
        const why = got.kind === 'failed' ? got.why : 'moved';
        unasked.set(partition, { partition, instance: owner.instance, why });
      }
    }
  }

  await round(partitions);
  if (unasked.size > 0) await round([...unasked.keys()]);
  return { answers, unasked: [...unasked.values()].sort((left, right) => left.partition - right.partition) };
}

/** `rows` latest first. `next`: everything at or after it was looked at, and nothing before it; null: everything was. */
export type Page<Row> = { rows: readonly Row[]; next: string | null };

/**
 * The pages of several owners as one. A cursor says where a row stands among all rows, whoever owns it, so it stays good when partitions
 * change hands. What lies behind the first place where an owner stopped looking is left for the next page.
 */
export function mergePages<Row>(pages: readonly Page<Row>[], cursorOf: (row: Row) => string, limit: number): Page<Row> {
  const stops = pages.flatMap(({ next }) => (next === null ? [] : [next]));
  const stop = stops.sort().at(-1) ?? null;
  const rows = pages
    .flatMap(({ rows }) => rows.map((row) => ({ row, cursor: cursorOf(row) })))
    .filter(({ cursor }) => stop === null || cursor >= stop)
    .sort((left, right) => (left.cursor < right.cursor ? 1 : left.cursor > right.cursor ? -1 : 0));
  const shown = rows.slice(0, limit);
  return { rows: shown.map(({ row }) => row), next: shown.length < rows.length ? shown.at(-1)!.cursor : stop };
}
