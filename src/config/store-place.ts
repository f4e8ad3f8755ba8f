/** Where the log and the views are: one file of this machine, or Kafka with its registry and Redis. */
import { statSync } from 'node:fs';
import type { Sections } from './sections.ts';

type KafkaPlace = Omit<Sections['kafka'], 'brokers' | 'registryUrl' | 'views'> & {
  brokers: readonly string[];
  registryUrl: string;
};
type RedisPlace = Omit<Sections['redis'], 'url'> & { url: string };

export type StorePlace =
  | { backend: 'embedded'; dataDir: string }
  /** `stateDir`: where a process keeps the views that it folds by itself; null: they are in Redis, for all processes. */
  | { backend: 'kafka'; kafka: KafkaPlace; redis: RedisPlace; stateDir: string | null };

/** The mode of a directory or file that others than its owner may use, in octal digits; null where nobody else may, or it is not there. */
export function modeForOthers(path: string): string | null {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined || (mode & 0o077) === 0 ? null : (mode & 0o777).toString(8).padStart(4, '0');
}

export type PlaceSections = Pick<Sections, 'backend' | 'dataDir' | 'kafka' | 'redis'>;

/** Null with what is missing in `faults`; `nameOf` gives a setting the name that its reader knows. */
export function storePlaceOf(
  { backend, dataDir, kafka, redis }: PlaceSections,
  nameOf: (path: string) => string,
  faults: string[],
): StorePlace | null {
  switch (backend) {
    case 'embedded':
      if (dataDir !== null) return Object.freeze({ backend, dataDir });
      faults.push(`${nameOf('dataDir')} is missing: name the directory that holds the log`);
      return null;
    case 'kafka': {
      const { brokers, registryUrl, views, ...others } = kafka;
      const { url } = redis;
      const asked = `${nameOf('backend')} is kafka`;
      if (brokers === null) faults.push(`${nameOf('kafka.brokers')} is missing: ${asked}; name brokers as host:port`);
      if (registryUrl === null) {
        faults.push(`${nameOf('kafka.registryUrl')} is missing: ${asked}; name the root of the schema registry's API`);
      }
      if (url === null) faults.push(`${nameOf('redis.url')} is missing: ${asked}; write it like redis://host:6379/0`);
      const stateDir = views === 'files' ? dataDir : null;
      if (views === 'files' && stateDir === null) {
        faults.push(`${nameOf('dataDir')} is missing: ${nameOf('kafka.views')} is files; name a directory for them`);
        return null;
      }
      if (brokers === null || registryUrl === null || url === null) return null;
      return Object.freeze({
        ...{ backend, kafka: { ...others, brokers, registryUrl }, redis: { ...redis, url } },
        stateDir,
      });
    }
    default:
      return backend satisfies never;
  }
}
