/** Who may do what through the operator API, and how people are known. */
import type { EpochMs } from './glossary.ts';

/**
 * `viewer` reads what names no person. `risk` reads that and every decision. `operator` begins flows, takes steps, sees the
 * answers of the flows and asks for margins. `admin` may do all of it, and has dead letters read again.
 */
export const apiRoles = ['viewer', 'risk', 'operator', 'admin'] as const;
export type ApiRole = (typeof apiRoles)[number];

/** `sha256`: of the token's bytes, in hex. The token itself is nowhere. */
export type ApiToken = { name: string; role: ApiRole; sha256: string };

/**
 * How somebody who ordered something is known: `api` by a token of the operator API, `offline` by a name that was typed beside the
 * store. What was written before this was kept has neither.
 */
export type Via = 'api' | 'offline';

/** Who orders: the owner of a token, or the name that was typed. */
export type Identity = { by: string; via: Via };

/** What became of an API token; the token itself is nowhere. `id` names it to people. */
export type TokenEntry =
  | {
      kind: 'created';
      id: string;
      /** The person or program that has it: the identity of what is ordered with it. */
      owner: string;
      role: ApiRole;
      /** Of the token's bytes, in hex. */
      sha256: string;
      expiresAt: EpochMs;
      at: EpochMs;
      by: string;
      via: Via;
    }
  | { kind: 'revoked'; id: string; at: EpochMs; by: string; via: Via };
