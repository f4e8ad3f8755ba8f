/** Questions between processes over HTTP: what is sealed and answered, and what is refused: forged, replayed, old, for another, too long, too many. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPeerClient } from '../../../src/adapters/peers/client.ts';
import { createPeerKeys, openPeerText, peerPath, questionFor, sealPeerText } from '../../../src/adapters/peers/seal.ts';
import { createNewsCheck, openPeerServer } from '../../../src/adapters/peers/server.ts';

const keys = createPeerKeys('the key that all processes of the desk have');
const secret = 'CPF 52998224725';
const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing) await close();
});

async function serverOf(answer: (question: unknown) => Promise<object | null>) {
  const faults: unknown[] = [];
  const server = await openPeerServer({
    ...{ host: '127.0.0.1', port: 0, instance: 'one', keys, now: Date.now, answer },
    onFault: (fault) => faults.push(fault),
  });
  closing.push(server.close);
  const owner = { instance: 'one', host: server.host, port: server.port, partitions: {} };
  const send = async (body: Buffer, path: string = peerPath) => {
    const got = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body: new Uint8Array(body) });
    return { status: got.status, bytes: Buffer.from(await got.arrayBuffer()) };
  };
  return { owner, send, faults };
}

const sealed = (over: object = {}, instance = 'one', by = keys) =>
  sealPeerText(by.question, questionFor(instance), JSON.stringify({ id: 'q', at: Date.now(), question: {}, ...over }));

test('a question is answered to who has the key, and nothing of it is sent in clear', async () => {
  const asked: unknown[] = [];
  const { owner, send } = await serverOf(async (question) => {
    asked.push(question);
    return { said: secret };
  });
  const ask = createPeerClient({ keys, now: Date.now });
  assert.deepEqual(await ask(owner, { about: secret }), { kind: 'answered', answer: { said: secret } });
  assert.deepEqual(asked, [{ about: secret }]);
  const body = sealed({ question: { about: secret } });
  const { status, bytes } = await send(body);
  assert.equal(status, 200);
  for (const sent of [body, bytes]) assert.ok(!sent.toString('latin1').includes('52998224725'));
});

test('what is forged, changed, replayed, old or for another process is refused, and nobody looks at it', async () => {
  let looked = 0;
  const { owner, send } = await serverOf(async () => {
    looked += 1;
    return {};
  });
  const body = sealed();
  assert.equal((await send(body)).status, 200);
  assert.equal((await send(body)).status, 401, 'replayed');
  const changed = sealed({ id: 'changed' });
  changed[20]! ^= 1;
  const minuteMs = 60_000;
  const refused = [
    changed,
    sealed({ id: 'other' }, 'two'),
    sealed({ id: 'old', at: Date.now() - minuteMs }),
    sealed({ id: 'ahead', at: Date.now() + minuteMs }),
    sealed({ id: 'none', at: 'now' }),
    sealed({ id: 'forged' }, 'one', createPeerKeys('another key')),
    randomBytes(100),
    Buffer.alloc(0),
  ];
  for (const [place, each] of refused.entries()) assert.equal((await send(each)).status, 401, `${place}`);
  assert.equal((await send(sealed({ id: 'path' }), '/')).status, 404);
  assert.equal(looked, 1);
  const stranger = createPeerClient({ keys: createPeerKeys('another key'), now: Date.now });
  assert.deepEqual(await stranger(owner, {}), { kind: 'failed', why: 'refused' });
});

test('an answer of whoever has no key, or to another question, does not count', async () => {
  const other = sealPeerText(keys.answer, 'answer\none\nanother question', '{}');
  const { createServer: createHttp } = await import('node:http');
  const http = createHttp((request, response) => request.resume().on('end', () => response.end(other)));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  closing.push(() => new Promise((resolve) => void http.close(() => resolve())));
  const { port } = http.address() as { port: number };
  const ask = createPeerClient({ keys, now: Date.now });
  const got = await ask({ instance: 'one', host: '127.0.0.1', port, partitions: {} }, {});
  assert.deepEqual(got, { kind: 'failed', why: 'refused' });
  assert.equal(openPeerText(keys.answer, 'answer\none\nanother question', other), '{}');
});

test('who is gone, silent, busy or asked too much is told apart', async () => {
  const waiting = Promise.withResolvers<object>();
  const { owner, send, faults } = await serverOf((question) =>
    (question as { wait?: true }).wait ? waiting.promise : Promise.reject(new Error('no')),
  );
  const ask = createPeerClient({ keys, now: Date.now, timeoutMs: 300 });
  assert.deepEqual(await ask(owner, {}), { kind: 'failed', why: 'refused' });
  assert.equal(faults.length, 1);
  const patient = createPeerClient({ keys, now: Date.now });
  const many = Array.from({ length: 8 }, () => patient(owner, { wait: true }));
  await sleep(200);
  assert.deepEqual(await ask(owner, { wait: true }), { kind: 'failed', why: 'busy' });
  waiting.resolve({ late: true });
  assert.ok((await Promise.all(many)).every(({ kind }) => kind === 'answered'));
  // The connection may be closed before the status is read.
  const tooLong = await send(randomBytes(300_000)).catch(() => ({ status: 413 }));
  assert.equal(tooLong.status, 413);

  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  assert.deepEqual(await ask({ ...owner, port }, {}), { kind: 'failed', why: 'time-limit' });
  silent.close();
  assert.deepEqual(await ask({ ...owner, port: 9 }, {}), { kind: 'failed', why: 'gone' });
});

test('ids are remembered as long as their questions would be taken, and no longer', () => {
  let now = 1_000_000;
  const isNews = createNewsCheck(() => now);
  assert.ok(isNews('a', now + 29_000));
  now += 58_000;
  assert.ok(!isNews('a', 1_029_000), 'it would still be fresh');
  now += 3_000;
  assert.ok(isNews('a', now), 'it was forgotten');
  assert.ok(!isNews('b', Number.NaN));
});
