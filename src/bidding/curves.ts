/** Win curves at hand, by segment: made when first needed, made again some time after one of their statistics has learnt. */

import type { BiddingSettings } from '../config/sections.ts';
import type { Clock } from '../domain/clock.ts';
import type { Histogram } from '../domain/histogram.ts';
import type { StoredInput } from '../domain/records.ts';
import { clearShared, createShared, encodeShapes, encodeWinCurve, type LearntCurve } from '../pricing/win-curve.ts';
import { requestFeatures } from '../rules/features.ts';
import type { Policy } from './decide.ts';
import { curveOf, statisticKeysOf, weightsOf } from './learning.ts';
import type { DeskObserver } from './observer.ts';
import type { Views } from './ports.ts';

export type Curves = {
  /** One curve for each list of segment keys: the whole market first, the most special segment last. */
  read: (segments: readonly (readonly string[])[], policy: Policy) => Promise<LearntCurve[]>;
  /** Policies are tried on the break-evens of late. */
  noteBreakEven: (segmentKeys: readonly string[], breakEvenHundredths: number) => void;
  /** The statistics under these keys have changed. */
  learnt: (keys: readonly string[]) => void;
  /** The curve, and the shapes that it is tailored with, as inputs to be stored, the first time that each is asked for. */
  toStore: (curve: LearntCurve) => readonly StoredInput[];
  clear: () => void;
};

/** Statistics folded by other processes are seen after this long at the latest. */
const maxAgeMs = 2_000;
/**
 * A curve that has learnt is used for this long after it was made. Every result teaches the whole market, and so every curve: under
 * load each batch of decisions would make each of them anew, for results of minutes ago.
 */
const leastAgeMs = 250;
const maxStoredHashes = 50_000;

/** Break-evens kept of each segment, and how many of them policies are tried on. */
const keptBreakEvens = 16;
const triedBreakEvens = 5;
const maxKnownSegments = 10_000;

type Known = {
  curve: LearntCurve;
  keys: readonly string[];
  madeAtMs: number;
  settingsHash: string;
  /** Its statistics have changed since. */
  isOutdated: boolean;
};

export function createCurves(options: {
  views: Pick<Views, 'statistics'>;
  clock: Pick<Clock, 'now' | 'monotonicMs'>;
  settings: BiddingSettings;
  /** Frozen: statistics are never read, every curve is the prior. */
  learning: boolean;
  observer: DeskObserver;
}): Curves {
  const { views, clock, settings, learning, observer } = options;
  const known = new Map<string, Known>();
  const shared = createShared();
  const stored = new Set<string>();
  const breakEvens = new Map<string, number[]>();
  let lessons = 0;

  function isFresh(entry: Known | undefined, policy: Policy): entry is Known {
    if (entry === undefined || entry.settingsHash !== policy.settingsHash) return false;
    return clock.monotonicMs() - entry.madeAtMs < (entry.isOutdated ? leastAgeMs : maxAgeMs);
  }

  function isNew(hash: string): boolean {
    if (stored.has(hash)) return false;
    if (stored.size >= maxStoredHashes) stored.clear();
    stored.add(hash);
    return true;
  }

  /** Evenly spaced among those of late, ascending; null when there are too few. */
  function breakEvensOf(name: string): number[] | null {
    const late = breakEvens.get(name) ?? [];
    if (late.length < triedBreakEvens) return null;
    const sorted = late.toSorted((left, right) => left - right);
    return Array.from(
      { length: triedBreakEvens },
      (_, index) => sorted[Math.floor(((index + 0.5) / triedBreakEvens) * sorted.length)]!,
    );
  }

  async function make(
    segments: ReadonlyMap<string, readonly string[]>,
    policy: Policy,
    found: Map<string, LearntCurve>,
  ): Promise<void> {
    const madeAtMs = clock.monotonicMs();
    const lessonsBefore = lessons;
    const keys = new Set([...segments.values()].flatMap((list) => statisticKeysOf(list, requestFeatures)));
    const statistics = learning ? await views.statistics([...keys]) : new Map<string, Histogram>();
    const at = clock.now();
    const { settingsHash } = policy;
    const { shrinkage, smoothing, priorWeight } = policy.tables.settings.winCurve;
    const { halfLifeMs } = settings;
    const { acceptanceMidpointPercent: midpointPercent, acceptanceSlope: slope } = policy.economics;
    clearShared(shared);
    for (const [name, segmentKeys] of segments) {
      const curve = curveOf(segmentKeys, statistics, {
        prior: policy.prior,
        shrinkage,
        smoothing,
        priorWeight,
        at,
        halfLifeMs,
        breakEvens: breakEvensOf(name),
        acceptance: { midpointPercent, slope },
        shared,
        layout: requestFeatures,
      });
      observer(weightsOf(segmentKeys, curve));
      found.set(name, curve);
      // What came while the statistics were read may be missing in it.
      const isOutdated = lessons !== lessonsBefore;
      known.set(name, { curve, keys: segmentKeys, madeAtMs, settingsHash, isOutdated });
    }
  }

  return {
    read: async (segments, policy) => {
      // What is known may be forgotten while the statistics of others are read: what this caller gets is kept apart.
      const found = new Map<string, LearntCurve>();
      const missing = new Map<string, readonly string[]>();
      for (const keys of segments) {
        const name = keys.at(-1) ?? '';
        const entry = known.get(name);
        if (isFresh(entry, policy)) found.set(name, entry.curve);
        else missing.set(name, keys);
      }
      if (missing.size > 0) await make(missing, policy, found);
      return segments.map((keys) => found.get(keys.at(-1) ?? '')!);
    },
    noteBreakEven: (segmentKeys, breakEvenHundredths) => {
      const name = segmentKeys.at(-1) ?? '';
      const late = breakEvens.get(name) ?? [];
      late.push(breakEvenHundredths);
      if (late.length > keptBreakEvens) late.shift();
      if (breakEvens.size >= maxKnownSegments) breakEvens.clear();
      breakEvens.set(name, late);
    },
    learnt: (keys) => {
      lessons += 1;
      const changed = new Set(keys);
      for (const entry of known.values()) entry.isOutdated ||= entry.keys.some((key) => changed.has(key));
    },
    toStore: (curve) => {
      const shapes = curve.additive?.shapes ?? null;
      const inputs: StoredInput[] = [];
      if (isNew(curve.hash)) inputs.push({ kind: 'win-curve', hash: curve.hash, content: encodeWinCurve(curve) });
      if (shapes !== null && isNew(shapes.hash)) {
        inputs.push({ kind: 'win-shapes', hash: shapes.hash, content: encodeShapes(shapes) });
      }
      return inputs;
    },
    clear: () => known.clear(),
  };
}
