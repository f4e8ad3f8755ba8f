/** Winner events find their request, whenever its bid becomes known; nothing is lost at a restart, nothing told twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bidsNamedIn, createCallbacks } from '../../src/bidding/callbacks.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { Outbox } from '../../src/bidding/outbox.ts';
import {
  callbackPartition,
  type LedgerRow,
  type MarginCache,
  type NewEntry,
  type Views,
} from '../../src/bidding/ports.ts';
import type { CallbackRecord } from '../../src/domain/records.ts';
import type { LinkDetail } from '../../src/domain/request.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { Fault } from '../../src/errors.ts';
import { sampleLink } from '../rules/sample-request.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { accepted, answered, at, claimed, folded, requested, requestId, settings } from './parts.ts';

function contemplated(requestCode: string): CallbackRecord {
  return { kind: 'contemplated', at, requestCode, message: null, errors: [] };
}

/** What outlives a process: how far callbacks were dealt with, which bids are known, what was appended. */
/** Several requests under one code stand in `bids` apart by a blank. */
type Kept = {
  applied: number;
  bids: Map<string, string>;
  rows: Map<string, LedgerRow>;
  appended: NewEntry[];
  details: LinkDetail[];
};

function setUp(kept: Kept, clock: ManualClock = createManualClock(at)) {
  const events: DeskEvent[] = [];
  const world = { failures: 0, isKept: Promise.resolve(true), isCatchingUp: false };
  const lookups: number[] = [];
  const views: Pick<Views, 'findByBid' | 'read' | 'applied' | 'apply'> = {
    read: async (requestIds) => {
      return new Map(requestIds.flatMap((each) => (kept.rows.has(each) ? [[each, kept.rows.get(each)!]] : [])));
    },
    findByBid: async (bidIds) => {
      lookups.push(bidIds.length);
      if (world.failures > 0) {
        world.failures -= 1;
        throw new Fault('views-unavailable', 'gone for a moment');
      }
      return new Map(
        bidIds.flatMap((bidId) => (kept.bids.has(bidId) ? [[bidId, kept.bids.get(bidId)!.split(' ')]] : [])),
      );
    },
    applied: async () => kept.applied,
    apply: async ({ partition, first, next }) => {
      assert.equal(partition, callbackPartition(0));
      assert.equal(first, kept.applied);
      kept.applied = next;
      return { kind: 'applied', refused: [], whole: true };
    },
  };
  const failures: string[] = [];
  const callbacks = createCallbacks({
    timeDoubted: () => false,
    isCatchingUp: () => world.isCatchingUp,
    views: views as Views,
    margins: { write: async (details: readonly LinkDetail[]) => void kept.details.push(...details) } as MarginCache,
    outbox: {
      keep: async (entries: readonly NewEntry[]) => {
        const isKept = await world.isKept;
        if (isKept) kept.appended.push(...entries);
        return isKept;
      },
    } as Outbox,
    clock,
    observer: (event) => events.push(event),
    orphanTimeoutMs: settings.graceMs,
    retryMs: 100,
    stopping: () => false,
    onDetails: () => undefined,
    onLinks: () => undefined,
    onFailure: ({ requestCode }) => failures.push(requestCode),
  });
  const read = async (first: number, ...records: CallbackRecord[]) => {
    const entries = records.map((record, index) => ({ partition: 0, offset: first + index, key: 'k', record }));
    const batch = { partition: 0, first, next: first + records.length, entries };
    await callbacks.hear(batch);
    await callbacks.handle(batch);
  };
  return { clock, events, world, lookups, callbacks, read, failures };
}

function nothingKept(): Kept {
  return { applied: 0, bids: new Map(), rows: new Map(), appended: [], details: [] };
}

const keysOf = (kept: Kept) => kept.appended.map(({ key }) => key);

