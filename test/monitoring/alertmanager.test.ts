/** The Alertmanager of docker-compose.yml, really run: what fires reaches the webhook of the setting, with the way to its runbook. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { compose, interpolate, yamlOf } from '../deploy/compose-file.ts';
import { alertProgram, notStarted } from '../deploy/rehearsal.ts';
import { createPart, type Part } from '../stack/part.ts';
import { freePorts } from '../stack/stack.ts';

const { content } = compose.configs.alertmanager!;

test('without the settings nothing is sent anywhere, and each address is one setting', () => {
  const urls = (environment: Record<string, string>) =>
    yamlOf(interpolate(content, environment)).receivers.map(
      (receiver: { webhook_configs: { url: string }[] }) => receiver.webhook_configs[0]!.url,
    );
  for (const url of urls({})) assert.match(url, /^http:\/\/127\.0\.0\.1:9\//);
  const given = { ALERT_WEBHOOK_URL: 'https://people.example/a', ALERT_HEARTBEAT_URL: 'https://switch.example/b' };
  assert.deepEqual(urls(given), Object.values(given));
});

type Told = { path: string; body: { status: string; alerts: { labels: Labels; annotations: Labels }[] } };
type Labels = Record<string, string>;

describe('the Alertmanager of docker-compose.yml', { skip: notStarted.alertmanager }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-alerts-'));
  const config = join(directory, 'alertmanager.yml');
  const told: Told[] = [];
  let receiver: Server;
  let manager: Part;
  let url = '';

  before(async () => {
    receiver = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      request.on('end', () => {
        told.push({ path: request.url ?? '', body: JSON.parse(text) });
        response.end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const root = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const environment = { ALERT_WEBHOOK_URL: `${root}/people`, ALERT_HEARTBEAT_URL: `${root}/heartbeat` };
    writeFileSync(config, interpolate(content, environment));
    const [port] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    manager = createPart(
      {
        name: 'alertmanager',
        program: alertProgram!,
        args: [
          `--config.file=${config}`,
          `--storage.path=${join(directory, 'data')}`,
          '--cluster.listen-address=',
          `--web.listen-address=127.0.0.1:${port}`,
        ],
        directory,
        answers: async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok ?? false,
      },
      () => undefined,
    );
    await manager.start();
  });

  after(async () => {
    await manager?.stop();
    receiver?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('amtool takes its file', (t) => {
    const { error, status, stderr, stdout } = spawnSync('amtool', ['check-config', config], { encoding: 'utf8' });
    if (error !== undefined) return t.skip('amtool is not installed (Debian: prometheus-alertmanager)');
    assert.equal(status, 0, stdout + stderr);
    const routed = (alertname: string) =>
      spawnSync('amtool', ['config', 'routes', 'test', `--config.file=${config}`, `alertname=${alertname}`], {
        encoding: 'utf8',
      }).stdout.trim();
    assert.deepEqual([routed('LanceBiddingClosed'), routed('LanceWatchdog')], ['people', 'heartbeat']);
    return undefined;
  });

  test('what fires is posted to the webhook with its cause and its runbook; the watchdog to the heartbeat alone', async () => {
    const runbook = 'https://wiki.example/runbooks.md#lancebiddingclosed';
    const closed = { alertname: 'LanceBiddingClosed', instance: 'a', cause: 'service-unauthorised', severity: 'page' };
    const sent = await fetch(`${url}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([
        { labels: closed, annotations: { runbook_url: runbook } },
        { labels: { alertname: 'LanceWatchdog', severity: 'none' }, annotations: {} },
      ]),
    });
    assert.equal(sent.status, 200, await sent.text());
    const at = (path: string) => told.filter((each) => each.path === path);
    for (let looks = 0; looks < 300 && (at('/people').length === 0 || at('/heartbeat').length === 0); looks += 1)
      await sleep(100);
    const [people] = at('/people');
    assert.equal(people?.body.status, 'firing');
    assert.deepEqual(
      people.body.alerts.map(({ labels, annotations }) => [labels, annotations.runbook_url]),
      [[closed, runbook]],
    );
    const [heartbeat] = at('/heartbeat');
    assert.deepEqual(
      heartbeat?.body.alerts.map(({ labels }) => labels.alertname),
      ['LanceWatchdog'],
    );
  });
});
