/** What any book of tokens must do: every entry kept in order, whoever wrote it, also when it is asked again and again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { TokenBook } from '../../src/bidding/ports.ts';
import {
  beginSession,
  createToken,
  endSessions,
  listTokens,
  revokeToken,
  watchTokens,
} from '../../src/operating/tokens.ts';

export type TokenBookKind = {
  name: string;
  createPlace: () => Promise<string>;
  /** `beside` is the same book as another process has it. */
  open: (place: string) => Promise<{ tokenBook: TokenBook; beside: TokenBook; close: () => Promise<void> }>;
};

export function testTokenBook(kind: TokenBookKind): void {
  test(`${kind.name}: a token that is revoked in one process is let in by no other after 5 seconds, nor after a restart`, async () => {
    const place = await kind.createPlace();
    const clock = createSystemClock();
    const ana = { by: 'ana', via: 'offline' } as const;
    const first = await kind.open(place);
    const watch = watchTokens({ tokenBook: first.tokenBook, clock }, () => undefined);
    let revokedId = '';
    try {
      assert.deepEqual(await first.tokenBook.read(), []);
      await watch.start();
      const beside = { tokenBook: first.beside, clock };
      const made = [];
      for (const owner of ['bruno', 'carla'])
        made.push(await createToken(beside, ana, { owner, role: 'risk', days: 1 }));
      const ids = made.map(({ id }) => id);
      revokedId = ids[0]!;
      const heard = async (is: () => boolean) => {
        const startedAt = performance.now();
        while (!is() && performance.now() - startedAt < 5_000) await sleep(20);
        assert.ok(is(), 'not heard within 5 seconds');
      };
      await heard(() => watch.tokens().length === 2);
      assert.ok(watch.isCurrent());
      assert.equal((await revokeToken(beside, ana, revokedId)).kind, 'revoked');
      await heard(() => watch.tokens().find(({ id }) => id === revokedId)?.isRevoked === true);
      assert.equal((await revokeToken({ ...beside, ...first }, ana, revokedId)).kind, 'revoked-before');
      assert.equal((await revokeToken(beside, ana, 'ffff')).kind, 'token-unknown');
      assert.deepEqual(await first.tokenBook.read(), await first.beside.read());
      assert.ok(made.every(({ token }) => token.length > 40));
    } finally {
      await watch.stop();
      await first.close();
    }
    const again = await kind.open(place);
    try {
      const listed = (await listTokens({ ...again, clock })).map(({ owner, revoked }) => [owner, revoked?.by ?? null]);
      assert.deepEqual(listed, [
        ['carla', null],
        ['bruno', 'ana'],
      ]);
    } finally {
      await again.close();
    }
  });

  test(`${kind.name}: a log-in begins one session, whichever process ends it, and log-out everywhere is heard by all`, async () => {
    const clock = createSystemClock();
    const { tokenBook, beside, close } = await kind.open(await kind.createPlace());
    const watch = watchTokens({ tokenBook, clock }, () => undefined);
    try {
      const order = { owner: 'ana', role: 'risk', issuer: 'http://issuer', subject: 's-1', sessionMs: 60_000 } as const;
      const books = [tokenBook, beside].map((book) => ({ tokenBook: book, clock }));
      const twice = await Promise.all(books.map((parts) => beginSession(parts, { ...order, id: 'a1' })));
      assert.deepEqual(twice.map(({ kind: outcome }) => outcome).sort(), ['begun', 'used-before']);
      assert.equal((await beginSession(books[0]!, { ...order, id: 'a1' })).kind, 'used-before');
      assert.equal((await beginSession(books[1]!, { ...order, id: 'b2' })).kind, 'begun');
      assert.equal((await beginSession(books[1]!, { ...order, id: 'c3', owner: 'bruno' })).kind, 'begun');
      await createToken(books[1]!, { by: 'ana', via: 'api' }, { owner: 'ana', role: 'risk', days: 1 });
      assert.equal(await endSessions(books[1]!, { by: 'ana', via: 'api' }), 2);
      assert.equal(await endSessions(books[0]!, { by: 'ana', via: 'api' }), 0);
      // Begun after it.
      assert.equal((await beginSession(books[0]!, { ...order, id: 'd4' })).kind, 'begun');
      await watch.look();
      const live = watch
        .tokens()
        .flatMap(({ isRevoked, ...known }) => (isRevoked ? [] : `${known.kind} ${known.owner} ${known.id}`));
      assert.deepEqual(live.map((text) => text.replace(/^(token \w+) .*/, '$1')).sort(), [
        'session ana d4',
        'session bruno c3',
        'token ana',
      ]);
      const shown = (await listTokens(books[0]!)).filter(({ revoked }) => revoked?.by === 'ana').map(({ id }) => id);
      assert.deepEqual(shown, ['b2', 'a1']);
    } finally {
      await watch.stop();
      await close();
    }
  });
}
