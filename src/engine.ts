/** The daemon, put together from parts that only the composition root knows: door, desk, server, metrics, journal. */

import { type Authorisations, createAuthorisations, noting } from './bidding/authorisations.ts';
import type { BiddingStatus } from './bidding/bidding-status.ts';
import type { Policy } from './bidding/decide.ts';
import { createDesk, type Desk } from './bidding/desk.ts';
import type { DeskStatus, DeskWorld } from './bidding/desk-world.ts';
import { claimEarlierTerms } from './bidding/earlier-terms.ts';
import type { HeldBack } from './bidding/held-back.ts';
import { enterHouse, noBidReceivedBefore, watchHouse } from './bidding/house.ts';
import type { RebuildProgress } from './bidding/intake.ts';
import { claimKey } from './bidding/key-check.ts';
import { createLastHour } from './bidding/last-hour.ts';
import { createLatelyWatch, type RefusalChange } from './bidding/lately.ts';
import { claimLogId } from './bidding/log-id.ts';
import type { DeskEvent, DeskObserver, Step } from './bidding/observer.ts';
import {
  type Control,
  type ControlArchive,
  type ControlState,
  type Enrichment,
  type EventLog,
  type House,
  isCallbackPartition,
  lastChanges,
  type MarginCache,
  type OperatorChange,
  type QueryBudget,
  type RuleBook,
  type RuleWatch,
  type Service,
  type TokenBook,
  type Views,
} from './bidding/ports.ts';
import { withinBudget } from './bidding/query-budget.ts';
import type { AlarmCode } from './bidding/react.ts';
import type { Rollback } from './bidding/rule-book.ts';
import { createRuleDesk, type RuleDesk, type RuleEvent } from './bidding/rule-desk.ts';
import { askIdleEveryMs, createTimeWatch, type TimeWatch } from './bidding/time-watch.ts';
import { ageOf } from './cli/age.ts';
import { remedyOf } from './cli/bidding-remedy.ts';
import { biddingEn } from './cli/bidding-texts-en.ts';
import { createFormat } from './cli/format.ts';
import { fullCapsText } from './cli/full-caps.ts';
import { workerReasonsEn } from './cli/reason-texts-en.ts';
import { workerReasonsPt } from './cli/reason-texts-pt.ts';
import { statusEn } from './cli/status-texts-en.ts';
import { type Config, type EconomicsSettings, economicsOf, isThisMachine, withEconomics } from './config.ts';
import { addConsole, type ConsoleParts } from './console/console.ts';
import type { Chance, Clock } from './domain/clock.ts';
import type { EpochMs } from './domain/glossary.ts';
import type { IdentityProvider } from './domain/identity-provider.ts';
import type { BidOutcome } from './domain/offer.ts';
import type { FoldTerms, Topic } from './domain/records.ts';
import { lookAgain } from './domain/repeated-look.ts';
import type { SteadyClock } from './domain/steady-clock.ts';
import type { Vault } from './domain/vault.ts';
import { Fault } from './errors.ts';
import { addressesOf, reachableUrl } from './http/address.ts';
import type { ApiParts } from './http/api/api.ts';
import { createGuard } from './http/api/auth.ts';
import { createBidReader } from './http/api/bid-reader.ts';
import { type DaemonStatus, isTurnedAway, refusesToken } from './http/api/status.ts';
import { type BodyReader, bodyReader, createDoor, type Door } from './http/door.ts';
import { createRepeatLimit, type Journal, maxTextLength } from './http/journal.ts';
import { createLagGauge, type LagGauge } from './http/lag.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { createServer, type ReadinessCheck } from './http/server.ts';
import { type ControlParts, type WaitingRaise, waitingRaises } from './operating/controls.ts';
import { economicsStanding, settleEconomics } from './operating/economics.ts';
import { createStartToken, startTokenMs } from './operating/start-token.ts';
import { type TokenWatch, watchTokens } from './operating/tokens.ts';
import { createWorkerReasons } from './operating/worker-reasons.ts';
import { createFlowDesk, type FlowDesk, type FlowDurableStep } from './origination/desk.ts';
import { createFlowFront } from './origination/front.ts';
import type { FlowStore, Addresses as LoanAddresses, LoanService } from './origination/ports.ts';
import { createPolicyMaker } from './policy.ts';
import { type AskedBids, bidsOfAll } from './queries/asked-bids.ts';
import { faultText } from './rules/place.ts';
import type { RuleSet } from './rules/rule-set.ts';
import { notConfigured } from './rules/sources.ts';
import { encodeBid, isBidOf } from './wire/bid.ts';
import { workerKeyOf } from './wire/identity.ts';
import type { RequestMapping } from './wire/mapping-table.ts';

export type Store = {
  log: EventLog;
  /** Where the door appends: not behind the desk's own appends, where the backend can tell them apart. */
  appendAtDoor: EventLog['append'];
  views: Views;
  margins: MarginCache;
  queryBudget: QueryBudget;
  flows: FlowStore;
  control: Control & ControlArchive;
  house: House;
  ruleBook: RuleBook;
  tokenBook: TokenBook;
  partitionOf: (topic: Topic, key: string) => Promise<number>;
  /** Why something of that size would not be stored now; null when nothing is known to be against it. */
  unwritable?: (neededBytes: number) => string | null;
  /** Why nothing at all can be stored just now, or may not be kept, asked before each write to the service. */
  trouble?: () => string | null;
  /** Why the log is not what was written, so that nothing may be bid for. */
  changed?: () => string | null;
  /** See `DeskWorld`. */
  lostClaim?: NonNullable<DeskWorld['lostClaim']>;
  /** Why the log does not answer, where it is a server, and since when; null while it does. */
  silence?: () => string | null;
  /** Where each process folds the views of its own partitions by itself: how they come and go; null for views of all processes together. */
  own: {
    take: (partition: number) => Promise<unknown>;
    leave: (partition: number) => Promise<void>;
    start: () => void;
  } | null;
  /** Requests of all partitions, asked at their owners; left out or null where the views are of all processes together. */
  askedBids?: AskedBids | null;
};

export type EngineParts = {
  config: Config;
  instance: string;
  soleOwner: boolean;
  store: Store;
  service: Service & LoanService;
  /** When the service last answered anything at all, also with a refusal; null: not since the start. */
  serviceAnsweredAt: () => EpochMs | null;
  /** The HTTP status of that answer. */
  serviceAnsweredStatus: () => number | null;
  vault: Vault;
  clock: SteadyClock;
  chance: Chance;
  mapping: RequestMapping;
  /** Null in a process that takes no webhooks. */
  readBody: BodyReader | null;
  /** Null where the settings name none. */
  identityProvider: IdentityProvider | null;
  /** Null where the settings name no source. */
  enrichment: Enrichment | null;
  ruleWatch: RuleWatch;
  /** Of a source that was kept; null: this version does not take it. */
  readEconomics: (source: string) => EconomicsSettings | null;
  /** Of this program, as its package says. */
  version: string;
  /** False freezes the statistics. */
  learning: boolean;
  journal: Journal;
  /** The desk begins: `isOpen` says whether it may bid, which it may before it has started. */
  onBegin?: ((isOpen: () => boolean) => void) | undefined;
  /** Hears each durable step; a crash run ends the process here. */
  onStep: (step: Step | FlowDurableStep) => void;
  /** The desk was moved from under this process, which is to end. */
  onMoved: (fault: Fault) => void;
};

