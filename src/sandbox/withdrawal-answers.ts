/** Answers of the withdrawal-backed loan: the envelope in the casing of its family, and what each operation adds. */
import type { Day } from '../domain/glossary.ts';
import type { JsonObject } from '../wire/json.ts';
import type { PlayedLoan } from './credit-arithmetic.ts';
import { type Denial, type PlayedProposal, proposalSituations } from './played-proposal.ts';
import type { WithdrawalPath } from './withdrawal-shapes.ts';
import { owedOn, type Simulation, type Transfer } from './withdrawal-world.ts';

export function denied(path: WithdrawalPath, denials: readonly Denial[]): JsonObject {
  if (path.startsWith('/FGTS/')) {
    const Messages = denials.map(({ code, text, field }) => ({
      ...{ Code: code, Context: path, Description: text, Field: field },
    }));
    return { Msg: 'Operação não realizada', HasError: true, Messages };
  }
  const messages = denials.map(({ code, text, field }) => ({ code, context: path, description: text, field }));
  return { msg: 'Operação não realizada', hasError: true, messages, parametros: null };
}

export const fgtsDone: JsonObject = { Msg: null, HasError: false, Messages: null };
export const proposalDone: JsonObject = { msg: null, hasError: false, messages: null, parametros: null };

function reais(cents: number): number {
  return cents / 100;
}

function midnight(day: Day): string {
  return `${day}T00:00:00`;
}

function yearly(monthlyPercent: number): number {
  return Math.round(((1 + monthlyPercent / 100) ** 12 - 1) * 10_000) / 100;
}

/** Monthly rate at which all transfers are worth what is released, in percent. */
function costPercent(simulation: Simulation, ratePercent: number): number {
  const extra = simulation.iofCents + simulation.additionalIofCents + simulation.feeCents;
  return Math.round(ratePercent * (1 + extra / Math.max(1, simulation.interestCents)) * 100) / 100;
}

function simulationItem(simulation: Simulation, balanceCents: number, ratePercent: number): JsonObject {
  const cost = costPercent(simulation, ratePercent);
  return {
    Saldo: reais(balanceCents),
    Periodo: simulation.period,
    DtInicio: midnight(simulation.rows[0]!.onDay),
    DtFim: midnight(simulation.rows.at(-1)!.onDay),
    TaxaMensal: ratePercent,
    TaxaCETMensal: cost,
    TaxaCETAnual: yearly(cost),
    TaxaJurosAnual: yearly(ratePercent),
    VlrEmprestimoCliente: reais(simulation.releasedCents),
    VlrJuros: reais(simulation.interestCents),
    VlrIOF: reais(simulation.iofCents),
    VlrIOFAdicional: reais(simulation.additionalIofCents),
    VlrLiberado: reais(simulation.releasedCents),
    VlrOperacao: reais(simulation.financedCents),
    VlrTAC: reais(simulation.feeCents),
    VlrReserva: reais(simulation.transferCents),
    VlrAmortizacao: reais(simulation.financedCents),
    VlrTransferencia: reais(simulation.releasedCents),
    VlrOutrasDespesas: 0,
    SimulacaoParcelas: simulation.rows.map((row) => ({
      VlrRepasse: reais(row.cents),
      DtRepasse: midnight(row.onDay),
      VlrPrincipal: reais(row.principalCents),
      VlrIOF: reais(row.iofCents),
      VlrIOFAdicional: reais(row.additionalIofCents),
      VlrLiberado: reais(row.principalCents - row.iofCents - row.additionalIofCents),
      VlrJuros: reais(row.cents - row.principalCents),
    })),
  };
}

export type SimulationResult = {
  balanceCents: number;
  ratePercent: number;
  transfers: readonly Transfer[];
  simulations: readonly Simulation[];
  failures: readonly { period: number; denial: Denial }[];
  batchCode: string;
  cpf: string | null;
  cached: boolean;
  queries: number;
  today: Day;
};

export function simulationAnswer(result: SimulationResult): JsonObject {
  const { balanceCents, ratePercent, simulations, failures, transfers } = result;
  return {
    ...fgtsDone,
    VlrDispSaque: reais(balanceCents),
    PeriodoMin: 1,
    PeriodoMax: transfers.length,
    CodigoBatch: result.batchCode,
    Simulacoes: simulations.map((simulation) => simulationItem(simulation, balanceCents, ratePercent)),
    SimulacoesErro: failures.map(({ period, denial }) => ({
      ...denied('/FGTS/BuscarSimulacaoMultiPeriodo', [denial]),
      Periodo: period,
    })),
    Consulta: {
      cpfTrabalhador: result.cpf,
      dataSaldo: result.today,
      existeSaldoDesconsiderado: false,
      qtdPedidos: result.queries,
      periodos: transfers.map(({ onDay, cents }) => ({ dataRepasse: midnight(onDay), valor: reais(cents) })),
      Cache: result.cached,
    },
    Credencial: null,
  };
}

