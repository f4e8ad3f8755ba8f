/**
 * Why a request got no bid, or why its bid is unknown, is recorded in English, for programs read it too; its sentences in Portuguese. What a
 * rule says is the risk team's own text, and what is not known here stays as it is.
 */
import { flowsPt } from './flows-texts-pt.ts';

type Words = Readonly<Record<string, string>>;
/** `$1` and so on are what the English text names, in the words of the same place where there are some. */
type Sentence = readonly [english: RegExp, portuguese: string, words?: readonly (((word: string) => string) | null)[]];

const ends: Words = { deadline: 'prazo', 'end of its auction': 'fim do leilão' };
const reasons: Words = flowsPt.reasons;

const inWords = (words: Words) => (word: string) => (Object.hasOwn(words, word) ? words[word]! : word);
const endWord = inWords(ends);
const causeWord = inWords({ ...reasons, throttled: '429', unauthorised: '401' });
const money = (amount: string) =>
  amount
    .replaceAll(/[.,]/g, (mark) => (mark === '.' ? ',' : '.'))
    .replace(/\d{4,}/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, '.'));
const percent = (rate: string) => rate.replace('.', ',');

/** What the shipped rules say, which are written in English. Whoever writes other rules says it as their people read it. */
const shippedReasons: Words = {
  'The request says that the worker is not eligible.': 'A solicitação diz que o trabalhador não é elegível.',
  'The link detail says that the link is not eligible.': 'O detalhe do vínculo diz que o vínculo não é elegível.',
  'The link detail carries a date of termination.': 'O detalhe do vínculo traz uma data de desligamento.',
  'The worker is younger than 21.': 'O trabalhador tem menos de 21 anos.',
  'The worker would be older than 75 at the last instalment.': 'O trabalhador teria mais de 75 anos na última parcela.',
  'The worker has been with this employer for less than 6 months.':
    'O trabalhador está neste empregador há menos de 6 meses.',
  'The contract is an apprenticeship or an internship.': 'O contrato é de aprendiz ou de estágio.',
  'The worker is politically exposed.': 'O trabalhador é pessoa exposta politicamente.',
  'There are two or more alerts on the link.': 'Há dois ou mais alertas no vínculo.',
  'The link already carries more than 5 payroll loans.': 'O vínculo já tem mais de 5 empréstimos consignados.',
  'The employer opened less than 12 months ago.': 'O empregador abriu há menos de 12 meses.',
  'The available margin is below R$ 50 a month.': 'A margem disponível é menor que R$ 50 por mês.',
  'The requested amount is below R$ 300.': 'O valor solicitado é menor que R$ 300.',
  'The yearly cost (CET) of the offer would exceed 150 %.': 'O custo anual (CET) da oferta passaria de 150 %.',
  'A loan above R$ 20 000 would be worth less than R$ 100.':
    'Um empréstimo acima de R$ 20 mil valeria menos que R$ 100.',
};

