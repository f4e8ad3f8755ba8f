/** What a restore writes for one piece of a copy: few commands with many arguments, for it is as long as their sum. */
import { linesOf } from './view-pages.ts';
import { idOf, partsOf, readPiece } from './view-pieces.ts';
import { cursorIn, isOpenHeader, phaseIn } from './view-text.ts';

export type Writes = {
  entries: number;
  /** Name, key within the generation, arguments. */
  commands: (readonly [string, string, ...(string | Buffer)[]])[];
  /** Lines for lua/restore.lua. */
  lines: Buffer[];
};

const [rowMark, exposureMark, bidMark, held, committed] = [...Buffer.from('REBhc')];

export function writesOf(piece: Buffer, nextPage: () => number): Writes {
  const commands: Writes['commands'] = [];
  const lines: Buffer[] = [];
  const rows: (string | Buffer)[] = [];
  const open: string[] = [];
  const cursors = new Map<string, string[]>();
  const [exposures, bids]: [(string | Buffer)[], (string | Buffer)[]] = [[], []];
  let entries = 0;

  function index(id: string, header: string): void {
    const phase = phaseIn(header);
    const own = cursors.get(phase);
    if (own === undefined) cursors.set(phase, ['0', cursorIn(header, id)]);
    else own.push('0', cursorIn(header, id));
    if (isOpenHeader(header)) open.push(id);
  }

  function putLine(line: Buffer): void {
    const { id, value } = partsOf(line);
    switch (line[0]) {
      case rowMark:
        rows.push(idOf(id), value);
        index(idOf(id), value.toString('utf8', 0, value.indexOf('\t')));
        return;
      case exposureMark:
        if (value[0] === held || value[0] === committed) lines.push(line);
        else exposures.push(idOf(id), value);
        return;
      case bidMark:
        bids.push(idOf(id), idOf(value));
        return;
      default:
        lines.push(line);
    }
  }

  const read = readPiece(piece);
  if (read.kind === 'page') {
    const page = nextPage();
    commands.push(['HSET', 'pages', String(page), read.page]);
    for (const [i, { id, header }] of read.rows.entries()) {
      rows.push(id, `${header}\t@${page}:${i}`);
      index(id, header);
    }
    entries = read.rows.length;
  } else {
    for (const line of linesOf(read.text)) {
      putLine(line);
      entries += 1;
    }
  }
  if (rows.length > 0) commands.push(['HSET', 'rows', ...rows]);
  if (exposures.length > 0) commands.push(['HSET', 'exp', ...exposures]);
  if (bids.length > 0) commands.push(['HSET', 'bids', ...bids]);
  if (open.length > 0) commands.push(['SADD', 'open', ...open]);
  for (const [phase, members] of cursors) commands.push(['ZADD', `c:${phase}`, ...members]);
  return { entries, commands, lines };
}
