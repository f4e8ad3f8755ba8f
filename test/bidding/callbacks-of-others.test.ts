/** Winner events and codes where each process knows the bids of its own partitions alone: the others are asked, and nobody guesses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallbacks } from '../../src/bidding/callbacks.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { Outbox } from '../../src/bidding/outbox.ts';
import type { LedgerRow, MarginCache, NewEntry, Views } from '../../src/bidding/ports.ts';
import { mergedHolders } from '../../src/domain/code-holders.ts';
import type { CallbackRecord } from '../../src/domain/records.ts';
import { Fault } from '../../src/errors.ts';
import { createManualClock } from './manual-clock.ts';
import { accepted, answered, at, claimed, folded, requested, resolved } from './parts.ts';

const orphanTimeoutMs = 120_000;

type Known = { codes: Readonly<Record<string, readonly string[]>>; resolved?: readonly string[] };

function contemplated(requestCode: string, age = 0): CallbackRecord {
  return { kind: 'contemplated', at: at - age, requestCode, message: null, errors: [] };
}

function viewsOf(known: () => Known): Pick<Views, 'findByBid' | 'read'> {
  return {
    findByBid: async (codes) => {
      const { codes: held } = known();
      return new Map(codes.flatMap((code) => (held[code] === undefined ? [] : [[code, held[code]]])));
    },
    read: async (ids) => {
      const { codes: held, resolved: said = [] } = known();
      const here = new Set(Object.values(held).flat());
      const rowOf = (requestId: string): LedgerRow => {
        const more = said.includes(requestId) ? [resolved('contemplated')] : [];
        const state = { ...folded(requested(), claimed(), answered(accepted), ...more), requestId };
        return { state, reservation: 'held', hadRoom: true };
      };
      return new Map(ids.flatMap((id) => (here.has(id) ? [[id, rowOf(id)]] : [])));
    },
  };
}

/** Process `place` has partition `place`; each knows of the others what they say. */
function deskOf(...known: Known[]) {
  const clock = createManualClock(at);
  const silent = new Set<number>();
  const asked: number[] = [];
  const processes = known.map((_, place) => {
    const events: DeskEvent[] = [];
    const written: NewEntry[] = [];
    const all = known.map((__, other) => viewsOf(() => known[other]!));
    const fromAll = async <R>(ask: (views: Pick<Views, 'findByBid' | 'read'>) => Promise<R>): Promise<R[]> => {
      if (silent.size > 0) throw new Fault('owner-unasked', 'Partition 1 of auctions could not be asked.');
      return Promise.all(all.map(ask));
    };
    const stood = { applied: 0 };
    const own = {
      ...all[place]!,
      missing: () => known.flatMap((__, other) => (other === place ? [] : [other])),
      applied: async () => stood.applied,
      apply: async ({ next }: { next: number }) => {
        stood.applied = next;
        return { kind: 'applied', refused: [], whole: true };
      },
    };
    const callbacks = createCallbacks({
      views: own as unknown as Views,
      askedBids: {
        findByBid: async (codes) => {
          asked.push(codes.length);
          return mergedHolders((await fromAll((views) => views.findByBid(codes))).flatMap((found) => [...found]));
        },
        read: async (ids) => new Map((await fromAll((views) => views.read(ids))).flatMap((rows) => [...rows])),
      },
      margins: { write: async () => {} } as unknown as MarginCache,
      outbox: {
        keep: async (entries: readonly NewEntry[]) => {
          written.push(...entries);
          return true;
        },
      } as Outbox,
      clock,
      observer: (event) => events.push(event),
      orphanTimeoutMs,
      retryMs: 100,
      timeDoubted: () => false,
      isCatchingUp: () => false,
      stopping: () => false,
      ...{ onDetails: () => undefined, onLinks: () => undefined, onFailure: () => undefined },
    });
    const alarms = () => events.filter((event) => event.kind === 'alarm');
    return { callbacks, events, alarms, written, stood };
  });
  /** Each of them hears it. `partition`: of callbacks. */
  const tell = async (partition: number, ...records: CallbackRecord[]) => {
    const entries = records.map((record, offset) => ({ partition, offset, key: 'k', record }));
    for (const { callbacks } of processes) {
      await callbacks.handle({ partition, first: 0, next: records.length, entries });
    }
  };
  const recordsOf = (place: number) => processes[place]!.written.map(({ record }) => record);
  return { clock, silent, asked, processes, tell, recordsOf };
}

test('a winner event is written by the process that has its bid, and is soon behind every other one', async () => {
  const { clock, processes, tell, recordsOf } = deskOf({ codes: { own: ['r1'] } }, { codes: {} });
  await tell(0, contemplated('own'));
  await clock.advance(200);
  assert.deepEqual(recordsOf(0), [{ ...contemplated('own'), requestId: 'r1' }]);
  assert.deepEqual(recordsOf(1), []);
  assert.deepEqual(
    processes.map(({ stood, alarms }) => [stood.applied, alarms()]),
    [
      [1, []],
      [1, []],
    ],
  );
});

