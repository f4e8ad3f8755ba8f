/** What a folded record means to those who watch: counted, alarmed, timed, and set against what was expected. */
import { isPromised } from '../domain/cap-book.ts';
import { type EpochMs, noRivalCell } from '../domain/glossary.ts';
import type { PublishedBid, Trial } from '../domain/offer.ts';
import type { AuctionRecord } from '../domain/records.ts';
import type { RequestState } from '../domain/states.ts';
import { surplusOf } from '../pricing/trial.ts';
import { differenceText } from './late-differences.ts';
import type { Fold } from './ledger.ts';
import type { DeskEvent, DeskObserver } from './observer.ts';
import { type AlarmCode, alarmsOf, differingKept, isLikePublished } from './react.ts';
import { createRivalWatch, isFollowing } from './rival-watch.ts';

/** Results between two looks at whether rivals follow. */
const lookEvery = 500;
const alarmAgainMs = 86_400_000;

type Surplus = { earnedHundredths: number; hindsightHundredths: number };

/** What the mean of all policies would have earned, beside whoever knew the best rival; over the break-evens of late. */
function surplusBeside({ breakEvens, rates }: Trial, rivalCell: number, offGrid: boolean): Surplus | null {
  if (breakEvens.length === 0 || rates.length < breakEvens.length) return null;
  const surplus = { earnedHundredths: 0, hindsightHundredths: 0 };
  const last = rates.length - breakEvens.length;
  for (const [index, breakEven] of breakEvens.entries()) {
    surplus.earnedHundredths += surplusOf(rates[last + index]!, breakEven, rivalCell, offGrid) / breakEvens.length;
    surplus.hindsightHundredths += Math.max(0, rivalCell - 1 - breakEven) / breakEvens.length;
  }
  return surplus;
}

/** How an auction ended that we bid in; null where our bid was not found among the published ones for certain. */
function resultOf({ claim, auction, decidedAt }: RequestState) {
  const { position = null, bestRivalCell = null } = auction ?? {};
  if (claim === null || claim.unread || auction === null) return null;
  if (position === null || bestRivalCell === null) return null;
  const { endedAt, bestRivalOffGrid } = auction;
  const hasRival = bestRivalCell < noRivalCell;
  const times = { decidedAt: decidedAt ?? claim.at, endedAt };
  return { offer: claim.offer, position, bestRivalCell, bestRivalOffGrid, hasRival, ...times };
}

type Result = NonNullable<ReturnType<typeof resultOf>>;

function settledEvent(
  { offer, position, hasRival, ...result }: Result,
  { trial, at }: { trial: Trial | null; at: EpochMs },
): DeskEvent {
  const { winProbability, expectedValueCents, rateHundredths } = offer;
  const { bestRivalCell, bestRivalOffGrid } = result;
  return {
    kind: 'settled',
    at,
    winProbability,
    position,
    gapHundredths: hasRival ? bestRivalCell - rateHundredths : null,
    expectedCents: expectedValueCents,
    wonCents: position === 1 && winProbability > 0 ? expectedValueCents / winProbability : 0,
    surplus: trial !== null && hasRival ? surplusBeside(trial, bestRivalCell, bestRivalOffGrid) : null,
  };
}

/** What the rules did; null: the record decides nothing. A claim that is given up has had its effects, and now has its reason. */
function ruledEvent(record: AuctionRecord, before: RequestState | null, state: RequestState): DeskEvent | null {
  const isFirst = before === null || before.phase === 'requested';
  if (record.kind === 'claimed') {
    if (!isFirst || state.claim?.claimId !== record.claimId) return null;
    return { kind: 'ruled', effects: record.trace.rulesFired, decidedBy: null };
  }
  if (record.kind !== 'passed' || state.phase !== 'passed' || before?.phase === 'passed') return null;
  const effects = isFirst ? (record.trace?.rulesFired ?? []) : [];
  return { kind: 'ruled', effects, decidedBy: record.reasons[0]?.rule ?? null };
}

/** A winner event that changes nothing, for the request was never bid for. */
function isOfNoBid({ kind }: AuctionRecord, state: RequestState): boolean {
  return (kind === 'contemplated' || kind === 'proposed') && state.phase === 'passed' && state.winner === null;
}

