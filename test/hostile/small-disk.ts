/** A disk of its own for a data directory, so small that it can be filled. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export type SmallDisk = {
  /** Takes all that is left, to the last byte. */
  fill: () => void;
  /** Gives back what `fill` took. */
  free: () => void;
};

export const noSmallDisk = 'a small disk (tmpfs) cannot be mounted; run it as root';

/** Runs `use` with `directory` on a disk of that size; resolves to null where the machine does not allow one. */
export async function withSmallDisk<R>(
  directory: string,
  megabytes: number,
  use: (disk: SmallDisk) => Promise<R>,
): Promise<R | null> {
  mkdirSync(directory, { mode: 0o700 });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', directory], { stdio: 'pipe' });
  } catch {
    return null;
  }
  const filler = join(directory, 'filler');
  try {
    return await use({ fill: () => fill(filler), free: () => rmSync(filler) });
  } finally {
    execFileSync('umount', ['--lazy', directory]);
  }
}

function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let piece = 1_048_576; piece >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(piece));
      } catch {
        piece = Math.floor(piece / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}
