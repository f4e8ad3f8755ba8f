/** Sends with the token at hand, and after a 401 once more with another one where that is wanted; learns from each answer on the way. */
import { hash } from 'node:crypto';
// Loaded whole: with lib/dispatcher/pool.js alone a desk stayed closed after its clock was corrected (test/cli/nights.test.ts). The cause is not known.
import { Pool } from 'undici';
import type { Clock } from '../../domain/clock.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import { isMarkup, writtenIn } from '../../wire/link-queries.ts';
import type { OperationName } from '../../wire/operations.ts';
import { type Exchange, exchange, type Post } from './exchange.ts';
import type { ClockSkew, NetworkTime } from './measures.ts';
import type { Attempt, Token, TokenEvent, TokenKeeper } from './token.ts';

type Operation = 'bid' | 'link-list' | 'link-detail' | 'token' | 'time' | OperationName;

export type ServiceEvent =
  | TokenEvent
  /** One POST is over, or the service was asked for its time and answered. `status` is null without an answer; `durationMs` runs from the first byte, null when none was written. */
  | {
      kind: 'exchanged';
      operation: Operation;
      result: Exchange['kind'];
      status: number | null;
      durationMs: number | null;
    }
  /** The answer's Date cannot be used: unreadable, or too far from our clock to be believed. */
  | { kind: 'date-ignored' };

/** Connections of one purpose to one root: none keeps those of another waiting. */
export type Lane = {
  pool: Pool;
  prefix: string;
  /** The token without `Bearer`: the contract does not show which of the two /FGTS and /Proposta take. */
  bareToken: boolean;
  longestAnswerMs: number;
  longestBodyBytes: number;
  /** Its answers tell how long a first byte takes: short ones only. */
  measured: boolean;
  close: () => Promise<void>;
};

export type LaneOptions = {
  url: string;
  connections: number;
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  bareToken?: boolean;
  longestBodyBytes?: number;
  measured?: boolean;
};

const longestBodyBytes = 65_536;

/** HTTP/1.1 only and one request at a time on a connection: over HTTP/2 undici repeats refused streams by itself. */
export function createLane(options: LaneOptions): Lane {
  const { origin, pathname } = new URL(options.url);
  const { connections, headersTimeoutMs, bodyTimeoutMs } = options;
  const pool = new Pool(origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    connectTimeout: options.connectTimeoutMs,
    headersTimeout: headersTimeoutMs,
    bodyTimeout: bodyTimeoutMs,
  });
  return {
    pool,
    prefix: pathname.replace(/\/+$/, ''),
    bareToken: options.bareToken ?? false,
    longestAnswerMs: headersTimeoutMs + bodyTimeoutMs,
    longestBodyBytes: options.longestBodyBytes ?? longestBodyBytes,
    measured: options.measured ?? false,
    close: () => pool.destroy(),
  };
}

/**
 * `isLast`: asked of an answer that refuses the token, which is renewed all the same. True: it is not sent again here, and the caller
 * decides. Where it is given, every answer that came is handed back.
 */
type Gate = Pick<Post, 'deadlineAt' | 'gate'> & { isLast?: (refused: Exchange) => boolean };

type Letter = { operation: Operation; path: string; body: string; idempotencyKey?: string | null };

/** Null: there is no token that works. */
export type Send = (lane: Lane, letter: Letter, gate: Gate) => Promise<Exchange | null>;

export type Sender = {
  send: Send;
  /** Sends with this token, also while it is refused. */
  show: (lane: Lane, letter: Letter, token: Token) => Promise<'let-in' | 'refused' | null>;
};

/** What a sender needs beside its lanes; shared with the port's own questions. */
export type Senses = { tokens: TokenKeeper; network: NetworkTime; skew: ClockSkew };

