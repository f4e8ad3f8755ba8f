/**
 * What may be set, section by section: the types, the ranges, and the descriptions that editors show. Defaults stand in
 * `config/default.json`. A range says what could be meant at all, not what is wise: it is there to catch a wrong unit.
 */
import type { z } from 'zod';
import type { Economics } from '../domain/policy.ts';
import { apiRoles } from '../domain/roles.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import {
  addressProblem,
  brokerProblem,
  commandProblem,
  networkProblem,
  passedVariableProblem,
  pseudonymKeyProblem,
  redisAddressProblem,
  webhookTokenProblem,
} from './formats.ts';
import {
  byName,
  choice,
  flag,
  form,
  list,
  optional,
  realNumber,
  required,
  section,
  text,
  wholeNumber,
} from './kinds.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const yearMs = 366 * dayMs;
const reaisMillion = 100_000_000;

/** One schema for each field of a type that another room declares for its library. */
type Shape<T> = { readonly [K in keyof T]-?: z.ZodType<T[K]> };

const anyText = form(/\S/, 'is blank');
const name = (longest: number, shortest = 1) =>
  form(new RegExp(`^[\\w.-]{${shortest},${longest}}$`), 'has more than letters, digits, . _ and -');
const host = form(/^[\w.:-]+$/, 'is not a host name or an IP address');
const port = wholeNumber('count', 0, 65_535);

const webhookToken = text(webhookTokenProblem);

/** Without the tokens, which only a process needs that takes webhooks in. */
const httpWithoutTokens = {
  host: host.describe('Address to listen on.'),
  port: port.describe('0 takes any free port.'),
  webhookHost: optional(host).describe('With a port of its own; without a host, the common one.'),
  webhookPort: optional(port).describe('Webhooks are then served there and nowhere else.'),
  apiHost: optional(host).describe('With a port of its own; without a host, the common one.'),
  apiPort: optional(port).describe('The operator API is then served there and nowhere else.'),
  metricsHost: optional(host).describe('With a port of its own; without a host, the common one.'),
  metricsPort: optional(port).describe('Metrics are then served there and nowhere else.'),
  trustedProxies: list(text(networkProblem), 0).describe(
    'Addresses or networks (CIDR) of proxies whose X-Forwarded-For is believed.',
  ),
  bodyLimitBytes: wholeNumber('bytes', 1_024, 100_000_000).describe('Of one webhook.'),
  bodiesLimitBytes: wholeNumber('bytes', 1_024, 10_000_000_000).describe(
    'Of all webhooks that are being read or worked on, together.',
  ),
  connectionLimit: wholeNumber('count', 10, 1_000_000).describe(
    'Open connections at each address that is listened on.',
  ),
  tokenlessRequestsPerMinute: wholeNumber('count', 1, 1_000_000).describe(
    'Requests without a valid token that one address may make in a minute.',
  ),
  failedLoginsPerMinute: wholeNumber('count', 1, 1_000_000).describe(
    'Wrong tokens that one address may show in a minute.',
  ),
  depthLimit: wholeNumber('count', 8, 1_000).describe("Deepest nesting of a webhook's JSON."),
  doorQueueLimit: wholeNumber('count', 1, 1_000_000).describe('Webhooks that may wait for the log.'),
  appendTimeoutMs: wholeNumber('ms', 100, minuteMs).describe(
    'A webhook that has waited so long to be read gets 503, and on Kafka one that was not taken within this time.',
  ),
};

const http = section({
  ...httpWithoutTokens,
  webhookTokens: required(
    list(webhookToken, 1),
    'choose one or several tokens of at least 16 letters and digits, separated by commas',
  ).describe(
    "The last part of the webhook's path. Several are valid at once, so that one can be replaced without a gap.",
  ),
});

/** For commands: one that takes no webhooks in needs no token for them. */
export const httpOfCommands = section({ ...httpWithoutTokens, webhookTokens: optional(list(webhookToken, 0)) });

