/**
 * What a source tells in a form that cannot be read, or in two ways that cannot both be so: such a fact is missing, whatever the other
 * source says of it.
 */
import type { LinkDetail, LinkField, LoanRequest, RequestField } from '../domain/request.ts';
import type { FactValue } from './facts.ts';

/** Facts that hang on a field that both sources may tell. */
const factsOfBoth = {
  availableMarginCents: ['margin.availableReais'],
  admissionDate: ['worker.tenureMonths', 'worker.admissionDate'],
  birthDate: ['worker.ageYears', 'worker.ageAtEndYears'],
  politicallyExposed: ['worker.politicallyExposed'],
  activityCode: ['employer.activityCode', 'employer.activityClass', 'employer.sector'],
  employerStartDate: ['employer.ageMonths', 'employer.startDate'],
} as const;

const alertFacts = ['alerts.count', 'alerts.codes'];

/** Facts that hang on a field of the link detail. */
const factsOfLink: Readonly<Record<LinkField, readonly string[]>> = {
  ...factsOfBoth,
  eligible: ['request.eligible', 'link.eligible'],
  ineligibilityCode: ['link.ineligibilityCode'],
  marginBaseCents: ['margin.baseReais'],
  totalEarningsCents: ['worker.totalEarningsReais'],
  terminationDate: ['worker.terminated'],
  workerCategoryCode: ['worker.categoryCode'],
  occupationCode: ['worker.occupationCode', 'worker.occupation'],
  activeLoans: ['worker.activeLoans'],
  alertCount: alertFacts,
};

/** Facts that hang on a field of the request. */
const factsOfRequest: Readonly<Record<RequestField, readonly string[]>> = {
  ...factsOfBoth,
  requestedAmountCents: ['request.amountReais'],
  requestedInstallments: ['request.installments', 'worker.ageAtEndYears'],
  eligible: ['request.eligible'],
  workerKey: ['worker.key'],
  employerId: ['employer.key', 'employer.rootKey'],
  employerIdType: ['employer.idType', 'employer.rootKey'],
  alertCodes: alertFacts,
  'guarantee.present': ['guarantee.present'],
  'guarantee.fgtsBalanceCents': ['guarantee.fgtsBalanceReais'],
  'guarantee.terminationFineCents': ['guarantee.terminationFineReais'],
  'guarantee.severancePercent': ['guarantee.severancePercent'],
};

/** A value that nothing unread could make worse stands. */
const worst: Readonly<Record<string, FactValue>> = {
  'request.eligible': false,
  'worker.politicallyExposed': true,
};

type Removed = {
  /** A value came that cannot be read. */
  unread: readonly string[];
  /** The link detail says two things that cannot both be so. */
  selfContradicted: readonly string[];
};

/** Names of the facts that are missing because of what a source says of them; they are removed from `facts`. */
export function removeUnread(
  facts: Record<string, FactValue | undefined>,
  request: Pick<LoanRequest, 'unread'>,
  link: Pick<LinkDetail, 'unread' | 'contradicted'> | null,
): Removed {
  const remove = (names: readonly string[]): readonly string[] => {
    const removed = names.filter((name) => facts[name] === undefined || facts[name] !== worst[name]);
    for (const name of removed) facts[name] = undefined;
    return removed;
  };
  const ofRequest = (request.unread ?? []).flatMap((field) => factsOfRequest[field] ?? []);
  const ofLink = (link?.unread ?? []).flatMap((field) => factsOfLink[field] ?? []);
  const unread = remove([...new Set([...ofRequest, ...ofLink])]);
  return { unread, selfContradicted: remove((link?.contradicted ?? []).flatMap((field) => factsOfLink[field] ?? [])) };
}
