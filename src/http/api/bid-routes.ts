/** Bids, decisions, margins and dead letters over HTTP. */
import type { EventLog, MarginCache, RuleBook, Views } from '../../bidding/ports.ts';
import type { ReplayOrder } from '../../domain/records.ts';
import { createPersonalReads } from '../../operating/personal-reads.ts';
import { readWorker } from '../../origination/worker-reading.ts';
import { withoutCpf } from '../../wire/hidden-cpf.ts';
import { linkKeyOf, workerKeyOf } from '../../wire/identity.ts';
import type { RequestMapping } from '../../wire/mapping-table.ts';
import {
  dismissLetter,
  type LetterPlace,
  listLetters,
  type Replay,
  type ReplayParts,
  replayLetters,
} from '../letters.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import type { BidReader } from './bid-reader.ts';
import { answered } from './described.ts';
import { createLine } from './line.ts';
import { problem, problemResponses } from './problems.ts';
import {
  bidPage,
  bidQuery,
  decisionSchema,
  dismissBody,
  dismissedSchema,
  letterPage,
  letterParams,
  letterQuery,
  linkSchema,
  marginSchema,
  replayBody,
  replaySchema,
  requestParams,
  workerBody,
  workerSchema,
} from './schemas.ts';
import { marginView } from './views.ts';

export type BidRouteParts = ReplayParts & {
  log: Pick<EventLog, 'readKey' | 'detailPlaces'>;
  views: Pick<Views, 'read'>;
  bids: BidReader;
  margins: Pick<MarginCache, 'read'>;
  /** Has who reads personal data. */
  ruleBook: Pick<RuleBook, 'read' | 'append'>;
  replayLimit: number;
  /** What dead letters are looked at with. */
  mapping: RequestMapping;
  /** Hears of each replay. */
  onReplay: (order: ReplayOrder, replay: Replay) => void;
  /** Hears of each letter that is closed. */
  onDismiss: (order: ReplayOrder, letter: LetterPlace) => void;
  guard: Guard;
};

const searchesWait = 'Too many such calls are under way; ask again, with fewer at once.';

/** A letter may be as long as a webhook: one page at a time is opened and parsed. */
const lettersLooks = { atOnce: 1, longestWaitMs: 10_000 };

export function addBidRoutes(app: ApiApp, parts: BidRouteParts): void {
  addBids(app, parts);
  addWorker(app, parts);
  addMargins(app, parts);
  addLetters(app, parts);
}

