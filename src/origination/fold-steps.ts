/** The small moves of the fold. */
import type { FlowOperationState, FlowState, FlowStepState } from '../domain/flow-states.ts';
import { type FlowTrigger, transitions } from './transitions.ts';

/** The state in the phase that the table names; null where it names none. */
export function move(state: FlowState, trigger: FlowTrigger): FlowState | null {
  const phase = transitions[state.flow][state.phase]?.[trigger];
  return phase === undefined ? null : { ...state, phase };
}

/** Nothing changes, and it is counted. */
export function stray(state: FlowState): FlowState {
  return { ...state, strays: state.strays + 1 };
}

export function markStep(state: FlowState, stepId: string | null, outcome: FlowStepState['outcome']): FlowState {
  if (stepId === null) return state;
  return { ...state, steps: state.steps.map((step) => (step.stepId === stepId ? { ...step, outcome } : step)) };
}

/** A contract was generated: its competence counts from when it was asked for. */
export function generated(state: FlowState, at: number): FlowState {
  return { ...state, generatedAt: at, generations: state.generations + 1 };
}

export function codeOf(state: FlowState, requestCode: string | null): Pick<FlowState, 'requestCode' | 'codes'> {
  if (requestCode === null) return { requestCode: state.requestCode, codes: state.codes };
  return { requestCode, codes: [...new Set([...state.codes, requestCode])] };
}

/** Whose values were simulated, who has signed and what was split counts once the service took it. */
export function takeCounted(before: FlowState, { operation, personKeys, splitCents }: FlowOperationState): FlowState {
  const state = splitCents === undefined ? before : { ...before, splitCents: (before.splitCents ?? 0) + splitCents };
  // The last one decides: one by a balance that somebody gave says nothing of the worker, and its values stand in place of earlier ones.
  if (operation === 'simulation') return { ...state, simulatedKey: personKeys[0] ?? null };
  if (operation !== 'signers') return state;
  return { ...state, signedKeys: [...new Set([...state.signedKeys, ...personKeys])] };
}
