/** An impact in tables, for the terminal. */
import type { ImpactReport } from '../impact/impact.ts';
import { type Compared, compared, type Difference, type Measures, type SegmentImpact } from '../impact/tally.ts';
import type { Format } from './format.ts';
import { tableText } from './terminal.ts';

const hashLength = 12;
const mostCauses = 20;
const mostSegments = 30;
const mostFlips = 20;

function isMoney(name: string): boolean {
  return name.endsWith('Cents');
}

export function measureText(name: Compared | 'peakExposureCents', value: number | null, format: Format): string {
  if (value === null) return format.texts.impact.none;
  if (isMoney(name)) return format.money(value);
  return name === 'winRate' ? format.share(value) : format.number(value, Number.isInteger(value) ? 0 : 1);
}

function signed(name: Compared, value: number | null, format: Format): string {
  const isRate = name === 'winRate' && value !== null;
  const text = isRate ? format.points(value * 10_000) : measureText(name, value, format);
  return `${value !== null && value > 0 ? '+' : ''}${text}`;
}

/** `all|guarantee.present=true|worker.tenureMonths=12-36` as people read it: the last word says it, but for `present`. */
export function segmentText(key: string, format: Format): string {
  const parts = key.split('|').slice(1);
  const short = (part: string) => part.replace(/^(\w+)\.present=/, '$1=').replace(/^[\w.]*\.(?=\w+=)/, '');
  return parts.length === 0 ? format.texts.impact.all : parts.map(short).join(' · ');
}

export function differenceTexts(name: Compared, { value, low, high }: Difference, format: Format): [string, string] {
  return [signed(name, value, format), `${signed(name, low, format)} … ${signed(name, high, format)}`];
}

/** Measure, current, candidate, difference, interval. */
export function totalRows(total: SegmentImpact, kind: ImpactReport['kind'], format: Format): string[][] {
  const { measures, none } = format.texts.impact;
  const rows = compared.map((name) => [
    measures[name],
    measureText(name, total.current[name], format),
    measureText(name, total.candidate[name], format),
    ...differenceTexts(name, total.difference[name], format),
  ]);
  const [was, is] = [total.current.peakExposureCents, total.candidate.peakExposureCents];
  const change = `${is > was ? '+' : ''}${format.money(is - was)}`;
  // In shadow the candidate reserves nothing: what it sees is the exposure of the current set.
  const own = kind === 'shadow' ? [none, none] : [format.money(is), change];
  rows.push([measures.peakExposureCents, format.money(was), ...own, none]);
  return rows;
}

function signedReais(cents: number | null, { texts, reais }: Format): string {
  return cents === null ? texts.impact.none : `${cents >= 50 ? '+' : ''}${reais(cents)}`;
}

export function segmentRow(segment: SegmentImpact, format: Format): string[] {
  const { key, requests, toPass, toBid, otherBid, current, candidate, difference } = segment;
  const { value, low, high } = difference.profitGivenBidsCents;
  return [
    segmentText(key, format),
    ...[requests, toPass, toBid, otherBid, current.bids, candidate.bids].map((count) => format.number(count)),
    measureText('winRate', current.winRate, format),
    measureText('winRate', candidate.winRate, format),
    signedReais(value, format),
    `${signedReais(low, format)} … ${signedReais(high, format)}`,
  ];
}

export function passRows({ current, candidate }: SegmentImpact, format: Format): string[][] {
  const codes = [...new Set([...Object.keys(current.passes), ...Object.keys(candidate.passes)])];
  const count = ({ passes }: Measures, code: string) => format.number(passes[code] ?? 0);
  return codes.map((code) => [code, count(current, code), count(candidate, code)]);
}

function causeNames(rules: readonly string[], caps: readonly string[] = [], { texts }: Format): string {
  return [...rules, ...caps.map(texts.impact.cap)].join(', ');
}

export function causeRows({ causes }: ImpactReport, format: Format): string[][] {
  const { turns, bid } = format.texts.impact;
  const word = (code: string) => (code === 'bid' ? bid : code);
  return causes.map(({ turn, from, to, rules, caps, count }) => [
    turns[turn],
    word(from),
    word(to),
    causeNames(rules, caps, format),
    format.number(count),
  ]);
}

