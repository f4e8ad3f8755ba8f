/**
 * Requests that wait for the detail of an employment link. One query a link at a time, however many requests wait;
 * the answer comes by callback into the margin cache and wakes them.
 */

import type { BiddingSettings } from '../config/sections.ts';
import type { Clock } from '../domain/clock.ts';
import { isSameEmployer } from '../domain/employer.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { Hindrance } from '../domain/records.ts';
import { detailsByKey, type Link, type WorkerIdentity } from '../domain/request.ts';
import type { RequestState } from '../domain/states.ts';
import { sealedPlaces, type Vault } from '../domain/vault.ts';
import type { Authorisations } from './authorisations.ts';
import type { DetailTold, FailureTold } from './callbacks.ts';
import type { LinkNeed } from './decide.ts';
import { noteHindrance } from './hindrances.ts';
import type { DeskObserver } from './observer.ts';
import type { LinkQuery, QueryAnswer, QueryFailure, Service } from './ports.ts';
import { sleep } from './sleep.ts';
import { problemOf } from './unprocessable.ts';

export type LinkDesk = {
  /** Null: parked and asked for. Otherwise why it cannot be asked for; `in-vain`: it was, and `giveUp` said that it is of no use. */
  park: (
    state: RequestState,
    need: Exclude<LinkNeed, 'none'>,
  ) => 'authorisation-missing' | 'margin-missing' | 'in-vain' | null;
  /** Of those, the requests that are decided without the link as well: they wait no longer, and are not asked for again. */
  giveUp: (requestIds: readonly RequestId[]) => readonly RequestId[];
  waitingSince: (requestId: RequestId) => EpochMs | null;
  /** Of a request that waits: since when, and the queries that came to nothing meanwhile. */
  story: (requestId: RequestId, until: EpochMs) => readonly Hindrance[];
  /** The key under which the link's detail will stand in the cache. */
  linkKeyOf: (state: RequestState) => string | null;
  unpark: (requestId: RequestId) => void;
  /** Requests that the detail is for: by its link, or by the code of the query, where the service names the link otherwise. */
  detailArrived: (told: DetailTold) => readonly RequestId[];
  /** Requests that none of the links is certain to be meant by; the others are asked for. */
  listArrived: (workerKey: string, links: readonly Link[]) => readonly RequestId[];
  /** Whoever waits for the query of this code is told; unknown codes are remembered, for the acknowledgement may come later. */
  failureArrived: (failure: FailureTold) => void;
  parkedCount: () => number;
};

type ChosenLink = { linkKey: string; identity: WorkerIdentity };
/** `queries`: those in vain; it grows. */
type Parked = { state: RequestState; need: LinkNeed; since: EpochMs; key: string; queries: Hindrance[] };

/** A query that the service has taken. */
type Asked = { key: string; identity: WorkerIdentity; of: 'detail' | 'list' };

/** Codes remembered at once: the oldest go first. */
const codesKept = 10_000;

function remember<T>(map: Map<string, T>, code: string, value: T): void {
  map.set(code, value);
  if (map.size > codesKept) map.delete(map.keys().next().value!);
}

function keysOf(told: DetailTold): readonly string[] {
  return detailsByKey(told).map(({ linkKey }) => linkKey);
}

