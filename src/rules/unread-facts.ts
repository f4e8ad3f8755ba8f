/** What a source tells in a form that cannot be read: such a fact is missing, whatever the other source says of it. */
import type { LinkDetail, LinkField } from '../domain/request.ts';
import type { FactValue } from './facts.ts';

/** Facts that hang on a field of the link detail. */
const factsOfField: Readonly<Record<LinkField, readonly string[]>> = {
  eligible: ['request.eligible', 'link.eligible'],
  ineligibilityCode: ['link.ineligibilityCode'],
  availableMarginCents: ['margin.availableReais'],
  marginBaseCents: ['margin.baseReais'],
  totalEarningsCents: ['worker.totalEarningsReais'],
  admissionDate: ['worker.tenureMonths', 'worker.admissionDate'],
  terminationDate: ['worker.terminated'],
  birthDate: ['worker.ageYears', 'worker.ageAtEndYears'],
  workerCategoryCode: ['worker.categoryCode'],
  politicallyExposed: ['worker.politicallyExposed'],
  occupationCode: ['worker.occupationCode', 'worker.occupation'],
  activityCode: ['employer.activityCode', 'employer.activityClass', 'employer.sector'],
  employerStartDate: ['employer.ageMonths', 'employer.startDate'],
  activeLoans: ['worker.activeLoans'],
  alertCount: ['alerts.count', 'alerts.codes'],
};

/** A value that nothing unread could make worse stands. */
const worst: Readonly<Record<string, FactValue>> = {
  'request.eligible': false,
  'worker.politicallyExposed': true,
};

/** Names of the facts that are missing because what the link says of them cannot be read; they are removed from `facts`. */
export function removeUnread(facts: Record<string, FactValue | undefined>, link: LinkDetail | null): readonly string[] {
  const names = (link?.unread ?? []).flatMap((field) => factsOfField[field] ?? []);
  const removed = names.filter((name) => facts[name] === undefined || facts[name] !== worst[name]);
  for (const name of removed) facts[name] = undefined;
  return removed;
}
