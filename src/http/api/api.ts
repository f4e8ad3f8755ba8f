/**
 * The operator API: `/v1`, described by an OpenAPI document that is generated from the schemas, with a readable page at
 * `/v1/docs`. Closed while no token is set.
 */
import type {
  FastifyBaseLogger,
  FastifyError,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { nearestWord } from '../../domain/nearest-word.ts';
import { checkUntrusted } from '../../domain/untrusted-value.ts';
import { type Bodies, codingOf } from '../bodies.ts';
import type { Guard } from './auth.ts';
import { addBidRoutes, type BidRouteParts } from './bid-routes.ts';
import { addControlRoutes, type ControlRouteParts } from './control-routes.ts';
import { addEconomicsRoutes } from './economics-routes.ts';
import { addEndingRoutes, type EndingRouteParts } from './ending-routes.ts';
import { fieldName } from './fields.ts';
import { addFlowRoutes, type FlowRouteParts } from './flow-routes.ts';
import { addLoginRoutes, type LoginRouteParts } from './login-routes.ts';
import { answerError, coded, problem, unreadable } from './problems.ts';
import { longestKey } from './remedies.ts';
import { readJson } from './requests.ts';
import { addReviewRoutes, type ReviewRouteParts } from './review-routes.ts';
import { addRuleRoutes, type RuleRouteParts } from './rule-routes.ts';
import { addStatus, type StatusParts } from './status.ts';
import { addTokenRoutes, type TokenRouteParts } from './token-routes.ts';

export type ApiApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export const apiPrefix = '/v1';

export type ApiParts = Omit<BidRouteParts, 'guard'> &
  Omit<FlowRouteParts, 'guard'> &
  Omit<StatusParts, 'guard'> &
  Omit<ControlRouteParts, 'guard'> &
  Omit<RuleRouteParts, 'guard'> &
  Omit<EndingRouteParts, 'guard'> &
  Omit<ReviewRouteParts, 'guard'> &
  Omit<LoginRouteParts, 'guard' | 'loginFailed'> &
  Omit<TokenRouteParts, 'guard'> & {
    bodyLimitBytes: number;
    version: string;
    onFault: (text: string) => void;
  };

/** What the server has for all its routes. */
type Shared = Pick<LoginRouteParts, 'loginFailed'> & { guard: Guard; bodies: Bodies };

/** Ready when the server listens. */
export function addApi(app: FastifyInstance, parts: ApiParts & Shared): void {
  const routes: FastifyPluginAsync = (scope) => addRoutes(scope, parts);
  void app.register(routes, { prefix: apiPrefix });
}

async function addRoutes(scope: FastifyInstance, parts: ApiParts & Shared): Promise<void> {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const coding = codingOf(request.headers);
    if (coding !== null) throw coded(coding);
    const body = await parts.bodies.read(request.raw, parts.bodyLimitBytes, {
      room: 'api',
      name: parts.guard.callerOf(request).name,
    });
    parts.bodies.release(request.raw);
    const read = readJson(body);
    if (read.kind === 'unreadable') throw unreadable(read.why);
    return read.value;
  });
  scope.setValidatorCompiler((route) => {
    const check = validatorCompiler(route as Parameters<typeof validatorCompiler>[0]);
    return (sent) => checkUntrusted(sent, check);
  });
  scope.setSerializerCompiler(serializerCompiler);
  scope.setErrorHandler((error: FastifyError, request, reply) =>
    answerError(error, reply, { ...parts, schemas: { ...request.routeOptions.schema } }),
  );
  scope.addHook('preParsing', async (request, reply) => {
    const errors = unknownParameters(request);
    return errors.length === 0
      ? undefined
      : problem(reply, 'invalid', `${errors[0]!.field}: ${errors[0]!.detail}.`, errors);
  });
  scope.setNotFoundHandler((_request, reply) => problem(reply, 'not-found', 'There is nothing here.'));
  addDocumentation(scope, parts);
  addOperations(scope.withTypeProvider<ZodTypeProvider>(), parts);
}

