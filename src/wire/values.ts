/** Single values of the wire: read into the units of the house, or a text that says what was expected. Nothing is guessed. */

import { dayOf } from '../domain/clock.ts';
import { isCpf } from '../domain/cpf.ts';
import type { AmountCents, Day, EpochMs, RateHundredths } from '../domain/glossary.ts';
import { cutText } from './hidden-cpf.ts';
import { canonicalDigits, isRawNumber, kindOf } from './json.ts';
import { fromWallClock } from './local-time.ts';

/** `wrong.problem` names what was found and the remedy; it never repeats the value, which may be personal. */
export type Reading<T> =
  | { kind: 'value'; value: T; adjusted?: Adjustment }
  | { kind: 'missing' }
  | { kind: 'wrong'; problem: string };
/** How a value was taken that is not in the form asked for, and whose meaning is plain all the same. */
export type Adjustment = 'negative' | 'rounded';
export type Reader<T> = (value: unknown) => Reading<T>;

const missing: Reading<never> = { kind: 'missing' };

function read<T>(value: T): Reading<T> {
  return { kind: 'value', value };
}

function wrong(value: unknown, remedy: string): Reading<never> {
  return { kind: 'wrong', problem: `is ${kindOf(value)} that cannot be used; ${remedy}` };
}

/** The text of a number or a text; null for anything else. Missing values are told apart by the caller. */
function plainText(value: unknown): string | null {
  if (typeof value === 'string') return value.trim();
  if (typeof value === 'number') return String(value);
  return isRawNumber(value) ? value.rawJSON : null;
}

function isMissing(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
}

/** Without the `character`s at its end. A pattern such as `0+$` would try again at each of a long run that something follows. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/** Cents of a number of reais above zero with at most two decimals; null for anything else. */
function centsOfPlain(value: unknown): AmountCents | null {
  if (typeof value !== 'number' || !(value > 0 && value < 1e13)) return null;
  const cents = Math.round(value * 100);
  // Of at most 15 digits: then no other decimal number is the same double.
  return cents / 100 === value ? cents : null;
}

/**
 * A text whose point may be a decimal point or, as people write numbers in Brazil, mark the thousands: `15.640`. A JSON number
 * has but one meaning, and so has `0.640` or `1564.000`.
 */
export function mayMarkThousands(value: unknown): boolean {
  return typeof value === 'string' && /^-?[1-9]\d{0,2}\.\d{3}$/.test(value.trim());
}

const commaDecimal = /^(-?)(\d{1,3}(?:\.\d{3})+|\d{1,13}),(\d+)$/;

/**
 * A text as people write numbers in Brazil, `1.234,56`, with a decimal point; anything else as it is. The comma of `1,234` may mark
 * the thousands for those who write them the other way.
 */
export function withDecimalPoint(value: unknown): unknown {
  const parts = typeof value === 'string' ? commaDecimal.exec(value.trim()) : null;
  if (parts === null) return value;
  const [, sign, whole = '', decimals = ''] = parts;
  if (/^[1-9]\d{0,2}$/.test(whole) && decimals.length === 3) return value;
  return `${sign}${whole.replaceAll('.', '')}.${decimals}`;
}

export const ambiguousPoint: Reading<never> = {
  kind: 'wrong',
  problem:
    'is a text whose point may be a decimal point or mark the thousands; send a number, or a text with 2 decimals',
};

const decimalPattern = /^(\d{1,13})(?:\.(\d+))?$/;

/** Reais, as a number or as a text with a decimal point, to integer cents. */
export function readAmount(value: unknown): Reading<AmountCents> {
  if (isMissing(value)) return missing;
  const plainCents = centsOfPlain(value);
  if (plainCents !== null) return read(plainCents);
  if (mayMarkThousands(value)) return ambiguousPoint;
  const parts = decimalPattern.exec(plainText(value) ?? '');
  if (parts === null)
    return wrongMoney(value, 'send reais as a number from 0, with a decimal point and no thousands mark');
  const decimals = withoutTrailing(parts[2] ?? '', '0');
  if (decimals.length > 2) {
    return { kind: 'wrong', problem: 'has more than 2 decimals; send reais rounded to whole cents' };
  }
  return read(Number(parts[1]) * 100 + Number(decimals.padEnd(2, '0')));
}

const signedDecimalPattern = /^(-?)(\d{1,13})(?:\.(\d+))?$/;

/** Very large and very small numbers are written with an exponent, which nobody sees where the amount is shown. */
function wrongMoney(value: unknown, remedy: string): Reading<never> {
  const hasExponent = /^-?\d+(?:\.\d+)?e[+-]?\d+$/i.test(plainText(value) ?? '');
  if (!hasExponent) return wrong(value, remedy);
  return wrong(value, 'send reais without an exponent, in digits with a decimal point, such as 0.01');
}

