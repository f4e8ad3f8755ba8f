/** `/v1/tokens`: tokens of this API given out, listed and revoked, by admins. */
import { z } from 'zod';
import { apiRoles, isStartOwner, ownerForm } from '../../domain/roles.ts';
import {
  createToken,
  listTokens,
  mostTokenDays,
  revokeToken,
  type TokenParts,
  type TokenWatch,
  usualTokenDays,
} from '../../operating/tokens.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import { shortReason, via } from './control-routes.ts';
import { answered, answerNamed, measured, order, said, saidOfParts } from './described.ts';
import { problem, problemResponses } from './problems.ts';
import { exampleTime, time } from './schemas.ts';

export type TokenRouteParts = TokenParts & { tokenWatch: Pick<TokenWatch, 'look'>; guard: Guard };

const ownerRemedy = 'send letters, digits, . _ @ and -, at most 60 characters, and not local';
const exampleId = '3f9c2a71b0';
const exampleExpiry = exampleTime + 90 * 86_400_000;
const id = said(z.string(), 'Names the token to people', exampleId);
const owner = said(z.string(), 'Who has it: the identity of all that is ordered with it', 'bruno');
const role = said(z.enum(apiRoles), 'What it may do', 'risk');
const expiresAt = said(time, 'When it expires', exampleExpiry);

export const tokenPage = answerNamed(
  z.object({
    tokens: saidOfParts(
      z.array(
        z.object({
          kind: said(
            z.enum(['token', 'session']),
            '`session`: somebody logged in, and a browser has it as a cookie',
            'token',
          ),
          ...{ id, owner, role },
          createdAt: said(time, 'When it was given out', exampleTime),
          createdBy: said(z.string(), 'Who gave it out', 'ana'),
          createdVia: via,
          reason: said(z.string().nullable(), 'Why it was given out; null: nobody said', 'novo na equipe'),
          expiresAt,
          revoked: saidOfParts(
            z
              .object({
                at: said(time, 'When', exampleTime),
                by: said(z.string(), 'By whom', 'ana'),
                via,
                reason: said(z.string().nullable(), 'Why; null: nobody said', 'saiu da equipe'),
              })
              .nullable(),
            'When it was revoked, and by whom; null: it was not',
          ),
        }),
      ),
      'The latest first',
    ),
  }),
  'Tokens',
  'Tokens that were given out, and sessions that are not over; those of LANCE_API_TOKENS are not among them',
);
export const tokenCreated = answerNamed(
  z.object({
    id,
    token: said(z.string(), 'The token itself: it is told this once, and kept nowhere', `lance_${'a'.repeat(43)}`),
    expiresAt,
  }),
  'TokenCreated',
  'A token that was given out',
);
export const tokenRevoked = answerNamed(
  z.object({ id, owner, before: said(z.boolean(), 'It had been revoked before', false) }),
  'TokenRevoked',
  'A token or session that is let in no more, on no process, after 5 seconds',
);

const reason = said(
  shortReason.nullable().default(null),
  'Why, in 1 to 200 characters; null: nobody says. A CPF in it is kept as `***`',
  'novo na equipe',
);
const ownerName = z
  .string()
  .regex(ownerForm, ownerRemedy)
  .refine((name) => !isStartOwner(name), ownerRemedy);
const createBody = order(
  z.strictObject({
    owner: said(
      ownerName,
      'Who will have it: one name for each person, in all their tokens, for four eyes compare it. Letters, digits, . _ @ and -, at most 60',
      'bruno',
    ),
    role,
    days: said(
      measured(z.int().min(1).max(mostTokenDays), 'a count').default(usualTokenDays),
      `Days until it expires: 1 to ${mostTokenDays}`,
      usualTokenDays,
    ),
    reason,
  }),
  'TokenOrder',
  'A token for somebody',
);
const tokenParams = z.object({
  id: said(
    z.string().regex(/^[0-9a-f]{1,40}$/, 'send the id that the list of tokens shows'),
    'Id of the token',
    exampleId,
  ),
});

function hidden(text: string | null): string | null {
  return text === null ? null : withoutCpf(text);
}

export function addTokenRoutes(app: ApiApp, parts: TokenRouteParts): void {
  const { guard, tokenWatch } = parts;
  const tags = ['tokens'];
  const onRequest = guard.only('admin');
  app.get(
    '/tokens',
    {
      onRequest,
      schema: {
        tags,
        summary:
          'Tokens that were given out and sessions of people who logged in: of whom, until when, by whom; never the tokens themselves',
        response: { 200: answered(tokenPage, 'The tokens that were given out'), ...problemResponses },
      },
    },
    async () => ({ tokens: await listTokens(parts) }),
  );
  app.post(
    '/tokens',
    {
      onRequest,
      schema: {
        tags,
        summary: 'Give out a token; it is told once',
        body: createBody,
        response: { 201: answered(tokenCreated, 'The token, told this once'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const {
        id: made,
        token,
        expiresAt: until,
      } = await createToken(parts, guard.identityOf(request), {
        ...request.body,
        reason: hidden(request.body.reason),
      });
      await tokenWatch.look();
      return reply.code(201).header('cache-control', 'no-store').send({ id: made, token, expiresAt: until });
    },
  );
  app.post(
    '/tokens/:id/revoke',
    {
      onRequest,
      schema: {
        tags,
        summary: 'Revoke a token, or end a session: within 5 seconds no process lets it in',
        params: tokenParams,
        body: order(z.strictObject({ reason }), 'TokenRevocation', 'Why, or nothing: an empty object'),
        response: { 200: answered(tokenRevoked, 'It is revoked'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const outcome = await revokeToken(
        parts,
        guard.identityOf(request),
        request.params.id,
        hidden(request.body.reason),
      );
      if (outcome.kind === 'token-unknown') {
        const detail = 'no token has this id; GET /v1/tokens lists them';
        return problem(reply, 'not-found', detail, [{ field: 'id', rule: 'token-known', detail }], outcome);
      }
      await tokenWatch.look();
      return { id: outcome.id, owner: outcome.owner, before: outcome.kind === 'revoked-before' };
    },
  );
}
