/**
 * Tables over the rate grid, so that choosing a rate costs microseconds: what a term costs at each rate, what a loan is
 * worth under given economics, how readily it is taken. Floats; the exact arithmetic in `loan.ts` has the last word.
 */
import { cellCount, type Day } from '../domain/glossary.ts';
import type { Economics } from '../domain/policy.ts';
import { acceptanceCurve } from './acceptance.ts';
import { forEachRate } from './grid.ts';
import { iofShare } from './iof.ts';
import type { LoanTerms } from './loan.ts';
import { payrollDueDays } from './schedule.ts';
import type { PricingSettings } from './settings.ts';
import { buildValueTable, envelopeOf, type ValueTable } from './value.ts';

/** By rate cell, for one term and its due days. */
export type TermTable = {
  dueDays: readonly number[];
  /** Financed amount that one unit of instalment pays for. */
  annuity: Float64Array;
  /** Financed amount for one unit of released amount and insurance: `1 / (1 − IOF on one unit financed)`. */
  grossUp: Float64Array;
};

export type RateTables = {
  settings: PricingSettings;
  terms: (releaseDay: Day, installments: number) => TermTable;
  values: (releaseDay: Day, installments: number, economics: Economics) => ValueTable;
  /** See `envelopeOf`; for all terms from `fewest` to `most`. */
  envelope: (releaseDay: Day, fewest: number, most: number, economics: Economics) => Float64Array;
  acceptance: (economics: Economics) => Float64Array;
  /** What `loan.ts` needs for the same loan. */
  loanTerms: (table: TermTable, rateHundredths: number) => LoanTerms;
  /** Reused between choices, which never overlap: they are synchronous. */
  scratch: Scratch;
};

/** By rate cell; see `scan` in choose.ts. */
export type Scratch = { expected: Float64Array; worth: Float64Array; release: Float64Array; hold: Float64Array };

function buildTermTable(dueDays: readonly number[], settings: PricingSettings): TermTable {
  const table: TermTable = {
    dueDays,
    annuity: new Float64Array(cellCount),
    grossUp: new Float64Array(cellCount),
  };
  const shares = Float64Array.from(dueDays, (day) => iofShare(day, settings.iof));
  const last = dueDays.length - 1;
  forEachRate(dueDays, settings.dayCount, (cell, factors) => {
    // Outstanding before payment k, in instalments, is Σ_{j≥k} D_j / D_{k−1}; amortisations are its differences.
    let tail = 0;
    let after = 0;
    let taxed = 0;
    for (let index = last; index >= 0; index -= 1) {
      tail += factors[index]!;
      const outstanding = index === 0 ? tail : tail / factors[index - 1]!;
      taxed += (outstanding - after) * shares[index]!;
      after = outstanding;
    }
    table.annuity[cell] = tail;
    table.grossUp[cell] = 1 / (1 - taxed / tail);
  });
  return table;
}

/** A map that forgets what was not used of late, by halves: looking at what is young moves nothing. */
function createCache<K, T>(limit: number): (key: K, make: () => T) => T {
  let young = new Map<K, T>();
  let old = new Map<K, T>();
  return (key, make) => {
    const known = young.get(key);
    if (known !== undefined) return known;
    const found = old.get(key) ?? make();
    if (young.size >= limit / 2) {
      old = young;
      young = new Map();
    }
    young.set(key, found);
    return found;
  };
}

/** More than any term has instalments. */
const termsEach = 4_096;

/** All that a table of values is made from beside term and settings. */
function valueKey({
  fundingAnnualPercent,
  separationMonthly,
  neverStartedShare,
  earlySettlementMonthly = 0,
  spreadTaxPercent = 0,
  capitalChargeAnnualPercent = 0,
  recoveryDelayMonths = 0,
}: Economics): string {
  const links = `${fundingAnnualPercent}/${separationMonthly}/${neverStartedShare}`;
  return `${links}/${earlySettlementMonthly}/${spreadTaxPercent}/${capitalChargeAnnualPercent}/${recoveryDelayMonths}`;
}

/** `limit` tables of each kind are kept; one has at most 8 kB, a term that is asked for on one day needs two. */
export function createRateTables(settings: PricingSettings, limit: number): RateTables {
  const termTables = createCache<number, TermTable>(limit);
  const valueTables = createCache<number, ValueTable>(limit);
  const envelopes = createCache<number, Float64Array>(limit);
  const acceptanceCurves = createCache<string, Float64Array>(limit);
  // Numbers for what tables share: one choice asks for many terms, and short keys are found sooner than texts.
  const numbers = createCache<string, number>(4 * limit);
  let next = 0;
  const numberOf = (text: string) => {
    return numbers(text, () => {
      next += 1;
      return next;
    });
  };
  let [lastDay, dayNumber] = ['', 0];
  const terms: RateTables['terms'] = (releaseDay, installments) => {
    if (releaseDay !== lastDay) [lastDay, dayNumber] = [releaseDay, numberOf(releaseDay)];
    return termTables(dayNumber * termsEach + installments, () =>
      buildTermTable(payrollDueDays(releaseDay, installments, settings.payrollCalendar), settings),
    );
  };
  let valuesOf: { economics: Economics | null; releaseDay: Day; number: number } = {
    economics: null,
    releaseDay: '',
    number: 0,
  };
  const readValues = (releaseDay: Day, economics: Economics) => {
    if (economics !== valuesOf.economics || releaseDay !== valuesOf.releaseDay) {
      valuesOf = { economics, releaseDay, number: numberOf(`${releaseDay}/${valueKey(economics)}`) };
    }
    return valuesOf.number;
  };
  const values: RateTables['values'] = (releaseDay, installments, economics) =>
    valueTables(readValues(releaseDay, economics) * termsEach + installments, () =>
      buildValueTable(terms(releaseDay, installments), economics, settings),
    );
  let accepted: { economics: Economics | null; curve: Float64Array } = { economics: null, curve: new Float64Array(0) };
  return {
    settings,
    terms,
    values,
    envelope: (releaseDay, fewest, most, economics) =>
      envelopes((readValues(releaseDay, economics) * termsEach + fewest) * termsEach + most, () =>
        envelopeOf(
          Array.from({ length: most - fewest + 1 }, (_, more) => values(releaseDay, fewest + more, economics)),
        ),
      ),
    acceptance: (economics) => {
      if (economics === accepted.economics) return accepted.curve;
      const { acceptanceCeiling, acceptanceMidpointPercent, acceptanceSlope } = economics;
      const key = `${acceptanceCeiling}/${acceptanceMidpointPercent}/${acceptanceSlope}`;
      accepted = { economics, curve: acceptanceCurves(key, () => acceptanceCurve(economics)) };
      return accepted.curve;
    },
    loanTerms: ({ dueDays }, rateHundredths) => ({
      rateHundredths,
      dueDays,
      dayCount: settings.dayCount,
      rounding: settings.rounding,
      insuranceCents: settings.insuranceCents,
      iof: settings.iof,
      iofFinanced: true,
    }),
    scratch: {
      expected: new Float64Array(cellCount),
      worth: new Float64Array(cellCount),
      release: new Float64Array(cellCount),
      hold: new Float64Array(cellCount),
    },
  };
}
