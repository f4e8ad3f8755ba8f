/** Strangers flood the desk: unfinished bodies, idle connections, wrong tokens. Whoever has a token is served all the while. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminToken, type Daemon, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const posts = 120;
const bodyBytes = 5_000_000;
const idleConnections = 1_200;
const wrongTokens = 40;
/** All bodies together may take 64 MB by default; the rest is what the process needs to read so much at once. */
const growthLimitMb = 250;

function residentMb(daemon: Daemon): number {
  const status = readFileSync(`/proc/${daemon.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

/** A post whose last byte never comes; resolves to the first line of the answer, if there is one in time. */
async function unfinished(daemon: Daemon, path: string): Promise<{ socket: Socket; answer: () => string }> {
  const socket = connect(Number(new URL(daemon.url).port), '127.0.0.1');
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: desk\r\ncontent-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`,
  );
  const piece = Buffer.alloc(bodyBytes - 1, 0x20);
  socket.write(piece);
  return { socket, answer: () => heard.slice(0, 12) };
}

async function flood(daemon: Daemon, path: string): Promise<{ grownMb: number; answers: string[] }> {
  const before = residentMb(daemon);
  const open = await Promise.all(Array.from({ length: posts }, () => unfinished(daemon, path)));
  let most = 0;
  for (let look = 0; look < 12; look += 1) {
    await sleep(100);
    most = Math.max(most, residentMb(daemon));
  }
  for (const { socket } of open) socket.destroy();
  return { grownMb: Math.round(most - before), answers: open.map(({ answer }) => answer()) };
}

function webhook(daemon: Daemon, id: number): Promise<Response> {
  return fetch(`${daemon.url}/webhooks/${webhookToken}`, {
    method: 'POST',
    body: JSON.stringify({ CodigoLote: 'L', Solicitacoes: [{ numeroSolicitacao: id }] }),
  });
}

export const scenario: Scenario = {
  line: 7,
  name: 'unfinished posts, idle connections and wrong tokens of strangers',
  run: async (directory) => {
    const daemon = await startDaemon({ directory });
    assert.notEqual(await daemon.ready, null, daemon.output());

    const unknown = await flood(daemon, '/nothing');
    assert.ok(
      unknown.answers.every((line) => line === 'HTTP/1.1 404'),
      'an unknown path waits for its body',
    );
    assert.ok(unknown.grownMb < growthLimitMb, `posts to an unknown path took ${unknown.grownMb} MB`);
    const known = await flood(daemon, `/webhooks/${webhookToken}`);
    assert.ok(known.grownMb < growthLimitMb, `unfinished webhooks took ${known.grownMb} MB`);

    const port = Number(new URL(daemon.url).port);
    const idle = Array.from({ length: idleConnections }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await sleep(500);
    assert.equal((await fetch(`${daemon.url}/livez`)).status, 200);
    assert.equal((await webhook(daemon, 1)).status, 200);
    for (const socket of idle) socket.destroy();

    const wrong: number[] = [];
    for (let turn = 0; turn < wrongTokens; turn += 1) {
      const answer = await fetch(`${daemon.url}/v1/bids`, { headers: { authorization: `Bearer wrong-token-${turn}` } });
      wrong.push(answer.status);
    }
    assert.equal(wrong.at(0), 401);
    assert.equal(wrong.at(-1), 429, 'wrong tokens are answered without end');
    const operator = await fetch(`${daemon.url}/v1/bids`, { headers: { authorization: `Bearer ${adminToken}` } });
    assert.equal(operator.status, 200, 'wrong tokens of one behind the same proxy lock the operator out');
    assert.equal((await webhook(daemon, 2)).status, 200, 'a webhook with a valid token is refused by address');
    const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
    assert.ok(Number(/lance_failed_logins_total\{at="api"\} (\d+)/.exec(metrics)?.[1]) >= wrongTokens);
    assert.ok(daemon.output().includes('"problem":"failed-login"'), 'failed log-ins are not logged');
    assert.ok(!daemon.output().includes('wrong-token'), 'the log quotes a token');
    await daemon.stop();
    return { unknownPathMb: unknown.grownMb, webhooksMb: known.grownMb };
  },
};
