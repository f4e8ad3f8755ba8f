import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { LedgerRow, LogBatch, ViewBatch, ViewChange, Views } from '../../src/bidding/ports.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { accepted, answered, at, claimed, requested, settings, unknown } from './parts.ts';

/** Nothing here is retried. */
const noLog = { readKey: async () => [] };

/** Views of one partition without faults of their own. `changes` are all that they ever took, `loseAll` empties them. */
function plainViews() {
  let applied = 0;
  const rows = new Map<string, LedgerRow>();
  const changes: ViewChange[] = [];
  const views = {
    applied: async () => applied,
    apply: async (batch: ViewBatch) => {
      if (batch.first !== applied) return { kind: 'out-of-step', applied };
      applied = batch.next;
      changes.push(...batch.changes);
      for (const change of batch.changes) {
        if (change.kind === 'state')
          rows.set(change.state.requestId, { state: change.state, reservation: 'none', hadRoom: true });
      }
      return { kind: 'applied', refused: [], whole: true };
    },
    readAt: async (_: number, ids: readonly string[]) => [{ applied, rows: ids.flatMap((id) => rows.get(id) ?? []) }],
  };
  const loseAll = () => {
    applied = 0;
    rows.clear();
    changes.splice(0);
  };
  return { views: views as unknown as Views, changes, loseAll };
}

function batchOf(first: number, records: readonly AuctionRecord[]): LogBatch<AuctionRecord> {
  const entries = records.map((record, index) => ({
    partition: 0,
    offset: first + index,
    key: record.requestId,
    record,
  }));
  return { partition: 0, first, next: first + records.length, entries };
}

test('bids whose answer is unknown are counted with their age until something tells', async () => {
  const ledger = createLedger(plainViews().views, settings, noLog);
  let offset = 0;
  const fold = (...records: AuctionRecord[]) => {
    offset += records.length;
    return ledger.fold(batchOf(offset - records.length, records));
  };
  const of = (requestId: string, sentAt: number): AuctionRecord[] => [
    requested({ requestId }),
    claimed('a:1', { requestId }),
    { ...answered(unknown), requestId, at: sentAt },
  ];
  await fold(requested(), claimed());
  assert.deepEqual(ledger.unknown(), { count: 0, oldestAt: null });
  await fold(...of('later', at + 900), ...of('earlier', at + 500));
  assert.deepEqual(ledger.unknown(), { count: 2, oldestAt: at + 500 });
  await fold({ ...answered(accepted), requestId: 'earlier', at: at + 1_000 });
  assert.deepEqual(ledger.unknown(), { count: 1, oldestAt: at + 900 });
});

test('what health checks ask is known without a look at any row', async () => {
  const { views } = plainViews();
  const source = createLedger(views, settings, noLog);
  const ids = Array.from({ length: 40 }, (_, index) => `r${index}`);
  const records = ids.flatMap((requestId, index): AuctionRecord[] => [
    requested({ requestId }),
    claimed('a:1', { requestId }),
    ...(index % 2 === 0 ? [] : [{ ...answered(unknown), requestId, at: at + index }]),
  ]);
  await source.fold(batchOf(0, records));
  let looks = 0;
  const watched = (row: LedgerRow, index: number): LedgerRow => ({
    get state() {
      looks += 1;
      return row.state;
    },
    get reservation() {
      looks += 1;
      return index % 4 === 0 ? ('committed' as const) : ('held' as const);
    },
    hadRoom: true,
  });
  const open = async () => [{ applied: records.length, rows: ids.map((id, index) => watched(source.get(id)!, index)) }];
  const ledger = createLedger({ ...views, open } as unknown as Views, settings, noLog);
  await ledger.load(0, records.length);
  const amountCents = source.get('r0')!.state.claim!.offer.amountCents;
  looks = 0;
  const told = () => [ledger.openCount(), ledger.frozenCount(), ledger.unknown(), ledger.exposure()];
  const all = [40, 0, { count: 20, oldestAt: at + 1 }, { held: 30 * amountCents, committed: 10 * amountCents }];
  assert.deepEqual(told(), all);
  assert.equal(looks, 0, `rows were looked at ${looks} times`);
  await ledger.load(0, records.length);
  assert.deepEqual(told(), all, 'rows that are put again count once');
  ledger.lose(0);
  assert.deepEqual(told(), [0, 0, { count: 0, oldestAt: null }, { held: 0, committed: 0 }]);
});

test('a bid is found by every code of its answers, whichever answer counts', async () => {
  const { views, changes } = plainViews();
  const lost = { ...answered(unknown), codes: ['first-call'] };
  const outside = { ...answered({ kind: 'accepted-outside', bidId: 'bid' }), codes: ['call'] };
  const again = { ...answered({ kind: 'duplicate' }), codes: ['second-call'] };
  await createLedger(views, settings, noLog).fold(batchOf(0, [requested(), claimed(), lost, outside, again]));
  const written = changes.findLast((change) => change.kind === 'state');
  assert(written?.kind === 'state');
  assert.deepEqual(written.state.answer?.outcome.kind, 'accepted-outside');
  assert.deepEqual(written.bidIds.toSorted(), ['bid', 'call', 'first-call', 'second-call']);
});

test('rows that others folded further are not folded onto, though the views lose them a moment later', async () => {
  const { views, changes, loseAll } = plainViews();
  const records = [requested(), claimed(), answered(accepted)];
  await createLedger(views, settings, noLog).fold(batchOf(0, records));
  const kinds = changes.map(({ kind }) => kind);
  assert.ok(kinds.includes('reserve'), 'the history has to reserve something');

  const late = createLedger(
    {
      ...views,
      readAt: async (partition, requestIds) => {
        const pages = await views.readAt(partition, requestIds);
        loseAll();
        return pages;
      },
    },
    settings,
    noLog,
  );
  await assert.rejects(late.fold(batchOf(0, records)), { code: 'views-behind' });
  assert.deepEqual(changes, []);

  // After the restart that this fault asks for, the same ledger makes what the first one made.
  late.clear();
  await late.fold(batchOf(0, records));
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    kinds,
  );
});

test('a row taken up ahead of its batch is read again, not folded onto', async () => {
  const { views, changes, loseAll } = plainViews();
  const records = [requested(), claimed(), answered(accepted)];
  const ledger = createLedger(
    { ...views, open: async () => views.readAt(0, [requested().requestId]) },
    settings,
    noLog,
  );
  await ledger.fold(batchOf(0, records));
  const kinds = changes.map(({ kind }) => kind);
  assert.equal((await ledger.load(0, 0)).rows.length, 1);
  loseAll();
  await ledger.fold(batchOf(0, records));
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    kinds,
  );
});

test('of a batch that others folded in part, the rows are taken as they left them', async () => {
  const { views } = plainViews();
  const [one, other] = [createLedger(views, settings, noLog), createLedger(views, settings, noLog)];
  await one.fold(batchOf(0, [requested()]));
  await other.fold(batchOf(1, [claimed()]));
  const folds = await one.fold(batchOf(1, [claimed(), answered(accepted)]));
  assert.deepEqual(
    folds.map(({ row, record }) => [row.state.phase, record?.kind ?? null]),
    [
      ['accepted', null],
      ['accepted', 'answered'],
    ],
  );
  assert.deepEqual(folds[0]!.readBack, [claimed()]);
});
