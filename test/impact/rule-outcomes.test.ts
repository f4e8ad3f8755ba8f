/** Rules on loans whose performance is known: each rule alone as the evaluator says it, and sums that are added up plainly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { assess, choiceInput, draftOffer } from '../../src/bidding/decide.ts';
import { noLimits } from '../../src/domain/policy.ts';
import { chanceOf } from '../../src/impact/chance.ts';
import { type Loan, outcomeOf, readPerformance } from '../../src/impact/performance.ts';
import { isOutside, outcomesByRule } from '../../src/impact/rule-outcomes.ts';
import { buildWinCurve } from '../../src/pricing/win-curve.ts';
import { evaluateOffer, evaluateRequest, verdictsAlone } from '../../src/rules/evaluate.ts';
import type { Facts } from '../../src/rules/facts.ts';
import { factsOf, offerFactsOf } from '../../src/rules/facts-of.ts';
import { compileRuleSet, type RuleSet, type StageRules } from '../../src/rules/rule-set.ts';
import { configOf, shippedPolicy } from '../bidding/house.ts';
import { at, sampleLink, sampleRequest } from '../rules/sample-request.ts';

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });
const policy = shippedPolicy(config);
const curve = buildWinCurve({
  ...config.pricing.winCurve,
  segments: [],
  scores: [],
  prior: policy.prior,
  at,
  halfLifeMs: config.bidding.halfLifeMs,
  breakEvens: null,
});
const assessment = assess(sampleRequest, { link: sampleLink, ledger: undefined }, policy, at);
const input = {
  ...{ assessment, policy, settings: config.bidding, curve, trial: null, operatorCaps: {}, shadowPricePerCent: 0 },
  ...{ shadowPriceVersion: null, tailoring: null, acceptance: null },
};
const asked = choiceInput(input);
const draft = draftOffer(input);
assert.ok(draft.kind === 'offer');
const { offer } = draft;

function compiled(files: { path: string; text: string }[]): RuleSet {
  const result = compileRuleSet(files);
  assert.ok(result.kind === 'compiled', JSON.stringify(result));
  return result.ruleSet;
}

function only(stage: StageRules, name: string): StageRules {
  const index = stage.rules.findIndex((rule) => rule.name === name);
  if (index < 0) return { ...stage, rules: [], places: new Int32Array() };
  return { ...stage, rules: [stage.rules[index]!], places: Int32Array.of(stage.places[index]!) };
}

/** What the evaluator says of the one rule, in a set of its own. */
function alone(ruleSet: RuleSet, name: string, facts: Facts, offerFacts: Facts) {
  const own = { ...ruleSet, request: only(ruleSet.request, name), offer: only(ruleSet.offer, name) };
  const request = evaluateRequest(own, facts, at);
  const onOffer = evaluateOffer(own, facts, offerFacts, at);
  return {
    fired: [...request.fired, ...onOffer.fired].length > 0,
    passes: request.passes.length + onOffer.passes.length > 0,
    limits: request.limits,
  };
}

test('each rule alone says what it says in a set of its own, whatever facts are missing', () => {
  const examples = ['margin-share', 'instalment-of-salary', 'warning-signs', 'minimum-profit', 'scorecard'];
  const folders = [new URL('../../rules/', import.meta.url).pathname];
  for (const name of examples) folders.push(new URL(`../../rules/examples/${name}`, import.meta.url).pathname);
  const offerFacts = offerFactsOf({ offer, expectedProfitCents: 10_000, marginCents: assessment.marginCents });
  const whole = factsOf({ request: sampleRequest, link: sampleLink, marginCents: assessment.marginCents, at });
  const names = Object.keys(whole);
  const draw = chanceOf(20);
  let [said, passing, limiting, undecided] = [0, 0, 0, 0];
  for (const folder of folders) {
    const ruleSet = compiled(readRuleFiles(folder));
    for (let round = 0; round < 150; round += 1) {
      const facts: Record<string, unknown> = { ...whole };
      for (const fact of names) {
        const word = draw();
        if (word < round / 300) delete facts[fact];
        else if (word > 0.85 && typeof facts[fact] === 'number') facts[fact] = word > 0.92 ? 0 : 1_000_000;
        else if (word > 0.85 && typeof facts[fact] === 'boolean') facts[fact] = !facts[fact];
      }
      const own = new Map(verdictsAlone(ruleSet, facts as Facts, offerFacts, at).map((one) => [one.rule, one]));
      for (const { name, event } of ruleSet.rules) {
        const found = own.get(name);
        if (event !== 'pass' && event !== 'limit') {
          assert.equal(found, undefined);
          continue;
        }
        const expected = alone(ruleSet, name, facts as Facts, offerFacts);
        assert.equal(found !== undefined, expected.fired, `${name} in round ${round}`);
        if (found === undefined) continue;
        assert.deepEqual([found.passes, found.limits], [expected.passes, expected.limits], `${name} in round ${round}`);
        said += 1;
        if (found.passes) passing += 1;
        else limiting += 1;
        if (found.missing.length > 0) undecided += 1;
      }
    }
  }
  assert.ok(
    said > 1_000 && passing > 100 && limiting > 100 && undecided > 50,
    `${[said, passing, limiting, undecided]}`,
  );
});

