/** Winner events whose bid nobody knows are seen by people: in `lance events list`, and in the same words for the API. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createLedger } from '../../src/bidding/ledger.ts';
import { callbackPartition, type NewEntry } from '../../src/bidding/ports.ts';
import { mostCallbacksRead, unknownWinners } from '../../src/bidding/unknown-winners.ts';
import type { CallbackRecord } from '../../src/domain/records.ts';
import { Fault } from '../../src/errors.ts';
import { lance } from '../cli/desk.ts';
import { accepted, answered, at, claimed, contemplated, requested, requestId, settings } from './parts.ts';

const cpf = '52998224725';
const told = (requestCode: string, later = 0): CallbackRecord => ({
  ...{ kind: 'contemplated', at: at + later, requestCode, message: null, errors: [] },
});
const entryOf = (record: CallbackRecord): NewEntry => ({ topic: 'callbacks', key: 'any', record }) as NewEntry;

/** A store with one request, whose bid is `ours`, and these callbacks. */
async function opened(context: TestContext, callbacks: readonly CallbackRecord[]) {
  const directory = mkdtempSync(join(tmpdir(), 'lance-winners-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  const records = [requested(), claimed(), answered(accepted)];
  await store.log.append(records.map((record) => ({ topic: 'auctions', key: requestId, record }) as NewEntry));
  const entries = await store.log.read('auctions', 0, 0, records.length);
  await createLedger(store.views, settings, store.log).fold({ partition: 0, first: 0, next: records.length, entries });
  if (callbacks.length > 0) await store.log.append(callbacks.map(entryOf));
  return { directory, store };
}

test('a winner event whose bid is unknown is shown once, without numbers of persons; one that is known is not', async (context) => {
  const { requestCode } = contemplated();
  const callbacks = [told(requestCode), told('nobody', 1), told('nobody', 2), told(cpf, 3)];
  const { store } = await opened(context, callbacks);
  try {
    const found = await unknownWinners(store);
    assert.equal(found.whole, true);
    assert.deepEqual(
      found.winners.map(({ kind, requestCode: code, at: when }) => [kind, code, when - at]),
      [
        ['contemplated', '***', 3],
        ['contemplated', 'nobody', 1],
      ],
    );
    // Those that were dealt with, or given up, are not read again.
    await store.views.apply({ partition: callbackPartition(0), first: 0, next: 3, changes: [] });
    assert.deepEqual(
      (await unknownWinners(store)).winners.map(({ requestCode: code }) => code),
      ['***'],
    );
  } finally {
    await store.close();
  }
});

test('of many callbacks the last ones are read, and that it was so is said', async (context) => {
  const many = Array.from({ length: mostCallbacksRead }, (_, index) => told(`of-${index % 7}`, 1));
  const { store } = await opened(context, [told('first'), ...many]);
  let read = 0;
  const log = {
    ends: store.log.ends,
    read: (async (...asked: Parameters<typeof store.log.read>) => {
      read += asked[3];
      return store.log.read(...asked);
    }) as typeof store.log.read,
  };
  try {
    const { winners, whole } = await unknownWinners({ log, views: store.views });
    assert.deepEqual([winners.length, whole, read], [7, false, mostCallbacksRead]);
  } finally {
    await store.close();
  }
});

test('while another process may know the bids, none is called unknown', async (context) => {
  const { store } = await opened(context, [told('nobody')]);
  try {
    const views = { ...store.views, missing: () => [1] };
    assert.deepEqual(await unknownWinners({ log: store.log, views }), { winners: [], whole: false });
    const findByBid = async () => {
      throw new Fault('owner-unasked', 'Partition 1 of auctions could not be asked.');
    };
    const asked = { ...store.views, findByBid };
    assert.deepEqual(await unknownWinners({ log: store.log, views: asked }), { winners: [], whole: false });
  } finally {
    await store.close();
  }
});

test('the list of events names them and says what to do', async (context) => {
  const { directory, store } = await opened(context, [told('nobody'), told(cpf)]);
  await store.close();
  const list = async (...words: string[]) => {
    const { stdout, stderr, code } = await lance({ LANCE_DATA_DIR: directory }, 'events', 'list', ...words);
    assert.equal(code, 0, stderr);
    assert.ok(!stdout.includes(cpf), stdout);
    return stdout;
  };
  const english = await list('--lang', 'en');
  assert.match(english, /^nobody +contemplated/m);
  assert.match(english.replaceAll(/\s+/g, ' '), /no bid of the desk has.*lance bids resolve ID --as contemplated/);
  assert.match((await list('--lang', 'pt')).replaceAll(/\s+/g, ' '), /nenhum lance da mesa tem/);
  const lines = (await list('--json'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ unknownWinner }) => unknownWinner.requestCode),
    ['***', 'nobody'],
  );
  assert.doesNotMatch(await list('--phase', 'closed', '--lang', 'en'), /nobody/);
});
