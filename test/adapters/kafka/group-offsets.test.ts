/** How far a reader of its own has dealt with a topic: the next member of its group goes on there, whichever process it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import type { NewEntry } from '../../../src/bidding/ports.ts';
import { eventually } from '../../conformance/backend.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { describeOnStack } from '../../stack/suite.ts';

await describeOnStack('offsets of a reader', (stack) => {
  test('are those of the name of the log that they were committed under, and outlive their process', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}offsets.`), partitions: 1 };
    const open = () =>
      openKafkaLog({ settings, seal: (_place, text) => text, onClosed: assert.fail, onStalled: assert.fail });
    const callback = (requestCode: string): NewEntry => {
      const record = { kind: 'operation-event', at: 1, requestCode, endpoint: null, errors: [], sealed: '' } as const;
      return { topic: 'callbacks', key: requestCode, record };
    };

    const read = async (words: readonly string[], seen: string[]) => {
      const records = await open();
      const offsets = records.readerOffsets('callbacks', 'flows', 'one');
      await records.log.append(words.map(callback));
      const consumer = await records.log.consume({
        ...{ topic: 'callbacks', scope: 'owned', reader: 'flows', maxEntries: 10 },
        from: async (partition) => (await offsets.read(partition)) ?? 0,
        onLost: () => undefined,
        onFault: (fault) => assert.fail(String(fault)),
        handler: async ({ partition, next, entries }) => {
          seen.push(...entries.map(({ key }) => key));
          await offsets.commit(partition, next);
        },
      });
      await eventually(() => seen.length >= words.length, 20_000);
      await consumer.stop();
      const committed = await offsets.read(0);
      const elsewhere = await records.readerOffsets('callbacks', 'flows', 'two').read(0);
      await records.close();
      return { committed, elsewhere };
    };

    const first: string[] = [];
    assert.deepEqual(await read(['a', 'b'], first), { committed: 2, elsewhere: null });
    const second: string[] = [];
    assert.deepEqual(await read(['c'], second), { committed: 3, elsewhere: null });
    assert.deepEqual([first, second], [['a', 'b'], ['c']]);
    const records = await open();
    assert.equal(await records.readerOffsets('callbacks', 'others', 'one').read(0), null, 'nobody has committed');
    // Not a member: nothing is committed, and nobody is told.
    await records.readerOffsets('callbacks', 'flows', 'one').commit(0, 9);
    assert.equal(await records.readerOffsets('callbacks', 'flows', 'one').read(0), 3);
    await records.close();
  });
});
