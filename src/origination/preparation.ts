/**
 * From an order and where its flow stands to the bytes of the next operation, or to the rules that they would break. Pure: what
 * is sealed is opened by the caller.
 */
import assert from 'node:assert/strict';
import { isSurelyUnsent } from '../bidding/evolve.ts';
import { transitions as bidTransitions } from '../bidding/transitions.ts';
import type { FlowSettings } from '../config/sections.ts';
import { dayOf } from '../domain/clock.ts';
import type { ExpectedLoan, FlowBreach, FlowOperation } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { AmountCents, Day, EpochMs } from '../domain/glossary.ts';
import type { CreditNote } from '../domain/records.ts';
import type { WorkerIdentity } from '../domain/request.ts';
import type { RequestState } from '../domain/states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { type Preparation, validCpf } from '../wire/checks/breach.ts';
import {
  feeOfShare,
  prepareAccountUpdate,
  prepareFinalisation,
  prepareInclusion,
  prepareInstallments,
  prepareProposalQuery,
  prepareSigners,
  prepareSimulation,
  prepareSplits,
  type Simulated,
} from '../wire/checks/withdrawals.ts';
import {
  type MarginFact,
  prepareContract,
  prepareEndorsement,
  prepareRenegotiation,
  type RenegotiationFacts,
} from '../wire/checks/worker-credit.ts';
import { type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';
import { idempotencyKeyOf, type OperationName, operations } from '../wire/operations.ts';
import type {
  AccountUpdateRequest,
  FinalisationRequest,
  ProposalLocator,
  SignersRequest,
  SplitsRequest,
} from '../wire/proposals.ts';
import {
  type InclusionRequest,
  type InstallmentsRequest,
  type ProposalQueryRequest,
  periodsSimulated,
  proposalQueryOf,
  type SimulationAnswer,
  type SimulationRequest,
  simulationAnswer,
  simulationProblem,
} from '../wire/withdrawals.ts';
import type { ContractRequest, EndorsementRequest, RenegotiationRequest } from '../wire/worker-credit.ts';
import { expectedLoan, installmentReleasing, noteFactsOf } from './differences.ts';
import { successSettled, unsettledBefore } from './late-successes.ts';
import { doubtsOfProposal, finalisationFacts, noteDoubts, proposalStateOf } from './next-steps.ts';
import type { Addresses } from './ports.ts';
import { shownAmount } from './shown-flows.ts';
import { splitsTaken } from './shown-payments.ts';
import { mayTakeOver } from './steps.ts';

/** How the link is asked for its margin. */
export type LinkAsk = { identity: WorkerIdentity; authorisationNumber: string | null };

/** What the sealed part of a flow's start holds. */
export type ContractOrder = { contract: ContractRequest; acceptedByWorker: boolean; link: LinkAsk | null };
export type RenegotiationOrder = {
  renegotiation: RenegotiationRequest;
  original: Omit<RenegotiationFacts['original'], 'rateHundredths'>;
  linkValid: boolean | null;
  link: LinkAsk;
  /** The order named no estimate: from what of the closed loan it is reckoned. Absent: it named one, nothing is known, or an earlier version wrote it. */
  closedNote?: ClosedNote;
};
export type ClosedNote = Pick<CreditNote, 'loanCents' | 'installmentCents' | 'rateMonthlyPercent'>;
/** Without a registration all links of the worker are asked for. `cached` null: as the settings say. */
export type LookupOrder = { link: LinkAsk; cached: boolean | null; reason: string };
export type WithdrawalOrder = { cpf: string; birthDate: Day | null };

/** What the sealed part of a step holds; the proposal is located by the flow. */
export type StepRequests = {
  simulation: SimulationRequest;
  inclusion: InclusionRequest;
  proposal: ProposalQueryRequest;
  installments: Omit<InstallmentsRequest, 'proposalCode'>;
  splits: Omit<SplitsRequest, 'dto'>;
  signers: Omit<SignersRequest, 'dto'>;
  finalisation: Omit<FinalisationRequest, 'dto'>;
  /** `otherNames`: the service has names of its own for these fields; absent: those of the contract. */
  'account-update': Omit<AccountUpdateRequest, 'dto'> & { otherNames?: boolean };
};

type PreparationFacts = {
  now: EpochMs;
  margin: MarginFact | null;
  open: Vault['open'];
  pseudonym: (cpf: string) => string;
  /** Tells the bytes of an operation from all others, and nothing of what stands in them. */
  bodyKey: (body: string) => string;
  pricing: PricingSettings;
  settings: FlowSettings;
  /** Null: whoever asks does not know. */
  addresses: Addresses | null;
  /** Where the flow's bid stands; null: it has none, or nobody knows it any more. */
  bid: WonBid | null;
};

/** The bid failed, expired or was ended by a person: no contract is made of it, even if it was won before. */
export function isLost(phase: RequestState['phase']): boolean {
  return phase === 'winner-failed' || phase === 'cancelled' || phase === 'expired' || phase === 'lost';
}

type WonBid = Pick<RequestState, 'requestId' | 'phase' | 'pass' | 'answer'>;

/** Whether a contract may be ordered for it. */
export function isWonBid({ phase, winner }: Pick<RequestState, 'phase' | 'winner'>): boolean {
  return (winner !== null || phase === 'contemplated') && !isLost(phase);
}

/** Whether it may still be said to be won. */
export function mayBeContemplated(bid: WonBid): boolean {
  const cannotBe = bid.phase === 'lost' || isSurelyUnsent(bid);
  return !cannotBe && bidTransitions[bid.phase]['resolved-contemplated'] !== undefined;
}

/** What keeps contract and signature of such a bid back. */
export function notContemplated(bid: WonBid): FlowBreach {
  const { requestId, phase } = bid;
  if (!mayBeContemplated(bid)) {
    const problem = `the bid of this request is ${phase}, not contemplated: no contract can be ordered for it; look whether it is the request that you mean`;
    return { rule: 'bid-won', field: 'requestId', problem };
  }
  const problem = `the bid of this request is ${phase}, not contemplated; once you have seen that it is, say so on the machine of the desk: lance bids resolve ${requestId} --as contemplated --by NAME --reason TEXT`;
  return { rule: 'bid-won', field: 'requestId', problem };
}

const roots = {
  fgts: { variable: 'LANCE_FGTS_URL', path: '/FGTS' },
  proposal: { variable: 'LANCE_PROPOSAL_URL', path: '/Proposta' },
} as const;

/** Why an operation cannot be sent from here: its root has no address. Null: it has, or nobody here knows. */
export function addressMissing(operation: FlowOperation, addresses: Addresses | null): FlowBreach | null {
  const { root } = operations[operation];
  if (root === 'base' || addresses === null || addresses[root]) return null;
  const { variable, path } = roots[root];
  const problem = `it is not set: set ${variable} to the root under which ${path} stands, and start the desk again`;
  return { rule: 'address-set', field: variable, problem };
}

/** What was sealed here, every digit of its numbers kept: parts of it go to the service as they came. */
export function readStored(text: string): unknown {
  return readSealed(text, { exact: true });
}

/** `exact` is for what is carried on: an answer is read as it was where it came in. */
function readSealed(text: string, how: { exact?: true }): unknown {
  const read = parseJson(text, { maxBytes: Number.POSITIVE_INFINITY, maxDepth: deepestStored, ...how });
  assert.ok(read.kind === 'parsed', 'what was sealed as JSON is JSON');
  return read.value;
}

const deepestStored = 1_000;

/** `most`: of an inclusion; absent: it is none. */
type PreparedStep = {
  preparation: Preparation<OperationName>;
  expected: ExpectedLoan | null;
  most?: ExpectedLoan;
};

export function prepareOperation(
  state: FlowState,
  operation: FlowOperation,
  slot: string,
  facts: PreparationFacts,
): PreparedStep {
  const operationId = `${state.flowId}:${slot}`;
  const missing = addressMissing(operation, facts.addresses);
  if (missing !== null) return unpriced({ kind: 'withheld', breaches: [missing] });
  const late = unsettledBefore(state, operation);
  if (late !== null) return unpriced({ kind: 'withheld', breaches: [successSettled(late, mayTakeOver(state))] });
  // It may have been lost since somebody asked for this step.
  if (facts.bid !== null && isLost(facts.bid.phase))
    return unpriced({ kind: 'withheld', breaches: [notContemplated(facts.bid)] });
  switch (operation) {
    case 'contract':
      return contract(state, operationId, facts);
    case 'renegotiation':
      return renegotiation(state, operationId, facts);
    case 'endorsement':
      return unpriced(endorsement(state, operationId, facts));
    default: {
      const preparation = keyed(state, withdrawal(state, operation, operationId, facts), facts);
      return operation === 'inclusion'
        ? { preparation, ...expectedProposal(state, facts) }
        : { preparation, expected: null };
    }
  }
}

/**
 * The key follows from the operation, the log and the bytes: no other store has it, and where a store was set back it stands for the
 * same bytes or is another one. A flow that an earlier version began keeps the key that it had there: changed on the way it would
 * have something done twice.
 */
function keyed(
  { logId }: FlowState,
  preparation: Preparation<OperationName>,
  { bodyKey }: PreparationFacts,
): Preparation<OperationName> {
  if (logId === undefined || preparation.kind === 'withheld') return preparation;
  const { operationId, path, body } = preparation.prepared;
  const idempotencyKey = idempotencyKeyOf(path, `${operationId}\n${logId}\n${bodyKey(body)}`);
  return { kind: 'prepared', prepared: { ...preparation.prepared, idempotencyKey } };
}

function unpriced(preparation: Preparation<OperationName>): PreparedStep {
  return { preparation, expected: null };
}

function contract(state: FlowState, operationId: string, facts: PreparationFacts): PreparedStep {
  const order = readStored(facts.open(sealedPlaces.flowOrder(state.flowId), state.sealed!)) as ContractOrder;
  const expected = expectedLoan(state.terms!, facts.now, facts.pricing);
  const { amountLimitCents } = state.subject;
  const release =
    amountLimitCents === undefined
      ? null
      : {
          amountLimitCents,
          mostInstallmentCents: installmentReleasing(amountLimitCents, state.terms!, facts.now, facts.pricing),
        };
  const preparation = prepareContract(operationId, order.contract, {
    now: facts.now,
    bidRateHundredths: state.subject.rateLimitHundredths!,
    acceptedByWorker: order.acceptedByWorker,
    margin: facts.margin,
    workerKey: state.subject.workerKey,
    installmentCents: expected.installmentCents ?? 0,
    release,
  });
  return { preparation, expected };
}

function renegotiation(state: FlowState, operationId: string, facts: PreparationFacts): PreparedStep {
  const order = readStored(facts.open(sealedPlaces.flowOrder(state.flowId), state.sealed!)) as RenegotiationOrder;
  const preparation = prepareRenegotiation(operationId, order.renegotiation, {
    now: facts.now,
    original: { ...order.original, rateHundredths: state.subject.rateLimitHundredths! },
    link: { valid: order.linkValid, margin: facts.margin },
    workerKey: state.subject.workerKey,
    // What is reckoned here may be too much: the service holds its own instalment against the margin.
    installmentCents: order.closedNote === undefined ? state.terms!.installmentCents : null,
  });
  const { rateHundredths } = state.terms!;
  return { preparation, expected: { rateHundredths } };
}

function endorsement(state: FlowState, operationId: string, facts: PreparationFacts): Preparation<'endorsement'> {
  const { signature, note, generatedAt, subject } = state;
  const order = readStored(facts.open(sealedPlaces.flowOrder(state.flowId), state.sealed!)) as ContractOrder;
  const isWorker = (cpf: string) => facts.pseudonym(cpf) === subject.workerKey;
  const request: EndorsementRequest =
    signature === null
      ? { content: {} }
      : { content: readStored(facts.open(sealedPlaces.flowStep(state.flowId), signature.sealed)) as JsonObject };
  const isGiven = (code: string | null | undefined) => typeof code === 'string';
  const ownCodes = [note?.noteNumber, note?.proposalCode, state.proposal?.code, state.proposal?.number].filter(isGiven);
  return prepareEndorsement(operationId, request, {
    now: facts.now,
    generatedAt,
    noteReceived: note !== null,
    signedAt: signature?.signedAt ?? null,
    cutoffDay: facts.settings.cutoffDay,
    doubts: noteDoubts(state, facts.settings),
    ...noteFactsOf(state, facts.settings),
    ownCodes,
    contractCodes: note === null ? [] : [...ownCodes, state.requestCode].filter(isGiven),
    signer: subject.workerKey === null ? null : { isWorker, agentCpf: order.contract.agentCpf },
  });
}

function withdrawal(
  state: FlowState,
  operation: keyof StepRequests,
  operationId: string,
  facts: PreparationFacts,
): Preparation<OperationName> {
  const order = readStored(facts.open(sealedPlaces.flowOrder(state.flowId), state.sealed!)) as WithdrawalOrder;
  const read = <O extends keyof StepRequests>(_of: O) =>
    readStored(facts.open(sealedPlaces.flowStep(state.flowId), state.operation!.sealedRequest!)) as StepRequests[O];
  const { cpf, birthDate } = order;
  const dto: ProposalLocator = { proposalCode: state.proposalCode };
  const doubts = doubtsOfProposal(state, facts.settings, facts.open);
  // The service looks at the month of birth (contract, BuscarSimulacaoMultiPeriodo and IncluirProposta): what the order says goes along.
  const person = { cpf, ...(birthDate === null ? {} : { birthDay: birthDate }) };
  switch (operation) {
    case 'simulation':
      return prepareSimulation(operationId, { ...person, ...read(operation) }, { now: facts.now, birthDate });
    case 'inclusion': {
      const simulatedCpf = state.simulatedKey === facts.pseudonym(cpf) ? cpf : null;
      const simulated = valuesSimulated(state, cpf, facts.open);
      return prepareInclusion(
        operationId,
        { ...person, ...read(operation) },
        {
          ...{ now: facts.now, birthDate, simulatedCpf, simulated },
          insuranceLimitPercent: facts.settings.insuranceLimitPercent,
        },
      );
    }
    case 'proposal': {
      const asked = read(operation);
      const proposalCode = state.proposalCode ?? state.note?.proposalCode ?? state.proposal?.code ?? null;
      const named = Object.keys(asked.dto).length > 0 || proposalCode === null;
      return prepareProposalQuery(operationId, named ? asked : proposalQueryOf(proposalCode), { proposalCode });
    }
    case 'installments':
      return prepareInstallments(operationId, { ...read(operation), proposalCode: state.proposalCode });
    case 'splits':
      return prepareSplits(
        operationId,
        { ...read(operation), dto },
        {
          ...{ now: facts.now, includedAt: includedAt(state), doubts },
          ...{ loanCents: shownAmount(state, facts.open), splitCents: state.splitCents ?? 0 },
          earlier: splitsTaken(state, facts.open),
        },
      );
    case 'signers':
      return prepareSigners(
        operationId,
        { ...read(operation), dto },
        {
          now: facts.now,
          includedAt: includedAt(state),
          isOfOrder: (document) => state.subject.signerKeys.includes(facts.pseudonym(document)),
          doubts,
        },
      );
    case 'finalisation': {
      const known = finalisationFacts(state, facts.settings, facts.open);
      return prepareFinalisation(operationId, { ...read(operation), dto }, known);
    }
    case 'account-update': {
      const { otherNames = false, ...request } = read(operation);
      const proposalState = proposalStateOf(state, facts.settings);
      return prepareAccountUpdate(operationId, { ...request, dto }, { state: proposalState, cpf, otherNames });
    }
    default:
      return operation satisfies never;
  }
}

/**
 * What is said of the proposal should be what is included: what the order names, else what was simulated for its period. What cannot
 * be told to the cent comes to no more than `most`.
 */
function expectedProposal(
  state: FlowState,
  { open, now }: PreparationFacts,
): { expected: ExpectedLoan; most: ExpectedLoan } {
  const { cpf } = readStored(open(sealedPlaces.flowOrder(state.flowId), state.sealed!)) as WithdrawalOrder;
  const sealed = open(sealedPlaces.flowStep(state.flowId), state.operation!.sealedRequest!);
  const asked = readStored(sealed) as StepRequests['inclusion'];
  const simulated = valuesSimulated(state, cpf, open).get(asked.period ?? -1);
  const item = simulationsOf(state, cpf, open).find(({ period }) => period !== null && period === asked.period);
  const creditCents = asked.amountCents ?? simulated?.releasedCents ?? null;
  const rateHundredths = asked.rateHundredths ?? simulated?.rateHundredths ?? null;
  const isToday = state.results.simulation !== undefined && dayOf(state.results.simulation.at) === dayOf(now);
  const isAsSimulated = item !== undefined && isToday && isOrderedAs(asked, item, simulated!);
  const figures = {
    ...{ creditCents, rateHundredths, installments: asked.period ?? null, insuranceCents: asked.insuranceCents ?? 0 },
    ...{ feeCents: feeOrdered(asked, item), otherServicesCents: 0, foreignSplitCents: 0 },
    ...(item === undefined ? {} : { rateAnnualHundredths: hundredthsOf(item.rateAnnualPercent) }),
    ...(item?.otherCostsCents === 0 ? { otherCostsCents: 0 } : {}),
    ...(isAsSimulated ? figuresSimulated(item, simulated!) : {}),
  };
  const expected = withoutNull(figures);
  const most = item === undefined ? {} : withoutNull(mostSimulated(asked, item, simulated!));
  return { expected, most: Object.fromEntries(Object.entries(most).filter(([field]) => !(field in expected))) };
}

function withoutNull(figures: { readonly [field: string]: number | null }): ExpectedLoan {
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== null));
}

