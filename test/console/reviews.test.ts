/** The pages of requests that wait for a person: who sees them, who answers, and what the answer does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApi } from '../http/api-house.ts';
import { loggedIn } from './person.ts';
import { reviewRules } from './review-rules.ts';

const english = { 'accept-language': 'en' };
const linksIn = (text: string) =>
  [...text.matchAll(/href="\/console\/reviews\/(\d+)"/g)].map(([, requestId]) => requestId!);

test('a person finds what waits for an answer, and answers it with a reason (issue 22)', async (context) => {
  const { engine, sandbox, call } = await startApi(context, {}, { rules: reviewRules, windowMs: 8_000 });
  const viewer = await loggedIn(engine.url, 'viewer');
  const risk = await loggedIn(engine.url, 'risk');
  const operator = await loggedIn(engine.url, 'operator');
  const empty = await risk.get('/console/reviews');
  assert.equal(empty.status, 200);
  assert.match(empty.text, /Nenhuma solicitação espera revisão/);

  const running = sandbox.run(12);
  const until = async (is: () => Promise<boolean>) => {
    for (let polls = 0; !(await is()); polls += 1) {
      if (polls > 200) throw new Error('not in time');
      await sleep(20);
    }
  };
  await until(async () => linksIn((await risk.get('/console/reviews')).text).length >= 3);
  const list = await risk.get('/console/reviews?queue=all-of-them');
  for (const part of ['all-of-them', 'Sem resposta', 'Seen by a person', 'Margem', 'R$'])
    assert.ok(list.text.includes(part), part);
  assert.doesNotMatch((await risk.get('/console/reviews?queue=another')).text, /href="\/console\/reviews\/\d/);
  assert.equal((await risk.get('/console/reviews?queue=%3Cb%3E')).status, 422);
  assert.match((await risk.get('/console/reviews', english)).text, /Without an answer/);

  // Now says how many wait, and leads there.
  const now = await viewer.get('/');
  assert.match(now.text, /<a href="\/console\/reviews">[1-9]\d*<\/a>/);

  const { reviews } = (await call('GET', '/v1/reviews')).body as { reviews: { requestId: string; until: number }[] };
  const [first, second] = reviews.toSorted((one, other) => other.until - one.until);
  const path = `/console/reviews/${first!.requestId}`;
  const page = await risk.get(path);
  assert.equal(page.status, 200);
  assert.match(page.text, /<button class="button">/);
  const form = { ...risk.hiddenIn(page.text, path), reason: 'CPF 52998224725 conferido', decision: 'bid' };

  // Whoever may only look sees what waits, and no form.
  const seen = await viewer.get(path);
  assert.equal(seen.status, 200);
  assert.doesNotMatch(seen.text, /<textarea/);
  const foreign = await viewer.post(path, { ...form, ...viewer.hiddenIn(seen.text, '/console/logout') });
  assert.equal(foreign.status, 403);
  assert.equal((await risk.post(path, { ...form, csrf: 'x' })).status, 403);
  for (const [fields, field] of [
    [{ reason: ' ' }, 'reason'],
    [{ reason: 'x'.repeat(201) }, 'reason'],
    [{ decision: 'maybe' }, 'decision'],
  ] as const) {
    const refused = await risk.post(path, { ...form, ...fields });
    assert.equal(refused.status, 422);
    assert.match(refused.text, new RegExp(`id="${field}-fault"`));
    assert.match(refused.text, /role="alert"/);
  }
  assert.equal((await risk.post('/console/reviews/999', form)).status, 404);
  assert.equal((await risk.get('/console/reviews/999')).status, 404);
  assert.equal((await risk.get('/console/reviews/%3Cb%3E')).status, 404);

  const done = await risk.post(path, form);
  assert.deepEqual([done.status, done.location], [303, `/console/requests/${first!.requestId}?notice=answered`]);
  const told = await risk.get(done.location!);
  for (const part of ['CPF ***', 'risk', 'all-of-them', 'resposta está gravada'])
    assert.ok(told.text.includes(part), part);
  assert.doesNotMatch(told.text, /52998224725/);
  assert.doesNotMatch((await viewer.get(done.location!)).text, /CPF \*\*\*/);

  // The first answer counts.
  const again = await operator.post(path, {
    ...form,
    ...operator.hiddenIn((await operator.get('/')).text, '/console/logout'),
  });
  assert.equal(again.status, 409);
  assert.match(again.text, /foi respondida por <bdi>risk<\/bdi>|foi respondida por risk/);
  const other = `/console/reviews/${second!.requestId}`;
  const no = await operator.post(other, {
    ...operator.hiddenIn((await operator.get(other)).text, other),
    ...{ reason: 'não', decision: 'pass' },
  });
  assert.equal(no.status, 303, no.text);
  const codeOf = async (requestId: string) =>
    ((await call('GET', `/v1/bids/${requestId}`)).body as { code: string | null }).code;
  await until(async () => (await codeOf(second!.requestId)) === 'review-refused');
  await running;
});
