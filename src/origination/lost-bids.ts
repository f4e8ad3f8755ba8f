/**
 * Flows as people read them, each with what keeps its contract back because of its bid or of a renegotiation of its note: that stands
 * with the bid or with the other flow, and in no record of the flow. Where the process that has the bid cannot be asked, nothing is said of it: it works on the flow, and has the last word.
 */
import type { Views } from '../bidding/ports.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { FlowStore } from './ports.ts';
import { isLost, notContemplated } from './preparation.ts';
import { isStanding, renegotiatedBy, renegotiationIds } from './renegotiations-beside.ts';
import { isFinished } from './transitions.ts';

/** `readKnown`: those that could be asked, where the bids of others are asked at their owners; left out: `read` knows all. */
export type ShownBids = Pick<Views, 'read'> & { readKnown?: Views['read'] };

/** For what is only shown. */
export function bidsToShow(views: ShownBids, requestIds: readonly string[]): ReturnType<Views['read']> {
  return (views.readKnown ?? views.read)(requestIds);
}

export function withLostBids<S extends Pick<FlowStore, 'read' | 'query'>>(flows: S, views: ShownBids): S {
  async function marked(states: readonly FlowState[]): Promise<FlowState[]> {
    const requestIds = states.flatMap((state) => (hangsOnBid(state) ? [state.subject.requestId!] : []));
    if (requestIds.length === 0) return [...states];
    const bids = await bidsToShow(views, [...new Set(requestIds)]);
    return states.map((state) => {
      const bid = hangsOnBid(state) ? bids.get(state.subject.requestId!)?.state : undefined;
      return bid !== undefined && isLost(bid.phase) ? { ...state, lostBid: notContemplated(bid) } : state;
    });
  }
  /** Of what has ended well nothing is lent again without a denial, which looks for itself. */
  async function markedRenegotiated(states: readonly FlowState[]): Promise<FlowState[]> {
    const mayLend = ({ phase }: FlowState) => phase === 'cancelled' || !isFinished(phase);
    const ids = states.filter(mayLend).flatMap(renegotiationIds);
    if (ids.length === 0) return [...states];
    const found = await flows.read([...new Set(ids)]);
    return states.map((state) => {
      const standing = mayLend(state) ? renegotiationIds(state).flatMap((id) => found.get(id) ?? []) : [];
      const first = standing.find(isStanding);
      return first === undefined ? state : { ...state, renegotiated: renegotiatedBy(first) };
    });
  }
  const shown = async (states: readonly FlowState[]) => marked(await markedRenegotiated(states));
  return {
    ...flows,
    read: async (flowIds) => new Map((await shown([...(await flows.read(flowIds)).values()])).map(byId)),
    query: async (query) => shown(await flows.query(query)),
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
