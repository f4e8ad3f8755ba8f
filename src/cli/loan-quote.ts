/** `lance loan quote`: one loan by the engine's own arithmetic, as a table or as one JSON object. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { dayOf } from '../domain/clock.ts';
import type { AmountCents, Day } from '../domain/glossary.ts';
import type { DayCount } from '../domain/policy.ts';
import { Fault } from '../errors.ts';
import {
  type LoanTerms,
  type Quote,
  quoteInstallment,
  quoteReleased,
  type ScheduleRow,
  scheduleRows,
} from '../pricing/loan.ts';
import { dayFromEpoch, epochDayOf, payrollDueDays } from '../pricing/schedule.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import type { Format } from './format.ts';
import { createPage } from './page.ts';
import { tableText } from './terminal.ts';
import type { CommandWorld } from './world.ts';

const maxInstallments = 480;
const dayCounts: readonly DayCount[] = ['actual365', '30/360', 'calendar30'];

type QuoteOptions = {
  /** Cents; exactly one of the two. */
  released?: AmountCents;
  installment?: AmountCents;
  /** Hundredths of a percent a month, not always whole. */
  rate: number;
  date?: Day;
  /** Exactly one of the two. */
  due?: readonly Day[];
  installments?: number;
  dayCount?: DayCount;
  financedIof: boolean;
  iof: boolean;
  insurance?: AmountCents;
  json: boolean;
};

/** What `--json` writes. Whole cents, hundredths of a percent, days as `YYYY-MM-DD`. */
type QuoteJson = Quote & {
  releaseDay: Day;
  rateHundredths: number;
  /** `(1 + rate)^12 − 1` in percent, to 6 decimals. */
  rateAnnualPercent: number;
  dayCount: DayCount;
  iofFinanced: boolean;
  installments: number;
  insuranceCents: AmountCents;
  interestCents: AmountCents;
  /** Add up to `iofCents`. */
  iofDailyCents: AmountCents;
  iofAdditionalCents: AmountCents;
  rows: readonly (Omit<ScheduleRow, 'dueDay'> & { due: Day; days: number })[];
};

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).getTime() >= 0 && exists(text);
}

/** February has no 30th: the date would roll over into March. */
function exists(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}

function readersOf(texts: Format['texts']['quote']) {
  const check = (right: boolean, remedy: string) => {
    if (!right) throw new InvalidArgumentError(remedy);
  };
  const cents = (word: string, remedy: string) => {
    check(/^\d{1,10}([.,]\d{1,2})?$/.test(word), remedy);
    return Math.round(Number(word.replace(',', '.')) * 100);
  };
  return {
    amount: (word: string) => {
      const amount = cents(word, texts.amountRemedy);
      check(amount > 0, texts.amountRemedy);
      return amount;
    },
    cost: (word: string) => cents(word, texts.costRemedy),
    rate: (word: string) => {
      check(/^\d{1,3}([.,]\d{1,6})?$/.test(word), texts.rateRemedy);
      return Number((Number(word.replace(',', '.')) * 100).toFixed(4));
    },
    day: (word: string) => {
      check(isDay(word), texts.dateRemedy);
      return word;
    },
    days: (word: string) => {
      const days = word.split(',').map((day) => day.trim());
      check(days.length <= maxInstallments && days.every(isDay), texts.dueRemedy);
      check(
        days.every((day, index) => index === 0 || day > days[index - 1]!),
        texts.dueRemedy,
      );
      return days;
    },
    count: (word: string) => {
      check(/^\d{1,3}$/.test(word) && Number(word) >= 1 && Number(word) <= maxInstallments, texts.countRemedy);
      return Number(word);
    },
  };
}

function termsOf(options: QuoteOptions, releaseDay: Day, pricing: PricingSettings, format: Format): LoanTerms {
  const { quote: texts } = format.texts;
  const released = epochDayOf(releaseDay);
  const { due, installments } = options;
  const early = due?.find((day) => day <= releaseDay);
  if (early !== undefined) throw new Fault('not-allowed', texts.dueBefore(early, releaseDay));
  if (due === undefined && installments === undefined) throw new Fault('not-allowed', texts.oneTerm);
  return {
    rateHundredths: options.rate,
    dueDays:
      due?.map((day) => epochDayOf(day) - released) ??
      payrollDueDays(releaseDay, installments ?? 0, pricing.payrollCalendar),
    dayCount: options.dayCount ?? pricing.dayCount,
    rounding: pricing.rounding,
    insuranceCents: options.insurance ?? pricing.insuranceCents,
    iof: options.iof ? pricing.iof : { ...pricing.iof, daily: 0, additional: 0 },
    iofFinanced: options.financedIof,
  };
}

function quoteOf(options: QuoteOptions, terms: LoanTerms, format: Format): Quote {
  const { quote: texts } = format.texts;
  const { released, installment } = options;
  if (released === undefined && installment === undefined) throw new Fault('not-allowed', texts.oneAmount);
  const quote = released === undefined ? quoteInstallment(installment ?? 0, terms) : quoteReleased(released, terms);
  if (quote.disbursedCents <= 0) throw new Fault('not-allowed', texts.nothingLeft);
  return quote;
}

