/** What the contract asks of an auction contract, an endorsement and a renegotiation before they are sent. */
import { dayOf } from '../../domain/clock.ts';
import {
  type AmountCents,
  type Day,
  type EpochMs,
  maxRateHundredths,
  minRateHundredths,
  type RateHundredths,
} from '../../domain/glossary.ts';
import type { LinkField } from '../../domain/request.ts';
import { withoutAccents } from '../accents.ts';
import { cpfsIn, plainlyWritten, typedCpfsIn } from '../hidden-cpf.ts';
import { isJsonObject, type JsonValue, numberText, parseJson, scalarsIn } from '../json.ts';
import { fromWallClock } from '../local-time.ts';
import { namesWithin } from '../names-within.ts';
import { isId } from '../plain-ids.ts';
import type { ContractRequest, EndorsementRequest, RenegotiationRequest, WorkerAccount } from '../worker-credit.ts';
import {
  accountFormed,
  bankNumber,
  breach,
  type Check,
  cpfDigits,
  employerFormed,
  given,
  isOfOtherUnit,
  leastCents,
  leastInstallmentCents,
  type Preparation,
  prepared,
  registrationFormed,
  validCpf,
} from './breach.ts';

/** A margin counts for this long after the link was asked (contract, Limits: cache validity). */
export const marginValidityMs = 24 * 3_600_000;
/** A renegotiation may cost this; bids and auction contracts stay below it (contract, Limits). */
export const renegotiationMaxRateHundredths: RateHundredths = 498;

/** The last detail of the worker's link. `availableMarginCents` null: it did not say. */
export type MarginFact = {
  receivedAt: EpochMs;
  availableMarginCents: AmountCents | null;
  /** Null or absent: it did not say. */
  eligible?: boolean | null;
  ineligibilityCode?: number | null;
  terminationDate?: Day | null;
  /** What it says in a form that cannot be read, and that is null for this; absent: nothing. */
  unread?: readonly LinkField[];
  /** What it says in two ways that cannot both be so, and that is null for this; absent: nothing. */
  contradicted?: readonly LinkField[];
  /** Pseudonym of the worker whose link it is. */
  workerKey?: string;
};

export type ContractFacts = {
  now: EpochMs;
  /** What was bid. */
  bidRateHundredths: RateHundredths;
  /** The worker took the proposal in the work-card app. */
  acceptedByWorker: boolean;
  /** Null: the link was never asked for its details. */
  margin: MarginFact | null;
  /** Pseudonym of the worker; absent or null: not known. */
  workerKey?: string | null;
  /** Our own arithmetic of the instalment; the asked one where the request names it. */
  installmentCents: AmountCents;
  /** What was bid, and the instalment that releases as much at the rate and term of the request; absent or null: not known. */
  release?: ReleaseFacts | null;
};

export type ReleaseFacts = { amountLimitCents: AmountCents; mostInstallmentCents: AmountCents };

/** `operationId` names this generation: a second one, after the competence has turned, has another name. */
export function prepareContract(
  operationId: string,
  request: ContractRequest,
  facts: ContractFacts,
): Preparation<'contract'> {
  return prepared('contract', operationId, request, [
    exactlyOneValue(request),
    positive('amountCents', request.amountCents),
    positive('installmentCents', request.installmentCents),
    installmentOfAmount(request.amountCents, facts.installmentCents),
    rateAbove(request.rateHundredths),
    rateBelow(request.rateHundredths),
    rateWithin(request.rateHundredths, facts.bidRateHundredths),
    wholeTerm(request.installments),
    releaseWithinBid(request, facts.release ?? null),
    policyGiven(request),
    validCpf('agentCpf', request.agentCpf),
    ...accountWhole(request.account),
    facts.acceptedByWorker
      ? null
      : breach(
          'worker-accepted',
          'requestId',
          'the order says (workerAccepted: false) that the worker has not taken the proposal in the app; look there, and send true once it is taken',
        ),
    ...linkUsable(facts.margin, facts.workerKey),
    marginKnown(facts.margin),
    marginFresh(facts.margin, facts.now),
    marginFits(facts.margin, request.installmentCents ?? facts.installmentCents, askedField(request)),
  ]);
}

function exactlyOneValue({ amountCents, installmentCents }: ContractRequest): Check {
  const given = [amountCents, installmentCents].filter((value) => value !== null && value !== undefined).length;
  if (given === 1) return null;
  return breach('one-value', 'amountCents', 'send the released value or the instalment, exactly one of the two');
}

