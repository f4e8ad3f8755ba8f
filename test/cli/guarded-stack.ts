/**
 * A stack that tells readers from writers: a broker of its own with access lists, the registry behind a proxy that passes on
 * questions only, and a user of Redis who may run no command that writes.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import kafkajs, { type Admin, Kafka } from 'kafkajs';
import '../../src/adapters/kafka/kafkajs-mends.ts';
import { findJars } from '../stack/cache.ts';
import { createBroker } from '../stack/servers.ts';
import { freePorts, type StackAddresses } from '../stack/stack.ts';
import { createWatchdog } from '../stack/watchdog.ts';

export type Access = {
  brokers: string;
  registryUrl: string;
  redisUrl: string;
  sasl: { mechanism: 'plain'; username: string; password: string };
};

export type GuardedStack = {
  writer: Access;
  reader: Access;
  /** Of all topics and subjects, by name. */
  contents: () => Promise<{ topics: string[]; subjects: string[] }>;
  /** What the registry was asked to change by a reader. */
  refused: readonly string[];
  admin: Admin;
  close: () => Promise<void>;
};

/** `prefix`: of the topics that the reader may read. */
export async function openGuardedStack(shared: StackAddresses, prefix: string): Promise<GuardedStack> {
  const jars = await findJars(() => undefined);
  if (jars.kind === 'missing') throw new Error(jars.sentence);
  const directory = await mkdtemp(join(tmpdir(), 'lance-guarded-'));
  const watchdog = createWatchdog(directory);
  const [port, controller] = await freePorts(2);
  const passwords = { writer: randomBytes(9).toString('hex'), reader: randomBytes(9).toString('hex') };
  const module = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
  const users = Object.entries(passwords).map(([name, password]) => `user_${name}="${password}"`);
  const broker = await createBroker({
    jars: jars.kafka,
    directory: join(directory, 'broker'),
    ports: [port!, controller!],
    settings: {
      listeners: `CLIENTS://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}`,
      'advertised.listeners': `CLIENTS://127.0.0.1:${port}`,
      'listener.security.protocol.map': 'CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
      'inter.broker.listener.name': 'CLIENTS',
      'sasl.enabled.mechanisms': 'PLAIN',
      'sasl.mechanism.inter.broker.protocol': 'PLAIN',
      'listener.name.clients.plain.sasl.jaas.config': `${module} username="writer" password="${passwords.writer}" ${users.join(' ')};`,
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // The controller's own listener has no names.
      'super.users': 'User:writer;User:ANONYMOUS',
    },
    changed: () => watchdog.watch([broker.pid()].filter((pid) => pid !== null)),
  });
  await broker.start();
  const brokers = `127.0.0.1:${port}`;
  const accessOf = (username: 'writer' | 'reader') => ({
    brokers,
    sasl: { mechanism: 'plain' as const, username, password: passwords[username] },
  });
  const kafka = new Kafka({ brokers: [brokers], sasl: accessOf('writer').sasl, logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const acl = {
    principal: 'User:reader',
    host: '*',
    permissionType: kafkajs.AclPermissionTypes.ALLOW,
    resourceType: kafkajs.AclResourceTypes.TOPIC,
    resourceName: prefix,
    resourcePatternType: kafkajs.ResourcePatternTypes.PREFIXED,
  };
  const operations = [kafkajs.AclOperationTypes.DESCRIBE, kafkajs.AclOperationTypes.READ];
  await admin.createAcls({ acl: operations.map((operation) => ({ ...acl, operation })) });

  const refused: string[] = [];
  const proxy = createServer(async (request, response) => {
    if (request.method !== 'GET') {
      refused.push(`${request.method} ${request.url}`);
      response.writeHead(403).end();
      return;
    }
    const answer = await fetch(new URL(request.url!, shared.registryUrl));
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
    response.end(await answer.text());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { pathname } = new URL(shared.registryUrl);

  const redis = new Redis(shared.redisUrl);
  const redisUser = `reader-${randomBytes(5).toString('hex')}`;
  const rights = ['~*', '+@read', '+@connection', '+info', '+eval', '+evalsha'];
  await redis.call('ACL', 'SETUSER', redisUser, 'on', `>${passwords.reader}`, ...rights);
  const readerRedis = new URL(shared.redisUrl);
  readerRedis.username = redisUser;
  readerRedis.password = passwords.reader;

  return {
    writer: { ...accessOf('writer'), registryUrl: shared.registryUrl, redisUrl: shared.redisUrl },
    reader: {
      ...accessOf('reader'),
      registryUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${pathname}`,
      redisUrl: readerRedis.href,
    },
    contents: async () => {
      const answer = await fetch(`${shared.registryUrl}/subjects`);
      const subjects = ((await answer.json()) as string[]).filter((name) => name.startsWith(prefix));
      return { topics: (await admin.listTopics()).sort(), subjects: subjects.sort() };
    },
    refused,
    admin,
    close: async () => {
      await admin.disconnect();
      await redis.call('ACL', 'DELUSER', redisUser);
      redis.disconnect();
      proxy.closeAllConnections();
      proxy.close();
      await broker.stop();
      await watchdog.close();
    },
  };
}
