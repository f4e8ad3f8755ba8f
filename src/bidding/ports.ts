/**
 * The ports of the desk: what it needs from the world, written for the harder backend. An append may be seen by others
 * before it is read back, a claim may lose to an earlier one, a view may be behind or gone. Two backends and the
 * simulation implement these; one conformance suite (`test/conformance/`) holds them to it.
 */
import type { OriginEntry } from '../domain/audit.ts';
import type { CapVerdict, Reservation, Reserve } from '../domain/cap-book.ts';
import type { Day, EpochMs, RequestId } from '../domain/glossary.ts';
import type { Addition, HalfLives, Histogram } from '../domain/histogram.ts';
import type { AnswerDoubt, BidOutcome, refusedInDoubt, SnoozedRule, SourceFailure, Usage } from '../domain/offer.ts';
import type { RecordPlaces } from '../domain/record-places.ts';
import type { Topic, Topics } from '../domain/records.ts';
import type { LinkDetail, WorkerIdentity } from '../domain/request.ts';
import type { TokenEntry, Via } from '../domain/roles.ts';
import type { RequestState } from '../domain/states.ts';
import type { RuleFile } from '../rules/rule-set.ts';
import type { TestReport } from '../rules/rule-tests.ts';

// --- EventLog -------------------------------------------------------------------------------------------------------

export type NewEntry = {
  [T in Topic]: {
    topic: T;
    key: string;
    record: Topics[T];
    /** The record as JSON, where it was written out before: a log that keeps JSON need not do it again. */
    text?: string;
    /**
     * A claim that is to be the first one of its request. A log that can tell refuses it where there is one: then the views, by which
     * the desk went, do not fit the log.
     */
    firstClaim?: true;
    /** Goes to the partition of this key instead of its own, so that the order of the two is known. `readKey` does not find it there. */
    beside?: string;
    /** W3C trace context, carried beside the record by a log that has headers. */
    traceparent?: string;
  };
}[Topic];

export type LogEntry<R> = { partition: number; offset: number; key: string; record: R };

/**
 * Consecutive entries of one partition, in log order. A record that cannot be read is one of kind `unreadable` under its key; one
 * without a key that can be read closes its partition. `next` is the offset after the last one; a batch without entries stands
 * for records that have been deleted.
 */
export type LogBatch<R> = { partition: number; first: number; next: number; entries: LogEntry<R>[] };

export type Consumer = {
  /**
   * Whether this process may act for what stands in the partition, now: it was assigned last, and is not to be believed dead
   * by the others. Asked again right before anything that must not be done by two.
   */
  owns: (partition: number) => boolean;
  /** Stops after the batch in hand. */
  stop: () => Promise<void>;
};

export type ConsumeOptions<T extends Topic> = {
  topic: T;
  /** `owned`: each partition at one process of the desk at a time, as far as they know; they come and go. `all`: every one. */
  scope: 'owned' | 'all';
  /** Names consumers that share the partitions among themselves, apart from the topic's other ones; left out: the desk's. */
  reader?: string;
  /** Asked whenever a partition comes: where to read on. For the first ones before `consume` resolves. */
  from: (partition: number) => Promise<number>;
  /** The partition is gone, or cannot be read any further: its batch in hand is done, and `from` is asked if it comes back. */
  onLost: (partition: number) => void;
  /** Told right before `onLost` where the partition cannot be read any further, and why: it stays closed. */
  onClosed?: (partition: number, cause: string) => void;
  maxEntries: number;
  handler: (batch: LogBatch<Topics[T]>) => Promise<void>;
  onFault: (fault: unknown) => void;
};

