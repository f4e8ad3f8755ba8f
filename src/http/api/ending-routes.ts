/** How a person ends a request by hand, and brings back or ends what was frozen. Done where the commands do it. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { FlowKind } from '../../domain/flow-records.ts';
import { phases } from '../../domain/states.ts';
import {
  type EndingParts,
  operatorResolutions,
  type ResolveOutcome,
  resolveRequest,
  type ThawOutcome,
  thaw,
} from '../../operating/endings.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import { answered, answerNamed, order, said } from './described.ts';
import { problem, problemResponses } from './problems.ts';
import { flowParams, reasonGiven, requestParams } from './schemas.ts';

export type EndingRouteParts = EndingParts & { guard: Guard };

const recorded = ['done', 'stored', 'late'] as const;
const recordedText =
  '`done`: the desk has folded it. `stored`: it is recorded, and no process runs. `late`: it is recorded, and the desk has not folded it in time';
export const resolvedSchema = answerNamed(
  z.object({
    kind: said(z.enum(recorded), recordedText, 'done'),
    state: said(z.enum(phases).nullable(), 'Where the request stands now; null: that is not known yet', 'lost'),
  }),
  'Resolved',
  'What became of a word about a request',
);
/** Of a word that changes nothing but what was asked. */
export const recordedSchema = answerNamed(
  z.object({ kind: said(z.enum(recorded), recordedText, 'done') }),
  'Recorded',
  'What became of an answer',
);
export const thawedSchema = answerNamed(
  z.object({ kind: said(z.enum(recorded), recordedText, 'done') }),
  'Thawed',
  'What became of what was frozen',
);

const reason = said(
  reasonGiven,
  'Why, in 1 to 2000 characters; a CPF in it is kept as `***`',
  'confirmado no portal',
  'none',
);
const resolveBody = order(
  z.strictObject({
    as: said(
      z.enum(operatorResolutions),
      'How it ended; which of these may be said depends on where it stands',
      'lost',
    ),
    reason,
  }),
  'Resolution',
  'How a request ended that nothing else ends',
);
const thawBody = order(
  z.strictObject({
    action: said(
      z.enum(['retry', 'cancel']),
      '`retry`: its records are read again, with the program as it is now. `cancel`: goes on without the record that could not be processed, and sends nothing more',
      'retry',
      'none',
    ),
    reason,
  }),
  'Thaw',
  'What is done with what was frozen because a record of it could not be processed',
);

const eventParams = z.object({
  flowId: said(
    z.string().regex(/^[\w.:-]{1,200}$/, 'send the id of an event, as the list of events names it'),
    'Id of the event, as the list names it',
    'event:3f9c2a71',
  ),
});

const kinds: readonly { path: string; of: FlowKind; what: string }[] = [
  { path: '/contracts', of: 'contract', what: 'contract' },
  { path: '/renegotiations', of: 'renegotiation', what: 'renegotiation' },
  { path: '/withdrawals', of: 'withdrawal', what: 'withdrawal' },
  { path: '/lookups', of: 'lookup', what: 'lookup' },
  { path: '/events', of: 'event', what: 'event' },
];

export function addEndingRoutes(app: ApiApp, parts: EndingRouteParts): void {
  const { guard } = parts;
  const onRequest = guard.only('operator', 'admin');
  app.post(
    '/bids/:requestId/resolve',
    {
      onRequest,
      schema: {
        tags: ['bids'],
        summary: 'End by hand a request that nothing else ends, such as one whose result never came',
        params: requestParams,
        body: resolveBody,
        response: { 200: answered(resolvedSchema, 'It is recorded'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { as, reason: why } = request.body;
      const resolution = { requestId: request.params.requestId, as, reason: withoutCpf(why) };
      return resolved(reply, await resolveRequest(parts, guard.identityOf(request), resolution));
    },
  );
  const response = { 200: answered(thawedSchema, 'It is recorded'), ...problemResponses };
  app.post(
    '/bids/:requestId/thaw',
    {
      onRequest,
      schema: {
        tags: ['bids'],
        summary: 'Bring back or end a frozen request',
        params: requestParams,
        body: thawBody,
        response,
      },
    },
    async (request, reply) => {
      const { action, reason: why } = request.body;
      const asked = { of: 'bid' as const, id: request.params.requestId, action, reason: withoutCpf(why) };
      return thawed(reply, await thaw(parts, guard.identityOf(request), asked), 'requestId');
    },
  );
  for (const { path, of, what } of kinds) {
    app.post(
      `${path}/:flowId/thaw`,
      {
        onRequest,
        schema: {
          tags: ['flows'],
          summary: `Bring back or end a frozen ${what}`,
          params: of === 'event' ? eventParams : flowParams,
          body: thawBody,
          response,
        },
      },
      async (request, reply) => {
        const { action, reason: why } = request.body;
        const asked = { of, id: request.params.flowId, action, reason: withoutCpf(why) };
        return thawed(reply, await thaw(parts, guard.identityOf(request), asked), 'flowId');
      },
    );
  }
}

function resolved(reply: FastifyReply, outcome: ResolveOutcome): FastifyReply {
  switch (outcome.kind) {
    case 'done':
      return reply.send({ kind: outcome.kind, state: outcome.phase });
    case 'stored':
    case 'late':
      return reply.send({ kind: outcome.kind, state: null });
    case 'unknown':
      return problem(reply, 'not-found', 'No request has this id.', [], outcome);
    case 'refused': {
      const may =
        outcome.allowed.length === 0
          ? 'nothing may be said in this state'
          : `write one of ${outcome.allowed.join(', ')}`;
      const detail = `the request is ${outcome.phase}; ${may}`;
      return problem(reply, 'not-allowed', detail, [{ field: 'as', rule: 'resolution-possible', detail }], outcome);
    }
    case 'under-contract': {
      const { flowId, flowPhase } = outcome;
      const detail = `its contract is under way: ${flowId}, ${flowPhase}; what the bid promised counts until that is cancelled`;
      return problem(reply, 'not-allowed', detail, [{ field: 'as', rule: 'without-contract', detail }], outcome);
    }
    case 'overtaken': {
      const detail = `Another record came first: the request is ${outcome.phase}, and nothing was changed.`;
      return problem(reply, 'not-allowed', detail, [], outcome);
    }
    default:
      return outcome satisfies never;
  }
}

function thawed(reply: FastifyReply, outcome: ThawOutcome, field: string): FastifyReply {
  switch (outcome.kind) {
    case 'done':
    case 'stored':
    case 'late':
      return reply.send(outcome);
    case 'unknown':
      return problem(reply, 'not-found', 'There is nothing of this kind with this id.', [], outcome);
    case 'not-frozen': {
      const detail = 'it is not frozen; there is nothing to bring back or to end';
      return problem(reply, 'not-allowed', detail, [{ field, rule: 'is-frozen', detail }], outcome);
    }
    case 'still': {
      const detail = `it is still frozen: ${outcome.problem}`;
      return problem(reply, 'not-allowed', detail, [{ field, rule: 'can-be-processed', detail }], outcome);
    }
    default:
      return outcome satisfies never;
  }
}
