/** Flows over HTTP: begun once under their key, read, taken step by step, their history and answers. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EventLog, NewEntry, Views } from '../../bidding/ports.ts';
import { unknownWinners } from '../../bidding/unknown-winners.ts';
import type { Clock } from '../../domain/clock.ts';
import type { FlowStep } from '../../domain/flow-records.ts';
import type { Vault } from '../../domain/vault.ts';
import type { FlowFront, FrontResult } from '../../origination/front.ts';
import type { ShownBids } from '../../origination/lost-bids.ts';
import type { StepSettings } from '../../origination/next-steps.ts';
import { type Asker, flowMeant } from '../../origination/orders.ts';
import type { FlowStore } from '../../origination/ports.ts';
import { type OpenSealed, openedOnce } from '../../origination/shown-flows.ts';
import { stepsOf } from '../../origination/steps.ts';
import { unorderedBids } from '../../origination/unordered-bids.ts';
import { readResult } from '../../origination/worker-reading.ts';
import { type AskedBids, bidsOfAll } from '../../queries/asked-bids.ts';
import { canonicalDigits } from '../../wire/json.ts';
import type { ApiApp } from './api.ts';
import type { Guard } from './auth.ts';
import { answered } from './described.ts';
import { wholePath } from './fields.ts';
import { createFlowReader } from './flow-reader.ts';
import { problem, problemResponses } from './problems.ts';
import { contractAsked, lookupAsked, renegotiationAsked, stepAsked, withdrawalAsked } from './requests.ts';
import {
  contractBody,
  contractPage,
  eventPage,
  eventParams,
  eventQuery,
  flowPage,
  flowParams,
  flowQuery,
  flowSchema,
  historySchema,
  idempotency,
  lookupBody,
  renegotiationBody,
  resultParams,
  resultSchema,
  stepBodies,
  stepNotes,
  stepTexts,
  waitsForAnybody,
  withdrawalBody,
  workerBody,
} from './schemas.ts';
import { createTurns, type Turns } from './turns.ts';
import { flowPageOf, flowView } from './views.ts';

export type FlowRouteParts = {
  front: FlowFront;
  flows: Omit<FlowStore, 'apply'>;
  log: Pick<EventLog, 'readKey' | 'read' | 'ends'>;
  views: Pick<Views, 'applied' | 'findByBid' | 'missing' | 'query'> & ShownBids;
  append: (entries: readonly NewEntry[]) => Promise<void>;
  clock: Clock;
  vault: Vault;
  guard: Guard;
  askedBids?: Pick<AskedBids, 'search'> | null;
  /** By what a step is refused, and what they know of the service's numbers for where a proposal stands. */
  flowSettings: StepSettings;
};

const flowKindPaths = [
  { path: '/contracts', flow: 'contract' },
  { path: '/renegotiations', flow: 'renegotiation' },
  { path: '/withdrawals', flow: 'withdrawal' },
  { path: '/lookups', flow: 'lookup' },
] as const;
type KindPath = (typeof flowKindPaths)[number];

/** For a path of `/v1` that is that of a step but for the step's name: which steps that kind of flow has. Null: it is none. */
export function stepsNear(path: string): { flow: KindPath['flow']; steps: readonly FlowStep[] } | null {
  const [, flow] = /^(\/[a-z]+)\/[^/?]+\/[^/?]+\/?(?:\?|$)/.exec(path) ?? [];
  const kind = flowKindPaths.find((each) => each.path === flow);
  return kind === undefined ? null : { flow: kind.flow, steps: stepsOf(kind.flow) };
}

export function addFlowRoutes(app: ApiApp, given: FlowRouteParts): void {
  const reader = createFlowReader(given);
  const parts = { ...given, flows: reader.flows, reader, turns: createTurns() };
  addStarts(app, parts);
  for (const kind of flowKindPaths) {
    addReads(app, parts, kind);
    for (const step of stepsOf(kind.flow)) addStep(app, parts, kind, step);
  }
  addEvents(app, parts);
  addClosing(app, parts);
}

