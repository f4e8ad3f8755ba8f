/** A reliability diagram: share observed by probability predicted, with the diagonal that a calibrated prediction follows. */
import type { Plot, PlotTone } from '../impact/page.ts';

/** `count`: predictions in the bin. Null: there were none. */
type Bin = { count: number; predicted: number | null; observed: number | null };

/** The last curve is drawn on top, and the legend starts at its most frequent bin. Bins with fewer than `leastInBin` are left out. */
export function reliabilityPlot(
  texts: { title: string; predicted: string; observed: string; diagonal: string },
  curves: readonly { label: string; tone: PlotTone; bins: readonly Bin[] }[],
  leastInBin: number,
): Plot {
  const drawn = curves.map(({ label, tone, bins }) => {
    const known = bins.flatMap(({ predicted, observed, count }) =>
      predicted === null || count < leastInBin ? [] : [[predicted, observed] as const],
    );
    return { label, tone, observedAt: new Map(known) };
  });
  const places = drawn.flatMap(({ observedAt }) => [...observedAt.keys()]);
  const values = [...new Set([0, ...places, 1])].sort((left, right) => left - right);
  const commonest = curves.at(-1)!.bins.reduce((most, bin) => (bin.count > most.count ? bin : most));
  return {
    kind: 'plot',
    title: texts.title,
    x: { label: texts.predicted, unit: 'share', range: [0, 1], values },
    y: { label: texts.observed, unit: 'share', range: [0, 1] },
    series: [
      { label: texts.diagonal, values, look: 'dashed', tone: 'ink' },
      ...drawn.map(({ label, tone, observedAt }) => ({
        ...{ label, tone, look: 'points' as const },
        values: values.map((value) => observedAt.get(value) ?? null),
      })),
    ],
    shown: Math.max(0, values.indexOf(commonest.predicted ?? 1)),
  };
}
