/** What is asked of flows, as those who ask say it, and what becomes of it in the records. Pure. */
import { createHash } from 'node:crypto';
import type { FlowKind, FlowTerms } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { AmountCents, Day, EpochMs, RateHundredths } from '../domain/glossary.ts';
import type { Via } from '../domain/roles.ts';
import type { Vault } from '../domain/vault.ts';
import { mayHoldCpf } from '../wire/hidden-cpf.ts';
import type { ContractRequest, RenegotiationRequest } from '../wire/worker-credit.ts';
import type { FlowStore } from './ports.ts';
import type { LinkAsk, StepRequests } from './preparation.ts';

/** The author and the idempotency key, as received. `via` absent: by a token or a log-in. */
export type Asker = { by: string; key: string; via?: Via };

/** A key is whatever a caller made of it: a row of digits may be somebody's CPF, an address somebody's. */
function mayBePersonal(key: string): boolean {
  return mayHoldCpf(key) || key.includes('@');
}

/** The key as it stands in records. One that may be personal goes by its pseudonym, which is the same each time. */
export function storedKey(vault: Vault, key: string): string {
  return mayBePersonal(key) ? vault.pseudonym(`key:${key}`) : key;
}

/** Whether a stored key is the one given, which is as `storedKey` gives it; earlier versions stored every key as it came. */
export function isSameKey(vault: Vault, stored: string | null, given: string): boolean {
  return stored === given || (stored !== null && storedKey(vault, stored) === given);
}

/** A stored key for those who may see it: earlier versions stored every key as it came. */
export function shownKey(stored: string): string {
  return mayBePersonal(stored) ? '(sealed)' : stored;
}

export type ContractAsked = {
  contract: ContractRequest;
  acceptedByWorker: boolean;
  /** Where the auction's request does not name the link. */
  link: LinkNamed | null;
  despiteEvents?: boolean;
  /** The author confirms that the terms are below those of the bid, as the worker wants. */
  despiteBid?: boolean;
};
type LinkNamed = {
  cpf: string;
  registration: string;
  employerId: string;
  employerIdType: number;
  authorisationNumber: string | null;
};
export type RenegotiationAsked = {
  renegotiation: RenegotiationRequest;
  /** Null: as the contract says that was made here. */
  originalRateHundredths: RateHundredths | null;
  /** Null: only the service knows, and checks it itself. */
  closedByTermination: boolean | null;
  openInstallments: number | null;
  pendingCharges: boolean | null;
  linkValid: boolean | null;
  estimatedInstallmentCents: AmountCents | null;
  authorisationNumber: string | null;
  despiteEvents?: boolean;
  /** The author confirms that the terms differ much from those of the loan that was closed. */
  despiteOriginal?: boolean;
};
export type WithdrawalAsked = {
  cpf: string;
  birthDate: Day | null;
  signerCpfs: readonly string[];
  /** Of a proposal that was made elsewhere; left out: it is made here. */
  proposalCode?: string;
  /** Whether it may be begun beside another of the same worker that has not ended. */
  alongside?: boolean;
};
/** `link` null: all links of the worker. `cached` null: as the settings say. */
export type LookupAsked = {
  cpf: string;
  link: Omit<LinkNamed, 'cpf' | 'authorisationNumber'> | null;
  authorisationNumber: string | null;
  cached: boolean | null;
  reason: string;
};

