/**
 * Operators' controls. Redis may lose what operators said (emptied, set back to an older dump): every process that had read it, and
 * every process that reads it from the copies in the log, says it again at its next reading, so that no pause is lifted by a loss.
 */
import { randomUUID } from 'node:crypto';
import {
  type Control,
  type ControlArchive,
  type ControlCopies,
  type ControlCopy,
  type ControlState,
  historyOf,
  type OperatorChange,
  type Pause,
  type RuleOrder,
  type Snooze,
  withChanges,
  withOrder,
  withoutSnooze,
  withSnooze,
} from '../../bidding/ports.ts';
import { Fault } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** Instances are drawn anew at each start; those silent for a day are gone. */
const forgottenAfterMs = 86_400_000;
const attempts = 50;

type Acknowledged = { instance: string; revision: number; at: number };
type Caps = readonly (readonly [name: string, limitCents: number])[];

/** `era` is named anew after each loss: revisions of two eras cannot be compared. */
type Said = {
  era: string;
  revision: number;
  pause: Pause | null;
  caps: Caps;
  snoozes: readonly Snooze[];
  ruleOrders: readonly RuleOrder[];
  changes: readonly OperatorChange[];
};

const nothing: Said = { era: '', revision: 0, pause: null, caps: [], snoozes: [], ruleOrders: [], changes: [] };

/** What an earlier version did not say yet is nothing. */
function saidIn(text: string): Said {
  return { ...nothing, ...JSON.parse(text) };
}

/** Both have a claim to be obeyed: the more careful word wins. */
function merged(found: Said, known: Said): Said {
  const caps = new Map(found.caps);
  for (const [name, limitCents] of known.caps) caps.set(name, Math.min(limitCents, caps.get(name) ?? limitCents));
  return {
    // A lower revision of the same era is an older copy of it: what is said from here on is another story.
    era: found.era === '' || found.era === known.era ? randomUUID() : found.era,
    revision: Math.max(found.revision, known.revision) + 1,
    pause: found.pause ?? known.pause,
    caps: [...caps],
    snoozes: mergedSnoozes(found, known),
    ruleOrders: mergedOrders(found.ruleOrders, known.ruleOrders),
    changes: withChanges(found.changes, known.changes),
  };
}

/** Asleep is what both say is, until the earlier time; where nothing was found, what is known. */
function mergedSnoozes(found: Said, known: Said): readonly Snooze[] {
  if (found.revision === 0) return known.snoozes;
  return found.snoozes.flatMap((one) => {
    const other = known.snoozes.find(({ rule, digest }) => rule === one.rule && digest === one.digest);
    return other === undefined ? [] : [one.until < other.until ? one : other];
  });
}

/** What either side has announced, each at its time. */
function mergedOrders(found: readonly RuleOrder[], known: readonly RuleOrder[]): readonly RuleOrder[] {
  const all = [...found, ...known].sort((left, right) => left.liveAt - right.liveAt);
  return all.reduce<readonly RuleOrder[]>(withOrder, []);
}

function isKept(found: Said, known: Said): boolean {
  return known.revision === 0 || (found.era === known.era && found.revision >= known.revision);
}

type Fields = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => Number.isFinite(value);

function isListOf(value: unknown, holds: (one: Fields) => boolean): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && holds(one));
}

/** Null for what is no state of the controls: anybody who may write to the topic of the copies can have written it. */
function saidInCopy({ text }: ControlCopy): Said | null {
  let said: Said;
  try {
    said = saidIn(text);
  } catch {
    return null;
  }
  const { era, revision, pause } = said;
  const isWhole =
    isText(era) &&
    Number.isSafeInteger(revision) &&
    // Nothing that was never said is copied.
    revision > 0 &&
    (pause === null || isListOf([pause], ({ by, at }) => isText(by) && isNumber(at))) &&
    isListOf(said.caps, ({ 0: name, 1: limitCents }) => isText(name) && isNumber(limitCents)) &&
    isListOf(said.snoozes, ({ rule, digest, until }) => isText(rule) && isText(digest) && isNumber(until)) &&
    isListOf(said.ruleOrders, ({ hash, liveAt }) => isText(hash) && isNumber(liveAt)) &&
    isListOf(said.changes, ({ kind, at, revision: made }) => isText(kind) && isNumber(at) && isNumber(made));
  return isWhole ? said : null;
}

