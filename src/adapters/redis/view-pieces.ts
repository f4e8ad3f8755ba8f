/**
 * What a copy of the views is made of. A piece is either a page of closed rows, carried squeezed as it is with the ids and
 * headers of its rows before it, or lines of text: a mark, an id as JSON, a value, with tabs between (lua/copy.lua).
 */
import { type ClosedRow, joined } from './view-pages.ts';

const [pageMark, textMark, tab] = [...Buffer.from('PT\t')] as [number, number, number];
const markBytes = 1;
const headLengthBytes = 4;
/** More than all that is beside the rows of a page, and than squeezing may add. */
const pageSlack = 256;

/** `text`: the lines, or the ids and headers of the rows of a page in the order in which they stand there. */
export type Piece = { kind: 'page'; text: string; page: Buffer } | { kind: 'text'; text: string };

export function pagePiece(rows: readonly Pick<ClosedRow, 'id' | 'header'>[], page: Buffer): Buffer {
  const head = joined(rows.map(({ id, header }) => Buffer.concat([id, Buffer.from([tab]), header])));
  const start = Buffer.alloc(markBytes + headLengthBytes);
  start[0] = pageMark;
  start.writeUInt32LE(head.length, markBytes);
  return Buffer.concat([start, head, page]);
}

export function textPiece(lines: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([textMark]), joined(lines)]);
}

export function readPiece(piece: Buffer): Piece {
  if (piece[0] === textMark) return { kind: 'text', text: piece.toString('utf8', markBytes) };
  const headAt = markBytes + headLengthBytes;
  const pageAt = headAt + piece.readUInt32LE(markBytes);
  return { kind: 'page', text: piece.toString('utf8', headAt, pageAt), page: piece.subarray(pageAt) };
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

/** At most: what it comes to once it is squeezed is not known before. */
export function rowBytes({ id, header, state }: ClosedRow): number {
  return 2 * id.length + header.length + state.length + 4;
}

export function closedHeap(pieceBytes: number): Heap<ClosedRow> {
  return createHeap(pieceBytes - pageSlack, rowBytes);
}

export function lineHeap(pieceBytes: number): Heap<Buffer> {
  return createHeap(pieceBytes - markBytes, (line) => line.length + 1);
}
