/** External sources over real HTTP, against servers that do not keep to what was agreed: whatever they do is a reason, in time. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { createEnrichment } from '../../src/adapters/enrichment/sources.ts';

const closing: (() => void)[] = [];
after(() => {
  for (const close of closing) close();
});

async function serverOf(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/score`;
}

async function asking(url: string, token: string | null = null, timeoutMs = 2_000) {
  const budget = { take: async () => true };
  const enrichment = createEnrichment({ bureau: { url, token, sendCpf: false, maxConcurrent: 1 } }, budget);
  const from = performance.now();
  const question = '{"request.amountReais":100}';
  const reply = await enrichment.endpoint('bureau')!.ask(question, AbortSignal.timeout(timeoutMs));
  return { reply, tookMs: performance.now() - from };
}

test('one POST with the token, one answer', async () => {
  let seen: unknown[] = [];
  const url = await serverOf((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      seen = [request.method, request.headers['content-type'], request.headers.authorization, body];
      response.end('{"score": 700}');
    });
  });
  assert.deepEqual((await asking(url, 'secret')).reply, { kind: 'reply', text: '{"score": 700}' });
  assert.deepEqual(seen, ['POST', 'application/json', 'Bearer secret', '{"request.amountReais":100}']);
  await asking(url);
  assert.equal(seen[2], undefined);
});

test('a redirect is not followed, and its target never hears of it', async () => {
  let heard = 0;
  const elsewhere = await serverOf((_, response) => {
    heard += 1;
    response.end('{"score": 900}');
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const url = await serverOf((_, response) => response.writeHead(status, { location: elsewhere }).end());
    assert.deepEqual((await asking(url, 'secret')).reply, { kind: 'failed', reason: 'redirected' });
  }
  assert.equal(heard, 0);
});

test('any other status is a refusal', async () => {
  for (const status of [201, 204, 400, 401, 404, 429, 500, 503]) {
    const url = await serverOf((_, response) => response.writeHead(status).end(status === 204 ? '' : '{"score": 900}'));
    assert.deepEqual((await asking(url)).reply, { kind: 'failed', reason: 'refused' });
  }
});

test('an answer without an end is read no further than an answer may be long', async () => {
  let written = 0;
  const url = await serverOf((_, response) => {
    response.on('close', () => response.destroy());
    const more = (): void => {
      if (response.destroyed) return;
      written += 65_536;
      if (response.write(' '.repeat(65_536))) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  });
  assert.deepEqual((await asking(url)).reply, { kind: 'failed', reason: 'too-long' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(written < 20_000_000, String(written));
});

test('the time limit is for all of it: no answer, headers alone, a byte now and then', async () => {
  const silent = await serverOf(() => undefined);
  const headers = await serverOf((_, response) => response.writeHead(200).flushHeaders());
  const drip = await serverOf((_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  });
  for (const url of [silent, headers, drip]) {
    const { reply, tookMs } = await asking(url, null, 300);
    assert.deepEqual(reply, { kind: 'failed', reason: 'time-out' });
    assert.ok(tookMs < 1_500, String(tookMs));
  }
});

test('nobody listens, the connection breaks, what comes is no text', async () => {
  assert.deepEqual((await asking('http://127.0.0.1:9/')).reply, { kind: 'failed', reason: 'unreachable' });
  const broken = await serverOf((_, response) => {
    response.writeHead(200, { 'content-length': '50' });
    response.write('{"score"');
    setTimeout(() => response.destroy(), 20);
  });
  assert.deepEqual((await asking(broken)).reply, { kind: 'failed', reason: 'unreachable' });
  const bytes = await serverOf((_, response) => response.end(Buffer.from([0x7b, 0xff, 0xfe])));
  assert.deepEqual((await asking(bytes)).reply, { kind: 'failed', reason: 'unreadable' });
});
