/** What the doctor says, in Brazilian Portuguese: each finding, and its remedy where it has one. */

import type { ClosedCause } from '../bidding/bidding-status.ts';
import { causeText, remedyOf } from './bidding-remedy.ts';
import { biddingPt } from './bidding-texts-pt.ts';
import { faultPt } from './fault-texts-pt.ts';
import { counted } from './plural.ts';
import { statusPt, takenAwayPt } from './status-texts-pt.ts';
import type { DoctorFigures } from './texts.ts';

type Figure = string | number | undefined;

/** Who set a cap, when and why, as far as it is known. */
function capWord(by: Figure, since: Figure, text: Figure): string {
  const why = text === undefined ? '' : ` (${text})`;
  return by === undefined ? '' : `; posto por ${by} em ${since}${why}`;
}

/** What the set in the folder would take from the one that decides; empty: nothing. */
function takenText({ caps, capNames, count, left, files }: DoctorFigures): string {
  if (count === undefined) return '';
  const named = (list: Figure) => (list === undefined ? [] : String(list).split(', '));
  const taken = { caps: Number(caps), capNames: named(capNames), rules: Number(count), left: Number(left) };
  return takenAwayPt({ ...taken, files: named(files) });
}

function heldBack(figures: DoctorFigures): string {
  const { hash, path, folder } = figures;
  return `o conjunto ${hash} continua decidindo; o de ${path}, ${folder}, tiraria ${takenText(figures)}`;
}

/** For a set in the folder that is not held back, and does not decide. */
function alsoTaken(figures: DoctorFigures): string {
  const taken = takenText(figures);
  return taken === '' ? '' : `; ele tiraria ${taken}`;
}

function lastRecorded(lastAt: string | number | undefined): string {
  return lastAt === undefined ? 'nunca se registrou nada' : `o último registro é de ${lastAt}`;
}

