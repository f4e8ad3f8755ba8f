/** The embedded backend: all ports of one daemon on one SQLite file in its data directory. */
import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import {
  type Control,
  type ControlArchive,
  type ControlState,
  type EventLog,
  endedAt,
  type House,
  type HouseMark,
  type MarginCache,
  type QueryBudget,
  type RuleBook,
  type TokenBook,
  type Views,
} from '../../bidding/ports.ts';
import {
  type AuditKey,
  type ChainHeads,
  isOfAcceptance,
  type LostClaims,
  type OriginEntry,
} from '../../domain/audit.ts';
import type { RequestId } from '../../domain/glossary.ts';
import { createKeptBook } from '../../domain/kept-book.ts';
import { createMarginMac, unfitMarginsText } from '../../domain/margin-mac.ts';
import type { ForgedEntry, LostClaim } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import type { FlowStore } from '../../origination/ports.ts';
import { createFlowReader } from '../../state/flow-rows.ts';
import { lockDirectory, unusable } from '../../state/sqlite.ts';
import {
  type AnchorPlace,
  claimedSince,
  findSetBack,
  isAnchored,
  knownHeads,
  type SetBack,
  signedUpTo,
} from './anchor.ts';
import { checkInBackground } from './background-check.ts';
import { headsOf, linkAt, setBackAmong } from './chain.ts';
import { setBackText } from './changed-texts.ts';
import { type ControlChange, type ControlRows, createControlRows } from './control-rows.ts';
import { damageIn, watchDamage } from './damage.ts';
import { databasePath, holdsDesk, openReadOnly, refuseLiving, tooLittleSpace, writeFault } from './database.ts';
import { type FileWatch, identityOf, watchFiles } from './file-watch.ts';
import { createFlows } from './flows.ts';
import { clearHalfImport, readImportMark, removeImportMark, writeImportMark } from './import-mark.ts';
import { createLog } from './log.ts';
import { createLogDoubt, type LogDoubt } from './log-doubt.ts';
import { createLogReader, hasLogTables } from './log-rows.ts';
import { createMarginReader } from './margin-rows.ts';
import { createMargins, createQueryBudget } from './margins.ts';
import { signingOf } from './signed-heads.ts';
import { alteredText, refuseAltered } from './tables.ts';
import { unsignedEntries } from './unsigned-rows.ts';
import { openViews } from './views.ts';
import { startWriter, type Writer } from './writer.ts';

export type EmbeddedStore = {
  /** One writer takes everything in the order it comes. */
  appendAtDoor: EventLog['append'];
  /** The views end with the log: nothing else has to be kept of them. */
  own: null;
  log: EventLog;
  views: Views;
  margins: MarginCache;
  queryBudget: QueryBudget;
  flows: FlowStore;
  control: Control & ControlArchive;
  house: House;
  ruleBook: RuleBook;
  tokenBook: TokenBook;
  /** There is one. */
  partitionOf: () => Promise<number>;
  /** Where the chain of each table is. */
  chainHeads: () => ChainHeads;
  /** Transactions committed since the start, for the metrics. */
  commits: () => number;
  unwritable: (neededBytes: number) => string | null;
  /** Why nothing at all can be stored just now; null: nothing is against it. As of a second ago at most. */
  trouble: () => string | null;
  /** Why the log is not to be believed, so that nothing is bid for; null: nothing is known against it. */
  changed: () => string | null;
  /** See `DeskWorld`. */
  lostClaim: (requestId: RequestId) => LostClaim | null | undefined;
  /** Stops consumers after the batch in hand, stores what is in memory, gives the directory back. */
  close: () => Promise<void>;
};

