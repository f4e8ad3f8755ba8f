/** Pause and resume: straight into the store, so that they work without HTTP; done when every live process obeys. */
import type { Control } from '../bidding/ports.ts';
import type { Clock } from '../domain/clock.ts';
import { Fault } from '../errors.ts';

/** A process that has not been heard of for this long is not alive. */
const lifeMs = 5_000;
const pollMs = 50;

export type Acknowledgement = { revision: number; instances: readonly string[] };

/** Resolves when every live process has acknowledged; throws `not-acknowledged`, naming those that have not, after `timeoutMs`. */
export async function changeControl(
  control: Control,
  clock: Clock,
  timeoutMs: number,
  change: (control: Control) => Promise<number>,
): Promise<Acknowledgement> {
  const revision = await change(control);
  const until = clock.now() + timeoutMs;
  for (;;) {
    const processes = await control.acknowledged();
    const live = processes.filter((process) => clock.now() - process.at < lifeMs);
    const late = live.filter((process) => process.revision < revision);
    if (late.length === 0) return { revision, instances: live.map((process) => process.instance) };
    if (clock.now() >= until) {
      const names = late.map((process) => process.instance).join(', ');
      throw new Fault('not-acknowledged', `Stored as revision ${revision}, but not yet obeyed by ${names}.`);
    }
    await new Promise<void>((resolve) => clock.schedule(clock.now() + pollMs, resolve));
  }
}
