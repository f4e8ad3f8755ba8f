/** Pause and resume: straight into the store, so that they work without HTTP; done when every live process obeys. */
import { userInfo } from 'node:os';
import type { Control, OperatorWord } from '../bidding/ports.ts';
import { type Clock, dayOf } from '../domain/clock.ts';
import { Fault } from '../errors.ts';
import { type CommandWorld, lifeMs, lookFor, withReader } from './world.ts';

/** Longer than `lifeMs`, so that a process that has just died is not waited for in vain. */
const timeoutMs = lifeMs + 1_000;

type Acknowledgement = { revision: number; instances: readonly string[] };

/** Resolves when every live process has acknowledged; throws `not-acknowledged`, naming those that have not, after `timeoutMs`. */
export async function changeControl(
  control: Control,
  clock: Clock,
  timeoutMs: number,
  change: (control: Control) => Promise<number>,
): Promise<Acknowledgement> {
  const revision = await change(control);
  let late: readonly string[] = [];
  const instances = await lookFor(clock, timeoutMs, async () => {
    const live = (await control.acknowledged()).filter(({ at }) => clock.now() - at < lifeMs);
    late = live.filter((known) => known.revision < revision).map(({ instance }) => instance);
    return late.length === 0 ? live.map(({ instance }) => instance) : null;
  });
  if (instances !== null) return { revision, instances };
  throw new Fault('not-acknowledged', `Stored as revision ${revision}, but not yet obeyed by ${late.join(', ')}.`);
}

/** The change, and what to say of it: `told` when processes obey, `stored` when none runs. */
async function command(
  world: CommandWorld,
  change: (control: Control) => Promise<number>,
  told: (revision: number, count: number) => string,
  stored: (revision: number) => string,
): Promise<void> {
  await withReader(world, async ({ control }) => {
    const { revision, instances } = await changeControl(control, world.clock, timeoutMs, change);
    world.terminal.write(instances.length === 0 ? stored(revision) : told(revision, instances.length));
  });
}

export async function pauseDesk(world: CommandWorld, { by, reason }: { by: string; reason: string }): Promise<void> {
  const { paused, storedPause, pauseNotStored } = world.format.texts.control;
  const pause = { by, reason, at: world.clock.now() };
  const set = async (control: Control): Promise<number> => {
    try {
      return await control.setPause(pause);
    } catch (fault) {
      // Whoever wants bidding to stop has to hear that it was not told, and what stops it all the same.
      if (fault instanceof Fault && fault.code === 'log-unavailable')
        throw new Fault(fault.code, pauseNotStored(fault.message), fault);
      throw fault;
    }
  };
  await command(world, set, paused, storedPause);
}

/** What was said with the command, and when; the user of the machine where nobody was named. */
function wordOf(
  world: CommandWorld,
  { by, reason }: { by?: string | undefined; reason?: string | undefined },
): OperatorWord {
  return { by: by ?? machineUser(), reason: reason ?? null, at: world.clock.now() };
}

function machineUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

export async function resumeDesk(world: CommandWorld, options: { by: string; reason: string }): Promise<void> {
  const { resumed, storedResume } = world.format.texts.control;
  await command(world, (control) => control.resume(wordOf(world, options)), resumed, storedResume);
}

/** Sets (`cents`), removes (null) or, left out, shows an operator's cap. */
export async function capDesk(
  world: CommandWorld,
  name: string,
  cents: number | null | undefined,
  options: { by?: string; reason?: string },
): Promise<void> {
  const { format, terminal, clock } = world;
  const texts = format.texts.control;
  if (cents !== undefined) {
    const told = (revision: number, count: number) =>
      cents === null ? texts.capRemoved(name, revision, count) : texts.cap(name, format.money(cents), revision, count);
    await command(
      world,
      (control) => control.setCap(name, cents, wordOf(world, options)),
      told,
      (revision) => told(revision, 0),
    );
    return;
  }
  await withReader(world, async ({ control, views }) => {
    const limit = (await control.read()).caps[name];
    if (limit === undefined) throw new Fault('not-found', texts.capNone(name));
    const key = `operator:${name}|${dayOf(clock.now())}`;
    const used = (await views.usage([key], clock.now())).get(key)?.amountCents ?? 0;
    terminal.write(texts.capUsage(name, format.money(used), format.money(limit)));
  });
}