const service = section({
  baseUrl: required(text(addressProblem), 'set the root address of the service, like https://host/path'),
  fgtsUrl: optional(text(addressProblem)).describe('Root under which /FGTS stands.'),
  proposalUrl: optional(text(addressProblem)).describe('Root under which /Proposta stands.'),
  withdrawalAuthorization: choice('bearer', 'bare').describe(
    'How the token stands in the header of /FGTS and /Proposta.',
  ),
  // RFC 6750, section 2.1, b64token.
  accessToken: optional(
    form(/^[\w.~+/-]+=*$/, 'holds characters that no bearer token has: look for quotes, spaces or line ends around it'),
  ).describe('The token to begin with. It or tokenCommand is needed; better set LANCE_ACCESS_TOKEN_FILE.'),
  tokenCommand: optional(text(commandProblem)).describe('Program that prints a new token; run without a shell.'),
  tokenCommandVariables: list(text(passedVariableProblem), 0).describe(
    'Names of variables that the token command gets beside PATH and HOME.',
  ),
  tokenCommandTimeoutMs: wholeNumber('ms', 100, 2 * minuteMs),
  tokenRetryMs: wholeNumber('ms', 100, hourMs).describe(
    'Between two runs of the token command, or two uses of a fixed token, while the service refuses the token.',
  ),
  connectTimeoutMs: wholeNumber('ms', 50, minuteMs),
  headersTimeoutMs: wholeNumber('ms', 50, 5 * minuteMs),
  bodyTimeoutMs: wholeNumber('ms', 50, 5 * minuteMs),
  connections: wholeNumber('count', 1, 4_096).describe('For bids; at least bidding.sendLimit.'),
  queryConnections: wholeNumber('count', 1, 1_024),
  operationConnections: wholeNumber('count', 1, 1_024),
  operationTimeoutMs: wholeNumber('ms', 50, 5 * minuteMs),
  idempotentRetries: wholeNumber('count', 0, 10).describe(
    'Further attempts at an operation with an idempotency key whose answer is unknown.',
  ),
  idempotentRetryMs: wholeNumber('ms', 10, minuteMs),
  networkStartMs: wholeNumber('ms', 1, 10 * secondMs).describe(
    'Taken for the way to the service until a hundred answers have measured it.',
  ),
  authorisationTexts: list(anyText, 0).describe(
    "Words or phrases by which a refused link query names the worker's authorisation: it is missing,",
  ),
  authorisationExpiredTexts: list(anyText, 0).describe('or, where one of these stands beside them, it has expired.'),
});

/** The contract's formats are judged by `checkContacts` of the wire. */
const contacts = section({
  url: required(anyText, 'set the complete address that workers are shown, like https://host/path').describe(
    "Shown in the worker's app.",
  ),
  whatsapp: optional(anyText),
  telephone: optional(anyText),
  email: optional(anyText),
});

const bidding = section({
  windowMs: wholeNumber('ms', secondMs, dayMs).describe(
    'Length of an auction when the request carries no closing time, counted from the first receipt.',
  ),
  skewAllowanceMs: wholeNumber('ms', 0, minuteMs).describe(
    "Taken off every deadline for clocks that differ; the service's Date header is only ± 1 s.",
  ),
  timeWitness: choice('service', 'none').describe(
    "Who confirms a step of the machine's clock: the service's Date header, or nobody: then a clock that has come to rest is followed.",
  ),
  bidValidityMs: wholeNumber('ms', minuteMs, 7 * dayMs - 5 * minuteMs).describe(
    'How long a bid stays valid; the contract allows 7 days, less 5 minutes for clocks.',
  ),
  graceMs: wholeNumber('ms', 0, 30 * dayMs).describe(
    'Exposure is kept this long past bid or proposal validity when nothing ended it.',
  ),
  resultTimeoutMs: wholeNumber('ms', secondMs, 30 * dayMs).describe(
    'After the deadline of an answered bid: no result by then is result-missing.',
  ),
  contemplationTimeoutMs: wholeNumber('ms', secondMs, 30 * dayMs).describe(
    'After the end of a won auction: no contemplation by then raises an alarm.',
  ),
  queueLimit: wholeNumber('count', 1, 1_000_000).describe('Offers that may wait for a send slot.'),
  sendLimit: wholeNumber('count', 1, 4_096).describe(
    'Claims that may be under way at once, at most: fewer when the service is slow or fails.',
  ),
  batchEntries: wholeNumber('count', 1, 10_000).describe('Records that are folded together, at most.'),
  retryFirstMs: wholeNumber('ms', 10, minuteMs).describe('Pause before the second attempt of the same bytes.'),
  retryMaxMs: wholeNumber('ms', 10, minuteMs).describe('Longest pause between two attempts of the same bytes.'),
  marginWaitMs: wholeNumber('ms', 0, dayMs).describe(
    'How long a request may wait for its margin before pass(margin-missing), at most until its deadline.',
  ),
  askWithoutAuthorisation: flag().describe(
    "Ask about a worker's links for the first time without an authorisation number. For bids and contracts.",
  ),
  directQueriesPerDay: wholeNumber('count', 0, 100_000_000).describe(
    "Queries past the service's cache on one day, by all instances together; beyond that its cache is asked instead.",
  ),
  askCached: flag().describe("Ask the service's cache first (cheaper) instead of the data processor."),
  // A rule set begins 2 s after it was announced: who has not read the controls since then may not bid.
  controlMaxAgeMs: wholeNumber('ms', 100, 2 * secondMs).describe('Older control states close bidding.'),
  controlPollMs: wholeNumber('ms', 10, minuteMs),
  demandByHour: list(realNumber('factor', 0, 1_000_000), 24).describe(
    'How requests spread over the 24 hours of a day in São Paulo, as weights: what is left of a paced budget is for what is left of them.',
  ),
  halfLifeMs: wholeNumber('ms', secondMs, 10 * yearMs).describe('Half-life of what an auction teaches.'),
});

