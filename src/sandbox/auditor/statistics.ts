/**
 * How often each statistic must have been folded: once for the first end of each auction
 * whose request had been received, under every key of its segment.
 */
import type { Run } from './run.ts';
import type { Report, ViewsRead } from './violation.ts';

export function expectedCounts(run: Run, rootSegment: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { evidence } of run.cases.values()) {
    const { learntUnder } = evidence;
    if (learntUnder === null) continue;
    const keys = learntUnder.length === 0 ? [rootSegment] : learntUnder;
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

export function checkStatistics(run: Run, views: ViewsRead, rootSegment: string, report: Report): void {
  const expected = expectedCounts(run, rootSegment);
  for (const key of new Set([...expected.keys(), ...views.statistics.keys()])) {
    const own = expected.get(key) ?? 0;
    const told = views.statistics.get(key)?.count ?? 0;
    if (own === told) continue;
    report('statistic-folded-twice', null, `${key} was folded ${told} times; ${own} auctions ended under it`);
  }
}
