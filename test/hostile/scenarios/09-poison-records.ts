/** Records that nobody can process, of every kind, planted under a live daemon and before a start. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { flowsSandbox, noRivals } from '../../flows/world.ts';
import { type Daemon, hostileKey, lanceCommand, startDaemon, webhookToken } from '../daemon.ts';
import { poisonedEntries } from '../poison.ts';
import type { Scenario } from '../scenario.ts';

const waitMs = 8_000;

async function until(what: string, is: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + waitMs; performance.now() < end; ) {
    if (await is()) return;
    await sleep(50);
  }
  throw new Error(`not within ${waitMs / 1_000} s: ${what}`);
}

type Alarm = { msg?: string; code?: string; requestId?: string; flowId?: string; text?: string };

function alarmsIn(output: string): Alarm[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Alarm).filter(({ msg }) => msg === 'alarm');
}

export const scenario: Scenario = {
  line: 9,
  name: 'records of every kind that nobody can process',
  run: async (directory) => {
    const seed = 9;
    const settings = flowsSandbox(false);
    const sandbox = createSandbox({ settings, seed, clock: createSystemClock(), rivals: noRivals });
    const { url } = await sandbox.listen(0);
    const environment = {
      LANCE_BASE_URL: url,
      LANCE_FGTS_URL: url,
      LANCE_PROPOSAL_URL: url,
      LANCE_ACCESS_TOKEN: settings.tokens.accessToken,
      LANCE_CONFIG: join(import.meta.dirname, '09-settings.json'),
    };
    const data = join(directory, 'data');
    const start = async (): Promise<Daemon> => {
      const daemon = await startDaemon({ directory, environment });
      assert.notEqual(await daemon.ready, null, daemon.output().slice(-2_000));
      sandbox.connect(`${daemon.url}/webhooks/${webhookToken}`);
      return daemon;
    };
    const bidsOn = async (requests: number) => {
      const before = sandbox.record.of('won').length;
      await sandbox.run(requests);
      return sandbox.record.of('won').length - before;
    };
    /** Every second one: every kind each time, and every way to spoil it once in two. */
    const plant = (from: 0 | 1) => {
      // With the key, as a faulty version would write them: a start refuses what nobody has signed.
      const anchor = { file: `${data}.anchor`, key: createAuditKey(hostileKey) };
      const reader = openEmbeddedReader({ directory: data, anchor });
      const keyOf = (topic: string, number: number) =>
        topic === 'flows' ? `${['c-', 'r-', 'w-', 'event:'][number % 4]}9${number}` : `9${number}`;
      const planted = poisonedEntries(keyOf, Date.now()).filter((_, index) => index % 2 === from);
      return reader.appendBeside(planted.map(({ entry }) => entry)).then(() => {
        reader.close();
        return planted;
      });
    };
    const named = (daemon: Daemon, planted: Awaited<ReturnType<typeof plant>>) => () => {
      const alarms = alarmsIn(daemon.output());
      const requests = new Set(alarms.flatMap(({ requestId }) => requestId ?? []));
      const flows = new Set(alarms.flatMap(({ flowId }) => flowId ?? []));
      const callbacks = alarms.filter(({ text }) => text?.startsWith('callbacks/0 at'));
      return (
        planted.every(({ topic, key }) => topic === 'callbacks' || (topic === 'flows' ? flows : requests).has(key)) &&
        callbacks.length >= planted.filter(({ topic }) => topic === 'callbacks').length
      );
    };

    /** What a start finds is told in one alarm for requests and one for flows; an event by itself. */
    const frozenAndTold = (daemon: Daemon, planted: Awaited<ReturnType<typeof plant>>) => async () => {
      const texts = alarmsIn(daemon.output()).flatMap(({ text }) => text ?? []);
      const told = (what: string) =>
        texts.reduce((most, text) => {
          const count = new RegExp(`^(\\d+) ${what} are frozen: `).exec(text)?.[1];
          return Math.max(most, Number(count ?? 0));
        }, 0);
      const keysOf = (wanted: 'flows' | 'requests' | 'callbacks') =>
        planted
          .filter(({ topic }) => (topic === 'flows' || topic === 'callbacks' ? topic : 'requests') === wanted)
          .map(({ key }) => key);
      const [flows, requests] = [keysOf('flows'), keysOf('requests')];
      const reader = openEmbeddedReader({ directory: data });
      const rows = await reader.views.read(requests);
      const states = await reader.flows.read(flows);
      reader.close();
      return (
        requests.every((key) => rows.get(key)?.state.frozen !== undefined) &&
        flows.every((key) => states.get(key)?.frozen !== undefined) &&
        told('requests') >= new Set(requests).size &&
        told('flows') >= new Set(flows).size &&
        texts.filter((text) => text.startsWith('callbacks/0 at')).length >= keysOf('callbacks').length
      );
    };

    try {
      let daemon = await start();
      const live = await plant(0);
      await until('an alarm for each record planted under the daemon', named(daemon, live));
      assert.equal((await fetch(`${daemon.url}/readyz`)).status, 200);
      assert.ok((await bidsOn(3)) > 0, 'other requests go on being bid for');
      const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
      assert.match(metrics, /lance_alarms_total\{code="request-frozen"\} \d/);
      assert.match(metrics, /lance_alarms_total\{code="flow-frozen"\} \d/);

      assert.equal((await daemon.stop()).code, 0);
      const before = await plant(1);
      daemon = await start();
      await until('what was planted before the start is frozen, and told together', frozenAndTold(daemon, before));
      assert.match(await (await fetch(`${daemon.url}/readyz?verbose`)).text(), /requests and \d+ flows are frozen/);
      assert.ok((await bidsOn(3)) > 0, 'other requests are bid for after the start too');

      const cancelled = before.find(({ kind }) => kind === 'ended')!.key;
      const retried = before.find(({ kind }) => kind === 'claimed')!.key;
      const flow = before.find(({ topic, key }) => topic === 'flows' && key.startsWith('r-'))!.key;
      const who = { by: 'ana', reason: 'seen with the vendor' };
      const words = ['bids', 'cancel', cancelled, '--by', who.by, '--reason', who.reason];
      const { code, said } = await lanceCommand(daemon.environment, words);
      assert.equal(code, 0, said);
      const reader = openEmbeddedReader({ directory: data });
      const at = Date.now();
      await reader.appendBeside([
        {
          topic: 'auctions',
          key: retried,
          record: { kind: 'unfrozen', requestId: retried, at, action: 'retry', ...who },
        },
        { topic: 'flows', key: flow, record: { kind: 'unfrozen', flowId: flow, at, action: 'cancel', ...who } },
      ]);
      await until('a retry, which fails, and two cancels', async () => {
        const rows = await reader.views.read([cancelled, retried]);
        const phase = (await reader.flows.read([flow])).get(flow)?.phase;
        const isCancelled = rows.get(cancelled)!.state.frozen === undefined && phase === 'cancelled';
        return isCancelled && rows.get(retried)!.state.frozen?.retriedAt === at;
      });
      const ended = (await reader.views.read([cancelled])).get(cancelled)!.state;
      assert.deepEqual([ended.phase, ended.pass?.code], ['passed', 'internal-error']);
      reader.close();
      assert.equal((await daemon.stop()).code, 0);
      return { planted: live.length + before.length };
    } finally {
      await sandbox.stop();
    }
  },
};
