/** `lance pause | resume | cap`: ordered of a running desk or beside the store, and told when every live process obeys. */
import { Fault } from '../errors.ts';
import { type ControlOutcome, isStoreFault, type Obeyed } from '../operating/controls.ts';
import { causeText, remedyOf } from './bidding-remedy.ts';
import { type DeskControl, type Orderer, withDesk, withOrderer } from './desk-control.ts';
import { machineUser } from './offline-reading.ts';
import { proseText } from './terminal.ts';
import { type CommandWorld, isStoreHeld } from './world.ts';

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

/** Processes that have not confirmed; for those that may be gone, since when they are silent. */
export function lateText({ format }: CommandWorld, { late, silent = [] }: Pick<Obeyed, 'late' | 'silent'>): string {
  const heardAt = new Map(silent.map(({ instance, at }) => [instance, at]));
  return late
    .map((name) => (heardAt.has(name) ? format.texts.control.silent(name, format.time(heardAt.get(name)!)) : name))
    .join(', ');
}

/** Says what became of an order. Throws what keeps it from being obeyed. */
export function tellControl(
  world: CommandWorld,
  outcome: ControlOutcome,
  textsOf: (wasPaused: boolean) => ChangeTexts,
  name = '',
): void {
  const { terminal, format } = world;
  const { late, held, unseen, capNone, capOneMore, capIdentity } = format.texts.control;
  const { fault } = format.texts;
  switch (outcome.kind) {
    case 'stored': {
      const { revision, obeyedBy, wasPaused } = outcome;
      if (outcome.late.length > 0)
        throw new Fault('not-acknowledged', late(revision, obeyedBy.join(', '), lateText(world, outcome)));
      // It shows no life, and holds what it would go on with.
      if (obeyedBy.length === 0 && world.remote() === null && isStoreHeld(world))
        throw new Fault('not-acknowledged', held(revision));
      const { told, stored } = textsOf(wasPaused);
      terminal.write(proseText(obeyedBy.length === 0 ? stored(revision) : told(revision, obeyedBy.length)));
      return;
    }
    case 'cap-unknown':
      throw new Fault('not-found', capNone(name, outcome.nearest));
    case 'cap-one-more':
      throw new Fault('not-acknowledged', capOneMore(name));
    case 'identity-needed':
      throw new Fault('not-allowed', capIdentity);
    case 'not-stored':
      throw new Fault(outcome.code, textsOf(false).notStored(fault(outcome.why)));
    case 'unsure':
      throw new Fault(outcome.code, textsOf(false).unsure(fault(outcome.why)));
    case 'unkept':
      throw new Fault(outcome.code, textsOf(false).unkept(fault(outcome.why)));
    case 'unseen':
      throw new Fault(outcome.code, unseen(outcome.revision, fault(outcome.why)));
    default:
      outcome satisfies never;
  }
}

/** A store that could not even be opened took no order. */
export async function orderOf<O extends { kind: string } = ControlOutcome>(
  world: CommandWorld,
  orderer: Orderer,
  order: (desk: DeskControl) => Promise<O>,
  otherwise?: () => string,
): Promise<O | ControlOutcome> {
  try {
    return await withOrderer(world, orderer, order, otherwise);
  } catch (fault) {
    if (!(fault instanceof Fault) || !isStoreFault(fault.code)) throw fault;
    return { kind: 'not-stored', code: fault.code, why: fault.message };
  }
}

export async function pauseDesk(
  world: CommandWorld,
  { reason, ...orderer }: Orderer & { reason: string },
): Promise<void> {
  const { paused, storedPause, pausedBefore, pauseNotStored, pauseUnsure, pauseUnkept } = world.format.texts.control;
  const textsOf = (wasPaused: boolean): ChangeTexts => {
    const end = wasPaused ? ` ${pausedBefore}` : '';
    return {
      told: (revision, count) => `${paused(revision, count)}${end}`,
      stored: (revision) => `${storedPause(revision)}${end}`,
      ...{ notStored: pauseNotStored, unsure: pauseUnsure, unkept: pauseUnkept },
    };
  };
  const outcome = await orderOf(world, orderer, (desk) => desk.pause(reason));
  tellControl(world, outcome, textsOf);
}

