/** In Portuguese: what keeps stores, brokers and views from working, line by line as in `fault-texts-pt.ts`. `REMEDY`: the rest, which is a sentence too. */
import type { Sentence } from './fault-texts-pt.ts';

const place = String.raw`(?:auctions|callbacks|flows|inputs|dead-letters|rules|house|anchors|snapshots)/\d+`;

/** Why webhooks are refused, partitions are closed and bidding waits, as a running process says it. */
const ofProcesses: readonly Sentence[] = [
  [
    /^webhooks are not stored: a moment ago one was refused: (.*)$/,
    'webhooks não são gravados: há pouco um foi recusado: REMEDY',
  ],
  [/^webhooks are not stored: (.*)$/, 'webhooks não são gravados: REMEDY'],
  [/^webhooks are not answered: (.*)$/, 'webhooks não são respondidos: REMEDY'],
  [/^too many webhooks are waiting$/, 'há webhooks demais à espera'],
  [/^a webhook has waited for its answer for more than (\S+) s$/, 'um webhook espera pela resposta há mais de $1 s'],
  [/^the disk of (.*) has (\d+) MB left; free some space$/, 'o disco de $1 só tem $2 MB livres; libere espaço'],
  [
    /^(.*) while this process has it open: put back the very same file and the desk goes on; if it is lost, save what (\S+) still holds before this process ends$/,
    '$1 (este processo ainda o tem aberto): devolva o mesmo arquivo, e a mesa continua; se ele se perdeu, salve o que $2 ainda contém antes que este processo termine',
  ],
  [
    /^(.*) was written to or removed by somebody else: put back what it held and the desk goes on; else stop it, look with lance audit verify at what is in the log, and begin the anchor anew with lance audit accept-restore$/,
    '$1 foi gravado ou retirado por outro: devolva o que ele continha, e a mesa continua; senão pare-a, veja com lance audit verify o que está no registro, e recomece a âncora com lance audit accept-restore',
  ],
  [
    /^the views are being caught up with the log; nothing is bid until then \((.*)\)$/,
    'as visões ainda estão sendo derivadas do registro, e até lá não há lances: REMEDY',
  ],
  [
    /^the views are being caught up with the log; nothing is bid until then$/,
    'as visões ainda estão sendo derivadas do registro, e até lá não há lances',
  ],
  [
    /^no rule set was ever followed here: approve the one in the folder$/,
    'nenhum conjunto de regras decidiu aqui ainda: aprove o da pasta',
  ],
  [
    /^which one to follow is not known while the controls cannot be read$/,
    'não se sabe qual seguir enquanto as ordens não podem ser lidas',
  ],
  // Why a request or a flow is frozen.
  [/^what is to be done next: (.*)$/, 'o que fazer em seguida não pôde ser calculado: REMEDY'],
  [/^the query of its link: (.*)$/, 'a consulta do vínculo não pôde ser feita: REMEDY'],
  [/^the bytes of its bid: (.*)$/, 'os bytes do lance não puderam ser formados: REMEDY'],
  [/^its sealed part: (.*)$/, 'a parte cifrada não pôde ser lida: REMEDY'],
  [/^something was thrown$/, 'uma falha do próprio programa'],
  [/^what it is asked with does not make a query$/, 'os dados não bastam para uma consulta'],
  [
    /^(requested|claimed|passed|answered|ended|contemplated|proposed|resolved|frozen|unfrozen|review-asked|review-answered|source-asked|source-answered): (.*)$/,
    'o registro $1 não pôde ser processado: REMEDY',
  ],
  [/^it is being fetched$/, 'está sendo buscado'],
  [/^the views do not fit the log$/, 'as visões não batem com o registro'],
  [/^the log is about to be read$/, 'o registro ainda vai ser lido'],
  [
    new RegExp(`^(${place}(?:, ${place})*): being caught up, (\\d+) % folded; reading was interrupted: (.*)$`),
    '$1: leitura em curso, $2 % derivados; ela foi interrompida: REMEDY',
  ],
  [new RegExp(`^(${place}(?:, ${place})*): being caught up, (\\d+) % folded$`), '$1: leitura em curso, $2 % derivados'],
  [
    /^the log is about to be read; reading was interrupted: (.*)$/,
    'o registro ainda vai ser lido; a leitura foi interrompida: REMEDY',
  ],
  [new RegExp(`^(${place}): (.*)$`), '$1: REMEDY'],
];

