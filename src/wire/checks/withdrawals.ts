/** What the contract asks of a withdrawal-backed loan's operations before they are sent. */
import { isIP } from 'node:net';
import { cnpj as cnpjRules } from 'cpf-cnpj-validator';
import { dayOf } from '../../domain/clock.ts';
import { isCpf } from '../../domain/cpf.ts';
import type { AmountCents, Day, EpochMs, RateHundredths } from '../../domain/glossary.ts';
import { nearestWord } from '../../domain/nearest-word.ts';
import { cpfsIn, plainlyWritten } from '../hidden-cpf.ts';
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue, scalarsIn } from '../json.ts';
import {
  type AccountUpdateRequest,
  accountFieldOf,
  accountKeys,
  type FinalisationRequest,
  isAccountKey,
  locatorKeys,
  type ProposalLocator,
  type Signer,
  type SignersRequest,
  type SplitsRequest,
} from '../proposals.ts';
import type { InclusionRequest, InstallmentsRequest, ProposalQueryRequest, SimulationRequest } from '../withdrawals.ts';
import {
  accountFormed,
  bankFormed,
  breach,
  type Check,
  given,
  isOfOtherUnit,
  leastCents,
  type Preparation,
  prepared,
  validCpf,
} from './breach.ts';

/** `birthDate` null: nobody told us, so the service alone checks the month. */
export type SimulationFacts = { now: EpochMs; birthDate: Day | null };

export function prepareSimulation(
  operationId: string,
  request: SimulationRequest,
  facts: SimulationFacts,
): Preparation<'simulation'> {
  const hasBalance = request.balanceCents !== null && request.balanceCents !== undefined;
  const hasWorker = request.cpf !== null && request.cpf !== undefined;
  return prepared('simulation', operationId, request, [
    hasBalance || hasWorker
      ? null
      : breach('balance-or-worker', 'cpf', 'send the CPF, whose balance is asked for, or a balance to calculate with'),
    hasWorker ? validCpf('cpf', request.cpf) : null,
    bornAsAdult('birthDate', request.birthDay, facts.now),
    bornAsOrdered(request.birthDay, facts.birthDate),
    notNegative('balanceCents', request.balanceCents),
    leastCents('amount', 'amountCents', request.amountCents),
    rateInBounds(request.rateHundredths),
    oneFee(request),
    ...transferDays(request.transfers, facts.now),
    ...centsGiven('transfers', request.transfers),
  ]);
}

/** The service looks at the month alone; another day than the order's is still a person's mistake in one of the two. */
function bornAsOrdered(asked: Day | null | undefined, known: Day | null): Check {
  if (asked === null || asked === undefined || known === null || asked === known) return null;
  const month = known.slice(5, 7);
  if (asked.slice(5, 7) === month) {
    return breach(
      'birth-date',
      'birthDate',
      'the order says another day: send that one; if the order is wrong, cancel this flow and start one with the right birthDate',
    );
  }
  return breach(
    'birth-month',
    'birthDate',
    `the order says month ${month}: send a day of birth in it; if the order is wrong, cancel this flow and start one with the right birthDate`,
  );
}

const leastAgeYears = 18;
const mostAgeYears = 120;

/** A borrower is of age, and at most 120 years old. */
export function bornAsAdult(field: string, day: Day | null | undefined, now: EpochMs): Check {
  if (day === null || day === undefined) return null;
  const today = dayOf(now);
  const [earliest, latest] = [yearsAfter(today, -mostAgeYears), yearsAfter(today, -leastAgeYears)];
  if (day >= earliest && day <= latest) return null;
  return breach(
    'birth-date-adult',
    field,
    `send the worker's day of birth, from ${earliest} to ${latest}: a loan is made to somebody of ${leastAgeYears} to ${mostAgeYears} years`,
  );
}

/** One withdrawal a year may be made; more of them than this nobody pledges. */
const furthestTransferYears = 50;

function yearsAfter(day: Day, years: number): Day {
  return `${Number(day.slice(0, 4)) + years}${day.slice(4)}`;
}

/** What has been withdrawn already cannot be pledged. */
function transferDays(transfers: SimulationRequest['transfers'], now: EpochMs): Check[] {
  const today = dayOf(now);
  const latest = yearsAfter(today, furthestTransferYears);
  const problem = `send the days of the transfers in order, each once, from ${today} to ${latest}`;
  const days = (transfers ?? []).map(({ onDay }) => onDay);
  return days.map((day, index) =>
    (index === 0 || day > days[index - 1]!) && day >= today && day <= latest
      ? null
      : breach('transfer-day', `transfers.${index}.onDay`, problem),
  );
}

function notNegative(field: string, value: number | null | undefined): Check {
  if (value === null || value === undefined || value >= 0) return null;
  return breach('not-negative', field, 'send it from zero');
}

/** The contract bounds no rate of these loans; beyond this it was typed in another unit. */
const mostRateHundredths = 1_000;

/** What is left out the service decides. */
function rateInBounds(rate: number | null | undefined): Check {
  if (rate === null || rate === undefined || (rate > 0 && rate <= mostRateHundredths)) return null;
  return breach(
    'rate-in-bounds',
    'rateHundredths',
    `send from 1 to ${mostRateHundredths}, in hundredths of a percent a month (180 is 1.80 %), or leave it out`,
  );
}

/** The contract does not say which of the two would count. */
function oneFee({ feeCents, feePercent }: Pick<SimulationRequest, 'feeCents' | 'feePercent'>): Check {
  const isBoth = [feeCents, feePercent].every((value) => value !== null && value !== undefined);
  return isBoth ? breach('one-fee', 'feePercent', 'send feeCents or feePercent, not both') : null;
}

export type InclusionFacts = {
  now: EpochMs;
  birthDate: Day | null;
  /** The worker whose own balance was simulated; null: nothing was simulated, or by a balance that somebody gave. */
  simulatedCpf: string | null;
  /** What the service simulated last, by period. */
  simulated: ReadonlyMap<number, Simulated>;
  /** The most that the insurance may be, in percent of the loan. */
  insuranceLimitPercent: number;
};

