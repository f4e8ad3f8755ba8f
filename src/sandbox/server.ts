/** The service's HTTP side: stamps and hashes what arrives before any fault, then plays the fault. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Chance, Clock } from '../domain/clock.ts';
import { bidPath } from '../wire/bid.ts';
import { linkDetailPath, linkListPath } from '../wire/link-queries.ts';
import {
  answerToBid,
  answerToContract,
  answerToQuery,
  brokenDown,
  type Reply,
  throttled,
  unauthorised,
} from './answers.ts';
import type { AuctionHouse } from './auction-house.ts';
import { type Bureau, bureauPath } from './bureau.ts';
import type { Contracts } from './contracts.ts';
import {
  type AnswerFault,
  type AnswerFaults,
  answerKinds,
  drawDelay,
  drawFault,
  type FaultSettings,
} from './faults.ts';
import type { Links } from './links.ts';
import { type ArrivedCall, requestIdIn, type SandboxRecord } from './record.ts';
import type { TokenSettings, Tokens } from './tokens.ts';
import { type WithdrawalPath, withdrawalPaths } from './withdrawal-shapes.ts';
import type { Withdrawals } from './withdrawals.ts';

export type AnswerCounts = {
  calls: Record<string, number>;
  /** By kind of outcome of the calls that landed. */
  outcomes: Record<string, number>;
  faults: Record<AnswerFault | 'delay', number>;
};

export type SandboxServer = { http: Server; counts: AnswerCounts };

type Context = {
  house: AuctionHouse;
  links: Links;
  contracts: Contracts;
  withdrawals: Withdrawals;
  withdrawalForm: TokenSettings['withdrawalForm'];
  tokens: Tokens;
  bureau: Bureau;
  faults: FaultSettings;
  clock: Clock;
  chance: Chance;
  record: SandboxRecord;
};

/** Made-up operation of the sandbox alone: the contract does not show how tokens are issued. */
const tokenPath = '/sandbox/token';
/** Made up as well: the link behind the loan of this credit note has ended, so that it can be renegotiated. */
const terminationPath = /^\/sandbox\/terminations\/(\d{1,20})$/;
const maxBodyBytes = 5_000_000;

const contractOperations = {
  '/contrato/oferta-leilao/gerar-contrato': 'generate',
  '/contrato/oferta-leilao/averbar-contrato': 'endorse',
  '/contrato/renegociacao/gerar-contrato': 'renegotiate',
} as const;
const auctionPaths: readonly string[] = [bidPath, linkListPath, linkDetailPath];
const knownPaths = new Set<string>([...auctionPaths, ...Object.keys(contractOperations), ...withdrawalPaths]);

function isContractPath(path: string): path is keyof typeof contractOperations {
  return Object.hasOwn(contractOperations, path);
}

function isWithdrawalPath(path: string): path is WithdrawalPath {
  return (withdrawalPaths as readonly string[]).includes(path);
}

function faultsOf(path: string, { bids, queries, operations }: FaultSettings): AnswerFaults {
  if (path === bidPath) return bids;
  return auctionPaths.includes(path) ? queries : operations;
}

export function createSandboxServer(context: Context): SandboxServer {
  const counts: AnswerCounts = {
    calls: {},
    outcomes: {},
    faults: {
      delay: 0,
      throttled: 0,
      errorBefore: 0,
      errorAfter: 0,
      dropAfter: 0,
      halfOpen: 0,
      garbage: 0,
      unauthorised: 0,
    },
  };
  const http = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]!;
    if (request.method === 'GET' && path === tokenPath) {
      return answer(response, { status: 200, body: JSON.stringify({ token: context.tokens.issue() }) });
    }
    const [, noteNumber] = terminationPath.exec(path) ?? [];
    if (request.method === 'POST' && noteNumber !== undefined) {
      request.resume();
      const isKnown = context.contracts.loans().some((loan) => loan.noteNumber === noteNumber);
      if (isKnown) context.contracts.change(noteNumber, { closedByTermination: true });
      return answer(response, { status: isKnown ? 200 : 404, body: JSON.stringify({ terminated: isKnown }) });
    }
    if (path === bureauPath && request.method === 'POST')
      return collect(request, (bytes) => context.bureau.answer(bytes.toString('utf8'), response));
    if (!knownPaths.has(path) || request.method !== 'POST') return answer(response, { status: 404, body: '{}' });
    collect(request, (bytes) => take(context, counts, path, request, response, bytes));
  });
  http.keepAliveTimeout = 60_000;
  return { http, counts };
}

