import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { Views } from '../../src/bidding/ports.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { accepted, answered, at, claimed, requested, settings, unknown } from './parts.ts';

/** Views that take every batch and remember nothing: the ledger's own rows are what is looked at. */
function forgetfulViews(): Views {
  const applied = { count: 0 };
  return {
    applied: async () => applied.count,
    apply: async ({ next }: { next: number }) => {
      applied.count = next;
      return { kind: 'applied', refused: [] };
    },
    read: async () => new Map(),
  } as unknown as Views;
}

test('bids whose answer is unknown are counted with their age until something tells', async () => {
  const ledger = createLedger(forgetfulViews(), settings);
  let offset = 0;
  const fold = (...records: AuctionRecord[]) => {
    const entries = records.map((record, index) => ({
      partition: 0,
      offset: offset + index,
      key: record.requestId,
      record,
    }));
    offset += records.length;
    return ledger.fold({ partition: 0, first: offset - records.length, next: offset, entries });
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
