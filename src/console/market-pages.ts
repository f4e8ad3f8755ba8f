/** The page of what the desk has learnt of its market, with plots; every figure of a plot stands in a table too. Pure. */
import { wonByExpected } from '../cli/model-card-page.ts';
import { ageText, binRows, segmentRows, weightRows, wideName } from '../cli/model-card-text.ts';
import type { Market, MarketRates } from '../impact/market.ts';
import type { Plot } from '../impact/page.ts';
import { type Html, html, outside } from './html.ts';
import { layout, type Shown, timeText } from './pages.ts';

const widestName = 80;
/** Bins with fewer are left out of the plot. */
const leastInBin = 10;

/** `right`: the columns from there on are figures. */
function figureTable(name: string, header: readonly string[], rows: readonly (readonly string[])[], right = 1): Html {
  const head = (text: string, column: number) =>
    html`<th scope="col" role="columnheader"${column >= right && html` class="number"`}>${text}</th>`;
  const cell = (text: string, column: number) =>
    column === 0
      ? html`<th scope="row" role="rowheader">${outside(text)}</th>`
      : html`<td role="cell"${column >= right && html` class="number"`} data-name="${header[column]!}">${text}</td>`;
  return html`<table class="cards" role="table" aria-label="${name}"><thead role="rowgroup"><tr role="row">${header.map(head)}</tr></thead><tbody role="rowgroup">${rows.map((row) => html`<tr role="row">${row.map(cell)}</tr>`)}</tbody></table>`;
}

export function marketPage(shown: Shown, market: Market): string {
  const { texts, format } = shown;
  const words = texts.market;
  const { card } = market;
  const { none } = format.texts;
  const whole = market.rates[0]!;
  const total = card.segments[0]?.calibration ?? null;
  const plots: Plot[] = [];
  const draw = (plot: Plot): Html => {
    plots.push(plot);
    return html`<figure class="panel"><figcaption>${plot.title}</figcaption><div class="plot" data-plot="${plots.length - 1}" role="img" aria-label="${plot.title}"></div></figure>`;
  };
  const behind = (table: Html) => html`<details><summary>${words.asTable}</summary>${table}</details>`;
  const figure = (label: string, value: string, note: string) =>
    html`<div><dt>${label}</dt><dd>${value}<span class="help">${note}</span></dd></div>`;
  const nothing = card.data.auctions === 0;
  const body = html`<h1>${words.title}</h1>
<p class="soft">${market.isCut ? words.leadCut(format.number(market.requests)) : words.lead(format.number(market.requests))} ${timeText(market.at, format)}.</p>
${nothing && html`<p class="notice">${words.noAuctions}</p>`}
<noscript><p class="help">${words.withoutScript}</p></noscript>
<dl class="figures">
${figure(words.auctions, format.number(card.data.auctions), words.learntCount(format.number(card.data.learnt)))}
${figure(words.age, card.data.newestAgeMs === null ? none : ageText(card.data.newestAgeMs, format), '')}
${figure(words.rivalMedian, whole.rivals === null ? none : format.rate(whole.rivals.median), words.ourMedian(rateText(whole.ours, shown)))}
${figure(words.won, total === null ? none : format.share(total.observed), words.expected(total === null ? none : format.share(total.expected)))}
</dl>
<section aria-labelledby="rates-title"><h2 id="rates-title">${words.rates}</h2><p class="soft">${words.ratesAbout}</p>
${
  market.groups.length > 1 &&
  html`${draw(ratesPlot(shown, market))}${behind(
    figureTable(
      words.overTime,
      [words.upTo, ...words.rateHeader],
      market.groups.map((group) => [format.number(group.to), ...rateCells(group, shown)]),
      0,
    ),
  )}`
}
${
  !nothing &&
  figureTable(
    words.rates,
    [words.segment, ...words.rateHeader],
    market.rates.map((each) => [segmentName(each.key, shown), ...rateCells(each, shown)]),
  )
}
</section>
<section aria-labelledby="place-title"><h2 id="place-title">${words.places}</h2>${placesBody(shown, market)}</section>
<section aria-labelledby="calibration-title"><h2 id="calibration-title">${words.calibration}</h2><p class="soft">${format.texts.card.calibration}</p>
${card.bins.some(({ calibration }) => (calibration?.bids ?? 0) >= leastInBin) && draw(wonByExpected(format, card))}
${figureTable(words.calibration, format.texts.card.headers.segment, segmentRows(card, format, wideName))}
${behind(figureTable(words.calibration, format.texts.card.headers.bin, binRows(card, format)))}
</section>
<section aria-labelledby="learnt-title"><h2 id="learnt-title">${words.learnt}</h2><p class="soft">${words.learntAbout}</p>
${learntBody()}
</section>
<section aria-labelledby="weights-title"><h2 id="weights-title">${words.weights}</h2>
${card.weights.readings.length === 0 ? html`<p class="soft">${format.texts.card.nothingLearnt}</p>` : weightsBody(shown, market)}
</section>
<p class="help">${words.more}</p><pre>lance model card --html model.html</pre>`;

  function learntBody(): Html {
    const { bars, withoutRivals } = market.learnt;
    if (bars.length === 0) return html`<p class="soft">${format.texts.card.nothingLearnt}</p>`;
    const rows = bars
      .filter(({ share }) => share > 0)
      .map(({ from, share }) => [format.rate(from), format.share(share)]);
    const plot: Plot = {
      ...{ kind: 'plot', title: words.learntPlot },
      x: { label: words.rate, unit: 'rate', values: bars.map(({ from }) => from) },
      y: { label: words.share, unit: 'share' },
      series: [{ label: words.share, values: bars.map(({ share }) => share), look: 'bars', tone: 0 }],
    };
    return html`<p>${words.withoutRivals}: ${format.share(withoutRivals)}</p>${bars.length > 1 && draw(plot)}${behind(figureTable(words.learnt, [words.from, words.share], rows))}`;
  }

  return layout(shown, { title: words.title, body, place: 'market', plots });
}