/** Reais that the service computed, to the nearest cent, half a cent away from zero: the contract calls them numbers (double). */
export function readComputedMoney(value: unknown): Reading<AmountCents> {
  if (isMissing(value)) return missing;
  if (mayMarkThousands(value)) return ambiguousPoint;
  const parts = signedDecimalPattern.exec(plainText(value) ?? '');
  if (parts === null) return wrongMoney(value, 'send reais as a number with a decimal point and no thousands mark');
  const decimals = (parts[3] ?? '').slice(0, 3).padEnd(3, '0');
  const cents = Number(parts[2]) * 100 + Number(decimals.slice(0, 2)) + (decimals.charAt(2) >= '5' ? 1 : 0);
  return read(parts[1] === '-' && cents !== 0 ? -cents : cents);
}

/** As `readComputedMoney`, from zero. */
export function readComputedAmount(value: unknown): Reading<AmountCents> {
  const reading = readComputedMoney(value);
  if (reading.kind === 'missing' || (reading.kind === 'value' && reading.value >= 0)) return reading;
  return wrongMoney(value, 'send reais as a number from 0, with a decimal point and no thousands mark');
}

/** An available margin in reais, to integer cents: a negative one is no margin, further decimals are rounded down. */
export function readMargin(value: unknown): Reading<AmountCents> {
  if (isMissing(value)) return missing;
  const plainCents = centsOfPlain(value);
  if (plainCents !== null) return read(plainCents);
  if (mayMarkThousands(value)) return ambiguousPoint;
  const parts = signedDecimalPattern.exec(plainText(value) ?? '');
  if (parts === null) return wrongMoney(value, 'send reais as a number with a decimal point and no thousands mark');
  const decimals = withoutTrailing(parts[3] ?? '', '0');
  const cents = Number(parts[2]) * 100 + Number(decimals.slice(0, 2).padEnd(2, '0'));
  if (parts[1] === '-' && (cents > 0 || decimals !== '')) return { kind: 'value', value: 0, adjusted: 'negative' };
  return decimals.length > 2 ? { kind: 'value', value: cents, adjusted: 'rounded' } : read(cents);
}

const adjustmentTexts: Readonly<Record<Adjustment, string>> = {
  negative: 'is negative; it was taken as no margin',
  rounded: 'has more than 2 decimals; it was rounded down to whole cents',
};

export function describeAdjustment(adjusted: Adjustment): string {
  return adjustmentTexts[adjusted];
}

/** Below this, numbers are written with an exponent, which no percentage has. */
const leastPlain = 1e-6;

/** A number of up to three digits before the point; NaN for anything else. */
function readPlainPercent(value: unknown): number {
  if (typeof value === 'number' && value >= leastPlain && value < 1_000) return value;
  const text = plainText(value) ?? '';
  return /^\d{1,3}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

export type Rate = { rateHundredths: RateHundredths; offGrid: boolean };

/** A published rate may lie between two cells: it is then the upper one, the cell it still beats. */
export function readRate(value: unknown): Reading<Rate> {
  if (isMissing(value)) return missing;
  const percent = readPlainPercent(value);
  // 4.98 and above cannot be bid (contract, incluir-lance); just below it lies the cell that no bid of ours loses to.
  if (!(percent < 4.98)) return wrong(value, 'send percent a month as a number from 0, less than 4.98');
  const exact = percent * 100;
  const nearest = Math.round(exact);
  if (Math.abs(exact - nearest) < 1e-6) return read({ rateHundredths: nearest, offGrid: false });
  return read({ rateHundredths: Math.ceil(exact), offGrid: true });
}

/** A plain percentage, 0 … 100. */
export function readPercent(value: unknown): Reading<number> {
  if (isMissing(value)) return missing;
  const percent = readPlainPercent(value);
  return percent <= 100 ? read(percent) : wrong(value, 'send percent as a number from 0 to 100');
}

/** Any number, as a number or as a text with a point. */
export function readScore(value: unknown): Reading<number> {
  if (isMissing(value)) return missing;
  if (mayMarkThousands(value)) {
    const problem = 'is a text whose point may be a decimal point or mark the thousands; send the score as a number';
    return { kind: 'wrong', problem };
  }
  const text = plainText(value) ?? '';
  return /^-?\d{1,7}(\.\d{1,6})?$/.test(text) ? read(Number(text)) : wrong(value, 'send the score as a number');
}

/** Ids that the contract writes as numbers: decimal digits, every one kept, without leading zeros. */
export function readDigits(value: unknown): Reading<string> {
  if (isMissing(value)) return missing;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return read(String(value));
  const text = typeof value === 'number' ? null : plainText(value);
  if (text === null || !/^\d{1,40}$/.test(text))
    return wrong(value, 'send a whole number of at most 40 decimal digits');
  return read(canonicalDigits(text));
}

/** A whole number, 0 … 999 999 999. */
export function readInteger(value: unknown): Reading<number> {
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 1e9) return read(value);
  if (isMissing(value)) return missing;
  const text = plainText(value) ?? '';
  return /^\d{1,9}$/.test(text) ? read(Number(text)) : wrong(value, 'send a whole number from 0');
}