function entryOf(split: JsonObject): JsonObject {
  const renamed = Object.entries(split).map(([key, value]) => [key.charAt(0).toUpperCase() + key.slice(1), value]);
  return { ...Object.fromEntries(renamed), DescricaoCampo: 'Lançamento', Situacao: 1 };
}

export function proposalAnswer(proposal: PlayedProposal): JsonObject {
  const { simulation, ratePercent, state } = proposal;
  const cost = costPercent(simulation, ratePercent);
  return {
    ...fgtsDone,
    Codigo: proposal.code,
    DtInclusao: new Date(proposal.includedAt - 3 * 3_600_000).toISOString().slice(0, 19),
    Situacao: proposalSituations[state],
    VlrFinanciado: reais(simulation.financedCents),
    VlrTAC: reais(simulation.feeCents),
    VlrSeguro: reais(proposal.insuranceCents),
    VlrIOF: reais(simulation.iofCents + simulation.additionalIofCents),
    VlrOutrasDespesas: 0,
    VlrOutrosServicos: 0,
    VlrTotalCredito: reais(simulation.releasedCents),
    VlrTotalDivida: reais(simulation.transferCents),
    QtdeParcelas: simulation.period,
    PercCETMensal: cost,
    PercCETAnual: yearly(cost),
    PercJurosMensal: ratePercent,
    PercJurosAnual: yearly(ratePercent),
    CodigoProposta: proposal.code,
    NumeroCCB: proposal.noteNumber,
    MotivoRejeicao: null,
    MotivoPendencia: null,
    MotivoCancelamento: state === 'cancelled' ? 'Cancelada' : null,
    TextoRetornoPagamento: state === 'released' ? 'Pago' : null,
    AutenticacaoBancaria: null,
    ControleBancario: null,
    StatusProtocoloFED: 'RESERVADO',
    PropostaLancamentos: proposal.splits.map(entryOf),
    CancelamentoFGTS: null,
  };
}

/** The proposal of a contract or a renegotiation: what its credit note says. */
export function loanAnswer({ proposalCode, noteNumber, figures, generatedAt, endorsedAt }: PlayedLoan): JsonObject {
  return {
    ...fgtsDone,
    Codigo: proposalCode,
    DtInclusao: new Date(generatedAt - 3 * 3_600_000).toISOString().slice(0, 19),
    Situacao: proposalSituations[endorsedAt === null ? 'approved' : 'released'],
    VlrFinanciado: reais(figures.financedCents),
    VlrTAC: 0,
    VlrSeguro: reais(figures.insuranceCents),
    VlrIOF: reais(figures.iofCents),
    VlrOutrasDespesas: 0,
    VlrOutrosServicos: 0,
    VlrTotalCredito: reais(figures.releasedCents),
    PercCETMensal: figures.cetMonthlyPercent,
    PercCETAnual: figures.cetAnnualPercent,
    PercJurosMensal: figures.rateMonthlyPercent,
    PercJurosAnual: figures.rateAnnualPercent,
    CodigoProposta: proposalCode,
    NumeroCCB: noteNumber,
    PropostaLancamentos: null,
  };
}

export function installmentsAnswer(proposal: PlayedProposal, count: number | null, asOf: Day): JsonObject {
  const rows = proposal.simulation.rows.slice(0, count ?? undefined);
  return {
    ...fgtsDone,
    DtCalculo: midnight(asOf),
    Parcelas: rows.map((row, index) => {
      const { balanceCents, fineCents, lateCents } = owedOn(row, proposal.ratePercent, proposal.includedAt, asOf);
      return {
        NroParcela: index + 1,
        DtVencimentoAtual: midnight(row.onDay),
        Calculado: {
          VlrMulta: reais(fineCents),
          VlrMora: reais(lateCents),
          VlrJurosContrato: reais(row.cents - row.principalCents),
          VlrEncargos: 0,
          VlrAbatimento: reais(Math.max(0, row.cents - balanceCents)),
          VlrSaldoAtualizado: reais(balanceCents),
        },
      };
    }),
  };
}
