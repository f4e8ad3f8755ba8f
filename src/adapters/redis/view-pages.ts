/**
 * Closed rows are kept by the page: their states squeezed together, a tenth of the room, and opened only when one of them is
 * asked for. A row says then on which page of its generation it stands, and where on it.
 */
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { Connection } from './connection.ts';

const squeeze = promisify(zstdCompress);
const unsqueeze = promisify(zstdDecompress);

/** `id` and `state` are JSON, `header` is what the row begins with. */
export type ClosedRow = { id: Buffer; header: Buffer; state: Buffer };
export type PageRow = Pick<ClosedRow, 'id' | 'state'>;

const [tab, lineFeed] = [...Buffer.from('\t\n')] as [number, number];
/** A page comes out in one go. */
const outputBytes = 512 * 1024;
/** Pages kept open, of a quarter of a megabyte each. */
const openPages = 16;
/** Pages asked for in one call. */
const pagesAtOnce = 16;

export function* linesOf(text: Buffer): Generator<Buffer> {
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf(lineFeed, from);
    const stop = found < 0 ? text.length : found;
    yield text.subarray(from, stop);
    from = stop + 1;
  }
}

export function joined(lines: readonly Buffer[]): Buffer {
  const text = Buffer.allocUnsafe(lines.reduce((sum, line) => sum + line.length + 1, 0));
  let at = 0;
  for (const line of lines) {
    at += line.copy(text, at);
    text[at] = lineFeed;
    at += 1;
  }
  return text;
}

/** A line for each row: its id, a tab, its state. */
export async function closePage(rows: readonly PageRow[]): Promise<Buffer> {
  return squeeze(joined(rows.map(({ id, state }) => Buffer.concat([id, Buffer.from([tab]), state]))));
}

export async function openPage(bytes: Buffer): Promise<PageRow[]> {
  const text = await unsqueeze(bytes, { chunkSize: outputBytes });
  return Array.from(linesOf(text), (line) => {
    const idEnd = line.indexOf(tab);
    return { id: line.subarray(0, idEnd), state: line.subarray(idEnd + 1) };
  });
}

/** Where a row's state stands: `pages` is the key of a hash. */
type Place = { pages: string; page: string; index: number };

/** Of `HEADER\t@PAGE:INDEX:KEY`; null where the row has its state with it. */
function placeOf(row: string): Place | null {
  const stateAt = row.indexOf('\t') + 1;
  if (row[stateAt] !== '@') return null;
  const pageEnd = row.indexOf(':', stateAt);
  const indexEnd = row.indexOf(':', pageEnd + 1);
  const [page, index] = [row.slice(stateAt + 1, pageEnd), row.slice(pageEnd + 1, indexEnd)];
  return { page, index: Number(index), pages: row.slice(indexEnd + 1) };
}

export type PageReader = {
  /**
   * The states of rows as JSON, in their order. Null when a page is gone since it was named: its rows stand on another one by
   * now, or the views are gone.
   */
  statesOf: (rows: readonly string[]) => Promise<string[] | null>;
};

export function createPageReader(connection: Connection): PageReader {
  /** The one used last comes last. A page never changes, and no other one is ever called the same. */
  const opened = new Map<string, PageRow[]>();

  async function statesOf(rows: readonly string[]): Promise<string[] | null> {
    const states: string[] = [];
    const wanted = new Map<string, { place: Place; rows: { at: number; index: number }[] }>();
    for (const [at, row] of rows.entries()) {
      const place = placeOf(row);
      if (place === null) {
        states[at] = row.slice(row.indexOf('\t') + 1);
        continue;
      }
      const name = `${place.page}:${place.pages}`;
      const known = wanted.get(name) ?? { place, rows: [] };
      known.rows.push({ at, index: place.index });
      wanted.set(name, known);
    }
    const list = [...wanted];
    for (let from = 0; from < list.length; from += pagesAtOnce) {
      const some = list.slice(from, from + pagesAtOnce);
      const pages = await fetchPages(some.map(([name, { place }]) => ({ name, place })));
      for (const [name, { rows: own }] of some) {
        const page = pages.get(name);
        if (page === undefined) return null;
        for (const { at, index } of own) states[at] = page[index]!.state.toString();
      }
    }
    return states;
  }

  async function fetchPages(list: readonly { name: string; place: Place }[]): Promise<Map<string, PageRow[]>> {
    const found = new Map<string, PageRow[]>();
    const absent = Map.groupBy(
      list.filter(({ name }) => !opened.has(name)),
      ({ place }) => place.pages,
    );
    for (const { name } of list) {
      const page = opened.get(name);
      if (page !== undefined) keep(name, page);
    }
    for (const [key, some] of absent) {
      const answers = await connection.bytes<(Buffer | null)[]>('HMGET', key, ...some.map(({ place }) => place.page));
      for (const [i, bytes] of answers.entries()) if (bytes !== null) keep(some[i]!.name, await openPage(bytes));
    }
    return found;

    function keep(name: string, page: PageRow[]): void {
      found.set(name, page);
      opened.delete(name);
      opened.set(name, page);
      for (const oldest of opened.keys()) {
        if (opened.size <= openPages) break;
        opened.delete(oldest);
      }
    }
  }

  return { statesOf };
}
