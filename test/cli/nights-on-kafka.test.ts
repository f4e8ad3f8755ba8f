/**
 * Nights on which no bid flows because of the servers below the desk: a real broker, registry and Redis that stop, lose what they held
 * or hand out what nobody can read. One cause stands in all eight places.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import kafkajs from 'kafkajs';
import '../../src/adapters/kafka/kafkajs-mends.ts';
import type { ClosedCause } from '../../src/bidding/bidding-status.ts';
import { type RunningStack, stackEnvironment, startStack } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { freePort, lance, openStage, startDaemon } from './desk.ts';
import { loseKeys } from './kafka-desk.ts';
import { apiTokens, assertCodes, assertShown, type KafkaCause, type Place, untilCause } from './night.ts';

const windowMs = 8_000;
const partitions = 2;
/** A process that hangs keeps its partitions for so long. */
const sessionTimeoutMs = 120_000;

type Night = Place & { stack: RunningStack; prefix: string; second: Awaited<ReturnType<typeof startDaemon>> | null };

type Plan = {
  title: string;
  /** A second process has some of the partitions. */
  ofTwo?: boolean;
  /** Before requests come. */
  force?: (night: Night) => Promise<void>;
  /** While they come. */
  during?: (night: Night) => Promise<void>;
  /** Bidding opens again then, or a process that is started then ends requests with the code `endsAs`. */
  mend: (night: Night) => Promise<void>;
  endsAs?: ClosedCause;
  least?: number;
  beside?: readonly ClosedCause[];
  ingress?: number;
};

/** Each partition of `auctions` gets a batch that nobody can unpack: the end of its stream is damaged, which no broker looks at. */
async function spoilPartitions({ stack, prefix }: Night): Promise<void> {
  const { GZIP } = kafkajs.CompressionTypes;
  const known = kafkajs.CompressionCodecs[GZIP]!;
  kafkajs.CompressionCodecs[GZIP] = () => ({
    ...known(),
    compress: async (encoder: { buffer: Buffer }) =>
      Buffer.concat([gzipSync(encoder.buffer), Buffer.from([0x1f, 0x8b, 0xff, 0xff, 0xff, 0xff])]),
  });
  const kafka = new kafkajs.Kafka({ brokers: [stack.brokers], logLevel: kafkajs.logLevel.NOTHING });
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  const messages = Array.from({ length: partitions }, (_, partition) => ({ key: 'x', value: 'x', partition }));
  await producer.send({ topic: `${prefix}auctions`, compression: GZIP, messages });
  await producer.disconnect();
  kafkajs.CompressionCodecs[GZIP] = known;
}

/** As the runbook says: the process is stopped, and a person orders to leave the records out. It is paused then. */
async function passOver({ daemon, environment, prefix }: Night): Promise<void> {
  await daemon.stop();
  const told = daemon.lines.filter(({ code }) => code === 'partition-closed').map(({ text }) => String(text));
  for (let partition = 0; partition < partitions; partition += 1) {
    const topic = `${prefix}auctions/${partition}`;
    const offset = told.flatMap((text) => new RegExp(`${topic} at the offsets (\\d+)`).exec(text)?.[1] ?? [])[0];
    const words = ['audit', 'pass-over', topic, String(offset), '--by', 'ana', '--reason', 'teste'];
    const { code, stderr } = await lance(environment, ...words);
    assert.equal(code, 0, stderr);
  }
}

const signal = (pid: number | null, name: NodeJS.Signals) => void process.kill(pid!, name);

const nights: Record<KafkaCause | 'log-refused', Plan> = {
  'control-stale': {
    title: 'Redis hangs, so nobody hears what operators order',
    force: async ({ stack }) => signal(stack.redis.pid(), 'SIGSTOP'),
    mend: async ({ stack }) => signal(stack.redis.pid(), 'SIGCONT'),
    // The cap book is looked at again.
    beside: ['views-incomplete'],
  },
  'log-refused': {
    title: 'the broker hangs',
    during: async ({ stack }) => signal(stack.broker.pid(), 'SIGSTOP'),
    mend: async ({ stack }) => signal(stack.broker.pid(), 'SIGCONT'),
    ingress: 503,
  },
  'views-incomplete': {
    title: 'the cap book is lost while the process that has a part of the partitions hangs',
    ofTwo: true,
    force: async ({ second, stack, prefix }) => {
      second!.signal('SIGSTOP');
      assert.ok((await loseKeys({ redisUrl: stack.redisUrl, prefix }, (key) => key.includes('cap-book'))) > 0);
    },
    mend: async ({ second }) => second!.signal('SIGCONT'),
  },
  'partitions-not-live': {
    title: 'a record in each partition that nobody can read',
    force: spoilPartitions,
    // No request ends before: what stands in the log behind the record is read, and bid for no more, once a person has passed it over.
    mend: passOver,
    endsAs: 'restored',
  },
};

