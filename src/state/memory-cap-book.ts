/** The cap book in the memory of one process: for a desk on one machine, and as the measure of the script that keeps it in Redis. */
import { addUsage, type CapOperation, fullCap, nothingUsed } from '../domain/cap-book.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { Usage } from '../domain/offer.ts';
import type { ApplyCall, BeginCall, BookAnswer, CapBook, CommitCall } from './cap-book.ts';

/** Plain data, which may be copied. */
export type BookData = {
  /** Null: there is no book, or a call died half way. */
  book: { id: string; epoch: number; partitions: number; isOpen: boolean } | null;
  parts: Map<number, { base: number; at: number }>;
  sums: Map<string, Usage>;
  refused: Set<RequestId>;
};

export function emptyBook(): BookData {
  return { book: null, parts: new Map(), sums: new Map(), refused: new Set() };
}

/** The port with answers at once. */
export type BookAtHand = {
  [Verb in keyof CapBook]: (...args: Parameters<CapBook[Verb]>) => Awaited<ReturnType<CapBook[Verb]>>;
};

/** `server` names the life of the data. `newName` gives another text each time. */
export function createBookAtHand(
  data: BookData,
  { server, newName }: { server: string; newName: () => string },
): BookAtHand {
  const answer = (
    isDone: boolean,
    parts: BookAnswer['parts'] = [],
    refused: readonly RequestId[] = [],
  ): BookAnswer => ({
    server,
    book: data.book === null ? null : { ...data.book },
    isDone,
    parts,
    missing: missingIn(data),
    refused,
  });
  const partsOf = (call: CommitCall | ApplyCall): BookAnswer['parts'] =>
    call.parts.map(({ partition }) => {
      const part = data.parts.get(partition);
      return part === undefined ? null : { ...part };
    });
  const isMeant = (call: CommitCall | ApplyCall) => call.server === server && call.id === data.book?.id;
  /** Should the work throw, there is no book any more. */
  const whole = (book: NonNullable<BookData['book']>, work: () => void): void => {
    data.book = null;
    work();
    data.book = book;
  };

  return {
    begin: (call: BeginCall) => {
      const { epoch, partitions } = call;
      if (call.server !== server || epoch === 0 || (data.book?.epoch ?? 0) >= epoch) return answer(false);
      data.parts.clear();
      data.sums.clear();
      data.refused.clear();
      data.book = { id: `${epoch}:${newName()}`, epoch, partitions, isOpen: false };
      return answer(true);
    },
    commit: (call) => {
      const { book } = data;
      if (book === null || !isMeant(call)) return answer(false, partsOf(call));
      whole(book, () => {
        for (const { partition, applied, sums } of call.parts) {
          if (data.parts.has(partition)) continue;
          data.parts.set(partition, { base: applied, at: applied });
          for (const [key, { amountCents, count }] of sums) {
            const before = data.sums.get(key) ?? nothingUsed;
            data.sums.set(key, { amountCents: before.amountCents + amountCents, count: before.count + count });
          }
        }
        book.isOpen = data.parts.size === book.partitions;
      });
      return answer(true, partsOf(call));
    },
    apply: (call) => {
      const { book } = data;
      const isBehind = call.parts.some(
        ({ partition, acknowledged }) => (data.parts.get(partition)?.at ?? -1) < acknowledged,
      );
      if (book === null || !isMeant(call) || !book.isOpen || isBehind) return answer(false, partsOf(call));
      const refused: RequestId[] = [];
      whole(book, () => {
        for (const { partition, applied, operations } of call.parts) {
          const part = data.parts.get(partition)!;
          for (const operation of operations) {
            if (operation.offset >= part.at) takeIn(data, operation);
            const { kind, requestId } = operation;
            if (kind === 'reserve' && data.refused.has(requestId)) refused.push(requestId);
          }
          part.at = Math.max(part.at, applied);
        }
      });
      return answer(true, partsOf(call), refused);
    },
    usage: (id, keys) => {
      if (data.book?.id !== id || !data.book.isOpen) return null;
      return new Map(keys.map((key) => [key, data.sums.get(key) ?? nothingUsed]));
    },
  };
}

function missingIn({ book, parts }: BookData): number[] {
  if (book === null || book.isOpen) return [];
  return Array.from({ length: book.partitions }, (_, partition) => partition).filter((each) => !parts.has(each));
}

function takeIn({ sums, refused }: BookData, operation: CapOperation): void {
  const { requestId, amountCents, keys } = operation;
  switch (operation.kind) {
    case 'reserve': {
      const isFull = fullCap(operation.limits, { amountCents, count: 1 }, (key) => sums.get(key)) !== null;
      if (isFull) refused.add(requestId);
      else addUsage(sums, keys, amountCents, 1);
      break;
    }
    case 'hold': {
      const wasRefused = refused.delete(requestId);
      if (wasRefused || !operation.reserved) addUsage(sums, keys, amountCents, 1);
      break;
    }
    case 'release':
      if (!refused.delete(requestId)) addUsage(sums, keys, amountCents, -1);
      break;
    default:
      operation satisfies never;
  }
}

/** The book of the only process of a desk. It is lost with the process. */
export function createMemoryCapBook(options: { server: string; newName: () => string }): CapBook {
  const book = createBookAtHand(emptyBook(), options);
  return {
    begin: async (call) => book.begin(call),
    commit: async (call) => book.commit(call),
    apply: async (call) => book.apply(call),
    usage: async (id, keys) => book.usage(id, keys),
  };
}
