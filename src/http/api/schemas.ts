/** What the API takes and gives, in the house's own words and units: cents, hundredths of a percent a month, epoch ms. */
import { z } from 'zod';
import { flowKinds, flowSteps } from '../../domain/flow-records.ts';
import { phases } from '../../domain/states.ts';
import { canonicalDigits } from '../../wire/json.ts';

const cents = z.int().min(0).max(1e12).describe('whole cents of a real');
const positiveCents = z.int().min(1).max(1e12).describe('whole cents of a real');
const rate = z.int().min(0).max(10_000).describe('hundredths of a percent a month: 332 is 3.32 %');
const term = z.int().min(1).max(480);
const cpf = z
  .string()
  .regex(/^\d{11}$/)
  .describe('11 digits');
/** Ids that the service takes as JSON numbers: leading zeros are left out, for a JSON number has none. */
const digits = z
  .string()
  .regex(/^\d{1,40}$/, 'send 1 to 40 decimal digits, as a text')
  .overwrite(canonicalDigits)
  .describe('1 to 40 decimal digits; leading zeros do not count');
const short = z.string().min(1).max(200);
const long = z.string().min(1).max(2_000);
const day = z.iso.date();
const instant = z.iso.datetime({ offset: true });
const anything = z
  .record(z.string().max(200), z.unknown())
  .describe('passed through whole: the contract does not show its fields');

export const idempotency = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/)
    .describe('names this one order or step: sent again with the same key it is not done again'),
});

const account = z.strictObject({
  accountType: z.union([z.literal(1), z.literal(2)]).describe('1 savings, 2 checking'),
  branch: short,
  branchDigit: short,
  account: short,
  accountDigit: short,
  bankNumber: short,
});

const contractTerms = {
  amountCents: positiveCents.optional(),
  installmentCents: positiveCents.optional(),
  installments: term,
  rateHundredths: rate,
  insuranceCents: cents.optional(),
  policyNumber: short.optional(),
  contractType: short.optional(),
  agentCpf: cpf,
  account,
};

const link = {
  cpf,
  registration: short,
  employerId: z.string().regex(/^[0-9A-Za-z./-]{1,20}$/),
  employerIdType: z.union([z.literal(1), z.literal(2)]).describe('1 CNPJ, 2 CPF'),
};
const authorisationNumber = digits.optional().describe("NSU of the worker's digital authorisation");
export const linkSchema = z.strictObject(link);

export const contractBody = z.strictObject({
  requestId: digits,
  ...contractTerms,
  workerAccepted: z.boolean().describe('the worker took the proposal in the work-card app'),
  link: z.strictObject({ ...link, authorisationNumber }).optional(),
});

export const renegotiationBody = z.strictObject({
  closedContract: short,
  ...link,
  agentCpf: cpf,
  contractType: short,
  installments: term,
  rateHundredths: rate,
  originalRateHundredths: rate,
  closedByTermination: z.boolean().optional(),
  openInstallments: z.int().min(0).max(480).optional(),
  pendingCharges: z.boolean().optional(),
  linkValid: z.boolean().optional(),
  estimatedInstallmentCents: cents.optional(),
  authorisationNumber,
});

export const withdrawalBody = z.strictObject({
  cpf,
  birthDate: day.optional(),
  signerCpfs: z.array(cpf).max(10).optional().describe('who has to have signed; left out: the worker'),
});

const transfers = z
  .array(z.strictObject({ onDay: day, amountCents: cents }))
  .max(30)
  .optional();
const split = z.strictObject({
  fieldId: short.optional(),
  amountCents: cents.optional(),
  paidOn: day.optional(),
  paymentLine: short.optional(),
  bankCode: z.int().min(0).max(1e9).optional(),
  bankNumber: short.optional(),
  accountType: z.int().min(1).max(2).optional(),
  branch: short.optional(),
  branchDigit: short.optional(),
  account: short.optional(),
  accountDigit: short.optional(),
  document: short.optional(),
  payeeName: short.optional(),
  assignorDocument: short.optional(),
  assignorName: short.optional(),
  pixKey: z.strictObject({ key: short }).optional(),
  emv: z.strictObject({ code: long }).optional(),
});
const parameters = z
  .array(z.strictObject({ name: short, value: long }))
  .max(50)
  .optional();
