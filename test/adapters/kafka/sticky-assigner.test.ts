/** Partitions are shared out evenly, once each, and stay where they are as far as that allows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { shareOut } from '../../../src/adapters/kafka/sticky-assigner.ts';

const groups = fc.integer({ min: 1, max: 24 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    // What members say they own may overlap or be out of date.
    owned: fc.array(fc.array(fc.integer({ min: 0, max: count + 2 }), { maxLength: count }), {
      minLength: 1,
      maxLength: 8,
    }),
  }),
);

const membersOf = (owned: readonly (readonly number[])[]) =>
  owned.map((partitions, index) => ({ memberId: `m${index}`, owned: partitions }));

test('each partition has one owner, and no member has two more than another', () => {
  fc.assert(
    fc.property(groups, ({ count, owned }) => {
      const shares = [...shareOut(count, membersOf(owned)).values()];
      const all = shares.flat().sort((a, b) => a - b);
      assert.deepEqual(
        all,
        Array.from({ length: count }, (_, partition) => partition),
      );
      const sizes = shares.map((share) => share.length);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
    }),
  );
});

test('the order in which members are listed changes nothing', () => {
  fc.assert(
    fc.property(groups, ({ count, owned }) => {
      const members = membersOf(owned);
      assert.deepEqual(shareOut(count, members), shareOut(count, [...members].reverse()));
    }),
  );
});

test('a member that comes or goes moves no more partitions than it has to', () => {
  const sizes = fc.record({ count: fc.integer({ min: 1, max: 24 }), before: fc.integer({ min: 1, max: 6 }) });
  fc.assert(
    fc.property(sizes, ({ count, before }) => {
      const first = shareOut(count, membersOf(Array.from({ length: before }, () => [])));
      const shares = [...first.values()];
      const grown = shareOut(count, membersOf([...shares, []]));
      const moved = shares.flatMap((share, index) => share.filter((each) => !grown.get(`m${index}`)!.includes(each)));
      assert.equal(moved.length, grown.get(`m${before}`)!.length, 'only what the new one gets');
      if (before === 1) return;
      const shrunk = shareOut(
        count,
        membersOf(shares.slice(1)).map((each, index) => ({ ...each, memberId: `m${index + 1}` })),
      );
      for (let index = 1; index < before; index += 1) {
        const kept = shares[index]!.filter((each) => shrunk.get(`m${index}`)!.includes(each));
        assert.equal(kept.length, shares[index]!.length, 'who stays keeps all');
      }
    }),
  );
});