export type EventLog = {
  /**
   * Resolves when all entries are durable; entries of one call keep their order within a partition. Rejects with the
   * operational fault `log-unavailable`; the entries may or may not have been written then.
   */
  append: (entries: readonly NewEntry[]) => Promise<void>;
  /**
   * Delivers every entry of the partitions from `from(partition)` on, in order within a partition, own appends included.
   * The next batch of a partition comes when the handler has resolved. At most `maxEntries` a batch.
   * A handler that rejects stops the consumer and `onFault` hears why.
   */
  consume: <T extends Topic>(options: ConsumeOptions<T>) => Promise<Consumer>;
  /** Entries from an offset on, for replay, the auditor and the command line. */
  read: <T extends Topic>(topic: T, partition: number, from: number, limit: number) => Promise<LogEntry<Topics[T]>[]>;
  /**
   * All entries of one key, in log order. With the `places` that a row keeps, at least those that it was folded from, and little more is
   * read than them. Without, a log without an index of keys is read from its beginning to its end.
   */
  readKey: <T extends Topic>(topic: T, key: string, places?: RecordPlaces) => Promise<LogEntry<Topics[T]>[]>;
  /** Where in `callbacks` the latest detail of each link of a worker stands; undefined: not known. Left out by a log with an index of keys. */
  detailPlaces?: (workerKey: string) => Promise<RecordPlaces | undefined>;
  /** For each partition, the offset that the next entry will get. */
  ends: (topic: Topic) => Promise<ReadonlyMap<number, number>>;
};

// --- Views ----------------------------------------------------------------------------------------------------------

/** One change of the views. A batch's changes are applied in order, all or none. */
export type ViewChange =
  | { kind: 'state'; state: RequestState; open: boolean; bidIds: readonly string[] }
  /** Reserves under every cap or, where one has no room, none: then the request id is in `refused`, now and whenever asked. Doing it twice changes nothing. */
  | ({ kind: 'reserve' } & Reserve)
  | { kind: 'release'; requestId: RequestId }
  | { kind: 'commit'; requestId: RequestId; expiresAt: EpochMs }
  /** What is promised counts under these keys from now on. */
  | { kind: 'count-under'; requestId: RequestId; keys: readonly string[]; expiresAt: EpochMs }
  /** Adds to the decayed sums under every key, one result each: `foldSums`. */
  | { kind: 'learn'; keys: readonly string[]; additions: readonly Addition[]; at: EpochMs; halfLives: HalfLives };

/** What a record does to the cap book. `reserve` is a kind that awaits a verdict; what else an operation says is the book's matter. */
export type KeptOperation = { offset: number; requestId: RequestId; kind: string };

/**
 * `partition` is one of `auctions`, or `callbackPartition(p)` for a partition p of `callbacks`, whose batches carry no
 * changes: only how far they have been dealt with.
 */
export type ViewBatch = {
  partition: number;
  first: number;
  next: number;
  changes: readonly ViewChange[];
  /** In order of their offsets; for views that keep them until the cap book has them. */
  operations?: readonly KeptOperation[];
};

export function callbackPartition(partition: number): number {
  return -1 - partition;
}

/** Whether a partition of views is one of `callbacks`. */
export function isCallbackPartition(partition: number): boolean {
  return partition < 0;
}

/** `whole`: what was reserved had the room that was found for it, in views that lacked nothing. Else nobody looked for room. */
export type ApplyResult = { kind: 'applied'; refused: readonly RequestId[]; whole: boolean } | OutOfStep;

/** The view is at `applied`, not where the batch begins: someone else wrote, or it is gone. Nothing was changed. */
export type OutOfStep = { kind: 'out-of-step'; applied: number };

export type LedgerRow = {
  state: RequestState;
  reservation: Reservation;
  /** The claim, if there is one, is known to have had room under its caps when it was folded. */
  hadRoom: boolean;
};

/** Rows of one partition as they stood at one moment, when `applied` was the next record to fold in. */
export type RowsAt<Row> = { applied: number; rows: readonly Row[] };

/**
 * `later`: ids of open requests in settled phases, whose rows are left out. Of a won bid only a timer is left, for days: a start that
 * read all of them before its first decision would last longer with each. Absent where no row is left out.
 */
export type OpenRows = RowsAt<LedgerRow> & { later?: readonly RequestId[] };

