/** HTTP in: the webhook's route, liveness, readiness, metrics. Bad input is answered with 4xx and never leaks or quotes anything. */
import { createHash, timingSafeEqual } from 'node:crypto';
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type ApiParts, addApi } from './api/api.ts';
import type { Door } from './door.ts';

export type ReadinessCheck = {
  /** Kebab-case, shown by `/readyz?verbose`. */
  name: string;
  /** What is missing, in words for an operator; null when nothing is. */
  missing: () => string | null;
  /** Said when nothing is missing. */
  note?: () => string;
};

export type ServerParts = {
  /** Null in a process that takes no webhooks: the route does not exist there. */
  door: Door | null;
  /** Several are valid at once, so that one can be replaced without a gap. */
  webhookTokens: readonly string[];
  bodyLimitBytes: number;
  /** Progress of the desk: a process that runs and does nothing is not alive. */
  progress: () => { alive: boolean; detail: string };
  checks: readonly ReadinessCheck[];
  metricsText: () => Promise<string>;
  /** Routes of the operator API; null closes it. */
  api: ApiParts | null;
  /** Hears of failures of our own; the text quotes no input. */
  onFault: (text: string) => void;
};

export type Server = {
  /** Resolves to the port that was taken. */
  listen: (host: string, port: number) => Promise<number>;
  /** Takes no new requests and waits for those under way. */
  close: () => Promise<void>;
};

const requestTimeoutMs = 10_000;
const webhookRoute = '/webhooks/:token';

export function createServer(parts: ServerParts): Server {
  const app = fastify({
    logger: false,
    bodyLimit: parts.bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    routerOptions: { maxParamLength: 500 },
    // A path that cannot be decoded is like one that does not exist.
    frameworkErrors: (_error, _request, reply) => notFound(reply as FastifyReply),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setNotFoundHandler((_request, reply) => notFound(reply));
  app.setErrorHandler((error: FastifyError, _request, reply) => answerError(error, reply, parts.onFault));
  if (parts.door !== null) addWebhooks(app, parts.door, parts);
  addHealth(app, parts);
  if (parts.api !== null) addApi(app, parts.api);
  return {
    listen: async (host, port) => {
      await app.listen({ host, port });
      const address = app.server.address();
      return typeof address === 'object' && address !== null ? address.port : port;
    },
    close: () => app.close(),
  };
}

function addWebhooks(app: FastifyInstance, door: Door, parts: ServerParts): void {
  const isToken = tokenCheck(parts.webhookTokens);
  app.post(webhookRoute, {
    // Before the body is read: a wrong token learns nothing, not even the limit of the body.
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const { token } = request.params as { token: string };
      if (!isToken(token)) return notFound(reply);
      if (door.isFull()) {
        return problem(
          reply.header('retry-after', '2'),
          503,
          'unavailable',
          'too many webhooks are waiting; send it again',
        );
      }
      const encoding = request.headers['content-encoding'];
      if (encoding !== undefined && encoding !== 'identity') {
        return problem(reply, 415, 'unsupported', 'a compressed body is not read; send it uncompressed');
      }
      return undefined;
    },
    handler: async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const answer = await door.receive(body);
      if (answer.retryAfterS !== undefined) reply.header('retry-after', String(answer.retryAfterS));
      return reply.code(answer.status).type('application/json').send(answer.body);
    },
  });
}

/** Compares digests, all of them every time: neither length nor place of a difference shows in the time it takes. */
function tokenCheck(tokens: readonly string[]): (token: string) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const known = tokens.map(digest);
  return (token) => {
    const given = digest(token);
    let found = false;
    for (const candidate of known) found = timingSafeEqual(candidate, given) || found;
    return found;
  };
}

function addHealth(app: FastifyInstance, parts: ServerParts): void {
  app.get('/livez', async (_request, reply) => {
    const { alive, detail } = parts.progress();
    return plain(reply, alive ? 200 : 503, `${detail}\n`);
  });
  app.get('/readyz', async (request, reply) => {
    const results = parts.checks.map(({ name, missing, note }) => ({ name, missing: missing(), note }));
    const ready = results.every((result) => result.missing === null);
    const query = request.query as Record<string, unknown>;
    const lines =
      'verbose' in query
        ? results.map(({ name, missing, note }) => {
            if (missing !== null) return `[-] ${name}: ${missing}\n`;
            return `[+] ${name}${note === undefined ? '' : `: ${note()}`}\n`;
          })
        : [];
    return plain(reply, ready ? 200 : 503, `${lines.join('')}${ready ? 'ready' : 'not ready'}\n`);
  });
  app.get('/metrics', async (_request, reply) => {
    const text = await parts.metricsText();
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(text);
  });
}

function plain(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type('text/plain; charset=utf-8').send(text);
}

function problem(reply: FastifyReply, status: number, name: string, detail: string): FastifyReply {
  return reply
    .code(status)
    .type('application/json')
    .send(JSON.stringify({ problem: name, detail }));
}

/** One answer for a wrong token, an unknown path and a wrong method. */
function notFound(reply: FastifyReply): FastifyReply {
  return problem(reply, 404, 'not-found', 'there is nothing here');
}

function answerError(error: FastifyError, reply: FastifyReply, onFault: (text: string) => void): FastifyReply {
  const status = error.statusCode ?? 500;
  if (status === 413) return problem(reply, 413, 'too-large', 'the body is larger than allowed; send it in parts');
  if (status >= 400 && status < 500) return problem(reply, status, 'refused', 'the request could not be read');
  // The message of an unforeseen error may quote what was sent; its name does not.
  onFault(`an HTTP request failed: ${error.name}`);
  return problem(reply, 500, 'internal', 'the request could not be served');
}
