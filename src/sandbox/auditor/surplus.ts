/**
 * What a run's bids were worth in truth: expected value given the published bids, never sampled defaults. And what the
 * desk itself had expected of them.
 */
import type { AmountCents } from '../../domain/glossary.ts';
import type { EmittedRequest } from '../record.ts';
import type { Rivals } from '../rivals.ts';
import { type TrueValue, trueValue } from '../worker-choice.ts';
import type { WorldSettings } from '../world.ts';
import { readBidBytes } from './bid-bytes.ts';
import { landedBid, type RequestCase, type Run } from './run.ts';

export type Truth = { world: WorldSettings; rivals: Pick<Rivals, 'bestRival'> };

type Terms = { rateHundredths: number; amountCents: AmountCents; installments: number };

/** What winning with these terms is worth. */
export function trueWorth({ world, rivals }: Truth, request: EmittedRequest, terms: Terms): TrueValue {
  const { segment, regime, releasedOn, guarantee, index } = request;
  const asked = { requestedAmountCents: request.amountCents, requestedInstallments: request.installments };
  return trueValue(world, {
    ...terms,
    ...asked,
    segment,
    guarantee,
    releasedOn,
    rival: rivals.bestRival(segment, regime, index),
  });
}

/** 1, or ½ for a tie with the best of them, or 0. */
export function winAgainst(published: readonly { rateHundredths: number }[], rateHundredths: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (const bid of published) best = Math.min(best, bid.rateHundredths);
  if (best < rateHundredths) return 0;
  return best === rateHundredths ? 0.5 : 1;
}

/** Rivals' bids as they were published; as the world drew them when the auction's end is not in the record. */
export function publishedRivals({ auctionEnd, truth }: RequestCase): readonly { rateHundredths: number }[] {
  return auctionEnd?.ranked.filter((bid) => !bid.ours) ?? truth?.rivals ?? [];
}

/** Cents, not rounded. A bid that was turned away still costs its price. */
export function realisedSurplus(run: Run, truth: Truth): number {
  let sum = 0;
  for (const known of run.cases.values()) {
    const { truth: request, calls } = known;
    if (request === null || !calls.some((call) => call.landed)) continue;
    sum -= truth.world.economics.bidCostCents;
    const landed = landedBid(known);
    const terms = landed === null ? null : readBidBytes(landed.body);
    if (landed === null || terms === null) continue;
    const isOutside = landed.outcome === 'accepted-outside';
    const win = isOutside ? 1 : winAgainst(publishedRivals(known), terms.rateHundredths);
    if (win > 0) sum += win * trueWorth(truth, request, terms).wonCents;
  }
  return sum;
}

/** Sum of what each decision expected of its bid, for the bids whose bytes arrived. */
export function expectedSurplus(run: Run): AmountCents {
  let sum = 0;
  for (const { evidence, calls } of run.cases.values()) {
    if (calls.length > 0) sum += evidence.claim?.offer.expectedValueCents ?? 0;
  }
  return sum;
}
