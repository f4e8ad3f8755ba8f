/** Orders, steps and settings for tests of the flows. Names and numbers are made up. */
import { readFileSync } from 'node:fs';
import type { FlowSettings } from '../../src/config/sections.ts';
import type { FlowAsked, FlowStarted, FlowStep } from '../../src/domain/flow-records.ts';
import type { SealedPlace } from '../../src/domain/vault.ts';
import type { ContractOrder, RenegotiationOrder, WithdrawalOrder } from '../../src/origination/preparation.ts';
import type { PricingSettings } from '../../src/pricing/settings.ts';

const defaults = JSON.parse(readFileSync(new URL('../../config/default.json', import.meta.url), 'utf8'));
export const pricing: PricingSettings = defaults.pricing;

/** 3 March 2026, noon in São Paulo. */
export const startAt = Date.UTC(2026, 2, 3, 15);
export const dayMs = 86_400_000;

export const settings: FlowSettings = {
  cutoffDay: 20,
  pollMs: 1_000,
  marginRetryMs: 60_000,
  askCached: true,
  noteTimeoutMs: 600_000,
  retryMs: 1_000,
  retryMaxMs: 8_000,
  keyedAttempts: 3,
  competenceLookMs: 3_600_000,
  noteTolerance: 2,
  insuranceLimitPercent: 10,
  stepsKept: 50,
  finalisationEnabled: true,
  situations: [
    { code: 1, state: 'approved' },
    { code: 2, state: 'finalized' },
    { code: 5, state: 'released' },
  ],
};

const workerCpf = '52998224725';
const agentCpf = '11144477735';
const account = {
  accountType: 2,
  branch: '0001',
  branchDigit: '9',
  account: '123456',
  accountDigit: '7',
  bankNumber: '341',
};
const identity = {
  cpf: workerCpf,
  name: null,
  registration: 'M-77',
  employerId: '12ABC34501DE35',
  employerIdType: 1,
};
export const link = { identity, authorisationNumber: '880011' };

/** What a test leaves as it is costs about 500 reais a month; the margins of the tests are 1 000. */
export const goodTerms = {
  amountCents: 1_000_000,
  installmentCents: null,
  installments: 36,
  rateHundredths: 250,
  insuranceCents: null,
};
export type Terms = FlowStarted['terms'] & object;

/** Seals nothing: tests look into it. */
export const plainVault = {
  seal: (_place: SealedPlace | null, text: string) => text,
  open: (_place: SealedPlace | null, sealed: string) => sealed,
  pseudonym: (text: string) => `p(${text})`,
};

export function contractOrder(terms: Terms, policyNumber: string | null = 'AP-1'): ContractOrder {
  const { amountCents, installmentCents, installments, rateHundredths, insuranceCents } = terms;
  const values = { amountCents, installmentCents, installments, rateHundredths, insuranceCents };
  return {
    contract: { requestId: '374', ...values, policyNumber, agentCpf, account },
    acceptedByWorker: true,
    link,
  };
}

function renegotiationOrder(terms: Terms): RenegotiationOrder {
  const { installments, rateHundredths } = terms;
  const { cpf, registration, employerId, employerIdType } = identity;
  return {
    renegotiation: {
      closedContract: '9001',
      ...{ cpf, registration, employerId, employerIdType, agentCpf, contractType: 'R', installments, rateHundredths },
    },
    original: { cpf, closedByTermination: null, openInstallments: null, pendingCharges: null },
    linkValid: null,
    link,
  };
}

const withdrawalOrder: WithdrawalOrder = { cpf: workerCpf, birthDate: '1990-05-17' };
export const workerKey = plainVault.pseudonym(workerCpf);

const subjects = {
  contract: { flowId: 'c-374', requestId: '374', rateLimitHundredths: 300, closedContract: null, signerKeys: [] },
  renegotiation: {
    flowId: 'r-9001',
    requestId: null,
    rateLimitHundredths: 498,
    closedContract: '9001',
    signerKeys: [],
  },
  withdrawal: {
    flowId: 'w-1',
    requestId: null,
    rateLimitHundredths: null,
    closedContract: null,
    signerKeys: [workerKey],
  },
};

export function started(
  flow: Exclude<FlowStarted['flow'], 'lookup'>,
  terms: Terms = goodTerms,
  at = startAt,
): FlowStarted {
  const { flowId, ...subject } = subjects[flow];
  const orders = {
    contract: contractOrder(terms),
    renegotiation: renegotiationOrder(terms),
    withdrawal: withdrawalOrder,
  };
  return {
    ...{ kind: 'started', flowId, at, flow, by: 'ana', key: 'start', requestHash: 'h' },
    subject: { ...subject, workerKey, linkKey: 'l' },
    terms: flow === 'withdrawal' ? null : terms,
    sealed: plainVault.seal(null, JSON.stringify(orders[flow])),
  };
}

export function asked(
  flowId: string,
  step: FlowStep,
  stepId: string,
  at: number,
  more: { request?: object; terms?: Terms; requestCode?: string | null; signedAt?: number; personKeys?: string[] } = {},
): FlowAsked {
  const { request, terms = null, requestCode = null, signedAt = null, personKeys = [] } = more;
  const sealed = request === undefined ? null : plainVault.seal(null, JSON.stringify(request));
  return {
    ...{ kind: 'asked', flowId, at, stepId, by: 'ana', step, requestHash: stepId },
    ...{ terms, signedAt, requestCode, personKeys, reason: null, sealed },
  };
}

export const stepRequests = {
  simulation: { birthDay: '1990-05-17', cached: true },
  inclusion: {
    period: 3,
    birthDay: '1990-05-17',
    account: { ...account, holderCpf: workerCpf, holderName: 'Trabalhadora Exemplo' },
  },
  splits: { splits: [{ amountCents: 1_000, fieldId: 'A', pixKey: { key: workerCpf } }] },
  signers: { signers: [{ name: 'Trabalhadora Exemplo', document: workerCpf, signedAt: startAt, ip: '203.0.113.9' }] },
  finalisation: {},
  proposal: { dto: {} },
  installments: { installments: 3, asOf: '2026-03-10' },
  'account-update': { extra: { conta: '1' } },
} as const;
