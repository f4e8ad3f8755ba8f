/** Sends the claims that were read back, each by one job at a time and as many at once as the service bears, and says when it is over. */
import { type CapVerdict, capKeysOf, fullCap, nothingUsed } from '../domain/cap-book.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Usage } from '../domain/offer.ts';
import { foldedInto } from '../domain/record-places.ts';
import type { Answered, AuctionRecord, Claimed, Frozen, Passed } from '../domain/records.ts';
import type { Claim, RequestState } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import { obeysOperatorCaps } from './decide.ts';
import type { DeskWorld } from './desk-world.ts';
import { deadlineOf, evolveAll } from './evolve.ts';
import type { Gate } from './gate.ts';
import type { Ledger } from './ledger.ts';
import { createMean } from './mean.ts';
import { createOwnDelay } from './own-delay.ts';
import type { EventLog, LedgerRow, Views } from './ports.ts';
import { deskPass, unanswered } from './react.ts';
import { cutoffOf, forfeitedText, type SendJob, type SendWorld, sendClaim } from './send-claim.ts';
import { sleep } from './sleep.ts';
import { createSlots } from './slots.ts';

export type BidSender = {
  /** The record that ends or freezes the claim; null when it is being sent already, or is over elsewhere. */
  send: (row: LedgerRow) => Promise<Answered | Passed | Frozen | null>;
  /** This process appends a claim: until the partition goes, nobody else can send it. */
  wrote: (claim: Pick<Claimed, 'requestId' | 'claimId' | 'body'>) => void;
  isSending: (requestId: RequestId) => boolean;
  /** Being sent, or waiting for a slot. */
  count: () => number;
  /** Of these, those that gave up their slot, after an attempt that failed or to the one probe of the breaker, until they have one again. */
  retrying: () => number;
  /** Of those being sent, the ones whose first attempt is still to come or under way. */
  untried: () => number;
  /** How long a claim keeps its slot, a decaying mean; null before the first one was over. */
  heldMs: () => number | null;
  /** The request is closed: nothing is remembered of it. */
  forget: (requestId: RequestId) => void;
  /** Somebody else goes on with it: no further attempt, and nothing said of those that were made; they are presumed. */
  abandon: (requestId: RequestId) => void;
  abandonAll: () => void;
};

/** Claims that are looked up in the log at once: a start or a take-over may find hundreds. */
const readAtOnce = 16;

