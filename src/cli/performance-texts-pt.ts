/** What is said of loans after their release, in Brazilian Portuguese; the shape is the catalogue's. */

export const performancePt = {
  help: {
    performance: 'como foram os empréstimos liberados',
    import: 'põe perdas reais ao lado das esperadas, por safra, segmento e distância ao lance seguinte',
    csv: 'CSV: número da solicitação, mês (2026-11), situação (current, late, default, not-started, settled)',
  },
  progress: 'empréstimos',
  unknown: 'a mesa não conhece esta solicitação; escreva o número de uma em que deu lance',
  noBid: 'a mesa não deu lance nesta solicitação; tire a linha',
  noLoan: 'Nenhuma linha traz um empréstimo desta mesa.',
  noRival: 'sem rival',
  hundredths: 'centésimos de porcento',
  vintage: 'safra',
  gap: 'distância ao lance seguinte',
  segment: 'segmento',
  columns: ['empréstimos', 'liberado', 'findos, esperados', 'findos', 'perda esperada', 'perda', 'perda / esperada'],
  about:
    'Esperado: pela economia de cada decisão até o último mês conhecido do empréstimo, com o que diz o fato de vencer. Real: o que estava em aberto quando o empréstimo findou, à parte perdida que a decisão supunha, pois a situação não diz quanto voltou.',
};