function addOperations(app: ApiApp, parts: ApiParts & Shared): void {
  addStatus(app, parts);
  addFlowRoutes(app, parts);
  addBidRoutes(app, parts);
  addEndingRoutes(app, parts);
  addControlRoutes(app, parts);
  addReviewRoutes(app, parts);
  addRuleRoutes(app, parts);
  addEconomicsRoutes(app, parts);
  addTokenRoutes(app, parts);
  addLoginRoutes(app, parts);
}

/** What a browser may ask of a page that it has kept. */
const conditions = ['if-none-match', 'if-modified-since', 'if-range', 'range'] as const;

function addDocumentation(scope: FastifyInstance, parts: ApiParts & Shared): void {
  let making: Promise<FastifyInstance> | null = null;
  const documentation = async () => {
    const { createDocumentation } = await import('./documentation.ts');
    return createDocumentation(apiPrefix, parts, (app) =>
      addOperations(app.withTypeProvider<ZodTypeProvider>(), parts),
    );
  };
  scope.addHook('onClose', async () => (await making?.catch(() => null))?.close());
  for (const path of ['/openapi.json', '/docs', '/docs/*']) {
    scope.get(path, { schema: { hide: true } }, async (request, reply) => {
      // With its dots resolved, as the app that answers sees it: nothing but the documentation is asked of it.
      const { pathname, search } = new URL(request.url, 'http://localhost');
      const isOfDocumentation = [`${apiPrefix}/openapi.json`, `${apiPrefix}/docs`].includes(pathname);
      if (!isOfDocumentation && !pathname.startsWith(`${apiPrefix}/docs/`))
        return problem(reply, 'not-found', 'There is nothing here.');
      making ??= documentation().catch((fault: unknown) => {
        making = null;
        throw fault;
      });
      const headers = Object.fromEntries(
        conditions.flatMap((name) => (name in request.headers ? [[name, request.headers[name]]] : [])),
      );
      const asked = { method: request.method as 'GET' | 'HEAD', url: pathname + search, headers };
      const answer = await (await making).inject(asked);
      const { connection: _ofTheOther, date: _here, ...told } = answer.headers;
      return reply.code(answer.statusCode).headers(told).send(answer.rawPayload);
    });
  }
}

const mostParameters = 10;
const reasonInBody = 'send it in the body of a POST to the same address, as {"reason": "why it is read"}';

/** What names a person is read with a reason, which stands in no address. */
function isReadByPost({ method, server, routeOptions }: FastifyRequest): boolean {
  return (
    method === 'GET' && routeOptions.url !== undefined && server.hasRoute({ method: 'POST', url: routeOptions.url })
  );
}

/** A search whose condition is misspelt would find everything. What has no schema is the documentation, with files of its own. */
function unknownParameters(request: FastifyRequest): { field: string; rule: string; detail: string }[] {
  const schema = request.routeOptions.schema as { querystring?: unknown; hide?: boolean } | undefined;
  if (request.is404 || schema === undefined || schema.hide) return [];
  const known = schema.querystring instanceof z.ZodObject ? Object.keys(schema.querystring.shape) : [];
  const unknown = Object.keys(request.query as object).filter((name) => !known.includes(name));
  const all = known.length === 0 ? 'take it out, this takes no parameters' : `write one of ${known.join(', ')}`;
  return unknown.slice(0, mostParameters).map((name) => {
    const meant = nearestWord(name.slice(0, longestKey), known);
    const how = name === 'reason' && known.length === 0 && isReadByPost(request) ? reasonInBody : all;
    const detail = `is no parameter of this; ${meant === null ? '' : `did you mean ${meant}? `}${how}`;
    return { field: fieldName('querystring', [name]), rule: 'unrecognized_keys', detail };
  });
}
