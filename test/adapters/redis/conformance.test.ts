/** The Redis adapter is held to the ports by the suites that hold the embedded one. */
import { after, before } from 'node:test';
import { testControl } from '../../conformance/control.ts';
import { testMarginCache } from '../../conformance/margin-cache.ts';
import { testViews } from '../../conformance/views.ts';
import { type RedisServer, redisMissing, startRedis } from './redis-server.ts';
import { redisKind } from './redis-store.ts';

let server: RedisServer;
before(async () => {
  server = await startRedis();
});
after(() => server.stop());

const kind = redisKind(() => server.url);
testViews(kind);
testMarginCache(kind);
testControl(kind);