const economics = section({
  fundingAnnualPercent: realNumber('percent', 0.5, 100),
  separationMonthly: realNumber('share', 0, 0.5).describe('Probability a month that the employment link ends.'),
  neverStartedShare: realNumber('share', 0, 0.9).describe(
    'Share of released loans whose first instalment never comes through payroll.',
  ),
  lossGivenSeparation: realNumber('share', 0, 1).describe(
    'Loss on what is outstanding when the link ends, after guarantee and recoveries.',
  ),
  guaranteeRecovery: realNumber('share', 0, 1).describe(
    'Share of what is outstanding that a guarantee worth the whole loan recovers on top; one worth half of it, half.',
  ),
  commissionPercent: realNumber('percent', 0, 30).describe('Paid once on release, of the released amount.'),
  contractCostCents: wholeNumber('cents', 0, reaisMillion),
  bidCostCents: wholeNumber('cents', 0, reaisMillion),
  acceptanceCeiling: realNumber('share', 0.01, 1).describe(
    'Acceptance by the worker: ceiling / (1 + exp(slope · (rate − midpoint))), rate in percent a month.',
  ),
  acceptanceMidpointPercent: realNumber('percent', 0.01, 50),
  acceptanceSlope: realNumber('factor', 0, 100),
  acceptanceAmountElasticity: realNumber('factor', 0, 10).describe('Times (amount / asked) to this power.'),
  acceptanceTermElasticity: realNumber('factor', 0, 10).describe(
    'Times e to the minus this · |ln(term / asked)|: other terms than the one asked for are liked less.',
  ),
  selectionWin: realNumber('factor', 0, 10).describe('Weight of (1 − w) in the loss multiplier: winning is bad news.'),
  selectionRate: realNumber('factor', 0, 10).describe("Weight of each percent a month above the segment's median."),
  earlySettlementMonthly: realNumber('share', 0, 0.5).describe(
    "Probability a month that a running loan is settled early, at the present value of the rest at the contract's rate (Law 8.078/1990, art. 52 § 2). 0: not reckoned with.",
  ),
  spreadTaxPercent: realNumber('percent', 0, 50).describe(
    'Percent of interest less funding that taxes on revenue take: 4.65 for PIS and COFINS of banks (Law 9.718/1998, arts. 2 and 3 § 6, Law 10.684/2003, art. 18). 0: none.',
  ),
  capitalChargeAnnualPercent: realNumber('percent', 0, 30).describe(
    "Percent a year of what is expected to be outstanding that the lender's own capital costs beyond its funding (least capital: CMN Resolution 4.958/2021). 0: none.",
  ),
  recoveryDelayMonths: realNumber('factor', 0, 60).describe(
    'Months between the end of the employment link and the day on which what is recovered comes in.',
  ),
} satisfies Shape<Required<Economics>>);