test('a known bid: its winner event is written to its request, once', async () => {
  const kept = { ...nothingKept(), bids: new Map([['ours', 'r1']]) };
  const { read } = setUp(kept);
  await read(0, contemplated('ours'));
  assert.deepEqual(keysOf(kept), ['r1']);
  assert.deepEqual(kept.appended[0]!.record, { ...contemplated('ours'), requestId: 'r1' });
  assert.equal(kept.applied, 1);
});

test('a bid that was taken outside is found by the code of its call and by its own id', async () => {
  const record = { ...answered({ kind: 'accepted-outside', bidId: 'bid' }), codes: ['call'] };
  assert.deepEqual(bidsNamedIn(record), ['bid', 'call']);
  assert.deepEqual(bidsNamedIn({ ...answered({ kind: 'duplicate' }), codes: ['call'] }), ['call']);
  const kept = nothingKept();
  const { callbacks, read } = setUp(kept);
  await read(0, contemplated('call'));
  kept.bids.set('call', requestId);
  await callbacks.bidsKnown(bidsNamedIn(record));
  assert.deepEqual(keysOf(kept), [requestId]);
});

test('a winner event under a code that nobody knows is told after a minute, once, with its code', async () => {
  const { clock, events, callbacks, read } = setUp(nothingKept());
  await read(0, contemplated('unheard-of'));
  await clock.advance(50_000);
  assert.equal(events.length, 0);
  await clock.advance(20_000);
  assert.equal(events.length, 1);
  const event = events[0];
  assert.ok(event?.kind === 'alarm' && event.code === 'winner-unknown' && event.text?.includes('unheard-of'));
  await clock.advance(600_000);
  assert.equal(events.length, 1);
  callbacks.close();
});

test('the proposal is found by the code in its content too, and given to its request once', async () => {
  const told: CallbackRecord = {
    ...{ kind: 'proposed', at, requestCode: 'unheard-of', proposalCode: 'bid', proposalNumber: '7', validUntil: null },
    ...{ message: null, errors: [] },
  };
  const known = { ...nothingKept(), bids: new Map([['bid', 'r1']]) };
  await setUp(known).read(0, told);
  assert.deepEqual(keysOf(known), ['r1']);
  const kept = nothingKept();
  const { callbacks, read } = setUp(kept);
  await read(0, told);
  assert.equal(kept.applied, 0);
  kept.bids.set('bid', 'r1');
  await callbacks.bidsKnown(['bid', 'unheard-of']);
  await callbacks.bidsKnown(['unheard-of']);
  assert.deepEqual([keysOf(kept), kept.applied], [['r1'], 1]);
});

test('before its bid is known it waits, and progress waits with it', async () => {
  const kept = nothingKept();
  const { callbacks, read } = setUp(kept);
  await read(0, { kind: 'link-detail', at, requestCode: null, detail: sampleLink, sealed: '' }, contemplated('ours'));
  await read(2, contemplated('later'));
  assert.deepEqual(keysOf(kept), []);
  assert.deepEqual(kept.details, [sampleLink]);
  assert.equal(kept.applied, 1);
  kept.bids.set('ours', 'r1');
  await callbacks.bidsKnown(['ours', 'unheard-of']);
  assert.deepEqual(keysOf(kept), ['r1']);
  assert.equal(kept.applied, 2);
  kept.bids.set('later', 'r2');
  await callbacks.bidsKnown(['later']);
  await callbacks.bidsKnown(['later', 'ours']);
  assert.deepEqual(keysOf(kept), ['r1', 'r2']);
  assert.equal(kept.applied, 3);
});

test('whoever waits for a query is told of its errors, and of an answer that cannot be read', async () => {
  const event = { kind: 'operation-event', at, endpoint: '/trabalhador/consultar-dados-vinculo', sealed: '' } as const;
  const { read, failures } = setUp(nothingKept());
  await read(
    0,
    { ...event, requestCode: 'failed', errors: ['AUT-01'] },
    { ...event, requestCode: 'unread', errors: [], unread: true },
    { ...event, requestCode: 'done', errors: [] },
  );
  assert.deepEqual(failures, ['failed', 'unread']);
});

