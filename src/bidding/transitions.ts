/**
 * The transition table: what each thing that can happen does to a request. One literal, used by `evolve`, held by a
 * property test, printed in docs/states.md. A pair that is not here changes nothing and is counted.
 */
import type { Phase, TimerKind } from '../domain/states.ts';

/** What a record means for a request, once it is merged with what was known. */
export const triggers = [
  'requested',
  'readable',
  'claimed',
  'passed',
  'unsent',
  'accepted',
  'presumed',
  'outside',
  'rejected',
  'foreign',
  'unknown',
  'ended',
  'settled-won',
  'settled-lost',
  'settled-ambiguous',
  'settled-absent',
  'contemplated',
  'proposed',
  'winner-error',
  'resolved-won',
  'resolved-contemplated',
  'resolved-lost',
  'resolved-not-landed',
  'resolved-cancelled',
  'resolved-result-missing',
  'resolved-expired',
  'resolved-over',
] as const;
export type Trigger = (typeof triggers)[number];

/** `hold`, `release` and `commit` are the exposure's new state whatever it was; `keep` leaves it. */
export type ExposureAction = 'hold' | 'release' | 'commit' | 'keep';

export type Transition = { to: Phase; exposure: ExposureAction; timer: TimerKind | 'keep' | null };

type Row = Partial<Record<Trigger, Transition>>;

function go(to: Phase, exposure: ExposureAction, timer: TimerKind | 'keep' | null): Transition {
  return { to, exposure, timer };
}

const byWinner: Row = {
  contemplated: go('contemplated', 'commit', 'validity'),
  proposed: go('proposed', 'commit', 'validity'),
  'winner-error': go('winner-failed', 'release', null),
};

/** What a winner event says, said by a person who has seen it: for events that did not come, or under a code that nobody knows. */
const contemplatedByOperator: Row = { 'resolved-contemplated': go('contemplated', 'commit', 'validity') };

/** Its time is over, and caps over a window of hours go on counting it: nobody says that it came to nothing. */
const whileWindowsLast: Row = { 'resolved-over': go('expired', 'keep', null) };

/** How the bid ended, said by a person. */
const byOperatorKnowing: Row = {
  ...contemplatedByOperator,
  'resolved-won': go('won', 'commit', 'contemplation'),
  'resolved-lost': go('lost', 'release', null),
  'resolved-not-landed': go('not-landed', 'release', null),
  'resolved-cancelled': go('cancelled', 'release', null),
};

const byOperator: Row = {
  ...byOperatorKnowing,
  'resolved-expired': go('expired', 'release', null),
};

const bySettlement = {
  'settled-won': go('won', 'commit', 'contemplation'),
  'settled-lost': go('lost', 'release', null),
  'settled-ambiguous': go('ambiguous', 'keep', 'contemplation'),
} satisfies Row;

/** Of a bid that was taken for none, and is among those published. */
const byUnexpectedList: Row = { ...bySettlement, 'settled-ambiguous': go('ambiguous', 'hold', 'contemplation') };

/** By a list that came after the first our bid may have won: its money counts again until somebody knows which list is right. */
const byLaterList: Row = { 'settled-ambiguous': go('ambiguous', 'hold', 'contemplation') };

/** Answers that prove or suggest a landed bid where none was counted on: the exposure is taken up again. */
const byLateEvidence: Row = {
  accepted: go('accepted', 'hold', 'result'),
  presumed: go('accepted-presumed', 'hold', 'result'),
  outside: go('accepted-outside', 'hold', 'validity'),
};

