/**
 * What a person says of one request or flow: how it ended, or that a frozen one is read again or cancelled. A record beside the running
 * desk, and waited for until the desk has folded it. The same for API and command line.
 */
import { isSurelyUnsent, outlives } from '../bidding/evolve.ts';
import type { Control, EventLog, NewEntry, Views } from '../bidding/ports.ts';
import { transitions } from '../bidding/transitions.ts';
import type { Clock } from '../domain/clock.ts';
import type { FlowKind } from '../domain/flow-records.ts';
import type { FlowPhase, FlowState } from '../domain/flow-states.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Resolved, ReviewAnswered, ThawAction, Topic } from '../domain/records.ts';
import type { Identity } from '../domain/roles.ts';
import type { FrozenMark, Phase, RequestState } from '../domain/states.ts';
import { contractId } from '../origination/orders.ts';
import type { FlowStore } from '../origination/ports.ts';
import { livesSince, living, lookFor, wait } from './living.ts';

export type EndingParts = {
  log: Pick<EventLog, 'ends'>;
  views: Pick<Views, 'read' | 'applied'>;
  flows: Pick<FlowStore, 'read'>;
  control: Pick<Control, 'acknowledged'>;
  partitionOf: (topic: Topic, key: string) => Promise<number>;
  append: (entries: readonly NewEntry[]) => Promise<void>;
  clock: Clock;
};

/** What an operator may say; the desk itself resolves otherwise when time has passed. */
export const operatorResolutions = ['won', 'contemplated', 'lost', 'not-landed', 'cancelled'] as const;
export type OperatorResolution = (typeof operatorResolutions)[number];

/** These give back what the bid had promised. */
const releases: ReadonlySet<OperatorResolution> = new Set(['lost', 'not-landed', 'cancelled']);
/** Phases of a contract in which nothing of it is lent or may be. */
const withoutLoan: ReadonlySet<FlowPhase> = new Set(['waiting-proposal', 'cancelled', 'failed', 'refused', 'withheld']);

/** Whatever its phase, what was told or shown to be done and counts as not done here may be a loan. */
function mayBeLent({ phase, lateSuccesses = [] }: FlowState): boolean {
  return !withoutLoan.has(phase) || lateSuccesses.length > 0;
}

const foldTimeoutMs = 2_000;

function allowedIn(state: RequestState): OperatorResolution[] {
  if (isSurelyUnsent(state)) return [];
  const isOver = state.phase === 'expired' && !outlives(state);
  return operatorResolutions.filter(
    (as) => transitions[state.phase][`resolved-${as}`] !== undefined && !(isOver && as === 'cancelled'),
  );
}

/** What a person may say of it now; of a request that is not known nothing. */
export async function sayable(parts: Pick<EndingParts, 'views'>, requestId: RequestId): Promise<OperatorResolution[]> {
  const state = await stateOf(parts, requestId);
  return state === null ? [] : allowedIn(state);
}

async function stateOf({ views }: Pick<EndingParts, 'views'>, requestId: RequestId): Promise<RequestState | null> {
  return (await views.read([requestId])).get(requestId)?.state ?? null;
}

/**
 * Writes what a person says of a request, and waits until the desk has folded it. `stored`: no process runs. `late`: a live desk has not
 * folded it in time.
 */
export async function recordOfRequest(
  { append, partitionOf, log, views, control, clock }: Omit<EndingParts, 'flows'>,
  record: Resolved | ReviewAnswered,
): Promise<'folded' | 'stored' | 'late'> {
  const { requestId, at } = record;
  await append([{ topic: 'auctions', key: requestId, record }]);
  const partition = await partitionOf('auctions', requestId);
  // Our record stands before it.
  const end = (await log.ends('auctions')).get(partition) ?? 0;
  if ((await living(control, clock)).length === 0) return 'stored';
  const folded = await lookFor(clock, foldTimeoutMs, async () =>
    (await views.applied(partition)) >= end ? true : null,
  );
  if (folded !== null) return 'folded';
  return (await livesSince(control, clock, at)) ? 'late' : 'stored';
}

export type ResolveOrder = { requestId: RequestId; as: OperatorResolution; reason: string };

