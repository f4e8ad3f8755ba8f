/** Whether the pages of the file fit together, found out in a process of its own: SQLite cannot be interrupted in this one. */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { databasePath } from './database.ts';

export type QuickCheck = { kind: 'sound' } | { kind: 'damaged'; text: string } | { kind: 'unfinished' };

const program = `
  import { DatabaseSync } from 'node:sqlite';
  const database = new DatabaseSync(process.argv[1], { readOnly: true, timeout: 2000 });
  const [row] = database.prepare('PRAGMA quick_check(1)').all();
  process.stdout.write(String(row.quick_check));
`;

/** Null where there is no file, or anything but one: whoever opens it tells that. */
export function quickCheck(directory: string, timeoutMs: number): Promise<QuickCheck | null> {
  const path = databasePath(directory);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return Promise.resolve(null);
  const flags = ['--no-warnings', '--input-type=module', '--eval', program, path];
  return new Promise((resolve) => {
    execFile(process.execPath, flags, { timeout: timeoutMs, env: {} }, (fault, said, complaint) => {
      if (said === 'ok') resolve({ kind: 'sound' });
      else if (fault?.killed === true) resolve({ kind: 'unfinished' });
      else resolve({ kind: 'damaged', text: findingIn(said) ?? errorLine(complaint) ?? String(fault?.message) });
    });
  });
}

/** Without the line of stars that SQLite puts before what it finds in a database: stars stand for what is kept back elsewhere. */
function findingIn(text: string): string | null {
  const lines = text.split('\n').filter((line) => line !== '' && !/^\*+ in database .* \*+$/.test(line));
  return lines.length === 0 ? null : lines.join('; ');
}

function errorLine(text: string): string | undefined {
  return text
    .split('\n')
    .find((line) => line.startsWith('Error: '))
    ?.slice('Error: '.length);
}