/** Sort key and page cursor of a ledger row, comparable as text: time of decision, else of receipt, else of the result. */
export function cursorOf(state: RequestState): string {
  const time = state.decidedAt ?? state.request?.receivedAt ?? state.auction?.endedAt ?? 0;
  return `${String(time).padStart(15, '0')}:${state.requestId}`;
}

export type LedgerQuery = { phase: string | null; limit: number; before: string | null };

export type Views = {
  /** The offset up to which `auctions` is folded in; 0 for a partition never seen. */
  applied: (partition: number) => Promise<number>;
  apply: (batch: ViewBatch) => Promise<ApplyResult>;
  read: (requestIds: readonly RequestId[]) => Promise<ReadonlyMap<RequestId, LedgerRow>>;
  /**
   * The same for requests of one partition, with what a fold has to know: up to where these rows are folded. In pages, each of
   * one moment, for others fold on between two of them.
   */
  readAt: (partition: number, requestIds: readonly RequestId[]) => Promise<readonly RowsAt<LedgerRow>[]>;
  /** Every request with a next step or a timer, of one partition: what an owner goes on with. In pages as `readAt`. */
  open: (partition: number) => Promise<readonly OpenRows[]>;
  /** Requests that have the code, by id: one, unless the service gave it to several (`code-holders.ts`). */
  findByBid: (bidIds: readonly string[]) => Promise<ReadonlyMap<string, readonly RequestId[]>>;
  /** Reservations that have not expired at `at`, summed by cap key. */
  usage: (keys: readonly string[], at: EpochMs) => Promise<ReadonlyMap<string, Usage>>;
  /**
   * Whether the views of every partition hold all that may have been acted on. Where a part was lost they do not, until each is
   * folded as far as the log was when the loss was seen: `ends` says how far that is, and is asked only then.
   */
  areWhole: (ends: () => Promise<ReadonlyMap<number, number>>) => Promise<boolean>;
  /** `usage` as of a moment when the views were whole; null when they are not. */
  wholeUsage: (keys: readonly string[], at: EpochMs) => Promise<ReadonlyMap<string, Usage> | null>;
  /** Where a server keeps the cap book: the policy by which it may take away any key; null: it may not. Left out: there is no such server. */
  evicting?: () => Promise<string | null>;
  /**
   * Requests of the partition, at most `limit`, that counted under windows of hours alone and are past the end of them at `at`. Left out:
   * nobody says so, and they count on under keys that no cap reads.
   */
  windowsOver?: (partition: number, at: EpochMs, limit: number) => Promise<readonly RequestId[]>;
  /** Absent keys have never learnt. The histograms belong to the caller. */
  statistics: (keys: readonly string[]) => Promise<ReadonlyMap<string, Histogram>>;
  /**
   * For views that this process folds by itself: partitions whose rows are not in what is read, ascending. They stand in the answers of the
   * processes that own them. Left out: nothing is missing, whoever folded it.
   */
  missing?: () => readonly number[];
  /**
   * For views whose rows hold no verdict of a cap, because a book of all partitions gives it: they keep the operations of batches for it,
   * and refuse nothing when they fold. Left out: what `apply` and the rows say of a reservation is the verdict.
   */
  verdicts?: {
    of: (partition: number, requestId: RequestId) => CapVerdict;
    /** False: no claim can get a verdict just now, so none is to be made. */
    areToBeHad: () => boolean;
    /** Resolves when the book has said something new, or after `withinMs`. */
    changed: (withinMs: number) => Promise<void>;
  };
  /** Rows by time of decision or receipt, latest first. `before` is the cursor of an earlier page's last row: `cursorOf(state)`. */
  query: (query: LedgerQuery) => Promise<LedgerRow[]>;
};

/** A row of the views that is not what the log gives: it lacks, is one too many, or says something else. */
export type ViewDifference = {
  table: string;
  key: string;
  what: 'changed' | 'missing' | 'extra';
  /** What is stored and what the fold gives; null: not for everybody's eyes. */
  columns: readonly { name: string; stored: string | null; folded: string | null }[];
};

