/**
 * What keeps a command from working is written in English, for logs and programs read it too; its sentences in Portuguese, line by
 * line. What is not known stays as it is: names, places and the words of the system are the same in both.
 */
import { lostFiles, storeSentences } from './store-fault-texts-pt.ts';

export type Sentence = readonly [english: RegExp, portuguese: string];

const setting = String.raw`[A-Za-z_][\w.[\]]*(?: \([\w.[\]]+\))?`;

const remedies: readonly Sentence[] = [
  [
    /^set the secret that this desk began with; for a new desk one of at least 32 characters, and keep it$/,
    'defina o segredo com que esta mesa começou; para uma mesa nova, um de pelo menos 32 caracteres, e guarde-o',
  ],
  [
    /^choose one or several tokens of at least 16 letters and digits, separated by commas$/,
    'escolha um ou mais tokens de pelo menos 16 letras e dígitos, separados por vírgulas',
  ],
  [/^set the root address of the service, like (\S+)$/, 'defina o endereço raiz do serviço, como $1'],
  [
    /^set the complete address that workers are shown, like (\S+)$/,
    'defina o endereço completo que os trabalhadores veem, como $1',
  ],
  [
    /^set it, or set LANCE_TOKEN_COMMAND to a program that prints a token$/,
    'defina-a, ou ponha em LANCE_TOKEN_COMMAND um programa que imprime um token',
  ],
  [/^name the directory that holds the log$/, 'indique o diretório do log'],
  [
    /^name a directory of this machine, of this process alone, for the files that it folds its partitions into$/,
    'indique um diretório desta máquina, só deste processo, para os arquivos das suas partições',
  ],
  [/^(.*) is kafka; name brokers as host:port$/, '$1 é kafka; indique os brokers como host:porta'],
  [
    /^(.*) is kafka; name the root of the schema registry's API$/,
    '$1 é kafka; indique a raiz da API do registro de esquemas',
  ],
  [/^(.*) is kafka; write it like (\S+)$/, '$1 é kafka; escreva-a como $2'],
  [/^it signs what the log holds from now on$/, 'ela assina o que o log passa a conter'],
  [/^did you mean (.*)\?$/, 'seria $1?'],
  [/^remove it$/, 'retire'],
  [/^name an existing JSON file$/, 'indique um arquivo JSON que exista'],
  [/^name a file that holds the secret$/, 'indique um arquivo que contenha o segredo'],
  [/^write the secret into it$/, 'escreva nele o segredo'],
  [/^stop the process that listens there, or set another port$/, 'pare o processo que a usa, ou escolha outra porta'],
  [/^set a port of 1024 or higher$/, 'escolha uma porta a partir de 1024'],
  [
    /^set one that is, 127\.0\.0\.1 for this machine alone, or 0\.0\.0\.0 for all its addresses$/,
    'escolha um que seja: 127.0.0.1 só para esta máquina, ou 0.0.0.0 para todos os seus endereços',
  ],
  [/^leave one of them out$/, 'omita uma delas'],
];

const tamperings = {
  changed: 'foi alterado',
  deleted: 'foi excluído',
  inserted: 'foi incluído depois',
  reordered: 'está no lugar de outro',
  rewritten: 'a cadeia foi refeita',
  truncated: 'o final foi cortado',
  'front-cut': 'o começo foi apagado',
};