/** Of an order by its instalment the service reckons the amount: at a lower rate it would release more than was bid. */
export function releaseWithinBid(
  { installmentCents }: Pick<ContractRequest, 'installmentCents'>,
  release: ReleaseFacts | null,
): Check {
  if (installmentCents === null || installmentCents === undefined || release === null) return null;
  const { amountLimitCents, mostInstallmentCents } = release;
  if (installmentCents <= mostInstallmentCents) return null;
  return breach(
    'as-bid',
    'installmentCents',
    `it would release more than the bid, which was ${amountLimitCents} cents: at this rate and term send at most ${mostInstallmentCents} cents, or order by amountCents`,
  );
}

function positive(field: 'amountCents' | 'installmentCents', value: AmountCents | null | undefined): Check {
  if (value === null || value === undefined) return null;
  if (!Number.isSafeInteger(value) || value <= 0)
    return breach('amount-positive', field, 'send whole cents above zero');
  return leastCents(field === 'amountCents' ? 'amount' : 'installment', field, value);
}

/** An amount that is too small by itself is told once. */
function installmentOfAmount(amount: AmountCents | null | undefined, installmentCents: AmountCents): Check {
  if (amount === null || amount === undefined || amount <= 0 || installmentCents >= leastInstallmentCents) return null;
  if (leastCents('amount', 'amountCents', amount) !== null) return null;
  return breach(
    'installment-of-amount',
    'amountCents',
    'send a greater amount, in cents (100000 is R$ 1,000.00), or fewer instalments: each would be below R$ 1.00',
  );
}

function rateAbove(rate: RateHundredths): Check {
  if (Number.isInteger(rate) && rate >= minRateHundredths) return null;
  return breach('rate-above-minimum', 'rateHundredths', 'send a rate greater than 0.01 % a month');
}

function rateBelow(rate: RateHundredths): Check {
  if (rate <= maxRateHundredths) return null;
  return breach('rate-below-maximum', 'rateHundredths', 'send a rate less than 4.98 % a month');
}

function rateWithin(rate: RateHundredths, bidRate: RateHundredths): Check {
  if (rate <= bidRate) return null;
  return breach('rate-within-bid', 'rateHundredths', `send at most the rate of the bid, ${bidRate}`);
}

function wholeTerm(installments: number): Check {
  if (Number.isInteger(installments) && installments >= 1) return null;
  return breach('installments-positive', 'installments', 'send a whole number of instalments from 1');
}

function policyGiven({ insuranceCents, policyNumber }: ContractRequest): Check {
  if (insuranceCents === null || insuranceCents === undefined || (policyNumber ?? '').trim() !== '') return null;
  return breach('policy-with-insurance', 'policyNumber', 'send the policy number where there is insurance');
}

function accountWhole(account: WorkerAccount): Check[] {
  const texts = ['branch', 'branchDigit', 'account', 'accountDigit', 'bankNumber'] as const;
  const missing = texts.filter((name) => typeof account[name] !== 'string' || account[name].trim() === '');
  return [
    ...missing.map((name) => breach('account-complete', `account.${name}`, 'send it; the contract requires it')),
    account.accountType === 1 || account.accountType === 2
      ? null
      : breach('account-type', 'account.accountType', 'send 1 for savings or 2 for checking'),
    missing.includes('bankNumber') ? null : bankNumber(account.bankNumber),
    ...accountFormed(account),
  ];
}

/** What the detail says against the link, whatever its margin is. */
function linkUsable(link: MarginFact | null, workerKey: string | null | undefined): Check[] {
  if (link === null) return [];
  const { eligible, ineligibilityCode, terminationDate, unread = [], contradicted = [] } = link;
  const reason = ineligibilityCode == null ? '' : ` (motivoInelegibilidade ${ineligibilityCode})`;
  const eligibilityInDoubt = contradicted.includes('eligible')
    ? `the detail of the link calls it eligible and gives a reason why it is not${reason}; ask for it again`
    : unread.includes('eligible')
      ? 'the detail of the link says whether it is eligible (elegivel) in a form that cannot be read; ask for it again'
      : 'the detail of the link does not say whether it is eligible; ask for it again';
  return [
    eligible === null ? breach('link-eligible', 'link', eligibilityInDoubt) : null,
    eligible === false
      ? breach(
          'link-eligible',
          'link',
          `the detail of the link says that it is not eligible${reason}; name an eligible link`,
        )
      : null,
    unread.includes('terminationDate')
      ? breach(
          'link-not-terminated',
          'link',
          'the detail of the link names an end (dataDesligamento) that cannot be read; ask for it again',
        )
      : null,
    terminationDate == null
      ? null
      : breach('link-not-terminated', 'link', `the link was terminated on ${terminationDate}; name one that goes on`),
    workerKey == null || link.workerKey === undefined || link.workerKey === workerKey
      ? null
      : breach('link-of-worker', 'link', 'the link belongs to another worker; name one of the worker of this request'),
  ];
}

