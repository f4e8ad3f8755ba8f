/** The policies of the simulated desk: small rule sets of its own, with limits that the checker knows by heart. */
import type { Policy } from '../../src/bidding/decide.ts';
import type { BiddingSettings } from '../../src/config/sections.ts';
import type { Offer } from '../../src/domain/offer.ts';
import type { Economics } from '../../src/domain/policy.ts';
import type { PricingSettings } from '../../src/pricing/settings.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { priorDistribution } from '../../src/pricing/win-curve.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';
import { encodeBid } from '../../src/wire/bid.ts';
import { sha256 } from './auction-house.ts';
import { windowMs } from './workload.ts';

/** What one rule set allows; the checker holds every bid to the set that was in force when it was decided. */
export type Limits = {
  leastRate: number;
  leastRateGuaranteed: number;
  highestRate: number;
  employerDayCents: number;
  /** In any two hours. */
  deskHoursCount: number;
  workerDayCount: number;
};

const wide: Limits = {
  leastRate: 195,
  leastRateGuaranteed: 180,
  highestRate: 450,
  employerDayCents: 3_500_000,
  deskHoursCount: 18,
  workerDayCount: 3,
};
/** The first one is in force when a history begins. */
const variants: readonly Limits[] = [
  wide,
  { ...wide, leastRate: 240, leastRateGuaranteed: 220, employerDayCents: 1_800_000, deskHoursCount: 10 },
  { ...wide, highestRate: 380, workerDayCount: 2, deskHoursCount: 14 },
];
export const marginBufferCents = 1;

const always = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };

function rule(name: string, conditions: object, event: object, more: object = {}): object {
  return { name, description: `${name}, for the simulation.`, conditions, event, ...more };
}

function cap(name: string, params: object): object {
  return rule(name, always, { type: 'cap', params: { name, ...params } });
}

const exposed = { all: [{ fact: 'worker.politicallyExposed', operator: 'equal', value: true }] };
const guaranteed = { all: [{ fact: 'guarantee.present', operator: 'equal', value: true }] };
const plain = { all: [{ fact: 'guarantee.present', operator: 'notEqual', value: true }] };

function rulesOf(limits: Limits, more: readonly object[]): object[] {
  return [
    rule('exposed', exposed, { type: 'pass', params: { code: 'politically-exposed', reason: 'decided by hand' } }),
    rule('rates', always, { type: 'limit', params: { maxRatePercent: limits.highestRate / 100 } }),
    rule('rates-plain', plain, { type: 'limit', params: { minRatePercent: limits.leastRate / 100 } }),
    rule('rates-guaranteed', guaranteed, {
      type: 'limit',
      params: { minRatePercent: limits.leastRateGuaranteed / 100 },
    }),
    rule('segments', always, {
      type: 'segment',
      params: { dimensions: ['guarantee.present', { fact: 'request.installments', cuts: [12, 24] }] },
    }),
    cap('employer-day', { keyFacts: ['employer.key'], window: 'day', maxAmountReais: limits.employerDayCents / 100 }),
    cap('worker-day', { keyFacts: ['worker.key'], window: 'day', maxCount: limits.workerDayCount }),
    cap('desk-hours', { keyFacts: [], window: { hours: 2 }, maxCount: limits.deskHoursCount }),
    ...more,
  ];
}

function compile(limits: Limits, more: readonly object[], files: readonly RuleFile[]): RuleSet {
  const compiled = compileRuleSet([
    { path: 'codes.json', text: JSON.stringify({ codes: { 'politically-exposed': 'Decided by hand.' } }) },
    { path: 'rules.json', text: JSON.stringify({ rules: rulesOf(limits, more) }) },
    ...files,
  ]);
  if (compiled.kind === 'refused') throw new Error(JSON.stringify(compiled.faults));
  return compiled.ruleSet;
}

