/** What a restore writes for one piece of a copy: few commands with many arguments, for it is as long as their sum. */
import assert from 'node:assert/strict';
import { idIn, linesIn, type Piece } from './view-pieces.ts';
import { cursorIn, histogramBytes, isOpenHeader, phaseIn } from './view-text.ts';

export type Writes = {
  entries: number;
  /** Name, key within the generation, arguments. */
  commands: (readonly [string, string, ...(string | Buffer)[]])[];
  /** Requests and the money promised for each, in turns, for lua/restore.lua. */
  promised: string[];
};

/** `page`: what a page of closed rows is called here. */
export function writesOf(piece: Piece, page: number): Writes {
  const commands: Writes['commands'] = [];
  const rows: string[] = [];
  const open: string[] = [];
  const exposures: string[] = [];
  const promised: string[] = [];
  const bids: string[] = [];
  const cursors = new Map<string, string[]>();
  let entries = 0;

  function index(id: string, header: string): void {
    const phase = phaseIn(header);
    const own = cursors.get(phase);
    if (own === undefined) cursors.set(phase, ['0', cursorIn(header, id)]);
    else own.push('0', cursorIn(header, id));
    if (isOpenHeader(header)) open.push(id);
  }

  function putLine(line: string): void {
    const idEnd = line.indexOf('\t', 2);
    const [id, value] = [idIn(line.slice(2, idEnd)), line.slice(idEnd + 1)];
    switch (line[0]) {
      case 'R':
        rows.push(id, value);
        index(id, value.slice(0, value.indexOf('\t')));
        return;
      case 'E':
        (value.startsWith('h') || value.startsWith('c') ? promised : exposures).push(id, value);
        return;
      case 'B':
        bids.push(id, idIn(value));
        return;
      case 'H':
        commands.push(['SET', `h:${id}`, histogramBytes(value)], ['SADD', 'stats', id]);
        return;
      default:
        assert.fail('a copy has rows, reservations, bids and histograms');
    }
  }

  function putHead(line: string): void {
    const idEnd = line.indexOf('\t');
    const [id, header] = [idIn(line.slice(0, idEnd)), line.slice(idEnd + 1)];
    rows.push(id, `${header}\t@${page}:${entries}`);
    index(id, header);
  }

  const put = piece.kind === 'page' ? putHead : putLine;
  for (const line of linesIn(piece.text)) {
    put(line);
    entries += 1;
  }
  if (piece.kind === 'page') commands.push(['HSET', 'pages', String(page), piece.page]);
  const lists = { rows, exp: exposures, bids };
  for (const [key, list] of Object.entries(lists)) if (list.length > 0) commands.push(['HSET', key, ...list]);
  if (open.length > 0) commands.push(['SADD', 'open', ...open]);
  for (const [phase, members] of cursors) commands.push(['ZADD', `c:${phase}`, ...members]);
  return { entries, commands, promised: promised };
}
