/** What counts as an error of a winner event: a list with nothing in its items reports none (contract, Events 1 and 2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeContemplated, decodeProposed } from '../../src/wire/events.ts';
import type { JsonValue } from '../../src/wire/json.ts';

const lists: readonly (readonly [JsonValue[], number])[] = [
  [[], 0],
  [[null], 0],
  [[{}], 0],
  [[''], 0],
  [[{ Codigo: null, Mensagem: '' }, []], 0],
  [[null, { Codigo: 'E1' }], 1],
  [['Saldo insuficiente'], 1],
  [[0], 1],
  [[{ detalhe: { texto: 'x' } }], 1],
];

test('items that say nothing are no errors of a won bid; any that says something is one (integrator, session 48)', () => {
  for (const [list, count] of lists) {
    const won = decodeContemplated({
      CodigoRequisicao: 'q-1',
      Payload: { Conteudo: { Mensagem: 'Lance contemplado' }, Erros: list },
    });
    const proposal = decodeProposed({
      CodigoRequisicao: 'q-1',
      Payload: { conteudo: { codigo: 'p-1', mensagem: 'Proposta incluída' }, errors: list },
    });
    for (const decoded of [won, proposal]) {
      assert(decoded.kind === 'decoded', JSON.stringify(list));
      assert.equal(decoded.value.errors.length, count, JSON.stringify(list));
    }
  }
});
