#!/usr/bin/env node
/** The command line and composition root: but for the threads (`*-thread.ts`), the only file that knows the adapters. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { Command, InvalidArgumentError, Option } from 'commander';
import { type AnchorPlace, anchorFileOf } from './adapters/embedded/anchor.ts';
import {
  holdersOfLostLock,
  holdersOfRemoved,
  holdsDesk,
  isHeld,
  tooLittleSpace,
} from './adapters/embedded/database.ts';
import { readImportMark } from './adapters/embedded/import-mark.ts';
import { quickCheck } from './adapters/embedded/quick-check.ts';
import { openEmbeddedReader } from './adapters/embedded/reader.ts';
import {
  startRefusal as embeddedRefusal,
  openSetBack as openEmbeddedSetBack,
  openEmbeddedStore,
} from './adapters/embedded/store.ts';
import { giveUpViews } from './adapters/embedded/view-scratch.ts';
import type { KafkaAnchors } from './adapters/kafka/anchors.ts';
import type { KafkaLog } from './adapters/kafka/log.ts';
import type { RedisStore } from './adapters/redis/store.ts';
import { createSteadySystemClock, createSystemClock } from './adapters/system/clock.ts';
import { readRuleFiles } from './adapters/system/rule-files.ts';
import { createAuditKey } from './adapters/vault/audit-key.ts';
import { createVault } from './adapters/vault/vault.ts';
import { away } from './bidding/house.ts';
import { refuseOtherKey } from './bidding/key-check.ts';
import {
  type ControlCopies,
  callbackPartition,
  type Enrichment,
  type EventLog,
  type HouseMark,
  isCallbackPartition,
  type Views,
} from './bidding/ports.ts';
import { readSpan } from './bidding/read-topic.ts';
import type { DaemonPlace } from './cli/daemon.ts';
import { type DemoOptions, demoAuction, demoConfig, demoPace, runStream } from './cli/demo.ts';
import { createFormat } from './cli/format.ts';
import { createTerminal, writePrintable, writeProse } from './cli/terminal.ts';
import { languageOf, namesLanguage, readLanguage, type Texts, terminalLanguageOf, textsIn } from './cli/texts.ts';
import type { DeskReader, SetBackStore, TokenTrial, WholeStore } from './cli/world.ts';
import { modeForOthers, type StorePlace } from './config/store-place.ts';
import {
  type Config,
  type Environment,
  type Model,
  type Place,
  readConfig,
  readEconomics,
  readEndpoints,
  readListening,
  readMappingFile,
  readModel,
  readPlace,
  readPricing,
  readPseudonymKey,
  readWriting,
  secretsOf,
  type Writing,
} from './config.ts';
import { crashAt } from './crash-step.ts';
import type { AuditKey } from './domain/audit.ts';
import { dayOf } from './domain/clock.ts';
import type { IdentityProvider } from './domain/identity-provider.ts';
import { unfitMarginsText } from './domain/margin-mac.ts';
import { nearestWord } from './domain/nearest-word.ts';
import type { Vault } from './domain/vault.ts';
import { createDoorReader } from './door-reader.ts';
import { endSignal, endSignals } from './end-signal.ts';
import type { Engine, EngineParts, Store } from './engine.ts';
import { Fault } from './errors.ts';
import { addressesOf, addressFault, reachableUrl } from './http/address.ts';
import { bodyReader } from './http/door.ts';
import type { Journal } from './http/journal.ts';
import { createWaitingServer, storeUnreachable } from './http/waiting.ts';
import { readMappingText, shippedMappingFile } from './mapping-file.ts';
import { living } from './operating/living.ts';
import { readerName as flowReader } from './origination/intake.ts';
import type { FlowStore } from './origination/ports.ts';
import { prepareCalendar } from './pricing/schedule.ts';
import type { PricingSettings } from './pricing/settings.ts';
import type { AskedBids, createAskedBids } from './queries/asked-bids.ts';
import { readStrict } from './regular-files.ts';
import { createRuleWatch } from './rule-watch.ts';
import type { ConfiguredEndpoints } from './rules/sources.ts';
import { type MarketName, marketNames } from './sandbox/market-names.ts';
import type { OwnPartitions } from './state/own-partitions.ts';
import { type RunningDesk, readRunningDesk, removeRunningDesk, writeRunningDesk } from './state/running-desk.ts';
import { freeBytes } from './state/sqlite.ts';
import type { RequestMapping } from './wire/mapping-table.ts';
import { type OutcomeTable, readOutcomeTable } from './wire/outcomes.ts';
import { keepUnread } from './wire/webhook.ts';

/** Longer than a start has work of its own. */
const followedRestMs = 20_000;
/** A command gives up on a log that does not take a record by then. */
const commandTimeoutMs = 5_000;
const storeRetryMs = 1_000;
/** Less than service managers wait before they kill. */
const stopTimeoutMs = 9_000;

/** Of commands and the sandbox; the desk has its own. */
const clock = createSystemClock();
const format = createFormat(languageOf(process.argv, process.env));
const packageFile = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const version: string = JSON.parse(readStrict(packageFile('package.json'))).version;

function configuration(environment: Environment, readFile = readStrict): Config {
  const result = readConfig(environment, readFile);
  if (result.kind === 'config') return result.config;
  throw new Fault(
    'configuration-invalid',
    `The configuration is refused:\n${result.faults.map((text) => `  ${text}`).join('\n')}`,
  );
}

const here = (): Place => place(process.env);

/** Loaded only where they are used: with the libraries behind them they are half of the time that a command takes to begin. */
const deskParts = {
  engine: () => import('./engine.ts'),
  journal: () => import('./http/journal.ts'),
  service: () => import('./adapters/service/service.ts'),
};

/** The same, where several machines share a log: these cost each start and each command some 150 ms and 18 MB. */
const sharedAdapters = {
  anchors: () => import('./adapters/kafka/anchors.ts'),
  log: () => import('./adapters/kafka/log.ts'),
  ownPartitions: async () => ({
    ...(await import('./state/own-partitions.ts')),
    ...(await import('./state/detail-places.ts')),
  }),
  foldedFlows: () => import('./folded-flows.ts'),
  foldedViews: () => import('./folded-views.ts'),
  dealtWith: () => import('./dealt-with.ts'),
  ownFlows: () => import('./state/own-flows.ts'),
  reader: async () => ({ ...(await import('./adapters/kafka/reader.ts')), ...(await import('./stored-files.ts')) }),
  redis: () => import('./adapters/redis/store.ts'),
  peers: async () => ({
    ...(await import('./adapters/peers/client.ts')),
    ...(await import('./adapters/peers/seal.ts')),
    ...(await import('./adapters/peers/server.ts')),
    ...(await import('./queries/announcing.ts')),
    ...(await import('./queries/asked-bids.ts')),
  }),
};

/** Loaded only where the settings name a source. */
async function enrichmentOf({ enrichment }: Config, { queryBudget }: Store): Promise<Enrichment | null> {
  if (Object.keys(enrichment).length === 0) return null;
  const { createEnrichment } = await import('./adapters/enrichment/sources.ts');
  return createEnrichment(enrichment, queryBudget);
}

