/** The views of an embedded store: one partition, whose caps are whole, over the rows of one file. */
import type { DatabaseSync } from 'node:sqlite';
import { createCapBook } from '../../domain/cap-book.ts';
import { createViewReader, type ViewFlush } from '../../state/view-rows.ts';
import { createViews, type PartitionViews } from '../../state/views.ts';

/** `store` as `createViews` has it. `memoryRows`: see `ViewLimits.rows`; as many may wait to be stored. */
export function openViews(
  database: DatabaseSync,
  store: (flush: ViewFlush) => Promise<number>,
  { memoryRows, flushIntervalMs = 250 }: { memoryRows: number; flushIntervalMs?: number | undefined },
): PartitionViews {
  return createViews({
    partition: 0,
    reader: createViewReader(database),
    store,
    caps: { ...createCapBook(), complete: true },
    limits: {
      rows: memoryRows,
      statistics: 4_096,
      filterBits: 26,
      dirtyRows: memoryRows,
      unstoredRows: memoryRows,
      flushIntervalMs,
    },
  });
}
