/** A snapshot on the topic: the latest whole one counts, byte for byte; one that broke off or is written otherwise does not. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import kafkajs, { Kafka } from 'kafkajs';
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import { topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import type { Snapshots } from '../../../src/bidding/ports.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { describeOnStack } from '../../stack/suite.ts';

const fail = (fault: Error): never => {
  throw fault;
};

async function* piecesOf(pieces: readonly Buffer[], fault?: Error): AsyncGenerator<Buffer> {
  yield* pieces;
  if (fault !== undefined) throw fault;
}

/** Some that squeeze well, some that do not. */
function somePieces(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => Buffer.concat([randomBytes(40_000), Buffer.alloc(200_000, i)]));
}

/** Where two differ, an assertion that shows megabytes takes long. */
function hashesOf(pieces: readonly Buffer[]): string[] {
  return pieces.map((piece) => createHash('sha1').update(piece).digest('hex'));
}

async function latestOf(snapshots: Snapshots, partition: number) {
  const found = await snapshots.readLatest(partition);
  return found === null ? null : { ...found, pieces: hashesOf(await Array.fromAsync(found.pieces)) };
}

await describeOnStack('kafka snapshots', (stack) => {
  test('each whole copy takes the place of the one before, one that broke off does not', async () => {
    const settings = settingsOn(stack, `${stack.prefix}copies.`);
    const { snapshots, close } = await openKafkaLog({
      settings,
      seal: (_place, text) => text,
      onClosed: fail,
      onStalled: fail,
    });
    try {
      assert.equal(await snapshots.readLatest(1), null);
      for (const applied of [10, 20, 30]) {
        const pieces = somePieces(applied / 2);
        await snapshots.write(1, { applied, takenAt: applied + 1, pieces: piecesOf(pieces) });
        const torn = { applied: 99, takenAt: 99, pieces: piecesOf(somePieces(3), new Error('broke off')) };
        await assert.rejects(snapshots.write(1, torn), /broke off/);
        assert.deepEqual(await latestOf(snapshots, 1), { applied, takenAt: applied + 1, pieces: hashesOf(pieces) });
      }
      assert.equal(await snapshots.readLatest(0), null, 'of this partition alone');
      await snapshots.discardAll();
      assert.equal(await snapshots.readLatest(1), null, 'given up, with what stands before it');
      const later = { applied: 5, takenAt: 6 };
      await snapshots.write(1, { ...later, pieces: piecesOf(somePieces(1)) });
      assert.equal((await snapshots.readLatest(1))?.applied, 5);
    } finally {
      await close();
    }
  });

  test('a copy in another form is none', async () => {
    const settings = settingsOn(stack, `${stack.prefix}form.`);
    const { snapshots, close } = await openKafkaLog({
      settings,
      seal: (_place, text) => text,
      onClosed: fail,
      onStalled: fail,
    });
    const producer = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING }).producer({
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    try {
      await snapshots.write(2, { applied: 5, takenAt: 6, pieces: piecesOf(somePieces(1)) });
      const value = JSON.stringify({ id: 'older', place: 'b', count: 1, applied: 7, takenAt: 8 });
      const messages = [{ partition: 2, key: 'manifest', value }];
      await producer.send({ topic: topicNameOf(settings, 'snapshots'), messages });
      assert.equal((await snapshots.readLatest(2))?.applied, undefined);
    } finally {
      await producer.disconnect();
      await close();
    }
  });
});
