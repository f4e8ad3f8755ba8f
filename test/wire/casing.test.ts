/** Values with keys as the contract writes them take a shorter way: it gives what the library gives for the same values under other keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { decodeBy, lenient, needed, optional } from '../../src/wire/casing.ts';
import { readAmount, readInstant, readInteger, readText } from '../../src/wire/values.ts';

const schema = z.object({
  Codigo: needed(readText),
  Itens: z.array(z.object({ Valor: needed(readAmount), Data: optional(readInstant), Nota: lenient(readInteger) })),
});

const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, '', ' ', '12.50', '12.505', 'x', true, -1, 7, 1e20, '2026-11-20T10:00:00', [], {}),
  fc.double(),
  fc.string(),
);
const item = fc.record({ Valor: scalar, Data: scalar, Nota: scalar, Outro: scalar }, { requiredKeys: [] });
const plainItem = fc.record({ Valor: fc.nat(), Data: scalar, Nota: scalar, Outro: scalar });
const items = fc.oneof(fc.array(plainItem, { maxLength: 3 }), fc.array(fc.oneof(item, scalar)), scalar);
const whole = fc.oneof(fc.record({ Codigo: scalar, Itens: items }, { requiredKeys: [] }), scalar);

/** The same value, these keys of it in lower case. */
function lowered(value: unknown, keys: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((inner) => lowered(inner, keys));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    keys.includes(key) ? key.toLowerCase() : key,
    lowered(inner, keys),
  ]);
  return Object.fromEntries(entries);
}

const keys = ['Codigo', 'Itens', 'Valor', 'Data', 'Nota'];

test('what is written as the schema writes it is read as under any other case, faults and all', () => {
  let decoded = 0;
  fc.assert(
    fc.property(whole, fc.subarray(keys), (value, some) => {
      const read = decodeBy(schema, value);
      assert.deepEqual(decodeBy(schema, lowered(value, keys)), read);
      assert.deepEqual(decodeBy(schema, lowered(value, some)), read);
      if (read.kind === 'decoded') decoded += 1;
    }),
    { numRuns: 2_000 },
  );
  assert.ok(decoded > 50, `${decoded} were decoded`);
});

test('of two keys that differ only in case the one that the schema writes wins, wherever it stands', () => {
  const itens = [{ valor: 1, Valor: 2, Data: null, Nota: null }];
  for (const value of [
    { codigo: 'a', Codigo: 'b', Itens: itens },
    { Codigo: 'b', codigo: 'a', Itens: itens },
  ]) {
    const read = decodeBy(schema, value);
    assert.deepEqual(read, {
      kind: 'decoded',
      value: { Codigo: 'b', Itens: [{ Valor: 200, Data: null, Nota: null }] },
    });
  }
});

test('a schema with a check of its own is left to the library', () => {
  const few = z.object({ Itens: z.array(z.object({ Valor: needed(readAmount) })).max(1) });
  assert.equal(decodeBy(few, { Itens: [{ Valor: 1 }] }).kind, 'decoded');
  assert.equal(decodeBy(few, { Itens: [{ Valor: 1 }, { Valor: 2 }] }).kind, 'refused');
  const strict = z.strictObject({ Valor: needed(readAmount) });
  assert.equal(decodeBy(strict, { Valor: 1 }).kind, 'decoded');
});
