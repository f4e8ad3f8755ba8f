/** What the commands need from the composition root, so that none of them knows an adapter. */

import { refuseOtherKey } from '../bidding/key-check.ts';
import type {
  Control,
  ControlArchive,
  EventLog,
  House,
  HouseMark,
  MarginCache,
  NewEntry,
  QueryAnswer,
  RuleBook,
  TokenBook,
  ViewDifference,
  Views,
} from '../bidding/ports.ts';
import type { StorePlace } from '../config/store-place.ts';
import type { Config, ConfigResult, Model, Place, Writing } from '../config.ts';
import type { ChainHeads, ChainVerdict, LostClaims } from '../domain/audit.ts';
import type { Clock } from '../domain/clock.ts';
import type { ForgedEntry, Topic } from '../domain/records.ts';
import type { Vault } from '../domain/vault.ts';
import type { Fault } from '../errors.ts';
import type { FlowStore } from '../origination/ports.ts';
import type { PricingSettings } from '../pricing/settings.ts';
import type { AskedBids } from '../queries/asked-bids.ts';
import type { RuleFile } from '../rules/rule-set.ts';
import type { ConfiguredEndpoints } from '../rules/sources.ts';
import type { RequestMapping } from '../wire/mapping-table.ts';
import type { DaemonPlace } from './daemon.ts';
import type { Format } from './format.ts';
import type { Terminal } from './terminal.ts';

/** The store of a desk, beside a running daemon or without one. */
export type DeskReader = {
  log: Pick<EventLog, 'read' | 'readKey' | 'ends'>;
  views: Omit<Views, 'apply' | 'readAt' | 'areWhole' | 'wholeUsage'>;
  /** Where each process folds its own partitions and some run: requests as these know them; the views are as the log is. */
  askedBids?: AskedBids | null;
  flows: Omit<FlowStore, 'apply'>;
  control: Control & ControlArchive;
  house: Pick<House, 'read' | 'origins'>;
  ruleBook: RuleBook;
  tokenBook: TokenBook;
  partitionOf: (topic: Topic, key: string) => Promise<number>;
  appendBeside: (entries: readonly NewEntry[]) => Promise<void>;
  /** Checks every chain of the log, and the heads anchored outside of it. Null where none is kept. */
  verifyChain: ((onProgress: (verified: number) => void) => Promise<ChainVerdict>) | null;
  /** The stored views of this machine, each part to be compared with a fold of the log. */
  storedViews: () => Promise<readonly StoredViews[]>;
  close: () => void | Promise<void>;
};

/** The views of one partition as they are stored. */
export type StoredViews = {
  partition: number;
  /** The first record that the log still keeps. Rows of records before it are not compared. */
  first: number;
  /** Why no desk would go on with them; null: they are as good as their rows. */
  unused: string | null;
  /** How far they are folded now. */
  applied: () => Promise<number>;
  /** Empty views to fold the log into, and to be compared with the stored ones. */
  scratch: () => Promise<ScratchViews>;
};

type ScratchViews = {
  views: Views;
  /** From here on the store is read as it is now. Returns how far its views are folded. */
  pin: () => number;
  /** `onRows` hears how many stored rows were looked at. */
  compare: (onRows: (count: number) => void) => AsyncIterable<ViewDifference>;
  close: () => Promise<void>;
};

/** The store of a desk as a move needs it: everything, and no daemon beside it where the backend can hold one off. */
export type WholeStore = {
  log: EventLog;
  views: Views;
  flows: FlowStore;
  margins: MarginCache;
  control: Control;
  house: House;
  ruleBook: RuleBook;
  /** Of a log on brokers: orders to pass over a batch that no program can unpack, and resolves to its offsets. `before` comes first where it is one. */
  passOver?: (
    place: { topic: string; partition: number; offset: number },
    word: { at: number; by: string; reason: string },
    before: () => Promise<void>,
  ) => Promise<{ first: number; last: number }>;
  /** Where each chain is; null where none is kept while records are written. */
  chainHeads: (() => ChainHeads) | null;
  close: () => Promise<void>;
};

/** A store that is behind what is known of it, or is not what it was, open for whoever accepts that. */
export type SetBackStore = WholeStore & {
  /** What it holds, and what is known to have been stored; null: nobody knows. */
  heads: ChainHeads;
  lost: ChainHeads | null;
  claimed: LostClaims;
  forged: readonly ForgedEntry[];
  /** From now on it is what it is: the anchor goes on with what it holds. Closes it. */
  accept: () => Promise<void>;
};

/** `renewalFault`: why the token command brought none, if it was run. `skewMs`: how far the service's time is ahead; null: not told. */
export type TokenTrial = { answer: QueryAnswer; renewalFault: string | null; skewMs: number | null };

type QuickCheck = { kind: 'sound' } | { kind: 'damaged'; text: string } | { kind: 'unfinished' };