export function createSender(
  { tokens, network, skew }: Senses,
  { clock, observe }: { clock: Clock; observe: (event: ServiceEvent) => void },
): Sender {
  const sendOnce = async (lane: Lane, letter: Letter, token: Token, gate: Gate) => {
    const { operation, path, body, idempotencyKey = null } = letter;
    const attempt: Attempt = { sentAtMs: clock.monotonicMs(), subject: () => subjectOf(letter) };
    const result = await exchange(lane.pool, clock, {
      path: lane.prefix + path,
      authorization: lane.bareToken ? token.bare : token.header,
      idempotencyKey,
      body,
      longestAnswerMs: lane.longestAnswerMs,
      longestBodyBytes: lane.longestBodyBytes,
      deadlineAt: gate.deadlineAt,
      gate: gate.gate,
    });
    const status = statusOf(result);
    const durationMs = result.kind === 'withheld' ? null : result.elapsedMs;
    observe({ kind: 'exchanged', operation, result: result.kind, status, durationMs });
    if (result.kind === 'answered') {
      if (lane.measured) network.add(result.roundTripMs);
      const dated =
        result.date === null || skew.add(result.date, result.writtenAt, result.writtenAt + result.roundTripMs);
      if (!dated) observe({ kind: 'date-ignored' });
      // What is in front of the service may fail before it looks at the token.
      if (operation === 'token' ? letsIn(result) : !refusesToken(result) && !isPage(result))
        tokens.confirmed(token, attempt);
    }
    return { result, attempt };
  };

  const show = async (lane: Lane, letter: Letter, token: Token) => {
    const { result } = await sendOnce(lane, letter, token, { deadlineAt: null, gate: () => null });
    if (refusesToken(result)) return 'refused';
    return letsIn(result) ? 'let-in' : null;
  };

  const send: Send = async (lane, letter, gate) => {
    const token = tokens.current() ?? (await tokens.ready());
    if (token === null) return null;
    const first = await sendOnce(lane, letter, token, gate);
    if (!refusesToken(first.result)) return first.result;
    const renewed = await tokens.refused(token, first.attempt);
    if (gate.isLast?.(first.result) === true || (gate.isLast && renewed === null)) return first.result;
    if (renewed === null) return null;
    const second = await sendOnce(lane, letter, renewed, gate);
    if (statusOf(second.result) !== 401) return second.result;
    await tokens.refused(renewed, second.attempt);
    return gate.isLast === undefined ? null : second.result;
  };
  return { send, show };
}

/** The same for each attempt of one request, and no text that names anybody. */
function subjectOf({ operation, path, body }: Letter): string {
  return hash('sha256', `${operation} ${path} ${body}`, 'base64');
}

const tokenTexts = /token de acesso|access[ _]?token|bearer token|invalid_token/;
const refusalTexts = /expir|inv[aá]lid|revog|revok/;
const longestTokenText = 4_000;

/** 401, or a 400 or 403 that says so in words: nothing was done, and a renewed token may help. */
export function refusesToken(result: Exchange): boolean {
  const status = statusOf(result);
  if (status === 401) return true;
  if (result.kind !== 'answered' || (status !== 400 && status !== 403)) return false;
  const text = result.response.body.slice(0, longestTokenText).toLowerCase();
  return tokenTexts.test(text) && refusalTexts.test(text);
}

/**
 * Whether a refusal of the query about nobody leaves open what became of the token: a 403 may be meant for it, and so may a text that
 * speaks of a token.
 */
export function isSilentOnToken({ status, body }: { status: number; body: string }): boolean {
  return status === 403 || (status >= 400 && /\btoken\b/i.test(body.slice(0, longestTokenText)));
}

/** What answers the query about nobody with a page, or with a success that is no JSON, is in front of the service. */
function letsIn(result: Exchange): boolean {
  if (result.kind !== 'answered' || refusesToken(result) || isSilentOnToken(result.response)) return false;
  const { status, body } = result.response;
  const written = writtenIn(body);
  return status !== 429 && status < 500 && written !== 'markup' && (status >= 400 || written === 'json');
}

/** A success that is a page, of a proxy or of maintenance, is not the service's. */
function isPage(result: Exchange): boolean {
  if (result.kind !== 'answered' || result.response.status >= 300) return false;
  return isMarkup(result.response.body);
}

function statusOf(result: Exchange): number | null {
  return result.kind === 'answered' ? result.response.status : null;
}

/** Retry-After in seconds or as an HTTP date (RFC 9110, section 10.2.3); null when it says nothing. */
export function retryTime(header: string | null, now: EpochMs, skewMs: number): EpochMs | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Math.min(now + Number(header) * 1_000, Number.MAX_SAFE_INTEGER);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(now, at - skewMs);
}
