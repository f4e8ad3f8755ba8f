/**
 * Reality beside belief: what released loans lost until the months that are known, and what the decisions had expected until then.
 * By vintage, segment and gap to the next bid: where the gap is wide and losses are above what was expected, winning was bad news.
 */
import { dayOf } from '../domain/clock.ts';
import { type EpochMs, noRivalCell, type RateHundredths, type RequestId } from '../domain/glossary.ts';
import type { Offer } from '../domain/offer.ts';
import { financeReleased, scheduleRows } from '../pricing/loan.ts';
import type { ChoiceInput } from '../pricing/mask.ts';
import { epochDayOf } from '../pricing/schedule.ts';
import { lossMultiplier, lossShare } from '../pricing/value.ts';
import { type BadLine, parseCsv } from '../rules/csv.ts';
import { type BookEconomics, bookEconomics, type Lesson, lessonOf } from './book-economics.ts';

/** `not-started`: no instalment ever came. `default`: it ended with money outstanding. Both count as ended from then on. */
const statuses = ['current', 'late', 'default', 'not-started', 'settled'] as const;
type LoanStatus = (typeof statuses)[number];

/** `YYYY-MM`. */
type Month = string;
export type Observation = {
  line: number;
  requestId: RequestId;
  month: Month;
  status: LoanStatus;
  /** What had come back by then of a loan that ended; null: not told. */
  recoveredCents: number | null;
};

/** `column`: which cell of the line, from 1 on. */
export type BadCell = BadLine & { column: number };

const reaisShape = /^\d{1,12}(?:[.,]\d{1,2})?$/;

const monthShape = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/** Rows of request id, month, status and, where a loan ended, reais recovered by then; with or without a heading. */
export function readPerformance(text: string): { observations: Observation[]; bad: BadCell[] } {
  const { rows, bad } = parseCsv(text);
  const faults: BadCell[] = bad.map((fault) => ({ ...fault, column: 1 }));
  const observations: Observation[] = [];
  const seen = new Map<string, number>();
  for (const [index, { line, cells }] of rows.entries()) {
    const [requestId = '', month = '', given = '', recovered = ''] = cells;
    if (index === 0 && !/\d/.test(cells.join(''))) continue;
    const status = statuses.find((known) => known === given.toLowerCase());
    const before = seen.get(`${requestId}/${month}`);
    const fault = (column: number, text: string) => faults.push({ line, column, text });
    if (cells.length !== 3 && cells.length !== 4)
      fault(
        Math.min(cells.length, 5),
        `${cells.length} cells; write request id, month, status and, after an end, the reais recovered`,
      );
    else if (!/^\d{1,25}$/.test(requestId)) fault(1, 'the first cell is no request id; write its digits');
    else if (!monthShape.test(month)) fault(2, 'the second cell is no month; write it like 2026-11');
    else if (status === undefined) fault(3, `the third cell is no status; write one of ${statuses.join(', ')}`);
    else if (recovered !== '' && !reaisShape.test(recovered))
      fault(4, 'the fourth cell is no amount; write the reais recovered by then, like 1234.56');
    else if (recovered !== '' && status !== 'default' && status !== 'not-started')
      fault(4, 'only a loan that ended recovers; leave the fourth cell empty, or write default or not-started');
    else if (before !== undefined) fault(1, `this request and month stand on line ${before} already`);
    else {
      seen.set(`${requestId}/${month}`, line);
      const recoveredCents = recovered === '' ? null : Math.round(Number(recovered.replace(',', '.')) * 100);
      observations.push({ line, requestId, month, status, recoveredCents });
    }
  }
  if (rows.length === 0 && faults.length === 0)
    faults.push({ line: 1, column: 1, text: 'the file is empty; write request id, month and status, a line each' });
  return { observations, bad: faults };
}

/** A bid of ours that won, with what its decision believed. */
export type Loan = {
  requestId: RequestId;
  decidedAt: EpochMs;
  offer: Offer;
  asked: ChoiceInput;
  segmentKeys: readonly string[];
  /** Rate of the best rival less ours; null: nobody else bid. */
  gapHundredths: RateHundredths | null;
  observations: readonly Observation[];
};

/** Rate of the best rival less ours. */
export function gapOf(rateHundredths: RateHundredths, rival: { cell: number } | null): RateHundredths | null {
  return rival === null || rival.cell >= noRivalCell ? null : rival.cell - rateHundredths;
}

