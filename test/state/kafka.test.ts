/**
 * The views of several partitions on a real broker: held to their port; partitions come and go; what was folded is found again in the
 * file or on the topic of snapshots.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import type { KafkaSettings } from '../../src/adapters/kafka/settings.ts';
import { createCapBook } from '../../src/adapters/redis/cap-book.ts';
import { connect, redisDefaults } from '../../src/adapters/redis/connection.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { createCapBook as createMemoryCaps } from '../../src/domain/cap-book.ts';
import { createCapKeeper } from '../../src/state/cap-keeper.ts';
import type { PartitionState } from '../../src/state/state-store.ts';
import * as parts from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { auctionEntry } from '../conformance/samples.ts';
import { testViews } from '../conformance/views.ts';
import { describeOnStack } from '../stack/suite.ts';
import { createPlace, openOwned, ownedViewsKind } from './state-store.ts';

const genesis = 'of this test';

function entriesOf(from: number, to: number): NewEntry[] {
  const ids = Array.from({ length: to - from }, (_, index) => String(from + index));
  const lives = ids.map((requestId) =>
    [parts.requested(), parts.claimed(), parts.answered(parts.accepted)].map((record) => ({ ...record, requestId })),
  );
  return [0, 1, 2].flatMap((step) =>
    lives.map((life) => ({ topic: 'auctions' as const, key: life[step]!.requestId, record: life[step]! })),
  );
}

/** Under a cap that has room for one of them. */
function claimsOf(ids: readonly string[]): NewEntry[] {
  const caps = [{ keys: ['room for one'], limitAmountCents: 1_000_000, limitCount: null }];
  const claimed = parts.claimed('a:1', { trace: { ...parts.trace, caps } });
  return [parts.requested(), claimed].flatMap((record) =>
    ids.map((requestId) => ({ topic: 'auctions', key: requestId, record: { ...record, requestId } }) as NewEntry),
  );
}

type Records = Awaited<ReturnType<typeof openKafkaLog>>;

/** The book on a server, told of on the log's controls. */
async function openBook(records: Records, { partitions, topicPrefix }: KafkaSettings, url: string) {
  const connection = await connect({ ...redisDefaults, url });
  const keeper = createCapKeeper({
    book: createCapBook(connection, `{${topicPrefix}}:`),
    controls: records.capControls,
    ends: () => records.log.ends('auctions'),
    partitions,
    clock: createSystemClock(),
    settings: { ageLimitMs: 1_000, pollMs: 250, maxOperations: 100, controlPollMs: 0, retryMs: 50 },
    onLoss: () => undefined,
    onFault: () => undefined,
  });
  keeper.start();
  const close = async () => {
    await keeper.stop();
    await connection.close();
  };
  return { keeper, close };
}

/** A process that folds every partition it is given into views of its own; with a book where it is given a server. */
async function openProcess(settings: KafkaSettings, directory: string, redisUrl: string | null = null) {
  const fail = (fault: Error) => assert.fail(fault.message);
  const records = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
  const discarded: string[] = [];
  const { partitions } = settings;
  const book = redisUrl === null ? null : await openBook(records, settings, redisUrl);
  const owned = await openOwned(directory, (partition) => records.partitionLog(partition, genesis), {
    partitions,
    snapshots: records.snapshots,
    snapshotAheadRecords: 1,
    ...(book === null ? {} : { book: book.keeper, caps: { ...createMemoryCaps(), complete: false } }),
    onDiscarded: (_partition, reason) => discarded.push(reason),
  });
  const faults: unknown[] = [];
  const ledger = createLedger(owned.views, parts.settings, records.log);
  /** How far each partition was when it came last. */
  const origins = new Map<number, number>();
  const consumer = await records.log.consume({
    topic: 'auctions',
    scope: 'owned',
    from: async (partition) => {
      const applied = await owned.take(partition);
      origins.set(partition, applied);
      return applied;
    },
    onLost: (partition) => {
      ledger.lose(partition);
      void owned.leave(partition);
    },
    maxEntries: 50,
    handler: async (batch) => void (await ledger.fold(batch)),
    onFault: (fault) => faults.push(fault),
  });
  const isCaughtUp = async () => {
    const ends = await records.log.ends('auctions');
    const held = [...owned.held().keys()];
    const applied = await Promise.all(held.map(owned.views.applied));
    return held.every((partition, place) => applied[place] === ends.get(partition));
  };
  const close = async () => {
    await consumer.stop();
    await book?.close();
    await owned.close();
    await records.close();
    assert.deepEqual(faults, []);
  };
  return { ...owned, keeper: book?.keeper ?? null, records, origins, discarded, isCaughtUp, close };
}