/** Loaded only where people log in. */
async function identityProviderOf({ oidc }: Config): Promise<IdentityProvider | null> {
  if (oidc === null) return null;
  const { createIdentityProvider } = await import('./adapters/oidc/identity-provider.ts');
  return createIdentityProvider(oidc, () => performance.now());
}

function place(environment: Environment): Place {
  const result = readPlace(environment, readStrict);
  if (result.kind === 'place') return result.place;
  throw new Fault('configuration-invalid', result.faults.join('\n'));
}

function pricing(environment: Environment): PricingSettings {
  const result = readPricing(environment, readStrict);
  if (result.kind === 'pricing') return result.pricing;
  throw new Fault('configuration-invalid', result.faults.join('\n'));
}

function model(environment: Environment): Model {
  const result = readModel(environment, readStrict);
  if (result.kind === 'model') return result.model;
  throw new Fault('configuration-invalid', result.faults.join('\n'));
}

function pseudonymKey(environment: Environment): string | null {
  const result = readPseudonymKey(environment, readStrict);
  if (result.kind === 'key') return result.key;
  throw new Fault('configuration-invalid', result.faults.join('\n'));
}

function writing(environment: Environment): Writing {
  const result = readWriting(environment, readStrict);
  if (result.kind === 'writing') return result.writing;
  throw new Fault('configuration-invalid', result.faults.join('\n'));
}

/** The mapping that is set, or the one of the package, with its name. Throws `configuration-invalid` with every fault of it. */
function mappingFrom(file: string | null): RequestMapping {
  const named = file ?? shippedMappingFile;
  let text: string;
  try {
    text = readStrict(file ?? packageFile(shippedMappingFile));
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
    const remedy = `the mapping ${named} cannot be read${code}: name a JSON file in LANCE_MAPPING, or leave it out`;
    throw new Fault('configuration-invalid', remedy, cause);
  }
  const reading = readMappingText(named, text);
  if (reading.kind === 'read') return reading.mapping;
  throw new Fault('configuration-invalid', reading.faults.join('\n'));
}

function mapping(environment: Environment): RequestMapping {
  const result = readMappingFile(environment, readStrict);
  if (result.kind === 'file') return mappingFrom(result.mappingFile);
  throw new Fault('configuration-invalid', result.faults.join('\n'));
}

function endpoints(environment: Environment): ConfiguredEndpoints {
  const result = readEndpoints(environment, readStrict);
  if (result.kind === 'endpoints') return result.endpoints;
  throw new Fault('configuration-invalid', result.faults.join('\n'));
}

/** The address that is set for commands. */
function namedPlace({ LANCE_URL: url, LANCE_TOKEN: token }: Environment): DaemonPlace | null {
  if (url === undefined || url === '') return null;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new Fault('configuration-invalid', 'LANCE_URL is no address: write it like https://host:port');
  return { url: url.endsWith('/') ? url : `${url}/`, token: token === '' ? null : (token ?? null), named: true };
}

/** A desk is ordered by whoever names it and shows a token. */
function remotePlace(environment: Environment): DaemonPlace | null {
  const named = namedPlace(environment);
  return named?.token == null ? null : named;
}

/** The address that is set for commands, that of the process that holds the directory, or that of one with this environment. */
function daemonPlace(environment: Environment): DaemonPlace | null {
  const named = namedPlace(environment);
  if (named !== null) return named;
  const running = runningHere();
  if (running !== null) return { url: running.url, token: null, named: false };
  const result = readListening(environment, readStrict);
  if (result.kind === 'refused') throw new Fault('configuration-invalid', result.faults.join('\n'));
  const { common, metrics } = addressesOf(result);
  const address = metrics ?? common;
  return address.port === 0 ? null : { url: reachableUrl(address), token: null, named: false };
}

/** Null where none runs on the directory of the settings, or has not said its address. */
function runningHere(): RunningDesk | null {
  try {
    const { store } = here();
    const directory = store.backend === 'embedded' ? store.dataDir : store.stateDir;
    return directory !== null && isHeld(directory) ? readRunningDesk(directory) : null;
  } catch (fault) {
    // Told by whatever reads the settings or the store.
    if (!(fault instanceof Fault)) throw fault;
    return null;
  }
}

function refusedFile(path: string, problems: readonly string[]): Fault {
  return new Fault('configuration-invalid', `${path} is refused:\n${problems.map((text) => `  ${text}`).join('\n')}`);
}

/** Of what is said again and again, the first. */
function once(tell: (text: string) => void): (text: string) => void {
  let isTold = false;
  return (text) => {
    if (!isTold) tell(text);
    isTold = true;
  };
}

type StoreWatchers = {
  vault: Vault;
  journal: Journal;
  onFault: (fault: Fault) => void;
  /** Once, until the heads of the log are anchored again. */
  onAnchorFault: (text: string) => void;
  /** A record in the middle of the log is not what was written. */
  onChanged: (text: string) => void;
  /** Files of the store were removed, moved or replaced under this process; null: they are back. */
  onLostFiles: (text: string | null) => void;
  /** A topic was deleted or made anew under this process, or has lost its front. */
  onLostTopic: (text: string) => void;
  /** A record beside the requests is none that a desk writes. */
  onPassedOver: (text: string) => void;
  /** Somebody altered a topic below this process so that it could lose records. */
  onUnsafe: (text: string) => void;
  /** The views of an embedded log were found wrong, and are made again. */
  onUnfitViews: (text: string) => void;
  /** A kept margin is not what was written; told once. */
  onUnfitMargins: (text: string) => void;
  /** Something did not work, and is tried again. */
  onTrouble: (fault: Fault) => void;
  /** Name of this process. */
  instance: string;
};

type OpenStore = Store & Pick<WholeStore, 'chainHeads' | 'passOver'> & { close: () => Promise<void> };
/** `giveUpViews`: all that was folded is folded anew by the next start. */
type OpenSharedStore = OpenStore & { giveUpViews: () => Promise<void> };

async function openStore(config: Config, watchers: StoreWatchers): Promise<OpenStore> {
  switch (config.store.backend) {
    case 'embedded':
      refuseHalfImport(config.store.dataDir);
      // A start that cannot listen is to leave no directory and no anchor behind.
      if (!holdsDesk(config.store.dataDir)) await createWaitingServer(addressesOf(config)).check();
      return openEmbeddedStore({
        directory: config.store.dataDir,
        onFault: watchers.onFault,
        anchor: anchorOf(config.store.dataDir, config, watchers.journal),
        onAnchorFault: watchers.onAnchorFault,
        onChanged: watchers.onChanged,
        onLostFiles: watchers.onLostFiles,
        checkKey: (log) => refuseOtherKey(log, watchers.vault),
        onUnfitViews: watchers.onUnfitViews,
        onUnfitMargins: watchers.onUnfitMargins,
      });
    case 'kafka':
      return whenThere(config.store, config, watchers);
    default:
      return config.store satisfies never;
  }
}

