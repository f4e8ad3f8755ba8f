/** The script of the cap book is held to the suite of all cap books, and call by call to the book in memory that the simulation plays. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createCapBook } from '../../../src/adapters/redis/cap-book.ts';
import { connect, redisDefaults } from '../../../src/adapters/redis/connection.ts';
import type { CapOperation } from '../../../src/domain/cap-book.ts';
import type { ApplyCall, BookAnswer, CapBook } from '../../../src/state/cap-book.ts';
import { createMemoryCapBook } from '../../../src/state/memory-cap-book.ts';
import { after, limitOf, reserve, testCapBook } from '../../conformance/cap-book.ts';
import { describeOnRedis } from './redis-server.ts';

let places = 0;
const newPlace = () => {
  places += 1;
  return `{book ${places}}:`;
};

const partitions = [0, 1];
const limits = [limitOf(['a', 'b', 'a'], 120), limitOf(['b'], null, 3), limitOf(['c'], null)];
/** Request i is of partition i % 2. */
const requests = Array.from({ length: 8 }, (_, i) => reserve(0, `r${i}`, 20 + 10 * i, limits.slice(i % 3)));

type Part = ApplyCall['parts'][0];
type Verb = 'begin' | 'commit' | 'apply' | 'apply again';

/**
 * The next calls of a desk of one process, mostly: they are repeated, come late, are meant for another book, or release what was
 * never reserved.
 */
function createCaller(draw: (most: number) => number) {
  let epoch = 0;
  const next = [0, 0];
  const counted = new Set<number>();
  const parts: Part[][] = [];
  const make = (partition: number): Part => {
    const acknowledged = next[partition]! - (draw(3) === 0 ? 1 : 0);
    const operations: CapOperation[] = [];
    for (let more = draw(4); more > 0; more -= 1) {
      const offset = next[partition]! + draw(2);
      next[partition] = offset + 1;
      const request = 2 * draw(3) + partition;
      const reservation = { ...requests[request]!, offset };
      const isRight = draw(60) > 0;
      if (counted.has(request) === isRight) {
        const isOver = draw(2) > 0;
        operations.push(isOver ? after(reservation, 'release', offset) : after(reservation, 'hold', offset));
        if (isOver) counted.delete(request);
      } else {
        operations.push(draw(3) > 0 ? reservation : after(reservation, 'hold', offset, false));
        counted.add(request);
      }
    }
    return { partition, acknowledged: Math.max(0, acknowledged), applied: next[partition]!, operations };
  };
  return (known: BookAnswer): { verb: Verb; epoch: number; parts: Part[]; flaw: 'server' | 'id' | null } => {
    const flaw = draw(20) > 0 ? null : draw(1) === 0 ? 'server' : 'id';
    if (known.book === null || draw(40) === 0) {
      epoch += draw(1);
      counted.clear();
      return { verb: 'begin', epoch, parts: [], flaw };
    }
    if (!known.book.isOpen) {
      const [partition] = known.missing;
      const applied = next[partition!]!;
      return {
        verb: 'commit',
        epoch,
        parts: [{ partition: partition!, acknowledged: 0, applied, operations: [] }],
        flaw,
      };
    }
    if (parts.length > 0 && draw(4) === 0)
      return { verb: 'apply again', epoch, parts: parts.at(-1 - draw(2)) ?? parts[0]!, flaw };
    const made = partitions.filter(() => draw(3) > 0).map(make);
    parts.push(made);
    return { verb: 'apply', epoch, parts: made, flaw };
  };
}

await describeOnRedis('the cap book in Redis', ({ url }) => {
  const withBook = async (run: (book: CapBook) => Promise<void>) => {
    const connection = await connect({ ...redisDefaults, url });
    try {
      await run(createCapBook(connection, newPlace()));
    } finally {
      await connection.close();
    }
  };

  const connections: { close: () => Promise<void> }[] = [];
  testCapBook({
    name: 'redis',
    create: async () => {
      const connection = await connect({ ...redisDefaults, url });
      connections.push(connection);
      return createCapBook(connection, newPlace());
    },
  });

  test('the script and the book in memory answer alike, whatever they are called with', async () => {
    for (const connection of connections) await connection.close();
    let dones = 0;
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat(1_000_000)), (stream) =>
        withBook(async (script) => {
          const memory = createMemoryCapBook({ server: 'memory', newName: newPlace });
          const look = { epoch: 0, server: '', partitions: partitions.length };
          const nextCall = createCaller((most) => stream.next().value % (most + 1));
          let [known, expected] = [await script.begin(look), await memory.begin(look)];
          for (let calls = 0; calls < 60; calls += 1) {
            const call = nextCall(known);
            const [found, due] = [await play(script, call, known), await play(memory, call, expected)];
            assert.deepEqual(comparable(found), comparable(due));
            dones += found?.isDone ? 1 : 0;
            refusals += found?.refused.length ?? 0;
            [known, expected] = [found ?? (await script.begin(look)), due ?? (await memory.begin(look))];
            if (known.book === null || expected.book === null) continue;
            const keys = ['a', 'b', 'c'];
            assert.deepEqual(await script.usage(known.book.id, keys), await memory.usage(expected.book.id, keys));
          }
        }),
      ),
      { numRuns: 30 },
    );
    assert.ok(dones > 600 && refusals > 150, `only ${dones} calls were carried out, with ${refusals} refusals`);
  });
});

/** Carries out one call on a book that answered so before; one that died answers with nothing. */
async function play(
  book: CapBook,
  { verb, epoch, parts, flaw }: ReturnType<ReturnType<typeof createCaller>>,
  known: BookAnswer,
): Promise<BookAnswer | null> {
  const server = flaw === 'server' ? 'another' : known.server;
  const id = flaw === 'id' ? 'another' : (known.book?.id ?? '');
  if (verb === 'begin') return book.begin({ epoch, server, partitions: partitions.length });
  if (verb !== 'commit') return book.apply({ server, id, parts }).catch(() => null);
  const sums = new Map([['a', { amountCents: 10, count: 1 }]]);
  return book.commit({ server, id, parts: parts.map(({ partition, applied }) => ({ partition, applied, sums })) });
}

/** Names are drawn by each book. */
function comparable(answer: BookAnswer | null): unknown {
  if (answer === null) return null;
  const { server: _, book, ...rest } = answer;
  return { ...rest, book: book === null ? null : { ...book, id: '' } };
}