/** What became of each file of a sentence that may name several. */
export const lostFiles: readonly Sentence[] = [
  [/(\S+) was removed or moved away\b/g, '$1 foi retirado ou movido'],
  [/(\S+) was replaced by another file\b/g, '$1 foi trocado por outro arquivo'],
  [/(\S+) cannot be looked at \((\w+)\)/g, '$1 não pode ser visto ($2)'],
];

const ofMovedDesks: readonly Sentence[] = [
  [
    /^The desk that was here was moved to (.*) on (\S+): run it where that file was imported\. If it never was and never will be, lance export --undo brings the desk back here\.$/,
    'A mesa que estava aqui foi mudada para $1 em $2: rode-a onde esse arquivo foi importado. Se ele nunca foi nem será importado, lance export --undo traz a mesa de volta.',
  ],
  [
    /^An export of this desk to (.*), begun on (\S+), goes on or broke off\. If it broke off, lance export --undo brings the desk back here; what it wrote is worth nothing then\.$/,
    'Uma exportação desta mesa para $1, iniciada em $2, está em curso ou foi interrompida. Se foi interrompida, lance export --undo traz a mesa de volta; o que ela gravou não vale mais.',
  ],
  [
    /^An import of (.*) into this place, begun on (\S+), goes on or broke off\. If it broke off, import the file again; where that is refused, into another, empty place\. The part that is here cannot be used\.$/,
    'Uma importação de $1 para este lugar, iniciada em $2, está em curso ou foi interrompida. Se foi interrompida, importe o arquivo de novo; se isso for recusado, em outro lugar, vazio. A parte que está aqui não serve.',
  ],
];

/** Of what a file is made: each kind, with its word. */
const alteredSchemas: readonly Sentence[] = Object.entries({
  trigger: 'o gatilho',
  view: 'a visão',
  index: 'o índice',
  table: 'a tabela',
}).map(([kind, word]) => [
  new RegExp(
    `^(?:The file )?(/.*?) has the ${kind} (.+?)(?: on (\\S+))?, which no version of Lance makes: records can be kept out or changed there without an error, so nothing is stored\\. Find out who made it, take it out \\(DROP in sqlite3; put back a backup where a table was altered\\), then see lance audit verify\\.?$`,
  ),
  `O arquivo $1 tem ${word} $2, que nenhuma versão do Lance cria: registros podem ficar de fora ou ser mudados ali sem erro, por isso nada é gravado. Descubra quem o criou, retire-o (DROP no sqlite3; devolva uma cópia se uma tabela foi alterada) e depois veja lance audit verify`,
]);

