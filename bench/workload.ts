/** Varied requests of the sandbox's population as webhooks, and the settings and rules they are judged by. */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, type Environment, readConfig } from '../src/config.ts';
import type { Lot } from '../src/sandbox/auction-house.ts';
import { requestsWebhook } from '../src/sandbox/messages.ts';
import { requestAt } from '../src/sandbox/population.ts';
import { defaultWorld, worldOn } from '../src/sandbox/world.ts';
import { type RequestMapping, readRequestMapping } from '../src/wire/mapping-table.ts';

const seed = 'bench';
/** How long the auctions stay open: longer than any run. */
const longWindowMs = 3_600_000;
/** Every request says its margin, so that none waits for a link query. */
const world = { ...defaultWorld, marginOmittedShare: 0 };

export type Webhook = { body: Buffer; requestIds: readonly string[]; lot: Lot };

/** `count` webhooks of `size` requests each, the requests numbered from `first` on. The same arguments give the same bytes. */
export function webhooksOf(
  first: number,
  count: number,
  size: number,
  startsAt: number,
  windowMs = longWindowMs,
): Webhook[] {
  return Array.from({ length: count }, (_, place) => {
    const start = first + place * size;
    const requests = Array.from({ length: size }, (_, index) =>
      requestAt(worldOn(world, startsAt), seed, start + index, 1),
    );
    const endsAt = startsAt + windowMs;
    const lot = { batchId: `bench-${start}`, startsAt, endsAt, expiresAt: endsAt + longWindowMs, requests };
    return { body: Buffer.from(requestsWebhook(lot)), requestIds: requests.map(({ requestId }) => requestId), lot };
  });
}

export const webhookToken = 'bench-webhook-token';

export const pseudonymKey = 'only-for-benchmarks-0123456789abcdef';

/** What `lance run` needs, without the places. */
export function environmentOf(places: { dataDir: string; rulesDir: string; baseUrl: string }): Record<string, string> {
  return {
    LANCE_DATA_DIR: places.dataDir,
    LANCE_RULES_DIR: places.rulesDir,
    LANCE_HTTP_PORT: '0',
    LANCE_WEBHOOK_TOKENS: webhookToken,
    LANCE_BASE_URL: places.baseUrl,
    LANCE_ACCESS_TOKEN: 'bench-access-token',
    LANCE_CONTACT_URL: 'https://parceiro.example/credito',
    LANCE_PSEUDONYM_KEY: pseudonymKey,
  };
}

export function configOf(environment: Environment): Config {
  const result = readConfig(environment, (path) => readFileSync(path, 'utf8'));
  if (result.kind === 'refused') throw new Error(result.faults.join('\n'));
  return result.config;
}

/** How the shipped configuration reads webhooks. */
export function shippedMapping(): RequestMapping {
  const file = new URL('../config/request-mapping.json', import.meta.url);
  const reading = readRequestMapping(JSON.parse(readFileSync(file, 'utf8')));
  if (reading.kind === 'refused') throw new Error(reading.problems.join('\n'));
  return reading.mapping;
}

export const shippedRules = fileURLToPath(new URL('../rules', import.meta.url));

/** A directory of its own with the shipped rules, whose caps have room for all requests of a run: the same rules fire. */
export function roomyRules(from = shippedRules): { directory: string; rulesDir: string } {
  const directory = mkdtempSync(join(tmpdir(), 'lance-bench-'));
  const rulesDir = join(directory, 'rules');
  cpSync(from, rulesDir, { recursive: true });
  const path = join(rulesDir, 'caps.json');
  const file = JSON.parse(readFileSync(path, 'utf8')) as { rules: { event: { params: Record<string, unknown> } }[] };
  for (const { event } of file.rules) {
    const { params } = event;
    params.maxAmountReais = 100_000_000_000;
    if (params.maxCount !== undefined) params.maxCount = 1_000_000;
  }
  writeFileSync(path, JSON.stringify(file));
  return { directory, rulesDir };
}
