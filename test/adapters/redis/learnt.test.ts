/** What partitions have learnt, on a real server. */
import { openRedisStore } from '../../../src/adapters/redis/store.ts';
import { testLearntBook } from '../../conformance/learnt-book.ts';
import { describeOnRedis } from './redis-server.ts';

await describeOnRedis('what is learnt in redis', (redis) => {
  testLearntBook('redis', async () => {
    const store = await openRedisStore({ url: redis.url, keyPrefix: `{learnt ${Math.random()}}:` });
    return { book: store.learntBook('of a log'), empty: async () => redis.flush(), close: store.close };
  });
});
