/** The three servers of the stack: how each is configured, and how one knows that it answers. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createPart, type Part } from './part.ts';

const run = promisify(execFile);

const host = '127.0.0.1';

export type RedisPart = Part & {
  flush: () => Promise<void>;
  /** Keeps a copy of all data as they are now. */
  keep: () => Promise<void>;
  /** Kills it and starts it again with the data that were kept last. */
  rollBack: () => Promise<void>;
};

/** One KRaft node that is broker and controller. Topics are made by who needs them, never by being named. */
export async function createBroker(plan: {
  jars: string;
  directory: string;
  ports: readonly [broker: number, controller: number];
  /** Beside what `brokerSettings` says, or instead of it. */
  settings?: Readonly<Record<string, string>>;
  changed: () => void;
}): Promise<Part> {
  const classpath = join(plan.jars, '*');
  await mkdir(plan.directory);
  await writeFile(
    join(plan.directory, 'server.properties'),
    brokerProperties(plan.ports, join(plan.directory, 'data'), plan.settings ?? {}),
  );
  await writeFile(join(plan.directory, 'log4j2.properties'), logToOutput);
  const format = ['-cp', classpath, 'kafka.tools.StorageTool', 'format', '-t', clusterId(), '-c', 'server.properties'];
  await run('java', ['-Dlog4j2.configurationFile=log4j2.properties', ...format], { cwd: plan.directory });
  const memory = ['-Xms256m', '-Xmx512m', '-XX:+UseSerialGC'];
  return createPart(
    {
      name: 'broker',
      program: 'java',
      args: [
        ...memory,
        '-Dlog4j2.configurationFile=log4j2.properties',
        '-cp',
        classpath,
        'kafka.Kafka',
        'server.properties',
      ],
      directory: plan.directory,
      answers: (logged) => logged.includes('Kafka Server started'),
    },
    plan.changed,
  );
}

/** 16 random bytes. The first is low, for an id that begins with a dash would be read as an option. */
function clusterId(): string {
  const bytes = randomBytes(16);
  bytes[0]! &= 0x3f;
  return bytes.toString('base64url');
}

/** What does not depend on the place: docker-compose.yml says the same. */
export const brokerSettings: Readonly<Record<string, string>> = {
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'inter.broker.listener.name': 'PLAINTEXT',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '4',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'transaction.state.log.num.partitions': '4',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
  'auto.create.topics.enable': 'false',
  'group.initial.rebalance.delay.ms': '0',
  'log.cleaner.dedupe.buffer.size': '16777216',
};

function brokerProperties(
  [broker, controller]: readonly [number, number],
  data: string,
  others: Readonly<Record<string, string>>,
): string {
  const settings = {
    ...brokerSettings,
    'controller.quorum.voters': `1@${host}:${controller}`,
    listeners: `PLAINTEXT://${host}:${broker},CONTROLLER://${host}:${controller}`,
    'advertised.listeners': `PLAINTEXT://${host}:${broker}`,
    'log.dirs': data,
    ...others,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

const logToOutput = `status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.started.name=kafka.server
logger.started.level=info
`;

/** What does not depend on the place, when the schemas are kept on the broker: docker-compose.yml says the same. */
export const registrySettings: Readonly<Record<string, string>> = {
  'apicurio.storage.kind': 'kafkasql',
  'apicurio.rules.global.compatibility': 'BACKWARD',
};

/**
 * Kept on the broker, schemas and their ids outlive the registry; kept in memory (`brokers: null`, quicker to start) they
 * do not. Compatibility is BACKWARD, as Confluent's own registry has it.
 */
export async function createRegistry(plan: {
  jar: string;
  directory: string;
  port: number;
  brokers: string | null;
  changed: () => void;
}): Promise<{ part: Part; url: string }> {
  await mkdir(plan.directory);
  const url = `http://${host}:${plan.port}/apis/ccompat/v7`;
  const kept = { ...registrySettings, 'apicurio.kafkasql.bootstrap.servers': plan.brokers ?? '' };
  const storage = plan.brokers === null ? [] : Object.entries(kept).map(([name, value]) => `-D${name}=${value}`);
  const part = createPart(
    {
      name: 'registry',
      program: 'java',
      args: [
        '-Xmx256m',
        '-XX:+UseSerialGC',
        '-XX:TieredStopAtLevel=1',
        `-Dquarkus.http.host=${host}`,
        `-Dquarkus.http.port=${plan.port}`,
        ...storage,
        '-jar',
        plan.jar,
      ],
      directory: plan.directory,
      answers: () => wantsBackward(url),
    },
    plan.changed,
  );
  return { part, url };
}

async function wantsBackward(registryUrl: string): Promise<boolean> {
  const answer = await fetch(`${registryUrl}/config`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ compatibility: 'BACKWARD' }),
    signal: AbortSignal.timeout(2_000),
  }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}

/** Writes its dump when it is stopped, and every few seconds: one that is killed comes back a little older. */
export async function createRedis(plan: { directory: string; port: number; changed: () => void }): Promise<RedisPart> {
  await mkdir(plan.directory);
  const network = ['--bind', host, '--port', String(plan.port)];
  const part = createPart(
    {
      name: 'redis',
      program: 'redis-server',
      args: [...network, '--save', '5', '1', '--appendonly', 'no', '--dir', plan.directory],
      directory: plan.directory,
      answers: async () => (await askRedis(plan.port, 'PING').catch(() => '')) === '+PONG',
    },
    plan.changed,
  );
  const command = async (text: string): Promise<void> => {
    let answer = await askRedis(plan.port, text);
    // Redis dumps once at a time, and by itself too.
    for (; answer.endsWith('save already in progress'); answer = await askRedis(plan.port, text)) await sleep(50);
    if (answer !== '+OK') throw new Error(`redis answered ${text} with ${answer}`);
  };
  const dump = join(plan.directory, 'dump.rdb');
  const kept = join(plan.directory, 'kept.rdb');
  return {
    ...part,
    flush: () => command('FLUSHALL'),
    keep: async () => {
      await command('SAVE');
      await copyFile(dump, kept);
    },
    rollBack: async () => {
      await part.kill();
      await copyFile(kept, dump);
      await part.start();
    },
  };
}

/** The first line of the answer to one command without arguments. */
export function askRedis(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 5_000 }, () => void socket.write(`${command}\r\n`));
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      answer += text;
      if (!answer.includes('\r\n')) return;
      socket.destroy();
      resolve(answer.slice(0, answer.indexOf('\r\n')));
    });
    socket.on('timeout', () => socket.destroy(new Error(`redis did not answer ${command}`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('redis closed the connection')));
  });
}
