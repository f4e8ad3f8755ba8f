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
import { loginCallbackPath } from './domain/identity-provider.ts';
import { isStartOwner } from './domain/roles.ts';
import { iofShare } from './pricing/iof.ts';
import { byteOrderMark, parseJson } from './rules/json.ts';
import type { ConfiguredEndpoints } from './rules/sources.ts';
import { type Contact, checkContacts } from './wire/bid.ts';

/** How people log in; `redirectBase` is an origin, `redirectUri` where the provider sends them back to. */
type LoginSettings = Omit<Sections['oidc'], 'issuer' | 'clientId' | 'redirectBase'> & {
  issuer: string;
  clientId: string;
  redirectBase: string;
  redirectUri: string;
};

export type Config = Omit<
  Sections,
  'backend' | 'dataDir' | 'kafka' | 'redis' | 'rulesDir' | 'service' | 'contacts' | 'oidc' | 'enrichment'
> & {
  store: StorePlace;
  rulesDir: string;
  /** At least one of token and token command is set. */
  service: Omit<Sections['service'], 'tokenCommand'> & { tokenCommand: readonly string[] | null };
  contacts: readonly Contact[];
  /** By name. `token`: read from its file, where one is named. */
  enrichment: Readonly<Record<string, { url: string; token: string | null; sendCpf: boolean; maxConcurrent: number }>>;
  /** Null: people come with tokens alone. */
  oidc: LoginSettings | null;
  /** What decisions depend on, as canonical JSON without secrets, and its SHA-256 in hex: a stored input of every decision. */
  settings: { hash: string; content: string };
};

export type ConfigResult = { kind: 'config'; config: Config } | { kind: 'refused'; faults: readonly string[] };

/** Where the data is: all that reading and stopping need, so that a fault elsewhere never keeps anybody from pausing. */
export type Place = Pick<Config, 'store' | 'rulesDir' | 'rules' | 'audit' | 'flows'> & { pseudonymKey: string | null };
export type PlaceResult = { kind: 'place'; place: Place } | { kind: 'refused'; faults: readonly string[] };

export type Environment = Readonly<Record<string, string | undefined>>;
/** Content of a text file; throws when it cannot be read. */
export type ReadFile = (path: string) => string;

type Plain = Record<string, unknown>;

/** The layers laid over one another, and what of them could not be had. */
type Layers = {
  settings: Plain;
  /** Settings whose file could not be read, by path: that is their one fault. */
  unread: ReadonlySet<string>;
  /** The name that the reader of a fault knows a setting by. */
  nameOf: (path: string) => string;
};

