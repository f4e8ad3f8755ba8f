/**
 * Loaded before a process and each of its threads (`--import`): kills the process right before its n-th write to the disk, as
 * `LANCE_TEST_KILL_AT` says: `main:3` in the main thread, `thread:7` in any other one, `2:7` in the second one that was begun.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { isMainThread, threadId } from 'node:worker_threads';

const [where, at] = (process.env.LANCE_TEST_KILL_AT ?? '').split(':');
const isHere = where === (isMainThread ? 'main' : 'thread') || where === String(threadId);
let left = isHere ? Number(at) : Number.POSITIVE_INFINITY;

function point(): void {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}

type Method = (this: unknown, ...words: unknown[]) => unknown;

function before(owner: object, name: string, writes: (words: readonly unknown[]) => boolean = () => true): void {
  const methods = owner as Record<string, Method>;
  const original = methods[name]!;
  methods[name] = function killable(...words) {
    if (writes(words)) point();
    return original.apply(this, words);
  };
}

for (const name of ['writeSync', 'writeFileSync', 'renameSync', 'rmSync', 'mkdirSync', 'ftruncateSync', 'fsyncSync'])
  before(fs, name, ([target]) => typeof target !== 'number' || target > 2);
const makes = (flags: unknown) => (typeof flags === 'number' ? (flags & fs.constants.O_CREAT) !== 0 : flags !== 'r');
before(fs, 'openSync', ([, flags]) => flags !== undefined && makes(flags));
before(DatabaseSync.prototype, 'exec');
before(StatementSync.prototype, 'run');
syncBuiltinESMExports();
