/**
 * The command line's door to a data directory: reads in short pages and writes in short transactions of its own, beside a running
 * daemon or without one. It does not take the daemon's lock.
 */
import type {
  Control,
  ControlArchive,
  EventLog,
  House,
  LedgerRow,
  NewEntry,
  RuleBook,
  TokenBook,
  Views,
} from '../../bidding/ports.ts';
import type { AuditKey, ChainVerdict } from '../../domain/audit.ts';
import { holdersIn } from '../../domain/code-holders.ts';
import type { RequestId } from '../../domain/glossary.ts';
import { createKeptBook } from '../../domain/kept-book.ts';
import { Fault } from '../../errors.ts';
import type { FlowStore } from '../../origination/ports.ts';
import { createFlowReader } from '../../state/flow-rows.ts';
import { inTransaction, unusable } from '../../state/sqlite.ts';
import { createViewReader, storedState } from '../../state/view-rows.ts';
import { verifyChains } from './chain.ts';
import { createControlRows } from './control-rows.ts';
import { damageIn, watchDamage } from './damage.ts';
import { isHeld, openWritable, pathOfDesk, writeFault } from './database.ts';
import { readFlows } from './flows.ts';
import { readImportMark } from './import-mark.ts';
import { createLogReader, createLogWriter, type EncodedEntries, encode, logTables, noEntries } from './log-rows.ts';
import { signAppend } from './signed-commits.ts';
import { lastSigned } from './signed-heads.ts';
import { refuseAltered, watchSchema } from './tables.ts';
import { needsSignature } from './unsigned-rows.ts';
import { verifyStore } from './verify.ts';
import { openScratch, type ViewScratch } from './view-scratch.ts';

export type EmbeddedReader = {
  log: Pick<EventLog, 'read' | 'readKey' | 'ends'>;
  /** What the daemon has stored: at most some hundred ms behind what it knows. */
  views: Omit<Views, 'apply' | 'readAt' | 'areWhole' | 'wholeUsage'>;
  flows: Omit<FlowStore, 'apply'>;
  control: Control & ControlArchive;
  house: Pick<House, 'read' | 'origins'>;
  ruleBook: RuleBook;
  tokenBook: TokenBook;
  partitionOf: () => Promise<number>;
  /** Appends in one transaction; a running daemon sees the entries within 250 ms. Rejects with `log-unavailable`. */
  appendBeside: (entries: readonly NewEntry[]) => Promise<void>;
  /** Checks the hash chains, and the heads that were anchored; `onProgress` hears how many records fit so far. */
  verifyChain: (onProgress: (verified: number) => void) => Promise<ChainVerdict>;
  /** The views, to be compared with a fold of the log. While a scratch is open, nothing else of this reader but the log is used. */
  storedViews: () => Promise<readonly [StoredViews]>;
  close: () => void;
};

type StoredViews = {
  partition: number;
  first: number;
  unused: null;
  applied: () => Promise<number>;
  scratch: () => Promise<ViewScratch>;
};

function collect<V>(keys: readonly string[], find: (key: string) => V | null): Map<string, V> {
  const found = new Map<string, V>();
  for (const key of keys) {
    const value = find(key);
    if (value !== null) found.set(key, value);
  }
  return found;
}

/** Throws the fault `data-directory-unusable` when no daemon has ever run there, or directory or file cannot be read. */
export function openEmbeddedReader(options: {
  directory: string;
  /** Where the heads are anchored; `key` null: nobody gave it, so signatures are not checked. Null: nothing is compared. */
  anchor?: { file: string; key: AuditKey | null } | null;
}): EmbeddedReader {
  const path = pathOfDesk(options.directory);
  try {
    return createReader(
      watchDamage(openWritable(path), path, () => undefined),
      options.anchor ?? null,
      options.directory,
    );
  } catch (cause) {
    throw cause instanceof Fault ? cause : (damageIn(path, cause) ?? unusable(options.directory, cause));
  }
}

