/** The disk fills up while bids go out: no bid goes out whose claim is not stored, and none goes out twice. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { startClockWorld, until } from '../clock-world.ts';
import type { Scenario } from '../scenario.ts';
import { noSmallDisk, withSmallDisk } from '../small-disk.ts';

/** Longer than requests already stored take to be decided. */
const fullForMs = 4_000;

function claimedIn(data: string): Set<string> {
  const database = new DatabaseSync(join(data, 'lance.sqlite'));
  const rows = database.prepare('SELECT value FROM auctions').all();
  database.close();
  const records = rows.map(({ value }) => JSON.parse(String(value)) as { kind: string; requestId: string });
  return new Set(records.filter(({ kind }) => kind === 'claimed').map(({ requestId }) => requestId));
}

export const scenario: Scenario = {
  line: 22,
  name: 'the disk full while bids go out, then a kill',
  run: async (directory) => {
    const data = join(directory, 'data');
    const figures = await withSmallDisk(data, 48, async (disk) => {
      const world = await startClockWorld({ directory, windowMs: 30_000, batchRequests: 100 });
      assert.notEqual(await world.daemon.ready, null, world.daemon.output());
      world.open(4_000);
      await until('bids flow', () => world.bids().length > 20, 30_000);
      disk.fill();
      await until('webhooks are refused', async () => (await fetch(`${world.daemon.url}/readyz`)).status === 503);
      await sleep(fullForMs);
      const whileFull = world.bids().length;
      world.daemon.signal('SIGKILL');
      await world.daemon.exited;
      disk.free();
      const bids = world.bids();
      const claimed = claimedIn(data);
      const unclaimed = bids.filter(({ requestId }) => !claimed.has(requestId)).length;
      assert.equal(unclaimed, 0, `${unclaimed} of ${bids.length} bids have no claim in the store`);
      const requests = new Set(bids.map(({ requestId }) => requestId)).size;
      assert.equal(requests, bids.length, 'a request was bid for twice');
      await world.close();
      return { bids: whileFull };
    });
    return figures ?? { skipped: noSmallDisk };
  },
};