export function createBidSender(
  world: Omit<SendWorld, 'ownDelay' | 'inFlight'> & {
    stopping: () => boolean;
    instance: string;
    gate: Gate;
    ledger: Ledger;
    log: Pick<EventLog, 'readKey'>;
    views: Pick<Views, 'wholeUsage' | 'verdicts'>;
    isLive: () => boolean;
    isBidOf: DeskWorld['isBidOf'];
    earlierTerms: DeskWorld['earlierTerms'];
    /** This process may act for the request now. */
    owns: (requestId: RequestId) => boolean;
    /** A slot was given up: another claim may be made. */
    onRoom: () => void;
  },
): BidSender {
  const { gate, ledger, observer } = world;
  const { verdicts } = world.views;
  const sending = new Map<RequestId, { abandoned: boolean }>();
  /** Claims written here that nobody has begun to send: any other one, taken up, may have landed. */
  const unsent = new Map<RequestId, Pick<Claimed, 'claimId' | 'body'>>();
  const slots = createSlots(world.clock, world.sendLimit.current);
  const retrying = new Set<RequestId>();
  const tried = new Set<RequestId>();
  const lookUps = createSlots(world.clock, () => readAtOnce);
  const heldMs = createMean();
  const sendWorld: SendWorld = { ...world, inFlight: slots.taken, ownDelay: createOwnDelay(world.clock) };

  /** Its bytes are those that this process wrote, whatever they have come through since. */
  function isOwn({ instance, claimId, body }: Claim, requestId: RequestId): boolean {
    const written = unsent.get(requestId);
    return instance === world.instance && written?.claimId === claimId && written.body === body;
  }

  async function send(row: LedgerRow): Promise<Answered | Passed | Frozen | null> {
    const { claim, requestId, request } = row.state;
    if (claim === null || sending.has(requestId)) return null;
    const current = { abandoned: false };
    sending.set(requestId, current);
    observer({ kind: 'step', step: 'reserved' });
    let job: SendJob = {
      requestId,
      claim,
      deadlineAt: deadlineOf(row.state, world.settings),
      receivedAt: request?.receivedAt ?? claim.at,
      inherited: !isOwn(claim, requestId),
    };
    unsent.delete(requestId);
    // Nothing is written while it is not known that the claim still stands.
    const stands = () => {
      const known = ledger.get(requestId)?.state;
      return known?.phase === 'claimed' && known.frozen === undefined;
    };
    const isOpen = () => gate.isOpen() && verdictOf(requestId) === 'granted';
    const isGone = () => current.abandoned || (world.isLive() && !stands());
    if (job.inherited) {
      const looked = await lookUp(row, job, isGone);
      if (looked.kind === 'not-sent') {
        sending.delete(requestId);
        return looked.record;
      }
      ({ job } = looked);
      const { offer, body } = job.claim;
      if (!world.isBidOf(requestId, offer, body)) {
        sending.delete(requestId);
        const problem = 'the bytes of the claim are not those of its offer, so nothing is sent';
        return { kind: 'frozen', requestId, at: world.clock.now(), problem };
      }
    }
    const ended = await endedByCaps(row, job, isGone);
    if (ended !== null) {
      sending.delete(requestId);
      return ended;
    }
    // What a process before this one had under way is not held up by what this one learns anew.
    let placed = true;
    if (job.inherited) slots.enter();
    else placed = await slots.wait(cutoffOf(job.deadlineAt, world.service, world.settings));
    let enteredAtMs = world.clock.monotonicMs();
    const giveUp = (restMs: number) => {
      if (!placed) return;
      placed = false;
      heldMs.add(world.clock.monotonicMs() - enteredAtMs);
      slots.leave(restMs);
    };
    const record = await sendClaim(
      sendWorld,
      {
        stopping: () => world.stopping() || current.abandoned,
        gateOpen: () => isOpen() && stands() && !current.abandoned && world.owns(requestId),
        isOverruled: () => !obeysOperatorCaps(claim.caps, gate.control()?.caps ?? {}),
        isForfeited: () => ['forfeited', 'refused'].includes(verdictOf(requestId)),
        othersMaySend: () => !world.soleOwner && (current.abandoned || !world.owns(requestId)),
        over: () => world.isLive() && !stands(),
        auctionEnded: () => (ledger.get(requestId)?.state.auction ?? null) !== null,
        place: {
          take: async (until) => {
            placed = await slots.wait(until, true);
            enteredAtMs = world.clock.monotonicMs();
            if (placed) retrying.delete(requestId);
            return placed;
          },
          giveUp: (restMs) => {
            retrying.add(requestId);
            tried.add(requestId);
            giveUp(restMs);
            world.onRoom();
          },
        },
      },
      job,
    );
    giveUp(0);
    retrying.delete(requestId);
    tried.delete(requestId);
    sending.delete(requestId);
    if (record !== null) observer({ kind: 'step', step: 'answer-received' });
    return record;
  }

  /**
   * A claim that was found came from a view, which is not what binds us: its record is. It is sent as the log says, and where the
   * view says something else nobody knows what has become of it.
   */
  async function lookUp(
    row: LedgerRow,
    job: SendJob,
    isGone: () => boolean,
  ): Promise<{ kind: 'found'; job: SendJob } | { kind: 'not-sent'; record: Answered | Frozen | null }> {
    const { requestId, claim } = job;
    const cutoffAt = cutoffOf(job.deadlineAt, world.service, world.settings);
    if (!(await lookUps.wait(cutoffAt))) return notRead(job);
    try {
      while (world.clock.now() < cutoffAt) {
        if (world.stopping() || isGone()) return { kind: 'not-sent', record: null };
        const entries = await entriesOf(row);
        if (entries !== null) {
          const said = evolveAll(entries, world.earlierTerms);
          const problem = differenceOf(said, claim, row.state.places !== undefined);
          // Where the row does not say which records it was folded from, there may be later ones, on their way here.
          if (problem === null && said!.phase !== 'claimed' && row.state.places === undefined) {
            return { kind: 'not-sent', record: null };
          }
          if (problem !== null) {
            const at = world.clock.now();
            return { kind: 'not-sent', record: { kind: 'frozen', requestId, at, problem } };
          }
          return { kind: 'found', job: { ...job, claim: said!.claim!, deadlineAt: deadlineOf(said!, world.settings) } };
        }
        await sleep(world.clock, world.settings.retryFirstMs);
      }
      return notRead(job);
    } finally {
      lookUps.leave();
    }
  }

  function notRead({ requestId, claim }: SendJob): { kind: 'not-sent'; record: Answered } {
    const text = 'the record of the claim could not be read before the deadline';
    return { kind: 'not-sent', record: unanswered(requestId, claim, text, world.clock.now()) };
  }

  /** The records that the row was folded from; null: the log does not answer just now. */
  async function entriesOf({ state }: LedgerRow): Promise<readonly AuctionRecord[] | null> {
    try {
      const entries = await world.log.readKey('auctions', state.requestId, state.places);
      return foldedInto(state, entries).map(({ record }) => record);
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      return null;
    }
  }

  /** Asked again where each first byte is written. Views without a book have said it when the claim was folded. */
  function verdictOf(requestId: RequestId): CapVerdict {
    if (verdicts === undefined) return 'granted';
    const partition = ledger.partitionOf(requestId);
    return partition === null ? 'pending' : verdicts.of(partition, requestId);
  }

  /** Null: the claim goes on, with room, or towards its end where that was not to be known. */
  async function endedByCaps(row: LedgerRow, job: SendJob, isGone: () => boolean): Promise<Answered | Passed | null> {
    if (verdicts === undefined) return row.hadRoom || (await findsRoom(job, isGone)) ? null : withoutRoom(job);
    const { requestId, claim, deadlineAt } = job;
    const cutoffAt = cutoffOf(deadlineAt, world.service, world.settings);
    while (!world.stopping() && !isGone() && world.clock.now() < cutoffAt) {
      const verdict = verdictOf(requestId);
      if (verdict === 'granted') return null;
      const now = world.clock.now();
      if (verdict === 'forfeited') return unanswered(requestId, claim, forfeitedText, now);
      if (verdict === 'refused') {
        const text = 'a cap had no room left when the claim was read back; nothing was sent';
        return { ...deskPass(requestId, 'cap', text, now, claim.claimId), maybeSent: true };
      }
      await verdicts.changed(world.settings.retryFirstMs);
    }
    return null;
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
      // Lost while it was looked at: its new owner goes on with it.
      if (usage !== null) return isGone() || fullCap(caps, nothingUsed, (key) => usage.get(key)) === null;
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
    wrote: ({ requestId, claimId, body }) => unsent.set(requestId, { claimId, body }),
    isSending: (requestId) => sending.has(requestId),
    count: () => sending.size,
    retrying: () => retrying.size,
    untried: () => sending.size - tried.size,
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

/**
 * Why a claim as a view has it is not sent, in words that quote nothing of it; null: the log says the same. `isWhole`: `said` is of
 * the records that the view was folded from, and of no later ones.
 */
function differenceOf(said: RequestState | null, { claimId, body }: Claim, isWhole: boolean): string | null {
  if (said?.frozen !== undefined) return `the record of the claim does not hold: ${said.frozen.problem}`;
  const inLog = said?.phase === 'claimed' || !isWhole ? said?.claim : null;
  if (inLog?.claimId === claimId && inLog.body === body) return null;
  return 'what the views say is not the claim of the log, so nothing is sent; see lance views verify';
}