/** What a worker is told of a code of the program. */
const ownTexts = { pt: workerReasonsPt, en: workerReasonsEn };

/** With what both desks know together. */
type DeskParts = EngineParts & { authorisations: Authorisations };

export type Engine = {
  /** Where webhooks are taken, without the token. */
  url: string;
  /** Where health and status are asked. */
  statusUrl: string;
  /**
   * Where the console is, and a token that opens it once. Null: somebody can log in already, or anybody on the network reaches it.
   */
  firstLogIn: () => { url: string; token: string; minutes: number } | null;
  /** Null in a process that is a door only. */
  desk: Desk | null;
  flowDesk: FlowDesk | null;
  /** What decisions follow now; null: nothing may be decided. */
  policy: () => Policy | null;
  /** Of what the store found out by itself. */
  countAlarm: Metrics['countAlarm'];
  tellFault: (fault: Fault) => void;
  /** No new webhooks, no new bids; what is under way is waited for. */
  stop: () => Promise<void>;
};

/** Longer than this without a step while the log has something new: the process is not alive. */
const stallMs = 15_000;
const webhooksLookMs = 2_000;
/** So long a process is not ready after its log has refused a webhook: nothing else may be appended that tells it is well again. */
const refusalMs = 5_000;

/** Characters of a hash that are shown to people. */
const shownHash = 12;

export async function startEngine(given: EngineParts): Promise<Engine> {
  const { journal } = given;
  await enterHouse({ ...given, ...given.store });
  await claimKey(given.store.log, given.vault, given.instance);
  const logId = await claimLogId(given.store.log, given.instance);
  const { config, awaited } = await decidingConfig(given);
  const { queryBudget: budget } = given.store;
  const queries = withinBudget({ ...given, budget, perDay: config.bidding.directQueriesPerDay });
  const authorisations = createAuthorisations({ always: config.bidding.askWithoutAuthorisation });
  const keyOf = (cpf: string) => workerKeyOf(given.vault, cpf);
  const service = { ...given.service, ...noting(queries, authorisations, keyOf) };
  const parts: DeskParts = { ...given, config, service, authorisations };
  const restored = await noBidReceivedBefore(parts.store);
  const metrics = createMetrics();
  const startedAt = parts.clock.now();
  const lasts: Lasts = {
    ...{ sentAt: null, bidAt: null, winAt: null },
    lately: createLatelyWatch(config.bidding.windowMs),
    hour: createLastHour(startedAt, () => parts.clock.monotonicMs()),
  };
  const tellers: Tellers = {
    clock: parts.clock,
    lasts,
    metrics,
    journal,
    limit: createRepeatLimit(() => performance.now()),
  };
  const lagGauge = createLagGauge({
    clock: parts.clock,
    ends: () => endsHere(parts.store),
    applied: parts.store.views.applied,
    onFault: (fault) => tellFault(tellers, fault),
  });
  const makePolicy = createPolicyMaker(config);
  const rules = createRuleDesk({
    ...parts,
    ...parts.store,
    watch: parts.ruleWatch,
    approval: config.rules.approval,
    policyOf: (ruleSet) => {
      tellUnconfigured(ruleSet, config, tellers);
      return makePolicy(ruleSet);
    },
    unreadable: awaited?.isReadable === false ? unreadableEconomics(awaited) : null,
    onEvent: ruleJournal(tellers),
  });
  const orders = createOrderJournal(journal);
  /** Each hears when a partition of `auctions` goes. */
  const onPartitionLost: (() => void)[] = [];
  const desk = config.roles.includes('desk')
    ? deskOf(await withEarlierTerms(parts), tellers, rules, orders, restored, onPartitionLost)
    : null;
  // A process that only takes webhooks in stamps them with a time that has to be right.
  const doorTime = desk === null ? doorTimeOf(parts, tellers) : null;
  const flowDesk = desk === null ? null : flowDeskOf(parts, desk, tellers, onPartitionLost);
  const refusals = createRefusals(() => performance.now());
  const door = parts.readBody === null ? null : doorOf(parts, parts.readBody, tellers, refusals);
  const raises = watchRaises({ ...parts, ...parts.store }, tellers);
  const economics = watchEconomics({ ...parts, ...parts.store }, awaited, tellers);
  const checks = [
    ...(desk === null
      ? []
      : readinessChecks(desk, flowDesk, rules, orders, serviceNote({ ...parts, desk }, lasts), economics, () =>
          fullCapsOf({ desk, rules, lasts, clock: parts.clock }),
        )),
    ...(desk === null ? [] : [sourceCheck(() => lasts.lately.failingSources(parts.clock.now()))]),
    ...(door === null ? [] : [webhookCheck(parts, door, refusals)]),
  ];
  const tokenWatch = watchTokens({ ...parts, ...parts.store }, (fault) => tellFault(tellers, fault));
  const sessions = config.oidc === null ? null : { origin: config.oidc.redirectBase };
  const startToken = createStartToken(() => performance.now());
  const guard = createGuard(config.api.tokens, tokenWatch, () => parts.clock.now(), sessions, startToken.spent);
  const ruleBook = { ...parts.store.ruleBook, append: appendAndLook(parts.store.ruleBook, raises) };
  const api = apiOf({ ...parts, store: { ...parts.store, ruleBook } }, tokenWatch, logId);
  const status = () =>
    statusOf({
      ...parts,
      desk,
      rules,
      checks,
      lasts,
      startedAt,
      waits: { capRaises: raises.waiting, economics: economics.awaited },
    });
  const server = createServer({
    door,
    status: () => withoutPerson(status()),
    webhookTokens: config.http.webhookTokens,
    limits: config.http,
    trustedProxies: config.http.trustedProxies,
    monotonicMs: () => performance.now(),
    progress: () => (desk === null ? { alive: true, detail: 'takes webhooks' } : progressOf(desk, parts.clock)),
    checks,
    api: { ...api, status, guard },
    addPages: (app, shared) => {
      const { views: heldBids, askedBids } = parts.store;
      const own = {
        flowSettings: config.flows,
        heldBids,
        bidsOfAll: () => (askedBids == null ? heldBids : bidsOfAll(askedBids)),
        appliedElsewhere: async () => (await askedBids?.appliedKnown()) ?? new Map<number, number>(),
        checksNow: () => checks.map(checkNow),
        standingNow: () => ({
          orders: orders.last(),
          ordersCurrent: desk?.status().gate !== 'control-stale',
          flows: flowDesk?.status() ?? { closed: [], frozen: 0 },
        }),
        alarms: metrics.alarms,
        isAlone: parts.soleOwner,
        reviewsWaiting: () => {
          const waiting = desk?.status().reviews;
          return waiting === undefined ? null : Object.values(waiting).reduce((sum, count) => sum + count, 0);
        },
      };
      return addConsole(app, { ...api, ...own, status, guard, startToken, market: marketOf(parts), ...shared });
    },
    metricsText: () => metricsText({ ...parts, rules, metrics, lagGauge, desk, door, checks, lasts }),
    onFault: (text) => journal.error('http-fault', { text }),
    onRefusal: (report) => {
      metrics.observeRefusal(report);
      const { problem, at, address, isNews, why } = report;
      if (isNews) journal.warn('request-refused', { problem, kind: at, address, text: why });
    },
  });
  const addresses = addressesOf(config);
  // Before anything that others can see: a desk without its addresses announces no rules and bids for nothing.
  const ports = await server.listen(addresses).catch(async (fault: unknown) => {
    await server.close();
    throw fault;
  });
  const port = ports.common;
  const webhooksWatch = watchWebhooks(checks, journal);
  if (desk !== null) await rules.start();
  await doorTime?.start();
  parts.store.own?.start();
  parts.onBegin?.(() => desk?.gate() === null);
  await desk?.start();
  await flowDesk?.start();
  await tokenWatch.start();
  await raises.start();
  await economics.start();
  server.open();
  const house = parts.soleOwner ? null : watchHouse({ ...parts, ...parts.store, shows: desk === null });
  journal.info('started', { instance: parts.instance, port, ruleSet: rules.status().hash });
  return {
    url: `http://${(addresses.webhooks ?? addresses.common).host}:${ports.webhooks}`,
    statusUrl: reachableUrl({ host: (addresses.metrics ?? addresses.common).host, port: ports.metrics }),
    firstLogIn: () => {
      const { host } = addresses.api ?? addresses.common;
      if (guard.isOpen() || !isThisMachine(host)) return null;
      return { url: reachableUrl({ host, port: ports.api }), token: startToken.give(), minutes: startTokenMs / 60_000 };
    },
    desk,
    flowDesk,
    policy: () => rules.policy(parts.clock.now()),
    countAlarm: (code) => countAlarm(tellers, code),
    tellFault: (fault) => tellFault(tellers, fault),
    stop: async () => {
      clearInterval(webhooksWatch);
      // What they read is closed after this.
      const looksEnd = Promise.all([house?.stop(), tokenWatch.stop(), raises.stop(), economics.stop()]);
      await server.close();
      doorTime?.stop();
      await flowDesk?.stop();
      await desk?.stop();
      await rules.stop();
      await looksEnd;
      journal.info('stopped', { instance: parts.instance });
    },
  };
}

