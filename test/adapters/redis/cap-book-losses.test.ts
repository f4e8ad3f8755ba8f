/**
 * The cap book on a real server that loses it, answers too late or not at all, and owners that are frozen or killed. Two owners keep
 * a partition each; a cap has room for one claim of the two. The first is granted before something happens, the second comes after
 * it: it must never be granted while the first counts. Time is passed in.
 */
import assert from 'node:assert/strict';
import { before as beforeAll, test } from 'node:test';
import { Redis } from 'ioredis';
import { createCapBook } from '../../../src/adapters/redis/cap-book.ts';
import { type Connection, connect, redisDefaults } from '../../../src/adapters/redis/connection.ts';
import { addUsage, type CapOperation } from '../../../src/domain/cap-book.ts';
import type { Usage } from '../../../src/domain/offer.ts';
import { Fault } from '../../../src/errors.ts';
import type { CapBook, CapBookLost } from '../../../src/state/cap-book.ts';
import { type CapOwner, createCapOwner } from '../../../src/state/cap-owner.ts';
import { eventually } from '../../conformance/backend.ts';
import { after, limitOf, reserve } from '../../conformance/cap-book.ts';
import { describeOnServers, type OwnRedis } from './redis-server.ts';

const settings = { ageLimitMs: 2_000, pollMs: 250, maxOperations: 100 };
const cents = 60;
const cap = limitOf(['day'], 100);
let places = 0;

type Owner = {
  caps: CapOwner;
  moveTo: (redis: OwnRedis) => Promise<void>;
  wrap: (change: (book: CapBook) => CapBook) => void;
};

/** One desk: a log of operations, controls, and owners that go on only when they are told to. */
function createDesk() {
  places += 1;
  const prefix = `{losses ${places}}:`;
  const log: CapOperation[][] = [[], []];
  const controls: CapBookLost[] = [];
  const connections: Connection[] = [];
  let nowMs = 0;

  const open = async ({ url }: OwnRedis): Promise<CapBook> => {
    const connection = await connect({
      ...redisDefaults,
      url,
      commandTimeoutMs: 300,
      reconnectFirstMs: 10,
      reconnectMaxMs: 50,
    });
    connections.push(connection);
    return createCapBook(connection, prefix);
  };

  async function createOwner(
    redis: OwnRedis,
  ): Promise<
    Owner & { run: () => Promise<void>; book: () => CapBook; take: (partition: number, applied?: number) => void }
  > {
    let book = await open(redis);
    const applied = new Map<number, number>();
    let read = 0;
    const caps = createCapOwner({
      settings,
      partitions: log.length,
      sumsOf: (partition) => sumsOf(log[partition]!.slice(0, applied.get(partition)!)),
    });
    const readControls = () => {
      for (; read < controls.length; read += 1) caps.lossRead(controls[read]!, nowMs);
      caps.controlsRead(nowMs);
    };
    return {
      caps,
      moveTo: async (other) => {
        book = await open(other);
      },
      wrap: (change) => {
        book = change(book);
      },
      book: () => book,
      take: (partition, upTo = log[partition]!.length) => {
        applied.set(partition, upTo);
        caps.take({ partition, applied: upTo, acknowledged: 0, operations: log[partition]!.slice(0, upTo) });
      },
      /** Reads controls and log to their ends and carries out steps until there is nothing to do, or nobody answers. */
      run: async () => {
        readControls();
        for (const [partition, from] of applied) {
          const operations = log[partition]!.slice(from);
          applied.set(partition, log[partition]!.length);
          caps.folded(partition, log[partition]!.length, operations);
        }
        for (let steps = 0; steps < 20; steps += 1) {
          const next = caps.next(nowMs);
          try {
            if (next.kind === 'wait') return;
            if (next.kind === 'tell-loss') {
              controls.push(next.record);
              readControls();
            } else if (next.kind === 'read-ends')
              caps.endsRead(next.id, new Map(log.map((all, partition) => [partition, all.length])));
            else if (next.kind === 'begin') caps.answered(next, await book.begin(next.call), nowMs);
            else if (next.kind === 'commit') caps.answered(next, await book.commit(next.call), nowMs);
            else caps.answered(next, await book.apply(next.call), nowMs);
          } catch (fault) {
            assert.ok(fault instanceof Fault && fault.code === 'views-unavailable' && fault.retryable);
            caps.unanswered();
            return;
          }
        }
        assert.fail('the steps do not come to an end');
      },
    };
  }

  return {
    createOwner,
    controls,
    now: () => nowMs,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    claim: (partition: number, requestId: string) => {
      log[partition]!.push(reserve(log[partition]!.length, requestId, cents, [cap]));
    },
    end: (partition: number, requestId: string) => {
      const own = log[partition]!.find((each) => each.requestId === requestId)!;
      log[partition]!.push(after(own, 'release', log[partition]!.length));
    },
    close: () => Promise.all(connections.map((connection) => connection.close())),
  };
}

