/** Requests and decisions as each role may see them: for the routes of the API and for the pages of the console. */
import type { z } from 'zod';
import { listedBid } from '../../bidding/bid-list.ts';
import { type BidSearch, searchBids } from '../../bidding/bid-search.ts';
import { shownReasons } from '../../bidding/decide.ts';
import { hindrancesIn } from '../../bidding/hindrances.ts';
import type { EventLog, Views } from '../../bidding/ports.ts';
import type { FlowState } from '../../domain/flow-states.ts';
import type { DecisionTrace } from '../../domain/offer.ts';
import { type ApiRole, seeingPersons } from '../../domain/roles.ts';
import type { LaterList, RequestState } from '../../domain/states.ts';
import type { Vault } from '../../domain/vault.ts';
import type { BidFinder } from '../../operating/reviews.ts';
import type { WorkerReasons } from '../../operating/worker-reasons.ts';
import { contractId } from '../../origination/orders.ts';
import type { FlowStore } from '../../origination/ports.ts';
import type { AskedBids } from '../../queries/asked-bids.ts';
import { withoutCpfs } from '../../wire/hidden-cpf.ts';
import { namesOfBatch } from '../../wire/plain-ids.ts';
import { createLine } from './line.ts';
import type { bidPage, decisionSchema } from './schemas.ts';

/** `limit` is at most 200; `before`: cursor of the page before. */
type BidPageQuery = Omit<BidSearch, 'batchIds'> & {
  batchId?: string | undefined;
  limit: number;
  before?: string | undefined;
};
export type BidPage = z.infer<typeof bidPage>;
export type Decision = z.infer<typeof decisionSchema>;

export type BidReader = {
  /** As `searchBids`, over all partitions. */
  find: BidFinder;
  /** `name`: who asks. `not-done`: too many searches are under way. */
  page: (name: string, query: BidPageQuery) => Promise<{ kind: 'page'; page: BidPage } | { kind: 'not-done' }>;
  /** Null: no request has this id. */
  one: (requestId: string, role: ApiRole) => Promise<Decision | null>;
  /** The flow of the contract that was ordered for it; null: none was. */
  contractOf: (requestId: string) => Promise<FlowState | null>;
};

/** A search parses up to 2,000 rows on the main thread. Two, so that one token does not keep the others out. */
const searches = { atOnce: 2, longestWaitMs: 2_000 };

type BidReaderParts = {
  views: Pick<Views, 'read' | 'query'>;
  /** Where requests are searched for; null: in the views. */
  askedBids?: Pick<AskedBids, 'search'> | null;
  log: Pick<EventLog, 'readKey'>;
  flows: Pick<FlowStore, 'read'>;
  vault: Vault;
  workerReasons: WorkerReasons;
};

export function createBidReader(parts: BidReaderParts): BidReader {
  const { views, askedBids = null, log, flows, vault, workerReasons } = parts;
  const line = createLine(searches);
  const find: AskedBids['search'] =
    askedBids?.search ?? (async (...asked) => ({ ...(await searchBids(views, ...asked)), unasked: [] }));
  return {
    find,
    page: async (name, { limit, before = null, batchId, ...search }) => {
      const batchIds = batchId === undefined ? undefined : namesOfBatch(vault, batchId);
      const searched = await line(name, () => find({ ...search, batchIds }, { limit, before }));
      if (searched.kind === 'not-done') return searched;
      const { found, next, unasked } = searched.result;
      const missing = unasked.length === 0 ? {} : { missing: [...unasked] };
      return { kind: 'page', page: { bids: found.map(listedBid), next, ...missing } };
    },
    contractOf: async (requestId) => {
      const flowId = contractId(requestId);
      return (await flows.read([flowId])).get(flowId) ?? null;
    },
    one: async (requestId, role) => {
      const state = (await views.read([requestId])).get(requestId)?.state;
      if (state === undefined) return null;
      const detailed = role !== 'viewer';
      const listed = listedBid(state);
      const { code } = listed;
      const entries = detailed || code !== null ? await log.readKey('auctions', requestId, state.places) : [];
      const records = entries.map(({ record }) => record);
      const traces = records.map((record) =>
        record.kind === 'claimed' || record.kind === 'passed' ? record.trace : null,
      );
      const decided = traces.find((each) => each !== null) ?? null;
      const trace = detailed ? decided : null;
      return {
        ...listed,
        offer: state.claim === null || state.claim.unread ? null : { ...state.claim.offer },
        reasons: shownReasons(trace?.reasons ?? state.pass?.reasons ?? []),
        trace: trace === null ? null : plainTrace(trace),
        workerTold: code === null ? null : await workerReasons.of(code, decided?.ruleSetHash ?? null),
        hindrances: hindrancesIn(detailed ? records : []).map((hindrance) => ({ ...hindrance })),
        unclaimed: unclaimedIn(state),
        review: reviewIn(state, decided, detailed),
        auction: auctionIn(state, seeingPersons.includes(role)),
      };
    },
  };
}

