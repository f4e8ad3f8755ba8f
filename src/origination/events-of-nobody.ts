/** Events that no flow has claimed, and that may tell of what a flow is unclear about. */
import type { FlowState } from '../domain/flow-states.ts';
import type { FlowStore } from './ports.ts';

/** Of events that nobody has claimed, the latest that are looked at. */
const mostEvents = 50;

/** Their codes: done again, the operation that is unclear would be done twice. */
export async function eventsOfNobody(
  flows: Pick<FlowStore, 'query'>,
  { operation }: Pick<FlowState, 'operation'>,
): Promise<readonly string[]> {
  const named = operation?.operation;
  if (named !== 'contract' && named !== 'renegotiation' && named !== 'endorsement') return [];
  const of = named === 'endorsement' ? 'operation' : named;
  const around = { flow: 'event', phase: 'unclaimed', code: null, limit: mostEvents, before: null } as const;
  const since = operation?.intent?.at ?? 0;
  return (await flows.query(around)).flatMap(({ told }) =>
    told !== null && told.of === of && told.at >= since && told.errors.length === 0 ? [told.requestCode] : [],
  );
}

/** Those that whoever reads a flow should know of: it is unclear what was done, or its note does not come. */
export async function eventsToShow(flows: Pick<FlowStore, 'query'>, state: FlowState): Promise<readonly string[]> {
  const isWaiting = state.operation?.status === 'unclear' || state.phase === 'awaiting-note';
  return isWaiting ? eventsOfNobody(flows, state) : [];
}
