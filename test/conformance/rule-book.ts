/** What any rule book must do: every entry kept in the order in which it was written, whoever wrote it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { RuleBook, RuleBookEntry } from '../../src/bidding/ports.ts';
import { isApprovalNeeded, mayFollow, requireApproval } from '../../src/bidding/rule-book.ts';

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
      ...{ changes: [], source: '{}' },
    };
    const lift = (by: string): RuleBookEntry => ({ kind: 'approval-lift', at: clock.now(), by });
    const written: RuleBookEntry[] = [];
    const first = await kind.open(place);
    try {
      assert.deepEqual(await first.ruleBook.read(), []);
      await first.ruleBook.append({ kind: 'activated', hash: 'a'.repeat(64), at: clock.now(), by: null });
      await requireApproval({ ruleBook: first.ruleBook, clock }, 'ana');
      // Asked for again from elsewhere, it is written once.
      await requireApproval({ ruleBook: first.beside, clock }, null);
      await first.beside.append(proposed);
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
}