const sentences: readonly Sentence[] = [
  [/^a cap has no room left for this amount$/, 'um teto não tem mais espaço para este valor'],
  [
    /^a cap had no room left when the claim was read back; nothing was sent$/,
    'quando o lance registrado foi lido de volta, um teto não tinha mais espaço; nada foi enviado',
  ],
  [
    /^no cap was looked at when the claim was folded, and one has no room now$/,
    'nenhum teto foi consultado quando o lance foi registrado, e agora um deles não tem espaço',
  ],
  [
    /^the cap book was lost after the claim, so it is not sent any more$/,
    'a conta dos tetos se perdeu depois do registro do lance, por isso ele não é mais enviado',
  ],
  [
    /^a cap by hand was set or lowered after the decision, so it is not sent$/,
    'um teto foi posto ou reduzido à mão depois da decisão, por isso o lance não é enviado',
  ],
  [
    /^the detail of the link was asked for in vain: (.*)$/,
    'o detalhe do vínculo foi pedido em vão: $1',
    [inWords(reasons)],
  ],
  [
    /^the detail of the link had not come when bidding was closed$/,
    'o detalhe do vínculo não tinha chegado quando a mesa estava fechada',
  ],
  [
    /^no answer that can be trusted before the (deadline|end of its auction)$/,
    'nenhuma resposta confiável antes do $1: o lance pode ter chegado ao serviço',
    [endWord],
  ],
  [/^no answer before the deadline$/, 'nenhuma resposta antes do prazo: o lance pode ter chegado ao serviço'],
  [
    /^claimed, and never written before the (deadline|end of its auction)(?: \(([\w-]+)\))?$/,
    'o lance foi registrado e não foi enviado antes do $1',
    [endWord],
  ],
  [
    /^claimed, and turned away each time until the (deadline|end of its auction): (\d+) × ([\w, -]+)(?: \(([\w-]+)\))?$/,
    'o lance foi registrado e recusado todas as vezes até o $1: $2 × $3',
    [endWord, null, (causes) => causes.split(', ').map(causeWord).join(', ')],
  ],
  [
    /^the record of the claim could not be read before the deadline$/,
    'o registro do lance não pôde ser lido antes do prazo',
  ],
  [
    /^the auction had ended before it was decided(?: \(([\w-]+)\))?$/,
    'o leilão já tinha terminado quando seria decidida',
  ],
  [
    /^the deadline had passed before it was decided(?: \(([\w-]+)\))?$/,
    'o prazo já tinha passado quando seria decidida',
  ],
  [
    /^a person of the queue ([a-z\d-]+) refused it(?:; nothing was sent)?$/,
    'uma pessoa da fila $1 recusou na revisão; nada foi enviado',
  ],
  [/^nobody of the queue ([a-z\d-]+) answered the review in time$/, 'ninguém da fila $1 respondeu à revisão a tempo'],
  [/^no time was left to ask the queue ([a-z\d-]+)$/, 'não restava tempo para perguntar à fila $1'],
  [
    /^the rule wants a review that was not asked for when the person was asked, and nobody is asked twice$/,
    'a regra pede uma revisão que não foi pedida quando se perguntou à pessoa, e não se pergunta outra vez',
  ],
  [/^the queue was full$/, 'a fila estava cheia'],
  [/^no send slot was free before the deadline$/, 'nenhuma vaga de envio ficou livre antes do prazo'],
  [/^it waited to be sent until its deadline$/, 'esperou para ser enviada até o prazo'],
  [/^the worker has no employment link$/, 'o trabalhador não tem vínculo de emprego'],
  [/^the answer to the link query cannot be read$/, 'a resposta à consulta do vínculo não pode ser lida'],
  [
    /^the answer to the link query is of another worker or of another link$/,
    'a resposta à consulta é de outro trabalhador ou de outro vínculo',
  ],
  [/^the service refused the link query$/, 'o serviço recusou a consulta do vínculo'],
  [
    /^the worker has no single eligible employment link to take the margin from$/,
    'o trabalhador não tem um único vínculo elegível de onde tirar a margem',
  ],
  [
    /^the request carries no authorisation number, so its employment link may not be asked for$/,
    'a solicitação não traz autorização (NSU), por isso o vínculo não pode ser consultado',
  ],
  [
    /^the decision failed twice; see the dead letter and the journal$/,
    'a decisão falhou duas vezes; veja a mensagem morta e o diário',
  ],
  [
    /^it was frozen until it could not be bid for any more: (.*)$/,
    'ficou congelada até não poder mais receber lance: $1',
  ],
  [
    /^the log was set back and restored: the request may have been bid for in the part that was lost(?:, as any that was received before (\S+))?$/,
    'o registro voltou a um estado anterior: a solicitação pode ter tido lance na parte perdida',
  ],
  [
    /^a claim stood for the request, as the list of claims beside the log says, and the log has lost it: .*$/,
    'havia um lance registrado para a solicitação, como diz a lista ao lado do registro, e o registro o perdeu: pode ter sido enviado, e outro teria outros bytes',
  ],
  [/^the request names an amount that cannot be read$/, 'a solicitação traz um valor que não pode ser lido'],
  [/^the request names no amount$/, 'a solicitação não diz o valor'],
  [
    /^the request names a number of installments that cannot be read$/,
    'a solicitação traz um número de parcelas que não pode ser lido',
  ],
  [/^the request names no number of installments$/, 'a solicitação não diz o número de parcelas'],
  [/^the request names a margin that cannot be read$/, 'a solicitação traz uma margem que não pode ser lida'],
  [
    /^the detail of the employment link names a margin that cannot be read$/,
    'o detalhe do vínculo traz uma margem que não pode ser lida',
  ],
  [/^neither the request nor the employment link names a margin$/, 'nem a solicitação nem o vínculo dizem a margem'],
  [/^(\d+) instalments asked, (\d+) to (\d+) allowed$/, 'pedidas $1 parcelas; permitidas de $2 a $3'],
  [
    /^(.*) asked; at most (.*) may and at least (.*) must be offered$/,
    'foram pedidos $1, e as regras deixam ofertar no máximo $2, menos que o mínimo de $3: o mínimo é o das regras ou, se maior, a parte do valor pedido que os ajustes exigem (economics.minAmountShare)',
    [money, money, money],
  ],
  [/^the margin leaves (.*) an instalment$/, 'a margem deixa $1 por parcela', [money]],
  [
    /^an instalment of (.*) does not carry (.*) at a rate worth bidding$/,
    'uma parcela de $1 não comporta $2 a uma taxa que valha o lance',
    [money, money],
  ],
  [
    /^the strategy (\S+) and the limits leave no rate \((.*) to (.*)\)$/,
    'a estratégia $1 e os limites não deixam nenhuma taxa (de $2 a $3)',
    [null, percent, percent],
  ],
  [
    /^limits on instalment or CET forbid every rate from (.*) to (.*)$/,
    'os limites de parcela ou de CET proíbem toda taxa de $1 a $2',
    [percent, percent],
  ],
  [
    /^no rate from (.*) to (.*) earns enough; the loan breaks even at no rate$/,
    'nenhuma taxa de $1 a $2 rende o bastante; o empréstimo não se paga a taxa alguma',
    [percent, percent],
  ],
  [
    /^no rate from (.*) to (.*) earns enough; the loan breaks even from (.*)$/,
    'nenhuma taxa de $1 a $2 rende o bastante; o empréstimo só se paga a partir de $3',
    [percent, percent, percent],
  ],
  [
    /^"(.*)" cannot be decided: (.*) missing\.(.*)$/s,
    '"$1" não pode ser decidida: falta $2.$3',
    [null, null, contradictedPt],
  ],
  [
    /^nothing in it looks like a loan request; expected one of (.*), or mend the request mapping$/,
    'nada nele parece uma solicitação de empréstimo; esperava-se $1, ou corrija o mapeamento',
  ],
  [/^has no request id; send an object with (.*)$/, 'não tem o número da solicitação; envie um objeto com $1'],
  [/^read again and understood$/, 'relida e entendida'],
];