export type StepAsked =
  | {
      step: 'amend';
      contract?: Omit<ContractRequest, 'requestId'>;
      /** Without a rate it is that of the flow. */
      renegotiation?: { installments: number; rateHundredths?: RateHundredths | undefined };
      link?: Omit<LinkNamed, 'authorisationNumber'>;
      authorisationNumber?: string;
      /** As of the steps below: what is amended is sent once more. */
      despiteEvents?: boolean;
      /** As of the order of a contract. */
      despiteBid?: boolean;
      /** As of the order of a renegotiation. */
      despiteOriginal?: boolean;
    }
  /**
   * `despiteSimulation`: whoever asks knows that the amount is below what was simulated, and that the worker wants it so. `despitePayee`:
   * and that a split pays another person.
   */
  | { step: 'inclusion'; request: StepRequests['inclusion']; despiteSimulation?: boolean; despitePayee?: boolean }
  | { step: 'splits'; request: StepRequests['splits']; despitePayee?: boolean }
  /** `despiteEvents`: as of the steps below, where an endorsement was refused. */
  | { step: 'sign'; signedAt: EpochMs; content: Record<string, unknown>; despiteEvents?: boolean }
  /** `figures` and `late`: where both are to be taken, each is named. */
  | { step: 'accept'; reason: string; figures?: true; late?: true }
  /** `despiteEvents`: whoever asks knows that no event that waits tells of the operation. */
  | { step: 'cancel' | 'regenerate'; reason: string; despiteEvents?: boolean }
  /** `despiteRenegotiation`: whoever asks knows that the loan was not lent, although it was renegotiated here. */
  | { step: 'deny'; reason: string; despiteEvents?: boolean; despiteRenegotiation?: boolean }
  | { step: 'confirm'; reason: string; requestCode: string | null; despiteEvents?: boolean }
  | {
      [O in Exclude<keyof StepRequests, 'inclusion' | 'splits'>]: { step: O; request: StepRequests[O] };
    }[Exclude<keyof StepRequests, 'inclusion' | 'splits'>];

export function linkOf({ cpf, registration, employerId, employerIdType, authorisationNumber }: LinkNamed): LinkAsk {
  return { identity: { cpf, name: null, registration, employerId, employerIdType }, authorisationNumber };
}

/** Null: there is none, or not all of it is known. */
export function linkNamed(link: LinkAsk | null): Omit<LinkNamed, 'authorisationNumber'> | null {
  if (link === null) return null;
  const { cpf, registration, employerId, employerIdType } = link.identity;
  if (cpf === null || registration === null || employerId === null || employerIdType === null) return null;
  return { cpf, registration, employerId, employerIdType };
}

/** Of the order to renegotiate a contract that was made here. */
export const contractOfOtherText =
  'this contract was made here for another worker: correct cpf, or name a contract of this worker';

/** There is one contract of a won bid. */
export function contractId(requestId: string): string {
  return `c-${requestId}`;
}

export function renegotiationId(closedContract: string): string {
  const plain = /^[\w.-]{1,60}$/.test(closedContract);
  return plain ? `r-${closedContract}` : `r-${createHash('sha256').update(closedContract).digest('hex').slice(0, 24)}`;
}

/** The id of the flow about a request or a closed contract; null where ids say nothing of what the flow is about. */
function idAbout(flow: FlowKind, subject: string): string | null {
  if (flow === 'contract') return contractId(subject);
  return flow === 'renegotiation' ? renegotiationId(subject) : null;
}

/** What somebody may have meant by an id that no flow of the kind has: another kind, or the id of what it is about. */
export async function flowMeant(
  flows: Pick<FlowStore, 'read'>,
  flow: FlowKind,
  given: string,
): Promise<Pick<FlowState, 'flow' | 'flowId'> | null> {
  const about = idAbout(flow, given);
  const found = await flows.read(about === null ? [given] : [given, about]);
  return found.get(given) ?? (about === null ? undefined : found.get(about)) ?? null;
}

export function termsOf(contract: ContractRequest): FlowTerms {
  const { installments, rateHundredths } = contract;
  return {
    amountCents: contract.amountCents ?? null,
    installmentCents: contract.installmentCents ?? null,
    installments,
    rateHundredths,
    insuranceCents: contract.insuranceCents ?? null,
  };
}

export function renegotiationTerms(
  { installments, rateHundredths }: Pick<RenegotiationRequest, 'installments' | 'rateHundredths'>,
  installmentCents: AmountCents | null,
): FlowTerms {
  return { amountCents: null, installmentCents, installments, rateHundredths, insuranceCents: null };
}

/** JSON with sorted keys: the same order, however it was written. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`;
}