/** Throws `desk-moved` where an import broke off, also before it had made a store. */
function refuseHalfImport(dataDir: string): void {
  const mark = readImportMark(dataDir);
  if (mark !== null) throw away(mark);
}

/** Where the heads of an embedded log are kept. `journal` hears when that is where a restore would put them back too. */
function anchorOf(
  dataDir: string,
  { audit, pseudonymKey }: Pick<Config, 'audit' | 'pseudonymKey'>,
  journal: Journal | null,
): AnchorPlace {
  const { file, inside } = anchorFileOf(dataDir, audit.anchorFile);
  if (inside) {
    const text = `the anchor of the log is ${file}: an older copy of the whole directory put back would not be noticed; name a file elsewhere in LANCE_AUDIT_ANCHOR`;
    journal?.warn('anchor-inside', { text });
  }
  return { file, key: createAuditKey(audit.key ?? pseudonymKey), everyMs: audit.anchorMs };
}

/** Null where no key was given. */
function auditKeyOf({ audit, pseudonymKey }: Pick<Place, 'audit' | 'pseudonymKey'>): AuditKey | null {
  const secret = audit.key ?? pseudonymKey;
  return secret === null ? null : createAuditKey(secret);
}

/** Whether a log is of the key that a command was given; undefined where it was given none. */
function keyCheckHere(): ((log: DeskReader['log']) => Promise<void>) | undefined {
  const { pseudonymKey } = here();
  if (pseudonymKey === null) return undefined;
  const vault = createVault(pseudonymKey);
  return (log) => refuseOtherKey(log, vault);
}

function anchorAt(dataDir: string, { audit, pseudonymKey }: Place): AnchorPlace | null {
  const secret = audit.key ?? pseudonymKey;
  return secret === null ? null : anchorOf(dataDir, { audit, pseudonymKey: secret }, null);
}

/**
 * Servers may come up after the desk: it waits for them, and says for what, in the log and to whoever asks for its health. The alarm is
 * raised once a wait.
 */
async function whenThere(
  place: Extract<StorePlace, { backend: 'kafka' }>,
  { http, audit, pseudonymKey, roles, bidding }: Config,
  watchers: StoreWatchers,
): Promise<OpenStore> {
  const { journal } = watchers;
  const anchors = {
    key: createAuditKey(audit.key ?? pseudonymKey),
    everyMs: audit.anchorMs,
    onFault: watchers.onAnchorFault,
  };
  const waiting = createWaitingServer(addressesOf({ http }));
  let alarmed = false;
  const onWaiting = (fault: Fault): void => {
    const said = { code: fault.code, text: fault.message };
    journal.warn('waiting-for-store', said);
    waiting.say(fault);
    if (!alarmed) journal.error('alarm', { ...said, code: storeUnreachable });
    alarmed = true;
  };
  const { appendTimeoutMs } = http;
  await waiting.check();
  try {
    for (;;) {
      try {
        const { controlMaxAgeMs } = bidding;
        const directory = roles.includes('desk') ? place.stateDir : null;
        const folds = { directory, controlMaxAgeMs, host: http.host, pseudonymKey, ...watchers };
        return await openSharedStore(place, { ...watchers, appendTimeoutMs, create: true, onWaiting, anchors, folds });
      } catch (fault) {
        if (!(fault instanceof Fault) || !fault.retryable) throw fault;
        onWaiting(fault);
        await new Promise((resolve) => setTimeout(resolve, storeRetryMs));
      }
    }
  } finally {
    await waiting.close();
  }
}

/** Why the anchors refuse the log; null where it fits. Whether files fit it is seen when their partition is taken up. */
async function refusalBy({ refuseSetBack }: KafkaAnchors): Promise<Fault | null> {
  try {
    await refuseSetBack();
    return null;
  } catch (fault) {
    if (fault instanceof Fault && !fault.retryable) return fault;
    throw fault;
  }
}

type SharedPlace = Extract<StorePlace, { backend: 'kafka' }>;

/** How a daemon folds its partitions. `directory`: of their files; null: it takes up none. `host`: where it listens. */
type Folds = Pick<StoreWatchers, 'journal' | 'onFault' | 'onTrouble' | 'instance'> & {
  directory: string | null;
  controlMaxAgeMs: number;
  host: string;
  pseudonymKey: string;
};

/** Kafka for the log, Redis for what several processes of one desk have in common. */
async function openSharedStore(
  { kafka, redis }: SharedPlace,
  watchers: {
    vault: Vault;
    journal: Journal;
    onFault: (fault: Fault) => void;
    onLostTopic: (text: string) => void;
    onPassedOver: (text: string) => void;
    /** Left out by a command, which reads no margins. */
    onUnfitMargins?: (text: string) => void;
    /** Null for a command, which does not watch the topics. */
    onUnsafe: ((text: string) => void) | null;
    appendTimeoutMs: number;
    create: boolean;
    onWaiting: (fault: Fault) => void;
    /** Compares the log with its anchors, and writes further ones; null: neither. */
    anchors: { key: AuditKey; everyMs: number; onFault: (text: string) => void } | null;
    /** Null for a command, which folds what it needs for itself. */
    folds: Folds | null;
  },
): Promise<OpenSharedStore> {
  const { vault, journal, onFault, onLostTopic, onPassedOver, onUnsafe } = watchers;
  const { appendTimeoutMs, create, onWaiting, anchors, folds } = watchers;
  const { openRedisStore } = await sharedAdapters.redis();
  const { openKafkaLog } = await sharedAdapters.log();
  const { openAnchors } = await sharedAdapters.anchors();
  const copies = Promise.withResolvers<ControlCopies>();
  const controlCopies: ControlCopies = {
    read: async () => (await copies.promise).read(),
    add: async (copy) => (await copies.promise).add(copy),
    passOver: async (place) => (await copies.promise).passOver(place),
    needed: true,
  };
  const kept = { key: anchors?.key ?? null, onUnfit: () => watchers.onUnfitMargins?.(unfitMarginsText) };
  const shared = await openRedisStore(redis, controlCopies, kept);
  try {
    const records = await openKafkaLog({
      settings: { ...kafka, appendTimeoutMs },
      create,
      onWaiting,
      seal: vault.seal,
      onClosed: ({ code, message }) => journal.error('partition-closed', { code, text: message }),
      onReplaced: ({ message }) => onLostTopic(message),
      onPassedOver,
      ...(onUnsafe === null ? {} : { onUnsafe }),
      onStalled: onFault,
      onLine: (level, text) => journal[level]('kafka', { text }),
    });
    copies.resolve(records.controlCopies);
    const onLine = (level: 'info' | 'warn' | 'error', text: string) => journal[level]('kafka', { text });
    const audit = anchors === null ? null : openAnchors({ ...kafka, appendTimeoutMs }, anchors.key, onLine);
    try {
      const refusal = audit === null ? null : await refusalBy(audit);
      if (refusal !== null) {
        // With another pseudonym key the anchors seem to be another's too.
        await refuseOtherKey(records.log, vault);
        throw refusal;
      }
    } catch (fault) {
      await audit?.close();
      await records.close();
      throw fault;
    }
    if (anchors !== null) audit?.start(anchors.everyMs, anchors.onFault);
    const { margins, queryBudget, control } = shared;
    const own = await ownViews({ kafka, records, shared, folds, isImport: create }).catch(async (fault: unknown) => {
      await audit?.close();
      await records.close();
      throw fault;
    });
    return {
      log: own.log ?? records.log,
      appendAtDoor: records.appendAtDoor,
      house: records.house,
      ruleBook: records.ruleBook,
      tokenBook: records.tokenBook,
      partitionOf: records.partitionOf,
      unwritable: records.unwritable,
      silence: records.unwritable,
      trouble: records.unsafe,
      passOver: records.passOver,
      views: { ...own.views, evicting: shared.evicting },
      margins,
      queryBudget,
      flows: own.flows,
      control,
      own: own.partitions,
      askedBids: own.askedBids,
      giveUpViews: async () => {
        // They may hold what the log does not.
        await records.genesis.renew(() => dealtWithIn(records.log, own.views));
        await records.snapshots.discardAll();
        await shared.earlier.remove();
      },
      chainHeads: null,
      close: async () => {
        await own.close();
        await records.close();
        await audit?.close();
        await shared.close();
      },
    };
  } catch (fault) {
    await shared.close();
    throw fault;
  }
}

