/** What the doctor tries beside a real desk: each thing that may be wrong is made wrong, and found with its remedy in both languages. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lockDirectory } from '../../src/state/sqlite.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { noSmallDisk, withSmallDisk } from '../hostile/small-disk.ts';
import { someStatus } from '../http/statuses.ts';
import { type Daemon, freePort, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

type Finding = { check: string; level: string; finding: string } & Record<string, unknown>;
type Environment = Record<string, string>;

let played: Played;
let environment: Environment;
let daemon: Daemon;
const shippedRules = fileURLToPath(new URL('../../rules', import.meta.url));
const servers: Server[] = [];

before(async () => {
  played = await openStage(31);
  const rules = join(played.directory, 'rules');
  cpSync(shippedRules, rules, { recursive: true });
  environment = { ...played.environment, LANCE_RULES_DIR: rules };
  daemon = await startDaemon(environment);
  played.sandbox.connect(daemon.url);
});

after(async () => {
  await daemon.stop();
  for (const server of servers) server.close();
  await played.close();
});

async function findings(more: Environment = {}): Promise<Finding[]> {
  return jsonLines<Finding>((await lance({ ...environment, ...more }, 'doctor', '--json')).stdout);
}

/** The line of each language, with its remedy in the next one if it has one. */
async function assertSaid(more: Environment, pt: RegExp, en: RegExp): Promise<void> {
  const [portuguese, english] = await Promise.all([
    lance({ ...environment, ...more }, 'doctor', '--lang', 'pt'),
    lance({ ...environment, ...more }, 'doctor', '--lang', 'en'),
  ]);
  assert.match(portuguese.stdout, pt);
  assert.match(english.stdout, en);
}

function named(found: readonly Finding[], ...checks: string[]): string[] {
  return found.filter(({ check }) => checks.includes(check)).map(({ level, finding }) => `${level} ${finding}`);
}

/** A service that answers everything the same way. */
async function serviceOf(answer: (response: ServerResponse, request: IncomingMessage) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(response, request));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a sound desk: token, caps, folder, mapping, keys, disk and clock are tried and found right', async () => {
  const found = await findings();
  assert.deepEqual(named(found, 'token'), ['ok token-given', 'ok token-taken']);
  assert.deepEqual(named(found, 'caps'), ['ok caps-none']);
  assert.deepEqual(named(found, 'rules'), ['ok rules-compiled', 'ok rules-followed']);
  assert.deepEqual(named(found, 'mapping'), ['ok file-read']);
  assert.deepEqual(named(found, 'key', 'audit-key').sort(), ['ok audit-key-fits', 'ok key-fits']);
  assert.deepEqual(named(found, 'disk'), ['ok disk-free']);
  assert.deepEqual(named(found, 'clock'), ['ok clock-sane', 'ok clock-agrees']);
});

test('the token is tried by a query about nobody, and never by a bid', async () => {
  const before = played.sandbox.record.of('call').length;
  await findings();
  const calls = played.sandbox.record.of('call').slice(before);
  assert.deepEqual(
    calls.map(({ path, body, outcome, authorised }) => ({ path, body, outcome, authorised })),
    [
      {
        path: '/trabalhador/listar-autorizados',
        body: '{"cpfTrabalhador":"00000000000","consultaCacheada":true}',
        outcome: 'worker-unknown',
        authorised: true,
      },
    ],
  );
  assert.ok(!calls.some(({ path }) => path === bidPath));
});

