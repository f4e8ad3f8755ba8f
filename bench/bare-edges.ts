/** What the two bare pipelines share: how they take webhooks and send bids. Imports nothing of ours. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Pool } from 'undici';

const bidPath = '/contrato/oferta-leilao/incluir-lance';

export function bidOf(requestId: string): string {
  const body = {
    numeroSolicitacao: 0,
    dataHoraValidadeLance: '2026-11-22T12:00:00',
    contatos: [{ contato: 'https://parceiro.example/credito', tipo: 0 }],
    valorLiberado: 6500,
    numeroParcelas: 24,
    valorTaxaMensal: 2.89,
  };
  // Ids have up to 19 digits, more than a number keeps.
  return JSON.stringify(body).replace('"numeroSolicitacao":0', `"numeroSolicitacao":${requestId}`);
}

export function createBidSender(pool: Pool): (body: string) => Promise<string> {
  const headers = [
    'authorization',
    'Bearer bench-access-token',
    'content-type',
    'application/json',
    'accept',
    'application/json',
  ];
  return (body) =>
    new Promise((resolve, reject) => {
      let text = '';
      pool.dispatch(
        { method: 'POST', path: bidPath, headers, body },
        {
          onRequestStart: () => undefined,
          onResponseStart: () => undefined,
          onResponseData: (_controller, chunk) => {
            text += chunk.toString();
          },
          onResponseEnd: () => resolve(text),
          onResponseError: (_controller, fault) => reject(fault),
        },
      );
    });
}

export type WebhookHandlers = {
  receive: (ids: readonly string[], requests: readonly unknown[]) => Promise<void>;
  /** Auctions that are over, with their bids. */
  end: (ids: readonly string[], auctions: readonly unknown[]) => Promise<void>;
  /** What became of the bid that was placed under `code`. */
  tell: (kind: 'contemplated' | 'proposed', code: string, event: unknown) => Promise<void>;
};

/** Answers each webhook when what it says is durable; prints the port. */
export function serveWebhooks({ receive, end, tell }: WebhookHandlers): void {
  const take = async (text: string): Promise<void> => {
    const event = JSON.parse(text) as {
      CodigoRequisicao?: string;
      Payload: { Solicitacoes?: { NumeroSolicitacao?: string }[]; conteudo?: unknown };
    };
    const { CodigoRequisicao: code, Payload: payload } = event;
    const { Solicitacoes: requests } = payload;
    if (code !== undefined) return tell(payload.conteudo === undefined ? 'contemplated' : 'proposed', code, event);
    if (requests?.[0]?.NumeroSolicitacao !== undefined) {
      const ids = requests.map(({ NumeroSolicitacao }) => NumeroSolicitacao!);
      return end(ids, requests);
    }
    const ids = [...text.matchAll(/"numeroSolicitacao":(\d+)/g)].map(([, id]) => id!);
    return receive(ids, requests!);
  };
  serveBodies((body) => take(body.toString()));
}

/** Answers each body when `take` is done with it; prints the port. */
export function serveBodies(take: (body: Buffer) => Promise<void>): void {
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void take(Buffer.concat(chunks)).then(() => {
        response.setHeader('content-type', 'application/json');
        response.end('{"status":"taken"}');
      });
    });
  };
  const server = createServer(answer);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`${JSON.stringify({ port: typeof address === 'object' ? address?.port : null })}\n`);
  });
}
