/**
 * `lance views verify`: folds the log once more and compares what comes of it with the stored views, of a store on Kafka with the state
 * files of this machine. `rebuild` gives the views up; those in state files are folded anew at once.
 */
import { readEarlierTerms } from '../bidding/earlier-terms.ts';
import { createLedger } from '../bidding/ledger.ts';
import type { ViewDifference } from '../bidding/ports.ts';
import { foldTo } from '../command-state.ts';
import { Fault } from '../errors.ts';
import { createProgress, proseText } from './terminal.ts';
import { type CommandWorld, type DeskReader, type StoredViews, withReader } from './world.ts';

/** Named one by one; the others are counted. */
const shownDifferences = 20;

type Difference = ViewDifference & { partition: number };
type Counts = Record<string, Record<ViewDifference['what'], number>>;
type Found = { rows: number; counts: Counts; found: Difference[] };

/** Resolves to the exit code: 1 where a row differs. */
export async function verifyViews(world: CommandWorld, json: boolean): Promise<number> {
  const { terminal, format } = world;
  const { texts } = format;
  const { store } = world.place();
  return withReader(world, async (reader) => {
    const stored = await reader.storedViews();
    if (stored.length === 0) throw new Fault('not-found', texts.views.none);
    const unused = stored.flatMap(({ partition, unused: reason }) => (reason === null ? [] : [{ partition, reason }]));
    const parts = stored.filter((part) => part.unused === null);
    const folding = createProgress(terminal, texts.views.folding);
    const whole: Found = { rows: 0, counts: {}, found: [] };
    let applied = 0;
    let of = 0;
    for (const part of parts) of += await part.applied();
    for (const part of parts) {
      const before = applied;
      const onFolded = (next: number) => {
        if (!json) folding.show(before + next, Math.max(of, before + next), '');
      };
      applied += await verifyPart(world, reader, part, whole, onFolded);
    }
    if (!json) folding.end();
    const { rows, counts, found } = whole;
    const older = parts.filter(({ first }) => first > 0).map(({ partition, first }) => ({ partition, first }));
    const kind = found.length === 0 ? 'same' : 'differ';
    if (json) {
      const partitions = parts.map(({ partition }) => partition);
      terminal.write(JSON.stringify({ kind, applied, rows, counts, found, partitions, unused, older }));
      return found.length === 0 ? 0 : 1;
    }
    const isOnKafka = store.backend === 'kafka';
    for (const { partition, reason } of unused) terminal.write(proseText(texts.views.unused(partition, reason)));
    for (const { partition, first } of older) terminal.write(proseText(texts.views.older(partition, first)));
    if (found.length === 0) terminal.write(proseText(texts.views.same(applied, rows)));
    else {
      for (const [table, { changed, missing, extra }] of Object.entries(counts)) {
        terminal.write(proseText(texts.views.differ(table, changed, missing, extra)));
      }
      for (const difference of found) {
        const where = isOnKafka ? `auctions-${difference.partition} ` : '';
        terminal.write(proseText(`  ${where}${lineOf(world, difference)}`));
      }
      terminal.write(proseText(texts.views.remedy));
    }
    return found.length === 0 ? 0 : 1;
  });
}

/** Resolves to how many records were folded. */
async function verifyPart(
  world: CommandWorld,
  { log }: DeskReader,
  { partition, first, ...part }: StoredViews,
  whole: Found,
  onFolded: (next: number) => void,
): Promise<number> {
  const { views: texts } = world.format.texts;
  const scratch = await part.scratch();
  try {
    const ledger = createLedger(scratch.views, (await readEarlierTerms(log)) ?? world.model().bidding, log);
    const ends = (await log.ends('auctions')).get(partition) ?? 0;
    let position = 0;
    const to = async (end: number) => {
      if (end > ends && end > ((await log.ends('auctions')).get(partition) ?? 0))
        throw new Fault('records-missing', texts.logEnds(ends, end));
      // Nobody acts on open requests here: their rows are read again from the scratch file, so that memory stays small.
      await foldTo({ log, topic: 'auctions', partition }, ledger, { from: position, end, onFolded });
      position = Math.max(position, end);
    };
    // Most of it while the desk stores on; what came meanwhile once the store stands still for us.
    await to(await part.applied());
    const applied = scratch.pin();
    await to(applied);
    if (position > applied) throw new Fault('views-behind', texts.beingMade);
    let looked = 0;
    for await (const difference of scratch.compare((rows) => {
      looked = rows;
    })) {
      const { table, what } = difference;
      whole.counts[table] ??= { changed: 0, missing: 0, extra: 0 };
      whole.counts[table][what] += 1;
      if (whole.found.length < shownDifferences) whole.found.push({ ...difference, partition });
    }
    whole.rows += looked;
    return applied - Math.min(first, applied);
  } finally {
    await scratch.close();
  }
}

function lineOf({ format }: CommandWorld, { table, key, what, columns }: ViewDifference): string {
  const { views } = format.texts;
  const values = columns.map(({ name, stored, folded }) =>
    stored === null ? name : views.value(name, stored, folded ?? ''),
  );
  return `${table} ${key}: ${[views.what[what], ...values].join('; ')}`;
}

export async function rebuildViews(world: CommandWorld, json: boolean): Promise<void> {
  const { store } = world.place();
  const { terminal } = world;
  const { views } = world.format.texts;
  if (store.backend === 'embedded') {
    world.giveUpViews(store.dataDir);
    terminal.write(json ? JSON.stringify({ kind: 'given-up' }) : views.givenUp);
    return;
  }
  const folding = createProgress(terminal, views.folding);
  const { partitions, records } = await world.refoldViews(store, (done, of) => {
    if (!json) folding.show(done, of, '');
  });
  if (!json) folding.end();
  if (partitions.length === 0) throw new Fault('not-found', views.none);
  terminal.write(
    json
      ? JSON.stringify({ kind: 'rebuilt', partitions, records })
      : proseText(views.rebuilt(partitions.length, records)),
  );
}
