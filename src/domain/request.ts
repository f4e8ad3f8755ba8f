/** A loan request as the desk knows it: parsed facts only. Who the worker is stays sealed. */
import type { AmountCents, Day, EpochMs, RequestId } from './glossary.ts';
import type { SealedGroup } from './sealed-facts.ts';

export type ExtraValue = string | number | boolean | null;

/** `null` means that the request did not say; it never means zero. */
type Guarantee = {
  present: boolean | null;
  fgtsBalanceCents: AmountCents | null;
  terminationFineCents: AmountCents | null;
  severancePercent: number | null;
};

export type LoanRequest = {
  requestId: RequestId;
  batchId: string | null;
  /** First receipt at the door; deadlines count from here when the request carries none. */
  receivedAt: EpochMs;
  closesAt: EpochMs | null;
  expiresAt: EpochMs | null;
  requestedAmountCents: AmountCents | null;
  requestedInstallments: number | null;
  availableMarginCents: AmountCents | null;
  eligible: boolean | null;
  /** HMAC of the CPF. */
  workerKey: string | null;
  /** HMAC of CPF, registration and employer: the key of the margin cache. */
  linkKey: string | null;
  /** Exactly as received, letters included; a pseudonym where the employer may be a person. */
  employerId: string | null;
  /** 1 = CNPJ, 2 = CPF. */
  employerIdType: number | null;
  birthDate: Day | null;
  admissionDate: Day | null;
  politicallyExposed: boolean | null;
  /** CNAE code of the employer; requests seldom say it, the link detail does. */
  activityCode?: number | null;
  employerStartDate?: Day | null;
  guarantee: Guarantee;
  /** Codes of the alerts; an empty list says that there are none, null that the request did not say. */
  alertCodes: readonly string[] | null;
  /** Scores that the mapping names, by that name. */
  scores?: Readonly<Record<string, number>>;
  /** Sequential number of the worker's digital authorisation. */
  authorisationNumber: string | null;
  /** Keys that nobody mapped, flattened with dots, personal ones left out. */
  extra: Readonly<Record<string, ExtraValue>>;
  /** What stands for a text of `extra` in a key, by its name; never stored, made when the facts are put back. */
  extraKeys?: Readonly<Record<string, string>>;
  /** Facts that are sealed beside the request and empty in it; absent: none. */
  sealedGroups?: readonly SealedGroup[];
  /** What came in a form that cannot be read; it is null. Absent: none, or an earlier version wrote it. */
  unread?: readonly RequestField[];
};

/** What a request may say beside who and when, by the names above. */
export type RequestField =
  | Exclude<
      keyof LoanRequest,
      | 'requestId'
      | 'batchId'
      | 'receivedAt'
      | 'closesAt'
      | 'expiresAt'
      | 'linkKey'
      | 'authorisationNumber'
      | 'guarantee'
      | 'scores'
      | 'extra'
      | 'extraKeys'
      | 'sealedGroups'
      | 'unread'
    >
  | `guarantee.${keyof Guarantee}`;

/** What only the sealed part of a record holds, in clear while a link query is written. */
export type WorkerIdentity = {
  cpf: string | null;
  name: string | null;
  registration: string | null;
  employerId: string | null;
  employerIdType: number | null;
};

/** Detail of one employment link, from the link-detail callback. Valid for 24 h (contract, Limits). */
export type LinkDetail = {
  linkKey: string;
  workerKey: string;
  receivedAt: EpochMs;
  eligible: boolean | null;
  ineligibilityCode: number | null;
  availableMarginCents: AmountCents | null;
  marginBaseCents: AmountCents | null;
  totalEarningsCents: AmountCents | null;
  admissionDate: Day | null;
  terminationDate: Day | null;
  birthDate: Day | null;
  workerCategoryCode: number | null;
  politicallyExposed: boolean | null;
  occupationCode: number | null;
  activityCode: number | null;
  employerStartDate: Day | null;
  activeLoans: number | null;
  alertCount: number | null;
  /** Fields that the service told in a form that cannot be read; they are null. Absent: none, or an earlier version wrote it. */
  unread?: readonly LinkField[];
  /** Fields of which it says two things that cannot both be so; they are null. Absent: none, or an earlier version wrote it. */
  contradicted?: readonly LinkField[];
};

/** What the detail says of a link, by the names above. */
export type LinkField = Exclude<keyof LinkDetail, 'linkKey' | 'workerKey' | 'receivedAt' | 'unread' | 'contradicted'>;

/** `otherLinkKey`: where the employer's number can be read as a root and as a whole CNPJ, the link of the second reading; absent: one reading. */
export type DetailOfLink = { detail: LinkDetail; otherLinkKey?: string };

/** The detail under each key that its link may have been asked about. */
export function detailsByKey({ detail, otherLinkKey }: DetailOfLink): readonly LinkDetail[] {
  return otherLinkKey === undefined ? [detail] : [detail, { ...detail, linkKey: otherLinkKey }];
}

/** One row of the link-list callback; the registration is sealed with the worker's identity. */
export type Link = {
  linkKey: string;
  eligible: boolean | null;
  employerId: string | null;
  employerIdType: number | null;
  sealedIdentity: string;
};
