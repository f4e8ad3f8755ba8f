/**
 * What may be set, section by section, with ranges. A range says what could be meant at all, not what is wise: it is
 * there to catch a wrong unit.
 */
import type { BiddingSettings } from '../bidding/settings.ts';
import type { Economics } from '../domain/policy.ts';
import { type ApiToken, apiRoles } from '../domain/roles.ts';
import type { FlowSettings } from '../origination/settings.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import {
  choice,
  type Fields,
  flag,
  list,
  optional,
  realNumber,
  required,
  section,
  text,
  wholeNumber,
} from './fields.ts';
import {
  addressProblem,
  apiTokenHashProblem,
  brokerProblem,
  commandProblem,
  networkProblem,
  passedVariableProblem,
  pseudonymKeyProblem,
  redisAddressProblem,
  tokenProblem,
  webhookTokenProblem,
} from './formats.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const yearMs = 366 * dayMs;
const reaisMillion = 100_000_000;

export type HttpSettings = {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** With a port of its own each of these is served there and nowhere else; without a host, on the common one. */
  webhookHost: string | null;
  webhookPort: number | null;
  apiHost: string | null;
  apiPort: number | null;
  metricsHost: string | null;
  metricsPort: number | null;
  /** Addresses or networks (CIDR) of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  /** The last part of the webhook's path. Several are valid at once, so that one can be replaced without a gap. */
  webhookTokens: readonly string[];
  bodyLimitBytes: number;
  /** Of all webhooks that are being read or worked on, together. */
  bodiesLimitBytes: number;
  /** Open connections at each address that is listened on. */
  connectionLimit: number;
  /** Requests without a valid token that one address may make in a minute. */
  tokenlessRequestsPerMinute: number;
  /** Wrong tokens that one address may show in a minute. */
  failedLoginsPerMinute: number;
  /** Deepest nesting of a webhook's JSON. */
  depthLimit: number;
  /** Webhooks that may wait for the log. */
  doorQueueLimit: number;
  /** A webhook that has waited so long to be read gets 503, and on Kafka one that was not taken within this time. */
  appendTimeoutMs: number;
};

/** Who may call the operator API, by the hash of a token: none closes it. */
export type ApiSection = {
  tokens: readonly ApiToken[];
  /** Of one call's body, or of the file that the command line sends instead of one. */
  bodyLimitBytes: number;
  /** Dead letters that one call may read again, at most. */
  replayLimit: number;
};

/** As written; `serviceOf` in config.ts turns it into what the client takes. */
export type ServiceSection = {
  baseUrl: string;
  fgtsUrl: string | null;
  proposalUrl: string | null;
  /** How the token stands in the header of /FGTS and /Proposta. */
  withdrawalAuthorization: 'bearer' | 'bare';
  accessToken: string | null;
  tokenCommand: string | null;
  /** Names of variables that the token command gets beside PATH and HOME. */
  tokenCommandVariables: readonly string[];
  tokenCommandTimeoutMs: number;
  tokenRetryMs: number;
  connectTimeoutMs: number;
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
  connections: number;
  queryConnections: number;
  operationConnections: number;
  operationTimeoutMs: number;
  /** Further attempts at an operation with an idempotency key whose answer is unknown. */
  idempotentRetries: number;
  idempotentRetryMs: number;
  /** Taken for the way to the service until a hundred answers have measured it. */
  networkStartMs: number;
  /** Words or phrases by which a refused link query names the worker's authorisation: it is missing, */
  authorisationTexts: readonly string[];
  /** or, where one of these stands beside them, it counts no longer. */
  authorisationExpiredTexts: readonly string[];
};

/** Contacts of every bid, by the four types of the contract; the address is shown in the worker's app. */
export type ContactSection = {
  url: string;
  whatsapp: string | null;
  telephone: string | null;
  email: string | null;
};

/** The log of several machines. What is null or empty here is asked for when `backend` is `kafka`. */
export type KafkaSection = {
  /** `host:port` of at least one broker. */
  brokers: readonly string[] | null;
  registryUrl: string | null;
  registryAuth: { username: string; password: string } | null;
  ssl: boolean;
  sasl: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string } | null;
  topicPrefix: string;
  partitions: number;
  replication: number;
  groupId: string;
  sessionTimeoutMs: number;
  startTimeoutMs: number;
  stallTimeoutMs: number;
};

