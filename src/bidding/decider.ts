/** Decides a batch of requests: one read of margins, one of curves, one of caps; then offers wait and passes are written. */

import type { BiddingSettings } from '../config/sections.ts';
import { capKeysOf } from '../domain/cap-book.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { CapReservation } from '../domain/offer.ts';
import type { Passed, ReviewAsked, StoredInput } from '../domain/records.ts';
import type { LoanRequest } from '../domain/request.ts';
import { lacksSealed } from '../domain/sealed-facts.ts';
import type { RequestState } from '../domain/states.ts';
import { tailor } from '../pricing/win-curve.ts';
import { featureLevels } from '../rules/features.ts';
import type { Acceptance } from './acceptance.ts';
import type { Curves } from './curves.ts';
import {
  type Assessment,
  assess,
  checkCaps,
  choiceInput,
  type Draft,
  type DraftInput,
  draftOffer,
  isComplete,
  linkNeed,
  type OfferWorth,
  type Policy,
  sourcesWanted,
} from './decide.ts';
import { deadlineOf } from './evolve.ts';
import { readLedgerFacts, readUsage } from './ledger-facts.ts';
import type { LinkDesk } from './link-desk.ts';
import { looksAtMarket, readMarketFacts } from './market-facts.ts';
import type { WaitingOffer } from './offer-queue.ts';
import type { Pacer } from './pacer.ts';
import { type ControlState, type MarginCache, snoozedIn, type Views } from './ports.ts';
import { deskPass } from './react.ts';
import { heedReview, reviewOf } from './review.ts';
import type { SourceDesk } from './source-desk.ts';
import { looksOfSources } from './sources.ts';
import { problemOf } from './unprocessable.ts';

export type Decided =
  | { kind: 'offer'; waiting: Omit<WaitingOffer, 'deadlineAt'>; worth: OfferWorth; stored: readonly StoredInput[] }
  | { kind: 'pass'; record: Passed; stored: readonly StoredInput[] }
  /** Waits for its employment link or a source; looked at again when they answer, or at `until`. */
  | { kind: 'parked'; requestId: RequestId; until: number }
  /** It would be bid for, and a person is asked first. */
  | { kind: 'review'; record: ReviewAsked; stored: readonly StoredInput[] }
  /** Its records do not give what a decision needs: it is frozen. */
  | { kind: 'unprocessable'; requestId: RequestId; problem: string };

export type DeciderWorld = {
  views: Pick<Views, 'usage' | 'statistics'>;
  margins: Pick<MarginCache, 'read'>;
  curves: Curves;
  sources: Pick<SourceDesk, 'ask'>;
  links: Pick<LinkDesk, 'linkKeyOf' | 'waitingSince' | 'park' | 'unpark'>;
  pacer: Pacer;
  acceptance: Acceptance;
  settings: BiddingSettings;
  policy: Policy;
  /** The request with what is sealed beside it; throws where that cannot be opened. */
  whole: (state: RequestState) => LoanRequest;
  /** Caps by hand and snoozes: never none because they are not known. */
  control: () => ControlState;
  /** The last moment at which the answer to a review still leaves time for a bid. */
  latestAnswerAt: (state: RequestState) => EpochMs;
  encodeBid: (requestId: RequestId, offer: WaitingOffer['offer']) => string;
  /** A decision that throws twice is a pass and an alarm. */
  onFailure: (requestId: RequestId, fault: unknown) => void;
};

type Case = { state: RequestState; assessment: Assessment };

