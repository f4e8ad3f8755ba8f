/** The page Now is told of changes by server-sent events: to whom, how often, and when that ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createFormat } from '../../src/cli/format.ts';
import { createNowFeed } from '../../src/console/now-feed.ts';
import type { DaemonStatus } from '../../src/http/api/status.ts';
import { startApi } from '../http/api-house.ts';
import { type HeardStream, listen } from './event-stream.ts';
import { loggedIn, openPerson } from './person.ts';

const path = '/console/now/events';

type Part = { id: string; className: string; html: string };
const partsOf = ({ events }: HeardStream) => events.flatMap(({ data }) => JSON.parse(data) as Part[]);

async function until(is: () => boolean, what: string, mostMs = 5_000): Promise<void> {
  for (const end = performance.now() + mostMs; !is(); ) {
    assert.ok(performance.now() < end, `not in time: ${what}`);
    await sleep(20);
  }
}

test('a session hears what changes on the page, and no more when it is over (issue 22)', async (context) => {
  const { engine, call } = await startApi(context);
  const stranger = await listen(engine.url, path, openPerson(engine.url));
  assert.equal(stranger.status, 401);

  const person = await loggedIn(engine.url, 'operator');
  const stream = await listen(engine.url, path, person);
  context.after(stream.leave);
  assert.equal(stream.status, 200);
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.equal(stream.headers.get('cache-control'), 'no-store');
  assert.match(stream.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  await until(() => stream.events.length > 0, 'the page as it is');
  const first = partsOf(stream);
  assert.deepEqual(first.map(({ id }) => id).sort(), [
    'alarms',
    'bidding',
    'caps',
    'hour',
    'process',
    'spoken',
    'work',
  ]);
  assert.match(first.find(({ id }) => id === 'bidding')!.html, /Lances abertos/);
  // As the page has them.
  const { text } = await person.get('/', { 'accept-language': 'pt-BR' });
  for (const { id, html } of first) assert.ok(text.includes(html), id);

  // What does not change is not sent again.
  await sleep(2_200);
  const before = stream.events.length;
  assert.ok(before <= 2, `${before} events of nothing new`);
  const reason = { reason: '<img src=x> \u202Eexe' };
  assert.equal((await call('POST', '/v1/controls/pause', { body: reason })).status, 200);
  const told = () =>
    partsOf(stream)
      .filter(({ id }) => id === 'bidding')
      .at(-1)!;
  await until(() => told().html.includes('Lances fechados'), 'the pause');
  assert.equal(told().className, 'panel shut');
  assert.match(told().html, /&lt;img src=x&gt; \\u202eexe/);
  assert.doesNotMatch(told().html, /<img/);

  // A page that was just asked for is told nothing that is older.
  for (let round = 0; round < 5; round += 1) {
    for (const [order, words] of [
      ['resume', 'Lances abertos'],
      ['pause', 'Lances fechados'],
    ] as const) {
      await sleep(30 * round);
      assert.equal((await call('POST', `/v1/controls/${order}`, { body: { reason: 'x' } })).status, 200);
      const fresh = await listen(engine.url, path, person);
      await until(() => fresh.events.length > 0, 'the page as it is');
      fresh.leave();
      assert.ok(
        partsOf(fresh).some(({ html }) => html === words),
        `${order}: ${JSON.stringify(fresh.events)}`,
      );
    }
  }

  // A viewer has no button to resume with.
  const viewer = await loggedIn(engine.url, 'viewer');
  const seen = await listen(engine.url, path, viewer);
  context.after(seen.leave);
  await until(() => seen.events.length > 0, 'the page of a viewer');
  assert.doesNotMatch(partsOf(seen).find(({ id }) => id === 'bidding')!.html, /console\/resume/);
  // The last pause came after the look that the others were told from.
  await until(() => told().html.includes('console/resume'), 'the button of the last pause', 2_500);

  // Log-out ends it, and nobody else's.
  const { status } = await person.post('/console/logout', person.hiddenIn(text, '/console/logout'));
  assert.equal(status, 303);
  await until(() => stream.events.at(-1)?.name === 'over', 'the end', 4_000);
  await stream.ended;
  assert.equal((await listen(engine.url, path, { jar: new Map(person.jar) })).status, 401);
  await sleep(1_100);
  assert.notEqual(seen.events.at(-1)?.name, 'over');
});

test('the last hour is told as the log and the list of bids have it, and alarms with their runbooks (issue 22)', async (context) => {
  const { engine, call, sandbox, store } = await startApi(context);
  const person = await loggedIn(engine.url, 'viewer');
  const stream = await listen(engine.url, path, person);
  context.after(stream.leave);
  const told = (id: string) => partsOf(stream).findLast((part) => part.id === id)?.html ?? '';
  await until(() => told('hour') !== '', 'the page as it is');
  assert.match(told('hour'), /desde o seu início; o que veio antes não está aqui: <time datetime="[^"]+">/);
  assert.match(told('alarms'), /Nenhum alarme\. Deste processo, desde o seu início:/);

  await sandbox.run(12);
  const bidsOf = async () =>
    ((await call('GET', '/v1/bids?limit=100')).body as { bids: { state: string; position: number | null }[] }).bids;
  const isOver = ({ state }: { state: string }) => ['passed', 'contemplated', 'proposed'].includes(state);
  let bids = await bidsOf();
  for (const end = performance.now() + 30_000; bids.length < 12 || !bids.every(isOver); bids = await bidsOf()) {
    assert.ok(performance.now() < end, `not over: ${JSON.stringify(bids)}`);
    await sleep(50);
  }
  // Of the log: what was asked for, what the service has taken, and what the decisions had expected of it.
  const records = (await store.log.read('auctions', 0, 0, 10_000)).map(({ record }) => record);
  const byRequest = Map.groupBy(
    records.flatMap((record) => ('requestId' in record ? record : [])),
    ({ requestId }) => requestId,
  );
  const own = { requests: 0, bids: 0, wins: 0, expectedCents: 0, realisedCents: 0 };
  for (const life of byRequest.values()) {
    own.requests += Number(life.some(({ kind }) => kind === 'requested'));
    const claim = life.find((record) => record.kind === 'claimed');
    const bidIds = life.flatMap((record) =>
      record.kind === 'answered' && record.outcome.kind === 'accepted' ? record.outcome.bidId : [],
    );
    own.bids += Number(bidIds.length > 0);
    own.wins += Number(life.some(({ kind }) => kind === 'contemplated' || kind === 'proposed'));
    const published = life.flatMap((record) => (record.kind === 'ended' ? record.bids : []));
    const position = published.find(({ bidId }) => bidIds.includes(bidId))?.position ?? null;
    if (claim === undefined || position === null) continue;
    const { expectedValueCents, winProbability } = claim.offer;
    own.expectedCents += expectedValueCents;
    if (position === 1) own.realisedCents += Math.round(expectedValueCents / winProbability);
  }
  assert.ok(own.bids > 3 && own.wins > 3 && own.expectedCents > 0 && own.realisedCents > 0, JSON.stringify(own));
  const { lastHour } = (await call('GET', '/v1/status', { role: 'viewer' })).body as DaemonStatus;
  assert.deepEqual(lastHour?.figures, own);
  assert.equal(own.requests, bids.length);
  assert.equal(own.wins, bids.filter(({ state }) => state === 'contemplated' || state === 'proposed').length);
  const { number, money } = createFormat('pt');
  const figures = [own.requests, own.bids, own.wins].map((count) => number(count));
  const shown = [...figures, money(own.expectedCents), money(own.realisedCents)];
  const shownNow = () => [...told('hour').matchAll(/<dd>(.*?)(?: <span|<\/dd>)/g)].map(([, each]) => each);
  await until(() => isDeepStrictEqual(shownNow(), shown), `the figures on the page: ${shown.join(', ')}`);

  engine.countAlarm('log-changed');
  engine.countAlarm('log-changed');
  await until(() => told('alarms').includes('O log não é mais o que foi gravado.'), 'the alarm');
  assert.match(told('alarms'), /<td role="cell" class="number" data-name="Vezes">2<\/td>/);
  assert.match(told('alarms'), /href="\/console\/runbooks#alarm-log-changed"/);
  const english = await person.get('/?lang=en');
  assert.match(english.text, /The log is not what was written\./);
  // Without a token the counts, not the money.
  const open = (await (await fetch(`${engine.url}/status`)).json()) as DaemonStatus;
  assert.deepEqual(open.lastHour?.figures, { ...own, expectedCents: null, realisedCents: null });
});

test('streams are few, of one person and of all', async (context) => {
  const { engine } = await startApi(context);
  const person = await loggedIn(engine.url, 'risk');
  // What asks for the headers alone has no stream, which would be kept as long as the session.
  const cookie = [...person.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  for (let each = 0; each < 3; each += 1) {
    const { status } = await fetch(`${engine.url}${path}`, { method: 'HEAD', headers: { cookie } });
    assert.equal(status, 404);
  }
  const streams: HeardStream[] = [];
  for (let each = 0; each < 4; each += 1) {
    const stream = await listen(engine.url, path, person);
    context.after(stream.leave);
    streams.push(stream);
  }
  assert.deepEqual(
    streams.map(({ status }) => status),
    [200, 200, 200, 503],
  );
  // The page is there all the same, and another person has a stream.
  assert.equal((await person.get('/')).status, 200);
  const other = await listen(engine.url, path, await loggedIn(engine.url, 'admin'));
  context.after(other.leave);
  assert.equal(other.status, 200);
  streams[0]!.leave();
  let again = 503;
  for (let tries = 0; again !== 200 && tries < 50; tries += 1) {
    await sleep(50);
    const stream = await listen(engine.url, path, person);
    context.after(stream.leave);
    again = stream.status;
  }
  assert.equal(again, 200, 'who leaves makes room');
});

test('a process that ends keeps nobody waiting for its streams', async (context) => {
  let begunAt = 0;
  await context.test('while it runs', async (running) => {
    const { engine } = await startApi(running);
    const stream = await listen(engine.url, path, await loggedIn(engine.url, 'risk'));
    context.after(stream.leave);
    await until(() => stream.events.length > 0, 'the page as it is');
    begunAt = performance.now();
  });
  const tookMs = performance.now() - begunAt;
  assert.ok(tookMs < 3_000, `${tookMs} ms`);
});

test('500 changes a second are one event a second to each who listens', async () => {
  let changes = 0;
  let looks = 0;
  const timer = setInterval(() => {
    changes += 10;
  }, 20);
  const facts = async () => {
    looks += 1;
    return changes;
  };
  const feed = createNowFeed({
    facts,
    onFault: (fault) => assert.fail(String(fault)),
    most: 3,
    mostOfOne: 2,
    everyMs: 300,
  });
  let isLet = true;
  const render = (count: number) => [{ id: 'work', className: '', html: String(count) }];
  const open = (name: string) => feed.open({ name, kind: 'all', render, look: () => (isLet ? 'let' : 'over') });
  const [one, two] = [open('ana')!, open('bia')!];
  const heard: string[] = [];
  // Without what keeps the connection open.
  one.on('data', (chunk: Buffer) => chunk.toString().startsWith('event: ') && heard.push(chunk.toString()));
  // Nobody reads the other one.
  await sleep(1_600);
  clearInterval(timer);
  assert.ok(changes > 300, `${changes} changes`);
  assert.ok(heard.length >= 3 && heard.length <= 7, `${heard.length} events`);
  assert.ok(looks <= 8, `${looks} looks for two`);
  assert.ok(two.readableLength < 64 * 1_024);
  assert.ok(open('ana'));
  assert.equal(open('ana'), null, 'of one person');
  assert.equal(open('carla'), null, 'of all');
  // A session that has expired.
  isLet = false;
  await new Promise((resolve) => one.once('end', resolve));
  assert.match(heard.at(-1)!, /^event: over\n/);
  isLet = true;
  await until(() => open('carla') !== null, 'room');
  feed.close();
});
