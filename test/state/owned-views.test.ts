/** The views of several partitions as one: what is put together, what is added up, what is missing, and partitions that come and go. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callbackPartition, cursorOf, type ViewChange } from '../../src/bidding/ports.ts';
import { createCapBook } from '../../src/domain/cap-book.ts';
import { emptyHistogram, foldSums, sumHistograms, timeAlone } from '../../src/domain/histogram.ts';
import { noPartitions } from '../../src/state/own-partitions.ts';
import { stateOf } from '../conformance/samples.ts';
import { createPlace, endlessLog, openOwned } from './state-store.ts';

const at = 1_763_700_000_000;
const hourMs = 3_600_000;

const openOn = (place: string, over: Parameters<typeof openOwned>[2] = {}) =>
  openOwned(place, () => endlessLog(), over);

type Owned = Awaited<ReturnType<typeof openOn>>;

async function fold({ views }: Owned, partition: number, ...changes: ViewChange[]): Promise<void> {
  const first = await views.applied(partition);
  assert.equal((await views.apply({ partition, first, next: first + 1, changes })).kind, 'applied');
}

function state(requestId: string, decidedAt: number): ViewChange {
  return { kind: 'state', state: stateOf(requestId, 'claimed', decidedAt), open: true, bidIds: [`bid ${requestId}`] };
}

function reserve(requestId: string, amountCents: number): ViewChange {
  const caps = [{ keys: ['day'], limitAmountCents: 100, limitCount: null }];
  return { kind: 'reserve', requestId, at, amountCents, caps, expiresAt: at + hourMs, force: false };
}

async function takeAll(owned: Owned): Promise<void> {
  await Promise.all(owned.missing().map(owned.take));
}

const isUnavailable = { code: 'views-unavailable' };

test('rows of all partitions are found, and listed by time whatever their partition', async () => {
  const owned = await openOn(createPlace());
  const { views } = owned;
  await takeAll(owned);
  const names = Array.from({ length: 20 }, (_, place) => `r${place}`);
  for (const [place, name] of names.entries()) await fold(owned, place % 3, state(name, at + ((place * 7) % 20)));
  assert.deepEqual([...(await views.read([...names, 'nobody'])).keys()].sort(), [...names].sort());
  const found = await views.findByBid([...names.map((name) => `bid ${name}`), 'nobody']);
  assert.deepEqual([...found.values()].flat().sort(), [...names].sort());
  const listed: string[] = [];
  for (let before: string | null = null; ; ) {
    const page = await views.query({ phase: 'claimed', limit: 3, before });
    listed.push(...page.map((row) => cursorOf(row.state)));
    if (page.length < 3) break;
    before = listed.at(-1)!;
  }
  assert.equal(listed.length, names.length);
  assert.deepEqual(listed, listed.toSorted().reverse());
  assert.deepEqual((await views.open(1)).flatMap(({ rows }) => rows).length, 7);
  await owned.close();
});

test('what partitions learnt under one key is added up by its half-lives, also after a restart', async () => {
  const place = createPlace();
  const first = await openOn(place);
  await takeAll(first);
  const halfLives = [timeAlone(hourMs), { halfLifeMs: 2 * hourMs, halfLifeResults: 3 }];
  const parts = halfLives.map((each, partition) => ({ ...emptyHistogram(at), halfLives: each, partition }));
  for (const [step, partition] of [0, 1, 1, 0, 1].entries()) {
    const part = parts[partition]!;
    const lesson = { additions: [[300 + step, 1]] as const, at: at + step * 60 * hourMs, halfLives: part.halfLives };
    await fold(first, partition, { kind: 'learn', keys: ['all'], ...lesson });
    if (step < 2) part.landmarkAt = lesson.at;
    foldSums(part, lesson.additions, lesson.at, lesson.halfLives);
  }
  const expected = sumHistograms(parts);
  assert.equal(expected.count, 5);
  assert.deepEqual((await first.views.statistics(['all', 'nothing'])).get('all'), expected);
  // A setting that was changed: the half-life of the last result is the one that counts.
  parts[0]!.halfLives = timeAlone(5 * hourMs);
  const last = { additions: [[7, 1]] as const, at: at + 190 * hourMs, halfLives: parts[0]!.halfLives };
  await fold(first, 0, { kind: 'learn', keys: ['all'], ...last });
  foldSums(parts[0]!, last.additions, last.at, last.halfLives);
  assert.deepEqual((await first.views.statistics(['all'])).get('all'), sumHistograms(parts));
  await first.close();

  const again = await openOn(place);
  await takeAll(again);
  const sum = (await again.views.statistics(['all'])).get('all')!;
  assert.deepEqual(sum, sumHistograms(parts));
  sum.cells[300] = 99;
  assert.deepEqual((await again.views.statistics(['all'])).get('all'), sumHistograms(parts));
  await again.leave(1);
  const alone = (await again.views.statistics(['all'])).get('all')!;
  assert.deepEqual([alone.count, alone.cells], [parts[0]!.count, parts[0]!.cells]);
  await again.close();
});

test('what another process folds is named as missing, and answers nothing else than that', async () => {
  const owned = await openOn(createPlace());
  const { views } = owned;
  assert.deepEqual([owned.missing(), await views.query({ phase: null, limit: 5, before: null })], [[0, 1, 2], []]);
  assert.equal(await owned.take(1), 0);
  assert.deepEqual(owned.missing(), [0, 2]);
  await fold(owned, 1, state('here', at));
  await assert.rejects(views.applied(0), isUnavailable);
  await assert.rejects(views.open(2), isUnavailable);
  await assert.rejects(views.readAt(2, ['here']), isUnavailable);
  await assert.rejects(views.apply({ partition: 0, first: 0, next: 1, changes: [] }), isUnavailable);
  assert.deepEqual([...(await views.read(['here', 'there'])).keys()], ['here']);
  await owned.close();
  assert.deepEqual(owned.missing(), [0, 1, 2]);
});

test('callbacks that were dealt with before there were files are not dealt with again', async () => {
  const place = createPlace();
  const [read, other] = [callbackPartition(1), callbackPartition(2)];
  const owned = await openOn(place, { dealtWith: new Map([[1, 10]]) });
  assert.equal(await owned.views.applied(read), 0, 'for nobody');
  await owned.take(0);
  assert.deepEqual([await owned.views.applied(read), await owned.views.applied(other)], [10, 0]);
  const far = { partition: read, first: 0, next: 12, changes: [] };
  assert.deepEqual(await owned.views.apply(far), { kind: 'out-of-step', applied: 10 });
  assert.equal((await owned.views.apply({ ...far, first: 10 })).kind, 'applied');
  await owned.take(1);
  assert.equal(await owned.views.applied(read), 10, 'what came since is not dealt with for the new one');
  await owned.close();
  const again = await openOn(place);
  await again.take(0);
  assert.equal(await again.views.applied(read), 12);
  await again.close();
});

test('of a request that another process folds nobody says that there is none', async () => {
  const partitionOf = async (requestId: string) => requestId.length % 3;
  const owned = await openOn(createPlace(), { partitionOf });
  await owned.take(1);
  await fold(owned, 1, state('four', at));
  assert.deepEqual([...(await owned.views.read(['four', 'none'])).keys()], ['four']);
  await assert.rejects(owned.views.read(['four', 'three']), isUnavailable);
  assert.equal((await owned.views.read([])).size, 0);
  assert.equal(noPartitions(3).missing!().length, 3);
  await assert.rejects(noPartitions(3).read(['four']), isUnavailable);
  await owned.close();
});

test('a partition that is left is stored before it is taken up again, however fast it comes and goes', async () => {
  const owned = await openOn(createPlace());
  await owned.take(0);
  await fold(owned, 0, state('r', at), reserve('r', 60));
  const before = owned.held().get(0);
  const left = owned.leave(0);
  assert.deepEqual(owned.missing(), [0, 1, 2], 'at once');
  const taken = owned.take(0);
  const leftAgain = owned.leave(0);
  const takenAgain = owned.take(0);
  assert.deepEqual(await Promise.all([left, taken, leftAgain, takenAgain]), [undefined, 1, undefined, 1]);
  assert.notEqual(owned.held().get(0), before);
  assert.equal((await owned.views.read(['r'])).get('r')?.reservation, 'held');
  assert.equal(owned.caps.usage('day', at).amountCents, 60);
  // Whoever kept the old views cannot fold into them any more.
  await assert.rejects(
    before!.views.apply({ partition: 0, first: 1, next: 2, changes: [reserve('x', 1)] }),
    isUnavailable,
  );
  assert.equal(owned.caps.usage('day', at).amountCents, 60);
  assert.equal(await owned.take(0), 1, 'one that is held stays as it is');
  await owned.close();
});

test('a partition that could not be taken up can be, later', async () => {
  let isThere = false;
  const log = endlessLog();
  const extent = async () => {
    if (!isThere) throw new Error('no broker');
    return log.extent();
  };
  const place = createPlace();
  const first = await openOn(place);
  await first.take(0);
  await fold(first, 0, state('r', at));
  await first.close();
  const owned = await openOwned(place, () => ({ ...log, extent }));
  await assert.rejects(owned.take(0));
  assert.deepEqual(owned.missing(), [0, 1, 2]);
  await owned.leave(0);
  isThere = true;
  assert.equal(await owned.take(0), 1);
  await owned.close();
});

test('callbacks are dealt with when they are for every partition held', async () => {
  const place = createPlace();
  const stream = callbackPartition(2);
  const owned = await openOn(place);
  const { views } = owned;
  assert.equal(await views.applied(stream), 0, 'nothing is known where nothing is held');
  await owned.take(0);
  await views.apply({ partition: stream, first: 0, next: 9, changes: [] });
  assert.deepEqual([await views.applied(stream), await views.applied(callbackPartition(0))], [9, 0]);
  await owned.take(1);
  assert.equal(await views.applied(stream), 0, 'they may concern the one that came');
  assert.deepEqual(await views.apply({ partition: stream, first: 9, next: 12, changes: [] }), {
    kind: 'out-of-step',
    applied: 0,
  });
  await views.apply({ partition: stream, first: 0, next: 5, changes: [] });
  assert.equal(await views.applied(stream), 5);
  await owned.leave(1);
  assert.equal(await views.applied(stream), 9, 'what the other one knew is not forgotten');
  await owned.take(1);
  await views.apply({ partition: stream, first: 5, next: 12, changes: [] });
  await owned.close();

  const again = await openOn(place);
  await Promise.all([again.take(0), again.take(1)]);
  assert.equal(await again.views.applied(stream), 12);
  await again.close();
});

test('caps that do not cover every partition give no verdict', async () => {
  const owned = await openOn(createPlace(), { caps: { ...createCapBook(), complete: false } });
  const { views } = owned;
  await Promise.all([owned.take(0), owned.take(1)]);
  const changes = [state('r', at), reserve('r', 60), reserve('s', 60)];
  const apply = await views.apply({ partition: 0, first: 0, next: 1, changes });
  // Which partitions are held here must not say what the fold makes of a record.
  assert.deepEqual(apply, { kind: 'applied', refused: [], whole: false });
  assert.deepEqual((await views.usage(['day'], at)).get('day'), { amountCents: 120, count: 2 });
  assert.equal(await views.wholeUsage(['day'], at), null);
  assert.equal(await views.areWhole(async () => new Map()), false);
  assert.equal((await views.read(['r'])).get('r')?.hadRoom, false);
  await owned.leave(0);
  assert.deepEqual((await views.usage(['day'], at)).get('day'), { amountCents: 0, count: 0 });
  await owned.close();
});
