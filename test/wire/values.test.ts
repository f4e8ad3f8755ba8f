/** Single values: right in the house's units, or refused with words that never repeat them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { numberOfDigits, parseJson } from '../../src/wire/json.ts';
import { formatDigits, formatWallClock } from '../../src/wire/local-time.ts';
import {
  formatDayDigits,
  type Reading,
  readAmount,
  readBoolean,
  readComputedAmount,
  readComputedMoney,
  readCpf,
  readDay,
  readDigits,
  readEmployerId,
  readInstant,
  readInteger,
  readMargin,
  readPercent,
  readRate,
  readScore,
  readTerm,
  readText,
  typedCpf,
} from '../../src/wire/values.ts';

function got<T>(reading: Reading<T>): T {
  assert.equal(reading.kind, 'value', JSON.stringify(reading));
  return (reading as { value: T }).value;
}

test('amounts are exact in cents, as numbers and as texts', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 99_999_999_999 }), (cents) => {
      assert.equal(got(readAmount(cents / 100)), cents);
      assert.equal(got(readAmount((cents / 100).toFixed(2))), cents);
    }),
  );
  assert.equal(got(readAmount(' 1010.500 ')), 101_050);
  assert.equal(got(readAmount('0.500')), 50);
  assert.match(JSON.stringify(readAmount(10.005)), /more than 2 decimals/);
  const refused = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    -0.01,
    '1.234,56',
    '1,5',
    '1e3',
    true,
    [],
    {},
    1e21,
    numberOfDigits('12345678901234567890'),
  ];
  for (const value of refused) assert.equal(readAmount(value).kind, 'wrong', JSON.stringify(value));
  for (const value of [null, undefined, '', ' ']) assert.equal(readAmount(value).kind, 'missing');
});

test('a margin below zero is no margin, and parts of a cent are rounded down', () => {
  const cases: [unknown, number, string?][] = [
    [-35.2, 0, 'negative'],
    ['-0.001', 0, 'negative'],
    [123.456, 12_345, 'rounded'],
    ['0.009', 0, 'rounded'],
    ['1010.500', 101_050],
    [-0, 0],
    ['-0.00', 0],
    [0, 0],
  ];
  for (const [value, cents, adjusted] of cases) {
    const reading = readMargin(value);
    assert.deepEqual(reading, { kind: 'value', value: cents, ...(adjusted && { adjusted }) }, String(value));
  }
  for (const value of ['1.234,56', 'x', {}, true, 1e21, '--1']) assert.equal(readMargin(value).kind, 'wrong');
  for (const value of [null, '', undefined]) assert.equal(readMargin(value).kind, 'missing');
});

test('rates fall on cells; between two cells it is the upper one', () => {
  for (let cell = 0; cell <= 497; cell += 1) {
    assert.deepEqual(got(readRate(cell / 100)), { rateHundredths: cell, offGrid: false });
    assert.deepEqual(got(readRate((cell * 10 + 5) / 1_000)), { rateHundredths: cell + 1, offGrid: true });
  }
  for (const value of [4.98, 5, 100, -1, Number.NaN, '1,79', 'x', true, {}]) {
    assert.equal(readRate(value).kind, 'wrong', String(value));
  }
});

test('ids keep every digit', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 39n }), (id) => {
      assert.equal(got(readDigits(String(id))), String(id));
      assert.equal(got(readDigits(numberOfDigits(String(id)))), String(id));
    }),
  );
  assert.equal(got(readDigits('007')), '7');
  const fraction = parseJson('1234567890123456.5');
  assert.ok(fraction.kind === 'parsed');
  for (const value of [1.5, -1, 1e21, '12a', 'b6f3c9e', true, {}, fraction.value]) {
    assert.equal(readDigits(value).kind, 'wrong', JSON.stringify(value));
  }
});

test('a CPF gets its leading zeros back and its check digits must hold', () => {
  assert.equal(got(readCpf(1_504_901_002)), '01504901002');
  assert.equal(got(readCpf('915.825.754-36')), '91582575436');
  // A list of the validator has it as made up, beside those of one digit.
  for (const counted of ['123.456.789-09', 12345678909]) assert.equal(got(readCpf(counted)), '12345678909');
  assert.equal(typedCpf(' 123.456.789-09'), '12345678909');
  for (const value of [91582575435, '11111111111', 0, '915825754360', 'x', 1.5, {}]) {
    const reading = readCpf(value);
    assert.equal(reading.kind, 'wrong');
    assert.doesNotMatch(JSON.stringify(reading), /9158|1111/);
  }
});

test('employer ids stay exactly as received', () => {
  assert.equal(got(readEmployerId('012abc34501DE35 ')), '012abc34501DE35 ');
  assert.equal(got(readEmployerId(12345678000195)), '12345678000195');
  for (const value of [{}, [], true, 1.5, 'x'.repeat(41), 'a"b']) assert.equal(readEmployerId(value).kind, 'wrong');
});

test('dates without a zone are São Paulo, around midnight and around the day of UTC', () => {
  const instants: [unknown, string][] = [
    ['2026-11-21T23:59:59', '2026-11-22T02:59:59.000Z'],
    ['2026-11-22T00:00:00', '2026-11-22T03:00:00.000Z'],
    ['2026-11-21T21:00:00', '2026-11-22T00:00:00.000Z'],
    ['2026-11-21T20:59:59.9999999', '2026-11-21T23:59:59.999Z'],
    ['21112026235959', '2026-11-22T02:59:59.000Z'],
    ['21112026', '2026-11-21T03:00:00.000Z'],
    ['2026-11-21', '2026-11-21T03:00:00.000Z'],
    ['2026-11-21T23:59:59Z', '2026-11-21T23:59:59.000Z'],
    ['2026-11-22T01:30:00+02:00', '2026-11-21T23:30:00.000Z'],
    ['2026-11-21T23:30:00-0300', '2026-11-22T02:30:00.000Z'],
    // Daylight saving time of 2018: an hour that did not exist, and an hour that came twice.
    ['2018-11-04T00:30:00', '2018-11-04T02:30:00.000Z'],
    ['2018-02-17T23:30:00', '2018-02-18T01:30:00.000Z'],
    ['2018-12-25T12:00:00', '2018-12-25T14:00:00.000Z'],
  ];
  for (const [text, expected] of instants)
    assert.equal(new Date(got(readInstant(text))).toISOString(), expected, String(text));
  const days: [unknown, string][] = [
    ['01021990', '1990-02-01'],
    [1021990, '1990-02-01'],
    ['29022024', '2024-02-29'],
    ['1990-02-01T00:00:00Z', '1990-02-01'],
    ['2026-11-22T02:59:59Z', '2026-11-21'],
    ['2026-11-22T03:00:00Z', '2026-11-22'],
    ['2026-11-21T23:59:59', '2026-11-21'],
  ];
  for (const [text, expected] of days) assert.equal(got(readDay(text)), expected, String(text));
  const refused = [
    '31021990',
    '29022023',
    '00012026',
    '01132026',
    '2026-13-01',
    '21112026240000',
    '2026-11-21T10:60',
    'amanhã',
    '1/2/2026',
    {},
    true,
  ];
  for (const value of refused) {
    assert.equal(readInstant(value).kind, 'wrong', String(value));
    assert.equal(readDay(value).kind, 'wrong', String(value));
  }
  assert.equal(readInstant(21112026235959).kind, 'wrong', 'a number may have lost its zero');
});

test('what is written as local time is read as the same moment', () => {
  const seconds = fc.integer({ min: Date.UTC(2019, 3, 1) / 1_000, max: Date.UTC(2035, 0, 1) / 1_000 });
  fc.assert(
    fc.property(seconds, (second) => {
      const at = second * 1_000;
      assert.equal(got(readInstant(formatWallClock(at))), at);
      assert.equal(got(readInstant(formatDigits(at))), at);
      const day = got(readDay(formatDigits(at)));
      assert.equal(got(readDay(formatDayDigits(day))), day);
    }),
  );
});

test('terms, truth values and texts', () => {
  assert.equal(got(readTerm('24')), 24);
  for (const value of [0, 1_000, 1.5, -3, 'doze']) assert.equal(readTerm(value).kind, 'wrong');
  assert.equal(got(readBoolean('SIM')), true);
  assert.equal(got(readBoolean(0)), false);
  assert.equal(readBoolean('talvez').kind, 'wrong');
  assert.equal(readText('x'.repeat(201)).kind, 'wrong');
});

test('an amount with an exponent is refused for that, and not for a thousands mark', () => {
  for (const reader of [readAmount, readMargin, readComputedAmount, readComputedMoney]) {
    for (const value of [1e-7, -1e-7, '1e3', '2.5E+21', 1e21]) {
      const reading = reader(value);
      const problem = reading.kind === 'wrong' ? reading.problem : '';
      assert.match(problem, /send reais without an exponent/, `${reader.name} of ${value}`);
      assert.doesNotMatch(problem, /thousands/);
    }
    const other = reader('nada');
    assert.match(other.kind === 'wrong' ? other.problem : '', /thousands mark/);
  }
});

test('a text whose point may mark the thousands is refused, and a number is not', () => {
  const readers = [readAmount, readMargin, readComputedAmount, readComputedMoney, readScore];
  for (const reader of readers) {
    for (const text of ['15.640', ' 1.000 ', '999.999', '-15.640']) {
      const reading = reader(text);
      assert.match(reading.kind === 'wrong' ? reading.problem : '', /point/, `${reader.name} of ${text}`);
    }
    for (const text of ['15.640,00', '15,640.00', '15,64', '1.015.640', '1 564.00'])
      assert.equal(reader(text).kind, 'wrong', `${reader.name} of ${text}`);
    assert.equal(reader(15.64).kind, 'value');
    assert.equal(reader('15.64').kind, 'value');
    assert.equal(reader('1564.00').kind, 'value');
  }
  // No rate is a thousand percent: its point is a decimal point.
  assert.deepEqual(got(readRate('1.790')), { rateHundredths: 179, offGrid: false });
  assert.equal(got(readPercent('40.000')), 40);
});

const mayMarkThousands = /^-?[1-9]\d{0,2}\.\d{3}$/;

test('a number is read as its digits are', () => {
  const anyNumber = fc.oneof(
    fc.double(),
    fc.integer({ min: -10, max: 10 ** 10 }),
    fc.integer({ min: 0, max: 10 ** 15 }).map((cents) => cents / 100),
    fc.integer({ min: 0, max: 6_000 }).map((thousandths) => thousandths / 1_000),
    fc.constantFrom(0, -0, 1e-6, 1e-7, 4.98, 999_999_999, 1e9, 1e13, 9_999_999_999_999.99, Number.NaN),
  );
  const readers = [readAmount, readMargin, readRate, readPercent, readInteger, readTerm];
  fc.assert(
    fc.property(anyNumber, (number) => {
      for (const reader of readers) {
        const [one, other] = [reader(number), reader(String(number))];
        if (mayMarkThousands.test(String(number)) && reader !== readRate && reader !== readPercent) {
          assert.equal(other.kind, 'wrong', `${reader.name} of the text ${number}`);
          continue;
        }
        assert.equal(one.kind, other.kind, `${reader.name} of ${number}`);
        if (one.kind === 'value') assert.deepEqual(one, other);
      }
    }),
    { numRuns: 2_000 },
  );
});

/** The forms of a date and a time, as one pattern. */
const isoForms =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}:?\d{2})?)?$/;
const dayFirstForms = /^(\d{2})(\d{2})(\d{4})(?:(\d{2})(\d{2})(\d{2}))?$/;

