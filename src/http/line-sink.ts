/**
 * Lines to a file descriptor, for the journal. A disk that is full and a reader that has stopped reading are ordinary: a line that
 * cannot be written is counted and left out, and nobody waits for one. Written beside the event loop, one write at a time.
 */
import { constants, fstatSync, openSync, writeSync, write as writeTo } from 'node:fs';

export type LineSink = {
  write: (line: string) => void;
  /** How many lines were left out since the start. */
  lost: () => number;
};

/** Lines wait in memory up to this many characters. */
const mostWaiting = 1_048_576;
const busyRetryMs = 50;
/** A write that was begun is over within microseconds: where it would have to wait, it is refused. */
const lastWriteMs = 20;
const newline = 10;

/** `tellLost`: makes the line that says how many were left out before it; written as soon as writing works again. */
export function createLineSink(given: number, tellLost: (lines: number) => string): LineSink {
  const fd = withoutWaiting(given);
  let waiting: string[] = [];
  let waitingLength = 0;
  /** What is being written, or waits for a reader. */
  let current: { bytes: Buffer; isUnderWay: boolean } | null = null;
  /** The last byte written ends no line. */
  let isCut = false;
  let lost = 0;
  let untold = 0;

  function lose(lines: number): void {
    lost += lines;
    untold += lines;
  }

  function take(): Buffer {
    const text = (isCut ? '\n' : '') + waiting.join('');
    waiting = [];
    waitingLength = 0;
    return Buffer.from(text);
  }

  function wrote(bytes: Buffer, count: number): Buffer {
    if (count > 0) isCut = bytes[count - 1] !== newline;
    return bytes.subarray(count);
  }

  function next(): void {
    if (current !== null || waiting.length === 0) return;
    current = { bytes: take(), isUnderWay: false };
    writeOn();
  }

  function writeOn(): void {
    const { bytes } = current!;
    current!.isUnderWay = true;
    writeTo(fd, bytes, (fault, written) => {
      current!.isUnderWay = false;
      if (fault?.code === 'EAGAIN') {
        setTimeout(writeOn, busyRetryMs).unref();
        return;
      }
      if (fault !== null) lose(linesIn(bytes));
      else {
        current!.bytes = wrote(bytes, written);
        if (written < bytes.length) return writeOn();
        if (untold > 0) {
          waiting.push(tellLost(untold));
          untold = 0;
        }
      }
      current = null;
      next();
    });
  }

  /** What is still in memory when the process ends, as far as it is taken at once. */
  function flushAtEnd(): void {
    if (current?.isUnderWay) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lastWriteMs);
    try {
      let rest = current === null || current.isUnderWay ? take() : current.bytes;
      while (rest.length > 0) {
        rest = wrote(rest, writeSync(fd, rest));
        if (rest.length === 0 && waiting.length > 0) rest = take();
      }
    } catch {
      // There is nobody left to be told.
    }
  }

  process.once('exit', flushAtEnd);
  return {
    write: (line) => {
      if (waitingLength + line.length > mostWaiting) return lose(1);
      waiting.push(line);
      waitingLength += line.length;
      next();
    },
    lost: () => lost,
  };
}

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let place = bytes.indexOf(newline); place >= 0; place = bytes.indexOf(newline, place + 1)) count += 1;
  return count;
}

/**
 * The same pipe or terminal, opened once more so that a write which would have to wait for a reader is refused: else the process, which
 * waits for its writes at its end, would not end. The flag cannot be set on what was inherited, and others may write there too.
 */
function withoutWaiting(fd: number): number {
  try {
    const stat = fstatSync(fd);
    // A socket, as journald gives one, cannot be opened anew. Node has it refuse writes that would wait as soon as it has a stream of it.
    if (stat.isSocket() && fd === 1) void process.stdout;
    if (!stat.isFIFO() && !stat.isCharacterDevice()) return fd;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // A terminal of somebody else, or no such file system: as it was given.
    return fd;
  }
}
