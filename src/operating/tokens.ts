/**
 * Tokens and sessions of the operator API as records: given out or begun, revoked or ended, and who they are of. The secret itself is
 * told once and kept nowhere.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { TokenBook } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { lookAgain } from '../domain/repeated-look.ts';
import { type ApiRole, type Identity, isOwnerName, type TokenEntry, type Via } from '../domain/roles.ts';
import { Fault } from '../errors.ts';

export type TokenParts = { tokenBook: TokenBook; clock: Clock };

/** Days that a token may be valid. */
export const mostTokenDays = 366;
export const usualTokenDays = 90;
const dayMs = 86_400_000;

/** Recognisable where it was pasted by mistake. */
const tokenPrefix = 'lance_';
const secretBytes = 32;
const idBytes = 5;

export type KnownToken = {
  /** `session`: somebody logged in, and a browser has it as a cookie. */
  kind: 'token' | 'session';
  id: string;
  owner: string;
  role: ApiRole;
  createdAt: EpochMs;
  createdBy: string;
  createdVia: Via;
  /** Why it was given out; null: nobody said. */
  reason: string | null;
  expiresAt: EpochMs;
  /** Null: nobody has. */
  revoked: { at: EpochMs; by: string; via: Via; reason: string | null } | null;
};

/** `mark`: of the token that a session was begun with; null: it is a token, or a session of somebody whom a provider knows. */
type Hashed = KnownToken & { sha256: string; mark: string | null };

/** Stands as the issuer of a session that was begun with a token, or with the one that a process has shown at its start. */
type TokenIssuer = 'token' | 'start-token';
const tokenIssuers: readonly string[] = ['token', 'start-token'] satisfies TokenIssuer[];

/** Says which token a session was begun with, to those who have the cookie's secret: by the records alone none can be guessed. */
export function tokenMark(secret: string, tokenSha256: string): string {
  return createHash('sha256').update(`token ${secret} ${tokenSha256}`).digest('base64url');
}

function tokensIn(entries: readonly TokenEntry[]): Hashed[] {
  const tokens = new Map<string, Hashed>();
  for (const entry of entries) {
    const { at, by, via } = entry;
    switch (entry.kind) {
      case 'created':
      case 'session-begun': {
        const { id, owner, role, sha256, expiresAt } = entry;
        const kind = entry.kind === 'created' ? 'token' : 'session';
        const reason = ('reason' in entry ? entry.reason : undefined) ?? null;
        const created = { createdAt: at, createdBy: by, createdVia: via, reason };
        const mark = entry.kind === 'session-begun' && tokenIssuers.includes(entry.issuer) ? entry.subject : null;
        if (!tokens.has(id))
          tokens.set(id, { kind, id, owner, role, sha256, mark, expiresAt, ...created, revoked: null });
        break;
      }
      case 'revoked': {
        const token = tokens.get(entry.id);
        if (token !== undefined) token.revoked ??= { at, by, via, reason: entry.reason ?? null };
        break;
      }
      case 'sessions-ended':
        for (const token of tokens.values())
          if (token.kind === 'session' && token.owner === entry.owner) token.revoked ??= { at, by, via, reason: null };
        break;
      default:
        // Of a later version.
        entry satisfies never;
    }
  }
  return [...tokens.values()];
}

export type TokenOrder = { owner: string; role: ApiRole; days: number; reason?: string | null | undefined };
export type TokenCreated = { kind: 'created'; id: string; token: string; expiresAt: EpochMs };

export async function createToken(
  { tokenBook, clock }: TokenParts,
  who: Identity,
  { owner, role, days, reason }: TokenOrder,
): Promise<TokenCreated> {
  const token = `${tokenPrefix}${randomBytes(secretBytes).toString('base64url')}`;
  const id = randomBytes(idBytes).toString('hex');
  const at = clock.now();
  const expiresAt = at + days * dayMs;
  const sha256 = createHash('sha256').update(token).digest('hex');
  await tokenBook.append({ kind: 'created', id, owner, role, sha256, expiresAt, at, ...who, ...because(reason) });
  return { kind: 'created', id, token, expiresAt };
}

