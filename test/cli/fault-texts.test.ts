/** What keeps a command from working is said in the language of its texts; the daemon's own start stays English, as its log is. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  brokenText,
  claimLostText,
  listEditedText,
  misfitText,
  setBackText,
} from '../../src/adapters/embedded/changed-texts.ts';
import { openWritable, tooLittleSpace, writeFault } from '../../src/adapters/embedded/database.ts';
import { alteredText } from '../../src/adapters/embedded/tables.ts';
import { away as movedFault } from '../../src/bidding/house.ts';
import { faultPt, jsonFaultPt, systemWords } from '../../src/cli/fault-texts-pt.ts';
import { ruleFaultPt } from '../../src/cli/rule-fault-texts-pt.ts';
import { readConfig } from '../../src/config.ts';
import { addressFault } from '../../src/http/address.ts';
import { parseJson } from '../../src/rules/json.ts';
import { writeOne } from '../../src/state/schema.ts';
import { lance, twoAtATime } from './desk.ts';

const nothing = () => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};

test('every setting that is missing is named in Portuguese, with its remedy', () => {
  const kafka = { LANCE_BACKEND: 'kafka' };
  const environments = [
    {},
    kafka,
    { ...kafka, LANCE_KAFKA_VIEWS: 'redis' },
    { LANCE_DATA_DIRS: './data' },
    { LANCE_BACKEND: 'other' },
    { LANCE_PSEUDONYM_KEY_FILE: '/run/none' },
  ];
  for (const environment of environments) {
    const read = readConfig(environment, (path) =>
      path.endsWith('default.json') ? readFileSync(path, 'utf8') : nothing(),
    );
    assert.ok(read.kind === 'refused');
    const lines = read.faults.filter((text) => /^LANCE_\w+[ :]/.test(text));
    assert.ok(lines.length > 0);
    for (const line of lines) {
      const said = faultPt(line);
      assert.match(
        said,
        / falta: | é redis: as | não é uma configuração: | não é um destes: | não pode ser lido /,
        line,
      );
      assert.doesNotMatch(said, /\b(?:is|set|name|choose|the|write|keep)\b/, said);
    }
  }
});

test('a folder that cannot be read as rules is named in Portuguese, by the command and by the process', () => {
  const source = readFileSync(new URL('../../src/adapters/system/rule-files.ts', import.meta.url), 'utf8');
  const texts = [...source.matchAll(/refused\(\s*`([^`]+)`/g)].map(([, text]) =>
    text!.replaceAll(/\$\{(\w+)[^}]*\}/g, (_, name: string) => {
      if (name === 'examples') return name;
      return /^(?:line|column|max\w+|most)$/.test(name) ? '7' : 'x';
    }),
  );
  assert.ok(texts.length >= 10, String(texts.length));
  for (const text of texts) {
    assert.doesNotMatch(faultPt(text), /\b(?:is|are|the|keep|remove|of|it)\b/i, text);
    assert.equal(ruleFaultPt(text), faultPt(text), text);
  }
});

test('words of the system stand behind what they mean, wherever they are said', () => {
  for (const [text, said] of [
    ['disk I/O error', 'erro de leitura ou escrita no disco [disk I/O error]'],
    [
      'webhooks are not stored: a moment ago one was refused: database or disk is full',
      'webhooks não são gravados: há pouco um foi recusado: o disco está cheio [database or disk is full]',
    ],
    [
      'auctions/3: connect ECONNREFUSED 127.0.0.1:9092',
      'auctions/3: o servidor recusa a conexão [connect ECONNREFUSED] 127.0.0.1:9092',
    ],
    ['the file lance.sqlite', 'the file lance.sqlite'],
  ] as const)
    assert.equal(faultPt(text), said);
  // None is met by what another one says of it, which would be said twice.
  for (const [, portuguese] of systemWords) assert.equal(faultPt(portuguese), portuguese);
});

test('why a request is frozen is told in Portuguese', () => {
  for (const [text, said] of [
    ['claimed: TypeError', 'o registro claimed não pôde ser processado: TypeError'],
    ['what is to be done next: RangeError', 'o que fazer em seguida não pôde ser calculado: RangeError'],
    ['answered: something was thrown', 'o registro answered não pôde ser processado: uma falha do próprio programa'],
    [
      'the query of its link: what it is asked with does not make a query',
      'a consulta do vínculo não pôde ser feita: os dados não bastam para uma consulta',
    ],
  ] as const)
    assert.equal(faultPt(text), said);
});

test('what is wrong with a log that is not what was written is told in Portuguese', () => {
  const place = { table: 'auctions', offset: 7, unverified: [] };
  const tamperings = ['changed', 'deleted', 'inserted', 'reordered', 'rewritten', 'truncated'] as const;
  const found = [
    misfitText('auctions', 7, 6),
    setBackText('auctions'),
    claimLostText('7'),
    listEditedText('/data.anchor.claims', '/data.anchor.claims.17'),
    brokenText({ kind: 'anchor-broken', place: '/data/lance.anchor', line: 3, unverified: [] }),
    ...tamperings.map((what) => brokenText({ ...place, kind: 'broken', what })),
    brokenText({ ...place, kind: 'broken', what: 'rewritten', until: 9 }),
  ];
  for (const text of found) {
    const said = faultPt(text);
    assert.match(said, /; veja lance audit verify$/, text);
    assert.doesNotMatch(said, /\b(?:record|of|is|was|were|the|see|changed|rewritten|truncated)\b/, said);
  }
  assert.equal(
    faultPt(misfitText('auctions', 7, 6)),
    'o registro 7 de auctions não é o que foi gravado, ou o registro 6, ao lado dele, não é: a cadeia não diz qual dos dois foi editado; veja lance audit verify',
  );
});

test('what a full disk, lost files, brokers and a moved desk do is told in Portuguese, whoever says it', () => {
  const full = (writeFault(Object.assign(new Error('x'), { errcode: 13 })) as Error).message;
  const short = tooLittleSpace(tmpdir(), Number.POSITIVE_INFINITY)!;
  const away = (kind: 'moved' | 'leaving' | 'arriving') =>
    movedFault({ kind, file: '/tmp/m.gz', at: 0 } as never).message;
  const found: readonly [english: string, portuguese: RegExp][] = [
    [full, /^Não foi gravado, e nada mudou: o disco está cheio ou não grava; libere espaço/],
    [short, /^o disco de \S+ só tem \d+ MB livres; libere espaço$/],
    [`webhooks are not stored: ${short}`, /^webhooks não são gravados: o disco de .* libere espaço$/],
    [
      `webhooks are not stored: a moment ago one was refused: ${full}`,
      /^webhooks não são gravados: há pouco um foi recusado: Não foi gravado/,
    ],
    ['webhooks are not answered: too many webhooks are waiting', /: há webhooks demais à espera$/],
    [
      '/d/a was removed or moved away; /d/b was replaced by another file while this process has it open: put back the very same file and the desk goes on; if it is lost, save what /proc/7/fd still holds before this process ends',
      /^\/d\/a foi retirado ou movido; \/d\/b foi trocado por outro arquivo \(este processo/,
    ],
    [
      'auctions/0, auctions/3: being caught up, 43 % folded',
      /^auctions\/0, auctions\/3: leitura em curso, 43 % derivados$/,
    ],
    [
      'auctions/0: being caught up, 43 % folded; reading was interrupted: Kafka (one:9092) did not answer within 15 s.',
      /^auctions\/0: leitura em curso, 43 % derivados; ela foi interrompida: O Kafka/,
    ],
    ['auctions/2: Redis at redis:6379 does not answer.', /^auctions\/2: O Redis em redis:6379 não responde\.$/],
    [
      'the log is about to be read; reading was interrupted: Kafka (one:9092) did not answer within 15 s.',
      /a leitura foi interrompida: O Kafka \(one:9092\) não respondeu em 15 s\.$/,
    ],
    [away('moved'), /^A mesa que estava aqui foi mudada para \/tmp\/m\.gz/],
    [away('leaving'), /^Uma exportação desta mesa/],
    [away('arriving'), /^Uma importação de/],
  ];
  for (const [english, portuguese] of found) {
    const said = faultPt(english);
    assert.match(said, portuguese, english);
    assert.doesNotMatch(said, /\b(?:is|are|was|were|the|full|free|not|while|stored|moved|waiting)\b/, said);
  }
});

test('a trigger and whatever else somebody made in the file is told in Portuguese', () => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-altered-'));
  const made = [
    ['CREATE TRIGGER tr BEFORE INSERT ON auctions BEGIN SELECT raise(ignore); END', 'DROP TRIGGER tr', 'o gatilho tr'],
    ['CREATE VIEW v AS SELECT 1', 'DROP VIEW v', 'a visão v'],
    ['CREATE INDEX i ON flows (value)', 'DROP INDEX i', 'o índice i'],
    ['ALTER TABLE token_book ADD COLUMN more TEXT', '', 'a tabela token_book'],
  ] as const;
  const database = openWritable(join(directory, 'lance.sqlite'));
  for (const [make, drop, named] of made) {
    database.exec(make);
    const text = alteredText(database)!;
    for (const english of [text, `The file ${text}.`, `webhooks are not stored: ${text}`]) {
      const said = faultPt(english);
      assert.ok(said.includes(`${directory}/lance.sqlite tem ${named}, que`), said);
      assert.doesNotMatch(said, /\b(?:which|makes|has|the|out|stored|trigger|table)\b/, said);
    }
    database.exec(drop);
  }
  database.close();
  rmSync(directory, { recursive: true });
  assert.throws(
    () => writeOne({ run: () => ({ changes: 0, lastInsertRowid: 0 }) } as never),
    (fault: Error) => /^Uma linha gravada no armazenamento não está nele/.test(faultPt(fault.message)),
  );
});

test('by how much a clock moved is told in Portuguese', () => {
  assert.equal(
    faultPt(
      "this machine's clock is 7.3 s behind the time kept; it is followed when it is back or the service's time agrees with it",
    ),
    'o relógio desta máquina está 7.3 s atrás da hora mantida; volta a valer quando retornar ou a hora do serviço concordar',
  );
  assert.match(
    faultPt("the service's time is 912.0 s ahead of ours: one of the two clocks is wrong"),
    /912\.0 s à frente/,
  );
});

test('what is not known stays as it is, line by line', () => {
  assert.equal(
    faultPt('what nobody knows\n  LANCE_X is missing: whatever'),
    'what nobody knows\n  LANCE_X falta: whatever',
  );
});

test('where a file is no JSON is told in Portuguese, whatever is wrong with it', () => {
  const broken = [
    '',
    '{',
    '[1',
    '{"a" 1}',
    '{"a":1,}',
    '{"a":1,"a":2}',
    '{"__proto__":1}',
    '"x',
    '1e999',
    '{} {}',
    '\ufeff{}',
  ];
  for (const text of [...broken, `${'['.repeat(200)}`]) {
    const found = parseJson(text);
    assert.ok(found.kind === 'malformed', text);
    assert.match(jsonFaultPt(found.text), /^(?:Linha \d+, coluna \d+: |O arquivo)/, found.text);
    assert.doesNotMatch(jsonFaultPt(found.text), /\b(?:write|the|this|here|is)\b/, text);
  }
});

test('an address that cannot be had is told in Portuguese', () => {
  const settings = { host: '--host', port: '--port' };
  const said = (code: string) => {
    const fault = addressFault({ host: '127.0.0.1', port: 80 }, settings, Object.assign(new Error(code), { code }));
    return faultPt((fault as Error).message);
  };
  assert.equal(
    said('EADDRINUSE'),
    '--port: 127.0.0.1:80 já está em uso: pare o processo que a usa, ou escolha outra porta.',
  );
  assert.match(said('EACCES'), /^--port: este usuário não pode escutar em 127\.0\.0\.1:80: escolha uma porta/);
  assert.match(
    said('EADDRNOTAVAIL'),
    /^--host: 127\.0\.0\.1 não é um endereço desta máquina \(EADDRNOTAVAIL\): escolha/,
  );
});

test('commands say in Portuguese that a port is taken, a key is missing, no desk is there, a state is none', async (context) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const { port } = server.address() as { port: number };
  const taken = await lance({}, 'sandbox', '--port', String(port), '--lang', 'pt');
  assert.equal(
    taken.stderr,
    `lance: --port: 127.0.0.1:${port} já está em uso: pare o processo que a usa, ou escolha outra porta.\n`,
  );
  const place = { LANCE_DATA_DIR: join(tmpdir(), 'lance-nowhere-at-all') };
  const elsewhere = [
    ['bids', 'list'],
    ['withdrawals', 'show', 'w-1'],
    ['letters', 'list'],
  ];
  await twoAtATime(elsewhere, async (words) => {
    const { stderr } = await lance(place, ...words);
    assert.match(stderr, /^lance: Não há mesa em \S+: ali nenhum processo rodou ainda\./);
  });
  const keyless = await lance(place, 'letters', 'replay');
  assert.equal(
    keyless.stderr,
    'lance: LANCE_PSEUDONYM_KEY (pseudonymKey) falta: defina o segredo com que esta mesa começou; para uma mesa nova, um de pelo menos 32 caracteres, e guarde-o\n',
  );
  const doctor = await lance({}, 'doctor');
  assert.match(doctor.stdout, /LANCE_BASE_URL \(service\.baseUrl\) falta: defina o endereço raiz do serviço/);
  const ending = ['bids', 'resolve', '1', '--as', 'x', '--by', 'ana', '--reason', 'x'];
  const mistyped: [words: string[], said: RegExp][] = [
    [
      ['bids', 'list', '--state', 'ganho'],
      /o valor 'ganho' da opção .* escreva um destes: .*won \(ganho\), lost \(perdido\)/,
    ],
    [ending, /escreva um destes: won \(ganho\), .*not-landed \(não chegou\)/],
    [['demo', '--requests', 'x'], /escreva um número inteiro de pelo menos 1$/m],
    [['withdrawals', 'list', '--phase', 'x'], /escreva um destes: started \(iniciado\), simulated \(simulado\)/],
    [['bids', 'list', '--state', 'x', '--lang', 'en'], /one of: .*won, lost/],
  ];
  await twoAtATime(mistyped, async ([words, said]) => {
    assert.match((await lance(place, ...words)).stderr, said);
  });
  assert.match((await lance({}, 'run')).stderr, /^lance: The configuration is refused:\n/);
  assert.match((await lance({}, 'run', '--lang', 'pt')).stderr, /^lance: A configuração foi recusada:\n/);
});
