import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deniesEndorsement } from '../../src/wire/endorsement-words.ts';
import type { JsonObject, JsonValue } from '../../src/wire/json.ts';

const told = (content: JsonObject): JsonValue => ({ Payload: { Conteudo: content, Erros: [] } });

test('what says in words or by a flag that an endorsement was not done is no success', () => {
  for (const content of [
    { Mensagem: 'Margem insuficiente' },
    { Mensagem: 'Averbação desfeita' },
    { Situacao: 'Suspensa' },
    { Mensagem: 'Biometria divergente' },
    { sucesso: 'false' },
    { sucesso: 0 },
    { Averbado: 'NÃO' },
    { sucesso: false },
  ]) {
    assert.equal(deniesEndorsement(told(content)), true, JSON.stringify(content));
  }
});

test('a success stays one, whatever the worker is called and however it says that there were no errors', () => {
  for (const content of [
    { Mensagem: 'Averbado. Sem erros.' },
    { Mensagem: 'Contrato averbado sem nenhum erro', NomeTrabalhador: 'Maria Cancela' },
    { sucesso: true },
    { sucesso: 'true' },
    { sucesso: 1 },
    {},
  ]) {
    assert.equal(deniesEndorsement(told(content)), false, JSON.stringify(content));
  }
});
