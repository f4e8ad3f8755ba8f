/**
 * What the log says of one request, read in the auditor's own way: facts are gathered record by record, and where the
 * request stands is then told from the facts alone. The desk has a table of transitions; this has none, on purpose.
 */
import type { EpochMs } from '../../domain/glossary.ts';
import type { BidOutcome, PublishedBid } from '../../domain/offer.ts';
import type {
  Answered,
  AuctionRecord,
  Claimed,
  Ended,
  LostClaim,
  Passed,
  Requested,
  Unfrozen,
} from '../../domain/records.ts';
import { isSameCode } from '../../domain/request-codes.ts';
import type { ExposureStatus, Phase } from '../../domain/states.ts';
import { windowsPassedAt } from './windows.ts';

type Word = { end: Phase; money: ExposureStatus; validUntil: number | null };

export type Evidence = {
  requested: Requested | null;
  /** The first claim, unless a pass without a claim came before it. */
  claim: Claimed | null;
  /** What was kept outside of the log of a claim that the log has lost, as the first answer tells it. */
  lostClaim: LostClaim | null;
  /** The first pass, unless a claim came before it. */
  pass: Passed | null;
  /** The pass that takes the claim back unsent. */
  unsent: Passed | null;
  /** The best answer so far: what it proves about our bid. */
  answer: { proof: Proof; outcome: BidOutcome; alsoTold?: readonly string[] } | null;
  /** Errors of winner events that stand against its win, the one that counts first: kind, code and texts, as JSON. */
  winnerErrors: string[];
  /** Those that a proposal of the service has contradicted, and those that a person has. */
  contradicted: { byService: string[]; byPerson: string[] };
  /** Included proposals that were told, each once, as JSON: told again they are nothing new. */
  proposals: string[];
  ended: Ended | null;
  /** Others that came after it, with other bids. */
  endedAgain: Ended[];
  /** Statistics keys known when the auction's end was first read; null before. */
  learntUnder: readonly string[] | null;
  /** Winner events that other requests may have as well, until somebody says that this one was chosen. */
  unclaimed: Map<'contemplated' | 'proposed', WinnerRecord>;
  resultMissing: boolean;
  /** The last thing that a winner event or a resolution said. */
  word: Word | null;
  /** One of its records could not be processed, and nobody has cancelled it since. */
  frozen: boolean;
  /** One that cannot be read stands where a claim may stand. */
  mayBeClaim: boolean;
};

/** Weakest first: what one attempt was told says nothing of another one, and any other answer shows that there was one. */
const proofs = ['rejected', 'nothing', 'foreign', 'presumed', 'landed'] as const;
type Proof = (typeof proofs)[number];

export type Standing = { end: Phase; money: ExposureStatus };

export function noEvidence(): Evidence {
  return {
    requested: null,
    claim: null,
    lostClaim: null,
    pass: null,
    unsent: null,
    answer: null,
    winnerErrors: [],
    contradicted: { byService: [], byPerson: [] },
    proposals: [],
    ended: null,
    endedAgain: [],
    learntUnder: null,
    unclaimed: new Map(),
    resultMissing: false,
    word: null,
    frozen: false,
    mayBeClaim: false,
  };
}

/** Takes one record in, changing `evidence`. Records have to come in log order. */
export function absorb(evidence: Evidence, record: AuctionRecord): void {
  switch (record.kind) {
    case 'requested':
      evidence.requested ??= record;
      if (evidence.pass?.unread) evidence.pass = null;
      return;
    case 'claimed':
      if (isMoreThanAsked(evidence, record)) {
        evidence.mayBeClaim ||= isUndecided(evidence);
        evidence.frozen ||= isUndecided(evidence);
        return;
      }
      if (evidence.requested !== null && evidence.pass === null) evidence.claim ??= record;
      return;
    case 'passed':
      absorbPass(evidence, record);
      return;
    case 'answered':
      absorbAnswer(evidence, record);
      return;
    case 'ended':
      if (evidence.ended !== null) {
        if (isOtherList(evidence.ended, record)) evidence.endedAgain.push(record);
        return;
      }
      evidence.ended = record;
      if (evidence.requested === null) return;
      evidence.learntUnder = (evidence.claim ?? evidence.pass)?.trace?.segmentKeys ?? [];
      return;
    case 'contemplated':
    case 'proposed':
      absorbWinner(evidence, record);
      return;
    case 'resolved':
      absorbResolution(evidence, record);
      return;
    case 'worker-read':
    case 'review-asked':
    case 'review-answered':
    case 'source-asked':
    case 'source-answered':
      return;
    case 'unreadable':
      evidence.mayBeClaim ||= isUndecided(evidence) && (evidence.requested !== null || evidence.frozen);
      evidence.frozen = true;
      return;
    case 'frozen':
      evidence.frozen = true;
      return;
    case 'unfrozen':
      absorbThaw(evidence, record);
      return;
    default:
      record satisfies never;
  }
}

