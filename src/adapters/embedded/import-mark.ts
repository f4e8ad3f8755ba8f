/**
 * The mark of an import into a new data directory: a file, durable before anything else is written there. Whenever the import is killed,
 * no desk begins on what it left, and the import can be begun again.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type HouseMark, readHouseMark, type UnreadableMark } from '../../bidding/ports.ts';
import { readRegularBytes } from '../../regular-files.ts';
import { besideEndings, syncDirectory, unusable } from '../../state/sqlite.ts';
import { type AnchorPlace, findSetBack, removeAnchor, type SetBack } from './anchor.ts';
import { createControlRows } from './control-rows.ts';
import { databasePath, holdsDesk, openReadOnly } from './database.ts';
import { createLogReader, hasLogTables } from './log-rows.ts';

const pathOf = (directory: string) => join(directory, 'lance.import');

/** Null: no import is under way, or its mark is in a store that was there before. Throws `data-directory-unusable`. */
export function readImportMark(directory: string): HouseMark | UnreadableMark | null {
  const path = pathOf(directory);
  try {
    return existsSync(path) ? readHouseMark(readRegularBytes(path).toString()) : null;
  } catch (cause) {
    throw unusable(directory, cause);
  }
}

/** For whoever holds the lock. Durable when it returns. Throws `data-directory-unusable`. */
export function writeImportMark(directory: string, mark: HouseMark): void {
  const path = pathOf(directory);
  const draft = `${path}.new`;
  try {
    rmSync(draft, { force: true });
    const file = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(file, JSON.stringify(mark));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
    syncDirectory(directory);
    syncDirectory(dirname(resolve(directory)));
  } catch (cause) {
    throw unusable(directory, cause);
  }
}

/** Durable when it returns. Throws `data-directory-unusable`. */
export function removeImportMark(directory: string): void {
  try {
    if (!existsSync(pathOf(directory))) return;
    rmSync(pathOf(directory));
    syncDirectory(directory);
  } catch (cause) {
    throw unusable(directory, cause);
  }
}

/**
 * Removes what an import has left that was killed, with its anchor. The mark says that there was no store before. Nothing is removed that may
 * be more than that: a store that is whole, or whose anchor is another one's; why is returned. For whoever holds the lock.
 */
export function clearHalfImport(directory: string, anchor: AnchorPlace | null): SetBack | null {
  if (readImportMark(directory) === null || !holdsDesk(directory)) return null;
  const path = databasePath(directory);
  const database = openReadOnly(path);
  try {
    if (!isHalf(database)) return null;
    const setBack = anchor === null ? null : findSetBack(database, anchor);
    // These say that there is no whole anchor: it was being made, or being removed.
    const isUnmade = setBack === null || setBack.kind === 'missing' || setBack.kind === 'unsigned';
    if (!isUnmade) return setBack;
  } finally {
    database.close();
  }
  if (anchor !== null) removeAnchor(anchor.file);
  // The file itself comes last: without it nobody would look for the rest.
  for (const ending of besideEndings.toReversed()) rmSync(path + ending, { force: true });
  return null;
}

/** An import that came to its end has taken its mark out of the store. */
function isHalf(database: DatabaseSync): boolean {
  if (!hasLogTables(database)) return true;
  const mark = createControlRows(database).house();
  if (mark !== null) return mark.kind === 'arriving';
  const log = createLogReader(database);
  return (['auctions', 'callbacks', 'dead-letters', 'inputs', 'flows'] as const).every((topic) => log.end(topic) === 0);
}
