/** `/v1/reviews`: requests that wait for a person before a bid, and the answer. Done where the commands do it. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { queueShape } from '../../domain/offer.ts';
import { decideReview, type ReviewOutcome, waitingReviews } from '../../operating/reviews.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import type { BidReader } from './bid-reader.ts';
import { shortReason } from './control-routes.ts';
import { answered, answerNamed, order, said, saidOfParts } from './described.ts';
import { type EndingRouteParts, recordedSchema } from './ending-routes.ts';
import { createLine } from './line.ts';
import { problem, problemResponses } from './problems.ts';
import { missingPartitions, pageQuery, requestParams, reviewFields } from './schemas.ts';

export type ReviewRouteParts = Omit<EndingRouteParts, 'flows'> & { bids: Pick<BidReader, 'find'>; guard: Guard };

export const reviewPageSchema = answerNamed(
  z.object({
    reviews: saidOfParts(z.array(z.object(reviewFields)), 'The latest first'),
    next: said(z.string().nullable(), 'Cursor of the page after; null: there is none', null),
    missing: missingPartitions,
  }),
  'ReviewPage',
  'A page of requests that wait for a person',
);

const reviewQuery = pageQuery.extend({
  queue: said(z.string().regex(queueShape).optional(), 'Only those of this queue', 'large-amounts'),
});
const decisionBody = order(
  z.strictObject({
    decision: said(
      z.enum(['pass', 'bid']),
      '`bid`: it is decided again, and bid for where rules, limits and caps still allow it; `pass`: it is not',
      'bid',
    ),
    reason: said(shortReason, 'Why, in 1 to 200 characters; a CPF in it is kept as `***`', 'holerite conferido'),
  }),
  'ReviewAnswer',
  'The answer to a review',
);

const searchesWait = 'Too many such calls are under way; ask again, with fewer at once.';
const searches = { atOnce: 2, longestWaitMs: 2_000 };

export function addReviewRoutes(app: ApiApp, parts: ReviewRouteParts): void {
  const { guard, clock, bids } = parts;
  const line = createLine(searches);
  const tags = ['reviews'];
  app.get(
    '/reviews',
    {
      onRequest: guard.only(),
      schema: {
        tags,
        summary: 'Requests that wait for a person before a bid; a page may be short, and goes on at `next`',
        querystring: reviewQuery,
        response: { 200: answered(reviewPageSchema, 'A page of them, the latest first'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { queue, limit, before = null } = request.query;
      const found = await line(guard.callerOf(request).name, () =>
        waitingReviews(bids.find, { queue, limit, before }, clock.now()),
      );
      if (found.kind === 'not-done') return problem(reply, 'unavailable', searchesWait);
      const { reviews, next, missing } = found.result;
      return {
        reviews: reviews.map((review) => ({ ...review, rules: [...review.rules] })),
        next,
        ...(missing === undefined ? {} : { missing: [...missing] }),
      };
    },
  );
  app.post(
    '/reviews/:requestId',
    {
      onRequest: guard.only('risk', 'operator', 'admin'),
      schema: {
        tags,
        summary: 'Answer the review of a request that waits for one; the first answer counts',
        params: requestParams,
        body: decisionBody,
        response: { 200: answered(recordedSchema, 'It is recorded'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { decision, reason } = request.body;
      const asked = { requestId: request.params.requestId, decision, reason: withoutCpf(reason) };
      return told(reply, await decideReview(parts, guard.identityOf(request), asked));
    },
  );
}

function told(reply: FastifyReply, outcome: ReviewOutcome): FastifyReply {
  const refused = (detail: string) =>
    problem(reply, 'not-allowed', detail, [{ field: 'requestId', rule: 'waits-for-review', detail }], outcome);
  switch (outcome.kind) {
    case 'done':
    case 'stored':
    case 'late':
      return reply.send(outcome);
    case 'unknown':
      return problem(reply, 'not-found', 'No request has this id.', [], outcome);
    case 'not-waiting':
      return refused(`the request is ${outcome.phase}, and no person was asked about it`);
    case 'answered':
      return refused(`${outcome.by} has answered: ${outcome.decision}; the first answer counts`);
    case 'over':
      return refused(`the time for an answer is over, and without one it is: ${outcome.otherwise}`);
    case 'overtaken':
      return refused(`another record came first: the request is ${outcome.phase}, and the answer changed nothing`);
    default:
      return outcome satisfies never;
  }
}
