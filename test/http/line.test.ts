/** Calls that keep the main thread busy: a few at once, the others in line, and nobody for ever. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { createBidReader } from '../../src/http/api/bid-reader.ts';
import { addBidRoutes, type BidRouteParts } from '../../src/http/api/bid-routes.ts';
import { createLine } from '../../src/http/api/line.ts';
import { mapping } from './parts.ts';

const patient = { atOnce: 2, longestWaitMs: 1_000 };

/** Work that ends when it is told to. */
function works() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
  };
  return { begun, work, end: (name: string) => ends.get(name)!() };
}

test('so many are worked on at once, and the others in the order in which they came', async () => {
  const line = createLine(patient);
  const { begun, work, end } = works();
  const all = ['a', 'b', 'c', 'd'].map((name) => line('one token', work(name)));
  await Promise.resolve();
  assert.deepEqual(begun, ['a', 'b']);
  end('b');
  assert.deepEqual(await all[1], { kind: 'done', result: 'b' });
  await Promise.resolve();
  assert.deepEqual(begun, ['a', 'b', 'c']);
  for (const name of ['a', 'c']) end(name);
  await Promise.all([all[0], all[2]]);
  end('d');
  assert.deepEqual(await all[3], { kind: 'done', result: 'd' });
});

test('a token with many calls does not keep another waiting behind them all', async () => {
  const line = createLine(patient);
  const { begun, work, end } = works();
  const many = ['a', 'b', 'c', 'd'].map((name) => line('busy', work(name)));
  const other = line('other', work('x'));
  await Promise.resolve();
  end('a');
  await many[0];
  await Promise.resolve();
  assert.deepEqual(begun, ['a', 'b', 'x']);
  end('x');
  assert.deepEqual(await other, { kind: 'done', result: 'x' });
});

test('who waits too long is not worked on, and a failure frees the place', async () => {
  const line = createLine({ atOnce: 1, longestWaitMs: 20 });
  const { begun, work, end } = works();
  const first = line('a', work('first'));
  assert.deepEqual(await line('b', work('late')), { kind: 'not-done' });
  end('first');
  await first;
  await assert.rejects(
    line('a', () => Promise.reject(new Error('gone'))),
    /gone/,
  );
  const after = line('a', work('after'));
  await Promise.resolve();
  end('after');
  assert.equal((await after).kind, 'done');
  assert.deepEqual(begun, ['first', 'after']);
});

test('of many searches for bids two ask the views at once; the others are told to come again', async () => {
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  const gate = Promise.withResolvers<[]>();
  let asking = 0;
  const query = () => {
    asking += 1;
    return gate.promise;
  };
  const guard = { only: () => async () => undefined, callerOf: () => ({ name: 'viewer' }) };
  const bids = createBidReader({ views: { query } } as unknown as Parameters<typeof createBidReader>[0]);
  addBidRoutes(app.withTypeProvider<ZodTypeProvider>(), { bids, guard } as unknown as BidRouteParts);
  const inTime: unknown[] = [];
  const answers = Array.from({ length: 20 }, async () => {
    const { statusCode, headers } = await app.inject({ url: '/bids?limit=200&code=nothing' });
    inTime.push([statusCode, headers['retry-after']]);
    if (inTime.length === 18) gate.resolve([]);
  });
  await Promise.all(answers);
  assert.equal(asking, 2);
  assert.deepEqual(inTime, [...Array(18).fill([503, '1']), [200, undefined], [200, undefined]]);
  await app.close();
});

test('of many looks at dead letters one is under way', async () => {
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  let looking = 0;
  let most = 0;
  const ends = async () => {
    looking += 1;
    most = Math.max(most, looking);
    await new Promise((resolve) => setTimeout(resolve, 5));
    looking -= 1;
    return new Map();
  };
  const guard = { only: () => async () => undefined, callerOf: () => ({ name: 'risk' }) };
  const parts = { log: { ends }, mapping, guard };
  addBidRoutes(app.withTypeProvider<ZodTypeProvider>(), parts as unknown as BidRouteParts);
  const answers = await Promise.all(Array.from({ length: 5 }, () => app.inject({ url: '/dead-letters' })));
  assert.deepEqual([most, ...answers.map(({ statusCode }) => statusCode)], [1, 200, 200, 200, 200, 200]);
  await app.close();
});