/** Half a cent on each instalment, grown over a long dear loan, is more than the loan: its last row would settle anything. */
function isOutgrown(rows: readonly ScheduleRow[], { financedCents }: Quote): boolean {
  const lastCents = rows.at(-1)!.principalCents;
  return (
    !(lastCents >= 0 && lastCents <= financedCents) ||
    rows.some(({ iofDailyCents, iofAdditionalCents }) => iofDailyCents < 0 || iofAdditionalCents < 0)
  );
}

function quoteJson(quote: Quote, terms: LoanTerms, releaseDay: Day, format: Format): QuoteJson {
  const released = epochDayOf(releaseDay);
  const rows = scheduleRows(quote, terms);
  if (isOutgrown(rows, quote)) throw new Fault('not-allowed', format.texts.quote.outgrown);
  const sum = (pick: (row: ScheduleRow) => number) => rows.reduce((total, row) => total + pick(row), 0);
  return {
    releaseDay,
    rateHundredths: terms.rateHundredths,
    rateAnnualPercent: Number((((1 + terms.rateHundredths / 10_000) ** 12 - 1) * 100).toFixed(6)),
    dayCount: terms.dayCount,
    iofFinanced: terms.iofFinanced,
    installments: rows.length,
    insuranceCents: terms.insuranceCents,
    ...quote,
    interestCents: sum((row) => row.interestCents),
    iofDailyCents: sum((row) => row.iofDailyCents),
    iofAdditionalCents: sum((row) => row.iofAdditionalCents),
    rows: rows.map(({ number, dueDay, ...amounts }) => {
      return { number, due: dayFromEpoch(released + dueDay), days: dueDay, ...amounts };
    }),
  };
}

function quoteText(quote: QuoteJson, format: Format): string {
  const { texts, money } = format;
  const words = texts.quote;
  const page = createPage();
  // The rate may have more decimals than a bid's.
  const decimals = Number.isInteger(quote.rateHundredths) ? 2 : 6;
  const rate = `${format.number(quote.rateHundredths / 100, decimals)} % ${texts.units.perMonth}`;
  page.line(words.title(rate, quote.releaseDay));
  page.field(words.released, money(quote.releasedCents));
  page.field(words.insurance, money(quote.insuranceCents));
  const how = quote.iofFinanced ? words.iofFinanced : words.iofKept;
  const parts = words.iofParts(money(quote.iofDailyCents), money(quote.iofAdditionalCents));
  page.field(words.iof, `${money(quote.iofCents)} (${parts}), ${how}`);
  page.field(words.disbursed, money(quote.disbursedCents));
  page.field(words.financed, money(quote.financedCents));
  const last = words.last(quote.installments, money(quote.lastInstallmentCents));
  page.field(words.installment, `${money(quote.installmentCents)}, ${last}`);
  page.field(words.interest, money(quote.interestCents));
  page.field(words.total, money(quote.totalCents));
  page.field(words.cet, `${format.annualRate(quote.cetAnnualHundredths)} (${format.rate(quote.cetMonthlyHundredths)})`);
  page.field(words.dayCount, quote.dayCount);
  const rows = quote.rows.map((row) => [
    String(row.number),
    row.due,
    String(row.days),
    money(row.installmentCents),
    money(row.interestCents),
    money(row.principalCents),
    money(row.balanceCents),
    money(row.iofDailyCents),
    money(row.iofAdditionalCents),
  ]);
  return `${page.text()}\n\n${tableText(words.header, rows, { right: [0, 2, 3, 4, 5, 6, 7, 8] })}`;
}

/** Throws `not-allowed` for options that do not go together, `configuration-invalid` for settings that cannot be read. */
function quoteLoan(world: CommandWorld, options: QuoteOptions): void {
  const { format, terminal, clock } = world;
  const releaseDay = options.date ?? dayOf(clock.now());
  const terms = termsOf(options, releaseDay, world.pricing(), format);
  const quote = quoteJson(quoteOf(options, terms, format), terms, releaseDay, format);
  terminal.write(options.json ? JSON.stringify(quote) : quoteText(quote, format));
}

type Add = (parent: Command, usage: string, description: string, example: string) => Command;

export function registerLoan(program: Command, world: CommandWorld, add: Add): void {
  const { help, quote: texts } = world.format.texts;
  const { options } = texts;
  const read = readersOf(texts);
  const example = 'lance loan quote --released 10000.00 --rate 1.80 --installments 24 --financed-iof';
  const loan = add(program, 'loan', texts.loan, example);
  add(loan, 'quote', texts.about, example)
    .addOption(new Option('--released <reais>', options.released).argParser(read.amount).conflicts('installment'))
    .addOption(new Option('--installment <reais>', options.installment).argParser(read.amount))
    .requiredOption('--rate <percent>', options.rate, read.rate)
    .option('--date <day>', options.date, read.day)
    .addOption(new Option('--due <days>', options.due).argParser(read.days).conflicts('installments'))
    .option('--installments <n>', options.installments, read.count)
    .addOption(new Option('--day-count <kind>', options.dayCount).choices(dayCounts))
    .addOption(new Option('--financed-iof', options.financedIof).default(false))
    .addOption(new Option('--no-iof', options.noIof).conflicts('financedIof'))
    .option('--insurance <reais>', options.insurance, read.cost)
    .option('--json', help.json, false)
    .addHelpText('after', texts.conventions)
    .action((given: QuoteOptions) => quoteLoan(world, given));
}
