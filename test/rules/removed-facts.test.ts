/** For each fact: a rule that refuses a request by it, and the same request without the fact. There may be no bid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Assessment, draftOffer } from '../../src/bidding/decide.ts';
import { buildWinCurve } from '../../src/pricing/win-curve.ts';
import { evaluateOffer, evaluateRequest } from '../../src/rules/evaluate.ts';
import { catalogue, type FactDefinition, type Facts, type FactValue } from '../../src/rules/facts.ts';
import { factsOf, offerFactsOf } from '../../src/rules/facts-of.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { configOf, shippedPolicy } from '../bidding/house.ts';
import { at, codesFile, ruleOf, sampleLink, sampleRequest } from './sample-request.ts';

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });
const shipped = shippedPolicy(config);
const { priorWeight, shrinkage, smoothing } = config.pricing.winCurve;
const { halfLifeMs } = config.bidding;
const curve = buildWinCurve({
  segments: [],
  scores: [],
  breakEvens: null,
  prior: shipped.prior,
  shrinkage,
  smoothing,
  priorWeight,
  at,
  halfLifeMs,
});

const ledger = {
  'desk.volumeTodayReais': 5,
  'desk.bidsToday': 5,
  'desk.winRate': 0.5,
  'worker.openBids': 5,
  'worker.exposureReais': 5,
  'employer.exposureReais': 5,
  'market.winRate': 0.5,
  'market.position': 2,
  'market.auctions': 40,
  'market.ageMinutes': 60,
  'market.hourWinRate': 0.5,
  'market.hourPosition': 2,
  'market.hourAuctions': 30,
  'market.hourAgeMinutes': 60,
};
const request = { ...sampleRequest, scores: { bureau: 640 }, extra: { channel: 'app' } };
const link = { ...sampleLink, ineligibilityCode: 3 };
const marginCents = 82_050;
const facts = factsOf({ request, link, marginCents, ledger, at });
const offerFacts = offerFactsOf({
  offer: {
    rateHundredths: 289,
    amountCents: 650_000,
    installments: 24,
    installmentCents: 38_412,
    cetAnnualHundredths: 4_310,
  },
  expectedProfitCents: 31_000,
  marginCents,
});

/** Conditions that hold for this value, as different as the operators are. */
function conditionsOn(name: string, value: FactValue): object[] {
  const is = (operator: string, other: unknown) => ({ fact: name, operator, value: other });
  if (typeof value === 'number')
    return [
      is('equal', value),
      is('not:notEqual', value),
      { not: is('notEqual', value) },
      is('someValue:equal', [value]),
    ];
  if (name === 'desk.always') return [is('equal', true)];
  if (typeof value === 'boolean') return [is('equal', value), { not: is('notEqual', value) }];
  if (typeof value === 'string') return [is('equal', value), is('in', [value]), { not: is('notIn', [value]) }];
  return [is('doesNotContain', 'never'), is('everyFact:notEqual', 'never'), { not: is('contains', 'never') }];
}

function policyWith(conditions: object, stage: string) {
  const rule = ruleOf({ stage, conditions: { all: [conditions] } });
  const compiled = compileRuleSet([codesFile, { path: 'rules.json', text: JSON.stringify([rule]) }]);
  assert.ok(compiled.kind === 'compiled', JSON.stringify(compiled));
  return { ...shipped, ruleSet: compiled.ruleSet };
}

/** Whether the request would be bid on, with these facts. */
function bids(own: Facts, ownOffer: Facts | null, policy: ReturnType<typeof policyWith>): boolean {
  const verdict = evaluateRequest(policy.ruleSet, own, at);
  const assessment: Assessment = {
    request,
    link,
    ledger,
    snoozed: [],
    tables: [],
    sources: [],
    review: null,
    joining: 'worse',
    words: null,
    worse: [],
    marginCents,
    facts: own,
    verdict,
    at,
  };
  const draft = draftOffer({
    assessment,
    policy,
    settings: config.bidding,
    curve,
    trial: curve.trial,
    operatorCaps: {},
    shadowPricePerCent: 0,
    shadowPriceVersion: null,
    tailoring: null,
    acceptance: null,
  });
  if (draft.kind === 'pass' || ownOffer === null) return draft.kind === 'offer';
  return evaluateOffer(policy.ruleSet, own, ownOffer, at).passes.length === 0;
}

function check(name: string, stage: FactDefinition['stage'], value: FactValue): void {
  for (const condition of conditionsOn(name, value)) {
    const policy = policyWith(condition, stage);
    const without = (all: Facts) => ({ ...all, [name]: undefined });
    const offers = stage === 'offer' ? offerFacts : null;
    assert.equal(bids(facts, offers, policy), false, `${name} as it is: ${JSON.stringify(condition)}`);
    assert.equal(
      bids(without(facts), offers && without(offers), policy),
      false,
      `without ${name}: ${JSON.stringify(condition)}`,
    );
  }
}

const present = (name: string) => facts[name] ?? offerFacts[name];

for (const { name, stage } of catalogue) {
  test(`without ${name}: 0 bids`, () => {
    const value = present(name);
    assert.ok(value !== undefined, 'the sample has every fact');
    check(name, stage, value);
  });
}

for (const name of ['score.bureau', 'extra.channel']) {
  test(`without ${name}: 0 bids`, () => check(name, 'request', present(name)!));
}

test('the request is bid on where no rule stands in the way', () => {
  const policy = policyWith({ fact: 'worker.ageYears', operator: 'lessThan', value: 18 }, 'request');
  assert.equal(bids(facts, null, policy), true);
});