/** Of the partitions whose views are here. */
async function endsHere({ log, views }: Store): Promise<ReadonlyMap<number, number>> {
  const elsewhere = new Set(views.missing?.());
  return new Map([...(await log.ends('auctions'))].filter(([partition]) => !elsewhere.has(partition)));
}

/** What the log refused lately: what was not taken a moment ago will not be taken now, as far as anybody knows. */
function createRefusals(monotonicMs: () => number) {
  let last: { atMs: number; why: string } | null = null;
  return {
    refused: (fault: unknown) => {
      last = { atMs: monotonicMs(), why: fault instanceof Fault ? fault.message : 'a fault of our own' };
    },
    taken: () => {
      last = null;
    },
    /** Null where none was refused a moment ago. */
    recent: () => (last !== null && monotonicMs() - last.atMs < refusalMs ? last.why : null),
  };
}

/** Where it is told what happens: all of it is counted, and what is not a repetition is logged. */
type Tellers = {
  clock: Clock;
  lasts: Lasts;
  metrics: Metrics;
  journal: Journal;
  limit: ReturnType<typeof createRepeatLimit>;
};

/** When this process last heard of each. */
type Lasts = {
  sentAt: EpochMs | null;
  bidAt: EpochMs | null;
  winAt: EpochMs | null;
  lately: ReturnType<typeof createLatelyWatch>;
  hour: ReturnType<typeof createLastHour>;
};

type CountAlarm = Metrics['countAlarm'];

function countAlarm({ metrics, lasts, clock }: Tellers, code: Parameters<CountAlarm>[0]): void {
  metrics.countAlarm(code);
  lasts.hour.alarm(code, clock.now());
}

function tellFault({ metrics, journal, limit }: Tellers, { code, message }: { code: string; message: string }): void {
  metrics.countFault(code);
  limit(`fault ${code} ${message}`, (leftOut) => journal.error('fault', { code, text: message, leftOut }));
}

type Refusals = ReturnType<typeof createRefusals>;

const webhookCheckName = 'webhooks';

/** Ready for webhooks means that one would be stored, and answered soon. */
function webhookCheck({ store, config }: EngineParts, door: Door, refusals: Refusals): ReadinessCheck {
  return {
    name: webhookCheckName,
    role: 'ingress',
    missing: () => {
      // Twice: for the log, and for what the views write of it.
      const why = store.unwritable?.(2 * config.http.bodyLimitBytes) ?? null;
      if (why !== null) return `webhooks are not stored: ${why}`;
      const refused = refusals.recent();
      if (refused !== null) return `webhooks are not stored: a moment ago one was refused: ${refused}`;
      const hindrance = door.hindrance();
      return hindrance === null ? null : `webhooks are not answered: ${hindrance}`;
    },
  };
}

/** For people who are logged in. */
function checkNow({ name, missing, note, isIll }: ReadinessCheck): {
  name: string;
  missing: string | null;
  note: string | null;
  isIll: boolean;
} {
  return { name, missing: missing(), note: note?.(true) ?? null, isIll: isIll?.() ?? false };
}

/** Null: they are not, or the process takes none. */
function whyWebhooksAreRefused(checks: readonly ReadinessCheck[]): string | null {
  return checks.find(({ name }) => name === webhookCheckName)?.missing() ?? null;
}

/** Logs when webhooks begin to be refused and when that ends, although none may have come, as on a disk that is nearly full. */
function watchWebhooks(checks: readonly ReadinessCheck[], journal: Journal): NodeJS.Timeout {
  let told = false;
  const why = (): string | null => {
    try {
      return whyWebhooksAreRefused(checks);
    } catch (fault) {
      // The data directory was removed. The process must go on, for it still holds the files that were in it.
      return `the place where webhooks are stored cannot be read: ${fault instanceof Error ? fault.message : 'a fault of our own'}`;
    }
  };
  const look = () => {
    const text = why();
    if (text !== null && !told) journal.warn('webhooks-refused', { text });
    if (text === null && told) journal.info('webhooks-taken');
    told = text !== null;
  };
  look();
  return setInterval(look, webhooksLookMs).unref();
}

