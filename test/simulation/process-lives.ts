/** The instances of the desk: two slots, each with one life after the other; freezes, crashes and orderly restarts. */

import { createAuthorisations } from '../../src/bidding/authorisations.ts';
import { createDesk, type Desk } from '../../src/bidding/desk.ts';
import type { NewRuleBookEntry, RuleWatch } from '../../src/bidding/ports.ts';
import { createRuleDesk, type RuleDesk } from '../../src/bidding/rule-desk.ts';
import type { Vault } from '../../src/domain/vault.ts';
import { bodyReader, createDoor, type Door } from '../../src/http/door.ts';
import { isBidOf } from '../../src/wire/bid.ts';
import type { RequestMapping } from '../../src/wire/mapping-table.ts';
import { createEventLog, type LogWorld } from './event-log.ts';
import { encode, type RuleVariants, settings } from './policy.ts';
import type { Remote } from './remote.ts';
import { createService, type ServiceWorld } from './service-port.ts';
import {
  type ControlStore,
  createControl,
  createMarginCache,
  createRuleBook,
  type MarginStore,
} from './small-ports.ts';
import { createViews, type ViewWorld } from './views.ts';
import type { Process } from './virtual-time.ts';

/** `door`: null until the desk has compared its time with the log, as the daemon's server takes nothing before. */
type Life = { process: Process; desk: Desk; rules: RuleDesk; door: Door | null };

export type LivesWorld = {
  remote: Remote;
  log: LogWorld;
  views: ViewWorld;
  service: ServiceWorld;
  control: ControlStore;
  margins: MarginStore;
  vault: Vault;
  mapping: RequestMapping;
  ruleBook: NewRuleBookEntry[];
  rules: RuleVariants;
  /** The rules are those of the beginning for good, and no rule desk looks after them. */
  fixedRules: boolean;
};

export type Lives = {
  processes: () => readonly Process[];
  doorOf: (process: Process) => Door | null;
  begin: () => void;
  crash: (process: Process) => void;
  freeze: (process: Process, durationMs: number) => void;
  restart: (process: Process) => void;
  /** Moves the clock of its machine, for a while. */
  step: (process: Process, byMs: number, durationMs: number) => void;
  /** Ends all freezes and steps. */
  thaw: () => void;
};

const slots = ['a', 'b'] as const;
type Slot = (typeof slots)[number];

const hourMs = 3_600_000;
const doorLimits = { bodyLimitBytes: 1_000_000, depthLimit: 64, doorQueueLimit: 6, appendTimeoutMs: 3_000 };

/** Nobody changes the folder of rules here: sets are announced by operators. */
function watchOf(rules: RuleVariants): RuleWatch {
  return {
    start: () => {},
    check: async (source) => {
      const { hash } = rules.all.find((variant) => variant.source === source)!;
      return { kind: 'good', hash, source };
    },
    judge: async () => ({ kind: 'refused', text: 'nobody proposes sets here' }),
    stop: async () => {},
  };
}

export function createLives(world: LivesWorld): Lives {
  const { remote } = world;
  const { chance, faults, time } = remote;
  const lives = new Map<Slot, Life>();
  let births = 0;

  function bear(slot: Slot): void {
    births += 1;
    const skewed = faults.strikes('clock-skew', 0.5);
    const process: Process = {
      id: `${slot}${births}`,
      alive: true,
      diedAt: 0,
      frozenAt: 0,
      frozenUntil: 0,
      skewMs: skewed ? chance.between(-200, 200) : 0,
      stepMs: 0,
    };
    // A machine whose clock is set some time after its start; without any record nothing tells that it is wrong.
    if (
      world.log.store.topics.auctions.some((entries) => entries.length > 0) &&
      faults.strikes('clock-corrected', 0.02)
    )
      step(process, chance.pick([-1, 1]) * chance.between(2 * hourMs, 96 * hourMs), chance.between(500, 3_000));
    const clock = time.clockOf(process);
    const log = createEventLog(world.log, process);
    const control = createControl(remote, world.control, process);
    const rules = createRuleDesk({
      watch: watchOf(world.rules),
      ruleBook: createRuleBook(remote, world.ruleBook, process),
      control,
      clock,
      approval: false,
      policyOf: ({ hash }) => world.rules.ofHash(hash).policy,
      onEvent: () => {},
    });
    const desk = createDesk({
      instance: process.id,
      soleOwner: false,
      log,
      views: createViews(world.views, process),
      margins: createMarginCache(remote, world.margins, process),
      control,
      service: createService(world.service, process),
      authorisations: createAuthorisations({ always: false }),
      vault: world.vault,
      clock,
      chance: chance.fork(process.id).unit,
      settings,
      earlierTerms: settings,
      learning: true,
      policy: world.fixedRules ? () => world.rules.all[0]!.policy : rules.policy,
      ...(world.fixedRules ? {} : { onControl: rules.onControl }),
      encodeBid: encode,
      isBidOf,
      observer: () => {},
    });
    const door = createDoor({
      append: log.append,
      readBody: bodyReader({ ...world, limits: doorLimits, terms: settings }),
      clock,
      limits: doorLimits,
      observer: () => {},
    });
    const life: Life = { process, desk, rules, door: null };
    lives.set(slot, life);
    // A desk that cannot start ends its process; whoever watches over it starts it again.
    rules
      .start()
      .then(desk.start)
      .then(() => {
        life.door = door;
      })
      .catch(() => crash(process));
  }

  function slotOf(process: Process): Slot {
    return process.id[0] as Slot;
  }

  function crash(process: Process): void {
    if (!process.alive) return;
    process.alive = false;
    process.diedAt = time.now();
    const slot = slotOf(process);
    time.after(faults.over() ? 50 : chance.between(50, 4_000), null, () => bear(slot));
  }

  function step(process: Process, byMs: number, durationMs: number): void {
    process.stepMs = byMs;
    time.after(durationMs, null, () => {
      process.stepMs = 0;
    });
  }

  function restart(process: Process): void {
    const life = lives.get(slotOf(process));
    if (life === undefined || life.process !== process || !process.alive) return;
    const stopped = life.desk.stop().then(life.rules.stop);
    stopped.then(
      () => crash(process),
      () => crash(process),
    );
    time.after(6_000, null, () => crash(process));
  }

  return {
    processes: () => [...lives.values()].map((life) => life.process),
    doorOf: (process) => [...lives.values()].find((life) => life.process === process)?.door ?? null,
    begin: () => {
      for (const slot of slots) bear(slot);
    },
    crash,
    freeze: (process, durationMs) => {
      if (process.frozenUntil <= time.now()) process.frozenAt = time.now();
      process.frozenUntil = Math.max(process.frozenUntil, time.now() + durationMs);
    },
    restart,
    step,
    thaw: () => {
      for (const { process } of lives.values()) {
        process.frozenUntil = Math.min(process.frozenUntil, time.now());
        process.stepMs = 0;
      }
    },
  };
}
