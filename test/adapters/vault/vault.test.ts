import assert from 'node:assert/strict';
import { createCipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { createVault } from '../../../src/adapters/vault/vault.ts';
import { type SealedPlace, sealedPlaces } from '../../../src/domain/vault.ts';
import { Fault } from '../../../src/errors.ts';

const unreadable = (fault: unknown) => fault instanceof Fault && fault.code === 'sealed-unreadable';
const place = sealedPlaces.request('374');

test('what is sealed opens again with the same secret, in another process too', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 1 }), fc.string(), (text, secret, key) => {
      const own = sealedPlaces.callback(key);
      const sealed = createVault(secret).seal(own, text);
      assert.match(sealed, /^[A-Za-z0-9_-]{8}\.[A-Za-z0-9_-]+$/);
      assert.equal(createVault(secret).open(own, sealed), text);
    }),
    { numRuns: 100 },
  );
});

test('a sealed value that was moved to another record, topic or field does not open (defect line 12)', () => {
  const vault = createVault('one');
  const sealed = vault.seal(place, 'x');
  const others: SealedPlace[] = [
    sealedPlaces.request('375'),
    sealedPlaces.bidAnswer('374'),
    { ...place, topic: 'callbacks' },
    // Whoever chooses keys cannot write one that reads like another field.
    { topic: 'auctions', field: 'a', key: `sealed\n${place.key}` },
    { topic: 'auctions', field: 'sealed', key: `\n${place.key}` },
  ];
  for (const other of others) assert.throws(() => vault.open(other, sealed), unreadable, JSON.stringify(other));
  assert.equal(vault.open({ ...place }, sealed), 'x');
});

/** As versions before key ids sealed. */
function sealedBefore(secret: string, text: string): string {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, 'lance', 'seal', 32)));
  const nonce = randomBytes(12);
  const sealer = createCipheriv('aes-256-gcm', key, nonce);
  const bytes = Buffer.concat([nonce, sealer.update(text, 'utf8'), sealer.final(), sealer.getAuthTag()]);
  return bytes.toString('base64url');
}

test('values that earlier versions sealed are read, and a new one does not pass for an old one (defect line 12)', () => {
  const vault = createVault('one');
  assert.equal(vault.open(place, sealedBefore('one', 'before')), 'before');
  assert.throws(() => vault.open(place, sealedBefore('two', 'before')), unreadable);
  const [, bytes] = vault.seal(place, 'x').split('.');
  assert.throws(() => vault.open(sealedPlaces.request('375'), bytes!), unreadable);
  assert.throws(() => vault.open(place, bytes!), unreadable);
});

test('what is sealed says under which key, and nothing about it (defect line 12)', () => {
  const idOf = (secret: string) => createVault(secret).seal(place, 'x').split('.')[0];
  assert.equal(idOf('one'), idOf('one'));
  assert.notEqual(idOf('one'), idOf('two'));
});

test('another secret, a changed character, a cut end and free text do not open', () => {
  const vault = createVault('one');
  const sealed = vault.seal(place, '{"cpf":"00000000000"}');
  assert.throws(() => createVault('two').open(place, sealed), unreadable);
  for (const at of [0, 10, 20, sealed.length - 2]) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    assert.throws(() => vault.open(place, changed), unreadable, `changed at ${at}`);
  }
  for (const other of [sealed.slice(0, -4), '', 'abc', '.', '{"cpf":"00000000000"}']) {
    assert.throws(() => vault.open(place, other), unreadable, other);
  }
});

test('the fault never repeats what was sealed', () => {
  try {
    createVault('one').open(place, 'segredo-planted');
    assert.fail('opened');
  } catch (fault) {
    assert.doesNotMatch(String((fault as Error).message), /planted/);
  }
});

test('two seals of one text differ, unless the nonce is given', () => {
  const vault = createVault('one');
  assert.notEqual(vault.seal(place, 'x'), vault.seal(place, 'x'));
  const fixed = () => new Uint8Array(12).fill(7);
  assert.equal(createVault('one', fixed).seal(place, 'x'), createVault('one', fixed).seal(place, 'x'));
});

test('pseudonyms are stable, differ by text and secret, and do not show the text', () => {
  const one = createVault('one');
  assert.equal(one.pseudonym('12345678909'), createVault('one').pseudonym('12345678909'));
  assert.notEqual(one.pseudonym('12345678909'), one.pseudonym('12345678908'));
  assert.notEqual(one.pseudonym('12345678909'), createVault('two').pseudonym('12345678909'));
  assert.match(one.pseudonym('12345678909'), /^[A-Za-z0-9_-]{43}$/);
});

/** Of any length around a block of the hash and the room that is kept, with lone surrogates, which UTF-8 cannot write. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .tuple(fc.constantFrom('x', 'é', '€', '😀', '\ud800'), fc.integer({ min: 21_000, max: 70_000 }))
    .map(([c, n]) => c.repeat(n)),
);

test('a pseudonym is the HMAC-SHA256 of its text under the key derived for it, as every version made it', () => {
  fc.assert(
    fc.property(fc.string(), fc.array(anyText, { minLength: 1, maxLength: 4 }), (secret, texts) => {
      const key = Buffer.from(hkdfSync('sha256', secret, 'lance', 'pseudonym', 32));
      const { pseudonym } = createVault(secret);
      for (const text of texts)
        assert.equal(pseudonym(text), createHmac('sha256', key).update(text).digest('base64url'));
    }),
    { numRuns: 60 },
  );
});

test('texts of any length are sealed whole, whatever was sealed before', () => {
  fc.assert(
    fc.property(fc.array(anyText, { minLength: 1, maxLength: 4 }), (texts) => {
      const vault = createVault('one');
      const sealed = texts.map((text) => vault.seal(place, text));
      for (const [index, text] of texts.entries()) assert.equal(vault.open(place, sealed[index]!), text.toWellFormed());
    }),
    { numRuns: 40 },
  );
});
