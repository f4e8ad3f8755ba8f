/**
 * The console: pages for people at `/`, made by the server of what the operator API tells, in a session that was begun with a token or
 * at the identity provider. Nothing runs in a page but the console's own script.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { IdentityProvider } from '../domain/identity-provider.ts';
import { seeingPersons } from '../domain/roles.ts';
import { Fault } from '../errors.ts';
import {
  type Caller,
  cookieIn,
  cookieName,
  cookieOf,
  csrfTokenOf,
  type Guard,
  idTokenIn,
  logoutCookies,
  pageSessionName,
  pageSettings,
  sessionCookieName,
} from '../http/api/auth.ts';
import { type BidReader, firstFound } from '../http/api/bid-reader.ts';
import { shortReason } from '../http/api/control-routes.ts';
import { failureText } from '../http/api/problems.ts';
import { bidQuery, reasonGiven, requestParams } from '../http/api/schemas.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import { codingOf } from '../http/bodies.ts';
import type { PageServer, UnknownPage } from '../http/server.ts';
import { addressKey } from '../http/visitors.ts';
import {
  type ControlParts,
  capUse,
  controlHistory,
  controlStanding,
  pause,
  resume,
  waitingRaises,
} from '../operating/controls.ts';
import { operatorResolutions, resolveRequest, sayable } from '../operating/endings.ts';
import { createPersonalReads } from '../operating/personal-reads.ts';
import { type StartToken, startPerson } from '../operating/start-token.ts';
import { beginTokenSession, revokeToken, type TokenParts, type TokenWatch } from '../operating/tokens.ts';
import { looksLikeCpf, mayHoldCpf, withoutCpf } from '../wire/hidden-cpf.ts';
import { workerKeyOf } from '../wire/identity.ts';
import { shownBatch } from '../wire/plain-ids.ts';
import { typedCpf } from '../wire/values.ts';
import {
  type ConsoleRoutes,
  type Form,
  forbidden,
  type PageWorld,
  queryOf,
  type Session,
  send,
  unknownPage,
  wallTime,
} from './answers.ts';
import { addFlowPages, type FlowPagesParts } from './flow-routes.ts';
import { addMarketPage, type MarketPageParts } from './market-routes.ts';
import { createNowFeed } from './now-feed.ts';
import { addOperationsPages, type OperationsParts } from './operations-routes.ts';
import type { Filters, LiveFacts, RequestNotice, ResolveTried, Shown } from './pages.ts';
import { addReviewPages, type ReviewPageParts } from './review-routes.ts';
import { addRulePages, type RulePageParts } from './rule-routes.ts';
import { createWorkerSearches } from './worker-searches.ts';

export type ConsoleParts = TokenParts &
  ControlParts &
  FlowPagesParts &
  OperationsParts &
  RulePageParts &
  MarketPageParts &
  ReviewPageParts & {
    tokenWatch: Pick<TokenWatch, 'look'>;
    guard: Guard;
    startToken: Pick<StartToken, 'isOpen' | 'spend'>;
    /** Null: nobody can log in at a provider. */
    login: { origin: string; identityProvider: Pick<IdentityProvider, 'endAddress'> } | null;
    status: () => DaemonStatus;
    bids: BidReader;
    /** How many requests of this process wait for a person; null: it decides nothing. */
    reviewsWaiting: () => number | null;
    /** No other process does a part of the work. */
    isAlone: boolean;
    onFault: (text: string) => void;
  };

const require = createRequire(import.meta.url);

/** A working day. */
const sessionMs = 8 * 3_600_000;
/** What a log-in page was given out with. */
const visitMs = 3_600_000;
const languageMs = 365 * 86_400_000;
const visitName = 'lance_visit';
const languageName = 'lance_language';
const secretBytes = 32;
const formLimitBytes = 16_384;
const pageBids = 50;
/** So long a page of found requests may take to look where there are none. */
const searchMs = 2_000;
const longestId = 200;
/** What the page to log in at says after a log-out. */
const left = ['out', 'out-here'] as const;
/** A person may have as many connections open as a browser: half of them are left for pages. */
const streamLimits = { most: 40, mostOfOne: 3, everyMs: 1_000 };
const mostCaps = 20;
const mostOrders = 100;
const assetMs = 365 * 86_400_000;

