/** The risk team's own files in `rules/`: they load, say what they are meant to, and never fail open. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LinkDetail, LoanRequest } from '../../src/domain/request.ts';
import { evaluateOffer, evaluateRequest } from '../../src/rules/evaluate.ts';
import type { Facts } from '../../src/rules/facts.ts';
import { factsOf, offerFactsOf } from '../../src/rules/facts-of.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { at, compiledFiles, sampleLink, sampleRequest } from './sample-request.ts';

const folder = new URL('../../rules/', import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
const files = names.map((path) => ({ path, text: readFileSync(new URL(path, folder), 'utf8') }));
const ruleSet = compiledFiles(files);

function factsFor(
  change: Partial<LoanRequest> = {},
  link: Partial<LinkDetail> | null = null,
  marginCents = 82_050,
): Facts {
  const request = { ...sampleRequest, ...change };
  return factsOf({ request, link: link === null ? null : { ...sampleLink, ...link }, marginCents, at });
}

const plainOffer = {
  rateHundredths: 289,
  amountCents: 650_000,
  installments: 24,
  installmentCents: 38_412,
  cetAnnualHundredths: 4_310,
};
function offerFactsFor(change: Partial<typeof plainOffer> = {}, expectedProfitCents = 31_000): Facts {
  return offerFactsOf({ offer: { ...plainOffer, ...change }, expectedProfitCents, marginCents: 82_050 });
}

const plainFacts = factsFor();
const plainOfferFacts = offerFactsFor();

function reasonsFor(facts: Facts, offerFacts: Facts): string[] {
  const reasons = [
    ...evaluateRequest(ruleSet, facts, at).passes,
    ...evaluateOffer(ruleSet, facts, offerFacts, at).passes,
  ];
  return reasons.map((reason) => `${reason.code} by ${reason.rule}`);
}

/** For each pass rule a case that it refuses. */
const refusals: Readonly<Record<string, { code: string; facts: Facts; offerFacts?: Facts }>> = {
  'Only eligible workers': { code: 'not-eligible', facts: factsFor({ eligible: false }) },
  // The detail's word counts for the worker as well; here for the link alone, as in decisions of earlier programs.
  'Only eligible links': {
    code: 'not-eligible',
    facts: { ...factsFor({}, { eligible: false }), 'request.eligible': true },
  },
  'No terminated links': { code: 'link-terminated', facts: factsFor({}, { terminationDate: '2026-11-01' }) },
  'At least 21 years old': { code: 'age-outside', facts: factsFor({ birthDate: '2005-11-21' }) },
  'At most 75 at the last instalment': { code: 'age-outside', facts: factsFor({ birthDate: '1952-01-01' }) },
  'At least 6 months with the employer': { code: 'tenure-short', facts: factsFor({ admissionDate: '2026-05-21' }) },
  'No apprentices or interns': { code: 'category-excluded', facts: factsFor({}, { workerCategoryCode: 103 }) },
  'Politically exposed people by hand': { code: 'politically-exposed', facts: factsFor({ politicallyExposed: true }) },
  'Two or more alerts': { code: 'alerts', facts: factsFor({ alertCodes: ['1', '7'] }) },
  'At most 5 active loans': { code: 'loans-many', facts: factsFor({}, { activeLoans: 6 }) },
  'Employers older than a year': { code: 'employer-young', facts: factsFor({}, { employerStartDate: '2026-01-15' }) },
  'Margin of at least R$ 50': { code: 'margin-small', facts: factsFor({}, null, 4_999) },
  'Amounts from R$ 300': { code: 'amount-small', facts: factsFor({ requestedAmountCents: 29_999 }) },
  'Yearly cost of at most 150 %': {
    code: 'cet-high',
    facts: plainFacts,
    offerFacts: offerFactsFor({ cetAnnualHundredths: 15_001 }),
  },
  'Large loans must pay': {
    code: 'profit-thin',
    facts: plainFacts,
    offerFacts: offerFactsFor({ amountCents: 2_500_000 }, 9_999),
  },
};