export type EmbeddedOptions = {
  directory: string;
  /** The store has died and every append will reject: end the process, a restart goes on from the log. */
  onFault: (fault: Fault) => void;
  /** Where the heads of the chains are kept outside of the directory; null: nowhere, and nothing is compared. */
  anchor?: AnchorPlace | null;
  /** What signs what is added where there is no anchor; left out, nothing does. */
  appendKey?: AuditKey;
  /** The store was set back and that was accepted with what it held: it is not compared, and the anchor begins with what it holds. */
  restored?: ChainHeads;
  /** An import into this directory begins, or begins again: what an earlier one left that was killed is removed. */
  arriving?: HouseMark | null;
  /** Rejects when the log is of another pseudonym key; asked before a store is refused or accepted by its anchor. */
  checkKey?: KeyCheck | undefined;
  /** The views did not fit their figures or the log, and are made again from the log. */
  onUnfitViews?: (problem: string) => void;
  /** Hears each time that a kept margin is not what this desk wrote. It is left out, and its link is asked for anew. */
  onUnfitMargins?: (text: string) => void;
  /** Hears what was changed in the middle of the log, some time after the start; left out, nobody looks. */
  onChanged?: (text: string) => void;
  /** The anchor cannot be written just now. */
  onAnchorFault?: (message: string) => void;
  /** Files of the store or its anchor are not where they were opened, or somebody has altered what the store is made of; null: all is as it was. Nothing is stored meanwhile. */
  onLostFiles?: (text: string | null) => void;
  memoryEntries?: number;
  memoryRows?: number;
  pollMs?: number;
  flushIntervalMs?: number;
};

/** An unchanged acknowledgement only shows life; it is stored this often, to spare the disk an idle daemon's syncs. */
const lifeSignMs = 1_000;

/** The controls as they stand; as they stood last where records of them that were read before are gone. */
function readHeard(rows: ControlRows, database: DatabaseSync, meet: LogDoubt['meet']): () => ControlState {
  const table = 'control_changes';
  let heard: { state: ControlState; heads: ChainHeads } | null = null;
  let isSetBack = false;
  return () => {
    if (isSetBack && heard !== null) return heard.state;
    const state = rows.read();
    // After the state: what is taken away in between is missed here.
    if (heard !== null && setBackAmong(database, heard.heads, [table]) !== null) {
      isSetBack = true;
      meet(setBackText(table), true);
      return heard.state;
    }
    heard = { state, heads: headsOf(database, [table]) };
    return state;
  };
}

function createControl(rows: ControlRows, writer: Writer, readState: () => ControlState): Control & ControlArchive {
  const latest = new Map<string, { instance: string; revision: number; at: number; storedAt: number }>();
  const guarded = async <R>(work: () => R | Promise<R>): Promise<R> => {
    try {
      return await work();
    } catch (cause) {
      throw new Fault('views-unavailable', 'The controls cannot be read or stored.', cause);
    }
  };
  /** Taken back where it fails, so the fault says that nothing was changed, and why. */
  const order = async (change: ControlChange): Promise<number> => {
    try {
      return await writer.submit({ kind: 'control', change });
    } catch (cause) {
      throw writeFault(cause);
    }
  };
  return {
    read: () => guarded(readState),
    history: () => guarded(rows.history),
    setPause: (pause) => order({ kind: 'pause', pause }),
    resume: (word) => order({ kind: 'resume', word }),
    setCap: (name, limitCents, word) => order({ kind: 'cap', name, limitCents, word }),
    snoozeRule: (snooze) => order({ kind: 'snooze', snooze }),
    resumeRule: (rule, word) => order({ kind: 'resume-rule', rule, word }),
    announceRules: (rules) => order({ kind: 'rules', order: rules }),
    acknowledge: (instance, revision, at) =>
      guarded(async () => {
        const before = latest.get(instance);
        const isNew = before?.revision !== revision || at === endedAt;
        // Also after the time was set back: a silent process is taken for a dead one.
        const store = isNew || Math.abs(at - before.storedAt) >= lifeSignMs;
        if (store) await writer.submit({ kind: 'acknowledge', acknowledgement: { instance, revision, at } });
        latest.set(instance, { instance, revision, at, storedAt: store ? at : before.storedAt });
      }),
    acknowledged: () =>
      guarded(() =>
        rows.acknowledged().map((stored) => {
          const own = latest.get(stored.instance);
          return own === undefined ? stored : { instance: own.instance, revision: own.revision, at: own.at };
        }),
      ),
  };
}

