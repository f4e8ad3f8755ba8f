/** The truth behind withdrawal-backed loans: who has which balance and birthday, what a year's transfer is, what it is worth today. */
import { dayOf } from '../domain/clock.ts';
import type { AmountCents, Day, EpochMs } from '../domain/glossary.ts';
import { chanceOf, integerIn } from './chance.ts';

export type Holder = { cpf: string; birthDate: Day; balanceCents: AmountCents };

/** Every CPF is somebody: drawn from the seed and the number alone, but for a day of birth that is known already. */
export function holderOf(seed: string, cpf: string, birthDate: Day | null = null): Holder {
  const chance = chanceOf(seed, 'holder', cpf);
  const two = (value: number) => String(value).padStart(2, '0');
  const madeUp: Day = `${integerIn(chance, 1962, 2004)}-${two(integerIn(chance, 1, 12))}-${two(integerIn(chance, 1, 28))}`;
  return {
    cpf,
    birthDate: birthDate ?? madeUp,
    balanceCents: integerIn(chance, 80_000, 3_000_000),
  };
}

export type Transfer = { onDay: Day; cents: AmountCents };

/** Yearly withdrawal: share of the balance and what is added, by the balance in reais (Law 8.036 of 1990, annex of article 20-D). */
const brackets: readonly (readonly [upTo: number, share: number, added: number])[] = [
  [500, 0.5, 0],
  [1_000, 0.4, 50],
  [5_000, 0.3, 150],
  [10_000, 0.2, 650],
  [15_000, 0.15, 1_150],
  [20_000, 0.1, 1_900],
  [Number.POSITIVE_INFINITY, 0.05, 2_900],
];

/** One transfer a year, on the first of the month of birth, until `most` or the balance is used up. */
export function transfersOf(balanceCents: AmountCents, birthMonth: number, now: EpochMs, most: number): Transfer[] {
  const today = dayOf(now);
  const month = String(birthMonth).padStart(2, '0');
  let year = Number(today.slice(0, 4));
  if (`${year}-${month}-01` <= today) year += 1;
  const transfers: Transfer[] = [];
  let left = balanceCents;
  while (transfers.length < most && left >= 100) {
    const [, share, added] = brackets.find(([upTo]) => left <= upTo * 100)!;
    const cents = Math.min(left, Math.round(left * share + added * 100));
    transfers.push({ onDay: `${year + transfers.length}-${month}-01`, cents });
    left -= cents;
  }
  return transfers;
}

export type Simulation = {
  /** How many transfers it uses. */
  period: number;
  releasedCents: AmountCents;
  financedCents: AmountCents;
  iofCents: AmountCents;
  additionalIofCents: AmountCents;
  interestCents: AmountCents;
  feeCents: AmountCents;
  transferCents: AmountCents;
  rows: readonly (Transfer & {
    principalCents: AmountCents;
    iofCents: AmountCents;
    additionalIofCents: AmountCents;
  })[];
};

export type SimulationTerms = {
  ratePercent: number;
  feeCents: AmountCents;
  /** Null: as much as the transfers carry. */
  amountCents: AmountCents | null;
};

function daysBetween(now: EpochMs, onDay: Day): number {
  return Math.max(1, Math.round((Date.parse(onDay) - Date.parse(dayOf(now))) / 86_400_000));
}

/** What the first `period` transfers are worth today: each discounted by its days, IOF and fee taken off. */
export function simulate(
  transfers: readonly Transfer[],
  period: number,
  terms: SimulationTerms,
  now: EpochMs,
): Simulation {
  const whole = rowsOf(transfers.slice(0, period), 1, terms, now);
  const most = releasedOf(whole, terms.feeCents);
  const { amountCents } = terms;
  const share = amountCents === null || most <= 0 ? 1 : (amountCents + terms.feeCents) / (most + terms.feeCents);
  const rows = share === 1 ? whole : rowsCrediting(amountCents!, transfers.slice(0, period), share, terms, now);
  const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + pick(row), 0);
  const financedCents = sum((row) => row.principalCents);
  const transferCents = sum((row) => row.cents);
  return {
    period,
    releasedCents: releasedOf(rows, terms.feeCents),
    financedCents,
    iofCents: sum((row) => row.iofCents),
    additionalIofCents: sum((row) => row.additionalIofCents),
    interestCents: transferCents - financedCents,
    feeCents: terms.feeCents,
    transferCents,
    rows,
  };
}

