/**
 * Every try of the doctor, each made to fail for real: its exit code and the line that is printed. A check that no row here makes fail, and
 * no test named beside it, fails the test.
 */
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { doctorEn } from '../../src/cli/doctor-texts-en.ts';
import { freePort, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

type Finding = { check: string; level: string; finding: string } & Record<string, unknown>;
type Environment = Record<string, string>;

let played: Played;
let environment: Environment & { LANCE_DATA_DIR: string };
let whole: string;
let rules: string;
const servers: Server[] = [];
const asAna = ['--by', 'ana', '--reason', 'ronda'];

/** A desk that has run and is stopped; each row has a copy of it. */
before(async () => {
  played = await openStage(2_110);
  rules = join(played.directory, 'rules');
  cpSync(fileURLToPath(new URL('../../rules', import.meta.url)), rules, { recursive: true });
  environment = { ...played.environment, LANCE_RULES_DIR: rules, LANCE_LANG: 'en' };
  whole = environment.LANCE_DATA_DIR;
  const daemon = await startDaemon(environment);
  played.sandbox.connect(daemon.url);
  await played.sandbox.run(10);
  await daemon.stop();
});

after(async () => {
  for (const server of servers) server.close();
  await played.close();
});

async function serviceOf(answer: (response: ServerResponse) => void): Promise<Environment> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(response));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return { LANCE_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const answering = (status: number, body: string, headers: Record<string, string> = {}) =>
  serviceOf((response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body));

const dateIn = (ms: number) => ({ date: new Date(Date.now() + ms).toUTCString() });

function inStore(data: string, statement: string): Environment {
  const database = new DatabaseSync(join(data, 'lance.sqlite'));
  database.exec(statement);
  database.close();
  return {};
}

/** What the clock of the machine says to the doctor alone. */
const clockAt = (shiftMs: number): Environment => {
  const code = `const now = Date.now; Date.now = () => now() + ${shiftMs};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
};

function edited(data: string, name: string, change: (folder: string) => void): Environment {
  const folder = join(data, '..', `${name}-rules`);
  cpSync(rules, folder, { recursive: true });
  change(folder);
  return { LANCE_RULES_DIR: folder };
}

const fileIn = (data: string, name: string, text: string, mode = 0o600): string => {
  const path = join(data, '..', name);
  writeFileSync(path, text, { mode });
  return path;
};

async function ordered(data: string, ...words: string[]): Promise<Environment> {
  const { code, stderr } = await lance({ ...environment, LANCE_DATA_DIR: data }, ...words, ...asAna);
  assert.equal(code, 0, stderr);
  return {};
}

type Row = {
  finding: keyof typeof doctorEn.findings;
  code: number;
  line: RegExp;
  /** Makes it so, on a copy of the desk in `data`. */
  force: (data: string) => Environment | Promise<Environment>;
};

const hour = 3_600_000;
const rows: readonly Row[] = [
  {
    ...{ finding: 'configuration-refused', code: 1, line: /fail configuration .*LANCE_HTTP_PORT/ },
    force: () => ({ LANCE_HTTP_PORT: 'x' }),
  },
  {
    finding: 'secret-file-wide',
    code: 0,
    line: /warn configuration \S+token \(LANCE_ACCESS_TOKEN_FILE\) has the mode 0?644: .* remedy: chmod 600/,
    force: (data) => {
      const path = fileIn(data, 'token', environment.LANCE_ACCESS_TOKEN!, 0o644);
      chmodSync(path, 0o644);
      return { LANCE_ACCESS_TOKEN: '', LANCE_ACCESS_TOKEN_FILE: path };
    },
  },
  {
    ...{
      finding: 'directory-unwritable',
      code: 1,
      line: /fail data directory \/proc\/lance is no directory that this user can/,
    },
    force: () => ({ LANCE_DATA_DIR: '/proc/lance' }),
  },
  {
    ...{
      finding: 'directory-new',
      code: 0,
      line: /warn data directory \S+fresh has no data yet remedy: lance run makes it/,
    },
    force: (data) => ({ LANCE_DATA_DIR: join(data, '..', 'fresh') }),
  },
  {
    ...{ finding: 'directory-wide', code: 0, line: /warn data directory \S+ has the mode 0?755: .* remedy: chmod 700/ },
    force: (data) => {
      chmodSync(data, 0o755);
      return {};
    },
  },
  {
    ...{
      finding: 'store-unreadable',
      code: 1,
      line: /fail data directory .* remedy: see whether the file was changed/,
    },
    force: (data) => {
      for (const end of ['-wal', '-shm']) rmSync(join(data, `lance.sqlite${end}`), { force: true });
      writeFileSync(join(data, 'lance.sqlite'), 'no database at all, and long enough to be read as one'.repeat(100));
      return {};
    },
  },
  {
    ...{
      finding: 'daemon-none',
      code: 0,
      line: /warn daemon no desk is running here \(lock free\); .* remedy: where it should run: lance run/,
    },
    force: () => ({}),
  },
  {
    ...{ finding: 'rules-refused', code: 1, line: /fail rules .*broken\.json.* remedy: mend the file that is named/ },
    force: (data) => edited(data, 'broken', (folder) => writeFileSync(join(folder, 'broken.json'), '{')),
  },
  {
    finding: 'rules-new',
    code: 0,
    line: /warn rules set \w{12} decides; the set of \S+, \w{12}, does not: no desk has taken it .* remedy: a desk that runs/,
    force: (data) =>
      edited(data, 'other', (folder) => {
        const limits = join(folder, 'limits.json');
        writeFileSync(limits, readFileSync(limits, 'utf8').replace('"description": "', '"description": "Anders: '));
      }),
  },
  {
    ...{
      finding: 'rules-held-back-new',
      code: 1,
      line: /fail rules set \w{12} decides on; .* would take away .* remedy: put the files back/,
    },
    force: (data) =>
      edited(data, 'capless', (folder) => {
        for (const name of ['caps.json', 'caps.test.json']) rmSync(join(folder, name));
      }),
  },
  {
    ...{ finding: 'file-refused', code: 1, line: /fail request mapping .*none\.json.* remedy: mend the file/ },
    force: (data) => ({ LANCE_MAPPING: join(data, 'none.json') }),
  },
  {
    finding: 'chain-broken',
    code: 1,
    line: /fail chain of the log broken at record 3 of auctions: it was changed/,
    force: (data) => inStore(data, 'UPDATE auctions SET key = key || \'x\' WHERE "offset" = 3'),
  },
  {
    ...{
      finding: 'control-paused',
      code: 0,
      line: /warn controls paused by ana: ronda remedy: lance resume --by NAME/,
    },
    force: (data) => ordered(data, 'pause'),
  },
  {
    ...{
      finding: 'cap-held',
      code: 0,
      line: /ok caps noite \(by hand\) is in force: R\$ 0\.00 of R\$ 10\.00 used today; set by ana/,
    },
    force: (data) => ordered(data, 'cap', 'noite', '--reais-a-day', '10'),
  },
  {
    ...{
      finding: 'cap-binds',
      code: 0,
      line: /warn caps noite \(by hand\) keeps bids back: .* remedy: lance cap noite --reais-a-day N/,
    },
    force: (data) => ordered(data, 'cap', 'noite', '--reais-a-day', '0'),
  },
  {
    ...{ finding: 'key-other', code: 1, line: /fail pseudonym key is not the one that the data was written under/ },
    force: () => ({ LANCE_PSEUDONYM_KEY: 'another key, which nothing was ever written under' }),
  },
  {
    ...{ finding: 'key-missing', code: 1, line: /warn pseudonym key none is given, so it was not compared/ },
    force: () => ({ LANCE_PSEUDONYM_KEY: '' }),
  },
  {
    ...{ finding: 'audit-key-other', code: 1, line: /fail key of the anchors is not the one that signed the anchors/ },
    force: () => ({ LANCE_AUDIT_KEY: 'a key that has never signed any anchor of this desk' }),
  },
  {
    ...{ finding: 'anchor-broken', code: 1, line: /fail chain of the log the anchors \S+ were edited \(line \d+\)/ },
    force: (data) => {
      appendFileSync(`${data}.anchor`, '{"edited":true}\n');
      return {};
    },
  },
  {
    ...{
      finding: 'token-refused',
      code: 1,
      line: /fail service's token the service refuses it \(401\) remedy: set a new/,
    },
    force: () => ({ LANCE_ACCESS_TOKEN: 'expired' }),
  },
  {
    ...{
      finding: 'token-unusable',
      code: 1,
      line: /fail service's token the program \S+none of LANCE_TOKEN_COMMAND is not there/,
    },
    force: (data) => ({ LANCE_ACCESS_TOKEN: '', LANCE_TOKEN_COMMAND: join(data, 'none') }),
  },
  {
    ...{
      finding: 'token-unrenewed',
      code: 1,
      line: /fail service's token there is none that works: .* remedy: run the program/,
    },
    force: (data) => ({
      ...{ LANCE_ACCESS_TOKEN: '', LANCE_TOKEN_COMMAND: fileIn(data, 'failing', '#!/bin/sh\nexit 3\n', 0o755) },
    }),
  },
  {
    ...{
      finding: 'token-unclear',
      code: 0,
      line: /warn service's token the service answered HTTP 403: that tells nothing/,
    },
    force: () => answering(403, '{}'),
  },
  {
    ...{
      finding: 'token-untried',
      code: 0,
      line: /warn service's token could not be tried: throttled remedy: see the service/,
    },
    force: () => answering(429, '{}'),
  },
  {
    ...{
      finding: 'service-unreachable',
      code: 1,
      line: /fail service 127\.0\.0\.1:\d+ does not answer \(ECONNREFUSED\) remedy: see LANCE_BASE_URL/,
    },
    force: async () => ({ LANCE_BASE_URL: `http://127.0.0.1:${await freePort()}` }),
  },
  {
    ...{
      finding: 'service-silent',
      code: 0,
      line: /warn service 127\.0\.0\.1:\d+ takes connections and does not answer the query \(status-500\)/,
    },
    force: () => answering(500, '{}'),
  },
  {
    ...{
      finding: 'service-foreign',
      code: 1,
      line: /fail service 127\.0\.0\.1:\d+ answers the query with a success that is not/,
    },
    force: () => answering(200, '<html>log in</html>'),
  },
  {
    ...{
      finding: 'service-elsewhere',
      code: 1,
      line: /fail service 127\.0\.0\.1:\d+ answers, but nothing of the contract is there \(HTTP 404\)/,
    },
    force: () => answering(404, '<html>nothing</html>'),
  },
  {
    ...{
      finding: 'clock-slow',
      code: 1,
      line: /fail clock is \d+ ms behind the service's remedy: compare this machine's clock with a time server/,
    },
    force: () => answering(400, '{}', dateIn(hour)),
  },
  {
    ...{
      finding: 'clock-fast',
      code: 0,
      line: /warn clock is \d+ ms ahead of the service's remedy: compare this machine's clock with a time server/,
    },
    force: () => answering(400, '{}', dateIn(-hour / 6)),
  },
  {
    ...{
      finding: 'clock-behind',
      code: 1,
      line: /fail clock is \d+ ms behind the last record remedy: set this machine's clock by a time server/,
    },
    force: () => clockAt(-hour),
  },
  {
    ...{
      finding: 'clock-wrong',
      code: 1,
      line: /fail clock the year cannot be right remedy: set this machine's clock by a time server/,
    },
    force: () => clockAt(-20 * 365 * 24 * hour),
  },
];

