/** The embedded backend as the suites are handed it. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createLogReader } from '../../src/adapters/embedded/log-rows.ts';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import type { BackendKind, CountingReader } from './backend.ts';

const places: string[] = [];
process.once('exit', () => {
  for (const place of places) rmSync(place, { recursive: true, force: true });
});

const createPlace = async () => {
  const place = mkdtempSync(join(tmpdir(), 'lance-embedded-'));
  places.push(place);
  return place;
};

/** Counts the rows that statements give; one that would go through a whole table counts all of it. */
async function countingReader(directory: string): Promise<CountingReader> {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'), { readOnly: true });
  let count = 0;
  const prepare = (sql: string) => {
    const statement = database.prepare(sql);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`);
    const table = /FROM (\w+)/.exec(sql)![1]!;
    return {
      get: (...values: never[]) => statement.get(...values),
      all: (...values: never[]) => {
        const rows = statement.all(...values);
        const scans = plan.all(...values).some((step) => String(step.detail).startsWith('SCAN'));
        count += scans ? Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()!.n) : rows.length;
        return rows;
      },
    };
  };
  const log = createLogReader({ prepare } as never);
  const taken = () => {
    const now = count;
    count = 0;
    return now;
  };
  return { readKey: async (topic, key) => log.readKey(topic, key), taken, close: async () => database.close() };
}

export const kind: BackendKind = {
  name: 'embedded',
  module: import.meta.url,
  createPlace,
  open: (directory) =>
    openEmbeddedStore({
      directory,
      // Small, so that the suites meet entries and rows that only the disk holds.
      memoryEntries: 1_000,
      memoryRows: 3,
      onFault: (fault) => {
        throw fault;
      },
    }),
  beside: async (directory) => {
    const reader = openEmbeddedReader({ directory });
    return { append: reader.appendBeside, control: reader.control, close: async () => reader.close() };
  },
  counting: countingReader,
  // A process that dies leaves its files as they are; a copy of them is what the next one finds.
  crash: async (directory, backend) => {
    const left = await createPlace();
    for (const file of ['lance.sqlite', 'lance.sqlite-wal']) {
      if (existsSync(join(directory, file))) copyFileSync(join(directory, file), join(left, file));
    }
    await backend.close();
    return left;
  },
  burnViews: async (directory) => {
    const database = new DatabaseSync(join(directory, 'lance.sqlite'));
    for (const table of ['applied', 'ledger', 'bid_index', 'exposure', 'statistics', 'flow_applied']) {
      database.exec(`DELETE FROM ${table}`);
    }
    database.close();
  },
};
