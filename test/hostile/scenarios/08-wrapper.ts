/** Small webhooks that once became hundreds of megabytes, sent to a desk with the heap of the compose file. */
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { adminToken, type Daemon, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const long = 'x'.repeat(1_000_000);

const otherListLength = 4_500_000;
const key = 'k'.repeat(190);
const facts = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`fato${index}`, 'y'.repeat(190)]));

/** The 30 MB that are sent, as the log and the views keep them. Without bounds the desk runs out of memory. */
const mostStoredBytes = 150_000_000;

function bytesUnder(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

async function send(daemon: Daemon, body: unknown): Promise<number> {
  const answer = await fetch(`${daemon.url}/webhooks/${webhookToken}`, { method: 'POST', body: JSON.stringify(body) });
  await answer.arrayBuffer();
  return answer.status;
}

/** CPFs whose check digits hold. */
function cpfOf(index: number): string {
  const digits = [...String(100_000_000 + index)].map(Number);
  for (const length of [9, 10]) {
    const sum = digits.slice(0, length).reduce((total, digit, at) => total + digit * (length + 1 - at), 0);
    digits.push(((sum * 10) % 11) % 10);
  }
  return digits.join('');
}

const links = Array.from({ length: 1_000 }, (_, index) => ({
  cpf: cpfOf(index),
  matricula: String(index),
  inscricaoEmpregador: { codigo: 1 },
  numeroInscricaoEmpregador: '12345678000195',
  elegivel: true,
}));

export const scenario: Scenario = {
  line: 8,
  name: 'webhooks whose wrapper is long and whose elements are many',
  run: async (directory) => {
    const daemon = await startDaemon({ directory, environment: { NODE_OPTIONS: '--max-old-space-size=384' } });
    assert.notEqual(await daemon.ready, null, daemon.output());
    const empty = Array.from({ length: 400 }, () => ({}));
    const startedAt = performance.now();
    const statuses = [
      await send(daemon, { aviso: long, Solicitacoes: [{ numeroSolicitacao: 1 }, ...empty] }),
      await send(daemon, { codigoRequisicao: 'R', payload: { vinculos: links } }),
      await send(daemon, { codigoRequisicao: 'R', aviso: long, payload: { vinculos: [...links, ...empty] } }),
      await send(daemon, { Solicitacoes: Array.from({ length: 300_000 }, (_, index) => ({ id: index })) }),
      await send(daemon, { CodigoLote: 'L', Solicitacoes: [{ numeroSolicitacao: 2 }] }),
    ];
    assert.deepEqual(statuses, [202, 200, 202, 202, 200]);
    const replay = await fetch(`${daemon.url}/v1/dead-letters/replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ partition: 0, from: 0, count: 100 }),
    });
    const { read, stillNot } = (await replay.json()) as { read: number; stillNot: number };
    assert.deepEqual({ read, stillNot }, { read: 3, stillNot: 3 });
    const otherList = { data: Array(25).fill({ id: -1 }), propostas: [{ id: 123, z: 'z'.repeat(otherListLength) }] };
    const again = await Promise.all(Array.from({ length: 6 }, () => send(daemon, otherList)));
    assert.deepEqual(again, Array(6).fill(202));
    const nested = { [key]: { [key]: { [key]: Array(100).fill(1) } } };
    const named = { data: Array.from({ length: 1_000 }, (_, index) => ({ id: index + 1_000, ...nested })) };
    assert.equal(await send(daemon, named), 200);
    assert.equal(await send(daemon, { ...facts, Solicitacoes: Array.from({ length: 400 }, (_, id) => ({ id })) }), 202);
    const tookMs = Math.round(performance.now() - startedAt);
    const storedBytes = bytesUnder(join(directory, 'data'));
    assert.ok(storedBytes < mostStoredBytes, `${storedBytes} bytes are stored`);
    assert.equal((await fetch(`${daemon.url}/readyz`)).status, 200, 'the desk is not ready afterwards');
    const { code } = await daemon.stop();
    assert.equal(code, 0);
    return { tookMs, storedMB: Math.round(storedBytes / 1e6) };
  },
};
