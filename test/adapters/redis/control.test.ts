/** What operators said outlives a loss as long as one process lives that had heard it, and reaches every instance at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, redisDefaults } from '../../../src/adapters/redis/connection.ts';
import { openRedisStore, type RedisStore } from '../../../src/adapters/redis/store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createGate } from '../../../src/bidding/gate.ts';
import type { ControlCopies, ControlCopy, Service } from '../../../src/bidding/ports.ts';
import { Fault } from '../../../src/errors.ts';
import { settings } from '../../bidding/parts.ts';
import { eventually } from '../../conformance/backend.ts';
import { describeOnRedis } from './redis-server.ts';

const pause = { by: 'ana', reason: 'strange rates', at: 1_763_700_000_000 };

await describeOnRedis('redis control', (redis) => {
  const withThree = async (name: string, run: (a: RedisStore, b: RedisStore, desk: RedisStore) => Promise<void>) => {
    const open = () => openRedisStore({ url: redis.url, keyPrefix: `{${name}}:`, reconnectFirstMs: 10 });
    const stores = await Promise.all([open(), open(), open()]);
    try {
      await run(...(stores as [RedisStore, RedisStore, RedisStore]));
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  };

  test('a pause and the lower cap are said again by those who had heard them', () =>
    withThree('lost', async (a, b, fresh) => {
      await a.control.setCap('daily', 500, pause);
      await b.control.read();
      const revision = await a.control.setPause(pause);
      await redis.flush();
      // B had not heard of the pause yet; what it says again does not bury what A knows.
      const again = await b.control.read();
      assert.deepEqual([again.pause, again.caps], [null, { daily: 500 }]);
      const restored = await a.control.read();
      assert.deepEqual([restored.pause, restored.caps], [pause, { daily: 500 }]);
      assert.ok(restored.revision > revision);
      assert.deepEqual(await b.control.read(), restored);
      assert.deepEqual(await fresh.control.read(), restored);
      const resumed = await fresh.control.resume(pause);
      for (const { control } of [a, b])
        assert.deepEqual([(await control.read()).revision, (await control.read()).pause], [resumed, null]);
    }));

  test('an older dump lifts no pause', () =>
    withThree('older', async (a, b, fresh) => {
      await a.control.setCap('daily', 900, pause);
      await redis.keep();
      await a.control.setPause(pause);
      await a.control.setCap('daily', 300, pause);
      await redis.rollBack();
      await eventually(() =>
        fresh.control.read().then(
          () => true,
          () => false,
        ),
      );
      assert.equal((await fresh.control.read()).pause, null);
      await eventually(() =>
        a.control.read().then(
          () => true,
          () => false,
        ),
      );
      const expected = { pause, caps: { daily: 300 } };
      for (const { control } of [a, b, fresh]) {
        await eventually(() =>
          control.read().then(
            () => true,
            () => false,
          ),
        );
        const { pause: found, caps } = await control.read();
        assert.deepEqual({ pause: found, caps }, expected);
      }
    }));

  test('an order whose command died before the log had it is kept by a process that obeys it', async () => {
    const kept: string[] = [];
    let logIsUp = false;
    const open = () =>
      openRedisStore(
        { url: redis.url, keyPrefix: '{unkept}:', reconnectFirstMs: 10 },
        {
          read: async () => kept.map((text, index) => ({ place: String(index), text })),
          passOver: (place) => assert.fail(place),
          needed: true,
          add: async (copy) => {
            if (!logIsUp) throw new Error('the log is away');
            kept.push(copy);
          },
        },
      );
    const [obeying, command] = await Promise.all([open(), open()]);
    await obeying.control.acknowledge('i', (await obeying.control.read()).revision, 1);
    await assert.rejects(command.control.setPause(pause), { code: 'order-unkept', message: /The log did not keep it/ });
    await command.close();
    logIsUp = true;
    await obeying.control.acknowledge('i', (await obeying.control.read()).revision, 2);
    await eventually(() => kept.length > 0);
    await obeying.control.acknowledge('i', (await obeying.control.read()).revision, 3);
    await obeying.close();
    assert.equal(kept.length, 1, 'one copy of one order');
    // Redis is emptied while no process runs.
    const server = await connect({ ...redisDefaults, url: redis.url });
    assert.equal(await server.command('DEL', '{unkept}:control'), 1);
    await server.close();
    const next = await open();
    try {
      assert.deepEqual((await next.control.read()).pause, pause);
    } finally {
      await next.close();
    }
  });

  /** Redis holds what was said before the last order of `kept`. */
  async function setBack(name: string, kept: ControlCopy[]): Promise<void> {
    const copies: ControlCopies = {
      read: async () => kept,
      add: async (text) => void kept.push({ place: String(kept.length), text }),
      passOver: () => undefined,
      needed: true,
    };
    const store = await openRedisStore({ url: redis.url, keyPrefix: `{${name}}:` }, copies);
    await store.control.setCap('daily', 900, pause);
    const server = await connect({ ...redisDefaults, url: redis.url });
    const old = await server.command<string[]>('HGETALL', `{${name}}:control`);
    await store.control.setPause(pause);
    await store.close();
    await server.command('HSET', `{${name}}:control`, ...old);
    await server.close();
  }

  test('copies that nobody can read hide no pause, and are told by name, once', async () => {
    const kept: ControlCopy[] = [];
    await setBack('unread', kept);
    const [whole] = kept.map(({ text }) => JSON.parse(text));
    const broken = ['{not json', 'null', '{}', '[]', '7', { era: 'x', revision: 'x' }, { ...whole, caps: [null] }];
    const others = [
      { caps: 7 },
      { pause: true },
      { snoozes: [{}] },
      { ruleOrders: null },
      { changes: [7] },
      { era: 1 },
    ];
    const unread = [...broken, ...others.map((fields) => ({ ...whole, ...fields, revision: 99 }))];
    for (const [index, value] of unread.entries()) {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      kept.splice(index, 0, { place: `before ${index}`, text });
      kept.push({ place: `after ${index}`, text });
    }
    const told: string[] = [];
    const store = await openRedisStore(
      { url: redis.url, keyPrefix: '{unread}:' },
      { read: async () => kept, add: async () => {}, passOver: (place) => told.push(place), needed: true },
    );
    try {
      assert.deepEqual((await store.control.read()).pause, pause);
      assert.deepEqual(told, [
        ...unread.map((_, index) => `before ${index}`),
        ...unread.map((_, index) => `after ${index}`),
      ]);
      const { changes } = await store.control.history();
      assert.ok(changes.some(({ kind }) => kind === 'paused'));
    } finally {
      await store.close();
    }
  });

  test('while the copies cannot be read, what Redis says is obeyed by nobody, and a pause can be ordered', async () => {
    const kept: ControlCopy[] = [];
    await setBack('slow', kept);
    let logIsUp = false;
    const copies = (needed: boolean): ControlCopies => ({
      read: async () => {
        if (!logIsUp) throw new Fault('log-unavailable', 'the log is away');
        return kept;
      },
      add: async (text) => void kept.push({ place: String(kept.length), text }),
      passOver: assert.fail,
      needed,
    });
    const open = (needed: boolean) => openRedisStore({ url: redis.url, keyPrefix: '{slow}:' }, copies(needed));
    const [desk, command] = await Promise.all([open(true), open(false)]);
    const away = { code: 'log-unavailable' };
    try {
      await assert.rejects(desk.control.read(), away);
      await assert.rejects(desk.control.read(), away);
      // A command shows what there is, and orders nothing that rests on it.
      assert.deepEqual((await command.control.read()).caps, { daily: 900 });
      await assert.rejects(command.control.resume(pause), away);
      await assert.rejects(command.control.setCap('daily', 1_000, pause), away);
      const later = { ...pause, by: 'eva' };
      await assert.rejects(command.control.setPause(later), { code: 'order-unkept' });
      assert.equal((await command.control.read()).pause?.by, 'eva');
      assert.equal(kept.length, 2, 'a copy of what was ordered without the others would hide them');
      await assert.rejects(desk.control.read(), away);
      logIsUp = true;
      const { pause: found, changes } = await desk.control.read();
      assert.deepEqual(found, later);
      assert.deepEqual(changes.flatMap(({ kind, by }) => (kind === 'paused' ? by : [])).sort(), ['ana', 'eva']);
    } finally {
      await Promise.all([desk.close(), command.close()]);
    }
  });

  test('a pause closes the gate of every instance within a second', () =>
    withThree('gates', async (a, b, desk) => {
      const service = { ready: () => true } as Service;
      let stopping = false;
      const common = {
        service,
        clock: createSystemClock(),
        settings,
        stopping: () => stopping,
        policy: () => ({}),
        timeDoubt: () => null,
        viewsWhole: () => true,
        onOpen: () => {},
      };
      const gates = [a, b].map((store, i) => createGate({ ...common, instance: `i${i}`, control: store.control }));
      await Promise.all(gates.map((gate) => gate.start()));
      try {
        assert.ok(gates.every((gate) => gate.isOpen()));
        const revision = await desk.control.setPause(pause);
        await eventually(() => gates.every((gate) => gate.closedBecause() === 'paused'), 1_000);
        await eventually(async () => {
          const obeyed = await desk.control.acknowledged();
          return obeyed.length === 2 && obeyed.every((each) => each.revision === revision);
        }, 1_000);
      } finally {
        stopping = true;
        for (const gate of gates) await gate.stop();
      }
    }));

  test('an instance silent for a day is no longer listed', () =>
    withThree('silent', async (a, b) => {
      await a.control.acknowledge('old', 1, 1_000);
      await b.control.acknowledge('new', 1, 1_001 + 86_400_000);
      assert.deepEqual(
        (await b.control.acknowledged()).map(({ instance }) => instance),
        ['new'],
      );
      await a.control.acknowledge('old', 1, 1_002);
      assert.equal((await a.control.acknowledged()).length, 2);
    }));
});
