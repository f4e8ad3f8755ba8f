/** The catalogue in Brazilian Portuguese, which is the default; its shape is the catalogue's. */

import type { LostRecords } from './audit-restore.ts';
import { backtestPt } from './backtest-texts-pt.ts';
import { biddingPt } from './bidding-texts-pt.ts';
import { demoPt } from './demo-texts-pt.ts';
import { deskReasonPt } from './desk-reason-texts.ts';
import { doctorPt } from './doctor-texts-pt.ts';
import { economicsPt } from './economics-texts-pt.ts';
import { faultPt, jsonFaultPt } from './fault-texts-pt.ts';
import { flowsPt } from './flows-texts-pt.ts';
import { impactPt } from './impact-texts-pt.ts';
import { learnPt } from './learn-texts-pt.ts';
import { lettersPt } from './letters-texts-pt.ts';
import { mappingPt } from './mapping-texts-pt.ts';
import { modelCardPt } from './model-card-texts-pt.ts';
import { movePt } from './move-texts-pt.ts';
import { pagePt } from './page-texts-pt.ts';
import { parsingPt } from './parsing-texts-pt.ts';
import { performancePt } from './performance-texts-pt.ts';
import { counted } from './plural.ts';
import { quotePt } from './quote-texts-pt.ts';
import { codesPt } from './reason-texts-pt.ts';
import { reviewPt } from './review-texts-pt.ts';
import { rulesPt } from './rules-texts-pt.ts';
import { statesPt } from './state-words-pt.ts';
import { statusPt } from './status-texts-pt.ts';
import type { CapFigures } from './texts.ts';
import { tokensPt } from './tokens-texts-pt.ts';
import { workerPt } from './worker-texts-pt.ts';

const processes = counted('pt', 'processo', 'processos');

/** What a cap is to be. `untold`: told only to those with a token. */
type WantedCap = { kind: 'to' | 'away' | 'untold'; limit: string; reais: number };

