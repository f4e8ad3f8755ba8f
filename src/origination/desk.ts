/**
 * The shell around `evolve`, `react` and `prepareOperation`: reads the records of flows back in log order, does what `react`
 * says, and appends. An operation is sent only when its intent has been read back as the first one of its slot.
 */
import { createAgenda } from '../bidding/agenda.ts';
import type { Authorisations } from '../bidding/authorisations.ts';
import { createFrozenAlarms } from '../bidding/frozen-alarms.ts';
import { createOutbox } from '../bidding/outbox.ts';
import type { EventLog, LogBatch, MarginCache, NewEntry, QueryAnswer, Service, Views } from '../bidding/ports.ts';
import { createSlots } from '../bidding/slots.ts';
import { problemOf } from '../bidding/unprocessable.ts';
import type { FlowSettings } from '../config/sections.ts';
import type { Clock } from '../domain/clock.ts';
import type { FlowAnswered, FlowOperation, FlowRecord } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { foldedInto } from '../domain/record-places.ts';
import { isSameCode, spellingsOf } from '../domain/request-codes.ts';
import { isCode } from '../domain/sealed-facts.ts';
import type { RequestState } from '../domain/states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import type { MarginFact } from '../wire/checks/worker-credit.ts';
import { bodyKeyOf, workerKeyOf } from '../wire/identity.ts';
import { parseJson } from '../wire/json.ts';
import { errorsOf } from '../wire/service-errors.ts';
import { createFlowCallbacks } from './callbacks.ts';
import { type CarriedPartitions, createCarriedFlows } from './carried-flows.ts';
import { eventsOfNobody } from './events-of-nobody.ts';
import { evolveAll, proposalIndex } from './evolve.ts';
import { isTurnedAway } from './fold-answers.ts';
import { createFlowIntake } from './intake.ts';
import { createFlowLedger } from './ledger.ts';
import { isReleased } from './next-steps.ts';
import type { Addresses, FlowStore, LoanService } from './ports.ts';
import {
  type ContractOrder,
  isLost,
  type LookupOrder,
  prepareOperation,
  type RenegotiationOrder,
} from './preparation.ts';
import { alarmsOf, type FlowAlarm, type FlowCommand, maySend, react } from './react.ts';
import { createFlowSender, isSameIntent } from './sender.ts';
import { termsOfEarlier } from './unfolded.ts';
import { decideInclusion, withdrawalsOfWorker } from './withdrawals-beside.ts';

/** For other inclusions of the same worker to be decided. They are within a second, where anybody decides them. */
const longestInclusionWaitMs = 60_000;

/** Stands with a flow whose bid won and whose proposal is known to have failed, where the service did not say why. */
export const notIncluded = 'the proposal was not included';

/** Places right after something became durable or left the house. */
export const flowSteps = [
  'flow-intended',
  'flow-intent-read-back',
  'flow-answer-received',
  'flow-answer-appended',
] as const;
export type FlowDurableStep = (typeof flowSteps)[number];

type FlowEvent =
  | { kind: 'step'; step: FlowDurableStep }
  | { kind: 'alarm'; code: FlowAlarm; flowId: string | null; text?: string }
  | { kind: 'fault'; code: string; message: string };

type FlowDeskWorld = {
  instance: string;
  log: EventLog;
  flows: FlowStore;
  views: Pick<Views, 'read'>;
  margins: Pick<MarginCache, 'read'>;
  service: LoanService & Pick<Service, 'askLinkDetail' | 'listLinks'>;
  authorisations: Pick<Authorisations, 'mayAsk'>;
  vault: Vault;
  clock: Clock;
  settings: FlowSettings;
  pricing: PricingSettings;
  addresses: Addresses;
  /** Where each process folds all flows by itself (`FlowStore.own`): which of them this one carries on. */
  carried?: CarriedPartitions;
  /** False: operators have paused the desk, or it is not known whether they have. */
  isOpen: () => boolean;
  observer: (event: FlowEvent) => void;
};

export type FlowDesk = {
  start: () => Promise<void>;
  /** Nothing is written from now on; what is under way is waited for. */
  stop: () => Promise<void>;
  status: () => { live: boolean; open: number; frozen: number; closed: readonly string[]; sending: number };
};

