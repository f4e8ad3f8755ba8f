/** `lance export`: carries a desk into a file and marks the place it leaves, so that it never runs in two. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { deadlineOf } from '../bidding/evolve.ts';
import { unreadableHouse } from '../bidding/house.ts';
import {
  callbackPartition,
  type EventLog,
  endedAt,
  type LogEntry,
  type NewRuleBookEntry,
  type RuleBook,
} from '../bidding/ports.ts';
import { readSpan, type Span } from '../bidding/read-topic.ts';
import type { StorePlace } from '../config/store-place.ts';
import type { Topic, Topics } from '../domain/records.ts';
import type { Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { lifeMs, wait } from '../operating/living.ts';
import {
  createDeskFile,
  type DeskCounts,
  type DeskHeader,
  type FileEntry,
  fileTopics,
  type Sign,
  totalOf,
} from './desk-file.ts';
import { noteOffline } from './offline-reading.ts';
import { createProgress } from './terminal.ts';
import type { CommandWorld, WholeStore } from './world.ts';

const pageEntries = 1_000;
const pollMs = 250;

export function placeText(store: StorePlace): { backend: string; place: string } {
  return { backend: store.backend, place: store.backend === 'embedded' ? store.dataDir : store.kafka.topicPrefix };
}

export async function exportDesk(
  world: CommandWorld,
  path: string,
  { by, json }: { by?: string; json: boolean },
): Promise<void> {
  const { format, terminal } = world;
  const { texts } = format;
  const { store: place } = world.place();
  if (existsSync(path)) throw new Fault('not-allowed', texts.move.fileThere(path));
  // Where no desk has ever been, this says so and makes nothing.
  await (await world.openReader(place)).close();
  const store = await world.openWhole(place, { arriving: null });
  try {
    await refuseRunning(world, store);
    const file = createDeskFile(path, (why) => texts.move.unwritable(path, why));
    await store.house.write({ kind: 'leaving', file: resolve(path), at: world.clock.now() });
    let header: DeskHeader;
    try {
      // A directory is locked by its process: none has this one.
      if (place.backend === 'kafka') await refuseLiving(world, store);
      await refuseUnknown(world, store);
      await noteOffline(world, store, by, { what: 'desk-exported', file: resolve(path) });
      header = await writeDesk(world, store, placeText(place), { file, json });
    } catch (fault) {
      await file.discard();
      await store.house.write(null);
      throw fault;
    }
    await store.house.write({ kind: 'moved', file: resolve(path), at: world.clock.now() });
    const total = totalOf(header.counts);
    const { ruleBook: _, ...told } = header;
    if (json) terminal.write(JSON.stringify({ file: resolve(path), records: total, ...told }));
    else terminal.write(texts.move.exported(path, format.number(total), header.hash, format.time(header.exportedAt)));
  } finally {
    await store.close();
  }
}

/** Takes back the mark of an export. */
export async function undoExport(world: CommandWorld): Promise<void> {
  const { move } = world.format.texts;
  const { store: place } = world.place();
  await (await world.openReader(place)).close();
  const store = await world.openWhole(place, { arriving: null });
  try {
    const mark = await store.house.read();
    if (mark === null) throw new Fault('not-found', move.notMoved);
    if (mark.kind === 'arriving') throw new Fault('not-allowed', move.halfArrived(mark.file));
    await store.house.write(null);
    world.terminal.write(mark.kind === 'unreadable' ? move.unreadableGone : move.undone(mark.file));
  } finally {
    await store.close();
  }
}

async function refuseRunning({ format }: CommandWorld, { house, control }: WholeStore): Promise<void> {
  const { move } = format.texts;
  const mark = await house.read();
  if (mark?.kind === 'unreadable') throw unreadableHouse();
  if (mark?.kind === 'arriving') throw new Fault('not-allowed', move.halfArrived(mark.file));
  if (mark !== null) throw new Fault('not-allowed', move.movedAlready(mark.file));
  if ((await control.read()).pause === null) throw new Fault('not-allowed', move.notPaused);
}

