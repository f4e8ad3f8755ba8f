/** Pause, resumption and caps by hand: ordered, and waited for until every live process obeys. The same for API and command line. */
import { noBidReceivedBefore } from '../bidding/house.ts';
import {
  type Control,
  type ControlArchive,
  type ControlHistory,
  type ControlState,
  type House,
  lastChanges,
  type OperatorChange,
  type RuleBook,
  type RuleBookEntry,
  type Views,
} from '../bidding/ports.ts';
import { activations, isApprovalNeeded, isKnown, person, standsMs } from '../bidding/rule-book.ts';
import { dayKeys, operatorDayKeys, usageUnder } from '../domain/cap-book.ts';
import type { Clock } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { nearestWord } from '../domain/nearest-word.ts';
import type { Identity, Via } from '../domain/roles.ts';
import { Fault } from '../errors.ts';
import { lifeMs, living, lookFor, watchLiving } from './living.ts';
import { type ReadingGiven, readingsIn } from './personal-reads.ts';

export type ControlParts = {
  control: Control & ControlArchive;
  ruleBook: Pick<RuleBook, 'read' | 'append'>;
  views: Pick<Views, 'usage'>;
  house: Pick<House, 'origins'>;
  clock: Clock;
};

/** Longer than `lifeMs`, so that a process that has just died is not waited for in vain. */
const timeoutMs = lifeMs + 1_000;

/**
 * `obeyedBy` and `late`: the processes that lived when it was ordered or later, by whether they have acknowledged the revision. `silent`:
 * those of `late` that have shown no life for seconds, and when they last did; absent: none.
 */
export type Obeyed = {
  revision: number;
  obeyedBy: readonly string[];
  late: readonly string[];
  silent?: readonly Silent[] | undefined;
};
export type Silent = { instance: string; at: EpochMs };

/** Resolves when every one of them has acknowledged, or after some seconds; one that hangs meanwhile stays in `late`. */
export async function changeControl(
  { control, clock }: Pick<ControlParts, 'clock'> & { control: Control },
  change: () => Promise<number>,
): Promise<Obeyed> {
  const revision = await change();
  let seen: Obeyed = { revision, obeyedBy: [], late: [] };
  const look = watchLiving(control, clock);
  await lookFor(clock, timeoutMs, async () => {
    const { living: live, unsure, silent } = await look();
    const asked = [...live, ...silent];
    const isLate = (known: { revision: number }) => known.revision < revision;
    const gone = silent.filter(isLate).map(({ instance, at }) => ({ instance, at }));
    seen = {
      ...(gone.length === 0 ? {} : { silent: gone }),
      revision,
      obeyedBy: asked.filter((known) => !isLate(known)).map(({ instance }) => instance),
      late: asked.filter(isLate).map(({ instance }) => instance),
    };
    return seen.late.length === 0 && !unsure.some(isLate) ? seen : null;
  });
  return seen;
}

/** What became of an order. Where the store failed, whoever wants bidding to stop has to hear whether it was told. */
export type ControlOutcome =
  /** `wasPaused`: before it. `restoredUntil`: of a resumption, where nothing received before that time is bid for; null: it is. */
  | ({ kind: 'stored'; wasPaused: boolean; restoredUntil?: EpochMs | null | undefined } & Obeyed)
  /** `nearest`: one that is set by hand, and was perhaps meant. */
  | { kind: 'cap-unknown'; nearest?: string }
  /** It raises a cap, and another person has to order the same within a day; nothing was changed. */
  | { kind: 'cap-one-more'; by: string }
  /** A name that was typed says nothing of who typed it, and two persons have to raise a cap. */
  | { kind: 'identity-needed' }
  /** Nothing was changed. */
  | { kind: 'not-stored'; code: StoreFault; why: string }
  /** The store did not say whether it was changed. */
  | { kind: 'unsure'; code: StoreFault; why: string }
  /** It holds, and the log does not keep it yet. */
  | { kind: 'unkept'; code: StoreFault; why: string }
  /** It is stored, and nobody knows whether the processes obey. */
  | { kind: 'unseen'; code: StoreFault; revision: number; why: string };

/** Faults of a store that may be there again. */
type StoreFault = 'log-unavailable' | 'views-unavailable' | 'order-unkept';

export function isStoreFault(code: string): code is StoreFault {
  return code === 'log-unavailable' || code === 'views-unavailable' || code === 'order-unkept';
}

export async function ordered(
  parts: Pick<ControlParts, 'clock'> & { control: Control },
  change: (control: Control) => Promise<number>,
): Promise<ControlOutcome> {
  const { control } = parts;
  let asked = false;
  let revision: number | null = null;
  try {
    const before = await control.read();
    const obeyed = await changeControl(parts, async () => {
      asked = true;
      revision = await change(control);
      return revision;
    });
    return { kind: 'stored', wasPaused: before.pause !== null, ...obeyed };
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    const { code, message: why } = fault;
    if (code === 'not-found') return { kind: 'cap-unknown' };
    if (!isStoreFault(code)) throw fault;
    if (code === 'order-unkept') return { kind: 'unkept', code, why };
    if (revision !== null) return { kind: 'unseen', code, revision, why };
    // A server that does not answer may do it all the same; the embedded store takes it back.
    return { kind: asked && code === 'views-unavailable' ? 'unsure' : 'not-stored', code, why };
  }
}

