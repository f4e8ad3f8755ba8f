/** What several withdrawals of one worker come to together, beside what the service says may be withdrawn. */
import type { FlowBreach } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import type { Vault } from '../domain/vault.ts';
import { workerIndex } from './ledger.ts';
import type { FlowStore } from './ports.ts';
import { amountOrdered, withdrawableShown } from './preparation.ts';
import { shownAmount } from './shown-flows.ts';
import { isUnseen } from './steps.ts';

/** The flows of a worker may be worked on by several processes, whose clocks differ. */
const clockDifferenceMs = 60_000;

/** `isReleased`: the service has said that it is paid. */
export type WithdrawalBeside = { state: FlowState; isReleased: boolean };

/** Of one worker the latest that are looked at. */
const mostOfWorker = 50;

export function withdrawalsOfWorker(flows: Pick<FlowStore, 'query'>, workerKey: string): Promise<FlowState[]> {
  const code = workerIndex(workerKey);
  return flows.query({ flow: 'withdrawal', phase: null, code, limit: mostOfWorker, before: null });
}

type Pledge = { flowId: string; loanCents: AmountCents | null; takenOffAt: EpochMs | null };

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

/** From when on the balances that the service tells are surely without it; null: they may hold it still. */
function takenOffAt({ state, isReleased }: WithdrawalBeside): EpochMs | null {
  const { phase, results, steps, changedAt } = state;
  if (phase !== 'finalised') return isReleased ? changedAt : null;
  const { finalisation } = results;
  if (finalisation !== undefined && finalisation.refused !== true) return finalisation.at;
  return steps.findLast(({ step, outcome }) => step === 'confirm' && outcome === 'done')?.at ?? changedAt;
}

/** When the balance that counts was asked for; null: nobody knows any more. */
function balanceAskedAt({ steps }: FlowState): EpochMs | null {
  return steps.findLast(({ step, outcome }) => step === 'simulation' && outcome === 'done')?.at ?? null;
}

/** What a balance that was asked for then may hold still. */
function heldIn(pledges: readonly Pledge[], askedAt: EpochMs | null): readonly Pledge[] {
  const isTakenOff = ({ takenOffAt: since }: Pledge) =>
    since !== null && askedAt !== null && since + clockDifferenceMs < askedAt;
  return pledges.filter((pledge) => !isTakenOff(pledge));
}

function sumOf(pledges: readonly Pledge[]): AmountCents | null {
  return pledges.reduce<AmountCents | null>(
    (sum, { loanCents }) => (sum === null || loanCents === null ? null : sum + loanCents),
    0,
  );
}

/**
 * Why `own`, whose inclusion is ordered, is not included beside the others: with those that a balance may hold still it comes to more than
 * that balance, or nobody knows that it does not. A balance is without a withdrawal that was finalised before it was asked for. It may be
 * without one that was only included, so the balance that leaves the most counts. Null: nothing speaks against it.
 */
export function beyondBalance(
  own: FlowState,
  others: readonly WithdrawalBeside[],
  open: Vault['open'],
): FlowBreach | null {
  const pledged = others.filter(({ state }) => state.flowId !== own.flowId && isPledged(state));
  const ownCents = amountOrdered(own, open);
  // What was not simulated is refused by another rule.
  if (ownCents === null) return null;
  const pledges = pledged.map((each) => {
    const { flowId } = each.state;
    return { flowId, loanCents: loanOf(each.state, open), takenOffAt: takenOffAt(each) };
  });
  const beside = heldIn(pledges, balanceAskedAt(own));
  if (beside.length === 0) return null;
  const balances = [own, ...pledged.map(({ state }) => state)].flatMap((state) => {
    const balanceCents = withdrawableShown(state, open);
    const held = heldIn(pledges, balanceAskedAt(state));
    const heldCents = sumOf(held);
    return balanceCents === null || heldCents === null ? [] : [{ balanceCents, heldCents, held }];
  });
  const leftCents = (one: { balanceCents: AmountCents; heldCents: AmountCents }) => one.balanceCents - one.heldCents;
  const [best] = balances.sort((one, other) => leftCents(other) - leftCents(one));
  if (best === undefined) {
    const problem = `this worker has other withdrawals (${namesOf(beside)}), and it is not known whether this one fits beside them into what may be withdrawn: ask for them with the step proposal and simulate again, or simulate again once they are finalised or have ended`;
    return { rule: 'withdrawals-within-balance', field: 'amountCents', problem };
  }
  if (ownCents <= leftCents(best)) return null;
  const mostCents = Math.max(0, leftCents(best));
  const problem = `this worker has other withdrawals (${namesOf(best.held)}), which come to ${best.heldCents} of the ${best.balanceCents} cents that the service said may be withdrawn: send at most ${mostCents} cents, or simulate again once they are finalised or have ended`;
  return { rule: 'withdrawals-within-balance', field: 'amountCents', problem };
}

function namesOf(pledges: readonly Pledge[]): string {
  return pledges.map(({ flowId }) => flowId).join(', ');
}

/** An inclusion was ordered, and it is not decided yet whether it goes out. */
function isUndecided({ operation, frozen }: FlowState): boolean {
  return operation?.operation === 'inclusion' && operation.status === 'asked' && frozen === undefined;
}

/**
 * Whether an inclusion that was read back as ordered goes out. It was checked before it was written, and so were others that were ordered
 * in the same moment. Each of them stands in the store before it comes here, so of two at least one sees the other. It goes out only
 * where it fits beside all that it sees; where it does not for those alone that were ordered after it, it waits until they are decided,
 * but not for longer than `longestWaitMs`: where their partition has no owner nobody decides them.
 */
export function decideInclusion(
  own: FlowState,
  others: readonly WithdrawalBeside[],
  open: Vault['open'],
  { now, longestWaitMs }: { now: EpochMs; longestWaitMs: number },
): 'goes' | 'waits' | FlowBreach {
  const breach = beyondBalance(own, others, open);
  if (breach === null) return 'goes';
  const isLater = ({ state }: WithdrawalBeside) => isUndecided(state) && isOrderedBefore(own, state);
  const earlier = others.filter((each) => !isLater(each));
  const mayWait = now < orderedAt(own) + longestWaitMs;
  return beyondBalance(own, earlier, open) ?? (mayWait ? 'waits' : breach);
}

/**
 * By the time of the order, whatever partitions they are in: one order for all of them, for three of which each is before the next would
 * wait for each other. Nothing depends on a clock that is wrong but who goes first.
 */
function isOrderedBefore(one: FlowState, other: FlowState): boolean {
  const [at, otherAt] = [orderedAt(one), orderedAt(other)];
  return at < otherAt || (at === otherAt && one.flowId < other.flowId);
}

function orderedAt({ steps, operation, changedAt }: FlowState): EpochMs {
  return steps.find(({ stepId }) => stepId === operation?.stepId)?.at ?? changedAt;
}
