/**
 * `/v1/login` and `/v1/logout`: people log in at an OpenID provider, and have a session in a cookie. What a log-in was begun with stands
 * in a cookie of its browser alone, so that nothing is kept for strangers, and any process can end it.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { IdentityProvider, LoginAnswer, LoginChecks } from '../../domain/identity-provider.ts';
import {
  beginSession,
  endSessions,
  isUsed,
  type PersonFound,
  type PersonRules,
  personIn,
  revokeToken,
  type TokenParts,
  type TokenWatch,
} from '../../operating/tokens.ts';
import type { ApiApp } from './api.ts';
import { cookieIn, cookieName, cookieOf, type Guard, idTokenIn, loginCookies, logoutCookies } from './auth.ts';
import { answered, answerNamed, measured, order, said } from './described.ts';
import { problem, problemResponses } from './problems.ts';

type Login = {
  identityProvider: IdentityProvider;
  /** Where browsers reach this API. */
  origin: string;
  sessionMs: number;
  person: PersonRules;
};

export type LoginRouteParts = TokenParts & {
  tokenWatch: Pick<TokenWatch, 'look'>;
  guard: Guard;
  /** Null: nobody can log in. */
  login: Login | null;
  /** Counts a log-in that was refused. `isLimited`: this address has had too many. */
  loginFailed: (address: string, why: string) => { isLimited: boolean };
};

const loginName = 'lance_login';
/** A person needs some time for a password and a second factor. */
const loginMs = 600_000;
const secretBytes = 32;
const usualPlace = '/v1/docs';
/** A place of this desk: a path whose second character begins no other host. */
const placeForm = /^\/(?:[\w.~-][\w./~-]{0,199})?$/;

/** All that ends a log-in follows from the secret in its cookie, and says nothing of the others. */
function checksOf(secret: string): LoginChecks & { sessionId: string } {
  const derived = (purpose: string) => createHash('sha256').update(`${purpose} ${secret}`);
  const text = (purpose: string) => derived(purpose).digest('base64url');
  return {
    ...{ state: text('state'), nonce: text('nonce'), verifier: text('verifier') },
    sessionId: derived('session').digest('hex').slice(0, 20),
  };
}

type Refusal =
  | Extract<LoginAnswer, { kind: 'refused' }>['reason']
  | Exclude<PersonFound['kind'], 'person'>
  | 'not-begun'
  | 'used-before';

function refusalText(kind: Refusal, { nameClaim, rolesClaim }: PersonRules): string {
  switch (kind) {
    case 'not-begun':
      return 'This browser has begun no log-in within the last 10 minutes, or has ended it: begin at /v1/login.';
    case 'used-before':
    case 'code-refused':
      return 'This log-in was used before, or took too long: begin again at /v1/login.';
    case 'response-refused':
      return 'What came back is no answer to the log-in that this browser began: begin again at /v1/login.';
    case 'denied':
      return 'The provider did not let you in: log in there, or ask whoever runs it.';
    case 'id-token-refused':
      return 'What the provider says of you does not hold (issuer, audience, times, nonce or signature): tell whoever runs this desk.';
    case 'name-missing':
      return `The provider does not say who you are: it has to give the claim ${nameClaim} (setting oidc.nameClaim).`;
    case 'name-unfit':
      return `The claim ${nameClaim} has to hold letters, digits, . _ @ and -, at most 60, and not the name local (setting oidc.nameClaim).`;
    case 'name-unverified':
      return 'The provider has not verified your address: confirm it there first.';
    case 'role-missing':
      return `None of your groups has a role here: ask for one of those in oidc.roles (claim ${rolesClaim}).`;
    default:
      return kind satisfies never;
  }
}

const closedText = 'Nobody can log in here: set LANCE_OIDC_ISSUER and what goes with it, or send a token.';
const silentText = (why: string) => `The provider cannot be asked: ${why}. Try again, or use a token.`;

const loginQuery = z.object({
  to: said(
    z.string().regex(placeForm, 'send a path of this desk, such as /v1/docs').default(usualPlace),
    'Where the browser goes then: a path of this desk',
    usualPlace,
  ),
});
const logoutBody = order(
  z.strictObject({
    everywhere: said(z.boolean().default(false), 'Ends all sessions of the person, on every browser', false),
  }),
  'Logout',
  'Ends this session, or all sessions of the person',
);
const logoutSchema = answerNamed(
  z.object({
    ended: said(measured(z.int(), 'a count'), 'How many sessions were ended', 1),
    providerLogout: said(
      z.string().nullable(),
      'Where a browser ends the log-in at the provider as well; null: it does not say',
      'https://login.example/session/end?client_id=lance',
    ),
  }),
  'LoggedOut',
  'Sessions that are over, on every process after 5 seconds',
);

