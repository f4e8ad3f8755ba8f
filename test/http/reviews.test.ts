/** `/v1/reviews`: requests that wait for a person, the answer over HTTP, and answers that count for nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { judge } from '../../src/cli/judge.ts';
import type { WaitingReview } from '../../src/operating/reviews.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { type Reply, startApi } from './api-house.ts';

const rules = [
  {
    path: 'reviews.json',
    text: JSON.stringify({
      name: 'Seen by a person',
      conditions: { all: [{ fact: 'desk.always', operator: 'equal', value: true }] },
      event: { type: 'review', params: { queue: 'all-of-them', minutes: 1 } },
    }),
  },
];
const why = { reason: 'CPF 52998224725' };

test('a person answers over HTTP', async (context) => {
  const { call, sandbox, store, ...house } = await startApi(context, {}, { rules, windowMs: 6_000 });
  const sentFor = (id: string) =>
    sandbox.record.of('call').filter(({ path, requestId }) => path === bidPath && requestId === id).length;
  const waiting = async (query = '') =>
    ((await call('GET', `/v1/reviews${query}`, { role: 'viewer' })).body as { reviews: WaitingReview[] }).reviews;
  const decide = (id: string, body: object, role: 'viewer' | 'risk' | 'operator' | null = 'risk'): Promise<Reply> =>
    call('POST', `/v1/reviews/${id}`, { role, body });
  const kindOf = ({ body }: Reply) => (body as { outcome?: { kind: string } }).outcome?.kind;
  const until = async (is: () => Promise<boolean>) => {
    for (let polls = 0; !(await is()); polls += 1) {
      if (polls > 200) throw new Error('not in time');
      await sleep(20);
    }
  };
  const running = sandbox.run(12);
  await until(async () => (await waiting()).length >= 3);
  const found = await waiting('?queue=all-of-them');
  const [first, second, third] = found.toSorted((one, other) => other.until - one.until);
  assert.deepEqual(
    [first!.queue, first!.rules, first!.otherwise, first!.until > first!.askedAt],
    ['all-of-them', ['Seen by a person'], 'pass', true],
  );
  assert.deepEqual(await waiting('?queue=another'), []);

  // Nobody, no role, no answer, no request.
  assert.equal((await decide(first!.requestId, { decision: 'bid', ...why }, null)).status, 401);
  assert.equal((await decide(first!.requestId, { decision: 'bid', ...why }, 'viewer')).status, 403);
  for (const body of [{ decision: 'bid' }, { decision: 'maybe', ...why }, { decision: 'bid', reason: ' ' }])
    assert.equal((await decide(first!.requestId, body)).status, 422);
  assert.equal((await decide('999', { decision: 'bid', ...why })).status, 404);

  const done = await decide(first!.requestId, { decision: 'bid', ...why });
  assert.deepEqual([done.status, done.body], [200, { kind: 'done' }], done.text);
  const again = await decide(first!.requestId, { decision: 'pass', ...why }, 'operator');
  assert.deepEqual([again.status, kindOf(again)], [409, 'answered'], again.text);
  const no = await decide(second!.requestId, { decision: 'pass', ...why }, 'operator');
  assert.deepEqual([no.status, no.body], [200, { kind: 'done' }], no.text);
  await running;

  type Told = {
    state: string;
    code: string | null;
    review: { answer: object | null } | null;
    workerTold: { en: string };
  };
  const told = async (id: string, role: 'viewer' | 'risk' = 'risk') =>
    (await call('GET', `/v1/bids/${id}`, { role })).body as Told;
  await until(async () => sentFor(first!.requestId) > 0);
  const { review } = await told(first!.requestId);
  assert.deepEqual({ ...review!.answer, at: 0 }, { decision: 'bid', by: 'risk', reason: 'CPF ***', at: 0 });
  assert.equal((await told(first!.requestId, 'viewer')).review!.answer, null);
  await until(async () => (await told(second!.requestId)).code === 'review-refused');
  assert.match((await told(second!.requestId)).workerTold.en, /analysts/);
  await until(async () => (await told(third!.requestId)).code === 'review-expired');
  for (const [id, kind] of [
    [second!.requestId, 'answered'],
    [third!.requestId, 'over'],
  ] as const) {
    const late = await decide(id, { decision: 'bid', ...why });
    assert.deepEqual([late.status, kindOf(late)], [409, kind], late.text);
    assert.equal(sentFor(id), 0);
  }
  const passed = (await call('GET', '/v1/bids?state=passed')).body as { bids: { requestId: string; code: string }[] };
  const unasked = passed.bids.find(({ code }) => !code.startsWith('review-'));
  if (unasked !== undefined)
    assert.equal(kindOf(await decide(unasked.requestId, { decision: 'bid', ...why })), 'not-waiting');
  assert.deepEqual(await waiting(), []);
  const metrics = await (await fetch(`${house.engine.url}/metrics`)).text();
  assert.match(metrics, /lance_reviews_waiting\{queue="all-of-them"\} 0/);
  assert.deepEqual((await judge({ sandbox, store, ...house, now: Date.now() })).violations, []);
});
