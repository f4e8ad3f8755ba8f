/** Events that no flow has claimed, and that may tell of what a flow sent. */
import type { ExpectedLoan, FlowTold } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { CreditNote } from '../domain/records.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { expectedLoan } from './differences.ts';
import { isTurnedAway } from './fold-answers.ts';
import { notesToldAgain } from './notes.ts';
import type { FlowStore } from './ports.ts';

/** Of events that nobody has claimed, the latest that are looked at. */
const mostEvents = 50;

/**
 * What may be told under a code that the flow does not know, and since when: the result of what is unclear or was refused, or the note of a
 * contract that was generated and has none. Null: nothing is missing.
 */
function mayBeTold({
  flow,
  phase,
  operation,
  generatedAt,
  note,
}: Pick<FlowState, 'flow' | 'phase' | 'operation' | 'generatedAt' | 'note'>): {
  of: FlowTold['of'];
  since: EpochMs;
} | null {
  const turnedAwayAt = operation?.turnedAwayAt ?? null;
  const sentAt = turnedAwayAt ?? operation?.intent?.at ?? null;
  // One that was taken in and refused by a callback stays done.
  const isRefused = operation?.status === 'rejected' || phase === 'endorsement-refused';
  const mayBeDone = operation?.status === 'unclear' || isRefused;
  if (operation?.operation === 'endorsement' && (mayBeDone || isTurnedAway(operation))) {
    return { of: 'operation', since: sentAt ?? 0 };
  }
  if ((flow !== 'contract' && flow !== 'renegotiation') || note !== null) return null;
  // A query beside the flow is its operation too, and later.
  const since = turnedAwayAt ?? generatedAt ?? sentAt;
  return since === null ? null : { of: flow, since };
}

/** What the note of the flow should say; what a competence that turned forgot is reckoned again. */
export function expectedNote(
  { expected, terms }: Pick<FlowState, 'expected' | 'terms'>,
  at: EpochMs,
  pricing: PricingSettings,
): ExpectedLoan {
  return expected ?? (terms === null ? {} : expectedLoan(terms, at, pricing));
}

/** The service rounds and dates otherwise than we do; nothing of that moves a loan by so much. */
const otherLoanShare = 0.05;

/** Both the loan and the instalment are far from what was ordered: it is the note of somebody else's contract. */
export function isOfOtherLoan(note: CreditNote | null, expected: ExpectedLoan): boolean {
  if (note === null) return false;
  const isFar = (ours: number | undefined, theirs: number | null) =>
    ours !== undefined && theirs !== null && Math.abs(theirs - ours) > ours * otherLoanShare;
  return isFar(expected.loanCents, note.loanCents) && isFar(expected.installmentCents, note.installmentCents);
}

/**
 * Their codes: done again, what the flow sent last would be done twice. `pricing`: null where the loan is not to be reckoned anew, so
 * that events of other loans may be among them.
 */
export async function eventsOfNobody(
  flows: Pick<FlowStore, 'query'>,
  state: FlowState,
  pricing: PricingSettings | null,
): Promise<readonly string[]> {
  const sent = mayBeTold(state);
  if (sent === null) return [];
  const around = { flow: 'event', phase: 'unclaimed', code: null, limit: mostEvents, before: null } as const;
  const expected = pricing === null ? (state.expected ?? {}) : expectedNote(state, sent.since, pricing);
  return (await flows.query(around)).flatMap((event) => {
    const { told } = event;
    if (told === null || told.of !== sent.of || told.at < sent.since) return [];
    if (told.errors.length > 0 && !told.saysDone) return [];
    const notes = [told.note, ...notesToldAgain(event)];
    return notes.every((note) => isOfOtherLoan(note, expected)) ? [] : [told.requestCode];
  });
}

/** Those that whoever reads a flow should know of: it is unclear what was done, it was refused and may be done, or its note does not come. */
export async function eventsToShow(flows: Pick<FlowStore, 'query'>, state: FlowState): Promise<readonly string[]> {
  const { operation, phase } = state;
  const isRefused = phase === 'refused' || phase === 'endorsement-refused';
  const isWaiting = operation?.status === 'unclear' || phase === 'awaiting-note' || isRefused;
  return isWaiting ? eventsOfNobody(flows, state, null) : [];
}
