/** `lance bids list`: the ledger, latest first, in short pages beside a running daemon. */
import { type ListedBid, listedBid } from '../bidding/bid-list.ts';
import { type BidSearch, eachBid } from '../bidding/bid-search.ts';
import type { UnaskedPartition } from '../bidding/ports.ts';
import { nearestWord } from '../domain/nearest-word.ts';
import { Fault } from '../errors.ts';
import type { AskedBids } from '../queries/asked-bids.ts';
import { namesOfBatch } from '../wire/plain-ids.ts';
import { workerKeyIn } from './cpf-option.ts';
import { type RemoteDesk, remoteDesk } from './desk-control.ts';
import { tableText } from './terminal.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

/** Longer ones are cut to this; a row then fits 120 columns. Batch, terms and position go where there are fewer. */
const longestText = 6;

/** Batch codes are UUIDs: their beginning is enough to tell batches apart; `--json` has them whole. */
function shortText(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}

/** Without the key a batch whose code is not shown is found by its pseudonym alone. */
function batchNames(world: CommandWorld, pseudonymKey: string | null, batch: string): readonly string[] {
  return pseudonymKey === null ? [batch] : namesOfBatch(world.createVault(pseudonymKey), batch);
}

type ListOptions = {
  json: boolean;
  limit: number;
  batch?: string | undefined;
  cpf?: string | undefined;
  by?: string | undefined;
};

type Search = Omit<BidSearch, 'batchIds' | 'workerKey'> & Pick<ListOptions, 'batch' | 'cpf' | 'by'>;

export async function listBids(world: CommandWorld, { json, limit, ...search }: Search & ListOptions): Promise<void> {
  const shown = { json, limit };
  const { code } = search;
  const desk = await remoteDesk(world, {});
  if (desk !== null) {
    if (search.cpf !== undefined) throw new Fault('not-allowed', world.format.texts.list.cpfNotAsked);
    const alike = async () => fromDesk(desk, { ...search, code: undefined }, lookedAt);
    return writeBids(world, fromDesk(desk, search, limit), { ...shown, code, alike });
  }
  const { batch, cpf, by, ...rest } = search;
  await withReader(world, async ({ views, askedBids, log, ruleBook }, { pseudonymKey }) => {
    const batchIds = batch === undefined ? undefined : batchNames(world, pseudonymKey, batch);
    const asked: BidSearch = { ...rest, batchIds, workerKey: await workerKeyIn(world, { log, ruleBook }, { cpf, by }) };
    const find = (search: BidSearch, most: number) =>
      askedBids == null ? fromViews(views, search) : fromOwners(askedBids, search, most);
    const alike = async () => find({ ...asked, code: undefined }, lookedAt);
    await writeBids(world, find(asked, limit), { ...shown, code, alike });
  });
}

/** Rows, latest first, and partitions whose rows are not among them. */
type Found = { rows: AsyncIterable<ListedBid>; missing: ReadonlyMap<number, UnaskedPartition> };

/** `alike`: the latest rows that all but the code fits. */
type CodeAsked = { code: string | undefined; alike: () => Promise<Found> };

const lookedAt = 1_000;
const mostCodes = 5;

async function codesIn(rows: AsyncIterable<ListedBid>): Promise<string[]> {
  const codes = new Set<string>();
  let looked = 0;
  for await (const { code } of rows) {
    if (code !== null) codes.add(code);
    looked += 1;
    if (looked === lookedAt) break;
  }
  return [...codes].sort();
}

/** Those that begin or read like the one that was asked for; where none does, the first ones. */
function nearestCodes(asked: string, codes: readonly string[]): { named: readonly string[]; areNear: boolean } {
  const near = codes.filter((code) => code.startsWith(asked) || asked.startsWith(code) || nearestWord(asked, [code]));
  return { named: (near.length > 0 ? near : codes).slice(0, mostCodes), areNear: near.length > 0 };
}

async function writeBids(
  { terminal, format }: CommandWorld,
  { rows, missing }: Found,
  { json, limit, code, alike }: Pick<ListOptions, 'json' | 'limit'> & CodeAsked,
): Promise<void> {
  const { texts } = format;
  const lines: string[][] = [];
  let found = 0;
  for await (const row of rows) {
    found += 1;
    if (json) terminal.write(JSON.stringify(row));
    else
      lines.push([
        row.requestId,
        row.batchId === null ? texts.none : shortText(row.batchId),
        row.frozen === undefined ? texts.states[row.state] : `${texts.states[row.state]} (${texts.freeze.mark})`,
        row.code ?? '',
        row.rateHundredths === null ? '' : format.number(row.rateHundredths / 100, 2),
        row.amountCents === null ? '' : format.money(row.amountCents),
        row.installments === null ? '' : String(row.installments),
        row.position === null ? '' : String(row.position),
        row.decidedAt === null ? texts.none : format.minute(row.decidedAt),
      ]);
    if (found === limit) break;
  }
  const named = [...missing.values()].sort((left, right) => left.partition - right.partition);
  if (json) {
    if (named.length > 0) terminal.write(JSON.stringify({ missing: named }));
    return;
  }
  if (lines.length === 0) {
    terminal.write(texts.list.empty);
    const codes = code === undefined ? [] : codesIn((await alike()).rows);
    const { named, areNear } = nearestCodes(code ?? '', await codes);
    if (named.length > 0) terminal.say(texts.list.codes(named, areNear));
  } else terminal.write(tableText(texts.list.header, lines, { right: [4, 5, 6, 7], whole: [0], spare: [1, 6, 7] }));
  if (lines.length === limit) terminal.say(texts.list.more(limit));
  for (const { partition, instance, why } of named) {
    terminal.say(texts.list.unasked(partition, texts.list.unaskedWhy[why], instance));
  }
}

function fromViews(views: DeskReader['views'], search: BidSearch): Found {
  async function* rows() {
    for await (const state of eachBid(views, search)) yield listedBid(state);
  }
  return { rows: rows(), missing: new Map() };
}

function fromOwners({ search: find }: Pick<AskedBids, 'search'>, search: BidSearch, limit: number): Found {
  return inPages(limit, async (page) => {
    const { found, next, unasked } = await find(search, page);
    return { bids: found.map(listedBid), next, missing: unasked };
  });
}

function fromDesk(desk: RemoteDesk, { batch, cpf: _cpf, by: _by, ...rest }: Search, limit: number): Found {
  return inPages(limit, ({ before, ...page }) =>
    desk.bids({ ...rest, batchId: batch, ...page, before: before ?? undefined }),
  );
}

const mostAtOnce = 200;

function inPages(
  limit: number,
  ask: (page: { limit: number; before: string | null }) => Promise<{
    bids: readonly ListedBid[];
    next: string | null;
    missing?: readonly UnaskedPartition[] | undefined;
  }>,
): Found {
  const missing = new Map<number, UnaskedPartition>();
  async function* rows() {
    for (let before: string | null = null, left = limit; left > 0; ) {
      const page: Awaited<ReturnType<typeof ask>> = await ask({ limit: Math.min(left, mostAtOnce), before });
      for (const each of page.missing ?? []) missing.set(each.partition, each);
      yield* page.bids;
      left -= page.bids.length;
      before = page.next;
      if (before === null) return;
    }
  }
  return { rows: rows(), missing };
}