test('a detail that may be of two links is kept under both keys', async () => {
  const kept = nothingKept();
  const { read } = setUp(kept);
  const both = {
    kind: 'link-detail',
    at,
    requestCode: null,
    detail: sampleLink,
    otherLinkKey: 'other',
    sealed: '',
  } as const;
  await read(0, both);
  assert.deepEqual(kept.details, [sampleLink, { ...sampleLink, linkKey: 'other' }]);
});

test('after a restart an orphan is read again and told once', async () => {
  const kept = nothingKept();
  await setUp(kept).read(0, contemplated('ours'));
  assert.equal(kept.applied, 0);
  const { callbacks, read } = setUp(kept);
  await read(0, contemplated('ours'));
  // The same batch twice, as a consumer that began again delivers it.
  await read(0, contemplated('ours'));
  kept.bids.set('ours', 'r1');
  await callbacks.bidsKnown(['ours']);
  assert.deepEqual(keysOf(kept), ['r1']);
  assert.equal(kept.applied, 1);
});

test('a fault while it is given to its request is waited out', async () => {
  const kept = nothingKept();
  const { clock, callbacks, events, read, world } = setUp(kept);
  await read(0, contemplated('ours'));
  kept.bids.set('ours', 'r1');
  world.failures = 2;
  const known = callbacks.bidsKnown(['ours']);
  await clock.advance(200);
  await known;
  assert.deepEqual(keysOf(kept), ['r1']);
  assert.equal(events.filter(({ kind }) => kind === 'fault').length, 2);
});

test('until it is durable with its request, progress does not pass it', async () => {
  const kept = nothingKept();
  const { callbacks, clock, read, world } = setUp(kept);
  await read(0, contemplated('ours'));
  kept.bids.set('ours', 'r1').set('second', 'r2');
  const slow = Promise.withResolvers<boolean>();
  world.isKept = slow.promise;
  const known = callbacks.bidsKnown(['ours']);
  await clock.settle();
  world.isKept = Promise.resolve(true);
  await read(1, contemplated('second'));
  assert.deepEqual([keysOf(kept), kept.applied], [['r2'], 0], 'a crash now has to find the first event again');
  slow.resolve(true);
  await known;
  assert.deepEqual([keysOf(kept), kept.applied], [['r2', 'r1'], 2]);
});

test('one that a stop kept from the log is not dealt with', async () => {
  const kept = { ...nothingKept(), bids: new Map([['second', 'r2']]) };
  const { callbacks, read, world } = setUp(kept);
  await read(0, contemplated('ours'));
  kept.bids.set('ours', 'r1');
  world.isKept = Promise.resolve(false);
  await callbacks.bidsKnown(['ours']);
  await read(1, contemplated('second'));
  assert.deepEqual([keysOf(kept), kept.applied], [[], 0]);
});

test('a bid that stays unknown is given up with an alarm', async () => {
  const kept = nothingKept();
  const { clock, events, read } = setUp(kept);
  await read(0, contemplated('nobody'));
  await clock.advance(settings.graceMs);
  await read(1);
  assert.equal(kept.applied, 1);
  const [told, givenUp] = events;
  assert.ok(told?.kind === 'alarm' && told.text !== undefined);
  assert.deepEqual(givenUp, { kind: 'alarm', code: 'winner-unknown', requestId: null });
});

test('no bid counts as unknown before the log is folded, however old the event is', async () => {
  const kept = nothingKept();
  const { clock, events, callbacks, read, world } = setUp(kept);
  await clock.advance(2 * settings.graceMs);
  world.isCatchingUp = true;
  await read(0, contemplated('ours'));
  await read(1);
  await clock.advance(120_000);
  assert.deepEqual([kept.applied, events], [0, []]);
  kept.bids.set('ours', requestId);
  world.isCatchingUp = false;
  // Not looked for again yet: what was looked for in half of the rows says nothing.
  await read(1);
  assert.equal(kept.applied, 0);
  await clock.advance(60_000);
  assert.deepEqual([keysOf(kept), kept.applied], [[requestId], 1]);
  assert.ok(events.every(({ kind }) => kind !== 'alarm'));
  callbacks.close();
});

