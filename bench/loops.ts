/** The two processes that are compared: `lance run` as it is shipped, and the bare loop; and what they leave on disk. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { environmentOf, webhookToken } from './workload.ts';

export type RecordKind = 'requested' | 'claimed' | 'passed' | 'answered';
/** Request ids by kind of record, and the mean length of a record of the kind in characters. */
type Kept = Record<RecordKind, { requestIds: string[]; length: number }>;

export type Loop = {
  name: 'ours' | 'bare';
  /** Where webhooks go. */
  origin: string;
  path: string;
  /** Microseconds of CPU used so far, all threads; null where the system does not tell. */
  cpuUs: () => number | null;
  /** What is in the log right now. */
  kept: () => Kept;
  stop: () => Promise<void>;
};

type Child = ChildProcessByStdio<null, Readable, null>;

const sourceOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** One tick of `utime` and `stime`, the same on every Linux of today. */
const tickUs = 10_000;

function cpuUsOf({ pid }: Child): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * tickUs;
  } catch {
    return null;
  }
}

/** Resolves to the port in the first line that has one. */
async function portOf(child: Child): Promise<number> {
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the process ended with ${String(code)} before it listened`);
  });
  const port = new Promise<number>((resolve) => {
    lines.on('line', (line) => {
      const said = JSON.parse(line) as { port?: number };
      if (said.port !== undefined) resolve(said.port);
      else process.stderr.write(`${line}\n`);
    });
  });
  return Promise.race([port, ended]);
}

async function stopOf(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

function readKept(path: string, table: string): Kept {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
  const kept: Kept = {
    requested: { requestIds: [], length: 0 },
    claimed: { requestIds: [], length: 0 },
    passed: { requestIds: [], length: 0 },
    answered: { requestIds: [], length: 0 },
  };
  const rows = database
    .prepare(`SELECT key, value ->> '$.kind' AS kind, length(value) AS length FROM ${table}`)
    .iterate();
  for (const row of rows as Iterable<{ key: string; kind: RecordKind; length: number }>) {
    const own = kept[row.kind];
    own.requestIds.push(row.key);
    own.length += row.length;
  }
  for (const own of Object.values(kept)) own.length = Math.round(own.length / Math.max(1, own.requestIds.length));
  database.close();
  return kept;
}

export async function startOurs(options: {
  directory: string;
  rulesDir: string;
  baseUrl: string;
  sendLimit: number;
}): Promise<Loop> {
  const { directory, rulesDir, baseUrl, sendLimit } = options;
  const dataDir = join(directory, 'data');
  const settings = join(directory, 'settings.json');
  writeFileSync(settings, JSON.stringify({ bidding: { sendLimit }, service: { connections: sendLimit } }));
  const profile =
    process.env.BENCH_PROFILE === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`];
  const child = spawn(process.execPath, [...profile, sourceOf('../src/main.ts'), 'run'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, LANCE_CONFIG: settings, ...environmentOf({ dataDir, rulesDir, baseUrl }) },
  });
  const port = await portOf(child);
  return {
    name: 'ours',
    origin: `http://127.0.0.1:${port}`,
    path: `/webhooks/${webhookToken}`,
    cpuUs: () => cpuUsOf(child),
    kept: () => readKept(join(dataDir, 'lance.sqlite'), 'auctions'),
    stop: () => stopOf(child),
  };
}

export async function startBare(options: {
  directory: string;
  baseUrl: string;
  sendLimit: number;
  bidShare: number;
  sizes: Record<RecordKind, number>;
}): Promise<Loop> {
  const { directory, ...given } = options;
  const path = join(directory, 'bare.sqlite');
  const child = spawn(process.execPath, [sourceOf('./bare-loop.ts'), JSON.stringify({ path, ...given })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await portOf(child);
  return {
    name: 'bare',
    origin: `http://127.0.0.1:${port}`,
    path: '/',
    cpuUs: () => cpuUsOf(child),
    kept: () => readKept(path, 'log'),
    stop: () => stopOf(child),
  };
}
