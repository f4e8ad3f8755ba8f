/** `lance bids list`: the ledger, latest first, in short pages beside a running daemon. */
import { listedBid } from '../bidding/bid-list.ts';
import { type BidSearch, eachBid } from '../bidding/bid-search.ts';
import type { UnaskedPartition } from '../bidding/ports.ts';
import type { RequestState } from '../domain/states.ts';
import type { AskedBids } from '../queries/asked-bids.ts';
import { namesOfBatch } from '../wire/plain-ids.ts';
import { workerKeyIn } from './cpf-option.ts';
import { tableText } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

/** Longer ones are cut to this; a row then fits 120 columns. Batch and terms go where there are fewer. */
const longestText = 6;

/** Batch codes are UUIDs: their beginning is enough to tell batches apart; `--json` has them whole. */
function shortText(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}

/** Without the key a batch whose code is not shown is found by its pseudonym alone. */
function batchNames(world: CommandWorld, pseudonymKey: string | null, batch: string): readonly string[] {
  return pseudonymKey === null ? [batch] : namesOfBatch(world.createVault(pseudonymKey), batch);
}

type ListOptions = { json: boolean; limit: number; batch?: string | undefined; cpf?: string | undefined };

export async function listBids(
  world: CommandWorld,
  { json, limit, batch, cpf, ...rest }: Omit<BidSearch, 'batchIds' | 'workerKey'> & ListOptions,
): Promise<void> {
  const { terminal, format } = world;
  const { texts } = format;
  await withReader(world, async ({ views, askedBids, log }, { pseudonymKey }) => {
    const batchIds = batch === undefined ? undefined : batchNames(world, pseudonymKey, batch);
    const search: BidSearch = { ...rest, batchIds, workerKey: await workerKeyIn(world, { log }, cpf) };
    const lines: string[][] = [];
    let found = 0;
    const unasked = new Map<number, UnaskedPartition>();
    for await (const state of askedBids == null
      ? eachBid(views, search)
      : eachAsked(askedBids, search, limit, (each) => unasked.set(each.partition, each))) {
      const row = listedBid(state);
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
    const missing = [...unasked.values()].sort((left, right) => left.partition - right.partition);
    if (json) {
      if (missing.length > 0) terminal.write(JSON.stringify({ missing }));
      return;
    }
    if (lines.length === 0) terminal.write(texts.list.empty);
    else terminal.write(tableText(texts.list.header, lines, { right: [4, 5, 6, 7], whole: [0], spare: [1, 6] }));
    if (lines.length === limit) terminal.say(texts.list.more(limit));
    for (const { partition, instance, why } of missing) {
      terminal.say(texts.list.unasked(partition, texts.list.unaskedWhy[why], instance));
    }
  });
}

const mostAtOnce = 200;

/** Latest first, from all processes of the desk. `onUnasked` hears of each partition whose rows are not among them. */
async function* eachAsked(
  { search: find }: Pick<AskedBids, 'search'>,
  search: BidSearch,
  limit: number,
  onUnasked: (each: UnaskedPartition) => void,
): AsyncGenerator<RequestState> {
  for (let before: string | null = null, left = limit; ; ) {
    const page: Awaited<ReturnType<AskedBids['search']>> = await find(search, {
      limit: Math.min(left, mostAtOnce),
      before,
    });
    page.unasked.forEach(onUnasked);
    yield* page.found;
    left -= page.found.length;
    before = page.next;
    if (before === null || left <= 0) return;
  }
}
