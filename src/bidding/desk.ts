/**
 * The desk: the shell around `evolve`, `react` and `decide`. It reads its records back in log order, does what `react`
 * says, and appends. The life of a request can be followed here from top to bottom: folded, decided, queued, claimed,
 * read back, sent, answered. Nothing waits here for a single POST.
 */

import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Answered, AuctionRecord, Hindrance } from '../domain/records.ts';
import type { Link } from '../domain/request.ts';
import { joinRequest } from '../domain/sealed-facts.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { comesWithLink } from '../rules/facts.ts';
import { createAcceptance } from './acceptance.ts';
import { type Agenda, createAgenda } from './agenda.ts';
import { type BidSender, createBidSender } from './bid-sender.ts';
import { type BiddingWatch, createBiddingWatch, createServiceHealth } from './bidding-status.ts';
import { bidsNamedIn, type Callbacks, createCallbacks, type DetailTold, type FailureTold } from './callbacks.ts';
import { type ClaimDesk, createClaimDesk } from './claim-desk.ts';
import { type Curves, createCurves } from './curves.ts';
import type { Policy } from './decide.ts';
import { type Decided, decideBatch } from './decider.ts';
import { createDecisionQueue, type DecisionQueue } from './decision-queue.ts';
import type { DeskStatus, DeskWorld } from './desk-world.ts';
import { findEarlierBids } from './earlier-bids.ts';
import { deadlineOf } from './evolve.ts';
import { createFoldTeller } from './fold-events.ts';
import { createFrozenAlarms } from './frozen-alarms.ts';
import { createGate, type Gate } from './gate.ts';
import { hindered } from './hindrances.ts';
import { createIntake, type Intake } from './intake.ts';
import { mayDifferLate, tellLateDifference } from './late-differences.ts';
import { mostWouldBe } from './lately.ts';
import { createLedger, type Fold, type Ledger } from './ledger.ts';
import { createLinkDesk, type LinkDesk } from './link-desk.ts';
import { createMean } from './mean.ts';
import { createOfferQueue, type OfferQueue, worthText } from './offer-queue.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { createPacer } from './pacer.ts';
import { type LedgerRow, type NewEntry, type QueryFailure, toldPause } from './ports.ts';
import { type Command, type DeskCode, deskPass, react } from './react.ts';
import { waitingByQueue } from './review.ts';
import { cutoffOf } from './send-claim.ts';
import { createSendLimit, type SendLimit } from './send-limit.ts';
import { createSettledRows, type SettledRows } from './settled-rows.ts';
import { sleep } from './sleep.ts';
import { createSourceDesk, type SourceDesk } from './source-desk.ts';
import { createTimeWatch, type TimeWatch } from './time-watch.ts';
import { problemOf } from './unprocessable.ts';
import { createWindowEnds } from './window-ends.ts';

export type Desk = {
  start: () => Promise<void>;
  /** Stops writing at once, waits for what is under way; claims without an answer wait in the log. */
  stop: () => Promise<void>;
  status: () => DeskStatus;
  /** Why nothing may be written to the service just now; null when it may. */
  gate: () => string | null;
  /** Partitions that this process is answerable for just now. */
  partitions: () => readonly number[];
  /** When a batch was last folded, or the log was seen to have nothing new; on the monotonic clock. */
  progressAtMs: () => number;
};

/** Requests decided without letting anything else happen. */
const decidedAtOnce = 32;

/** A bid is decided in time when this many times the usual way from its claim to its first byte is left until its deadline. */
const timesToFirstByte = 2;

/** Between the last moment for the answer to a review and the last moment for the first byte of the bid. */
const answerToBidMs = 1_000;

