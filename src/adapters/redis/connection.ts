/** One connection to Redis: answers within a bounded time or fails with a fault; nothing is ever sent twice by itself. */
import { Redis } from 'ioredis';
import { Fault } from '../../errors.ts';
import type { Script } from './scripts.ts';

export type RedisSettings = {
  /** `redis://[user:password@]host:port/db`, or `rediss:` for TLS. */
  url: string;
  /** Before every key of this desk. Braces keep the keys on one node of a cluster: `{lance}:`. */
  keyPrefix: string;
  /** A command without an answer by then has failed; whether it was carried out is not known. */
  commandTimeoutMs: number;
  connectTimeoutMs: number;
  /** Pause before connecting again, doubled up to the longest. */
  reconnectFirstMs: number;
  reconnectMaxMs: number;
};

export const redisDefaults: Omit<RedisSettings, 'url'> = {
  keyPrefix: '{lance}:',
  commandTimeoutMs: 2_000,
  connectTimeoutMs: 5_000,
  reconnectFirstMs: 50,
  reconnectMaxMs: 1_000,
};

type Argument = string | Buffer;

export type Connection = {
  /** Which server it is, without its password, for people. */
  server: string;
  /** Answers as text. Every method rejects with the fault `views-unavailable`. */
  run: <R>(script: Script, keys: readonly string[], args: readonly Argument[]) => Promise<R>;
  command: <R>(name: string, ...args: Argument[]) => Promise<R>;
  /** `command` with the answer as bytes. */
  bytes: <R>(name: string, ...args: Argument[]) => Promise<R>;
  close: () => Promise<void>;
};

/** The words of the library where the server gave no answer; some of them name settings of its own. */
const unanswered =
  /^(?:Stream isn't writeable|Reached the max retries per request limit|Connection is closed|Command timed out|Socket timeout|no answer$)/;

/** Nothing of the command goes into the fault: its arguments are people's requests. `host`: which server, without its password. */
function unavailable(cause: unknown, host: string): Fault {
  if (cause instanceof Error && unanswered.test(cause.message))
    return new Fault('views-unavailable', `Redis at ${host} does not answer.`, cause);
  const why =
    cause instanceof Error ? (cause.message.split('\n')[0] ?? '').slice(0, 200).replace(/\.+$/, '') : 'no reason given';
  return new Fault('views-unavailable', `Redis at ${host} did not do it: ${why}.`, cause);
}

function open(settings: RedisSettings): Redis {
  return new Redis(settings.url, {
    lazyConnect: true,
    connectionName: 'lance',
    connectTimeout: settings.connectTimeoutMs,
    commandTimeout: settings.commandTimeoutMs,
    // A peer that vanished without a word: the socket is given up and another one made.
    socketTimeout: settings.commandTimeoutMs * 2,
    // A command sent before the connection broke may have been done, and one that waits would be done late: neither is
    // sent by the library. The caller reads where things stand and decides anew.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Autopipelining raised p99 for little throughput.
    enableAutoPipelining: false,
    retryStrategy: (times) =>
      Math.min(settings.reconnectMaxMs, settings.reconnectFirstMs * 2 ** Math.min(times - 1, 10)),
    // After a fail-over the old master answers READONLY: connect anew, do not send again.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 1 : false),
  });
}

function valueIn(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
}

/** The policy by which the server may take away any key, as `INFO memory` says; null: it may not. */
export function evictingPolicy(info: string): string | null {
  const policy = valueIn(info, 'maxmemory_policy');
  return Number(valueIn(info, 'maxmemory')) > 0 && policy.startsWith('allkeys') ? policy : null;
}

/** A cap book of which the server may drop a part at will is wrong without anybody noticing. */
async function refuseUnfit(client: Redis): Promise<void> {
  const info = await client.info();
  const version = valueIn(info, 'redis_version');
  if (Number.parseInt(version, 10) < 7) {
    throw new Fault('configuration-invalid', `Redis ${version} is too old: version 7 or later is needed.`);
  }
  const policy = evictingPolicy(info);
  if (policy !== null) {
    throw new Fault(
      'configuration-invalid',
      `Redis evicts keys of every kind (maxmemory-policy ${policy}): set noeviction or volatile-ttl.`,
    );
  }
}

/**
 * Rejects with `views-unavailable` (try again) when the server does not answer within `connectTimeoutMs`, and with
 * `configuration-invalid` when it is too old or may evict any key.
 */
export async function connect(settings: RedisSettings): Promise<Connection> {
  const client = open(settings);
  const { host } = new URL(settings.url);
  // Each command says itself that it failed.
  client.on('error', () => {});
  const guarded = async <R>(work: () => Promise<unknown>): Promise<R> => {
    try {
      return (await work()) as R;
    } catch (cause) {
      throw cause instanceof Fault ? cause : unavailable(cause, host);
    }
  };
  const run = <R>(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<R> =>
    guarded(async () => {
      const rest = [keys.length, ...keys, ...args];
      try {
        return await client.call('EVALSHA', script.sha, ...rest);
      } catch (cause) {
        // A server that was started anew knows no script; nothing of it was run.
        if (!(cause instanceof Error) || !cause.message.startsWith('NOSCRIPT')) throw cause;
        return await client.call('EVAL', script.source, ...rest);
      }
    });
  const giveUp = new AbortController();
  try {
    await guarded(async () => {
      const late = new Promise<never>((_, reject) => {
        const timer = setTimeout(() => reject(new Error('no answer')), settings.connectTimeoutMs);
        giveUp.signal.addEventListener('abort', () => clearTimeout(timer));
      });
      await Promise.race([client.connect(), late]);
      await refuseUnfit(client);
    });
  } catch (fault) {
    client.disconnect();
    throw fault;
  } finally {
    giveUp.abort();
  }
  return {
    server: `Redis at ${host}`,
    run,
    command: (name, ...args) => guarded(() => client.call(name, ...args)),
    bytes: (name, ...args) => guarded(() => client.callBuffer(name, ...args)),
    close: async () => {
      // Answers under way are waited for, as long as any command.
      await guarded(() => client.quit()).catch(() => {});
      client.disconnect();
    },
  };
}
