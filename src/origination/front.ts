/**
 * What people and programs ask of flows: begun once, however often it is asked; each step checked against the fold and the
 * contract before it is written. The API and the command line stand on this.
 */

import { createHash } from 'node:crypto';
import { unreadClaimId } from '../bidding/evolve.ts';
import type { EventLog, MarginCache, NewEntry } from '../bidding/ports.ts';
import { isKnown } from '../bidding/rule-book.ts';
import { sleep } from '../bidding/sleep.ts';
import type { FlowSettings } from '../config/sections.ts';
import type { Clock } from '../domain/clock.ts';
import type { FlowAsked, FlowBreach, FlowStarted, FlowStep, FlowSubject, FlowTerms } from '../domain/flow-records.ts';
import type { FlowState, LateSuccess } from '../domain/flow-states.ts';
import type { AmountCents, EpochMs, RateHundredths } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import type { WorkerIdentity } from '../domain/request.ts';
import { canonicalCode, guidOf, isSameCode, spellingsOf } from '../domain/request-codes.ts';
import type { Claim, RequestState } from '../domain/states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { type Check, employerFormed, isOfOtherUnit, registrationFormed, validCpf } from '../wire/checks/breach.ts';
import { bornAsAdult } from '../wire/checks/withdrawals.ts';
import {
  competenceOf,
  noteField,
  noteWithinBid,
  proposalField,
  releaseWithinBid,
} from '../wire/checks/worker-credit.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { bodyKeyOf, linkKeyOf, workerKeyOf } from '../wire/identity.ts';
import { type JsonObject, scalarsIn } from '../wire/json.ts';
import { namesWithin } from '../wire/names-within.ts';
import { isId, namesNothing } from '../wire/plain-ids.ts';
import type { ContractRequest, RenegotiationRequest } from '../wire/worker-credit.ts';
import {
  expectedLoan,
  installmentReleasing,
  noteFactsOf,
  noteRateAtMost,
  renegotiationEstimate,
} from './differences.ts';
import { eventsOfNobody, expectedNote, isOfOtherLoan } from './events-of-nobody.ts';
import { eventPrefix, evolve, proposalIndex } from './evolve.ts';
import {
  denialOf,
  lateSuccessOf,
  maySettle,
  standingForLoan,
  successSettled,
  unsettledBefore,
} from './late-successes.ts';
import { keyIndex, workerIndex } from './ledger.ts';
import { type ShownBids, withLostBids } from './lost-bids.ts';
import { barriersTo, isReleased, isUnpaid, kindsToAccept, nextSteps, ownDoubts } from './next-steps.ts';
import { holdersOf, noteIndex, noteProposalIndex, notesToldAgain, stillHolds, unreadMark } from './notes.ts';
import {
  type Asker,
  type ContractAsked,
  canonical,
  contractId,
  contractOfOtherText,
  isSameKey,
  type LookupAsked,
  linkNamed,
  linkOf,
  type RenegotiationAsked,
  renegotiationId,
  renegotiationTerms,
  type StepAsked,
  storedKey,
  termsOf,
  type WithdrawalAsked,
} from './orders.ts';
import { leftOpen } from './placeholders.ts';
import type { Addresses, FlowStore } from './ports.ts';
import {
  addressMissing,
  belowSimulation,
  type ContractOrder,
  isLost,
  isWonBid,
  type LinkAsk,
  type LookupOrder,
  notContemplated,
  prepareOperation,
  type RenegotiationOrder,
  readStored,
  splitsToOthers,
  type WithdrawalOrder,
} from './preparation.ts';
import { react } from './react.ts';
import { barsRenegotiated, renegotiatedBy, renegotiationOf } from './renegotiations-beside.ts';
import {
  allowsStep,
  bindsLender,
  generatesUnseen,
  goesOnAsItIs,
  isBusy,
  isCancelledUnseen,
  isNoteAwaited,
  isProposalConfirmed,
  isShownDone,
  isShownEndorsed,
  isUnseen,
  lendsAgain,
  mayCorrect,
  mayDenyAwaited,
  mayDenyContradicted,
  mayTakeBack,
  mayTakeOver,
  needsCode,
  noteLateAt,
} from './steps.ts';
import { isFinished } from './transitions.ts';
import { termsOfEarlier, type UnfoldedFlows } from './unfolded.ts';
import { beyondBalance, withdrawalsOfWorker } from './withdrawals-beside.ts';

export type FrontResult =
  /** `known`: it had been asked before, under the same key. */
  | { kind: 'taken' | 'known'; state: FlowState }
  | {
      kind: 'refused';
      problem: 'not-found' | 'conflict' | 'not-allowed' | 'breach';
      breaches: readonly FlowBreach[];
    }
  /** It is in the log, and no desk has taken it up in time: asked again with the same key it says what became of it. */
  | { kind: 'written'; flowId: string };

/** Nothing of it is written: what a start would send, and what is known of the loan that was closed; null: not known. */
type RenegotiationPreview = { kind: 'startable'; terms: FlowTerms; closed: OriginalTerms };

export type FlowFront = {
  startContract: (asker: Asker, asked: ContractAsked) => Promise<FrontResult>;
  startRenegotiation: (asker: Asker, asked: RenegotiationAsked) => Promise<FrontResult>;
  /** Makes every check of `startRenegotiation`. */
  previewRenegotiation: (asker: Asker, asked: RenegotiationAsked) => Promise<FrontResult | RenegotiationPreview>;
  startWithdrawal: (asker: Asker, asked: WithdrawalAsked) => Promise<FrontResult>;
  startLookup: (asker: Asker, asked: LookupAsked) => Promise<FrontResult>;
  ask: (flowId: string, asker: Asker, asked: StepAsked) => Promise<FrontResult>;
};

type FrontWorld = {
  append: (entries: readonly NewEntry[]) => Promise<void>;
  log: Pick<EventLog, 'readKey'>;
  /** The id of the log, which has one from then on. */
  logId: () => Promise<string>;
  flows: Pick<FlowStore, 'read' | 'findByCode' | 'query'>;
  views: ShownBids;
  margins: Pick<MarginCache, 'read'> | null;
  vault: Vault;
  clock: Clock;
  /** What no row holds yet, where no desk may be running. Null: a desk runs, and rows follow at once. */
  unfolded: UnfoldedFlows | null;
  settings: FlowSettings;
  pricing: PricingSettings;
  /** Null: this process does not know; the desk refuses then. */
  addresses: Addresses | null;
};

type OrderOfFlow = {
  subject: FlowSubject;
  terms: FlowTerms | null;
  sealed: object;
  asked: unknown;
  proposalCode?: string;
  /** Of rules that only the order can break. */
  breaches?: readonly FlowBreach[];
};

/** The field of an order that says which flow it begins. */
const namingField = {
  contract: 'requestId',
  renegotiation: 'closedContract',
  withdrawal: 'proposalCode',
  lookup: 'Idempotency-Key',
} as const satisfies Record<FlowStarted['flow'], string>;

const foldTimeoutMs = 3_000;
const pollMs = 15;

/** Nobody lent at less a month: of a contract made elsewhere nothing else shows that its rate was typed in percent. */
const leastOriginalRateHundredths: RateHundredths = 10;

/** Of the flows of one worker, the latest that are looked at. */
const mostOfWorker = 50;

/** Fields of an order are fewer and shorter. */
const mayBeOrder = { longest: 2_000, most: 100 };
/** Numbers and codes are shorter than any biometrics. */
const mayBeProposal = { longest: 128, most: 1_000 };

function refusal(
  problem: Extract<FrontResult, { kind: 'refused' }>['problem'],
  rule: string,
  field: string,
  text: string,
): FrontResult {
  return { kind: 'refused', problem, breaches: [{ rule, field, problem: text }] };
}

function notFilledIn(asked: object): FrontResult | null {
  const breaches = leftOpen(asked);
  return breaches.length === 0 ? null : { kind: 'refused', problem: 'breach', breaches };
}

function bidNotWon(won: RequestState): FrontResult {
  return { kind: 'refused', problem: 'not-allowed', breaches: [notContemplated(won)] };
}

/** Of one that is finalised the money may be still to come, or sent back. */
function withdrawalUnpaid(flowId: string): FrontResult {
  const text = `this worker has a withdrawal that is finalised and that the service has not said to be paid: ${flowId}; ask for it with the step proposal, which says whether it is released (setting flows.situations) or has ended, or send true in alongside for another beside it`;
  return refusal('conflict', 'withdrawal-unpaid', 'alongside', text);
}

function withdrawalLive(flowId: string, possible: readonly FlowStep[]): FrontResult {
  const steps = possible.join(', ');
  const text = possible.includes('cancel')
    ? `this worker has a withdrawal under way already: ${flowId}; go on with it or cancel it, or send true in alongside for another beside it`
    : possible.length > 0
      ? `this worker has a withdrawal under way already: ${flowId}; go on with it (it cannot be cancelled where it stands; possible now: ${steps}), or send true in alongside for another beside it`
      : `this worker has a withdrawal under way already: ${flowId}; no step is possible now: wait for the service, or send true in alongside for another beside it`;
  return refusal('conflict', 'withdrawal-live', 'alongside', text);
}

/** These orders identify a person by the CPF alone, so a mistyped one could be somebody else's. */
function wrongCpfs(named: readonly (readonly [field: string, cpf: string])[]): FrontResult | null {
  const breaches = named.map(([field, cpf]) => validCpf(field, cpf)).filter((check) => check !== null);
  return breaches.length === 0 ? null : { kind: 'refused', problem: 'breach', breaches };
}

/** A mistyped link costs a query that the service may charge. */
function linkUnformed(
  link: { registration: string; employerId: string; employerIdType: number } | null,
  parent: string,
): FrontResult | null {
  if (link === null) return null;
  const { registration, employerId, employerIdType } = link;
  const breaches = [
    registrationFormed(`${parent}registration`, registration),
    employerFormed(`${parent}employerId`, employerId, employerIdType),
  ].filter((check) => check !== null);
  return breaches.length === 0 ? null : { kind: 'refused', problem: 'breach', breaches };
}

/** Without hyphens or in braces: the same proposal to the service, and another one to us. */
const bareGuid = /^\{?[\da-f]{32}\}?$|^\{[\da-f-]{36}\}$/i;

/** A GUID that is not spelt with its hyphens alone. */
function isWrittenOtherwise(code: string): boolean {
  const guid = guidOf(code);
  return guid !== null && guid !== code.toLowerCase();
}

const proposalWithHyphens = 'send the code of the proposal with its hyphens, as the service writes it';

/** Steps that change a proposal that is included. */
const changesProposal: ReadonlySet<StepAsked['step']> = new Set([
  'splits',
  'signers',
  'finalisation',
  'account-update',
]);

