/** A request and a link detail that every shipped rule is content with; tests change single fields of them. */
import type { LinkDetail, LoanRequest } from '../../src/domain/request.ts';
import { compileRuleSet, type RuleFile, type RuleSet } from '../../src/rules/rule-set.ts';

/** Friday, 20 November 2026, 09:00 in São Paulo. */
export const at = Date.parse('2026-11-20T12:00:00Z');

export const sampleRequest: LoanRequest = {
  requestId: '9007199254740993123',
  batchId: 'batch-1',
  receivedAt: at,
  closesAt: null,
  expiresAt: null,
  requestedAmountCents: 650_000,
  requestedInstallments: 24,
  availableMarginCents: 82_050,
  eligible: true,
  workerKey: 'worker-pseudonym',
  linkKey: 'link-pseudonym',
  employerId: '12ABC34501DE35',
  employerIdType: 1,
  birthDate: '1988-03-02',
  admissionDate: '2024-05-10',
  politicallyExposed: false,
  guarantee: { present: false, fgtsBalanceCents: 420_000, terminationFineCents: 168_000, severancePercent: 35 },
  alertCodes: [],
  authorisationNumber: '1',
  extra: {},
};

export const sampleLink: LinkDetail = {
  linkKey: 'link-pseudonym',
  workerKey: 'worker-pseudonym',
  receivedAt: at,
  eligible: true,
  ineligibilityCode: null,
  availableMarginCents: 82_050,
  marginBaseCents: 250_000,
  totalEarningsCents: 310_000,
  admissionDate: '2024-05-10',
  terminationDate: null,
  birthDate: '1988-03-02',
  workerCategoryCode: 101,
  politicallyExposed: false,
  occupationCode: 521_110,
  activityCode: 4_711_302,
  employerStartDate: '2010-01-01',
  activeLoans: 1,
  alertCount: 0,
};

export const codesFile: RuleFile = {
  path: 'codes.json',
  text: JSON.stringify({ codes: { 'too-young': 'Too young.', 'too-small': 'Too small.' } }),
};

export const always = { all: [{ fact: 'desk.always', operator: 'equal', value: true }] };

/** A rule as a file has it; `change` replaces single keys. */
export function ruleOf(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'Adults',
    description: 'Only adults may borrow.',
    conditions: { all: [{ fact: 'worker.ageYears', operator: 'lessThan', value: 18 }] },
    event: { type: 'pass', params: { code: 'too-young', reason: 'Younger than 18.' } },
    ...change,
  };
}

export function filesOf(rules: readonly unknown[]): RuleFile[] {
  return [codesFile, { path: 'rules.json', text: JSON.stringify({ rules }) }];
}

/** Compiles, or fails the test with the faults. */
export function compiled(rules: readonly unknown[]): RuleSet {
  return compiledFiles(filesOf(rules));
}

export function compiledFiles(files: readonly RuleFile[]): RuleSet {
  const result = compileRuleSet(files);
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.faults, null, 1));
  return result.ruleSet;
}
