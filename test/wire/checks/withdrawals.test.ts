/** Each rule of the contract for withdrawal-backed loans withholds what breaks it, alone, and lets through what keeps it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  accountUpdateStates,
  prepareAccountUpdate,
  prepareFinalisation,
  prepareInclusion,
  prepareInstallments,
  prepareProposalQuery,
  prepareSigners,
  prepareSimulation,
  prepareSplits,
} from '../../../src/wire/checks/withdrawals.ts';
import { type JsonObject, numberOfDigits } from '../../../src/wire/json.ts';
import { idempotencyKeyOf } from '../../../src/wire/operations.ts';

const now = Date.UTC(2026, 10, 10, 15);
const cpf = '52998224725';
const birthDate = '1990-05-17';
const dto = { proposalCode: 'P-1' };
const extra = { conta: '1' };
const signer = { document: cpf, signedAt: now, ip: '203.0.113.7' };
const signing = { now, includedAt: now - 60_000, isOfOrder: (document: string) => document === cpf };
const account = {
  holderCpf: cpf,
  accountType: 1,
  branch: '0001',
  account: '1234',
  accountDigit: '5',
  bankNumber: '341',
};
const inclusion = { cpf, period: 3, birthDay: birthDate, account };
const simulated = new Map([
  [1, { releasedCents: 100_000, rateHundredths: 180 }],
  [2, { releasedCents: 200_000, rateHundredths: null }],
  [3, { releasedCents: 300_000, rateHundredths: 180 }],
]);
const included = { now, birthDate, simulatedCpf: cpf, simulated, insuranceLimitPercent: 10 };
/** A fee of R$ 10.00, and R$ 4,000.00 of the withdrawals pledged. */
const withCosts = {
  ...included,
  simulated: new Map([[3, { releasedCents: 300_000, rateHundredths: 180, feeCents: 1_000, transferCents: 400_000 }]]),
};
const withoutFee = {
  ...included,
  simulated: new Map([[3, { releasedCents: 300_000, rateHundredths: 180, feeCents: 0 }]]),
};
const slip = '00190.00009 01234.567890 12345.678901 2 34567890123456';
/** As the central bank's manual of the QR code shows one: its last four are the CRC of all before. */
const pixCode =
  '00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D';
const paid = { pixKey: { key: '+5511987654321' } };
const toAccount = { bankNumber: '341', branch: '1', account: '2' };
const unformed: object[] = [
  ...['abc', '23790', '1'.repeat(46), '1'.repeat(49), `${'1'.repeat(46)}x`].map((paymentLine) => ({ paymentLine })),
  ...['xx', '000201', pixCode.replace('Fulano', 'Beltrano'), `${pixCode} `, pixCode.slice(6)].map((code) => ({
    emv: { code },
  })),
  ...['123', '52998224726', 'Maria'].map((document) => ({ ...paid, document })),
  { paymentLine: slip, assignorDocument: '123' },
];
const split = { ...paid, amountCents: 1 };
/** Included the day before. */
const splitting = { now, includedAt: now - 86_400_000 };
const unsplit = { ...splitting, loanCents: 1_000_000, splitCents: 0 };
const paidOn = (day: string) => ({ ...split, paidOn: day });
const unborn = { now, birthDate: null };
const ready = { signersRegistered: true, unsigned: 0, enabled: true };

const transfersOn = (days: readonly string[]) => days.map((onDay) => ({ onDay, amountCents: 50_000 }));

type Result = { kind: 'prepared' } | { kind: 'withheld'; breaches: readonly { rule: string }[] };

/** With whom the account belongs to. */
const held = (fields: JsonObject): JsonObject => ({ ...fields, documentoFederalPagamento: cpf });

