/** One connection to Redis: answers within a bounded time or fails with a fault; nothing is ever sent twice by itself. */
import { Command, Redis } from 'ioredis';
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
  /** Answers as bytes. */
  runBytes: <R>(script: Script, keys: readonly string[], args: readonly Argument[]) => Promise<R>;
  command: <R>(name: string, ...args: Argument[]) => Promise<R>;
  /** `command` with the answer as bytes. */
  bytes: <R>(name: string, ...args: Argument[]) => Promise<R>;
  /** A command whose `count` arguments after the key are put together already, as the server reads them. */
  bulk: (command: { name: string; key: string; count: number; bulk: Buffer }) => Promise<unknown>;
  close: () => Promise<void>;
};

/** The words of the library where the server gave no answer; some of them name settings of its own. */
const unanswered =
  /^(?:Stream isn't writeable|Reached the max retries per request limit|Connection is closed|Command timed out|Socket timeout|no answer$)/;

/** Nothing of the command goes into the fault: its arguments are people's requests. `host`: which server, without its password. */
function unavailable(cause: unknown, host: string): Fault {
  if (cause instanceof Error && unanswered.test(cause.message))
    return new Fault('views-unavailable', `Redis at ${host} does not answer.`, cause);
  // A script that found a key gone (lua/read.lua); the server says behind it where in the script that was.
  const lost = cause instanceof Error ? /^VIEWSLOST (partition \S+: .*?)(?: script: |$)/.exec(cause.message) : null;
  if (lost !== null) {
    return new Fault(
      'views-behind',
      `The views in Redis lost what was folded (${lost[1]}); the desk folds it again.`,
      cause,
    );
  }
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

/** Views of which the server may drop a part at will are wrong without anybody noticing. */
async function refuseUnfit(client: Redis): Promise<void> {
  const info = await client.info();
  const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const version = Number.parseInt(read('redis_version'), 10);
  if (version < 7) {
    throw new Fault(
      'configuration-invalid',
      `Redis ${read('redis_version')} is too old: version 7 or later is needed.`,
    );
  }
  if (Number(read('maxmemory')) > 0 && read('maxmemory_policy').startsWith('allkeys')) {
    throw new Fault(
      'configuration-invalid',
      `Redis evicts keys of every kind (maxmemory-policy ${read('maxmemory_policy')}): set noeviction or volatile-ttl.`,
    );
  }
}

/**
 * Rejects with `views-unavailable` (try again) when the server does not answer within `connectTimeoutMs`, and with
 * `configuration-invalid` when it is too old or may evict what the views are made of.
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
  const run =
    (evalsha: string, evaluate: string) =>
    <R>(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<R> =>
      guarded(async () => {
        const rest = [keys.length, ...keys, ...args];
        const call = evalsha === 'evalshaBuffer' ? client.callBuffer : client.call;
        try {
          return await call.call(client, 'EVALSHA', script.sha, ...rest);
        } catch (cause) {
          // A server that was started anew knows no script; nothing of it was run.
          if (!(cause instanceof Error) || !cause.message.startsWith('NOSCRIPT')) throw cause;
          return await call.call(client, evaluate, script.source, ...rest);
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
    run: run('evalsha', 'EVAL'),
    runBytes: run('evalshaBuffer', 'EVAL'),
    command: (name, ...args) => guarded(() => client.call(name, ...args)),
    bytes: (name, ...args) => guarded(() => client.callBuffer(name, ...args)),
    bulk: ({ name, key, count, bulk }) =>
      guarded(() => {
        const command = new Command(name, [key], { replyEncoding: 'utf8' });
        const head = `*${count + 2}\r\n$${name.length}\r\n${name}\r\n$${Buffer.byteLength(key)}\r\n${key}\r\n`;
        command.toWritable = () => Buffer.concat([Buffer.from(head), bulk]);
        return client.sendCommand(command) as Promise<unknown>;
      }),
    close: async () => {
      // Answers under way are waited for, as long as any command.
      await guarded(() => client.quit()).catch(() => {});
      client.disconnect();
    },
  };
}
