/** A batch that takes longer to store than a webhook may wait: what is acknowledged is stored, what is refused is not. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const requests = 50_000;

export const scenario: Scenario = {
  line: 23,
  name: 'a batch of 50,000 requests, the limit of bodies raised',
  run: async (directory) => {
    const file = join(directory, 'settings.json');
    // So little time that appending is sure to take longer.
    writeFileSync(file, JSON.stringify({ http: { bodyLimitBytes: 40_000_000, appendTimeoutMs: 1_000 } }));
    const daemon = await startDaemon({ directory, environment: { LANCE_CONFIG: file } });
    assert.notEqual(await daemon.ready, null, daemon.output());
    const Solicitacoes = Array.from({ length: requests }, (_, index) => ({ numeroSolicitacao: index + 1 }));
    const body = JSON.stringify({ CodigoLote: 'L', Solicitacoes });
    const received = async () => {
      const text = await (await fetch(`${daemon.url}/metrics`)).text();
      return Number(/lance_requests_received_total (\d+)/.exec(text)?.[1]);
    };
    const startedAt = performance.now();
    const answer = await fetch(`${daemon.url}/webhooks/${webhookToken}`, { method: 'POST', body });
    const tookMs = Math.round(performance.now() - startedAt);
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(await received(), requests);
    daemon.signal('SIGKILL');
    await daemon.exited;
    const database = new DatabaseSync(join(directory, 'data', 'lance.sqlite'), { readOnly: true });
    const kept = database.prepare('SELECT count(*) AS stored FROM auctions WHERE value LIKE \'%"requested"%\'').get();
    database.close();
    const stored = Number(kept?.stored);
    assert.equal(stored, requests);
    return { tookMs };
  },
};
