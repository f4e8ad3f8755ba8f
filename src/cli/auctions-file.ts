/** Reads a file of recorded auctions for the commands that judge on it. */
import { Fault } from '../errors.ts';
import { leastAuctions } from '../impact/learn.ts';
import { type AuctionsReading, type RecordedAuction, readAuctions } from '../impact/recorded-auctions.ts';
import { readLines } from './desk-file.ts';
import type { CommandWorld } from './world.ts';

/** Rejects with `not-found` where it cannot be read, with `record-undecodable` naming line and field, or when it is too short. */
export async function readAuctionsFile(world: CommandWorld, file: string): Promise<readonly RecordedAuction[]> {
  const { learn } = world.format.texts;
  let reading: AuctionsReading;
  try {
    reading = await readAuctions(readLines(file));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    throw new Fault('not-found', learn.unreadable(file, code), cause);
  }
  if (reading.kind === 'refused') {
    throw new Fault('record-undecodable', learn.badLine(file, reading.line, reading.field));
  }
  const { auctions } = reading;
  if (auctions.length < leastAuctions) {
    throw new Fault('record-undecodable', learn.tooFew(auctions.length, leastAuctions));
  }
  return auctions;
}