/** What a period would release, and the monthly rate, the fee and the yearly withdrawals of it; null where the service did not say. */
export type Simulated = {
  releasedCents: AmountCents | null;
  /** Each amount that was named for it; `releasedCents` is the greatest. Absent: that alone. */
  amountsCents?: readonly AmountCents[];
  rateHundredths: RateHundredths | null;
  feeCents?: AmountCents | null;
  transferCents?: AmountCents | null;
};

export function prepareInclusion(
  operationId: string,
  request: InclusionRequest,
  facts: InclusionFacts,
): Preparation<'inclusion'> {
  const { account, cpf, period } = request;
  const holder = account?.holderCpf ?? null;
  const own = facts.simulated.get(period ?? -1) ?? null;
  const mostCents = own?.releasedCents ?? null;
  const loanCents = request.amountCents ?? mostCents;
  return prepared('inclusion', operationId, request, [
    validCpf('cpf', cpf),
    period === null || period === undefined
      ? breach('period-given', 'period', 'send how many yearly withdrawals are pledged: one of the periods simulated')
      : null,
    facts.simulatedCpf === cpf ? periodSimulated(period, facts.simulated) : null,
    payeeGiven(request),
    onePayee(request),
    pixKeyFormed('pix.key', request.pix?.key),
    pixKeyOwn('pix.key', request.pix?.key, cpf),
    ...centsGiven('splits', request.splits),
    ...splitKeysFormed(request.splits),
    ...splitsFormed(request.splits),
    ...splitsPayable(request.splits, { loanCents, splitCents: 0 }),
    ...splitsOnce(request.splits, []),
    ...splitDays(request.splits, dayOf(facts.now), facts.now),
    bornAsAdult('birthDate', request.birthDay, facts.now),
    bornAsOrdered(request.birthDay, facts.birthDate),
    account !== null && account !== undefined && holder !== cpf
      ? breach('holder-is-worker', 'account.holderCpf', "send an account of the worker's own, with its holder's CPF")
      : null,
    facts.simulatedCpf === cpf
      ? null
      : breach(
          'simulated-first',
          'step',
          "simulate the worker's own balance before including a proposal: by the CPF, without balanceCents",
        ),
    accountType(account?.accountType),
    ...bankFormed(account ?? {}),
    ...accountPayable(account),
    leastCents('amount', 'amountCents', request.amountCents),
    amountSimulated(request.amountCents, mostCents),
    rateInBounds(request.rateHundredths) ?? rateSimulated(request.rateHundredths, own?.rateHundredths ?? null),
    oneFee(request),
    feeOfLoan(request, loanCents) ?? feeSimulated(request, own),
    insuranceOfLoan(request.insuranceCents, loanCents, facts.insuranceLimitPercent),
    request.contractType === null || request.contractType === undefined
      ? null
      : given('contractType', request.contractType),
    partnerKnown(request.partnerDocument),
    ...transferDays(request.transfers, facts.now),
    ...centsGiven('transfers', request.transfers),
    transfersSimulated(request.transfers, own?.transferCents ?? null, loanCents),
  ]);
}

/** Instalments and what is released were reckoned with it; it may be waived. */
function feeSimulated(
  { feeCents, feePercent }: Pick<InclusionRequest, 'feeCents' | 'feePercent'>,
  own: Simulated | null,
): Check {
  const simulated = own?.feeCents ?? null;
  const isShare = feePercent !== null && feePercent !== undefined;
  // Of the loan that was simulated: a part of it has a part of the fee.
  const asked = isShare ? feeOfShare(feePercent, own?.releasedCents ?? 0) : feeCents;
  if (asked === null || asked === undefined || (feePercent ?? asked) === 0 || simulated === null) return null;
  // The contract does not say how a share of cents is rounded.
  if (asked - (isShare ? 1 : 0) <= simulated && !isOfOtherUnit(asked, simulated)) return null;
  return breach(
    'fee-simulated',
    isShare ? 'feePercent' : 'feeCents',
    `the fee simulated for this period was ${simulated} cents: send that or leave it out, or simulate with the other one first`,
  );
}

/** What a share of a loan comes to. The contract does not say whether the costs that are financed count in the loan. */
export function feeOfShare(percent: number, loanCents: AmountCents): AmountCents {
  return Math.round((loanCents * percent) / 100);
}

/** With its interest a loan takes more than it releases; so much more than it nobody pays. */
const mostTransfersOfLoan = 10;

function transfersSimulated(
  transfers: InclusionRequest['transfers'],
  simulatedCents: AmountCents | null,
  loanCents: AmountCents | null,
): Check {
  const sum = (transfers ?? []).reduce((all, { amountCents }) => all + (amountCents ?? 0), 0);
  const mostCents = simulatedCents ?? (loanCents === null ? null : loanCents * mostTransfersOfLoan);
  if (mostCents === null || sum <= mostCents) return null;
  return breach(
    'transfers-simulated',
    'transfers',
    `send transfers that together are at most ${mostCents} cents, or leave them out: amounts are in cents`,
  );
}

function periodSimulated(period: number | null | undefined, simulated: InclusionFacts['simulated']): Check {
  if (period === null || period === undefined || simulated.get(period)?.releasedCents != null) return null;
  const named = [...simulated].flatMap(([each, { releasedCents }]) => (releasedCents === null ? [] : [each]));
  return named.length === 0
    ? noPeriodSimulated
    : breach('period-simulated', 'period', `send one of the periods simulated last: ${named.join(', ')}`);
}

/** Whatever is sent with the inclusion: there is nothing that could be included. */
export const noPeriodSimulated = breach(
  'period-simulated',
  'period',
  "the last simulation brought no values for any period: simulate the worker's own balance again, and see what it says",
);

function amountSimulated(amountCents: AmountCents | null | undefined, mostCents: AmountCents | null): Check {
  if (amountCents === null || amountCents === undefined || mostCents === null || amountCents <= mostCents) return null;
  return breach(
    'amount-simulated',
    'amountCents',
    `send at most what was simulated for this period, ${mostCents} cents, or simulate the amount first`,
  );
}