const cases: Readonly<Record<string, () => readonly Result[]>> = {
  'simulation balance-or-worker': () => [prepareSimulation('op', { amountCents: 10_000 }, unborn)],
  'simulation cpf-valid': () => [prepareSimulation('op', { cpf: '1' }, unborn)],
  'simulation birth-month': () => [prepareSimulation('op', { cpf, birthDay: '1990-06-17' }, { now, birthDate })],
  'simulation birth-date-adult': () =>
    ['1800-01-01', '1906-11-09', '2008-11-11', '2027-01-01'].map((birthDay) =>
      prepareSimulation('op', { cpf, birthDay }, unborn),
    ),
  'inclusion birth-date-adult': () => [
    prepareInclusion('op', { ...inclusion, birthDay: '1800-01-01' }, { ...included, birthDate: null }),
  ],
  'simulation birth-date': () => [prepareSimulation('op', { cpf, birthDay: '1990-05-18' }, { now, birthDate })],
  'simulation not-negative': () => [prepareSimulation('op', { balanceCents: -1 }, unborn)],
  'simulation rate-in-bounds': () =>
    [-1, 0, 1_001].map((rateHundredths) => prepareSimulation('op', { cpf, rateHundredths }, unborn)),
  'simulation one-fee': () => [prepareSimulation('op', { cpf, feeCents: 0, feePercent: 1 }, unborn)],
  'inclusion rate-in-bounds': () =>
    [0, 9_000].map((rateHundredths) => prepareInclusion('op', { ...inclusion, rateHundredths }, included)),
  'inclusion one-fee': () => [prepareInclusion('op', { ...inclusion, feeCents: 1, feePercent: 1 }, included)],
  'inclusion account-complete': () => [
    ...(['accountType', 'branch', 'account', 'accountDigit', 'bankNumber'] as const).map((name) =>
      prepareInclusion('op', { ...inclusion, account: { ...account, [name]: null } }, included),
    ),
    prepareInclusion('op', { ...inclusion, account: { ...account, branch: ' ' } }, included),
  ],
  'inclusion account-formed': () => [
    prepareInclusion('op', { ...inclusion, account: { ...account, branch: 'Centro' } }, included),
    prepareInclusion('op', { ...inclusion, account: { ...account, branchDigit: '99999' } }, included),
    ...['12 34', 'abc', '1234x'].map((one) =>
      prepareInclusion('op', { ...inclusion, account: { ...account, account: one } }, included),
    ),
    prepareInclusion('op', { ...inclusion, account: { ...account, accountDigit: '123' } }, included),
  ],
  'inclusion rate-simulated': () =>
    [1, 2, 17, 179, 181, 498].map((rateHundredths) =>
      prepareInclusion('op', { ...inclusion, rateHundredths }, included),
    ),
  'inclusion fee-of-loan': () => [
    prepareInclusion('op', { ...inclusion, feeCents: 300_000 }, included),
    prepareInclusion('op', { ...inclusion, amountCents: 100_000, feeCents: 500_000 }, included),
    prepareInclusion('op', { ...inclusion, feePercent: 100 }, included),
  ],
  'inclusion fee-simulated': () => [
    ...[1, 100, 1_001, 250_000].map((feeCents) => prepareInclusion('op', { ...inclusion, feeCents }, withCosts)),
    ...[0.03, 0.4, 50].map((feePercent) => prepareInclusion('op', { ...inclusion, feePercent }, withCosts)),
    prepareInclusion('op', { ...inclusion, feePercent: 50 }, withoutFee),
    prepareInclusion('op', { ...inclusion, amountCents: 2_000, feePercent: 50 }, withoutFee),
  ],
  'inclusion not-negative': () => [prepareInclusion('op', { ...inclusion, feePercent: -1 }, included)],
  'inclusion transfers-simulated': () => [
    prepareInclusion('op', { ...inclusion, transfers: [{ onDay: '2027-06-01', amountCents: 400_001 }] }, withCosts),
    prepareInclusion('op', { ...inclusion, transfers: [{ onDay: '2027-06-01', amountCents: 3_000_001 }] }, included),
  ],
  'inclusion amount-simulated': () => [prepareInclusion('op', { ...inclusion, amountCents: 300_001 }, included)],
  'inclusion insurance-of-loan': () => [
    prepareInclusion('op', { ...inclusion, insuranceCents: 30_001 }, included),
    prepareInclusion('op', { ...inclusion, amountCents: 50_000, insuranceCents: 5_001 }, included),
    prepareInclusion('op', { ...inclusion, insuranceCents: -1 }, included),
  ],
  'inclusion field-given': () => [prepareInclusion('op', { ...inclusion, contractType: ' ' }, included)],
  'inclusion partner-document': () => [prepareInclusion('op', { ...inclusion, partnerDocument: 'zzz' }, included)],
  'inclusion split-payee': () => [
    prepareInclusion('op', { ...inclusion, splits: [{ amountCents: 1 }] }, included),
    prepareInclusion('op', { ...inclusion, splits: [{ amountCents: 1, branch: '1', account: '2' }] }, included),
  ],
  'inclusion splits-of-loan': () => [
    prepareInclusion('op', { ...inclusion, splits: [{ ...paid, amountCents: 300_001 }] }, included),
    prepareInclusion('op', { ...inclusion, amountCents: 2_000, splits: [{ ...paid, amountCents: 2_001 }] }, included),
  ],
  'inclusion split-amount': () => [
    prepareInclusion('op', { ...inclusion, splits: [paid] }, included),
    prepareInclusion('op', { cpf, period: 3, splits: [{ ...paid, amountCents: 300_000 }, paid] }, included),
  ],
  'splits split-amount': () =>
    [paid, { emv: { code: pixCode } }, { paymentLine: slip }, { ...paid, amountCents: null }].map((one) =>
      prepareSplits('op', { dto, splits: [split, one] }, unsplit),
    ),
  'splits split-day': () => [
    ...['2020-02-03', '2026-11-08', '2027-11-11', '9999-12-31'].map((day) =>
      prepareSplits('op', { dto, splits: [split, paidOn(day)] }, unsplit),
    ),
    // Of a proposal that was made elsewhere nobody knows since when there could be something to pay.
    prepareSplits('op', { dto, splits: [paidOn('2026-11-09')] }, { ...unsplit, includedAt: null }),
  ],
  'inclusion split-day': () =>
    ['2020-02-03', '2026-11-09', '2027-11-11', '9999-12-31'].map((day) =>
      prepareInclusion('op', { ...inclusion, splits: [paidOn(day)] }, included),
    ),
  'simulation amount-least': () =>
    [-1, 0, 1, 1_999].map((amountCents) => prepareSimulation('op', { cpf, amountCents }, unborn)),
  'simulation transfer-day': () =>
    [['1900-05-01'], ['2026-11-09'], ['2027-05-01', '2027-05-01'], ['2028-05-01', '2027-05-01'], ['9999-05-01']].map(
      (days) => prepareSimulation('op', { cpf, transfers: transfersOn(days) }, unborn),
    ),
  'inclusion transfer-day': () => [
    prepareInclusion('op', { ...inclusion, transfers: transfersOn(['2028-05-01', '2027-05-01']) }, included),
  ],
  'inclusion amount-least': () =>
    [0, 1, 1_999].map((amountCents) => prepareInclusion('op', { ...inclusion, amountCents }, included)),
  'inclusion period-simulated': () => [
    prepareInclusion('op', { ...inclusion, period: 4 }, included),
    prepareInclusion(
      'op',
      { ...inclusion, period: 1 },
      { ...included, simulated: new Map([[2, { releasedCents: null, rateHundredths: null }]]) },
    ),
  ],
  'inclusion cpf-valid': () => [
    prepareInclusion('op', { cpf: '1', period: 3, pix: { key: 'a@b.example' } }, { ...included, simulatedCpf: '1' }),
  ],
  'inclusion birth-month': () => [prepareInclusion('op', { ...inclusion, birthDay: '1990-04-30' }, included)],
  'inclusion birth-date': () => [prepareInclusion('op', { ...inclusion, birthDay: '1991-05-17' }, included)],
  'inclusion holder-is-worker': () => [
    prepareInclusion('op', { ...inclusion, account: { ...account, holderCpf: '39053344705' } }, included),
    prepareInclusion('op', { ...inclusion, account: { ...account, holderCpf: null } }, included),
    ...['39053344705', '11222333000181'].map((key) =>
      prepareInclusion('op', { cpf, period: 1, pix: { key } }, included),
    ),
  ],
  'inclusion simulated-first': () => [
    prepareInclusion('op', inclusion, { ...included, simulatedCpf: null }),
    prepareInclusion('op', inclusion, { ...included, simulatedCpf: '39053344705' }),
  ],
  'inclusion account-type': () => [
    prepareInclusion('op', { ...inclusion, account: { ...account, accountType: 3 } }, included),
  ],
  'inclusion bank-number': () => [
    prepareInclusion('op', { ...inclusion, account: { ...account, bankNumber: 'Itaú' } }, included),
    prepareInclusion('op', { ...inclusion, account: { ...account, bankNumber: '000' } }, included),
  ],
  'inclusion bank-code': () =>
    [0, -1].map((bankCode) =>
      prepareInclusion('op', { ...inclusion, account: { ...account, bankNumber: null, bankCode } }, included),
    ),
  'inclusion period-given': () => [
    prepareInclusion('op', { ...inclusion, period: null }, included),
    prepareInclusion('op', { cpf, birthDay: birthDate, pix: { key: cpf } }, included),
  ],
  'inclusion payee-given': () => [
    prepareInclusion('op', { cpf, period: 3 }, included),
    prepareInclusion('op', { ...inclusion, account: null, splits: [] }, included),
  ],
  'inclusion one-payee': () => [prepareInclusion('op', { ...inclusion, pix: { key: cpf } }, included)],
  'inclusion pix-key': () =>
    [
      'junk',
      '',
      cpf.replace(/.$/, '6'),
      '11222333000180',
      '12ABC34501DE36',
      '12abc34501de35',
      '00000000000000',
      '@b.example',
      '+0551',
      `${cpf} `,
      'a@b',
      'a b@c.example',
    ].map((key) => prepareInclusion('op', { cpf, period: 1, pix: { key } }, included)),
  'splits pix-key': () => [prepareSplits('op', { dto, splits: [{ ...split, pixKey: { key: 'junk' } }] }, unsplit)],
  'splits split-formed': () =>
    unformed.map((one) => prepareSplits('op', { dto, splits: [{ amountCents: 1, ...one }] }, unsplit)),
  'inclusion split-formed': () =>
    unformed.map((one) => prepareInclusion('op', { ...inclusion, splits: [{ amountCents: 1, ...one }] }, included)),
  'splits bank-number': () => [
    prepareSplits('op', { dto, splits: [{ ...toAccount, amountCents: 1, bankNumber: '34' }] }, unsplit),
    prepareSplits('op', { dto, splits: [{ ...toAccount, amountCents: 1, bankNumber: '000' }] }, unsplit),
  ],
  'splits bank-code': () => [
    prepareSplits('op', { dto, splits: [{ ...toAccount, amountCents: 1, bankCode: 0 }] }, unsplit),
  ],
  'splits account-type': () => [
    prepareSplits('op', { dto, splits: [{ ...toAccount, amountCents: 1, accountType: 3 }] }, unsplit),
  ],
  'splits account-formed': () =>
    [{ account: 'conta do joao' }, { branch: 'x y' }, { accountDigit: '123' }, { branchDigit: '123' }].map((one) =>
      prepareSplits('op', { dto, splits: [{ ...toAccount, amountCents: 1, ...one }] }, unsplit),
    ),
  'splits splits-given': () => [
    prepareSplits('op', { dto, splits: [] }, unsplit),
    prepareSplits('op', { dto }, unsplit),
  ],
  'splits split-payee': () => [prepareSplits('op', { dto, splits: [split, { amountCents: 1 }] }, unsplit)],
  'splits split-one-payee': () => [
    ...[
      { ...split, emv: { code: pixCode } },
      { ...split, paymentLine: slip },
      { ...split, bankCode: 7, branch: '1', account: '2' },
      { ...split, account: '2' },
      { amountCents: 1, emv: { code: pixCode }, paymentLine: slip },
      { ...split, portability: { number: '1' } },
    ].map((one) => prepareSplits('op', { dto, splits: [one] }, unsplit)),
  ],
  'inclusion split-one-payee': () => [
    prepareInclusion('op', { ...inclusion, splits: [{ ...split, emv: { code: pixCode } }] }, included),
  ],
  'splits split-once': () => [
    ...[split, { ...split, payeeName: 'Another', document: cpf }, { ...split, emv: null, fieldId: ' ' }].map((again) =>
      prepareSplits('op', { dto, splits: [split, { ...split, fieldId: 'B' }, again] }, unsplit),
    ),
    prepareSplits('op', { dto, splits: [split] }, { ...unsplit, earlier: [{ ...split, fieldId: 'B' }, split] }),
  ],
  'inclusion split-once': () => [prepareInclusion('op', { ...inclusion, splits: [split, split] }, included)],
  'splits splits-of-loan': () => [
    prepareSplits(
      'op',
      {
        dto,
        splits: [
          { ...paid, amountCents: 60 },
          { ...paid, amountCents: 41 },
        ],
      },
      { ...splitting, loanCents: 100, splitCents: 0 },
    ),
    prepareSplits(
      'op',
      { dto, splits: [{ ...paid, amountCents: 41 }] },
      { ...splitting, loanCents: 100, splitCents: 60 },
    ),
  ],
  'signers signer-once': () => [
    prepareSigners('op', { dto, signers: [signer, { ...signer, ip: '203.0.113.8' }] }, signing),
  ],
  'signers signer-of-order': () => [
    prepareSigners('op', { dto, signers: [signer, { ...signer, document: '39053344705' }] }, signing),
    prepareSigners('op', { dto, signers: [{ ...signer, document: null }] }, signing),
  ],
  'proposal located': () => [
    prepareProposalQuery('op', { dto: {} }, { proposalCode: null }),
    prepareProposalQuery('op', { dto: {} }, { proposalCode: 'P-1' }),
  ],
  'proposal locator-kept': () =>
    [{ CodigoProposta: 'P-2' }, { a: { numeroproposta: 7, codigoProposta: 'P-1' } }, { any: 1 }].map((named) =>
      prepareProposalQuery('op', { dto: named }, { proposalCode: 'P-1' }),
    ),
  'installments located': () => [prepareInstallments('op', { asOf: '2026-11-10' })],
  'splits loan-known': () => [
    prepareSplits('op', { dto, splits: [split] }, { ...splitting, loanCents: null, splitCents: 0 }),
  ],
  'splits located': () => [prepareSplits('op', { dto: {}, splits: [split] }, unsplit)],
  'splits entry-amount': () =>
    [-1, 0].map((amountCents) =>
      prepareSplits(
        'op',
        {
          dto,
          splits: [
            { ...paid, amountCents: 1 },
            { ...paid, amountCents },
          ],
        },
        unsplit,
      ),
    ),
  'inclusion entry-amount': () =>
    [-1, 0].flatMap((amountCents) => [
      prepareInclusion('op', { ...inclusion, splits: [{ ...paid, amountCents }] }, included),
      prepareInclusion('op', { ...inclusion, transfers: [{ onDay: '2027-05-01', amountCents }] }, included),
    ]),
  'simulation entry-amount': () =>
    [-1, 0].map((amountCents) =>
      prepareSimulation('op', { cpf, transfers: [{ onDay: '2027-05-01', amountCents }] }, unborn),
    ),
  'signers located': () => [prepareSigners('op', { dto: {}, signers: [signer] }, signing)],
  'signers signers-given': () => [prepareSigners('op', { dto, signers: [] }, signing)],
  'signers signature-time': () => [
    prepareSigners('op', { dto, signers: [{ document: cpf, ip: signer.ip }] }, signing),
    prepareSigners('op', { dto, signers: [{ ...signer, signedAt: now + 1 }] }, signing),
    prepareSigners('op', { dto, signers: [{ ...signer, signedAt: now - 120_001 }] }, signing),
    prepareSigners('op', { dto, signers: [{ ...signer, signedAt: 0 }] }, { ...signing, includedAt: null }),
  ],
  'signers signature-address': () => [
    prepareSigners('op', { dto, signers: [{ document: cpf, signedAt: now }] }, signing),
    prepareSigners('op', { dto, signers: [{ ...signer, ip: 'here' }] }, signing),
  ],
  'finalisation located': () => [prepareFinalisation('op', { dto: {} }, ready)],
  'finalisation signers-registered': () => [prepareFinalisation('op', { dto }, { ...ready, signersRegistered: false })],
  'finalisation all-signed': () => [prepareFinalisation('op', { dto }, { ...ready, unsigned: 1 })],
  'finalisation finalisation-enabled': () => [prepareFinalisation('op', { dto }, { ...ready, enabled: false })],
  'account-update located': () => [
    prepareAccountUpdate('op', { dto: {}, extra: held(extra) }, { cpf, state: 'approved' }),
  ],
  'account-update account-given': () => [
    prepareAccountUpdate('op', { dto }, { cpf, state: 'approved' }),
    prepareAccountUpdate('op', { dto, extra: {} }, { cpf, state: 'approved' }),
  ],
  'account-update holder-is-worker': () =>
    [
      { cpfTitular: '39053344705' },
      { conta: { titular: { CPF: '390.533.447-05' } } },
      { documentoTitular: '11.222.333/0001-81' },
      { dto: { contas: [{ documento: 39053344705 }] } },
      { chavePix: '39053344705' },
      { pagamentoViaChavePix: { chave: '11.222.333/0001-81' } },
      { chave: '39053344705' },
      { favorecido: { id: '390.533.447-05' } },
      { documentoFederal: 'cpf:39053344705' },
      { documentoFederalPagamento: '３９０５３３４４７０５' },
      { documentoFederal: { numero: 'nenhum' } },
      { titular: '390\u200b53344705' },
      { favorecido: 'Maria, cpf: 390.533.447-05' },
      { pix: { valor: 'cpf:39053344705' } },
    ].map((extra) => prepareAccountUpdate('op', { dto, extra }, { cpf, state: 'approved', otherNames: true })),
  'account-update holder-named': () =>
    [
      { numeroBanco: '341', tipoConta: 2, agencia: '1', conta: '999', contaDig: '0' },
      { conta: '999', nomePagamento: 'Outra Pessoa' },
      { propostaContaPagamento: { conta: '999' } },
      { conta: '999', documentoFederalPagamento: '' },
      { chavePIX: 'outra@exemplo.example' },
      { chavePIX: cpf, conta: '999' },
      { propostaContaPagamento: [{ conta: '1', documentoFederal: cpf }, { conta: '999' }] },
      { documentoFederal: cpf, conta: '1', dto: { conta: '999' } },
      { documentoFederal: cpf, propostaContaPagamento: { conta: '1' }, dto: { conta: '999' } },
      {
        documentoFederal: cpf,
        propostaContaPagamento: { conta: '1' },
        propostaPIXPagamento: { chavePIX: 'o@e.example' },
      },
    ]
      .flatMap((extra) => [false, true].map((otherNames) => ({ extra, otherNames })))
      .concat(
        [
          { apelido: 'nova', conta: '999', nomePagamento: 'Outra Pessoa' },
          { contaNova: '999' },
          { cpfTitular: cpf, conta: '1', dto: { conta: '999' } },
        ].map((extra) => ({ extra, otherNames: true }) as never),
      )
      .map(({ extra, otherNames }) =>
        prepareAccountUpdate('op', { dto, extra }, { cpf, state: 'approved', otherNames }),
      ),
  'account-update one-account': () =>
    [
      { documentoFederal: cpf, conta: '1', chavePIX: 'outra@exemplo.example' },
      { documentoFederal: cpf, conta: '1', CONTA: '999' },
      { documentoFederal: cpf, conta: ['1', '999'] },
      { documentoFederal: cpf, chavePIX: 'maria@exemplo.example', ChavePix: 'outra@exemplo.example' },
      { propostaContaPagamento: { documentoFederal: cpf, conta: '1', chavePIX: 'outra@exemplo.example' } },
    ].map((extra) => prepareAccountUpdate('op', { dto, extra }, { cpf, state: 'approved' })),
  'account-update pix-key': () =>
    [
      `cpf:${cpf}`,
      '３９０５３３４４７０５',
      '390\u200b53344705',
      `${cpf} `,
      '11987654321',
      '',
      'x'.repeat(200),
      true,
      [cpf],
      { conta: cpf },
      {},
    ].map((key) =>
      prepareAccountUpdate(
        'op',
        { dto, extra: { propostaPIXPagamento: { ChavePix: key } } },
        { cpf, state: 'approved', otherNames: true },
      ),
    ),
  'account-update account-field': () =>
    [
      { agenca: '0001', conta: '1' },
      { banco: '341' },
      { contaPagamento: { conta: '1' } },
      { dto: { contta: '1' } },
      { pagamentoViaEmv: { emv: '00020126' } },
      { propostaContaPagamento: [{ conta: '1' }, { favorecido: 'x' }] },
    ].map((extra) => prepareAccountUpdate('op', { dto, extra: held(extra) }, { cpf, state: 'approved' })),
  'account-update bank-number': () =>
    [
      { NumeroBanco: 'Itaú' },
      { numeroBanco: '000', conta: '1' },
      { numeroBanco: ['000'] },
      { numeroBanco: '000', codigoBanco: null },
    ].map((extra) => prepareAccountUpdate('op', { dto, extra: held(extra) }, { cpf, state: 'approved' })),
  'account-update bank-code': () =>
    [
      { codigoBanco: 0 },
      { CodigoBanco: '000' },
      { propostaContaPagamento: { codigoBanco: -1 } },
      { codigoBanco: 'x' },
    ].map((extra) => prepareAccountUpdate('op', { dto, extra: held(extra) }, { cpf, state: 'approved' })),
  'account-update account-type': () => [
    prepareAccountUpdate(
      'op',
      { dto, extra: held({ dto: { tipoConta: 3 } }) },
      { cpf, state: 'approved', otherNames: true },
    ),
  ],
  'account-update account-formed': () =>
    [
      { conta: 'conta 12' },
      { conta: 'abc' },
      { conta: ['abc'] },
      { conta: '1'.repeat(129) },
      { agencia: 'centro' },
      { propostaContaPagamento: { contaDig: '123' } },
    ].map((extra) => prepareAccountUpdate('op', { dto, extra: held(extra) }, { cpf, state: 'approved' })),
  'account-update locator-kept': () => [
    prepareAccountUpdate(
      'op',
      { dto, extra: held({ dto: { CODIGOPROPOSTA: 'another', conta: '1' } }) },
      { cpf, state: 'approved' },
    ),
    prepareAccountUpdate('op', { dto, extra: held({ Dto: { numeroProposta: 7 } }) }, { cpf, state: 'approved' }),
    prepareAccountUpdate(
      'op',
      { dto, extra: held({ CodigoProposta: 'another', conta: '1' }) },
      { cpf, state: 'approved' },
    ),
    prepareAccountUpdate(
      'op',
      { dto, extra: held({ propostaContaPagamento: { codigoOperacao: 'x' } }) },
      { cpf, state: 'approved' },
    ),
  ],
  'account-update dto-object': () => [
    prepareAccountUpdate('op', { dto, extra: held({ dto: 'another' }) }, { cpf, state: 'approved' }),
    prepareAccountUpdate('op', { dto, extra: held({ dto: {}, DTO: {} }) }, { cpf, state: 'approved' }),
  ],
  'account-update account-update-state': () => [
    prepareAccountUpdate('op', { dto, extra: held(extra) }, { cpf, state: 'analysing' }),
    prepareAccountUpdate('op', { dto, extra: held(extra) }, { cpf, state: 'cancelled' }),
  ],
};

