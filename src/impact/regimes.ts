/**
 * How fast the desk follows rivals that change: the auctions of a file in drawn orders, their rates shifted by so much in
 * each of as many equal stretches. The clairvoyant knows the distribution of each stretch.
 */
import { maxRateHundredths, minRateHundredths, noRivalCell } from '../domain/glossary.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import { chanceOf } from './chance.ts';
import { type BreakEven, breakEvenNames, firstScored, measureLive } from './learn.ts';
import type { RecordedAuction } from './recorded-auctions.ts';

const orders = 10;

/** Means over the orders, as shares of what the clairvoyant earns. */
export type RegimeReport = {
  shiftsHundredths: readonly number[];
  orders: number;
  breakEven: Record<BreakEven, { live: number; histogramLive: number }>;
};

function shuffled<T>(values: readonly T[], chance: () => number): T[] {
  const order = [...values];
  for (let place = order.length - 1; place > 0; place -= 1) {
    const other = Math.floor(chance() * (place + 1));
    [order[place], order[other]] = [order[other]!, order[place]!];
  }
  return order;
}

/** Shifted rates stay on the grid; nobody's bid stays nobody's. */
function shiftedBy(auction: RecordedAuction, shiftHundredths: number): RecordedAuction {
  const { bestRivalCell } = auction;
  if (bestRivalCell === noRivalCell) return auction;
  const moved = Math.min(maxRateHundredths, Math.max(minRateHundredths, bestRivalCell + shiftHundredths));
  return { ...auction, bestRivalCell: moved };
}

/** `onProgress` hears of each order measured. Synchronous, some 30 seconds for 10⁴ auctions. */
export function measureRegimes(
  auctions: readonly RecordedAuction[],
  shiftsHundredths: readonly number[],
  options: { winCurve: PricingSettings['winCurve']; seed: number },
  onProgress: (done: number, of: number) => void,
): RegimeReport {
  const stretch = auctions.length / shiftsHundredths.length;
  const bounds = shiftsHundredths.slice(1).map((_shift, place) => Math.ceil((place + 1) * stretch));
  const regimeAt = (index: number) => bounds.filter((bound) => bound <= index).length;
  const breakEven = {} as RegimeReport['breakEven'];
  for (const name of breakEvenNames) breakEven[name] = { live: 0, histogramLive: 0 };
  for (let order = 0; order < orders; order += 1) {
    onProgress(order, orders);
    const drawn = shuffled(auctions, chanceOf(options.seed + order));
    const played = drawn.map((auction, index) => shiftedBy(auction, shiftsHundredths[regimeAt(index)]!));
    for (const name of breakEvenNames) {
      const run = { from: firstScored, dimensions: [], bounds };
      const { policy, histogram } = measureLive(played, name, options, run);
      breakEven[name].live += policy / orders;
      breakEven[name].histogramLive += histogram / orders;
    }
  }
  onProgress(orders, orders);
  return { shiftsHundredths, orders, breakEven };
}
