/** What a request and the detail of its link both may say: which of the two counts. */
import type { Day } from '../domain/glossary.ts';
import type { LinkDetail, LoanRequest } from '../domain/request.ts';
import { type Activity, activityOf, commonActivity } from './activity-codes.ts';

/**
 * `worse`: where the two differ, the worse one counts, and none where neither is plainly worse; what the rules come to is no better
 * than by the word of either. The others are as earlier programs decided: `worse-facts` by these facts alone, `worse-but-eligible` so too
 * and with the request's word on whether the worker is eligible, `request-first` with its word on all.
 */
export type Joining = 'worse' | 'worse-facts' | 'worse-but-eligible' | 'request-first';

export type Joined = {
  eligible: boolean | null;
  birthDate: Day | null;
  admissionDate: Day | null;
  politicallyExposed: boolean | null;
  activity: Activity;
  employerStartDate: Day | null;
  alertCount: number | null;
  alertCodes: readonly string[] | null;
  /** Facts that the two tell differently, whether the worse counts or none. */
  contradicted: readonly string[];
};

const none: readonly never[] = [];

export function joinSources(request: LoanRequest, link: LinkDetail | null, joining: Joining | 'link-first'): Joined {
  const joined: Joined = {
    eligible: request.eligible ?? link?.eligible ?? null,
    birthDate: request.birthDate ?? link?.birthDate ?? null,
    admissionDate: request.admissionDate ?? link?.admissionDate ?? null,
    politicallyExposed: request.politicallyExposed ?? link?.politicallyExposed ?? null,
    activity: activityOf(request.activityCode ?? link?.activityCode ?? null),
    employerStartDate: request.employerStartDate ?? link?.employerStartDate ?? null,
    alertCount: request.alertCodes?.length ?? link?.alertCount ?? null,
    alertCodes: request.alertCodes,
    contradicted: none,
  };
  if (link === null || joining === 'request-first') return joined;
  return joining === 'link-first' ? takeLink(joined, link) : takeWorse(joined, link, joining);
}

function takeLink(told: Joined, link: LinkDetail): Joined {
  return {
    eligible: link.eligible ?? told.eligible,
    birthDate: link.birthDate ?? told.birthDate,
    admissionDate: link.admissionDate ?? told.admissionDate,
    politicallyExposed: link.politicallyExposed ?? told.politicallyExposed,
    activity: link.activityCode === null ? told.activity : activityOf(link.activityCode),
    employerStartDate: link.employerStartDate ?? told.employerStartDate,
    alertCount: link.alertCount ?? told.alertCount,
    alertCodes: hasMoreAlerts(told, link) ? null : told.alertCodes,
    contradicted: none,
  };
}

/** The detail has alerts that the request does not name, and nobody knows their codes. */
function hasMoreAlerts(told: Joined, link: LinkDetail): boolean {
  return told.alertCount !== null && link.alertCount !== null && link.alertCount > told.alertCount;
}

/** `told`: what the request says; where it says nothing, what the link says, which then differs from nothing. */
function takeWorse(told: Joined, link: LinkDetail, joining: Joining): Joined {
  const contradicted: string[] = [];
  const joined = { ...told };
  const differs = <T>(one: T | null, other: T | null) => one !== null && other !== null && one !== other;
  if (joining !== 'worse-but-eligible' && differs(told.eligible, link.eligible)) {
    joined.eligible = false;
    contradicted.push('request.eligible');
  }
  if (differs(told.birthDate, link.birthDate)) {
    joined.birthDate = null;
    contradicted.push('worker.ageYears', 'worker.ageAtEndYears');
  }
  if (differs(told.admissionDate, link.admissionDate)) {
    joined.admissionDate = later(told.admissionDate!, link.admissionDate!);
    contradicted.push('worker.tenureMonths', 'worker.admissionDate');
  }
  if (differs(told.politicallyExposed, link.politicallyExposed)) {
    joined.politicallyExposed = true;
    contradicted.push('worker.politicallyExposed');
  }
  if (differs(told.employerStartDate, link.employerStartDate)) {
    joined.employerStartDate = later(told.employerStartDate!, link.employerStartDate!);
    contradicted.push('employer.ageMonths', 'employer.startDate');
  }
  if (differs(told.activity.code ?? null, link.activityCode)) {
    const activity = commonActivity(told.activity, activityOf(link.activityCode));
    joined.activity = activity;
    if (activity.code === undefined) contradicted.push('employer.activityCode');
    if (activity.class === undefined) contradicted.push('employer.activityClass');
    if (activity.sector === undefined) contradicted.push('employer.sector');
  }
  if (differs(told.alertCount, link.alertCount)) {
    joined.alertCount = Math.max(told.alertCount!, link.alertCount!);
    contradicted.push('alerts.count');
    if (hasMoreAlerts(told, link)) {
      joined.alertCodes = null;
      contradicted.push('alerts.codes');
    }
  }
  return contradicted.length === 0 ? told : { ...joined, contradicted };
}

/** Days compare as text. The later one is the worse: less time has passed since. */
function later(one: Day, other: Day): Day {
  return one > other ? one : other;
}
