/** Facts of the ledger: what the fold counts under standing keys is what rules see at the next decision. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewChanges } from '../../src/bidding/evolve.ts';
import { readLedgerFacts, readUsage } from '../../src/bidding/ledger-facts.ts';
import type { Views } from '../../src/bidding/ports.ts';
import { readRecord } from '../../src/domain/record-shapes.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { ledgerFacts } from '../../src/rules/facts.ts';
import { createViewsModel } from '../conformance/views-model.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { accepted, answered, at, bid, claimed, ended, folded, offer, requested, requestId, settings } from './parts.ts';

function createBook() {
  const model = createViewsModel();
  const views = {
    usage: async (keys: readonly string[], asked: number) => new Map(keys.map((key) => [key, model.usage(key, asked)])),
    statistics: async (keys: readonly string[]) =>
      new Map(keys.flatMap((key) => (model.statistic(key) === undefined ? [] : [[key, model.statistic(key)!]]))),
  } as unknown as Views;
  return {
    views,
    fold: (records: readonly AuctionRecord[]) => {
      for (const [index, record] of records.entries()) {
        const before = index === 0 ? null : folded(...records.slice(0, index));
        const changes = viewChanges(before, folded(...records.slice(0, index + 1)), record, settings);
        model.apply({ partition: 0, first: 0, next: 1, changes });
      }
    },
    see: async (request = sampleRequest, now = at) => {
      const state = { ...folded(requested()), request };
      return (await readLedgerFacts(views, ledgerFacts, [state], now))[0]!;
    },
  };
}

const named = <R extends AuctionRecord>(record: R, requestId: string): R => ({ ...record, requestId });

test('a claim counts for its worker, its employer and the day, until it is lost', async () => {
  const book = createBook();
  const none = { 'desk.volumeTodayReais': 0, 'desk.bidsToday': 0, 'worker.openBids': 0, 'worker.exposureReais': 0 };
  assert.deepEqual(await book.see(), { ...none, 'employer.exposureReais': 0 });
  const won = [requested(), claimed()];
  book.fold(won);
  const amount = offer.amountCents / 100;
  const one = {
    'desk.volumeTodayReais': amount,
    'desk.bidsToday': 1,
    'worker.openBids': 1,
    'worker.exposureReais': amount,
  };
  assert.deepEqual(await book.see(), { ...one, 'employer.exposureReais': amount });
  const other = { ...sampleRequest, workerKey: 'another', employerId: '98765432000198' };
  const elsewhere = await book.see(other);
  assert.deepEqual([elsewhere['worker.openBids'], elsewhere['employer.exposureReais']], [0, 0]);
  assert.equal(elsewhere['desk.bidsToday'], 1);
  assert.equal((await book.see(sampleRequest, at + 86_400_000))['desk.bidsToday'], 0);
  book.fold([...won, answered(accepted), ended([bid('rival', { rateHundredths: 200 }), bid('ours', { position: 2 })])]);
  assert.equal((await book.see())['worker.openBids'], 0);
});

test('what cannot be known of a request is absent', async () => {
  const facts = await createBook().see({ ...sampleRequest, workerKey: null, employerId: null });
  assert.deepEqual(Object.keys(facts), ['desk.volumeTodayReais', 'desk.bidsToday']);
});

test('what is read for caps holds the claims that cannot be read, and only while there are any', async () => {
  const book = createBook();
  const cap = (key: string) => ({ keys: [key], limitAmountCents: 1, limitCount: null });
  const caps = [
    cap('desk|2026-11-20'),
    cap('worker|worker.key=another'),
    cap(`worker|worker.key=${sampleRequest.workerKey}`),
  ];
  const read = async () => [...(await readUsage(book.views, caps, at))].filter(([, { count }]) => count > 0);
  assert.deepEqual(await read(), []);
  const lost = [requested(), readRecord('auctions', { partition: 0, offset: 1, key: requestId }, undefined)];
  book.fold([...lost, answered(accepted)]);
  const used = { amountCents: sampleRequest.requestedAmountCents, count: 1 };
  assert.deepEqual(await read(), [
    ['standing:unread', used],
    [`standing:unread|worker.key=${sampleRequest.workerKey}`, used],
  ]);
  book.fold([...lost, answered(accepted), ended([bid('rival'), bid('ours', { position: 2 })])]);
  assert.deepEqual(await read(), []);
});

test('the win rate is the share of our own auctions, from 20 on', async () => {
  const book = createBook();
  const play = (index: number, position: number) => {
    const rival = bid('rival', { rateHundredths: 200, position: 3 - position });
    const records = [requested(), claimed(), answered(accepted), ended([rival, bid('ours', { position })])];
    book.fold(records.map((record) => named(record, `${index}`)));
  };
  for (let index = 0; index < 19; index += 1) play(index, index % 4 === 0 ? 1 : 2);
  assert.equal((await book.see())['desk.winRate'], undefined);
  play(19, 2);
  assert.ok(Math.abs((await book.see())['desk.winRate']! - 5 / 20) < 1e-9);
});

test('nothing is read where no rule asks', async () => {
  assert.deepEqual(await readLedgerFacts({} as Views, [], [folded(requested())], at), [undefined]);
});
