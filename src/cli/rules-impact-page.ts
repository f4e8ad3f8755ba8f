/** An impact as one HTML page with plots. */
import type { ImpactReport } from '../impact/impact.ts';
import type { HtmlPage, PageSection, PageTable, Plot, PlotUnit } from '../impact/page.ts';
import type { Compared, SegmentImpact } from '../impact/tally.ts';
import type { Format } from './format.ts';
import {
  capRowsText,
  causeRows,
  caveats,
  differenceTexts,
  flipRows,
  leadLines,
  measureText,
  passRows,
  segmentRow,
  segmentText,
  totalRows,
} from './rules-impact-text.ts';

const mostFlips = 60;
const hourMs = 3_600_000;
const headline: readonly Compared[] = ['profitGivenBidsCents', 'expectedProfitCents', 'wins', 'bids'];

/** A sum that no line break falls into. */
function whole(text: string): string {
  return text.replaceAll(/(?<=[^…]) (?=[^…])/g, '\u00a0').replaceAll('-', '\u2212');
}

function figuresOf(total: SegmentImpact, format: Format): HtmlPage['figures'] {
  const { impact } = format.texts;
  return headline.map((name) => {
    const [value, interval] = differenceTexts(name, total.difference[name], format);
    const was = measureText(name, total.current[name], format);
    const is = measureText(name, total.candidate[name], format);
    const note = `${whole(was)} → ${whole(is)}\n${impact.totalHeader[4]!}: ${whole(interval)}`;
    return { label: `Δ ${impact.measures[name]}`, value: whole(value), note };
  });
}

function pairPlot(
  title: string,
  x: Plot['x'],
  y: { label: string; unit: PlotUnit },
  [current, candidate]: readonly [readonly number[], readonly number[]],
  format: Format,
): Plot {
  const { impact } = format.texts;
  return {
    kind: 'plot',
    title,
    x,
    y,
    series: [
      { label: impact.current, values: current, look: 'line', tone: 'quiet' },
      { label: impact.candidate, values: candidate, look: 'thick', tone: 0 },
    ],
    width: 'half',
  };
}

function plotsOf({ series }: ImpactReport, format: Format): Plot[] {
  const { impact } = format.texts;
  const { plots } = impact;
  const first = series.at[0] ?? 0;
  const hours = { label: plots.hours, unit: 'number' as const, values: series.at.map((at) => (at - first) / hourMs) };
  const money = { label: '', unit: 'money' as const };
  const [was, is] = series.profitCents;
  const difference: Plot = {
    kind: 'plot',
    title: plots.difference,
    x: hours,
    y: money,
    series: [
      { label: impact.difference, values: is.map((cents, index) => cents - was[index]!), look: 'area', tone: 0 },
    ],
    width: 'half',
  };
  const rates = { label: plots.rate, unit: 'rate' as const, values: series.rates };
  return [
    pairPlot(plots.profit, hours, money, series.profitCents, format),
    difference,
    pairPlot(plots.exposure, hours, money, series.exposureCents, format),
    pairPlot(plots.rates, rates, { label: plots.bids, unit: 'count' }, series.bids, format),
  ];
}

function table(title: string, header: readonly string[], rows: string[][], right: readonly number[]): PageTable {
  return { kind: 'table', title, header, rows, right };
}

function longRow({ key, current, candidate }: SegmentImpact, format: Format): string[] {
  const names = ['volumeCents', 'expectedProfitCents', 'profitGivenBidsCents', 'peakExposureCents'] as const;
  return [
    segmentText(key, format),
    ...names.flatMap((name) => [format.reais(current[name]), format.reais(candidate[name])]),
  ];
}

function whySection(report: ImpactReport, format: Format): PageSection {
  const { impact } = format.texts;
  const total = report.segments[0]!;
  const isSame = report.flips.length === 0 && total.otherBid === 0;
  const items: PageTable[] = [
    table('', impact.causeHeader, causeRows(report, format), [4]),
    table('', impact.passHeader, passRows(total, format), [1, 2]),
  ];
  return { title: impact.sections.why, text: isSame ? impact.same : '', items };
}

function flipSections(report: ImpactReport, format: Format): PageSection[] {
  const { impact } = format.texts;
  const { sections, flipHeader } = impact;
  const rows = flipRows(report, format).slice(0, mostFlips);
  if (rows.length === 0) return [];
  const shown = impact.shown(format.number(rows.length), format.number(report.flips.length));
  return [{ title: sections.flips, text: shown, items: [table('', flipHeader, rows, [])] }];
}

export function impactPage(report: ImpactReport, format: Format): HtmlPage {
  const { impact, page } = format.texts;
  const { sections } = impact;
  const total = report.segments[0]!;
  const shown = report.segments;
  const right = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  return {
    language: page.language,
    title: report.kind === 'shadow' ? impact.shadowTitle : impact.title,
    lead: leadLines(report, format).join(' '),
    figures: figuresOf(total, format),
    sections: [
      {
        title: sections.total,
        text: '',
        items: [table('', impact.totalHeader, totalRows(total, report.kind, format), [1, 2, 3, 4])],
      },
      ...caveats(report, format).map((text, place) => ({
        title: [sections.exact, sections.notExact, sections.sure][place] ?? '',
        text,
        items: [],
      })),
      { title: sections.money, text: '', items: plotsOf(report, format) },
      whySection(report, format),
      {
        title: sections.segments,
        text: '',
        items: [
          {
            ...table(
              '',
              impact.segmentHeader,
              shown.map((one) => segmentRow(one, format)),
              right,
            ),
            strong: [0],
          },
          {
            ...table(
              '',
              impact.longHeader,
              shown.map((one) => longRow(one, format)),
              right.slice(0, 8),
            ),
            strong: [0],
          },
        ],
      },
      {
        title: sections.caps,
        text: '',
        items: [table('', impact.capHeader, capRowsText(report, format), [1, 2, 3, 4])],
      },
      ...flipSections(report, format),
    ],
    withoutScript: page.withoutScript,
  };
}
