/** A real Redis for the tests: started on a free port of this machine, stopped with the test process that started it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

export type RedisServer = {
  url: string;
  /** A connection of the test's own, for what operators and accidents do. */
  admin: () => Redis;
  /** Ends it at once, as a power cut would. */
  kill: () => Promise<void>;
  /** On the same port again, with what `dump.rdb` in `directory` holds, if anything. */
  start: () => Promise<void>;
  /** The process stays and answers nothing, until it is let go on. */
  freeze: () => void;
  thaw: () => void;
  directory: string;
  stop: () => Promise<void>;
};

/** Why there is no Redis here; null when there is one. With CI=true its absence is a failure. */
export function redisMissing(): string | false {
  if (spawnSync('redis-server', ['--version']).status === 0) return false;
  const missing = 'redis-server is not on the PATH: install it (Debian: redis-server) to run this suite';
  if (process.env['CI'] === 'true') throw new Error(missing);
  return missing;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export async function startRedis(options: readonly string[] = []): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const admins: Redis[] = [];
  let child: ChildProcess | null = null;

  const start = async () => {
    const args = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      directory,
      '--save',
      '',
      '--loglevel',
      'warning',
    ];
    child = spawn('redis-server', [...args, ...options], { stdio: 'ignore' });
    const probe = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    probe.on('error', () => {});
    await probe.ping();
    probe.disconnect();
  };
  const kill = async () => {
    const running = child;
    child = null;
    if (running === null) return;
    const ended = once(running, 'exit');
    running.kill('SIGKILL');
    await ended;
  };
  process.once('exit', () => {
    child?.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  await start();
  return {
    url,
    directory,
    start,
    kill,
    admin: () => {
      const admin = new Redis(url);
      admin.on('error', () => {});
      admins.push(admin);
      return admin;
    },
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    stop: async () => {
      for (const admin of admins) admin.disconnect();
      await kill();
    },
  };
}
