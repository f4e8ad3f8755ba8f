/**
 * Two processes that fold all flows, each for itself, and carry on those of their own partitions: on a log of two partitions, which each
 * may come to know late.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { ConsumeOptions, EventLog, LogEntry, NewEntry } from '../../src/bidding/ports.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { Topic } from '../../src/domain/records.ts';
import { Fault } from '../../src/errors.ts';
import { createCarriedFlows } from '../../src/origination/carried-flows.ts';
import { createFlowDesk, type FlowDesk } from '../../src/origination/desk.ts';
import { evolve } from '../../src/origination/evolve.ts';
import type { FlowStore, LoanService } from '../../src/origination/ports.ts';
import { workerKeyOf } from '../../src/wire/identity.ts';
import { eventually } from '../conformance/backend.ts';
import { createPlace, openFlows, sharedPositions } from '../state/state-store.ts';
import { asked, plainVault, pricing, settings, started, stepRequests } from './orders.ts';

const personKey = workerKeyOf(plainVault, '52998224725');
const clock = createSystemClock();
const names = ['a', 'b'] as const;
type Name = (typeof names)[number];
type Sent = {
  by: Name;
  operationId: string;
  idempotencyKey: string | null;
  body: string;
  answer: (result: unknown) => void;
};

/** A flow is of the partition that the last digit of its id says. */
const partitionOf = (key: string) => Number(key.at(-1)) % 2;

/** Of the topic `flows`. `delayMs`: how late a reader comes to know what stands in a partition. */
function createLog() {
  const stored: LogEntry<FlowRecord>[][] = [[], []];
  const append = async (entries: readonly NewEntry[]) => {
    for (const { topic, key, record } of entries) {
      if (topic !== 'flows') continue;
      const partition = partitionOf(key);
      const own = stored[partition]!;
      own.push({ partition, offset: own.length, key, record: record as FlowRecord });
    }
  };
  const consume = async (options: ConsumeOptions<Topic>, delayMs: (partition: number) => number) => {
    let stopped = false;
    const follow = async (partition: number) => {
      for (let position = await options.from(partition); !stopped; await sleep(5)) {
        const entries = stored[partition]!.slice(position);
        if (entries.length === 0) continue;
        await sleep(delayMs(partition));
        const next = position + entries.length;
        await options.handler({ partition, first: position, next, entries } as never);
        position = next;
      }
    };
    if (options.topic === 'flows') for (const partition of [0, 1]) follow(partition).catch(options.onFault);
    return {
      owns: () => !stopped,
      stop: async () => {
        stopped = true;
      },
    };
  };
  const ends = async () => new Map(stored.map((entries, partition) => [partition, entries.length]));
  const readKey = async (_topic: Topic, key: string) => stored[partitionOf(key)]!.filter((entry) => entry.key === key);
  return { append, consume, ends, readKey, stored };
}

