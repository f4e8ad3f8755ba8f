/** The world of a crash run: what the played service does, how the desk is set, and the rules it obeys. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SandboxSettings, sandboxSettings } from '../../src/sandbox/settings.ts';
import { type StackAddresses, stackEnvironment } from '../stack/stack.ts';
import type { RuleFiles } from './operator.ts';

/** Requests come in small batches, so that the stream is even. */
const batchIntervalMs = 100;

/** Slow answers, a few that never come or lie, webhooks that come twice, late or out of order. */
export function crashSandbox(
  windowMs: number,
  requestsPerSecond: number,
  { delayMinMs, delayMaxMs } = { delayMinMs: 50, delayMaxMs: 200 },
): SandboxSettings {
  const batchRequests = Math.round((requestsPerSecond * batchIntervalMs) / 1_000);
  return sandboxSettings({
    world: { returningShare: 0.15, marginOmittedShare: 0.08 },
    auction: { windowMs, expiryMs: 30_000, proposalErrorShare: 0.01 },
    faults: {
      bids: {
        delayMinMs,
        delayMaxMs,
        throttled: 0.005,
        errorBefore: 0.01,
        errorAfter: 0.02,
        dropAfter: 0.02,
        halfOpen: 0.005,
      },
      queries: { delayMinMs: 5, delayMaxMs: 40, errorBefore: 0.02, dropAfter: 0.02 },
      webhooks: { duplicate: 0.05, reorder: 0.03, late: 0.03, lateMs: 400, missing: 0.01, redeliverMissingMs: 800 },
    },
    deliveries: { connections: 32, timeoutMs: 4_000, retryFirstMs: 50, retryMaxMs: 1_000, giveUpAfterMs: 60_000 },
    pace: { batchRequests, batchIntervalMs, overlapping: true },
  });
}

/** What several machines share: servers, and names in front of everything that is written there. */
export type SharedPlace = StackAddresses & { prefix: string };

const partitions = 4;
/** The least that a broker allows: the shorter, the sooner another takes over. */
const sessionTimeoutMs = 6_000;

function deskSettings(windowMs: number, place: SharedPlace | null) {
  const shared = { topicPrefix: `${place?.prefix}`, groupId: `${place?.prefix}desk`, replication: 1 };
  return {
    ...(place === null
      ? {}
      : {
          kafka: { ...shared, partitions, sessionTimeoutMs },
          redis: { keyPrefix: `{${place.prefix}}:` },
        }),
    service: { connections: 128, headersTimeoutMs: 1_000 },
    bidding: {
      windowMs,
      /** Desk and service share a busy machine; bytes that wait in a socket must not count as late. */
      skewAllowanceMs: 500,
      sendLimit: 128,
      // A hand-over takes a session, and then some seconds.
      resultTimeoutMs: place === null ? 10_000 : 45_000,
      contemplationTimeoutMs: place === null ? 20_000 : 60_000,
      marginWaitMs: 3_000,
      retryMaxMs: 1_000,
      halfLifeMs: 60_000,
    },
  };
}

/** The rules of a run with another amount for its sector. */
export function withSectorCap(files: RuleFiles, capReais: number): RuleFiles {
  return files.map(({ path, text }) => {
    if (!path.endsWith('caps.json')) return { path, text };
    const caps: { rules: CapRule[] } = JSON.parse(text);
    const sector = caps.rules.find(({ event }) => event.params.name === sectorCap);
    if (sector === undefined) throw new Error(`there is no cap ${sectorCap}`);
    sector.event.params.maxAmountReais = capReais;
    return { path, text: JSON.stringify(caps) };
  });
}

/** What may be promised to workers of one sector, for each kill of the run: reached long before its end. */
export const sectorCapReaisPerKill = 15_000;
const sectorCap = 'construction-day';

type CapRule = { name: string; conditions: unknown; event: { params: Record<string, unknown> } };

/**
 * Copies the shipped rules and adds a cap over one sector that binds: lost bids make room under it again and again, and
 * however long the run is, most requests are not under it.
 */
function writeRules(shipped: string, directory: string, capReais: number): void {
  cpSync(shipped, directory, { recursive: true });
  const path = join(directory, 'caps.json');
  const caps: { rules: CapRule[] } = JSON.parse(readFileSync(path, 'utf8'));
  const model = caps.rules.find(({ event }) => event.params.name === 'desk-day');
  if (model === undefined)
    throw new Error('rules/caps.json has no cap desk-day; the crash run makes its own after that');
  caps.rules.push({
    ...model,
    name: 'Construction a day',
    conditions: { all: [{ fact: 'employer.sector', operator: 'equal', value: 'construction' }] },
    event: { ...model.event, params: { ...model.event.params, name: sectorCap, maxAmountReais: capReais } },
  });
  writeFileSync(path, JSON.stringify(caps));
}

export type DeskEnvironment = Readonly<Record<string, string>> & { LANCE_DATA_DIR: string; LANCE_RULES_DIR: string };

/** Writes settings and rules of the desk under `directory`; the environment that a desk needs to run there. */
export function prepareDesk(options: {
  directory: string;
  port: number;
  serviceUrl: string;
  accessToken: string;
  webhookToken: string;
  windowMs: number;
  kills: number;
  /** Null: all in one file under `directory`. */
  place?: SharedPlace | null;
  /** Rules that every program of the run reads; left out: those of this repository. */
  rules?: string;
}): DeskEnvironment {
  const { directory, place = null, rules = fileURLToPath(new URL('../../rules', import.meta.url)) } = options;
  const rulesDir = join(directory, 'rules');
  const configFile = join(directory, 'desk.json');
  writeRules(rules, rulesDir, sectorCapReaisPerKill * options.kills);
  writeFileSync(configFile, JSON.stringify(deskSettings(options.windowMs, place)));
  return {
    ...(place === null ? {} : stackEnvironment(place)),
    LANCE_CONFIG: configFile,
    LANCE_DATA_DIR: join(directory, 'data'),
    LANCE_RULES_DIR: rulesDir,
    LANCE_HTTP_PORT: String(options.port),
    LANCE_WEBHOOK_TOKENS: options.webhookToken,
    LANCE_BASE_URL: options.serviceUrl,
    LANCE_ACCESS_TOKEN: options.accessToken,
    LANCE_CONTACT_URL: 'https://parceiro.example/credito',
    LANCE_PSEUDONYM_KEY: 'a key of the crash run and of nothing else',
    // Half of a start is reading the program; whoever restarts a daemon this often would keep it compiled.
    NODE_COMPILE_CACHE: join(directory, 'compiled'),
  };
}