/** Null: the order leaves it to the service, or by a share that comes to none that was simulated. */
function feeOrdered(
  { feeCents = null, feePercent = null }: Pick<InclusionRequest, 'feeCents' | 'feePercent'>,
  item: SimulationItem | undefined,
): AmountCents | null {
  if (feePercent === null || feePercent === 0) return feePercent ?? feeCents;
  if (item === undefined || item.feeCents === null) return null;
  const bases = [item.releasedCents, item.customerLoanCents, item.operationCents];
  const isSimulated = bases.some(
    (cents) => cents !== null && Math.abs(feeOfShare(feePercent, cents) - item.feeCents!) <= 1,
  );
  return isSimulated ? item.feeCents : null;
}

/** A part of the loan that was simulated costs no more than all of it. Insurance is financed, and the tax and the debt grow with it. */
function mostSimulated(
  { insuranceCents, feePercent = null }: Pick<InclusionRequest, 'insuranceCents' | 'feePercent'>,
  item: SimulationItem,
  { transferCents = null, releasedCents }: Simulated,
) {
  const { operationCents, iofCents, additionalIofCents } = item;
  const loanCents = mostOf(operationCents, releasedCents);
  // Of what is released: so the tax on the insurance is in it.
  const base = releasedCents ?? operationCents;
  const share = base === null || base <= 0 ? 1 : 1 + (insuranceCents ?? 0) / base;
  const grown = (cents: AmountCents | null) => (cents === null ? null : Math.ceil(cents * share));
  const feeCents = feePercent === null || loanCents === null ? null : feeOfShare(feePercent, loanCents);
  return {
    financedCents: grown(operationCents),
    feeCents: item.feeCents ?? feeCents,
    iofCents: iofCents === null ? null : grown(iofCents + (additionalIofCents ?? 0)),
    totalDebtCents: grown(transferCents),
  };
}

