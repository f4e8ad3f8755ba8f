/** CPFs in ids and texts that stand in clear, however their digits are grouped. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutText, mayHoldCpf, withoutBareCpf, withoutCpf } from '../../src/wire/hidden-cpf.ts';
import { namesOfBatch, shownBatch } from '../../src/wire/plain-ids.ts';
import { createTestVault } from './vault.ts';

const cpf = '60462914887';
const vault = createTestVault();

/** The digits in groups of these lengths. */
function grouped(lengths: readonly number[], separator: string): string {
  const ends = lengths.map((_, index) => lengths.slice(0, index + 1).reduce((sum, length) => sum + length));
  return ends.map((end, index) => cpf.slice(end - lengths[index]!, end)).join(separator);
}

const groupings = fc
  .uniqueArray(fc.integer({ min: 1, max: 10 }), { maxLength: 10 })
  .map((cuts) => [...cuts.sort((one, other) => one - other), 11])
  .map((ends) => ends.map((end, index) => end - (ends[index - 1] ?? 0)));

test('a CPF in any grouping goes from texts, and no digit of it stays (defect line 13)', () => {
  fc.assert(
    fc.property(
      groupings,
      fc.constantFrom('', '.', '-', ' ', '/', '_', '\u00a0', ' - ', ', '),
      (lengths, separator) => {
        const written = grouped(lengths, separator);
        assert.equal(withoutCpf(`do cliente ${written}, conferido`), 'do cliente ***, conferido');
        if (!separator.includes(' ')) assert.equal(withoutBareCpf(`L:${written}:a`), 'L:***:a');
        assert.equal(mayHoldCpf(written), true);
      },
    ),
  );
  assert.equal(withoutCpf('６０４６２９１４８８７ e 000060462914887'), '*** e ***');
  assert.equal(withoutBareCpf('L:12345678909:a 123.456.789-09'), 'L:***:a ***', 'also one that lists have as made up');
  assert.equal(withoutCpf(`lote 2026-${cpf}`), 'lote 2026-***');
});

test('a mistyped CPF goes from free text where it is written as people do, other numbers stay (defect line 13)', () => {
  assert.equal(withoutCpf('604.629.148-88 e 604 629 148 88'), '*** e ***');
  const kept = 'em 2026-11-24 13:05:01, 15.000,00 reais, pedido 37400000012345 e 12 3456 7890';
  assert.equal(withoutCpf(kept), kept);
});

test('a text that is cut keeps no part of a CPF', () => {
  for (const written of [cpf, '604.629.148-87', '604 629 148 88', '6 0462914887', '60 - 462 - 914887']) {
    for (let longest = 1; longest <= 40; longest += 1) {
      const text = `do cliente ${written}, conferido`;
      assert.equal(withoutCpf(text, longest), 'do cliente ***, conferido'.slice(0, longest));
      if (longest < text.indexOf(',')) assert.doesNotMatch(cutText(text, longest), /\d/);
      assert.ok(text.startsWith(cutText(text, longest)) && cutText(text, longest).length <= longest);
    }
  }
  assert.equal(cutText('HTTP 422 sem corpo', 12), 'HTTP 422 sem');
  assert.equal(cutText(`${'9'.repeat(30)} x`, 20), '9'.repeat(10));
});

test('a batch whose code may hold a CPF goes by a pseudonym, and is found by either (defect line 13)', () => {
  for (const code of [
    ...[
      '604-629-148-87',
      '160462914887',
      '604629148871',
      'L20261124604629148879',
      '1604-629-148-87',
      'a.60462914887.b',
    ],
  ]) {
    const shown = shownBatch(vault, code);
    assert.ok(!shown.includes('914'), code);
    assert.deepEqual(namesOfBatch(vault, code), [code, shown]);
    assert.ok(namesOfBatch(vault, shown).includes(shown));
  }
  for (const code of ['L-20260303-1', '3f2504e0-4f89-11d3-9a0c-0305e82c3301', '20261124130501', '12345678901']) {
    assert.equal(shownBatch(vault, code), code);
    assert.deepEqual(namesOfBatch(vault, code), [code]);
  }
});

test('ids that are long numbers stay as they are in lines of the log: they are searched by them (defect line 13)', () => {
  for (const id of ['1160462914887', '6046291488712345678', '37400000012']) assert.equal(withoutBareCpf(id), id);
});

test('zeros and separators without end take no longer than they are long (defect line 6)', () => {
  for (const piece of ['0', '0 ', '1-', '12.']) {
    const text = piece.repeat(200_000);
    const startedAt = performance.now();
    withoutCpf(text);
    mayHoldCpf(text);
    assert.ok(performance.now() - startedAt < 5_000, piece);
  }
});
