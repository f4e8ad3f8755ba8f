/** Which buckets a claim counts in, and how long windows of hours look back at them. */
import type { EpochMs } from '../../domain/glossary.ts';
import type { CapReservation } from '../../domain/offer.ts';

/** One cap has one bucket to write to, and sums others for its check; two caps may share a bucket. */
export function bucketsOf(caps: readonly CapReservation[]): string[] {
  return [...new Set(caps.flatMap((cap) => cap.keys.slice(0, 1)))];
}

const windowBucket = /\|(hour|6h)-(\d+)$/;
const hourMs = 3_600_000;

export function isWindow(key: string): boolean {
  return windowBucket.test(key);
}

/** A window has 720 hours at most, whatever it had when the bid was claimed. */
export function windowsPassedAt(caps: readonly CapReservation[]): EpochMs {
  const ends = bucketsOf(caps).map((key) => {
    const [, width, bucket] = windowBucket.exec(key) ?? [];
    if (bucket === undefined) return Number.NEGATIVE_INFINITY;
    const hours = width === 'hour' ? Number(bucket) + 1 : 6 * (Number(bucket) + 1);
    return (hours + 720) * hourMs;
  });
  return Math.max(Number.NEGATIVE_INFINITY, ...ends);
}
