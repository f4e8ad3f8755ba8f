/** `lance rules hits`: how often each rule of the set that decides shaped an outcome, from what the decisions recorded. */
import { fullCapOf } from '../bidding/decide.ts';
import { capOfKey } from '../bidding/lately.ts';
import type { EventLog } from '../bidding/ports.ts';
import { type Span as OffsetSpan, readSpan } from '../bidding/read-topic.ts';
import { activations } from '../bidding/rule-book.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { Reason } from '../domain/offer.ts';
import { Fault } from '../errors.ts';
import { keptSet } from '../operating/rule-orders.ts';
import { createHitCount, type HitsReport } from '../rules/rule-hits.ts';
import { openRuleSet, type RuleSet } from '../rules/rule-set.ts';
import type { Format } from './format.ts';
import { setNotNamed } from './rules-activate.ts';
import { faultLine } from './rules-files.ts';
import { createProgress, proseText, tableText } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

const shownHash = 12;
/** Fewer entries than this are read through rather than searched. */
const probedEntries = 2_000;
const progressEntries = 5_000;
/** A partition is in the order of time but for clocks that differ or were set, and a claim is given up after its decision. */
const slackMs = 3_600_000;

export type HitsOptions = { since?: EpochMs | undefined; until?: EpochMs | undefined; json: boolean };

function opened(world: CommandWorld, source: string): RuleSet {
  const compiled = openRuleSet(source, true);
  if (compiled.kind === 'compiled') return compiled.ruleSet;
  const { refused } = world.format.texts.rules;
  const faults = compiled.faults.map((fault) => `  ${faultLine(world, fault)}`);
  throw new Fault('rules-refused', [refused(faults.length), ...faults].join('\n'));
}

/** The cap of the rules that had no room; null: none, one by hand, or not told. */
export function fullRuleCap(reasons: readonly Reason[]): string | null {
  const key = fullCapOf(reasons);
  if (key === null) return null;
  const { name, byHand } = capOfKey(key);
  return byHand ? null : name;
}

/** Where to begin reading to miss no record from `at` on. What has no time counts as late. */
export async function spanFrom(
  log: Pick<EventLog, 'read'>,
  partition: number,
  end: number,
  at: EpochMs,
): Promise<OffsetSpan> {
  let [low, high] = [0, end];
  while (high - low > probedEntries) {
    const middle = Math.floor((low + high) / 2);
    const [entry] = await log.read('auctions', partition, middle, 1);
    if (entry !== undefined && 'at' in entry.record && entry.record.at < at) low = middle;
    else high = middle;
  }
  return { partition, from: low, end };
}

export async function tellHits(world: CommandWorld, options: HitsOptions): Promise<void> {
  const { terminal, format } = world;
  const { rules } = format.texts;
  await withReader(world, async ({ log, ruleBook, control }) => {
    const kept = await keptSet({ ruleBook, control }, 'live');
    if (kept.kind !== 'found') return setNotNamed(world, 'live', kept);
    const followed = activations(await ruleBook.read()).findLast(({ hash }) => hash === kept.hash);
    const { since = followed?.at ?? 0, until = world.clock.now() } = options;
    const count = createHitCount(opened(world, kept.source), { since, until }, fullRuleCap);
    const ends = [...(await log.ends('auctions'))];
    const spans: OffsetSpan[] = [];
    for (const [partition, end] of ends) spans.push(await spanFrom(log, partition, end, since - slackMs));
    const all = spans.reduce((sum, { from, end }) => sum + end - from, 0);
    const progress = createProgress(terminal, rules.reading);
    let read = 0;
    for (const span of spans) {
      for await (const { record } of readSpan(log, 'auctions', span)) {
        if ('at' in record && record.at > until + slackMs) break;
        count.add(record);
        read += 1;
        if (!options.json && read % progressEntries === 0) progress.show(read, all, '');
      }
    }
    if (!options.json && read >= progressEntries) progress.end();
    const report = count.report();
    if (options.json) terminal.write(JSON.stringify({ since, until, ...report }));
    else terminal.write(hitsText(report, since, until, format));
  });
}

function hitsText(report: HitsReport, since: EpochMs, until: EpochMs, format: Format): string {
  const { rules } = format.texts;
  const figure = (value: number) => format.number(value, 0);
  const { hash, decisions, bids, passes, byRules, byOtherSets } = report;
  const head = [
    rules.hitsOf(hash.slice(0, shownHash), format.minute(since), format.minute(until)),
    rules.hitsTotal(figure(decisions), figure(bids), figure(passes), figure(byRules)),
    ...(byOtherSets === 0 ? [] : [rules.hitsByOthers(figure(byOtherSets))]),
  ];
  const rows = report.rules.map(({ rule, event, effects, decided, alone, unknown, full, asleep }) => {
    return [rule, event, ...[effects, decided, alone, unknown, full, asleep].map(figure)];
  });
  const table = tableText(rules.hitsHeader, rows, { right: [2, 3, 4, 5, 6, 7], spare: [1, 7] });
  return [...head.map((line) => proseText(line)), table, proseText(rules.hitsNote)].join('\n');
}
