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

/** Operations of the service that are no step go by their own names. */
const stepsPt: Readonly<Record<string, string>> = {
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
  return Object.hasOwn(phasesPt, phase) ? `“${phasesPt[phase as keyof typeof phasesPt]}”` : phase;
}
