/** Won bids whose contract nobody has ordered: a person has to, before they expire. */
import { cursorOf, type LedgerQuery, type LedgerRow } from '../bidding/ports.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { AmountCents, EpochMs, RequestId } from '../domain/glossary.ts';
import type { Phase } from '../domain/states.ts';
import { type StepSettings, waitsForPerson } from './next-steps.ts';
import { contractId } from './orders.ts';
import type { FlowStore } from './ports.ts';
import { isWonBid } from './preparation.ts';
import type { OpenSealed } from './shown-flows.ts';
import { mayBeginAgain } from './steps.ts';
import type { UnfoldedFlows } from './unfolded.ts';

/** `endsAt`: when it counts as expired; null: not known. */
export type UnorderedBid = {
  requestId: RequestId;
  phase: Phase;
  amountCents: AmountCents | null;
  decidedAt: EpochMs | null;
  endsAt: EpochMs | null;
  /** Its contract was ordered and cancelled, and may be ordered again. `orders`: how often it was ordered. Null: never ordered. */
  cancelled: { flowId: string; by: string | null; at: EpochMs; orders: number } | null;
};

type Around = {
  /** What was handed in and stands in no row yet; null: a desk runs, and rows follow at once. */
  unfolded: Pick<UnfoldedFlows, 'begun' | 'read'> | null;
  settings: StepSettings;
  open: OpenSealed;
  now: EpochMs;
};

/** As `Views.query`. */
export type QueriedBids = { query: (query: LedgerQuery) => Promise<readonly Pick<LedgerRow, 'state'>[]> };

/** Phases in which a contract may be ordered. */
const wonPhases = ['proposed', 'contemplated'] as const satisfies readonly Phase[];

const pageRows = 500;
/** Rows that are looked at in each phase. */
const mostRows = 5_000;

/**
 * The one that expires first comes first. A bid whose contract was cancelled is one of them until it expires, is taken, or a person
 * closes it; where its loan may stand, or a person has to look at the flow first, the flow itself says so. `whole`: all bids were looked at.
 */
export async function unorderedBids(
  { views, flows }: { views: QueriedBids; flows: Pick<FlowStore, 'read'> },
  { unfolded, settings, open, now }: Around,
): Promise<{ bids: readonly UnorderedBid[]; whole: boolean }> {
  const handedIn = new Map((await unfolded?.begun())?.map((state) => [state.flowId, state]));
  const bids: UnorderedBid[] = [];
  let whole = true;
  for (const phase of wonPhases) {
    let before: string | null = null;
    for (let read = 0; ; read += pageRows) {
      if (read >= mostRows) {
        whole = false;
        break;
      }
      const rows: Awaited<ReturnType<typeof views.query>> = await views.query({ phase, limit: pageRows, before });
      const won = rows.map(({ state }) => state).filter(isWonBid);
      const known = await flows.read(won.map(({ requestId }) => contractId(requestId)));
      for (const { requestId, claim, decidedAt, timer } of won) {
        const flowId = contractId(requestId);
        const row = known.get(flowId);
        const contract =
          row?.phase === 'cancelled' && unfolded !== null
            ? (await unfolded.read(flowId)).state
            : (row ?? handedIn.get(flowId) ?? null);
        if (contract !== null) {
          const isOrderedAgain =
            mayBeginAgain(contract, now, settings) && !waitsForPerson(contract, settings, open, now);
          if (!isOrderedAgain) continue;
        }
        const cancelled = contract === null ? null : cancellationOf(contract);
        const amountCents = claim?.offer.amountCents ?? null;
        const endsAt = timer?.due === 'validity' ? timer.at : null;
        bids.push({ requestId, phase, amountCents, decidedAt, endsAt, cancelled });
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageRows) break;
      before = cursorOf(last.state);
    }
  }
  const ending = ({ endsAt }: UnorderedBid) => endsAt ?? Number.POSITIVE_INFINITY;
  return { bids: bids.sort((one, other) => Math.sign(ending(one) - ending(other)) || 0), whole };
}

function cancellationOf({ flowId, changedAt, steps, earlier = [] }: FlowState): UnorderedBid['cancelled'] {
  const cancel = steps.findLast(({ step, outcome }) => step === 'cancel' && outcome === 'done');
  return { flowId, by: cancel?.by ?? null, at: cancel?.at ?? changedAt, orders: earlier.length + 1 };
}
