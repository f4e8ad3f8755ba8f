/** What a process answers while it waits for the servers of its store: alive, not ready, the cause, and the alarm as a metric. */
import { createServer, type ServerResponse } from 'node:http';
import type { Fault } from '../errors.ts';

/** The code of the alarm. */
export const storeUnreachable = 'store-unreachable';

export type WaitingServer = {
  /** Listens from the first call on. */
  say: (fault: Fault) => void;
  /** Frees the address for the server that follows. */
  close: () => Promise<void>;
};

const metrics = `# HELP lance_alarms_total Alarms raised, by code.
# TYPE lance_alarms_total counter
lance_alarms_total{code="${storeUnreachable}"} 1
`;

export function createWaitingServer(address: { host: string; port: number }): WaitingServer {
  let said: Fault | null = null;
  const answer = (response: ServerResponse, status: number, type: string, body: string): void => {
    response.writeHead(status, { 'content-type': type, 'retry-after': '5', connection: 'close' }).end(body);
  };
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '').split('?');
    if (path === '/metrics') return answer(response, 200, 'text/plain; version=0.0.4; charset=utf-8', metrics);
    if (path === '/livez') return answer(response, 200, 'application/json', '{"status":"ok"}');
    const body = { status: 'unavailable', code: said?.code, text: said?.message };
    // Webhooks and calls of the API are told to come again; only a reader of readiness is told why.
    answer(response, 503, 'application/json', JSON.stringify(path === '/readyz' ? body : { status: 'unavailable' }));
  });
  // Where the address is taken, the server that follows says so.
  server.on('error', () => undefined);
  return {
    say: (fault) => {
      if (said === null) server.listen(address.port, address.host);
      said = fault;
    },
    close: async () => {
      if (said === null) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
