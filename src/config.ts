/**
 * Environment and file → one frozen configuration, or everything that is wrong with them at once. Layers, later wins:
 * `config/default.json` of this package, the file named by LANCE_CONFIG, the environment. Unknown names are refused, for
 * a setting that is misspelt and silently ignored is a limit that does not hold. No secret is ever repeated in a fault.
 */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { splitCommand } from './config/formats.ts';
import { nearestName, optional, readSetting } from './config/kinds.ts';
import { type BiddingSettings, httpOfCommands, type Read, type Sections, sections } from './config/sections.ts';
import { type PlaceSections, type StorePlace, storePlaceOf } from './config/store-place.ts';
import { iofShare } from './pricing/iof.ts';
import { parseJson } from './rules/json.ts';
import { type Contact, checkContacts } from './wire/bid.ts';

export type Config = Omit<Sections, 'backend' | 'dataDir' | 'kafka' | 'redis' | 'rulesDir' | 'service' | 'contacts'> & {
  store: StorePlace;
  rulesDir: string;
  /** At least one of token and token command is set. */
  service: Omit<Sections['service'], 'tokenCommand'> & { tokenCommand: readonly string[] | null };
  contacts: readonly Contact[];
  /** What decisions depend on, as canonical JSON without secrets, and its SHA-256 in hex: a stored input of every decision. */
  settings: { hash: string; content: string };
};

export type ConfigResult = { kind: 'config'; config: Config } | { kind: 'refused'; faults: readonly string[] };

/** Where the data is: all that reading and stopping need, so that a fault elsewhere never keeps anybody from pausing. */
export type Place = Pick<Config, 'store' | 'rulesDir' | 'rules' | 'audit'> & { pseudonymKey: string | null };
export type PlaceResult = { kind: 'place'; place: Place } | { kind: 'refused'; faults: readonly string[] };

export type Environment = Readonly<Record<string, string | undefined>>;
/** Content of a text file; throws when it cannot be read. */
export type ReadFile = (path: string) => string;

type Plain = Record<string, unknown>;

const defaultFile = fileURLToPath(new URL('../config/default.json', import.meta.url));
export const defaultRulesDir = fileURLToPath(new URL('../rules', import.meta.url));

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberOf(value: string): unknown {
  return /^-?\d+$/.test(value) ? Number(value) : value;
}

