/** The page of `lance backtest`: what was earned, one decision, whether predictions held, what counted in the mixture. */
import { maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import type { Backtest } from '../impact/backtest.ts';
import type { Calibration } from '../impact/calibration.ts';
import type { HtmlPage, PageSection, Plot, PlotSeries, PlotTone } from '../impact/page.ts';
import { wholeMarket } from '../rules/keys.ts';
import type { Format } from './format.ts';
import { reliabilityPlot } from './reliability-plot.ts';

/** Close-ups leave out the first auctions, in which shares of little still jump about. */
const settledShare = 0.1;
/** A bin with fewer is in the table only: its share would say little. */
const leastInBin = 30;

const looks: Readonly<Record<string, { look: PlotSeries['look']; tone: PlotTone }>> = {
  desk: { look: 'thick', tone: 0 },
  market: { look: 'line', tone: 2 },
  'all/plain': { look: 'thin', tone: 3 },
  'all/narrow': { look: 'thin', tone: 4 },
  'all/wide': { look: 'thin', tone: 5 },
  'middle/plain': { look: 'dashed', tone: 0 },
  'middle/narrow': { look: 'dashed', tone: 1 },
  'middle/wide': { look: 'dashed', tone: 2 },
  'recent/plain': { look: 'dashed', tone: 3 },
  'recent/narrow': { look: 'dashed', tone: 4 },
  'recent/wide': { look: 'dashed', tone: 5 },
  histogram: { look: 'line', tone: 1 },
  'fixed-markup': { look: 'line', tone: 6 },
  clairvoyant: { look: 'dashed', tone: 'ink' },
};

export function shareText(format: Format, share: number): string {
  return `${format.number(share * 100, 2)} %`;
}

export function policyName(format: Format, { fixedMarkupHundredths }: Backtest, name: string): string {
  const { policies, fixedMarkup } = format.texts.backtest;
  if (name === 'fixed-markup') return fixedMarkup(format.points(fixedMarkupHundredths));
  return (policies as Readonly<Record<string, string>>)[name] ?? name;
}

/** `all|region|office` as people read it; what is no segment is left as it is. */
export function segmentName(key: string, whole: string): string {
  const [root, ...parts] = key.split('|');
  if (root !== wholeMarket) return key;
  return parts.length === 0 ? whole : parts.join(' + ');
}

export function scoreRows(format: Format, { calibration }: Backtest): string[][] {
  const { policies, constant } = format.texts.backtest;
  const { desk, histogram } = calibration;
  const row = (name: string, { brier, logScore }: { brier: number; logScore: number }, gap: string) => [
    name,
    format.number(brier, 4),
    format.number(logScore, 4),
    gap,
  ];
  return [
    row(policies.desk, desk, shareText(format, desk.meanGap)),
    row(policies.histogram, histogram, shareText(format, histogram.meanGap)),
    row(constant, desk.constant, ''),
  ];
}

/** Lowest and highest of what stands after the first tenth, with some room. */
function closeRange(rows: readonly (readonly number[])[]): readonly [number, number] {
  const settled = rows.flatMap((row) => row.slice(Math.floor(row.length * settledShare)));
  const [low, high] = [Math.min(...settled), Math.max(...settled)];
  const room = Math.max((high - low) * 0.08, 1e-4);
  return [low - room, high + room];
}

function surplusSection(format: Format, found: Backtest): PageSection {
  const { backtest } = format.texts;
  const { axes, sections } = backtest;
  const { auctions, surplusHundredths } = found.overTime;
  const best = surplusHundredths.at(-1)!;
  const names = found.policies.map(({ name }) => name);
  const shares = surplusHundredths.map((row) => row.map((value, place) => value / best[place]!));
  const seriesOf = (rows: readonly (readonly number[])[], without: readonly string[]): PlotSeries[] =>
    names.flatMap((name, place) =>
      without.includes(name) ? [] : [{ label: policyName(format, found, name), values: rows[place]!, ...looks[name]! }],
    );
  const close = shares.filter((_row, place) => names[place] !== 'fixed-markup');
  const x = { label: axes.auctions, unit: 'count', values: auctions } as const;
  const points = { label: axes.points, unit: 'number' } as const;
  const share = { label: axes.share, unit: 'share' } as const;
  const sum = (row: readonly number[]) => row.map((value) => value / 100);
  const gap = (row: readonly number[]) => row.map((value, place) => (value - best[place]!) / 100);
  const readings = names.filter((name) => name.includes('/'));
  return {
    title: sections.surplus.title,
    text: sections.surplus.text,
    items: [
      {
        kind: 'plot',
        title: sections.surplus.close,
        x,
        y: { ...share, range: closeRange(close) },
        series: seriesOf(shares, ['fixed-markup']),
      },
      { kind: 'plot', title: sections.surplus.share, x, y: share, series: seriesOf(shares, readings), width: 'half' },
      {
        kind: 'plot',
        title: sections.surplus.absolute,
        x,
        y: points,
        series: seriesOf(surplusHundredths.map(sum), readings),
        width: 'half',
      },
      {
        kind: 'plot',
        title: sections.surplus.gap,
        x,
        y: points,
        series: seriesOf(surplusHundredths.map(gap), ['fixed-markup']),
      },
      {
        kind: 'table',
        title: sections.surplus.table,
        header: backtest.header,
        rows: found.policies.map(({ name, surplusHundredths: earned, share: part, weight }) => [
          policyName(format, found, name),
          format.points(earned),
          shareText(format, part),
          weight === null ? '' : shareText(format, weight),
        ]),
        right: [1, 2, 3],
        strong: [0],
      },
    ],
  };
}

type Curve = Pick<PlotSeries, 'label' | 'look' | 'tone'> & { win: readonly number[] };

/** Values made of each curve, by rate. */
function curvePlot(
  curves: readonly Curve[],
  parts: Pick<Plot, 'title' | 'x' | 'y'> & {
    marks: NonNullable<Plot['marks']>;
    shownAt: number;
    valueAt: (win: readonly number[], cell: number) => number;
  },
): Plot {
  const { title, x, y, marks, shownAt, valueAt } = parts;
  const series = curves.map(({ label, look, tone, win }) => ({
    label,
    look,
    tone,
    values: x.values.map((cell) => valueAt(win, cell)),
  }));
  return { kind: 'plot', title, x, y, series, marks, shown: x.values.indexOf(shownAt), width: 'half' };
}

function choiceSection(format: Format, found: Backtest): PageSection {
  const { axes, sections, policies, wholeMarket } = format.texts.backtest;
  const { choice } = found;
  const { breakEvenHundredths: breakEven, rateHundredths: rate, hindsightRateHundredths: best, win } = choice;
  const texts = sections.choice;
  const curves: Curve[] = [
    { label: policies.histogram, win: win.histogram, look: 'line', tone: 1 },
    { label: policies.market, win: win.market, look: 'line', tone: 2 },
    { label: policies.desk, win: win.desk, look: 'thick', tone: 0 },
  ];
  if (win.hindsight !== null)
    curves.unshift({ label: texts.hindsight, win: win.hindsight, look: 'dashed', tone: 'ink' });
  const ratesFrom = (first: number) => ({
    label: axes.rate,
    unit: 'rate' as const,
    values: Array.from({ length: maxRateHundredths - first + 1 }, (_, index) => first + index),
  });
  const marks = [{ at: rate, label: texts.chosen(format.rate(rate)) }];
  if (best !== null && best !== rate) marks.push({ at: best, label: texts.best(format.rate(best)) });
  return {
    title: texts.title,
    text: texts.text({
      segment: segmentName(choice.segment, wholeMarket),
      auctions: format.number(choice.auctions),
      breakEven: format.rate(breakEven),
      rate: format.rate(rate),
      win: format.share(choice.winProbability),
      expected: format.points(choice.expectedHundredths),
    }),
    items: [
      curvePlot(curves, {
        title: texts.win,
        x: ratesFrom(minRateHundredths),
        y: { label: axes.probability, unit: 'share', range: [0, 1.02] },
        marks: [{ at: breakEven, label: texts.breakEven(format.rate(breakEven)) }, ...marks],
        shownAt: rate,
        valueAt: (curve, cell) => curve[cell]!,
      }),
      curvePlot(curves, {
        title: texts.value,
        x: ratesFrom(breakEven),
        y: { label: axes.value, unit: 'number' },
        marks,
        shownAt: rate,
        valueAt: (curve, cell) => ((cell - breakEven) * curve[cell]!) / 100,
      }),
    ],
  };
}

function commonestBin({ bins }: Calibration): Calibration['bins'][number] {
  return bins.reduce((most, bin) => (bin.count > most.count ? bin : most));
}

function calibrationSection(format: Format, found: Backtest): PageSection {
  const { backtest } = format.texts;
  const { axes, policies } = backtest;
  const texts = backtest.sections.calibration;
  const { desk, histogram } = found.calibration;
  const share = (value: number | null) => (value === null ? format.texts.none : format.share(value));
  return {
    title: texts.title,
    text: texts.text,
    items: [
      {
        ...reliabilityPlot(
          {
            title: texts.reliability,
            predicted: axes.predicted,
            observed: axes.observed,
            diagonal: texts.fair,
          },
          [
            { label: policies.histogram, tone: 1, bins: histogram.bins },
            { label: policies.desk, tone: 0, bins: desk.bins },
          ],
          leastInBin,
        ),
        width: 'half',
      },
      {
        kind: 'plot',
        title: texts.counts,
        x: { label: axes.predicted, unit: 'share', values: desk.bins.map(({ from, to }) => (from + to) / 2) },
        y: { label: axes.count, unit: 'count' },
        series: [
          { label: policies.desk, values: desk.bins.map(({ count }) => count), look: 'bars', tone: 0 },
          { label: policies.histogram, values: histogram.bins.map(({ count }) => count), look: 'points', tone: 1 },
        ],
        shown: desk.bins.indexOf(commonestBin(desk)),
        width: 'half',
      },
      {
        kind: 'table',
        title: texts.scores,
        header: backtest.scoreHeader,
        rows: scoreRows(format, found),
        right: [1, 2, 3],
        strong: [0],
      },
      {
        kind: 'table',
        title: texts.bins,
        header: backtest.binHeader,
        rows: desk.bins.map(({ from, to, count, predicted, observed }, bin) => [
          `${format.number(from * 100)}–${format.number(to * 100)} %`,
          share(predicted),
          share(observed),
          format.number(count),
          share(histogram.bins[bin]!.observed),
          format.number(histogram.bins[bin]!.count),
        ]),
        right: [1, 2, 3, 4, 5],
      },
    ],
  };
}

const segmentTones: readonly PlotTone[] = ['ink', 0, 1, 2, 3, 4, 5, 6, 7];

function weightsSection(format: Format, found: Backtest): PageSection {
  const { backtest } = format.texts;
  const { axes } = backtest;
  const texts = backtest.sections.weights;
  const x = { label: axes.auctions, unit: 'count', values: found.weights.auctions } as const;
  const y = { label: axes.weight, unit: 'share', range: [0, 1.02] } as const;
  const readings = found.policies.map(({ name }) => name).filter((name) => name.includes('/'));
  const nameOf = (key: string) => segmentName(key, backtest.wholeMarket);
  return {
    title: texts.title,
    text: texts.text,
    items: [
      {
        kind: 'plot',
        title: texts.readings,
        x,
        y,
        series: readings.map((name, place) => ({
          label: policyName(format, found, name),
          values: found.weights.readings[place]!,
          look: looks[name]!.look === 'thin' ? 'line' : 'dashed',
          tone: looks[name]!.tone,
        })),
        width: 'half',
      },
      {
        kind: 'plot',
        title: texts.segments,
        x,
        y,
        series: found.segments.map(({ name }, place) => ({
          label: nameOf(name),
          values: found.weights.segments[place]!,
          look: place < segmentTones.length ? 'line' : 'dashed',
          tone: segmentTones[place % segmentTones.length]!,
        })),
        width: 'half',
      },
      {
        kind: 'table',
        title: texts.table,
        header: backtest.segmentHeader,
        rows: found.segments.map(({ name, share, weight }) => [
          nameOf(name),
          shareText(format, share),
          shareText(format, weight),
        ]),
        right: [1, 2],
      },
    ],
  };
}

/** `source`: what was replayed, for the title. */
export function backtestPage(format: Format, found: Backtest, source: string): HtmlPage {
  const { backtest, page } = format.texts;
  const { tiles, breakEvens } = backtest;
  const shareOf = (name: string) => shareText(format, found.policies.find((policy) => policy.name === name)!.share);
  const { desk, histogram } = found.calibration;
  const { name, lowest, highest } = found.breakEven;
  const tile = (texts: readonly string[], value: string, figure = '') => ({
    label: texts[0]!,
    value,
    note: `${figure}${texts[1]!}`,
  });
  return {
    language: page.language,
    title: backtest.title(source),
    lead: backtest.lead({
      auctions: format.number(found.auctions),
      scored: format.number(found.scored),
      dimensions: found.dimensions.length === 0 ? backtest.noDimensions : found.dimensions.join(', '),
      breakEven: breakEvens[name],
      low: format.rate(lowest),
      high: format.rate(highest),
    }),
    figures: [
      tile(tiles.desk, shareOf('desk')),
      tile(tiles.histogram, shareOf('histogram')),
      tile(tiles.fixedMarkup, shareOf('fixed-markup')),
      tile(tiles.brier, format.number(desk.brier, 4), `${format.number(histogram.brier, 4)} `),
      tile(tiles.noRivals, shareText(format, found.withoutRivals / found.auctions)),
    ],
    sections: [
      surplusSection(format, found),
      choiceSection(format, found),
      calibrationSection(format, found),
      weightsSection(format, found),
    ],
    withoutScript: page.withoutScript,
  };
}
