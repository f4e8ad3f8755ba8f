/**
 * Reads the risk team's folder: JSON files, hidden ones, the generated `schema/`, the candidate in `shadow/` and the sets in
 * `examples/` left out. A symbolic link counts as the file it leads to, as long as that lies in the folder; one that leads out
 * is refused, not passed over: the rules in it would be missing without a word.
 */
import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { Fault } from '../../errors.ts';
import { firstFault, readRegularBytes } from '../../regular-files.ts';

/** Files larger than this are refused before they are read. */
const maxFileBytes = 4_000_000;
/** Rows of a value table. */
const maxRowsBytes = 16_000_000;
const rowsEnding = '.values.csv';
const maxTotalBytes = 32_000_000;
const maxEntries = 5_000;

/** Folders beside the rules that are no part of the set. */
const examples = 'examples';
const apart = ['schema', 'shadow', examples];

function refused(text: string, cause?: unknown): Fault {
  return new Fault('rules-refused', text, cause);
}

/** Each folder in `examples/` is a whole set of its own. Rules that lie there otherwise would be missing without a word. */
function refuseLooseExamples(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.')) continue;
    const isApart = entry.isDirectory()
      ? existsSync(join(folder, entry.name, 'codes.json'))
      : !entry.name.endsWith('.json');
    if (isApart) continue;
    throw refused(
      `${examples}/${entry.name} is no whole set, and ${examples}/ is no part of this set; give it a folder with a codes.json, or move it out.`,
    );
  }
}

/** Names of all files below, relative; folders that links lead to are not entered. */
function namesIn(directory: string): string[] {
  const names: string[] = [];
  const enter = (folder: string, depth: number) => {
    if (depth > 10) throw refused(`${relative(directory, folder)} is nested deeper than 10 folders; flatten it.`);
    const entries: Dirent[] = readdirSync(folder, { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (depth > 0 || !apart.includes(entry.name)) enter(path, depth + 1);
        else if (entry.name === examples) refuseLooseExamples(path);
      } else if (entry.name.endsWith('.json') || entry.name.endsWith(rowsEnding)) names.push(path);
      if (names.length > maxEntries) throw refused(`More than ${maxEntries} files; keep only rules in this folder.`);
    }
  };
  enter(directory, 0);
  return names.sort();
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function readOne(root: string, path: string): { path: string; text: string } {
  const name = relative(root, path).split(sep).join('/');
  let real: string;
  try {
    real = realpathSync(path);
  } catch (cause) {
    throw refused(`${name} leads nowhere; put the file there or remove the link.`, cause);
  }
  if (!real.startsWith(realpathSync(root) + sep)) {
    throw refused(`${name} is a link that leads out of the folder of rules; copy the file into it.`);
  }
  const stat = statSync(real);
  if (!stat.isFile()) throw refused(`${name} is no file; keep only files in the folder of rules.`);
  const most = name.endsWith(rowsEnding) ? maxRowsBytes : maxFileBytes;
  if (stat.size > most) throw refused(`${name} is larger than ${most} bytes; split it.`);
  const bytes = readRegularBytes(real);
  try {
    return { path: name, text: decoder.decode(bytes) };
  } catch (cause) {
    const { line, column } = firstFault(bytes);
    throw refused(`${name}:${line}, column ${column}: not text in UTF-8; save it as UTF-8.`, cause);
  }
}

/** Throws the fault `rules-refused` when the folder or one of its files cannot be read as rules. */
export function readRuleFiles(directory: string): { path: string; text: string }[] {
  try {
    let total = 0;
    return namesIn(directory).map((path) => {
      const file = readOne(directory, path);
      total += file.text.length;
      if (total > maxTotalBytes)
        throw refused(`The files are larger than ${maxTotalBytes} bytes together; remove some.`);
      return file;
    });
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw refused(
      `The rules in ${directory} cannot be read (${code}); name their folder here or in LANCE_RULES_DIR.`,
      cause,
    );
  }
}
