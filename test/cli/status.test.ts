/** `lance status` and the doctor ask the running desk why no bids flow; what they say where nobody answers. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { languages, textsIn } from '../../src/cli/texts.ts';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { type Daemon, freePort, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

let played: Played;
let environment: Record<string, string>;
let daemon: Daemon;
let root: string;
const apiToken = 'a-token-of-the-viewer';

before(async () => {
  // A loaded machine sends no bid within a short window, and its desk takes the service for one that is away.
  played = await openStage(21, 6_000);
  const port = await freePort();
  const hash = createHash('sha256').update(apiToken).digest('hex');
  environment = { ...played.environment, LANCE_HTTP_PORT: `${port}`, LANCE_API_TOKENS: `ana:viewer:${hash}` };
  root = `http://127.0.0.1:${port}`;
  daemon = await startDaemon(environment);
  played.sandbox.connect(daemon.url);
});

after(async () => {
  await daemon.stop();
  await played.close();
});

const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

/** One screen of a terminal. */
function assertScreen(text: string): void {
  const lines = text.trimEnd().split('\n');
  assert.ok(lines.length <= 24, `${lines.length} lines`);
  for (const line of lines) assert.ok(line.length <= 80, `${line.length}: ${line}`);
}

async function statusOf(more: Record<string, string> = {}): Promise<DaemonStatus> {
  const { stdout, stderr, code } = await lance({ ...environment, ...more }, 'status', '--json');
  assert.equal(code, 0, stderr);
  // Whether the sandbox answered slowly is a matter of the machine.
  return { ...JSON.parse(stdout), slowAnswers: null };
}

/** The same of a desk that is open and has nothing to tell: what else it says is a matter of the machine. */
async function openStatus(): Promise<DaemonStatus> {
  const { startedAt, ...status } = await statusOf();
  const told = { ...nothingElse, cause: null, kind: 'open', since: startedAt } as const;
  const untold = { unknownRefusals: null, linkQueryRefusals: null, caps: null, partitions: { owned: [0], closed: [] } };
  return { ...status, startedAt, bidding: told, ...untold };
}

const nothingElse = { until: null, by: null, detail: null, remedy: null };

/** Whether answers were slow is a matter of the machine, and takes lines. */
function withoutSlow(text: string): string {
  return text.replace(/^(?:answers|respostas) .*\n(?: .*\n)*/m, '');
}

test('an open desk says what it is about, in one screen', async () => {
  await played.sandbox.run(40);
  const status = await statusOf();
  assert.deepEqual([status.bidding?.kind, status.bidding?.cause, status.ready], ['open', null, true]);
  assert.deepEqual(status.partitions, { owned: [0], closed: [] });
  assert.ok(status.lastBidAt !== null && status.lastBidAt > status.startedAt);
  assert.ok(status.lastWinAt !== null && status.lastWinAt > status.startedAt, 'no win of 40');
  // The answer comes first, then what is made of it.
  assert.ok(status.lastAnswerAt != null && status.lastAnswerAt >= status.lastBidAt - 1_000);
  const ready = await (await fetch(`${root}/readyz?verbose`)).text();
  assert.match(ready, /^\[[+!]\] service: last answered \d+ (?:s|min) ago, at \d{4}-/m);
  const metrics = await (await fetch(`${root}/metrics`)).text();
  const gauge = /^lance_service_last_answer_timestamp_seconds (\S+)$/m.exec(metrics);
  assert.ok(Math.abs(Number(gauge?.[1]) * 1_000 - Date.now()) < 600_000, gauge?.[0]);
  assert.match(status.ruleSet ?? '', /^[\da-f]{64}$/);
  assert.ok(status.requests !== null && status.requests.sendLimit > 0);
  for (const [language, said] of [
    [
      'pt',
      /lances +ABERTOS[\s\S]*último lance +\d\d\/\d\d\/\d{4}[\s\S]*serviço +respondeu pela última vez há \d+ (?:s|min)/,
    ],
    ['en', /bidding +OPEN[\s\S]*last bid +\d{4}-\d\d-\d\d[\s\S]*service +last answered \d+ (?:s|min) ago/],
  ] as const) {
    const { stdout } = await lance(environment, 'status', '--lang', language);
    assert.match(stdout, said);
    assertScreen(withoutSlow(stdout));
  }
});

