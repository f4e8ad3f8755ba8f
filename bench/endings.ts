/** What the service tells when auctions are over: all bids of each, and to whom the worker said yes. */
import type { AuctionBid } from '../src/sandbox/auction-house.ts';
import { chanceOf } from '../src/sandbox/chance.ts';
import { contemplatedEvent, endWebhook, proposedEvent } from '../src/sandbox/messages.ts';
import type { Arrival } from './sink.ts';
import type { Webhook } from './workload.ts';

/** Webhooks in the order in which they are sent. */
export type Ending = {
  bodies: readonly Buffer[];
  /** Ended requests and events of wins in it: so many records will come of it. */
  records: number;
  wonIds: readonly string[];
};

const rivals = 6;
/** Where rivals bid, hundredths of a percent a month: most of ours lose, as they do on the market. */
const rivalFrom = 150;
const rivalSpread = 300;
const agoMs = 5_000;
const proposalMs = 86_400_000;

/** The end of the auctions of one webhook of requests, and the events of those that we won, with the bids that reached the sink. */
export function endingOf({ lot }: Webhook, arrivals: ReadonlyMap<string, Arrival>): Ending {
  const placedAt = lot.startsAt - agoMs;
  const ranked = new Map(
    lot.requests.map(({ requestId }) => [requestId, bidsOf(requestId, arrivals.get(requestId), placedAt)]),
  );
  const won = [...ranked.values()].flatMap(([best]) => (best !== undefined && best.rival === null ? [best] : []));
  const events = won.flatMap((bid, index) => [
    contemplatedEvent(bid, []),
    proposedEvent(
      bid,
      {
        code: bid.bidId,
        number: `${index + 1}`,
        answerId: index + 1,
        hash: index + 1,
        validUntil: lot.startsAt + proposalMs,
      },
      [],
    ),
  ]);
  return {
    bodies: [endWebhook(lot, (requestId) => ranked.get(requestId)!), ...events].map((text) => Buffer.from(text)),
    records: lot.requests.length + events.length,
    wonIds: won.map(({ requestId }) => requestId),
  };
}

/** Best first. The same rivals for every loop. */
function bidsOf(requestId: string, own: Arrival | undefined, placedAt: number): AuctionBid[] {
  const chance = chanceOf('bench', 'rivals', requestId);
  const { amountCents, installments } = own ?? { amountCents: 500_000, installments: 24 };
  const common = { requestId, amountCents, installments, placedAt, sequence: 0 };
  const bids: AuctionBid[] = Array.from({ length: rivals }, (_, place) => {
    const code = `${requestId.padStart(8, '0').slice(-8)}-0000-4000-8000-${String(place).padStart(12, '0')}`;
    const rateHundredths = rivalFrom + Math.floor(rivalSpread * chance());
    return { ...common, bidId: code, callCode: code, rival: `rival ${place}`, rateHundredths };
  });
  if (own !== undefined) {
    const { code, rateHundredths } = own;
    bids.push({ ...common, bidId: code, callCode: code, rival: null, rateHundredths });
  }
  return bids.sort((a, b) => a.rateHundredths - b.rateHundredths);
}
