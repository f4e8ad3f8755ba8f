/**
 * Facts of a request that are sealed with the worker's identity, because nobody knows beforehand what stands in them. Rules may
 * read them, so a decision puts them back; lists of requests and reports without the key do without.
 */
import type { LoanRequest, WorkerIdentity } from './request.ts';

export type SealedGroup = 'extra' | 'alerts';

type SealedFacts = Partial<Pick<LoanRequest, 'extra' | 'alertCodes'>>;

/** What the `sealed` of a requested record holds beside the raw element; earlier versions wrote no `facts`. */
export type SealedRequest = { identity: WorkerIdentity; facts?: SealedFacts };

/** Digits, with a few letters before them, or two letters. Whatever else stands where a code should be may be a text about somebody. */
const codePattern = /^(?:[A-Za-z]{0,6}[-_.]?\d{1,6}|[A-Z]{1,2})$/;

export function isCode(text: string): boolean {
  return codePattern.test(text);
}

/** A request as it is stored in clear, and its facts that are stored sealed; null: none. */
export function splitRequest(request: LoanRequest): { clear: LoanRequest; facts: SealedFacts | null } {
  const { extra, alertCodes } = request;
  const facts: { -readonly [F in keyof SealedFacts]: SealedFacts[F] } = {};
  const sealedGroups: SealedGroup[] = [];
  if (Object.keys(extra).length > 0) {
    sealedGroups.push('extra');
    facts.extra = extra;
  }
  if (alertCodes?.every(isCode) === false) {
    sealedGroups.push('alerts');
    facts.alertCodes = alertCodes;
  }
  if (sealedGroups.length === 0) return { clear: request, facts: null };
  const shownCodes = facts.alertCodes === undefined ? alertCodes : null;
  return { clear: { ...request, extra: {}, alertCodes: shownCodes, sealedGroups }, facts };
}

/** Whether facts of one of the groups are missing from the request because they are sealed. */
export function lacksSealed({ sealedGroups }: LoanRequest, groups: ReadonlySet<SealedGroup>): boolean {
  return sealedGroups?.some((group) => groups.has(group)) ?? false;
}

/** The request as it came in; `opened` is what its record's sealed part holds. */
export function joinRequest(request: LoanRequest, opened: string): LoanRequest {
  const { sealedGroups: _joined, ...clear } = request;
  return { ...clear, ...(JSON.parse(opened) as SealedRequest).facts };
}
