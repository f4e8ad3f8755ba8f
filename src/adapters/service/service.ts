/**
 * The service over HTTP (ports `Service` and `LoanService`). A bid's answer is one of three: an outcome, `unknown` (bytes were written and
 * no whole answer came), or `not-landed` (no byte was written, or the service turned it away before reading it). Only
 * what did not land is ever sent again here, and only once, with a renewed token.
 */
import { AssertionError } from 'node:assert';
import type { BidAnswer, QueryAnswer, QueryRefusal, Service, TimeAnswer } from '../../bidding/ports.ts';
import type { Clock } from '../../domain/clock.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import { refusedInDoubt } from '../../domain/offer.ts';
import type { LoanService } from '../../origination/ports.ts';
import { withoutAccents } from '../../wire/accents.ts';
import { bidPath } from '../../wire/bid.ts';
import {
  decodeRequestCode,
  encodeLinkDetailQuery,
  encodeLinkListQuery,
  linkDetailPath,
  linkListPath,
  reportsErrors,
  tokenQuery,
  writtenIn,
} from '../../wire/link-queries.ts';
import { isDetailOf } from '../../wire/links.ts';
import { type OutcomeTable, readBidAnswer } from '../../wire/outcomes.ts';
import type { Exchange } from './exchange.ts';
import { createClockSkew, createNetworkTime } from './measures.ts';
import { createOperations } from './operations.ts';
import { createLane, createSender, isSilentOnToken, retryTime, type ServiceEvent } from './sender.ts';
import { createTokenKeeper, renewByCommand } from './token.ts';

export type ServiceOptions = {
  baseUrl: string;
  /** Null: the operations of this root are not used. */
  fgtsUrl: string | null;
  proposalUrl: string | null;
  /** How the token stands in the header of these two: the contract does not show it. */
  withdrawalAuthorization: 'bearer' | 'bare';
  accessToken: string | null;
  /** Program and arguments that print a new token; null: nothing to renew. */
  tokenCommand: readonly string[] | null;
  /** Names of variables that it gets beside PATH and HOME. */
  tokenCommandVariables: readonly string[];
  tokenCommandTimeoutMs: number;
  /** Pause before a refused token is renewed or tried again. */
  tokenRetryMs: number;
  connectTimeoutMs: number;
  /** From the written request to the headers of the answer. */
  headersTimeoutMs: number;
  /** Between two pieces of the answer's body. */
  bodyTimeoutMs: number;
  connections: number;
  /** Link queries have connections of their own: they never keep a bid waiting. */
  queryConnections: number;
  /** For each root of the operations after a bid. */
  operationConnections: number;
  /** Headers timeout of these operations: they may take longer than a bid. */
  operationTimeoutMs: number;
  /** Further attempts, with the same bytes and key, where an answer is unknown and the contract has a key. */
  idempotentRetries: number;
  idempotentRetryMs: number;
  networkStartMs: number;
  authorisationTexts: readonly string[];
  authorisationExpiredTexts: readonly string[];
};

export type ServiceSurroundings = {
  outcomes: OutcomeTable;
  clock: Clock;
  observe: (event: ServiceEvent) => void;
};

/** A service that takes longer to tell the time does not tell it well enough. */
const timeAnswerMs = 2_000;

/** Queries that may wait for a connection or an answer. */
const queryLimit = 1_000;

function fold(text: string): string {
  return withoutAccents(text).toLowerCase();
}

/** Finds whole words only: "nsu" must not be found in "consulta". */
function wordFinder(texts: readonly string[]): (text: string) => boolean {
  if (texts.length === 0) return () => false;
  const escaped = texts.map((text) => RegExp.escape(fold(text)));
  const pattern = new RegExp(`(?<![\\p{L}\\d])(?:${escaped.join('|')})(?![\\p{L}\\d])`, 'u');
  return (text) => pattern.test(fold(text));
}

function notLanded(reason: Extract<BidAnswer, { kind: 'not-landed' }>['reason'], retryAt: EpochMs | null): BidAnswer {
  return { kind: 'not-landed', reason, retryAt };
}

function bidAnswerOf(result: Exchange, outcomes: OutcomeTable, now: EpochMs, skewMs: number): BidAnswer {
  if (result.kind === 'withheld') return notLanded(result.reason, null);
  const { response, writtenAt: firstByteAt } = result;
  if (result.kind === 'broken') return { kind: 'unknown', reason: result.reason, response, firstByteAt };
  const { status, body } = result.response;
  if (status === 429) return notLanded('throttled', retryTime(result.retryAfter, now, skewMs));
  const { outcome, codes, isHarmless } = readBidAnswer(outcomes, status, body);
  const told = { codes, response: result.response, firstByteAt };
  if (outcome.kind !== 'unknown') return { kind: 'answered', outcome, isHarmless, ...told };
  const { reason } = outcome;
  if (reason === refusedInDoubt) return { kind: 'answered', outcome: { kind: 'unknown', reason }, ...told };
  return { kind: 'unknown', reason, ...told };
}