test('there are 15 rules and more, each described, and every declared code is used', () => {
  assert.ok(ruleSet.rules.length >= 15);
  for (const rule of ruleSet.rules) assert.ok(rule.description.length >= 40, rule.name);
  const used = new Set(Object.values(refusals).map((refusal) => refusal.code));
  assert.deepEqual([...used].sort(), ruleSet.codes.map((code) => code.code).sort());
});

test('an ordinary request passes no rule, with and without the link detail', () => {
  assert.deepEqual(reasonsFor(plainFacts, plainOfferFacts), []);
  assert.deepEqual(reasonsFor(factsFor({}, {}), plainOfferFacts), []);
  const silentOnLink = {
    eligible: null,
    birthDate: null,
    admissionDate: null,
    politicallyExposed: null,
    alertCodes: null,
  };
  assert.deepEqual(reasonsFor(factsFor(silentOnLink, {}), plainOfferFacts), []);
});

test('each pass rule refuses its case, alone', () => {
  const passRules = ruleSet.rules.filter((rule) => rule.event === 'pass').map((rule) => rule.name);
  assert.deepEqual(Object.keys(refusals).sort(), passRules.sort());
  for (const [rule, { code, facts, offerFacts }] of Object.entries(refusals)) {
    assert.deepEqual(reasonsFor(facts, offerFacts ?? plainOfferFacts), [`${code} by ${rule}`]);
  }
});

function without(facts: Facts, removed: readonly string[]): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !removed.includes(name)));
}

test('taking any fact away from a refused case never makes it clean', () => {
  for (const [rule, { facts, offerFacts = plainOfferFacts }] of Object.entries(refusals)) {
    for (const fact of [...Object.keys(facts), ...Object.keys(offerFacts)]) {
      const reasons = reasonsFor(without(facts, [fact]), without(offerFacts, [fact]));
      assert.ok(reasons.length > 0, `${rule} without ${fact}`);
    }
  }
});

test('taking any facts away never makes a case clean, a limit wider or a cap vanish', () => {
  const cases = [
    ...Object.values(refusals),
    { facts: plainFacts },
    { facts: factsFor({ alertCodes: ['1'], employerIdType: 2 }, {}) },
  ];
  const allNames = [...Object.keys(plainFacts), ...Object.keys(plainOfferFacts)];
  const property = fc.property(fc.constantFrom(...cases), fc.subarray(allNames), (chosen, removed) => {
    const offerFacts = 'offerFacts' in chosen && chosen.offerFacts !== undefined ? chosen.offerFacts : plainOfferFacts;
    const left = without(chosen.facts, removed);
    if (reasonsFor(chosen.facts, offerFacts).length > 0) {
      assert.ok(reasonsFor(left, without(offerFacts, removed)).length > 0);
    }
    const before = evaluateRequest(ruleSet, chosen.facts, at);
    const after = evaluateRequest(ruleSet, left, at);
    for (const [field, value] of Object.entries(before.limits)) {
      const now = after.limits[field as keyof typeof after.limits];
      if (value === null) continue;
      assert.ok(now !== null && (field.startsWith('min') ? now >= value : now <= value), field);
    }
    const namesOf = (caps: typeof before.caps) => caps.map((cap) => cap.keys[0]!.split('|')[0]);
    for (const name of namesOf(before.caps)) assert.ok(namesOf(after.caps).includes(name), name);
  });
  fc.assert(property, { numRuns: 2_000 });
});

test('the guarantee cap holds for guaranteed loans and for those that do not say', () => {
  const maxRate = (present: boolean | null) =>
    evaluateRequest(ruleSet, factsFor({ guarantee: { ...sampleRequest.guarantee, present } }), at).limits
      .maxRateHundredths;
  assert.deepEqual([maxRate(true), maxRate(null), maxRate(false)], [199, 199, null]);
});

