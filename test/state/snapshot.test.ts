/** A snapshot shows a partition as of one moment while it is folded on; put back, the partition goes on from there. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { callbackPartition, type Snapshots, type ViewChange, type Views } from '../../src/bidding/ports.ts';
import { Fault } from '../../src/errors.ts';
import { piecesOf } from '../../src/state/snapshot.ts';
import { createSnapshotSchedule } from '../../src/state/snapshot-schedule.ts';
import type { PartitionState, StateStoreOptions } from '../../src/state/state-store.ts';
import { createManualClock } from '../bidding/manual-clock.ts';
import { eventually } from '../conformance/backend.ts';
import { stateOf } from '../conformance/samples.ts';
import { createSnapshotsInMemory } from './snapshots-in-memory.ts';
import { createPlace, endlessLog, openStore, pathIn } from './state-store.ts';

const at = 1_763_700_000_000;
const pieceBytes = 50_000;
const caps = [{ keys: ['day'], limitAmountCents: null, limitCount: null }];

/** Ten requests a record, about 20 kB. */
function changesOf(offset: number, round: number): ViewChange[] {
  return Array.from({ length: 10 }, (_, place): ViewChange[] => {
    const requestId = `r${(offset % 100) * 10 + place}`;
    const state = { ...stateOf(requestId, 'claimed', at + offset), sealed: 'x'.repeat(2_000), repeats: round };
    return [
      { kind: 'state', state, open: place < 2, bidIds: [`bid ${requestId}`] },
      { kind: 'reserve', requestId, at, amountCents: 100, caps, expiresAt: at + 1_000, force: true },
    ];
  }).flat();
}

async function foldTo(views: Views, end: number): Promise<void> {
  for (let first = await views.applied(0); first < end; first += 1) {
    const changes = changesOf(first, Math.floor(first / 100));
    assert.equal((await views.apply({ partition: 0, first, next: first + 1, changes })).kind, 'applied');
  }
}

async function pictureOf(views: Views): Promise<unknown> {
  const rows = await views.query({ phase: null, limit: 2_000, before: null });
  return {
    applied: await views.applied(0),
    rows: rows.map(({ state, reservation }) => [state.requestId, state.repeats, reservation]),
    open: (await views.open(0)).map(({ applied, rows }) => [applied, rows.length]),
    usage: (await views.usage(['day'], at)).get('day'),
    bid: [...(await views.findByBid(['bid r7']))],
  };
}

