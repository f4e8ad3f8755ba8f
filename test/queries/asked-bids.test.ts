/** Requests of all partitions asked at several processes, each with views of its own: as if one had all of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cursorOf, type Owner, type ViewChange } from '../../src/bidding/ports.ts';
import {
  type Answer,
  answerQuestion,
  bidsOfAll,
  createAskedBids,
  createCaughtUp,
} from '../../src/queries/asked-bids.ts';
import { stateOf } from '../conformance/samples.ts';
import { createPlace, endlessLog, openOwned } from '../state/state-store.ts';

const at = 1_763_700_000_000;
const partitions = 3;
const partitionOf = (requestId: string) => Number(requestId) % partitions;

type Owned = Awaited<ReturnType<typeof openOwned>>;

async function fold({ views }: Owned, requestId: string, decidedAt: number): Promise<void> {
  const partition = partitionOf(requestId);
  const first = await views.applied(partition);
  const state = stateOf(requestId, Number(requestId) % 2 === 0 ? 'claimed' : 'lost', decidedAt);
  const change: ViewChange = { kind: 'state', state, open: false, bidIds: [`bid ${requestId}`, 'shared'] };
  const result = await views.apply({ partition, first, next: first + 1, changes: [change] });
  assert.equal(result.kind, 'applied');
}

/** Processes with these partitions, and what the first of them asks. What is sent goes through JSON. */
async function deskOf(...owned: number[][]) {
  const processes = await Promise.all(
    owned.map(async (ofIt) => {
      const process = await openOwned(createPlace(), () => endlessLog());
      for (const partition of ofIt) await process.take(partition);
      return process;
    }),
  );
  const book = new Map<string, number[]>(owned.map((ofIt, place) => [`p${place}`, ofIt]));
  const owners = (): Owner[] =>
    [...book].map(([instance, auctions]) => ({ instance, host: 'localhost', port: 1, partitions: { auctions } }));
  const down = new Set<string>();
  const desk: { onAsked: () => void } = { onAsked: () => undefined };
  const heldBy = (place: number) => async (partition: number) => processes[place]!.held().get(partition) ?? null;
  const asked = createAskedBids({
    partitions: async () => partitions,
    partitionOf: async (requestId) => partitionOf(requestId),
    owners: async () => owners(),
    ask: async ({ instance }, question) => {
      desk.onAsked();
      if (down.has(instance)) return { kind: 'failed', why: 'gone' };
      const answer = await answerQuestion(heldBy(Number(instance.slice(1))), JSON.parse(JSON.stringify(question)));
      return answer === null
        ? { kind: 'failed', why: 'refused' }
        : { kind: 'answered', answer: JSON.parse(JSON.stringify(answer)) as Answer };
    },
    here: { owner: () => owners()[0]!, held: heldBy(0) },
  });
  const ids = Array.from({ length: 40 }, (_, place) => String(place));
  const holder = (requestId: string) => processes[owned.findIndex((ofIt) => ofIt.includes(partitionOf(requestId)))];
  for (const requestId of ids) {
    const process = holder(requestId);
    if (process !== undefined) await fold(process, requestId, at + ((Number(requestId) * 7) % 20));
  }
  const close = () => Promise.all(processes.map((each) => each.close()));
  return Object.assign(desk, { asked, ids, processes, book, down, close });
}

async function listed(
  { asked }: Awaited<ReturnType<typeof deskOf>>,
  search: Parameters<typeof asked.search>[0],
  limit: number,
): Promise<string[]> {
  const found: string[] = [];
  for (let before: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof asked.search>> = await asked.search(search, { limit, before });
    assert.deepEqual(page.unasked, []);
    found.push(...page.found.map(cursorOf));
    if (page.next === null) return found;
    before = page.next;
  }
}

test('lists, searches, reads and finds requests of every process as one would that has them all', async () => {
  const [desk, alone] = [await deskOf([0], [1, 2]), await deskOf([0, 1, 2])];
  for (const limit of [1, 3, 7, 200]) {
    for (const search of [{}, { state: 'lost' }, { since: at + 5, until: at + 9 }, { segment: 'none' }]) {
      assert.deepEqual(await listed(desk, search, limit), await listed(alone, search, limit));
    }
  }
  assert.equal((await listed(desk, {}, 3)).length, desk.ids.length);
  const read = await desk.asked.read([...desk.ids, '999']);
  assert.deepEqual([...read.keys()].sort(), [...desk.ids].sort());
  assert.deepEqual(read.get('7'), (await alone.asked.read(['7'])).get('7'));
  assert.deepEqual(await desk.asked.findByBid(['bid 4', 'nobody']), new Map([['bid 4', ['4']]]));
  assert.deepEqual(await desk.asked.findByBid(['shared']), await alone.asked.findByBid(['shared']));
  assert.equal(await desk.asked.applied(1), 13);
  assert.deepEqual(
    await desk.asked.appliedKnown(),
    new Map([
      [0, 14],
      [1, 13],
      [2, 13],
    ]),
  );
  assert.equal(await desk.asked.learnt('all'), 0);
  const query = { phase: 'lost', limit: 7, before: null };
  const all = bidsOfAll(desk.asked);
  const rows = (await all.query(query)).map(({ state }) => cursorOf(state));
  assert.deepEqual(rows, (await listed(alone, { state: 'lost' }, 200)).slice(0, 7));
  assert.equal((await all.query({ ...query, phase: null, limit: 999 })).length, desk.ids.length);
  assert.deepEqual(all.missing(), []);
  await Promise.all([desk.close(), alone.close()]);
});