/** The instalments and what is released were reckoned with it. */
function rateSimulated(asked: RateHundredths | null | undefined, simulated: RateHundredths | null): Check {
  if (asked === null || asked === undefined || simulated === null || asked === simulated) return null;
  return breach(
    'rate-simulated',
    'rateHundredths',
    `send the rate that was simulated for this period, ${simulated} hundredths of a percent, or simulate with the other one first`,
  );
}

function feeOfLoan(
  { feeCents, feePercent }: Pick<InclusionRequest, 'feeCents' | 'feePercent'>,
  loanCents: AmountCents | null,
): Check {
  const isTooMuch = feeCents !== null && feeCents !== undefined && loanCents !== null && feeCents >= loanCents;
  if (isTooMuch) return breach('fee-of-loan', 'feeCents', 'send less than the loan: amounts are in cents');
  const negative = notNegative('feePercent', feePercent);
  if (negative !== null) return negative;
  if (feePercent === null || feePercent === undefined || feePercent < 100) return null;
  return breach('fee-of-loan', 'feePercent', 'send less than 100 percent of the loan');
}

/** A simulation knows no insurance, so nothing that the service said before bounds it. */
function insuranceOfLoan(
  insuranceCents: AmountCents | null | undefined,
  loanCents: AmountCents | null,
  limitPercent: number,
): Check {
  if (insuranceCents === null || insuranceCents === undefined) return null;
  if (loanCents === null && insuranceCents >= 0) return null;
  const mostCents = Math.floor(((loanCents ?? 0) * limitPercent) / 100);
  if (insuranceCents >= 0 && insuranceCents <= mostCents) return null;
  return breach(
    'insurance-of-loan',
    'insuranceCents',
    `send from 0 to ${mostCents} cents, ${limitPercent} % of the loan (flows.insuranceLimitPercent)`,
  );
}

function partnerKnown(document: string | null | undefined): Check {
  if (document === null || document === undefined) return null;
  if (isCpf(document) || cnpjRules.isValid(document, true)) return null;
  return breach('partner-document', 'partnerDocument', 'send the valid CNPJ or CPF of the partner, digits alone');
}

/** The contract does not say which fields are required; with less than these nobody can be paid. */
function accountPayable(account: InclusionRequest['account']): Check[] {
  if (account === null || account === undefined) return [];
  const missing = (['accountType', 'branch', 'account', 'accountDigit'] as const).filter(
    (name) => !isThere(account[name]),
  );
  return [
    ...missing.map((name) => breach('account-complete', `account.${name}`, 'send it: nobody can be paid without it')),
    isThere(account.bankNumber) || isThere(account.bankCode)
      ? null
      : breach('account-complete', 'account.bankNumber', 'send the three digits of the bank, such as 341'),
    ...accountFormed(account),
  ];
}

/** Without one of them the service would include a loan that nobody can be paid. */
function payeeGiven({ account, pix, splits }: InclusionRequest): Check {
  const isGiven = (account ?? pix ?? null) !== null || (splits ?? []).length > 0;
  return isGiven
    ? null
    : breach('payee-given', 'account', "send the worker's account that is paid (account), or a Pix key (pix.key)");
}

/** The contract does not say which of the two the service would pay. */
function onePayee({ account, pix }: InclusionRequest): Check {
  if ((account ?? null) === null || (pix ?? null) === null) return null;
  return breach('one-payee', 'pix', "send the worker's account (account) or a Pix key (pix.key), not both");
}

/** The central bank allows e-mail addresses of this length; all other keys are shorter. */
const longestPixKey = 77;
const pixKeyForms = {
  cpf: /^\d{11}$/,
  /** Also of letters since July 2026 (Receita Federal, IN 2.229/2024); the last two are check digits. */
  cnpj: /^[\dA-Z]{12}\d{2}$/,
  phone: /^\+[1-9]\d{9,14}$/,
  email: /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/,
  random: /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i,
};

/** The contract does not restrict the kind of key, so every form that the central bank defines is accepted. */
function pixKeyFormed(field: string, key: string | null | undefined): Check {
  if (key === null || key === undefined) return null;
  if (key.length <= longestPixKey && hasPixForm(key)) return null;
  return breach(
    'pix-key',
    field,
    'send a Pix key: a valid CPF or CNPJ without points (its letters as capitals), a phone such as +5511987654321, an e-mail address or a random key (UUID)',
  );
}

/** As with an account, the worker is paid and nobody else. Whose a phone, an address or a random key is, only the bank knows. */
function pixKeyOwn(field: string, key: string | null | undefined, cpf: string | null | undefined): Check {
  if (key === null || key === undefined || key === cpf || !isDocumentKey(key)) return null;
  return breach('holder-is-worker', field, "send a Pix key of the worker's own: this one is another holder's document");
}

function isDocumentKey(key: string): boolean {
  return (pixKeyForms.cpf.test(key) || pixKeyForms.cnpj.test(key)) && hasPixForm(key);
}

function hasPixForm(key: string): boolean {
  const { cpf, cnpj, phone, email, random } = pixKeyForms;
  if (cpf.test(key)) return isCpf(key);
  if (cnpj.test(key)) return cnpjRules.isValid(key, true);
  return phone.test(key) || email.test(key) || random.test(key);
}

/** What is paid on a split or transferred in a year; nothing is no split and no transfer. */
function centsGiven(list: string, entries: readonly { amountCents?: number | null }[] | null | undefined): Check[] {
  return (entries ?? []).map(({ amountCents }, index) =>
    amountCents === null || amountCents === undefined || amountCents >= 1
      ? null
      : breach(
          'entry-amount',
          `${list}.${index}.amountCents`,
          'send at least 1 cent (R$ 0.01), or leave this entry out: nothing would be paid by it',
        ),
  );
}

function splitKeysFormed(splits: Splits): Check[] {
  return (splits ?? []).map(({ pixKey }, index) => pixKeyFormed(`splits.${index}.pixKey.key`, pixKey?.key));
}