export type ResolveOutcome =
  | { kind: 'done'; phase: Phase }
  /** Recorded, and no process runs. */
  | { kind: 'stored' }
  /** Recorded, and a live desk has not folded it in time. */
  | { kind: 'late' }
  | { kind: 'unknown' }
  /** `allowed`: what may be said in this phase. */
  | { kind: 'refused'; phase: Phase; allowed: readonly OperatorResolution[] }
  /** A contract of the bid is made or under way: what was promised for it is lent, or may be. */
  | { kind: 'under-contract'; flowId: string; flowPhase: FlowPhase }
  /** Another record came first, and this one changed nothing. */
  | { kind: 'overtaken'; phase: Phase };

export async function resolveRequest(
  parts: EndingParts,
  who: Identity,
  { requestId, as, reason }: ResolveOrder,
): Promise<ResolveOutcome> {
  const before = await stateOf(parts, requestId);
  if (before === null) return { kind: 'unknown' };
  const allowed = allowedIn(before);
  if (!allowed.includes(as)) return { kind: 'refused', phase: before.phase, allowed };
  const contract = (await parts.flows.read([contractId(requestId)])).get(contractId(requestId));
  if (releases.has(as) && contract !== undefined && mayBeLent(contract)) {
    return { kind: 'under-contract', flowId: contract.flowId, flowPhase: contract.phase };
  }
  const record: Resolved = { kind: 'resolved', requestId, at: parts.clock.now(), as, ...who, reason };
  const recorded = await recordOfRequest(parts, record);
  if (recorded !== 'folded') return { kind: recorded };
  const after = (await stateOf(parts, requestId)) ?? before;
  const said = after.resolution;
  const isOurs = said?.at === record.at && said.by === who.by && said.as === record.as && said.reason === record.reason;
  return { kind: isOurs ? 'done' : 'overtaken', phase: after.phase };
}

/** `bid` is a request of the auctions. */
export type ThawOrder = { of: FlowKind | 'bid'; id: string; action: ThawAction; reason: string };

export type ThawOutcome =
  | { kind: 'done' }
  | { kind: 'stored' }
  | { kind: 'late' }
  | { kind: 'unknown' }
  | { kind: 'not-frozen' }
  /** It was read again, and froze again. */
  | { kind: 'still'; problem: string };

/** A retry reads the records again, on Kafka by a search of the partition. */
const thawTimeoutMs = 10_000;
const againMs = 500;

export async function thaw(parts: EndingParts, who: Identity, order: ThawOrder): Promise<ThawOutcome> {
  const { clock, control } = parts;
  const before = await markOf(parts, order);
  if (before === undefined) return { kind: 'unknown' };
  if (before === null) return { kind: 'not-frozen' };
  const at = clock.now();
  await parts.append([thawEntry(order, who, at)]);
  const live = (await living(control, clock)).length > 0;
  if (!live) return { kind: 'stored' };
  const look = async () => {
    const mark = (await markOf(parts, order)) ?? null;
    const isAnother = mark !== null && (mark.at !== before.at || mark.problem !== before.problem);
    return mark === null || isAnother || mark.retriedAt === at ? { mark } : null;
  };
  let answer = await lookFor(clock, thawTimeoutMs, look);
  if (answer?.mark === null && order.action === 'retry') {
    // What is done next may freeze it again.
    await wait(clock, againMs);
    answer = await look();
  }
  if (answer === null) return (await livesSince(control, clock, at)) ? { kind: 'late' } : { kind: 'stored' };
  return answer.mark === null ? { kind: 'done' } : { kind: 'still', problem: answer.mark.problem };
}

/** Undefined: there is no such thing; null: it is not frozen. */
async function markOf(parts: EndingParts, { of, id }: ThawOrder): Promise<FrozenMark | null | undefined> {
  if (of === 'bid') {
    const state = await stateOf(parts, id);
    return state === null ? undefined : (state.frozen ?? null);
  }
  const state = (await parts.flows.read([id])).get(id);
  return state?.flow === of ? (state.frozen ?? null) : undefined;
}

function thawEntry({ of, id, action, reason }: ThawOrder, who: Identity, at: EpochMs): NewEntry {
  const said = { kind: 'unfrozen' as const, at, action, ...who, reason };
  if (of === 'bid') return { topic: 'auctions', key: id, record: { ...said, requestId: id } };
  return { topic: 'flows', key: id, record: { ...said, flowId: id } };
}
