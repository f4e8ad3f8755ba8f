/** Why no bids flow and what an operator does about each cause, in Brazilian Portuguese. */

export const biddingPt = {
  causes: {
    stopping: 'o processo está parando',
    'clock-step': 'o relógio desta máquina deu um salto',
    'clock-skew': 'o relógio desta máquina e o do serviço não concordam',
    'log-changed': 'o registro não é o que foi gravado',
    'control-stale': 'os controles não podem ser lidos',
    paused: 'em pausa',
    'rule-set-missing': 'não há conjunto de regras a seguir',
    'views-incomplete': 'o uso dos tetos está incompleto',
    'partitions-not-live': 'nenhuma partição está em dia',
    'log-refused': 'o registro não aceita gravações',
    'service-unauthorised': 'o serviço recusa o token',
    'service-unreachable': 'o serviço não responde',
    'service-throttled': 'o serviço responde 429',
    restored: 'depois de uma restauração, o que chega antes de certa hora não recebe lance',
  },
  remedies: {
    stopping: 'o processo está para terminar',
    'clock-step':
      'acerte o relógio desta máquina por um servidor de tempo (chronyc tracking, timedatectl); os lances voltam sozinhos quando a hora do serviço concordar',
    'clock-skew':
      'compare o relógio desta máquina com um servidor de tempo (chronyc tracking, timedatectl); se ele está certo, o errado é o do serviço: pergunte ao serviço',
    'log-changed':
      'alguém mudou o registro, ou o disco o fez: veja com lance audit verify e ponha de volta uma cópia de antes; lance resume --by NOME --reason TEXTO volta a dar lances pelo que está lá, até a próxima partida',
    'control-stale':
      'veja o servidor que o motivo cita, ou o disco do diretório de dados; a mesa reabre sozinha quando puderem ser lidos a tempo',
    paused: 'lance resume --by NOME --reason TEXTO volta a dar lances',
    'rule-set-missing':
      'veja rules em /readyz?verbose; um primeiro conjunto que aguarda aprovação começa quando duas pessoas, cada uma com o seu token, executam lance rules approve HASH; se antes se seguia outro conjunto, lance rules rollback --by NOME volta a ele',
    'views-incomplete': 'o uso dos tetos está sendo recontado; termina sozinho',
    'partitions-not-live': 'pôr em dia termina sozinho; uma partição fechada diz qual é o registro',
    'log-refused': 'libere espaço no disco, ou ponha de volta os arquivos que o motivo nomeia',
    'service-unauthorised':
      'ponha um LANCE_ACCESS_TOKEN novo e reinicie; onde o token vem de LANCE_TOKEN_COMMAND, conserte esse programa; se o serviço voltar a aceitar este, a mesa reabre sozinha',
    'service-unreachable':
      'veja a página de estado dele e a rede daqui até LANCE_BASE_URL; a mesa pergunta a ele a cada 10 s e reabre sozinha quando ele responder',
    'service-throttled':
      'a mesa já envia menos de cada vez (limite agora) e reabre sozinha com a primeira resposta que não seja 429, ou 60 s depois da última; peça ao serviço que aceite mais; bidding.sendLimit (arquivo de LANCE_CONFIG, vale ao reiniciar) só ajuda abaixo de 4',
    restored:
      'não se sabe que solicitações receberam lance na parte perdida do registro; por isso nada do que chega antes dessa hora recebe lance; termina sozinho',
  },
  /** In the place of those of `service-unreachable` where somebody answers. */
  answersOtherwise: {
    cause: 'o serviço responde, mas não como diz o contrato',
    remedy:
      'o detalhe diz o que veio (um status, um redirecionamento, uma página, um sucesso ilegível): veja a página de estado dele, o que há entre aqui e ele, como um proxy, e o caminho em LANCE_BASE_URL; a mesa volta a perguntar a ele e reabre sozinha quando ele responder aos lances como deve',
  },
  /** In the place of that of `log-changed` where records were taken away: no resumption and no restart brings them back. */
  recordsGoneRemedy:
    'a próxima partida é recusada (65): pare a mesa, veja com lance audit verify o que falta e devolva os registros ou uma cópia mais nova do diretório; se não houver, lance audit accept-restore --by NOME --reason TEXTO aceita o que há, e põe em pausa; depois inicie-a',
  /** In the place of that of `log-refused` where the log is on brokers. */
  brokersRemedy: 'veja os brokers e o schema registry',
  /** In the place of those of `log-refused` where the settings of a topic were altered. */
  topicsUnsafe: {
    cause: 'registros gravados poderiam se perder: alguém mudou a configuração de um tópico',
    remedy:
      'ponha cada tópico como o detalhe diz; a mesa olha a cada 15 s e reabre sozinha quando todos estiverem seguros',
  },
};
