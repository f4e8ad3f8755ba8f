/**
 * Nights on which no bid flows: a real `lance run`, a way to its service that can fail, and where the cause has to stand: in the log,
 * in `/readyz`, in the metric, in the alert within two minutes, in the API, in `lance status`, in the doctor and in the reason codes.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as ask, createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ClosedCause, closedCauses } from '../../src/bidding/bidding-status.ts';
import { biddingEn } from '../../src/cli/bidding-texts-en.ts';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { freePort, jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

export const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
export const windowMs = 3_000;
/** A busy machine takes some time to ask for a margin. */
const marginWaitMs = 1_500;
const apiToken = 'a-token-of-the-viewer';
export const apiTokens = `ana:viewer:${createHash('sha256').update(apiToken).digest('hex')}`;
const hourMs = 3_600_000;
const slowMs = 1_500;

/** Those that only a log on brokers can have. */
export type KafkaCause = 'control-stale' | 'views-incomplete' | 'partitions-not-live';

/** What stands between the desk and the service: lets everything through, or plays what a night may bring. */
type Front = {
  url: string;
  mode: 'through' | 'slow' | 'down' | 'throttled' | 'bids-forbidden' | 'links-forbidden' | 'bids-ok' | 'an-hour-ahead';
  server: Server;
};

async function openFront(serviceUrl: string): Promise<Front> {
  const server = createServer(async (request, response) => {
    if (front.mode === 'slow') await sleep(slowMs);
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

/** A desk that runs, and how it is asked. */
export type Place = {
  played: Played;
  daemon: Awaited<ReturnType<typeof startDaemon>>;
  environment: Record<string, string>;
  root: string;
};

export type Night = Place & {
  front: Front;
  /** Moves the desk's time of day; nothing else. */
  shift: (ms: number) => void;
};

export type NightOptions = {
  more?: Record<string, string>;
  windowMs?: number;
  bidding?: Record<string, number>;
  /** Of the section `rules`. */
  rules?: Record<string, boolean>;
  /** Of the desk's clock, before its start. */
  shiftMs?: number;
  /** Before the desk starts. */
  prepare?: (environment: Record<string, string>, played: Played) => Promise<void>;
};

/** Requests wait for the service longer than it takes to be sure that it is away. */
export const patient: NightOptions = { windowMs: 6_000, bidding: { marginWaitMs: 4_000 } };

export async function withNight(
  seed: number,
  options: NightOptions,
  use: (night: Night) => Promise<void>,
): Promise<void> {
  const played = await openStage(seed, options.windowMs ?? windowMs);
  const settings = JSON.parse(readFileSync(played.environment.LANCE_CONFIG!, 'utf8'));
  writeFileSync(
    played.environment.LANCE_CONFIG!,
    JSON.stringify({
      ...settings,
      bidding: { ...settings.bidding, marginWaitMs, ...options.bidding },
      rules: options.rules ?? {},
    }),
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
    LANCE_API_TOKENS: apiTokens,
    ...options.more,
  };
  await options.prepare?.(environment, played);
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

export async function apiStatus({ root }: Place): Promise<DaemonStatus> {
  const answer = await fetch(`${root}/v1/status`, { headers: { authorization: `Bearer ${apiToken}` } });
  return (await answer.json()) as DaemonStatus;
}

export async function untilCause(night: Place, cause: string | null, timeoutMs = 15_000): Promise<void> {
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
export function firingWithin2Minutes(
  metrics: string,
  alert: string,
  expected: readonly Record<string, string>[],
): void {
  if (!hasPromtool) {
    assert.notEqual(process.env.CI, 'true', 'promtool is not installed');
    return;
  }
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

export async function codesOf({ environment }: Place): Promise<Record<string, number>> {
  const rows = jsonLines<Row>((await lance(environment, 'bids', 'list', '--json', '--limit', '200')).stdout);
  const counts: Record<string, number> = {};
  for (const { code } of rows) if (code !== null) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

/** The remedy depends on what has come, where several are named. */
const remediesOf: Partial<Record<ClosedCause, readonly string[]>> = {
  'service-unreachable': [biddingEn.answersOtherwise.remedy],
  'log-refused': [biddingEn.brokersRemedy],
  'log-changed': [biddingEn.recordsGoneRemedy],
};

/** The same cause in all places, while bidding is closed. `ingress`: whether webhooks are taken all the same. */
export async function assertShown(night: Place, cause: ClosedCause, ingress = 200): Promise<void> {
  const { daemon, root, environment } = night;
  const linesOf = () => daemon.lines.filter(({ msg, code }) => msg === 'bidding-closed' && code === cause);
  // The API may say it a moment before the line is written and has come through the pipe.
  for (let looks = 0; looks < 40 && linesOf().length === 0; looks += 1) await sleep(50);
  const told = linesOf();
  assert.ok(told.length > 0, `no line of ${cause}`);
  const remedies = [biddingEn.remedies[cause], ...(remediesOf[cause] ?? [])];
  const says = (text: string) => remedies.some((remedy) => flat(text).includes(flat(remedy)));
  assert.ok(says(String(told[0]!.text)), String(told[0]!.text));
  const ready = await fetch(`${root}/readyz?verbose`);
  const checks = await ready.text();
  const gate = checks.split('\n').find((line) => line.includes(' gate: ')) ?? '';
  assert.match(gate, new RegExp(`gate: bidding is closed: ${cause}( by ana)? since 20\\d\\d-`));
  assert.ok(says(gate), gate);
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
    doctor.stdout,
  );
}

/** Lines are broken at blanks. */
export function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

/** Codes of the desk's own that blame something else than what closes bidding. */
const wrongCodes: readonly string[] = [...closedCauses, 'overload', 'no-send-slot', 'deadline', 'margin-missing'];

/** Requests that ended meanwhile have the cause as their code, and none has another one of the desk's own. */
export async function assertCodes(
  night: Place,
  cause: ClosedCause,
  least = 4,
  beside: readonly ClosedCause[] = [],
): Promise<void> {
  let codes: Record<string, number> = {};
  for (let looks = 0; looks < 12 && (codes[cause] ?? 0) < least; looks += 1) {
    await sleep(500);
    codes = await codesOf(night);
  }
  assert.ok((codes[cause] ?? 0) >= least, JSON.stringify(codes));
  const right: readonly string[] = [cause, ...beside];
  const wrong = Object.keys(codes).filter(
    (code) => (wrongCodes.includes(code) || code.startsWith('fact-missing:')) && !right.includes(code),
  );
  assert.deepEqual(wrong, [], JSON.stringify(codes));
}
