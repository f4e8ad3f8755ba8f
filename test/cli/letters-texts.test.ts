/** What `lance letters replay` says when nothing is left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lettersEn } from '../../src/cli/letters-texts-en.ts';
import { lettersPt } from '../../src/cli/letters-texts-pt.ts';

test('a replay names where to read on only where there is more', () => {
  const result = { read: 50, understood: 3, stillNot: 47, next: 61 };
  for (const { replayed } of [lettersEn, lettersPt]) {
    assert.match(replayed(result, false), /50 .*--from 61\.$/);
    assert.doesNotMatch(replayed(result, true), /--from/);
    assert.match(replayed({ ...result, more: { partition: 2, from: 4 } }, false), /--partition 2/);
  }
});
