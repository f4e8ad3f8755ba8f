/** What the API takes and gives, in the house's own words and units: cents, hundredths of a percent a month, epoch ms. */
import { z } from 'zod';
import { unaskedReasons } from '../../bidding/ports.ts';
import { type FlowKind, flowKinds, flowSteps } from '../../domain/flow-records.ts';
import { type FlowPhase, flowPhases } from '../../domain/flow-states.ts';
import { phases } from '../../domain/states.ts';
import { stepsOf } from '../../origination/steps.ts';
import { canonicalDigits } from '../../wire/json.ts';
import { answerNamed, exampleOf, measured, order, said, saidOfParts } from './described.ts';

const cents = measured(z.int().min(0).max(1e12), 'whole cents of a real');
const positiveCents = measured(z.int().min(1).max(1e12), 'whole cents of a real');
const rate = measured(z.int().min(0).max(10_000), 'hundredths of a percent a month');
const term = measured(z.int().min(1).max(480), 'a count');
const percent = measured(z.number().min(0).max(100), 'percent');
const bankCodes = measured(z.int().min(1).max(1e9), 'a number as it stands, without a unit');
const cpf = z.string().regex(/^\d{11}$/, 'send the 11 digits of a CPF, as a text without points');
/** Ids that the service takes as JSON numbers: leading zeros are left out, for a JSON number has none. */
const digits = z
  .string()
  .regex(/^\d{1,40}$/, 'send 1 to 40 decimal digits, as a text')
  .overwrite(canonicalDigits);
const short = z.string().min(1).max(200);
const long = z.string().min(1).max(2_000);
/** Of whoever decides: blanks alone are no reason. */
export const reasonGiven = z.string().trim().min(1, 'is blank; say why, in 1 to 2000 characters').max(2_000);
const day = z.iso.date();
const instant = z.iso.datetime({ offset: true });
const anything = z.record(z.string().max(200), z.unknown());

const exampleCpf = '52998224725';
const exampleAgent = '11144477735';
const exampleRequest = '37400000012';
const exampleNote = '9001';
const examplePaymentLine = '00190000090123456789012345678901234567890123456';
const examplePixCode =
  '00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR5913Fulano de Tal6008BRASILIA62070503***63041D3D';
export const exampleTime = 1_772_550_000_000;

export const idempotency = z.object({
  'idempotency-key': said(
    z.string().regex(/^[\x21-\x7e]{1,200}$/, 'send 1 to 200 printable ASCII characters without spaces'),
    'Names this one order or step, in 1 to 200 printable characters without spaces: sent again with the same key it is not done again. Put no personal data into it: a key that may hold a CPF is kept as a keyed hash',
    'order-2026-1',
  ),
});

/** Keys of an account or a split begin with a capital in /FGTS, and with a small letter elsewhere. */
type Casing = (key: string) => string;
const pascal: Casing = (key) => key;
const camel: Casing = (key) => key[0]!.toLowerCase() + key.slice(1);

const accountFields = (key: Casing) => ({
  accountType: said(
    z.union([z.literal(1), z.literal(2)]),
    'Kind of account: 1 savings, 2 checking',
    2,
    key('TipoConta'),
  ),
  branch: said(short, 'Number of the branch, without its check digit', '0001', key('Agencia')),
  branchDigit: said(short, "The branch's check digit", '9', key('AgenciaDig')),
  account: said(short, 'Number of the account, without its check digit', '123456', key('Conta')),
  accountDigit: said(short, "The account's check digit", '0', key('ContaDig')),
  bankNumber: said(short, 'Number of the bank, three digits', '341', key('NumeroBanco')),
});

const contractTerms = {
  amountCents: said(
    positiveCents.optional(),
    'Released to the worker; the service calculates the instalment. Exactly one of `amountCents` and `installmentCents` is given',
    100_000,
    'valorLiberado',
  ),
  installmentCents: said(
    positiveCents.optional(),
    'Instalment; the service calculates what is released. Exactly one of `amountCents` and `installmentCents` is given',
    9_187,
    'valorParcela',
  ),
  installments: said(term, 'Number of monthly instalments', 12, 'numeroParcelas'),
  rateHundredths: said(
    rate,
    'Rate: 150 is 1.50 %. Over 0.01 %, under 4.98 %, and at most that of the bid',
    150,
    'valorTaxaMensal',
  ),
  insuranceCents: said(cents.optional(), 'Insurance; with it `policyNumber` is needed', 2_500, 'valorSeguro'),
  policyNumber: said(short.optional(), 'Number of the insurance policy', 'AP-1', 'numeroApolice'),
  contractType: said(
    short.optional(),
    'Type of contract, which selects the fund; the service tells you yours',
    '1',
    'tipoContrato',
  ),
  agentCpf: said(cpf, 'CPF of the responsible credit agent: 11 digits', exampleAgent, 'cpfAgenteCredito'),
  account: saidOfParts(
    z.strictObject(accountFields(camel)),
    "The customer's account that is paid; all fields are needed",
    'propostaContaPagamento',
  ),
};

const link = {
  cpf: said(cpf, 'CPF of the worker: 11 digits', exampleCpf, 'cpfTrabalhador'),
  registration: said(short, 'Registration number of the worker in this employment', 'M-77', 'matricula'),
  employerId: said(
    z.string().regex(/^[0-9A-Za-z./-]{1,20}$/, 'send the CNPJ or CPF of the employer, 1 to 20 characters'),
    'CNPJ or CPF of the employer, as the service gave it',
    '12345678000195',
    'numeroInscricaoEmpregador',
  ),
  employerIdType: said(
    z.union([z.literal(1), z.literal(2)]),
    'What `employerId` is: 1 CNPJ, 2 CPF',
    1,
    'codigoInscricaoEmpregador',
  ),
};
const authorisationNumber = said(
  digits.optional(),
  "NSU of the worker's digital authorisation: 1 to 40 digits; needed for the first query about a worker",
  '880011',
  'autorizacao.nsuAutorizacaoDigital',
);
export const linkSchema = order(z.strictObject(link), 'Link', 'An employment of a worker');

/** Of an example: whoever is paid is put in by whoever sends it, and so is each code that the service gives. */
const openAccount = {
  ...{ accountType: 2, branch: '<branch>', branchDigit: '<branch digit>' },
  ...{ account: '<account>', accountDigit: '<account digit>', bankNumber: '<bank number>' },
};
const exampleTerms = {
  amountCents: 100_000,
  installments: 12,
  rateHundredths: 150,
  agentCpf: exampleAgent,
  account: openAccount,
};

const despiteEvents = said(
  z.boolean().optional(),
  'Go on although events wait that no flow has claimed and that may tell of the operation; left out or false: refused then, and their codes are named',
  false,
  'none',
);

const despiteBid = said(
  z.boolean().optional(),
  'Go on although the amount, the term or the rate is below what was bid, because the worker wants it so; left out or false: refused then, and the figures of the bid are named',
  false,
  'none',
);

const despiteSimulation = said(
  z.boolean().optional(),
  'Go on although `amountCents` is below what was simulated for this period, because the worker wants it so; left out or false: refused then, and the figure of the simulation is named',
  false,
  'none',
);

const despitePayee = said(
  z.boolean().optional(),
  'Go on although the Pix key of a split is the CPF of another person than the worker; left out or false: refused then, and the split is named',
  false,
  'none',
);

const despiteOriginal = said(
  z.boolean().optional(),
  'Go on although the rate is below half of that of the closed loan, the instalments are less than a quarter or more than four times `openInstallments` (left out: of a contract made here, of its own term) or more than the setting `pricing.maxInstallments`, or `estimatedInstallmentCents` is less than half or more than twice what is calculated from the note of the closed loan; left out or false: refused then, and both figures are named',
  false,
  'none',
);

export const contractBody = order(
  z
    .strictObject({
      requestId: said(
        digits,
        'The request that the bid was won for: 1 to 40 decimal digits, leading zeros do not count',
        exampleRequest,
        'numeroSolicitacao',
      ),
      ...contractTerms,
      workerAccepted: said(
        z.boolean(),
        'The worker took the proposal in the work-card app; false is refused',
        true,
        'none',
      ),
      link: saidOfParts(
        z.strictObject({ ...link, authorisationNumber }).optional(),
        'The employment whose margin is asked for; left out: that of the request',
        'none',
      ),
      despiteEvents,
      despiteBid,
    })
    // Said with what else is missing; where it is all that is, the front refuses it, as it does both.
    .refine(({ amountCents, installmentCents }) => amountCents !== undefined || installmentCents !== undefined, {
      path: ['amountCents'],
      message: 'send the released value or the instalment, exactly one of the two',
      when: ({ value, issues }) => issues.length > 0 && typeof value === 'object' && value !== null,
    }),
  'ContractOrder',
  'The contract of a won bid, /contrato/oferta-leilao/gerar-contrato of the contract',
  { requestId: exampleRequest, ...exampleTerms, workerAccepted: true },
);

