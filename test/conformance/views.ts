/** What any views must do: fold each batch once and whole, and say the same after a crash, a restart or a rebuild. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createLedger } from '../../src/bidding/ledger.ts';
import { callbackPartition, cursorOf, type ViewBatch, type ViewChange } from '../../src/bidding/ports.ts';
import { decayFactor, foldSums, timeAlone } from '../../src/domain/histogram.ts';
import type { AuctionRecord, FoldTerms } from '../../src/domain/records.ts';
import { isSettled } from '../../src/domain/states.ts';
import { effectsOf, publishedAdditions, publishedHalfLives } from '../../src/pricing/additive.ts';
import { accepted, answered, bid, claimed, contemplated, ended, requested, settings } from '../bidding/parts.ts';
import { otherTerms, withTerms } from '../bidding/terms.ts';
import { rowsAt, type ViewsKind, withBackend } from './backend.ts';
import { stateOf } from './samples.ts';
import { createViewsModel, type ModelRow, type ViewsModel } from './views-model.ts';
import { testWindowViews } from './window-caps.ts';

const at = 1_763_700_000_000;
const minuteMs = 60_000;
const ids = ['1', '2', '3', '10000000000000000001', 'x'];
const capKeys = ['day|a', 'day|b', 'desk|hour-1', 'desk|hour-2', 'desk|6h-1'];
const statisticKeys = ['*', '*/A', '*/B'];
const bidIds = ['b1', 'b2', 'b3'];
const phases = ['requested', 'claimed', 'won', 'lost'] as const;
const times = fc.integer({ min: 0, max: 20 }).map((step) => at + step * 30_000);

const caps = fc.array(
  fc.record({
    keys: fc.array(fc.constantFrom(...capKeys), { minLength: 1, maxLength: 3 }),
    limitAmountCents: fc.option(fc.integer({ min: 0, max: 300 })),
    limitCount: fc.option(fc.integer({ min: 0, max: 3 })),
  }),
  { maxLength: 3 },
);
const requestIds = fc.constantFrom(...ids);
const changes: fc.Arbitrary<ViewChange> = fc.oneof(
  fc
    .record({
      requestId: requestIds,
      phase: fc.constantFrom(...phases),
      decidedAt: fc.option(times),
      open: fc.boolean(),
      bidIds: fc.uniqueArray(fc.constantFrom(...bidIds), { maxLength: 2 }),
    })
    .map(({ requestId, phase, decidedAt, open, bidIds }) => ({
      kind: 'state' as const,
      state: stateOf(requestId, phase, decidedAt),
      open,
      bidIds,
    })),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      requestId: requestIds,
      at: times,
      amountCents: fc.integer({ min: 1, max: 150 }),
      caps,
      expiresAt: times,
      force: fc.integer({ min: 0, max: 3 }).map((number) => number === 0),
    }),
  },
  fc.record({ kind: fc.constant('release' as const), requestId: requestIds }),
  fc.record({ kind: fc.constant('commit' as const), requestId: requestIds, expiresAt: times }),
  fc.record({
    kind: fc.constant('count-under' as const),
    requestId: requestIds,
    keys: fc.uniqueArray(fc.constantFrom(...capKeys), { maxLength: 3 }),
    expiresAt: times,
  }),
  fc.record({
    kind: fc.constant('learn' as const),
    keys: fc.uniqueArray(fc.constantFrom(...statisticKeys), { minLength: 1 }),
    additions: fc.array(fc.tuple(fc.integer({ min: 0, max: 997 }), fc.constantFrom(1, -0.25, 0.0625)), {
      minLength: 1,
      maxLength: 4,
    }),
    at: fc.oneof(times, fc.constant(at + 400 * 86_400_000)),
    halfLives: fc.record({
      halfLifeMs: fc.constantFrom(86_400_000, Number.POSITIVE_INFINITY),
      halfLifeResults: fc.constantFrom(0.05, 100, Number.POSITIVE_INFINITY),
    }),
  }),
);

