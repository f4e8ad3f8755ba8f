/** Flows change hands and come back: what a process remembers of them from before is not believed. Real log and store, two desks. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { ConsumeOptions, Consumer, EventLog } from '../../src/bidding/ports.ts';
import type { FlowRecord } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { Topic } from '../../src/domain/records.ts';
import { createFlowDesk } from '../../src/origination/desk.ts';
import type { LoanService } from '../../src/origination/ports.ts';
import { workerKeyOf } from '../../src/wire/identity.ts';
import type { OperationResult } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { asked, plainVault, pricing, settings, started, stepRequests } from './orders.ts';

const flowId = 'w-1';
const personKey = workerKeyOf(plainVault, '52998224725');
const clock = createSystemClock();
const names = ['a', 'b'] as const;
type Name = (typeof names)[number];
type Answer = (result: OperationResult<unknown>) => void;
type Sent = { by: Name; operation: string; answer: Answer };

/** The log as one process sees it: it reads what is shared out only while it is given the partition. */
function logOf(log: EventLog) {
  const shares: { take: () => Promise<void>; lose: () => Promise<void> }[] = [];
  const consume = async <T extends Topic>(options: ConsumeOptions<T>): Promise<Consumer> => {
    if (options.scope === 'all') return log.consume(options);
    let current: Consumer | null = null;
    shares.push({
      take: async () => {
        current ??= await log.consume(options);
      },
      lose: async () => {
        if (current === null) return;
        const before = current;
        current = null;
        await before.stop();
        options.onLost(0);
      },
    });
    return { owns: (partition) => current?.owns(partition) === true, stop: async () => current?.stop() };
  };
  return {
    log: { ...log, consume },
    take: async () => {
      for (const share of shares) await share.take();
    },
    lose: async () => {
      for (const share of shares) await share.lose();
    },
  };
}

async function open(context: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'lance-flows-'));
  const store = await openEmbeddedStore({ directory, onFault: (fault) => assert.fail(fault.message) });
  const sent: Sent[] = [];
  const world = { open: { a: true, b: true }, onAppended: (_by: Name, _record: FlowRecord): void => {} };
  const desks = names.map((name) => {
    const process = logOf(store.log);
    const service = {
      perform: ({ operation }: { operation: string }, mayWrite?: () => boolean) => {
        if (mayWrite?.() === false) return Promise.resolve({ kind: 'not-sent', reason: 'stopped', retryAt: null });
        return new Promise((answer: Answer) => {
          sent.push({ by: name, operation, answer });
        });
      },
    } as unknown as LoanService;
    const desk = createFlowDesk({
      instance: name,
      log: {
        ...process.log,
        append: (entries) => {
          for (const { record, topic } of entries) if (topic === 'flows') world.onAppended(name, record);
          return process.log.append(entries);
        },
      },
      flows: store.flows,
      views: store.views,
      margins: store.margins,
      authorisations: { mayAsk: () => true },
      service: {
        ...service,
        askLinkDetail: async () => ({ kind: 'failed', reason: 'unreachable' }),
        listLinks: async () => ({ kind: 'failed', reason: 'unreachable' }),
      },
      vault: plainVault as never,
      clock,
      settings: { ...settings, pollMs: 50, retryMs: 50, retryMaxMs: 50 },
      pricing,
      addresses: { fgts: true, proposal: true },
      isOpen: () => world.open[name],
      observer: () => {},
    });
    return { name, desk, ...process };
  });
  for (const { desk } of desks) await desk.start();
  /** One after the other, as the partition changes hands. */
  let giving = Promise.resolve();
  const give = (name: Name) => {
    giving = giving.then(async () => {
      for (const other of desks) if (other.name !== name) await other.lose();
      await desks.find((each) => each.name === name)!.take();
    });
    return giving;
  };
  context.after(async () => {
    for (const { answer } of sent) answer({ kind: 'not-sent', reason: 'stopped', retryAt: null });
    for (const { desk, lose } of desks) {
      await lose();
      await desk.stop();
    }
    await store.close();
    rmSync(directory, { recursive: true });
  });
  const state = async (): Promise<FlowState> => (await store.flows.read([flowId])).get(flowId)!;
  const ask = (step: 'simulation' | 'inclusion') => {
    const record = asked(flowId, step, step, clock.now(), { request: stepRequests[step], personKeys: [personKey] });
    return store.log.append([{ topic: 'flows', key: flowId, record }]);
  };
  await give('a');
  await store.log.append([{ topic: 'flows', key: flowId, record: started('withdrawal', undefined, clock.now()) }]);
  await ask('simulation');
  await eventually(() => sent.length === 1);
  const body = '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}';
  const heard = { response: { status: 200, body }, firstByteAt: clock.now(), attempts: 1 };
  sent[0]!.answer({ kind: 'accepted', answer: { extra: {} }, ...heard } as never);
  await eventually(async () => (await state()).phase === 'simulated');
  return { world, sent, give, ask, state, heard, directory };
}

test('an intent that was read back by another owner alone is gone on with when the partition comes back', async (context) => {
  const { world, sent, give, ask, state } = await open(context);
  world.open.b = false;
  world.onAppended = (by, record) => {
    if (by === 'a' && record.kind === 'intended') void give('b');
  };
  await ask('inclusion');
  await eventually(async () => (await state()).operation?.status === 'intended');
  await give('a');
  await eventually(() => sent.length === 2, 3_000);
  assert.deepEqual([sent[1]!.by, sent[1]!.operation], ['a', 'inclusion']);
});

test('an intent that the view has otherwise than the log is not sent, and freezes its flow', async (context) => {
  const { world, sent, give, ask, state, directory } = await open(context);
  world.open.b = false;
  world.onAppended = (by, record) => {
    if (by === 'a' && record.kind === 'intended') void give('b');
  };
  await ask('inclusion');
  await eventually(async () => (await state()).operation?.status === 'intended');
  await give('b');
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  database.exec("UPDATE flow_states SET state = json_set(state, '$.operation.intent.path', '/elsewhere')");
  database.close();
  await give('a');
  await eventually(async () => (await state()).frozen !== undefined, 3_000);
  assert.match((await state()).frozen!.problem, /not the operation of the log.*lance views verify/);
  assert.equal(sent.length, 1);
});

test('an intent that another owner may have sent meanwhile: a rejection is no proof', async (context) => {
  const { world, sent, give, ask, state, heard } = await open(context);
  world.onAppended = (by, record) => {
    if (by === 'a' && record.kind === 'intended') void give('b');
  };
  await ask('inclusion');
  await eventually(() => sent.length === 2, 3_000);
  assert.equal(sent[1]!.by, 'b');
  await give('a');
  await eventually(() => sent.length === 3, 3_000);
  assert.equal(sent[2]!.by, 'a');
  sent[2]!.answer({ kind: 'rejected', code: 'taken', errors: [], ...heard } as never);
  const operation = async () => (await state()).operation!;
  await eventually(async () => (await operation()).status !== 'intended' || (await operation()).unknowns > 0);
  const { status, unknowns } = await operation();
  // It is asked for again, with the same bytes and key.
  assert.deepEqual([status, unknowns], ['intended', 1]);
});
