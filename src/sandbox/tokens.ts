/** Bearer tokens of the worker-credit endpoints; how they are issued and how long they live the contract does not show. */
import type { Chance, Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { uuidOf } from './chance.ts';

export type TokenSettings = {
  /** Good from the start; the others are issued. */
  accessToken: string;
  /** Null: tokens never expire. */
  lifetimeMs: number | null;
};

export const defaultTokens: TokenSettings = { accessToken: 'sandbox-token', lifetimeMs: null };

export type Tokens = {
  issue: () => string;
  /** `header`: the Authorization header as it came. */
  accepts: (header: string | undefined) => boolean;
  /** Every token so far is refused from now on. */
  revokeAll: () => void;
};

export function createTokens(settings: TokenSettings, clock: Clock, chance: Chance): Tokens {
  const issuedAt = new Map<string, EpochMs>([[settings.accessToken, clock.now()]]);
  return {
    issue: () => {
      const token = uuidOf(chance);
      issuedAt.set(token, clock.now());
      return token;
    },
    accepts: (header) => {
      const token = /^Bearer (\S+)$/.exec(header ?? '')?.[1];
      const since = token === undefined ? undefined : issuedAt.get(token);
      if (since === undefined) return false;
      return settings.lifetimeMs === null || clock.now() - since < settings.lifetimeMs;
    },
    revokeAll: () => issuedAt.clear(),
  };
}
