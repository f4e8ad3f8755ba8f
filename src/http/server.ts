/**
 * HTTP in: the webhook's route, liveness, readiness, metrics. Bad input is answered with 4xx and never leaks or quotes anything.
 * A request without a valid token is answered before its body is read, and only so often.
 */
import assert from 'node:assert/strict';
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { nearestWord } from '../domain/nearest-word.ts';
import { printable } from '../domain/printable.ts';
import {
  type Address,
  type Addresses,
  addressFault,
  addressSettings,
  hostAddresses,
  trustedNetworks,
} from './address.ts';
import { type ApiParts, addApi, apiPrefix } from './api/api.ts';
import type { Guard } from './api/auth.ts';
import { stepsNear } from './api/flow-routes.ts';
import { problem as apiProblem, failureText } from './api/problems.ts';
import type { DaemonStatus } from './api/status.ts';
import { type Bodies, codingOf, createBodies, drain, isTransferCoded } from './bodies.ts';
import { type Connections, limitConnections, type Proof } from './connections.ts';
import type { Door } from './door.ts';
import { addressKey, createVisitors, type VisitorLimits, type Visitors } from './visitors.ts';

const readinessRoles = ['ingress', 'engine'] as const;
type ReadinessRole = (typeof readinessRoles)[number];

export type ReadinessCheck = {
  /** Kebab-case, shown by `/readyz?verbose`. */
  name: string;
  /** Who needs it: those who take webhooks, or those who bid. `/readyz?role=…` asks for one of them. */
  role: ReadinessRole;
  /** What is missing, in words for an operator; null when nothing is. */
  missing: () => string | null;
  /** Said when nothing is missing; `names`: who asks may read colleagues' names and what they wrote. */
  note?: (names: boolean) => string;
  /** Nothing is missing, and what the note says has to be put right all the same. */
  isIll?: () => boolean;
};

type ServerLimits = VisitorLimits & {
  /** Of one webhook. */
  bodyLimitBytes: number;
  /** Of all webhooks that are being read or worked on. */
  bodiesLimitBytes: number;
  /** Of each address that is listened on. */
  connectionLimit: number;
};

/** What is told of a request that was turned away, for metrics and journal. Carries no token. */
export type RefusalReport = {
  problem:
    | 'failed-login'
    | 'too-many-failed-logins'
    | 'too-many-requests'
    | 'bodies-full'
    | 'queue-full'
    | 'connection-limit';
  /** Where a token was shown. */
  at: 'webhooks' | 'api' | null;
  /** Of the sender; null where it is not told one by one. */
  address: string | null;
  /** False for those that follow the first of their kind in a minute. */
  isNews: boolean;
  /** Of a log-in that was refused, where there is more to say: in words, without anything that was sent. */
  why?: string;
};

/** What pages have from the server. `loginFailed` counts a log-in that was refused; `isLimited`: this address has had too many. */
export type PageServer = {
  bodies: Bodies;
  loginFailed: (address: string, why: string) => { isLimited: boolean };
};

/** Answers who came with a browser to a path that is not there. Nothing was read of the path: it may not be decodable. */
export type UnknownPage = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export type ServerParts = {
  /** Null in a process that takes no webhooks: the route does not exist there. */
  door: Door | null;
  /** Several are valid at once, so that one can be replaced without a gap. */
  webhookTokens: readonly string[];
  limits: ServerLimits;
  /** Addresses or networks whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  /** Never goes back. */
  monotonicMs: () => number;
  /** Progress of the desk: a process that runs and does nothing is not alive. */
  progress: () => { alive: boolean; detail: string };
  checks: readonly ReadinessCheck[];
  metricsText: () => Promise<string>;
  /** Served beside the metrics, to whoever may read those: it names nobody. */
  status: () => DaemonStatus;
  /** Routes of the operator API, and who is let in there; null closes it. */
  api: (ApiParts & { guard: Guard }) | null;
  /** Pages for people, served beside the API; left out: there are none. */
  addPages?: (app: FastifyInstance, server: PageServer) => UnknownPage;
  /** Hears of failures of our own; the text quotes no input. */
  onFault: (text: string) => void;
  onRefusal: (report: RefusalReport) => void;
};

type Purpose = Exclude<keyof Addresses, 'common'>;
const purposes: readonly Purpose[] = ['webhooks', 'api', 'metrics'];

