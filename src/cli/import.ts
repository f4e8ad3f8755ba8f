/** `lance import`: a desk out of a file into an empty place. The views are made there by the fold, when the desk starts. */
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { refuseOtherKey } from '../bidding/key-check.ts';
import { callbackPartition, type EventLog, type HouseMark, type NewEntry } from '../bidding/ports.ts';
import { detailsByKey, type LinkDetail } from '../domain/request.ts';
import { Fault } from '../errors.ts';
import { wait } from '../operating/living.ts';
import { type DeskFile, type DeskHeader, type FileEntry, fileTopics, openDeskFile, totalOf } from './desk-file.ts';
import { placeText, refuseLiving, signatureOf } from './export.ts';
import { createProgress } from './terminal.ts';
import type { CommandWorld, WholeStore } from './world.ts';

const pageEntries = 500;
const appendAttempts = 20;
const retryMs = 500;
/** The service's own validity of a link detail; older ones are of no use to anybody. */
const marginValidityMs = 86_400_000;

/**
 * `unsigned`: a file that nobody signed is taken, as those of older programs are. `hash`: what `lance export` printed; a file with another one
 * is refused.
 */
export async function importDesk(
  world: CommandWorld,
  path: string,
  { json, unsigned, hash: wanted }: { json: boolean; unsigned: boolean; hash?: string },
): Promise<void> {
  const { format, terminal } = world;
  const { move } = format.texts;
  const checking = createProgress(terminal, move.checking);
  const file = await openDeskFile(path, move, (read, of) => {
    if (!json) checking.show(Math.min(read, of), of, '');
  });
  checking.end();
  await refuseOtherKeyOf(file, world);
  refuseEdited(file, path, world, unsigned);
  if (wanted !== undefined && wanted.toLowerCase() !== file.header.hash) {
    throw new Fault('not-allowed', move.otherHash(path, file.header.hash, format.time(file.header.exportedAt)));
  }
  const { store: place } = world.place();
  const arriving = { kind: 'arriving', file: resolve(path), at: world.clock.now() } as const;
  const store = await world.openWhole(place, { arriving });
  try {
    if (await isArrived(store, file)) {
      await store.house.write(null);
      tellImported(world, path, file.header, { json, isCompared: wanted !== undefined });
      return;
    }
    await refuseFull(world, store, place.backend, arriving);
    await store.house.write(arriving);
    if (place.backend === 'kafka') {
      await refuseLiving(world, store).catch(async (fault: unknown) => {
        await store.house.write(null);
        throw fault;
      });
    }
    await takeIn(world, store, file, json);
    const { hash, source, audit } = file.header;
    // The chains begin anew here: what they were before stands in the first entry of this one.
    for (const origin of audit?.origins ?? []) await store.house.addOrigin(origin);
    const from = `${source.backend} ${source.place}`;
    await store.house.addOrigin({
      kind: 'imported',
      at: world.clock.now(),
      source: from,
      heads: audit?.heads ?? null,
      hash,
    });
    await store.house.write(null);
    tellImported(world, path, file.header, { json, isCompared: wanted !== undefined });
  } finally {
    await store.close();
  }
}

/** `isCompared`: somebody has said which hash the file must have. */
function tellImported(
  world: CommandWorld,
  path: string,
  header: DeskHeader,
  { json, isCompared }: { json: boolean; isCompared: boolean },
): void {
  const { format, terminal } = world;
  const { counts, hash, source, exportedAt } = header;
  const place = placeText(world.place().store);
  const total = totalOf(counts);
  if (json) {
    const told = { file: resolve(path), records: total, counts, exportedAt, source, hash, ...place };
    terminal.write(JSON.stringify(told));
    return;
  }
  const from = `${source.backend} ${source.place}`;
  const when = format.time(exportedAt);
  terminal.write(format.texts.move.imported(format.number(total), from, place.place, { when, hash, isCompared }));
}

/** An import of this very file was killed when all was there, and only its mark was left to be taken away. */
async function isArrived({ house, log, views }: WholeStore, { header }: DeskFile): Promise<boolean> {
  if ((await house.read())?.kind !== 'arriving') return false;
  const last = (await house.origins()).at(-1);
  if (last?.kind !== 'imported' || last.hash !== header.hash) return false;
  for (const topic of fileTopics) {
    let arrived = 0;
    for (const end of (await log.ends(topic)).values()) arrived += end;
    if (arrived < header.counts[topic]) return false;
  }
  return (await views.applied(0)) === 0;
}

/** Throws `export-unreadable` for a file that is not what the export wrote, and `not-allowed` where nobody can tell. */
function refuseEdited({ signed }: DeskFile, path: string, world: CommandWorld, unsigned: boolean): void {
  const { move } = world.format.texts;
  const key = world.pseudonymKey();
  if (signed === null) {
    if (!unsigned) throw new Fault('not-allowed', move.unsigned(path));
    return;
  }
  if (key === null) throw new Fault('not-allowed', move.unchecked(path));
  if (signatureOf(world.createVault(key))(signed.text) !== signed.signature) {
    throw new Fault(
      'export-unreadable',
      move.unreadable(path, 'its first line is not what the export wrote: it was edited'),
    );
  }
}

/**
 * Under another pseudonym key no start would take what came in, and the chains would be signed with it. Where none is given, the next
 * start looks. Reads only.
 */