const told = 'left out: not known, and not checked before it is sent';
export const renegotiationBody = order(
  z.strictObject({
    closedContract: said(
      short,
      'Number of the contract that was closed by termination of the employment',
      exampleNote,
      'numeroContratoEncerrado',
    ),
    ...link,
    agentCpf: contractTerms.agentCpf,
    contractType: said(
      short,
      'Type of contract, which selects the fund; the service tells you yours',
      '1',
      'tipoContrato',
    ),
    installments: said(term, 'Number of monthly instalments of the new loan', 12, 'numeroParcelas'),
    rateHundredths: said(
      rate,
      'Rate: 150 is 1.50 %. Over 0.01 %, at most 4.98 %, and at most the rate of the contract that was closed',
      150,
      'valorTaxaMensal',
    ),
    originalRateHundredths: said(
      rate.optional(),
      'Rate of the contract that was closed. Left out: that of the contract made here; of one made elsewhere it is needed',
      150,
      'none',
    ),
    closedByTermination: said(
      z.boolean().optional(),
      `Whether the loan was closed by termination of the employment; ${told}`,
      true,
      'none',
    ),
    openInstallments: said(
      measured(z.int().min(0).max(480), 'a count').optional(),
      `How many instalments are open; of a contract made here at most its own term; ${told}`,
      10,
      'none',
    ),
    pendingCharges: said(z.boolean().optional(), `Whether charges are pending; ${told}`, false, 'none'),
    linkValid: said(
      z.boolean().optional(),
      'Whether the new employment is valid; left out: as its query says',
      true,
      'none',
    ),
    estimatedInstallmentCents: said(
      positiveCents.optional(),
      'What the new instalment comes to at most: a note above it is one that differs, to be settled with the step `accept`. It is held against the margin. Left out: of a contract made here it is calculated from its note and `openInstallments` (`terms.installmentCents` says it), and not held against the margin; of one made elsewhere nothing is checked',
      9_187,
      'none',
    ),
    authorisationNumber,
    despiteEvents,
    despiteOriginal,
  }),
  'RenegotiationOrder',
  'A new loan for one that was closed by termination, /contrato/renegociacao/gerar-contrato of the contract',
  {
    ...{ closedContract: '<closed contract>', cpf: exampleCpf, registration: 'M-77', employerIdType: 1 },
    ...{ employerId: '12345678000195', agentCpf: exampleAgent, contractType: '1' },
    ...{ installments: 12, rateHundredths: 150, originalRateHundredths: 180 },
  },
);

const birthDate = 'Day of birth of the worker, of 18 to 120 years, as YYYY-MM-DD; a wrong month fails';
const birth = {
  birthDate: said(day.optional(), birthDate, '1990-05-17', 'DtAniversario'),
  birthDay: said(
    day.optional(),
    'Earlier name of `birthDate`, which counts where both are given',
    '1990-05-17',
    'DtAniversario',
  ),
};
export const withdrawalBody = order(
  z.strictObject({
    cpf: said(cpf, 'CPF of the worker: 11 digits', exampleCpf, 'CpfTrabalhador'),
    birthDate: said(
      day.optional(),
      `${birthDate}. Left out: it is not checked before it is sent`,
      '1990-05-17',
      'none',
    ),
    signerCpfs: said(
      z.array(cpf).max(10).optional(),
      'CPFs of those who have to have signed, at most 10; left out: the worker',
      [exampleCpf],
      'none',
    ),
    alongside: said(
      z.boolean().optional(),
      'Begin it although the worker has another withdrawal that has not ended, or is finalised and was not said to be released; left out or false: refused then',
      false,
      'none',
    ),
    proposalCode: said(
      z
        .string()
        .regex(/^[\w-]{1,60}$/, 'send the code of the proposal, 1 to 60 letters, digits and hyphens')
        .optional(),
      'Code of a proposal that was made elsewhere, 1 to 60 characters: its state, instalments, splits and account can be asked for at once. Left out: the proposal is made here. The service names no CPF of a proposal: look first whose it is. Until the service has shown such a proposal the step `cancel` gives up a mistyped code',
      'e3b0c442-98fc-4c14-9afb-f4c8996fb924',
      'CodigoProposta',
    ),
  }),
  'WithdrawalOrder',
  'A loan backed by the yearly withdrawal; simulation and inclusion are steps of their own',
  { cpf: exampleCpf, birthDate: '1990-05-17' },
);

const { cpf: _worker, ...linkAlone } = link;
export const lookupBody = order(
  z.strictObject({
    cpf: link.cpf,
    link: saidOfParts(
      z.strictObject(linkAlone).optional(),
      'The one employment that is asked about, in detail; left out: the list of all of them',
      'none',
    ),
    authorisationNumber,
    cached: said(
      z.boolean().optional(),
      "Whether the service's cache will do (24 hours old at most). Past it a query may be charged, and counts for the budget of the day: beyond `bidding.directQueriesPerDay` the cache is asked. Left out: as the setting `flows.askCached` says",
      true,
      'consultaCacheada',
    ),
    reason: said(
      reasonGiven,
      'Why the worker is asked about, in 1 to 2000 characters; blanks alone are refused. Kept with who asked and when',
      'cliente pediu uma proposta',
      'none',
    ),
  }),
  'LookupOrder',
  'A query of the employments of a worker; the answer comes by callback and is read with `POST /v1/lookups/ID/results/links`',
  { cpf: exampleCpf, reason: '<why>' },
);

const transfers = saidOfParts(
  z
    .array(
      z.strictObject({
        onDay: said(day, 'Day of the yearly transfer, as YYYY-MM-DD', '2027-05-01', 'DataRepasse'),
        amountCents: said(positiveCents, 'What is transferred on that day', 50_000, 'VlrRepasse'),
      }),
    )
    .max(30)
    .optional(),
  'Yearly transfers, at most 30',
  'Periodos',
);

const splitFields = (key: Casing) => ({
  fieldId: said(short.optional(), 'Id of the field that this entry fills', 'A', key('CampoID')),
  amountCents: said(
    positiveCents.optional(),
    'What is paid; refused without it. The splits of all steps together are at most the loan',
    1_000,
    key('VlrTransacao'),
  ),
  paidOn: said(
    day.optional(),
    'Day of the payment, as YYYY-MM-DD: not before the day of the inclusion, and at most a year from now. Left out: the service decides',
    '2026-03-10',
    key('DtPagamento'),
  ),
  paymentLine: said(short.optional(), 'Line of digits of the payment slip', examplePaymentLine, key('LinhaDigitavel')),
  bankCode: said(bankCodes.optional(), "The service's own code of the bank", 1, key('CodigoBanco')),
  bankNumber: said(short.optional(), 'Number of the bank, three digits', '341', key('NumeroBanco')),
  accountType: said(
    measured(z.int().min(1).max(2), 'a number as it stands, without a unit').optional(),
    'Kind of account: 1 savings, 2 checking',
    2,
    key('TipoConta'),
  ),
  branch: said(short.optional(), 'Number of the branch, without its check digit', '0001', key('Agencia')),
  branchDigit: said(short.optional(), "The branch's check digit", '9', key('AgenciaDig')),
  account: said(short.optional(), 'Number of the account, without its check digit', '123456', key('Conta')),
  accountDigit: said(short.optional(), "The account's check digit", '0', key('ContaDig')),
  document: said(short.optional(), 'CPF or CNPJ of whoever is paid', exampleCpf, key('DocumentoFederal')),
  payeeName: said(short.optional(), 'Name of whoever is paid', 'Maria Exemplo', key('NomePagamento')),
  assignorDocument: said(
    short.optional(),
    'CPF or CNPJ of the assignor of the title',
    '12345678000195',
    key('DocumentoFederalCedente'),
  ),
  assignorName: said(short.optional(), 'Name of the assignor of the title', 'Banco Exemplo', key('NomeCedente')),
  pixKey: saidOfParts(
    z
      .strictObject({
        key: said(short, 'The Pix key', 'maria@exemplo.example', `${key('PagamentoViaChavePix')}.${key('ChavePix')}`),
      })
      .optional(),
    'Paid to a Pix key',
    key('PagamentoViaChavePix'),
  ),
  emv: saidOfParts(
    z
      .strictObject({
        code: said(
          long,
          'The text of the Pix code, at most 2000 characters',
          examplePixCode,
          `${key('PagamentoViaEmv')}.${key('Emv')}`,
        ),
      })
      .optional(),
    'Paid by a Pix code (EMV)',
    key('PagamentoViaEmv'),
  ),
});

const parameters = saidOfParts(
  z
    .array(
      z.strictObject({
        name: said(short, 'Name of the parameter', 'canal', 'parametros.nome'),
        value: said(long, 'Its value, at most 2000 characters', 'web', 'parametros.valor'),
      }),
    )
    .max(50)
    .optional(),
  'Parameters that the service has agreed with you, at most 50',
  'parametros',
);
const fee = {
  feeCents: said(cents.optional(), 'Fee, as an amount', 0, 'VlrTAC'),
  feePercent: said(percent.optional(), 'Fee, as a share', 0, 'PercTAC'),
};
const withdrawalAmount = said(cents.optional(), 'Amount of the loan', 100_000, 'VlrEmprestimo');
const withdrawalRate = said(rate.optional(), 'Rate: 179 is 1.79 %', 179, 'TaxaMensal');
const cached = said(
  z.boolean().optional(),
  "true: the balance that the service has kept; false: it asks the savings bank. Left out: the service's default, true",
  true,
  'ConsultaCache',
);
const reason = said(
  reasonGiven,
  'Why, in 1 to 2000 characters; blanks alone are refused. Kept with who asked and when',
  '<why>',
  'none',
);

