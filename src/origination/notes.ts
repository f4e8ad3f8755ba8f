/** Credit notes and their proposals as marks of a flow: which of them are the same, and which flows have had one. */
import type { FlowState } from '../domain/flow-states.ts';
import type { CreditNote } from '../domain/records.ts';
import { guidOf, isSameCode } from '../domain/request-codes.ts';
import type { FlowStore } from './ports.ts';

/** A contract of ours is found under the number of its credit note. */
export function noteIndex(noteNumber: string): string {
  return `note:${noteNumber}`;
}

/**
 * And under the proposal that its note names. Found in any case, GUID or not, so that no other holder is missed; no event is given
 * to a flow by them. Whether a code is a flow's own is asked of `isSameCode`.
 */
export function noteProposalIndex(code: string): string {
  return `note-proposal:${guidOf(code) ?? code.toLowerCase()}`;
}

export function noteCodes({ noteNumber, proposalCode }: Pick<CreditNote, 'noteNumber' | 'proposalCode'>): string[] {
  return [noteIndex(noteNumber), ...(proposalCode === null ? [] : [noteProposalIndex(proposalCode)])];
}

/** Numbers of notes that the flow has given up: they stand at the service, which was told nothing of it. The latest last. */
export function notesGivenUp({ note, earlierNotes = [] }: Pick<FlowState, 'note' | 'earlierNotes'>): readonly string[] {
  return [...new Set(earlierNotes)].filter((noteNumber) => noteNumber !== note?.noteNumber);
}

/** A note that is told again, to the last figure. */
export function isSameNote(one: CreditNote, other: CreditNote): boolean {
  const keys = Object.keys({ ...one, ...other }) as (keyof CreditNote)[];
  return keys.every((key) =>
    key === 'proposalCode'
      ? isSameCode(one[key] ?? '', other[key] ?? '')
      : key === 'unreadable'
        ? one[key]?.join() === other[key]?.join()
        : one[key] === other[key],
  );
}

/** Notes told for one contract that are kept. */
const mostToldAgain = 20;

/** What a note releases, as far as it says. */
function releasedBy({ loanCents, iofCents, insuranceCents }: CreditNote): number {
  return (loanCents ?? 0) - (iofCents ?? 0) - (insuranceCents ?? 0);
}

/** With one more that was told for the same contract; the first one goes that is not the worst. */
export function withToldAgain(told: readonly CreditNote[], note: CreditNote): readonly CreditNote[] {
  const all = [...told, note];
  if (all.length <= mostToldAgain) return all;
  const worst = [releasedBy, ({ rateMonthlyPercent }: CreditNote) => rateMonthlyPercent ?? 0].map((measure) =>
    all.reduce((most, each) => (measure(each) > measure(most) ? each : most)),
  );
  return all.toSpliced(
    all.findIndex((each) => !worst.includes(each)),
    1,
  );
}

/** All that were told for its contract beside its note. */
export function notesToldAgain({ noteAgain, notesAgain }: Pick<FlowState, 'noteAgain' | 'notesAgain'>) {
  return notesAgain ?? (noteAgain?.note == null ? [] : [noteAgain.note]);
}

/** What came unread under the code of its contract, and nobody has seen since. Earlier versions kept it in `noteAgain` alone. */
export function unreadMark({
  unread,
  noteAgain,
  noteAccepted,
}: Pick<FlowState, 'unread' | 'noteAgain' | 'noteAccepted'>): (FlowState['unread'] & {}) | null {
  if (unread !== undefined) return unread;
  return noteAgain?.unread && noteAccepted == null ? { at: noteAgain.at } : null;
}

/** Of flows with one note the latest that are looked at: more than one is a fault of the service. */
const mostHolders = 20;

/** The other flows that have, or have had, a note of this number or proposal. */
export async function holdersOf(
  flows: Pick<FlowStore, 'query'>,
  flowId: string,
  note: CreditNote,
): Promise<readonly FlowState[]> {
  const pages = await Promise.all(
    noteCodes(note).map((code) => flows.query({ flow: null, phase: null, code, limit: mostHolders, before: null })),
  );
  return pages.flat().filter((state) => state.flowId !== flowId);
}

/** Whether a flow still has it: what was replaced or cancelled is signed by nobody. */
export function stillHolds({ note, phase }: FlowState, own: CreditNote): boolean {
  if (note === null || phase === 'cancelled') return false;
  const codes = noteCodes(own);
  return noteCodes(note).some((code) => codes.includes(code));
}