/** A split that the service cannot read, or pays to nobody: the contract says what the fields are, and banks how they are written. */
function splitsFormed(splits: Splits): Check[] {
  return (splits ?? []).flatMap((split, index) => {
    const { paymentLine, emv, document, assignorDocument } = split;
    const place = `splits.${index}`;
    const formed = (field: string, isFormed: boolean, text: string) =>
      isFormed ? null : breach('split-formed', `${place}.${field}`, text);
    const account = [...bankFormed(split), accountType(split.accountType), ...accountFormed(split)];
    return [
      formed(
        'paymentLine',
        !isThere(paymentLine) || slipLine.test(paymentLine!.replaceAll(/[\s.-]/g, '')),
        'send the 47 or 48 digits of the payment slip',
      ),
      formed(
        'emv.code',
        !isThere(emv) || isPixCode(emv!.code),
        'send the whole text of the Pix code, from 000201 to the four characters of its check (CRC)',
      ),
      formed('document', isDocument(document), 'send the valid CPF or CNPJ of the payee, or leave it out'),
      formed(
        'assignorDocument',
        isDocument(assignorDocument),
        'send the valid CPF or CNPJ of the assignor, or leave it out',
      ),
      ...account.map((check) => check && { ...check, field: check.field.replace(/^account\./, `${place}.`) }),
    ];
  });
}

/** Of a bank's slip 47 digits, of a tax or a utility 48. */
const slipLine = /^\d{47,48}$/;

function isDocument(document: string | null | undefined): boolean {
  if (!isThere(document)) return true;
  const digits = document!.replaceAll(/[ ./-]/g, '');
  return isCpf(digits) || cnpjRules.isValid(digits, true);
}

