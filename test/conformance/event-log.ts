/** What any event log must do, whatever the number of its partitions. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { claimEarlierTerms, readEarlierTerms } from '../../src/bidding/earlier-terms.ts';
import { evolveAll } from '../../src/bidding/evolve.ts';
import type { Consumer, LogBatch, LogEntry, NewEntry } from '../../src/bidding/ports.ts';
import { placesAfter, type RecordPlaces } from '../../src/domain/record-places.ts';
import type { FoldTerms, Topic, Topics } from '../../src/domain/records.ts';
import { accepted, answered, claimed, requested, settings } from '../bidding/parts.ts';
import { otherTerms } from '../bidding/terms.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { eventually, type LogBackend, type LogKind, withBackend } from './backend.ts';
import { auctionEntry } from './samples.ts';

type Read = { batches: LogBatch<Topics['auctions']>[]; consumer: Consumer; faults: unknown[] };

async function consumeAll(
  backend: LogBackend,
  maxEntries = 50,
  from: (partition: number) => number = () => 0,
): Promise<Read> {
  const batches: LogBatch<Topics['auctions']>[] = [];
  const faults: unknown[] = [];
  const consumer = await backend.log.consume({
    topic: 'auctions',
    scope: 'owned',
    onLost: () => undefined,
    from: async (partition) => from(partition),
    maxEntries,
    handler: async (batch) => {
      batches.push(batch);
    },
    onFault: (fault) => faults.push(fault),
  });
  return { batches, consumer, faults };
}

const entriesOf = (read: Read) => read.batches.flatMap(({ entries }) => entries);

function reasonsOf(entries: readonly LogEntry<Topics['auctions']>[], key: string): string[] {
  return entries
    .filter((entry) => entry.key === key)
    .map(({ record }) => (record.kind === 'resolved' ? record.reason : ''));
}

async function readAll<T extends Topic>(backend: LogBackend, topic: T): Promise<LogEntry<Topics[T]>[]> {
  const all: LogEntry<Topics[T]>[] = [];
  for (const [partition, end] of await backend.log.ends(topic)) {
    for (let from = 0; from < end; ) {
      const page = await backend.log.read(topic, partition, from, 500);
      assert.ok(page.length > 0, `partition ${partition} has nothing at ${from} of ${end}`);
      all.push(...page);
      from = page.at(-1)!.offset + 1;
    }
  }
  return all;
}

function assertInOrder(read: Read, maxEntries: number): void {
  const nexts = new Map<number, number>();
  const partitions = new Map<string, number>();
  for (const { partition, first, next, entries } of read.batches) {
    assert.ok(entries.length > 0 && entries.length <= maxEntries);
    const expected = nexts.get(partition);
    if (expected !== undefined) assert.equal(first, expected);
    assert.equal(entries[0]!.offset, first);
    assert.equal(entries.at(-1)!.offset + 1, next);
    for (const [index, entry] of entries.entries()) {
      assert.equal(entry.partition, partition);
      if (index > 0) assert.ok(entry.offset > entries[index - 1]!.offset);
      assert.equal(partitions.get(entry.key) ?? partition, partition, 'one key, one partition');
      partitions.set(entry.key, partition);
    }
    nexts.set(partition, next);
  }
}

const numbered = (from: number, count: number, keys = 5): NewEntry[] =>
  Array.from({ length: count }, (_, index) => auctionEntry(`k${(from + index) % keys}`, `${from + index}`));

const expectedReasons = (key: number, count: number, keys = 5): string[] =>
  Array.from({ length: count }, (_, index) => index)
    .filter((index) => index % keys === key)
    .map(String);

function testReading(kind: LogKind): void {
  test(`${kind.name}: every entry is delivered once, in order per key, before and after the consumer starts`, () =>
    withBackend(kind, async (backend) => {
      await backend.log.append(numbered(0, 30));
      const read = await consumeAll(backend, 7);
      for (let from = 30; from < 130; from += 10) void backend.log.append(numbered(from, 10));
      await eventually(() => entriesOf(read).length >= 130);
      await read.consumer.stop();
      assertInOrder(read, 7);
      for (let key = 0; key < 5; key += 1) {
        assert.deepEqual(reasonsOf(entriesOf(read), `k${key}`), expectedReasons(key, 130));
      }
      assert.deepEqual(read.faults, []);
    }));

  test(`${kind.name}: what is delivered, read by offset and read by key is the same, to the last character`, () =>
    withBackend(kind, async (backend) => {
      const odd = 'línea\u2028 "quoted" \\ \u0000 𝄞 12345678901234567890';
      const read = await consumeAll(backend);
      await backend.log.append([auctionEntry('a', odd), auctionEntry('b', 'x'), auctionEntry('a', 'z')]);
      await eventually(() => entriesOf(read).length === 3);
      await read.consumer.stop();
      const byPlace = (a: LogEntry<unknown>, b: LogEntry<unknown>) => a.partition - b.partition || a.offset - b.offset;
      const delivered = entriesOf(read).sort(byPlace);
      assert.deepEqual((await readAll(backend, 'auctions')).sort(byPlace), delivered);
      const ofKey = await backend.log.readKey('auctions', 'a');
      assert.deepEqual(
        ofKey,
        delivered.filter(({ key }) => key === 'a'),
      );
      assert.deepEqual(reasonsOf(ofKey, 'a'), [odd, 'z']);
      assert.deepEqual(await backend.log.readKey('auctions', 'nobody'), []);
    }));

  test(`${kind.name}: topics do not mix`, () =>
    withBackend(kind, async (backend) => {
      const input = { kind: 'settings', hash: 'h', content: '{}' } as const;
      await backend.log.append([
        auctionEntry('a', '1'),
        { topic: 'inputs', key: 'h', record: input },
        auctionEntry('a', '2'),
      ]);
      assert.deepEqual(
        (await readAll(backend, 'inputs')).map(({ record }) => record),
        [input],
      );
      assert.deepEqual(reasonsOf(await readAll(backend, 'auctions'), 'a'), ['1', '2']);
      assert.deepEqual(await readAll(backend, 'callbacks'), []);
    }));

  test(`${kind.name}: a consumer goes on from the offset it asks for, also after a restart`, async () => {
    const place = await kind.createPlace();
    const before = await kind.open(place);
    await before.log.append(numbered(0, 40));
    const half = new Map([...(await before.log.ends('auctions'))].map(([partition, end]) => [partition, end >> 1]));
    await before.close();
    const after = await kind.open(place);
    try {
      const expected = (await readAll(after, 'auctions')).filter(
        ({ partition, offset }) => offset >= (half.get(partition) ?? 0),
      );
      const read = await consumeAll(after, 50, (partition) => half.get(partition) ?? 0);
      await after.log.append(numbered(40, 5));
      await eventually(() => entriesOf(read).length === expected.length + 5);
      await read.consumer.stop();
      assertInOrder(read, 50);
      for (const [partition, from] of half) {
        const first = read.batches.find((batch) => batch.partition === partition);
        if (first !== undefined) assert.equal(first.first, from);
      }
    } finally {
      await after.close();
    }
  });
}

/** The places of a key, as a ledger keeps them. */
function placesOf(read: Read, key: string): RecordPlaces {
  const own = entriesOf(read).filter((entry) => entry.key === key);
  const folded = own.reduce<{ places?: RecordPlaces } | null>(
    (before, { offset }) => ({ places: placesAfter(before, offset)! }),
    null,
  );
  return folded!.places!;
}