export function createDesk(world: DeskWorld): Desk {
  const { log, views, clock, settings, observer } = world;
  const tellFold = createFoldTeller(observer);
  let stopping = false;
  const undecided: DecisionQueue = createDecisionQueue();
  /** Requests being decided. */
  const deciding = new Set<RequestId>();
  let isDeciding = false;
  let [isTelling, isTellingAgain] = [false, false];
  /** From the claim to the first byte of its bid. */
  const claimToByteMs = createMean();
  /** Requests with an end on its way into the log, or with the record that a person is asked. */
  const ending = new Set<RequestId>();
  const underWay = new Set<Promise<unknown>>();
  const storedPolicies = new Set<string>();

  const health = createServiceHealth(clock);
  const common = { ...world, service: health.heard(world.service), stopping: () => stopping };
  const time: TimeWatch = createTimeWatch(common);
  const gate: Gate = createGate({
    ...common,
    timeDoubt: time.doubt,
    viewsWhole: () => intake.viewsWhole(),
    onOpen: () => claims.pump(),
  });
  const ledger: Ledger = createLedger(views, world.earlierTerms, log);
  const curves: Curves = createCurves(world);
  const pricing = { acceptance: createAcceptance(world), pacer: createPacer(settings.demandByHour) };
  const queue: OfferQueue = createOfferQueue(settings.queueLimit);
  const agenda: Agenda = createAgenda(clock, lookAgain);
  const outbox: Outbox = createOutbox({ log, clock, retryMs: settings.retryFirstMs, onRefused: onLogRefused });
  const links: LinkDesk = createLinkDesk({ ...common, onRefused: onQueryRefused, onUnwritable });
  const sources: SourceDesk = createSourceDesk({
    ...common,
    enrichment: world.enrichment ?? null,
    keep: (record) => outbox.keep([{ topic: 'auctions', key: record.requestId, record }]),
    spawn,
  });
  const timeDoubted = () => time.doubt() !== null;
  const times = { orphanTimeoutMs: settings.graceMs, retryMs: settings.retryFirstMs, timeDoubted };
  const isCatchingUp = () => !intake.isLive();
  const told = { onDetails, onLinks, onFailure };
  const callbacks: Callbacks = createCallbacks({ ...common, ...times, ...told, isCatchingUp, outbox });
  const read = { onFolds: onRecords, onLive, onLost: lose, onRestart: forgetAll };
  const intake: Intake = createIntake({ ...common, ...read, callbacks, ledger });
  const sendLimit: SendLimit = createSendLimit(settings.sendLimit);
  const bidding: BiddingWatch = createBiddingWatch({ ...common, gate, health, partitionsNotLive });
  const { endCode } = bidding;
  const sender: BidSender = createBidSender({
    ...common,
    gate,
    endCode,
    ledger,
    sendLimit,
    isLive: intake.isLive,
    owns,
    onRoom: () => claims.pump(),
  });
  const room = { queue, gate, ledger, outbox, agenda, sender, sendLimit, owns, end, spawn, endCode };
  const isEnding = (requestId: RequestId) => ending.has(requestId);
  const claims: ClaimDesk = createClaimDesk({ ...common, ...room, isEnding, decideAnew: lookAgain });

  const frozenAlarms = createFrozenAlarms({
    clock,
    of: {
      plural: 'requests',
      list: 'lance bids list marks them, lance bids show ID says why, lance bids retry ID reads the records of one again',
    },
    tell: (requestId, text) => observer({ kind: 'alarm', code: 'request-frozen', requestId, text }),
  });
  const settledRows: SettledRows = createSettledRows({
    ...{ takeUp: ledger.takeUp, act, clock, spawn },
    onFault: ({ code, message }) => observer({ kind: 'fault', code, message }),
  });
  const windowEnds = createWindowEnds({
    ...{ views, act, clock, spawn },
    partitions: () => intake.owned(),
    isEnding: (requestId) => ending.has(requestId),
    onFault: ({ code, message }) => observer({ kind: 'fault', code, message }),
  });

  /** What stands in a partition is done by its owner. */
  function owns(requestId: RequestId): boolean {
    const partition = ledger.partitionOf(requestId);
    return partition !== null && intake.owns(partition);
  }

  /** One partition that is not live is no reason while others are; which one it is stands in the readiness. */
  function partitionsNotLive(): string | null {
    const behind = intake.catchingUp();
    if (behind === null || behind.length > 0) {
      const progress =
        behind === null
          ? 'the log is about to be read'
          : `${behind.map((partition) => `auctions/${partition}`).join(', ')}: being caught up, ${Math.floor(100 * intake.foldedShare())} % folded`;
      const interruption = intake.interruption();
      return interruption === null ? progress : `${progress}; reading was interrupted: ${interruption}`;
    }
    if (intake.owned().length > 0) return null;
    return (
      intake
        .closed()
        .filter((place) => place.startsWith('auctions/'))
        .join('; ') || null
    );
  }

  async function onLive(partition: number, position: number): Promise<void> {
    const { rows, later } = await ledger.load(partition, position);
    // An end begun before may have been read back by another owner alone; one that is begun twice is absorbed by the fold.
    for (const requestId of [...rows.map(({ state }) => state.requestId), ...later]) ending.delete(requestId);
    act(rows);
    if (stopping) return;
    settledRows.begin(partition, later);
    if (world.tellsEarlierBids) tellEarlierBids();
  }

  /** One look is of all rows: partitions that are taken over together are told by the next one. */
  function tellEarlierBids(): void {
    isTellingAgain = isTelling;
    if (isTelling) return;
    isTelling = true;
    spawn(
      findAndTell().finally(() => {
        isTelling = false;
        if (isTellingAgain && !stopping) tellEarlierBids();
      }),
    );
  }

  /** Nothing depends on them but what people are told: where they cannot be read, they are not told. */
  async function findAndTell(): Promise<void> {
    try {
      observer({ kind: 'earlier-bids', bids: await findEarlierBids({ views, log }, mostWouldBe) });
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      observer({ kind: 'fault', code: fault.code, message: fault.message });
    }
  }

  function onLogRefused(fault: unknown): void {
    const message = fault instanceof Fault ? fault.message : 'a fault of our own';
    bidding.logRefused(message);
    observer({ kind: 'log-refused', topic: 'auctions', message });
  }

  function onQueryRefused(requestIds: readonly RequestId[], reason: QueryFailure): void {
    if (reason === 'no-links') passAll(requestIds, 'margin-missing', 'the worker has no employment link');
    else if (reason === 'unread') passAll(requestIds, 'link-in-doubt', 'the answer to the link query cannot be read');
    else if (reason === 'other-link')
      passAll(requestIds, 'link-in-doubt', 'the answer to the link query is of another worker or of another link');
    else {
      const code = reason === 'unclassified' ? 'link-refused' : reason;
      passAll(besidesUseful(requestIds), code, 'the service refused the link query');
    }
  }

  /** Those that cannot be decided without their links. The others are, from what is known. */
  function besidesUseful(requestIds: readonly RequestId[]): readonly RequestId[] {
    const useful = links.giveUp(requestIds);
    lookAgain(useful);
    return useful.length === 0 ? requestIds : requestIds.filter((requestId) => !useful.includes(requestId));
  }

  function onUnwritable(requestIds: readonly RequestId[], problem: string): void {
    for (const requestId of requestIds) freeze(requestId, `the query of its link: ${problem}`);
  }

  function onDetails(details: readonly DetailTold[]): void {
    lookAgain(details.flatMap(links.detailArrived));
  }

  function onFailure(failure: FailureTold): void {
    links.failureArrived(failure);
  }

  function onLinks(workerKey: string, list: readonly Link[]): void {
    const text = 'the worker has no single eligible employment link to take the margin from';
    const unclear = links.listArrived(workerKey, list);
    const isAnyEligible = list.some(({ eligible }) => eligible === true);
    passAll(isAnyEligible ? besidesUseful(unclear) : unclear, 'margin-missing', text);
  }

  /** Records read back, in log order. */
  async function onRecords(folds: readonly Fold[], live: boolean): Promise<void> {
    for (const fold of folds) afterFold(fold, live);
    if (!live) return;
    const bidIds = folds.flatMap(({ readBack }) => readBack.flatMap(bidsNamedIn));
    if (bidIds.length > 0) spawn(callbacks.bidsKnown(bidIds));
    const answers = folds.flatMap(({ record }) => (record?.kind === 'answered' ? [record] : []));
    if (answers.length > 0) spawn(callbacks.acknowledged(answers));
    const rows = new Map(folds.map(({ row }) => [row.state.requestId, row]));
    act([...rows.values()], true);
  }

  function afterFold(fold: Fold, live: boolean): void {
    const { row, record, readBack } = fold;
    const { state } = row;
    const { requestId } = state;
    if (record?.kind === 'ended' && state.request !== null)
      curves.learnt(state.segmentKeys.length > 0 ? state.segmentKeys : ['all']);
    if (state.phase !== 'requested' || state.frozen !== undefined) {
      claims.forget(requestId);
      undecided.remove(requestId);
      queue.remove(requestId);
      links.unpark(requestId);
      sources.forget(requestId);
    }
    if (state.frozen === undefined) frozenAlarms.thawed(requestId);
    if (readBack.some(isEnd)) ending.delete(requestId);
    if (!ledger.get(requestId)) {
      agenda.remove(requestId);
      sender.forget(requestId);
    }
    if (!live) return;
    if (record?.kind === 'requested') time.requestCame(record.request);
    tellFold(fold, clock.now());
    if (mayDifferLate(fold)) spawn(tellLateDifference(fold, common));
  }

  /** Does what each state asks for. `isFresh`: they were just folded. */
  function act(rows: readonly LedgerRow[], isFresh = false): void {
    const now = clock.now();
    for (const row of rows) {
      const { state } = row;
      const { requestId } = state;
      if (ledger.get(requestId) !== null && !owns(requestId)) {
        agenda.set(requestId, now + settings.retryFirstMs);
        continue;
      }
      for (const command of commandsFor(row, now)) {
        switch (command.kind) {
          case 'decide':
            if (!isBusy(requestId)) undecided.add(row, deadlineOf(state, settings));
            break;
          case 'send':
            spawn(send(row));
            break;
          case 'append':
            // A claim of ours that is not read back yet may be the end: the log says which came first.
            if (command.record.kind === 'passed' && claims.isClaiming(requestId))
              agenda.set(requestId, now + settings.retryFirstMs);
            // What is over by a time that is not believed may not be over.
            else if (command.record.kind === 'resolved' && time.doubt() !== null)
              agenda.set(requestId, now + settings.retryFirstMs);
            else end(explained(command.record));
            break;
          case 'wait':
            agenda.set(requestId, command.until);
            break;
          case 'alarm':
            if (command.code === 'request-frozen' && state.frozen !== undefined)
              frozenAlarms.found(requestId, state.frozen, isFresh);
            else observer({ ...command, requestId });
            break;
          default:
            command satisfies never;
        }
      }
    }
    if (!isDeciding && undecided.size() > 0) spawn(decideWaiting());
    claims.pump();
  }

  /** Beside the reading of the log: a claim that is read back does not wait for the decisions of others. */
  async function decideWaiting(): Promise<void> {
    isDeciding = true;
    try {
      while (undecided.size() > 0 && !stopping) {
        const now = clock.now();
        const needMs = timesToFirstByte * (claimToByteMs.value() ?? 0);
        // What of a deadline is kept for the way and for clocks that differ.
        const allowanceMs = -cutoffOf(0, world.service, settings);
        const rows = undecided.take(decidedAtOnce, now + needMs + allowanceMs).filter(stillUndecided);
        await decideOrRetry(rows, now);
        claims.pump();
        // Answers are heard and claims sent in between: somebody waits for those.
        if (undecided.size() > 0) await sleep(clock, 0);
      }
    } finally {
      isDeciding = false;
    }
  }

  async function decideOrRetry(rows: readonly LedgerRow[], now: EpochMs): Promise<void> {
    try {
      await decide(rows, now);
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      observer({ kind: 'fault', code: fault.code, message: fault.message });
      for (const { state } of rows) {
        deciding.delete(state.requestId);
        agenda.set(state.requestId, clock.now() + settings.retryFirstMs);
      }
    }
  }

  function commandsFor({ state, reservation }: LedgerRow, now: EpochMs): readonly Command[] {
    try {
      return react(state, reservation, now, settings, world.noBidReceivedBefore);
    } catch (fault) {
      freeze(state.requestId, `what is to be done next: ${problemOf(fault)}`);
      return [];
    }
  }

  /** Nothing more is done for it: the record says so to whoever owns it, now and later. */
  function freeze(requestId: RequestId, problem: string): void {
    if (ending.has(requestId)) return;
    links.unpark(requestId);
    spawn(endDurably({ kind: 'frozen', requestId, at: clock.now(), problem }));
  }

  function stillUndecided({ state }: LedgerRow): boolean {
    const { requestId } = state;
    if (ledger.get(requestId)?.state !== state || isBusy(requestId)) return false;
    if (owns(requestId)) return true;
    // While the group shares out anew nothing is ours; a partition that stays here is not taken up again after it.
    agenda.set(requestId, clock.now() + settings.retryFirstMs);
    return false;
  }

  function isBusy(requestId: RequestId): boolean {
    const isUnderWay = deciding.has(requestId) || claims.isClaiming(requestId) || ending.has(requestId);
    return isUnderWay || queue.has(requestId);
  }

  async function decide(rows: readonly LedgerRow[], now: EpochMs): Promise<void> {
    if (rows.length === 0) return;
    const states = rows.map(({ state }) => state);
    const policy = world.policy(now);
    const controls = gate.control();
    // What is used under the caps is not known while a part of the views is missing, nor caps by hand while the controls are stale,
    // nor either while the time of day is in doubt.
    if (policy === null || time.doubt() !== null || !intake.viewsWhole() || controls === null) {
      for (const { requestId } of states) agenda.set(requestId, now + settings.retryFirstMs);
      return;
    }
    for (const { requestId } of states) deciding.add(requestId);
    storePolicy(policy);
    // A decision ends the wait.
    const waited = new Map(
      states
        .filter(({ requestId }) => links.waitingSince(requestId) !== null)
        .map(({ requestId }) => [requestId, links.story(requestId, now)]),
    );
    const decided = await decideBatch(
      {
        ...world,
        policy,
        curves,
        links,
        sources,
        ...pricing,
        whole: ({ requestId, request, sealed }) =>
          joinRequest(request!, world.vault.open(sealedPlaces.request(requestId), sealed!), world.vault),
        control: () => gate.control() ?? controls,
        latestAnswerAt: (state) => cutoffOf(deadlineOf(state, settings), world.service, settings) - answerToBidMs,
        onFailure: (requestId, fault) => {
          observer({ kind: 'alarm', code: 'decision-failed', requestId });
          observer({ kind: 'fault', code: 'decision-failed', message: fault instanceof Error ? fault.name : 'thrown' });
        },
      },
      states,
      now,
    );
    const deadlines = new Map(states.map((state) => [state.requestId, deadlineOf(state, settings)]));
    const passes: NewEntry[] = [];
    for (const decision of decided) conclude(withTrueCause(decision, waited), deadlines, passes);
    for (const state of states) {
      deciding.delete(state.requestId);
      const durationMs = clock.now() - (state.request?.receivedAt ?? now);
      observer({ kind: 'duration', stage: 'received-to-decided', durationMs });
    }
    if (passes.length > 0) {
      spawn(outbox.keep(passes).then(() => observer({ kind: 'step', step: 'pass-appended' })));
    }
  }

  /** A margin or fact that the service was asked for in vain is not missing: the service is. Nor is it while bidding is closed. */
  function withTrueCause(decision: Decided, waited: ReadonlyMap<RequestId, readonly Hindrance[]>): Decided {
    const story = decision.kind === 'pass' ? waited.get(decision.record.requestId) : undefined;
    if (decision.kind !== 'pass' || story === undefined) return decision;
    const { requestId, at, code } = decision.record;
    const fact = /^fact-missing:(.*)$/.exec(code)?.[1];
    if (fact === undefined ? code !== 'margin-missing' : !comesWithLink(fact)) return decision;
    const trouble = health.trouble();
    const cause = trouble?.cause ?? endCode('margin-missing');
    if (cause === 'margin-missing') return decision;
    const text =
      trouble === null
        ? 'the detail of the link had not come when bidding was closed'
        : `the detail of the link was asked for in vain: ${trouble.detail}`;
    const record = deskPass(requestId, cause, text, at, null);
    return { ...decision, record: hindered(record, [...waitsOf(record), ...story]), stored: [] };
  }

  /** With what it waited for. What a rule decided is no end of waiting. */
  function withWaits(record: AuctionRecord): AuctionRecord {
    if (record.kind !== 'answered' && (record.kind !== 'passed' || record.trace !== null)) return record;
    return hindered(record, waitsOf(record));
  }

  function waitsOf({ requestId, at }: AuctionRecord): readonly Hindrance[] {
    const receivedAt = ledger.get(requestId)?.state.request?.receivedAt;
    return receivedAt === undefined ? [] : [...bidding.closures(receivedAt, at), ...links.story(requestId, at)];
  }

  /** What decisions refer to by hash is in the log before they are. */
  function storePolicy({ stored }: Policy): void {
    const fresh = stored.filter(({ hash }) => !storedPolicies.has(hash));
    for (const { hash } of fresh) storedPolicies.add(hash);
    if (fresh.length > 0) keep(fresh.map((record) => ({ topic: 'inputs', key: record.hash, record })));
  }

  function conclude(decision: Decided, deadlines: ReadonlyMap<RequestId, EpochMs>, passes: NewEntry[]): void {
    if (decision.kind === 'parked') {
      agenda.set(decision.requestId, Math.min(decision.until, deadlines.get(decision.requestId)!));
      return;
    }
    if (decision.kind === 'unprocessable') {
      freeze(decision.requestId, decision.problem);
      return;
    }
    const { stored } = decision;
    if (stored.length > 0) keep(stored.map((record) => ({ topic: 'inputs', key: record.hash, record })));
    if (decision.kind === 'review') {
      spawn(endDurably(decision.record));
      return;
    }
    if (decision.kind === 'pass') {
      const { record } = decision;
      ending.add(record.requestId);
      passes.push({ topic: 'auctions', key: record.requestId, record });
      return;
    }
    const { waiting } = decision;
    const deadlineAt = deadlines.get(waiting.requestId)!;
    const dropped = queue.push({ ...waiting, deadlineAt });
    if (dropped !== null) {
      const text = `the queue was full; ${worthText(dropped)}`;
      end(deskPass(dropped.requestId, endCode('overload'), text, clock.now(), null));
    }
  }

  async function send(row: LedgerRow): Promise<void> {
    if (ending.has(row.state.requestId)) return;
    const { requestId } = row.state;
    const record = await sender.send(row);
    if (record === null) {
      // Given up while it was somebody else's, and come back meanwhile: nobody sends it now.
      if (!sender.isSending(requestId) && ledger.get(requestId)?.state.phase === 'claimed' && !stopping) {
        agenda.set(requestId, clock.now() + settings.retryFirstMs);
      }
      return;
    }
    claims.pump();
    noteTimeToByte(row, record);
    await endDurably(record);
  }

  function noteTimeToByte({ state: { claim } }: LedgerRow, record: AuctionRecord): void {
    if (record.kind !== 'answered' || record.firstByteAt == null || claim?.instance !== world.instance) return;
    claimToByteMs.add(Math.max(0, record.firstByteAt - claim.at));
  }

  /** A request that waited too long says for what. */
  function explained(record: AuctionRecord): AuctionRecord {
    if (record.kind !== 'passed') return record;
    if (record.claimId !== null) return world.soleOwner ? record : { ...record, maybeSent: true };
    if (record.code !== 'deadline' && record.code !== 'auction-ended') return record;
    const { requestId, at } = record;
    const text = record.reasons[0]!.text;
    // Whichever comes first, the end of its auction or its deadline: it ended for what kept it from being bid for then.
    const closed = closedAtEnd(requestId, at);
    if (closed !== null) return deskPass(requestId, closed, `${text} (${closed})`, at, null);
    if (record.code === 'auction-ended') return record;
    // What closes bidding now may have begun after the deadline, as a pause may that was ordered while no process ran.
    if (links.waitingSince(requestId) !== null)
      return deskPass(requestId, 'margin-missing', `${text} (margin-missing)`, at, null);
    const waiting = queue.get(requestId);
    if (waiting === null) return record;
    const code = bidding.causeAt(Math.min(at, cutoffOf(waiting.deadlineAt, world.service, settings))) ?? 'no-send-slot';
    return deskPass(requestId, code, `${text} (${code}); ${worthText(waiting)}`, at, null);
  }

  /** Why bidding was closed when the request could be bid for no more; what tells of it may be folded later. */
  function closedAtEnd(requestId: RequestId, at: EpochMs): DeskCode | null {
    const state = ledger.get(requestId)?.state;
    if (state === undefined) return null;
    const receivedAt = state.request?.receivedAt ?? at;
    return bidding.causeAt(
      Math.max(receivedAt, Math.min(at, state.auction?.endedAt ?? at, deadlineOf(state, settings))),
    );
  }

  /** `answer`: what is known of a bid beside the end. */
  function end(record: AuctionRecord, answer?: Answered): void {
    if (sender.isSending(record.requestId) || ending.has(record.requestId)) return;
    spawn(endDurably(record, answer));
  }

  async function endDurably(record: AuctionRecord, answer?: Answered): Promise<void> {
    ending.add(record.requestId);
    queue.remove(record.requestId);
    const records = answer === undefined ? [withWaits(record)] : [withWaits(record), answer];
    await outbox.keep(records.map((each) => ({ topic: 'auctions', key: each.requestId, record: each })));
    if (record.kind === 'passed') observer({ kind: 'step', step: 'pass-appended' });
    if (record.kind === 'answered') observer({ kind: 'step', step: 'answer-appended' });
  }

  function keep(entries: readonly NewEntry[]): void {
    spawn(outbox.keep(entries));
  }

  function passAll(requestIds: readonly RequestId[], code: DeskCode, text: string): void {
    for (const requestId of requestIds) {
      if (ledger.get(requestId)?.state.phase !== 'requested') continue;
      // First, for its end tells what it waited for.
      end(deskPass(requestId, code, text, clock.now(), null));
      links.unpark(requestId);
    }
  }

  function lookAgain(requestIds: readonly RequestId[]): void {
    if (stopping) return;
    if (!intake.isLive()) {
      // Some partitions may be taken up already: nothing else would ring for their requests again.
      for (const requestId of requestIds) agenda.set(requestId, clock.now() + settings.retryFirstMs);
      return;
    }
    const rows = requestIds.flatMap((requestId) => ledger.get(requestId) ?? []);
    if (rows.length > 0) act(rows);
  }

  /**
   * Everything at hand is read again. What was under way may never be read back here, when another process folds it first; begun
   * again it is absorbed by the fold. Partitions may go to others in between, and not come back.
   */
  function forgetAll(): void {
    settledRows.end();
    letGo(ledger.clear());
    sender.abandonAll();
    curves.clear();
    undecided.clear();
    deciding.clear();
    claims.clear();
    ending.clear();
  }

  /** Somebody else goes on with these requests, from the log alone. */
  function lose(partition: number): void {
    settledRows.end(partition);
    letGo(ledger.lose(partition));
  }

  function letGo(requestIds: readonly RequestId[]): void {
    for (const requestId of requestIds) {
      agenda.remove(requestId);
      undecided.remove(requestId);
      queue.remove(requestId);
      links.unpark(requestId);
      sources.forget(requestId);
      sender.abandon(requestId);
      deciding.delete(requestId);
      claims.forget(requestId);
      ending.delete(requestId);
    }
  }

  /** Every background promise is tracked; an unexpected rejection ends the process. */
  function spawn(work: Promise<unknown>): void {
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  }

  async function start(): Promise<void> {
    await time.start();
    await gate.start();
    await intake.start();
    bidding.start();
    windowEnds.start();
  }

  async function stop(): Promise<void> {
    stopping = true;
    settledRows.end();
    windowEnds.stop();
    frozenAlarms.stop();
    time.stop();
    const isSaid = gate.stop();
    bidding.stop();
    agenda.close();
    sources.close();
    callbacks.close();
    await intake.stop();
    await outbox.close();
    await Promise.allSettled([isSaid, ...underWay]);
  }

  function status(): DeskStatus {
    const control = gate.control();
    return {
      live: intake.isLive(),
      gate: gate.closedBecause(),
      bidding: bidding.status(),
      pausedAt: control === null ? null : (toldPause(control)?.at ?? null),
      capsByHand: control?.caps ?? null,
      timeDoubt: time.status(),
      open: ledger.openCount() + settledRows.left(),
      frozen: ledger.frozenCount(),
      closed: intake.closed(),
      unsettled: ledger.unsettledCount(),
      queued: queue.size(),
      oldestQueuedAt: queue.oldestAt(),
      parked: links.parkedCount(),
      reviews: waitingByQueue(ledger.reviews(), world.policy(clock.now())?.ruleSet.queues ?? []),
      sending: sender.count() + claims.count(),
      sendLimit: sendLimit.current(),
      circuit: sendLimit.circuit(),
      unknown: ledger.unknown(),
      exposure: ledger.exposure(),
    };
  }

  const { owned, progressAtMs } = intake;
  return { start, stop, status, gate: gate.closedBecause, partitions: owned, progressAtMs };
}

/** Records that this desk writes of a request once, and waits to read back. */
function isEnd(record: AuctionRecord): boolean {
  switch (record.kind) {
    case 'passed':
    case 'answered':
    case 'resolved':
    case 'frozen':
    case 'review-asked':
      return true;
    default:
      return false;
  }
}
