/**
 * Which rules decide, and when: what operators announced, each set from its time on; and what changes in the folder of rules,
 * proposed and announced in its turn. What is not here or not allowed decides nothing, and the gate is closed then.
 */
import type { Clock, Timer } from '../domain/clock.ts';
import type { EpochMs } from '../domain/glossary.ts';
import { Fault } from '../errors.ts';
import { faultText } from '../rules/place.ts';
import { openRuleSet, type RuleSet } from '../rules/rule-set.ts';
import type { Policy } from './decide.ts';
import { type HeldBack, isForPersons, openChecked, takenAwayBy } from './held-back.ts';
import { heldBackText, takenAwayText } from './held-back-text.ts';
import type { Control, ControlState, RuleBook, RuleOrder, RuleReport, RuleWatch } from './ports.ts';
import {
  activations,
  announce,
  announceAheadMs,
  isApprovalNeeded,
  mayFollow,
  proposalOf,
  propose,
  type Rollback,
  requireApproval,
  rollbackFrom,
  rollbackIn,
} from './rule-book.ts';

/** `hash`: of the set in question. `text`: for operators. */
export type RuleEvent =
  | { kind: 'rules-live' | 'rules-announced'; hash: string }
  /** `text`: why, and what to do. */
  | { kind: 'rules-await-approval' | 'rules-not-followed' | 'rules-missing'; hash: string; text: string }
  /** Somebody went back to the set; somebody else has looked at that; nobody has in time. */
  | { kind: 'rules-gone-back' | 'rules-reviewed' | 'rules-review-overdue'; hash: string; text: string }
  | { kind: 'rules-refused'; text: string }
  | { kind: 'rules-mended'; hash: string }
  /** The configuration does not ask for approval, but what was recorded does. */
  | { kind: 'rules-approval-kept'; text: string }
  | { kind: 'fault'; code: string; text: string };

type RuleStatus = {
  /** The set to follow now; null: none has ever been announced, or it is not known. */
  hash: string | null;
  /** Why it cannot be followed; null: it is. */
  missing: string | null;
  /** Why the folder is refused as it stands; null: it is not. */
  refusal: string | null;
  /** The folder is refused for what its good set would take away: somebody has to say that it is meant. */
  heldBack: HeldBack | null;
  /** A set in the folder that is good, and not followed. */
  notFollowed: string | null;
  /** Somebody went back to the set that is followed; null: nobody did. */
  rollback: Rollback | null;
  /** Nobody else has looked at the rollback in time. */
  isReviewOverdue: boolean;
};

export type RuleDesk = {
  /** Rejects with `rules-refused` where no set was ever followed and the folder has none that could be. */
  start: () => Promise<void>;
  stop: () => Promise<void>;
  policy: (at: EpochMs) => Policy | null;
  /** `readAtMs`: on the monotonic clock, from before the reading. */
  onControl: (state: ControlState, readAtMs: number) => void;
  status: () => RuleStatus;
};

const retryMs = 500;
/** Characters of a hash that are shown to people. */
const shownHash = 12;
const unapproved = 'it was announced, but two persons do not stand for it';
/** A desk that starts anew has its hands full with what it finds: it follows what it followed, and the folder can wait. */
const laterLookMs = 2_000;
/** A rollback is looked at by a record that no control tells of. */
const reviewLookMs = 5_000;

