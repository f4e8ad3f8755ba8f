/** `lance doctor`: everything that keeps a desk from bidding, found before it matters, each with its remedy. */
import { accessSync, constants, existsSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyAbsentIn } from '../absent-facts.ts';
import { troubleOfReason } from '../bidding/bidding-status.ts';
import { fullCapOf } from '../bidding/decide.ts';
import { type HeldBack, isForPersons, openChecked, takenAwayBy } from '../bidding/held-back.ts';
import { refusalBy } from '../bidding/house.ts';
import { judgeKey } from '../bidding/key-check.ts';
import { capOfKey } from '../bidding/lately.ts';
import { type EventLog, lastChanges, toldPause, type Views } from '../bidding/ports.ts';
import { mayFollow, proposalOf, rollbackFrom, rollbackIn } from '../bidding/rule-book.ts';
import { modeForOthers, type StorePlace } from '../config/store-place.ts';
import { type Config, economicsOf, type Place, secretsOf } from '../config.ts';
import type { ChainVerdict } from '../domain/audit.ts';
import { operatorDayKeys, usageUnder } from '../domain/cap-book.ts';
import { dayOf } from '../domain/clock.ts';
import type { Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { countLetters } from '../http/letters.ts';
import { economicsStanding } from '../operating/economics.ts';
import { lifeMs, living } from '../operating/living.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { notConfigured } from '../rules/sources.ts';
import { confirmRules, reasonsAgainst } from '../rules/verdict.ts';
import { reportsErrors } from '../wire/link-queries.ts';
import { readOutcomeTable } from '../wire/outcomes.ts';
import { remedyOf } from './audit.ts';
import { detailText } from './bidding-remedy.ts';
import { biddingFindings } from './doctor-bidding.ts';
import { type Finding, type FindingName, found, hashLength, type Level } from './doctor-finding.ts';
import { capsThatEnded, lastEnd, useOf } from './full-caps.ts';
import { faultLine, reasonTexts } from './rules-files.ts';
import { labelledText } from './terminal.ts';
import type { DoctorFigures, Texts } from './texts.ts';
import { type CommandWorld, type DeskReader, isStoreHeld, type TokenTrial } from './world.ts';

const leastNode: readonly [major: number, minor: number] = [24, 12];
const connectTimeoutMs = 3_000;
/** Reasons against a folder of rules; `lance rules check` has them all. */
const shownReasons = 5;
/** Enough for some gigabytes on a disk of today. */
const quickCheckTimeoutMs = 30_000;
/** With less left, an evening of webhooks may fill the disk. */
const littleBytes = 1e9;
/** Requests without a bid that are looked at for a full cap, the latest first. */
const recentPasses = 200;
/** Deadlines are kept by the service's time, so a small difference costs nothing; beyond the larger one bidding is closed (`clock-skew`). */
const noticedSkewMs = 2_000;
const closingSkewMs = 15 * 60_000;
/** A body that was read and found wanting: the token came before. */
const readStatuses: ReadonlySet<number> = new Set([200, 400, 422]);
const nothingThereStatus = 404;
/** The setting's default, where the configuration cannot be read. */
const firstAnswerMs = 6_000;
const usualBodyBytes = 5_000_000;
const databaseFile = 'lance.sqlite';
const earliestYear = 2025;
const latestYear = 2100;

/** What a desk has folded is stored within this time, also where its disk is slow. */
const longestStoreMs = 6_000;
const viewsLookMs = 100;

function faultText(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

function checkNode(): Finding {
  const version = process.versions.node;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fits = major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1]);
  return fits ? found('node', 'ok', 'node-fits', { version }) : found('node', 'fail', 'node-old', { version });
}

/** The same check as that of a desk, tests included. `ruleSet`: the one in the folder; null: it is refused. */
async function checkRules(
  world: CommandWorld,
  directory: string,
  leastCoveragePercent: number,
): Promise<{ findings: Finding[]; ruleSet: RuleSet | null }> {
  const refused = (texts: string[]) => ({
    findings: texts.map((text) => found('rules', 'fail', 'rules-refused', { text })),
    ruleSet: null,
  });
  try {
    const verdict = await confirmRules(
      world.readRules(directory),
      leastCoveragePercent,
      world.clock.now(),
      whyAbsentIn(world.mapping(null)),
    );
    if (verdict.kind === 'good') {
      const { ruleSet } = verdict;
      const { rules, hash } = ruleSet;
      const figures = { count: rules.length, hash: hash.slice(0, hashLength), path: directory };
      const compiled = found('rules', 'ok', 'rules-compiled', figures);
      return { findings: [compiled, ...checkEndpoints(world, ruleSet)], ruleSet };
    }
    return refused(reasonsAgainst(verdict, reasonTexts(world.format)).slice(0, shownReasons));
  } catch (fault) {
    return refused([faultText(fault)]);
  }
}

function checkEndpoints(world: CommandWorld, { sources }: RuleSet): Finding[] {
  try {
    return notConfigured(sources, world.endpoints()).map((fault) =>
      found('rules', 'warn', 'source-unconfigured', { text: faultLine(world, fault) }),
    );
  } catch (fault) {
    // Named among the faults of the configuration already.
    if (!(fault instanceof Fault)) throw fault;
    return [];
  }
}

