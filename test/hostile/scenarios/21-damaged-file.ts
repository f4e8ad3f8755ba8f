/** Pages of lance.sqlite are overwritten, the file is cut off or replaced: every start and every command ends with its exit code. */
import assert from 'node:assert/strict';
import { closeSync, cpSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { withinTime } from '../../crash/stream.ts';
import { hostileKey, lanceCommand, startDaemon } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const records = 3_000;
const dataError = 65;
const cannotCreate = 73;
const patienceMs = 10_000;
const noise = Buffer.alloc(4_096, 0xa5);

export const scenario: Scenario = {
  line: 21,
  name: 'pages of the file overwritten',
  run: async (directory) => {
    const whole = join(directory, 'whole');
    const anchor = { file: `${whole}.anchor`, key: createAuditKey(hostileKey), everyMs: 300_000 };
    const store = await openEmbeddedStore({ directory: whole, onFault: assert.fail, anchor });
    for (let from = 0; from < records; from += 500) {
      await store.log.append(
        Array.from({ length: 500 }, (_, index) => auctionEntry(`${from + index}`, 'x'.repeat(200))),
      );
    }
    await store.close();
    const pageSize = Number(pragma(whole, 'page_size'));
    const lastOf = (table: string) => Number(pragma(whole, `rightmost of ${table}`));
    const overwrite = (page: number) => (file: string) => {
      const descriptor = openSync(file, 'r+');
      writeSync(descriptor, noise, 0, Math.min(pageSize, noise.length), (page - 1) * pageSize);
      closeSync(descriptor);
    };
    const cases: [name: string, damage: (file: string) => void, exit: number][] = [
      ['header', overwrite(1), cannotCreate],
      ['root of the log', overwrite(lastOf('auctions')), dataError],
      ['root of the rows', overwrite(lastOf('ledger')), dataError],
      ['cut off', (file) => truncateSync(file, Math.floor(statSync(file).size / 2 / pageSize) * pageSize), dataError],
    ];
    const data = join(directory, 'data');
    const putBack = () => {
      rmSync(data, { recursive: true, force: true });
      cpSync(whole, data, { recursive: true });
      for (const ending of ['', '.mark', '.claims']) cpSync(`${anchor.file}${ending}`, `${data}.anchor${ending}`);
    };
    let slowestMs = 0;
    let environment: Readonly<Record<string, string>> = {};
    for (const [name, damage, exit] of cases) {
      putBack();
      damage(join(data, 'lance.sqlite'));
      const startedAt = performance.now();
      const daemon = await startDaemon({ directory });
      environment = daemon.environment;
      // A page that only a later write needs is found then: the process ends all the same, and in time.
      const exited = await withinTime(daemon.exited, patienceMs, `${name}: it did not end`);
      assert.deepEqual(exited, { code: exit, signal: null }, `${name}: ${daemon.output().slice(-500)}`);
      slowestMs = Math.max(slowestMs, performance.now() - startedAt);
    }
    putBack();
    overwrite(lastOf('ledger'))(join(data, 'lance.sqlite'));
    const doctor = await lanceCommand(environment, ['doctor', '--json']);
    assert.equal(doctor.code, 1);
    assert.match(doctor.said, /"finding":"file-damaged"/);
    overwrite(lastOf('auctions'))(join(data, 'lance.sqlite'));
    const verify = await lanceCommand(environment, ['audit', 'verify']);
    assert.equal(verify.code, dataError, verify.said);
    return { cases: cases.length, slowestMs: Math.round(slowestMs) };
  },
};

function pragma(directory: string, what: string): unknown {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'), { readOnly: true });
  const [, table] = what.split(' of ');
  const row =
    table === undefined
      ? database.prepare(`PRAGMA ${what}`).get()
      : database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').get(table);
  database.close();
  return Object.values(row ?? {})[0];
}
