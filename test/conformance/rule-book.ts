/** What any rule book must do: every entry kept in the order in which it was written, whoever wrote it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { NewRuleBookEntry, RuleBook, RuleBookEntry } from '../../src/bidding/ports.ts';
import { isApprovalNeeded, mayFollow, requireApproval } from '../../src/bidding/rule-book.ts';
import { joinFiles } from '../../src/domain/set-source.ts';

export type RuleBookKind = {
  name: string;
  createPlace: () => Promise<string>;
  /** `beside` is the same book as another process has it. */
  open: (place: string) => Promise<{ ruleBook: RuleBook; beside: RuleBook; close: () => Promise<void> }>;
};

export function testRuleBook(kind: RuleBookKind): void {
  test(`${kind.name}: that sets need approval lasts until two persons end it, over restarts and processes (defect line 16)`, async () => {
    const place = await kind.createPlace();
    const clock = createSystemClock();
    const proposed: RuleBookEntry = {
      ...{ kind: 'proposed', hash: 'b'.repeat(64), at: clock.now(), by: 'ana', against: null },
      changes: [],
    };
    const lift = (by: string): NewRuleBookEntry => ({ kind: 'approval-lift', at: clock.now(), by });
    const written: RuleBookEntry[] = [];
    const first = await kind.open(place);
    try {
      assert.deepEqual(await first.ruleBook.read(), []);
      await first.ruleBook.append({ kind: 'activated', hash: 'a'.repeat(64), at: clock.now(), by: null });
      await requireApproval({ ruleBook: first.ruleBook, clock }, { by: 'ana', via: 'api' });
      // Asked for again from elsewhere, it is written once.
      await requireApproval({ ruleBook: first.beside, clock }, null);
      await first.beside.append({ ...proposed, source: '{}' });
      written.push(...(await first.ruleBook.read()));
      assert.deepEqual(
        written.map(({ kind: each }) => each),
        ['activated', 'approval-required', 'proposed'],
      );
      assert.deepEqual(written[2], proposed);
      assert.deepEqual(await first.beside.read(), written);
    } finally {
      await first.close();
    }
    const again = await kind.open(place);
    try {
      assert.deepEqual(await again.ruleBook.read(), written);
      assert.equal(mayFollow(written, proposed.hash, false), false);
      await again.ruleBook.append(lift('ana'));
      await again.beside.append(lift(' ANA'));
      assert.equal(isApprovalNeeded(await again.ruleBook.read()), true, 'one person twice is one person');
      await again.beside.append(lift('bruno'));
      const entries = await again.ruleBook.read();
      assert.equal(isApprovalNeeded(entries), false);
      assert.equal(mayFollow(entries, proposed.hash, false), true);
      assert.equal(entries.length, written.length + 3);
      await requireApproval({ ruleBook: again.beside, clock }, null);
      assert.equal(isApprovalNeeded(await again.ruleBook.read()), true);
    } finally {
      await again.close();
    }
  });

  test(`${kind.name}: the text of each set is kept, whoever wrote it, and is there after a restart`, async () => {
    const place = await kind.createPlace();
    const list = `{"values":[${Array.from({ length: 500 }, (_, index) => `"\\"${index}\\\\"`).join(',')}]}`;
    const sourceOf = (rule: string) =>
      joinFiles([
        { path: 'lists/long.json', text: list },
        { path: 'rules.json', text: JSON.stringify({ rule }) },
      ]);
    const propose = (ruleBook: RuleBook, hash: string, source: string) =>
      ruleBook.append({ kind: 'proposed', hash, at: 1, by: 'ana', against: null, changes: [], source });
    const first = await kind.open(place);
    try {
      assert.equal(await first.ruleBook.source('a'), null);
      await propose(first.ruleBook, 'a', sourceOf('one'));
      await propose(first.beside, 'b', sourceOf('two'));
      for (const ruleBook of [first.ruleBook, first.beside]) {
        assert.equal(await ruleBook.source('a'), sourceOf('one'));
        assert.equal(await ruleBook.source('b'), sourceOf('two'));
      }
    } finally {
      await first.close();
    }
    const again = await kind.open(place);
    try {
      assert.equal((await again.beside.read()).length, 2);
      assert.equal(await again.beside.source('b'), sourceOf('two'));
      assert.equal(await again.ruleBook.source('a'), sourceOf('one'));
    } finally {
      await again.close();
    }
  });
}
