/** Carries one claim to the service: the same bytes again until there is an answer or the deadline. */

import type { BiddingSettings } from '../config/sections.ts';
import type { Chance, Clock } from '../domain/clock.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { BidOutcome } from '../domain/offer.ts';
import type { Answered, Hindrance, Passed } from '../domain/records.ts';
import type { Claim } from '../domain/states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import { troubleOfReason } from './bidding-status.ts';
import { noteHindrance } from './hindrances.ts';
import type { DeskObserver } from './observer.ts';
import type { OwnDelay } from './own-delay.ts';
import type { BidAnswer, Service } from './ports.ts';
import { type DeskCode, deskPass } from './react.ts';
import type { AttemptEnd, SendLimit } from './send-limit.ts';
import { sleep } from './sleep.ts';

/** What is the same for all claims. */
export type SendWorld = {
  service: Service;
  vault: Pick<Vault, 'seal'>;
  clock: Clock;
  chance: Chance;
  settings: BiddingSettings;
  observer: DeskObserver;
  /** See `BiddingWatch`. */
  endCode: (otherwise: DeskCode) => DeskCode;
  /** No other process can own the same requests: what this one did not write, nobody wrote. */
  soleOwner: boolean;
  sendLimit: SendLimit;
  ownDelay: OwnDelay;
  /** Claims that have a place on the way to the service right now. */
  inFlight: () => number;
};

/** What may become of one claim while it is sent. */
export type ClaimWatch = {
  /** False while paused, closed or stopping: no byte is written. */
  gateOpen: () => boolean;
  stopping: () => boolean;
  /** The claim was answered, ended or given up elsewhere meanwhile: no further attempt. */
  over: () => boolean;
  /** The end of the auction was told, at whatever time it says that it ended: a bid now would bind us outside of it. */
  auctionEnded: () => boolean;
  /** The cap book was lost after it had granted the claim: whatever was written, nothing is any more. Left out: there is no book. */
  isForfeited?: () => boolean;
  /** A cap was set or lowered by hand after the decision: a claim that this process has not tried is not sent. */
  isOverruled: () => boolean;
  /** Another process may have, or have had, the request since this one began: what it has sent may be older than our answer. */
  othersMaySend: () => boolean;
  /**
   * The place of this claim. It has one when it begins. After an attempt that failed it gives the place up until it tries again: a
   * request that the service never answers must not keep others from being tried.
   */
  place: {
    /** Waits for a place behind others. False: there was none until then. */
    take: (until: EpochMs) => Promise<boolean>;
    /** Nobody has the place before `restMs` are over. */
    giveUp: (restMs: number) => void;
  };
};

export type SendJob = {
  requestId: RequestId;
  claim: Claim;
  deadlineAt: EpochMs;
  receivedAt: EpochMs;
  /** The claim was found, not just written by this process: it may have been sent already. */
  inherited: boolean;
};

const gatePollMs = 25;
/** Whoever waits for a place looks this often whether the claim is over. */
const placePollMs = 1_000;
/** `Retry-After` is obeyed for so long at most: slots are few after a 429, and an auction is over long before an hour is. */
const longestRetryAfterMs = 5_000;
/**
 * After so many failures in a row, and others answered between each two of them, it is this request that fails, and not the service.
 */
const failuresAlone = 2;
/** Each attempt may get codes of its own. */
const maxCodes = 16;

/** Why a claim that is older than the cap book ends. */
export const forfeitedText = 'the cap book was lost after the claim, so it is not sent any more';

const overruledText = 'a cap by hand was set or lowered after the decision, so it is not sent';

/** No first byte at or after this: the deadline less what clocks differ by and what the network takes. */
export function cutoffOf(
  deadlineAt: EpochMs,
  service: Pick<Service, 'networkP99Ms' | 'clockSkewMs'>,
  settings: BiddingSettings,
): EpochMs {
  const measuredMs = service.networkP99Ms() + Math.max(0, service.clockSkewMs());
  return Math.floor(deadlineAt - settings.skewAllowanceMs - measuredMs);
}

/** What an attempt says of the service; null when it never came so far as to ask it. */
function attemptEnd(answer: BidAnswer): AttemptEnd | null {
  switch (answer.kind) {
    case 'answered':
      return 'answered';
    case 'unknown':
      return 'failed';
    case 'not-landed':
      if (answer.reason === 'throttled') return 'throttled';
      return answer.reason === 'unreachable' ? 'failed' : null;
    default:
      return answer satisfies never;
  }
}

