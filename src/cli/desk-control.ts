/**
 * What people may order of a desk, whichever way it is reached: through the operator API of a running process (`LANCE_URL` with
 * `LANCE_TOKEN`), with the token's identity, or beside the store, as *offline*. Both do the same and say the same.
 */
import type { z } from 'zod';
import type { Views } from '../bidding/ports.ts';
import type { Place } from '../config.ts';
import type { FlowKind, FlowStep } from '../domain/flow-records.ts';
import type { FlowState } from '../domain/flow-states.ts';
import type { ApprovalOf } from '../domain/kept-book.ts';
import { type Identity, isStartOwner } from '../domain/roles.ts';
import { Fault } from '../errors.ts';
import type { BidPage, Decision } from '../http/api/bid-reader.ts';
import type { flowSchema } from '../http/api/schemas.ts';
import type { DismissOutcome, Letter, LetterPlace, LetterRange, Replay } from '../http/letters.ts';
import {
  type CapUse,
  type ControlOutcome,
  type ControlStanding,
  capUse,
  controlHistory,
  controlStanding,
  type OrderGiven,
  pause,
  resume,
  setCap,
} from '../operating/controls.ts';
import {
  approveEconomics,
  type EconomicsOutcome,
  type EconomicsStanding,
  economicsStanding,
} from '../operating/economics.ts';
import {
  type ResolveOrder,
  type ResolveOutcome,
  resolveRequest,
  type ThawOrder,
  type ThawOutcome,
  thaw,
} from '../operating/endings.ts';
import { clockOfDesk } from '../operating/living.ts';
import { decideReview, type ReviewOrder, type ReviewOutcome, type ReviewPage } from '../operating/reviews.ts';
import {
  type ActivateOutcome,
  type ApprovalOutcome,
  type ApproveOutcome,
  activateSet,
  approveSet,
  type KeptSet,
  keptSet,
  type ProposeOutcome,
  proposeSet,
  type RollBackOutcome,
  type RuleHistoryEntry,
  rollBack,
  ruleHistory,
  type SetUnknown,
  setApproval,
  signed,
} from '../operating/rule-orders.ts';
import {
  resumeRule,
  type ShownSnooze,
  type SnoozeOrder,
  type SnoozeRefusal,
  shownSnoozes,
  snoozeRule,
  type WakeRefusal,
} from '../operating/snoozes.ts';
import {
  createToken,
  type KnownToken,
  listTokens,
  type RevokeOutcome,
  revokeToken,
  type TokenCreated,
  type TokenOrder,
} from '../operating/tokens.ts';
import type { UnorderedBid } from '../origination/unordered-bids.ts';
import type { ResultShown, WorkerShown } from '../origination/worker-reading.ts';
import type { RuleFile } from '../rules/rule-set.ts';
import { judgeOf } from './rules-files.ts';
import { type CommandWorld, type DeskReader, withReader } from './world.ts';

export type LetterPage = { letters: Letter[]; next: number; end: number; more?: { partition: number; from: number } };

export type DeskControl = {
  pause: (reason: string) => Promise<ControlOutcome>;
  resume: (reason: string) => Promise<ControlOutcome>;
  setCap: (change: { name: string; limitCents: number | null; reason: string | null }) => Promise<ControlOutcome>;
  capUse: (name: string) => Promise<CapUse | null>;
  snooze: (order: SnoozeOrder) => Promise<ControlOutcome | SnoozeRefusal>;
  wake: (order: Omit<SnoozeOrder, 'until'>) => Promise<ControlOutcome | WakeRefusal>;
  snoozes: () => Promise<readonly ShownSnooze[]>;
  standing: () => Promise<ControlStanding>;
  history: (limit: number) => Promise<{ orders: readonly OrderGiven[]; more: boolean }>;
  resolve: (order: ResolveOrder) => Promise<ResolveOutcome>;
  thaw: (order: ThawOrder) => Promise<ThawOutcome>;
  review: (order: ReviewOrder) => Promise<ReviewOutcome>;
  propose: (files: readonly RuleFile[], comment: string | null) => Promise<ProposeOutcome>;
  approve: (set: string, comment: string | null) => Promise<ApproveOutcome>;
  activate: (set: string, comment: string | null) => Promise<ActivateOutcome>;
  rollBack: (set: string | null, comment: string | null) => Promise<RollBackOutcome>;
  setApproval: (needed: boolean, comment: string | null, of?: ApprovalOf) => Promise<ApprovalOutcome>;
  economics: () => Promise<EconomicsStanding>;
  approveEconomics: (hash: string, comment: string | null) => Promise<EconomicsOutcome>;
  ruleHistory: () => Promise<readonly RuleHistoryEntry[]>;
  keptSet: (set: string) => Promise<KeptSet | SetUnknown>;
  createToken: (order: TokenOrder) => Promise<TokenCreated>;
  tokens: () => Promise<readonly KnownToken[]>;
  revokeToken: (id: string, reason: string | null) => Promise<RevokeOutcome>;
};

