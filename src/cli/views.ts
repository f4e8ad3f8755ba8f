/** `lance views verify`: folds the log once more and compares what comes of it with the stored views. `rebuild` gives the views up. */
import { createLedger } from '../bidding/ledger.ts';
import type { ViewDifference } from '../bidding/ports.ts';
import { Fault } from '../errors.ts';
import { createProgress, proseText } from './terminal.ts';
import { type CommandWorld, withReader } from './world.ts';

const pageEntries = 1_000;
/** Named one by one; the others are counted. */
const shownDifferences = 20;

/** Resolves to the exit code: 1 where a row differs. */
export async function verifyViews(world: CommandWorld, json: boolean): Promise<number> {
  const { terminal, format } = world;
  const { texts } = format;
  const { bidding } = world.model();
  return withReader(world, async (reader) => {
    if (reader.scratchViews === null) throw new Fault('not-allowed', texts.views.none);
    const folding = createProgress(terminal, texts.views.folding);
    const scratch = reader.scratchViews();
    try {
      const ledger = createLedger(scratch.views, bidding, reader.log);
      let position = 0;
      const foldTo = async (end: number) => {
        while (position < end) {
          const limit = Math.min(pageEntries, end - position);
          const entries = await reader.log.read('auctions', 0, position, limit);
          const last = entries.at(-1);
          if (last === undefined) throw new Fault('records-missing', texts.views.logEnds(position, end));
          await ledger.fold({ partition: 0, first: position, next: last.offset + 1, entries });
          // Nobody acts on open requests here: their rows are read again from the scratch file, so that memory stays small.
          ledger.clear();
          position = last.offset + 1;
          if (!json) folding.show(position, end, '');
        }
      };
      // Most of it while the desk stores on; what came meanwhile once the store stands still for us.
      await foldTo(await reader.views.applied(0));
      const applied = scratch.pin();
      await foldTo(applied);
      if (!json) folding.end();
      if (position > applied) throw new Fault('views-behind', texts.views.beingMade);
      const found: ViewDifference[] = [];
      const counts: Record<string, Record<ViewDifference['what'], number>> = {};
      let rows = 0;
      for await (const difference of scratch.compare((looked) => {
        rows = looked;
      })) {
        const { table, what } = difference;
        counts[table] ??= { changed: 0, missing: 0, extra: 0 };
        counts[table][what] += 1;
        if (found.length < shownDifferences) found.push(difference);
      }
      if (json)
        terminal.write(JSON.stringify({ kind: found.length === 0 ? 'same' : 'differ', applied, rows, counts, found }));
      else if (found.length === 0) terminal.write(proseText(texts.views.same(applied, rows)));
      else {
        for (const [table, { changed, missing, extra }] of Object.entries(counts)) {
          terminal.write(proseText(texts.views.differ(table, changed, missing, extra)));
        }
        for (const difference of found) terminal.write(proseText(`  ${lineOf(world, difference)}`));
        terminal.write(proseText(texts.views.remedy));
      }
      return found.length === 0 ? 0 : 1;
    } finally {
      await scratch.close();
    }
  });
}

function lineOf({ format }: CommandWorld, { table, key, what, columns }: ViewDifference): string {
  const { views } = format.texts;
  const values = columns.map(({ name, stored, folded }) =>
    stored === null ? name : views.value(name, stored, folded ?? ''),
  );
  return `${table} ${key}: ${[views.what[what], ...values].join('; ')}`;
}

export function rebuildViews(world: CommandWorld, json: boolean): void {
  const { store } = world.place();
  const { views } = world.format.texts;
  if (store.backend !== 'embedded') throw new Fault('not-allowed', views.none);
  world.giveUpViews(store.dataDir);
  world.terminal.write(json ? JSON.stringify({ kind: 'given-up' }) : views.givenUp);
}
