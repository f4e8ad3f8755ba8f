/** What the client costs over undici itself: CPU a bid, against bare `dispatch`, in turns, the server in another process.
 * The test runner's async hooks weigh on both, on ours more: outside it both figures are about half. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { Pool } from 'undici';
import { accepted, attemptOf, startClient } from './surroundings.ts';

const serverScript = `
  const body = process.argv[1];
  const server = require('node:http').createServer((request, response) => {
    request.on('data', () => {});
    request.on('end', () => response.end(body));
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;

async function startServer(t: TestContext): Promise<string> {
  const child = spawn(process.execPath, ['-e', serverScript, '--', accepted], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return `http://127.0.0.1:${line.toString().trim()}`;
}

function bareOf(pool: Pool): () => Promise<void> {
  const path = '/contrato/oferta-leilao/incluir-lance';
  const headers = { authorization: 'Bearer first', 'content-type': 'application/json' };
  const body = attemptOf().body;
  return () =>
    new Promise((resolve, reject) => {
      let text = '';
      pool.dispatch(
        { method: 'POST', path, headers, body },
        {
          onRequestStart: () => {},
          onResponseStart: () => {},
          onResponseData: (_controller, chunk) => {
            text += chunk.toString();
          },
          onResponseEnd: () => (text === accepted ? resolve() : reject(new Error('another body'))),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
}

/** Microseconds of CPU a request, with 32 under way. */
async function cost(requests: number, one: () => Promise<void>): Promise<number> {
  let left = requests;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await one();
    }
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: 32 }, lane));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

function median(values: number[]): number {
  return values.sort((left, right) => left - right)[Math.floor(values.length / 2)]!;
}

test('a bid costs little more than bare dispatch', async (t) => {
  const baseUrl = await startServer(t);
  const { service } = startClient(t, baseUrl, { headersTimeoutMs: 5_000, connections: 32 });
  const pool = new Pool(baseUrl, { connections: 32, pipelining: 1, allowH2: false });
  t.after(() => pool.destroy());
  const bare = bareOf(pool);
  const ours = async (): Promise<void> => {
    const answer = await service.placeBid(attemptOf());
    assert.equal(answer.kind, 'answered');
  };
  await cost(1_000, bare);
  await cost(1_000, ours);
  const costs: { bare: number[]; ours: number[] } = { bare: [], ours: [] };
  for (let round = 0; round < 5; round += 1) {
    costs.bare.push(await cost(1_500, bare));
    costs.ours.push(await cost(1_500, ours));
  }
  const [bareUs, oursUs] = [median(costs.bare), median(costs.ours)];
  t.diagnostic(`figure: placeBid ${oursUs.toFixed(1)} µs CPU a bid, bare dispatch ${bareUs.toFixed(1)} µs`);
  assert.ok(oursUs < bareUs * 2 + 20, `${oursUs} against ${bareUs}`);
});