async function* given(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

/** Snapshots that hold this one copy of partition 0. */
function holding(applied: number, pieces: readonly Buffer[]): Pick<Snapshots, 'readLatest'> {
  return {
    readLatest: async (partition) =>
      partition === 0 ? { foldVersion: null, applied, takenAt: at, pieces: given(pieces) } : null,
  };
}

async function withState<R>(
  place: string,
  over: Partial<StateStoreOptions>,
  run: (state: PartitionState) => Promise<R>,
): Promise<R> {
  const store = await openStore(place, over);
  try {
    return await run(await store.open(0, endlessLog()));
  } finally {
    await store.close();
  }
}

/** What a store shows that has nothing of its own but this snapshot. */
function restored(applied: number, pieces: readonly Buffer[], over: Partial<StateStoreOptions> = {}) {
  return withState(createPlace(), { snapshots: holding(applied, pieces), ...over }, ({ views }) => pictureOf(views));
}

const empty = { applied: 0, rows: [], open: [[0, 0]], usage: { amountCents: 0, count: 0 }, bid: [] };

const nobody = () => assert.fail('no snapshot');

/** `between` hears how many pieces there are so far. */
async function taken(state: PartitionState, between: (pieces: number) => Promise<void> = async () => {}) {
  const pieces: Buffer[] = [];
  const applied = await state.takeSnapshot(pieceBytes, async (copy) => {
    for await (const piece of copy.pieces) {
      pieces.push(piece);
      await between(pieces.length);
    }
  });
  return { applied, pieces };
}

test('folding goes on while a snapshot is taken, and shows in nothing of it', () =>
  withState(createPlace(), {}, async (state) => {
    await foldTo(state.views, 100);
    const then = await pictureOf(state.views);
    const { applied, pieces } = await taken(state, async (count) => {
      if (count > 6) return;
      assert.equal(await state.takeSnapshot(pieceBytes, nobody), null, 'one at a time');
      // More than is copied back into the file at once, were it not held.
      await foldTo(state.views, 100 + 100 * count);
      await state.flush();
    });
    assert.equal(applied, 100);
    assert.ok(pieces.length > 20 && pieces.every((piece) => piece.length <= pieceBytes), `${pieces.length} pieces`);
    const now = await pictureOf(state.views);
    assert.notDeepEqual(now, then);
    assert.deepEqual(await restored(100, pieces), then);
    const next = await taken(state);
    assert.equal(next.applied, 700);
    assert.deepEqual(await restored(700, next.pieces), now);
  }));

test('a partition that is closed while its snapshot is taken leaves no snapshot', async () => {
  const store = await openStore(createPlace());
  const state = await store.open(0, endlessLog());
  await foldTo(state.views, 100);
  const kept = createSnapshotsInMemory();
  const applied = await state.takeSnapshot(pieceBytes, (copy) =>
    kept.write(0, { ...copy, takenAt: at, pieces: closingAfter(copy.pieces, 3, state) }),
  );
  assert.equal(applied, null);
  assert.equal(await kept.readLatest(0, 4), null);
  const again = await store.open(0, endlessLog());
  assert.equal((await taken(again)).applied, 100);
  await store.close();
});

test('while somebody else reads the file no snapshot is taken, and the next one is', async () => {
  const place = createPlace();
  await withState(place, {}, async (state) => {
    await foldTo(state.views, 50);
    await state.flush();
    // As lance views verify does beside a running desk.
    const reading = new DatabaseSync(pathIn(place), { readOnly: true });
    reading.exec('BEGIN');
    reading.prepare('SELECT count(*) FROM ledger').get();
    await foldTo(state.views, 100);
    await assert.rejects(taken(state), { name: 'Fault', code: 'views-unavailable', message: /read by somebody else/ });
    reading.exec('COMMIT');
    reading.close();
    assert.equal((await taken(state)).applied, 100);
  });
});

test('a file that is written to again gives no further piece, and never the hash', async () => {
  let isHeld = true;
  const bytes = Buffer.alloc(100, 7);
  const file = {
    stat: async () => ({ size: bytes.length }),
    read: async (piece: Buffer, _from: number, length: number, at: number) => ({
      bytesRead: bytes.copy(piece, 0, at, at + length),
    }),
  } as unknown as FileHandle;
  const origin = { foldVersion: 1, genesis: 'g', partition: 0, applied: 5, lastHash: 'h' };
  const pieces = () => piecesOf(file, { origin, pieceBytes: 40, isHeld: () => isHeld });
  const all = await Array.fromAsync(pieces());
  assert.deepEqual(
    all.map(({ length }) => length),
    [all[0]!.length, 40, 40, 20, 32],
  );
  const given: Buffer[] = [];
  await assert.rejects(
    async () => {
      for await (const piece of pieces()) {
        given.push(piece);
        isHeld = given.length < 3;
      }
    },
    { code: 'views-unavailable' },
  );
  assert.deepEqual(given, all.slice(0, 3));
});

async function* closingAfter(pieces: AsyncIterable<Buffer>, count: number, { close }: PartitionState) {
  let given = 0;
  for await (const piece of pieces) {
    yield piece;
    given += 1;
    if (given === count) await close();
  }
}

test('a partition is taken up from the newest of its file and its snapshot, unless that is only a little ahead', async () => {
  const ahead = await withState(createPlace(), {}, async (state) => {
    await foldTo(state.views, 60);
    return taken(state);
  });
  const place = createPlace();
  const reached = (snapshotAheadRecords: number) =>
    withState(place, { snapshots: holding(60, ahead.pieces), snapshotAheadRecords }, async ({ origin, views }) => {
      assert.equal(await views.applied(0), origin.applied);
      return origin.applied;
    });
  await withState(place, {}, ({ views }) => foldTo(views, 50));
  assert.equal(await reached(11), 50);
  const restoring: number[] = [];
  const onRestoring = (_partition: number, bytes: number) => restoring.push(bytes);
  const snapshots = holding(60, ahead.pieces);
  const applied = await withState(place, { snapshots, snapshotAheadRecords: 10, onRestoring }, async (state) => {
    await foldTo(state.views, 61);
    return state.origin.applied;
  });
  assert.equal(applied, 60);
  assert.equal(
    restoring.at(-1),
    ahead.pieces.slice(1, -1).reduce((sum, { length }) => sum + length, 0),
  );
  assert.equal(await reached(1), 61, 'its own file is the newest now');
  assert.ok(!existsSync(`${pathIn(place)}.restoring`));
});

test('a snapshot that is torn, changed or of another form is not taken for the partition', async () => {
  const { pieces } = await withState(createPlace(), {}, async (state) => {
    await foldTo(state.views, 30);
    return taken(state);
  });
  const changed = pieces.map((piece) => Buffer.from(piece));
  changed[3]![100]! ^= 1;
  const unusable = { code: 'views-unavailable', message: /snapshot of the views cannot be used/ };
  await assert.rejects(restored(30, changed), unusable);
  await assert.rejects(restored(30, pieces.slice(0, -1)), unusable);
  await assert.rejects(restored(30, pieces.slice(0, 3)), unusable);
  await assert.rejects(restored(30, [...pieces.slice(0, -1), pieces[1]!, pieces.at(-1)!]), unusable);
  assert.deepEqual(await restored(30, [Buffer.from('[1,[["HSET","rows",2,"x"]]]'), ...pieces]), empty);
  assert.deepEqual(await restored(30, []), empty);
  const place = createPlace();
  async function* broken() {
    yield* pieces.slice(0, 4);
    throw new Fault('log-unavailable', 'the broker went away');
  }
  const latest = async () => ({ foldVersion: null, applied: 30, takenAt: at, pieces: broken() });
  const opening = withState(place, { snapshots: { readLatest: latest } }, ({ views }) => pictureOf(views));
  await assert.rejects(opening, { code: 'log-unavailable' });
  assert.ok(!existsSync(`${pathIn(place)}.restoring`));
  assert.deepEqual(await withState(place, {}, ({ views }) => pictureOf(views)), empty);
});

test('a snapshot of another log is not used; one that the log contradicts is refused', async () => {
  const { pieces } = await withState(createPlace(), {}, async (state) => {
    await foldTo(state.views, 30);
    return taken(state);
  });
  const discarded: string[] = [];
  const open = async (log: Parameters<typeof endlessLog>[0]) => {
    const onDiscarded = (_partition: number, reason: string) => discarded.push(reason);
    const store = await openStore(createPlace(), { snapshots: holding(30, pieces), onDiscarded });
    try {
      return (await store.open(0, endlessLog(log))).origin.applied;
    } finally {
      await store.close();
    }
  };
  assert.equal(await open({ genesis: 'another' }), 0);
  assert.match(discarded.join(), /latest snapshot: it is of another log/);
  assert.equal(await open({}), 30);
  await assert.rejects(open({ extent: async () => ({ first: 0, end: 29 }) }), { code: 'store-set-back' });
  await assert.rejects(open({ hashAt: async () => 'another' }), { code: 'store-set-back' });
});

test('of a snapshot of another fold what was dealt with of callbacks stays', async () => {
  const stream = callbackPartition(0);
  const { pieces } = await withState(createPlace(), {}, async (state) => {
    await foldTo(state.views, 30);
    await state.views.apply({ partition: stream, first: 0, next: 7, changes: [] });
    return taken(state);
  });
  const head = JSON.parse(pieces[0]!.toString());
  const places = async (origin: object, place = createPlace()) => {
    const changed = [
      Buffer.from(JSON.stringify({ ...head, origin: { ...head.origin, ...origin } })),
      ...pieces.slice(1),
    ];
    const over = { snapshots: holding(30, changed), onDiscarded: () => undefined };
    return withState(place, over, async ({ views }) => [await views.applied(0), await views.applied(stream)]);
  };
  const foldVersion = head.origin.foldVersion - 1;
  assert.deepEqual(await places({ foldVersion }), [0, 7]);
  assert.deepEqual(await places({ foldVersion, places: undefined }), [0, 0], 'an earlier version took it');
  assert.deepEqual(await places({ foldVersion, genesis: 'another' }), [0, 0]);
  const place = createPlace();
  await withState(place, {}, ({ views }) => views.apply({ partition: stream, first: 0, next: 9, changes: [] }));
  assert.deepEqual(await places({ foldVersion }, place), [0, 9], 'its own file is further');
});

test('snapshots are taken by time and by number of records, and one that fails leaves the one before', () =>
  withState(createPlace(), {}, async (state) => {
    const clock = createManualClock(at);
    const kept = createSnapshotsInMemory();
    const taken: number[] = [];
    const faults: string[] = [];
    let broken = false;
    const schedule = createSnapshotSchedule({
      partitions: () => new Map([[0, state]]),
      snapshots: {
        write: async (partition, copy) => {
          if (broken) throw new Fault('log-unavailable', 'the broker is away');
          await kept.write(partition, copy);
        },
      },
      clock,
      terms: { everyMs: 60_000, everyRecords: 20, lookMs: 1_000, pieceBytes },
      onTaken: (_partition, applied) => taken.push(applied),
      onFault: ({ code }) => faults.push(code),
    });
    const look = async (times: number) => {
      for (let time = 0; time < times; time += 1) {
        await eventually(() => clock.pending() > 0);
        await clock.advance(1_000);
      }
      await eventually(() => clock.pending() > 0);
    };
    schedule.start();
    await look(2);
    assert.deepEqual(taken, [], 'nothing was folded');
    await foldTo(state.views, 19);
    await look(2);
    assert.deepEqual(taken, [], 'too early, and too few');
    await foldTo(state.views, 20);
    await look(1);
    assert.deepEqual(taken, [20]);
    await foldTo(state.views, 21);
    broken = true;
    await look(61);
    assert.ok(faults.length > 0 && faults.every((code) => code === 'log-unavailable'));
    assert.equal((await kept.readLatest(0, 4))?.applied, 20);
    broken = false;
    await look(1);
    assert.deepEqual(taken, [20, 21]);
    await look(61);
    assert.deepEqual(taken, [20, 21], 'nothing new');
    await schedule.stop();
    const pieces = await Array.fromAsync((await kept.readLatest(0, 4))!.pieces);
    assert.deepEqual(await restored(21, pieces), await pictureOf(state.views));
  }));