/** Which set decides on this store, beside the one in the folder; nothing where none was ever announced. */
async function checkFollowed(
  { clock }: Pick<CommandWorld, 'clock'>,
  { control, ruleBook }: DeskReader,
  { rulesDir, rules }: Place,
  inFolder: RuleSet | null,
): Promise<Finding[]> {
  const folderHash = inFolder?.hash ?? null;
  const followed = (await control.read()).ruleOrders.at(-1)?.hash;
  if (followed === undefined) return [];
  const hash = followed.slice(0, hashLength);
  const entries = await ruleBook.read();
  const live = openChecked(await ruleBook.source(followed));
  const taken = live === null || inFolder === null ? null : takenAwayBy(live, inFolder);
  const back = rollbackIn(entries);
  const isSettled = back !== null && (back.reviewedBy ?? back.reviewedAt) !== null && folderHash === followed;
  if (back?.hash === followed && !isSettled) {
    const { from, by, reviewBy, reviewedBy } = back;
    const figures = { hash, from: from.slice(0, hashLength), by: by ?? '?', until: new Date(reviewBy).toISOString() };
    const folder =
      folderHash === null || folderHash === followed
        ? {}
        : { folder: folderHash.slice(0, hashLength), ...lossFigures(taken) };
    const due = clock.now() > reviewBy ? 'rules-back-overdue' : 'rules-back';
    return [found('rules', 'warn', reviewedBy === null ? due : 'rules-back-seen', { ...figures, ...folder })];
  }
  if (followed === folderHash) return [found('rules', 'ok', 'rules-followed', { hash })];
  if (folderHash === null) return [found('rules', 'warn', 'rules-kept', { hash, path: rulesDir })];
  const figures = { hash, path: rulesDir, folder: folderHash.slice(0, hashLength), ...lossFigures(taken) };
  const left = rollbackFrom(entries, folderHash);
  if (left !== null) return [found('rules', 'warn', 'rules-gone-back-from', { ...figures, by: left.by ?? '?' })];
  if (!mayFollow(entries, folderHash, rules.approval)) return [found('rules', 'warn', 'rules-unapproved', figures)];
  const isKnown = proposalOf(entries, folderHash) !== null;
  if (taken !== null && !isForPersons(entries, rules.approval, folderHash)) {
    return [found('rules', 'fail', isKnown ? 'rules-held-back' : 'rules-held-back-new', figures)];
  }
  return [found('rules', 'warn', isKnown ? 'rules-left' : 'rules-new', figures)];
}

/** Economics of the settings that wait for two persons, or for a restart; nothing where these decide. */
async function checkEconomics(world: CommandWorld, { ruleBook }: DeskReader): Promise<Finding[]> {
  let own: string;
  try {
    own = economicsOf(world.model()).hash;
  } catch (fault) {
    // Named among the faults of the configuration already.
    if (!(fault instanceof Fault)) throw fault;
    return [];
  }
  const { used, waiting } = await economicsStanding({ ruleBook });
  const held = waiting.find(({ hash }) => hash === own);
  if (used === null || held === undefined) return [];
  const figures = { hash: own.slice(0, hashLength), used: used.slice(0, hashLength) };
  return [found('rules', 'warn', held.approved ? 'economics-approved' : 'economics-unapproved', figures)];
}

function lossFigures(taken: HeldBack | null): Record<string, string | number> {
  if (taken === null) return {};
  const { caps, capNames = [], rules: count, left, files } = taken;
  return {
    ...{ caps, count, left },
    ...(capNames.length === 0 ? {} : { capNames: capNames.join(', ') }),
    ...(files.length === 0 ? {} : { files: files.join(', ') }),
  };
}

function checkMapping(world: CommandWorld): Finding[] {
  try {
    world.mapping(null);
    return [found('mapping', 'ok', 'file-read')];
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return fault.message.split('\n').map((text) => found('mapping', 'fail', 'file-refused', { text }));
  }
}

function checkFile(
  check: 'outcomes',
  read: (path: string) => string,
  path: string,
  parse: (value: unknown) => { kind: string; problems?: readonly string[] },
): Finding[] {
  try {
    const { problems = [] } = parse(JSON.parse(read(path)));
    if (problems.length === 0) return [found(check, 'ok', 'file-read')];
    return problems.map((text) => found(check, 'fail', 'file-refused', { text: `${path}: ${text}` }));
  } catch (fault) {
    return [found(check, 'fail', 'file-refused', { text: `${path}: ${faultText(fault)}` })];
  }
}

/** Where the log is and, if a desk has run on it, what is in it. */
async function checkStore(world: CommandWorld, place: Place, inFolder: RuleSet | null): Promise<Finding[]> {
  const { store } = place;
  switch (store.backend) {
    case 'embedded':
      return checkDirectory(world, place, store.dataDir, inFolder);
    case 'kafka':
      return checkShared(world, place, store, inFolder);
    default:
      return store satisfies never;
  }
}

/** Each server by its name and address, and then what is on them. */
async function checkShared(
  world: CommandWorld,
  place: Place,
  store: Extract<StorePlace, { backend: 'kafka' }>,
  inFolder: RuleSet | null,
): Promise<Finding[]> {
  const { brokers, registryUrl } = store.kafka;
  const redis = new URL(store.redis.url);
  const servers = [
    ...brokers.map((address) => ({ name: 'Kafka', url: new URL(`kafka://${address}`), port: 9_092, greeting: null })),
    {
      ...{ name: 'schema registry', url: new URL(registryUrl), port: registryUrl.startsWith('https:') ? 443 : 80 },
      greeting: registryUrl.startsWith('https:') ? null : 'GET / HTTP/1.0\r\n\r\n',
    },
    { name: 'Redis', url: redis, port: 6_379, greeting: redis.protocol === 'rediss:' ? null : 'PING\r\n' },
  ];
  const findings = await Promise.all(
    servers.map(async ({ name, url, port, greeting }) => {
      const host = `${url.hostname}:${url.port === '' ? port : url.port}`;
      const { text, durationMs } = await reach(host, greeting);
      if (text !== null) return found('servers', 'fail', 'server-silent', { name, host, text });
      return found('servers', 'ok', 'server-reached', { name, host, durationMs });
    }),
  );
  // The brokers come first.
  const isAway = findings.slice(0, brokers.length).every(({ finding }) => finding === 'server-silent');
  const text = `Kafka (${brokers.join(', ')}) does not answer`;
  // The client of Kafka would ask again and again for the best part of a minute.
  const examined = isAway
    ? [found('servers', 'fail', 'servers-unread', { text }), ...(await checkBidding(world, null, true))]
    : await examineStore(world, place, inFolder, `${brokers.join(', ')}; ${redis.host}`);
  return [...checkDisk(world, store), ...findings, ...examined];
}