const defaultFile = fileURLToPath(new URL('../config/default.json', import.meta.url));
export const defaultRulesDir = fileURLToPath(new URL('../rules', import.meta.url));

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function numberOf(value: string): unknown {
  return /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
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

/** `value:role`, separated by commas; a value may hold colons. */
function rolesIn(value: string): unknown {
  return (listOf(value) as string[]).map((entry) => {
    const at = entry.lastIndexOf(':');
    return at < 0 ? { value: entry } : { value: entry.slice(0, at), role: entry.slice(at + 1) };
  });
}

type Variable = { path: string; secret?: true; read?: (value: string) => unknown };

/**
 * The environment's names, where each goes, and how its text is read when it is more than text. A secret NAME may stand
 * in the file that NAME_FILE names instead: the environment of a process is shown to more people than a file.
 */
const variables: Readonly<Record<string, Variable>> = {
  LANCE_BACKEND: { path: 'backend' },
  LANCE_ROLES: { path: 'roles', read: listOf },
  LANCE_DATA_DIR: { path: 'dataDir' },
  LANCE_KAFKA_BROKERS: { path: 'kafka.brokers', read: listOf },
  LANCE_KAFKA_PARTITIONS: { path: 'kafka.partitions', read: numberOf },
  LANCE_KAFKA_REPLICATION: { path: 'kafka.replication', read: numberOf },
  LANCE_KAFKA_VIEWS: { path: 'kafka.views' },
  LANCE_QUERY_HOST: { path: 'kafka.queryHost' },
  LANCE_QUERY_PORT: { path: 'kafka.queryPort', read: numberOf },
  LANCE_SCHEMA_REGISTRY_URL: { path: 'kafka.registryUrl' },
  LANCE_REDIS_URL: { path: 'redis.url', secret: true },
  LANCE_RULES_DIR: { path: 'rulesDir' },
  LANCE_MAPPING: { path: 'mappingFile' },
  LANCE_PSEUDONYM_KEY: { path: 'pseudonymKey', secret: true },
  LANCE_AUDIT_ANCHOR: { path: 'audit.anchorFile' },
  LANCE_AUDIT_KEY: { path: 'audit.key', secret: true },
  LANCE_HTTP_HOST: { path: 'http.host' },
  LANCE_HTTP_PORT: { path: 'http.port', read: numberOf },
  LANCE_WEBHOOK_HOST: { path: 'http.webhookHost' },
  LANCE_WEBHOOK_PORT: { path: 'http.webhookPort', read: numberOf },
  LANCE_API_HOST: { path: 'http.apiHost' },
  LANCE_API_PORT: { path: 'http.apiPort', read: numberOf },
  LANCE_METRICS_HOST: { path: 'http.metricsHost' },
  LANCE_METRICS_PORT: { path: 'http.metricsPort', read: numberOf },
  LANCE_TRUSTED_PROXIES: { path: 'http.trustedProxies', read: listOf },
  LANCE_WEBHOOK_TOKENS: { path: 'http.webhookTokens', secret: true, read: listOf },
  LANCE_API_TOKENS: { path: 'api.tokens', secret: true, read: apiTokensIn },
  LANCE_OIDC_ISSUER: { path: 'oidc.issuer' },
  LANCE_OIDC_CLIENT_ID: { path: 'oidc.clientId' },
  LANCE_OIDC_CLIENT_SECRET: { path: 'oidc.clientSecret', secret: true },
  LANCE_OIDC_REDIRECT_BASE: { path: 'oidc.redirectBase' },
  LANCE_OIDC_NAME_CLAIM: { path: 'oidc.nameClaim' },
  LANCE_OIDC_ROLES_CLAIM: { path: 'oidc.rolesClaim' },
  LANCE_OIDC_ROLES: { path: 'oidc.roles', read: rolesIn },
  LANCE_BASE_URL: { path: 'service.baseUrl' },
  LANCE_FGTS_URL: { path: 'service.fgtsUrl' },
  LANCE_PROPOSAL_URL: { path: 'service.proposalUrl' },
  LANCE_ACCESS_TOKEN: { path: 'service.accessToken', secret: true },
  LANCE_TOKEN_COMMAND: { path: 'service.tokenCommand' },
  LANCE_TOKEN_COMMAND_VARIABLES: { path: 'service.tokenCommandVariables', read: listOf },
  LANCE_CONTACT_URL: { path: 'contacts.url' },
};

/** Known, and read elsewhere. */
const otherVariables = ['LANCE_CONFIG', 'LANCE_CRASH_AT', 'LANCE_LANG', 'LANCE_TOKEN', 'LANCE_URL'];

const variableOf = new Map(Object.entries(variables).map(([name, { path }]) => [path, name]));
const secrets = Object.keys(variables).filter((name) => variables[name]?.secret);
const fileVariable = (name: string) => `${name}_FILE`;

function isSet(environment: Environment, name: string): boolean {
  return environment[name] !== undefined && environment[name] !== '';
}

function nameOf(path: string, environment: Environment = {}): string {
  const variable = variableOf.get(path.replace(/\[.*/, ''));
  if (variable === undefined) return path;
  const isFile = secrets.includes(variable) && isSet(environment, fileVariable(variable));
  return `${isFile ? fileVariable(variable) : variable} (${path})`;
}

type GivenSecrets = { files: readonly { name: string; path: string }[]; variables: readonly string[] };

/** Which secrets are given, by the names of their variables: in files, and in the environment itself. */
export function secretsOf(environment: Environment): GivenSecrets {
  return {
    files: secrets
      .map(fileVariable)
      .filter((name) => isSet(environment, name))
      .map((name) => ({ name, path: environment[name]! })),
    variables: secrets.filter((name) => isSet(environment, name)),
  };
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
}

function readLayer(name: string, path: string, readFile: ReadFile, faults: string[]): Plain {
  let content: string;
  try {
    content = readFile(path);
  } catch (error) {
    faults.push(`${name}: the file ${path} cannot be read${codeOf(error)}: name an existing JSON file`);
    return {};
  }
  // Strict: of a key that stands twice nobody knows which value is meant. Its faults quote no value, which may be a secret.
  const found = parseJson(withoutMark(content));
  if (found.kind === 'malformed') {
    const at = found.pointer === '' ? '' : ` (${found.pointer.slice(1).replaceAll('/', '.')})`;
    faults.push(`${name}: the file ${path} is not valid JSON: ${found.text}${at}`);
    return {};
  }
  const { value } = found;
  if (isPlain(value)) {
    const { $schema: _, ...settings } = value;
    return settings;
  }
  faults.push(`${name}: the file ${path} holds no JSON object: write { … } around the sections`);
  return {};
}

function withoutMark(content: string): string {
  return content.startsWith(byteOrderMark) ? content.slice(1) : content;
}

/** The text of a secret's file without the line ends after it; null with what is wrong in `faults`. */
function readSecret(name: string, path: string, readFile: ReadFile, faults: string[]): string | null {
  let content: string;
  try {
    content = readFile(path);
  } catch (error) {
    faults.push(`${name}: the file ${path} cannot be read${codeOf(error)}: name a file that holds the secret`);
    return null;
  }
  let end = content.length;
  while (end > 0 && (content[end - 1] === '\n' || content[end - 1] === '\r')) end -= 1;
  const secret = withoutMark(content.slice(0, end));
  if (secret === '') faults.push(`${name}: the file ${path} is empty: write the secret into it`);
  else if (secret.includes('\ufffd')) {
    faults.push(`${name}: the file ${path} holds bytes that are no text: write the secret as text, such as base64`);
  } else return secret;
  return null;
}

/** What a variable or its file gives; null when neither does, or with the fault in `faults`. */
function givenBy(environment: Environment, name: string, readFile: ReadFile, faults: string[]): string | null {
  const file = fileVariable(name);
  const path = secrets.includes(name) && isSet(environment, file) ? environment[file] : undefined;
  if (path === undefined) return isSet(environment, name) ? environment[name]! : null;
  if (!isSet(environment, name)) return readSecret(file, path, readFile, faults);
  faults.push(`${name} and ${file} are both set: leave one of them out`);
  return null;
}

type IsAsked = (path: string) => boolean;

/** Only of the settings that are asked for: the file of another secret may be out of reach. */
function environmentLayer(
  environment: Environment,
  readFile: ReadFile,
  isAsked: IsAsked,
  faults: string[],
): Pick<Layers, 'settings' | 'unread'> {
  const settings: Plain = {};
  const unread = new Set<string>();
  for (const [name, { path, read }] of Object.entries(variables)) {
    const [head = '', leaf] = path.split('.');
    if (!isAsked(path)) continue;
    const before = faults.length;
    const value = givenBy(environment, name, readFile, faults);
    if (faults.length > before) unread.add(path);
    if (value === null) continue;
    const given = read === undefined ? value : read(value);
    if (leaf === undefined) settings[head] = given;
    else settings[head] = { ...(settings[head] as Plain | undefined), [leaf]: given };
  }
  return { settings, unread };
}

/** What people write first, where the nearest word is another one. */
const usualNames: Readonly<Record<string, string>> = { LANCE_PORT: 'LANCE_HTTP_PORT', LANCE_HOST: 'LANCE_HTTP_HOST' };

function unknownVariables(environment: Environment): string[] {
  const known = [...Object.keys(variables), ...secrets.map(fileVariable), ...otherVariables];
  return Object.keys(environment)
    .filter((name) => name.startsWith('LANCE_') && !known.includes(name))
    .map((name) => `${name} is not a setting: ${nearestName(usualNames[name] ?? name, known)}`);
}

const isOf =
  (wanted: object): IsAsked =>
  (path) =>
    Object.hasOwn(wanted, path.split('.')[0]!);

function readLayers(environment: Environment, readFile: ReadFile, isAsked: IsAsked, faults: string[]): Layers {
  const named = environment.LANCE_CONFIG;
  const base = readLayer('defaults', defaultFile, readFile, faults);
  const file = named === undefined || named === '' ? {} : readLayer('LANCE_CONFIG', named, readFile, faults);
  const { settings, unread } = environmentLayer(environment, readFile, isAsked, faults);
  return {
    settings: mergePlain(mergePlain(base, file), settings),
    unread,
    nameOf: (path) => nameOf(path, environment),
  };
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

/** A token is one caller with one role, and a name is told in records: it says who it was. */
function apiTokenFaults(tokens: Sections['api']['tokens']): string[] {
  return tokens.flatMap(({ name, sha256 }, index) => {
    const earlier = (is: (other: (typeof tokens)[number]) => boolean) => tokens.slice(0, index).findIndex(is);
    const clash = (at: number, what: string, remedy: string) =>
      at < 0 ? [] : [`${nameOf(`api.tokens[${index}]`)} has the same ${what} as api.tokens[${at}]: ${remedy}`];
    return [
      ...(isStartOwner(name)
        ? [
            `${nameOf(`api.tokens[${index}]`)} has the name of the session that the token of a start opens: give it another`,
          ]
        : []),
      ...clash(
        earlier((other) => other.sha256.toLowerCase() === sha256.toLowerCase()),
        'sha256',
        'one token would be two callers; make a token for each, or leave one of the entries out',
      ),
      ...clash(
        earlier((other) => other.name === name),
        'name',
        'records would not tell them apart; give each a name of its own, such as ana-2 while a token is replaced',
      ),
    ];
  });
}

/** Whether programs of this machine alone are there. `host`: an address of version 6 with its brackets, as in a URL, or without. */
export function isThisMachine(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || /^127(?:\.\d+){3}$/.test(host);
}

/** Whether others can hear what is sent there. */
function isOpenTo({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && !isThisMachine(hostname);
}

/** A code or a session that travels without TLS is anybody's, but on the machine itself. */
function loginFaults({ issuer, clientId, clientSecret, redirectBase, roles, scopes }: Sections['oidc']): string[] {
  const faults: string[] = [];
  const missing = (path: string, remedy: string) => faults.push(`${nameOf(path)} is missing: ${remedy}`);
  if (issuer === null) {
    if (clientId !== null || clientSecret !== null || redirectBase !== null)
      missing('oidc.issuer', 'name the OpenID provider, or leave all of oidc out');
    return faults;
  }
  if (clientId === null) missing('oidc.clientId', 'name this desk as the provider knows it');
  if (redirectBase === null)
    missing('oidc.redirectBase', 'set where browsers reach this API, like https://desk.example');
  if (roles.length === 0) missing('oidc.roles', 'say which group has which role, or nobody could log in');
  if (!scopes.includes('openid')) faults.push('oidc.scopes lacks openid: without it the provider names nobody; add it');
  for (const [path, address] of [
    ['oidc.issuer', issuer],
    ['oidc.redirectBase', redirectBase],
  ] as const) {
    if (address !== null && isOpenTo(new URL(address)))
      faults.push(
        `${nameOf(path)} is not encrypted: write https://, or an address of this machine such as http://127.0.0.1`,
      );
  }
  if (redirectBase !== null && new URL(redirectBase).pathname !== '/')
    faults.push(`${nameOf('oidc.redirectBase')} carries a path: write scheme, host and port alone`);
  return faults;
}

function loginOf({ issuer, clientId, redirectBase, ...others }: Sections['oidc']): LoginSettings | null {
  if (issuer === null || clientId === null || redirectBase === null) return null;
  const { origin } = new URL(redirectBase);
  return Object.freeze({ ...others, issuer, clientId, redirectBase: origin, redirectUri: origin + loginCallbackPath });
}

/** Of questions to one external source. */
const usualConcurrent = 32;

/** Each with its token, which may stand in a file. What is sent there travels to others only encrypted. */
function enrichmentOf(given: Sections['enrichment'], readFile: ReadFile, faults: string[]): Config['enrichment'] {
  const read = Object.entries(given).map(([name, { url, token, tokenFile, sendCpf, maxConcurrent }]) => {
    const path = `enrichment.${name}`;
    if (isOpenTo(new URL(url)))
      faults.push(
        `${path}.url is not encrypted: write https://, or an address of this machine such as http://127.0.0.1`,
      );
    if (token !== null && tokenFile !== null)
      faults.push(`${path}.token and ${path}.tokenFile are both set: leave one of them out`);
    const secret = tokenFile === null ? token : readSecret(`${path}.tokenFile`, tokenFile, readFile, faults);
    const own = { url, token: secret, sendCpf: sendCpf === true, maxConcurrent: maxConcurrent ?? usualConcurrent };
    return [name, Object.freeze(own)] as const;
  });
  return Object.freeze(Object.fromEntries(read));
}

/** What only several settings together can get wrong, of the sections that are right in themselves. */
function crossFaults({
  backend,
  dataDir,
  roles,
  http,
  api,
  oidc,
  service,
  contacts,
  bidding,
  pricing,
}: Partial<Sections>): string[] {
  const faults: string[] = [];
  if (api !== undefined) faults.push(...apiTokenFaults(api.tokens));
  if (oidc !== undefined) faults.push(...loginFaults(oidc));
  if (backend === 'embedded' && roles !== undefined && !(roles.includes('door') && roles.includes('desk'))) {
    faults.push(
      `${nameOf('roles')} names one role: on the embedded backend one process has both; leave it out, or set LANCE_BACKEND to kafka`,
    );
  }
  if (backend === 'kafka' && dataDir === null && roles?.includes('desk')) {
    faults.push(
      `${nameOf('dataDir')} is missing: name a directory of this machine, of this process alone, for the files that it folds its partitions into`,
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

function configOf(read: Sections, store: StorePlace, enrichment: Config['enrichment']): Config {
  const { bidding, economics, pricing, service } = read;
  const contacts = Object.freeze(contactsOf(read.contacts));
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
    oidc: loginOf(read.oidc),
    enrichment,
    pseudonymKey: read.pseudonymKey,
    audit: read.audit,
    settings: settingsOf({ bidding, contacts, economics, pricing }),
  });
}

/** What decisions depend on beside the rules, as it is kept with them. */
function settingsOf(read: Pick<Config, 'bidding' | 'contacts' | 'economics' | 'pricing'>): Config['settings'] {
  const content = canonical(read);
  return Object.freeze({ hash: createHash('sha256').update(content).digest('hex'), content });
}

/** Reads the settings of `wanted` out of the layers. Every fault of every setting goes to `faults`. */
function readSettings<T extends z.ZodRawShape>(wanted: T, layers: Layers, faults: string[]): Partial<Read<T>> {
  const { settings, unread } = layers;
  const read: Plain = {};
  for (const [key, schema] of Object.entries(wanted)) {
    const result = readSetting(schema as z.ZodType, Object.hasOwn(settings, key) ? settings[key] : undefined);
    if (result.kind === 'value') {
      read[key] = result.value;
      continue;
    }
    const own = result.faults.filter(({ at }) => !unread.has(`${key}${at}`));
    faults.push(...own.map(({ at, text }) => `${layers.nameOf(`${key}${at}`)} ${text}`));
  }
  // Each was read with the schema of its own type.
  return read as Partial<Read<T>>;
}

/** Null when the place cannot be told; sections that could not be read have told why already. */
function placeOf(read: Partial<PlaceSections>, { unread }: Layers, faults: string[]): StorePlace | null {
  const { backend, dataDir, kafka, redis } = read;
  if (unread.has('redis.url')) return null;
  if (backend === undefined || dataDir === undefined || kafka === undefined || redis === undefined) return null;
  return storePlaceOf({ backend, dataDir, kafka, redis }, nameOf, faults);
}

/** Reads everything that a running desk needs. Callers print `faults` one a line and exit 78. */
export function readConfig(environment: Environment, readFile: ReadFile): ConfigResult {
  const faults: string[] = [];
  const known = Object.keys(sections);
  const layers = readLayers(environment, readFile, () => true, faults);
  faults.push(...unknownVariables(environment));
  for (const key of Object.keys(layers.settings)) {
    if (!known.includes(key)) faults.push(`${key} is not a section of the settings: ${nearestName(key, known)}`);
  }
  const read = readSettings(sections, layers, faults);
  // Judged before reading, so that another fault of the section does not hide it.
  const { accessToken, tokenCommand } = isPlain(layers.settings.service) ? layers.settings.service : {};
  if (!accessToken && !tokenCommand && !layers.unread.has('service.accessToken')) {
    faults.push('LANCE_ACCESS_TOKEN is missing: set it, or set LANCE_TOKEN_COMMAND to a program that prints a token');
  }
  faults.push(...crossFaults(read));
  const enrichment = enrichmentOf(read.enrichment ?? {}, readFile, faults);
  const store = placeOf(read, layers, faults);
  // Without a fault every section was read.
  if (faults.length > 0 || store === null) return { kind: 'refused', faults };
  return { kind: 'config', config: configOf(read as Sections, store, enrichment) };
}

const ofPlace = {
  backend: sections.backend,
  dataDir: sections.dataDir,
  kafka: sections.kafka,
  redis: sections.redis,
  rulesDir: sections.rulesDir,
  rules: sections.rules,
  audit: sections.audit,
  flows: sections.flows,
  pseudonymKey: optional(sections.pseudonymKey),
};

/** Reads only where the data is, for commands that look at it or stop the desk. */
export function readPlace(environment: Environment, readFile: ReadFile): PlaceResult {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, isOf(ofPlace), faults);
  const read = readSettings(ofPlace, layers, faults);
  const store = placeOf(read, layers, faults);
  if (faults.length > 0 || store === null) return { kind: 'refused', faults };
  const { rulesDir: folder, rules: own, audit: anchors, flows, pseudonymKey } = read as Required<typeof read>;
  const place = { store, rulesDir: folder ?? defaultRulesDir, rules: own, audit: anchors, flows, pseudonymKey };
  return { kind: 'place', place: Object.freeze(place) };
}

/** What a command needs that writes beside a desk what the door and the API write. */
export type Writing = Read<typeof ofWriting> & {
  /** Of the roots of loans; null: this environment does not say. */
  addresses: { fgts: boolean; proposal: boolean } | null;
};

const ofWriting = {
  pseudonymKey: sections.pseudonymKey,
  bidding: sections.bidding,
  flows: sections.flows,
  pricing: sections.pricing,
  api: sections.api,
  http: httpOfCommands,
};

const addressPaths = ['service.baseUrl', 'service.fgtsUrl', 'service.proposalUrl'];
/** In sections that are read, but no command needs them. */
const tokenPaths = ['http.webhookTokens', 'api.tokens'];
const isOfWriting: IsAsked = (path) =>
  addressPaths.includes(path) || (isOf(ofWriting)(path) && !tokenPaths.includes(path));

/** Reads only what a command needs that writes beside a desk: neither the service's address nor any token. */
export function readWriting(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'writing'; writing: Writing } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, isOfWriting, faults);
  const read = readSettings(ofWriting, layers, faults);
  faults.push(...crossFaults(read.pricing === undefined ? {} : { pricing: read.pricing }));
  if (faults.length > 0) return { kind: 'refused', faults };
  return {
    kind: 'writing',
    writing: { ...(read as Omit<Writing, 'addresses'>), addresses: addressesIn(layers.settings) },
  };
}

/** The environment is the desk's own only where the service's address is set; otherwise nothing is known of it. */
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
  const { pricing } = sections;
  const layers = readLayers(environment, readFile, isOf({ pricing }), faults);
  const read = readSettings({ pricing }, layers, faults);
  faults.push(...crossFaults(read));
  return read.pricing === undefined || faults.length > 0
    ? { kind: 'refused', faults }
    : { kind: 'pricing', pricing: read.pricing };
}

/** Reads only where a process with this environment listens. Throws nothing: faults are listed. */
export function readListening(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'http'; http: Read<typeof ofListening>['http'] } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const layers = readLayers(environment, readFile, isOfListening, faults);
  const { http } = readSettings(ofListening, layers, faults);
  return http === undefined || faults.length > 0 ? { kind: 'refused', faults } : { kind: 'http', http };
}