/** Why bidding is closed on a log that is not what was written. */
const ofChangedLogs: readonly Sentence[] = [
  [
    /^record (\d+) of (\w+) is not what was written, or record (\d+) beside it is not: which of the two was edited the chain does not tell; see (.*)$/,
    'o registro $1 de $2 não é o que foi gravado, ou o registro $3, ao lado dele, não é: a cadeia não diz qual dos dois foi editado; veja $4',
  ],
  ...Object.entries(tamperings).flatMap(([what, said]): Sentence[] => [
    [
      new RegExp(`^record (\\d+) of (\\w+) is not what was written \\(${what}\\); see (.*)$`),
      `o registro $1 de $2 não é o que foi gravado (${said}); veja $3`,
    ],
    [
      new RegExp(`^one of the records (\\d+) to (\\d+) of (\\w+) is not what was written \\(${what}\\); see (.*)$`),
      `um dos registros $1 a $2 de $3 não é o que foi gravado (${said}); veja $4`,
    ],
  ]),
  [/^the log could not be read to its end: (.*); see (.*)$/, 'o registro não pôde ser lido até o fim: $1; veja $2'],
  [/^the anchor (.*) is not what was written; see (.*)$/, 'a âncora $1 não é o que foi gravado; veja $2'],
  [
    /^records of (\w+) that this process had read were removed or rewritten \(records-gone\); it keeps to what it read before and bids for nothing, and the next start is refused; see (.*)$/,
    'registros de $1 que este processo tinha lido foram retirados ou refeitos (records-gone); ele fica com o que leu antes e não dá lance a nada, e a próxima partida é recusada; veja $2',
  ],
  [
    /^request (.*) was bid for before, as the list of claims beside the log says, and the log has no claim of it: a bid would go out with other bytes; see (.*)$/,
    'a solicitação $1 já teve lance, como diz a lista ao lado do registro, e no registro falta esse lance: outro sairia com outros bytes; veja $2',
  ],
  [
    /^(.*) is not what was written to it; it is kept as (.*) and begun anew: which earlier requests were bid for is no longer known outside of the store, and if the store is set back, nothing is bid for during a quiet time; see (.*)$/,
    '$1 não é o que foi gravado; fica guardado como $2 e recomeça: já não se sabe fora dos dados que solicitações anteriores tiveram lance e, se os dados voltarem atrás, há um tempo de espera sem lances; veja $3',
  ],
];

/** By how much a clock that is not believed moved. */
const ofClocks: readonly Sentence[] = (
  [
    ['behind', 'atrás'],
    ['ahead of', 'à frente'],
  ] as const
).flatMap(([way, said]): Sentence[] => [
  [
    new RegExp(`^this machine's clock is (\\S+) s ${way} the time kept; it is followed when .*$`),
    `o relógio desta máquina está $1 s ${said} da hora mantida; volta a valer quando retornar ou a hora do serviço concordar`,
  ],
  [
    new RegExp(`^the service's time is (\\S+) s ${way} ours: one of the two clocks is wrong$`),
    `a hora do serviço está $1 s ${said} da nossa: um dos dois relógios está errado`,
  ],
]);

/** `REMEDY` in a sentence is one of the above, or what stands in its place is a sentence too. */
/** Why a folder cannot be read as rules. */
const folderSentences: readonly Sentence[] = [
  [
    /^(.*) is nested deeper than (\d+) folders; flatten it\.$/,
    '$1 está a mais de $2 pastas de profundidade; traga os arquivos mais para cima.',
  ],
  [/^More than (\d+) files; keep only rules in this folder\.$/, 'Mais de $1 arquivos; deixe nesta pasta só regras.'],
  [
    /^(.*) leads nowhere; put the file there or remove the link\.$/,
    '$1 não leva a arquivo nenhum; ponha lá o arquivo ou retire o link.',
  ],
  [
    /^(.*) is a link that leads out of the folder of rules; copy the file into it\.$/,
    '$1 é um link que sai da pasta das regras; copie o arquivo para dentro dela.',
  ],
  [
    /^(.*) is no file; keep only files in the folder of rules\.$/,
    '$1 não é um arquivo; deixe na pasta das regras só arquivos.',
  ],
  [/^(.*) is larger than (\d+) bytes; split it\.$/, '$1 tem mais de $2 bytes; divida-o.'],
  [
    /^(.*):(\d+), column (\d+): not text in UTF-8; save it as UTF-8\.$/,
    '$1:$2, coluna $3: não é texto em UTF-8; salve-o em UTF-8.',
  ],
  [
    /^The files are larger than (\d+) bytes together; remove some\.$/,
    'Os arquivos somam mais de $1 bytes; retire alguns.',
  ],
  [
    /^The rules in (.*) cannot be read \((\w+)\); name their folder here or in LANCE_RULES_DIR\.$/,
    'As regras em $1 não podem ser lidas ($2); indique a pasta delas aqui ou em LANCE_RULES_DIR.',
  ],
  [
    /^(.*) is no whole set, and examples\/ is no part of this set; give it a folder with a codes\.json, or move it out\.$/,
    '$1 não é um conjunto inteiro, e examples/ não faz parte deste conjunto; dê a ele uma pasta com um codes.json, ou tire-o daí.',
  ],
];

