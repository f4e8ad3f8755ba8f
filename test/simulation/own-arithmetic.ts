/** Instalments as the checker reckons them: Price table on actual days with IOF financed, nothing taken from `src/pricing`. */

const dayMs = 86_400_000;

/** Day in São Paulo, as days since 1970. */
export function dayNumber(at: number): number {
  return Math.floor((at - 3 * 3_600_000) / dayMs);
}

/** Due on the 7th, two months after the month whose window (to the 20th) the release falls into. */
function dueDays(releaseDay: number, installments: number): number[] {
  const release = new Date(releaseDay * dayMs);
  const first = release.getUTCMonth() + (release.getUTCDate() > 20 ? 3 : 2);
  return Array.from(
    { length: installments },
    (_, index) => Date.UTC(release.getUTCFullYear(), first + index, 7) / dayMs - releaseDay,
  );
}

/** Cents, not rounded. `rate` in hundredths of a percent a month. */
export function installmentOf(amountCents: number, rate: number, installments: number, releasedAt: number): number {
  const days = dueDays(dayNumber(releasedAt), installments);
  const annual = Math.round(((1 + rate / 10_000) ** 12 - 1) * 1e6) / 1e6;
  const factors = days.map((day) => (1 + annual) ** (-day / 365));
  const annuity = factors.reduce((sum, factor) => sum + factor, 0);
  // Tax on one cent financed: amortisations are what interest leaves of each instalment.
  let balance = 1;
  let before = 0;
  let tax = 0;
  for (const day of days) {
    const interest = balance * ((1 + annual) ** ((day - before) / 365) - 1);
    const principal = 1 / annuity - interest;
    balance -= principal;
    before = day;
    tax += principal * (0.000082 * Math.min(day, 365) + 0.0038);
  }
  return amountCents / (1 - tax) / annuity;
}
