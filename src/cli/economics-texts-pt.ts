/** O que `lance economics show | approve` diz, in Brazilian Portuguese; the shape is the catalogue's. */

export const economicsPt = {
  help: {
    show: 'qual economia da configuração decide, qual espera duas pessoas, e o que ela muda',
    approve:
      'responde por uma economia da configuração que espera; com duas pessoas ela decide a partir de um reinício',
    hash: 'o começo do hash que economics show diz',
  },
  noneUsed: 'Nenhum processo disse ainda por qual economia decide.',
  used: (hash: string) => `Decide a economia ${hash} (as seções economics e pricing da configuração).`,
  needed: 'Duas pessoas têm de responder por outra (lance rules approval on --of economics).',
  notNeeded: 'Ninguém precisa aprovar outra: ela decide a partir do próximo início.',
  waits: (hash: string, at: string, people: string) =>
    `${hash}, na configuração de um processo desde ${at}, espera duas pessoas${people === '' ? '' : ` (já: ${people})`}: lance economics approve ${hash}, cada uma com o seu token`,
  approved: (hash: string, people: string) =>
    `${hash} está aprovada (${people}): decide quando cada processo for reiniciado`,
  header: ['configuração', 'decide', 'espera'],
  done: (hash: string) => `A economia ${hash} está aprovada: decide quando cada processo for reiniciado com ela.`,
  oneMore: (hash: string) => `Registrado; falta outra pessoa aprovar ${hash}, com o seu token.`,
  unknown: (word: string) =>
    `Nenhuma economia que espera começa com ${word}: veja lance economics show. Um processo com ela na configuração tem de ter começado uma vez.`,
  ambiguous: (word: string, count: number) => `${count} começam com ${word}: escreva mais.`,
  samePerson: (people: string) => `${people} já responde por ela: outra pessoa tem de aprovar, com o seu token.`,
};
