/**
 * One decision: rules, value, curve and choice on the shipped rules and settings, over varied requests. Baseline in turns:
 * writing the bid of the same requests as JSON, without which no desk can bid at all.
 */
import { readFileSync } from 'node:fs';
import { readRuleFiles } from '../src/adapters/system/rule-files.ts';
import { createVault } from '../src/adapters/vault/vault.ts';
import { assess, checkCaps, type Draft, draftOffer } from '../src/bidding/decide.ts';
import { curveOf as learntCurve, lessonsOf } from '../src/bidding/learning.ts';
import { emptyHistogram, foldSums, type Histogram } from '../src/domain/histogram.ts';
import type { LoanRequest } from '../src/domain/request.ts';
import { policyOf } from '../src/policy.ts';
import type { LearntCurve } from '../src/pricing/win-curve.ts';
import { chanceOf } from '../src/sandbox/chance.ts';
import { encodeBid } from '../src/wire/bid.ts';
import { readRequestMapping } from '../src/wire/mapping-table.ts';
import { readWebhook } from '../src/wire/webhook.ts';
import { type Benchmark, median, quantile, rounded } from './figures.ts';
import { configOf, environmentOf, shippedRules, webhooksOf } from './workload.ts';

const requestCount = 400;
const warmRounds = 60;
const rounds = 40;
/** Auctions that each segment has learnt from. */
const resultsEach = 60;
const at = Date.parse('2026-11-20T12:00:00Z');

function requestsOf(config: ReturnType<typeof configOf>): LoanRequest[] {
  const file = new URL('../config/request-mapping.json', import.meta.url);
  const mapping = readRequestMapping(JSON.parse(readFileSync(file, 'utf8')));
  if (mapping.kind === 'refused') throw new Error(mapping.problems.join('\n'));
  const deps = { mapping: mapping.mapping, vault: createVault(config.pseudonymKey), receivedAt: at, now: at };
  return webhooksOf(0, 1, requestCount, at).flatMap(({ body }) => {
    const reading = readWebhook(body, deps);
    if (reading.kind !== 'entries') throw new Error(`a webhook of the benchmark was read as ${reading.kind}`);
    return reading.entries.flatMap(({ topic, record }) =>
      topic === 'auctions' && record.kind === 'requested' ? [record.request] : [],
    );
  });
}

/** Some results for a segment, around the configured prior, under every key of its curve. */
function teach(statistics: Map<string, Histogram>, segmentKeys: readonly string[], halfLifeMs: number): void {
  const chance = chanceOf('bench', segmentKeys.at(-1) ?? '');
  for (let index = 0; index < resultsEach; index += 1) {
    const bestRivalCell = chance() < 0.05 ? 498 : Math.floor(200 + 150 * chance() + 100 * chance());
    const endedAt = at - 86_400_000 + index * 60_000;
    const learnt = { segmentKeys, trial: null, bestRivalCell, bestRivalOffGrid: false, at: endedAt, halfLifeMs };
    for (const lesson of lessonsOf(learnt)) {
      if (lesson.kind !== 'learn') continue;
      for (const key of lesson.keys) {
        const histogram = statistics.get(key) ?? emptyHistogram(lesson.at);
        foldSums(histogram, lesson.additions, lesson.at, lesson.halfLives);
        statistics.set(key, histogram);
      }
    }
  }
}

