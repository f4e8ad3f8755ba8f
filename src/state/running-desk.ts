/**
 * Which process runs on a directory and where it is asked, in a file beside the lock. The lock says whether one runs; this file may be
 * left by one that was killed, and may be missing where the disk is full.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `url`: of its health and status. */
export type RunningDesk = { pid: number; url: string };

const runningFile = 'lance.running.json';

export function writeRunningDesk(directory: string, desk: RunningDesk): void {
  const path = join(directory, runningFile);
  try {
    // Whoever reads it meanwhile sees the old one or the new one.
    writeFileSync(`${path}.new`, `${JSON.stringify(desk)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // It is a help for people: without it they name the address.
  }
}

export function removeRunningDesk(directory: string): void {
  rmSync(join(directory, runningFile), { force: true });
}

/** Null: none was written, or it cannot be read. Whether its process still runs is for the lock to say. */
export function readRunningDesk(directory: string): RunningDesk | null {
  try {
    const { pid, url } = JSON.parse(readFileSync(join(directory, runningFile), 'utf8')) as Record<string, unknown>;
    return Number.isSafeInteger(pid) && typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url)
      ? { pid: Number(pid), url }
      : null;
  } catch {
    return null;
  }
}

/** As an addition to a message; empty where it is not known, or where the process that wrote it is gone. */
export function runningText(directory: string): string {
  const desk = readRunningDesk(directory);
  return desk === null || !isAlive(desk.pid) ? '' : `: process ${desk.pid}, at ${desk.url}`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return fault instanceof Error && 'code' in fault && fault.code === 'EPERM';
  }
}