/** Many events at once, in batches as the log hands them on. */
async function readMany(read: ReturnType<typeof setUp>['read'], events: readonly CallbackRecord[]): Promise<void> {
  for (let first = 0; first < events.length; first += 50) await read(first, ...events.slice(first, first + 50));
}

test('an event of an unknown bid that is sent 40,000 times is kept once, in linear time', async () => {
  const kept = nothingKept();
  const { callbacks, events, read } = setUp(kept);
  const startedAt = performance.now();
  await readMany(
    read,
    Array.from({ length: 40_000 }, (_, index) => ({ ...contemplated('nobody'), at: at + index })),
  );
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 4_000, `${Math.round(tookMs)} ms`);
  kept.bids.set('nobody', 'r1');
  await callbacks.bidsKnown(['nobody']);
  assert.deepEqual([keysOf(kept), kept.applied, events.filter(({ kind }) => kind === 'alarm')], [['r1'], 40_000, []]);
});

test('of events of one unknown bid that all differ the first and the last few are kept, the others given up aloud', async () => {
  const kept = nothingKept();
  const { callbacks, events, read } = setUp(kept);
  await readMany(
    read,
    Array.from({ length: 1_000 }, (_, index) => ({ ...contemplated('nobody'), message: `${index}` }) as CallbackRecord),
  );
  kept.bids.set('nobody', 'r1');
  await callbacks.bidsKnown(['nobody']);
  const told = kept.appended.map(({ record }) => ('message' in record ? record.message : null));
  assert.deepEqual(told, ['0', '1', '2', '3', '996', '997', '998', '999']);
  assert.equal(events.filter(({ kind }) => kind === 'alarm').length, 992);
});

test('events of very many unknown bids: what is kept and what is looked for at once have a limit', async () => {
  const kept = nothingKept();
  const { clock, events, lookups, read } = setUp(kept);
  const startedAt = performance.now();
  await readMany(
    read,
    Array.from({ length: 30_000 }, (_, index) => contemplated(`nobody ${index}`)),
  );
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 4_000, `${Math.round(tookMs)} ms`);
  assert.equal(events.filter(({ kind }) => kind === 'alarm').length, 10_000);
  assert.equal(kept.applied, 10_000, 'what is waited for is read again after a restart, and no more');
  // Known without this process having read who is named: found by looking again, in a round.
  kept.bids.set('nobody 29999', 'r1');
  lookups.length = 0;
  for (let turn = 0; turn < 21; turn += 1) await clock.advance(2_000);
  assert.ok(Math.max(...lookups) <= 1_000, `${Math.max(...lookups)} bids looked for at once`);
  assert.deepEqual(keysOf(kept), ['r1']);
});

/** A bid for each: its request, and what became of it. */
function rowsOf(phases: Readonly<Record<string, [exposure: RequestState['exposure'], resolved?: 'contemplated']>>) {
  return new Map(
    Object.entries(phases).map(([id, [exposure, as]]): [string, LedgerRow] => {
      const resolution = as === undefined ? null : { as, by: 'ana', reason: 'the portal says so', at };
      const state = { ...folded(requested(), claimed(), answered(accepted)), requestId: id, exposure, resolution };
      return [id, { state, reservation: 'held', hadRoom: true }];
    }),
  );
}

test('an event under a code that the bids of two requests have is kept with both, and is of neither', async () => {
  const kept = { ...nothingKept(), bids: new Map([['same', 'r1 r2']]), rows: rowsOf({ r1: ['held'], r2: ['held'] }) };
  const { events, read } = setUp(kept);
  await read(0, contemplated('same'));
  assert.deepEqual(
    kept.appended.map(({ record }) => record),
    [
      { ...contemplated('same'), requestId: 'r1', sharedWith: ['r2'] },
      { ...contemplated('same'), requestId: 'r2', sharedWith: ['r1'] },
    ],
  );
  assert.equal(kept.applied, 1);
  assert.deepEqual(
    events.filter(({ kind }) => kind === 'alarm'),
    [],
  );
});

