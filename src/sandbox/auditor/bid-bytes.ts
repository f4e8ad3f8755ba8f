/** What the bytes of a bid say, read without the partner's code: the contract's names, exact to the cent and the hundredth. */
import type { AmountCents, EpochMs } from '../../domain/glossary.ts';
import { fromWallClock } from '../../wire/local-time.ts';

export type BidBytes = {
  /** Not rounded: 331.5 is off the grid. */
  rateHundredths: number;
  amountCents: AmountCents;
  installments: number;
  validUntil: EpochMs;
};

/** Null when the bytes are not a bid that the contract knows. */
export function readBidBytes(body: string): BidBytes | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null) return null;
  const fields = parsed as Record<string, unknown>;
  const { valorTaxaMensal: rate, valorLiberado: amount, numeroParcelas: installments } = fields;
  const validUntil = wallClockOf(fields.dataHoraValidadeLance);
  if (typeof rate !== 'number' || typeof amount !== 'number' || typeof installments !== 'number') return null;
  if (validUntil === null) return null;
  return { rateHundredths: tidied(rate * 100), amountCents: tidied(amount * 100), installments, validUntil };
}

/** Takes off what binary fractions add: 3.32 · 100 is 331.99999999999994. */
function tidied(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

function wallClockOf(value: unknown): EpochMs | null {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$/.test(value)) return null;
  const wall = Date.parse(`${value}Z`);
  return Number.isNaN(wall) ? null : fromWallClock(wall);
}
