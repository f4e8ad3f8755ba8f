/**
 * A desk as a file: a header, then one record a line. The header is the first line, so that nothing has to be believed before it
 * is checked; what it says of the rest is only known at the end, so the rest is written first and put behind it.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip, gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { ControlState, NewEntry, NewRuleBookEntry } from '../bidding/ports.ts';
import type { ChainHeads, OriginEntry } from '../domain/audit.ts';
import type { Topic } from '../domain/records.ts';
import { Fault } from '../errors.ts';
import { streamRegular } from '../regular-files.ts';

/** The order in which topics stand in the file: what the others refer to comes before them. */
export const fileTopics = [
  'inputs',
  'callbacks',
  'dead-letters',
  'auctions',
  'flows',
] as const satisfies readonly Topic[];

export type DeskCounts = Record<Topic, number> & {
  /** So many of the first callbacks in the file were dealt with before the move. */
  callbacksDealtWith: number;
};

export type DeskHeader = {
  kind: 'lance-desk';
  version: 1;
  exportedAt: number;
  /** Where the desk lived: backend, and the directory or the prefix of its topics. */
  source: { backend: string; place: string };
  control: Pick<ControlState, 'pause' | 'caps'>;
  /** What became of rule sets; absent in files of older programs. */
  ruleBook?: readonly NewRuleBookEntry[];
  /** Heads of the chains that the records came from, and what the log had been through; absent in files of older programs. */
  audit?: { heads: ChainHeads | null; origins: readonly OriginEntry[] };
  counts: DeskCounts;
  /** SHA-256, in hex, of all bytes after the first line, uncompressed. */
  hash: string;
};

/** Of the text of a header, with the key of the desk that it is of. It stands last in the first line. */
export type Sign = (header: string) => string;
const signatureAtEnd = /,"signature":"([\w-]+)"\}$/;

const count = z.int().min(0);
const stored = z.looseObject({ kind: z.string() });
/** What is written to the new place before any record: a value of another shape would end the desk there, or its caps. */
const deskHeader = z.looseObject({
  exportedAt: z.number(),
  source: z.object({ backend: z.string(), place: z.string() }),
  control: z.looseObject({
    pause: z.looseObject({ by: z.string(), reason: z.string(), at: z.number() }).nullable(),
    caps: z.record(z.string(), count),
  }),
  ruleBook: z.array(stored).optional(),
  audit: z.looseObject({ heads: z.record(z.string(), z.unknown()).nullable(), origins: z.array(stored) }).optional(),
  counts: z.object({
    ...{ auctions: count, callbacks: count, 'dead-letters': count, inputs: count, flows: count },
    callbacksDealtWith: count,
  }),
  hash: z.string(),
});

export type FileEntry = NewEntry & { partition: number; offset: number };

/** In bytes. The first line of a desk file has the text of every rule set; a record is far shorter than its limit. */
const longestFirstLine = 256 * 1024 * 1024;
const longestLine = 64 * 1024 * 1024;
const newline = 0x0a;

const isZipped = (path: string): boolean => path.endsWith('.gz');

export type DeskFileWriter = {
  /** Writes all pages. Resolves to the hash. Rejects with `not-allowed` where the file cannot be written. */
  writeBody: (pages: AsyncIterable<readonly FileEntry[]>) => Promise<string>;
  /** Puts the header in front. When this resolves the file is whole, and stays. */
  finish: (header: DeskHeader, sign: Sign | null) => Promise<void>;
  discard: () => Promise<void>;
};