/** Nothing but the console's own files, and no page of others around it. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const pageHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With no-referrer a browser would not say either where a form comes from.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

const assetTypes = {
  'style.css': 'text/css; charset=utf-8',
  'in-page.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'plots.js': 'text/javascript; charset=utf-8',
  'uplot.js': 'text/javascript; charset=utf-8',
  'uplot.css': 'text/css; charset=utf-8',
} as const;
type AssetName = keyof typeof assetTypes;

/** A page of the console that a log-in leads back to. */
const placeForm =
  /^\/(?:console\/(?:requests|reviews|flows|rules|market|operations|runbooks|controls)(?:[/?][\w./?=&%:|+-]{0,500})?)?$/;

type Texts = Shown['texts'];

/** Ready when the server listens. What a page is made with is loaded when the first one is asked for. */
export function addConsole(app: FastifyInstance, parts: ConsoleParts & PageServer): UnknownPage {
  const looks = createLooks(parts);
  const routes: FastifyPluginAsync = async (scope) => addRoutes(scope, parts, looks);
  void app.register(routes);
  return async (request, reply) => {
    // Whoever asks for it is a stranger: what they show is not looked up, for the limit of failed log-ins does not see it.
    const { pages, shown } = await looks.shownTo(request, reply, null);
    return send(reply.headers(pageHeaders), unknownPage(pages, shown), 404);
  };
}

type Looks = ReturnType<typeof createLooks>;
type Begun = Awaited<ReturnType<Looks['begin']>>;

/** Who asks for a page, in which language, and what it loads. */
function createLooks({ guard, login }: ConsoleParts) {
  let assets: { files: Record<AssetName, string>; version: string } | null = null;

  function loadAssets(): NonNullable<typeof assets> {
    if (assets !== null) return assets;
    const beside = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
    const library = (name: string) => readFileSync(require.resolve(`uplot/dist/${name}`), 'utf8');
    const files = {
      ...{ 'style.css': beside('style.css'), 'in-page.js': beside('in-page.js'), 'icon.svg': beside('icon.svg') },
      // Plots are drawn as in the reports.
      'plots.js': beside('../impact/page-plots.js'),
      ...{ 'uplot.js': library('uPlot.iife.min.js'), 'uplot.css': library('uPlot.min.css') },
    };
    const hash = createHash('sha256').update(Object.values(files).join('\n'));
    assets = { files, version: hash.digest('hex').slice(0, 12) };
    return assets;
  }

  async function begin(request: FastifyRequest, reply: FastifyReply) {
    const look = guard.pageCaller(request);
    const session = look.kind === 'known' ? look.caller : null;
    return { ...(await shownTo(request, reply, session)), look, session };
  }

  async function shownTo(request: FastifyRequest, reply: FastifyReply, person: Session | null) {
    const pages = await import('./pages.ts');
    const language = languageOf(request, reply);
    const shown: Shown = {
      ...pages.wordsIn(language),
      otherHref: otherHref(request, language === 'pt' ? 'en' : 'pt'),
      assetVersion: loadAssets().version,
      person,
    };
    return { pages, shown };
  }

  function languageOf(request: FastifyRequest, reply: FastifyReply): 'pt' | 'en' {
    // A path that cannot be decoded leaves the query unread.
    const asked = new URLSearchParams(request.url.split('?', 2)[1]).get('lang');
    if (asked === 'pt' || asked === 'en') {
      const settings = pageSettings(request, login);
      // Sent along when a person comes back from the provider, which is another site.
      void reply.header('set-cookie', cookieOf(settings, languageName, asked, languageMs));
      return asked;
    }
    const kept = cookieIn(request, cookieName(pageSettings(request, login), languageName));
    return kept === 'pt' || kept === 'en' ? kept : preferredIn(request.headers['accept-language'] ?? '');
  }

  return { begin, shownTo, loadAssets };
}

