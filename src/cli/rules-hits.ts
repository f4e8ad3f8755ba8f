/** `lance rules hits`: how often each rule of the set that decides shaped an outcome, from what the decisions recorded. */
import { assess, fullCapOf } from '../bidding/decide.ts';
import { surroundingsOf } from '../bidding/explain.ts';
import { capOfKey } from '../bidding/lately.ts';
import { limitingRules } from '../bidding/limiting-rules.ts';
import type { EventLog } from '../bidding/ports.ts';
import { type Span as OffsetSpan, readSpan } from '../bidding/read-topic.ts';
import { activations } from '../bidding/rule-book.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Reason } from '../domain/offer.ts';
import type { Economics } from '../domain/policy.ts';
import type { AuctionRecord, Passed, Requested } from '../domain/records.ts';
import { lacksSealed } from '../domain/sealed-facts.ts';
import { Fault } from '../errors.ts';
import { keptSet } from '../operating/rule-orders.ts';
import { priceCodes } from '../pricing/mask.ts';
import { createHitCount, type HitsReport } from '../rules/rule-hits.ts';
import { openRuleSet, type RuleSet } from '../rules/rule-set.ts';
import type { Format } from './format.ts';
import { setNotNamed } from './rules-activate.ts';
import { faultLine } from './rules-files.ts';
import { createProgress, proseText, tableText } from './terminal.ts';
import { wholeRequests } from './whole-request.ts';
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

/**
 * Which rules' limits a pass goes back to, asked of what the rules saw then. `note` is given each record first, `forget` when it was
 * counted: requests are kept until they are decided.
 */
export function createLimiters(
  ruleSet: RuleSet,
  economics: Economics,
  whole: ReturnType<typeof wholeRequests>,
): { note: (record: AuctionRecord) => void; forget: (record: AuctionRecord) => void; of: (pass: Passed) => string[] } {
  const open = new Map<RequestId, Requested>();
  return {
    note: (record) => {
      if (record.kind === 'requested') open.set(record.requestId, record);
    },
    forget: (record) => {
      if (record.kind === 'claimed' || record.kind === 'passed') open.delete(record.requestId);
    },
    of: ({ requestId, code, trace }) => {
      const asked = open.get(requestId);
      if (asked === undefined || trace === null || !(priceCodes as readonly string[]).includes(code)) return [];
      const request = whole(asked.request, asked.sealed);
      // Without the key of the desk nobody knows what the rules saw.
      if (lacksSealed(request, ruleSet.sealedGroups)) return [];
      const { verdict } = assess(request, surroundingsOf(trace), { ruleSet, economics }, trace.decidedAt);
      return limitingRules(code, verdict, request);
    },
  };
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
  await withReader(world, async ({ log, ruleBook, control }, { pseudonymKey }) => {
    const kept = await keptSet({ ruleBook, control }, 'live');
    if (kept.kind !== 'found') return setNotNamed(world, 'live', kept);
    const followed = activations(await ruleBook.read()).findLast(({ hash }) => hash === kept.hash);
    const { since = followed?.at ?? 0, until = world.clock.now() } = options;
    const ruleSet = opened(world, kept.source);
    const limits = createLimiters(ruleSet, world.model().economics, wholeRequests(world, pseudonymKey));
    const count = createHitCount(ruleSet, { since, until }, fullRuleCap, limits.of);
    const ends = [...(await log.ends('auctions'))];
    const spans: OffsetSpan[] = [];
    for (const [partition, end] of ends) spans.push(await spanFrom(log, partition, end, since - slackMs));
    const all = spans.reduce((sum, { from, end }) => sum + end - from, 0);
    const progress = createProgress(terminal, rules.reading);
    let read = 0;
    for (const span of spans) {
      for await (const { record } of readSpan(log, 'auctions', span)) {
        if ('at' in record && record.at > until + slackMs) break;
        limits.note(record);
        count.add(record);
        limits.forget(record);
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
  const rows = report.rules.map(({ rule, event, effects, decided, alone, unknown, full, limited, asleep }) => {
    // A rule sets a cap or limits.
    return [rule, event, ...[effects, decided, alone, unknown, full + limited, asleep].map(figure)];
  });
  const table = tableText(rules.hitsHeader, rows, { right: [2, 3, 4, 5, 6, 7], spare: [1, 7] });
  return [...head.map((line) => proseText(line)), table, proseText(rules.hitsNote)].join('\n');
}
