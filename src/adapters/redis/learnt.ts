/** What partitions have learnt, in Redis: a hash for each of them. */
import type { PartHistogram } from '../../domain/histogram.ts';
import type { LearntBook } from '../../state/shared-learning.ts';
import type { Connection } from './connection.ts';
import { scripts } from './scripts.ts';

/** `genesis`: of the log that they were learnt from. */
export function createLearntBook(connection: Connection, prefix: string, genesis: string): LearntBook {
  const nameOf = (partition: number) => `${prefix}learnt:${genesis}:${partition}`;
  const fieldOf = (key: string) => `:${key}`;
  return {
    write: async ({ partition, applied, before, mark, parts }) => {
      const args = parts.flatMap(([key, part]) => [fieldOf(key), encode(part)]);
      const head = [before ?? '', mark, String(applied)];
      return (await connection.run<number>(scripts.learnt, [nameOf(partition)], [...head, ...args])) === 1;
    },
    read: async (partitions, keys) => {
      if (keys.length === 0) return partitions.map(() => new Map());
      const answers = partitions.map((partition) =>
        connection.bytes<(Buffer | null)[]>('HMGET', nameOf(partition), ...keys.map(fieldOf)),
      );
      return (await Promise.all(answers)).map((values) => {
        const parts = new Map<string, PartHistogram>();
        for (const [place, bytes] of values.entries()) if (bytes !== null) parts.set(keys[place]!, decode(bytes));
        return parts;
      });
    },
  };
}

/** Numbers before the cells. */
const headNumbers = 5;

function encode({ landmarkAt, landmarkCount, count, halfLives, cells }: PartHistogram): Buffer {
  const numbers = new Float64Array(headNumbers + cells.length);
  numbers.set([landmarkAt, landmarkCount, count, halfLives.halfLifeMs, halfLives.halfLifeResults]);
  numbers.set(cells, headNumbers);
  return Buffer.from(numbers.buffer);
}

function decode(bytes: Buffer): PartHistogram {
  // A buffer of the client may begin anywhere.
  const numbers = new Float64Array(new Uint8Array(bytes).buffer);
  const [landmarkAt, landmarkCount, count, halfLifeMs, halfLifeResults] = numbers as unknown as [
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    landmarkAt,
    landmarkCount,
    count,
    halfLives: { halfLifeMs, halfLifeResults },
    cells: numbers.slice(headNumbers),
  };
}
