/** A full cap on Kafka: a process that starts anew tells it before any request meets it. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import { describeOnStack } from '../stack/suite.ts';
import { lance, openStage, startDaemon } from './desk.ts';
import { environmentOnKafka } from './kafka-desk.ts';

const apiToken = 'a-token-of-the-viewer';

await describeOnStack('full caps', (stack) => {
  test('a cap by hand without room is told after a restart, before any request meets it', async (context) => {
    const stage = await openStage(47);
    context.after(() => stage.close());
    const environment = {
      ...environmentOnKafka(stage, stack),
      LANCE_API_TOKENS: `ana:viewer:${createHash('sha256').update(apiToken).digest('hex')}`,
    };
    let daemon = await startDaemon(environment);
    context.after(() => daemon.stop());
    stage.sandbox.connect(daemon.url);
    const capped = async (): Promise<NonNullable<DaemonStatus['caps']>> => {
      for (let looks = 0; looks < 100; looks += 1) {
        const answer = await fetch(new URL('/v1/status', daemon.url), {
          headers: { authorization: `Bearer ${apiToken}` },
        });
        const { caps } = (await answer.json()) as DaemonStatus;
        if (caps != null) return caps;
        await sleep(100);
      }
      throw new Error('no cap is told');
    };
    const order = await lance(environment, 'cap', 'mesa', '--reais-a-day', '0', '--by', 'ana', '--reason', 'teste');
    assert.equal(order.code, 0, order.stderr);
    // Where the machine is busy, some of them end by other causes.
    await stage.sandbox.run(40);
    const before = await capped();
    assert.deepEqual([before.cap.name, before.cap.byHand], ['mesa', true]);
    await daemon.stop();
    daemon = await startDaemon(environment);
    const { cap, ended } = await capped();
    assert.deepEqual([cap.name, cap.byHand, cap.limitCents], [before.cap.name, true, before.cap.limitCents]);
    assert.ok(ended > 0, `${ended} ended`);
    assert.match(await (await fetch(new URL('/metrics', daemon.url))).text(), /^lance_capped_requests [1-9]/m);
  });
});
