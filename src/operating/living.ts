/** Which processes of a desk live, and waiting until they have done what was ordered. */
import { type Control, endedAt } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { Fault } from '../errors.ts';

/** A process that has not been heard of for this long is not alive. */
export const lifeMs = 5_000;

/** Each process shows itself every second, so whoever lives was seen to move after so long. */
const moveMs = 2_500;

type Acknowledgements = Pick<Control, 'acknowledged'>;
type Acknowledged = Awaited<ReturnType<Control['acknowledged']>>[number];

/**
 * Looks who lives. What lies further in the future than clocks differ may be of a process that is gone, written when its clock was
 * ahead: it counts once it was seen to move between two looks. `unsure`: of some nobody can say yet. `silent`: lived at an earlier look,
 * and has neither shown itself nor said that it ends since; it has died, or hangs.
 */
export function watchLiving(
  control: Acknowledgements,
  clock: Clock,
): () => Promise<Record<'living' | 'unsure' | 'silent', readonly Acknowledged[]>> {
  const startedAtMs = clock.monotonicMs();
  const first = new Map<string, number>();
  const moved = new Set<string>();
  const lived = new Set<string>();
  return async () => {
    const now = clock.now();
    const known = await control.acknowledged();
    const shown = known.filter(({ at }) => now - at < lifeMs);
    const ahead = shown.filter(({ at }) => at - now >= lifeMs);
    for (const { instance, at } of ahead) {
      if (!first.has(instance)) first.set(instance, at);
      else if (first.get(instance) !== at) moved.add(instance);
    }
    const mayStillMove = clock.monotonicMs() - startedAtMs < moveMs;
    const living = shown.filter((each) => !ahead.includes(each) || moved.has(each.instance));
    for (const { instance } of living) lived.add(instance);
    return {
      living,
      silent: known.filter((each) => each.at !== endedAt && lived.has(each.instance) && !living.includes(each)),
      unsure: mayStillMove ? ahead.filter(({ instance }) => !moved.has(instance)) : [],
    };
  };
}

/** Takes some seconds only where an acknowledgement lies in the future. */
export async function living(control: Acknowledgements, clock: Clock): Promise<readonly Acknowledged[]> {
  const look = watchLiving(control, clock);
  for (;;) {
    const seen = await look();
    if (seen.unsure.length === 0) return seen.living;
    await wait(clock, lookEveryMs);
  }
}

/**
 * Whether a process has shown since `at` that it lives: each does every second. One that has just stopped did so before, and is not
 * waited for.
 */
export async function livesSince(control: Acknowledgements, clock: Clock, at: EpochMs): Promise<boolean> {
  return (await living(control, clock)).some((known) => known.at >= at);
}

/** What a process shows every second is this old at most; its clock may differ by `aheadMs`. */
const freshMs = 2_500;
const aheadMs = 1_000;

/**
 * The clock of a desk that lives, by the signs of its processes: who orders beside it may have a clock that is minutes off, and what is
 * recorded is judged by the desk's. It is the one at hand where that agrees with a process, and where none lives. Takes some seconds
 * only where there are signs and none of them agrees.
 */
export async function clockOfDesk(control: Acknowledgements, clock: Clock): Promise<Clock> {
  const signs = async () => {
    const known = await control.acknowledged();
    return new Map(known.filter(({ at }) => at !== endedAt).map(({ instance, at }) => [instance, at]));
  };
  const agrees = (at: EpochMs) => clock.now() - at <= freshMs && at - clock.now() <= aheadMs;
  try {
    const first = await signs();
    if (first.size === 0 || [...first.values()].some(agrees)) return clock;
    const movedMs = await lookFor(clock, moveMs, async () => {
      const shown = [...(await signs())].find(([instance, at]) => first.get(instance) !== at);
      return shown === undefined ? null : shown[1] - clock.now();
    });
    return movedMs === null || agrees(clock.now() + movedMs) ? clock : shiftedClock(clock, movedMs);
  } catch (fault) {
    // Whoever orders meets it too, and tells it.
    if (!(fault instanceof Fault)) throw fault;
    return clock;
  }
}

function shiftedClock(clock: Clock, byMs: number): Clock {
  return {
    ...clock,
    now: () => clock.now() + byMs,
    offsetMs: () => clock.offsetMs() + byMs,
    schedule: (at, run) => clock.schedule(at - byMs, run),
  };
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
