/** What is wrong with an address, a secret or a command: null when nothing is. No answer repeats the text it judges. */
import { isIPv4, isIPv6 } from 'node:net';

/** Root of a service: http or https, no credentials, no query. */
export function addressProblem(value: string): string | null {
  if (!URL.canParse(value)) {
    const withScheme = /^[\w.-]+(:\d+)?(\/|$)/.test(value);
    return `is not an address: write it with its scheme, ${withScheme ? 'https:// in front' : 'like https://host/path'}`;
  }
  const url = new URL(value);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must begin with http:// or https://';
  if (url.username !== '' || url.password !== '') {
    return 'carries credentials: take them out; the token belongs in LANCE_ACCESS_TOKEN or LANCE_TOKEN_COMMAND';
  }
  if (url.search !== '' || url.hash !== '') return 'carries a query or a fragment: leave only scheme, host and path';
  return null;
}

export function webhookTokenProblem(value: string): string | null {
  if (!/^[\w.~-]+$/.test(value)) return 'may hold only letters, digits and - . _ ~, for it stands in a path';
  if (value.length < 16) return `has ${value.length} characters: at least 16 needed, or it can be guessed`;
  return value.length > 200 ? `has ${value.length} characters: at most 200` : null;
}

export function pseudonymKeyProblem(value: string): string | null {
  return value.length >= 32
    ? null
    : `has ${value.length} characters: at least 32 needed (for example from: openssl rand -base64 32)`;
}

/**
 * Splits a command as a person writes it: words, with single or double quotes around those with spaces. Nothing is
 * expanded, for no shell runs it. Null when a quote is left open or there is no word.
 */
export function splitCommand(command: string): readonly string[] | null {
  const words: string[] = [];
  let rest = command.trim();
  while (rest !== '') {
    const word = /^(?:[^\s"']+|"[^"]*"|'[^']*')+/.exec(rest)?.[0];
    if (word === undefined) return null;
    words.push(word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
    rest = rest.slice(word.length).trimStart();
  }
  return words.length === 0 ? null : words;
}

export function commandProblem(value: string): string | null {
  return splitCommand(value) === null ? 'cannot be split into words: close every quote' : null;
}

/** Of a variable that a program of the operator is given. */
export function passedVariableProblem(value: string): string | null {
  if (!/^[A-Za-z_]\w*$/.test(value)) return 'is no name of a variable: write letters, digits and _';
  return value.startsWith('LANCE_') ? "is one of the desk's own variables: the program gets none of its secrets" : null;
}

/** `host:port` */
export function brokerProblem(value: string): string | null {
  const port = Number(/^[\w.-]+:(\d{1,5})$/.exec(value)?.[1] ?? 0);
  return port >= 1 && port <= 65_535 ? null : 'is not a broker: write host:port, several separated by commas';
}

/** May carry a password, as Redis writes its addresses. */
export function redisAddressProblem(value: string): string | null {
  const scheme = URL.canParse(value) ? new URL(value).protocol : '';
  return scheme === 'redis:' || scheme === 'rediss:'
    ? null
    : 'is not an address of Redis: write it like redis://host:6379/0, with rediss:// for TLS';
}

/** An IP address, or a network as address/bits. */
export function networkProblem(value: string): string | null {
  const [address = '', bits, ...rest] = value.split('/');
  const most = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  return most > 0 && fits && rest.length === 0
    ? null
    : 'is not an address or a network: write it like 10.0.0.7 or 10.0.0.0/8, several separated by commas';
}