/** Tells of each record once, in the process that folded it. */
export function createFoldTeller(observer: DeskObserver): (fold: Fold, now: EpochMs) => void {
  const rivals = createRivalWatch();
  let noted = 0;
  let alarmedAt = Number.NEGATIVE_INFINITY;
  const watchRivals = ({ offer, position, bestRivalCell, hasRival, decidedAt, endedAt }: Result, now: EpochMs) => {
    if (!hasRival) return;
    rivals.note({
      decidedAt,
      publishedAt: endedAt ?? now,
      ownHundredths: offer.rateHundredths,
      rivalHundredths: bestRivalCell,
      won: position === 1,
    });
    noted += 1;
    if (noted % lookEvery !== 0) return;
    const following = rivals.following();
    if (following === null) return;
    observer({ kind: 'rivals', following });
    if (!isFollowing(following) || now - alarmedAt < alarmAgainMs) return;
    alarmedAt = now;
    const [slope, low, high] = [following.slope, following.low, following.high].map((share) => share.toFixed(2));
    const text = `the best rival moves by ${slope} (${low} to ${high}) of what our published bids move`;
    observer({ kind: 'alarm', code: 'rivals-follow', requestId: null, text });
  };
  return ({ row, before, record }, now) => {
    if (record === null) return;
    const { state } = row;
    const { requestId } = state;
    const { at } = record;
    const code = record.kind === 'passed' ? record.code : null;
    const [from, to] = [before?.phase ?? null, state.phase];
    observer({ kind: 'folded', record: record.kind, requestId, from, to, code, at });
    if (record.kind === 'claimed' || record.kind === 'answered' || record.kind === 'passed')
      observer({ kind: 'would-be', record });
    const ruled = ruledEvent(record, before, state);
    if (ruled !== null) observer(ruled);
    if (state.lateClaims > (before?.lateClaims ?? 0)) observer({ kind: 'late-claim', requestId });
    if (isOfNoBid(record, state)) {
      const text = 'the service tells of a winner under a code of this request, and the desk surely sent no bid for it';
      observer({ kind: 'alarm', code: 'winner-unknown', requestId, text });
    }
    for (const code of alarmsOf(before, state)) {
      const text = alarmText(code, state);
      observer({ kind: 'alarm', code, requestId, ...(text === undefined ? {} : { text }) });
    }
    if (record.kind === 'requested') observer({ kind: 'step', step: 'requested-read-back' });
    if (record.kind === 'ended') {
      observer({ kind: 'step', step: 'ended-folded' });
      const result = before === null || before.auction === null ? resultOf(state) : null;
      if (result !== null) {
        observer(settledEvent(result, { trial: before?.trial ?? null, at }));
        watchRivals(result, now);
      }
    }
    if (record.kind === 'claimed' && state.claim?.claimId === record.claimId) {
      observer({ kind: 'duration', stage: 'decided-to-claimed', durationMs: now - record.trace.decidedAt });
      observer({ kind: 'step', step: 'claim-read-back' });
    }
  };
}

/** What two lists say of our bid, and what becomes of its money. */
function listText({ auction, exposure }: RequestState): string {
  const placeIn = (candidates: readonly PublishedBid[]) => {
    const ranks = candidates.map(({ position }) => position);
    return ranks.length === 0 ? 'not there' : `at ${ranks.join(' or ')}`;
  };
  const [first, later] = [auction?.candidates ?? [], auction?.again?.candidates ?? []].map(placeIn);
  const money = isPromised(exposure) ? 'its money stays under its caps' : 'its money is under no cap';
  return `a later list of the published bids has our bid ${later}, the first one has it ${first}: ${money}; ask the service which list is right, and say it with lance bids resolve`;
}

/** What the code alone does not say. */
function alarmText(code: AlarmCode, state: RequestState): string | undefined {
  if (code === 'bid-differs') return differenceText(state, differingKept(state));
  if (code === 'list-differs') return listText(state);
  if (code !== 'bid-after-refusal' || !isLikePublished(state)) return undefined;
  return 'the service refused this bid without a code, and published one that says the same and came in its time: the refusal counts, so its money is under no cap; ask the service whether the bid stands';
}
