/**
 * Flows as people read them, each with what keeps its contract back because of its bid: that stands with the bid, and in no record of
 * the flow.
 */
import type { Views } from '../bidding/ports.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { FlowStore } from './ports.ts';
import { isLost, notContemplated } from './preparation.ts';
import { isFinished } from './transitions.ts';

export function withLostBids<S extends Pick<FlowStore, 'read' | 'query'>>(flows: S, views: Pick<Views, 'read'>): S {
  async function marked(states: readonly FlowState[]): Promise<FlowState[]> {
    const requestIds = states.flatMap((state) => (hangsOnBid(state) ? [state.subject.requestId!] : []));
    if (requestIds.length === 0) return [...states];
    const bids = await views.read([...new Set(requestIds)]);
    return states.map((state) => {
      const bid = hangsOnBid(state) ? bids.get(state.subject.requestId!)?.state : undefined;
      return bid !== undefined && isLost(bid.phase) ? { ...state, lostBid: notContemplated(bid) } : state;
    });
  }
  return {
    ...flows,
    read: async (flowIds) => new Map((await marked([...(await flows.read(flowIds)).values()])).map(byId)),
    query: async (query) => marked(await flows.query(query)),
  };
}

function byId(state: FlowState): [string, FlowState] {
  return [state.flowId, state];
}

/** Of one that has ended nothing is kept back; a cancelled one may be taken up, and an endorsed one denied. */
function hangsOnBid({ flow, phase, subject }: FlowState): boolean {
  const mayGoOn = phase === 'cancelled' || phase === 'endorsed' || !isFinished(phase);
  return flow === 'contract' && subject.requestId !== null && mayGoOn;
}
