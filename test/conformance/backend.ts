/**
 * What a backend gives to be held to the ports. A place is where one desk's data lives (a directory; a prefix of topics and
 * keys), as text, so that a child process can open it too.
 */
import assert from 'node:assert/strict';
import type {
  Control,
  ControlArchive,
  EventLog,
  MarginCache,
  NewEntry,
  QueryBudget,
  RowsAt,
  Views,
} from '../../src/bidding/ports.ts';
import type { FlowStore } from '../../src/origination/ports.ts';

export type LogBackend = {
  log: EventLog;
  /** Durable writes so far, to show that appends share them. */
  commits: () => number;
  close: () => Promise<void>;
};

export type Backend = LogBackend & {
  views: Views;
  margins: MarginCache;
  queryBudget: QueryBudget;
  control: Control;
  flows: FlowStore;
};

/** Another process of the same desk: a second instance, or the command line. */
export type Beside = {
  append: (entries: readonly NewEntry[]) => Promise<void>;
  /** As the command line has it. */
  control: Control & ControlArchive;
  close: () => Promise<void>;
};

/** What the suite of the log alone needs. */
export type LogKind = Pick<BackendKind, 'name' | 'module' | 'createPlace'> & {
  open: (place: string) => Promise<LogBackend>;
  beside: (place: string) => Promise<Pick<Beside, 'append' | 'close'>>;
  /** Reads the log of a place, and counts the records that its storage gives for that. */
  counting: (place: string) => Promise<CountingReader>;
};

export type CountingReader = {
  readKey: EventLog['readKey'];
  /** Since it was asked last. */
  taken: () => number;
  close: () => Promise<void>;
};

export type BackendKind = {
  name: string;
  /** This module exports the kind as `kind`, for a child process to import. */
  module: string;
  createPlace: () => Promise<string>;
  open: (place: string) => Promise<Backend>;
  beside: (place: string) => Promise<Beside>;
  counting: LogKind['counting'];
  /** Ends the backend as `kill -9` would; returns the place where what is left of it can be opened. */
  crash: (place: string, backend: Pick<Backend, 'close'>) => Promise<string>;
  /** Removes the views of a closed backend; the log stays. */
  burnViews: (place: string) => Promise<void>;
};

/** What the suite of the views alone needs. */
export type ViewsKind = Pick<BackendKind, 'name' | 'createPlace' | 'crash' | 'burnViews'> & {
  open: (place: string) => Promise<Pick<Backend, 'views' | 'close'>>;
};

/** What the suite of the flows alone needs. */
export type FlowsKind = Pick<BackendKind, 'name' | 'createPlace' | 'burnViews'> & {
  open: (place: string) => Promise<Pick<Backend, 'flows' | 'close'>>;
};

/** What the suites need of what all instances share on either backend. */
export type StoreKind = Pick<BackendKind, 'name' | 'createPlace'> & {
  open: (place: string) => Promise<Pick<Backend, 'margins' | 'queryBudget' | 'control' | 'close'>>;
  beside: (place: string) => Promise<Pick<Beside, 'control' | 'close'>>;
};

/** Opens a fresh place for one test and closes it, whatever happens. */
export async function withBackend<B extends Pick<Backend, 'close'>>(
  kind: { createPlace: () => Promise<string>; open: (place: string) => Promise<B> },
  run: (backend: B, place: string) => Promise<void>,
): Promise<void> {
  const place = await kind.createPlace();
  const backend = await kind.open(place);
  try {
    await run(backend, place);
  } finally {
    await backend.close();
  }
}

/** Waits for what another thread or process has to do first; fails after `timeoutMs`. */
export async function eventually(holds: () => boolean | Promise<boolean>, timeoutMs = 5_000): Promise<void> {
  const endAt = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > endAt) throw new Error(`not so within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** All pages, each of which has to say that it is as far as `applied`. */
export async function rowsAt<Row>(asked: Promise<readonly RowsAt<Row>[]>, applied: number): Promise<Row[]> {
  const pages = await asked;
  for (const page of pages) assert.equal(page.applied, applied);
  return pages.flatMap(({ rows }) => rows);
}
