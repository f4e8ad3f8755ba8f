/** What several withdrawals of one worker come to together, beside what the service says may be withdrawn. Pure. */
import type { FlowBreach } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { AmountCents } from '../domain/glossary.ts';
import type { Vault } from '../domain/vault.ts';
import { amountOrdered, withdrawableShown } from './preparation.ts';
import { shownAmount } from './shown-flows.ts';
import { isUnseen } from './steps.ts';

/** An inclusion of it was ordered or taken, or may have been. */
function isPledged(state: FlowState): boolean {
  const { phase, proposalCode, operation, ending, lateSuccesses = [] } = state;
  if (lateSuccesses.some((late) => late.operation === 'inclusion')) return true;
  if (phase === 'cancelled' || ending != null) return false;
  if (isBeingIncluded(operation)) return true;
  return proposalCode !== null && !isUnseen(state);
}

function isBeingIncluded(operation: FlowState['operation']): boolean {
  if (operation?.operation !== 'inclusion') return false;
  return operation.status === 'asked' || operation.status === 'intended' || operation.status === 'unclear';
}

function loanOf(state: FlowState, open: Vault['open']): AmountCents | null {
  return isBeingIncluded(state.operation) ? amountOrdered(state, open) : shownAmount(state, open);
}

/**
 * Why `own`, whose inclusion is ordered, is not included beside the others: together they come to more than the service has ever said may be
 * withdrawn, or nobody knows that they do not. A balance that is told after another inclusion may be without it, so the largest one
 * that was told counts. Null: nothing speaks against it.
 */
export function beyondBalance(own: FlowState, others: readonly FlowState[], open: Vault['open']): FlowBreach | null {
  const pledged = others.filter((each) => each.flowId !== own.flowId && isPledged(each));
  const ownCents = amountOrdered(own, open);
  // What was not simulated is refused by another rule.
  if (pledged.length === 0 || ownCents === null) return null;
  const named = pledged.map(({ flowId }) => flowId).join(', ');
  const loans = pledged.map((each) => loanOf(each, open));
  const balances = [own, ...pledged].flatMap((each) => withdrawableShown(each, open) ?? []);
  if (loans.includes(null) || balances.length === 0) {
    const problem = `this worker has other withdrawals that are not paid (${named}), and it is not known whether this one fits beside them into what may be withdrawn: ask for them with the step proposal and simulate again, or wait until the service has said that they are paid (setting flows.situations)`;
    return { rule: 'withdrawals-within-balance', field: 'amountCents', problem };
  }
  const besideCents = loans.reduce((sum: AmountCents, cents) => sum + cents!, 0);
  const mostCents = Math.max(...balances);
  if (ownCents + besideCents <= mostCents) return null;
  const leftCents = Math.max(0, mostCents - besideCents);
  const problem = `this worker has other withdrawals that are not paid (${named}), which come to ${besideCents} of the ${mostCents} cents that the service said may be withdrawn: send at most ${leftCents} cents, or wait until the service has said that they are paid (setting flows.situations)`;
  return { rule: 'withdrawals-within-balance', field: 'amountCents', problem };
}
