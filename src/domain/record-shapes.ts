/**
 * What a stored record has to look like before anything is made of it. Whoever reads the log from a disk or a broker asks here:
 * a record of another shape is replaced by one of kind `unreadable`, under the key that it stands under. Fields that programs
 * before this one did not write may be absent; fields that nobody knows may be there.
 */
import { flowSteps } from './flow-records.ts';
import { queueShape, type Review, type SourceLook, sourceFailures } from './offer.ts';
import type { LostClaim, Topic, Topics } from './records.ts';
import type { LinkDetail } from './request.ts';

/** Null: it fits. Else what is wrong and where; the value is never quoted. */
type Shape = (value: unknown) => string | null;

function isA(expected: string, fits: (value: unknown) => boolean): Shape {
  const wrong = ` is not ${expected}`;
  return (value) => (fits(value) ? null : value === undefined ? ' is missing' : wrong);
}

const text = isA('a text', (value) => typeof value === 'string');
const id = isA('a text with something in it', (value) => typeof value === 'string' && value !== '');
const flag = isA('true or false', (value) => typeof value === 'boolean');
const whole = isA('a whole number', Number.isSafeInteger);
const count = isA('a whole number from 0', (value) => Number.isSafeInteger(value) && (value as number) >= 0);
const finite = isA('a number', Number.isFinite);
/**
 * What is learnt from levels takes room by the square of the highest one, and time by the square of their number: far more of both than
 * any layout of features has.
 */
