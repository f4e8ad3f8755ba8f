/** A request that is bid for and a flow that is begun, both full of what must not be found. */
import { plantedCpf, plantedText } from '../wire/planted.ts';

const digitsOf = (at: Date) => {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${two(at.getUTCDate())}${two(at.getUTCMonth() + 1)}${at.getUTCFullYear()}`;
  return `${day}${two(at.getUTCHours())}${two(at.getUTCMinutes())}${two(at.getUTCSeconds())}`;
};
/** Wall clock of São Paulo. */
const inHours = (hours: number) => digitsOf(new Date(Date.now() + (hours - 3) * 3_600_000));

/** One that the shipped rules let through, so that there is a bid and an answer to it. */
export const biddable = {
  ...{ numeroSolicitacao: 4711, cpf: plantedCpf, matricula: 'm-1', nomeTrabalhador: 'Zulmira Plantada' },
  ...{ inscricaoEmpregador: { codigo: 1, descricao: 'CNPJ' }, numeroInscricaoEmpregador: '01234567000195' },
  ...{ valorLiberado: 5_000, nroParcelas: 24, margemDisponivel: 900, elegivelEmprestimo: true },
  ...{ dataNascimento: '01011985', dataAdmissao: '01012015', pessoaExpostaPoliticamente: { codigo: 0 } },
  ...{ garantia: { temGarantias: false }, alertas: [], nsuAutorizacaoDigital: 12, cnae: 4711302 },
  ...{ dataInicioAtividadeEmpregador: '01012001', codigoCategoriaTrabalhador: 101 },
  ...{ observacao: plantedText, titular: 'Zulmira Plantada' },
};

/** It alone, in an auction that lasts for an hour. */
export const biddableWebhook = () => ({
  CodigoLote: 'L',
  DataHoraFimLeilao: inHours(1),
  Solicitacoes: [biddable],
});

export const renegotiation = {
  ...{ closedContract: 'of-another', registration: 'm', employerId: '12345678', employerIdType: 1, cpf: plantedCpf },
  ...{ agentCpf: plantedCpf, contractType: 'CLT', installments: 12, rateHundredths: 300, originalRateHundredths: 498 },
};
