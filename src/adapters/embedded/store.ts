/** The embedded backend: all ports of one daemon on one SQLite file in its data directory. */
import type { DatabaseSync } from 'node:sqlite';
import type { Control, EventLog, House, MarginCache, QueryBudget, RuleBook, Views } from '../../bidding/ports.ts';
import type { LinkDetail } from '../../domain/request.ts';
import { Fault } from '../../errors.ts';
import type { FlowStore } from '../../origination/ports.ts';
import { type ControlRows, createControlRows } from './control-rows.ts';
import { databasePath, lockDirectory, openReadOnly, unusable } from './database.ts';
import { createFlowReader } from './flow-rows.ts';
import { createFlows } from './flows.ts';
import { createLog } from './log.ts';
import { createLogReader } from './log-rows.ts';
import { createMargins, createQueryBudget, type MarginReader } from './margins.ts';
import { createViewReader } from './view-rows.ts';
import { createViews } from './views.ts';
import { startWriter, type Writer } from './writer.ts';

export type EmbeddedStore = {
  /** One writer takes everything in the order it comes. */
  appendAtDoor: EventLog['append'];
  /** The views end with the log: nothing else has to be kept of them. */
  copies: null;
  log: EventLog;
  views: Views;
  margins: MarginCache;
  queryBudget: QueryBudget;
  flows: FlowStore;
  control: Control;
  house: House;
  ruleBook: RuleBook;
  /** Transactions committed since the start, for the metrics. */
  commits: () => number;
  /** Stops consumers after the batch in hand, stores what is in memory, gives the directory back. */
  close: () => Promise<void>;
};

export type EmbeddedOptions = {
  directory: string;
  /** The store has died and every append will reject: end the process, a restart goes on from the log. */
  onFault: (fault: Fault) => void;
  memoryEntries?: number;
  memoryRows?: number;
  pollMs?: number;
  flushIntervalMs?: number;
};

/** An unchanged acknowledgement only shows life; it is stored this often, to spare the disk an idle daemon's syncs. */
const lifeSignMs = 1_000;

function createControl(rows: ControlRows, writer: Writer): Control {
  const latest = new Map<string, { instance: string; revision: number; at: number; storedAt: number }>();
  const guarded = async <R>(work: () => R | Promise<R>): Promise<R> => {
    try {
      return await work();
    } catch (cause) {
      throw new Fault('views-unavailable', 'The controls cannot be read or stored.', cause);
    }
  };
  return {
    read: () => guarded(rows.read),
    setPause: (pause) => guarded(() => writer.submit({ kind: 'control', change: { kind: 'pause', pause } })),
    setCap: (name, limitCents) =>
      guarded(() => writer.submit({ kind: 'control', change: { kind: 'cap', name, limitCents } })),
    announceRules: (order) => guarded(() => writer.submit({ kind: 'control', change: { kind: 'rules', order } })),
    acknowledge: (instance, revision, at) =>
      guarded(async () => {
        const before = latest.get(instance);
        const store = before?.revision !== revision || at - before.storedAt >= lifeSignMs;
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

function createHouse(rows: ControlRows, writer: Writer): House {
  return {
    read: async () => rows.house(),
    write: async (mark) => {
      try {
        await writer.submit({ kind: 'house', mark });
      } catch (cause) {
        throw new Fault('log-unavailable', 'Where the desk lives could not be stored.', cause);
      }
    },
  };
}

function createRuleBook(rows: ControlRows, writer: Writer): RuleBook {
  return {
    read: async () => rows.ruleBook(),
    append: async (entry) => {
      try {
        await writer.submit({ kind: 'rule-book', entry });
      } catch (cause) {
        throw new Fault('log-unavailable', 'What became of the rule set could not be stored.', cause);
      }
    },
  };
}

function createMarginReader(database: DatabaseSync): MarginReader {
  const select = database.prepare('SELECT detail FROM margins WHERE link_key = ?');
  return (linkKey) => {
    const row = select.get(linkKey) as { detail: string } | undefined;
    return row === undefined ? null : (JSON.parse(row.detail) as LinkDetail);
  };
}

/**
 * Rejects with the fault `data-directory-in-use` while another daemon holds the directory, and `data-directory-unusable` when it
 * cannot be made or written.
 */
export async function openEmbeddedStore(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const { directory } = options;
  const lock = lockDirectory(directory);
  let writer: Writer | null = null;
  try {
    const path = databasePath(directory);
    writer = await startWriter(path, options.onFault);
    const database = openReadOnly(path);
    const log = createLog({
      reader: createLogReader(database),
      writer,
      memoryEntries: options.memoryEntries ?? 8_192,
      pollMs: options.pollMs ?? 100,
    });
    const memoryRows = options.memoryRows ?? 16_384;
    const views = createViews({
      reader: createViewReader(database),
      writer,
      limits: {
        rows: memoryRows,
        statistics: 4_096,
        dirtyRows: memoryRows,
        flushIntervalMs: options.flushIntervalMs ?? 250,
      },
    });
    const margins = createMargins({ read: createMarginReader(database), writer, memoryRows });
    const rows = createControlRows(database);
    const running = writer;
    return {
      log: log.log,
      appendAtDoor: log.log.append,
      copies: null,
      views: views.views,
      margins,
      queryBudget: createQueryBudget(running),
      flows: createFlows(createFlowReader(database), writer),
      control: createControl(rows, writer),
      house: createHouse(rows, writer),
      ruleBook: createRuleBook(rows, writer),
      commits: running.commits,
      close: async () => {
        await log.close();
        await views.close();
        // Whoever closes last, and may write, puts what stands beside the file into it.
        database.close();
        await running.close();
        lock.release();
      },
    };
  } catch (cause) {
    await writer?.close();
    lock.release();
    throw cause instanceof Fault ? cause : unusable(directory, cause);
  }
}