/**
 * A page with something on it: where a part of the requests has nothing of what is searched for, the parts behind it are looked at, until
 * it is late or a part could not be asked. Null: too many searches are under way.
 */
export async function firstFound(
  bids: Pick<BidReader, 'page'>,
  name: string,
  query: BidPageQuery,
  isLate: () => boolean,
): Promise<BidPage | null> {
  for (let before = query.before; ; ) {
    const found = await bids.page(name, { ...query, before });
    if (found.kind === 'not-done') return null;
    const { bids: listed, next, missing = [] } = found.page;
    if (listed.length > 0 || next === null || missing.length > 0 || isLate()) return found.page;
    before = next;
  }
}

function laterList({ toldAt, bidCount, position, candidates }: LaterList) {
  return { toldAt, bidCount, position, candidates: [...candidates] };
}

function auctionIn({ auction }: RequestState, seesPersons: boolean) {
  if (auction === null) return null;
  const { listHash: _, again, ...first } = auction;
  const shown = { ...first, candidates: [...auction.candidates], again: again === undefined ? null : laterList(again) };
  return seesPersons ? shown : withoutCpfs(shown);
}

/** That of the decision, where there is one. Who answered what is for those who see decisions. */
function reviewIn(
  state: RequestState,
  trace: DecisionTrace | null,
  detailed: boolean,
): NonNullable<Decision['review']> | null {
  const review = trace?.review ?? state.review;
  if (review === undefined) return null;
  const { queue, rules, askedAt, until, otherwise, answer } = review;
  const shown = answer === null || !detailed ? null : answer;
  const told = shown && { decision: shown.decision, by: shown.by, reason: shown.reason, at: shown.at };
  return { queue, rules: [...rules], askedAt, until, otherwise, answer: told };
}

/** Winner events that several requests may have, without what the service wrote. */
function unclaimedIn({
  unclaimed = {},
}: RequestState): { event: 'contemplated' | 'proposed'; at: number; sharedWith: string[] }[] {
  return (['contemplated', 'proposed'] as const).flatMap((event) => {
    const told = unclaimed[event];
    return told === undefined ? [] : [{ event, at: told.at, sharedWith: [...told.sharedWith] }];
  });
}

/** Without the keys that stand for a worker: caps are kept under them too, and rows of value tables found by them. */
function plainTrace({ link, caps: _caps, usage: _usage, tables, ...rest }: DecisionTrace): Record<string, unknown> {
  const looks = tables?.map(({ key: _key, ...look }) => look);
  const trace = { ...rest, reasons: shownReasons(rest.reasons), ...(looks === undefined ? {} : { tables: looks }) };
  if (link === null) return { ...trace, link };
  const { linkKey: _link, workerKey: _worker, birthDate: _birth, ...facts } = link;
  return { ...trace, link: facts };
}
