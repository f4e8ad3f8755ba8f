/** `views verify` and `views rebuild` on the state files of a desk on Kafka, edited as an unlucky disk or hand would. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { lance, openStage, type Played, startDaemon } from './desk.ts';

const requests = 60;
const windowMs = 4_000;
const partitions = 2;

await describeOnStack('the state files of a desk on Kafka', (stack) => {
  let stage: Played;
  let environment: Record<string, string>;
  let daemon: Awaited<ReturnType<typeof startDaemon>>;

  before(async () => {
    stage = await openStage(29, windowMs);
    const path = join(stage.directory, 'kafka.json');
    const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };
    const kafka = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions, replication: 1 };
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
    const own = { LANCE_LANG: 'en', LANCE_CONFIG: path, LANCE_DATA_DIR: join(stage.directory, 'state') };
    environment = { ...stage.environment, ...stackEnvironment(stack), ...own };
    daemon = await startDaemon(environment);
    stage.sandbox.connect(daemon.url);
    await stage.sandbox.run(requests);
    // Rows are stored a moment after they are folded.
    await sleep(5_000);
  });
  after(async () => {
    await daemon.stop();
    await stage.close();
  });

  const verify = async (LANCE_DATA_DIR = environment.LANCE_DATA_DIR!) => {
    const ran = await lance({ ...environment, LANCE_DATA_DIR }, 'views', 'verify', '--json');
    assert.notEqual(ran.stdout, '', ran.stderr);
    return { code: ran.code, verdict: JSON.parse(ran.stdout) };
  };
  const fileOf = (directory: string, partition: number) => join(directory, `auctions-${partition}.sqlite`);

  function edited(sql: string): string {
    const data = join(stage.directory, `edited-${Math.random()}`);
    cpSync(environment.LANCE_DATA_DIR!, data, { recursive: true });
    let changed = 0;
    for (let partition = 0; partition < partitions; partition += 1) {
      const database = new DatabaseSync(fileOf(data, partition));
      changed += Number(database.prepare(sql).run().changes);
      database.close();
    }
    assert.ok(changed > 0, sql);
    return data;
  }

  test('are what the log gives, beside the running desk and when it has stopped', { timeout: 200_000 }, async () => {
    const running = await verify();
    assert.deepEqual(
      [running.code, running.verdict.kind, running.verdict.found, running.verdict.unused],
      [0, 'same', [], []],
    );
    assert.deepEqual(running.verdict.partitions, [0, 1]);
    assert.ok(running.verdict.rows > requests, JSON.stringify(running.verdict));
    const refused = await lance(environment, 'views', 'rebuild');
    assert.equal(refused.code, 73, refused.stderr);
    const text = await lance(environment, 'views', 'verify');
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stdout, /^The views are what the log gives: \d+ records folded once more, \d+ rows compared\.$/m);
    assert.match(text.stderr, /log \d+\/\d+/);
    await daemon.stop();
    assert.equal((await verify()).code, 0);
    const nowhere = await lance({ ...environment, LANCE_DATA_DIR: join(stage.directory, 'none') }, 'views', 'verify');
    assert.deepEqual([nowhere.code, /No state file/.test(nowhere.stderr)], [66, true], nowhere.stderr);
  });

  test('name each row that was edited, and are made again from the log', { timeout: 280_000 }, async () => {
    const cases: [sql: string, table: string, what: string][] = [
      [
        "UPDATE exposure SET status = 'released', amount_cents = 0, keys = '[]' WHERE status = 'committed'",
        'exposure',
        'changed',
      ],
      ['DELETE FROM ledger WHERE rowid % 2 = 0', 'ledger', 'missing'],
      ['UPDATE statistics SET cells = zeroblob(length(cells))', 'statistics', 'changed'],
      ["INSERT INTO bid_index VALUES ('of nobody', 'x')", 'bid_index', 'extra'],
    ];
    for (const [sql, table, what] of cases) {
      const data = edited(sql);
      const { code, verdict } = await verify(data);
      assert.equal(code, 1, sql);
      assert.deepEqual(Object.keys(verdict.counts), [table], sql);
      assert.ok(verdict.counts[table][what] > 0, JSON.stringify(verdict.counts));
      const [first] = verdict.found;
      assert.deepEqual(
        [first.table, first.what, typeof first.key, typeof first.partition],
        [...[table, what, 'string', 'number']],
      );
      const named = await lance({ ...environment, LANCE_DATA_DIR: data }, 'views', 'verify');
      assert.match(named.stdout, new RegExp(`auctions-\\d ${table} ${first.key}: `));
    }
    const data = edited(cases[0]![0]);
    const rebuilt = await lance({ ...environment, LANCE_DATA_DIR: data }, 'views', 'rebuild');
    assert.equal(rebuilt.code, 0, rebuilt.stderr);
    assert.match(rebuilt.stdout, /^The views were made again: \d+ records folded, 2 partitions\. Start the desk\.$/m);
    assert.match(rebuilt.stderr, /log \d+\/\d+/);
    assert.deepEqual((await verify(data)).verdict.found, []);
    assert.ok(existsSync(join(data, 'flows-0.sqlite')));
    daemon = await startDaemon({ ...environment, LANCE_DATA_DIR: data });
    stage.sandbox.connect(daemon.url);
    await stage.sandbox.run(requests / 3);
    assert.deepEqual(
      daemon.lines.filter(({ msg }) => ['views-discarded', 'restoring', 'cap-book-lost'].includes(String(msg))),
      [],
    );
    await sleep(5_000);
    assert.equal((await verify(data)).code, 0);
  });
});
