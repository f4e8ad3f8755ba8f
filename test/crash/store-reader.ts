/** Opens what a desk of either backend leaves behind: its log and its views. */
import assert from 'node:assert/strict';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { openRedisStore } from '../../src/adapters/redis/store.ts';
import type { Control, EventLog, RuleBook, Views } from '../../src/bidding/ports.ts';
import type { Config } from '../../src/config.ts';

export type StoreReader = {
  log: Pick<EventLog, 'read' | 'ends'>;
  views: Pick<Views, 'applied' | 'read' | 'usage' | 'statistics'>;
  /** Whether the hash chain over the log is broken; a log without one has none to break. */
  chainBroken: () => Promise<boolean>;
  close: () => Promise<void>;
};

/** One that also hears what comes, and can be open beside running desks for long. */
export type SharedReader = StoreReader & {
  log: Pick<EventLog, 'read' | 'ends' | 'consume'>;
  control: Control;
  ruleBook: RuleBook;
};

export async function openStoreReader(config: Config): Promise<StoreReader> {
  if (config.store.backend === 'kafka') return openSharedReader(config);
  const { log, views, verifyChain, close } = openEmbeddedReader({ directory: config.store.dataDir });
  return {
    log,
    views,
    chainBroken: async () => (await verifyChain(() => undefined)).kind === 'broken',
    close: async () => close(),
  };
}

export async function openSharedReader({ store, http }: Config): Promise<SharedReader> {
  assert(store.backend === 'kafka');
  const redis = await openRedisStore(store.redis);
  const kafka = await openKafkaLog({
    settings: { ...store.kafka, appendTimeoutMs: http.appendTimeoutMs },
    seal: (_place, text) => text,
    onClosed: (fault) => {
      throw fault;
    },
    // What stands still here is not the desk.
    onStalled: () => undefined,
  });
  return {
    log: kafka.log,
    views: redis.views,
    control: redis.control,
    ruleBook: kafka.ruleBook,
    chainBroken: async () => false,
    close: async () => {
      await kafka.close();
      await redis.close();
    },
  };
}