export type Server = {
  /**
   * Takes all addresses and resolves to their ports. Until `open` every request is answered with 503, but `/livez`. Rejects with
   * `address-in-use` or `address-unusable` when one cannot be had.
   */
  listen: (addresses: Addresses) => Promise<Record<keyof Addresses, number>>;
  /** From now on requests are served. */
  open: () => void;
  /** Takes no new requests and waits for those under way, but not for ever: a sender may stop in the middle. */
  close: () => Promise<void>;
};

/** From the first byte of a request to the last of its body. */
const requestTimeoutMs = 10_000;
/** How often it is looked who is too slow: by default every 30 s, which is far longer than the timeout. */
const timeoutLookMs = 1_000;
/** Less than the process waits for its end. */
const closeTimeoutMs = 5_000;
const webhookRoute = '/webhooks/:token';
const statusPath = '/status';
const healthPaths: ReadonlySet<string> = new Set(['/livez', '/readyz']);

/** What all listeners have in common. */
type Common = ServerParts & {
  bodies: Bodies;
  visitors: Visitors;
  isWebhookToken: (token: string) => boolean;
  guard: Guard | null;
  isOpen: () => boolean;
};

export function createServer(parts: ServerParts): Server {
  let isOpen = false;
  const rooms = { webhookBytes: parts.limits.bodiesLimitBytes, apiBodyBytes: parts.api?.bodyLimitBytes ?? 0 };
  const common: Common = {
    ...parts,
    bodies: createBodies(rooms, parts.monotonicMs, (at) =>
      parts.onRefusal({ problem: 'bodies-full', at, address: null, isNews: false }),
    ),
    visitors: createVisitors(parts.limits, parts.monotonicMs),
    isWebhookToken: tokenCheck(parts.webhookTokens),
    guard: parts.api?.guard ?? null,
    isOpen: () => isOpen,
  };
  const apps: FastifyInstance[] = [];

  async function listenAt(name: keyof Addresses, { host, port }: Address, serves: readonly Purpose[]): Promise<number> {
    const [first, ...others] = await hostAddresses(host);
    const listening = async (address: string, wanted: number): Promise<number> => {
      const app = createApp(common, new Set(serves));
      apps.push(app);
      await app.listen({ host: address, port: wanted });
      return (app.server.address() as AddressInfo).port;
    };
    const own = await listening(first, port).catch((error: unknown) => {
      throw addressFault({ host, port }, addressSettings[name], error);
    });
    // A name of this machine may stand for addresses that it does not have.
    await Promise.allSettled(others.map((address) => listening(address, own)));
    return own;
  }

  return {
    listen: async (addresses) => {
      const shared = purposes.filter((purpose) => addresses[purpose] === null);
      const port = await listenAt('common', addresses.common, shared);
      const ports = { common: port, webhooks: port, api: port, metrics: port };
      for (const purpose of purposes) {
        const own = addresses[purpose];
        if (own !== null) ports[purpose] = await listenAt(purpose, own, [purpose]);
      }
      return ports;
    },
    open: () => {
      isOpen = true;
    },
    close: async () => {
      // While it closes, the server looks no longer who is too slow.
      const timer = setTimeout(() => {
        for (const { server } of apps) server.closeAllConnections();
      }, closeTimeoutMs);
      await Promise.all(apps.map((app) => app.close()));
      clearTimeout(timer);
    },
  };
}

const noSchemasHere = (): never => assert.fail('a route outside the API has a schema');

