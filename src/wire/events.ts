/** Auction events, both ways: how an auction ended, that our bid won, that the proposal stands (contract, Resources and Events). */
import { z } from 'zod';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { PublishedBid } from '../domain/offer.ts';
import { bidPath } from './bid.ts';
import {
  type Decoded,
  decodeBy,
  describeFaults,
  fieldOf,
  lenient,
  maxElements,
  needed,
  optional,
  tooManyElements,
  type WireFault,
} from './casing.ts';
import { cutText } from './hidden-cpf.ts';
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue, kindOf, parseJson } from './json.ts';
import { formatDigits, formatWallClock } from './local-time.ts';
import { readCode, readId, readRequestId } from './plain-ids.ts';
import {
  readComputedAmount,
  readInstant,
  readInteger,
  readMessage,
  readRate,
  readTerm,
  readText,
  withoutTrailing,
} from './values.ts';

export type EventKind =
  | 'end-of-auction'
  | 'link-list'
  | 'link-detail'
  | 'contemplated'
  | 'proposed'
  | 'contract'
  | 'renegotiation'
  | 'operation';

const endOfAuctionEndpoint = '/contrato/oferta-leilao/fim-lote-solicitacoes';
/** A map: what is asked comes from outside, and every object knows `constructor`. */
const endpoints: ReadonlyMap<string, EventKind | 'winner'> = new Map(
  Object.entries<EventKind | 'winner'>({
    [endOfAuctionEndpoint]: 'end-of-auction',
    '/trabalhadores/listar-autorizados': 'link-list',
    '/trabalhador/listar-autorizados': 'link-list',
    '/trabalhador/consultar-dados-vinculo': 'link-detail',
    [bidPath]: 'winner',
    '/oferta-leilao/gerar-contrato': 'contract',
    '/contrato/oferta-leilao/gerar-contrato': 'contract',
    '/contrato/renegociacao/gerar-contrato': 'renegotiation',
    '/renegociacao/gerar-contrato': 'renegotiation',
    '/contrato/oferta-leilao/averbar-contrato': 'operation',
    '/oferta-leilao/averbar-contrato': 'operation',
  }),
);

/** Which event a body is, by the value of `Endpoint`, else by its shape; null: perhaps new requests, perhaps nothing we know. */
export function recogniseEvent(value: JsonValue): EventKind | null {
  if (!isJsonObject(value)) return null;
  const endpoint = fieldOf(value, 'Endpoint');
  const payload = fieldOf(value, 'Payload');
  if (typeof endpoint === 'string') {
    const known = endpoints.get(withoutTrailing(endpoint.trim().toLowerCase(), '/'));
    if (known === 'winner') return winnerKind(payload);
    if (known !== undefined) return known;
  }
  if (!isJsonObject(payload)) return null;
  if (Array.isArray(fieldOf(payload, 'vinculos'))) return 'link-list';
  const requests = fieldOf(payload, 'Solicitacoes');
  if (Array.isArray(requests) && requests.some((request) => isJsonObject(request) && has(request, 'Lances'))) {
    return 'end-of-auction';
  }
  if (has(payload, 'valorBaseMargem') && has(payload, 'matricula') && has(value, 'CodigoRequisicao'))
    return 'link-detail';
  if (has(payload, 'NumeroCCB')) return has(payload, 'ContratoProposta') ? 'renegotiation' : 'contract';
  return isJsonObject(fieldOf(payload, 'conteudo')) && has(value, 'CodigoRequisicao') && isWinner(payload)
    ? winnerKind(payload)
    : null;
}

function has(object: JsonObject, name: string): boolean {
  return fieldOf(object, name) !== undefined;
}

function isWinner(payload: JsonObject): boolean {
  return has(payload, 'Erros') || has(payload, 'errors');
}

/** Both confirmations carry the bid's endpoint; only the second one speaks of a proposal. */
function winnerKind(payload: JsonValue | undefined): 'contemplated' | 'proposed' {
  if (!isJsonObject(payload)) return 'contemplated';
  const content = fieldOf(payload, 'conteudo');
  const marks = ['codigo', 'numeroProposta', 'idSolicitacaoResposta', 'hashOperacao', 'dataHoraValidadeProposta'];
  const speaksOfProposal = isJsonObject(content) && marks.some((mark) => has(content, mark));
  return speaksOfProposal || has(payload, 'errors') || has(payload, 'hashOperacao') ? 'proposed' : 'contemplated';
}

// --- End of auction -------------------------------------------------------------------------------------------------

const publishedBid = z.object({
  CodigoLanceLeilao: needed(readCode),
  TaxaDeJurosMensal: needed(readRate),
  ValorLiberado: needed(readComputedAmount),
  NumeroParcelas: needed(readTerm),
  Posicao: needed(readInteger),
  DataHoraInclusao: optional(readInstant),
});
/** The contract says an empty list where no partner bid; null says the same. */
const bidsOfRequest = z
  .array(publishedBid)
  .nullable()
  .transform((bids) => bids ?? []);