function addRoutes(scope: FastifyInstance, parts: ConsoleParts & PageServer, { begin, loadAssets }: Looks): void {
  const { guard, bodies, clock, login, startToken } = parts;
  /** In bytes, by the path of an action. */
  const formLimits = new Map<string, number>();
  const feed = createNowFeed({
    facts: factsNow,
    onFault: (fault) => parts.onFault(`the page Now: ${fault instanceof Error ? fault.message : String(fault)}`),
    ...streamLimits,
  });

  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/x-www-form-urlencoded', async (request: FastifyRequest) => {
    if (codingOf(request.headers) !== null) throw Object.assign(new Error('the form is coded'), { statusCode: 415 });
    // Strangers send the short form to log in.
    const isKnown = guard.pageCaller(request).kind === 'known';
    const limitBytes = (isKnown ? formLimits.get(request.routeOptions.url ?? '') : null) ?? formLimitBytes;
    const body = await bodies.read(request.raw, limitBytes, { room: 'api', name: addressKey(request.ip) });
    bodies.release(request.raw);
    return Object.fromEntries(new URLSearchParams(body.toString()));
  });
  scope.addHook('onSend', async (_request, reply) => {
    void reply.headers(pageHeaders);
  });
  scope.setErrorHandler(async (error: FastifyError, request, reply) => {
    const { pages, shown } = await begin(request, reply);
    const { problem } = shown.texts;
    const status = error.statusCode ?? 500;
    if ((error instanceof Fault && error.retryable) || status === 503)
      return send(reply, pages.problemPage(shown, { title: problem.unavailable, text: problem.unavailableText }), 503);
    if (status >= 400 && status < 500)
      return send(reply, pages.problemPage(shown, { title: problem.stale, text: problem.unreadable }), status);
    parts.onFault(failureText('HTTP', reply, error));
    return send(reply, pages.problemPage(shown, { title: problem.failed, text: problem.failedText }), 500);
  });

  const searches = createWorkerSearches(() => performance.now());
  const reads = createPersonalReads(parts);
  /** Where somebody can log in otherwise, it counts no more. */
  const hasStartToken = () => !guard.isOpen() && startToken.isOpen();
  const mayLogIn = () => guard.isOpen() || startToken.isOpen();

  function logInPage(
    request: FastifyRequest,
    reply: FastifyReply,
    { pages, shown }: Pick<Begun, 'pages' | 'shown'>,
    {
      status,
      problem = null,
      to,
    }: { status: number; problem?: 'wrong' | 'limited' | 'unheard' | 'stale' | null; to?: string },
  ): FastifyReply {
    if (!mayLogIn()) return send(reply, pages.closedPage(shown), 200);
    const settings = pageSettings(request, login);
    const known = cookieIn(request, cookieName(settings, visitName));
    const visit = known ?? randomBytes(secretBytes).toString('base64url');
    if (known === null) void reply.header('set-cookie', cookieOf(settings, visitName, visit, visitMs, 'Strict'));
    const place = to ?? (request.method === 'GET' ? request.url : '/');
    const text = pages.logInPage(
      { ...shown, person: null },
      {
        csrfToken: csrfTokenOf(visit),
        to: placeForm.test(place) ? place : '/',
        hasProvider: login !== null,
        hasStartToken: hasStartToken(),
        problem,
        left: request.method === 'GET' ? (left.find((each) => each === queryOf(request).notice) ?? null) : null,
      },
    );
    return send(reply, text, status);
  }

  const page: ConsoleRoutes['page'] = (path, make) => {
    scope.get(path, async (request, reply) => {
      const { session, ...begun } = await begin(request, reply);
      if (session !== null) return make({ ...begun, session }, request, reply);
      if (begun.look.kind === 'unheard') return logInPage(request, reply, begun, { status: 503, problem: 'unheard' });
      return logInPage(request, reply, begun, { status: path === '/' ? 200 : 401 });
    });
  };

  const action: ConsoleRoutes['action'] = (path, run, limitBytes = formLimitBytes) => {
    formLimits.set(path, limitBytes);
    scope.post(path, async (request, reply) => {
      const { session, ...begun } = await begin(request, reply);
      const form = (request.body ?? {}) as Form;
      if (session === null) return logInPage(request, reply, begun, { status: 401 });
      if (isStrange(request, form, session.csrfToken)) return stale(reply, begun);
      return run({ ...begun, session, form }, request, reply);
    });
  };

  function isStrange({ headers, host }: FastifyRequest, form: Form, csrfToken: string): boolean {
    const { origin, 'sec-fetch-site': site } = headers;
    if (site !== undefined && site !== 'same-origin') return true;
    if (origin === undefined || (hostIn(origin) !== host && origin !== login?.origin)) return true;
    const digest = (text: string) => createHash('sha256').update(text).digest();
    return !timingSafeEqual(digest(form.csrf ?? ''), digest(csrfToken));
  }

  scope.get('/console/assets/:name', async (request, reply) => {
    const { name } = request.params as { name: string };
    if (!Object.hasOwn(assetTypes, name)) {
      const { pages, shown } = await begin(request, reply);
      return send(reply, unknownPage(pages, shown), 404);
    }
    const { files, version } = loadAssets();
    const isNamed = queryOf(request).v === version;
    const caching = isNamed ? `public, max-age=${assetMs / 1_000}, immutable` : 'no-cache';
    return reply
      .type(assetTypes[name as AssetName])
      .header('cache-control', caching)
      .send(files[name as AssetName]);
  });

  page('/', async ({ pages, shown }, request, reply) => {
    const { notice } = queryOf(request);
    const known = notice === 'stopped' || notice === 'resumed' || notice === 'late' ? notice : null;
    return send(reply, pages.nowPage(shown, { ...(await factsNow()), notice: known }), 200);
  });

  /** Without a log-in nobody is shown a page here: a browser takes an error for the end of the stream, and asks for the page. */
  // Not for HEAD, which nobody reads: a stream would be kept for it until the session ends.
  scope.get('/console/now/events', { exposeHeadRoute: false }, async (request, reply) => {
    const { session, look, pages, shown } = await begin(request, reply);
    void reply.header('cache-control', 'no-store').header('vary', 'accept-language, cookie');
    if (session === null) return reply.code(look.kind === 'unheard' ? 503 : 401).send();
    const stream = feed.open({
      name: session.name,
      kind: `${shown.language} ${session.role}`,
      render: (facts) => pages.liveParts(shown, facts),
      look: () => {
        const now = guard.pageCaller(request);
        if (now.kind === 'unheard') return 'unheard';
        return now.kind === 'known' && now.caller.name === session.name && now.caller.role === session.role
          ? 'let'
          : 'over';
      },
    });
    if (stream === null) return reply.code(503).header('retry-after', '5').send();
    // A proxy that gathers answers would keep the events back.
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no').send(stream);
  });
  scope.addHook('preClose', async () => feed.close());

  async function factsNow(): Promise<LiveFacts> {
    const caps = await capsNow();
    const [reviewsWaiting, status] = [parts.reviewsWaiting(), parts.status()];
    return { ...caps, reviewsWaiting, status, isAlone: parts.isAlone, now: clock.now() };
  }

  /** Where the store is away, the rest of the page is what is needed. */
  async function capsNow(): Promise<Pick<LiveFacts, 'caps' | 'moreCaps'>> {
    try {
      const { caps } = await controlStanding(parts);
      const uses = await Promise.all(caps.slice(0, mostCaps).map(({ name }) => capUse(parts, name)));
      return { caps: uses.filter((use) => use !== null), moreCaps: Math.max(0, caps.length - mostCaps) };
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      return { caps: null, moreCaps: 0 };
    }
  }

  page('/console/requests', async ({ pages, shown, session }, request, reply) => {
    const query = queryOf(request);
    const filters = typedFilters(query, pages.filterNames);
    const before = query.before === undefined || query.before === '' ? undefined : query.before;
    const { since, until, ...others } = filters;
    const asked = bidQuery.safeParse({
      ...others,
      ...(since === undefined ? {} : { since: wallTime(since) }),
      // A minute that was typed counts to its end.
      ...(until === undefined ? {} : { until: wallTime(until) + 59_999 }),
      ...(before === undefined ? {} : { before }),
      limit: pageBids,
    });
    const named = query.worker?.trim() ?? '';
    const workerKey = named === '' || !pages.mayKnowWorker(shown) ? null : searches.find(session.name, named);
    const common = { filters, isFirst: before === undefined, worker: workerKey === null ? null : named };
    const { requests } = shown.texts;
    if (!asked.success) {
      const fields = asked.error.issues.map(({ path }) => labelOf(requests, String(path[0] ?? '')));
      const problem = `${requests.invalid} ${[...new Set(fields)].join(', ')}.`;
      return send(reply, pages.requestsPage(shown, { ...common, found: null, problem }), 422);
    }
    if (named !== '' && workerKey === null)
      return send(reply, pages.requestsPage(shown, { ...common, found: null, problem: requests.searchOver }), 410);
    const search = { ...asked.data, ...(workerKey === null ? {} : { workerKey }) };
    const endMs = performance.now() + searchMs;
    const found = await firstFound(parts.bids, session.name, search, () => performance.now() > endMs);
    if (found !== null) return send(reply, pages.requestsPage(shown, { ...common, found, problem: null }), 200);
    return send(reply, pages.requestsPage(shown, { ...common, found: null, problem: requests.busy }), 503);
  });

  /**
   * By POST, for people type a CPF here too: it must not stand in an address, which browsers and proxies keep. Only the number of a
   * request that there is comes into one.
   */
  action('/console/requests/find', async ({ pages, shown, session, form }, _request, reply) => {
    const typed = (form.id ?? '').trim().slice(0, longestId);
    if (typed === '') return reply.redirect('/console/requests', 303);
    const asked = requestParams.safeParse({ requestId: typed });
    const found = asked.success ? await parts.bids.one(asked.data.requestId, session.role) : null;
    if (found !== null) return reply.redirect(`/console/requests/${encodeURIComponent(found.requestId)}`, 303);
    if (!looksLikeCpf(typed)) return unknownRequest(reply, pages, shown);
    const page = { filters: {}, isFirst: true, worker: null, found: null, problem: null, isCpfAsId: true };
    return send(reply, pages.requestsPage(shown, page), 422);
  });

  /** By POST, as above. The address that it leads to has a batch by the name by which it is shown. */
  action('/console/requests/filter', async ({ pages, shown, form }, _request, reply) => {
    const typed = typedFilters(form, pages.filterNames);
    const { batchId } = typed;
    const filters =
      batchId !== undefined && mayHoldCpf(batchId) ? { ...typed, batchId: shownBatch(parts.vault, batchId) } : typed;
    const personal = pages.filterNames.filter((name) => name !== 'batchId' && mayHoldCpf(typed[name] ?? ''));
    if (personal.length > 0) {
      const labels = personal.map((name) => labelOf(shown.texts.requests, name));
      const problem = `${shown.texts.requests.invalid} ${labels.join(', ')}.`;
      const page = { filters: {}, isFirst: true, worker: null, found: null, problem };
      return send(reply, pages.requestsPage(shown, page), 422);
    }
    const worker = form.worker ?? '';
    const query = new URLSearchParams({ ...filters, ...(worker === '' ? {} : { worker }) }).toString();
    return reply.redirect(query === '' ? '/console/requests' : `/console/requests?${query}`, 303);
  });

  action('/console/requests/worker', async ({ pages, shown, session, form }, _request, reply) => {
    if (!pages.mayKnowWorker(shown)) return forbidden(reply, pages, shown, seeingPersons);
    const cpf = typedCpf(form.cpf ?? '');
    if (cpf === null) {
      const page = { filters: {}, isFirst: true, worker: null, found: null, problem: null, isCpfWrong: true };
      return send(reply, pages.requestsPage(shown, page), 422);
    }
    const workerKey = workerKeyOf(parts.vault, cpf);
    await reads.note({ by: session.name, via: 'api' }, 'worker-searched', { workerKey, linkKey: null });
    return reply.redirect(`/console/requests?worker=${searches.begin(session.name, workerKey)}`, 303);
  });

  page('/console/requests/:requestId', async (world, request, reply) => {
    const { pages } = world;
    const notice = pages.requestNotices.find((each) => each === queryOf(request).notice) ?? null;
    return shownRequest(reply, world, request.params, { status: 200, notice, tried: null });
  });

  /** `tried`: what was said of it, where that was refused. */
  async function shownRequest(
    reply: FastifyReply,
    { pages, shown, session }: PageWorld,
    params: unknown,
    { status, notice, tried }: { status: number; notice: RequestNotice | null; tried: ResolveTried | null },
  ): Promise<FastifyReply> {
    const asked = requestParams.safeParse(params);
    const decision = asked.success ? await parts.bids.one(asked.data.requestId, session.role) : null;
    if (decision !== null) {
      const { requestId } = decision;
      const contract = await parts.bids.contractOf(requestId);
      const resolve = { allowed: pages.mayResolve(shown) ? await sayable(parts, requestId) : [], tried };
      const { readBidAccount } = await import('../cli/bid-report.ts');
      const vault = pages.mayKnowWorker(shown) ? parts.vault : null;
      const account = session.role === 'viewer' ? null : await readBidAccount(shown, { ...parts, vault }, requestId);
      const facts = { contract, notice, now: clock.now(), resolve, account };
      return send(reply, pages.requestPage(shown, decision, facts), status);
    }
    return unknownRequest(reply, pages, shown);
  }

  action('/console/requests/:requestId/resolve', async (world, request, reply) => {
    const { pages, shown, session, form } = world;
    if (!pages.mayResolve(shown)) return forbidden(reply, pages, shown, pages.resolving);
    const asked = requestParams.safeParse(request.params);
    const again = (problem: string, status: number) =>
      shownRequest(reply, world, request.params, { status, notice: null, tried: { ...typed, problem } });
    const typed = { as: form.as ?? '', reason: (form.reason ?? '').replaceAll('\r\n', '\n') };
    const as = operatorResolutions.find((each) => each === typed.as);
    const reason = reasonGiven.safeParse(typed.reason);
    const { resolve: words } = shown.texts.request;
    if (!asked.success) return again('', 404);
    if (as === undefined) return again(words.choose, 422);
    if (!reason.success) return again(words.reasonMissing, 422);
    const { requestId } = asked.data;
    const order = { requestId, as, reason: withoutCpf(reason.data) };
    const outcome = await resolveRequest(parts, { by: session.name, via: 'api' }, order);
    const { resolve: told, states, flows } = shown.format.texts;
    switch (outcome.kind) {
      case 'done':
      case 'stored':
      case 'late': {
        const notice = outcome.kind === 'done' ? 'resolved' : 'resolved-late';
        return reply.redirect(`/console/requests/${encodeURIComponent(requestId)}?notice=${notice}`, 303);
      }
      case 'unknown':
        return again('', 404);
      case 'refused': {
        const allowed = outcome.allowed.map((each) => states[each]).join(', ');
        return again(told.refused(requestId, states[outcome.phase], allowed), 409);
      }
      case 'under-contract': {
        const { flowId, flowPhase } = outcome;
        return again(told.underContract(requestId, flowId, flows.phases[flowPhase]), 409);
      }
      case 'overtaken':
        return again(told.overtaken(requestId, states[outcome.phase]), 409);
      default:
        return outcome satisfies never;
    }
  });

  addReviewPages({ page, action }, parts);
  addFlowPages({ page, action }, parts);
  addOperationsPages({ page, action }, parts);
  addRulePages({ page, action }, parts);
  addMarketPage({ page }, parts);

  page('/console/controls', async ({ pages, shown }, _request, reply) =>
    send(
      reply,
      pages.controlsPage(shown, { ...(await controlHistory(parts, mostOrders)), raises: await waitingRaises(parts) }),
      200,
    ),
  );

  for (const kind of ['stop', 'resume'] as const) {
    const path = `/console/${kind}`;
    page(path, async ({ pages, shown }, _request, reply) => {
      if (!pages.mayOrder(shown)) return forbidden(reply, pages, shown, pages.ordering);
      return send(reply, pages.orderPage(shown, kind, { pause: pauseNow(), reason: '', problem: null }), 200);
    });
    action(path, async ({ pages, shown, session, form }, _request, reply) => {
      if (!pages.mayOrder(shown)) return forbidden(reply, pages, shown, pages.ordering);
      const typed = form.reason ?? '';
      const reason = shortReason.safeParse(typed.replaceAll('\r\n', '\n'));
      const again = (problem: string, status: number) =>
        send(reply, pages.orderPage(shown, kind, { pause: pauseNow(), reason: typed, problem }), status);
      if (!reason.success) return again(shown.texts.order.reasonMissing, 422);
      const who = { by: session.name, via: 'api' as const };
      const outcome = await (kind === 'stop' ? pause : resume)(parts, who, withoutCpf(reason.data));
      if (outcome.kind !== 'stored') return again(pages.orderProblem(shown, kind, outcome), 503);
      const done = kind === 'stop' ? 'stopped' : 'resumed';
      return reply.redirect(`/?notice=${outcome.late.length === 0 ? done : 'late'}`, 303);
    });
  }

  function pauseNow() {
    const { bidding } = parts.status();
    if (bidding?.cause !== 'paused') return null;
    return { by: bidding.by, reason: bidding.detail, since: bidding.since };
  }

  scope.post('/console/login', async (request, reply) => {
    const { session: _, ...begun } = await begin(request, reply);
    const form = (request.body ?? {}) as Form;
    const settings = pageSettings(request, login);
    const visit = cookieIn(request, cookieName(settings, visitName));
    const to = form.to !== undefined && placeForm.test(form.to) ? form.to : '/';
    if (!mayLogIn()) return logInPage(request, reply, begun, { status: 200 });
    if (visit === null || isStrange(request, form, csrfTokenOf(visit)))
      return logInPage(request, reply, begun, { status: 403, problem: 'stale', to });
    const typed = (form.token ?? '').trim();
    const first = hasStartToken() ? startToken.spend(typed) : null;
    if (first !== null) return enter(reply, settings, await openFirstSession(first), to);
    const { look, sha256 } = guard.tokenHolder(typed);
    if (look.kind === 'unheard') return logInPage(request, reply, begun, { status: 503, problem: 'unheard', to });
    if (look.kind !== 'known') {
      const { isLimited } = parts.loginFailed(request.ip, `log-in to the console refused: ${look.kind}`);
      const problem = isLimited ? 'limited' : 'wrong';
      if (isLimited) void reply.header('retry-after', '60');
      return logInPage(request, reply, begun, { status: isLimited ? 429 : 401, problem, to });
    }
    const { secret } = await openSession(look.caller, sha256);
    return enter(reply, settings, secret, to);
  });

  function enter(
    reply: FastifyReply,
    settings: ReturnType<typeof pageSettings>,
    secret: string,
    to: string,
  ): FastifyReply {
    void reply.header('set-cookie', [
      cookieOf(settings, pageSessionName, secret, sessionMs, 'Strict'),
      cookieOf(settings, visitName, '', 0, 'Strict'),
    ]);
    return reply.redirect(to, 303);
  }

  /** By the token that the process has shown at its start. */
  async function openFirstSession({ sha256, giveBack }: { sha256: string; giveBack: () => void }): Promise<string> {
    const order = { ...startPerson, tokenSha256: sha256, sessionMs, issuer: 'start-token' } as const;
    const { secret } = await beginTokenSession(parts, order).catch((fault: unknown) => {
      giveBack();
      throw fault;
    });
    await parts.tokenWatch.look();
    return secret;
  }

  async function openSession({ name: owner, role }: Caller, tokenSha256: string): Promise<{ secret: string }> {
    const begun = await beginTokenSession(parts, { owner, role, tokenSha256, sessionMs });
    await parts.tokenWatch.look();
    return begun;
  }

  action('/console/logout', async ({ pages, shown, session }, request, reply) => {
    for (const id of guard.pageSessions(request)) await revokeToken(parts, { by: session.name, via: 'api' }, id);
    await parts.tokenWatch.look();
    void reply.header('set-cookie', [
      cookieOf(pageSettings(request, login), pageSessionName, '', 0, 'Strict'),
      ...(login === null ? [] : logoutCookies(login)),
    ]);
    if (login === null || cookieIn(request, sessionCookieName(login)) === null)
      return reply.redirect('/?notice=out', 303);
    const address = await login.identityProvider.endAddress(idTokenIn(request, login));
    if (address === null) return reply.redirect('/?notice=out-here', 303);
    // No redirection: a browser follows none from a form to another site than `form-action` names.
    return send(reply.header('refresh', `0;url=${address}`), pages.leavingPage(shown, address), 200);
  });

  function stale(reply: FastifyReply, { pages, shown }: Pick<Begun, 'pages' | 'shown'>): FastifyReply {
    const { problem } = shown.texts;
    return send(reply, pages.problemPage(shown, { title: problem.stale, text: problem.staleText }), 403);
  }
}

