/**
 * The description of the API: an OpenAPI document that is generated from the schemas of the routes, and a readable page. Few
 * processes are ever asked for it, and making it would be a tenth of each start. So it is made when somebody first asks, by an app
 * of its own that has the same routes and is asked for nothing else.
 */
import assert from 'node:assert/strict';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod';
import { sessionCookieName } from './auth.ts';
import { headerName } from './fields.ts';
import type { LoginRouteParts } from './login-routes.ts';
import { problem, problemHeaders } from './problems.ts';

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

export type About = Pick<LoginRouteParts, 'login'> & { version: string; bodyLimitBytes: number };

/** `addRoutes` adds what is described. Paths are those of the API, with the prefix. */
export async function createDocumentation(
  prefix: string,
  about: About,
  addRoutes: (scope: FastifyInstance) => void,
): Promise<FastifyInstance> {
  const routes: FastifyPluginAsync = async (scope) => {
    scope.setValidatorCompiler(validatorCompiler);
    scope.setSerializerCompiler(serializerCompiler);
    await scope.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Lance',
          version: about.version,
          description:
            'The bidding desk, for operators and for the screens of a partner. Amounts are whole cents, rates hundredths of a percent a month, times epoch ms. Errors are problem documents (RFC 9457). ' +
            'What the service wrote may name a worker: `(sealed)` stands in its place for the roles viewer and risk, and its codes and our own reasons are shown to all. ' +
            `A body has at most ${about.bodyLimitBytes} bytes (setting api.bodyLimitBytes), and is sent as it is: one with a Content-Encoding, such as gzip, is answered with 415.`,
        },
        components: {
          securitySchemes: {
            token: { type: 'http', scheme: 'bearer' },
            session: {
              type: 'apiKey',
              in: 'cookie',
              name: about.login === null ? 'lance_session' : sessionCookieName(about.login),
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
      indexPrefix: prefix,
      staticCSP: pagePolicy,
      theme: { title: 'Lance: API', css },
      uiConfig: { validatorUrl: null },
    });

    scope.get('/openapi.json', { schema: { hide: true } }, async () => scope.swagger());
    scope.addHook('onRoute', (route) => {
      route.handler = () => assert.fail('a route of the documentation is described and not served');
    });
    addRoutes(scope);
  };
  const app = fastify({ logger: false });
  app.setNotFoundHandler((_request, reply) => problem(reply, 'not-found', 'There is nothing here.'));
  await app.register(routes, { prefix });
  await app.ready();
  return app;
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