/** Nothing in the order makes it another loan than was simulated. */
function isOrderedAs(
  asked: StepRequests['inclusion'],
  item: SimulationItem,
  { releasedCents, feeCents = null }: Simulated,
): boolean {
  const { amountCents = null, feePercent = null, insuranceCents = null, transfers = null } = asked;
  const isFeeLeft = (asked.feeCents ?? null) === null && feePercent === null;
  return (
    (amountCents === null || amountCents === releasedCents) &&
    (isFeeLeft || (feeCents !== null && feeOrdered(asked, item) === feeCents)) &&
    (insuranceCents ?? 0) === 0 &&
    (transfers ?? []).length === 0
  );
}

/**
 * What a simulation and a proposal both name. A day later interest and tax are others, so it is of the day of the inclusion alone. The
 * tax is the most that it may be.
 */
function figuresSimulated(item: SimulationItem, { transferCents = null }: Simulated) {
  const { iofCents, additionalIofCents } = item;
  return {
    financedCents: item.operationCents,
    feeCents: item.feeCents,
    iofCents: iofCents === null ? null : iofCents + (additionalIofCents ?? 0),
    otherCostsCents: item.otherCostsCents,
    totalDebtCents: transferCents,
    cetAnnualHundredths: hundredthsOf(item.cetAnnualPercent),
    cetMonthlyHundredths: hundredthsOf(item.cetMonthlyPercent),
  };
}

