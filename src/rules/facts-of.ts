/** Values of the facts, from a request, the detail of its employment link and an offer. Called for every decision. */
import { dayOf, hourOfDay } from '../domain/clock.ts';
import { companyRootOf } from '../domain/employer.ts';
import type { AmountCents, Day, EpochMs } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import type { LinkDetail, LoanRequest, RequestField } from '../domain/request.ts';
import {
  contradictedFacts,
  extraPrefix,
  type Facts,
  type FactValue,
  keysOfFacts,
  ledgerFacts,
  scorePrefix,
  selfContradictedFacts,
  unreadFacts,
} from './facts.ts';
import { type Joining, joinSources } from './two-sources.ts';
import { removeUnread } from './unread-facts.ts';

/** Six digits, leading zeros included. */
function occupationOf(code: number | null | undefined): string | undefined {
  return code === null || code === undefined || code > 999_999 ? undefined : String(code).padStart(6, '0');
}

/** Months since year 0 plus the day as a fraction of 32, so that whole months are a floor; null for what is no day. */
function monthsOf(day: Day | null): number | null {
  if (day?.length !== 10) return null;
  const year = Number(day.slice(0, 4));
  const month = Number(day.slice(5, 7));
  const dayOfMonth = Number(day.slice(8));
  const valid = year >= 1850 && month >= 1 && month <= 12 && dayOfMonth >= 1 && dayOfMonth <= 31;
  return valid ? year * 12 + month - 1 + dayOfMonth / 32 : null;
}

/** Whole months from a day to today; a day that is not understood or still to come says nothing. */
function monthsSince(day: Day | null, todayMonths: number): number | undefined {
  const months = monthsOf(day);
  if (months === null) return undefined;
  const between = Math.floor(todayMonths - months);
  return between >= 0 ? between : undefined;
}

function weekdayOf(day: Day): number {
  return new Date(`${day}T00:00:00Z`).getUTCDay() || 7;
}

let cachedDay = '';
let cachedMonths = 0;
let cachedWeekday = 0;

function rememberDay(day: Day): void {
  if (day === cachedDay) return;
  cachedMonths = monthsOf(day) ?? 0;
  cachedWeekday = weekdayOf(day);
  cachedDay = day;
}

function reais(cents: AmountCents | null | undefined): number | undefined {
  return cents === null || cents === undefined ? undefined : cents / 100;
}

/** A person's number is a CPF, which may not become a key: the link's pseudonym stands for that employer instead. */
export function employerKeyOf(request: LoanRequest): string | undefined {
  if (request.employerId === null) return undefined;
  const isLong = request.employerId.replace(/[^0-9A-Za-z]/g, '').length >= 12;
  const company = request.employerIdType === 1 || (request.employerIdType === null && isLong);
  return company ? request.employerId : (request.linkKey ?? request.workerKey ?? undefined);
}

/** A person has one place, known by its pseudonym. Of a number whose kind nobody told it is not sure that it is a person's. */
function employerRootKeyOf(request: LoanRequest): string | undefined {
  const { employerId, employerIdType } = request;
  if (employerId === null) return undefined;
  if (employerIdType === 2) return employerKeyOf(request);
  return companyRootOf({ employerId, employerIdType }) ?? undefined;
}

function idTypeOf(code: number | null): string | undefined {
  if (code === 1) return 'cnpj';
  return code === 2 ? 'cpf' : undefined;
}

/** It was told, in a form that cannot be read. */
function isUnread(request: LoanRequest, field: RequestField): boolean {
  return request.unread?.includes(field) ?? false;
}

export type FactSources = {
  request: LoanRequest;
  link: LinkDetail | null;
  /** The margin that the desk decides with; null: not known. */
  marginCents: AmountCents | null;
  /** Facts of the ledger by name; none where no rule looks at any. */
  ledger?: Readonly<Record<string, number>>;
  /** What counts where request and link detail differ; left out: the worse one. */
  joining?: Joining | 'link-first';
  at: EpochMs;
};

/**
 * What nobody says is undefined, never zero. All keys of the catalogue's request stage are always there, so that the
 * objects share one hidden class.
 */
