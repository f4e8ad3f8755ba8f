/** What is said of loans after their release, in Brazilian Portuguese; the shape is the catalogue's. */

export const performancePt = {
  help: {
    performance: 'como foram os empréstimos liberados',
    import: 'põe perdas reais ao lado das esperadas, por safra, segmento e distância ao lance seguinte',
    csv: 'CSV: número da solicitação, mês (2026-11), situação (current, late, default, not-started, settled), reais recuperados até então depois do fim (pode faltar)',
    economics: 'o que os próprios empréstimos dizem do valor dos próximos',
    propose:
      'escreve regras com testes a partir de um CSV como o de `performance import`; nada decidem até alguém as pôr nas regras',
    to: 'pasta em que escrever, fora das regras',
  },
  progress: 'empréstimos',
  badCell: (file: string, line: number, column: number, text: string) =>
    `${file}, linha ${line}, coluna ${column}: ${text}`,
  unknown: 'a mesa não conhece esta solicitação; escreva o número de uma em que deu lance',
  noBid: 'a mesa não deu lance nesta solicitação; tire a linha',
  noLoan: 'Nenhuma linha traz um empréstimo desta mesa.',
  noRival: 'sem rival',
  hundredths: 'centésimos de porcento',
  vintage: 'safra',
  gap: 'distância ao lance seguinte',
  segment: 'segmento',
  columns: ['empréstimos', 'liberado', 'findos, esperados', 'findos', 'perda esperada', 'perda', 'perda / esperada'],
  estimates: ['empréstimos', 'vínculos findos ao mês', 'perda no fim', 'quitados antes ao mês', 'nunca começados'],
  about:
    'Esperado: pela economia de cada decisão até o último mês conhecido do empréstimo, com o que diz o fato de vencer. Real: o que estava em aberto quando o empréstimo findou, menos o que voltou; onde o arquivo não diz, à parte perdida que a decisão supunha. Estimativas: média (intervalo de 90 %), puxada à carteira inteira onde há poucos empréstimos, e ao que as decisões supunham onde a carteira tem poucos; perdas de empréstimos sem garantia cuja recuperação consta.',
  ruleName: (segment: string) => `Carteira própria: ${segment}`,
  ruleDescription: (loans: string, months: string, caution: string) =>
    `Estimado de ${loans} empréstimos da própria carteira em ${months} meses, puxado à carteira inteira${caution === '0' ? '' : `; acrescido de ${caution} desvios-padrão pelo que não se sabe`}.`,
  insideRules: (folder: string) => `${folder} faz parte das regras que a mesa segue; escreva outra pasta.`,
  withheld: (lines: number) => `Nada foi escrito: ${lines} linhas não se leem. Corrija-as ou tire-as.`,
  tooFew: 'Nada foi escrito: nenhuma linha traz um empréstimo desta mesa.',
  proposed: (paths: string, rules: number) => `${rules} regras com seus testes: ${paths}. A mesa não as segue.`,
  changesTests: (count: number) =>
    `Mudam o que ${count} testes das regras esperam; esses precisam de nova expectativa:`,
  next: 'Para usá-las: copie os dois arquivos para uma cópia das regras, `lance rules check`, `lance rules impact`, depois para as regras.',
};
