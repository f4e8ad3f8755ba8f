/** Recorded auctions made for tests: round rates, a hard floor, two humps, and nothing of the kind. The same in every run. */
import { noRivalCell } from '../../src/domain/glossary.ts';
import type { RecordedAuction } from '../../src/impact/recorded-auctions.ts';

/** Uniform numbers in [0, 1) that are the same in every run (Park and Miller). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

type Chance = () => number;
const bell = (chance: Chance) => chance() + chance() + chance() + chance() - 2;

export type Kind = 'atoms' | 'floor' | 'bimodal' | 'smooth';

/** One rival's rate; customers of group 4 are quoted more than those of group 0. */
const rivalRate: Record<Kind, (group: number, chance: Chance) => number> = {
  atoms: (group, chance) => {
    const atoms = [149, 179, 199, 225, 249, 275, 299, 349];
    return chance() < 0.85 ? atoms[Math.min(7, Math.floor(chance() * 6 + group / 2))]! : 150 + 200 * chance();
  },
  floor: (group, chance) => Math.max(180, 215 + 12 * group + 70 * bell(chance)),
  bimodal: (group, chance) => (chance() < 0.25 ? 150 : 320) + 8 * group + 30 * bell(chance),
  smooth: (group, chance) => 260 + 12 * group + 140 * bell(chance),
};

export function auctionsOf(kind: Kind, count: number): RecordedAuction[] {
  const chance = seeded(7);
  return Array.from({ length: count }, () => {
    const group = Math.floor(chance() * 5);
    const rivals = chance() < 0.01 ? 0 : 1 + Math.floor(chance() * 4);
    const rates = Array.from({ length: rivals }, () => Math.round(rivalRate[kind](group, chance)));
    const bestRivalCell = Math.min(noRivalCell, ...rates.map((rate) => Math.max(2, Math.min(497, rate))));
    const segment = { group: String(group), noise: String(Math.floor(chance() * 4)) };
    return { segment, bestRivalCell, bestRivalOffGrid: false };
  });
}
