/**
 * A snapshot of a partition is its state file, byte for byte: first a piece that says what the file was folded from, then its bytes, then
 * their hash. Nothing has to be read or written row by row, neither when it is taken nor when it is put back.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { Fault } from '../errors.ts';
import type { StateOrigin } from './state-file.ts';

/** What a piece at the front says. Another form is none of ours. */
const form = 'lance-state-1';

type Head = { form: typeof form; bytes: number; origin: StateOrigin };

/** The bytes must not change while the file `isHeld`; the pieces end with `views-unavailable` when it is not any more. */
export async function* piecesOf(
  file: Pick<FileHandle, 'read' | 'stat'>,
  { origin, pieceBytes, isHeld }: { origin: StateOrigin; pieceBytes: number; isHeld: () => boolean },
): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  yield Buffer.from(JSON.stringify({ form, bytes: size, origin } satisfies Head));
  const hash = createHash('sha256');
  for (let at = 0; at < size; ) {
    const piece = Buffer.alloc(Math.min(pieceBytes, size - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0 || !isHeld()) throw new Fault('views-unavailable', 'The partition was closed meanwhile.');
    const read = piece.subarray(0, bytesRead);
    hash.update(read);
    at += bytesRead;
    yield read;
  }
  yield hash.digest();
}

export type ReadSnapshot = {
  origin: StateOrigin;
  /** Writes the file; `onBytes` hears of bytes written. Rejects with `views-unavailable` where they are not those that were taken. */
  writeTo: (path: string, onBytes: (bytes: number) => void) => Promise<void>;
  /** For one that is not written. */
  leave: () => Promise<void>;
};

/** Null where the pieces are not of this form. */
export async function readSnapshot(pieces: AsyncIterable<Buffer>): Promise<ReadSnapshot | null> {
  const reading = pieces[Symbol.asyncIterator]();
  const leave = async () => {
    await reading.return?.();
  };
  const first = await reading.next();
  const head = first.done === true ? null : headIn(first.value);
  if (head === null) {
    await leave();
    return null;
  }
  return {
    origin: head.origin,
    leave,
    writeTo: async (path, onBytes) => {
      // Whatever stands there: opening a pipe would wait for ever.
      await rm(path, { force: true });
      const file = await open(path, 'wx', 0o600);
      try {
        await writeAll(file, reading, head.bytes, onBytes);
      } catch (fault) {
        await rm(path, { force: true });
        throw fault;
      } finally {
        await file.close();
      }
    },
  };
}

function headIn(piece: Buffer): Head | null {
  try {
    const head = JSON.parse(piece.toString()) as Partial<Head>;
    return head.form === form && head.origin !== undefined && Number.isInteger(head.bytes) ? (head as Head) : null;
  } catch {
    return null;
  }
}

async function writeAll(
  file: FileHandle,
  reading: AsyncIterator<Buffer>,
  bytes: number,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const hash = createHash('sha256');
  let written = 0;
  for (;;) {
    const next = await reading.next();
    if (next.done === true) throw torn('it ends early');
    const piece = next.value;
    if (written === bytes) {
      if (!hash.digest().equals(piece)) throw torn('its bytes are not those that were taken');
      // Lets the source clean up after the last piece.
      await reading.next();
      return;
    }
    written += piece.length;
    if (written > bytes) throw torn('it is longer than it says');
    hash.update(piece);
    await file.appendFile(piece);
    onBytes(piece.length);
  }
}

function torn(why: string): Fault {
  return new Fault('views-unavailable', `A snapshot of the views cannot be used: ${why}.`);
}