export function createFlowFront(world: FrontWorld): FlowFront {
  const { vault, clock, flows, settings, pricing, addresses } = world;
  const shown = withLostBids({ read: flows.read, query: flows.query }, world.views);

  const hashOf = (asked: unknown): string => vault.pseudonym(`order:${canonical(asked)}`);
  const possible = (state: FlowState) => nextSteps(state, settings, vault.open, clock.now());
  const rowOf = async (flowId: string) => (await shown.read([flowId])).get(flowId) ?? null;
  const stateOf = async (flowId: string) =>
    world.unfolded === null ? rowOf(flowId) : (await world.unfolded.read(flowId)).state;

  /** Where the record has led, as soon as it is folded. */
  async function folded(flowId: string, is: (state: FlowState) => boolean): Promise<FlowState | null> {
    for (const untilMs = clock.monotonicMs() + foldTimeoutMs; ; ) {
      const state = await rowOf(flowId);
      if (state !== null && is(state)) return state;
      if (clock.monotonicMs() >= untilMs) return null;
      await sleep(clock, pollMs);
    }
  }

  /** What the contract forbids of the step that would come next; the margin is believed until it is known. */
  async function breachesOf(next: FlowState): Promise<readonly FlowBreach[]> {
    const now = clock.now();
    const { linkKey } = next.subject;
    const known = linkKey === null ? undefined : (await world.margins?.read([linkKey], now))?.get(linkKey);
    const margin = known ?? { receivedAt: now, availableMarginCents: Number.MAX_SAFE_INTEGER };
    const state: FlowState = next.phase === 'waiting-proposal' ? { ...next, phase: 'preparing' } : next;
    const commands = react(state, { now, instance: '', margin, tried: () => false }, settings);
    const due = commands.find((command) => command.kind === 'prepare');
    if (due === undefined) return [];
    const pseudonym = (cpf: string) => workerKeyOf(vault, cpf);
    const bodyKey = (body: string) => bodyKeyOf(vault, body);
    const facts = { now, margin, open: vault.open, pseudonym, bodyKey, pricing, settings, addresses, bid: null };
    const { preparation } = prepareOperation(state, due.operation, due.slot, facts);
    return preparation.kind === 'withheld' ? preparation.breaches : [];
  }

  /** What a flow that is there already means for an order; `fresh`: it may be this one that has begun it. */
  function answerOf(state: FlowState, record: FlowStarted, fresh: boolean): FrontResult {
    const { flowId, key, requestHash } = record;
    const isSame = isSameKey(vault, state.key, key);
    if (state.requestHash === requestHash && isSame) return { kind: fresh ? 'taken' : 'known', state };
    const text = isSame ? 'this key was used for another order; use a new one' : existing(state, possible(state));
    if (isSame) return refusal('conflict', 'key-reused', 'Idempotency-Key', text);
    // Somebody else's order for the same worker was the first.
    if (record.flow === 'withdrawal' && record.proposalCode === undefined)
      return withdrawalLive(flowId, possible(state));
    return refusal('conflict', 'flow-exists', namingField[record.flow], text);
  }

  /** Every check of an order; the record that begins its flow where all hold. Nothing is written. */
  async function checked(
    record: FlowStarted,
    ofOrder: readonly FlowBreach[],
  ): Promise<FrontResult | { kind: 'checked'; record: FlowStarted }> {
    const { flowId, key } = record;
    const isKey = (stored: string | null): boolean => isSameKey(vault, stored, key);
    const known = await stateOf(flowId);
    if (known?.earlier?.some(isKey)) {
      return refusal('conflict', 'key-reused', 'Idempotency-Key', 'this key began it before; use a new one');
    }
    const other = known === null || !isKey(known.key) ? await begunUnderKey(record) : null;
    if (other !== null) return keyOfOther(other, record);
    const isAgain = known?.phase === 'cancelled' && known.frozen === undefined && !isKey(known.key);
    if (known !== null && !isAgain) return answerOf(known, record, false);
    const denial = known === null ? null : denialOf(known);
    if (denial !== null) return successUnsettled(denial, known!, namingField[record.flow]);
    if (known !== null && isNoteAwaited(known, clock.now(), settings)) {
      return noteStillDue(known, noteLateAt(known, settings), 'start', namingField[record.flow]);
    }
    const renegotiation = known === null ? null : await standingRenegotiation(known);
    if (renegotiation !== null) {
      const breach = { ...renegotiatedBy(renegotiation), field: namingField[record.flow] };
      return { kind: 'refused', problem: 'not-allowed', breaches: [breach] };
    }
    if (known !== null && isCancelledUnseen(known)) return noteLate(known, 'start', namingField[record.flow]);
    const written: FlowStarted = isAgain ? { ...record, again: true } : record;
    const isSaid = (one: FlowBreach) => ofOrder.some(({ rule, field }) => rule === one.rule && field === one.field);
    const ofOperation = await breachesOf(evolve(known, written, termsOfEarlier)!);
    const breaches = [...ofOperation.filter((each) => !isSaid(each)), ...ofOrder];
    return breaches.length > 0
      ? { kind: 'refused', problem: 'breach', breaches }
      : { kind: 'checked', record: written };
  }

  async function start(record: FlowStarted, ofOrder: readonly FlowBreach[]): Promise<FrontResult> {
    const found = await checked(record, ofOrder);
    if (found.kind !== 'checked') return found;
    const { flowId, key } = record;
    const begins: FlowStarted = { ...found.record, logId: await world.logId() };
    await world.append([{ topic: 'flows', key: flowId, record: begins }]);
    const state = await folded(flowId, (next) => next.phase !== 'cancelled' || isSameKey(vault, next.key, key));
    return state === null ? { kind: 'written', flowId } : answerOf(state, record, true);
  }

  /** Another flow of the kind that this key has begun; null: there is none, or the id of the flow is that of its key. */
  async function begunUnderKey({ flow, flowId, key }: FlowStarted): Promise<FlowState | null> {
    if (flow !== 'contract' && flow !== 'renegotiation') return null;
    const index = keyIndex(flow, key);
    const inRows = (await flows.findByCode([index])).get(index);
    if (inRows !== undefined && inRows !== flowId) return stateOf(inRows);
    const begun = world.unfolded === null ? [] : await world.unfolded.begun();
    return (
      begun.find((each) => each.flow === flow && each.flowId !== flowId && isSameKey(vault, each.key, key)) ?? null
    );
  }

  /** The key named another order: which of its fields this one says otherwise. */
  function keyOfOther(other: FlowState, { flowId, sealed }: FlowStarted): FrontResult {
    const leaves = (id: string, text: string) =>
      new Map(
        scalarsIn(readStored(vault.open(sealedPlaces.flowOrder(id), text)) as JsonObject, mayBeOrder).map(
          ({ path, text: value }) => [path.replace(/^(?:contract|renegotiation|original|link\.identity)\./, ''), value],
        ),
      );
    const [theirs, own] = [leaves(other.flowId, other.sealed ?? '{}'), leaves(flowId, sealed)];
    const differing = [...new Set([...own.keys(), ...theirs.keys()])].filter(
      (path) => own.get(path) !== theirs.get(path) && !path.startsWith('closedNote.'),
    );
    const text = `this key has begun the flow ${other.flowId}, whose order says otherwise: ${differing.join(', ')}; use a new key`;
    return refusal('conflict', 'key-reused', 'Idempotency-Key', text);
  }

  /** The record that begins a flow, and what only its order can break. */
  function beginning(
    flow: FlowStarted['flow'],
    flowId: string,
    asker: Asker,
    { subject, terms, sealed, asked, proposalCode, breaches = [] }: OrderOfFlow,
  ): { record: FlowStarted; breaches: readonly FlowBreach[] } {
    const { by } = asker;
    const key = storedKey(vault, asker.key);
    const record: FlowStarted = {
      ...{ kind: 'started', flowId, at: clock.now(), flow, by, key, requestHash: hashOf(asked), subject, terms },
      ...(proposalCode === undefined ? {} : { proposalCode }),
      ...waivedIn(asked),
      sealed: vault.seal(sealedPlaces.flowOrder(flowId), JSON.stringify(sealed)),
    };
    return { record, breaches };
  }

  function begin(flow: FlowStarted['flow'], flowId: string, asker: Asker, order: OrderOfFlow): Promise<FrontResult> {
    const { record, breaches } = beginning(flow, flowId, asker, order);
    return start(record, breaches);
  }

  /** The id of the flow that is begun under a key. */
  async function idUnderKey(prefix: string, what: string, { key }: Asker): Promise<string> {
    const asItCame = idOf(prefix, `${what}\n${key}`);
    const stored = storedKey(vault, key);
    // Of earlier versions: whoever knows the id could try all CPFs.
    return stored === key || (await stateOf(asItCame)) !== null ? asItCame : idOf(prefix, `${what}\n${stored}`);
  }

  async function startContract(asker: Asker, asked: ContractAsked): Promise<FrontResult> {
    const { contract } = asked;
    const { requestId } = contract;
    const won = (await world.views.read([requestId])).get(requestId)?.state;
    if (won === undefined) return refusal('not-found', 'request-known', 'requestId', 'no request has this id');
    if (!isWonBid(won) || won.claim === null) return bidNotWon(won);
    const bid = promisedBy(won.claim, contract);
    const breaches = unlikeBid(contract, bid, asked.despiteBid === true, clock.now());
    const ofRequest = won.request?.authorisationNumber ?? null;
    const named = asked.link;
    const link =
      named === null
        ? await linkInLog(won, ofRequest)
        : linkOf({ ...named, authorisationNumber: named.authorisationNumber ?? ofRequest });
    const unformed = linkUnformed(named, 'link.');
    if (unformed !== null) return unformed;
    const linkWorker = link?.identity.cpf ? workerKeyOf(vault, link.identity.cpf) : null;
    const requestWorker = won.request?.workerKey ?? linkWorker;
    if (linkWorker !== null && linkWorker !== requestWorker) {
      const text = 'the link belongs to another worker; name one of the worker of this request';
      return refusal('breach', 'link-of-worker', 'link', text);
    }
    const order: ContractOrder = { contract, acceptedByWorker: asked.acceptedByWorker, link };
    const subject: FlowSubject = {
      requestId,
      workerKey: requestWorker,
      linkKey: link === null ? (won.request?.linkKey ?? null) : keyOfLink(link.identity),
      rateLimitHundredths: bid.rateHundredths,
      amountLimitCents: bid.amountCents,
      installmentLimitCents: bid.installmentCents,
      closedContract: null,
      signerKeys: [],
    };
    const unseen = await madeUnseen(contractId(requestId), asker, asked.despiteEvents);
    if (unseen !== null) return unseen;
    const terms = termsOf(contract);
    return begin('contract', contractId(requestId), asker, { subject, terms, sealed: order, asked, breaches });
  }

  /** The refusal of a binding step whose bid is lost; null: the step may be taken. */
  async function bidLost(state: FlowState, { step }: StepAsked): Promise<FrontResult | null> {
    const { requestId } = state.subject;
    if (requestId === null || !bindsLender(state, step)) return null;
    const won = (await world.views.read([requestId])).get(requestId)?.state;
    return won !== undefined && isLost(won.phase) ? bidNotWon(won) : null;
  }

  /** Of a note of this contract; as far as this process can tell, also where no desk runs. */
  async function standingRenegotiation(state: FlowState): Promise<FlowState | null> {
    return renegotiationOf({ read: async (ids) => new Map(await statesOf(ids)) }, state);
  }

  async function statesOf(flowIds: readonly string[]): Promise<readonly (readonly [string, FlowState])[]> {
    const states = await Promise.all(flowIds.map(stateOf));
    return states.flatMap((state) => (state === null ? [] : [[state.flowId, state] as const]));
  }

  /** The refusal of a step that would lend a renegotiated loan once more, or say that it was never lent; null: it may be taken. */
  async function renegotiated(state: FlowState, asked: StepAsked): Promise<FrontResult | null> {
    const { step } = asked;
    if (!barsRenegotiated(step) && step !== 'deny') return null;
    const standing = await standingRenegotiation(state);
    if (standing === null) return null;
    if (step !== 'deny') return { kind: 'refused', problem: 'not-allowed', breaches: [renegotiatedBy(standing)] };
    if (asked.step !== 'deny' || asked.despiteRenegotiation === true) return null;
    const text = `a loan of this contract was renegotiated here: ${standing.flowId}, ${standing.phase}; look there whether it was lent. Once you know that it was not, send true in despiteRenegotiation`;
    return refusal('breach', 'not-renegotiated', 'despiteRenegotiation', text);
  }

  /** The worker's identity is sealed in the request's first record. */
  async function linkInLog({ requestId, places }: RequestState, authorisationNumber: string | null) {
    const entries = await world.log.readKey('auctions', requestId, places);
    const requested = entries.map(({ record }) => record).find((record) => record.kind === 'requested');
    if (requested === undefined) return null;
    const { identity } = JSON.parse(vault.open(sealedPlaces.request(requestId), requested.sealed)) as {
      identity: WorkerIdentity;
    };
    return keyOfLink(identity) === null ? null : { identity, authorisationNumber };
  }

  function keyOfLink({ cpf, registration, employerId, employerIdType }: WorkerIdentity): string | null {
    if (cpf === null || registration === null || employerId === null) return null;
    return linkKeyOf(vault, cpf, registration, employerIdType, employerId);
  }

  async function startRenegotiation(asker: Asker, asked: RenegotiationAsked): Promise<FrontResult> {
    const { record, breaches } = await renegotiationBegun(asker, asked);
    return withOthers(await start(record, breaches), breaches);
  }

  async function previewRenegotiation(
    asker: Asker,
    asked: RenegotiationAsked,
  ): Promise<FrontResult | RenegotiationPreview> {
    const { record, breaches, own } = await renegotiationBegun(asker, asked);
    const found = await checked(record, breaches);
    if (found.kind !== 'checked') return withOthers(found, breaches);
    const closed: OriginalTerms = {
      rateHundredths: own === null ? asked.originalRateHundredths : originalRate(own, asked).rate,
      installments: own?.terms?.installments ?? null,
      installmentCents: own?.note?.installmentCents ?? null,
    };
    return { kind: 'startable', terms: record.terms!, closed };
  }

  /** Beside a flow that is in the way: all that is wrong with the order is said at once. */
  function withOthers(found: FrontResult, ofOrder: readonly FlowBreach[]): FrontResult {
    if (found.kind !== 'refused' || ofOrder.length === 0) return found;
    const others = found.breaches.filter((each) => !ofOrder.includes(each));
    const breaches = found.problem === 'breach' ? [...ofOrder, ...others] : [...others, ...ofOrder];
    return { kind: 'refused', problem: 'breach', breaches };
  }

  /** The record that would begin it, with everything that its order breaks: for the start and for its preview. */
  async function renegotiationBegun(asker: Asker, asked: RenegotiationAsked) {
    const { renegotiation, authorisationNumber } = asked;
    const { cpf, closedContract } = renegotiation;
    const { closedByTermination, openInstallments, pendingCharges, linkValid } = asked;
    const ofCpfs = [validCpf('cpf', cpf), validCpf('agentCpf', renegotiation.agentCpf)];
    const workerKey = workerKeyOf(vault, cpf);
    // By a mistyped CPF nothing is known of the worker's contracts.
    const found = ofCpfs[0] === null ? await ownContract(closedContract, workerKey) : null;
    const isOfOther = found !== null && (found.subject.workerKey ?? workerKey) !== workerKey;
    const own = isOfOther ? null : found;
    const { rate, problems: ofRate } = originalRate(own, asked);
    const problems: readonly Check[] = [
      ...ofCpfs,
      isOfOther ? { rule: 'contract-of-worker', field: 'closedContract', problem: contractOfOtherText } : null,
      ...(own === null ? [] : [contractAsNoted(own, closedContract), contractLent(own, closedByTermination)]),
      openWithinTerm(own, openInstallments),
      ...(isOfOther || ofCpfs[0] !== null ? [] : ofRate),
    ];
    const link = linkOf({ ...renegotiation, authorisationNumber });
    const { loanCents = null, installmentCents = null, rateMonthlyPercent = null } = own?.note ?? {};
    const isReckoned = asked.estimatedInstallmentCents === null && own?.note != null;
    const order: RenegotiationOrder = {
      renegotiation,
      original: { cpf: null, closedByTermination, openInstallments, pendingCharges },
      linkValid,
      link,
      ...(isReckoned ? { closedNote: { loanCents, installmentCents, rateMonthlyPercent } } : {}),
    };
    const subject: FlowSubject = {
      requestId: null,
      workerKey,
      linkKey: keyOfLink(link.identity),
      rateLimitHundredths: rate,
      closedContract,
      signerKeys: [],
    };
    const flowId = renegotiationId(closedContract);
    const unseen = await madeUnseen(flowId, asker, asked.despiteEvents);
    const ofEvents = unseen?.kind === 'refused' ? unseen.breaches : [];
    const terms = renegotiationTerms(renegotiation, asked.estimatedInstallmentCents ?? estimateOf(order));
    const reckonedCents = own?.note == null ? null : estimateOf({ ...order, closedNote: own.note });
    const unlike =
      asked.despiteOriginal === true
        ? []
        : unlikeOriginal(
            { ...renegotiation, installmentCents: asked.estimatedInstallmentCents },
            { rateHundredths: rate, installmentCents: reckonedCents, ...termOfClosed(own, openInstallments) },
          );
    const breaches = [...problems.filter((problem) => problem !== null), ...ofEvents, ...unlike];
    return { ...beginning('renegotiation', flowId, asker, { subject, terms, sealed: order, asked, breaches }), own };
  }

  /** What the term of a renegotiation is held against: the instalments that are open, else all that there were, else the most of any loan here. */
  function termOfClosed(own: FlowState | null, openInstallments: number | null) {
    const { maxInstallments } = pricing;
    if (openInstallments !== null) return { installments: openInstallments, isOpen: true, maxInstallments };
    return { installments: own?.terms?.installments ?? null, isOpen: false, maxInstallments };
  }

  /** What the service lent at counts, where that is below the order. Where nothing is known it is the rate that was asked for. */
  function originalRate(
    own: FlowState | null,
    { originalRateHundredths: given, renegotiation }: RenegotiationAsked,
  ): { rate: RateHundredths; problems: readonly Check[] } {
    const ownRate = own === null ? null : (noteRateAtMost(own) ?? own.terms?.rateHundredths ?? null);
    const rate = ownRate ?? given;
    if (rate === null) {
      const problem =
        'no contract made here has this number: correct it, or, where the contract was made elsewhere, send its rate too (originalRateHundredths)';
      return {
        rate: renegotiation.rateHundredths,
        problems: [{ rule: 'original-rate-given', field: 'closedContract', problem }],
      };
    }
    const wrong = (problem: string): Check => ({ rule: 'original-rate', field: 'originalRateHundredths', problem });
    if (ownRate === null && rate < leastOriginalRateHundredths) {
      const text = 'send it in hundredths of a percent a month (251 is 2.51 %): so little was typed in another unit';
      return { rate: renegotiation.rateHundredths, problems: [wrong(text)] };
    }
    if (given === null || given === rate) return { rate, problems: [] };
    const text = `it was made here at ${rate} (${inPercent(rate)} a month): leave this out, or send that`;
    return { rate, problems: [wrong(text)] };
  }

  /** What was shown to whoever orders, and what the note is held against; null: the order named it, or nothing is known. */
  function estimateOf({ renegotiation, original, closedNote }: RenegotiationOrder): AmountCents | null {
    if (closedNote === undefined) return null;
    const closed = { note: closedNote, openInstallments: original.openInstallments };
    return renegotiationEstimate(renegotiationTerms(renegotiation, null), closed, clock.now(), pricing);
  }

  /**
   * The fields of a signature are the partner's, and whatever they name is passed through: another note, of another flow or of
   * this one before it was generated again, would have the service endorse that one in the name of the one that was checked. A
   * note is named by its number or by its proposal, which the note itself tells (contract, CCB generation webhook).
   */
  async function otherNote({ flowId, note, proposal }: FlowState, content: JsonObject): Promise<FrontResult | null> {
    const named = namesWithin(content);
    const indexes = (text: string) => [
      noteIndex(text),
      noteProposalIndex(text),
      ...spellingsOf(text).map(proposalIndex),
    ];
    const found = await flows.findByCode([...new Set(named.flatMap(({ text }) => indexes(text)))]);
    const ownProposal = note === null ? null : (note.proposalCode ?? proposal?.code ?? null);
    for (const { path, text, isWhole, isNumber } of named) {
      const name = isWhole ? path.split('.').at(-1)! : '';
      // The number of a note is a text in the contract, and the service knows no other.
      if (noteField.test(name) && isNumber) {
        return refusal('breach', 'note-as-text', `content.${path}`, 'send the number of the note as a text, in quotes');
      }
      const isOwnNumber = text === note?.noteNumber;
      const isOwnProposal = ownProposal !== null && isSameCode(text, ownProposal);
      if (proposalField.test(name) ? isOwnProposal : noteField.test(name) ? isOwnNumber : isOwnNumber || isOwnProposal)
        continue;
      const [ofNote, ofNoteProposal, ...ofSpellings] = indexes(text).map((index) => found.get(index));
      const ofProposal = ofSpellings.find((each) => each !== undefined && mayMean(each, text, name));
      // What a won bid became has a code of its own: of this flow it may stand where no field is called so.
      const owner = ofNote ?? ofNoteProposal ?? (ofProposal === flowId ? undefined : ofProposal);
      if (owner === undefined && !noteField.test(name) && !proposalField.test(name)) continue;
      const why =
        owner === undefined || isOwnNumber || isOwnProposal
          ? 'it is not the note of this flow'
          : owner === flowId
            ? 'it is a note of this flow that was replaced'
            : `it is the note of the flow ${owner}`;
      if (owner === undefined && proposalField.test(name) && note !== null && ownProposal !== null) {
        const text = `it is not the proposal that the note of this flow names: that is ${ownProposal}, and the note ${note.noteNumber}`;
        return refusal('breach', 'note-of-this-flow', `content.${path}`, text);
      }
      const own = note === null ? '' : `; the note of this flow is ${note.noteNumber}`;
      return refusal('breach', 'note-of-this-flow', `content.${path}`, why + own);
    }
    return null;
  }

  /** While another flow has the same note, nobody knows whose it is. */
  async function sharedNote({ flowId, note }: FlowState): Promise<FrontResult | null> {
    if (note === null) return null;
    const holder = (await holdersOf(flows, flowId, note)).find((state) => stillHolds(state, note));
    if (holder === undefined) return null;
    const text = `the flow ${holder.flowId} has this note too: find out from the service whose it is, and have the other one generated again (step regenerate) or cancel it`;
    return refusal('breach', 'note-of-one-flow', 'step', text);
  }

  /** Earlier versions took such a proposal from an inclusion: until one of the two is cancelled, nothing is done about it. */
  async function sharedProposal({ flowId, proposalCode }: FlowState): Promise<FrontResult | null> {
    if (proposalCode === null) return null;
    const around = { flow: 'withdrawal', phase: null, limit: mostOfWorker, before: null } as const;
    const found = await Promise.all(
      spellingsOf(proposalCode).map((code) => flows.query({ ...around, code: proposalIndex(code) })),
    );
    const holder = found.flat().find((other) => other.flowId !== flowId && other.phase !== 'cancelled');
    if (holder === undefined) return null;
    const text = `the flow ${holder.flowId} has this proposal too: find out from the service whose it is; the flow that it belongs to goes on once the other one is ended (lance withdrawals cancel, where it is frozen)`;
    return refusal('breach', 'proposal-of-one-flow', 'step', text);
  }

  /** Under a code that another flow has, or this one had before, the service tells of something else. */
  async function otherCode(state: FlowState, code: string): Promise<FrontResult | null> {
    const { flowId, flow } = state;
    if (!needsCode(state) && !mayCorrect(state)) return null;
    const written = spellingsOf(code);
    const isProposal = flow === 'withdrawal';
    const otherForm = isWrittenOtherwise(code) ? await codeOfOtherForm(state, code) : null;
    if (otherForm !== null) return otherForm;
    const indexes = isProposal ? written.flatMap((each) => [proposalIndex(each), noteProposalIndex(each)]) : written;
    const owner = [...(await flows.findByCode(indexes)).values()][0] ?? (await claimedBy(written, flowId));
    if (owner === null) return null;
    const text =
      owner === flowId
        ? 'this flow had it before: send the one that the service gave to the operation that is unclear'
        : `the flow ${owner} has it: send the one that the service gave to the operation that is unclear`;
    return refusal('breach', 'code-of-other-flow', 'requestCode', text);
  }

  /** Under another spelling than the service writes nothing is told, and the flow would wait in vain. Null: it is told under this one. */
  async function codeOfOtherForm(state: FlowState, code: string): Promise<FrontResult | null> {
    if (state.flow === 'withdrawal') {
      return refusal('breach', 'proposal-code', 'requestCode', proposalWithHyphens);
    }
    const waiting = await eventsOfNobody(flows, state, pricing);
    if (waiting.includes(code)) return null;
    const text = 'send the request code with its hyphens, as the service writes it';
    const named = `${text}; a note that no flow knows waits under ${namedCodes(waiting)}`;
    return refusal('breach', 'request-code', 'requestCode', waiting.length === 0 ? text : named);
  }

  /** To whom the events under these codes were given, where that is another flow; null: to nobody else. */
  async function claimedBy(codes: readonly string[], flowId: string): Promise<string | null> {
    const events = await flows.read(codes.map((code) => `${eventPrefix}${code}`));
    const owners = [...events.values()].flatMap(({ owner }) => owner ?? []);
    return owners.find((owner) => owner !== flowId) ?? null;
  }

  /** A bid's contract that was cancelled while it was perhaps made: begun again it would be made twice. Null: it may be begun. */
  async function madeUnseen(flowId: string, asker: Asker, despiteEvents: boolean | undefined) {
    const state = await stateOf(flowId);
    const key = storedKey(vault, asker.key);
    const isNew = state?.phase === 'cancelled' && !isSameKey(vault, state.key, key);
    if (!isNew || despiteEvents === true) return null;
    const waiting = await eventsOfNobody(flows, state, pricing);
    return waiting.length === 0 ? null : mayBeDone(waiting, 'start');
  }

  /** What was told under the code has the figures of another loan, or is above the bid: confirmed, its note would be taken as this one's. */
  async function ofOtherLoan(
    state: FlowState,
    { requestCode }: Extract<StepAsked, { step: 'confirm' }>,
  ): Promise<FrontResult | null> {
    const ids = requestCode === null ? [] : spellingsOf(requestCode).map((code) => `${eventPrefix}${code}`);
    const told = [...(await flows.read(ids)).values()].find(({ note }) => note !== null);
    if (told === undefined || told.note === null || state.subject.rateLimitHundredths === null) return null;
    const expected = expectedNote(state, state.generatedAt ?? state.operation?.intent?.at ?? clock.now(), pricing);
    const notes = [told.note, ...notesToldAgain(told)];
    const asNoted = { ...state, note: told.note, noteAgain: null, notesAgain: notes.slice(1) };
    const isBeyond = noteWithinBid(noteFactsOf(await withBid(asNoted), settings)).some((check) => check !== null);
    const beyond = isBeyond || notes.some((note) => isOfOtherLoan(note, expected));
    if (!beyond) return null;
    const text =
      'the note that was told under this code has not the figures of this loan, or is above its bid: look whether it is the contract of somebody else; once you know that it is of this flow, send true in despiteEvents';
    return refusal('breach', 'event-of-other-loan', 'requestCode', text);
  }

  /** A code of which nothing was told, where something waits under others: a mistyped one could not be corrected any more. */
  async function notWaiting(
    state: FlowState,
    { requestCode }: Extract<StepAsked, { step: 'confirm' }>,
  ): Promise<FrontResult | null> {
    if (requestCode === null || !needsCode(state)) return null;
    const waiting = await eventsOfNobody(flows, state, pricing);
    if (waiting.length === 0 || waiting.some((code) => isSameCode(code, requestCode))) return null;
    const text = `nothing was told under this code, and under others that no flow knows the service has told of operations that were done (${namedCodes(waiting)}): send the one that tells of this operation; once you know that none does, send true in despiteEvents`;
    return refusal('breach', 'event-of-nobody', 'requestCode', text);
  }

  /** The fields are the partner's: a proposal of another flow would be shown, or changed, in the name of this one. */
  async function otherProposal(
    { flowId }: FlowState,
    content: JsonObject,
    parent: string,
  ): Promise<FrontResult | null> {
    const named = scalarsIn(content, mayBeProposal);
    const indexes = (text: string) => [...spellingsOf(text).map(proposalIndex), noteProposalIndex(text)];
    const found = await flows.findByCode([...new Set(named.flatMap(({ text }) => indexes(text)))]);
    for (const { path, text } of named) {
      const ofNote = found.get(noteProposalIndex(text));
      const owner = indexes(text)
        .map((index) => found.get(index))
        .find(
          (each) =>
            each !== undefined && each !== flowId && (each === ofNote || mayMean(each, text, path.split('.').at(-1)!)),
        );
      if (owner === undefined) continue;
      const problem = `it is the proposal of the flow ${owner}: ask there, or leave it out`;
      return refusal('breach', 'locator-kept', `${parent}.${path}`, problem);
    }
    return null;
  }

  /** Where the contract was made here we know whose it is and what it cost; of others only the service knows. */
  async function ownContract(noteNumber: string, workerKey: string): Promise<FlowState | null> {
    // A number that somebody wrote with zeros before it is of the same note.
    const numbers = [...new Set([noteNumber, noteNumber.replace(/^0+(?=\d)/, '')])];
    const found = await flows.findByCode(numbers.map(noteIndex));
    const flowId = numbers.map((number) => found.get(noteIndex(number))).find((id) => id !== undefined);
    if (flowId !== undefined) return stateOf(flowId);
    // The notes of renegotiations are not found by their number.
    const around = { phase: null, code: workerIndex(workerKey), limit: mostOfWorker, before: null };
    const renegotiated = await flows.query({ flow: 'renegotiation', ...around });
    return renegotiated.find(({ note }) => note !== null && numbers.includes(note.noteNumber)) ?? null;
  }

  async function startWithdrawal(asker: Asker, asked: WithdrawalAsked): Promise<FrontResult> {
    const { cpf, birthDate, signerCpfs } = asked;
    const unborn = bornAsAdult('birthDate', birthDate, clock.now());
    if (unborn !== null) return { kind: 'refused', problem: 'breach', breaches: [unborn] };
    const missing = addressMissing('simulation', addresses);
    if (missing !== null) return { kind: 'refused', problem: 'breach', breaches: [missing] };
    const signers = signerCpfs.map((signer, index) => [`signerCpfs.${index}`, signer] as const);
    const wrong = wrongCpfs([['cpf', cpf], ...signers]);
    if (wrong !== null) return wrong;
    const order: WithdrawalOrder = { cpf, birthDate };
    const subject: FlowSubject = {
      requestId: null,
      workerKey: workerKeyOf(vault, cpf),
      linkKey: null,
      rateLimitHundredths: null,
      closedContract: null,
      signerKeys: (signerCpfs.length > 0 ? signerCpfs : [cpf]).map((signer) => workerKeyOf(vault, signer)),
    };
    const { proposalCode } = asked;
    const whole = {
      subject,
      terms: null,
      sealed: order,
      asked,
      ...(proposalCode === undefined ? {} : { proposalCode }),
    };
    if (proposalCode === undefined) {
      const own = await withdrawalUnderKey(asker, asked.alongside === true);
      if (own !== null) return begin('withdrawal', own, asker, whole);
      const live = await liveWithdrawal(subject.workerKey!);
      if (live !== null)
        return live.phase === 'finalised' ? withdrawalUnpaid(live.flowId) : withdrawalLive(live.flowId, possible(live));
      return begin('withdrawal', await nextOfWorker(subject.workerKey!), asker, whole);
    }
    if (bareGuid.test(proposalCode)) {
      return refusal('breach', 'proposal-code', 'proposalCode', proposalWithHyphens);
    }
    if (!isId(proposalCode) || namesNothing(proposalCode) || proposalCode === cpf) {
      const text =
        'send the code of the proposal as the service gave it: letters and digits without blanks, and not the CPF';
      return refusal('breach', 'proposal-code', 'proposalCode', text);
    }
    const spellings = spellingsOf(proposalCode);
    const found = await flows.findByCode([...spellings.map(proposalIndex), noteProposalIndex(proposalCode)]);
    const flowIds = spellings.map((code) => idOf('w', `proposal\n${code}`));
    const [known = flowIds[0]!] = found.values();
    const flowId = flowIds.find((id) => id === known);
    if (flowId === undefined)
      return refusal('conflict', 'flow-exists', 'proposalCode', `there is a flow of this proposal already: ${known}`);
    return begin('withdrawal', flowId, asker, whole);
  }

  /** The id of the flow that this key has begun, or that it begins beside others; null: a new one in its turn. */
  async function withdrawalUnderKey(asker: Asker, alongside: boolean): Promise<string | null> {
    const ofKey = await idUnderKey('w', 'withdrawal', asker);
    if (alongside || (await stateOf(ofKey)) !== null) return ofKey;
    const index = keyIndex('withdrawal', storedKey(vault, asker.key));
    const inRows = (await flows.findByCode([index])).get(index);
    if (inRows !== undefined) return inRows;
    const begun = world.unfolded === null ? [] : await world.unfolded.begun();
    const isOwn = ({ flow, key }: FlowState): boolean =>
      flow === 'withdrawal' && isSameKey(vault, key, storedKey(vault, asker.key));
    return begun.find(isOwn)?.flowId ?? null;
  }

  /**
   * One after the other the withdrawals of a worker have ids of their own, known beforehand. Those who order the next one at the same
   * moment, in whatever process, write to the same id, and the first record in its log begins it.
   */
  async function nextOfWorker(workerKey: string): Promise<string> {
    for (let turn = 0; ; turn += 1) {
      const flowId = idOf('w', `worker\n${workerKey}\n${turn}`);
      const state = await stateOf(flowId);
      if (state === null || !isFinished(state.phase)) return flowId;
    }
  }

  /** One that has not ended, or is not seen to be paid, and is more than a code; null: there is none. */
  async function liveWithdrawal(workerKey: string): Promise<FlowState | null> {
    const known = await withdrawalsOf(workerKey);
    const underWay = known.find((state) => !isFinished(state.phase) && !isUnseen(state));
    return underWay ?? known.find((state) => isUnpaid(state, settings)) ?? null;
  }

  async function withdrawalsOf(workerKey: string): Promise<readonly FlowState[]> {
    const begun = world.unfolded === null ? [] : await world.unfolded.begun();
    const ofWorker = begun.filter(({ flow, subject }) => flow === 'withdrawal' && subject.workerKey === workerKey);
    return [...(await withdrawalsOfWorker(flows, workerKey)), ...ofWorker];
  }

  /** Of one worker: all links, or the one that is named. */
  async function startLookup(asker: Asker, asked: LookupAsked): Promise<FrontResult> {
    const { cpf, authorisationNumber, cached, reason } = asked;
    const wrong = wrongCpfs([['cpf', cpf]]);
    if (wrong !== null) return wrong;
    const unformed = linkUnformed(asked.link, 'link.');
    if (unformed !== null) return unformed;
    const named = asked.link ?? { registration: null, employerId: null, employerIdType: null };
    const link: LinkAsk = { identity: { cpf, name: null, ...named }, authorisationNumber };
    const order: LookupOrder = { link, cached, reason: withoutCpf(reason) };
    const subject: FlowSubject = {
      ...{ requestId: null, workerKey: workerKeyOf(vault, cpf), linkKey: null },
      ...{ rateLimitHundredths: null, closedContract: null, signerKeys: [] },
    };
    const flowId = await idUnderKey('q', 'lookup', asker);
    return begin('lookup', flowId, asker, { subject, terms: null, sealed: order, asked });
  }

  async function ask(flowId: string, asker: Asker, asked: StepAsked): Promise<FrontResult> {
    const state = await stateOf(flowId);
    if (state === null || (state.flow === 'event' && asked.step !== 'cancel'))
      return refusal('not-found', 'flow-known', 'flowId', 'no flow has this id');
    if (state.frozen !== undefined) {
      const text = 'a record of it cannot be processed; retry or cancel it with the lance command of its kind';
      return refusal('not-allowed', 'flow-frozen', 'flowId', text);
    }
    const lost = await bidLost(state, asked);
    if (lost !== null) return lost;
    if (asked.step === 'sign') {
      const other = await otherNote(state, asked.content as JsonObject);
      if (other !== null) return other;
    }
    if (asked.step === 'proposal' || asked.step === 'account-update') {
      const content = asked.step === 'proposal' ? asked.request.dto : (asked.request.extra ?? {});
      const parent = asked.step === 'proposal' ? 'dto' : 'fields';
      const other = await otherProposal(state, content, parent);
      if (other !== null) return other;
    }
    const late = lateSuccessOf(state);
    if (asked.step === 'accept' && late === null && isOutdated(state)) {
      const text =
        'the competence has turned since this note was generated: start the flow again under a new key, which generates another one';
      return refusal('breach', 'same-competence', 'step', text);
    }
    if (asked.step === 'confirm' && !allowsStep(state, 'confirm')) {
      return isProposalConfirmed(state) && !isBusy(state)
        ? codeAnswered(state)
        : notAllowed(state, 'confirm', possible(state));
    }
    if (asked.step === 'amend' && asked.contract !== undefined && state.subject.requestId !== null) {
      const { requestId } = state.subject;
      const claim = (await world.views.read([requestId])).get(requestId)?.state.claim ?? null;
      const isMeant = asked.despiteBid === true || (state.terms !== null && isOfTerms(asked.contract, state.terms));
      const unlike = claim === null ? [] : unlikeBid(asked.contract, claim.offer, isMeant, clock.now());
      const breaches = unlike.map((each) => ({ ...each, field: `contract.${each.field}` }));
      if (breaches.length > 0) return { kind: 'refused', problem: 'breach', breaches };
    }
    if (asked.step === 'amend' && asked.renegotiation !== undefined && asked.despiteOriginal !== true) {
      const unlike = await amendedUnlikeOriginal(state, asked.renegotiation);
      if (unlike.length > 0) return { kind: 'refused', problem: 'breach', breaches: unlike };
    }
    if (lendsAgain(state, asked.step)) return endorsedAlready(asked.step, state);
    const denial = denialOf(state);
    if (denial !== null && unsettledBefore(state, asked.step) === denial)
      return successUnsettled(denial, state, 'step');
    const lentAnew = await renegotiated(state, asked);
    if (lentAnew !== null) return lentAnew;
    const alone = oneAlone(state, asker, asked.step);
    if (alone !== null) return alone;
    const doesAgain =
      asked.step === 'deny' ||
      asked.step === 'regenerate' ||
      asked.step === 'cancel' ||
      asked.step === 'amend' ||
      // What was told before the answer that refused it may be its success.
      (asked.step === 'sign' && state.phase === 'endorsement-refused');
    if (doesAgain && asked.despiteEvents !== true && allowsStep(state, asked.step, clock.now())) {
      if (unreadMark(state) !== null && asked.step !== 'sign') return unreadUnseen();
      const waiting = await eventsOfNobody(flows, state, pricing);
      if (waiting.length > 0) return mayBeDone(waiting, asked.step);
    }
    const record = stepRecord(state, asker, asked);
    if ('kind' in record && record.kind === 'refused') return record;
    const step = record as FlowAsked;
    const known = repeated(state, step);
    if (known !== null) return known;
    const both = asked.step === 'accept' && late === null ? bothToAccept(state, asked) : null;
    if (both !== null) return both;
    const awaited = noteAwaited(state, asked.step);
    if (awaited !== null) return awaited;
    const foreign =
      asked.step === 'sign'
        ? await sharedNote(state)
        : asked.step === 'confirm' && asked.requestCode !== null
          ? await otherCode(state, asked.requestCode)
          : changesProposal.has(asked.step)
            ? await sharedProposal(state)
            : null;
    if (foreign !== null) return foreign;
    const notOfThose =
      asked.step === 'confirm' && asked.despiteEvents !== true
        ? ((await ofOtherLoan(state, asked)) ?? (await notWaiting(state, asked)))
        : null;
    if (notOfThose !== null) return notOfThose;
    if (asked.step === 'splits' && isAskedAgain(state, step)) return splitAgain();
    if (asked.step === 'signers' && isAskedAgain(state, step)) return signersAgain();
    const next = evolve(state, step, termsOfEarlier)!;
    const isOwn = ({ stepId }: FlowState['steps'][number]): boolean => stepId === step.stepId;
    const outcome = next.steps.find(isOwn)?.outcome;
    if (outcome === 'ignored') return notAllowed(state, asked.step, possible(state));
    const barred = asked.step === 'accept' ? barriersTo('accept', await withBid(state), settings, vault.open) : [];
    const beside = asked.step === 'inclusion' ? await balanceBeside(next) : [];
    const below =
      asked.step === 'inclusion' && asked.despiteSimulation !== true
        ? belowSimulation(next, asked.request, vault.open)
        : [];
    const paysOther =
      (asked.step === 'inclusion' || asked.step === 'splits') && asked.despitePayee !== true
        ? splitsToOthers(next, asked.request.splits, vault.open)
        : [];
    const breaches = [...barred, ...(await breachesOf(next)), ...beside, ...below, ...paysOther];
    if (breaches.length > 0) return { kind: 'refused', problem: 'breach', breaches };
    await world.append([{ topic: 'flows', key: flowId, record: step }]);
    const folds = await folded(flowId, ({ steps }) => steps.some(isOwn));
    if (folds === null) return { kind: 'written', flowId };
    // Somebody else's step may have come in between.
    const own = folds.steps.find(isOwn)!;
    if (own.requestHash !== step.requestHash) return repeated(folds, step)!;
    return own.outcome === 'ignored' ? notAllowed(folds, asked.step, possible(folds)) : { kind: 'taken', state: folds };
  }

  /** One word of a person would take two notes: each is named. */
  function bothToAccept(
    state: FlowState,
    { figures, late }: Extract<StepAsked, { step: 'accept' }>,
  ): FrontResult | null {
    const { lateNote } = state;
    if (lateNote == null || late === true) return null;
    const isNamed = figures === true || kindsToAccept(state, settings).length > 1;
    if (!isNamed) return null;
    const doubts = ownDoubts(state, settings).join(', ');
    const text = `the note ${lateNote.note.noteNumber} came late, and the note of this flow is not as ordered (${doubts}): look at both, and send late (--late) for the first alone, then figures (--figures); or both at once`;
    return refusal('breach', 'accept-each', 'late', text);
  }

  async function balanceBeside(next: FlowState): Promise<readonly FlowBreach[]> {
    const { workerKey } = next.subject;
    if (workerKey === null) return [];
    const others = (await withdrawalsOf(workerKey)).map((state) => ({
      state,
      isReleased: isReleased(state, settings),
    }));
    const breach = beyondBalance(next, others, vault.open);
    return breach === null ? [] : [breach];
  }

  /** Earlier versions did not write down what was bid: of their flows the request knows. */
  async function withBid(state: FlowState): Promise<FlowState> {
    const { requestId, amountLimitCents, installmentLimitCents } = state.subject;
    if (requestId === null || (amountLimitCents !== undefined && installmentLimitCents !== undefined)) return state;
    const claim = (await world.views.read([requestId])).get(requestId)?.state.claim ?? null;
    if (claim === null) return state;
    const limits = {
      amountLimitCents: amountLimitCents ?? claim.offer.amountCents,
      installmentLimitCents: installmentLimitCents ?? claim.offer.installmentCents,
    };
    return { ...state, subject: { ...state.subject, ...limits } };
  }

  /** The late note of a cancelled flow would be generated anew at once, which nobody asked for. */
  function isOutdated({ phase, lateNote, generatedAt }: FlowState): boolean {
    const { cutoffDay } = settings;
    const takesUp = phase === 'cancelled' && lateNote?.isLast === true && generatedAt !== null;
    return takesUp && competenceOf(generatedAt, cutoffDay) !== competenceOf(clock.now(), cutoffDay);
  }

  /** Until its note comes nobody knows what became of a generation that was taken. */
  function noteAwaited(state: FlowState, step: FlowStep): FrontResult | null {
    const now = clock.now();
    const isDenial = step === 'deny' && mayDenyAwaited(state);
    if (isNoteAwaited(state, now, settings)) {
      if (!isDenial && !generatesUnseen(state, step, now, settings)) return null;
      return noteStillDue(state, noteLateAt(state, settings), step, 'step');
    }
    return generatesUnseen(state, step, now, settings) ? noteLate(state, step, 'step') : null;
  }

  function repeated(state: FlowState, record: FlowAsked): FrontResult | null {
    const known = state.steps.find(({ stepId }) => isSameKey(vault, stepId, record.stepId));
    if (known === undefined) return null;
    if (known.requestHash === record.requestHash) {
      return known.outcome === 'ignored' ? notAllowed(state, record.step, possible(state)) : { kind: 'known', state };
    }
    return refusal('conflict', 'key-reused', 'Idempotency-Key', 'this key was used for another step; use a new one');
  }

  function stepRecord(state: FlowState, { by, key, via }: Asker, asked: StepAsked): FlowAsked | FrontResult {
    const base: FlowAsked = {
      ...{ kind: 'asked', flowId: state.flowId, at: clock.now(), stepId: storedKey(vault, key), by, step: asked.step },
      ...(via === undefined ? {} : { via }),
      ...waivedIn(asked),
      ...{
        requestHash: hashOf(asked),
        terms: null,
        signedAt: null,
        requestCode: null,
        personKeys: [],
        stepsKept: settings.stepsKept,
        reason: null,
        sealed: null,
      },
    };
    const seal = (content: unknown) => vault.seal(sealedPlaces.flowStep(state.flowId), JSON.stringify(content));
    const sealReason = (reason: string) =>
      vault.seal(sealedPlaces.flowReason(state.flowId), JSON.stringify(withoutCpf(reason)));
    switch (asked.step) {
      case 'amend':
        return amendment(state, base, asked);
      case 'sign':
        if (asked.signedAt > clock.now())
          return refusal(
            'breach',
            'signature-time',
            'signedAt',
            'send when the worker signed: this time is in the future',
          );
        return { ...base, signedAt: asked.signedAt, sealed: seal(asked.content) };
      case 'deny': {
        const ofEndorsed = mayTakeBack(state) ? { ofEndorsed: true as const } : {};
        const ofShown = isShownDone(state) ? { ofShown: true as const } : {};
        const ofAwaited = mayDenyAwaited(state) ? { ofAwaited: true as const } : {};
        const ofContradicted = mayDenyContradicted(state) ? { ofContradicted: true as const } : {};
        const of = { ...ofEndorsed, ...ofShown, ...ofAwaited, ...ofContradicted };
        return { ...base, ...of, sealedReason: sealReason(asked.reason) };
      }
      case 'cancel':
      case 'regenerate':
        return { ...base, sealedReason: sealReason(asked.reason) };
      case 'accept': {
        const named = (['figures', 'late'] as const).filter((kind) => asked[kind] === true);
        const present = kindsToAccept(state, settings);
        // What differs by no more than rounding is taken with the figures.
        const accepts = named.length > 0 ? named : present.length > 0 ? present : (['figures'] as const);
        const what = lateSuccessOf(state) === null ? { accepts } : ofLate(state);
        return { ...base, ...what, sealedReason: sealReason(asked.reason) };
      }
      case 'confirm': {
        if (mayTakeOver(state)) {
          if (asked.requestCode !== null && !isSameCode(asked.requestCode, lateSuccessOf(state)!.code ?? '')) {
            const text =
              'the step confirm takes over the endorsement that the service told late; settle that first, with its own code or none, or with the step accept';
            return refusal('breach', 'success-settled', 'requestCode', text);
          }
          return { ...base, ...ofLate(state), sealedReason: sealReason(asked.reason) };
        }
        const corrects = mayCorrect(state);
        const namesNone = namesNothing(asked.requestCode);
        if (namesNone && (needsCode(state) || corrects || asked.requestCode !== null)) {
          const text =
            state.flow === 'withdrawal' ? "send the proposal's code" : 'send the request code that the service gave it';
          return refusal('breach', 'code-given', 'requestCode', text);
        }
        // A proposal's code goes out again, as it came.
        const isSent = state.flow === 'withdrawal' || asked.requestCode === null;
        const requestCode = isSent ? asked.requestCode : canonicalCode(asked.requestCode!);
        const more = corrects ? { corrects, givesCodeUp: true as const } : {};
        return { ...base, ...more, sealedReason: sealReason(asked.reason), requestCode };
      }
      case 'simulation': {
        // By a balance that is given the service does not look at the worker's own (contract, BuscarSimulacaoMultiPeriodo, rule 1).
        const { cpf, balanceCents } = asked.request;
        const isOwn = cpf !== null && (balanceCents === null || balanceCents === undefined);
        const personKeys = isOwn ? [state.subject.workerKey!] : [];
        return { ...base, personKeys, sealed: seal(asked.request) };
      }
      case 'signers': {
        const documents = (asked.request.signers ?? []).flatMap(({ document }) => document ?? []);
        return { ...base, personKeys: documents.map((cpf) => workerKeyOf(vault, cpf)), sealed: seal(asked.request) };
      }
      case 'inclusion':
      case 'splits': {
        const splits = asked.request.splits ?? [];
        const splitCents = splits.reduce((sum, { amountCents }) => sum + (amountCents ?? 0), 0);
        return { ...base, ...(splits.length > 0 ? { splitCents } : {}), sealed: seal(asked.request) };
      }
      case 'proposal':
      case 'installments':
      case 'finalisation':
      case 'account-update':
        return { ...base, sealed: seal(asked.request) };
      default:
        return asked satisfies never;
    }
  }

  function amendment(
    state: FlowState,
    base: FlowAsked,
    asked: Extract<StepAsked, { step: 'amend' }>,
  ): FlowAsked | FrontResult {
    const { authorisationNumber } = asked;
    const isEmpty = [asked.link, authorisationNumber, asked.contract, asked.renegotiation].every(
      (part) => part === undefined,
    );
    const sendsAgain = goesOnAsItIs(state);
    if (isEmpty && !sendsAgain && allowsStep(state, 'amend')) {
      const text = 'send what changes: terms, link or authorisationNumber; as it is the flow goes on by itself';
      return refusal('breach', 'amends-something', 'step', text);
    }
    const foreign = state.flow === 'contract' ? asked.renegotiation : asked.contract;
    if (foreign !== undefined) {
      const field = state.flow === 'contract' ? 'renegotiation' : 'contract';
      return refusal('breach', 'amends-own-kind', field, `this flow is a ${state.flow}: send ${state.flow} instead`);
    }
    const place = sealedPlaces.flowOrder(state.flowId);
    const stored = readStored(vault.open(place, state.sealed!)) as ContractOrder & RenegotiationOrder;
    const named = asked.link ?? linkNamed(stored.link);
    if (named === null && authorisationNumber !== undefined) {
      return refusal('breach', 'link-known', 'link', 'the flow knows no link yet; name it together with the number');
    }
    const { workerKey } = state.subject;
    if (asked.link !== undefined && workerKey !== null && workerKeyOf(vault, asked.link.cpf) !== workerKey) {
      return refusal(
        'breach',
        'link-of-worker',
        'link',
        'the link belongs to another worker; name one of the same worker',
      );
    }
    const unformed = linkUnformed(asked.link ?? null, 'link.');
    if (unformed !== null) return unformed;
    if (named !== null && (asked.link !== undefined || authorisationNumber !== undefined)) {
      const known = stored.link?.authorisationNumber ?? null;
      const link = linkOf({ ...named, authorisationNumber: authorisationNumber ?? known });
      const order = withLink(stored, link, asked.link !== undefined);
      const about = { linkKey: keyOfLink(link.identity)!, personKeys: [workerKeyOf(vault, named.cpf)] };
      return amended(state, { ...base, ...about, sealed: vault.seal(place, JSON.stringify(order)) }, order, asked);
    }
    return amended(state, base, stored, asked);
  }

  /** What is changed of the terms, where it is far from the loan that was closed. */
  async function amendedUnlikeOriginal(
    { flow, flowId, sealed, subject, terms }: FlowState,
    { installments, rateHundredths }: { installments: number; rateHundredths?: RateHundredths | undefined },
  ): Promise<readonly FlowBreach[]> {
    if (flow !== 'renegotiation' || sealed === null || terms === null) return [];
    const { original } = readStored(vault.open(sealedPlaces.flowOrder(flowId), sealed)) as RenegotiationOrder;
    const { closedContract, workerKey } = subject;
    const found = closedContract === null || workerKey === null ? null : await ownContract(closedContract, workerKey);
    const own = (found?.subject.workerKey ?? workerKey) === workerKey ? found : null;
    return unlikeOriginal(
      {
        rateHundredths: rateHundredths === terms.rateHundredths ? null : (rateHundredths ?? null),
        installments: installments === terms.installments ? null : installments,
        installmentCents: null,
      },
      {
        rateHundredths: subject.rateLimitHundredths,
        installmentCents: null,
        ...termOfClosed(own, original.openInstallments),
      },
    ).map((each) => ({ ...each, field: `renegotiation.${each.field}` }));
  }

  function amended(
    state: FlowState,
    base: FlowAsked,
    order: ContractOrder & RenegotiationOrder,
    { contract, renegotiation }: Extract<StepAsked, { step: 'amend' }>,
  ): FlowAsked {
    const place = sealedPlaces.flowOrder(state.flowId);
    if (state.flow === 'contract' && contract !== undefined) {
      const whole: ContractRequest = { ...contract, requestId: state.subject.requestId! };
      const amended: ContractOrder = { ...order, contract: whole };
      return { ...base, terms: termsOf(whole), sealed: vault.seal(place, JSON.stringify(amended)) };
    }
    if (state.flow === 'renegotiation' && renegotiation !== undefined) {
      const rateHundredths = renegotiation.rateHundredths ?? order.renegotiation.rateHundredths;
      const whole: RenegotiationRequest = { ...order.renegotiation, ...renegotiation, rateHundredths };
      const amended: RenegotiationOrder = { ...order, renegotiation: whole };
      // Of another term the instalment is another one.
      const estimate = amended.closedNote === undefined ? state.terms?.installmentCents : estimateOf(amended);
      const terms = renegotiationTerms(whole, estimate ?? null);
      return { ...base, terms, sealed: vault.seal(place, JSON.stringify(amended)) };
    }
    return base;
  }

  /** What whoever asked knew and went on despite of: the fields that say so are true. */
  function waivedIn(asked: unknown): { despite?: readonly string[] } {
    const despite = Object.entries(asked ?? {}).flatMap(([name, value]) =>
      name.startsWith('despite') && value === true ? [name] : [],
    );
    return despite.length === 0 ? {} : { despite };
  }

  /**
   * The worker took a proposal of this amount and term, and limits and caps were kept for them: the contract goes not beyond. The
   * rate has a rule of its own. It may stay below (contract, gerar-contrato) where `isMeant` says that this is no slip.
   */
  function unlikeBid(
    contract: Omit<ContractRequest, 'requestId'>,
    bid: BidTerms,
    isMeant: boolean,
    at: EpochMs,
  ): FlowBreach[] {
    const beyond = valuesBeyondBid(contract, bid);
    if (beyond.length > 0) return beyond;
    const byInstallment = installmentBeyondBid(contract, bid, at);
    return byInstallment.length > 0 || isMeant
      ? byInstallment
      : belowBid(contract, bid, mostInstallment(contract, bid, at));
  }

  /** The instalment that releases as much as was bid, at the rate and the term of an order. */
  function mostInstallment(contract: Omit<ContractRequest, 'requestId'>, bid: BidTerms, at: EpochMs): AmountCents {
    return installmentReleasing(bid.amountCents, termsOf({ ...contract, requestId: '' }), at, pricing);
  }

  /** An instalment that is not ordered is reckoned: insurance and a shorter term lift it. */
  function installmentBeyondBid(
    contract: Omit<ContractRequest, 'requestId'>,
    bid: BidTerms,
    at: EpochMs,
  ): FlowBreach[] {
    const { installments, rateHundredths } = contract;
    if (rateHundredths > bid.rateHundredths) return [];
    if (contract.amountCents === null || contract.amountCents === undefined) {
      const mostInstallmentCents = mostInstallment(contract, bid, at);
      const beyond = releaseWithinBid(contract, { amountLimitCents: bid.amountCents, mostInstallmentCents });
      return beyond === null ? [] : [beyond];
    }
    const reckoned = (terms: Partial<FlowTerms>) =>
      expectedLoan(
        { amountCents: null, installmentCents: null, installments, rateHundredths, insuranceCents: null, ...terms },
        at,
        pricing,
      ).installmentCents ?? 0;
    const { amountCents } = contract;
    const ofBid = { amountCents: bid.amountCents, installments: bid.installments, rateHundredths: bid.rateHundredths };
    const insuranceCents = contract.insuranceCents ?? null;
    // Due days have moved since the bid.
    const most = Math.max(bid.installmentCents, reckoned(ofBid));
    const installmentCents = reckoned({ amountCents, insuranceCents });
    if (installmentCents <= most) return [];
    const byInsurance = insuranceCents !== null && reckoned({ amountCents }) <= most;
    const problem = `the instalment would be ${installmentCents} cents, and that of the bid was ${most}: send less insurance, a smaller amount or more instalments`;
    return [{ rule: 'as-bid', field: byInsurance ? 'insuranceCents' : 'installments', problem }];
  }

  /** Nothing is taken that holds what its example left open. */
  const whole =
    <A extends object>(begins: (asker: Asker, asked: A) => Promise<FrontResult>) =>
    async (asker: Asker, asked: A): Promise<FrontResult> =>
      notFilledIn(asked) ?? begins(asker, asked);

  return {
    startContract: whole(startContract),
    startRenegotiation: whole(startRenegotiation),
    previewRenegotiation: async (asker, asked) => notFilledIn(asked) ?? previewRenegotiation(asker, asked),
    startWithdrawal: whole(startWithdrawal),
    startLookup: whole(startLookup),
    ask: async (flowId, asker, asked) => notFilledIn(asked) ?? ask(flowId, asker, asked),
  };
}

