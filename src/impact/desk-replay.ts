/**
 * A desk without its log: one rule set decides recorded requests through the desk's own functions (`decideBatch`, `evolve`,
 * `viewChanges`) and learns from how their auctions ended. What it cannot know is how rivals would have answered other bids.
 */
import { createAuthorisations } from '../bidding/authorisations.ts';
import { createCurves } from '../bidding/curves.ts';
import { assess, fullCapOf, type OfferWorth, type Policy } from '../bidding/decide.ts';
import { type Decided, decideBatch } from '../bidding/decider.ts';
import { deadlineOf, evolve, viewChanges } from '../bidding/evolve.ts';
import { surroundingsOf } from '../bidding/explain.ts';
import { limitingRules } from '../bidding/limiting-rules.ts';
import { createOfferQueue, type WaitingOffer } from '../bidding/offer-queue.ts';
import { createPacer } from '../bidding/pacer.ts';
import type { ControlState, Snooze } from '../bidding/ports.ts';
import { deskPass } from '../bidding/react.ts';
import { readAuction } from '../bidding/settlement.ts';
import type { BiddingSettings } from '../config/sections.ts';
import { fullCap, usageUnder } from '../domain/cap-book.ts';
import { type EpochMs, noRivalCell, type RequestId } from '../domain/glossary.ts';
import type { CapReservation, Offer, PublishedBid, Reason, Review, SnoozedRule } from '../domain/offer.ts';
import type { AuctionRecord, Passed } from '../domain/records.ts';
import type { LinkDetail } from '../domain/request.ts';
import type { RequestState } from '../domain/states.ts';
import { priceCodes } from '../pricing/mask.ts';
import { wholeMarket } from '../rules/keys.ts';
import type { MemoryViews } from './memory-views.ts';
import type { RecordedCase } from './recorded-cases.ts';

export type SetDecision = { segmentKeys: readonly string[] } & (
  | { kind: 'bid'; offer: Offer; worth: OfferWorth }
  | {
      kind: 'pass';
      code: string;
      reasons: readonly Reason[];
      /** Names of the caps that had no room; absent: it is no pass of a cap. */
      caps?: readonly string[];
      /** Rules that set the limits of a pass of the price, which its reasons do not name; absent: none did. */
      limitRules?: readonly string[];
    }
);

/** How full a cap was at its fullest. `share` of its limit, by amount or by count, whichever is fuller. */
export type CapPeak = { share: number; amountCents: number; count: number };

export type DeskReplay = {
  /** Requests that are decided together, in order; `at` never goes back. */
  decide: (cases: readonly RecordedCase[], at: EpochMs) => Promise<SetDecision[]>;
  /** The end of a decided request's auction becomes known. */
  end: (recorded: RecordedCase) => void;
  /** By the cap's name. */
  capPeaks: ReadonlyMap<string, CapPeak>;
  /**
   * Requests of which the set would have asked for the link, as the desk may, and nobody did: what it would have decided then, no
   * record tells. They are set apart: passes here, which claim no room.
   */
  linkUnknown: ReadonlySet<RequestId>;
  /** Requests for which the set would have asked a person, by whether the answer is on record; of the others `otherwise` holds. */
  reviews: ReadonlyMap<RequestId, 'answered' | 'unanswered'>;
};

/** The best rival of a recorded auction as the desk reads it; null where its end is not known. */
export function bestRivalOf({ auction }: RecordedCase): { cell: number; offGrid: boolean } | null {
  if (auction === null) return null;
  const read = readAuction({ ...auction, at: auction.knownAt, bids: auction.rivals }, null, null, 0);
  return { cell: read.bestRivalCell ?? noRivalCell, offGrid: read.bestRivalOffGrid };
}

/** Whether a bid at this rate wins against the published bids: 1, 0, or a half for a tie. */
export function winAgainst(rateHundredths: number, { cell, offGrid }: { cell: number; offGrid: boolean }): number {
  if (rateHundredths < cell) return 1;
  return rateHundredths === cell && !offGrid && cell !== noRivalCell ? 0.5 : 0;
}

const instance = 'replay';
const ownBidId = 'replay:own';

