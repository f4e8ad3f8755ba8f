/** Where a process listens, and what to say when it cannot. */
import dns from 'node:dns/promises';
import { isIPv4 } from 'node:net';
import { Fault } from '../errors.ts';

export type Address = { host: string; port: number };

/** What an operator sets to move a listener. */
export type AddressSettings = { host: string; port: string };

/** Where each is served; null: at the common address. Health is served everywhere. */
export type Addresses = { common: Address; webhooks: Address | null; api: Address | null; metrics: Address | null };

export const addressSettings: Readonly<Record<keyof Addresses, AddressSettings>> = {
  common: { host: 'LANCE_HTTP_HOST', port: 'LANCE_HTTP_PORT' },
  webhooks: { host: 'LANCE_WEBHOOK_HOST', port: 'LANCE_WEBHOOK_PORT' },
  api: { host: 'LANCE_API_HOST', port: 'LANCE_API_PORT' },
  metrics: { host: 'LANCE_METRICS_HOST', port: 'LANCE_METRICS_PORT' },
};

/** The settings of a daemon; null is left out. */
type Listening = Record<'host', string> &
  Record<'port', number> &
  Record<'webhookHost' | 'apiHost' | 'metricsHost', string | null> &
  Record<'webhookPort' | 'apiPort' | 'metricsPort', number | null>;

/** Where the server of a daemon with these settings listens. */
export function addressesOf({ http }: { http: Listening }): Addresses {
  const own = (host: string | null, port: number | null) => (port === null ? null : { host: host ?? http.host, port });
  return {
    common: { host: http.host, port: http.port },
    webhooks: own(http.webhookHost, http.webhookPort),
    api: own(http.apiHost, http.apiPort),
    metrics: own(http.metricsHost, http.metricsPort),
  };
}

/** Loopback where it listens everywhere. */
const reachable: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

/** Where whoever is on this machine asks a process that listens there. */
export function reachableUrl({ host, port }: Address): string {
  return `http://${reachable[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}/`;
}

/** As fastify wants them: it knows no network of all addresses, which is the two halves of one. */
export function trustedNetworks(proxies: readonly string[]): string[] {
  return proxies.flatMap((proxy) => {
    const [address = '', bits] = proxy.split('/');
    if (bits === undefined || Number(bits) !== 0) return [proxy];
    return isIPv4(address) ? ['0.0.0.0/1', '128.0.0.0/1'] : ['::/1', '8000::/1'];
  });
}

/**
 * The addresses of a host, the first of which has to be had. `localhost` is two of them on most machines; a server listens on one,
 * so each gets a server of its own, with limits of its own.
 */
export async function hostAddresses(host: string): Promise<[string, ...string[]]> {
  if (host !== 'localhost') return [host];
  const found = await dns.lookup(host, { all: true }).catch(() => []);
  const [first = host, ...others] = new Set(found.map(({ address }) => address));
  return [first, ...others];
}

/** What to throw for the error of a listener: a fault with the setting and the remedy where the system refused the address. */
export function addressFault({ host, port }: Address, settings: AddressSettings, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : null;
  const at = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return new Fault(
        'address-in-use',
        `${settings.port}: ${at} is in use: stop the process that listens there, or set another port.`,
        error,
      );
    case 'EACCES':
      return new Fault(
        'address-unusable',
        `${settings.port}: this user may not listen on ${at}: set a port of 1024 or higher.`,
        error,
      );
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Fault(
        'address-unusable',
        `${settings.host}: ${host} is not an address of this machine (${code}): set one that is, 127.0.0.1 for this machine alone, or 0.0.0.0 for all its addresses.`,
        error,
      );
    default:
      return error;
  }
}
