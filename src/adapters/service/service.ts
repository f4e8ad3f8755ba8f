/**
 * The service over HTTP (port `Service`). A bid's answer is one of three: an outcome, `unknown` (bytes were written and
 * no whole answer came), or `not-landed` (no byte was written, or the service turned it away before reading it). Only
 * what did not land is ever sent again here, and only once, with a renewed token.
 */
import { Pool } from 'undici';
import type { BidAnswer, BidAttempt, LinkQuery, QueryAnswer, Service } from '../../bidding/ports.ts';
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
import { type Exchange, exchange } from './exchange.ts';
import { createClockSkew, createNetworkTime } from './measures.ts';
import { createTokenKeeper, renewByCommand, type Token, type TokenEvent } from './token.ts';

export type Operation = 'bid' | 'link-list' | 'link-detail';

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

export function createService(
  options: ServiceOptions,
  { outcomes, clock, observe }: ServiceSurroundings,
): Service & { close: () => Promise<void> } {
  const { origin, pathname } = new URL(options.baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const bids = poolOf(origin, options, options.connections);
  const queries = poolOf(origin, options, options.queryConnections);
  const longestAnswerMs = options.headersTimeoutMs + options.bodyTimeoutMs;
  const network = createNetworkTime(options.networkStartMs);
  const skew = createClockSkew();
  const tokens = createTokenKeeper({
    token: options.accessToken,
    renew: options.tokenCommand === null ? null : renewByCommand(options.tokenCommand, options.tokenCommandTimeoutMs),
    retryMs: options.tokenRetryMs,
    clock,
    observe,
  });
  const tellsAuthorisationMissing = wordFinder(options.authorisationTexts);
  let openQueries = 0;

  /** One POST with the token's bookkeeping: what it taught of clock, network and token. */
  const send = async (
    operation: Operation,
    path: string,
    body: string,
    token: Token,
    gate: Gate,
  ): Promise<Exchange> => {
    const result = await exchange(operation === 'bid' ? bids : queries, clock, {
      path: prefix + path,
      authorization: token.header,
      body,
      longestAnswerMs,
      ...gate,
    });
    const status = result.kind === 'answered' ? result.response.status : null;
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

  /** Sends, and after a 401 once more with another token. Null: there is no token that works. */
  const sendWithToken = async (
    operation: Operation,
    path: string,
    body: string,
    gate: Gate,
  ): Promise<Exchange | null> => {
    const token = tokens.current() ?? (await tokens.ready());
    if (token === null) return null;
    const first = await send(operation, path, body, token, gate);
    if (statusOf(first) !== 401) return first;
    const renewed = await tokens.refused(token);
    if (renewed === null) return null;
    const second = await send(operation, path, body, renewed, gate);
    if (statusOf(second) !== 401) return second;
    await tokens.refused(renewed);
    return null;
  };

  const placeBid = async ({ body, deadlineAt, mayWrite }: BidAttempt): Promise<BidAnswer> => {
    const gate: Gate = {
      deadlineAt,
      gate: () => (clock.now() >= deadlineAt ? 'deadline' : mayWrite() ? null : 'stopped'),
    };
    if (clock.now() >= deadlineAt) return notLanded('deadline', null);
    const result = await sendWithToken('bid', bidPath, body, gate);
    if (result === null) return notLanded('unauthorised', tokens.blockedUntil());
    if (result.kind === 'withheld') return notLanded(result.reason, null);
    const { response, writtenAt: firstByteAt } = result;
    if (result.kind === 'broken') return { kind: 'unknown', reason: result.reason, response, firstByteAt };
    if (result.response.status === 429) {
      return notLanded('throttled', retryTime(result.retryAfter, clock.now(), skew.ms()));
    }
    const outcome = classifyBidAnswer(outcomes, result.response.status, result.response.body);
    if (outcome.kind === 'unknown') return { kind: 'unknown', reason: outcome.reason, response, firstByteAt };
    return { kind: 'answered', outcome, response: result.response, firstByteAt };
  };

  const ask = async (operation: Operation, path: string, body: string | null): Promise<QueryAnswer> => {
    if (body === null) return { kind: 'failed', reason: 'worker-not-identified' };
    if (openQueries >= queryLimit) return { kind: 'failed', reason: 'too-many-queries' };
    openQueries += 1;
    try {
      const result = await sendWithToken(operation, path, body, { deadlineAt: null, gate: () => null });
      return queryAnswerOf(result, tellsAuthorisationMissing);
    } finally {
      openQueries -= 1;
    }
  };

  return {
    placeBid,
    listLinks: (query: LinkQuery) => ask('link-list', linkListPath, encodeLinkListQuery(query)),
    askLinkDetail: (query: LinkQuery) => ask('link-detail', linkDetailPath, encodeLinkDetailQuery(query)),
    networkP99Ms: network.p99Ms,
    clockSkewMs: skew.ms,
    ready: () => tokens.blockedUntil() === null,
    close: async () => {
      tokens.close();
      await Promise.all([bids.destroy(), queries.destroy()]);
    },
  };
}

type Gate = { deadlineAt: EpochMs | null; gate: () => 'deadline' | 'stopped' | null };

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