export const pt = {
  help: {
    about: 'Mesa automática de lances para os leilões do Crédito do Trabalhador.',
    titles: { 'Usage:': 'Uso:', 'Options:': 'Opções:', 'Commands:': 'Comandos:', 'Arguments:': 'Argumentos:' },
    example: 'Exemplo',
    helpOption: 'mostra esta ajuda',
    helpCommand: 'mostra a ajuda de um comando',
    versionOption: 'mostra a versão',
    lang: 'idioma dos textos: pt ou en (também por LANCE_LANG)',
    json: 'escreve JSON, igual em qualquer idioma',
    by: 'quem dá a ordem',
    orderer: 'quem dá a ordem; com LANCE_URL e LANCE_TOKEN, o dono do token',
    reader: 'quem lê os dados pessoais, como fica registrado; sem isto, o usuário desta máquina',
    capBy: 'quem dá a ordem; sem isto, o usuário desta máquina',
    reason: 'por quê; fica registrado',
    run: 'roda a mesa como serviço',
    daemonOptions: {
      learning: 'congela as estatísticas: nada se aprende dos leilões',
      requests: 'quantas solicitações levar a leilão',
      seed: 'semente do simulador',
      exit: 'termina quando o fluxo acaba',
      json: 'termina com um objeto JSON na saída padrão',
      rivals: 'concorrentes de um arquivo de leilões gravados',
      market: 'como os concorrentes se comportam',
    },
    demo: 'serviço simulado, mesa e banco embutido num só comando, com um resumo no fim',
    bids: 'solicitações e lances: listar, explicar, encerrar à mão',
    list: 'lista as solicitações, da mais recente à mais antiga',
    limit: 'quantas, no máximo',
    state: 'só as que estão neste estado',
    code: 'só as que têm este código de recusa ou rejeição',
    batch: 'só as deste lote',
    cpf: 'só as do trabalhador com este CPF; - lê o CPF da entrada padrão, para que o histórico do shell não o guarde',
    cpfAwaited: 'Digite o CPF do trabalhador e Enter.',
    noCpf:
      '--cpf não recebeu um CPF: escreva os 11 dígitos, com ou sem pontos e traço; os dígitos verificadores têm de conferir, e os 11 não podem ser iguais.',
    segment: 'só as decididas neste segmento ou num segmento dentro dele (bids show mostra qual)',
    since:
      'decididas (ou recebidas, se ainda não houve decisão) a partir deste dia (2026-11-23) ou minuto (2026-11-23T14:30), horário de Brasília',
    until: 'decididas (ou recebidas) até este dia, inclusive, ou minuto',
    time: 'Escreva um dia (2026-11-23) ou um minuto (2026-11-23T14:30).',
    show: 'explica por inteiro a decisão de uma solicitação',
    requestId: 'numeroSolicitacao',
    resolve: 'encerra à mão uma solicitação que nada mais encerra',
    retry: 'lê de novo os registros do que foi congelado e segue, se agora podem ser processados',
    thawCancel: 'encerra o que foi congelado: o registro que não pôde ser processado fica de fora',
    as: 'como termina',
    pause: 'para de dar lances; volta só quando todos os processos obedecem',
    resume: 'volta a dar lances',
    cap: 'teto diário posto à mão; sem opção, mostra o teto e o uso de hoje',
    capName: 'nome do teto (letras, dígitos, hífens)',
    reaisADay: 'reais prometidos por dia, no máximo',
    remove: 'tira o teto',
    controls: 'ordens à mão e regras: o que foi mandado',
    controlShow: 'a pausa e os tetos à mão que valem, altas que esperam outra pessoa, e quem obedece',
    controlHistory:
      'pausas, liberações, tetos à mão, regras e dados pessoais exportados ou buscados: quem, quando e por quê',
    controlLimit: 'quantas ordens, no máximo',
    doctor: 'examina configuração, diretório, regras, registro e serviço, e diz o remédio',
    learn: 'julga o que a mesa aprende num arquivo de leilões gravados',
    auctionsFile: 'arquivo NDJSON: {"id", "segment", "rates"} por linha, taxas em centésimos de % a.m.',
    shifts:
      'também: concorrentes que mudam, taxas deslocadas por estes centésimos em partes iguais do arquivo: 0,-50,40',
    draws: 'quantas amostras sortear',
    auctionsADay: 'dá um relógio ao arquivo: tantos leilões por dia',
    halfLife: 'com --auctions-a-day: o peso dos resultados cai à metade neste tempo: 14d',
    delay: 'com --auctions-a-day: os resultados chegam este tempo depois: 76h',
    learnAcceptance:
      'conta o que os trabalhadores aceitam: ponto médio em % a.m. e inclinação da aceitação, como na economia: 4.2,1.5',
    needsClock: 'acrescente --auctions-a-day N: --half-life e --delay precisam de um relógio',
    duration: 'escreva horas ou dias: 76h, 14d',
    midpointAndSlope: 'escreva o ponto médio e a inclinação: 4.2,1.5',
    audit: 'o registro encadeado',
    verify: 'confere a cadeia de hashes do registro e aponta a primeira quebra',
    export: 'leva a mesa para um arquivo, para mudá-la para o outro backend',
    import: 'traz a mesa de um arquivo, para um lugar vazio',
    file: 'arquivo NDJSON; comprimido quando o nome termina em .gz',
    hash: 'o hash que lance export mostrou: um arquivo com outro é recusado',
    place: 'escreva tópico e partição, como lance.auctions/1',
    unsigned: 'aceita um arquivo de uma versão anterior, que não assinava',
    undo: 'desfaz uma exportação: a mesa volta a morar aqui',
    fileOrUndo: 'escreva o nome do arquivo, ou --undo sem arquivo',
    sandbox: 'o serviço simulado, como servidor',
    port: 'porta; 0 toma uma livre',
    host: 'endereço em que escuta; 0.0.0.0 para todos, num contêiner',
    target: 'para onde vão os webhooks: o endereço inteiro, com o token',
    requests: 'quantas solicitações levar a leilão',
    seed: 'semente',
    rivals: 'concorrentes de um arquivo de leilões gravados',
    market: 'como os concorrentes se comportam',
    record: 'grava tudo o que acontece neste arquivo NDJSON',
    settings: 'ajustes do serviço simulado, em JSON',
    exit: 'com --target: encerrar quando o fluxo terminar',
    number: 'escreva um número inteiro de pelo menos 1',
    oneOf: 'escreva um destes:',
    shiftList: 'escreva dois ou mais números inteiros: 0,-50,40',
    portNumber: 'escreva um número inteiro de 0 a 65535',
    hostName: 'escreva um endereço ou nome, como 127.0.0.1',
    text: 'escreva de 1 a 200 caracteres, numa só linha',
    name: 'escreva letras, dígitos, hífens ou pontos, no máximo 60',
    reais: 'escreva um valor como 250000 ou 250000,50',
  },
  /** What keeps a command from working. */
  fault: faultPt,
  /** Why a request got no bid, or its bid is unknown, as the record says it. */
  deskReason: deskReasonPt,
  /** Codes are English words: whether their meaning is said beside them. */
  codesNeedWords: true as boolean,
  units: { perMonth: 'a.m.', perYear: 'a.a.', months: 'meses', years: 'anos' },
  yes: 'sim',
  no: 'não',
  none: '–',
  list: {
    header: ['solicitação', 'lote', 'estado', 'código', '% a.m.', 'valor', 'parc.', 'pos.', 'decidido em'],
    empty: 'Nenhuma solicitação.',
    codes: (codes: readonly string[], areNear: boolean) =>
      `Entre as últimas, nenhuma tem esse código; ${areNear ? 'os mais parecidos' : 'os códigos'} que ocorrem: ${codes.join(', ')}.`,
    more: (limit: number) => `… as ${limit} mais recentes; use --limit para ver mais.`,
    unasked: (partition: number, why: string, instance: string | null) =>
      `Faltam as solicitações da partição ${partition}: ${why}${instance === null ? '' : ` (${instance})`}. Consulte de novo.`,
    cpfNotAsked: 'Por LANCE_URL não se consulta por CPF. Indique o armazenamento e LANCE_PSEUDONYM_KEY, sem LANCE_URL.',
    unaskedWhy: {
      'no-owner': 'nenhum processo em execução responde por ela',
      moved: 'ela está passando para outro processo',
      gone: 'não se alcança o processo dela',
      'time-limit': 'o processo dela não respondeu a tempo',
      busy: 'o processo dela já responde a consultas demais',
      refused: 'o processo dela não deu resposta válida',
    },
  },
  states: statesPt,
  codes: codesPt,
  limits: {
    minRateHundredths: 'taxa mínima',
    maxRateHundredths: 'taxa máxima',
    minAmountCents: 'valor mínimo',
    maxAmountCents: 'valor máximo',
    minInstallments: 'mínimo de parcelas',
    maxInstallments: 'máximo de parcelas',
    minInstallmentCents: 'parcela mínima',
    maxInstallmentCents: 'parcela máxima',
    maxCetAnnualHundredths: 'CET máximo',
    maxMarginShare: 'parte da margem',
    minSpreadHundredths: 'spread mínimo',
    minProfitCents: 'lucro mínimo',
    maxTermChange: 'parcelas a mais ou a menos',
  },
  stack: {
    interest: 'juros do contrato',
    funding: 'custo do dinheiro no tempo',
    'early-end': 'juros que vínculos encerrados não pagam',
    'early-settlement': 'juros que a liquidação antecipada retira',
    'expected-loss': 'perda esperada',
    'recovery-delay': 'demora do que se recupera',
    'spread-tax': 'tributos sobre o spread',
    capital: 'custo do capital',
    selection: 'seleção adversa por vencer a esta taxa',
    commission: 'comissão',
    'contract-cost': 'custo do contrato',
    'not-won': 'chance de não vencer o leilão',
    'not-taken': 'chance de o trabalhador não aceitar',
    budget: 'custo do orçamento',
    'bid-cost': 'custo do lance',
    valueIfReleased: 'valor se liberado',
    expected: 'valor esperado do lance',
  },
  facts: {
    margin: 'margem',
    amount: 'valor pedido',
    installments: 'parcelas',
    tenure: 'meses de casa',
    age: 'idade',
    eligible: 'trabalhador elegível',
    exposed: 'não ser pessoa politicamente exposta',
    alerts: 'nenhum alerta',
    guarantee: 'sem garantia do FGTS',
    review: 'a revisão respondida a tempo com “lance”',
  },
  events: {
    pass: 'recusa',
    limit: 'limite',
    economics: 'economia',
    segment: 'segmento',
    strategy: 'estratégia',
    cap: 'teto',
    experiment: 'experimento',
    review: 'revisão',
  },
  show: {
    title: (id: string) => `Solicitação ${id}`,
    toldOnly:
      'Como a mesa informa. Fatos, regras, preço, rivais, registros e repetição: bids show com o armazenamento, sem LANCE_URL.',
    decided: 'decidido em',
    workerTold: (text: string) => `O que se diz ao trabalhador: ${text}`,
    batch: 'lote',
    state: 'estado',
    contract: 'contrato',
    contractNext: (requestId: string) =>
      `Em seguida: quando o trabalhador tiver aceitado a proposta no aplicativo, peça o contrato: lance contracts example ${requestId}, depois start. Nenhum evento avisa do aceite, e antes dele o serviço recusa o pedido.`,
    exposure: 'exposição',
    exposures: {
      none: 'nenhuma',
      held: 'reservada',
      committed: 'comprometida',
      released: 'liberada',
      refused: 'recusada: sem espaço no teto',
    },
    result: 'Resultado',
    pass: (code: string, words: string) => `Sem lance (${code}): ${words}.`,
    position: (position: number, of: number) => `posição ${position} de ${of}`,
    bestRival: 'melhor concorrente',
    noRival: 'ninguém mais deu lance',
    offGrid: '(entre esta taxa e a de um centésimo abaixo)',
    gap: 'diferença',
    gapAbove: (points: string) => `nossa taxa estava ${points} acima`,
    gapBelow: (points: string) => `nossa taxa estava ${points} abaixo`,
    gapTie: 'empate na taxa',
    left: 'deixado na mesa',
    leftWords: (money: string, rate: string) => `${money} em valor esperado: ${rate} também venceria`,
    leftNothing: 'nada: nenhuma taxa permitida que também venceria renderia mais',
    missed: 'não ganho',
    missedWords: (money: string, rate: string) => `${money} em valor esperado: ${rate} teria vencido`,
    missedNothing: 'nada: nenhuma taxa permitida venceria com lucro',
    unclaimed: (what: string, others: string) =>
      `${what} avisado sob um código que ${others} também tem: diga de quem é com bids resolve --as contemplated`,
    resolution: (as: string, by: string, reason: string) => `encerrado como ${as} por ${by}: ${reason}`,
    nearest: 'O que faltou (mudando um só fato)',
    nearestTo: (fact: string, from: string, to: string, rate: string) =>
      `${fact}: de ${from} para ${to} → lance a ${rate}`,
    nearestOnly: (fact: string, rate: string) => `${fact} → lance a ${rate}`,
    nearestNone: 'Nenhuma mudança de um só fato, entre as tentadas, traria um lance.',
    byPrior: 'A curva de vitória não tinha sido consultada: taxas pela curva inicial.',
    asked: 'O que foi pedido',
    received: 'recebido em',
    closes: 'leilão fecha em',
    amount: 'valor',
    installments: 'parcelas',
    margin: 'margem usada',
    link: 'detalhe do vínculo',
    linkAt: (at: string) => `recebido em ${at}`,
    linkNone: 'não consultado',
    linkAskedAt: (at: string) => `consultado em ${at}`,
    linkUnanswered: (at: string, seconds: string) => `sem resposta utilizável até ${at}, ${seconds} s`,
    requestUnread: 'A solicitação traz estes de forma ilegível (portanto ausentes):',
    linkContradicted: 'O detalhe do vínculo afirma e nega (portanto ausentes):',
    linkUnread: 'O detalhe do vínculo traz estes de forma ilegível (portanto ausentes):',
    linkDiffers: 'Solicitação e detalhe do vínculo divergem (vale o pior, ou nenhum):',
    worseWord: 'Destes, o pior valor veio da solicitação ou do vínculo:',
    wordOf: { request: 'pela solicitação', link: 'pelo vínculo' },
    repeats: 'recebida de novo',
    repeatsWords: (equal: number, different: number) =>
      `${equal} vezes igual, ${different} vezes diferente (ignoradas)`,
    factsTitle: 'Fatos que as regras viram',
    hiddenText: '(texto não mostrado)',
    rules: 'Regras que agiram',
    ruleSet: 'conjunto de regras',
    limitsTitle: 'Limites',
    limitBy: (rule: string) => `por "${rule}"`,
    economicsTitle: 'Economia mudada por regras',
    statistics: 'O que a estatística dizia',
    segment: 'segmento',
    curve: 'curva de vitória',
    median: 'taxa com metade das vitórias',
    noRivalShare: 'leilões sem concorrente',
    learnt: 'resultados aprendidos até agora',
    aroundHeader: ['taxa', 'vencer', 'aceite', 'valor', 'parcela', 'CET', 'valor se liberado', 'valor esperado', ''],
    chosen: '◄ escolhida',
    forbidden: {
      margin: 'não cabe na margem',
      installment: 'parcela pequena demais',
      cet: 'CET acima do limite',
      spread: 'spread abaixo do mínimo',
      profit: 'lucro abaixo do mínimo',
      range: 'fora dos limites de taxa',
    },
    offer: 'A oferta',
    rate: 'taxa',
    installment: 'parcela',
    total: 'total a pagar',
    financed: 'financiado',
    iof: 'IOF (financiado)',
    cet: 'CET',
    breakEven: 'taxa de equilíbrio',
    winProbability: 'chance de vencer',
    acceptance: 'chance de aceite',
    validUntil: 'lance válido até',
    stackTitle: 'De onde vem o valor',
    curveTitle: 'Valor esperado por taxa',
    capsTitle: 'Tetos de exposição',
    capUsage: ({ key, amount, limit, count, countLimit }: CapFigures) =>
      `${key}: ${amount}${limit === null ? '' : ` de ${limit}`} antes deste lance${countLimit === null ? '' : `; ${count} de ${countLimit} lances`}`,
    sending: 'Envio',
    claim: 'registro do lance',
    claimUnread: (amount: string | null) =>
      `O registro do lance não pode ser lido: um lance pode ter sido enviado, e a oferta não é conhecida. ${amount === null ? 'O valor prometido também não é conhecido.' : `Prometeu no máximo ${amount}, o valor solicitado, que conta como prometido.`}`,
    claimWords: (id: string, at: string) => `${id}, ${at}`,
    lateClaims: 'registros tardios ignorados',
    attempts: 'tentativas',
    delivered: (count: number) => (count === 1 ? '1 entregue ao serviço' : `${count} entregues ao serviço`),
    unknown: (requestId: string, why: string | null) =>
      `Não se sabe se o serviço tem o lance${why === null ? '' : `: ${why}`}. O fim do leilão normalmente diz, e até lá o valor conta nos tetos; se não vier, pergunte ao serviço e encerre: lance bids resolve ${requestId} --as … --by NOME --reason TEXTO.`,
    earlier: 'uma anterior pode ter chegado',
    firstByte: 'primeiro byte',
    bytes: 'bytes enviados',
    bytesUnsent: 'bytes registrados, não enviados',
    bytesLost: 'os bytes não estão no registro: perderam-se com ele ou nunca estiveram lá',
    answer: 'resposta',
    httpStatus: (status: number) => `HTTP ${status}`,
    noAnswer: 'nenhuma',
    replaySealed:
      'não refeita: as regras olham fatos que estão lacrados; defina LANCE_PSEUDONYM_KEY com a chave da mesa',
    withheld: 'corpo não mostrado: sem LANCE_PSEUDONYM_KEY não se sabe que nome tirar dele',
    unreadable: 'corpo não mostrado: LANCE_PSEUDONYM_KEY não é a chave com que a mesa rodou',
    published: 'Lances publicados',
    publishedHeader: ['posição', 'taxa', 'valor', 'parcelas', 'hora', ''],
    publishedAgain: (at: string) =>
      `O serviço publicou outra lista em ${at}. Vale a primeira. Se pela outra o nosso lance pode ter vencido, o valor fica reservado até que uma pessoa (lance bids resolve) ou o evento de vencedor decida.`,
    ours: '◄ nosso',
    maybeOurs: '◄ talvez nosso',
    oursDiffers: '◄ nosso, diferente do enviado',
    history: 'História',
    attemptInVain: (kind: 'attempt' | 'query', cause: string, count: number, until: string) =>
      `${kind === 'query' ? 'consulta do vínculo' : 'tentativa'} em vão: ${cause}${count === 1 ? '' : ` (${count} vezes, até ${until})`}`,
    waitedFor: (seconds: string, words: string | null, cause: string) =>
      cause === 'link'
        ? `esperou ${seconds} s pelo detalhe do vínculo`
        : `esperou ${seconds} s com os lances fechados: ${words ?? cause} (${cause})`,
    replay: 'Repetição',
    replaySame: 'A decisão, refeita das entradas guardadas, dá os mesmos bytes.',
    replaySamePass: 'A decisão, refeita das entradas guardadas, dá a mesma recusa.',
    replayDiffers: (fields: string) =>
      `ATENÇÃO: a decisão refeita difere do registro em ${fields}. Isto nunca devia acontecer: guarde o diretório de dados e avise quem mantém o programa.`,
    replayNone: 'Nada a refazer: não há decisão de regras e preço registrada.',
    inputs: (ruleSet: string, settings: string, curve: string) =>
      `regras ${ruleSet}, ajustes ${settings}, curva ${curve}`,
    notFound: (id: string) => `Não há solicitação ${id} neste diretório; veja lance bids list.`,
    notFolded: (id: string) =>
      `A solicitação ${id} está no registro, mas a mesa ainda não a leu; rode lance run ou tente de novo.`,
    inputMissing: (hash: string) => `A entrada guardada ${hash} não está no registro; a decisão não pode ser refeita.`,
  },
  kinds: {
    requested: 'solicitada',
    claimed: 'lance registrado',
    passed: 'sem lance',
    answered: 'respondida',
    ended: 'leilão encerrado',
    contemplated: 'contemplada',
    proposed: 'proposta incluída',
    resolved: 'encerrada',
    'review-asked': 'revisão pedida',
    'review-answered': 'revisão respondida',
    'source-asked': 'fonte consultada',
    'source-answered': 'resposta da fonte',
    'worker-read': 'trabalhador mostrado',
    frozen: 'congelada',
    unfrozen: 'descongelada',
    unreadable: 'registro que não pode ser processado',
  },
  resolve: {
    done: (id: string, state: string) => `Solicitação ${id}: registrado. Agora: ${state}.`,
    stored: (id: string) => `Solicitação ${id}: registrado. Nenhum processo está rodando; vale quando a mesa voltar.`,
    refused: (id: string, state: string, allowed: string) =>
      `A solicitação ${id} está "${state}" e não pode ser encerrada assim. ${allowed === '' ? 'Neste estado não há o que encerrar à mão.' : `Possíveis: ${allowed}.`}`,
    underContract: (id: string, flowId: string, phase: string) =>
      `O contrato da solicitação ${id} está em andamento (${flowId}, "${phase}"): o que o lance prometeu conta até ele ser cancelado. Nada foi mudado.`,
    late: (id: string) => `Registrado para ${id}, mas a mesa não o leu em 2 s; veja lance bids show ${id}.`,
    overtaken: (id: string, state: string) =>
      `Outro registro veio antes: a solicitação ${id} está agora "${state}"; nada foi mudado.`,
  },
  freeze: {
    mark: 'congelada',
    done: {
      retry: (id: string) => `${id}: os registros foram lidos de novo e segue normalmente.`,
      cancel: (id: string) => `${id}: segue sem o registro que não pôde ser processado; nada mais é enviado por ele.`,
    },
    still: (id: string, problem: string, command: string) =>
      `${id} continua congelado: ${problem}. Atualize o programa e repita, ou encerre com lance ${command} cancel ${id}.`,
    notFrozen: (id: string) => `${id} não está congelado; não há o que repetir nem cancelar.`,
    cancelStep: (id: string, command: string) => `Para cancelar o fluxo: lance ${command} step ${id} cancel`,
    stored: (id: string) => `${id}: registrado. Nenhum processo está rodando; vale quando a mesa voltar.`,
    late: (id: string, command: string) =>
      `Registrado para ${id}, mas a mesa não o leu em 10 s; veja lance ${command} show ${id}.`,
  },
  control: {
    paused: (revision: number, count: number) => `Em pausa (revisão ${revision}), obedecida por ${processes(count)}.`,
    pausedBefore: 'Já estava em pausa: lance status nomeia cada pausa, e um só lance resume encerra todas.',
    resumed: (revision: number, count: number) => `Lances liberados (revisão ${revision}), por ${processes(count)}.`,
    resumedClosed: (revision: number) => `A mesa não está mais em pausa (revisão ${revision}).`,
    notPausedClosed: (revision: number) => `A mesa não estava em pausa (revisão ${revision}).`,
    stillClosed: (words: string, cause: string, remedy: string) =>
      `Mesmo assim nenhum lance sai: ${words} (${cause}). ${remedy}`,
    storedPause: (revision: number) =>
      `Pausa guardada (revisão ${revision}). Nenhum processo está rodando; vale desde a partida.`,
    pauseNotStored: (why: string) =>
      `${why} A mesa não está em pausa. Ela não envia lances enquanto não consegue guardar o registro deles nem ler os controles, mas continua assim que conseguir: corrija o armazenamento (espaço, Redis) e repita o comando, ou encerre os processos (SIGTERM).`,
    pauseUnsure: (why: string) =>
      `${why} Não se sabe se a mesa está em pausa; considere que não está. Ela não envia lances enquanto não consegue ler os controles, mas continua assim que conseguir: corrija o Redis e repita o comando, ou encerre os processos (SIGTERM).`,
    pauseUnkept: (why: string) =>
      `${why} A mesa está em pausa: o Redis tem a ordem, e cada processo que a lê obedece. O Kafka ainda não a guarda: não esvazie nem restaure o Redis até que os brokers voltem a responder. Uma mesa em execução então a grava ali sozinha.`,
    unseen: (revision: number, why: string) =>
      `${why} Guardado como revisão ${revision}, mas não se sabe se os processos obedecem: veja /readyz?verbose de cada um, ou repita o comando.`,
    changeNotStored: (why: string) =>
      `${why} Nada foi alterado: corrija o armazenamento (espaço, Redis) e repita o comando.`,
    changeUnsure: (why: string) =>
      `${why} Não se sabe se algo foi alterado: corrija o Redis, veja \`lance doctor\` e, se preciso, repita o comando.`,
    changeUnkept: (why: string) =>
      `${why} A ordem vale: o Redis a tem, e cada processo que a lê obedece. O Kafka ainda não a guarda: não esvazie nem restaure o Redis até que os brokers voltem a responder. Uma mesa em execução então a grava ali sozinha.`,
    notPaused: (revision: number, count: number) =>
      `A mesa não estava em pausa; os lances continuam (revisão ${revision}), por ${processes(count)}.`,
    storedNotPaused: (revision: number) =>
      `A mesa não estava em pausa (revisão ${revision}). Nenhum processo está rodando.`,
    restored: (until: string, revision: number, count: number) =>
      `A mesa não está mais em pausa (revisão ${revision}), obedecida por ${processes(count)}, mas não dá lance a nada recebido antes de ${until}: depois da restauração não se sabe o que recebeu lance.`,
    storedRestored: (until: string, revision: number) =>
      `Liberação guardada (revisão ${revision}). Nenhum processo está rodando; nada recebido antes de ${until} recebe lance: depois da restauração não se sabe o que recebeu lance.`,
    storedResume: (revision: number) => `Liberação guardada (revisão ${revision}). Nenhum processo está rodando.`,
    cap: (name: string, limit: string, revision: number, count: number) =>
      `Teto ${name}: ${limit} por dia (revisão ${revision}), obedecido por ${processes(count)}. Conta os lances decididos enquanto há um teto com este nome; o que foi prometido sem nenhum não entra.`,
    capRemoved: (name: string, revision: number, count: number) =>
      `Teto ${name} tirado (revisão ${revision}), por ${processes(count)}.`,
    capOneMore: (name: string) =>
      `O teto ${name} não mudou: para subir, outra pessoa tem de dar a mesma ordem em um dia, com o seu token.`,
    capIdentity:
      'Dois têm de responder por um teto que sobe, e um nome digitado não diz quem é: use LANCE_URL e LANCE_TOKEN.',
    capSameName: (name: string, known: string) =>
      `Nada foi mudado, e nenhum teto ${name} foi posto: já há um teto ${known}, e os dois nomes só diferem em maiúsculas ou acentos. Para mudar esse: lance cap ${known} --reais-a-day N.`,
    capNone: (name: string, nearest?: string) =>
      `Não há teto ${name} posto à mão. ${nearest === undefined ? '' : `Quis dizer ${nearest}? `}O uso de um teto das regras aparece em cada decisão: lance bids show ID.`,
    ruleCapUsage: (name: string, used: string, count: number) =>
      `${name} é um teto das regras, não um posto à mão: ${used} em ${count} lances prometidos hoje. O limite está nas regras; um teto à mão com este nome contaria do zero.`,
    capCounts: (name: string, used: string) =>
      `Já contam nele ${used} prometidos hoje: havia um teto ${name} quando foram prometidos.`,
    capUsage: (name: string, used: string, limit: string) =>
      `Teto ${name}: ${used} de ${limit} prometidos hoje enquanto havia um teto com este nome.`,
    late: (revision: number, obeyedBy: string, late: string) =>
      `Guardado como revisão ${revision}. Confirmado por ${obeyedBy || 'nenhum processo'}; não confirmado em 6 s por ${late}. Procure cada um destes pelo nome na sua linha de log "started": o que terminou não precisa de nada, o que está travado deve ser encerrado (SIGKILL).`,
    held: (revision: number) =>
      `Guardado como revisão ${revision}. Um processo ocupa o diretório de dados e não dá sinal: está começando ou travou. Ele não dá lance antes de ler esta ordem. Um que travou deve ser encerrado (SIGKILL) e iniciado de novo; veja o log dele.`,
    silent: (name: string, at: string) => `${name} (nada se ouviu dele desde ${at}: pode não existir mais)`,
  },
  remote: {
    silent: (url: string, reason: string) =>
      `Nenhuma mesa responde em ${url} (${reason}); não se sabe de nada que tenha sido feito. Veja LANCE_URL e a rede até lá; sem LANCE_URL o comando trabalha junto ao armazenamento.`,
    refused: (url: string, status: number, detail: string) =>
      `${url} respondeu ${status}: ${faultPt(detail)}${status === 401 ? ' Na máquina da mesa, sem LANCE_URL, lance pause e os outros comandos trabalham junto ao armazenamento, sem token.' : ''}`,
    foreign: (url: string, status: number) =>
      `${url} respondeu ${status}, e não como uma mesa desta versão: veja LANCE_URL.`,
    otherIdentity: (token: string, by: string) =>
      `O token em LANCE_TOKEN é de ${token}, não de ${by}: omita --by, ou mostre o token de ${by}.`,
    readHere: (store: string, url: string) =>
      `Lido aqui, em ${store}, e não da mesa em ${url}: nenhuma mesa conta isto por LANCE_URL. Em outra máquina que não a da mesa, é de outro armazenamento.`,
    startOwnerNamed: (name: string) =>
      `${name} é o nome da sessão que o token inicial abre: informe quem é com --by NOME.`,
    unclearName:
      'O nome em --by tem caracteres que não se veem, ou letras de dois alfabetos que se parecem: digite-o de novo, sem copiar.',
    nobodyNamed: 'Informe quem dá a ordem com --by NOME, ou use um token: LANCE_URL e LANCE_TOKEN.',
  },
  tokens: tokensPt,
  controlShow: {
    pause: 'pausa',
    notPaused: 'nenhuma: a mesa não está em pausa',
    pausedBy: (by: string, at: string, reason: string) => `por ${by} desde ${at}: ${reason}`,
    cap: 'teto',
    capOf: (name: string, limit: string, who: { by: string; at: string; reason: string | null } | null) =>
      `${name}: ${limit} por dia${who === null ? '' : `, por ${who.by} em ${who.at}${who.reason === null ? '' : `: ${who.reason}`}`}`,
    waits: 'espera',
    raise: (name: string, wanted: WantedCap, by: string | null, until: string) => {
      const what = { to: `em ${wanted.limit} por dia`, away: 'retirado', untold: 'mais alto' }[wanted.kind];
      const order = {
        to: `lance cap ${name} --reais-a-day ${wanted.reais}`,
        away: `lance cap ${name} --remove`,
        untold: '',
      }[wanted.kind];
      const how = order === '' ? 'lance controls show diz quanto' : order;
      return `${by ?? 'alguém'} quer o teto ${name} ${what}; até ${until} outra pessoa tem de dar a mesma ordem com o seu token: ${how}`;
    },
    process: 'processo',
    processOf: (name: string, obeys: boolean, at: string) =>
      `${name} ${obeys ? 'obedece' : 'NÃO confirmou a última ordem'} (ouvido em ${at})`,
    noProcess: 'nenhum dá sinal de vida',
  },
  controlHistory: {
    folder: '(pasta de regras)',
    none: 'Ninguém mandou nada ainda.',
    more: (limit: number) => `… as ${limit} ordens mais recentes; use --limit para ver mais.`,
    what: {
      paused: 'pausa',
      resumed: 'liberação',
      capSet: (name: string, limit: string) => `teto ${name}: ${limit} por dia`,
      capRemoved: (name: string) => `teto ${name} retirado`,
      snoozed: (rule: string, until: string) => `regra "${rule}" suspensa até ${until}`,
      woken: (rule: string) => `regra "${rule}" de volta`,
      rules: (hash: string) => `regras ${hash}`,
      rulesFrom: (hash: string, from: string) => `regras ${hash}, a partir de ${from}`,
    },
    read: {
      'requests-exported': 'dados pessoais lidos: solicitações exportadas',
      'desk-exported': 'dados pessoais levados: a mesa foi exportada',
      'worker-searched':
        'dados pessoais lidos: busca por CPF (no console dito uma vez por dia; cada busca é um registro)',
      'margins-queried': 'dados pessoais lidos: margens por CPF (dito uma vez por dia; cada consulta é um registro)',
    },
    requests: (count: string) => `solicitações: ${count}`,
  },
  impact: impactPt,
  learn: learnPt,
  backtest: backtestPt,
  card: modelCardPt,
  page: pagePt,
  economics: economicsPt,
  performance: performancePt,
  views: {
    help: {
      views: 'o que foi derivado do registro: estados, exposição, estatísticas',
      verify: 'deriva tudo de novo do registro e compara linha por linha com o que está gravado',
      rebuild: 'com a mesa parada: tudo é derivado de novo do registro, no banco embutido na próxima partida',
    },
    none: 'Não há arquivo de estado no diretório de dados desta máquina: execute isto onde uma mesa rodou, com o LANCE_DATA_DIR dela.',
    unused: (partition: number, reason: string) =>
      `auctions-${partition} não foi comparada, pois nenhuma mesa continua com ela: ${reason}.`,
    older: (partition: number, first: number) =>
      `O registro de auctions-${partition} começa em ${first}: linhas de registros anteriores, e o que foi aprendido, não foram comparados.`,
    rebuilt: (partitions: number, records: number) =>
      `As visões foram refeitas: ${records} registros derivados, ${partitions} partições. Inicie a mesa.`,
    folding: 'registro',
    logEnds: (position: number, end: number) =>
      `O registro acaba em ${position}, e as visões estão em ${end}. Veja lance audit verify.`,
    beingMade: 'As visões estão sendo refeitas agora; execute de novo quando lance doctor as disser em dia.',
    same: (applied: number, rows: number) =>
      `As visões são o que o registro dá: ${applied} registros derivados de novo, ${rows} linhas comparadas.`,
    differ: (table: string, changed: number, missing: number, extra: number) =>
      `${table}: ${changed} linhas diferem, ${missing} faltam, ${extra} sobram.`,
    what: { changed: 'difere', missing: 'falta', extra: 'sobra' },
    value: (name: string, stored: string, folded: string) => `${name} é ${stored}, deveria ser ${folded}`,
    remedy:
      'Solução: lance pause, pare a mesa, lance views rebuild, inicie. Antes, veja com lance audit verify se o próprio registro foi alterado.',
    givenUp: 'Na próxima partida as visões são refeitas do registro; até lá não há lances, e nada se perde.',
  },
  audit: {
    progress: 'cadeia',
    none: 'O registro deste tipo não tem cadeia de hashes; seus servidores o guardam.',
    intact: (entries: number, head: string, all: number, anchors: number, anchoredAt: string | null) =>
      `A cadeia está intacta: ${entries} registros, cabeça ${head}. Com as outras tabelas: ${all} registros. ${anchoredAt === null ? 'Nenhuma âncora foi comparada.' : `${counted('pt', 'âncora confere', 'âncoras conferem')(anchors)}, a última de ${anchoredAt}.`}`,
    broken: (table: string, offset: number, what: string, until: number | null) =>
      `A cadeia está quebrada no registro ${offset} de ${table}${until === null ? '' : ` (ou num posterior, até ${until})`}: ${what}.`,
    remedy: (text: string) => `Solução: ${text}.`,
    remedies: {
      edited:
        'pare a mesa, guarde uma cópia do que está lá e ponha de volta uma cópia de antes da alteração; depois lance audit accept-restore, pois essa cópia está atrás da âncora',
      setBack:
        'pare a mesa e ponha de volta o que falta: lance.sqlite-wal depois de uma queda, ou uma cópia mais nova do diretório inteiro. Onde não há nenhuma, lance audit accept-restore aceita o que está lá',
      topicSetBack:
        'pare todas as mesas e ponha os tópicos de volta; onde não é possível, lance audit accept-restore aceita o que está lá',
      controls:
        'veja com lance doctor se os lances estão em pausa e quais tetos valem, e diga de novo o que deve valer com lance pause, resume ou cap',
      anchors:
        'se o diretório de dados foi movido, mova também os arquivos da âncora: ficam ao lado do antigo (ANTIGO.anchor, ANTIGO.anchor.mark etc.) e levam o nome novo; senão, ponha de volta uma cópia das âncoras. Onde não há nenhuma, pare a mesa, deixe os outros arquivos da âncora onde estão, pois dizem o que já teve lance, e execute lance audit accept-restore',
    },
    tampering: {
      changed: 'foi alterado',
      deleted: 'foi excluído',
      inserted: 'foi incluído depois',
      reordered: 'está no lugar de outro: registros mudaram de ordem',
      rewritten: 'registros foram alterados e a cadeia foi refeita: uma âncora difere',
      truncated: 'existia e falta, com todos os seguintes: o final foi cortado',
      'front-cut':
        'os primeiros registros foram apagados antes do prazo em que deviam ser guardados; os que restam não foram alterados por isso',
    },
    anchorBroken: (place: string, line: number) =>
      `As âncoras ${place} foram editadas${line === 0 ? ' (a marca ao lado delas)' : ` em ${line} (linha do arquivo ou lugar no tópico)`}: essa linha não foi assinada com a chave do registro, ou falta uma anterior. As cadeias em si são coerentes.`,
    anchorMissing: (place: string) =>
      `O registro foi ancorado, ou é de uma versão que ancora todo registro, e ${place}, parte da âncora, falta ou está incompleto: ninguém pode dizer se ele foi refeito. As cadeias em si são coerentes.`,
    unverified: (text: string) => `Não verificado: ${text}`,
    notVerified: {
      noKey: 'as assinaturas das âncoras; informe LANCE_AUDIT_KEY ou LANCE_PSEUDONYM_KEY.',
      otherKey: (count: number) =>
        `${counted('pt', 'âncora assinada', 'âncoras assinadas')(count)} com outra chave; informe a LANCE_AUDIT_KEY (sem ela, a LANCE_PSEUDONYM_KEY) da mesa.`,
      noAnchor: (place: string) =>
        `se o final foi cortado ou uma cadeia inteira foi refeita: não há a âncora ${place} (LANCE_AUDIT_ANCHOR).`,
      noAnchorOnTopic: (place: string) =>
        `se os tópicos são mais curtos do que eram ou têm outro conteúdo: não há âncora no tópico ${place}; uma mesa em execução grava uma a cada poucos minutos.`,
      beforeChain: (table: string, until: number) =>
        `${table}, um por um, antes do registro ${until}: são anteriores à cadeia da tabela e foram conferidos em conjunto.`,
      beforeKey: (entries: number, at: string) =>
        `se os ${entries} registros anteriores a ${at} foram refeitos até então: são de uma versão que não assinava nada, ou suas cabeças assinadas não estavam lá quando uma restauração foi aceita. O que veio depois está assinado.`,
      lostPart: (count: number, at: string) =>
        `${counted('pt', 'âncora', 'âncoras')(count)} de uma parte perdida; a restauração de ${at} foi aceita.`,
      margins: (rows: number) =>
        `margens no cache (${rows}): esta mesa não as gravou, ou seja, alguém as editou ou uma versão anterior as gravou. Elas ficam de fora e são consultadas de novo.`,
      expired: (table: string, until: number) => `${table} antes do registro ${until}: o registro não os guarda mais.`,
    },
    restored: (at: string, by: string, reason: string) => `Restauração aceita em ${at} por ${by}: ${reason}`,
    imported: (at: string, source: string, hash: string) =>
      `Importado em ${at} de ${source}, SHA-256 dos registros do arquivo ${hash}`,
    nothingToAccept:
      'Nada a aceitar: o registro é tão longo quanto dizem suas âncoras. Se algum registro foi editado, lance audit verify diz. Nada foi gravado, e os lances seguem como estavam. Se as âncoras voltaram junto com uma cópia, tire-as do lugar e execute de novo.',
    pauseReason: (reason: string) => `restauração aceita: ${reason}`,
    accepted: (
      { claimed, withOffer }: { claimed: number; withOffer: number },
      promised: string,
      until: string | null,
    ) =>
      `Aceito e registrado. ${claimed} solicitações que receberam lance na parte perdida não recebem outro lance. Cada uma conta como desconhecida até que o fim do leilão, um evento ou uma pessoa diga como o lance terminou; ${withOffer} delas contam nos tetos com os ${promised} ofertados${withOffer === claimed ? '' : ', as outras com o valor pedido, onde o registro ainda o tem'}.${until === null ? '' : ` Não se sabe se houve outras: nada do que for recebido antes de ${until} recebe lance, e o que pode ter sido prometido nelas não conta em nenhum teto.`} Os lances estão em pausa: compare com o serviço (lance bids list --state unknown; lance bids resolve), ajuste os tetos (lance cap) e depois lance resume.`,
    lostRecords: ({ auctions, callbacks, flows, deadLetters }: LostRecords) =>
      `Perdidos, até onde a âncora diz: ${auctions} gravações de solicitações e seus lances, ${callbacks} eventos do serviço, ${flows} gravações de contratos e outros fluxos, ${deadLetters} mensagens mortas.`,
    recordsUnknown:
      'Não se sabe quantas gravações de solicitações, lances, eventos e fluxos se perderam: nada restou da âncora para comparar.',
    lostOrders: {
      token_book: (count: number) =>
        `${count} sobre tokens: um token revogado desde então volta a valer (lance tokens list)`,
      rule_book: (count: number) =>
        `${count} sobre conjuntos de regras e sua aprovação (lance rules history; lance rules approval)`,
      control_changes: (count: number) => `${count} sobre pausas, tetos e regras (lance controls history; lance cap)`,
    },
    ordersUnknown:
      'Não se sabe que ordens de pessoas se perderam. Veja antes de lance resume: lance tokens list (um token revogado desde então volta a valer), lance rules history, lance rules approval, lance controls history, lance cap.',
    ordersAgain: (orders: readonly string[]) =>
      `Ordens de pessoas que se perderam e precisam ser dadas de novo antes de lance resume:\n${orders.map((text) => `  ${text}`).join('\n')}`,
    passOverReason: (reason: string) => `lote de registros deixado de fora: ${reason}`,
    onBrokersOnly: 'Um registro em arquivo não tem lotes: lance audit verify diz o que há de errado com ele.',
    passedOver: (place: string, [first, last]: readonly [number, number], until: string) =>
      `O lote de ${place} nas posições ${first} a ${last} fica de fora a partir da próxima partida. Ele pode ter contido registros da mesa: nada do que chegar antes de ${until} recebe lance, e a mesa fica pausada. Compare lances e contratos abertos com o serviço antes de lance resume.`,
    help: {
      passOver:
        'deixa de fora de vez um lote que não se consegue descompactar, como o alarme partition-closed o nomeia (Kafka)',
      passOverPlace: 'tópico e partição, como lance.auctions/1',
      passOverOffset: 'uma posição do lote',
      accept:
        'aceita um registro que voltou a um estado anterior (cópia restaurada) e nunca repete lances da parte perdida',
      emptied: 'os registros se perderam de vez, e a mesa começa sem nenhum',
    },
  },
  move: movePt,
  sandbox: {
    up: (url: string) => `Serviço simulado em ${url}`,
    point: 'Aponte a mesa para ele, noutro terminal:',
    stream: 'e, depois de Ctrl-C aqui, mande-lhe solicitações:',
    stop: 'Ctrl-C encerra.',
    needs: 'A mesa precisa rodar com:',
    operator: (secret: string) => `As chamadas de /v1 levam então o cabeçalho "authorization: Bearer ${secret}".`,
    known: 'Pessoas fictícias das primeiras solicitações (para cada uma pode-se pedir um saque-aniversário):',
    people: [
      'Solicitação',
      'CPF',
      'Nome',
      'Matrícula',
      'Empregador (1 CNPJ, 2 CPF)',
      'Nascimento',
      'Saldo FGTS',
      'NSU',
    ],
    takers: 'Ganhas e aceitas pelo trabalhador; pode-se pedir o contrato de',
    orderValues: 'Valores que este serviço aceita no que lance contracts example deixa em aberto:',
    noTakers:
      'Nenhum lance foi ganho e aceito pelo trabalhador: envie mais solicitações ou veja os lances da mesa. Um serviço simulado que recomeça envia as mesmas solicitações, que a mesa já conhece: --seed 2 envia outras.',
    stays: (url: string) => `O serviço continua em ${url} para as etapas depois do lance ganho.`,
    waiting: (target: string) => `Esperando por ${target} …`,
    unreachable: (target: string) => `Ninguém responde em ${target}; inicie lance run ali ou corrija --target.`,
    badTarget: 'escreva um endereço inteiro, como http://127.0.0.1:8080/webhooks/TOKEN',
    badSettings: (where: string) => `--settings não é JSON válido. ${jsonFaultPt(where)}`.trimEnd(),
    window: (seconds: number) => `A janela dos leilões é de ${seconds} s; bidding.windowMs da mesa deve ser igual.`,
    finalisation: (settings: string) =>
      `Saques são finalizados, e seus estados entendidos, com isto num arquivo indicado por LANCE_CONFIG:\n  ${settings}`,
    summary: {
      requests: 'solicitações',
      bids: 'lances que chegaram',
      ended: 'leilões encerrados',
      ours: 'com lance nosso',
      won: 'ganhos',
      taken: 'aceitos pelo trabalhador',
      asked: 'perguntas à fonte',
      webhooks: 'webhooks entregues',
      givenUp: 'abandonados',
    },
  },
  bidding: biddingPt,
  status: statusPt,
  demo: demoPt,
  doctor: doctorPt,
  quote: quotePt,
  rules: rulesPt,
  flows: flowsPt,
  worker: workerPt,
  letters: lettersPt,
  review: reviewPt,
  mapping: mappingPt,
  parsing: parsingPt,
  badLanguage: (value: string) => `LANCE_LANG é "${value}": escreva pt ou en.`,
};
