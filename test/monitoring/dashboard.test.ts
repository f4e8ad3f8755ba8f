/** A real Prometheus scrapes a desk that trades, and answers whatever the dashboard and the alerts ask it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Daemon, openStage, type Played, startDaemon } from '../cli/desk.ts';
import { steadyPort } from '../crash/desk-process.ts';
import { createPart, type Part } from '../stack/part.ts';
import { describeWithProgram } from '../stack/suite.ts';

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const requests = 60;
const answerLimitMs = 20_000;

type Panel = { type: string; title: string; description?: string; targets?: { expr: string }[] };
const dashboard = JSON.parse(readFileSync(file('config/grafana/dashboards/desk.json'), 'utf8')) as { panels: Panel[] };
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m') })),
);

type Rule = { name: string; query: string; health: string; lastError?: string };

/** The shipped configuration, with another target and less patience. */
function configurationFor(target: string): string {
  const shipped = readFileSync(file('config/prometheus/prometheus.yml'), 'utf8');
  const changed = shipped
    .replace(/targets: \[.*\]/, `targets: ['${target}']`)
    .replaceAll(/_interval: 15s/g, '_interval: 1s')
    .replace('- alerts.yml', `- ${file('config/prometheus/alerts.yml')}`);
  assert.notEqual(changed, shipped);
  return changed;
}

test('each panel of the row Price says what its series mean', () => {
  const first = dashboard.panels.findIndex(({ type, title }) => type === 'row' && title === 'Price') + 1;
  const next = dashboard.panels.findIndex(({ type }, place) => place >= first && type === 'row');
  const panels = dashboard.panels.slice(first, next < 0 ? undefined : next);
  assert.ok(first > 0 && panels.length > 5);
  for (const { title, description = '' } of panels) assert.match(description, /^[A-Z].{20,}\.$/, title);
});

describeWithProgram('a Prometheus beside a desk', 'prometheus', 'Debian: prometheus', () => {
  let url = '';
  let played: Played | null = null;
  let daemon: Daemon | null = null;
  let prometheus: Part | null = null;
  const directory = mkdtempSync(join(tmpdir(), 'lance-prometheus-'));

  async function ask<T>(path: string): Promise<T> {
    const answer = (await (await fetch(`${url}${path}`)).json()) as { status: string; data: T; error?: string };
    assert.equal(answer.status, 'success', `${path}: ${answer.error}`);
    return answer.data;
  }

  async function valuesOf(expr: string): Promise<readonly string[]> {
    const data = await ask<{ result: { value: [number, string] }[] }>(
      `/api/v1/query?query=${encodeURIComponent(expr)}`,
    );
    return data.result.map(({ value }) => value[1]);
  }

  before(async () => {
    const port = await steadyPort(Math.random);
    url = `http://127.0.0.1:${port}`;
    played = await openStage(5);
    daemon = await startDaemon(played.environment);
    writeFileSync(join(directory, 'prometheus.yml'), configurationFor(new URL(daemon.url).host));
    prometheus = createPart(
      {
        name: 'prometheus',
        program: 'prometheus',
        args: [
          '--config.file=prometheus.yml',
          '--storage.tsdb.path=data',
          `--web.listen-address=127.0.0.1:${port}`,
          '--log.level=warn',
        ],
        directory,
        answers: async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok ?? false,
      },
      () => undefined,
    );
    await prometheus.start();
    // What is counted before the first look is no increase.
    const limit = performance.now() + answerLimitMs;
    while ((await valuesOf('up{job="lance"} == 1')).length === 0 && performance.now() < limit) await sleep(200);
    played.sandbox.connect(daemon.url);
    await played.sandbox.run(requests);
  });

  after(async () => {
    await prometheus?.stop();
    await daemon?.stop();
    await played?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('every query of the dashboard has an answer', async () => {
    assert.ok(queries.length > 20, 'the queries were found');
    const limit = performance.now() + answerLimitMs;
    let silent = queries;
    while (silent.length > 0 && performance.now() < limit) {
      const answered = await Promise.all(silent.map(async ({ expr }) => (await valuesOf(expr)).length > 0));
      silent = silent.filter((_query, index) => !answered[index]);
      if (silent.length > 0) await sleep(500);
    }
    assert.deepEqual(silent, []);
    assert.deepEqual(await valuesOf('sum(lance_requests_received_total)'), [String(requests)]);
    const [won] = await valuesOf('sum(lance_auctions_won_total) - sum(lance_phases_total{phase="won"})');
    assert.equal(won, '0', 'the wins of the row Price are the phases of the desk');
    const [settled] = await valuesOf('sum(lance_auctions_settled_total) > sum(lance_wins_expected_total)');
    assert.ok(Number(settled) > 0);
    const [share] = await valuesOf('sum(lance_surplus_percent_total) / sum(lance_surplus_hindsight_percent_total)');
    assert.ok(Number(share) > 0 && Number(share) <= 1, share);
  });

  test('every alert can be evaluated, and asks for nothing that the desk does not tell', async () => {
    const { groups } = await ask<{ groups: { rules: Rule[] }[] }>('/api/v1/rules');
    const rules = groups.flatMap((group) => group.rules);
    assert.ok(rules.length >= 6);
    for (const { name, health, lastError } of rules) assert.equal(health, 'ok', `${name}: ${lastError}`);
    const told = new Set(await ask<string[]>('/api/v1/label/__name__/values'));
    // A counter with labels begins with its first event.
    const declared = await (await fetch(new URL('/metrics', daemon!.url))).text();
    for (const { query } of [...rules, ...queries.map(({ expr }) => ({ query: expr }))]) {
      for (const [metric] of query.matchAll(/\b(?:lance|nodejs|process)_\w+\b/g)) {
        const base = metric.replace(/_(?:bucket|count)$/, '');
        assert.ok(told.has(metric) || declared.includes(`# TYPE ${base} `), `${metric} in ${query}`);
      }
    }
  });
});
