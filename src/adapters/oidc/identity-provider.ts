/**
 * An OpenID provider (OpenID Connect Core 1.0; authorisation code with PKCE, RFC 7636). The library checks what comes back: state,
 * issuer (RFC 9207), nonce, audience, times and algorithm. That the ID token is signed by a key of the provider is asked for here: by
 * default the library trusts the connection that it came over.
 */
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  ResponseBodyError,
} from 'openid-client';
import type { IdentityProvider, LoginAnswer, ProviderSilence } from '../../domain/identity-provider.ts';

export type ProviderSettings = {
  issuer: string;
  clientId: string;
  /** Null: a public client. */
  clientSecret: string | null;
  /** Registered at the provider. */
  redirectUri: string;
  scopes: readonly string[];
  nameClaim: string;
  rolesClaim: string;
};

/** Of each call; a person waits for it. */
const timeoutS = 5;
/** Keys are read again by themselves when one is not known; addresses seldom change. */
const metadataKeptMs = 3_600_000;
/** A provider that does not answer is not asked again by every browser. */
const silenceKeptMs = 2_000;

type Found = { kind: 'found'; provider: Configuration } | ProviderSilence;

export function createIdentityProvider(settings: ProviderSettings, monotonicMs: () => number): IdentityProvider {
  const { issuer, clientId, clientSecret, redirectUri, scopes, nameClaim, rolesClaim } = settings;
  const wanted = [nameClaim, rolesClaim];
  let kept: { asked: Promise<Found>; until: number } | null = null;

  async function discover(): Promise<Found> {
    const plain = issuer.startsWith('http:') ? [allowInsecureRequests] : [];
    try {
      const options = { execute: [...plain, enableNonRepudiationChecks], timeout: timeoutS };
      const provider = await discovery(new URL(issuer), clientId, {}, clientAuth(clientSecret), options);
      return { kind: 'found', provider };
    } catch (error) {
      return { kind: 'unreachable', why: `the metadata of the provider cannot be had (${whyOf(error)})` };
    }
  }

  async function find(): Promise<Found> {
    if (kept !== null && monotonicMs() < kept.until) return kept.asked;
    const asked = { asked: discover(), until: Number.POSITIVE_INFINITY };
    kept = asked;
    const found = await asked.asked;
    asked.until = monotonicMs() + (found.kind === 'found' ? metadataKeptMs : silenceKeptMs);
    return found;
  }

  return {
    addressFor: async ({ state, nonce, verifier }) => {
      const found = await find();
      if (found.kind !== 'found') return found;
      const challenge = await calculatePKCECodeChallenge(verifier);
      const address = buildAuthorizationUrl(found.provider, {
        ...{ redirect_uri: redirectUri, scope: scopes.join(' '), state, nonce },
        ...{ code_challenge: challenge, code_challenge_method: 'S256' },
      });
      return { kind: 'address', address: address.href };
    },
    personOf: async (query, { state, nonce, verifier }) => {
      const found = await find();
      if (found.kind !== 'found') return found;
      const { provider } = found;
      try {
        const answer = await authorizationCodeGrant(provider, new URL(query, redirectUri), {
          ...{ pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true },
        });
        const told = answer.claims()!;
        // Many providers give them there alone.
        const lacks = wanted.some((name) => !Object.hasOwn(told, name.split('.')[0]!) && !Object.hasOwn(told, name));
        const more =
          lacks && provider.serverMetadata().userinfo_endpoint !== undefined
            ? await fetchUserInfo(provider, answer.access_token, told.sub)
            : {};
        const claims = { ...more, ...told };
        return { kind: 'person', issuer: told.iss, subject: told.sub, claims, idToken: answer.id_token! };
      } catch (error) {
        return answerOf(error);
      }
    },
    endAddress: async (idToken) => {
      const found = await find();
      if (found.kind !== 'found' || found.provider.serverMetadata().end_session_endpoint === undefined) return null;
      return buildEndSessionUrl(found.provider, idToken === null ? {} : { id_token_hint: idToken }).href;
    },
  };
}

/** As the provider takes it: `client_secret_basic` where it says nothing (OpenID Connect Discovery 1.0, 3). */
function clientAuth(secret: string | null): ClientAuth {
  if (secret === null) return None();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...others) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (isPost ? post : basic)(server, ...others);
  };
}

/** Codes of the library for what a token says, as opposed to the answer that it came in. */
const tokenCodes: readonly string[] = [
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
];
const silenceCodes: readonly string[] = ['OAUTH_TIMEOUT', 'OAUTH_ABORT', 'OAUTH_RESPONSE_IS_NOT_CONFORM'];

function answerOf(error: unknown): LoginAnswer {
  const why = whyOf(error);
  if (error instanceof AuthorizationResponseError) return { kind: 'refused', reason: 'denied', why };
  if (error instanceof ResponseBodyError) {
    // Others are about this desk as a client, or about the provider itself.
    return error.error === 'invalid_grant'
      ? { kind: 'refused', reason: 'code-refused', why }
      : { kind: 'unreachable', why: `the provider refuses this desk (${why})` };
  }
  if (!(error instanceof ClientError) || silenceCodes.includes(error.code ?? ''))
    return { kind: 'unreachable', why: `the provider does not answer as it should (${why})` };
  const isOfToken = tokenCodes.includes(error.code ?? '') || /JWT|JWS|ID Token|"id_token"/.test(why);
  return { kind: 'refused', reason: isOfToken ? 'id-token-refused' : 'response-refused', why };
}

/** Codes of OAuth are short words; whatever else a provider writes is not repeated. */
const errorWord = /^[a-z_]{1,60}$/;

/** The library's own words, which hold no value that was sent. */
function whyOf(error: unknown): string {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
    return errorWord.test(error.error) ? error.error : 'an error without a known code';
  if (error instanceof ClientError) return error.cause instanceof Error ? error.cause.message : error.message;
  const code = (error as { cause?: { code?: unknown } }).cause?.code;
  return typeof code === 'string' ? code : 'no connection';
}
