/**
 * Copies of the views: one is read out page by page as of one offset while folding goes on, and put back where the views are gone.
 * Closed rows, which are nearly all of them, go there and back squeezed: a restore writes only where each of them stands.
 */
import type { RestoreResult, ViewCopies, ViewCopy } from '../../bidding/ports.ts';
import { Fault } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { type ClosedRow, closePage, joined, openPage } from './view-pages.ts';
import { closedHeap, closedRowOf, idIn, lineHeap, partsOf, pieceOf, rowBytes, writesIn } from './view-pieces.ts';
import { histogramBytes, isOpenHeader, keysOf, newName } from './view-text.ts';
import { writesOf } from './view-writes.ts';

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

/** One step of lua/copy.lua; rejects unless the copy is still whole. */
type Ask = (step: string, ...args: (string | Buffer)[]) => Promise<Buffer[]>;

const [rowMark] = Buffer.from('R');
const tab = Buffer.from('\t');

async function* scanned(ask: Ask): AsyncGenerator<Buffer[]> {
  for (const [step, count] of steps) {
    for (let cursor = '0'; ; ) {
      const [next, ...lines] = await ask(step, cursor, String(count));
      yield lines;
      cursor = next?.toString() ?? '0';
      if (cursor === '0') break;
    }
  }
}

async function* piecesOf(ask: Ask, pieceBytes: number): AsyncGenerator<Buffer> {
  const closed = closedHeap(pieceBytes);
  const lines = lineHeap(pieceBytes);
  /** A restore calls pages by their number in the copy. */
  let pages = 0;
  const emptied: { page: Buffer; ids: string[] }[] = [];

  async function sealed(rows: readonly ClosedRow[]): Promise<Buffer> {
    const page = await closePage(rows);
    await ask('seal', page, ...rows.flatMap(({ id, header }) => [idIn(id.toString()), header]));
    return pagePiece(rows, page);
  }

  function pagePiece(rows: readonly ClosedRow[], page: Buffer): Buffer {
    pages += 1;
    const heads = rows.map(({ id, header }) => Buffer.concat([id, tab, header]));
    return pieceOf(writesOf({ kind: 'page', text: joined(heads).toString(), page }, pages));
  }

  for (const page of await ask('pages')) {
    const [bytes] = await ask('page', page);
    if (bytes === undefined) continue;
    const known = await openPage(bytes);
    const ids = known.map(({ id }) => idIn(id.toString()));
    const headers = await ask('headers', page, ...ids);
    const rows = known.map((row, i): ClosedRow => ({ ...row, header: headers[i]! }));
    const left = rows.filter(({ header }) => header.length > 0);
    const size = left.reduce((sum, row) => sum + rowBytes(row), 0);
    if (left.length === rows.length && size > pieceBytes / 2 && size <= pieceBytes) {
      yield pagePiece(rows, bytes);
      continue;
    }
    emptied.push({ page, ids });
    for (const row of left) {
      const full = closed.add(row);
      if (full !== null) yield await sealed(full);
    }
  }
  for await (const found of scanned(ask)) {
    for (const line of found) {
      const row = line[0] === rowMark ? closedRowIn(line) : null;
      if (row !== null) {
        const full = closed.add(row);
        if (full !== null) yield await sealed(full);
        continue;
      }
      const full = lines.add(line);
      if (full !== null) yield textPiece(full);
    }
  }
  const [rows, rest] = [closed.rest(), lines.rest()];
  if (rows !== null) yield await sealed(rows);
  if (rest !== null) yield textPiece(rest);
  for (const { page, ids } of emptied) await ask('drop', page, ...ids);
}

function textPiece(lines: readonly Buffer[]): Buffer {
  return pieceOf(writesOf({ kind: 'text', text: joined(lines).toString() }, 0));
}

/** Null for an open one: these are read whole at each start. */
function closedRowIn(line: Buffer): ClosedRow | null {
  const { id, value } = partsOf(line);
  const row = closedRowOf(id, value);
  return isOpenHeader(row.header.toString()) ? null : row;
}

