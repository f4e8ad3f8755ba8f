/** Won bids whose contract nobody has ordered: a person has to, before they expire. */
import { cursorOf, type Views } from '../bidding/ports.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Phase } from '../domain/states.ts';
import { contractId } from './orders.ts';
import type { FlowStore } from './ports.ts';
import { isWonBid } from './preparation.ts';

/** `endsAt`: when it counts as expired; null: not known. */
export type UnorderedBid = { requestId: RequestId; phase: Phase; decidedAt: EpochMs | null; endsAt: EpochMs | null };

/** Phases in which a contract may be ordered. */
const wonPhases = ['proposed', 'contemplated'] as const satisfies readonly Phase[];

const pageRows = 500;
/** Rows that are looked at in each phase. */
const mostRows = 5_000;

/**
 * The one that expires first comes first. A bid whose contract was cancelled is none of them: somebody has decided. `unfolded`: flows
 * that stand in no row yet. `whole`: all bids were looked at.
 */
export async function unorderedBids(
  { views, flows }: { views: Pick<Views, 'query'>; flows: Pick<FlowStore, 'read'> },
  unfolded: readonly Pick<FlowState, 'flowId'>[],
): Promise<{ bids: readonly UnorderedBid[]; whole: boolean }> {
  const begun = new Set(unfolded.map(({ flowId }) => flowId));
  const bids: UnorderedBid[] = [];
  let whole = true;
  for (const phase of wonPhases) {
    let before: string | null = null;
    for (let read = 0; ; read += pageRows) {
      if (read >= mostRows) {
        whole = false;
        break;
      }
      const rows = await views.query({ phase, limit: pageRows, before });
      const won = rows.map(({ state }) => state).filter(isWonBid);
      const known = await flows.read(won.map(({ requestId }) => contractId(requestId)));
      for (const { requestId, decidedAt, timer } of won) {
        const flowId = contractId(requestId);
        if (known.has(flowId) || begun.has(flowId)) continue;
        bids.push({ requestId, phase, decidedAt, endsAt: timer?.due === 'validity' ? timer.at : null });
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < pageRows) break;
      before = cursorOf(last.state);
    }
  }
  const ending = ({ endsAt }: UnorderedBid) => endsAt ?? Number.POSITIVE_INFINITY;
  return { bids: bids.sort((one, other) => Math.sign(ending(one) - ending(other)) || 0), whole };
}
