/** What the commands of dead letters say, in Brazilian Portuguese. */
import type { Replay } from '../http/letters.ts';

export const lettersPt = {
  help: {
    letters: 'webhooks que ninguém entendeu: quais foram, e como relê-los',
    list: 'mostra quando cada um chegou, por que não foi entendido e, com a chave de pseudônimos, suas chaves; nunca valores',
    replay: 'relê mensagens mortas depois de corrigido o mapeamento; cada uma conta desde que chegou',
    partition: 'partição do log; todas se não for dada',
    from: 'primeira posição no log',
    count: 'quantas no máximo',
  },
  header: ['Partição', 'Posição', 'Chegou', 'Por quê', 'Onde', 'Entendida depois', 'Chaves', 'Fatos não lidos'],
  empty: 'Não há nenhuma.',
  more: (next: number, end: number) => `O log vai até ${end}: --from ${next}.`,
  morePartitions: ({ partition, from }: { partition: number; from: number }) =>
    `Há mais: --partition ${partition} --from ${from} e depois as partições seguintes.`,
  replayed: ({ read, understood, stillNot, next, more }: Replay, isOver: boolean) =>
    `${read} relidas: ${understood} entendidas agora, ${stillNot} ainda não. ${isOver ? 'Não há mais nada a reler.' : `Continue com ${more === undefined ? '' : `--partition ${more.partition} `}--from ${next}.`}`,
  tooMany: (count: number, limit: number) => `--count ${count} é demais de uma vez: peça no máximo ${limit}.`,
};
