/** One history for eyes: what befell each request, in the order of time. */
import { readTrails } from './log-trails.ts';
import type { Evidence } from './world.ts';

/** Lines of one request, or of all that have `part` in their id. */
export function showHistory({ log, views, house, sender }: Evidence, part: string): string[] {
  const lines: { at: number; text: string }[] = [];
  for (const [requestId, trail] of readTrails(log)) {
    if (!requestId.includes(part)) continue;
    for (const { record, landedAt } of trail) {
      const { request: _, trace: __, sealed: ___, ...rest } = record as Record<string, unknown>;
      lines.push({ at: landedAt, text: `${requestId} log ${JSON.stringify(rest).slice(0, 420)}` });
    }
    lines.push({ at: Infinity, text: `${requestId} phases ${views.trails.get(requestId)?.join(' ')}` });
    const { worker: _, ...truth } = house.requests.get(requestId) ?? { worker: null };
    lines.push({ at: Infinity, text: `${requestId} truth ${JSON.stringify(truth)}` });
  }
  for (const { requestId, instance, writtenAt, arrivals } of house.written) {
    if (!requestId?.includes(part)) continue;
    lines.push({ at: writtenAt, text: `${requestId} written by ${instance}: ${JSON.stringify(arrivals)}` });
  }
  for (const { webhook, at, instance } of sender.acknowledged) {
    if (!webhook.text.includes(part)) continue;
    lines.push({ at, text: `acknowledged by ${instance}: ${webhook.content.kind}` });
  }
  return lines.sort((a, b) => a.at - b.at).map(({ at, text }) => `${at} ${text}`);
}
