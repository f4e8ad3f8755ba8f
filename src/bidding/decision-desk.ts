/**
 * From a request that waits for a decision to what comes of it: an offer in the queue, a pass, a question to a person, or a wait for its
 * link or a source. Decides beside the reading of the log, some requests at a time.
 */

import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Hindrance, Passed } from '../domain/records.ts';
import { joinRequest } from '../domain/sealed-facts.ts';
import { sealedPlaces } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { type Acceptance, createAcceptance } from './acceptance.ts';
import type { Agenda } from './agenda.ts';
import type { BiddingWatch } from './bidding-status.ts';
import type { Curves } from './curves.ts';
import type { Policy } from './decide.ts';
import { type Decided, decideBatch } from './decider.ts';
import { createDecisionQueue } from './decision-queue.ts';
import type { DeskWorld } from './desk-world.ts';
import type { EndDesk } from './end-desk.ts';
import { deadlineOf } from './evolve.ts';
import type { Gate } from './gate.ts';
import type { Ledger } from './ledger.ts';
import type { LinkDesk } from './link-desk.ts';
import { type OfferQueue, worthText } from './offer-queue.ts';
import type { Outbox } from './outbox.ts';
import { createPacer } from './pacer.ts';
import type { LedgerRow } from './ports.ts';
import { deskPass } from './react.ts';
import { cutoffOf } from './send-claim.ts';
import { sleep } from './sleep.ts';
import type { SourceDesk } from './source-desk.ts';

export type DecisionDesk = {
  /** It waits for its turn, which begins with `pump`. Takes the place of an earlier row of the same request. */
  add: (row: LedgerRow) => void;
  /** Decides those that wait, until none does. */
  pump: () => void;
  /** It waits no more; being decided already, it goes on. */
  withdraw: (requestId: RequestId) => void;
  /** Somebody else goes on with it. */
  forget: (requestId: RequestId) => void;
  clear: () => void;
};

/** Requests decided without letting anything else happen. */
const decidedAtOnce = 32;

/** A bid is decided in time when this many times the usual way from its claim to its first byte is left until its deadline. */
const timesToFirstByte = 2;

/** Between the last moment for the answer to a review and the last moment for the first byte of the bid. */
const answerToBidMs = 1_000;

type Waits = ReadonlyMap<RequestId, readonly Hindrance[]>;