/** By step; of `amend` by kind of flow. */
export const stepBodies = {
  amend: order(
    z.strictObject({
      contract: said(
        z.strictObject(contractTerms).optional(),
        'Of a contract: its terms from now on, all of them',
        exampleTerms,
        'none',
      ),
      renegotiation: saidOfParts(
        z
          .strictObject({
            installments: said(term, 'Number of monthly instalments of the new loan', 12, 'numeroParcelas'),
            rateHundredths: said(
              rate.optional(),
              'Rate: 150 is 1.50 %; left out: the one that the flow has',
              150,
              'valorTaxaMensal',
            ),
          })
          .optional(),
        'Of a renegotiation: its terms from now on',
        'none',
      ),
      link: saidOfParts(
        z.strictObject(link).optional(),
        'The corrected link of the same worker; it is asked for its margin where none of the last 24 hours is known',
        'none',
      ),
      authorisationNumber: said(
        digits.optional(),
        "A new NSU of the worker's authorisation, 1 to 40 digits, for the link named here or the one that the flow has",
        '880012',
        'autorizacao.nsuAutorizacaoDigital',
      ),
      despiteEvents,
      despiteBid,
      despiteOriginal,
    }),
    'AmendStep',
    'What is different from now on; what is left out stays',
    { authorisationNumber: '0' },
  ),
  sign: order(
    z.strictObject({
      signedAt: said(
        instant,
        'When the worker signed, with its zone; after the note was generated and in the same competence',
        '2026-03-03T15:00:00Z',
        'none',
      ),
      content: said(
        anything,
        'Sent to /contrato/oferta-leilao/averbar-contrato as it is, every digit kept: the contract does not show its fields. A field that names a note, a proposal or a CPF names those of this flow: `note.noteNumber`, `note.proposalCode` and the worker',
        { numeroContrato: '<credit note>', assinatura: '<biometrics>' },
        'none',
      ),
      despiteEvents,
    }),
    'SignStep',
    "The worker's signature with facial biometrics",
  ),
  cancel: order(z.strictObject({ reason, despiteEvents }), 'CancelStep', 'Why it ends here'),
  confirm: order(
    z.strictObject({
      reason,
      requestCode: said(
        short.optional(),
        'The code that the service gave it, under which its events come; of an inclusion, the code of the proposal. One that a flow has already is refused. A wrong one is corrected by another confirm: of a contract until it is signed, of a proposal until the service has answered under it',
        '<request code>',
        'CodigoRequisicao',
      ),
      despiteEvents,
    }),
    'ConfirmStep',
    'An unclear operation was done',
  ),
  deny: order(
    z.strictObject({
      reason,
      despiteEvents,
      despiteRenegotiation: said(
        z.boolean().optional(),
        'Of a contract whose note was renegotiated here: say all the same that it was not done; left out or false: refused then, and the renegotiation is named',
        false,
        'none',
      ),
    }),
    'DenyStep',
    'An unclear operation was not done',
  ),
  regenerate: order(z.strictObject({ reason, despiteEvents }), 'RegenerateStep', 'Why it is generated again'),
  accept: order(
    z.strictObject({
      reason,
      figures: said(
        z.literal(true).optional(),
        'The note, or what is said of the proposal, is taken as it stands. Needed only where a note that came late waits beside it (`lateNote`): that one is taken first, or with it',
        true,
        'none',
      ),
      late: said(
        z.literal(true).optional(),
        'The note that came late was seen. Needed only where the note of the flow is not as ordered too: alone it takes that one note, together with `figures` both',
        true,
        'none',
      ),
    }),
    'AcceptStep',
    'Why the note is taken although it differs',
    { reason: '<why>' },
  ),
  simulation: order(
    z.strictObject({
      balanceCents: said(
        cents.optional(),
        'Balance to calculate with; given, the real one is not used',
        500_000,
        'Saldo',
      ),
      balanceAlone: said(
        z.boolean().optional(),
        "Reckon with the balance given and leave the worker's CPF out; it does not count as the worker's simulation",
        false,
        'none',
      ),
      amountCents: withdrawalAmount,
      rateHundredths: withdrawalRate,
      ...fee,
      ...birth,
      cached,
      credential: said(digits.optional(), 'Credential at the savings bank: 1 to 40 digits', '12', 'Credencial'),
      transfers,
    }),
    'SimulationStep',
    '/FGTS/BuscarSimulacaoMultiPeriodo of the contract',
    { birthDate: '1990-05-17', cached: true },
  ),
  inclusion: order(
    z.strictObject({
      operationCode: said(short.optional(), 'Code of the operation', 'OP-1', 'CodigoOperacao'),
      amountCents: withdrawalAmount,
      period: said(
        measured(z.int().min(1).max(100), 'a count').optional(),
        'How many yearly withdrawals are pledged, as simulated',
        3,
        'Periodo',
      ),
      ...birth,
      rateHundredths: withdrawalRate,
      ...fee,
      insuranceCents: said(cents.optional(), 'Insurance', 0, 'VlrSeguro'),
      contractType: said(short.optional(), 'Type of contract', '1', 'TipoContrato'),
      partnerDocument: said(
        short.optional(),
        'CNPJ of the corresponding partner',
        '12345678000195',
        'DocumentoParceiroCorrespondente',
      ),
      account: saidOfParts(
        z
          .strictObject(accountFields(pascal))
          .partial()
          .extend({
            bankCode: said(bankCodes.optional(), "The service's own code of the bank", 1, 'CodigoBanco'),
            holderCpf: said(
              cpf.optional(),
              'CPF of the holder: 11 digits; it has to be that of the worker',
              exampleCpf,
              'DocumentoFederalPagamento',
            ),
            holderName: said(short.optional(), 'Name of the holder', 'Maria Exemplo', 'NomePagamento'),
          })
          .optional(),
        'The account that is paid',
        'PropostaContaPagamento',
      ),
      pix: saidOfParts(
        z
          .strictObject({ key: said(short, 'The Pix key', 'maria@exemplo.example', 'PropostaPIXPagamento.ChavePIX') })
          .optional(),
        'Paid to a Pix key instead of an account',
        'PropostaPIXPagamento',
      ),
      splits: saidOfParts(
        z
          .array(z.strictObject(splitFields(pascal)))
          .max(50)
          .optional(),
        'Entries of payments, at most 50',
        'PropostaLancamentos',
      ),
      cached,
      transfers,
      despiteSimulation,
      despitePayee,
    }),
    'InclusionStep',
    '/FGTS/IncluirProposta of the contract',
    {
      ...{ period: 3, birthDate: '1990-05-17' },
      account: { ...openAccount, holderCpf: exampleCpf, holderName: '<holder name>' },
    },
  ),
  proposal: order(
    z.strictObject({
      dto: said(
        anything.optional(),
        'Sent as it is: the contract does not show its fields. Left out or empty: `CodigoProposta` with the proposal of this flow',
        {},
        'dto',
      ),
    }),
    'ProposalStep',
    '/FGTS/ConsultaProposta of the contract',
    {},
  ),
  installments: order(
    z.strictObject({
      installments: said(term.optional(), 'Number of instalments asked for', 12, 'QtdeParcelas'),
      asOf: said(day.optional(), 'Day as of which they are calculated, as YYYY-MM-DD', '2026-03-10', 'DtCalculo'),
    }),
    'InstallmentsStep',
    '/FGTS/ConsultarParcelas of the contract',
  ),
  splits: order(
    z.strictObject({
      splits: saidOfParts(
        z
          .array(
            z.strictObject({
              ...splitFields(camel),
              portability: saidOfParts(
                z
                  .strictObject({
                    number: said(short, 'Number of the portability', '20260310000001', 'portabilidadeCLT.nuPortIddCTC'),
                  })
                  .optional(),
                'Portability of a payroll loan',
                'portabilidadeCLT',
              ),
            }),
          )
          .max(50)
          .optional(),
        'Entries of payments and transfers, at most 50',
        'lancamentos',
      ),
      parameters,
      despitePayee,
    }),
    'SplitsStep',
    '/Proposta/SalvarLancamento of the contract',
    { splits: [{ fieldId: 'A', amountCents: 1_000, pixKey: { key: '<pix key>' } }] },
  ),
  signers: order(
    z.strictObject({
      signers: saidOfParts(
        z
          .array(
            z.strictObject({
              name: said(short.optional(), 'Name of the signer', 'Maria Exemplo', 'nome'),
              email: said(short.optional(), 'E-mail address', 'maria@exemplo.example', 'email'),
              document: said(cpf, 'CPF of the signer: 11 digits', exampleCpf, 'documento'),
              description: said(short.optional(), 'What the signer is to the contract', 'titular', 'descricao'),
              mobile: said(short.optional(), 'Mobile telephone', '11999990000', 'telefoneCelular'),
              notifyByEmail: said(z.boolean().optional(), 'Whether an e-mail tells of it', false, 'notificarPorEmail'),
              notifyByWhatsapp: said(
                z.boolean().optional(),
                'Whether a WhatsApp message tells of it',
                false,
                'notificarPorWhatsApp',
              ),
              signedAt: said(instant, 'When it was signed, with its zone', '2026-03-03T15:00:00Z', 'dtAssinatura'),
              ip: said(short, 'IP address that it was signed from', '203.0.113.9', 'ipAssinatura'),
            }),
          )
          .min(1)
          .max(10),
        'Those who have signed in your own system, 1 to 10',
        'assinantes',
      ),
    }),
    'SignersStep',
    '/Proposta/IncluirAssinaturaCCBFinalizada of the contract',
    {
      signers: [{ name: '<name>', document: exampleCpf, signedAt: '2026-03-03T15:00:00Z', ip: '<ip address>' }],
    },
  ),
  finalisation: order(z.strictObject({ parameters }), 'FinalisationStep', '/Proposta/Finalizar of the contract', {}),
  'account-update': order(
    z.strictObject({
      fields: said(
        anything,
        "Sent as they are beside the proposal's locator: the contract does not show the fields of the new account. They have the names that it has for accounts elsewhere, in any case: codigoBanco, numeroBanco, tipoConta, agencia, agenciaDig, conta, contaDig, documentoFederalPagamento, nomePagamento, chavePIX, alone or within propostaContaPagamento. The holder's document has to be among them, and is the worker's CPF; a Pix key that is the worker's CPF needs none",
        {
          ...{
            numeroBanco: '341',
            tipoConta: 2,
            agencia: '<branch>',
            agenciaDig: '9',
            conta: '<account>',
            contaDig: '0',
            documentoFederalPagamento: exampleCpf,
          },
        },
        'none',
      ),
      otherNames: said(
        z.boolean().optional(),
        "The service has told you other names for these fields; send the worker's CPF in the one for its holder, for without it they are refused. Left out or false: a name that the contract does not have for accounts is refused",
        false,
        'none',
      ),
    }),
    'AccountUpdateStep',
    '/Proposta/AtualizarContaPagamento of the contract',
  ),
} as const satisfies Record<(typeof flowSteps)[number], z.ZodType>;

