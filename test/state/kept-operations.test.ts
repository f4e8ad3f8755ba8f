/** Operations on the cap book stay in the state file until the book has them and their request needs no verdict. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KeptOperation } from '../../src/bidding/ports.ts';
import { createKeptOperations, type StoredOperations } from '../../src/state/kept-operations.ts';
import { stateOf } from '../conformance/samples.ts';
import { createPlace, endlessLog, leftOf, openStore } from './state-store.ts';

const at = 1_763_700_000_000;
const nothing: StoredOperations = { acknowledged: 0, operations: [] };

/** What has to be there, said over all operations that there ever were. */
function expected(all: readonly KeptOperation[], acknowledged: number): StoredOperations {
  const isSettled = ({ requestId, offset }: KeptOperation) =>
    all.some((other) => other.requestId === requestId && other.offset > offset);
  const operations = all.filter((each) => each.offset >= acknowledged || (each.kind === 'reserve' && !isSettled(each)));
  return { acknowledged, operations };
}

/** A file that takes each flush whole. */
function createFile() {
  const rows = new Map<number, KeptOperation>();
  let acknowledged = 0;
  return {
    write: (flush: ReturnType<ReturnType<typeof createKeptOperations>['takeDirty']>['flush']) => {
      for (const operation of flush.added) {
        assert.ok(!rows.has(operation.offset), `${operation.offset} is stored twice`);
        rows.set(operation.offset, operation);
      }
      for (const offset of flush.removed) assert.ok(rows.delete(offset), `${offset} is not there`);
      acknowledged = flush.acknowledged;
    },
    stored: (): StoredOperations => ({
      acknowledged,
      operations: [...rows.values()].toSorted((one, other) => one.offset - other.offset),
    }),
  };
}

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('add' as const),
        requestId: fc.constantFrom('a', 'b', 'c'),
        kind: fc.constantFrom('reserve', 'reserve', 'hold', 'release'),
        gap: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('acknowledge' as const), behind: fc.integer({ min: -4, max: 4 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom({ do: 'take' as const }, { do: 'stored' as const }, { do: 'failed' as const }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
  ),
  { minLength: 10, maxLength: 60 },
);

test('in memory and in the file stands what the book may have to be told, through flushes that fail and restarts', () => {
  fc.assert(
    fc.property(steps, (plan) => {
      const all: KeptOperation[] = [];
      const file = createFile();
      let kept = createKeptOperations(nothing);
      let acknowledged = 0;
      let offset = 0;
      let taken: ReturnType<typeof kept.takeDirty> | null = null;
      const finish = (isStored: boolean) => {
        if (taken === null) return;
        if (isStored) file.write(taken.flush);
        else taken.failed();
        taken = null;
      };
      for (const step of plan) {
        switch (step.do) {
          case 'add': {
            offset += step.gap;
            const operation = { offset, requestId: step.requestId, kind: step.kind };
            all.push(operation);
            kept.add([operation]);
            break;
          }
          case 'acknowledge':
            acknowledged = Math.max(acknowledged, offset + 1 - step.behind);
            kept.acknowledge(offset + 1 - step.behind);
            break;
          case 'take':
            taken ??= kept.takeDirty();
            break;
          case 'stored':
          case 'failed':
            finish(step.do === 'stored');
            break;
          case 'restart':
            finish(true);
            file.write(kept.takeDirty().flush);
            kept = createKeptOperations(file.stored());
            break;
          default:
            step satisfies never;
        }
        assert.deepEqual(kept.current(), expected(all, acknowledged));
      }
      finish(true);
      file.write(kept.takeDirty().flush);
      assert.ok(!kept.isDirty());
      assert.deepEqual(file.stored(), expected(all, acknowledged));
    }),
    { numRuns: 500, seed: 20_261_125 },
  );
});

test('an operation that is not after the ones before it stops the process', () => {
  const kept = createKeptOperations({ acknowledged: 0, operations: [{ offset: 5, requestId: 'a', kind: 'reserve' }] });
  assert.throws(() => kept.add([{ offset: 5, requestId: 'b', kind: 'reserve' }]), /the operation at 5 comes after/);
});

test('a state file keeps them with its rows, and tells what is promised under each key', async () => {
  const place = createPlace();
  const store = await openStore(place);
  const state = await store.open(0, endlessLog());
  const caps = [
    { keys: ['day', 'day before'], limitAmountCents: 1_000, limitCount: null },
    { keys: ['standing'], limitAmountCents: null, limitCount: null },
  ];
  const fold = (first: number, requestId: string, kind: 'reserve' | 'release') =>
    state.views.apply({
      ...{ partition: 0, first, next: first + 1 },
      changes: [
        kind === 'release'
          ? { kind, requestId }
          : { kind, requestId, at, amountCents: 100, caps, expiresAt: at - 1, force: false },
        { kind: 'state', state: stateOf(requestId, 'claimed', at), open: true, bidIds: [] },
      ],
      operations: [{ offset: first, requestId, kind, amountCents: 100 } as KeptOperation],
    });
  await fold(0, 'a', 'reserve');
  await fold(1, 'b', 'reserve');
  state.caps.acknowledge(2);
  await state.flush();
  await fold(2, 'a', 'release');
  await fold(3, 'c', 'reserve');
  const left = leftOf(place);
  assert.deepEqual(
    state.caps.operations().operations.map(({ offset, kind }) => [offset, kind]),
    [
      [1, 'reserve'],
      [2, 'release'],
      [3, 'reserve'],
    ],
  );
  const sums = new Map(['day', 'standing'].map((key) => [key, { amountCents: 200, count: 2 }]));
  assert.deepEqual(state.caps.sums(), sums, 'expired or not, but for what was released');
  const { acknowledged, operations } = state.caps.operations();
  await store.close();

  const again = await openStore(place);
  const reopened = await again.open(0, endlessLog());
  assert.deepEqual(reopened.caps.operations(), { acknowledged, operations });
  assert.deepEqual(reopened.caps.sums(), sums);
  await again.close();

  const killed = await openStore(left);
  const { origin, caps: earlier } = await killed.open(0, endlessLog());
  assert.equal(origin.applied, 2);
  assert.deepEqual(
    earlier.operations().operations.map(({ offset }) => offset),
    [0, 1],
    'as of the rows',
  );
  await killed.close();
});