const ofFiles: readonly Sentence[] = [
  ...alteredSchemas,
  [
    /^A row that was written to the store is not in it, and no error said so: somebody has altered the file\. See lance audit verify, put back a backup of the whole directory, and accept it with: (.*)\.$/,
    'Uma linha gravada no armazenamento não está nele, e nenhum erro o disse: alguém alterou o arquivo. Veja lance audit verify, devolva uma cópia do diretório inteiro, e aceite-a com: $1.',
  ],
  [
    /^It was not stored, and nothing was changed: the disk is full or does not write; free some space and try again\.$/,
    'Não foi gravado, e nada mudou: o disco está cheio ou não grava; libere espaço e tente de novo.',
  ],
  [
    /^It was not stored, and nothing was changed: another process is writing, or the file cannot be written; try again\.$/,
    'Não foi gravado, e nada mudou: outro processo está gravando, ou o arquivo não pode ser gravado; tente de novo.',
  ],
  [
    /^The disk of (.*) is full or does not write, so the views cannot be stored\. Free some space\.$/,
    'O disco de $1 está cheio ou não grava, por isso as visões não podem ser guardadas. Libere espaço.',
  ],
  [
    /^The file (.*) was written by a newer version of Lance \(schema version (\d+); this one reads up to (\d+)\)\. Run that version, or put back a copy of the data directory from before the upgrade \(docs\/runbooks\.md, To upgrade\)\.$/,
    'O arquivo $1 foi gravado por uma versão mais nova do Lance (esquema $2; esta lê até $3). Rode aquela versão, ou devolva uma cópia do diretório de dados anterior à atualização (docs/runbooks.md, To upgrade).',
  ],
  [
    /^Another daemon runs on the data directory (.*): process (\d+), at (\S+), though its lock file (.*) was removed or replaced\. Stop it, then start again\.$/,
    'Outro processo, $2, roda no diretório de dados $1 e responde em $3, embora o seu arquivo de trava $4 tenha sido retirado ou trocado. Pare-o e comece de novo.',
  ],
  [
    /^Another daemon runs on the data directory (.*), though its lock file (.*) was removed or replaced\. Stop it, then start again\.$/,
    'Outro processo roda no diretório de dados $1, embora o seu arquivo de trava $2 tenha sido retirado ou trocado. Pare-o e comece de novo.',
  ],
  [
    /^Another process has (.*) open, and the lock file (.*) was removed or replaced: a daemon that hangs, or a long command of lance\. End it, then start again\.$/,
    'Outro processo tem $1 aberto, e o arquivo de trava $2 foi retirado ou trocado: uma mesa que travou, ou um comando longo do lance. Encerre-o e comece de novo.',
  ],
  [/^The log cannot be read\.$/, 'O registro não pode ser lido.'],
  [/^The log did not take it: (.*)\.$/, 'O registro não o aceitou: $1.'],
  [/^The log has no record (\S+) although later ones exist\.$/, 'No registro falta $1, embora haja posteriores.'],
  [
    /^The writer thread has ended; nothing can be stored any more\.$/,
    'A linha de execução que grava terminou; nada mais pode ser gravado.',
  ],
  [
    /^The views do not fit the log: request (.*) has a claim that they do not know\. Nothing was sent for it\. They are made again from the log at the next start\.$/,
    'As visões não batem com o registro: a solicitação $1 tem um lance que elas não conhecem. Nada foi enviado por ela. Elas são refeitas a partir do registro no próximo início.',
  ],
  [
    /^The anchor of the log cannot be read: (.*)\. Remove what stands there, or name a file that this user may read and write in LANCE_AUDIT_ANCHOR \(audit\.anchorFile\), best on another disk than the data directory\.$/,
    'A âncora do registro não pode ser lida: $1. Retire o que está ali, ou indique em LANCE_AUDIT_ANCHOR (audit.anchorFile) um arquivo que este usuário possa ler e gravar, de preferência em outro disco.',
  ],
  [
    /^The anchor of the log cannot be written: (.*)\. Name a file that this user may write in LANCE_AUDIT_ANCHOR \(audit\.anchorFile\), best on another disk than the data directory\.$/,
    'A âncora do registro não pode ser gravada: $1. Indique em LANCE_AUDIT_ANCHOR (audit.anchorFile) um arquivo que este usuário possa gravar, de preferência em outro disco.',
  ],
  [
    /^The anchor (.*) was signed with another key\. Look first whether LANCE_AUDIT_KEY is mistyped, missing or new \(without one LANCE_PSEUDONYM_KEY signs\) and run with the one of before; only where that is lost, accept what is there with: (.*)\.$/,
    'A âncora $1 foi assinada com outra chave. Veja antes se LANCE_AUDIT_KEY está errada, falta ou é nova (sem ela assina LANCE_PSEUDONYM_KEY) e use a anterior; só se ela se perdeu, aceite o que há com: $2.',
  ],
  [
    /^The anchors on (.*) were signed with another key\. Look first whether LANCE_AUDIT_KEY is mistyped, missing or new \(without one LANCE_PSEUDONYM_KEY signs\) and run with the one of before; only where that is lost, accept what is there with: (.*)\.$/,
    'As âncoras em $1 foram assinadas com outra chave. Veja antes se LANCE_AUDIT_KEY está errada, falta ou é nova (sem ela assina LANCE_PSEUDONYM_KEY) e use a anterior; só se ela se perdeu, aceite o que há com: $2.',
  ],
  [
    /^The anchor (.*) or the files beside it were edited or are damaged, so nobody can say whether the log is what it was\. Put a copy of them back, or accept what is there with: (.*)\.$/,
    'A âncora $1 ou os arquivos ao lado dela foram editados ou estão danificados, e não se pode dizer se o registro é o que era. Devolva uma cópia deles, ou aceite o que há com: $2.',
  ],
  [
    /^The anchor (.*) is that of another data directory\. Name one for each in LANCE_AUDIT_ANCHOR \(audit\.anchorFile\); where the directory was put in the place of another one, accept what is there with: (.*)\.$/,
    'A âncora $1 é de outro diretório de dados. Indique uma para cada um em LANCE_AUDIT_ANCHOR (audit.anchorFile); se o diretório foi posto no lugar de outro, aceite o que há com: $2.',
  ],
  [
    /^The signed heads in the log of (.*) were edited or are damaged, so nobody can say whether the log is what it was\. See lance audit verify\. Put back a copy of the whole directory, or accept what is there with: (.*)\.$/,
    'As assinaturas dentro do registro de $1 foram editadas ou estão danificadas, e não se pode dizer se o registro é o que era. Veja lance audit verify. Devolva uma cópia do diretório inteiro, ou aceite o que há com: $2.',
  ],
  [
    /^The data directory (.*) holds no desk, and the anchor (.*) is that of one: is LANCE_DATA_DIR mistyped, or LANCE_AUDIT_ANCHOR that of another desk\? Accepted as it is, the anchor would begin anew, and the desk in the right directory would not start any more\. Put back the directory or a backup of it; only where it is lost for good, accept what is there with: (.*)\.$/,
    'O diretório de dados $1 não contém mesa, e a âncora $2 é de uma: LANCE_DATA_DIR está errado, ou LANCE_AUDIT_ANCHOR é de outra mesa? Aceita assim, a âncora recomeçaria, e a mesa no diretório certo não iniciaria mais. Devolva o diretório ou uma cópia dele; só se ele se perdeu de vez, aceite o que há com: $3.',
  ],
];