const pricing = section({
  dayCount: choice('actual365', '30/360', 'calendar30'),
  rounding: choice('once', 'by-row'),
  iof: section({
    daily: realNumber('share', 0, 0.01),
    dayCap: wholeNumber('count', 1, 3_660),
    additional: realNumber('share', 0, 0.1),
  }),
  payrollCalendar: section({
    cutoffDay: wholeNumber('count', 1, 31),
    monthsToFirstDue: wholeNumber('count', 0, 12),
    dueDayOfMonth: wholeNumber('count', 1, 31),
    businessDays: choice('following', 'ignored'),
  }),
  fundingCurve: list(
    section({ months: wholeNumber('count', 0, 480), spreadPercent: realNumber('percent', -50, 50) }),
    0,
  ).describe(
    "Percentage points a year on top of the economics' funding rate by maturity, linear between the points and flat beyond them; ascending in months. Empty: one rate for all maturities.",
  ),
  earlySettlementProfile: list(
    section({ months: wholeNumber('count', 0, 480), factor: realNumber('factor', 0, 20) }),
    0,
  ).describe(
    'Factors on the monthly probability of early settlement by months since release, linear between the points and flat beyond them; ascending in months. Empty: the same in all months.',
  ),
  guaranteePledge: section({
    fgtsBalanceShare: realNumber('share', 0, 1),
    terminationFineShare: realNumber('share', 0, 1),
  }).describe('What a guarantee pledges of the FGTS balance and of the termination fine.'),
  insuranceCents: wholeNumber('cents', 0, reaisMillion).describe(
    'Premium financed with every loan and paid on to the insurer.',
  ),
  maxInstallments: wholeNumber('count', 1, 480),
  marginBufferCents: wholeNumber('cents', 0, reaisMillion).describe(
    "Kept free below the margin, for the service's own rounding.",
  ),
  minAmountShare: realNumber('share', 0.01, 1).describe(
    'Where margin or limits bind, the amount may fall to this share of what was asked.',
  ),
  acceptancePrior: section({
    midpointDeviationPercent: realNumber('percent', 0, 5).describe('Of the midpoint, percentage points a month.'),
    ceilingDeviation: realNumber('factor', 0, 2).describe('Of the logarithm of the ceiling.'),
  }).describe(
    'How sure the configured acceptance is: standard deviations of what our own wins may make of it. 0: nothing is learnt.',
  ),
  bookCautionDeviations: realNumber('factor', 0, 5).describe(
    "Standard deviations that `lance economics propose` adds to what it estimates from the lender's own loans, so that what is not known widens the margin. 0: none.",
  ),
  winCurve: section({
    priorWeight: realNumber('factor', 0, 1_000_000).describe(
      'Results that the prior counts for in the most general segment.',
    ),
    shrinkage: realNumber('factor', 0, 1_000_000).describe('Results that a parent segment counts for in its child.'),
    smoothing: realNumber('factor', 0, 10).describe(
      'Width of the smoothing of single results, in standard deviations of the rates: about 1; 0 for none.',
    ),
    prior: section({
      quantiles: list(
        section({ share: realNumber('share', 0, 1), rateHundredths: wholeNumber('hundredths', 2, 5_000) }),
        2,
      ).describe("Of one lender's quoted rates, ascending in both; share is the quantile."),
      rivals: realNumber('factor', 0.1, 1_000).describe('How many lenders quote.'),
    }).describe('What is believed of rivals before the first result.'),
  }),
} satisfies Shape<Required<PricingSettings>>);

const flows = section({
  cutoffDay: wholeNumber('count', 1, 31).describe(
    'Last day of the month that still counts for its competence; 31: calendar months.',
  ),
  pollMs: wholeNumber('ms', 50, minuteMs).describe(
    'How often the ledger is asked whether the proposal was included, and the cache whether the margin came.',
  ),
  marginRetryMs: wholeNumber('ms', secondMs, hourMs).describe(
    'A link that did not answer is asked again after this, doubled each time up to an hour: a query may be charged.',
  ),
  askCached: flag().describe(
    "Ask the service's cache, which is cheaper than the data processor; what it says may be a day old already.",
  ),
  noteTimeoutMs: wholeNumber('ms', secondMs, dayMs).describe(
    'No credit note by then after its operation was acknowledged: an alarm.',
  ),
  retryMs: wholeNumber('ms', 10, minuteMs).describe(
    'Before what was certainly not done is tried again, and before an unknown answer is asked for again with the same key; doubled up to retryMaxMs.',
  ),
  retryMaxMs: wholeNumber('ms', 10, dayMs),
  keyedAttempts: wholeNumber('count', 1, 100).describe(
    'How often an operation with a key is sent in all, the same bytes under the same key, until somebody has to look.',
  ),
  competenceLookMs: wholeNumber('ms', secondMs, hourMs).describe(
    'How often a flow that waits for a person is looked at: its competence may have turned.',
  ),
  noteTolerance: wholeNumber('cents', 0, 1_000_000).describe(
    'Cents, or hundredths of a percent of the CET: how far a credit note may lie from our arithmetic, which is shown, without an alarm.',
  ),
  insuranceLimitPercent: realNumber('percent', 0, 100).describe(
    'The most that the insurance of a withdrawal may be, in percent of the loan; what is simulated leaves it out.',
  ),
  stepsKept: wholeNumber('count', 10, 10_000).describe("Steps kept in a flow's state; the log keeps all."),
  finalisationEnabled: flag().describe('The service was set up for the finalisation of withdrawals.'),
  situations: list(
    section({
      code: wholeNumber('count', -2_147_483_648, 2_147_483_647),
      state: choice('approved', 'finalized', 'released', 'pending-payment', 'other'),
    }),
    0,
  ).describe("What the service's numbers for the state of a proposal mean; the contract does not show it."),
});

