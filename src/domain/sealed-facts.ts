/**
 * Facts of a request that are sealed with the worker's identity, because nobody knows beforehand what stands in them. Rules may
 * read them, so a decision puts them back; lists of requests and reports without the key do without.
 */
import type { ExtraValue, LoanRequest, WorkerIdentity } from './request.ts';
import type { Vault } from './vault.ts';

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
export function joinRequest(request: LoanRequest, opened: string, vault: Pick<Vault, 'pseudonym'>): LoanRequest {
  const { sealedGroups: _joined, ...clear } = request;
  return withExtraKeys({ ...clear, ...(JSON.parse(opened) as SealedRequest).facts }, vault);
}

/**
 * Keys of caps are stored in clear, in traces and views (those of segments hold only ranges, no text of `extra`). A text of
 * `extra` goes into them as a pseudonym, unless it is a code. A request of an earlier version, whose `extra` is stored in clear,
 * keeps the keys that it had.
 */
export function withExtraKeys(request: LoanRequest, vault: Pick<Vault, 'pseudonym'>): LoanRequest {
  let extraKeys: Record<string, string> | null = null;
  for (const name of Object.keys(request.extra)) {
    const value = request.extra[name]!;
    if (!mayNameSomebody(value)) continue;
    extraKeys ??= {};
    extraKeys[name] = vault.pseudonym(`extra:${value}`);
  }
  return extraKeys === null ? request : { ...request, extraKeys };
}

/** Whole numbers from here on may be those of a person. */
const longNumber = 1_000_000;

function mayNameSomebody(value: ExtraValue): boolean {
  return typeof value === 'string' ? !isCode(value) : typeof value === 'number' && Math.abs(value) >= longNumber;
}