const shortestCode = 6;

/**
 * Whether a value that is the code of a flow's proposal means that one, where a field has another name. What a won bid became is told
 * by `codigo` beside a message (contract, Proposal included event), which may be the code of a result: many flows have the same one.
 */
function mayMean(owner: string, text: string, name: string): boolean {
  if (!owner.startsWith(contractId('')) || proposalField.test(name)) return true;
  return guidOf(text) !== null || (text.length >= shortestCode && /[1-9]/.test(text));
}

/** What was told late is settled before anything else. */
function ofLate(state: FlowState): Pick<FlowAsked, 'lateIntentId'> {
  const late = lateSuccessOf(state);
  return late === null ? {} : { lateIntentId: late.intentId };
}

function namedCodes(codes: readonly string[]): string {
  return codes.slice(0, 3).join(', ') + (codes.length > 3 ? ', …' : '');
}

function mayBeDone(
  codes: readonly string[],
  step: 'deny' | 'regenerate' | 'cancel' | 'amend' | 'sign' | 'start',
): FrontResult {
  const named = namedCodes(codes);
  const text =
    step === 'deny'
      ? `the service has told since then that an operation was done, under a code that no flow knows (${named}): if it is this one, take the step confirm with that code; once you know that it is not, send true in despiteEvents`
      : `the service has told since then that an operation was done, under a code that no flow knows (${named}): if it is this one, another would be a second loan; once you know that it is not, send true in despiteEvents`;
  return refusal('breach', 'event-of-nobody', step === 'start' ? 'despiteEvents' : 'step', text);
}

