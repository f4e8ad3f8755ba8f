/** Bodies of the withdrawal-backed loan's operations as the contract writes them: Pascal case on /FGTS, lower camel on /Proposta. */
import type { Shape } from './strict.ts';

export const withdrawalPaths = [
  '/FGTS/BuscarSimulacaoMultiPeriodo',
  '/FGTS/IncluirProposta',
  '/FGTS/ConsultaProposta',
  '/FGTS/ConsultarParcelas',
  '/Proposta/SalvarLancamento',
  '/Proposta/IncluirAssinaturaCCBFinalizada',
  '/Proposta/Finalizar',
  '/Proposta/AtualizarContaPagamento',
] as const;
export type WithdrawalPath = (typeof withdrawalPaths)[number];

const transfers: Shape = [{ 'DataRepasse!': 'date-time', 'VlrRepasse!': 'number' }];

const simulation: Shape = {
  Saldo: 'number',
  VlrEmprestimo: 'number',
  TaxaMensal: 'number',
  VlrTAC: 'number',
  PercTAC: 'number',
  DtAniversario: 'date-time',
  CpfTrabalhador: 'string',
  ConsultaCache: 'boolean',
  Credencial: 'number',
  Periodos: transfers,
};

const account: Shape = {
  CodigoBanco: 'number',
  TipoConta: 'number',
  Agencia: 'string',
  AgenciaDig: 'string',
  Conta: 'string',
  ContaDig: 'string',
  NumeroBanco: 'string',
  DocumentoFederalPagamento: 'string',
  NomePagamento: 'string',
};

const splits: Shape = [
  {
    CampoID: 'string',
    VlrTransacao: 'number',
    DtPagamento: 'date-time',
    LinhaDigitavel: 'string',
    CodigoBanco: 'number',
    NumeroBanco: 'string',
    TipoConta: 'number',
    Agencia: 'string',
    AgenciaDig: 'string',
    Conta: 'string',
    ContaDig: 'string',
    DocumentoFederal: 'string',
    NomePagamento: 'string',
    DocumentoFederalCedente: 'string',
    NomeCedente: 'string',
    PagamentoViaChavePix: { 'ChavePix!': 'string' },
    PagamentoViaEmv: { 'Emv!': 'string' },
  },
];

const inclusion: Shape = {
  CodigoOperacao: 'string',
  VlrEmprestimo: 'number',
  Periodo: 'number',
  DtAniversario: 'date-time',
  TaxaMensal: 'number',
  VlrTAC: 'number',
  PercTAC: 'number',
  VlrSeguro: 'number',
  CpfTrabalhador: 'string',
  TipoContrato: 'string',
  DocumentoParceiroCorrespondente: 'string',
  PropostaContaPagamento: account,
  PropostaPIXPagamento: { 'ChavePIX!': 'string' },
  PropostaLancamentos: splits,
  ConsultaCache: 'boolean',
  Periodos: transfers,
};

const locator: Shape = { codigoProposta: 'string', codigoOperacao: 'string', numeroProposta: 'number' };
const parameters: Shape = [{ 'nome!': 'string', 'valor!': 'string' }];

const proposalSplits: Shape = [
  {
    vlrTransacao: 'number',
    dtPagamento: 'date-time',
    linhaDigitavel: 'string',
    documentoFederal: 'string',
    campoID: 'string',
    codigoBanco: 'number',
    numeroBanco: 'string',
    tipoConta: 'number',
    agencia: 'string',
    agenciaDig: 'string',
    conta: 'string',
    contaDig: 'string',
    nomePagamento: 'string',
    documentoFederalCedente: 'string',
    nomeCedente: 'string',
    pagamentoViaChavePix: { 'chavePix!': 'string' },
    pagamentoViaEmv: { 'emv!': 'string' },
    portabilidadeCLT: { 'nuPortIddCTC!': 'string' },
  },
];

const signers: Shape = [
  {
    nome: 'string',
    email: 'string',
    documento: 'string',
    descricao: 'string',
    telefoneCelular: 'string',
    notificarPorEmail: 'boolean',
    notificarPorWhatsApp: 'boolean',
    dtAssinatura: 'date-time',
    ipAssinatura: 'string',
  },
];

export const shapes: Readonly<Record<WithdrawalPath, Shape>> = {
  '/FGTS/BuscarSimulacaoMultiPeriodo': { 'dto!': simulation },
  '/FGTS/IncluirProposta': { 'dto!': inclusion },
  '/FGTS/ConsultaProposta': { 'dto!': {} },
  '/FGTS/ConsultarParcelas': { 'Dto!': { QtdeParcelas: 'number', CodigoProposta: 'string', DtCalculo: 'date' } },
  '/Proposta/SalvarLancamento': { 'dto!': locator, lancamentos: proposalSplits, parametros: parameters },
  '/Proposta/IncluirAssinaturaCCBFinalizada': { 'dto!': locator, assinantes: signers },
  '/Proposta/Finalizar': { 'dto!': locator, parametros: parameters },
  '/Proposta/AtualizarContaPagamento': { 'dto!': locator },
};