// They change nothing, and a command keeps one core busy.
describe('what is wrong with the token', { concurrency: 2 }, () => {
  test('a token that the service refuses', async () => {
    const expired = { LANCE_ACCESS_TOKEN: 'expired' };
    const { code, stdout } = await lance({ ...environment, ...expired }, 'doctor', '--json');
    assert.equal(code, 1);
    assert.deepEqual(named(jsonLines<Finding>(stdout), 'token'), ['ok token-given', 'fail token-refused']);
    await assertSaid(
      expired,
      /falha +token do serviço +o serviço o recusa \(401\)\n +remédio: ponha um LANCE_ACCESS_TOKEN novo e reinicie; se o serviço voltar a aceitar este, a mesa reabre sozinha/,
      /fail +service's token +the service refuses it \(401\)\n +remedy: set a new LANCE_ACCESS_TOKEN and restart; once the service takes this one again, the desk opens by itself/,
    );
  });

  test('a token that is taken again is not called refused, though the process has not tried it yet (issue 21, line 5)', async () => {
    // The process shows a refused token again only after a while: it has another one here, which is refused for ever.
    const service = await serviceOf((response, { headers }) =>
      response
        .writeHead(headers.authorization?.includes('refused') ? 401 : 400, { 'content-type': 'application/json' })
        .end('{}'),
    );
    const port = await freePort();
    const own = {
      ...{ LANCE_BASE_URL: service, LANCE_HTTP_PORT: `${port}`, LANCE_DATA_DIR: join(played.directory, 'again') },
    };
    const refused = { ...own, LANCE_ACCESS_TOKEN: 'refused' };
    const other = await startDaemon({ ...environment, ...refused });
    try {
      const closed = async (more: Environment) => named(await findings(more), 'bidding', 'token');
      for (let looks = 0; !(await closed(refused)).includes('fail bidding-closed'); looks += 1) assert.ok(looks < 20);
      assert.deepEqual(await closed(refused), ['ok token-given', 'fail bidding-closed', 'fail token-refused']);
      const taken = { ...own, LANCE_ACCESS_TOKEN: 'taken' };
      assert.deepEqual(await closed(taken), ['ok token-given', 'fail bidding-token-taken', 'ok token-taken']);
      await assertSaid(
        taken,
        /fechada desde .*, porque o serviço\s+recusou o token; agora ele aceita/,
        /closed since .*, for the service\s+refused the token; it takes the one that is\s+given here/,
      );
    } finally {
      await other.stop();
    }
  });

  test('a token command is run: one that fails, and one that prints what works', async () => {
    const program = (name: string, text: string): Environment => {
      const path = join(played.directory, name);
      writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return { LANCE_ACCESS_TOKEN: '', LANCE_TOKEN_COMMAND: path };
    };
    const failing = program('failing', 'exit 3');
    assert.deepEqual(named(await findings(failing), 'token'), ['ok token-command', 'fail token-unrenewed']);
    await assertSaid(
      failing,
      /nenhum funciona: o programa do token falhou \(3\)\n +remédio: execute o programa/,
      /none that works: the token command failed \(3\)\n +remedy: run the program of LANCE_TOKEN_COMMAND/,
    );
    const working = program('working', `echo ${environment.LANCE_ACCESS_TOKEN}`);
    assert.deepEqual(named(await findings(working), 'token'), ['ok token-command', 'ok token-taken']);
    // The remedy is that of the setup at hand: a new LANCE_ACCESS_TOKEN would change nothing.
    const stale = program('stale', 'echo expired');
    for (const given of [stale, { ...stale, LANCE_ACCESS_TOKEN: 'expired' }])
      await assertSaid(
        given,
        /o serviço o recusa \(401\)\n +remédio: conserte o programa de LANCE_TOKEN_COMMAND: ele imprimiu/,
        /the service refuses it \(401\)\n +remedy: mend the program of LANCE_TOKEN_COMMAND: it printed/,
      );
    const both = { ...working, LANCE_ACCESS_TOKEN: 'expired' };
    assert.deepEqual(named(await findings(both), 'token'), ['ok token-both', 'ok token-taken']);
    // What the program does wrong is said also while the service is away.
    const away = { LANCE_BASE_URL: 'http://127.0.0.1:1' };
    assert.deepEqual(named(await findings({ ...failing, ...away }), 'token'), [
      'ok token-command',
      'fail token-unrenewed',
    ]);
    assert.deepEqual(named(await findings({ ...working, ...away }), 'token'), [
      'ok token-command',
      'warn token-untried',
    ]);
    const unusable = { LANCE_ACCESS_TOKEN: '', LANCE_TOKEN_COMMAND: '/nowhere/token' };
    assert.deepEqual(named(await findings(unusable), 'token'), ['fail token-unusable']);
  });

  test('answers that tell nothing of the token are said so, and are no failure of it', async () => {
    const statusOf = (status: number) => serviceOf((response) => response.writeHead(status).end('{}'));
    for (const [status, finding] of [
      [404, 'token-unclear'],
      [403, 'token-unclear'],
      [429, 'token-untried'],
      [503, 'token-untried'],
    ] as const) {
      const url = await statusOf(status);
      assert.deepEqual(named(await findings({ LANCE_BASE_URL: url }), 'token'), ['ok token-given', `warn ${finding}`]);
    }
    await assertSaid(
      { LANCE_BASE_URL: await statusOf(404) },
      /o serviço respondeu HTTP 404: isso nada diz do token\n +remédio: veja o caminho/,
      /answered HTTP 404: that tells nothing of the token\n +remedy: see the path in LANCE_BASE_URL/,
    );
    // Whoever hangs takes connections all the same, and nothing of the contract is below a wrong path.
    const hanging = { LANCE_BASE_URL: await serviceOf(() => undefined) };
    const [wrongPath, failing] = [{ LANCE_BASE_URL: await statusOf(404) }, { LANCE_BASE_URL: await statusOf(503) }];
    for (const [given, expected] of [
      [hanging, 'fail service-silent'],
      [failing, 'warn service-silent'],
      [wrongPath, 'fail service-elsewhere'],
    ] as const)
      assert.equal(named(await findings(given), 'service')[0], expected);
    await assertSaid(
      hanging,
      /falha +serviço +.* aceita conexões e não responde à consulta \(headers-timeout\)\n +remédio: veja LANCE_BASE_URL/,
      /fail +service +.* takes connections and does not answer the query \(headers-timeout\)\n +remedy: see LANCE_BASE_URL/,
    );
    await assertSaid(
      wrongPath,
      /falha +serviço +.* nada do contrato .*HTTP 404.*\n +remédio: corrija o caminho em LANCE_BASE_URL/,
      /fail +service +.* nothing of the contract .*HTTP 404.*\n +remedy: mend the path in LANCE_BASE_URL/,
    );
    const page = { LANCE_BASE_URL: await serviceOf((response) => response.end('<html>Maintenance</html>')) };
    assert.equal(named(await findings(page), 'service')[0], 'fail service-foreign');
    assert.deepEqual(named(await findings(page), 'token'), ['ok token-given', 'warn token-untried']);
    await assertSaid(
      page,
      /falha +serviço +.* sucesso que não é do serviço: não é JSON\n +remédio: veja o que há entre/,
      /fail +service +.* success that is not the service's: it is no JSON\n +remedy: see what stands between/,
    );
    const away = named(await findings({ LANCE_BASE_URL: 'http://127.0.0.1:9' }), 'token', 'service');
    const withdrawals = ['ok withdrawals-off', 'ok withdrawals-off'];
    assert.deepEqual(away.sort(), ['fail service-unreachable', 'ok token-given', ...withdrawals, 'warn token-untried']);
  });
});

