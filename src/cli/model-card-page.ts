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

const widestWeight = 100;
/** A bin with fewer is in the table only: its share would say little. */
const leastInBin = 10;

function table(header: readonly string[], rows: CardRows, right: readonly number[], title = ''): PageTable {
  return { kind: 'table', title, header, rows, right };
}

/** Won by expected, with the ends of the diagonal. */
function reliabilityPlot({ texts }: Format, { bins }: ShownCard): Plot {
  const { card } = texts;
  const found = new Map(
    bins.flatMap(({ calibration }) =>
      calibration === null || calibration.bids < leastInBin
        ? []
        : [[calibration.expected, calibration.observed] as const],
    ),
  );
  const commonest = bins.reduce((most, bin) =>
    (bin.calibration?.bids ?? 0) > (most.calibration?.bids ?? 0) ? bin : most,
  );
  const values = [...new Set([0, ...found.keys(), 1])].sort((left, right) => left - right);
  return {
    kind: 'plot',
    title: card.reliability,
    x: { label: card.axes.expected, unit: 'share', range: [0, 1], values },
    y: { label: card.axes.observed, unit: 'share', range: [0, 1] },
    series: [
      { label: card.fair, values, look: 'dashed', tone: 'ink' },
      { label: card.won, values: values.map((value) => found.get(value) ?? null), look: 'points', tone: 0 },
    ],
    shown: Math.max(0, values.indexOf(commonest.calibration?.expected ?? 1)),
  };
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
          reliabilityPlot(format, shown),
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