export const stepTexts: Readonly<Record<(typeof flowSteps)[number], string>> = {
  amend: 'Change terms, link or authorisation where a rule or the service stands in the way',
  sign: "Hand in the worker's signature; the endorsement follows",
  cancel: 'End it where it stands',
  confirm:
    'Say that an unclear operation was done, as seen at the service; also an endorsement that was refused after one was denied, or because the contract is endorsed already',
  deny: 'Say that an unclear operation was not done, as seen at the service; also an endorsement that counts as done',
  regenerate:
    'Generate it again: the note does not come, or is not to be signed; what was generated before counts no more',
  accept:
    'Take the credit note as it is, although its figures are not ours; of a withdrawal, the proposal as the service says it is',
  simulation: 'Simulate several periods',
  inclusion: 'Include the proposal',
  proposal:
    'Ask (again) where the proposal stands (ConsultaProposta). The contract has no query for a credit note alone; the answer to this one names the note and its figures, is found among the results, and moves the flow nowhere',
  installments: 'Ask for the instalments as of a day',
  splits: 'Add entries of payments and transfers',
  signers: 'Register those who have signed',
  finalisation: 'Finalise, once all have signed',
  'account-update': 'Change the account that is paid',
};

const sentAgain =
  'The operation is made ready and sent again at once, unless a rule stands in the way. Where it is not wanted any more, do not send this: while the operation is unclear nothing is sent, and `cancel` is not possible. `cancel` ends the flow where `nextSteps` names it';
/** What follows from a step, where its summary does not say it. */
export const stepNotes: Partial<Record<(typeof flowSteps)[number], Partial<Record<FlowKind, string>>>> = {
  deny: {
    contract: `${sentAgain}. An endorsement that the service said no to, or that counts as done, is not sent again by itself: the flow is \`endorsement-refused\` then. One that was shown to be done is denied with a token or a log-in of one's own, and then settled by a second person (\`lateSuccesses\`)`,
    renegotiation: sentAgain,
    withdrawal:
      'Nothing is sent by itself: the step of the operation can be asked for again, and `cancel` ends the flow where `nextSteps` names it',
  },
};

// --- Parts of addresses ---------------------------------------------------------------------------------------------

export const flowParams = z.object({
  flowId: said(
    z.string().regex(/^[\w.-]{1,100}$/, 'send the id of a flow: 1 to 100 letters, digits, points, hyphens'),
    'Id of the flow, as lists and answers name it',
    `c-${exampleRequest}`,
  ),
});
export const eventParams = z.object({
  flowId: said(
    z.string().regex(/^event:[^\s/]{1,200}$/, 'send the id of an event, such as event:CODE'),
    'Id of the event, as lists name it',
    'event:6f1e2d3c-0000-4000-8000-000000000001',
  ),
});
export const resultParams = flowParams.extend({
  operation: said(
    z.string().regex(/^[a-z-]{1,40}$/, 'send the name of an operation, such as simulation'),
    'Name of the operation, one of the keys of `results`; `payments`: where the money goes, with the accounts, keys and names that `payments` of the flow shows in part',
    'simulation',
  ),
});
export const requestParams = z.object({
  requestId: said(
    digits,
    'Id of the request: 1 to 40 decimal digits, leading zeros do not count',
    exampleRequest,
    'numeroSolicitacao',
  ),
});

// --- Answers --------------------------------------------------------------------------------------------------------

export const time = measured(z.number(), 'epoch ms');
const amount = measured(z.number(), 'whole cents of a real');
const rateHundredths = measured(z.number(), 'hundredths of a percent a month');
const count = measured(z.number(), 'a count');
export const wholeCount = measured(z.int(), 'a count');
const percentMonthly = measured(z.number(), 'percent a month');
const percentAnnual = measured(z.number(), 'percent a year');

const flowTerms = z.looseObject({
  amountCents: said(amount.nullable().optional(), 'Released to the worker', 100_000, 'valorLiberado'),
  installmentCents: said(amount.nullable().optional(), 'Instalment', null, 'valorParcela'),
  installments: said(count.nullable().optional(), 'Number of instalments', 12, 'numeroParcelas'),
  rateHundredths: said(rateHundredths.nullable().optional(), 'Rate', 150, 'valorTaxaMensal'),
  insuranceCents: said(amount.nullable().optional(), 'Insurance', null, 'valorSeguro'),
});

const noteSchema = z.looseObject({
  noteNumber: said(z.string().nullable().optional(), 'Number of the credit note (CCB)', exampleNote, 'NumeroCCB'),
  proposalCode: said(
    z.string().nullable().optional(),
    'Code that the service gave together with the note, by which the note is printed; `ContratoProposta` of a renegotiation. Not to be mixed up with the `proposalCode` of the flow, which was given before there was a note',
    'PR-1',
    'CodigoProposta',
  ),
  loanCents: said(
    amount.nullable().optional(),
    'Released value, IOF and insurance together',
    102_000,
    'ValorEmprestimo',
  ),
  iofCents: said(amount.nullable().optional(), 'IOF', 2_000, 'ValorIOF'),
  insuranceCents: said(amount.nullable().optional(), 'Insurance', 0, 'ValorSeguro'),
  installmentCents: said(amount.nullable().optional(), 'Instalment', 9_370, 'ValorParcela'),
  rateMonthlyPercent: said(percentMonthly.nullable().optional(), 'Rate', 1.5, 'ValorTaxaMensal'),
  rateAnnualPercent: said(percentAnnual.nullable().optional(), 'Rate', 19.56, 'ValorTaxaAnual'),
  cetMonthlyPercent: said(percentMonthly.nullable().optional(), 'Effective cost (CET)', 1.81, 'ValorCETMensal'),
  cetAnnualPercent: said(percentAnnual.nullable().optional(), 'Effective cost (CET)', 24.03, 'ValorCETAnual'),
  unreadable: said(
    z.array(z.string()).readonly().optional(),
    'Figures that the note writes in a way that cannot be read, or twice with other values: nobody can sign it, and only the note of a renegotiation can be accepted, by who has read it as it is printed. What was written stands in the history of the flow, for operators and admins; left out: none',
    [],
    'none',
  ),
});

/** Figures of a note are in cents, or in hundredths of a percent where their name says so. */
const figure = measured(z.number(), 'a number as it stands, without a unit');

/** A flow as everybody may see it: nothing in it names a person. */
const payeeSchema = z.object({
  bankNumber: said(z.string().optional(), 'Number of the bank, three digits', '341'),
  bankCode: said(z.string().optional(), "The service's own code of the bank", '1'),
  accountType: said(z.string().optional(), 'Kind of account: 1 savings, 2 checking', '2'),
  branch: said(z.string().optional(), 'Number of the branch', '0001'),
  branchDigit: said(z.string().optional(), "The branch's check digit", '9'),
  account: said(z.string().optional(), 'Number of the account', '123456'),
  accountDigit: said(z.string().optional(), "The account's check digit", '0'),
  holderName: said(z.string().optional(), 'Name of whoever is paid', 'Maria Exemplo'),
  holderDocument: said(
    z.string().optional(),
    'CNPJ of whoever is paid, or the middle of the CPF; a Pix key that is a CPF is shown so, too',
    '***.982.247-**',
  ),
  pixKey: said(z.string().optional(), 'The Pix key', 'maria@exemplo.example'),
  emv: said(z.string().optional(), 'The text of the Pix code', examplePixCode),
  paymentLine: said(z.string().optional(), 'Line of digits of the payment slip', examplePaymentLine),
  portability: said(z.string().optional(), 'Number of the portability', '20260310000001'),
});
const paymentSchema = z.object({
  of: said(
    z.enum(['contract', 'inclusion', 'splits', 'account-update']),
    'What says so: the order of a contract, or this step',
    'contract',
  ),
  at: said(time.nullable(), 'When it was sent; null: it is not', exampleTime + 3_000),
  status: said(
    z.enum(['ordered', 'unclear', 'taken']),
    'ordered: not sent; unclear: it is being sent, or nobody knows what became of it; taken: by the service',
    'taken',
  ),
  to: saidOfParts(payeeSchema, 'Whom; what was not sent is left out'),
  amountCents: said(amount.nullable(), 'Of a split: what is paid; null: the loan, or the service decides', null),
  paidOn: said(z.string().nullable(), 'Of a split: the day of the payment; null: the service decides', null),
  others: said(
    z.record(z.string(), z.string()),
    'Of `account-update`: fields that the contract has no name for, as they were sent',
    {},
  ),
});

