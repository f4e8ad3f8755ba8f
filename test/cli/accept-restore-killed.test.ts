/** An acceptance of a restore that is killed at any of its writes and given again counts what the whole one counts. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { anchorFileOf } from '../../src/adapters/embedded/anchor.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../src/adapters/vault/audit-key.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { claimKey } from '../../src/bidding/key-check.ts';
import { claimed, offer, requested } from '../bidding/parts.ts';
import { lance, offlineEnvironment, pseudonymKey } from './desk.ts';

const killer = new URL('./kill-at-write.ts', import.meta.url).href;
const directory = mkdtempSync(join(tmpdir(), 'lance-accept-'));
/** The folder with the desk and the anchor beside it. */
const setBack = join(directory, 'set-back');
const requestIds = ['11', '12', '13'];
const words = ['audit', 'accept-restore', '--by', 'ana', '--reason', 'disk', '--json'];

const environmentOf = (place: string) => offlineEnvironment(join(place, 'desk'));

function openStore(place: string) {
  const data = join(place, 'desk');
  const anchor = { ...anchorFileOf(data, null), key: createAuditKey(pseudonymKey), everyMs: 300_000 };
  return openEmbeddedStore({ directory: data, anchor, onFault: (fault) => assert.fail(fault.message) });
}

before(async () => {
  const first = await openStore(setBack);
  await claimKey(first.log, createVault(pseudonymKey), 'a');
  await first.log.append(
    requestIds.map((requestId) => ({ topic: 'auctions', key: requestId, record: requested({ requestId }) })),
  );
  await first.close();
  cpSync(join(setBack, 'desk'), join(directory, 'backup'), { recursive: true });
  const second = await openStore(setBack);
  await second.log.append(
    requestIds.map((requestId) => ({ topic: 'auctions', key: requestId, record: claimed('a:1', { requestId }) })),
  );
  await second.close();
  rmSync(join(setBack, 'desk'), { recursive: true });
  cpSync(join(directory, 'backup'), join(setBack, 'desk'), { recursive: true });
});
after(() => rmSync(directory, { recursive: true, force: true }));

/** What the log has of each request when a start has taken it. */
async function storiesIn(place: string): Promise<string[]> {
  const store = await openStore(place);
  const entries = await store.log.read('auctions', 0, 0, 1_000);
  const pause = (await store.control.read()).pause;
  await store.close();
  assert.equal(pause?.by, 'ana');
  return requestIds.map((requestId) =>
    entries
      .flatMap(({ record }) => ('requestId' in record && record.requestId === requestId ? [record.kind] : []))
      .join(' '),
  );
}

/** `TEST_KILL_STEP` 1 kills at every write, which takes minutes. */
const givenStep = process.env.TEST_KILL_STEP;

/** One write after the other, `every` so many, until the acceptance comes to its end. */
async function killEverywhere(thread: string, every: number): Promise<number> {
  for (let killed = 0, at = 1 + Math.floor(Math.random() * every); ; at += every) {
    const place = join(directory, `${thread}-${at}`);
    const point = `${thread}:${at}`;
    cpSync(setBack, place, { recursive: true });
    const environment = environmentOf(place);
    const killing = { ...environment, NODE_OPTIONS: `--import=${killer}`, LANCE_TEST_KILL_AT: point };
    const first = await lance(killing, ...words);
    if (first.code !== null) {
      assert.equal(first.code, 0, `${point} ${first.stderr}`);
      return killed;
    }
    killed += 1;
    // What is killed once may be killed twice.
    if (killed % 2 === 0) await lance(killing, ...words);
    const again = await lance(environment, ...words);
    assert.equal(again.code, 0, `${point} ${again.stderr}`);
    const { kind, claimed: count, withOffer, promisedCents, complete } = JSON.parse(again.stdout);
    // Killed after its last write it was whole.
    if (kind !== 'nothing-to-accept')
      assert.deepEqual([count, withOffer, promisedCents, complete], [3, 3, 3 * offer.amountCents, true], point);
    assert.deepEqual(await storiesIn(place), Array(requestIds.length).fill('requested passed answered'), point);
    rmSync(place, { recursive: true });
  }
}

// Each of the two opens the store in a thread of its own: to write what was lost, and to begin the anchor anew.
for (const [thread, every] of [
  ['main', 12],
  ['1', 9],
  ['2', 3],
] as const) {
  test(`killed at a write of thread ${thread}`, async () => {
    assert.ok((await killEverywhere(thread, Number(givenStep ?? every))) > 0);
  });
}
