/**
 * What an ended auction teaches, and where it is kept: a histogram of best rival rates for each segment and window, and
 * the scores of the policies that were on trial. Pure; the desk and the judge of `lance learn` go through the same functions.
 */
import type { EpochMs } from '../domain/glossary.ts';
import { cellIndex, type Histogram } from '../domain/histogram.ts';
import type { Trial } from '../domain/offer.ts';
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
    scores: [...new Set([dimensionsOf(special), special])].map((key) => `${key}~scores`),
  };
  keysOfLists.set(segmentKeys, keys);
  return keys;
}

/** Every key that a curve for these segments is made from. */
export function statisticKeysOf(segmentKeys: readonly string[]): string[] {
  const keys = keysOf(segmentKeys);
  return [...keys.windows.flat(), ...keys.scores];
}

export type Learnt = {
  segmentKeys: readonly string[];
  trial: Trial | null;
  bestRivalCell: number;
  bestRivalOffGrid: boolean;
  at: EpochMs;
  halfLifeMs: number;
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
  const additions = scoreTrial(trial, segmentKeys.length, bestRivalCell, bestRivalOffGrid);
  if (additions.length === 0) return lessons;
  lessons.push({ kind: 'learn', keys: keys.scores, additions, at, halfLives: scoreHalfLives });
  return lessons;
}

type CurveInputs = Omit<WinCurveInput, 'segments' | 'scores'>;
type Statistics = ReadonlyMap<string, Histogram>;

/** The curve of the last of these segments, from the statistics under `statisticKeysOf`. */
export function curveOf(segmentKeys: readonly string[], statistics: Statistics, inputs: CurveInputs): LearntCurve {
  return curveWithReadings(segmentKeys, statistics, inputs).curve;
}

/** The same with what its readings say, for those who judge them one by one. */
export function curveWithReadings(
  segmentKeys: readonly string[],
  statistics: Statistics,
  inputs: CurveInputs,
): CurveWithReadings {
  const keys = keysOf(segmentKeys);
  return buildWithReadings({
    ...inputs,
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
    segments: segmentKeys.map((key, place) => ({ name: dimensionsOf(key), weight: weights.segments[place]! })),
  };
}
