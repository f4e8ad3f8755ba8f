/** Nights on which no bid flows, played against a whole desk: the same cause in readiness, metric, log and reason codes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Fault } from '../../src/errors.ts';
import type { RuleFile } from '../../src/rules/rule-set.ts';
import { type House, openHouse } from './house.ts';

const windowMs = 6_000;
const bidding = {
  windowMs,
  skewAllowanceMs: 200,
  resultTimeoutMs: 4_000,
  contemplationTimeoutMs: 20_000,
  marginWaitMs: 4_000,
  retryFirstMs: 40,
  retryMaxMs: 200,
};
const night = {
  seed: 21,
  sandbox: { auction: { windowMs, expiryMs: 10 * windowMs }, pace: { batchRequests: 10, batchIntervalMs: 100 } },
  bidding,
};

async function shown({ engine }: House, path: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(new URL(path, engine.url));
  return { status: answer.status, text: await answer.text() };
}

/** What readiness says once it says that, or after six seconds. */
async function shownWith(house: House, text: RegExp): Promise<{ status: number; text: string }> {
  for (let polls = 0; ; polls += 1) {
    const ready = await shown(house, '/readyz?verbose');
    if (text.test(ready.text) || polls === 120) return ready;
    await setTimeout(50);
  }
}

/** Codes of the passes, counted; asks until all of them ended. */
async function passCodes({ store }: House, requests: number): Promise<Record<string, number>> {
  for (let polls = 0; ; polls += 1) {
    const rows = await store.views.query({ phase: null, limit: 1_000, before: null });
    const codes = rows.flatMap(({ state }) => (state.pass === null ? [] : [state.pass.code]));
    if (codes.length >= requests || polls === 200) {
      return Object.fromEntries(
        Object.entries(Object.groupBy(codes, (code) => code)).map(([code, all]) => [code, all!.length]),
      );
    }
    await setTimeout(50);
  }
}

async function assertNight(
  options: { baseUrl?: () => string; moreRules?: readonly RuleFile[]; prepare?: (house: House) => void },
  cause: string,
): Promise<void> {
  const lines: string[] = [];
  const house = await openHouse({ ...night, ...options, onLine: (line) => lines.push(line) });
  try {
    options.prepare?.(house);
    const requests = 40;
    const running = house.sandbox.run(requests);
    const named = new RegExp(`^\\[-\\] gate: bidding is closed: ${cause} since 20\\S+[;:] .+$`, 'm');
    const ready = await shownWith(house, named);
    assert.equal(ready.status, 503);
    assert.match(ready.text, named);
    assert.equal((await shown(house, '/readyz?role=ingress')).status, 200, 'webhooks are taken all the same');
    assert.equal((await shown(house, '/readyz?role=engine')).status, 503);
    const metrics = (await shown(house, '/metrics')).text;
    assert.match(metrics, new RegExp(`^lance_bidding_status\\{cause="${cause}"\\} 1$`, 'm'));
    assert.match(metrics, /^lance_bidding_status\{cause="none"\} 0$/m);
    await running;
    const codes = await passCodes(house, requests);
    assert.ok((codes[cause] ?? 0) > 10, JSON.stringify(codes));
    assert.deepEqual(
      Object.keys(codes).filter((code) => code.startsWith('fact-missing:')),
      [],
    );
    for (const wrong of [
      'paused',
      'overload',
      'no-send-slot',
      'fact-missing:margin.availableReais',
      'margin-missing',
      'deadline',
    ])
      assert.equal(codes[wrong], undefined, JSON.stringify(codes));
    const told = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'bidding-closed');
    assert.ok(
      told.some(({ code, text }) => code === cause && text.length > 0),
      lines.join('\n'),
    );
    const alarms = Number(/lance_alarms_total\{code="service-unauthorised"\} (\d+)/.exec(metrics)?.[1]);
    assert.equal(alarms, cause === 'service-unauthorised' ? 1 : 0);
  } finally {
    await house.close();
  }
}

async function closedPort(): Promise<number> {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  assert.ok(typeof address === 'object' && address !== null);
  await new Promise((resolve) => taken.close(resolve));
  return address.port;
}

