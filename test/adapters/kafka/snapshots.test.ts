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

const own = 7;

async function latestOf(snapshots: Snapshots, partition: number) {
  const found = await snapshots.readLatest(partition, own);
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
      assert.equal(await snapshots.readLatest(1, own), null);
      for (const applied of [10, 20, 30]) {
        const pieces = somePieces(applied / 2);
        await snapshots.write(1, { foldVersion: own, applied, takenAt: applied + 1, pieces: piecesOf(pieces) });
        const torn = {
          foldVersion: own,
          applied: 99,
          takenAt: 99,
          pieces: piecesOf(somePieces(3), new Error('broke off')),
        };
        await assert.rejects(snapshots.write(1, torn), /broke off/);
        assert.deepEqual(await latestOf(snapshots, 1), {
          foldVersion: own,
          applied,
          takenAt: applied + 1,
          pieces: hashesOf(pieces),
        });
      }
      assert.equal(await snapshots.readLatest(0, own), null, 'of this partition alone');
      await snapshots.discardAll();
      assert.equal(await snapshots.readLatest(1, own), null, 'given up, with what stands before it');
      const later = { foldVersion: own, applied: 5, takenAt: 6 };
      await snapshots.write(1, { ...later, pieces: piecesOf(somePieces(1)) });
      assert.equal((await snapshots.readLatest(1, own))?.applied, 5);
    } finally {
      await close();
    }
  });

  test('two versions that run side by side find their own copies, and no third one is kept', async () => {
    const settings = settingsOn(stack, `${stack.prefix}versions.`);
    const opened = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
    const { snapshots } = opened;
    const producer = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING }).producer({
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    const topic = topicNameOf(settings, 'snapshots');
    /** As a program writes one that knows of no fold versions. */
    const writeEarlier = async (applied: number): Promise<void> => {
      const id = '0'.repeat(36);
      const piece = Buffer.concat([Buffer.from(id), Buffer.alloc(4), Buffer.from('its piece')]);
      const [at] = await producer.send({ topic, messages: [{ partition: 0, key: 'a/000000', value: piece }] });
      const manifest = { format: 3, id, place: 'a', count: 1, first: Number(at!.baseOffset), applied, takenAt: 1 };
      await producer.send({ topic, messages: [{ partition: 0, key: 'manifest', value: JSON.stringify(manifest) }] });
    };
    const write = async (foldVersion: number, applied: number, pieces = somePieces(2)) => {
      await snapshots.write(0, { foldVersion, applied, takenAt: applied, pieces: piecesOf(pieces) });
      return hashesOf(pieces);
    };
    const found = async (foldVersion: number) => {
      const copy = await snapshots.readLatest(0, foldVersion);
      return copy === null ? null : [copy.foldVersion, copy.applied, hashesOf(await Array.fromAsync(copy.pieces))];
    };
    try {
      await writeEarlier(10);
      assert.deepEqual(await found(7), [null, 10, hashesOf([Buffer.from('its piece')])], 'of an earlier program');
      const seventh = await write(7, 20);
      await writeEarlier(25);
      assert.deepEqual(await found(7), [7, 20, seventh], 'the partition moves to and fro');
      const eighth = await write(8, 30, somePieces(3));
      const again = await write(7, 40, somePieces(1));
      assert.deepEqual(
        [await found(7), await found(8)],
        [
          [7, 40, again],
          [8, 30, eighth],
        ],
      );
      const ninth = await write(9, 50);
      assert.deepEqual(
        [await found(8), await found(9)],
        [
          [8, 30, eighth],
          [9, 50, ninth],
        ],
      );
      assert.notEqual((await found(7))?.[0], 7, 'the oldest is gone');
      await snapshots.discard(0);
      assert.deepEqual([await found(8), await found(9)], [null, null]);
    } finally {
      await producer.disconnect();
      await opened.close();
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
      await snapshots.write(2, { foldVersion: own, applied: 5, takenAt: 6, pieces: piecesOf(somePieces(1)) });
      const value = JSON.stringify([{ foldVersion: own, id: 'older', place: 'b', count: 1, applied: 7, takenAt: 8 }]);
      const messages = [{ partition: 2, key: 'manifests', value }];
      await producer.send({ topic: topicNameOf(settings, 'snapshots'), messages });
      assert.equal((await snapshots.readLatest(2, own))?.applied, undefined);
    } finally {
      await producer.disconnect();
      await close();
    }
  });
});
