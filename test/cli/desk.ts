/** A real desk for the tests of the command line: `lance run` as a child process, the sandbox here, and the commands themselves. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { sandboxSettings } from '../../src/sandbox/settings.ts';
import { runningClock } from '../sandbox/clocks.ts';

export const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
export const webhookToken = 'token-of-the-tests';
export const pseudonymKey = 'a key that only the tests of the command line use';
/** The least that a desk can be set to. */
const leastWindowMs = 1_000;

/** Of a desk whose service does not answer: nothing is sent, whatever the command is. */
export const offlineEnvironment = (dataDir: string) => ({
  LANCE_DATA_DIR: dataDir,
  LANCE_BASE_URL: 'http://127.0.0.1:9',
  LANCE_WEBHOOK_TOKENS: webhookToken,
  LANCE_ACCESS_TOKEN: webhookToken,
  LANCE_CONTACT_URL: 'https://parceiro.example/credito',
  LANCE_PSEUDONYM_KEY: pseudonymKey,
  LANCE_HTTP_PORT: '0',
  LANCE_LANG: 'en',
});

export type Ended = { code: number | null; stdout: string; stderr: string };
export type Environment = Readonly<Record<string, string>>;

/** What a process of the tests takes over from this one: no setting of a desk, and the place of code compiled before. */
export const inheritedEnvironment: Readonly<NodeJS.ProcessEnv> = {
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
};

/** That was free a moment ago: for commands that have to know it. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Runs one command to its end. */
export function lance(environment: Environment, ...words: string[]): Promise<Ended> {
  return lanceWithInput(environment, '', ...words);
}

/** The same, with this at its standard input. */
export async function lanceWithInput(environment: Environment, input: string, ...words: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [mainFile, ...words], { env: { ...inheritedEnvironment, ...environment } });
  // A command that reads nothing of it may have ended before it is written.
  child.stdin.on('error', () => undefined);
  if (input !== '') child.stdin.end(input);
  else if (words.includes('-')) child.stdin.end();
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

/** For each in turn, two at a time: a command keeps one core busy. Answers in the order of what was given. */
export async function twoAtATime<T, R>(items: readonly T[], use: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  const entries = items.entries();
  const worker = async () => {
    for (const [index, item] of entries) answers[index] = await use(item);
  };
  await Promise.all([worker(), worker()]);
  return answers;
}

/** One command in a terminal of that many columns, without its control sequences. Needs `script` of util-linux. */
export async function linesInTerminal(
  environment: Environment,
  columns: number,
  ...words: string[]
): Promise<readonly string[]> {
  const command = [process.execPath, mainFile, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 40; ${command}`, '/dev/null'], {
    env: { ...inheritedEnvironment, SHELL: '/bin/sh', TERM: 'xterm', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await once(child, 'close');
  // A line that is written over counts as it stands at the end.
  const lines = stripVTControlCharacters(said).split('\n');
  return lines.map((line) => line.replace(/\r$/, '').split('\r').at(-1)!);
}

export type LogLine = { msg: string } & Readonly<Record<string, unknown>>;
/** `lines`: what it has logged until now. */
export type Daemon = {
  url: string;
  lines: readonly LogLine[];
  stop: () => Promise<void>;
};

type Signals = { signal: (name: NodeJS.Signals) => void };

export async function startDaemon(environment: Environment): Promise<Daemon & Signals> {
  const child: ChildProcess = spawn(process.execPath, [mainFile, 'run'], {
    env: { ...inheritedEnvironment, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const reader = createInterface({ input: child.stdout! });
  const lines: LogLine[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`lance run ended with ${code}`)));
    reader.on('line', (line) => {
      const entry = JSON.parse(line) as LogLine;
      lines.push(entry);
      if (entry.msg === 'started') resolve(Number(entry.port));
    });
  });
  return {
    url: `http://127.0.0.1:${port}/webhooks/${webhookToken}`,
    lines,
    signal: (name) => void child.kill(name),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

type DeskEnvironment = Environment & { LANCE_DATA_DIR: string };
export type Played = { environment: DeskEnvironment; sandbox: Sandbox; directory: string; close: () => Promise<void> };

/** A sandbox that listens, and an environment that points a desk at it; nothing has run yet. */
export async function openStage(seed: number, windowMs = leastWindowMs, batchIntervalMs = 300): Promise<Played> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-cli-'));
  const settings = sandboxSettings({
    auction: { windowMs, expiryMs: 10 * windowMs },
    pace: { batchRequests: 20, batchIntervalMs },
  });
  const sandbox = createSandbox({ settings, seed, clock: runningClock });
  const { url } = await sandbox.listen(0);
  const config = join(directory, 'config.json');
  const bidding = {
    windowMs,
    skewAllowanceMs: 50,
    resultTimeoutMs: 5_000,
    contemplationTimeoutMs: 20_000,
    marginWaitMs: 300,
  };
  writeFileSync(config, JSON.stringify({ bidding }));
  return {
    sandbox,
    directory,
    environment: {
      LANCE_CONFIG: config,
      LANCE_DATA_DIR: join(directory, 'data'),
      LANCE_HTTP_PORT: '0',
      LANCE_WEBHOOK_TOKENS: webhookToken,
      LANCE_BASE_URL: url,
      LANCE_ACCESS_TOKEN: settings.tokens.accessToken,
      LANCE_CONTACT_URL: 'https://parceiro.example/credito',
      LANCE_PSEUDONYM_KEY: pseudonymKey,
    },
    close: async () => {
      await sandbox.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** One object a line. */
export function jsonLines<T>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
