/** The README's example of a token is one that the API lets in. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fastify from 'fastify';
import { createGuard } from '../../src/http/api/auth.ts';

test('the token of the README, hashed as it says, is known', async () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, name, role, token] = /LANCE_API_TOKENS="(\w+):(operator):\$\(printf %s '([^']+)'/.exec(readme)!;
  const sha256 = createHash('sha256').update(token!).digest('hex');
  const none = { tokens: () => [], isCurrent: () => true };
  const guard = createGuard([{ name: name!, role: role as 'operator', sha256 }], none, () => 0, null);
  const app = fastify();
  app.get('/', { onRequest: guard.only('operator') }, (request) => guard.callerOf(request));
  // `SECRET` stands for what the sandbox prints.
  const headers = [...readme.matchAll(/-H '(authorization): (Bearer (?!SECRET)[^']+)'/g)];
  assert.ok(headers.length > 0);
  for (const [, header, value] of headers) {
    const answer = await app.inject({ url: '/', headers: { [header!]: value! } });
    assert.deepEqual([answer.statusCode, answer.json()], [200, { name, role, token: null, csrfToken: null }]);
  }
  for (const scheme of ['bearer', 'BEARER', 'bEaReR ']) {
    const answer = await app.inject({ url: '/', headers: { authorization: `${scheme} ${token}` } });
    assert.equal(answer.statusCode, 200, `the name of a scheme is in any case: ${scheme}`);
  }
  for (const wrong of [`Basic ${token}`, `Bearer${token}`, `Bearer ${token} ${token}`, 'Bearer', 'Bearer ', token!]) {
    assert.equal((await app.inject({ url: '/', headers: { authorization: wrong } })).statusCode, 401, wrong);
  }
  const other = await app.inject({ url: '/', headers: { authorization: `Bearer ${token}-` } });
  assert.equal(other.statusCode, 401);
});
