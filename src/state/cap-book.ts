/**
 * The cap book: what is promised under each cap by all partitions together. The owners of partitions keep it by one protocol,
 * on one server or in memory, and a book that may have lost something is never asked for a verdict.
 *
 * 1. Each record yields at most one operation, known by epoch, partition and offset (`capOperationOf`). An owner keeps those that
 *    the book has not acknowledged, stored together with the offset that it is folded to.
 * 2. The book holds its epoch, for each partition `base` and `at`, the sum and number under each key, and the requests refused.
 *    Nothing in it expires.
 * 3. A call takes in operations from `at` on and moves `at`. It is refused where the epoch is another one, where the book is not
 *    open, or where `at` is below what was acknowledged. The book is known to be lost while a call is being carried out.
 * 4. A verdict, also a refusal, counts only if the book is open, the owner has folded up to `at`, and `controls` were read within
 *    their age limit. Without an answer the call is repeated, and nothing is sent.
 * 5. A loss is a server without the book, another server, an older epoch, or an `at` below an acknowledged one. Whoever sees it
 *    appends `cap-book-lost` with the next epoch to `controls`; the first such record counts, and closes bidding.
 * 6. Bidding that has not read the record stops by the age limit of controls. After that the ends of all partitions are read. Each
 *    owner that is folded so far commits its sums, once a partition and epoch; every open claim counts. The last one opens the book.
 * 7. A claim below `base` is not sent, nor sent again. It stays counted until the auction tells.
 *
 * Offsets `at`, `base`, `acknowledged` and `applied` are those of the next record, as everywhere in the project.
 * The rules 1 and 4 to 7 stand in `cap-owner.ts`, the rules 2 and 3 in each book.
 */
import type { CapOperation } from '../domain/cap-book.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Usage } from '../domain/offer.ts';

/** Record on `controls`. `server`: on which the book of this epoch is to be kept. */
export type CapBookLost = { kind: 'cap-book-lost'; epoch: number; server: string };

export type CapEpoch = { epoch: number; server: string };

/** Before the first record. */
export const noEpoch: CapEpoch = { epoch: 0, server: '' };

/** The newest epoch after one more record of `controls`, in their order. */
export function epochAfter(newest: CapEpoch, { epoch, server }: CapBookLost): CapEpoch {
  return epoch === newest.epoch + 1 ? { epoch, server } : newest;
}

/** `epoch`: 0 asks how the book stands and begins none. */
export type BeginCall = { epoch: number; server: string; partitions: number };

/** `id`: of the book that the call is meant for. Each partition stands in a call once. */
export type CommitCall = {
  server: string;
  id: string;
  parts: readonly { partition: number; applied: number; sums: ReadonlyMap<string, Usage> }[];
};

export type ApplyCall = {
  server: string;
  id: string;
  parts: readonly {
    partition: number;
    /** The book was known to be so far. */
    acknowledged: number;
    /** The operations are all those of records before it, from `acknowledged` on. */
    applied: number;
    /** In order of their offsets. Reservations below `acknowledged` may come before them, for their verdict. */
    operations: readonly CapOperation[];
  }[];
};

export type BookAnswer = {
  /** The life of the server that answered. It is another one whenever its data may be older than what it acknowledged. */
  server: string;
  /** How the book stands after the call; null where the server has none. `id` is never used twice. */
  book: { id: string; epoch: number; partitions: number; isOpen: boolean } | null;
  /** The call was carried out. */
  isDone: boolean;
  /** In the order of the call's parts; null for one that has not committed. Empty after `begin`. */
  parts: readonly ({ base: number; at: number } | null)[];
  /** Partitions that have not committed, while the book is being filled. */
  missing: readonly number[];
  /** Requests with a reservation in the call whose last verdict is a refusal. */
  refused: readonly RequestId[];
};

/** Rejects with `views-unavailable` where nothing is known of the outcome. */
export type CapBook = {
  /** Begins the book of the epoch where there is none or an older one, on this server only. */
  begin: (call: BeginCall) => Promise<BookAnswer>;
  commit: (call: CommitCall) => Promise<BookAnswer>;
  apply: (call: ApplyCall) => Promise<BookAnswer>;
  /** What is used under each key, none left out; null unless this book is open. For decisions: a claim is judged by `apply`. */
  usage: (id: string, keys: readonly string[]) => Promise<ReadonlyMap<string, Usage> | null>;
};