export function createViewCopies(connection: Connection, prefix: string): ViewCopies {
  const keys = keysOf(prefix);

  const take: ViewCopies['take'] = async (partition, { keepFrom, pieceBytes }): Promise<ViewCopy | null> => {
    const name = newName();
    let generation = '';
    const run = (step: string, ...args: (string | Buffer)[]) =>
      connection.runBytes<Buffer[]>(
        scripts.copy,
        [keys.applied, keys.generations, keys.taking(partition)],
        [prefix, String(partition), name, step, generation, ...args],
      );
    const ask: Ask = async (step, ...args) => {
      const [kind, ...answer] = await run(step, String(keepFrom), ...args);
      if (kind?.toString() !== 'page') throw gone('The copy of the views was not finished');
      return answer;
    };
    const [kind, applied, begun] = await run('begin');
    if (kind?.toString() !== 'begun' || begun === undefined) return null;
    generation = begun.toString();
    async function* pieces(): AsyncGenerator<Buffer> {
      try {
        yield* piecesOf(ask, pieceBytes);
      } finally {
        await run('end');
      }
    }
    return { applied: Number(applied), pieces: pieces() };
  };

  const restore: ViewCopies['restore'] = async (partition, copy, onPut): Promise<RestoreResult> => {
    const name = newName();
    const step = (kind: string, ...args: (string | Buffer)[]) =>
      connection.run<(string | number)[]>(
        scripts.restore,
        [keys.applied, keys.generations, keys.restoring(partition)],
        [prefix, String(partition), name, kind, ...args],
      );
    const part = (key: string) => keys.part(partition, name, key);
    let pages = 0;
    /** What the keys have to hold at the end: entries that were new to each, and what is promised under all cap keys. */
    const sizes = new Map<string, number>();
    let [cents, requests] = [0, 0];
    const isNew = (key: string, count: unknown) => sizes.set(key, (sizes.get(key) ?? 0) + Number(count));
    /** How many entries, null when another one has taken over. */
    const put = async (piece: Buffer): Promise<number | null> => {
      const { entries, commands, lines } = writesIn(piece);
      const promised: string[] = [];
      const written = commands.map(async ({ key, ...command }) => {
        isNew(key, await connection.bulk({ ...command, key: part(key) }));
      });
      for (const line of lines) {
        const idEnd = line.indexOf('\t', 2);
        const [id, value] = [idIn(line.slice(2, idEnd)), line.slice(idEnd + 1)];
        if (line.startsWith('E')) promised.push(id, value);
        else {
          written.push(connection.command('SET', part(`h:${id}`), histogramBytes(value)));
          written.push(connection.command('SADD', part('stats'), id).then((count) => void isNew('stats', count)));
        }
      }
      pages += commands.filter(({ key }) => key === 'pages').length;
      const [[answer, reserved, ...sums]] = await Promise.all([step('put', ...promised), ...written]);
      if (answer !== 'put') return null;
      isNew('exp', reserved);
      cents += Number(sums[0]);
      requests += Number(sums[1]);
      return entries;
    };
    const [begun] = await step('begin');
    if (begun !== 'begun') return begun === 'busy' ? 'busy' : 'out-of-step';
    const outOfStep = async (): Promise<RestoreResult> => {
      // Rows may have been written after others had swept up what there was.
      await connection.command('SADD', keys.garbage, `${partition}:${name}`);
      await sweep();
      return 'out-of-step';
    };
    // One piece is on its way while the server deals with the one before.
    let before: Promise<number | null> = Promise.resolve(0);
    const isPut = async () => {
      const entries = await before;
      if (entries !== null) onPut(entries);
      return entries !== null;
    };
    for await (const piece of copy.pieces) {
      const putting = put(piece);
      // Asked about after the one before; should that one reject, nobody asks.
      putting.catch(() => {});
      if (!(await isPut())) return outOfStep();
      before = putting;
    }
    if (!(await isPut())) return outOfStep();
    isNew('pages', await connection.command('HSET', part('pages'), 'last', String(pages)));
    const expected = JSON.stringify(Object.fromEntries(sizes));
    const [ended] = await step('end', String(copy.applied), expected, String(cents), String(requests));
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
      await removeUnder(`${prefix}v:${left}:`);
      await connection.command('SREM', keys.garbage, left);
    }
  }

  async function removeUnder(start: string): Promise<void> {
    const pattern = `${start.replace(/[\\*?[\]]/g, '\\$&')}*`;
    for (let cursor = '0'; ; ) {
      const page = ['MATCH', pattern, 'COUNT', '1000'];
      const [next, found] = await connection.command<[string, string[]]>('SCAN', cursor, ...page);
      if (found.length > 0) await connection.command('UNLINK', ...found);
      cursor = next;
      if (cursor === '0') return;
    }
  }

  async function removeAll(): Promise<void> {
    // The positions first: without them the views count as gone, whatever is left of them.
    await connection.command('DEL', keys.applied, keys.flowsApplied, keys.generations, keys.garbage, keys.whole);
    for (const kind of ['v:', 'f:', 'taking:', 'restoring:']) await removeUnder(`${prefix}${kind}`);
  }

  return { take, restore, sweep, removeAll };
}
