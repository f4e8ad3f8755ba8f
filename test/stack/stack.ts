/** A real Kafka broker, schema registry and Redis on free loopback ports, for as long as somebody needs them. */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { steadyPort } from '../crash/desk-process.ts';
import { findJars } from './cache.ts';
import type { Part } from './part.ts';
import { createBroker, createRedis, createRegistry, type RedisPart } from './servers.ts';
import { createWatchdog } from './watchdog.ts';

const run = promisify(execFile);

/** `brokers`: comma-separated `host:port`. `registryUrl`: the root of Confluent's API. */
export type StackAddresses = { brokers: string; registryUrl: string; redisUrl: string };

/** What makes a desk use these servers. */
export function stackEnvironment({ brokers, registryUrl, redisUrl }: StackAddresses) {
  return {
    LANCE_BACKEND: 'kafka',
    LANCE_KAFKA_BROKERS: brokers,
    LANCE_SCHEMA_REGISTRY_URL: registryUrl,
    LANCE_REDIS_URL: redisUrl,
  };
}

export type RunningStack = StackAddresses & {
  kind: 'running';
  broker: Part;
  registry: Part;
  redis: RedisPart;
  /** Ends the three and removes all they wrote. Nothing that we did not start is touched. */
  stop: () => Promise<void>;
};

/** `sentence` says what is missing on this machine, and the remedy. */
export type Stack = RunningStack | { kind: 'missing'; sentence: string };

/**
 * `tell` takes what a person who waits wants to know. `lastingRegistry`: schemas are kept on the broker and outlive a stop
 * of the registry; it takes some seconds longer. A server that does not come up is missing, in its own words.
 */
export async function startStack(
  options: { tell?: (text: string) => void; lastingRegistry?: boolean } = {},
): Promise<Stack> {
  const sentence = await stackLacks();
  if (sentence !== null) return { kind: 'missing', sentence };
  const jars = await findJars(options.tell ?? (() => undefined));
  if (jars.kind === 'missing') return jars;

  const directory = await mkdtemp(join(tmpdir(), 'lance-stack-'));
  const watchdog = createWatchdog(directory);
  const parts: Part[] = [];
  const changed = (): void => watchdog.watch(parts.map((part) => part.pid()).filter((pid) => pid !== null));
  const stop = async (): Promise<void> => {
    await Promise.all(parts.map((part) => part.stop()));
    await watchdog.close();
  };
  try {
    const [port, controllerPort, registryPort, redisPort] = await freePorts(4);
    const ports = [port!, controllerPort!] as const;
    const broker = await createBroker({ jars: jars.kafka, directory: join(directory, 'broker'), ports, changed });
    const brokers = `127.0.0.1:${port}`;
    const registry = await createRegistry({
      jar: jars.registry,
      directory: join(directory, 'registry'),
      port: registryPort!,
      brokers: options.lastingRegistry ? brokers : null,
      changed,
    });
    const redis = await createRedis({ directory: join(directory, 'redis'), port: redisPort!, changed });
    parts.push(broker, registry.part, redis);
    if (options.lastingRegistry) await broker.start();
    await allStarted(parts.filter((part) => part.pid() === null));
    return {
      kind: 'running',
      brokers,
      registryUrl: registry.url,
      redisUrl: `redis://127.0.0.1:${redisPort}`,
      broker,
      registry: registry.part,
      redis,
      stop,
    };
  } catch (cause) {
    await stop();
    return { kind: 'missing', sentence: cause instanceof Error ? cause.message : String(cause) };
  }
}

/** Waits for all of them even when one fails, so that none is left half started. */
async function allStarted(parts: readonly Part[]): Promise<void> {
  const results = await Promise.allSettled(parts.map((part) => part.start()));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await steadyPort(Math.random));
  return [...ports];
}

/** What this machine lacks to run the servers, with its remedy. */
export async function stackLacks(): Promise<string | null> {
  return (await lacksJava()) ?? (await lacksRedis());
}

const leastJava = 17;

async function lacksJava(): Promise<string | null> {
  const remedy = `the broker and the registry need Java ${leastJava} or later (Debian: default-jre-headless)`;
  const told = await run('java', ['-version']).catch(() => null);
  if (told === null) return `java is not installed: ${remedy}`;
  const version = Number(/version "(\d+)/.exec(told.stderr)?.[1]);
  return version >= leastJava ? null : `java is of version ${version}: ${remedy}`;
}

async function lacksRedis(): Promise<string | null> {
  const told = await run('redis-server', ['--version']).catch(() => null);
  return told === null ? 'redis-server is not installed (Debian: redis-server)' : null;
}
