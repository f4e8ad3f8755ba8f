/** Margin cache, control and rule book, one of each for the cluster: a cache that forgets, and a control that may be slow to read. */
import {
  type Control,
  type ControlState,
  type MarginCache,
  type NewRuleBookEntry,
  type Pause,
  type RuleBook,
  withOrder,
  withoutSnooze,
  withSnooze,
} from '../../src/bidding/ports.ts';
import type { EpochMs } from '../../src/domain/glossary.ts';
import type { LinkDetail } from '../../src/domain/request.ts';
import { Fault } from '../../src/errors.ts';
import { call, type Remote } from './remote.ts';
import type { Process } from './virtual-time.ts';

export type MarginStore = Map<string, LinkDetail>;

const dayMs = 86_400_000;

export function createMarginCache(remote: Remote, store: MarginStore, process: Process): MarginCache {
  const { chance, faults } = remote;
  const journey = () => ({ thereMs: chance.between(0, 3), backMs: chance.between(0, 3) });
  return {
    read: (linkKeys, at) =>
      call(remote, process, journey(), () => {
        if (faults.strikes('margin-cache-failed', 0.02)) throw new Fault('views-unavailable', 'no margin cache');
        if (faults.strikes('margin-cache-lost', 0.03)) store.clear();
        const found = linkKeys.flatMap((linkKey) => {
          const detail = store.get(linkKey);
          if (detail === undefined || detail.receivedAt < at - dayMs) return [];
          return faults.strikes('margin-miss', 0.1) ? [] : [[linkKey, { ...detail }] as const];
        });
        return new Map(found);
      }),
    write: (details) =>
      call(remote, process, journey(), () => {
        if (faults.strikes('margin-cache-failed', 0.02)) throw new Fault('views-unavailable', 'no margin cache');
        for (const detail of details) {
          const known = store.get(detail.linkKey);
          if (known === undefined || known.receivedAt <= detail.receivedAt) store.set(detail.linkKey, { ...detail });
        }
      }),
  };
}

export type ControlStore = {
  state: ControlState;
  acknowledged: Map<string, { revision: number; at: EpochMs }>;
  /** True times at which a process acknowledged a pause, and at which the pause was lifted; for the checker. */
  obeyed: { instance: string; from: EpochMs; until: EpochMs | null }[];
  /** Every state that operators brought about, with its true time; the first one is from the beginning. */
  history: { at: EpochMs; state: ControlState }[];
  /** Until when a process cannot reach the control. */
  cutUntil: Map<string, EpochMs>;
};

/** `hash`: of the rule set in force from the beginning. */
export function createControlStore(startAt: EpochMs, hash: string): ControlStore {
  const state: ControlState = {
    revision: 1,
    pause: null,
    caps: {},
    snoozes: [],
    ruleOrders: [{ hash, liveAt: startAt - 60_000 }],
    changes: [],
  };
  const history = [{ at: startAt, state }];
  return { state, acknowledged: new Map(), obeyed: [], history, cutUntil: new Map() };
}

/** What an operator does from outside. */
export function operate(store: ControlStore, at: EpochMs, change: Partial<Omit<ControlState, 'revision'>>): number {
  store.state = { ...store.state, ...change, revision: store.state.revision + 1 };
  store.history.push({ at, state: store.state });
  if (change.pause === null) for (const span of store.obeyed) span.until ??= at;
  return store.state.revision;
}

export function createControl(remote: Remote, store: ControlStore, process: Process): Control {
  const { chance, faults, time } = remote;
  const journey = () => {
    const slow = faults.strikes('control-slow', 0.01) ? chance.between(500, 8_000) : 0;
    return { thereMs: chance.between(0, 3), backMs: chance.between(0, 3) + slow };
  };
  return {
    read: () =>
      call(remote, process, journey(), () => {
        const isCut = time.now() < (store.cutUntil.get(process.id) ?? 0) && !faults.over();
        if (isCut || faults.strikes('control-failed', 0.01)) throw new Fault('views-unavailable', 'no control');
        return structuredClone(store.state);
      }),
    setPause: (pause: Pause) => call(remote, process, journey(), () => operate(store, time.now(), { pause })),
    resume: () => call(remote, process, journey(), () => operate(store, time.now(), { pause: null })),
    setCap: (name, limitCents) =>
      call(remote, process, journey(), () => {
        const { [name]: _, ...others } = store.state.caps;
        return operate(store, time.now(), { caps: limitCents === null ? others : { ...others, [name]: limitCents } });
      }),
    snoozeRule: (snooze) =>
      call(remote, process, journey(), () =>
        operate(store, time.now(), { snoozes: withSnooze(store.state.snoozes, snooze) }),
      ),
    resumeRule: (rule, { at }) =>
      call(remote, process, journey(), () =>
        operate(store, time.now(), { snoozes: withoutSnooze(store.state.snoozes, rule, at) }),
      ),
    announceRules: (order) =>
      call(remote, process, journey(), () =>
        operate(store, time.now(), { ruleOrders: withOrder(store.state.ruleOrders, order) }),
      ),
    acknowledge: (instance, revision, at) => {
      // What counts is when the process says so, not when it is heard.
      if (process.alive && revision === store.state.revision && store.state.pause !== null) {
        const known = store.obeyed.some((span) => span.instance === instance && span.until === null);
        if (!known) store.obeyed.push({ instance, from: time.now(), until: null });
      }
      return call(remote, process, journey(), () => {
        store.acknowledged.set(instance, { revision, at });
      });
    },
    acknowledged: () =>
      call(remote, process, journey(), () =>
        [...store.acknowledged].map(([instance, { revision, at }]) => ({ instance, revision, at })),
      ),
  };
}

/** What became of rule sets, as the log keeps it. */
export function createRuleBook(remote: Remote, entries: NewRuleBookEntry[], process: Process): RuleBook {
  const { chance } = remote;
  const journey = () => ({ thereMs: chance.between(0, 4), backMs: chance.between(0, 4) });
  return {
    read: () => call(remote, process, journey(), () => structuredClone(entries)),
    source: (hash) =>
      call(remote, process, journey(), () => {
        const proposed = entries.find((entry) => entry.kind === 'proposed' && entry.hash === hash);
        return proposed?.kind === 'proposed' ? proposed.source : null;
      }),
    append: (entry) => call(remote, process, journey(), () => void entries.push(structuredClone(entry))),
  };
}
