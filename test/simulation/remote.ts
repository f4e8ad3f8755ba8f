/** A call from a process to something outside it: the effect happens out there, the answer comes back, or the process dies on the way. */
import type { Faults } from './faults.ts';
import type { SeededChance } from './seeded-chance.ts';
import type { Process, VirtualTime } from './virtual-time.ts';

export type Remote = {
  chance: SeededChance;
  faults: Faults;
  time: VirtualTime;
  /** The process dies inside the call; whether the effect still happens is decided by the seed. */
  crash: (process: Process) => void;
};

export type Journey = { thereMs: number; backMs: number };

/** A promise that nobody will ever keep: what a dead process waits for. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}

const crashProbability = 0.0006;

/** `effect` runs in the world at `thereMs`; what it returns or throws is the answer. */
export function call<T>(remote: Remote, process: Process, journey: Journey, effect: () => T): Promise<T> {
  if (!process.alive) return never();
  const { time, faults } = remote;
  if (faults.strikes('crash-in-port-call', crashProbability)) {
    const reached = remote.chance.happens(0.5);
    // Dies after the turn in hand, as if the power went while the call was on its way.
    remote.crash(process);
    if (reached) time.after(journey.thereMs, null, () => attempt(effect));
    return never();
  }
  return new Promise((resolve, reject) => {
    time.after(journey.thereMs, null, () => {
      const outcome = attempt(effect);
      time.after(journey.backMs, process, () => {
        if (outcome.kind === 'value') resolve(outcome.value);
        else reject(outcome.fault);
      });
    });
  });
}

function attempt<T>(effect: () => T): { kind: 'value'; value: T } | { kind: 'fault'; fault: unknown } {
  try {
    return { kind: 'value', value: effect() };
  } catch (fault) {
    return { kind: 'fault', fault };
  }
}
