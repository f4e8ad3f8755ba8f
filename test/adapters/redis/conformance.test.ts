/** The Redis adapter is held to the ports by the suites that hold the embedded one. */
import { testControl } from '../../conformance/control.ts';
import { testMarginCache } from '../../conformance/margin-cache.ts';
import { describeOnRedis } from './redis-server.ts';
import { redisKind } from './redis-store.ts';

await describeOnRedis('redis', ({ url }) => {
  const kind = redisKind(url);
  testMarginCache(kind);
  testControl(kind);
});
