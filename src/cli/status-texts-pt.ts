/** What `lance status` says, in Brazilian Portuguese. */

import type { HeldBack } from '../bidding/held-back.ts';
import type { Age } from './age.ts';
import type { CapRemedyFacts } from './full-caps.ts';
import { counted } from './plural.ts';

type Requests = { open: number; parked: number; frozen: number };
type Queue = {
  queued: number;
  sending: number;
  sendLimit: number;
  sendLimitMost?: number | undefined;
  unknown: number;
};
type FailingSource = { source: string; failure: string; failed: number; of: number };
type SlowAnswers = { medianMs: number; of: number; windowMs: number };
type GoneBack = { hash: string; from: string; by: string | null; isLive: boolean };
type Review = { kind: 'reviewed'; by: string | null } | { kind: 'due' | 'overdue'; until: string };
type TakenAway = Omit<HeldBack, 'hash'>;

/** What a set would take from the one that is followed. */
export function takenAwayPt({ caps, capNames = [], rules, left, files }: TakenAway): string {
  const names = capNames.join(', ');
  const gone = files.join(', ');
  const parts = [
    ...(caps > 0 ? [`todos os tetos (${caps}${names === '' ? '' : `: ${names}`})`] : []),
    ...(caps === 0 && names !== '' ? [`${capNames.length === 1 ? 'o teto' : 'os tetos'} ${names}`] : []),
    ...(left < rules ? [`${rules - left} de ${rules} regras${gone === '' ? '' : ` (${gone})`}`] : []),
    ...(left >= rules && gone !== '' ? [`todas as regras de ${gone}`] : []),
  ];
  return parts.join(' e ');
}