/** `signs` false: what is written is signed by nobody, and a start would take it for a forgery that the desk is back. */
function createHouse(
  rows: ControlRows,
  writer: Writer,
  { directory, signs }: { directory: string; signs: boolean },
): House {
  return {
    read: async () => rows.house() ?? readImportMark(directory),
    write: async (mark) => {
      if (mark === null && !signs) {
        throw new Fault(
          'configuration-invalid',
          'LANCE_PSEUDONYM_KEY is missing: it signs what the log holds from now on',
        );
      }
      try {
        await writer.submit({ kind: 'house', mark });
      } catch (cause) {
        throw new Fault('log-unavailable', 'Where the desk lives could not be stored.', cause);
      }
      if (mark === null) removeImportMark(directory);
    },
    origins: async () => rows.origins(),
    addOrigin: async (entry) => {
      try {
        await writer.submit({ kind: 'origin', entry });
      } catch (cause) {
        throw new Fault('log-unavailable', 'Where the log comes from could not be stored.', cause);
      }
    },
  };
}

function createRuleBook(rows: ControlRows, writer: Writer): RuleBook {
  return createKeptBook({
    ...rows.ruleBook,
    add: async (text) => {
      try {
        await writer.submit({ kind: 'rule-book', text });
      } catch (cause) {
        throw new Fault('log-unavailable', 'What became of the rule set could not be stored.', cause);
      }
    },
  });
}

function createTokenBook(rows: ControlRows, writer: Writer): TokenBook {
  return {
    read: async () => rows.tokenBook(),
    append: async (entry) => {
      try {
        await writer.submit({ kind: 'token-book', entry });
      } catch (cause) {
        throw new Fault('log-unavailable', 'What became of the token could not be stored.', cause);
      }
    },
  };
}

/** Reads only. `database` is null where there is no file. */
async function withFile<R>(directory: string, use: (database: DatabaseSync | null) => Promise<R>): Promise<R> {
  const database = holdsDesk(directory) ? openReadOnly(databasePath(directory)) : null;
  try {
    return await use(database);
  } finally {
    database?.close();
  }
}

/** Rejects when the log is of another key than the one at hand. Reads only. */
type KeyCheck = (log: Pick<EventLog, 'read' | 'readKey' | 'ends'>) => Promise<void>;

/** A file of an earlier version may lack tables of the log: it was never anchored, and its key is checked after the upgrade. */
async function checkKeyOf(database: DatabaseSync | null, checkKey: KeyCheck | undefined): Promise<void> {
  if (database === null || checkKey === undefined || !hasLogTables(database)) return;
  const log = createLogReader(database);
  await checkKey({
    read: async (topic, partition, from, limit) => (partition === 0 ? log.read(topic, from, limit) : []),
    readKey: async (topic, key) => log.readKey(topic, key),
    ends: async (topic) => new Map([[0, log.end(topic)]]),
  });
}

/**
 * Why a start on this directory would be refused, as far as the log and its anchor tell; null: it would not. `anchor.key` null:
 * signatures are not checked. A key of other data comes first, for with it the anchor seems to be another's too. Reads only.
 */
export async function startRefusal(
  directory: string,
  anchor: { file: string; key: AuditKey | null },
  checkKey: KeyCheck | undefined,
): Promise<Fault | null> {
  try {
    return await withFile(directory, async (database) => {
      if (database !== null) refuseAltered(alteredText(database));
      const setBack = findSetBack(database, anchor);
      if (setBack === null) return null;
      await checkKeyOf(database, checkKey);
      return setBackFault(directory, anchor.file, setBack);
    });
  } catch (fault) {
    if (fault instanceof Fault) return fault;
    throw fault;
  }
}

/**
 * A store that was set back, open without being compared; null: it was not, and nothing was changed. `accept` closes it and lets its
 * anchor begin with what it holds. Rejects where there is no file, unless `emptied` says that it is lost, and where the log is of another key: its anchor would be signed with one that no start has.
 */
export async function openSetBack(options: EmbeddedOptions & { anchor: AnchorPlace; emptied: boolean }): Promise<
  | (EmbeddedStore & {
      heads: ChainHeads;
      lost: ChainHeads | null;
      claimed: LostClaims;
      forged: readonly ForgedEntry[];
      accept: () => Promise<void>;
    })
  | null