/** The published bids as they would have been with ours among them. Of equal rates the one that came first ranks higher; not told, ours is kept as exposure. */
function withOwnBid(rivals: readonly PublishedBid[], offer: Offer, placedAt: EpochMs): PublishedBid[] {
  const { rateHundredths, amountCents, installments } = offer;
  const better = (bid: PublishedBid) => {
    if (bid.rateHundredths !== rateHundredths) return bid.rateHundredths < rateHundredths;
    return bid.offGrid || (bid.placedAt !== null && bid.placedAt < placedAt);
  };
  const position = 1 + rivals.filter(better).length;
  const own = { bidId: ownBidId, rateHundredths, offGrid: false, amountCents, installments, position, placedAt };
  return [...rivals, own];
}

function asSnooze(snoozed: SnoozedRule): Snooze {
  return { ...snoozed, until: Number.POSITIVE_INFINITY, by: '', reason: '', at: 0 };
}

function capNameOf(key: string): string {
  const end = key.indexOf('|');
  return end < 0 ? key : key.slice(0, end);
}

/** Requests that are set apart from the beginning: `all`, and of them those for whose links this set would have asked. */
export type Apart = { all: ReadonlySet<RequestId>; asked: ReadonlySet<RequestId> };

/** Of a request that is set apart: its decision is in no figure. */
const apartReason: Reason = { code: 'link-unknown', rule: null, text: 'its link was never asked for' };

