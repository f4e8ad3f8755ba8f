/** What operators are told of a log that is not what was written, each time with how to find out more. For Portuguese: `fault-texts-pt.ts`. */
import { type ChainVerdict, recordsGone } from '../../domain/audit.ts';

const more = 'see lance audit verify';

/** A record that does not fit its links, and neither does `neighbour` beside it. */
export function misfitText(table: string, offset: number, neighbour: number): string {
  return `record ${offset} of ${table} is not what was written, ${eitherOf(neighbour)}; ${more}`;
}

export function eitherOf(neighbour: number): string {
  return `or record ${neighbour} beside it is not: which of the two was edited the chain does not tell`;
}

/** What the walk along the whole chain has found. */
export function brokenText(verdict: Exclude<ChainVerdict, { kind: 'intact' }>): string {
  if (verdict.kind !== 'broken') return `the anchor ${verdict.place} is not what was written; ${more}`;
  const { table, offset, until, what } = verdict;
  const place = until === undefined ? `record ${offset}` : `one of the records ${offset} to ${until}`;
  return `${place} of ${table} is not what was written (${what}); ${more}`;
}

/** A table of an open store that does not hold any more what this process had read in it. */
export function setBackText(table: string): string {
  return `records of ${table} that this process had read were removed or rewritten (${recordsGone}); it keeps to what it read before and bids for nothing, and the next start is refused; ${more}`;
}

/** A claim was to be written for a request that was claimed before. */
export function claimLostText(requestId: string): string {
  return `request ${requestId} was bid for before, as the list of claims beside the log says, and the log has no claim of it: a bid would go out with other bytes; ${more}`;
}

/** The list of claims beside the log, found at a start, holds something else than was written to it. */
export function listEditedText(path: string, aside: string): string {
  return `${path} is not what was written to it; it is kept as ${aside} and begun anew: ${listLost}; ${more}`;
}

/** Of that list the end is missing, as after a loss of power. */
export function listShortText(path: string, aside: string): string {
  return `${path} lacks a part of what was written to it; it is kept as ${aside} and begun anew: ${listLost}`;
}

/** The file of that list that is written to is gone. `olderAside`: where the one before it is kept; null: there was none. */
export function listGoneText(path: string, olderAside: string | null): string {
  const kept = olderAside === null ? '' : ` (the one before it is kept as ${olderAside})`;
  return `${path} is gone${kept}; it is begun anew: ${listLost}`;
}

const listLost =
  'which earlier requests were bid for is no longer known outside of the store, and if the store is set back, nothing is bid for during a quiet time';