/** The views of several machines. */
export type RedisSection = {
  url: string | null;
  keyPrefix: string;
  commandTimeoutMs: number;
  connectTimeoutMs: number;
  reconnectFirstMs: number;
  reconnectMaxMs: number;
};

/** Where the heads of the log's chains are kept outside of it, and how they are signed. */
export type AuditSection = {
  /** Null: beside the data directory. */
  anchorFile: string | null;
  anchorMs: number;
  /** Null: derived from the pseudonym key. */
  key: string | null;
  /** After an accepted restore, where it is not known which requests were bid for: so long nothing is bid for what comes. */
  restoreQuietMs: number;
};

/** How a rule set becomes the one to follow. */
export type RulesSection = {
  /** Only when two persons stand for it. */
  approval: boolean;
  /** A change counts when the folder has stayed as it is for so long. */
  restMs: number;
  leastCoveragePercent: number;
};

/** What a process does: takes webhooks in, decides and bids, or both. */
export type Role = 'door' | 'desk';

export type Sections = {
  backend: 'embedded' | 'kafka';
  roles: readonly Role[];
  dataDir: string | null;
  kafka: KafkaSection;
  redis: RedisSection;
  rulesDir: string | null;
  rules: RulesSection;
  pseudonymKey: string;
  audit: AuditSection;
  http: HttpSettings;
  service: ServiceSection;
  contacts: ContactSection;
  bidding: BiddingSettings;
  economics: Economics;
  pricing: PricingSettings;
  flows: FlowSettings;
  api: ApiSection;
};

const anyText = text((value) => (value.trim() === '' ? 'is blank' : null));

const host = text((value) => (/^[\w.:-]+$/.test(value) ? null : 'is not a host name or an IP address'));
const port = wholeNumber('count', 0, 65_535);

const http: Fields<HttpSettings> = {
  host,
  port,
  webhookHost: optional(host),
  webhookPort: optional(port),
  apiHost: optional(host),
  apiPort: optional(port),
  metricsHost: optional(host),
  metricsPort: optional(port),
  trustedProxies: list(text(networkProblem), 0),
  webhookTokens: required(
    list(text(webhookTokenProblem), 1),
    'choose one or several tokens of at least 16 letters and digits, separated by commas',
  ),
  bodyLimitBytes: wholeNumber('bytes', 1_024, 100_000_000),
  bodiesLimitBytes: wholeNumber('bytes', 1_024, 10_000_000_000),
  connectionLimit: wholeNumber('count', 10, 1_000_000),
  tokenlessRequestsPerMinute: wholeNumber('count', 1, 1_000_000),
  failedLoginsPerMinute: wholeNumber('count', 1, 1_000_000),
  depthLimit: wholeNumber('count', 8, 1_000),
  doorQueueLimit: wholeNumber('count', 1, 1_000_000),
  appendTimeoutMs: wholeNumber('ms', 100, minuteMs),
};

const service: Fields<ServiceSection> = {
  baseUrl: required(text(addressProblem), 'set the root address of the service, like https://host/path'),
  fgtsUrl: optional(text(addressProblem)),
  proposalUrl: optional(text(addressProblem)),
  withdrawalAuthorization: choice('bearer', 'bare'),
  accessToken: optional(text(tokenProblem)),
  tokenCommand: optional(text(commandProblem)),
  tokenCommandVariables: list(text(passedVariableProblem), 0),
  tokenCommandTimeoutMs: wholeNumber('ms', 100, 2 * minuteMs),
  tokenRetryMs: wholeNumber('ms', 100, hourMs),
  connectTimeoutMs: wholeNumber('ms', 50, minuteMs),
  headersTimeoutMs: wholeNumber('ms', 50, 5 * minuteMs),
  bodyTimeoutMs: wholeNumber('ms', 50, 5 * minuteMs),
  connections: wholeNumber('count', 1, 4_096),
  queryConnections: wholeNumber('count', 1, 1_024),
  operationConnections: wholeNumber('count', 1, 1_024),
  operationTimeoutMs: wholeNumber('ms', 50, 5 * minuteMs),
  idempotentRetries: wholeNumber('count', 0, 10),
  idempotentRetryMs: wholeNumber('ms', 10, minuteMs),
  networkStartMs: wholeNumber('ms', 1, 10 * secondMs),
  authorisationTexts: list(anyText, 0),
  authorisationExpiredTexts: list(anyText, 0),
};