/** A desk takes webhooks only while twice the longest one would find room. */
function fullDisk(world: CommandWorld, store: StorePlace): string | null {
  const config = world.readConfig();
  const bodyLimitBytes = config.kind === 'config' ? config.config.http.bodyLimitBytes : usualBodyBytes;
  return world.tooLittleSpace(store, 2 * bodyLimitBytes);
}

async function checkDirectory(
  world: CommandWorld,
  place: Place,
  directory: string,
  inFolder: RuleSet | null,
): Promise<Finding[]> {
  const [pid] = world.holdersOfRemoved(directory);
  if (pid !== undefined) {
    // What a start would say of the directory as it is would lead to giving up what the process still holds.
    const lost = found('data-directory', 'fail', 'files-removed', { path: directory, count: pid });
    return [lost, ...(await checkBidding(world, null, true))];
  }
  if (!isUsable(directory)) return [found('data-directory', 'fail', 'directory-unwritable', { path: directory })];
  if (!existsSync(join(directory, databaseFile))) {
    const refusal = await world.startRefusal(place.store);
    if (refusal?.code === 'desk-moved') {
      return [found('data-directory', 'fail', 'start-refused', { text: refusal.message })];
    }
    if (await answersAlive(world)) {
      const other = found('data-directory', 'fail', 'directory-without-desk', { path: directory });
      return [other, ...(await checkBidding(world, null, true))];
    }
    const isNew = found('data-directory', 'warn', 'directory-new', { path: directory });
    return [isNew, ...(await checkStart(world, place))];
  }
  const full = fullDisk(world, place.store);
  const examined = await examineStore(world, place, inFolder, directory);
  if (full === null) {
    return [...checkDisk(world, place.store), ...(await checkFilePages(world, place.store)), ...examined];
  }
  // Without room SQLite cannot open a sound file either, so what it says is no reason to replace the file.
  const unread = found('data-directory', 'warn', 'store-unread');
  return [
    found('data-directory', 'fail', 'disk-full', { text: full }),
    ...examined.map((each) => (each.finding === 'store-unreadable' ? unread : each)),
  ];
}

/** Whether a desk can keep its files there, or make the directory. */
function isUsable(directory: string): boolean {
  try {
    let there = resolve(directory);
    while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
    accessSync(there, constants.W_OK | constants.X_OK);
    // Permissions do not tell everything: some file systems make no directory for anybody.
    if (there !== resolve(directory)) rmdirSync(mkdtempSync(join(there, '.lance-doctor-')));
    return statSync(there).isDirectory();
  } catch {
    return false;
  }
}

function checkDisk(world: CommandWorld, store: StorePlace): Finding[] {
  const bytes = world.freeBytes(store);
  if (bytes === null) return [found('disk', 'ok', 'disk-elsewhere')];
  const megabytes = Math.floor(bytes / 1e6);
  return [
    bytes < littleBytes
      ? found('disk', 'warn', 'disk-low', { megabytes })
      : found('disk', 'ok', 'disk-free', { megabytes }),
  ];
}

async function checkFilePages(world: CommandWorld, store: StorePlace): Promise<Finding[]> {
  const checked = await world.quickCheck(store, quickCheckTimeoutMs);
  if (checked?.kind === 'damaged') return [found('data-directory', 'fail', 'file-damaged', { text: checked.text })];
  if (checked?.kind !== 'unfinished') return [];
  return [found('data-directory', 'warn', 'file-unchecked', { durationMs: quickCheckTimeoutMs })];
}

async function checkPlace(reader: DeskReader, store: StorePlace, path: string): Promise<Finding> {
  if (store.backend === 'kafka') {
    // Topics are created at the first start.
    const isNew = (await reader.log.ends('auctions')).size === 0;
    return isNew
      ? found('data-directory', 'warn', 'topics-new', { path })
      : found('data-directory', 'ok', 'directory-fits', { path });
  }
  const mode = modeForOthers(store.dataDir);
  return mode === null
    ? found('data-directory', 'ok', 'directory-fits', { path })
    : found('data-directory', 'warn', 'directory-wide', { path, text: mode });
}

