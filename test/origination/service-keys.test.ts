/** The idempotency keys that the service sees: one for one thing to be done, wherever the store stands, and no other. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { claimKey } from '../../src/bidding/key-check.ts';
import { claimLogId } from '../../src/bidding/log-id.ts';
import type { EventLog } from '../../src/bidding/ports.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import type { StoredInput } from '../../src/domain/records.ts';
import type { Prepared } from '../../src/wire/operations.ts';
import { lance, pseudonymKey } from '../cli/desk.ts';
import { eventually } from '../conformance/backend.ts';
import { startFlowHouse } from './flow-house.ts';
import { asked, plainVault, started } from './orders.ts';

type House = Awaited<ReturnType<typeof startFlowHouse>>;

const cpf = '52998224725';
const order = { cpf, birthDate: null, signerCpfs: [] };
const root = mkdtempSync(join(tmpdir(), 'lance-keys-'));
after(() => rmSync(root, { recursive: true, force: true }));
const placeOf = (name: string) => join(root, name);

const environment = (name: string) => ({
  ...{ LANCE_DATA_DIR: placeOf(name), LANCE_PSEUDONYM_KEY: pseudonymKey, LANCE_LANG: 'en' },
  ...{ LANCE_BASE_URL: 'http://127.0.0.1:9', LANCE_WEBHOOK_TOKENS: 'token-of-the-tests' },
  ...{ LANCE_ACCESS_TOKEN: 'token-of-the-tests', LANCE_CONTACT_URL: 'https://parceiro.example/credito' },
  LANCE_FGTS_URL: 'http://127.0.0.1:9',
});

/** One life of the desk in a directory, which stays. */
async function live<R>(context: TestContext, name: string, work: (house: House) => Promise<R>): Promise<R> {
  let ended: { result: R } | null = null;
  await context.test(name, async (life) => {
    ended = { result: await work(await startFlowHouse(life, undefined, {}, placeOf(name))) };
  });
  return ended!.result;
}

async function begin({ front }: House, key = 'order-1', more = {}): Promise<string> {
  const result = await front.startWithdrawal({ by: 'ana', key }, { ...order, ...more });
  assert(result.kind === 'taken' || result.kind === 'known', JSON.stringify(result));
  return result.state.flowId;
}

/** What goes to the service of a simulation of this balance. */
async function simulate({ front, sent }: House, flowId: string, balanceCents: number): Promise<Prepared> {
  const isOf = ({ operationId }: Prepared) => operationId.startsWith(`${flowId}:`);
  const before = sent.filter(isOf).length;
  const step = { step: 'simulation', request: { cpf, balanceCents } } as const;
  const result = await front.ask(flowId, { by: 'ana', key: `simulate-${balanceCents}` }, step);
  assert(result.kind === 'taken', JSON.stringify(result));
  await eventually(async () => sent.filter(isOf).length > before);
  return sent.filter(isOf).at(-1)!;
}

test('two stores send different keys for what they number alike', async (context) => {
  const inStore = (name: string) =>
    live(context, name, async (house) => {
      const turns = await begin(house);
      const beside = await begin(house, 'order-2', { alongside: true });
      return [await simulate(house, turns, 100_000), await simulate(house, beside, 100_000)] as const;
    });
  const [one, other] = [await inStore('one'), await inStore('other')];
  for (const index of [0, 1] as const) {
    assert.equal(one[index].operationId, other[index].operationId);
    assert.equal(one[index].body, other[index].body);
    assert.notEqual(one[index].idempotencyKey, other[index].idempotencyKey);
  }
  assert.notEqual(one[0].idempotencyKey, one[1].idempotencyKey);
});

test('a store that is started again repeats the key of what was begun, and keys follow from the same id', async (context) => {
  const first = await live(context, 'restarted', async (house) => {
    const flowId = await begin(house);
    const waiting = await begin(house, 'order-2', { alongside: true });
    return { flowId, waiting, sent: await simulate(house, flowId, 100_000) };
  });
  cpSync(placeOf('restarted'), placeOf('restarted-too'), { recursive: true });
  const again = (name: string) =>
    live(context, name, async (house) => {
      const { flowId, waiting, sent } = first;
      await eventually(async () => house.sent.some(({ operationId }) => operationId === sent.operationId));
      for (const one of house.sent.filter(({ operationId }) => operationId === sent.operationId))
        assert.deepEqual([one.idempotencyKey, one.body], [sent.idempotencyKey, sent.body]);
      assert.equal(await begin(house), flowId);
      return simulate(house, waiting, 100_000);
    });
  const [one, other] = [await again('restarted'), await again('restarted-too')];
  assert.equal(one.idempotencyKey, other.idempotencyKey);
});

test('a store that was exported and imported sends the key that it would have sent', async (context) => {
  const first = await live(context, 'from', async (house) => {
    await claimKey(house.log, createVault(pseudonymKey), 'of the test');
    const flowId = await begin(house);
    const waiting = await begin(house, 'order-2', { alongside: true });
    const sent = await simulate(house, flowId, 100_000);
    await house.control.setPause({ by: 'ana', reason: 'mudança', at: 1 });
    return { waiting, sent };
  });
  cpSync(placeOf('from'), placeOf('stayed'), { recursive: true });
  for (const [name, ...words] of [
    // The desk of these tests keeps no anchor.
    ['from', 'audit', 'accept-restore', '--by', 'ana', '--reason', 'of the test'],
    ['from', 'export', placeOf('desk.ndjson')],
    ['moved', 'import', placeOf('desk.ndjson')],
  ] as const) {
    const ended = await lance(environment(name), ...words);
    assert.equal(ended.code, 0, ended.stderr);
  }
  const later = (name: string) =>
    live(context, name, async (house) => {
      const { waiting, sent } = first;
      await eventually(async () => house.sent.some(({ operationId }) => operationId === sent.operationId));
      const one = house.sent.find(({ operationId }) => operationId === sent.operationId)!;
      assert.deepEqual([one.idempotencyKey, one.body], [sent.idempotencyKey, sent.body]);
      const fresh = await begin(house, 'order-3', { alongside: true });
      return [await simulate(house, waiting, 100_000), await simulate(house, fresh, 100_000)] as const;
    });
  const [moved, stayed] = [await later('moved'), await later('stayed')];
  for (const index of [0, 1] as const) assert.equal(moved[index].idempotencyKey, stayed[index].idempotencyKey);
});

