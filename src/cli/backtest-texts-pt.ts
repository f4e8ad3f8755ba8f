/** What `backtest` says, on the terminal and on its page, in Brazilian Portuguese; the shape is the catalogue's. */

export const backtestPt = {
  about: 'refaz leilões gravados, ou o registro da mesa, na ordem em que ocorreram, e mostra o que a mesa teria ganho',
  options: {
    log: 'em vez de um arquivo: os leilões encerrados desta mesa, só as taxas dos concorrentes',
    html: 'grava também uma página HTML completa neste arquivo',
    segment: 'segmento cuja curva se mostra, tal como a página os nomeia; all para o mercado todo',
    breakEven: 'faixa das taxas de equilíbrio, de onde é fácil ganhar (low) a onde é caro (high)',
    fileOrLog: 'escreva o nome do arquivo, ou --log sem arquivo',
  },
  progress: 'refazendo',
  readingLog: 'lendo o registro',
  unknownSegment: (segment: string, known: string) =>
    `Não há segmento ${segment} nestes leilões; os mais frequentes são:\n${known}`,
  logTooShort: (count: number, least: number) =>
    `O registro tem ${count} leilões encerrados; são necessários ao menos ${least}.`,
  logName: 'registro da mesa',
  policies: {
    desk: 'a mesa',
    market: 'a mesa, sem segmentos',
    'all/plain': 'tudo, sem alisar',
    'all/narrow': 'tudo, alisado',
    'all/wide': 'tudo, bem alisado',
    'middle/plain': 'médio prazo, sem alisar',
    'middle/narrow': 'médio prazo, alisado',
    'middle/wide': 'médio prazo, bem alisado',
    'recent/plain': 'recente, sem alisar',
    'recent/narrow': 'recente, alisado',
    'recent/wide': 'recente, bem alisado',
    histogram: 'histograma simples',
    'fixed-markup': 'melhor margem fixa',
    clairvoyant: 'clarividente',
  },
  fixedMarkup: (points: string) => `melhor margem fixa (+${points})`,
  wholeMarket: 'mercado todo',
  breakEvens: { low: 'baixa', mid: 'média', high: 'alta' },
  header: ['política', 'excedente', 'do clarividente', 'peso no fim'],
  segmentHeader: ['segmento', 'do clarividente', 'peso no fim'],
  scoreHeader: ['previsão', 'Brier', 'perda logarítmica', 'desvio médio'],
  binHeader: [
    'previsto',
    'mesa: previsto',
    'mesa: ocorrido',
    'mesa: lances',
    'histograma: ocorrido',
    'histograma: lances',
  ],
  constant: 'sempre a média',
  title: (source: string) => `Lance: leilões refeitos, ${source}`,
  lead: (figures: {
    auctions: string;
    scored: string;
    dimensions: string;
    breakEven: string;
    low: string;
    high: string;
  }) =>
    `${figures.auctions} leilões na ordem em que ocorreram; ${figures.scored} deles decididos e pontuados, cada um com 41 taxas de equilíbrio de ${figures.low} a ${figures.high} (faixa ${figures.breakEven}). Um lance vencedor à taxa r ganha r menos o equilíbrio; um empate vale metade. Os resultados de todos voltam à mesa de 20 em 20. Segmentos por: ${figures.dimensions}.`,
  noDimensions: 'nada (um só mercado)',
  tiles: {
    desk: ['A mesa ganha', 'do que ganha quem conhece a distribuição'],
    histogram: ['Histograma simples', 'da mesma medida'],
    fixedMarkup: ['Melhor margem fixa', 'escolhida depois de visto tudo'],
    brier: ['Brier das previsões', 'do histograma nos mesmos lances'],
    noRivals: ['Sem concorrente', 'dos leilões'],
  },
  sections: {
    surplus: {
      title: 'Excedente ao longo do tempo',
      text: 'O clarividente conhece desde o início a distribuição de todas as melhores taxas, mas não os segmentos nem as mudanças: a mesa pode passar dele. Cada leitura sozinha oferta pelo mercado todo; a mesa as mistura, com segmentos, pelo que cada uma teria ganho.',
      share: 'A mesma parte, com a margem fixa',
      close: 'Parte do excedente do clarividente, acumulada',
      absolute: 'Excedente acumulado, pontos percentuais',
      gap: 'Ganho sobre o clarividente, pontos percentuais',
      table: 'Políticas',
    },
    choice: {
      title: 'Curva de vitória e valor esperado',
      text: (figures: {
        segment: string;
        auctions: string;
        breakEven: string;
        rate: string;
        win: string;
        expected: string;
      }) =>
        `Uma decisão no fim dos leilões: segmento ${figures.segment} (${figures.auctions} leilões), equilíbrio de ${figures.breakEven} para a mesa, que escolhe ${figures.rate}, ganha com probabilidade ${figures.win} e espera ${figures.expected} por leilão. J(r) = (r − equilíbrio) · w(r), sem aceitação nem custos, que dependem do pedido.`,
      win: 'Probabilidade de vitória w(r)',
      value: 'Valor esperado J(r), pontos percentuais',
      hindsight: 'ocorrido no segmento',
      chosen: (rate: string) => `escolhida ${rate}`,
      breakEven: (rate: string) => `equilíbrio ${rate}`,
      best: (rate: string) => `melhor, visto depois ${rate}`,
    },
    calibration: {
      title: 'As previsões merecem fé?',
      text: 'Para cada lance da mesa, a probabilidade de vitória prevista contra o que ocorreu, em dez faixas (as de menos de 30 lances, só na tabela). Na diagonal, a previsão é justa. O histograma simples é medido nos mesmos lances. Quanto menores o Brier, a perda logarítmica e o desvio médio, melhor.',
      reliability: 'Previsto e ocorrido',
      counts: 'Lances por faixa',
      fair: 'justo',
      scores: 'Pontuação',
      bins: 'Por faixa',
    },
    weights: {
      title: 'O que pesa na mistura',
      text: 'Pesos das leituras (janela e alisamento) e dos segmentos ao longo do tempo. Um segmento se paga quando sua parte passa a do mercado todo; a parte de cada um é a que teria sozinho, nas taxas de equilíbrio em que a mesa experimenta políticas.',
      readings: 'Peso das leituras',
      segments: 'Peso dos segmentos, média entre marcas',
      table: 'Segmentos',
    },
  },
  axes: {
    auctions: 'leilões',
    share: 'do clarividente',
    points: 'p.p. somados',
    rate: 'taxa, % a.m.',
    probability: 'probabilidade',
    predicted: 'probabilidade prevista',
    observed: 'ocorrido',
    value: 'p.p. por leilão',
    count: 'lances',
    weight: 'peso',
  },
};