function sumsOf(operations: readonly CapOperation[]): Map<string, Usage> {
  const sums = new Map<string, Usage>();
  for (const { kind, keys, amountCents } of operations) addUsage(sums, keys, amountCents, kind === 'release' ? -1 : 1);
  return sums;
}

type Desk = ReturnType<typeof createDesk>;
type RunningOwner = Awaited<ReturnType<Desk['createOwner']>>;
/** `first` keeps partition 0, in which the claim `a` is granted; `second` keeps partition 1, to which the claim `b` comes. */
type Scene = {
  desk: Desk;
  redis: OwnRedis;
  other: OwnRedis;
  first: RunningOwner;
  second: RunningOwner;
  settle: (...owners: RunningOwner[]) => Promise<void>;
};

type Row = {
  name: string;
  /** Before the claim `a`. */
  before?: (scene: Scene) => Promise<void>;
  /** Comes to rest by itself; the cap is judged after it. */
  befall: (scene: Scene) => Promise<void>;
  /** Of the book in the end. */
  epoch: number;
  /** What became of the claim `a` for whoever owns its partition in the end. */
  a: 'granted' | 'forfeited';
};

async function command(redis: OwnRedis, ...words: string[]): Promise<unknown> {
  const client = new Redis(redis.url);
  client.on('error', () => {});
  try {
    return await client.call(words[0]!, ...words.slice(1));
  } finally {
    client.disconnect();
  }
}

const portOf = ({ url }: OwnRedis) => url.slice(url.lastIndexOf(':') + 1);