test('hazards follow sector and tenure, and tenure alone where the sector is not known', () => {
  const hazard = (admissionDate: string, activityCode: number | null) => {
    const facts = factsFor({ admissionDate }, activityCode === null ? null : { activityCode, admissionDate });
    return evaluateRequest(ruleSet, facts, at).economics.separationMonthly;
  };
  assert.equal(hazard('2026-01-10', 4_120_400), 0.0715);
  assert.equal(hazard('2025-01-10', 4_120_400), 0.055);
  assert.equal(hazard('2015-01-10', 4_120_400), 0.044);
  assert.equal(hazard('2015-01-10', 8_411_600), 0.01);
  assert.equal(hazard('2025-01-10', 4_930_202), 0.029);
  assert.equal(hazard('2015-01-10', null), 0.0232);
});

test('between 60 and 95 % of an ordinary population passes no rule', (context) => {
  // A small generator of its own (Lehmer), so that the share is the same on every run.
  let state = 20_261_120;
  const chance = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const day = (year: number) => `${Math.floor(year)}-0${1 + Math.floor(chance() * 9)}-1${Math.floor(chance() * 9)}`;
  let clean = 0;
  for (let index = 0; index < 2_000; index += 1) {
    const facts = factsFor(
      {
        eligible: chance() > 0.04,
        politicallyExposed: chance() < 0.015,
        alertCodes: chance() < 0.03 ? ['1', '2'] : [],
        birthDate: day(1958 + chance() * 50),
        admissionDate: day(2027 - Math.min(20, 0.3 - 4 * Math.log(1 - chance()))),
        requestedAmountCents: Math.round(380_000 * Math.exp(0.7 * (chance() + chance() + chance() - 1.5) * 2)),
      },
      chance() < 0.15 ? { employerStartDate: day(2026 - chance() * 30) } : null,
      Math.round(5_000 + chance() * 150_000),
    );
    if (reasonsFor(facts, plainOfferFacts).length === 0) clean += 1;
  }
  context.diagnostic(`figure: ${clean / 20} % of an ordinary population passes all shipped rules`);
  assert.ok(clean >= 1_200 && clean <= 1_900, String(clean));
});

function medianMicroseconds(run: (index: number) => unknown): number {
  const rounds = Array.from({ length: 15 }, () => {
    const started = performance.now();
    for (let index = 0; index < 4_000; index += 1) run(index);
    return (performance.now() - started) / 4;
  });
  return rounds.sort((left, right) => left - right)[7]!;
}

test('facts take a few microseconds, evaluation of the shipped rules less than 15', (context) => {
  const cases = [...Object.values(refusals).map((refusal) => refusal.facts), plainFacts, factsFor({}, {})];
  const link = sampleLink;
  const facts = medianMicroseconds((index) =>
    factsOf({ request: sampleRequest, link: index % 2 === 0 ? link : null, marginCents: 82_050, at }),
  );
  const request = medianMicroseconds((index) => evaluateRequest(ruleSet, cases[index % cases.length]!, at + index));
  const offer = medianMicroseconds((index) =>
    evaluateOffer(ruleSet, cases[index % cases.length]!, plainOfferFacts, at + index),
  );
  context.diagnostic(
    `figure: ${ruleSet.rules.length} rules: facts ${facts.toFixed(2)} µs, request ${request.toFixed(2)} µs, offer ${offer.toFixed(2)} µs`,
  );
  // Wide of the figures above, because test machines are shared.
  assert.ok(facts < 20 && request < 60 && offer < 20);
});

test('a file of rules that is gone is named before its tests are', () => {
  const without = files.filter(({ path }) => path !== 'caps.json');
  const result = compileRuleSet(without);
  assert.ok(result.kind === 'refused');
  const [first, ...rest] = result.faults;
  assert.deepEqual([first?.file, first?.line], ['caps.json', null]);
  assert.match(
    first!.text,
    /^This file is missing, and caps\.test\.json tests rules that no file has; put caps\.json back/,
  );
  assert.ok(
    rest.every(({ file }) => file === 'caps.test.json'),
    JSON.stringify(rest),
  );
});
