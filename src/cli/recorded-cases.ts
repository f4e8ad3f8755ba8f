/** Recorded requests for impact: from a file of `audit export`, or from the end of a desk's log. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { deadlineOf } from '../bidding/evolve.ts';
import type { EventLog } from '../bidding/ports.ts';
import type { BiddingSettings } from '../bidding/settings.ts';
import type { RequestId } from '../domain/glossary.ts';
import type { AuctionRecord } from '../domain/records.ts';
import type { Vault } from '../domain/vault.ts';
import { Fault } from '../errors.ts';
import { type RecordedCase, type RecordedEnd, recordedCaseOf } from '../impact/recorded-cases.ts';
import { type AuditLine, readAuditLine } from '../wire/audit-line.ts';
import { type RequestMapping, readRequestMapping } from '../wire/mapping-table.ts';
import type { CommandWorld } from './world.ts';

const mappingFile = 'config/request-mapping.json';

function shippedMapping(world: CommandWorld): RequestMapping {
  const reading = readRequestMapping(JSON.parse(world.readPackageFile(mappingFile)));
  if (reading.kind === 'read') return reading.mapping;
  throw new Fault('configuration-invalid', `${mappingFile}:\n${reading.problems.join('\n')}`);
}

/** Where nothing says when an auction ended, it ended when it was to end. */
function caseOfLine(line: AuditLine, settings: BiddingSettings): RecordedCase {
  const { request, link, bids, ownBidId, startedAt, endedAt, knownAt, control, acceptance } = line;
  const planned = deadlineOf({ request }, settings);
  return {
    request,
    link,
    decidedAt: line.decidedAt ?? request.receivedAt,
    auction:
      bids === null
        ? null
        : {
            startedAt,
            endedAt,
            knownAt: knownAt ?? endedAt ?? planned,
            rivals: bids.filter((bid) => bid.bidId !== ownBidId),
          },
    control,
    acceptance,
  };
}

const mostBadLines = 20;

/** Throws `record-undecodable` with every bad line, up to 20 of them; `not-found` for a file that cannot be read. */
export async function readCaseFile(
  world: CommandWorld,
  file: string,
  reading: { vault: Vault; settings: BiddingSettings },
  onLines: (read: number) => void,
): Promise<RecordedCase[]> {
  const { impact } = world.format.texts;
  const deps = { mapping: shippedMapping(world), vault: reading.vault };
  const cases: RecordedCase[] = [];
  const bad: string[] = [];
  let number = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (number % 1_000 === 0) onLines(number);
      if (text.trim() === '') continue;
      const read = readAuditLine(text, deps);
      if (read.kind === 'line') cases.push(caseOfLine(read.line, reading.settings));
      else if (bad.length < mostBadLines) bad.push(`${file}:${number}: ${read.text}`);
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === undefined) throw cause;
    throw new Fault('not-found', impact.unreadable(file, code), cause);
  }
  if (bad.length > 0) throw new Fault('record-undecodable', bad.join('\n'));
  return cases;
}

const pageEntries = 1_000;
/** A request has some five records; fewer than wanted are found: further back. */
const recordsEach = 8;
const further = 4;

type LoggedCase = RecordedCase & { end: RecordedEnd };

/** Requests that came last, by receipt, with all that the log says of them; those that came before what was read are left out. */
export async function readLoggedCases(
  log: Pick<EventLog, 'read' | 'ends'>,
  last: number,
  onEntries: (read: number) => void,
): Promise<LoggedCase[]> {
  const ends = await log.ends('auctions');
  for (let back = recordsEach * last; ; back *= further) {
    const records = new Map<RequestId, AuctionRecord[]>();
    let whole = true;
    let read = 0;
    for (const [partition, end] of ends) {
      const first = Math.max(0, end - back);
      if (first > 0) whole = false;
      for (let from = first; from < end; ) {
        const page = await log.read('auctions', partition, from, Math.min(pageEntries, end - from));
        if (page.length === 0) break;
        for (const { record } of page) {
          const known = records.get(record.requestId);
          if (known === undefined) records.set(record.requestId, [record]);
          else known.push(record);
        }
        from = page.at(-1)!.offset + 1;
        read += page.length;
        onEntries(read);
      }
    }
    const cases = [...records.values()].flatMap((own) => recordedCaseOf(own) ?? []);
    if (!whole && cases.length < last) continue;
    cases.sort((left, right) => left.request.receivedAt - right.request.receivedAt);
    return cases.slice(-last);
  }
}
