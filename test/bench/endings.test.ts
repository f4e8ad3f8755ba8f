/** What the benchmark tells after an auction is what the desk understands, and comes to as many records as the benchmark waits for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endingOf } from '../../bench/endings.ts';
import type { Arrival } from '../../bench/sink.ts';
import { shippedMapping, webhooksOf } from '../../bench/workload.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { readWebhook } from '../../src/wire/webhook.ts';

const now = 1_790_000_000_000;
const deps = { mapping: shippedMapping(), vault: createVault('only-for-tests-0123456789abcdef'), receivedAt: now, now };

test('each end and each win is read without a fault, as so many records as are waited for', () => {
  const [webhook] = webhooksOf(0, 1, 20, now);
  assert.ok(webhook !== undefined);
  const rates = [1, 497];
  const arrivals = new Map(
    webhook.requestIds.slice(0, 15).map((id, index): [string, Arrival] => {
      const code = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
      const rateHundredths = rates[index % 2]!;
      return [id, { arrivedAt: 0, code, rateHundredths, amountCents: 500_000, installments: 24 }];
    }),
  );
  const { bodies, records, wonIds } = endingOf(webhook, arrivals);
  assert.deepEqual(
    wonIds,
    webhook.requestIds.slice(0, 15).filter((_, index) => index % 2 === 0),
  );
  const read = bodies.map((body) => {
    const reading = readWebhook(body, deps);
    assert.ok(reading.kind === 'entries');
    assert.deepEqual(reading.faults, []);
    return reading.entries.flatMap(({ record }) => ('kind' in record ? [record.kind] : []));
  });
  const kinds = read.flat();
  assert.equal(kinds.length, records);
  const counted = Object.fromEntries(
    [...new Set(kinds)].map((kind) => [kind, kinds.filter((each) => each === kind).length]),
  );
  assert.deepEqual(counted, { ended: 20, contemplated: 8, proposed: 8 });
});
