/** What our own wins have taught of acceptance, at hand for decisions: read again when it has grown old. */

import type { BiddingSettings } from '../config/sections.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { emptyHistogram } from '../domain/histogram.ts';
import type { AcceptanceShift } from '../domain/offer.ts';
import { fitAcceptance } from '../pricing/acceptance.ts';
import type { Policy } from './decide.ts';
import { declinedKey, takenKey } from './evolve.ts';
import type { Views } from './ports.ts';

export type Acceptance = {
  /** Null while nothing was learnt, or nothing may be. */
  read: (policy: Policy, now: EpochMs) => Promise<AcceptanceShift | null>;
};

/** Wins are answered within days, so a few seconds are nothing. */
const maxAgeMs = 10_000;

export function createAcceptance(options: { views: Views; settings: BiddingSettings; learning: boolean }): Acceptance {
  const { views, settings, learning } = options;
  let known: { shift: AcceptanceShift | null; readAt: EpochMs; settingsHash: string } | null = null;

  async function fit(policy: Policy, now: EpochMs): Promise<AcceptanceShift | null> {
    const prior = policy.tables.settings.acceptancePrior;
    if (!learning || (prior.midpointDeviationPercent === 0 && prior.ceilingDeviation === 0)) return null;
    const histograms = await views.statistics([takenKey, declinedKey]);
    const taken = histograms.get(takenKey) ?? emptyHistogram(now);
    const declined = histograms.get(declinedKey) ?? emptyHistogram(now);
    // Answers yes alone say nothing: those who decline are known days later.
    if (declined.count === 0) return null;
    return fitAcceptance({ taken, declined, at: now, halfLifeMs: settings.halfLifeMs }, policy.economics, prior);
  }

  return {
    read: async (policy, now) => {
      const isFresh = known !== null && now - known.readAt < maxAgeMs && known.settingsHash === policy.settingsHash;
      if (!isFresh) known = { shift: await fit(policy, now), readAt: now, settingsHash: policy.settingsHash };
      return known?.shift ?? null;
    },
  };
}
