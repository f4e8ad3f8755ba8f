/**
 * The service as it truly is: it stamps and hashes every body that reaches it before anything can go wrong, keeps the
 * auctions, and knows how they ended. The checker believes it and nobody else.
 */
import { createHash } from 'node:crypto';
import type { EpochMs } from '../../src/domain/glossary.ts';
import type { SeededChance } from './seeded-chance.ts';
import { drawId, type HouseBid, type HouseRequest } from './workload.ts';

export type HouseAnswer = { status: number; body: string };

export type Verdict =
  | 'accepted'
  | 'outside'
  | 'duplicate'
  | 'not-found'
  | 'expired'
  | 'too-long'
  | 'unreadable'
  | 'refused';

/** One body on its way: first byte written by a process, and each time it reached the house. */
export type Written = {
  requestId: string | null;
  instance: string;
  body: string;
  hash: string;
  writtenAt: EpochMs;
  arrivals: { at: EpochMs; verdict: Verdict }[];
};

export type AuctionHouse = {
  requests: Map<string, HouseRequest>;
  written: Written[];
  write: (instance: string, body: string, at: EpochMs) => Written;
  receive: (written: Written, at: EpochMs) => HouseAnswer;
  /** Turned away by a check in front of the auctions, which does not know what bids there are. */
  refuse: (written: Written, at: EpochMs) => HouseAnswer;
};

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Ids have up to 18 digits: the text is searched, because JSON.parse would round them. */
export function requestIdIn(body: string): string | null {
  return /"numeroSolicitacao":(\d+)/.exec(body)?.[1] ?? null;
}

export type BidContent = { amountCents: number; installments: number; rate: number; validUntil: EpochMs };

export function readBody(body: string): BidContent | null {
  try {
    const content = JSON.parse(body);
    return {
      amountCents: Math.round(content.valorLiberado * 100),
      installments: content.numeroParcelas,
      rate: Math.round(content.valorTaxaMensal * 100),
      validUntil: Date.parse(`${content.dataHoraValidadeLance}-03:00`),
    };
  } catch {
    return null;
  }
}

const path = '/contrato/oferta-leilao/incluir-lance';

function refusal(status: number, message: string): HouseAnswer {
  return { status, body: JSON.stringify({ Origem: path, Conteudo: null, Erros: [{ mensagem: message }] }) };
}

function acceptance(bidId: string, message: string): HouseAnswer {
  const content = { CodigoRequisicao: bidId, Origem: path, Conteudo: { CodigoLanceLeilao: bidId, Mensagem: message } };
  return { status: 200, body: JSON.stringify(content) };
}

const answers: Record<Exclude<Verdict, 'accepted' | 'outside'>, HouseAnswer> = {
  duplicate: refusal(409, 'Parceiro já possui lance para a solicitação (duplicidade)'),
  'not-found': refusal(404, 'Solicitação não encontrada'),
  expired: refusal(422, 'Solicitação expirada'),
  'too-long': refusal(422, 'Data de validade superior a 7 dias'),
  unreadable: refusal(400, 'Corpo inválido'),
  refused: refusal(422, 'Trabalhador inelegível'),
};

const sevenDaysMs = 7 * 86_400_000;

export function createAuctionHouse(chance: SeededChance): AuctionHouse {
  const requests = new Map<string, HouseRequest>();
  const written: Written[] = [];

  function judge(entry: Written, at: EpochMs): { verdict: Verdict; bidId: string } {
    const bidId = drawId(chance);
    const content = readBody(entry.body);
    if (content === null) return { verdict: 'unreadable', bidId };
    const request = requests.get(entry.requestId ?? '');
    if (request === undefined) return { verdict: 'not-found', bidId };
    if (request.outside !== null || request.bids.some((bid) => bid.by !== 'rival' && bid.placedAt <= at)) {
      return { verdict: 'duplicate', bidId };
    }
    if (request.expiresAt !== null && at >= request.expiresAt) return { verdict: 'expired', bidId };
    if (content.validUntil > at + sevenDaysMs) return { verdict: 'too-long', bidId };
    if (at >= request.closesAt) {
      if (request.bids.length > 0) return { verdict: 'expired', bidId };
      request.outside = { bidId, at };
      return { verdict: 'outside', bidId };
    }
    const { rate, amountCents, installments } = content;
    const bid: HouseBid = { bidId, rate, amountCents, installments, placedAt: at, by: 'us' };
    request.bids.push(bid);
    return { verdict: 'accepted', bidId };
  }

  return {
    requests,
    written,
    write: (instance, body, writtenAt) => {
      const entry = { requestId: requestIdIn(body), instance, body, hash: sha256(body), writtenAt, arrivals: [] };
      written.push(entry);
      return entry;
    },
    refuse: (entry, at) => {
      entry.arrivals.push({ at, verdict: 'refused' });
      return answers.refused;
    },
    receive: (entry, at) => {
      const { verdict, bidId } = judge(entry, at);
      entry.arrivals.push({ at, verdict });
      if (verdict === 'accepted') return acceptance(bidId, 'Lance incluído com sucesso');
      if (verdict === 'outside') return acceptance(bidId, 'Lance aceito fora do leilão');
      return answers[verdict];
    },
  };
}

/** The published order: lowest rate first, then the earlier one. */
export function ranked(request: HouseRequest): HouseBid[] {
  return request.bids
    .filter((bid) => bid.placedAt < request.closesAt)
    .sort((a, b) => a.rate - b.rate || a.placedAt - b.placedAt || (a.bidId < b.bidId ? -1 : 1));
}