/** Those that can be read. One that cannot be must not hide the others. */
async function readCopies(copies: ControlCopies): Promise<Said[]> {
  return (await copies.read()).flatMap((copy) => {
    const said = saidInCopy(copy);
    if (said === null) copies.passOver(copy.place);
    return said ?? [];
  });
}

/** The last word among the copies. Two changes at once may have been copied in either order; their revisions tell. */
function lastOf(copies: readonly Said[]): Said {
  let last = nothing;
  for (const said of copies) {
    if (said.era !== last.era || said.revision >= last.revision) last = said;
  }
  return last;
}

function createWord(connection: Connection, key: string, copies: ControlCopies | null) {
  /** Null: the copies have not been read yet. */
  let known: Said | null = null;
  let copied = nothing;
  /** What is known was read from Redis, or is obeyed here. A command that only reads may know more from the copies, and writes nothing. */
  let mayRepeat = false;

  const recall = async (): Promise<Said> => {
    copied = copies === null ? nothing : lastOf(await readCopies(copies));
    return copied;
  };
  const load = async (): Promise<Said> => {
    const said = await connection.command<string | null>('HGET', key, 'said');
    return said === null ? nothing : saidIn(said);
  };
  /** False where another change came first. */
  const store = async (before: Said, said: Said): Promise<boolean> => {
    const args = [`${before.era}:${before.revision}`, `${said.era}:${said.revision}`, JSON.stringify(said)];
    return (await connection.run(scripts.control, [key], args)) === 1;
  };
  /**
   * What stands there once `make` has had its say of it; null leaves it. Redis may have been set back, so what it says alone is never
   * taken for known: where the copies cannot be read, this rejects, unless `alone` says what to do with what Redis has.
   */
  const settle = async (
    make: (found: Said) => Said | null,
    alone: (found: Said, fault: unknown) => Promise<Said | null> = async (_found, fault) => {
      throw fault;
    },
  ): Promise<Said> => {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const found = await load();
      try {
        known ??= await recall();
      } catch (fault) {
        if (found.revision === 0) throw fault;
        const said = await alone(found, fault);
        if (said !== null) return said;
        continue;
      }
      const base = isKept(found, known) ? found : merged(found, known);
      const changed = make(base);
      const said = changed ?? base;
      if (changed === null && said !== found && !mayRepeat) return said;
      if (said === found || (await store(found, said))) {
        known = said;
        mayRepeat ||= said.revision > 0;
        return said;
      }
    }
    throw new Fault('views-unavailable', 'The controls are being changed by too many at once.');
  };
  const isCopied = (said: Said): boolean =>
    copies === null || said.revision === 0 || (said.era === copied.era && said.revision <= copied.revision);
  /** Adds a copy where none says the same. */
  const keep = async (said: Said): Promise<void> => {
    if (copies === null || isCopied(said)) return;
    await copies.add(JSON.stringify(said));
    copied = said;
  };
  /** A copy of what others said is being looked for, and added where it is missing. */
  let isLooking = false;
  return {
    settle,
    store,
    keep,
    /** By a process that obeys. What it knows is copied where it is not yet: said before there were copies, or just before a crash. */
    obey: async () => {
      mayRepeat = true;
      if (known !== null) await keep(known);
    },
    /**
     * By a process that obeys: a command may have died, or not have reached the log, after Redis had its order. Nobody waits for
     * it, and what fails is tried again with the next sign of life.
     */
    keepOfOthers: () => {
      const said = known;
      if (isLooking || said === null || isCopied(said)) return;
      isLooking = true;
      const look = async (): Promise<void> => {
        await recall();
        await keep(said);
      };
      look()
        .catch(() => undefined)
        .finally(() => {
          isLooking = false;
        });
    },
  };
}

