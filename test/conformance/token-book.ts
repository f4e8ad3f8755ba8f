/** What any book of tokens must do: every entry kept in order, whoever wrote it, also when it is asked again and again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { TokenBook } from '../../src/bidding/ports.ts';
import { createToken, listTokens, revokeToken, watchTokens } from '../../src/operating/tokens.ts';

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
      watch.stop();
      await first.close();
    }
    const again = await kind.open(place);
    try {
      const listed = (await listTokens(again)).map(({ owner, revoked }) => [owner, revoked?.by ?? null]);
      assert.deepEqual(listed, [
        ['carla', null],
        ['bruno', 'ana'],
      ]);
    } finally {
      await again.close();
    }
  });
}
