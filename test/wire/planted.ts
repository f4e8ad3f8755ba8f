/** Names and CPFs in every form that people write them in, put into every place of a body; and how to find them again in bytes. */

/** Made up; its check digits hold. */
export const plantedCpf = '91582575436';
const name = 'Zulmira Plantada';

/** Each in a form of its own, told apart by a mark, so that what is found says what it was. */
const cpfForms = [
  plantedCpf,
  '915.825.754-36',
  '915 825 754 36',
  '915.825.754/36',
  '９１５８２５７５４３６',
  `000${plantedCpf}`,
  `CPF:${plantedCpf}.`,
  '915-825-754-36',
];
const nameForms = [name, name.toUpperCase(), 'zulmira_plantada', 'Plantada, Zulmira', 'ZULMIRA'];
const forms = [...cpfForms, ...nameForms];

const keys = ['titular', 'observacao', 'rua', 'texto', 'campo', 'valor', 'responsavel', 'x'];

/** An object that says each form under each key, as a key, in a list and deeper. */
function plantedFields(): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [index, form] of forms.entries()) {
    fields[`${keys[index % keys.length]}${index}`] = form;
    fields[form] = `under a key ${index}`;
  }
  fields.rua = `Rua ${name}, 7`;
  fields.lista = forms;
  fields.dentro = { titular: name, mais: { [plantedCpf]: name, numero: Number(plantedCpf) } };
  return fields;
}

export const plantedText = forms.join(' | ');

/** What must not be found: decimal digits in any writing, and the name. */
export function plantedIn(text: string): string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  const found = ['zulmira', 'plantada'].filter((part) => plain.includes(part));
  const digits = /9\D{0,2}1\D{0,2}5\D{0,2}8\D{0,2}2\D{0,2}5\D{0,2}7\D{0,2}5\D{0,2}4\D{0,2}3\D{0,2}6/;
  const match = digits.exec(plain);
  return match === null ? found : [...found, `CPF: …${plain.slice(Math.max(0, match.index - 60), match.index + 30)}…`];
}

const planted = plantedFields();

const short = 'Zulmira Plantada 915.825.754-36';

const link = {
  cpf: plantedCpf,
  matricula: plantedText.slice(0, 40),
  nome: 'Zulmira Plantada',
  inscricaoEmpregador: { codigo: 2, descricao: short },
  numeroInscricaoEmpregador: plantedCpf,
  nomeEmpregador: 'Zulmira Plantada',
};
/** In place of a company's number. */
const employer = { inscricaoEmpregador: { codigo: 1 }, numeroInscricaoEmpregador: 'ZULMIRA PLANTADA' };
const request = { numeroSolicitacao: 7, valorLiberado: 1_000, numeroParcelas: 12, ...link, ...planted };

/** Every kind of webhook, and of each what can be wrong with it, full of what must not be found. */
export const plantedBodies: Record<string, unknown> = {
  requests: [
    request,
    { ...request, numeroSolicitacao: 8, alertas: [plantedText, { codigo: 'Zulmira' }] },
    { ...request, numeroSolicitacao: 9, alertas: [{ tipoAlerta: { codigo: 'ZULMIRA', descricao: plantedText } }] },
    { ...request, numeroSolicitacao: 10, inscricaoEmpregador: { codigo: 1 }, numeroInscricaoEmpregador: plantedCpf },
    { ...request, numeroSolicitacao: 11, inscricaoEmpregador: null, numeroInscricaoEmpregador: '915 825 754 36' },
    {
      ...request,
      numeroSolicitacao: 12,
      inscricaoEmpregador: { codigo: 1 },
      numeroInscricaoEmpregador: `000${plantedCpf}`,
    },
    ...[
      'ZULMIRA PLANTADA',
      'ZULMIRA',
      `${plantedCpf} ZULMIRA`,
      `ref ${plantedCpf} x`,
      `A${plantedCpf}`,
      `${plantedCpf}A`,
    ].map((numeroInscricaoEmpregador, index) => ({
      ...request,
      ...{ numeroSolicitacao: 20 + index, inscricaoEmpregador: { codigo: 1 }, numeroInscricaoEmpregador },
    })),
    { ...request, numeroSolicitacao: 13, CodigoLote: 'Zulmira Plantada 915.825.754-36' },
    { ...request, numeroSolicitacao: 14, DataHoraFimLeilao: plantedText, dataNascimento: plantedText },
    { ...request, numeroSolicitacao: plantedText },
  ],
  wrapped: { CodigoLote: '915.825.754-36', ...planted, Payload: { ...planted, Solicitacoes: [request, plantedText] } },
  'end-of-auction': {
    Endpoint: '/contrato/oferta-leilao/fim-lote-solicitacoes',
    ...planted,
    Payload: {
      ...planted,
      CodigoLote: 'Lote da Zulmira Plantada',
      Solicitacoes: [
        { NumeroSolicitacao: 7, Lances: [], ...planted },
        {
          NumeroSolicitacao: 8,
          Lances: [
            {
              ...{ CodigoLanceLeilao: 'Zulmira Plantada', TaxaDeJurosMensal: 2, ValorLiberado: 1, NumeroParcelas: 6 },
              Posicao: 1,
            },
          ],
        },
      ],
    },
  },
  'link-detail': {
    CodigoRequisicao: '915.825.754-36',
    Endpoint: '/trabalhador/consultar-dados-vinculo',
    ...planted,
    Payload: { ...link, ...planted, valorBaseMargem: 10, valorMargemDisponivel: 100, alertas: [planted] },
  },
  'link-list': {
    codigoRequisicao: 'Zulmira Plantada',
    endpoint: '/trabalhadores/listar-autorizados',
    ...planted,
    payload: {
      ...planted,
      vinculos: [{ ...link, ...planted }, { ...link, ...employer }, { ...link, cpf: plantedText }, plantedText],
    },
  },
  contemplated: {
    CodigoRequisicao: 'c-1',
    Endpoint: '/contrato/oferta-leilao/incluir-lance',
    ...planted,
    Payload: {
      Conteudo: { Mensagem: plantedText },
      Erros: [plantedText, planted, { codigo: 'Zulmira', mensagem: 'x' }],
    },
  },
  proposed: {
    CodigoRequisicao: 'c-1',
    Endpoint: '/contrato/oferta-leilao/incluir-lance',
    Payload: {
      conteudo: { ...planted, codigo: short, mensagem: plantedText, numeroProposta: '915.825.754-36' },
      errors: [{ code: 'E7', message: plantedText }, plantedText],
      hashOperacao: plantedText,
    },
  },
  'contract-failed': {
    CodigoRequisicao: 'c-2',
    Endpoint: '/oferta-leilao/gerar-contrato',
    Payload: planted,
    HasError: true,
    Msg: plantedText,
    Messages: [{ Code: 'Zulmira Plantada', Description: plantedText, Field: 'Zulmira' }],
  },
  'contract-code': {
    CodigoRequisicao: 'Zulmira Plantada',
    Endpoint: '/oferta-leilao/gerar-contrato',
    Payload: planted,
    Erros: [plantedText],
  },
  operation: {
    CodigoRequisicao: 'c-3',
    Endpoint: '/oferta-leilao/averbar-contrato',
    Payload: { ...planted, Erros: [planted, plantedText, { Codigo: '915.825.754-36' }] },
  },
  unknown: planted,
  list: [planted, plantedText],
  text: plantedText,
};

export const plantedParts = { request };