// Their formats are the contract's, so `checkContacts` of the wire judges them.
const contacts: Fields<ContactSection> = {
  url: required(anyText, 'set the complete address that workers are shown, like https://host/path'),
  whatsapp: optional(anyText),
  telephone: optional(anyText),
  email: optional(anyText),
};

const bidding: Fields<BiddingSettings> = {
  windowMs: wholeNumber('ms', secondMs, dayMs),
  skewAllowanceMs: wholeNumber('ms', 0, minuteMs),
  timeWitness: choice('service', 'none'),
  // The contract allows 7 days after the bid; 5 minutes are left to clocks.
  bidValidityMs: wholeNumber('ms', minuteMs, 7 * dayMs - 5 * minuteMs),
  graceMs: wholeNumber('ms', 0, 30 * dayMs),
  resultTimeoutMs: wholeNumber('ms', secondMs, 30 * dayMs),
  contemplationTimeoutMs: wholeNumber('ms', secondMs, 30 * dayMs),
  queueLimit: wholeNumber('count', 1, 1_000_000),
  sendLimit: wholeNumber('count', 1, 4_096),
  batchEntries: wholeNumber('count', 1, 10_000),
  retryFirstMs: wholeNumber('ms', 10, minuteMs),
  retryMaxMs: wholeNumber('ms', 10, minuteMs),
  marginWaitMs: wholeNumber('ms', 0, dayMs),
  askWithoutAuthorisation: flag(),
  directQueriesPerDay: wholeNumber('count', 0, 100_000_000),
  askCached: flag(),
  // A rule set begins 2 s after it was announced: who has not heard the controls since then may not bid.
  controlMaxAgeMs: wholeNumber('ms', 100, 2 * secondMs),
  controlPollMs: wholeNumber('ms', 10, minuteMs),
  demandByHour: list(realNumber('factor', 0, 1_000_000), 24),
  halfLifeMs: wholeNumber('ms', secondMs, 10 * yearMs),
};

const economics: Fields<Economics> = {
  fundingAnnualPercent: realNumber('percent', 0.5, 100),
  separationMonthly: realNumber('share', 0, 0.5),
  neverStartedShare: realNumber('share', 0, 0.9),
  lossGivenSeparation: realNumber('share', 0, 1),
  guaranteeRecovery: realNumber('share', 0, 1),
  commissionPercent: realNumber('percent', 0, 30),
  contractCostCents: wholeNumber('cents', 0, reaisMillion),
  bidCostCents: wholeNumber('cents', 0, reaisMillion),
  acceptanceCeiling: realNumber('share', 0.01, 1),
  acceptanceMidpointPercent: realNumber('percent', 0.01, 50),
  acceptanceSlope: realNumber('factor', 0, 100),
  acceptanceAmountElasticity: realNumber('factor', 0, 10),
  acceptanceTermElasticity: realNumber('factor', 0, 10),
  selectionWin: realNumber('factor', 0, 10),
  selectionRate: realNumber('factor', 0, 10),
};

const pricing: Fields<PricingSettings> = {
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
  ),
  guaranteePledge: section({
    fgtsBalanceShare: realNumber('share', 0, 1),
    terminationFineShare: realNumber('share', 0, 1),
  }),
  insuranceCents: wholeNumber('cents', 0, reaisMillion),
  maxInstallments: wholeNumber('count', 1, 480),
  marginBufferCents: wholeNumber('cents', 0, reaisMillion),
  minAmountShare: realNumber('share', 0.01, 1),
  acceptancePrior: section({
    midpointDeviationPercent: realNumber('percent', 0, 5),
    ceilingDeviation: realNumber('factor', 0, 2),
  }),
  winCurve: section({
    priorWeight: realNumber('factor', 0, 1_000_000),
    shrinkage: realNumber('factor', 0, 1_000_000),
    smoothing: realNumber('factor', 0, 10),
    prior: section({
      quantiles: list(
        section({ share: realNumber('share', 0, 1), rateHundredths: wholeNumber('hundredths', 2, 5_000) }),
        2,
      ),
      rivals: realNumber('factor', 0.1, 1_000),
    }),
  }),
};