function doorOf(parts: EngineParts, readBody: BodyReader, tellers: Tellers, refusals: Refusals): Door {
  const { store, clock, config, journal } = parts;
  const { metrics, limit } = tellers;
  return createDoor({
    append: timedAppend(store.appendAtDoor, clock, metrics, refusals),
    readBody,
    clock,
    limits: config.http,
    observer: (report) => {
      metrics.observeDoor(report);
      const { status, event, requests, deadLetters, problem, durationMs } = report;
      if (problem === 'reading-failed') {
        countAlarm(tellers, 'webhook-failed');
        journal.error('alarm', { code: 'webhook-failed' });
      }
      if (problem !== null || deadLetters > 0) {
        const what = { status, kind: event, requests, deadLetters, problem, durationMs };
        // What a sender is asked to send again comes as often as it does: told with its cause, and not each time.
        if (status !== 503) journal.warn('webhook-problem', what);
        else {
          const text = refusals.recent();
          limit(`webhook ${problem} ${text}`, (leftOut) => journal.warn('webhook-problem', { ...what, text, leftOut }));
        }
      }
    },
  });
}

/** Only a process that folds states its settings: those of one that takes webhooks alone may be the defaults. */
async function withEarlierTerms(parts: DeskParts): Promise<DeskParts & { earlierTerms: FoldTerms }> {
  const { store, config, instance } = parts;
  return { ...parts, earlierTerms: await claimEarlierTerms(store.log, config.bidding, instance) };
}

function deskOf(
  parts: DeskParts & { earlierTerms: FoldTerms },
  tellers: Tellers,
  rules: RuleDesk,
  orders: OrderJournal,
  restored: EpochMs,
  onPartitionLost: readonly (() => void)[],
): Desk {
  const { config, store, journal } = parts;
  const { own } = store;
  const onProgress = ({ partition, applied }: RebuildProgress) =>
    journal.info('rebuilding', { partition, offset: applied });
  const desk = createDesk({
    tellsEarlierBids: true,
    ...parts,
    ...store,
    ...(store.trouble === undefined ? {} : { logTrouble: store.trouble }),
    ...(store.changed === undefined ? {} : { logChanged: store.changed }),
    ...(store.lostClaim === undefined ? {} : { lostClaim: store.lostClaim }),
    ...(store.silence === undefined ? {} : { logSilence: store.silence }),
    settings: config.bidding,
    noBidReceivedBefore: restored,
    policy: rules.policy,
    onControl: (state, readAt) => {
      rules.onControl(state, readAt);
      orders.hear(state);
    },
    encodeBid: (requestId, offer) => encodeBid({ requestId, offer, contacts: config.contacts }),
    isBidOf,
    observer: observerOf(tellers, parts.onStep),
    ...(own === null
      ? {}
      : {
          restoreViews: own.take,
          leaveViews: (partition) => {
            for (const hear of onPartitionLost) hear();
            return own.leave(partition);
          },
          onRebuild: onProgress,
        }),
  });
  return desk;
}

function loanAddressesOf({ service }: Config): LoanAddresses {
  return { fgts: service.fgtsUrl !== null, proposal: service.proposalUrl !== null };
}

/** Contracts and withdrawals; a pause of the desk keeps them from writing too. */
function flowDeskOf(
  { store, config, journal, onStep, ...parts }: DeskParts,
  desk: Desk,
  tellers: Tellers,
  onPartitionLost: (() => void)[],
): FlowDesk {
  return createFlowDesk({
    ...parts,
    ...store,
    settings: config.flows,
    pricing: config.pricing,
    addresses: loanAddressesOf(config),
    isOpen: () => desk.gate() === null,
    carried: {
      partitionOf: (key) => store.partitionOf('auctions', key),
      owned: desk.partitions,
      onLost: (hear) => onPartitionLost.push(hear),
    },
    observer: (event) => {
      if (event.kind === 'step') onStep(event.step);
      else if (event.kind === 'alarm') {
        countAlarm(tellers, event.code);
        journal.error('alarm', { code: event.code, flowId: event.flowId, text: event.text });
      } else tellFault(tellers, event);
    },
  });
}

function observerOf(tellers: Tellers, onStep: (step: Step) => void): DeskObserver {
  const { metrics, journal, limit } = tellers;
  return (event) => {
    if (event.kind === 'fault') return tellFault(tellers, event);
    metrics.observeDesk(event);
    noteLasts(event, tellers);
    if (event.kind === 'step') onStep(event.step);
    else if (event.kind === 'alarm') tellAlarm(event, tellers);
    else if (event.kind === 'time') tellTime(event, journal);
    else if (event.kind === 'bidding') tellBidding(event, journal);
    else if (event.kind === 'log-refused') {
      const { topic, message } = event;
      limit(`log ${topic} ${message}`, (leftOut) => journal.error('log-refused', { topic, text: message, leftOut }));
    }
    return undefined;
  };
}

/** A service that does the same to every bid raises these for each of them. `lance bids list` names the requests by state or code. */
const alarmsOfMany: ReadonlySet<AlarmCode> = new Set([
  'contemplation-late',
  'decision-failed',
  'foreign-bid',
  'rejected-unclassified',
  'result-missing',
]);

function tellAlarm(
  { code, requestId, sharedWith, text }: Extract<DeskEvent, { kind: 'alarm' }>,
  { journal, limit }: Tellers,
): void {
  const tell = (more: { leftOut?: number }) => journal.error('alarm', { code, requestId, sharedWith, text, ...more });
  if (alarmsOfMany.has(code)) limit(`alarm ${code}`, (leftOut) => tell({ leftOut }));
  else tell({});
}

function noteLasts(event: DeskEvent, tellers: Tellers): void {
  const { lasts, clock } = tellers;
  if (event.kind === 'folded' || event.kind === 'settled') lasts.hour.note(event, clock.now());
  if (event.kind === 'alarm') lasts.hour.alarm(event.code, clock.now());
  if (event.kind === 'would-be') tellRefusals('bids-refused', lasts.lately.note(event.record), tellers);
  if (event.kind === 'earlier-bids') lasts.lately.noteEarlier(event.bids);
  if (event.kind === 'link-query') tellRefusals('link-queries-refused', lasts.lately.noteLinkQuery(event), tellers);
  if (event.kind === 'attempt' && event.durationMs !== null) lasts.lately.noteAnswerTime(event.durationMs, clock.now());
  if (event.kind === 'source') lasts.lately.noteSource(event);
  if (event.kind === 'sending') lasts.sentAt = event.at;
  if (event.kind === 'attempt' && takenOutcomes.has(event.outcome)) lasts.bidAt = clock.now();
  if (event.kind === 'folded' && event.to === 'won' && event.from !== 'won') lasts.winAt = clock.now();
}

const refusalTexts = {
  'bids-refused': statusEn.unknownRefusals,
  'link-queries-refused': statusEn.linkQueryRefusals,
};