test('what cannot be asked is named: beside a list, and instead of a request', async () => {
  const desk = await deskOf([0], [1]);
  desk.down.add('p1');
  const { found, unasked } = await desk.asked.search({}, { limit: 200, before: null });
  assert.equal(found.length, 14);
  assert.deepEqual(unasked, [
    { partition: 1, instance: 'p1', why: 'gone' },
    { partition: 2, instance: null, why: 'no-owner' },
  ]);
  assert.equal((await desk.asked.read(['3'])).size, 1, 'of its own it is sure');
  await assert.rejects(desk.asked.read(['3', '4']), {
    code: 'owner-unasked',
    message: 'Partition 1 of auctions could not be asked: its process cannot be reached (p1).',
  });
  assert.deepEqual([...(await desk.asked.readKnown(['3', '4', '6'])).keys()], ['3', '6']);
  await assert.rejects(desk.asked.findByBid(['bid 3']), { code: 'owner-unasked' });
  assert.deepEqual(await desk.asked.appliedKnown(), new Map([[0, 14]]));
  const all = bidsOfAll(desk.asked);
  assert.deepEqual([(await all.query({ phase: null, limit: 99, before: null })).length, all.missing()], [14, [1, 2]]);
  assert.equal(await desk.asked.learnt('all'), null);
  await desk.close();
});

test('a partition that changed hands after its owner was looked up is asked at the new one', async () => {
  const desk = await deskOf([0], [1], [2]);
  const [, second, third] = desk.processes;
  const before = await listed(desk, {}, 200);
  await third!.leave(2);
  const rows = second!;
  await rows.take(2);
  for (const requestId of desk.ids.filter((each) => partitionOf(each) === 2)) {
    await fold(rows, requestId, at + ((Number(requestId) * 7) % 20));
  }
  // p2 still says that it owns it; p1 says so as well when it is looked up again.
  desk.onAsked = () => void desk.book.set('p1', [1, 2]);
  const page = await desk.asked.search({}, { limit: 200, before: null });
  assert.deepEqual(page.unasked, []);
  assert.deepEqual(page.found.map(cursorOf), before);
  await desk.close();
});

test('what is no question of this version is not answered', async () => {
  const desk = await deskOf([0, 1, 2]);
  const held = async (partition: number) => desk.processes[0]!.held().get(partition) ?? null;
  const refused = [
    null,
    7,
    {},
    { topic: 'auctions', partitions: [0] },
    { topic: 'auctions', partitions: ['0'], question: { kind: 'applied' } },
    { topic: 'other', partitions: [0], question: { kind: 'applied' } },
    { topic: 'auctions', partitions: [0], question: { kind: 'other' } },
    { topic: 'auctions', partitions: [0], question: { kind: 'search', search: {}, limit: 5_000, before: null } },
    { topic: 'auctions', partitions: [0], question: { kind: 'read', requestIds: Array(501).fill('1') } },
  ];
  for (const asked of refused) assert.equal(await answerQuestion(held, asked), null, JSON.stringify(asked));
  const question = { kind: 'applied' };
  assert.deepEqual(await answerQuestion(held, { topic: 'auctions', partitions: [0, 9], question }), {
    elsewhere: [9],
    answer: [[0, 14]],
  });
  await desk.close();
});

test('a partition that is taken up is answered for when it is as far as the log was when it was asked about first', async () => {
  const owned = await openOwned(createPlace(), () => endlessLog());
  let end = 2;
  const caughtUp = createCaughtUp(
    (partition) => owned.held().get(partition) ?? null,
    async () => new Map([[0, end]]),
  );
  const isAnswered = async (partition: number) => (await caughtUp.held(partition)) !== null;
  assert.equal(await isAnswered(0), false, 'nobody has it');
  await owned.take(0);
  caughtUp.changed(0);
  assert.equal(await isAnswered(0), false);
  await fold(owned, '0', at);
  assert.equal(await isAnswered(0), false);
  // The log goes on, and is not run after.
  end = 100;
  await fold(owned, '3', at);
  assert.equal(await isAnswered(0), true);
  await owned.take(0);
  caughtUp.changed(0);
  assert.equal(await isAnswered(0), false, 'others may have folded on meanwhile');
  await owned.close();
});