/** EMV QR code: its format first, and at its end the CRC-16 of all before (ISO/IEC 13239, from FFFF). */
function isPixCode(code: string): boolean {
  if (!/^000201.*6304[\dA-F]{4}$/is.test(code)) return false;
  let crc = 0xffff;
  for (const byte of Buffer.from(code.slice(0, -4))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc === Number.parseInt(code.slice(-4), 16);
}

type Splits = SplitsRequest['splits'] | InclusionRequest['splits'];

/** The contract bounds no day of payment. What a loan pays is due when it is paid out; nobody plans it further ahead. */
const furthestSplitYears = 1;

function splitDays(splits: Splits, earliest: Day, now: EpochMs): Check[] {
  const latest = yearsAfter(dayOf(now), furthestSplitYears);
  const problem = `send the day of the payment, from ${earliest} to ${latest}: not before the inclusion, and at most a year from now; or leave it out`;
  return (splits ?? []).map(({ paidOn }, index) =>
    paidOn === null || paidOn === undefined || (paidOn >= earliest && paidOn <= latest)
      ? null
      : breach('split-day', `splits.${index}.paidOn`, problem),
  );
}

/** Without its amount nobody can tell whether a split is within the loan. */
function splitsPayable(
  splits: Splits,
  { loanCents, splitCents }: Pick<SplitsFacts, 'loanCents' | 'splitCents'>,
): Check[] {
  const entries = splits ?? [];
  const sum = entries.reduce((all, { amountCents }) => all + (amountCents ?? 0), 0);
  return [
    ...entries.map(({ amountCents }, index) =>
      amountCents === null || amountCents === undefined
        ? breach(
            'split-amount',
            `splits.${index}.amountCents`,
            'send what is paid, in cents: without it nobody can tell whether the splits are within the loan',
          )
        : null,
    ),
    ...entries.map((entry, index) =>
      hasPayee(entry)
        ? null
        : breach(
            'split-payee',
            `splits.${index}`,
            'say who is paid: pixKey, emv, paymentLine, or an account with its bank, branch and number',
          ),
    ),
    ...entries.map(splitOnePayee),
    loanCents !== null && sum > loanCents - splitCents ? beyondLoan(loanCents, splitCents) : null,
  ];
}

function beyondLoan(loanCents: AmountCents, splitCents: AmountCents): Check {
  const leftCents = Math.max(0, loanCents - splitCents);
  const problem =
    splitCents === 0
      ? `send splits that together are at most the loan, ${loanCents} cents`
      : `send splits that together are at most ${leftCents} cents: ${splitCents} of the ${loanCents} cents of the loan were split by earlier steps`;
  return breach('splits-of-loan', 'splits', problem);
}

type Split = NonNullable<Splits>[number];

function isThere(value: unknown): boolean {
  return value !== null && value !== undefined && String(value).trim() !== '';
}

function hasPayee(split: Split): boolean {
  const ways = [...waysOf(split), portabilityOf(split)];
  const hasBank = isThere(split.bankNumber) || isThere(split.bankCode);
  return ways.some(isThere) || (hasBank && isThere(split.branch) && isThere(split.account));
}

function waysOf({ pixKey, emv, paymentLine }: Split) {
  return [pixKey, emv, paymentLine];
}

function portabilityOf(split: Split) {
  return 'portability' in split ? split.portability : null;
}

/** The contract does not say which of two the service would pay. A loan that is carried over may name the account of its lender. */
function splitOnePayee(split: Split, index: number): Check {
  const ways = waysOf(split).filter(isThere).length;
  const besides = isThere(portabilityOf(split)) || isThere(split.account) ? 1 : 0;
  if (ways === 0 || ways + besides === 1) return null;
  return breach(
    'split-one-payee',
    `splits.${index}`,
    'say who is paid in one way alone: pixKey, emv, paymentLine or an account',
  );
}

/** What is paid, when and to whom: entries that agree in all of it pay the same twice, whatever else they say. */
function paymentOf(split: Split): string {
  const { fieldId, amountCents, paidOn, pixKey, emv, paymentLine, bankCode, bankNumber, branch, account } = split;
  const portability = portabilityOf(split);
  const named = [pixKey?.key, emv?.code, paymentLine, bankCode, bankNumber, branch, account, portability?.number];
  return JSON.stringify(
    [amountCents, paidOn, fieldId, ...named].map((part) => (isThere(part) ? String(part).trim() : '')),
  );
}

function splitsOnce(splits: Splits, earlier: NonNullable<Splits>): Check[] {
  const known = new Set(earlier.map(paymentOf));
  return (splits ?? []).map((split, index) => {
    const payment = paymentOf(split);
    const isAgain = known.has(payment);
    known.add(payment);
    if (!isAgain) return null;
    return breach(
      'split-once',
      `splits.${index}`,
      'this very payment is in this order or was split before: if the payee is to get as much once more, send an entry with another fieldId or day',
    );
  });
}

function accountType(value: number | null | undefined): Check {
  if (value === null || value === undefined || value === 1 || value === 2) return null;
  return breach('account-type', 'account.accountType', 'send 1 for savings or 2 for checking');
}

/** `proposalCode`: of the flow that asks; null: it has none yet. */
export type ProposalQueryFacts = { proposalCode: string | null };

/** The contract does not show its fields: they go as they are, and name no other proposal than the flow's own. */
export function prepareProposalQuery(
  operationId: string,
  request: ProposalQueryRequest,
  { proposalCode }: ProposalQueryFacts,
): Preparation<'proposal'> {
  const scalars = scalarsIn(request.dto, mayBeLocator);
  const others = proposalCode === null ? [] : otherLocators(scalars, 'dto', proposalCode);
  const isNamed = proposalCode === null || scalars.some(({ text }) => text === proposalCode);
  return prepared('proposal', operationId, request, [
    Object.keys(request.dto).length > 0 ? null : breach('located', 'dto', 'name the proposal'),
    ...others,
    isNamed || others.length > 0 || Object.keys(request.dto).length === 0
      ? null
      : breach('locator-kept', 'dto', 'leave dto out, or name the proposal of this flow in it by its code'),
  ]);
}

const mayBeLocator = { longest: 128, most: 1_000 };

/** Fields that are called as a locator is and name something else than `own`. */
function otherLocators(scalars: ReturnType<typeof scalarsIn>, parent: string, own: string | null): Check[] {
  return scalars
    .filter(({ path, text }) => locatorKeys.has(path.split('.').at(-1)!.toLowerCase()) && text !== own)
    .map(({ path }) =>
      breach('locator-kept', `${parent}.${path}`, 'leave the locator out: the proposal is the one of this flow'),
    );
}

export function prepareInstallments(operationId: string, request: InstallmentsRequest): Preparation<'installments'> {
  const { proposalCode } = request;
  return prepared('installments', operationId, request, [
    proposalCode === null || proposalCode === undefined
      ? breach('located', 'proposalCode', 'name the proposal by its code')
      : null,
  ]);
}

// --- Proposals ------------------------------------------------------------------------------------------------------

function located({ proposalCode, operationCode, proposalNumber }: ProposalLocator): Check {
  const found = [proposalCode, operationCode, proposalNumber].some((one) => one !== null && one !== undefined);
  return found ? null : breach('located', 'dto', 'name the proposal by its code, its operation or its number');
}

/** What was last said of the proposal and nobody has taken as it is: figures that are not as included, and why it has ended. */
export type ProposalDoubts = {
  /** The service was not asked for the proposal since it was included, or its last answer says nothing. */
  isUnasked: boolean;
  /** It was asked for it and refused, and has never shown it, so its code may be mistyped. `mayCancel`: the flow may be ended. Absent: it is not so. */
  refusedQuery?: { mayCancel: boolean };
  /** Splits and loan, where all steps together split more; nobody can take that as it is. */
  splitsBeyond: { splitCents: AmountCents; loanCents: AmountCents } | null;
  differing: readonly string[];
  /** Figures without which nobody can tell what is signed, and that no answer names; absent: none. */
  unsaid?: readonly string[];
  ending: string | null;
  /** Other proposals that the service named for the same inclusion, of which nobody has said which one holds; absent: none. */
  others?: readonly string[];
};

function proposalAlone(doubts: ProposalDoubts | undefined): Check {
  const { others = [] } = doubts ?? {};
  if (others.length === 0) return null;
  return breach(
    'proposal-alone',
    'step',
    `the service named another proposal for the same inclusion (${others.join(', ')}), and both may stand: find out there which one holds and have the other one cancelled; where that of this flow holds, take the step accept with a reason; where the other one does, begin a withdrawal with its code as proposalCode and do nothing more here`,
  );
}

function proposalAsked(doubts: ProposalDoubts | undefined): Check {
  if (doubts?.isUnasked !== true) return null;
  if (doubts.refusedQuery !== undefined) return proposalKnown(doubts.refusedQuery);
  return breach(
    'proposal-asked',
    'step',
    'ask for the proposal first (step proposal): what the service included is not known before it says so',
  );
}

/** Asking for it once more would not help where the code is wrong. */
function proposalKnown({ mayCancel }: { mayCancel: boolean }): Check {
  return breach(
    'proposal-asked',
    'step',
    mayCancel
      ? 'the service refused the query of the proposal and has never shown one under this code: where it knows no such code, cancel this flow (step cancel) and begin one with the right proposalCode; else ask for the proposal again (step proposal)'
      : 'the service refused the query of the proposal and has never shown one under this code: find out from the service whether it knows the code, and ask for the proposal again (step proposal)',
  );
}

function splitsWithin(doubts: ProposalDoubts | undefined): Check {
  const beyond = doubts?.splitsBeyond ?? null;
  if (beyond === null) return null;
  return breach(
    'splits-of-loan',
    'step',
    `the splits of this flow come to ${beyond.splitCents} cents, and its loan to ${beyond.loanCents}: nothing is signed or finalised so; settle it with the service, and ask for the proposal again (step proposal) once it has put it right`,
  );
}

function asIncluded(doubts: ProposalDoubts | undefined): Check {
  if (doubts === undefined) return null;
  const { unsaid = [] } = doubts;
  if (doubts.differing.length === 0 && unsaid.length > 0) {
    return breach(
      'proposal-accepted',
      'step',
      `the service does not say what the proposal comes to (${unsaid.join(', ')}): ask for it again with the step proposal, or, once you know, take it as it is with the step accept and a reason`,
    );
  }
  if (doubts.differing.length === 0) return null;
  return breach(
    'proposal-accepted',
    'step',
    `the proposal is not as included (${doubts.differing.join(', ')}): once you know why, take it as it is with the step accept and a reason, or ask for it again with the step proposal when the service has put it right`,
  );
}

function proposalLive(doubts: ProposalDoubts | undefined): Check {
  if (doubts === undefined || doubts.ending === null) return null;
  return breach(
    'proposal-live',
    'step',
    `the service names a reason of ${doubts.ending} for this proposal: ask for it again with the step proposal, or say that it goes on all the same with the step accept and a reason`,
  );
}

/** Whether the proposal may be signed, and finalised. */
export function proposalSignable(doubts: ProposalDoubts | undefined): Check {
  return (
    proposalAlone(doubts) ?? proposalAsked(doubts) ?? proposalLive(doubts) ?? asIncluded(doubts) ?? splitsWithin(doubts)
  );
}

/** Whether anything of the proposal may be split. */
export function splittable({
  isLoanKnown,
  doubts,
}: {
  isLoanKnown: boolean;
  doubts: ProposalDoubts | undefined;
}): readonly Check[] {
  return [
    isLoanKnown || doubts?.refusedQuery !== undefined
      ? proposalAsked(doubts)
      : breach(
          'loan-known',
          'step',
          'ask for the proposal first (step proposal): what the loan comes to is not known, and splits are at most that',
        ),
    proposalLive(doubts),
    proposalAlone(doubts),
  ];
}

export type SplitsFacts = {
  now: EpochMs;
  /** Since when there can be something to pay; null: the proposal was made elsewhere. */
  includedAt: EpochMs | null;
  /** What the loan comes to, as far as is known; null: it is not. */
  loanCents: AmountCents | null;
  /** What was split before. */
  splitCents: AmountCents;
  /** The entries that were split before, as far as they are known; absent: none. */
  earlier?: NonNullable<Splits>;
  /** Absent: none. */
  doubts?: ProposalDoubts;
};

export function prepareSplits(operationId: string, request: SplitsRequest, facts: SplitsFacts): Preparation<'splits'> {
  return prepared('splits', operationId, request, [
    located(request.dto),
    (request.splits ?? []).length > 0 ? null : breach('splits-given', 'splits', 'send at least one split'),
    ...splittable({ isLoanKnown: facts.loanCents !== null, doubts: facts.doubts }),
    ...splitsPayable(request.splits, facts),
    ...splitsOnce(request.splits, facts.earlier ?? []),
    ...splitDays(request.splits, dayOf(facts.includedAt ?? facts.now), facts.now),
    ...centsGiven('splits', request.splits),
    ...splitKeysFormed(request.splits),
    ...splitsFormed(request.splits),
  ]);
}

export type SignersFacts = {
  now: EpochMs;
  /** Since when there can be something to sign; null: the proposal was made elsewhere. */
  includedAt: EpochMs | null;
  /** Whether the order names the holder of this CPF as one who has to have signed. */
  isOfOrder: (document: string) => boolean;
  /** Absent: none. */
  doubts?: ProposalDoubts;
};

/** Only who has signed is registered: with date, time and origin address of the signature. */
export function prepareSigners(
  operationId: string,
  request: SignersRequest,
  facts: SignersFacts,
): Preparation<'signers'> {
  const signers = request.signers ?? [];
  return prepared('signers', operationId, request, [
    located(request.dto),
    proposalSignable(facts.doubts),
    signers.length > 0 ? null : breach('signers-given', 'signers', 'send at least one signer'),
    ...signers.flatMap((signer, index) => signedWhole(signer, index, facts)),
    ...signers.map(({ document }, index) =>
      signers.findIndex((other) => other.document === document) === index
        ? null
        : breach('signer-once', `signers.${index}.document`, 'send each signer once'),
    ),
  ]);
}

/** Of Law 13.932, which made these loans possible. */
const firstLoansAt: EpochMs = Date.UTC(2019, 11, 12);
/** People write when somebody signed to the minute, by a clock of their own. */
const signingSlackMs = 60_000;

function signedWhole(signer: Signer, index: number, { now, includedAt, isOfOrder }: SignersFacts): Check[] {
  const { document, signedAt, ip } = signer;
  const hasTime = signedAt !== null && signedAt !== undefined;
  const earliest = (includedAt ?? firstLoansAt) - signingSlackMs;
  return [
    hasTime && signedAt <= now
      ? null
      : breach(
          'signature-time',
          `signers.${index}.signedAt`,
          'send when the signature was given: a time that is over by now',
        ),
    hasTime && signedAt < earliest
      ? breach(
          'signature-time',
          `signers.${index}.signedAt`,
          `send when the signature was given: nothing could be signed before ${new Date(earliest).toISOString()}`,
        )
      : null,
    isIP(ip ?? '') !== 0
      ? null
      : breach('signature-address', `signers.${index}.ip`, 'send the IP address that the signature came from'),
    isOfOrder(document ?? '')
      ? null
      : breach(
          'signer-of-order',
          `signers.${index}.document`,
          'send the CPF of a signer of this order: one of its signerCpfs, or the worker where it named none',
        ),
  ];
}

export type FinalisationFacts = {
  /** The signature operation was used for this proposal. */
  signersRegistered: boolean;
  /** Signers who are known and have not signed. */
  unsigned: number;
  /** The service was set up for this operation (setting). */
  enabled: boolean;
  /** Absent: none. */
  doubts?: ProposalDoubts;
};

export function prepareFinalisation(
  operationId: string,
  request: FinalisationRequest,
  facts: FinalisationFacts,
): Preparation<'finalisation'> {
  return prepared('finalisation', operationId, request, [located(request.dto), ...finalisable(facts)]);
}

export function finalisable(facts: FinalisationFacts): readonly Check[] {
  return [
    proposalSignable(facts.doubts),
    facts.signersRegistered ? null : breach('signers-registered', 'step', 'register the signers before finalising'),
    facts.unsigned === 0
      ? null
      : breach(
          'all-signed',
          'step',
          'register each signer of the order as one who has signed (step signers): one is missing',
        ),
    facts.enabled
      ? null
      : breach(
          'finalisation-enabled',
          'step',
          'have the service enable this operation, then set flows.finalisationEnabled to true, for the desk and for commands beside it (LANCE_CONFIG)',
        ),
  ];
}

/** States in which the account may be changed (contract, States). */
export const accountUpdateStates = ['approved', 'finalized', 'released', 'pending-payment'] as const;

/** `cpf`: the worker's. `otherNames`: whoever asks knows that the service has names of its own for the fields; absent: it is not so. */
export type AccountUpdateFacts = { state: string; cpf: string; otherNames?: boolean };

export function prepareAccountUpdate(
  operationId: string,
  request: AccountUpdateRequest,
  facts: AccountUpdateFacts,
): Preparation<'account-update'> {
  const { whole, breaches } = withOwnDto(request);
  const foreign = [...pixKeysOwn(request.extra ?? {}, 'fields', facts.cpf), ...holdersOwn(request.extra, facts.cpf)];
  return prepared('account-update', operationId, whole, [
    located(request.dto),
    Object.keys(request.extra ?? {}).length > 0
      ? null
      : breach('account-given', 'fields', 'send the fields of the new account, as the service names them'),
    ...breaches,
    ...otherLocators(scalarsIn(whole.extra ?? {}, mayBeLocator), 'fields', null),
    ...(facts.otherNames === true ? [] : keysKnown(request.extra ?? {}, 'fields')),
    ...accountFieldsFormed(request.extra ?? {}),
    ...foreign,
    // Whose it is was said otherwise.
    ...(foreign.some((check) => check !== null) ? [] : holdersNamed(request.extra ?? {}, facts)),
    accountUpdatable(facts.state),
  ]);
}

export function accountUpdatable(state: string): Check {
  const allowed: readonly string[] = accountUpdateStates;
  if (allowed.includes(state)) return null;
  return breach(
    'account-update-state',
    'step',
    `the proposal is ${state}: the account can be changed while it is ${allowed.join(', ')}; the step proposal asks the service for its state`,
  );
}

const longestKey = 40;

/**
 * The contract does not show these fields. A name that it has nowhere for an account is most likely mistyped, and the service would
 * leave the money where it went before.
 */
function keysKnown(fields: JsonObject, parent: string): Check[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const path = `${parent}.${key}`;
    // Another rule's.
    if (locatorKeys.has(key.toLowerCase())) return [];
    if (!isAccountKey(key)) return [keyUnknown(key, path)];
    const objects = Array.isArray(value) ? value : [value];
    return objects.flatMap((each, index) =>
      isJsonObject(each) ? keysKnown(each, Array.isArray(value) ? `${path}.${index}` : path) : [],
    );
  });
}

