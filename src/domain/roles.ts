/** Who may do what through the operator API, and how people are known. */
import type { EpochMs } from './glossary.ts';

/**
 * `viewer` reads what names no person. `risk` reads that and every decision. `operator` begins flows, takes steps, sees the
 * answers of the flows and asks for margins. `admin` may do all of it, and has dead letters read again.
 */
export const apiRoles = ['viewer', 'risk', 'operator', 'admin'] as const;
export type ApiRole = (typeof apiRoles)[number];

/** Those who see what names a person, or may. */
export const seeingPersons: readonly ApiRole[] = ['operator', 'admin'];

/** `sha256`: of the token's bytes, in hex. The token itself is nowhere. */
export type ApiToken = { name: string; role: ApiRole; sha256: string };

/**
 * How somebody who ordered something is known: `api` by a token of the operator API or by a log-in, `offline` by a name that was
 * typed beside the store. What was written before this was kept has neither.
 */
export type Via = 'api' | 'offline';

/** Who orders: the owner of a token, the person who logged in, or the name that was typed. */
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
      /** Where somebody said why. */
      reason?: string;
    }
  /** A token, or a session, is let in no more. */
  | { kind: 'revoked'; id: string; at: EpochMs; by: string; via: Via; reason?: string }
  /** Somebody logged in. `id` is of the log-in that was begun, so that it counts once: later entries with it mean nothing. */
  | {
      kind: 'session-begun';
      id: string;
      /** The person: the identity of what is ordered in the session. */
      owner: string;
      role: ApiRole;
      /** Of what the cookie holds, in hex. */
      sha256: string;
      expiresAt: EpochMs;
      /** Who says so, and what that provider calls the person; `token`: a token was shown, and the subject says which. */
      issuer: string;
      subject: string;
      at: EpochMs;
      by: string;
      via: Via;
    }
  /** All sessions of a person that were begun before. */
  | { kind: 'sessions-ended'; owner: string; at: EpochMs; by: string; via: Via };

/** Whose session the token of a start opens: nobody else has this name. */
export const startOwner = 'local';

/** Letters, digits and . _ @ -, at most 60: what a person or program may be called in records, `startOwner` aside. */
export const ownerForm = /^[A-Za-zÀ-ÖØ-öø-ÿ\d._@-]{1,60}$/;

/** What is not seen, or changes how the rest is seen. */
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/u;
const unseens = new RegExp(unseen, 'gu');

/** Names are compared as four eyes compare them, which do not tell I, 1 and | from l. */
export function isStartOwner(name: string): boolean {
  const seen = name.normalize('NFKC').replaceAll(unseens, '').trim();
  const plain = seen.replaceAll(/[I1|]/g, 'l').replaceAll('0', 'o').toLowerCase();
  return plain === startOwner;
}

/** Whether a token may be of somebody called so. */
export function isOwnerName(name: string): boolean {
  return ownerForm.test(name) && !isStartOwner(name);
}

/**
 * Whether a name may be taken for another one: it has characters that cannot be seen, or Latin letters and those of another script, many of which
 * look alike. Look-alikes that are of one script altogether are not known here.
 */
export function isUnclearName(name: string): boolean {
  const plain = name.normalize('NFKC');
  const hasForeign = /(?![\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}])\p{L}/u.test(plain);
  return unseen.test(name) || (hasForeign && /\p{Script=Latin}/u.test(plain));
}