export type LoanOutcome = {
  /** Instalments due until the last month that is known. */
  due: number;
  expectedEnded: number;
  ended: boolean;
  expectedLossCents: number;
  actualLossCents: number;
  end: 'default' | 'not-started' | 'settled' | null;
  /** Between due days that it lived through, and between the two in which it ended or was settled. */
  wholeMonths: number;
  endMonths: number;
  /** When it ended, and what had come back of that by the last month known; null: not told. */
  outstandingCents: number;
  recoveredCents: number | null;
  /** Interest of the instalments that were paid until the last month known. */
  interestCents: number;
  /** What the money that was out meanwhile cost, at the funding rate of the decision. */
  fundingCents: number;
};

function lastDayOf(month: Month): number {
  return (
    epochDayOf(`${month}-01`) +
    new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate() -
    1
  );
}

/**
 * Until the last month observed, or the month in which it was settled or ended. The same model as the value of the loan, without discounting:
 * at each due day the link may have ended since the one before, and what was outstanding is lost but for what is recovered. What really was
 * lost is what was outstanding when it ended, less what came back; where that is not told, at the share that was expected.
 */
export function outcomeOf({ decidedAt, offer, asked, observations }: Loan): LoanOutcome {
  const releaseDay = dayOf(decidedAt);
  const released = epochDayOf(releaseDay);
  const { tables, economics, curve, pledgedCents } = asked;
  const term = tables.terms(releaseDay, offer.installments);
  const terms = tables.loanTerms(term, offer.rateHundredths);
  const rows = scheduleRows(financeReleased(offer.amountCents, terms), terms);
  const share = lossShare(economics, pledgedCents, offer.financedCents);
  const multiplier = lossMultiplier(offer.rateHundredths, curve, economics);
  const ordered = observations.toSorted((left, right) => (left.month < right.month ? -1 : 1));
  const end = ordered.find(({ status }) => status === 'default' || status === 'not-started' || status === 'settled');
  const last = end ?? ordered.at(-1);
  const due = last === undefined ? 0 : rows.filter(({ dueDay }) => released + dueDay <= lastDayOf(last.month)).length;
  const outstanding = (paid: number) => (paid <= 0 ? offer.financedCents : (rows[paid - 1]?.balanceCents ?? 0));
  let before = 1;
  let expectedLossCents = 0;
  for (const [index, { dueDay }] of rows.slice(0, due).entries()) {
    const survival = (1 - economics.neverStartedShare) * (1 - economics.separationMonthly) ** ((12 * dueDay) / 365);
    expectedLossCents += (before - survival) * outstanding(index) * share * multiplier;
    before = survival;
  }
  const ended = end !== undefined && end.status !== 'settled';
  const paid = end?.status === 'not-started' ? 0 : Math.max(0, due - 1);
  const monthsAt = (index: number) =>
    (12 * (index < 0 ? 0 : (rows[Math.min(index, rows.length - 1)]?.dueDay ?? 0))) / 365;
  const whole = end === undefined ? due : Math.max(0, due - 1);
  const outstandingCents = ended ? outstanding(paid) : 0;
  // A later month says what had come back by then; the status of an ended loan is no news.
  const recoveredCents = ended
    ? (ordered.findLast((one) => one.recoveredCents !== null)?.recoveredCents ?? null)
    : null;
  const paidRows = ended ? paid : due;
  let interestCents = 0;
  let fundingCents = 0;
  for (const [index, { dueDay, interestCents: interest }] of rows.slice(0, due).entries()) {
    if (index < paidRows) interestCents += interest;
    const days = dueDay - (index === 0 ? 0 : rows[index - 1]!.dueDay);
    const isOut = index <= paidRows;
    if (isOut) fundingCents += outstanding(index) * ((1 + economics.fundingAnnualPercent / 100) ** (days / 365) - 1);
  }
  const lostCents = recoveredCents === null ? outstandingCents * share : Math.max(0, outstandingCents - recoveredCents);
  return {
    due,
    expectedEnded: 1 - before,
    ended,
    expectedLossCents,
    actualLossCents: lostCents,
    end: end === undefined ? null : (end.status as LoanOutcome['end']),
    wholeMonths: monthsAt(whole - 1),
    endMonths: end === undefined ? 0 : monthsAt(whole) - monthsAt(whole - 1),
    outstandingCents,
    recoveredCents,
    interestCents,
    fundingCents,
  };
}

export type PerformanceRow = {
  key: string;
  loans: number;
  releasedCents: number;
  expectedEnded: number;
  actualEnded: number;
  expectedLossCents: number;
  actualLossCents: number;
};