function hundredthsOf(percent: number | null): number | null {
  return percent === null ? null : Math.round(percent * 100);
}

/** At the earliest; null: the proposal was made elsewhere. */
function includedAt({ results, simulatedKey, startedAt }: FlowState): EpochMs | null {
  return results.inclusion?.at ?? (simulatedKey === null ? null : startedAt);
}

/**
 * By period; none where the last simulation was refused or failed, or cannot be of this worker, which earlier versions took. Whether
 * it was by the own balance is another rule's.
 */
function valuesSimulated(state: FlowState, cpf: string, open: Vault['open']): ReadonlyMap<number, Simulated> {
  const simulated = new Map<number, Simulated>();
  for (const each of simulationsOf(state, cpf, open)) {
    const { period, releasedCents, customerLoanCents, rateMonthlyPercent, feeCents, transfers } = each;
    const yearly = (transfers ?? []).map(({ transferCents }) => transferCents);
    const isSaid = yearly.length > 0 && yearly.every((cents) => cents !== null);
    if (period === null) continue;
    simulated.set(period, {
      releasedCents: mostOf(releasedCents, customerLoanCents),
      amountsCents: [releasedCents, customerLoanCents].filter((cents) => cents !== null),
      rateHundredths: rateMonthlyPercent === null ? null : Math.round(rateMonthlyPercent * 100),
      feeCents,
      transferCents: isSaid ? yearly.reduce((all: AmountCents, cents) => all + cents!, 0) : null,
    });
  }
  return simulated;
}

