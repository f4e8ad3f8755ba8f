/**
 * What a candidate rule set would have done: it and the current set decide the same recorded requests, in the order in which the
 * desk came to them, each with what it had learnt and promised by then itself. Pure but for progress; the same input, the same bytes.
 */
import type { Policy } from '../bidding/decide.ts';
import type { BiddingSettings } from '../config/sections.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import { batchNameOf } from './bootstrap.ts';
import { type Apart, bestRivalOf, type CapPeak, type SetDecision } from './desk-replay.ts';
import { createFlips, type Flip, type FlipCause } from './flips.ts';
import type { RecordedCase } from './recorded-cases.ts';
import { type Replayed, replaySets } from './replay-sets.ts';
import { createSeries, type Series } from './series.ts';
import { createTally, type SegmentImpact } from './tally.ts';

export type ImpactReport = {
  kind: 'impact' | 'shadow';
  current: string;
  candidate: string;
  requests: number;
  /**
   * Requests for which one of the sets would have asked for the worker's link, as the desk may, and whose facts are not on record,
   * because nobody asked. What that set would have done is not known, so that they are in no other figure but `requests`, and claim
   * no room under the caps of either set. `current` and `candidate` have those for which that set would have asked. A request whose
   * link the desk may not ask for is none of them: it is decided without.
   */
  linkNotOnRecord: { requests: number; current: number; candidate: number };
  /** Requests for which each set would have asked a person, and those of them whose answer is on record, which counts. */
  reviews: Record<'current' | 'candidate', { asked: number; answered: number }>;
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
  /** The sets value loans by other economics: then their profits differ by belief, too. */
  otherEconomics: boolean;
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
  /** Replays the candidate by itself on the same cases while this thread has the current set; null: here, too. Not for `shadow`. */
  elsewhere: ((apart: Apart) => Promise<Replayed>) | null;
  onProgress: (done: number, of: number) => void;
};

/** In the order of decision; of two lines about one request the first counts. */
export function inOrder(cases: readonly RecordedCase[]): { ordered: RecordedCase[]; repeated: number } {
  const seen = new Set<RequestId>();
  const ordered = cases.filter(({ request }) => {
    if (seen.has(request.requestId)) return false;
    seen.add(request.requestId);
    return true;
  });
  ordered.sort((left, right) => left.decidedAt - right.decidedAt || left.request.receivedAt - right.request.receivedAt);
  return { ordered, repeated: cases.length - ordered.length };
}

/** What one set sets apart neither may claim room for: where one has not known of it from the beginning, both begin again. */
async function replayBoth(ordered: readonly RecordedCase[], options: ImpactOptions): Promise<[Replayed, Replayed]> {
  let all: ReadonlySet<RequestId> = new Set();
  for (let asked: readonly [Apart['asked'], Apart['asked']] = [all, all]; ; ) {
    const both = await replayApart(ordered, options, [
      { all, asked: asked[0] },
      { all, asked: asked[1] },
    ]);
    asked = [both[0].linkUnknown, both[1].linkUnknown];
    const found = asked[0].union(asked[1]).union(all);
    if (asked.every((own) => found.isSubsetOf(own.union(all)))) return both;
    all = found;
  }
}

async function replayApart(
  ordered: readonly RecordedCase[],
  options: ImpactOptions,
  apart: readonly [Apart, Apart],
): Promise<[Replayed, Replayed]> {
  const { settings, kind, elsewhere, onProgress } = options;
  const one = { policy: options.current, shares: false, apart: apart[0] };
  const other = { policy: options.candidate, shares: kind === 'shadow', apart: apart[1] };
  if (elsewhere === null || kind === 'shadow') {
    return (await replaySets(ordered, [one, other], settings, onProgress)) as [Replayed, Replayed];
  }
  const [[current], candidate] = await Promise.all([
    replaySets(ordered, [one], settings, onProgress),
    elsewhere(apart[1]),
  ]);
  return [current!, candidate];
}

