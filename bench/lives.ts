/**
 * Whole lives of requests as a desk's records: some hundred that the shipped rules and settings decided, stamped out with
 * ids, keys and times of their own as often as wanted. All auctions have ended; won ones were contemplated.
 */
import type { Offer, PublishedBid } from '../src/domain/offer.ts';
import type { AuctionRecord, Claimed, Passed, Requested } from '../src/domain/records.ts';
import { chanceOf } from '../src/sandbox/chance.ts';
import { createDecider, requestsOf } from './decider.ts';

const templateCount = 600;
const auctionMs = 30_000;
const openMs = 3_600_000;
const openKinds: ReadonlySet<AuctionRecord['kind']> = new Set(['requested', 'claimed', 'answered']);
const rivals = 3;
/** Of our bids. */
const wonShare = 0.15;

type Template = { requested: Requested; decided: Claimed | Passed };

export type Lives = {
  /** The records of request `index`, received at `receivedAt`, in log order. */
  recordsOf: (index: number, receivedAt: number) => AuctionRecord[];
  /** The same of one that was bid for, and whose auction goes on for an hour. */
  openOf: (index: number, receivedAt: number) => AuctionRecord[];
  /** Of the templates. */
  bidShare: number;
};

export function requestIdOf(index: number): string {
  return String(7_000_000_000 + index);
}

/** The same arguments give the same lives. `at`: when the templates were decided. */
export function createLives(at: number, rulesDir: string): Lives {
  const { config, decide, encode } = createDecider(at, rulesDir);
  const templates = requestsOf(config, templateCount, at).map((requested): Template => {
    const { request, requestId } = requested;
    const draft = decide(request);
    if (draft.kind === 'offer') {
      const { offer, trace } = draft;
      const [instance, body] = ['bench', encode(requestId, offer)];
      return { requested, decided: { kind: 'claimed', requestId, at, claimId: '', instance, body, offer, trace } };
    }
    const { code, reasons, trace } = draft;
    return { requested, decided: { kind: 'passed', requestId, at, code, claimId: null, reasons, trace } };
  });
  const bidFor = templates.filter(({ decided }) => decided.kind === 'claimed');
  return {
    bidShare: bidFor.length / templates.length,
    recordsOf: (index, receivedAt) => stamp(templates[index % templates.length]!, index, receivedAt, auctionMs),
    openOf: (index, receivedAt) =>
      stamp(bidFor[index % bidFor.length]!, index, receivedAt, openMs).filter(({ kind }) => openKinds.has(kind)),
  };
}

function stamp({ requested, decided }: Template, index: number, receivedAt: number, lengthMs: number): AuctionRecord[] {
  const requestId = requestIdOf(index);
  const closesAt = receivedAt + lengthMs;
  const request = {
    ...requested.request,
    requestId,
    receivedAt,
    closesAt,
    expiresAt: closesAt + lengthMs,
    workerKey: ownKey(requested.request.workerKey, index),
    linkKey: ownKey(requested.request.linkKey, index),
  };
  const received: AuctionRecord = { ...requested, requestId, at: receivedAt, request };
  const decidedAt = receivedAt + 20;
  const ended = { kind: 'ended', requestId, at: closesAt + 500, startedAt: receivedAt, endedAt: closesAt } as const;
  const batchId = request.batchId ?? '';
  if (decided.kind === 'passed') {
    const passed = { ...decided, requestId, at: decidedAt };
    return [received, passed, { ...ended, batchId, bids: publishedBids(index, null, closesAt) }];
  }
  const claimId = `bench:${index}`;
  const body = decided.body.replace(requested.requestId, requestId);
  const [bidId, requestCode] = [bidIdOf(index, 0), bidIdOf(index, 0)];
  const isWon = chanceOf('bench', 'won', requestId)() < wonShare;
  const own = { offer: decided.offer, bidId, isWon };
  return [
    received,
    { ...decided, requestId, at: decidedAt, claimId, body },
    {
      kind: 'answered',
      requestId,
      at: decidedAt + 60,
      claimId,
      outcome: { kind: 'accepted', bidId },
      attempts: 1,
      earlierAttemptPossible: false,
      firstByteAt: decidedAt + 10,
      response: { status: 200, body: JSON.stringify({ Conteudo: { CodigoLanceLeilao: bidId } }) },
    },
    { ...ended, batchId, bids: publishedBids(index, own, closesAt) },
    ...(isWon
      ? [
          {
            kind: 'contemplated' as const,
            requestId,
            at: closesAt + 900,
            requestCode,
            message: null,
            errors: [],
          },
        ]
      : []),
  ];
}

function publishedBids(
  index: number,
  own: { offer: Offer; bidId: string; isWon: boolean } | null,
  closesAt: number,
): PublishedBid[] {
  const { rateHundredths, amountCents, installments } = own?.offer ?? {
    rateHundredths: 300,
    amountCents: 500_000,
    installments: 24,
  };
  const first = own?.isWon ? 1 : -rivals;
  const others = Array.from({ length: rivals }, (_, place) => ({
    bidId: bidIdOf(index, place + 1),
    rateHundredths: rateHundredths + (first + place) * (1 + (index % 7)),
  }));
  const all = own === null ? others : [...others, { bidId: own.bidId, rateHundredths }];
  all.sort((a, b) => a.rateHundredths - b.rateHundredths);
  const common = { offGrid: false, amountCents, installments, placedAt: closesAt - 20_000 };
  return all.map((bid, rank) => ({ ...bid, ...common, position: rank + 1 }));
}

function bidIdOf(index: number, place: number): string {
  return `${String(index).padStart(8, '0')}-0000-4000-8000-${String(place).padStart(12, '0')}`;
}

/** As long as the key, and of one request. */
function ownKey(key: string | null, index: number): string | null {
  return key === null ? null : `${key.slice(0, -8)}${String(index % 100_000_000).padStart(8, '0')}`;
}
