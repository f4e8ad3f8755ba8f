/** Renegotiations of the notes of a contract: while one stands, the contract is neither generated nor signed once more. */
import type { FlowBreach, FlowStep } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import { notesGivenUp } from './notes.ts';
import { renegotiationId } from './orders.ts';
import type { FlowStore } from './ports.ts';
import { isCancelledUnseen } from './steps.ts';

/** Steps after which the loan that was renegotiated would be lent once more. */
const lendsRenegotiated: ReadonlySet<FlowStep> = new Set(['sign', 'regenerate', 'amend']);

export function barsRenegotiated(step: FlowStep): boolean {
  return lendsRenegotiated.has(step);
}

/** The ids that a renegotiation of each of its notes would have. */
export function renegotiationIds(state: FlowState): readonly string[] {
  if (state.flow !== 'contract') return [];
  const own = state.note === null ? [] : [state.note.noteNumber];
  return [...own, ...notesGivenUp(state)].map(renegotiationId);
}

/** One that is cancelled bars nothing, unless its loan may stand. */
export function isStanding(state: FlowState): boolean {
  return state.flow === 'renegotiation' && (state.phase !== 'cancelled' || isCancelledUnseen(state));
}

export function renegotiatedBy({ flowId, phase, subject }: FlowState): FlowBreach {
  const problem = `the note ${subject.closedContract} of this contract was renegotiated here: ${flowId}, ${phase}; signing or generating it again would lend that loan twice. Look at that flow; only where nothing of it stands at the service, end it first`;
  return { rule: 'not-renegotiated', field: 'step', problem };
}

/** The first that stands; null: there is none. */
export async function renegotiationOf(flows: Pick<FlowStore, 'read'>, state: FlowState): Promise<FlowState | null> {
  const ids = renegotiationIds(state);
  if (ids.length === 0) return null;
  return [...(await flows.read(ids)).values()].find(isStanding) ?? null;
}
