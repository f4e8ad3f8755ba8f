/**
 * The transition table read a second time: what a record means for a request, told in other words than `evolve` does, and
 * histories to compare the two on.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { evolve } from '../../src/bidding/evolve.ts';
import { settle, settleByBids } from '../../src/bidding/settlement.ts';
import { type ExposureAction, type Trigger, transitions } from '../../src/bidding/transitions.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import type { ExposureStatus, Phase, RequestState } from '../../src/domain/states.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import {
  accepted,
  answered,
  at,
  bid,
  claimed,
  contemplated,
  duplicate,
  ended,
  outside,
  passed,
  proposed,
  rejected,
  requested,
  resolved,
  settings,
  unknown,
  unread,
} from './parts.ts';

export const rival = bid('rival', { rateHundredths: 240, position: 1 });
export const answers = [
  answered(accepted),
  answered(accepted, true),
  answered(outside),
  answered(rejected),
  answered(rejected, true),
  answered({ kind: 'rejected', code: 'request-expired', names: ['ours'] }),
  answered({ kind: 'unknown', reason: 'refused-in-doubt', names: ['ours'] }),
  answered(duplicate),
  answered(duplicate, true),
  answered(unknown),
  answered(unknown, true),
];

/** Every record that can come for one request, several of each kind so that orders and repetitions differ. */
const records: readonly AuctionRecord[] = [
  requested(),
  requested({ rawHash: 'other' }),
  requested({ request: { ...sampleRequest, receivedAt: at - 400 } }),
  claimed('a:1'),
  claimed('b:1'),
  passed(null, 'overload'),
  passed('a:1'),
  passed('b:1'),
  unread(),
  { ...passed('a:1'), maybeSent: true },
  { ...passed(null, 'restored'), maybeSent: true },
  ...answers,
  ended([]),
  ended([rival]),
  ended([bid('ours'), rival]),
  ended([bid('ours'), bid('twin', { position: 2 }), rival]),
  ended([bid('ours', { position: 2 }), rival]),
  contemplated(),
  contemplated(['refused']),
  proposed(),
  proposed(['refused']),
  ...(['won', 'contemplated', 'lost', 'not-landed', 'cancelled', 'result-missing', 'expired'] as const).map(resolved),
  { ...resolved('expired'), windowsUntil: resolved('expired').at + 1 },
];

/** As the log has them: every answer comes after a claim was read back, everything else in any order. */
export const history = fc
  .tuple(
    fc.array(fc.constantFrom(...records), { maxLength: 4 }),
    fc.boolean(),
    fc.array(fc.constantFrom(...records), { maxLength: 9 }),
  )
  .map(([first, begun, rest]) => (begun ? [...first, requested(), claimed(), ...rest] : [...first, ...rest]));

/** What the record means, told anew here: the table's left column in words of the glossary. */
export function triggerOf(state: RequestState | null, record: AuctionRecord): Trigger | null {
  switch (record.kind) {
    case 'requested':
      if ((state?.request ?? null) !== null) return null;
      return state?.pass?.unread === true ? 'readable' : 'requested';
    case 'claimed':
      return (state?.claim ?? null) === null ? 'claimed' : null;
    case 'passed':
      if (record.unread === true && (state?.request ?? null) !== null) return null;
      if (record.claimId === null) return 'passed';
      return state?.claim?.claimId === record.claimId ? 'unsent' : null;
    case 'answered': {
      const meaning = meaningOf(record);
      if (state?.phase === 'expired' && state.exposure === 'committed') return null;
      const known = state?.answer;
      if (!known) return meaning;
      const knownMeaning = known.presumedOurs ? 'presumed' : meanings[known.outcome.kind];
      return strength[meaning] > strength[knownMeaning] ? meaning : null;
    }
    case 'ended':
      return (state?.auction ?? null) === null ? 'ended' : null;
    case 'contemplated':
    case 'proposed':
      if (wasNeverSent(state)) return null;
      for (const { contradicts = [] } of [state?.resolution ?? {}, state?.winner ?? {}])
        for (const known of contradicts)
          if ((known.kind ?? record.kind) === record.kind && isDeepStrictEqual(known.errors, record.errors))
            return null;
      return record.errors.length > 0 ? 'winner-error' : record.kind;
    case 'resolved':
      if (wasNeverSent(state)) return null;
      if (record.windowsUntil !== undefined && record.windowsUntil > record.at) {
        if (['contemplated', 'proposed', 'expired'].includes(state?.phase ?? '')) return 'resolved-over';
      }
      // Of a bid that counts no more nothing is left to be ended.
      if (
        state?.phase === 'expired' &&
        state.exposure !== 'committed' &&
        ['expired', 'cancelled'].includes(record.as)
      ) {
        return null;
      }
      return `resolved-${record.as}`;
    case 'frozen':
    case 'unfrozen':
    case 'worker-read':
    case 'review-asked':
    case 'review-answered':
    case 'source-asked':
    case 'source-answered':
    case 'unreadable':
      return null;
    default:
      return record satisfies never;
  }
}