// --- Owners ---------------------------------------------------------------------------------------------------------

/** A process that answers questions about the partitions that it owns of a topic, and where it is asked. */
export type Owner = {
  instance: string;
  host: string;
  port: number;
  partitions: Readonly<Partial<Record<OwnedTopic, readonly number[]>>>;
};
export type OwnedTopic = Extract<Topic, 'auctions' | 'flows'>;

/** Where processes that keep views of their own make themselves known to each other. Each method rejects with `views-unavailable`. */
export type OwnerBook = {
  /** Counts for `lifeMs`, unless it is said again. */
  announce: (owner: Owner, lifeMs: number) => Promise<void>;
  withdraw: (instance: string) => Promise<void>;
  /** By instance. */
  read: () => Promise<readonly Owner[]>;
};

/**
 * `no-owner`: no running process says that it owns the partition. `moved`: the one that said so does not own it any more. `gone`: it could
 * not be reached. `time-limit`: it did not answer in time. `busy`: it answers too many questions already. `refused`: what came was no answer.
 */
export const unaskedReasons = ['no-owner', 'moved', 'gone', 'time-limit', 'busy', 'refused'] as const;
export type UnaskedReason = (typeof unaskedReasons)[number];

/** A partition whose rows are not in an answer. `instance`: who was asked; null: nobody. */
export type UnaskedPartition = { partition: number; instance: string | null; why: UnaskedReason };

// --- Copies of the views --------------------------------------------------------------------------------------------

/** The views of one partition as they stood when `applied` was the next record to fold in, as opaque pieces. */
export type ViewCopy = { foldVersion: number; applied: number; pieces: AsyncIterable<Buffer> };

/** Where copies of the views are kept, of each partition for the two newest fold versions that have written one. */
export type Snapshots = {
  /**
   * Resolves when the copy is durable and the latest of its partition and fold version. A copy whose pieces reject, or a process that dies
   * on the way, leaves the one before in its place. Rejects with `log-unavailable`, or with what the pieces rejected with.
   */
  write: (partition: number, copy: ViewCopy & { takenAt: EpochMs }) => Promise<void>;
  /**
   * The latest of this fold version; where there is none, one of another version, or one that does not say of which it is. Null when
   * there is none at all. The pieces come in the order they were written in.
   */
  readLatest: (
    partition: number,
    foldVersion: number,
  ) => Promise<(Omit<ViewCopy, 'foldVersion'> & { foldVersion: number | null; takenAt: EpochMs }) | null>;
  /** From now on there is none of the partition. */
  discard: (partition: number) => Promise<void>;
  /** The same of every partition. */
  discardAll: () => Promise<void>;
};

// --- MarginCache ----------------------------------------------------------------------------------------------------

export type MarginCache = {
  /** Details not older than 24 h at `at`; others are absent. */
  read: (linkKeys: readonly string[], at: EpochMs) => Promise<ReadonlyMap<string, LinkDetail>>;
  /** The later `receivedAt` wins. */
  write: (details: readonly LinkDetail[]) => Promise<void>;
};

// --- QueryBudget ----------------------------------------------------------------------------------------------------

/** Link queries past the service's cache, and questions to sources: either may cost. Counted for each day, by all instances together. */
export type QueryBudget = {
  /** True: counted. False: `limit` of that day are spent. `source` left out: of link queries. Rejects with `views-unavailable`: nobody knows. */
  take: (day: Day, limit: number, source?: string) => Promise<boolean>;
};

// --- Enrichment -----------------------------------------------------------------------------------------------------

/** External sources, at the addresses that the configuration names. */
export type Enrichment = {
  /** Null: the configuration does not name it. */
  endpoint: (name: string) => Endpoint | null;
  take: QueryBudget['take'];
};

export type Endpoint = {
  maySendCpf: boolean;
  /** Questions under way at once. */
  mostAsked: number;
  /** Never rejects. `text` is whatever came, at most `maxReplyLength` characters. Once `ended` is aborted nobody waits for it. */
  ask: (question: string, ended: AbortSignal) => Promise<SourceReply>;
};