function listOf(value: string): unknown {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** `name:role:hash`, separated by commas. */
function apiTokensIn(value: string): unknown {
  return (listOf(value) as string[]).map((entry) => {
    const [name, role, sha256] = entry.split(':');
    return { name, role, sha256 };
  });
}

/** The environment's names, where each goes, and how its text is read when it is more than text. */
const variables: Readonly<Record<string, { path: string; read?: (value: string) => unknown }>> = {
  LANCE_BACKEND: { path: 'backend' },
  LANCE_ROLES: { path: 'roles', read: listOf },
  LANCE_DATA_DIR: { path: 'dataDir' },
  LANCE_KAFKA_BROKERS: { path: 'kafka.brokers', read: listOf },
  LANCE_KAFKA_PARTITIONS: { path: 'kafka.partitions', read: numberOf },
  LANCE_KAFKA_REPLICATION: { path: 'kafka.replication', read: numberOf },
  LANCE_SCHEMA_REGISTRY_URL: { path: 'kafka.registryUrl' },
  LANCE_REDIS_URL: { path: 'redis.url' },
  LANCE_RULES_DIR: { path: 'rulesDir' },
  LANCE_MAPPING: { path: 'mappingFile' },
  LANCE_PSEUDONYM_KEY: { path: 'pseudonymKey' },
  LANCE_AUDIT_ANCHOR: { path: 'audit.anchorFile' },
  LANCE_AUDIT_KEY: { path: 'audit.key' },
  LANCE_HTTP_HOST: { path: 'http.host' },
  LANCE_HTTP_PORT: { path: 'http.port', read: numberOf },
  LANCE_WEBHOOK_HOST: { path: 'http.webhookHost' },
  LANCE_WEBHOOK_PORT: { path: 'http.webhookPort', read: numberOf },
  LANCE_API_HOST: { path: 'http.apiHost' },
  LANCE_API_PORT: { path: 'http.apiPort', read: numberOf },
  LANCE_METRICS_HOST: { path: 'http.metricsHost' },
  LANCE_METRICS_PORT: { path: 'http.metricsPort', read: numberOf },
  LANCE_TRUSTED_PROXIES: { path: 'http.trustedProxies', read: listOf },
  LANCE_WEBHOOK_TOKENS: { path: 'http.webhookTokens', read: listOf },
  LANCE_API_TOKENS: { path: 'api.tokens', read: apiTokensIn },
  LANCE_BASE_URL: { path: 'service.baseUrl' },
  LANCE_FGTS_URL: { path: 'service.fgtsUrl' },
  LANCE_PROPOSAL_URL: { path: 'service.proposalUrl' },
  LANCE_ACCESS_TOKEN: { path: 'service.accessToken' },
  LANCE_TOKEN_COMMAND: { path: 'service.tokenCommand' },
  LANCE_TOKEN_COMMAND_VARIABLES: { path: 'service.tokenCommandVariables', read: listOf },
  LANCE_CONTACT_URL: { path: 'contacts.url' },
};

/** Known, and read elsewhere. */
const otherVariables = ['LANCE_CONFIG', 'LANCE_CRASH_AT', 'LANCE_LANG'];

const variableOf = new Map(Object.entries(variables).map(([name, { path }]) => [path, name]));

function nameOf(path: string): string {
  const variable = variableOf.get(path.replace(/\[.*/, ''));
  return variable === undefined ? path : `${variable} (${path})`;
}

function mergePlain(under: Plain, over: Plain): Plain {
  const merged: Plain = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = Object.hasOwn(merged, key) ? merged[key] : undefined;
    const inner = isPlain(below) && isPlain(value) ? mergePlain(below, value) : value;
    // Defined, not assigned: a key like `__proto__` must end as an unknown setting.
    Object.defineProperty(merged, key, { value: inner, enumerable: true, configurable: true, writable: true });
  }
  return merged;
}

function readLayer(name: string, path: string, readFile: ReadFile, faults: string[]): Plain {
  let content: string;
  try {
    content = readFile(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    faults.push(`${name}: the file ${path} cannot be read${code}: name an existing JSON file`);
    return {};
  }
  try {
    const parsed: unknown = JSON.parse(content);
    if (isPlain(parsed)) {
      delete parsed.$schema;
      return parsed;
    }
    faults.push(`${name}: the file ${path} holds no JSON object: write { … } around the sections`);
  } catch {
    // The parser's own message quotes the text, which may hold a secret.
    const found = parseJson(content);
    const where = found.kind === 'malformed' ? found.text : 'look for a missing comma, quote or bracket';
    faults.push(`${name}: the file ${path} is not valid JSON: ${where}`);
  }
  return {};
}

function environmentLayer(environment: Environment): Plain {
  const layer: Plain = {};
  for (const [name, { path, read }] of Object.entries(variables)) {
    const value = environment[name];
    if (value === undefined || value === '') continue;
    const [head = '', leaf] = path.split('.');
    const given = read === undefined ? value : read(value);
    if (leaf === undefined) layer[head] = given;
    else layer[head] = { ...(layer[head] as Plain | undefined), [leaf]: given };
  }
  return layer;
}

function unknownVariables(environment: Environment): string[] {
  const known = [...Object.keys(variables), ...otherVariables];
  return Object.keys(environment)
    .filter((name) => name.startsWith('LANCE_') && !known.includes(name))
    .map((name) => `${name} is not a setting: ${nearestName(name, known)}`);
}

function readLayers(environment: Environment, readFile: ReadFile, faults: string[]): Plain {
  const named = environment.LANCE_CONFIG;
  const base = readLayer('defaults', defaultFile, readFile, faults);
  const file = named === undefined || named === '' ? {} : readLayer('LANCE_CONFIG', named, readFile, faults);
  return mergePlain(mergePlain(base, file), environmentLayer(environment));
}

function contactsOf({ url, whatsapp, telephone, email }: Sections['contacts']): readonly Contact[] {
  const given = { url, whatsapp, telephone, email };
  const kinds = ['url', 'whatsapp', 'telephone', 'email'] as const;
  return kinds.flatMap((kind) => (given[kind] === null ? [] : [Object.freeze({ kind, value: given[kind] })]));
}

function biddingFaults(bidding: BiddingSettings): string[] {
  const faults: string[] = [];
  if (bidding.retryFirstMs > bidding.retryMaxMs) {
    faults.push('bidding.retryFirstMs is above bidding.retryMaxMs: the first pause must not exceed the longest');
  }
  if (bidding.controlPollMs >= bidding.controlMaxAgeMs) {
    faults.push('bidding.controlPollMs must be below bidding.controlMaxAgeMs: bidding would close between two polls');
  }
  if (bidding.skewAllowanceMs >= bidding.windowMs) {
    faults.push('bidding.skewAllowanceMs must be below bidding.windowMs: no bid would ever be in time');
  }
  if (bidding.demandByHour.length !== 24 || !bidding.demandByHour.some((weight) => weight > 0)) {
    faults.push('bidding.demandByHour needs 24 weights, one an hour, and not all of them 0');
  }
  return faults;
}

/** Each address is listened on once. */
function addressFaults(http: Sections['http']): string[] {
  const listeners = [
    { path: 'http.port', host: http.host, port: http.port },
    { path: 'http.webhookPort', host: http.webhookHost ?? http.host, port: http.webhookPort },
    { path: 'http.apiPort', host: http.apiHost ?? http.host, port: http.apiPort },
    { path: 'http.metricsPort', host: http.metricsHost ?? http.host, port: http.metricsPort },
  ].filter(({ port }) => port !== null && port !== 0);
  return listeners.flatMap(({ path, host, port }, index) => {
    const earlier = listeners.slice(0, index).find((other) => other.host === host && other.port === port);
    if (earlier === undefined) return [];
    return [
      `${nameOf(path)} is the address of ${nameOf(earlier.path)}: set another port, or leave it out to serve both there`,
    ];
  });
}

/** What only several settings together can get wrong, of the sections that are right in themselves. */
function crossFaults({ backend, roles, http, service, contacts, bidding, pricing }: Partial<Sections>): string[] {
  const faults: string[] = [];
  if (backend === 'embedded' && roles !== undefined && !(roles.includes('door') && roles.includes('desk'))) {
    faults.push(
      `${nameOf('roles')} names one role: on the embedded backend one process has both; leave it out, or set LANCE_BACKEND to kafka`,
    );
  }
  if (http !== undefined && http.bodiesLimitBytes < http.bodyLimitBytes) {
    faults.push(
      'http.bodiesLimitBytes is below http.bodyLimitBytes: a body of the allowed size would find no room; raise it',
    );
  }
  if (http !== undefined) faults.push(...addressFaults(http));
  if (contacts !== undefined) {
    faults.push(
      ...checkContacts(contactsOf(contacts)).map(
        (problem) => `${nameOf('contacts.url')} and the other contacts: ${problem}`,
      ),
    );
  }
  if (bidding !== undefined) faults.push(...biddingFaults(bidding));
  if (bidding !== undefined && service !== undefined && bidding.sendLimit > service.connections) {
    faults.push('bidding.sendLimit is above service.connections: a bid would wait for a connection; raise the latter');
  }
  if (pricing !== undefined && iofShare(pricing.iof.dayCap, pricing.iof) >= 1) {
    faults.push('pricing.iof takes the whole loan: daily × dayCap + additional must be below 1');
  }
  const quantiles = pricing?.winCurve.prior.quantiles ?? [];
  const ascending = quantiles.every((quantile, index) => {
    const before = quantiles[index - 1];
    return before === undefined || (quantile.share > before.share && quantile.rateHundredths >= before.rateHundredths);
  });
  if (!ascending) faults.push('pricing.winCurve.prior.quantiles must ascend: sort them by share, rates never falling');
  return faults;
}

/** JSON with sorted keys and no spaces: equal settings give equal text. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isPlain(value)) return JSON.stringify(value);
  const entries = Object.keys(value).sort();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

function configOf(read: Sections, store: StorePlace): Config {
  const { bidding, economics, pricing, service } = read;
  const contacts = Object.freeze(contactsOf(read.contacts));
  const content = canonical({ bidding, contacts, economics, pricing });
  const tokenCommand = service.tokenCommand === null ? null : Object.freeze(splitCommand(service.tokenCommand));
  return Object.freeze({
    store,
    roles: read.roles,
    rulesDir: read.rulesDir ?? defaultRulesDir,
    rules: read.rules,
    mappingFile: read.mappingFile,
    http: read.http,
    service: Object.freeze({ ...service, tokenCommand }),
    contacts,
    bidding,
    economics,
    pricing,
    flows: read.flows,
    api: read.api,
    pseudonymKey: read.pseudonymKey,
    audit: read.audit,
    settings: Object.freeze({ hash: createHash('sha256').update(content).digest('hex'), content }),
  });
}

/** Reads the settings of `wanted` out of the layers. Every fault of every setting goes to `faults`. */
function readSettings<T extends z.ZodRawShape>(wanted: T, layers: Plain, faults: string[]): Partial<Read<T>> {
  const read: Plain = {};
  for (const [key, schema] of Object.entries(wanted)) {
    const result = readSetting(schema as z.ZodType, Object.hasOwn(layers, key) ? layers[key] : undefined);
    if (result.kind === 'value') read[key] = result.value;
    else faults.push(...result.faults.map(({ at, text }) => `${nameOf(`${key}${at}`)} ${text}`));
  }
  // Each was read with the schema of its own type.
  return read as Partial<Read<T>>;
}

/** Null when the place cannot be told; sections that could not be read have told why already. */
function placeOf({ backend, dataDir, kafka, redis }: Partial<PlaceSections>, faults: string[]): StorePlace | null {
  if (backend === undefined || dataDir === undefined || kafka === undefined || redis === undefined) return null;
  return storePlaceOf({ backend, dataDir, kafka, redis }, nameOf, faults);
}

/** Reads everything that a running desk needs. Callers print `faults` one a line and exit 78. */
export function readConfig(environment: Environment, readFile: ReadFile): ConfigResult {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, faults);
  faults.push(...unknownVariables(environment));
  const known = Object.keys(sections);
  for (const key of Object.keys(layers)) {
    if (!known.includes(key)) faults.push(`${key} is not a section of the settings: ${nearestName(key, known)}`);
  }
  const read = readSettings(sections, layers, faults);
  // Judged before reading, so that another fault of the section does not hide it.
  const { accessToken, tokenCommand } = isPlain(layers.service) ? layers.service : {};
  if (!accessToken && !tokenCommand) {
    faults.push('LANCE_ACCESS_TOKEN is missing: set it, or set LANCE_TOKEN_COMMAND to a program that prints a token');
  }
  faults.push(...crossFaults(read));
  const store = placeOf(read, faults);
  // Without a fault every section was read.
  if (faults.length > 0 || store === null) return { kind: 'refused', faults };
  return { kind: 'config', config: configOf(read as Sections, store) };
}

/** Reads only where the data is, for commands that look at it or stop the desk. */
export function readPlace(environment: Environment, readFile: ReadFile): PlaceResult {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, faults);
  const { backend, dataDir, kafka, redis, rulesDir, rules, audit } = sections;
  const wanted = { backend, dataDir, kafka, redis, rulesDir, rules, audit };
  const read = readSettings({ ...wanted, pseudonymKey: optional(sections.pseudonymKey) }, layers, faults);
  const store = placeOf(read, faults);
  if (faults.length > 0 || store === null) return { kind: 'refused', faults };
  const { rulesDir: folder, rules: own, audit: anchors, pseudonymKey } = read as Required<typeof read>;
  const place = { store, rulesDir: folder ?? defaultRulesDir, rules: own, audit: anchors, pseudonymKey };
  return { kind: 'place', place: Object.freeze(place) };
}

