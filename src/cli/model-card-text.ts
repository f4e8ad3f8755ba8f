/** The model card as text, and the rows that its page shows too. */
import { maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';
import { printable } from '../domain/printable.ts';
import type { CardCalibration, CardWeight } from '../impact/model-card.ts';
import { wholeMarket } from '../rules/keys.ts';
import type { Format } from './format.ts';
import type { ShownCard } from './model-card.ts';
import { segmentText } from './rules-impact-text.ts';
import { tableText } from './terminal.ts';

/** Names of segments come from outside and may be of any length. */
const longestName = 26;
const widestName = 60;
const shownHash = 12;
const widestWeight = 48;
const textWidth = 78;
const hourMs = 3_600_000;

export type CardRows = readonly (readonly string[])[];

function shortName(text: string, most: number): string {
  const safe = printable(text).replaceAll('\n', ' ');
  return safe.length > most ? `${safe.slice(0, most - 1)}…` : safe;
}

/** Values without the names of their dimensions, so that segments can be told apart in a narrow column. */
function narrowName(key: string, format: Format): string {
  const values = key
    .split('|')
    .slice(1)
    .map((part) => part.replace(/^[^=]*=/, ''));
  return shortName(values.length === 0 ? format.texts.impact.all : values.join(' · '), longestName);
}

export function wideName(key: string, format: Format): string {
  return shortName(segmentText(key, format), widestName);
}

/** A duration in days from two days on, in hours from two hours on, else in minutes. */
export function ageText(ms: number, { texts, number }: Format): string {
  const hours = ms / hourMs;
  if (hours >= 48) return `${number(hours / 24)} ${texts.card.days}`;
  return hours >= 2
    ? `${number(hours)} ${texts.card.hours}`
    : `${number(Math.max(0, ms) / 60_000)} ${texts.card.minutes}`;
}

/** Bids, expected, observed, observed less expected with its interval. */
function calibrationCells(calibration: CardCalibration | null, format: Format): string[] {
  const { none } = format.texts;
  if (calibration === null) return ['0', none, none, none];
  const { bids, expected, observed, gapInterval } = calibration;
  const points = (share: number) => `${share > 0 ? '+' : ''}${format.number(100 * share, 1)}`;
  const interval = gapInterval === null ? none : `${points(gapInterval.low)} … ${points(gapInterval.high)}`;
  return [format.number(bids), format.share(expected), format.share(observed), interval];
}

/** Segment, auctions, then as `calibrationCells`. */
export function segmentRows({ segments }: Pick<ShownCard, 'segments'>, format: Format, nameOf = narrowName): CardRows {
  return segments.map(({ key, auctions, calibration }) => [
    key === null ? format.texts.card.others : nameOf(key, format),
    format.number(auctions),
    ...calibrationCells(calibration, format),
  ]);
}

export function binRows({ bins }: Pick<ShownCard, 'bins'>, format: Format): CardRows {
  return bins.map(({ from, to, calibration }) => [
    `${format.number(100 * from)}–${format.number(100 * to)} %`,
    ...calibrationCells(calibration, format),
  ]);
}

export function weightRows(weights: readonly CardWeight[], format: Format, most = widestWeight): CardRows {
  const percent = (share: number) => format.number(100 * share, 1);
  return weights.map(({ name, mean, low, high }) => [
    shortName(name === wholeMarket ? format.texts.impact.all : name.replace(/^all\|/, '').replaceAll('|', ' + '), most),
    format.share(mean),
    `${percent(low)} … ${percent(high)}`,
  ]);
}

export function dataRows({ data }: ShownCard, format: Format): CardRows {
  const { card, none } = format.texts;
  const { auctions, withoutRivals, learnt, oldestAt, newestAt, newestAgeMs, claims, placed } = data;
  return [
    [card.data.auctions, format.number(auctions)],
    [card.data.withoutRivals, format.number(withoutRivals)],
    [card.data.learnt, format.number(learnt)],
    [card.data.oldest, oldestAt === null ? none : format.minute(oldestAt)],
    [card.data.newest, newestAt === null ? none : format.minute(newestAt)],
    [card.data.age, newestAgeMs === null ? none : ageText(newestAgeMs, format)],
    [card.data.claims, format.number(claims)],
    [card.data.placed, format.number(placed)],
  ];
}

export function settingRows({ settings }: ShownCard, format: Format): CardRows {
  const { card } = format.texts;
  return [
    [card.bounds.rates, `${format.rate(minRateHundredths)} … ${format.rate(maxRateHundredths)}`],
    [card.bounds.halfLife, ageText(settings.halfLifeMs, format)],
    [card.bounds.priorWeight, format.number(settings.priorWeight, 1)],
    [card.bounds.shrinkage, format.number(settings.shrinkage, 1)],
    [card.bounds.smoothing, format.number(settings.smoothing, 2)],
    [card.bounds.minAmountShare, format.share(settings.minAmountShare)],
    [card.bounds.marginBuffer, format.money(settings.marginBufferCents)],
    [card.bounds.maxInstallments, format.number(settings.maxInstallments)],
  ];
}

export function changeRows({ settings, rules, operator, newestDecision }: ShownCard, format: Format): CardRows {
  const { card, none } = format.texts;
  const { activated } = rules;
  const matches = settings.matches === null ? none : settings.matches ? card.changes.same : card.changes.other;
  const operated =
    operator === null
      ? none
      : `${format.minute(operator.at)}, ${card.changes.kinds[operator.kind]}, ${shortName(operator.by, longestName)}`;
  return [
    [card.changes.decision, newestDecision === null ? none : format.minute(newestDecision.at)],
    [card.changes.rules, rules.hash?.slice(0, shownHash) ?? none],
    [
      card.changes.activated,
      activated === null
        ? none
        : `${format.minute(activated.at)}, ${activated.hash.slice(0, shownHash)}, ${shortName(activated.by ?? card.changes.folder, longestName)}`,
    ],
    [card.changes.settings, settings.hash.slice(0, shownHash)],
    [card.changes.matches, matches],
    [card.changes.operator, operated],
  ];
}

function wrapped(text: string): string {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1)!;
    if (last !== '' && last.length + word.length + 1 > textWidth) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.join('\n');
}

/** Fits a terminal of 80 columns. */
export function modelCardText(format: Format, shown: ShownCard): string {
  const { card } = format.texts;
  const { sections, headers } = card;
  const weights = [
    [headers.reading, shown.weights.readings] as const,
    [headers.part, shown.weights.parts] as const,
  ].flatMap(([header, rows]) =>
    rows.length === 0 ? [] : [tableText(header, weightRows(rows, format), { right: [1, 2] })],
  );
  return [
    card.title,
    `── ${sections.data}`,
    tableText(headers.fact, dataRows(shown, format), { right: [1] }),
    `── ${sections.weights}`,
    ...(weights.length === 0 ? [wrapped(card.nothingLearnt)] : weights),
    `── ${sections.calibration}`,
    wrapped(card.calibration),
    tableText(headers.segment, segmentRows(shown, format), { right: [1, 2, 3, 4, 5] }),
    tableText(headers.bin, binRows(shown, format), { right: [1, 2, 3, 4] }),
    `── ${sections.limits}`,
    ...card.limits.map((text) => wrapped(`· ${text}`)),
    tableText(headers.setting, settingRows(shown, format), { right: [1] }),
    `── ${sections.changes}`,
    tableText(headers.fact, changeRows(shown, format)),
  ].join('\n\n');
}