test('a service that is asked for its time and does not answer is pointed out', async () => {
  const { lastAnswerAt: _, ...running } = await openStatus();
  assert.equal(running.serviceAskedMs, 60_000);
  let told: object = {};
  const server = createHttpServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...running, ...told })),
  ).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const [silentMs, serviceAskedMs, isTold] of [
      [170_000, 60_000, false],
      [190_000, 60_000, true],
      [190_000, null, false],
    ] as const) {
      for (const lastAnswerAt of [running.at - silentMs, null]) {
        told = { lastAnswerAt, serviceAskedMs, startedAt: running.at - silentMs };
        const { stdout } = await lance({ LANCE_URL: url, LANCE_LANG: 'en' }, 'status');
        assert.match(
          stdout,
          lastAnswerAt === null ? /service +has not answered/ : /service +last answered [23] min ago/,
        );
        assert.equal(/see\s+LANCE_BASE_URL/.test(stdout), isTold, stdout);
        assertScreen(stdout);
      }
    }
    for (const [lastAnswerStatus, isTold] of [
      [404, false],
      [200, false],
      [403, true],
      [503, true],
    ] as const) {
      told = { lastAnswerAt: running.at - 20_000, serviceAskedMs: 60_000, startedAt: running.at, lastAnswerStatus };
      const { stdout } = await lance({ LANCE_URL: url, LANCE_LANG: 'en' }, 'status');
      const isSaid = flat(stdout).includes(`with HTTP ${lastAnswerStatus}: it, or something in front of it, may turn`);
      assert.equal(isSaid, isTold, stdout);
      assertScreen(stdout);
    }
  } finally {
    server.close();
  }
});

test('a pause is the cause, with who, why and the remedy; the API, /readyz and the doctor say the same', async () => {
  const reason = `taxas estranhas ${'e um motivo comprido '.repeat(6)}`.trim();
  assert.equal((await lance(environment, 'pause', '--by', 'ana', '--reason', reason)).code, 0);
  const standing = await statusOf();
  const own = standing.bidding;
  // That no bid was sent after the pause is shown to the millisecond.
  assert.equal(standing.pausedAt, own?.since);
  const calls = played.sandbox.record.of('call').filter(({ path }) => path.endsWith(bidPath));
  const arrivedAt = Math.max(...calls.map((call) => call.arrivedAt));
  const { lastSentAt } = standing;
  assert.ok(lastSentAt != null && lastSentAt <= arrivedAt + 5 && arrivedAt - lastSentAt < 10_000, `${lastSentAt}`);
  assert.ok(lastSentAt < (standing.pausedAt ?? 0));
  const toTheMs = await lance(environment, 'status', '--lang', 'en');
  assert.match(toTheMs.stdout, /last sent +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} -03/);
  assert.match(toTheMs.stdout, /paused +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} -03/);
  assert.deepEqual([own?.kind, own?.cause, own?.by, own?.detail], ['closed', 'paused', 'ana', reason]);
  assert.match(own?.remedy ?? '', /lance resume/);
  const pt = await lance(environment, 'status');
  assert.match(pt.stdout, /lances +FECHADOS: em pausa \(paused\)[\s\S]*por +ana[\s\S]*remédio +lance resume --by NOME/);
  assertScreen(withoutSlow(pt.stdout));
  const en = await lance(environment, 'status', '--lang', 'en');
  assert.match(en.stdout, /bidding +CLOSED: paused \(paused\)[\s\S]*remedy +lance resume --by NAME/);
  const asked = await fetch(`${root}/v1/status`, { headers: { authorization: `Bearer ${apiToken}` } });
  assert.deepEqual(((await asked.json()) as DaemonStatus).bidding, own);
  assert.equal((await fetch(`${root}/v1/status`)).status, 401);
  // Without a token: the cause, and nobody's name or words.
  const open = await (await fetch(`${root}/status`)).text();
  assert.doesNotMatch(open, /ana|estranhas/);
  assert.deepEqual((JSON.parse(open) as DaemonStatus).bidding, { ...own, by: null, detail: null });
  const elsewhere = await statusOf({ LANCE_URL: root });
  assert.deepEqual([elsewhere.bidding?.cause, elsewhere.bidding?.by], ['paused', null]);
  const known = await statusOf({ LANCE_URL: root, LANCE_TOKEN: apiToken });
  assert.deepEqual([known.bidding?.by, known.bidding?.detail], ['ana', reason]);
  assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /paused by ana/);
  const doctor = await lance(environment, 'doctor', '--json');
  const found = jsonLines<{ check: string; level: string; finding: string; cause?: string }>(doctor.stdout);
  const bidding = found.filter(({ check }) => check === 'bidding');
  assert.deepEqual(
    bidding.map(({ level, finding, cause }) => [level, finding, cause]),
    [['warn', 'bidding-closed', 'paused']],
  );
  assert.equal((await lance(environment, 'resume', '--by', 'ana', '--reason', 'visto')).code, 0);
  assert.equal((await statusOf()).bidding?.kind, 'open');
});

