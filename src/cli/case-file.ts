/** Recorded requests for impact from a file of `audit export`, piece by piece, so that two threads can share the reading. */

import { statSync } from 'node:fs';
import { deadlineOf } from '../bidding/evolve.ts';
import type { BiddingSettings } from '../config/sections.ts';
import { isSameCode } from '../domain/request-codes.ts';
import type { Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import type { RecordedCase } from '../impact/recorded-cases.ts';
import { streamRegular } from '../regular-files.ts';
import { type AuditLine, readAuditLine } from '../wire/audit-line.ts';
import type { RequestMapping } from '../wire/mapping-table.ts';
import type { ReplayApart } from './replay-apart.ts';
import type { CommandWorld } from './world.ts';

/** Where nothing says when an auction ended, it ended when it was to end. */
function caseOfLine(line: AuditLine, settings: BiddingSettings): RecordedCase {
  const { request, link, linkAskedInVain, bids, ownBidId, startedAt, endedAt, knownAt, control, acceptance } = line;
  const { sources, review } = line;
  const planned = deadlineOf({ request }, settings);
  return {
    request,
    link,
    ...(linkAskedInVain === true ? { linkAskedInVain } : {}),
    decidedAt: line.decidedAt ?? request.receivedAt,
    auction:
      bids === null
        ? null
        : {
            startedAt,
            endedAt,
            knownAt: knownAt ?? endedAt ?? planned,
            rivals: bids.filter((bid) => ownBidId === null || !isSameCode(bid.bidId, ownBidId)),
          },
    control,
    acceptance,
    ...(sources === undefined ? {} : { sources }),
    ...(review === undefined ? {} : { review }),
  };
}

export type CaseReading = { mapping: RequestMapping; vault: Vault; settings: BiddingSettings };

/** A piece of a file: its requests, how many lines it had, and those that cannot be read, the first one being 1. */
export type PieceRead = { cases: RecordedCase[]; lines: number; bad: readonly { line: number; text: string }[] };

export function readPiece(text: string, { mapping, vault, settings }: CaseReading): PieceRead {
  const deps = { mapping, vault };
  const lines = text.split('\n');
  const cases: RecordedCase[] = [];
  const bad: { line: number; text: string }[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const read = readAuditLine(line, deps);
    if (read.kind === 'line') cases.push(caseOfLine(read.line, settings));
    else bad.push({ line: index + 1, text: read.text });
  }
  return { cases, lines: lines.length, bad };
}

const pieceBytes = 1_000_000;

/** Whole lines, about so many bytes of them at once. */
async function* piecesOf(file: string): AsyncGenerator<string> {
  let held = '';
  for await (const part of streamRegular(file, { encoding: 'utf8', highWaterMark: pieceBytes })) {
    const text: string = held + part;
    const end = text.lastIndexOf('\n');
    held = text.slice(end + 1);
    if (end >= 0) yield text.slice(0, end);
  }
  if (held !== '') yield held;
}

const mostBadLines = 20;
/** Pieces that wait for the other thread: one in work, one at hand. */
const mostWaiting = 2;
/** Some 2 000 lines: fewer are read and replayed before a thread has started. */
const worthThreadBytes = 2_500_000;

function isWorthThread(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) >= worthThreadBytes;
}

/** The text of every bad line, numbered through the whole file. */
function badLines(file: string, pieces: readonly PieceRead[]): string[] {
  const bad: string[] = [];
  let before = 0;
  for (const piece of pieces) {
    for (const { line, text } of piece.bad) bad.push(`${file}:${before + line}: ${text}`);
    before += piece.lines;
  }
  return bad;
}

/**
 * All requests of the file, in its order. A long one is read by this thread and `apart` together, and both have all of it then.
 * Throws `record-undecodable` with every bad line, up to 20 of them; `not-found` for a file that cannot be read.
 */
export async function readCaseFile(
  world: CommandWorld,
  file: string,
  reading: CaseReading,
  apart: ReplayApart | null,
  onLines: (read: number) => void,
): Promise<RecordedCase[]> {
  const pieces: (PieceRead | Promise<PieceRead>)[] = [];
  let lines = 0;
  const note = (piece: PieceRead) => {
    lines += piece.lines;
    onLines(lines);
    return piece;
  };
  try {
    const helper = isWorthThread(file) ? apart : null;
    for await (const text of piecesOf(file)) {
      const place = pieces.length;
      if (helper !== null && helper.waiting() < mostWaiting) {
        pieces.push(helper.read(place, text).then(note));
        continue;
      }
      const piece = note(readPiece(text, reading));
      helper?.take(place, piece.cases);
      pieces.push(piece);
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    throw new Fault('not-found', world.format.texts.impact.unreadable(file, code), cause);
  }
  const read = await Promise.all(pieces);
  const bad = badLines(file, read);
  if (bad.length > 0) throw new Fault('record-undecodable', bad.slice(0, mostBadLines).join('\n'));
  return read.flatMap(({ cases }) => cases);
}
