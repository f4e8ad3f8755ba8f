/**
 * The published bids may come before the answer to our bid. The fold then keeps those that look like ours, and an answer may name one
 * with other figures, which stands in the log alone. It is read there when such an answer is folded: the state stays as it is.
 */

import type { Clock } from '../domain/clock.ts';
import type { PublishedBid } from '../domain/offer.ts';
import type { RequestState } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import type { Fold } from './ledger.ts';
import type { DeskObserver } from './observer.ts';
import type { EventLog } from './ports.ts';
import { differingBids, namedAmong } from './settlement.ts';
import { sleep } from './sleep.ts';

type Figures = Pick<PublishedBid, 'rateHundredths' | 'amountCents' | 'installments'> & { offGrid?: boolean };

export function differenceText({ claim }: RequestState, differing: readonly PublishedBid[]): string {
  const figures = ({ rateHundredths, amountCents, installments, offGrid = false }: Figures) =>
    `${offGrid ? 'below ' : ''}${(rateHundredths / 100).toFixed(2)} % a month, R$ ${(amountCents / 100).toFixed(2)}, ${installments} installments`;
  const published = differing.map((bid) => `${figures(bid)} (code ${bid.bidId})`);
  return `the bid was published with other figures than were sent: sent ${claim === null ? '?' : figures(claim.offer)}; published ${published.join('; ')}`;
}

/** Whether the answer that was just folded has a code, and no published bid that the state keeps is under it. */
export function mayDifferLate({ record, before, row: { state } }: Fold): boolean {
  if (record?.kind !== 'answered' || before === null || before.auction === null) return false;
  const { claim, answer, auction } = state;
  if (claim === null || claim.unread || auction === null || answer === before.answer) return false;
  return namedAmong(auction.candidates, answer)?.length === 0;
}

/** Raises `bid-differs` for such an answer. A log that does not answer is asked again until the desk stops. */
export async function tellLateDifference(
  { row: { state }, before }: Fold,
  parts: {
    log: Pick<EventLog, 'readKey'>;
    observer: DeskObserver;
    clock: Clock;
    settings: { retryFirstMs: number };
    stopping: () => boolean;
  },
): Promise<void> {
  const { requestId } = state;
  for (;;) {
    try {
      const entries = await parts.log.readKey('auctions', requestId, state.places);
      const ended = entries.find(({ record }) => record.kind === 'ended')?.record;
      const bids = ended?.kind === 'ended' ? ended.bids : [];
      const differing = differingBids(state, bids);
      if (differing.length === 0 || (before !== null && differingBids(before, bids).length > 0)) return;
      const text = differenceText(state, differing);
      parts.observer({ kind: 'alarm', code: 'bid-differs', requestId, text });
      return;
    } catch (fault) {
      if (!(fault instanceof Fault) || !fault.retryable) throw fault;
      if (parts.stopping()) return;
      await sleep(parts.clock, parts.settings.retryFirstMs);
    }
  }
}
