/** Each rule of the contract for worker credit withholds what breaks it, alone, and lets through what keeps it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { employerFormed } from '../../../src/wire/checks/breach.ts';
import {
  type ContractFacts,
  competenceOf,
  competenceTurn,
  type EndorsementFacts,
  type MarginFact,
  marginValidityMs,
  prepareContract,
  prepareEndorsement,
  prepareRenegotiation,
  type RenegotiationFacts,
  renegotiationMaxRateHundredths,
} from '../../../src/wire/checks/worker-credit.ts';
import type { JsonObject } from '../../../src/wire/json.ts';
import type { ContractRequest, RenegotiationRequest } from '../../../src/wire/worker-credit.ts';

const now = Date.UTC(2026, 10, 10, 15);
const margin: MarginFact = { receivedAt: now - marginValidityMs, availableMarginCents: 20_000 };

const account = {
  ...{ accountType: 2, branch: '0001', branchDigit: '9', account: '123', accountDigit: '4', bankNumber: '001' },
};
const contract: ContractRequest = {
  ...{
    requestId: '700',
    amountCents: 250_000,
    installments: 24,
    rateHundredths: 300,
    agentCpf: '52998224725',
    account,
  },
};
const contractFacts: ContractFacts = {
  now,
  bidRateHundredths: 300,
  acceptedByWorker: true,
  margin,
  installmentCents: 20_000,
};

type Preparation = { kind: 'prepared' } | { kind: 'withheld'; breaches: readonly { rule: string }[] };
const rulesOf = (result: Preparation) => (result.kind === 'withheld' ? result.breaches.map(({ rule }) => rule) : []);

type ContractCase = { request?: Partial<ContractRequest>; facts?: Partial<ContractFacts> };
const contractCases: Readonly<Record<string, readonly ContractCase[]>> = {
  'one-value': [{ request: { amountCents: null } }, { request: { amountCents: 250_000, installmentCents: 15_000 } }],
  'amount-positive': [{ request: { amountCents: 0 } }, { request: { amountCents: null, installmentCents: -1 } }],
  'rate-above-minimum': [{ request: { rateHundredths: 1 } }, { request: { rateHundredths: 2.5 } }],
  'rate-below-maximum': [{ request: { rateHundredths: 498 }, facts: { bidRateHundredths: 600 } }],
  'rate-within-bid': [{ facts: { bidRateHundredths: 299 } }],
  'installments-positive': [{ request: { installments: 0 } }],
  'policy-with-insurance': [
    { request: { insuranceCents: 1_000 } },
    { request: { insuranceCents: 1, policyNumber: ' ' } },
  ],
  'cpf-valid': [{ request: { agentCpf: '52998224726' } }],
  'account-formed': [
    { request: { account: { ...account, branchDigit: '99999' } } },
    { request: { account: { ...account, account: 'abc' } } },
  ],
  'account-complete': [
    { request: { account: { ...account, branch: '' } } },
    { request: { account: { ...account, branchDigit: '' } } },
    { request: { account: { ...account, account: ' ' } } },
    { request: { account: { ...account, accountDigit: '' } } },
    { request: { account: { ...account, bankNumber: '' } } },
  ],
  'account-type': [{ request: { account: { ...account, accountType: 3 } } }],
  'bank-number': [
    { request: { account: { ...account, bankNumber: 'Itaú' } } },
    { request: { account: { ...account, bankNumber: '3411' } } },
    { request: { account: { ...account, bankNumber: '000' } } },
  ],
  'worker-accepted': [{ facts: { acceptedByWorker: false } }],
  'link-detail-queried': [
    { facts: { margin: null } },
    { facts: { margin: { receivedAt: now, availableMarginCents: null } } },
  ],
  'installment-of-amount': [{ request: { amountCents: 2_000 }, facts: { installmentCents: 99 } }],
  'amount-least': [
    { request: { amountCents: 1_999 } },
    { request: { amountCents: 1 }, facts: { installmentCents: 0 } },
    { request: { amountCents: null, installmentCents: 99 } },
  ],
  'link-eligible': [
    { facts: { margin: { ...margin, eligible: false } } },
    { facts: { margin: { ...margin, eligible: null } } },
    { facts: { margin: { ...margin, eligible: false, ineligibilityCode: 3, terminationDate: null } } },
  ],
  'link-not-terminated': [
    { facts: { margin: { ...margin, eligible: true, terminationDate: '2026-10-01' } } },
    { facts: { margin: { ...margin, eligible: true, terminationDate: null, unread: ['terminationDate'] } } },
  ],
  'link-of-worker': [{ facts: { workerKey: 'w-1', margin: { ...margin, workerKey: 'w-2' } } }],
  'margin-fresh': [{ facts: { margin: { ...margin, receivedAt: now - 86_400_001 } } }],
  'margin-fits': [
    { facts: { installmentCents: 20_001 } },
    { request: { amountCents: null, installmentCents: 20_001 }, facts: { installmentCents: 1 } },
  ],
};

for (const [rule, cases] of Object.entries(contractCases)) {
  test(`contract withheld by ${rule}`, () => {
    for (const { request, facts } of cases) {
      const result = prepareContract('op', { ...contract, ...request }, { ...contractFacts, ...facts });
      assert.deepEqual(rulesOf(result), [rule]);
    }
  });
}

test('a contract is withheld in words that name what the detail of the link leaves in doubt', () => {
  const problemsOf = (change: Partial<MarginFact>) => {
    const result = prepareContract('op', contract, { ...contractFacts, margin: { ...margin, ...change } });
    return result.kind === 'withheld' ? result.breaches.map(({ problem }) => problem) : [];
  };
  const again = 'ask for it again';
  assert.deepEqual(problemsOf({ eligible: null, ineligibilityCode: 3, contradicted: ['eligible'] }), [
    `the detail of the link calls it eligible and gives a reason why it is not (motivoInelegibilidade 3); ${again}`,
  ]);
  assert.deepEqual(problemsOf({ eligible: null, unread: ['eligible'] }), [
    `the detail of the link says whether it is eligible (elegivel) in a form that cannot be read; ${again}`,
  ]);
  assert.deepEqual(problemsOf({ terminationDate: null, unread: ['terminationDate'] }), [
    `the detail of the link names an end (dataDesligamento) that cannot be read; ${again}`,
  ]);
  assert.deepEqual(problemsOf({ availableMarginCents: null, unread: ['availableMarginCents'] }), [
    `the detail of the link names a margin (valorMargemDisponivel) that cannot be read; ${again}`,
  ]);
});

test('a contract on all its bounds is prepared, with the id of its request as a text', () => {
  const insured = { ...contract, insuranceCents: 1_050, policyNumber: '9', rateHundredths: 497 };
  const result = prepareContract('op', insured, { ...contractFacts, bidRateHundredths: 497 });
  assert.ok(result.kind === 'prepared');
  const { path, body, idempotencyKey } = result.prepared;
  assert.equal(path, '/contrato/oferta-leilao/gerar-contrato');
  assert.match(body, /"numeroSolicitacao":"700"/);
  assert.match(body, /"valorSeguro":"10.50"/);
  assert.equal(idempotencyKey, null);
});

test('all breaches are told at once', () => {
  const result = prepareContract(
    'op',
    { ...contract, installments: 0, agentCpf: '1' },
    { ...contractFacts, margin: null },
  );
  assert.deepEqual(rulesOf(result), ['installments-positive', 'cpf-valid', 'link-detail-queried']);
});

const endorsementFacts: EndorsementFacts = {
  ...{ now, generatedAt: now - 3_600_000, noteReceived: true, signedAt: now - 60_000, cutoffDay: 20, doubts: [] },
  ...{ rateLimitHundredths: 250, noteRateHundredths: 250 },
  signer: { isWorker: (cpf) => cpf === '05299822421', agentCpf: '39053344705' },
};
const content = { codigoProposta: 'P-1', assinatura: 'x' };
const endorsementCases: Readonly<
  Record<string, readonly { content?: JsonObject; facts?: Partial<EndorsementFacts> }[]>
> = {
  'signature-sent': [{ content: {} }],
  'note-accepted': [{ facts: { doubts: ['installmentCents'] } }],
  'rate-within-bid': [{ facts: { noteRateHundredths: 251 } }],
  'note-named': [
    ...['', '  ', null, {}, []].map((numeroContrato) => ({ content: { ...content, numeroContrato } })),
    { content: { ...content, dados: [{ NumeroCCB: '' }] } },
    { content: { ...content, CodigoProposta: null } },
  ],
  'signer-is-worker': [
    { content: { ...content, cpf: '52998224725' } },
    { content: { ...content, cpf: '529.982.247-25' } },
    { content: { ...content, CpfTrabalhador: 52998224725 } },
    { content: { ...content, cpf: '52998224726' } },
    { content: { ...content, assinante: { documento: '52998224725' } } },
    { content: { ...content, cpf: '39053344705' } },
    { content: { ...content, cpfAgenteCredito: '52998224725' } },
    { content: { ...content, cpf: 'cpf:52998224725' } },
    { content: { ...content, cpf: '５２９９８２２４７２５' } },
    { content: { ...content, assinante: { documento: '529\u200b98224725' } } },
  ],
  'note-received': [{ facts: { noteReceived: false } }, { facts: { generatedAt: null } }],
  signed: [{ facts: { signedAt: null } }],
  'signed-after-note': [
    { facts: { signedAt: now - 3_660_001 } },
    { facts: { signedAt: Date.UTC(2025, 10, 10, 15) } },
    { facts: { signedAt: Date.UTC(2026, 9, 20, 15) } },
  ],
  'signature-time': [{ facts: { signedAt: now + 1 } }, { facts: { signedAt: now + 40 * 86_400_000 } }],
  'same-competence': [
    { facts: { generatedAt: Date.UTC(2026, 9, 20, 15) } },
    { facts: { now: Date.UTC(2026, 10, 21, 15) } },
  ],
};

for (const [rule, cases] of Object.entries(endorsementCases)) {
  test(`endorsement withheld by ${rule}`, () => {
    for (const one of cases) {
      const facts = { ...endorsementFacts, ...one.facts };
      assert.deepEqual(rulesOf(prepareEndorsement('op', { content: one.content ?? content }, facts)), [rule]);
    }
  });
}

test('an endorsement goes whole, within its competence', () => {
  const facts = { ...endorsementFacts, generatedAt: Date.UTC(2026, 9, 21, 15) };
  const result = prepareEndorsement('op', { content }, facts);
  assert.ok(result.kind === 'prepared');
  assert.equal(result.prepared.body, JSON.stringify(content));
});

test('a signature names no other CPF, wherever it stands and however it is written', () => {
  const contents: object[] = [
    { obs: 'assinado por 191.446.729-93' },
    { obs: 'assinado por 19144672993.' },
    { obs: '191 446 729 93' },
    { obs: 'x'.repeat(10_000).concat(' 191.446.729-93') },
    { obs: '１９１４４６７２９９３' },
    { x: 19144672993 },
    { list: [1, [19144672993]] },
    { '191.446.729-93': 1 },
    { cpf_19144672993: 'x' },
    { signatarios: { '191.446.729-93': { ok: true } } },
    { j: '{"191.446.729-93":1}' },
    { j: JSON.stringify(JSON.stringify({ por: 19144672993 })) },
    { j: '{"por":"\\u0031914467\\u00329","z":"\\u003191.446.729-93"}' },
    { j: JSON.stringify({ cpf: 1234567890 }) },
    { obs: '191.446.729-93, e 052.998.224-21' },
    { agente: 'x', obs: '39053344705' },
    { cpfs: [1914467299] },
    { signatarios: [[{ quem: '12345678-90.8' }, '191-446-729/93']] },
  ];
  for (const more of contents) {
    const content = { numeroContrato: '77', ...more } as never;
    const rules = rulesOf(prepareEndorsement('op', { content }, endorsementFacts));
    assert.deepEqual(rules, ['signer-is-worker'], JSON.stringify(more));
  }
});

test('digits that are no CPF of a person, or belong to one of the order, are let through', () => {
  const facts = { ...endorsementFacts, ownCodes: ['19144672993', 'P-60462914887'] };
  const contents: object[] = [
    { obs: 'por 052.998.224-21', '052.998.224-21': { ok: 5299822421 }, j: '{"por":"05299822421"}' },
    { numeroContrato: '19144672993', codigoProposta: 'P-60462914887' },
    { telefoneCelular: '19144672993', numeroInscricaoEmpregador: '19144672993', matricula: '19144672993' },
    { quando: '2026-11-26 03:24:07.123', id: '1914467299312', valor: 0.19144672993, vetor: [0.19144672993, -1.5] },
    { cpfAgenteCredito: 'do agente: 390.533.447-05' },
    { obs: '191.446.729-92', x: 19144672992 },
    // An address of a machine, and a telephone.
    { ipAssinatura: '187.122.110.28', contato: '19144672993', whatsapp: '19144672993' },
  ];
  for (const more of contents) {
    const rules = rulesOf(prepareEndorsement('op', { content: more as never }, facts));
    assert.deepEqual(rules, [], JSON.stringify(more));
  }
});

test('a signature is looked through in the time that it takes to read', () => {
  const timeOf = (content: object) => {
    const begun = performance.now();
    prepareEndorsement('op', { content: content as never }, endorsementFacts);
    return performance.now() - begun;
  };
  const shapes: ((size: number) => object)[] = [
    (size) => ({ obs: '1.'.repeat(size) }),
    (size) => ({ obs: '1'.repeat(size) }),
    (size) => ({ obs: '['.repeat(size) }),
    (size) => ({ list: Array.from({ length: size }, () => '191.446.729-92') }),
    (size) => ({ j: JSON.stringify(Array.from({ length: size }, () => '[1]')) }),
    (size) => ({ ['k'.repeat(size)]: Array.from({ length: size }, () => 0) }),
  ];
  for (const shape of shapes) {
    const [small, large] = [20_000, 160_000].map((size) => Math.min(...[1, 2, 3].map(() => timeOf(shape(size)))));
    assert.ok(large! < 40 * small! + 200, `${small} ms and ${large} ms: ${JSON.stringify(shape(3))}`);
  }
});

test('a signature may name the worker, the agent of the order, and numbers that are no CPF', () => {
  for (const more of [
    { cpf: '05299822421', cpfAgenteCredito: '39053344705' },
    { cpf: 5299822421, documento: 'RG 12.345.678', biometria: { hash: '52998224725' } },
    { trabalhador: { cpf: '052.998.224-21', codigo: '12345678901' } },
  ]) {
    assert.deepEqual(rulesOf(prepareEndorsement('op', { content: { ...content, ...more } }, endorsementFacts)), []);
  }
  const unknown = { ...endorsementFacts, rateLimitHundredths: null, noteRateHundredths: null };
  assert.deepEqual(rulesOf(prepareEndorsement('op', { content }, unknown)), []);
});

test('a competence runs from the day after the cut-off to the cut-off, in São Paulo', () => {
  assert.equal(competenceOf(Date.UTC(2026, 10, 21, 2, 59), 20), '2026-11');
  assert.equal(competenceOf(Date.UTC(2026, 10, 21, 3), 20), '2026-12');
  assert.equal(competenceOf(Date.UTC(2026, 11, 31, 12), 20), '2027-01');
  assert.equal(competenceOf(Date.UTC(2026, 11, 31, 12), 31), '2026-12');
});

test('a competence ends at the first midnight that counts for another one', () => {
  const midnight = (year: number, month: number, date: number) => Date.UTC(year, month - 1, date, 3);
  for (const [at, cutoffDay, end] of [
    [Date.UTC(2026, 10, 21, 2, 59), 20, midnight(2026, 11, 21)],
    [Date.UTC(2026, 10, 21, 3), 20, midnight(2026, 12, 21)],
    [Date.UTC(2026, 11, 31, 12), 20, midnight(2027, 1, 21)],
    [Date.UTC(2026, 11, 31, 12), 31, midnight(2027, 1, 1)],
    [Date.UTC(2027, 0, 31, 12), 30, midnight(2027, 3, 1)],
  ] as const) {
    assert.equal(competenceTurn(at, cutoffDay), end, new Date(at).toISOString());
    assert.notEqual(competenceOf(end, cutoffDay), competenceOf(at, cutoffDay));
    assert.equal(competenceOf(end - 1, cutoffDay), competenceOf(at, cutoffDay));
  }
});

const renegotiation: RenegotiationRequest = {
  ...{ closedContract: '1', cpf: '52998224725', registration: '7', employerIdType: 1, employerId: '12ABC34501DE35' },
  ...{ agentCpf: '39053344705', contractType: '12', installments: 36, rateHundredths: renegotiationMaxRateHundredths },
};
const original = {
  ...{ rateHundredths: 498, cpf: '52998224725', closedByTermination: true, openInstallments: 5, pendingCharges: false },
};
const link = { valid: true, margin: { receivedAt: now, availableMarginCents: 20_000 } };
const renegotiationFacts: RenegotiationFacts = { now, original, link, installmentCents: 20_000 };

type RenegotiationCase = { request?: Partial<RenegotiationRequest>; facts?: Partial<RenegotiationFacts> };
const renegotiationCases: Readonly<Record<string, readonly RenegotiationCase[]>> = {
  'rate-above-minimum': [{ request: { rateHundredths: 1 } }],
  'rate-at-most-maximum': [
    { request: { rateHundredths: 499 }, facts: { original: { ...original, rateHundredths: 600 } } },
  ],
  'rate-in-unit': [
    { request: { rateHundredths: 2 }, facts: { original: { ...original, rateHundredths: 251 } } },
    { request: { rateHundredths: 49 } },
  ],
  'rate-within-original': [{ facts: { original: { ...original, rateHundredths: 497 } } }],
  'installments-positive': [{ request: { installments: 1.5 } }],
  'cpf-valid': [
    { request: { agentCpf: '00000000000' } },
    { request: { cpf: '12' }, facts: { original: { ...original, cpf: null } } },
  ],
  'contract-number': ['CCB 7', ' 7', '7 ', '529.982.247-25', 'Maria de Souza', renegotiation.cpf].map(
    (closedContract) => ({ request: { closedContract } }),
  ),
  'employer-formed': [
    { request: { employerId: 'abc' } },
    { request: { employerId: '11.222.333/0001-81' } },
    { request: { employerId: '112223330001810' } },
    { request: { employerIdType: 2, employerId: '11222333000181' } },
    { request: { employerIdType: 2, employerId: '52998224724' } },
  ],
  'registration-formed': [{ request: { registration: '1\u00002' } }, { request: { registration: '\ud800' } }],
  'field-given': [
    { request: { closedContract: '' } },
    { request: { registration: ' ' } },
    { request: { employerId: '' } },
    { request: { contractType: '' } },
  ],
  'employer-type': [{ request: { employerIdType: 3 } }],
  'contract-of-worker': [{ facts: { original: { ...original, cpf: '39053344705' } } }],
  'closed-by-termination': [{ facts: { original: { ...original, closedByTermination: false } } }],
  'open-installments': [{ facts: { original: { ...original, openInstallments: 0 } } }],
  'no-pending-charges': [{ facts: { original: { ...original, pendingCharges: true } } }],
  'link-valid': [{ facts: { link: { ...link, valid: false } } }],
  'link-eligible': [{ facts: { link: { ...link, margin: { ...margin, eligible: false } } } }],
  'link-not-terminated': [{ facts: { link: { ...link, margin: { ...margin, terminationDate: '2026-10-01' } } } }],
  'link-of-worker': [{ facts: { workerKey: 'w-1', link: { ...link, margin: { ...margin, workerKey: 'w-2' } } } }],
  'link-detail-queried': [{ facts: { link: { ...link, margin: null } } }],
  'margin-fits': [{ facts: { installmentCents: 20_001 } }],
  'amount-least': [{ facts: { installmentCents: 0 } }, { facts: { installmentCents: 99 } }],
};

for (const [rule, cases] of Object.entries(renegotiationCases)) {
  test(`renegotiation withheld by ${rule}`, () => {
    for (const { request, facts } of cases) {
      const result = prepareRenegotiation('op', { ...renegotiation, ...request }, { ...renegotiationFacts, ...facts });
      assert.deepEqual(rulesOf(result), [rule]);
    }
  });
}

test('a renegotiation may cost 4.98, and what only the service knows is left to it', () => {
  const unknown = { ...original, cpf: null, closedByTermination: null, openInstallments: null, pendingCharges: null };
  const facts = { ...renegotiationFacts, original: unknown, link: { ...link, valid: null }, installmentCents: null };
  const result = prepareRenegotiation('op', renegotiation, facts);
  assert.ok(result.kind === 'prepared');
  assert.match(result.prepared.body, /"valorTaxaMensal":4.98/);
});

test('an employer number that is too short is asked for with its leading zeros', () => {
  for (const [employerId, idType] of [
    ['345678', 1],
    ['345678', 2],
  ] as const) {
    assert.match(employerFormed('employerId', employerId, idType)!.problem, /with all its leading zeros/);
  }
});
