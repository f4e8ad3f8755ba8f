/**
 * What samples of files with hard edges teach, less what their plain histogram does: shares of the surplus of somebody who
 * knows the distribution. Families to tune by and families held out, each with numbers drawn at random.
 */
import { measureLearning } from '../src/impact/learn.ts';
import { edgeFile, type Family, heldOut, tuned } from './edge-files.ts';
import { type Benchmark, rounded } from './figures.ts';
import { configOf, environmentOf, shippedRules } from './workload.ts';

const auctionsEach = 8_000;
const draws = 25;
/** A loss of less than this is none. */
const allowed = 0.001;

type Gain = { mean: number; least: number; belowAllowed: number; of: number };

function summarise(gains: readonly number[]): Gain {
  return {
    mean: rounded(gains.reduce((sum, gain) => sum + gain, 0) / gains.length, 4),
    least: rounded(Math.min(...gains), 4),
    belowAllowed: gains.filter((gain) => gain < -allowed).length,
    of: gains.length,
  };
}

/** `SEEDS`: files of each family. */
export const edges: Benchmark = {
  run: async (say) => {
    const places = { dataDir: 'unused', rulesDir: shippedRules, baseUrl: 'http://127.0.0.1:1' };
    const { winCurve } = configOf(environmentOf(places)).pricing;
    const seeds = Array.from({ length: Number(process.env.SEEDS ?? 4) }, (_, index) => 107 + 100 * index);
    const measure = (name: string, family: Family): Record<string, Gain> => {
      const gains = new Map<string, number[]>();
      for (const seed of seeds) {
        const options = { winCurve, draws, seed: 3 };
        const measured = measureLearning(edgeFile(family, seed, auctionsEach), options, () => undefined);
        for (const learning of Object.values(measured)) {
          for (const [size, { mean, histogramMean }] of Object.entries(learning)) {
            gains.set(size, [...(gains.get(size) ?? []), mean - histogramMean]);
          }
        }
      }
      const found = Object.fromEntries([...gains].map(([size, each]) => [size, summarise(each)]));
      const cells = Object.entries(found).map(
        ([size, { mean, least, belowAllowed, of }]) => `${size}: ${mean} (least ${least}; ${belowAllowed} of ${of})`,
      );
      say(`${name.padEnd(8)} ${cells.join('  ')}`);
      return found;
    };
    const all = (families: Readonly<Record<string, Family>>) =>
      Object.fromEntries(Object.entries(families).map(([name, family]) => [name, measure(name, family)]));
    say(`gain over the plain histogram by auctions seen (in brackets: the least, and how many below −${allowed})`);
    say('to tune by:');
    const toTuneBy = all(tuned);
    say('held out:');
    return { tuned: toTuneBy, heldOut: all(heldOut), seeds: seeds.length };
  },
};