/** The service behind a line that holds every request back, and answers those that `fails` names by itself. */
async function slowService(
  context: TestContext,
  holdMs: number,
  fails: (body: string) => number | null = () => null,
): Promise<{ behind: (serviceUrl: string) => string }> {
  let target = '';
  const server = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    await setTimeout(holdMs);
    const status = fails(Buffer.concat(chunks).toString());
    if (status !== null) {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const { authorization = '', 'idempotency-key': key } = request.headers;
    const answer = await fetch(new URL(request.url!, target), {
      method: request.method!,
      headers: {
        authorization,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': String(key) }),
      },
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return {
    behind: (serviceUrl) => {
      target = serviceUrl;
      return `http://127.0.0.1:${port}`;
    },
  };
}

// Each waits for windows of seconds with a desk of its own, and all of them together need ten seconds of one core. The longest begin.
describe('nights on which no bid flows', { concurrency: 3 }, () => {
  // They come before all others, and as many as there are slots, or failures until the circuit opens, or claims that wait to be tried again.
  for (const [status, cause, count, batchIntervalMs] of [
    [401, 'service-unauthorised', 1, 300],
    [429, 'service-throttled', 4, 1_000],
    [500, 'service-unreachable', 18, 1_500],
  ] as const) {
    test(`requests that the service answers with ${status} for ever leave the others their bids`, async (context) => {
      const failing = new Set<string>();
      const tried = new Map<string, number>();
      const line = await slowService(context, 0, (body) => {
        const id = /"numeroSolicitacao":"?(\d+)/i.exec(body)?.[1];
        if (id === undefined) return null;
        // The first that come, before any other one is answered.
        if (failing.size < count) failing.add(id);
        if (!failing.has(id)) return null;
        tried.set(id, (tried.get(id) ?? 0) + 1);
        return status;
      });
      const own = { windowMs: 12_000, batchRequests: count, batchIntervalMs };
      const house = await openHouse({
        ...night,
        baseUrl: line.behind,
        bidding: { ...bidding, windowMs: own.windowMs, retryMaxMs: 400 },
        sandbox: {
          auction: { windowMs: own.windowMs, expiryMs: 10 * own.windowMs },
          pace: { batchRequests: own.batchRequests, batchIntervalMs: own.batchIntervalMs },
        },
      });
      try {
        const requests = count + 40;
        await house.sandbox.run(requests);
        const rows = await house.store.views.query({ phase: null, limit: 1_000, before: null });
        const others = rows.filter(({ state }) => !failing.has(state.requestId));
        const lost = others.filter(
          ({ state }) => state.pass?.code === cause || state.answer?.outcome.kind === 'unknown',
        );
        const answered = others.filter(({ state }) => state.answer !== null && state.answer.outcome.kind !== 'unknown');
        context.diagnostic(
          `${answered.length} of ${others.length} answered, ${lost.length} lost, tried ${[...tried.values()]}`,
        );
        assert.equal(failing.size, count);
        assert.ok(Math.min(...tried.values()) > 3, 'the failing ones were tried again');
        assert.deepEqual(
          lost.map(({ state }) => [state.requestId, state.pass?.code]),
          [],
        );
        assert.ok(answered.length > 15, String(answered.length));
      } finally {
        await house.close();
      }
    });
  }

  test('overload is said only where the queue was full, else that no slot was free (issue 20, line 5)', async (context) => {
    for (const [queueLimit, code, other] of [
      [1_000, 'no-send-slot', 'overload'],
      [1, 'overload', null],
    ] as const) {
      const slow = await slowService(context, 1_200);
      const house = await openHouse({
        ...night,
        baseUrl: slow.behind,
        bidding: { ...bidding, sendLimit: 1, queueLimit },
      });
      try {
        await house.sandbox.run(40);
        const codes = await passCodes(house, 30);
        assert.ok((codes[code] ?? 0) > 5, `${queueLimit}: ${JSON.stringify(codes)}`);
        if (other !== null) assert.equal(codes[other], undefined, JSON.stringify(codes));
        const rows = await house.store.views.query({ phase: null, limit: 1_000, before: null });
        for (const { state } of rows) {
          if (state.pass?.code !== code) continue;
          const [{ text } = { text: '' }] = state.pass.reasons;
          assert.match(text, /; the bid was expected to bring R\$ \d+\.\d\d/);
        }
      } finally {
        await house.close();
      }
    }
  });

  test('the token has expired', async () => {
    await assertNight({ prepare: ({ sandbox }) => sandbox.revokeTokens() }, 'service-unauthorised');
  });

  test('the service is down', async () => {
    const port = await closedPort();
    await assertNight({ baseUrl: () => `http://127.0.0.1:${port}` }, 'service-unreachable');
  });

  test('the service is down, and a rule needs what only the link says', async () => {
    const rule = {
      name: 'No ineligible links',
      description: 'The detail of the link names a code.',
      owner: 'credit-risk',
      priority: 1_000,
      conditions: { all: [{ fact: 'link.ineligibilityCode', operator: 'greaterThan', value: 0 }] },
      event: { type: 'pass', params: { code: 'not-eligible', reason: 'The link is not eligible.' } },
    };
    const moreRules = [{ path: 'own.json', text: JSON.stringify({ rules: [rule] }) }];
    const port = await closedPort();
    await assertNight({ baseUrl: () => `http://127.0.0.1:${port}`, moreRules }, 'service-unreachable');
  });

  test('views that cannot be stored are named where partitions are not live (issue 15, line 22)', async () => {
    const house = await openHouse(night);
    try {
      const { views } = house.store;
      const { apply } = views;
      const full = 'The views cannot be read or stored: database or disk is full.';
      views.apply = () => Promise.reject(new Fault('views-unavailable', full));
      const running = house.sandbox.run(10);
      const named = /^\[-\] gate: bidding is closed: partitions-not-live since 20\S+[;:] .*database or disk is full/m;
      const ready = await shownWith(house, named);
      views.apply = apply;
      await running;
      assert.equal(ready.status, 503);
      assert.match(ready.text, named);
      const { text } = await shown(house, '/readyz?verbose');
      assert.doesNotMatch(text, /disk is full/, 'it is over');
    } finally {
      await house.close();
    }
  });

  test('offers that waited behind a pause until it was too late to send them ended by the pause (issue 21, line 1)', async () => {
    // Two seconds before the deadline nothing may be sent any more.
    const house = await openHouse({ ...night, bidding: { ...bidding, skewAllowanceMs: 2_000 } });
    const word = { by: 'ana', via: 'api', reason: 'a look at the rules' } as const;
    try {
      const requests = 10;
      await house.store.control.setPause({ ...word, at: Date.now() });
      await shownWith(house, /bidding is closed: paused/);
      const began = Date.now();
      const running = house.sandbox.run(requests);
      await setTimeout(windowMs - 1_000 - (Date.now() - began));
      await house.store.control.resume({ ...word, at: Date.now() });
      await running;
      assert.deepEqual(Object.keys(await passCodes(house, requests)), ['paused']);
    } finally {
      await house.close();
    }
  });

  test('a detail of the link that does not come while the desk is paused is no missing fact (issue 21, line 1)', async () => {
    const house = await openHouse({
      ...night,
      sandbox: { ...night.sandbox, links: { callbackMinMs: 60_000, callbackMaxMs: 60_000 } },
      bidding: { ...bidding, marginWaitMs: 1_000 },
    });
    try {
      const requests = 20;
      await house.store.control.setPause({ by: 'ana', via: 'api', reason: 'a look at the rules', at: Date.now() });
      await shownWith(house, /bidding is closed: paused/);
      await house.sandbox.run(requests);
      const codes = await passCodes(house, requests);
      const missing = Object.keys(codes).filter((code) => /^(fact|margin)-missing/.test(code));
      assert.deepEqual(missing, [], JSON.stringify(codes));
      assert.ok((codes.paused ?? 0) > 5, JSON.stringify(codes));
    } finally {
      await house.close();
    }
  });
});
