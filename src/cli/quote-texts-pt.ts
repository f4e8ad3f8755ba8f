/** What `loan quote` says, in Portuguese. */

export const quotePt = {
  loan: 'contas de empréstimo',
  about: 'simula um empréstimo: parcela, IOF, CET e cada linha do cronograma',
  options: {
    released: 'valor liberado ao trabalhador, em reais; dele sai a parcela',
    installment: 'valor da parcela, em reais; dela sai o valor liberado',
    rate: 'taxa de juros, em % ao mês',
    date: 'dia da liberação, AAAA-MM-DD; hoje, se não for dito',
    due: 'vencimentos, AAAA-MM-DD, separados por vírgulas',
    installments: 'em vez de --due: quantas parcelas, nas datas do calendário da folha',
    dayCount:
      'contagem de dias: actual365 (dias corridos, ano de 365), 30/360 (períodos iguais), calendar30 (dias corridos, mês de 30)',
    financedIof: 'financia o IOF (gross-up); sem isto, o IOF é descontado do valor liberado',
    noIof: 'operação isenta de IOF',
    insurance: 'prêmio de seguro financiado, em reais',
  },
  conventions: `
Convenções:
  Parcelas iguais (Price), arredondadas ao centavo, meio para cima. A última quita o saldo; o resto dela são juros.
  actual365: P / soma de (1+ia)^(-dias/365), com ia = (1+i)^12 - 1 arredondada a 6 casas. calendar30: (1+i)^(-dias/30).
  30/360: i / (1 - (1+i)^-n), um período por parcela, quaisquer que sejam as datas. Os dias são os corridos desde a liberação.
  Juros da linha: saldo arredondado x crescimento desde o vencimento anterior, ao centavo, meio para cima.
  IOF (Decreto 6.306, art. 7): por linha, amortização x 0,0082 % x dias (até 365), arredondado; e 0,38 % do principal, arredondado
  uma vez: as linhas o repartem, a última leva o resto. Com pricing.rounding by-row, 0,38 % é arredondado em cada linha, e a última
  parcela leva a diferença dos arredondamentos. A linha cujos juros superam a parcela nada amortiza e não tem IOF; o que a
  amortização dela tira do IOF é descontado das linhas seguintes.
  Financiado (--financed-iof): principal = liberado + seguro + IOF do principal. Se nenhum principal inteiro fecha, vale o seguinte,
  e os centavos que sobram entram no IOF da última linha. Sem a opção: principal = liberado + seguro.
  CET: taxa interna entre o que o trabalhador recebe (liberado, menos o IOF não financiado) e as parcelas, ano de 365 dias,
  em % com 2 casas, meio para o par (NBR 5891); ao mês, (1+CET)^(1/12) - 1.
  Calendário da folha: averbado até o dia 20, desconto no mês seguinte; o dinheiro chega no dia do credor do mês depois desse,
  ou no próximo dia útil bancário (pricing.payrollCalendar). Com --json: centavos e centésimos de % inteiros.`,
  amountRemedy: 'escreva reais, maior que zero, como 10000 ou 10000,00',
  costRemedy: 'escreva reais, como 0 ou 45,90',
  rateRemedy: 'escreva % ao mês, de 0 a 999, com até 6 casas, como 1,80',
  dateRemedy: 'escreva um dia que existe, como 2026-02-22',
  dueRemedy: 'escreva de 1 a 480 dias que existem, em ordem, como 2026-03-22,2026-04-22',
  countRemedy: 'escreva um número inteiro de 1 a 480',
  oneAmount: 'Falta o valor: escreva --released ou --installment, em reais.',
  oneTerm: 'Faltam os vencimentos: escreva --due com as datas ou --installments com quantas parcelas.',
  dueBefore: (due: string, released: string) =>
    `--due: ${due} não é depois da liberação em ${released}; escreva uma data posterior ou mude --date.`,
  nothingLeft: 'O IOF e o seguro consomem o valor todo: aumente --released ou --installment.',
  outgrown:
    'A esta taxa e neste prazo, o arredondamento da parcela supera o empréstimo: use menos parcelas ou uma taxa menor.',
  title: (rate: string, date: string) => `Empréstimo a ${rate}, liberado em ${date}`,
  released: 'valor liberado',
  disbursed: 'recebe o trabalhador',
  insurance: 'seguro',
  iof: 'IOF',
  iofParts: (daily: string, additional: string) => `diário ${daily}, adicional ${additional}`,
  iofFinanced: 'financiado',
  iofKept: 'descontado do valor liberado',
  financed: 'valor financiado',
  installment: 'parcela',
  last: (count: number, money: string) => `${count} vezes, a última de ${money}`,
  interest: 'juros',
  total: 'total a pagar',
  cet: 'CET',
  dayCount: 'contagem de dias',
  header: ['nº', 'vencimento', 'dias', 'parcela', 'juros', 'amortização', 'saldo', 'IOF diário', 'IOF adicional'],
};
