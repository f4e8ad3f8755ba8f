/**
 * Who calls the operator API: whoever shows a bearer token, or a browser with the cookie of a session. Both are known by their hashes,
 * each with an owner and a role: from the settings, or given out by records. A browser sends its cookie wherever a page makes it, so
 * what changes something has to come from the desk's own pages.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EpochMs } from '../../domain/glossary.ts';
import type { ApiRole, ApiToken, Identity } from '../../domain/roles.ts';
import { startPerson } from '../../operating/start-token.ts';
import { type TokenWatch, tokenMark } from '../../operating/tokens.ts';
import { problem } from './problems.ts';

/** Sessions of people who log in. */
export type SessionSettings = {
  /** Where browsers reach this API; without TLS only on the machine itself. */
  origin: string;
};

/** `name`: the identity. `token`: null for one of the settings. */
export type Caller = {
  name: string;
  role: ApiRole;
  token: { id: string; expiresAt: EpochMs } | null;
  /** Of whom a cookie says it: what has to come with each order; null: a token was shown. */
  csrfToken: string | null;
};

/** What was shown for a login. */
type Look =
  | { kind: 'known'; caller: Caller }
  /** None, or none that was ever given out. */
  | { kind: 'unknown' }
  | { kind: 'expired' | 'revoked'; owner: string }
  /** The cookie of a session that was ended, or of none that is known. */
  | { kind: 'session-over' | 'session-unknown' }
  /** It was given out, and nobody has heard lately whether it was revoked. */
  | { kind: 'unheard' };

export type Guard = {
  /** False while there is no token at all and nobody can log in: then there is no API either. */
  isOpen: () => boolean;
  /** Whether anything was shown at all. */
  isShown: (request: FastifyRequest) => boolean;
  /** Null: no token that is let in. `isWrong`: one was shown that is not known, or no longer. `why`: what is known of it, in words. */
  identify: (request: FastifyRequest) => { caller: Caller | null; isWrong: boolean; why?: string };
  /** For `onRequest`: lets in whoever has one of the roles. */
  only: (...roles: readonly ApiRole[]) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  /** Of a request that was let in. */
  callerOf: (request: FastifyRequest) => Caller;
  identityOf: (request: FastifyRequest) => Identity;
  /** Who asks for a page of the console. A token in a header is nobody there. */
  pageCaller: (request: FastifyRequest) => PageLook;
  /** Ids of the sessions that it is asked with and that still hold. */
  pageSessions: (request: FastifyRequest) => readonly string[];
  /** Whose token was typed into a page, and its hash. */
  tokenHolder: (token: string) => { look: Look; sha256: string };
};

const goneText = { expired: 'has expired', revoked: 'was revoked' };

const everybody: readonly ApiRole[] = ['viewer', 'risk', 'operator', 'admin'];

type Known = { digest: Buffer; look: () => Look };

/** What a page of the console is asked with: the cookie of a session, of whichever kind. */
export type PageLook = { kind: 'known'; caller: Caller & { csrfToken: string } } | Exclude<Look, { kind: 'known' }>;

const sessionName = 'lance_session';
const csrfHeader = 'x-csrf-token';
const digestOf = (text: string) => createHash('sha256').update(text).digest();

/** Only the pages of the desk can read it, and nobody can tell the session by it. */
export function csrfTokenOf(secret: string): string {
  return createHash('sha256').update(`csrf ${secret}`).digest('base64url');
}

/** The value of a cookie of ours; null: it was not sent, or has another form, or more characters than `most`. */
export function cookieIn(request: FastifyRequest, name: string, most = 500): string | null {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (part.slice(0, at).trim() !== name) continue;
    const value = part.slice(at + 1).trim();
    return /^[\w.~/-]+$/.test(value) && value.length <= most ? value : null;
  }
  return null;
}

/**
 * For `set-cookie`. No script reads it, no page of others sends it with an order (`Strict`: with anything), and, where there is TLS,
 * no other host can have set it (`__Host-`). `maxAgeMs` 0 takes it away.
 */
