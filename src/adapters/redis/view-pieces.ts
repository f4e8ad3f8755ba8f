/**
 * What a copy of the views is made of. A piece is a line of JSON that says what follows: the arguments of commands, and lines of
 * text (a mark, an id as JSON, a value, with tabs between: lua/copy.lua).
 */
import { type ClosedRow, linesOf } from './view-pages.ts';
import type { Writes } from './view-writes.ts';

const [tab] = [...Buffer.from('\t')] as [number];

/** Command, key within the generation, number of arguments, their bytes. */
type Contents = { entries: number; commands: [string, string, number, number][] };

export function pieceOf({ entries, commands, lines }: Writes): Buffer {
  const contents: Contents = {
    entries,
    commands: commands.map(({ name, key, count, bulk }) => [name, key, count, bulk.length]),
  };
  const text = lines.map((line) => `${line}\n`).join('');
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(contents)}\n`),
    ...commands.map(({ bulk }) => bulk),
    Buffer.from(text),
  ]);
}

export function writesIn(piece: Buffer): Writes {
  const [head] = linesOf(piece);
  const { entries, commands }: Contents = JSON.parse(head!.toString());
  let at = head!.length + 1;
  const found = commands.map(([name, key, count, length]) => {
    const bulk = piece.subarray(at, at + length);
    at += length;
    return { name, key, count, bulk };
  });
  return { entries, commands: found, lines: [...linesIn(piece.toString('utf8', at))] };
}

export function* linesIn(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const stop = text.indexOf('\n', from);
    yield text.slice(from, stop);
    from = stop + 1;
  }
}

export function idIn(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** The parts of a line after its mark. */
export function partsOf(line: Buffer): { id: Buffer; value: Buffer } {
  const idEnd = line.indexOf(tab, 2);
  return { id: line.subarray(2, idEnd), value: line.subarray(idEnd + 1) };
}

export function closedRowOf(id: Buffer, row: Buffer): ClosedRow {
  const headerEnd = row.indexOf(tab);
  return { id, header: row.subarray(0, headerEnd), state: row.subarray(headerEnd + 1) };
}

/** Collects until no more fits into a piece. */
export type Heap<T> = {
  /** What was collected before, when this one did not fit beside it. */
  add: (item: T) => T[] | null;
  rest: () => T[] | null;
};

function createHeap<T>(limit: number, bytesOf: (item: T) => number): Heap<T> {
  let items: T[] = [];
  let bytes = 0;
  const rest = (): T[] | null => {
    const all = items.length > 0 ? items : null;
    items = [];
    bytes = 0;
    return all;
  };
  return {
    rest,
    add: (item) => {
      const own = bytesOf(item);
      const full = bytes + own > limit ? rest() : null;
      items.push(item);
      bytes += own;
      return full;
    },
  };
}

/** At most, for what comes of a row: its place, its cursor, and what it is squeezed to. */
export function rowBytes({ id, header, state }: ClosedRow): number {
  return 3 * id.length + 2 * header.length + state.length + 96;
}

/** An id stands in a line once and may be written three times. */
function lineBytes(line: Buffer): number {
  return line.length + 3 * line.indexOf(tab, 2) + 96;
}

/** More than the contents of a piece take. */
const contentsBytes = 1_024;

export function closedHeap(pieceBytes: number): Heap<ClosedRow> {
  return createHeap(pieceBytes - contentsBytes, rowBytes);
}

export function lineHeap(pieceBytes: number): Heap<Buffer> {
  return createHeap(pieceBytes - contentsBytes, lineBytes);
}