/** `from`: the first request that counts. */
function compare(ordered: readonly RecordedCase[], from: number, [current, candidate]: readonly [Replayed, Replayed]) {
  const tally = createTally();
  const flips = createFlips();
  const series = createSeries();
  const segmentsOf = new Map<RequestId, readonly string[]>();
  const linkUnknown = current.linkUnknown.union(candidate.linkUnknown);
  const apart = { requests: 0, current: 0, candidate: 0 };
  const reviews = { current: { asked: 0, answered: 0 }, candidate: { asked: 0, answered: 0 } };
  const noteReview = (side: keyof typeof reviews, review: 'answered' | 'unanswered' | undefined) => {
    if (review === undefined) return;
    reviews[side].asked += 1;
    if (review === 'answered') reviews[side].answered += 1;
  };
  let judged = 0;
  let place = 0;
  for (const [group, size] of current.groups.entries()) {
    for (let index = place; index < place + size; index += 1) {
      segmentsOf.set(ordered[index]!.request.requestId, current.decisions[index]!.segmentKeys);
    }
    for (const [side, { moves }] of [current, candidate].entries()) {
      for (const { requestId, amountCents } of moves[group]!) {
        if (linkUnknown.has(requestId)) continue;
        tally.move(side as 0 | 1, segmentsOf.get(requestId)!, amountCents, place >= from);
        series.move(side as 0 | 1, amountCents);
      }
    }
    for (const end = place + size; place < end; place += 1) {
      if (place < from) continue;
      const recorded = ordered[place]!;
      const { requestId } = recorded.request;
      if (linkUnknown.has(requestId)) {
        apart.requests += 1;
        if (current.linkUnknown.has(requestId)) apart.current += 1;
        if (candidate.linkUnknown.has(requestId)) apart.candidate += 1;
        continue;
      }
      const decisions: [SetDecision, SetDecision] = [current.decisions[place]!, candidate.decisions[place]!];
      const { segmentKeys } = decisions[0];
      noteReview('current', current.reviews.get(requestId));
      noteReview('candidate', candidate.reviews.get(requestId));
      const rival = bestRivalOf(recorded);
      if (rival !== null) judged += 1;
      tally.add(batchNameOf(recorded.request), segmentKeys, decisions, rival);
      flips.add(requestId, segmentKeys, decisions);
      series.add(recorded.decidedAt, decisions, rival);
    }
  }
  return { tally, flips, series, judged, apart, reviews };
}

export async function measureImpact(cases: readonly RecordedCase[], options: ImpactOptions): Promise<ImpactReport> {
  const { warmUp, seed, draws, kind } = options;
  const { ordered, repeated } = inOrder(cases);
  const both = await replayBoth(ordered, options);
  const { tally, flips, series, judged, apart, reviews } = compare(ordered, warmUp, both);
  const counted = ordered.slice(warmUp);
  const { current, candidate } = options;
  return {
    kind,
    current: current.ruleSet.hash,
    candidate: candidate.ruleSet.hash,
    requests: counted.length,
    linkNotOnRecord: apart,
    reviews,
    judged,
    warmUp: ordered.length - counted.length,
    repeated,
    batches: tally.batches(),
    from: counted[0]?.request.receivedAt ?? null,
    to: counted.at(-1)?.request.receivedAt ?? null,
    seed,
    draws,
    otherEconomics: economicsOf(current) !== economicsOf(candidate),
    segments: tally.close({ draws, seed }),
    ...flips.close(),
    caps: capRows(both[0].capPeaks, both[1].capPeaks),
    series: series.close(),
  };
}

/** What the set says of the value of loans, as text. */
function economicsOf({ ruleSet }: Policy): string {
  const files = JSON.parse(ruleSet.source) as { value: unknown }[];
  const found: unknown[] = [];
  const visit = (value: unknown) => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    else if (typeof value === 'object' && value !== null) {
      const { event } = value as { event?: { type?: string } | string };
      const type = typeof event === 'object' ? event?.type : event;
      if (type === 'economics' || type === 'experiment') found.push(value);
      else for (const item of Object.values(value)) visit(item);
    }
  };
  for (const { value } of files) visit(value);
  return JSON.stringify(found);
}

function capRows(current: ReadonlyMap<string, CapPeak>, candidate: ReadonlyMap<string, CapPeak>): ImpactReport['caps'] {
  const names = [...new Set([...current.keys(), ...candidate.keys()])].sort();
  return names.map((name) => ({ name, current: current.get(name) ?? null, candidate: candidate.get(name) ?? null }));
}
