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
  /** `stateDir`: where a process keeps the views of its partitions; null for a command, which folds what it needs for itself, and for one that takes up none. */
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
      if (views === 'redis') {
        faults.push(
          `${nameOf('kafka.views')} is redis: views are kept in files now, which each process folds from the log by itself, so nothing of them is lost; leave the setting out, name a directory of this machine in ${nameOf('dataDir')}, and let the processes of the desk reach each other (kafka.queryHost, kafka.queryPort)`,
        );
        return null;
      }
      if (brokers === null || registryUrl === null || url === null) return null;
      return Object.freeze({
        ...{ backend, kafka: { ...others, brokers, registryUrl }, redis: { ...redis, url } },
        stateDir: dataDir,
      });
    }
    default:
      return backend satisfies never;
  }
}