const ofServers: readonly Sentence[] = [
  [/^Redis at (\S+) does not answer\.$/, 'O Redis em $1 não responde.'],
  [
    /^Redis at (\S+) does not answer; the orders of operators were read last at (\S+)\.$/,
    'O Redis em $1 não responde; as ordens dos operadores foram lidas pela última vez em $2.',
  ],
  [
    /^Redis at (\S+) answers too slowly; the orders of operators were read last at (\S+)\.$/,
    'O Redis em $1 responde devagar demais; as ordens dos operadores foram lidas pela última vez em $2.',
  ],
  [
    /^Redis at (\S+) did not do it: (.*); the orders of operators were read last at (\S+)\.$/,
    'O Redis em $1 não o fez: $2; as ordens dos operadores foram lidas pela última vez em $3.',
  ],
  [/^Redis at (\S+) did not do it: (.*)\.$/, 'O Redis em $1 não o fez: $2.'],
  [
    /^Redis (\S+) is too old: version (\S+) or later is needed\.$/,
    'O Redis $1 é antigo demais: é preciso a versão $2 ou posterior.',
  ],
  [
    /^Redis evicts keys of every kind \(maxmemory-policy (\S+)\): set noeviction or volatile-ttl\.$/,
    'O Redis descarta chaves de qualquer tipo (maxmemory-policy $1): ponha noeviction ou volatile-ttl.',
  ],
  [/^Kafka did not take it within (\d+) ms\.$/, 'O Kafka não o aceitou em $1 ms.'],
  [/^Kafka \((.*)\) did not answer within (\d+) s\.$/, 'O Kafka ($1) não respondeu em $2 s.'],
  [/^Kafka: (\S+) gave no answer\.$/, 'Kafka: $1 não respondeu.'],
  [/^Kafka: (\S+) did not give the record at (\d+)\.$/, 'Kafka: $1 não entregou o registro em $2.'],
  [/^Kafka: (\S+) ends before what was read of it\.$/, 'Kafka: $1 termina antes do que já foi lido.'],
  [/^The group of (\S+) has not answered for (\d+) s\.$/, 'O grupo de $1 não responde há $2 s.'],
  [/^(\S+) has not moved for (\d+) s\.$/, '$1 não avança há $2 s.'],
  [
    /^(\S+) does not reach to where its views are: records were deleted, or it is another log\.$/,
    '$1 não chega até onde estão as suas visões: registros foram excluídos, ou é outro registro.',
  ],
  [/^The schema registry does not answer: (.*)$/, 'O registro de esquemas não responde: $1'],
  [/^The schema registry refuses the schema of (\S+): (.*)$/, 'O registro de esquemas recusa o esquema de $1: $2'],
  [/^The schema registry did not give schema (\d+)\.$/, 'O registro de esquemas não entregou o esquema $1.'],
  [/^The settings of the topics are not safe \((.*?)\): (.*)$/, 'A configuração dos tópicos não é segura ($1): $2'],
  [
    /^(\S+) is no topic of this desk that holds records; name it as the alarm does\.$/,
    '$1 não é um tópico desta mesa com registros; escreva-o como o alarme o nomeia.',
  ],
  [
    /^The batch of (\S+) at the offset (\d+) can be read, or is passed over already: nothing was changed\.$/,
    'O lote de $1 na posição $2 pode ser lido, ou já fica de fora: nada mudou.',
  ],
  [/^The topics are refused:$/, 'Os tópicos foram recusados:'],
  [
    /^The topics cannot be created with (\d+) replicas: the cluster has (\d+) \w+\. Set LANCE_KAFKA_REPLICATION \(kafka\.replication\) to at most (\d+), or start more brokers\. Kafka: (.*)\.$/,
    'Os tópicos não podem ser criados com $1 réplicas: o cluster tem $2 broker(s). Ponha em LANCE_KAFKA_REPLICATION (kafka.replication) no máximo $3, ou inicie mais brokers. Kafka: $4.',
  ],
  [
    /^The topics cannot be created\. Create them by hand or mend what the broker says\. Kafka: (.*)\.$/,
    'Os tópicos não podem ser criados. Crie-os à mão ou corrija o que o broker diz. Kafka: $1.',
  ],
  [
    /^The log on Kafka is not the one that was anchored: (.*)\. A bid that was sent since would be sent again with other bytes\. Put the topics back, or accept what is there with: (.*)\.$/,
    'O registro no Kafka não é o que foi ancorado: $1. Um lance enviado desde então sairia de novo com outros bytes. Devolva os tópicos, ou aceite o que há com: $2.',
  ],
];

