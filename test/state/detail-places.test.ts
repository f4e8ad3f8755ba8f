/** Reading what the service said of one worker: on a real broker, with as many records read as there are to be shown. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createClient } from '../../src/adapters/kafka/client.ts';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { createPartitionReader } from '../../src/adapters/kafka/partitions.ts';
import { createLogReading } from '../../src/adapters/kafka/read-log.ts';
import { readSchemas } from '../../src/adapters/kafka/registry.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { EventLog, NewEntry } from '../../src/bidding/ports.ts';
import { readSpan } from '../../src/bidding/read-topic.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { readWorker } from '../../src/origination/worker-reading.ts';
import { withDetailPlaces } from '../../src/state/detail-places.ts';
import * as parts from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { linkDetail, stateOf } from '../conformance/samples.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { describeOnStack } from '../stack/suite.ts';
import { createPlace } from './state-store.ts';

const workers = 300;
const partitions = 2;
const vault = createVault('a pseudonym key of these tests, long enough');
const requestId = '1';
const worker = 'worker-7';
const noOne = { cpf: null, name: null, registration: null, employerId: null, employerIdType: null };

function toldOf(workerKey: string, employerId: string, receivedAt: number): NewEntry {
  const told = { cpf: 52_998_224_725, matricula: '1', numeroInscricaoEmpregador: employerId };
  const sealed = vault.seal(
    sealedPlaces.callback(workerKey),
    JSON.stringify({ CodigoRequisicao: null, Payload: told }),
  );
  const detail = { ...linkDetail(`${workerKey}/${employerId}`, receivedAt, 100), workerKey };
  const record = { kind: 'link-detail', at: receivedAt, requestCode: null, sealed, detail } as const;
  return { topic: 'callbacks', key: workerKey, record } as NewEntry;
}

await describeOnStack('what the service said of one worker', (stack) => {
  const settings = { ...settingsOn(stack, stack.prefix), partitions };
  let records: Awaited<ReturnType<typeof openKafkaLog>>;
  let counted: { log: EventLog; taken: () => number; close: () => Promise<void> };

  before(async () => {
    const fail = (fault: Error) => assert.fail(fault.message);
    records = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
    const request = { ...sampleRequest, requestId, workerKey: worker };
    const sealed = vault.seal(sealedPlaces.request(requestId), JSON.stringify({ identity: noOne, raw: null }));
    await records.log.append([
      { topic: 'auctions', key: requestId, record: { ...parts.requested({ request, sealed }), requestId } },
    ]);
    counted = counting();
  });
  after(async () => {
    await counted.close();
    await records.close();
  });

  /** The log as a process reads it, which counts the records that a broker sends. */
  function counting(): typeof counted {
    const reader = createPartitionReader(createClient(settings, () => undefined));
    let count = 0;
    const fetch: typeof reader.fetch = async (...asked) => {
      const found = await reader.fetch(...asked);
      for (const { records } of found.values()) count += records.length;
      return found;
    };
    const taken = () => {
      const now = count;
      count = 0;
      return now;
    };
    const reading = createLogReading({ ...reader, fetch }, readSchemas(settings), settings);
    return { log: { ...records.log, ...reading }, taken, close: reader.close };
  }

  function placed(path: string, genesis = 'this log') {
    return withDetailPlaces(counted.log, {
      ...{ path, genesis, partitionOf: (key) => records.partitionOf('callbacks', key) },
      firstOf: async (partition) => (await records.partitionLog(partition, genesis, 'callbacks').extent()).first,
      readSpan: (span) => readSpan(counted.log, 'callbacks', span),
    });
  }

  /** Few at a time, as they come from the service: what shares a batch with a record is read with it. */
  async function append(entries: readonly NewEntry[]): Promise<void> {
    for (let from = 0; from < entries.length; from += 4) await records.log.append(entries.slice(from, from + 4));
  }

  async function shown(log: EventLog): Promise<{ links: [string, number][]; read: number }> {
    counted.taken();
    const state = { ...stateOf(requestId, 'won', 1), places: { offsets: [0] } };
    const views = { read: async () => new Map([[requestId, { state }]]) as never };
    const reading = await readWorker(
      { log, views, append: async () => undefined, vault, clock: { now: () => 0 } as never },
      { requestId, who: { by: 'ana', via: 'offline' } as never, reason: 'she called' },
    );
    assert.equal(reading.kind, 'shown');
    const links = reading.worker.links.map((link): [string, number] => [link.employerId, link.receivedAt]);
    return { links: links.sort(), read: counted.taken() };
  }

  test('is found without the callbacks of all others, before and after the process was away', {
    timeout: 120_000,
  }, async () => {
    const others = (at: number) =>
      Array.from({ length: workers }, (_, index) => toldOf(`worker-${100 + index}`, '1', at));
    for (const at of [1, 2]) await append([...others(at), toldOf(worker, '11222333000181', at), ...others(at)]);
    await append([toldOf(worker, '11444777000161', 3)]);
    const path = join(createPlace(), 'link-details.sqlite');
    const all = (await records.log.ends('callbacks')).get(await records.partitionOf('callbacks', worker))!;
    const expected = [
      ['11222333000181', 2],
      ['11444777000161', 3],
    ];

    let log = placed(path);
    const first = await shown(log);
    assert.deepEqual(first.links, expected);
    assert.ok(first.read >= all, 'nothing was read before: all is looked through once');
    const second = await shown(log);
    assert.deepEqual(second.links, expected);
    assert.ok(second.read < 20, `${second.read} records were read for two, of ${all}`);

    // What comes meanwhile is noted as it is read.
    const heard = new Map<number, number>();
    const consumer = await log.consume({
      ...{
        topic: 'callbacks',
        scope: 'all',
        maxEntries: 100,
        onFault: (fault) => assert.fail(String(fault)),
        onLost: () => undefined,
      },
      from: async (partition) => (await records.log.ends('callbacks')).get(partition) ?? 0,
      handler: async ({ partition, next }) => void heard.set(partition, next),
    });
    await append([...others(4), toldOf(worker, '11222333000181', 5)]);
    const ends = await records.log.ends('callbacks');
    await eventually(() => [...ends].every(([partition, end]) => heard.get(partition) === end));
    await consumer.stop();
    const third = await shown(log);
    assert.deepEqual(third.links, [
      ['11222333000181', 5],
      ['11444777000161', 3],
    ]);
    assert.ok(third.read < 20, `${third.read} records were read`);

    // Another process had the topic meanwhile.
    log.close();
    await append([...others(6), toldOf(worker, '11444777000161', 7)]);
    log = placed(path);
    const fourth = await shown(log);
    assert.deepEqual(fourth.links, [
      ['11222333000181', 5],
      ['11444777000161', 7],
    ]);
    assert.ok(fourth.read < all, `${fourth.read} records were read, and only what came meanwhile was to be`);
    log.close();

    // A damaged file is made again, and so is one of another log.
    writeFileSync(path, 'no database');
    for (const genesis of ['this log', 'another log']) {
      log = placed(path, genesis);
      assert.deepEqual((await shown(log)).links, fourth.links);
      log.close();
    }
  });
});