> {
  const { directory, anchor } = options;
  // Without the lock yet: a daemon that runs there writes on, and then the lock is refused.
  const found = await withFile(directory, async (database) => {
    await checkKeyOf(database, options.checkKey);
    if (findSetBack(database, anchor) === null) return null;
    if (database === null && !options.emptied) throw nothingThere(directory, anchor.file);
    if (database === null) return { heads: {}, end: 0, dealtWith: null, forged: [] };
    const known = knownHeads(anchor);
    const end = endBeforeAcceptance(database, known);
    return {
      heads: headsBeforeAcceptance(database, end, known),
      end,
      dealtWith: claimsDealtWith(database, end, known),
      forged: forgedEntries(database, anchor),
    };
  });
  if (found === null) return null;
  const { heads, end, dealtWith, forged } = found;
  const claimed = withDealtWith(claimedSince(anchor, end), dealtWith);
  const lost = knownHeads(anchor);
  // Signed as what a command adds is: should it be killed, nobody takes what it wrote for a forgery, and no forgery for that.
  const store = await openEmbeddedStore({ ...options, anchor: null, appendKey: anchor.key });
  return {
    ...store,
    heads,
    lost,
    claimed,
    forged,
    accept: async () => {
      await store.close();
      await (await openEmbeddedStore({ ...options, restored: heads })).close();
    },
  };
}

/** Requests that nobody has sent, and claims that no desk has made: nothing is bid for them. */
function forgedEntries(database: DatabaseSync, anchor: AnchorPlace): ForgedEntry[] {
  const upTo = signedUpTo(database, anchor);
  return upTo === null ? [] : unsignedEntries(database, upTo);
}

const entriesLookedAt = 1_000;

/**
 * How many records `auctions` had when it was set back: an acceptance that was killed has written behind them, and those are no part
 * of what was lost. What an earlier acceptance wrote that came to its end is: it is not later than the origin of that. `lost`: what the
 * anchor knows.
 */
function endBeforeAcceptance(database: DatabaseSync, lost: ChainHeads | null): number {
  // A file that has lost its write-ahead log may hold nothing at all.
  if (!hasLogTables(database)) return 0;
  const log = createLogReader(database);
  const endedAt = lastEndedRestoreAt(database, lost);
  let end = log.end('auctions');
  while (end > 0) {
    const from = Math.max(0, end - entriesLookedAt);
    const last = log
      .read('auctions', from, end - from)
      .findLast(({ record }) => !isOfAcceptance(record) || record.at <= endedAt);
    if (last !== undefined) return last.offset + 1;
    end = from;
  }
  return 0;
}

/**
 * What the store had when it was set back. An acceptance that was killed has left the anchor as it was, and has said with its origin what the store had
 * then; what it wrote since, the pause among it, is no part of that. `lost`: what the anchor knows.
 */
function headsBeforeAcceptance(database: DatabaseSync, end: number, lost: ChainHeads | null): ChainHeads {
  const heads = headsOf(database);
  const begun = begunRestore(database, lost);
  if (begun !== null) return begun.heads;
  // It was killed before it had written its origin, or never was.
  const link = end < (heads.auctions?.[0] ?? 0) ? linkAt(database, 'auctions', end) : null;
  return link === null ? heads : { ...heads, auctions: [end, link] };
}

/** The acceptance that was killed after it had written its origin; null: none was. */
function begunRestore(database: DatabaseSync, lost: ChainHeads | null): Restored | null {
  if (lost === null || headsOf(database).origins === undefined) return null;
  const begun = lastRestore(database);
  return begun !== null && isDeepStrictEqual(begun.lost, lost) ? begun : null;
}

/**
 * The requests that an acceptance which was killed has dealt with. It may have removed the list of claims already, and does so after its
 * origin alone: then the log has all of them, and the origin says whether the list was complete.
 */
function claimsDealtWith(database: DatabaseSync, end: number, lost: ChainHeads | null): LostClaims {
  const claims = new Map<RequestId, LostClaim | null>();
  if (!hasLogTables(database)) return { claims, complete: false };
  const log = createLogReader(database);
  const last = log.end('auctions');
  for (let from = end; from < last; from += entriesLookedAt) {
    for (const { record } of log.read('auctions', from, Math.min(entriesLookedAt, last - from))) {
      if (record.kind === 'answered' && isOfAcceptance(record) && !claims.has(record.requestId))
        claims.set(record.requestId, record.lostClaim ?? null);
    }
  }
  const begun = begunRestore(database, lost);
  return { claims, complete: begun !== null && begun.noBidReceivedBefore === begun.at };
}