test('a clock that differs from that of the service, slightly and by an hour', async () => {
  const dated = (aheadMs: number) =>
    serviceOf((response) => {
      response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
      response.writeHead(400).end('{}');
    });
  for (const [aheadMs, told] of [
    [10_000, 'warn clock-slow'],
    [-10_000, 'warn clock-fast'],
    [3_600_000, 'fail clock-slow'],
    [-3_600_000, 'fail clock-fast'],
  ] as const) {
    const found = await findings({ LANCE_BASE_URL: await dated(aheadMs) });
    assert.deepEqual(named(found, 'clock'), ['ok clock-sane', told]);
    const { durationMs } = found.find(({ finding }) => told.endsWith(finding))!;
    assert.ok(Math.abs(Number(durationMs) - Math.abs(aheadMs)) < 1_500, `${durationMs} for ${aheadMs}`);
  }
  await assertSaid(
    { LANCE_BASE_URL: await dated(3_600_000) },
    /falha +relógio +está \d+ ms atrás do relógio do serviço\n +remédio: compare o relógio/,
    /fail +clock +is \d+ ms behind the service's\n +remedy: compare this machine's clock/,
  );
});

test('a cap by hand: in force, and keeping bids back', async () => {
  await played.sandbox.run(20);
  const order = ['--by', 'ana', '--reason', 'fim do mês'];
  assert.equal((await lance(environment, 'cap', 'noite', '--reais-a-day', '1000000', ...order)).code, 0);
  const held = (await findings()).filter(({ check }) => check === 'caps');
  assert.deepEqual(
    held.map(({ level, finding, name, by, text }) => ({ level, finding, name, by, text })),
    [{ level: 'ok', finding: 'cap-held', name: 'noite', by: 'ana', text: 'fim do mês' }],
  );
  await assertSaid(
    {},
    /bem +tetos +noite \(à mão\) em vigor: R\$ .* de R\$ 1\.000\.000,00 usados hoje; posto por ana em .* \(fim do mês\)/,
    /ok +caps +noite \(by hand\) is in force: R\$ .* of R\$ 1,000,000\.00 used today; set by ana on .* \(fim do mês\)/,
  );
  assert.equal((await lance(environment, 'cap', 'noite', '--reais-a-day', '0,01', ...order)).code, 0);
  await played.sandbox.run(20);
  assert.deepEqual(named(await findings(), 'caps'), ['warn cap-binds']);
  // One beside it that is far from full has ended nothing.
  assert.equal((await lance(environment, 'cap', 'desk-day', '--reais-a-day', '13000000', '--by', 'ana')).code, 0);
  await played.sandbox.run(5);
  const both = (await findings()).filter(({ check }) => check === 'caps');
  assert.deepEqual(both.map(({ finding, name }) => `${finding} ${name}`).sort(), [
    'cap-binds noite',
    'cap-held desk-day',
  ]);
  // A second one without room refuses as well, though the reason of a request names the first one alone.
  const second = ['cap', 'tonight', '--reais-a-day', '0', '--by', 'ana'];
  assert.equal((await lance(environment, ...second)).code, 0);
  await played.sandbox.run(20);
  const tonight = (await findings()).find(({ check, name }) => check === 'caps' && name === 'tonight');
  assert.equal(tonight?.finding, 'cap-binds');
  assert.ok(Number(tonight?.count) > 0, JSON.stringify(tonight));
  assert.equal((await lance(environment, 'cap', 'tonight', '--remove', '--by', 'ana')).code, 0);
  assert.equal((await lance(environment, 'cap', 'desk-day', '--remove', '--by', 'ana')).code, 0);
  await assertSaid(
    {},
    /atenção +tetos +noite \(à mão\) segura lances: .*; \d+ das últimas solicitações.*\n +remédio: lance cap noite --reais-a-day N o aumenta/,
    /warn +caps +noite \(by hand\) keeps bids back: .*; \d+ of the last requests.*\n +remedy: lance cap noite --reais-a-day N raises it/,
  );
  assert.equal((await lance(environment, 'cap', 'noite', '--remove', ...order)).code, 0);
  // What it kept back is put on nobody else.
  assert.deepEqual(named(await findings(), 'caps'), ['ok caps-none']);
});

