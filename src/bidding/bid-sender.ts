/** Sends the claims that were read back, each by one job at a time and as many at once as the service bears, and says when it is over. */
import { capKeysOf, fullCap, nothingUsed } from '../domain/cap-book.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Usage } from '../domain/offer.ts';
import type { Answered, Passed } from '../domain/records.ts';
import { Fault } from '../errors.ts';
import { deadlineOf } from './evolve.ts';
import type { Gate } from './gate.ts';
import type { Ledger } from './ledger.ts';
import { createMean } from './mean.ts';
import type { LedgerRow, Views } from './ports.ts';
import { deskPass, unanswered } from './react.ts';
import { cutoffOf, type SendJob, type SendWorld, sendClaim } from './send-claim.ts';
import { sleep } from './sleep.ts';
import { createSlots } from './slots.ts';

export type BidSender = {
  /** The record that ends the claim; null when it is being sent already, or is over elsewhere. */
  send: (row: LedgerRow) => Promise<Answered | Passed | null>;
  /** This process appends a claim: until the partition goes, nobody else can send it. */
  wrote: (requestId: RequestId) => void;
  isSending: (requestId: RequestId) => boolean;
  /** Being sent, or waiting for a slot. */
  count: () => number;
  /** How long a claim keeps its slot, a decaying mean; null before the first one was over. */
  heldMs: () => number | null;
  /** The request is closed: nothing is remembered of it. */
  forget: (requestId: RequestId) => void;
  /** Somebody else goes on with it: no further attempt, and nothing said of those that were made; they are presumed. */
  abandon: (requestId: RequestId) => void;
  abandonAll: () => void;
};

export function createBidSender(
  world: Omit<SendWorld, 'gateOpen' | 'over' | 'inFlight' | 'othersMaySend'> & {
    instance: string;
    gate: Gate;
    ledger: Ledger;
    views: Pick<Views, 'wholeUsage'>;
    isLive: () => boolean;
    /** This process may act for the request now. */
    owns: (requestId: RequestId) => boolean;
  },
): BidSender {
  const { gate, ledger, observer } = world;
  const sending = new Map<RequestId, { abandoned: boolean }>();
  /** Claims written here that nobody has begun to send: any other one, taken up, may have landed. */
  const unsent = new Set<RequestId>();
  const slots = createSlots(world.clock, world.sendLimit.current);
  const heldMs = createMean();

  async function send(row: LedgerRow): Promise<Answered | Passed | null> {
    const { claim, requestId, request } = row.state;
    if (claim === null || sending.has(requestId)) return null;
    const current = { abandoned: false };
    sending.set(requestId, current);
    observer({ kind: 'step', step: 'reserved' });
    const job: SendJob = {
      requestId,
      claim,
      deadlineAt: deadlineOf(row.state, world.settings),
      receivedAt: request?.receivedAt ?? claim.at,
      inherited: claim.instance !== world.instance || !unsent.has(requestId),
    };
    unsent.delete(requestId);
    // Nothing is written while it is not known that the claim still stands.
    const stands = () => {
      const known = ledger.get(requestId)?.state;
      return known?.phase === 'claimed' && known.frozen === undefined;
    };
    if (!row.hadRoom && !(await findsRoom(job, () => current.abandoned || (world.isLive() && !stands())))) {
      sending.delete(requestId);
      return withoutRoom(job);
    }
    // What a process before this one had under way is not held up by what this one learns anew.
    let placed = true;
    if (job.inherited) slots.enter();
    else placed = await slots.wait(cutoffOf(job.deadlineAt, world.service, world.settings));
    const enteredAtMs = world.clock.monotonicMs();
    const record = await sendClaim(
      {
        ...world,
        stopping: () => world.stopping() || current.abandoned,
        gateOpen: () => gate.isOpen() && stands() && !current.abandoned && world.owns(requestId),
        othersMaySend: () => !world.soleOwner && (current.abandoned || !world.owns(requestId)),
        over: () => world.isLive() && !stands(),
        inFlight: slots.taken,
      },
      job,
    );
    if (placed) {
      heldMs.add(world.clock.monotonicMs() - enteredAtMs);
      slots.leave();
    }
    sending.delete(requestId);
    if (record !== null) observer({ kind: 'step', step: 'answer-received' });
    return record;
  }

  /**
   * For a claim whose room nobody looked for: its own promise is among what is used by now, and so is that of any other such
   * claim. While everything is read again it is not known whether the claim stands: that is no end. Undecided at an end it has
   * room, for it is not sent any more.
   */
  async function findsRoom({ claim, deadlineAt }: SendJob, isGone: () => boolean): Promise<boolean> {
    const { caps } = claim;
    const keys = [...new Set(capKeysOf(caps))];
    const cutoffAt = cutoffOf(deadlineAt, world.service, world.settings);
    while (keys.length > 0 && !world.stopping() && !isGone() && world.clock.now() < cutoffAt) {
      const usage = await wholeUsage(keys);
      if (usage !== null) return fullCap(caps, nothingUsed, (key) => usage.get(key)) === null;
      await sleep(world.clock, world.settings.retryFirstMs);
    }
    return true;
  }

  /** What may be out there stays promised until the auction tells. */
  function withoutRoom({ requestId, claim, inherited }: SendJob): Answered | Passed {
    const now = world.clock.now();
    const text = 'no cap was looked at when the claim was folded, and one has no room now';
    if (inherited) return unanswered(requestId, claim, text, now);
    return { ...deskPass(requestId, 'cap', text, now, claim.claimId), maybeSent: true };
  }

  /** No answer is as good as views that are not whole. */
  async function wholeUsage(keys: readonly string[]): Promise<ReadonlyMap<string, Usage> | null> {
    try {
      return await world.views.wholeUsage(keys, world.clock.now());
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      return null;
    }
  }

  return {
    send,
    wrote: (requestId) => unsent.add(requestId),
    isSending: (requestId) => sending.has(requestId),
    count: () => sending.size,
    heldMs: heldMs.value,
    forget: (requestId) => {
      unsent.delete(requestId);
    },
    abandon: (requestId) => {
      unsent.delete(requestId);
      const current = sending.get(requestId);
      if (current !== undefined) current.abandoned = true;
    },
    abandonAll: () => {
      unsent.clear();
      for (const current of sending.values()) current.abandoned = true;
    },
  };
}