const whose = async (change: Partial<Kept>, event: CallbackRecord) => {
  const kept = { ...nothingKept(), ...change };
  await setUp(kept).read(0, event);
  return keysOf(kept);
};

test('of the requests that have a code, one is left: the bids of others stand no longer, or somebody has said which', async () => {
  const bids = new Map([['same', 'r1 r2 r3']]);
  const rows = rowsOf({ r1: ['released'], r2: ['committed'], r3: ['none'] });
  assert.deepEqual(await whose({ bids, rows }, contemplated('same')), ['r2']);
  const said = rowsOf({ r1: ['committed', 'contemplated'], r2: ['held'], r3: ['held'] });
  assert.deepEqual(await whose({ bids, rows: said }, contemplated('same')), ['r1']);
  const cancelled = rowsOf({ r1: ['released', 'contemplated'], r2: ['held'], r3: ['held'] });
  assert.deepEqual(await whose({ bids, rows: cancelled }, contemplated('same')), ['r2', 'r3']);
  const over = rowsOf({ r1: ['released'], r2: ['released'], r3: ['none'] });
  assert.deepEqual(await whose({ bids, rows: over }, contemplated('same')), ['r1', 'r2', 'r3']);
});

test('where eight requests have a code, others may have it too: what is left of the eight decides nothing', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `r${index}`);
  const rows = rowsOf(Object.fromEntries(names.map((name) => [name, name === 'r3' ? ['held'] : ['released']])));
  assert.deepEqual(await whose({ bids: new Map([['same', names.join(' ')]]), rows }, contemplated('same')), names);
});

test('the code in the content says whose the proposal is, where that of the call names several', async () => {
  const bids = new Map([
    ['same', 'r1 r2'],
    ['own', 'r2'],
    ['of another', 'r3'],
  ]);
  const rows = rowsOf({ r1: ['held'], r2: ['held'], r3: ['held'] });
  const told = (proposalCode: string): CallbackRecord => ({
    ...{ kind: 'proposed', at, requestCode: 'same', proposalCode, proposalNumber: '7', validUntil: null },
    ...{ message: null, errors: [] },
  });
  assert.deepEqual(await whose({ bids, rows }, told('own')), ['r2']);
  assert.deepEqual(await whose({ bids, rows }, told('of another')), ['r1', 'r2']);
  assert.deepEqual(await whose({ bids, rows }, told('unheard-of')), ['r1', 'r2']);
});

test('an answer with the code of another bid that stands raises one alarm, which names both requests', async () => {
  const kept = { ...nothingKept(), bids: new Map([['ours', 'r1 r2']]), rows: rowsOf({ r1: ['held'], r2: ['held'] }) };
  const { callbacks, events, read } = setUp(kept);
  await callbacks.acknowledged([{ ...answered(accepted), requestId: 'r2' }]);
  await read(0, contemplated('ours'));
  const [alarm, ...others] = events.filter((event) => event.kind === 'alarm');
  assert.deepEqual([alarm?.code, alarm?.requestId, others], ['code-shared', 'r2', []]);
  assert.deepEqual(alarm?.sharedWith, ['r1']);
  assert.match(alarm?.text ?? '', /another bid as well \(sharedWith\)/);
  kept.rows = rowsOf({ r1: ['released'], r2: ['held'] });
  events.length = 0;
  await callbacks.acknowledged([{ ...answered(accepted), requestId: 'r2' }]);
  assert.deepEqual(events, []);
});

test('an event that cannot be read freezes every request that has its code', async () => {
  const kept = { ...nothingKept(), bids: new Map([['k', 'r1 r2']]) };
  const { read } = setUp(kept);
  await read(0, { kind: 'unreadable', at, requestCode: null, problem: 'not JSON' });
  assert.deepEqual(keysOf(kept), ['r1', 'r2']);
});