export const flowSchema = answerNamed(
  z.object({
    flowId: said(z.string(), 'Its id', `c-${exampleRequest}`),
    flow: said(z.enum(flowKinds), 'What it is; `event` is something told under a code that no flow knows', 'contract'),
    phase: said(
      z.enum([...new Set<FlowPhase>(flowKinds.flatMap((flow) => flowPhases[flow]))]),
      'Where it stands. Each list takes the phases of its kind as `phase`. `endorsed`: the service has received it for endorsement, or has endorsed it; release no money before `shownDone` is true',
      'awaiting-signature',
    ),
    shownDone: said(
      z.boolean(),
      'Of a contract: it is `endorsed`, and the service has said that the endorsement was done, by a callback or in its answer, or a person has confirmed it. Of a withdrawal: the service has said that it is released (`situation`), by a number that `flows.situations` explains. false: it is not, or the service has only received it for endorsement',
      false,
    ),
    startedAt: said(time, 'When it was begun', exampleTime),
    changedAt: said(time, 'When its latest record was written', exampleTime + 5_000),
    by: said(z.string().nullable(), 'Name of the token, or of the person at the command line, that began it', 'ana'),
    requestId: said(
      z.string().nullable(),
      'Of a contract: the request that its bid was won for',
      exampleRequest,
      'numeroSolicitacao',
    ),
    closedContract: said(
      z.string().nullable(),
      'Of a renegotiation: the contract that was closed',
      null,
      'numeroContratoEncerrado',
    ),
    worker: said(
      z.string().nullable(),
      'The middle of the CPF of the worker; null: the order does not name one, or your token is neither of an operator nor of an admin',
      '***.982.247-**',
    ),
    amountCents: said(
      amount.nullable(),
      'What the loan comes to. Of a contract: what is released to the worker, as ordered; where an instalment was ordered, the loan of the credit note. Of a renegotiation: the loan of the credit note (`note.loanCents`), which has IOF and insurance in it. Of a withdrawal, for operators and admins alone: what was included, else simulated, and what the service says that it credits, the smaller one of the two. null before it is known, and of a lookup. What a contract releases, however it was ordered, is `releasedCents`',
      1_000_000,
    ),
    releasedCents: said(
      amount.nullable(),
      'Of a contract: what is released to the worker, as ordered; where an instalment was ordered, the loan of the credit note without its IOF and insurance. null before the note says it, and of every other flow',
      1_000_000,
    ),
    terms: saidOfParts(flowTerms.nullable(), 'What is asked for; null of a withdrawal'),
    payments: saidOfParts(
      z.array(paymentSchema).nullable(),
      'Where the money goes, in the order in which it was said: the account of the order or of the inclusion, splits, and other accounts; of accounts the last one that was taken counts. Accounts, keys and payment lines are shown by their end, documents by their middle, names by their initials; the result `payments` has them whole, and who reads it is recorded. null: your token is neither of an operator nor of an admin',
    ),
    operation: saidOfParts(
      z
        .object({
          operation: said(z.string(), 'Its name', 'contract'),
          status: said(
            z.string(),
            'asked: to be prepared; intended: its bytes are durable; unclear: it may have been done, and somebody has to say; done; rejected; withheld; not-sent',
            'done',
          ),
          attempts: said(
            count,
            'How often its bytes were sent, of the attempts that have ended, with an answer or without one. One that is under way is not counted yet: while the status is `intended` it may be 0 although bytes are on their way. What ended before a byte was sent does not count. More than 1 only with an idempotency key, or where the service turned it away with 401 or 429: without a key it is sent at most 3 times then',
            1,
          ),
          retryAt: said(time.nullable(), 'Not to be tried again before', null),
          reason: said(
            z.string().nullable(),
            'Why it stands as it stands. `(sealed)` stands for a refusal that the service gave no code for: its words are among `errors`, for operator and admin',
            null,
          ),
        })
        .nullable(),
      'The operation of the service that it is at, or was at last',
    ),
    requestCode: said(
      z.string().nullable(),
      'The code under which the service tells of it',
      '6f1e2d3c-0000-4000-8000-000000000001',
      'CodigoRequisicao',
    ),
    proposalCode: said(
      z.string().nullable(),
      'Code of the proposal. Of a contract: of the one that the won bid became, as the event that told of its inclusion names it (`codigo`). Of a withdrawal: `CodigoProposta` of the answer to its inclusion, or of the order. null of a renegotiation. The credit note has a code of its own, `note.proposalCode`; the two may differ',
      '0a2c4e68-0000-4000-8000-000000000002',
      'CodigoProposta',
    ),
    namedProposal: said(
      z.string().nullable(),
      'Of a withdrawal, for operators and admins: what the last answer to the step `proposal` names the proposal by, other than `proposalCode`: its own number, or, with the rule `proposal-of-flow` in `breaches`, another proposal; null: nothing else',
      '2026000123',
      'CodigoProposta',
    ),
    otherProposals: said(
      z.array(z.string()),
      'Of a withdrawal: other codes that the service named for its inclusion, beside a refusal, in an answer that left open whether it was done, or beside `proposalCode`: such a proposal may stand there too. Where another one than `proposalCode` was named, nothing is signed, split or finalised before somebody has taken the step `accept`',
      ['0a2c4e68-0000-4000-8000-000000000002'],
    ),
    situation: saidOfParts(
      z
        .object({
          code: said(figure, 'The number that the service gave', 5),
          state: said(
            z.enum(['approved', 'finalized', 'released', 'pending-payment', 'other']).nullable(),
            'What it means by `flows.situations` of the configuration; null: it does not say',
            'released',
          ),
          at: said(time.nullable(), 'When it was said; null: nobody knows any more', exampleTime + 9_000),
        })
        .nullable(),
      'Where the service last said that the proposal stands, in its answer to the step `proposal`; null: it was not asked. `released`: the money is out',
    ),
    generations: said(wholeCount, 'Contracts generated: more than one where the competence turned', 1),
    generatedAt: said(time.nullable(), 'When the contract that counts was generated', exampleTime + 3_000),
    note: saidOfParts(noteSchema.nullable(), 'The credit note that came'),
    differences: saidOfParts(
      z.array(
        z.object({
          field: said(z.string(), 'Which figure; its unit is the end of its name', 'iofCents'),
          ours: said(figure, 'What Lance calculated', 2_000),
          theirs: said(figure, 'What the note says, or the answer about the proposal', 2_001),
        }),
      ),
      'Figures of the credit note that our own arithmetic does not confirm. Of a withdrawal, for operators and admins alone: figures of the last answers to the step `proposal` that are not as simulated and included; it is signed and finalised only after the step `accept`',
    ),
    ending: said(
      z.enum(['cancellation', 'rejection']).nullable(),
      'Of a withdrawal: of which kind the reason is that the service last gave for the end of its proposal (`MotivoCancelamento`, `MotivoRejeicao`); null: it gave none. While one stands here, the proposal is split, signed and finalised only after the step `accept`',
      null,
    ),
    notSaid: said(
      z.array(z.string()),
      'Figures that the credit note leaves out, that cannot be read, or that are a loan or an instalment of nothing or less: the loan, the instalment, the rate. It is signed only after the step `accept`. Of a withdrawal: the credit, the rate or the number of instalments, where no answer about its proposal has named it yet',
      [],
    ),
    noteHolder: said(
      z.string().nullable(),
      'Another flow that has had a note of this number or with this proposal; null: none is known. Neither is signed while both have it',
      null,
    ),
    noteAgain: saidOfParts(
      z
        .object({
          at: said(time, 'When it was told', exampleTime + 8_000),
          note: saidOfParts(
            noteSchema.nullable(),
            'The other note; null: the service told that it failed, or something that cannot be read (`callback-unread` in `errors`)',
          ),
        })
        .nullable(),
      'What the service told last for the same contract, where it is not `note`: that one stands, and is signed only after the step `accept`',
    ),
    notesAgain: saidOfParts(
      z.array(noteSchema),
      'All notes that the service told for the same contract and that are not `note` or `lateNote`, each once: callbacks may come in any order. What is above the bid in one of them lets nobody take the note with the step `accept`',
    ),
    lateNote: saidOfParts(
      z
        .object({
          at: said(time, 'When it was told', exampleTime + 8_000),
          requestCode: said(z.string(), 'Under which code', '6f1e2d3c-0000-4000-8000-000000000001', 'CodigoRequisicao'),
          note: saidOfParts(noteSchema, 'The note'),
          isLast: said(
            z.boolean(),
            'true: it is of the latest generation, so a cancelled flow takes it up with the step `accept` and goes on with it',
            true,
          ),
        })
        .nullable(),
      'A note that came after the flow was cancelled or generated again; null: none, or somebody has seen it. It stands at the service and is never signed by itself. While it stands here nothing else is signed either: the step `accept`, with a reason, takes it up where the flow is cancelled and it is the latest, and else says that it was seen. Where `note` is not as ordered too, the step names what it takes (`figures`, `late`)',
    ),
    lateSuccesses: saidOfParts(
      z.array(
        z.object({
          at: said(time, 'When it was told', exampleTime + 8_000),
          operation: said(z.string(), 'Which operation', 'endorsement'),
          code: said(
            z.string().nullable(),
            'Its request code, or the code of the proposal of an inclusion; null: the service named none',
            '6f1e2d3c-0000-4000-8000-000000000001',
          ),
          noteNumber: said(
            z.string().nullable(),
            'Number of the note that it endorsed; null: of another operation',
            '9000',
          ),
          deniedBy: said(
            z.string().nullable(),
            'Who denied it after it was shown to be done; null: nobody, the service told it late',
            'bruno',
          ),
        }),
      ),
      'Operations that count as not done here, or as given up, and that the service told late to be done, or that were shown to be done and are denied by a person. Nothing is signed, included, split or finalised before the oldest one is settled: where its contract is endorsed, the step `confirm` takes it over; once it is undone or settled at the service, the step `accept` with a reason says so: of an endorsement that was told to be done a person who neither ordered the contract nor signed or confirmed it. Of one that is denied (`deniedBy`) another person says so, nothing is generated again, cancelled or ordered anew before, and a callback of the service under the code of the endorsement settles it too (a failure under the code of the contract does not)',
    ),
    earlierNotes: said(
      z.array(z.string()),
      'Numbers of notes that the flow had before it was cancelled and begun again, or generated again; the latest last. They stand at the service, which was told nothing of it; one that was sent to be endorsed may be endorsed there',
      ['9000'],
    ),
    noteAccepted: saidOfParts(
      z.object({ by: said(z.string(), 'Who', 'ana'), at: said(time, 'When', exampleTime + 9_000) }).nullable(),
      'Who took the note as it is, although figures of it differ or it is doubtful; of a withdrawal, what was said of its proposal',
    ),
    breaches: saidOfParts(
      z.array(
        z.object({
          field: said(z.string(), 'Which field of the order, or fact', 'rateHundredths'),
          rule: said(z.string(), 'Stable name of the rule', 'rate-within-bid'),
          problem: said(z.string(), 'What is wrong, in words', 'is above the rate of the bid'),
        }),
      ),
      'Rules of the contract that stand in the way of what was to be sent',
    ),
    barriers: saidOfParts(
      z.array(
        z.object({
          field: said(z.string(), 'Which field of the step, or the step itself', 'step'),
          rule: said(z.string(), 'Stable name of the rule', 'proposal-asked'),
          problem: said(
            z.string(),
            'What has to be done first, in words',
            'ask for the proposal first (step proposal)',
          ),
        }),
      ),
      'Why steps that are due would be refused where the flow stands now; empty: they would be taken, or none is due',
    ),
    errors: said(
      z.array(z.string()),
      'What stands against it: words of the service for operator and admin, its codes for others; reasons of our own, such as `authorisation-missing`, for all. `(sealed)` stands for an error whose words are for operator and admin alone and that has no code; they see it as well where the words cannot be opened any more, because the pseudonym key is another one',
      ['margem indisponível'],
    ),
    steps: saidOfParts(
      z.array(
        z.object({
          stepId: said(
            z.string(),
            'Idempotency key of the step for operator and admin, unless it may hold a CPF or an address; its place for others',
            'sign-1',
          ),
          step: said(z.string(), 'Name of the step', 'sign'),
          by: said(z.string(), 'Who asked for it', 'ana'),
          at: said(time, 'When it was asked for', exampleTime + 8_000),
          outcome: said(
            z.string(),
            'pending, done, rejected, withheld, unclear, or ignored: not allowed where the flow stood',
            'done',
          ),
        }),
      ),
      'Steps that were asked for, latest last',
    ),
    results: said(
      z.record(z.string(), time),
      'Operations with an answer that can be read at `/results/OPERATION`, and when it came. Unit: epoch ms',
      { contract: exampleTime + 3_000 },
    ),
    owner: said(z.string().nullable(), 'Of an event: the flow that it turned out to be of', null),
    frozen: said(
      z.string().nullable(),
      'What could not be processed of it: nothing is done until somebody has looked',
      null,
    ),
    waitingEvents: said(
      z.array(z.string()).optional(),
      'Where one flow is read: request codes of events of no flow that may tell of what is unclear, or of the note that it awaits; the step `confirm` with the right one gives it to the flow',
      [],
    ),
    nextSteps: said(
      z.array(z.enum(flowSteps)),
      'Steps that may be asked for now, and are not refused for where the flow stands',
      ['sign', 'cancel'],
    ),
    waitsFor: said(
      z.array(z.enum(flowSteps)),
      'Of these, the steps without which it does not go on; empty: it waits for the service, or for nothing',
      ['sign'],
    ),
  }),
  'Flow',
  'Where a contract, a renegotiation or a withdrawal stands',
);
const next = said(z.string().nullable(), '`before` of the next page; null: there is none', null);
export const flowPage = answerNamed(
  z.object({ flows: saidOfParts(z.array(flowSchema), 'Latest first'), next }),
  'FlowPage',
  'A page of flows',
);

