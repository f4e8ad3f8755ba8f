/** The small moves of the fold. */
import type { FlowOperation } from '../domain/flow-records.ts';
import type { FlowOperationState, FlowState, FlowStepState, PaymentOperation } from '../domain/flow-states.ts';
import { isSameCode } from '../domain/request-codes.ts';
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

/** The step that brought the signature: one that came when none was wanted any more brought nothing. */
export function signStep({ steps }: FlowState): FlowState['steps'][number] | undefined {
  return steps.findLast(({ step, outcome }) => step === 'sign' && outcome !== 'ignored');
}

/** A signature that was not sent for endorsement yet will not be. */
export function withoutSignature(state: FlowState): FlowState {
  const sign = signStep(state);
  return sign?.outcome === 'pending' ? markStep(state, sign.stepId, 'withheld') : state;
}

/** A contract was generated: its competence counts from when it was asked for. */
export function generated(state: FlowState, at: number): FlowState {
  return { ...state, generatedAt: at, generations: state.generations + 1 };
}

/** A person ended the flow while its operation waited to be sent again. */
export function isWithdrawn({ flow, phase, operation, steps }: FlowState): boolean {
  if (flow !== 'withdrawal' || phase !== 'cancelled' || operation?.status !== 'not-sent') return false;
  return steps.some(({ stepId, outcome }) => stepId === operation.stepId && outcome === 'withheld');
}

/** Its bytes are not written any more. */
export function withdraw(state: FlowState): FlowState {
  const { operation } = state;
  if (operation?.status !== 'intended') return state;
  return markStep(
    { ...state, operation: { ...operation, status: 'not-sent', retryAt: null } },
    operation.stepId,
    'withheld',
  );
}

/** The inclusion was on its way already, and may have been taken: the flow goes on where it stood. */
export function undoWithdrawal(state: FlowState): FlowState {
  const operation = { ...state.operation!, status: 'intended' as const };
  const cancel = state.steps.findLast(({ step, outcome }) => step === 'cancel' && outcome === 'done');
  const reopened = markStep({ ...state, phase: 'simulated', operation }, operation.stepId, 'pending');
  return markStep(reopened, cancel?.stepId ?? null, 'ignored');
}

export function codeOf(state: FlowState, requestCode: string | null): Pick<FlowState, 'requestCode' | 'codes'> {
  if (requestCode === null) return { requestCode: state.requestCode, codes: state.codes };
  return { requestCode, codes: [...new Set([...state.codes, requestCode])] };
}

/** Whose values were simulated, who has signed, what was split and where money goes counts once the service took it. */
export function takeCounted(before: FlowState, taken: FlowOperationState): FlowState {
  const { operation, personKeys, splitCents } = taken;
  const paid = withPayment(before, taken);
  const state = splitCents === undefined ? paid : { ...paid, splitCents: (paid.splitCents ?? 0) + splitCents };
  // The last one decides: one by a balance that somebody gave says nothing of the worker, and its values stand in place of earlier ones.
  if (operation === 'simulation') return { ...state, simulatedKey: personKeys[0] ?? null };
  if (operation !== 'signers') return state;
  return { ...state, signedKeys: [...new Set([...state.signedKeys, ...personKeys])] };
}

export function isPayment(operation: FlowOperation): operation is PaymentOperation {
  return operation === 'inclusion' || operation === 'splits' || operation === 'account-update';
}

/** Requests that say where money goes: of splits and other accounts the oldest go first. */
const paymentsKept = 50;

function withPayment(state: FlowState, { operation, sealedRequest, intent }: FlowOperationState): FlowState {
  if (!isPayment(operation) || sealedRequest === null || intent === null) return state;
  const payments = [...(state.payments ?? []), { operation, at: intent.at, sealed: sealedRequest }];
  if (payments.length <= paymentsKept) return { ...state, payments };
  return { ...state, payments: payments.toSpliced(payments[0]!.operation === 'inclusion' ? 1 : 0, 1) };
}

/** A person has said which proposal holds: those that were named beside it stay to be seen, and bar nothing any more. */
export function withProposalSettled(state: FlowState): FlowState {
  const { proposalCode, otherProposals = [], operation } = state;
  const isKnown = (code: string) =>
    isSameCode(code, proposalCode ?? '') || otherProposals.some((other) => isSameCode(other.code, code));
  const named = (operation?.namedProposals ?? []).filter((code) => !isKnown(code));
  const all = [...otherProposals.map(({ code }) => code), ...named];
  return all.length === 0
    ? state
    : { ...state, otherProposals: all.map((code) => ({ code, isSettled: true as const })) };
}