type Step =
  | { kind: 'apply'; length: number; changes: ViewChange[] }
  | { kind: 'again' | 'ahead' | 'look' | 'restart' | 'crash' | 'burn' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('apply' as const),
        length: fc.integer({ min: 1, max: 9 }),
        changes: fc.array(changes, { maxLength: 6 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.constantFrom<Step>({ kind: 'again' }, { kind: 'ahead' }, { kind: 'look' }),
    },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: 'restart' }, { kind: 'crash' }, { kind: 'burn' }) },
  ),
  { minLength: 5, maxLength: 25 },
);

type Store = Awaited<ReturnType<ViewsKind['open']>>;

/** Here nothing was acted on that a loss could make forget: the views are whole as far as they are. */
async function openWhole(kind: ViewsKind, place: string): Promise<Store> {
  const backend = await kind.open(place);
  assert.equal(await backend.views.areWhole(async () => new Map([[0, 0]])), true);
  return backend;
}

function withWholeViews(kind: ViewsKind, run: (backend: Store) => Promise<void>): Promise<void> {
  return withBackend({ ...kind, open: (place) => openWhole(kind, place) }, run);
}

const plain = ({ state, reservation }: ModelRow): ModelRow => ({ state, reservation });

const byId = (rows: readonly ModelRow[]) =>
  new Map(
    [...rows]
      .sort((a, b) => (a.state.requestId < b.state.requestId ? -1 : 1))
      .map((row) => [row.state.requestId, plain(row)]),
  );

/** What is open, with the rows that were left for later, all of which are settled and none of which came at once. */
async function openRows(views: Store['views'], applied: number): Promise<ModelRow[]> {
  const pages = await views.open(0);
  const atOnce = await rowsAt(Promise.resolve(pages), applied);
  const later = pages.flatMap((page) => page.later ?? []);
  const left = await rowsAt(views.readAt(0, later), applied);
  assert.deepEqual(left.map(({ state }) => state.requestId).sort(), [...later].sort());
  assert.ok(left.every(({ state }) => isSettled(state.phase)));
  assert.equal(new Set([...atOnce, ...left].map(({ state }) => state.requestId)).size, atOnce.length + left.length);
  if (later.length > 0) assert.ok(atOnce.every(({ state }) => !isSettled(state.phase)));
  return [...atOnce, ...left];
}

async function assertSame({ views }: Store, model: ViewsModel): Promise<void> {
  assert.equal(await views.applied(0), model.applied());
  const read = await views.read([...ids, 'nobody']);
  assert.deepEqual(byId([...read.values()]), byId(model.rows()));
  assert.deepEqual(byId(await openRows(views, model.applied())), byId(model.open()));
  assert.deepEqual(byId(await rowsAt(views.readAt(0, [...ids, 'nobody']), model.applied())), byId(model.rows()));
  for (const time of [at - 1, at + 150_001, at + 30_000, at + 86_400_000]) {
    const usage = await views.usage(capKeys, time);
    for (const key of capKeys) {
      assert.deepEqual(usage.get(key) ?? { amountCents: 0, count: 0 }, model.usage(key, time), `${key} at ${time}`);
    }
  }
  const found = await views.findByBid([...bidIds, 'nobody']);
  for (const bidId of bidIds) assert.deepEqual(found.get(bidId), model.holdersOfBid(bidId));
  const statistics = await views.statistics([...statisticKeys, 'nothing']);
  for (const key of statisticKeys) assert.deepEqual(statistics.get(key), model.statistic(key));
  for (const phase of [null, ...phases]) {
    let before: string | null = null;
    for (const limit of [2, 10]) {
      const page: ModelRow[] = (await views.query({ phase, limit, before })).map(plain);
      assert.deepEqual(page, model.page(phase, limit, before));
      if (page.length > 0) before = cursorOf(page.at(-1)!.state);
    }
  }
}

