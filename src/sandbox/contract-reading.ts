/** Reads the three worker-credit operations after a bid to the letter: every problem of a body at once. */
import type { AmountCents, RateHundredths, RequestId } from '../domain/glossary.ts';
import type { JsonObject } from '../wire/json.ts';
import type { Terms } from './credit-arithmetic.ts';
import { isCpf } from './identities.ts';
import { centsAt, isGiven, numberAt, objectAt, readStrictly, type Shape, textAt } from './strict.ts';

type Invalid = { kind: 'invalid'; problems: readonly string[] };

const contractShape: Shape = {
  'numeroSolicitacao!': 'string',
  valorLiberado: 'number',
  valorParcela: 'number',
  'numeroParcelas!': 'number',
  'valorTaxaMensal!': 'number',
  valorSeguro: 'string',
  numeroApolice: 'string',
  tipoContrato: 'string',
  'cpfAgenteCredito!': 'string',
  // The table writes its keys in Pascal case, the sample in lower camel.
  'propostaContaPagamento!~': {
    'tipoConta!': 'number',
    'agencia!': 'string',
    'agenciaDig!': 'string',
    'conta!': 'string',
    'contaDig!': 'string',
    'numeroBanco!': 'string',
  },
};

export function readContract(
  text: string,
): Invalid | { kind: 'read'; contract: { requestId: RequestId; terms: Terms } } {
  const read = readStrictly(text, contractShape);
  if (read.kind === 'invalid') return read;
  const { body } = read;
  const problems = [...rateProblems(body, (rate) => rate < 4.98, 'less than 4.98'), ...termProblems(body)];
  if (isGiven(body, 'valorLiberado') === isGiven(body, 'valorParcela')) {
    problems.push('/valorLiberado or /valorParcela: exactly one of the two');
  }
  for (const key of ['valorLiberado', 'valorParcela']) {
    if (isGiven(body, key) && !(centsAt(body, key) > 0)) problems.push(`/${key} is not above zero`);
  }
  const insurance = textAt(body, 'valorSeguro');
  if (insurance !== '' && !/^\d+(\.\d{1,2})?$/.test(insurance)) problems.push('/valorSeguro is no amount');
  if (insurance !== '' && textAt(body, 'numeroApolice') === '') {
    problems.push('/numeroApolice is missing, and there is insurance');
  }
  if (!isCpf(body.cpfAgenteCredito)) problems.push('/cpfAgenteCredito is no CPF');
  const accountType = numberAt(objectAt(body, 'propostaContaPagamento'), 'tipoConta');
  if (accountType !== 1 && accountType !== 2) problems.push('/propostaContaPagamento/tipoConta is neither 1 nor 2');
  if (problems.length > 0) return { kind: 'invalid', problems };
  const terms = {
    rateHundredths: rateAt(body),
    installments: numberAt(body, 'numeroParcelas'),
    insuranceCents: insurance === '' ? 0 : Math.round(Number(insurance) * 100),
    amountCents: isGiven(body, 'valorLiberado') ? centsAt(body, 'valorLiberado') : null,
    installmentCents: isGiven(body, 'valorParcela') ? centsAt(body, 'valorParcela') : null,
  };
  return { kind: 'read', contract: { requestId: textAt(body, 'numeroSolicitacao'), terms } };
}

function rateAt(body: JsonObject): RateHundredths {
  return Math.round(numberAt(body, 'valorTaxaMensal') * 100);
}

function rateProblems(body: JsonObject, isBelow: (rate: number) => boolean, bound: string): string[] {
  const rate = numberAt(body, 'valorTaxaMensal');
  const problems: string[] = [];
  if (!(rate > 0.01)) problems.push('/valorTaxaMensal is not greater than 0.01');
  if (!isBelow(rate)) problems.push(`/valorTaxaMensal is not ${bound}`);
  return problems;
}

function termProblems(body: JsonObject): string[] {
  const term = numberAt(body, 'numeroParcelas');
  return Number.isInteger(term) && term >= 1 ? [] : ['/numeroParcelas is no whole number from 1'];
}

/** Its fields are not documented: an object, whatever is in it. */
export function readEndorsement(text: string): Invalid | { kind: 'read'; content: JsonObject } {
  const read = readStrictly(text, {});
  return read.kind === 'invalid' ? read : { kind: 'read', content: read.body };
}

const renegotiationShape: Shape = {
  'numeroContratoEncerrado!': 'string',
  'cpfTrabalhador!': 'string',
  'matricula!': 'string',
  'codigoInscricaoEmpregador!': 'number',
  'numeroInscricaoEmpregador!': 'string',
  'cpfAgenteCredito!': 'string',
  'tipoContrato!': 'string',
  'numeroParcelas!': 'number',
  'valorTaxaMensal!': 'number',
};

export type AskedRenegotiation = {
  closedContract: string;
  cpf: string;
  registration: string;
  employerId: string;
  rateHundredths: RateHundredths;
  /** What is still owed of `loan`, by its own rate, is lent anew. */
  terms: (loan: ClosedLoan) => Terms;
};

type ClosedLoan = {
  figures: { installmentCents: AmountCents };
  openInstallments: number;
  rateHundredths: RateHundredths;
};

export function readRenegotiation(text: string): Invalid | { kind: 'read'; renegotiation: AskedRenegotiation } {
  const read = readStrictly(text, renegotiationShape);
  if (read.kind === 'invalid') return read;
  const { body } = read;
  const problems = [...rateProblems(body, (rate) => rate <= 4.98, 'at most 4.98'), ...termProblems(body)];
  for (const key of ['cpfTrabalhador', 'cpfAgenteCredito']) if (!isCpf(body[key])) problems.push(`/${key} is no CPF`);
  const employerType = numberAt(body, 'codigoInscricaoEmpregador');
  if (employerType !== 1 && employerType !== 2) problems.push('/codigoInscricaoEmpregador is neither 1 nor 2');
  if (problems.length > 0) return { kind: 'invalid', problems };
  const rateHundredths = rateAt(body);
  const installments = numberAt(body, 'numeroParcelas');
  return {
    kind: 'read',
    renegotiation: {
      closedContract: textAt(body, 'numeroContratoEncerrado'),
      cpf: textAt(body, 'cpfTrabalhador'),
      registration: textAt(body, 'matricula'),
      employerId: textAt(body, 'numeroInscricaoEmpregador'),
      rateHundredths,
      terms: (loan) => ({
        rateHundredths,
        installments,
        insuranceCents: 0,
        amountCents: owedOf(loan),
        installmentCents: null,
      }),
    },
  };
}

function owedOf({ figures, openInstallments, rateHundredths }: ClosedLoan): AmountCents {
  const monthly = rateHundredths / 10_000;
  return Math.round((figures.installmentCents * (1 - (1 + monthly) ** -openInstallments)) / monthly);
}
