/**
 * What a candidate rule set would have done: it and the current set decide the same recorded requests, in the order in which the
 * desk came to them, each with what it had learnt and promised by then itself. Pure but for progress; the same input, the same bytes.
 */
import type { Policy } from '../bidding/decide.ts';
import type { BiddingSettings } from '../bidding/settings.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { bestRivalOf, type CapPeak, createDeskReplay, type SetDecision } from './desk-replay.ts';
import { createFlips, type Flip, type FlipCause } from './flips.ts';
import { createMemoryViews, type ExposureMove } from './memory-views.ts';
import type { RecordedCase } from './recorded-cases.ts';
import { createSeries, type Series } from './series.ts';
import { createTally, type SegmentImpact } from './tally.ts';

export type ImpactReport = {
  kind: 'impact' | 'shadow';
  current: string;
  candidate: string;
  requests: number;
  /** Requests whose auction's end is known. */
  judged: number;
  /** Decided before the first one that counts, so that there is something to have learnt from. */
  warmUp: number;
  /** Lines about a request that came before; the first one counts. */
  repeated: number;
  batches: number;
  from: EpochMs | null;
  to: EpochMs | null;
  seed: number;
  draws: number;
  /** One of the sets values loans by other economics than the settings: then profits differ by belief, too. */
  ownEconomics: boolean;
  /** The whole market first; then every segment of the current set. */
  segments: readonly SegmentImpact[];
  causes: readonly FlipCause[];
  flips: readonly Flip[];
  caps: readonly { name: string; current: CapPeak | null; candidate: CapPeak | null }[];
  series: Series;
};

export type ImpactOptions = {
  /** `shadow`: the candidate sees the current set's exposure and adds nothing to it. */
  kind: ImpactReport['kind'];
  current: Policy;
  candidate: Policy;
  settings: BiddingSettings;
  warmUp: number;
  seed: number;
  draws: number;
  onProgress: (done: number, of: number) => void;
};

const progressEvery = 500;

/** In the order of decision; of two lines about one request the first counts. */
function inOrder(cases: readonly RecordedCase[]): { ordered: RecordedCase[]; repeated: number } {
  const seen = new Set<RequestId>();
  const ordered = cases.filter(({ request }) => {
    if (seen.has(request.requestId)) return false;
    seen.add(request.requestId);
    return true;
  });
  ordered.sort((left, right) => left.decidedAt - right.decidedAt || left.request.receivedAt - right.request.receivedAt);
  return { ordered, repeated: cases.length - ordered.length };
}

function isTogether(one: RecordedCase, other: RecordedCase): boolean {
  if (one.decidedAt !== other.decidedAt || one.request.receivedAt !== other.request.receivedAt) return false;
  const known = ({ control, acceptance }: RecordedCase) => JSON.stringify([control.caps, acceptance]);
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

function knownAt(recorded: RecordedCase): EpochMs {
  return recorded.auction?.knownAt ?? Number.POSITIVE_INFINITY;
}

export async function measureImpact(cases: readonly RecordedCase[], options: ImpactOptions): Promise<ImpactReport> {
  const { settings, warmUp, seed, draws, kind } = options;
  const { ordered, repeated } = inOrder(cases);
  const groups = groupsOf(ordered, settings.batchEntries);
  const endings = ordered.filter(({ auction }) => auction !== null).sort((a, b) => knownAt(a) - knownAt(b));
  const tally = createTally();
  const flips = createFlips();
  const series = createSeries();
  const segmentsOf = new Map<RequestId, readonly string[]>();
  const moves: [side: 0 | 1, move: ExposureMove][] = [];
  const own = createMemoryViews((move) => moves.push([0, move]));
  const other = createMemoryViews((move) => moves.push([1, move]));
  const common = { settings };
  const current = createDeskReplay({ ...common, policy: options.current, memory: own, usage: null });
  const usage = kind === 'shadow' ? own : null;
  const candidate = createDeskReplay({ ...common, policy: options.candidate, memory: other, usage });
  let ended = 0;
  let done = 0;
  let judged = 0;
  let at = Number.NEGATIVE_INFINITY;
  for (const group of groups) {
    at = Math.max(at, group[0]!.decidedAt);
    for (; ended < endings.length && knownAt(endings[ended]!) < at; ended += 1) {
      current.end(endings[ended]!);
      candidate.end(endings[ended]!);
    }
    const were = await current.decide(group, at);
    const are = await candidate.decide(group, at);
    for (const [place, { request }] of group.entries()) segmentsOf.set(request.requestId, were[place]!.segmentKeys);
    // Segments of what moved are known only now.
    for (const [side, { requestId, amountCents }] of moves.splice(0)) {
      tally.move(side, segmentsOf.get(requestId)!, amountCents, done >= warmUp);
      series.move(side, amountCents);
    }
    for (const [place, recorded] of group.entries()) {
      const isCounted = done >= warmUp;
      done += 1;
      if (done % progressEvery === 0) options.onProgress(done, ordered.length);
      if (!isCounted) continue;
      const decisions: [SetDecision, SetDecision] = [were[place]!, are[place]!];
      const { segmentKeys } = decisions[0];
      const rival = bestRivalOf(recorded);
      if (rival !== null) judged += 1;
      tally.add(batchOf(recorded), segmentKeys, decisions, rival);
      flips.add(recorded.request.requestId, segmentKeys, decisions);
      series.add(recorded.decidedAt, decisions, rival);
    }
  }
  options.onProgress(ordered.length, ordered.length);
  const counted = ordered.slice(warmUp);
  return {
    kind,
    current: options.current.ruleSet.hash,
    candidate: options.candidate.ruleSet.hash,
    requests: counted.length,
    judged,
    warmUp: ordered.length - counted.length,
    repeated,
    batches: tally.batches(),
    from: counted[0]?.request.receivedAt ?? null,
    to: counted.at(-1)?.request.receivedAt ?? null,
    seed,
    draws,
    ownEconomics: hasEconomics(options.current) || hasEconomics(options.candidate),
    segments: tally.close({ draws, seed }),
    ...flips.close(),
    caps: capRows(current.capPeaks, candidate.capPeaks),
    series: series.close(),
  };
}

function batchOf({ request }: RecordedCase): string {
  return request.batchId ?? `received:${request.receivedAt}`;
}

function hasEconomics({ ruleSet }: Policy): boolean {
  return ruleSet.rules.some(({ event }) => event === 'economics');
}

function capRows(current: ReadonlyMap<string, CapPeak>, candidate: ReadonlyMap<string, CapPeak>): ImpactReport['caps'] {
  const names = [...new Set([...current.keys(), ...candidate.keys()])].sort();
  return names.map((name) => ({ name, current: current.get(name) ?? null, candidate: candidate.get(name) ?? null }));
}
