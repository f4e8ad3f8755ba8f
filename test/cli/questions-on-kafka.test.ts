/** Two processes with views in files of their own: the API of each and the command line answer for the partitions of both. */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { answered, claimed, offer, requested } from '../bidding/parts.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { jsonLines, lance, openStage, type Played, startDaemon } from './desk.ts';

const requests = 40;
/** Bids with one code, one of each process. */
const shared = 2;
const bidPath = '/contrato/oferta-leilao/incluir-lance';
const windowMs = 5_000;
const token = 'a-token-of-the-tests';

type Bid = {
  requestId: string;
  state: string;
  rateHundredths: number | null;
  unclaimed: readonly { sharedWith: readonly string[] }[];
};
type Missing = { partition: number; instance: string | null; why: string };
type Page = { bids: Bid[]; next: string | null; missing?: Missing[] };
type Status = { instance: string; partitions: { owned: number[] } };

await describeOnStack('two processes with views in files are asked for the requests of both', (stack) => {
  let stage: Played;
  let environment: Record<string, string>;
  let desks: Awaited<ReturnType<typeof startDaemon>>[] = [];

  before(async () => {
    stage = await openStage(43, windowMs);
    const path = join(stage.directory, 'kafka.json');
    const bidding = { windowMs, skewAllowanceMs: 50, marginWaitMs: 300, resultTimeoutMs: 5_000 };
    // One that hangs stays the owner while it is asked.
    const group = { groupId: stack.prefix, sessionTimeoutMs: 60_000 };
    const kafka = { topicPrefix: stack.prefix, ...group, partitions: 4, replication: 1 };
    writeFileSync(path, JSON.stringify({ bidding, kafka, redis: { keyPrefix: `{${stack.prefix}}:` } }));
    const hash = createHash('sha256').update(token).digest('hex');
    environment = {
      ...{ ...stage.environment, LANCE_LANG: 'en', LANCE_CONFIG: path, LANCE_API_TOKENS: `ana:admin:${hash}` },
      ...stackEnvironment(stack),
    };
    const of = (name: string) => ({ ...environment, LANCE_DATA_DIR: join(stage.directory, name) });
    desks = [await startDaemon(of('one'))];
    desks.push(await startDaemon(of('two')));
    stage.sandbox.connect(desks[0]!.url);
  });
  after(async () => {
    for (const desk of desks) {
      desk.signal('SIGCONT');
      await desk.stop();
    }
    await stage.close();
  });

  async function ask<A>(
    desk: number,
    path: string,
    method = 'GET',
    body?: object,
  ): Promise<{ status: number; body: A }> {
    const answer = await fetch(`${new URL(desks[desk]!.url).origin}/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as A };
  }

  async function listed(desk: number, limit: number): Promise<string[]> {
    const found: string[] = [];
    for (let before = ''; ; ) {
      const { body } = await ask<Page>(desk, `bids?limit=${limit}${before}`);
      if (body.missing !== undefined) {
        // On a loaded machine an owner may not answer in time, and the page says so.
        assert.ok(
          body.missing.every(({ why }) => why === 'time-limit' || why === 'moved'),
          JSON.stringify(body.missing),
        );
        continue;
      }
      found.push(...body.bids.map(({ requestId }) => requestId));
      if (body.next === null) return found;
      before = `&before=${encodeURIComponent(body.next)}`;
    }
  }

  const statusOf = async (desk: number) => (await ask<Status>(desk, 'status')).body;

  test('each lists, searches and shows the requests of both, and so does the command line', {
    timeout: 240_000,
  }, async () => {
    for (;;) {
      const owned = await Promise.all([statusOf(0), statusOf(1)]);
      if (owned.every(({ partitions }) => partitions.owned.length === 2)) break;
      await sleep(100);
    }
    await stage.sandbox.run(requests);
    // A list is of what has been folded by then, and one that is decided meanwhile stands elsewhere in it.
    const isRest = async () =>
      (await listed(1, 200)).length === requests &&
      (await ask<Page>(0, 'bids?state=requested&limit=1')).body.bids.length === 0;
    while (!(await isRest())) await sleep(100);
    const known = await listed(0, 200);
    assert.equal(new Set(known).size, requests);
    assert.deepEqual(await listed(1, 7), known);

    for (const desk of [0, 1]) {
      for (const requestId of known.slice(0, 8)) {
        const { status, body } = await ask<Bid>(desk, `bids/${requestId}`);
        assert.deepEqual([status, body.requestId], [200, requestId]);
      }
      assert.equal((await ask(desk, 'bids/99999999')).status, 404);
      const passed = (await ask<Page>(desk, 'bids?state=passed&limit=200')).body.bids;
      assert.ok(passed.every(({ state }) => state === 'passed'));
    }
    const account = {
      accountType: 2,
      branch: '0001',
      branchDigit: '9',
      account: '123456',
      accountDigit: '7',
      bankNumber: '341',
    };
    const terms = { amountCents: 100_000, installments: 12, rateHundredths: 200, agentCpf: '52998224725', account };
    const begin = async (desk: number, requestId: string) => {
      const { status, body } = await ask<object>(desk, 'contracts', 'POST', {
        requestId,
        workerAccepted: true,
        ...terms,
      });
      return [status, body];
    };
    const passed = (await ask<Page>(0, 'bids?state=passed&limit=8')).body.bids;
    assert.ok(passed.length > 0);
    for (const { requestId } of passed) {
      const answers = [await begin(0, requestId), await begin(1, requestId)];
      assert.deepEqual(answers[0], answers[1]);
      assert.equal(answers[0]![0], 409, JSON.stringify(answers[0]));
    }
    const list = await lance(environment, 'bids', 'list', '--json', '--limit', '1000');
    assert.deepEqual([list.code, list.stderr], [0, '']);
    assert.deepEqual(
      jsonLines<Bid>(list.stdout).map(({ requestId }) => requestId),
      known,
    );
    const over = { LANCE_LANG: 'en', LANCE_URL: new URL(desks[1]!.url).origin, LANCE_TOKEN: token };
    const remote = await lance(over, 'bids', 'list', '--json', '--limit', '1000');
    assert.deepEqual([remote.code, remote.stderr], [0, '']);
    const idsIn = (text: string) => jsonLines<Bid>(text).map(({ requestId }) => requestId);
    assert.deepEqual(idsIn(remote.stdout), idsIn(list.stdout));
    const three = await lance(over, 'bids', 'list', '--limit', '3');
    assert.deepEqual([three.code, /the latest 3/.test(three.stderr)], [0, true]);
    const byCpf = await lance(over, 'bids', 'list', '--cpf', '529.982.247-25');
    assert.deepEqual([byCpf.code, /not asked by CPF/.test(byCpf.stderr)], [65, true]);
    const show = await lance(environment, 'bids', 'show', known[0]!, '--json');
    assert.equal(show.code, 0, show.stderr);
    assert.equal((JSON.parse(show.stdout) as Bid).requestId, known[0]);
    for (const language of ['en', 'pt']) {
      const told = await lance({ ...over, LANCE_LANG: language }, 'bids', 'show', passed[0]!.requestId);
      assert.equal(told.code, 0, told.stderr);
      assert.match(told.stdout, new RegExp(`${passed[0]!.requestId}\\n[^]*\\(passed\\)[^]*•`));
      assert.match(told.stderr, /bids show/);
    }
    const [bid] = (await ask<Page>(0, 'bids?limit=200')).body.bids.filter(
      ({ rateHundredths }) => rateHundredths !== null,
    );
    const offered = await lance(over, 'bids', 'show', bid!.requestId);
    assert.match(offered.stdout, /── The offer/);
    const json = await lance(over, 'bids', 'show', known[0]!, '--json');
    assert.equal((JSON.parse(json.stdout) as Bid).requestId, known[0]);
    const nobody = await lance(over, 'bids', 'show', '99999999');
    assert.deepEqual([nobody.code, /No request has this id/.test(nobody.stderr)], [66, true], nobody.stderr);
    const why = ['--reason', 'conferir', '--by', 'ana'];
    const worker = await lance(over, 'bids', 'worker', passed[0]!.requestId, ...why);
    assert.deepEqual([worker.code, /is passed, not won/.test(worker.stderr)], [65, true], worker.stderr);
  });

  test('a code that bids of both processes have is of neither, and no winner event is unknown to all', {
    timeout: 120_000,
  }, async () => {
    const settings = settingsOn(stack, stack.prefix);
    const { partitionOf, appendBeside, close } = openKafkaReader({ settings });
    try {
      const owned = (await Promise.all([statusOf(0), statusOf(1)])).map(({ partitions }) => partitions.owned);
      const ids: string[] = [];
      for (let next = 50_700_000_700; ids.length < shared; next += 1) {
        if (owned[ids.length]!.includes(await partitionOf('auctions', String(next)))) ids.push(String(next));
      }
      const code = '0f0f0f0f-0000-4000-8000-000000000001';
      const at = Date.now();
      const bid = { ...offer, validUntil: at + 100_000_000 };
      const life = [requested(), claimed('a:1', { offer: bid }), answered({ kind: 'accepted', bidId: code })];
      await appendBeside(
        ids.flatMap((requestId) =>
          life.map((record): NewEntry => {
            const own = { ...record, requestId, at };
            const request = { ...requested().request, requestId, receivedAt: at, closesAt: null, expiresAt: null };
            return { topic: 'auctions', key: requestId, record: own.kind === 'requested' ? { ...own, request } : own };
          }),
        ),
      );
      for (const [desk, requestId] of ids.entries()) {
        while ((await ask<Bid>(desk, `bids/${requestId}`)).body.state !== 'accepted') await sleep(50);
      }
      const body = { CodigoRequisicao: code, Endpoint: bidPath, Payload: { Conteudo: { Mensagem: 'sim' }, Erros: [] } };
      const told = await fetch(desks[0]!.url, { method: 'POST', body: JSON.stringify(body) });
      assert.equal(told.status, 200);
      for (const [desk, requestId] of ids.entries()) {
        const asked = async () => (await ask<Bid>(1 - desk, `bids/${requestId}`)).body;
        while ((await asked()).unclaimed.length === 0) await sleep(50);
        const { state, unclaimed } = await asked();
        assert.deepEqual([state, unclaimed.map(({ sharedWith }) => sharedWith)], ['accepted', [[ids[1 - desk]!]]]);
        const events = await ask<{ unknownWinnersWhole: boolean }>(desk, 'events?phase=unclaimed');
        assert.deepEqual([events.status, events.body.unknownWinnersWhole], [200, true]);
      }
    } finally {
      await close();
    }
  });

  test('what a process that hangs owns is named, and the rest is listed', { timeout: 120_000 }, async (context) => {
    const [own, hanging] = [await statusOf(0), await statusOf(1)];
    desks[1]!.signal('SIGSTOP');
    context.after(() => desks[1]!.signal('SIGCONT'));
    const { body } = await ask<Page>(0, 'bids?limit=200');
    assert.deepEqual(
      body.missing,
      hanging.partitions.owned.map((partition) => ({ partition, instance: hanging.instance, why: 'time-limit' })),
    );
    assert.ok(body.bids.length > 0 && body.bids.length < requests + shared, `${body.bids.length}`);
    const list = await lance(environment, 'bids', 'list', '--limit', '1000');
    assert.equal(list.code, 0);
    for (const partition of hanging.partitions.owned) {
      assert.match(list.stderr, new RegExp(`Requests of partition ${partition} are missing: .*in time`));
    }
    assert.ok(!own.partitions.owned.some((each) => list.stderr.includes(`partition ${each} `)));
  });

  test('what a process owned that is gone is answered by the next owner, and by the log when none runs', {
    timeout: 240_000,
  }, async () => {
    await desks[1]!.stop();
    for (;;) {
      const { body } = await ask<Page>(0, 'bids?limit=200');
      if (body.missing === undefined && body.bids.length === requests + shared) break;
      await sleep(200);
    }
    const events = await ask<{ unknownWinnersWhole: boolean }>(0, 'events?phase=unclaimed');
    assert.deepEqual([events.status, events.body.unknownWinnersWhole], [200, true]);
    await desks[0]!.stop();
    const list = await lance(environment, 'bids', 'list', '--json', '--limit', '1000');
    assert.deepEqual([list.code, list.stderr], [0, '']);
    assert.equal(jsonLines(list.stdout).length, requests + shared);
  });
});