// They change nothing, and a command keeps one core busy.
describe('what is wrong with files and keys', { concurrency: 2 }, () => {
  test('the folder against the live set: another folder, and one that is refused', async () => {
    const other = join(played.directory, 'other-rules');
    cpSync(shippedRules, other, { recursive: true });
    const path = join(other, 'limits.json');
    const good = readFileSync(path, 'utf8');
    writeFileSync(path, good.replace(/("name": "[^"]+",\s*"description": ")/, '$1Anders: '));
    assert.notEqual(readFileSync(path, 'utf8'), good);
    const elsewhere = { LANCE_RULES_DIR: other };
    const put = (name: string, content: object) => writeFileSync(join(other, name), JSON.stringify(content));
    put('bureau.source.json', {
      ...{ description: 'A score.', endpoint: 'bureau', send: ['request.amountReais'], timeoutMs: 500 },
      ...{ reply: { score: { type: 'number', unit: 'points' } }, maxAskedPerDay: 10 },
    });
    put('bureau.json', {
      ...{ name: 'Low score', onMissing: 'ignore' },
      conditions: { all: [{ fact: 'source.bureau.score', operator: 'lessThan', value: 500 }] },
      event: { type: 'pass', params: { code: 'alerts', reason: 'The score is too low.' } },
    });
    const scores = [499, 500, null].map((score) => ({
      ...{ name: `${score}`, facts: { 'source.bureau.score': score } },
      expect: score === 499 ? { fired: ['Low score'] } : { silent: ['Low score'] },
    }));
    put('bureau.test.json', { base: {}, tests: scores });
    const found = await findings(elsewhere);
    assert.deepEqual(named(found, 'rules'), ['ok rules-compiled', 'warn source-unconfigured', 'warn rules-new']);
    assert.match(
      String(found.find(({ finding }) => finding === 'source-unconfigured')!.text),
      /bureau\.source\.json.*no endpoint "bureau".*LANCE_CONFIG|não tem o endpoint "bureau".*LANCE_CONFIG/,
    );
    writeFileSync(path, good.slice(0, 200));
    assert.deepEqual(named(await findings(elsewhere), 'rules'), ['fail rules-refused', 'warn rules-kept']);
    await assertSaid(
      elsewhere,
      /falha +regras +.*limits\.json[\s\S]*atenção +regras +o conjunto [\da-f]{12} continua decidindo/,
      /fail +rules +.*limits\.json[\s\S]*warn +rules +set [\da-f]{12} decides on/,
    );
  });

  test('the folder against the live set: one without the caps', async () => {
    const half = join(played.directory, 'half-rules');
    mkdirSync(half);
    for (const name of ['codes.json', 'limits.json', 'limits.test.json'])
      cpSync(join(shippedRules, name), join(half, name));
    const elsewhere = { LANCE_RULES_DIR: half };
    assert.deepEqual(named(await findings(elsewhere), 'rules'), ['ok rules-compiled', 'fail rules-held-back-new']);
    await assertSaid(
      elsewhere,
      /falha +regras +.*tiraria todos os tetos.*\n +remédio: devolva os arquivos/,
      /fail +rules +.*would take away every cap.*\n +remedy: put the files back/,
    );
  });

  test('the folder against the live set: one without a single file', async () => {
    const half = join(played.directory, 'capless-rules');
    cpSync(shippedRules, half, { recursive: true });
    for (const name of ['caps.json', 'caps.test.json']) rmSync(join(half, name));
    const elsewhere = { LANCE_RULES_DIR: half };
    assert.deepEqual(named(await findings(elsewhere), 'rules'), ['ok rules-compiled', 'fail rules-held-back-new']);
    await assertSaid(
      elsewhere,
      /falha +regras +.*tiraria os tetos desk-day, employer-day, worker-day e 3 de \d+ regras \(caps\.json\)\n +remédio: devolva/,
      /fail +rules +.*would take away the caps desk-day, employer-day, worker-day and 3 of \d+ rules \(caps\.json\)\n +remedy: put/,
    );
  });

  test('a mapping that is not there, or is no mapping', async () => {
    const gone = await findings({ LANCE_MAPPING: join(played.directory, 'gone.json') });
    assert.deepEqual(named(gone, 'mapping'), ['fail file-refused']);
    const path = join(played.directory, 'mapping.json');
    writeFileSync(path, '{"facts": 1}');
    const wrong = (await findings({ LANCE_MAPPING: path })).filter(({ check }) => check === 'mapping');
    assert.ok(wrong.length > 0 && wrong.every(({ level }) => level === 'fail'));
    assert.ok(String(wrong[0]!.text).includes(path));
  });

  test('keys that are not those of the data, and keys that are not given', async () => {
    const audit = await findings({ LANCE_AUDIT_KEY: 'a key that has never signed any anchor of this desk' });
    assert.deepEqual(named(audit, 'key', 'audit-key').sort(), ['fail audit-key-other', 'ok key-fits']);
    const other = await findings({ LANCE_PSEUDONYM_KEY: 'quite another key, with which caps would begin anew' });
    assert.deepEqual(named(other, 'key', 'audit-key').sort(), ['fail audit-key-other', 'fail key-other']);
    const none = await findings({ LANCE_PSEUDONYM_KEY: '' });
    assert.deepEqual(named(none, 'key', 'audit-key').sort(), ['warn audit-key-missing', 'warn key-missing']);
    await assertSaid(
      { LANCE_AUDIT_KEY: 'a key that has never signed any anchor of this desk' },
      /falha +chave das âncoras +não é a que assinou as âncoras.*\n +remédio: defina LANCE_AUDIT_KEY/,
      /fail +key of the anchors +is not the one that signed the anchors.*\n +remedy: set LANCE_AUDIT_KEY/,
    );
  });
});