/** How far each partition of `callbacks` is dealt with, as the views say. */
async function dealtWithIn(log: Pick<EventLog, 'ends'>, views: Pick<Views, 'applied'>): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  for (const partition of (await log.ends('callbacks')).keys())
    found.set(partition, await views.applied(callbackPartition(partition)));
  return found;
}

async function ownViews({
  kafka,
  records,
  shared,
  folds,
  isImport,
}: Pick<SharedPlace, 'kafka'> & {
  records: KafkaLog;
  shared: RedisStore;
  folds: Folds | null;
  /** Of a command: it fills an empty log. */
  isImport: boolean;
}): Promise<{
  views: Views;
  flows: FlowStore;
  partitions: Store['own'];
  askedBids: AskedBids | null;
  /** With what this process knows of it; left out: nothing more than the log itself. */
  log?: EventLog;
  close: () => Promise<void>;
}> {
  if (folds === null) {
    const folded = await foldedHere(records.log);
    const views = isImport
      ? viewsOfImport(folded.views, records.genesis)
      : await viewsToMove(folded.views, records.log);
    return { ...folded, views, partitions: null, askedBids: null };
  }
  const { journal, onFault, onTrouble } = folds;
  const { openOwnPartitions, noPartitions, withDetailPlaces, detailPlacesFile } = await sharedAdapters.ownPartitions();
  const { partitions } = kafka;
  const partitionOf = (requestId: string) => records.partitionOf('auctions', requestId);
  const ends = () => records.log.ends('auctions');
  const asking = { partitions: async () => partitions, partitionOf, owners: shared.owners.read };
  // A process that only takes webhooks waits too: two versions never write to one log at the same time.
  if ((await records.genesis.read()) === null && (await living(shared.control, clock)).length > 0) {
    throw new Fault(
      'views-unavailable',
      'Processes of an earlier version still run, which keeps the views of this log in Redis. This version folds them into files, and begins when they have ended.',
    );
  }
  const { id, dealtWith } = await records.genesis.begin(() => dealtWithIn(records.log, shared.earlier));
  if (folds.directory === null) {
    const { noFlows } = await sharedAdapters.ownFlows();
    const [views, flows] = [noPartitions(partitions), noFlows()];
    const askedBids = await openAskedBids(folds.pseudonymKey, asking);
    return { views, flows, partitions: null, askedBids, close: async () => undefined };
  }
  await shared.earlier.clear();
  const own = await openOwnPartitions({
    ...{ directory: folds.directory, partitions, book: shared.capBook, controls: records.capControls, clock },
    learnt: shared.learntBook(id),
    ...{ snapshots: records.snapshots, controlMaxAgeMs: folds.controlMaxAgeMs },
    logOf: (partition) => records.partitionLog(partition, id),
    dealtWith: new Map(Object.entries(dealtWith).map(([partition, next]) => [Number(partition), next])),
    partitionOf,
    ends,
    onDiscarded: (partition, text, kind) => journal.warn('views-discarded', { partition, kind, text }),
    onRestoring: (partition, count) => journal.info('restoring', { partition, count }),
    onSnapshot: (partition, offset) => journal.info('snapshot-taken', { partition, offset }),
    onLoss: ({ epoch }, text) => journal.warn('cap-book-lost', { count: epoch, text }),
    onFault: onTrouble,
    onDeath: onFault,
  });
  const asked = await answerOthers({ kafka, own, folds, shared, asking, ends }).catch(async (fault: unknown) => {
    await own.close();
    throw fault;
  });
  const log = withDetailPlaces(records.log, {
    ...{ path: join(folds.directory, detailPlacesFile), genesis: id },
    partitionOf: (workerKey) => records.partitionOf('callbacks', workerKey),
    firstOf: async (partition) => (await records.partitionLog(partition, id, 'callbacks').extent()).first,
    readSpan: (span) => readSpan(records.log, 'callbacks', span),
  });
  const told = records.readerOffsets('callbacks', flowReader, id);
  /** Partitions that come at the same time share one reading of the log. */
  let finding: Promise<ReadonlyMap<number, number>> | null = null;
  const foundInLog = async (partition: number): Promise<number> => {
    const { flowCallbacksDealtWith } = await sharedAdapters.dealtWith();
    finding ??= flowCallbacksDealtWith(records.log, clock.now()).finally(() => {
      finding = null;
    });
    const offset = (await finding).get(partition) ?? 0;
    journal.info('offsets-found', { topic: 'callbacks', partition, offset });
    return offset;
  };
  const flows = own.flowsOf({
    logOf: (partition) => records.partitionLog(partition, id, 'flows'),
    ends: () => records.log.ends('flows'),
    callbacks: {
      dealtWith: async (partition) => {
        const committed = await told.read(partition);
        if (committed !== null) return committed;
        const ofEarlier = await shared.earlier.flowsDealtWith(partition);
        return Math.max(ofEarlier, await foundInLog(partition));
      },
      dealWith: told.commit,
    },
  });
  const close = async () => {
    await asked.close();
    log.close();
  };
  return { views: own.views, flows, ...asked, log, close };
}

/** Of a desk that leaves: how far callbacks are dealt with is in the files of its processes alone. */
async function viewsToMove(views: Views, log: Pick<EventLog, 'read' | 'ends'>): Promise<Views> {
  const { callbacksDealtWith } = await sharedAdapters.dealtWith();
  let reading: ReturnType<typeof callbacksDealtWith> | null = null;
  const applied: Views['applied'] = async (partition) => {
    if (!isCallbackPartition(partition)) return views.applied(partition);
    const { graceMs } = model(process.env).bidding;
    reading ??= callbacksDealtWith(log, views, { graceMs, now: clock.now() });
    return (await reading).get(callbackPartition(partition)) ?? 0;
  };
  return { ...views, applied };
}