/** Fixed here, so that a change of the configuration does not change what a seed plays. */
const economics: Economics = {
  fundingAnnualPercent: 13.75,
  separationMonthly: 0.035,
  neverStartedShare: 0.05,
  lossGivenSeparation: 0.25,
  guaranteeRecovery: 0.3,
  commissionPercent: 1,
  contractCostCents: 1_500,
  bidCostCents: 10,
  acceptanceCeiling: 0.9,
  acceptanceMidpointPercent: 4.5,
  acceptanceSlope: 1.5,
  acceptanceAmountElasticity: 0.25,
  acceptanceTermElasticity: 0.5,
  selectionWin: 0.3,
  selectionRate: 0.1,
};

const pricing: PricingSettings = {
  dayCount: 'actual365',
  rounding: 'once',
  iof: { daily: 0.000082, dayCap: 365, additional: 0.0038 },
  payrollCalendar: { cutoffDay: 20, monthsToFirstDue: 2, dueDayOfMonth: 7, businessDays: 'ignored' },
  fundingCurve: [],
  guaranteePledge: { fgtsBalanceShare: 0.1, terminationFineShare: 1 },
  insuranceCents: 0,
  maxInstallments: 96,
  marginBufferCents,
  minAmountShare: 0.5,
  acceptancePrior: { midpointDeviationPercent: 0.5, ceilingDeviation: 0.15 },
  winCurve: {
    priorWeight: 4,
    shrinkage: 16,
    smoothing: 1,
    prior: {
      quantiles: [
        { share: 0.1, rateHundredths: 214 },
        { share: 0.25, rateHundredths: 265 },
        { share: 0.5, rateHundredths: 332 },
        { share: 0.75, rateHundredths: 418 },
        { share: 0.9, rateHundredths: 608 },
      ],
      rivals: 4,
    },
  },
};

/** Days become minutes, so that a history ends. */
export const settings: BiddingSettings = {
  windowMs,
  skewAllowanceMs: 600,
  timeWitness: 'service',
  bidValidityMs: 240_000,
  graceMs: 30_000,
  resultTimeoutMs: 45_000,
  contemplationTimeoutMs: 40_000,
  queueLimit: 6,
  sendLimit: 3,
  batchEntries: 16,
  retryFirstMs: 100,
  retryMaxMs: 2_000,
  askWithoutAuthorisation: false,
  directQueriesPerDay: 0,
  askCached: true,
  marginWaitMs: 5_000,
  controlPollMs: 700,
  controlMaxAgeMs: 2_500,
  demandByHour: Array.from({ length: 24 }, () => 1),
  // No decay: every result weighs exactly one, so that the checker can count. Finite, for records are JSON.
  halfLifeMs: Number.MAX_VALUE,
};

export type RuleVariant = { limits: Limits; hash: string; source: string; policy: Policy };

export type RuleVariants = {
  all: readonly RuleVariant[];
  /** Throws for a hash that no variant has. */
  ofHash: (hash: string) => RuleVariant;
};

/** `more`: rules beside those of the simulation, for tests that play by hand. */
export function createRuleVariants(more: readonly object[] = [], files: readonly RuleFile[] = []): RuleVariants {
  const content = JSON.stringify({ bidding: settings, economics, pricing });
  const common = {
    economics,
    tables: createRateTables(pricing, 200),
    prior: priorDistribution(pricing.winCurve.prior),
    settingsHash: sha256(content),
  };
  const all = variants.map((limits): RuleVariant => {
    const ruleSet = compile(limits, more, files);
    const { hash, source } = ruleSet;
    const stored: Policy['stored'] = [
      { kind: 'rule-set', hash, content: source },
      { kind: 'settings', hash: sha256(content), content },
    ];
    return { limits, hash, source, policy: { ...common, ruleSet, stored } };
  });
  return {
    all,
    ofHash: (hash) => {
      const found = all.find((variant) => variant.hash === hash);
      if (found === undefined) throw new Error(`no rule set of the simulation has the hash ${hash}`);
      return found;
    },
  };
}

export function encode(requestId: string, offer: Offer): string {
  return encodeBid({ requestId, offer, contacts: [{ kind: 'url', value: 'https://example.com/oferta' }] });
}