/** Folds in again what the views have not, and expects the same refusals as the first time. */
async function catchUp({ views }: Store, history: readonly { batch: ViewBatch; refused: string[] }[]): Promise<void> {
  const applied = await views.applied(0);
  const end = history.at(-1)?.batch.next ?? 0;
  assert.ok(applied === end || history.some(({ batch }) => batch.first === applied), `${applied} is inside a batch`);
  for (const { batch, refused } of history) {
    if (batch.first >= applied) assert.deepEqual(await views.apply(batch), { kind: 'applied', refused, whole: true });
  }
}

async function runSteps(kind: ViewsKind, plan: readonly Step[]): Promise<void> {
  let place = await kind.createPlace();
  let backend = await openWhole(kind, place);
  const model = createViewsModel();
  const history: { batch: ViewBatch; refused: string[] }[] = [];
  const applied = () => model.applied();
  try {
    for (const step of plan) {
      switch (step.kind) {
        case 'apply': {
          const batch = { partition: 0, first: applied(), next: applied() + step.length, changes: step.changes };
          const refused = model.apply(batch);
          history.push({ batch, refused });
          assert.deepEqual(await backend.views.apply(batch), { kind: 'applied', refused, whole: true });
          break;
        }
        case 'again':
        case 'ahead': {
          const last = history.at(-1)?.batch;
          if (last === undefined) break;
          const first = step.kind === 'again' ? last.first : last.next + 1;
          const answer = await backend.views.apply({ ...last, first, next: first + 1 });
          assert.deepEqual(answer, { kind: 'out-of-step', applied: applied() });
          break;
        }
        case 'look':
          await assertSame(backend, model);
          break;
        case 'restart':
        case 'burn':
          await backend.close();
          if (step.kind === 'burn') await kind.burnViews(place);
          backend = await openWhole(kind, place);
          if (step.kind === 'burn') assert.equal(await backend.views.applied(0), 0);
          await catchUp(backend, history);
          break;
        case 'crash':
          place = await kind.crash(place, backend);
          backend = await openWhole(kind, place);
          await catchUp(backend, history);
          break;
        default:
          step satisfies never;
      }
    }
    await assertSame(backend, model);
  } finally {
    await backend.close();
  }
}

const batch = (first: number, ...list: ViewChange[]): ViewBatch => ({
  partition: 0,
  first,
  next: first + 1,
  changes: list,
});

function reserve(requestId: string, amountCents: number, over: Partial<Extract<ViewChange, { kind: 'reserve' }>> = {}) {
  return {
    kind: 'reserve' as const,
    requestId,
    at,
    amountCents,
    caps: [{ keys: ['day|a'], limitAmountCents: 100, limitCount: null }],
    expiresAt: at + minuteMs,
    force: false,
    ...over,
  };
}

