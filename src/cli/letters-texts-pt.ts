/** What the commands of dead letters say, in Brazilian Portuguese. */
import type { Replay } from '../http/letters.ts';

export const lettersPt = {
  help: {
    letters: 'webhooks que ninguém entendeu: quais foram, e como relê-los',
    list: 'mostra quando cada um chegou e por que não foi entendido, não o que diz',
    replay: 'relê mensagens mortas depois de corrigido o mapeamento; cada uma conta desde que chegou',
    partition: 'partição do log',
    from: 'primeira posição no log',
    count: 'quantas no máximo',
  },
  header: ['Posição', 'Chegou', 'Por quê', 'Onde'],
  empty: 'Não há nenhuma.',
  more: (next: number, end: number) => `O log vai até ${end}: --from ${next}.`,
  replayed: ({ read, understood, stillNot, next }: Replay) =>
    `${read} relidas: ${understood} entendidas agora, ${stillNot} ainda não. Continue com --from ${next}.`,
  tooMany: (count: number, limit: number) => `--count ${count} é demais de uma vez: peça no máximo ${limit}.`,
};
