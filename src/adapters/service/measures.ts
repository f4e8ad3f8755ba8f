/**
 * What the answers tell of the way to the service: how long a first byte takes, and how far its clock is ahead.
 * The one-way time cannot be seen, so half of the time from write to answer headers stands for it; that holds the
 * service's own work too, and so errs on the early side of a deadline.
 */
import type { EpochMs } from '../../domain/glossary.ts';

const bucketsPerDoubling = 8;
const bucketCount = 160;
const enoughSamples = 100;
/** When this many samples are held, all weights are halved: the quantile follows the last few thousand answers. */
const halvingAt = 2_000;
const refreshEvery = 32;

export type NetworkTime = {
  add: (roundTripMs: number) => void;
  /** 99 % of half round trips, or the setting until there are a hundred. */
  p99Ms: () => number;
};

export function createNetworkTime(startMs: number): NetworkTime {
  const weights = new Float64Array(bucketCount);
  let total = 0;
  let samples = 0;
  let p99 = startMs;

  const refresh = (): void => {
    let above = total * 0.01;
    let index = bucketCount - 1;
    while (index > 0 && weights[index]! <= above) {
      above -= weights[index]!;
      index -= 1;
    }
    // Upper edge of the bucket; bucket 0 ends at a tenth of a millisecond.
    p99 = 0.1 * 2 ** (index / bucketsPerDoubling);
  };

  return {
    add: (roundTripMs) => {
      const bucket = Math.ceil(Math.log2(Math.max(roundTripMs / 2, 0.1) / 0.1) * bucketsPerDoubling);
      weights[Math.min(bucket, bucketCount - 1)]! += 1;
      total += 1;
      samples += 1;
      if (total >= halvingAt) {
        for (let index = 0; index < bucketCount; index += 1) weights[index]! /= 2;
        total /= 2;
      }
      if (samples >= enoughSamples && samples % refreshEvery === enoughSamples % refreshEvery) refresh();
    },
    p99Ms: () => p99,
  };
}

const keptSamples = 31;
/** Further off than this is a broken clock or a Date written in local time: it must not move a deadline. */
const longestSkewMs = 15 * 60_000;
/** A slower answer says too little about when its Date was written. */
const longestRoundTripMs = 2_000;

export type ClockSkew = {
  /** False after a Date too far off to be believed, until one comes that is. */
  isBelieved: () => boolean;
  /** `header` is the value of Date; false when it says nothing that can be used. */
  add: (header: string, writtenAt: EpochMs, answeredAt: EpochMs) => boolean;
  /** What the last Date that could be read said, believed or not. */
  latestMs: () => number | null;
  /** How far the service's clock is ahead: the median of the last answers, 0 without any. */
  ms: () => number;
};

/**
 * `offsetMs`: how far our time of day is ahead of the monotonic clock. Samples are kept on that clock, so that a correction of
 * ours moves what they say and leaves what they know.
 */
export function createClockSkew(offsetMs: () => number = () => 0): ClockSkew {
  const kept: number[] = [];
  let next = 0;
  let median: number | null = null;
  let latest: number | null = null;
  let lastHeader = '';
  let lastAt = Number.NaN;
  let lastTakenAt = Number.NEGATIVE_INFINITY;

  const isBelievable = (skewMs: number): boolean => Math.abs(skewMs) <= longestSkewMs;

  return {
    isBelieved: () => latest === null || isBelievable(latest - offsetMs()),
    add: (header, writtenAt, answeredAt) => {
      if (header !== lastHeader) {
        lastHeader = header;
        lastAt = Date.parse(header);
      }
      if (Number.isNaN(lastAt)) return false;
      if (answeredAt - writtenAt > longestRoundTripMs) return true;
      // Date is cut to the second: on average half a second has passed since.
      const skew = lastAt + 500 - (writtenAt + answeredAt) / 2;
      latest = skew + offsetMs();
      if (!isBelievable(skew)) return false;
      // Ten a second are plenty, and spread the samples over the second that Date hides.
      if (answeredAt - lastTakenAt < 100 && answeredAt >= lastTakenAt) return true;
      lastTakenAt = answeredAt;
      kept[next] = latest;
      next = (next + 1) % keptSamples;
      median = kept.toSorted((left, right) => left - right)[Math.floor(kept.length / 2)]!;
      return true;
    },
    latestMs: () => (latest === null ? null : latest - offsetMs()),
    ms: () => (median === null ? 0 : Math.round(median - offsetMs())),
  };
}