function testReservations(kind: ViewsKind): void {
  const reservationOf = async ({ views }: Store, requestId: string) =>
    (await views.read([requestId])).get(requestId)?.reservation;
  const state = (requestId: string): ViewChange => ({
    kind: 'state',
    state: stateOf(requestId, 'claimed', at),
    open: true,
    bidIds: [],
  });

  test(`${kind.name}: a request that fits is held under all caps, one that does not is under none`, () =>
    withWholeViews(kind, async (backend) => {
      const two = [
        { keys: ['day|a'], limitAmountCents: 100, limitCount: null },
        { keys: ['hour|2', 'hour|1'], limitAmountCents: null, limitCount: 1 },
      ];
      const first = await backend.views.apply(batch(0, state('1'), state('2'), reserve('1', 100, { caps: two })));
      assert.deepEqual(first, { kind: 'applied', refused: [], whole: true });
      // The first cap is full, the second one has no room in its two buckets together.
      const next = [
        { keys: ['day|b'], limitAmountCents: 100, limitCount: null },
        { ...two[1]!, keys: ['hour|1', 'hour|2'] },
      ];
      const second = await backend.views.apply(batch(1, reserve('2', 50, { caps: next })));
      assert.deepEqual(second, { kind: 'applied', refused: ['2'], whole: true });
      const usage = await backend.views.usage(['day|a', 'day|b', 'hour|1', 'hour|2'], at);
      assert.deepEqual(usage.get('day|a'), { amountCents: 100, count: 1 });
      assert.deepEqual(usage.get('hour|2'), { amountCents: 100, count: 1 });
      for (const key of ['day|b', 'hour|1']) assert.equal(usage.get(key)?.count ?? 0, 0);
      assert.equal(await reservationOf(backend, '2'), 'refused');
      assert.deepEqual(await backend.views.apply(batch(2, reserve('2', 1, { caps: [] }))), {
        kind: 'applied',
        refused: ['2'],
        whole: true,
      });
    }));

  test(`${kind.name}: reserving, committing and releasing twice changes nothing`, () =>
    withWholeViews(kind, async (backend) => {
      const { views } = backend;
      const used = async () => (await views.usage(['day|a'], at)).get('day|a')?.amountCents ?? 0;
      await views.apply(batch(0, state('1'), reserve('1', 60), reserve('1', 60)));
      assert.equal(await used(), 60);
      const commit: ViewChange = { kind: 'commit', requestId: '1', expiresAt: at + 2 };
      await views.apply(batch(1, commit, commit, reserve('1', 60)));
      assert.equal(await used(), 60);
      assert.equal(await reservationOf(backend, '1'), 'committed');
      const release: ViewChange = { kind: 'release', requestId: '1' };
      await views.apply(batch(2, release, release, commit, reserve('1', 60)));
      assert.equal(await used(), 0);
      assert.equal(await reservationOf(backend, '1'), 'released');
      await views.apply(batch(3, { kind: 'release', requestId: '2' }, state('2')));
      assert.equal(await reservationOf(backend, '2'), 'none');
    }));

  test(`${kind.name}: what expired leaves room, also for a record that was written earlier than the one before`, () =>
    withWholeViews(kind, async ({ views }) => {
      await views.apply(batch(0, reserve('1', 100)));
      const late = await views.apply(batch(1, reserve('2', 100, { at: at + minuteMs, expiresAt: at + 3 * minuteMs })));
      assert.deepEqual(late, { kind: 'applied', refused: [], whole: true });
      const early = await views.apply(batch(2, reserve('3', 1, { at: at + minuteMs - 1 })));
      assert.deepEqual(early, { kind: 'applied', refused: ['3'], whole: true });
      assert.equal((await views.usage(['day|a'], at + minuteMs - 1)).get('day|a')?.amountCents, 200);
      assert.equal((await views.usage(['day|a'], at + minuteMs)).get('day|a')?.amountCents, 100);
    }));

  test(`${kind.name}: what one batch promises, takes back and outlives counts for its later reservations`, () =>
    withWholeViews(kind, async (backend) => {
      const { views } = backend;
      const one = { caps: [{ keys: ['hour|1'], limitAmountCents: null, limitCount: 1 }] };
      const counted = batch(0, reserve('1', 5, one), reserve('2', 5, one));
      assert.deepEqual(await views.apply(counted), { kind: 'applied', refused: ['2'], whole: true });
      const release: ViewChange = { kind: 'release', requestId: '1' };
      const room = batch(1, release, reserve('3', 5, one), reserve('x', 5, one));
      assert.deepEqual(await views.apply(room), { kind: 'applied', refused: ['x'], whole: true });
      assert.deepEqual((await views.usage(['hour|1'], at)).get('hour|1'), { amountCents: 5, count: 1 });
      const late = { at: at + minuteMs, expiresAt: at + 2 * minuteMs };
      const full = batch(2, reserve('4', 100), reserve('5', 40), reserve('6', 40, late), reserve('7', 61, late));
      assert.deepEqual(await views.apply(full), { kind: 'applied', refused: ['5', '7'], whole: true });
      assert.deepEqual((await views.usage(['day|a'], at)).get('day|a'), { amountCents: 140, count: 2 });
      await views.apply(batch(3, { kind: 'release', requestId: '6' }, { kind: 'release', requestId: '4' }));
      assert.equal((await views.usage(['day|a'], at)).get('day|a')?.count ?? 0, 0);
    }));

  test(`${kind.name}: money that is promised already is reserved over a cap, and again after a refusal`, () =>
    withWholeViews(kind, async (backend) => {
      const { views } = backend;
      await views.apply(batch(0, state('2'), reserve('1', 90), reserve('2', 90)));
      assert.equal(await reservationOf(backend, '2'), 'refused');
      const forced = await views.apply(batch(1, reserve('2', 90, { force: true }), reserve('3', 90, { force: true })));
      assert.deepEqual(forced, { kind: 'applied', refused: [], whole: true });
      assert.deepEqual((await views.usage(['day|a'], at)).get('day|a'), { amountCents: 270, count: 3 });
    }));
}

