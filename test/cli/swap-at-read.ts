/**
 * Loaded before a process (`--import`): right before a file is opened for the n-th time another one is put in its place, as
 * `LANCE_TEST_SWAP` says: `[path, other, n]` in JSON.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const [path, other, at] = JSON.parse(process.env.LANCE_TEST_SWAP ?? '[]') as [string, string, number];
const open = fs.openSync;
let opened = 0;

fs.openSync = (target, ...rest) => {
  if (target === path) opened += 1;
  if (target === path && opened === at) {
    opened += 1;
    fs.renameSync(other, path);
  }
  return open(target, ...rest);
};
syncBuiltinESMExports();
