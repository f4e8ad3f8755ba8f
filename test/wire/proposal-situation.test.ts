/** What is told of a proposal is believed where the answer is about the proposal that was asked for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../src/wire/json.ts';
import { isToldOfAsked, proposalRecord } from '../../src/wire/withdrawals.ts';

const code = '4092d844-5a1b-4c3d-9e8f-0a1b2c3d4e5f';
const asked = JSON.stringify({ dto: { CodigoProposta: code } });

function told(fields: object, query = asked): number | null {
  const parsed = parseJson(JSON.stringify({ HasError: false, Situacao: 2, ...fields }));
  assert.ok(parsed.kind === 'parsed');
  const decoded = proposalRecord.decode(parsed.value);
  assert.ok(decoded.kind === 'decoded', JSON.stringify(decoded));
  return isToldOfAsked(query, decoded.value) ? decoded.value.situation : null;
}

test('of the proposal that was asked for, in each code that it names', () => {
  assert.equal(told({ Codigo: code }), 2);
  assert.equal(told({ Codigo: code.toUpperCase(), CodigoProposta: null }), 2);
  assert.equal(told({ Codigo: code, CodigoProposta: code }), 2);
  assert.equal(told({ CodigoProposta: code }), 2);
  // The contract has a number of another form beside the code.
  for (const number of ['2026000123', '000123', 'another'])
    assert.equal(told({ Codigo: code, CodigoProposta: number }), 2);
});

test('a number of our own says no more than the number beside it: both have to match', () => {
  const number = JSON.stringify({ dto: { CodigoProposta: '2026000123' } });
  assert.equal(told({ Codigo: '2026000123', CodigoProposta: '2026000999' }, number), null);
  assert.equal(told({ Codigo: '2026000123', CodigoProposta: '2026000123' }, number), 2);
  assert.equal(told({ Codigo: '2026000123' }, number), 2);
});

test('only what names the proposal in the query counts', () => {
  const page = JSON.stringify({ dto: { CodigoProposta: code, Pagina: 1, Ativo: '2' } });
  assert.equal(told({ Codigo: '1' }, page), null);
  assert.equal(told({ Codigo: '2', CodigoProposta: null }, page), null);
  assert.equal(told({ Codigo: code }, page), 2);
  for (const dto of [{ NumeroProposta: 77 }, { codigo: '77' }, { Propostas: ['77'] }])
    assert.equal(told({ Codigo: '77' }, JSON.stringify({ dto })), 2, JSON.stringify(dto));
  assert.equal(told({ Codigo: code }, JSON.stringify({ dto: { Identificador: code } })), 2);
});

test('an answer about another proposal tells nothing', () => {
  assert.equal(told({ Codigo: 'other-code' }), null);
  assert.equal(told({ Codigo: 'other-code', CodigoProposta: code }), null);
  assert.equal(told({ Codigo: code, CodigoProposta: '0a2c4e68-0000-4000-8000-000000000002' }), null);
  assert.equal(told({}), null);
  assert.equal(told({ Codigo: '', CodigoProposta: null }), null);
  assert.equal(told({ Codigo: 'other-code', CodigoProposta: 'another' }), null);
});
