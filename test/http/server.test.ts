/** The server as the world sees it: tokens, bad input over real sockets, health, and nothing personal anywhere that is read. */
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { Fault } from '../../src/errors.ts';
import { createJournal } from '../../src/http/journal.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { createServer, type RefusalReport, type ServerParts } from '../../src/http/server.ts';
import { createTestDoor, limits, plantedCpf, plantedName, requestBody } from './parts.ts';
import { someStatus } from './statuses.ts';

const serverLimits = {
  bodyLimitBytes: limits.bodyLimitBytes,
  bodiesLimitBytes: 1_000_000,
  connectionLimit: 100,
  tokenlessRequestsPerMinute: 1_000,
  failedLoginsPerMinute: 1_000,
};

const tokens = ['old-token-0123456789abcdef', 'new-token-0123456789abcdef'];

async function start(
  context: TestContext,
  parts: Partial<ServerParts> = {},
  doorParts: Parameters<typeof createTestDoor>[0] = {},
) {
  const lines: string[] = [];
  const journal = createJournal('info', { write: (line: string) => void lines.push(line) });
  const metrics = createMetrics();
  const faults: string[] = [];
  const refusals: RefusalReport[] = [];
  const tools = createTestDoor({
    ...doorParts,
    observer: (report) => {
      metrics.observeDoor(report);
      journal.info('webhook', { status: report.status, kind: report.event, problem: report.problem });
      for (const fault of report.faults)
        journal.warn('unreadable-fact', { pointer: fault.pointer, text: fault.problem });
    },
  });
  const server = createServer({
    door: tools.door,
    webhookTokens: tokens,
    limits: serverLimits,
    trustedProxies: [],
    monotonicMs: () => performance.now(),
    progress: () => ({ alive: true, detail: 'folding' }),
    checks: [],
    metricsText: metrics.text,
    status: someStatus,
    api: null,
    onFault: (text) => faults.push(text),
    onRefusal: (report) => {
      refusals.push(report);
      metrics.observeRefusal(report);
    },
    ...parts,
  });
  const here = { host: '127.0.0.1', port: 0 };
  const { common: port } = await server.listen({ common: here, webhooks: null, api: null, metrics: null });
  server.open();
  context.after(() => server.close());
  return { ...tools, lines, faults, refusals, metrics, root: `http://127.0.0.1:${port}`, port };
}

function post(
  root: string,
  body: Buffer | string,
  token = tokens[0]!,
  headers: Record<string, string> = {},
): Promise<Response> {
  const sent = typeof body === 'string' ? body : new Uint8Array(body);
  return fetch(`${root}/webhooks/${token}`, {
    method: 'POST',
    body: sent,
    headers: { 'content-type': 'application/json', ...headers },
  });
}

test('every valid token opens, any content type is read', async (context) => {
  const { root, log } = await start(context);
  for (const token of tokens) assert.equal((await post(root, requestBody(1), token)).status, 200);
  assert.equal((await post(root, requestBody(2), tokens[0], { 'content-type': 'text/plain' })).status, 200);
  assert.equal(log.entries.length, 3);
});