function unreadUnseen(): FrontResult {
  const text =
    'a callback under the code of this flow came that cannot be read as its note: its contract may stand at the service, and another would be a second loan; look at it first (its history, or lance letters), and once you know, send true in despiteEvents';
  return refusal('breach', 'event-unread', 'step', text);
}

function successUnsettled(late: LateSuccess, state: FlowState, field: string): FrontResult {
  const { rule, problem } = successSettled(late, mayTakeOver(state));
  return refusal('breach', rule, field, problem);
}

/**
 * That a shown success is none takes two people: one who denies it and another who settles it, or, where the service tells it late, one
 * who has not stood for the loan.
 */
function oneAlone(state: FlowState, { by, via }: Asker, step: FlowStep): FrontResult | null {
  const who = { by, ...(via === undefined ? {} : { via }) };
  const late = lateSuccessOf(state);
  if (step === 'accept' && late !== null && !maySettle(late, who, state)) {
    if (late.denied === undefined) {
      const standing = [...new Set(standingForLoan(state))].join(', ');
      const text = mayTakeOver(state)
        ? `the service told that this contract was endorsed, so another person than ${standing} settles it, with a token or a log-in of their own: POST /v1/contracts/${state.flowId}/accept. Where nobody else works on contracts two ways are left: if the contract is endorsed, one of them takes the step confirm; if it is undone or settled there, a third person gets a token of their own (lance tokens create) and takes the step accept`
        : `the service told that this contract was endorsed, so another person than ${standing} settles it, with a token or a log-in of their own: POST /v1/contracts/${state.flowId}/accept. Where nobody else works on contracts, a third person gets a token of their own (lance tokens create) and takes the step accept`;
      return refusal('not-allowed', 'second-person', 'step', text);
    }
    const text = `${late.denied.by} denied what was shown to be done, so another person settles it, with a token or a log-in of their own: POST /v1/${state.flow}s/${state.flowId}/accept`;
    return refusal('not-allowed', 'second-person', 'step', text);
  }
  if (step !== 'deny' || isKnown(who)) return null;
  if (mayDenyAwaited(state)) {
    const text = `the service took this renegotiation, so whoever says that nothing came of it does so with a token or a log-in of their own: POST /v1/renegotiations/${state.flowId}/deny`;
    return refusal('not-allowed', 'second-person', 'step', text);
  }
  if (!isShownDone(state) && !mayDenyContradicted(state)) return null;
  const isReceived = state.phase === 'endorsed' && !isShownEndorsed(state);
  const text = isReceived
    ? `the service has received this contract for endorsement, so whoever denies it does so with a token or a log-in of their own: POST /v1/contracts/${state.flowId}/deny`
    : `it was shown that this contract is endorsed, so whoever denies it does so with a token or a log-in of their own: POST /v1/contracts/${state.flowId}/deny`;
  return refusal('not-allowed', 'second-person', 'step', text);
}