const fee = { feeCents: cents.optional(), feePercent: z.number().min(0).max(100).optional() };

/** By step; of `amend` by kind of flow. */
export const stepBodies = {
  amend: z.strictObject({
    contract: z.strictObject(contractTerms).optional(),
    renegotiation: z.strictObject({ installments: term, rateHundredths: rate }).optional(),
    link: linkSchema.optional().describe('the corrected link of the same worker; it is asked for its margin again'),
    authorisationNumber: authorisationNumber.describe(
      "a new NSU of the worker's authorisation, for the link named here or the one that the flow has",
    ),
  }),
  sign: z.strictObject({ signedAt: instant, content: anything }),
  cancel: z.strictObject({ reason: long }),
  confirm: z.strictObject({
    reason: long,
    requestCode: short.optional().describe('the code that the service gave it'),
  }),
  deny: z.strictObject({ reason: long }),
  regenerate: z.strictObject({ reason: long }),
  accept: z.strictObject({ reason: long }),
  simulation: z.strictObject({
    balanceCents: cents.optional(),
    balanceAlone: z
      .boolean()
      .optional()
      .describe(
        "reckon with the balance given and leave the worker's CPF out; it does not count as the worker's simulation",
      ),
    amountCents: cents.optional(),
    rateHundredths: rate.optional(),
    ...fee,
    birthDay: day.optional(),
    cached: z.boolean().optional(),
    credential: digits.optional(),
    transfers,
  }),
  inclusion: z.strictObject({
    operationCode: short.optional(),
    amountCents: cents.optional(),
    period: z.int().min(1).max(100).optional(),
    birthDay: day.optional(),
    rateHundredths: rate.optional(),
    ...fee,
    insuranceCents: cents.optional(),
    contractType: short.optional(),
    partnerDocument: short.optional(),
    account: account
      .partial()
      .extend({ bankCode: z.int().min(0).max(1e9).optional(), holderCpf: cpf.optional(), holderName: short.optional() })
      .optional(),
    pix: z.strictObject({ key: short }).optional(),
    splits: z.array(split).max(50).optional(),
    cached: z.boolean().optional(),
    transfers,
  }),
  proposal: z.strictObject({ dto: anything.optional() }),
  installments: z.strictObject({ installments: term.optional(), asOf: day.optional() }),
  splits: z.strictObject({
    splits: z
      .array(split.extend({ portability: z.strictObject({ number: short }).optional() }))
      .max(50)
      .optional(),
    parameters,
  }),
  signers: z.strictObject({
    signers: z
      .array(
        z.strictObject({
          name: short.optional(),
          email: short.optional(),
          document: cpf,
          description: short.optional(),
          mobile: short.optional(),
          notifyByEmail: z.boolean().optional(),
          notifyByWhatsapp: z.boolean().optional(),
          signedAt: instant,
          ip: short,
        }),
      )
      .min(1)
      .max(10),
  }),
  finalisation: z.strictObject({ parameters }),
  'account-update': z.strictObject({ fields: anything }),
} as const satisfies Record<(typeof flowSteps)[number], z.ZodType>;

export const stepTexts: Readonly<Record<(typeof flowSteps)[number], string>> = {
  amend: 'Change terms, link or authorisation where a rule or the service stands in the way',
  sign: "Hand in the worker's signature; the endorsement follows",
  cancel: 'End it where it stands',
  confirm: 'Say that an unclear operation was done, as seen at the service',
  deny: 'Say that an unclear operation was not done, as seen at the service',
  regenerate:
    'Generate it again: the note does not come, or is not to be signed; what was generated before counts no more',
  accept: 'Take the credit note as it is, although its figures are not ours',
  simulation: 'Simulate several periods',
  inclusion: 'Include the proposal',
  proposal: 'Ask where the proposal stands',
  installments: 'Ask for the instalments as of a day',
  splits: 'Add entries of payments and transfers',
  signers: 'Register those who have signed',
  finalisation: 'Finalise, once all have signed',
  'account-update': 'Change the account that is paid',
};

