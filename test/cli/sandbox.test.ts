/** `lance sandbox` as people start it, and the help of every command. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../conformance/backend.ts';
import { inheritedEnvironment, lance, mainFile } from './desk.ts';

test('with a target the stream goes there, and a summary ends it', async () => {
  let received = 0;
  const server = createServer((request, response) => {
    if (request.url === '/webhooks/t') received += 1;
    request.resume().on('end', () => response.writeHead(202).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/t`;
  const settings = JSON.stringify({ auction: { windowMs: 200, expiryMs: 400 }, pace: { batchIntervalMs: 50 } });
  const words = ['sandbox', '--target', target, '--requests', '12', '--settings', settings, '--exit'];
  const [json, text] = [await lance({}, ...words, '--json'), await lance({}, ...words)];
  server.close();
  assert.equal(json.code, 0, json.stderr);
  const summary = JSON.parse(json.stdout) as { requests: number; auctionsEnded: number; webhooks: { sent: number } };
  assert.equal(summary.requests, 12);
  assert.equal(summary.auctionsEnded, 12);
  assert.equal(received, 2 * summary.webhooks.sent);
  assert.match(text.stdout, /leilões encerrados +12/);
});

test('Ctrl-C ends a stream in its middle, with the summary so far', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(202).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/token-of-the-tests`;
  const settings = JSON.stringify({ auction: { windowMs: 60_000, expiryMs: 120_000 } });
  const words = ['sandbox', '--target', target, '--requests', '3000', '--settings', settings, '--lang', 'en'];
  const child = spawn(process.execPath, [mainFile, ...words], { env: { ...inheritedEnvironment } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const received = once(server, 'request');
  try {
    await received;
    const askedAt = performance.now();
    child.kill('SIGINT');
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(15_000) });
    assert.equal(code, 0);
    assert.match(said, /auctions ended +0/);
    assert.ok(performance.now() - askedAt < 15_000);
  } finally {
    child.kill('SIGKILL');
    server.closeAllConnections();
    server.close();
  }
});

test('without --exit it stays for the flows after the win, and says what a desk and a person need for them', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(202).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/token-of-the-tests`;
  const settings = JSON.stringify({ auction: { windowMs: 200, expiryMs: 400 }, pace: { batchIntervalMs: 50 } });
  const words = ['sandbox', '--target', target, '--requests', '5', '--settings', settings, '--lang', 'en'];
  const child = spawn(process.execPath, [mainFile, ...words], { env: { ...inheritedEnvironment } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    await eventually(async () => said.includes('Ctrl-C ends it'), 60_000);
    assert.match(said, /auctions ended +5/);
    const [, url] = /LANCE_FGTS_URL=(\S+)/.exec(said) ?? [];
    assert.ok(said.includes(`LANCE_PROPOSAL_URL=${url}\n`) && said.includes(`LANCE_BASE_URL=${url}\n`), said);
    const [, secret] = /"authorization: Bearer (\S+)"/.exec(said) ?? [];
    const sha256 = createHash('sha256').update(secret!).digest('hex');
    assert.ok(said.includes(`LANCE_API_TOKENS=ana:operator:${sha256}\n`), said);
    assert.ok(!said.includes('token-of-the-tests'), said);
    const known = [...said.matchAll(/^\d{10,} +(\d{11}) .* \d{4}-\d\d-\d\d +R\$ /gm)];
    assert.equal(known.length, 3);
    const [, cpf, nsu] = /^\d{10,} +(\d{11}) .* (\d{10})$/m.exec(said)!;
    const query = (number: string) => {
      const body = `{"cpfTrabalhador":"${cpf}","autorizacao":{"nsuAutorizacaoDigital":${number}}}`;
      const headers = { authorization: 'Bearer sandbox-token', 'content-type': 'application/json' };
      return fetch(`${url}/trabalhador/listar-autorizados`, { method: 'POST', headers, body });
    };
    assert.equal((await query('1')).status, 422, 'not the NSU of this person');
    const answered = await query(nsu!);
    assert.equal(answered.status, 200, `the NSU beside the person: ${await answered.text()}`);
    const [, forFile] = /LANCE_CONFIG names:\n +(\{.*\})\n/.exec(said) ?? [];
    const { flows } = JSON.parse(forFile!) as { flows: { finalisationEnabled: boolean; situations: object[] } };
    assert.equal(flows.finalisationEnabled, true);
    assert.ok(flows.situations.some((each) => isDeepStrictEqual(each, { code: 5, state: 'released' })));
    assert.match(said, /No bid was won/);
    const refused = await fetch(`${url}/sandbox/terminations/12345`, { method: 'POST' });
    assert.equal(refused.status, 404);
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  } finally {
    if (child.exitCode === null) child.kill('SIGKILL');
    server.closeAllConnections();
    server.close();
  }
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
  assert.match(shape.stderr, /--settings is not valid JSON\. Line 1, column 2: write a "key"/);
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
  const daemon = await Promise.all(['run', 'demo'].map((command) => lance({}, command, '--help')));
  for (const { stdout } of daemon) {
    assert.match(stdout, /--no-learning +congela/);
    assert.doesNotMatch(stdout, /\b(?:the|how|rivals from|freeze|with)\b/);
  }
  const wrong = await lance({ LANCE_LANG: 'xx', LANCE_DATA_DIR: '/nowhere' }, 'doctor');
  assert.equal(wrong.code, 78);
  assert.match(wrong.stderr, /LANCE_LANG é "xx": escreva pt ou en/);
});

test('what is mistyped is said in the language asked for, and so is what help adds', async () => {
  const say = async (...words: string[]) => {
    const { code, stdout, stderr } = await lance({}, ...words);
    return { code, said: `${stdout}${stderr}` };
  };
  const [missing, nobody, wrong, choice, option, help, group, english] = await Promise.all([
    say('pause', '--by', 'x'),
    say('pause', '--reason', 'x'),
    say('bids', 'list', '--limit', 'x'),
    say('bids', 'list', '--state', 'x'),
    say('bids', 'list', '--limt', '3'),
    say('bids', 'list', '--help'),
    say('withdrawals', '--help'),
    say('--lang', 'en', 'pause', '--by', 'x'),
  ]);
  assert.deepEqual([nobody.code, nobody.said.includes('quem dá a ordem com --by NOME')], [1, true]);
  assert.deepEqual([missing.code, wrong.code, choice.code, option.code, help.code], [1, 1, 1, 1, 0]);
  assert.equal(missing.said, "erro: falta a opção obrigatória '--reason <text>'\n");
  assert.match(wrong.said, /^erro: o valor 'x' da opção '--limit <n>' não serve: \S/);
  assert.match(choice.said, /não serve: escreva um destes: .*lost/);
  assert.equal(option.said, "erro: opção desconhecida '--limt'\n(seria --limit?)\n");
  assert.match(help.said, /^Uso: lance bids list \[opções\]/);
  assert.match(group.said, /help +mostra a ajuda de um comando/);
  assert.match(help.said, /\(padrão: 50\)/);
  assert.match(help.said, /\(opções:\s+"/);
  assert.doesNotMatch(help.said, /default|choices|options/);
  assert.equal(english.said, "error: required option '--reason <text>' not specified\n");
});