const ofViews: readonly Sentence[] = [
  [/^The views cannot be read or stored: (.*)\.$/, 'As visões não podem ser lidas ou guardadas: $1.'],
  [/^The states of flows cannot be read or stored\.$/, 'Os estados dos fluxos não podem ser lidos ou guardados.'],
  [/^The controls cannot be read or stored\.$/, 'Os controles não podem ser lidos ou guardados.'],
  [/^The controls are being changed by too many at once\.$/, 'Gente demais muda os controles ao mesmo tempo.'],
  [/^The margin cache cannot be read or stored\.$/, 'O cache de margens não pode ser lido ou guardado.'],
  [/^The count of direct queries cannot be stored\.$/, 'A contagem de consultas diretas não pode ser guardada.'],
  [/^The views of partition (\d+) are closed\.$/, 'As visões da partição $1 estão fechadas.'],
  [/^The thread that stores the views has ended\.$/, 'A linha de execução que guarda as visões terminou.'],
  [/^The views were lost while they were read\.$/, 'As visões se perderam enquanto eram lidas.'],
  [
    /^the views lost what was folded; folding again$/,
    'as visões perderam o que já tinha sido lido; ele é lido de novo',
  ],
  [
    /^Partition (\d+) of auctions is not folded by this process\.$/,
    'A partição $1 de auctions não é lida por este processo.',
  ],
  [
    /^Partition (\d+) of auctions could not be asked: no running process owns it\.$/,
    'A partição $1 de auctions não pôde ser consultada: nenhum processo em execução responde por ela.',
  ],
  [
    /^Partition (\d+) of auctions could not be asked: it is changing hands( \(\S+\))?\.$/,
    'A partição $1 de auctions não pôde ser consultada: ela está passando para outro processo$2.',
  ],
  [
    /^Partition (\d+) of auctions could not be asked: its process cannot be reached( \(\S+\))?\.$/,
    'A partição $1 de auctions não pôde ser consultada: não se alcança o processo dela$2.',
  ],
  [
    /^Partition (\d+) of auctions could not be asked: its process did not answer in time( \(\S+\))?\.$/,
    'A partição $1 de auctions não pôde ser consultada: o processo dela não respondeu a tempo$2.',
  ],
  [
    /^Partition (\d+) of auctions could not be asked: its process answers too many questions already( \(\S+\))?\.$/,
    'A partição $1 de auctions não pôde ser consultada: o processo dela já responde a consultas demais$2.',
  ],
  [
    /^Partition (\d+) of auctions could not be asked: its process gave no answer that counts( \(\S+\))?\.$/,
    'A partição $1 de auctions não pôde ser consultada: o processo dela não deu resposta válida$2.',
  ],
  [/^A record cannot be decoded: (.*)\.$/, 'Um registro não pode ser decodificado: $1.'],
  [/^no cap of this name is set by hand$/, 'nenhum teto com este nome foi definido à mão'],
  [
    /^Processes of an earlier version have partitions of (\S+)\. This one gets some when they have ended: two versions with views of their own never bid side by side\.$/,
    'Processos de uma versão anterior têm partições de $1. Este recebe as suas quando eles terminarem: duas versões com visões próprias nunca dão lances lado a lado.',
  ],
  [
    /^Processes of an earlier version still run, which keeps the views of this log in Redis\. This version folds them into files, and begins when they have ended\.$/,
    'Ainda rodam processos de uma versão anterior, que guarda as visões deste registro no Redis. Esta versão as monta em arquivos e só começa quando eles terminarem.',
  ],
];

/** Processes come last: a partition is named before any sentence of another list. */
export const storeSentences: readonly Sentence[] = [
  ...ofMovedDesks,
  ...ofFiles,
  ...ofServers,
  ...ofViews,
  ...ofProcesses,
];
