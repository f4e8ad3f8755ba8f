/** Until when a flow may stay where it stands: what ends by itself, and when. What follows is said by the texts. Pure, but for the look at the bids. */
import type { FlowSettings } from '../config/sections.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { competenceTurn } from '../wire/checks/worker-credit.ts';
import { bidsToShow, type ShownBids } from './lost-bids.ts';
import { generatesWhenTurned, unclaimedLookMs } from './react.ts';
import { answerLateAt, noteLateAt } from './steps.ts';
import { isFinished } from './transitions.ts';

/**
 * `competence`: the note is generated again from then on, unless it is endorsed. `note`: it is late. `answer`: that of a lookup is
 * late. `bid`: it expires, with its time of grace. `unclaimed`: the flow of an event is looked for no more.
 */
export type FlowDeadline = { kind: 'competence' | 'note' | 'answer' | 'bid' | 'unclaimed'; at: EpochMs };
export type DeadlineSettings = Pick<FlowSettings, 'cutoffDay' | 'noteTimeoutMs'>;

/** `bidEndsAt`: null where that of its bid is not known. The next one first. */
export function deadlinesOf(
  state: FlowState,
  { cutoffDay, noteTimeoutMs }: DeadlineSettings,
  bidEndsAt: EpochMs | null,
): readonly FlowDeadline[] {
  const { phase, generatedAt, startedAt, frozen } = state;
  // Nothing is done for it, whatever the time is.
  if (frozen !== undefined) return [];
  const found: FlowDeadline[] = [];
  if (generatesWhenTurned(state) && generatedAt !== null)
    found.push({ kind: 'competence', at: competenceTurn(generatedAt, cutoffDay) });
  if (phase === 'awaiting-note') found.push({ kind: 'note', at: noteLateAt(state, { noteTimeoutMs }) });
  if (phase === 'awaiting-answer') found.push({ kind: 'answer', at: answerLateAt(state, { noteTimeoutMs }) });
  if (phase === 'unclaimed') found.push({ kind: 'unclaimed', at: startedAt + unclaimedLookMs });
  if (bidEndsAt !== null && hangsOnValidity(state)) found.push({ kind: 'bid', at: bidEndsAt });
  return found.sort((one, other) => one.at - other.at);
}

function hangsOnValidity({ flow, phase, lostBid }: FlowState): boolean {
  return flow === 'contract' && lostBid === undefined && phase !== 'failed' && !isFinished(phase);
}

/** When the bids of these flows expire, by the flow's id. */
export async function bidEndsOf(views: ShownBids, states: readonly FlowState[]): Promise<ReadonlyMap<string, EpochMs>> {
  const hanging = states.flatMap((state) =>
    hangsOnValidity(state) && state.subject.requestId !== null
      ? [[state.flowId, state.subject.requestId] as const]
      : [],
  );
  if (hanging.length === 0) return new Map();
  const rows = await bidsToShow(views, [...new Set(hanging.map(([, requestId]) => requestId))]);
  return new Map(
    hanging.flatMap(([flowId, requestId]) => {
      const timer = rows.get(requestId)?.state.timer ?? null;
      return timer?.due === 'validity' ? [[flowId, timer.at] as const] : [];
    }),
  );
}
