/** Keys of the cap book are removed from Redis under a running desk: the cap still holds. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bidPath } from '../../src/wire/bid.ts';
import { eventually } from '../conformance/backend.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { lance, openStage, startDaemon } from './desk.ts';
import { loseKeys } from './kafka-desk.ts';

/** No auction ends meanwhile. */
const windowMs = 90_000;
const capReais = 50_000;

const losses = [
  { name: 'the sums', isLost: (key: string) => key.endsWith('cap-book:sums') },
  { name: 'the whole book', isLost: (key: string) => key.includes('cap-book') },
];

await describeOnStack('a cap book that lost keys', (stack) => {
  for (const [index, { name, isLost }] of losses.entries()) {
    test(`a cap still holds without ${name}`, { timeout: 250_000 }, async () => {
      const stage = await openStage(21 + index, windowMs);
      const prefix = `${stack.prefix}-${index}`;
      const path = join(stage.directory, 'kafka.json');
      const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };
      const kafka = { topicPrefix: prefix, groupId: prefix, partitions: 2, replication: 1 };
      writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${prefix}}:` } }));
      const environment = {
        ...{ ...stage.environment, LANCE_LANG: 'en', LANCE_CONFIG: path },
        ...stackEnvironment(stack),
      };
      const desk = await startDaemon(environment);
      try {
        const said = (wanted: string) => desk.lines.filter(({ msg }) => msg === wanted).length;
        const isOpen = () =>
          desk.lines.findLast(({ msg }) => msg === 'bidding-open' || msg === 'bidding-closed')?.msg === 'bidding-open';
        const spent = () => {
          const calls = stage.sandbox.record.of('call').filter((call) => call.path === bidPath);
          const amounts = new Map(
            calls.map(({ requestId, body }) => [requestId, Number(/"valorLiberado":([\d.]+)/.exec(body)?.[1])]),
          );
          return [...amounts.values()].reduce((sum, amount) => sum + amount, 0);
        };
        await eventually(isOpen, 60_000);
        const capped = ['cap', 'mesa', '--reais-a-day', String(capReais), '--by', 'ana', '--reason', 'test'];
        const { code, stderr } = await lance(environment, ...capped);
        assert.equal(code, 0, stderr);
        stage.sandbox.connect(desk.url);
        void stage.sandbox.run(20);
        await eventually(() => spent() > 0, 60_000);
        await sleep(4_000);
        const before = spent();
        assert.ok(before > 10_000 && before <= capReais, `R$ ${before}`);
        const known = said('cap-book-lost');
        assert.ok((await loseKeys({ redisUrl: stack.redisUrl, prefix }, isLost)) > 0);
        void stage.sandbox.run(20);
        await eventually(() => said('cap-book-lost') > known, 60_000);
        await eventually(isOpen, 60_000);
        await sleep(6_000);
        assert.ok(spent() <= capReais, `R$ ${spent()} after R$ ${before}`);
      } finally {
        await desk.stop();
        await stage.close();
      }
    });
  }
});