export function createDecisionDesk(
  world: Pick<
    DeskWorld,
    'views' | 'margins' | 'vault' | 'clock' | 'service' | 'settings' | 'learning' | 'observer' | 'policy' | 'encodeBid'
  > & {
    ledger: Pick<Ledger, 'get'>;
    gate: Pick<Gate, 'control'>;
    timeDoubted: () => boolean;
    viewsWhole: () => boolean;
    curves: Curves;
    links: LinkDesk;
    sources: SourceDesk;
    queue: OfferQueue;
    agenda: Agenda;
    outbox: Pick<Outbox, 'keep'>;
    ends: Pick<EndDesk, 'end' | 'endDurably' | 'passTogether' | 'freeze' | 'withTrueCause'>;
    endCode: BiddingWatch['endCode'];
    /** From the claim to the first byte of its bid, usually; null: none was sent yet. */
    claimToByteMs: () => number | null;
    owns: (requestId: RequestId) => boolean;
    /** It is decided already, or about to be ended. */
    isFurther: (requestId: RequestId) => boolean;
    /** Some are decided: there may be offers to claim. */
    onDecided: () => void;
    stopping: () => boolean;
    spawn: (work: Promise<unknown>) => void;
  },
): DecisionDesk {
  const { clock, settings, observer, ledger, gate, links, queue, agenda, outbox, ends, spawn } = world;
  const acceptance: Acceptance = createAcceptance(world);
  const pacer = createPacer(settings.demandByHour);
  const undecided = createDecisionQueue();
  const deciding = new Set<RequestId>();
  const storedPolicies = new Set<string>();
  let isPumping = false;

  /** Beside the reading of the log: a claim that is read back does not wait for the decisions of others. */
  async function decideWaiting(): Promise<void> {
    isPumping = true;
    try {
      while (undecided.size() > 0 && !world.stopping()) {
        const now = clock.now();
        const needMs = timesToFirstByte * (world.claimToByteMs() ?? 0);
        // What of a deadline is kept for the way and for clocks that differ.
        const allowanceMs = -cutoffOf(0, world.service, settings);
        const rows = undecided.take(decidedAtOnce, now + needMs + allowanceMs).filter(stillUndecided);
        await decideOrRetry(rows, now);
        world.onDecided();
        // Answers are heard and claims sent in between: somebody waits for those.
        if (undecided.size() > 0) await sleep(clock, 0);
      }
    } finally {
      isPumping = false;
    }
  }

  function stillUndecided({ state }: LedgerRow): boolean {
    const { requestId } = state;
    if (ledger.get(requestId)?.state !== state || isBusy(requestId)) return false;
    if (world.owns(requestId)) return true;
    // While the group shares out anew nothing is ours; a partition that stays here is not taken up again after it.
    agenda.set(requestId, clock.now() + settings.retryFirstMs);
    return false;
  }

  function isBusy(requestId: RequestId): boolean {
    return deciding.has(requestId) || world.isFurther(requestId);
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

  async function decide(rows: readonly LedgerRow[], now: EpochMs): Promise<void> {
    if (rows.length === 0) return;
    const states = rows.map(({ state }) => state);
    const policy = world.policy(now);
    const controls = gate.control();
    // What is used under the caps is not known while a part of the views is missing, nor caps by hand while the controls are stale,
    // nor either while the time of day is in doubt.
    if (policy === null || world.timeDoubted() || !world.viewsWhole() || controls === null) {
      for (const { requestId } of states) agenda.set(requestId, now + settings.retryFirstMs);
      return;
    }
    for (const { requestId } of states) deciding.add(requestId);
    storePolicy(policy);
    // A decision ends the wait.
    const waited: Waits = new Map(
      states
        .filter(({ requestId }) => links.waitingSince(requestId) !== null)
        .map(({ requestId }) => [requestId, links.story(requestId, now)]),
    );
    const decided = await decideBatch(
      {
        ...world,
        policy,
        acceptance,
        pacer,
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
    const passes: Passed[] = [];
    for (const decision of decided) conclude(withTrueCause(decision, waited), deadlines, passes);
    for (const state of states) {
      deciding.delete(state.requestId);
      const durationMs = clock.now() - (state.request?.receivedAt ?? now);
      observer({ kind: 'duration', stage: 'received-to-decided', durationMs });
    }
    ends.passTogether(passes);
  }

  /** A margin or fact that the service was asked for in vain is not missing: the service is. Nor is it while bidding is closed. */
  function withTrueCause(decision: Decided, waited: Waits): Decided {
    if (decision.kind !== 'pass') return decision;
    const story = waited.get(decision.record.requestId);
    const record = story === undefined ? decision.record : ends.withTrueCause(decision.record, story);
    return record === decision.record ? decision : { kind: 'pass', record, stored: [] };
  }

  /** What decisions refer to by hash is in the log before they are. */
  function storePolicy({ stored }: Policy): void {
    const fresh = stored.filter(({ hash }) => !storedPolicies.has(hash));
    for (const { hash } of fresh) storedPolicies.add(hash);
    keep(fresh);
  }

  function keep(inputs: Policy['stored']): void {
    if (inputs.length === 0) return;
    spawn(outbox.keep(inputs.map((record) => ({ topic: 'inputs', key: record.hash, record }))));
  }

  function conclude(decision: Decided, deadlines: ReadonlyMap<RequestId, EpochMs>, passes: Passed[]): void {
    switch (decision.kind) {
      case 'parked':
        agenda.set(decision.requestId, Math.min(decision.until, deadlines.get(decision.requestId)!));
        return;
      case 'unprocessable':
        ends.freeze(decision.requestId, decision.problem);
        return;
      case 'review':
        keep(decision.stored);
        spawn(ends.endDurably(decision.record));
        return;
      case 'pass':
        keep(decision.stored);
        passes.push(decision.record);
        return;
      case 'offer': {
        keep(decision.stored);
        const { waiting } = decision;
        const dropped = queue.push({ ...waiting, deadlineAt: deadlines.get(waiting.requestId)! });
        if (dropped === null) return;
        const text = `the queue was full; ${worthText(dropped)}`;
        ends.end(deskPass(dropped.requestId, world.endCode('overload'), text, clock.now(), null));
        return;
      }
      default:
        decision satisfies never;
    }
  }

  function withdraw(requestId: RequestId): void {
    undecided.remove(requestId);
  }

  return {
    add: (row) => {
      if (!isBusy(row.state.requestId)) undecided.add(row, deadlineOf(row.state, settings));
    },
    pump: () => {
      if (!isPumping && undecided.size() > 0) spawn(decideWaiting());
    },
    withdraw,
    forget: (requestId) => {
      withdraw(requestId);
      deciding.delete(requestId);
    },
    clear: () => {
      undecided.clear();
      deciding.clear();
    },
  };
}