const api = section({
  tokens: list(
    section({
      name: form(/^[\p{L}\d._-]{1,60}$/u, 'has more than letters, digits, . _ and -'),
      role: choice(...apiRoles),
      sha256: form(
        /^[0-9a-fA-F]{64}$/,
        'is no SHA-256 in hex: write the 64 characters of the hash, never the token itself (sha256sum gives them)',
      ).describe("Of the token's bytes; the token itself is nowhere."),
    }),
    0,
  ).describe('Who may call the operator API; none closes it.'),
  // Sealed it takes a third more, and a broker's record holds 8 MiB.
  bodyLimitBytes: wholeNumber('bytes', 1_024, 4_000_000).describe(
    "Of one call's body, or of the file that the command line sends instead of one.",
  ),
  replayLimit: wholeNumber('count', 1, 10_000).describe('Dead letters that one call may read again, at most.'),
});

const claimName = form(/^[\w.:/-]{1,200}$/, 'is no name of a claim: write letters, digits and . : / _ -');

const oidc = section({
  issuer: optional(text(addressProblem)).describe(
    'OpenID provider that people log in at, as it names itself: its metadata stand under it at /.well-known/openid-configuration. Not set: there is no log-in.',
  ),
  clientId: optional(anyText).describe('What this desk is called at the provider.'),
  clientSecret: optional(anyText).describe(
    'Of a confidential client; not set: a public client with PKCE alone. Better set LANCE_OIDC_CLIENT_SECRET_FILE.',
  ),
  redirectBase: optional(text(addressProblem)).describe(
    'Where browsers reach the operator API: scheme, host and port, like https://desk.example. The provider has to know it with /v1/login/callback behind it.',
  ),
  scopes: list(form(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, 'is no scope: write it without spaces'), 1).describe(
    'What is asked for at the provider; openid is among them.',
  ),
  nameClaim: claimName.describe(
    'The claim that names the person: the identity of all that is ordered. One that people cannot change themselves.',
  ),
  rolesClaim: claimName.describe(
    'The claim with the groups or roles of a person: a text or a list of texts, with dots where it is nested.',
  ),
  roles: list(section({ value: anyText, role: choice(...apiRoles) }), 0).describe(
    'Which role a value of rolesClaim gives; the first that a person has counts. Who has none is not let in.',
  ),
  sessionMs: wholeNumber('ms', 5 * minuteMs, 7 * dayMs).describe('How long a log-in lasts.'),
}).describe('Log-in of people through an OpenID provider (authorisation code with PKCE).');

const kafka = section({
  brokers: optional(list(text(brokerProblem), 1)).describe('host:port of at least one broker.'),
  registryUrl: optional(text(addressProblem)).describe("Root of the schema registry's API."),
  registryAuth: optional(section({ username: anyText, password: anyText })),
  ssl: flag(),
  sasl: optional(
    section({ mechanism: choice('plain', 'scram-sha-256', 'scram-sha-512'), username: anyText, password: anyText }),
  ),
  topicPrefix: name(100, 0),
  partitions: wholeNumber('count', 1, 1_000).describe('Of each topic; fixed for ever at the first start.'),
  replication: wholeNumber('count', 1, 9).describe('Copies of each topic, at most as many as there are brokers.'),
  groupId: name(100),
  sessionTimeoutMs: wholeNumber('ms', 6 * secondMs, 5 * minuteMs),
  startTimeoutMs: wholeNumber('ms', secondMs, hourMs),
  stallTimeoutMs: wholeNumber('ms', 5 * secondMs, hourMs),
  views: choice('redis', 'files').describe(
    'Not needed any more: views are in files under dataDir, which each process folds for its partitions. redis, as an earlier version had it, is refused.',
  ),
  queryHost: optional(host).describe(
    'Where the other processes of the desk ask this one about its partitions; without it, http.host.',
  ),
  queryPort: port.describe('The port of queryHost; 0 takes any free port.'),
}).describe('The log of several machines. What is null or empty here is asked for when backend is kafka.');