async function refuseOtherKeyOf(file: DeskFile, world: CommandWorld): Promise<void> {
  const key = world.pseudonymKey();
  if (key === null) return;
  const inputs: FileEntry[] = [];
  for await (const page of file.pages(pageEntries)) {
    // They come first.
    if (page[0]!.topic !== fileTopics[0]) break;
    inputs.push(...page.filter((entry) => entry.topic === 'inputs' && entry.record.kind === 'key-check'));
  }
  const read: EventLog['readKey'] = async (_topic, wanted) => inputs.filter((entry) => entry.key === wanted) as never;
  await refuseOtherKey({ read: async () => [], readKey: read, ends: async () => new Map() }, world.createVault(key));
}

/** `own`: the mark of this import, which a new data directory has already. */
async function refuseFull(
  { format }: CommandWorld,
  store: WholeStore,
  backend: 'embedded' | 'kafka',
  own: HouseMark,
): Promise<void> {
  const full = (what: string) => new Fault('not-allowed', format.texts.move.full[backend](what));
  const mark = await store.house.read();
  if (mark !== null && !isDeepStrictEqual(mark, own)) {
    // What arrived of it cannot be told from records of the desk, so it is not gone on with.
    if (mark.kind === 'arriving') {
      const { file, at } = mark;
      throw new Fault('not-allowed', format.texts.move.brokenOff[backend](file, format.time(at)));
    }
    throw full('house');
  }
  for (const topic of fileTopics) {
    for (const [partition, end] of await store.log.ends(topic)) {
      if (end > 0) throw full(topic);
      const applied = topic === 'callbacks' ? callbackPartition(partition) : partition;
      if ((await store.views.applied(applied)) > 0) throw full('views');
    }
  }
  if (Object.keys((await store.control.read()).caps).length > 0) throw full('caps');
}

async function takeIn(
  world: CommandWorld,
  store: WholeStore,
  { header, pages }: DeskFile,
  json: boolean,
): Promise<void> {
  const { move } = world.format.texts;
  const { counts, control, ruleBook = [] } = header;
  const word = { by: 'lance import', reason: null, at: world.clock.now() };
  // The desk was paused, and stays so until somebody says otherwise.
  await store.control.setPause(control.pause ?? { ...word, reason: 'imported' });
  for (const [name, limitCents] of Object.entries(control.caps)) await store.control.setCap(name, limitCents, word);
  for (const entry of ruleBook) await store.ruleBook.append(entry);
  const progress = createProgress(world.terminal, move.importing);
  const total = totalOf(counts);
  let done = 0;
  let callbacks = 0;
  for await (const page of pages(pageEntries)) {
    for (const part of partsOf(page, counts.callbacksDealtWith - callbacks)) {
      await appendSurely(world, store, part);
      if (part[0]!.topic !== 'callbacks') continue;
      callbacks += part.length;
      await keepMargins(world, store, part);
      if (callbacks === counts.callbacksDealtWith) await markDealtWith(store);
    }
    done += page.length;
    if (!json) progress.show(done, total, page[0]!.topic);
  }
  progress.end();
  await checkArrived(world, store, counts);
}

/** A page of callbacks ends where those do that were dealt with. */
function partsOf(page: FileEntry[], dealtLeft: number): FileEntry[][] {
  if (page[0]!.topic !== 'callbacks' || dealtLeft <= 0 || dealtLeft >= page.length) return [page];
  return [page.slice(0, dealtLeft), page.slice(dealtLeft)];
}

/** What the log refused may have been written all the same; records that come twice are absorbed by the fold. */
async function appendSurely(world: CommandWorld, { log }: WholeStore, entries: readonly FileEntry[]): Promise<void> {
  const fresh = entries.map(({ topic, key, record }) => ({ topic, key, record }) as NewEntry);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await log.append(fresh);
      return;
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable || attempt === appendAttempts) throw fault;
      await wait(world.clock, retryMs);
    }
  }
}

/** The margin cache holds what callbacks told within a day. */
async function keepMargins(
  { clock }: CommandWorld,
  { margins }: WholeStore,
  page: readonly FileEntry[],
): Promise<void> {
  const details: LinkDetail[] = [];
  for (const entry of page) {
    if (entry.topic !== 'callbacks' || entry.record.kind !== 'link-detail') continue;
    if (clock.now() - entry.record.detail.receivedAt < marginValidityMs) details.push(...detailsByKey(entry.record));
  }
  if (details.length > 0) await margins.write(details);
}

/** All callbacks that are in the log now were given to their requests where the desk came from. */
async function markDealtWith({ log, views }: WholeStore): Promise<void> {
  for (const [partition, next] of await log.ends('callbacks')) {
    if (next === 0) continue;
    await views.apply({ partition: callbackPartition(partition), first: 0, next, changes: [] });
  }
}

async function checkArrived(world: CommandWorld, { log }: WholeStore, counts: DeskHeader['counts']): Promise<void> {
  for (const topic of fileTopics) {
    const arrived = [...(await log.ends(topic)).values()].reduce((sum, end) => sum + end, 0);
    if (arrived < counts[topic]) {
      throw new Fault('log-unavailable', world.format.texts.move.missing(topic, arrived, counts[topic]));
    }
  }
}
