/**
 * What an earlier version has left in Redis, where it kept the views of all processes. They are folded from the log instead; only how far it
 * had dealt with `callbacks` is read of them.
 */
import { callbackPartition } from '../../bidding/ports.ts';
import type { Connection } from './connection.ts';

export type EarlierViews = {
  /** As of views: of a `callbackPartition`. 0 where nothing says so. */
  applied: (partition: number) => Promise<number>;
  /** The same for flows; of a partition of `callbacks`. */
  flowsDealtWith: (partition: number) => Promise<number>;
  /** Removes all but that. Nothing where there is nothing. */
  clear: () => Promise<void>;
  /** Removes all. */
  remove: () => Promise<void>;
};

export function createEarlierViews({ command }: Connection, prefix: string): EarlierViews {
  const [applied, flowsApplied] = [`${prefix}applied`, `${prefix}f:applied`];
  const others = ['generations', 'garbage', 'whole', 'lost', 'f:states', 'f:named'].map((name) => prefix + name);
  const places = async (key: string, partition: number): Promise<number> =>
    Number((await command<string | null>('HGET', key, String(partition))) ?? 0);

  async function removeUnder(start: string): Promise<void> {
    const pattern = `${start.replace(/[\\*?[\]]/g, '\\$&')}*`;
    for (let cursor = '0'; ; ) {
      const [next, found] = await command<[string, string[]]>('SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000');
      const keys = found.filter((key) => key !== flowsApplied);
      if (keys.length > 0) await command('UNLINK', ...keys);
      cursor = next;
      if (cursor === '0') return;
    }
  }

  async function clear(): Promise<void> {
    if ((await command<number>('EXISTS', `${prefix}generations`)) === 0) return;
    for (const kind of ['v:', 'f:', 'taking:', 'restoring:']) await removeUnder(prefix + kind);
    // What says that there is something goes last.
    await command('DEL', ...others);
  }

  return {
    applied: (partition) => places(applied, partition),
    flowsDealtWith: (partition) => places(flowsApplied, callbackPartition(partition)),
    clear,
    remove: async () => {
      await clear();
      await command('DEL', applied, flowsApplied);
    },
  };
}
