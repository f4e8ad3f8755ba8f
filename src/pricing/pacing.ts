/**
 * The price of a budget (λ of the design): cents of value that a cent of expected release must bring. What each recent
 * request would have held of the budget at every price of a grid says what is left of the day will; the price is the
 * least at which that fits what is left of the budget. Solved again and again, this is the re-solving heuristic of
 * revenue management (Jasin and Kumar, "A Re-Solving Heuristic with Bounded Revenue Loss", 2012).
 */

const pricesAboveZero = 48;
const leastPrice = 0.0005;
const growth = 1.16;

/** Ascending from 0; the highest, some 0.54, is more than any loan of the programme earns. */
export const budgetPrices = Float64Array.from({ length: pricesAboveZero + 1 }, (_, index) =>
  index === 0 ? 0 : leastPrice * growth ** (index - 1),
);

/**
 * The least price at which demand fits, linear between the prices of the grid. `demand` by price as `holdAtPrices` adds
 * up; where it rises with the price, by chance, the lower demand counts from there on.
 */
export function priceThatFits(demand: Float64Array, available: number): number {
  let before = demand[0]!;
  if (before <= available) return 0;
  for (let index = 1; index < demand.length; index += 1) {
    const here = Math.min(before, demand[index]!);
    if (here <= available) {
      const share = (before - available) / (before - here);
      const low = budgetPrices[index - 1]!;
      return low + share * (budgetPrices[index]! - low);
    }
    before = here;
  }
  return budgetPrices.at(-1)!;
}
