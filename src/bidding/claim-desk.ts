/** From the queue of offers to claims in the log: appended for the send slots that are free, or will be by then; the most valuable offers first. */

import type { BiddingSettings } from '../config/sections.ts';
import { haveSameCapKeys } from '../domain/cap-book.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Answered, Claimed, Passed } from '../domain/records.ts';
import type { Agenda } from './agenda.ts';
import type { BidSender } from './bid-sender.ts';
import type { BiddingWatch } from './bidding-status.ts';
import type { Policy } from './decide.ts';
import type { DeskWorld } from './desk-world.ts';
import type { Gate } from './gate.ts';
import type { Ledger } from './ledger.ts';
import { createMean } from './mean.ts';
import type { DeskObserver } from './observer.ts';
import { type OfferQueue, type WaitingOffer, worthText } from './offer-queue.ts';
import type { Outbox } from './outbox.ts';
import type { NewEntry, Service } from './ports.ts';
import { claimedBefore, deskPass } from './react.ts';
import { cutoffOf } from './send-claim.ts';
import type { SendLimit } from './send-limit.ts';

export type ClaimDesk = {
  /** Claims what may be claimed now. Asked whenever an offer, a slot or the gate may have opened the way. */
  pump: () => void;
  /** Requests with a claim that is not read back yet. */
  isClaiming: (requestId: RequestId) => boolean;
  count: () => number;
  /** The claim was read back, or is somebody else's affair now. */
  forget: (requestId: RequestId) => void;
  clear: () => void;
};

/**
 * So many claims may wait to be tried again and leave the slots to new ones. While the service answers nobody, each attempt adds one
 * of them, whose amount stays promised: beyond this number new claims are made one at a time, each when the one before was tried.
 * One is always made: those that wait may fail for a reason of their own.
 */
const mostRetrying = 32;

const longestDecisionAgeMs = 60_000;

export function createClaimDesk(world: {
  instance: string;
  clock: Clock;
  service: Service;
  settings: BiddingSettings;
  observer: DeskObserver;
  queue: OfferQueue;
  gate: Gate;
  ledger: Ledger;
  outbox: Outbox;
  agenda: Agenda;
  sender: Pick<BidSender, 'count' | 'retrying' | 'untried' | 'heldMs' | 'wrote'>;
  sendLimit: SendLimit;
  owns: (requestId: RequestId) => boolean;
  isEnding: (requestId: RequestId) => boolean;
  /** What bids are decided by now; null: it is not at hand. */
  policy: (at: EpochMs) => Policy | null;
  /** What was decided by rules or orders that hold no more is decided anew. */
  decideAnew: (requestIds: readonly RequestId[]) => void;
  end: (pass: Passed, answer?: Answered) => void;
  /** See `DeskWorld`. */
  lostClaim?: DeskWorld['lostClaim'];
  /** See `BiddingWatch`. */
  endCode: BiddingWatch['endCode'];
  spawn: (work: Promise<void>) => void;
}): ClaimDesk {
  const { queue, gate, ledger, outbox, agenda, sendLimit, clock, settings, observer } = world;
  /** By request, when its claim was begun, on the monotonic clock. */
  const claiming = new Map<RequestId, number>();
  const claimMs = createMean();
  const { resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs } = settings;
  const terms = { resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs };
  let sequence = 0;

  /**
   * Claims for the slots that are free, and for those that will be while they are written (Little's law). More would only
   * wait with their rates fixed, and would be passed by nothing that is worth more.
   */
  function room(): number {
    const slots = sendLimit.current();
    const ahead = (claimMs.value() ?? 0) / Math.max(1, world.sender.heldMs() ?? Number.POSITIVE_INFINITY);
    const retrying = Math.min(mostRetrying, world.sender.retrying());
    const free = slots + Math.ceil(slots * Math.min(1, ahead)) - claiming.size - (world.sender.count() - retrying);
    return Math.max(free, 1 - claiming.size - world.sender.untried());
  }

  function pump(): void {
    if (!gate.isOpen()) return;
    const now = clock.now();
    const isCurrent = currentAt(now);
    const outdated: RequestId[] = [];
    const claims: NewEntry[] = [];
    for (let left = room(); left > 0; ) {
      const waiting = queue.pop();
      if (waiting === null) break;
      const { requestId } = waiting;
      const known = ledger.get(requestId)?.state;
      if (known?.phase !== 'requested' || known.frozen !== undefined || world.isEnding(requestId)) continue;
      if (!world.owns(requestId)) {
        agenda.set(requestId, now + settings.retryFirstMs);
        continue;
      }
      const cutoffAt = cutoffOf(waiting.deadlineAt, world.service, settings);
      if (now >= cutoffAt) {
        const code = world.endCode('no-send-slot', cutoffAt);
        // What the code names kept all slots busy.
        const why =
          code === 'no-send-slot'
            ? 'no send slot was free before the deadline'
            : 'it waited to be sent until its deadline';
        world.end(deskPass(requestId, code, `${why}; ${worthText(waiting)}`, now, null));
        continue;
      }
      if (!isCurrent(waiting)) {
        outdated.push(requestId);
        continue;
      }
      claiming.set(requestId, clock.monotonicMs());
      const record = claimOf(waiting, now);
      world.sender.wrote(record);
      left -= 1;
      claims.push({ topic: 'auctions', key: requestId, record, firstClaim: true });
    }
    if (claims.length > 0) world.spawn(claim(claims));
    if (outdated.length > 0) world.decideAnew(outdated);
  }

  /**
   * An offer may have waited, behind a pause or without the service, while a cap was lowered, a set of rules gave way to another, or a
   * new day or hour began: a bid counts under the caps of the hour of its claim. Rules of certain hours or days, and facts of the
   * time, are as old as the decision, so none of more than `longestDecisionAgeMs` is claimed.
   */
  function currentAt(now: EpochMs): (waiting: WaitingOffer) => boolean {
    const policy = world.policy(now);
    const revision = gate.control()?.revision;
    return ({ trace, controlRevision }) =>
      haveSameCapKeys(trace.decidedAt, now) &&
      now - trace.decidedAt <= longestDecisionAgeMs &&
      controlRevision === revision &&
      trace.ruleSetHash === policy?.ruleSet.hash &&
      trace.settingsHash === policy.settingsHash;
  }

  function claimOf({ requestId, body, offer, trace }: WaitingOffer, at: EpochMs): Claimed {
    sequence += 1;
    const claimId = `${world.instance}:${sequence}`;
    return { kind: 'claimed', requestId, at, claimId, instance: world.instance, body, offer, trace, terms };
  }

  /** When the log refuses, the claim may have been written all the same: whichever comes first in the log counts. */
  async function claim(claims: readonly NewEntry[]): Promise<void> {
    if (await outbox.append(claims)) {
      observer({ kind: 'step', step: 'claim-appended' });
      return;
    }
    for (const { key } of claims) {
      claiming.delete(key);
      const lost = world.lostClaim?.(key);
      if (lost === undefined) agenda.set(key, clock.now() + settings.retryFirstMs);
      else world.end(...claimedBefore(key, lost, clock.now()));
    }
  }

  return {
    pump,
    isClaiming: (requestId) => claiming.has(requestId),
    count: () => claiming.size,
    forget: (requestId) => {
      const begunAtMs = claiming.get(requestId);
      if (begunAtMs === undefined) return;
      claimMs.add(clock.monotonicMs() - begunAtMs);
      claiming.delete(requestId);
    },
    clear: () => claiming.clear(),
  };
}