export function createControl(
  connection: Connection,
  prefix: string,
  copies: ControlCopies | null,
): Control & ControlArchive {
  const word = createWord(connection, `${prefix}control`, copies);
  const acknowledgements = `${prefix}acknowledgements`;
  let cleared = false;

  /** By the last sign of each: `gone` are silent for so long that they do not count. */
  async function acknowledgedBy(): Promise<{ living: Acknowledged[]; gone: string[] }> {
    const flat = await connection.command<string[]>('HGETALL', acknowledgements);
    const all: Acknowledged[] = [];
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const [revision, at] = flat[i + 1]!.split('|');
      all.push({ instance: flat[i]!, revision: Number(revision), at: Number(at) });
    }
    const newest = all.reduce((time, { at }) => Math.max(time, at), 0);
    const living = all.filter(({ at }) => at >= newest - forgottenAfterMs);
    return { living, gone: all.filter((each) => !living.includes(each)).map(({ instance }) => instance) };
  }

  const unkept = (cause: unknown): Fault => {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new Fault('order-unkept', `The log did not keep it: ${why}`, cause);
  };
  type Edit = (said: Said) => Partial<Said> | null;
  const edited = (before: Said, edit: Edit, era: string): Said | null => {
    const fields = edit(before);
    return fields === null ? null : { ...before, era, revision: before.revision + 1, ...fields };
  };
  const change = async (edit: Edit, alone?: Parameters<typeof word.settle>[1]): Promise<number> => {
    const said = await word.settle(
      (before) => edited(before, edit, before.era === '' ? randomUUID() : before.era),
      alone,
    );
    await word.keep(said).catch((cause: unknown) => {
      throw unkept(cause);
    });
    return said.revision;
  };
  /** What Redis says is shown to a command while the log does not answer. */
  const read = (): Promise<Said> => {
    const isShown = copies?.needed === false;
    return word.settle(() => null, isShown ? async (found) => found : undefined);
  };
  return {
    server: connection.server,
    read: async (): Promise<ControlState> => {
      const { revision, pause, caps, snoozes, ruleOrders, changes } = await read();
      return { revision, pause, caps: Object.fromEntries(caps), snoozes, ruleOrders, changes };
    },
    // A change that Redis knows and the log does not yet is one all the same.
    history: async () => {
      const kept = copies === null ? [] : await readCopies(copies);
      return historyOf([...kept, await read()]);
    },
    setPause: (pause) => {
      const edit: Edit = ({ revision, changes }) => ({
        pause,
        changes: withChanges(changes, [{ ...pause, revision: revision + 1, kind: 'paused' }]),
      });
      // A log that does not answer keeps nobody from being told to pause. Of an era of its own, so that whoever knows the copies puts
      // both together; a copy of it would hide theirs.
      return change(edit, async (found, fault) => {
        if (await word.store(found, edited(found, edit, randomUUID())!)) throw unkept(fault);
        return null;
      });
    },
    resume: (by) =>
      change(({ revision, changes }) => ({
        pause: null,
        changes: withChanges(changes, [{ ...by, revision: revision + 1, kind: 'resumed' }]),
      })),
    setCap: (name, limitCents, by) =>
      change(({ revision, caps, changes }) => {
        const others = caps.filter(([other]) => other !== name);
        const done = { ...by, revision: revision + 1, name };
        if (limitCents === null)
          return { caps: others, changes: withChanges(changes, [{ ...done, kind: 'cap-removed' }]) };
        return {
          caps: [...others, [name, limitCents]],
          changes: withChanges(changes, [{ ...done, kind: 'cap-set', limitCents }]),
        };
      }),
    snoozeRule: (snooze) =>
      change(({ revision, snoozes, changes }) => {
        const { rule: name, ...said } = snooze;
        const done = { ...said, revision: revision + 1, kind: 'rule-snoozed' as const, name };
        return { snoozes: withSnooze(snoozes, snooze), changes: withChanges(changes, [done]) };
      }),
    resumeRule: (rule, by) =>
      change(({ revision, snoozes, changes }) => ({
        snoozes: withoutSnooze(snoozes, rule, by.at),
        changes: withChanges(changes, [{ ...by, revision: revision + 1, kind: 'rule-resumed', name: rule }]),
      })),
    announceRules: (order) =>
      change((said) => {
        const ruleOrders = withOrder(said.ruleOrders, order);
        return ruleOrders === said.ruleOrders ? null : { ruleOrders };
      }),
    acknowledge: async (instance, revision, at) => {
      await connection.command('HSET', acknowledgements, instance, `${revision}|${at}`);
      if (cleared) {
        word.keepOfOthers();
        return;
      }
      // Each process does this once; whoever only reads the list changes nothing.
      await word.obey();
      cleared = true;
      const { gone } = await acknowledgedBy();
      if (gone.length > 0) await connection.command('HDEL', acknowledgements, ...gone);
    },
    acknowledged: async () => (await acknowledgedBy()).living,
  };
}
