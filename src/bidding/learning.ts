/**
 * What an ended auction teaches, and where it is kept: a histogram of best rival rates for each segment and window, and
 * the scores of the policies that were on trial. Pure; the desk and the judge of `lance learn` go through the same functions.
 */
import type { EpochMs, RateHundredths } from '../domain/glossary.ts';
import { type Addition, cellIndex, type HalfLives, type Histogram, timeAlone } from '../domain/histogram.ts';
import type { Trial } from '../domain/offer.ts';
import {
  additiveReadings,
  driftAdditions,
  driftHalfLives,
  errorCell,
  type Layout,
  momentAdditions,
  momentStatistics,
  publishedAdditions,
  publishedHalfLives,
} from '../pricing/additive.ts';
import { readings, scoreHalfLives, scoreTrial, windows } from '../pricing/trial.ts';
import {
  buildWithReadings,
  type CurveWithReadings,
  type LearntCurve,
  type WinCurveInput,
} from '../pricing/win-curve.ts';
import type { DeskEvent } from './observer.ts';
import type { ViewChange } from './ports.ts';

/** Statistics of the first window stand under the segment's own key. */
function windowKey(segmentKey: string, place: number): string {
  return place === 0 ? segmentKey : `${segmentKey}~${windows[place]!.name}`;
}

/** A segment's key without its values: `all|employer.sector`. */
function dimensionsOf(segmentKey: string): string {
  return segmentKey.replaceAll(/=[^|]*/g, '');
}

type Keys = {
  /** By window, then by segment. */
  windows: readonly (readonly string[])[];
  /** Where scores are kept: for all requests with the same dimensions, and for the most special segment. */
  scores: readonly string[];
};

/** Lists of segment keys are shared among decisions: what stands under them is named once. */
const keysOfLists = new WeakMap<readonly string[], Keys>();

function keysOf(segmentKeys: readonly string[]): Keys {
  const known = keysOfLists.get(segmentKeys);
  if (known !== undefined) return known;
  const special = segmentKeys.at(-1) ?? '';
  const keys = {
    windows: windows.map((_window, place) => segmentKeys.map((key) => windowKey(key, place))),
    // Another name than that of an older program's, which tried other readings.
    scores: [...new Set([dimensionsOf(special), special])].map((key) => `${key}~scored`),
  };
  keysOfLists.set(segmentKeys, keys);
  return keys;
}

/** Where the additive readings keep what features teach. */
type AdditiveKeys = { moments: readonly string[]; drift: string; won: string; errors: readonly string[] };

/** The last ones: nearly every request has the same. Texts that stay are also found sooner than equal ones that were just made. */
let lastAdditive: { root: string; keys: AdditiveKeys } = { root: '', keys: newAdditiveKeys('', 0) };

function additiveKeysOf(segmentKeys: readonly string[], layout: string, statistics: number): AdditiveKeys {
  const root = `${segmentKeys[0] ?? ''}~${layout}`;
  if (lastAdditive.root !== root || lastAdditive.keys.moments.length !== statistics) {
    lastAdditive = { root, keys: newAdditiveKeys(root, statistics) };
  }
  return lastAdditive.keys;
}

function newAdditiveKeys(root: string, statistics: number): AdditiveKeys {
  return {
    moments: Array.from({ length: statistics }, (_, place) => `${root}:moments-${place}`),
    drift: `${root}:drift`,
    won: `${root}:won`,
    errors: additiveReadings.map(({ name }) => `${root}:errors-${name}`),
  };
}

/** Every key that a curve for these segments is made from. `layout`: features that are looked at beside them. */
export function statisticKeysOf(segmentKeys: readonly string[], layout: Layout | null): string[] {
  const keys = keysOf(segmentKeys);
  const own = [...keys.windows.flat(), ...keys.scores];
  if (layout === null) return own;
  const { moments, drift, won, errors } = additiveKeysOf(segmentKeys, layout.name, momentStatistics(layout));
  return [...own, ...moments, drift, won, ...errors];
}

export type Learnt = {
  segmentKeys: readonly string[];
  trial: Trial | null;
  bestRivalCell: number;
  bestRivalOffGrid: boolean;
  at: EpochMs;
  halfLifeMs: number;
  /** What we won it with; null: we did not. */
  wonHundredths: RateHundredths | null;
};

