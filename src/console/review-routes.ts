/** Pages of requests that wait for a person before a bid, and the form of the answer; read and done as the API does it. */
import type { FastifyReply } from 'fastify';
import { queueShape } from '../domain/offer.ts';
import type { ApiRole } from '../domain/roles.ts';
import type { BidReader } from '../http/api/bid-reader.ts';
import { shortReason } from '../http/api/control-routes.ts';
import { createLine } from '../http/api/line.ts';
import { requestParams } from '../http/api/schemas.ts';
import type { EndingParts } from '../operating/endings.ts';
import { decideReview, waitingReview, waitingReviews } from '../operating/reviews.ts';
import { withoutCpf } from '../wire/hidden-cpf.ts';
import { type ConsoleRoutes, forbidden, type PageWorld, queryOf, send } from './answers.ts';
import type { AnswerTried } from './review-pages.ts';

export type ReviewPageParts = Omit<EndingParts, 'flows'> & { bids: Pick<BidReader, 'find'> };

/** As in the API. */
const answering: readonly ApiRole[] = ['risk', 'operator', 'admin'];
const searches = { atOnce: 2, longestWaitMs: 2_000 };
const pageReviews = 50;

export function addReviewPages({ page, action }: ConsoleRoutes, parts: ReviewPageParts): void {
  const { bids, clock, views } = parts;
  const line = createLine(searches);
  /** Loaded when the first of them is asked for. */
  const made = () => import('./review-pages.ts');

  page('/console/reviews', async ({ pages, shown, session }, request, reply) => {
    const { reviewsPage } = await made();
    const { queue: typed = '', before = '' } = queryOf(request);
    const queue = typed.trim();
    const isWrong = queue !== '' && !queueShape.test(queue);
    const now = clock.now();
    if (isWrong) return send(reply, reviewsPage(shown, { queue, found: null, isFirst: true, now }), 422);
    const asked = {
      queue: queue === '' ? undefined : queue,
      limit: pageReviews,
      before: before === '' ? null : before,
    };
    const looked = await line(session.name, () => waitingReviews(bids.find, asked, now));
    if (looked.kind === 'done')
      return send(reply, reviewsPage(shown, { queue, found: looked.result, isFirst: before === '', now }), 200);
    const { unavailable } = shown.texts.problem;
    return send(reply, pages.problemPage(shown, { title: unavailable, text: shown.texts.requests.busy }), 503);
  });

  /** With what was tried, where that was refused; what does not wait is said to be so. */
  async function shownReview(
    reply: FastifyReply,
    { pages, shown, session }: PageWorld,
    given: string,
    { status, tried = null }: { status: number; tried?: AnswerTried | null },
  ): Promise<FastifyReply> {
    const requestId = idIn(given);
    const state = requestId === null ? undefined : (await views.read([requestId])).get(requestId)?.state;
    if (state === undefined || state.request === null) {
      const { unknown } = shown.texts.problem;
      return send(reply, pages.problemPage(shown, { title: unknown, text: shown.texts.requests.unknown }), 404);
    }
    const { reviewPage } = await made();
    const now = clock.now();
    const review = waitingReview(state, now);
    const around = { review, tried, now, mayAnswer: answering.includes(session.role) };
    return send(reply, reviewPage(shown, state.requestId, around), status);
  }

  const path = '/console/reviews/:requestId';
  page(path, async (world, request, reply) =>
    shownReview(reply, world, (request.params as { requestId: string }).requestId, { status: 200 }),
  );
  action(path, async (world, request, reply) => {
    const { pages, shown, session, form } = world;
    if (!answering.includes(session.role)) return forbidden(reply, pages, shown, answering);
    const given = (request.params as { requestId: string }).requestId;
    const requestId = idIn(given);
    if (requestId === null) return shownReview(reply, world, given, { status: 404 });
    const typed = (form.reason ?? '').replaceAll('\r\n', '\n');
    const reason = shortReason.safeParse(typed);
    const decision = (['bid', 'pass'] as const).find((each) => each === form.decision) ?? null;
    const again = (faults: AnswerTried['faults'], status: number) =>
      shownReview(reply, world, requestId, { status, tried: { reason: typed, decision, faults } });
    const { reviews, order } = shown.texts;
    if (decision === null || !reason.success) {
      const faults: AnswerTried['faults'] = {
        ...(decision === null ? { decision: reviews.choose } : {}),
        ...(reason.success ? {} : { reason: order.reasonMissing }),
      };
      return again(faults, 422);
    }
    const asked = { requestId, decision, reason: withoutCpf(reason.data) };
    const outcome = await decideReview(parts, { by: session.name, via: 'api' }, asked);
    const { review: words, states } = shown.format.texts;
    const to = (notice: string) =>
      reply.redirect(`/console/requests/${encodeURIComponent(requestId)}?notice=${notice}`, 303);
    switch (outcome.kind) {
      case 'done':
        return to('answered');
      case 'stored':
      case 'late':
        return to('answer-late');
      case 'unknown':
        return again({}, 404);
      case 'not-waiting':
        return again({ whole: words.notWaiting(requestId, states[outcome.phase]) }, 409);
      case 'answered':
        return again({ whole: words.answered(requestId, outcome.by, words.decisions[outcome.decision]) }, 409);
      case 'over': {
        const until = shown.format.second(outcome.until);
        return again({ whole: words.over(requestId, until, words.decisions[outcome.otherwise]) }, 409);
      }
      case 'overtaken':
        return again({ whole: words.overtaken(requestId, states[outcome.phase]) }, 409);
      default:
        return outcome satisfies never;
    }
  });
}

/** Null: no request can have such an id. */
function idIn(given: string): string | null {
  const asked = requestParams.safeParse({ requestId: given });
  return asked.success ? asked.data.requestId : null;
}