const sentences: readonly Sentence[] = [
  ...folderSentences,
  [
    /^A stored row of the views cannot be read\. They are made again from the log: stop the desk, run lance views rebuild and start it\.$/,
    'Uma linha guardada das visões não pode ser lida. Elas são refeitas a partir do log: pare a mesa, execute lance views rebuild e inicie-a.',
  ],
  [
    /^The mark in house that says whether the desk was moved cannot be read: it was edited or is damaged\. If the desk was never moved from here and never half imported, lance export --undo takes the mark away; otherwise run it where it was imported, or put back a backup of the whole store, and accept it with: (.*)\.$/,
    'A marca em house que diz se a mesa foi mudada não pode ser lida: foi editada ou está danificada. Se a mesa nunca saiu daqui e nunca foi importada pela metade, lance export --undo retira a marca; senão rode-a onde foi importada, ou ponha de volta uma cópia de todo o lugar e aceite-a com: $1.',
  ],
  [
    /^Record (\S+) of the table (\S+) cannot be read: it was edited or is damaged; see lance audit verify\. Put back a backup of the whole store, and accept it with: (.*)\.$/,
    'O registro $1 da tabela $2 não pode ser lido: foi editado ou está danificado; veja lance audit verify. Ponha de volta uma cópia de todo o lugar e aceite-a com: $3.',
  ],
  [/^The log did not keep it: (.*)$/, 'O log ainda não guardou a ordem: $1'],
  [/^The configuration is refused:$/, 'A configuração foi recusada:'],
  [new RegExp(`^(${setting}) is missing: (.*)$`), '$1 falta: REMEDY'],
  [
    new RegExp(
      `^(${setting}) is redis: views are kept in files now, which each process folds from the log by itself, so nothing of them is lost; leave the setting out, name a directory of this machine in (.*), and let the processes of the desk reach each other (\\(.*\\))$`,
    ),
    '$1 é redis: as visões agora ficam em arquivos, que cada processo monta sozinho a partir do registro, e nada delas se perde; retire a configuração, indique um diretório desta máquina em $2 e deixe que os processos da mesa se alcancem $3',
  ],
  [/^LANCE_URL is no address: write it like (.*)$/, 'LANCE_URL não é um endereço: escreva-o como $1'],
  [new RegExp(`^(${setting}) is not a setting: (.*)$`), '$1 não é uma configuração: REMEDY'],
  [new RegExp(`^(${setting}) is not a section of the settings: (.*)$`), '$1 não é uma seção das configurações: REMEDY'],
  [new RegExp(`^(${setting}) is not one of (.*); did you mean (.*)\\?$`), '$1 não é um destes: $2; seria $3?'],
  [new RegExp(`^(${setting}) is not one of (.*)$`), '$1 não é um destes: $2'],
  [/^(\S+) and (\S+) are both set: (.*)$/, '$1 e $2 estão definidas ao mesmo tempo: REMEDY'],
  [/^(\S+): the file (.*) cannot be read( \(\w+\))?: (.*)$/, '$1: o arquivo $2 não pode ser lido$3: REMEDY'],
  [/^(\S+): the file (.*) is empty: (.*)$/, '$1: o arquivo $2 está vazio: REMEDY'],
  [/^(\S+): (\S+) is in use: (.*)\.$/, '$1: $2 já está em uso: REMEDY.'],
  [/^(\S+): this user may not listen on (\S+): (.*)\.$/, '$1: este usuário não pode escutar em $2: REMEDY.'],
  [
    /^(\S+): (\S+) is not an address of this machine \((\w+)\): (.*)\.$/,
    '$1: $2 não é um endereço desta máquina ($3): REMEDY.',
  ],
  // The store
  [
    /^lance\.sqlite was removed from (.*), and process (\d+) still has it open: bidding is closed, and only that process still has the data\. Do not end it, and accept no restore, before (\S+) is saved \((.*)\)\.$/,
    'lance.sqlite foi removido de $1, e o processo $2 ainda o tem aberto: os lances estão fechados, e só esse processo ainda tem os dados. Não o encerre nem aceite uma restauração antes de salvar $3 ($4).',
  ],
  [
    /^There is no desk in (.*): no daemon has run on it yet\. Set LANCE_DATA_DIR to the daemon's directory\.$/,
    'Não há mesa em $1: ali nenhum processo rodou ainda. Ponha em LANCE_DATA_DIR o diretório da mesa.',
  ],
  [
    /^There is no desk on these brokers: the topic (\S+) does not exist\. Check kafka\.topicPrefix \((.*)\)\.$/,
    'Não há mesa nestes brokers: o tópico $1 não existe. Confira kafka.topicPrefix ($2).',
  ],
  [
    /^The topic (\S+) does not exist: no desk has run with this kafka\.topicPrefix\. lance run creates it\.$/,
    'O tópico $1 não existe: nenhuma mesa rodou com este kafka.topicPrefix. lance run o cria.',
  ],
  [
    /^Another daemon runs on the data directory (.*): process (\d+), at (\S+)\. Stop it, or give this one a LANCE_DATA_DIR of its own\.$/,
    'Outro processo, $2, roda no diretório de dados $1 e responde em $3. Pare-o, ou dê a este um LANCE_DATA_DIR próprio.',
  ],
  [
    /^Another daemon runs on the data directory (.*)\. Stop it, or give this one a LANCE_DATA_DIR of its own\.$/,
    'Outro processo roda no diretório de dados $1. Pare-o, ou dê a este um LANCE_DATA_DIR próprio.',
  ],
  [
    /^The disk of (.*) is full, so the store in it cannot be opened\. Free some space and start again: nothing says that the store is damaged\.$/,
    'O disco de $1 está cheio, por isso os dados nele não podem ser abertos. Libere espaço e comece de novo: nada indica que estejam danificados.',
  ],
  [
    /^The data directory (.*) is none: a file stands where a directory is wanted\. Give LANCE_DATA_DIR the directory of the daemon\.$/,
    'O diretório de dados $1 não é diretório: há um arquivo onde deve haver um diretório. Ponha em LANCE_DATA_DIR o diretório da mesa.',
  ],
  [
    /^The data directory (.*) cannot be read \((\w+)\)\. Look whether LANCE_DATA_DIR is mistyped, and at the disk and its mount: nothing says that the data is lost\.$/,
    'O diretório de dados $1 não pode ser lido ($2). Veja se LANCE_DATA_DIR está certo, e o disco e sua montagem: nada indica que os dados estejam perdidos.',
  ],
  ...(['read', 'used'] as const).flatMap((what): Sentence[] => {
    const remedy = ', or let this user read and write there, or mend LANCE_DATA_DIR\\.$';
    const begun = `^The data directory (.*) cannot be ${what} by this user \\(uid (\\w+)\\): (.*)\\. Run this as the user of the daemon`;
    const said = `O diretório de dados $1 não pode ser ${what === 'read' ? 'lido' : 'usado'} por este usuário (uid $2): $3. Rode isto como o usuário da mesa`;
    const last = ', ou dê a este usuário leitura e escrita ali, ou corrija LANCE_DATA_DIR.';
    return [
      [new RegExp(begun + remedy), said + last],
      [new RegExp(`${begun} \\(uid (\\d+) owns the directory\\)${remedy}`), `${said} (o diretório é do uid $4)${last}`],
    ];
  }),
  [
    /^The data directory (.*) cannot be used: (.*) is not a regular file\. Take away what stands there: Lance makes its files itself\.$/,
    'O diretório de dados $1 não pode ser usado: $2 não é um arquivo comum. Retire o que está ali: o Lance cria os seus próprios arquivos.',
  ],
  [
    /^The data directory (.*) cannot be used: (.*) is a symbolic link\. Take away what stands there: Lance makes its files itself\.$/,
    'O diretório de dados $1 não pode ser usado: $2 é um atalho simbólico. Retire o que está ali: o Lance cria os seus próprios arquivos.',
  ],
  [
    /^The data directory (.*) cannot be used: (.*)\. Give LANCE_DATA_DIR a directory that this user may write\.$/,
    'O diretório de dados $1 não pode ser usado: $2. Ponha em LANCE_DATA_DIR um diretório em que este usuário possa escrever.',
  ],
  [
    /^A sealed value does not open: (.*)\. Run with the key that sealed it; where that is the one, restore the record\.$/,
    'Um valor selado não se abre: $1. Use a chave com que foi selado; se for esta, recupere o registro.',
  ],
  [
    /^The rules looked at facts that are sealed\. Set LANCE_PSEUDONYM_KEY to the key of the desk\.$/,
    'As regras leram fatos que estão selados. Ponha em LANCE_PSEUDONYM_KEY a chave da mesa.',
  ],
  [
    /^The data was written under another LANCE_PSEUDONYM_KEY: workers would get new pseudonyms, and caps would count anew\. Set LANCE_PSEUDONYM_KEY to the key that this desk began with \(look first whether it is mistyped or cut off\); a desk with a new key needs a store of its own\.$/,
    'Os dados foram gravados com outra LANCE_PSEUDONYM_KEY: os trabalhadores teriam outros pseudônimos e os tetos recomeçariam. Ponha em LANCE_PSEUDONYM_KEY a chave com que esta mesa começou (veja antes se ela foi mal digitada ou cortada); uma mesa com chave nova precisa de dados próprios.',
  ],
  ...ofChangedLogs,
  ...ofClocks,
  // The token command
  [/^the token command did not end within (\d+) ms$/, 'o programa do token não terminou em $1 ms'],
  [/^the token command failed \((.*)\)$/, 'o programa do token falhou ($1)'],
  [/^the token command printed no single token$/, 'o programa do token não imprimiu um token só'],
  // The operator API, to whoever shows a token
  [
    /^Send Authorization: Bearer and a token that is known here(, or log in at (\S+))?\.$/,
    'ponha em LANCE_TOKEN um token que esta mesa conheça (LANCE_API_TOKENS ou lance tokens create).',
  ],
  [/^This session is over: log in again at (\S+)\.$/, 'Esta sessão terminou: entre de novo em $1.'],
  [
    /^This token has expired: lance tokens create gives out another\.$/,
    'Este token venceu: lance tokens create emite outro.',
  ],
  [
    /^This token was revoked: lance tokens list says by whom\.$/,
    'Este token foi revogado: lance tokens list diz por quem.',
  ],
  [/^This is for the roles (.*)\.$/, 'Isto cabe aos papéis $1: use o token de quem tem um deles.'],
  [
    /^Whether this token or session was revoked cannot be read from the log just now\.$/,
    'No momento não se consegue ler no registro se este token ou esta sessão foi revogada.',
  ],
  ...storeSentences,
];

