/** What a dead desk left behind, read from its file and from nothing else: a fold of the log, and how far the views got. */
import { existsSync } from 'node:fs';
import { databasePath, openReadOnly } from '../../src/adapters/embedded/database.ts';
import { createLogReader } from '../../src/adapters/embedded/log-rows.ts';
import type { BiddingSettings } from '../../src/config/sections.ts';
import { createViewReader } from '../../src/state/view-rows.ts';
import { createTally, type Phases } from './tally.ts';

export type Found = {
  /** Requests by where the log leaves them. `claimed`: the bid may be on its way, no answer is known. */
  phases: Phases;
  /** Records of the log, and those of them that the stored views do not hold yet. */
  records: number;
  unfolded: number;
};

const pageRecords = 2_000;

/**
 * Each look opens the file for reading and closes it again: an open handle would keep the shared memory of the
 * write-ahead log alive, and the next desk would have less to recover than after a real crash.
 */
export function createFinder(dataDir: string, settings: BiddingSettings): { look: () => Found } {
  const tally = createTally(settings);
  let records = 0;

  return {
    look: () => {
      const path = databasePath(dataDir);
      if (!existsSync(path)) return { phases: {}, records: 0, unfolded: 0 };
      const database = openReadOnly(path);
      try {
        const log = createLogReader(database);
        for (let page = log.read('auctions', records, pageRecords); page.length > 0; ) {
          for (const { record } of page) tally.fold(record);
          records += page.length;
          page = log.read('auctions', records, pageRecords);
        }
        return { phases: tally.phases(), records, unfolded: records - createViewReader(database).applied(0) };
      } finally {
        database.close();
      }
    },
  };
}