const wonBid = z.object({
  requestId: said(z.string(), 'Id of the request', exampleRequest),
  state: said(z.enum(['proposed', 'contemplated']), 'State of the bid', 'contemplated'),
  amountCents: said(cents.nullable(), 'Amount that was bid, in whole cents of a real; null: not known', 1_000_000),
  decidedAt: said(time.nullable(), 'When it was decided; null: not known', exampleTime),
  endsAt: said(time.nullable(), 'When it counts as expired; null: not known', exampleTime),
  cancelled: saidOfParts(
    z
      .object({
        flowId: said(z.string(), 'The contract', `c-${exampleRequest}`),
        by: said(z.string().nullable(), 'Who cancelled it; null: not known', 'ana'),
        at: said(time, 'When', exampleTime),
        orders: said(measured(z.int(), 'a count'), 'How often it was ordered', 1),
      })
      .nullable(),
    'Its contract was ordered and cancelled, and may be ordered again; null: never ordered',
  ),
});

export const contractPage = answerNamed(
  z.object({
    flows: saidOfParts(z.array(flowSchema), 'Latest first'),
    next,
    wonBids: saidOfParts(
      z.array(wonBid).optional(),
      'Won bids whose contract nobody has ordered, the first to expire first; on the first page of `waitsFor=person` only, as many as `limit` says',
    ),
    wonBidsWhole: said(z.boolean().optional(), 'Where there are any such: false: there may be more of them', true),
  }),
  'ContractPage',
  'A page of contracts, and won bids whose contract nobody has ordered',
);

const unknownWinner = z.object({
  kind: said(z.enum(['contemplated', 'proposed']), 'What the service told', 'contemplated'),
  requestCode: said(z.string(), 'Code under which it was told; `***` where it may be the number of a person', 'l-1'),
  proposalCode: said(z.string().nullable(), 'Code of the proposal, where it says one; `***` as above', null),
  at: said(time, 'When it came', exampleTime),
  validUntil: said(time.nullable(), 'Until when the proposal is valid, where it says so', null),
});

export const eventPage = answerNamed(
  z.object({
    flows: saidOfParts(z.array(flowSchema), 'Latest first'),
    next,
    unknownWinners: saidOfParts(
      z.array(unknownWinner),
      'Winner events that no bid of the desk has, latest first: ask the service for the request, then resolve its bid as `contemplated`. On the first page of `unclaimed` only',
    ),
    unknownWinnersWhole: said(
      z.boolean(),
      'False: there may be more of them. Too many callbacks wait to look at all, or another process may know the bids',
      true,
    ),
  }),
  'EventPage',
  'A page of events, and winner events whose bid is unknown',
);

export const historySchema = answerNamed(
  z.object({
    records: said(
      z.array(z.record(z.string(), z.unknown())),
      'In log order. Each has `kind`, `flowId` and `at` (epoch ms); the others follow from the kind',
      [{ kind: 'started', flowId: `c-${exampleRequest}`, at: exampleTime, flow: 'contract', by: 'ana' }],
    ),
  }),
  'FlowHistory',
  'The records of a flow',
);

export const resultSchema = answerNamed(
  z.object({
    at: said(time, 'When the answer came', exampleTime + 3_000),
    refused: said(z.boolean(), 'Whether the service said no', false),
    answer: said(z.unknown(), "The service's answer, every digit kept", { HasError: false, Messages: null }),
  }),
  'OperationResult',
  "The service's last answer to an operation",
);

export const pageQuery = z.object({
  limit: said(
    measured(z.coerce.number().int().min(1).max(200), 'a count').default(50),
    'How many at most: 1 to 200',
    50,
  ),
  before: said(
    z
      .string()
      .regex(/^[\d]{15}:[\w.:-]{1,200}$/, 'send `next` of the page before, as it came')
      .optional(),
    '`next` of the page before',
    `001772550000000:${exampleRequest}`,
  ),
});
const phaseQuery = (flow: FlowKind, text: string) => {
  const known: readonly FlowPhase[] = flowPhases[flow];
  return { phase: said(z.enum(known).optional(), text, known[0]) };
};
/** Of a list of flows: those that wait for any step of a person. */
export const waitsForAnybody = 'person';
/** `flow`: the kind of all flows of the list. */
export const flowQuery = (flow: Exclude<FlowKind, 'event'>) =>
  pageQuery.extend({
    ...phaseQuery(flow, 'Only flows that stand there'),
    waitsFor: said(
      z.enum([waitsForAnybody, ...stepsOf(flow)]).optional(),
      `Only flows that have this step in \`waitsFor\`; \`${waitsForAnybody}\`: all that wait for a person, whatever for, with those that are frozen. Where many flows are looked at for few, a page may hold fewer than \`limit\`, and none at all, and still have a \`next\``,
      waitsForAnybody,
    ),
    requestId: said(
      digits.optional(),
      'Only flows of this request: 1 to 40 digits, leading zeros do not count',
      exampleRequest,
      'numeroSolicitacao',
    ),
  });
export const eventQuery = pageQuery.extend(phaseQuery('event', 'Only events that stand there; left out: `unclaimed`'));
const moment = measured(z.coerce.number().int().min(0).max(999_999_999_999_999), 'epoch ms');
export const bidQuery = pageQuery.extend({
  state: said(z.enum(phases).optional(), 'Only requests in this state', 'proposed'),
  code: said(
    short.optional(),
    'Only requests with this code of a pass or of a rejection. Codes are those of your rules and of the service as well as our own, so no list of them is complete: a code that no request has finds nothing',
    'paused',
  ),
  batchId: said(short.optional(), 'Only requests of this batch', 'L-20260303-1', 'CodigoLote'),
  segment: said(
    short.optional(),
    'Only requests decided in this segment or in one below it; a decision shows its `segmentKeys`',
    'all|group=private',
  ),
  since: said(moment.optional(), 'Decided, or else received, then or later', exampleTime),
  until: said(moment.optional(), 'Decided, or else received, then or earlier', exampleTime + 60_000),
});

const reviewAnswer = z.enum(['pass', 'bid']);
const review = {
  queue: said(z.string(), 'The queue that the rule names', 'large-amounts'),
  rules: said(z.array(z.string()), 'The rules that want a person asked, the highest priority first', ['Large amounts']),
  askedAt: said(time, 'Since when it waits', exampleTime),
  until: said(time, 'An answer has to come before it', exampleTime + 600_000),
  otherwise: said(reviewAnswer, 'What holds where nobody answers in time', 'pass'),
};
/** Of a request that waits. */
export const reviewFields = {
  requestId: said(z.string(), 'Id of the request', exampleRequest, 'numeroSolicitacao'),
  ...review,
  requestedAmountCents: said(amount.nullable(), 'Amount asked for; null: the request does not say', 2_000_000),
  requestedInstallments: said(count.nullable(), 'Instalments asked for; null: the request does not say', 24),
  availableMarginCents: said(
    amount.nullable().optional(),
    'Free margin of the month, as the request says; null: it does not. Absent: an earlier version says it',
    70_000,
  ),
};

export const missingPartitions = saidOfParts(
  z
    .array(
      z.object({
        partition: said(
          measured(z.int(), 'a number as it stands, without a unit'),
          'Partition of `auctions` whose requests are not on this page',
          3,
        ),
        instance: said(z.string().nullable(), 'Name of the process that was asked; null: no process owns it', null),
        why: said(
          z.enum(unaskedReasons),
          'Why: `no-owner`: no running process says that it owns it; `moved`: it is changing hands; `gone`: its process cannot be reached; `time-limit`: it did not answer in time; `busy`: it answers too many questions already; `refused`: what it sent was no answer',
          'no-owner',
        ),
      }),
    )
    .optional(),
  'On Kafka, where each process folds its own partitions: those that could not be asked, so that the page may lack requests. Ask again; absent: all were asked',
);

