/** Single values of the wire: read into the units of the house, or a text that says what was expected. Nothing is guessed. */
import { cpf as cpfRules } from 'cpf-cnpj-validator';
import { dayOf } from '../domain/clock.ts';
import type { AmountCents, Day, EpochMs, RateHundredths } from '../domain/glossary.ts';
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

const decimalPattern = /^(\d{1,13})(?:\.(\d+))?$/;

/** Reais, as a number or as a text with a decimal point, to integer cents. */
export function readAmount(value: unknown): Reading<AmountCents> {
  if (isMissing(value)) return missing;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 1e13) return read(value * 100);
  const parts = decimalPattern.exec(plainText(value) ?? '');
  if (parts === null) return wrong(value, 'send reais as a number from 0, with a decimal point and no thousands mark');
  const decimals = withoutTrailing(parts[2] ?? '', '0');
  if (decimals.length > 2) {
    return { kind: 'wrong', problem: 'has more than 2 decimals; send reais rounded to whole cents' };
  }
  return read(Number(parts[1]) * 100 + Number(decimals.padEnd(2, '0')));
}

const signedDecimalPattern = /^(-?)(\d{1,13})(?:\.(\d+))?$/;

/** An available margin in reais, to integer cents: a negative one is no margin, further decimals are rounded down. */
export function readMargin(value: unknown): Reading<AmountCents> {
  if (isMissing(value)) return missing;
  const parts = signedDecimalPattern.exec(plainText(value) ?? '');
  if (parts === null) return wrong(value, 'send reais as a number with a decimal point and no thousands mark');
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

export type Rate = { rateHundredths: RateHundredths; offGrid: boolean };

/** A published rate may lie between two cells: it is then the upper one, the cell it still beats. */
export function readRate(value: unknown): Reading<Rate> {
  if (isMissing(value)) return missing;
  const text = plainText(value) ?? '';
  const percent = /^\d{1,3}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
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
  const text = plainText(value) ?? '';
  const percent = /^\d{1,3}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return percent <= 100 ? read(percent) : wrong(value, 'send percent as a number from 0 to 100');
}

/** Any number, as a number or as a text with a point. */
export function readScore(value: unknown): Reading<number> {
  if (isMissing(value)) return missing;
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
  if (isMissing(value)) return missing;
  const text = plainText(value) ?? '';
  return /^\d{1,9}$/.test(text) ? read(Number(text)) : wrong(value, 'send a whole number from 0');
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
  return text === null ? wrong(value, 'send a text') : read(text.slice(0, 2_000));
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
  return cpfRules.isValid(digits, true)
    ? read(digits)
    : wrong(value, 'send a CPF of 11 digits whose check digits hold');
}

const dayFirst = /^(?:\d{8}|\d{14})$/;
const iso =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}:?\d{2})?)?$/;

/** A reading of a calendar and a clock. `zoneMs` is null when no zone was written. */
type Written = { day: Day; msOfDay: number; zoneMs: number | null };

function readWritten(text: string): Written | null {
  if (dayFirst.test(text)) {
    const day = calendarDay(text.slice(4, 8), text.slice(2, 4), text.slice(0, 2));
    const msOfDay = text.length === 8 ? 0 : clockMs(text.slice(8, 10), text.slice(10, 12), text.slice(12, 14));
    return day === null || msOfDay === null ? null : { day, msOfDay, zoneMs: null };
  }
  const parts = iso.exec(text);
  if (parts === null) return null;
  const [, year, month, date, hour = '0', minute = '0', second = '0', fraction = '', zone] = parts;
  const day = calendarDay(year!, month!, date!);
  const msOfDay = clockMs(hour, minute, second);
  const zoneMs = zone === undefined ? null : zoneOf(zone);
  if (day === null || msOfDay === null || Number.isNaN(zoneMs)) return null;
  return { day, msOfDay: msOfDay + Number(fraction.slice(0, 3).padEnd(3, '0')), zoneMs };
}

/** Null for a day that no calendar has, such as 31 February: it must not roll over into March. */
function calendarDay(year: string, month: string, date: string): Day | null {
  const monthOfYear = Number(month);
  const dayOfMonth = Number(date);
  if (Number(year) < 1900 || monthOfYear < 1 || monthOfYear > 12 || dayOfMonth < 1) return null;
  if (dayOfMonth > 28 && dayOfMonth > new Date(Date.UTC(Number(year), monthOfYear, 0)).getUTCDate()) return null;
  return `${year}-${month}-${date}`;
}

function clockMs(hour: string, minute: string, second: string): number | null {
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  return ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1_000;
}

/** NaN for an offset that no zone has. */
function zoneOf(zone: string): number {
  if (zone === 'Z' || zone === 'z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 14 || minutes > 59) return Number.NaN;
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function wallMsOf(found: Written): number {
  const { day, msOfDay } = found;
  return Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1, Number(day.slice(8, 10))) + msOfDay;
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
  const found = readWritten(typeof value !== 'string' && text.length === 7 ? `0${text}` : text);
  if (found === null) return wrong(value, 'send a date as ddMMyyyy or as an ISO date');
  if (found.zoneMs === null || found.msOfDay === 0) return read(found.day);
  return read(dayOf(wallMsOf(found) - found.zoneMs));
}

/** `ddMMyyyy` */
export function formatDayDigits(day: Day): string {
  return `${day.slice(8, 10)}${day.slice(5, 7)}${day.slice(0, 4)}`;
}
