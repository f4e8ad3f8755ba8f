/** `lance sandbox` as people start it, and the help of every command. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { lance } from './desk.ts';

test('with a target the stream goes there, and a summary ends it', async () => {
  let received = 0;
  const server = createServer((request, response) => {
    if (request.url === '/webhooks/t') received += 1;
    request.resume().on('end', () => response.writeHead(202).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/t`;
  const settings = JSON.stringify({ auction: { windowMs: 200, expiryMs: 400 }, pace: { batchIntervalMs: 50 } });
  const words = ['sandbox', '--target', target, '--requests', '12', '--settings', settings];
  const [json, text] = [await lance({}, ...words, '--json'), await lance({}, ...words)];
  server.close();
  assert.equal(json.code, 0, json.stderr);
  const summary = JSON.parse(json.stdout) as { requests: number; auctionsEnded: number; webhooks: { sent: number } };
  assert.equal(summary.requests, 12);
  assert.equal(summary.auctionsEnded, 12);
  assert.equal(received, 2 * summary.webhooks.sent);
  assert.match(text.stdout, /leilões encerrados +12/);
});

test('what is wrong with its options is named', async () => {
  const [settings, shape, target, rivals] = await Promise.all([
    lance({}, 'sandbox', '--settings', '{"auction":{"windowMillis":3}}'),
    lance({}, 'sandbox', '--settings', '{', '--lang', 'en'),
    lance({}, 'sandbox', '--target', 'here'),
    lance({}, 'sandbox', '--rivals', '/nowhere/rates.ndjson'),
  ]);
  assert.deepEqual([settings.code, shape.code, target.code, rivals.code], [78, 78, 78, 78]);
  assert.match(settings.stderr, /windowMillis is not a setting/);
  assert.match(shape.stderr, /--settings is not valid JSON/);
  assert.match(target.stderr, /--target: escreva um endereço inteiro/);
  assert.match(rivals.stderr, /ENOENT/);
});

test('every command helps, with an example, in the language asked for', async () => {
  const commands = [
    ['run'],
    ['demo'],
    ['bids'],
    ['bids', 'list'],
    ['bids', 'show'],
    ['bids', 'resolve'],
    ['pause'],
    ['resume'],
    ['cap'],
    ['doctor'],
    ['audit', 'verify'],
    ['sandbox'],
  ];
  for (const command of commands) {
    const [pt, en] = await Promise.all([
      lance({}, ...command, '--help'),
      lance({ LANCE_LANG: 'en' }, ...command, '--help'),
    ]);
    assert.equal(pt.code, 0);
    assert.match(pt.stdout, /^Uso: lance [\s\S]*\nExemplo:\n {2}lance /);
    assert.match(en.stdout, /^Usage: lance [\s\S]*\nExample:\n {2}lance /);
  }
  const wrong = await lance({ LANCE_LANG: 'xx', LANCE_DATA_DIR: '/nowhere' }, 'doctor');
  assert.equal(wrong.code, 78);
  assert.match(wrong.stderr, /LANCE_LANG é "xx": escreva pt ou en/);
});
