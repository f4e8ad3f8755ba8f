/** The data directory is moved away under the desk, and its lock is removed: nothing is taken that would be lost, and nobody else begins there. */
import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../clock-world.ts';
import { type Daemon, lanceCommand, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const inUse = 73;

function webhook(daemon: Daemon, id: number): Promise<number> {
  const body = JSON.stringify({ CodigoLote: 'L', Solicitacoes: [{ numeroSolicitacao: id }] });
  return fetch(`${daemon.url}/webhooks/${webhookToken}`, { method: 'POST', body }).then(({ status }) => status);
}

const ready = async (daemon: Daemon) => (await fetch(`${daemon.url}/readyz?verbose`)).text();

export const scenario: Scenario = {
  line: 21,
  name: 'files moved away and the lock removed under the desk',
  run: async (directory) => {
    const data = join(directory, 'data');
    const daemon = await startDaemon({ directory });
    assert.notEqual(await daemon.ready, null, daemon.output());
    assert.ok((await webhook(daemon, 1)) < 300);

    const movedAt = performance.now();
    renameSync(data, `${data}.moved`);
    await until('webhooks are refused', async () => (await webhook(daemon, 2)) === 503, 5_000);
    const noticedMs = Math.round(performance.now() - movedAt);
    const text = await ready(daemon);
    assert.match(text, /\[-\] webhooks: .*lance\.sqlite was removed or moved away/);
    assert.match(text, /\[-\] gate: .*lance\.sqlite was removed or moved away/);
    const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
    assert.match(metrics, /^lance_alarms_total\{code="store-files-lost"\} 1$/m);
    // As long as whatever looks at the directory now and then needs to look at it: the process stays.
    await sleep(2_500);
    assert.match(await ready(daemon), /not ready/);
    renameSync(`${data}.moved`, data);
    await until('webhooks are taken again', async () => (await webhook(daemon, 3)) < 300, 5_000);

    rmSync(join(data, 'lance.lock'));
    const second = await lanceCommand({ ...daemon.environment, LANCE_HTTP_PORT: '0' }, ['run']);
    assert.equal(second.code, inUse, second.said);
    assert.match(second.said, /Another daemon runs on/);
    await until('the lock is missed', async () => /gate: .*lance\.lock was/.test(await ready(daemon)), 5_000);
    assert.deepEqual(await daemon.stop(), { code: 0, signal: null });

    const third = await startDaemon({ directory });
    assert.notEqual(await third.ready, null, third.output());
    assert.deepEqual(await third.stop(), { code: 0, signal: null });
    const verified = await lanceCommand(third.environment, ['audit', 'verify']);
    assert.equal(verified.code, 0, verified.said);
    return { noticedMs };
  },
};