function createDecider() {
  const places = { dataDir: 'unused', rulesDir: shippedRules, baseUrl: 'http://127.0.0.1:1' };
  const config = configOf(environmentOf(places));
  const policy = policyOf(config, readRuleFiles(shippedRules));
  const { shrinkage, smoothing, priorWeight } = policy.tables.settings.winCurve;
  const { halfLifeMs } = config.bidding;
  const statistics = new Map<string, Histogram>();
  const curves = new Map<string, LearntCurve>();

  const curveOf = (keys: readonly string[], fresh: boolean): LearntCurve => {
    const name = keys.at(-1) ?? '';
    const known = curves.get(name);
    if (known !== undefined && !fresh) return known;
    if (known === undefined) teach(statistics, keys, halfLifeMs);
    const inputs = { prior: policy.prior, priorWeight, shrinkage, smoothing, at, halfLifeMs, breakEvens: null };
    const curve = learntCurve(keys, statistics, inputs);
    curves.set(name, curve);
    return curve;
  };
  const decide = (request: LoanRequest, freshCurve: boolean): Draft => {
    const assessment = assess(request, { link: null, ledger: undefined }, policy, at);
    const { passes, segmentKeys } = assessment.verdict;
    const curve = passes.length > 0 ? null : curveOf(segmentKeys, freshCurve);
    const settings = config.bidding;
    const draft = draftOffer({
      assessment,
      policy,
      settings,
      curve,
      trial: curve?.trial ?? null,
      operatorCaps: {},
      shadowPricePerCent: 0,
      shadowPriceVersion: null,
      acceptance: null,
    });
    return checkCaps(draft, new Map());
  };
  const encode = (requestId: string, offer: Extract<Draft, { kind: 'offer' }>['offer']): string =>
    encodeBid({ requestId, offer, contacts: config.contacts });
  return { config, decide, encode, curves, rules: policy.ruleSet };
}

/** Microseconds of each call, in order. */
function timed<T>(items: readonly T[], work: (item: T) => unknown): Float64Array {
  const taken = new Float64Array(items.length);
  for (let index = 0; index < items.length; index += 1) {
    const startedAt = process.hrtime.bigint();
    work(items[index]!);
    taken[index] = Number(process.hrtime.bigint() - startedAt) / 1_000;
  }
  return taken;
}

export const decision: Benchmark = {
  run: async (say) => {
    const { config, decide, encode, curves, rules } = createDecider();
    const requests = requestsOf(config);
    const drafts = requests.map((request) => ({ request, draft: decide(request, false) }));
    const offers = drafts.flatMap(({ request, draft }) =>
      draft.kind === 'offer' ? [{ requestId: request.requestId, offer: draft.offer }] : [],
    );
    const bidding = new Set(offers.map(({ requestId }) => requestId));
    const bidders = requests.filter(({ requestId }) => bidding.has(requestId));
    const bidShare = offers.length / requests.length;
    say(
      `${requests.length} requests, ${rules.rules.length} rules, ${curves.size} curves; ${offers.length} end as bids`,
    );
    const round = () => ({
      decided: timed(requests, (request) => decide(request, false)),
      bids: timed(bidders, (request) => decide(request, false)),
      freshCurve: timed(bidders, (request) => decide(request, true)),
      baseline: timed(offers, ({ requestId, offer }) => encode(requestId, offer)),
    });
    for (let turn = 0; turn < warmRounds; turn += 1) round();
    const all = { decided: [] as number[], bids: [] as number[], freshCurve: [] as number[], baseline: [] as number[] };
    for (let turn = 0; turn < rounds; turn += 1) {
      const taken = round();
      for (const name of Object.keys(all) as (keyof typeof all)[]) all[name].push(...taken[name]);
    }
    const [ours, base] = [median(all.decided), median(all.baseline)];
    const report = {
      ratio: rounded(base / ours, 3),
      baseline: 'JSON of the same bids (encodeBid), nothing decided',
      oursMedianUs: rounded(ours),
      baselineMedianUs: rounded(base, 2),
      targetUs: 60,
      oursP99Us: rounded(quantile(all.decided, 0.99)),
      bidsOnlyMedianUs: rounded(median(all.bids)),
      newCurveMedianUs: rounded(median(all.freshCurve)),
      requests: requests.length,
      rules: rules.rules.length,
      curves: curves.size,
      bidShare: rounded(bidShare, 3),
    };
    say(`decision: median ${report.oursMedianUs} µs, p99 ${report.oursP99Us} µs (target: median ≤ 60 µs)`);
    say(
      `  those that end as bids: median ${report.bidsOnlyMedianUs} µs; with a new curve each: ${report.newCurveMedianUs} µs`,
    );
    say(`baseline, ${report.baseline}: median ${report.baselineMedianUs} µs`);
    return report;
  },
};
