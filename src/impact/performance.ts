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

/** `not-started`: no instalment ever came. `default`: it ended with money outstanding. Both count as ended from then on. */
const statuses = ['current', 'late', 'default', 'not-started', 'settled'] as const;
type LoanStatus = (typeof statuses)[number];

/** `YYYY-MM`. */
type Month = string;
export type Observation = { line: number; requestId: RequestId; month: Month; status: LoanStatus };

const monthShape = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/** Rows of request id, month and status, with or without a heading. */
export function readPerformance(text: string): { observations: Observation[]; bad: BadLine[] } {
  const { rows, bad } = parseCsv(text);
  const faults: BadLine[] = [...bad];
  const observations: Observation[] = [];
  const seen = new Map<string, number>();
  for (const [index, { line, cells }] of rows.entries()) {
    const [requestId = '', month = '', given = ''] = cells;
    if (index === 0 && !/\d/.test(cells.join(''))) continue;
    const status = statuses.find((known) => known === given.toLowerCase());
    const before = seen.get(`${requestId}/${month}`);
    if (cells.length !== 3) faults.push({ line, text: `${cells.length} cells; write request id, month and status` });
    else if (!/^\d{1,25}$/.test(requestId))
      faults.push({ line, text: 'the first cell is no request id; write its digits' });
    else if (!monthShape.test(month)) faults.push({ line, text: 'the second cell is no month; write it like 2026-11' });
    else if (status === undefined)
      faults.push({ line, text: `the third cell is no status; write one of ${statuses.join(', ')}` });
    else if (before !== undefined)
      faults.push({ line, text: `this request and month stand on line ${before} already` });
    else {
      seen.set(`${requestId}/${month}`, line);
      observations.push({ line, requestId, month, status });
    }
  }
  if (rows.length === 0 && faults.length === 0)
    faults.push({ line: 1, text: 'the file is empty; write request id, month and status, a line each' });
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
 * lost is what was outstanding when it ended, at the same share: a status says when, not how much came back.
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
  return {
    due,
    expectedEnded: 1 - before,
    ended,
    expectedLossCents,
    actualLossCents: ended ? outstanding(paid) * share : 0,
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
};

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
  for (const loan of loans) {
    const outcome = outcomeOf(loan);
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