function tellRefusals(code: keyof typeof refusalTexts, change: RefusalChange | null, tellers: Tellers): void {
  if (change === null) return;
  const { journal } = tellers;
  const { kind, count, durationMs } = change;
  if (kind === 'over') journal.info(`${code}-over`, { count, durationMs });
  else {
    countAlarm(tellers, code);
    journal.error('alarm', { code, count, durationMs, text: refusalTexts[code](count) });
  }
}

/** Outcomes of an attempt after which the service has our bid. */
const takenOutcomes: ReadonlySet<string> = new Set<BidOutcome['kind']>(['accepted', 'accepted-outside', 'duplicate']);

function doorTimeOf(parts: EngineParts, tellers: Tellers): TimeWatch {
  const { clock, service, store, config } = parts;
  const observer = observerOf(tellers, parts.onStep);
  return createTimeWatch({ clock, service, log: store.log, settings: config.bidding, observer, stopping: () => false });
}

function tellBidding({ status, before }: Extract<DeskEvent, { kind: 'bidding' }>, journal: Journal): void {
  const from = before?.kind === 'closed' ? before.cause : null;
  const durationMs = before === null ? null : status.since - before.since;
  if (status.kind === 'open') {
    journal.info('bidding-open', { from, durationMs });
    return;
  }
  const { cause: code, by, detail, until } = status;
  const remedy = remedyOf(biddingEn, code, detail);
  journal.warn('bidding-closed', {
    code,
    from,
    by,
    ...(until === undefined ? {} : { until }),
    // A line is cut off at its end, where the remedy stands.
    text: [detail?.slice(0, maxTextLength - remedy.length - 2), remedy].filter(Boolean).join('; '),
  });
}

function tellTime({ doubt, movedMs }: Extract<DeskEvent, { kind: 'time' }>, journal: Journal): void {
  if (doubt === null) journal.info('time-believed');
  else journal.error('time-doubted', { code: doubt, durationMs: movedMs, text: doubtText({ doubt, movedMs }) });
}

/** What an operator has to know, in words. */
function doubtText({ doubt, movedMs }: NonNullable<DeskStatus['timeDoubt']>): string {
  const moved = `${Math.abs(movedMs / 1_000).toFixed(1)} s ${movedMs < 0 ? 'behind' : 'ahead of'}`;
  if (doubt === 'clock-skew') return `the service's time is ${moved} ours: one of the two clocks is wrong`;
  return `this machine's clock is ${moved} the time kept; it is followed when it is back or the service's time agrees with it`;
}

function ofAllOwners({ missing: _, ...views }: Views, askedBids: AskedBids): Views & AskedBids {
  // How far callbacks are dealt with each process knows for itself.
  const applied: Views['applied'] = (partition) =>
    (isCallbackPartition(partition) ? views : askedBids).applied(partition);
  return { ...views, ...askedBids, applied };
}

function apiOf(parts: EngineParts, tokenWatch: TokenWatch, logId: string): Omit<ApiParts, 'status'> {
  const { store, config, vault, clock, mapping, journal, version, readBody } = parts;
  const append = store.appendAtDoor;
  // Whatever process folds them.
  const views = store.askedBids == null ? store.views : ofAllOwners(store.views, store.askedBids);
  const front = createFlowFront({
    ...{ append, log: store.log, flows: store.flows, views, margins: store.margins, vault, clock },
    logId: async () => logId,
    unfolded: null,
    settings: config.flows,
    pricing: config.pricing,
    addresses: loanAddressesOf(config),
  });
  return {
    ...{ ...store, views, append, front, vault, clock, mapping, version, tokenWatch, ruleWatch: parts.ruleWatch },
    bids: createBidReader({ ...store, views, vault, workerReasons: createWorkerReasons({ ...store, own: ownTexts }) }),
    rules: { ...store, clock, ...config.rules },
    ownTexts,
    readBody: readBody ?? bodyReader({ vault, mapping, limits: config.http, terms: config.bidding }),
    replayLimit: config.api.replayLimit,
    flowSettings: config.flows,
    login: loginOf(parts),
    bodyLimitBytes: config.api.bodyLimitBytes,
    onFault: (text) => journal.error('http-fault', { text }),
    onReplay: ({ by, reason }, { read }) => journal.info('letters-replayed', { by, text: reason, count: read }),
    onDismiss: ({ by, reason }, { partition, offset }) =>
      journal.info('letter-dismissed', { by, text: reason, partition, offset }),
  };
}

/** Loaded when somebody looks at it. */
function marketOf({ store, config, clock }: EngineParts): ConsoleParts['market'] {
  const { winCurve } = config.pricing;
  return async () => {
    const { readMarket } = await import('./impact/market.ts');
    return readMarket(store.views, { at: clock.now(), halfLifeMs: config.bidding.halfLifeMs, winCurve });
  };
}

function loginOf({ config, identityProvider }: EngineParts): ApiParts['login'] {
  const { oidc } = config;
  if (oidc === null || identityProvider === null) return null;
  const { redirectBase: origin, sessionMs, nameClaim, rolesClaim, roles } = oidc;
  return { identityProvider, origin, sessionMs, person: { nameClaim, rolesClaim, roles } };
}

/** A set is about to decide whose sources cannot be asked here. */
function tellUnconfigured({ hash, sources }: RuleSet, { enrichment }: Config, { journal }: Tellers): void {
  for (const fault of notConfigured(sources, enrichment))
    journal.warn('rules-source-unconfigured', { ruleSet: hash, text: faultText(fault) });
}

function ruleJournal(tellers: Tellers): (event: RuleEvent) => void {
  const { metrics, journal } = tellers;
  return (event) => {
    switch (event.kind) {
      case 'rules-live':
      case 'rules-announced':
      case 'rules-mended':
        return journal.info(event.kind, { ruleSet: event.hash });
      case 'rules-reviewed':
        return journal.info(event.kind, { ruleSet: event.hash, text: event.text });
      case 'rules-review-overdue':
        countAlarm(tellers, 'rollback-unreviewed');
        return journal.error('alarm', { code: 'rollback-unreviewed', ruleSet: event.hash, text: event.text });
      case 'rules-gone-back':
      case 'rules-await-approval':
      case 'rules-not-followed':
        return journal.warn(event.kind, { ruleSet: event.hash, text: event.text });
      case 'rules-missing':
        return journal.error(event.kind, { ruleSet: event.hash, text: event.text });
      case 'rules-refused':
        return journal.error(event.kind, { text: event.text });
      case 'rules-approval-kept':
        return journal.warn(event.kind, { text: event.text });
      case 'fault':
        metrics.countFault(event.code);
        return journal.warn('rules-fault', { code: event.code, text: event.text });
      default:
        return event satisfies never;
    }
  };
}

type Awaited = { hash: string; used: string; isReadable: boolean };

/**
 * The configuration that decides. A process whose economics two persons would have to stand for first decides by those used before; one
 * that bids for nothing decides nothing. `isReadable` false: this version does not take them, and nothing may be decided.
 */