function marginKnown(margin: MarginFact | null): Check {
  if (margin !== null && margin.availableMarginCents !== null) return null;
  if (margin?.unread?.includes('availableMarginCents')) {
    const remedy =
      'the detail of the link names a margin (valorMargemDisponivel) that cannot be read; ask for it again';
    return breach('link-detail-queried', 'requestId', remedy);
  }
  return breach('link-detail-queried', 'requestId', 'ask the link for its details first: its margin is not known');
}

function marginFresh(margin: MarginFact | null, now: EpochMs): Check {
  if (margin === null || now - margin.receivedAt <= marginValidityMs) return null;
  return breach('margin-fresh', 'requestId', 'ask the link again: its details are older than 24 hours');
}

function marginFits(margin: MarginFact | null, installmentCents: AmountCents, field: string): Check {
  if (margin === null || margin.availableMarginCents === null) return null;
  if (installmentCents <= margin.availableMarginCents) return null;
  return breach('margin-fits', field, 'lower the amount: the instalment is above the available margin');
}

/** Which of the two values the order names. */
function askedField({ installmentCents }: ContractRequest): string {
  return installmentCents === null || installmentCents === undefined ? 'amountCents' : 'installmentCents';
}

// --- Endorsement ----------------------------------------------------------------------------------------------------

export type EndorsementFacts = {
  now: EpochMs;
  /** When the contract was generated that is signed; null: it was not. */
  generatedAt: EpochMs | null;
  /** The credit note of this generation has come. */
  noteReceived: boolean;
  /** When the worker signed with facial biometrics; null: not yet. */
  signedAt: EpochMs | null;
  /** Last day of the month that still counts for its competence (setting). */
  cutoffDay: number;
  /** What of the note differs from the order, or is not said or doubtful, and that nobody has taken as it is. */
  doubts: readonly string[];
  /** What the note may not exceed, whoever takes it: the rate of the bid. Null: not known. */
  rateLimitHundredths: RateHundredths | null;
  /** Null: the note does not say. */
  noteRateHundredths: RateHundredths | null;
  /** What the note releases, and the most that it may; absent: neither is known. */
  noteRelease?: NoteRelease;
  /** The same of its instalment and its insurance. */
  noteInstallment?: NoteAmount;
  noteInsurance?: NoteAmount;
  /** What the note names in a way that cannot be read; absent: nothing. */
  noteUnreadable?: readonly string[];
  /** The signer's expected identity; null: it is not known whose contract it is. */
  signer: { isWorker: (cpf: string) => boolean; agentCpf: string } | null;
  /** Of its note and its proposal: some are digits that would pass for a CPF. Absent: none. */
  ownCodes?: readonly string[];
  /** Under which the contract may be named, the number of its note first. Absent: none is known. */
  contractCodes?: readonly string[];
};

/** Null: not said, or not known. */
type NoteRelease = { releasedCents: AmountCents | null; mostCents: AmountCents | null };

/** As `NoteRelease`. */
type NoteAmount = { cents: AmountCents | null; mostCents: AmountCents | null };

/** What a note may not exceed, whoever takes it. */
export type NoteFacts = Pick<
  EndorsementFacts,
  'rateLimitHundredths' | 'noteRateHundredths' | 'noteRelease' | 'noteInstallment' | 'noteInsurance' | 'noteUnreadable'
>;

const unknownAmount: NoteAmount = { cents: null, mostCents: null };

