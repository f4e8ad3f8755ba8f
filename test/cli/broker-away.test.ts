/** The broker goes away and comes back while nobody sends anything: readiness says so, and nothing that was acknowledged is lost. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { createPartitionReader, extentOf, recordsOf } from '../../src/adapters/kafka/partitions.ts';
import { type RunningStack, stackEnvironment, startStack } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

const partitions = 2;
/** Asked every two seconds, and given as long to answer as an append. */
const noticeMs = 8_000;
const recoverMs = 15_000;
/** Redis comes back empty: the cap book is filled again. */
const rebuildMs = 60_000;

type Daemon = Awaited<ReturnType<typeof startDaemon>>;

// Hurting the stack that other files work on would hurt them: where there is one, there can be another.
await describeOnStack('a broker that goes away', () => {
  let stack: RunningStack;
  let stage: Played;
  let daemon: Daemon;
  /** Of commands beside the daemon. */
  let beside: Record<string, string>;
  const acknowledged: string[] = [];

  before(async () => {
    const started = await startStack({ lastingRegistry: true });
    assert(started.kind === 'running');
    stack = started;
    stage = await openStage(6);
    const path = join(stage.directory, 'kafka.json');
    writeFileSync(path, JSON.stringify({ kafka: { partitions, replication: 1 } }));
    const shared = { ...stage.environment, LANCE_LANG: 'en', LANCE_CONFIG: path, ...stackEnvironment(stack) };
    daemon = await startDaemon(shared);
    beside = { ...shared, LANCE_URL: new URL('/', daemon.url).href };
  });
  after(async () => {
    await daemon?.stop();
    await stage?.close();
    await stack?.stop();
  });

  async function send(requestId: string): Promise<number> {
    const body = `{"CodigoLote":"L","Solicitacoes":[{"numeroSolicitacao":${requestId},"valorLiberado":1000,"cpf":"52998224725"}]}`;
    const { status } = await fetch(daemon.url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    if (status === 200) acknowledged.push(requestId);
    return status;
  }

  async function webhooksLine(): Promise<{ status: number; line: string }> {
    const answer = await fetch(new URL('/readyz?verbose', daemon.url));
    const line = (await answer.text()).split('\n').find((text) => text.includes('webhooks')) ?? '';
    return { status: answer.status, line };
  }

  /** Milliseconds until it holds. */
  async function until(limitMs: number, holds: () => Promise<boolean>): Promise<number> {
    const begun = performance.now();
    while (!(await holds())) {
      if (performance.now() - begun > limitMs) assert.fail(`not within ${limitMs} ms: ${(await webhooksLine()).line}`);
      await sleep(100);
    }
    return performance.now() - begun;
  }

  const isReady = async () => (await webhooksLine()).status === 200;
  const isAway = async () => {
    const { status, line } = await webhooksLine();
    return status === 503 && /\[-\] webhooks: .*Kafka has not answered/.test(line);
  };

  /** Closed for this cause, which names the server. */
  async function closedFor(cause: string, detail: string): Promise<void> {
    let line = '';
    await until(noticeMs, async () => {
      const answer = await fetch(new URL('/readyz?verbose', daemon.url));
      line = (await answer.text()).split('\n').find((text) => text.includes('gate:')) ?? '';
      return line.includes(`bidding is closed: ${cause} since`) && line.includes(detail);
    }).catch((fault: Error) => assert.fail(`${fault.message}; ${line}`));
    // What is folded is known here; how far the log is only the broker tells.
    await scraped(new RegExp(`^lance_bidding_status\\{cause="${cause}"\\} 1$`, 'm'), cause !== 'log-refused');
  }

  /** The server that is away by its name, and everything else looked at all the same. */
  async function doctorNames(away: string, host: string, cause: string): Promise<void> {
    const { code, stdout } = await lance(beside, 'doctor', '--json');
    assert.equal(code, 1);
    const found = jsonLines<{ finding: string; name?: string; host?: string; cause?: string }>(stdout);
    const silent = found.filter(({ finding }) => finding === 'server-silent');
    assert.deepEqual(
      silent.map((each) => [each.name, each.host]),
      [[away, host]],
    );
    const names = found.map(({ finding }) => finding);
    assert.equal(names.filter((name) => name === 'server-reached').length, 2, stdout);
    assert.ok(names.includes('service-reached') && !names.includes('store-unreadable'), stdout);
    assert.equal(found.find(({ finding }) => finding === 'bidding-closed')?.cause, cause, stdout);
  }

  /** What Prometheus sees of a desk whose store is away, within its limit of ten seconds. */
  async function scraped(cause: RegExp, isLagKnown: boolean): Promise<void> {
    for (let scrape = 0; scrape < 2; scrape += 1) {
      const answer = await fetch(new URL('/metrics', daemon.url), { signal: AbortSignal.timeout(10_000) });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      assert.match(text, /^lance_ready\{check="webhooks"\} \d$/m);
      assert.match(text, /^# TYPE lance_faults_total counter$/m);
      assert.equal(/^lance_consumer_lag_\w+\{/m.test(text), isLagKnown, 'a lag that nobody knows is left out');
      assert.match(text, cause);
    }
  }

  async function storedIds(): Promise<Set<string>> {
    const reader = createPartitionReader(new Kafka({ brokers: [stack.brokers], logLevel: logLevel.NOTHING }));
    const ids = new Set<string>();
    const topic = 'lance.auctions';
    for (let partition = 0; partition < partitions; partition += 1) {
      const { first, end } = await extentOf(reader, topic, partition);
      const stretch = { topic, partition, from: first, to: end };
      for await (const { key } of recordsOf(reader, stretch, 'kept')) ids.add(key);
    }
    await reader.close();
    return ids;
  }

  test('readiness falls and returns by itself, and what was acknowledged is stored (defect line 22)', {
    timeout: 400_000,
  }, async (t) => {
    await until(recoverMs, isReady);
    assert.equal(await send('100'), 200);
    const pid = stack.broker.pid()!;
    const ways = [
      {
        name: 'stopped',
        leave: async () => void process.kill(pid, 'SIGSTOP'),
        come: async () => void process.kill(pid, 'SIGCONT'),
      },
      { name: 'killed', leave: () => stack.broker.kill(), come: () => stack.broker.start() },
    ];
    for (const [index, { name, leave, come }] of ways.entries()) {
      await leave();
      const fellMs = await until(noticeMs, isAway);
      const ids = Array.from({ length: 3 }, (_, each) => `${index + 2}0${each}`);
      const statuses = await Promise.all(ids.map(send));
      assert.deepEqual(statuses, [503, 503, 503]);
      await closedFor('log-refused', `Kafka has not answered for`);
      if (name === 'killed') {
        await doctorNames('Kafka', stack.brokers, 'log-refused');
        const pause = await lance(beside, 'pause', '--by', 'ana', '--reason', 'the broker is away');
        assert.equal(pause.code, 74);
        assert.match(pause.stderr, /Kafka .*The desk is paused: Redis has the order/);
        assert.doesNotMatch(pause.stderr, /not known|put Redis right/);
      }
      await come();
      const backMs = await until(recoverMs, isReady);
      t.diagnostic(
        `${name}: not ready after ${Math.round(fellMs)} ms, ready ${Math.round(backMs)} ms after it was back`,
      );
      assert.equal(await send(`${index + 2}99`), 200);
    }
    const resume = await lance(beside, 'resume', '--by', 'ana', '--reason', 'it is back');
    assert.equal(resume.code, 0, resume.stderr);
    const redisHost = new URL(stack.redisUrl).host;
    // A process that hangs takes connections all the same.
    const redisPid = stack.redis.pid()!;
    process.kill(redisPid, 'SIGSTOP');
    await closedFor('control-stale', `Redis at ${redisHost}`);
    await doctorNames('Redis', redisHost, 'control-stale');
    process.kill(redisPid, 'SIGCONT');
    await until(rebuildMs, isReady);
    await stack.redis.kill();
    await closedFor('control-stale', `Redis at ${redisHost}`);
    await doctorNames('Redis', redisHost, 'control-stale');
    await stack.redis.start();
    await until(rebuildMs, isReady);
    const stored = await storedIds();
    assert.equal(acknowledged.length, 3);
    assert.deepEqual(
      acknowledged.filter((id) => !stored.has(id)),
      [],
    );
  });
});