export const doctorPt = {
  levels: { ok: 'bem', warn: 'atenção', fail: 'falha' },
  checks: {
    node: 'Node',
    configuration: 'configuração',
    'data-directory': 'diretório de dados',
    disk: 'disco',
    servers: 'servidores',
    daemon: 'processo',
    rules: 'regras',
    mapping: 'mapa de solicitações',
    outcomes: 'tabela de respostas',
    chain: 'cadeia do registro',
    views: 'visões',
    control: 'controles',
    caps: 'tetos',
    bidding: 'lances',
    key: 'chave de pseudônimos',
    'audit-key': 'chave das âncoras',
    'dead-letters': 'mensagens mortas',
    token: 'token do serviço',
    service: 'serviço',
    clock: 'relógio',
    afar: 'à distância',
  },
  remedy: 'remédio',
  healthy: 'Tudo em ordem.',
  ill: (fails: number, warns: number) =>
    `${counted('pt', 'falha', 'falhas')(fails)}, ${counted('pt', 'ponto de atenção', 'pontos de atenção')(warns)}.`,
  findings: {
    'node-fits': ({ version }: DoctorFigures) => [`versão ${version}`],
    'node-old': ({ version }: DoctorFigures) => [`versão ${version}`, 'use Node 24.12 ou mais novo; npm ci traz um'],
    'configuration-read': () => ['lida sem faltas'],
    'secrets-in-files': ({ text }: DoctorFigures) => [`segredos lidos de arquivos: ${text}`],
    'secret-file-wide': ({ name, path, text }: DoctorFigures) => [
      `${path} (${name}) tem o modo ${text}: outros desta máquina podem usá-lo`,
      `chmod 600 ${path}; onde uma montagem define o modo, veja quem tem conta na máquina`,
    ],
    'secrets-in-environment': ({ text }: DoctorFigures) => [
      `segredos no ambiente: ${text}; NOME_FILE lê cada um de um arquivo`,
    ],
    'configuration-refused': ({ text }: DoctorFigures) => [faultPt(String(text))],
    'directory-fits': ({ path }: DoctorFigures) => [String(path)],
    'directory-new': ({ path }: DoctorFigures) => [`${path} ainda não tem dados`, 'lance run o cria'],
    'files-removed': ({ path, count }: DoctorFigures) => [
      `lance.sqlite foi removido de ${path}, e o processo ${count} ainda o tem aberto: os lances estão fechados, e só esse processo ainda tem os dados`,
      `não o encerre nem aceite uma restauração antes de salvar /proc/${count}/fd: runbook LanceAlarm, store-files-lost`,
    ],
    'directory-without-desk': ({ path }: DoctorFigures) => [
      `${path} não tem dados, e mesmo assim uma mesa responde na porta desta configuração`,
      'LANCE_DATA_DIR está errado? Se não, os arquivos foram removidos com a mesa em uso: não a encerre antes de salvá-los (runbook LanceAlarm, store-files-lost)',
    ],
    'topics-new': ({ path }: DoctorFigures) => [`${path}: os tópicos ainda não existem`, 'lance run os cria'],
    'directory-unwritable': ({ path }: DoctorFigures) => [
      `${path} não é um diretório em que este usuário possa escrever`,
      'corrija LANCE_DATA_DIR ou as permissões',
    ],
    'store-newer': ({ text }: DoctorFigures) => [faultPt(String(text))],
    'store-unreadable': ({ text }: DoctorFigures) => [
      faultPt(String(text)),
      'veja se o arquivo foi mudado e volte a uma cópia',
    ],
    'store-unread': () => [
      'os dados não podem ser abertos enquanto o disco estiver cheio; nada indica que estejam danificados',
      'libere espaço antes e examine de novo; não volte uma cópia por causa disso',
    ],
    'server-reached': ({ name, host, durationMs }: DoctorFigures) => [
      `${name} em ${host} responde em ${durationMs} ms`,
    ],
    'server-silent': ({ name, host, text }: DoctorFigures) => [
      `${name} em ${host} não responde (${text})`,
      'inicie-o, ou corrija o endereço; nada se perde enquanto isso, e uma mesa em execução continua sozinha',
    ],
    'servers-unread': ({ text }: DoctorFigures) => [
      `o armazenamento não pôde ser lido: ${faultPt(String(text))}`,
      'verifique o servidor citado; nada se perde enquanto isso, e uma mesa em execução continua sozinha',
    ],
    'servers-refused': ({ text }: DoctorFigures) => [faultPt(String(text)), 'corrija o que é citado'],
    'daemon-live': ({ count }: DoctorFigures) => [
      count === 1
        ? 'rodando: 1 processo deu sinal nos últimos segundos'
        : `rodando: ${count} processos deram sinal nos últimos segundos`,
    ],
    'daemon-answers': ({ url, version }: DoctorFigures) => [`responde em ${url}, versão ${version}`],
    'daemon-unreachable': ({ url, text }: DoctorFigures) => [
      `ninguém responde em ${url} (${text})`,
      'veja LANCE_URL; se o processo roda lá e travou, veja o diário dele e reinicie-o',
    ],
    'daemon-refuses': ({ url, text }: DoctorFigures) => [
      `quem responde em ${url} nada diz da mesa (${text})`,
      'veja LANCE_URL e se LANCE_TOKEN ainda é um dos tokens dela: lance tokens list',
    ],
    'webhooks-refused': ({ text }: DoctorFigures) => [
      `webhooks são recusados: ${text}`,
      'veja o runbook LanceWebhooksRefused',
    ],
    'afar-refused': ({ text }: DoctorFigures) => [
      `não pôde ser perguntado: ${text}`,
      'use um token com um papel que possa ver isso',
    ],
    'afar-untried': () => [
      'não testados à distância: configuração, diretório ou servidores, disco, chaves, cadeia, mapeamento, token do serviço, relógio',
      'na máquina da mesa, sem LANCE_URL e LANCE_TOKEN: lance doctor',
    ],
    'daemon-none': ({ lastAt, kind }: DoctorFigures) => [
      `nenhuma mesa está rodando aqui (trava livre); ${lastRecorded(lastAt)}`,
      kind === 'refused'
        ? 'uma partida seria recusada agora: resolva antes as falhas abaixo'
        : 'se deveria estar rodando: lance run',
    ],
    'daemon-unseen': ({ lastAt, kind }: DoctorFigures) => [
      `nenhuma mesa está rodando aqui (nenhum processo dá sinal de vida); ${lastRecorded(lastAt)}`,
      kind === 'refused'
        ? 'uma partida seria recusada agora: resolva antes as falhas abaixo'
        : 'se alguma deveria estar rodando: lance run',
    ],
    'disk-full': ({ text }: DoctorFigures) => [
      faultPt(String(text)),
      'libere espaço; uma mesa em execução segue sozinha; uma que terminou deve ser iniciada de novo',
    ],
    'disk-free': ({ megabytes }: DoctorFigures) => [`${megabytes} MB livres`],
    'disk-low': ({ megabytes }: DoctorFigures) => [
      `só ${megabytes} MB livres: com o disco cheio, webhooks são recusados e não há lances`,
      'libere espaço no disco de LANCE_DATA_DIR',
    ],
    'disk-elsewhere': () => ['o registro está nos brokers: os discos deles não são vistos daqui'],
    'daemon-unwritten': () => [
      'um processo tem o diretório e não consegue gravar sinal de vida: o disco está cheio',
      'libere espaço; reiniciar não ajuda',
    ],
    'bidding-open': ({ since }: DoctorFigures) => [`abertos desde ${since}`],
    'bidding-partition-closed': ({ since, text }: DoctorFigures) => [
      `abertos desde ${since}, mas não para toda solicitação: nada de uma partição fechada recebe lance: ${faultPt(String(text))}`,
      'isso não termina sozinho: veja o runbook LanceAlarm, partition-closed',
    ],
    'bidding-refused': ({ since, count }: DoctorFigures) => [
      `abertos desde ${since}, mas os lances das últimas ${count} solicitações foram todos recusados em palavras desconhecidas, e nenhum foi aceito no meio`,
      'veja lance bids list --code unclassified e pergunte ao serviço se ele ainda aceita nossos lances; veja o runbook LanceBidsRefused',
    ],
    'bidding-links-refused': ({ since, count }: DoctorFigures) => [
      `abertos desde ${since}, mas as consultas dos últimos ${count} vínculos de emprego foram todas recusadas em palavras desconhecidas, e nenhuma foi respondida no meio`,
      'veja lance bids list --code link-refused e pergunte ao serviço se ele ainda aceita nossas consultas; veja o runbook LanceLinkQueriesRefused',
    ],
    'bidding-slow': ({ since, count, durationMs, windowMs }: DoctorFigures) => [
      `abertos desde ${since}, mas metade dos últimos ${count} lances esperou ${(Number(durationMs) / 1_000).toFixed(1).replace('.', ',')} s ou mais pela resposta, e um leilão dura ${Number(windowMs) / 1_000} s: por isso pode haver solicitações que ficam sem lance`,
      'pergunte ao serviço por que está lento; veja o runbook LanceServiceSlow',
    ],
    'bidding-source-fails': ({ since, name, code, count, of }: DoctorFigures) => [
      `abertos desde ${since}, mas a fonte ${name} não respondeu a ${count} das últimas ${of} perguntas, a última por ${code}: vale o que as regras dizem para isso`,
      'veja o endereço e o token dela em enrichment, e pergunte a quem a opera; veja o runbook LanceSourceFailing',
    ],
    'bidding-capped': ({ since, name, kind, used, limit, count, of, hours }: DoctorFigures) => [
      `abertos desde ${since}, mas um teto os segura: ${statusPt.capsFull({ name: String(name), byHand: kind === 'by-hand', used: used === undefined ? null : String(used), limit: limit === undefined ? null : String(limit) }, Number(count), Number(of))}`,
      statusPt.capRemedy({
        ...{ name: String(name), byHand: kind === 'by-hand' },
        windowHours: hours === undefined ? null : Number(hours),
      }),
    ],
    'bidding-closed': ({ cause, since, until, text, detail = text, count, of }: DoctorFigures) => [
      `fechados desde ${since}: ${causeText(biddingPt, cause as ClosedCause, text === undefined ? null : String(text))} (${cause})${count === undefined ? '' : `, limite agora ${count} de ${of} lances de cada vez`}${until === undefined ? '' : `, até ${until}`}${detail === undefined ? '' : `: ${detail}`}`,
      remedyOf(biddingPt, cause as ClosedCause, text === undefined ? null : String(text)),
    ],
    'bidding-token-taken': ({ since }: DoctorFigures) => [
      `fechada desde ${since}, porque o serviço recusou o token; agora ele aceita o que está dado aqui`,
      'se o processo tem este, ele o tenta de novo em até um minuto e abre sozinho; se tem outro, reinicie-o',
    ],
    'bidding-unasked': ({ url, text }: DoctorFigures) => [
      `há um processo, mas ninguém responde em ${url} (${text}): não se sabe se há lances`,
      'dê LANCE_URL se ele está em outro endereço; senão, veja /readyz?verbose e o diário dele',
    ],
    'daemon-unsigned': () => [
      'um processo tem o diretório e responde, mas há segundos não grava sinal de vida: o armazenamento não aceita nada',
      'veja no diário dele por quê, e o disco; libere o que ele nomeia e devolva arquivos que sumiram',
    ],
    'daemon-starting': () => [
      'um processo tem o diretório e responde, mas ainda não deu sinal de vida: está iniciando',
      'veja /readyz?verbose; rode o doctor de novo em um minuto',
    ],
    'daemon-lock-lost': ({ path, count }: DoctorFigures) => [
      `o processo ${count} roda aqui, mas ${path} foi retirado ou trocado com ele aberto: nada é gravado, não há lances, e os webhooks são recusados`,
      `devolva o mesmo arquivo, se só foi movido; senão pare o processo ${count} (SIGTERM) e inicie-o de novo`,
    ],
    'daemon-silent': () => [
      'o diretório está tomado, mas o processo não dá sinal',
      'veja o diário dele; reinicie se estiver parado',
    ],
    'rules-compiled': ({ count, hash, path }: DoctorFigures) => [`${count} regras em ${path}, conjunto ${hash}`],
    'rules-followed': ({ hash }: DoctorFigures) => [`o conjunto ${hash} decide, o mesmo da pasta`],
    'rules-other': ({ hash, folder }: DoctorFigures) => [
      `o conjunto ${hash} decide; o da pasta, ${folder}, não`,
      'veja lance rules history; lance rules activate passa a segui-lo; senão, acerte a pasta',
    ],
    'rules-kept': ({ hash, path }: DoctorFigures) => [
      `o conjunto ${hash} continua decidindo; ${path} foi recusado`,
      'corrija o arquivo nomeado',
    ],
    'rules-back': ({ hash, from, by, until, folder, ...figures }: DoctorFigures) => [
      `o conjunto ${hash} decide: ${by} voltou a ele a partir de ${from}, e mais ninguém conferiu${folder === undefined ? '' : `; a pasta tem ${folder}, que não decide${alsoTaken(figures)}`}`,
      `outra pessoa confere até ${until}: lance rules approve ${hash}, com um token seu; depois acerte a pasta, ou ative o que deve decidir com lance rules activate`,
    ],
    'rules-back-overdue': ({ hash, from, by, until, folder, ...figures }: DoctorFigures) => [
      `o conjunto ${hash} decide: ${by} voltou a ele a partir de ${from}, e o prazo para outra pessoa conferir venceu em ${until}${folder === undefined ? '' : `; a pasta tem ${folder}, que não decide${alsoTaken(figures)}`}`,
      `outra pessoa confere agora: lance rules approve ${hash}, com um token seu; depois acerte a pasta, ou ative o que deve decidir com lance rules activate`,
    ],
    'rules-back-seen': ({ hash, from, by, folder, ...figures }: DoctorFigures) => [
      `o conjunto ${hash} decide: ${by} voltou a ele a partir de ${from}${folder === undefined ? '' : `; a pasta tem ${folder}, que não decide${alsoTaken(figures)}`}`,
      'acerte a pasta e ative-a com lance rules activate: depois de uma volta ela não entra em vigor sozinha',
    ],
    'rules-gone-back-from': ({ hash, path, folder, by, ...figures }: DoctorFigures) => [
      `o conjunto ${hash} decide; o de ${path}, ${folder}, não: ${by} voltou dele para outro${alsoTaken(figures)}`,
      `corrija a pasta; se ele deve decidir de novo: lance rules activate ${folder} --by NOME --reason TEXTO`,
    ],
    'rules-left': ({ hash, path, folder, ...figures }: DoctorFigures) => [
      `o conjunto ${hash} decide; o de ${path}, ${folder}, não: outro foi escolhido depois dele${alsoTaken(figures)}`,
      `lance rules activate ${folder} --by NOME passa a segui-lo; senão, corrija a pasta; veja lance rules history`,
    ],
    'rules-unapproved': ({ hash, path, folder, ...figures }: DoctorFigures) => [
      `o conjunto ${hash} decide; o de ${path}, ${folder}, não: falta a aprovação de duas pessoas${alsoTaken(figures)}`,
      `lance rules approve ${folder}, com o token de cada pessoa (LANCE_URL, LANCE_TOKEN)`,
    ],
    'economics-unapproved': ({ hash, used }: DoctorFigures) => [
      `decide a economia ${used}; a da configuração, ${hash}, não: falta a aprovação de duas pessoas`,
      `veja lance economics show; lance economics approve ${hash}, com o token de cada pessoa (LANCE_URL, LANCE_TOKEN)`,
    ],
    'economics-approved': ({ hash, used }: DoctorFigures) => [
      `decide a economia ${used}; a da configuração, ${hash}, está aprovada`,
      'reinicie cada processo para decidir por ela',
    ],
    'rules-new': ({ hash, path, folder, ...figures }: DoctorFigures) => [
      `o conjunto ${hash} decide; o de ${path}, ${folder}, não: nenhuma mesa o leu dali ainda${alsoTaken(figures)}`,
      'uma mesa que rode com esta pasta o lê; veja LANCE_RULES_DIR',
    ],
    'rules-held-back': (figures: DoctorFigures) => [
      heldBack(figures),
      `se for isso mesmo: lance rules activate ${figures.folder} --by NOME --reason TEXTO; senão, devolva os arquivos`,
    ],
    'rules-held-back-new': (figures: DoctorFigures) => [
      heldBack(figures),
      `devolva os arquivos; se for isso mesmo: lance rules propose ${figures.path} --by NOME, depois lance rules activate ${figures.folder} --by NOME --reason TEXTO`,
    ],
    'source-unconfigured': ({ text }: DoctorFigures) => [String(text)],
    'rules-refused': ({ text }: DoctorFigures) => [
      String(text),
      'corrija o arquivo nomeado; lance rules check diz mais',
    ],
    'file-read': () => ['lido sem faltas'],
    'file-refused': ({ text }: DoctorFigures) => [String(text), 'corrija o arquivo nomeado'],
    'chain-none': () => ['não visto aqui: lance audit verify lê o registro no Kafka'],
    'chain-intact': ({ count }: DoctorFigures) => [`intacta, ${count} registros`],
    'chain-broken': ({ table, offset, text, remedy }: DoctorFigures) => [
      `quebrada no registro ${offset} de ${table}: ${text}`,
      String(remedy),
    ],
    'anchor-missing': ({ path, remedy }: DoctorFigures) => [
      `o registro foi ancorado, e ${path}, parte da âncora, falta ou está incompleto`,
      String(remedy),
    ],
    'anchor-broken': ({ path, line, remedy }: DoctorFigures) => [
      `as âncoras ${path} foram editadas (linha ${line})`,
      String(remedy),
    ],
    'margins-unfit': ({ count }: DoctorFigures) => [
      `margens no cache que esta mesa não gravou: ${count}; ficam de fora e são consultadas de novo`,
      'descubra quem grava no lance.sqlite; depois de uma volta a uma versão anterior, não é ninguém',
    ],
    'start-refused': ({ text }: DoctorFigures) => [`a próxima partida seria recusada: ${faultPt(String(text))}`],
    'file-damaged': ({ text }: DoctorFigures) => [
      `lance.sqlite está danificado: ${text}`,
      'guarde uma cópia, reponha um backup do diretório inteiro e depois lance audit accept-restore',
    ],
    'file-unchecked': ({ durationMs }: DoctorFigures) => [
      `nem todas as páginas de lance.sqlite foram vistas em ${durationMs} ms`,
      'rode o doctor com a máquina ociosa',
    ],
    'views-current': ({ count }: DoctorFigures) => [`em dia, ${count} registros`],
    'views-stopped': ({ count }: DoctorFigures) => [`faltam ${count} registros: a mesa os processa ao iniciar`],
    'views-behind': ({ count }: DoctorFigures) => [
      `a mesa roda e não alcança o fim do registro: faltam ${count} registros`,
      'depois de um início ou de uma tomada de partição isso termina sozinho (lance status); senão, veja o diário',
    ],
    'views-lacking': ({ text }: DoctorFigures) => [
      faultPt(String(text)),
      'lance run refaz a partição; até lá não há lances',
    ],
    'views-evictable': ({ text }: DoctorFigures) => [
      `maxmemory-policy é ${text}: o Redis pode remover qualquer chave, por isso não há lances`,
      'redis-cli CONFIG SET maxmemory-policy noeviction',
    ],
    'control-free': () => ['ninguém pôs em pausa'],
    'control-paused': ({ by, text }: DoctorFigures) => [
      `em pausa por ${by}: ${text}`,
      'lance resume --by NOME --reason TEXTO libera',
    ],
    'control-changed': ({ kind, name, by, text }: DoctorFigures) => [
      `${{ paused: 'pausa', resumed: 'liberação', 'cap-set': `teto ${name} posto`, 'cap-removed': `teto ${name} tirado`, 'rule-snoozed': `regra "${name}" suspensa`, 'rule-resumed': `regra "${name}" de volta` }[String(kind)]} por ${by}${text === undefined ? '' : `: ${text}`}`,
    ],
    'control-late': ({ count }: DoctorFigures) => [
      `${counted('pt', 'processo ainda não obedece', 'processos ainda não obedecem')(Number(count))} à última mudança`,
      'veja o diário deles; se parados, reinicie',
    ],
    'caps-none': () => ['nenhum à mão em vigor; nenhum das regras segurou lances hoje'],
    'caps-none-by-hand': () => ['nenhum à mão está em vigor'],
    'cap-of-rules': ({ name, count, used, limit }: DoctorFigures) => [
      `${name} (das regras) não teve espaço para ${count} das últimas solicitações de hoje${used === undefined ? '' : `; na última delas, ${used} de ${limit} usados`}`,
    ],
    'cap-held': ({ name, used, limit, by, since, text }: DoctorFigures) => [
      `${name} (à mão) em vigor: ${used} de ${limit} usados hoje${capWord(by, since, text)}`,
    ],
    'cap-binds': ({ name, used, limit, by, since, text, count }: DoctorFigures) => [
      `${name} (à mão) segura lances: ${used} de ${limit} usados hoje; ${count} das últimas solicitações não couberam nele${capWord(by, since, text)}`,
      `lance cap ${name} --reais-a-day N o aumenta, lance cap ${name} --remove o tira; senão, recomeça à meia-noite`,
    ],
    'dead-letters-none': () => ['nenhuma'],
    'dead-letters-some': ({ count }: DoctorFigures) => [
      Number(count) === 1 ? '1 webhook que ninguém entendeu ainda' : `${count} webhooks que ninguém entendeu ainda`,
      'lance letters list mostra o que não foi lido: corrija o mapeamento (LANCE_MAPPING) e releia; o que ninguém precisa ler, encerre com lance letters dismiss (runbook LanceDeadLetters)',
    ],
    'directory-wide': ({ path, text }: DoctorFigures) => [
      `${path} tem o modo ${text}: outros desta máquina podem olhar dentro; os arquivos são só do dono`,
      `chmod 700 ${path}`,
    ],
    'key-fits': () => ['é a chave com que os dados foram gravados'],
    'key-other': () => [
      'não é a chave com que os dados foram gravados; a mesa não inicia',
      'defina LANCE_PSEUDONYM_KEY com a chave com que esta mesa começou',
    ],
    'key-new': () => ['ainda não há dados gravados com chave'],
    'key-missing': () => [
      'nenhuma foi dada, e por isso não foi comparada com os dados',
      'dê ao doctor a LANCE_PSEUDONYM_KEY da mesa',
    ],
    'audit-key-fits': () => ['assinou as âncoras que existem'],
    'audit-key-new': () => ['ainda não há âncora'],
    'audit-key-other': () => [
      'não é a que assinou as âncoras; a mesa não inicia',
      'defina LANCE_AUDIT_KEY (sem ela, LANCE_PSEUDONYM_KEY assina) com a chave de antes',
    ],
    'audit-key-missing': () => [
      'nenhuma foi dada, e por isso não foi comparada com as âncoras',
      'dê ao doctor a LANCE_AUDIT_KEY ou a LANCE_PSEUDONYM_KEY da mesa',
    ],
    'token-taken': () => ['o serviço o aceita: leu uma consulta sobre ninguém'],
    'token-refused': ({ name }: DoctorFigures) => [
      'o serviço o recusa (401)',
      name === 'LANCE_TOKEN_COMMAND'
        ? 'conserte o programa de LANCE_TOKEN_COMMAND: ele imprimiu um token que o serviço recusa; quando um for aceito, a mesa reabre sozinha'
        : 'ponha um LANCE_ACCESS_TOKEN novo e reinicie; se o serviço voltar a aceitar este, a mesa reabre sozinha',
    ],
    'token-unrenewed': ({ text }: DoctorFigures) => [
      `nenhum funciona: ${faultPt(String(text))}`,
      'execute o programa de LANCE_TOKEN_COMMAND com o usuário da mesa; ele recebe só PATH, HOME e LANCE_TOKEN_COMMAND_VARIABLES',
    ],
    'token-unclear': ({ text }: DoctorFigures) => [
      `o serviço respondeu ${text}: isso nada diz do token`,
      'veja o caminho em LANCE_BASE_URL e se o token pode consultar vínculos',
    ],
    'token-untried': ({ text }: DoctorFigures) => [
      `não pôde ser testado: ${faultPt(String(text))}`,
      'veja o serviço; depois rode o doctor de novo',
    ],
    'token-given': () => ['dado'],
    'token-command': () => ['vem de LANCE_TOKEN_COMMAND'],
    'token-both': () => ['LANCE_ACCESS_TOKEN vale até o primeiro 401, depois LANCE_TOKEN_COMMAND'],
    'token-unusable': ({ path }: DoctorFigures) => [
      `o programa ${path} de LANCE_TOKEN_COMMAND não existe ou não pode ser executado`,
      'corrija o caminho ou dê permissão de execução',
    ],
    'token-missing': () => ['falta', 'dê LANCE_ACCESS_TOKEN ou LANCE_TOKEN_COMMAND'],
    'service-reached': ({ host, durationMs }: DoctorFigures) => [`${host} atende em ${durationMs} ms`],
    'service-unreachable': ({ host, text }: DoctorFigures) => [
      `${host} não atende (${text})`,
      'veja LANCE_BASE_URL, rede e DNS',
    ],
    'service-silent': ({ host, text }: DoctorFigures) => [
      `${host} aceita conexões e não responde à consulta (${text})`,
      'veja LANCE_BASE_URL e o que há entre esta máquina e o serviço; a mesa abre sozinha quando ele responder',
    ],
    'service-foreign': ({ host }: DoctorFigures) => [
      `${host} responde à consulta com um sucesso que não é do serviço: não é JSON`,
      'veja o que há entre esta máquina e o serviço, como um proxy que pede login ou uma página de manutenção, e LANCE_BASE_URL; a mesa abre sozinha quando o serviço responder',
    ],
    'service-elsewhere': ({ host, text }: DoctorFigures) => [
      `${host} responde, mas nada do contrato está ali (${text})`,
      'corrija o caminho em LANCE_BASE_URL, ou o servidor',
    ],
    'withdrawals-off': ({ name }: DoctorFigures) => [`falta ${name}: saques são recusados; o resto funciona`],
    'service-unknown': () => ['LANCE_BASE_URL não serve', 'dê o endereço do serviço'],
    'clock-sane': () => ['não contradiz o registro'],
    'clock-behind': ({ durationMs }: DoctorFigures) => [
      `está ${durationMs} ms atrás do último registro`,
      biddingPt.remedies['clock-step'],
    ],
    'clock-agrees': () => ['concorda com o do serviço'],
    'clock-slow': ({ durationMs }: DoctorFigures) => [
      `está ${durationMs} ms atrás do relógio do serviço`,
      biddingPt.remedies['clock-skew'],
    ],
    'clock-fast': ({ durationMs }: DoctorFigures) => [
      `está ${durationMs} ms à frente do relógio do serviço`,
      biddingPt.remedies['clock-skew'],
    ],
    'clock-wrong': () => ['o ano não pode estar certo', biddingPt.remedies['clock-step']],
  },
};
