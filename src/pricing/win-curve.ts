/**
 * Win curves: for each rate, the probability that no rival is better. Built from the published bids of ended auctions,
 * from the most general segment to the most special, each shrunk to its parent.
 */
import { hash } from 'node:crypto';
import { cellCount, type EpochMs, maxRateHundredths, minRateHundredths, noRivalCell } from '../domain/glossary.ts';
import { decayFactor, type Histogram } from '../domain/histogram.ts';
import type { PriorSettings } from './settings.ts';
import { smoothCounts } from './smoothing.ts';

export type WinCurve = {
  /** SHA-256 of the curve's bytes, in hex: the curve is stored once under it. */
  hash: string;
  /** By cell: P(best rival > cell) + ½ · P(best rival = cell). */
  win: Float64Array;
  /** Lowest rate at which the curve is at most one half. */
  medianHundredths: number;
  /** Share of auctions in which nobody else bids. */
  noRivalShare: number;
};

function describe(win: Float64Array, curveHash: string): WinCurve {
  let medianHundredths = noRivalCell;
  for (let cell = 0; cell < cellCount; cell += 1) {
    if (win[cell]! <= 0.5) {
      medianHundredths = cell;
      break;
    }
  }
  return { hash: curveHash, win, medianHundredths, noRivalShare: 2 * win[noRivalCell]! };
}

function hashOf(win: Float64Array): string {
  return hash('sha256', new Uint8Array(win.buffer, win.byteOffset, win.byteLength), 'hex');
}

/** Quantile of one lender's rates at which `share` of them lie below; linear between those given and beyond them. */
function shareBelow(rateHundredths: number, quantiles: PriorSettings['quantiles']): number {
  let index = 1;
  while (index < quantiles.length - 1 && rateHundredths > quantiles[index]!.rateHundredths) index += 1;
  const low = quantiles[index - 1]!;
  const high = quantiles[index]!;
  const slope = (high.share - low.share) / (high.rateHundredths - low.rateHundredths);
  return Math.min(1, Math.max(0, low.share + slope * (rateHundredths - low.rateHundredths)));
}

/**
 * Distribution over cells, adding up to 1, of the best of `rivals` independent lenders. Rates above the grid cannot be
 * bid and count as no rival.
 */
export function priorDistribution(settings: PriorSettings): Float64Array {
  const prior = new Float64Array(cellCount);
  let survival = 1;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const next = (1 - shareBelow(cell + 0.5, settings.quantiles)) ** settings.rivals;
    prior[cell] = survival - next;
    survival = next;
  }
  prior[noRivalCell] = survival;
  return prior;
}

export type WinCurveInput = {
  /** From the most general segment to the most special. */
  histograms: readonly Histogram[];
  /** As `priorDistribution` makes it; callers keep it. */
  prior: Float64Array;
  /** Results that the prior counts for in the most general segment, and a parent in its child. */
  priorWeight: number;
  shrinkage: number;
  /** See `smoothCounts`; 0 for none. */
  smoothing: number;
  at: EpochMs;
  halfLifeMs: number;
};

/** Posterior of each segment from its decayed counts and its parent's distribution: `(counts + m · parent) / (n + m)`. */
export function buildWinCurve(input: WinCurveInput): WinCurve {
  const distribution = input.prior.slice();
  const counts = new Float64Array(cellCount);
  let parentWeight = input.priorWeight;
  for (const histogram of input.histograms) {
    const factor = decayFactor(histogram, input.at, input.halfLifeMs);
    const total = smoothCounts(histogram.cells, factor, input.smoothing, counts) + parentWeight;
    if (total <= 0) continue;
    for (let cell = 0; cell < cellCount; cell += 1) {
      distribution[cell] = (distribution[cell]! * parentWeight + counts[cell]!) / total;
    }
    parentWeight = input.shrinkage;
  }
  const win = new Float64Array(cellCount);
  let above = 0;
  for (let cell = noRivalCell; cell >= 0; cell -= 1) {
    const here = distribution[cell]!;
    win[cell] = above + here / 2;
    above += here;
  }
  return describe(win, hashOf(win));
}

/** Little-endian doubles in base64. */
export function encodeWinCurve(curve: WinCurve): string {
  return Buffer.from(curve.win.buffer, curve.win.byteOffset, curve.win.byteLength).toString('base64');
}

/** Throws when the text does not hold the curve that `expectedHash` names. */
export function decodeWinCurve(text: string, expectedHash: string): WinCurve {
  const bytes = Buffer.from(text, 'base64');
  const win = new Float64Array(cellCount);
  if (bytes.byteLength !== win.byteLength) throw new Error('stored win curve: wrong length; the record is damaged');
  new Uint8Array(win.buffer).set(bytes);
  const curveHash = hashOf(win);
  if (curveHash !== expectedHash) throw new Error('stored win curve: does not match its hash; the record is damaged');
  return describe(win, curveHash);
}