function createApp(common: Common, serves: ReadonlySet<Purpose>): FastifyInstance {
  const { limits, trustedProxies, monotonicMs, onFault, onRefusal, door, api, bodies, addPages } = common;
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    // Node takes the longer of the two times for the whole request, and its own default for the head is a minute.
    http: { connectionsCheckingInterval: timeoutLookMs, headersTimeout: requestTimeoutMs },
    trustProxy: trustedProxies.length === 0 ? false : trustedNetworks(trustedProxies),
    routerOptions: { maxParamLength: 500 },
    // Schemas stand in the API alone, which brings its own compilers. Fastify's would cost each start 80 ms.
    schemaController: { compilersFactory: { buildValidator: noSchemasHere, buildSerializer: noSchemasHere } },
    // A path that cannot be decoded is like one that does not exist.
    frameworkErrors: (_error, request, reply) => {
      drain(request.raw as IncomingMessage);
      answerUnread(request as FastifyRequest, reply as FastifyReply);
    },
  });
  const connections = limitConnections(app.server, limits.connectionLimit, monotonicMs, () =>
    onRefusal({ problem: 'connection-limit', at: null, address: null, isNews: false }),
  );
  // Node answers an expectation that it does not know by itself, past every check and limit. It may be left aside (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  const { methodsAt, pathNear } = collectRoutes(app);
  let unknownPage: UnknownPage | null = null;
  const nothingAt = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    unknownPage !== null && isReadByPerson(request) ? await unknownPage(request, reply) : notFound(reply);
  /** No hook runs for such a request. */
  const answerUnread = (request: FastifyRequest, reply: FastifyReply): void => {
    if (!common.isOpen() || common.visitors.came(request.ip) !== 'answered') return void notFound(reply);
    nothingAt(request, reply).catch((fault) => {
      onFault(failureText('HTTP', reply, fault));
      notFound(reply);
    });
  };
  addStarting(app, common);
  addAdmission(app, common, { connections, methodsAt, pathNear, nothingAt });
  app.addHook('onRequest', (request, reply, done) => {
    if (!isTransferCoded(request.headers)) return done();
    // What follows on this connection cannot be told from the body by somebody else on the way.
    const detail =
      'the body has a transfer coding that is not known here; send it with Transfer-Encoding: chunked alone, or with Content-Length';
    // Behind the parser, which answers by itself where it cannot tell the end of the body.
    queueMicrotask(() => void problem(reply.header('connection', 'close'), 501, 'unsupported', detail));
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    drain(request.raw);
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest) =>
    bodies.read(request.raw, limits.bodyLimitBytes, { room: 'webhooks', name: addressKey(request.ip) }),
  );
  app.setNotFoundHandler((_request, reply) => notFound(reply));
  app.setErrorHandler((error: FastifyError, _request, reply) => answerError(error, reply, onFault));
  if (door !== null && serves.has('webhooks')) addWebhooks(app, door, common);
  addHealth(app, common);
  if (serves.has('metrics')) addMetrics(app, common);
  if (serves.has('metrics')) app.get(statusPath, async () => common.status());
  if (api !== null && serves.has('api')) {
    const server = { bodies, loginFailed: countFailedLogins(common) };
    addApi(app, { ...api, ...server });
    unknownPage = addPages?.(app, server) ?? null;
  }
  return app;
}

/** A start may take long; senders come again, and nothing is taken in before everything that follows it runs. */
function addStarting(app: FastifyInstance, { isOpen }: Common): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (isOpen()) return done();
    const path = request.routeOptions.url;
    if (path === '/livez') plain(reply, 200, 'starting\n');
    else if (path === '/readyz') plain(reply, 503, '[-] start: the desk is starting\nnot ready\n');
    else problem(reply.header('retry-after', '5'), 503, 'unavailable', 'the desk is starting; send it again');
  });
}

/**
 * Before anything of the body is read: who has a valid token goes on, from whatever address, for behind a proxy an attacker has
 * the address of everybody. All others are counted by their address, and what does not exist is answered at once.
 */
