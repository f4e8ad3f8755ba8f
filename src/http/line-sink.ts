/**
 * Lines to a file descriptor, for the journal. A disk that is full and a reader that has stopped reading are ordinary: a line that
 * cannot be written is counted and left out, and nobody waits for one. Written beside the event loop, one write at a time; an
 * ordinary write to a pipe that nobody reads would hold the whole process.
 */
import { writeSync, write as writeTo } from 'node:fs';

export type LineSink = {
  write: (line: string) => void;
  /** How many lines were left out since the start. */
  lost: () => number;
};

/** Lines wait in memory up to this many characters. */
const mostWaiting = 1_048_576;
const busyRetryMs = 50;
/** A write that lasts longer than this is one that nobody takes. */
const stuckMs = 500;

/** `tellLost`: makes the line that says how many were left out before it; written as soon as writing works again. */
export function createLineSink(fd: number, tellLost: (lines: number) => string): LineSink {
  let waiting: string[] = [];
  let waitingLength = 0;
  /** The bytes being written, with the lines that they are the rest of. */
  let current: { bytes: Buffer; lines: number; sinceMs: number } | null = null;
  let lost = 0;
  let untold = 0;

  function lose(lines: number): void {
    lost += lines;
    untold += lines;
  }

  function take(): string {
    const text = waiting.join('');
    waiting = [];
    waitingLength = 0;
    return text;
  }

  function next(): void {
    if (current !== null || waiting.length === 0) return;
    const lines = waiting.length;
    current = { bytes: Buffer.from(take()), lines, sinceMs: performance.now() };
    writeOn();
  }

  function writeOn(): void {
    const { bytes, lines } = current!;
    current!.sinceMs = performance.now();
    writeTo(fd, bytes, (fault, written) => {
      if (fault === null) {
        if (written < bytes.length) {
          current!.bytes = bytes.subarray(written);
          return writeOn();
        }
        if (untold > 0) {
          waiting.push(tellLost(untold));
          untold = 0;
        }
      } else if (fault.code === 'EAGAIN') {
        setTimeout(writeOn, busyRetryMs).unref();
        return;
      } else lose(lines);
      current = null;
      next();
    });
  }

  /** What is still in memory when the process ends. Never waits for a reader. */
  function flushAtEnd(): void {
    const beganMs = current?.sinceMs ?? null;
    // The write under way is over within microseconds, unless nobody takes it.
    if (beganMs !== null) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    if (beganMs !== null && performance.now() - beganMs > stuckMs) {
      // Node waits for every write at its end, this one for ever; nothing else is left to be done.
      process.kill(process.pid, 'SIGKILL');
    }
    try {
      writeSync(fd, take());
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
