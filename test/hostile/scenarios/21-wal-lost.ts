/**
 * The desk is killed under load and its write-ahead log is lost. A start is refused; after an accepted restore the service sends
 * every webhook again, and no request gets a second form of bytes.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { sandboxSettings } from '../../../src/sandbox/settings.ts';
import { lanceCommand, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const wantedBids = 14;
const patienceMs = 15_000;

/** Auctions that stay open for longer than the scenario lasts. */
const windowMs = 120_000;
const refusedExit = 65;

export const scenario: Scenario = {
  line: 21,
  name: 'write-ahead log lost after a kill',
  run: async (directory) => {
    const settings = sandboxSettings({
      auction: { windowMs, expiryMs: 10 * windowMs },
      pace: { batchRequests: 40, batchIntervalMs: 500 },
    });
    const sandbox = createSandbox({ settings, seed: '21', clock: createSystemClock() });
    const { url: serviceUrl } = await sandbox.listen(0);
    const environment = {
      LANCE_BASE_URL: serviceUrl,
      LANCE_ACCESS_TOKEN: settings.tokens.accessToken,
    };
    const tap = createTap();
    try {
      const bids = () => sandbox.record.of('call').filter(({ requestId, landed }) => requestId !== null && landed);
      const first = await startDaemon({ directory, environment });
      assert.notEqual(await first.ready, null, first.output());
      await tap.listen(first.url);
      sandbox.connect(tap.url());
      // Ends with the auctions only.
      sandbox.run(40).catch(() => undefined);
      for (const until = Date.now() + patienceMs; bids().length < wantedBids && Date.now() < until; ) await sleep(20);
      first.signal('SIGKILL');
      await first.exited;
      const sentBefore = bids().length;
      assert.ok(sentBefore >= wantedBids, `${sentBefore} bids before the kill`);
      const data = join(directory, 'data');
      for (const suffix of ['-wal', '-shm']) rmSync(join(data, `lance.sqlite${suffix}`));

      const refused = await startDaemon({ directory, environment });
      assert.equal(await refused.ready, null, 'it started on a log that had lost records');
      assert.deepEqual(await refused.exited, { code: refusedExit, signal: null }, refused.output());
      assert.match(refused.output(), /was set back: .*accept-restore/);

      const lance = (...words: string[]) => lanceCommand(refused.environment, words);
      const accepted = await lance('audit', 'accept-restore', '--by', 'ana', '--reason', 'WAL lost', '--json');
      const { claimed, complete } = JSON.parse(accepted.said);
      assert.equal(complete, true, accepted.said);
      await lance('resume', '--by', 'ana', '--reason', 'seen');
      const second = await startDaemon({ directory, environment });
      assert.notEqual(await second.ready, null, second.output());
      await tap.repeat(second.url);
      await sleep(1_000);
      const forms = new Map<string, Set<string>>();
      for (const { requestId, sha256 } of bids())
        forms.set(requestId!, (forms.get(requestId!) ?? new Set()).add(sha256));
      const otherBytes = [...forms].filter(([, bytes]) => bytes.size > 1).map(([requestId]) => requestId);
      assert.deepEqual(otherBytes, [], 'requests with a second form of bytes');
      await second.stop();
      return { sentBefore, claimedInLostPart: claimed };
    } finally {
      await tap.close();
      await sandbox.stop();
    }
  },
};

/** Stands between service and desk, keeps every webhook, and can send them all again. */
function createTap() {
  const bodies: string[] = [];
  let target = '';
  const post = (body: string) =>
    fetch(`${target}/webhooks/${webhookToken}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    bodies.push(body);
    const status = await post(body).then(
      (answer) => answer.status,
      () => 503,
    );
    response.writeHead(status).end();
  });
  return {
    listen: async (to: string) => {
      target = to;
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    },
    url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    repeat: async (to: string) => {
      target = to;
      for (const body of [...bodies]) assert.ok((await post(body)).ok);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