export type SourceReply = { kind: 'reply'; text: string } | { kind: 'failed'; reason: SourceFailure };

// --- Control --------------------------------------------------------------------------------------------------------

/** Who gave an order, why and when; `reason` null: nobody asked for one. `via`: see `Via`; absent in older words. */
export type OperatorWord = { by: string; via?: Via; reason: string | null; at: EpochMs };

export type Pause = OperatorWord & { reason: string };

/** What an operator did by hand; `revision`: of the state that it made. */
export type OperatorChange = OperatorWord & { revision: number } & (
    | { kind: 'paused' | 'resumed' }
    | { kind: 'cap-set'; name: string; limitCents: number }
    | { kind: 'cap-removed'; name: string }
    /** `name`: of the rule. */
    | { kind: 'rule-snoozed'; name: string; digest: string; until: EpochMs }
    | { kind: 'rule-resumed'; name: string }
  );

/** A rule that has no say until a time; one of this name that says something else does have. */
export type Snooze = OperatorWord & SnoozedRule & { reason: string; until: EpochMs };

/** The snoozes with another one; those that are over at its time are left out. */
export function withSnooze(snoozes: readonly Snooze[], snooze: Snooze): Snooze[] {
  return [...withoutSnooze(snoozes, snooze.rule, snooze.at), snooze];
}

export function withoutSnooze(snoozes: readonly Snooze[], rule: string, at: EpochMs): Snooze[] {
  return snoozes.filter((other) => other.rule !== rule && other.until > at);
}

/** The rules of the set that are asleep. */
export function snoozedIn(
  snoozes: readonly Snooze[],
  ruleSet: { digestOf: (rule: string) => string | null },
  at: EpochMs,
): readonly SnoozedRule[] {
  if (snoozes.length === 0) return noneSnoozed;
  const asleep = snoozes.filter(({ rule, digest, until }) => at < until && ruleSet.digestOf(rule) === digest);
  return asleep.length === 0 ? noneSnoozed : asleep.map(({ rule, digest }) => ({ rule, digest }));
}

const noneSnoozed: readonly SnoozedRule[] = [];

export type ControlState = {
  /** Grows with every change; a process acknowledges what it obeys. */
  revision: number;
  pause: Pause | null;
  /** Caps that operators set by hand: name → limit in cents a day; checked like a rule's cap. */
  caps: Readonly<Record<string, number>>;
  /** Rules put to sleep, some of which may be awake again. */
  snoozes: readonly Snooze[];
  /** Which rule sets decide, by `liveAt`: always the last one that has begun. */
  ruleOrders: readonly RuleOrder[];
  /** The last of what operators did, oldest first. */
  changes: readonly OperatorChange[];
};

const keptChanges = 32;

/** Who last paused or resumed, and who last changed each cap and each snooze. */
export function lastChanges(changes: readonly OperatorChange[]): readonly OperatorChange[] {
  const last = new Map<string, OperatorChange>();
  for (const change of changes) {
    const subject = change.kind.split('-')[0]!;
    last.set('name' in change ? `${subject} ${change.name}` : 'pause', change);
  }
  return [...last.values()];
}

/**
 * The pause as people are told it: a second one does not lift the first, and one resumption ends both, so all that stand are named, the
 * first one first, since when it was paused. Null: nobody has paused.
 */
export function toldPause({ pause, changes }: Pick<ControlState, 'pause' | 'changes'>): Pause | null {
  if (pause === null) return null;
  const since = changes.slice(changes.findLastIndex(({ kind }) => kind === 'resumed') + 1);
  const words = [...since.filter(({ kind }) => kind === 'paused'), pause];
  const said = new Map(words.map(({ by, reason }) => [`${by}: ${reason}`, by]));
  const { at } = words[0]!;
  if (said.size === 1) return { ...pause, at };
  return { ...pause, at, by: [...new Set(said.values())].join(', '), reason: [...said.keys()].join('; ') };
}