function withDealtWith(listed: LostClaims, dealtWith: LostClaims | null): LostClaims {
  if (dealtWith === null) return listed;
  const claims = new Map([...dealtWith.claims, ...listed.claims]);
  return { claims, complete: listed.complete || dealtWith.complete };
}

type Restored = Extract<OriginEntry, { kind: 'restored' }>;

function lastRestore(database: DatabaseSync): Restored | null {
  const row = database.prepare('SELECT entry FROM origins ORDER BY number DESC LIMIT 1').get();
  return restoreIn(row?.entry);
}

/** Null: it is another origin, or damaged, or there is none. */
function restoreIn(entry: unknown): Restored | null {
  try {
    const origin = JSON.parse(String(entry)) as OriginEntry;
    return origin.kind === 'restored' ? origin : null;
  } catch {
    return null;
  }
}

/** An acceptance that comes to its end changes the anchor: one that found it as it is now was killed. */
function lastEndedRestoreAt(database: DatabaseSync, lost: ChainHeads | null): number {
  if (headsOf(database).origins === undefined) return Number.NEGATIVE_INFINITY;
  for (const { entry } of database.prepare('SELECT entry FROM origins ORDER BY number DESC').iterate()) {
    const origin = restoreIn(entry);
    if (origin !== null && !isDeepStrictEqual(origin.lost, lost)) return origin.at;
  }
  return Number.NEGATIVE_INFINITY;
}

const takenOver =
  'the log is of a version that signed nothing, and is signed from this start on: what stood there before cannot be checked; if there was no upgrade, somebody took its signed heads away';
const accept = 'accept what is there with: lance audit accept-restore --by NAME --reason TEXT';

/** Another directory than was meant, more often than a lost one. */
function nothingThere(directory: string, file: string): Fault {
  return new Fault(
    'store-set-back',
    `The data directory ${directory} holds no desk, and the anchor ${file} is that of one: is LANCE_DATA_DIR mistyped, or LANCE_AUDIT_ANCHOR that of another desk? Accepted as it is, the anchor would begin anew, and the desk in the right directory would not start any more. Put back the directory or a backup of it; only where it is lost for good, ${accept} --emptied.`,
  );
}

function setBackFault(directory: string, file: string, setBack: SetBack): Fault {
  const set = (why: string) => new Fault('store-set-back', why);
  switch (setBack.kind) {
    case 'behind':
      if (!holdsDesk(directory)) return nothingThere(directory, file);
      return set(
        `The data directory ${directory} was set back: ${setBack.table} has ${setBack.has} records, and had ${setBack.had} on ${new Date(setBack.at).toISOString()} (${file}). A bid that was sent since would be sent again with other bytes. Put back what is missing (lance.sqlite-wal after a crash, or a newer backup of the whole directory), or ${accept}.`,
      );
    case 'other':
      return set(
        `The data directory ${directory} holds other records in ${setBack.table} than it had on ${new Date(setBack.at).toISOString()} (${file}). See lance audit verify. Put back what was there, or ${accept}.`,
      );
    case 'beyond':
      return set(
        `The data directory ${directory} holds record ${setBack.place} of ${setBack.table}, which ${unsignedText(setBack, file)}: somebody put it in. See lance audit verify. Keep a copy of what is there, put back a copy of the whole directory and of its anchor from after that time, or ${accept}.`,
      );
    case 'missing':
      return set(
        `The log in ${directory} was anchored, and ${setBack.mark === null ? `its anchor ${file}` : `the mark of its anchor, ${setBack.mark},`} is not there, so nobody can say whether the directory was set back. If the directory was moved, move the anchor's files too: they stand beside the old one (OLD.anchor, OLD.anchor.mark and so on) and take the new name. Put the files back or name them in LANCE_AUDIT_ANCHOR (audit.anchorFile); where they are lost, or the directory comes from a backup, ${accept}.`,
      );
    case 'unsigned':
      return set(
        `The log in ${directory} holds records and no signed heads, which this version writes before the first of them: somebody took them away, or wrote the log anew. See lance audit verify. Put back a copy of the whole directory and of its anchor ${file}, or ${accept}.`,
      );
    case 'foreign':
      return foreignFault(directory, file, setBack.why);
    default:
      return setBack satisfies never;
  }
}