type WithReader = FlowRouteParts & { reader: ReturnType<typeof createFlowReader> };
type InTurns = FlowRouteParts & { turns: Turns };

function addStarts(app: ApiApp, { front, vault, guard, turns, flowSettings }: InTurns): void {
  const common = { tags: ['flows'], headers: idempotency };
  const response = {
    200: answered(flowSchema, 'Begun before with the same key: where it stands now'),
    201: answered(flowSchema, `It is begun; \`nextSteps\` say what may follow. ${onceSaid(201)}`),
    ...problemResponses,
  };
  const onRequest = guard.only('operator', 'admin');
  const begin = async (request: FastifyRequest, reply: FastifyReply, start: (asker: Asker) => Promise<FrontResult>) => {
    const asker = { ...guard.identityOf(request), key: String(request.headers['idempotency-key']) };
    const result = await turns(`${request.routeOptions.url}\n${asker.key}`, () => start(asker));
    return answer(reply, result, { fresh: 201, open: vault.open, flowSettings });
  };
  app.post(
    '/contracts',
    { onRequest, schema: { ...common, summary: 'Begin the contract of a won bid', body: contractBody, response } },
    async (request, reply) => begin(request, reply, (asker) => front.startContract(asker, contractAsked(request.body))),
  );
  app.post(
    '/renegotiations',
    {
      onRequest,
      schema: { ...common, summary: 'Renegotiate a loan closed by termination', body: renegotiationBody, response },
    },
    async (request, reply) =>
      begin(request, reply, (asker) => front.startRenegotiation(asker, renegotiationAsked(request.body))),
  );
  app.post(
    '/withdrawals',
    { onRequest, schema: { ...common, summary: 'Begin a withdrawal-backed loan', body: withdrawalBody, response } },
    async (request, reply) =>
      begin(request, reply, (asker) => front.startWithdrawal(asker, withdrawalAsked(request.body))),
  );
  app.post(
    '/lookups',
    {
      onRequest,
      schema: { ...common, summary: "Ask for a worker's employments on demand", body: lookupBody, response },
    },
    async (request, reply) => begin(request, reply, (asker) => front.startLookup(asker, lookupAsked(request.body))),
  );
}

/** What `status` promises of several that come at once. */
function onceSaid(status: number): string {
  return `Of several with one key that come at the same moment, one is answered with ${status} and the others with 200; where they reach different processes of the desk, ${status} may be answered more than once, and it is done once all the same`;
}