const batchEntries = 256;
/** Flows that are looked up in the log at once: a start or a take-over may find many. */
const readAtOnce = 16;

export function createFlowDesk(world: FlowDeskWorld): FlowDesk {
  const { instance, log, flows, service, vault, clock, settings, pricing, observer } = world;
  let stopping = false;
  let sequence = 0;
  /** Flows with a record of this kind on its way into the log, or being asked for: nothing is begun for them until it is there. */
  const busy = new Map<string, FlowRecord['kind']>();
  const underWay = new Set<Promise<unknown>>();
  /** Flows whose records are being read before an operation is sent. */
  const lookingUp = new Set<string>();
  const lookUps = createSlots(clock, () => readAtOnce);

  const outbox = createOutbox({ log, clock, retryMs: settings.retryMs, onRefused: onFault });
  const ledger = createFlowLedger(flows, termsOfEarlier, log);
  const agenda = createAgenda(clock, lookAgain);
  const frozenAlarms = createFrozenAlarms({
    clock,
    of: {
      plural: 'flows',
      list: 'lance contracts list marks them (or renegotiations, withdrawals, events), show ID says why, retry ID reads the records of one again',
    },
    tell: (flowId, text) => observer({ kind: 'alarm', code: 'flow-frozen', flowId, text }),
  });
  const onAnswer = () => observer({ kind: 'step', step: 'flow-answer-received' });
  const sender = createFlowSender({ instance, service, vault, clock, keyedAttempts: settings.keyedAttempts, onAnswer });
  const callbacks = createFlowCallbacks({ flows, log, outbox, clock, vault, pricing });
  const intake = createFlowIntake({
    ...{ log, flows, clock, maxEntries: batchEntries, retryMs: settings.retryMs, stopping: () => stopping },
    onBatch,
    onLive,
    onLost: (partition) => {
      for (const flowId of ledger.lose(partition)) agenda.remove(flowId);
      sender.partitionsGone();
    },
    onClosed: (text) => observer({ kind: 'alarm', code: 'partition-closed', flowId: null, text }),
    onCallbacks: callbacks.handle,
    onRestart: () => {
      ledger.clear();
      busy.clear();
      sender.partitionsGone();
    },
    onFault,
  });

  const carried =
    world.carried === undefined || flows.own === undefined
      ? null
      : createCarriedFlows({
          partitions: world.carried,
          caughtUp: flows.own.caughtUp,
          clock,
          onGained: () => act(ledger.all()),
          onLost: sender.partitionsGone,
          onFault,
        });

  async function onLive(partition: number, position: number): Promise<void> {
    const states = await ledger.load(partition, position);
    // What was on its way before may have been read back by another owner alone; a second record is absorbed by the fold.
    for (const { flowId } of states) busy.delete(flowId);
    await act(states);
  }

  function onFault(fault: unknown): void {
    const { code, message } = fault instanceof Fault ? fault : { code: 'fault', message: String(fault) };
    observer({ kind: 'fault', code, message });
  }

  function owns(flowId: string): boolean {
    const partition = ledger.partitionOf(flowId);
    return partition !== null && intake.owns(partition) && carried?.owns(flowId) !== false;
  }

  /** What another process works on is no business of this one until it comes. */
  async function workedOnHere(states: readonly FlowState[]): Promise<readonly FlowState[]> {
    if (carried === null) return states;
    await carried.learn(states);
    return states.filter(({ flowId }) => carried.owns(flowId));
  }

  async function onBatch(batch: LogBatch<FlowRecord>, live: boolean): Promise<void> {
    const folds = await ledger.fold(batch);
    await carried?.learn(folds.map(({ state }) => state));
    for (const { state, before, record } of folds) {
      // Another record may come before the one that is on its way.
      if (record === null || record.kind === busy.get(state.flowId)) busy.delete(state.flowId);
      if (state.frozen === undefined) frozenAlarms.thawed(state.flowId);
      const earlier = before?.operation?.intent?.intentId;
      const sent = state.operation?.status !== 'intended' || state.operation.intent?.intentId !== earlier;
      if (earlier !== undefined && sent) sender.forget(earlier);
      if (ledger.get(state.flowId) === null) agenda.remove(state.flowId);
      // The process that works on it reports it.
      if (!live || carried?.owns(state.flowId) === false) continue;
      if (record?.kind === 'intended') observer({ kind: 'step', step: 'flow-intent-read-back' });
      // What others folded, they told.
      const alarms = record === null ? [] : alarmsOf(before, state, settings);
      for (const code of alarms) observer({ kind: 'alarm', code, flowId: state.flowId });
    }
    const flowIds = [...new Set(folds.map(({ state }) => state.flowId))];
    for (const flowId of flowIds) if (ledger.get(flowId) === null) carried?.forget(flowId);
    if (live)
      await act(
        flowIds.flatMap((flowId) => ledger.get(flowId) ?? []),
        true,
      );
  }

  /** Does what each state asks for. `isFresh`: they were just folded. */
  async function act(given: readonly FlowState[], isFresh = false): Promise<void> {
    const states = await workedOnHere(given);
    if (states.length === 0 || stopping) return;
    const now = clock.now();
    const margins = await marginsOf(states, now);
    const bids = await bidsOf(states);
    const waiting: FlowState[] = [];
    for (const state of states) {
      const { flowId } = state;
      // Folded further meanwhile: whoever folded it looks at what it has become.
      if (busy.has(flowId) || ledger.get(flowId) !== state) continue;
      if (!owns(flowId) || !world.isOpen()) {
        agenda.set(flowId, now + settings.pollMs);
        continue;
      }
      const margin = margins.get(state.subject.linkKey ?? '') ?? null;
      const commands = processed(flowId, () => react(state, { now, instance, margin, tried: sender.tried }, settings));
      for (const command of commands ?? []) {
        if (command.kind === 'wait') agenda.set(flowId, command.until);
        else if (command.kind === 'alarm' && command.code === 'flow-frozen' && state.frozen !== undefined)
          frozenAlarms.found(flowId, state.frozen, isFresh);
        else if (command.kind === 'alarm') observer({ ...command, flowId });
        else if (command.kind === 'look-up-proposal') waiting.push(state);
        else perform(state, command, { margin, bid: bids.get(state.subject.requestId ?? '') ?? null }, now);
      }
    }
    if (waiting.length > 0) await lookUpProposals(waiting, now);
  }

  async function marginsOf(states: readonly FlowState[], now: EpochMs): Promise<Map<string, MarginFact>> {
    const keys = states.flatMap(({ phase, subject }) => (phase === 'preparing' ? (subject.linkKey ?? []) : []));
    if (keys.length === 0) return new Map();
    const details = await world.margins.read([...new Set(keys)], now);
    return new Map(details);
  }

  /** Of contracts on which something is about to be sent: the bid may be lost since a person asked for it. */
  async function bidsOf(states: readonly FlowState[]): Promise<ReadonlyMap<string, RequestState>> {
    const requestIds = states.flatMap(({ flow, phase, operation, subject }) => {
      const isNext = phase === 'preparing' || phase === 'signed' || operation?.status === 'intended';
      return flow === 'contract' && isNext ? (subject.requestId ?? []) : [];
    });
    if (requestIds.length === 0) return new Map();
    const rows = await world.views.read(requestIds);
    return new Map([...rows].map(([requestId, { state }]) => [requestId, state]));
  }

  type Known = Pick<Parameters<typeof prepareOperation>[3], 'margin' | 'bid'>;
  type Deed = Exclude<FlowCommand, { kind: 'wait' | 'alarm' | 'look-up-proposal' }>;

  function perform(state: FlowState, command: Deed, known: Known, now: EpochMs): void {
    switch (command.kind) {
      case 'append':
        if (command.record.kind === 'turned' && state.phase === 'endorsement-refused') turn(state, command.record);
        else append(command.record);
        return;
      case 'prepare':
        if (state.operation?.operation === command.operation && isTurnedAway(state.operation))
          prepareAgain(state, command, known);
        else if (command.operation === 'inclusion') prepareInclusion(state, command, known);
        else prepare(state, command.operation, command.slot, known, now);
        return;
      case 'send':
        if (!withdrawn(state, known.bid, now)) spawn(send(state));
        return;
      case 'ask-margin':
        busy.set(state.flowId, 'margin-asked');
        spawn(askMargin(state));
        return;
      case 'look-up-event':
        spawn(orLater(state.flowId, () => callbacks.claim(state, command.requestCode, now)));
        return;
      case 'give-event-up':
        spawn(orLater(state.flowId, () => callbacks.giveUp(state, command.requestCode, now)));
        return;
      case 'look-up-flow':
        spawn(orLater(state.flowId, () => callbacks.deliver(state, now)));
        return;
      default:
        command satisfies never;
    }
  }

  /** What is made of one flow's stored content. Null: it cannot be, and the flow is frozen; the others go on. */
  function processed<T>(flowId: string, run: () => T): T | null {
    try {
      return run();
    } catch (fault) {
      freeze(flowId, `what is to be done next: ${problemOf(fault)}`);
      return null;
    }
  }

  function freeze(flowId: string, problem: string): void {
    append({ kind: 'frozen', flowId, at: clock.now(), problem });
  }

  function append(record: FlowRecord): void {
    busy.set(record.flowId, record.kind);
    spawn(outbox.keep([entryOf(record)]));
  }

  /**
   * An intent whose bid was lost before a byte was written: it is told as not sent, and what is prepared anew is withheld. With a
   * key, or once tried, it may have been taken: it is sent as it stands.
   */
  function withdrawn({ flowId, operation }: FlowState, bid: Known['bid'], now: EpochMs): boolean {
    const intent = operation!.intent!;
    if (bid === null || !isLost(bid.phase) || intent.idempotencyKey !== null || sender.tried(intent.intentId))
      return false;
    append({
      ...{ kind: 'answered', flowId, at: now, intentId: intent.intentId, instance },
      ...{ result: { kind: 'not-sent', reason: 'bid-lost', retryAt: null }, earlierAttemptPossible: false },
      ...{ firstByteAt: null, status: null, sealedAnswer: null },
    });
    return true;
  }

  /** What was turned away may be done all the same: while something waits that may be its own, it is not sent again by itself. */
  function prepareAgain(state: FlowState, { operation, slot }: Extract<Deed, { kind: 'prepare' }>, known: Known): void {
    const { flowId } = state;
    busy.set(flowId, 'intended');
    const look = async () => {
      let waiting: readonly string[] | null = null;
      try {
        waiting = await eventsOfNobody(flows, state, pricing);
      } finally {
        if (waiting === null || ledger.get(flowId) !== state) busy.delete(flowId);
      }
      if (stopping) return;
      if (ledger.get(flowId) !== state) lookAgain([flowId]);
      else if (waiting.length === 0) prepare(state, operation, slot, known, clock.now());
      else append(doubtful(state, waiting));
    };
    spawn(orLater(flowId, look));
  }

  /** Others of the same worker may have been ordered in the same moment: what does not fit beside them is held back. */
  function prepareInclusion(state: FlowState, { operation, slot }: Extract<Deed, { kind: 'prepare' }>, known: Known) {
    const { flowId, subject } = state;
    busy.set(flowId, 'intended');
    const look = async () => {
      let beside: readonly FlowState[];
      try {
        beside = subject.workerKey === null ? [] : await withdrawalsOfWorker(flows, subject.workerKey);
      } finally {
        busy.delete(flowId);
      }
      if (stopping) return;
      if (ledger.get(flowId) !== state) {
        lookAgain([flowId]);
        return;
      }
      const others = beside.map((other) => ({ state: other, isReleased: isReleased(other, settings) }));
      const now = clock.now();
      const wait = { now, longestWaitMs: longestInclusionWaitMs };
      const decision = processed(flowId, () => decideInclusion(state, others, vault.open, wait));
      if (decision === null) return;
      if (decision === 'goes') prepare(state, operation, slot, known, now);
      else if (decision === 'waits') agenda.set(flowId, now + settings.pollMs);
      else append({ kind: 'withheld', flowId, at: now, operation, slot, breaches: [decision] });
    };
    spawn(orLater(flowId, look));
  }

  /** An endorsement that was refused may be done all the same: while something waits that may be its success, no other contract is generated by itself. */
  function turn(state: FlowState, record: FlowRecord): void {
    const { flowId } = state;
    busy.set(flowId, 'turned');
    const look = async () => {
      let waiting: readonly string[] | null = null;
      try {
        waiting = await eventsOfNobody(flows, state, pricing);
      } finally {
        if (waiting === null || waiting.length > 0 || ledger.get(flowId) !== state) busy.delete(flowId);
      }
      if (stopping) return;
      if (ledger.get(flowId) !== state) lookAgain([flowId]);
      else if (waiting.length === 0) append(record);
      else agenda.set(flowId, clock.now() + settings.competenceLookMs);
    };
    spawn(orLater(flowId, look));
  }

  function doubtful({ flowId, operation }: FlowState, waiting: readonly string[]): FlowRecord {
    const codes = waiting.slice(0, 3).join(', ');
    const reason = `turned away, and the service has told since then of an operation under a code that no flow knows: ${codes}`;
    return {
      ...{ kind: 'answered', flowId, at: clock.now(), intentId: operation!.intent!.intentId, instance },
      ...{ result: { kind: 'unknown', reason }, earlierAttemptPossible: true },
      ...{ firstByteAt: null, status: null, sealedAnswer: null },
    };
  }

  function prepare(state: FlowState, operation: FlowOperation, slot: string, known: Known, now: EpochMs): void {
    const { flowId } = state;
    const facts = {
      now,
      ...known,
      open: vault.open,
      pseudonym: (cpf: string) => workerKeyOf(vault, cpf),
      bodyKey: (body: string) => bodyKeyOf(vault, body),
      pricing,
      settings,
      addresses: world.addresses,
    };
    const prepared = processed(flowId, () => prepareOperation(state, operation, slot, facts));
    if (prepared === null) return;
    const { preparation, expected, most } = prepared;
    if (preparation.kind === 'withheld') {
      const { breaches } = preparation;
      append({ kind: 'withheld', flowId, at: now, operation, slot, breaches });
      return;
    }
    sequence += 1;
    const { body, path, idempotencyKey } = preparation.prepared;
    busy.set(flowId, 'intended');
    const intentId = `${instance}:${sequence}`;
    const sealedBody = vault.seal(sealedPlaces.flowBody(flowId), body);
    sender.wrote({ intentId, path, idempotencyKey, sealedBody });
    const { keyedAttempts, retryMs, retryMaxMs } = settings;
    const record: FlowRecord = {
      ...{ kind: 'intended', flowId, at: now, intentId, instance, operation, slot },
      ...{ idempotencyKey, path, sealedBody, expected },
      ...(most === undefined ? {} : { most }),
      retry: { keyedAttempts, retryMs, retryMaxMs },
      ...(operation === 'endorsement' ? { forgetsCode: true } : {}),
    };
    spawn(outbox.keep([entryOf(record)]).then(() => observer({ kind: 'step', step: 'flow-intended' })));
  }

  async function send(state: FlowState): Promise<void> {
    const { flowId } = state;
    const { intentId, sealedBody } = state.operation!.intent!;
    if (!sender.isOwn(state.operation!.intent!) && !(await isAsLogged(state))) return;
    const body = processed(flowId, () => vault.open(sealedPlaces.flowBody(flowId), sealedBody));
    if (body === null) return;
    const around = { instance, tried: () => false };
    // Asked where the first byte is written: the flow may be somebody else's by then, or further on.
    const mayWrite = () => {
      const known = ledger.get(flowId);
      if (stopping || !world.isOpen() || !owns(flowId) || known === null) return false;
      return maySend(known, intentId, { ...around, now: clock.now() }, settings);
    };
    const record = await sender.send(state, body, mayWrite);
    if (record === null) return;
    await outbox.keep([entryOf(await withOwnCode(record))]);
    observer({ kind: 'step', step: 'flow-answer-appended' });
  }

  /**
   * The answer; one with the proposal or the request code of another flow says nothing of this one: what is paid out of that
   * proposal, or told under that code, is the other's.
   */
  async function withOwnCode(record: FlowAnswered): Promise<FlowAnswered> {
    const { flowId, result } = record;
    if (result.kind !== 'accepted' && result.kind !== 'unknown') return record;
    const { requestCode = null } = result;
    const proposalCode = result.kind === 'accepted' ? result.proposalCode : null;
    const indexes = [
      ...(proposalCode === null ? [] : spellingsOf(proposalCode).map(proposalIndex)),
      ...(requestCode === null ? [] : spellingsOf(requestCode)),
    ];
    if (indexes.length === 0) return record;
    const holder = [...(await flows.findByCode(indexes)).values()].find((each) => each !== flowId);
    const isOld = holder === undefined && requestCode !== null && hadBefore(ledger.get(flowId), requestCode);
    if (holder === undefined && !isOld) return record;
    const what = proposalCode === null ? 'request code' : 'proposal';
    const whose = isOld ? 'a request code that this flow had before' : `the ${what} of the flow ${holder}`;
    const reason = `answered with ${whose}: find out from the service which is its own, and take the step confirm with it, or deny where nothing was done`;
    return { ...record, result: { kind: 'unknown', reason, isFinal: true } };
  }

  /**
   * An operation that was found came from a view, which is not what binds us: its record is. False: it is not sent, for now or,
   * where view and log differ, until somebody has looked.
   */
  async function isAsLogged(state: FlowState): Promise<boolean> {
    const { flowId, places } = state;
    if (lookingUp.has(flowId)) return false;
    lookingUp.add(flowId);
    if (!(await lookUps.wait(clock.now() + settings.retryMs))) {
      lookingUp.delete(flowId);
      agenda.set(flowId, clock.now() + settings.retryMs);
      return false;
    }
    let problem: string | null = 'its records were not read';
    try {
      await orLater(flowId, async () => {
        const entries = foldedInto(state, await log.readKey('flows', flowId, places));
        const said = evolveAll(
          entries.map(({ record }) => record),
          termsOfEarlier,
        );
        problem = differenceOf(said, state);
        // Folded further meanwhile: whoever folded it looks at what it has become.
        if (problem !== null && !stopping && ledger.get(flowId) === state) freeze(flowId, problem);
      });
    } finally {
      lookUps.leave();
      lookingUp.delete(flowId);
    }
    return problem === null && ledger.get(flowId) === state;
  }

  async function askMargin(state: FlowState): Promise<void> {
    const { flowId } = state;
    const order = processed(
      flowId,
      () =>
        JSON.parse(vault.open(sealedPlaces.flowOrder(flowId), state.sealed!)) as
          | ContractOrder
          | RenegotiationOrder
          | LookupOrder,
    );
    if (order === null) return;
    const { link } = order;
    const record = (refusal: string | null, requestCode: string | null = null, answer?: string): FlowRecord => ({
      ...{ kind: 'margin-asked', flowId, at: clock.now(), refusal, requestCode },
      ...(answer ? { sealedAnswer: vault.seal(sealedPlaces.flowAnswer(flowId), answer) } : {}),
    });
    if (link === null) {
      await outbox.keep([entryOf(record('link-unknown'))]);
      return;
    }
    const { cpf } = link.identity;
    if (cpf !== null && !world.authorisations.mayAsk(workerKeyOf(vault, cpf), link.authorisationNumber)) {
      await outbox.keep([entryOf(record('authorisation-missing'))]);
      return;
    }
    const ofAll = state.flow === 'lookup' && link.identity.registration === null;
    const cached = ('cached' in order ? order.cached : null) ?? settings.askCached;
    const answer = await (ofAll ? service.listLinks : service.askLinkDetail)({ ...link, cached });
    if (answer.kind === 'unwritable') {
      freeze(flowId, `the query of its link: ${answer.problem}`);
      return;
    }
    if (answer.kind === 'failed') {
      // Nobody was asked, or nobody answered: a query that may be charged is not repeated at once.
      busy.delete(flowId);
      agenda.set(flowId, clock.now() + settings.retryMs);
      return;
    }
    const asked =
      answer.kind === 'refused'
        ? record(refusalIn(answer), null, answer.response.body)
        : record(null, answer.requestCode);
    await outbox.keep([entryOf(asked)]);
  }

  async function lookUpProposals(states: readonly FlowState[], now: EpochMs): Promise<void> {
    const rows = await world.views.read(states.map(({ subject }) => subject.requestId!));
    for (const { flowId, subject } of states) {
      const won = rows.get(subject.requestId!)?.state;
      const failed = won?.phase === 'winner-failed';
      const winner = failed || won?.phase === 'proposed' ? won.winner : saidByPerson(won);
      if (winner === null) continue;
      const { proposalCode, proposalNumber, validUntil } = winner;
      const errors = failed && winner.errors.length === 0 ? [notIncluded] : winner.errors;
      append({ kind: 'proposed', flowId, at: now, proposalCode, proposalNumber, validUntil, errors });
    }
  }

  function lookAgain(flowIds: readonly string[]): void {
    const states = flowIds.flatMap((flowId) => ledger.get(flowId) ?? []);
    if (states.length > 0)
      spawn(
        orLater(
          states.map(({ flowId }) => flowId),
          () => act(states),
        ),
      );
  }

  /** Outside the consumer nobody begins again by itself. */
  async function orLater(flowIds: string | readonly string[], work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      onFault(fault);
      for (const flowId of [flowIds].flat()) agenda.set(flowId, clock.now() + settings.retryMs);
    }
  }

  function ownCount(tally: 'frozen' | 'unfinished'): number {
    return ledger.rowsOf(tally).filter(({ flowId }) => owns(flowId)).length;
  }

  function spawn(work: Promise<unknown>): void {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  }

  return {
    start: async () => {
      await intake.start();
      carried?.start();
    },
    stop: async () => {
      stopping = true;
      carried?.stop();
      frozenAlarms.stop();
      agenda.close();
      await intake.stop();
      await outbox.close();
      await Promise.allSettled([...underWay]);
    },
    status: () => ({
      live: intake.isLive(),
      open: carried === null ? ledger.count() : ownCount('unfinished'),
      frozen: carried === null ? ledger.frozenCount() : ownCount('frozen'),
      closed: intake.closed(),
      sending: sender.count(),
    }),
  };
}