/** What an inclusion that is ordered comes to: what it names, else what was simulated for its period. Null: nobody knows. */
export function amountOrdered(state: FlowState, open: Vault['open']): AmountCents | null {
  const sealed = state.operation?.sealedRequest ?? null;
  if (state.operation?.operation !== 'inclusion' || sealed === null) return null;
  const asked = readStored(open(sealedPlaces.flowStep(state.flowId), sealed)) as StepRequests['inclusion'];
  if (asked.amountCents != null) return asked.amountCents;
  return valuesSimulated(state, workerOf(state, open), open).get(asked.period ?? -1)?.releasedCents ?? null;
}

/** What an inclusion is below: the worker gets less than was simulated for its period. The contract does not say which amount it asks for. */
export function belowSimulation(
  state: FlowState,
  { period, amountCents }: StepRequests['inclusion'],
  open: Vault['open'],
): readonly FlowBreach[] {
  const own = valuesSimulated(state, workerOf(state, open), open).get(period ?? -1);
  if (own === undefined || own.releasedCents === null || amountCents === null || amountCents === undefined) return [];
  if (amountCents >= own.releasedCents || own.amountsCents?.includes(amountCents)) return [];
  const problem = `the simulation of this period was ${own.releasedCents}, and this is ${amountCents}: send what was simulated, or, once you know that the worker wants less, send true in despiteSimulation`;
  return [{ rule: 'as-simulated', field: 'amountCents', problem }];
}