const bid = {
  requestId: said(z.string(), 'Id of the request', exampleRequest, 'numeroSolicitacao'),
  batchId: said(z.string().nullable(), 'The batch that it came in', 'L-20260303-1', 'CodigoLote'),
  state: said(z.enum(phases), 'Where it stands', 'proposed'),
  code: said(z.string().nullable(), 'Of a pass or of a rejection: why', null),
  rateHundredths: said(rateHundredths.nullable(), 'Rate of the bid; null: none was made', 150, 'valorTaxaMensal'),
  amountCents: said(amount.nullable(), 'Amount of the bid', 100_000, 'valorLiberado'),
  installments: said(count.nullable(), 'Instalments of the bid', 12, 'numeroParcelas'),
  position: said(count.nullable(), 'Its rank when the auction ended; 1 is best', 1, 'Posicao'),
  decidedAt: said(time.nullable(), 'When it was decided', exampleTime),
  next: said(
    z.enum(['contract-once-the-worker-has-taken-it']).nullable(),
    'What may be done next. A proposal stands in the work-card app, and its contract can be ordered once the worker has taken it there: no event tells that, and the service refuses an order before it. null: nothing, or nothing yet',
    'contract-once-the-worker-has-taken-it',
  ),
  frozen: said(
    z.string().optional(),
    'What could not be processed of it: nothing is sent until somebody has looked',
    'a record of it is unreadable',
  ),
};
const bidSchema = answerNamed(z.object(bid), 'Bid', 'A request and what became of it');
export const bidPage = answerNamed(
  z.object({
    bids: saidOfParts(z.array(bidSchema), 'Latest first'),
    next,
    missing: missingPartitions,
  }),
  'BidPage',
  'A page of requests',
);

const probability = measured(z.number(), 'a probability from 0 to 1');
const annualHundredths = measured(z.number(), 'hundredths of a percent a year');
const offerSchema = z.looseObject({
  rateHundredths: said(rateHundredths, 'Rate', 150, 'valorTaxaMensal'),
  amountCents: said(amount, 'Released to the worker', 100_000, 'valorLiberado'),
  installments: said(count, 'Number of instalments', 12, 'numeroParcelas'),
  installmentCents: said(amount, 'Instalment', 9_370),
  financedCents: said(amount, 'Financed: released value and IOF', 102_000),
  iofCents: said(amount, 'IOF', 2_000),
  cetAnnualHundredths: said(annualHundredths, 'Effective cost (CET)', 2_403),
  expectedValueCents: said(amount, 'What the bid was expected to be worth', 4_200),
  winProbability: said(probability, 'How likely it was to win', 0.42),
  validUntil: said(time, 'How long it holds', exampleTime + 86_400_000, 'dataHoraValidadeLance'),
});
const ownBids = saidOfParts(
  z.array(
    z.looseObject({
      bidId: said(z.string(), 'Code of the bid', '6f1e2d3c-0000-4000-8000-000000000001', 'CodigoLanceLeilao'),
      rateHundredths: said(rateHundredths, 'Its rate, rounded up', 150, 'TaxaDeJurosMensal'),
      offGrid: said(z.boolean(), 'Whether its rate had digits below a hundredth', false),
      amountCents: said(amount, 'Its amount', 100_000, 'ValorLiberado'),
      installments: said(count, 'Its instalments', 12, 'NumeroParcelas'),
      position: said(count, 'Its rank; 1 is best', 1, 'Posicao'),
      placedAt: said(time.nullable(), 'When it was placed', exampleTime, 'DataHoraInclusao'),
    }),
  ),
  'Published bids that may be ours: by their code, or by rate, amount, term and time',
);
const auctionSchema = z.looseObject({
  startedAt: said(time.nullable(), 'When the auction began', exampleTime, 'DataHoraInicioLeilao'),
  endedAt: said(time.nullable(), 'When the auction ended', exampleTime + 60_000, 'DataHoraFimLeilao'),
  bidCount: said(count, 'Bids of all lenders', 4),
  bestRivalCell: said(
    measured(z.number(), 'hundredths of a percent a month').nullable(),
    'Rate of the best rival, rounded up; 498: nobody else bid; null: it could not be told',
    155,
  ),
  bestRivalOffGrid: said(z.boolean(), 'Whether the best rival had digits below a hundredth', false),
  position: said(count.nullable(), 'Our rank', 1, 'Posicao'),
  candidates: ownBids,
  again: saidOfParts(
    z
      .looseObject({
        toldAt: said(time, 'When it was told', exampleTime + 120_000),
        bidCount: said(count, 'Bids of all lenders in it', 4),
        position: said(count.nullable(), 'Our rank in it', 2, 'Posicao'),
        candidates: ownBids,
      })
      .nullable(),
    'Another list that the service published after the first, which counts; where by this one our bid may have won, its money counts until a person or a winner event decides; null: none',
  ),
});
export const decisionSchema = answerNamed(
  z.object({
    ...bid,
    offer: saidOfParts(offerSchema.nullable(), 'What was bid; null: no bid was made'),
    reasons: saidOfParts(
      z.array(
        z.object({
          code: said(z.string(), 'Stable code', 'paused'),
          rule: said(z.string().nullable(), 'Name of the rule, where one said so', null),
          text: said(z.string(), 'In words', 'bidding was paused until the deadline'),
        }),
      ),
      'Why it was decided so',
    ),
    workerTold: saidOfParts(
      z
        .object({
          pt: said(z.string(), 'In Portuguese', 'O prazo do pedido terminou antes que pudéssemos fazer uma oferta.'),
          en: said(z.string(), 'In English', 'The time for the request ended before we could make an offer.'),
        })
        .nullable(),
      'What a worker is told of `code`, in the words of the set that decided; null: there is no code, or nobody wrote it',
    ),
    trace: said(
      z.record(z.string(), z.unknown()).nullable(),
      'All that it was decided from, for risk, operator and admin; null for a viewer',
      { ruleSetHash: '5f3c', decidedAt: exampleTime },
    ),
    hindrances: saidOfParts(
      z.array(
        z.object({
          kind: said(z.enum(['attempt', 'query', 'wait']), 'An attempt to bid, a query of the link, or a wait', 'wait'),
          cause: said(
            z.string(),
            'Why an attempt or a query came to nothing, such as `unauthorised`, `throttled` or `status-422`; of a wait a cause of closed bidding, or `link`',
            'service-unauthorised',
          ),
          count: said(wholeCount, 'Attempts or queries in a row that ended alike; 1 of a wait', 1),
          from: said(time, 'When it began', exampleTime),
          until: said(time, 'When it ended', exampleTime + 4_000),
        }),
      ),
      'Attempts and queries that came to nothing, and what the request waited for, by time; none for a viewer',
    ),
    unclaimed: saidOfParts(
      z.array(
        z.object({
          event: said(z.enum(['contemplated', 'proposed']), 'What the service told', 'proposed'),
          at: said(time, 'When it came', exampleTime),
          sharedWith: said(z.array(z.string()), 'The other requests whose bids have its code', ['700000002']),
        }),
      ),
      'Events under a code that the service gave to the bids of several requests: of none until `resolve` says which was `contemplated`',
    ),
    review: saidOfParts(
      z
        .object({
          ...review,
          answer: saidOfParts(
            z
              .object({
                decision: said(reviewAnswer, 'What the person said', 'bid'),
                by: said(z.string(), 'Who', 'ana'),
                reason: said(z.string(), 'Why', 'holerite conferido'),
                at: said(time, 'When', exampleTime + 60_000),
              })
              .nullable(),
            'The answer; null: there is none, or who asks is a viewer',
          ),
        })
        .nullable()
        .optional(),
      'What a person was asked before a bid; null: nothing; absent: an earlier version says it',
    ),
    auction: saidOfParts(auctionSchema.nullable(), 'How the auction ended; null: it has not, or nobody told'),
  }),
  'Decision',
  'A request with its decision',
);

export const workerBody = order(
  z.strictObject({
    reason: said(
      reasonGiven,
      'Why it is looked at, in 1 to 2000 characters; blanks alone are refused. Kept with who looked and when',
      'contrato a gerar',
      'none',
    ),
  }),
  'WorkerReading',
  'Why the worker is looked at',
);
const asNumber = measured(z.number(), 'a number as it stands, without a unit');
const coded = (text: string, code: number, meaning: string, contract: string) =>
  saidOfParts(
    z
      .object({
        code: said(asNumber, "A code of the data processor's tables", code, `${contract}.codigo`),
        text: said(z.string().nullable(), 'What the code means', meaning, `${contract}.descricao`),
      })
      .nullable(),
    `${text}; null: the callback did not say`,
    contract,
  );
const toldDay = (text: string, contract: string) =>
  said(z.string().nullable(), `${text}, as YYYY-MM-DD; null: the callback did not say`, '2019-03-01', contract);
const toldCents = (text: string, example: number, contract: string) =>
  said(amount.nullable(), `${text}; null: the callback did not say`, example, contract);
const toldCode = (text: string, example: number, contract: string) =>
  said(asNumber.nullable(), `${text}; null: the callback did not say`, example, contract);
const toldText = (text: string, example: string, contract: string) =>
  said(z.string().nullable(), `${text}; null: the callback did not say`, example, contract);
const toldItems = (text: string, contract: string) =>
  said(
    z.array(z.unknown()).readonly().nullable(),
    `${text}: as they came, for the contract does not show their fields; null: the callback did not say`,
    [],
    contract,
  );

