import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { checkUntrusted } from '../../src/domain/untrusted-value.ts';
import { parseJson } from '../../src/wire/json.ts';

const schema = z.strictObject({ text: z.string().trim().min(1).max(20), list: z.array(z.string()).min(1) });

test('what a schema cannot compare with its limits is refused, at its place, and all else is read as before', () => {
  for (const odd of ['{"valueOf":1,"toString":1}', '[-6.655827637473621e-291]', '6655827637473621.000000001']) {
    for (const body of [`{"text":{"length":${odd}},"list":["a"]}`, `{"text":"a","list":{"length":${odd}}}`]) {
      const parsed = parseJson(body);
      assert.ok(parsed.kind === 'parsed');
      const read = checkUntrusted(parsed.value, (given) => schema.safeParse(given));
      assert.equal(read.success, false);
      const path = body.startsWith('{"text":"a"') ? ['list'] : ['text'];
      assert.deepEqual(read.error?.issues[0]?.path, path);
      assert.equal(read.error?.issues[0]?.code, 'invalid_type');
    }
  }
  const good = { text: 'a', list: ['b'] };
  assert.deepEqual(
    checkUntrusted(good, (given) => schema.parse(given)),
    good,
  );
});

test('what throws for another reason throws', () => {
  const fault = new RangeError('too deep');
  assert.throws(
    () =>
      checkUntrusted({}, () => {
        throw fault;
      }),
    fault,
  );
});
