/** Whoever has a token holds on to all that it can get: bodies that are never whole, connections that stay. Others are served. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminToken, type Daemon, startDaemon, webhookToken } from '../daemon.ts';
import type { Scenario } from '../scenario.ts';

const viewerToken = 'viewer-token-of-the-hostile-runs';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
/** The default of `http.bodiesLimitBytes`, which the bodies fill but for a few bytes. */
const roomBytes = 64_000_000 - 20;
const webhookBytes = 4_999_000;
const apiBytes = 999_000;
const connections = 1_000;
const attackMs = 4_000;
/** The limit of 10 s, the look once a second, and a busy machine. */
const bodyEndsMs = 16_000;

const webhookHead = `POST /webhooks/${webhookToken} HTTP/1.1\r\n`;
const apiHead = `POST /v1/contracts HTTP/1.1\r\nauthorization: Bearer ${adminToken}\r\nidempotency-key: x\r\n`;

function send(port: number, text: string, body = Buffer.alloc(0)): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.resume();
  socket.write(text);
  socket.write(body);
  return socket;
}

/** Bodies that lack their last byte; each is sent again as soon as its connection has ended. */
function hold(port: number, head: string, largestBytes: number): { end: () => void } {
  const open = new Set<Socket>();
  let on = true;
  const one = (bytes: number): void => {
    if (!on) return;
    const announced = `content-type: application/json\r\ncontent-length: ${bytes + 1}\r\n`;
    const socket = send(port, `${head}host: desk\r\n${announced}\r\n`, Buffer.alloc(bytes, 0x20));
    open.add(socket);
    socket.once('data', () => socket.destroy());
    socket.once('close', () => {
      open.delete(socket);
      setTimeout(one, 300, bytes);
    });
  };
  for (let room = roomBytes; room > 0; room -= largestBytes) one(Math.min(largestBytes, room));
  return {
    end: () => {
      on = false;
      for (const socket of open) socket.destroy();
    },
  };
}

/** Over connections of their own: what is answered while the attack goes on. */
async function served(daemon: Daemon): Promise<{ asked: number; refused: number }> {
  const post = { method: 'POST', body: JSON.stringify({ CodigoLote: 'L', Solicitacoes: [{ numeroSolicitacao: 7 }] }) };
  const until = performance.now() + attackMs;
  let asked = 0;
  let refused = 0;
  while (performance.now() < until) {
    for (const [path, init] of [
      [`/webhooks/${webhookToken}`, post],
      ['/livez', {}],
      ['/metrics', {}],
    ] as const) {
      const answer = await fetch(`${daemon.url}${path}`, { ...init, headers: { connection: 'close' } }).catch(
        () => null,
      );
      await answer?.text();
      asked += 1;
      if (answer?.status !== 200) refused += 1;
    }
    await sleep(50);
  }
  return { asked, refused };
}

export const scenario: Scenario = {
  line: 7,
  name: 'bodies that are never whole and idle connections, by senders with a token',
  run: async (directory) => {
    const daemon = await startDaemon({
      directory,
      environment: { LANCE_API_TOKENS: `root:admin:${sha256(adminToken)},eyes:viewer:${sha256(viewerToken)}` },
    });
    assert.notEqual(await daemon.ready, null, daemon.output());
    const port = Number(new URL(daemon.url).port);
    const figures: Record<string, number> = {};

    for (const [name, head, bytes] of [
      ['webhookBodies', webhookHead, webhookBytes],
      ['apiBodies', apiHead, apiBytes],
    ] as const) {
      const attack = hold(port, head, bytes);
      await sleep(1_000);
      const { asked, refused } = await served(daemon);
      attack.end();
      assert.equal(refused, 0, `${name}: ${refused} of ${asked} requests were refused`);
      figures[name] = asked;
    }

    const get = `GET /v1/bids?limit=1 HTTP/1.1\r\nhost: desk\r\nauthorization: Bearer ${viewerToken}\r\n\r\n`;
    const idle: Socket[] = [];
    for (let count = 0; count < connections; count += 1) {
      const socket = send(port, get);
      idle.push(socket);
      await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
    }
    const { asked, refused } = await served(daemon);
    assert.equal(refused, 0, `connections of a viewer: ${refused} of ${asked} requests were refused`);
    figures.viewerConnections = asked;
    for (const socket of idle) socket.destroy();

    const mayNotWrite = send(
      port,
      `${apiHead.replace(adminToken, viewerToken)}host: desk\r\ncontent-length: 2000\r\n\r\n`,
    );
    const refusal = await new Promise((resolve) => mayNotWrite.once('data', resolve).once('close', resolve));
    assert.match(String(refusal), /^HTTP\/1.1 403 /, 'the body of a viewer is waited for');

    const startedAt = performance.now();
    const unfinished = send(
      port,
      `${webhookHead}host: desk\r\ncontent-length: 2000\r\n\r\n`,
      Buffer.alloc(1_000, 0x20),
    );
    const ended = new Promise<boolean>((resolve) => unfinished.once('close', () => resolve(true)));
    assert.ok(await Promise.race([ended, sleep(bodyEndsMs)]), 'an unfinished body is waited for');
    figures.unfinishedBodyMs = Math.round(performance.now() - startedAt);
    await daemon.stop();
    return figures;
  },
};