export type PerformanceReport = {
  total: PerformanceRow;
  vintages: readonly PerformanceRow[];
  segments: readonly PerformanceRow[];
  gaps: readonly PerformanceRow[];
  economics: BookEconomics;
};

/** The segment that says most of a loan, when it knows every fact of it and the newest decision names the same facts. */
function segmentsOf(loans: readonly Loan[]): (loan: Loan) => string | null {
  const factsOf = (key: string) => key.replaceAll(/=[^|]*/g, '');
  const special = (loan: Loan) => loan.segmentKeys.at(-1) ?? 'all';
  const newest = loans.reduce<Loan | null>(
    (last, loan) => (last === null || loan.decidedAt > last.decidedAt ? loan : last),
    null,
  );
  const facts = newest === null ? '' : factsOf(special(newest));
  return (loan) => {
    const key = special(loan);
    return key.includes('|') && !/=\?(?:\||$)/.test(key) && factsOf(key) === facts ? key : null;
  };
}

/** Upper bounds of the gap to the next bid, in hundredths of a percent. */
const gapBounds = [0, 5, 15, 50] as const;
const noRival = 'no-rival';

function gapKey(gap: RateHundredths | null): string {
  if (gap === null) return noRival;
  const place = gapBounds.findIndex((bound) => gap <= bound);
  if (place === 0) return '0';
  const below = gapBounds[place < 0 ? gapBounds.length - 1 : place - 1]! + 1;
  return place < 0 ? `${below}+` : `${below}-${gapBounds[place]}`;
}

/** Gap keys as they are listed. */
const gapOrder = [...gapBounds.map((bound) => gapKey(bound)), gapKey(gapBounds.at(-1)! + 1), noRival];

export function reportPerformance(loans: readonly Loan[]): PerformanceReport {
  const rows = { vintages: new Map(), segments: new Map(), gaps: new Map() } as Record<
    'vintages' | 'segments' | 'gaps',
    Map<string, PerformanceRow>
  >;
  const empty = (key: string): PerformanceRow => {
    const nothing = { expectedEnded: 0, actualEnded: 0, expectedLossCents: 0, actualLossCents: 0 };
    return { key, loans: 0, releasedCents: 0, ...nothing };
  };
  const total = empty('all');
  const segmentOf = segmentsOf(loans);
  const lessons: Lesson[] = [];
  for (const loan of loans) {
    const outcome = outcomeOf(loan);
    const { economics, pledgedCents } = loan.asked;
    const { separationMonthly, neverStartedShare, lossGivenSeparation, earlySettlementMonthly = 0 } = economics;
    const believed = { separationMonthly, neverStartedShare, lossGivenSeparation, earlySettlementMonthly };
    lessons.push(lessonOf(outcome, segmentOf(loan), pledgedCents, believed));
    const add = (row: PerformanceRow) => {
      row.loans += 1;
      row.releasedCents += loan.offer.amountCents;
      row.expectedEnded += outcome.expectedEnded;
      row.actualEnded += outcome.ended ? 1 : 0;
      row.expectedLossCents += outcome.expectedLossCents;
      row.actualLossCents += outcome.actualLossCents;
    };
    const rowOf = (own: Map<string, PerformanceRow>, key: string) => {
      const row = own.get(key) ?? empty(key);
      own.set(key, row);
      return row;
    };
    add(total);
    add(rowOf(rows.vintages, dayOf(loan.decidedAt).slice(0, 7)));
    add(rowOf(rows.gaps, gapKey(loan.gapHundredths)));
    for (const key of loan.segmentKeys) if (key.includes('|')) add(rowOf(rows.segments, key));
  }
  const byKey = (left: PerformanceRow, right: PerformanceRow) => (left.key < right.key ? -1 : 1);
  const closed = (own: Map<string, PerformanceRow>) => [...own.values()].map(rounded).sort(byKey);
  return {
    total: rounded(total),
    vintages: closed(rows.vintages),
    segments: closed(rows.segments),
    gaps: closed(rows.gaps).sort((left, right) => gapOrder.indexOf(left.key) - gapOrder.indexOf(right.key)),
    economics: bookEconomics(lessons),
  };
}

function rounded(row: PerformanceRow): PerformanceRow {
  const { expectedEnded, expectedLossCents, actualLossCents } = row;
  return {
    ...row,
    expectedEnded: Number(expectedEnded.toPrecision(9)),
    expectedLossCents: Math.round(expectedLossCents),
    actualLossCents: Math.round(actualLossCents),
  };
}
