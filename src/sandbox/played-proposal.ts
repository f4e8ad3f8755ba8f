/** What the sandbox keeps of a withdrawal-backed loan's proposal, its settings, and how a deed on it ends. */
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Simulation } from './withdrawal-world.ts';

export type WithdrawalSettings = {
  /** The same key and body again gets the first answer again, and nothing is done twice. */
  replays: boolean;
  /** The service has been set up for Finalizar. */
  finalisationEnabled: boolean;
  maxPeriods: number;
  leastReleasedCents: number;
  /** From inclusion to approval, from finalisation to the payment's start, and from there to the release. */
  approvalDelayMs: number;
  paymentDelayMs: number;
  releaseDelayMs: number;
};

export const defaultWithdrawals: WithdrawalSettings = {
  replays: true,
  finalisationEnabled: true,
  maxPeriods: 10,
  leastReleasedCents: 5_000,
  approvalDelayMs: 0,
  paymentDelayMs: 50,
  releaseDelayMs: 50,
};

/** Numbers of `Situacao` as the sandbox gives them: the contract names the states and shows no numbers. */
export const proposalSituations = {
  analysing: 1,
  approved: 2,
  finalized: 3,
  'pending-payment': 4,
  released: 5,
  cancelled: 9,
} as const;
export type ProposalState = keyof typeof proposalSituations;

export type PlayedProposal = {
  code: string;
  operationCode: string | null;
  number: number;
  noteNumber: string;
  cpf: string;
  ratePercent: number;
  simulation: Simulation;
  insuranceCents: AmountCents;
  includedAt: EpochMs;
  state: ProposalState;
  splits: JsonObject[];
  signers: JsonObject[];
  account: JsonObject;
};

export type Denial = { code: string; text: string; field: string };

/** `subject` null: nothing was changed, so doing it again is no harm. */
export type Deed =
  | { kind: 'done'; answer: JsonObject; subject: string | null }
  | { kind: 'denied'; denials: readonly Denial[] };

export function deny(code: string, text: string, field: string): Deed {
  return { kind: 'denied', denials: [{ code, text, field }] };
}