const endedRequest = z.object({ NumeroSolicitacao: needed(readRequestId), Lances: bidsOfRequest });
const partlyEndedRequest = z.object({ NumeroSolicitacao: needed(readRequestId), Lances: z.array(z.unknown()) });
const endOfAuction = z.object({
  Payload: z.object({
    CodigoLote: needed(readText),
    DataHoraInicioLeilao: lenient(readInstant),
    DataHoraFimLeilao: lenient(readInstant),
    Solicitacoes: z.array(z.unknown()),
  }),
});

type EndedRequest = { requestId: RequestId; bids: readonly PublishedBid[] };
/**
 * `unreadable`: requests of the batch that could not be read, each told by itself, so that the others go on. `faults`: of single
 * bids that could not be read, which are left out, so that the other bids of their request count.
 */
export type EndOfAuction = {
  batchId: string;
  startedAt: EpochMs | null;
  endedAt: EpochMs | null;
  requests: readonly EndedRequest[];
  unreadable: readonly { faults: readonly WireFault[]; element: JsonValue }[];
  faults: readonly WireFault[];
};

export function decodeEndOfAuction(value: JsonValue): Decoded<EndOfAuction> {
  const decoded = decodeBy(endOfAuction, value);
  if (decoded.kind === 'refused') return decoded;
  const payload = decoded.value.Payload;
  if (payload.Solicitacoes.length > maxElements) return tooManyElements('/Payload/Solicitacoes');
  const requests: EndedRequest[] = [];
  const bidFaults: WireFault[] = [];
  const unreadable: { faults: readonly WireFault[]; element: JsonValue }[] = [];
  payload.Solicitacoes.forEach((element, index) => {
    const ended = decodeBy(endedRequest, element);
    if (ended.kind === 'decoded') {
      requests.push({ requestId: ended.value.NumeroSolicitacao, bids: ended.value.Lances.map(toPublishedBid) });
      return;
    }
    const at = `/Payload/Solicitacoes/${index}`;
    const partly = decodeBy(partlyEndedRequest, element);
    const bids = partly.kind === 'decoded' ? partly.value.Lances.map((bid) => decodeBy(publishedBid, bid)) : [];
    const readable = bids.flatMap((bid) => (bid.kind === 'decoded' ? [toPublishedBid(bid.value)] : []));
    // Without any it would look as if nobody had bid.
    if (partly.kind === 'decoded' && readable.length > 0) {
      requests.push({ requestId: partly.value.NumeroSolicitacao, bids: readable });
      for (const [bid, read] of bids.entries()) {
        if (read.kind === 'refused') bidFaults.push(...read.faults.map(faultAt(`${at}/Lances/${bid}`)));
      }
      return;
    }
    const faults = ended.faults.map(faultAt(at));
    unreadable.push({ faults, element: element as JsonValue });
  });
  return {
    kind: 'decoded',
    value: {
      batchId: payload.CodigoLote,
      startedAt: payload.DataHoraInicioLeilao,
      endedAt: payload.DataHoraFimLeilao,
      requests,
      unreadable,
      faults: bidFaults,
    },
  };
}

function faultAt(place: string): (fault: WireFault) => WireFault {
  return ({ pointer, problem }) => ({ pointer: place + pointer, problem });
}

function toPublishedBid(bid: z.output<typeof publishedBid>): PublishedBid {
  return {
    bidId: bid.CodigoLanceLeilao,
    rateHundredths: bid.TaxaDeJurosMensal.rateHundredths,
    offGrid: bid.TaxaDeJurosMensal.offGrid,
    amountCents: bid.ValorLiberado,
    installments: bid.NumeroParcelas,
    position: bid.Posicao,
    placedAt: bid.DataHoraInclusao,
  };
}

export function encodeEndOfAuction(end: Omit<EndOfAuction, 'unreadable' | 'faults'>): string {
  return JSON.stringify({
    Endpoint: endOfAuctionEndpoint,
    Payload: {
      CodigoLote: end.batchId,
      DataHoraInicioLeilao: end.startedAt === null ? null : formatWallClock(end.startedAt),
      DataHoraFimLeilao: end.endedAt === null ? null : formatWallClock(end.endedAt),
      Solicitacoes: end.requests.map(({ requestId, bids }) => ({
        NumeroSolicitacao: requestId,
        Lances: encodePublishedBids(bids),
      })),
    },
  });
}

/** As `Lances` of one request. An off-grid rate is written half a cell below the one it was rounded up to. */
export function encodePublishedBids(bids: readonly PublishedBid[]): object[] {
  return bids.map((bid) => ({
    CodigoLanceLeilao: bid.bidId,
    TaxaDeJurosMensal: (bid.offGrid ? bid.rateHundredths * 10 - 5 : bid.rateHundredths * 10) / 1_000,
    ValorLiberado: bid.amountCents / 100,
    NumeroParcelas: bid.installments,
    Posicao: bid.position,
    DataHoraInclusao: bid.placedAt === null ? null : formatWallClock(bid.placedAt),
  }));
}

const publishedBids = z.array(publishedBid);

