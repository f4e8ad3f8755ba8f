/** `lance backtest`: what the desk would have earned on recorded auctions, or on those that its own log has seen end. */
import { basename } from 'node:path';
import { eachBid } from '../bidding/bid-search.ts';
import { Fault } from '../errors.ts';
import { type Backtest, runBacktest } from '../impact/backtest.ts';
import { type BreakEven, leastAuctions } from '../impact/learn.ts';
import { dimensionsOf, type Replayable, type ReplayedAuction, replayedOf } from '../impact/recorded-auctions.ts';
import { wholeMarket } from '../rules/keys.ts';
import { readAuctionsFile } from './auctions-file.ts';
import { backtestPage, policyName, scoreRows, segmentName, shareText } from './backtest-page.ts';
import { writeHtml } from './html-file.ts';
import { checkPlace } from './named-file.ts';
import { createProgress, tableText } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

/** Auctions of the store in the order in which they ended. The rates of rivals alone: our own bid was left out when each was settled. */
async function readLog(world: CommandWorld, quiet: boolean): Promise<Replayable> {
  const { terminal, format } = world;
  const { backtest } = format.texts;
  const found: { auction: ReplayedAuction; at: number; requestId: string }[] = [];
  const lists = new Map<string, readonly string[]>();
  await withReader(world, async ({ views }) => {
    for await (const { auction, requestId, segmentKeys: decided, decidedAt } of eachBid(views, {})) {
      if (auction === null || auction.bestRivalCell === null) continue;
      const { bestRivalCell, bestRivalOffGrid, endedAt } = auction;
      const special = decided.at(-1) ?? wholeMarket;
      const segmentKeys = lists.get(special) ?? (decided.length === 0 ? [wholeMarket] : decided);
      lists.set(special, segmentKeys);
      found.push({
        auction: { bestRivalCell, bestRivalOffGrid, segmentKeys },
        at: endedAt ?? decidedAt ?? 0,
        requestId,
      });
    }
  });
  if (!quiet) terminal.say(`${backtest.readingLog}: ${format.number(found.length)}`);
  if (found.length < leastAuctions) {
    throw new Fault('records-missing', backtest.logTooShort(found.length, leastAuctions));
  }
  found.sort((left, right) => left.at - right.at || (left.requestId < right.requestId ? -1 : 1));
  const labels = [...lists.keys()].flatMap((special) => special.split('|').slice(1));
  const dimensions = [...new Set(labels.map((label) => label.split('=')[0]!))];
  return { auctions: found.map(({ auction }) => auction), dimensions };
}

/** So many are decided within half a minute; a longer record is learnt from whole all the same. */
const mostDecided = 30_000;

export type BacktestOptions = {
  breakEven: BreakEven;
  segment: string | null;
  html: string | null;
  json: boolean;
};

/** `file` null: the log of the desk. */
export async function backtestAuctions(
  world: CommandWorld,
  file: string | null,
  options: BacktestOptions,
): Promise<void> {
  const { terminal, format } = world;
  const { texts } = format;
  const { winCurve } = world.pricing();
  const { breakEven, segment, html, json } = options;
  if (html !== null) checkPlace(world, html);
  let replayable: Replayable;
  if (file === null) replayable = await readLog(world, json);
  else {
    const auctions = await readAuctionsFile(world, file, json);
    replayable = replayedOf(auctions, dimensionsOf(auctions));
  }
  const progress = createProgress(terminal, texts.backtest.progress);
  let shownAt = 0;
  const result = runBacktest(replayable, { winCurve, breakEven, segment, mostDecided }, (done, of) => {
    // Writing a line for each batch would take longer than the batch.
    if (json || (done < of && done - shownAt < of / 200)) return;
    shownAt = done;
    progress.show(done, of, '');
  });
  if (!json) progress.end();
  if (result.kind === 'unknown-segment') {
    const known = result.known.map((key) => `  ${key}`).join('\n');
    throw new Fault('not-found', texts.backtest.unknownSegment(segment ?? '', known));
  }
  const { backtest } = result;
  const source = file === null ? texts.backtest.logName : basename(file);
  if (html !== null) writeHtml(world, html, backtestPage(format, backtest, source));
  terminal.write(json ? JSON.stringify(backtest) : reportText(world, backtest));
  if (html !== null) terminal.say(texts.page.written(html));
}

function reportText({ format }: CommandWorld, found: Backtest): string {
  const { backtest } = format.texts;
  const policies = found.policies.map(({ name, surplusHundredths, share, interval, weight }) => [
    policyName(format, found, name),
    format.points(surplusHundredths),
    `${shareText(format, share)} (${shareText(format, interval.low)} … ${shareText(format, interval.high)})`,
    weight === null ? '' : shareText(format, weight),
  ]);
  const segments = found.segments.map(({ name, share, weight }) => [
    segmentName(name, backtest.wholeMarket),
    shareText(format, share),
    shareText(format, weight),
  ]);
  return [
    tableText(backtest.header, policies, { right: [1, 2, 3] }),
    '',
    tableText(backtest.segmentHeader, segments, { right: [1, 2] }),
    '',
    tableText(backtest.scoreHeader, scoreRows(format, found), { right: [1, 2, 3] }),
  ].join('\n');
}
