/** The disk fills up under the desk, and is freed again: readiness says what webhooks get, and commands say what to do. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Daemon, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';
import { noSmallDisk, withSmallDisk } from '../small-disk.ts';

const mainFile = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** Longer than a desk that cannot write shows no life. */
const refusingMs = 6_000;

function webhook(daemon: Daemon, id: number): Promise<number> {
  const body = JSON.stringify({
    CodigoLote: 'L',
    Solicitacoes: [{ numeroSolicitacao: id, nota: 'x'.repeat(100_000) }],
  });
  return fetch(`${daemon.url}/webhooks/${webhookToken}`, { method: 'POST', body }).then(({ status }) => status);
}

async function readiness(daemon: Daemon): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${daemon.url}/readyz?verbose`);
  return { status: answer.status, text: await answer.text() };
}

async function command(daemon: Daemon, directory: string, ...words: string[]) {
  const child = spawn(process.execPath, [mainFile, ...words], {
    env: { ...process.env, LANCE_DATA_DIR: join(directory, 'data') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk;
    });
  }
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  assert.ok(daemon.pid > 0);
  return { code, said };
}

export const scenario: Scenario = {
  line: 22,
  name: 'a full disk, freed again',
  run: async (directory) => {
    const figures = await withSmallDisk(join(directory, 'data'), 32, async (disk) => {
      const daemon = await startDaemon({ directory });
      assert.notEqual(await daemon.ready, null, daemon.output());
      assert.equal(await webhook(daemon, 1), 200);
      disk.fill();
      const statuses: number[] = [];
      for (let id = 2; id < 400 && !statuses.includes(503); id += 1) statuses.push(await webhook(daemon, id));
      assert.equal(statuses.at(-1), 503);
      const full = await readiness(daemon);
      assert.equal(full.status, 503, 'ready although webhooks are not stored');
      assert.match(full.text, /\[-\] webhooks: .*free some space|\[-\] webhooks: .*full/);
      // The reader found nothing stored while the gate was said to be open (stranger, issue 15 line 22).
      assert.match(full.text, /\[-\] gate: .*log-refused.*full/);
      const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
      assert.match(metrics, /^lance_ready\{check="webhooks"\} 0$/m);
      assert.match(metrics, /^lance_webhook_problems_total\{problem="log-refused"\} [1-9]/m);
      const refusedAt = performance.now();
      let refusals = 0;
      for (let id = 500; performance.now() - refusedAt < refusingMs; id += 1) {
        if ((await webhook(daemon, id)) === 503) refusals += 1;
      }
      const told = daemon
        .output()
        .split('\n')
        .filter((line) => line.includes('log-refused'));
      assert.ok(refusals > 20 && told.length > 0, `${refusals} refused, ${told.length} lines`);
      // One line for each cause every five seconds, from the door and from the desk.
      assert.ok(told.length <= 8, `${told.length} lines for ${refusals} refusals`);
      assert.ok(
        told.every((line) => /full/.test(line)),
        told[0],
      );
      const doctor = await command(daemon, directory, 'doctor', '--json');
      assert.match(doctor.said, /"finding":"disk-full"/);
      assert.doesNotMatch(doctor.said, /"finding":"daemon-silent"/);
      // An operator read OPEN in `lance status`, and no line of the log said otherwise.
      const status = (await (await fetch(`${daemon.url}/status`)).json()) as { webhooksRefused: string | null };
      assert.match(status.webhooksRefused ?? '', /webhooks are not stored: .*(full|free some space)/);
      assert.match(daemon.output(), /"msg":"webhooks-refused"/);
      const pause = await command(daemon, directory, 'pause', '--by', 'ana', '--reason', 'cheio');
      assert.ok(pause.code === 74 || pause.code === 0, `pause ended with ${pause.code}: ${pause.said}`);
      assert.match(pause.said, pause.code === 74 ? /SIGTERM/ : /revis/, 'pause does not say what holds');
      assert.doesNotMatch(pause.said, /\n\s+at /, 'pause dies with a stack trace');
      disk.free();
      const freedAt = performance.now();
      while ((await readiness(daemon)).status !== 200 && performance.now() - freedAt < 10_000) await sleep(50);
      const readyAgainMs = Math.round(performance.now() - freedAt);
      assert.equal((await readiness(daemon)).status, 200, (await readiness(daemon)).text);
      assert.equal(await webhook(daemon, 1_000), 200);
      for (let waited = 0; waited < 50 && !daemon.output().includes('"msg":"webhooks-taken"'); waited += 1)
        await sleep(100);
      assert.match(daemon.output(), /"msg":"webhooks-taken"/);
      await daemon.stop();
      return { pauseCode: pause.code ?? -1, readyAgainMs };
    });
    return figures ?? { skipped: noSmallDisk };
  },
};