test('LANCE_URL and LANCE_TOKEN ask the operator API of another machine', async () => {
  const elsewhere = { LANCE_URL: root, LANCE_TOKEN: apiToken };
  const status = JSON.parse((await lance(elsewhere, 'status', '--json')).stdout) as DaemonStatus;
  assert.equal(status.instance, (await statusOf()).instance);
  const wrong = await lance({ ...elsewhere, LANCE_TOKEN: 'wrong', LANCE_LANG: 'en' }, 'status');
  assert.equal(wrong.code, 77);
  assert.match(wrong.stdout, /answered 401: set LANCE_TOKEN/);
  for (const words of [
    ['pause', '--reason', 'x'],
    ['controls', 'history'],
    ['tokens', 'list'],
  ]) {
    const refused = await lance({ ...elsewhere, LANCE_TOKEN: 'wrong', LANCE_LANG: 'en' }, ...words);
    assert.deepEqual([refused.code, /answered 401/.test(refused.stderr)], [77, true], `${words}: ${refused.stderr}`);
  }
  const path = await lance({ LANCE_URL: `${root}/nothing`, LANCE_LANG: 'en' }, 'status');
  assert.match(path.stdout, /answered 404, and that is no status/);
  assertScreen(path.stdout);
  assert.match((await lance({ LANCE_URL: 'host:80' }, 'status')).stderr, /LANCE_URL não é um endereço: escreva-o como/);
  const spelt = await lance({ LANCE_URL: 'host:80', LANCE_LANG: 'en' }, 'status');
  assert.deepEqual([spelt.code, /LANCE_URL is no address/.test(spelt.stderr)], [78, true]);
});

test('bids without a known answer are said with the command that lists them', () => {
  for (const language of languages) {
    const queue = (unknown: number) => textsIn(language).status.queue({ queued: 0, sending: 0, sendLimit: 8, unknown });
    assert.match(queue(3), /\b3 .*\(lance bids list --state unknown\)$/);
    assert.doesNotMatch(queue(0), /bids list/);
  }
});

