/** `lance bids list`: the ledger, latest first, in short pages beside a running daemon. */
import { listedBid } from '../bidding/bid-list.ts';
import { cursorOf, type LedgerRow } from '../bidding/ports.ts';
import { tableText } from './terminal.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

const pageRows = 200;

/** Longer ones are cut to this; a row then fits 120 columns. */
const longestText = 6;

/** Batch codes are UUIDs: their beginning is enough to tell batches apart; `--json` has them whole. */
function shortText(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}

/** The ledger, latest first. */
export async function* rowsOf(
  views: DeskReader['views'],
  phase: string | null,
  limit: number,
): AsyncGenerator<LedgerRow> {
  let before: string | null = null;
  for (let left = limit; left > 0; ) {
    const page: LedgerRow[] = await views.query({ phase, limit: Math.min(pageRows, left), before });
    yield* page;
    left -= page.length;
    if (page.length < pageRows) return;
    before = cursorOf(page.at(-1)!.state);
  }
}

export async function listBids(
  world: CommandWorld,
  options: { json: boolean; limit: number; state: string | null },
): Promise<void> {
  const { terminal, format } = world;
  const { texts } = format;
  await withReader(world, async ({ views }) => {
    const lines: string[][] = [];
    for await (const { state } of rowsOf(views, options.state, options.limit)) {
      const row = listedBid(state);
      if (options.json) terminal.write(JSON.stringify(row));
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
    }
    if (options.json) return;
    if (lines.length === 0) terminal.write(texts.list.empty);
    else terminal.write(tableText(texts.list.header, lines, [4, 5, 6, 7]));
    if (lines.length === options.limit) terminal.say(texts.list.more(options.limit));
  });
}