const mostLevels = 64;
const level = isA(
  'a level',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 4_096,
);
const longestTimeMs = 8_640_000_000_000_000;
/** Times outside make an `Invalid Date` of whatever shows them. */
const time = isA(
  'a time in milliseconds',
  (value) => Number.isSafeInteger(value) && Math.abs(value as number) <= longestTimeMs,
);
/** Longer than any setting allows; a time that is so much later is still one. */
const longestMs = 100 * 366 * 86_400_000;
const duration = isA(
  'a duration in milliseconds',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= longestMs,
);
const halfLife = isA(
  'a half-life in milliseconds',
  (value) => Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= longestMs,
);
/** Sums of many have to stay exact. */
const mostCents = 1e15;
const cents = isA('whole cents', (value) => Number.isSafeInteger(value) && Math.abs(value as number) <= mostCents);
const positiveCents = isA(
  'whole cents from 1',
  (value) => Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= mostCents,
);
const day = isA(
  'a day',
  (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
);
const scalar = isA('a text, a number, true, false or null', (value) => value === null || typeof value !== 'object');
const textOrNumber = isA('a text or a number', (value) => typeof value === 'string' || Number.isFinite(value));
const shown = oneOf('success', 'nothing');
const isTrue = isA('true', (value) => value === true);

function oneOf(...words: readonly string[]): Shape {
  return isA(`one of ${words.join(', ')}`, (value) => words.includes(value as string));
}

function nullable(shape: Shape): Shape {
  return (value) => (value === null ? null : shape(value));
}

/** Programs before this one did not write it. */
function added(shape: Shape): Shape {
  return (value) => (value === undefined ? null : shape(value));
}

function list(shape: Shape, most = Number.POSITIVE_INFINITY): Shape {
  return (value) => {
    if (!Array.isArray(value)) return value === undefined ? ' is missing' : ' is not a list';
    if (value.length > most) return ` has more than ${most} entries`;
    for (let index = 0; index < value.length; index += 1) {
      const problem = shape(value[index]);
      if (problem !== null) return `.${index}${problem}`;
    }
    return null;
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object with these fields at least. */
function object(fields: Readonly<Record<string, Shape>>): Shape {
  const entries = Object.entries(fields);
  return (value) => {
    if (!isObject(value)) return value === undefined ? ' is missing' : ' is not an object';
    for (const [name, shape] of entries) {
      const problem = shape(value[name]);
      if (problem !== null) return `.${name}${problem}`;
    }
    return null;
  };
}

/** An object of any names with values of one shape. */
function map(shape: Shape): Shape {
  return (value) => {
    if (!isObject(value)) return value === undefined ? ' is missing' : ' is not an object';
    // Names may be personal: none is quoted.
    for (const name of Object.keys(value)) {
      const problem = shape(value[name]);
      if (problem !== null) return `.*${problem}`;
    }
    return null;
  };
}

/** An object whose field names which of these shapes it has. */
function byName(field: string, shapes: Readonly<Record<string, Shape>>): Shape {
  const known = new Map(Object.entries(shapes));
  return (value) => {
    if (!isObject(value)) return value === undefined ? ' is missing' : ' is not an object';
    const shape = known.get(value[field] as string);
    return shape === undefined ? `.${field} is not one of ${[...known.keys()].join(', ')}` : shape(value);
  };
}

const texts = list(text);
const via = added(oneOf('api', 'offline'));

// --- Requests -------------------------------------------------------------------------------------------------------

const loanRequest = object({
  requestId: id,
  batchId: nullable(text),
  receivedAt: time,
  closesAt: nullable(time),
  expiresAt: nullable(time),
  requestedAmountCents: nullable(cents),
  requestedInstallments: nullable(count),
  availableMarginCents: nullable(cents),
  eligible: nullable(flag),
  workerKey: nullable(text),
  linkKey: nullable(text),
  employerId: nullable(text),
  employerIdType: nullable(whole),
  birthDate: nullable(day),
  admissionDate: nullable(day),
  politicallyExposed: nullable(flag),
  activityCode: added(nullable(whole)),
  employerStartDate: added(nullable(day)),
  guarantee: object({
    present: nullable(flag),
    fgtsBalanceCents: nullable(cents),
    terminationFineCents: nullable(cents),
    severancePercent: nullable(finite),
  }),
  alertCodes: nullable(texts),
  scores: added(map(finite)),
  authorisationNumber: nullable(text),
  sealedGroups: added(texts),
  unread: added(texts),
  extra: map(scalar),
});

const linkDetail = object({
  linkKey: text,
  workerKey: text,
  receivedAt: time,
  eligible: nullable(flag),
  ineligibilityCode: nullable(whole),
  availableMarginCents: nullable(cents),
  marginBaseCents: nullable(cents),
  totalEarningsCents: nullable(cents),
  admissionDate: nullable(day),
  terminationDate: nullable(day),
  birthDate: nullable(day),
  workerCategoryCode: nullable(whole),
  politicallyExposed: nullable(flag),
  occupationCode: nullable(whole),
  activityCode: nullable(whole),
  employerStartDate: nullable(day),
  activeLoans: nullable(whole),
  alertCount: nullable(whole),
  unread: added(texts),
  contradicted: added(texts),
});

const offer = object({
  rateHundredths: count,
  amountCents: positiveCents,
  installments: count,
  installmentCents: cents,
  financedCents: cents,
  iofCents: cents,
  cetAnnualHundredths: whole,
  expectedValueCents: cents,
  winProbability: finite,
  validUntil: time,
});

const caps = list(
  object({ keys: texts, limitAmountCents: nullable(cents), limitCount: nullable(count), paced: added(flag) }),
);
const reasons = list(object({ code: text, rule: nullable(text), text }));
/** A sum of many amounts, each within `mostCents`: what was decided with it has to be read back. */
const sumCents = isA('whole cents', Number.isSafeInteger);
const usage = map(object({ amountCents: sumCents, count: whole }));

const queue = isA('the name of a queue', (value) => typeof value === 'string' && queueShape.test(value));
const reviewAnswer = oneOf('pass', 'bid');
const review = { queue, rules: texts, until: time, otherwise: reviewAnswer };

const sourceLook = {
  source: text,
  hash: text,
  failure: nullable(oneOf(...sourceFailures)),
  found: map(textOrNumber),
};

const sourceLooks = list(object(sourceLook));

const answeredReview = object({
  ...review,
  askedAt: time,
  answer: nullable(object({ decision: reviewAnswer, by: text, via, reason: text, at: time })),
});

const trace = object({
  decidedAt: time,
  ruleSetHash: text,
  settingsHash: text,
  curveHash: nullable(text),
  tailoring: added(object({ shapesHash: text, weights: list(finite), locations: list(finite) })),
  segmentKeys: texts,
  link: nullable(linkDetail),
  linkAsked: added(object({ from: time, until: time })),
  contradicted: added(texts),
  worseEconomics: added(
    list(object({ field: text, value: finite, word: oneOf('request', 'link'), rule: nullable(text) })),
  ),
  usage,
  ledger: added(map(finite)),
  shadowPricePerCent: finite,
  shadowPriceVersion: added(text),
  amounts: added(oneOf('joint')),
  capKeys: added(oneOf('known')),
  acceptance: added(object({ midpointShiftPercent: finite, ceilingFactor: finite })),
  caps,
  rulesFired: texts,
  tables: added(list(object({ table: text, hash: text, key: nullable(text), found: map(textOrNumber) }))),
  sources: added(sourceLooks),
  snoozed: added(list(object({ rule: text, digest: text }))),
  review: added(answeredReview),
  reasons,
  trial: added(
    nullable(
      object({
        breakEvens: list(finite),
        rates: list(finite),
        scale: finite,
        acceptance: added(object({ midpointPercent: finite, slope: finite })),
        additive: added(object({ layout: text, levels: list(level, mostLevels), locations: list(finite) })),
      }),
    ),
  ),
});

const claimTerms = object({
  resultTimeoutMs: duration,
  contemplationTimeoutMs: duration,
  graceMs: duration,
  halfLifeMs: halfLife,
});

const outcome = byName('kind', {
  accepted: object({ bidId: text }),
  'accepted-outside': object({ bidId: nullable(text) }),
  rejected: object({ code: text, names: added(texts) }),
  duplicate: object({ names: added(texts) }),
  unknown: object({ reason: text, names: added(texts) }),
});

const bids = list(
  object({
    bidId: text,
    rateHundredths: whole,
    offGrid: flag,
    amountCents: cents,
    installments: whole,
    position: whole,
    placedAt: nullable(time),
  }),
);

const winner = { at: time, requestCode: text, message: nullable(text), errors: texts, sealed: added(text) };
const proposal = { proposalCode: nullable(text), proposalNumber: nullable(text), validUntil: nullable(time) };
const ofRequest = { requestId: id, at: time };
const thaw = { action: oneOf('retry', 'cancel'), by: text, via, reason: text };

const hindrances = added(
  list(object({ kind: oneOf('attempt', 'query', 'wait'), cause: id, count, from: time, until: time })),
);

const lostClaim = object({ claimId: id, at: time, offer, caps, terms: added(claimTerms) });

const auctionRecord = byName('kind', {
  requested: object({ ...ofRequest, request: loanRequest, windowMs: added(duration), sealed: text, rawHash: text }),
  claimed: object({ ...ofRequest, claimId: id, instance: id, body: id, offer, trace, terms: added(claimTerms) }),
  passed: object({
    ...ofRequest,
    code: id,
    claimId: nullable(id),
    maybeSent: added(isTrue),
    unread: added(isTrue),
    reasons,
    trace: nullable(trace),
    hindrances,
  }),
  answered: object({
    ...ofRequest,
    claimId: id,
    outcome,
    lostClaim: added(lostClaim),
    codes: added(texts),
    attempts: count,
    earlierAttemptPossible: flag,
    firstByteAt: nullable(time),
    response: nullable(object({ status: whole, body: nullable(text), sealedBody: added(nullable(text)) })),
    hindrances,
  }),
  ended: object({
    ...{ ...ofRequest, batchId: text, startedAt: nullable(time), endedAt: nullable(time), bids },
    halfLifeMs: added(halfLife),
  }),
  contemplated: object({ ...ofRequest, ...winner, sharedWith: added(texts) }),
  proposed: object({ ...ofRequest, ...winner, ...proposal, sharedWith: added(texts) }),
  resolved: object({
    ...ofRequest,
    as: oneOf('won', 'contemplated', 'lost', 'not-landed', 'cancelled', 'result-missing', 'expired'),
    by: text,
    via,
    reason: text,
    windowsUntil: added(time),
  }),
  'review-asked': object({ ...ofRequest, ...review, ruleSetHash: text }),
  'review-answered': object({ ...ofRequest, decision: reviewAnswer, by: text, via, reason: text }),
  'source-asked': object({ ...ofRequest, source: text, hash: text, attempt: count, ruleSetHash: text }),
  'source-answered': object({ ...ofRequest, ...sourceLook }),
  'worker-read': object({ ...ofRequest, by: text, via, reason: text }),
  frozen: object({ ...ofRequest, problem: text }),
  unreadable: object({ ...ofRequest, problem: text }),
  unfrozen: object({ ...ofRequest, ...thaw }),
});

// --- Callbacks ------------------------------------------------------------------------------------------------------

const creditNote = object({
  noteNumber: text,
  proposalCode: nullable(text),
  loanCents: nullable(cents),
  iofCents: nullable(cents),
  insuranceCents: nullable(cents),
  installmentCents: nullable(cents),
  rateMonthlyPercent: nullable(finite),
  rateAnnualPercent: nullable(finite),
  cetMonthlyPercent: nullable(finite),
  cetAnnualPercent: nullable(finite),
  unreadable: added(texts),
});

const link = object({
  linkKey: text,
  eligible: nullable(flag),
  employerId: nullable(text),
  employerIdType: nullable(whole),
  sealedIdentity: text,
});

const callbackRecord = byName('kind', {
  'link-detail': object({
    ...{ at: time, requestCode: nullable(text), detail: linkDetail, otherLinkKey: added(text), sealed: text },
  }),
  'link-list': object({ at: time, requestCode: nullable(text), workerKey: text, links: list(link), sealed: text }),
  contemplated: object(winner),
  proposed: object({ ...winner, ...proposal }),
  'credit-note': object({
    ...{ at: time, requestCode: text, of: oneOf('contract', 'renegotiation') },
    ...{ note: nullable(creditNote), holder: added(nullable(text)), errors: texts, sealed: text },
    unread: added(isTrue),
  }),
  'operation-event': object({
    ...{ at: time, requestCode: text, endpoint: nullable(text), errors: texts, denies: added(isTrue), sealed: text },
    shows: added(shown),
    saysDone: added(isTrue),
    unread: added(isTrue),
  }),
  'personal-read': object({
    ...{ at: time, requestCode: nullable(text), by: text, via },
    ...{ what: text, workerKey: text, linkKey: nullable(text) },
  }),
  unreadable: object({ at: time, problem: text }),
});

// --- Flows ----------------------------------------------------------------------------------------------------------

const ofFlow = { flowId: id, at: time };
const operation = oneOf(
  ...['contract', 'endorsement', 'renegotiation', 'simulation', 'inclusion', 'proposal'],
  ...['installments', 'splits', 'signers', 'finalisation', 'account-update'],
);
const terms = nullable(
  object({
    amountCents: nullable(cents),
    installmentCents: nullable(cents),
    installments: count,
    rateHundredths: count,
    insuranceCents: nullable(cents),
  }),
);
const subject = object({
  requestId: nullable(text),
  workerKey: nullable(text),
  linkKey: nullable(text),
  rateLimitHundredths: nullable(count),
  amountLimitCents: added(cents),
  installmentLimitCents: added(cents),
  closedContract: nullable(text),
  signerKeys: texts,
});
const result = byName('kind', {
  accepted: object({
    requestCode: nullable(text),
    proposalCode: nullable(text),
    situation: nullable(finite),
    saysDone: added(isTrue),
  }),
  rejected: object({ code: text, errors: texts, saysExists: added(isTrue) }),
  unknown: object({ reason: text, saysDone: added(isTrue) }),
  'not-sent': object({ reason: text, retryAt: nullable(time) }),
});
/** Of a contract there is a request, and of a renegotiation there are terms; both have a worker. */
const order = { by: text, key: text, requestHash: text, sealed: text };
const slot = isA('an operation and its number', (value) => typeof value === 'string' && /^[a-z-]+#\d+$/.test(value));

const flowRecord = byName('kind', {
  started: object({
    ...ofFlow,
    ...{ flow: oneOf('contract', 'renegotiation', 'withdrawal', 'lookup'), ...order, subject, terms },
    ...{ again: added(isTrue), proposalCode: added(id), logId: added(id), despite: added(texts) },
  }),
  asked: object({
    ...{ ...ofFlow, stepId: text, by: text, step: oneOf(...flowSteps), requestHash: text, terms },
    ...{ signedAt: nullable(time), requestCode: nullable(text), personKeys: texts },
    ...{ reason: nullable(text), sealed: nullable(text), sealedReason: added(text), linkKey: added(text) },
    ...{
      despite: added(texts),
      splitCents: added(count),
      stepsKept: added(count),
      corrects: added(isTrue),
      givesCodeUp: added(isTrue),
    },
    ...{
      ofEndorsed: added(isTrue),
      ofShown: added(isTrue),
      ofAwaited: added(isTrue),
      ofContradicted: added(isTrue),
      via,
    },
    lateIntentId: added(text),
    accepts: added(list(oneOf('figures', 'late'))),
  }),
  intended: object({
    ...{ ...ofFlow, intentId: id, instance: id, operation, slot, idempotencyKey: nullable(id), path: id },
    ...{ sealedBody: text, expected: nullable(map(finite)), most: added(map(finite)) },
    retry: added(object({ keyedAttempts: count, retryMs: count, retryMaxMs: count })),
    forgetsCode: added(isTrue),
  }),
  withheld: object({ ...ofFlow, operation, slot, breaches: list(object({ rule: text, field: text, problem: text })) }),
  answered: object({
    ...{ ...ofFlow, intentId: text, instance: text, result, earlierAttemptPossible: flag },
    othersMayHaveSent: added(flag),
    operation: added(operation),
    ...{ firstByteAt: nullable(time), attempts: added(count), status: nullable(whole), sealedAnswer: nullable(text) },
  }),
  told: object({
    ...{ ...ofFlow, requestCode: text, of: oneOf('contract', 'renegotiation', 'operation', 'link-query') },
    ...{ note: nullable(creditNote), holder: added(nullable(text)), reckoned: added(map(finite)) },
    bodyKey: added(text),
    unread: added(isTrue),
    denies: added(isTrue),
    shows: added(shown),
    settles: added(isTrue),
    endorses: added(isTrue),
    saysDone: added(isTrue),
    keepsDone: added(isTrue),
    ...{ errors: texts, sealed: text },
  }),
  'link-told': object({
    ...{ ...ofFlow, requestCode: nullable(text), workerKey: text, linkKey: nullable(text), sealed: text },
  }),
  proposed: object({ ...ofFlow, ...proposal, errors: texts }),
  'margin-asked': object({
    ...ofFlow,
    refusal: nullable(text),
    requestCode: added(nullable(text)),
    sealedAnswer: added(text),
  }),
  turned: object(ofFlow),
  shown: object({ ...ofFlow, by: text, via, what: text, sealedReason: nullable(text) }),
  'claimed-by': object({ ...ofFlow, owner: text, givenUp: added(isTrue) }),
  frozen: object({ ...ofFlow, problem: text }),
  unreadable: object({ ...ofFlow, problem: text }),
  unfrozen: object({ ...ofFlow, ...thaw }),
});

// --- The rest -------------------------------------------------------------------------------------------------------

const deadLetter = object({
  ...{ at: time, receivedAt: time, reason: text, pointer: nullable(text), sealedPayload: text },
  replayOf: added(object({ offset: count })),
  replayedBy: added(object({ by: text, via, reason: nullable(text) })),
  dismissedBy: added(object({ by: text, via, reason: nullable(text) })),
});
const storedInput = object({ kind: text, hash: text, content: text });

const shapes: Readonly<Record<Topic, Shape>> = {
  auctions: auctionRecord,
  callbacks: callbackRecord,
  flows: flowRecord,
  'dead-letters': deadLetter,
  inputs: storedInput,
};

/** Topics whose records are about the request or flow that their key names. */
const keyField: Readonly<Partial<Record<Topic, string>>> = { auctions: 'requestId', flows: 'flowId' };

/** Where a record stands in the log. */
type Place = { partition: number; offset: number; key: string };

/**
 * The record that stands there, or what stands for it where it cannot be read. `value` is undefined where its bytes already said
 * nothing, and `undecoded` why.
 */
export function readRecord<T extends Topic>(
  topic: T,
  { partition, offset, key }: Place,
  value: unknown,
  undecoded: string | null = null,
): Topics[T] {
  const problem = undecoded ?? problemOf(topic, key, value);
  if (problem === null) return value as Topics[T];
  return standIn(topic, key, timeIn(value), `${topic}/${partition} at ${offset}: ${problem}`);
}

/** What was kept of a claim outside of the log; null: nothing that could be folded. */
export function readLostClaim(value: unknown): LostClaim | null {
  return lostClaim(value) === null ? (value as LostClaim) : null;
}

/** What a cache kept of a link; null where it is no such thing, or of another link: then it is as if nothing had been kept. */
export function readKeptDetail(linkKey: string, json: string): LinkDetail | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  return linkDetail(value) === null && (value as LinkDetail).linkKey === linkKey ? (value as LinkDetail) : null;
}

function problemOf(topic: Topic, key: string, value: unknown): string | null {
  if (value === undefined) return 'its bytes are no JSON';
  const problem = shapes[topic](value);
  if (problem !== null) return `${kindIn(value)}${problem}`;
  const field = keyField[topic];
  const isElsewhere = field !== undefined && (value as Record<string, unknown>)[field] !== key;
  return isElsewhere ? `${field} is not the key that it stands under` : null;
}

function kindIn(value: unknown): string {
  const kind = isObject(value) ? value.kind : undefined;
  return typeof kind === 'string' && /^[a-z-]{1,30}$/.test(kind) ? kind : 'the record';
}

function timeIn(value: unknown): number {
  const at = isObject(value) ? value.at : undefined;
  return time(at) === null ? (at as number) : 0;
}

function standIn<T extends Topic>(topic: T, key: string, at: number, problem: string): Topics[T] {
  const unreadable = { kind: 'unreadable', at, problem } as const;
  const standIns: { [S in Topic]: Topics[S] } = {
    auctions: { ...unreadable, requestId: key },
    flows: { ...unreadable, flowId: key },
    callbacks: { ...unreadable, requestCode: null },
    'dead-letters': { at, receivedAt: at, reason: `unreadable: ${problem}`, pointer: null, sealedPayload: '' },
    // Nobody asks for an input without a hash.
    inputs: { kind: 'settings', hash: '', content: '' },
  };
  return standIns[topic];
}

/** Whether what somebody wrote into a file is what sources said of a request. */
export function areSourceLooks(value: unknown): value is readonly SourceLook[] {
  return sourceLooks(value) === null;
}

/** The same of what a person was asked, with the answer. */
export function isReview(value: unknown): value is Review {
  return answeredReview(value) === null;
}