/** Of a desk that arrives: nothing is folded yet, and who folds it is told how far callbacks were dealt with where it comes from. */
function viewsOfImport(views: Views, genesis: KafkaLog['genesis']): Views {
  const dealtWith = new Map<number, number>();
  return {
    ...views,
    applied: async () => 0,
    apply: async ({ partition, next }) => {
      assert(isCallbackPartition(partition));
      dealtWith.set(callbackPartition(partition), next);
      await genesis.beginAnew(dealtWith);
      return { kind: 'applied', refused: [], whole: true };
    },
  };
}

type Asking = Omit<Parameters<typeof createAskedBids>[0], 'ask' | 'here'>;

/** Requests of all partitions, asked at the processes that own them. `here`: the partitions of this one. */
async function openAskedBids(
  pseudonymKey: string,
  asking: Asking,
  here: Parameters<typeof createAskedBids>[0]['here'] = null,
): Promise<AskedBids> {
  const { createPeerClient, createPeerKeys, createAskedBids } = await sharedAdapters.peers();
  const ask = createPeerClient({ keys: createPeerKeys(pseudonymKey), now: clock.now });
  return createAskedBids({ ...asking, ask, here });
}

/** What this process knows of its partitions is told to the others of the desk, and what they know is asked. */
async function answerOthers(parts: {
  kafka: SharedPlace['kafka'];
  own: OwnPartitions;
  folds: Folds;
  shared: Pick<RedisStore, 'owners'>;
  asking: Asking;
  ends: () => Promise<ReadonlyMap<number, number>>;
}): Promise<{ partitions: Store['own']; askedBids: AskedBids; close: () => Promise<void> }> {
  const { kafka, own, folds, shared, asking, ends } = parts;
  const { instance, pseudonymKey, onTrouble } = folds;
  const { openPeerServer, createPeerKeys, answerQuestion, createAnnouncing, createCaughtUp } =
    await sharedAdapters.peers();
  const { held, changed } = createCaughtUp((partition) => own.held().get(partition) ?? null, ends);
  const onFault = (fault: unknown) => {
    const why = fault instanceof Error ? fault.name : 'unknown';
    onTrouble(fault instanceof Fault ? fault : new Fault('owner-unasked', `A question could not be answered: ${why}.`));
  };
  const at = { host: kafka.queryHost ?? folds.host, port: kafka.queryPort };
  const server = await openPeerServer({
    ...at,
    ...{ instance, keys: createPeerKeys(pseudonymKey), now: clock.now, onFault },
    answer: (question) => answerQuestion(held, question),
  }).catch((error: unknown) => {
    throw addressFault(at, { host: 'LANCE_QUERY_HOST', port: 'LANCE_QUERY_PORT' }, error);
  });
  const { host, port } = server;
  const owner = () => ({ instance, host, port, partitions: { auctions: [...own.held().keys()] } });
  const lifeMs = kafka.sessionTimeoutMs;
  const announcing = createAnnouncing({ book: shared.owners, owner, lifeMs, onFault });
  return {
    partitions: {
      take: async (partition) => {
        const applied = await own.take(partition);
        changed(partition);
        announcing.changed();
        return applied;
      },
      leave: async (partition) => {
        const left = own.leave(partition);
        changed(partition);
        announcing.changed();
        await left;
      },
      start: () => {
        own.start();
        announcing.start();
      },
    },
    askedBids: await openAskedBids(pseudonymKey, asking, { owner, held }),
    close: async () => {
      await announcing.stop();
      await server.close();
      await own.close();
    },
  };
}

/** What a command folds for itself. */
async function foldedHere(
  log: Pick<EventLog, 'read' | 'readKey' | 'ends'>,
): Promise<{ views: Views; flows: FlowStore; close: () => Promise<void> }> {
  const [{ createFoldedViews }, { createFoldedFlows }] = await Promise.all([
    sharedAdapters.foldedViews(),
    sharedAdapters.foldedFlows(),
  ]);
  const views = createFoldedViews(log, model(process.env).bidding);
  const flows = createFoldedFlows(log, clock);
  const close = async () => {
    await views.close();
    await flows.close();
  };
  return { views: views.views, flows: flows.flows, close };
}

/** For commands that move a desk: no daemon has it open, where that can be told. `arriving`: a store is made where there is none. */
async function openWhole(place: StorePlace, { arriving }: { arriving: HouseMark | null }): Promise<OpenStore> {
  const create = arriving !== null;
  const onFault = (fault: Fault) => {
    throw fault;
  };
  if (place.backend === 'embedded') {
    const anchor = anchorAt(place.dataDir, here());
    // The first start would refuse records that nobody signed for.
    if (create && anchor === null) {
      throw new Fault(
        'configuration-invalid',
        'LANCE_PSEUDONYM_KEY is missing: it signs what the log holds from now on',
      );
    }
    return openEmbeddedStore({ directory: place.dataDir, onFault, anchor, arriving, checkKey: keyCheckHere() });
  }
  return openSharedWhole(place, create);
}

async function openSharedWhole(place: SharedPlace, create: boolean): Promise<OpenSharedStore> {
  const onFault = (fault: Fault) => {
    throw fault;
  };
  const { createJournal } = await deskParts.journal();
  const journal = createJournal('error', process.stderr);
  const nobody = createVault(randomUUID() + randomUUID());
  const onWaiting = ({ code, message }: Fault) => journal.error('waiting-for-store', { code, text: message });
  const onLostTopic = (text: string) => journal.error('partition-closed', { text });
  const onPassedOver = (text: string) => journal.error('record-undecodable', { text });
  const watchers = { vault: nobody, journal, onFault, onLostTopic, onPassedOver, onWaiting };
  const given = { onUnsafe: null, appendTimeoutMs: commandTimeoutMs, create, anchors: null, folds: null };
  return openSharedStore(place, { ...watchers, ...given });
}

/** The store of a command that accepts what became of it; null where it is what its anchors say. */
async function openSetBack(place: StorePlace, emptied: boolean): Promise<SetBackStore | null> {
  const onFault = (fault: Fault) => {
    throw fault;
  };
  const key = auditKeyOf(here());
  if (key === null) {
    throw new Fault('configuration-invalid', 'LANCE_PSEUDONYM_KEY is missing: it signs what the log holds from now on');
  }
  if (place.backend === 'embedded') {
    const anchor = anchorAt(place.dataDir, here())!;
    return openEmbeddedSetBack({ directory: place.dataDir, onFault, anchor, checkKey: keyCheckHere(), emptied });
  }
  const { openAnchors } = await sharedAdapters.anchors();
  const store = await openSharedWhole(place, false);
  const audit = openAnchors({ ...place.kafka, appendTimeoutMs: commandTimeoutMs }, key, () => undefined);
  const close = async () => {
    await audit.close();
    await store.close();
  };
  try {
    await keyCheckHere()?.(store.log);
    if ((await refusalBy(audit)) === null) {
      await close();
      return null;
    }
  } catch (fault) {
    await close();
    throw fault;
  }
  const { now, known } = await audit.heads();
  return {
    ...store,
    heads: now,
    lost: known,
    // No process knows what others have claimed in the part that was lost.
    claimed: { claims: new Map(), complete: false },
    forged: [],
    accept: async () => {
      // The anchors come last: until then the log is refused.
      await store.giveUpViews();
      await audit.restart();
      await close();
    },
    close,
  };
}

