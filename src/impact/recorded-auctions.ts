/** Files of recorded auctions, one JSON object a line: `{"id", "segment": {…}, "rates": […]}`, `rates` being the rivals' bids. */
import { noRivalCell } from '../domain/glossary.ts';

export type RecordedAuction = {
  segment: Readonly<Record<string, string>>;
  /** `noRivalCell` when nobody bid within the grid; between two cells it is the upper one and `bestRivalOffGrid`. */
  bestRivalCell: number;
  bestRivalOffGrid: boolean;
};

export type AuctionsReading =
  | { kind: 'auctions'; auctions: readonly RecordedAuction[] }
  | { kind: 'refused'; line: number; field: 'line' | 'rates' | 'segment' };

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

export function readAuctions(text: string): AuctionsReading {
  const auctions: RecordedAuction[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    let entry: unknown;
    try {
      entry = JSON.parse(line);
    } catch {
      entry = null;
    }
    if (!isObject(entry)) return { kind: 'refused', line: index + 1, field: 'line' };
    const { rates } = entry;
    const segment = readSegment(entry.segment);
    if (segment === null) return { kind: 'refused', line: index + 1, field: 'segment' };
    if (!Array.isArray(rates) || !rates.every((rate) => typeof rate === 'number' && Number.isFinite(rate))) {
      return { kind: 'refused', line: index + 1, field: 'rates' };
    }
    const best = rates.reduce((least, rate) => Math.min(least, rate), Number.POSITIVE_INFINITY);
    const bestRivalCell = Math.max(0, Math.min(noRivalCell, Math.ceil(best)));
    const bestRivalOffGrid = bestRivalCell < noRivalCell && bestRivalCell > 0 && !Number.isInteger(best);
    auctions.push({ segment, bestRivalCell, bestRivalOffGrid });
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