test('a desk that runs on the directory is found there, whatever port the settings name', async () => {
  const shown = await lance({ ...environment, LANCE_HTTP_PORT: '1', LANCE_LANG: 'en' }, 'status');
  assert.equal(shown.code, 0, shown.stdout);
  assert.match(shown.stdout.replaceAll(/\s+/g, ' '), new RegExp(`at ${root}/`));
  const doctor = await lance({ ...environment, LANCE_HTTP_PORT: '1' }, 'doctor', '--json');
  const found = jsonLines<{ check: string; finding: string }>(doctor.stdout);
  const { length } = found.filter(({ check, finding }) => check === 'bidding' && finding !== 'bidding-unasked');
  assert.ok(length > 0, doctor.stdout);
  const path = join(environment.LANCE_DATA_DIR!, 'lance.running.json');
  assert.equal(statSync(path).mode & 0o077, 0);
  // One that is wrong or damaged is none.
  const written = readFileSync(path);
  for (const text of ['{', '{"pid":"x","url":"http://127.0.0.1:1/"}', '{"pid":1,"url":"file:///etc/passwd"}']) {
    writeFileSync(path, text);
    assert.equal((await lance(environment, 'status')).code, 0, text);
  }
  writeFileSync(path, written);
});

test('requests of a process whose store is away are unknown, not none', async () => {
  const status = await openStatus();
  const away = { ...status, requests: { ...status.requests, known: false, open: 0 } };
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(away)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const there = { LANCE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    assert.match(
      (await lance({ ...there, LANCE_LANG: 'en' }, 'status')).stdout,
      /requests +unknown: the store is away/,
    );
    assert.match((await lance(there, 'status')).stdout, /solicitações +não se sabe/);
  } finally {
    server.close();
  }
});

test('a service whose answers are slow is named by status and doctor, in one screen', async () => {
  const status = await openStatus();
  const slow = { ...status, slowAnswers: { medianMs: 4_020, of: 20, windowMs: 30_000 } };
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(slow)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const LANCE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const [language, said] of [
      [
        'en',
        /answers SLOW: half of the last 20 bids waited 4\.0 s or longer for their answer, and an auction lasts 30 s/,
      ],
      [
        'pt',
        /respostas LENTAS: metade dos últimos 20 lances esperou 4,0 s ou mais pela resposta, e um leilão dura 30 s/,
      ],
    ] as const) {
      const { stdout } = await lance({ LANCE_URL, LANCE_LANG: language }, 'status');
      assert.match(stdout.replaceAll(/\s+/g, ' '), said);
      assertScreen(stdout);
      const doctor = await lance({ ...environment, LANCE_URL, LANCE_LANG: language }, 'doctor');
      assert.match(doctor.stdout, /LanceServiceSlow/);
      assert.equal(doctor.code, 0, doctor.stdout);
    }
    const json = jsonLines<{ finding: string; level: string }>(
      (await lance({ ...environment, LANCE_URL }, 'doctor', '--json')).stdout,
    );
    assert.equal(json.find(({ finding }) => finding === 'bidding-slow')?.level, 'warn');
  } finally {
    server.close();
  }
});

test('a service that refuses every bid is named by status and doctor, in one screen', async () => {
  const status = await openStatus();
  const refused = { ...status, unknownRefusals: 1_234 };
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(refused)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const LANCE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const [language, said] of [
      ['en', /refusals REFUSED: the bids of the last 1234 requests were all refused in unknown words/],
      ['pt', /recusas RECUSADOS: os lances das últimas 1234 solicitações foram todos recusados/],
    ] as const) {
      const { stdout } = await lance({ LANCE_URL, LANCE_LANG: language }, 'status');
      assert.match(stdout.replaceAll(/\s+/g, ' '), said);
      assertScreen(stdout);
      const doctor = await lance({ ...environment, LANCE_URL, LANCE_LANG: language }, 'doctor');
      assert.match(doctor.stdout, /LanceBidsRefused/);
    }
    const json = jsonLines<{ finding: string; level: string }>(
      (await lance({ ...environment, LANCE_URL }, 'doctor', '--json')).stdout,
    );
    assert.equal(json.find(({ finding }) => finding === 'bidding-refused')?.level, 'warn');
  } finally {
    server.close();
  }
});

