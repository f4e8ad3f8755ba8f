/**
 * Whether the files that a process has open are still those at their paths. A file that was removed or moved is written to without
 * any error, and all of it is gone at the stop: nothing may be taken then.
 */
import { type BigIntStats, statSync } from 'node:fs';

export type FileWatch = {
  /** What is not where it was, and what to do; null: all is. As of the last look. */
  lost: () => string | null;
  stop: () => void;
};

const lookMs = 1_000;

/** Null: there is none. An inode is not given to another file while somebody has the first one open. */
export function identityOf(path: string): string | null {
  const found: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** The files have to be there. `onChange` hears of each change of what is lost. */
export function watchFiles(paths: readonly string[], onChange: (lost: string | null) => void): FileWatch {
  const identities = new Map(paths.map((path) => [path, identityOf(path)]));
  let lost: string | null = null;

  const problemOf = (path: string): string | null => {
    let now: string | null;
    try {
      now = identityOf(path);
    } catch (fault) {
      return `${path} cannot be looked at (${(fault as NodeJS.ErrnoException).code ?? 'unknown'})`;
    }
    if (now === identities.get(path)) return null;
    return now === null ? `${path} was removed or moved away` : `${path} was replaced by another file`;
  };
  const look = () => {
    const problems = paths.flatMap((path) => problemOf(path) ?? []);
    const now =
      problems.length === 0
        ? null
        : `${problems.join('; ')} while this process has it open: put back the very same file and the desk goes on; if it is lost, save what /proc/${process.pid}/fd still holds before this process ends`;
    if (now === lost) return;
    lost = now;
    onChange(lost);
  };
  const timer = setInterval(look, lookMs);
  timer.unref();
  return { lost: () => lost, stop: () => clearInterval(timer) };
}
