/** Flows of which the state itself says whether they are shown, read page by page, the latest first. */
import type { FlowState } from '../domain/flow-states.ts';
import { type FlowQuery, type FlowStore, flowCursor } from './ports.ts';

const pageLimit = 500;

/**
 * At most `limit` of them. `next`: the cursor to go on from, although none may follow; null: all were looked at. `mostRead`: how many
 * flows are looked at in one go.
 */
export async function latestFlows(
  flows: Pick<FlowStore, 'query'>,
  query: FlowQuery,
  isShown: (state: FlowState) => boolean,
  mostRead: number = Number.POSITIVE_INFINITY,
): Promise<{ states: FlowState[]; next: string | null }> {
  const states: FlowState[] = [];
  let { before } = query;
  for (let read = 0; read < mostRead; ) {
    const page = await flows.query({ ...query, limit: pageLimit, before });
    for (const state of page) {
      if (isShown(state)) states.push(state);
      if (states.length === query.limit) return { states, next: flowCursor(state) };
    }
    if (page.length < pageLimit) return { states, next: null };
    read += page.length;
    before = flowCursor(page.at(-1)!);
  }
  return { states, next: before };
}