/** As a start would find it; a store that cannot be opened at all is told by whoever reads it. */
async function startRefusal(place: StorePlace): Promise<Fault | null> {
  const key = auditKeyOf(here());
  if (place.backend === 'embedded') {
    try {
      const mark = holdsDesk(place.dataDir) ? null : readImportMark(place.dataDir);
      if (mark !== null) return away(mark);
    } catch (fault) {
      if (fault instanceof Fault) return fault;
      throw fault;
    }
    const { file } = anchorFileOf(place.dataDir, here().audit.anchorFile);
    return embeddedRefusal(place.dataDir, { file, key }, keyCheckHere());
  }
  const { openAnchors } = await sharedAdapters.anchors();
  const audit = openAnchors({ ...place.kafka, appendTimeoutMs: commandTimeoutMs }, key, () => undefined);
  try {
    return await refusalBy(audit);
  } finally {
    await audit.close();
  }
}

/** For commands beside running desks. */
async function openReader(place: StorePlace): Promise<DeskReader> {
  if (place.backend === 'embedded') {
    if (!holdsDesk(place.dataDir)) refuseHalfImport(place.dataDir);
    const { file } = anchorFileOf(place.dataDir, here().audit.anchorFile);
    return openEmbeddedReader({ directory: place.dataDir, anchor: { file, key: auditKeyOf(here()) } });
  }
  const { openAnchors } = await sharedAdapters.anchors();
  const { openKafkaReader, storedFiles } = await sharedAdapters.reader();
  const { openRedisStore } = await sharedAdapters.redis();
  // What the client says line by line comes to a fault with one sentence.
  const records = openKafkaReader({ settings: { ...place.kafka, appendTimeoutMs: commandTimeoutMs } });
  const shared = await openRedisStore(place.redis, records.controlCopies).catch(async (fault: unknown) => {
    await records.close();
    throw fault;
  });
  const folded = await foldedHere(records.log);
  return {
    ...records,
    views: { ...folded.views, evicting: shared.evicting },
    askedBids: await askedBeside(records, shared),
    flows: folded.flows,
    control: shared.control,
    verifyChain: async (onProgress) => {
      const settings = { ...place.kafka, appendTimeoutMs: commandTimeoutMs };
      const audit = openAnchors(settings, auditKeyOf(here()), () => undefined);
      return audit.verify(onProgress).finally(audit.close);
    },
    storedViews: async () =>
      place.stateDir === null
        ? []
        : storedFiles({
            ...{ directory: place.stateDir, log: records.log, partitionLog: records.partitionLog },
            ...{ genesis: await records.genesis(), terms: model(process.env).bidding },
          }),
    close: async () => {
      await folded.close();
      await records.close();
      await shared.close();
    },
  };
}

async function refoldViews(
  { kafka, stateDir }: SharedPlace,
  onProgress: (done: number, of: number) => void,
): Promise<{ partitions: readonly number[]; records: number }> {
  if (stateDir === null) return { partitions: [], records: 0 };
  const { openKafkaReader, foldFilesAnew } = await sharedAdapters.reader();
  const records = openKafkaReader({ settings: { ...kafka, appendTimeoutMs: commandTimeoutMs } });
  try {
    return await foldFilesAnew(
      {
        ...{ directory: stateDir, log: records.log, partitionLog: records.partitionLog, clock },
        ...{ genesis: await records.genesis(), terms: model(process.env).bidding },
        discardSnapshot: records.discardSnapshot,
      },
      onProgress,
    );
  } finally {
    await records.close();
  }
}

/** Null without a running process that can be asked: then a command folds the log. */
async function askedBeside(
  { log, partitionOf }: Pick<DeskReader, 'log' | 'partitionOf'>,
  { owners }: Pick<RedisStore, 'owners'>,
): Promise<AskedBids | null> {
  const { pseudonymKey } = here();
  if (pseudonymKey === null || (await owners.read()).length === 0) return null;
  return openAskedBids(pseudonymKey, {
    partitions: async () => (await log.ends('auctions')).size,
    partitionOf: (requestId) => partitionOf('auctions', requestId),
    owners: owners.read,
  });
}

function outcomeTable(): OutcomeTable {
  const reading = readOutcomeTable(JSON.parse(readStrict(packageFile('config/outcomes.json'))));
  if (reading.kind === 'refused') throw refusedFile('config/outcomes.json', reading.problems);
  return reading.table;
}

/** As a desk with these settings would begin: the token that is given, and after a 401 the one that the command prints. */
async function tryToken({ service: settings }: Config): Promise<TokenTrial> {
  const { createService } = await deskParts.service();
  let renewalFault: string | null = null;
  const service = createService(settings, {
    outcomes: outcomeTable(),
    clock,
    observe: (event) => {
      if (event.kind === 'token-renewal-failed') renewalFault = event.reason;
    },
  });
  try {
    const answer = await service.askToken();
    return { answer, renewalFault, skewMs: service.latestSkewMs() };
  } finally {
    await service.close();
  }
}