/** What the statistics take up: the rate for every segment, and a score where a decision had noted what policies would bid. */
export function lessonsOf(learnt: Learnt): ViewChange[] {
  const { segmentKeys, trial, bestRivalCell, bestRivalOffGrid, at, halfLifeMs } = learnt;
  const keys = keysOf(segmentKeys);
  const seen = [[cellIndex(bestRivalCell, bestRivalOffGrid), 1]] as const;
  const lessons: ViewChange[] = windows.map(({ halfLifeResults }, place) => ({
    kind: 'learn',
    keys: keys.windows[place]!,
    additions: seen,
    at,
    halfLives: { halfLifeMs, halfLifeResults },
  }));
  if (trial === null) return lessons;
  lessons.push(...additiveLessonsOf(learnt, trial));
  const additions = scoreTrial(trial, segmentKeys.length, bestRivalCell, bestRivalOffGrid);
  if (additions.length === 0) return lessons;
  lessons.push({ kind: 'learn', keys: keys.scores, additions, at, halfLives: scoreHalfLives });
  return lessons;
}

/** What the features of a request have to do with its best rival. */
function additiveLessonsOf(
  { segmentKeys, bestRivalCell, at, halfLifeMs, wonHundredths }: Learnt,
  { additive }: Trial,
): ViewChange[] {
  if (additive === undefined) return [];
  const { layout, levels, locations } = additive;
  const moments = momentAdditions(levels, bestRivalCell);
  const keys = additiveKeysOf(segmentKeys, layout, moments.length);
  const lessons: ViewChange[] = [];
  const lesson = (key: string, additions: readonly Addition[], halfLives: HalfLives) =>
    lessons.push({ kind: 'learn', keys: [key], additions, at, halfLives });
  for (const [statistic, additions] of moments.entries()) {
    if (additions.length > 0) lesson(keys.moments[statistic]!, additions, timeAlone(halfLifeMs));
  }
  const drift = driftAdditions(bestRivalCell, additive);
  if (drift.length > 0) lesson(keys.drift, drift, driftHalfLives);
  if (wonHundredths !== null) lesson(keys.won, publishedAdditions(wonHundredths), publishedHalfLives);
  for (const [reading, location] of locations.entries()) {
    const key = keys.errors[reading];
    const halfLives = { halfLifeMs, halfLifeResults: additiveReadings[reading]?.errorHalfLifeResults ?? 0 };
    if (key !== undefined) lesson(key, [[errorCell(bestRivalCell, location), 1]], halfLives);
  }
  return lessons;
}

type CurveInputs = Omit<WinCurveInput, 'segments' | 'scores' | 'additive'> & { layout?: Layout | null };
type Statistics = ReadonlyMap<string, Histogram>;

/** The curve of the last of these segments, from the statistics under `statisticKeysOf`. */
export function curveOf(segmentKeys: readonly string[], statistics: Statistics, inputs: CurveInputs): LearntCurve {
  return curveWithReadings(segmentKeys, statistics, inputs).curve;
}

/** The same with what its readings say, for those who judge them one by one. */
export function curveWithReadings(
  segmentKeys: readonly string[],
  statistics: Statistics,
  { layout = null, ...inputs }: CurveInputs,
): CurveWithReadings {
  const keys = keysOf(segmentKeys);
  const found = (key: string) => statistics.get(key) ?? null;
  const additive = layout === null ? null : additiveKeysOf(segmentKeys, layout.name, momentStatistics(layout));
  return buildWithReadings({
    ...inputs,
    ...(additive !== null &&
      layout !== null && {
        additive: {
          layout,
          moments: additive.moments.map(found),
          drift: found(additive.drift),
          won: found(additive.won),
          errors: additive.errors.map(found),
        },
      }),
    segments: segmentKeys.map((key, segment) => ({
      key,
      histograms: keys.windows.map((ofWindow) => statistics.get(ofWindow[segment]!) ?? null),
    })),
    scores: keys.scores.map((key) => statistics.get(key) ?? null),
  });
}

/** Which policies and segments earn their keep. */
export function weightsOf(
  segmentKeys: readonly string[],
  { weights }: LearntCurve,
): Extract<DeskEvent, { kind: 'weights' }> {
  return {
    kind: 'weights',
    readings: readings.map(({ name }, place) => ({ name, weight: weights.readings[place]! })),
    // What the features say stands beside the segments: together they add up to 1.
    segments: [
      ...segmentKeys.map((key, place) => ({ name: dimensionsOf(key), weight: weights.segments[place]! })),
      ...weights.additive.map((weight, place) => ({ name: additiveReadings[place]!.name, weight })),
    ],
  };
}
