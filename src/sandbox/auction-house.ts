/**
 * The auction as the contract tells it: batches with a window, one bid per partner and request, six outcomes, ranking by
 * the lowest monthly rate with ties by arrival. No I/O: time and chance are passed in, what happens is told to `tell`.
 */
import type { Chance, Clock } from '../domain/clock.ts';
import type { AmountCents, EpochMs, RequestId } from '../domain/glossary.ts';
import { type ArrivedBid, readArrivedBid } from './bid-reading.ts';
import { integerIn, uuidOf } from './chance.ts';
import type { Proposal } from './messages.ts';
import type { WorkerRequest } from './population.ts';
import type { RivalBid } from './rivals.ts';

export type AuctionSettings = {
  windowMs: number;
  /** How long after its auction a request still lives: the first bid then counts when nobody bid inside the window. */
  expiryMs: number;
  acceptFirstLateBid: boolean;
  /** Longest validity of a bid, counted from its arrival. */
  maxValidityMs: number;
  /** From the end of the auction to the contemplation, and from there to the proposal. */
  contemplationDelayMs: number;
  proposalDelayMs: number;
  proposalValidityMs: number;
  /** Share of wins whose contemplation or proposal carries an error instead. */
  contemplationErrorShare: number;
  proposalErrorShare: number;
};

export const defaultAuction: AuctionSettings = {
  windowMs: 30_000,
  expiryMs: 120_000,
  acceptFirstLateBid: true,
  maxValidityMs: 7 * 86_400_000,
  contemplationDelayMs: 50,
  proposalDelayMs: 100,
  proposalValidityMs: 86_400_000,
  contemplationErrorShare: 0,
  proposalErrorShare: 0,
};

export type Lot = {
  batchId: string;
  startsAt: EpochMs;
  endsAt: EpochMs;
  expiresAt: EpochMs;
  requests: readonly WorkerRequest[];
};

export type AuctionBid = {
  bidId: string;
  /** Of the call that placed it, under which its winner is told: the bid's own id inside an auction, another one outside. */
  callCode: string;
  requestId: RequestId;
  /** Null: the partner that is tested. */
  rival: string | null;
  /** May end in .5 for rivals off the grid. */
  rateHundredths: number;
  amountCents: AmountCents;
  installments: number;
  placedAt: EpochMs;
  /** Bids that arrive in the same millisecond keep their order. */
  sequence: number;
};

export type PlacedBid =
  | { kind: 'accepted'; requestCode: string; requestId: RequestId }
  | { kind: 'accepted-outside'; requestCode: string; bidId: string; requestId: RequestId }
  | { kind: 'duplicate'; requestId: RequestId }
  | { kind: 'request-not-found'; requestId: RequestId }
  | { kind: 'request-expired'; requestId: RequestId }
  | { kind: 'validity-too-long'; requestId: RequestId }
  /** Not one of the six: the body breaks the contract. */
  | { kind: 'invalid'; problems: readonly string[]; requestId: RequestId | null };

export type AuctionEvent =
  | { kind: 'opened'; lot: Lot }
  | { kind: 'ended'; lot: Lot; ranked: ReadonlyMap<RequestId, readonly AuctionBid[]> }
  | ({ kind: 'contemplated' } & Win)
  | ({ kind: 'proposed'; proposal: Proposal } & Win);

/** `outside`: the bid came after the window and was the first. Errors end the win. */
type Win = { bid: AuctionBid; request: WorkerRequest; outside: boolean; errors: readonly string[] };

type Entry = { request: WorkerRequest; lot: Lot; bids: AuctionBid[]; ours: AuctionBid | null };

export type AuctionHouse = {
  /** Opens an auction now. Rivals' bids are known from the start and arrive as the window passes. */
  open: (requests: readonly WorkerRequest[], rivals: (request: WorkerRequest) => readonly RivalBid[]) => Lot;
  /** `body` as it arrived. */
  place: (body: string) => PlacedBid;
};

type HouseOptions = {
  settings: AuctionSettings;
  clock: Clock;
  chance: Chance;
  tell: (event: AuctionEvent) => void;
};