/** `copy` gets the data of `redis`, and is a master of its own then. */
async function copyTo(copy: OwnRedis, redis: OwnRedis): Promise<void> {
  await command(redis, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
  await command(copy, 'REPLICAOF', '127.0.0.1', portOf(redis));
  await eventually(
    async () => /master_link_status:up/.test(String(await command(copy, 'INFO', 'replication'))),
    20_000,
  );
  await command(copy, 'REPLICAOF', 'NO', 'ONE');
}

function forget(scene: Scene): Promise<void> {
  return scene.settle(scene.first, scene.second);
}

const rows: readonly Row[] = [
  {
    name: 'emptied',
    befall: async (scene) => {
      await scene.redis.flush();
      await forget(scene);
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'the sums alone lost',
    befall: async (scene) => {
      for (const key of (await command(scene.redis, 'KEYS', '*cap-book:sums')) as string[])
        await command(scene.redis, 'DEL', key);
      await forget(scene);
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'set back with a restart',
    before: ({ redis }) => redis.keep(),
    befall: async (scene) => {
      await scene.redis.rollBack();
      await forget(scene);
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'set back without a restart',
    before: ({ redis, other }) => copyTo(other, redis),
    befall: async (scene) => {
      await copyTo(scene.redis, scene.other);
      await forget(scene);
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'a fail-over that loses writes',
    before: ({ redis, other }) => copyTo(other, redis),
    befall: async (scene) => {
      for (const owner of [scene.first, scene.second]) await owner.moveTo(scene.other);
      await forget(scene);
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'two masters',
    before: ({ redis, other }) => copyTo(other, redis),
    befall: async ({ desk, other, first, second, settle }) => {
      await second.moveTo(other);
      desk.claim(1, 'b');
      await second.run();
      assert.deepEqual(desk.controls.at(-1)?.epoch, 2);
      // The first owner has no news: its verdicts end before the ends are read.
      desk.pass(settings.ageLimitMs);
      assert.equal(first.caps.verdictOf(0, 'a', desk.now()), 'granted');
      desk.pass(1);
      assert.equal(first.caps.verdictOf(0, 'a', desk.now()), 'pending');
      await second.run();
      assert.deepEqual(second.caps.trouble(desk.now()), { kind: 'filling', missing: [0] });
      assert.equal(second.caps.verdictOf(1, 'b', desk.now()), 'forfeited');
      await first.moveTo(other);
      await settle(first, second);
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'out of memory',
    befall: async ({ desk, redis, first, second, settle }) => {
      await command(redis, 'CONFIG', 'SET', 'maxmemory', '1');
      try {
        desk.claim(1, 'b');
        await second.run();
        assert.equal(second.caps.verdictOf(1, 'b', desk.now()), 'pending');
        assert.deepEqual(second.caps.trouble(desk.now()), { kind: 'unanswered' });
      } finally {
        await command(redis, 'CONFIG', 'SET', 'maxmemory', '0');
      }
      await settle(first, second);
    },
    epoch: 1,
    a: 'granted',
  },
  {
    name: 'reply lost',
    befall: async ({ desk, second, settle }) => {
      second.wrap((book) => {
        let isLost = false;
        return {
          ...book,
          apply: async (call) => {
            const answer = await book.apply(call);
            if (isLost || call.parts.every(({ operations }) => operations.length === 0)) return answer;
            isLost = true;
            throw new Fault('views-unavailable', 'the answer was lost');
          },
        };
      });
      desk.claim(1, 'b');
      await second.run();
      assert.equal(second.caps.verdictOf(1, 'b', desk.now()), 'pending');
      await settle(second);
    },
    epoch: 1,
    a: 'granted',
  },
  {
    name: 'unreachable',
    befall: async ({ desk, redis, second, settle }) => {
      redis.freeze();
      try {
        desk.claim(1, 'b');
        await second.run();
        assert.equal(second.caps.verdictOf(1, 'b', desk.now()), 'pending');
        assert.deepEqual(second.caps.trouble(desk.now()), { kind: 'unanswered' });
      } finally {
        redis.thaw();
      }
      // The call that nobody waited for may be carried out as well.
      await eventually(async () => {
        await settle(second);
        return second.caps.trouble(desk.now()) === null;
      });
    },
    epoch: 1,
    a: 'granted',
  },
  {
    name: 'owner frozen for 60 s after the verdict',
    befall: async ({ desk, redis, first, second, settle }) => {
      await redis.flush();
      const third = await desk.createOwner(redis);
      third.take(0);
      await settle(third, second);
      desk.pass(60_000);
      assert.equal(first.caps.verdictOf(0, 'a', desk.now()), 'pending');
      await settle(first, third, second);
      assert.equal(third.caps.verdictOf(0, 'a', desk.now()), 'forfeited');
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'owner frozen for 60 s before publishing',
    befall: async ({ desk, redis, first, second, settle }) => {
      // The last check: what is written after it counts all the same.
      assert.equal(first.caps.verdictOf(0, 'a', desk.now()), 'granted');
      await redis.flush();
      const third = await desk.createOwner(redis);
      third.take(0);
      desk.pass(60_000);
      await settle(third, second);
      await settle(first);
    },
    epoch: 2,
    a: 'forfeited',
  },
  {
    name: 'owner killed while it publishes',
    befall: async ({ desk, redis, first, settle }) => {
      first.caps.drop(0);
      // From a store that did not know the claim yet.
      first.take(0, 0);
      assert.equal(first.caps.verdictOf(0, 'a', desk.now()), 'pending');
      await settle(first);
      const third = await desk.createOwner(redis);
      third.take(0);
      await settle(third);
      assert.equal(third.caps.verdictOf(0, 'a', desk.now()), 'granted');
    },
    epoch: 1,
    a: 'granted',
  },
  {
    name: 'partition without an owner',
    befall: async ({ desk, redis, first, second, settle }) => {
      first.caps.drop(0);
      await redis.flush();
      desk.claim(1, 'b');
      await settle(second);
      assert.deepEqual(second.caps.trouble(desk.now()), { kind: 'filling', missing: [0] });
      first.take(0);
      await settle(first, second);
    },
    epoch: 2,
    a: 'forfeited',
  },
];

await describeOnServers('the cap book is lost, late or away', 2, ([redis, other]) => {
  // A master that gets its first replica takes another identity, which is a loss like any other.
  beforeAll(() => copyTo(other!, redis!));

  for (const { name, before, befall, epoch, a } of rows) {
    test(name, async () => {
      const desk = createDesk();
      const [firstOwner, secondOwner] = [await desk.createOwner(redis!), await desk.createOwner(redis!)];
      const owners = [firstOwner, secondOwner];
      for (const [partition, owner] of owners.entries()) owner.take(partition);
      /** Long enough for a refill. A connection that was idle may have to be made anew first. */
      const settle = async (...some: RunningOwner[]) => {
        const run = async () => {
          for (const owner of some) await owner.run();
        };
        await eventually(async () => {
          await run();
          return some.every(({ caps }) => caps.trouble(desk.now())?.kind !== 'unanswered');
        });
        for (let round = 0; round < 8; round += 1) {
          desk.pass(500);
          await run();
        }
      };
      const scene: Scene = { desk, redis: redis!, other: other!, first: firstOwner, second: secondOwner, settle };
      try {
        await settle(...owners);
        await before?.(scene);
        desk.claim(0, 'a');
        await settle(firstOwner);
        assert.equal(firstOwner.caps.verdictOf(0, 'a', desk.now()), 'granted');
        await befall(scene);
        if (!['two masters', 'out of memory', 'reply lost', 'unreachable', 'partition without an owner'].includes(name))
          desk.claim(1, 'b');
        await settle(...owners);

        assert.equal(desk.controls.at(-1)?.epoch, epoch);
        assert.equal(firstOwner.caps.verdictOf(0, 'a', desk.now()), a);
        const id = secondOwner.caps.openBookId();
        assert.ok(id !== null);
        const verdict = secondOwner.caps.verdictOf(1, 'b', desk.now());
        assert.ok(verdict === 'refused' || verdict === 'forfeited', `the second claim is ${verdict}`);
        const promised = verdict === 'refused' ? cents : 2 * cents;
        const used = await secondOwner.book().usage(id, ['day']);
        assert.equal(used?.get('day')?.amountCents, promised);

        desk.end(0, 'a');
        desk.end(1, 'b');
        desk.claim(1, 'c');
        await settle(...owners);
        assert.equal(secondOwner.caps.verdictOf(1, 'c', desk.now()), 'granted', 'what ended made room');
      } finally {
        await desk.close();
      }
    });
  }
});