/** Nobody bids more than was asked for: such a claim is as good as one that cannot be read. */
function isMoreThanAsked({ requested }: Evidence, { offer }: Claimed): boolean {
  return requested !== null && offer.amountCents > (requested.request.requestedAmountCents ?? 0);
}

function isUndecided({ requested, claim, pass, answer, ended }: Evidence): boolean {
  return claim === null && pass === null && answer === null && (requested !== null || ended === null);
}

/** Cancelled without a claim it is over as if it had been passed; with one that nobody has answered nothing is known of it. */
function absorbThaw(evidence: Evidence, { requestId, at, action, reason }: Unfrozen): void {
  if (!evidence.frozen || action !== 'cancel') return;
  evidence.frozen = false;
  if (evidence.claim === null && evidence.mayBeClaim) {
    if (isUndecided(evidence)) evidence.answer = { proof: 'nothing', outcome: { kind: 'unknown', reason } };
  } else if (evidence.claim === null) {
    if (evidence.answer !== null) return;
    const code = 'internal-error';
    evidence.pass ??= {
      ...{ kind: 'passed', requestId, at, code, claimId: null, maybeSent: true, trace: null },
      reasons: [{ code, rule: null, text: reason }],
    };
  } else if (evidence.unsent === null) {
    evidence.answer ??= { proof: 'nothing', outcome: { kind: 'unknown', reason } };
  }
}

function absorbPass(evidence: Evidence, record: Passed): void {
  const { claim, requested } = evidence;
  if (record.unread && requested !== null) return;
  if (record.claimId === null) {
    if (claim === null && evidence.answer === null) evidence.pass ??= record;
  } else if (record.claimId === claim?.claimId && evidence.answer === null) {
    evidence.unsent ??= record;
  }
}

/** After an attempt that may have landed, a rejection says nothing and a duplicate may be our own bid. */
function proofOf({ outcome, earlierAttemptPossible }: Answered): Proof {
  switch (outcome.kind) {
    case 'accepted':
    case 'accepted-outside':
      return 'landed';
    case 'rejected':
      return earlierAttemptPossible ? 'nothing' : 'rejected';
    case 'duplicate':
      return earlierAttemptPossible ? 'presumed' : 'foreign';
    case 'unknown':
      return 'nothing';
    default:
      return outcome satisfies never;
  }
}

/** Nobody answers what was not claimed: the record of the claim is not there, or cannot be read. */
function isOfUnreadClaim({ requested, pass, answer, frozen }: Evidence, proof: Proof): boolean {
  if (answer !== null) return true;
  if (pass !== null) return proof !== 'rejected' && proof !== 'foreign';
  return requested !== null || frozen;
}

function absorbAnswer(evidence: Evidence, record: Answered): void {
  if (evidence.claim === null && !isOfUnreadClaim(evidence, proofOf(record))) return;
  const proof = proofOf(record);
  const known = evidence.answer?.proof;
  if (known !== undefined && proofs.indexOf(proof) <= proofs.indexOf(known)) return;
  const says = proof === 'landed' || proof === 'presumed' ? 'landed' : 'turned away';
  // A claim taken back, or settled by what was published, stays so whatever is turned away later.
  const end = evidence.ended === null ? null : standingOf(evidence).end;
  const isSettled = end !== null && end !== 'foreign-bid' && end !== 'rejected';
  const isTold = proof !== 'nothing' || (end !== null && end !== 'passed');
  const done = known === undefined ? evidence.unsent !== null && isTold : isSettled;
  if (done && says === 'turned away') return;
  // One bid was found among those published, and none of the answers finds another one.
  if (end === 'won' || end === 'lost') return;
  const given = evidence.word?.end;
  if (says === 'landed' && (given === 'not-landed' || (given === 'expired' && evidence.word?.money !== 'committed')))
    evidence.word = null;
  // The bid of an earlier attempt may be published under a code that no answer gave.
  const { outcome } = record;
  const isUnnamed = record.earlierAttemptPossible && outcome.kind === 'unknown';
  const alsoTold = record.earlierAttemptPossible || outcome.kind === 'duplicate' ? (namesIn(outcome) ?? []) : [];
  evidence.answer = { proof, outcome: isUnnamed ? { kind: outcome.kind, reason: outcome.reason } : outcome, alsoTold };
  if (evidence.claim === null && known === undefined) evidence.lostClaim = record.lostClaim ?? null;
}