const redis = section({
  url: optional(text(redisAddressProblem)).describe('Like redis://host:6379/0, with rediss:// for TLS.'),
  keyPrefix: form(/^[\w.:{}-]{0,100}$/, 'has more than letters, digits and . : _ - { }'),
  commandTimeoutMs: wholeNumber('ms', 50, minuteMs),
  connectTimeoutMs: wholeNumber('ms', 50, minuteMs),
  reconnectFirstMs: wholeNumber('ms', 10, minuteMs),
  reconnectMaxMs: wholeNumber('ms', 10, minuteMs),
}).describe('What several machines have in common.');

const rules = section({
  approval: flag().describe('A rule set is followed only when two persons stand for it.'),
  restMs: wholeNumber('ms', 50, minuteMs).describe('A change counts when the folder has stayed as it is for so long.'),
  leastCoveragePercent: realNumber('percent', 0, 100),
  rollbackReviewMs: wholeNumber('ms', 1_000, 30 * dayMs).describe(
    'One person may go back to the set before; another one has to have looked at that within this time, or it is told as overdue.',
  ),
}).describe('How a rule set becomes the one to follow.');

const audit = section({
  anchorFile: optional(anyText).describe('Where the heads of the chains are kept. Not set: beside the data directory.'),
  anchorMs: wholeNumber('ms', secondMs, dayMs),
  key: optional(text(pseudonymKeyProblem)).describe('Signs the heads. Not set: derived from the pseudonym key.'),
  restoreQuietMs: wholeNumber('ms', 0, 30 * dayMs).describe(
    'After an accepted restore, where it is not known which requests were bid for: so long, and at least bidding.windowMs, nothing is bid for what comes.',
  ),
}).describe("Where the heads of the log's chains are kept outside of it, and how they are signed.");

const enrichment = byName(
  /^[a-z][A-Za-z0-9]{0,39}$/,
  'is no name of a source: write it like bureau, as the rule set does under "endpoint"',
  section({
    url: text(addressProblem).describe('Asked by POST, with a JSON object of facts.'),
    token: optional(
      form(
        /^[\w.~+/-]+=*$/,
        'holds characters that no bearer token has: look for quotes, spaces or line ends around it',
      ),
    ).describe('Sent as bearer token; better set tokenFile.'),
    tokenFile: optional(anyText).describe('File that holds the token.'),
    sendCpf: optional(flag()).describe('True: a rule set may send the CPF of the worker there.'),
    maxConcurrent: optional(wholeNumber('count', 1, 1_000)).describe(
      'Questions under way at once; others wait in turn. Not set: 32.',
    ),
  }),
).describe('External sources, by the name that rule sets ask them under (NAME.source.json).');

export const sections = {
  backend: choice('embedded', 'kafka'),
  roles: list(choice('door', 'desk'), 1).describe('What a process does: takes webhooks in, decides and bids, or both.'),
  dataDir: optional(anyText).describe('Directory of the log and the views.'),
  kafka,
  redis,
  rulesDir: optional(anyText).describe("The risk team's files. Not set: those of the package."),
  mappingFile: optional(anyText).describe(
    'Where the facts stand in the webhook of new requests. Not set: config/request-mapping.json of the package.',
  ),
  rules,
  pseudonymKey: required(
    text(pseudonymKeyProblem),
    'set the secret that this desk began with; for a new desk one of at least 32 characters, and keep it',
  ).describe("Seals the workers' data. Never change or lose it; better set LANCE_PSEUDONYM_KEY_FILE."),
  audit,
  http,
  service,
  contacts,
  bidding,
  economics,
  pricing,
  flows,
  api,
  oidc,
  enrichment,
};

/** What is read with the schemas of a shape. */
export type Read<T extends z.ZodRawShape> = { [K in keyof T]: z.infer<T[K]> };

export type Sections = Read<typeof sections>;
export type BiddingSettings = Sections['bidding'];
export type FlowSettings = Sections['flows'];