/** The requests that turned, with the rules that turned them. */
export function flipRows({ flips }: ImpactReport, format: Format): string[][] {
  const { turns, bid } = format.texts.impact;
  const word = (code: string) => (code === 'bid' ? bid : code);
  return flips.map(({ requestId, segment, turn, from, to, rules, caps }) => [
    ...[requestId, segmentText(segment, format), turns[turn], word(from), word(to)],
    causeNames(rules, caps, format),
  ]);
}

export function capRowsText({ caps, kind }: ImpactReport, format: Format): string[][] {
  const { none } = format.texts.impact;
  return caps.map(({ name, current, candidate }) => [
    name,
    ...[current, kind === 'shadow' ? null : candidate].flatMap((peak) =>
      peak === null ? [none, none] : [format.share(peak.share), format.money(peak.amountCents)],
    ),
  ]);
}

/** What the report is about, in sentences. */
export function leadLines(report: ImpactReport, format: Format): string[] {
  const { impact } = format.texts;
  const total = report.segments[0]!;
  const count = (value: number) => format.number(value);
  const { requests, batches, from, to, judged, warmUp, repeated, current, candidate, linkNotOnRecord: apart } = report;
  const { reviews } = report;
  const when = (at: number | null) => (at === null ? impact.none : format.minute(at));
  return [
    impact.about(count(requests), count(batches), when(from), when(to)),
    impact.beside(count(judged), count(warmUp), count(repeated)),
    impact.sets(current.slice(0, hashLength), candidate.slice(0, hashLength)),
    ...(apart.requests === 0
      ? []
      : [impact.linkNotOnRecord(count(apart.requests), count(apart.current), count(apart.candidate))]),
    ...(reviews.current.asked + reviews.candidate.asked === 0
      ? []
      : [
          impact.reviews(
            ...[
              reviews.current.asked,
              reviews.current.answered,
              reviews.candidate.asked,
              reviews.candidate.answered,
            ].map(count),
          ),
        ]),
    impact.turned(count(total.toPass), count(total.toBid), count(total.otherBid)),
  ];
}

/** What is exact and what is not. */
export function caveats(report: ImpactReport, format: Format): string[] {
  const { impact } = format.texts;
  return [
    `${impact.exact} ${impact.tie}`,
    impact.notExact,
    `${impact.intervals(format.number(report.draws), String(report.seed))}`,
    ...(report.otherEconomics ? [impact.otherEconomics] : []),
    ...(report.kind === 'shadow' ? [impact.shadowNote] : []),
  ];
}

export function impactText(report: ImpactReport, format: Format): string {
  const { impact } = format.texts;
  const [total, ...segments] = report.segments;
  const parts = [leadLines(report, format).join('\n')];
  parts.push(tableText(impact.totalHeader, totalRows(total!, report.kind, format), { right: [1, 2, 3, 4] }));
  const causes = causeRows(report, format);
  if (causes.length > 0) parts.push(tableText(impact.causeHeader, causes.slice(0, mostCauses), { right: [4] }));
  else if (total!.otherBid === 0) parts.push(impact.same);
  if (causes.length > mostCauses) parts.push(impact.shown(format.number(mostCauses), format.number(causes.length)));
  const flips = flipRows(report, format);
  if (flips.length > 0) parts.push(tableText(impact.flipHeader, flips.slice(0, mostFlips)));
  if (flips.length > mostFlips) parts.push(impact.shown(format.number(mostFlips), format.number(flips.length)));
  parts.push(tableText(impact.passHeader, passRows(total!, format), { right: [1, 2] }));
  const shown = segments.slice(0, mostSegments);
  const right = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
  if (shown.length > 0)
    parts.push(
      tableText(
        impact.segmentHeader,
        shown.map((one) => segmentRow(one, format)),
        { right },
      ),
    );
  if (segments.length > shown.length) {
    parts.push(impact.shown(format.number(shown.length), format.number(segments.length)));
  }
  if (report.caps.length > 0)
    parts.push(tableText(impact.capHeader, capRowsText(report, format), { right: [1, 2, 3, 4] }));
  parts.push(caveats(report, format).join('\n'));
  return parts.join('\n\n');
}