test('a closed partition is a failure for doctor, also where others are bid for (operator, session 49)', async () => {
  const status = await openStatus();
  const text = 'auctions/3 is closed: The batch of records of lance.auctions/3 that begins at 7 is damaged.';
  const closed = { ...status, partitions: { ...status.partitions, closed: [text] } };
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(closed)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const LANCE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const LANCE_LANG of ['en', 'pt']) {
      const { stdout, code } = await lance({ ...environment, LANCE_URL, LANCE_LANG }, 'doctor');
      assert.match(stdout.replaceAll(/\s+/g, ' '), /auctions\/3 .*that begins at 7 .*LanceAlarm, partition-closed/);
      assert.equal(code, 1, stdout);
    }
    const found = jsonLines<{ finding: string; level: string }>(
      (await lance({ ...environment, LANCE_URL }, 'doctor', '--json')).stdout,
    );
    assert.equal(found.find(({ finding }) => finding === 'bidding-partition-closed')?.level, 'fail');
    assert.ok(!found.some(({ finding }) => finding === 'bidding-open'));
  } finally {
    server.close();
  }
});

test('a service that refuses every link query is named by status and doctor, in one screen', async () => {
  const status = await openStatus();
  const failingSources = [{ source: 'bureau', failure: 'time-out', failed: 12, of: 20 }];
  const refused = { ...status, linkQueryRefusals: 1_234, failingSources };
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(refused)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const LANCE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const [language, said] of [
      ['en', /queries REFUSED: the queries of the last 1234 employment links were all refused in unknown words/],
      ['pt', /consultas RECUSADAS: as consultas dos últimos 1234 vínculos de emprego foram todas recusadas/],
    ] as const) {
      const { stdout } = await lance({ LANCE_URL, LANCE_LANG: language }, 'status');
      assert.match(stdout.replaceAll(/\s+/g, ' '), said);
      assert.match(stdout.replaceAll(/\s+/g, ' '), /bureau .*12 .* 20 .*time-out.*LanceSourceFailing/);
      assertScreen(stdout);
      const doctor = await lance({ ...environment, LANCE_URL, LANCE_LANG: language }, 'doctor');
      assert.match(doctor.stdout, /LanceLinkQueriesRefused/);
      assert.match(doctor.stdout.replaceAll(/\s+/g, ' '), /bureau .*12 .* 20 .*time-out.*LanceSourceFailing/);
    }
    const json = jsonLines<{ finding: string; level: string }>(
      (await lance({ ...environment, LANCE_URL }, 'doctor', '--json')).stdout,
    );
    assert.equal(json.find(({ finding }) => finding === 'bidding-links-refused')?.level, 'warn');
  } finally {
    server.close();
  }
});

test('a full cap and a service that refuses every bid are shown at once', async () => {
  const cap = { name: 'noite', byHand: true, usedCents: 99_000, limitCents: 100_000, usedCount: 3, limitCount: null };
  const both = { ...(await openStatus()), unknownRefusals: 6, caps: { cap, ended: 14, of: 20 } };
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(both)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const LANCE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    for (const [language, said] of [
      ['en', /REFUSED: the bids of the last 6 .* 14 of the last 20 would-be bids .* by noite \(set by hand\)/],
      ['pt', /RECUSADOS: os lances das últimas 6 .* 14 das últimas 20 .* em noite \(posto à mão\)/],
    ] as const) {
      const { stdout } = await lance({ LANCE_URL, LANCE_LANG: language }, 'status');
      assert.match(stdout.replaceAll(/\s+/g, ' '), said);
      assertScreen(stdout);
    }
  } finally {
    server.close();
  }
});

