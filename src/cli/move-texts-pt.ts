/** What is said when a desk moves house, in Brazilian Portuguese; the shape is the catalogue's. */

export const movePt = {
  exporting: 'exportação',
  checking: 'conferência',
  importing: 'importação',
  exported: (file: string, count: string, hash: string, when: string) =>
    `A mesa está em ${file}: ${count} registros, exportada em ${when}, hash ${hash}.\nO lugar de onde saiu ficou marcado como mudado; lance run se recusa a partir ali.\nA seguir: lance import ${file} --hash ${hash} onde ela vai morar, lance run ali e lance resume.\nSe ficar mesmo aqui: lance export --undo.`,
  imported: (
    count: string,
    from: string,
    to: string,
    { when, hash, isCompared }: { when: string; hash: string; isCompared: boolean },
  ) =>
    `${count} registros trazidos de ${from} para ${to}. O arquivo foi exportado em ${when} e tem o hash ${hash}. A mesa continua em pausa.\n${isCompared ? '' : 'Antes de lance resume, compare a data e o hash com os que o último lance export mostrou: um arquivo mais antigo da mesma mesa também é aceito.\n'}A seguir: lance run, que refaz as visões a partir do registro, e lance resume.`,
  undone: (file: string) =>
    `A mesa volta a morar aqui. ${file} não pode ser importado em lugar nenhum; apague o arquivo.`,
  unreadableGone: 'A marca que não podia ser lida saiu: a mesa mora aqui. Ela não pode rodar em nenhum outro lugar.',
  notMoved: 'A mesa nunca saiu daqui: não há o que desfazer.',
  movedAlready: (file: string) =>
    `A mesa foi mudada para ${file}, ou está sendo; lance export --undo desfaz a mudança.`,
  halfArrived: (file: string) =>
    `Uma importação de ${file} para este lugar não terminou: a parte que está aqui não serve. Importe o arquivo de novo; se isso for recusado, esvazie o lugar ou importe para outro.`,
  notPaused: 'A mesa não está em pausa. Ponha em pausa (lance pause), pare todos os processos e depois exporte.',
  living: (names: string) =>
    `Há um processo rodando neste lugar (${names}). Pare antes todo lance run, também os que só recebem webhooks.`,
  behind: (count: number) =>
    `As visões estão ${count} registros atrás do registro. Rode lance run uma vez, em pausa, espere /readyz só falar da pausa e pare.`,
  claimOpen: (id: string) =>
    `O lance da solicitação ${id} pode ter sido enviado e não tem resposta. Rode lance run uma vez, em pausa, até passar o prazo: ele o encerra como sem resposta.`,
  unknownOpen: (id: string, seconds: number) =>
    `Não se sabe se o lance da solicitação ${id} chegou, e ele ainda pode chegar por ${seconds} s. Tente de novo depois.`,
  frozen: (command: string, id: string) =>
    `Um registro de ${id} não pode ser lido, e seus bytes não vão com a mesa. Rode lance run uma vez, em pausa, resolva o caso (lance ${command} retry ${id} ou lance ${command} cancel ${id}, com --by e --reason) e exporte de novo.`,
  changed: (topic: string) =>
    `Algo foi gravado em ${topic} nesse meio tempo: há um processo rodando neste lugar. Nada foi mudado.`,
  nothing: 'Não há mesa aqui: nenhum registro.',
  fileThere: (file: string) => `${file} já existe. Dê o nome de um arquivo que não exista.`,
  unwritable: (file: string, why: string) => `${file} não pode ser gravado: ${why}. Nada foi mudado.`,
  unreadable: (file: string, why: string) => `${file} não pode ser importado: ${why}.`,
  otherHash: (file: string, hash: string, when: string) =>
    `${file} tem outro hash: ${hash}, exportado em ${when}. Use o arquivo cujo hash o último lance export mostrou.`,
  unsigned: (file: string) =>
    `${file} não está assinado, e ninguém sabe dizer se é o que a exportação escreveu. Toda exportação assina com LANCE_PSEUDONYM_KEY: exporte de novo com ela. Só um arquivo de uma versão anterior não tem assinatura; aceite um desses com --unsigned.`,
  unchecked: (file: string) =>
    `${file} está assinado com a chave da mesa. Ponha-a em LANCE_PSEUDONYM_KEY e importe de novo.`,
  full: {
    embedded: (what: string) =>
      `O lugar não está vazio (${what}). Importe para um lugar vazio: ponha em LANCE_DATA_DIR um diretório novo.`,
    kafka: (what: string) =>
      `O lugar não está vazio (${what}). Importe para um lugar vazio: dê nomes novos a kafka.topicPrefix, kafka.groupId e redis.keyPrefix.`,
  },
  brokenOff: {
    embedded: (file: string, at: string) =>
      `Uma importação de ${file} para este lugar, começada em ${at}, ainda está em curso ou foi interrompida, e a parte que está aqui não serve. Importe para um lugar vazio: ponha em LANCE_DATA_DIR um diretório novo.`,
    kafka: (file: string, at: string) =>
      `Uma importação de ${file} para este lugar, começada em ${at}, ainda está em curso ou foi interrompida, e a parte que está aqui não serve. Se foi interrompida, importe para um lugar vazio: dê nomes novos a kafka.topicPrefix, kafka.groupId e redis.keyPrefix. Nenhuma mesa começa na parte que está aqui.`,
  },
  missing: (topic: string, arrived: number, wanted: number) =>
    `${topic} tem ${arrived} registros depois da importação, o arquivo tem ${wanted}.`,
};