/** A whole number of 32 bits, with its sign. */
export function readInt32(value: unknown): Reading<number> {
  if (isMissing(value)) return missing;
  const text = plainText(value) ?? '';
  const number = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return (number | 0) === number ? read(number | 0) : wrong(value, 'send a whole number of 32 bits');
}

/** A number of instalments: 1 … 999. */
export function readTerm(value: unknown): Reading<number> {
  const reading = readInteger(value);
  if (reading.kind !== 'value') return reading;
  return reading.value >= 1 && reading.value <= 999 ? reading : wrong(value, 'send a whole number from 1 to 999');
}

const yes = new Set(['true', 's', 'sim', '1']);
const no = new Set(['false', 'n', 'nao', 'não', '0']);

export function readBoolean(value: unknown): Reading<boolean> {
  if (typeof value === 'boolean') return read(value);
  if (isMissing(value)) return missing;
  const text = plainText(value)?.toLowerCase() ?? '';
  if (yes.has(text)) return read(true);
  return no.has(text) ? read(false) : wrong(value, 'send true or false');
}

/** A text, trimmed; a number becomes its digits. At most 200 characters. */
export function readText(value: unknown): Reading<string> {
  if (isMissing(value)) return missing;
  const text = plainText(value);
  return text === null || text.length > 200 ? wrong(value, 'send a text of at most 200 characters') : read(text);
}

/** Free text of the service, such as a message. At most 2 000 characters are kept. */
export function readMessage(value: unknown): Reading<string> {
  if (isMissing(value)) return missing;
  const text = plainText(value);
  return text === null ? wrong(value, 'send a text') : read(cutText(text, 2_000));
}

/** Employer ids are reused exactly as received (contract, Employment link): nothing is trimmed, padded or upper-cased. */
export function readEmployerId(value: unknown): Reading<string> {
  if (isMissing(value)) return missing;
  const text = typeof value === 'string' ? value : (readDigits(value) as { value?: string }).value;
  if (text === undefined || !/^[\s0-9A-Za-z./-]{1,40}$/.test(text)) {
    return wrong(value, 'send the CNPJ or CPF of the employer as digits or as a text');
  }
  return read(text);
}

/** CPF as a number or a text, to 11 digits; its check digits must hold. */
export function readCpf(value: unknown): Reading<string> {
  if (isMissing(value)) return missing;
  const text = (plainText(value) ?? '').replace(/[.-]/g, '');
  const digits = /^\d{1,11}$/.test(text) ? text.padStart(11, '0') : '';
  return isCpf(digits) ? read(digits) : wrong(value, 'send a CPF of 11 digits whose check digits hold');
}

/**
 * A CPF that a person typed; null: it is none. The service sends CPFs without their leading zeros; of a person fewer digits are a slip.
 */
export function typedCpf(text: string): string | null {
  const cpf = readCpf(text.trim());
  return text.replace(/\D/g, '').length === 11 && cpf.kind === 'value' ? cpf.value : null;
}

/** A reading of a calendar and a clock. `zoneMs` is null when no zone was written. */
type Written = {
  isDayFirst: boolean;
  year: number;
  month: number;
  date: number;
  msOfDay: number;
  zoneMs: number | null;
};

/** Dates and times are most of what a webhook holds: they are read character by character, in a third of the time that patterns take. */
function readWritten(text: string): Written | null {
  return text.charAt(4) === '-' ? readIso(text) : readDayFirst(text);
}

/** `ddMMyyyy` or `ddMMyyyyHHmmss`. */
function readDayFirst(text: string): Written | null {
  if (text.length !== 8 && text.length !== 14) return null;
  const year = digitsAt(text, 4, 8);
  const month = digitsAt(text, 2, 4);
  const date = digitsAt(text, 0, 2);
  const msOfDay =
    text.length === 8 ? 0 : clockMs(digitsAt(text, 8, 10), digitsAt(text, 10, 12), digitsAt(text, 12, 14));
  if (!isCalendarDay(year, month, date) || Number.isNaN(msOfDay)) return null;
  return { isDayFirst: true, year, month, date, msOfDay, zoneMs: null };
}

const zonePattern = /^\s?(Z|z|[+-]\d{2}:?\d{2})$/;
const maxFractionDigits = 9;

