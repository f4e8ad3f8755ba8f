/** The page of a request tells what kept it from its end, as the command line does: refused attempts and waits, to roles that may see them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hindranceText } from '../../src/cli/bid-text.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { Hindrance } from '../../src/domain/records.ts';
import { startApi } from '../http/api-house.ts';
import { loggedIn } from './person.ts';

type Told = { requestId: string; code: string | null; hindrances: Hindrance[] };

/** Breaks of the table and escapes of the page left out. */
const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');

test('the story of a request has its refused and unauthorised attempts, and what it waited for (issue 21, line 4)', async (context) => {
  const { call, sandbox, engine } = await startApi(context);
  // A desk that is open sends until the first answer says that its token is refused.
  await sandbox.run(10);
  sandbox.revokeTokens();
  await sandbox.run(20);
  const ended = async (): Promise<Told[]> => {
    const { bids } = (await call('GET', '/v1/bids?code=service-unauthorised&limit=100')).body as { bids: Told[] };
    return Promise.all(bids.map(async ({ requestId }) => (await call('GET', `/v1/bids/${requestId}`)).body as Told));
  };
  const isTold = ({ hindrances }: Told) =>
    hindrances.some(({ kind }) => kind === 'wait') &&
    hindrances.some(({ kind, cause }) => kind !== 'wait' && cause === 'unauthorised');
  for (let looks = 0; !(await ended()).some(isTold); looks += 1) {
    assert.ok(looks < 60, 'no request tells of its refused attempt');
    await sleep(500);
  }
  const { requestId, hindrances } = (await ended()).find(isTold)!;
  for (const [language, accept] of [
    ['pt', 'pt-BR'],
    ['en', 'en'],
  ] as const) {
    const format = createFormat(language);
    for (const role of ['risk', 'operator', 'admin', 'viewer'] as const) {
      const person = await loggedIn(engine.url, role);
      const { text, status } = await person.get(`/console/requests/${requestId}`, { 'accept-language': accept });
      assert.equal(status, 200);
      const told = hindrances.map((each) => wordsOf(hindranceText(each, format)));
      const shown = told.filter((each) => wordsOf(text).includes(each));
      assert.deepEqual(shown, role === 'viewer' ? [] : told, wordsOf(text));
    }
  }
});

test('the page Agora says in Portuguese what the process does (issue 21)', async (context) => {
  const { engine } = await startApi(context);
  const person = await loggedIn(engine.url, 'viewer');
  const said = async (language: string) => wordsOf((await person.get('/', { 'accept-language': language })).text);
  const pt = await said('pt-BR');
  assert.match(pt, /\(recebe webhooks e dá lances\)/);
  assert.doesNotMatch(pt, /\b(?:door|desk)\b/);
  assert.match(await said('en'), /\(takes webhooks and bids\)/);
});