function createReader(
  database: ReturnType<typeof openWritable>,
  anchor: { file: string; key: AuditKey | null } | null,
  directory: string,
): EmbeddedReader {
  const log = createLogReader(database);
  const views = createViewReader(database);
  const control = createControlRows(database);
  const rowOf = (requestId: string): LedgerRow | null => {
    const { state, reservation } = views.row(requestId);
    return state === null ? null : { state: storedState(state), reservation, hadRoom: true };
  };
  const holdersOf = (bidId: string): readonly RequestId[] | null => {
    const stored = views.holdersOfBid(bidId);
    return stored === null ? null : holdersIn(stored);
  };
  const writer = createLogWriter(database);
  const altered = watchSchema(database);
  /** Throws `log-unavailable` where nothing could be written, and `store-damaged` where somebody has altered the file. */
  const stored = <R>(work: () => R): R => {
    try {
      return inTransaction(database, () => {
        refuseAltered(altered());
        return work();
      });
    } catch (cause) {
      throw cause instanceof Fault ? cause : writeFault(cause);
    }
  };

  const key = anchor?.key ?? null;
  /** Signs what is written, for the next start to know it from what somebody else put in. */
  const signed = (entries: EncodedEntries, write: () => void): void => {
    const signature = lastSigned(database, key);
    const whose = signature === null || signature === 'unreadable' ? null : signature.signature;
    if (whose === 'other-key' && needsSignature(entries) && !isHeld(directory)) throw otherKey();
    if (key !== null && whose === 'ours') signAppend(database, { key, tables: logTables }, write);
    else write();
  };

  return {
    log: {
      read: async (topic, partition, from, limit) => (partition === 0 ? log.read(topic, from, limit) : []),
      readKey: async (topic, key) => log.readKey(topic, key),
      ends: async (topic) => new Map([[0, log.end(topic)]]),
    },
    views: {
      applied: async (partition) => views.applied(partition),
      read: async (requestIds) => collect(requestIds, rowOf),
      open: async (partition) => (partition === 0 ? [views.openRows(partition)] : []),
      findByBid: async (bidIds) => collect(bidIds, holdersOf),
      usage: async (keys, at) => views.usage(keys, at),
      statistics: async (keys) => collect(keys, views.statistic),
      query: async (query) => views.query(query),
    },
    flows: readFlows(createFlowReader(database)),
    control: {
      read: async () => control.read(),
      history: async () => control.history(),
      setPause: async (pause) => stored(() => control.change({ kind: 'pause', pause })),
      resume: async (word) => stored(() => control.change({ kind: 'resume', word })),
      setCap: async (name, limitCents, word) => stored(() => control.change({ kind: 'cap', name, limitCents, word })),
      snoozeRule: async (snooze) => stored(() => control.change({ kind: 'snooze', snooze })),
      resumeRule: async (rule, word) => stored(() => control.change({ kind: 'resume-rule', rule, word })),
      announceRules: async (order) => stored(() => control.change({ kind: 'rules', order })),
      acknowledge: async (instance, revision, at) => stored(() => control.acknowledge({ instance, revision, at })),
      acknowledged: async () => control.acknowledged(),
    },
    house: { read: async () => control.house() ?? readImportMark(directory), origins: async () => control.origins() },
    ruleBook: createKeptBook({
      ...control.ruleBook,
      add: async (text) => stored(() => control.addToRuleBook(text)),
    }),
    tokenBook: {
      read: async () => control.tokenBook(),
      append: async (entry) => stored(() => control.addToTokenBook(entry)),
    },
    partitionOf: async () => 0,
    appendBeside: async (entries) => {
      const encoded = noEntries();
      encode(entries, encoded);
      stored(() => signed(encoded, () => void writer.write(encoded)));
    },
    verifyChain: (onProgress) =>
      anchor === null ? verifyChains(database, [], onProgress) : verifyStore(database, anchor, onProgress),
    storedViews: async () => [
      {
        ...{ partition: 0, first: 0, unused: null },
        applied: async () => views.applied(0),
        scratch: async () => openScratch(database),
      },
    ],
    close: () => database.close(),
  };
}

/** Beside a desk that runs its next transaction signs what a command has added. Nothing else would, and the next start would refuse it. */
function otherKey(): Fault {
  return new Fault(
    'configuration-invalid',
    'The log was signed with another key than this command has, so the next start would refuse what it adds. Run it with LANCE_AUDIT_KEY as the desk has it (without one LANCE_PSEUDONYM_KEY signs); nothing was changed.',
  );
}
