/** Tokens: bearer for worker credit; which form /FGTS and /Proposta take, how tokens are issued and live, the contract does not show. */
import type { Chance, Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { uuidOf } from './chance.ts';

/** How the token of a withdrawal-backed loan's call has to stand in its header. */
export const tokenForms = ['bearer', 'bare', 'either'] as const;
type TokenForm = (typeof tokenForms)[number];

export type TokenSettings = {
  /** Good from the start; the others are issued. */
  accessToken: string;
  /** Null: tokens never expire. */
  lifetimeMs: number | null;
  withdrawalForm: TokenForm;
};

export const defaultTokens: TokenSettings = {
  accessToken: 'sandbox-token',
  lifetimeMs: null,
  withdrawalForm: 'either',
};

export type Tokens = {
  issue: () => string;
  /** `header`: the Authorization header as it came. */
  accepts: (header: string | undefined, form?: TokenForm) => boolean;
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
    accepts: (header, form = 'bearer') => {
      const bearer = /^Bearer (\S+)$/.exec(header ?? '')?.[1];
      const bare = /^\S+$/.exec(header ?? '')?.[0];
      const token = form === 'bearer' ? bearer : form === 'bare' ? bare : (bearer ?? bare);
      const since = token === undefined ? undefined : issuedAt.get(token);
      if (since === undefined) return false;
      return settings.lifetimeMs === null || clock.now() - since < settings.lifetimeMs;
    },
    revokeAll: () => issuedAt.clear(),
  };
}