function keyUnknown(key: string, path: string): Check {
  const meant = nearestWord(key.slice(0, longestKey), accountKeys);
  return breach(
    'account-field',
    path,
    meant === null
      ? `the contract has no such name for a part of an account: write one of ${accountKeys.join(', ')}; where the service has told you this name, send true in otherNames`
      : `the contract has no such name for a part of an account: write ${meant} if you mean that; where the service has told you this name, send true in otherNames`,
  );
}

/** What is longer than any field of an account is formed like none. */
const mayBeAccount = { longest: Number.POSITIVE_INFINITY, most: 1_000 };

/** Of an object and those within it. `unheld`: accounts whose holder nobody named. `isLoose`: parts of an account stand where its number does not. `holders`: those that stand beside no account. */
type Held = {
  unheld: readonly string[];
  holders: number;
  doubled: readonly string[];
  isElse: boolean;
  isLoose: boolean;
  isNamed: boolean;
};

/**
 * An account without its holder would be the way round what the inclusion is held to: that the account is the worker's. Each object
 * that holds an account names its holder; one that stands outside of it is of one account alone. Of a Pix key that is the worker's
 * CPF the holder is known.
 */
function holdersNamed(fields: JsonObject, { cpf, otherNames = false }: AccountUpdateFacts): Check[] {
  const { unheld, doubled, isElse, isLoose, isNamed } = heldIn(fields, 'fields', cpf, otherNames);
  const places = unheld.length === 0 && isLoose && !isNamed ? ['fields'] : unheld;
  const checks = [
    ...places.map((place) =>
      breach(
        'holder-named',
        `${place}.documentoFederalPagamento`,
        "say whose the account is: send the worker's CPF beside it; a Pix key that is the worker's CPF needs none",
      ),
    ),
    ...doubled.map((place) =>
      breach('one-account', place, 'two accounts stand in one place: send the one that is to be paid'),
    ),
  ];
  if (checks.length > 0 || !isElse || isNamed) return checks;
  return [
    breach(
      'holder-named',
      'fields',
      "say whose the account is: send the worker's CPF in the field that the service has for its holder",
    ),
  ];
}