function testEarlierTerms(kind: LogKind): void {
  test(`${kind.name}: processes with other settings fold records of an earlier version to the same rows`, () =>
    withBackend(kind, async ({ log }) => {
      const requestId = 'earlier';
      const life = [requested({ request: { ...sampleRequest, closesAt: null } }), claimed(), answered(accepted)].map(
        (record) => ({
          ...record,
          requestId,
        }),
      );
      await log.append(life.map((record) => ({ topic: 'auctions', key: requestId, record })));
      const folded = async (terms: FoldTerms) =>
        evolveAll(
          (await log.readKey('auctions', requestId)).map(({ record }) => record),
          terms,
        );
      assert.notDeepEqual(await folded(settings), await folded(otherTerms), 'its records tell no terms');
      assert.equal(await readEarlierTerms(log), null);
      const claims = [settings, otherTerms, settings, otherTerms].map((own, index) =>
        claimEarlierTerms(log, own, `instance-${index}`),
      );
      const [first, ...others] = await Promise.all(claims.map(async (terms) => folded(await terms)));
      for (const other of others) assert.deepEqual(other, first);
      // As every process that comes later, and every command, which begins with no other.
      for (const own of [settings, otherTerms]) {
        assert.deepEqual(await folded(await claimEarlierTerms(log, own, 'later')), first);
        assert.deepEqual(await folded((await readEarlierTerms(log)) ?? own), first);
      }
    }));
}