function noteStillDue(
  { requestCode, phase }: FlowState,
  lateAt: EpochMs,
  step: FlowStep | 'start',
  field: string,
): FrontResult {
  const until = new Date(lateAt).toISOString();
  const text =
    phase === 'cancelled'
      ? `the service took this generation (${requestCode}) and its note is awaited until ${until}, so ${step} could lead to a second loan: start it again after that`
      : `the service took this generation (${requestCode}) and its note is awaited until ${until}, so ${step} could lead to a second loan: wait for it; the step proposal asks the service meanwhile`;
  return refusal('not-allowed', 'note-awaited', field, text);
}

function noteLate({ requestCode }: FlowState, step: FlowStep | 'start', field: string): FrontResult {
  const text = `the service took this renegotiation (${requestCode}), its note has not come, and its loan may stand without a signature, so ${step} could lead to a second one: find out there; if it stands, wait for its note; once you know that nothing came of it, take the step deny with a reason, which another person confirms with the step accept`;
  return refusal('not-allowed', 'note-awaited', field, text);
}

function endorsedAlready(step: FlowStep, state: FlowState): FrontResult {
  if (mayDenyContradicted(state)) {
    const both = `it was shown that the contract of this flow is endorsed, and told later that it is not, so ${step} could lead to a second loan: find out there; if it is endorsed, take the step confirm, and once it is known not to be, deny, which another person confirms with the step accept`;
    return refusal('not-allowed', 'endorsed-once', 'step', both);
  }
  const text = `the service says that the contract of this flow is endorsed already, and ${step} would lead to a second loan: take the step confirm`;
  return refusal('not-allowed', 'endorsed-once', 'step', text);
}

