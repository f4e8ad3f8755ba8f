/** Decisions as the desk makes them, on the shipped rules and settings, without log and views: for benchmarks of one decision and for records that look like a desk's. */
import { readRuleFiles } from '../src/adapters/system/rule-files.ts';
import { createVault } from '../src/adapters/vault/vault.ts';
import {
  type Assessment,
  assess,
  checkCaps,
  choiceInput,
  type Draft,
  type DraftInput,
  draftOffer,
} from '../src/bidding/decide.ts';
import { type Learnt, curveOf as learntCurve, lessonsOf } from '../src/bidding/learning.ts';
import type { Config } from '../src/config.ts';
import { emptyHistogram, foldSums, type Histogram } from '../src/domain/histogram.ts';
import type { Trial } from '../src/domain/offer.ts';
import type { Requested } from '../src/domain/records.ts';
import type { LoanRequest } from '../src/domain/request.ts';
import { policyOf } from '../src/policy.ts';
import { type Choice, chooseOffer } from '../src/pricing/choose.ts';
import type { ChoiceInput } from '../src/pricing/mask.ts';
import { clearShared, createShared, type LearntCurve, tailor } from '../src/pricing/win-curve.ts';
import { featureLevels, requestFeatures } from '../src/rules/features.ts';
import { chanceOf } from '../src/sandbox/chance.ts';
import { encodeBid } from '../src/wire/bid.ts';
import { readWebhook } from '../src/wire/webhook.ts';
import { configOf, environmentOf, shippedMapping, shippedRules, webhooksOf } from './workload.ts';

/** Auctions that each segment has learnt from, half of them with policies on trial. */
const resultsEach = 60;

/** A body with many more is too large. */
const mostInWebhook = 1_000;

/** Requests of the population as the door would write them, received at `at`. */
export function requestsOf(config: Config, count: number, at: number): Requested[] {
  const deps = { mapping: shippedMapping(), vault: createVault(config.pseudonymKey), receivedAt: at, now: at };
  const size = Math.min(count, mostInWebhook);
  const requests = webhooksOf(0, Math.ceil(count / size), size, at).flatMap(({ body }) => {
    const reading = readWebhook(body, deps);
    if (reading.kind !== 'entries') throw new Error(`a webhook of the benchmark was read as ${reading.kind}`);
    return reading.entries.flatMap(({ topic, record }) =>
      topic === 'auctions' && record.kind === 'requested' ? [record] : [],
    );
  });
  return requests.slice(0, count);
}

/** Levels that no two requests need to share. */
function likelyLevels(chance: () => number): number[] {
  const step = Math.floor(requestFeatures.columns / 10);
  return Array.from({ length: 10 }, (_, feature) => step * feature + Math.floor(step * chance()));
}

/** What a result teaches, in statistics that are all at hand. */
export function foldLessons(statistics: Map<string, Histogram>, learnt: Learnt): void {
  for (const lesson of lessonsOf(learnt)) {
    if (lesson.kind !== 'learn') continue;
    for (const key of lesson.keys) {
      const histogram = statistics.get(key) ?? emptyHistogram(lesson.at);
      foldSums(histogram, lesson.additions, lesson.at, lesson.halfLives);
      statistics.set(key, histogram);
    }
  }
}

/** Some results for a segment, around the configured prior, under every key of its curve. */
function teach(
  statistics: Map<string, Histogram>,
  segmentKeys: readonly string[],
  { halfLifeMs, at }: { halfLifeMs: number; at: number },
  curveOf: () => LearntCurve,
): void {
  const chance = chanceOf('bench', segmentKeys.at(-1) ?? '');
  let trial: Trial | null = null;
  let halfway: LearntCurve | null = null;
  for (let index = 0; index < resultsEach; index += 1) {
    if (2 * index === resultsEach) halfway = curveOf();
    if (halfway !== null) trial = tailor(halfway, likelyLevels(chance)).trial;
    const bestRivalCell = chance() < 0.05 ? 498 : Math.floor(200 + 150 * chance() + 100 * chance());
    const endedAt = at - 86_400_000 + index * 60_000;
    const wonHundredths = bestRivalCell > 300 ? 300 : null;
    const learnt = {
      segmentKeys,
      trial,
      bestRivalCell,
      bestRivalOffGrid: false,
      wonHundredths,
      at: endedAt,
      halfLifeMs,
    };
    foldLessons(statistics, learnt);
  }
}

/** `isTaught` false: nothing was learnt, so every curve is the prior. */
export function createDecider(at: number, rulesDir = shippedRules, isTaught = true) {
  const places = { dataDir: 'unused', rulesDir, baseUrl: 'http://127.0.0.1:1' };
  const config = configOf(environmentOf(places));
  const policy = policyOf(config, readRuleFiles(rulesDir));
  const { shrinkage, smoothing, priorWeight } = policy.tables.settings.winCurve;
  const { halfLifeMs } = config.bidding;
  const statistics = new Map<string, Histogram>();
  const curves = new Map<string, LearntCurve>();
  const shared = createShared();

  const curveOf = (keys: readonly string[], fresh: boolean): LearntCurve => {
    const name = keys.at(-1) ?? '';
    const known = curves.get(name);
    if (known !== undefined && !fresh) return known;
    const make = (): LearntCurve => {
      clearShared(shared);
      const inputs = {
        prior: policy.prior,
        priorWeight,
        shrinkage,
        smoothing,
        at,
        halfLifeMs,
        breakEvens: null,
        shared,
        layout: requestFeatures,
      };
      return learntCurve(keys, statistics, inputs);
    };
    if (known === undefined && isTaught) teach(statistics, keys, { halfLifeMs, at }, make);
    const curve = make();
    curves.set(name, curve);
    return curve;
  };
  const assessed = (request: LoanRequest): Assessment => assess(request, { link: null, ledger: undefined }, policy, at);
  const drafting = (assessment: Assessment, freshCurve: boolean): DraftInput => {
    const { passes, segmentKeys } = assessment.verdict;
    const curve = passes.length > 0 ? null : curveOf(segmentKeys, freshCurve);
    const tailored = curve === null ? null : tailor(curve, featureLevels(assessment.facts));
    return {
      assessment,
      policy,
      settings: config.bidding,
      curve: tailored?.curve ?? null,
      trial: tailored?.trial ?? null,
      tailoring: tailored?.tailoring ?? null,
      operatorCaps: {},
      shadowPricePerCent: 0,
      shadowPriceVersion: null,
      acceptance: null,
    };
  };
  const decide = (request: LoanRequest): Draft => checkCaps(draftOffer(drafting(assessed(request), false)), new Map());
  /** What the rules have let through, priced: the curve and the choice. */
  const price = (assessment: Assessment, freshCurve: boolean): Choice =>
    chooseOffer(choiceInput(drafting(assessment, freshCurve)));
  const encode = (requestId: string, offer: Extract<Draft, { kind: 'offer' }>['offer']): string =>
    encodeBid({ requestId, offer, contacts: config.contacts });
  /** What the optimiser is asked for a request that the rules let through. */
  const asked = (assessment: Assessment): ChoiceInput => choiceInput(drafting(assessment, false));
  return { config, assessed, asked, decide, price, encode, curves, rules: policy.ruleSet };
}
