/** Which operation on the cap book each step of a request's standing comes to, and that the fold of a whole life yields them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CapOperation, capOperationOf } from '../../src/domain/cap-book.ts';

const out = { isCounted: false, awaitsVerdict: false };
const claimed = { isCounted: true, awaitsVerdict: true };
const sent = { isCounted: true, awaitsVerdict: false };
const caps = [
  { keys: ['day', 'yesterday'], limitAmountCents: 100, limitCount: null },
  { keys: ['day'], limitAmountCents: null, limitCount: 3 },
  { keys: ['worker'], limitAmountCents: null, limitCount: null },
];
const request = { offset: 7, requestId: 'r', amountCents: 50, caps };
const common = { offset: 7, requestId: 'r', amountCents: 50, keys: ['day', 'worker'] };

const rows: readonly [name: string, before: typeof out, after: typeof out, expected: CapOperation | null][] = [
  ['a claim reserves', out, claimed, { ...common, kind: 'reserve', limits: caps.slice(0, 2) }],
  ['a bid that went out is held, were it refused', claimed, sent, { ...common, kind: 'hold', reserved: true }],
  ['a bid that is found after a pass is held anew', out, sent, { ...common, kind: 'hold', reserved: false }],
  ['a claim that ends releases', claimed, out, { ...common, kind: 'release' }],
  ['a bid that ends releases', sent, out, { ...common, kind: 'release' }],
  ['nothing was promised', out, out, null],
  ['a claim stays', claimed, claimed, null],
  ['a bid stays', sent, sent, null],
];

for (const [name, before, after, expected] of rows) {
  test(name, () => assert.deepEqual(capOperationOf(before, after, request), expected));
}