function codeAnswered({ proposalCode }: FlowState): FrontResult {
  const text = `the service has answered under ${proposalCode}, which was confirmed as the proposal of this flow, so it is not corrected any more: go on with it, or, where it is the proposal of somebody else, do nothing more here and settle it with the service`;
  return refusal('not-allowed', 'code-answered', 'requestCode', text);
}

/** The same step under another key, which a first answer that was not seen makes people send: it was taken. */
function isAskedAgain({ steps }: FlowState, { step, stepId, requestHash }: FlowAsked): boolean {
  const isSame = (known: FlowState['steps'][number]) => known.step === step && known.requestHash === requestHash;
  return steps.some((known) => isSame(known) && known.stepId !== stepId && known.outcome === 'done');
}

function splitAgain(): FrontResult {
  const text =
    'the very same splits were sent before, under another key, and taken; if the payee is to get as much once more, send an entry with another fieldId or day';
  return refusal('conflict', 'splits-once', 'splits', text);
}

function signersAgain(): FrontResult {
  const text =
    'the very same signers were registered before, under another key, and taken by the service: send them again only where the list has changed';
  return refusal('conflict', 'signers-once', 'signers', text);
}

/** Of a cancelled flow the note may have been signed elsewhere: whoever says that its loan was closed knows. */
function wasLent(phase: FlowState['phase'], closedByTermination: boolean | null): boolean {
  return phase === 'endorsed' || phase === 'renegotiated' || (phase === 'cancelled' && closedByTermination === true);
}

