/** The token of the start counts once, and for minutes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStartToken, startTokenMs } from '../../src/operating/start-token.ts';

test('a start token opens one session, while it is fresh', () => {
  let nowMs = 5;
  const start = createStartToken(() => nowMs);
  assert.equal(start.isOpen(), false);
  assert.equal(start.spend(''), false);
  const first = start.give();
  assert.match(first, /^lance_start_[\w-]{24}$/);
  assert.equal(start.isOpen(), true);
  assert.equal(start.spend(`${first} `), false);
  assert.equal(start.spend(first), true);
  assert.equal(start.spend(first), false);
  assert.equal(start.isOpen(), false);

  const late = start.give();
  nowMs += startTokenMs;
  assert.equal(start.isOpen(), false);
  assert.equal(start.spend(late), false);

  const replaced = start.give();
  const last = start.give();
  assert.equal(start.spend(replaced), false);
  assert.equal(start.spend(last), true);
});
