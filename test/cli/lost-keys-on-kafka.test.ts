/** Single keys of the views are removed from Redis: no cap, no claim and no request is forgotten by a desk for it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bidPath } from '../../src/wire/bid.ts';
import { eventually } from '../conformance/backend.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';
import { loseKeys } from './kafka-desk.ts';

/** No auction ends meanwhile, also where a group waits for a member that was killed. */
const windowMs = 90_000;
const who = ['--by', 'ana', '--reason', 'test'];

type Desk = Awaited<ReturnType<typeof startDaemon>>;
type Place = {
  stage: Played;
  told: (...command: string[]) => Promise<string>;
  start: () => Promise<Desk>;
  /** Ends it as a power cut does. */
  kill: (desk: Desk) => Promise<void>;
  lose: (key: RegExp) => Promise<void>;
  /** Delivers every webhook again. */
  again: () => Promise<void>;
};

const bidsOf = ({ sandbox }: Played) => sandbox.record.of('call').filter(({ path }) => path === bidPath);

const until = (is: () => boolean | Promise<boolean>) => eventually(is, 60_000);

const isOpen = ({ lines }: Desk) =>
  lines.findLast(({ msg }) => msg === 'bidding-open' || msg === 'bidding-closed')?.msg === 'bidding-open';

type ListedBid = { requestId: string; state: string };

const rows: readonly (readonly [name: string, run: (place: Place) => Promise<void>])[] = [
  [
    'a cap still holds without the sums of what is promised',
    async ({ stage, told, start, kill, lose }) => {
      const desk = await start();
      await until(() => isOpen(desk));
      // Claims of the very first batch may be held unasked, and given up together.
      void stage.sandbox.run(10);
      await sleep(4_000);
      const uncapped = new Set(bidsOf(stage).map(({ requestId }) => requestId));
      await told('cap', 'mesa', '--reais-a-day', '50000', ...who);
      const spent = () => {
        const amounts = new Map(
          bidsOf(stage)
            .filter(({ requestId }) => !uncapped.has(requestId))
            .map(({ requestId, body }) => [requestId, Number(/"valorLiberado":([\d.]+)/.exec(body)?.[1])]),
        );
        return [...amounts.values()].reduce((sum, amount) => sum + amount, 0);
      };
      void stage.sandbox.run(20);
      await until(() => spent() > 0);
      await sleep(4_000);
      const before = spent();
      assert.ok(before > 10_000 && before <= 50_000, `R$ ${before}`);
      await lose(/:sums$/);
      void stage.sandbox.run(20);
      await until(() => desk.lines.some(({ code }) => code === 'views-lost'));
      await until(() => isOpen(desk));
      await sleep(6_000);
      assert.ok(spent() <= 50_000, `R$ ${spent()} after R$ ${before}`);
      assert.match(await told('doctor').catch(String), /sums \(0 of \d+\)/);
      await kill(desk);
    },
  ],
  [
    'a request that was bid for is known without its row',
    async ({ stage, start, kill, lose, again }) => {
      const desk = await start();
      await until(() => isOpen(desk));
      void stage.sandbox.run(8);
      await until(() => bidsOf(stage).length > 3);
      await sleep(4_000);
      const before = bidsOf(stage).length;
      await kill(desk);
      await lose(/:rows$/);
      const next = await start();
      await again();
      await until(() => isOpen(next));
      await sleep(5_000);
      const forms = Map.groupBy(bidsOf(stage), ({ requestId }) => requestId);
      assert.ok(before > 3);
      for (const [requestId, calls] of forms) {
        assert.equal(new Set(calls.map(({ sha256 }) => sha256)).size, 1, `${requestId}: several payloads`);
      }
      await kill(next);
    },
  ],
  [
    'an undecided request goes on without the set of those that are open',
    async ({ stage, told, start, kill, lose }) => {
      const desk = await start();
      await until(() => isOpen(desk));
      await told('pause', ...who);
      void stage.sandbox.run(6);
      await until(async () => jsonLines<ListedBid>(await told('bids', 'list', '--json')).length >= 6);
      await kill(desk);
      await lose(/:open$/);
      const next = await start();
      await told('resume', ...who);
      await until(() => isOpen(next));
      await until(async () => {
        const listed = jsonLines<ListedBid>(await told('bids', 'list', '--json'));
        return listed.length >= 6 && listed.every(({ state }) => state !== 'requested');
      });
      await kill(next);
    },
  ],
];

await describeOnStack('views that lost single keys', (stack) => {
  for (const [index, [name, run]] of rows.entries()) {
    test(name, { timeout: 250_000 }, async () => {
      const stage = await openStage(21 + index, windowMs);
      const prefix = `${stack.prefix}-${index}`;
      const path = join(stage.directory, 'kafka.json');
      const { LANCE_DATA_DIR: _, ...service } = stage.environment;
      const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };
      const kafka = { topicPrefix: prefix, groupId: prefix, partitions: 2, replication: 1 };
      writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${prefix}}:` } }));
      const environment = { ...service, LANCE_LANG: 'en', LANCE_CONFIG: path, ...stackEnvironment(stack) };
      const desks = new Set<Desk>();
      const webhooks: { body: string; type: string }[] = [];
      let target = '';
      const forward = async ({ body, type }: { body: string; type: string }) =>
        fetch(target, { method: 'POST', body, headers: { 'content-type': type } });
      const between = createServer((request, response) => {
        void (async () => {
          let body = '';
          for await (const chunk of request) body += chunk;
          const webhook = { body, type: request.headers['content-type'] ?? 'application/json' };
          const answer = await forward(webhook).catch(() => null);
          if (answer?.ok === true) webhooks.push(webhook);
          response.writeHead(answer?.status ?? 503).end();
        })();
      });
      between.listen(0, '127.0.0.1');
      await once(between, 'listening');
      stage.sandbox.connect(`http://127.0.0.1:${(between.address() as AddressInfo).port}/`);
      try {
        await run({
          stage,
          told: async (...command) => {
            const { code, stdout, stderr } = await lance(environment, ...command);
            if (command[0] !== 'doctor') assert.equal(code, 0, stderr);
            return stdout;
          },
          start: async () => {
            const desk = await startDaemon(environment);
            desks.add(desk);
            target = desk.url;
            return desk;
          },
          kill: async (desk) => {
            desks.delete(desk);
            desk.signal('SIGKILL');
            await sleep(200);
          },
          lose: async (key) => {
            const count = await loseKeys(
              { redisUrl: stack.redisUrl, prefix },
              (each) => each.includes(':v:') && key.test(each),
            );
            assert.ok(count > 0, `no key like ${key}`);
          },
          again: async () => {
            for (const webhook of webhooks.slice()) await forward(webhook);
          },
        });
      } finally {
        for (const desk of desks) await desk.stop();
        between.closeAllConnections();
        between.close();
        await stage.close();
      }
    });
  }
});
