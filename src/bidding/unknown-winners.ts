/**
 * Winner events that wait because no bid of the desk has their code, for people. The desk never advances past one (`callbacks.ts`), so all
 * of them stand behind where it is; of what stands there no more than the last part is read.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { EpochMs } from '../domain/glossary.ts';
import { Fault } from '../errors.ts';
import { codesOf, shownCode, type WinnerEvent } from './orphans.ts';
import { callbackPartition, type EventLog, type Views } from './ports.ts';

/** Of all partitions together. */
export const mostCallbacksRead = 4_000;
const pageEntries = 250;

/** Nothing in it is the number of a person. */
type UnknownWinner = {
  kind: WinnerEvent['kind'];
  requestCode: string;
  proposalCode: string | null;
  at: EpochMs;
  validUntil: EpochMs | null;
};

/** Latest first. `whole`: there are no others, as far as this process can know. */
export type UnknownWinners = { winners: readonly UnknownWinner[]; whole: boolean };

export async function unknownWinners({
  log,
  views,
}: {
  log: Pick<EventLog, 'read' | 'ends'>;
  views: Pick<Views, 'applied' | 'findByBid' | 'missing'>;
}): Promise<UnknownWinners> {
  const nothingKnown = { winners: [], whole: false };
  // Another process may know the bids.
  if ((views.missing?.() ?? []).length > 0) return nothingKnown;
  const ends = await log.ends('callbacks');
  const most = Math.ceil(mostCallbacksRead / Math.max(1, ends.size));
  const waiting = new Map<string, WinnerEvent>();
  let whole = true;
  for (const [partition, end] of ends) {
    const applied = await views.applied(callbackPartition(partition));
    const from = Math.max(applied, end - most);
    if (from > applied) whole = false;
    await readWinners(log, partition, { from, end }, (event) => {
      const content = JSON.stringify({ ...event, at: 0 });
      if (!waiting.has(content)) waiting.set(content, event);
    });
  }
  if (waiting.size === 0) return { winners: [], whole };
  const events = [...waiting.values()];
  const known = await views.findByBid([...new Set(events.flatMap(codesOf))]).catch((fault: unknown) => {
    if (fault instanceof Fault && fault.code === 'owner-unasked') return null;
    throw fault;
  });
  if (known === null) return nothingKnown;
  const unknown = events.filter((event) => codesOf(event).every((code) => (known.get(code) ?? []).length === 0));
  return {
    winners: unknown
      .reverse()
      .map(shown)
      .sort((one, other) => other.at - one.at),
    whole,
  };
}

async function readWinners(
  log: Pick<EventLog, 'read'>,
  partition: number,
  { from, end }: { from: number; end: number },
  onWinner: (event: WinnerEvent) => void,
): Promise<void> {
  for (let next = from; next < end; ) {
    const entries = await log.read('callbacks', partition, next, Math.min(pageEntries, end - next));
    if (entries.length === 0) return;
    for (const { record } of entries)
      if (record.kind === 'contemplated' || record.kind === 'proposed') onWinner(record);
    next = entries.at(-1)!.offset + 1;
    await turn();
  }
}

function shown(event: WinnerEvent): UnknownWinner {
  const { kind, requestCode, at } = event;
  const isProposal = event.kind === 'proposed';
  const proposalCode = isProposal ? event.proposalCode : null;
  return {
    ...{ kind, requestCode: shownCode(requestCode), at },
    proposalCode: proposalCode === null ? null : shownCode(proposalCode),
    validUntil: isProposal ? event.validUntil : null,
  };
}
