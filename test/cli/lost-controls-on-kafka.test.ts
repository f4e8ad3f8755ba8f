/** Operators' orders on Kafka outlive Redis: it is emptied while no process runs, and the next one obeys all the same. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Kafka, logLevel } from 'kafkajs';
import '../../src/adapters/kafka/kafkajs-mends.ts';
import { connect, redisDefaults } from '../../src/adapters/redis/connection.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { describeOnStack } from '../stack/suite.ts';
import { type Daemon, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';
import { environmentOnKafka, loseKeys } from './kafka-desk.ts';

const who = ['--by', 'ana', '--reason', 'strange rates'];
const requests = 20;

await describeOnStack('controls that Redis has lost', (stack) => {
  let stage: Played;
  let environment: Record<string, string>;
  let daemon: Daemon | null = null;

  before(async () => {
    stage = await openStage(9);
    environment = environmentOnKafka(stage, stack);
  });
  after(async () => {
    await daemon?.stop();
    await stage.close();
  });

  async function told(command: string[]): Promise<string> {
    const { code, stdout, stderr } = await lance(environment, ...command);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  async function isPaused(): Promise<boolean> {
    // Other findings, such as views that are being made again, are not asked for here.
    const { stdout, stderr } = await lance(environment, 'doctor', '--json');
    const found = jsonLines<{ finding: string }>(stdout).map(({ finding }) => finding);
    assert(
      found.some((finding) => finding.startsWith('control')),
      stderr,
    );
    return found.includes('control-paused');
  }

  const bidsSent = () => stage.sandbox.record.of('call').filter(({ path }) => path === bidPath).length;

  test('a pause, a cap and a resume hold after Redis was emptied and every process restarted', {
    timeout: 120_000,
  }, async () => {
    daemon = await startDaemon(environment);
    await told(['cap', 'daily', '--reais-a-day', '1000', ...who]);
    await told(['pause', ...who]);
    await daemon.stop();
    assert(await loseKeys(stack));

    // Nobody has heard of it; only the log knows.
    assert.match(await told(['cap', 'daily']), /of R\$ 1,000\.00/);
    assert.equal(await loseKeys(stack), 0, 'a command that reads has written');
    daemon = await startDaemon(environment);
    stage.sandbox.connect(daemon.url);
    assert(await isPaused());
    await stage.sandbox.run(requests);
    assert.equal(bidsSent(), 0);

    await told(['resume', ...who]);
    await daemon.stop();
    assert(await loseKeys(stack));
    daemon = await startDaemon(environment);
    assert(!(await isPaused()));
    assert.match(await told(['cap', 'daily']), /of R\$ 1,000\.00/);

    // Who ordered it and why is known beside the desk, and without one on a Redis that lost everything.
    const orders = async () =>
      jsonLines<{ kind: string; by: string; reason: string }>(await told(['controls', 'history', '--json']));
    const beside = await orders();
    const byHand = beside.filter(({ kind }) => kind !== 'rules-ordered');
    assert.deepEqual(
      byHand.map(({ kind, by, reason }) => [kind, by, reason]),
      ['resumed', 'paused', 'cap-set'].map((kind) => [kind, 'ana', 'strange rates']),
    );
    assert.ok(beside.some(({ kind }) => kind === 'rules-ordered'));
    await daemon.stop();
    assert(await loseKeys(stack));
    assert.deepEqual(await orders(), beside);
  });

  test('a pause holds on an older copy of Redis beside a copy of the controls that nobody can read', {
    timeout: 120_000,
  }, async () => {
    const kafka = new Kafka({ brokers: stack.brokers.split(','), logLevel: logLevel.NOTHING });
    const producer = kafka.producer();
    await producer.connect();
    const messages = [{ partition: 0, key: 'control/garbage', value: '{not json' }];
    await producer.send({ topic: `${stack.prefix}house`, messages });
    await producer.disconnect();
    daemon = await startDaemon(environment);
    assert(!(await isPaused()));
    const redis = await connect({ ...redisDefaults, url: stack.redisUrl });
    const key = `{${stack.prefix}}:control`;
    const older = await redis.command<string[]>('HGETALL', key);
    await told(['pause', ...who]);
    await daemon.stop();
    await redis.command('HSET', key, ...older);
    await redis.close();
    daemon = await startDaemon(environment);
    assert(await isPaused());
    const named = daemon.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'record-undecodable');
    assert.deepEqual(
      named.map(({ text }) => /house\/0 at \d+ cannot be read/.test(String(text))),
      [true],
    );
    assert.match(await told(['controls', 'history', '--json']), /"paused"/);
  });
});