for (const { finding, code, line, force } of rows) {
  test(`doctor: ${finding}`, async () => {
    const place = join(played.directory, `of-${finding}`);
    const data = join(place, 'data');
    mkdirSync(place);
    mkdirSync(data, { mode: 0o700 });
    cpSync(whole, data, { recursive: true });
    chmodSync(data, 0o700);
    for (const end of ['', '.claims', '.mark']) cpSync(`${whole}.anchor${end}`, `${data}.anchor${end}`);
    const own = { ...environment, LANCE_DATA_DIR: data, ...(await force(data)) };
    const json = await lance(own, 'doctor', '--json');
    const findings = jsonLines<Finding>(json.stdout);
    assert.ok(
      findings.some((each) => each.finding === finding),
      findings.map((each) => `${each.level} ${each.finding}`).join('\n') + json.stderr,
    );
    assert.equal(
      json.code,
      code,
      findings
        .filter(({ level }) => level === 'fail')
        .map((each) => JSON.stringify(each))
        .join('\n'),
    );
    const said = await lance(own, 'doctor');
    assert.deepEqual([said.code, line.test(said.stdout.replaceAll(/\s+/g, ' '))], [code, true], said.stdout);
  });
}

/** Checks that are made to fail in a test of their own. */
const elsewhere: Readonly<Record<string, string>> = {
  node: 'no other Node is at hand',
  outcomes: 'a file of the package',
  disk: 'doctor.test.ts, on a disk of its own',
  servers: 'kafka-away.test.ts and late-servers.test.ts, on brokers',
  views: 'views-behind.test.ts',
  bidding: 'status.test.ts and doctor.test.ts, beside a process',
  'dead-letters': 'doctor-afar.test.ts',
  afar: 'doctor-afar.test.ts',
};

test('every check fails in a row, or in a test that is named', () => {
  const forced = rows.map(({ line }) => / (?:fail|warn) (.*)/.exec(` ${line.source}`)?.[1] ?? '');
  const unforced = Object.entries(doctorEn.checks).filter(([, name]) => !forced.some((text) => text.startsWith(name)));
  assert.deepEqual(unforced.map(([check]) => check).sort(), Object.keys(elsewhere).sort());
});
