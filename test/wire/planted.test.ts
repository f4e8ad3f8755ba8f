/** Whatever is planted in a webhook, nothing of it is in clear in what the door makes durable. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import outcomesFile from '../../config/outcomes.json' with { type: 'json' };
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import { joinRequest } from '../../src/domain/sealed-facts.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { operations } from '../../src/wire/operations.ts';
import { readBidAnswer, readOutcomeTable } from '../../src/wire/outcomes.ts';
import { readWebhook } from '../../src/wire/webhook.ts';
import { plantedBodies, plantedCpf, plantedIn, plantedParts } from './planted.ts';
import { createTestVault } from './vault.ts';

const vault = createTestVault();
const read = readRequestMapping(mappingFile);
assert.ok(read.kind === 'read');
const { mapping } = read;

const reading = (body: unknown) => readWebhook(JSON.stringify(body), { mapping, vault, receivedAt: 1_000, now: 1_000 });
const { request } = plantedParts;

for (const [kind, body] of Object.entries(plantedBodies)) {
  test(`of names and CPFs in a webhook nothing is stored in clear: ${kind} (defect line 13)`, () => {
    assert.notDeepEqual(plantedIn(JSON.stringify(body)), [], 'nothing is planted in it');
    const result = reading(body);
    assert.notEqual(result.kind, 'malformed');
    assert.deepEqual(plantedIn(JSON.stringify(result)), []);
  });
}

test('what is sealed beside a request is there for the rules (defect line 13)', () => {
  const result = reading([{ ...request, regiao: 'SUL', alertas: ['por extenso'] }]);
  assert.ok(result.kind === 'entries');
  const [entry] = result.entries;
  assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
  const { requestId, sealed } = entry.record;
  assert.deepEqual(entry.record.request.extra, {});
  assert.deepEqual(entry.record.request.sealedGroups, ['extra', 'alerts']);
  const whole = joinRequest(entry.record.request, vault.open(sealedPlaces.request(requestId), sealed), vault);
  assert.equal(whole.extra.regiao, 'SUL');
  assert.deepEqual(whole.alertCodes, ['por extenso']);
  assert.equal(whole.sealedGroups, undefined);
});

test('the number of an employer that is a company stays as it is (defect line 13)', () => {
  const employers = [
    ['01234567000195', 1],
    ['01.234.567/0001-95', 1],
    ['01234567', 1],
    ['1234567', 1],
    ['1234567000195', 1],
    ['191', 1],
    ['12ABC345', 1],
    ['01234567000195', null],
    ['00000000000191', 1],
    ['12ABC34501DE35', 1],
  ] as const;
  for (const [numeroInscricaoEmpregador, codigo] of employers) {
    const result = reading([{ ...request, inscricaoEmpregador: { codigo }, numeroInscricaoEmpregador }]);
    assert.ok(result.kind === 'entries');
    const [entry] = result.entries;
    assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
    assert.equal(entry.record.request.employerId, numeroInscricaoEmpregador);
  }
});

test('what is no company stands for its employer as a pseudonym, whatever its type (defect line 13)', () => {
  const texts = [
    ...['ZULMIRA PLANTADA', 'ZULMIRA', 'ZULMIRAP', `${plantedCpf} Zulmira`, `ref ${plantedCpf} x`, `A${plantedCpf}`],
    ...[`${plantedCpf}A`, `${plantedCpf}1`, `11${plantedCpf}1`, `000${plantedCpf}`, ' 9 1 5 8 2 5 7 5 4 3 6 '],
  ];
  for (const numeroInscricaoEmpregador of texts) {
    for (const codigo of [1, 2, null]) {
      const employment = { inscricaoEmpregador: { codigo }, numeroInscricaoEmpregador };
      const link = { cpf: Number(plantedCpf), matricula: 'm', elegivel: true, ...employment };
      const shown = [reading([{ ...request, ...employment }]), reading({ codigoRequisicao: 'l-1', vinculos: [link] })];
      for (const result of shown) assert.deepEqual(plantedIn(JSON.stringify(result)), [], numeroInscricaoEmpregador);
    }
  }
});

test('a batch that is called by a CPF goes by a pseudonym, other numbers as they are (defect line 13)', () => {
  const batchOf = (batchId: unknown) => {
    const result = reading({ CodigoLote: batchId, Solicitacoes: [{ ...request, numeroSolicitacao: 7 }] });
    assert.ok(result.kind === 'entries');
    const [entry] = result.entries;
    assert.ok(entry?.topic === 'auctions' && entry.record.kind === 'requested');
    return entry.record.request.batchId;
  };
  const planted = [
    plantedCpf,
    `000${plantedCpf}`,
    Number(plantedCpf),
    `x${plantedCpf}`,
    `${plantedCpf}A`,
    `L-${plantedCpf}`,
  ];
  for (const batch of planted) assert.match(batchOf(batch)!, /^[\w-]{43}$/);
  assert.equal(batchOf(plantedCpf), batchOf(plantedCpf));
  // One digit further its check digits do not hold; and a request's own number goes to the service as it came.
  assert.equal(batchOf('91582575437'), '91582575437');
  const own = reading([{ ...request, numeroSolicitacao: plantedCpf }]);
  assert.ok(own.kind === 'entries' && own.entries[0]!.key === plantedCpf);
});

test('a text about somebody in place of an id is not taken from an answer of the service (defect line 12)', () => {
  const named = 'Zulmira Plantada 915.825.754-36';
  for (const name of ['contract', 'renegotiation', 'inclusion'] as const) {
    const withCode = (code: string) =>
      operations[name].read({ CodigoRequisicao: code, CodigoProposta: code, conteudo: {} });
    assert.notEqual(withCode('p-1'), null, name);
    assert.equal(withCode(named), null, name);
  }
  const table = readOutcomeTable(outcomesFile);
  assert.ok(table.kind === 'read');
  const said = (id: string) => JSON.stringify({ Conteudo: { CodigoLanceLeilao: id } });
  assert.deepEqual(readBidAnswer(table.table, 200, said('bid-1')).outcome, { kind: 'accepted', bidId: 'bid-1' });
  assert.deepEqual(readBidAnswer(table.table, 200, said(named)).outcome, { kind: 'accepted', bidId: '(sealed)' });
});

test('an answer to a bid is stored readable only when every part of it is known to be harmless (defect line 13)', () => {
  const table = readOutcomeTable(outcomesFile);
  assert.ok(table.kind === 'read');
  const code = '0a5f8f1e-1111-4a0e-bb2c-0d9b3c1c7a01';
  const origin = '/contrato/oferta-leilao/incluir-lance';
  const content = { CodigoLanceLeilao: code, Mensagem: 'Lance incluído no leilão' };
  const plain = { CodigoRequisicao: code, Origem: origin, Conteudo: content };
  const isHarmless = (body: string) => readBidAnswer(table.table, 200, body).isHarmless;
  const written = JSON.stringify(plain);
  assert.equal(isHarmless(written), true);
  assert.equal(isHarmless(JSON.stringify({ ...plain, HasError: false, Erros: [] })), true);
  const others: Record<string, unknown>[] = [
    { ...plain, Conteudo: { ...content, Mensagem: 'Lance incluído no leilão para Zulmira Plantada' } },
    { ...plain, Conteudo: { ...content, Mensagem: ['Lance incluído no leilão', 'Zulmira Plantada'] } },
    { ...plain, Conteudo: { ...content, titular: 'Zulmira Plantada' } },
    { ...plain, Conteudo: { ...content, CodigoLanceLeilao: '91582575436' } },
    { ...plain, CodigoRequisicao: 'Zulmira Plantada' },
    { ...plain, CodigoRequisicao: '1d2c0000-0000-4000-8000-091582575436' },
    { ...plain, Origem: '/Zulmira/Plantada' },
    { ...plain, Erros: [{ Mensagem: 'Zulmira Plantada' }] },
    { ...plain, HasError: 'Zulmira Plantada' },
    { ...plain, 'Zulmira Plantada': null },
    { ...plain, toString: 'Zulmira Plantada' },
  ];
  for (const other of others) assert.equal(isHarmless(JSON.stringify(other)), false, JSON.stringify(other));
  // The second of two equal keys counts for whoever reads; the bytes would hold both.
  const twice = written.replace('{"CodigoRequisicao"', '{"CodigoRequisicao":"Zulmira Plantada","CodigoRequisicao"');
  assert.equal(isHarmless(twice), false);
  for (const body of ['Zulmira Plantada', '"Zulmira Plantada"', '[]', 'null', ''])
    assert.equal(isHarmless(body), false);
});

test('an answer of a form that is known already is read as the first one was, whatever stands in place of its codes', () => {
  const fresh = () => {
    const read = readOutcomeTable(outcomesFile);
    assert.ok(read.kind === 'read');
    return read.table;
  };
  const [call, bid] = ['0a5f8f1e-1111-4a0e-bb2c-0d9b3c1c7a01', '7c1d2b3a-2222-4b1f-8a5e-1f2e3d4c5b6a'];
  const origin = '/contrato/oferta-leilao/incluir-lance';
  const content = { CodigoLanceLeilao: bid, Mensagem: 'Lance incluído no leilão' };
  const forms = [
    { CodigoRequisicao: call, Origem: origin, Conteudo: content, HasError: false, Erros: [] },
    { Conteudo: content, CodigoRequisicao: call },
    { CodigoRequisicao: bid, Conteudo: content },
  ];
  const replaced = [
    ...['1d2c0000-0000-4000-8000-091582575436', 'Zulmira Plantada', '', '91582575436', call.toUpperCase(), bid],
    ...[
      '00000000-0000-0000-0000-000000000000',
      `${call}"`,
      `${call}\\`,
      call.replace('a', 'ã'),
      call.slice(1),
      `${call}1`,
    ],
  ];
  const warm = fresh();
  const seen = new Set<string>();
  for (const form of forms) {
    const text = JSON.stringify(form);
    assert.equal(readBidAnswer(warm, 200, text).outcome.kind, 'accepted');
    const others = [
      text,
      text.replaceAll(call, bid),
      text.replaceAll(bid, call),
      text.replace('leilão', 'leilão de Zulmira'),
    ];
    for (const code of replaced)
      others.push(text.replace(call, code), text.replaceAll(bid, code), text.replace(bid, code));
    others.push(
      `${text} `,
      ` ${text}`,
      text.slice(0, -1),
      text.replace('false', 'true'),
      text.replace('[]', '["x"]'),
      `${text}${text}`,
    );
    for (const other of others) {
      for (const status of [200, 201, 409, 503]) {
        const again = readBidAnswer(warm, status, other);
        assert.deepEqual(again, readBidAnswer(fresh(), status, other), `${status} ${other}`);
        seen.add(again.isHarmless ? again.outcome.kind : 'other');
      }
    }
  }
  assert.ok(seen.has('accepted') && seen.has('other'));
});