test('what a process does not tell, or cannot know without traffic, is said so', async () => {
  const status = await openStatus();
  const server = createHttpServer((_request, response) => response.end(JSON.stringify(shown)));
  let shown: DaemonStatus = status;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const said = async (changed: Partial<DaemonStatus>) => {
    shown = { ...status, ...changed };
    const LANCE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stdout } = await lance({ LANCE_URL, LANCE_LANG: 'en' }, 'status');
    assertScreen(stdout);
    return stdout.replaceAll(/\s+/g, ' ');
  };
  try {
    const throttled = { ...status.bidding!, kind: 'closed', cause: 'service-throttled', detail: 'throttled' } as const;
    const requests = { ...status.requests!, sendLimit: 4, sendLimitMost: 64 };
    const shownLimit = await said({ bidding: throttled, requests });
    assert.match(
      shownLimit,
      /remedy fewer are sent at once already .*opens by itself .* 60 s after the last one; .*LANCE_CONFIG/,
    );
    assert.match(shownLimit, /being sent \(limit now 4 of 64\)/);
    const open = { ...status.bidding!, kind: 'open', cause: null } as const;
    const quiet = { ...status, bidding: open, startedAt: 1_772_550_000_000, lastBidAt: null, lastAnswerAt: undefined };
    assert.match(
      await said({ ...quiet, at: quiet.startedAt + 1_000, lastAnswerAt: null }),
      /bidding OPEN as far as is known: nothing was answered by the service since the start at \d{4}-/,
    );
    assert.match(
      await said({ ...quiet, at: quiet.startedAt + 120_000 }),
      /bidding OPEN as far as is known: no bid was taken since \d{4}-.*, and only a bid shows whether the service takes them/,
    );
    assert.match(await said({ ...quiet, at: quiet.startedAt + 30_000 }), /bidding OPEN since/);
    const turned = { ...quiet, at: quiet.startedAt + 30_000, lastAnswerAt: quiet.startedAt, lastAnswerStatus: 403 };
    assert.match(await said(turned), /bidding OPEN, as far as is known: the service answered with HTTP 403 last/);
    const refused = { ...open, kind: 'closed', cause: 'service-unauthorised' } as const;
    assert.match(
      await said({ ...turned, bidding: refused, lastAnswerStatus: 401 }),
      /service last answered .*, with HTTP 401: it refuses the token of this desk/,
    );
    const paused = { ...open, kind: 'closed', cause: 'paused' } as const;
    assert.match(
      await said({ bidding: { ...paused, by: null }, partitions: { owned: [], closed: [] } }),
      /by not told without a token: set LANCE_TOKEN .*partitions this process answers for none/,
    );
    assert.match(
      await said({ bidding: { ...paused, by: 'ana' }, partitions: { owned: [0], closed: [] } }),
      /by ana .*partitions this process answers for the one with number 0/,
    );
  } finally {
    server.close();
  }
});

test('a revoked token is told as that by status and by an order, in the language of the command, and in the log', async () => {
  const make = ['tokens', 'create', '--owner', 'carla', '--role', 'operator', '--days', '1', '--by', 'ana'];
  const { id, token } = JSON.parse((await lance(environment, ...make, '--json')).stdout) as {
    id: string;
    token: string;
  };
  const LANCE_URL = daemon.url.replace(/\/webhooks.*/, '');
  const asked = { LANCE_URL, LANCE_TOKEN: token, LANCE_LANG: 'pt' };
  for (let looks = 0; (await lance(asked, 'status')).code !== 0; looks += 1) assert.ok(looks < 20);
  assert.equal((await lance(environment, 'tokens', 'revoke', id, '--by', 'ana')).code, 0);
  for (let looks = 0; (await lance(asked, 'status')).code === 0; looks += 1) assert.ok(looks < 20);
  for (const [language, why] of [
    ['pt', /respondeu 401: Este token foi revogado: .*Na máquina da mesa, sem LANCE_URL, lance pause/],
    ['en', /answered 401: This token was revoked: .*On the machine of the desk, without LANCE_URL, lance pause/],
  ] as const) {
    const shown = await lance({ ...asked, LANCE_LANG: language }, 'status');
    const order = await lance({ ...asked, LANCE_LANG: language }, 'pause', '--reason', 'teste');
    assert.equal(shown.code, 77);
    assert.match(shown.stdout.replaceAll(/\s+/g, ' '), why);
    assert.match(order.stderr.replaceAll(/\s+/g, ' '), why);
  }
  const told = daemon.lines.filter(({ msg, problem }) => msg === 'request-refused' && problem === 'failed-login');
  assert.match(String(told.at(-1)?.text), /the token of carla was revoked/);
});

