/** What `lance review` says in Portuguese. */
export const reviewPt = {
  help: {
    review: 'solicitações que esperam uma pessoa antes do lance, porque regras pedem',
    list: 'as que esperam agora, as mais recentes primeiro',
    decide: 'a resposta para uma delas; vale a primeira resposta',
    queue: 'só as desta fila',
    bid: 'decide-se de novo, e há lance se regras, limites e tetos ainda permitirem',
    pass: 'não há lance',
  },
  oneOfTwo: 'Escreva --bid ou --pass.',
  queueForm:
    'Uma fila se escreve com letras de a a z sem acento, dígitos e hifens, começando por uma letra, com no máximo 40 caracteres, como large-amounts.',
  header: ['solicitação', 'fila', 'até', 'senão', 'valor', 'parcelas', 'regras'],
  empty: 'Nenhuma solicitação espera revisão.',
  decisions: { bid: 'lance', pass: 'sem lance' },
  done: {
    bid: (id: string) => `Respondida. A solicitação ${id} é decidida de novo: lance bids show ${id}`,
    pass: (id: string) => `Respondida. A solicitação ${id} não recebe lance.`,
  },
  stored: (id: string) =>
    `Gravado. Nenhuma mesa está em execução; a próxima que iniciar decide a solicitação ${id} com a primeira resposta gravada a tempo, que pode ser uma anterior.`,
  late: (id: string) =>
    `A resposta da solicitação ${id} está gravada, e a mesa não a leu a tempo: veja lance bids show ${id}.`,
  notWaiting: (id: string, state: string) => `A solicitação ${id} não espera revisão: ${state}.`,
  answered: (id: string, by: string, decision: string) =>
    `A revisão da solicitação ${id} foi respondida por ${by}: ${decision}. Vale a primeira resposta.`,
  over: (id: string, until: string, decision: string) =>
    `O tempo para responder pela solicitação ${id} terminou em ${until}; sem resposta a tempo vale: ${decision}.`,
  overtaken: (id: string, state: string) =>
    `Outro registro veio antes: a solicitação ${id} está ${state}, e a resposta não mudou nada.`,
  title: 'Revisão por uma pessoa',
  asked: 'pedida em',
  rules: 'regras',
  until: 'resposta até',
  otherwise: 'sem resposta',
  answer: 'resposta',
  said: (decision: string, by: string, reason: string) => `${decision}, por ${by}: ${reason}`,
  waits: 'ninguém respondeu ainda',
  unanswered: (decision: string) => `ninguém respondeu a tempo, portanto: ${decision}`,
  noTime: (decision: string) => `não restava tempo para perguntar, portanto: ${decision}`,
  historyAsked: (queue: string, until: string, decision: string) => `${queue}, até ${until}; senão ${decision}`,
};