export function createLinkDesk(options: {
  service: Service;
  authorisations: Authorisations;
  vault: Vault;
  clock: Clock;
  settings: BiddingSettings;
  observer: DeskObserver;
  stopping: () => boolean;
  /** These cannot be asked for after all. */
  onRefused: (requestIds: readonly RequestId[], reason: QueryFailure) => void;
  /** What is stored of these does not make a query. */
  onUnwritable: (requestIds: readonly RequestId[], problem: string) => void;
}): LinkDesk {
  const { service, vault, clock, settings } = options;
  const parked = new Map<RequestId, Parked>();
  const inVain = new Set<RequestId>();
  const waitingByKey = new Map<string, Set<RequestId>>();
  const asking = new Set<string>();
  /** What the latest queries asked for, by their code, and failures that came before their acknowledgement. */
  const queries = new Map<string, Asked>();
  const failures = new Map<string, QueryFailure>();
  /** Links chosen from a list, for requests that did not name theirs. */
  const chosen = new Map<RequestId, string>();

  function identityOf(state: RequestState): WorkerIdentity {
    const sealed: { identity: WorkerIdentity } = JSON.parse(
      vault.open(sealedPlaces.request(state.requestId), state.sealed!),
    );
    return sealed.identity;
  }

  function openedOrNull(...sealed: Parameters<Vault['open']>): string | null {
    try {
      return vault.open(...sealed);
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return null;
    }
  }

  function unpark(requestId: RequestId): void {
    inVain.delete(requestId);
    const entry = parked.get(requestId);
    if (entry === undefined) return;
    parked.delete(requestId);
    chosen.delete(requestId);
    const others = waitingByKey.get(entry.key);
    others?.delete(requestId);
    if (others?.size === 0) waitingByKey.delete(entry.key);
  }

  function wait(entry: Parked): void {
    const { state, key } = entry;
    const { requestId } = state;
    unpark(requestId);
    parked.set(requestId, entry);
    const others = waitingByKey.get(key) ?? new Set();
    waitingByKey.set(key, others.add(requestId));
  }

  /** Asks until acknowledged, refused or nobody waits any more. The callback may come before the acknowledgement. */
  async function ask(key: string, query: LinkQuery, send: (query: LinkQuery) => Promise<QueryAnswer>): Promise<void> {
    if (asking.has(key)) return;
    asking.add(key);
    let pauseMs = settings.retryFirstMs;
    try {
      while (waitingByKey.has(key) && !options.stopping()) {
        const from = clock.now();
        const answer = await send(query);
        noteQuery(key, answer, from);
        if (answer.kind === 'acknowledged') {
          acknowledge(answer.requestCode, {
            key,
            identity: query.identity,
            of: send === service.listLinks ? 'list' : 'detail',
          });
          return;
        }
        if (answer.kind === 'unwritable') {
          options.onUnwritable([...(waitingByKey.get(key) ?? [])], answer.problem);
          return;
        }
        if (answer.kind === 'refused') {
          tellEnd(key, answer.reason);
          options.onRefused([...(waitingByKey.get(key) ?? [])], answer.reason);
          return;
        }
        await sleep(clock, pauseMs);
        pauseMs = Math.min(settings.retryMaxMs, pauseMs * 2);
      }
    } finally {
      asking.delete(key);
    }
  }

  function noteQuery(key: string, answer: QueryAnswer, from: EpochMs): void {
    if (answer.kind !== 'refused' && answer.kind !== 'failed') return;
    const cause = answer.kind === 'failed' ? answer.reason : `status-${answer.response.status}`;
    for (const requestId of waitingByKey.get(key) ?? [])
      noteHindrance(parked.get(requestId)!.queries, { kind: 'query', cause, count: 1, from, until: clock.now() });
  }

  /** An acknowledgement is no end: the callback may say that the query is refused. */
  function tellEnd(linkKey: string, failure: QueryFailure | null): void {
    options.observer({ kind: 'link-query', linkKey, isRefused: failure === 'unclassified', at: clock.now() });
  }

  function acknowledge(requestCode: string | null, query: Asked): void {
    if (requestCode === null) return;
    remember(queries, requestCode, query);
    const failure = failures.get(requestCode);
    if (failure !== undefined) tellFailure(failure, query.key);
  }

  function tellFailure(reason: QueryFailure, key: string): void {
    tellEnd(key, reason);
    const requestIds = [...(waitingByKey.get(key) ?? [])];
    if (requestIds.length > 0) options.onRefused(requestIds, reason);
  }

  function reasonOf({ requestCode, errors, unread, sealed }: FailureTold): QueryFailure {
    if (unread) return 'unread';
    if (errors.includes('no-links')) return 'no-links';
    try {
      return service.refusalIn(vault.open(sealedPlaces.callback(requestCode), sealed));
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return 'unclassified';
    }
  }

  /** Requests of the same worker that wait under another key for the query of this code: the service named their link otherwise. */
  function waitingOtherwise(told: DetailTold): readonly RequestId[] {
    const { requestCode, sealed } = told;
    const { workerKey } = told.detail;
    const asked = requestCode === null ? undefined : queries.get(requestCode);
    const waiting = asked === undefined || keysOf(told).includes(asked.key) ? undefined : waitingByKey.get(asked.key);
    if (asked === undefined || waiting === undefined) return [];
    const body = openedOrNull(sealedPlaces.callback(workerKey), sealed);
    if (body === null || !service.isDetailOf(body, asked.identity)) return [];
    return [...waiting].filter((requestId) => parked.get(requestId)?.state.request?.workerKey === workerKey);
  }

  /** Of what answers a query and is of nobody who was asked about, nobody knows what it should have said: no request goes on without it. */
  function tellOfOther(told: DetailTold): void {
    const asked = told.requestCode === null ? undefined : queries.get(told.requestCode);
    if (asked?.of === 'detail' && !keysOf(told).includes(asked.key)) tellFailure('other-link', asked.key);
  }

  /** By this process: of what others ask it hears as well, and the service may refuse only its own queries. */
  function isAskedFor(told: DetailTold): boolean {
    const { requestCode } = told;
    return keysOf(told).some((key) => waitingByKey.has(key)) || (requestCode !== null && queries.has(requestCode));
  }

  function askDetail(key: string, identity: WorkerIdentity, authorisationNumber: string | null): void {
    void ask(key, { identity, authorisationNumber, cached: settings.askCached }, service.askLinkDetail);
  }

  const park: LinkDesk['park'] = (state, need) => {
    const { request } = state;
    if (inVain.has(state.requestId)) return 'in-vain';
    if (request === null || request.workerKey === null || state.sealed === null) return 'margin-missing';
    const { authorisationNumber } = request;
    if (!options.authorisations.mayAsk(request.workerKey, authorisationNumber)) return 'authorisation-missing';
    if (parked.has(state.requestId)) return null;
    const key = request.linkKey ?? request.workerKey;
    const identity = identityOf(state);
    wait({ state, need, since: clock.now(), key, queries: [] });
    if (request.linkKey !== null) askDetail(key, identity, authorisationNumber);
    else void ask(key, { identity, authorisationNumber, cached: settings.askCached }, service.listLinks);
    return null;
  };

  const giveUp: LinkDesk['giveUp'] = (requestIds) => {
    const useful = requestIds.filter((requestId) => parked.get(requestId)?.need === 'useful');
    for (const requestId of useful) {
      unpark(requestId);
      inVain.add(requestId);
    }
    return useful;
  };

  /** Null where nothing can be made of what the callback says: the request goes on as without the link. */
  function identityIn(workerKey: string, link: Link): WorkerIdentity | null {
    try {
      return JSON.parse(vault.open(sealedPlaces.link(workerKey, link.linkKey), link.sealedIdentity));
    } catch (fault) {
      // Throws again whatever is not the record's own problem.
      problemOf(fault);
      return null;
    }
  }

  /**
   * The one eligible link, of the employer named if one is, and of several the one with the registration named; more of them leave
   * it open which margin counts. The identity is the list's own: its identifier of the employer goes back as it came.
   */
  function pick(state: RequestState, workerKey: string, links: readonly Link[]): ChosenLink | null {
    const { employerId, employerIdType, registration } = identityOf(state);
    const wanted = employerId === null ? null : { employerId, employerIdType };
    const fitting = links.flatMap((link): ChosenLink[] => {
      const identity = link.eligible === true ? identityIn(workerKey, link) : null;
      if (identity?.employerId == null) return [];
      const { linkKey } = link;
      const own = { employerId: identity.employerId, employerIdType: identity.employerIdType };
      return wanted === null || isSameEmployer(own, wanted) ? [{ linkKey, identity }] : [];
    });
    if (fitting.length <= 1) return fitting[0] ?? null;
    const named = fitting.filter(({ identity }) => identity.registration?.trim() === registration?.trim());
    return named.length === 1 ? named[0]! : null;
  }

  return {
    park,
    giveUp,
    waitingSince: (requestId) => parked.get(requestId)?.since ?? null,
    story: (requestId, until) => {
      const entry = parked.get(requestId);
      if (entry === undefined) return [];
      return [{ kind: 'wait', cause: 'link', count: 1, from: entry.since, until }, ...entry.queries];
    },
    linkKeyOf: (state) => chosen.get(state.requestId) ?? state.request?.linkKey ?? null,
    unpark,
    detailArrived: (told) => {
      const { linkKey } = told.detail;
      if (isAskedFor(told)) tellEnd(linkKey, null);
      const renamed = waitingOtherwise(told);
      for (const requestId of renamed) chosen.set(requestId, linkKey);
      if (renamed.length === 0) tellOfOther(told);
      return [...keysOf(told).flatMap((key) => [...(waitingByKey.get(key) ?? [])]), ...renamed];
    },
    failureArrived: (failure) => {
      const { requestCode } = failure;
      const key = queries.get(requestCode)?.key;
      if (key === undefined) remember(failures, requestCode, reasonOf(failure));
      else tellFailure(reasonOf(failure), key);
    },
    listArrived: (workerKey, links) => {
      const undecidable: RequestId[] = [];
      if (waitingByKey.has(workerKey)) tellEnd(workerKey, null);
      for (const requestId of [...(waitingByKey.get(workerKey) ?? [])]) {
        const entry = parked.get(requestId)!;
        const link = pick(entry.state, workerKey, links);
        if (link === null) {
          undecidable.push(requestId);
          continue;
        }
        wait({ ...entry, key: link.linkKey });
        chosen.set(requestId, link.linkKey);
        askDetail(link.linkKey, link.identity, entry.state.request?.authorisationNumber ?? null);
      }
      return undecidable;
    },
    parkedCount: () => parked.size,
  };
}
