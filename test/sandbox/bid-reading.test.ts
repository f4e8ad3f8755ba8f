/** How the sandbox reads a bid, with none of the client's own reading in it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readArrivedBid } from '../../src/sandbox/bid-reading.ts';

const address = { contato: 'https://partner.example/offers', tipo: 0 };
const body = {
  ...{ numeroSolicitacao: 700, dataHoraValidadeLance: '2026-11-28T10:30:00', contatos: [address] },
  ...{ valorLiberado: 2500.5, numeroParcelas: 24, valorTaxaMensal: 4.97 },
};
const read = (changes: object) => readArrivedBid(JSON.stringify({ ...body, ...changes }));

test('sandbox reads a bid to the digit', () => {
  const text = JSON.stringify(body).replace('700', '9007199254740993123');
  assert.deepEqual(readArrivedBid(text), {
    kind: 'bid',
    bid: {
      ...{ requestId: '9007199254740993123', validUntil: Date.UTC(2026, 10, 28, 13, 30), amountCents: 250_050 },
      ...{ installments: 24, rateHundredths: 497 },
    },
  });
  assert.equal(read({ contatos: [address, { contato: '5511999990000?text=Quero%20isto', tipo: 1 }] }).kind, 'bid');
});

const refusals: Readonly<Record<string, readonly object[]>> = {
  'rate of 0.01': [{ valorTaxaMensal: 0.01 }],
  'rate of 4.98': [{ valorTaxaMensal: 4.98 }],
  'rate between two hundredths': [{ valorTaxaMensal: 3.005 }],
  'no address': [{ contatos: [] }, { contatos: [{ contato: '5511999990000?text=a', tipo: 1 }] }],
  'kind of contact': [{ contatos: [address, { contato: 'x', tipo: 4 }] }],
  'form of a contact': [
    { contatos: [{ contato: 'partner.example', tipo: 0 }] },
    { contatos: [address, { contato: '5511999990000', tipo: 1 }] },
    { contatos: [address, { contato: 'call me', tipo: 2 }] },
    { contatos: [address, { contato: 'nobody', tipo: 3 }] },
  ],
  'type of a field': [{ numeroSolicitacao: '700' }, { numeroParcelas: '24' }, { dataHoraValidadeLance: 'soon' }],
  'no amount': [{ valorLiberado: 0 }, { valorLiberado: null }],
  'no instalments': [{ numeroParcelas: 0 }, { numeroParcelas: 1.5 }],
};

for (const [name, changes] of Object.entries(refusals)) {
  test(`sandbox refuses a bid: ${name}`, () => {
    for (const change of changes) {
      const result = read(change);
      assert.ok(result.kind === 'refused' && result.problems.length === 1, JSON.stringify([change, result]));
    }
  });
}
