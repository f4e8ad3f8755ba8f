/** Commands beside a desk on Kafka: those that read create nothing and need no right to write; those that write reach every partition. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import { transitions } from '../../src/bidding/transitions.ts';
import type { Phase } from '../../src/domain/states.ts';
import { operatorResolutions } from '../../src/operating/endings.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { describeOnStack } from '../stack/suite.ts';
import { jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';
import { type Access, type GuardedStack, openGuardedStack } from './guarded-stack.ts';

const partitions = 3;
const requests = 40;

/** Long enough for bids on a loaded machine. */
const windowMs = 5_000;
const letters = 12;

type Letter = { partition: number; offset: number };
type Listed = { requestId: string; state: Phase };

await describeOnStack('commands on Kafka', (stack) => {
  const prefix = stack.prefix;
  let guarded: GuardedStack;
  let stage: Played;
  let asWriter: Record<string, string>;
  let asReader: Record<string, string>;

  /** Where the store is, and nothing else but the key; `kafka.partitions` is the desk's own affair. */
  function environmentOf(name: string, { brokers, registryUrl, redisUrl, sasl }: Access, kafka: object) {
    const path = join(stage.directory, `${name}.json`);
    const own = { topicPrefix: prefix, groupId: prefix, sasl, ...kafka };
    writeFileSync(path, JSON.stringify({ kafka: own, redis: { keyPrefix: `{${prefix}}:` } }));
    return {
      LANCE_CONFIG: path,
      LANCE_LANG: 'en',
      LANCE_BACKEND: 'kafka',
      LANCE_KAFKA_BROKERS: brokers,
      LANCE_SCHEMA_REGISTRY_URL: registryUrl,
      LANCE_REDIS_URL: redisUrl,
      LANCE_PSEUDONYM_KEY: stage.environment.LANCE_PSEUDONYM_KEY!,
    };
  }

  type Reading = { words: string[]; codes: readonly number[] };

  /** Commands that read each part of the store; `codes`: what they may end with. */
  const readers = (file: string, requestId: string): readonly Reading[] => [
    { words: ['bids', 'show', requestId], codes: requestId === '1' ? [66] : [0] },
    // What a desk needs beside its store is not set here.
    { words: ['doctor', '--json'], codes: [1] },
    { words: ['letters', 'list'], codes: [0] },
    { words: ['rules', 'history'], codes: [0] },
    // Personal data is read on record: by nobody who may not write one.
    { words: ['audit', 'export', `${file}.ndjson`], codes: requestId === '1' ? [0] : [74] },
  ];
  const furtherReaders: readonly Reading[] = [
    { words: ['bids', 'list'], codes: [0] },
    { words: ['events', 'list'], codes: [0] },
    { words: ['contracts', 'list'], codes: [0] },
    { words: ['rules', 'try', 'Only eligible workers'], codes: [0] },
    // Too few auctions.
    { words: ['backtest', '--log'], codes: [65] },
    { words: ['cap', 'none'], codes: [66] },
    { words: ['model', 'card', '--json'], codes: [0] },
  ];

  async function runAll(
    environment: Record<string, string>,
    readings: readonly Reading[],
  ): Promise<Map<string, string>> {
    const waiting = [...readings];
    const said = new Map<string, string>();
    const lane = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { words, codes } = next;
        const { code, stdout, stderr } = await lance(environment, ...words);
        assert.ok(codes.includes(code!), `${words.join(' ')} ended with ${code}\n${stdout}\n${stderr}`);
        said.set(words.slice(0, 2).join(' '), stdout);
      }
    };
    await Promise.all([lane(), lane(), lane()]);
    return said;
  }

  before(async () => {
    guarded = await openGuardedStack(stack, prefix);
    stage = await openStage(11, windowMs);
    asReader = environmentOf('reader', guarded.reader, {});
    asWriter = environmentOf('writer', guarded.writer, { partitions, replication: 1 });
  });
  after(async () => {
    await guarded?.close();
    await stage?.close();
  });

  test('on an empty cluster readers create no topic and register no schema (defect line 25)', async () => {
    const before = await guarded.contents();
    const said = await runAll(asWriter, [...readers(join(stage.directory, 'empty'), '1'), ...furtherReaders]);
    assert.match(said.get('doctor --json')!, /topics-new/);
    for (const words of [
      ['export', join(stage.directory, 'none.gz')],
      ['export', '--undo'],
    ]) {
      const { code, stderr } = await lance(asWriter, ...words);
      assert.equal(code, 66, stderr);
    }
    assert.deepEqual(await guarded.contents(), before);
    assert.deepEqual(before.subjects, []);
  });

  test('a desk that trades, read by somebody who may write nowhere (defect line 25)', {
    timeout: 180_000,
  }, async (context) => {
    const { LANCE_CONFIG: _, ...service } = stage.environment;
    const path = join(stage.directory, 'desk.json');
    const bidding = {
      windowMs,
      skewAllowanceMs: 50,
      resultTimeoutMs: 5_000,
      contemplationTimeoutMs: 20_000,
      marginWaitMs: 300,
    };
    const { sasl } = guarded.writer;
    const kafka = { topicPrefix: prefix, groupId: prefix, partitions, replication: 1, sasl };
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${prefix}}:` } }));
    const daemon = await startDaemon({ ...service, ...asWriter, LANCE_CONFIG: path });
    try {
      stage.sandbox.connect(daemon.url);
      await stage.sandbox.run(requests);
      const listed = jsonLines<Listed>((await lance(asReader, 'bids', 'list', '--json', '--limit', '1000')).stdout);
      assert.equal(listed.length, requests);
      const before = await guarded.contents();
      const said = await runAll(asReader, readers(join(stage.directory, 'full'), listed[0]!.requestId));
      assert.match(said.get('doctor --json')!, /directory-fits/);
      assert.deepEqual(await guarded.contents(), before);
      assert.deepEqual(guarded.refused, [], 'the registry was asked to change something');

      await context.test('dead letters of every partition are listed, in pages (defect line 24)', async () => {
        for (let index = 0; index < letters; index += 1) {
          const body = JSON.stringify({ unheardOf: index });
          const headers = { 'content-type': 'application/json' };
          assert.equal((await fetch(daemon.url, { method: 'POST', headers, body })).status, 202);
        }
        const all = jsonLines<Letter>((await lance(asReader, 'letters', 'list', '--json')).stdout);
        assert.equal(all.length, letters);
        assert.ok(new Set(all.map(({ partition }) => partition)).size > 1);
        const page = await lance(asReader, 'letters', 'list', '--count', String(letters - 1));
        assert.match(page.stderr, /There is more: --partition \d --from \d+/);
      });

      await context.test('what a reader may not do is refused with its cause (defect line 2)', async () => {
        const open = listed.find(({ state }) => resolutionOf(state) !== null)!;
        const { code, stderr } = await lance(asReader, ...resolutionWords(open));
        assert.notEqual(code, 0);
        assert.match(stderr, /registry/i);
      });

      await context.test(
        'personal data is exported and searched on record, by somebody who may write one (issue 21, line 7)',
        async () => {
          const file = join(stage.directory, 'on-record.ndjson');
          for (const words of [
            ['audit', 'export', file, '--by', 'ana'],
            ['bids', 'list', '--cpf', '529.982.247-25', '--by', 'bia'],
          ]) {
            const { code, stderr } = await lance(asWriter, ...words);
            assert.equal(code, 0, stderr);
          }
          type Order = { kind: string; what?: string; by: string; via?: string; requests?: number };
          const told = jsonLines<Order>((await lance(asReader, 'controls', 'history', '--json')).stdout);
          assert.deepEqual(
            told
              .filter(({ kind }) => kind === 'personal-read')
              .map(({ what, by, via, requests: many }) => [what, by, via, many]),
            [
              ['worker-searched', 'bia', 'offline', undefined],
              ['requests-exported', 'ana', 'offline', requests],
            ],
          );
        },
      );

      await context.test('an operator ends requests of every partition (defect line 24)', async () => {
        const reader = openKafkaReader({
          settings: { ...settingsOn(stack, prefix), brokers: guarded.writer.brokers.split(','), sasl },
        });
        const byPartition = new Map<number, Listed>();
        for (const row of listed.filter(({ state }) => resolutionOf(state) !== null)) {
          byPartition.set(await reader.partitionOf('auctions', row.requestId), row);
        }
        assert.ok(
          [...byPartition.keys()].some((partition) => partition > 0),
          'all requests are in partition 0',
        );
        context.after(() => reader.close());
        for (const [partition, row] of byPartition) {
          const { stdout, stderr } = await lance(asWriter, ...resolutionWords(row));
          assert.match(stdout, /Now: /, `partition ${partition}: ${stderr}`);
        }
      });
    } finally {
      await daemon.stop();
    }
    const found = jsonLines<{ finding: string; level: string; lastAt?: string }>(
      (await lance(asReader, 'doctor', '--json')).stdout,
    );
    const unseen = found.find(({ finding }) => finding === 'daemon-unseen');
    assert.equal(unseen?.level, 'warn');
    assert.ok(Date.now() - Date.parse(unseen.lastAt ?? '') < 600_000, unseen.lastAt);
  });
});

/** What an operator may say of a request that will stay as it is until then. */
function resolutionOf(state: Phase): (typeof operatorResolutions)[number] | null {
  if (state !== 'proposed' && state !== 'contemplated' && state !== 'accepted') return null;
  return operatorResolutions.find((as) => transitions[state][`resolved-${as}`] !== undefined) ?? null;
}

function resolutionWords({ requestId, state }: Listed): string[] {
  return ['bids', 'resolve', requestId, '--as', resolutionOf(state)!, '--by', 'ana', '--reason', 'teste'];
}
