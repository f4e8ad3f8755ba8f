import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deniesEndorsement, endorsementShown } from '../../src/wire/endorsement-words.ts';
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

test('a known word, a flag or the empty error list of the contract shows a success, and nothing else does', () => {
  for (const event of [
    { Payload: { situacao: 'AVERBADO' } },
    { Payload: { Conteudo: { Mensagem: 'Averbação realizada com sucesso' }, Erros: null } },
    { Payload: { averbado: true } },
    { Payload: { Averbado: 'SIM', NomeTrabalhador: 'Maria Pendente' } },
    { Payload: {}, Erros: [] },
    { Erros: [] },
    { Payload: { Conteudo: {}, Erros: [] } },
    { Payload: { Conteudo: { NumeroContrato: 'N-1', Data: '2026-03-03T10:00:00', Valor: 10.5 }, errors: [] } },
    { Payload: 'Contrato 123 averbado' },
  ] as JsonValue[]) {
    assert.equal(endorsementShown(event), 'success', JSON.stringify(event));
  }
  for (const event of [
    { Payload: {} },
    {},
    { Payload: null, Erros: null },
    { Payload: { Conteudo: { Mensagem: 'Em análise' } } },
    { Payload: { Conteudo: { Mensagem: 'Em análise' }, Erros: [] } },
    { Payload: { Conteudo: { Mensagem: 'Recebido, aguardando o banco' }, Erros: [] } },
    { Payload: { Situacao: 'Retida' } },
    { Payload: { situacao: 'XPTO', Erros: [] } },
    { Payload: { pendente: true }, Erros: [] },
    { Payload: { Situacao: 3 } },
    { Payload: { Situacao: 3, Erros: [] } },
    { Payload: { Conteudo: {}, Erros: 'x' }, Erros: [] },
    { Payload: { Mensagem: 'O contrato será averbado' }, Erros: [] },
    [],
  ] as JsonValue[]) {
    assert.equal(endorsementShown(event), 'nothing', JSON.stringify(event));
  }
});