/** Of the service's own names nobody here knows which is the holder's: any that has the worker's CPF may be. */
function heldIn(object: JsonObject, place: string, cpf: string, otherNames: boolean): Held {
  const inner: Held[] = [];
  const texts: { field: ReturnType<typeof accountFieldOf>; text: string }[] = [];
  let isElse = false;
  for (const [key, value] of Object.entries(object)) {
    if (locatorKeys.has(key.toLowerCase())) continue;
    if (otherNames && !isAccountKey(key)) isElse = true;
    for (const [index, each] of (Array.isArray(value) ? value : [value]).entries()) {
      const within = Array.isArray(value) ? `${place}.${key}.${index}` : `${place}.${key}`;
      if (isJsonObject(each)) inner.push(heldIn(each, within, cpf, otherNames));
      else for (const { text } of scalarsIn(each, mayBeAccount)) texts.push({ field: accountFieldOf(key), text });
    }
  }
  const isOwn = (text: string) => plainlyWritten(text).replaceAll(/\D/g, '').padStart(cpf.length, '0') === cpf;
  const parts = texts.filter(({ field, text }) => {
    return field !== null && field !== 'holderDocument' && !(field === 'pixKey' && isOwn(text));
  });
  const isHolder = texts.some(
    ({ field, text }) => field === 'holderDocument' || (field === null && otherNames && isOwn(text)),
  );
  const numbers = parts.filter(({ field }) => field === 'account').length;
  const keys = parts.filter(({ field }) => field === 'pixKey').length;
  const isAccount = parts.some(({ field }) => field !== 'pixKey' && field !== 'holderName');
  const isDoubled = numbers > 1 || keys > 1 || (isAccount && keys > 0);
  const doubled = [...(isDoubled ? [place] : []), ...inner.flatMap((one) => one.doubled)];
  const bare = inner.flatMap((one) => one.unheld);
  const holders = inner.reduce((sum, one) => sum + one.holders, isHolder ? 1 : 0);
  const whole = {
    doubled,
    isElse: isElse || inner.some((one) => one.isElse),
    isLoose: (parts.length > 0 && numbers + keys === 0) || inner.some((one) => one.isLoose),
    isNamed: texts.some(({ text }) => isOwn(text)) || inner.some((one) => one.isNamed),
  };
  if (numbers + keys > 0) return { ...whole, unheld: holders > 0 ? bare : [place, ...bare], holders: 0 };
  if (holders > 0 && bare.length === 1) return { ...whole, unheld: [], holders: 0 };
  return { ...whole, unheld: bare, holders };
}

