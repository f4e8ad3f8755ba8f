/**
 * The service that bids are sent to, as cheap as it can be: reads HTTP/1.1 by hand, checks and counts every body, and
 * answers that the bid is in the auction. It runs in another process than the loop that is measured.
 */
import { createServer, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

/** `arrivedAt`: of the first byte, by `performance.now()`. `code`: the bid's id, and that of the call. */
export type Arrival = {
  arrivedAt: number;
  code: string;
  rateHundredths: number;
  amountCents: number;
  installments: number;
};

export type Sink = {
  url: string;
  /** The bid for each request. */
  arrivals: ReadonlyMap<string, Arrival>;
  /** Bids that are not JSON, name no request, or are not the first for it. */
  faults: () => number;
  /** Hears of each good bid. */
  onBid: (hear: () => void) => void;
  close: () => void;
};

const headerEnd = Buffer.from('\r\n\r\n');
const path = '/contrato/oferta-leilao/incluir-lance';
/** A desk asks for the time once, at its start. */
const timeAsked = Buffer.from('HEAD / HTTP/1.1\r\n');
const wanted = Buffer.from(`POST ${path} HTTP/1.1\r\n`);
/** A desk tries its token once, at its start, by a query that names nobody: taken, and refused for what it lacks. */
const tokenTried = Buffer.from('POST /trabalhador/listar-autorizados HTTP/1.1\r\n');
const tokenTaken = 'HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
const lengthPattern = /\r\ncontent-length: *(\d+)/i;
const idPattern = /"numeroSolicitacao":(\d+)/;

function codeOf(serial: number): string {
  return `00000000-0000-4000-8000-${String(serial).padStart(12, '0')}`;
}

function answerOf(code: string): string {
  const content = { CodigoLanceLeilao: code, Mensagem: 'Lance incluído com sucesso' };
  const body = JSON.stringify({ CodigoRequisicao: code, Origem: path, Conteudo: content });
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** `answerAfterMs`: how long a bid takes at the service. */
export async function startSink(answerAfterMs = 0): Promise<Sink> {
  const arrivals = new Map<string, Arrival>();
  let faults = 0;
  let serial = 0;
  let hear = (): void => undefined;

  const take = (body: string, code: string, arrivedAt: number): void => {
    try {
      const bid = JSON.parse(body) as { valorLiberado?: unknown; valorTaxaMensal?: unknown; numeroParcelas?: unknown };
      const requestId = idPattern.exec(body)?.[1];
      const figures = [bid.valorLiberado, bid.valorTaxaMensal, bid.numeroParcelas].map(Number);
      const whole = figures.every((value) => value > 0);
      if (requestId === undefined || !whole || arrivals.has(requestId)) faults += 1;
      else {
        const [reais, percent, installments] = figures as [number, number, number];
        const rateHundredths = Math.round(percent * 100);
        const amountCents = Math.round(reais * 100);
        arrivals.set(requestId, { arrivedAt, code, rateHundredths, amountCents, installments });
        hear();
      }
    } catch {
      faults += 1;
    }
  };
  /** Takes one whole request off the front; null when there is none yet. */
  const next = (socket: Socket, bytes: Buffer, arrivedAt: number): Buffer | null => {
    const end = bytes.indexOf(headerEnd);
    if (end < 0) return null;
    const length = Number(lengthPattern.exec(bytes.toString('latin1', 0, end))?.[1] ?? Number.NaN);
    const from = end + headerEnd.length;
    if (bytes.compare(timeAsked, 0, timeAsked.length, 0, timeAsked.length) === 0) {
      socket.write(`HTTP/1.1 204 No Content\r\ndate: ${new Date().toUTCString()}\r\n\r\n`);
      return bytes.subarray(from);
    }
    if (bytes.compare(tokenTried, 0, tokenTried.length, 0, tokenTried.length) === 0) {
      if (!(bytes.length >= from + length)) return null;
      socket.write(tokenTaken);
      return bytes.subarray(from + length);
    }
    if (Number.isNaN(length) || bytes.compare(wanted, 0, wanted.length, 0, wanted.length) !== 0) {
      faults += 1;
      socket.destroy();
      return null;
    }
    if (bytes.length < from + length) return null;
    serial += 1;
    const code = codeOf(serial);
    take(bytes.toString('utf8', from, from + length), code, arrivedAt);
    if (answerAfterMs === 0) socket.write(answerOf(code));
    else setTimeout(() => socket.write(answerOf(code)), answerAfterMs);
    return bytes.subarray(from + length);
  };

  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    let held: Buffer = Buffer.alloc(0);
    let firstByteAt = 0;
    sockets.add(socket);
    socket.on('data', (chunk) => {
      const now = performance.now();
      if (held.length === 0) firstByteAt = now;
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      for (let rest = next(socket, held, firstByteAt); rest !== null; rest = next(socket, held, now)) {
        held = rest;
        if (held.length === 0) break;
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the sink has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    arrivals,
    faults: () => faults,
    onBid: (listener) => {
      hear = listener;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