export async function decideBatch(
  world: DeciderWorld,
  states: readonly RequestState[],
  now: number,
): Promise<Decided[]> {
  const { policy } = world;
  const { revision } = world.control();
  const decided: Decided[] = [];
  const cases = await assessAll(world, policy, states, now, decided);
  const priced = cases.filter(({ assessment }) => assessment.verdict.passes.length === 0);
  const curves = await world.curves.read(
    priced.map(({ assessment }) => assessment.verdict.segmentKeys),
    policy,
  );
  const curveOf = new Map(priced.map(({ state }, index) => [state.requestId, curves[index]!]));
  const acceptance = await world.acceptance.read(policy, now);
  await updatePrices(world, priced, now);
  const drafts: { state: RequestState; assessment: Assessment; draft: Draft }[] = [];
  for (const { state, assessment } of cases) {
    const draft = attempt(world, state, now, decided, () => {
      const price = world.pacer.priceUnder(assessment.verdict.caps);
      const learnt = curveOf.get(state.requestId);
      const tailored = learnt === undefined ? null : tailor(learnt, featureLevels(assessment.facts));
      const input: DraftInput = {
        assessment,
        policy,
        settings: world.settings,
        curve: tailored?.curve ?? null,
        trial: tailored?.trial ?? null,
        tailoring: tailored?.tailoring ?? null,
        operatorCaps: world.control().caps,
        shadowPricePerCent: price?.perCent ?? 0,
        shadowPriceVersion: price?.version ?? null,
        acceptance,
      };
      const drafted = draftOffer(input);
      // A request that waited for a review was counted when it was decided first.
      if (price !== null && assessment.review === null && isComplete(input)) {
        const { amountCents, winProbability } = drafted.kind === 'offer' ? drafted.offer : noOffer;
        world.pacer.observe(assessment.verdict.caps, choiceInput(input), amountCents * winProbability, now);
      }
      return drafted;
    });
    if (draft === null) continue;
    drafts.push({ state, assessment, draft });
    if (draft.kind === 'offer') world.curves.noteBreakEven(draft.trace.segmentKeys, draft.breakEvenHundredths);
  }
  const caps = drafts.flatMap(({ draft }) => draft.trace.caps);
  const usage = caps.length === 0 ? new Map() : await readUsage(world.views, caps, now);
  for (const { state, assessment, draft } of drafts) {
    const checked = reviewed(world, state, assessment, checkCaps(draft, usage), now);
    const curve = curveOf.get(state.requestId);
    const stored = curve === undefined ? [] : world.curves.toStore(curve);
    decided.push(
      checked.kind === 'review'
        ? { ...checked, stored }
        : processed(state, 'the bytes of its bid', () => conclude(world, state, checked, { stored, now, revision })),
    );
  }
  return decided;
}

/** The draft under the review of a person, or what asks for it: only of what would be bid for, once, and where there is time. */
function reviewed(
  world: DeciderWorld,
  state: RequestState,
  { review, verdict }: Assessment,
  draft: Draft,
  now: EpochMs,
): Draft | { kind: 'review'; record: ReviewAsked } {
  if (draft.kind === 'pass' || review !== null) return heedReview(draft, review, verdict.reviews);
  const wanted = reviewOf(verdict.reviews, now, world.latestAnswerAt(state));
  if (wanted === null) return draft;
  const { askedAt, answer: _, ...asked } = wanted;
  if (wanted.until === askedAt)
    return heedReview({ ...draft, trace: { ...draft.trace, review: wanted } }, wanted, verdict.reviews);
  const { requestId } = state;
  world.links.unpark(requestId);
  const { ruleSetHash } = draft.trace;
  return { kind: 'review', record: { kind: 'review-asked', requestId, at: askedAt, ...asked, ruleSetHash } };
}

/** What is made of one request's stored content: where that cannot be, the request is frozen and the others go on. */
function processed<D extends Decided | null>(state: RequestState, what: string, run: () => D): D | Decided {
  try {
    return run();
  } catch (fault) {
    return { kind: 'unprocessable', requestId: state.requestId, problem: `${what}: ${problemOf(fault)}` };
  }
}

const noOffer = { amountCents: 0, winProbability: 0 };

/** Budgets are priced from what is used just now, before anything is priced against them. */
async function updatePrices(world: DeciderWorld, priced: readonly Case[], now: number): Promise<void> {
  const caps = new Map<string, CapReservation>();
  for (const { assessment } of priced) {
    for (const cap of assessment.verdict.caps) if (cap.paced === true) caps.set(cap.keys[0]!, cap);
  }
  if (caps.size === 0) return;
  world.pacer.update([...caps.values()], await world.views.usage(capKeysOf([...caps.values()]), now), now);
}

/** Rules first: what they refuse for certain needs no query of the link. */
async function assessAll(
  world: DeciderWorld,
  policy: Policy,
  states: readonly RequestState[],
  now: number,
  decided: Decided[],
): Promise<Case[]> {
  const keys = new Set<string>();
  for (const state of states) {
    const key = world.links.linkKeyOf(state);
    if (key !== null) keys.add(key);
  }
  const details = keys.size === 0 ? new Map() : await world.margins.read([...keys], now);
  const ledgers = await readLedgerFacts(world.views, policy.ruleSet.ledgerFacts, states, now);
  const snoozed = snoozedIn(world.control().snoozes, policy.ruleSet, now);
  const cases: Case[] = [];
  const assessed = states.map((state, index) => {
    const key = world.links.linkKeyOf(state);
    const link = key === null ? null : (details.get(key) ?? null);
    return attempt(world, state, now, decided, () =>
      assess(
        requestOf(world, state),
        {
          ...{ link, ledger: ledgers[index], snoozed, review: state.review },
          sources: looksOfSources(state, policy.ruleSet.sources),
        },
        policy,
        now,
      ),
    );
  });
  const standings = await standingsOf(world, assessed, now);
  for (const [index, state] of states.entries()) {
    const [segmented, standing] = [assessed[index]!, standings[index]];
    if (segmented === null) continue;
    const assessment =
      standing === undefined
        ? segmented
        : attempt(world, state, now, decided, () => {
            const { request, link, ledger, sources } = segmented;
            const surroundings = { link, ledger: { ...ledger, ...standing }, snoozed, sources, review: state.review };
            return assess(request, surroundings, policy, now);
          });
    if (assessment === null) continue;
    const need = linkNeed(assessment, policy);
    const parked = need === 'none' ? null : processed(state, 'its sealed part', () => park(world, state, need, now));
    const isOver = parked !== null && parked.kind !== 'parked';
    const asked = isOver ? null : askSources(world, policy, { state, assessment }, now);
    if (parked === null && asked === null) cases.push({ state, assessment });
    else decided.push(parked ?? asked!);
  }
  return cases;
}

