/** What the client's tests share: a scripted HTTP server, a raw TCP server, and a client of either. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../../src/adapters/service/sender.ts';
import { createService, type ServiceOptions } from '../../../src/adapters/service/service.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import type { BidAttempt } from '../../../src/bidding/ports.ts';
import type { Clock } from '../../../src/domain/clock.ts';
import { type OutcomeTable, readOutcomeTable } from '../../../src/wire/outcomes.ts';

function readOutcomes(): OutcomeTable {
  const file = new URL('../../../config/outcomes.json', import.meta.url);
  const result = readOutcomeTable(JSON.parse(readFileSync(file, 'utf8')));
  if (result.kind === 'refused') throw new Error(result.problems.join('\n'));
  return result.table;
}

export const accepted = JSON.stringify({
  CodigoRequisicao: '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
  Origem: '/contrato/oferta-leilao/incluir-lance',
  Conteudo: { CodigoLanceLeilao: '3f2504e0-4f89-11d3-9a0c-0305e82c3301', Mensagem: 'ok' },
});

export type Received = {
  url: string;
  authorization: string;
  contentType: string;
  idempotencyKey: string | null;
  body: string;
};

/** Hears whole requests, then lets `answer` do what it likes with the response. */
export async function startHttp(
  test: TestContext,
  answer: (response: ServerResponse, received: Received, request: IncomingMessage) => void,
): Promise<{ baseUrl: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const { authorization = '', 'content-type': contentType = '' } = request.headers;
      const key = request.headers.idempotencykey;
      const idempotencyKey = typeof key === 'string' ? key : null;
      const one = { url: request.url ?? '', authorization, contentType, idempotencyKey, body };
      received.push(one);
      answer(response, one, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** Counts every byte that arrives; `heard` is called with each piece. */
export async function startTcp(
  test: TestContext,
  heard: (socket: Socket, piece: string, count: number) => void,
): Promise<{ baseUrl: string; bytes: () => number; connections: () => number }> {
  let bytes = 0;
  let connections = 0;
  let pieces = 0;
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (piece) => {
      bytes += piece.length;
      pieces += 1;
      heard(socket, piece.toString('utf8'), pieces);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, bytes: () => bytes, connections: () => connections };
}

export function startClient(
  test: { after: (end: () => unknown) => void },
  baseUrl: string,
  given: Partial<ServiceOptions> = {},
  clock: Clock = createSystemClock(),
): { service: ReturnType<typeof createService>; events: ServiceEvent[] } {
  const events: ServiceEvent[] = [];
  const options: ServiceOptions = {
    baseUrl,
    fgtsUrl: null,
    proposalUrl: null,
    withdrawalAuthorization: 'bearer',
    accessToken: 'first',
    tokenCommand: null,
    tokenCommandVariables: [],
    tokenCommandTimeoutMs: 5_000,
    tokenRetryMs: 30_000,
    connectTimeoutMs: 1_000,
    headersTimeoutMs: 300,
    bodyTimeoutMs: 300,
    connections: 64,
    queryConnections: 4,
    operationConnections: 4,
    operationTimeoutMs: 300,
    idempotentRetries: 2,
    idempotentRetryMs: 10,
    networkStartMs: 50,
    authorisationTexts: ['autorização', 'nsu'],
    authorisationExpiredTexts: ['expirada', 'vencido'],
    ...given,
  };
  const service = createService(options, { outcomes: readOutcomes(), clock, observe: (event) => events.push(event) });
  test.after(() => service.close());
  return { service, events };
}

export function attemptOf(given: Partial<BidAttempt> = {}): BidAttempt {
  return { body: '{"numeroSolicitacao":12}', deadlineAt: Date.now() + 10_000, mayWrite: () => true, ...given };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