export function cookieOf(
  { origin }: SessionSettings,
  name: string,
  value: string,
  maxAgeMs: number,
  sameSite: 'Lax' | 'Strict' = 'Lax',
): string {
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${cookieName({ origin }, name)}=${value}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${Math.floor(maxAgeMs / 1_000)}${secure}`;
}

export function cookieName({ origin }: SessionSettings, name: string): string {
  return origin.startsWith('https:') ? `__Host-${name}` : name;
}

/** Of sessions that were begun with a token, in a page. */
export const pageSessionName = 'lance_console';

/** For the cookies of pages, which need no settings: they are secure where the settings or the request say https. */
export function pageSettings(request: FastifyRequest, settings: SessionSettings | null): SessionSettings {
  const isSecure = request.protocol === 'https' || settings?.origin.startsWith('https:') === true;
  return { origin: isSecure ? 'https:' : 'http:' };
}

export function sessionCookieName(settings: SessionSettings): string {
  return cookieName(settings, sessionName);
}

function sessionCookie(settings: SessionSettings, secret: string, maxAgeMs: number): string {
  return cookieOf(settings, sessionName, secret, maxAgeMs);
}

/** What the provider said of the person at the log-in: it is shown there again at the log-out, and counts for nothing here. */
const idTokenName = 'lance_id_token';
/** Browsers keep no cookie of more than 4,096 bytes, its name and attributes among them. */
const longestIdToken = 3_800;

/** Cookies that a log-in at the provider leaves: the session and, where a browser keeps it, the ID token. */
export function loginCookies(
  settings: SessionSettings,
  session: { secret: string; idToken: string },
  maxAgeMs: number,
): string[] {
  const kept =
    session.idToken.length <= longestIdToken ? [cookieOf(settings, idTokenName, session.idToken, maxAgeMs)] : [];
  return [sessionCookie(settings, session.secret, maxAgeMs), ...kept];
}

/** Takes them away. */
export function logoutCookies(settings: SessionSettings): string[] {
  return [sessionCookie(settings, '', 0), cookieOf(settings, idTokenName, '', 0)];
}

/** Null: the browser has none. */
export function idTokenIn(request: FastifyRequest, settings: SessionSettings): string | null {
  return cookieIn(request, cookieName(settings, idTokenName), longestIdToken);
}

const reading: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** Why an order with a cookie is not taken for one of the person; null: nothing is against it. */
function strangePage(request: FastifyRequest, csrfToken: string, origin: string): string | null {
  if (reading.includes(request.method)) return null;
  const { origin: from, 'sec-fetch-site': site } = request.headers;
  if ((from !== undefined && from !== origin) || (site !== undefined && site !== 'same-origin'))
    return 'A browser sent this from a page of another address; send it from the pages of this desk.';
  const sent = request.headers[csrfHeader];
  return typeof sent === 'string' && timingSafeEqual(digestOf(sent), digestOf(csrfToken))
    ? null
    : 'With a session each order carries the header X-CSRF-Token: csrfToken of GET /v1/identity.';
}

/** `sessions` null: nobody can log in, and no cookie counts. `spentStartTokens`: see `StartToken`. */
export function createGuard(
  configured: readonly ApiToken[],
  watch: Pick<TokenWatch, 'tokens' | 'isCurrent'>,
  now: () => EpochMs,
  sessions: SessionSettings | null,
  spentStartTokens: () => readonly string[] = () => [],
): Guard {
  const ofSettings = configured.map(({ sha256, name, role }): Known => {
    const look: Look = { kind: 'known', caller: { name, role, token: null, csrfToken: null } };
    return { digest: Buffer.from(sha256, 'hex'), look: () => look };
  });
  const cookie = sessions === null ? null : sessionCookieName(sessions);
  let read: ReturnType<TokenWatch['tokens']> = [];
  let ofBook: readonly Known[] = [];
  let begun: ReadonlyMap<string, (typeof read)[number]> = new Map();
  const looks = new WeakMap<FastifyRequest, Look>();

  function catchUp(): void {
    const tokens = watch.tokens();
    if (tokens === read) return;
    read = tokens;
    begun = new Map(tokens.filter(({ kind }) => kind === 'session').map((session) => [session.sha256, session]));
    ofBook = tokens
      .filter(({ kind }) => kind === 'token')
      .map(({ id, owner: name, role, sha256, expiresAt, isRevoked }): Known => {
        const look = (): Look => {
          if (isRevoked) return { kind: 'revoked', owner: name };
          if (expiresAt <= now()) return { kind: 'expired', owner: name };
          if (!watch.isCurrent()) return { kind: 'unheard' };
          return { kind: 'known', caller: { name, role, token: { id, expiresAt }, csrfToken: null } };
        };
        return { digest: Buffer.from(sha256, 'hex'), look };
      });
  }

  function lookAt(request: FastifyRequest): Look {
    const found = looks.get(request);
    if (found !== undefined) return found;
    catchUp();
    const { authorization } = request.headers;
    const secret = authorization === undefined && cookie !== null ? cookieIn(request, cookie) : null;
    const look = secret === null ? find(authorization) : sessionOf(secret);
    looks.set(request, look);
    return look;
  }

  /** Compares with all of them every time: where a difference lies does not show in the time it takes. */
  function find(header: string | undefined): Look {
    // The name of a scheme is in any case (RFC 9110, 11.1).
    const token = /^bearer +([^\s]{1,500})$/i.exec(header ?? '')?.[1];
    return token === undefined ? { kind: 'unknown' } : holderOf(digestOf(token));
  }

  function holderOf(given: Buffer): Look {
    let found: Known | null = null;
    for (const candidate of [...ofSettings, ...ofBook])
      found = timingSafeEqual(candidate.digest, given) ? candidate : found;
    return found === null ? { kind: 'unknown' } : found.look();
  }

  /** Looked up by its hash: who tries others learns nothing from the time that takes. */
  function sessionOf(secret: string): Look {
    const session = begun.get(digestOf(secret).toString('hex'));
    if (session === undefined) return { kind: 'session-unknown' };
    if (session.isRevoked || session.expiresAt <= now()) return { kind: 'session-over' };
    if (!watch.isCurrent()) return { kind: 'unheard' };
    const { id, owner: name, role, mark, expiresAt } = session;
    const caller = { name, role, token: { id, expiresAt }, csrfToken: csrfTokenOf(secret) };
    return mark === null || isTokenHeld(mark, secret, caller) ? { kind: 'known', caller } : { kind: 'session-over' };
  }

  /** Whether the token that a session was begun with still is one, of the same owner and role, or was that of this start. */
  function isTokenHeld(mark: string, secret: string, { name, role }: Caller): boolean {
    const isOfStart = name === startPerson.owner && role === startPerson.role;
    if (isOfStart && spentStartTokens().some((sha256) => tokenMark(secret, sha256) === mark)) return true;
    return [...ofSettings, ...ofBook].some(({ digest, look }) => {
      const holder = look();
      return (
        holder.kind === 'known' &&
        holder.caller.name === name &&
        holder.caller.role === role &&
        tokenMark(secret, digest.toString('hex')) === mark
      );
    });
  }

  /** A session that is over does not stand before one that is not. A person who logged in counts before a token. */
  function pageLooks(request: FastifyRequest): readonly Look[] {
    catchUp();
    const ofToken = cookieIn(request, cookieName(pageSettings(request, sessions), pageSessionName));
    const ofPerson = cookie && cookieIn(request, cookie);
    return [ofPerson, ofToken].flatMap((secret) => (secret ? [sessionOf(secret)] : []));
  }

  function pageCaller(request: FastifyRequest): PageLook {
    const looks = pageLooks(request);
    const look = looks.find(({ kind }) => kind === 'known') ?? looks[0] ?? ({ kind: 'unknown' } as const);
    if (look.kind !== 'known') return look;
    const { csrfToken, ...caller } = look.caller;
    if (csrfToken === null) throw new Error('a session has no token for its forms');
    return { kind: 'known', caller: { ...caller, csrfToken } };
  }

  function callerOf(request: FastifyRequest): Caller {
    const look = looks.get(request);
    if (look?.kind !== 'known') throw new Error('a request that was not let in has no caller');
    return look.caller;
  }

  return {
    isOpen: () => {
      catchUp();
      return sessions !== null || ofSettings.length > 0 || ofBook.length > 0;
    },
    isShown: (request) =>
      request.headers.authorization !== undefined || (cookie !== null && cookieIn(request, cookie) !== null),
    identify: (request) => {
      const look = lookAt(request);
      return {
        caller: look.kind === 'known' ? look.caller : null,
        // A browser keeps the cookie of a session that was ended elsewhere: it guesses nothing.
        isWrong: look.kind !== 'known' && look.kind !== 'unheard' && look.kind !== 'session-over',
        ...('owner' in look ? { why: `the token of ${look.owner} ${goneText[look.kind]}` } : {}),
      };
    },
    only:
      (...roles) =>
      async (request, reply) => {
        const look = lookAt(request);
        switch (look.kind) {
          case 'unknown':
            return problem(
              reply,
              'unauthorised',
              `Send Authorization: Bearer and a token that is known here${sessions === null ? '' : ', or log in at /v1/login'}.`,
            );
          case 'session-over':
          case 'session-unknown':
            if (sessions !== null) void reply.header('set-cookie', sessionCookie(sessions, '', 0));
            return problem(reply, 'unauthorised', 'This session is over: log in again at /v1/login.');
          case 'expired':
            return problem(reply, 'unauthorised', 'This token has expired: lance tokens create gives out another.');
          case 'revoked':
            return problem(reply, 'unauthorised', 'This token was revoked: lance tokens list says by whom.');
          case 'unheard':
            return problem(
              reply,
              'unavailable',
              'Whether this token or session was revoked cannot be read from the log just now.',
            );
          case 'known': {
            const allowed = roles.length === 0 ? everybody : roles;
            if (!allowed.includes(look.caller.role))
              return problem(reply, 'forbidden', `This is for the roles ${allowed.join(', ')}.`);
            const { csrfToken } = look.caller;
            const strange = csrfToken === null ? null : strangePage(request, csrfToken, sessions!.origin);
            return strange === null ? undefined : problem(reply, 'cross-site', strange);
          }
          default:
            return look satisfies never;
        }
      },
    callerOf,
    pageCaller,
    pageSessions: (request) =>
      pageLooks(request).flatMap((look) => (look.kind === 'known' && look.caller.token ? [look.caller.token.id] : [])),
    tokenHolder: (token) => {
      catchUp();
      const digest = digestOf(token);
      return { look: holderOf(digest), sha256: digest.toString('hex') };
    },
    identityOf: (request) => ({ by: callerOf(request).name, via: 'api' }),
  };
}
