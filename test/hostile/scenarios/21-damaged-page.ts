/**
 * A page in the middle of the log is overwritten. A desk that has folded the log does not read it at the start: the walk over the log
 * meets it while the desk runs, and the desk ends all the same.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { sandboxSettings } from '../../../src/sandbox/settings.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { withinTime } from '../../crash/stream.ts';
import { hostileKey, startDaemon } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const records = 1_500;
const dataError = 65;
const patienceMs = 20_000;
const noise = Buffer.alloc(4_096, 0xa5);

export const scenario: Scenario = {
  line: 21,
  name: 'a page in the middle of the log overwritten',
  run: async (directory) => {
    const data = join(directory, 'data');
    const anchor = { file: `${data}.anchor`, key: createAuditKey(hostileKey), everyMs: 300_000 };
    const store = await openEmbeddedStore({ directory: data, onFault: assert.fail, anchor });
    for (let from = 0; from < records; from += 500) {
      await store.log.append(
        Array.from({ length: 500 }, (_, index) => auctionEntry(`${from + index}`, 'x'.repeat(200))),
      );
    }
    await store.close();
    // A desk whose service does not answer is never ready.
    const settings = sandboxSettings({});
    const sandbox = createSandbox({ settings, seed: '21', clock: createSystemClock() });
    const { url } = await sandbox.listen(0);
    const environment = { LANCE_BASE_URL: url, LANCE_ACCESS_TOKEN: settings.tokens.accessToken };
    try {
      const folding = await startDaemon({ directory, environment });
      assert.notEqual(await folding.ready, null, folding.output().slice(-500));
      await folding.stop();
      overwriteMiddle(join(data, 'lance.sqlite'));
      const startedAt = performance.now();
      const daemon = await startDaemon({ directory, environment });
      const exited = await withinTime(daemon.exited, patienceMs, 'it did not end');
      const said = daemon.output().split('"stopped"').at(-1)!;
      assert.deepEqual(exited, { code: dataError, signal: null }, said.slice(-500));
      assert.match(said, /"started"/, 'the page was met at the start');
      assert.match(said, /"store-damaged".*"store-died"/);
      return { endedAfterMs: Math.round(performance.now() - startedAt) };
    } finally {
      await sandbox.stop();
    }
  },
};

function overwriteMiddle(path: string): void {
  const database = new DatabaseSync(path, { readOnly: true });
  const leaves = database
    .prepare("SELECT pageno, pgsize FROM dbstat WHERE name = 'auctions' AND pagetype = 'leaf' ORDER BY path")
    .all();
  database.close();
  assert.ok(leaves.length > 2, `${leaves.length} pages have no middle`);
  const { pageno, pgsize } = leaves[Math.floor(leaves.length / 2)]!;
  const descriptor = openSync(path, 'r+');
  writeSync(descriptor, noise, 0, noise.length, (Number(pageno) - 1) * Number(pgsize));
  closeSync(descriptor);
}