/**
 * The ports, and `close`, which ends all connections at once: what is under way then is `unknown` or `unreachable`. `answeredAt`: when
 * anything at all was last answered, also with a refusal; null: not yet. `answeredStatus`: with which HTTP status.
 */
export function createService(
  options: ServiceOptions,
  surroundings: ServiceSurroundings,
): Service &
  LoanService & { answeredAt: () => EpochMs | null; answeredStatus: () => number | null; close: () => Promise<void> } {
  const { clock, outcomes } = surroundings;
  // Monotonic: how long ago that was does not change with the time of day.
  let answeredAtMs: number | null = null;
  let answeredStatus: number | null = null;
  const observe = (event: ServiceEvent) => {
    if (event.kind === 'exchanged' && event.status !== null) {
      answeredAtMs = clock.monotonicMs();
      answeredStatus = event.status;
    }
    surroundings.observe(event);
  };
  const lanes = createLanes(options);
  const network = createNetworkTime(options.networkStartMs);
  const skew = createClockSkew(clock.offsetMs);
  const tokens = createTokenKeeper({
    token: options.accessToken,
    renew:
      options.tokenCommand === null
        ? null
        : renewByCommand(options.tokenCommand, options.tokenCommandTimeoutMs, options.tokenCommandVariables),
    retryMs: options.tokenRetryMs,
    clock,
    observe,
    show: (token) => show(lanes.queries, { operation: 'token', path: linkListPath, body: tokenQuery }, token),
  });
  const { send, show } = createSender({ tokens, network, skew }, { clock, observe });
  const reasonIn = authorisationReader(options);
  let openQueries = 0;

  /** Whatever is answered at the root tells the time; nothing is asked of the contract, and no token is shown. */
  const askTime = async (): Promise<TimeAnswer> => {
    const { pool, prefix } = lanes.queries;
    const writtenAt = clock.now();
    const writtenAtMs = clock.monotonicMs();
    try {
      const timeouts = { headersTimeout: timeAnswerMs, bodyTimeout: timeAnswerMs };
      const signal = AbortSignal.timeout(timeAnswerMs);
      const answer = await pool.request({ method: 'HEAD', path: `${prefix}/`, signal, ...timeouts });
      const durationMs = clock.monotonicMs() - writtenAtMs;
      observe({ kind: 'exchanged', operation: 'time', result: 'answered', status: answer.statusCode, durationMs });
      await answer.body.dump();
      const { date } = answer.headers;
      const answeredAt = writtenAt + (clock.monotonicMs() - writtenAtMs);
      const { statusCode: status } = answer;
      if (typeof date !== 'string' || Number.isNaN(Date.parse(date))) return { kind: 'untold', status };
      skew.add(date, writtenAt, answeredAt);
      const skewMs = skew.latestMs();
      return skewMs === null ? { kind: 'untold', status } : { kind: 'told', skewMs, status };
    } catch {
      return { kind: 'unanswered' };
    }
  };

  const ask = async (
    operation: 'link-list' | 'link-detail' | 'token',
    path: string,
    write: () => string | null,
  ): Promise<QueryAnswer> => {
    let body: string | null;
    try {
      body = write();
    } catch (fault) {
      if (fault instanceof AssertionError) throw fault;
      // Messages of the engine may quote what is asked with; ours do not.
      const isOurs = fault instanceof RangeError;
      return { kind: 'unwritable', problem: isOurs ? fault.message : 'what it is asked with does not make a query' };
    }
    if (body === null) return { kind: 'failed', reason: 'worker-not-identified' };
    if (openQueries >= queryLimit) return { kind: 'failed', reason: 'too-many-queries' };
    openQueries += 1;
    try {
      const result = await send(lanes.queries, { operation, path, body }, { deadlineAt: null, gate: () => null });
      const answer = queryAnswerOf(result, reasonIn);
      return operation === 'token' ? probeAnswerOf(answer) : answer;
    } finally {
      openQueries -= 1;
    }
  };
  const { perform } = createOperations({
    send,
    lanes,
    blockedUntil: tokens.blockedUntil,
    skewMs: skew.ms,
    clock,
    settings: { retries: options.idempotentRetries, pauseMs: options.idempotentRetryMs },
  });

  return {
    placeBid: async ({ body, deadlineAt, mayWrite }) => {
      if (clock.now() >= deadlineAt) return notLanded('deadline', null);
      const gate = (now: EpochMs) => (now >= deadlineAt ? 'deadline' : mayWrite() ? null : 'stopped');
      const result = await send(lanes.bids, { operation: 'bid', path: bidPath, body }, { deadlineAt, gate });
      if (result === null) return notLanded('unauthorised', tokens.blockedUntil());
      return bidAnswerOf(result, outcomes, clock.now(), skew.ms());
    },
    listLinks: (query) => ask('link-list', linkListPath, () => encodeLinkListQuery(query)),
    askLinkDetail: (query) => ask('link-detail', linkDetailPath, () => encodeLinkDetailQuery(query)),
    askToken: () => ask('token', linkListPath, () => tokenQuery),
    refusalIn: (text) => reasonIn(text) ?? 'unclassified',
    isDetailOf,
    perform,
    networkP99Ms: network.p99Ms,
    clockSkewMs: skew.ms,
    latestSkewMs: skew.latestMs,
    skewBelieved: skew.isBelieved,
    askTime,
    ready: () => tokens.blockedUntil() === null,
    answeredAt: () => (answeredAtMs === null ? null : Math.round(clock.now() - (clock.monotonicMs() - answeredAtMs))),
    answeredStatus: () => answeredStatus,
    close: async () => {
      tokens.close();
      await Promise.all(Object.values(lanes).map((lane) => lane?.close()));
    },
  };
}

