/**
 * Texts of reason codes in Brazilian Portuguese: what the lender's staff read, and what the worker is told. A code without both texts does
 * not compile.
 */
import type { DeskCode } from '../bidding/react.ts';
import type { RejectionCode } from '../domain/offer.ts';
import type { PriceCode } from '../pricing/mask.ts';

/** Codes that no rule set declares; of `fact-missing:<fact>` the part before the colon. */
export type OwnCode = DeskCode | PriceCode | RejectionCode | 'fact-missing';

/** A code without a text does not compile; the other languages have the shape of this catalogue. */
export type CodeTexts = Record<DeskCode | PriceCode | RejectionCode | 'rule', string> & {
  factMissing: (fact: string) => string;
};

export const codesPt = {
  'amount-missing': 'a solicitação não diz o valor',
  'auction-ended': 'o leilão acabou antes da decisão ou do envio',
  'authorisation-expired': 'a autorização (NSU) para consultar o vínculo expirou ou foi retirada',
  'authorisation-missing': 'falta a autorização (NSU) para consultar o vínculo',
  cap: 'um teto de exposição não tem espaço',
  'cap-lowered': 'um teto posto à mão foi criado ou reduzido antes do envio da oferta',
  'claimed-before': 'já havia um lance registrado para a solicitação, e o registro o perdeu; pode ter sido enviado',
  deadline: 'o prazo passou antes da decisão ou do envio',
  'internal-error': 'a decisão falhou; veja o diário e as mensagens mortas',
  'link-in-doubt': 'o que chegou sobre o vínculo não pode ser usado',
  'link-refused': 'o serviço recusou a consulta do vínculo',
  'margin-missing': 'nem a solicitação nem o vínculo dizem a margem',
  'no-send-slot': 'nenhuma vaga de envio antes do prazo; foram antes ofertas de maior valor',
  overload: 'a fila estava cheia; ficaram as ofertas de maior valor',
  paused: 'a mesa estava em pausa até o prazo',
  'clock-step': 'o relógio desta máquina tinha mudado, e a hora não era confiável até o prazo',
  'clock-skew': 'a hora do serviço e a nossa divergiam demais até o prazo',
  'log-changed': 'o registro não era o que foi gravado, e ninguém o aceitou até o prazo',
  'control-stale': 'os controles dos operadores não puderam ser lidos até o prazo',
  'rule-set-missing': 'faltava até o prazo o conjunto de regras a seguir',
  'views-incomplete': 'não se sabia até o prazo quanto dos tetos estava usado',
  'partitions-not-live': 'as partições não ficaram em dia até o prazo',
  'log-refused': 'o registro não aceitou gravações até o prazo',
  'service-unauthorised': 'o serviço recusou nosso token até o prazo',
  'service-unreachable': 'o serviço não respondeu até o prazo',
  'service-throttled': 'o serviço nos recusou com 429 até o prazo',
  'request-unusable': 'a solicitação não pôde ser lida',
  'review-expired': 'ninguém respondeu a tempo à revisão que uma regra pediu',
  'review-refused': 'uma pessoa recusou na revisão que uma regra pediu',
  restored: 'o registro voltou a um estado anterior; a solicitação pode ter tido lance na parte perdida',
  'term-missing': 'a solicitação não diz o número de parcelas',
  'installments-out-of-range': 'o prazo pedido está fora dos limites',
  'amount-out-of-range': 'o valor pedido está fora dos limites',
  'limits-conflict': 'os limites das regras se contradizem',
  'margin-too-small': 'a margem não comporta um empréstimo que valha a pena',
  'no-admissible-rate': 'nenhuma taxa cabe nos limites',
  'no-profit': 'nenhuma taxa permitida paga os custos',
  'request-not-found': 'o serviço não conhece a solicitação',
  'request-expired': 'o serviço diz que a solicitação venceu',
  'validity-too-long': 'o serviço diz que a validade do lance passa de 7 dias',
  unclassified: 'resposta do serviço que ninguém classificou',
  factMissing: (fact: string) => `falta o fato ${fact}, de que uma regra precisa`,
  rule: 'uma regra da área de risco recusou',
} satisfies CodeTexts;

const ourFault =
  'Por um problema técnico nosso, não conseguimos fazer uma oferta a tempo. Você pode fazer um novo pedido.';
const tooLate = 'O prazo do pedido terminou antes que pudéssemos fazer uma oferta. Você pode fazer um novo pedido.';
const noRoom = 'Neste momento não estamos fazendo novas ofertas como esta. A decisão não diz respeito a você.';
const noMatch = 'O valor ou o prazo pedido não está entre os que oferecemos para o seu caso.';
const serviceFault = 'O serviço do Crédito do Trabalhador não respondeu a tempo. Você pode fazer um novo pedido.';
const notTaken = 'O serviço do Crédito do Trabalhador não aceitou a nossa oferta. Você pode fazer um novo pedido.';

export const workerReasonsPt = {
  'amount-missing': 'O pedido chegou sem o valor do empréstimo. Faça um novo pedido com o valor.',
  'term-missing': 'O pedido chegou sem o número de parcelas. Faça um novo pedido com o número de parcelas.',
  'margin-missing': 'Não soubemos a sua margem consignável, e sem ela não podemos fazer uma oferta.',
  'fact-missing': 'Faltou uma informação de que precisamos para decidir, e não a conseguimos a tempo.',
  'authorisation-expired':
    'A sua autorização para consultarmos o vínculo de emprego venceu ou foi retirada. Autorize de novo.',
  'authorisation-missing': 'Faltou a sua autorização para consultarmos o vínculo de emprego. Autorize a consulta.',
  'link-in-doubt': 'As informações que recebemos sobre o seu vínculo de emprego não puderam ser usadas.',
  'link-refused': 'A consulta ao seu vínculo de emprego foi recusada pelo serviço do Crédito do Trabalhador.',
  'margin-too-small': 'A sua margem consignável disponível não comporta um empréstimo que oferecemos.',
  'installments-out-of-range': 'O número de parcelas pedido não está entre os que oferecemos para o seu caso.',
  'amount-out-of-range': 'O valor pedido não está entre os que oferecemos para o seu caso.',
  'limits-conflict': noMatch,
  'no-admissible-rate': 'Não há taxa que possamos oferecer para este pedido dentro dos nossos limites.',
  'no-profit': 'Não temos condições de oferecer este empréstimo a uma taxa que possamos praticar.',
  cap: noRoom,
  'cap-lowered': noRoom,
  paused: noRoom,
  'auction-ended': tooLate,
  deadline: tooLate,
  'no-send-slot': tooLate,
  overload: tooLate,
  'request-expired': tooLate,
  'request-unusable': 'O pedido chegou de uma forma que não pudemos ler. Faça um novo pedido.',
  'internal-error': ourFault,
  'clock-step': ourFault,
  'clock-skew': ourFault,
  'log-changed': ourFault,
  'control-stale': ourFault,
  'rule-set-missing': ourFault,
  'views-incomplete': ourFault,
  'partitions-not-live': ourFault,
  'log-refused': ourFault,
  'claimed-before': ourFault,
  restored: ourFault,
  'service-unauthorised': ourFault,
  'service-unreachable': serviceFault,
  'service-throttled': serviceFault,
  'request-not-found': notTaken,
  'validity-too-long': notTaken,
  unclassified: notTaken,
  'review-expired': tooLate,
  'review-refused': 'Uma pessoa da nossa equipe analisou o pedido, e não podemos fazer uma oferta.',
} satisfies Record<OwnCode, string>;