/** What of the note is beyond the bid, or may be, because nobody can read it: nobody can take it. */
export function noteWithinBid(facts: NoteFacts): readonly Check[] {
  return [
    noteRateWithin(facts),
    noteReleaseWithin(facts.noteRelease ?? { releasedCents: null, mostCents: null }),
    noteInstallmentWithin(facts.noteInstallment ?? unknownAmount),
    noteInsuranceWithin(facts.noteInsurance ?? unknownAmount),
    noteReadable(facts.noteUnreadable ?? []),
  ];
}

/** And what somebody has to take first, where nothing is beyond the bid. */
export function noteSignable(facts: NoteFacts & Pick<EndorsementFacts, 'doubts'>): readonly Check[] {
  const beyond = noteWithinBid(facts);
  const { doubts } = facts;
  if (doubts.length === 0 || beyond.some((each) => each !== null)) return beyond;
  return [
    breach(
      'note-accepted',
      'step',
      `the note is not as ordered (${doubts.join(', ')}): take it as it is with the step accept and a reason, or have it generated again with the step regenerate`,
    ),
  ];
}

function noteReadable(figures: readonly string[]): Check {
  if (figures.length === 0) return null;
  return breach(
    'note-readable',
    'step',
    `the note says these in a way that cannot be read, or twice (${figures.join(', ')}): nobody can take it; see in the history of the flow what was written, have it generated again or cancel the flow, and settle it with the service`,
  );
}

/** As people read them; a rate between two hundredths is the higher one already. */
function inPercent(hundredths: RateHundredths): string {
  return `${(hundredths / 100).toFixed(2)} %`;
}

function inReais(cents: AmountCents): string {
  const [whole, part] = (cents / 100).toFixed(2).split('.');
  return `R$ ${whole!.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',')}.${part}`;
}

/** The worker took a proposal of the bid's instalment. */
function noteInstallmentWithin({ cents, mostCents }: NoteAmount): Check {
  if (cents === null || mostCents === null || cents <= mostCents) return null;
  return breach(
    'installment-within-bid',
    'step',
    `the instalment of the note is ${inReais(cents)}, and the bid allows ${inReais(mostCents)}: nobody can take it; have it generated again or cancel the flow, and settle it with the service`,
  );
}

function noteInsuranceWithin({ cents, mostCents }: NoteAmount): Check {
  if (cents === null || mostCents === null || cents <= mostCents) return null;
  return breach(
    'insurance-as-ordered',
    'step',
    `the note has insurance of ${inReais(cents)}, and with the tolerance of rounding the order allows ${inReais(mostCents)}: nobody can take it; have it generated again or cancel the flow, and settle it with the service`,
  );
}

/** Limits and caps were kept for the amount of the bid: nobody takes a note of more. */
function noteReleaseWithin({ releasedCents, mostCents }: NoteRelease): Check {
  if (releasedCents === null || mostCents === null || releasedCents <= mostCents) return null;
  return breach(
    'amount-within-bid',
    'step',
    `the note releases ${inReais(releasedCents)}, and the bid allows ${inReais(mostCents)}: nobody can take it; have it generated again or cancel the flow, and settle it with the service`,
  );
}

/** The contract lets nobody lift it: at most the rate of the bid. */
function noteRateWithin({
  rateLimitHundredths,
  noteRateHundredths,
}: Pick<EndorsementFacts, 'rateLimitHundredths' | 'noteRateHundredths'>): Check {
  if (rateLimitHundredths === null || noteRateHundredths === null || noteRateHundredths <= rateLimitHundredths) {
    return null;
  }
  return breach(
    'rate-within-bid',
    'step',
    `the rate of the note, ${inPercent(noteRateHundredths)}, is above the one it may have, ${inPercent(rateLimitHundredths)}: nobody can take it; have it generated again or cancel the flow, and settle it with the service`,
  );
}

const mayBePerson = { longest: 200, most: 1_000 };
const cpfField = /cpf/i;
const agentField = /agente/i;
const personField = /documento|titular|trabalhador|assinante|signatari[oa]|holder|worker/i;

/** Fields whose digits may pass for a CPF by chance, or are another's by right. */
const otherDigits = /fone|phone|celular|mobile|whats|contato|empregador|employer|matr[ií]cula|registration|nsu|hash/i;

/** What a field is by its name, also one above a list. `isPerson`: it, or one above it, is a person's. */
type FieldWithin = { path: string; isCpf: boolean; isAgent: boolean; isPerson: boolean; hasOtherDigits: boolean };
type TextWithin = FieldWithin & { text: string; isKey: boolean };

