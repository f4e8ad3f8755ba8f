/** What was written here is given back for the very bytes that it was written as, once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOwnRecords } from '../../../src/adapters/kafka/own-records.ts';

const bytesOf = (name: string, end: string) => Buffer.from(name.padEnd(100, '.') + end);

test('a record is given back once, for its own bytes', () => {
  const own = createOwnRecords(1_000);
  const record = { kind: 'passed' };
  own.keep(bytesOf('a', '1'), record);
  assert.equal(own.take(bytesOf('a', '1')), record);
  assert.equal(own.take(bytesOf('a', '1')), null);
});

test('bytes that differ anywhere are not those of the record', () => {
  const own = createOwnRecords(1_000);
  const record = { kind: 'passed' };
  const bytes = bytesOf('a', '1');
  own.keep(bytes, record);
  for (let at = 0; at < bytes.length; at += 1) {
    const other = Buffer.from(bytes);
    other[at]! ^= 1;
    assert.equal(own.take(other), null);
  }
  assert.equal(own.take(Buffer.concat([bytes, Buffer.from('1')])), null);
  assert.equal(own.take(bytes.subarray(0, -1)), null);
  assert.equal(own.take(bytes), record);
});

test('the latest of two that begin alike is kept', () => {
  const own = createOwnRecords(1_000);
  const [first, second] = [{ n: 1 }, { n: 2 }];
  own.keep(bytesOf('a', '1'), first);
  own.keep(bytesOf('a', '2'), second);
  assert.equal(own.take(bytesOf('a', '1')), null);
  assert.equal(own.take(bytesOf('a', '2')), second);
});

test('no more is kept than there is room for; the oldest go', () => {
  const own = createOwnRecords(350);
  const records = Array.from({ length: 10 }, (_, n) => ({ n }));
  for (const record of records) own.keep(bytesOf(String(record.n), ''), record);
  assert.deepEqual(
    records.map(({ n }) => own.take(bytesOf(String(n), ''))),
    [...Array.from({ length: 7 }, () => null), ...records.slice(7)],
  );
  own.keep(bytesOf('large', 'x'.repeat(400)), { n: 11 });
  assert.equal(own.take(bytesOf('large', 'x'.repeat(400))), null);
});