/** Clocks of machines differ, by hours where one is wrong: a process lives when it shows itself anew, whatever time it says. */
export async function refuseLiving({ clock, format }: CommandWorld, { control }: WholeStore): Promise<void> {
  const first = new Map((await control.acknowledged()).map(({ instance, at }) => [instance, at]));
  if ([...first.values()].every((at) => at === endedAt)) return;
  for (const untilMs = clock.monotonicMs() + lifeMs; clock.monotonicMs() < untilMs; ) {
    const shown = (await control.acknowledged()).filter(({ instance, at }) => first.get(instance) !== at);
    if (shown.length > 0) {
      const names = shown.map(({ instance }) => instance).join(', ');
      throw new Fault('not-allowed', format.texts.move.living(names));
    }
    await wait(clock, pollMs);
  }
}

/**
 * What may have been sent and is not known must not be taken up elsewhere while it could still land. A claim without an answer is
 * ended by the desk that wrote it, which knows best, even after its deadline.
 */
async function refuseUnknown(world: CommandWorld, { log, views }: WholeStore): Promise<void> {
  const { move } = world.format.texts;
  const { bidding } = world.model();
  for (const [partition, end] of await log.ends('auctions')) {
    const behind = end - (await views.applied(partition));
    if (behind > 0) throw new Fault('not-allowed', move.behind(behind));
    for (const { state } of (await views.open(partition)).flatMap(({ rows }) => rows)) {
      if (state.phase === 'claimed') throw new Fault('not-allowed', move.claimOpen(state.requestId));
      const leftMs = deadlineOf(state, bidding) - world.clock.now();
      if (state.phase === 'unknown' && leftMs > 0) {
        throw new Fault('not-allowed', move.unknownOpen(state.requestId, Math.ceil(leftMs / 1_000)));
      }
    }
  }
}

/**
 * What a record that cannot be read was about is only mended by reading it again, and its bytes do not move: the file has why it
 * could not be read. What was cancelled, or went on without it, moves.
 */
async function refuseFrozen({ format }: CommandWorld, store: WholeStore, page: readonly FileEntry[]): Promise<void> {
  const keysOf = (topic: Topic) =>
    page.flatMap((entry) =>
      entry.topic === topic && 'kind' in entry.record && entry.record.kind === 'unreadable' ? entry.key : [],
    );
  const [requestIds, flowIds] = [keysOf('auctions'), keysOf('flows')];
  const rows =
    requestIds.length === 0 ? [] : [...(await store.views.read(requestIds)).values()].map(({ state }) => state);
  const flows = flowIds.length === 0 ? [] : [...(await store.flows.read(flowIds)).values()];
  const request = rows.find(({ frozen }) => frozen !== undefined);
  const flow = flows.find(({ frozen }) => frozen !== undefined);
  const { move } = format.texts;
  if (request !== undefined) throw new Fault('not-allowed', move.frozen('bids', request.requestId));
  if (flow !== undefined) throw new Fault('not-allowed', move.frozen(`${flow.flow}s`, flow.flowId));
}