/** `yyyy-MM-dd`, then `THH:mm` or a blank for the `T`, then `:ss`, then a fraction, then a zone: each may be the end. */
function readIso(text: string): Written | null {
  const year = digitsAt(text, 0, 4);
  const month = digitsAt(text, 5, 7);
  const date = digitsAt(text, 8, 10);
  if (text.charAt(7) !== '-' || !isCalendarDay(year, month, date)) return null;
  const day = { isDayFirst: false, year, month, date };
  if (text.length === 10) return { ...day, msOfDay: 0, zoneMs: null };
  if ((text.charAt(10) !== 'T' && text.charAt(10) !== ' ') || text.charAt(13) !== ':') return null;
  const hasSeconds = text.charAt(16) === ':';
  let msOfDay = clockMs(digitsAt(text, 11, 13), digitsAt(text, 14, 16), hasSeconds ? digitsAt(text, 17, 19) : 0);
  let end = hasSeconds ? 19 : 16;
  if (hasSeconds && (text.charAt(19) === '.' || text.charAt(19) === ',')) {
    const start = end + 1;
    end = endOfDigits(text, start);
    if (end === start || end - start > maxFractionDigits) return null;
    const shown = Math.min(end - start, 3);
    msOfDay += digitsAt(text, start, start + shown) * 10 ** (3 - shown);
  }
  const zone = end === text.length ? null : zonePattern.exec(text.slice(end));
  if (Number.isNaN(msOfDay) || (zone === null && end !== text.length)) return null;
  const zoneMs = zone === null ? null : zoneOf(zone[1]!);
  return Number.isNaN(zoneMs) ? null : { ...day, msOfDay, zoneMs };
}

/** The number that the characters from `start` to `end` write; NaN where one of them is no digit. */
function digitsAt(text: string, start: number, end: number): number {
  let number = 0;
  for (let index = start; index < end; index += 1) {
    const digit = text.charCodeAt(index) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

function endOfDigits(text: string, from: number): number {
  let end = from;
  while (end < text.length && text.charCodeAt(end) >= 0x30 && text.charCodeAt(end) <= 0x39) end += 1;
  return end;
}

/** False for a day that no calendar has, such as 31 February: it must not roll over into March. NaN is no part of a date. */
function isCalendarDay(year: number, month: number, date: number): boolean {
  if (!(year >= 1900 && month >= 1 && month <= 12 && date >= 1)) return false;
  return date <= 28 || date <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** NaN for what no clock shows. */
function clockMs(hour: number, minute: number, second: number): number {
  return hour <= 23 && minute <= 59 && second <= 59 ? ((hour * 60 + minute) * 60 + second) * 1_000 : Number.NaN;
}

/** NaN for an offset that no zone has. */
function zoneOf(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 14 || minutes > 59) return Number.NaN;
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function wallMsOf({ year, month, date, msOfDay }: Written): number {
  return Date.UTC(year, month - 1, date) + msOfDay;
}

/** `ddMMyyyy[HHmmss]` or ISO, with or without a zone; without one it is São Paulo's. A date alone is its first moment. */
export function readInstant(value: unknown): Reading<EpochMs> {
  if (isMissing(value)) return missing;
  // A number may have lost its leading zero or be a count of milliseconds: nothing says which.
  const found = typeof value === 'string' ? readWritten(value.trim()) : null;
  if (found === null) return wrong(value, 'send a text as ddMMyyyyHHmmss or as an ISO date-time');
  const wallMs = wallMsOf(found);
  return read(found.zoneMs === null ? fromWallClock(wallMs) : wallMs - found.zoneMs);
}

/**
 * A calendar day from the same forms. With a zone, it is São Paulo's day at that moment, except that midnight in the
 * zone it was written with is a bare date that some program gave a time.
 */
export function readDay(value: unknown): Reading<Day> {
  if (isMissing(value)) return missing;
  const text = plainText(value) ?? '';
  const padded = typeof value !== 'string' && text.length === 7 ? `0${text}` : text;
  const found = readWritten(padded);
  if (found === null) return wrong(value, 'send a date as ddMMyyyy or as an ISO date');
  if (found.zoneMs === null || found.msOfDay === 0) {
    return read(found.isDayFirst ? isoOfDayDigits(padded) : padded.slice(0, 10));
  }
  return read(dayOf(wallMsOf(found) - found.zoneMs));
}

/** `yyyy-MM-dd` of a text that begins with `ddMMyyyy`. */
function isoOfDayDigits(text: string): Day {
  return `${text.slice(4, 8)}-${text.slice(2, 4)}-${text.slice(0, 2)}`;
}

/** `ddMMyyyy` */
export function formatDayDigits(day: Day): string {
  return `${day.slice(8, 10)}${day.slice(5, 7)}${day.slice(0, 4)}`;
}