/** Splits by a Pix key that is the CPF of another person: a slip of typing, or of the list that it was taken from, looks the same. */
export function splitsToOthers(
  state: FlowState,
  splits: StepRequests['splits']['splits'],
  open: Vault['open'],
): readonly FlowBreach[] {
  const worker = workerOf(state, open);
  return (splits ?? []).flatMap(({ pixKey }, index): FlowBreach[] => {
    const key = pixKey?.key;
    if (key === undefined || key === worker || validCpf('key', key) !== null) return [];
    const problem =
      "this is the CPF of another person than the worker: send a Pix key of the worker's own, or, once you know that this person is to be paid, send true in despitePayee";
    return [{ rule: 'payee-other', field: `splits.${index}.pixKey.key`, problem }];
  });
}

/** What the service said last that the worker may withdraw; null: it did not. By a balance that was given it says nothing of the worker. */
export function withdrawableShown(state: FlowState, open: Vault['open']): AmountCents | null {
  const answer = state.simulatedKey === null ? null : simulationOf(state, workerOf(state, open), open);
  return answer?.withdrawableCents ?? null;
}

function workerOf({ flowId, sealed }: FlowState, open: Vault['open']): string {
  return (readStored(open(sealedPlaces.flowOrder(flowId), sealed!)) as WithdrawalOrder).cpf;
}

type SimulationItem = NonNullable<SimulationAnswer['simulations']>[number];

function simulationsOf(state: FlowState, cpf: string, open: Vault['open']): readonly SimulationItem[] {
  const answer = simulationOf(state, cpf, open);
  return answer === null ? [] : periodsSimulated(answer);
}

function simulationOf({ flowId, results }: FlowState, cpf: string, open: Vault['open']): SimulationAnswer | null {
  const sealed = results.simulation?.sealedAnswer;
  if (sealed == null || results.simulation?.refused === true) return null;
  const decoded = simulationAnswer.decode(readSealed(open(sealedPlaces.flowAnswer(flowId), sealed), {}) as JsonValue);
  return decoded.kind === 'refused' || simulationProblem(cpf, decoded.value) !== null ? null : decoded.value;
}

/** The contract does not say which of the two an inclusion asks for. */
function mostOf(one: AmountCents | null, other: AmountCents | null): AmountCents | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}