async function decidingConfig(given: EngineParts): Promise<{ config: Config; awaited: Awaited | null }> {
  const { config, readEconomics, store, clock } = given;
  if (!config.roles.includes('desk')) return { config, awaited: null };
  const { hash, source } = economicsOf(config);
  const isSame = (kept: string) => readEconomics(kept)?.hash === hash;
  const settled = await settleEconomics({ ruleBook: store.ruleBook, clock }, { hash, source }, isSame);
  if (settled.kind === 'own') return { config, awaited: null };
  const used = readEconomics(settled.used.source);
  const awaited = { hash, used: settled.used.hash, isReadable: used !== null };
  return { config: used === null ? config : withEconomics(config, used), awaited };
}

function unreadableEconomics({ hash, used }: Awaited): string {
  return `this version does not take the economics ${used.slice(0, shownHash)} that decided until now, and two persons have to stand for those of the settings: lance economics approve ${hash.slice(0, shownHash)}, each with a token of their own; then restart`;
}

function awaitedText({ hash, used, approved }: NonNullable<DaemonStatus['economics']>): string {
  const [own, before] = [hash.slice(0, shownHash), used.slice(0, shownHash)];
  return approved
    ? `economics ${own} of the settings are approved, and decide from a restart on; until then ${before} decide`
    : `economics ${own} of the settings wait for two persons, and ${before} decide: lance economics show, then lance economics approve ${own}, each with a token of their own`;
}

type EconomicsWatch = {
  start: () => Promise<void>;
  stop: () => Promise<void>;
  awaited: () => NonNullable<DaemonStatus['economics']> | null;
};

/** Whether the economics that this process had to leave aside are approved by now, which counts from its next start on. */
function watchEconomics(
  { ruleBook, clock }: Pick<ControlParts, 'ruleBook' | 'clock'>,
  held: Awaited | null,
  tellers: Tellers,
): EconomicsWatch {
  let approved = false;
  const awaited = () => (held === null ? null : { hash: held.hash, used: held.used, approved });

  async function look(): Promise<void> {
    try {
      const { waiting } = await economicsStanding({ ruleBook });
      const wasApproved = approved;
      approved = waiting.find(({ hash }) => hash === held?.hash)?.approved === true;
      const now = awaited();
      if (now !== null && approved && !wasApproved)
        tellers.journal.info('economics-approved', { text: awaitedText(now) });
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      tellFault(tellers, fault);
    }
  }

  const looking = lookAgain(clock, raisesLookMs, async () => {
    await look();
    return !approved;
  });
  return {
    start: async () => {
      const now = awaited();
      if (now === null) return;
      tellers.journal.warn('economics-await-approval', { text: awaitedText(now) });
      await looking.start();
    },
    stop: looking.stop,
    awaited,
  };
}

/** A raise is in the rule book, which no control tells of. */
const raisesLookMs = 5_000;

type RaisesWatch = {
  start: () => Promise<void>;
  stop: () => Promise<void>;
  /** Reads now: what was just ordered is told at once. */
  look: () => Promise<void>;
  waiting: () => readonly WaitingRaise[];
};

/** What it last read, and a log line for each raise that begins to wait. Where the book cannot be read what was known stays, until it expires. */
function watchRaises(parts: Pick<ControlParts, 'ruleBook' | 'clock'>, tellers: Tellers): RaisesWatch {
  let known: readonly WaitingRaise[] = [];

  async function look(): Promise<void> {
    try {
      const found = await waitingRaises(parts);
      const told = new Set(known.map(({ name, by, at }) => `${at} ${by} ${name}`));
      for (const { name, by, at, limitCents, reason, until } of found)
        if (!told.has(`${at} ${by} ${name}`))
          tellers.journal.warn('cap-raise-waiting', { cap: name, by, limitCents, until, text: reason });
      known = found;
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      tellFault(tellers, fault);
    }
  }

  const looking = lookAgain(parts.clock, raisesLookMs, async () => {
    await look();
    return true;
  });
  return {
    start: looking.start,
    stop: looking.stop,
    look,
    waiting: () => known.filter(({ until }) => parts.clock.now() < until),
  };
}

/** For orders that this process takes. */
function appendAndLook({ append }: RuleBook, { look }: RaisesWatch): RuleBook['append'] {
  return async (entry) => {
    await append(entry);
    if (entry.kind === 'cap-raise') await look();
  };
}

type OrderJournal = {
  hear: (state: ControlState) => void;
  /** The latest orders and their authors, for `/readyz?verbose`. `current`: the controls are read just now. */
  text: (current: boolean) => string;
  /** The same as they are; null: they are not read yet. */
  last: () => readonly OperatorChange[] | null;
};

/** Writes a line for each order of an operator that is new since the last reading, and at the start for a pause that holds. */
function createOrderJournal(journal: Journal): OrderJournal {
  let known: ControlState | null = null;
  const tell = (change: OperatorChange) => {
    const { revision, kind, by, reason } = change;
    const name = 'name' in change ? change.name : undefined;
    const named = kind.startsWith('rule-') ? { rule: name } : { cap: name };
    const until = 'until' in change ? change.until : undefined;
    const limitCents = 'limitCents' in change ? change.limitCents : undefined;
    journal.info('control-changed', { revision, kind, ...named, limitCents, until, by, text: reason });
  };
  return {
    hear: (state) => {
      if (known === null && state.pause !== null)
        journal.warn('paused', { by: state.pause.by, text: state.pause.reason });
      const before = known?.revision ?? state.revision;
      for (const change of state.changes) if (change.revision > before) tell(change);
      known = state;
    },
    text: (current) => {
      if (known === null) return 'unknown: the orders are not read yet';
      const orders = lastChanges(known.changes).map(changeText).join('; ');
      if (!current) return `unknown: the orders cannot be read${orders === '' ? '' : `; as last read: ${orders}`}`;
      return orders || 'no order yet';
    },
    last: () => (known === null ? null : lastChanges(known.changes)),
  };
}

function changeText(change: OperatorChange): string {
  const what = 'name' in change ? `${change.kind} ${change.name}` : change.kind;
  const why = change.reason === null ? '' : ` (${change.reason})`;
  return `${what} by ${change.by}${why} at ${new Date(change.at).toISOString()}`;
}

function timedAppend(
  append: EventLog['append'],
  clock: Clock,
  metrics: Metrics,
  refusals: Refusals,
): EventLog['append'] {
  return async (entries) => {
    const startedAtMs = clock.monotonicMs();
    try {
      await append(entries);
    } catch (fault) {
      refusals.refused(fault);
      throw fault;
    }
    refusals.taken();
    metrics.observeAppend(clock.monotonicMs() - startedAtMs);
  };
}

function progressOf(desk: Desk, clock: Clock): { alive: boolean; detail: string } {
  const silentMs = clock.monotonicMs() - desk.progressAtMs();
  return { alive: silentMs < stallMs, detail: `last progress ${Math.round(silentMs / 1_000)} s ago` };
}

function isOfViews(cause: string): boolean {
  return cause === 'views-incomplete' || cause === 'partitions-not-live';
}