/** Milliseconds as if the zone were UTC, and those of the zone, null without one. Null where it is no form, no day, no time or no zone. */
function byPattern(text: string): { wallMs: number; zoneMs: number | null } | null {
  const iso = isoForms.exec(text);
  const parts = iso ?? dayFirstForms.exec(text);
  if (parts === null) return null;
  const [, first, month, third, hour = '00', minute = '00', second = '00'] = parts;
  const [year, date] = iso ? [first, third] : [third, first];
  const fraction = (iso?.[7] ?? '').slice(0, 3).padEnd(3, '0');
  const written = `${year}-${month}-${date}T${hour}:${minute}:${second}.${fraction}Z`;
  const wallMs = Date.parse(written);
  // What rolls over into another day or hour was not there.
  if (Number(year) < 1900 || Number.isNaN(wallMs) || new Date(wallMs).toISOString() !== written) return null;
  const zone = iso?.[8];
  if (zone === undefined) return { wallMs, zoneMs: null };
  const [, sign = '+', hours = 0, minutes = 0] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  if (Number(hours) > 14 || Number(minutes) > 59) return null;
  return { wallMs, zoneMs: Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000 };
}

test('date-times are read in their forms and in no other, each digit where it stands', () => {
  const digits = (max: number, length = 2) =>
    fc.integer({ min: 0, max }).map((number) => String(number).padStart(length, '0'));
  const year = fc.oneof(digits(9_999, 4), fc.constantFrom('1899', '1900', '2026', '2028'));
  const dayFirst = fc.tuple(digits(32), digits(13), year, fc.constantFrom('', '000000', '235959', '240000', '1200'));
  const second = fc.tuple(
    fc.constant(':'),
    digits(61),
    fc.constantFrom('', '.', '.5', ',123', '.123456789', '.1234567890'),
  );
  const time = fc.tuple(
    fc.constantFrom('T', ' ', 't', ''),
    digits(25),
    fc.constant(':'),
    digits(61),
    fc.oneof(
      fc.constant(''),
      second.map((parts) => parts.join('')),
    ),
    fc.constantFrom('', 'Z', ' z', '+00:00', '-0000', '+14:59', '-1500', '  Z', 'ZZ', '+00'),
  );
  const iso = fc.tuple(
    year,
    fc.constant('-'),
    digits(13),
    fc.constant('-'),
    digits(32),
    fc.oneof(
      fc.constant(''),
      time.map((parts) => parts.join('')),
    ),
  );
  const form = fc.oneof(dayFirst, iso).map((parts) => parts.join(''));
  const change = fc.tuple(
    fc.nat({ max: 30 }),
    fc.constantFrom('', '0', '9', '-', ':', 'T', '.', 'x', '٣'),
    fc.nat({ max: 1 }),
  );
  const text = fc.tuple(form, fc.option(change, { freq: 2 })).map(([whole, changed]) => {
    if (changed === null) return whole;
    const [at, put, cut] = changed;
    return (whole.slice(0, at) + put + whole.slice(at + cut)).trim();
  });
  fc.assert(
    fc.property(text, (written) => {
      const wanted = byPattern(written);
      const instant = readInstant(written);
      const day = readDay(written);
      if (wanted === null) {
        assert.notEqual(instant.kind, 'value', written);
        assert.notEqual(day.kind, 'value', written);
        return;
      }
      const { wallMs, zoneMs } = wanted;
      if (zoneMs !== null) {
        assert.equal(got(instant), wallMs - zoneMs, written);
        return;
      }
      const behindMs = got(instant) - wallMs;
      // Without a zone it is São Paulo's, three hours behind, two in the summers of some years, and a little more before 1914.
      assert.ok(behindMs >= 2 * 3_600_000 && behindMs < 3.2 * 3_600_000, written);
      assert.equal(got(day), new Date(wallMs).toISOString().slice(0, 10), written);
    }),
    { numRuns: 3_000 },
  );
});
