/** Counts requests without a valid token by address. Each address gets few answers; requests with a token have no such limit. */
import { isIPv6 } from 'node:net';

export type VisitorLimits = {
  /** Of one address in a minute. */
  tokenlessRequestsPerMinute: number;
  failedLoginsPerMinute: number;
};

/** `answered`: as usual. `first-refused`: the limit is reached with this one. `refused`: it was reached before. */
type Admission = 'answered' | 'first-refused' | 'refused';

export type Visitors = {
  /** A request without a token. */
  came: (address: string) => Admission;
  /** A request with a token that is not known; counts as a request without one too. */
  failed: (address: string) => Admission;
  /** Addresses that are remembered. */
  size: () => number;
};

type Visits = { since: number; requests: number; logins: number };

const minuteMs = 60_000;
/** When there are more, the one that came first is forgotten. */
const maxAddresses = 10_000;

/** `monotonicMs` never goes back. */
export function createVisitors(limits: VisitorLimits, monotonicMs: () => number): Visitors {
  const known = new Map<string, Visits>();

  function visitsOf(address: string): Visits {
    const key = addressKey(address);
    const now = monotonicMs();
    const found = known.get(key);
    if (found !== undefined && now - found.since < minuteMs) return found;
    known.delete(key);
    const oldest = known.keys().next().value;
    if (known.size >= maxAddresses && oldest !== undefined) known.delete(oldest);
    const fresh = { since: now, requests: 0, logins: 0 };
    known.set(key, fresh);
    return fresh;
  }

  const admission = (count: number, limit: number): Admission =>
    count <= limit ? 'answered' : count === limit + 1 ? 'first-refused' : 'refused';

  return {
    came: (address) => {
      const visits = visitsOf(address);
      visits.requests += 1;
      return admission(visits.requests, limits.tokenlessRequestsPerMinute);
    },
    failed: (address) => {
      const visits = visitsOf(address);
      visits.requests += 1;
      visits.logins += 1;
      const byLogins = admission(visits.logins, limits.failedLoginsPerMinute);
      return byLogins === 'answered' ? admission(visits.requests, limits.tokenlessRequestsPerMinute) : byLogins;
    },
    size: () => known.size,
  };
}

const longestAddress = 45;
const mapped = '::ffff:';

/** An IPv4 address is itself; of IPv6 the network of 64 bits counts, for that is what one customer gets. */
export function addressKey(address: string): string {
  if (address.length > longestAddress) return 'none';
  const lower = address.toLowerCase();
  if (lower.startsWith(mapped) && lower.includes('.')) return lower.slice(mapped.length);
  if (!isIPv6(lower)) return lower;
  const [head = '', tail] = (lower.split('%')[0] ?? '').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const filled = tail === undefined ? left : [...left, ...Array(Math.max(0, 8 - left.length - right.length)).fill('0')];
  const groups = [...filled, ...right].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''));
  return `${groups.join(':')}::/64`;
}