function addAdmission(
  app: FastifyInstance,
  common: Common,
  { connections, methodsAt, pathNear, nothingAt }: { connections: Connections; nothingAt: UnknownPage } & Routes,
): void {
  const { visitors, isWebhookToken, guard, onRefusal } = common;

  type Login = { proof: Proof; at: RefusalReport['at']; isWrong: boolean; why?: string };
  const none: Proof = { kind: 'none' };

  function loginOf(request: FastifyRequest): Login {
    if (request.routeOptions.url === webhookRoute) {
      const { token } = request.params as { token: string };
      const isWrong = !isWebhookToken(token);
      return { proof: isWrong ? none : { kind: 'webhooks' }, at: 'webhooks', isWrong };
    }
    if (guard !== null && isPage(request)) {
      const look = guard.pageCaller(request);
      if (look.kind === 'known') return { proof: { kind: 'api', name: look.caller.name }, at: 'api', isWrong: false };
      return { proof: none, at: 'api', isWrong: look.kind === 'session-unknown' };
    }
    if (guard === null || !guard.isOpen() || !isOfApi(request)) return { proof: none, at: null, isWrong: false };
    if (!guard.isShown(request)) return { proof: none, at: 'api', isWrong: false };
    const { caller, ...wrong } = guard.identify(request);
    return { proof: caller === null ? none : { kind: 'api', name: caller.name }, at: 'api', ...wrong };
  }

  app.addHook('onResponse', (request, _reply, done) => {
    connections.end(request.raw);
    done();
  });
  app.addHook('onRequest', (request, reply, done) => {
    // What is answered here goes no further.
    const answered = admit(request, reply);
    if (answered === null) done();
    else if (answered instanceof Promise) answered.catch(done);
  });

  /** Null: it goes on. */
  function admit(request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply> | null {
    const path = request.routeOptions.url;
    const { proof, at, isWrong, ...known } = loginOf(request);
    if (!connections.begin(request.raw, proof)) {
      onRefusal({ problem: 'connection-limit', at, address: null, isNews: false });
      return apiProblem(
        reply.header('connection', 'close'),
        'too-many',
        'This token has too many connections; use fewer.',
      );
    }
    if (path !== undefined && (healthPaths.has(path) || path === '/metrics' || path === statusPath)) return null;
    const address = request.ip;
    if (proof.kind === 'none') {
      const admission = isWrong ? visitors.failed(address) : visitors.came(address);
      const isNews = admission !== 'refused';
      if (admission !== 'answered') {
        const problem = isWrong ? 'too-many-failed-logins' : 'too-many-requests';
        onRefusal({ problem, at, address, isNews, ...known });
        return tooMany(request, reply);
      }
      if (isWrong) onRefusal({ problem: 'failed-login', at, address, isNews, ...known });
    }
    // Without a token there is no API, as little as where it is switched off.
    if (isOfApi(request) && guard?.isOpen() === false) return apiProblem(reply, 'not-found', 'There is nothing here.');
    if (request.is404)
      return isOfApi(request)
        ? undefinedOfApi(request, reply, methodsAt(request.url), pathNear(request.url))
        : nothingAt(request, reply);
    if (at === 'webhooks' && proof.kind === 'none') return notFound(reply);
    return null;
  }
}

/** A log-in through the provider that is refused counts as a wrong token does. */
function countFailedLogins({ visitors, onRefusal }: Common): (address: string, why: string) => { isLimited: boolean } {
  return (address, why) => {
    const admission = visitors.failed(address);
    const isLimited = admission !== 'answered';
    const problem = isLimited ? 'too-many-failed-logins' : 'failed-login';
    onRefusal({ problem, at: 'api', address, isNews: admission !== 'refused', why });
    return { isLimited };
  };
}

function isOfApi(request: FastifyRequest): boolean {
  const path = request.routeOptions.url ?? request.url;
  return path === apiPrefix || path.startsWith(`${apiPrefix}/`);
}

/** Pages for people; what is not defined there is like any other path that does not exist. */
function isPage({ is404, routeOptions: { url = '' } }: FastifyRequest): boolean {
  return !is404 && (url === '/' || url.startsWith('/console/'));
}

/** With a browser, and not below what programs call: a webhook of a wrong token is like any path that does not exist. */
function isReadByPerson({ method, url, headers }: FastifyRequest): boolean {
  const isOfPrograms = ['webhooks', 'v1'].includes(url.split(/[/?]/, 2)[1] ?? '');
  return method === 'GET' && !isOfPrograms && (headers.accept ?? '').includes('text/html');
}

/** `methods`: those that are defined there. `meant`: a path that is like its own. */
function undefinedOfApi(
  request: FastifyRequest,
  reply: FastifyReply,
  methods: readonly string[],
  meant: string | null,
): FastifyReply {
  if (methods.length === 0) {
    const steps = request.method === 'POST' ? stepsNear(request.url.slice(apiPrefix.length)) : null;
    const near = meant === null ? '' : ` Did you mean ${meant}?`;
    if (steps === null) return apiProblem(reply, 'not-found', `There is nothing here.${near}`);
    const detail = `A ${steps.flow} has no such step; its steps are ${steps.steps.join(', ')}.`;
    return apiProblem(reply, 'not-found', detail, [{ field: 'step', rule: 'step-known', detail }]);
  }
  const allowed = methods.join(', ');
  return apiProblem(reply.header('allow', allowed), 'method-not-allowed', `Send one of ${allowed} here.`);
}

type Routes = {
  methodsAt: (url: string) => readonly string[];
  /** The path of the API that one of as few parts may have meant; null: none is near. */
  pathNear: (url: string) => string | null;
};

const longestPath = 60;

/** The routes that are added from now on. */
function collectRoutes(app: FastifyInstance): Routes {
  const routes: { parts: readonly string[]; methods: readonly string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ parts: url.split('/'), methods: [method].flat() });
  });
  const pathNear = (url: string) => {
    const path = url.split('?', 1)[0]!;
    const plain = new Set(routes.map(({ parts }) => parts.join('/')).filter((each) => /^\/v1\/[\w-]+$/.test(each)));
    return path.length > longestPath || plain.has(path) ? null : nearestWord(path, [...plain]);
  };
  const methodsAt = (url: string) => {
    const asked = url.split('?', 1)[0]!.split('/');
    const fitting = routes.filter(
      ({ parts }) =>
        parts.length === asked.length &&
        parts.every((part, place) => part === asked[place] || (part.startsWith(':') && asked[place] !== '')),
    );
    return [...new Set(fitting.flatMap(({ methods }) => methods))];
  };
  return { methodsAt, pathNear };
}

