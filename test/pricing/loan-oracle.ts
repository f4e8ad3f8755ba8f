/**
 * Loan arithmetic a second time, in whole numbers of 40 decimals and code of its own: what `src/pricing/loan.ts` does with
 * floats is held against it. For whole hundredths of a percent and the tax of Decree 6.306/2007, art. 7.
 */
import type { DayCount } from '../../src/domain/policy.ts';

const one = 10n ** 40n;

/** Half-up, below zero too: long months of dear loans cost more interest than the instalment. */
function quotient(over: bigint, under: bigint): bigint {
  const twice = 2n * over + under;
  const rest = ((twice % (2n * under)) + 2n * under) % (2n * under);
  return (twice - rest) / (2n * under);
}

function times(left: bigint, right: bigint): bigint {
  return (left * right) / one;
}

function power(base: bigint, exponent: number): bigint {
  let result = one;
  for (let count = 0; count < exponent; count += 1) result = times(result, base);
  return result;
}

/** `root` of a number between 1 and 4, by Newton's steps. */
function rootOf(value: bigint, root: number): bigint {
  let guess = one;
  for (let step = 0; step < 200; step += 1) {
    const below = power(guess, root - 1);
    const moved = (value * one) / below - guess;
    guess += moved / BigInt(root);
    if (moved > -1_000n && moved < 1_000n) break;
  }
  return guess;
}

function growthOf(rateHundredths: number, dayCount: DayCount): bigint {
  const monthly = one + (BigInt(rateHundredths) * one) / 10_000n;
  if (dayCount === '30/360') return monthly;
  if (dayCount === 'calendar30') return rootOf(monthly, 30);
  const annual = quotient((BigInt(10_000 + rateHundredths) ** 12n - 10_000n ** 12n) * 1_000_000n, 10_000n ** 12n);
  // 365 = 5 · 73: two short roots instead of one long one.
  return rootOf(rootOf(one + (annual * one) / 1_000_000n, 5), 73);
}

export type OracleRow = { interestCents: number; principalCents: number; dailyCents: number; additionalCents: number };

export type OracleLoan = { financedCents: number; installmentCents: number; iofCents: number; rows: OracleRow[] };

export function oracleLoan(
  baseCents: number,
  terms: { rateHundredths: number; dueDays: readonly number[]; dayCount: DayCount; iofFinanced: boolean },
): OracleLoan {
  const { rateHundredths, dueDays, dayCount, iofFinanced } = terms;
  const unit = growthOf(rateHundredths, dayCount);
  const gaps = dueDays.map((day, index) => (dayCount === '30/360' ? 1 : day - (index === 0 ? 0 : dueDays[index - 1]!)));
  const growths = new Map(gaps.map((gap) => [gap, power(unit, gap)]));
  let worth = one;
  let annuity = 0n;
  for (const gap of gaps) {
    worth = (worth * one) / growths.get(gap)!;
    annuity += worth;
  }
  const lent = (financed: bigint): OracleLoan => {
    const installment = quotient(financed * one, annuity);
    const rows: OracleRow[] = [];
    let balance = financed;
    const additionalWhole = quotient(financed * 38n, 10_000n);
    let iof = additionalWhole;
    // Sums over the rows so far, as reckoned and as shown: what is shown is the highest that was reckoned, at least nothing.
    const reckoned = { daily: 0n, additional: 0n };
    const shown = { daily: 0n, additional: 0n };
    const raised = (kind: 'daily' | 'additional', tax: bigint, last: boolean, most: bigint | null): number => {
      reckoned[kind] += tax;
      const before = shown[kind];
      const higher = last || reckoned[kind] > before ? reckoned[kind] : before;
      shown[kind] = most !== null && (last || higher > most) ? most : higher;
      return Number(shown[kind] - before);
    };
    for (const [index, gap] of gaps.entries()) {
      const last = index === gaps.length - 1;
      const computed = quotient(balance * (growths.get(gap)! - one), one);
      const principal = last ? balance : installment - computed;
      const daily = quotient(principal * 82n * BigInt(Math.min(365, dueDays[index]!)), 1_000_000n);
      balance -= principal;
      iof += daily;
      rows.push({
        interestCents: Number(installment - principal),
        principalCents: Number(principal),
        dailyCents: raised('daily', daily, last, null),
        additionalCents: raised('additional', quotient(principal * 38n, 10_000n), last, additionalWhole),
      });
    }
    return { financedCents: Number(financed), installmentCents: Number(installment), iofCents: Number(iof), rows };
  };
  if (!iofFinanced) return lent(BigInt(baseCents));
  const spare = (loan: OracleLoan) => loan.financedCents - loan.iofCents - baseCents;
  let loan = lent(BigInt(baseCents));
  const tried: number[] = [];
  while (spare(loan) !== 0 && !tried.includes(loan.financedCents)) {
    tried.push(loan.financedCents);
    loan = lent(BigInt(baseCents + loan.iofCents));
  }
  if (spare(loan) === 0) return loan;
  while (spare(loan) < 0) loan = lent(BigInt(loan.financedCents + 1));
  for (;;) {
    const less = lent(BigInt(loan.financedCents - 1));
    if (spare(less) < 0) break;
    loan = less;
  }
  const surplus = spare(loan);
  loan.rows.at(-1)!.additionalCents += surplus;
  return { ...loan, iofCents: loan.iofCents + surplus };
}