/** Null: it is no address, such as `null` of a page that hides where it is from. */
function hostIn(origin: string): string | null {
  return URL.parse(origin)?.host ?? null;
}

/** The same page, with the same search. */
function otherHref(request: FastifyRequest, language: 'pt' | 'en'): string {
  const isPage = request.method === 'GET';
  const [path, search = ''] = isPage ? request.url.split('?', 2) : ['/'];
  const query = new URLSearchParams(search);
  query.delete('notice');
  query.set('lang', language);
  return `${path}?${query.toString()}`;
}

/** The first language of the browser that there is here, by the weight that it gives it; else Portuguese. */
function preferredIn(header: string): 'pt' | 'en' {
  const named = header
    .slice(0, 200)
    .split(',')
    .map((part) => {
      const [name = '', ...parameters] = part.trim().toLowerCase().split(';');
      const weight = parameters.map((each) => /^\s*q=([\d.]+)$/.exec(each)?.[1]).find((each) => each !== undefined);
      return { name: name.slice(0, 2), weight: Number(weight ?? 1) };
    })
    .filter(({ name, weight }) => (name === 'pt' || name === 'en') && weight > 0)
    .sort((one, other) => other.weight - one.weight);
  return named[0]?.name === 'en' ? 'en' : 'pt';
}

function unknownRequest(reply: FastifyReply, pages: Begun['pages'], shown: Shown): FastifyReply {
  const { unknown } = shown.texts.problem;
  return send(reply, pages.problemPage(shown, { title: unknown, text: shown.texts.requests.unknown }), 404);
}

/** Those that were filled in. */
function typedFilters(form: Readonly<Record<string, string | undefined>>, names: readonly (keyof Filters)[]): Filters {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = form[name]?.trim() ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

function labelOf(words: Texts['requests'], name: string): string {
  const labels: Readonly<Record<string, string>> = {
    ...{ state: words.state, code: words.code, batchId: words.batch, segment: words.segment },
    ...{ since: words.since, until: words.until, before: words.older },
  };
  return Object.hasOwn(labels, name) ? labels[name]! : name;
}
