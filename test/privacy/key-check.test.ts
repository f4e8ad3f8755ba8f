/** One pseudonym key for all that a desk has stored: another one is refused before anybody gets a second pseudonym. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { claimKey as claimAs, judgeKey } from '../../src/bidding/key-check.ts';
import type { EventLog } from '../../src/bidding/ports.ts';
import { sealedPlaces, type Vault } from '../../src/domain/vault.ts';
import { requested } from '../bidding/parts.ts';
import { lance } from '../cli/desk.ts';
import { endDaemons, startDaemon } from '../hostile/daemon.ts';

const folders: string[] = [];
function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'lance-key-'));
  folders.push(made);
  return made;
}
after(async () => {
  await endDaemons();
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

const ours = createVault('the key that the desk began with, of a test');
const other = createVault('another key of the very same test, and wrong');
/** As a process that has just begun. */
const claimKey = (log: EventLog, vault: Vault) => claimAs(log, vault, randomUUID());
const changed = { code: 'pseudonym-key-changed', exitCode: 78 };

function openStore() {
  const fail = (fault: Error) => {
    throw fault;
  };
  return openEmbeddedStore({ directory: folder(), onFault: fail });
}

const sealedRequest = (vault: Vault, requestId: string) => {
  const sealed = vault.seal(sealedPlaces.request(requestId), '{"identity":{},"raw":{}}');
  return { topic: 'auctions', key: requestId, record: { ...requested({ sealed }), requestId } } as const;
};

test('the first key is kept with the data; another one is refused, then and later (defect line 15)', async () => {
  const store = await openStore();
  try {
    assert.equal(await judgeKey(store.log, ours), 'new');
    await claimKey(store.log, ours);
    await assert.rejects(claimKey(store.log, other), changed);
    await claimKey(store.log, ours);
    assert.equal((await store.log.readKey('inputs', 'key-check')).length, 1);
    assert.equal(await judgeKey(store.log, other), 'other');
  } finally {
    await store.close();
  }
});

test('data of an earlier version takes the key that opens it, and no other (defect line 15)', async () => {
  const store = await openStore();
  try {
    await store.log.append([sealedRequest(ours, '1'), sealedRequest(ours, '2')]);
    await assert.rejects(claimKey(store.log, other), changed);
    assert.deepEqual(await store.log.readKey('inputs', 'key-check'), [], 'what was refused is not written down');
    assert.equal(await judgeKey(store.log, ours), 'unchecked');
    await claimKey(store.log, ours);
    assert.equal(await judgeKey(store.log, ours), 'fits');
  } finally {
    await store.close();
  }
});

test('two processes that begin at once with different keys: the first in the log stays (defect line 15)', async () => {
  const store = await openStore();
  try {
    const ends = await Promise.allSettled([claimKey(store.log, ours), claimKey(store.log, other)]);
    assert.deepEqual(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  } finally {
    await store.close();
  }
});

test('of two values that an earlier version left, the first one stays when only the last is kept', async () => {
  const store = await openStore();
  try {
    for (const vault of [ours, other]) {
      const record = { kind: 'key-check', hash: 'key-check', content: vault.pseudonym('key-check') } as const;
      await store.log.append([{ topic: 'inputs', key: 'key-check', record }]);
    }
    await claimKey(store.log, ours);
    const left = (await store.log.readKey('inputs', 'key-check')).at(-1);
    assert.equal(left?.record.content, ours.pseudonym('key-check'));
  } finally {
    await store.close();
  }
});

test('the daemon refuses another key with 78 and the remedy, and doctor says it too (defect line 15)', async () => {
  const directory = folder();
  // The anchors of the log have a key of their own here: they alone would not tell.
  const audit = { LANCE_AUDIT_KEY: 'a key for the anchors, the same in every start' };
  const first = await startDaemon({ directory, environment: audit });
  assert.notEqual(await first.ready, null, first.output());
  await first.stop();

  const environment = { ...audit, LANCE_PSEUDONYM_KEY: 'quite another key, with which caps would begin anew' };
  const refused = await startDaemon({ directory, environment });
  assert.equal((await refused.exited).code, 78);
  assert.match(refused.output(), /another LANCE_PSEUDONYM_KEY.*Set LANCE_PSEUDONYM_KEY to the key/s);
  const place = { LANCE_DATA_DIR: join(directory, 'data') };
  const ill = await lance({ ...place, ...environment }, 'doctor', '--json');
  assert.match(ill.stdout, /"level":"fail","finding":"key-other"/);

  const again = await startDaemon({ directory, environment: audit });
  assert.notEqual(await again.ready, null, again.output());
  await again.stop();
});
