/** Phases and steps of flows in Portuguese. Steps are typed in English, so both words are said. */

export const phasesPt = {
  'waiting-proposal': 'aguarda a proposta',
  preparing: 'em preparo',
  withheld: 'retido por uma regra',
  generating: 'em geração',
  unclear: 'geração em dúvida',
  'awaiting-note': 'aguarda a CCB',
  refused: 'recusado pelo serviço',
  'awaiting-signature': 'aguarda a assinatura',
  signed: 'assinado',
  endorsing: 'em averbação',
  'endorsement-unclear': 'averbação em dúvida',
  'endorsement-refused': 'averbação recusada',
  endorsed: 'averbado',
  failed: 'a proposta falhou',
  cancelled: 'cancelado',
  renegotiated: 'renegociado',
  started: 'iniciado',
  simulated: 'simulado',
  included: 'incluído',
  finalised: 'finalizado',
  'awaiting-answer': 'aguarda a resposta',
  answered: 'respondido',
  unclaimed: 'de nenhum fluxo',
  closed: 'encerrado: de nenhum fluxo, diz quem o viu',
  claimed: 'entregue ao seu fluxo',
} as const;

type Meanings = Readonly<Record<keyof typeof phasesPt, string>> & {
  /** Of these kinds a phase of the same name means something else. */
  ofWithdrawal: Readonly<Partial<Record<string, string>>>;
  ofLookup: Readonly<Partial<Record<string, string>>>;
};

/** Each phase in one sentence. */
export const phaseMeaningsPt: Meanings = {
  'waiting-proposal': 'O contrato foi pedido. A mesa espera que o serviço informe a proposta do vencedor.',
  preparing: 'A mesa confere o vínculo e a margem e depois envia o pedido.',
  withheld: 'Nada foi enviado: uma regra impede. Corrija com amend ou cancele.',
  generating: 'O pedido está a caminho do serviço.',
  unclear:
    'Não se sabe se o serviço fez o que foi pedido. Verifique nele e responda com confirm ou deny; antes disso nada é enviado de novo.',
  'awaiting-note': 'O serviço aceitou o pedido. A CCB ainda não chegou.',
  refused: 'O serviço recusou o pedido. Corrija com amend ou cancele.',
  'awaiting-signature': 'A CCB chegou. Falta a assinatura do trabalhador.',
  signed: 'A assinatura foi entregue. A mesa a envia ao serviço para averbação.',
  endorsing: 'A assinatura está a caminho do serviço.',
  'endorsement-unclear':
    'Não se sabe se o serviço averbou o contrato. Verifique nele e responda com confirm ou deny; antes disso nada é enviado de novo.',
  'endorsement-refused': 'O serviço recusou a averbação. Uma pessoa diz como seguir.',
  endorsed: 'O contrato está averbado: o dinheiro pode ser liberado. O fluxo terminou.',
  failed: 'O serviço informou que a proposta do vencedor falhou. Com amend o fluxo volta a esperá-la.',
  cancelled: 'O fluxo foi encerrado aqui. O que o serviço gerou para ele continua lá.',
  renegotiated: 'A CCB da renegociação chegou. O empréstimo vale sem assinatura.',
  started: 'O saque foi iniciado. Falta simulá-lo.',
  simulated: 'O serviço simulou o saque. Falta incluir a proposta.',
  included: 'A proposta está no serviço. Faltam as assinaturas e a finalização.',
  finalised: 'A proposta está finalizada. O passo proposal consulta se o serviço já pagou.',
  'awaiting-answer': 'A consulta foi enviada. A resposta do serviço ainda não chegou.',
  answered: 'O serviço respondeu. O comando results mostra o quê.',
  unclaimed: 'O serviço informou isto sob um código que nenhum fluxo conhece.',
  closed: 'Alguém verificou e o encerrou: não é de nenhum fluxo.',
  claimed: 'Foi entregue ao fluxo a que pertence.',
  ofWithdrawal: {
    signed: 'Há assinaturas registradas no serviço. Quando todos tiverem assinado, falta finalizar a proposta.',
  },
  ofLookup: {
    preparing: 'A consulta espera para ser enviada.',
    refused: 'O serviço recusou a consulta. Quem ainda precisa dela inicia outra.',
  },
};

/** Operations of the service that are no step go by their own names. */
const stepsPt: Readonly<Record<string, string>> = {
  payments: 'para onde vai o dinheiro',
  contract: 'gerar o contrato',
  endorsement: 'averbar',
  renegotiation: 'gerar a renegociação',
  amend: 'corrigir',
  sign: 'entregar a assinatura',
  cancel: 'cancelar',
  confirm: 'dizer que foi feito',
  deny: 'dizer que não foi feito',
  regenerate: 'gerar de novo',
  accept: 'aceitar a CCB como veio',
  simulation: 'simular',
  inclusion: 'incluir a proposta',
  proposal: 'consultar a proposta',
  installments: 'consultar as parcelas',
  splits: 'registrar repasses',
  signers: 'registrar quem assinou',
  finalisation: 'finalizar',
  'account-update': 'trocar a conta de pagamento',
  links: 'consultar os vínculos',
};

/** As it is typed, and what it does. */
export function stepPt(step: string): string {
  return Object.hasOwn(stepsPt, step) ? `${step} (${stepsPt[step]})` : step;
}

export function stepsListPt(steps: string): string {
  return steps.split(', ').map(stepPt).join(', ');
}

/** A phase as people read it; what is none stays as it is. */
export function phasePt(phase: string): string {
  if (phase === 'received for endorsement') return '“recebido para averbação”';
  return Object.hasOwn(phasesPt, phase) ? `“${phasesPt[phase as keyof typeof phasesPt]}”` : phase;
}
