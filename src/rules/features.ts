/**
 * The features of a request that the additive readings look at: for each a fact, cut into levels, each level a column. A fact
 * that is absent is a level of its own: not to say something says something too.
 */
import { type Facts, type FactValue, sectors } from './facts.ts';

/** Ascending bounds of a number, each belonging to the part above; or the values of a text or a flag. */
type Feature = { fact: string } & ({ cuts: readonly number[] } | { values: readonly FactValue[] });

const features: readonly Feature[] = [
  { fact: 'desk.hour', cuts: [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22] },
  { fact: 'desk.weekday', cuts: [2, 3, 4, 5, 6, 7] },
  { fact: 'request.amountReais', cuts: [1_000, 2_000, 3_500, 5_000, 8_000, 12_000, 20_000] },
  { fact: 'request.installments', cuts: [9, 15, 21, 30, 42] },
  { fact: 'worker.ageYears', cuts: [25, 35, 45, 55] },
  { fact: 'worker.tenureMonths', cuts: [6, 12, 24, 36, 60, 120] },
  { fact: 'employer.ageMonths', cuts: [12, 36, 60, 120] },
  { fact: 'employer.sector', values: sectors },
  { fact: 'guarantee.present', values: [false, true] },
];

/** Levels beside that of an absent fact. */
function levelsOf(feature: Feature): number {
  return 'cuts' in feature ? feature.cuts.length + 1 : feature.values.length;
}

const starts: number[] = [];
let columns = 0;
for (const feature of features) {
  starts.push(columns);
  columns += levelsOf(feature) + 1;
}

/** Another name for other features: what was learnt of one list is nothing to another. */
export const requestFeatures: { name: string; columns: number } = { name: 'features-1', columns };

function levelOf(feature: Feature, value: FactValue | undefined): number {
  if ('values' in feature) return value === undefined ? 0 : feature.values.indexOf(value) + 1;
  if (typeof value !== 'number' || Number.isNaN(value)) return 0;
  let level = 1;
  for (const cut of feature.cuts) if (value >= cut) level += 1;
  return level;
}

/** The column of each feature's level, ascending. */
export function featureLevels(facts: Facts): readonly number[] {
  return features.map((feature, place) => starts[place]! + levelOf(feature, facts[feature.fact]));
}