for (const [name, results] of Object.entries(cases)) {
  test(`withheld: ${name}`, () => {
    for (const result of results()) {
      assert.ok(result.kind === 'withheld');
      // One rule may speak of several places.
      const rules = new Set(result.breaches.map(({ rule }) => rule));
      assert.deepEqual([...rules], [name.split(' ')[1]]);
    }
  });
}

test('what keeps the rules is prepared, each with a key of its own', () => {
  const results = [
    prepareSimulation('op', { cpf, birthDay: birthDate, cached: false }, { now, birthDate }),
    prepareSimulation('op', { balanceCents: 0 }, unborn),
    ...['1906-11-10', '2008-11-10'].map((birthDay) => prepareSimulation('op', { cpf, birthDay }, unborn)),
    prepareSimulation('op', { cpf, amountCents: 2_000, transfers: transfersOn(['2026-11-10', '2027-05-01']) }, unborn),
    prepareInclusion('op', inclusion, included),
    prepareInclusion('op', { cpf, period: 1, pix: { key: cpf } }, included),
    prepareInclusion('op', { ...inclusion, period: 2, rateHundredths: 90, feeCents: 5_000 }, included),
    prepareInclusion('op', { ...inclusion, feePercent: 3 }, included),
    ...[0, 0.33].map((feePercent) => prepareInclusion('op', { ...inclusion, feePercent }, withCosts)),
    prepareInclusion('op', { ...inclusion, amountCents: 20_000, feePercent: 0.33 }, withCosts),
    prepareInclusion('op', { ...inclusion, feePercent: 0 }, withoutFee),
    prepareInclusion('op', { cpf, period: 1, splits: [{ ...paid, amountCents: 100_000 }] }, included),
    prepareInclusion(
      'op',
      { ...inclusion, amountCents: 300_000, rateHundredths: 180, insuranceCents: 30_000 },
      included,
    ),
    prepareInclusion('op', { ...inclusion, account: { ...account, bankNumber: null, bankCode: 7 } }, included),
    prepareInclusion('op', { ...inclusion, partnerDocument: '11222333000181', contractType: 'A' }, included),
    prepareProposalQuery('op', { dto: { any: 1 } }, { proposalCode: null }),
    prepareProposalQuery('op', { dto: { CodigoProposta: 'P-1', detalhes: true } }, { proposalCode: 'P-1' }),
    prepareInstallments('op', { proposalCode: 'P-1' }),
    prepareSplits(
      'op',
      { dto: { proposalNumber: '12' }, splits: [split, { ...split, fieldId: 'B' }, paidOn('2026-11-10')] },
      unsplit,
    ),
    prepareSplits('op', { dto, splits: [paidOn('2026-11-09'), paidOn('2027-11-10')] }, unsplit),
    prepareSplits('op', { dto, splits: [paidOn('2026-11-10')] }, { ...unsplit, includedAt: null }),
    prepareInclusion('op', { ...inclusion, splits: [paidOn('2026-11-10'), paidOn('2027-11-10')] }, included),
    prepareSplits(
      'op',
      { dto, splits: [{ bankNumber: '341', branch: '1', account: '2', amountCents: 100 }] },
      { ...splitting, loanCents: 100, splitCents: 0 },
    ),
    prepareSplits(
      'op',
      { dto, splits: [{ ...paid, amountCents: 40 }] },
      { ...splitting, loanCents: 100, splitCents: 60 },
    ),
    prepareSplits(
      'op',
      {
        dto,
        splits: [
          { amountCents: 1, paymentLine: slip },
          { amountCents: 1, portability: { number: '1' } },
          { amountCents: 1, portability: { number: '2' }, bankNumber: '341', branch: '1', account: '2' },
          { amountCents: 2, paymentLine: slip, bankNumber: '237', pixKey: null },
        ],
      },
      unsplit,
    ),
    ...[{ emv: { code: pixCode } }, { paymentLine: '1'.repeat(48) }, { ...toAccount, document: '529.982.247-25' }].map(
      (one) => prepareSplits('op', { dto, splits: [{ amountCents: 1, ...one }] }, unsplit),
    ),
    prepareSigners('op', { dto: { operationCode: 'O' }, signers: [{ ...signer, ip: '2001:db8::7' }] }, signing),
    prepareFinalisation('op', { dto }, ready),
    ...accountUpdateStates.map((state) =>
      prepareAccountUpdate('op', { dto, extra: held({ conta: '1' }) }, { cpf, state }),
    ),
    // Of a bank whose number is that of others its code says which it is.
    ...[{ numeroBanco: '000', codigoBanco: 77 }, { codigoBanco: '077' }, { conta: 12, contaDig: 'x' }].map((own) =>
      prepareAccountUpdate('op', { dto, extra: held(own) }, { cpf, state: 'approved' }),
    ),
    prepareInclusion('op', { ...inclusion, account: { ...account, bankNumber: '000', bankCode: 77 } }, included),
    prepareInclusion('op', { ...inclusion, account: { ...account, bankNumber: null, bankCode: 1 } }, included),
  ];
  assert.deepEqual(accountUpdateStates, ['approved', 'finalized', 'released', 'pending-payment']);
  for (const result of results) {
    assert.ok(result.kind === 'prepared', JSON.stringify(result));
    const { path, idempotencyKey } = result.prepared;
    assert.equal(idempotencyKey, idempotencyKeyOf(path, 'op'));
  }
});