export function addLoginRoutes(app: ApiApp, parts: LoginRouteParts): void {
  const { guard, login, tokenWatch } = parts;
  const tags = ['login'];
  app.get(
    '/login',
    {
      schema: {
        tags,
        security: [],
        summary: 'Log in: sends the browser to the OpenID provider, which sends it back with a session',
        querystring: loginQuery,
        response: { 302: z.null().describe('To the provider, with a cookie of this log-in'), ...problemResponses },
      },
    },
    async (request, reply) => {
      if (login === null) return problem(reply, 'not-found', closedText);
      const secret = randomBytes(secretBytes).toString('base64url');
      const found = await login.identityProvider.addressFor(checksOf(secret));
      if (found.kind !== 'address') return problem(reply, 'unavailable', silentText(found.why));
      const kept = cookieOf(login, loginName, `${secret}${request.query.to}`, loginMs);
      return reply.header('set-cookie', kept).header('cache-control', 'no-store').redirect(found.address, 302);
    },
  );
  // For the provider alone, which sends what it likes beside code and state.
  app.get('/login/callback', { schema: { hide: true } }, async (request, reply) => {
    if (login === null) return problem(reply, 'not-found', closedText);
    void reply.header('cache-control', 'no-store');
    return end(request, reply, login);
  });
  app.post(
    '/logout',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'Log out: ends the session of this browser, or all of the person',
        body: logoutBody,
        response: { 200: answered(logoutSchema, 'They are over'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { token, csrfToken } = guard.callerOf(request);
      const who = guard.identityOf(request);
      const isSession = csrfToken !== null && token !== null;
      if (!isSession && !request.body.everywhere) {
        const detail = 'a token has no session to end: send true, or revoke it at /v1/tokens';
        return problem(reply, 'not-allowed', detail, [{ field: 'everywhere', rule: 'session-shown', detail }]);
      }
      let ended = 1;
      if (request.body.everywhere) ended = await endSessions(parts, who);
      else if (token !== null) await revokeToken(parts, who, token.id);
      await tokenWatch.look();
      if (login === null) return { ended, providerLogout: null };
      if (isSession) void reply.header('set-cookie', logoutCookies(login));
      return { ended, providerLogout: await login.identityProvider.endAddress(idTokenIn(request, login)) };
    },
  );

  async function end(request: FastifyRequest, reply: FastifyReply, open: Login): Promise<FastifyReply> {
    const forget = cookieOf(open, loginName, '', 0);
    const refused = (kind: Refusal, why: string = kind): FastifyReply => {
      void reply.header('set-cookie', forget);
      if (parts.loginFailed(request.ip, `log-in refused: ${kind}${why === kind ? '' : `: ${why}`}`).isLimited) {
        void reply.header('retry-after', '60');
        return problem(reply, 'too-many', 'Too many log-ins of this address were refused; wait a minute.');
      }
      return problem(reply, 'login-refused', refusalText(kind, open.person), [], { kind });
    };
    const [, secret, to] = /^([\w-]{43})(\/.*)$/.exec(cookieIn(request, cookieName(open, loginName)) ?? '') ?? [];
    if (secret === undefined || to === undefined || !placeForm.test(to)) return refused('not-begun');
    const { sessionId, ...checks } = checksOf(secret);
    if (await isUsed(parts, sessionId)) return refused('used-before');
    const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : '';
    const answer = await open.identityProvider.personOf(query, checks);
    if (answer.kind === 'unreachable') return problem(reply, 'unavailable', silentText(answer.why));
    if (answer.kind === 'refused') return refused(answer.reason, answer.why);
    const found = personIn(answer.claims, open.person);
    if (found.kind !== 'person') return refused(found.kind);
    const { issuer, subject, idToken } = answer;
    const { owner, role } = found;
    const { sessionMs } = open;
    const begun = await beginSession(parts, { id: sessionId, owner, role, issuer, subject, sessionMs });
    if (begun.kind !== 'begun') return refused(begun.kind);
    await tokenWatch.look();
    const kept = loginCookies(open, { secret: begun.secret, idToken }, sessionMs);
    return reply.header('set-cookie', [forget, ...kept]).redirect(to, 303);
  }
}