type WinnerRecord = Extract<AuctionRecord, { kind: 'contemplated' | 'proposed' }>;

function absorbWinner(evidence: Evidence, record: WinnerRecord): void {
  if (record.sharedWith !== undefined) evidence.unclaimed.set(record.kind, record);
  else absorbOwnWinner(evidence, record);
}

function absorbOwnWinner(evidence: Evidence, record: WinnerRecord): void {
  const { claim, answer, pass } = evidence;
  if (claim === null && answer === null && pass === null) return;
  if (standingOf(evidence).end === 'passed' && !mayBeSent(evidence)) return;
  const end = evidence.word?.end;
  if (record.errors.length > 0) {
    absorbWinnerError(evidence, JSON.stringify([record.kind, record.requestCode, record.errors]));
    return;
  }
  const isLater =
    record.kind === 'contemplated' && (end === 'proposed' || end === 'winner-failed' || end === 'cancelled');
  if (isLater) return;
  if (record.kind === 'proposed') absorbProposal(evidence, record);
  const validUntil = record.kind === 'proposed' ? record.validUntil : null;
  evidence.word = { end: record.kind, money: 'committed', validUntil };
}

/** What the desk keeps of each of these lists. */
const winnerWordsKept = 100;

function absorbWinnerError(evidence: Evidence, error: string): void {
  const { contradicted, winnerErrors, word } = evidence;
  if (contradicted.byService.includes(error) || contradicted.byPerson.includes(wordsOf(error))) return;
  if (word?.end === 'winner-failed' || word?.end === 'cancelled') {
    if (!winnerErrors.includes(error) && winnerErrors.length < winnerWordsKept) winnerErrors.push(error);
    return;
  }
  const others = winnerErrors.filter((known) => known !== error);
  evidence.winnerErrors = [error, ...others].slice(0, winnerWordsKept);
  evidence.word = { end: 'winner-failed', money: 'released', validUntil: null };
}

/** One that was told before may only be delivered again: the errors that came since stand. */
function absorbProposal(evidence: Evidence, record: Extract<WinnerRecord, { kind: 'proposed' }>): void {
  const { requestCode, proposalCode, proposalNumber, validUntil } = record;
  const proposal = JSON.stringify([requestCode, proposalCode, proposalNumber, validUntil]);
  if (evidence.proposals.includes(proposal)) return;
  // The last one, and those before it.
  evidence.proposals = [...evidence.proposals, proposal].slice(-(winnerWordsKept + 1));
  contradictErrors(evidence, 'byService');
}

/** A person who says that the win stands contradicts the words, whichever event tells them again. */
function wordsOf(error: string): string {
  const [, requestCode, errors] = JSON.parse(error);
  return JSON.stringify([requestCode, errors]);
}

/** Delivered again, an error that came before a win was told or said is no news. */
function contradictErrors(evidence: Evidence, by: keyof Evidence['contradicted']): void {
  const known = evidence.contradicted[by];
  const errors = by === 'byPerson' ? evidence.winnerErrors.map(wordsOf) : evidence.winnerErrors;
  evidence.contradicted[by] = [...known, ...errors].slice(-winnerWordsKept);
  evidence.winnerErrors = [];
}

/** Of a request that was passed: whether another process, or one whose records are lost, may have sent its bid. */
function mayBeSent({ claim, pass, unsent }: Evidence): boolean {
  return (claim === null ? pass : unsent)?.maybeSent === true;
}

const over: readonly Phase[] = [
  'requested',
  'claimed',
  'passed',
  'rejected',
  'lost',
  'winner-failed',
  'cancelled',
  'expired',
];