const jsonFaults: readonly Sentence[] = [
  [
    /^a value is missing here; write an object, a list, a "text", a number, true or false\.$/,
    'falta um valor aqui; escreva um objeto, uma lista, um "texto", um número, true ou false.',
  ],
  [
    /^this string is not closed or holds a character that JSON wants escaped\.$/,
    'este texto não está fechado ou tem um caractere que em JSON precisa de barra invertida.',
  ],
  [
    /^a byte order mark stands here; save the file as UTF-8 without one\.$/,
    'há aqui uma marca de ordem de bytes (BOM); salve o arquivo em UTF-8 sem ela.',
  ],
  [/^this number is too large\.$/, 'este número é grande demais.'],
  [/^write a comma or a (.) here\.$/, 'escreva aqui uma vírgula ou $1.'],
  [/^write a "key" in double quotes here\.$/, 'escreva aqui uma "chave" entre aspas duplas.'],
  [/^the key "(.*)" is not allowed; remove it\.$/, 'a chave "$1" não é permitida; retire-a.'],
  [/^this key is written twice; keep the one that is meant\.$/, 'esta chave aparece duas vezes; deixe só a que vale.'],
  [/^write a colon after the key\.$/, 'escreva dois-pontos depois da chave.'],
  [/^nested deeper than (\d+) levels; write it flatter\.$/, 'mais de $1 níveis de profundidade; escreva com menos.'],
  [/^something follows the end of the value; remove it\.$/, 'há algo depois do fim do valor; retire-o.'],
];

