/**
 * The views folded once more, beside those of the store, to be compared with them: a file of its own in the directory for temporary
 * files, so that memory stays as small as that of a desk. The store is only read.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { ViewDifference, Views } from '../../bidding/ports.ts';
import { inTransaction, lockDirectory } from '../../state/sqlite.ts';
import { compareTables, viewTables } from '../../state/view-comparison.ts';
import { createViewWriter, type ViewFlush } from '../../state/view-rows.ts';
import { databasePath, openWritable, pathOfDesk } from './database.ts';
import { createSumsWriter, discardViews } from './view-sums.ts';
import { openViews } from './views.ts';

export type ViewScratch = {
  /** Empty at first: whoever compares folds the log into them. */
  views: Views;
  /** From here on the store is read as it is now. Returns how far its views are folded. */
  pin: () => number;
  /** After `pin`, with both folded equally far. In the order of tables and keys; `onRows` hears how many were looked at. */
  compare: (onRows: (count: number) => void) => AsyncIterable<ViewDifference>;
  close: () => Promise<void>;
};

const memoryRows = 4_096;

/** `database` is used by nobody else meanwhile: it is inside a read transaction from `pin` to `close`. */
export function openScratch(database: DatabaseSync): ViewScratch {
  const directory = mkdtempSync(join(tmpdir(), 'lance-views-'));
  const path = databasePath(directory);
  const own = openWritable(path);
  // Worth nothing after a crash.
  own.exec('PRAGMA synchronous = OFF');
  const sums = createSumsWriter(own, 'views', null);
  const write = createViewWriter(own, null, (applied, added) => sums.add(applied, added));
  const store = async (flush: ViewFlush) => {
    inTransaction(own, () => write(flush));
    return 0;
  };
  const { views, flush, close } = openViews(own, store, { memoryRows });
  database.prepare('ATTACH ? AS scratch').run(path);

  async function* compare(onRows: (count: number) => void): AsyncIterable<ViewDifference> {
    await flush();
    yield* compareTables(database, viewTables, onRows);
  }

  return {
    views,
    pin: () => {
      database.exec('BEGIN');
      const row = database.prepare('SELECT next FROM main.applied WHERE partition = 0').get() as
        | { next: number }
        | undefined;
      return row?.next ?? 0;
    },
    compare,
    close: async () => {
      if (database.isTransaction) database.exec('COMMIT');
      database.exec('DETACH scratch');
      await close();
      own.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The next start makes the views of this directory again. Throws `data-directory-in-use` while a daemon runs on it. */
export function giveUpViews(directory: string): void {
  const path = pathOfDesk(directory);
  const lock = lockDirectory(directory, [path]);
  try {
    const database = openWritable(path);
    try {
      inTransaction(database, () => discardViews(database));
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
}