export const statusPt = {
  about: 'por que não há lances, se não há, e o essencial do processo que está rodando',
  labels: {
    bidding: 'lances',
    since: 'desde',
    until: 'até',
    by: 'por',
    detail: 'detalhe',
    remedy: 'remédio',
    process: 'processo',
    ready: '/readyz',
    webhooks: 'webhooks',
    rules: 'regras',
    back: 'voltou',
    folder: 'pasta',
    partitions: 'partições',
    requests: 'solicitações',
    queue: 'fila',
    lastSent: 'último envio',
    paused: 'em pausa',
    lastBid: 'último lance',
    lastWin: 'última vitória',
    service: 'serviço',
    refusals: 'recusas',
    linkQueries: 'consultas',
    answers: 'respostas',
    sources: 'fontes',
    caps: 'tetos',
    waits: 'espera',
    economics: 'economia',
  },
  open: 'ABERTOS',
  openUnheard: (since: string) =>
    `ABERTOS, até onde se sabe: nenhum lance foi aceito desde ${since}, e só um lance mostra se o serviço os aceita`,
  openUnanswered: (startedAt: string) =>
    `ABERTOS, até onde se sabe: o serviço não respondeu nada desde o início, em ${startedAt}`,
  openTurnedAway: (code: number) =>
    `ABERTOS, até onde se sabe: o serviço respondeu HTTP ${code} por último, e só um lance ou uma consulta mostra se ele recusa esta mesa`,
  closed: (text: string, cause: string) => `FECHADOS: ${text} (${cause})`,
  doorOnly: 'este processo só recebe webhooks',
  roles: (roles: readonly string[]) =>
    roles.map((role) => (role === 'door' ? 'recebe webhooks' : role === 'desk' ? 'dá lances' : role)).join(' e '),
  process: (version: string, roles: string, since: string, url: string) =>
    `versão ${version}, ${roles}, desde ${since}, em ${url}`,
  isReady: 'pronto',
  notReady: 'não está pronto: veja /readyz?verbose',
  personNotTold: 'não informado sem token: defina LANCE_TOKEN',
  partitionsOwned: (numbers: readonly number[]) =>
    numbers.length === 0
      ? 'este processo não responde por nenhuma'
      : `este processo responde por ${numbers.length === 1 ? 'uma, a' : `${numbers.length}, as`} de número ${numbers.join(', ')}`,
  partitionClosed: (text: string) => `fechada: ${text}`,
  folderRefused: (text: string) =>
    `RECUSADA, o conjunto acima continua decidindo: ${text} (lance rules check mostra tudo; corrija o arquivo)`,
  folderHeldBack: (hash: string, taken: TakenAway) =>
    `RECUSADA, o conjunto acima continua decidindo: ${hash} tiraria ${takenAwayPt(taken)} (devolva os arquivos; se for isso mesmo: lance rules activate ${hash} --by NOME --reason TEXTO)`,
  goneBack: ({ hash, from, by, isLive }: GoneBack, review: Review) =>
    `${isLive ? '' : `a ${hash}, que passa a valer em instantes, `}de ${from}${by === null ? '' : ` por ${by}`}; ${review.kind === 'reviewed' ? `${review.by ?? 'outra pessoa'} já conferiu` : `${review.kind === 'due' ? `outra pessoa tem de conferir até ${review.until}` : `o prazo para outra pessoa conferir venceu em ${review.until}`}: lance rules approve ${hash}, com um token seu`}; a pasta espera lance rules activate`,
  economicsAwaited: (hash: string, used: string, approved: boolean) =>
    approved
      ? `${hash} da configuração está aprovada: reinicie o processo para decidir por ela; até lá decide ${used}`
      : `${hash} da configuração espera duas pessoas, decide ${used}: lance economics show`,
  folderNotFollowed: (hash: string) =>
    `tem ${hash}, que não é seguido: veja lance rules history; o que fazer diz lance doctor`,
  requests: ({ open, parked, frozen }: Requests) =>
    `${open} abertas, ${parked} à espera de margem, ${frozen} congeladas`,
  requestsUnknown: 'não se sabe: o armazenamento está fora ou ainda está sendo lido',
  queue: ({ queued, sending, sendLimit, sendLimitMost, unknown }: Queue) =>
    `${queued} à espera, ${sending} sendo enviadas${sending > sendLimit ? ', contadas as que estão sendo gravadas ou esperam nova tentativa' : ''} (limite agora ${sendLimit}${sendLimitMost === undefined ? '' : ` de ${sendLimitMost}`}), ${unknown} sem resposta conhecida${unknown === 0 ? '' : ' (lance bids list --state unknown)'}`,
  answered: (age: Age, at: string) => `respondeu pela última vez ${statusPt.ago(age)} (${at})`,
  unknownRefusals: (count: number) =>
    `RECUSADOS: os lances das últimas ${count} solicitações foram todos recusados em palavras desconhecidas, e nenhum foi aceito no meio: pergunte ao serviço se ele ainda aceita nossos lances (runbook LanceBidsRefused)`,
  linkQueryRefusals: (count: number) =>
    `RECUSADAS: as consultas dos últimos ${count} vínculos de emprego foram todas recusadas em palavras desconhecidas, e nenhuma foi respondida no meio: as solicitações terminam como link-refused; pergunte ao serviço se ele ainda aceita nossas consultas (runbook LanceLinkQueriesRefused)`,
  slowAnswers: ({ medianMs, of, windowMs }: SlowAnswers) =>
    `LENTAS: metade dos últimos ${of} lances esperou ${(medianMs / 1_000).toFixed(1).replace('.', ',')} s ou mais pela resposta, e um leilão dura ${Math.round(windowMs / 1_000)} s: por isso pode haver solicitações que ficam sem lance; pergunte ao serviço (runbook LanceServiceSlow)`,
  failingSource: ({ source, failure, failed, of }: FailingSource) =>
    `FALHA: a fonte ${source} não respondeu a ${failed} das últimas ${of} perguntas, a última por ${failure}: vale o que as regras dizem para isso (runbook LanceSourceFailing)`,
  capsFull: (
    { name, byHand, used, limit }: { name: string; byHand: boolean; used: string | null; limit: string | null },
    ended: number,
    of: number,
  ) =>
    `${ended} das últimas ${of} solicitações que teriam lance pararam em um teto; a última, em ${name}${byHand ? ' (posto à mão)' : ' (das regras)'}${used === null ? '' : `: ${used} de ${limit} então`}`,
  capRemedy: ({ name, byHand, windowHours }: CapRemedyFacts) =>
    `${windowHours === null ? 'recomeça à meia-noite' : `o uso cai ao passar a janela de ${windowHours} h`}; antes, ${byHand ? `lance cap ${name} --reais-a-day N o aumenta, lance cap ${name} --remove o tira` : 'só um limite maior na pasta das regras (LANCE_RULES_DIR), ou lance rules rollback se este veio com o último conjunto'} (runbook LanceBidsCapped)`,
  tokenTurnedAway: (code: number) => `com HTTP ${code}: recusa o token desta mesa`,
  turnedAway: (code: number) =>
    `com HTTP ${code}: ele, ou algo na frente dele, pode estar recusando esta máquina; o próximo lance ou consulta dirá`,
  unanswered: 'não respondeu desde o início do processo',
  serviceSilent: (text: string) =>
    `${text}, embora a hora lhe seja perguntada a cada minuto: veja LANCE_BASE_URL e a rede até ele`,
  ago: ({ count, unit }: Age): string => `há ${count} ${unit === 'd' ? (count === 1 ? 'dia' : 'dias') : unit}`,
  notSinceStart: 'nada desde o início do processo',
  silent: (url: string, reason: string, named: boolean) =>
    `Nenhum processo responde em ${url} (${reason}). ${named ? 'Veja LANCE_URL e a rede até lá.' : 'Se ele roda em outro endereço, dê LANCE_URL.'}`,
  noPort:
    'A porta do processo não é conhecida (LANCE_HTTP_PORT=0): dê LANCE_URL, com o endereço que a linha started diz.',
  unknownToken: 'ponha em LANCE_TOKEN um token que esta mesa conheça (LANCE_API_TOKENS ou lance tokens create).',
  tokenRefused: (url: string, code: number) => `${url} respondeu ${code}: ${statusPt.unknownToken}`,
  starting: (url: string) => `O processo em ${url} ainda está começando ou espera o armazém: veja /readyz?verbose.`,
  noStatus: (url: string, code: number) =>
    `${url} respondeu ${code}, e não é o estado de uma mesa: veja LANCE_URL, LANCE_HTTP_PORT e LANCE_METRICS_PORT.`,
  noneAlive: 'Nenhum processo deu sinal de vida no armazém. Inicie com lance run; lance doctor diz se ele iniciaria.',
  someAlive: (count: number, at: string) =>
    `No armazém, ${counted('pt', 'processo deu sinal', 'processos deram sinal')(count)} de vida nos últimos 5 s, o último em ${at}. Um que foi morto depois pode não existir mais: veja de novo em alguns segundos.`,
  hangs:
    'Um processo ocupa o diretório de dados e não responde: está começando ou travou. Veja o log dele; um que travou deve ser encerrado (SIGKILL) e iniciado de novo. Ele não dá lance antes de ler os controles de novo.',
  pausedBy: (by: string, at: string, reason: string) => `Em pausa por ${by} desde ${at}: ${reason}`,
};