export function pause(parts: ControlParts, who: Identity, reason: string): Promise<ControlOutcome> {
  return ordered(parts, (control) => control.setPause({ ...who, reason, at: parts.clock.now() }));
}

/** Also where no pause was read: one that Redis has lost comes back from the processes that know it. */
export async function resume(parts: ControlParts, who: Identity, reason: string): Promise<ControlOutcome> {
  const outcome = await ordered(parts, (control) => control.resume({ ...who, reason, at: parts.clock.now() }));
  return outcome.kind === 'stored' ? { ...outcome, restoredUntil: await restoredUntil(parts) } : outcome;
}

/** Null also where the store does not say: the order is stored all the same, and the status of the desk tells it. */
async function restoredUntil({ house, clock }: ControlParts): Promise<EpochMs | null> {
  try {
    const until = await noBidReceivedBefore({ house });
    return clock.now() < until ? until : null;
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    return null;
  }
}

/** Names that differ in case and marks only would be two caps, both of which hold. */
function bareName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Of the caps by hand the one that was perhaps meant by a name that none of them has; null: any other name may be a new cap. */
function sameBare(name: string, known: readonly string[]): string | null {
  return known.find((each) => each !== name && bareName(each) === bareName(name)) ?? null;
}

type CapChange = { name: string; limitCents: number | null; reason: string | null };

type CapRaise = Extract<RuleBookEntry, { kind: 'cap-raise' }>;

/** A cap by hand that somebody wants raised, or taken away (`limitCents` null), and that waits until then for another person. */
export type WaitingRaise = Pick<CapRaise, 'name' | 'limitCents' | 'reason' | 'at' | 'by'> & { until: EpochMs };

/** The oldest first. Where two persons need not stand for raises any more, none waits: the next order is done at once. */
export async function waitingRaises({
  ruleBook,
  clock,
}: Pick<ControlParts, 'ruleBook' | 'clock'>): Promise<WaitingRaise[]> {
  const entries = await ruleBook.read();
  if (!isApprovalNeeded(entries, 'caps')) return [];
  const names = new Set(entries.flatMap((entry) => (entry.kind === 'cap-raise' ? [entry.name] : [])));
  return [...names]
    .flatMap((name) => [...openRaises(entries, name, clock.now()).values()])
    .map(({ name, limitCents, reason, at, by }) => ({ name, limitCents, reason, at, by, until: at + standsMs }))
    .sort((one, other) => one.at - other.at);
}

/** Raises of this cap that wait for another person, by whom: nobody completed them, and what counts of each person is their last order. */
function openRaises(entries: readonly RuleBookEntry[], name: string, now: EpochMs): Map<string, CapRaise> {
  const raises = entries.flatMap((entry) => (entry.kind === 'cap-raise' && entry.name === name ? entry : []));
  const open = new Map<string, CapRaise>();
  for (const entry of raises.slice(raises.findLastIndex(({ completes }) => completes === true) + 1)) {
    if (entry.withdraws) open.delete(person(entry.by));
    else if (isKnown(entry)) open.set(person(entry.by), entry);
  }
  for (const [by, { at }] of open) if (now - at >= standsMs) open.delete(by);
  return open;
}

/**
 * An order at once is this person's last word on the cap. Where the book cannot be read or written the raise stands until it expires: a
 * cap is lowered all the same, for that stops bids.
 */
async function withdrawRaise({ ruleBook, clock }: ControlParts, who: Identity, change: CapChange): Promise<void> {
  const at = clock.now();
  try {
    if (!openRaises(await ruleBook.read(), change.name, at).has(person(who.by))) return;
    await ruleBook.append({ kind: 'cap-raise', ...change, at, ...who, withdraws: true });
  } catch (fault) {
    if (!(fault instanceof Fault) || !isStoreFault(fault.code)) throw fault;
  }
}

/** Null: the cap may be changed now. A cap where there was none, or a lower one, stops more bids: one person may set it. */
async function refusedRaise(parts: ControlParts, who: Identity, change: CapChange): Promise<ControlOutcome | null> {
  const { control, ruleBook, clock } = parts;
  const { caps } = await control.read();
  const limit = Object.hasOwn(caps, change.name) ? caps[change.name]! : null;
  const isRaise = limit !== null && (change.limitCents === null || change.limitCents > limit);
  const entries = isRaise ? await ruleBook.read() : null;
  if (entries === null || !isApprovalNeeded(entries, 'caps')) {
    await withdrawRaise(parts, who, change);
    return null;
  }
  if (who.via === 'offline') return { kind: 'identity-needed' };
  const at = clock.now();
  const completes = [...openRaises(entries, change.name, at)].some(
    ([by, { limitCents }]) => by !== person(who.by) && limitCents === change.limitCents,
  );
  // Before the change: what was completed and not stored takes two persons again.
  await ruleBook.append({ kind: 'cap-raise', ...change, at, ...who, ...(completes ? { completes } : {}) });
  return completes ? null : { kind: 'cap-one-more', by: who.by };
}