/** The desk and everything under it; `close` undoes it in reverse. */
async function openEngine(parts: {
  config: Config;
  learning: boolean;
  journal: Journal;
  onFault: (fault: Fault) => void;
  onBegin?: EngineParts['onBegin'];
}): Promise<{ engine: Engine; store: Store; close: () => Promise<void> }> {
  const { config } = parts;
  const requestMapping = mappingFrom(config.mappingFile);
  const outcomes = outcomeTable();
  const vault = createVault(config.pseudonymKey);
  // Counted as soon as there is somebody to count.
  const uncounted: Parameters<Engine['countAlarm']>[0][] = [];
  let countAlarm: Engine['countAlarm'] = (code) => uncounted.push(code);
  const alarm = (code: Parameters<Engine['countAlarm']>[0]) => (text: string) => {
    parts.journal.error('alarm', { code, text });
    countAlarm(code);
  };
  // Until there is somebody who counts and leaves out what repeats.
  let tellTrouble: Engine['tellFault'] = ({ code, message }) => parts.journal.warn('fault', { code, text: message });
  const instance = randomUUID();
  const opening = openStore(config, {
    ...{ vault, journal: parts.journal, onFault: parts.onFault, instance },
    onAnchorFault: alarm('anchor-unwritten'),
    onUnfitViews: alarm('views-unfit'),
    onUnfitMargins: once(alarm('margins-unfit')),
    onChanged: alarm('log-changed'),
    onLostTopic: alarm('partition-closed'),
    onPassedOver: alarm('record-undecodable'),
    onUnsafe: alarm('topics-unsafe'),
    onTrouble: (fault) => tellTrouble(fault),
    onLostFiles: (text) => {
      if (text === null) parts.journal.info('store-files-back', {});
      else alarm('store-files-lost')(text);
    },
  });
  // Both take as long as the store's thread or servers to answer.
  const loading = Promise.all([deskParts.engine(), deskParts.service()]);
  prepareCalendar(dayOf(clock.now()), config.pricing.maxInstallments, config.pricing.payrollCalendar);
  const [store, [{ startEngine }, { createService }]] = await Promise.all([opening, loading]);
  // Node writes NODE_COMPILE_CACHE at the end of a process, and so never for one that is killed. The next start finds it now.
  flushCompileCache();
  const deskClock = createSteadySystemClock();
  const service = createService(config.service, {
    outcomes,
    clock: deskClock,
    observe: (event) => {
      if (event.kind !== 'exchanged') parts.journal.warn('service', { kind: event.kind });
    },
  });
  const { pseudonymKey } = config;
  const read = { mapping: requestMapping, limits: config.http, terms: config.bidding };
  const reader = config.roles.includes('door')
    ? createDoorReader({
        data: { pseudonymKey, ...read },
        here: bodyReader({ vault, ...read }),
        keep: (body, receivedAt, code) => keepUnread(body, code, { vault, receivedAt, now: receivedAt }),
      })
    : null;
  const ruleWatch = createRuleWatch({
    directory: config.rulesDir,
    ...config.rules,
    followedRestMs,
    mapping: requestMapping,
  });
  const starting = startEngine({
    ...parts,
    instance,
    // A data directory is locked by its process; partitions are only believed to be one's own.
    soleOwner: config.store.backend === 'embedded',
    store,
    service,
    serviceAnsweredAt: service.answeredAt,
    serviceAnsweredStatus: service.answeredStatus,
    vault,
    clock: deskClock,
    chance: Math.random,
    mapping: requestMapping,
    readBody: reader?.read ?? null,
    identityProvider: await identityProviderOf(config),
    enrichment: await enrichmentOf(config, store),
    ruleWatch,
    readEconomics: (source) => readEconomics(source, readStrict),
    version,
    onStep: crashAt(process.env.LANCE_CRASH_AT),
    onMoved: parts.onFault,
  });
  const engine = await starting.catch(async (fault: unknown) => {
    // What is left open would keep a process alive that has refused to run.
    await ruleWatch.stop();
    await reader?.close();
    await service.close();
    await store.close();
    throw fault;
  });
  const { store: place } = config;
  const runsIn = place.backend === 'embedded' ? place.dataDir : config.roles.includes('desk') ? place.stateDir : null;
  if (runsIn !== null) writeRunningDesk(runsIn, { pid: process.pid, url: engine.statusUrl });
  countAlarm = engine.countAlarm;
  tellTrouble = engine.tellFault;
  uncounted.forEach(countAlarm);
  return {
    engine,
    store,
    close: async () => {
      await engine.stop();
      await reader?.close();
      await service.close();
      if (runsIn !== null) removeRunningDesk(runsIn);
      await store.close();
    },
  };
}

/** Nothing behind its first line is wanted, and a longer one is nothing that a command asks for. */
async function readLine(awaited: string): Promise<string> {
  if (process.stdin.isTTY) writeProse(process.stderr, awaited);
  let text = '';
  for await (const chunk of process.stdin) {
    text += String(chunk);
    if (text.includes('\n') || text.length > 1_000) break;
  }
  return text.split('\n')[0]!;
}

/** Many send it after they have moved a log file or changed a setting; its default would end the process. */
function ignoreHangup(journal: Journal): void {
  process.on('SIGHUP', () => {
    const text =
      'there is nothing to reload: rule files are read again by themselves, other settings need a restart, and the log goes to standard output';
    journal.info('signal-ignored', { signal: 'SIGHUP', text });
  });
}

function firstLogInText(
  { url, token, minutes }: NonNullable<ReturnType<Engine['firstLogIn']>>,
  { demo }: Pick<Texts, 'demo'>,
): string {
  return demo.console(url, token, minutes);
}

async function run(options: { learning: boolean }): Promise<void> {
  const { createJournal } = await deskParts.journal();
  const journal = createJournal('info');
  ignoreHangup(journal);
  const config = configuration(process.env);
  const wide = config.store.backend === 'embedded' ? modeForOthers(config.store.dataDir) : null;
  if (wide !== null) {
    const text = `others may look into the data directory (mode ${wide}); chmod 700 it`;
    journal.warn('data-directory-wide', { text });
  }
  for (const { name, path } of secretsOf(process.env).files) {
    const mode = modeForOthers(path);
    if (mode === null) continue;
    journal.warn('secret-file-wide', {
      text: `others may use the file that ${name} names (mode ${mode}); chmod 600 it`,
    });
  }
  const asked = endSignal();
  let mayBid = () => false;
  const opening = openEngine({
    config,
    learning: options.learning,
    journal,
    onBegin: (isOpen) => {
      mayBid = isOpen;
    },
    onFault: (fault) => {
      journal.error('store-died', { code: fault.code, text: fault.message });
      process.exit(fault.exitCode);
    },
  });
  const running = await Promise.race([opening, asked.then(() => null)]);
  // Asked to end while it begins, perhaps waiting for a server: before it may bid there is nothing that an end at once could lose.
  if (running === null && !mayBid()) process.exit(0);
  // A journal that others gather is no place for it.
  const first = process.stderr.isTTY && config.oidc === null ? (running?.engine.firstLogIn() ?? null) : null;
  const own = textsIn(terminalLanguageOf(process.argv, process.env));
  if (first !== null) writeProse(process.stderr, firstLogInText(first, own));
  const signal = await asked;
  journal.info('stopping', { signal });
  // Nothing is lost by ending early, and what a library has left open does not keep a process that has said goodbye.
  setTimeout(() => {
    journal.warn('stop-timeout', { text: `not everything came to its end within ${stopTimeoutMs} ms` });
    process.exit(0);
  }, stopTimeoutMs);
  const opened = await opening;
  await opened.close();
  process.exit(0);
}

/** As a shell has it of what SIGINT has ended. */
const interruptedCode = 130;

