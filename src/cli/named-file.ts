/** Files that somebody named to a command: what is wrong with one is told with its name, the reason and what to do. */
import { accessSync, closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../errors.ts';
import type { CommandWorld } from './world.ts';

function codeOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? '';
}

/** `what`: the file that is wanted, in words. Throws `not-found`. */
export function readNamed({ format, readText }: CommandWorld, path: string, what: string): string {
  try {
    return readText(path);
  } catch (cause) {
    throw new Fault('not-found', format.texts.rules.unreadable(path, codeOf(cause), what), cause);
  }
}

function attempt({ format }: CommandWorld, path: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw new Fault('not-allowed', format.texts.page.unwritable(path, codeOf(cause)), cause);
  }
}

/** Before long work: its file will have a place. Throws `not-allowed`. */
export function checkPlace(world: CommandWorld, path: string): void {
  attempt(world, path, () => accessSync(dirname(path), constants.W_OK));
}

/** Throws `not-allowed`. */
export function writeNamed(world: CommandWorld, path: string, text: string): void {
  attempt(world, path, () => writeFileSync(path, text));
}

/** The same for what tells of decisions: for nobody but the owner, also where a file of that name was there. */
export function writePrivate(world: CommandWorld, path: string, text: string): void {
  attempt(world, path, () => {
    const file = openSync(path, 'w', 0o600);
    try {
      if (fstatSync(file).isFile()) fchmodSync(file, 0o600);
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
  });
}

/** Makes the folder of the file, but not the one `above` it all. Throws `not-allowed`. */
export function writeBelow(world: CommandWorld, above: string, path: string, text: string): void {
  attempt(world, path, () => {
    accessSync(above, constants.W_OK);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  });
}
