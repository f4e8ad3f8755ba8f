/**
 * What a restore writes for one piece of a copy, made when the copy is taken: commands with thousands of arguments that are put
 * together already, as Redis reads them. Nobody looks at a row then while bidding waits.
 */
import { idIn, linesIn } from './view-pieces.ts';
import { cursorIn, isOpenHeader, phaseIn } from './view-text.ts';

/** `bulk`: `count` arguments after the key, which is one within the generation. */
type BulkCommand = { name: string; key: string; count: number; bulk: Buffer };

/** `lines`: those that need a closer look, as they were. */
export type Writes = { entries: number; commands: BulkCommand[]; lines: string[] };

/** Lines as lua/copy.lua writes them, or ids and headers of the rows of a page in the order in which they stand there. */
export type Given = { kind: 'text'; text: string } | { kind: 'page'; text: string; page: Buffer };

/** `page`: what a page of closed rows is called here. */
export function writesOf(given: Given, page: number): Writes {
  const rows: string[] = [];
  const open: string[] = [];
  const exposures: string[] = [];
  const lines: string[] = [];
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
        if (value.startsWith('h') || value.startsWith('c')) lines.push(line);
        else exposures.push(id, value);
        return;
      case 'B':
        bids.push(id, idIn(value));
        return;
      default:
        lines.push(line);
    }
  }

  function putHead(line: string): void {
    const idEnd = line.indexOf('\t');
    const [id, header] = [idIn(line.slice(0, idEnd)), line.slice(idEnd + 1)];
    rows.push(id, `${header}\t@${page}:${entries}`);
    index(id, header);
  }

  const put = given.kind === 'page' ? putHead : putLine;
  for (const line of linesIn(given.text)) {
    put(line);
    entries += 1;
  }
  const lists: [string, string, (string | Buffer)[]][] = [
    ['HSET', 'pages', given.kind === 'page' ? [String(page), given.page] : []],
    ['HSET', 'rows', rows],
    ['HSET', 'exp', exposures],
    ['HSET', 'bids', bids],
    ['SADD', 'open', open],
    ...[...cursors].map(([phase, members]): [string, string, string[]] => ['ZADD', `c:${phase}`, members]),
  ];
  const commands = lists
    .filter(([, , list]) => list.length > 0)
    .map(([name, key, list]) => ({ name, key, count: list.length, bulk: bulkOf(list) }));
  return { entries, commands, lines };
}

function bulkOf(list: readonly (string | Buffer)[]): Buffer {
  const parts: Buffer[] = [];
  let text = '';
  for (const item of list) {
    text += `$${Buffer.byteLength(item)}\r\n`;
    if (typeof item === 'string') text += item;
    else {
      parts.push(Buffer.from(text), item);
      text = '';
    }
    text += '\r\n';
  }
  return Buffer.concat([...parts, Buffer.from(text)]);
}