test('a disk with little left', async (t) => {
  await daemon.stop();
  const directory = join(played.directory, 'small');
  const done = await withSmallDisk(directory, 200, async () => {
    const data = join(directory, 'data');
    mkdirSync(data, { mode: 0o700 });
    cpSync(environment.LANCE_DATA_DIR!, data, { recursive: true });
    const small = { LANCE_DATA_DIR: data };
    assert.deepEqual(named(await findings(small), 'disk'), ['warn disk-low']);
    await assertSaid(
      small,
      /atenção +disco +só \d+ MB livres.*\n +remédio: libere espaço/,
      /warn +disk +only \d+ MB free.*\n +remedy: free space/,
    );
    return true;
  });
  if (done === null) t.skip(noSmallDisk);
});

test('a full disk is called full, never a damaged store, by the doctor and by a start', async (t) => {
  const directory = join(played.directory, 'full-disk');
  const done = await withSmallDisk(directory, 60, async (disk) => {
    const data = join(directory, 'data');
    const full = { LANCE_DATA_DIR: data };
    const desk = await startDaemon({ ...environment, ...full });
    await desk.stop();
    disk.fill();
    const found = await findings(full);
    assert.ok(named(found, 'data-directory').includes('fail disk-full'), JSON.stringify(found));
    assert.deepEqual(
      found.filter(({ finding }) => finding === 'file-damaged' || finding === 'store-unreadable'),
      [],
    );
    for (const [lang, words] of [
      ['en', /The disk of \S+ is full/],
      ['pt', /O disco de \S+ está cheio/],
    ] as const) {
      const paused = await lance({ ...environment, ...full }, 'pause', '--by', 'ana', '--reason', 'x', '--lang', lang);
      assert.notEqual(paused.code, 0);
      assert.match(paused.stderr, words);
      assert.doesNotMatch(paused.stderr, /backup|LANCE_DATA_DIR/);
    }
    const start = await lance({ ...environment, ...full }, 'run');
    assert.equal(start.code, 73);
    assert.match(start.stderr + start.stdout, /The disk of \S+ is full/);
    disk.free();
    assert.ok(!named(await findings(full), 'data-directory').some((each) => each.startsWith('fail')));
    return true;
  });
  if (done === null) t.skip(noSmallDisk);
});

