/** One form for the names of fields, whoever refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldName, wholePath } from '../../src/http/api/fields.ts';
import { contractBody, renegotiationBody, stepBodies } from '../../src/http/api/schemas.ts';

test('a field of a rule is named with what holds it, where that is plain', () => {
  const { amend } = stepBodies;
  const contract = { contract: { account: {} } };
  for (const [field, body, schema, whole] of [
    ['rateHundredths', contract, amend, 'contract.rateHundredths'],
    ['rateHundredths', { renegotiation: {} }, amend, 'renegotiation.rateHundredths'],
    ['rateHundredths', {}, amend, 'rateHundredths'],
    ['policyNumber', {}, amend, 'contract.policyNumber'],
    ['branch', contract, amend, 'contract.account.branch'],
    ['account.branch', contract, amend, 'contract.account.branch'],
    ['account', contract, amend, 'contract.account'],
    ['link', {}, amend, 'link'],
    ['step', contract, amend, 'step'],
    ['Idempotency-Key', {}, contractBody, 'Idempotency-Key'],
    ['account.branch', {}, contractBody, 'account.branch'],
    ['rateHundredths', {}, renegotiationBody, 'rateHundredths'],
    ['flowId', {}, undefined, 'flowId'],
  ] as const) {
    assert.equal(wholePath(field, body, schema), whole, `${field} of ${JSON.stringify(body)}`);
  }
});

test('parts of the body are named by their path, headers and parameters by their names', () => {
  assert.equal(fieldName('body', ['contract', 'installments']), 'contract.installments');
  assert.equal(fieldName('body', []), 'body');
  assert.equal(fieldName('headers', ['idempotency-key']), 'Idempotency-Key');
  assert.equal(fieldName('querystring', ['limit']), 'limit');
  assert.ok(!fieldName('body', ['content', '52998224725']).includes('52998224725'));
  assert.ok(
    fieldName(
      'body',
      Array.from({ length: 1_000_000 }, () => 'a'),
    ).length < 100,
  );
});