function unsignedText({ signed, at }: Extract<SetBack, { kind: 'beyond' }>, file: string): string {
  const when = new Date(at).toISOString();
  switch (signed) {
    case 'stop':
      return `only a running desk writes, and none ran after the stop on ${when} (${file})`;
    case 'commit':
      return `nobody with the key of the log wrote: the desk signed what it stored last on ${when}, and this stands behind it without a signature`;
    default:
      return signed satisfies never;
  }
}

function foreignFault(directory: string, file: string, why: Extract<SetBack, { kind: 'foreign' }>['why']): Fault {
  switch (why) {
    case 'log':
      return new Fault(
        'store-set-back',
        `The signed heads in the log of ${directory} were edited or are damaged, so nobody can say whether the log is what it was. See lance audit verify. Put back a copy of the whole directory, or ${accept}.`,
      );
    case 'store':
      return new Fault(
        'configuration-invalid',
        `The anchor ${file} is that of another data directory. Name one for each in LANCE_AUDIT_ANCHOR (audit.anchorFile); where the directory was put in the place of another one, ${accept}.`,
      );
    case 'key':
      return new Fault(
        'configuration-invalid',
        `The anchor ${file} was signed with another key. Look first whether LANCE_AUDIT_KEY is mistyped, missing or new (without one LANCE_PSEUDONYM_KEY signs) and run with the one of before; only where that is lost, ${accept}.`,
      );
    case 'edited':
      return new Fault(
        'store-set-back',
        `The anchor ${file} or the files beside it were edited or are damaged, so nobody can say whether the log is what it was. Put a copy of them back, or ${accept}.`,
      );
    default:
      return why satisfies never;
  }
}

/**
 * Rejects with the fault `data-directory-in-use` while another daemon holds the directory, and `data-directory-unusable` when it
 * cannot be made or written, and `store-newer` when a later version wrote it.
 */