const longestOperationAnswer = 4_194_304;

function createLanes(options: ServiceOptions) {
  const { baseUrl, fgtsUrl, proposalUrl, connections, queryConnections } = options;
  const slow = {
    ...options,
    connections: options.operationConnections,
    headersTimeoutMs: options.operationTimeoutMs,
    longestBodyBytes: longestOperationAnswer,
  };
  const bareToken = options.withdrawalAuthorization === 'bare';
  return {
    bids: createLane({ ...options, url: baseUrl, connections, measured: true }),
    // Link queries have connections of their own: they never keep a bid waiting.
    queries: createLane({ ...options, url: baseUrl, connections: queryConnections, measured: true }),
    base: createLane({ ...slow, url: baseUrl }),
    fgts: fgtsUrl === null ? null : createLane({ ...slow, url: fgtsUrl, bareToken }),
    proposal: proposalUrl === null ? null : createLane({ ...slow, url: proposalUrl, bareToken }),
  };
}

/** What is refused for the worker's authorisation was read, whatever its status; other refusals may be meant for the token. */
function probeAnswerOf(answer: QueryAnswer): QueryAnswer {
  const isOpen = answer.kind === 'refused' && answer.reason === 'unclassified' && isSilentOnToken(answer.response);
  return isOpen ? { ...answer, isDoubtful: true } : answer;
}

/** Why a query was refused, if it was for the worker's authorisation. */
type ReasonIn = (text: string) => Exclude<QueryRefusal, 'unclassified'> | null;

function authorisationReader(options: ServiceOptions): ReasonIn {
  const tellsAuthorisation = wordFinder(options.authorisationTexts);
  const tellsExpired = wordFinder(options.authorisationExpiredTexts);
  return (text) => {
    if (!tellsAuthorisation(text)) return null;
    return tellsExpired(text) ? 'authorisation-expired' : 'authorisation-missing';
  };
}

function queryAnswerOf(result: Exchange | null, reasonIn: ReasonIn): QueryAnswer {
  if (result === null) return { kind: 'failed', reason: 'unauthorised' };
  if (result.kind !== 'answered') return { kind: 'failed', reason: result.reason };
  const { response } = result;
  const requestCode = decodeRequestCode(response.body);
  const reason = reasonIn(response.body);
  const written = writtenIn(response.body);
  if (response.status >= 200 && response.status < 300) {
    if (written === 'markup') return { kind: 'failed', reason: 'unreadable-success' };
    if (reportsErrors(response.body)) return { kind: 'refused', reason: reason ?? 'unclassified', response };
    return requestCode !== null || reason === null
      ? { kind: 'acknowledged', requestCode, ...(written === 'json' ? {} : { isDoubtful: true }) }
      : { kind: 'refused', reason, response };
  }
  if (response.status === 429) return { kind: 'failed', reason: 'throttled' };
  if (response.status < 400 || response.status >= 500) return { kind: 'failed', reason: `status-${response.status}` };
  const doubt = written === 'markup' ? { isDoubtful: true as const } : {};
  return { kind: 'refused', reason: reason ?? 'unclassified', response, ...doubt };
}
