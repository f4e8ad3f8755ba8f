/** A process of its own, without the async hooks of the test runner: prints the cost of a bid and of bare `dispatch`, in turns. */
import assert from 'node:assert/strict';
import { Pool } from 'undici';
import { accepted, attemptOf, startClient } from './surroundings.ts';

const warmingRequests = 12_000;
const roundRequests = 400;
const rounds = 50;

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

const baseUrl = process.argv[2]!;
const ends: (() => unknown)[] = [];
const here = { after: (end: () => unknown) => void ends.push(end) };
const { service } = startClient(here, baseUrl, { headersTimeoutMs: 5_000, connections: 32 });
const pool = new Pool(baseUrl, { connections: 32, pipelining: 1, allowH2: false });
const bare = bareOf(pool);
const ours = async (): Promise<void> => {
  const answer = await service.placeBid(attemptOf());
  assert.equal(answer.kind, 'answered');
};
await cost(warmingRequests, bare);
await cost(warmingRequests, ours);
const pairs: [bareUs: number, oursUs: number][] = [];
for (let round = 0; round < rounds; round += 1) {
  // Each goes first in turn: what the machine does more of as time goes on falls on both.
  if (round % 2 === 0) {
    const bareUs = await cost(roundRequests, bare);
    pairs.push([bareUs, await cost(roundRequests, ours)]);
  } else {
    const oursUs = await cost(roundRequests, ours);
    pairs.push([await cost(roundRequests, bare), oursUs]);
  }
}
console.log(JSON.stringify(pairs));
for (const end of ends) await end();
await pool.destroy();
