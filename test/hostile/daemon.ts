/** The real daemon on a data directory of its own, for hostile scenarios: started, asked, stopped. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Exit, mainFile, startDesk, steadyPort } from '../crash/desk-process.ts';

/** Signs the anchors too. */
export const hostileKey = 'a key of the hostile runs and of nothing else';

export const webhookToken = 'webhook-token-of-the-hostile-runs';
export const adminToken = 'admin-token-of-the-hostile-runs';

export type Daemon = {
  pid: number;
  /** What it was started with, for commands beside it. */
  environment: Readonly<Record<string, string>>;
  /** `http://127.0.0.1:PORT` */
  url: string;
  /** Milliseconds until `/readyz` answered 200; null when the process ended before. */
  ready: Promise<number | null>;
  /** All that this and earlier processes of the directory have written. */
  output: () => string;
  exited: Promise<Exit>;
  signal: (name: NodeJS.Signals) => void;
  /** SIGTERM; resolves when the process is gone. */
  stop: () => Promise<Exit>;
};

const running = new Set<Daemon>();

/** Where each process finds the code that the one before it has compiled: most of the time of a start. */
let compiled: Readonly<Record<string, string>> = {};
export function shareCompiledCode(directory: string): void {
  compiled = { NODE_COMPILE_CACHE: directory };
}

/** Kills what a scenario that failed has left running. */
export async function endDaemons(): Promise<void> {
  for (const daemon of running) {
    daemon.signal('SIGKILL');
    await daemon.exited;
  }
}

/**
 * Starts `lance run` with its data under `directory`/data. `environment` is laid over defaults that need no service:
 * nobody listens at the service's address. `command` runs the main file; node unless said otherwise.
 */
export async function startDaemon(options: {
  directory: string;
  environment?: Readonly<Record<string, string>>;
  command?: readonly string[];
}): Promise<Daemon> {
  const { directory, environment = {}, command } = options;
  const port = await steadyPort(Math.random);
  const outputPath = join(directory, 'daemon.log');
  const output = openSync(outputPath, 'a');
  const adminDigest = createHash('sha256').update(adminToken).digest('hex');
  const given = {
    LANCE_DATA_DIR: join(directory, 'data'),
    LANCE_HTTP_PORT: String(port),
    LANCE_WEBHOOK_TOKENS: webhookToken,
    LANCE_API_TOKENS: `root:admin:${adminDigest}`,
    LANCE_BASE_URL: 'http://127.0.0.1:9',
    LANCE_ACCESS_TOKEN: 'not-used',
    LANCE_CONTACT_URL: 'https://parceiro.example/credito',
    LANCE_PSEUDONYM_KEY: hostileKey,
    ...compiled,
    ...environment,
  };
  const child = startDesk({
    environment: given,
    port,
    output,
    ...(command === undefined ? {} : { command }),
  });
  const exited = child.exited.finally(() => {
    closeSync(output);
    running.delete(daemon);
  });
  const daemon: Daemon = {
    pid: child.pid,
    environment: given,
    url: `http://127.0.0.1:${port}`,
    ready: child.ready,
    output: () => readFileSync(outputPath, 'utf8'),
    exited,
    signal: child.signal,
    stop: () => {
      child.signal('SIGTERM');
      return exited;
    },
  };
  running.add(daemon);
  return daemon;
}

/** Runs `lance WORDS` in that environment to its end. */
export function lanceCommand(
  environment: Readonly<Record<string, string>>,
  words: readonly string[],
): Promise<{ code: number; said: string }> {
  const env = { PATH: process.env.PATH ?? '', LANCE_LANG: 'en', ...compiled, ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [mainFile, ...words], { env }, (fault, said, complaint) => {
      resolve({ code: fault === null ? 0 : Number(fault.code), said: said + complaint });
    });
  });
}
