/** What the processes of one desk have in common on one Redis: controls, margins, the cap book, what was learnt, who owns what. */
import type {
  Control,
  ControlArchive,
  ControlCopies,
  MarginCache,
  OwnerBook,
  QueryBudget,
} from '../../bidding/ports.ts';
import type { CapBook } from '../../state/cap-book.ts';
import type { LearntBook } from '../../state/shared-learning.ts';
import { createCapBook } from './cap-book.ts';
import { type Connection, connect, evictingPolicy, type RedisSettings, redisDefaults } from './connection.ts';
import { createControl } from './control.ts';
import { createEarlierViews, type EarlierViews } from './earlier.ts';
import { createLearntBook } from './learnt.ts';
import { createMargins, createQueryBudget } from './margins.ts';
import { createOwnerBook } from './owners.ts';

export type RedisStore = {
  margins: MarginCache;
  queryBudget: QueryBudget;
  control: Control & ControlArchive;
  capBook: CapBook;
  learntBook: (genesis: string) => LearntBook;
  owners: OwnerBook;
  earlier: EarlierViews;
  /** See `Views`. */
  evicting: () => Promise<string | null>;
  /** Waits for answers under way, at most one command's time. */
  close: () => Promise<void>;
};

/**
 * Rejects with `views-unavailable` (retryable) while the server does not answer, and with `configuration-invalid` when it is older
 * than version 7 or may evict any key. `copies`: where the controls are kept as well; left out: nowhere. `kept`: with what margins are signed.
 */
export async function openRedisStore(
  settings: Pick<RedisSettings, 'url'> & Partial<RedisSettings>,
  copies: ControlCopies | null = null,
  kept: Parameters<typeof createMargins>[2] = { key: null, onUnfit: () => undefined },
): Promise<RedisStore> {
  const whole = { ...redisDefaults, ...settings };
  const prefix = whole.keyPrefix;
  const main = await connect(whole);
  // What operators say is not kept waiting behind margins and the cap book.
  let controls: Connection;
  try {
    controls = await connect(whole);
  } catch (fault) {
    await main.close();
    throw fault;
  }
  return {
    margins: createMargins(main, prefix, kept),
    queryBudget: createQueryBudget(main, prefix),
    control: createControl(controls, prefix, copies),
    capBook: createCapBook(main, prefix),
    learntBook: (genesis) => createLearntBook(main, prefix, genesis),
    owners: createOwnerBook(controls, prefix),
    earlier: createEarlierViews(main, prefix),
    evicting: async () => evictingPolicy(await controls.command<string>('INFO', 'memory')),
    close: async () => {
      await Promise.all([main.close(), controls.close()]);
    },
  };
}