/** One employment link, whole as its detail came. */
const linkFactsSchema = z.object({
  receivedAt: said(time, 'When its detail came', exampleTime),
  registration: said(z.string(), 'Registration number in the employment', 'M-77', 'matricula'),
  employerId: said(
    z.string(),
    'CNPJ or CPF of the employer, as it came',
    '12345678000195',
    'numeroInscricaoEmpregador',
  ),
  employerIdType: said(
    asNumber.nullable(),
    'What `employerId` is: 1 CNPJ, 2 CPF; null: not said, or not readable',
    1,
    'inscricaoEmpregador.codigo',
  ),
  name: toldText('Name of the worker', 'Maria Exemplo', 'nome'),
  motherName: toldText("Name of the worker's mother", 'Ana Exemplo', 'nomeMae'),
  employerName: toldText('Name of the employer', 'Empresa Exemplo', 'nomeEmpregador'),
  sex: coded('Sex', 1, 'feminino', 'sexo'),
  nationality: coded('Nationality', 1, 'Brasil', 'paisNacionalidade'),
  birthDate: toldDay('Day of birth', 'dataNascimento'),
  workerCategoryCode: toldCode('Category of the worker', 101, 'codigoCategoriaTrabalhador'),
  eligible: said(z.boolean().nullable(), 'Whether it is eligible; null: the callback did not say', true, 'elegivel'),
  ineligibility: coded('Why it is not eligible', 3, 'vínculo encerrado', 'motivoInelegibilidade'),
  totalEarningsCents: toldCents('Total earnings', 350_000, 'valorTotalVencimentos'),
  marginBaseCents: toldCents('Earnings that the margin is calculated from', 300_000, 'valorBaseMargem'),
  availableMarginCents: toldCents('Margin that is free', 45_000, 'valorMargemDisponivel'),
  admissionDate: toldDay('Day of admission', 'dataAdmissao'),
  terminationDate: toldDay('Day of termination', 'dataDesligamento'),
  terminationReasonCode: toldCode('Why it was terminated', 0, 'codigoMotivoDesligamento'),
  politicallyExposed: coded('Whether the worker is politically exposed', 0, 'não', 'pessoaExpostaPoliticamente'),
  occupation: coded('Occupation', 411010, 'assistente administrativo', 'cbo'),
  activity: coded("The employer's activity", 4711302, 'comércio varejista', 'cnae'),
  employerStartDate: toldDay("Day of the employer's beginning", 'dataInicioAtividadeEmpregador'),
  activeLoans: said(
    count.nullable(),
    'Loans that are active or suspended; null: the callback did not say',
    1,
    'qtdEmprestimosAtivosSuspensos',
  ),
  alerts: toldItems('Alerts', 'alertas'),
  legacyLoans: toldItems('Loans of before', 'emprestimosLegados'),
});

export const workerSchema = answerNamed(
  z.object({
    cpf: said(z.string().nullable(), 'CPF: 11 digits', exampleCpf, 'cpf'),
    name: said(z.string().nullable(), 'Name', 'Maria Exemplo', 'nome'),
    registration: said(z.string().nullable(), 'Registration number in the employment', 'M-77', 'matricula'),
    employerId: said(
      z.string().nullable(),
      'CNPJ or CPF of the employer, as the request named it',
      '12345678000195',
      'numeroInscricaoEmpregador',
    ),
    employerIdType: said(
      measured(z.number(), 'a number as it stands, without a unit').nullable(),
      'What `employerId` is: 1 CNPJ, 2 CPF',
      1,
      'inscricaoEmpregador.codigo',
    ),
    links: said(
      z.array(linkFactsSchema).readonly(),
      "The latest detail of each of the worker's links that the service told",
      [exampleOf(linkFactsSchema)],
    ),
    proposal: saidOfParts(
      z
        .object({
          responseId: said(
            z.string().nullable(),
            'Id of the answer, a whole number as a text',
            '123456',
            'conteudo.idSolicitacaoResposta',
          ),
          operationHash: said(
            z.string().nullable(),
            'Hash of the operation in `conteudo`, a whole number as a text, with its sign',
            '-987654',
            'conteudo.hashOperacao',
          ),
          payloadHash: said(z.string().nullable(), 'Hash of the operation, as it came', 'a1b2c3', 'hashOperacao'),
        })
        .nullable(),
      'Ids of the proposal at the data processor; null: its inclusion was not told',
    ),
  }),
  'Worker',
  'The worker of a won bid',
);

export const marginSchema = answerNamed(
  z.object({
    availableMarginCents: said(amount.nullable(), 'Margin that is free', 45_000, 'valorMargemDisponivel'),
    marginBaseCents: said(amount.nullable(), 'Earnings that the margin is calculated from', 300_000, 'valorBaseMargem'),
    eligible: said(z.boolean().nullable(), 'Whether the employment is eligible', true, 'elegivel'),
    receivedAt: said(time, 'When the service told', exampleTime),
    validUntil: said(time, 'Until when it counts: 24 hours later', exampleTime + 86_400_000),
  }),
  'Margin',
  'The margin of an employment, as the service told it last',
);

const place = measured(z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER), 'a count');
const partition = measured(z.coerce.number().int().min(0).max(10_000), 'a number as it stands, without a unit');
export const letterQuery = z.object({
  partition: said(partition.nullable().default(null), 'Partition of the log: 0 to 10000; left out: all of them', 0),
  from: said(place.default(0), 'First place in the partition', 0),
  limit: said(
    measured(z.coerce.number().int().min(1).max(200), 'a count').default(50),
    'How many at most: 1 to 200',
    50,
  ),
});
const inLog = measured(z.int(), 'a count');
const ofLog = measured(z.int(), 'a number as it stands, without a unit');
export const letterPage = answerNamed(
  z.object({
    letters: saidOfParts(
      z.array(
        z.object({
          partition: said(ofLog, 'Partition of the log', 0),
          offset: said(inLog, 'Place in the partition', 7),
          receivedAt: said(time, 'When it came', exampleTime),
          reason: said(
            z.string(),
            'Why nobody understood it',
            'has no request id; send an object with numeroSolicitacao',
          ),
          pointer: said(z.string().nullable(), 'Where in its body: a JSON pointer', '/Solicitacoes/0'),
          replayedAt: said(time.nullable(), 'When it was read again and understood; null: it was not', null),
          replayedBy: saidOfParts(
            z
              .object({
                by: said(z.string(), 'Owner of the token, or the name that was typed', 'ana'),
                via: said(z.enum(['api', 'offline']), 'How it was ordered', 'api'),
                reason: said(z.string().nullable(), 'Why; null: no reason was given', 'mapeamento corrigido'),
              })
              .optional(),
            'Who had it read again; absent: it was not, or nobody was named',
          ),
          dismissedAt: said(
            time.optional(),
            'When somebody closed it without reading it again; absent: nobody did',
            exampleTime,
          ),
          dismissedBy: saidOfParts(
            z
              .object({
                by: said(z.string(), 'Owner of the token, or the name that was typed', 'ana'),
                via: said(z.enum(['api', 'offline']), 'How it was ordered', 'api'),
                reason: said(z.string().nullable(), 'Why', 'teste do serviço, sem solicitação'),
              })
              .optional(),
            'Who closed it; absent: nobody did',
          ),
          keys: said(
            z.array(z.string()).nullable(),
            'Its keys, dotted and without their values, at most 200; null: it cannot be opened, or is longer than 500 kB',
            ['Solicitacoes.numeroPedido', 'Solicitacoes.valorLiberado'],
          ),
          unreadable: saidOfParts(
            z.array(
              z.object({
                fact: said(z.string().nullable(), 'Fact of the mapping; null: a field of an event', 'closesAt'),
                pointer: said(
                  z.string().nullable(),
                  'Where it stands: a JSON pointer',
                  '/Solicitacoes/0/DataHoraFimLeilao',
                ),
                problem: said(z.string(), 'What is wrong with it', 'is a text that is no date; send one'),
              }),
            ),
            'What the mapping of today cannot read in it',
          ),
        }),
      ),
      'In log order',
    ),
    next: said(inLog, 'Where to read on, in the partition that was read last', 8),
    end: said(inLog, 'How far that partition goes', 8),
    more: saidOfParts(
      z.object({ partition: said(ofLog, 'Partition', 1), from: said(inLog, 'Place', 0) }).optional(),
      'Where a listing without a partition goes on; absent: it is at its end',
    ),
  }),
  'LetterPage',
  'A page of dead letters',
);
export const replayBody = order(
  z.strictObject({
    partition: said(
      measured(z.int().min(0).max(10_000), 'a number as it stands, without a unit').nullable().default(null),
      'Partition of the log: 0 to 10000; left out or null: all of them',
      0,
    ),
    from: said(measured(z.int().min(0).max(Number.MAX_SAFE_INTEGER), 'a count'), 'First place in the partition', 0),
    count: said(measured(z.int().min(1).max(10_000), 'a count'), 'How many at most: 1 to `api.replayLimit`', 50),
    reason: said(
      reasonGiven.nullable().default(null),
      'Why, in 1 to 2000 characters, kept with who asked beside each that is understood; a CPF in it is kept as `***`; left out or null: none is kept',
      'mapeamento corrigido',
      'none',
    ),
  }),
  'LetterReplay',
  'Which dead letters are read again',
);
export const letterParams = z.object({
  partition: said(
    measured(z.coerce.number().int().min(0).max(10_000), 'a number as it stands, without a unit'),
    'Partition of the log: 0 to 10000',
    0,
  ),
  offset: said(
    measured(z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER), 'a count'),
    'Place in the partition',
    7,
  ),
});
export const dismissBody = order(
  z.strictObject({
    reason: said(
      reasonGiven,
      'Why, in 1 to 2000 characters, kept with who asked; a CPF in it is kept as `***`',
      'teste do serviço, sem solicitação',
    ),
  }),
  'LetterDismissal',
  'Why a dead letter is closed',
);
export const dismissedSchema = answerNamed(
  z.object({
    partition: said(ofLog, 'Partition of the log', 0),
    offset: said(inLog, 'Place in the partition', 7),
  }),
  'LetterDismissed',
  'A dead letter that nobody will read again',
);
export const replaySchema = answerNamed(
  z.object({
    read: said(wholeCount, 'Letters read again', 3),
    understood: said(wholeCount, 'Understood now', 2),
    stillNot: said(wholeCount, 'Still not understood', 1),
    next: said(inLog, 'Where to read on', 3),
    more: saidOfParts(
      z.object({ partition: said(ofLog, 'Partition', 1), from: said(inLog, 'Place', 0) }).optional(),
      'Where a replay without a partition goes on; absent: it is at its end',
    ),
  }),
  'LetterReplayed',
  'What became of dead letters that were read again',
);