function addStep(
  app: ApiApp,
  { front, flows, vault, guard, turns, flowSettings }: InTurns,
  { path, flow }: KindPath,
  step: FlowStep,
): void {
  const note = stepNotes[step]?.[flow];
  app.post(
    `${path}/:flowId/${step}`,
    {
      onRequest: guard.only('operator', 'admin'),
      schema: {
        tags: ['steps'],
        summary: `${stepTexts[step]} (${flow})`,
        ...(note === undefined ? {} : { description: note }),
        headers: idempotency,
        params: flowParams,
        body: stepBodies[step],
        response: {
          200: answered(flowSchema, 'Asked for before with the same key: where the flow stands now'),
          202: answered(flowSchema, `Taken; it is done as soon as it can be. ${onceSaid(202)}`),
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const { flowId } = request.params;
      const state = (await flows.read([flowId])).get(flowId);
      if (state?.flow !== flow) return notFound(reply, flows, { path, flow }, flowId);
      const asker = { ...guard.identityOf(request), key: request.headers['idempotency-key'] };
      const asked = stepAsked(step, request.body as never);
      const result = await turns(`${flowId}\n${asker.key}`, () => front.ask(flowId, asker, asked));
      return answer(reply, result, { fresh: 202, open: vault.open, flowSettings });
    },
  );
}

async function wonBidsOf({ flows, views, askedBids = null, vault, flowSettings, clock }: WithReader, limit: number) {
  const all = askedBids === null ? null : bidsOfAll(askedBids);
  const open = openedOnce(vault.open);
  const around = { unfolded: null, settings: flowSettings, open, now: clock.now() };
  const { bids, whole } = await unorderedBids({ views: all ?? views, flows }, around);
  return {
    wonBids: bids
      .slice(0, limit)
      .map(({ phase: state, ...bid }) => ({ ...bid, state: state as 'proposed' | 'contemplated' })),
    wonBidsWhole: whole && bids.length <= limit && (all?.missing() ?? []).length === 0,
  };
}

function addReads(app: ApiApp, parts: WithReader, { path, flow }: KindPath): void {
  const { flows, reader, guard, flowSettings, clock } = parts;
  const roleOf = (request: FastifyRequest) => guard.callerOf(request).role;
  app.get(
    path,
    {
      onRequest: guard.only(),
      schema: {
        tags: ['flows'],
        summary: `Every ${flow}, latest first`,
        querystring: flowQuery(flow),
        response: {
          200: answered(flow === 'contract' ? contractPage : flowPage, 'A page of flows, latest first'),
          ...problemResponses,
        },
      },
    },
    async (request) => {
      const { limit, waitsFor, before } = request.query;
      const { states, next } = await reader.page({ ...request.query, flow });
      const page = flowPageOf(states, limit, reader.openFor(roleOf(request)), flowSettings, clock.now(), next);
      const isFirstOfWaiting = flow === 'contract' && waitsFor === waitsForAnybody && before === undefined;
      return isFirstOfWaiting ? { ...page, ...(await wonBidsOf(parts, limit)) } : page;
    },
  );
  app.get(
    `${path}/:flowId`,
    {
      onRequest: guard.only(),
      schema: {
        tags: ['flows'],
        summary: `Where a ${flow} stands, and what may be done next`,
        params: flowParams,
        response: { 200: answered(flowSchema, 'Where it stands'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { flowId } = request.params;
      const state = await reader.find(flow, flowId);
      if (state === null) return notFound(reply, flows, { path, flow }, flowId);
      const role = roleOf(request);
      return {
        ...flowView(state, reader.openFor(role), flowSettings, clock.now()),
        waitingEvents: await reader.waitingEvents(state, role),
      };
    },
  );
  app.get(
    `${path}/:flowId/history`,
    {
      onRequest: guard.only(),
      schema: {
        tags: ['flows'],
        summary: 'Its records in log order; what the service and colleagues wrote is for operator and admin',
        params: flowParams,
        response: { 200: answered(historySchema, 'Its records in log order'), ...problemResponses },
      },
    },
    async (request, reply) => {
      const { flowId } = request.params;
      const state = await reader.find(flow, flowId);
      if (state === null) return notFound(reply, flows, { path, flow }, flowId);
      return { records: await reader.history(state, roleOf(request)) };
    },
  );
  const shown = async (request: FastifyRequest, reply: FastifyReply, asked: ResultAsked, reason: string | null) => {
    const state = await reader.find(flow, asked.flowId);
    if (state === null) return notFound(reply, flows, { path, flow }, asked.flowId);
    const who = guard.identityOf(request);
    return (
      (await readResult(parts, state, { what: asked.operation, who, reason })) ??
      problem(
        reply,
        'not-found',
        'The service has not answered such an operation of this flow; `results` names those that it has.',
      )
    );
  };
  const result = {
    tags: ['flows'],
    params: resultParams,
    response: { 200: answered(resultSchema, "The service's last answer to the operation"), ...problemResponses },
  };
  const onRequest = guard.only('operator', 'admin');
  app.get(
    `${path}/:flowId/results/:operation`,
    {
      onRequest,
      schema: {
        ...result,
        summary:
          "The service's last answer to an operation, as it came; it may name the worker of this flow. Who read it is recorded",
      },
    },
    async (request, reply) => shown(request, reply, request.params, null),
  );
  app.post(
    `${path}/:flowId/results/:operation`,
    {
      onRequest,
      schema: {
        ...result,
        summary: "The service's last answer to an operation, as it came; who read it and why is recorded",
        body: workerBody,
      },
    },
    async (request, reply) => shown(request, reply, request.params, request.body.reason),
  );
}

type ResultAsked = { flowId: string; operation: string };

function addEvents(app: ApiApp, { flows, log, views, reader, guard, flowSettings, clock }: WithReader): void {
  app.get(
    '/events',
    {
      onRequest: guard.only(),
      schema: {
        tags: ['flows'],
        summary: 'What the service told under a code that no flow knows',
        querystring: eventQuery,
        response: { 200: answered(eventPage, 'A page of events, latest first'), ...problemResponses },
      },
    },
    async (request) => {
      const { phase = 'unclaimed', limit, before = null } = request.query;
      const page = flowPageOf(
        await flows.query({ flow: 'event', phase, code: null, limit, before }),
        limit,
        reader.openFor(guard.callerOf(request).role),
        flowSettings,
        clock.now(),
      );
      const isFirst = phase === 'unclaimed' && before === null;
      const { winners, whole } = isFirst ? await unknownWinners({ log, views }) : { winners: [], whole: true };
      const isAll = whole && winners.length <= limit;
      return { ...page, unknownWinners: winners.slice(0, limit), unknownWinnersWhole: isAll };
    },
  );
}

function addClosing(app: ApiApp, { front, flows, vault, guard, turns, flowSettings }: InTurns): void {
  app.post(
    '/events/:flowId/cancel',
    {
      onRequest: guard.only('operator', 'admin'),
      schema: {
        tags: ['steps'],
        summary:
          "End an event that is no flow's; should a flow turn out to wait for it, it is given to it all the same",
        headers: idempotency,
        params: eventParams,
        body: stepBodies.cancel,
        response: {
          200: answered(flowSchema, 'Asked for before with the same key: where the event stands now'),
          202: answered(flowSchema, `It is closed. ${onceSaid(202)}`),
          ...problemResponses,
        },
      },
    },
    async (request, reply) => {
      const { flowId } = request.params;
      if ((await flows.read([flowId])).get(flowId)?.flow !== 'event') {
        const hint = `GET ${reply.server.prefix}/events lists them with their ids.`;
        return problem(reply, 'not-found', `No event has this id. ${hint}`);
      }
      const asker = { ...guard.identityOf(request), key: request.headers['idempotency-key'] };
      const asked = stepAsked('cancel', request.body);
      const result = await turns(`${flowId}\n${asker.key}`, () => front.ask(flowId, asker, asked));
      return answer(reply, result, { fresh: 202, open: vault.open, flowSettings });
    },
  );
}

async function notFound(
  reply: FastifyReply,
  flows: Pick<FlowStore, 'read'>,
  { path, flow }: Pick<KindPath, 'path' | 'flow'>,
  flowId: string,
): Promise<FastifyReply> {
  const meant = await flowMeant(flows, flow, flow === 'contract' ? canonicalDigits(flowId) : flowId);
  const there = flowKindPaths.find((kind) => kind.flow === meant?.flow);
  const hint =
    meant !== null && there !== undefined
      ? ` There is ${reply.server.prefix}${there.path}/${meant.flowId}.`
      : ` GET ${reply.server.prefix}${path} lists them with their ids.`;
  return problem(reply, 'not-found', `No flow of this kind has this id.${hint}`);
}

const notFolded = 'it is written, and no desk has taken it up in time; ask again with the same key';

type Answering = { fresh: 201 | 202; open: OpenSealed; flowSettings: StepSettings };

function answer(reply: FastifyReply, result: FrontResult, { fresh, open, flowSettings }: Answering): FastifyReply {
  if (result.kind === 'written') {
    return problem(reply, 'unavailable', notFolded, [{ field: 'flowId', rule: 'desk-running', detail: notFolded }]);
  }
  if (result.kind !== 'refused')
    return reply.code(result.kind === 'taken' ? fresh : 200).send(flowView(result.state, open, flowSettings));
  const { body, routeOptions } = reply.request;
  const { body: schema } = (routeOptions.schema ?? {}) as { body?: unknown };
  const errors = result.breaches.map(({ field, rule, problem: detail }) => ({
    field: wholePath(field, body, schema),
    rule,
    detail,
  }));
  const detail = errors[0]?.detail ?? 'It was refused.';
  return problem(reply, result.problem, detail, errors);
}
