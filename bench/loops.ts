/** The loops that are compared, and how they are started on the embedded backend; what they leave on disk. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type LoopProcess, sourceOf, startProcess } from './processes.ts';
import { environmentOf, webhookToken } from './workload.ts';

/** `told`: a winner event as it came, before it is given to its request. */
const recordKinds = [
  'requested',
  'claimed',
  'passed',
  'answered',
  'ended',
  'told',
  'contemplated',
  'proposed',
] as const;
export type RecordKind = (typeof recordKinds)[number];
/** Request ids by kind of record, and the mean length of a record of the kind in characters or bytes, as it is stored. */
export type Kept = Record<RecordKind, { requestIds: string[]; length: number }>;
export type RecordLengths = Record<RecordKind, number>;

export type Loop = {
  name: 'ours' | 'bare' | 'prototype' | 'other';
  /** Where webhooks go, in turns. */
  origins: readonly string[];
  path: string;
  /** Microseconds of CPU used so far, all threads; null where the system does not tell. */
  cpuUs: () => number | null;
  /** Memory that the process holds; null where the system does not tell. */
  rssBytes: () => number | null;
  /** What is in the log right now. */
  kept: () => Promise<Kept>;
  /** Records of auctions that ended and of wins that the log has so far; null: nobody counts them, and only lives up to the answer are played. */
  settled: (() => number) | null;
  /** Of the files that it keeps; null where servers keep them. */
  diskBytes: () => number | null;
  stop: () => Promise<void>;
};

export const webhookPath = `/webhooks/${webhookToken}`;

export function originOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** Sums records as they are read; `done` gives the mean lengths. */
export function createKept(): { add: (kind: RecordKind, requestId: string, length: number) => void; done: () => Kept } {
  const empty = recordKinds.map((kind) => [kind, { requestIds: [], length: 0 }]);
  const kept = Object.fromEntries(empty) as Kept;
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
  return Object.fromEntries(recordKinds.map((kind) => [kind, kept[kind].length])) as RecordLengths;
}

/** `told`: the table of winner events as they came, where they have one of their own. */
async function readKept(path: string, tables: { records: string; told: string | null }): Promise<Kept> {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
  const kept = createKept();
  const { records, told } = tables;
  const parts = [`SELECT key, value ->> '$.kind' AS kind, length(value) AS length FROM ${records}`];
  if (told !== null) parts.push(`SELECT key, 'told' AS kind, length(value) AS length FROM ${told}`);
  const rows = database.prepare(parts.join(' UNION ALL ')).iterate();
  for (const { kind, key, length } of rows as Iterable<{ key: string; kind: RecordKind; length: number }>) {
    kept.add(kind, key, length);
  }
  database.close();
  return kept.done();
}

/** Counts on from where it was asked last: each record is looked at once. */
function settledIn(path: string, table: string): { count: () => number; close: () => void } {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
  // The kind is among the first characters of a record, whose text can be long.
  const isOf = (kind: string): string => `instr(substr(value, 1, 60), '"kind":"${kind}"') > 0`;
  const select = database.prepare(
    `SELECT max(offset) AS last, sum(${['ended', 'contemplated', 'proposed'].map(isOf).join(' OR ')}) AS settled
     FROM ${table} WHERE offset > ?`,
  );
  let last = -1;
  let settled = 0;
  return {
    count: () => {
      const found = select.get(last) as { last: number | null; settled: number | null };
      last = found.last ?? last;
      settled += found.settled ?? 0;
      return settled;
    },
    close: () => {
      if (database.isOpen) database.close();
    },
  };
}

/** Of a database and what stands beside it. */
function bytesOf(path: string): number {
  return ['', '-wal'].reduce(
    (sum, suffix) => sum + (statSync(`${path}${suffix}`, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** A loop that keeps its records in one file. */
function fileLoop(
  name: Loop['name'],
  { port, cpuUs, rssBytes, stop }: LoopProcess,
  place: { path: string; records: string; told: string | null; webhooks: string },
): Loop {
  const { path, records, webhooks } = place;
  const settled = settledIn(path, records);
  return {
    name,
    origins: [originOf(port)],
    path: webhooks,
    cpuUs,
    rssBytes,
    kept: () => readKept(path, place),
    settled: settled.count,
    diskBytes: () => bytesOf(path),
    stop: async () => {
      settled.close();
      await stop();
    },
  };
}

/** Arguments of Node that run the daemon, under the profiler where `BENCH_PROFILE` names a directory. */
export function daemonArguments(main = sourceOf('../src/main.ts'), preload: string | null = null): string[] {
  const directory = process.env.BENCH_PROFILE;
  const profile = directory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${directory}`];
  const preloaded = preload === null ? [] : ['--import', preload];
  return [...profile, ...preloaded, main, 'run'];
}

/** The program of another version, and the rules that it reads, where `BENCH_MAIN` names its `src/main.ts`. */
export function otherVersion(): { main: string; rulesDir: string | null } | null {
  const main = process.env.BENCH_MAIN;
  return main === undefined ? null : { main, rulesDir: process.env.BENCH_RULES ?? null };
}

export type OursOptions = {
  directory: string;
  /** Keeps one desk apart from the next in the same directory. */
  name?: string;
  rulesDir: string;
  baseUrl: string;
  sendLimit: number;
  /** The program of another version. */
  main?: string;
  /** A module that is loaded before the program. */
  preload?: string;
  /** Beside the limit of bids under way. */
  bidding?: Readonly<Record<string, unknown>>;
  environment?: Readonly<Record<string, string>>;
  /** Takes each line that the daemon says. */
  hear?: (line: string) => void;
};

export function dataDirOf({ directory, name = 'data' }: Pick<OursOptions, 'directory' | 'name'>): string {
  return join(directory, name);
}

export async function startOurs(options: OursOptions): Promise<Loop> {
  const { rulesDir, baseUrl, sendLimit, main, preload, hear } = options;
  const dataDir = dataDirOf(options);
  const settings = `${dataDir}.json`;
  const bidding = { ...options.bidding, sendLimit };
  writeFileSync(settings, JSON.stringify({ bidding, service: { connections: sendLimit } }));
  const places = environmentOf({ dataDir, rulesDir, baseUrl });
  const environment = { LANCE_CONFIG: settings, ...places, ...options.environment };
  const desk = await startProcess(daemonArguments(main, preload), environment, hear);
  const path = join(dataDir, 'lance.sqlite');
  return fileLoop(main === undefined ? 'ours' : 'other', desk, {
    path,
    records: 'auctions',
    told: 'callbacks',
    webhooks: webhookPath,
  });
}

type Beside = { directory: string; baseUrl: string; sendLimit: number };

/** A loop of the benchmark's own, told all that it needs but where its file is. */
async function startBeside(name: 'bare' | 'prototype', { directory, ...given }: Beside): Promise<Loop> {
  const path = join(directory, `${name}.sqlite`);
  const loop = await startProcess([sourceOf(`./${name}-loop.ts`), JSON.stringify({ path, ...given })], {});
  return fileLoop(name, loop, { path, records: 'log', told: null, webhooks: '/' });
}

export const startBare = (options: Beside & { bidShare: number; sizes: RecordLengths }): Promise<Loop> =>
  startBeside('bare', options);

export const startPrototype = (options: Beside & { rulesDir: string }): Promise<Loop> =>
  startBeside('prototype', options);