async function open(context: TestContext) {
  const log = createLog();
  const shared = sharedPositions();
  const sent: Sent[] = [];
  const world = {
    owned: { a: [0], b: [1] } as Record<Name, number[]>,
    isOpen: { a: true, b: true },
    delayMs: (_by: Name, _partition: number) => 0,
    onAppended: (_by: Name, _record: FlowRecord) => {},
  };
  const lost: Record<Name, () => void> = { a: () => {}, b: () => {} };
  const processes: { name: Name; desk: FlowDesk; flows: FlowStore; close: () => Promise<void> }[] = [];
  for (const name of names) {
    const { flows, close } = await openFlows(createPlace(), { ends: log.ends, callbacks: shared });
    const service = {
      perform: (prepared: Omit<Sent, 'by' | 'answer'>, mayWrite?: () => boolean) => {
        if (mayWrite?.() === false) return Promise.resolve({ kind: 'not-sent', reason: 'stopped', retryAt: null });
        return new Promise((answer) => {
          sent.push({ ...prepared, by: name, answer });
        });
      },
      askLinkDetail: async () => ({ kind: 'failed', reason: 'unreachable' }),
      listLinks: async () => ({ kind: 'failed', reason: 'unreachable' }),
    } as unknown as LoanService;
    const desk = createFlowDesk({
      instance: name,
      log: {
        ...log,
        append: (entries: readonly NewEntry[]) => {
          for (const { topic, record } of entries) if (topic === 'flows') world.onAppended(name, record as FlowRecord);
          return log.append(entries);
        },
        consume: (options: ConsumeOptions<Topic>) =>
          log.consume(options, (partition) => world.delayMs(name, partition)),
      } as unknown as EventLog,
      flows,
      // No bid is known: a contract of another process's request is not to be asked for.
      views: { read: async () => Promise.reject(new Fault('views-unavailable', 'not here')) },
      margins: { read: async () => new Map() },
      authorisations: { mayAsk: () => true },
      service: service as never,
      vault: plainVault as never,
      clock,
      settings: { ...settings, pollMs: 50, retryMs: 50, retryMaxMs: 50 },
      pricing,
      addresses: { fgts: true, proposal: true },
      carried: {
        partitionOf: async (key) => partitionOf(key),
        owned: () => world.owned[name],
        onLost: (hear) => {
          lost[name] = hear;
        },
      },
      isOpen: () => world.isOpen[name],
      observer: () => {},
    });
    processes.push({ name, desk, flows, close });
  }
  for (const { desk } of processes) await desk.start();
  context.after(async () => {
    world.isOpen = { a: false, b: false };
    for (const { answer } of sent) answer({ kind: 'not-sent', reason: 'stopped', retryAt: null });
    for (const { desk, close } of processes) {
      await desk.stop();
      await close();
    }
  });
  const [a, b] = processes;
  const state = async (flowId: string, by: Name = 'a'): Promise<FlowState> =>
    (await (by === 'a' ? a! : b!).flows.read([flowId])).get(flowId)!;
  const begin = (flowId: string) =>
    log.append([
      {
        topic: 'flows',
        key: flowId,
        record: { ...started('withdrawal', undefined, clock.now()), flowId, key: flowId },
      },
    ]);
  const order = (flowId: string, step: 'simulation' | 'inclusion'): NewEntry => {
    const more = { request: stepRequests[step], personKeys: [personKey] };
    return { topic: 'flows', key: flowId, record: asked(flowId, step, step, clock.now(), more) };
  };
  const answer = (one: Sent, body: string) =>
    one.answer({
      ...{ kind: 'accepted', answer: { extra: {} }, response: { status: 200, body } },
      ...{ firstByteAt: clock.now(), attempts: 1 },
    });
  /** What goes to the other process: at once here, and there as soon as it has come. */
  const move = (partition: number, to: Name) => {
    const from = to === 'a' ? 'b' : 'a';
    world.owned[from] = world.owned[from].filter((each) => each !== partition);
    lost[from]();
    world.owned[to] = [...world.owned[to], partition];
  };
  return { log, world, sent, state, begin, order, answer, move, desks: { a: a!.desk, b: b!.desk } };
}

const shownBalance = '{"HasError":false,"VlrDispSaque":1500.00,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}';
const flowIn = (operationId: string) => operationId.split(':')[0];

test('each process carries on its own flows and knows all of them', async (context) => {
  const { log, sent, state, begin, order, answer, desks } = await open(context);
  await Promise.all(['w-0', 'w-1'].map(begin));
  await log.append([order('w-0', 'simulation'), order('w-1', 'simulation')]);
  await eventually(() => sent.length === 2);
  assert.deepEqual(sent.map(({ by, operationId }) => [by, flowIn(operationId)]).sort(), [
    ['a', 'w-0'],
    ['b', 'w-1'],
  ]);
  for (const one of sent) answer(one, shownBalance);
  for (const by of names) {
    for (const flowId of ['w-0', 'w-1']) await eventually(async () => (await state(flowId, by)).phase === 'simulated');
  }
  assert.deepEqual([desks.a.status().open, desks.b.status().open], [0, 0]);
  assert.equal(sent.length, 2);
});

test('the flows of a partition that comes are gone on with, from what its owner before wrote', async (context) => {
  const { log, world, sent, state, begin, order, answer, move } = await open(context);
  await begin('w-0');
  await log.append([order('w-0', 'simulation')]);
  await eventually(() => sent.length === 1);
  answer(sent[0]!, shownBalance);
  await eventually(async () => (await state('w-0', 'b')).phase === 'simulated');
  world.isOpen.a = false;
  await log.append([order('w-0', 'inclusion')]);
  await eventually(async () => (await state('w-0', 'b')).operation?.status === 'asked');
  // The other process comes to know late that it was sent.
  world.delayMs = (by) => (by === 'b' ? 300 : 0);
  world.isOpen.a = true;
  await eventually(() => sent.length === 2);
  move(0, 'b');
  await eventually(() => sent.length === 3, 3_000);
  assert.deepEqual(
    sent.slice(1).map(({ by, operationId, idempotencyKey, body }) => [by, operationId, idempotencyKey !== null, body]),
    (['a', 'b'] as const).map((by) => [by, sent[1]!.operationId, true, sent[1]!.body]),
  );
  assert.equal(sent[2]!.idempotencyKey, sent[1]!.idempotencyKey, 'the same order under the same key');
  const intents = log.stored[0]!.filter(({ record }) => record.kind === 'intended');
  assert.equal(intents.length, 2, 'the simulation and one inclusion');
});

