/** A desk on the stack: its settings, and Redis emptied below it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, redisDefaults } from '../../src/adapters/redis/connection.ts';
import { type StackAddresses, stackEnvironment } from '../stack/stack.ts';
import type { Played } from './desk.ts';

type Place = StackAddresses & { prefix: string };

export function environmentOnKafka(stage: Played, stack: Place): Record<string, string> {
  const path = join(stage.directory, 'kafka.json');
  const bidding = { windowMs: 1_000, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };
  const kafka = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions: 2, replication: 1 };
  writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
  return { ...stage.environment, LANCE_LANG: 'en', LANCE_CONFIG: path, ...stackEnvironment(stack) };
}

/** Removes all keys of the desk that `isLost` names; returns how many. */
export async function loseKeys(
  { redisUrl, prefix }: Pick<Place, 'redisUrl' | 'prefix'>,
  isLost: (key: string) => boolean = () => true,
): Promise<number> {
  const connection = await connect({ ...redisDefaults, url: redisUrl });
  const keys = (await connection.command<string[]>('KEYS', `{${prefix}}:*`)).filter(isLost);
  if (keys.length > 0) await connection.command('DEL', ...keys);
  await connection.close();
  return keys.length;
}
