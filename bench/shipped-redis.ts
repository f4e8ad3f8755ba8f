/** Redis set as docker-compose.yml ships it, so that benches measure what a user gets. */
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { parse } from 'yaml';

const composeFile = new URL('../docker-compose.yml', import.meta.url);

/** By name as CONFIG SET takes them; what .env decides is a text that begins with `$`. */
export function shippedSettings(): Map<string, string> {
  const compose = parse(readFileSync(composeFile, 'utf8'), { merge: true }) as {
    services: { redis: { command: string[] } };
  };
  const [, ...words] = compose.services.redis.command;
  const settings = new Map<string, string>();
  for (let place = 0; place < words.length; place += 2)
    settings.set(words[place]!.replace(/^--/, ''), words[place + 1]!);
  return settings;
}

export async function setAsShipped(client: Redis): Promise<void> {
  for (const [name, value] of shippedSettings()) {
    if (!value.startsWith('$')) await client.config('SET', name, value);
  }
}
