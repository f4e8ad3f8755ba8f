/** A desk moves house: from the embedded file to Kafka and Redis and back, and its three lives are judged as one run. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { openRedisStore } from '../../src/adapters/redis/store.ts';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import type { EventLog, Views } from '../../src/bidding/ports.ts';
import type { DeskHeader } from '../../src/cli/desk-file.ts';
import { type DemoReport, judge } from '../../src/cli/judge.ts';
import type { DeskReader } from '../../src/cli/world.ts';
import { createFoldedViews } from '../../src/folded-views.ts';
import { policyOf } from '../../src/policy.ts';
import { configOf } from '../crash/verdict.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack, type SuiteStack } from '../stack/suite.ts';
import { jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

type Environment = Record<string, string>;
type DeskRead = {
  log: Pick<EventLog, 'read' | 'ends'>;
  views: DeskReader['views'];
  close: () => unknown;
};

const by = ['--by', 'ana', '--reason', 'mudança'];
const fail = (fault: Error): never => {
  throw fault;
};

function onKafka(played: Played, stack: SuiteStack): Environment {
  const path = join(played.directory, 'kafka.json');
  const { bidding } = JSON.parse(readFileSync(played.environment.LANCE_CONFIG!, 'utf8'));
  const kafka = { topicPrefix: stack.prefix, groupId: stack.prefix, partitions: 3, replication: 1 };
  writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
  return {
    ...played.environment,
    LANCE_DATA_DIR: join(played.directory, 'files'),
    LANCE_CONFIG: path,
    ...stackEnvironment(stack),
  };
}

async function openDesk(environment: Environment): Promise<DeskRead> {
  const { store, http, bidding } = configOf(environment);
  if (store.backend === 'embedded') return openEmbeddedReader({ directory: store.dataDir });
  const settings = { ...store.kafka, appendTimeoutMs: http.appendTimeoutMs };
  const { log, close } = await openKafkaLog({
    settings,
    seal: (_place, text) => text,
    onClosed: fail,
    onStalled: fail,
  });
  const folded = createFoldedViews(log, bidding);
  return { log, views: folded.views, close: () => Promise.all([close(), folded.close()]) };
}

/** Nothing is left that a move would have to wait for; results and winners may still come, to whoever lives then. */
async function settle(environment: Environment): Promise<void> {
  const awaited = new Set(['requested', 'claimed', 'unknown']);
  for (let attempt = 0; attempt < 60; attempt += 1) {
    let open = 0;
    // As it stands now: on Kafka it is folded here.
    const desk = await openDesk(environment);
    for (const [partition, end] of await desk.log.ends('auctions')) {
      open += end - (await desk.views.applied(partition));
      open += (await desk.views.open(partition))
        .flatMap(({ rows }) => rows)
        .filter(({ state }) => awaited.has(state.phase)).length;
    }
    await desk.close();
    if (open === 0) return;
    await sleep(250);
  }
}

async function judged(played: Played, environment: Environment): Promise<DemoReport> {
  const config = configOf(environment);
  const policy = policyOf(config, readRuleFiles(config.rulesDir));
  const store = (await openDesk(environment)) as DeskRead & { log: EventLog; views: Views };
  try {
    const vault = createVault(config.pseudonymKey);
    return await judge({ sandbox: played.sandbox, store, config, policy, vault, now: Date.now() });
  } finally {
    await store.close();
  }
}

/** One life of the desk: it is resumed, trades, is paused and stopped. Returns the bids of all lives so far. */
async function live(played: Played, environment: Environment, requests: number): Promise<number> {
  const daemon = await startDaemon(environment);
  try {
    played.sandbox.connect(daemon.url);
    assert.equal((await lance(environment, 'resume', ...by)).code, 0);
    await played.sandbox.run(requests);
    await settle(environment);
    assert.equal((await lance(environment, 'pause', ...by)).code, 0);
  } finally {
    await daemon.stop();
  }
  const report = await judged(played, environment);
  assert.deepEqual(report.violations, [], JSON.stringify(report.passed));
  return report.bids;
}

await describeOnStack('moving house', (stack) => {
  let played: Played;
  let kafka: Environment;
  let back: Environment;
  const file = (name: string) => join(played.directory, name);

  before(async () => {
    // Wide enough for a busy machine: what counts here is that there are bids.
    played = await openStage(23, 2_500);
    kafka = onKafka(played, stack);
    back = { ...played.environment, LANCE_DATA_DIR: join(played.directory, 'back') };
  });
  after(() => played.close());

  test('half a run on the file, half on Kafka, the rest on a file again: the auditor finds one desk without a fault', async () => {
    const first = await live(played, played.environment, 40);
    assert.ok(first > 0, 'the desk bids on the file');
    assert.equal((await lance(played.environment, 'cap', 'mesa', '--reais-a-day', '9000000')).code, 0);
    const out = await lance(played.environment, 'export', file('out.ndjson.gz'), '--json');
    assert.equal(out.code, 0, out.stderr);
    const [header] = jsonLines<DeskHeader & { records: number }>(out.stdout);
    const lines = gunzipSync(readFileSync(file('out.ndjson.gz')))
      .toString()
      .trim()
      .split('\n');
    assert.equal(lines.length, 1 + header!.records);
    assert.deepEqual(JSON.parse(lines[0]!).counts, header!.counts);
    assert.equal(header!.control.caps.mesa, 900_000_000);

    const refused = await lance(played.environment, 'run');
    assert.equal(refused.code, 78);
    assert.match(refused.stderr, /moved to \S*out\.ndjson\.gz .*lance export --undo/);

    const taken = await lance(kafka, 'import', file('out.ndjson.gz'), '--lang', 'en');
    assert.equal(taken.code, 0, taken.stderr);
    assert.match(taken.stdout, /still paused/);
    assert.match(taken.stderr, /import \d+\/\d+/);
    const history = jsonLines<{ kind: string }>((await lance(kafka, 'rules', 'history', '--json')).stdout);
    assert.deepEqual(
      history.map(({ kind }) => kind),
      ['activated', 'proposed'],
      'what became of rule sets moves too',
    );
    const again = await lance(kafka, 'import', file('out.ndjson.gz'));
    assert.equal(again.code, 65);
    assert.match(again.stderr, /kafka\.topicPrefix/);

    const second = await live(played, kafka, 40);
    assert.ok(second > first, 'the desk bids on Kafka');
    const redis = await openRedisStore({ url: stack.redisUrl, keyPrefix: `{${stack.prefix}}:` });
    const alive = setInterval(() => void redis.control.acknowledge('ghost', 1, Date.now()), 200);
    const ghost = await lance(kafka, 'export', file('home.ndjson'));
    clearInterval(alive);
    await redis.close();
    assert.equal(ghost.code, 65);
    assert.match(ghost.stderr, /\(ghost\)/);
    const home = await lance(kafka, 'export', file('home.ndjson'));
    assert.equal(home.code, 0, home.stderr);
    assert.equal((await lance(kafka, 'run')).code, 78);
    const arrived = await lance(back, 'import', file('home.ndjson'));
    assert.equal(arrived.code, 0, arrived.stderr);
    assert.match((await lance(back, 'cap', 'mesa', '--lang', 'en')).stdout, /of R\$ 9,000,000\.00/);
    const third = await live(played, back, 20);
    assert.ok(third > second, 'the desk bids on the file again');
    assert.equal((await lance(back, 'audit', 'verify')).code, 0);
  });
});
