/** The Lua that runs inside Redis. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export type Script = {
  /** Named by its bytes: two versions of this program can share a server. */
  sha: string;
  source: string;
};

function read(name: string, header: string): Script {
  const source = `${header}\n${readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')}`;
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/** A server whose memory is full refuses to begin a script that writes: never half of one. */
const writing = '#!lua';
const reading = '#!lua flags=no-writes';

export const scripts = {
  margins: read('margins', writing),
  control: read('control', writing),
  capBook: read('cap-book', writing),
  capUsage: read('cap-usage', reading),
  learnt: read('learnt', writing),
} as const;