function because(reason: string | null | undefined): { reason?: string } {
  return reason == null ? {} : { reason };
}

/** The latest first. Of sessions those that are not over yet: there is one for each day of each person. */
export async function listTokens({ tokenBook, clock }: TokenParts): Promise<KnownToken[]> {
  const now = clock.now();
  return tokensIn(await tokenBook.read())
    .filter(({ kind, expiresAt }) => kind === 'token' || expiresAt > now)
    .reverse()
    .map(({ sha256: _, mark: __, ...token }) => token);
}

export type RevokeOutcome =
  | { kind: 'revoked'; id: string; owner: string }
  | { kind: 'revoked-before'; id: string; owner: string }
  | { kind: 'token-unknown' };

export async function revokeToken(
  { tokenBook, clock }: TokenParts,
  who: Identity,
  id: string,
  reason: string | null = null,
): Promise<RevokeOutcome> {
  const token = tokensIn(await tokenBook.read()).find((known) => known.id === id);
  if (token === undefined) return { kind: 'token-unknown' };
  const { owner } = token;
  if (token.revoked !== null) return { kind: 'revoked-before', id, owner };
  await tokenBook.append({ kind: 'revoked', id, at: clock.now(), ...who, ...because(reason) });
  return { kind: 'revoked', id, owner };
}

/** `id`: of the log-in. */
export type SessionOrder = {
  id: string;
  owner: string;
  role: ApiRole;
  issuer: string;
  subject: string;
  sessionMs: number;
};
export type SessionBegun =
  | { kind: 'begun'; secret: string; expiresAt: EpochMs }
  /** This log-in was ended before: here, or on another process. */
  | { kind: 'used-before' };

/** True: a session was begun by this log-in already. */
export async function isUsed({ tokenBook }: Pick<TokenParts, 'tokenBook'>, id: string): Promise<boolean> {
  return tokensIn(await tokenBook.read()).some((known) => known.id === id);
}

/** Where two processes begin one at the same time, the log decides which of them did. */
export async function beginSession({ tokenBook, clock }: TokenParts, order: SessionOrder): Promise<SessionBegun> {
  const { sessionMs, ...person } = order;
  if (await isUsed({ tokenBook }, person.id)) return { kind: 'used-before' };
  const secret = randomBytes(secretBytes).toString('base64url');
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const at = clock.now();
  const expiresAt = at + sessionMs;
  await tokenBook.append({ kind: 'session-begun', ...person, sha256, expiresAt, at, by: person.owner, via: 'api' });
  const counted = tokensIn(await tokenBook.read()).find(({ id }) => id === person.id);
  return counted?.sha256 === sha256 ? { kind: 'begun', secret, expiresAt } : { kind: 'used-before' };
}

export type TokenSessionOrder = {
  owner: string;
  role: ApiRole;
  tokenSha256: string;
  sessionMs: number;
  issuer?: TokenIssuer;
};

/** Somebody showed a token, so that a browser need not keep it. The session holds for as long as the token does, at most. */
export async function beginTokenSession(
  { tokenBook, clock }: TokenParts,
  { owner, role, tokenSha256, sessionMs, issuer = 'token' }: TokenSessionOrder,
): Promise<{ secret: string }> {
  const secret = randomBytes(secretBytes).toString('base64url');
  const sha256 = createHash('sha256').update(secret).digest('hex');
  const id = randomBytes(idBytes).toString('hex');
  const at = clock.now();
  const opened = { issuer, subject: tokenMark(secret, tokenSha256), expiresAt: at + sessionMs };
  await tokenBook.append({ kind: 'session-begun', id, owner, role, sha256, ...opened, at, by: owner, via: 'api' });
  return { secret };
}