/** `usage`: another desk's exposure, which this one only looks at and adds nothing to; null: its own. */
export function createDeskReplay(options: {
  policy: Policy;
  settings: BiddingSettings;
  memory: MemoryViews;
  usage: MemoryViews | null;
  apart: Apart;
}): DeskReplay {
  const { policy, settings, memory, apart } = options;
  const states = new Map<RequestId, RequestState>();
  const capPeaks = new Map<string, CapPeak>();
  let now = 0;
  let learnt = false;
  let links: ReadonlyMap<RequestId, LinkDetail> = new Map();
  let inVain: ReadonlySet<RequestId> = new Set();
  const linkUnknown = new Set(apart.asked);
  const reviews = new Map<RequestId, 'answered' | 'unanswered'>();
  let answers: ReadonlyMap<RequestId, Review> = new Map();
  const authorisations = createAuthorisations({ always: settings.askWithoutAuthorisation });
  let control: ControlState = { revision: 0, pause: null, caps: {}, snoozes: [], ruleOrders: [], changes: [] };
  let acceptance: RecordedCase['acceptance'] = null;
  const exposure = options.usage ?? memory;
  const views = { usage: exposure.views.usage, statistics: memory.views.statistics };
  const curves = createCurves({
    views,
    clock: { now: () => now, monotonicMs: () => now },
    settings,
    learning: true,
    observer: () => undefined,
  });
  const world = {
    views,
    margins: { read: async () => links },
    curves,
    // Nobody can be asked any more: what was recorded holds, and what was not is unknown.
    sources: { ask: () => false },
    // Recorded cases are whole.
    whole: ({ request }: RequestState) => request!,
    links: {
      linkKeyOf: ({ requestId }: RequestState) => (links.has(requestId) ? requestId : null),
      waitingSince: () => null,
      // What the desk would wait for, and nobody asked for then, never comes here.
      park: ({ requestId, request }: RequestState) => {
        const { workerKey, authorisationNumber } = request!;
        if (workerKey === null) return 'margin-missing' as const;
        if (!authorisations.mayAsk(workerKey, authorisationNumber)) return 'authorisation-missing' as const;
        if (inVain.has(requestId)) return 'in-vain' as const;
        linkUnknown.add(requestId);
        return null;
      },
      unpark: () => undefined,
    },
    pacer: createPacer(settings.demandByHour),
    acceptance: { read: async () => acceptance },
    settings,
    policy,
    control: () => control,
    latestAnswerAt: (state: RequestState) =>
      answers.has(state.requestId) ? Number.POSITIVE_INFINITY : deadlineOf(state, settings),
    encodeBid: () => '',
    onFailure: () => undefined,
  };

  /** False: a reservation was refused. */
  function fold(record: AuctionRecord): boolean {
    const before = states.get(record.requestId) ?? null;
    const after = evolve(before, record, settings);
    const changes = viewChanges(before, after, record, settings);
    states.set(record.requestId, after);
    const learns = changes.some((change) => change.kind === 'learn');
    learnt ||= learns;
    return memory.apply(options.usage === null ? changes : changes.filter((change) => change.kind === 'learn'));
  }

  function notePeaks(caps: readonly CapReservation[]): void {
    for (const cap of caps) {
      const { amountCents, count } = usageUnder(cap, exposure.usageOf);
      const ofAmount = cap.limitAmountCents ? amountCents / cap.limitAmountCents : 0;
      const ofCount = cap.limitCount ? count / cap.limitCount : 0;
      const share = Math.max(ofAmount, ofCount);
      const name = capNameOf(cap.keys[0] ?? '');
      if (share > (capPeaks.get(name)?.share ?? 0)) capPeaks.set(name, { share, amountCents, count });
    }
  }

  function claim({ requestId, offer, trace, body }: WaitingOffer): boolean {
    const claimId = `${instance}:${requestId}`;
    const fits = fold({ kind: 'claimed', requestId, at: now, claimId, instance, body, offer, trace });
    if (!fits) {
      fold(deskPass(requestId, 'cap', '', now, claimId));
      return false;
    }
    notePeaks(trace.caps);
    fold({
      kind: 'answered',
      requestId,
      at: now,
      claimId,
      outcome: { kind: 'accepted', bidId: ownBidId },
      attempts: 1,
      earlierAttemptPossible: false,
      firstByteAt: now,
      response: null,
    });
    return true;
  }

  /**
   * Nobody can be asked any more: an answer that was given counts at once, for the rules that it was given to; without one what rules say
   * otherwise holds.
   */
  async function answered(decided: readonly Decided[]): Promise<Decided[]> {
    const asked = decided.flatMap((decision) => (decision.kind === 'review' ? [decision.record] : []));
    if (asked.length === 0) return [...decided];
    for (const record of asked) {
      const { requestId, rules } = record;
      const recorded = answers.get(requestId);
      const answer = recorded?.answer ?? null;
      const known = answer === null ? [] : rules.filter((rule) => recorded!.rules.includes(rule));
      reviews.set(requestId, known.length === 0 ? 'unanswered' : 'answered');
      fold({ ...record, rules: known.length === 0 ? rules : known });
      if (answer === null || known.length === 0) continue;
      const { decision, by, reason } = answer;
      fold({ kind: 'review-answered', requestId, at: record.at, decision, by, reason });
    }
    const waiting = asked.map(({ requestId }) => states.get(requestId)!);
    const again = await decideBatch(world, waiting, now);
    const others = decided.filter(({ kind }) => kind !== 'review');
    return [...others, ...again];
  }

  /** Queries that the service took: the recorded ones, and those that the set would have sent. Of one in vain nothing tells that. */
  function noteQueries(cases: readonly RecordedCase[]): void {
    for (const { request, link } of cases) {
      const { requestId, workerKey, authorisationNumber } = request;
      if (workerKey === null || (link === null && !linkUnknown.has(requestId))) continue;
      authorisations.taken(workerKey, authorisationNumber);
    }
  }

  /** What a pass goes back to that its reasons do not name: the full cap, the rules that set its limits. */
  function causesOf({ requestId, code, reasons, trace }: Passed): { caps?: string[]; limitRules?: string[] } {
    const full = fullCapOf(reasons);
    if (full !== null) return { caps: [capNameOf(full)] };
    const request = states.get(requestId)?.request ?? null;
    if (trace === null || request === null || !(priceCodes as readonly string[]).includes(code)) return {};
    const { verdict } = assess(request, surroundingsOf(trace), policy, trace.decidedAt);
    const rules = limitingRules(code, verdict, request);
    return rules.length === 0 ? {} : { limitRules: rules };
  }

  /** Offers claim their place under the caps in the order in which the desk would send them. */
  function place(decided: readonly Decided[], paused: ReadonlySet<RequestId>): Map<RequestId, SetDecision> {
    const results = new Map<RequestId, SetDecision>();
    const queue = createOfferQueue(Number.POSITIVE_INFINITY);
    const worths = new Map<RequestId, OfferWorth>();
    const pass = (
      requestId: RequestId,
      code: 'paused' | 'cap',
      segmentKeys: readonly string[],
      text: string,
      by = {},
    ) => results.set(requestId, { kind: 'pass', code, reasons: [{ code, rule: null, text }], segmentKeys, ...by });
    for (const decision of decided) {
      if (decision.kind === 'pass') {
        const { record } = decision;
        const segmentKeys = record.trace?.segmentKeys ?? [wholeMarket];
        const by = causesOf(record);
        fold(record);
        results.set(record.requestId, { kind: 'pass', code: record.code, reasons: record.reasons, segmentKeys, ...by });
      } else if (decision.kind === 'offer') {
        const { requestId } = decision.waiting;
        if (paused.has(requestId)) {
          fold(deskPass(requestId, 'paused', '', now, null));
          pass(requestId, 'paused', decision.waiting.trace.segmentKeys, 'operators had paused the desk');
          continue;
        }
        worths.set(requestId, decision.worth);
        queue.push({ ...decision.waiting, deadlineAt: deadlineOf(states.get(requestId)!, settings) });
      }
    }
    for (let waiting = queue.pop(); waiting !== null; waiting = queue.pop()) {
      const { requestId, offer, trace } = waiting;
      const { segmentKeys } = trace;
      const full = fullCap(trace.caps, { amountCents: offer.amountCents, count: 1 }, exposure.usageOf);
      if (claim(waiting)) results.set(requestId, { kind: 'bid', offer, worth: worths.get(requestId)!, segmentKeys });
      else {
        const by = full === null ? {} : { caps: [capNameOf(full)] };
        pass(requestId, 'cap', segmentKeys, 'a cap had no room left when the claim was made', by);
      }
    }
    return results;
  }

  return {
    capPeaks,
    linkUnknown,
    reviews,
    decide: async (cases, at) => {
      now = at;
      memory.advance(at);
      if (learnt) curves.clear();
      learnt = false;
      const [first] = cases;
      if (first === undefined) return [];
      links = new Map(cases.flatMap(({ request, link }) => (link === null ? [] : [[request.requestId, link]])));
      answers = new Map(
        cases.flatMap(({ request, review }) => (review === undefined ? [] : [[request.requestId, review]])),
      );
      inVain = new Set(cases.flatMap((one) => (one.linkAskedInVain === true ? [one.request.requestId] : [])));
      // Each set sleeps only on the rules that it has as they were.
      const snoozes = (first.control.snoozed ?? []).map(asSnooze);
      control = { ...control, caps: first.control.caps, snoozes };
      acceptance = first.acceptance;
      for (const { request, sources } of cases) {
        const { requestId, receivedAt } = request;
        fold({ kind: 'requested', requestId, at: receivedAt, request, sealed: '', rawHash: '' });
        for (const look of sources ?? []) {
          const of = { requestId, at: receivedAt };
          fold({ kind: 'source-asked', ...of, source: look.source, hash: look.hash, attempt: 1, ruleSetHash: '' });
          fold({ kind: 'source-answered', ...of, ...look });
        }
      }
      const undecided = cases.filter(({ request }) => !apart.all.has(request.requestId));
      const decided = await decideBatch(
        world,
        undecided.map(({ request }) => states.get(request.requestId)!),
        at,
      );
      noteQueries(cases);
      const paused = new Set(cases.flatMap((one) => (one.control.paused ? [one.request.requestId] : [])));
      const results = place(await answered(decided), paused);
      for (const { request, auction } of cases) if (auction === null) states.delete(request.requestId);
      const setApart: SetDecision = {
        kind: 'pass',
        code: apartReason.code,
        reasons: [apartReason],
        segmentKeys: [wholeMarket],
      };
      return cases.map(({ request: { requestId } }) => {
        const isApart = apart.all.has(requestId) || linkUnknown.has(requestId);
        return isApart ? setApart : results.get(requestId)!;
      });
    },
    end: ({ request, auction }) => {
      const { requestId } = request;
      const claimed = states.get(requestId)?.claim ?? null;
      if (auction === null || !states.has(requestId)) return;
      const { startedAt, endedAt, knownAt, rivals } = auction;
      memory.advance(knownAt);
      const sent = claimed !== null && states.get(requestId)!.phase !== 'passed';
      const bids = sent ? withOwnBid(rivals, claimed.offer, claimed.at) : rivals;
      const batchId = request.batchId ?? '';
      fold({ kind: 'ended', requestId, at: knownAt, batchId, startedAt, endedAt, bids });
      states.delete(requestId);
    },
  };
}
