/** Which processes of a desk live, and waiting until they have done what was ordered. */
import type { Control } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';

/** A process that has not been heard of for this long is not alive. */
export const lifeMs = 5_000;

/**
 * Whether a process has shown since `at` that it lives: each does every second. One that has just stopped did so before, and is not
 * waited for.
 */
export async function livesSince(control: Pick<Control, 'acknowledged'>, at: EpochMs): Promise<boolean> {
  return (await control.acknowledged()).some((known) => known.at >= at);
}

export function wait(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => clock.after(ms, resolve));
}

const lookEveryMs = 50;

/** What `look` gives as soon as that is not null; null when it gave nothing for `timeoutMs`. */
export async function lookFor<V>(clock: Clock, timeoutMs: number, look: () => Promise<V | null>): Promise<V | null> {
  const untilMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== null || clock.monotonicMs() >= untilMs) return seen;
    await wait(clock, lookEveryMs);
  }
}
