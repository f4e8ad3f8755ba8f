/** A real daemon is told names and CPFs in every place; then every byte that it has written is searched for them. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminToken, endDaemons, startDaemon, webhookToken } from '../hostile/daemon.ts';
import { plantedBodies, plantedIn, plantedText } from '../wire/planted.ts';
import { biddableWebhook, renegotiation } from './planted-requests.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-bytes-'));
const said = { HasError: true, Msg: plantedText, Messages: [{ Code: 'Zulmira Plantada', Description: plantedText }] };
/** Says no to everything, and why at length. */
const service = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(said)));
});
after(async () => {
  await endDaemons();
  service.close();
  service.closeAllConnections();
  rmSync(directory, { recursive: true, force: true });
});

function search(): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // Text may stand in pages of SQLite in UTF-8; what is not text cannot hide a planted one from this.
    const hits = plantedIn(readFileSync(path).toString('utf8'));
    if (hits.length > 0) found[entry.name] = hits;
  }
  return found;
}

test('no byte that a daemon writes holds a planted name or CPF (defect lines 12, 13)', async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const daemon = await startDaemon({ directory, environment: { LANCE_BASE_URL: base } });
  assert.notEqual(await daemon.ready, null, daemon.output());
  const post = (path: string, body: unknown, headers = {}) =>
    fetch(daemon.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${adminToken}`, ...headers },
      body: JSON.stringify(body),
    });
  assert.equal((await post(`/webhooks/${webhookToken}`, biddableWebhook())).status, 200);
  for (const [kind, body] of Object.entries(plantedBodies)) {
    const { status } = await post(`/webhooks/${webhookToken}`, body);
    assert.ok(status === 200 || status === 202, `${kind}: ${status}`);
  }
  const started = await post('/v1/renegotiations', renegotiation, { 'idempotency-key': 'k1' });
  assert.equal(started.status, 201, await started.clone().text());
  const { flowId } = (await started.json()) as { flowId: string };
  const reason = 'Zulmira Plantada desistiu';
  await post(`/v1/renegotiations/${flowId}/cancel`, { reason }, { 'idempotency-key': 'k2' });

  // What was answered to the bid has to be there, or nothing was proved of it.
  let answered = 0;
  for (const until = Date.now() + 20_000; answered === 0 && Date.now() < until; await sleep(200)) {
    const database = new DatabaseSync(join(directory, 'data', 'lance.sqlite'), { readOnly: true });
    const row = database.prepare("SELECT count(*) AS n FROM auctions WHERE value LIKE '%sealedBody%'").get();
    answered = Number((row as { n: number }).n);
    database.close();
  }
  const decided = await fetch(`${daemon.url}/v1/bids/4711`, { headers: { authorization: `Bearer ${adminToken}` } });
  assert.ok(answered > 0, `no bid was answered: ${await decided.text()}`);
  for (const path of ['/metrics', '/v1/bids', '/v1/events', '/v1/dead-letters']) {
    const told = await fetch(daemon.url + path, { headers: { authorization: `Bearer ${adminToken}` } });
    // To an admin the service's words are shown, but for events.
    if (path !== '/v1/events') assert.deepEqual(plantedIn(await told.text()), [], path);
  }
  assert.deepEqual(search(), {}, 'while it runs');
  await daemon.stop();
  assert.deepEqual(search(), {}, 'after it has ended');
});
