/**
 * The operator API: `/v1`, described by an OpenAPI document that is generated from the schemas, with a readable page at
 * `/v1/docs`. Closed while no token is set.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
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
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import { z } from 'zod';
import { nearestWord } from '../../domain/nearest-word.ts';
import { checkUntrusted } from '../../domain/untrusted-value.ts';
import { membersIn, parseJson, repeatedKey } from '../../wire/json.ts';
import { type Bodies, codingOf } from '../bodies.ts';
import { type Guard, sessionCookieName } from './auth.ts';
import { addBidRoutes, type BidRouteParts } from './bid-routes.ts';
import { addControlRoutes, type ControlRouteParts } from './control-routes.ts';
import { addEndingRoutes, type EndingRouteParts } from './ending-routes.ts';
import { fieldName, headerName } from './fields.ts';
import { addFlowRoutes, type FlowRouteParts } from './flow-routes.ts';
import { addLoginRoutes, type LoginRouteParts } from './login-routes.ts';
import { answerError, coded, problem, problemHeaders, unreadable } from './problems.ts';
import { keyText, longestKey } from './remedies.ts';
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
  Omit<LoginRouteParts, 'guard' | 'loginFailed'> &
  Omit<TokenRouteParts, 'guard'> & {
    bodyLimitBytes: number;
    version: string;
    onFault: (text: string) => void;
  };

/** The page loads from here and nowhere else, by the protocol it came by: TLS is the proxy's, and there may be none. */
const pagePolicy =
  "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; img-src 'self' data:; object-src 'none'";

/** No answer has links, so their column goes; on a narrow screen the cells of a table stand below each other. */
const pageStyle = `
.swagger-ui .topbar, .swagger-ui .response-col_links { display: none }
.swagger-ui .markdown code, .swagger-ui .renderedMarkdown code { overflow-wrap: anywhere }
.swagger-ui .models-control { overflow-wrap: anywhere }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 8px }
  .swagger-ui table.responses-table, .swagger-ui table.parameters, .swagger-ui table.responses-table > tbody,
  .swagger-ui table.parameters > tbody, .swagger-ui table.responses-table > tbody > tr, .swagger-ui table.parameters > tbody > tr,
  .swagger-ui table.responses-table > tbody > tr > td, .swagger-ui table.parameters > tbody > tr > td
  { display: block; width: auto; max-width: none }
  .swagger-ui table.responses-table > thead, .swagger-ui table.parameters > thead { display: none }
  .swagger-ui table.responses-table > tbody > tr > td, .swagger-ui table.parameters > tbody > tr > td { padding: 4px 0 }
  .swagger-ui table.responses-table > tbody > tr > td.response-col_links { display: none }
  .swagger-ui .responses-inner, .swagger-ui .opblock .opblock-section-header,
  .swagger-ui .parameters-container .table-container { padding: 8px }
  .swagger-ui select { max-width: 100% }
}`;

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
    return readJson(body);
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
  await scope.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Lance',
        version: parts.version,
        description:
          'The bidding desk, for operators and for the screens of a partner. Amounts are whole cents, rates hundredths of a percent a month, times epoch ms. Errors are problem documents (RFC 9457). ' +
          'What the service wrote may name a worker: `(sealed)` stands in its place for the roles viewer and risk, and its codes and our own reasons are shown to all. ' +
          `A body has at most ${parts.bodyLimitBytes} bytes (setting api.bodyLimitBytes), and is sent as it is: one with a Content-Encoding, such as gzip, is answered with 415.`,
      },
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: parts.login === null ? 'lance_session' : sessionCookieName(parts.login),
          },
          page: { type: 'apiKey', in: 'header', name: 'X-CSRF-Token' },
        },
      },
      security: [{ token: [] }, { session: [], page: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: (document) => withHeaders(withAnswersAlone(jsonSchemaTransformObject(document))),
  });
  const css = [{ filename: 'page.css', content: pageStyle }];
  await scope.register(swaggerUi, {
    routePrefix: '/docs',
    // Without a slash at its end the page refers to its files from the root, where the prefix of the scope counts.
    indexPrefix: apiPrefix,
    staticCSP: pagePolicy,
    theme: { title: 'Lance: API', css },
    uiConfig: { validatorUrl: null },
  });
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.get('/openapi.json', { schema: { hide: true } }, async () => scope.swagger());
  addStatus(app, parts);
  addFlowRoutes(app, parts);
  addBidRoutes(app, parts);
  addEndingRoutes(app, parts);
  addControlRoutes(app, parts);
  addRuleRoutes(app, parts);
  addTokenRoutes(app, parts);
  addLoginRoutes(app, parts);
}

const mostParameters = 10;

/** A search whose condition is misspelt would find everything. What has no schema is the documentation, with files of its own. */
function unknownParameters(request: FastifyRequest): { field: string; rule: string; detail: string }[] {
  const schema = request.routeOptions.schema as { querystring?: unknown; hide?: boolean } | undefined;
  if (request.is404 || schema === undefined || schema.hide) return [];
  const known = schema.querystring instanceof z.ZodObject ? Object.keys(schema.querystring.shape) : [];
  const unknown = Object.keys(request.query as object).filter((name) => !known.includes(name));
  const all = known.length === 0 ? 'take it out, this takes no parameters' : `write one of ${known.join(', ')}`;
  return unknown.slice(0, mostParameters).map((name) => {
    const meant = nearestWord(name.slice(0, longestKey), known);
    const detail = `is no parameter of this; ${meant === null ? '' : `did you mean ${meant}? `}${all}`;
    return { field: fieldName('querystring', [name]), rule: 'unrecognized_keys', detail };
  });
}

/** Nested no deeper than anything that is meant: functions that call themselves write it again. */
function readJson(body: Buffer): unknown {
  const read = parseJson(body);
  if (read.kind === 'malformed') throw unreadable(read.text);
  if (membersIn(read.value) === read.members) return read.value;
  const key = keyText(repeatedKey(body.toString()) ?? '');
  throw unreadable(`an object in the body says a key twice, and which value is meant nobody knows; send ${key} once`);
}

type Described = { responses?: Record<string, object>; parameters?: { in: string; name: string }[] };
type Paths = { paths?: Record<string, Record<string, Described>> };

/** What the schemas of routes cannot say: names of headers as people write them, and the headers that come with a problem. */
function withHeaders<T extends object>(document: T): T {
  for (const operation of Object.values((document as Paths).paths ?? {}).flatMap((methods) => Object.values(methods))) {
    for (const parameter of operation.parameters ?? [])
      if (parameter.in === 'header') parameter.name = headerName(parameter.name);
    for (const [status, headers] of Object.entries(problemHeaders)) {
      const response = operation.responses?.[status];
      if (response === undefined) continue;
      const described = Object.entries(headers).map(([name, description]) => [
        name,
        { description, schema: { type: 'string' } },
      ]);
      Object.assign(response, { headers: Object.fromEntries(described) });
    }
  }
  return document;
}

type Components = { components?: { schemas?: Record<string, unknown> } };

/** Schemas that have a name are those of answers; written out for requests as well, nothing would refer to them. */
function withAnswersAlone<T extends object>(document: T): T {
  const { components = {} } = document as Components;
  const text = JSON.stringify(document);
  const schemas = Object.entries(components.schemas ?? {}).filter(([name]) =>
    text.includes(`"#/components/schemas/${name}"`),
  );
  return { ...document, components: { ...components, schemas: Object.fromEntries(schemas) } };
}