function readinessChecks(
  desk: Desk,
  flowDesk: FlowDesk | null,
  rules: RuleDesk,
  orders: OrderJournal,
  service: { text: () => string; isIll: () => boolean },
  economics: EconomicsWatch,
  fullCaps: () => DaemonStatus['caps'],
): ReadinessCheck[] {
  return [
    {
      name: 'caught-up',
      role: 'engine',
      missing: () => {
        const { live, bidding } = desk.status();
        if (live) return null;
        const detail = bidding.kind === 'closed' && isOfViews(bidding.cause) ? bidding.detail : null;
        return `the views are being caught up with the log; nothing is bid until then${detail === null ? '' : ` (${detail})`}`;
      },
    },
    {
      name: 'partitions',
      role: 'engine',
      // One closed partition is no reason to take work from a process that has others.
      missing: () => {
        const { closed } = desk.status();
        return closed.some((text) => text.startsWith('auctions/')) && desk.partitions().length === 0
          ? closed.join('; ')
          : null;
      },
      note: () => {
        const [bids, flows] = [desk.status(), flowDesk?.status() ?? { closed: [], frozen: 0 }];
        const closed = [...bids.closed, ...flows.closed];
        const frozen = bids.live
          ? `${bids.frozen} requests and ${flows.frozen} flows are frozen`
          : 'how many requests and flows are frozen is not known';
        return [closed.length === 0 ? 'none is closed' : closed.join('; '), frozen].join('; ');
      },
      isIll: () => desk.status().closed.length + (flowDesk?.status().closed.length ?? 0) > 0,
    },
    {
      name: 'gate',
      role: 'engine',
      missing: () => {
        const bidding = withDoubt(desk.status());
        return bidding.kind === 'open' || bidding.cause === 'paused' ? null : closedText(bidding);
      },
      note: (names) => {
        const bidding = withDoubt(desk.status());
        if (bidding.kind === 'open') return `open since ${new Date(bidding.since).toISOString()}`;
        return names || bidding.cause !== 'paused'
          ? closedText(bidding)
          : closedText({ ...bidding, by: null, detail: null });
      },
    },
    {
      name: 'service',
      role: 'engine',
      // What is known to be wrong stands at the gate. The time witness is asked also by an idle desk, but may be `none`.
      missing: () => null,
      note: service.text,
      isIll: service.isIll,
    },
    {
      name: 'caps',
      role: 'engine',
      // A cap does what it is there for.
      missing: () => null,
      note: (names) => {
        const caps = fullCaps();
        if (caps == null) return 'none keeps bids back';
        return fullCapsText(formatEn, names ? caps : withoutUse(caps));
      },
      isIll: () => fullCaps() != null,
    },
    {
      name: 'rules',
      role: 'engine',
      missing: () => {
        const { hash, missing } = rules.status();
        return missing === null ? null : `rule set ${hash?.slice(0, shownHash) ?? 'none'}: ${missing}`;
      },
      note: (names) => {
        const { hash, refusal, notFollowed, rollback, isReviewOverdue } = rules.status();
        const held = economics.awaited();
        const waits = held === null ? '' : `; ${awaitedText(held)}`;
        const followed = `${hash?.slice(0, shownHash) ?? 'none'} is followed${rollback === null ? '' : rollbackText(rollback, isReviewOverdue, names)}${waits}`;
        if (refusal !== null) return `${followed}; the folder is refused`;
        return notFollowed === null ? followed : `${followed}; ${notFollowed.slice(0, shownHash)} in the folder is not`;
      },
      isIll: () => {
        const { refusal, rollback } = rules.status();
        const isUnreviewed = rollback !== null && rollback.reviewedBy === null;
        return refusal !== null || isUnreviewed || economics.awaited() !== null;
      },
    },
    {
      name: 'control',
      role: 'engine',
      missing: () => null,
      note: (names) => {
        if (!names) return 'said to whoever asks from this machine';
        return orders.text(desk.status().gate !== 'control-stale');
      },
    },
  ];
}

/** What the rules say for a failing source holds, so it keeps no process from being ready. */
function sourceCheck(failing: () => ReturnType<Lasts['lately']['failingSources']>): ReadinessCheck {
  return {
    name: 'sources',
    role: 'engine',
    missing: () => null,
    note: () => failing()?.map(statusEn.failingSource).join('; ') ?? 'none fails',
    isIll: () => failing() !== null,
  };
}

type ServiceParts = EngineParts & { desk: Desk };

function serviceText(parts: ServiceParts, { lately }: Lasts): string {
  const { unknownRefusals, linkQueryRefusals, slowAnswers } = lately.told(parts.clock.now());
  const texts = [answerText(parts)];
  if (unknownRefusals !== null) texts.push(statusEn.unknownRefusals(unknownRefusals));
  if (linkQueryRefusals !== null) texts.push(statusEn.linkQueryRefusals(linkQueryRefusals));
  if (slowAnswers !== null) texts.push(statusEn.slowAnswers(slowAnswers));
  return texts.join('; ');
}

function serviceNote(parts: ServiceParts, lasts: Lasts): { text: () => string; isIll: () => boolean } {
  const isIll = () =>
    isTurnedAway(parts.serviceAnsweredStatus() ?? 0) ||
    Object.values(lasts.lately.told(parts.clock.now())).some((told) => told !== null);
  return { text: () => serviceText(parts, lasts), isIll };
}

function answerText({
  serviceAnsweredAt,
  serviceAnsweredStatus,
  clock,
  desk,
}: Pick<ServiceParts, 'serviceAnsweredAt' | 'serviceAnsweredStatus' | 'clock' | 'desk'>): string {
  const at = serviceAnsweredAt();
  if (at === null) return 'has not answered since the start';
  const status = serviceAnsweredStatus();
  const { bidding } = desk.status();
  const isOfToken =
    bidding.kind === 'closed' && bidding.cause === 'service-unauthorised' && status !== null && refusesToken(status);
  const refusedText = isOfToken ? statusEn.tokenTurnedAway : statusEn.turnedAway;
  const refused = status !== null && isTurnedAway(status) ? `, ${refusedText(status)}` : '';
  return `last answered ${statusEn.ago(ageOf(clock.now() - at))}, at ${new Date(at).toISOString()}${refused}`;
}

/** `names`: who asks may read colleagues' names. */
function rollbackText({ hash, from, by, reviewBy, reviewedBy }: Rollback, isOverdue: boolean, names: boolean): string {
  const who = names && by !== null ? ` by ${by}` : '';
  const until = new Date(reviewBy).toISOString();
  const due = isOverdue
    ? `overdue: somebody else was to look at it by ${until}: lance rules approve ${hash.slice(0, shownHash)}`
    : `to be looked at by somebody else until ${until}`;
  const review = reviewedBy === null ? due : `looked at${names ? ` by ${reviewedBy}` : ''}`;
  return ` (gone back to${who} from ${from.slice(0, shownHash)}, ${review})`;
}