test('a mistyped field of another account is told what is most likely meant', () => {
  const problem = (extra: JsonObject, otherNames = false) => {
    const result = prepareAccountUpdate('op', { dto, extra: held(extra) }, { cpf, state: 'approved', otherNames });
    return result.kind === 'withheld' ? result.breaches.map(({ field, problem }) => `${field}: ${problem}`) : [];
  };
  assert.match(problem({ agenca: '0001' })[0]!, /^fields\.agenca: .* write agencia if you mean that/);
  assert.match(problem({ PropostaContaPagamento: { numeroBnco: '341' } })[0]!, /numeroBnco: .* write numeroBanco if/);
  assert.match(problem({ x1: '0001' })[0]!, /write one of codigoBanco, .*chavePIX/);
  assert.deepEqual(problem({ x1: '0001' }, true), [], 'as the service has told the partner');
  const whole = { NumeroBanco: '341', tipoConta: 2, AGENCIA: '1', agenciaDig: 'X', conta: 12, contaDig: '0' };
  assert.deepEqual(problem({ propostaContaPagamento: { ...whole, nomePagamento: 'Maria' } }), []);
});

test('each kind of Pix key is let through', () => {
  const uuid = '123e4567-e89b-42d3-a456-426614174000';
  for (const key of [cpf, '11222333000181', '12ABC34501DE35', 'maria@exemplo.example', '+5511987654321', uuid]) {
    const isOthers = key === '11222333000181' || key === '12ABC34501DE35';
    const kind = prepareInclusion('op', { cpf, period: 1, pix: { key } }, included).kind;
    assert.equal(kind, isOthers ? 'withheld' : 'prepared', key);
    assert.equal(
      prepareSplits('op', { dto, splits: [{ amountCents: 1, pixKey: { key } }] }, unsplit).kind,
      'prepared',
      key,
    );
  }
  const own = { documentoFederal: '529.982.247-25', nomePagamento: 'Maria' };
  for (const chavePix of ['+5511987654321', cpf, 'maria@exemplo.example', uuid, null]) {
    const result = prepareAccountUpdate('op', { dto, extra: { ...own, chavePix } }, { cpf, state: 'approved' });
    assert.equal(result.kind, 'prepared', JSON.stringify(result));
  }
  const unpadded = { documentoFederal: 1234567890, titular: 'cpf: 012.345.678-90' };
  const ofZero = { cpf: '01234567890', state: 'approved', otherNames: true };
  assert.equal(prepareAccountUpdate('op', { dto, extra: unpadded }, ofZero).kind, 'prepared');
});

test('a key is the same for each attempt and another for each operation', () => {
  const key = idempotencyKeyOf('/FGTS/IncluirProposta', 'op-1');
  assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(idempotencyKeyOf('/FGTS/IncluirProposta', 'op-1'), key);
  assert.notEqual(idempotencyKeyOf('/FGTS/IncluirProposta', 'op-2'), key);
  assert.notEqual(idempotencyKeyOf('/FGTS/ConsultaProposta', 'op-1'), key);
});

test("fields of the partner's own dto are written beside the locator", () => {
  const result = prepareAccountUpdate(
    'op',
    {
      dto: { proposalCode: 'P-1' },
      extra: { dto: { conta: numberOfDigits('12345678901234567890') }, canal: 'x', documentoFederal: cpf },
    },
    { cpf, state: 'approved', otherNames: true },
  );
  assert.ok(result.kind === 'prepared', JSON.stringify(result));
  assert.equal(
    result.prepared.body,
    '{"dto":{"codigoProposta":"P-1","conta":12345678901234567890},"canal":"x","documentoFederal":"52998224725"}',
  );
});