async function writeDesk(
  world: CommandWorld,
  store: WholeStore,
  source: DeskHeader['source'],
  { file, json }: { file: ReturnType<typeof createDeskFile>; json: boolean },
): Promise<DeskHeader> {
  const { move } = world.format.texts;
  const { pause, caps } = await store.control.read();
  const counts: DeskCounts = {
    auctions: 0,
    callbacks: 0,
    'dead-letters': 0,
    inputs: 0,
    flows: 0,
    callbacksDealtWith: 0,
  };
  const spans = new Map<Topic, Span[][]>();
  for (const topic of fileTopics) spans.set(topic, await spansOf(store, topic));
  const offsets = [...spans.values()].flat(2).reduce((sum, { from, end }) => sum + end - from, 0);
  const progress = createProgress(world.terminal, move.exporting);

  async function* pages(): AsyncGenerator<FileEntry[]> {
    for (const [topic, groups] of spans) {
      for (const [index, group] of groups.entries()) {
        for await (const page of mergedPages(store.log, topic, group)) {
          await refuseFrozen(world, store, page);
          counts[topic] += page.length;
          if (topic === 'callbacks' && index === 0) counts.callbacksDealtWith += page.length;
          if (!json) progress.show(Math.min(offsets, totalOf(counts)), offsets, topic);
          yield page;
        }
      }
    }
  }
  const hash = await file.writeBody(pages());
  progress.end();
  for (const [topic, groups] of spans) {
    const ends = await store.log.ends(topic);
    const moved = groups.at(-1)!.some(({ partition, end }) => (ends.get(partition) ?? 0) !== end);
    if (moved) throw new Fault('not-allowed', move.changed(topic));
  }
  if (totalOf(counts) === 0) throw new Fault('not-found', move.nothing);
  const header: DeskHeader = {
    kind: 'lance-desk',
    version: 1,
    exportedAt: world.clock.now(),
    source,
    control: { pause, caps },
    ruleBook: await wholeBook(store.ruleBook),
    audit: { heads: store.chainHeads?.() ?? null, origins: await store.house.origins() },
    counts,
    hash,
  };
  const key = world.pseudonymKey();
  await file.finish(header, key === null ? null : signatureOf(world.createVault(key)));
  return header;
}

/** The file goes through other hands, and what it says of bids that were sent keeps them from being sent again. */
export function signatureOf(vault: Pick<Vault, 'pseudonym'>): Sign {
  return (header) => vault.pseudonym(`desk-file:${header}`);
}

/** With the text of each set, so that the file needs no other. */
async function wholeBook(ruleBook: RuleBook): Promise<NewRuleBookEntry[]> {
  const whole: NewRuleBookEntry[] = [];
  for (const entry of await ruleBook.read()) {
    if (entry.kind === 'proposed') whole.push({ ...entry, source: (await ruleBook.source(entry.hash))! });
    else whole.push(entry);
  }
  return whole;
}

/** What of a topic is written together; of callbacks first those that were dealt with. */
async function spansOf({ log, views }: WholeStore, topic: Topic): Promise<Span[][]> {
  const ends = [...(await log.ends(topic))].map(([partition, end]) => ({ partition, from: 0, end }));
  if (topic !== 'callbacks') return [ends];
  const dealt: Span[] = [];
  const rest: Span[] = [];
  for (const { partition, end } of ends) {
    const next = Math.min(end, await views.applied(callbackPartition(partition)));
    dealt.push({ partition, from: 0, end: next });
    rest.push({ partition, from: next, end });
  }
  return [dealt, rest];
}

/**
 * Each partition in its order; among them the record written earliest comes first, which is as near as anybody knows to the order
 * in which a log of one partition would have them: caps are kept in that order.
 */
async function* mergedPages<T extends Topic>(
  log: Pick<EventLog, 'read'>,
  topic: T,
  spans: readonly Span[],
): AsyncGenerator<FileEntry[]> {
  const readers: { next: LogEntry<Topics[T]>; rest: AsyncGenerator<LogEntry<Topics[T]>> }[] = [];
  for (const span of spans) {
    const rest = readSpan(log, topic, span);
    const first = await rest.next();
    if (first.done !== true) readers.push({ next: first.value, rest });
  }
  let page: FileEntry[] = [];
  while (readers.length > 0) {
    let earliest = readers[0]!;
    for (const reader of readers)
      if (writtenAt(reader.next.record) < writtenAt(earliest.next.record)) earliest = reader;
    const { partition, offset, key, record } = earliest.next;
    page.push({ topic, partition, offset, key, record } as FileEntry);
    if (page.length === pageEntries) {
      yield page;
      page = [];
    }
    const following = await earliest.rest.next();
    if (following.done === true) readers.splice(readers.indexOf(earliest), 1);
    else earliest.next = following.value;
  }
  if (page.length > 0) yield page;
}

function writtenAt(record: object): number {
  return 'at' in record && typeof record.at === 'number' ? record.at : 0;
}