/** Reads what `encodePublishedBids` wrote, keys in any case. */
export function decodePublishedBids(
  value: JsonValue,
): { kind: 'decoded'; bids: PublishedBid[] } | { kind: 'refused'; text: string } {
  const decoded = decodeBy(publishedBids, value);
  if (decoded.kind === 'refused') return { kind: 'refused', text: describeFaults(decoded.faults) };
  return { kind: 'decoded', bids: decoded.value.map(toPublishedBid) };
}

// --- Winner confirmations -------------------------------------------------------------------------------------------

const contemplated = z.object({
  CodigoRequisicao: needed(readCode),
  Payload: z.object({
    Conteudo: z.object({ Mensagem: lenient(readMessage) }).nullish(),
    Erros: z.array(z.unknown()).nullish(),
  }),
});

export type ContemplatedEvent = { requestCode: string; message: string | null; errors: readonly string[] };

/** An item that holds no value at all reports no error: the money of a bid that may have won stays held. */
function saysSomething(item: unknown): boolean {
  if (typeof item === 'object' && item !== null) return Object.values(item).some(saysSomething);
  return item !== null && item !== '';
}

export function decodeContemplated(value: JsonValue): Decoded<ContemplatedEvent> {
  const decoded = decodeBy(contemplated, value);
  if (decoded.kind === 'refused') return decoded;
  const { CodigoRequisicao, Payload } = decoded.value;
  return {
    kind: 'decoded',
    value: {
      requestCode: CodigoRequisicao,
      message: Payload.Conteudo?.Mensagem ?? null,
      errors: (Payload.Erros ?? []).filter(saysSomething).map(errorText),
    },
  };
}

export function encodeContemplated(event: ContemplatedEvent): string {
  return JSON.stringify({
    CodigoRequisicao: event.requestCode,
    Endpoint: bidPath,
    Payload: { Conteudo: { Mensagem: event.message }, Erros: event.errors },
  });
}

const proposed = z.object({
  CodigoRequisicao: needed(readCode),
  Payload: z.object({
    conteudo: z
      .object({
        codigo: lenient(readId),
        mensagem: lenient(readMessage),
        numeroProposta: lenient(readId),
        idSolicitacaoResposta: lenient(readText),
        hashOperacao: lenient(readText),
        dataHoraValidadeProposta: lenient(readInstant),
      })
      .nullish(),
    errors: z.array(z.unknown()).nullish(),
    hashOperacao: lenient(readText),
  }),
});

export type ProposedEvent = {
  requestCode: string;
  proposalCode: string | null;
  proposalNumber: string | null;
  message: string | null;
  /** Numbers of the contract, carried as texts with sign and all digits. */
  responseId: string | null;
  operationHash: string | null;
  /** The same hash as the payload writes it, as a text. */
  payloadHash: string | null;
  validUntil: EpochMs | null;
  errors: readonly string[];
};

export function decodeProposed(value: JsonValue): Decoded<ProposedEvent> {
  const decoded = decodeBy(proposed, value);
  if (decoded.kind === 'refused') return decoded;
  const { CodigoRequisicao, Payload } = decoded.value;
  const content = Payload.conteudo;
  return {
    kind: 'decoded',
    value: {
      requestCode: CodigoRequisicao,
      proposalCode: content?.codigo ?? null,
      proposalNumber: content?.numeroProposta ?? null,
      message: content?.mensagem ?? null,
      responseId: content?.idSolicitacaoResposta ?? null,
      operationHash: content?.hashOperacao ?? null,
      payloadHash: Payload.hashOperacao,
      validUntil: content?.dataHoraValidadeProposta ?? null,
      errors: (Payload.errors ?? []).filter(saysSomething).map(errorText),
    },
  };
}

/** As a number, if it is the text of one. */
function carried(text: string | null): JsonValue {
  const parsed = parseJson(text ?? 'null');
  return parsed.kind === 'parsed' && (typeof parsed.value === 'number' || isRawNumber(parsed.value))
    ? parsed.value
    : text;
}

export function encodeProposed(event: ProposedEvent): string {
  return JSON.stringify({
    CodigoRequisicao: event.requestCode,
    Endpoint: bidPath,
    Payload: {
      conteudo: {
        codigo: event.proposalCode,
        mensagem: event.message,
        numeroProposta: event.proposalNumber,
        idSolicitacaoResposta: carried(event.responseId),
        hashOperacao: carried(event.operationHash),
        dataHoraValidadeProposta: event.validUntil === null ? null : formatDigits(event.validUntil),
      },
      errors: event.errors,
      hashOperacao: event.payloadHash,
    },
  });
}

const errorKeys = ['code', 'codigo', 'message', 'mensagem', 'description', 'descricao'];
const maxErrorLength = 300;

/** Items of error arrays have no documented shape: texts as they are, of objects the code and the message. */
function errorText(item: unknown): string {
  if (typeof item === 'string') return cutText(item, maxErrorLength);
  if (isRawNumber(item)) return item.rawJSON;
  if (!isJsonObject(item)) return String(item);
  const parts = errorKeys.flatMap((key) => {
    const value = fieldOf(item, key);
    return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
  });
  const text = parts.length > 0 ? parts.join(': ') : `${kindOf(item)} without code or message`;
  return cutText(text, maxErrorLength);
}
