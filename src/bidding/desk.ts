/**
 * The desk: the shell around `evolve` and `react`. It reads its records back in log order, does what `react` says, and appends. A
 * request goes from here to the decision desk, the queue of offers, the claim desk and the sender of bids; the end desk writes its end.
 * Nothing waits here for a single POST.
 */

import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { AuctionRecord } from '../domain/records.ts';
import type { Link } from '../domain/request.ts';
import { Fault } from '../errors.ts';
import { type Agenda, createAgenda } from './agenda.ts';
import { type BidSender, createBidSender } from './bid-sender.ts';
import { type BiddingWatch, createBiddingWatch, createServiceHealth } from './bidding-status.ts';
import { bidsNamedIn, type Callbacks, createCallbacks, type DetailTold, type FailureTold } from './callbacks.ts';
import { type ClaimDesk, createClaimDesk } from './claim-desk.ts';
import { type Curves, createCurves } from './curves.ts';
import { createDecisionDesk, type DecisionDesk } from './decision-desk.ts';
import type { DeskStatus, DeskWorld } from './desk-world.ts';
import { findEarlierBids } from './earlier-bids.ts';
import { createEndDesk, type EndDesk } from './end-desk.ts';
import { createFoldTeller } from './fold-events.ts';
import { createFrozenAlarms } from './frozen-alarms.ts';
import { createGate, type Gate } from './gate.ts';
import { createIntake, type Intake } from './intake.ts';
import { mayDifferLate, tellLateDifference } from './late-differences.ts';
import { mostWouldBe } from './lately.ts';
import { createLedger, type Fold, type Ledger } from './ledger.ts';
import { createLinkDesk, type LinkDesk } from './link-desk.ts';
import { createMean } from './mean.ts';
import { createOfferQueue, type OfferQueue } from './offer-queue.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { type LedgerRow, type QueryFailure, toldPause } from './ports.ts';
import { type Command, react } from './react.ts';
import { waitingByQueue } from './review.ts';
import { createSendLimit, type SendLimit } from './send-limit.ts';
import { createSettledRows, type SettledRows } from './settled-rows.ts';
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

export function createDesk(world: DeskWorld): Desk {
  const { log, views, clock, settings, observer } = world;
  const tellFold = createFoldTeller(observer);
  let stopping = false;
  let [isTelling, isTellingAgain] = [false, false];
  /** From the claim to the first byte of its bid. */
  const claimToByteMs = createMean();
  const underWay = new Set<Promise<unknown>>();

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
  const ends: EndDesk = createEndDesk({
    ...common,
    ...{ ledger, links, queue, outbox, bidding, health, spawn },
    isSending: (requestId) => sender.isSending(requestId),
  });
  const { isEnding, end, passAll, freeze } = ends;
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
  const claims: ClaimDesk = createClaimDesk({ ...common, ...room, isEnding, decideAnew: lookAgain });
  const decisions: DecisionDesk = createDecisionDesk({
    ...common,
    ...{ ledger, gate, curves, links, sources, queue, agenda, outbox, ends, endCode, owns, spawn },
    timeDoubted,
    viewsWhole: intake.viewsWhole,
    claimToByteMs: claimToByteMs.value,
    isFurther: (requestId) => claims.isClaiming(requestId) || isEnding(requestId) || queue.has(requestId),
    onDecided: claims.pump,
  });

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
    isEnding,
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
    for (const requestId of [...rows.map(({ state }) => state.requestId), ...later]) ends.forget(requestId);
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
      decisions.withdraw(requestId);
      queue.remove(requestId);
      links.unpark(requestId);
      sources.forget(requestId);
    }
    if (state.frozen === undefined) frozenAlarms.thawed(requestId);
    if (readBack.some(isEnd)) ends.forget(requestId);
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
            decisions.add(row);
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
            else end(ends.explained(command.record));
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
    decisions.pump();
    claims.pump();
  }

  function commandsFor({ state, reservation }: LedgerRow, now: EpochMs): readonly Command[] {
    try {
      return react(state, reservation, now, settings, world.noBidReceivedBefore);
    } catch (fault) {
      freeze(state.requestId, `what is to be done next: ${problemOf(fault)}`);
      return [];
    }
  }

  async function send(row: LedgerRow): Promise<void> {
    if (isEnding(row.state.requestId)) return;
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
    await ends.endDurably(record);
  }

  function noteTimeToByte({ state: { claim } }: LedgerRow, record: AuctionRecord): void {
    if (record.kind !== 'answered' || record.firstByteAt == null || claim?.instance !== world.instance) return;
    claimToByteMs.add(Math.max(0, record.firstByteAt - claim.at));
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
    decisions.clear();
    claims.clear();
    ends.clear();
  }

  /** Somebody else goes on with these requests, from the log alone. */
  function lose(partition: number): void {
    settledRows.end(partition);
    letGo(ledger.lose(partition));
  }

  function letGo(requestIds: readonly RequestId[]): void {
    for (const requestId of requestIds) {
      agenda.remove(requestId);
      decisions.forget(requestId);
      queue.remove(requestId);
      links.unpark(requestId);
      sources.forget(requestId);
      sender.abandon(requestId);
      claims.forget(requestId);
      ends.forget(requestId);
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