export function createDeskFile(path: string, unwritable: (why: string) => string): DeskFileWriter {
  const bodyPath = `${path}.body`;
  const wholePath = `${path}.part`;
  const guarded = async <R>(work: () => Promise<R>): Promise<R> => {
    try {
      return await work();
    } catch (cause) {
      if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
      throw new Fault('not-allowed', unwritable(cause.message), cause);
    }
  };
  return {
    writeBody: (pages) =>
      guarded(async () => {
        const hash = createHash('sha256');
        const hashing = new Transform({
          transform: (chunk: Buffer, _encoding, done) => {
            hash.update(chunk);
            done(null, chunk);
          },
        });
        const lines = Readable.from(linesOf(pages));
        const file = createWriteStream(bodyPath, { flags: 'wx', mode: 0o600 });
        if (isZipped(path)) await pipeline(lines, hashing, createGzip(), file);
        else await pipeline(lines, hashing, file);
        return hash.digest('hex');
      }),
    finish: (header, sign) =>
      guarded(async () => {
        const text = JSON.stringify(header);
        const line = sign === null ? `${text}\n` : `${text.slice(0, -1)},"signature":"${sign(text)}"}\n`;
        // No import would take it.
        if (Buffer.byteLength(line) > longestFirstLine)
          throw new Fault('not-allowed', unwritable(`its first line would be longer than ${longestFirstLine} bytes`));
        const file = await open(wholePath, 'wx', 0o600);
        try {
          // Members of gzip one after the other are one gzip file.
          await file.write(isZipped(path) ? gzipSync(line) : Buffer.from(line));
          for await (const chunk of createReadStream(bodyPath)) await file.write(chunk as Buffer);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(wholePath, path);
        await rm(bodyPath);
      }),
    discard: async () => {
      await Promise.all([bodyPath, wholePath].map((left) => rm(left, { force: true })));
    },
  };
}

async function* linesOf(pages: AsyncIterable<readonly FileEntry[]>): AsyncGenerator<Buffer> {
  for await (const page of pages) {
    yield Buffer.from(page.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  }
}

export type DeskFile = {
  header: DeskHeader;
  /** What the signature in the file is over, and the signature; null: nobody signed it, as in files of older programs. */
  signed: { text: string; signature: string } | null;
  /**
   * In the order of the file, at most `maxEntries` of one topic a page. Reads the file once more, and rejects with `export-unreadable` where
   * its records are not those that were checked: at the latest before the last page.
   */
  pages: (maxEntries: number) => AsyncGenerator<FileEntry[]>;
};

/** Reads the whole file once and believes nothing. Rejects with `export-unreadable`, which says what is wrong with which line. */
export async function openDeskFile(
  path: string,
  texts: { unreadable: (path: string, why: string) => string },
  onEntries: (read: number, of: number) => void,
): Promise<DeskFile> {
  const refuse = (why: string, cause?: unknown) => new Fault('export-unreadable', texts.unreadable(path, why), cause);
  const hash = createHash('sha256');
  const counts: Record<Topic, number> = { auctions: 0, callbacks: 0, 'dead-letters': 0, inputs: 0, flows: 0 };
  let header: DeskHeader | null = null;
  let signed: DeskFile['signed'] = null;
  let number = 0;
  let lastPlace = 0;
  try {
    for await (const line of readLines(path)) {
      number += 1;
      if (header === null) {
        header = headerIn(line);
        if (header === null && isNewer(line)) {
          throw refuse('a newer version of Lance wrote it; import it with that version');
        }
        if (header === null) throw refuse('its first line is not the header of a desk that this program can read');
        const [end, signature] = signatureAtEnd.exec(line) ?? [];
        if (end !== undefined) signed = { text: `${line.slice(0, -end.length)}}`, signature: signature! };
        continue;
      }
      hash.update(`${line}\n`);
      const entry = entryIn(line);
      if (entry === null) throw refuse(`line ${number} is not a record with topic and key`);
      const place = fileTopics.indexOf(entry.topic);
      if (place < lastPlace) throw refuse(`line ${number} is of ${entry.topic}, which ended before`);
      lastPlace = place;
      counts[entry.topic] += 1;
      if (number % 1_000 === 0) onEntries(number, totalOf(header.counts));
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw refuse(cause instanceof Error ? cause.message : String(cause), cause);
  }
  if (header === null) throw refuse('it is empty');
  for (const topic of fileTopics) {
    const [said, found] = [header.counts[topic], counts[topic]];
    if (said !== found) throw refuse(`it has ${found} records of ${topic}, its header says ${said}`);
  }
  if (hash.digest('hex') !== header.hash) throw refuse('its records are not those that the header was written for');
  const checked = header;
  return { header, signed, pages: (maxEntries) => pagesOf(path, checked, refuse, maxEntries) };
}

export function totalOf(counts: DeskCounts): number {
  return fileTopics.reduce((sum, topic) => sum + counts[topic], 0);
}

/** Of a file of any size, unzipped where its name says so. Throws, with its text as `code`, at a line that is too long. */
export async function* readLines(path: string): AsyncGenerator<string> {
  const file = streamRegular(path);
  const input = isZipped(path) ? createGunzip() : file;
  // Handed on by hand: a pipeline would swallow why the file could not be read.
  if (input !== file) {
    file.on('error', (fault) => input.destroy(fault));
    file.pipe(input as ReturnType<typeof createGunzip>);
  }
  try {
    let number = 1;
    let held: Buffer[] = [];
    let heldBytes = 0;
    const take = (piece: Buffer): void => {
      held.push(piece);
      heldBytes += piece.length;
      const limit = number === 1 ? longestFirstLine : longestLine;
      if (heldBytes <= limit) return;
      const code = `line ${number} is longer than ${limit} bytes`;
      throw Object.assign(new Error(code), { code });
    };
    const line = (): string => {
      const text = (held.length === 1 ? held[0]! : Buffer.concat(held)).toString('utf8');
      const whole = number === 1 ? text.replace(/^\uFEFF/, '') : text;
      number += 1;
      held = [];
      heldBytes = 0;
      return whole;
    };
    for await (const chunk of input as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
        take(chunk.subarray(from, at));
        yield line();
        from = at + 1;
      }
      if (from < chunk.length) take(chunk.subarray(from));
    }
    if (heldBytes > 0) yield line();
  } finally {
    file.destroy();
    input.destroy();
  }
}

/** The file may be another one by now: what comes here beyond what was checked, or otherwise, ends the reading with a fault. */
async function* pagesOf(
  path: string,
  { counts, hash }: DeskHeader,
  refuse: (why: string, cause?: unknown) => Fault,
  maxEntries: number,
): AsyncGenerator<FileEntry[]> {
  const changed = (cause?: unknown) =>
    refuse('it changed while it was read, and what was read last is not what was checked', cause);
  const total = totalOf(counts);
  const hashing = createHash('sha256');
  let page: FileEntry[] = [];
  let read = 0;
  let isHeader = true;
  const lines = readLines(path);
  try {
    for (;;) {
      const { value: line } = await lines.next().catch((cause: unknown) => {
        throw changed(cause);
      });
      if (line === undefined) break;
      if (isHeader) {
        isHeader = false;
        continue;
      }
      hashing.update(`${line}\n`);
      read += 1;
      const entry = entryIn(line);
      if (entry === null || read > total) throw changed();
      if (page.length === maxEntries || (page.length > 0 && page[0]!.topic !== entry.topic)) {
        yield page;
        page = [];
      }
      page.push(entry);
    }
  } finally {
    await lines.return(undefined);
  }
  // Before the last page, so that nothing ends well with a file that changed.
  if (read !== total || hashing.digest('hex') !== hash) throw changed();
  if (page.length > 0) yield page;
}

function jsonIn(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function isNewer(line: string): boolean {
  const value = jsonIn(line);
  return value?.kind === 'lance-desk' && typeof value.version === 'number' && value.version > 1;
}

function headerIn(line: string): DeskHeader | null {
  const value = jsonIn(line);
  if (value?.kind !== 'lance-desk' || value.version !== 1) return null;
  // Files from before there were flows do not count any.
  const read = deskHeader.safeParse({ ...value, counts: { flows: 0, ...(value.counts as object | undefined) } });
  return read.success ? (read.data as unknown as DeskHeader) : null;
}

function entryIn(line: string): FileEntry | null {
  const value = jsonIn(line);
  if (value === null) return null;
  const { topic, key, record } = value;
  const known = fileTopics.some((each) => each === topic);
  return known && typeof key === 'string' && typeof record === 'object' && record !== null
    ? (value as unknown as FileEntry)
    : null;
}
