/** The two loops that are compared, and how both are started on the embedded backend; what they leave on disk. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sourceOf, startProcess } from './processes.ts';
import { environmentOf, webhookToken } from './workload.ts';

export type RecordKind = 'requested' | 'claimed' | 'passed' | 'answered';
/** Request ids by kind of record, and the mean length of a record of the kind in characters or bytes, as it is stored. */
export type Kept = Record<RecordKind, { requestIds: string[]; length: number }>;
export type RecordLengths = Record<RecordKind, number>;

export type Loop = {
  name: 'ours' | 'bare';
  /** Where webhooks go, in turns. */
  origins: readonly string[];
  path: string;
  /** Microseconds of CPU used so far, all threads; null where the system does not tell. */
  cpuUs: () => number | null;
  /** What is in the log right now. */
  kept: () => Promise<Kept>;
  stop: () => Promise<void>;
};

export const webhookPath = `/webhooks/${webhookToken}`;

export function originOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** Sums records as they are read; `done` gives the mean lengths. */
export function createKept(): { add: (kind: RecordKind, requestId: string, length: number) => void; done: () => Kept } {
  const kept: Kept = {
    requested: { requestIds: [], length: 0 },
    claimed: { requestIds: [], length: 0 },
    passed: { requestIds: [], length: 0 },
    answered: { requestIds: [], length: 0 },
  };
  return {
    add: (kind, requestId, length) => {
      kept[kind].requestIds.push(requestId);
      kept[kind].length += length;
    },
    done: () => {
      for (const own of Object.values(kept)) own.length = Math.round(own.length / Math.max(1, own.requestIds.length));
      return kept;
    },
  };
}

export function lengthsIn(kept: Kept): RecordLengths {
  const { requested, claimed, passed, answered } = kept;
  return {
    requested: requested.length,
    claimed: claimed.length,
    passed: passed.length,
    answered: answered.length,
  };
}

async function readKept(path: string, table: string): Promise<Kept> {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
  const kept = createKept();
  const rows = database
    .prepare(`SELECT key, value ->> '$.kind' AS kind, length(value) AS length FROM ${table}`)
    .iterate();
  for (const { kind, key, length } of rows as Iterable<{ key: string; kind: RecordKind; length: number }>) {
    kept.add(kind, key, length);
  }
  database.close();
  return kept.done();
}

/** Arguments of Node that run the daemon, under the profiler where `BENCH_PROFILE` names a directory. */
export function daemonArguments(): string[] {
  const directory = process.env.BENCH_PROFILE;
  const profile = directory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${directory}`];
  return [...profile, sourceOf('../src/main.ts'), 'run'];
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
  const environment = { LANCE_CONFIG: settings, ...environmentOf({ dataDir, rulesDir, baseUrl }) };
  const { port, cpuUs, stop } = await startProcess(daemonArguments(), environment);
  const kept = () => readKept(join(dataDir, 'lance.sqlite'), 'auctions');
  return { name: 'ours', origins: [originOf(port)], path: webhookPath, cpuUs, kept, stop };
}

export async function startBare(options: {
  directory: string;
  baseUrl: string;
  sendLimit: number;
  bidShare: number;
  sizes: RecordLengths;
}): Promise<Loop> {
  const { directory, ...given } = options;
  const path = join(directory, 'bare.sqlite');
  const { port, cpuUs, stop } = await startProcess(
    [sourceOf('./bare-loop.ts'), JSON.stringify({ path, ...given })],
    {},
  );
  return { name: 'bare', origins: [originOf(port)], path: '/', cpuUs, kept: () => readKept(path, 'log'), stop };
}