export async function resumeDesk(
  world: CommandWorld,
  { reason, ...orderer }: Orderer & { reason: string },
): Promise<void> {
  const { control } = world.format.texts;
  const outcome = await orderOf(world, orderer, (desk) => desk.resume(reason));
  const until = outcome.kind === 'stored' ? (outcome.restoredUntil ?? null) : null;
  const time = until === null ? null : world.format.minute(until);
  const runs = outcome.kind === 'stored' && outcome.obeyedBy.length + outcome.late.length > 0;
  const closed = runs ? await stillClosedText(world) : null;
  const told = (wasPaused: boolean) => {
    if (time !== null) return (revision: number, count: number) => control.restored(time, revision, count);
    if (closed !== null) return wasPaused ? control.resumedClosed : control.notPausedClosed;
    return wasPaused ? control.resumed : control.notPaused;
  };
  const stored = (wasPaused: boolean) => {
    if (time !== null) return (revision: number) => control.storedRestored(time, revision);
    return wasPaused ? control.storedResume : control.storedNotPaused;
  };
  // Processes that have not confirmed are thrown, and the cause that is left is told beside them.
  try {
    tellControl(world, outcome, (wasPaused) => ({
      told: told(wasPaused),
      stored: stored(wasPaused),
      notStored: control.changeNotStored,
      unsure: control.changeUnsure,
      unkept: control.changeUnkept,
    }));
  } finally {
    if (closed !== null) world.terminal.write(proseText(closed));
  }
}

/** A pause is one of many causes: whoever ends it hears of the one that is left. Null: none, as far as the process says. */
async function stillClosedText(world: CommandWorld): Promise<string | null> {
  const place = world.daemon();
  if (place === null) return null;
  // Loaded here: every other command would start later for it.
  const { askStatus } = await import('./daemon.ts');
  const answer = await askStatus(place);
  const bidding = answer.kind === 'answered' ? answer.status.bidding : null;
  if (bidding === null || bidding.cause === null || bidding.cause === 'paused') return null;
  const { bidding: texts, control } = world.format.texts;
  const { cause, detail } = bidding;
  return control.stillClosed(causeText(texts, cause, detail), cause, remedyOf(texts, cause, detail));
}

/** What counts under a cap by hand already, of an earlier one of its name; null: nothing, or it cannot be read. The order stands all the same. */
async function usedUnder({ format }: CommandWorld, desk: DeskControl, name: string): Promise<string | null> {
  try {
    const use = await desk.capUse(name);
    return use === null || use.usedCents === 0 ? null : format.money(use.usedCents);
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return null;
  }
}

/** Sets (`cents`), removes (null) or, left out, shows an operator's cap. */
export async function capDesk(
  world: CommandWorld,
  name: string,
  cents: number | null | undefined,
  { reason, ...orderer }: Orderer & { reason?: string | undefined },
): Promise<void> {
  const { format, terminal } = world;
  const texts = format.texts.control;
  if (cents !== undefined) {
    const told = (revision: number, count: number) =>
      cents === null ? texts.capRemoved(name, revision, count) : texts.cap(name, format.money(cents), revision, count);
    const stored = (revision: number) => told(revision, 0);
    const change = { name, limitCents: cents, reason: reason ?? null };
    let counted: string | null = null;
    const setCap = async (desk: DeskControl) => {
      const outcome = await desk.setCap(change);
      if (cents !== null && outcome.kind === 'stored') counted = await usedUnder(world, desk, name);
      return outcome;
    };
    const outcome = await orderOf(world, orderer, setCap, machineUser);
    if (cents !== null && outcome.kind === 'cap-unknown' && outcome.nearest !== undefined)
      throw new Fault('not-found', texts.capSameName(name, outcome.nearest));
    tellControl(
      world,
      outcome,
      () => ({
        told,
        stored,
        notStored: texts.changeNotStored,
        unsure: texts.changeUnsure,
        unkept: texts.changeUnkept,
      }),
      name,
    );
    if (counted !== null) terminal.write(proseText(texts.capCounts(name, counted)));
    return;
  }
  const use = await withDesk(world, (desk) => desk.capUse(name));
  if (use === null) throw new Fault('not-found', texts.capNone(name));
  const used = format.money(use.usedCents);
  if (use.limitCents !== null) terminal.write(proseText(texts.capUsage(name, used, format.money(use.limitCents))));
  else terminal.write(proseText(texts.ruleCapUsage(name, used, use.bids)));
}