export type CommandWorld = {
  clock: Clock;
  terminal: Terminal;
  format: Format;
  /** Throws `configuration-invalid`. */
  place: () => Place;
  /** How rates are priced, and nothing else. Throws `configuration-invalid`. */
  pricing: () => PricingSettings;
  /** What decisions depend on beside the rules. Throws `configuration-invalid`. */
  model: () => Model;
  /** Null: none is given. Throws `configuration-invalid`. */
  pseudonymKey: () => string | null;
  /** What writing beside a desk depends on. Throws `configuration-invalid`. */
  writing: () => Writing;
  /** The mapping in this file; null: the one that is set, or the package's. Throws `configuration-invalid`. */
  mapping: (file: string | null) => RequestMapping;
  /** External sources of the configuration. Throws `configuration-invalid`. */
  endpoints: () => ConfiguredEndpoints;
  /** Rejects with `data-directory-unusable`, or with what a server of the store did not do. */
  openReader: (store: StorePlace) => Promise<DeskReader>;
  /**
   * Rejects with `data-directory-in-use` where a daemon holds it. `arriving`: the mark of an import, for which an empty store is made where
   * there is none. In a new data directory it is durable before anything else is written, and what an import left there that was killed is removed.
   */
  openWhole: (store: StorePlace, options: { arriving: HouseMark | null }) => Promise<WholeStore>;
  /**
   * Opens a store that was set back, and says what of it is lost; null where it was not. Rejects with `data-directory-in-use` as
   * `openWhole`, and with `pseudonym-key-changed`; with `store-set-back` where an embedded
   * desk is not there at all, unless `emptied` says that it is lost. Writes nothing.
   */
  openSetBack: (store: StorePlace, emptied: boolean) => Promise<SetBackStore | null>;
  /** Why the store's log and anchors would make a start refuse; null where they would not. Reads only. */
  startRefusal: (store: StorePlace) => Promise<Fault | null>;
  /** The next start makes the views of an embedded store again. Throws `data-directory-in-use`. */
  giveUpViews: (dataDir: string) => void;
  /** Folds the state files of this machine anew, of a store on Kafka. Rejects with `data-directory-in-use`; `onProgress` hears of records. */
  refoldViews: (
    store: Extract<StorePlace, { backend: 'kafka' }>,
    onProgress: (done: number, of: number) => void,
  ) => Promise<{ partitions: readonly number[]; records: number }>;
  /** Whether the pages of the store's file fit together; null where there is no file. Gives up after `timeoutMs`. */
  quickCheck: (store: StorePlace, timeoutMs: number) => Promise<QuickCheck | null>;
  /** Why something of that size would not be stored there; null where nothing is known against it. */
  tooLittleSpace: (store: StorePlace, neededBytes: number) => string | null;
  /** What the disk of the store has left; null where that cannot be seen from here. */
  freeBytes: (store: StorePlace) => number | null;
  /** Shows the service the token that a desk with these settings would use, by a call that changes nothing. */
  tryToken: (config: Config) => Promise<TokenTrial>;
  /** A running desk that commands are to order, by `LANCE_URL` and `LANCE_TOKEN`; null: not both are set. Throws `configuration-invalid`. */
  remote: () => DaemonPlace | null;
  /** Where a running process is asked; null: it listens on a port that only it knows. Throws `configuration-invalid`. */
  daemon: () => DaemonPlace | null;
  readConfig: () => ConfigResult;
  createVault: (secret: string) => Vault;
  /** Throws `rules-refused`. */
  readRules: (directory: string) => readonly RuleFile[];
  /** Whether a process holds the directory. */
  isHeld: (directory: string) => boolean;
  /** Ids of processes that have a removed database of the directory open still. */
  holdersOfRemoved: (directory: string) => readonly number[];
  /** Ids of processes that run on the directory though their lock file was removed or replaced; `path`: where that belongs. */
  holdersOfLostLock: (directory: string) => { path: string; pids: readonly number[] };
  /** A file of this package or one that the user names. */
  readPackageFile: (path: string) => string;
  /** The first line of standard input; a person at a terminal is told on stderr what is awaited. */
  readLine: (awaited: string) => Promise<string>;
  readText: (path: string) => string;
  endSignal: () => Promise<string>;
};

/** Opens the store for one command and closes it however that ends. */
export async function withReader<R>(
  world: CommandWorld,
  use: (reader: DeskReader, place: Place) => Promise<R>,
): Promise<R> {
  const place = world.place();
  const { store } = place;
  const desk = world.remote();
  if (desk !== null) {
    const where = store.backend === 'embedded' ? store.dataDir : store.kafka.topicPrefix;
    world.terminal.say(world.format.texts.remote.readHere(where, desk.url));
  }
  const reader = await world.openReader(store);
  try {
    return await use(reader, place);
  } finally {
    await reader.close();
  }
}

/** Whether a process holds the store, whatever it does; false where that cannot be seen from here, as on brokers. */
export function isStoreHeld(world: Pick<CommandWorld, 'place' | 'isHeld'>): boolean {
  const { store } = world.place();
  const directory = store.backend === 'embedded' ? store.dataDir : store.stateDir;
  return directory !== null && world.isHeld(directory);
}

/** For what is written beside a desk. Rejects with `pseudonym-key-changed` where the data stands under another key. */
export async function vaultOf(
  world: Pick<CommandWorld, 'createVault' | 'writing'>,
  { log }: Pick<DeskReader, 'log'>,
): Promise<Vault> {
  const vault = world.createVault(world.writing().pseudonymKey);
  await refuseOtherKey(log, vault);
  return vault;
}