/** Resolves to the record that ends the claim, or to null when the process stops or the claim is over elsewhere first. */
export async function sendClaim(world: SendWorld, watch: ClaimWatch, job: SendJob): Promise<Answered | Passed | null> {
  const { service, clock, settings } = world;
  let attempts = 0;
  let landingPossible = job.inherited;
  let firstByteAt: EpochMs | null = null;
  const codes = new Set<string>();
  const hindrances: Hindrance[] = [];
  let pauseMs = settings.retryFirstMs;
  let held: DeskCode = 'deadline';
  let hasPlace = true;
  let failedAtMs = Number.POSITIVE_INFINITY;
  let failedAlone = 0;
  for (;;) {
    if (watch.stopping()) return null;
    // Whoever ended it may not know that bytes of ours are out: that has to be said, whatever it is worth by now.
    if (watch.over()) return attempts > 0 ? unknown() : null;
    if (watch.isForfeited?.()) return unknown(forfeitedText);
    if (attempts === 0 && watch.isOverruled()) return overruled();
    const cutoffAt = cutoffOf(job.deadlineAt, service, settings);
    if (clock.now() >= cutoffAt) return afterDeadline();
    if (watch.auctionEnded())
      return unansweredAt('end of its auction', held === 'deadline' ? 'auction-ended' : held, held);
    if (!hasPlace) {
      hasPlace = await watch.place.take(Math.min(cutoffAt, clock.now() + placePollMs));
      continue;
    }
    if (!watch.gateOpen()) {
      held = world.endCode('deadline');
      await sleep(clock, Math.min(gatePollMs, cutoffAt - clock.now()));
      continue;
    }
    held = 'deadline';
    const startedAtMs = clock.monotonicMs();
    const heldUntilMs = world.sendLimit.admit(startedAtMs);
    if (heldUntilMs > startedAtMs) {
      held = 'service-unreachable';
      // One waits to try the service; the others make room for those that were not tried yet.
      if (world.inFlight() > world.sendLimit.current()) {
        leavePlace(0);
        continue;
      }
      await sleep(clock, Math.min(heldUntilMs - startedAtMs, cutoffAt - clock.now()));
      continue;
    }
    const startedAt = clock.now();
    world.ownDelay.measure();
    const mayWrite = () => {
      const may = watch.gateOpen() && !watch.auctionEnded() && (attempts > 0 || !watch.isOverruled());
      if (may) world.observer({ kind: 'sending', at: clock.now() });
      return may;
    };
    const answer = await service.placeBid({ body: job.claim.body, deadlineAt: cutoffAt, mayWrite });
    const end = endOf(answer);
    observe(answer, end, startedAtMs);
    if (answer.kind === 'answered') return answered(answer);
    if (answer.reason !== 'stopped' && answer.reason !== 'deadline')
      noteHindrance(hindrances, {
        kind: 'attempt',
        cause: answer.reason,
        count: 1,
        from: startedAt,
        until: clock.now(),
      });
    if (answer.kind === 'unknown') landingPossible = true;
    else held = troubleOfReason(answer.reason) ?? held;
    const waits = answer.kind === 'not-landed' && ['stopped', 'deadline'].includes(answer.reason);
    // Where the service throttles all, the place rests: fewer are tried.
    if (!waits) leavePlace(end === 'throttled' ? Math.max(world.sendLimit.restMs(), askedMs(answer)) : 0);
    await sleep(clock, Math.min(pauseAfter(answer), Math.max(0, cutoffAt - clock.now())));
    pauseMs = Math.min(settings.retryMaxMs, pauseMs * 2);
  }

  function leavePlace(restMs: number): void {
    hasPlace = false;
    watch.place.giveUp(restMs);
  }

  /** What the service asks us to wait. */
  function askedMs(answer: BidAnswer): number {
    const ms = answer.kind === 'not-landed' && answer.retryAt !== null ? answer.retryAt - clock.now() : 0;
    return Math.min(ms, longestRetryAfterMs);
  }

  function pauseAfter(answer: BidAnswer): number {
    if (answer.kind === 'not-landed' && answer.reason === 'stopped') return gatePollMs;
    return Math.max(pauseMs * (0.5 + world.chance()), askedMs(answer));
  }

  function endOf(answer: BidAnswer): AttemptEnd | null {
    const end = attemptEnd(answer);
    if (end !== 'failed' && end !== 'throttled') return end;
    failedAlone = world.sendLimit.answeredAtMs() > failedAtMs ? failedAlone + 1 : 0;
    failedAtMs = clock.monotonicMs();
    return failedAlone >= failuresAlone ? 'alone' : end;
  }

  function observe(answer: BidAnswer, end: AttemptEnd | null, startedAtMs: number): void {
    const durationMs = clock.monotonicMs() - startedAtMs;
    const isHeard = answer.kind !== 'not-landed' || ['throttled', 'unauthorised'].includes(answer.reason);
    world.observer({
      kind: 'attempt',
      outcome: answer.kind === 'answered' ? answer.outcome.kind : answer.reason,
      durationMs: isHeard ? durationMs : null,
    });
    if (end === null) world.sendLimit.withdrawn();
    else world.sendLimit.heard(end, durationMs, world.inFlight(), clock.monotonicMs(), world.ownDelay.ms());
    if (answer.kind === 'not-landed') return;
    attempts += 1;
    for (const code of answer.codes ?? []) if (codes.size < maxCodes) codes.add(code);
    if (firstByteAt === null) {
      firstByteAt = answer.firstByteAt;
      const sinceReceiptMs = firstByteAt - job.receivedAt;
      if (!job.inherited)
        world.observer({ kind: 'duration', stage: 'received-to-first-byte', durationMs: sinceReceiptMs });
    }
    world.observer({ kind: 'duration', stage: 'send-to-answer', durationMs });
  }

  function answered(answer: Extract<BidAnswer, { kind: 'answered' }>): Answered {
    return {
      kind: 'answered',
      requestId: job.requestId,
      at: clock.now(),
      claimId: job.claim.claimId,
      outcome: namedOutcome(answer.outcome),
      ...codesBeside('bidId' in answer.outcome ? answer.outcome.bidId : null),
      attempts,
      earlierAttemptPossible: landingPossible || watch.othersMaySend(),
      firstByteAt,
      response: storedResponse(answer),
      ...toldHindrances(),
    };
  }

  function namedOutcome(outcome: Extract<BidAnswer, { kind: 'answered' }>['outcome']): BidOutcome {
    const mayBeNamed = outcome.kind !== 'accepted' && outcome.kind !== 'accepted-outside';
    return mayBeNamed && codes.size > 0 ? { ...outcome, names: [...codes] } : outcome;
  }

  function toldHindrances(): { hindrances?: readonly Hindrance[] } {
    return hindrances.length === 0 ? {} : { hindrances };
  }

  /** What the service writes may name the worker. */
  function storedResponse({ response, isHarmless = false }: Extract<BidAnswer, { kind: 'answered' }>) {
    const { status, body } = response;
    if (isHarmless) return { status, body };
    return { status, body: null, sealedBody: world.vault.seal(sealedPlaces.bidAnswer(job.requestId), body) };
  }

  /** Of all attempts: within an auction the id of the bid is the only one. */
  function codesBeside(bidId: string | null): Pick<Answered, 'codes'> {
    const others = [...codes].filter((code) => code !== bidId);
    return others.length === 0 ? {} : { codes: others };
  }

  function overruled(): Answered | Passed {
    if (job.inherited || watch.othersMaySend()) return unknown(overruledText);
    const pass = deskPass(job.requestId, 'cap-lowered', overruledText, clock.now(), job.claim.claimId);
    return world.soleOwner ? pass : { ...pass, maybeSent: true };
  }

  function afterDeadline(): Answered | Passed {
    // A claim that waited for a slot until now was never tried.
    const code = held === 'deadline' ? world.endCode('deadline') : held;
    return unansweredAt('deadline', code, code);
  }

  /** Nothing is sent any more, and nobody has answered what was. */
  function unansweredAt(end: 'deadline' | 'end of its auction', code: DeskCode, cause: DeskCode): Answered | Passed {
    // Another owner may have read the claim back and sent it, and not have told yet.
    if (landingPossible || !world.soleOwner) return unknown(`no answer that can be trusted before the ${end}`);
    const why = cause === 'deadline' ? '' : ` (${cause})`;
    const refusals = hindrances.filter(({ cause }) => cause === 'throttled' || cause === 'unauthorised');
    const times = refusals.reduce((sum, { count }) => sum + count, 0);
    const causes = [...new Set(refusals.map(({ cause }) => cause))].join(', ');
    const text =
      times === 0
        ? `claimed, and never written before the ${end}${why}`
        : `claimed, and turned away each time until the ${end}: ${times} × ${causes}${why}`;
    return { ...deskPass(job.requestId, code, text, clock.now(), job.claim.claimId), ...toldHindrances() };
  }

  function unknown(reason = 'no answer that can be trusted before the deadline'): Answered {
    return {
      kind: 'answered',
      requestId: job.requestId,
      at: clock.now(),
      claimId: job.claim.claimId,
      outcome: { kind: 'unknown', reason },
      ...codesBeside(null),
      attempts,
      earlierAttemptPossible: true,
      firstByteAt,
      response: null,
      ...toldHindrances(),
    };
  }
}
