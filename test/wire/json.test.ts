/** JSON without loss and without surprises: digits, depth, size, prototypes, and words that quote nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type JsonValue, numberOfDigits, parseJson } from '../../src/wire/json.ts';

function parsed(text: string | Buffer): JsonValue {
  const result = parseJson(text);
  assert.equal(result.kind, 'parsed', JSON.stringify(result));
  return (result as { value: JsonValue }).value;
}

function malformed(text: string | Buffer): string {
  const result = parseJson(text);
  assert.equal(result.kind, 'malformed');
  return (result as { text: string }).text;
}

test('what is parsed is written again as it was, every digit kept', () => {
  const text =
    '{"a":9007199254740993123,"b":[0.12345678901234567891,1e2,-12345678901234567890],"c":"12345678901234567890"}';
  assert.equal(JSON.stringify(parsed(text)), text.replace('1e2', '100'));
});

test('it agrees with the platform on any JSON', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(JSON.parse(JSON.stringify(parsed(text))), JSON.parse(text));
    }),
  );
});

test('depth is refused before anything is built', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  assert.equal(parseJson(deep(64)).kind, 'parsed');
  assert.match(malformed(deep(65)), /deeper than the 64 levels/);
  assert.match(malformed(deep(10_000)), /deeper than the 64 levels/);
  assert.match(malformed(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`), /deeper/);
  assert.equal(
    parseJson(JSON.stringify({ text: '['.repeat(1_000), quote: '\\"[[[' })).kind,
    'parsed',
    'brackets in texts are no depth',
  );
});

test('size, encoding and emptiness are told', () => {
  assert.match(malformed(Buffer.alloc(10_000_000, 0x20)), /10000000 bytes, more than the 4194304/);
  assert.match(malformed(''), /empty/);
  assert.match(malformed(Buffer.from([0x7b, 0xff, 0x7d])), /UTF-8/);
  assert.deepEqual(parsed(Buffer.from('\ufeff{"a":1}')), { a: 1 });
});

test('a malformed body is never quoted', () => {
  const planted = [
    '{"cpf":91582575436,',
    '{"cpf":91582575436 "x"}',
    '91582575436x',
    '{"nome":"Fulana"',
    "{'nome':'Fulana'}",
  ];
  for (const text of planted) assert.doesNotMatch(malformed(text), /9158|Fulana|cpf|nome/);
});

test('__proto__ changes nothing', () => {
  const value = parsed('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
  assert.equal((value as { polluted?: unknown }).polluted, undefined);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

test('a long number is kept wherever it stands, and never makes a malformed body good', () => {
  const id = '9007199254740993123';
  assert.equal(JSON.stringify(parsed(id)), id);
  assert.equal(JSON.stringify(parsed(`[ -${id} , {"__proto__":${id}.5e-3} ]`)), `[-${id},{"__proto__":${id}.5e-3}]`);
  // Bodies that use the character by which long numbers are marked, plain or escaped.
  for (const text of ['"\ue000"', '"\\ue0001"', '"\\uE0001"']) {
    assert.deepEqual(JSON.parse(JSON.stringify(parsed(`[${text},${id}]`))), [JSON.parse(text), Number(id)]);
    assert.equal(JSON.stringify(parsed(`[${text},${id}]`)).includes(id), true);
  }
  const broken = [
    `{${id}:1}`,
    `{"a":1,${id} :2}`,
    `[0${id}]`,
    `[${id}.]`,
    `[+${id}]`,
    `[${id}e]`,
    `"a"${id}`,
    `fals${id}`,
  ];
  for (const text of broken) malformed(text);
});

test('with long numbers too, a body is JSON exactly when the platform says so', () => {
  const pieces = ['9007199254740993123', '1', '"a"', '-', '.', 'e', ',', ':', '[', ']', '{', '}', ' ', 'null'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 9 }), (parts) => {
      const text = `[9007199254740993123,${parts.join('')}]`;
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        malformed(text);
        return;
      }
      assert.deepEqual(JSON.parse(JSON.stringify(parsed(text))), expected);
    }),
    { numRuns: 5_000 },
  );
});

test('digits are written as the number that they name, or not at all (defect line 9)', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^\d{1,60}$/), (digits) => {
      const written = JSON.stringify({ id: numberOfDigits(digits) });
      assert.equal(BigInt(/:(.*)\}$/.exec(written)![1]!), BigInt(digits));
      assert.doesNotThrow(() => JSON.parse(written));
    }),
  );
  for (const text of ['', ' 1', '-1', '1.5', '1e9', '0x1', 'abc', '1\n', '٣']) {
    assert.throws(() => numberOfDigits(text), RangeError);
  }
});
