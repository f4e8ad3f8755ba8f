/** Small webhooks that once became hundreds of megabytes, sent to a desk with the heap of the compose file. */
import assert from 'node:assert/strict';
import { adminToken, type Daemon, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const long = 'x'.repeat(1_000_000);

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
    const tookMs = Math.round(performance.now() - startedAt);
    assert.deepEqual(statuses, [202, 200, 202, 202, 200]);
    const replay = await fetch(`${daemon.url}/v1/dead-letters/replay`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ partition: 0, from: 0, count: 100 }),
    });
    const { read, stillNot } = (await replay.json()) as { read: number; stillNot: number };
    assert.deepEqual({ read, stillNot }, { read: 3, stillNot: 3 });
    assert.equal((await fetch(`${daemon.url}/readyz`)).status, 200, 'the desk is not ready afterwards');
    const { code } = await daemon.stop();
    assert.equal(code, 0);
    return { tookMs };
  },
};
