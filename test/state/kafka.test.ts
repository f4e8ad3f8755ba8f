/** The state store on a real broker: partitions come and go, and what was folded is found again in the file or on the topic of snapshots. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import type { KafkaSettings } from '../../src/adapters/kafka/settings.ts';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import type { PartitionState } from '../../src/state/state-store.ts';
import * as parts from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { describeOnStack } from '../stack/suite.ts';
import { createPlace, openStore } from './state-store.ts';

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

/** A process that folds every partition it is given into a state store of its own. */
async function openProcess(settings: KafkaSettings, directory: string) {
  const fail = (fault: Error) => assert.fail(fault.message);
  const records = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
  const discarded: string[] = [];
  const store = await openStore(directory, {
    snapshots: records.snapshots,
    snapshotAheadRecords: 1,
    onDiscarded: (_partition, reason) => discarded.push(reason),
  });
  const states = new Map<number, PartitionState>();
  const faults: unknown[] = [];
  const consumer = await records.log.consume({
    topic: 'auctions',
    scope: 'owned',
    from: async (partition) => {
      const state = await store.open(partition, records.partitionLog(partition, genesis));
      states.set(partition, state);
      return state.origin.applied;
    },
    onLost: (partition) => {
      void states.get(partition)?.close();
      states.delete(partition);
    },
    maxEntries: 50,
    handler: async (batch) => {
      const { views } = states.get(batch.partition)!;
      await createLedger(views, parts.settings, records.log).fold(batch);
    },
    onFault: (fault) => faults.push(fault),
  });
  const isCaughtUp = async () => {
    const ends = await records.log.ends('auctions');
    const applied = await Promise.all([...states].map(([partition, { views }]) => views.applied(partition)));
    return states.size === ends.size && [...states.keys()].every((each, place) => applied[place] === ends.get(each));
  };
  const close = async () => {
    await consumer.stop();
    await store.close();
    await records.close();
    assert.deepEqual(faults, []);
  };
  return { records, store, states, discarded, isCaughtUp, close };
}

type Process = Awaited<ReturnType<typeof openProcess>>;

async function pictureOf({ states }: Process): Promise<unknown[]> {
  const rows = [...states].flatMap(async ([partition, { views }]) => [
    partition,
    await views.applied(partition),
    await views.query({ phase: null, limit: 1_000, before: null }),
    await views.open(partition),
  ]);
  return (await Promise.all(rows)).sort();
}

const origins = ({ states }: Process) =>
  new Map([...states].map(([partition, { origin }]) => [partition, origin.applied]));

await describeOnStack('the state store on Kafka', (stack) => {
  test('what was folded is gone on with, from the file or from the latest snapshot', async () => {
    const settings = settingsOn(stack, `${stack.prefix}state.`);
    const place = createPlace();
    const first = await openProcess(settings, place);
    await first.records.log.append(entriesOf(0, 60));
    await eventually(first.isCaughtUp, 30_000);
    const then = await pictureOf(first);
    for (const [partition, state] of first.states) {
      const write = (copy: Parameters<Parameters<PartitionState['takeSnapshot']>[1]>[0]) =>
        first.records.snapshots.write(partition, { ...copy, takenAt: parts.at });
      assert.equal(await state.takeSnapshot(100_000, write), await state.views.applied(partition));
    }
    const ends = await first.records.log.ends('auctions');
    await first.close();

    const elsewhere = await openProcess(settings, createPlace());
    assert.deepEqual(origins(elsewhere), ends, 'all from the snapshots');
    assert.deepEqual(await pictureOf(elsewhere), then);
    await elsewhere.records.log.append(entriesOf(60, 90));
    await eventually(elsewhere.isCaughtUp, 30_000);
    const now = await pictureOf(elsewhere);
    await elsewhere.close();

    const back = await openProcess(settings, place);
    assert.deepEqual(origins(back), ends, 'from its own files');
    await eventually(back.isCaughtUp, 30_000);
    assert.deepEqual(await pictureOf(back), now);
    const log = back.records.partitionLog(0, genesis);
    const { end } = await log.extent();
    assert.notEqual(await log.hashAt(0), null);
    assert.notEqual(await log.hashAt(0), await log.hashAt(end - 1));
    assert.equal(await log.hashAt(end), null);
    for (const process of [first, elsewhere, back]) assert.deepEqual(process.discarded, []);
    await back.close();
  });
});
