/** The Lua that runs inside Redis, put together from the files beside it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { phases } from '../../domain/states.ts';

export type Script = {
  /** Named by its bytes: two versions of this program can share a server. */
  sha: string;
  source: string;
};

function read(names: readonly string[], header: string): Script {
  const parts = names.map((name) => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8'));
  const source = [header, `local phases = { ${phases.map((phase) => `'${phase}'`).join(', ')} }`, ...parts].join('\n');
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/** A server whose memory is full refuses to begin a script that writes: never half of one. */
const writing = '#!lua';
const reading = '#!lua flags=no-writes';
/** A copy puts closed rows on squeezed pages: where memory is full it is what makes room. */
const squeezing = '#!lua flags=allow-oom';

export const scripts = {
  apply: read(['holds', 'rows', 'exposure', 'whole', 'exp', 'learning', 'apply'], writing),
  read: read(['holds', 'exposure', 'whole', 'read'], reading),
  lookWhole: read(['holds', 'whole', 'eviction', 'look-whole'], writing),
  losses: read(['eviction', 'losses'], reading),
  copy: read(['holds', 'copy'], squeezing),
  restore: read(['holds', 'rows', 'exposure', 'restore'], writing),
  flows: read(['flows'], writing),
  flowRows: read(['flow-rows'], reading),
  margins: read(['margins'], writing),
  control: read(['control'], writing),
  capBook: read(['cap-book'], writing),
  capUsage: read(['cap-usage'], reading),
  learnt: read(['learnt'], writing),
} as const;
