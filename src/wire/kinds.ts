/** The kinds of single values that messages are made of: units of the house inside, the contract's forms outside. */
import type { AmountCents, Day, EpochMs, RateHundredths } from '../domain/glossary.ts';
import { isRawNumber, numberOfDigits } from './json.ts';
import { formatWallClock } from './local-time.ts';
import { scalar } from './message.ts';
import { readRequestId } from './plain-ids.ts';
import {
  ambiguousPoint,
  mayMarkThousands,
  type Reader,
  readBoolean,
  readComputedMoney,
  readCpf,
  readDay,
  readDigits,
  readEmployerId,
  readInstant,
  readInt32,
  readInteger,
  readMessage,
  readTerm,
  readText,
  withDecimalPoint,
  withoutTrailing,
} from './values.ts';

function plain(value: unknown): string {
  if (isRawNumber(value)) return value.rawJSON;
  return typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : '';
}

function isMissing(value: unknown): boolean {
  return value === null || value === undefined || value === '';
}

const decimal = /^(-?)(\d{1,13})(?:\.(\d+))?$/;

/** Hundredths of a number with at most two decimals. */
const readTwoDecimals: Reader<number> = (value) => {
  if (isMissing(value)) return { kind: 'missing' };
  const parts = decimal.exec(plain(value));
  const decimals = withoutTrailing(parts?.[3] ?? '', '0');
  if (parts === null || decimals.length > 2) {
    return { kind: 'wrong', problem: 'cannot be used; send reais as a number with at most 2 decimals' };
  }
  const cents = Number(parts[2]) * 100 + Number(decimals.padEnd(2, '0'));
  return { kind: 'value', value: parts[1] === '-' && cents !== 0 ? -cents : cents };
};

/** Reais with at most two decimals, negative ones too: corrections and rebates may be. */
const readMoney: Reader<AmountCents> = (value) => (mayMarkThousands(value) ? ambiguousPoint : readTwoDecimals(value));

/** Percent a month on the grid of hundredths, whatever its size: each operation has bounds of its own. */
const readMonthlyRate: Reader<RateHundredths> = (value) => {
  const reading = readTwoDecimals(value);
  if (reading.kind === 'missing' || (reading.kind === 'value' && reading.value >= 0)) return reading;
  return { kind: 'wrong', problem: 'cannot be used; send percent a month as a number from 0 with at most 2 decimals' };
};

/** Any number, as it is: percentages that the service computed. */
const readNumber: Reader<number> = (value) => {
  if (isMissing(value)) return { kind: 'missing' };
  const text = plain(value);
  const number = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(number)) return { kind: 'value', value: number };
  return { kind: 'wrong', problem: 'cannot be used; send a number' };
};

/**
 * A percentage that the service tells, as people write it there: `40 %` is 40, and the comma of `1,990` marks no thousands, for no loan
 * is at a thousand percent.
 */
const readToldPercent: Reader<number> = (value) => {
  if (typeof value !== 'string') return readNumber(value);
  const text = value.trim();
  const plainly = text.endsWith('%') ? text.slice(0, -1).trimEnd() : text;
  const comma = /^(-?\d{1,3}),(\d+)$/.exec(plainly);
  return readNumber(comma === null ? withDecimalPoint(plainly) : `${comma[1]}.${comma[2]}`);
};

/** Reais with their sign before them, `R$ 1.234,56`, are the same without it. */
function withoutCurrency(value: unknown): unknown {
  return typeof value === 'string' ? value.trim().replace(/^(-?)\s*R\$\s*/i, '$1') : value;
}

/** What the service tells may be a text as people write numbers there. */
function toldBy<T>(read: Reader<T>): Reader<T> {
  return (value) => read(withDecimalPoint(withoutCurrency(value)));
}

/** A text kept to the character: accounts, registrations and codes may begin with zeros or end in blanks that somebody counts. */
const readExact: Reader<string> = (value) => {
  if (typeof value !== 'string' || value.trim() === '') return readText(value);
  if (value.length <= 2_000) return { kind: 'value', value };
  return { kind: 'wrong', problem: 'is too long; send a text of at most 2000 characters' };
};

function midnight(day: Day): string {
  return `${day}T00:00:00`;
}

export const text = scalar<string>(readExact, (value) => value);
/** At most 2 000 characters are kept. */
export const note = scalar<string>(readMessage, (value) => value);
export const cpf = scalar<string>(readCpf, (value) => value);
/** Ids written as JSON numbers, every digit kept. */
export const digits = scalar<string>(readDigits, numberOfDigits);
/** The contract writes this id as a text. */
export const requestIdAsText = scalar<string>(readRequestId, (value) => value);
export const employerId = scalar<string>(readEmployerId, (value) => value);
export const integer = scalar<number>(readInteger, (value) => value);
export const int32 = scalar<number>(readInt32, (value) => value);
export const term = scalar<number>(readTerm, (value) => value);
export const yesOrNo = scalar<boolean>(readBoolean, (value) => value);
/** What we send has at most two decimals; what the service computed may have more. */
export const money = scalar<AmountCents>(readMoney, (value) => value / 100, toldBy(readComputedMoney));
/** The contract writes this amount as a text. */
export const moneyAsText = scalar<AmountCents>(readMoney, (value) => (value / 100).toFixed(2));
export const monthlyRate = scalar<RateHundredths>(readMonthlyRate, (value) => value / 100);
export const number = scalar<number>(readNumber, (value) => value, readToldPercent);
/** A day that the contract writes as a date-time: midnight. */
export const dayTime = scalar<Day>(readDay, midnight);
/** `YYYY-MM-DD` */
export const day = scalar<Day>(readDay, (value) => value);
/** São Paulo's wall clock, no zone. */
export const instant = scalar<EpochMs>(readInstant, formatWallClock);
