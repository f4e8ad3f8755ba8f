/** What the commands of dead letters say, in Brazilian Portuguese. */
import type { Replay } from '../http/letters.ts';
import type { LettersFrom } from './letters.ts';

export const lettersPt = {
  help: {
    letters: 'webhooks que ninguém entendeu: quais foram, e como relê-los',
    list: 'mostra quando cada um chegou, por que não foi entendido e, com a chave de pseudônimos, suas chaves; nunca valores',
    replay:
      'relê mensagens mortas depois de corrigido o mapeamento; cada uma conta desde que chegou; termina com 65 se nenhuma foi entendida',
    partition: 'partição do log; todas se não for dada',
    from: 'primeira posição no log',
    count: 'quantas no máximo',
    all: 'também as encerradas sem leitura',
    dismiss: 'encerra uma mensagem morta que ninguém precisa reler; fica guardada, com quem a encerrou e por quê',
    letter: 'partição e posição, como lance letters list as mostra: 0/12',
    letterForm: 'escreva partição e posição, como 0/12',
  },
  header: ['Partição', 'Posição', 'Chegou', 'Por quê', 'Onde', 'Entendida ou encerrada', 'Chaves', 'Fatos não lidos'],
  empty: 'Não há nenhuma.',
  hidden: (count: number) =>
    count === 1 ? '1 encerrada não é mostrada (--all).' : `${count} encerradas não são mostradas (--all).`,
  dismissedBy: (at: string, by: string, reason: string) => `encerrada ${at} (${by}: ${reason})`,
  dismissed: (letter: string) =>
    `Mensagem morta ${letter} encerrada: fica guardada e deixa de contar no doctor (lance letters list --all).`,
  closedBefore: (letter: string, how: 'replayed' | 'dismissed', at: string) =>
    `A mensagem morta ${letter} já ${how === 'replayed' ? 'foi relida e entendida' : 'foi encerrada'} em ${at}.`,
  unknown: (letter: string) => `Não há mensagem morta em ${letter}: veja lance letters list.`,
  more: (next: number, end: number) => `O log vai até ${end}: --from ${next}.`,
  morePartitions: ({ partition, from }: { partition: number; from: number }) =>
    `Há mais: --partition ${partition} --from ${from} e depois as partições seguintes.`,
  replayed: (
    { read, understood, stillNot }: Pick<Replay, 'read' | 'understood' | 'stillNot'>,
    rest: LettersFrom | null,
  ) =>
    read === 0
      ? '0 mensagens mortas foram relidas: nenhuma espera aqui.'
      : [
          read === 1 ? '1 mensagem morta foi relida.' : `${read} mensagens mortas foram relidas.`,
          ...(understood === 0
            ? []
            : understood === 1
              ? ['1 foi entendida agora: vale como um webhook da hora em que chegou.']
              : [`${understood} foram entendidas agora: valem como webhooks das horas em que chegaram.`]),
          ...(stillNot === 0
            ? []
            : [
                `${stillNot} ainda não ${stillNot === 1 ? 'foi entendida e continua morta' : 'foram entendidas e continuam mortas'}: lance letters list diz por quê. Corrija o mapeamento (lance mapping try AMOSTRA), reinicie a mesa e ${stillNot === 1 ? 'releia-a' : 'releia-as'}.`,
              ]),
          rest === null
            ? 'Não resta outra a reler.'
            : `Pode haver mais: lance letters replay --partition ${rest.partition} --from ${rest.from}.`,
        ].join('\n'),
  tooMany: (count: number, limit: number) => `--count ${count} é demais de uma vez: peça no máximo ${limit}.`,
};