/** Log-out everywhere: resolves to how many sessions of the person were ended. */
export async function endSessions({ tokenBook, clock }: TokenParts, who: Identity): Promise<number> {
  const at = clock.now();
  const live = tokensIn(await tokenBook.read()).filter(
    ({ kind, owner, revoked, expiresAt }) =>
      kind === 'session' && owner === who.by && revoked === null && expiresAt > at,
  );
  if (live.length > 0) await tokenBook.append({ kind: 'sessions-ended', owner: who.by, at, ...who });
  return live.length;
}

/** What is known of a person, and which of it counts here. */
export type PersonRules = {
  /** The claim that names the person. */
  nameClaim: string;
  rolesClaim: string;
  /** The first whose value a person has counts. */
  roles: readonly { value: string; role: ApiRole }[];
};

export type PersonFound =
  | { kind: 'person'; owner: string; role: ApiRole }
  | { kind: 'name-missing' | 'name-unfit' | 'name-unverified' | 'role-missing' };

/** A claim by its whole name, or by the way to it. */
function claimIn(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let at: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}

/** Name and role of a person, from the claims of the identity provider. */
export function personIn(claims: Readonly<Record<string, unknown>>, rules: PersonRules): PersonFound {
  const owner = claimIn(claims, rules.nameClaim);
  if (typeof owner !== 'string' || owner === '') return { kind: 'name-missing' };
  if (!isOwnerName(owner)) return { kind: 'name-unfit' };
  // An address that nobody confirmed is one that anybody may have written.
  if (rules.nameClaim === 'email' && claims.email_verified === false) return { kind: 'name-unverified' };
  const held = [claimIn(claims, rules.rolesClaim)].flat();
  const found = rules.roles.find(({ value }) => held.includes(value));
  return found === undefined ? { kind: 'role-missing' } : { kind: 'person', owner, role: found.role };
}

/** A token or session as whoever checks callers sees it. */
type TokenAtHand = Pick<Hashed, 'kind' | 'id' | 'owner' | 'role' | 'sha256' | 'mark' | 'expiresAt'> & {
  isRevoked: boolean;
};

export type TokenWatch = {
  /** Reads once; what cannot be read is tried again. */
  start: () => Promise<void>;
  /** Resolves when the reading under way has ended. */
  stop: () => Promise<void>;
  /** Reads now: what was just written counts at once. */
  look: () => Promise<void>;
  tokens: () => readonly TokenAtHand[];
  /** False: nothing was heard for so long that a token may have been revoked unheard. */
  isCurrent: () => boolean;
};

const lookEveryMs = 2_000;
/** A token that was revoked is let in nowhere after this time. */
const revocationMs = 5_000;

/** Keeps what the book says at hand, some two seconds old. `onFault` hears of a book that cannot be read. */
export function watchTokens({ tokenBook, clock }: TokenParts, onFault: (fault: Fault) => void): TokenWatch {
  let known: readonly TokenAtHand[] = [];
  let readAtMs = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    try {
      const found = tokensIn(await tokenBook.read());
      const now = clock.now();
      // A token that has expired is told so; of sessions that are over there are too many to keep.
      known = found
        .filter(({ kind, expiresAt }) => kind === 'token' || expiresAt > now)
        .map(({ kind, id, owner, role, sha256, mark, expiresAt, revoked }) => {
          return { kind, id, owner, role, sha256, mark, expiresAt, isRevoked: revoked !== null };
        });
      // From before the reading: what was revoked while it went on may not be in it.
      readAtMs = Math.max(readAtMs, startedAtMs);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      onFault(fault);
    }
  }

  const looking = lookAgain(clock, lookEveryMs, async () => {
    await look();
    return true;
  });
  return {
    start: looking.start,
    stop: looking.stop,
    look,
    tokens: () => known,
    isCurrent: () => clock.monotonicMs() - readAtMs <= revocationMs,
  };
}