await describeOnStack('nights on which no bid flows, on Kafka', () => {
  let stack: RunningStack;
  before(async () => {
    const started = await startStack({ lastingRegistry: true });
    assert.ok(started.kind === 'running');
    stack = started;
  });
  after(() => stack?.stop());

  for (const [index, [name, plan]] of Object.entries(nights).entries()) {
    const cause = name as keyof typeof nights;
    test(`${cause}: ${plan.title}`, { timeout: 240_000 }, () => play(cause, plan, 81 + index));
  }

  test('moving: a process that hung while its desk was moved ends, and says where the desk is', {
    timeout: 240_000,
  }, async () => {
    await withDesk(91, {}, async ({ played, daemon, environment, root }) => {
      const who = ['--by', 'ana', '--reason', 'teste'];
      played.sandbox.connect(daemon.url);
      await played.sandbox.run(5);
      assert.equal((await lance(environment, 'pause', ...who)).code, 0);
      daemon.signal('SIGSTOP');
      const file = join(played.directory, 'desk.ndjson.gz');
      let moved = await lance(environment, 'export', file);
      // Until nobody counts it among the living, and nothing is open.
      for (let looks = 0; looks < 40 && moved.code !== 0; looks += 1) {
        await sleep(500);
        moved = await lance(environment, 'export', file);
      }
      assert.equal(moved.code, 0, moved.stderr);
      daemon.signal('SIGCONT');
      const isUp = async () => (await fetch(`${root}/livez`).catch(() => null)) !== null;
      const begun = performance.now();
      for (let looks = 0; looks < 200 && (await isUp()); looks += 1) await sleep(100);
      assert.ok(performance.now() - begun < 15_000, 'it looks every five seconds');
      const said = daemon.lines.find(({ code }) => code === 'desk-moved');
      assert.match(String(said?.text), /moved to .*desk\.ndjson\.gz.*lance export --undo/);
      const { stdout } = await lance({ ...environment, LANCE_LANG: 'en' }, 'doctor');
      assert.match(stdout.replaceAll(/\s+/g, ' '), /moved to .*lance export --undo/);
      await assert.rejects(startDaemon(environment), /ended with 78/);
    });
  });

  async function withDesk(seed: number, { ofTwo = false }: { ofTwo?: boolean }, use: (night: Night) => Promise<void>) {
    const played = await openStage(seed, windowMs);
    const prefix = `n${randomBytes(4).toString('hex')}-`;
    const path = join(played.directory, 'kafka.json');
    const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: windowMs, resultTimeoutMs: 5_000 };
    const kafka = { topicPrefix: prefix, groupId: prefix, partitions, replication: 1, sessionTimeoutMs };
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${prefix}}:` } }));
    const port = await freePort();
    const environment: Record<string, string> = {
      ...{ ...played.environment, LANCE_CONFIG: path, LANCE_API_TOKENS: apiTokens, LANCE_HTTP_PORT: `${port}` },
      ...stackEnvironment(stack),
    };
    const daemon = await startDaemon(environment);
    let second: Night['second'] = null;
    try {
      if (ofTwo) {
        const more = { LANCE_HTTP_PORT: '0', LANCE_DATA_DIR: join(played.directory, 'second') };
        second = await startDaemon({ ...environment, ...more });
      }
      const night: Night = { played, daemon, environment, root: `http://127.0.0.1:${port}`, stack, prefix, second };
      await untilCause(night, null, 60_000);
      if (ofTwo) await untilShared(night);
      await use(night);
    } finally {
      for (const each of [daemon, second]) {
        each?.signal('SIGCONT');
        await each?.stop();
      }
      await played.close();
    }
  }

  async function play(cause: keyof typeof nights, plan: Plan, seed: number): Promise<void> {
    await withDesk(seed, plan, async (night) => {
      const { played, daemon } = night;
      played.sandbox.connect(daemon.url);
      await plan.force?.(night);
      if (plan.force !== undefined) await untilCause(night, cause, 20_000);
      const begunMs = performance.now();
      const running = played.sandbox.run(40);
      await sleep(300);
      await plan.during?.(night);
      await untilCause(night, cause, 20_000);
      await assertShown(night, cause, plan.ingress);
      // Until the auctions have ended, the last of which began seconds after the first.
      await sleep(Math.max(0, windowMs + 3_000 - (performance.now() - begunMs)));
      await untilCause(night, cause, 0);
      await plan.mend(night);
      if (plan.endsAs !== undefined) return endsAs(night, plan.endsAs, running);
      await running;
      await untilCause(night, null, 60_000);
      assert.equal((await fetch(`${night.root}/readyz`)).status, 200);
      const told = () => daemon.lines.filter(({ msg }) => msg.startsWith('bidding-'));
      // The views may be counted again for a moment before bidding opens.
      const isLeft = () => told().some(({ from }) => from === cause) && told().at(-1)!.msg === 'bidding-open';
      // What the desk writes comes here by a pipe, beside the answer of the API.
      for (let looks = 0; looks < 50 && !isLeft(); looks += 1) await sleep(100);
      assert.ok(isLeft(), `the recovery is logged: ${JSON.stringify(told())}`);
      return assertCodes(night, cause, plan.least, plan.beside);
    });
  }

  async function endsAs(night: Night, code: ClosedCause, running: Promise<unknown>): Promise<void> {
    const again = await startDaemon(night.environment);
    try {
      await running;
      await assertCodes(night, code);
    } finally {
      await again.stop();
    }
  }

  /** Both processes have a partition. */
  async function untilShared({ root, second }: Night): Promise<void> {
    const owned = async (origin: string) => {
      const { partitions: mine } = (await (await fetch(`${origin}/status`)).json()) as {
        partitions: { owned: number[] };
      };
      return mine.owned.length;
    };
    for (let looks = 0; looks < 300; looks += 1) {
      if ((await owned(root)) === 1 && (await owned(new URL(second!.url).origin)) === 1) return;
      await sleep(200);
    }
    assert.fail('the partitions are not shared');
  }
});