test('a flow that an earlier version began keeps the keys that it had; begun again it is of its log', async (context) => {
  const house = await startFlowHouse(context);
  const { world, sent, append, state, front } = house;
  world.answerTo = () => ({
    ...{ kind: 'rejected', code: 'no', errors: [], firstByteAt: 1, attempts: 1 },
    response: { status: 200, body: '{}' },
  });
  const record = { ...started('withdrawal'), sealed: plainVault.seal(null, JSON.stringify(order)) };
  const { flowId } = record;
  const write = (...records: FlowRecord[]) =>
    append(...records.map((each) => ({ topic: 'flows', key: flowId, record: each }) as const));
  const isHeard = async () => (await state(flowId))?.operation?.status === 'rejected';
  const request = { cpf, balanceCents: 100_000 };
  await write(record, asked(flowId, 'simulation', 'before', record.at + 1, { request }));
  await eventually(async () => sent.length === 1 && (await isHeard()));
  await simulate(house, flowId, 200_000);
  await eventually(isHeard);
  // As the version before gave them, written down there.
  const before = [
    ['w-1:simulation#1', '39c52450-1c6e-84f8-937d-c3f7c96164d2'],
    ['w-1:simulation#2', '1b918e13-61b9-8ec8-8a66-7f70b880f914'],
  ];
  const keys = () => sent.map(({ operationId, idempotencyKey }) => [operationId, idempotencyKey]);
  assert.deepEqual(keys(), before);

  const ended = await front.ask(flowId, { by: 'ana', key: 'end' }, { step: 'cancel', reason: 'x' });
  assert(ended.kind === 'taken', JSON.stringify(ended));
  await write({ ...record, at: record.at + 2, key: 'again', again: true, logId: 'log-of-the-test' });
  await eventually(async () => (await state(flowId))?.logId === 'log-of-the-test');
  const again = await simulate(house, flowId, 300_000);
  assert.equal(again.operationId, 'w-1:simulation#4');
  assert.equal(again.idempotencyKey, 'c3d10b65-11d0-8c01-948e-fc89bb6b2580');
  assert.deepEqual(keys().slice(0, 2), before);
});

test('whoever begins first gives the log its id, and what dies on the way does not change it', async (context) => {
  const claimed = (log: EventLog) =>
    Promise.all(Array.from({ length: 8 }, (_, index) => claimLogId(log, `instance-${index}`)));
  const many = await startFlowHouse(context);
  const together = new Set(await claimed(many.log));
  assert.equal(together.size, 1);
  assert.deepEqual(new Set(await claimed(many.log)), together);

  const { log } = await startFlowHouse(context);
  const dying: EventLog['append'] = async (entries) => {
    await log.append(entries);
    throw new Error('killed');
  };
  await assert.rejects(claimLogId({ ...log, append: dying }, 'one that dies'), /killed/);
  const said = (await log.read('inputs', 0, 0, 10)).map(({ record }) => (record as StoredInput).content);
  assert.equal(said.length, 1);
  assert.deepEqual([...new Set(await claimed(log))], said, 'the one that died had proposed it');
  assert.ok(!together.has(said[0]!));
});

test('an order on the command line gives the log its id, where no desk has, and the desk takes it', async (context) => {
  await live(context, 'beside', async ({ log }) => assert.equal((await log.ends('inputs')).get(0) ?? 0, 0));
  const file = join(root, 'order.json');
  writeFileSync(file, JSON.stringify({ cpf }));
  for (const key of ['order-1', 'order-1']) {
    const words = ['withdrawals', 'start', '--file', file, '--key', key, '--by', 'ana'];
    const ended = await lance(environment('beside'), ...words);
    assert.equal(ended.code, 0, ended.stderr);
  }
  await live(context, 'beside', async ({ log }) => {
    const begun = (await log.read('flows', 0, 0, 10)).map(({ record }) => record as FlowRecord);
    const ids = begun.map((record) => record.kind === 'started' && record.logId);
    assert.deepEqual(ids, [await claimLogId(log, 'later')]);
  });
});

test('one key is never sent with two bodies, though the store was set back between them', async (context) => {
  const flowId = await live(context, 'backup', begin);
  const after = (name: string, balanceCents: number) => {
    cpSync(placeOf('backup'), placeOf(name), { recursive: true });
    return live(context, name, (house) => simulate(house, flowId, balanceCents));
  };
  const [one, again, other] = [await after('a', 100_000), await after('b', 100_000), await after('c', 200_000)];
  assert.equal(one.operationId, other.operationId);
  assert.deepEqual([again.idempotencyKey, again.body], [one.idempotencyKey, one.body], 'the same order is known again');
  assert.notEqual(other.body, one.body);
  assert.notEqual(other.idempotencyKey, one.idempotencyKey);
});
