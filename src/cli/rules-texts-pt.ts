/** What the `rules` commands say, in Brazilian Portuguese; the shape is the catalogue's. */

import { counted } from './plural.ts';
import { ruleFaultPt } from './rule-fault-texts-pt.ts';

const processes = counted('pt', 'processo', 'processos');
const tests = counted('pt', 'teste', 'testes');
const lines = counted('pt', 'linha', 'linhas');

/** A comparison is in the words of the file; what else tests have to show is said in English. */
function conditionPt(condition: string): string {
  if (condition === 'any row, in a test that is not generated') return 'alguma linha, em um teste que não é gerado';
  return condition.replace(/^(\S+) is known$/, '$1 conhecido');
}

export const rulesPt = {
  /** What is wrong in a file of rules, which is written in English. */
  fault: ruleFaultPt,
  help: {
    rules: 'regras: conferir, testar, experimentar, explicar, importar, medir o impacto, ativar',
    check: 'faz com uma pasta de regras tudo o que a ativação faz, sem ativá-la',
    test: 'roda os testes ao lado das regras e diz o que eles não mostram',
    try: 'mostra o que uma regra pegaria entre as últimas solicitações',
    hits: 'quantas vezes cada regra do conjunto que vale moldou um desfecho, como as decisões registraram',
    backtest:
      'o que cada regra teria evitado dos empréstimos com desempenho conhecido: o que isso teria poupado e o que teria custado',
    hitsSince:
      'decididas desde então: um dia (2026-11-23) ou um minuto (2026-11-23T14:30), hora de Brasília; senão, desde que o conjunto vale',
    hitsUntil: 'decididas até então; senão, até agora',
    explain: 'cada condição de cada regra com o valor que viu nestes fatos',
    diff: 'o que um conjunto diz diferente de outro, valor a valor: antes → depois',
    checkout: 'escreve os arquivos de um conjunto guardado em uma pasta',
    set: 'live (o que decide), o começo do hash de um conjunto guardado, ou uma pasta',
    setElse: 'o mesmo; senão LANCE_RULES_DIR ou a pasta que acompanha',
    emptyDir: 'pasta vazia, ou que ainda não existe',
    schema: 'escreve em schema/ os esquemas JSON e o catálogo de fatos',
    import: 'faz de um CSV uma lista ou uma tabela de decisão; aponta cada linha ruim',
    new: 'escreve uma pequena regra, tabela ou scorecard com seus testes, para editar; nunca sobre um arquivo que já existe',
    newKind: 'o que é: recusa (pass), limite (limit), tabela de decisão (table), scorecard (score)',
    newName: 'nome dos arquivos, em minúsculas e hífens',
    reasons: 'o que se diz ao trabalhador em cada motivo de não haver oferta, em português e inglês',
    dir: 'pasta das regras; sem ela, LANCE_RULES_DIR ou a que vem junto',
    coverage: 'cobertura mínima, em porcento',
    junit: 'escreve os resultados em XML do JUnit neste arquivo',
    percent: 'escreva um número inteiro de 0 a 100',
    rule: 'nome da regra',
    last: 'quantas solicitações, no máximo',
    checkLast: 'diz os fatos extra. que nenhuma de tantas solicitações gravadas trouxe',
    run: 'só os testes cujo nome contém isto',
    request: 'uma solicitação da mesa em vez do arquivo: com o que se sabia quando foi decidida',
    factsOrRequest: 'escreva o nome de um arquivo com fatos, ou --request ID',
    facts: 'arquivo JSON com os fatos: {"worker.ageYears": 30}',
    csv: 'arquivo CSV, com vírgula ou ponto e vírgula, ou .xlsx',
    sheet: 'planilha do .xlsx, quando ele tem mais de uma',
    list: 'nome da lista, em minúsculas e hífens',
    fact: 'o fato que a lista procura',
    table: 'nome da tabela, em minúsculas e hífens',
    event: 'evento das linhas da tabela',
    title: 'nome da tabela para pessoas',
    priority: 'prioridade das regras da tabela',
    stage: 'antes (request) ou depois (offer) do preço',
    description: 'para que serve',
    owner: 'quem responde por ela',
    hash: 'começo do hash do conjunto, ao menos 6 caracteres',
    snooze: 'suspende uma regra por um tempo: até lá ela não vale',
    resume: 'traz uma regra suspensa de volta antes da hora',
    snoozes: 'as regras suspensas: até quando, por quem, por quê',
    until: 'um dia (incluído) ou um minuto em Brasília, 2026-11-27 ou 2026-11-27T18:00; até 30 dias à frente',
    activation: {
      propose: 'confere a pasta e guarda o conjunto com o nome do autor',
      approve: 'aprova um conjunto de outra pessoa; aprovado, ele passa a valer',
      activate: 'faz valer um conjunto guardado',
      rollback: 'volta ao conjunto de antes, ou ao que se diz',
      approval: 'duas pessoas respondem por cada conjunto: on, ou off de novo, o que duas pessoas têm de dizer',
      approvalWord: 'on ou off',
      approvalOf: 'do quê: conjuntos de regras, tetos postos à mão que sobem ou saem, ou a economia da configuração',
      reason: 'o mesmo que --comment',
      comment: 'por quê, guardado junto e mostrado por history; um CPF nele é apagado',
      history: 'o que foi feito de cada conjunto: quem, quando, o que mudou',
    },
  },
  truths: { true: 'verdadeira', false: 'falsa', unknown: 'indefinida', linkNotOnRecord: 'vínculo fora do registro' },
  groups: { all: 'todas', any: 'alguma', atLeast: 'ao menos', not: 'não', named: 'condição' },
  atLeast: (count: number) => `ao menos ${count} de`,
  refused: (count: number) => `As regras foram recusadas, ${count} ${count === 1 ? 'falta' : 'faltas'}:`,
  warnings: (count: number) => `${count} ${count === 1 ? 'aviso' : 'avisos'}:`,
  testFailed: (field: string, expected: string, actual: string) => `${field}: esperava ${expected}, veio ${actual}`,
  uncovered: (rule: string, condition: string | null, missing: string) =>
    `"${rule}"${condition === null ? '' : `, ${conditionPt(condition)}`}: nunca ${missing} nos testes`,
  tested: (count: number, failed: number, coverage: string, least: string) =>
    `${tests(count)}, ${failed} com falha; cobertura ${coverage}, mínimo ${least}.`,
  tooLittle: (share: string) => `Os testes mostram ${share} das regras, o que não basta.`,
  good: (count: number, hash: string) => `${count} regras em ordem, conjunto ${hash}.`,
  bad: 'Este conjunto não pode ser ativado.',
  more: (count: number) => `… e mais ${count}.`,
  saw: (value: string) => `(viu ${value})`,
  absent: 'nada',
  notValid: '(fora da validade)',
  snoozed: '(suspensa)',
  conditions: 'Regras, condição por condição',
  noPass: 'Nenhuma regra recusa estes fatos.',
  limitRefuses: (rule: string, limit: string, value: string) =>
    `O limite de "${rule}" recusa esta solicitação: ${limit} ${value}.`,
  asksReview: (rule: string, queue: string, minutes: number, otherwise: string) =>
    `"${rule}" pergunta à fila ${queue} antes do lance, por no máximo ${minutes} min; sem resposta: ${otherwise}.`,
  nearest: (fact: string, from: string, to: string) => `bastaria ${fact}: de ${from} para ${to}`,
  nearestNone: 'Nenhuma mudança de um só fato, entre as tentadas, bastaria.',
  noRule: (name: string, hint: string) => `Não há regra "${name}". ${hint}`,
  isNoRule: (name: string, rules: string, first: string) =>
    `Não há regra "${name}". As regras são: ${rules}. Diga uma delas: lance rules try "${first}" --last 500.`,
  explainId: (id: string) => `Não há arquivo ${id}; para a solicitação com este id escreva --request ${id}.`,
  factsForBase: (facts: string, files: string) =>
    `Há testes recusados por falta de um fato que uma regra agora olha: ponha ${facts} com um valor no "base" de ${files}.`,
  noTest: (name: string, hint: string) => `Nenhum teste tem "${name}" no nome. ${hint}`,
  trying: 'solicitações',
  tried: (name: string, count: number, hits: number, unknown: number, misses: number) =>
    `"${name}" em ${count} solicitações: verdadeira em ${hits}, indefinida em ${unknown}, falsa em ${misses}.`,
  triedWithoutLink: (count: number) =>
    `Em mais ${count} não se sabe: a regra olha fatos do vínculo do trabalhador, que não estão no registro porque ninguém o consultou então. Ao vivo, a mesa o teria consultado.`,
  triedHeader: ['solicitação', 'estado', 'código', 'a regra'],
  reading: 'registros',
  hitsOf: (hash: string, since: string, until: string) => `Conjunto ${hash}, decisões de ${since} a ${until}:`,
  hitsTotal: (decisions: string, bids: string, passes: string, byRules: string) =>
    `${decisions} decisões: ${bids} de lançar, ${passes} de recusar, ${byRules} destas por uma regra.`,
  hitsByOthers: (count: string) => `Mais ${count} por outros conjuntos, que não entram na conta.`,
  hitsHeader: ['regra', 'evento', 'efeito', 'decidiu', 'sozinha', 'sem fato', 'cheio', 'suspensa'],
  backtestAll: 'todos os empréstimos',
  backtestHeader: [
    'regra',
    'evento',
    'empréstimos',
    'sem fato',
    'liberado',
    'encerrados',
    'poupado: perdas',
    'custo: ganhos',
    'saldo',
  ],
  backtestWithoutLink: (rules: string) =>
    `Faltavam fatos de um vínculo que ninguém tinha consultado; esses empréstimos não entram em nenhum número destas regras: ${rules}.`,
  backtestNote:
    'Cada regra sozinha, sobre os empréstimos do arquivo, até o último mês conhecido de cada um. Empréstimos: os que ela teria evitado, com os indefinidos (sem fato) entre eles; de um limite, os que ficam fora dele, inteiros, embora um menor pudesse ter sido feito. Poupado: o que se perdeu. Custo: juros pagos menos o custo de captação. Não se olham limites de spread e lucro. O que as regras da época recusaram não está em arquivo nenhum, e ninguém sabe como teria ido.',
  hitsNote:
    'efeito: decisões em que a regra teve efeito; decidiu: recusas cujo primeiro motivo é ela; sozinha: destas, as sem outro motivo; sem fato: recusas em que lhe faltou um fato; cheio: recusas por falta de espaço sob o teto dela, ou porque nada cabia nos limites dela; suspensa: decisões sem a voz dela.',
  noCpf: 'não é um CPF com dígitos verificadores certos nem um pseudônimo; escreva os 11 dígitos do CPF',
  noKey: 'Falta LANCE_PSEUDONYM_KEY: sem ela não se faz o pseudônimo de um CPF.',
  badLine: (file: string, line: number, text: string) => `${file}:${line}: ${text}`,
  badName: (name: string) => `O nome "${name}" não serve: use minúsculas, dígitos e hífens, como "blocked-workers".`,
  sheetTooLong: (file: string, megabytes: number) =>
    `${file} tem mais de ${megabytes} MB; retire o que não faz parte da tabela.`,
  unreadable: (file: string, why: string, what: string) =>
    `${file} não pode ser lido (${why}); dê o caminho de: ${what}.`,
  importWhat: 'Diga --list NOME com --fact FATO, ou --table NOME com --event EVENTO.',
  importRefused: (count: number) => `${count} ${count === 1 ? 'falta' : 'faltas'}; nada foi escrito.`,
  imported: (path: string, count: number) => `${path}: ${lines(count)}.`,
  reasonMissing: '(não escrito)',
  reasonsMissing: (codes: string) =>
    `Ninguém escreveu o que se diz ao trabalhador em ${codes}: diga em codes.json, em "worker", {"${codes.split(', ')[0]}": {"pt": "…", "en": "…"}}.`,
  draft: {
    exists: (path: string) => `${path} já existe: escolha outro nome, ou edite esse arquivo.`,
    codeMeaning: 'A editar: o que significa este motivo de recusa.',
    passDescription: 'A editar: por que se recusam tais solicitações. Foram pedidas menos de 6 parcelas.',
    passReason: 'Foram pedidas menos de 6 parcelas.',
    limitDescription: 'A editar: por que se oferece menos. No primeiro ano, no máximo R$ 3.000 em 18 meses.',
    tableDescription: 'A editar: o que depende de quê. Valor e prazo pela idade do empregador, em meses.',
    scoreDescription: 'A editar: o que os pontos dizem. Quão provável é que o vínculo dure.',
    scoreRuleDescription: 'A editar: o que a faixa significa. Na faixa B, no máximo R$ 3.000 em 18 meses.',
    holds: (fact: string, value: number) => `${fact} ${value}: vale`,
    doesNotHold: (fact: string, value: number) => `${fact} ${value}: não vale`,
    isUnknown: (fact: string) => `${fact} desconhecido: na dúvida, vale`,
    inRow: (fact: string, value: number, row: number) => `${fact} ${value}: linha ${row}`,
    inBand: (band: string, points: number) => `${points} pontos: faixa ${band}`,
    withoutPoints: (fact: string, points: number) => `${fact} desconhecido: ${points} pontos`,
    withoutScore: (fact: string) => `${fact} desconhecido: sem pontuação, e na dúvida o limite vale`,
    next: {
      pass: (directory: string) =>
        `Agora edite a condição e o motivo, o significado do código em codes.json (em "worker", o que se diz ao trabalhador), e os testes; os fatos estão em rules/schema/facts.md. Só vale a partir de 2099: tire "validFrom" quando estiver pronta. Depois: lance rules test ${directory}`,
      limit: (directory: string) =>
        `Agora edite a condição, os limites e os testes; os fatos estão em rules/schema/facts.md, os limites em rules/README.md. Só vale a partir de 2099: tire "validFrom" quando estiver pronta. Depois: lance rules test ${directory}`,
      table: (directory: string) =>
        `Agora edite entradas, saídas, linhas e testes; duas linhas nunca podem valer ao mesmo tempo. Só vale a partir de 2099: tire "validFrom" quando estiver pronta. Depois: lance rules test ${directory}`,
      score: (directory: string) =>
        `Agora edite as faixas de valores, seus pontos e as faixas da pontuação, a regra que as olha, e os testes. Só vale a partir de 2099: tire "validFrom" quando estiver pronta. Depois: lance rules test ${directory}`,
    },
  },
  snooze: {
    header: ['regra', 'até', 'quem', 'por quê'],
    none: 'Nenhuma regra está suspensa.',
    changed: '(mudou desde então: vale)',
    unknown: (rule: string, nearest: string | null) =>
      `O conjunto que vale não tem a regra "${rule}".${nearest === null ? ' lance rules diff live mostra as regras dele.' : ` Seria "${nearest}"?`}`,
    untilOutside: (latest: string) =>
      `Uma regra fica suspensa até uma hora futura, no máximo ${latest}. Por mais tempo, proponha um conjunto sem ela.`,
    needsApproval:
      'Aqui duas pessoas respondem pelas regras, e por isso nenhuma é suspensa por uma só: proponha um conjunto sem ela.',
    asleep: (rule: string, until: string, revision: number, count: number) =>
      `A regra "${rule}" não vale até ${until}, a não ser que mude (revisão ${revision}), obedecida por ${processes(count)}. lance rules resume a traz de volta.`,
    awake: (rule: string, revision: number, count: number) =>
      `A regra "${rule}" volta a valer (revisão ${revision}), em ${processes(count)}.`,
    awakeAlready: (rule: string, asleep: string) =>
      `A regra "${rule}" não está suspensa. Suspensas: ${asleep === '' ? 'nenhuma' : asleep}.`,
  },
  sets: {
    between: (before: string, after: string) => `De ${before} para ${after}:`,
    nothing: 'nada',
    notEmpty: (directory: string) => `${directory} não está vazia: indique uma pasta vazia, ou que ainda não exista.`,
    written: (hash: string, count: number, directory: string) =>
      `O conjunto ${hash}, ${count} arquivos, está em ${directory}. A mesa segue a pasta dela: LANCE_RULES_DIR.`,
  },
  activation: {
    header: ['quando', 'conjunto', 'o quê', 'quem', 'mudanças'],
    kinds: {
      proposed: 'proposto',
      approved: 'aprovado',
      activated: 'anunciado',
      'approval-required': 'aprovação exigida',
      'approval-lift': 'pede fim da aprovação',
    },
    configuration: '(configuração)',
    approvalOn: 'De agora em diante duas pessoas respondem por cada conjunto.',
    approvalOff: 'Nenhum conjunto precisa de aprovação.',
    approvalOneMore: (of: 'rules' | 'caps' | 'economics') =>
      `Registrado; falta outra pessoa dizer o mesmo com um token em até um dia: lance rules approval off${of === 'rules' ? '' : ` --of ${of}`}. "on" desfaz.`,
    capApprovalOn: 'De agora em diante duas pessoas respondem por cada teto posto à mão que sobe ou sai.',
    capApprovalOff: 'Uma pessoa basta para subir ou tirar um teto posto à mão.',
    about: { caps: 'tetos', economics: 'economia' },
    economicsOn: 'De agora em diante duas pessoas respondem por outra economia na configuração.',
    economicsOff: 'O processo decide pela economia da sua configuração; ninguém precisa aprová-la.',
    approvalConfigured:
      'Registrado; mas a configuração ainda exige aprovação: ponha rules.approval em false e reinicie.',
    changes: { added: 'inclusão de', removed: 'retirada de', changed: 'alteração de' },
    parts: {
      rule: 'regra',
      list: 'lista',
      table: 'tabela',
      codes: 'códigos',
      conditions: 'condição',
      events: 'evento',
      bases: 'base de testes',
      facts: 'fato calculado',
      holidays: 'feriados',
      score: 'scorecard',
      source: 'fonte externa',
      values: 'tabela de valores',
      tests: 'testes',
    },
    noChange: 'nenhuma mudança',
    folder: '(pasta)',
    noHistory: 'Nenhum conjunto de regras foi proposto ainda.',
    unknown: (word: string) =>
      `Nenhum conjunto guardado começa com "${word}". Escreva ao menos 6 caracteres; "lance rules history" mostra todos.`,
    ambiguous: (word: string, count: number) => `${count} conjuntos começam com "${word}": escreva mais caracteres.`,
    followedAlready: (hash: string) => `O conjunto ${hash} já é o seguido.`,
    announced: (hash: string, at: string, count: number) =>
      `O conjunto ${hash} vale a partir de ${at}; ${counted('pt', 'processo avisado', 'processos avisados')(count)}.`,
    proposed: (hash: string, changes: string, next: 'approve' | 'activate') =>
      `Conjunto ${hash} guardado: ${changes}.\nAgora: lance rules ${next} ${hash}${next === 'approve' ? ', com o token de outra pessoa (LANCE_URL, LANCE_TOKEN)' : ' --by NOME'}`,
    samePerson: (hash: string, names: string) =>
      `Pelo conjunto ${hash} já responde(m) ${names}: quem aprova tem de ser outra pessoa.`,
    oneMore: (hash: string) =>
      `Aprovação do conjunto ${hash} guardada. Como o autor não é conhecido, falta mais uma pessoa aprovar.`,
    notApproved: (hash: string) =>
      `O conjunto ${hash} não tem a aprovação de uma segunda pessoa: lance rules approve ${hash}, com o token de outra pessoa (LANCE_URL, LANCE_TOKEN)`,
    late: (hash: string, at: string, names: string) =>
      `O conjunto ${hash} vale a partir de ${at}, mas ${names} ainda não o conhece(m).`,
    review: (hash: string, until: string) =>
      `Para voltar basta uma pessoa. Outra tem de conferir até ${until}: lance rules approve ${hash}, com um token seu. Até que outro conjunto seja ativado, a pasta só entra em vigor com lance rules activate.`,
    reviewed: (hash: string) => `Registrado: outra pessoa conferiu a volta ao conjunto ${hash}.`,
    rolledBack: 'voltou-se a ele',
    refreshes: (hash: string) => `renova ${hash}`,
    identityNeeded:
      'Quem aprova tem de ser conhecido: defina LANCE_URL e LANCE_TOKEN, cada pessoa com um token seu (lance tokens create). Um nome digitado nunca conta.',
    noneBefore: 'Nenhum outro conjunto valeu antes: não há para onde voltar.',
  },
};