const flows: Fields<FlowSettings> = {
  cutoffDay: wholeNumber('count', 1, 31),
  pollMs: wholeNumber('ms', 50, minuteMs),
  marginRetryMs: wholeNumber('ms', secondMs, hourMs),
  askCached: flag(),
  noteTimeoutMs: wholeNumber('ms', secondMs, dayMs),
  retryMs: wholeNumber('ms', 10, minuteMs),
  retryMaxMs: wholeNumber('ms', 10, dayMs),
  keyedAttempts: wholeNumber('count', 1, 100),
  competenceLookMs: wholeNumber('ms', secondMs, hourMs),
  noteTolerance: wholeNumber('cents', 0, 1_000_000),
  stepsKept: wholeNumber('count', 10, 10_000),
  finalisationEnabled: flag(),
  situations: list(
    section({
      code: wholeNumber('count', 0, 1_000_000),
      state: choice('approved', 'finalized', 'released', 'pending-payment', 'other'),
    }),
    0,
  ),
};

const api: Fields<ApiSection> = {
  tokens: list(
    section({
      name: text((value) => (/^[\p{L}\d._-]{1,60}$/u.test(value) ? null : 'has more than letters, digits, . _ and -')),
      role: choice(...apiRoles),
      sha256: text(apiTokenHashProblem),
    }),
    0,
  ),
  // Sealed it takes a third more, and a broker's record holds 8 MiB.
  bodyLimitBytes: wholeNumber('bytes', 1_024, 4_000_000),
  replayLimit: wholeNumber('count', 1, 10_000),
};

const kafka: Fields<KafkaSection> = {
  brokers: optional(list(text(brokerProblem), 1)),
  registryUrl: optional(text(addressProblem)),
  registryAuth: optional(section({ username: anyText, password: anyText })),
  ssl: flag(),
  sasl: optional(
    section({ mechanism: choice('plain', 'scram-sha-256', 'scram-sha-512'), username: anyText, password: anyText }),
  ),
  topicPrefix: text((value) => (/^[\w.-]{0,100}$/.test(value) ? null : 'has more than letters, digits, . _ and -')),
  partitions: wholeNumber('count', 1, 1_000),
  replication: wholeNumber('count', 1, 9),
  groupId: text((value) => (/^[\w.-]{1,100}$/.test(value) ? null : 'has more than letters, digits, . _ and -')),
  sessionTimeoutMs: wholeNumber('ms', 6 * secondMs, 5 * minuteMs),
  startTimeoutMs: wholeNumber('ms', secondMs, hourMs),
  stallTimeoutMs: wholeNumber('ms', 5 * secondMs, hourMs),
};

const redis: Fields<RedisSection> = {
  url: optional(text(redisAddressProblem)),
  keyPrefix: text((value) =>
    /^[\w.:{}-]{0,100}$/.test(value) ? null : 'has more than letters, digits and . : _ - { }',
  ),
  commandTimeoutMs: wholeNumber('ms', 50, minuteMs),
  connectTimeoutMs: wholeNumber('ms', 50, minuteMs),
  reconnectFirstMs: wholeNumber('ms', 10, minuteMs),
  reconnectMaxMs: wholeNumber('ms', 10, minuteMs),
};

const rules: Fields<RulesSection> = {
  approval: flag(),
  restMs: wholeNumber('ms', 50, minuteMs),
  leastCoveragePercent: realNumber('percent', 0, 100),
};

const audit: Fields<AuditSection> = {
  anchorFile: optional(anyText),
  anchorMs: wholeNumber('ms', secondMs, dayMs),
  key: optional(text(pseudonymKeyProblem)),
  restoreQuietMs: wholeNumber('ms', 0, 30 * dayMs),
};

/** For commands: whoever has no door of their own needs no token for it. */
export const httpBeside = section<Omit<HttpSettings, 'webhookTokens'> & { webhookTokens: readonly string[] | null }>({
  ...http,
  webhookTokens: optional(list(text(webhookTokenProblem), 0)),
});

export const sections: Fields<Sections> = {
  backend: choice('embedded', 'kafka'),
  roles: list(choice('door', 'desk'), 1),
  dataDir: optional(anyText),
  kafka: section(kafka),
  redis: section(redis),
  rulesDir: optional(anyText),
  rules: section(rules),
  pseudonymKey: required(text(pseudonymKeyProblem), 'set a secret of at least 32 characters and keep it'),
  audit: section(audit),
  http: section(http),
  service: section(service),
  contacts: section(contacts),
  bidding: section(bidding),
  economics: section(economics),
  pricing: section(pricing),
  flows: section(flows),
  api: section(api),
};