/** Two lives, written by a process with the settings of `parts.ts`. */
const written: readonly AuctionRecord[] = [
  ...[requested(), claimed(), answered(accepted), ended([bid('ours')]), contemplated()],
  ...[requested(), claimed('a:2'), answered({ kind: 'unknown', reason: 'lost' })].map((record) => ({
    ...record,
    requestId: 'second',
  })),
].map((record) => withTerms(record, settings));

/** What a process with these settings makes of them in a store of its own. */
async function madeWith(kind: ViewsKind, terms: FoldTerms) {
  let made = null;
  await withWholeViews(kind, async ({ views }) => {
    const entries = written.map((record, offset) => ({ partition: 0, offset, key: record.requestId, record }));
    await createLedger(views, terms, { readKey: async () => [] }).fold({
      ...{ partition: 0, first: 0, next: entries.length, entries },
    });
    const ids = [...new Set(written.map(({ requestId }) => requestId))];
    const keys = [...new Set(claimed().trace.caps.flatMap((cap) => cap.keys))];
    // Between the ends of what the two settings promise for.
    const laterAt = claimed().offer.validUntil + (otherTerms.graceMs + settings.graceMs) / 2;
    made = {
      rows: byId([...(await views.read(ids)).values()]),
      usage: [await views.usage(keys, claimed().at), await views.usage(keys, laterAt)],
      statistics: await views.statistics(['all', 'all/private', 'standing:results', 'acceptance:taken']),
    };
  });
  return made;
}