export const transitions: Readonly<Record<Phase | 'unseen', Row>> = {
  unseen: {
    requested: go('requested', 'keep', 'deadline'),
    ended: go('early-ended', 'keep', null),
    passed: go('passed', 'keep', null),
  },
  'early-ended': {
    requested: go('requested', 'keep', 'deadline'),
    passed: go('passed', 'keep', null),
  },
  requested: {
    claimed: go('claimed', 'hold', 'deadline'),
    passed: go('passed', 'keep', null),
    ended: go('requested', 'keep', 'keep'),
    // An answer shows that there was a claim, whose record is not here or cannot be read.
    accepted: go('accepted', 'hold', 'result'),
    presumed: go('accepted-presumed', 'hold', 'result'),
    outside: go('accepted-outside', 'hold', 'validity'),
    rejected: go('rejected', 'keep', null),
    foreign: go('foreign-bid', 'hold', 'result'),
    unknown: go('unknown', 'hold', 'result'),
  },
  claimed: {
    unsent: go('passed', 'release', null),
    accepted: go('accepted', 'keep', 'result'),
    presumed: go('accepted-presumed', 'keep', 'result'),
    outside: go('accepted-outside', 'keep', 'validity'),
    rejected: go('rejected', 'release', null),
    foreign: go('foreign-bid', 'keep', 'result'),
    unknown: go('unknown', 'keep', 'result'),
    ended: go('claimed', 'keep', 'keep'),
    ...byWinner,
  },
  passed: {
    readable: go('requested', 'keep', 'deadline'),
    ended: go('passed', 'keep', 'keep'),
    unknown: go('unknown', 'hold', 'result'),
    ...byUnexpectedList,
    // Only where it may have been sent: by another process, or in a part of the log that was lost.
    ...byWinner,
    ...byOperatorKnowing,
    ...byLateEvidence,
  },
  accepted: {
    ended: go('accepted', 'keep', 'keep'),
    ...bySettlement,
    'settled-absent': go('result-missing', 'keep', 'validity'),
    'resolved-result-missing': go('result-missing', 'keep', 'validity'),
    ...byWinner,
    ...byOperator,
  },
  'accepted-presumed': {
    accepted: go('accepted', 'keep', 'result'),
    outside: go('accepted-outside', 'keep', 'validity'),
    ended: go('accepted-presumed', 'keep', 'keep'),
    ...bySettlement,
    'settled-absent': go('foreign-bid', 'release', null),
    'resolved-result-missing': go('result-missing', 'keep', 'validity'),
    ...byWinner,
    ...byOperator,
  },
  'accepted-outside': {
    ended: go('accepted-outside', 'keep', 'keep'),
    ...byWinner,
    ...byOperator,
  },
  rejected: {
    ended: go('rejected', 'keep', 'keep'),
    ...byUnexpectedList,
    // Another attempt, whose bid may stand.
    ...byLateEvidence,
    foreign: go('foreign-bid', 'hold', 'result'),
    unknown: go('unknown', 'hold', 'result'),
    ...byWinner,
    ...contemplatedByOperator,
  },
  'foreign-bid': {
    accepted: go('accepted', 'hold', 'result'),
    presumed: go('accepted-presumed', 'hold', 'result'),
    outside: go('accepted-outside', 'hold', 'validity'),
    ended: go('foreign-bid', 'keep', 'keep'),
    ...byUnexpectedList,
    'settled-absent': go('foreign-bid', 'release', null),
    'resolved-result-missing': go('result-missing', 'keep', 'validity'),
    ...byWinner,
    ...byOperator,
  },
  unknown: {
    accepted: go('accepted', 'keep', 'result'),
    presumed: go('accepted-presumed', 'keep', 'result'),
    outside: go('accepted-outside', 'keep', 'validity'),
    foreign: go('foreign-bid', 'keep', 'result'),
    ended: go('unknown', 'keep', 'keep'),
    ...bySettlement,
    'settled-absent': go('not-landed', 'keep', 'validity'),
    'resolved-result-missing': go('result-missing', 'keep', 'validity'),
    ...byWinner,
    ...byOperator,
  },
  won: {
    ...byWinner,
    ...byOperator,
    'resolved-won': go('won', 'keep', 'keep'),
  },
  lost: {
    ...byLaterList,
    ...byWinner,
    ...contemplatedByOperator,
  },
  ambiguous: {
    accepted: go('accepted', 'keep', 'result'),
    outside: go('accepted-outside', 'keep', 'validity'),
    ...byWinner,
    ...byOperator,
  },
  'not-landed': {
    ...byLaterList,
    ...byLateEvidence,
    ...byWinner,
    ...byOperator,
    'resolved-expired': go('not-landed', 'release', null),
  },
  'result-missing': {
    ended: go('result-missing', 'keep', 'keep'),
    ...bySettlement,
    'settled-absent': go('result-missing', 'keep', 'keep'),
    ...byWinner,
    ...byOperator,
  },
  contemplated: {
    proposed: go('proposed', 'commit', 'validity'),
    'winner-error': go('winner-failed', 'release', null),
    // Says whose an event is that several requests may have.
    'resolved-contemplated': go('contemplated', 'keep', 'keep'),
    'resolved-cancelled': go('cancelled', 'release', null),
    'resolved-expired': go('expired', 'release', null),
    ...whileWindowsLast,
  },
  proposed: {
    proposed: go('proposed', 'commit', 'validity'),
    'winner-error': go('winner-failed', 'release', null),
    'resolved-cancelled': go('cancelled', 'release', null),
    'resolved-expired': go('expired', 'release', null),
    ...whileWindowsLast,
  },
  'winner-failed': {
    proposed: go('proposed', 'commit', 'validity'),
    // The error may be wrong: whoever has looked says so.
    ...contemplatedByOperator,
  },
  /** Said by a person alone, who may have been mistaken: another one, or the same, says how it went. */
  cancelled: {
    proposed: go('proposed', 'commit', 'validity'),
    ...contemplatedByOperator,
    'resolved-won': go('won', 'commit', 'contemplation'),
    'resolved-lost': go('lost', 'release', null),
    'resolved-not-landed': go('not-landed', 'release', null),
  },
  expired: {
    ...byWinner,
    ...contemplatedByOperator,
    ...byLateEvidence,
    // Of one that caps still count.
    'resolved-cancelled': go('cancelled', 'release', null),
    'resolved-expired': go('expired', 'release', null),
    ...whileWindowsLast,
  },
};
