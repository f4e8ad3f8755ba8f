/** Reads the risk team's folder: JSON files only, symbolic links and hidden files left out. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { Fault } from '../../errors.ts';

/** Files larger than this are refused before they are read. */
const maxFileBytes = 2_000_000;

/** Throws the fault `rules-refused` when the folder cannot be read. */
export function readRuleFiles(directory: string): { path: string; text: string }[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.json') && !entry.name.startsWith('.'))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => {
        if (statSync(path).size > maxFileBytes) {
          throw new Fault(
            'rules-refused',
            `${relative(directory, path)} is larger than ${maxFileBytes} bytes; split it.`,
          );
        }
        return { path: relative(directory, path).split(sep).join('/'), text: readFileSync(path, 'utf8') };
      });
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault(
      'rules-refused',
      `The rules in ${directory} cannot be read; set LANCE_RULES_DIR to their folder.`,
      cause,
    );
  }
}