/** Where a person has said that the bid is contemplated, no event may say more: the flow goes on, if need be without the codes of a proposal. */
function saidByPerson(won: RequestState | undefined): Omit<NonNullable<RequestState['winner']>, 'requestCode'> | null {
  if (won?.phase !== 'contemplated' || won.resolution?.as !== 'contemplated') return null;
  // Its errors are what the person has contradicted.
  return { ...(won.winner ?? { proposalCode: null, proposalNumber: null, validUntil: null }), errors: [] };
}

/** Of an earlier generation: what is told under it may be of that one. */
function hadBefore(state: FlowState | null, code: string): boolean {
  if (state === null || state.operation?.operation === 'endorsement') return false;
  return state.codes.some((known) => isSameCode(known, code)) && !isSameCode(state.requestCode ?? '', code);
}

function entryOf(record: FlowRecord): NewEntry {
  return { topic: 'flows', key: record.flowId, record };
}

/** The reason that we know it by, or else the code that the service gives. */
function refusalIn({ reason, response }: Extract<QueryAnswer, { kind: 'refused' }>): string {
  if (reason !== 'unclassified') return reason;
  const read = parseJson(response.body);
  const code = read.kind === 'parsed' ? (errorsOf(read.value)[0]?.code ?? '') : '';
  return isCode(code) ? code : reason;
}

/** Why an operation as a view has it is not sent, in words that quote nothing of it; null: the log says the same. */
function differenceOf(said: FlowState | null, { operation, places }: FlowState): string | null {
  if (said?.frozen !== undefined) return `the record of the operation does not hold: ${said.frozen.problem}`;
  const inLog = said?.operation ?? null;
  // Where the row does not say which records it was folded from, there may be later ones, on their way here.
  const isStill = inLog?.status === 'intended' || places === undefined;
  const isSame = inLog?.operation === operation!.operation && inLog.slot === operation!.slot;
  if (isStill && isSame && inLog.intent !== null && isSameIntent(inLog.intent, operation!.intent!)) return null;
  return 'what the views say is not the operation of the log, so nothing is sent; see lance views verify';
}