const ofListening = { http: httpOfCommands };
const isOfListening: IsAsked = (path) => isOf(ofListening)(path) && !tokenPaths.includes(path);

/** Reads only which file maps the webhook of new requests; null: that of the package. Throws nothing: faults are listed. */
export function readMappingFile(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'file'; mappingFile: string | null } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const wanted = { mappingFile: sections.mappingFile };
  const layers = readLayers(environment, readFile, isOf(wanted), faults);
  const { mappingFile = null } = readSettings(wanted, layers, faults);
  return faults.length > 0 ? { kind: 'refused', faults } : { kind: 'file', mappingFile };
}

/** Reads only which external sources are configured, by name, without their secrets. */
export function readEndpoints(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'endpoints'; endpoints: ConfiguredEndpoints } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const wanted = { enrichment: sections.enrichment };
  const layers = readLayers(environment, readFile, isOf(wanted), faults);
  const { enrichment = {} } = readSettings(wanted, layers, faults);
  if (faults.length > 0) return { kind: 'refused', faults };
  const named = Object.entries(enrichment).map(([name, { sendCpf }]) => [name, { sendCpf: sendCpf === true }] as const);
  return { kind: 'endpoints', endpoints: Object.fromEntries(named) };
}

/** What decisions depend on beside the rules. */
export type Model = Pick<Config, 'bidding' | 'economics' | 'pricing' | 'settings'>;

