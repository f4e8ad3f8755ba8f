/** Where processes make themselves known to each other: as long as they say so, and only as what they are. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, connect, redisDefaults } from '../../../src/adapters/redis/connection.ts';
import { createOwnerBook } from '../../../src/adapters/redis/owners.ts';
import { createAnnouncing } from '../../../src/queries/announcing.ts';
import { describeOnRedis } from './redis-server.ts';

await describeOnRedis('the owners of partitions in Redis', (redis) => {
  const prefix = 'owners';
  let connection: Connection;
  before(async () => {
    connection = await connect({ ...redisDefaults, url: redis.url });
  });
  after(() => connection.close());

  const owner = (instance: string, ...auctions: number[]) => ({
    ...{ instance, host: '127.0.0.1', port: 7, partitions: { auctions } },
  });

  test('each is known until it says no more, or goes', async () => {
    const book = createOwnerBook(connection, `{${prefix}}:`);
    assert.deepEqual(await book.read(), []);
    await book.announce(owner('b', 1, 2), 60_000);
    await book.announce(owner('a', 0), 100);
    assert.deepEqual(await book.read(), [owner('a', 0), owner('b', 1, 2)]);
    await book.announce(owner('b', 2), 60_000);
    await sleep(200);
    assert.deepEqual(await book.read(), [owner('b', 2)]);
    assert.deepEqual(await connection.command('SMEMBERS', `{${prefix}}:owners`), ['b']);
    await book.withdraw('b');
    assert.deepEqual(await book.read(), []);
  });

  test('what is no owner is nobody', async () => {
    const book = createOwnerBook(connection, `{${prefix}}strange:`);
    const strange = ['', 'no JSON', '7', 'null', '{"host":"a/b","port":7}', '{"host":"a","port":0}'];
    for (const [place, text] of [...strange, '{"host":"a","port":1,"partitions":{"auctions":["0"]}}'].entries()) {
      await connection.command('SADD', `{${prefix}}strange:owners`, `${place}`);
      await connection.command('SET', `{${prefix}}strange:owner:${place}`, text);
    }
    assert.deepEqual(await book.read(), []);
  });

  test('a process says at once when its partitions change, again and again, and that it goes', async () => {
    const book = createOwnerBook(connection, `{${prefix}}life:`);
    const owned = [0];
    const faults: unknown[] = [];
    const announcing = createAnnouncing({
      ...{ book, owner: () => owner('a', ...owned), lifeMs: 1_500 },
      onFault: (fault) => faults.push(fault),
    });
    const read = async () => (await book.read()).map(({ partitions }) => partitions.auctions);
    announcing.changed();
    assert.deepEqual(await read(), [], 'it has not begun');
    announcing.start();
    await sleep(100);
    assert.deepEqual(await read(), [[0]]);
    owned.push(1);
    announcing.changed();
    await sleep(100);
    assert.deepEqual(await read(), [[0, 1]]);
    await sleep(2_000);
    assert.deepEqual(await read(), [[0, 1]], 'longer than it counts for');
    await announcing.stop();
    assert.deepEqual([await read(), faults], [[], []]);
  });
});
