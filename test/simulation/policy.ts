/** The policy of the simulated desk: a small rule set of its own, with limits that the checker knows by heart. */
import type { Policy } from '../../src/bidding/decide.ts';
import type { BiddingSettings } from '../../src/bidding/settings.ts';
import type { Offer } from '../../src/domain/offer.ts';
import type { Economics } from '../../src/domain/policy.ts';
import type { PricingSettings } from '../../src/pricing/settings.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { priorDistribution } from '../../src/pricing/win-curve.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { encodeBid } from '../../src/wire/bid.ts';
import { sha256 } from './auction-house.ts';
import { windowMs } from './workload.ts';

/** Lowest rate that the rules allow; the checker holds every bid to it. */
export const leastRate = 195;
export const leastRateGuaranteed = 180;
export const highestRate = 450;
export const marginBufferCents = 1;
export const employerDayCents = 3_500_000;
export const deskHoursCount = 18;
export const workerDayCount = 3;

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

const rules = [
  rule('exposed', exposed, { type: 'pass', params: { code: 'politically-exposed', reason: 'decided by hand' } }),
  rule('rates', always, { type: 'limit', params: { maxRatePercent: highestRate / 100 } }),
  rule('rates-plain', plain, { type: 'limit', params: { minRatePercent: leastRate / 100 } }),
  rule('rates-guaranteed', guaranteed, { type: 'limit', params: { minRatePercent: leastRateGuaranteed / 100 } }),
  rule('segments', always, {
    type: 'segment',
    params: { dimensions: ['guarantee.present', { fact: 'request.installments', cuts: [12, 24] }] },
  }),
  cap('employer-day', { keyFacts: ['employer.key'], window: 'day', maxAmountReais: employerDayCents / 100 }),
  cap('worker-day', { keyFacts: ['worker.key'], window: 'day', maxCount: workerDayCount }),
  cap('desk-hours', { keyFacts: [], window: { hours: 2 }, maxCount: deskHoursCount }),
];

const files = [
  { path: 'codes.json', text: JSON.stringify({ codes: { 'politically-exposed': 'Decided by hand.' } }) },
  { path: 'rules.json', text: JSON.stringify({ rules }) },
];

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
  // No decay: every result weighs exactly one, so that the checker can count.
  demandByHour: Array.from({ length: 24 }, () => 1),
  halfLifeMs: Number.POSITIVE_INFINITY,
};

export function createPolicy(): Policy {
  const compiled = compileRuleSet(files);
  if (compiled.kind === 'refused') throw new Error(JSON.stringify(compiled.faults));
  const content = JSON.stringify({ bidding: settings, economics, pricing });
  const { ruleSet } = compiled;
  return {
    ruleSet,
    economics,
    tables: createRateTables(pricing, 200),
    prior: priorDistribution(pricing.winCurve.prior),
    settingsHash: sha256(content),
    stored: [
      { kind: 'rule-set', hash: ruleSet.hash, content: ruleSet.source },
      { kind: 'settings', hash: sha256(content), content },
    ],
  };
}

export function encode(requestId: string, offer: Offer): string {
  return encodeBid({ requestId, offer, contacts: [{ kind: 'url', value: 'https://example.com/oferta' }] });
}