export function createRuleDesk(world: {
  watch: RuleWatch;
  ruleBook: RuleBook;
  control: Control;
  clock: Clock;
  /** A set has to be approved by two persons before it is followed; so it is as well where the book says so. */
  approval: boolean;
  policyOf: (ruleSet: RuleSet) => Policy;
  /** Why no set can decide here, whichever it is; null: they can. */
  unreadable?: string | null;
  onEvent: (event: RuleEvent) => void;
}): RuleDesk {
  const { watch, ruleBook, control, clock, onEvent } = world;
  let orders: readonly RuleOrder[] = [];
  /** An order that has begun is followed on when the clock is set back to before its time. */
  let begunAt: EpochMs = Number.NEGATIVE_INFINITY;
  let followed: RuleOrder | null = null;
  clock.onJump(() => {
    if (followed !== null) begunAt = Math.max(begunAt, followed.liveAt);
  });
  /** On the monotonic clock. */
  let heardAtMs = Number.NEGATIVE_INFINITY;
  const ready = new Map<string, Policy>();
  /** Sets that this program's check has let through. */
  const checked = new Set<string>();
  const lacking = new Map<string, string>();
  let rollback: Rollback | null = null;
  /** The set that the rollback was last looked up for, and when. */
  let lookedUp: { hash: string | null; atMs: number } = { hash: null, atMs: Number.NEGATIVE_INFINITY };
  let toldOverdue: string | null = null;
  let refusal: string | null = null;
  let heldBack: HeldBack | null = null;
  let folderHash: string | null = null;
  let toldHash: string | null = null;
  let report: { found: RuleReport; isFirst: boolean } | null = null;
  let working: Promise<void> | null = null;
  let retry: Timer | null = null;
  let stopped = false;

  function orderAt(at: EpochMs): RuleOrder | null {
    return orders.findLast(({ liveAt }) => liveAt <= Math.max(at, begunAt)) ?? null;
  }

  function isDeaf(): boolean {
    // Something may have been announced and have begun meanwhile.
    return clock.monotonicMs() - heardAtMs > announceAheadMs;
  }

  function policy(at: EpochMs): Policy | null {
    const order = isDeaf() || world.unreadable != null ? null : orderAt(at);
    return order === null ? null : (ready.get(order.hash) ?? null);
  }

  /** Orders that are followed, or will be. */
  function wanted(): RuleOrder[] {
    const now = clock.now();
    const current = orderAt(now);
    return orders.filter((order) => order === current || order.liveAt > now);
  }

  function onControl(state: ControlState, readAtMs: number): void {
    orders = state.ruleOrders;
    heardAtMs = readAtMs;
    const current = orderAt(clock.now());
    followed = current;
    if (current !== null && current.hash !== toldHash && ready.has(current.hash)) {
      toldHash = current.hash;
      onEvent({ kind: 'rules-live', hash: current.hash });
    }
    for (const hash of ready.keys()) if (!orders.some((order) => order.hash === hash)) ready.delete(hash);
    if (heldBack !== null && orders.at(-1)?.hash === heldBack.hash) accept(heldBack.hash);
    if (wanted().some(({ hash }) => !ready.has(hash)) || mayHaveGoneBack()) work();
  }

  /** The rollback at hand may not be what the book says. */
  function mayHaveGoneBack(): boolean {
    const last = orders.at(-1)?.hash ?? null;
    if (last !== lookedUp.hash) return true;
    return rollback?.reviewedBy === null && clock.monotonicMs() - lookedUp.atMs >= reviewLookMs;
  }

  async function lookUpRollback(): Promise<void> {
    const asked = { hash: orders.at(-1)?.hash ?? null, atMs: clock.monotonicMs() };
    const found = rollbackIn(await ruleBook.read());
    lookedUp = asked;
    const before = rollback;
    rollback = found !== null && found.hash === lookedUp.hash ? found : null;
    if (rollback === null) return;
    const { hash, from, by, reviewBy, reviewedBy } = rollback;
    const who = by ?? 'somebody';
    if (before?.at !== rollback.at) {
      const until = new Date(reviewBy).toISOString();
      const text = `${who} went back from ${from.slice(0, shownHash)}; somebody else has to look at it by ${until}: lance rules approve ${hash.slice(0, shownHash)}, with a token of their own`;
      onEvent({ kind: 'rules-gone-back', hash, text });
    }
    if (reviewedBy !== null && before?.reviewedBy === null)
      onEvent({ kind: 'rules-reviewed', hash, text: `${reviewedBy} has looked at it` });
    if (reviewedBy === null && clock.now() > reviewBy && toldOverdue !== hash) {
      toldOverdue = hash;
      const text = `${who} went back to it from ${from.slice(0, shownHash)}, and nobody else has looked at it in time`;
      onEvent({ kind: 'rules-review-overdue', hash, text });
    }
  }

  function lack(hash: string, text: string): void {
    if (lacking.get(hash) !== text) onEvent({ kind: 'rules-missing', hash, text });
    lacking.set(hash, text);
  }

  function open(hash: string, source: string): void {
    const opened = openRuleSet(source, checked.has(hash));
    if (opened.kind === 'refused' || opened.ruleSet.hash !== hash) {
      const why = opened.kind === 'refused' ? faultText(opened.faults[0]!) : 'its content does not have its hash';
      lack(hash, `this program refuses it: ${why}`);
      return;
    }
    checked.add(hash);
    lacking.delete(hash);
    ready.set(hash, world.policyOf(opened.ruleSet));
  }

  async function acquire(hash: string): Promise<void> {
    const entries = await ruleBook.read();
    const source = await ruleBook.source(hash);
    if (source === null) return lack(hash, 'nobody has proposed it here');
    if (!mayFollow(entries, hash, world.approval)) {
      return lack(hash, unapproved);
    }
    if (!checked.has(hash)) {
      const found = await watch.check(source);
      if (found.kind === 'refused') return lack(hash, `this program refuses it: ${found.text}`);
      if (found.hash === hash) checked.add(hash);
    }
    open(hash, source);
  }

  function refuse(text: string, held: HeldBack | null): void {
    if (refusal !== text) onEvent({ kind: 'rules-refused', text });
    refusal = text;
    heldBack = held;
  }

  function accept(hash: string): void {
    if (refusal !== null) onEvent({ kind: 'rules-mended', hash });
    refusal = null;
    heldBack = null;
  }

  /** Against a set that this program cannot read nothing can be said: nothing is bid by that one either. */
  async function takenAwayOf({ hash, source }: Extract<RuleReport, { kind: 'good' }>): Promise<HeldBack | null> {
    const last = (await control.read()).ruleOrders.at(-1)?.hash ?? null;
    if (last === null || last === hash) return null;
    const live = ready.get(last)?.ruleSet ?? openChecked(await ruleBook.source(last));
    const next = openChecked(source);
    return live === null || next === null ? null : takenAwayBy(live, next);
  }

  /** What stands in the folder is proposed, and announced unless somebody has to approve it or has decided against it. */
  async function take(
    { hash, source }: Extract<RuleReport, { kind: 'good' }>,
    isFirst: boolean,
    taken: HeldBack | null,
  ): Promise<void> {
    const warning = taken === null ? '' : `; it would take away ${takenAwayText(taken)}`;
    const last = (await control.read()).ruleOrders.at(-1) ?? null;
    if (last?.hash === hash) return;
    const before = await ruleBook.read();
    const left = rollbackFrom(before, hash);
    if (last !== null && left !== null && rollbackIn(before) === null) {
      const decides = `${last.hash.slice(0, shownHash)} decides, and ${left.by ?? 'somebody'} went back from the set in the folder`;
      const text = `${decides}; to follow the folder again: lance rules activate ${hash.slice(0, shownHash)} --by NAME${warning}`;
      onEvent({ kind: 'rules-not-followed', hash, text });
      return;
    }
    if (isFirst && last !== null && proposalOf(before, hash) !== null) {
      // It was followed or proposed before this start, and then another one: that was meant.
      const decides = `${last.hash.slice(0, shownHash)} was chosen after it, and decides`;
      const text = `${decides}; to follow the folder: lance rules activate ${hash.slice(0, shownHash)} --by NAME${warning}`;
      onEvent({ kind: 'rules-not-followed', hash, text });
      return;
    }
    const entries = await propose(world, { hash, source, who: null });
    const back = rollbackIn(entries);
    if (back !== null && back.hash === last?.hash) {
      // It may hold what was gone back from: only a person says whether that is to live again.
      const decides = `${back.hash.slice(0, shownHash)} decides, to which ${back.by ?? 'somebody'} went back from ${back.from.slice(0, shownHash)}`;
      const text = `${decides}; see lance rules diff live ${hash.slice(0, shownHash)}; to follow the folder: lance rules activate ${hash.slice(0, shownHash)} --by NAME${warning}`;
      onEvent({ kind: 'rules-not-followed', hash, text });
      return;
    }
    if (!mayFollow(entries, hash, world.approval)) {
      const text = `two persons have to stand for it: lance rules approve ${hash.slice(0, shownHash)}, each with a token of their own${warning}`;
      onEvent({ kind: 'rules-await-approval', hash, text });
      return;
    }
    await announce(world, { hash, who: null, aheadMs: last === null ? 0 : announceAheadMs });
    onEvent({ kind: 'rules-announced', hash });
  }

  async function takeReport(): Promise<void> {
    if (report === null) return;
    const current = report;
    const { found, isFirst } = current;
    if (found.kind === 'refused') {
      refuse(found.text, null);
    } else {
      checked.add(found.hash);
      folderHash = found.hash;
      const taken = await takenAwayOf(found);
      if (taken === null || isForPersons(await ruleBook.read(), world.approval, found.hash)) {
        accept(found.hash);
        await take(found, isFirst, taken);
      } else {
        // Kept, so that somebody can look at it and activate it.
        await propose(world, { hash: taken.hash, source: found.source, who: null });
        refuse(heldBackText(taken), taken);
      }
    }
    if (report === current) report = null;
  }

  /** One thing after the other; what a server did not do is tried again. */
  function work(): void {
    if (stopped || working !== null) return;
    working = (async () => {
      try {
        await takeReport();
        if (mayHaveGoneBack()) await lookUpRollback();
        for (const { hash } of wanted()) if (!ready.has(hash)) await acquire(hash);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        if (!stopped) onEvent({ kind: 'fault', code: fault.code, text: fault.message });
      } finally {
        working = null;
        const left = report !== null || wanted().some(({ hash }) => !ready.has(hash));
        if (left && !stopped) {
          retry?.cancel();
          retry = clock.after(retryMs, work);
        }
      }
    })();
  }

  function onReport(found: RuleReport, isFirst: boolean): void {
    report = { found, isFirst };
    work();
  }

  async function listen(): Promise<void> {
    const readAtMs = clock.monotonicMs();
    orders = (await control.read()).ruleOrders;
    heardAtMs = readAtMs;
  }

  /** What was announced and is forgotten, or was about to be when a process died, is announced again. */
  async function remind(): Promise<void> {
    const last = activations(await ruleBook.read()).at(-1);
    const known = orders.at(-1);
    if (last === undefined || known?.hash === last.hash) return;
    if (known !== undefined && last.at + announceAheadMs <= known.liveAt) return;
    const now = clock.now();
    await control.announceRules({ hash: last.hash, liveAt: known === undefined ? now : now + announceAheadMs });
    await listen();
  }

  async function start(): Promise<void> {
    await listen();
    await remind();
    if (world.approval) await requireApproval(world, null);
    else if (isApprovalNeeded(await ruleBook.read())) {
      const text =
        'two persons have to approve a set, as was recorded; lance rules approval off ends that, said by two';
      onEvent({ kind: 'rules-approval-kept', text });
    }
    let reports = 0;
    const first = Promise.withResolvers<RuleReport>();
    const hasOrders = orders.length > 0;
    const hear = (found: RuleReport, asFound: boolean) => {
      reports += 1;
      if (reports === 1) first.resolve(found);
      if (hasOrders || reports > 1) onReport(found, reports === 1 && asFound);
    };
    watch.start(hear, hasOrders ? laterLookMs : 0, orders.at(-1)?.hash ?? null);
    if (!hasOrders) {
      const found = await first.promise;
      if (found.kind === 'refused') throw new Fault('rules-refused', `The rule set is refused:\n${found.text}`);
      checked.add(found.hash);
      folderHash = found.hash;
      await take(found, true, null);
      await listen();
    }
    await lookUpRollback();
    const inheritedHash = orderAt(clock.now())?.hash ?? null;
    if (inheritedHash === null) return;
    const entries = await ruleBook.read();
    const source = await ruleBook.source(inheritedHash);
    if (source === null) lack(inheritedHash, 'nobody has proposed it here');
    else if (mayFollow(entries, inheritedHash, world.approval)) open(inheritedHash, source);
    else lack(inheritedHash, unapproved);
  }

  return {
    start,
    stop: async () => {
      stopped = true;
      retry?.cancel();
      await watch.stop();
      await working;
    },
    policy,
    onControl,
    status: () => {
      const isUnheard = isDeaf();
      const hash = isUnheard ? null : (orderAt(clock.now())?.hash ?? null);
      const none = 'no rule set was ever followed here: approve the one in the folder';
      const unheard = 'which one to follow is not known while the controls cannot be read';
      const unready = hash === null ? none : ready.has(hash) ? null : (lacking.get(hash) ?? 'it is being fetched');
      const missing = world.unreadable ?? (isUnheard ? unheard : unready);
      const isFollowed = folderHash === null || orders.at(-1)?.hash === folderHash;
      const notFollowed = isFollowed ? null : folderHash;
      const isReviewOverdue = rollback?.reviewedBy === null && clock.now() > rollback.reviewBy;
      return { hash, missing, refusal, heldBack, notFollowed, rollback, isReviewOverdue };
    },
  };
}