// Each has a directory of its own.
describe('what is wrong before a desk begins', { concurrency: 2 }, () => {
  test('a place where no desk can keep its files is no new directory', async () => {
    const file = join(played.directory, 'a-file');
    writeFileSync(file, 'x');
    for (const LANCE_DATA_DIR of [file, join(file, 'below')]) {
      const found = await findings({ LANCE_DATA_DIR });
      assert.ok(
        named(found, 'data-directory').includes('fail directory-unwritable'),
        `${LANCE_DATA_DIR}: ${JSON.stringify(found)}`,
      );
    }
    // The system lets nobody make a directory there, whatever its permissions say to root.
    const unmakable = await findings({ LANCE_DATA_DIR: '/proc/lance' });
    assert.ok(named(unmakable, 'data-directory').includes('fail directory-unwritable'), JSON.stringify(unmakable));
    const fresh = await findings({ LANCE_DATA_DIR: join(played.directory, 'not', 'yet', 'there') });
    assert.ok(named(fresh, 'data-directory').includes('warn directory-new'));
  });

  test('a directory with the mark of an import and no store is no new one', async () => {
    const data = join(played.directory, 'half-imported');
    mkdirSync(data);
    writeFileSync(join(data, 'lance.import'), JSON.stringify({ kind: 'arriving', file: '/a', at: 1 }));
    const found = await findings({ LANCE_DATA_DIR: data });
    assert.deepEqual(named(found, 'data-directory'), ['fail start-refused']);
    assert.match(JSON.stringify(found), /An import of \/a into this place.*import the file again/);
  });

  test('a folder whose tests fail is refused by the doctor as by the desk, and the test is named', async () => {
    const folder = join(played.directory, 'failing-rules');
    cpSync(shippedRules, folder, { recursive: true });
    const file = join(folder, 'limits.json');
    const text = readFileSync(file, 'utf8');
    const changed = text.replace(/"maxAmountReais": ?\d+/, '"maxAmountReais": 59000');
    assert.notEqual(changed, text);
    writeFileSync(file, changed);
    const found = await findings({ LANCE_RULES_DIR: folder });
    const refused = found.filter(({ finding }) => finding === 'rules-refused');
    assert.ok(refused.length > 0 && refused.every(({ level }) => level === 'fail'), JSON.stringify(found));
    assert.match(String(refused[0]!.text), /limits\.test\.json.*: esperava .*, veio /);
  });

  test('a desk that starts has given no sign of life yet, and is not called hung while it answers', async () => {
    const data = join(played.directory, 'starting');
    await (await startDaemon({ ...environment, LANCE_DATA_DIR: data })).stop();
    const database = new DatabaseSync(join(data, 'lance.sqlite'));
    database.exec('DELETE FROM acknowledgements');
    database.close();
    const lock = lockDirectory(data, []);
    try {
      const answering = await serviceOf((response) => response.end('starting'));
      const starting = { LANCE_DATA_DIR: data, LANCE_URL: answering };
      assert.deepEqual(named(await findings(starting), 'daemon'), ['warn daemon-starting']);
      // It has started, and cannot store its sign of life.
      const told = { ...someStatus(), startedAt: 0, at: 60_000 };
      const unsigned = await serviceOf((response) => response.end(JSON.stringify(told)));
      assert.deepEqual(named(await findings({ LANCE_DATA_DIR: data, LANCE_URL: unsigned }), 'daemon'), [
        'fail daemon-unsigned',
      ]);
      const hung = { LANCE_DATA_DIR: data, LANCE_URL: 'http://127.0.0.1:1' };
      assert.deepEqual(named(await findings(hung), 'daemon'), ['fail daemon-silent']);
    } finally {
      lock.release();
    }
  });

  test('a settings file that is no JSON is told once', async () => {
    const path = join(played.directory, 'broken.json');
    writeFileSync(path, '{"bidding":');
    const found = (await findings({ LANCE_CONFIG: path })).filter(({ level }) => level === 'fail');
    assert.deepEqual(
      found.map(({ check }) => check),
      ['configuration'],
      JSON.stringify(found),
    );
  });
});