/** The first answer of a store: a server that takes connections and says nothing would be asked for the best part of a minute. */
async function soon<R>(answer: Promise<R>): Promise<R> {
  const late = Promise.withResolvers<never>();
  const text = `it did not answer within ${firstAnswerMs / 1_000} s`;
  const timer = setTimeout(() => late.reject(new Fault('log-unavailable', text)), firstAnswerMs);
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

async function examineStore(
  world: CommandWorld,
  place: Place,
  inFolder: RuleSet | null,
  path: string,
): Promise<Finding[]> {
  const { store, pseudonymKey } = place;
  let reader: DeskReader | null = null;
  const findings: Finding[] = [];
  try {
    reader = await world.openReader(store);
    findings.push(await soon(checkPlace(reader, store, path)));
    const unkept = await checkKept(reader);
    findings.push(...unkept);
    if (unkept.length === 0) findings.push(...(await checkFollowed(world, reader, place, inFolder)));
    if (unkept.length === 0) findings.push(...(await checkEconomics(world, reader)));
    const holder = await holderOf(world, reader, store);
    findings.push(...(await checkDaemon(world, reader, store, holder)));
    findings.push(...(await checkEviction(reader)));
    findings.push(...(await checkCaps(world, reader)));
    findings.push(...(await checkBidding(world, reader, holder.held)));
    findings.push(...(await checkLog(world, reader, store, holder.held)));
    findings.push(await checkKey(reader, pseudonymKey === null ? null : world.createVault(pseudonymKey)));
    const start = await checkStart(world, place);
    const isRefused = [...unkept, ...start].some(({ level }) => level === 'fail');
    // To start a desk is no remedy where the start would be refused.
    return [...findings, ...start].map((each) =>
      isRefused && stopped.has(each.finding) ? { ...each, figures: { ...each.figures, kind: 'refused' } } : each,
    );
  } catch (fault) {
    const text = faultText(fault);
    if (store.backend === 'embedded') {
      const isNewer = fault instanceof Fault && fault.code === 'store-newer';
      return [...findings, found('data-directory', 'fail', isNewer ? 'store-newer' : 'store-unreadable', { text })];
    }
    const isAway = fault instanceof Fault && fault.retryable;
    if (fault instanceof Fault && fault.code === 'views-behind')
      findings.push(found('views', 'fail', 'views-lacking', { text }));
    else findings.push(found('servers', 'fail', isAway ? 'servers-unread' : 'servers-refused', { text }));
    // The process knows best why it does not bid, also where nothing can be read from here.
    const isAsked = findings.some(({ check }) => check === 'bidding');
    return isAsked ? findings : [...findings, ...(await checkBidding(world, null, true))];
  } finally {
    await reader?.close();
  }
}

const stopped: ReadonlySet<FindingName> = new Set(['daemon-none', 'daemon-unseen']);

/** What every start reads beside the log: where the desk lives, where it comes from, what became of rule sets and tokens. */
async function checkKept({ house, ruleBook, tokenBook }: DeskReader): Promise<Finding[]> {
  const findings: Finding[] = [];
  const away = await refusalBy(house);
  if (away !== null) findings.push(found('data-directory', 'fail', 'start-refused', { text: away.message }));
  for (const read of [house.origins, ruleBook.read, tokenBook.read]) {
    try {
      await read();
    } catch (fault) {
      if (!(fault instanceof Fault && fault.code === 'store-damaged')) throw fault;
      findings.push(found('data-directory', 'fail', 'store-unreadable', { text: fault.message }));
    }
  }
  return findings;
}

/** What the log and its anchors make a start refuse; another pseudonym key is a finding of its own. */
async function checkStart(world: CommandWorld, { store, ...place }: Place): Promise<Finding[]> {
  const hasKey = (place.audit.key ?? place.pseudonymKey) !== null;
  const refusal = await world.startRefusal(store);
  if (refusal?.code === 'pseudonym-key-changed') return [];
  // Beside a file of its own the chain tells of this key; on Kafka only anchors of another one are refused so.
  const told: Finding[] = [];
  if (store.backend === 'kafka' && hasKey) {
    if (refusal === null) told.push(found('audit-key', 'ok', 'audit-key-fits'));
    if (refusal?.code === 'configuration-invalid') told.push(found('audit-key', 'fail', 'audit-key-other'));
  }
  if (refusal !== null) told.push(found('chain', 'fail', 'start-refused', { text: refusal.message }));
  return told;
}

/** Under another key the desk would not start: better found before it is asked to. */
async function checkKey({ log }: DeskReader, vault: Vault | null): Promise<Finding> {
  if (vault === null) return found('key', 'warn', 'key-missing');
  const verdict = await judgeKey(log, vault);
  if (verdict === 'new') return found('key', 'ok', 'key-new');
  return verdict === 'other' ? found('key', 'fail', 'key-other') : found('key', 'ok', 'key-fits');
}

/** The key that signs the anchors, by the anchors that are there. */
function checkAuditKey({ unverified }: ChainVerdict, anchors: number | null): Finding {
  const kinds = new Set(unverified.map(({ kind }) => kind));
  if (kinds.has('other-key')) return found('audit-key', 'fail', 'audit-key-other');
  if (kinds.has('no-key')) return found('audit-key', 'warn', 'audit-key-missing');
  return anchors === null || anchors > 0
    ? found('audit-key', 'ok', 'audit-key-fits')
    : found('audit-key', 'ok', 'audit-key-new');
}

/** Caps that somebody set by hand, and whether one of them keeps bids back today; of the rules' caps those that have ended requests today. */
async function checkCaps({ clock, format }: CommandWorld, reader: DeskReader): Promise<Finding[]> {
  const { control, views, log } = reader;
  const now = clock.now();
  const { caps, changes } = await control.read();
  const today = dayOf(now);
  const passes = (await views.query({ phase: 'passed', limit: recentPasses, before: null })).filter(
    ({ state }) => state.pass?.code === 'cap' && dayOf(state.pass.at) >= today,
  );
  const findings: Finding[] = [];
  const orders = lastChanges(changes);
  const keysOf = (name: string) => operatorDayKeys(name, now);
  const usage = await views.usage(Object.keys(caps).flatMap(keysOf), now);
  const endedBy = await capsThatEnded(
    log,
    passes.map(({ state }) => state),
    Object.keys(caps),
  );
  for (const [name, limitCents] of Object.entries(caps)) {
    const usedCents = usageUnder({ keys: keysOf(name) }, (key) => usage.get(key)).amountCents;
    const order = orders.find((change) => change.kind === 'cap-set' && change.name === name);
    const setAt = order?.at ?? 0;
    // Of the caps that requests ended by, each for its own: another one that is full says nothing of this one.
    const since = passes.filter(
      ({ state }) => state.pass!.at >= setAt && endedBy.get(state.requestId)!.includes(name),
    ).length;
    const figures = {
      name,
      used: format.money(usedCents),
      limit: format.money(limitCents),
      ...(order === undefined ? {} : { by: order.by, since: format.minute(order.at) }),
      ...(order?.reason == null ? {} : { text: order.reason }),
    };
    const binds = usedCents >= limitCents || since > 0;
    findings.push(
      binds
        ? found('caps', 'warn', 'cap-binds', { ...figures, count: since })
        : found('caps', 'ok', 'cap-held', figures),
    );
  }
  const byRules = new Map<string, number>();
  for (const { state } of passes) {
    const key = fullCapOf(state.pass!.reasons);
    const cap = key === null ? null : capOfKey(key);
    // What a cap by hand ended that is gone by now is nobody's reason any more.
    if (cap !== null && !cap.byHand) byRules.set(cap.name, (byRules.get(cap.name) ?? 0) + 1);
  }
  for (const [name, count] of byRules) {
    const end = await lastEnd(reader, { name, byHand: false });
    const { used, limit } = end === null ? { used: null, limit: null } : useOf(format, end);
    findings.push(
      found('caps', 'ok', 'cap-of-rules', { name, count, ...(used === null || limit === null ? {} : { used, limit }) }),
    );
  }
  return findings.length > 0 ? findings : [found('caps', 'ok', 'caps-none')];
}

/** Whether the server that keeps the cap book may take a part of it away. */
export async function checkEviction({ views }: Pick<DeskReader, 'views'>): Promise<Finding[]> {
  const policy = (await views.evicting?.()) ?? null;
  return policy === null ? [] : [found('views', 'fail', 'views-evictable', { text: policy })];
}

/** Whether a process runs on the store, as far as can be seen from here. `lost`: its lock was removed or replaced, so it refuses everything. */
type Holder = { held: boolean; lost: { path: string; pid: number } | null };

async function holderOf(world: CommandWorld, { control }: DeskReader, store: StorePlace): Promise<Holder> {
  if (store.backend !== 'embedded') return { held: (await living(control, world.clock)).length > 0, lost: null };
  const { path, pids } = world.holdersOfLostLock(store.dataDir);
  const [pid] = pids;
  const lost = pid === undefined ? null : { path, pid };
  return { held: lost !== null || world.isHeld(store.dataDir), lost };
}

function daemonPlace(world: CommandWorld): ReturnType<CommandWorld['daemon']> {
  try {
    return world.daemon();
  } catch (fault) {
    // Named among the faults of the configuration already.
    if (!(fault instanceof Fault)) throw fault;
    return null;
  }
}

/** Whether the process answers at all, which it does from early in its start. False where its port is not known. */
async function answersAlive(world: CommandWorld): Promise<boolean> {
  const place = daemonPlace(world);
  return place !== null && (await (await import('./daemon.ts')).askAlive(place));
}

/** Whether the process says that it has run for longer than that: one that starts tells no status yet. */
async function runsFor(world: CommandWorld, ms: number): Promise<boolean> {
  const place = daemonPlace(world);
  if (place === null) return false;
  const answer = await (await import('./daemon.ts')).askStatus(place);
  return answer.kind === 'answered' && answer.status.at - answer.status.startedAt > ms;
}

/** On Kafka the signs of life may be those of processes of other directories. */
async function hangsBesideOthers(world: CommandWorld, { backend }: StorePlace): Promise<boolean> {
  const place = daemonPlace(world);
  if (backend === 'embedded' || place === null || place.named || !isStoreHeld(world)) return false;
  return !(await answersAlive(world));
}

/** Why no bids flow, as the running process says. Nothing where none runs, or where only it knows its port. */
async function checkBidding(world: CommandWorld, reader: DeskReader | null, mayRun: boolean): Promise<Finding[]> {
  const place = daemonPlace(world);
  if (place === null || !(place.named || mayRun)) return [];
  // Loaded here: every other command would start later for it.
  const { askStatus } = await import('./daemon.ts');
  const answer = await askStatus(place);
  if (answer.kind === 'silent' && reader === null && !place.named) return [];
  if (answer.kind !== 'answered') {
    const text = answer.kind === 'silent' ? answer.reason : `HTTP ${answer.httpStatus}`;
    return [found('bidding', 'warn', 'bidding-unasked', { url: place.url, text })];
  }
  return biddingFindings(world, answer.status, reader);
}

async function checkDaemon(
  world: CommandWorld,
  reader: DeskReader,
  store: StorePlace,
  { held, lost }: Holder,
): Promise<Finding[]> {
  const live = await living(reader.control, world.clock);
  const state = await reader.control.read();
  const { revision, changes } = state;
  const pause = toldPause(state);
  const late = live.filter((process) => process.revision < revision).length;
  const findings: Finding[] = [];
  if (lost !== null) findings.push(found('daemon', 'fail', 'daemon-lock-lost', { path: lost.path, count: lost.pid }));
  else if (!held) findings.push(await noDaemon(reader, store, changes));
  else if (live.length === 0) {
    // Its sign of life is a row of the store, which a process that starts has not written yet.
    if (fullDisk(world, store) !== null) findings.push(found('daemon', 'fail', 'daemon-unwritten'));
    else if (await runsFor(world, lifeMs)) findings.push(found('daemon', 'fail', 'daemon-unsigned'));
    else if (await answersAlive(world)) findings.push(found('daemon', 'warn', 'daemon-starting'));
    else findings.push(found('daemon', 'fail', 'daemon-silent'));
  } else if (await hangsBesideOthers(world, store)) findings.push(found('daemon', 'fail', 'daemon-silent'));
  else findings.push(found('daemon', 'ok', 'daemon-live', { count: live.length }));
  if (held && late > 0) findings.push(found('control', 'fail', 'control-late', { count: late }));
  if (pause === null) findings.push(found('control', 'ok', 'control-free'));
  else findings.push(found('control', 'warn', 'control-paused', { by: pause.by, text: pause.reason }));
  for (const change of lastChanges(changes)) {
    const { kind, by, reason, at } = change;
    const figures = { kind, by, at, ...(reason === null ? {} : { text: reason }) };
    findings.push(
      found('control', 'ok', 'control-changed', 'name' in change ? { ...figures, name: change.name } : figures),
    );
  }
  return findings;
}

/** A note, and no failure: somebody may have stopped it. The last thing of all says since when nothing has happened. */
async function noDaemon(
  reader: DeskReader,
  { backend }: StorePlace,
  changes: readonly { at: number }[],
): Promise<Finding> {
  const times = [...changes.map(({ at }) => at), await lastRecordAt(reader, storyTopics)];
  const lastAt = Math.max(...times.filter((at) => at !== undefined));
  const last = Number.isFinite(lastAt) ? { lastAt: new Date(lastAt).toISOString() } : {};
  return found('daemon', 'warn', backend === 'embedded' ? 'daemon-none' : 'daemon-unseen', last);
}

async function checkLog(
  world: CommandWorld,
  reader: DeskReader,
  store: StorePlace,
  isHeld: boolean,
): Promise<Finding[]> {
  const last = await lastRecordAt(reader, ['auctions']);
  const findings = [await checkViews(reader, isHeld)];
  // On Kafka that reads the whole log over the network: `audit verify` does, when somebody asks for it.
  const verifies = store.backend === 'embedded' && reader.verifyChain !== null;
  const verdict = verifies ? await reader.verifyChain!(() => undefined) : null;
  if (verdict === null) findings.push(found('chain', 'ok', 'chain-none'));
  else if (verdict.kind === 'intact') findings.push(found('chain', 'ok', 'chain-intact', { count: verdict.entries }));
  else if (verdict.kind === 'broken') {
    const { table, offset, what } = verdict;
    const text = world.format.texts.audit.tampering[what];
    findings.push(found('chain', 'fail', 'chain-broken', { table, offset, text, remedy: remedyOf(world, verdict) }));
  } else if (verdict.kind === 'anchor-missing') {
    const { place } = verdict;
    findings.push(found('chain', 'fail', 'anchor-missing', { path: place, remedy: remedyOf(world, verdict) }));
  } else {
    const { place, line } = verdict;
    findings.push(found('chain', 'fail', 'anchor-broken', { path: place, line, remedy: remedyOf(world, verdict) }));
  }
  const unfit = verdict?.unverified.find((each) => each.kind === 'margins');
  if (unfit !== undefined) findings.push(found('chain', 'warn', 'margins-unfit', { count: unfit.rows }));
  if (verdict !== null && verdict.kind !== 'anchor-broken')
    findings.push(checkAuditKey(verdict, verdict.kind === 'intact' ? verdict.anchors : null));
  const { letters, closed } = await countLetters(reader.log);
  const dead = letters - closed;
  if (dead === 0) findings.push(found('dead-letters', 'ok', 'dead-letters-none'));
  else findings.push(found('dead-letters', 'warn', 'dead-letters-some', { count: dead }));
  findings.push(checkClock(world.clock.now(), last));
  return findings;
}

/**
 * Whether what the views have stored reaches to the end of the log. A desk that runs stores it every few moments, so it is given the
 * time to; one that is stopped folds the rest at its start.
 */
export async function checkViews(
  { log, views }: { log: Pick<EventLog, 'ends'>; views: Pick<Views, 'applied'> },
  isRunning: boolean,
): Promise<Finding> {
  const ends = [...(await log.ends('auctions'))];
  const count = ends.reduce((sum, [, end]) => sum + end, 0);
  const until = performance.now() + (isRunning ? longestStoreMs : 0);
  for (;;) {
    let behind = 0;
    for (const [partition, end] of ends) behind += Math.max(0, end - (await views.applied(partition)));
    if (behind === 0) return found('views', 'ok', 'views-current', { count });
    if (!isRunning) return found('views', 'ok', 'views-stopped', { count: behind });
    if (performance.now() >= until) return found('views', 'warn', 'views-behind', { count: behind });
    await sleep(viewsLookMs);
  }
}

/** Topics whose records say when something happened. */
const storyTopics = ['auctions', 'callbacks', 'flows', 'dead-letters'] as const;
type StoryTopic = (typeof storyTopics)[number];

/** When the latest record of all their partitions was written; undefined: there is none. */
async function lastRecordAt(reader: DeskReader, topics: readonly StoryTopic[]): Promise<number | undefined> {
  let last: number | undefined;
  for (const topic of topics) {
    for (const [partition, end] of await reader.log.ends(topic)) {
      const [entry] = end === 0 ? [] : await reader.log.read(topic, partition, end - 1, 1);
      if (entry !== undefined) last = Math.max(last ?? 0, entry.record.at);
    }
  }
  return last;
}

function checkClock(now: number, lastRecordAt: number | undefined): Finding {
  const year = new Date(now).getUTCFullYear();
  if (year < earliestYear || year > latestYear) return found('clock', 'fail', 'clock-wrong');
  const behindMs = (lastRecordAt ?? 0) - now;
  // Two processes of one machine may differ by the time that reading takes.
  return behindMs > 1_000
    ? found('clock', 'fail', 'clock-behind', { durationMs: behindMs })
    : found('clock', 'ok', 'clock-sane');
}

/** A name without a path is looked for where the system looks for programs. */
function isProgram(name: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const places = name.includes('/') ? [name] : folders.map((folder) => join(folder, name));
  return places.some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
}

/** Where the secrets come from, by the names of their variables. */
function checkSecrets(): Finding[] {
  const { files, variables } = secretsOf(process.env);
  return [
    ...(files.length === 0
      ? []
      : [found('configuration', 'ok', 'secrets-in-files', { text: files.map(({ name }) => name).join(', ') })]),
    ...files.flatMap(({ name, path }) => {
      const mode = modeForOthers(path);
      return mode === null ? [] : [found('configuration', 'warn', 'secret-file-wide', { name, path, text: mode })];
    }),
    ...(variables.length === 0
      ? []
      : [found('configuration', 'ok', 'secrets-in-environment', { text: variables.join(', ') })]),
  ];
}

function checkToken(config: Config): Finding {
  const { accessToken, tokenCommand } = config.service;
  if (tokenCommand === null) return found('token', 'ok', 'token-given');
  const [program = ''] = tokenCommand;
  if (!isProgram(program)) return found('token', 'fail', 'token-unusable', { path: program });
  return found('token', 'ok', accessToken === null ? 'token-command' : 'token-both');
}

/** What the service says to the token, and what its answer says of our clock. */
async function checkService(world: CommandWorld, config: Config): Promise<Finding[]> {
  const reached = await reachService(config.service.baseUrl);
  if (reached.level !== 'ok') return [reached, await checkRenewal(world, config, reached)];
  const [program = ''] = config.service.tokenCommand ?? [];
  if (config.service.accessToken === null && !isProgram(program)) return [reached];
  const { answer, renewalFault, skewMs } = await world.tryToken(config);
  const service = unserved(answer, reached.figures) ?? reached;
  return [service, tokenFinding(config, answer, renewalFault), ...clockFinding(skewMs)];
}

/** While the service is away its token command can still be run: what it does wrong would keep the desk from bidding later. */
async function checkRenewal(world: CommandWorld, config: Config, reached: Finding): Promise<Finding> {
  const untried = found('token', 'warn', 'token-untried', { text: 'unreachable' });
  const [program = ''] = config.service.tokenCommand ?? [];
  if (reached.finding !== 'service-unreachable' || !isProgram(program)) return untried;
  // Without a token at hand the command is run first.
  const { renewalFault } = await world.tryToken({ ...config, service: { ...config.service, accessToken: null } });
  return renewalFault === null ? untried : found('token', 'fail', 'token-unrenewed', { text: renewalFault });
}

/** Somebody listens there, and it is not the service at its work; null: it is, as far as the answer tells. */
function unserved(answer: TokenTrial['answer'], { host = '' }: DoctorFigures): Finding | null {
  // A service that knows nobody by that CPF may say so with the same status, in the contract's words.
  if (
    answer.kind === 'refused' &&
    answer.response.status === nothingThereStatus &&
    !reportsErrors(answer.response.body)
  )
    return found('service', 'fail', 'service-elsewhere', { host, text: `HTTP ${answer.response.status}` });
  if (answer.kind !== 'failed' || troubleOfReason(answer.reason) !== 'service-unreachable') return null;
  if (answer.reason === 'unreadable-success') return found('service', 'fail', 'service-foreign', { host });
  // One that says itself that it fails may do so for this moment alone.
  const level = answer.reason.startsWith('status-') ? 'warn' : 'fail';
  return found('service', level, 'service-silent', { host, text: answer.reason });
}

function tokenFinding(
  { service: { tokenCommand } }: Config,
  answer: TokenTrial['answer'],
  renewalFault: string | null,
): Finding {
  switch (answer.kind) {
    case 'acknowledged':
      return answer.isDoubtful
        ? found('token', 'warn', 'token-unclear', { text: 'HTTP 2xx' })
        : found('token', 'ok', 'token-taken');
    case 'refused': {
      const { status } = answer.response;
      const wasRead = readStatuses.has(status) || reportsErrors(answer.response.body);
      return wasRead && answer.isDoubtful !== true
        ? found('token', 'ok', 'token-taken')
        : found('token', 'warn', 'token-unclear', { text: `HTTP ${status}` });
    }
    case 'failed':
      if (answer.reason !== 'unauthorised') return found('token', 'warn', 'token-untried', { text: answer.reason });
      return renewalFault === null
        ? found('token', 'fail', 'token-refused', {
            name: `LANCE_${tokenCommand === null ? 'ACCESS_TOKEN' : 'TOKEN_COMMAND'}`,
          })
        : found('token', 'fail', 'token-unrenewed', { text: renewalFault });
    case 'unwritable':
      return found('token', 'warn', 'token-untried', { text: answer.problem });
    default:
      return answer satisfies never;
  }
}

/** Its Date is cut to the second. */
function clockFinding(skewMs: number | null): Finding[] {
  if (skewMs === null) return [];
  const durationMs = Math.round(Math.abs(skewMs));
  if (durationMs <= noticedSkewMs) return [found('clock', 'ok', 'clock-agrees')];
  const level = durationMs > closingSkewMs ? 'fail' : 'warn';
  return [found('clock', level, skewMs > 0 ? 'clock-slow' : 'clock-fast', { durationMs })];
}

/** Whether anybody listens there. */
async function reachService(baseUrl: string): Promise<Finding> {
  if (!URL.canParse(baseUrl)) return found('service', 'fail', 'service-unknown');
  const { hostname, port, protocol } = new URL(baseUrl);
  const host = `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
  const { text, durationMs } = await reach(host);
  if (text !== null) return found('service', 'fail', 'service-unreachable', { host, text });
  return found('service', 'ok', 'service-reached', { host, durationMs });
}

/**
 * `host` with its port. `text`: why nobody answers there; null: somebody does. A process that hangs still accepts connections, so a
 * server that is sent a `greeting` has to answer it with something.
 */
async function reach(
  host: string,
  greeting: string | null = null,
): Promise<{ text: string | null; durationMs: number }> {
  const startedAt = performance.now();
  const text = await new Promise<string | null>((resolve) => {
    const [, name = '', port] = /^(.*):(\d+)$/.exec(host) ?? [];
    const socket = connect({ host: name.replace(/^\[|\]$/g, ''), port: Number(port) });
    const end = (why: string | null) => {
      socket.destroy();
      resolve(why);
    };
    socket.setTimeout(connectTimeoutMs, () => end(`${connectTimeoutMs} ms`));
    socket.once('connect', () => {
      if (greeting === null) end(null);
      else socket.write(greeting);
    });
    socket.once('data', () => end(null));
    socket.once('error', (fault: NodeJS.ErrnoException) => end(fault.code ?? fault.message));
  });
  return { text, durationMs: Math.round(performance.now() - startedAt) };
}

/** A desk without withdrawals needs neither root. */
function checkRoots({ service }: Config): Finding[] {
  const missing = [
    ...(service.fgtsUrl === null ? ['LANCE_FGTS_URL'] : []),
    ...(service.proposalUrl === null ? ['LANCE_PROPOSAL_URL'] : []),
  ];
  return missing.map((name) => found('service', 'ok', 'withdrawals-off', { name }));
}

async function examine(world: CommandWorld): Promise<Finding[]> {
  const remote = world.remote();
  // As every other command with both settings: of the desk that runs there, and nothing of what this machine has.
  if (remote !== null) return (await import('./doctor-afar.ts')).examineAfar(world, remote);
  const findings = [checkNode()];
  const result = world.readConfig();
  if (result.kind === 'config')
    findings.push(found('configuration', 'ok', 'configuration-read'), ...checkSecrets(), checkToken(result.config));
  else findings.push(...result.faults.map((text) => found('configuration', 'fail', 'configuration-refused', { text })));
  // A settings file that cannot be read names no mapping either, and is among the faults of the configuration already.
  const told: readonly unknown[] = result.kind === 'config' ? [] : result.faults;
  findings.push(
    ...checkMapping(world).filter(({ figures }) => !told.includes(figures.text)),
    ...checkFile('outcomes', world.readPackageFile, 'config/outcomes.json', readOutcomeTable),
  );
  try {
    const place = world.place();
    const { findings: rules, ruleSet } = await checkRules(world, place.rulesDir, place.rules.leastCoveragePercent);
    findings.push(...rules, ...(await checkStore(world, place, ruleSet)));
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    const text = fault.message;
    // Named among the faults of the configuration already.
    if (fault.code !== 'configuration-invalid')
      findings.push(found('data-directory', 'fail', 'store-unreadable', { text }));
  }
  if (result.kind === 'config') {
    findings.push(...(await checkService(world, result.config)), ...checkRoots(result.config));
  }
  return asTried(findings);
}

/** A process shows a refused token again once a minute. What was tried here just now is newer than what it says. */
function asTried(findings: readonly Finding[]): Finding[] {
  const isTaken = findings.some(({ finding }) => finding === 'token-taken');
  return findings.map((each) =>
    isTaken && each.finding === 'bidding-closed' && each.figures.cause === 'service-unauthorised'
      ? { ...each, finding: 'bidding-token-taken' }
      : each,
  );
}

/** With the detail of a closed desk in words. Why somebody paused is said as it was written. */
export function shownFigures(finding: FindingName, figures: DoctorFigures, texts: Texts): DoctorFigures {
  const { cause, text } = figures;
  if (finding !== 'bidding-closed' || cause === 'paused' || text === undefined) return figures;
  return { ...figures, detail: detailText(texts, String(text)) };
}

/** Resolves to the exit code: 1 when something failed. */
export async function runDoctor(world: CommandWorld, json: boolean): Promise<number> {
  const { terminal, format } = world;
  const { doctor } = format.texts;
  const findings = await examine(world);
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const nameWidth = Math.max(...Object.values(doctor.checks).map((name) => name.length));
  const levelWidth = Math.max(...Object.values(doctor.levels).map((name) => name.length));
  for (const { check, level, finding, figures } of findings) {
    if (json) {
      terminal.write(JSON.stringify({ check, level, finding, ...figures }));
      continue;
    }
    const [text, remedy] = doctor.findings[finding](shownFigures(finding, figures, format.texts));
    const label = `${doctor.levels[level].padEnd(levelWidth)}  ${doctor.checks[check].padEnd(nameWidth)}`;
    const said = remedy === undefined ? text : `${text}\n${doctor.remedy}: ${remedy}`;
    terminal.write(labelledText([[label, said === undefined ? null : format.localTimes(said)]]));
  }
  const fails = count('fail');
  const warns = count('warn');
  if (!json) terminal.write(`\n${fails + warns === 0 ? doctor.healthy : doctor.ill(fails, warns)}`);
  return fails === 0 ? 0 : 1;
}
