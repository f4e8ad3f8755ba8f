/**
 * One HTML file that says everything by itself: prose, tables and plots with their data, the plotting library, style and
 * script inlined, nothing loaded from anywhere. For reports of the impact room. Pure: the same page gives the same bytes.
 */
import { escapeMarkup } from '../domain/markup.ts';

/** How figures of an axis are written: `share` 0 … 1 in percent, `rate` in hundredths of a percent, `money` in cents. */
export type PlotUnit = 'count' | 'number' | 'share' | 'rate' | 'money';

/** `range`: what is shown at least and at most; without one the data decide. */
type PlotAxis = { label: string; unit: PlotUnit; range?: readonly [low: number, high: number] };

/** A place in the palette, the same for one thing in every plot of a page; `ink` and `quiet` for what others are compared with. */
export type PlotTone = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 'ink' | 'quiet';

export type PlotSeries = {
  label: string;
  /** One for each x; null leaves a gap, but `points` are joined over it. */
  values: readonly (number | null)[];
  look: 'line' | 'thick' | 'thin' | 'dashed' | 'points' | 'bars' | 'area';
  tone: PlotTone;
};

export type Plot = {
  kind: 'plot';
  title: string;
  /** Ascending. */
  x: PlotAxis & { values: readonly number[] };
  y: PlotAxis;
  series: readonly PlotSeries[];
  /** Vertical lines with a word beside them. */
  marks?: readonly { at: number; label: string }[];
  /** Index of the x whose values the legend shows while nobody points at the plot; the last one when left out. */
  shown?: number;
  /** Half: two plots stand side by side where the screen is wide. */
  width?: 'full' | 'half';
};

export type PageTable = {
  kind: 'table';
  title: string;
  header: readonly string[];
  rows: readonly (readonly string[])[];
  /** Columns of figures, aligned to the right. */
  right: readonly number[];
  /** Rows that the eye should find first. */
  strong?: readonly number[];
  width?: 'full' | 'half';
};

export type PageSection = { title: string; text: string; items: readonly (Plot | PageTable)[] };

export type HtmlPage = {
  /** BCP 47; figures in plots are written the way it is done there. */
  language: string;
  title: string;
  lead: string;
  /** The few figures that one came for. A new line in a note stays one. */
  figures: readonly { label: string; value: string; note: string }[];
  sections: readonly PageSection[];
  /** Said where scripts are not allowed; tables and text are there all the same. */
  withoutScript: string;
};

/** Texts of files: the plotting library's script and style, and `page-plots.js` and `page.css` of this room. */
export type PageAssets = { libraryScript: string; libraryStyle: string; script: string; style: string };

const significantDigits = 6;

/** JSON that cannot end the element it stands in, nor open a comment there. */
function inlineJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

function rounded(values: readonly (number | null)[]): (number | null)[] {
  return values.map((value) =>
    value === null || !Number.isFinite(value) ? null : Number(value.toPrecision(significantDigits)),
  );
}

/** What the script in the page reads of a plot. */
export function plotData({ title, x, y, series, marks, shown }: Plot): unknown {
  return {
    title,
    x: { ...x, values: rounded(x.values) },
    y,
    series: series.map((one) => ({ ...one, values: rounded(one.values) })),
    marks: marks ?? [],
    shown: shown ?? x.values.length - 1,
  };
}

function tableHtml({ title, header, rows, right, strong }: PageTable): string {
  const cell = (name: string) => (text: string, column: number) =>
    `<${name}${right.includes(column) ? ' class="figure"' : ''}>${escapeMarkup(text)}</${name}>`;
  const lines = rows.map(
    (row, place) => `<tr${strong?.includes(place) ? ' class="strong"' : ''}>${row.map(cell('td')).join('')}</tr>`,
  );
  return [
    `<table>${title === '' ? '' : `<caption>${escapeMarkup(title)}</caption>`}`,
    `<thead><tr>${header.map(cell('th')).join('')}</tr></thead>`,
    `<tbody>${lines.join('\n')}</tbody></table>`,
  ].join('\n');
}

function sectionHtml({ title, text, items }: PageSection, plots: Plot[]): string {
  const parts = items.map((item) => {
    const width = item.width ?? 'full';
    if (item.kind === 'table') return `<div class="item ${width}">${tableHtml(item)}</div>`;
    plots.push(item);
    const heading = escapeMarkup(item.title);
    const plot = `<div class="plot" data-plot="${plots.length - 1}" role="img" aria-label="${heading}"></div>`;
    return `<figure class="item ${width}"><figcaption>${heading}</figcaption>${plot}</figure>`;
  });
  const prose = text === '' ? '' : `<p>${escapeMarkup(text)}</p>`;
  const heading = title === '' ? '' : `<h2>${escapeMarkup(title)}</h2>`;
  return `<section>${heading}${prose}<div class="items">${parts.join('\n')}</div></section>`;
}

export function htmlPage(page: HtmlPage, assets: PageAssets): string {
  const plots: Plot[] = [];
  const sections = page.sections.map((section) => sectionHtml(section, plots));
  const figures = page.figures.map(
    ({ label, value, note }) =>
      `<div><dt>${escapeMarkup(label)}</dt><dd>${escapeMarkup(value)}</dd><dd class="note">${escapeMarkup(note)}</dd></div>`,
  );
  // Nothing may be loaded, whatever a text in the data looks like.
  const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";
  return [
    '<!doctype html>',
    `<html lang="${escapeMarkup(page.language)}">`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<link rel="icon" href="data:,">',
    `<title>${escapeMarkup(page.title)}</title>`,
    `<style>${assets.libraryStyle}\n${assets.style}</style>`,
    '</head>',
    '<body>',
    `<header><h1>${escapeMarkup(page.title)}</h1><p>${escapeMarkup(page.lead)}</p></header>`,
    figures.length === 0 ? '' : `<dl class="figures">${figures.join('\n')}</dl>`,
    `<noscript><p class="fault">${escapeMarkup(page.withoutScript)}</p></noscript>`,
    `<main>${sections.join('\n')}</main>`,
    `<script type="application/json" id="plots">${inlineJson(plots.map(plotData))}</script>`,
    `<script>${assets.libraryScript}</script>`,
    `<script>${assets.script}</script>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}