/** Sandbox and desk in one process, on a directory of its own that is gone afterwards. Resolves to the exit code. */
async function demo(
  options: DemoOptions & { learning: boolean; rivals?: string; market: MarketName },
): Promise<number> {
  // Loaded here: every other command would start later for them.
  const { judge, reportText } = await import('./cli/judge.ts');
  const { marketRivals, worldOf } = await import('./sandbox/markets.ts');
  const { readRecordedRates, recordedRivals } = await import('./sandbox/rivals.ts');
  const { createSandbox } = await import('./sandbox/sandbox.ts');
  const { sandboxSettings } = await import('./sandbox/settings.ts');
  const { worldOn } = await import('./sandbox/world.ts');
  const terminal = createTerminal();
  const directory = mkdtempSync(join(tmpdir(), 'lance-demo-'));
  const asked = endSignal();
  let stays = false;
  const leave = () => {
    rmSync(directory, { recursive: true, force: true });
    process.exit(interruptedCode);
  };
  void asked.then(() => {
    if (!stays) leave();
    // It closes now. Whoever asks again does not want to wait for it.
    for (const signal of endSignals) process.on(signal, leave);
  });
  const dataDir = join(directory, 'data');
  const token = randomUUID();
  const { seed, market, rivals: file } = options;
  const settings = sandboxSettings({ auction: demoAuction, pace: demoPace, world: worldOf(market) });
  const recorded = file === undefined ? null : readRecordedRates(readStrict(file), file);
  const rivals =
    recorded === null
      ? marketRivals(market, worldOn(settings.world, clock.now()), seed)
      : recordedRivals(settings.world, seed, recorded, 'in-order');
  const sandbox = createSandbox({ settings, seed, clock, rivals });
  const closing: (() => Promise<void>)[] = [sandbox.stop];
  try {
    const service = await sandbox.listen(0);
    const config = configuration(
      {
        LANCE_CONFIG: 'demo',
        LANCE_DATA_DIR: dataDir,
        LANCE_HTTP_PORT: '0',
        LANCE_WEBHOOK_TOKENS: token,
        LANCE_BASE_URL: service.url,
        LANCE_ACCESS_TOKEN: settings.tokens.accessToken,
        LANCE_CONTACT_URL: 'https://parceiro.example/credito',
        LANCE_PSEUDONYM_KEY: randomUUID() + randomUUID(),
        LANCE_RULES_DIR: process.env.LANCE_RULES_DIR,
      },
      (path) => (path === 'demo' ? JSON.stringify(demoConfig(settings.world.economics)) : readStrict(path)),
    );
    const { createJournal } = await deskParts.journal();
    const journal = createJournal(options.json || terminal.interactive ? 'silent' : 'error', process.stderr);
    const onFault = (fault: Fault): never => {
      throw fault;
    };
    const opened = await openEngine({ config, learning: options.learning, journal, onFault });
    closing.unshift(opened.close);
    sandbox.connect(`${opened.engine.url}/webhooks/${token}`);
    const { desk } = opened.engine;
    const policy = opened.engine.policy();
    assert(desk !== null && policy !== null);
    const first = options.exit ? null : opened.engine.firstLogIn();
    if (first !== null) terminal.say(firstLogInText(first, format.texts));
    await runStream({ ...opened, desk, options, sandbox, clock, terminal, format });
    const report = await judge({
      ...{ sandbox, store: opened.store, config, policy },
      vault: createVault(config.pseudonymKey),
      now: clock.now(),
    });
    terminal.write(options.json ? JSON.stringify(report) : reportText(report, format));
    if (!options.exit) {
      terminal.say(`\n${format.texts.demo.stays(opened.engine.url)}`);
      stays = true;
      await asked;
    }
    return report.violations.length === 0 ? 0 : 1;
  } finally {
    for (const close of closing) await close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError(format.texts.help.number);
  return value;
}

/** The parser offers words that have three other letters, such as --version for --reason: those only mislead. */
function withoutFarHint(text: string): string {
  const [hint, meant = ''] = /\n\(Did you mean (?:one of )?(--[^?]+)\?\)/.exec(text) ?? [];
  const written = /unknown option '--([^'=]+)/.exec(text)?.[1];
  const offered = meant.split(', ').map((word) => word.replace('--', ''));
  const isFar = hint !== undefined && written !== undefined && nearestWord(written, offered) === null;
  return isFar ? text.replace(hint, '') : text;
}

/** Whether these words start the daemon and ask for nothing that needs the other commands, such as help. */
function isDaemonStart(words: readonly string[]): boolean {
  return words[0] === 'run' && words.slice(1).every((word) => word === '--no-learning');
}

const program = new Command('lance')
  .description('The automated bidding desk for payroll-credit auctions (Crédito do Trabalhador).')
  .version(version)
  // Before the commands, which take it over.
  .configureOutput({
    writeOut: (text) => writePrintable(process.stdout, text),
    writeErr: (text) => writeProse(process.stderr, text.replace(/\n$/, '')),
    outputError: (text, write) => write(format.texts.parsing.error(withoutFarHint(text))),
  })
  .hook('preAction', () => {
    const given = process.env.LANCE_LANG;
    if (given !== undefined && given !== '' && readLanguage(given) === null) {
      throw new Fault('configuration-invalid', format.texts.badLanguage(given));
    }
  });

program
  .command('run')
  .description('run the desk as a daemon')
  .option('--no-learning', 'freeze the statistics')
  .action(run);

program
  .command('demo')
  .description('sandbox, desk and embedded store in one command, then a summary')
  .option('--requests <n>', 'how many requests to put to auction', positive, 300)
  .option('--seed <s>', 'seed of the sandbox', '1')
  .option('--exit', 'end when the stream has ended', false)
  .option('--json', 'end with one JSON object on standard output', false)
  .option('--no-learning', 'freeze the statistics')
  .option('--rivals <file>', 'rivals from a file of recorded auctions')
  .addOption(
    new Option('--market <name>', 'how rivals behave').choices(marketNames).default('segments').conflicts('rivals'),
  )
  .action(async (options) => {
    process.exitCode = await demo(options);
  });

async function addCommands(): Promise<void> {
  const { registerCommands } = await import('./cli/commands.ts');
  registerCommands(program, {
    clock,
    terminal: createTerminal(),
    format,
    place: () => place(process.env),
    pricing: () => pricing(process.env),
    model: () => model(process.env),
    pseudonymKey: () => pseudonymKey(process.env),
    writing: () => writing(process.env),
    mapping: (file) => (file === null ? mapping(process.env) : mappingFrom(file)),
    endpoints: () => endpoints(process.env),
    openReader,
    openWhole,
    openSetBack,
    startRefusal,
    giveUpViews,
    refoldViews,
    quickCheck: async (store, timeoutMs) =>
      store.backend === 'embedded' ? quickCheck(store.dataDir, timeoutMs) : null,
    tooLittleSpace: (store, neededBytes) =>
      store.backend === 'embedded' ? tooLittleSpace(store.dataDir, neededBytes) : null,
    freeBytes: (store) => (store.backend === 'embedded' ? freeBytes(store.dataDir) : null),
    tryToken,
    remote: () => remotePlace(process.env),
    daemon: () => daemonPlace(process.env),
    readConfig: () => readConfig(process.env, readStrict),
    createVault,
    readRules: readRuleFiles,
    isHeld,
    holdersOfRemoved,
    holdersOfLostLock,
    readPackageFile: (path) => readStrict(packageFile(path)),
    readLine,
    readText: readStrict,
    endSignal,
  });
}

try {
  // The daemon needs none of them, and they are a sixth of what a start has to read.
  if (!isDaemonStart(process.argv.slice(2))) await addCommands();
  await program.parseAsync();
} catch (fault) {
  if (!(fault instanceof Fault)) {
    // A mistake of ours: its message may quote what came from outside.
    writePrintable(process.stderr, `${inspect(fault)}\n`);
    process.exit(1);
  }
  // The daemon writes English, as its log lines are, unless it is asked for a language.
  const isDaemon = program.args[0] === 'run' && !namesLanguage(process.argv, process.env);
  writeProse(process.stderr, `lance: ${isDaemon ? fault.message : format.texts.fault(fault.message)}`);
  // What a start has left open would keep a process alive that has refused to run.
  process.exit(fault.exitCode);
}