export function factsOf({ request, link, marginCents, ledger, joining = 'worse', at }: FactSources): Facts {
  rememberDay(dayOf(at));
  const joined = joinSources(request, link, joining);
  const ageMonths = monthsSince(joined.birthDate, cachedMonths);
  const installments = request.requestedInstallments ?? undefined;
  const endMonths = ageMonths !== undefined && installments !== undefined ? ageMonths + installments : undefined;
  const { activity, employerStartDate, contradicted } = joined;
  const facts: Record<string, FactValue | undefined> = {
    'desk.always': true,
    'desk.weekday': cachedWeekday,
    'desk.date': cachedDay,
    'desk.hour': Math.floor(hourOfDay(at)),
    'request.amountReais': reais(request.requestedAmountCents),
    'request.installments': installments,
    'request.eligible': joined.eligible ?? undefined,
    'margin.availableReais': reais(marginCents),
    'margin.baseReais': reais(link?.marginBaseCents),
    'worker.key': request.workerKey ?? undefined,
    'worker.ageYears': ageMonths === undefined ? undefined : Math.floor(ageMonths / 12),
    'worker.ageAtEndYears': endMonths === undefined ? undefined : Math.floor(endMonths / 12),
    'worker.tenureMonths': monthsSince(joined.admissionDate, cachedMonths),
    'worker.admissionDate': joined.admissionDate ?? undefined,
    'worker.politicallyExposed': joined.politicallyExposed ?? undefined,
    'worker.occupationCode': link?.occupationCode ?? undefined,
    'worker.occupation': occupationOf(link?.occupationCode),
    'worker.categoryCode': link?.workerCategoryCode ?? undefined,
    'worker.activeLoans': link?.activeLoans ?? undefined,
    'worker.totalEarningsReais': reais(link?.totalEarningsCents),
    'worker.terminated': link === null ? undefined : link.terminationDate !== null,
    'link.present': link !== null,
    'link.eligible': link?.eligible ?? undefined,
    'link.ineligibilityCode': link?.ineligibilityCode ?? undefined,
    'employer.key': employerKeyOf(request),
    'employer.rootKey': employerRootKeyOf(request),
    'employer.idType': idTypeOf(request.employerIdType),
    'employer.ageStated': link !== null || employerStartDate !== null || isUnread(request, 'employerStartDate'),
    'employer.ageMonths': monthsSince(employerStartDate, cachedMonths),
    'employer.startDate': employerStartDate ?? undefined,
    'employer.activityCode': activity.code,
    'employer.activityClass': activity.class,
    'employer.sector': activity.sector,
    'alerts.count': joined.alertCount ?? undefined,
    'alerts.codes': joined.alertCodes ?? undefined,
    'guarantee.stated': request.guarantee.present !== null || isUnread(request, 'guarantee.present'),
    'guarantee.present': request.guarantee.present ?? undefined,
    'guarantee.fgtsBalanceReais': reais(request.guarantee.fgtsBalanceCents),
    'guarantee.terminationFineReais': reais(request.guarantee.terminationFineCents),
    'guarantee.severancePercent': request.guarantee.severancePercent ?? undefined,
  };
  const { unread, selfContradicted } = removeUnread(facts, request, link);
  if (ledger !== undefined) for (const name of ledgerFacts) facts[name] = ledger[name];
  if (request.scores !== undefined) {
    for (const name of Object.keys(request.scores)) facts[scorePrefix + name] = request.scores[name];
  }
  for (const key of Object.keys(request.extra)) facts[extraPrefix + key] = request.extra[key] ?? undefined;
  const joint = contradicted.length === 0 ? facts : { ...facts, [contradictedFacts]: contradicted };
  const read = unread.length === 0 ? joint : { ...joint, [unreadFacts]: unread };
  const told = selfContradicted.length === 0 ? read : { ...read, [selfContradictedFacts]: selfContradicted };
  if (request.extraKeys === undefined) return told;
  const keys = Object.entries(request.extraKeys).map(([key, stands]) => [extraPrefix + key, stands]);
  return { ...told, [keysOfFacts]: Object.fromEntries(keys) };
}

export type OfferSources = {
  offer: Pick<Offer, 'rateHundredths' | 'amountCents' | 'installments' | 'installmentCents' | 'cetAnnualHundredths'>;
  /** Value of the loan if it is released (V of the design). */
  expectedProfitCents: AmountCents;
  marginCents: AmountCents | null;
};

/** The facts that exist once an offer is priced. */
export function offerFactsOf({ offer, expectedProfitCents, marginCents }: OfferSources): Facts {
  const share = marginCents !== null && marginCents > 0 ? offer.installmentCents / marginCents : undefined;
  return {
    'offer.ratePercent': offer.rateHundredths / 100,
    'offer.amountReais': offer.amountCents / 100,
    'offer.installments': offer.installments,
    'offer.installmentReais': offer.installmentCents / 100,
    'offer.cetAnnualPercent': offer.cetAnnualHundredths / 100,
    'offer.expectedProfitReais': expectedProfitCents / 100,
    'offer.marginShare': share,
  };
}
