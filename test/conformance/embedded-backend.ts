/** The embedded backend as the suites are handed it. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import type { BackendKind } from './backend.ts';

const places: string[] = [];
process.once('exit', () => {
  for (const place of places) rmSync(place, { recursive: true, force: true });
});

const createPlace = async () => {
  const place = mkdtempSync(join(tmpdir(), 'lance-embedded-'));
  places.push(place);
  return place;
};

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
  // A process that dies leaves its files as they are; a copy of them is what the next one finds.
  crash: async (directory, backend) => {
    const left = await createPlace();
    for (const file of ['lance.sqlite', 'lance.sqlite-wal', 'views.sqlite', 'views.sqlite-wal']) {
      if (existsSync(join(directory, file))) copyFileSync(join(directory, file), join(left, file));
    }
    await backend.close();
    return left;
  },
  burnViews: async (directory) => {
    const database = new DatabaseSync(join(directory, 'views.sqlite'));
    for (const table of ['applied', 'ledger', 'bid_index', 'exposure', 'statistics']) {
      database.exec(`DELETE FROM ${table}`);
    }
    database.close();
  },
};
