/** The page of the market without a browser: who sees it, and that it can be read without a script. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { roles, startApi } from '../http/api-house.ts';
import { loggedIn } from './person.ts';

test('who sees what decisions are priced by sees the market, in tables as well as in plots', async (context) => {
  const house = await startApi(context);
  const { url } = house.engine;
  for (const role of roles) {
    const person = await loggedIn(url, role);
    const answer = await person.get('/console/market');
    assert.equal(answer.status, role === 'viewer' ? 403 : 200, role);
    const now = await person.get('/');
    assert.equal(now.text.includes('href="/console/market"'), role !== 'viewer', role);
    if (role !== 'viewer') assert.match(answer.text, /Nenhum leilão destas solicitações terminou/);
  }
});

test('what auctions published is in it, and its plots load the files of the console alone', async (context) => {
  const house = await startApi(context);
  await house.sandbox.run(40);
  let lost = 0;
  while (lost === 0) {
    await sleep(100);
    const { bids } = (await house.call('GET', '/v1/bids?limit=200')).body as { bids: { position: number | null }[] };
    lost = bids.filter(({ position }) => position !== null).length;
  }
  const person = await loggedIn(house.engine.url, 'risk');
  const { text } = await person.get('/console/market?lang=en');
  assert.match(text, /<dt>Published auctions<\/dt><dd>[1-9]/);
  assert.match(text, /<table class="cards" role="table" aria-label="Our position">.*<bdi>1<\/bdi>/s);
  assert.doesNotMatch(text, /<style|\sstyle=|\son[a-z]+=|<script(?! src="\/console\/assets\/)/i);
  const scripts = [...text.matchAll(/<script src="([^"]+)"/g)].map(([, reference]) => reference!);
  assert.deepEqual(
    scripts.map((reference) => reference.replace(/\?.*/, '')),
    ['/console/assets/uplot.js', '/console/assets/plots.js'],
  );
  for (const reference of [...scripts, ...(/"([^"]*uplot\.css[^"]*)"/.exec(text) ?? []).slice(1)]) {
    const { status, headers } = await person.get(reference);
    assert.equal(status, 200, reference);
    assert.match(headers.get('cache-control') ?? '', /immutable/);
  }
  const again = await person.get('/console/market?lang=en');
  const read = (page: string) => /read at <time datetime="([^"]+)"/.exec(page)?.[1];
  assert.ok(read(text) !== undefined && read(text) === read(again.text), 'it is not read anew for each look');
});