/** The changes with more of them, in the order of their times. */
export function withChanges(known: readonly OperatorChange[], more: readonly OperatorChange[]): OperatorChange[] {
  const all = new Map([...known, ...more].map((change) => [changeKey(change), change]));
  return [...all.values()].sort(byTime).slice(-keptChanges);
}

function changeKey({ revision, at, by }: OperatorChange): string {
  return `${revision}|${at}|${by}`;
}

function byTime(left: OperatorChange, right: OperatorChange): number {
  return left.at - right.at || left.revision - right.revision;
}

/** Every change and every order of rules that the log keeps, oldest first: more than the few that `Control.read` gives. */
export type ControlHistory = Pick<ControlState, 'changes' | 'ruleOrders'>;

/** For whoever looks back; the desk itself goes by `Control.read`. */
export type ControlArchive = { history: () => Promise<ControlHistory> };

/** One history of several states of the controls, in any order; each change and each order stands in it once. */
export function historyOf(states: Iterable<ControlHistory>): ControlHistory {
  const changes = new Map<string, OperatorChange>();
  const orders = new Map<string, RuleOrder>();
  for (const state of states) {
    for (const change of state.changes) changes.set(changeKey(change), change);
    for (const order of state.ruleOrders) orders.set(`${order.liveAt}|${order.hash}`, order);
  }
  return {
    changes: [...changes.values()].sort(byTime),
    ruleOrders: [...orders.values()].sort((left, right) => left.liveAt - right.liveAt),
  };
}

/** From `liveAt` on, on every instance, the rule set of this hash decides. */
export type RuleOrder = { hash: string; liveAt: EpochMs };

const keptOrders = 64;

/** The orders with one more; as they were where the last one names the same set. An order never begins before an earlier one. */
export function withOrder(orders: readonly RuleOrder[], { hash, liveAt }: RuleOrder): readonly RuleOrder[] {
  const last = orders.at(-1);
  if (last === undefined) return [{ hash, liveAt }];
  if (last.hash === hash) return orders;
  return [...orders, { hash, liveAt: Math.max(liveAt, last.liveAt + 1) }].slice(-keptOrders);
}

/** The time of the last sign of a process that ends: no life is so long ago. */
export const endedAt: EpochMs = 0;

export type Control = {
  /** Which server keeps it, for people; absent: it is in a file. */
  server?: string;
  read: () => Promise<ControlState>;
  /** Returns the new revision. */
  setPause: (pause: Pause) => Promise<number>;
  resume: (word: OperatorWord) => Promise<number>;
  /** Null takes the cap away. */
  setCap: (name: string, limitCents: number | null, word: OperatorWord) => Promise<number>;
  snoozeRule: (snooze: Snooze) => Promise<number>;
  resumeRule: (rule: string, word: OperatorWord) => Promise<number>;
  /** See `withOrder`. */
  announceRules: (order: RuleOrder) => Promise<number>;
  /** Called by a live process each time it has read; `at` shows that it lives, and is `endedAt` where it ends. */
  acknowledge: (instance: string, revision: number, at: EpochMs) => Promise<void>;
  acknowledged: () => Promise<readonly { instance: string; revision: number; at: EpochMs }[]>;
};

/** `place`: where in the log it stands, for people. */
export type ControlCopy = { place: string; text: string };

/** What a `Control` says, kept with the log: for a store that may lose it while no process runs that has read it. */
export type ControlCopies = {
  /** Every copy, oldest first. */
  read: () => Promise<readonly ControlCopy[]>;
  /** A copy that was read is no state of the controls: somebody is told, once. */
  passOver: (place: string) => void;
  /** Whoever obeys waits until the copies were read; a command may show what the store alone says. */
  needed: boolean;
  /** Durable when it resolves. */
  add: (copy: string) => Promise<void>;
};

// --- Rule sets ------------------------------------------------------------------------------------------------------