test('what others may have sent meanwhile is no proof when a partition comes back: a rejection says nothing', async (context) => {
  const { log, world, sent, state, begin, order, answer, move } = await open(context);
  await begin('w-0');
  await log.append([order('w-0', 'simulation')]);
  await eventually(() => sent.length === 1);
  answer(sent[0]!, shownBalance);
  await eventually(async () => (await state('w-0')).phase === 'simulated');
  world.onAppended = (by, record) => {
    if (by === 'a' && record.kind === 'intended') move(0, 'b');
  };
  await log.append([order('w-0', 'inclusion')]);
  await eventually(() => sent.length === 2, 3_000);
  move(0, 'a');
  await eventually(() => sent.length === 3, 3_000);
  assert.deepEqual(
    sent.slice(1).map(({ by }) => by),
    ['b', 'a'],
  );
  const heard = { response: { status: 200, body: '{}' }, firstByteAt: clock.now(), attempts: 1 };
  sent[2]!.answer({ kind: 'rejected', code: 'taken', errors: [], ...heard });
  const operation = async () => (await state('w-0')).operation!;
  await eventually(async () => (await operation()).status !== 'intended' || (await operation()).unknowns > 0);
  assert.deepEqual([(await operation()).status, (await operation()).unknowns], ['intended', 1]);
});

test('a partition that comes counts when everything is folded that the log held then, and not where it goes meanwhile', async (context) => {
  let owned = [0];
  let lose = () => {};
  let gained = 0;
  const catching: (() => void)[] = [];
  const carried = createCarriedFlows({
    partitions: {
      partitionOf: async () => 0,
      owned: () => owned,
      onLost: (hear) => {
        lose = hear;
      },
    },
    caughtUp: () => new Promise((resolve) => catching.push(resolve)),
    clock,
    onGained: async () => {
      gained += 1;
    },
    onLost: () => {},
    onFault: assert.fail,
  });
  context.after(carried.stop);
  const flow = evolve(null, started('withdrawal'), settings)!;
  await carried.learn([flow]);
  carried.start();
  await eventually(() => catching.length === 1);
  assert.ok(!carried.owns(flow.flowId), 'it is not folded yet what its owner before wrote');
  // It goes and comes again before that: its owner meanwhile wrote something too.
  lose();
  catching[0]!();
  await eventually(() => catching.length === 2);
  assert.deepEqual([carried.owns(flow.flowId), gained], [false, 0]);
  catching[1]!();
  await eventually(() => carried.owns(flow.flowId));
  assert.equal(gained, 1);
  // A rebalance gives it back and has never taken it away: what came meanwhile nobody else looked at.
  owned = [];
  assert.ok(!carried.owns(flow.flowId));
  owned = [0];
  assert.ok(!carried.owns(flow.flowId));
  await eventually(() => catching.length === 3);
  catching[2]!();
  await eventually(() => gained === 2);
  assert.ok(carried.owns(flow.flowId));
});

test('what is not sent yet when its partition goes is sent by the next owner alone', async (context) => {
  const { log, world, sent, begin, order, move } = await open(context);
  world.isOpen.a = false;
  await begin('w-0');
  await log.append([order('w-0', 'simulation')]);
  await sleep(200);
  move(0, 'b');
  world.isOpen.a = true;
  await eventually(() => sent.length === 1, 3_000);
  await sleep(200);
  assert.deepEqual(
    sent.map(({ by }) => by),
    ['b'],
  );
});

test('of two inclusions of one worker that two processes decide in one moment the second one is held back', async (context) => {
  const { log, world, sent, state, begin, order, answer } = await open(context);
  await Promise.all(['w-0', 'w-1'].map(begin));
  await log.append([order('w-0', 'simulation'), order('w-1', 'simulation')]);
  await eventually(() => sent.length === 2);
  for (const one of sent) answer(one, shownBalance);
  for (const flowId of ['w-0', 'w-1']) await eventually(async () => (await state(flowId)).phase === 'simulated');
  // Each comes to know late what stands in the other's partition.
  world.delayMs = (by, partition) => (world.owned[by].includes(partition) ? 0 : 400);
  await log.append([order('w-0', 'inclusion'), order('w-1', 'inclusion')]);
  await eventually(async () => {
    const states = [await state('w-0'), await state('w-1')];
    return sent.length > 2 && states.every(({ operation }) => operation?.status !== 'asked');
  }, 5_000);
  await sleep(200);
  assert.deepEqual(
    sent.slice(2).map(({ by, operationId }) => [by, flowIn(operationId)]),
    [['a', 'w-0']],
  );
  const refused = log.stored[1]!.flatMap(({ record }) => (record.kind === 'withheld' ? record.breaches : []));
  assert.deepEqual(
    refused.map(({ rule }) => rule),
    ['withdrawals-within-balance'],
  );
});
