/**
 * The service over HTTP (port `Service`). A bid's answer is one of three: an outcome, `unknown` (bytes were written and
 * no whole answer came), or `not-landed` (no byte was written, or the service turned it away before reading it). Only
 * what did not land is ever sent again here, and only once, with a renewed token.
 */
import { Pool } from 'undici';
import type { BidAnswer, QueryAnswer, Service } from '../../bidding/ports.ts';
import type { Clock } from '../../domain/clock.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import { bidPath } from '../../wire/bid.ts';
import {
  decodeRequestCode,
  encodeLinkDetailQuery,
  encodeLinkListQuery,
  linkDetailPath,
  linkListPath,
} from '../../wire/link-queries.ts';
import { classifyBidAnswer, type OutcomeTable } from '../../wire/outcomes.ts';
import { type Exchange, exchange, type Post } from './exchange.ts';
import { type ClockSkew, createClockSkew, createNetworkTime, type NetworkTime } from './measures.ts';
import { createTokenKeeper, renewByCommand, type Token, type TokenEvent, type TokenKeeper } from './token.ts';

type Operation = 'bid' | 'link-list' | 'link-detail';

export type ServiceEvent =
  | TokenEvent
  /** One POST is over. `status` is null without an answer; `durationMs` runs from the first byte, null when none was written. */
  | {
      kind: 'exchanged';
      operation: Operation;
      result: Exchange['kind'];
      status: number | null;
      durationMs: number | null;
    }
  /** The answer's Date cannot be used: unreadable, or too far from our clock to be believed. */
  | { kind: 'date-ignored' };

export type ServiceOptions = {
  baseUrl: string;
  accessToken: string | null;
  /** Program and arguments that print a new token; null: nothing to renew. */
  tokenCommand: readonly string[] | null;
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
  networkStartMs: number;
  authorisationTexts: readonly string[];
};

export type ServiceSurroundings = {
  outcomes: OutcomeTable;
  clock: Clock;
  observe: (event: ServiceEvent) => void;
};

/** Queries that may wait for a connection or an answer. */
const queryLimit = 1_000;

/** Retry-After in seconds or as an HTTP date (RFC 9110, section 10.2.3); null when it says nothing. */
function retryTime(header: string | null, now: EpochMs, skewMs: number): EpochMs | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Math.min(now + Number(header) * 1_000, Number.MAX_SAFE_INTEGER);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(now, at - skewMs);
}

function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
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

type Send = (operation: Operation, path: string, body: string, gate: Gate) => Promise<Exchange | null>;

/** What a sender needs beside its options; shared with the port's own questions. */
type Senses = { tokens: TokenKeeper; network: NetworkTime; skew: ClockSkew };

/** Sends with the token at hand, and after a 401 once more with another one. Null: there is no token that works. */
function createSender(
  prefix: string,
  pools: { bids: Pool; queries: Pool },
  longestAnswerMs: number,
  { tokens, network, skew }: Senses,
  { clock, observe }: ServiceSurroundings,
): Send {
  const sendOnce = async (operation: Operation, path: string, body: string, token: Token, gate: Gate) => {
    const result = await exchange(operation === 'bid' ? pools.bids : pools.queries, clock, {
      path: prefix + path,
      authorization: token.header,
      body,
      longestAnswerMs,
      deadlineAt: gate.deadlineAt,
      gate: gate.gate,
    });
    const status = statusOf(result);
    const durationMs = result.kind === 'withheld' ? null : clock.now() - result.writtenAt;
    observe({ kind: 'exchanged', operation, result: result.kind, status, durationMs });
    if (result.kind === 'answered') {
      network.add(result.answeredAt - result.writtenAt);
      const dated = result.date === null || skew.add(result.date, result.writtenAt, result.answeredAt);
      if (!dated) observe({ kind: 'date-ignored' });
      if (status !== 401) tokens.confirmed(token);
    }
    return result;
  };

  return async (operation, path, body, gate) => {
    const token = tokens.current() ?? (await tokens.ready());
    if (token === null) return null;
    const first = await sendOnce(operation, path, body, token, gate);
    if (statusOf(first) !== 401) return first;
    const renewed = await tokens.refused(token);
    if (renewed === null) return null;
    const second = await sendOnce(operation, path, body, renewed, gate);
    if (statusOf(second) !== 401) return second;
    await tokens.refused(renewed);
    return null;
  };
}

