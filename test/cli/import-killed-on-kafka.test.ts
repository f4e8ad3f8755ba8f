/** An import into Kafka that is killed right before any of its records: what a start and the next import say, and do. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { anchorFileOf } from '../../src/adapters/embedded/anchor.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import { createAuditKey } from '../../src/adapters/vault/audit-key.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { auctionEntry } from '../conformance/samples.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { lance, offlineEnvironment, pseudonymKey } from './desk.ts';

const killer = new URL('./kill-at-produce.ts', import.meta.url).href;
/** More than an import of two records writes. */
const mostProduces = 40;

await describeOnStack('an import into Kafka that is killed', (stack) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-import-'));
  const file = join(directory, 'desk.gz');
  const environment = offlineEnvironment(join(directory, 'desk'));

  before(async () => {
    const place = environment.LANCE_DATA_DIR;
    const anchor = { ...anchorFileOf(place, null), key: createAuditKey(pseudonymKey), everyMs: 300_000 };
    const store = await openEmbeddedStore({
      directory: place,
      anchor,
      onFault: (fault) => assert.fail(fault.message),
    });
    await store.log.append([auctionEntry('1', 'passed'), auctionEntry('2', 'passed')]);
    await store.views.apply({ partition: 0, first: 0, next: 2, changes: [] });
    await store.control.setPause({ by: 'ana', reason: 'mudança', at: 1 });
    await store.close();
    const exported = await lance(environment, 'export', file);
    assert.equal(exported.code, 0, exported.stderr);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('no desk begins on a part of it, and the next import says what to do', async () => {
    const seen: string[] = [];
    for (let at = 1; ; at += 1) {
      assert.ok(at < mostProduces, 'it never came to its end');
      const prefix = `${stack.prefix}${at}.`;
      const path = join(directory, `${randomUUID()}.json`);
      const kafka = { topicPrefix: prefix, groupId: prefix, partitions: 1, replication: 1 };
      writeFileSync(path, JSON.stringify({ kafka, redis: { keyPrefix: `{${prefix}}:` } }));
      const there = { ...environment, ...stackEnvironment(stack), LANCE_CONFIG: path };
      const killing = { ...there, NODE_OPTIONS: `--import=${killer}`, LANCE_TEST_KILL_AT: `${at}` };
      const first = await lance(killing, 'import', file, '--json');
      if (first.code === 0) break;
      assert.equal(first.code, null, `${at}: ${first.stderr}`);
      const reader = openKafkaReader({ settings: settingsOn(stack, prefix) });
      const ends = [...(await reader.log.ends('auctions').catch(() => new Map())).values()];
      const mark = await reader.house.read().catch(() => null);
      const origins = await reader.house.origins().catch(() => []);
      await reader.close();
      const records = ends.reduce((sum, end) => sum + end, 0);
      // The first record of all says that the place was begun, the second one is the mark.
      assert.equal(mark?.kind ?? null, at <= 2 ? null : 'arriving', `${at}`);
      const again = async () => lance(there, 'import', file, '--json');
      if (mark === null) {
        assert.equal(records, 0);
        const taken = await again();
        assert.deepEqual([taken.code, JSON.parse(taken.stdout).records], [0, 2], taken.stderr);
        seen.push('unmarked');
        continue;
      }
      const started = await lance(there, 'run');
      assert.equal(started.code, 78, started.stderr);
      assert.match(started.stderr, /An import of \S+desk\.gz into this place.* goes on or broke off\./);
      const second = await again();
      if (origins.length > 0) {
        // Nothing but the mark was left to be taken away: no record comes twice.
        assert.deepEqual([second.code, JSON.parse(second.stdout).records, records], [0, 2, 2], second.stderr);
        const whole = openKafkaReader({ settings: settingsOn(stack, prefix) });
        assert.deepEqual([...(await whole.log.ends('auctions')).values()], [2]);
        assert.deepEqual([await whole.house.read(), (await whole.house.origins()).length], [null, 1]);
        await whole.close();
        seen.push('whole');
        continue;
      }
      assert.equal(second.code, 65, second.stderr);
      assert.match(second.stderr, /An import of \S+desk\.gz into this place, begun on [^,]+, goes on or broke off/);
      assert.match(second.stderr, /set kafka\.topicPrefix, kafka\.groupId and redis\.keyPrefix to new names/);
      const undone = await lance(there, 'export', '--undo');
      assert.equal(undone.code, 65, 'a part of a desk becomes none');
      seen.push(records === 0 ? 'empty' : 'part');
    }
    assert.deepEqual([...new Set(seen)], ['unmarked', 'empty', 'part', 'whole']);
  });
});