/** Of a proposal whose time is over nobody knows that no loan came of it. */
function countsInWindows({ claim, lostClaim }: Evidence, at: EpochMs): boolean {
  return windowsPassedAt(claim?.trace.caps ?? lostClaim?.caps ?? []) > at;
}

const awaiting: readonly Phase[] = ['accepted', 'accepted-presumed', 'foreign-bid', 'unknown'];

function absorbResolution(evidence: Evidence, record: Extract<AuctionRecord, { kind: 'resolved' }>): void {
  const { end } = standingOf(evidence);
  const mayStillWin = record.as === 'contemplated' && ['rejected', 'lost', 'expired', 'winner-failed'].includes(end);
  const mayBeBid = end === 'passed' && mayBeSent(evidence) && record.as !== 'expired';
  // Cancelled by a person, it may have been by mistake.
  const mayBeCorrected = end === 'cancelled' && ['won', 'contemplated', 'lost', 'not-landed'].includes(record.as);
  // The time of its proposal was over, and windows of hours count it on: that may end as well.
  const isLasting = end === 'expired' && evidence.word?.money === 'committed';
  const mayLapse = isLasting && (record.as === 'cancelled' || record.as === 'expired');
  if (over.includes(end) && !mayStillWin && !mayBeBid && !mayBeCorrected && !mayLapse) return;
  const won = end === 'contemplated' || end === 'proposed';
  switch (record.as) {
    case 'result-missing':
      evidence.resultMissing ||= awaiting.includes(end);
      return;
    case 'won':
      if (!won) evidence.word = { end: 'won', money: 'committed', validUntil: null };
      return;
    case 'contemplated':
      // Of one that is included nobody has to say that it was won.
      if (end !== 'proposed') contradictErrors(evidence, 'byPerson');
      if (!won) evidence.word = { end: 'contemplated', money: 'committed', validUntil: null };
      for (const kind of ['contemplated', 'proposed'] as const) {
        const event = evidence.unclaimed.get(kind);
        if (event !== undefined) absorbOwnWinner(evidence, event);
      }
      evidence.unclaimed.clear();
      return;
    case 'lost':
    case 'not-landed':
      if (!won) evidence.word = { end: record.as, money: 'released', validUntil: null };
      return;
    case 'cancelled':
      evidence.word = { end: 'cancelled', money: 'released', validUntil: null };
      return;
    case 'expired':
      evidence.word = {
        end: end === 'not-landed' ? end : 'expired',
        money: (won || isLasting) && countsInWindows(evidence, record.at) ? 'committed' : 'released',
        validUntil: evidence.word?.validUntil ?? null,
      };
      return;
    default:
      record.as satisfies never;
  }
}

/** The service stamps bids in whole seconds, by a clock of its own. */
const stampToleranceMs = 3_000;

const dayMs = 86_400_000;

/** An end more than 30 days before it was told, or more than a day after, is a mistyped date: as if none was told. */
function closeOf({ at, endedAt }: Ended): number {
  const isBelieved = endedAt !== null && at - endedAt <= 30 * dayMs && endedAt - at <= dayMs;
  return isBelieved ? endedAt : Number.POSITIVE_INFINITY;
}

/**
 * Published bids that may be ours: by the id that we were given, or the codes that came with a refusal, else by what our bytes say and
 * when they can have come.
 */
function ownBids(evidence: Evidence): readonly PublishedBid[] {
  const { answer, ended } = evidence;
  const claim = evidence.claim ?? evidence.lostClaim;
  if (ended === null) return [];
  const outcome = answer?.outcome;
  if (outcome?.kind === 'accepted') return ended.bids.filter((bid) => bid.bidId === outcome.bidId);
  const isRefused = answer?.proof === 'rejected';
  // A refusal after another attempt says nothing of that one.
  const names = isRefused || outcome?.kind === 'unknown' ? namesIn(outcome) : undefined;
  if (names !== undefined) return ended.bids.filter((bid) => names.some((name) => isSameCode(name, bid.bidId)));
  if (isRefused) return [];
  if (claim === null) return [];
  const { offer, at } = claim;
  const closesAt = closeOf(ended);
  const alike = ended.bids.filter((bid) => {
    if (bid.offGrid || bid.rateHundredths !== offer.rateHundredths) return false;
    return bid.amountCents === offer.amountCents && bid.installments === offer.installments;
  });
  // The service named it for our bytes, so its stamp decides nothing.
  const named = alike.filter(({ bidId }) => answer?.alsoTold?.some((code) => isSameCode(bidId, code)));
  if (named.length > 0) return named;
  return alike.filter((bid) => {
    if (bid.placedAt === null) return true;
    return bid.placedAt >= at - stampToleranceMs && bid.placedAt <= closesAt + stampToleranceMs;
  });
}

