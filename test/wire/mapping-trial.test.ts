/** What a mapping makes of a sample: every fact with its key and kind, what was left unread, and no value. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { beginningOf, keysIn, tryMapping } from '../../src/wire/mapping-trial.ts';

function mappingWith(change: object = {}) {
  const read = readRequestMapping({ ...mappingFile, ...change });
  assert.ok(read.kind === 'read');
  return read.mapping;
}

test('every element with its facts, their keys and kinds, and what nobody read', () => {
  const body = {
    CodigoLote: 'L-1',
    DataHoraFimLeilao: '2026-03-03T12:00:00',
    remetente: 'x',
    Solicitacoes: [
      {
        numeroSolicitacao: 7,
        valorLiberado: 'mil reais',
        inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' },
        canal: 'app',
        telefoneContato: '11999990000',
        margem: { valorMargemDisponivel: -5 },
        analise: { score: 640 },
      },
      { outro: [{ x: 1 }, { x: 2, y: null }] },
    ],
  };
  const { elements, moreElements, around } = tryMapping(body, mappingWith({ scores: { bureau: ['analise.score'] } }));
  assert.equal(moreElements, 0);
  const [first, second] = elements;
  const wrong = first!.facts.find(({ fact }) => fact === 'requestedAmount')!;
  assert.match(wrong.problem ?? '', /send/);
  assert.deepEqual(
    first!.facts.map(({ fact, key, from, kind, problem }) => [fact, key, from, kind, problem === null]),
    [
      ['requestId', 'numeroSolicitacao', 'element', 'a number', true],
      ['batchId', 'CodigoLote', 'wrapper', 'a text', true],
      ['closesAt', 'DataHoraFimLeilao', 'wrapper', 'a text', true],
      ['requestedAmount', 'valorLiberado', 'element', 'a text', false],
      ['employerIdType', 'inscricaoEmpregador.codigo', 'element', 'a number', true],
      ['score.bureau', 'analise.score', 'element', 'a number', true],
    ],
  );
  assert.deepEqual(first!.unread, [
    { key: 'inscricaoEmpregador.descricao', kind: 'a text', kept: 'extra.inscricaoEmpregador.descricao' },
    { key: 'canal', kind: 'a text', kept: 'extra.canal' },
    { key: 'telefoneContato', kind: 'a text', kept: null },
    { key: 'margem.valorMargemDisponivel', kind: 'a number', kept: 'extra.margem.valorMargemDisponivel' },
  ]);
  assert.deepEqual([first!.pointer, first!.isRequest], ['/Solicitacoes/0', true]);
  assert.equal(second!.isRequest, false);
  assert.deepEqual(
    second!.unread.map(({ key }) => key),
    ['outro.x', 'outro.y'],
  );
  assert.deepEqual(around, [{ key: 'remetente', kind: 'a text', kept: 'extra.remetente' }]);
  const text = JSON.stringify({ elements, around });
  for (const value of ['mil reais', '11999990000', 'L-1', 'CNPJ', '640']) assert.ok(!text.includes(value), value);
});

test('a body of any size is shown in bounds', () => {
  const many = Array.from({ length: 1_000 }, (_, index) => ({
    numeroSolicitacao: index + 1,
    ...Object.fromEntries(Array.from({ length: 300 }, (_each, key) => [`chave${key}`, 1])),
  }));
  const { elements, moreElements } = tryMapping(many, mappingWith());
  assert.deepEqual([elements.length, moreElements], [50, 950]);
  assert.ok(elements.every(({ unread, moreKeys }) => unread.length === 200 && moreKeys));
});

test('an event is no list of requests', () => {
  const event = { CodigoRequisicao: 'c', Endpoint: '/oferta-leilao/gerar-contrato', Payload: { NumeroCCB: '1' } };
  assert.deepEqual(tryMapping(event, mappingWith()).elements, []);
});

test('a mapping that is wrong is refused with its place, the nearest word and what to write', () => {
  const read = readRequestMapping({
    ...mappingFile,
    containres: [],
    inherited: ['batchID'],
    facts: { ...mappingFile.facts, cpf: [], requestID: ['x'], birthDate: undefined, name: 'nome', colour: ['cor'] },
    politicallyExposedCodes: { exposed: ['1'], notExposed: [0] },
    // An object whose length cannot be compared with the least.
    alertCode: { length: { valueOf: 1, toString: 1 } },
  });
  assert.ok(read.kind === 'refused');
  const faults = Object.fromEntries(read.faults.map(({ pointer, text }) => [pointer, text]));
  assert.equal(faults['/containres'], '"containres" is not known here; did you mean "containers"?');
  assert.equal(faults['/inherited/0'], '"batchID" is not known here; did you mean "batchId"?');
  assert.equal(faults['/facts/requestID'], '"requestID" is not known here; did you mean "requestId"?');
  assert.match(faults['/facts/colour']!, /not known here; write one of requestId, batchId, /);
  assert.equal(faults['/facts/cpf'], 'write at least one key');
  assert.equal(faults['/facts/birthDate'], 'is missing; write a list [ … ] of texts');
  assert.equal(faults['/facts/name'], 'write a list [ … ] of texts');
  assert.ok(faults['/alertCode'] !== undefined);
  assert.equal(faults['/politicallyExposedCodes/exposed/0'], 'write a whole number');
});

test('of a long body the beginning is looked at, whole where it is short', () => {
  const short = { a: [1, { b: 'x', c: [[2]] }], __proto__x: null };
  assert.deepEqual(JSON.parse(JSON.stringify(beginningOf(short))), short);
  const long = { lista: Array.from({ length: 60_000 }, (_, index) => ({ numero: index })), depois: 1 };
  const cut = beginningOf(long) as typeof long;
  assert.deepEqual([cut.lista.length, cut.depois], [100, 1]);
  const wide = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, index]));
  assert.ok(Object.keys(beginningOf(wide) as object).length <= 10_000);
  const known = () => true;
  assert.deepEqual(keysIn(cut, known), ['lista.numero', 'depois']);
});

test('a key with a known word in it is shown, a name joined like a key is not', () => {
  const known = (key: string) => ['numero', 'de', 'cpf'].includes(key.toLowerCase());
  const shown = (key: string) => keysIn({ [key]: 1 }, known)[0];
  for (const key of ['pedidoNumero', 'NumeroPedido', 'NUMERO_PEDIDO', 'numero-pedido2', 'lei-cpf']) {
    assert.equal(shown(key), key);
  }
  for (const key of [
    'mariaDeSouza',
    'maria_de_souza',
    'mariaSilva',
    'Maria',
    'numero josé',
    'numero52998224725',
    'numéroX',
  ])
    assert.equal(shown(key), '***', key);
  assert.equal(shown(`numero${'X'.repeat(35)}`), '***');
});