/** Where a file is no JSON, and why; or why the folder cannot be read. */
export function jsonFaultPt(text: string): string {
  if (text === 'The file holds no JSON value.') return 'O arquivo não contém nenhum valor JSON.';
  const [, line, column, problem] = /^Line (\d+), column (\d+): (.*)$/s.exec(text) ?? [];
  if (problem === undefined) return sentenceOf(folderSentences, text)?.text ?? text;
  return `Linha ${line}, coluna ${column}: ${sentenceOf(jsonFaults, problem)?.text ?? problem}`;
}

function sentenceOf(list: readonly Sentence[], text: string): { text: string; remedy: string } | null {
  const known = list.find(([english]) => english.test(text));
  if (known === undefined) return null;
  const [english, portuguese] = known;
  return { text: text.replace(english, portuguese), remedy: english.exec(text)!.at(-1) ?? '' };
}

/** Words of SQLite and of the system, each with what it means. They are kept beside it, for whoever looks them up. */
export const systemWords: readonly Sentence[] = [
  [/\b(?:Error: )?disk I\/O error\b/, 'erro de leitura ou escrita no disco'],
  [/\b(?:Error: )?database or disk is full\b/, 'o disco está cheio'],
  [/\bdatabase disk image is malformed\b/, 'o conteúdo do arquivo está danificado'],
  [/\bfile is not a database\b/, 'o arquivo não é um banco de dados'],
  [/\b(?:Error: )?attempt to write a readonly database\b/, 'o arquivo de dados só pode ser lido'],
  [/\bunable to open database file\b/, 'o arquivo não pode ser aberto'],
  [/\b(?:Error: )?database (?:table )?is locked\b/, 'outro processo ocupa o arquivo de dados'],
  [/\bENOSPC: no space left on device\b/, 'o disco está cheio'],
  [/\bEIO: i\/o error\b/, 'erro de leitura ou escrita no disco'],
  [/\bEACCES: permission denied\b/, 'este usuário não tem permissão'],
  [/\bEPERM: operation not permitted\b/, 'este usuário não tem permissão'],
  [/\bENOENT: no such file or directory\b/, 'o arquivo ou diretório não existe'],
  [/\bEROFS: read-only file system\b/, 'o disco só pode ser lido, não gravado'],
  [/\bEMFILE: too many open files\b/, 'há arquivos demais abertos'],
  [/\bEISDIR: illegal operation on a directory\b/, 'há um diretório no lugar do arquivo'],
  [/\bgetaddrinfo E(?:NOTFOUND|AI_AGAIN)\b/, 'o nome do servidor não é encontrado'],
  [/\bconnect ECONNREFUSED\b/, 'o servidor recusa a conexão'],
  [/\b(?:read )?ECONNRESET\b|\bsocket hang up\b/, 'o servidor cortou a conexão'],
  [/\b(?:connect )?ETIMEDOUT\b|\b[Cc]onnection timeout\b/, 'o servidor não respondeu a tempo'],
  [/\bConnection is closed\b/, 'a conexão está fechada'],
  [/\ba fault of our own\b/, 'uma falha do próprio programa'],
];

function withSystemWords(text: string): string {
  return systemWords.reduce(
    (said, [english, portuguese]) => said.replace(english, (found) => `${portuguese} [${found}]`),
    text,
  );
}

function linePt(line: string): string {
  return withSystemWords(sentencePt(line));
}

function sentencePt(line: string): string {
  const [indent = ''] = /^ */.exec(line)!;
  const found = sentenceOf(sentences, line.slice(indent.length));
  if (found === null) return line;
  const said = lostFiles.reduce((text, [english, portuguese]) => text.replace(english, portuguese), found.text);
  if (!said.includes('REMEDY')) return indent + said;
  const remedy = sentenceOf(remedies, found.remedy)?.text ?? sentencePt(found.remedy);
  return indent + said.replace('REMEDY', () => remedy);
}

export function faultPt(message: string): string {
  return message.split('\n').map(linePt).join('\n');
}
