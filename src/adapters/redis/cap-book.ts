/** The cap book in Redis, by one script. The server must keep it: what it forgets closes bidding until the owners filled it again. */
import type { CapOperation } from '../../domain/cap-book.ts';
import type { CapReservation, Usage } from '../../domain/offer.ts';
import type { ApplyCall, BookAnswer, CapBook, CommitCall } from '../../state/cap-book.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

type Answer = [head: string[], parts: [string, string][], missing: number[], refused: string[]];

/** More than any sum of cents. */
const unlimited = '1e18';

export function createCapBook(connection: Connection, prefix: string): CapBook {
  const names = ['', ':cents', ':counts', ':refused'].map((name) => `${prefix}cap-book${name}`);
  const run = async (...args: string[]): Promise<BookAnswer> =>
    answerIn(await connection.run<Answer>(scripts.capBook, names, args));
  return {
    begin: ({ server, epoch, partitions }) => run('begin', server, String(epoch), String(partitions)),
    commit: ({ server, id, parts }) => run('commit', server, id, ...commitArguments(parts)),
    apply: ({ server, id, parts }) => run('apply', server, id, ...applyArguments(parts)),
    usage: async (id, keys) => {
      const found = await connection.run<string[] | null>(scripts.capUsage, names.slice(0, 3), [id, ...keys]);
      if (found === null) return null;
      return new Map(
        keys.map((key, i): [string, Usage] => [
          key,
          { amountCents: Number(found[2 * i]), count: Number(found[2 * i + 1]) },
        ]),
      );
    },
  };
}

function answerIn([[server, id, partitions, isOpen, isDone], parts, missing, refused]: Answer): BookAnswer {
  return {
    server: server!,
    book:
      id === ''
        ? null
        : { id: id!, epoch: Number.parseInt(id!, 10), partitions: Number(partitions), isOpen: isOpen === '1' },
    isDone: isDone === '1',
    parts: parts.map(([base, at]) => (at === '' ? null : { base: Number(base), at: Number(at) })),
    missing,
    refused,
  };
}

function commitArguments(parts: CommitCall['parts']): string[] {
  const args = [String(parts.length)];
  for (const { partition, applied } of parts) args.push(String(partition), String(applied), '0');
  for (const { sums } of parts) {
    args.push(String(sums.size));
    for (const [key, { amountCents, count }] of sums)
      args.push('sum', String(count), '', String(amountCents), '1', key);
  }
  return args;
}

function applyArguments(parts: ApplyCall['parts']): string[] {
  const args = [String(parts.length)];
  for (const { partition, applied, acknowledged } of parts) {
    args.push(String(partition), String(applied), String(acknowledged));
  }
  for (const { operations } of parts) {
    args.push(String(operations.length));
    for (const operation of operations) {
      const { offset, requestId, amountCents, keys } = operation;
      args.push(verbOf(operation), String(offset), requestId, String(amountCents), String(keys.length), ...keys);
      const limits = operation.kind === 'reserve' ? operation.limits : [];
      args.push(String(limits.length));
      for (const limit of limits) pushLimit(args, limit);
    }
  }
  return args;
}

/** `count`: whatever came before. */
function verbOf(operation: CapOperation): string {
  return operation.kind === 'hold' && !operation.reserved ? 'count' : operation.kind;
}

function pushLimit(args: string[], { keys, limitAmountCents, limitCount }: CapReservation): void {
  const distinct = new Set(keys);
  args.push(String(limitAmountCents ?? unlimited), String(limitCount ?? unlimited), String(distinct.size), ...distinct);
}
