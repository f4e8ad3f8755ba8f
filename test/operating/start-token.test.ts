/** The token of the start counts once, and for minutes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStartToken, startTokenMs } from '../../src/operating/start-token.ts';

test('a start token opens one session, while it is fresh', () => {
  let nowMs = 5;
  const start = createStartToken(() => nowMs);
  assert.equal(start.isOpen(), false);
  assert.equal(start.spend(''), null);
  const first = start.give();
  assert.match(first, /^lance_start_[\w-]{24}$/);
  assert.equal(start.isOpen(), true);
  assert.equal(start.spend(`${first} `), null);
  assert.ok(start.spend(first) !== null);
  assert.equal(start.spend(first), null);
  assert.equal(start.isOpen(), false);

  const late = start.give();
  nowMs += startTokenMs;
  assert.equal(start.isOpen(), false);
  assert.equal(start.spend(late), null);

  const replaced = start.give();
  const last = start.give();
  assert.equal(start.spend(replaced), null);
  const spent = start.spend(last);
  assert.ok(spent !== null);
  assert.equal(start.spent().includes(spent.sha256), true);

  // The store was away, so no session was opened.
  spent.giveBack();
  assert.equal(start.spent().includes(spent.sha256), false);
  assert.equal(start.isOpen(), true);
  const again = start.spend(last);
  assert.ok(again !== null);
  const newer = start.give();
  again.giveBack();
  assert.equal(start.spend(last), null);
  assert.ok(start.spend(newer) !== null);
});