/** Of what the API shows of a flow, what the command line reads; the rest is passed on. */
export type FlowToldByDesk = Pick<FlowState, 'flowId' | 'phase' | 'startedAt' | 'by' | 'steps'>;
/** Latest first. `waitsFor`: `anybody`, or undefined for all. */
type FlowsAsked = {
  phase: string | undefined;
  waitsFor: string | undefined;
  limit: number;
  before: string | null;
};
/** Of winner events that no bid has: on the first page of events alone. */
export type FlowsTold = {
  flows: readonly FlowShown[];
  next: string | null;
  unknownWinners?: readonly unknown[] | undefined;
  /** Of contracts, on the first page of all that wait; a desk of an earlier version tells none. */
  wonBids?: readonly (Omit<UnorderedBid, 'phase'> & { state: UnorderedBid['phase'] })[] | undefined;
  wonBidsWhole?: boolean | undefined;
};
export type FlowShown = z.infer<typeof flowSchema>;
/** `isNew`: nothing was asked under this key before. */
type FlowAsked = { told: FlowToldByDesk; isNew: boolean };

/** Over the API alone; beside the store letters need keys and settings that no other command does. */
export type RemoteDesk = DeskControl & {
  /** As `GET /v1/bids` takes them; what is undefined is left out. */
  bids: (query: Readonly<Record<string, string | number | undefined>>) => Promise<BidPage>;
  reviews: (query: { queue?: string | undefined; limit: number; before: string | null }) => Promise<ReviewPage>;
  /** Throws `not-found`. */
  bid: (requestId: string) => Promise<Decision>;
  /** Throws `not-found`, and `not-allowed` where the bid is not won. */
  worker: (requestId: string, reason: string) => Promise<WorkerShown>;
  /** The name that the token is of. */
  owner: () => Promise<{ owner: string }>;
  /** Each throws what kept the flow from being begun, asked or shown; `body` as JSON. */
  startFlow: (flow: FlowKind, key: string, body: string) => Promise<FlowAsked>;
  stepFlow: (flow: FlowKind, of: { flowId: string; step: FlowStep }, key: string, body: string) => Promise<FlowAsked>;
  flow: (flow: FlowKind, flowId: string) => Promise<FlowToldByDesk>;
  flows: (flow: FlowKind, asked: FlowsAsked) => Promise<FlowsTold>;
  /** Throws `not-found`. */
  shownFlow: (flow: FlowKind, flowId: string) => Promise<FlowShown>;
  /** Its records in log order. Throws `not-found`. */
  flowHistory: (flow: FlowKind, flowId: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** What the service answered to an operation. Throws `not-found`. */
  result: (flow: FlowKind, of: { flowId: string; what: string }, reason: string) => Promise<ResultShown>;
  letters: (range: LetterRange) => Promise<LetterPage>;
  replay: (range: LetterRange, reason: string | null) => Promise<Replay>;
  dismiss: (letter: LetterPlace, reason: string) => Promise<DismissOutcome>;
};

/** The order of somebody: `by` as it was typed, undefined where it was not. */
export type Orderer = { by?: string | undefined };

/** A running desk, where one is named; null: the store is at hand. */
export async function remoteDesk(world: CommandWorld, { by }: Orderer): Promise<RemoteDesk | null> {
  const place = world.remote();
  if (place === null) return null;
  // Loaded here: every other command would start later for it.
  const { reachDesk } = await import('./remote-desk.ts');
  return reachDesk(place, by ?? null, world.format.texts.remote);
}

/** Requests as the owners of their partitions know them; what cannot be asked is folded from the log, and no owner is known to have read it. */
export function asOwnersKnow({
  askedBids,
  views,
}: Pick<DeskReader, 'askedBids' | 'views'>): Pick<Views, 'read' | 'applied'> {
  if (askedBids == null) return views;
  const unlessUnasked = (fault: unknown): null => {
    if (fault instanceof Fault && fault.code === 'owner-unasked') return null;
    throw fault;
  };
  return {
    read: async (ids) => (await askedBids.read(ids).catch(unlessUnasked)) ?? views.read(ids),
    applied: async (partition) => (await askedBids.applied(partition).catch(unlessUnasked)) ?? 0,
  };
}

/** For what is only read. */
export function withDesk<R>(world: CommandWorld, use: (desk: DeskControl) => Promise<R>): Promise<R> {
  return asIdentity(world, {}, () => ({ by: '', via: 'offline' }), use);
}

/** For orders. `otherwise`: who it is where nobody was named and no token says so; left out, somebody has to be named. */
export function withOrderer<R>(
  world: CommandWorld,
  orderer: Orderer,
  use: (desk: DeskControl) => Promise<R>,
  otherwise: () => string = () => {
    throw new Fault('option-missing', world.format.texts.remote.nobodyNamed);
  },
): Promise<R> {
  const offline = (): Identity => {
    const by = orderer.by ?? otherwise();
    if (isStartOwner(by)) throw new Fault('option-missing', world.format.texts.remote.startOwnerNamed(by));
    return { by, via: 'offline' };
  };
  return asIdentity(world, orderer, offline, use);
}

async function asIdentity<R>(
  world: CommandWorld,
  orderer: Orderer,
  offline: () => Identity,
  use: (desk: DeskControl) => Promise<R>,
): Promise<R> {
  const remote = await remoteDesk(world, orderer);
  if (remote !== null) return use(remote);
  const who = offline();
  return withReader(world, async (reader, place) => {
    // Who only reads is nobody.
    const clock = who.by === '' ? world.clock : await clockOfDesk(reader.control, world.clock);
    return use(storeDesk({ ...world, clock }, { reader, place, who }));
  });
}

function storeDesk(
  world: CommandWorld,
  { reader, place, who }: { reader: DeskReader; place: Place; who: Identity },
): DeskControl {
  const { clock } = world;
  const parts = { ...reader, clock, append: reader.appendBeside };
  const rules = { ...parts, ...place.rules };
  const ending = { ...parts, views: asOwnersKnow(reader) };
  return {
    pause: (reason) => pause(parts, who, reason),
    resume: (reason) => resume(parts, who, reason),
    setCap: (change) => setCap(parts, who, change),
    capUse: (name) => capUse(parts, name),
    snooze: (order) => snoozeRule(rules, who, order),
    wake: (order) => resumeRule(rules, who, order),
    snoozes: () => shownSnoozes(rules),
    standing: () => controlStanding(parts),
    history: (limit) => controlHistory(parts, limit),
    resolve: (order) => resolveRequest(ending, who, order),
    thaw: (order) => thaw(ending, who, order),
    review: (order) => decideReview(ending, who, order),
    propose: async (files, comment) => {
      const report = await judgeOf(world, files, place.rules.leastCoveragePercent);
      return proposeSet(rules, signed(who, comment), report);
    },
    approve: (set, comment) => approveSet(rules, signed(who, comment), set),
    activate: (set, comment) => activateSet(rules, signed(who, comment), set),
    rollBack: (set, comment) => rollBack(rules, signed(who, comment), set),
    setApproval: (needed, comment, of) => setApproval(rules, signed(who, comment), needed, of),
    economics: () => economicsStanding(parts),
    approveEconomics: (hash, comment) => approveEconomics(parts, signed(who, comment), hash),
    ruleHistory: () => ruleHistory(parts),
    keptSet: (set) => keptSet(parts, set),
    createToken: (order) => createToken(parts, who, order),
    tokens: () => listTokens(parts),
    revokeToken: (id, reason) => revokeToken(parts, who, id, reason),
  };
}
