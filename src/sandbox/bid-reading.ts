/** Reads a bid as the service does: shape, contacts, and the open interval of the rate. */
import type { AmountCents, EpochMs, RequestId } from '../domain/glossary.ts';
import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { centsAt, digitsAt, isGiven, listAt, numberAt, readStrictly, type Shape, textAt } from './strict.ts';

export type ArrivedBid = {
  requestId: RequestId;
  validUntil: EpochMs;
  amountCents: AmountCents;
  installments: number;
  rateHundredths: number;
};

const shape: Shape = {
  'numeroSolicitacao!': 'number',
  'dataHoraValidadeLance!': 'date-time',
  'contatos!': [{ 'contato!': 'string', 'tipo!': 'number' }],
  'valorLiberado!': 'number',
  'numeroParcelas!': 'number',
  'valorTaxaMensal!': 'number',
};

const contactForms: readonly RegExp[] = [
  /^https?:\/\/[^\s/]+(\/\S*)?$/,
  /^\+?\d{8,15}\?text=([\w\-.~!*'()+]|%[0-9A-Fa-f]{2})+$/,
  /^\+?[\d ()-]{8,20}$/,
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
];

/** `requestId` of a refused bid: as far as it could be read. */
export function readArrivedBid(
  text: string,
): { kind: 'bid'; bid: ArrivedBid } | { kind: 'refused'; problems: readonly string[]; requestId: RequestId | null } {
  const read = readStrictly(text, shape);
  if (read.kind === 'invalid') return { kind: 'refused', problems: read.problems, requestId: null };
  const { body } = read;
  const requestId = digitsAt(body, 'numeroSolicitacao');
  const installments = numberAt(body, 'numeroParcelas');
  const exactRate = numberAt(body, 'valorTaxaMensal') * 100;
  const rateHundredths = Math.round(exactRate);
  const problems = contactProblems(body);
  if (!/^\d+$/.test(requestId)) problems.push('/numeroSolicitacao is no whole number');
  if (!(numberAt(body, 'valorTaxaMensal') > 0.01)) problems.push('/valorTaxaMensal is not greater than 0.01');
  if (!(numberAt(body, 'valorTaxaMensal') < 4.98)) problems.push('/valorTaxaMensal is not less than 4.98');
  if (Math.abs(exactRate - rateHundredths) > 1e-6) problems.push('/valorTaxaMensal has more than 2 decimals');
  if (!(centsAt(body, 'valorLiberado') > 0)) problems.push('/valorLiberado is not above zero');
  if (!Number.isInteger(installments) || installments < 1) problems.push('/numeroParcelas is no whole number from 1');
  if (problems.length > 0) return { kind: 'refused', problems, requestId };
  const validUntil = instantOf(textAt(body, 'dataHoraValidadeLance'));
  const amountCents = centsAt(body, 'valorLiberado');
  return { kind: 'bid', bid: { requestId, validUntil, amountCents, installments, rateHundredths } };
}

function contactProblems(body: JsonObject): string[] {
  const contacts = listAt(body, 'contatos').filter((contact) => isJsonObject(contact) && isGiven(contact, 'tipo'));
  const problems = contacts.flatMap((contact, index) => {
    const kind = numberAt(contact, 'tipo');
    const form = contactForms[kind];
    if (form === undefined) return [`/contatos/${index}/tipo is none of 0, 1, 2, 3`];
    return form.test(textAt(contact, 'contato')) ? [] : [`/contatos/${index}/contato is not of its kind`];
  });
  const hasAddress = contacts.some((contact) => numberAt(contact, 'tipo') === 0);
  if (!hasAddress) problems.push('/contatos has no contact of type 0, an address');
  return problems;
}

/** Without a zone it is São Paulo's, three hours behind UTC since 2019. */
export function instantOf(text: string): EpochMs {
  return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}-03:00`);
}
