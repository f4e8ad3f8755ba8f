/** Files of recorded auctions, one JSON object a line: `{"id", "segment": {…}, "rates": […]}`, `rates` being the rivals' bids. */
import { noRivalCell } from '../domain/glossary.ts';
import type { Layout } from '../pricing/additive.ts';
import { segmentKeysOf } from '../rules/keys.ts';

export type BestRival = {
  /** `noRivalCell` when nobody bid within the grid; between two cells it is the upper one and `bestRivalOffGrid`. */
  bestRivalCell: number;
  bestRivalOffGrid: boolean;
};

export type RecordedAuction = BestRival & { segment: Readonly<Record<string, string>> };

/** `segmentKeys`: the whole market first, the most special segment last. Auctions alike share one array. */
export type ReplayedAuction = BestRival & { segmentKeys: readonly string[] };

/** In the order in which they ended. */
export type Replayable = { auctions: readonly ReplayedAuction[]; dimensions: readonly string[] };

/** A histogram takes 8 KB for each segment; a dimension that makes more of them than this is left out. */
const mostSegments = 20_000;

type BadField = 'line' | 'rates' | 'segment';

export type AuctionsReading =
  | { kind: 'auctions'; auctions: readonly RecordedAuction[] }
  | { kind: 'refused'; line: number; field: BadField };

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readSegment(value: unknown): Record<string, string> | null {
  if (value === undefined) return {};
  if (!isObject(value)) return null;
  const segment: Record<string, string> = {};
  for (const [name, part] of Object.entries(value)) {
    if (typeof part !== 'string' && typeof part !== 'number' && typeof part !== 'boolean') return null;
    segment[name] = String(part);
  }
  return segment;
}

/** Null for an empty line, the name of what is wrong for a bad one. */
function readAuction(line: string): RecordedAuction | BadField | null {
  if (line.trim() === '') return null;
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return 'line';
  }
  if (!isObject(entry)) return 'line';
  const { rates } = entry;
  const segment = readSegment(entry.segment);
  if (segment === null) return 'segment';
  if (!Array.isArray(rates) || !rates.every((rate) => typeof rate === 'number' && Number.isFinite(rate))) {
    return 'rates';
  }
  const best = rates.reduce((least, rate) => Math.min(least, rate), Number.POSITIVE_INFINITY);
  const bestRivalCell = Math.max(0, Math.min(noRivalCell, Math.ceil(best)));
  const bestRivalOffGrid = bestRivalCell < noRivalCell && bestRivalCell > 0 && !Number.isInteger(best);
  return { segment, bestRivalCell, bestRivalOffGrid };
}

/** Line by line, for files larger than a string may be. */
export async function readAuctions(lines: Iterable<string> | AsyncIterable<string>): Promise<AuctionsReading> {
  const auctions: RecordedAuction[] = [];
  let number = 0;
  for await (const line of lines) {
    number += 1;
    const read = readAuction(line);
    if (typeof read === 'string') return { kind: 'refused', line: number, field: read };
    if (read !== null) auctions.push(read);
  }
  return { kind: 'auctions', auctions };
}

/** Names of segment parts with enough auctions for each of their values, in the order of the file. */
export function dimensionsOf(auctions: readonly RecordedAuction[]): string[] {
  const values = new Map<string, Set<string>>();
  for (const { segment } of auctions) {
    for (const [name, value] of Object.entries(segment)) {
      const seen = values.get(name) ?? new Set();
      seen.add(value);
      values.set(name, seen);
    }
  }
  return [...values].filter(([, seen]) => seen.size > 1 && seen.size * 20 <= auctions.length).map(([name]) => name);
}

/** `layout` null: nothing tells the auctions apart. */
export type FileFeatures = { layout: Layout | null; levelsOf: (segmentKeys: readonly string[]) => readonly number[] };

/** What the most special segment is made of, each value of each dimension being a level of its own; by lists of segment keys. */
export function featuresOf(lists: Iterable<readonly string[]>): FileFeatures {
  const columns = new Map<string, number>();
  const levels = new Map<string, readonly number[]>();
  for (const segmentKeys of lists) {
    const special = segmentKeys.at(-1)!;
    if (levels.has(special)) continue;
    const labels = special.split('|').slice(1);
    for (const label of labels) if (!columns.has(label)) columns.set(label, columns.size);
    levels.set(
      special,
      labels.map((label) => columns.get(label)!).sort((left, right) => left - right),
    );
  }
  return {
    layout: columns.size === 0 ? null : { name: 'file', columns: columns.size },
    levelsOf: (keys) => levels.get(keys.at(-1)!)!,
  };
}

/** The segments that this auction is learnt under, as a rule set with these dimensions would name them. */
export function keysOf({ segment }: RecordedAuction, dimensions: readonly string[]): readonly string[] {
  return segmentKeysOf(dimensions.map((part) => `|${part}=${segment[part] ?? '?'}`));
}

/** Those of the file's dimensions, in their order, that do not cut it into too many segments. */
export function replayedOf(auctions: readonly RecordedAuction[], candidates: readonly string[]): Replayable {
  const dimensions: string[] = [];
  for (const candidate of candidates) {
    const cut = [...dimensions, candidate];
    const seen = new Set<string>();
    for (const { segment } of auctions) {
      seen.add(cut.map((name) => segment[name] ?? '?').join('|'));
      if (seen.size > mostSegments) break;
    }
    if (seen.size <= mostSegments) dimensions.push(candidate);
  }
  const lists = new Map<string, readonly string[]>();
  const replayed = auctions.map((auction) => {
    const { bestRivalCell, bestRivalOffGrid, segment } = auction;
    const name = dimensions.map((dimension) => segment[dimension] ?? '?').join('\n');
    const segmentKeys = lists.get(name) ?? keysOf(auction, dimensions);
    lists.set(name, segmentKeys);
    return { bestRivalCell, bestRivalOffGrid, segmentKeys };
  });
  return { auctions: replayed, dimensions };
}
