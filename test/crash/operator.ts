/**
 * The operator of a crash run: pauses, sets caps by hand and activates other rules through the store, as the command line does, and
 * writes down what was ordered when. The auditor judges by this list, not by what the desk says it was told.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import type { Control, RuleBook } from '../../src/bidding/ports.ts';
import { announceAheadMs } from '../../src/bidding/rule-book.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import {
  type OrderedCap,
  type OrderedPause,
  type OrderedRules,
  type Orders,
  readCapRules,
} from '../../src/sandbox/auditor/orders.ts';

export type RuleFiles = readonly { path: string; text: string }[];

export type Controls = { control: Control; ruleBook: RuleBook };

/** Hands out the controls for one order. */
export type WithControls = (give: (controls: Controls) => Promise<unknown>) => Promise<void>;

function word() {
  return { by: 'operator of the crash run', via: 'offline' as const, reason: 'an order to be obeyed', at: Date.now() };
}

export type Operator = {
  orders: Orders;
  pause: () => Promise<void>;
  resume: () => Promise<void>;
  /** Null removes it. */
  cap: (name: string, limitCents: number | null) => Promise<void>;
  activate: (files: RuleFiles) => Promise<void>;
};

/** Opened for one order and closed after it: an open handle would change what the next desk has to recover. */
export function besideEmbedded(directory: string): WithControls {
  return async (give) => {
    const reader = openEmbeddedReader({ directory });
    try {
      await give(reader);
    } finally {
      reader.close();
    }
  };
}

/** `files`: the rules in force from the beginning. */
export function createOperator(withControls: WithControls, files: RuleFiles): Operator {
  const ruleSets: OrderedRules[] = [{ from: 0, caps: capsIn(files) }];
  const caps: OrderedCap[] = [];
  const pauses: { from: number; until: number | null }[] = [];

  return {
    orders: { ruleSets, caps, pauses: pauses satisfies OrderedPause[] },
    pause: async () => {
      await withControls(({ control }) => control.setPause(word()));
      // What tightens counts from when it was durable, what loosens from before it was asked for.
      pauses.push({ from: Date.now(), until: null });
    },
    resume: async () => {
      for (const pause of pauses) pause.until ??= Date.now();
      await withControls(({ control }) => control.resume(word()));
    },
    cap: async (name, limitCents) => {
      const askedAt = Date.now();
      await withControls(({ control }) => control.setCap(name, limitCents, word()));
      caps.push({ at: limitCents === null ? askedAt : Date.now(), name, limitCents });
    },
    activate: async (changed) => {
      const compiled = compileRuleSet(changed);
      if (compiled.kind === 'refused')
        throw new Error(`the changed rules are refused: ${JSON.stringify(compiled.faults)}`);
      const { hash, source } = compiled.ruleSet;
      await withControls(async ({ control, ruleBook }) => {
        // Without a word of how they were given the desk takes them for rows that somebody put in.
        const { by, via, at } = word();
        await ruleBook.append({ kind: 'proposed', hash, at, by, via, against: null, changes: [], source });
        await ruleBook.append({ kind: 'activated', hash, at, by, via });
        const liveAt = Date.now() + announceAheadMs;
        await control.announceRules({ hash, liveAt });
        ruleSets.push({ from: liveAt, caps: capsIn(changed) });
      });
    },
  };
}

function capsIn(files: RuleFiles): OrderedRules['caps'] {
  const { caps, unread } = readCapRules(files);
  if (unread.length > 0) throw new Error(`the auditor cannot judge these caps: ${unread.join(', ')}`);
  return caps;
}

/** Longer than an order may go unheard, by what bytes that arrive then are named for. */
const pausedMs = 4_500;
/** Longer than an order may go unheard. */
const cappedMs = 4_000;
/** Bids are of 4,000 to 10,000 reais on the average, and some 60 in 100 requests are bid for: reached within two seconds. */
export const cappedCentsPerRequestASecond = 400_000;
const afterMs = 2_500;

/** Each kind of order once, while a desk bids; ends when it has bid again for a while. */
export async function giveOrders(operator: Operator, files: RuleFiles, capByHandCents: number): Promise<void> {
  const name = `by-hand-${operator.orders.caps.length}`;
  await operator.activate(files);
  await operator.cap(name, capByHandCents);
  await sleep(cappedMs);
  await operator.pause();
  await operator.cap(name, null);
  await sleep(pausedMs);
  await operator.resume();
  await sleep(afterMs);
}