type Process = Awaited<ReturnType<typeof openProcess>>;

async function pictureOf({ views, held }: Process): Promise<unknown[]> {
  const rows = [...held().keys()].flatMap(async (partition) => [
    partition,
    await views.applied(partition),
    await views.open(partition),
  ]);
  return [await views.query({ phase: null, limit: 1_000, before: null }), (await Promise.all(rows)).sort()];
}

const isAllCaughtUp = async (process: Process) => process.missing().length === 0 && (await process.isCaughtUp());

await describeOnStack('the state store on Kafka', (stack) => {
  test('processes agree on one name of the log, and on the next one after a loss that was accepted', async () => {
    const settings = settingsOn(stack, `${stack.prefix}named.`);
    const options = { settings, seal: (_place: unknown, text: string) => text };
    const records = await Promise.all(
      [1, 2].map(() => openKafkaLog({ ...options, onClosed: assert.fail, onStalled: assert.fail })),
    );
    const [one, other] = records.map(({ genesis }) => genesis) as [Records['genesis'], Records['genesis']];
    assert.equal(await one.read(), null);
    const left = async () => new Map([[1, 4]]);
    await one.renew(left);
    assert.equal(await one.read(), null, 'what has no name gets none by a loss');
    const dealt = new Map([[1, 7]]);
    const begun = await Promise.all([one, other, one].map(({ begin }) => begin(async () => dealt)));
    assert.deepEqual(begun[0]!.dealtWith, { 1: 7 });
    assert.equal(new Set(begun.map(({ id }) => id)).size, 1);
    await Promise.all([one.renew(left), other.renew(left)]);
    const renewed = await one.read();
    assert.notEqual(renewed!.id, begun[0]!.id);
    assert.deepEqual([await other.begin(), await one.read()], [renewed, renewed]);
    assert.deepEqual(renewed!.dealtWith, { 1: 4 });
    await one.beginAnew(new Map([[0, 3]]));
    const anew = await other.read();
    assert.deepEqual([anew!.id === renewed!.id, anew!.dealtWith], [false, { 0: 3 }]);
    await Promise.all(records.map(({ close }) => close()));
  });

  test('what was folded is gone on with, from the file or from the latest snapshot', async () => {
    const settings = settingsOn(stack, `${stack.prefix}state.`);
    const place = createPlace();
    const first = await openProcess(settings, place);
    await first.records.log.append(entriesOf(0, 60));
    await eventually(() => isAllCaughtUp(first), 30_000);
    const then = await pictureOf(first);
    for (const [partition, state] of first.held()) {
      const write = (copy: Parameters<Parameters<PartitionState['takeSnapshot']>[1]>[0]) =>
        first.records.snapshots.write(partition, { ...copy, takenAt: parts.at });
      assert.equal(await state.takeSnapshot(100_000, write), await state.views.applied(partition));
    }
    const ends = await first.records.log.ends('auctions');
    await first.close();

    const elsewhere = await openProcess(settings, createPlace());
    assert.deepEqual(elsewhere.origins, ends, 'all from the snapshots');
    assert.deepEqual(await pictureOf(elsewhere), then);
    await elsewhere.records.log.append(entriesOf(60, 90));
    await eventually(() => isAllCaughtUp(elsewhere), 30_000);
    const now = await pictureOf(elsewhere);
    await elsewhere.close();

    const back = await openProcess(settings, place);
    assert.deepEqual(back.origins, ends, 'from its own files');
    await eventually(() => isAllCaughtUp(back), 30_000);
    assert.deepEqual(await pictureOf(back), now);
    const log = back.records.partitionLog(0, genesis);
    const { end } = await log.extent();
    assert.notEqual(await log.hashAt(0), null);
    assert.notEqual(await log.hashAt(0), await log.hashAt(end - 1));
    assert.equal(await log.hashAt(end), null);
    for (const process of [first, elsewhere, back]) assert.deepEqual(process.discarded, []);
    await back.close();
  });

  test('two processes share the partitions and the caps, and whoever is left goes on with all of them', async () => {
    const settings = settingsOn(stack, `${stack.prefix}shared.`);
    const first = await openProcess(settings, createPlace(), stack.redisUrl);
    const { append } = first.records.log;
    await append(entriesOf(0, 30));
    await eventually(() => isAllCaughtUp(first), 30_000);
    const second = await openProcess(settings, createPlace(), stack.redisUrl);
    await append(entriesOf(30, 60));
    const areCaughtUp = async () =>
      first.held().size + second.held().size === settings.partitions &&
      second.held().size > 0 &&
      (await first.isCaughtUp()) &&
      (await second.isCaughtUp());
    await eventually(areCaughtUp, 30_000);
    assert.deepEqual(first.missing(), [...second.held().keys()].sort());
    const listOf = ({ views }: Process) => views.query({ phase: null, limit: 1_000, before: null });
    const ids = [...(await listOf(first)), ...(await listOf(second))].map(({ state }) => state.requestId);
    assert.deepEqual(
      ids.map(Number).sort((left, right) => left - right),
      Array.from({ length: 60 }, (_, index) => index),
      'each request is in one of the two, and in one alone',
    );

    await eventually(() => [first, second].every(({ keeper }) => keeper!.trouble() === null), 30_000);
    const claims = Array.from({ length: 8 }, (_, index) => `claim ${index}`);
    await append(claimsOf(claims));
    const ownersOf = new Map<string, number>();
    for (const claim of claims) ownersOf.set(claim, await first.records.partitionOf('auctions', claim));
    const verdictsOf = (process: Process) =>
      claims
        .filter((claim) => process.held().has(ownersOf.get(claim)!))
        .map((claim) => [claim, process.views.verdicts!.of(ownersOf.get(claim)!, claim)] as const);
    const verdicts = () => [first, second].flatMap(verdictsOf);
    await eventually(() => verdicts().every(([, verdict]) => verdict !== 'pending'), 30_000);
    const said = new Map(verdicts());
    assert.deepEqual([...said.values()].filter((verdict) => verdict === 'granted').length, 1, 'there is room for one');
    assert.deepEqual([said.size, new Set(said.values()).size], [claims.length, 2]);
    ids.push(...claims);

    await second.close();
    await eventually(() => isAllCaughtUp(first), 30_000);
    await eventually(() => verdictsOf(first).every(([, verdict]) => verdict !== 'pending'), 30_000);
    assert.deepEqual(new Map(verdictsOf(first)), said, 'the new owner hears what the old one heard');
    const redis = new Redis(stack.redisUrl);
    await redis.del(...(await redis.keys(`{${settings.topicPrefix}}:*`)));
    await redis.quit();
    await eventually(() => first.keeper!.trouble() !== null, 30_000);
    await eventually(() => verdictsOf(first).every(([, verdict]) => verdict === 'forfeited'), 30_000);
    assert.deepEqual((await first.views.usage(['room for one'], parts.at)).get('room for one')?.count, claims.length);
    assert.deepEqual((await listOf(first)).map(({ state }) => state.requestId).sort(), ids.sort());
    await first.close();
  });

  describe('held to the port', () => {
    let records: Awaited<ReturnType<typeof openKafkaLog>>;
    before(async () => {
      const settings = settingsOn(stack, `${stack.prefix}port.`);
      records = await openKafkaLog({
        ...{ settings, seal: (_place, text) => text },
        ...{ onClosed: assert.fail, onStalled: assert.fail },
      });
      // The suite folds batches that stand for records of the first partition which are there.
      let key = 0;
      while ((await records.partitionOf('auctions', String(key))) !== 0) key += 1;
      await records.log.append(Array.from({ length: 500 }, () => auctionEntry(String(key), 'of a suite')));
    });
    after(() => records.close());
    // The rest of the plans is played without a broker: what it adds is met in each of them.
    testViews(
      ownedViewsKind('views on Kafka', (partition) => records.partitionLog(partition, genesis)),
      4,
    );
  });
});
