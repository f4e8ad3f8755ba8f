/** What the command line writes: tables and progress for people, one JSON object a line for machines. */
import { printable } from '../domain/printable.ts';

/** All that the command line writes to its two outputs goes through here. */
export function writePrintable(stream: NodeJS.WriteStream, text: string): void {
  stream.write(printable(text));
}

export type Terminal = {
  /** Results: stdout. */
  write: (text: string) => void;
  /** Everything else: stderr. */
  say: (text: string) => void;
  interactive: boolean;
};

export function createTerminal(): Terminal {
  // A reader that has seen enough, such as `head`, is no fault.
  process.stdout.on('error', (fault: NodeJS.ErrnoException) => {
    if (fault.code === 'EPIPE') process.exit(0);
    throw fault;
  });
  return {
    write: (text) => writePrintable(process.stdout, `${text}\n`),
    say: (text) => writePrintable(process.stderr, `${text}\n`),
    interactive: process.stderr.isTTY === true,
  };
}

/** Columns as wide as their widest cell, left-aligned but for those in `right`. */
export function tableText(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  // Within a cell the end of a line would begin a row that nobody wrote.
  const shown = rows.map((row) => row.map((cell) => printable(cell).replaceAll('\n', '\\n')));
  const widths = header.map((name, column) => Math.max(name.length, ...shown.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(header), line(widths.map((width) => '─'.repeat(width))), ...shown.map(line)].join('\n');
}

/** Labels and what they label, in two columns; rows without a text are left out. */
export function labelledText(rows: readonly (readonly [label: string, text: string | null])[]): string {
  const said = rows.flatMap(([label, text]) => (text === null ? [] : [[label, text] as const]));
  const width = Math.max(0, ...said.map(([label]) => label.length));
  return said
    .map(([label, text]) => `${label.padEnd(width)}  ${text.replaceAll('\n', `\n${' '.repeat(width + 2)}`)}`)
    .join('\n');
}

/** One line that is written over on a terminal; every tenth step as a line of its own elsewhere. */
export function createProgress(
  terminal: Terminal,
  title: string,
): { show: (done: number, of: number, note: string) => void; end: () => void } {
  const width = 28;
  let lastTenth = -1;
  return {
    show: (done, of, note) => {
      const share = of === 0 ? 1 : done / of;
      if (terminal.interactive) {
        const filled = Math.round(share * width);
        const bar = `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`;
        process.stderr.write(`\r\x1b[2K${printable(`${title} ${bar} ${done}/${of} ${note}`)}`);
        return;
      }
      const tenth = Math.floor(share * 10);
      if (tenth === lastTenth) return;
      lastTenth = tenth;
      terminal.say(`${title} ${done}/${of} ${note}`);
    },
    end: () => {
      if (terminal.interactive) process.stderr.write('\n');
    },
  };
}