/** How we fare in the segment that the rules make of each request; no segment is made of that. Undefined where no rule looks at it. */
async function standingsOf(
  { policy, views, settings }: DeciderWorld,
  assessed: readonly (Assessment | null)[],
  now: number,
): Promise<readonly (Readonly<Record<string, number>> | undefined)[]> {
  const wanted = policy.ruleSet.ledgerFacts;
  if (!looksAtMarket(wanted)) return [];
  const segments = assessed.map((assessment) => assessment?.verdict.segmentKeys ?? null);
  return readMarketFacts(views, wanted, segments, now, settings.halfLifeMs);
}

/** What is sealed is opened only for rules that look at it. */
function requestOf({ policy, whole }: DeciderWorld, state: RequestState): LoanRequest {
  const request = state.request!;
  return lacksSealed(request, policy.ruleSet.sealedGroups) ? whole(state) : request;
}

/**
 * Asks beside the link query what rules are undecided without. Null: there is nothing to ask. What has not answered in time has failed,
 * and the record of that comes before the decision, for it may say what holds then.
 */
function askSources(world: DeciderWorld, policy: Policy, { state, assessment }: Case, now: number): Decided | null {
  const wanted = sourcesWanted(assessment, policy);
  const deadlineAt = deadlineOf(state, world.settings);
  if (wanted.length === 0 || now >= deadlineAt) return null;
  const until = world.latestAnswerAt(state);
  const asked = wanted.filter((source) =>
    world.sources.ask(state, source, assessment.facts, policy.ruleSet.hash, until),
  );
  return asked.length === 0 ? null : { kind: 'parked', requestId: state.requestId, until: deadlineAt };
}

/** Null: there is nothing to wait for, so it is decided from what is known. */
function park(world: DeciderWorld, state: RequestState, need: 'needed' | 'useful', now: number): Decided | null {
  const { requestId } = state;
  const since = world.links.waitingSince(requestId) ?? now;
  const waitedFor = since + world.settings.marginWaitMs;
  // What is decided without the link as well leaves half of its time to the bid.
  const until = need === 'needed' ? waitedFor : Math.min(waitedFor, (since + deadlineOf(state, world.settings)) / 2);
  if (now >= until) return null;
  const refusal = world.links.park(state, need);
  if (refusal === null) return { kind: 'parked', requestId, until };
  if (refusal !== 'authorisation-missing' || need === 'useful') return null;
  const text = 'the request carries no authorisation number, so its employment link may not be asked for';
  return { kind: 'pass', record: deskPass(requestId, refusal, text, now, null), stored: [] };
}

function conclude(
  world: DeciderWorld,
  state: RequestState,
  draft: Draft,
  { stored, now, revision }: { stored: readonly StoredInput[]; now: number; revision: number },
): Decided {
  const { requestId } = state;
  const from = world.links.waitingSince(requestId);
  const trace = from === null ? draft.trace : { ...draft.trace, linkAsked: { from, until: now } };
  world.links.unpark(requestId);
  if (draft.kind === 'pass') {
    const { code, reasons } = draft;
    return {
      kind: 'pass',
      record: { kind: 'passed', requestId, at: now, code, claimId: null, reasons, trace },
      stored,
    };
  }
  const { offer, worth } = draft;
  const body = world.encodeBid(requestId, offer);
  const waiting = { requestId, offer, trace, body, queuedAt: now, controlRevision: revision };
  return { kind: 'offer', waiting, worth, stored };
}

/** Pure steps are tried twice, so that a passing fault (memory, say) costs no bid; then it is an internal error. */
function attempt<T>(world: DeciderWorld, state: RequestState, now: number, decided: Decided[], run: () => T): T | null {
  for (const last of [false, true]) {
    try {
      return run();
    } catch (fault) {
      if (!last) continue;
      world.onFailure(state.requestId, fault);
      const text = 'the decision failed twice; see the dead letter and the journal';
      const record = deskPass(state.requestId, 'internal-error', text, now, null);
      decided.push({ kind: 'pass', record, stored: [] });
    }
  }
  return null;
}