/** Reads only what decisions depend on, for commands that decide recorded requests again. */
export function readModel(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'model'; model: Model } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const { bidding, economics, pricing } = sections;
  const wanted = { bidding, economics, pricing };
  const layers = readLayers(environment, readFile, isOf(wanted), faults);
  const read = readSettings(wanted, layers, faults);
  faults.push(...crossFaults(read));
  if (faults.length > 0) return { kind: 'refused', faults };
  const found = read as Required<typeof read>;
  const content = canonical(found);
  const hash = createHash('sha256').update(content).digest('hex');
  return { kind: 'model', model: { ...found, settings: { hash, content } } };
}

/** Sections that say what a loan is worth and how a rate is chosen. `source`: their canonical JSON, and its hash. */
export type EconomicsSettings = Pick<Config, 'economics' | 'pricing'> & { hash: string; source: string };

export function economicsOf({ economics, pricing }: Pick<Config, 'economics' | 'pricing'>): EconomicsSettings {
  const source = canonical({ economics, pricing });
  return { economics, pricing, source, hash: createHash('sha256').update(source).digest('hex') };
}

/** The same of a source that was kept; what an earlier version did not know has its default. Null: this version does not take it. */
export function readEconomics(source: string, readFile: ReadFile): EconomicsSettings | null {
  const faults: string[] = [];
  const kept = parseJson(source);
  if (kept.kind === 'malformed' || !isPlain(kept.value)) return null;
  const { economics, pricing } = sections;
  const wanted = { economics, pricing };
  const base = readLayer('defaults', defaultFile, readFile, faults);
  const layers: Layers = { settings: mergePlain(base, kept.value), unread: new Set(), nameOf };
  const read = readSettings(wanted, layers, faults);
  faults.push(...crossFaults(read));
  return faults.length > 0 ? null : economicsOf(read as Required<typeof read>);
}

/** The same configuration with these economics. */
export function withEconomics(config: Config, { economics, pricing }: Pick<Config, 'economics' | 'pricing'>): Config {
  const { bidding, contacts } = config;
  return Object.freeze({
    ...config,
    economics,
    pricing,
    settings: settingsOf({ bidding, contacts, economics, pricing }),
  });
}

/** Reads only the pseudonym key, for commands that open what is sealed in files; null: none is given. */
export function readPseudonymKey(
  environment: Environment,
  readFile: ReadFile,
): { kind: 'key'; key: string | null } | { kind: 'refused'; faults: readonly string[] } {
  const faults: string[] = [];
  const wanted = { pseudonymKey: ofPlace.pseudonymKey };
  const read = readSettings(wanted, readLayers(environment, readFile, isOf(wanted), faults), faults);
  return faults.length > 0 ? { kind: 'refused', faults } : { kind: 'key', key: read.pseudonymKey ?? null };
}