export type { NewRuleBookEntry, RuleBook, RuleBookEntry, RuleSetChange } from '../domain/kept-book.ts';

/** Tokens of the operator API, as records kept with the log. */
export type TokenBook = {
  /** All entries in the order in which they were written. Asked every few seconds: what was read before is not read again. */
  read: () => Promise<readonly TokenEntry[]>;
  /** Durable when it resolves. Rejects with `log-unavailable`. */
  append: (entry: TokenEntry) => Promise<void>;
};

/** What the tests beside a good set show of its rules. `count`: of the tests, none of which failed. `uncovered`: the first of them. */
type Tested = { count: number } & Pick<TestReport, 'coverage' | 'uncovered'>;

/**
 * `text` is for operators: every problem on a line of its own. `compiles`: only the tests beside it are against it. `tested` is absent
 * where the tests were not run.
 */
export type RuleReport =
  | { kind: 'good'; hash: string; source: string; tested?: Tested }
  | { kind: 'refused'; text: string; compiles?: true };

/** The folder of rules, read and checked where that holds nobody up. */
export type RuleWatch = {
  /**
   * Hears of the folder once, `afterMs` from now at the earliest, and again whenever it has changed and come to rest. A folder that
   * holds the set of `followedHash` may be told of later.
   */
  start: (
    /** `asFound`: of the folder as it was at the first look, not of a change. */
    onReport: (report: RuleReport, asFound: boolean) => void,
    afterMs: number,
    followedHash: string | null,
  ) => void;
  /** Whether this program takes a stored set. Rejects when that could not be found out. */
  check: (source: string) => Promise<RuleReport>;
  /** What a folder with these files would be told. Rejects as `check`. */
  judge: (files: readonly RuleFile[]) => Promise<RuleReport>;
  stop: () => Promise<void>;
};

// --- House ----------------------------------------------------------------------------------------------------------

/**
 * Why no process may run here. `leaving`: an export to the file has begun and not ended. `moved`: it has ended. `arriving`: an
 * import has begun and not ended. Kept with the log, so that it lasts as long.
 */
export type HouseMark = { kind: 'leaving' | 'moved' | 'arriving'; file: string; at: EpochMs };

/** Something stands where the mark should be: nobody can say whether the desk lives here. */
export type UnreadableMark = { kind: 'unreadable' };

/** Of a stored row. */
export function readHouseMark(text: string): HouseMark | UnreadableMark {
  try {
    const { kind, file, at } = JSON.parse(text) as Partial<HouseMark>;
    const isKind = kind === 'leaving' || kind === 'moved' || kind === 'arriving';
    if (isKind && typeof file === 'string' && isTime(at)) return { kind, file, at };
  } catch {
    // No JSON.
  }
  return { kind: 'unreadable' };
}

function isTime(at: unknown): at is EpochMs {
  return typeof at === 'number' && !Number.isNaN(new Date(at).getTime());
}

export type House = {
  /** Null: the desk lives here. */
  read: () => Promise<HouseMark | UnreadableMark | null>;
  /** Durable when it resolves. */
  write: (mark: HouseMark | null) => Promise<void>;
  /** Accepted restores and imports, in the order in which they were written. */
  origins: () => Promise<readonly OriginEntry[]>;
  /** Durable when it resolves. */
  addOrigin: (entry: OriginEntry) => Promise<void>;
};

// --- Service --------------------------------------------------------------------------------------------------------

export type BidAttempt = {
  body: string;
  /** No first byte at or after this time. */
  deadlineAt: EpochMs;
  /** Asked once more right where the first byte is written; false: nothing is written. */
  mayWrite: () => boolean;
};

/** Bytes were written, and what came back, if anything, is not a whole answer. */
export type BrokenReason =
  | 'headers-timeout'
  | 'body-timeout'
  | 'connection-lost'
  | 'answer-too-large'
  | 'answer-too-slow'
  | 'answer-unreadable';

type NotLandedReason = 'deadline' | 'stopped' | 'unreachable' | 'unauthorised' | 'throttled';

