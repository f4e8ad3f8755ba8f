/** Link queries: authorisation on a worker's first query, answers from the cache or fresh, results by callback. */
import type { Chance, Clock } from '../domain/clock.ts';
import type { AmountCents, EpochMs } from '../domain/glossary.ts';
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';
import { linkDetailPath, linkListPath } from '../wire/link-queries.ts';
import { uuidOf } from './chance.ts';
import { linkDetailCallback, linkListCallback } from './messages.ts';
import type { Worker } from './population.ts';

export type LinkSettings = {
  /** From the query to its callback. */
  callbackMinMs: number;
  callbackMaxMs: number;
  cacheValidityMs: number;
  /** How far a fresh margin may lie from the last one, as a share: salaries and other loans change. */
  marginDrift: number;
  /** Of the workers asked about for the first time: their authorisation has expired. */
  authorisationExpiredShare: number;
};

export const defaultLinks: LinkSettings = {
  callbackMinMs: 20,
  callbackMaxMs: 80,
  cacheValidityMs: 86_400_000,
  marginDrift: 0,
  authorisationExpiredShare: 0,
};

export type LinkQueryResult =
  | { kind: 'acknowledged'; requestCode: string; source: 'cache' | 'processor' }
  | { kind: 'authorisation-missing' }
  | { kind: 'authorisation-expired' }
  | { kind: 'worker-unknown' }
  | { kind: 'invalid'; problems: readonly string[] };

type Cached = { at: EpochMs; marginCents: AmountCents };

export type Links = {
  /** Makes a worker known to the service. */
  learn: (worker: Worker) => void;
  query: (path: typeof linkListPath | typeof linkDetailPath, body: string) => LinkQueryResult;
  worker: (cpf: string) => Worker | null;
  /** What the last detail query about this worker said, and how old that was at its source. */
  lastDetail: (cpf: string) => Cached | null;
};

/** `tell` is called with the callback's body when it is due. */
export function createLinks(options: {
  settings: LinkSettings;
  clock: Clock;
  chance: Chance;
  tell: (callback: { kind: 'link-list' | 'link-detail'; requestCode: string; body: string }) => void;
}): Links {
  const { settings, clock, chance, tell } = options;
  const workers = new Map<string, Worker>();
  const authorised = new Set<string>();
  const expired = new Set<string>();
  const cache = new Map<string, Cached>();

  const read = (key: string, worker: Worker, cachedAsked: boolean) => {
    const found = cache.get(key);
    const now = clock.now();
    if (cachedAsked && found !== undefined && now - found.at <= settings.cacheValidityMs) {
      return { marginCents: found.marginCents, source: 'cache' as const };
    }
    // Nothing in the cache: the data processor is asked all the same.
    const drift = 1 + settings.marginDrift * (2 * chance() - 1);
    const marginCents = Math.max(0, Math.round(worker.marginCents * drift));
    cache.set(key, { at: now, marginCents });
    return { marginCents, source: 'processor' as const };
  };

  const query: Links['query'] = (path, body) => {
    const parsed = readQuery(path, body);
    if (parsed.kind === 'invalid') return parsed;
    const worker = workers.get(parsed.cpf);
    if (worker === undefined) return { kind: 'worker-unknown' };
    const sameLink = parsed.registration === worker.registration && sameEmployer(parsed, worker);
    if (path === linkDetailPath && !sameLink) return { kind: 'worker-unknown' };
    if (!authorised.has(parsed.cpf)) {
      if (parsed.authorisation !== worker.authorisationNumber) return { kind: 'authorisation-missing' };
      const { authorisationExpiredShare: share } = settings;
      if (share > 0 && !expired.has(parsed.cpf) && chance() < share) expired.add(parsed.cpf);
      if (expired.has(parsed.cpf)) return { kind: 'authorisation-expired' };
      authorised.add(parsed.cpf);
    }
    const requestCode = uuidOf(chance);
    const { marginCents, source } = read(`${path} ${parsed.cpf}`, worker, parsed.cached);
    const wait = settings.callbackMinMs + chance() * (settings.callbackMaxMs - settings.callbackMinMs);
    clock.schedule(clock.now() + wait, () => {
      if (path === linkListPath) {
        tell({ kind: 'link-list', requestCode, body: linkListCallback(requestCode, worker) });
      } else {
        tell({
          kind: 'link-detail',
          requestCode,
          body: linkDetailCallback(requestCode, worker, marginCents, clock.now()),
        });
      }
    });
    return { kind: 'acknowledged', requestCode, source };
  };

  return {
    learn: (worker) => void workers.set(worker.cpf, worker),
    query,
    worker: (cpf) => workers.get(cpf) ?? null,
    lastDetail: (cpf) => cache.get(`${linkDetailPath} ${cpf}`) ?? null,
  };
}

function sameEmployer(query: { employerIdType: number; employerId: string }, worker: Worker): boolean {
  return query.employerId === worker.employer.id && query.employerIdType === worker.employer.idType;
}

type Query = {
  kind: 'query';
  cpf: string;
  registration: string;
  employerIdType: number;
  employerId: string;
  cached: boolean;
  authorisation: string | null;
};

function digitsOf(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return isRawNumber(value) ? value.rawJSON : null;
}

function objectOf(value: JsonValue | undefined): JsonObject | null {
  return isJsonObject(value) ? (value as JsonObject) : null;
}

/** Reads a query strictly in the contract's casing and types; every problem at once. */
function readQuery(path: string, body: string): Query | { kind: 'invalid'; problems: readonly string[] } {
  const parsed = parseJson(body);
  if (parsed.kind === 'malformed') return { kind: 'invalid', problems: [parsed.text] };
  if (!isJsonObject(parsed.value)) return { kind: 'invalid', problems: ['the body is not an object'] };
  const query: JsonObject = parsed.value;
  const problems: string[] = [];
  const textOf = (key: string, needed: boolean) => {
    const value = query[key];
    if (typeof value === 'string') return value;
    if (needed) problems.push(`/${key} is missing or no text`);
    return '';
  };
  const detail = path === linkDetailPath;
  const cpf = textOf('cpfTrabalhador', true);
  if (cpf !== '' && !/^\d{11}$/.test(cpf)) problems.push('/cpfTrabalhador is not 11 digits');
  const registration = textOf('matricula', detail);
  const employerId = textOf('numeroInscricaoEmpregador', detail);
  const employerIdType = Number(digitsOf(query.codigoInscricaoEmpregador) ?? 0);
  if (detail && employerIdType !== 1 && employerIdType !== 2)
    problems.push('/codigoInscricaoEmpregador is neither 1 nor 2');
  const cached = query.consultaCacheada ?? false;
  if (typeof cached !== 'boolean') problems.push('/consultaCacheada is not true or false');
  const authorisation = objectOf(query.autorizacao);
  const nsu = authorisation === null ? null : digitsOf(authorisation.nsuAutorizacaoDigital);
  if (authorisation !== null && nsu === null) problems.push('/autorizacao/nsuAutorizacaoDigital is not a number');
  if (problems.length > 0) return { kind: 'invalid', problems };
  return { kind: 'query', cpf, registration, employerIdType, employerId, cached: cached === true, authorisation: nsu };
}
