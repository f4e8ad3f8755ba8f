/** What a process answers while it waits for the servers of its store: alive, not ready, the cause, and the alarm as a metric. */
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import type { Fault } from '../errors.ts';
import { type Address, type Addresses, addressFault, addressSettings } from './address.ts';

/** Imported, the module would load Node's own `fetch` beside it, by a name that nobody asks for: a tenth of each start. */
const { createServer } = process.getBuiltinModule('node:http');

/** The code of the alarm. */
export const storeUnreachable = 'store-unreachable';

export type WaitingServer = {
  /** Takes each address and frees it. Rejects with `address-in-use` or `address-unusable` when one cannot be had. */
  check: () => Promise<void>;
  /** Listens at all addresses from the first call on. */
  say: (fault: Fault) => void;
  /** Frees the addresses for the server that follows. */
  close: () => Promise<void>;
};

const metrics = `# HELP lance_alarms_total Alarms raised, by code.
# TYPE lance_alarms_total counter
lance_alarms_total{code="${storeUnreachable}"} 1
`;

const limits = { requestTimeout: 10_000, headersTimeout: 10_000, connectionsCheckingInterval: 1_000 };
const connectionLimit = 1_000;

type Listener = { name: keyof Addresses; address: Address; server: Server };

/** Metrics are served at their own address, if they have one, as by the server that follows. */
export function createWaitingServer(addresses: Addresses): WaitingServer {
  let said: Fault | null = null;
  const answer = (response: ServerResponse, status: number, type: string, body: string): void => {
    response.writeHead(status, { 'content-type': type, 'retry-after': '5', connection: 'close' }).end(body);
  };
  const listeners = (['common', 'webhooks', 'api', 'metrics'] as const).flatMap((name): Listener[] => {
    const address = addresses[name];
    if (address === null) return [];
    const hasMetrics = name === (addresses.metrics === null ? 'common' : 'metrics');
    const server = createServer(limits, (request, response) => {
      const [path] = (request.url ?? '').split('?');
      if (path === '/metrics' && hasMetrics) {
        return answer(response, 200, 'text/plain; version=0.0.4; charset=utf-8', metrics);
      }
      if (path === '/livez') return answer(response, 200, 'application/json', '{"status":"ok"}');
      const body = { status: 'unavailable', code: said?.code, text: said?.message };
      // Webhooks and calls of the API are told to come again; only a reader of readiness is told why.
      answer(response, 503, 'application/json', JSON.stringify(path === '/readyz' ? body : { status: 'unavailable' }));
    });
    server.maxConnections = connectionLimit;
    // Where the address was taken since it was checked, the server that follows says so.
    server.on('error', () => undefined);
    return [{ name, address, server }];
  });
  return {
    check: async () => {
      for (const { name, address } of listeners) {
        const probe = createServer().listen(address.port, address.host);
        try {
          await once(probe, 'listening');
        } catch (error) {
          throw addressFault(address, addressSettings[name], error);
        }
        probe.close();
        await once(probe, 'close');
      }
    },
    say: (fault) => {
      if (said === null) for (const { server, address } of listeners) server.listen(address.port, address.host);
      said = fault;
    },
    close: async () => {
      if (said === null) return;
      const closed = listeners.map(({ server }) => new Promise((resolve) => server.close(resolve)));
      for (const { server } of listeners) server.closeAllConnections();
      await Promise.all(closed);
    },
  };
}