/** All that an answer may say of itself, other than what the service said of the bid or the query. The last two: nobody was asked. */
export type ServiceReason = NotLandedReason | BrokenReason | AnswerDoubt | 'worker-not-identified' | 'too-many-queries';

export type BidAnswer =
  | {
      kind: 'answered';
      /** Unknown: the same bytes again would tell no more. */
      outcome: Exclude<BidOutcome, { kind: 'unknown' }> | { kind: 'unknown'; reason: typeof refusedInDoubt };
      /** Every code that the answer gives; absent: none. */
      codes?: readonly string[];
      response: { status: number; body: string };
      /** The body says nothing of any person. Absent: it may. */
      isHarmless?: boolean;
      firstByteAt: EpochMs;
    }
  /** Bytes were written and no answer that can be trusted came: the bid may have landed. */
  | {
      kind: 'unknown';
      reason: BrokenReason | AnswerDoubt;
      codes?: readonly string[];
      response: { status: number; body: string } | null;
      firstByteAt: EpochMs;
    }
  /** Certainly not landed: nothing was written, or the service turned it away before reading it. */
  | {
      kind: 'not-landed';
      reason: NotLandedReason;
      retryAt: EpochMs | null;
    };

export type LinkQuery = {
  identity: WorkerIdentity;
  authorisationNumber: string | null;
  cached: boolean;
};

/** `authorisation-expired`: it was given, and counts no longer. */
export type QueryRefusal = 'authorisation-missing' | 'authorisation-expired' | 'unclassified';

/** The same, or the worker has no employment link; `unread`: the answer came, and nothing of it can be read; `other-link`: it is of another worker or link. */
export type QueryFailure = QueryRefusal | 'no-links' | 'unread' | 'other-link';

/**
 * `isDoubtful`: an acknowledgement that is no JSON, or a refusal that is a page: it may not be the service that answered. Of the token's
 * query also a refusal that may be meant for the token.
 */
export type QueryAnswer =
  | { kind: 'acknowledged'; requestCode: string | null; isDoubtful?: true }
  | { kind: 'refused'; reason: QueryRefusal; response: { status: number; body: string }; isDoubtful?: true }
  | { kind: 'failed'; reason: ServiceReason }
  /** What was asked with does not make a query; nobody was asked. */
  | { kind: 'unwritable'; problem: string };

/** `untold`: something answered, and said no time. */
/** `status`: the HTTP status that came with it. */
export type TimeAnswer =
  | { kind: 'told'; skewMs: number; status?: number }
  | { kind: 'untold'; status?: number }
  | { kind: 'unanswered' };

export type Service = {
  placeBid: (attempt: BidAttempt) => Promise<BidAnswer>;
  listLinks: (query: LinkQuery) => Promise<QueryAnswer>;
  askLinkDetail: (query: LinkQuery) => Promise<QueryAnswer>;
  /** Why a link query failed, in what the service wrote of it. */
  refusalIn: (text: string) => QueryRefusal;
  /** Whether the body of a link-detail callback tells of the link that was asked about, however it names it. */
  isDetailOf: (body: string, asked: WorkerIdentity) => boolean;
  /** 99 % of first bytes reach the service within this time, measured; a setting until there is a measure. */
  networkP99Ms: () => number;
  /** How far the service's clock is ahead of ours, from its Date header (± 1 s). */
  clockSkewMs: () => number;
  /** What the last Date header said, believed or not; null before the first one. */
  latestSkewMs: () => number | null;
  /** False: the last Date header was too far from our time to be believed. */
  skewBelieved: () => boolean;
  /** `latestSkewMs`, asked just now by a call that the contract does not know and that counts for nothing. */
  askTime: () => Promise<TimeAnswer>;
  /** Whether the token works: a link query about nobody. `refused` without doubt: it was read, so the token was let in. */
  askToken: () => Promise<QueryAnswer>;
  /** False after a second 401 in a row: sending has stopped until the token works again. */
  ready: () => boolean;
};
