/** What an event of the auction means: lines of the record, and the webhook that the contract sends for it. */
import { dayOf } from '../domain/clock.ts';
import type { AmountCents, RateHundredths, RequestId } from '../domain/glossary.ts';
import type { AuctionBid, AuctionEvent, Lot } from './auction-house.ts';
import type { Message } from './deliveries.ts';
import { type DayNumber, dayNumber } from './loan.ts';
import { contemplatedEvent, endWebhook, proposedEvent, requestsWebhook } from './messages.ts';
import type { WorkerRequest } from './population.ts';
import type { EmittedRequest, SandboxRecord, WonTruth } from './record.ts';
import type { Rivals } from './rivals.ts';
import type { SandboxSettings } from './settings.ts';
import { chooseAsWorker, type TrueOffer } from './worker-choice.ts';

export type OfferTerms = { rateHundredths: RateHundredths; amountCents: AmountCents; installments: number };

function releasedOn(at: number): DayNumber {
  const [year, month, day] = dayOf(at).split('-').map(Number) as [number, number, number];
  return dayNumber(year, month, day);
}

export function offerOn(
  rivals: Rivals,
  request: Pick<EmittedRequest, 'segment' | 'regime' | 'installments' | 'guarantee' | 'index'>,
  requestedAmountCents: AmountCents,
  released: DayNumber,
  terms: OfferTerms,
): TrueOffer {
  const { rateHundredths, amountCents, installments } = terms;
  const { segment, regime, guarantee, index } = request;
  return {
    rateHundredths,
    amountCents,
    installments,
    segment,
    guarantee,
    requestedAmountCents,
    requestedInstallments: request.installments,
    releasedOn: released,
    rival: rivals.bestRival(segment, regime, index),
  };
}

/** Writes an event down and sends what the contract sends for it; gives the truth of a win that is decided now. */
export function tellEvent(
  event: AuctionEvent,
  settings: SandboxSettings,
  seed: string,
  rivals: Rivals,
  record: SandboxRecord,
  send: (message: Message) => void,
): WonTruth | null {
  let won: WonTruth | null = null;
  if (event.kind === 'opened') {
    for (const request of event.lot.requests) record.write(emitted(request, event.lot, rivals));
  } else if (event.kind === 'ended') {
    for (const [requestId, bids] of event.ranked) record.write(endOf(requestId, event.lot, bids));
  } else if (event.kind === 'proposed' || event.errors.length > 0) {
    won = wonBy(event, settings, seed, rivals);
    record.write(won);
  }
  send(messageOf(event));
  return won;
}

function messageOf(event: AuctionEvent): Message {
  switch (event.kind) {
    case 'opened': {
      const requestIds = event.lot.requests.map(({ requestId }) => requestId);
      const body = requestsWebhook(event.lot);
      return { what: 'requests', requestIds, batchId: event.lot.batchId, requestCode: null, body };
    }
    case 'ended': {
      const { lot, ranked } = event;
      const body = endWebhook(lot, (requestId) => ranked.get(requestId) ?? []);
      return { what: 'ended', requestIds: [...ranked.keys()], batchId: lot.batchId, requestCode: null, body };
    }
    case 'contemplated':
      return tellWinner(event, contemplatedEvent(event.bid, event.errors));
    case 'proposed':
      return tellWinner(event, proposedEvent(event.bid, event.proposal, event.errors));
    default:
      return event satisfies never;
  }
}

function emitted(request: WorkerRequest, lot: Lot, rivals: Rivals): EmittedRequest {
  const { worker, requestId, index, segment, regime, amountCents, installments, marginOmitted, guarantee } = request;
  const length = lot.endsAt - lot.startsAt;
  return {
    kind: 'request',
    requestId,
    index,
    batchId: lot.batchId,
    segment,
    regime,
    amountCents,
    installments,
    guarantee,
    marginCents: worker.marginCents,
    marginOmitted,
    eligible: worker.eligible,
    politicallyExposed: worker.politicallyExposed,
    tenureDays: worker.tenureDays,
    ageDays: worker.ageDays,
    releasedOn: releasedOn(lot.startsAt),
    startsAt: lot.startsAt,
    deadlineAt: lot.endsAt,
    expiresAt: lot.expiresAt,
    rivals: rivals.bidsOn(index, segment, regime).map(({ lender, rateHundredths, arrivesAt }) => ({
      lender,
      rateHundredths,
      placedAt: Math.round(lot.startsAt + arrivesAt * length),
    })),
  };
}

function endOf(requestId: RequestId, lot: Lot, bids: readonly AuctionBid[]) {
  return {
    kind: 'ended' as const,
    requestId,
    batchId: lot.batchId,
    endedAt: lot.endsAt,
    ranked: bids.map(({ bidId, rival, rateHundredths, placedAt }, index) => ({
      bidId,
      ours: rival === null,
      rateHundredths,
      position: index + 1,
      placedAt,
    })),
  };
}

function wonBy(
  event: Extract<AuctionEvent, { kind: 'contemplated' | 'proposed' }>,
  settings: SandboxSettings,
  seed: string,
  rivals: Rivals,
): WonTruth {
  const { bid, request, outside, errors } = event;
  const { requestId, bidId, rateHundredths, amountCents, installments } = bid;
  const offer = offerOn(rivals, request, request.amountCents, releasedOn(bid.placedAt), bid);
  const choice =
    errors.length > 0
      ? { accepted: false, defaultedInMonth: null }
      : chooseAsWorker(settings.world, seed, request.index, offer);
  return {
    kind: 'won',
    requestId,
    bidId,
    rateHundredths,
    amountCents,
    installments,
    outside,
    errors,
    choice,
  };
}

function tellWinner(
  { kind, bid }: Extract<AuctionEvent, { kind: 'contemplated' | 'proposed' }>,
  body: string,
): Message {
  return { what: kind, requestIds: [bid.requestId], batchId: null, requestCode: bid.callCode, body };
}
