/** Why no bids flow, if they do not, and what keeps some of them back, as the running process says. */
import { toldPause } from '../bidding/ports.ts';
import type { DaemonStatus } from '../http/api/status.ts';
import { type Finding, found } from './doctor-finding.ts';
import { useOf, withUse } from './full-caps.ts';
import type { CommandWorld, DeskReader } from './world.ts';

/** `reader`: the store of the process; null: it is not at hand. Nothing of a process that only takes webhooks. */
export async function biddingFindings(
  world: Pick<CommandWorld, 'format'>,
  status: DaemonStatus,
  reader: DeskReader | null,
): Promise<Finding[]> {
  const { bidding } = status;
  if (bidding === null) return [];
  const since = world.format.minute(bidding.since);
  const { unknownRefusals, linkQueryRefusals, slowAnswers, failingSources, caps, partitions } = status;
  if (bidding.cause === null) {
    const ill: Finding[] = [];
    if (partitions.closed.length > 0)
      ill.push(found('bidding', 'fail', 'bidding-partition-closed', { since, text: partitions.closed.join('; ') }));
    if (unknownRefusals != null)
      ill.push(found('bidding', 'warn', 'bidding-refused', { since, count: unknownRefusals }));
    if (linkQueryRefusals != null)
      ill.push(found('bidding', 'warn', 'bidding-links-refused', { since, count: linkQueryRefusals }));
    if (slowAnswers != null) {
      const { medianMs, of, windowMs } = slowAnswers;
      ill.push(found('bidding', 'warn', 'bidding-slow', { since, durationMs: medianMs, count: of, windowMs }));
    }
    for (const { source, failure, failed, of } of failingSources ?? [])
      ill.push(
        found('bidding', 'warn', 'bidding-source-fails', { since, name: source, code: failure, count: failed, of }),
      );
    if (caps != null) ill.push(await cappedFinding(world, reader, caps, since));
    return ill.length > 0 ? ill : [found('bidding', 'ok', 'bidding-open', { since })];
  }
  // Why somebody paused is told by the process only to those with a token.
  const pause = bidding.cause === 'paused' && reader !== null ? toldPause(await reader.control.read()) : null;
  const detail = bidding.detail ?? pause?.reason;
  const until = bidding.until == null ? {} : { until: world.format.minute(bidding.until) };
  const { sendLimit: count, sendLimitMost: of } = status.requests ?? {};
  const limit = bidding.cause === 'service-throttled' && count !== undefined && of !== undefined ? { count, of } : {};
  const figures = { cause: bidding.cause, since, ...until, ...limit, ...(detail == null ? {} : { text: detail }) };
  return [found('bidding', bidding.cause === 'paused' ? 'warn' : 'fail', 'bidding-closed', figures)];
}

async function cappedFinding(
  { format }: Pick<CommandWorld, 'format'>,
  reader: DeskReader | null,
  told: NonNullable<DaemonStatus['caps']>,
  since: string,
): Promise<Finding> {
  const { cap, ended, of } = reader === null ? told : await withUse(reader, told);
  const { used, limit } = useOf(format, cap);
  return found('bidding', 'warn', 'bidding-capped', {
    ...{ since, name: cap.name, kind: cap.byHand ? 'by-hand' : 'of-rules', count: ended, of },
    ...(used === null || limit === null ? {} : { used, limit }),
    ...(cap.windowHours == null ? {} : { hours: cap.windowHours }),
  });
}