function testPlaces(kind: LogKind): void {
  test(`${kind.name}: records of a row are read by their places: 10 of 8,000 at most, and none is missed`, () =>
    withBackend(kind, async (backend, place) => {
      const read = await consumeAll(backend, 500);
      const fill = async (from: number) => {
        for (let done = 0; done < 1_600; done += 400) await backend.log.append(numbered(from + done, 400, 300));
      };
      for (let life = 0; life < 5; life += 1) {
        await backend.log.append([auctionEntry('own', `${life}`)]);
        await fill(life * 1_600);
      }
      // Settled by hand, months later.
      await backend.log.append([auctionEntry('own', 'late')]);
      for (let number = 0; number < 80; number += 1) await backend.log.append([auctionEntry('loop', `${number}`)]);
      await eventually(() => entriesOf(read).length === 8_086, 60_000);
      await read.consumer.stop();
      const reader = await kind.counting(place);
      try {
        const said = ['0', '1', '2', '3', '4', 'late'];
        const places = placesOf(read, 'own');
        assert.equal(places.offsets.length, 6);
        assert.deepEqual(reasonsOf(await reader.readKey('auctions', 'own', places), 'own'), said);
        const taken = reader.taken();
        assert.ok(taken >= 6 && taken <= 10, `${taken} records read`);
        // More than a row keeps: the others are between its last place and the last record.
        const loop = placesOf(read, 'loop');
        assert.ok(loop.offsets.length < 80 && loop.until !== undefined);
        const all = Array.from({ length: 80 }, (_, number) => String(number));
        assert.deepEqual(reasonsOf(await reader.readKey('auctions', 'loop', loop), 'loop'), all);
        // Rows of an earlier version have no places, and those of another log have wrong ones.
        const wrong = [undefined, { offsets: [1] }, { offsets: [1_000_000] }, loop];
        for (const given of wrong) {
          assert.deepEqual(reasonsOf(await reader.readKey('auctions', 'own', given), 'own'), said);
        }
      } finally {
        await reader.close();
      }
    }));
}