function namesIn(outcome: BidOutcome | undefined): readonly string[] | undefined {
  return outcome !== undefined && 'names' in outcome ? outcome.names : undefined;
}

function isOtherList(one: Ended, other: Ended): boolean {
  const rows = ({ bids }: Ended) => bids.map((bid) => JSON.stringify(Object.entries(bid).sort())).sort();
  return JSON.stringify(rows(one)) !== JSON.stringify(rows(other));
}

/**
 * Where the request stands, and where the money promised for it does. The first list of published bids counts; one that came later and
 * has our bid where it may have won makes it doubtful.
 */
export function standingOf(evidence: Evidence): Standing {
  const standing = standingByFirst(evidence);
  const { claim, unsent, answer, word, endedAgain } = evidence;
  const mayStand = answer !== null ? answer.outcome.kind !== 'accepted-outside' : unsent?.maybeSent !== undefined;
  if (word !== null || claim === null || !mayStand || standing.end === 'won') return standing;
  const isDoubtful = endedAgain.some((ended) => ownBids({ ...evidence, ended }).some(({ position }) => position === 1));
  return isDoubtful ? { end: 'ambiguous', money: 'held' } : standing;
}

function standingByFirst(evidence: Evidence): Standing {
  const { requested, claim, pass, unsent, answer, ended, word } = evidence;
  if (claim === null && answer === null && word === null) {
    if (pass !== null) return { end: 'passed', money: 'none' };
    return { end: requested === null ? 'early-ended' : 'requested', money: 'none' };
  }
  if (word !== null) return { end: word.end, money: word.money };
  if (answer === null) {
    if (unsent === null) return { end: 'claimed', money: 'held' };
    if (unsent.maybeSent === undefined) return { end: 'passed', money: 'released' };
    // Never sent, said one process; another may have sent it and died before it could tell. Then it was published.
    return settledByBids(ownBids(evidence)) ?? { end: 'passed', money: 'released' };
  }
  // What the service refused, and published under the code that it gave, stood.
  if (answer.proof === 'rejected') return settledByBids(ownBids(evidence)) ?? { end: 'rejected', money: 'released' };
  if (answer.outcome.kind === 'accepted-outside') return { end: 'accepted-outside', money: 'held' };
  if (ended !== null) return settled(evidence, answer.proof);
  if (evidence.resultMissing) return { end: 'result-missing', money: 'held' };
  return { end: unsettled(answer.proof), money: 'held' };
}

function unsettled(proof: Exclude<Proof, 'rejected'>): Phase {
  switch (proof) {
    case 'landed':
      return 'accepted';
    case 'presumed':
      return 'accepted-presumed';
    case 'foreign':
      return 'foreign-bid';
    case 'nothing':
      return 'unknown';
    default:
      return proof satisfies never;
  }
}

function settled(evidence: Evidence, proof: Exclude<Proof, 'rejected'>): Standing {
  const byBids = settledByBids(ownBids(evidence));
  if (byBids !== null) return byBids;
  if (evidence.resultMissing || proof === 'landed') return { end: 'result-missing', money: 'held' };
  // What was claimed cannot be read, so no published bid can be told to be ours, or not.
  if (evidence.claim === null && evidence.lostClaim === null) return { end: unsettled(proof), money: 'held' };
  if (proof === 'presumed' || proof === 'foreign') return { end: 'foreign-bid', money: 'released' };
  return { end: 'not-landed', money: 'held' };
}

function settledByBids(own: readonly PublishedBid[]): Standing | null {
  if (own.length > 1) return { end: 'ambiguous', money: 'held' };
  const [bid] = own;
  if (bid === undefined) return null;
  return bid.position === 1 ? { end: 'won', money: 'committed' } : { end: 'lost', money: 'released' };
}