/** Passed without an answer, and by the only process that could have sent it. */
function wasNeverSent(state: RequestState | null): boolean {
  return state?.phase === 'passed' && state.answer === null && state.pass?.maybeSent !== true;
}

type Meaning = 'accepted' | 'outside' | 'rejected' | 'presumed' | 'foreign' | 'unknown';
export const strength: Record<Meaning, number> = {
  accepted: 6,
  outside: 6,
  presumed: 5,
  foreign: 4,
  unknown: 3,
  rejected: 2,
};
const meanings = {
  accepted: 'accepted',
  'accepted-outside': 'outside',
  rejected: 'rejected',
  duplicate: 'foreign',
  unknown: 'unknown',
} as const;

export function meaningOf(record: Extract<AuctionRecord, { kind: 'answered' }>): Meaning {
  const meaning = meanings[record.outcome.kind];
  if (!record.earlierAttemptPossible) return meaning;
  if (meaning === 'foreign') return 'presumed';
  return meaning === 'rejected' ? 'unknown' : meaning;
}

export type Standing = { phase: Phase | 'unseen'; exposure: ExposureStatus; timer: string | null };

export function after(standing: Standing, trigger: Trigger | null): Standing {
  const row = trigger === null ? undefined : transitions[standing.phase][trigger];
  if (row === undefined) return standing;
  const exposures: Record<ExposureAction, ExposureStatus> = {
    keep: standing.exposure,
    hold: 'held',
    release: standing.exposure === 'none' ? 'none' : 'released',
    commit: 'committed',
  };
  return {
    phase: row.to,
    exposure: exposures[row.exposure],
    timer: row.timer === 'keep' ? standing.timer : row.timer,
  };
}

export function standingOf(state: RequestState): Standing {
  return { phase: state.phase, exposure: state.exposure, timer: state.timer?.due ?? null };
}

export function isUnseen(state: RequestState | null): boolean {
  return state === null || (state.phase === 'requested' && state.request === null);
}

/** All states of a history, with the record that led to each. */
export function* steps(history: readonly AuctionRecord[]): Generator<{
  before: RequestState | null;
  record: AuctionRecord;
  state: RequestState;
}> {
  let before: RequestState | null = null;
  for (const record of history) {
    const state: RequestState = evolve(before, record, settings);
    yield { before, record, state };
    before = state;
  }
}

/** Said to be unsent, and published all the same: then the bids alone tell. */
export function settlementOf(moved: Standing, state: RequestState): Trigger | null {
  const { auction } = state;
  if (['lost', 'not-landed'].includes(moved.phase)) {
    // A person has had the last word, or its time is over. What a first list has ended it does not begin again.
    if ([moved.phase, 'expired'].includes(`${state.resolution?.as}`) || auction?.again === undefined) return null;
  }
  const byFirst = settlementBy(auction, moved, state);
  if (auction?.again === undefined) return byFirst;
  const byLater = settlementBy(auction.again, moved, state);
  const isFirstSomewhere = auction.again.candidates.some(({ position }) => position === 1);
  const mayBeWon = isFirstSomewhere && (byLater === 'settled-won' || byLater === 'settled-ambiguous');
  return mayBeWon && byFirst !== 'settled-won' ? 'settled-ambiguous' : byFirst;
}

function settlementBy(list: RequestState['auction'], moved: Standing, state: RequestState): Trigger | null {
  if ((moved.phase !== 'passed' && moved.phase !== 'lost') || state.answer !== null)
    return settle(state.claim, state.answer, ownOnly(list, state.answer));
  return state.claim === null || list === null || state.pass?.maybeSent !== true ? null : settleByBids(list);
}

/** A bid that the service has named goes by its name: others that look alike are no candidates. */
function ownOnly(auction: RequestState['auction'], answer: RequestState['answer']): RequestState['auction'] {
  if (auction === null || answer === null) return auction;
  const { outcome } = answer;
  const names = outcome.kind === 'accepted' ? [outcome.bidId] : 'names' in outcome ? outcome.names : undefined;
  if (names === undefined) return auction;
  return { ...auction, candidates: auction.candidates.filter(({ bidId }) => names.includes(bidId)) };
}