test('a request without a content type is read too', async (context) => {
  const { port, log } = await start(context);
  const status = await new Promise<number>((resolve, reject) => {
    const sent = httpRequest(
      { port, host: '127.0.0.1', method: 'POST', path: `/webhooks/${tokens[0]}` },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on('error', reject);
    sent.end(requestBody(1));
  });
  assert.equal(status, 200);
  assert.equal(log.entries.length, 1);
});

test('a wrong token, a wrong path, a wrong method and a broken path all look the same', async (context) => {
  const { root, log } = await start(context);
  const seen = await Promise.all([
    post(root, requestBody(1), 'wrong'),
    post(root, requestBody(1), `${tokens[0]}x`),
    post(root, 'x'.repeat(limits.bodyLimitBytes + 1), 'wrong'),
    post(root, '{', 'wrong', { 'content-encoding': 'gzip' }),
    post(root, requestBody(1), 'x'.repeat(2_000)),
    post(root, requestBody(1), '%zz'),
    fetch(`${root}/webhooks/${tokens[0]}`),
    fetch(`${root}/nothing`),
  ]);
  const shapes = await Promise.all(
    seen.map(async (response) => `${response.status} ${response.headers.get('content-type')} ${await response.text()}`),
  );
  assert.deepEqual(
    [...new Set(shapes)],
    ['404 application/json; charset=utf-8 {"problem":"not-found","detail":"there is nothing here"}'],
  );
  assert.equal(log.entries.length, 0);
});

test('bad input is never 5xx and never a request with a wrong number', async (context) => {
  const { root, log, faults } = await start(context);
  const cases: [string, string | Buffer, number][] = [
    ['malformed', '{"numeroSolicitacao":1,', 400],
    ['empty', '', 400],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400],
    ['depth 10 000', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 400],
    ['10 MB', Buffer.alloc(10_000_000, 0x20), 413],
    ['__proto__', '{"__proto__":{"numeroSolicitacao":5,"valorLiberado":10}}', 202],
    ['unknown shape', '[1,[2,{"x":[]}]]', 202],
    ['a number', '17', 202],
    ['missing margin', requestBody(1, { valorLiberado: 100, nroParcelas: 10 }), 200],
    ['negative amount', requestBody(2, { valorLiberado: -100, margemDisponivel: '1.000,00' }), 200],
    ['id of 19 digits', '{"numeroSolicitacao":9007199254740993123}', 200],
    ['id with an exponent', '{"numeroSolicitacao":9e21}', 202],
    ['zoneless midnight', requestBody(3, { DataHoraFimLeilao: '2026-11-22T00:00:00' }), 200],
    ['no such midnight', requestBody(4, { DataHoraFimLeilao: '2026-11-21T24:00:00' }), 202],
    [
      'rate outside the grid',
      '{"Endpoint":"/contrato/oferta-leilao/fim-lote-solicitacoes","Payload":{"CodigoLote":"L","Solicitacoes":[{"NumeroSolicitacao":"1","Lances":[{"CodigoLanceLeilao":"a","TaxaDeJurosMensal":49.8,"ValorLiberado":1,"NumeroParcelas":1,"Posicao":1}]}]}}',
      202,
    ],
  ];
  for (const [name, body, status] of cases) {
    const response = await post(root, body);
    const text = await response.text();
    assert.equal(response.status, status, name);
    if (status >= 400) assert.ok(JSON.parse(text).detail.length > 10, `${name}: no explanation`);
  }
  const requests = log.entries.flatMap((entry) =>
    entry.topic === 'auctions' && entry.record.kind === 'requested' ? [entry.record.request] : [],
  );
  assert.deepEqual(
    requests.map(({ requestId, requestedAmountCents, availableMarginCents, closesAt }) => ({
      requestId,
      requestedAmountCents,
      availableMarginCents,
      closesAt,
    })),
    [
      { requestId: '1', requestedAmountCents: 10_000, availableMarginCents: null, closesAt: null },
      { requestId: '2', requestedAmountCents: null, availableMarginCents: null, closesAt: null },
      { requestId: '9007199254740993123', requestedAmountCents: null, availableMarginCents: null, closesAt: null },
      { requestId: '3', requestedAmountCents: null, availableMarginCents: null, closesAt: Date.UTC(2026, 10, 22, 3) },
    ],
  );
  assert.deepEqual(faults, []);
});

test('a compressed body is refused with a reason', async (context) => {
  const { root } = await start(context);
  const response = await post(root, requestBody(1), tokens[0], { 'content-encoding': 'gzip' });
  assert.equal(response.status, 415);
  assert.equal(response.headers.get('accept-encoding'), 'identity');
  assert.match(await response.text(), /\(gzip\); send it as it is, uncompressed/);
  const odd = await post(root, requestBody(1), tokens[0], { 'content-encoding': 'identity, 52998224725' });
  assert.equal(odd.status, 415);
  assert.ok(!(await odd.text()).includes('52998224725'));
  assert.equal((await post(root, requestBody(1), tokens[0], { 'content-encoding': 'Identity' })).status, 200);
});

