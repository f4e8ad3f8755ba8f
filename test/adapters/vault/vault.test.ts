import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createVault } from '../../../src/adapters/vault/vault.ts';
import { Fault } from '../../../src/errors.ts';

const unreadable = (fault: unknown) => fault instanceof Fault && fault.code === 'sealed-unreadable';

test('what is sealed opens again with the same secret, in another process too', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 1 }), (text, secret) => {
      const sealed = createVault(secret).seal(text);
      assert.match(sealed, /^[A-Za-z0-9_-]+$/);
      assert.equal(createVault(secret).open(sealed), text);
    }),
    { numRuns: 100 },
  );
});

test('another secret, a changed character, a cut end and free text do not open', () => {
  const vault = createVault('one');
  const sealed = vault.seal('{"cpf":"00000000000"}');
  assert.throws(() => createVault('two').open(sealed), unreadable);
  for (const at of [0, 20, sealed.length - 2]) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    assert.throws(() => vault.open(changed), unreadable, `changed at ${at}`);
  }
  for (const other of [sealed.slice(0, -4), '', 'abc', '{"cpf":"00000000000"}']) {
    assert.throws(() => vault.open(other), unreadable, other);
  }
});

test('the fault never repeats what was sealed', () => {
  try {
    createVault('one').open('segredo-planted');
    assert.fail('opened');
  } catch (fault) {
    assert.doesNotMatch(String((fault as Error).message), /planted/);
  }
});

test('two seals of one text differ, unless the nonce is given', () => {
  const vault = createVault('one');
  assert.notEqual(vault.seal('x'), vault.seal('x'));
  const fixed = () => new Uint8Array(12).fill(7);
  assert.equal(createVault('one', fixed).seal('x'), createVault('one', fixed).seal('x'));
});

test('pseudonyms are stable, differ by text and secret, and do not show the text', () => {
  const one = createVault('one');
  assert.equal(one.pseudonym('12345678909'), createVault('one').pseudonym('12345678909'));
  assert.notEqual(one.pseudonym('12345678909'), one.pseudonym('12345678908'));
  assert.notEqual(one.pseudonym('12345678909'), createVault('two').pseudonym('12345678909'));
  assert.match(one.pseudonym('12345678909'), /^[A-Za-z0-9_-]{43}$/);
});
