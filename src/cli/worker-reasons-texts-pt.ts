/** Why there was no offer, as the worker is told, in Brazilian Portuguese. A code without a text does not compile. */
import type { DeskCode } from '../bidding/react.ts';
import type { RejectionCode } from '../domain/offer.ts';
import type { PriceCode } from '../pricing/mask.ts';

/** Codes that no rule set declares; of `fact-missing:<fact>` the part before the colon. */
export type OwnCode = DeskCode | PriceCode | RejectionCode | 'fact-missing';

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
} satisfies Record<OwnCode, string>;