test('a desk whose lock file was removed, and then replaced, is found with its process and fails', async () => {
  const own = await openStage(33);
  const desk = await startDaemon(own.environment);
  const asked = { ...own.environment, LANCE_HTTP_PORT: new URL(desk.url).port };
  const lock = join(own.environment.LANCE_DATA_DIR, 'lance.lock');
  const loss = () => desk.lines.find(({ code }) => code === 'store-files-lost');
  try {
    rmSync(lock);
    for (let look = 0; look < 200 && loss() === undefined; look += 1) await new Promise((done) => setTimeout(done, 50));
    const [, pid] = /\/proc\/(\d+)\/fd/.exec(JSON.stringify(loss())) ?? [];
    for (const language of ['en', 'pt'] as const) {
      if (language === 'pt') writeFileSync(lock, '');
      const { code, stdout } = await lance(asked, 'doctor', '--json');
      const found = jsonLines<Finding>(stdout);
      assert.equal(code, 1, stdout);
      assert.deepEqual(named(found, 'daemon', 'bidding'), ['fail daemon-lock-lost', 'fail bidding-closed']);
      const lost = found.find(({ finding }) => finding === 'daemon-lock-lost');
      assert.deepEqual([lost?.count, lost?.path], [Number(pid), lock]);
      const said = (await lance(asked, 'doctor', '--lang', language)).stdout;
      assert.match(
        said,
        language === 'en' ? /process \d+ runs here, but .*lance\.lock/ : /o processo \d+ roda aqui, mas/,
      );
      assert.doesNotMatch(said, /lock free|trava livre/);
    }
    await desk.stop();
    // A stop and a start put it right, as the remedy says.
    await (await startDaemon(own.environment)).stop();
  } finally {
    await desk.stop();
    await own.close();
  }
});
