/** Tokens of the operator API as records: given out, revoked, and who they are of. The token itself is told once and kept nowhere. */
import { createHash, randomBytes } from 'node:crypto';
import type { TokenBook } from '../bidding/ports.ts';
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import type { ApiRole, Identity, TokenEntry, Via } from '../domain/roles.ts';
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
  id: string;
  owner: string;
  role: ApiRole;
  createdAt: EpochMs;
  createdBy: string;
  createdVia: Via;
  expiresAt: EpochMs;
  /** Null: nobody has. */
  revoked: { at: EpochMs; by: string; via: Via } | null;
};

type Hashed = KnownToken & { sha256: string };

function tokensIn(entries: readonly TokenEntry[]): Hashed[] {
  const tokens = new Map<string, Hashed>();
  for (const entry of entries) {
    if (entry.kind === 'created') {
      const { id, owner, role, sha256, expiresAt, at, by, via } = entry;
      const created = { createdAt: at, createdBy: by, createdVia: via };
      if (!tokens.has(id)) tokens.set(id, { id, owner, role, sha256, expiresAt, ...created, revoked: null });
      continue;
    }
    const token = tokens.get(entry.id);
    if (token !== undefined && token.revoked === null) token.revoked = { at: entry.at, by: entry.by, via: entry.via };
  }
  return [...tokens.values()];
}

export type TokenOrder = { owner: string; role: ApiRole; days: number };
export type TokenCreated = { kind: 'created'; id: string; token: string; expiresAt: EpochMs };

export async function createToken(
  { tokenBook, clock }: TokenParts,
  who: Identity,
  { owner, role, days }: TokenOrder,
): Promise<TokenCreated> {
  const token = `${tokenPrefix}${randomBytes(secretBytes).toString('base64url')}`;
  const id = randomBytes(idBytes).toString('hex');
  const at = clock.now();
  const expiresAt = at + days * dayMs;
  const sha256 = createHash('sha256').update(token).digest('hex');
  await tokenBook.append({ kind: 'created', id, owner, role, sha256, expiresAt, at, ...who });
  return { kind: 'created', id, token, expiresAt };
}

/** The latest first. */
export async function listTokens({ tokenBook }: Pick<TokenParts, 'tokenBook'>): Promise<KnownToken[]> {
  return tokensIn(await tokenBook.read())
    .reverse()
    .map(({ sha256: _, ...token }) => token);
}

export type RevokeOutcome =
  | { kind: 'revoked'; id: string; owner: string }
  | { kind: 'revoked-before'; id: string; owner: string }
  | { kind: 'token-unknown' };

export async function revokeToken({ tokenBook, clock }: TokenParts, who: Identity, id: string): Promise<RevokeOutcome> {
  const token = tokensIn(await tokenBook.read()).find((known) => known.id === id);
  if (token === undefined) return { kind: 'token-unknown' };
  const { owner } = token;
  if (token.revoked !== null) return { kind: 'revoked-before', id, owner };
  await tokenBook.append({ kind: 'revoked', id, at: clock.now(), ...who });
  return { kind: 'revoked', id, owner };
}

/** A token as whoever checks callers sees it. */
type TokenAtHand = Pick<Hashed, 'id' | 'owner' | 'role' | 'sha256' | 'expiresAt'> & { isRevoked: boolean };

export type TokenWatch = {
  /** Reads once; what cannot be read is tried again. */
  start: () => Promise<void>;
  stop: () => void;
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
  let timer: Timer | null = null;
  let stopped = false;

  async function look(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    try {
      const found = tokensIn(await tokenBook.read());
      known = found.map(({ id, owner, role, sha256, expiresAt, revoked }) => {
        return { id, owner, role, sha256, expiresAt, isRevoked: revoked !== null };
      });
      // From before the reading: what was revoked while it went on may not be in it.
      readAtMs = Math.max(readAtMs, startedAtMs);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      onFault(fault);
    }
  }

  async function lookAndGoOn(): Promise<void> {
    await look();
    if (!stopped) timer = clock.after(lookEveryMs, () => void lookAndGoOn());
  }

  return {
    start: lookAndGoOn,
    stop: () => {
      stopped = true;
      timer?.cancel();
    },
    look,
    tokens: () => known,
    isCurrent: () => clock.monotonicMs() - readAtMs <= revocationMs,
  };
}