test('a start whose address is taken leaves no directory and no anchor behind', async () => {
  const stage = await openStage(24);
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  try {
    const { port } = taken.address() as AddressInfo;
    const data = join(stage.directory, 'not-yet');
    const { stderr } = await lance({ ...stage.environment, LANCE_DATA_DIR: data, LANCE_HTTP_PORT: `${port}` }, 'run');
    assert.match(stderr, /LANCE_HTTP_PORT: 127\.0\.0\.1:\d+ is in use/);
    assert.deepEqual(
      readdirSync(stage.directory).filter((name) => name.startsWith('not-yet')),
      [],
    );
  } finally {
    taken.close();
    await stage.close();
  }
});

test('an expired token is the cause everywhere; a fault of the service is no warning of the doctor', async () => {
  const port = await freePort();
  const stage = await openStage(22);
  const settings = { ...stage.environment, LANCE_HTTP_PORT: `${port}`, LANCE_ACCESS_TOKEN: 'expired' };
  const other = await startDaemon(settings);
  try {
    stage.sandbox.connect(other.url);
    await stage.sandbox.run(10);
    const { stdout } = await lance({ ...settings, LANCE_LANG: 'en' }, 'status');
    assert.match(stdout, /CLOSED: the service refuses the token \(service-unauthorised\)/);
    assert.match(
      stdout.replaceAll(/\s+/g, ' '),
      /remedy set a new LANCE_ACCESS_TOKEN and restart; where the token comes from LANCE_TOKEN_COMMAND, mend that program/,
    );
    assertScreen(stdout);
    const doctor = await lance({ ...settings, LANCE_LANG: 'en' }, 'doctor');
    assert.equal(doctor.code, 1);
    assert.match(doctor.stdout, /closed since .*the service refuses the token \(service-unauthorised\)/);
    assert.match(doctor.stdout, /set a new LANCE_ACCESS_TOKEN and restart/);
  } finally {
    await other.stop();
    await stage.close();
  }
});

test('where no process answers it is said so, with what the store knows', async () => {
  const stage = await openStage(23);
  try {
    const port = await freePort();
    const nobody = { ...stage.environment, LANCE_HTTP_PORT: `${port}` };
    assert.equal((await lance(nobody, 'pause', '--by', 'ana', '--reason', 'teste')).code, 73, 'no store yet');
    const silent = await lance(nobody, 'status');
    assert.equal(silent.code, 69);
    assert.match(silent.stdout, /Nenhum processo responde em http:\/\/127\.0\.0\.1:\d+\/ \(ECONNREFUSED\)/);
    assertScreen(silent.stdout);
    const json = JSON.parse((await lance(nobody, 'status', '--json')).stdout);
    assert.deepEqual([json.kind, json.reason, json.alive, json.pause], ['silent', 'ECONNREFUSED', null, null]);
    const unknown = await lance({ ...nobody, LANCE_HTTP_PORT: '0', LANCE_LANG: 'en' }, 'status');
    assert.deepEqual([unknown.code, /set LANCE_URL/.test(unknown.stdout)], [69, true]);
    // A store that a desk has left behind.
    const ran = await startDaemon(nobody);
    assert.equal((await lance(nobody, 'pause', '--by', 'ana', '--reason', 'teste')).code, 0);
    // As where the disk was full when it started.
    rmSync(join(nobody.LANCE_DATA_DIR!, 'lance.running.json'));
    const live = await lance({ ...nobody, LANCE_HTTP_PORT: `${await freePort()}`, LANCE_LANG: 'en' }, 'status');
    assert.match(
      live.stdout.replaceAll('\n', ' '),
      /In the store, 1 process showed within the last 5 s that it lives, last at \d{4}-.* may be gone: look again/,
    );
    await ran.stop();
    const left = await lance({ ...nobody, LANCE_LANG: 'en' }, 'status');
    assert.match(left.stdout.replaceAll('\n', ' '), /Paused by ana since .*: teste/);
  } finally {
    await stage.close();
  }
});
