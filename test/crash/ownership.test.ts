/** Desks that wrongly believe a request to be theirs: frozen past their session, or deaf to the group. No second form is sent. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { describeOnStack, type SuiteStack } from '../stack/suite.ts';
import { createBalancer } from './balancer.ts';
import { portsFor } from './desk-process.ts';
import { type Berth, createFleet, type Fleet } from './fleet.ts';
import { type LogWatch, watchLog } from './log-watch.ts';
import { crashSandbox, prepareDesk } from './scenario.ts';
import { openSharedReader, type SharedReader } from './store-reader.ts';
import { withinTime } from './stream.ts';
import { configOf } from './verdict.ts';

const run = promisify(execFile);

const requestsPerSecond = 20;
/** Of an auction. A desk has half of it: what it was deciding when it froze can still be sent when it wakes. */
const windowMs = 50_000;
const patienceMs = 40_000;
/** So many requests have to be claimed by both desks, that each of them would have sent its own form. */
const contestedWanted = 20;
const deafFile = fileURLToPath(new URL('deaf.ts', import.meta.url));
const webhookToken = 'webhook-token-of-two-desks';

type Scene = {
  berths: Fleet['berths'];
  sandbox: Sandbox;
  watch: LogWatch;
  reader: SharedReader;
  /** Ends the requests, and resolves when each that came has an answer or is passed. */
  settled: () => Promise<void>;
};

/** Two desks, and requests coming in. */
async function withTwoDesks(
  stack: SuiteStack,
  start: (berths: Fleet['berths']) => void,
  body: (scene: Scene) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'lance-owners-'));
  const settings = crashSandbox(windowMs, requestsPerSecond);
  const sandbox = createSandbox({ settings, seed: 'owners', clock: createSystemClock() });
  const { url: serviceUrl } = await sandbox.listen(0);
  const [port, first, second] = await portsFor(3);
  const { accessToken } = settings.tokens;
  const parts = { directory, port: port!, serviceUrl, accessToken, webhookToken, windowMs: windowMs / 2, kills: 100 };
  const environment = prepareDesk({ ...parts, place: stack });
  const fleet = createFleet({ directory, environment, ports: [first!, second!] });
  const balancer = await createBalancer(port!, [first!, second!]);
  const config = configOf(environment);
  let reader: SharedReader | null = null;
  try {
    start(fleet.berths);
    await Promise.race([Promise.all(fleet.berths.map((berth) => berth.desk().ready)), fleet.unasked]);
    reader = await openSharedReader(config);
    const watch = await watchLog(reader, config.bidding);
    sandbox.connect(`http://127.0.0.1:${port}/webhooks/${webhookToken}`);
    const stream = emit(sandbox);
    const settled = async () => {
      await stream.end();
      await until(patienceMs, 'some requests were never decided', async () => {
        await watch.catchUp();
        const { requested = 0, claimed = 0 } = watch.phases();
        return requested === 0 && claimed === 0;
      });
    };
    await Promise.race([body({ berths: fleet.berths, sandbox, watch, reader, settled }), fleet.unasked]);
    await watch.stop();
  } catch (fault) {
    throw new Error(`the desks wrote last:\n${fleet.lastWords()}`, { cause: fault });
  } finally {
    await fleet.close();
    await balancer.close();
    await sandbox.stop();
    await reader?.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function emit(sandbox: Sandbox): { end: () => Promise<void> } {
  let ending = false;
  const running = (async () => {
    while (!ending) {
      await new Promise<void>((resolve) => {
        const onBatch = ({ emitted, of }: { emitted: number; of: number }) => {
          if (emitted === of) resolve();
        };
        void sandbox.run(requestsPerSecond, { planned: 1_000, onBatch });
      });
      await sleep(sandbox.settings.pace.batchIntervalMs);
    }
  })();
  return {
    end: async () => {
      ending = true;
      await running;
    },
  };
}

async function claimsOf(reader: SharedReader): Promise<Extract<AuctionRecord, { kind: 'claimed' }>[]> {
  const claims = [];
  for await (const { record } of readTopic(reader.log, 'auctions')) if (record.kind === 'claimed') claims.push(record);
  return claims;
}

/** By request, the forms in which its bid arrived. */
function formsOf(sandbox: Sandbox): ReadonlyMap<string, { forms: Set<string>; arrivals: number }> {
  const arrived = new Map<string, { forms: Set<string>; arrivals: number }>();
  for (const { path, requestId, sha256 } of sandbox.record.of('call')) {
    if (path !== bidPath) continue;
    const key = requestId ?? 'none';
    const { forms, arrivals } = arrived.get(key) ?? { forms: new Set<string>(), arrivals: 0 };
    arrived.set(key, { forms: forms.add(sha256), arrivals: arrivals + 1 });
  }
  return arrived;
}

function assertOneForm(sandbox: Sandbox): { bids: number; repeated: number } {
  const arrived = [...formsOf(sandbox)];
  assert.deepEqual(
    arrived.filter(([, { forms }]) => forms.size > 1).map(([requestId]) => requestId),
    [],
    'sent in two forms',
  );
  return { bids: arrived.length, repeated: arrived.filter(([, { arrivals }]) => arrivals > 1).length };
}

async function isFrozen(berth: Berth): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'state=', '-p', String(berth.desk().pid)]);
  return stdout.startsWith('T');
}

