/**
 * Copies of the views: one is read out page by page as of one offset while folding goes on, and put back where the views are gone.
 * A piece is lines of text, an entry a line: `R` row, `E` reservation, `B` bid, `H` histogram; ids as JSON.
 */
import type { RestoreResult, ViewCopies, ViewCopy } from '../../bidding/ports.ts';
import { Fault } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { keysOf, newName } from './view-text.ts';

const kinds = [
  ['rows', 'R', 250],
  ['exposures', 'E', 1_000],
  ['bids', 'B', 1_000],
  ['statistics', 'H', 50],
] as const;

/** Entries put back in one call: some megabytes, a few tens of ms of the server's time. */
const entriesAtOnce = 500;

function gone(what: string): Fault {
  return new Fault('views-behind', `${what}: the views changed hands or were lost meanwhile.`);
}

/** `value` holds no tab; a line break only between the head of a row and its JSON, which has none itself. */
function lineOf(mark: string, id: string, value: Buffer): string {
  const text = mark === 'H' ? value.toString('base64') : value.toString();
  if (mark === 'B') return `B\t${JSON.stringify(id)}\t${JSON.stringify(text)}`;
  return `${mark}\t${JSON.stringify(id)}\t${mark === 'R' ? text.replace('\n', '\t') : text}`;
}

function pairOf(line: string, mark: string): [id: string, value: string | Buffer] {
  const valueAt = line.indexOf('\t', 2) + 1;
  const id: string = JSON.parse(line.slice(2, valueAt - 1));
  const value = line.slice(valueAt);
  if (mark === 'H') return [id, Buffer.from(value, 'base64')];
  if (mark === 'B') return [id, JSON.parse(value)];
  return [id, mark === 'R' ? value.replace('\t', '\n') : value];
}

/** Lines of one mark each, for one call. */
function* pagesOf(piece: string): Generator<{ mark: string; lines: string[] }> {
  let mark = '';
  let lines: string[] = [];
  for (const line of piece.split('\n')) {
    if (lines.length === entriesAtOnce || !line.startsWith(mark)) {
      if (lines.length > 0) yield { mark, lines };
      lines = [];
    }
    mark = line.charAt(0);
    lines.push(line);
  }
  yield { mark, lines };
}

async function* readPages(
  ask: (step: string, ...args: string[]) => Promise<Buffer[]>,
  keepFrom: number,
): AsyncGenerator<string[]> {
  for (const [step, mark, count] of kinds) {
    for (let cursor = '0'; ; ) {
      const [kind, next, ...pairs] = await ask(step, cursor, String(count), String(keepFrom));
      if (String(kind) !== 'page') throw gone('The copy of the views was not finished');
      const lines: string[] = [];
      for (let i = 0; i + 1 < pairs.length; i += 2) lines.push(lineOf(mark, pairs[i]!.toString(), pairs[i + 1]!));
      yield lines;
      cursor = String(next);
      if (cursor === '0') break;
    }
  }
}

/** Pages that a scan found almost empty make one piece, a page of large rows makes several. */
async function* piecesOf(pages: AsyncIterable<string[]>, pieceChars: number): AsyncGenerator<string> {
  let lines: string[] = [];
  let chars = 0;
  for await (const page of pages) {
    for (const line of page) {
      if (chars > 0 && chars + line.length + 1 > pieceChars) {
        yield lines.join('\n');
        lines = [];
        chars = 0;
      }
      lines.push(line);
      chars += line.length + 1;
    }
  }
  if (lines.length > 0) yield lines.join('\n');
}

export function createViewCopies(connection: Connection, prefix: string): ViewCopies {
  const keys = keysOf(prefix);

  const take: ViewCopies['take'] = async (partition, { keepFrom, pieceChars }): Promise<ViewCopy | null> => {
    const name = newName();
    let generation = '';
    const ask = (step: string, ...args: string[]) =>
      connection.runBytes<Buffer[]>(
        scripts.copy,
        [keys.applied, keys.generations, keys.taking(partition)],
        [prefix, String(partition), name, step, generation, ...args],
      );
    const [kind, applied, begun] = await ask('begin');
    if (String(kind) !== 'begun') return null;
    generation = String(begun);
    async function* pieces(): AsyncGenerator<string> {
      try {
        yield* piecesOf(readPages(ask, keepFrom), pieceChars);
      } finally {
        await ask('end');
      }
    }
    return { applied: Number(String(applied)), pieces: pieces() };
  };

  const restore: ViewCopies['restore'] = async (partition, copy, onPut): Promise<RestoreResult> => {
    const name = newName();
    const step = (kind: string, ...args: (string | Buffer)[]) =>
      connection.run<string>(
        scripts.restore,
        [keys.applied, keys.generations, keys.restoring(partition)],
        [prefix, String(partition), name, kind, ...args],
      );
    const begun = await step('begin');
    if (begun !== 'begun') return begun === 'busy' ? 'busy' : 'out-of-step';
    // One page is prepared and on its way while the server deals with the one before.
    let before: Promise<string> = Promise.resolve('put');
    for await (const piece of copy.pieces) {
      for (const { mark, lines } of pagesOf(piece)) {
        const put = step('put', mark, ...lines.flatMap((line) => pairOf(line, mark)));
        // Asked about after the one before; should that one reject, nobody asks.
        put.catch(() => {});
        if ((await before) !== 'put') return 'out-of-step';
        before = put;
        onPut(lines.length);
      }
    }
    if ((await before) !== 'put') return 'out-of-step';
    const ended = await step('end', String(copy.applied));
    await sweep();
    return ended === 'ended' ? 'restored' : 'out-of-step';
  };

  /** Removes what abandoned restores and replaced views left. */
  async function sweep(): Promise<void> {
    for (const left of await connection.command<string[]>('SMEMBERS', `${prefix}garbage`)) {
      const at = left.indexOf(':');
      const restorer = await connection.command<string | null>('GET', `${prefix}restoring:${left.slice(0, at)}`);
      if (restorer === left.slice(at + 1)) continue;
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
      await connection.command('SREM', `${prefix}garbage`, left);
    }
  }

  return { take, restore, sweep };
}