function contractAsNoted(own: FlowState, closedContract: string): Check {
  const noteNumber = own.note?.noteNumber ?? closedContract;
  if (noteNumber === closedContract) return null;
  const problem = `its note has the number ${noteNumber}: send it as the note does`;
  return { rule: 'contract-number', field: 'closedContract', problem };
}

function contractLent(own: FlowState, closedByTermination: boolean | null): Check {
  if (wasLent(own.phase, closedByTermination)) return null;
  const problem = `it stands in the flow ${own.flowId}, which is ${own.phase}: only a loan that was endorsed, and then closed by termination, can be renegotiated`;
  return { rule: 'closed-by-termination', field: 'closedContract', problem };
}

/** No more can be open than there were. */
function openWithinTerm(own: FlowState | null, openInstallments: number | null): Check {
  const term = own?.terms?.installments ?? null;
  if (term === null || openInstallments === null || openInstallments <= term) return null;
  const problem = `the closed loan had ${term} instalments, so no more can be open: correct it, or leave it out`;
  return { rule: 'open-installments', field: 'openInstallments', problem };
}

type BidTerms = Pick<Offer, 'amountCents' | 'installmentCents' | 'installments' | 'rateHundredths'>;

/** Of a bid whose record is lost, what was published of it is known, or nothing: there the order says what was promised. */
function promisedBy({ offer, claimId, unread }: Claim, order: ContractRequest): BidTerms {
  if (claimId !== unreadClaimId) return offer;
  const installmentCents = order.installmentCents ?? offer.installmentCents;
  if (!unread) return { ...offer, installmentCents };
  const amountCents = offer.amountCents > 0 ? offer.amountCents : (order.amountCents ?? 0);
  return { amountCents, installmentCents, installments: order.installments, rateHundredths: order.rateHundredths };
}