function bidAnswerOf(result: Exchange, outcomes: OutcomeTable, now: EpochMs, skewMs: number): BidAnswer {
  if (result.kind === 'withheld') return notLanded(result.reason, null);
  const { response, writtenAt: firstByteAt } = result;
  if (result.kind === 'broken') return { kind: 'unknown', reason: result.reason, response, firstByteAt };
  const { status, body } = result.response;
  if (status === 429) return notLanded('throttled', retryTime(result.retryAfter, now, skewMs));
  const outcome = classifyBidAnswer(outcomes, status, body);
  if (outcome.kind === 'unknown') return { kind: 'unknown', reason: outcome.reason, response, firstByteAt };
  return { kind: 'answered', outcome, response: result.response, firstByteAt };
}

/** The port, and `close`, which ends all connections at once: what is under way then is `unknown` or `unreachable`. */
export function createService(
  options: ServiceOptions,
  surroundings: ServiceSurroundings,
): Service & { close: () => Promise<void> } {
  const { clock, observe, outcomes } = surroundings;
  const { origin, pathname } = new URL(options.baseUrl);
  const bids = poolOf(origin, options, options.connections);
  const queries = poolOf(origin, options, options.queryConnections);
  const network = createNetworkTime(options.networkStartMs);
  const skew = createClockSkew();
  const tokens = createTokenKeeper({
    token: options.accessToken,
    renew: options.tokenCommand === null ? null : renewByCommand(options.tokenCommand, options.tokenCommandTimeoutMs),
    retryMs: options.tokenRetryMs,
    clock,
    observe,
  });
  const longestAnswerMs = options.headersTimeoutMs + options.bodyTimeoutMs;
  const prefix = pathname.replace(/\/+$/, '');
  const send = createSender(prefix, { bids, queries }, longestAnswerMs, { tokens, network, skew }, surroundings);
  const tellsAuthorisationMissing = wordFinder(options.authorisationTexts);
  let openQueries = 0;

  const ask = async (operation: Operation, path: string, body: string | null): Promise<QueryAnswer> => {
    if (body === null) return { kind: 'failed', reason: 'worker-not-identified' };
    if (openQueries >= queryLimit) return { kind: 'failed', reason: 'too-many-queries' };
    openQueries += 1;
    try {
      const result = await send(operation, path, body, { deadlineAt: null, gate: () => null });
      return queryAnswerOf(result, tellsAuthorisationMissing);
    } finally {
      openQueries -= 1;
    }
  };

  return {
    placeBid: async ({ body, deadlineAt, mayWrite }) => {
      if (clock.now() >= deadlineAt) return notLanded('deadline', null);
      const gate = (now: EpochMs) => (now >= deadlineAt ? 'deadline' : mayWrite() ? null : 'stopped');
      const result = await send('bid', bidPath, body, { deadlineAt, gate });
      if (result === null) return notLanded('unauthorised', tokens.blockedUntil());
      return bidAnswerOf(result, outcomes, clock.now(), skew.ms());
    },
    listLinks: (query) => ask('link-list', linkListPath, encodeLinkListQuery(query)),
    askLinkDetail: (query) => ask('link-detail', linkDetailPath, encodeLinkDetailQuery(query)),
    networkP99Ms: network.p99Ms,
    clockSkewMs: skew.ms,
    ready: () => tokens.blockedUntil() === null,
    close: async () => {
      tokens.close();
      await Promise.all([bids.destroy(), queries.destroy()]);
    },
  };
}

type Gate = Pick<Post, 'deadlineAt' | 'gate'>;

/** HTTP/1.1 only and one request at a time on a connection: over HTTP/2 undici repeats refused streams by itself. */
function poolOf(origin: string, options: ServiceOptions, connections: number): Pool {
  return new Pool(origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    connectTimeout: options.connectTimeoutMs,
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
  });
}

function statusOf(result: Exchange): number | null {
  return result.kind === 'answered' ? result.response.status : null;
}

function queryAnswerOf(result: Exchange | null, tellsAuthorisationMissing: (text: string) => boolean): QueryAnswer {
  if (result === null) return { kind: 'failed', reason: 'unauthorised' };
  if (result.kind !== 'answered') return { kind: 'failed', reason: result.reason };
  const { response } = result;
  const requestCode = decodeRequestCode(response.body);
  if (response.status >= 200 && response.status < 300) {
    if (requestCode !== null || !tellsAuthorisationMissing(response.body)) return { kind: 'acknowledged', requestCode };
    return { kind: 'refused', reason: 'authorisation-missing', response };
  }
  if (response.status === 429) return { kind: 'failed', reason: 'throttled' };
  if (response.status < 400 || response.status >= 500) return { kind: 'failed', reason: `status-${response.status}` };
  const reason = tellsAuthorisationMissing(response.body) ? 'authorisation-missing' : 'unclassified';
  return { kind: 'refused', reason, response };
}