function statusOf(
  parts: EngineParts & {
    desk: Desk | null;
    rules: RuleDesk;
    checks: readonly ReadinessCheck[];
    lasts: Lasts;
    startedAt: EpochMs;
    waits: { capRaises: () => readonly WaitingRaise[]; economics: () => DaemonStatus['economics'] };
  },
): DaemonStatus {
  const { instance, version, config, clock, desk, rules, checks, lasts, startedAt } = parts;
  const status = desk?.status() ?? null;
  const { hash, refusal, heldBack, notFollowed, rollback } = rules.status();
  return {
    ...{ instance, version, roles: [...config.roles], startedAt, at: clock.now() },
    ready: checks.every(({ missing }) => missing() === null),
    webhooksRefused: whyWebhooksAreRefused(checks),
    bidding: status === null ? null : shownBidding(withDoubt(status)),
    ruleSet: hash,
    rulesFolder: { refusal, heldBack: heldBack && shownHeldBack(heldBack), notFollowed },
    rollback: rollback === null ? null : { ...rollback },
    partitions: { owned: [...(desk?.partitions() ?? [])], closed: [...(status?.closed ?? [])] },
    requests:
      status === null
        ? null
        : {
            ...{
              known: status.live,
              open: status.open,
              queued: status.queued,
              oldestQueuedAt: status.oldestQueuedAt,
              parked: status.parked,
            },
            ...{
              sending: status.sending,
              sendLimit: Math.floor(status.sendLimit),
              sendLimitMost: config.bidding.sendLimit,
              unknown: status.unknown.count,
            },
            frozen: status.frozen,
          },
    lastBidAt: lasts.bidAt,
    lastSentAt: lasts.sentAt,
    economics: parts.waits.economics() ?? null,
    capRaises: parts.waits.capRaises().map(({ name, limitCents, by, until }) => ({ name, limitCents, by, until })),
    pausedAt: status?.pausedAt ?? null,
    lastWinAt: lasts.winAt,
    lastAnswerAt: parts.serviceAnsweredAt(),
    lastAnswerStatus: parts.serviceAnsweredStatus(),
    serviceAskedMs: config.bidding.timeWitness === 'service' ? askIdleEveryMs : null,
    ...lasts.lately.told(clock.now()),
    failingSources: lasts.lately.failingSources(clock.now())?.map((failing) => ({ ...failing })) ?? null,
    caps: fullCapsOf(parts),
    lastHour: lastHourOf(parts),
  };
}

function lastHourOf({
  desk,
  lasts,
  clock,
}: {
  desk: Desk | null;
  lasts: Lasts;
  clock: Clock;
}): DaemonStatus['lastHour'] {
  const { from, figures, alarms } = lasts.hour.told(clock.now());
  return { from, figures: desk === null ? null : figures, alarms: [...alarms] };
}

/** The cap that keeps bids back; null: none does. */
function fullCapsOf({
  desk,
  rules,
  lasts,
  clock,
}: {
  desk: Pick<Desk, 'status'> | null;
  rules: Pick<RuleDesk, 'status'>;
  lasts: Lasts;
  clock: Clock;
}): NonNullable<DaemonStatus['caps']> | null {
  const { hash: ruleSetHash } = rules.status();
  return lasts.lately.caps({ now: clock.now(), byHand: desk?.status().capsByHand ?? null, ruleSetHash });
}

/** A clock that is not believed is told with how far it moved, and which way. */
function withDoubt({ bidding, timeDoubt }: DeskStatus): BiddingStatus {
  const isDoubted = bidding.kind === 'closed' && timeDoubt !== null && bidding.cause === timeDoubt.doubt;
  return isDoubted ? { ...bidding, detail: doubtText(timeDoubt) } : bidding;
}

function shownHeldBack({ capNames = [], files, ...held }: HeldBack) {
  return { ...held, capNames: [...capNames], files: [...files] };
}

function withoutUse(caps: NonNullable<DaemonStatus['caps']>): NonNullable<DaemonStatus['caps']> {
  return { ...caps, cap: { ...caps.cap, ...nothingTold } };
}

const formatEn = createFormat('en');
const noMoney = { expectedCents: null, realisedCents: null };
const nothingTold = { usedCents: null, limitCents: null, usedCount: null, limitCount: null };

/** For readers without a token: who paused, what that person wrote, profit and the money under a cap are for those with a role. */
function withoutPerson(status: DaemonStatus): DaemonStatus {
  const { bidding, rollback, caps, capRaises = [], lastHour } = status;
  const nameless = {
    ...status,
    capRaises: capRaises.map((raise) => ({ ...raise, limitCents: null, by: null })),
    ...(lastHour?.figures == null ? {} : { lastHour: { ...lastHour, figures: { ...lastHour.figures, ...noMoney } } }),
    rollback: rollback == null ? null : { ...rollback, by: null, reviewedBy: null },
    ...(caps == null ? {} : { caps: withoutUse(caps) }),
  };
  return bidding?.cause === 'paused' ? { ...nameless, bidding: { ...bidding, by: null, detail: null } } : nameless;
}

function shownBidding(bidding: BiddingStatus): NonNullable<DaemonStatus['bidding']> {
  const { kind, since } = bidding;
  if (kind === 'open') return { kind, cause: null, since, until: null, by: null, detail: null, remedy: null };
  const { cause, until = null, by, detail } = bidding;
  return { kind, cause, since, until, by, detail, remedy: remedyOf(biddingEn, cause, detail) };
}

function closedText({ cause, since, until, by, detail }: Extract<BiddingStatus, { kind: 'closed' }>): string {
  const who = by === null ? '' : ` by ${by}`;
  const why = detail === null ? '' : `: ${detail}`;
  const end = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  return `bidding is closed: ${cause}${who} since ${new Date(since).toISOString()}${end}${why}; ${remedyOf(biddingEn, cause, detail)}`;
}

async function metricsText(
  parts: EngineParts & {
    rules: RuleDesk;
    metrics: Metrics;
    lagGauge: LagGauge;
    desk: Desk | null;
    door: Door | null;
    checks: readonly ReadinessCheck[];
    lasts: Lasts;
  },
): Promise<string> {
  const { clock, metrics, lagGauge, desk, door, checks } = parts;
  const lag = await lagGauge.read();
  const told = parts.lasts.lately.told(clock.now());
  metrics.setGauges({
    now: clock.now(),
    desk: desk?.status() ?? null,
    ready: Object.fromEntries(checks.map(({ name, missing }) => [name, missing() === null])),
    doorInFlight: door?.inFlight() ?? 0,
    lag,
    ruleSetRefused: parts.rules.status().refusal !== null,
    logLinesLost: parts.journal.lost(),
    serviceAnsweredAt: parts.serviceAnsweredAt(),
    unknownRefusals: told.unknownRefusals ?? 0,
    linkQueryRefusals: told.linkQueryRefusals ?? 0,
    cappedRequests: fullCapsOf(parts)?.ended ?? 0,
  });
  return metrics.text();
}