/** What a command needs that writes beside a desk what the door and the API write. */
export type Writing = Read<typeof writing> & {
  /** Of the roots of loans; null: this environment does not say. */
  addresses: { fgts: boolean; proposal: boolean } | null;
};

const writing = {
  pseudonymKey: sections.pseudonymKey,
  flows: sections.flows,
  pricing: sections.pricing,
  api: sections.api,
  http: httpOfCommands,
};

/** Reads only what a command needs that writes beside a desk: neither the service's address nor any token. */
export function readWriting(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'writing'; writing: Writing } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, faults);
  const read = readSettings(writing, layers, faults);
  faults.push(...crossFaults(read.pricing === undefined ? {} : { pricing: read.pricing }));
  if (faults.length > 0) return { kind: 'refused', faults };
  return { kind: 'writing', writing: { ...(read as Omit<Writing, 'addresses'>), addresses: addressesIn(layers) } };
}

/** Whoever names the service's address has the desk's environment; of another one nothing is known. */
function addressesIn({ service }: Plain): Writing['addresses'] {
  if (!isPlain(service) || !service.baseUrl) return null;
  return { fgts: Boolean(service.fgtsUrl), proposal: Boolean(service.proposalUrl) };
}

/** Reads only how rates are priced, for commands that need no desk. Throws nothing: faults are listed. */
export function readPricing(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'pricing'; pricing: Sections['pricing'] } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, faults);
  const read = readSettings({ pricing: sections.pricing }, layers, faults);
  faults.push(...crossFaults(read));
  const { pricing } = read;
  return pricing === undefined || faults.length > 0 ? { kind: 'refused', faults } : { kind: 'pricing', pricing };
}

/** Reads only which file maps the webhook of new requests; null: that of the package. Throws nothing: faults are listed. */
export function readMappingFile(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'file'; mappingFile: string | null } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, faults);
  const { mappingFile = null } = readSettings({ mappingFile: sections.mappingFile }, layers, faults);
  return faults.length > 0 ? { kind: 'refused', faults } : { kind: 'file', mappingFile };
}

/** What decisions depend on beside the rules. */
export type Model = Pick<Config, 'bidding' | 'economics' | 'pricing' | 'settings'>;

/** Reads only what decisions depend on, for commands that decide recorded requests again. */
export function readModel(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'model'; model: Model } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, faults);
  const { bidding, economics, pricing } = sections;
  const read = readSettings({ bidding, economics, pricing }, layers, faults);
  faults.push(...crossFaults(read));
  if (faults.length > 0) return { kind: 'refused', faults };
  const found = read as Required<typeof read>;
  const content = canonical(found);
  const hash = createHash('sha256').update(content).digest('hex');
  return { kind: 'model', model: { ...found, settings: { hash, content } } };
}