function testHandlers(kind: LogKind): void {
  test(`${kind.name}: a partition's next batch waits for the handler; a slow consumer misses nothing`, () =>
    withBackend(kind, async (backend) => {
      const busy = new Set<number>();
      const seen: LogEntry<Topics['auctions']>[] = [];
      const consumer = await backend.log.consume({
        topic: 'auctions',
        scope: 'owned',
        onLost: () => undefined,
        from: async () => 0,
        maxEntries: 400,
        handler: async ({ partition, entries }) => {
          assert.ok(!busy.has(partition));
          busy.add(partition);
          await new Promise((resolve) => setTimeout(resolve, 10));
          busy.delete(partition);
          seen.push(...entries);
        },
        onFault: (fault) => assert.fail(String(fault)),
      });
      for (let from = 0; from < 12_000; from += 500) await backend.log.append(numbered(from, 500));
      await eventually(() => seen.length >= 12_000, 20_000);
      await consumer.stop();
      for (let key = 0; key < 5; key += 1) {
        assert.deepEqual(reasonsOf(seen, `k${key}`), expectedReasons(key, 12_000));
      }
    }));

  test(`${kind.name}: a handler that rejects stops its consumer, and only that; the next one starts where it was`, () =>
    withBackend(kind, async (backend) => {
      const faults: unknown[] = [];
      let calls = 0;
      await backend.log.consume({
        topic: 'auctions',
        scope: 'owned',
        onLost: () => undefined,
        from: async () => 0,
        maxEntries: 10,
        handler: async () => {
          calls += 1;
          throw new Error('no');
        },
        onFault: (fault) => faults.push(fault),
      });
      await backend.log.append([auctionEntry('a', '1')]);
      await eventually(() => faults.length === 1);
      await backend.log.append([auctionEntry('a', '2')]);
      assert.equal(calls, 1);
      const read = await consumeAll(backend);
      await eventually(() => entriesOf(read).length === 2);
      await read.consumer.stop();
      assert.deepEqual(reasonsOf(entriesOf(read), 'a'), ['1', '2']);
    }));

  test(`${kind.name}: nothing is delivered after stop`, () =>
    withBackend(kind, async (backend) => {
      const read = await consumeAll(backend);
      await backend.log.append([auctionEntry('a', '1')]);
      await eventually(() => entriesOf(read).length === 1);
      await read.consumer.stop();
      await backend.log.append([auctionEntry('a', '2')]);
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.equal(entriesOf(read).length, 1);
    }));

  test(`${kind.name}: others' appends come in between, and everybody reads one order`, () =>
    withBackend(kind, async (backend, place) => {
      const beside = await kind.beside(place);
      const read = await consumeAll(backend);
      try {
        for (let round = 0; round < 20; round += 1) {
          const own = backend.log.append([auctionEntry('a', `own${round}`), auctionEntry('b', `own${round}`)]);
          const other = beside.append([auctionEntry('a', `other${round}`)]);
          await Promise.all([own, other]);
        }
        await eventually(() => entriesOf(read).length === 60);
        await read.consumer.stop();
        assertInOrder(read, 50);
        const stored = await readAll(backend, 'auctions');
        for (const key of ['a', 'b']) {
          assert.deepEqual(reasonsOf(entriesOf(read), key), reasonsOf(stored, key));
        }
        assert.equal(reasonsOf(stored, 'a').filter((reason) => reason.startsWith('other')).length, 20);
      } finally {
        await beside.close();
      }
    }));
}

function testDurability(kind: LogKind): void {
  test(`${kind.name}: appends that are made together share their durable writes`, () =>
    withBackend(kind, async (backend) => {
      await backend.log.append([auctionEntry('a', 'first')]);
      const before = backend.commits();
      const appends: Promise<void>[] = [];
      for (let number = 0; number < 400; number += 1) {
        appends.push(backend.log.append([auctionEntry('a', `${number}`)]));
        // Each in a turn of its own, as requests at the door come.
        await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all(appends);
      const commits = backend.commits() - before;
      assert.ok(commits >= 1 && commits <= 300, `${commits} durable writes for 400 appends`);
    }));

  test(`${kind.name}: after kill -9 every append that had resolved is there, whole and in order`, async () => {
    const place = await kind.createPlace();
    const script = fileURLToPath(new URL('./append-until-killed.ts', import.meta.url));
    const child = spawn(process.execPath, [script, kind.module, place], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.length > 8_000) child.kill('SIGKILL');
    });
    await ended;
    // The last line may have been cut.
    const durable = said.slice(0, said.lastIndexOf('\n')).split('\n').map(Number);
    assert.ok(durable.length > 1_000);
    const backend = await kind.open(place);
    try {
      const found = new Map<string, number>();
      for (const [index, { record }] of (await readAll(backend, 'auctions')).entries()) {
        if (record.kind === 'resolved') found.set(record.reason, index);
      }
      for (const number of durable) {
        const a = found.get(`a${number}`);
        const b = found.get(`b${number}`);
        assert.ok(a !== undefined && b !== undefined && a < b, `append ${number} is lost or torn`);
      }
      await backend.log.append([auctionEntry('a', 'after')]);
    } finally {
      await backend.close();
    }
  });
}

export function testEventLog(kind: LogKind): void {
  testReading(kind);
  testPlaces(kind);
  testEarlierTerms(kind);
  testHandlers(kind);
  testDurability(kind);
}