function tooMany(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const detail = 'Too many requests without a valid token came from this address; wait a minute.';
  void reply.header('retry-after', '60');
  return isOfApi(request) ? apiProblem(reply, 'too-many', detail) : problem(reply, 429, 'too-many', detail);
}

function addWebhooks(app: FastifyInstance, door: Door, { bodies, onRefusal }: Common): void {
  app.post(webhookRoute, {
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      if (door.isFull()) {
        onRefusal({ problem: 'queue-full', at: 'webhooks', address: null, isNews: false });
        return problem(
          reply.header('retry-after', '2'),
          503,
          'unavailable',
          'too many webhooks are waiting; send it again',
        );
      }
      const coding = codingOf(request.headers);
      if (coding !== null) {
        const detail = `the body is coded (${coding}); send it as it is, uncompressed and without Content-Encoding`;
        return problem(reply.header('accept-encoding', 'identity'), 415, 'unsupported', detail);
      }
      return undefined;
    },
    handler: async (request, reply) => {
      try {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const answer = await door.receive(body);
        if (answer.retryAfterS !== undefined) reply.header('retry-after', String(answer.retryAfterS));
        return reply.code(answer.status).type('application/json').send(answer.body);
      } finally {
        bodies.release(request.raw);
      }
    },
  });
}

/** Compares digests, all of them every time: neither length nor place of a difference shows in the time it takes. */
function tokenCheck(tokens: readonly string[]): (token: string) => boolean {
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
  const known = tokens.map(digest);
  return (token) => {
    const given = digest(token);
    let found = false;
    for (const candidate of known) found = timingSafeEqual(candidate, given) || found;
    return found;
  };
}

/** Of the address after trusted proxies. */
function isLoopback(address: string): boolean {
  return address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

function addHealth(app: FastifyInstance, parts: ServerParts): void {
  app.get('/livez', async (_request, reply) => {
    const { alive, detail } = parts.progress();
    return plain(reply, alive ? 200 : 503, `${detail}\n`);
  });
  app.get('/readyz', async (request, reply) => {
    const query = request.query as Record<string, unknown>;
    const { role } = query;
    if (role !== undefined && !(readinessRoles as readonly unknown[]).includes(role)) {
      return plain(reply, 400, `role is one of ${readinessRoles.join(', ')}; without it, all are asked for\n`);
    }
    const asked = parts.checks.filter((check) => role === undefined || check.role === role);
    const results = asked.map(({ missing, ...check }) => ({ ...check, missing: missing() }));
    const ready = results.every((result) => result.missing === null);
    const lines =
      'verbose' in query
        ? results.map(({ name, missing, note, isIll }) => {
            if (missing !== null) return `[-] ${name}: ${missing}\n`;
            return `[${isIll?.() === true ? '!' : '+'}] ${name}${note === undefined ? '' : `: ${note(isLoopback(request.ip))}`}\n`;
          })
        : [];
    return plain(reply, ready ? 200 : 503, `${lines.join('')}${ready ? 'ready' : 'not ready'}\n`);
  });
}

/** How long one rendered text is reused, however often it is asked for. */
const metricsKeptMs = 1_000;

/** Computed once at a time, and kept for a moment: it asks the log and the views, and has no limit for strangers. */
function addMetrics(app: FastifyInstance, { metricsText, monotonicMs }: Common): void {
  let kept: { text: Promise<string>; until: number } | null = null;
  app.get('/metrics', async (_request, reply) => {
    if (kept === null || monotonicMs() >= kept.until) {
      const asked = { text: metricsText(), until: Number.POSITIVE_INFINITY };
      kept = asked;
      asked.text.then(
        () => {
          asked.until = monotonicMs() + metricsKeptMs;
        },
        () => {
          kept = null;
        },
      );
    }
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await kept.text);
  });
}

function plain(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).type('text/plain; charset=utf-8').send(printable(text));
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
  if (status === 503) {
    const detail = 'too many bodies are being read; send it again';
    return problem(reply.header('retry-after', '2'), 503, 'unavailable', detail);
  }
  if (status >= 400 && status < 500) return problem(reply, status, 'refused', 'the request could not be read');
  onFault(failureText('HTTP', reply, error));
  return problem(reply, 500, 'internal', 'the request could not be served');
}
