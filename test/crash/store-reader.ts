/** Opens what a desk of either backend leaves behind: its log and its views. */
import assert from 'node:assert/strict';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { openRedisStore } from '../../src/adapters/redis/store.ts';
import type { Control, EventLog, RuleBook, Views } from '../../src/bidding/ports.ts';
import type { Config } from '../../src/config.ts';
import { openLeftViews } from './state-files.ts';

export type StoreReader = {
  log: Pick<EventLog, 'read' | 'ends'>;
  views: Pick<Views, 'applied' | 'read' | 'usage' | 'statistics'>;
  /** Whether the hash chain over the log is broken; a log without one has none to break. */
  chainBroken: () => Promise<boolean>;
  close: () => Promise<void>;
};

/** One that also hears what comes, and can be open beside running desks for long. Each of them has views of its own. */
export type SharedReader = Omit<StoreReader, 'views'> & {
  log: Pick<EventLog, 'read' | 'ends' | 'consume'>;
  control: Control;
  ruleBook: RuleBook;
};

/** `directories`: of all desks that share a log. */
export async function openStoreReader(config: Config, directories: readonly string[]): Promise<StoreReader> {
  if (config.store.backend === 'kafka') {
    const { kafka, ...reader } = await openShared(config);
    const left = await openLeftViews(kafka, directories, config.bidding);
    const close = async () => {
      await left.close();
      await reader.close();
    };
    return { ...reader, views: left.views, close };
  }
  const { log, views, verifyChain, close } = openEmbeddedReader({ directory: config.store.dataDir });
  return {
    log,
    views,
    chainBroken: async () => (await verifyChain(() => undefined)).kind === 'broken',
    close: async () => close(),
  };
}

export async function openSharedReader(config: Config): Promise<SharedReader> {
  return openShared(config);
}

async function openShared({ store, http }: Config) {
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
    kafka,
    log: kafka.log,
    control: redis.control,
    ruleBook: kafka.ruleBook,
    chainBroken: async () => false,
    close: async () => {
      await kafka.close();
      await redis.close();
    },
  };
}
