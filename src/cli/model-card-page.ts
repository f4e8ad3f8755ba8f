/** The page of `lance model card`. */
import type { HtmlPage, PageTable, Plot } from '../impact/page.ts';
import type { Format } from './format.ts';
import type { ShownCard } from './model-card.ts';
import {
  ageText,
  binRows,
  type CardRows,
  changeRows,
  dataRows,
  segmentRows,
  settingRows,
  weightRows,
  wideName,
} from './model-card-text.ts';
import { reliabilityPlot } from './reliability-plot.ts';

const widestWeight = 100;
/** A bin with fewer is in the table only: its share would say little. */
const leastInBin = 10;

function table(header: readonly string[], rows: CardRows, right: readonly number[], title = ''): PageTable {
  return { kind: 'table', title, header, rows, right };
}

export function wonByExpected({ texts }: Format, { bins }: Pick<ShownCard, 'bins'>): Plot {
  const { card } = texts;
  const points = bins.map(({ calibration }) => ({
    count: calibration?.bids ?? 0,
    predicted: calibration?.expected ?? null,
    observed: calibration?.observed ?? null,
  }));
  return reliabilityPlot(
    { title: card.reliability, predicted: card.axes.expected, observed: card.axes.observed, diagonal: card.fair },
    [{ label: card.won, tone: 0, bins: points }],
    leastInBin,
  );
}

export function modelCardPage(format: Format, shown: ShownCard): HtmlPage {
  const { card, page, none } = format.texts;
  const { sections, headers, tiles } = card;
  const { data, weights } = shown;
  const total = shown.segments[0]!.calibration;
  const [, expected = none, observed = none, gap = none] = binRows(
    { ...shown, bins: [{ from: 0, to: 1, calibration: total }] },
    format,
  )[0]!.slice(1);
  return {
    language: page.language,
    title: card.title,
    lead: card.lead(format.minute(shown.at)),
    figures: [
      { label: tiles.auctions, value: format.number(data.auctions), note: tiles.learnt(format.number(data.learnt)) },
      { label: tiles.age, value: data.newestAgeMs === null ? none : ageText(data.newestAgeMs, format), note: '' },
      { label: tiles.won, value: observed, note: tiles.expected(expected) },
      { label: tiles.gap, value: gap, note: tiles.interval },
    ],
    sections: [
      { title: sections.data, text: '', items: [table(headers.fact, dataRows(shown, format), [1])] },
      {
        title: sections.weights,
        text: weights.readings.length === 0 ? card.nothingLearnt : card.weights,
        items:
          weights.readings.length === 0
            ? []
            : [
                table(headers.reading, weightRows(weights.readings, format, widestWeight), [1, 2]),
                table(headers.part, weightRows(weights.parts, format, widestWeight), [1, 2]),
              ],
      },
      {
        title: sections.calibration,
        text: card.calibration,
        items: [
          wonByExpected(format, shown),
          { ...table(headers.segment, segmentRows(shown, format, wideName), [1, 2, 3, 4, 5]), strong: [0] },
          table(headers.bin, binRows(shown, format), [1, 2, 3, 4]),
        ],
      },
      ...card.limits.map((text, place) => ({ title: place === 0 ? sections.limits : '', text, items: [] })),
      { title: sections.bounds, text: '', items: [table(headers.setting, settingRows(shown, format), [1])] },
      { title: sections.changes, text: '', items: [table(headers.fact, changeRows(shown, format), [])] },
    ],
    withoutScript: page.withoutScript,
  };
}
