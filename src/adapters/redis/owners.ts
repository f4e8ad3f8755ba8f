/** Which processes answer questions about partitions, in Redis: a key for each, which ends with it, and a set of their names. */
import type { Owner, OwnerBook } from '../../bidding/ports.ts';
import type { Connection } from './connection.ts';

export function createOwnerBook(connection: Connection, prefix: string): OwnerBook {
  const names = `${prefix}owners`;
  const keyOf = (instance: string) => `${prefix}owner:${instance}`;
  return {
    announce: async (owner, lifeMs) => {
      await connection.command('SET', keyOf(owner.instance), JSON.stringify(owner), 'PX', String(lifeMs));
      await connection.command('SADD', names, owner.instance);
    },
    withdraw: async (instance) => {
      await connection.command('DEL', keyOf(instance));
      await connection.command('SREM', names, instance);
    },
    read: async () => {
      const instances = (await connection.command<string[]>('SMEMBERS', names)).sort();
      if (instances.length === 0) return [];
      const texts = await connection.command<(string | null)[]>('MGET', ...instances.map(keyOf));
      const gone = instances.filter((_, place) => texts[place] === null);
      // Whoever lives says so again within a second.
      if (gone.length > 0) await connection.command('SREM', names, ...gone);
      return texts.flatMap((text, place) => {
        const owner = text === null ? null : ownerIn(text, instances[place]!);
        return owner === null ? [] : [owner];
      });
    },
  };
}

/** Null for what is none: whoever can write there may write anything. */
function ownerIn(text: string, instance: string): Owner | null {
  try {
    const { host, port, partitions = {} } = JSON.parse(text) as Owner;
    const areNumbers = (value: unknown) =>
      value === undefined || (Array.isArray(value) && value.every(Number.isSafeInteger));
    if (!/^[\w.:-]+$/.test(host) || !Number.isInteger(port) || port < 1 || port > 65_535) return null;
    return areNumbers(partitions.auctions) && areNumbers(partitions.flows)
      ? { instance, host, port, partitions }
      : null;
  } catch {
    return null;
  }
}
