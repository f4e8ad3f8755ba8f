/** A Redis of a test file's own, for what would hurt other suites: emptied, frozen, killed, set back to an older dump. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { steadyPort } from '../../crash/desk-process.ts';
import { createRedis, type RedisPart } from '../../stack/servers.ts';
import { createWatchdog } from '../../stack/watchdog.ts';

export type OwnRedis = RedisPart & {
  url: string;
  /** Starts it again with nothing in it. */
  loseAll: () => Promise<void>;
  /** The process stays and answers nothing. */
  freeze: () => void;
  thaw: () => void;
};

const program = 'redis-server';

async function startRedis(): Promise<OwnRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'lance-redis-'));
  const watchdog = createWatchdog(directory);
  const port = await steadyPort(Math.random);
  const data = join(directory, 'redis');
  const changed = () => watchdog.watch([part.pid()].filter((pid) => pid !== null));
  const part: RedisPart = await createRedis({ directory: data, port, changed });
  await part.start();
  after(async () => {
    await part.stop();
    await watchdog.close();
  });
  return {
    ...part,
    url: `redis://127.0.0.1:${port}`,
    loseAll: async () => {
      await part.kill();
      await rm(join(data, 'dump.rdb'), { force: true });
      await part.start();
    },
    freeze: () => void process.kill(part.pid()!, 'SIGSTOP'),
    thaw: () => void process.kill(part.pid()!, 'SIGCONT'),
  };
}

/** `describe` with a Redis; without one on this machine skipped with a sentence, under CI a failure. Await it. */
export function describeOnRedis(name: string, body: (redis: OwnRedis) => void): Promise<void> {
  return describeOnServers(name, 1, ([redis]) => body(redis!));
}

/** The same with several of them. */
export async function describeOnServers(
  name: string,
  count: number,
  body: (servers: readonly OwnRedis[]) => void,
): Promise<void> {
  if (spawnSync(program, ['--version']).status === 0) {
    const servers: OwnRedis[] = [];
    while (servers.length < count) servers.push(await startRedis());
    describe(name, () => body(servers));
    return;
  }
  const sentence = `${program} is not installed (Debian: redis-server)`;
  if (process.env.CI !== 'true') test(name, { skip: sentence }, () => undefined);
  else {
    test(name, () => {
      throw new Error(sentence);
    });
  }
}