test('a body in a transfer coding that is not known is not read: 501, or 400 where its end cannot be known', async (context) => {
  const kept: unknown[] = [];
  const { root } = await start(context, {}, { append: async (entries) => void kept.push(...entries) });
  const { port } = new URL(root);
  const body = requestBody(1);
  const send = async (coding: string, { path = `/webhooks/${tokens[0]}`, last = '' } = {}) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: desk\r\nauthorization: Bearer x\r\ncontent-type: application/json\r\ntransfer-encoding: ${coding}\r\n${last}\r\n` +
        `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer;
  };
  for (const coding of ['gzip, chunked', 'deflate, chunked', '52998224725, chunked', 'gzip,chunked']) {
    const answer = await send(coding);
    assert.match(answer, /^HTTP\/1\.1 501 /, coding);
    assert.match(answer, /connection: close/i);
    assert.match(answer, /chunked alone/);
    assert.ok(!answer.includes('52998224725'));
  }
  assert.match(await send('gzip'), /^HTTP\/1\.1 400 /);
  assert.match(
    await send('gzip, chunked', { path: '/v1/controls/pause', last: 'connection: close\r\n' }),
    /^HTTP\/1\.1 (?:404|501) /,
  );
  assert.equal(kept.length, 0);
  assert.match(await send('Chunked', { last: 'connection: close\r\n' }), /^HTTP\/1\.1 200 /);
  assert.equal(kept.length, 1);
});

test('503 carries Retry-After, and a full door refuses unread', async (context) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { root } = await start(context, {}, { append: () => promise });
  const waiting = Array.from({ length: limits.doorQueueLimit }, (_, index) => post(root, requestBody(index + 1)));
  await new Promise((done) => setTimeout(done, 100));
  const refused = await post(root, requestBody(9));
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  resolve();
  for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
});

test('livez is progress; readyz names what is missing', async (context) => {
  let alive = true;
  let missing: string | null = null;
  const { root } = await start(context, {
    progress: () => ({ alive, detail: alive ? 'folding' : 'nothing folded for 30 s' }),
    checks: [
      { name: 'rules', role: 'engine', missing: () => null },
      { name: 'views', role: 'engine', missing: () => missing },
      { name: 'webhooks', role: 'ingress', missing: () => null },
    ],
  });
  assert.equal((await fetch(`${root}/livez`)).status, 200);
  assert.equal(await (await fetch(`${root}/readyz`)).text(), 'ready\n');
  alive = false;
  missing = '12 records behind';
  assert.equal((await fetch(`${root}/livez`)).status, 503);
  const unready = await fetch(`${root}/readyz?verbose`);
  assert.equal(unready.status, 503);
  assert.equal(await unready.text(), '[+] rules\n[-] views: 12 records behind\n[+] webhooks\nnot ready\n');
  const ingress = await fetch(`${root}/readyz?role=ingress&verbose`);
  assert.deepEqual([ingress.status, await ingress.text()], [200, '[+] webhooks\nready\n']);
  const engine = await fetch(`${root}/readyz?role=engine`);
  assert.deepEqual([engine.status, await engine.text()], [503, 'not ready\n']);
  const wrong = await fetch(`${root}/readyz?role=door`);
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /role is one of ingress, engine/);
});

test('what is to be put right in a ready process has a mark of its own', async (context) => {
  let isIll = true;
  const { root } = await start(context, {
    checks: [
      {
        ...{ name: 'partitions', role: 'engine', missing: () => null },
        ...{ note: () => 'auctions/3 is closed', isIll: () => isIll },
      },
    ],
  });
  const asked = async () => (await fetch(`${root}/readyz?verbose`)).text();
  assert.equal(await asked(), '[!] partitions: auctions/3 is closed\nready\n');
  isIll = false;
  assert.equal(await asked(), '[+] partitions: auctions/3 is closed\nready\n');
});

test('who ordered what is said to this machine alone (stranger, issue 15)', async (context) => {
  const note = (names: boolean) => (names ? 'pause by ana (fraude)' : 'said to whoever asks from this machine');
  const { root } = await start(context, {
    trustedProxies: ['127.0.0.1'],
    checks: [{ name: 'control', role: 'engine', missing: () => null, note }],
  });
  const asked = async (forwarded: Record<string, string>) =>
    (await fetch(`${root}/readyz?verbose`, { headers: forwarded })).text();
  assert.match(await asked({}), /pause by ana/);
  const elsewhere = await asked({ 'x-forwarded-for': '203.0.113.7' });
  assert.equal(elsewhere, '[+] control: said to whoever asks from this machine\nready\n');
});

test('a failure of our own is 500, told with its path and its cause, and says nothing of what was sent', async (context) => {
  const { root, faults } = await start(context, {
    metricsText: () => Promise.reject(new TypeError(`secret ${plantedCpf}`)),
  });
  const response = await fetch(`${root}/metrics`);
  assert.equal(response.status, 500);
  assert.doesNotMatch(await response.text(), /secret/);
  assert.deepEqual(faults, ['an HTTP request failed: GET /metrics: TypeError']);
  const away = new Fault('views-unavailable', 'Redis did not do it: Connection is closed.');
  const world = await start(context, { metricsText: () => Promise.reject(away) });
  assert.equal((await fetch(`${world.root}/metrics`)).status, 500);
  assert.deepEqual(world.faults, [
    'an HTTP request failed: GET /metrics: views-unavailable: Redis did not do it: Connection is closed.',
  ]);
});

