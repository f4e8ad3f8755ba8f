/** Port: an OpenID provider that says who somebody is. */

/** Where a browser comes back to, under the address of the desk; registered at the provider. */
export const loginCallbackPath = '/v1/login/callback';

/** What a log-in was begun with: only whoever has all three can end it. Texts of 43 characters or more, base64url. */
export type LoginChecks = { state: string; nonce: string; verifier: string };

/** `why`: for people, without anything that was sent. */
export type ProviderSilence = { kind: 'unreachable'; why: string };

export type LoginAnswer =
  /**
   * `subject` names the person at the provider, for ever; `claims`: all that it says of the person. `idToken`: as it was signed (a JWT
   * in its compact form).
   */
  | { kind: 'person'; issuer: string; subject: string; claims: Readonly<Record<string, unknown>>; idToken: string }
  /**
   * `denied`: the provider let the person not in. `response-refused`: what came back is not an answer to this log-in. `code-refused`: the
   * code was used before, or is not known. `id-token-refused`: issuer, audience, times, nonce or signature are not as they must be.
   */
  | { kind: 'refused'; reason: 'denied' | 'response-refused' | 'code-refused' | 'id-token-refused'; why: string }
  | ProviderSilence;

export type IdentityProvider = {
  /** Where a browser goes to log in. */
  addressFor: (checks: LoginChecks) => Promise<{ kind: 'address'; address: string } | ProviderSilence>;
  /** `query`: what the browser came back with, from its question mark on. Never rejects. */
  personOf: (query: string, checks: LoginChecks) => Promise<LoginAnswer>;
  /**
   * Where a browser ends its log-in at the provider too (OpenID Connect RP-Initiated Logout 1.0); null: the provider does not say, or
   * does not answer. `idToken`: of that log-in; null: it is not at hand, and the provider asks whom to log out.
   */
  endAddress: (idToken: string | null) => Promise<string | null>;
};