function valuesBeyondBid(
  { amountCents, installmentCents, installments, rateHundredths }: Omit<ContractRequest, 'requestId'>,
  bid: BidTerms,
): FlowBreach[] {
  const bounds = [
    ['amountCents', amountCents, bid.amountCents],
    ['installmentCents', installmentCents, bid.installmentCents],
    ['rateHundredths', rateHundredths, bid.rateHundredths],
  ] as const;
  const wrong = bounds.flatMap(([field, value, ofBid]): FlowBreach[] => {
    if (value === null || value === undefined) return [];
    const isBeyond = field !== 'rateHundredths' && value > ofBid;
    if (!isBeyond && !isOfOtherUnit(value, ofBid)) return [];
    const problem = isBeyond
      ? `the bid was ${ofBid}: send at most that`
      : `the bid was ${ofBid}: a tenth of it or less is taken for a slip of typing, whatever was meant, and cannot be ordered: send more than ${Math.floor(ofBid / 10)} (100000 cents are R$ 1,000.00, a rate of 150 is 1.50 %)`;
    return [{ rule: 'as-bid', field, problem }];
  });
  if (installments <= bid.installments) return wrong;
  const problem = `the bid was ${bid.installments}: send at most that`;
  return [...wrong, { rule: 'as-bid', field: 'installments', problem }];
}

/** What an order is below: the lender would lend less than it bid, or the worker get less than was proposed. */
function belowBid(
  { amountCents, installmentCents, installments, rateHundredths }: Omit<ContractRequest, 'requestId'>,
  bid: BidTerms,
  mostInstallmentCents: AmountCents,
): FlowBreach[] {
  const bounds = [
    ['amountCents', amountCents, bid.amountCents],
    ['installmentCents', installmentCents, Math.min(bid.installmentCents, mostInstallmentCents)],
    ['installments', installments, bid.installments],
    ['rateHundredths', rateHundredths, bid.rateHundredths],
  ] as const;
  return bounds.flatMap(([field, value, ofBid]): FlowBreach[] => {
    if (value === null || value === undefined || value >= ofBid) return [];
    const problem = `the bid was ${ofBid}, and this is ${value}: send what was bid, or, once you know that the worker wants less, send true in despiteBid`;
    return [{ rule: 'as-bid', field, problem }];
  });
}

type OriginalTerms = {
  rateHundredths: RateHundredths | null;
  installments: number | null;
  installmentCents: AmountCents | null;
};

/**
 * What of a renegotiation is far from the loan that was closed. No bid says what was promised, and a lower rate or a longer term is what
 * a renegotiation is for; so far off it is more often a slip of typing. A rate of a tenth, or above the original one, has rules of its
 * own. Null: not known, or not changed. `isOpen`: the term is of the instalments that are still open.
 */
function unlikeOriginal(
  order: OriginalTerms,
  original: OriginalTerms & { isOpen: boolean; maxInstallments: number },
): FlowBreach[] {
  return (['rateHundredths', 'installments', 'installmentCents'] as const).flatMap((name): FlowBreach[] => {
    const value = order[name];
    if (value === null) return [];
    const problem = isFarOff(name, value, original[name])
      ? farFromOriginal(name, original, value)
      : name === 'installments' && value > original.maxInstallments
        ? `no loan here has more than ${original.maxInstallments} instalments (setting pricing.maxInstallments), and this is ${value}: correct it, or, once you know that it is meant so, send true in despiteOriginal`
        : null;
    const field = name === 'installmentCents' ? 'estimatedInstallmentCents' : name;
    return problem === null ? [] : [{ rule: 'like-original', field, problem }];
  });
}

function isFarOff(name: keyof OriginalTerms, value: number, known: number | null): boolean {
  if (known === null || known <= 0) return false;
  const isRate = name === 'rateHundredths';
  const times = name === 'installments' ? 4 : 2;
  const isLow = value * times < known && !(isRate && isOfOtherUnit(value, known));
  return isLow || (!isRate && value > known * times);
}

function farFromOriginal(
  name: keyof OriginalTerms,
  { isOpen, ...original }: OriginalTerms & { isOpen: boolean },
  value: number,
): string {
  const known = original[name];
  if (name === 'rateHundredths')
    return `the rate of the closed loan was ${known}, and this is ${value}: correct it, or, once you know that it is meant so, send true in despiteOriginal`;
  if (name === 'installmentCents')
    return `the instalment calculated for the new loan was ${known}, and this is ${value}: correct it, or, once you know that it is meant so, send true in despiteOriginal`;
  return isOpen
    ? `the open instalments of the closed loan were ${known}, and this is ${value}: correct it, or, once you know that it is meant so, send true in despiteOriginal`
    : `the instalments of the closed loan were ${known}, and this is ${value}: correct it, or, once you know that it is meant so, send true in despiteOriginal`;
}

/** Whether an amendment leaves the terms as they are. */
function isOfTerms(
  { amountCents = null, installmentCents = null, installments, rateHundredths }: Omit<ContractRequest, 'requestId'>,
  terms: FlowTerms,
): boolean {
  return (
    amountCents === terms.amountCents &&
    installmentCents === terms.installmentCents &&
    installments === terms.installments &&
    rateHundredths === terms.rateHundredths
  );
}

function idOf(prefix: string, text: string): string {
  return `${prefix}-${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
}

/** What was said of another link is said no more. A renegotiation names its link to the service. */
function withLink<T extends ContractOrder & RenegotiationOrder>(order: T, link: LinkAsk, isNew: boolean): T {
  if (!isNew) return { ...order, link };
  const named = linkNamed(link)!;
  if (order.renegotiation === undefined) return { ...order, link };
  return { ...order, link, linkValid: null, renegotiation: { ...order.renegotiation, ...named } };
}

function inPercent(rateHundredths: RateHundredths): string {
  return `${(rateHundredths / 100).toFixed(2)} %`;
}

/** A contract that the service has only received is not said to be endorsed. */
function phaseSaid(state: FlowState): string {
  return state.phase === 'endorsed' && !isShownEndorsed(state) ? 'received for endorsement' : state.phase;
}

/** What to do about a flow that is there already depends on where it stands. It may be a colleague's: cancel is named last. */
function existing(state: FlowState, possible: readonly FlowStep[]): string {
  const { flow, flowId, by, startedAt, orderedAt = startedAt } = state;
  const begun = `begun by ${by ?? 'nobody'} at ${new Date(orderedAt).toISOString()}`;
  const there = `there is such a flow already: ${flowId}, ${phaseSaid(state)}; ${begun}; look at it: lance ${flow}s show ${flowId}`;
  if (possible.length === 0) return `${there}; no step is possible now`;
  const steps = possible.filter((step) => step !== 'cancel');
  const now = steps.length === 0 ? there : `${there}; possible now: ${steps.join(', ')}`;
  const isCancellable = steps.length < possible.length;
  return isCancellable ? `${now}; only if it is to be given up: its step cancel, then a start under a new key` : now;
}

function notAllowed(state: FlowState, step: FlowStep, possible: readonly FlowStep[]): FrontResult {
  const { operation } = state;
  if (operation?.status === 'asked' || operation?.status === 'intended') {
    const text = `${operation.operation} is under way in this flow; ask for ${step} again when it has ended`;
    return refusal('not-allowed', 'step-allowed', 'step', text);
  }
  if (step === 'deny' && state.note !== null && operation?.status === 'done') {
    const text = `its note has come, so it was done and there is nothing to deny: ${state.note.noteNumber}; possible now: ${possible.join(', ')}`;
    return refusal('not-allowed', 'step-allowed', 'step', text);
  }
  const none =
    state.phase === 'cancelled' && state.frozen === undefined
      ? 'no step is possible now: start it again under another key'
      : 'no step is possible now';
  const now = possible.length === 0 ? none : `possible now: ${possible.join(', ')}`;
  const text = `${step} cannot be asked for while the flow is ${phaseSaid(state)}; ${now}`;
  return refusal('not-allowed', 'step-allowed', 'step', text);
}