export async function openEmbeddedStore(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const { directory, anchor = null, restored = null, onFault } = options;
  const path = databasePath(directory);
  const { arriving = null } = options;
  const lock = lockDirectory(directory, [path]);
  let writer: Writer | null = null;
  let database = null as DatabaseSync | null;
  let files: FileWatch | null = null;
  try {
    const lockIdentity = identityOf(lock.path);
    if (arriving !== null) {
      await refuseLiving(directory, lockIdentity);
      const setBack = clearHalfImport(directory, anchor);
      if (setBack !== null) throw setBackFault(directory, anchor!.file, setBack);
    }
    // Before anything is written: what was lost may still be found and put back.
    const refusal =
      anchor === null || restored !== null ? null : await startRefusal(directory, anchor, options.checkKey);
    if (refusal !== null) throw refusal;
    await refuseLiving(directory, lockIdentity);
    // A store that is there has the mark of what made it, or the import writes its own into it.
    if (arriving !== null && !holdsDesk(directory)) writeImportMark(directory, arriving);
    const unsigned =
      anchor !== null &&
      restored === null &&
      (await withFile(directory, async (file) => file !== null && signingOf(file) === 'old')) &&
      knownHeads(anchor) === null;
    const doubt = createLogDoubt();
    const meet = (text: string, lasting: boolean) => {
      const isKnown = doubt.text() === text;
      doubt.meet(text, lasting);
      if (!isKnown) options.onChanged?.(text);
    };
    const tellLost = (text: string | null) => options.onLostFiles?.(text);
    let changed: string | null = null;
    let altered: string | null = null;
    const lostClaims = new Map<RequestId, LostClaim | null>();
    const { memoryRows = 16_384, flushIntervalMs } = options;
    let isOpen = false;
    const viewsOf = (opened: DatabaseSync) =>
      openViews(opened, (flush) => writer!.submit({ kind: 'views', flush }), { memoryRows, flushIntervalMs });
    const openReader = () => {
      database ??= watchDamage(openReadOnly(path), path, (fault) => {
        if (isOpen) onFault(fault);
      });
      return database;
    };
    let early = null as ReturnType<typeof viewsOf> | null;
    writer = await startWriter(
      {
        path,
        anchor: anchor === null ? null : { ...anchor, restored },
        appendKey: options.appendKey ?? null,
        lockIdentity,
      },
      {
        // Reading the views takes as long as looking whether they fit, which the writer does meanwhile.
        onOpened: () => {
          try {
            early = viewsOf(openReader());
          } catch {
            // The writer meets what cannot be read as well, or it is read once more below: it is told there.
          }
        },
        onDeath: onFault,
        onAnchorFault: options.onAnchorFault ?? (() => undefined),
        onAnchorChanged: (text) => {
          changed = text;
          tellLost(text);
        },
        onSchemaAltered: (text) => {
          altered = text;
          tellLost(text);
        },
        onLogChanged: meet,
        onLostClaim: (requestId, claim) => lostClaims.set(requestId, claim),
        onUnfitViews: (problem) => {
          early = null;
          options.onUnfitViews?.(problem);
        },
      },
    );
    const opening = writer;
    const besides = anchor === null ? [] : [anchor.file, `${anchor.file}.mark`];
    const watched = watchFiles([path, `${path}-wal`, `${path}-shm`, lock.path, ...besides], tellLost);
    files = watched;
    const lost = () => watched.lost() ?? changed ?? altered;
    writer = {
      ...opening,
      // Signs of life go on: they keep another daemon from beginning here.
      submit: (task) => {
        const why = task.kind === 'append' ? lost() : null;
        return why === null ? opening.submit(task) : Promise.reject(new Error(why));
      },
    };
    isOpen = true;
    const opened = openReader();
    const running = writer;
    const views = early ?? viewsOf(opened);
    const mac = anchor === null ? null : createMarginMac(anchor.key);
    const tellUnfit = () => options.onUnfitMargins?.(unfitMarginsText);
    const margins = createMargins({ reader: createMarginReader(opened, mac, tellUnfit), mac, writer, memoryRows });
    const rows = createControlRows(opened);
    const readState = readHeard(rows, opened, meet);
    const onChanged = (text: string) => meet(text, false);
    // Last, for it looks at the file from time to time from here on.
    const log = createLog({
      reader: createLogReader(opened, onChanged),
      writer,
      memoryEntries: options.memoryEntries ?? 8_192,
      pollMs: options.pollMs ?? 100,
    });
    if (unsigned) options.onChanged?.(takenOver);
    const looking =
      options.onChanged === undefined || anchor === null
        ? null
        : checkInBackground({ directory, anchor, filesLost: watched.lost, onChanged, onDamage: onFault });
    return {
      log: log.log,
      appendAtDoor: log.log.append,
      own: null,
      views: views.views,
      margins,
      queryBudget: createQueryBudget(running),
      flows: createFlows(createFlowReader(opened), writer),
      control: createControl(rows, writer, () => {
        const state = readState();
        doubt.hear(state);
        return state;
      }),
      house: createHouse(rows, writer, { directory, signs: anchor !== null || !isAnchored(opened) }),
      ruleBook: createRuleBook(rows, writer),
      tokenBook: createTokenBook(rows, writer),
      partitionOf: async () => 0,
      chainHeads: () => headsOf(opened),
      commits: running.commits,
      unwritable: (neededBytes) => lost() ?? running.failure() ?? tooLittleSpace(directory, neededBytes),
      trouble: () => lost() ?? running.failure(),
      changed: doubt.text,
      lostClaim: (requestId) => lostClaims.get(requestId),
      close: async () => {
        files?.stop();
        await looking?.stop();
        await log.close();
        await views.close();
        // Whoever closes last, and may write, puts what stands beside the file into it.
        opened.close();
        await running.close();
        lock.release();
      },
    };
  } catch (cause) {
    files?.stop();
    database?.close();
    await writer?.close();
    lock.release();
    throw cause instanceof Fault ? cause : (damageIn(path, cause) ?? unusable(directory, cause));
  }
}
