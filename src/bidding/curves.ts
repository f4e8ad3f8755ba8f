/** Win curves at hand, by segment: made when first needed, made again when one of their statistics has learnt. */
import type { Clock } from '../domain/clock.ts';
import { emptyHistogram } from '../domain/histogram.ts';
import type { StoredInput } from '../domain/records.ts';
import { buildWinCurve, encodeWinCurve, type WinCurve } from '../pricing/win-curve.ts';
import type { Policy } from './decide.ts';
import type { Views } from './ports.ts';
import type { BiddingSettings } from './settings.ts';

export type Curves = {
  /** One curve for each list of segment keys, from most general to most special. */
  read: (segments: readonly (readonly string[])[], policy: Policy) => Promise<WinCurve[]>;
  /** The statistics under these keys have changed. */
  forget: (keys: readonly string[]) => void;
  /** The curve as an input to be stored, the first time it is asked for; then null. */
  toStore: (curve: WinCurve) => StoredInput | null;
  clear: () => void;
};

/** Statistics folded by other processes are seen after this long at the latest. */
const maxAgeMs = 2_000;
const maxStoredHashes = 50_000;

type Known = { curve: WinCurve; keys: readonly string[]; madeAt: number; settingsHash: string };

export function createCurves(options: {
  views: Views;
  clock: Clock;
  settings: BiddingSettings;
  /** Frozen: statistics are never read, every curve is the prior. */
  learning: boolean;
}): Curves {
  const { views, clock, settings, learning } = options;
  const known = new Map<string, Known>();
  const stored = new Set<string>();

  function isFresh(entry: Known | undefined, policy: Policy): entry is Known {
    return entry !== undefined && entry.settingsHash === policy.settingsHash && clock.now() - entry.madeAt < maxAgeMs;
  }

  async function make(
    segments: ReadonlyMap<string, readonly string[]>,
    policy: Policy,
    found: Map<string, WinCurve>,
  ): Promise<void> {
    const keys = new Set([...segments.values()].flat());
    const histograms = learning ? await views.statistics([...keys]) : new Map();
    const at = clock.now();
    const { shrinkage, smoothing, priorWeight } = policy.tables.settings.winCurve;
    for (const [name, segmentKeys] of segments) {
      const curve = buildWinCurve({
        histograms: segmentKeys.map((key) => histograms.get(key) ?? emptyHistogram(at)),
        prior: policy.prior,
        shrinkage,
        smoothing,
        priorWeight,
        at,
        halfLifeMs: settings.halfLifeMs,
      });
      found.set(name, curve);
      known.set(name, { curve, keys: segmentKeys, madeAt: at, settingsHash: policy.settingsHash });
    }
  }

  return {
    read: async (segments, policy) => {
      // What is known may be forgotten while the statistics of others are read: what this caller gets is kept apart.
      const found = new Map<string, WinCurve>();
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
    forget: (keys) => {
      const changed = new Set(keys);
      for (const [name, entry] of known) if (entry.keys.some((key) => changed.has(key))) known.delete(name);
    },
    toStore: (curve) => {
      if (stored.has(curve.hash)) return null;
      if (stored.size >= maxStoredHashes) stored.clear();
      stored.add(curve.hash);
      return { kind: 'win-curve', hash: curve.hash, content: encodeWinCurve(curve) };
    },
    clear: () => known.clear(),
  };
}
