/** Codes that say the same GUID are the same code, however they are written; all others have to be equal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameCode, spellingsOf } from '../../src/domain/request-codes.ts';

const guid = '0c4f2a9e-77b1-4d3c-9a10-5be2f0d1c3aa';
const written = [
  guid,
  guid.toUpperCase(),
  guid.replaceAll('-', ''),
  `{${guid}}`,
  `urn:uuid:${guid}`,
  ` ${guid.toUpperCase()} `,
  guid.replaceAll('-', ':'),
];
const others = [
  '0c4f2a9e-77b1-4d3c-9a10-5be2f0d1c3ab',
  `${guid}0`,
  guid.slice(1),
  guid.replace('a', 'g'),
  'lance-1',
  'LANCE-1',
  '',
  '-'.repeat(36),
];

test('a GUID is the same code in each of its spellings, and another code in none', () => {
  for (const one of written) {
    for (const other of written) assert.ok(isSameCode(one, other), `${one} | ${other}`);
    for (const other of others) {
      assert.ok(!isSameCode(one, other) && !isSameCode(other, one), `${one} | ${other}`);
    }
    assert.ok(spellingsOf(one).includes(guid), one);
  }
});

test('a code that is no GUID is the same as itself alone', () => {
  for (const [index, one] of others.entries()) {
    for (const [place, other] of others.entries())
      assert.equal(isSameCode(one, other), index === place, `${one} | ${other}`);
  }
});