// --- Answers --------------------------------------------------------------------------------------------------------

const time = z.number().describe('epoch ms');
const error = z.object({ field: z.string(), rule: z.string(), problem: z.string() });

/** A flow as everybody may see it: nothing in it names a person. */
export const flowSchema = z.object({
  flowId: z.string(),
  flow: z.enum(flowKinds),
  phase: z.string(),
  startedAt: time,
  changedAt: time,
  by: z.string().nullable(),
  requestId: z.string().nullable(),
  closedContract: z.string().nullable(),
  terms: z.record(z.string(), z.number().nullable()).nullable(),
  operation: z
    .object({
      operation: z.string(),
      status: z.string(),
      attempts: z.number().describe('how often its bytes were sent; more than once only with an idempotency key'),
      retryAt: time.nullable(),
      reason: z.string().nullable(),
    })
    .nullable(),
  requestCode: z.string().nullable(),
  proposalCode: z.string().nullable(),
  generations: z.int(),
  generatedAt: time.nullable(),
  note: z.record(z.string(), z.union([z.number(), z.string()]).nullable()).nullable(),
  differences: z
    .array(z.object({ field: z.string(), ours: z.number(), theirs: z.number() }))
    .describe('figures of the credit note that our own arithmetic does not confirm'),
  noteAccepted: z
    .object({ by: z.string(), at: time })
    .nullable()
    .describe('who took the note as it is, although figures of it differ'),
  breaches: z.array(error),
  errors: z.array(z.string()),
  steps: z.array(z.object({ stepId: z.string(), step: z.string(), by: z.string(), at: time, outcome: z.string() })),
  results: z.record(z.string(), time).describe('operations with an answer that can be read, and when it came'),
  owner: z.string().nullable(),
  frozen: z
    .string()
    .nullable()
    .describe('what could not be processed of it: nothing is done until somebody has looked'),
  nextSteps: z.array(z.enum(flowSteps)),
});
export const flowPage = z.object({ flows: z.array(flowSchema), next: z.string().nullable() });

export const historySchema = z.object({ records: z.array(z.record(z.string(), z.unknown())) });

const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  before: z
    .string()
    .regex(/^[\d]{15}:[\w.:-]{1,200}$/)
    .optional()
    .describe('`next` of the page before'),
});
export const flowQuery = pageQuery.extend({
  phase: z.string().max(40).optional(),
  requestId: digits.optional(),
});
const moment = z.coerce.number().int().min(0).max(999_999_999_999_999);
export const bidQuery = pageQuery.extend({
  state: z.enum(phases).optional(),
  code: short.optional().describe('of a pass or of a rejection'),
  batchId: short.optional(),
  since: moment.optional().describe('epoch ms; decided, or else received, then or later'),
  until: moment.optional().describe('epoch ms; decided, or else received, then or earlier'),
});

const bid = {
  requestId: z.string(),
  batchId: z.string().nullable(),
  state: z.enum(phases),
  code: z.string().nullable(),
  rateHundredths: z.number().nullable(),
  amountCents: z.number().nullable(),
  installments: z.number().nullable(),
  position: z.number().nullable(),
  decidedAt: time.nullable(),
  frozen: z
    .string()
    .optional()
    .describe('what could not be processed of it: nothing is sent until somebody has looked'),
};
const bidSchema = z.object(bid);
export const bidPage = z.object({ bids: z.array(bidSchema), next: z.string().nullable() });
export const decisionSchema = z.object({
  ...bid,
  offer: z.record(z.string(), z.unknown()).nullable(),
  reasons: z.array(z.object({ code: z.string(), rule: z.string().nullable(), text: z.string() })),
  trace: z.record(z.string(), z.unknown()).nullable(),
  auction: z.record(z.string(), z.unknown()).nullable(),
});