test('a loan is outside of a limit that it breaks by the least step, and inside of one that it meets', () => {
  const marginCents = 100_000;
  const meets = {
    maxRateHundredths: offer.rateHundredths,
    minRateHundredths: offer.rateHundredths,
    maxAmountCents: offer.amountCents,
    minAmountCents: offer.amountCents,
    maxInstallments: offer.installments,
    minInstallments: offer.installments,
    maxInstallmentCents: offer.installmentCents,
    minInstallmentCents: offer.installmentCents,
    maxCetAnnualHundredths: offer.cetAnnualHundredths,
  };
  const inside = { ...noLimits, ...meets, maxMarginShare: offer.installmentCents / marginCents };
  assert.equal(isOutside(inside, offer, marginCents), false);
  for (const [field, value] of Object.entries(meets)) {
    const broken = { ...inside, [field]: value + (field.startsWith('max') ? -1 : 1) };
    assert.equal(isOutside(broken, offer, marginCents), true, field);
  }
  assert.equal(
    isOutside({ ...inside, maxMarginShare: (offer.installmentCents - 1) / marginCents }, offer, marginCents),
    true,
  );
  assert.equal(isOutside({ ...noLimits, minSpreadHundredths: 400, minProfitCents: 1e9 }, offer, marginCents), false);
});

const ruleFile = (name: string, fact: string, operator: string, value: unknown, event: object) => ({
  ...{ name, description: name, owner: 'credit-risk', conditions: { all: [{ fact, operator, value }] }, event },
});
const young = { type: 'pass', params: { code: 'young', reason: 'Too young.' } };
const files = [
  { path: 'codes.json', text: JSON.stringify({ codes: { young: 'Too young' } }) },
  {
    path: 'own.json',
    text: JSON.stringify({
      rules: [
        ruleFile('Young', 'worker.ageYears', 'lessThan', 30, young),
        ruleFile('Small', 'desk.always', 'equal', true, {
          ...{ type: 'limit', params: { maxAmountReais: offer.amountCents / 100 - 1 } },
        }),
        ruleFile('Wide', 'desk.always', 'equal', true, { type: 'limit', params: { maxAmountReais: 1_000_000 } }),
        ruleFile('Dear', 'desk.always', 'equal', true, { type: 'economics', params: { bidCostReais: 1 } }),
      ],
    }),
  },
];

test('sums by rule: what it would have saved and cost, with the undecided, without those whose link nobody asked for', () => {
  const ruleSet = compiled(files);
  const loan = (rows: string): Loan => {
    const { observations } = readPerformance(rows);
    return { ...{ requestId: '1', decidedAt: at, offer, asked, segmentKeys: ['all'], gapHundredths: 3 }, observations };
  };
  const lost = loan('1,2027-03,default');
  const paid = loan('1,2027-09,current');
  const judged = (one: Loan, age: number | undefined, linkUnknown = false) => {
    const facts = { 'desk.always': true, 'worker.ageYears': age } as unknown as Facts;
    const verdicts = verdictsAlone(ruleSet, facts, {}, at);
    return { loan: one, verdicts, marginCents: assessment.marginCents, linkUnknown };
  };
  const report = outcomesByRule(ruleSet.rules, [
    judged(lost, 20),
    judged(lost, undefined),
    judged(paid, 20),
    judged(paid, 45),
    judged(paid, undefined, true),
  ]);
  const [ofLost, ofPaid] = [outcomeOf(lost), outcomeOf(paid)];
  const earned = ({ interestCents, fundingCents }: typeof ofLost) => Math.round(interestCents - fundingCents);
  const sum = (losses: number, pays: number) => ({
    loans: losses + pays,
    releasedCents: (losses + pays) * offer.amountCents,
    ended: losses,
    lossCents: losses * Math.round(ofLost.actualLossCents),
    earnedCents: losses * earned(ofLost) + pays * earned(ofPaid),
  });
  assert.deepEqual(report.total, sum(2, 3));
  assert.deepEqual(report.rules, [
    { rule: 'Young', event: 'pass', ...sum(2, 1), undecided: 1, linkNotOnRecord: 1 },
    { rule: 'Wide', event: 'limit', ...sum(0, 0), undecided: 0, linkNotOnRecord: 0 },
    { rule: 'Small', event: 'limit', ...sum(2, 3), undecided: 0, linkNotOnRecord: 0 },
  ]);
  assert.ok(report.total.lossCents > 0 && earned(ofPaid) > 0);
});
