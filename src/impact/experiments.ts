/** What experiments show: requests of treated workers beside those to compare with, and how sure the difference is. */
import type { Assignment } from '../rules/evaluate.ts';
import { bootstrap, type Interval } from './bootstrap.ts';

/** One request in one experiment. */
export type Trialled = Assignment & {
  batch: string;
  /** Null: passed. `win` null: the end of its auction is not known; then it earned nothing that is known. */
  bid: { win: number | null; profitCents: number } | null;
  /** The worker took the offer. */
  taken: boolean;
};

export type ArmReport = {
  requests: number;
  bids: number;
  judgedBids: number;
  wins: number;
  /** Given the published bids, by the economics without treatment: Σ win·a·V − bid cost. */
  profitCents: number;
  taken: number;
};

const armSums = ['requests', 'bids', 'judgedBids', 'wins', 'profitCents', 'taken'] as const;
const width = armSums.length;

export const experimentFigures = ['bidShare', 'winRate', 'profitPerRequestCents', 'takenShare'] as const;
export type ExperimentFigure = (typeof experimentFigures)[number];

export type ExperimentReport = {
  name: string;
  layer: string;
  treated: ArmReport;
  control: ArmReport;
  /** Treated less control; null where one of them has nothing to divide by. */
  difference: Readonly<Record<ExperimentFigure, { value: number | null } & Interval>>;
};

const parts: Readonly<Record<ExperimentFigure, readonly [over: keyof ArmReport, under: keyof ArmReport]>> = {
  bidShare: ['bids', 'requests'],
  winRate: ['wins', 'judgedBids'],
  profitPerRequestCents: ['profitCents', 'requests'],
  takenShare: ['taken', 'requests'],
};

export function figureOf(arm: ArmReport, name: ExperimentFigure): number | null {
  const [over, under] = parts[name];
  return arm[under] === 0 ? null : arm[over] / arm[under];
}

/** A draw without a single request in one of the arms counts that one as 0. */
function differenceOf(name: ExperimentFigure): (sums: Float64Array) => number {
  const [over, under] = parts[name].map((part) => armSums.indexOf(part)) as [number, number];
  const share = (sums: Float64Array, from: number) =>
    sums[from + under]! === 0 ? 0 : sums[from + over]! / sums[from + under]!;
  return (sums) => share(sums, 0) - share(sums, width);
}

function sumsOf({ bid, taken }: Trialled): number[] {
  const judged = bid !== null && bid.win !== null;
  return [1, bid === null ? 0 : 1, judged ? 1 : 0, bid?.win ?? 0, judged ? bid.profitCents : 0, taken ? 1 : 0];
}

function armOf(sums: Float64Array): ArmReport {
  const report = Object.fromEntries(armSums.map((name, place) => [name, sums[place]!])) as ArmReport;
  return { ...report, profitCents: Math.round(report.profitCents) + 0 };
}

export function reportExperiments(
  trialled: readonly Trialled[],
  options: { draws: number; seed: number },
): ExperimentReport[] {
  const names = [...new Set(trialled.map(({ layer, name }) => `${layer}/${name}`))].sort();
  const batches = new Map<string, number>();
  const rows = new Map<string, { batch: number; group: number; values: Float64Array }>();
  for (const one of trialled) {
    const batch = batches.get(one.batch) ?? batches.size;
    batches.set(one.batch, batch);
    const group = names.indexOf(`${one.layer}/${one.name}`);
    const key = `${batch}/${group}`;
    const row = rows.get(key) ?? { batch, group, values: new Float64Array(2 * width) };
    rows.set(key, row);
    const from = one.arm === 'treated' ? 0 : width;
    for (const [place, sum] of sumsOf(one).entries()) row.values[from + place]! += sum;
  }
  const all = [...rows.values()];
  const shape = { batches: batches.size, groups: names.length, width: 2 * width };
  const intervals = bootstrap(all, shape, experimentFigures.map(differenceOf), options);
  return names.map((full, group) => {
    const sums = new Float64Array(2 * width);
    for (const row of all) {
      if (row.group !== group) continue;
      for (let part = 0; part < sums.length; part += 1) sums[part]! += row.values[part]!;
    }
    const [treated, control] = [armOf(sums.subarray(0, width)), armOf(sums.subarray(width))];
    const difference = {} as Record<ExperimentFigure, { value: number | null } & Interval>;
    for (const [place, name] of experimentFigures.entries()) {
      const [one, other] = [figureOf(treated, name), figureOf(control, name)];
      difference[name] = { value: one === null || other === null ? null : one - other, ...intervals[group]![place]! };
    }
    const slash = full.indexOf('/');
    return { layer: full.slice(0, slash), name: full.slice(slash + 1), treated, control, difference };
  });
}
