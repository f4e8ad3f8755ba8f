/** Opening files by a name that somebody gave: at the other end of a pipe there may be nobody, and opening it would wait for ever. */
import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  type ReadStream,
  readFileSync,
  statSync,
} from 'node:fs';

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** `append` and `update` make the file when it is not there. */
const flagsOf = { read: O_RDONLY, append: O_WRONLY | O_APPEND | O_CREAT, update: O_RDWR | O_CREAT } as const;

/** `mode`: of a file that is made. Throws like `openSync`, and with the code `not a regular file`. */
export function openRegular(path: string, purpose: keyof typeof flagsOf, mode = 0o666): number {
  let file: number;
  try {
    file = openSync(path, flagsOf[purpose] | O_NONBLOCK, mode);
  } catch (fault) {
    // A pipe without a reader, or a socket.
    if ((fault as NodeJS.ErrnoException).code === 'ENXIO') throw notRegular(path);
    throw fault;
  }
  const kind = fstatSync(file);
  // Reading a directory fails by itself, and says so.
  if (kind.isFile() || kind.isDirectory()) return file;
  closeSync(file);
  throw notRegular(path);
}

/** For a file that something else opens. Throws when there is anything but a regular file; nothing at all is no fault. */
export function checkRegular(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw notRegular(path);
}

/** The same where a link would have something else changed than what is named. */
export function checkUnlinked(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    const code = 'a symbolic link';
    throw Object.assign(new Error(`${path} is ${code}`), { code });
  }
  checkRegular(path);
}

function notRegular(path: string): Error {
  const code = 'not a regular file';
  return Object.assign(new Error(`${path} is ${code}`), { code });
}

/** Throws like `openRegular`, and with a code that names line and column of the first byte that is not UTF-8. */
export function readStrict(path: string): string {
  const file = openRegular(path, 'read');
  try {
    const bytes = readFileSync(file);
    if (isUtf8(bytes)) return bytes.toString('utf8');
    const { line, column } = firstFault(bytes);
    const code = `line ${line}, column ${column}: not text in UTF-8; save it as UTF-8`;
    throw Object.assign(new Error(`${path}: ${code}`), { code });
  } finally {
    closeSync(file);
  }
}

/** U+FFFD as it is written; whatever else decodes to it is at fault. */
const replacement = Buffer.from('\uFFFD');

/** Where the first byte is that is not UTF-8; asked only where there is one. */
export function firstFault(bytes: Buffer): { line: number; column: number } {
  const text = bytes.toString('utf8');
  let offset = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf('\uFFFD', from);
    assert(at !== -1, 'bytes that are no UTF-8 decode to a replacement');
    offset += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(offset, offset + replacement.length).equals(replacement)) {
      const before = text.slice(0, at).split('\n');
      return { line: before.length, column: before.at(-1)!.length + 1 };
    }
    offset += replacement.length;
    from = at + 1;
  }
}

/** Throws like `openRegular`. */
export function readRegularBytes(path: string): Buffer {
  const file = openRegular(path, 'read');
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Throws like `openRegular`. The stream closes the file. */
export function streamRegular(path: string, options: { encoding?: 'utf8'; highWaterMark?: number } = {}): ReadStream {
  return createReadStream('', { ...options, fd: openRegular(path, 'read') });
}
