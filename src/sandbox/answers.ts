/** Answers of the service to its calls. The contract shows one of six to a bid; the other shapes are the sandbox's own. */
import { bidPath, encodeBidAccepted } from '../wire/bid.ts';
import type { PlacedBid } from './auction-house.ts';
import type { Played } from './contracts.ts';
import type { LinkQueryResult } from './links.ts';

export type Reply = { status: number; body: string };

function refusal(status: number, path: string, code: string, message: string): Reply {
  const body = { CodigoRequisicao: null, Origem: path, Conteudo: null, Erros: [{ Codigo: code, Mensagem: message }] };
  return { status, body: JSON.stringify(body) };
}

function acknowledgement(path: string, requestCode: string, message: string): Reply {
  const body = { CodigoRequisicao: requestCode, Origem: path, Conteudo: { Mensagem: message }, Erros: [] };
  return { status: 200, body: JSON.stringify(body) };
}

export function answerToBid(placed: PlacedBid): Reply {
  switch (placed.kind) {
    case 'accepted':
      return {
        status: 200,
        body: encodeBidAccepted({ requestCode: placed.requestCode, message: 'Lance incluído no leilão' }),
      };
    case 'accepted-outside':
      return {
        status: 200,
        body: encodeBidAccepted({ ...placed, message: 'Lance incluído fora do leilão' }),
      };
    case 'duplicate':
      return refusal(422, bidPath, 'LANCE_DUPLICADO', 'Já existe lance deste parceiro para a solicitação');
    case 'request-not-found':
      return refusal(404, bidPath, 'SOLICITACAO_INEXISTENTE', 'Solicitação não encontrada');
    case 'request-expired':
      return refusal(422, bidPath, 'SOLICITACAO_EXPIRADA', 'Solicitação expirada');
    case 'validity-too-long':
      return refusal(422, bidPath, 'VALIDADE_EXCEDIDA', 'Validade do lance superior a 7 dias');
    case 'invalid':
      return refusal(400, bidPath, 'DADOS_INVALIDOS', placed.problems.join('; '));
    default:
      return placed satisfies never;
  }
}

export function answerToQuery(path: string, result: LinkQueryResult): Reply {
  switch (result.kind) {
    case 'acknowledged':
      return acknowledgement(path, result.requestCode, 'Consulta recebida; o resultado chega por callback');
    case 'authorisation-missing':
      return refusal(422, path, 'AUTORIZACAO_AUSENTE', 'Autorização do trabalhador ausente: informe o NSU registrado');
    case 'authorisation-expired':
      return refusal(422, path, 'AUTORIZACAO_EXPIRADA', 'Autorização do trabalhador expirada ou invalidada');
    case 'worker-unknown':
      return refusal(404, path, 'VINCULO_INEXISTENTE', 'Trabalhador ou vínculo não encontrado');
    case 'invalid':
      return refusal(400, path, 'DADOS_INVALIDOS', result.problems.join('; '));
    default:
      return result satisfies never;
  }
}

/** The auction contract's acknowledgement is its code alone; the endorsement's is not shown and takes the common shape. */
export function answerToContract(path: string, played: Played): Reply {
  if (played.kind === 'refused') return refusal(played.status, path, played.code, played.message);
  if (path === '/contrato/oferta-leilao/gerar-contrato') {
    return { status: 200, body: JSON.stringify({ codigoRequisicao: played.requestCode }) };
  }
  return acknowledgement(path, played.requestCode, played.message);
}

export function unauthorised(path: string): Reply {
  return refusal(401, path, 'NAO_AUTORIZADO', 'Token ausente, inválido ou expirado');
}

export function throttled(path: string): Reply {
  return refusal(429, path, 'LIMITE_EXCEDIDO', 'Muitas chamadas; tente depois');
}

export function brokenDown(path: string): Reply {
  return refusal(500, path, 'ERRO_INTERNO', 'Erro interno');
}