function addBids(app: ApiApp, { bids, guard }: BidRouteParts): void {
  app.get(
    '/bids',
    {
      onRequest: guard.only(),
      schema: {
        tags: ['bids'],
        summary:
          'Requests and what became of them, latest first; a page of a search may be short, and goes on at `next`',
        querystring: bidQuery,
        response: { 200: answered(bidPage, 'A page of requests, latest first'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const found = await bids.page(guard.callerOf(request).name, request.query);
      if (found.kind === 'not-done') return problem(reply, 'unavailable', searchesWait);
      return found.page;
    },
  );
  app.get(
    '/bids/:requestId',
    {
      onRequest: guard.only(),
      schema: {
        tags: ['bids'],
        summary: 'One request with its decision; what it was decided from is for risk, operator and admin',
        params: requestParams,
        response: { 200: answered(decisionSchema, 'The request with its decision'), ...problemResponses },
      },
    },
    async (request, reply) =>
      (await bids.one(request.params.requestId, guard.callerOf(request).role)) ??
      problem(reply, 'not-found', 'No request has this id.'),
  );
}

/** Recorded before it is shown: who cannot be recorded sees nothing. */
function addWorker(app: ApiApp, { guard, ...parts }: BidRouteParts): void {
  app.post(
    '/bids/:requestId/worker',
    {
      onRequest: guard.only('operator', 'admin'),
      schema: {
        tags: ['bids'],
        summary:
          'CPF, name and employment links of the worker of a won bid; that it was looked at is recorded with the request',
        params: requestParams,
        body: workerBody,
        response: { 200: answered(workerSchema, 'The worker of the won bid'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { requestId } = request.params;
      const who = guard.identityOf(request);
      const reading = await readWorker(parts, { requestId, who, reason: request.body.reason });
      switch (reading.kind) {
        case 'shown':
          return reading.worker;
        case 'unknown':
          return problem(reply, 'not-found', 'No request has this id.');
        case 'forgotten':
          return problem(reply, 'not-found', 'The log keeps the request no longer.');
        case 'not-won': {
          const detail = `the bid of this request is ${reading.phase}, not won`;
          return problem(reply, 'not-allowed', detail, [{ field: 'requestId', rule: 'bid-won', detail }]);
        }
        default:
          return reading satisfies never;
      }
    },
  );
}

/** A margin that is asked for by CPF is recorded before it is shown, as is that nothing is known of one. */
function addMargins(app: ApiApp, parts: BidRouteParts): void {
  const { views, margins, vault, clock, guard } = parts;
  const reads = createPersonalReads(parts);
  const marginOf = async (linkKey: string | null) =>
    linkKey === null ? undefined : (await margins.read([linkKey], clock.now())).get(linkKey);
  const unknown = 'No margin of this link came within the last 24 hours.';
  app.get(
    '/bids/:requestId/margin',
    {
      onRequest: guard.only('risk', 'operator', 'admin'),
      schema: {
        tags: ['margins'],
        summary: "The margin of the request's link, as far as it still counts",
        params: requestParams,
        response: { 200: answered(marginSchema, 'The margin, as the service told it last'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { requestId } = request.params;
      const state = (await views.read([requestId])).get(requestId)?.state;
      const detail = await marginOf(state?.request?.linkKey ?? null);
      return detail === undefined ? problem(reply, 'not-found', unknown) : marginView(detail);
    },
  );
  app.post(
    '/margins/query',
    {
      onRequest: guard.only('operator', 'admin'),
      schema: {
        tags: ['margins'],
        summary: 'The margin of a link, named in the body so that no CPF stands in an address; the query is recorded',
        body: linkSchema,
        response: { 200: answered(marginSchema, 'The margin, as the service told it last'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { cpf, registration, employerIdType, employerId } = request.body;
      const linkKey = linkKeyOf(vault, cpf, registration, employerIdType, employerId);
      await reads.note(guard.identityOf(request), 'margins-queried', { workerKey: workerKeyOf(vault, cpf), linkKey });
      const detail = await marginOf(linkKey);
      return detail === undefined ? problem(reply, 'not-found', unknown) : marginView(detail);
    },
  );
}

function addLetters(app: ApiApp, parts: BidRouteParts): void {
  const { log, guard, vault, mapping } = parts;
  const line = createLine(lettersLooks);
  app.get(
    '/dead-letters',
    {
      onRequest: guard.only('risk', 'operator', 'admin'),
      schema: {
        tags: ['dead letters'],
        summary:
          'Webhooks that nobody understood: when they came, their keys, and what could not be read; never values',
        querystring: letterQuery,
        response: { 200: answered(letterPage, 'A page of dead letters, in log order'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { partition, from, limit } = request.query;
      const looked = await line(guard.callerOf(request).name, () =>
        listLetters(log, { partition, from, count: limit }, { vault, mapping }),
      );
      if (looked.kind === 'not-done') return problem(reply, 'unavailable', searchesWait);
      const { letters, ...page } = looked.result;
      return {
        letters: letters.map(({ keys, unreadable, ...letter }) => ({
          ...letter,
          keys: keys === null ? null : [...keys],
          unreadable: [...unreadable],
        })),
        ...page,
      };
    },
  );
  app.post(
    '/dead-letters/replay',
    {
      onRequest: guard.only('admin'),
      schema: {
        tags: ['dead letters'],
        summary: 'Read dead letters again, after the mapping was mended, with their original time of receipt',
        body: replayBody,
        response: { 200: answered(replaySchema, 'What became of them'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { partition, from, count, reason } = request.body;
      if (count > parts.replayLimit) {
        const detail = `send at most ${parts.replayLimit}`;
        return problem(reply, 'invalid', detail, [{ field: 'count', rule: 'replay-limit', detail }]);
      }
      const order = { ...guard.identityOf(request), reason: reason === null ? null : withoutCpf(reason) };
      const replay = await replayLetters(parts, { partition, from, count }, order);
      parts.onReplay(order, replay);
      return replay;
    },
  );
  app.post(
    '/dead-letters/:partition/:offset/dismiss',
    {
      onRequest: guard.only('admin'),
      schema: {
        tags: ['dead letters'],
        summary: 'Close a dead letter that nobody will read again; it is kept',
        params: letterParams,
        body: dismissBody,
        response: { 200: answered(dismissedSchema, 'It is closed'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const order = { ...guard.identityOf(request), reason: withoutCpf(request.body.reason) };
      const outcome = await dismissLetter(parts, request.params, order);
      if (outcome.kind === 'letter-unknown')
        return problem(reply, 'not-found', 'No dead letter stands there.', [], outcome);
      if (outcome.kind === 'letter-closed')
        return problem(reply, 'not-allowed', 'It is closed already: it was read again, or dismissed.', [], outcome);
      const { kind: _, ...letter } = outcome;
      parts.onDismiss(order, letter);
      return letter;
    },
  );
}
