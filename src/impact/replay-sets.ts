/** Runs rule sets over recorded requests, each a desk of its own; what comes out can be carried from one thread to another. */
import type { Policy } from '../bidding/decide.ts';
import type { BiddingSettings } from '../config/sections.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { type Apart, type CapPeak, createDeskReplay, type DeskReplay, type SetDecision } from './desk-replay.ts';
import { createMemoryViews, type ExposureMove, type MemoryViews } from './memory-views.ts';
import type { RecordedCase } from './recorded-cases.ts';

export type Replayed = {
  /** One for each request, in order. */
  decisions: SetDecision[];
  /** How many requests were decided together, in order. */
  groups: readonly number[];
  /** By group: exposure that came and went until it was decided. */
  moves: ExposureMove[][];
  capPeaks: ReadonlyMap<string, CapPeak>;
  /** See `DeskReplay`. */
  linkUnknown: ReadonlySet<RequestId>;
  /** See `DeskReplay`. */
  reviews: DeskReplay['reviews'];
};

const nothingApart: Apart = { all: new Set(), asked: new Set() };

const progressEvery = 500;

function isTogether(one: RecordedCase, other: RecordedCase): boolean {
  if (one.decidedAt !== other.decidedAt || one.request.receivedAt !== other.request.receivedAt) return false;
  const known = ({ control, acceptance }: RecordedCase) => JSON.stringify([control.caps, control.snoozed, acceptance]);
  return known(one) === known(other);
}

/** Requests that the desk decided at once: of one receipt and one decision, with the same controls. */
function groupsOf(ordered: readonly RecordedCase[], batchEntries: number): RecordedCase[][] {
  const groups: RecordedCase[][] = [];
  for (const one of ordered) {
    const last = groups.at(-1);
    if (last !== undefined && last.length < batchEntries && isTogether(last[0]!, one)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

function knownAt({ auction }: RecordedCase): EpochMs {
  return auction?.knownAt ?? Number.POSITIVE_INFINITY;
}

/**
 * `ordered` by the time of decision, every request once. `shares`: the set sees the exposure of the first one and adds nothing
 * to it. Before each decision everything is learnt that was known before, and nothing else.
 */
export async function replaySets(
  ordered: readonly RecordedCase[],
  sets: readonly { policy: Policy; shares: boolean; apart?: Apart }[],
  settings: BiddingSettings,
  onProgress: (done: number, of: number) => void,
): Promise<Replayed[]> {
  const groups = groupsOf(ordered, settings.batchEntries);
  const endings = ordered.filter(({ auction }) => auction !== null).sort((a, b) => knownAt(a) - knownAt(b));
  const memories: MemoryViews[] = [];
  const desks = sets.map(({ policy, shares, apart = nothingApart }) => {
    let moves: ExposureMove[] = [];
    const memory = createMemoryViews((move) => moves.push(move));
    memories.push(memory);
    const desk = createDeskReplay({ policy, settings, memory, usage: shares ? memories[0]! : null, apart });
    const sizes = groups.map((group) => group.length);
    const { capPeaks, linkUnknown, reviews } = desk;
    const replayed: Replayed = { decisions: [], groups: sizes, moves: [], capPeaks, linkUnknown, reviews };
    const decide = async (group: readonly RecordedCase[], at: EpochMs) => {
      replayed.decisions.push(...(await desk.decide(group, at)));
      replayed.moves.push(moves);
      moves = [];
    };
    return { end: desk.end, decide, replayed };
  });
  let ended = 0;
  let done = 0;
  let shown = 0;
  for (const group of groups) {
    const at = group[0]!.decidedAt;
    for (; ended < endings.length && knownAt(endings[ended]!) < at; ended += 1) {
      for (const desk of desks) desk.end(endings[ended]!);
    }
    for (const desk of desks) await desk.decide(group, at);
    done += group.length;
    if (done - shown < progressEvery) continue;
    shown = done;
    onProgress(done, ordered.length);
    // Lets messages of other threads through.
    await new Promise((resolve) => setImmediate(resolve));
  }
  onProgress(done, ordered.length);
  return desks.map(({ replayed }) => replayed);
}