/** Tax in whole numbers, half a cent up: products of decimal fractions fall on the wrong side of the half. */
function dailyIofCents(principalCents: AmountCents, days: number): AmountCents {
  return Math.floor((principalCents * 82 * Math.min(days, 365) + 500_000) / 1_000_000);
}

function additionalIofCents(principalCents: AmountCents): AmountCents {
  return Math.floor((principalCents * 38 + 5_000) / 10_000);
}

/**
 * The additional IOF is rounded once, on the whole principal. Each row has what the principal up to it comes to beyond the rows before it,
 * which is never below nothing, and within a cent of its own tax.
 */
function rowsOf(
  transfers: readonly Transfer[],
  share: number,
  terms: SimulationTerms,
  now: EpochMs,
  /** Of the last transfer, beyond its share. */
  moreCents: AmountCents = 0,
) {
  let sumCents = 0;
  return transfers.map(({ onDay, cents }, index) => {
    const days = daysBetween(now, onDay);
    const isLast = index === transfers.length - 1;
    const used = Math.min(cents, Math.round(cents * share) + (isLast ? moreCents : 0));
    const principalCents = Math.round(used / (1 + terms.ratePercent / 100) ** (days / 30));
    const beforeCents = additionalIofCents(sumCents);
    sumCents += principalCents;
    return {
      onDay,
      cents: used,
      principalCents,
      iofCents: dailyIofCents(principalCents, days),
      additionalIofCents: additionalIofCents(sumCents) - beforeCents,
    };
  });
}

/** Each row rounds by itself: what all of them miss of the amount is taken from the last transfer, as long as that brings it nearer. */
function rowsCrediting(
  amountCents: AmountCents,
  transfers: readonly Transfer[],
  share: number,
  terms: SimulationTerms,
  now: EpochMs,
) {
  const missing = (rows: ReturnType<typeof rowsOf>) => amountCents - releasedOf(rows, terms.feeCents);
  let rows = rowsOf(transfers, share, terms, now);
  for (let moreCents = missing(rows); missing(rows) !== 0; moreCents += Math.sign(missing(rows))) {
    const moved = rowsOf(transfers, share, terms, now, moreCents);
    if (Math.abs(missing(moved)) >= Math.abs(missing(rows))) return rows;
    rows = moved;
  }
  return rows;
}

function releasedOf(rows: ReturnType<typeof rowsOf>, feeCents: AmountCents): AmountCents {
  return rows.reduce((sum, row) => sum + row.principalCents - row.iofCents - row.additionalIofCents, -feeCents);
}

/** What is owed of a transfer on a day: its principal with the days' interest, never more than the transfer before it is due. */
export function owedOn(
  row: Simulation['rows'][number],
  ratePercent: number,
  includedAt: EpochMs,
  asOf: Day,
): { balanceCents: AmountCents; fineCents: AmountCents; lateCents: AmountCents } {
  const daily = (1 + ratePercent / 100) ** (1 / 30);
  const due = daysBetween(includedAt, row.onDay);
  const days = Math.round((Date.parse(asOf) - Date.parse(dayOf(includedAt))) / 86_400_000);
  const lateDays = Math.max(0, days - due);
  const current = Math.round(row.principalCents * daily ** Math.max(0, Math.min(days, due)));
  const fineCents = lateDays > 0 ? Math.round(row.cents * 0.02) : 0;
  const lateCents = Math.round(row.cents * 0.00033 * lateDays);
  return { balanceCents: (lateDays > 0 ? row.cents : current) + fineCents + lateCents, fineCents, lateCents };
}