test('a code that bids of two processes have is of neither: each writes it to its own, with the other one named', async () => {
  const { clock, tell, recordsOf } = deskOf({ codes: { same: ['r1'] } }, { codes: { same: ['r2'] } });
  await tell(0, contemplated('same'));
  await clock.advance(200);
  assert.deepEqual(recordsOf(0), [{ ...contemplated('same'), requestId: 'r1', sharedWith: ['r2'] }]);
  assert.deepEqual(recordsOf(1), [{ ...contemplated('same'), requestId: 'r2', sharedWith: ['r1'] }]);
});

test('where a person has said whose it is, the other process writes nothing', async () => {
  const other = { codes: { same: ['r2'] }, resolved: ['r2'] };
  const { clock, processes, tell, recordsOf } = deskOf({ codes: { same: ['r1'] } }, other);
  await tell(0, contemplated('same'));
  await clock.advance(200);
  assert.deepEqual(recordsOf(0), []);
  assert.deepEqual(recordsOf(1), [{ ...contemplated('same'), requestId: 'r2' }]);
  assert.deepEqual(
    processes.map(({ stood }) => stood.applied),
    [1, 1],
  );
});

test('while another process cannot be asked a winner event waits, and is given to its own bid after a minute', async () => {
  const { clock, silent, processes, tell, recordsOf } = deskOf(
    { codes: { same: ['r1'] } },
    { codes: { same: ['r2'] } },
  );
  silent.add(1);
  await tell(0, contemplated('same'), contemplated('of the other'));
  await clock.advance(30_000);
  assert.deepEqual(recordsOf(0), []);
  assert.equal(processes[0]!.stood.applied, 0);
  assert.ok(processes[0]!.events.some((event) => event.kind === 'fault' && event.code === 'owner-unasked'));
  silent.clear();
  await clock.advance(2_000);
  assert.deepEqual(recordsOf(0), [{ ...contemplated('same'), requestId: 'r1', sharedWith: ['r2'] }]);

  const alone = deskOf({ codes: { same: ['r1'] } }, { codes: { same: ['r2'] } });
  alone.silent.add(1);
  await alone.tell(0, contemplated('same'), contemplated('of the other'));
  await alone.clock.advance(70_000);
  assert.deepEqual(alone.recordsOf(0), [{ ...contemplated('same'), requestId: 'r1' }]);
  assert.equal(alone.processes[0]!.stood.applied, 1, 'one whose bid is not here waits on');
  assert.deepEqual(alone.processes[0]!.alarms(), [], 'nobody calls it unknown');
});

test('a winner event that no process knows is told by one of them, and given up by all', async () => {
  const { clock, processes, tell } = deskOf({ codes: {} }, { codes: {} });
  await tell(1, contemplated('unheard-of'));
  await clock.advance(70_000);
  assert.deepEqual(processes[0]!.alarms(), []);
  const [alarm, ...more] = processes[1]!.alarms();
  assert.ok(alarm?.code === 'winner-unknown' && alarm.text?.includes('unheard-of'));
  assert.deepEqual(more, []);
  await clock.advance(orphanTimeoutMs);
  for (const { callbacks } of processes) await callbacks.handle({ partition: 1, first: 1, next: 1, entries: [] });
  assert.deepEqual(
    processes.map(({ stood, alarms }) => [stood.applied, alarms().length]),
    [
      [1, 0],
      [1, 2],
    ],
  );
});

test('one that came long ago is looked for before it is given up', async () => {
  const { clock, processes, tell, recordsOf } = deskOf({ codes: { own: ['r1'] } }, { codes: {} });
  const old = contemplated('own', 2 * orphanTimeoutMs);
  await tell(0, old);
  await clock.advance(200);
  assert.deepEqual(recordsOf(0), [{ ...old, requestId: 'r1' }]);
  assert.deepEqual(processes[0]!.alarms(), []);
});

test('one that cannot be read and is of no known bid raises one alarm', async () => {
  const { processes, tell } = deskOf({ codes: {} }, { codes: {} });
  await tell(1, { kind: 'unreadable', at, requestCode: null, problem: 'not JSON' });
  assert.deepEqual(
    processes.map(({ alarms }) => alarms().map((alarm) => [alarm.code, alarm.requestId])),
    [[], [['record-undecodable', null]]],
  );
});

test('answers with the code of a bid of another process raise the alarm, with one question for many of them', async () => {
  const { clock, asked, silent, processes } = deskOf({ codes: { ours: ['r1'] } }, { codes: { ours: ['r2'] } });
  const [one] = processes;
  silent.add(1);
  for (let index = 0; index < 200; index += 1) {
    await one!.callbacks.acknowledged([
      { ...answered({ kind: 'accepted', bidId: `${index}` }), requestId: `x${index}` },
    ]);
  }
  await one!.callbacks.acknowledged([{ ...answered(accepted), requestId: 'r1' }]);
  await clock.advance(1_500);
  assert.deepEqual(one!.alarms(), []);
  silent.clear();
  await clock.advance(5_000);
  assert.deepEqual(
    one!.alarms().map(({ code, requestId, sharedWith }) => [code, requestId, sharedWith]),
    [['code-shared', 'r1', ['r2']]],
  );
  assert.ok(asked.length < 10, `${asked.length} questions`);
  assert.equal(asked.at(-1), 201);
});
