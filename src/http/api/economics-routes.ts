/** `/v1/economics`: which economics of the settings decide, and who stands for others. Done where the commands do it. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  approveEconomics,
  type EconomicsOutcome,
  type EconomicsParts,
  economicsStanding,
} from '../../operating/economics.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import { via } from './control-routes.ts';
import { answered, answerNamed, said, saidOfParts } from './described.ts';
import { problem, problemResponses } from './problems.ts';
import { commentBody, commented, identityNeeded, mutable } from './rule-routes.ts';
import { exampleTime, time } from './schemas.ts';

export type EconomicsRouteParts = { rules: EconomicsParts; guard: Guard };

const exampleHash = `5d1c0e88fa21${'0'.repeat(52)}`;
const hash = said(z.string(), 'SHA-256 of the two sections', exampleHash);

export const economicsSchema = answerNamed(
  z.object({
    used: said(
      z.string().nullable(),
      'SHA-256 of the sections `economics` and `pricing` that a process decided by last; null: none has said so yet',
      exampleHash,
    ),
    approvalNeeded: said(z.boolean(), 'Two identities have to stand for others', true),
    waiting: saidOfParts(
      z.array(
        z.object({
          hash,
          at: said(time, 'When a process found them in its settings', exampleTime),
          approved: said(z.boolean(), 'Two identities stand for them: they decide from a restart on', false),
          approvals: saidOfParts(
            z.array(
              z.object({
                by: said(z.string(), 'Who approved them', 'ana'),
                via,
                at: said(time, 'When', exampleTime),
              }),
            ),
            'Who stands for them',
          ),
          differences: saidOfParts(
            z.array(
              z.object({
                at: said(z.string(), 'Which setting', 'economics.fundingAnnualPercent'),
                before: said(z.unknown(), 'What decides; null: nothing', 13.75),
                after: said(z.unknown(), 'What the settings say; null: nothing', 12.25),
              }),
            ),
            'Against those that decide, value by value',
          ),
        }),
      ),
      'In the settings of a process, and not what decides; the latest first',
    ),
  }),
  'Economics',
  'Which economics of the settings decide, and which ones wait',
);

export const economicsApprovedSchema = answerNamed(
  z.object({
    kind: said(
      z.enum(['economics-approved', 'one-more']),
      '`economics-approved`: two identities stand for them; they decide from a restart on. `one-more`: another identity has to approve them too',
      'one-more',
    ),
    hash,
  }),
  'EconomicsApproved',
  'What became of the order',
);

const params = z.object({
  hash: said(
    z.string().regex(/^[0-9a-fA-F]{6,64}$/, 'send 6 to 64 characters of the hash'),
    'The beginning of the SHA-256: 6 to 64 hexadecimal digits',
    '5d1c0e88fa21',
  ),
});

export function addEconomicsRoutes(app: ApiApp, { guard, rules }: EconomicsRouteParts): void {
  const tags = ['economics'];
  app.get(
    '/economics',
    {
      onRequest: guard.only('risk', 'operator', 'admin'),
      schema: {
        tags,
        summary: 'Which economics of the settings decide, which ones wait for two identities, and what they change',
        response: { 200: answered(economicsSchema, 'What decides, and what waits'), ...problemResponses },
      },
    },
    async () => mutable(await economicsStanding(rules)),
  );
  app.post(
    '/economics/:hash/approve',
    {
      onRequest: guard.only('risk', 'admin'),
      schema: {
        tags,
        summary:
          'Stand for economics of the settings that wait. Two identities have to; then they decide from a restart on',
        params,
        body: commentBody,
        response: { 200: answered(economicsApprovedSchema, 'What became of it'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const who = commented(guard.identityOf(request), request.body.comment);
      return answer(reply, await approveEconomics(rules, who, request.params.hash));
    },
  );
}

function answer(reply: FastifyReply, outcome: EconomicsOutcome): FastifyReply {
  switch (outcome.kind) {
    case 'economics-approved':
    case 'one-more':
      return reply.send(outcome);
    case 'set-unknown': {
      const detail = 'no economics that wait begin like this; GET /v1/economics lists them';
      return problem(reply, 'not-found', detail, [{ field: 'hash', rule: 'economics-wait', detail }], outcome);
    }
    case 'set-ambiguous': {
      const detail = `${outcome.count} begin like this; send more characters`;
      return problem(reply, 'conflict', detail, [{ field: 'hash', rule: 'economics-one', detail }], outcome);
    }
    case 'same-person': {
      const detail = `${outcome.people.join(', ')} stood for them already; another identity has to approve them`;
      return problem(reply, 'not-allowed', detail, [{ field: 'hash', rule: 'another-person', detail }], outcome);
    }
    case 'identity-needed':
      return problem(reply, 'forbidden', identityNeeded, [], outcome);
    default:
      return outcome satisfies never;
  }
}
