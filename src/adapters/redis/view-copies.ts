/**
 * Copies of the views: one is read out page by page as of one offset while folding goes on, and put back where the views are gone.
 * A piece is lines of text, an entry a line, as lua/copy.lua writes and lua/restore.lua reads them.
 */
import type { RestoreResult, ViewCopies, ViewCopy } from '../../bidding/ports.ts';
import { Fault } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { keysOf, newName } from './view-text.ts';

/** Entries looked at in one call: a reply of some hundred kilobytes, a few ms of the server's time. */
const steps = [
  ['rows', 250],
  ['exposures', 1_000],
  ['bids', 1_000],
  ['statistics', 50],
] as const;

function gone(what: string): Fault {
  return new Fault('views-behind', `${what}: the views changed hands or were lost meanwhile.`);
}

async function* readPages(
  ask: (step: string, ...args: string[]) => Promise<Buffer[]>,
  keepFrom: number,
): AsyncGenerator<Buffer[]> {
  for (const [step, count] of steps) {
    for (let cursor = '0'; ; ) {
      const [kind, next, ...lines] = await ask(step, cursor, String(count), String(keepFrom));
      if (kind?.toString() !== 'page') throw gone('The copy of the views was not finished');
      yield lines;
      cursor = next?.toString() ?? '0';
      if (cursor === '0') break;
    }
  }
}

const lineEnd = Buffer.from('\n');

/** Pages that a scan found almost empty make one piece, a page of large rows makes several. */
async function* piecesOf(pages: AsyncIterable<Buffer[]>, pieceBytes: number): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const page of pages) {
    for (const line of page) {
      if (bytes > 0 && bytes + line.length + 1 > pieceBytes) {
        yield Buffer.concat(parts);
        parts = [];
        bytes = 0;
      }
      if (bytes > 0) parts.push(lineEnd);
      parts.push(line);
      bytes += line.length + 1;
    }
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}

const [rowMark, tab, lineFeed, backslash] = [...Buffer.from('R\t\n\\')] as [number, number, number, number];

/** Parts a piece: ids and rows in turns, and the lines with the states of the rows left out. */
function withoutStates(piece: Buffer): { rows: Buffer[]; rest: Buffer } {
  const rows: Buffer[] = [];
  const rest: Buffer[] = [];
  for (let from = 0; from < piece.length; ) {
    const found = piece.indexOf(lineFeed, from);
    const stop = found < 0 ? piece.length : found;
    if (piece[from] === rowMark) {
      const idEnd = piece.indexOf(tab, from + 2);
      const headerEnd = piece.indexOf(tab, idEnd + 1);
      rows.push(idOf(piece.subarray(from + 2, idEnd)), piece.subarray(idEnd + 1, stop));
      rest.push(piece.subarray(from, headerEnd), lineEnd);
    } else {
      rest.push(piece.subarray(from, stop), lineEnd);
    }
    from = stop + 1;
  }
  return { rows, rest: Buffer.concat(rest) };
}

function idOf(json: Buffer): Buffer {
  return json.includes(backslash) ? Buffer.from(JSON.parse(json.toString()) as string) : json.subarray(1, -1);
}

export function createViewCopies(connection: Connection, prefix: string): ViewCopies {
  const keys = keysOf(prefix);

  const take: ViewCopies['take'] = async (partition, { keepFrom, pieceBytes }): Promise<ViewCopy | null> => {
    const name = newName();
    let generation = '';
    const ask = (step: string, ...args: string[]) =>
      connection.runBytes<Buffer[]>(
        scripts.copy,
        [keys.applied, keys.generations, keys.taking(partition)],
        [prefix, String(partition), name, step, generation, ...args],
      );
    const [kind, applied, begun] = await ask('begin');
    if (kind?.toString() !== 'begun' || begun === undefined) return null;
    generation = begun.toString();
    async function* pieces(): AsyncGenerator<Buffer> {
      try {
        yield* piecesOf(readPages(ask, keepFrom), pieceBytes);
      } finally {
        await ask('end');
      }
    }
    return { applied: Number(applied), pieces: pieces() };
  };

  const restore: ViewCopies['restore'] = async (partition, copy, onPut): Promise<RestoreResult> => {
    const name = newName();
    const step = (kind: string, ...args: (string | Buffer)[]) =>
      connection.run<string | number>(
        scripts.restore,
        [keys.applied, keys.generations, keys.restoring(partition)],
        [prefix, String(partition), name, kind, ...args],
      );
    const put = async (piece: Buffer): Promise<string | number> => {
      const { rows, rest } = withoutStates(piece);
      const writing = [step('put', rest)];
      if (rows.length > 0) writing.push(connection.command('HSET', keys.rows(partition, name), ...rows));
      const [entries] = await Promise.all(writing);
      return entries!;
    };
    const begun = await step('begin');
    if (begun !== 'begun') return begun === 'busy' ? 'busy' : 'out-of-step';
    const outOfStep = async (): Promise<RestoreResult> => {
      // Rows may have been written after others had swept up what there was.
      await connection.command('SADD', keys.garbage, `${partition}:${name}`);
      await sweep();
      return 'out-of-step';
    };
    // One piece is on its way while the server deals with the one before.
    let before: Promise<string | number> = Promise.resolve(0);
    const isPut = async () => {
      const entries = await before;
      if (typeof entries === 'number') onPut(entries);
      return typeof entries === 'number';
    };
    for await (const piece of copy.pieces) {
      const putting = put(piece);
      // Asked about after the one before; should that one reject, nobody asks.
      putting.catch(() => {});
      if (!(await isPut())) return outOfStep();
      before = putting;
    }
    if (!(await isPut())) return outOfStep();
    const ended = await step('end', String(copy.applied));
    if (ended !== 'ended') return outOfStep();
    await sweep();
    return 'restored';
  };

  /** Removes what abandoned restores and replaced views left. */
  async function sweep(): Promise<void> {
    for (const left of await connection.command<string[]>('SMEMBERS', keys.garbage)) {
      const at = left.indexOf(':');
      const restorer = await connection.command<string | null>('GET', `${prefix}restoring:${left.slice(0, at)}`);
      if (restorer === left.slice(at + 1)) continue;
      // A restore that ended since the list was read is no garbage; what is garbage still when nobody restores it stays so.
      if ((await connection.command<number>('SISMEMBER', keys.garbage, left)) === 0) continue;
      const pattern = `${`${prefix}v:${left}:`.replace(/[\\*?[\]]/g, '\\$&')}*`;
      for (let cursor = '0'; ; ) {
        const [next, found] = await connection.command<[string, string[]]>(
          'SCAN',
          cursor,
          'MATCH',
          pattern,
          'COUNT',
          '1000',
        );
        if (found.length > 0) await connection.command('UNLINK', ...found);
        cursor = next;
        if (cursor === '0') break;
      }
      await connection.command('SREM', keys.garbage, left);
    }
  }

  return { take, restore, sweep };
}