/** `plans`: how many are played against the plain model. */
export function testViews(kind: ViewsKind, plans = 25): void {
  testWindowViews(kind);
  testReservations(kind);

  test(`${kind.name}: processes with other settings make the same of the same records`, async () => {
    const made = await madeWith(kind, settings);
    assert.notEqual(made, null);
    assert.deepEqual(await madeWith(kind, otherTerms), made);
  });

  test(`${kind.name}: each partition, of auctions or callbacks, has its own progress`, () =>
    withBackend(kind, async ({ views }) => {
      const callbacks = callbackPartition(0);
      assert.deepEqual([await views.applied(0), await views.applied(callbacks)], [0, 0]);
      await views.apply({ partition: callbacks, first: 0, next: 7, changes: [] });
      assert.deepEqual([await views.applied(0), await views.applied(callbacks)], [0, 7]);
      const again = await views.apply({ partition: callbacks, first: 0, next: 7, changes: [] });
      assert.deepEqual(again, { kind: 'out-of-step', applied: 7 });
    }));

  test(`${kind.name}: a code that the service gave to many requests names the first of them, bounded`, () =>
    withWholeViews(kind, async ({ views }) => {
      const names = Array.from({ length: 10 }, (_, i) => `r${9 - i}`);
      const said = (requestId: string): ViewChange => {
        return {
          kind: 'state',
          state: stateOf(requestId, 'accepted', at),
          open: true,
          bidIds: ['same', `own ${requestId}`],
        };
      };
      await views.apply(batch(0, said('r5'), said('r7')));
      assert.deepEqual((await views.findByBid(['same'])).get('same'), ['r5', 'r7']);
      await views.apply(batch(1, ...names.map(said)));
      const found = await views.findByBid(['same', 'own r9', 'nobody']);
      const first = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7'];
      assert.deepEqual(Object.fromEntries(found), { same: first, 'own r9': ['r9'] });
    }));

  test(`${kind.name}: what is asked by the thousand is answered whole`, () =>
    withBackend(kind, async ({ views }) => {
      const names = Array.from({ length: 2_300 }, (_, i) => String(i));
      const changes = names.flatMap((requestId): ViewChange[] => [
        { kind: 'state', state: stateOf(requestId, 'claimed', at), open: true, bidIds: [`bid ${requestId}`] },
        reserve(requestId, 7, { caps: [{ keys: [`day|${requestId}`], limitAmountCents: 100, limitCount: null }] }),
        { kind: 'learn', keys: [`*/${requestId}`], additions: [[3, 1]], at, halfLives: timeAlone(1_000) },
      ]);
      await views.apply(batch(0, ...changes));
      assert.deepEqual([...(await views.read(names)).keys()].sort(), [...names].sort());
      assert.deepEqual(
        (await rowsAt(views.readAt(0, names), 1)).map(({ state }) => state.requestId),
        names,
      );
      assert.deepEqual((await rowsAt(views.open(0), 1)).map(({ state }) => state.requestId).sort(), [...names].sort());
      assert.equal((await views.findByBid(names.map((name) => `bid ${name}`))).get('bid 2299')?.[0], '2299');
      const usage = await views.usage(
        names.map((name) => `day|${name}`),
        at,
      );
      assert.ok(names.every((name) => usage.get(`day|${name}`)?.amountCents === 7));
      const statistics = await views.statistics(names.map((name) => `*/${name}`));
      assert.equal(statistics.size, names.length);
      assert.equal((await views.query({ phase: null, limit: 2_000, before: null })).length, 2_000);
    }));

  test(`${kind.name}: statistics that were handed out belong to the caller`, () =>
    withBackend(kind, async ({ views }) => {
      const halfLives = { halfLifeMs: 1_000, halfLifeResults: 100 };
      await views.apply(batch(0, { kind: 'learn', keys: ['*'], additions: [[300, 1]], at, halfLives }));
      const mine = (await views.statistics(['*'])).get('*')!;
      foldSums(mine, [[200, 1]], at, halfLives);
      const kept = (await views.statistics(['*'])).get('*')!;
      assert.equal(kept.count, 1);
      assert.ok(Math.abs(kept.cells[300]! - 1) < 0.01 && kept.cells[200] === 0);
    }));

  test(`${kind.name}: of the rates that we won with the latest is read, however many there were`, () =>
    withBackend(kind, async ({ views }) => {
      const layout = { name: 'none', columns: 0 };
      // One result with a rival: before it there is nothing to read.
      const moments = { factor: 1, cells: Float64Array.from([0, 0, 1]) };
      const rates = Array.from({ length: 40 }, (_, place) => 2 + ((place * 137) % 496));
      for (const [place, rate] of rates.entries()) {
        const learn = { kind: 'learn' as const, keys: ['*:won'], additions: publishedAdditions(rate) };
        // Results that come late: their time says nothing of which is the latest.
        const lesson = { ...learn, at: at - ((place * 7) % 5) * minuteMs, halfLives: publishedHalfLives };
        await views.apply(batch(place, lesson));
        const known = (await views.statistics(['*:won'])).get('*:won')!;
        const won = { cells: known.cells, factor: decayFactor(known, at, publishedHalfLives) };
        const found = effectsOf(layout, { moments: [moments], drift: null, won, errors: null })?.published;
        assert.ok(Math.abs(found! - rate) < 1e-9, `${found} is read for ${rate}`);
      }
    }));

  test(`${kind.name}: the views are what a plain model says, through re-application, restarts, crashes and loss`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, (plan) => runSteps(kind, plan)),
      { numRuns: plans, seed: 20_261_121, endOnFailure: false },
    );
  });
}