/** `limitCents` null takes the cap away. A new name that is one of a cap by hand but for case and marks is refused as unknown. */
export async function setCap(parts: ControlParts, who: Identity, change: CapChange): Promise<ControlOutcome> {
  const { name, limitCents, reason } = change;
  try {
    const refused = await refusedRaise(parts, who, change);
    if (refused !== null) return refused;
  } catch (fault) {
    if (!(fault instanceof Fault) || !isStoreFault(fault.code)) throw fault;
    return { kind: 'not-stored', code: fault.code, why: fault.message };
  }
  let nearest: string | null = null;
  const outcome = await ordered(parts, async (control) => {
    const known = Object.keys((await control.read()).caps);
    nearest = limitCents === null ? nearestWord(name, known) : sameBare(name, known);
    const isSet = known.includes(name) || (limitCents !== null && nearest === null);
    if (!isSet) throw new Fault('not-found', 'no cap of this name is set by hand');
    return control.setCap(name, limitCents, { ...who, reason, at: parts.clock.now() });
  });
  return outcome.kind === 'cap-unknown' && nearest !== null ? { ...outcome, nearest } : outcome;
}

/** What is promised today under a cap. `limitCents` null: it is one of the rules, not set by hand. */
export type CapUse = { name: string; usedCents: number; bids: number; limitCents: number | null };

/** Null: no cap of this name is set by hand, and nothing is promised under one of the rules. */
export async function capUse({ control, views, clock }: ControlParts, name: string): Promise<CapUse | null> {
  const { caps } = await control.read();
  const limitCents = Object.hasOwn(caps, name) ? caps[name]! : null;
  const now = clock.now();
  // A cap of the rules without facts counts the whole desk under this key.
  const keys = limitCents === null ? dayKeys(name, now) : operatorDayKeys(name, now);
  const usage = await views.usage(keys, now);
  const { amountCents: usedCents, count: bids } = usageUnder({ keys }, (key) => usage.get(key));
  return limitCents === null && bids === 0 ? null : { name, usedCents, bids, limitCents };
}

/** `by` null: the folder of rules; `reason` null: none was given. `liveAt` null: it is not known when the set began. */
type RulesOrdered = {
  kind: 'rules-ordered';
  at: EpochMs;
  by: string | null;
  via?: Via;
  reason: null;
  hash: string;
  liveAt: EpochMs | null;
};
export type OrderGiven = OperatorChange | RulesOrdered | ReadingGiven;

/** Oldest first. The book says who ordered a set of rules and when, the controls from when on it decides. */
function ordersOf({ changes, ruleOrders }: ControlHistory, book: readonly RuleBookEntry[]): OrderGiven[] {
  const orders = activations(book).map(({ hash, at, by, via }): RulesOrdered => {
    const liveAt = ruleOrders.find((order) => order.hash === hash && order.liveAt >= at)?.liveAt ?? null;
    return { kind: 'rules-ordered', at, by, ...(via === undefined ? {} : { via }), reason: null, hash, liveAt };
  });
  return [...changes, ...orders, ...readingsIn(book)].sort((left, right) => left.at - right.at);
}

/** What people and desks ordered, and who read personal data of many requests, the latest first, at most `limit`; `more`: there are others. */
export async function controlHistory(
  { control, ruleBook }: ControlParts,
  limit: number,
): Promise<{ orders: readonly OrderGiven[]; more: boolean }> {
  const orders = ordersOf(await control.history(), await ruleBook.read());
  return { orders: orders.slice(-limit).reverse(), more: orders.length > limit };
}

/** What holds now, by whom, and which processes have heard it. */
export type ControlStanding = {
  revision: number;
  pause: ControlState['pause'];
  caps: readonly { name: string; limitCents: number; by: string | null; reason: string | null; at: EpochMs | null }[];
  /** Of caps, that wait for another person. */
  raises: readonly WaitingRaise[];
  processes: readonly { instance: string; revision: number; at: EpochMs; obeys: boolean }[];
};

export async function controlStanding(
  parts: Pick<ControlParts, 'control' | 'ruleBook' | 'clock'>,
): Promise<ControlStanding> {
  const { control, clock } = parts;
  const { revision, pause: paused, caps, changes } = await control.read();
  const orders = lastChanges(changes);
  const live = await living(control, clock);
  return {
    revision,
    pause: paused,
    caps: Object.entries(caps).map(([name, limitCents]) => {
      const order = orders.find((change) => change.kind === 'cap-set' && change.name === name);
      return { name, limitCents, by: order?.by ?? null, reason: order?.reason ?? null, at: order?.at ?? null };
    }),
    raises: await waitingRaises(parts),
    processes: live.map((known) => ({ ...known, obeys: known.revision >= revision })),
  };
}
