/** The cap book in Redis, by one script. The server must keep it: what it forgets closes bidding until the owners filled it again. */
import type { CapOperation } from '../../domain/cap-book.ts';
import type { CapReservation, Usage } from '../../domain/offer.ts';
import type { BookAnswer, CapBook } from '../../state/cap-book.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

type Answer = [head: string[], parts: [string | number, string | number][], fields: string[], refused: string[]];

export function createCapBook(connection: Connection, prefix: string): CapBook {
  const [book, sums, refused] = ['', ':sums', ':refused'].map((name) => `${prefix}cap-book${name}`) as [
    string,
    string,
    string,
  ];
  const run = async (call: object): Promise<BookAnswer> =>
    answerIn(await connection.run<Answer>(scripts.capBook, [book, sums, refused], [JSON.stringify(call)]));
  return {
    begin: (call) => run({ verb: 'begin', ...call }),
    commit: ({ parts, ...call }) =>
      run({
        ...{ verb: 'commit', ...call },
        parts: parts.map(({ partition, applied, sums: committed }) => {
          const own = [...committed].map(([key, usage]) => ({ key, ...usage }));
          return { partition, applied, acknowledged: 0, sums: own };
        }),
      }),
    apply: ({ parts, ...call }) =>
      run({
        ...{ verb: 'apply', ...call },
        parts: parts.map((part) => ({ ...part, operations: part.operations.map(toldOperation) })),
      }),
    usage: async (id, keys) => {
      const fields = ['', ...keys].flatMap((key) => [`cents ${key}`, `count ${key}`]);
      const found = await connection.run<(string | null)[] | null>(scripts.capUsage, [book, sums], [id, ...fields]);
      if (found === null) return null;
      const numberAt = (place: number) => Number(found[place] ?? 0);
      return new Map(
        keys.map((key, place): [string, Usage] => [
          key,
          { amountCents: numberAt(2 * place + 2), count: numberAt(2 * place + 3) },
        ]),
      );
    },
  };
}

function answerIn([[server, id, partitions, isOpen, isDone], parts, fields, refused]: Answer): BookAnswer {
  return {
    server: server!,
    book:
      id === ''
        ? null
        : { id: id!, epoch: Number.parseInt(id!, 10), partitions: Number(partitions), isOpen: isOpen === '1' },
    isDone: isDone === '1',
    parts: parts.map(([base, at]) => (at === '' ? null : { base: Number(base), at: Number(at) })),
    missing: id === '' || isOpen === '1' ? [] : missingOf(Number(partitions), fields),
    refused,
  };
}

function missingOf(partitions: number, fields: readonly string[]): number[] {
  return Array.from({ length: partitions }, (_, each) => each).filter((each) => !fields.includes(`base ${each}`));
}

/** As the script takes it. `count`: whatever came before. */
function toldOperation(operation: CapOperation): object {
  const { kind, offset, requestId, amountCents, keys } = operation;
  const told = { kind: kind === 'hold' && !operation.reserved ? 'count' : kind, offset, requestId, amountCents, keys };
  if (operation.kind !== 'reserve') return told;
  return { ...told, limits: operation.limits.map(toldLimit) };
}

/** What has no limit is left out: null is something in the script. */
function toldLimit({ keys, limitAmountCents, limitCount }: CapReservation): object {
  const [cents, count] = [limitAmountCents ?? undefined, limitCount ?? undefined];
  return { keys: [...new Set(keys)], cents, count };
}