/** Requests that both desks claimed. */
function contestedIn(claims: readonly { requestId: string; instance: string }[]): number {
  const byRequest = Map.groupBy(claims, ({ requestId }) => requestId);
  return [...byRequest.values()].filter((each) => new Set(each.map(({ instance }) => instance)).size > 1).length;
}

async function until(patienceMs: number, text: string, holds: () => Promise<boolean>): Promise<void> {
  const limit = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error(text);
    await sleep(50);
  }
}

await describeOnStack('desks that believe wrongly that a request is theirs', (stack) => {
  for (const step of ['requested-read-back', 'claim-read-back']) {
    test(`frozen at ${step} past its session and woken when another has taken over, a desk sends no second form`, async (context) => {
      const own = { ...stack, prefix: `${stack.prefix}${step}-` };
      const start = ([one, other]: Fleet['berths']) => {
        one.start(`${step}:40:SIGSTOP`);
        other.start(null);
      };
      await withTwoDesks(own, start, async ({ berths: [one, other], sandbox, watch, reader, settled }) => {
        await until(patienceMs, 'the desk did not freeze', () => isFrozen(one));
        const frozenAt = Date.now();
        const instance = one.instance();
        await withinTime(watch.biddingAgain(frozenAt), patienceMs, 'nobody took over');
        assert.equal(await isFrozen(one), true);
        // Before the signal: what the desk claims in the moment after it is not of the time when it was frozen.
        const wokenAt = Date.now();
        one.desk().signal('SIGCONT');
        // It has its share again, and bids.
        await until(
          patienceMs,
          'the woken desk does not bid again',
          async () => watch.lastClaimOf(instance!) > wokenAt,
        );
        await settled();
        const claims = await claimsOf(reader);
        const meanwhile = claims.filter(({ at }) => at > frozenAt && at < wokenAt);
        assert.ok(meanwhile.length > 0);
        assert.deepEqual([...new Set(meanwhile.map((claim) => claim.instance))], [other.instance()]);
        const { bids, repeated } = assertOneForm(sandbox);
        context.diagnostic(`figure: frozen at ${step}: ${bids} bids in one form each, ${repeated} of them sent again`);
        assert.ok(bids > 50, `${bids} bids`);
      });
    });
  }

  test('deaf to the group, a desk claims what another owns, and no second form is sent', async (context) => {
    const own = { ...stack, prefix: `${stack.prefix}deaf-` };
    const start = ([one, other]: Fleet['berths']) => {
      one.start(null, deafFile);
      other.start(null);
    };
    await withTwoDesks(own, start, async ({ berths: [one, other], sandbox, watch, reader, settled }) => {
      await withinTime(watch.biddingAgain(Date.now()), patienceMs, 'nobody bids');
      one.desk().signal('SIGUSR2');
      const deafAt = Date.now();
      const contested = async () => contestedIn(await claimsOf(reader));
      await until(patienceMs, 'no request was claimed by both', async () => (await contested()) >= contestedWanted);
      await settled();
      assert.ok(watch.lastClaimOf(one.instance()!) > deafAt);
      assert.ok(watch.lastClaimOf(other.instance()!) > deafAt);
      const { bids, repeated } = assertOneForm(sandbox);
      context.diagnostic(
        `figure: deaf: ${await contested()} requests claimed by both desks, ${bids} bids in one form each, ${repeated} of them sent again`,
      );
    });
  });
});