/** JSON within JSON is looked into so deep. */
const deepestText = 8;

/** Every key and single value, of JSON inside a text too. Keys may be long: each is looked at once, and a path is made where it is needed. */
function* textsWithin(value: JsonValue, above: FieldWithin, depth: number): Generator<TextWithin> {
  if (Array.isArray(value)) {
    for (const [index, inner] of value.entries())
      yield* textsWithin(inner, { ...above, path: `${above.path}.${index}` }, depth);
    return;
  }
  if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      const path = `${above.path}.${name}`;
      yield { ...above, path, text: name, isKey: true };
      const [isCpf, isAgent, hasOtherDigits] = [cpfField, agentField, otherDigits].map((form) => form.test(name));
      const isPerson = above.isPerson || personField.test(name);
      yield* textsWithin(inner, { path, isCpf, isAgent, isPerson, hasOtherDigits } as FieldWithin, depth);
    }
    return;
  }
  if (value === null || typeof value === 'boolean') return;
  const text = typeof value === 'string' ? value : numberText(value);
  const within = depth < deepestText && typeof value === 'string' && /^\s*[[{"]/.test(text) ? parseJson(text) : null;
  if (within?.kind === 'parsed') yield* textsWithin(within.value, above, depth + 1);
  else if (typeof value === 'string' || /^\d+$/.test(text)) yield { ...above, text, isKey: false };
}

/**
 * The fields are the partner's. What is called a CPF, or a person's document and is a CPF, is the worker's, or of the agent its own;
 * and so is every CPF that is written elsewhere, within a text, as a number or as a key.
 */
function signerOwn(content: EndorsementRequest['content'], { signer, ownCodes = [] }: EndorsementFacts): Check[] {
  if (signer === null) return [];
  const others = new Set<string>();
  const whole = { path: 'content', isCpf: false, isAgent: false, isPerson: false, hasOtherDigits: false };
  for (const told of textsWithin(content, whole, 0)) {
    const { path, isAgent, text, isKey } = told;
    if (ownCodes.includes(text.trim())) continue;
    const isOwn = (cpf: string) =>
      signer.isWorker(cpf) || ownCodes.includes(cpf) || (isAgent && cpf === signer.agentCpf);
    if (!(isKey ? typedCpfsIn(text) : cpfsNamed(told)).every(isOwn)) others.add(path);
  }
  const problem = 'send the CPF of the worker of this flow, or leave it out';
  return [...others].map((path) => breach('signer-is-worker', path, problem));
}

/** Longer texts name persons among other words. */
const longestNamed = 200;

function cpfsNamed({ isCpf, isPerson, hasOtherDigits, text }: TextWithin): readonly string[] {
  const written = text.length > longestNamed ? '' : plainlyWritten(text).replaceAll(/[ .-]/g, '');
  // A number has lost its leading zeros.
  const digits = written.padStart(cpfDigits, '0');
  const isWhole = /^\d{7,11}$/.test(written) && (isCpf || validCpf('', digits) === null);
  if (isCpf || isPerson) return isWhole ? [digits] : [...cpfsIn(text), ...typedCpfsIn(text)];
  return hasOtherDigits && /^\d+$/.test(written) ? [] : typedCpfsIn(text);
}

/** What a field is called that names the contract to be endorsed, with its number. */
export const noteField = /^num(?:ero)?_?(?:contrato|ccb)$/i;
/** And with the code of its proposal. */
export const proposalField = /^(?:(?:cod(?:igo)?|id)_?proposta|contrato_?proposta)$/i;

/** A field that names the note names it: left empty, nobody can tell which contract the service would endorse. */
function noteNamed(content: JsonValue, parent: string): Check[] {
  if (!Array.isArray(content) && !isJsonObject(content)) return [];
  return Object.entries(content).flatMap(([name, value]: [string, JsonValue]) => {
    const path = `${parent}.${name}`;
    if (!noteField.test(name) && !proposalField.test(name)) return noteNamed(value, path);
    if (scalarsIn(value, mayBePerson).length > 0) return [];
    return [breach('note-named', path, 'send the number of the note, or the code of its proposal, or leave this out')];
  });
}

const contractName = '(?:contrato|ccb|cedula)';
const numberName = '(?:n[ro]?o?|num|numeros?)';
const idName = '(?:id|identificador|cod|codigo)';
/** A field that is called a contract, or its number; `contrato.numero` and `contrato.id` are too. */
const contractField = new RegExp(
  `(?:^|\\.)(?:(?:${numberName}[_ -]?(?:d[oae]s?[_ -]?)?)?${contractName}(?:[_ -]?${numberName})?|${contractName}\\.(?:${numberName}|${idName}))$`,
);
/** One that is called the id of a contract: of which one, only what it is in may tell. */
const contractIdField = new RegExp(
  `(?:^|\\.)(?:${idName}[_ -]?(?:d[oae]s?[_ -]?)?${contractName}|${contractName}[_ -]?${idName})$`,
);
/** A part of a vendor, such as that of the biometrics, has ids of its own. */
const vendorPart =
  /(?:^|\.)(?:[^.]*(?:biometr|facial|liveness|selfie|fornecedor|provedor|vendor|provider)|(?:provas?|evidencias?|capturas?|dispositivo|device)(?=\.))/;

/** `path` without the places in lists. */
function namesContract(path: string): boolean {
  const field = withoutAccents(path)
    .toLowerCase()
    .replaceAll(/s?\.\d+(?=\.|$)/g, '');
  return contractField.test(field) || (contractIdField.test(field) && !vendorPart.test(field));
}

/** What is longer is the contract itself, or a hash of it. */
const longestNumber = 40;

/** A code without what people write between its parts, and the zeros that a number may have lost. */
function plainCode(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[\s./-]/g, '')
    .replace(/^0+(?=.)/, '')
    .toLowerCase();
}

/** Of a number that no flow here knows nobody can tell whose contract the service would endorse. */
function contractOwn(content: EndorsementRequest['content'], ownCodes: readonly string[]): Check[] {
  if (ownCodes.length === 0) return [];
  const own = new Set(ownCodes.map(plainCode));
  return namesWithin(content).flatMap(({ path, text, isWhole }) => {
    const mayBeNumber = isWhole && text.length <= longestNumber && /\d/.test(text);
    if (!mayBeNumber || !namesContract(path)) return [];
    const codes = [text, ...(text.match(/[\p{L}\d]+/gu) ?? []), ...(text.match(/\d[\d\s./-]*/g) ?? [])];
    if (codes.some((code) => own.has(plainCode(code)))) return [];
    const problem = `it is not the note of this flow; the note of this flow is ${ownCodes[0]}`;
    return [breach('note-of-this-flow', `content.${path}`, problem)];
  });
}

/** People write when somebody signed to the minute, by a clock of their own. */
const signingSlackMs = 60_000;

export function prepareEndorsement(
  operationId: string,
  request: EndorsementRequest,
  facts: EndorsementFacts,
): Preparation<'endorsement'> {
  const { generatedAt: at, signedAt } = facts;
  // The signature lies between the two, or its time is wrong: the month of a mistyped time says nothing of the competence.
  const turned = at !== null && competenceOf(at, facts.cutoffDay) !== competenceOf(facts.now, facts.cutoffDay);
  return prepared('endorsement', operationId, request, [
    Object.keys(request.content).length > 0
      ? null
      : breach('signature-sent', 'content', 'send the signature in the fields that the service asks for'),
    at !== null && facts.noteReceived
      ? null
      : breach('note-received', 'content', 'wait for the credit note: nothing can be signed before it'),
    signedAt !== null && signedAt > facts.now
      ? breach('signature-time', 'signedAt', 'send when the worker signed: this time is in the future')
      : null,
    !turned && (signedAt ?? facts.now) < (at ?? 0) - signingSlackMs
      ? breach(
          'signed-after-note',
          'signedAt',
          `send when the worker signed this note: it was generated at ${new Date(at ?? 0).toISOString()}`,
        )
      : null,
    signedAt !== null ? null : breach('signed', 'content', 'let the worker sign with facial biometrics first'),
    ...noteNamed(request.content, 'content'),
    ...contractOwn(request.content, facts.contractCodes ?? []),
    ...signerOwn(request.content, facts),
    ...noteSignable(facts),
    turned
      ? breach('same-competence', 'content', 'the competence has turned: generate and sign the contract again')
      : null,
  ]);
}

/** Competence of a time, `YYYY-MM`: from the day after the cut-off a day counts for the next month. 31: calendar months. */
export function competenceOf(at: EpochMs, cutoffDay: number): string {
  const [year, month, date] = dayOf(at).split('-').map(Number) as [number, number, number];
  const months = year * 12 + month - 1 + (date > cutoffDay ? 1 : 0);
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}`;
}

/** When the competence of a time ends: the midnight from which days count for another one. */
export function competenceTurn(at: EpochMs, cutoffDay: number): EpochMs {
  const own = competenceOf(at, cutoffDay);
  const [year, month, date] = dayOf(at).split('-').map(Number) as [number, number, number];
  for (let days = 1; ; days += 1) {
    const midnight = fromWallClock(Date.UTC(year, month - 1, date + days));
    if (competenceOf(midnight, cutoffDay) !== own) return midnight;
  }
}

/** The number of a credit note is no name and not the worker's CPF: it stands where people without the right to these see it. */
function contractNumber(closedContract: string, cpf: string): Check {
  if (closedContract.trim() === '' || (isId(closedContract) && closedContract !== cpf)) return null;
  return breach(
    'contract-number',
    'closedContract',
    'send the number of the closed contract as its note has it: letters and digits without blanks, and not the CPF',
  );
}

// --- Renegotiation --------------------------------------------------------------------------------------------------

/** What is known of the closed contract and the new link. Null: only the service knows, and checks it itself. */
export type RenegotiationFacts = {
  now: EpochMs;
  original: {
    rateHundredths: RateHundredths;
    cpf: string | null;
    closedByTermination: boolean | null;
    openInstallments: number | null;
    pendingCharges: boolean | null;
  };
  link: { valid: boolean | null; margin: MarginFact | null };
  /** As of a contract. */
  workerKey?: string | null;
  /** What it is expected to come to; null: nobody said, and the service alone holds it against the margin. */
  installmentCents: AmountCents | null;
};

export function prepareRenegotiation(
  operationId: string,
  request: RenegotiationRequest,
  facts: RenegotiationFacts,
): Preparation<'renegotiation'> {
  const { original, link } = facts;
  const { rateHundredths, employerIdType } = request;
  return prepared('renegotiation', operationId, request, [
    rateAbove(rateHundredths),
    rateHundredths <= renegotiationMaxRateHundredths
      ? null
      : breach('rate-at-most-maximum', 'rateHundredths', 'send a rate of at most 4.98 % a month'),
    !isOfOtherUnit(rateHundredths, original.rateHundredths) || rateAbove(rateHundredths) !== null
      ? null
      : breach(
          'rate-in-unit',
          'rateHundredths',
          `the original contract is at ${original.rateHundredths}: so little was typed in another unit`,
        ),
    rateHundredths <= original.rateHundredths
      ? null
      : breach(
          'rate-within-original',
          'rateHundredths',
          `send at most the rate of the original contract, ${original.rateHundredths}`,
        ),
    wholeTerm(request.installments),
    validCpf('cpf', request.cpf),
    validCpf('agentCpf', request.agentCpf),
    given('closedContract', request.closedContract),
    contractNumber(request.closedContract, request.cpf),
    given('registration', request.registration),
    given('employerId', request.employerId),
    given('contractType', request.contractType),
    employerIdType === 1 || employerIdType === 2
      ? null
      : breach('employer-type', 'employerIdType', 'send 1 for CNPJ or 2 for CPF'),
    employerFormed('employerId', request.employerId, employerIdType),
    registrationFormed('registration', request.registration),
    original.cpf === null || original.cpf === request.cpf
      ? null
      : breach('contract-of-worker', 'closedContract', 'name a contract of this worker'),
    original.closedByTermination === false
      ? breach('closed-by-termination', 'closedContract', 'only a loan closed by termination can be renegotiated')
      : null,
    original.openInstallments === 0
      ? breach('open-installments', 'closedContract', 'no instalment is open: there is nothing to renegotiate')
      : null,
    original.pendingCharges === true
      ? breach('no-pending-charges', 'closedContract', 'settle the pending charges first')
      : null,
    link.valid === false ? breach('link-valid', 'registration', 'name a link that is valid') : null,
    ...linkUsable(link.margin, facts.workerKey),
    marginKnown(link.margin),
    marginFresh(link.margin, facts.now),
    leastCents('installment', 'estimatedInstallmentCents', facts.installmentCents),
    facts.installmentCents === null
      ? null
      : marginFits(link.margin, facts.installmentCents, 'estimatedInstallmentCents'),
  ]);
}
