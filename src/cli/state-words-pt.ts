/** States of requests in Portuguese. */

export const statesPt = {
  'early-ended': 'encerrado antes de chegar',
  requested: 'a decidir',
  claimed: 'lance a caminho',
  passed: 'sem lance',
  accepted: 'lance aceito',
  'accepted-presumed': 'aceito, presumido',
  'accepted-outside': 'aceito fora do leilão',
  rejected: 'recusado pelo serviço',
  'foreign-bid': 'lance alheio em nosso nome',
  unknown: 'sem resposta',
  won: 'ganho',
  lost: 'perdido',
  ambiguous: 'posição ambígua',
  'not-landed': 'não chegou',
  'result-missing': 'sem resultado',
  contemplated: 'ganho, contemplado',
  proposed: 'ganho, proposta',
  'winner-failed': 'ganho, mas falhou',
  cancelled: 'cancelado',
  expired: 'vencido',
} as const;

/** A state as people read it; what is none stays as it is. */
export function statePt(state: string): string {
  return Object.hasOwn(statesPt, state) ? `“${statesPt[state as keyof typeof statesPt]}”` : state;
}