/** Calls back once the whole body has arrived; a caller that dies before has sent nothing. */
function collect(request: IncomingMessage, done: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBodyBytes) request.destroy();
    else chunks.push(chunk);
  });
  request.on('error', () => {});
  request.on('end', () => done(Buffer.concat(chunks)));
}

/** One call from stamp to answer. Everything up to the answer happens in one turn: the record is complete before the first byte back. */
function take(
  context: Context,
  counts: AnswerCounts,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
): void {
  const stamp = {
    arrivedAt: context.clock.now(),
    arrivedMonotonicMs: performance.now(),
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
  const body = bytes.toString('utf8');
  const faults = faultsOf(path, context.faults);
  const form = isWithdrawalPath(path) ? context.withdrawalForm : 'bearer';
  const authorised = context.tokens.accepts(request.headers.authorization, form);
  const key = request.headers.idempotencykey;
  const idempotencyKey = typeof key === 'string' ? key : undefined;
  const fault = drawFault(answerKinds, faults, context.chance);
  const delayMs = drawDelay(faults, context.chance);
  const landed = authorised && fault !== 'unauthorised' && fault !== 'throttled' && fault !== 'errorBefore';
  const handled = landed ? handle(context, path, body, idempotencyKey) : null;
  const call: ArrivedCall = {
    kind: 'call',
    path,
    requestId: path === bidPath ? requestIdIn(body) : null,
    ...stamp,
    body,
    authorised,
    landed,
    outcome: handled?.outcome ?? null,
    requestCode: handled?.requestCode ?? null,
    fault,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
  context.record.write(call);
  counts.calls[path] = (counts.calls[path] ?? 0) + 1;
  if (handled !== null) counts.outcomes[handled.outcome] = (counts.outcomes[handled.outcome] ?? 0) + 1;
  if (fault !== null) counts.faults[fault] += 1;
  if (delayMs > 0) counts.faults.delay += 1;
  const reply = authorised ? replyOf(path, fault, handled?.reply ?? null) : unauthorised(path);
  const respond = () => finish(response, reply, authorised ? fault : null, faults);
  if (delayMs > 0) context.clock.schedule(context.clock.now() + delayMs, respond);
  else respond();
}

type Handled = { reply: Reply; outcome: string; requestCode: string | null };

function handle(context: Context, path: string, body: string, key: string | undefined): Handled {
  if (path === bidPath) {
    const placed = context.house.place(body);
    const requestCode = 'requestCode' in placed ? placed.requestCode : null;
    return { reply: answerToBid(placed), outcome: placed.kind, requestCode };
  }
  if (isContractPath(path)) {
    const played = context.contracts[contractOperations[path]](body);
    const outcome = played.kind === 'refused' ? played.code : played.kind;
    const requestCode = played.kind === 'refused' ? null : played.requestCode;
    return { reply: answerToContract(path, played), outcome, requestCode };
  }
  if (isWithdrawalPath(path)) {
    const played = context.withdrawals.perform(path, body, key);
    const status = played.outcome === 'invalid' || played.outcome === 'key-missing' ? 400 : 200;
    return { reply: { status, body: played.body }, outcome: played.outcome, requestCode: null };
  }
  const result = context.links.query(path === linkListPath ? linkListPath : linkDetailPath, body);
  const outcome = result.kind === 'acknowledged' ? `acknowledged-${result.source}` : result.kind;
  const requestCode = result.kind === 'acknowledged' ? result.requestCode : null;
  return { reply: answerToQuery(path, result), outcome, requestCode };
}

/** Null: no answer is written. */
function replyOf(path: string, fault: AnswerFault | null, reply: Reply | null): Reply | null {
  switch (fault) {
    case 'throttled':
      return throttled(path);
    case 'unauthorised':
      return unauthorised(path);
    case 'errorBefore':
    case 'errorAfter':
      return brokenDown(path);
    case 'garbage':
      return { status: 200, body: '<html>\u0000 gateway' };
    case 'dropAfter':
    case 'halfOpen':
      return null;
    case null:
      return reply;
    default:
      return fault satisfies never;
  }
}

function finish(response: ServerResponse, reply: Reply | null, fault: AnswerFault | null, faults: AnswerFaults): void {
  if (reply !== null) {
    if (fault === 'throttled') response.setHeader('retry-after', String(faults.retryAfterSeconds));
    answer(response, reply);
  } else if (fault === 'dropAfter') {
    response.socket?.destroy();
  }
}

/** Node adds the Date header. */
function answer(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(reply.body),
  });
  response.end(reply.body);
}