function segmentName(key: string | null, { format }: Shown): string {
  return key === null ? format.texts.card.others : wideName(key, format);
}

function rateText(rate: number | null, { format }: Shown): string {
  return rate === null ? format.texts.none : format.rate(rate);
}

/** Auctions, without rivals, the best rival's lower bound, median and upper bound, our median. */
function rateCells({ auctions, withoutRivals, rivals, ours }: MarketRates, shown: Shown): string[] {
  const { number } = shown.format;
  const rates = [rivals?.low ?? null, rivals?.median ?? null, rivals?.high ?? null, ours];
  return [number(auctions), number(withoutRivals), ...rates.map((rate) => rateText(rate, shown))];
}

function ratesPlot({ texts }: Shown, { groups }: Market): Plot {
  const words = texts.market;
  const of = (value: (group: Market['groups'][number]) => number | null) => groups.map(value);
  return {
    ...{ kind: 'plot', title: words.overTime },
    x: { label: words.upTo, unit: 'count', values: groups.map(({ to }) => to) },
    y: { label: words.rate, unit: 'rate' },
    series: [
      { label: words.low, values: of(({ rivals }) => rivals?.low ?? null), look: 'thin', tone: 'quiet' },
      { label: words.high, values: of(({ rivals }) => rivals?.high ?? null), look: 'thin', tone: 'quiet' },
      { label: words.rivalMedian, values: of(({ rivals }) => rivals?.median ?? null), look: 'line', tone: 1 },
      { label: words.ours, values: of(({ ours }) => ours), look: 'thick', tone: 0 },
    ],
  };
}

function placesBody({ texts, format }: Shown, { places, gaps }: Market): Html {
  const words = texts.market;
  const bids = places.reduce((sum, each) => sum + each.bids, 0);
  if (bids === 0) return html`<p class="soft">${words.noPlaces}</p>`;
  const last = places.at(-1)!.place;
  const rows = places.map(({ place, bids: count }) => [
    place === last ? words.fromPlace(String(place)) : String(place),
    format.number(count),
    format.share(count / bids),
  ]);
  const gap = (label: string, value: number | null) =>
    value !== null && html`<div><dt>${label}</dt><dd>${format.points(Math.abs(value))}</dd></div>`;
  return html`${figureTable(words.places, [words.place, words.bids, words.share], rows)}
<dl class="figures">${gap(words.gapWon, gaps.won)}${gap(words.gapLost, gaps.lost)}</dl>`;
}

function weightsBody({ texts, format }: Shown, { card }: Market): Html {
  const { headers, weights: about } = format.texts.card;
  const { readings, parts } = card.weights;
  const words = texts.market;
  const [byReading, byPart] = [weightRows(readings, format, widestName), weightRows(parts, format, widestName)];
  return html`<p class="soft">${about}</p>
<details><summary>${words.readings}</summary>${figureTable(words.readings, headers.reading, byReading)}</details>
<details><summary>${words.parts}</summary>${figureTable(words.parts, headers.part, byPart)}</details>`;
}
