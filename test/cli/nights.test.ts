/**
 * Nights on which no bid flows, with a real `lance run`: in the log, in `/readyz`, in the metric, in the alert within two minutes, in
 * `lance status`, in the doctor, in the API and in the reason codes stands one cause, the right one, with its remedy.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask, createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ClosedCause } from '../../src/bidding/bidding-status.ts';
import { biddingEn } from '../../src/cli/bidding-texts-en.ts';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { noSmallDisk, withSmallDisk } from '../hostile/small-disk.ts';
import { type Daemon, freePort, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const windowMs = 3_000;
const apiToken = 'a-token-of-the-viewer';
const hourMs = 3_600_000;

/** What stands between the desk and the service: lets everything through, or plays what a night may bring. */
type Front = {
  url: string;
  mode: 'through' | 'down' | 'throttled' | 'bids-forbidden' | 'links-forbidden' | 'bids-ok' | 'an-hour-ahead';
  server: Server;
};

async function openFront(serviceUrl: string): Promise<Front> {
  const server = createServer((request, response) => {
    if (front.mode === 'down') return void request.socket.destroy();
    if (front.mode === 'throttled') {
      request.resume();
      return void response.writeHead(429).end('{}');
    }
    const { method, url: path, headers } = request;
    const isForbidden =
      (front.mode === 'bids-forbidden' && path?.endsWith(bidPath)) ||
      (front.mode === 'links-forbidden' && path?.includes('consultar-dados-vinculo'));
    if (isForbidden) {
      request.resume();
      return void response.writeHead(403, { 'content-type': 'text/html' }).end('<html>Forbidden</html>');
    }
    if (front.mode === 'bids-ok' && path?.endsWith(bidPath)) {
      request.resume();
      return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
    }
    const onward = ask(new URL(path ?? '/', serviceUrl), { method, headers }, (answer) => {
      const date = new Date(Date.now() + hourMs).toUTCString();
      response.writeHead(answer.statusCode ?? 502, {
        ...answer.headers,
        ...(front.mode === 'an-hour-ahead' ? { date } : {}),
      });
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    return void request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front: Front = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, mode: 'through', server };
  return front;
}

type Night = {
  played: Played;
  daemon: Daemon;
  front: Front;
  environment: Record<string, string>;
  root: string;
  /** Moves the desk's time of day; nothing else. */
  shift: (ms: number) => void;
};

type NightOptions = {
  more?: Record<string, string>;
  windowMs?: number;
  bidding?: Record<string, number>;
  /** Of the section `rules`. */
  rules?: Record<string, boolean>;
  /** Of the desk's clock, before its start. */
  shiftMs?: number;
};

/** Requests wait for the service longer than it takes to be sure that it is away. */
const patient: NightOptions = { windowMs: 6_000, bidding: { marginWaitMs: 4_000 } };

async function withNight(seed: number, options: NightOptions, use: (night: Night) => Promise<void>): Promise<void> {
  const played = await openStage(seed, options.windowMs ?? windowMs);
  const settings = JSON.parse(readFileSync(played.environment.LANCE_CONFIG!, 'utf8'));
  writeFileSync(
    played.environment.LANCE_CONFIG!,
    JSON.stringify({ ...settings, bidding: { ...settings.bidding, ...options.bidding }, rules: options.rules ?? {} }),
  );
  const front = await openFront(played.environment.LANCE_BASE_URL!);
  const port = await freePort();
  const shiftFile = join(played.directory, 'shift');
  writeFileSync(shiftFile, String(options.shiftMs ?? 0));
  const rules = join(played.directory, 'rules');
  cpSync(file('rules'), rules, { recursive: true });
  const environment: Record<string, string> = {
    ...played.environment,
    LANCE_BASE_URL: front.url,
    LANCE_HTTP_PORT: `${port}`,
    LANCE_RULES_DIR: rules,
    LANCE_API_TOKENS: `ana:viewer:${createHash('sha256').update(apiToken).digest('hex')}`,
    ...options.more,
  };
  const preload = new URL('../hostile/shifted-clock.ts', import.meta.url).href;
  const daemon = await startDaemon({
    ...environment,
    NODE_OPTIONS: `--import=${preload}`,
    SHIFTED_CLOCK_FILE: shiftFile,
  });
  played.sandbox.connect(daemon.url);
  const root = `http://127.0.0.1:${port}`;
  try {
    await use({ played, daemon, front, environment, root, shift: (ms) => writeFileSync(shiftFile, String(ms)) });
  } finally {
    await daemon.stop();
    front.server.closeAllConnections();
    front.server.close();
    await played.close();
  }
}

async function apiStatus({ root }: Night): Promise<DaemonStatus> {
  const answer = await fetch(`${root}/v1/status`, { headers: { authorization: `Bearer ${apiToken}` } });
  return (await answer.json()) as DaemonStatus;
}

async function untilCause(night: Night, cause: string | null, timeoutMs = 15_000): Promise<void> {
  const untilMs = Date.now() + timeoutMs;
  for (;;) {
    const { bidding } = await apiStatus(night);
    if ((bidding?.cause ?? null) === cause) return;
    assert.ok(Date.now() < untilMs, `${bidding?.cause} and not ${cause} after ${timeoutMs} ms`);
    await sleep(100);
  }
}

const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;

/** Alerts that fire when what the process says now has lasted for two minutes: the shipped rules, run by Prometheus' own tool. */
function firingWithin2Minutes(metrics: string, alert: string, expected: readonly Record<string, string>[]): void {
  if (!hasPromtool) return;
  const directory = mkdtempSync(join(tmpdir(), 'lance-nights-'));
  try {
    const series = metrics.split('\n').flatMap((line) => {
      const [, name, labels = '', value] =
        /^(lance_(?:bidding_status|paused|rule_set_refused|unknown_refusals|link_query_refusals))(?:\{(.*)\})? (\S+)$/.exec(
          line,
        ) ?? [];
      if (name === undefined) return [];
      return [
        { series: `${name}{job="lance",instance="a"${labels === '' ? '' : `,${labels}`}}`, values: `${value}x20` },
      ];
    });
    assert.ok(series.length > 5);
    const plan = {
      rule_files: [file('config/prometheus/alerts.yml')],
      evaluation_interval: '15s',
      tests: [
        {
          interval: '15s',
          input_series: series,
          promql_expr_test: [
            {
              expr: `group by (alertname, cause) (ALERTS{alertstate="firing",alertname="${alert}"})`,
              eval_time: '2m',
              exp_samples: expected.map((labels) => ({
                labels: `{${Object.entries(labels)
                  .map(([name, value]) => `${name}="${value}"`)
                  .join(',')}}`,
                value: 1,
              })),
            },
          ],
        },
      ],
    };
    const path = join(directory, 'plan.yml');
    writeFileSync(path, JSON.stringify(plan));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', path], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

type Row = { requestId: string; code: string | null; state: string };

async function codesOf({ environment }: Night): Promise<Record<string, number>> {
  const rows = jsonLines<Row>((await lance(environment, 'bids', 'list', '--json', '--limit', '200')).stdout);
  const counts: Record<string, number> = {};
  for (const { code } of rows) if (code !== null) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

/** The same cause in all places, while bidding is closed. */
async function assertShown(night: Night, cause: ClosedCause, ingress = 200): Promise<void> {
  const { daemon, root, environment } = night;
  const linesOf = () => daemon.lines.filter(({ msg, code }) => msg === 'bidding-closed' && code === cause);
  // The API may say it a moment before the line is written and has come through the pipe.
  for (let looks = 0; looks < 40 && linesOf().length === 0; looks += 1) await sleep(50);
  const told = linesOf();
  assert.ok(told.length > 0, `no line of ${cause}`);
  const remedies = [biddingEn.remedies[cause]];
  // Which of the two the last answer has decided.
  if (cause === 'service-unreachable') remedies.push(biddingEn.answersOtherwise.remedy);
  const says = (text: string) => remedies.some((remedy) => flat(text).includes(flat(remedy)));
  assert.ok(says(String(told[0]!.text)), String(told[0]!.text));
  const ready = await fetch(`${root}/readyz?verbose`);
  const isTold = new RegExp(`gate: .*${cause}`).test(await ready.text());
  assert.ok(isTold, `/readyz does not say ${cause}`);
  assert.equal(ready.status, cause === 'paused' ? 200 : 503);
  assert.equal((await fetch(`${root}/readyz?role=ingress`)).status, ingress, 'whether webhooks are taken');
  const metrics = await (await fetch(`${root}/metrics`)).text();
  assert.match(metrics, new RegExp(`^lance_bidding_status\\{cause="${cause}"\\} 1$`, 'm'));
  assert.equal([...metrics.matchAll(/^lance_bidding_status\{.*\} 1$/gm)].length, 1, 'one cause and no other');
  const alerts = cause === 'paused' ? [] : [{ alertname: 'LanceBiddingClosed', cause }];
  firingWithin2Minutes(metrics, 'LanceBiddingClosed', alerts);
  const { bidding } = await apiStatus(night);
  assert.equal(bidding?.cause, cause);
  assert.ok(says(bidding?.remedy ?? ''), bidding?.remedy ?? '');
  const [screen, doctor] = await Promise.all([
    lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
    lance(environment, 'doctor', '--json'),
  ]);
  assert.match(screen.stdout, new RegExp(`CLOSED: [\\s\\S]*\\(${cause}\\)`));
  assert.ok(says(screen.stdout), screen.stdout);
  const found = jsonLines<{ check: string; finding: string; cause?: string }>(doctor.stdout);
  assert.deepEqual(
    found.filter(({ check }) => check === 'bidding').map((each) => [each.finding, each.cause]),
    [['bidding-closed', cause]],
  );
}

/** Lines are broken at blanks. */
function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** Requests that ended meanwhile have the cause as their code, and none has another one of the desk's own. */
async function assertCodes(night: Night, cause: ClosedCause, least = 4): Promise<void> {
  let codes: Record<string, number> = {};
  for (let looks = 0; looks < 12 && (codes[cause] ?? 0) < least; looks += 1) {
    await sleep(500);
    codes = await codesOf(night);
  }
  assert.ok((codes[cause] ?? 0) >= least, JSON.stringify(codes));
  for (const wrong of ['paused', 'overload', 'no-send-slot', 'deadline', 'margin-missing'].filter(
    (code) => code !== cause,
  ))
    assert.equal(codes[wrong], undefined, JSON.stringify(codes));
}

// Each has a desk and a service of its own, and waits for windows of seconds half of its time.
describe('nights on which no bid flows', { concurrency: 2 }, () => {
  test('the first night: the token has expired', async () => {
    await withNight(61, { more: { LANCE_ACCESS_TOKEN: 'expired' } }, async (night) => {
      const running = night.played.sandbox.run(10);
      await untilCause(night, 'service-unauthorised');
      await assertShown(night, 'service-unauthorised');
      await running;
      await assertCodes(night, 'service-unauthorised');
      const metrics = await (await fetch(`${night.root}/metrics`)).text();
      assert.match(metrics, /^lance_alarms_total\{code="service-unauthorised"\} 1$/m);
    });
  });

  test('the second night: the service is down, and comes back', async () => {
    await withNight(62, patient, async (night) => {
      night.front.mode = 'down';
      const running = night.played.sandbox.run(40);
      await untilCause(night, 'service-unreachable');
      await assertShown(night, 'service-unreachable');
      await running;
      // Those whose bid was written and not answered are unknown, which is no code.
      await assertCodes(night, 'service-unreachable', 3);
      // Nothing is left to send: no request has to come for the desk to see that the service is there again.
      night.front.mode = 'through';
      await untilCause(night, null, 20_000);
      const isLogged = () =>
        night.daemon.lines.some(({ msg, from }) => msg === 'bidding-open' && from === 'service-unreachable');
      // What the desk writes comes here by a pipe, beside the answer of the API.
      for (let looks = 0; looks < 50 && !isLogged(); looks += 1) await sleep(100);
      assert.ok(isLogged(), 'the recovery is logged');
      assert.equal((await fetch(`${night.root}/readyz`)).status, 200);
    });
  });

  test('the third night: a bad rule file; the set before decides on, and every place says what is wrong', async () => {
    await withNight(63, {}, async (night) => {
      const { environment, daemon, root, played } = night;
      const path = join(environment.LANCE_RULES_DIR!, 'limits.json');
      const good = readFileSync(path, 'utf8');
      writeFileSync(path, good.slice(0, 200));
      const refused = () => daemon.lines.find(({ msg }) => msg === 'rules-refused');
      for (let looks = 0; looks < 150 && refused() === undefined; looks += 1) await sleep(100);
      assert.match(String(refused()?.text), /limits\.json/);
      assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /^\[!\] rules: .*the folder is refused$/m);
      const metrics = await (await fetch(`${root}/metrics`)).text();
      assert.match(metrics, /^lance_rule_set_refused 1$/m);
      firingWithin2Minutes(metrics, 'LanceRuleSetRefused', [{ alertname: 'LanceRuleSetRefused' }]);
      const status = await apiStatus(night);
      assert.match(status.rulesFolder.refusal ?? '', /limits\.json/);
      assert.equal(status.bidding?.kind, 'open', 'bids flow on, by the set before');
      const [screen, pt, doctor] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'status'),
        lance(environment, 'doctor', '--json'),
      ]);
      assert.match(flat(screen.stdout), /folder REFUSED, the set above decides on: .*limits\.json.*mend the file/);
      assert.match(
        flat(pt.stdout),
        /pasta RECUSADA, o conjunto acima continua decidindo: .*limits\.json.*corrija o arquivo/,
      );
      for (const { stdout } of [screen, pt])
        for (const line of stdout.split('\n')) assert.ok(line.length <= 80, `${line.length}: ${line}`);
      const found = jsonLines<{ check: string; finding: string }>(doctor.stdout).filter(
        ({ check }) => check === 'rules',
      );
      assert.deepEqual([...new Set(found.map(({ finding }) => finding))].sort(), ['rules-kept', 'rules-refused']);
      await played.sandbox.run(10);
      const codes = await codesOf(night);
      for (const wrong of ['rule-set-missing', 'paused', 'overload']) assert.equal(codes[wrong], undefined);
      writeFileSync(path, good);
      const mended = () => daemon.lines.some(({ msg }) => msg === 'rules-mended');
      for (let looks = 0; looks < 150 && !mended(); looks += 1) await sleep(100);
      assert.ok(mended(), 'the recovery is logged');
      assert.equal((await apiStatus(night)).rulesFolder.refusal, null);
    });
  });

  test('the third night, half a copy: no cap is left, nobody said so, and every place tells it until somebody does', async () => {
    await withNight(74, {}, async (night) => {
      const { environment, daemon, root } = night;
      const folder = environment.LANCE_RULES_DIR!;
      const live = (await apiStatus(night)).ruleSet;
      for (const name of readdirSync(folder))
        if (name !== 'codes.json' && !name.startsWith('limits')) rmSync(join(folder, name), { recursive: true });
      const lineOf = (msg: string) => daemon.lines.find((line) => line.msg === msg);
      for (let looks = 0; looks < 150 && lineOf('rules-refused') === undefined; looks += 1) await sleep(100);
      assert.match(
        String(lineOf('rules-refused')?.text),
        /would take away every cap \(\d+: [^)]*worker-day\) and \d+ of \d+ rules .*caps\.json/,
      );
      assert.match(await (await fetch(`${root}/metrics`)).text(), /^lance_rule_set_refused 1$/m);
      const { ruleSet, rulesFolder } = await apiStatus(night);
      assert.equal(ruleSet, live);
      const hash = rulesFolder.notFollowed!.slice(0, 12);
      const [screen, pt, doctor, doctorPt] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'status'),
        lance({ ...environment, LANCE_LANG: 'en' }, 'doctor'),
        lance(environment, 'doctor'),
      ]);
      const command = `lance rules activate ${hash} --by`;
      assert.match(flat(screen.stdout), new RegExp(`folder REFUSED, .*would take away every cap .*${command} NAME`));
      assert.match(flat(pt.stdout), new RegExp(`pasta RECUSADA, .*tiraria todos os tetos .*${command} NOME`));
      assert.match(flat(doctor.stdout), new RegExp(`fail rules set .*would take away every cap .*${command} NAME`));
      assert.match(
        flat(doctorPt.stdout),
        new RegExp(`falha regras o conjunto .*tiraria todos os tetos .*${command} NOME`),
      );
      const order = ['--by', 'ana', '--reason', 'sem tetos hoje'];
      assert.equal((await lance(environment, 'rules', 'activate', hash, ...order)).code, 0);
      const meantHash = rulesFolder.notFollowed;
      let meant = await apiStatus(night);
      for (let looks = 0; looks < 100 && meant.ruleSet !== meantHash; looks += 1) {
        await sleep(100);
        meant = await apiStatus(night);
      }
      assert.deepEqual(meant.rulesFolder, { refusal: null, heldBack: null, notFollowed: null });
      assert.ok(lineOf('rules-mended') !== undefined);
      assert.equal(meant.ruleSet, meantHash);
    });
  });

  test('paused by a person', async () => {
    await withNight(64, {}, async (night) => {
      const order = ['--by', 'ana', '--reason', 'teste'];
      assert.equal((await lance(night.environment, 'pause', ...order)).code, 0);
      const running = night.played.sandbox.run(10);
      await untilCause(night, 'paused');
      await assertShown(night, 'paused');
      await running;
      await assertCodes(night, 'paused');
    });
  });

  test('the first set waits for two persons, so there are no rules to decide by', async () => {
    await withNight(78, { rules: { approval: true } }, async (night) => {
      await untilCause(night, 'rule-set-missing');
      const running = night.played.sandbox.run(10);
      await assertShown(night, 'rule-set-missing');
      await running;
      await assertCodes(night, 'rule-set-missing');
    });
  });

  test('throttled by the service', async () => {
    await withNight(65, patient, async (night) => {
      night.front.mode = 'throttled';
      const running = night.played.sandbox.run(20);
      await untilCause(night, 'service-throttled');
      await assertShown(night, 'service-throttled');
      await running;
      await assertCodes(night, 'service-throttled');
    });
  });

  test('every bid is answered with a success that says nothing: closed once, until a bid is answered', async () => {
    await withNight(76, patient, async (night) => {
      const { daemon, front, played } = night;
      front.mode = 'bids-ok';
      const told = () =>
        daemon.lines.flatMap(({ msg, code, from }) =>
          (msg === 'bidding-closed' && code === 'service-unreachable') ||
          (msg === 'bidding-open' && from === 'service-unreachable')
            ? [msg]
            : [],
        );
      for (let batch = 0; batch < 3; batch += 1) await played.sandbox.run(10);
      await untilCause(night, 'service-unreachable');
      await assertShown(night, 'service-unreachable');
      assert.deepEqual(told(), ['bidding-closed']);
      front.mode = 'through';
      await played.sandbox.run(5);
      await untilCause(night, null, 20_000);
      for (let looks = 0; looks < 50 && told().length < 2; looks += 1) await sleep(100);
      assert.deepEqual(told(), ['bidding-closed', 'bidding-open']);
    });
  });

  test('every bid is refused with 403: a warning in all places, and bidding stays open', async () => {
    await withNight(75, {}, async (night) => {
      const { environment, daemon, root, front, played } = night;
      front.mode = 'bids-forbidden';
      const alarms = () => daemon.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'bids-refused');
      for (let batch = 0; batch < 20 && alarms().length === 0; batch += 1) await played.sandbox.run(5);
      assert.equal(alarms().length, 1, 'the alarm');
      const { bidding, unknownRefusals } = await apiStatus(night);
      assert.equal(bidding?.kind, 'open');
      assert.ok(unknownRefusals! >= 5);
      assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /^\[!\] service: .*; REFUSED: the bids of/m);
      const metrics = await (await fetch(`${root}/metrics`)).text();
      assert.match(metrics, /^lance_unknown_refusals [1-9]\d*$/m);
      assert.match(metrics, /^lance_alarms_total\{code="bids-refused"\} 1$/m);
      firingWithin2Minutes(metrics, 'LanceBidsRefused', [{ alertname: 'LanceBidsRefused' }]);
      const [screen, doctor] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'doctor', '--json'),
      ]);
      assert.match(flat(screen.stdout), /bidding OPEN.*REFUSED: the bids of the last \d+ requests/);
      const found = jsonLines<{ check: string; finding: string }>(doctor.stdout);
      assert.deepEqual(
        found.filter(({ check }) => check === 'bidding').map(({ finding }) => finding),
        ['bidding-refused'],
      );
      const codes = await codesOf(night);
      assert.ok((codes.unclassified ?? 0) >= 5, JSON.stringify(codes));
      const each = daemon.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'rejected-unclassified');
      const told = each.reduce((sum, { leftOut }) => sum + 1 + Number(leftOut), 0);
      assert.ok(each.length <= 2 + 38 / 5, `${each.length} lines of ${told} refusals`);
      assert.ok(told > each.length, 'those left out are counted');
      front.mode = 'through';
      await played.sandbox.run(5);
      const isOver = () => daemon.lines.some(({ msg }) => msg === 'bids-refused-over');
      for (let looks = 0; looks < 100 && !isOver(); looks += 1) await sleep(100);
      assert.ok(isOver(), 'the recovery is logged');
      assert.equal((await apiStatus(night)).unknownRefusals, null);
    });
  });

  test('every link query is refused with 403: a warning in all places, and bidding stays open', async () => {
    await withNight(77, {}, async (night) => {
      const { environment, daemon, root, front, played } = night;
      front.mode = 'links-forbidden';
      const alarms = () => daemon.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'link-queries-refused');
      for (let batch = 0; batch < 20 && alarms().length === 0; batch += 1) await played.sandbox.run(5);
      assert.equal(alarms().length, 1, 'the alarm');
      const { bidding, linkQueryRefusals } = await apiStatus(night);
      assert.equal(bidding?.kind, 'open');
      assert.ok(linkQueryRefusals! >= 5);
      assert.match(await (await fetch(`${root}/readyz?verbose`)).text(), /^\[!\] service: .*; REFUSED: the queries/m);
      const metrics = await (await fetch(`${root}/metrics`)).text();
      assert.match(metrics, /^lance_alarms_total\{code="link-queries-refused"\} 1$/m);
      firingWithin2Minutes(metrics, 'LanceLinkQueriesRefused', [{ alertname: 'LanceLinkQueriesRefused' }]);
      const [screen, doctor] = await Promise.all([
        lance({ ...environment, LANCE_LANG: 'en' }, 'status'),
        lance(environment, 'doctor', '--json'),
      ]);
      assert.match(flat(screen.stdout), /bidding OPEN.*REFUSED: the queries of the last \d+ employment links/);
      const found = jsonLines<{ check: string; finding: string }>(doctor.stdout);
      assert.deepEqual(
        found.filter(({ check }) => check === 'bidding').map(({ finding }) => finding),
        ['bidding-links-refused'],
      );
      const codes = await codesOf(night);
      assert.ok((codes['link-refused'] ?? 0) >= 5, JSON.stringify(codes));
      front.mode = 'through';
      const isOver = () => daemon.lines.some(({ msg }) => msg === 'link-queries-refused-over');
      // Not every request asks for its link.
      for (let batch = 0; batch < 20 && !isOver(); batch += 1) await played.sandbox.run(5);
      assert.ok(isOver(), 'the recovery is logged');
      assert.equal((await apiStatus(night)).linkQueryRefusals, null);
    });
  });

  test("the machine's clock jumps", async () => {
    await withNight(66, {}, async (night) => {
      // Nobody tells the true time, so the step is not understood.
      night.front.mode = 'down';
      night.shift(10 * 60_000);
      await untilCause(night, 'clock-step');
      const running = night.played.sandbox.run(10);
      await assertShown(night, 'clock-step');
      const [en, pt] = await Promise.all(
        ['en', 'pt'].map((lang) => lance({ ...night.environment, LANCE_LANG: lang }, 'status')),
      );
      assert.match(flat(en!.stdout), /detail this machine's clock is 6\d\d\.\d s ahead of the time kept/);
      assert.match(flat(pt!.stdout), /detalhe o relógio desta máquina está 6\d\d\.\d s à frente da hora mantida/);
      await running;
      night.front.mode = 'through';
      night.shift(0);
      await untilCause(night, null, 20_000);
    });
  });

  test("the service's clock and ours do not agree", async () => {
    await withNight(67, {}, async (night) => {
      night.front.mode = 'an-hour-ahead';
      const running = night.played.sandbox.run(20);
      await untilCause(night, 'clock-skew', 20_000);
      await assertShown(night, 'clock-skew');
      await running;
    });
  });

  test("the machine's clock is ahead of the service's since the start, so that every auction seems to be over", async () => {
    await withNight(69, { shiftMs: 10 * 60_000 }, async (night) => {
      const running = night.played.sandbox.run(20);
      await untilCause(night, 'clock-skew', 20_000);
      await assertShown(night, 'clock-skew');
      await running;
      night.shift(0);
      await untilCause(night, null, 20_000);
      assert.ok(night.daemon.lines.some(({ msg, code }) => msg === 'alarm' && code === 'clock-skew'));
    });
  });

  test('the disk is full, so the log takes nothing', async (t) => {
    const place = mkdtempSync(join(tmpdir(), 'lance-nights-'));
    const disk = join(place, 'disk');
    try {
      const done = await withSmallDisk(disk, 60, async ({ fill, free }) => {
        const more = { LANCE_DATA_DIR: join(disk, 'data') };
        await withNight(68, { more }, async (night) => {
          await night.played.sandbox.run(5);
          const running = night.played.sandbox.run(20);
          await sleep(300);
          fill();
          await untilCause(night, 'log-refused');
          await assertShown(night, 'log-refused', 503);
          free();
          await running;
          await untilCause(night, null, 20_000);
          // Partitions may have fallen behind meanwhile, and be the last cause.
          const recovery = () => {
            const { lines } = night.daemon;
            const closed = lines.findIndex(({ msg, code }) => msg === 'bidding-closed' && code === 'log-refused');
            return closed >= 0 && lines.slice(closed).some(({ msg }) => msg === 'bidding-open');
          };
          for (let looks = 0; looks < 20 && !recovery(); looks += 1) await sleep(100);
          assert.ok(recovery(), 'the recovery is logged');
        });
        return true;
      });
      if (done === null) t.skip(noSmallDisk);
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
});
