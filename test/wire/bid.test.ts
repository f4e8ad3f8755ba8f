/** The bytes of a bid, the contacts, and tables that are refused with every problem named. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import mappingFile from '../../config/request-mapping.json' with { type: 'json' };
import {
  type Contact,
  type ContactKind,
  checkContacts,
  decodeBid,
  encodeBid,
  encodeBidAccepted,
} from '../../src/wire/bid.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readOutcomeTable } from '../../src/wire/outcomes.ts';

const address: Contact = { kind: 'url', value: 'https://parceiro.example/oferta' };

test('every bid that can be made is read back as it was', () => {
  const offers = fc.record({
    rateHundredths: fc.integer({ min: 2, max: 497 }),
    amountCents: fc.integer({ min: 1, max: 100_000_000 }),
    installments: fc.integer({ min: 1, max: 96 }),
    validUntil: fc
      .integer({ min: Date.UTC(2026, 0, 1) / 1_000, max: Date.UTC(2030, 0, 1) / 1_000 })
      .map((s) => s * 1_000),
  });
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 19n }), offers, (id, offer) => {
      const requestId = String(id);
      const text = encodeBid({ requestId, offer, contacts: [address] });
      assert.deepEqual(decodeBid(text), {
        kind: 'bid',
        bid: { requestId, ...offer, contacts: [address], offGrid: false },
      });
    }),
  );
});

test('contact formats of all four types', () => {
  const good: [ContactKind, string][] = [
    ['url', 'https://parceiro.example/a?b=c'],
    ['whatsapp', '5511999990000?text=Ol%C3%A1%20mundo'],
    ['telephone', '(11) 4000-0000'],
    ['email', 'a@b.example'],
  ];
  const bad: [ContactKind, string][] = [
    ['url', 'parceiro.example'],
    ['url', 'ftp://parceiro.example'],
    ['url', 'https://parceiro example'],
    ['whatsapp', '5511999990000'],
    ['whatsapp', '5511999990000?text='],
    ['whatsapp', '5511999990000?text=Olá mundo'],
    ['whatsapp', '5511999990000?text=%ff'],
    ['telephone', '123'],
    ['telephone', 'telefone'],
    ['email', 'a@b'],
  ];
  for (const [kind, value] of good) assert.deepEqual(checkContacts([address, { kind, value }]), [], value);
  for (const [kind, value] of bad) assert.equal(checkContacts([address, { kind, value }]).length, 1, value);
  assert.match(checkContacts([]).join(), /at least one/);
});

test('bids that the service would refuse are refused with a reason', () => {
  const good = JSON.parse(
    encodeBid({
      requestId: '1',
      offer: { rateHundredths: 179, amountCents: 100, installments: 12, validUntil: 1_795_872_600_000 },
      contacts: [address],
    }),
  );
  const cases: [object, RegExp][] = [
    [{ valorTaxaMensal: 4.98 }, /valorTaxaMensal .*less than 4\.98/],
    [{ valorTaxaMensal: 0.01 }, /valorTaxaMensal is not greater than 0\.01/],
    [{ contatos: [] }, /at least one/],
    [{ contatos: [{ contato: 'x', tipo: 9 }] }, /none of 0, 1, 2, 3/],
    [{ dataHoraValidadeLance: 'amanhã' }, /dataHoraValidadeLance/],
    [{ numeroParcelas: 0 }, /numeroParcelas/],
    [{ numeroSolicitacao: undefined }, /numeroSolicitacao is missing/],
  ];
  for (const [change, expected] of cases) {
    const refused = decodeBid(JSON.stringify({ ...good, ...change }));
    assert.equal(refused.kind, 'refused');
    assert.match((refused as { problems: readonly string[] }).problems.join(), expected);
  }
});

test('tables that make no sense are refused, each problem with its place', () => {
  const table = readOutcomeTable({
    messageKeys: [],
    rows: [{ outcome: 'perhaps' }, { outcome: 'duplicate', statuses: [500] }],
  });
  assert.equal(table.kind, 'refused');
  const text = (table as { problems: readonly string[] }).problems.join('\n');
  for (const place of ['/messageKeys', '/rows/0/outcome', '/rows/1/statuses']) assert.ok(text.includes(place), text);
  const mapping = readRequestMapping({ ...mappingFile, facts: { ...mappingFile.facts, cpf: [], colour: ['cor'] } });
  assert.equal(mapping.kind, 'refused');
  const problems = (mapping as { problems: readonly string[] }).problems.join('\n');
  assert.match(problems, /\/facts\/cpf/);
  assert.match(problems, /colour/);
});

test('an accepted bid is answered with all its fields', () => {
  assert.deepEqual(JSON.parse(encodeBidAccepted({ requestCode: 'code', message: 'ok' })), {
    CodigoRequisicao: 'code',
    Origem: '/contrato/oferta-leilao/incluir-lance',
    Conteudo: { CodigoLanceLeilao: 'code', Mensagem: 'ok' },
  });
});
