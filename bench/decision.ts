/**
 * One decision: rules, value, curve and choice on the shipped rules and settings, over varied requests; then value, curve and
 * choice alone of those that end as bids, with the curve at hand and with one made from what was learnt each time. Baseline
 * in turns: writing the bid of the same requests as JSON, without which no desk can bid at all.
 */
import { createDecider, requestsOf } from './decider.ts';
import { type Benchmark, median, quantile, rounded } from './figures.ts';

const requestCount = 400;
const warmRounds = 60;
const rounds = 40;
const at = Date.parse('2026-11-20T12:00:00Z');

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
    const { config, assessed, decide, price, encode, curves, rules } = createDecider(at);
    const requests = requestsOf(config, requestCount, at).map(({ request }) => request);
    const drafts = requests.map((request) => ({ request, draft: decide(request) }));
    const offers = drafts.flatMap(({ request, draft }) =>
      draft.kind === 'offer' ? [{ requestId: request.requestId, offer: draft.offer }] : [],
    );
    const bidding = new Set(offers.map(({ requestId }) => requestId));
    const assessments = requests.filter(({ requestId }) => bidding.has(requestId)).map(assessed);
    const bidShare = offers.length / requests.length;
    say(
      `${requests.length} requests, ${rules.rules.length} rules, ${curves.size} curves; ${offers.length} end as bids`,
    );
    const round = () => ({
      decided: timed(requests, (request) => decide(request)),
      priced: timed(assessments, (assessment) => price(assessment, false)),
      freshCurve: timed(assessments, (assessment) => price(assessment, true)),
      baseline: timed(offers, ({ requestId, offer }) => encode(requestId, offer)),
    });
    for (let turn = 0; turn < warmRounds; turn += 1) round();
    const all = {
      decided: [] as number[],
      priced: [] as number[],
      freshCurve: [] as number[],
      baseline: [] as number[],
    };
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
      rulesApartMedianUs: rounded(median(all.priced)),
      rulesApartTargetUs: 40,
      newCurveMedianUs: rounded(median(all.freshCurve)),
      newCurveTargetUs: 200,
      requests: requests.length,
      rules: rules.rules.length,
      curves: curves.size,
      bidShare: rounded(bidShare, 3),
    };
    say(`decision: median ${report.oursMedianUs} µs, p99 ${report.oursP99Us} µs (target: median ≤ 60 µs)`);
    say(
      `  bids, rules apart: median ${report.rulesApartMedianUs} µs (target: ≤ 40 µs); with a new curve each: ${report.newCurveMedianUs} µs (≤ 200 µs)`,
    );
    say(`baseline, ${report.baseline}: median ${report.baselineMedianUs} µs`);
    return report;
  },
};
