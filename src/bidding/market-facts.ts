/**
 * Facts of how we fare in the auctions of a segment, all day and at this hour: how often we win, at which place our bids end, how many
 * auctions that is made from and how old these are. Sums that halve with time, one statistic a segment, folded like all that is learnt.
 *
 * An auction is counted where its decision looked at such facts. So a rule set that asks for none costs nothing, and records of earlier
 * versions give the rows that they gave.
 */
import { hourOfDay } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { type Addition, decayFactor, type Histogram, timeAlone } from '../domain/histogram.ts';
import type { DecisionTrace } from '../domain/offer.ts';
import type { RequestState } from '../domain/states.ts';
import { type LedgerFact, type MarketFact, marketFacts } from '../rules/facts.ts';
import { wholeMarket } from '../rules/keys.ts';
import type { Views } from './ports.ts';

/** Less than so many auctions, as they weigh now, say nothing. */
const leastAuctions = 20;

/** Places of the sums of one hour of the day; those of the next hour follow. */
const sums = { auctions: 0, won: 1, placed: 2, places: 3, minutes: 4 } as const;
const sumsAnHour = 5;
const hoursADay = 24;
const minuteMs = 60_000;

/** Segments are named by facts with few values: no key says whose request it is. */
function marketKeyOf(segmentKeys: readonly string[]): string {
  return `${marketKeyStart}${segmentKeys.at(-1) ?? wholeMarket}`;
}

/** What the keys of these statistics begin with. */
export const marketKeyStart = 'standing:market|';

function hourOf(at: EpochMs): number {
  return Math.floor(hourOfDay(at));
}

export function looksAtMarket(wanted: readonly LedgerFact[]): boolean {
  return wanted.some((fact) => isMarketFact(fact));
}

function isMarketFact(fact: LedgerFact): fact is MarketFact {
  return (marketFacts as readonly string[]).includes(fact);
}

/** Whether the decision looked at such facts; their number of auctions is then always among what it noted. */
export function hasMarketFacts({ ledger }: Pick<DecisionTrace, 'ledger'>): boolean {
  return ledger?.['market.auctions'] !== undefined;
}

/** What an auction of ours adds that ended at `at`, under which key. The hour is that of the claim, as rules see it. */
export function marketLesson(
  { claim, segmentKeys, auction }: RequestState,
  isWon: boolean,
  at: EpochMs,
): { key: string; additions: readonly Addition[] } | null {
  if (claim?.market !== true) return null;
  const first = hourOf(claim.at) * sumsAnHour;
  const additions: Addition[] = [
    [first + sums.auctions, 1],
    [first + sums.minutes, at / minuteMs],
  ];
  if (isWon) additions.push([first + sums.won, 1]);
  const position = auction?.position ?? null;
  if (position !== null) additions.push([first + sums.placed, 1], [first + sums.places, position]);
  return { key: marketKeyOf(segmentKeys), additions };
}

type Standing = { auctions: number; winRate?: number; position?: number; ageMinutes?: number };

/** `hours`: those that count. */
function standingOf(
  histogram: Histogram | undefined,
  hours: readonly number[],
  at: EpochMs,
  halfLifeMs: number,
): Standing {
  if (histogram === undefined) return { auctions: 0 };
  const factor = decayFactor(histogram, at, timeAlone(halfLifeMs));
  const sum = (place: number) =>
    hours.reduce((total, hour) => total + histogram.cells[hour * sumsAnHour + place]!, 0) * factor;
  const weight = sum(sums.auctions);
  const auctions = Math.round(weight);
  if (auctions < leastAuctions) return { auctions };
  const placed = sum(sums.placed);
  return {
    auctions,
    winRate: rounded(sum(sums.won) / weight),
    ...(Math.round(placed) >= leastAuctions && { position: rounded(sum(sums.places) / placed) }),
    ageMinutes: Math.max(0, Math.round(at / minuteMs - sum(sums.minutes) / weight)),
  };
}

/** The decision records them: no more digits than anybody compares. */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

const allHours = Array.from({ length: hoursADay }, (_, hour) => hour);

function factsFor(
  histogram: Histogram | undefined,
  at: EpochMs,
  halfLifeMs: number,
): Partial<Record<MarketFact, number>> {
  const day = standingOf(histogram, allHours, at, halfLifeMs);
  const hour = standingOf(histogram, [hourOf(at)], at, halfLifeMs);
  return Object.fromEntries(
    [
      ['market.auctions', day.auctions],
      ['market.winRate', day.winRate],
      ['market.position', day.position],
      ['market.ageMinutes', day.ageMinutes],
      ['market.hourAuctions', hour.auctions],
      ['market.hourWinRate', hour.winRate],
      ['market.hourPosition', hour.position],
      ['market.hourAgeMinutes', hour.ageMinutes],
    ].filter(([, value]) => value !== undefined),
  );
}

/**
 * The facts that rules look at (`wanted`), for the segment of each request in order; undefined where no rule looks at any, and for a null.
 * The number of auctions is always among them.
 */
export async function readMarketFacts(
  views: Pick<Views, 'statistics'>,
  wanted: readonly LedgerFact[],
  segments: readonly (readonly string[] | null)[],
  at: EpochMs,
  halfLifeMs: number,
): Promise<readonly (Readonly<Record<string, number>> | undefined)[]> {
  if (!looksAtMarket(wanted)) return segments.map(() => undefined);
  const keys = new Set(segments.flatMap((segment) => (segment === null ? [] : [marketKeyOf(segment)])));
  const statistics = await views.statistics([...keys]);
  return segments.map((segment) => {
    if (segment === null) return undefined;
    const known = factsFor(statistics.get(marketKeyOf(segment)), at, halfLifeMs);
    const told = marketFacts.filter((fact) => fact === 'market.auctions' || wanted.includes(fact));
    return Object.fromEntries(told.flatMap((fact) => (known[fact] === undefined ? [] : [[fact, known[fact]]])));
  });
}
