/** Pause and resume: straight into the store, so that they work without HTTP; done when every live process obeys. */
import { userInfo } from 'node:os';
import type { Control, ControlState, OperatorWord } from '../bidding/ports.ts';
import { nothingUsed } from '../domain/cap-book.ts';
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

/** Faults of a store that may be there again. */
const storeFaults: ReadonlySet<string> = new Set(['log-unavailable', 'views-unavailable', 'order-unkept']);

type ChangeTexts = {
  /** Processes obey. */
  told: (revision: number, count: number) => string;
  /** None runs. */
  stored: (revision: number) => string;
  /** Nothing was changed: what holds now, and what to do. */
  notStored: (why: string) => string;
  /** The store did not say whether it was changed. */
  unsure: (why: string) => string;
  /** It holds, and only the log does not have it yet. */
  unkept: (why: string) => string;
};

/**
 * Changes the control and says what became of it, also where the store fails: whoever wants bidding to stop has to hear whether it was
 * told. `texts` are asked with the state before the change.
 */
async function command(
  world: CommandWorld,
  change: (control: Control) => Promise<number>,
  textsOf: (before: ControlState | null) => ChangeTexts,
): Promise<void> {
  let asked = false;
  let before: ControlState | null = null;
  let revision: number | null = null;
  try {
    await withReader(world, async ({ control }) => {
      before = await control.read();
      const done = await changeControl(control, world.clock, timeoutMs, async () => {
        asked = true;
        revision = await change(control);
        return revision;
      });
      const { told, stored } = textsOf(before);
      const count = done.instances.length;
      world.terminal.write(count === 0 ? stored(done.revision) : told(done.revision, count));
    });
  } catch (fault) {
    if (!(fault instanceof Fault) || !storeFaults.has(fault.code)) throw fault;
    const { notStored, unsure, unkept } = textsOf(before);
    const { unseen } = world.format.texts.control;
    let text = notStored(fault.message);
    if (revision !== null) text = unseen(revision, fault.message);
    else if (fault.code === 'order-unkept') text = unkept(fault.message);
    // A server that does not answer may do it all the same; the embedded store takes it back.
    else if (asked && fault.code === 'views-unavailable') text = unsure(fault.message);
    throw new Fault(fault.code, text, fault);
  }
}

export async function pauseDesk(world: CommandWorld, { by, reason }: { by: string; reason: string }): Promise<void> {
  const { paused, storedPause, pauseNotStored, pauseUnsure, pauseUnkept } = world.format.texts.control;
  const pause = { by, reason, at: world.clock.now() };
  await command(
    world,
    (control) => control.setPause(pause),
    () => ({
      ...{ told: paused, stored: storedPause, notStored: pauseNotStored },
      ...{ unsure: pauseUnsure, unkept: pauseUnkept },
    }),
  );
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
  const { resumed, notPaused, storedResume, storedNotPaused, changeNotStored, changeUnsure, changeUnkept } =
    world.format.texts.control;
  await command(
    world,
    // Also where none was read: a pause that Redis has lost comes back from the processes that know it.
    (control) => control.resume(wordOf(world, options)),
    (before) => ({
      told: before?.pause === null ? notPaused : resumed,
      stored: before?.pause === null ? storedNotPaused : storedResume,
      notStored: changeNotStored,
      unsure: changeUnsure,
      unkept: changeUnkept,
    }),
  );
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
    const change = async (control: Control): Promise<number> => {
      const known = cents !== null || Object.hasOwn((await control.read()).caps, name);
      if (!known) throw new Fault('not-found', texts.capNone(name));
      return control.setCap(name, cents, wordOf(world, options));
    };
    const stored = (revision: number) => told(revision, 0);
    await command(world, change, () => ({
      ...{ told, stored, notStored: texts.changeNotStored, unsure: texts.changeUnsure, unkept: texts.changeUnkept },
    }));
    return;
  }
  await withReader(world, async ({ control, views }) => {
    const { caps } = await control.read();
    const limit = Object.hasOwn(caps, name) ? caps[name] : undefined;
    const now = clock.now();
    // A cap of the rules without facts counts the whole desk under this key.
    const key = `${limit === undefined ? '' : 'operator:'}${name}|${dayOf(now)}`;
    const used = (await views.usage([key], now)).get(key) ?? nothingUsed;
    const amount = format.money(used.amountCents);
    if (limit !== undefined) terminal.write(texts.capUsage(name, amount, format.money(limit)));
    else if (used.count > 0) terminal.write(texts.ruleCapUsage(name, amount, used.count));
    else throw new Fault('not-found', texts.capNone(name));
  });
}