/** As where the contract does show them. */
function accountFieldsFormed(fields: JsonObject): Check[] {
  const scalars = scalarsIn(fields, mayBeAccount).map(({ path, text }) => {
    // One in a list is of the field that the list stands in.
    return { path, text, field: accountFieldOf(path.replace(/(?:\.\d+)+$/, '')) };
  });
  const bankCode = scalars.find(({ field }) => field === 'bankCode')?.text ?? null;
  return scalars.flatMap(({ path, text, field }) => {
    if (field === null) return [];
    const checks =
      field === 'bankNumber'
        ? bankFormed({ bankNumber: text, bankCode }).filter((check) => check?.rule === 'bank-number')
        : field === 'accountType'
          ? [accountType(Number(text))]
          : field === 'pixKey'
            ? []
            : field === 'bankCode'
              ? bankFormed({ bankCode: text })
              : accountFormed({ [field]: text });
    return checks.map((check) => (check === null ? null : { ...check, field: `fields.${path}` }));
  });
}

const mayBeHolder = { longest: 200, most: 1_000 };
const holderField = /cpf|cnpj|documento|document|titular|holder/i;
const keyField = /pix|chave/i;
/** Fields whose digits may pass for a document by chance. */
const otherDigits = /conta$|account|ag[eê]ncia|branch|banco|bank|valor|amount|fone|phone|celular/i;

/**
 * What reads as a CPF or CNPJ, with its check digits or in a field of a holder's document, is the worker's own: the account that is
 * paid is the worker's. The contract does not show these fields, so one that pays another person may have any name.
 */
function holdersOwn(fields: AccountUpdateRequest['extra'], cpf: string): Check[] {
  return scalarsIn(fields ?? {}, mayBeHolder).flatMap(({ path, text }) => {
    const names = path.split('.');
    // Another rule's.
    if (names.some((name) => accountFieldOf(name) === 'pixKey')) return [];
    const digits = plainlyWritten(text).replaceAll(/[ ./-]/g, '');
    const isOwn = digits.padStart(cpf.length, '0') === cpf;
    const isDocument = names.some((name) => accountFieldOf(name) === 'holderDocument');
    const name = names.at(-1)!;
    const isHolder = isDocument || (holderField.test(name) && /^(?:\d{11}|[\dA-Z]{12}\d{2})$/.test(digits));
    const mayBeKey = keyField.test(path) || !otherDigits.test(name);
    const isKey = mayBeKey && (isDocumentKey(digits) || cpfsIn(text).some((each) => each !== cpf));
    if ((!isHolder && !isKey) || isOwn) return [];
    return [breach('holder-is-worker', `fields.${path}`, "send an account of the worker's own, with its holder's CPF")];
  });
}

/** As at the inclusion, wherever they stand: what is none, the service may read as it likes. */
function pixKeysOwn(value: JsonValue, path: string, cpf: string): Check[] {
  if (!Array.isArray(value) && !isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, JsonValue]) => {
    const place = `${path}.${name}`;
    if (accountFieldOf(name) !== 'pixKey') return pixKeysOwn(inner, place, cpf);
    if (inner === null) return [];
    const isNumber = typeof inner === 'number' || isRawNumber(inner);
    const key = typeof inner === 'string' ? inner : isNumber ? (scalarsIn(inner, mayBeHolder)[0]?.text ?? '') : '';
    return [pixKeyFormed(place, key) ?? pixKeyOwn(place, key, cpf)];
  });
}

/**
 * The contract does not show which fields carry the account: the partner's own stand beside the `dto` or in one of its own, which
 * is written after the locator and never in its place.
 */
function withOwnDto(request: AccountUpdateRequest): { whole: AccountUpdateRequest; breaches: readonly Check[] } {
  const entries = Object.entries(request.extra ?? {});
  const own = entries.filter(([key]) => key.toLowerCase() === 'dto');
  if (own.length === 0) return { whole: request, breaches: [] };
  const fields = own.flatMap(([, value]) => (isJsonObject(value) ? Object.entries(value) : []));
  const named = fields.some(([key]) => locatorKeys.has(key.toLowerCase()));
  const whole = {
    dto: { ...request.dto, extra: Object.fromEntries(fields) },
    extra: Object.fromEntries(entries.filter(([key]) => key.toLowerCase() !== 'dto')),
  };
  const breaches = [
    own.length === 1 && own.every(([, value]) => isJsonObject(value))
      ? null
      : breach('dto-object', 'fields.dto', 'send one object of the fields that stand in the dto'),
    named ? breach('locator-kept', 'fields.dto', 'leave the locator out: the proposal is the one of this flow') : null,
  ];
  return { whole, breaches };
}
