import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canonicalJson, parseJson } from '../../src/rules/json.ts';

function parsedFrom(text: string): unknown {
  const result = parseJson(text);
  if (result.kind === 'malformed') throw new Error(`${result.pointer}: ${result.text}`);
  return JSON.parse(JSON.stringify(result.value));
}

function faultOf(text: string): { pointer: string; text: string } {
  const result = parseJson(text);
  if (result.kind === 'parsed') throw new Error('was not refused');
  return result;
}

test('reads what JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.json({ depthSize: 'medium' }), fc.boolean(), (text, spaced) => {
      if (text.includes('__proto__')) return;
      const written = spaced ? JSON.stringify(JSON.parse(text), null, '\t') : text;
      assert.deepEqual(parsedFrom(written), JSON.parse(written));
    }),
    { numRuns: 1_000 },
  );
});

test('refuses what JSON.parse refuses', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', '\\', '0', 'e', '-'), (text, place, piece) => {
      const broken = text.slice(0, place % (text.length + 1)) + piece + text.slice((place % (text.length + 1)) + 1);
      let parsed: unknown;
      try {
        parsed = JSON.parse(broken);
      } catch {
        assert.equal(parseJson(broken).kind, 'malformed', broken);
        return;
      }
      const ours = parseJson(broken);
      // Stricter on purpose in two cases only: a key written twice, and `__proto__`.
      if (ours.kind === 'malformed') assert.match(ours.text, /twice|__proto__|too large/);
      else assert.equal(canonicalJson(ours.value), canonicalJson(parsed as never));
    }),
    { numRuns: 3_000 },
  );
});

test('a key written twice is refused with its pointer', () => {
  const fault = faultOf('{"a": {"b/c": 1,\n "b/c": 2}}');
  assert.equal(fault.pointer, '/a/b~1c');
  assert.match(fault.text, /Line 2, .*twice/);
});

test('__proto__ is refused, and no object has a prototype', () => {
  assert.match(faultOf('{"__proto__": {"polluted": true}}').text, /__proto__/);
  assert.match(faultOf('{"\\u005f_proto__": 1}').text, /__proto__/);
  const result = parseJson('{"constructor": 1}');
  assert.ok(result.kind === 'parsed' && Object.getPrototypeOf(result.value) === null);
});

test('depth, size and odd numbers are refused without a crash', () => {
  assert.match(faultOf('['.repeat(100_000)).text, /deeper than 32/);
  assert.match(faultOf('{"a":'.repeat(100_000)).text, /deeper than 32/);
  for (const text of [
    '',
    ' ',
    '1e999',
    '01',
    '.5',
    'NaN',
    '+1',
    '1 2',
    '"\n"',
    '"abc',
    '\uFEFF{}',
    'truex',
    '{"a" 1}',
    '[1,]',
    '{,}',
    '/*x*/1',
  ]) {
    assert.equal(parseJson(text).kind, 'malformed', text);
  }
});

test('equal content has equal canonical text', () => {
  const left = parseJson('{"b": [1, {"d": 2, "c": null}], "a": "x"}');
  const right = parseJson('{ "a":"\\u0078","b":[1.0,{"c":null,"d":2e0}]}');
  assert.ok(left.kind === 'parsed' && right.kind === 'parsed');
  assert.equal(canonicalJson(left.value), canonicalJson(right.value));
  assert.equal(canonicalJson(left.value), '{"a":"x","b":[1,{"c":null,"d":2}]}');
});