test('the text of the metrics is computed once a second, however many ask, and again at once where that failed', async (context) => {
  let now = 0;
  let computed = 0;
  const metricsText = async () => {
    computed += 1;
    if (computed === 3) throw new Error('away');
    return `computed ${computed}`;
  };
  const { root } = await start(context, { metricsText, monotonicMs: () => now });
  const asked = async () => (await fetch(`${root}/metrics`)).text();
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 10 }, asked))), new Set(['computed 1']));
  now = 999;
  assert.equal(await asked(), 'computed 1');
  now = 1_000;
  assert.equal(await asked(), 'computed 2');
  now = 2_000;
  assert.doesNotMatch(await asked(), /computed/);
  assert.equal(await asked(), 'computed 4');
});

test('planted CPFs and names reach no response, line, metric or key', async (context) => {
  const { root, lines, log } = await start(context);
  const bodies = [
    requestBody(1),
    requestBody(2, { DataHoraFimLeilao: plantedName }),
    requestBody(plantedName),
    Buffer.from(JSON.stringify({ [plantedName]: plantedCpf })),
    Buffer.from(`{"nome":"${plantedName}","cpf":${plantedCpf}`),
    Buffer.from(`${plantedCpf}x`),
    Buffer.from(
      JSON.stringify({
        codigoRequisicao: 'c',
        endpoint: '/trabalhador/listar-autorizados',
        payload: { vinculos: [{ cpf: plantedCpf, nome: plantedName }] },
      }),
    ),
  ];
  const texts = [];
  for (const body of bodies) texts.push(await (await post(root, body)).text());
  texts.push(await (await post(root, requestBody(1), plantedCpf)).text());
  texts.push(await (await fetch(`${root}/metrics`)).text());
  texts.push(JSON.stringify(log.entries), ...lines);
  const all = texts.join('\n');
  assert.ok(log.entries.length >= 6 && lines.length >= bodies.length);
  for (const planted of [plantedCpf, plantedName, 'Fulana', 'Plantada']) assert.ok(!all.includes(planted), planted);
});

test('until it is opened it takes nothing in, and says that it starts', async (context) => {
  const { door, log } = createTestDoor();
  const server = createServer({
    ...{ door, webhookTokens: tokens, limits: serverLimits, trustedProxies: [], checks: [], api: null },
    monotonicMs: () => performance.now(),
    progress: () => ({ alive: false, detail: 'not begun' }),
    metricsText: async () => 'metrics\n',
    status: someStatus,
    onFault: () => assert.fail(),
    onRefusal: () => assert.fail(),
  });
  context.after(() => server.close());
  const here = { host: '127.0.0.1', port: 0 };
  const { common: port } = await server.listen({ common: here, webhooks: null, api: null, metrics: null });
  const root = `http://127.0.0.1:${port}`;
  const early = await post(root, requestBody(1));
  assert.equal(early.status, 503);
  assert.equal(early.headers.get('retry-after'), '5');
  assert.equal(log.entries.length, 0);
  assert.equal((await fetch(`${root}/livez`)).status, 200);
  const ready = await fetch(`${root}/readyz`);
  assert.deepEqual([ready.status, (await ready.text()).split('\n')[0]], [503, '[-] start: the desk is starting']);
  assert.equal((await fetch(`${root}/metrics`)).status, 503);
  server.open();
  assert.equal((await post(root, requestBody(1))).status, 200);
  assert.equal(log.entries.length, 1);
});

test('an id that holds a CPF is masked in the log, another number of eleven digits is not', () => {
  const lines: string[] = [];
  const journal = createJournal('info', { write: (line: string) => void lines.push(line) });
  journal.error('alarm', { requestId: plantedCpf, batchId: `x${plantedCpf}`, flowId: `0${plantedCpf}` });
  journal.error('alarm', { requestId: '91582575437', claimId: 'd4b67693-9771-34cd-9fa5-52998224725a:9' });
  assert.ok(!lines.join('').includes(plantedCpf), lines.join(''));
  assert.ok(lines[1]!.includes('"requestId":"91582575437"'), lines[1]);
});