export function createAuctionHouse(options: HouseOptions): AuctionHouse {
  const { settings, clock, chance, tell } = options;
  const entries = new Map<RequestId, Entry>();
  let sequence = 0;

  const contemplate = winnersHerald(options);

  const close = (lot: Lot) => {
    const ranked = new Map<RequestId, readonly AuctionBid[]>();
    const won: [Entry, AuctionBid][] = [];
    for (const { requestId } of lot.requests) {
      const entry = entries.get(requestId)!;
      // A bid may have come late and been taken outside before this runs.
      const bids = entry.bids.filter((bid) => bid.placedAt < lot.endsAt).toSorted(byRank);
      ranked.set(requestId, bids);
      if (bids[0] !== undefined && bids[0].rival === null) won.push([entry, bids[0]]);
    }
    tell({ kind: 'ended', lot, ranked });
    for (const [entry, bid] of won) contemplate(entry, bid);
  };

  const open: AuctionHouse['open'] = (requests, rivals) => {
    const startsAt = clock.now();
    const endsAt = startsAt + settings.windowMs;
    const lot = { batchId: uuidOf(chance), startsAt, endsAt, expiresAt: endsAt + settings.expiryMs, requests };
    for (const request of requests) {
      const bids = rivals(request).map((rival) => {
        sequence += 1;
        return rivalBid(request, rival, lot, uuidOf(chance), sequence);
      });
      entries.set(request.requestId, { request, lot, bids, ours: null });
    }
    tell({ kind: 'opened', lot });
    clock.schedule(endsAt, () => close(lot));
    return lot;
  };

  const place: AuctionHouse['place'] = (body) => {
    const decoded = readArrivedBid(body);
    if (decoded.kind === 'refused') return { ...decoded, kind: 'invalid' };
    const { requestId, rateHundredths, amountCents, installments } = decoded.bid;
    const at = clock.now();
    const entry = entries.get(requestId) ?? null;
    const refused = refusalOf(decoded.bid, entry, at, settings);
    if (refused !== null || entry === null) return refused ?? { kind: 'request-not-found', requestId };
    sequence += 1;
    const bidId = uuidOf(chance);
    const inside = at < entry.lot.endsAt;
    const callCode = inside ? bidId : uuidOf(chance);
    const placed = {
      bidId,
      callCode,
      requestId,
      rival: null,
      rateHundredths,
      amountCents,
      installments,
      placedAt: at,
      sequence,
    };
    entry.ours = placed;
    entry.bids.push(placed);
    if (inside) return { kind: 'accepted', requestCode: bidId, requestId };
    contemplate(entry, placed);
    return { kind: 'accepted-outside', requestCode: callCode, bidId, requestId };
  };

  return { open, place };
}

/** Tells the winner, in its time: contemplated, then proposed, unless the one or the other failed. */
function winnersHerald({ settings, clock, chance, tell }: HouseOptions) {
  return ({ request, lot }: Entry, bid: AuctionBid) => {
    const outside = bid.placedAt >= lot.endsAt;
    clock.schedule(clock.now() + settings.contemplationDelayMs, () => {
      const failed = chance() < settings.contemplationErrorShare;
      const errors = failed ? ['Falha no envio do lance contemplado ao processador'] : [];
      tell({ kind: 'contemplated', bid, request, outside, errors });
      if (failed) return;
      clock.schedule(clock.now() + settings.proposalDelayMs, () => {
        const refused = chance() < settings.proposalErrorShare;
        const proposal = proposalOf(clock.now() + settings.proposalValidityMs, chance);
        const problems = refused ? ['Proposta recusada pelo processador'] : [];
        tell({ kind: 'proposed', bid, request, outside, proposal, errors: problems });
      });
    });
  };
}

/** Null: the bid counts. */
function refusalOf(bid: ArrivedBid, entry: Entry | null, at: EpochMs, settings: AuctionSettings): PlacedBid | null {
  const { requestId } = bid;
  if (bid.validUntil <= at) {
    return { kind: 'invalid', problems: ['/dataHoraValidadeLance is not in the future'], requestId };
  }
  if (entry === null) return { kind: 'request-not-found', requestId };
  if (entry.ours !== null) return { kind: 'duplicate', requestId };
  const inside = at < entry.lot.endsAt;
  const firstLate = settings.acceptFirstLateBid && entry.bids.length === 0 && at < entry.lot.expiresAt;
  if (!inside && !firstLate) return { kind: 'request-expired', requestId };
  if (bid.validUntil > at + settings.maxValidityMs) return { kind: 'validity-too-long', requestId };
  return null;
}

function byRank(left: AuctionBid, right: AuctionBid): number {
  return left.rateHundredths - right.rateHundredths || left.placedAt - right.placedAt || left.sequence - right.sequence;
}

function rivalBid(request: WorkerRequest, rival: RivalBid, lot: Lot, bidId: string, sequence: number): AuctionBid {
  return {
    bidId,
    callCode: bidId,
    requestId: request.requestId,
    rival: rival.lender,
    rateHundredths: rival.rateHundredths,
    amountCents: request.amountCents,
    installments: request.installments,
    placedAt: Math.min(lot.endsAt - 1, Math.round(lot.startsAt + rival.arrivesAt * (lot.endsAt - lot.startsAt))),
    sequence,
  };
}

function proposalOf(validUntil: EpochMs, chance: Chance): Proposal {
  return {
    code: uuidOf(chance),
    number: String(integerIn(chance, 1e9, 9e9)),
    answerId: integerIn(chance, 1e6, 9e6),
    hash: integerIn(chance, 1e8, 9e8),
    validUntil,
  };
}