export const workerBody = z.strictObject({
  reason: z.string().trim().min(1).max(2_000).describe('why it is looked at; kept with who looked and when'),
});
const coded = z
  .object({ code: z.number(), text: z.string().nullable() })
  .nullable()
  .describe("a code of the data processor's tables, and its text; null: the callback did not say");
const toldDay = z.string().nullable().describe('YYYY-MM-DD, for example 2019-03-01; null: the callback did not say');
const toldCents = z.number().nullable().describe('whole cents of a real; null: the callback did not say');
const toldItems = z
  .array(z.unknown())
  .readonly()
  .nullable()
  .describe('items as they came, for the contract does not show their fields; null: the callback did not say');

/** One employment link, whole as its detail came. */
const linkFactsSchema = z.object({
  receivedAt: time,
  registration: z.string().describe('matricula'),
  employerId: z.string().describe('numeroInscricaoEmpregador, as it came'),
  employerIdType: z.number().describe('inscricaoEmpregador.codigo: 1 CNPJ, 2 CPF'),
  name: z.string().nullable().describe('nome: of the worker'),
  motherName: z.string().nullable().describe('nomeMae'),
  employerName: z.string().nullable().describe('nomeEmpregador'),
  sex: coded.describe('sexo'),
  nationality: coded.describe('paisNacionalidade'),
  birthDate: toldDay,
  workerCategoryCode: z.number().nullable().describe('codigoCategoriaTrabalhador'),
  eligible: z.boolean().nullable().describe('elegivel'),
  ineligibility: coded.describe('motivoInelegibilidade: why the link is not eligible'),
  totalEarningsCents: toldCents,
  marginBaseCents: toldCents,
  availableMarginCents: toldCents,
  admissionDate: toldDay,
  terminationDate: toldDay,
  terminationReasonCode: z.number().nullable().describe('codigoMotivoDesligamento'),
  politicallyExposed: coded.describe('pessoaExpostaPoliticamente'),
  occupation: coded.describe('cbo'),
  activity: coded.describe('cnae of the employer'),
  employerStartDate: toldDay,
  activeLoans: z.number().nullable().describe('qtdEmprestimosAtivosSuspensos'),
  alerts: toldItems,
  legacyLoans: toldItems,
});

export const workerSchema = z.object({
  cpf: z.string().nullable().describe('11 digits'),
  name: z.string().nullable(),
  registration: z.string().nullable().describe('matricula'),
  employerId: z.string().nullable().describe('as the request named it'),
  employerIdType: z.number().nullable().describe('1 CNPJ, 2 CPF'),
  links: z
    .array(linkFactsSchema)
    .readonly()
    .describe("the latest detail of each of the worker's links that the service told"),
  proposal: z
    .object({
      responseId: z.string().nullable().describe('idSolicitacaoResposta, decimal digits'),
      operationHash: z.string().nullable().describe('hashOperacao of conteudo, decimal digits'),
      payloadHash: z.string().nullable().describe('hashOperacao of the payload, as it came'),
    })
    .nullable()
    .describe('ids of the proposal at the data processor; null: its inclusion was not told'),
});

export const marginSchema = z.object({
  availableMarginCents: z.number().nullable(),
  marginBaseCents: z.number().nullable(),
  eligible: z.boolean().nullable(),
  receivedAt: time,
  validUntil: time,
});

export const letterQuery = z.object({
  partition: z.coerce.number().int().min(0).max(10_000).nullable().default(null),
  from: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});
export const letterPage = z.object({
  letters: z.array(
    z.object({
      partition: z.int(),
      offset: z.int(),
      receivedAt: time,
      reason: z.string(),
      pointer: z.string().nullable(),
    }),
  ),
  next: z.int(),
  end: z.int(),
  /** Where a listing without a partition goes on. */
  more: z.object({ partition: z.int(), from: z.int() }).optional(),
});
export const replayBody = z.strictObject({
  partition: z.int().min(0).max(10_000),
  from: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
  count: z.int().min(1).max(10_000),
});
export const replaySchema = z.object({
  read: z.int(),
  understood: z.int(),
  stillNot: z.int(),
  next: z.int(),
});