/** What follows after the facts that are missing. */
function contradictedPt(text: string): string {
  return text
    .replace(
      / Request and link detail contradict each other on (.*?)\./,
      ' Solicitação e detalhe do vínculo divergem em $1.',
    )
    .replace(/ A value came for (.*?) that cannot be read\./, ' Veio para $1 um valor que não pode ser lido.')
    .replace(
      / The link detail contradicts itself on link\.eligible: .*\./,
      ' O detalhe do vínculo se contradiz em link.eligible: diz que é elegível e dá o motivo por que não é.',
    );
}

const capSentence =
  /^the cap (.*) has no room left for this amount(, and claims that cannot be read may count under it)?$/;
const byHandKey = /^operator:([^|]*)\|(\d{4})-(\d\d)-(\d\d)$/;

/** By its name and what it counts: the key that the record has is for programs. */
function capPt(key: string): string {
  const [, byHand, year, month, day] = byHandKey.exec(key) ?? [];
  if (byHand !== undefined) return `o teto ${byHand}, posto à mão (${day}/${month}/${year}),`;
  const [name = key, ...counted] = key.split('|');
  return `o teto ${name} das regras${counted.length === 0 ? '' : ` (${counted.join(', ')})`}`;
}

const worthSentence = /^(.*); the bid was expected to bring R\$ (-?[\d.]+)$/;

export function deskReasonPt(text: string): string {
  if (Object.hasOwn(shippedReasons, text)) return shippedReasons[text]!;
  const worth = worthSentence.exec(text);
  if (worth !== null) return `${deskReasonPt(worth[1]!)}; do lance esperavam-se R$ ${money(worth[2]!)}`;
  const cap = capSentence.exec(text);
  if (cap !== null) {
    const beside = cap[2] === undefined ? '' : ', e lances que não podem ser lidos podem contar nele';
    return `${capPt(cap[1]!)} não tem mais espaço para este valor${beside}`;
  }
  const known = sentences.find(([english]) => english.test(text));
  if (known === undefined) return text;
  const [english, portuguese, words = []] = known;
  const found = english.exec(text)!;
  return portuguese.replaceAll(/\$(\d)/g, (_, place) => {
    const word = found[Number(place)] ?? '';
    return words[Number(place) - 1]?.(word) ?? word;
  });
}

function capEn(key: string): string {
  const [, byHand, year, month, day] = byHandKey.exec(key) ?? [];
  if (byHand !== undefined) return `the cap ${byHand}, set by hand (${year}-${month}-${day}),`;
  const [name = key, ...counted] = key.split('|');
  return `the cap ${name} of the rules${counted.length === 0 ? '' : ` (${counted.join(', ')})`}`;
}

/** As it is recorded, but for the key of a cap. */
export function deskReasonEn(text: string): string {
  const cap = capSentence.exec(text);
  return cap === null ? text : `${capEn(cap[1]!)} has no room left for this amount${cap[2] ?? ''}`;
}
