/** Reads a file of recorded auctions for the commands that judge on it. */
import { statSync } from 'node:fs';
import { Fault } from '../errors.ts';
import { leastAuctions } from '../impact/learn.ts';
import { type AuctionsReading, type RecordedAuction, readAuctions } from '../impact/recorded-auctions.ts';
import { readLines } from './desk-file.ts';
import { createProgress } from './terminal.ts';
import type { CommandWorld } from './world.ts';

/** A smaller file is read before anybody asks. */
const slowBytes = 16_000_000;
const linesBetween = 4_096;

async function* withProgress(file: string, show: (done: number, of: number) => void): AsyncGenerator<string> {
  const total = statSync(file).size;
  let read = 0;
  let lines = 0;
  for await (const line of readLines(file)) {
    yield line;
    read += line.length + 1;
    lines += 1;
    if (total >= slowBytes && lines % linesBetween === 0) show(Math.min(read, total), total);
  }
}

/** Rejects with `not-found` where it cannot be read, with `record-undecodable` naming line and field, or when it is too short. */
export async function readAuctionsFile(
  world: CommandWorld,
  file: string,
  quiet: boolean,
): Promise<readonly RecordedAuction[]> {
  const { terminal, format } = world;
  const { learn } = format.texts;
  const progress = createProgress(terminal, learn.reading);
  let shown = false;
  const show = (done: number, of: number) => {
    if (quiet) return;
    shown = true;
    progress.show(Math.round(done / 1e6), Math.round(of / 1e6), 'MB');
  };
  let reading: AuctionsReading;
  try {
    reading = await readAuctions(withProgress(file, show));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    throw new Fault('not-found', learn.unreadable(file, code), cause);
  }
  if (shown) progress.end();
  if (reading.kind === 'refused') {
    throw new Fault('record-undecodable', learn.badLine(file, reading.line, reading.field));
  }
  const { auctions } = reading;
  if (auctions.length < leastAuctions) {
    throw new Fault('record-undecodable', learn.tooFew(auctions.length, leastAuctions));
  }
  return auctions;
}
