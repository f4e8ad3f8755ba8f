/**
 * Operators' controls. Redis may lose what operators said (emptied, set back to an older dump): every process that had read it
 * says it again at its next reading, so that no pause is lifted by a loss.
 */
import {
  type Control,
  type ControlState,
  type OperatorChange,
  type Pause,
  type RuleOrder,
  withChanges,
  withOrder,
} from '../../bidding/ports.ts';
import { Fault } from '../../errors.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';
import { newName } from './view-text.ts';

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
  ruleOrders: readonly RuleOrder[];
  changes: readonly OperatorChange[];
};

const nothing: Said = { era: '', revision: 0, pause: null, caps: [], ruleOrders: [], changes: [] };

/** Both have a claim to be obeyed: the more careful word wins. */
function merged(found: Said, known: Said): Said {
  const caps = new Map(found.caps);
  for (const [name, limitCents] of known.caps) caps.set(name, Math.min(limitCents, caps.get(name) ?? limitCents));
  return {
    // A lower revision of the same era is an older copy of it: what is said from here on is another story.
    era: found.era === '' || found.era === known.era ? newName() : found.era,
    revision: Math.max(found.revision, known.revision) + 1,
    pause: found.pause ?? known.pause,
    caps: [...caps],
    ruleOrders: mergedOrders(found.ruleOrders, known.ruleOrders),
    changes: withChanges(found.changes, known.changes),
  };
}

/** What either side has announced, each at its time. */
function mergedOrders(found: readonly RuleOrder[], known: readonly RuleOrder[]): readonly RuleOrder[] {
  const all = [...found, ...known].sort((left, right) => left.liveAt - right.liveAt);
  return all.reduce<readonly RuleOrder[]>(withOrder, []);
}

function isKept(found: Said, known: Said): boolean {
  return known.revision === 0 || (found.era === known.era && found.revision >= known.revision);
}

function createWord(connection: Connection, key: string) {
  let known = nothing;

  const load = async (): Promise<Said> => {
    const said = await connection.command<string | null>('HGET', key, 'said');
    return said === null ? nothing : { ...nothing, ...JSON.parse(said) };
  };
  /** False where another change came first. */
  const store = async (before: Said, said: Said): Promise<boolean> => {
    const args = [`${before.era}:${before.revision}`, `${said.era}:${said.revision}`, JSON.stringify(said)];
    return (await connection.run(scripts.control, [key], args)) === 1;
  };
  /** What stands there once `make` has had its say of it; null leaves it. */
  const settle = async (make: (found: Said) => Said | null): Promise<Said> => {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const found = await load();
      const base = isKept(found, known) ? found : merged(found, known);
      const said = make(base) ?? base;
      if (said === found || (await store(found, said))) {
        known = said;
        return said;
      }
    }
    throw new Fault('views-unavailable', 'The controls are being changed by too many at once.');
  };
  return { settle };
}

export function createControl(connection: Connection, prefix: string): Control {
  const word = createWord(connection, `${prefix}control`);
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

  const change = async (edit: (said: Said) => Partial<Said> | null): Promise<number> => {
    const { revision } = await word.settle((said) => {
      const edited = edit(said);
      if (edited === null) return null;
      return { ...said, era: said.era === '' ? newName() : said.era, revision: said.revision + 1, ...edited };
    });
    return revision;
  };
  return {
    read: async (): Promise<ControlState> => {
      const { revision, pause, caps, ruleOrders, changes } = await word.settle(() => null);
      return { revision, pause, caps: Object.fromEntries(caps), ruleOrders, changes };
    },
    setPause: (pause) =>
      change(({ revision, changes }) => ({
        pause,
        changes: withChanges(changes, [{ ...pause, revision: revision + 1, kind: 'paused' }]),
      })),
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
    announceRules: (order) =>
      change((said) => {
        const ruleOrders = withOrder(said.ruleOrders, order);
        return ruleOrders === said.ruleOrders ? null : { ruleOrders };
      }),
    acknowledge: async (instance, revision, at) => {
      await connection.command('HSET', acknowledgements, instance, `${revision}|${at}`);
      if (cleared) return;
      // Each process clears away once what others have left behind; whoever only reads the list changes nothing.
      cleared = true;
      const { gone } = await acknowledgedBy();
      if (gone.length > 0) await connection.command('HDEL', acknowledgements, ...gone);
    },
    acknowledged: async () => (await acknowledgedBy()).living,
  };
}
