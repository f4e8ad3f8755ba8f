/** The shared half of the distributed backend: views, margins and controls of one desk on one Redis. */
import type {
  Control,
  ControlArchive,
  ControlCopies,
  MarginCache,
  OwnerBook,
  QueryBudget,
  ViewCopies,
  Views,
} from '../../bidding/ports.ts';
import type { FlowStore } from '../../origination/ports.ts';
import type { CapBook } from '../../state/cap-book.ts';
import type { LearntBook } from '../../state/shared-learning.ts';
import { createCapBook } from './cap-book.ts';
import { type Connection, connect, type RedisSettings, redisDefaults } from './connection.ts';
import { createControl } from './control.ts';
import { createFlows } from './flows.ts';
import { createLearntBook } from './learnt.ts';
import { createMargins, createQueryBudget } from './margins.ts';
import { createOwnerBook } from './owners.ts';
import { createViewCopies } from './view-copies.ts';
import { createViews } from './views.ts';

export type RedisStore = {
  views: Views;
  copies: ViewCopies;
  margins: MarginCache;
  queryBudget: QueryBudget;
  flows: FlowStore;
  control: Control & ControlArchive;
  /** For processes that keep the views in files of their own. */
  capBook: CapBook;
  learntBook: (genesis: string) => LearntBook;
  owners: OwnerBook;
  /** Waits for answers under way, at most one command's time. */
  close: () => Promise<void>;
};

/**
 * Rejects with `views-unavailable` (retryable) while the server does not answer, and with `configuration-invalid` when it is older
 * than version 7 or may evict any key. `copies`: where the controls are kept as well; left out: nowhere.
 */
export async function openRedisStore(
  settings: Pick<RedisSettings, 'url'> & Partial<RedisSettings>,
  copies: ControlCopies | null = null,
): Promise<RedisStore> {
  const whole = { ...redisDefaults, ...settings };
  const prefix = whole.keyPrefix;
  const main = await connect(whole);
  // What operators say is not kept waiting behind a fold or a copy being read.
  let controls: Connection;
  try {
    controls = await connect(whole);
  } catch (fault) {
    await main.close();
    throw fault;
  }
  return {
    views: createViews(main, prefix),
    copies: createViewCopies(main, prefix),
    margins: createMargins(main, prefix),
    queryBudget: createQueryBudget(main, prefix),
    flows: createFlows(main, prefix),
    control: createControl(controls, prefix, copies),
    capBook: createCapBook(main, prefix),
    learntBook: (genesis) => createLearntBook(main, prefix, genesis),
    owners: createOwnerBook(controls, prefix),
    close: async () => {
      await Promise.all([main.close(), controls.close()]);
    },
  };
}
