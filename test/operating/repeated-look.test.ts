/** Whoever closes what is looked at waits for the look that is under way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { TokenBook } from '../../src/bidding/ports.ts';
import { watchTokens } from '../../src/operating/tokens.ts';
import { createRuleWatch } from '../../src/rule-watch.ts';
import { createFolder, filesNamed, setNamed, shippedMapping } from '../bidding/rule-sets.ts';

test('the watch of the tokens has stopped when its reading has ended', async () => {
  const reading = Promise.withResolvers<void>();
  let isRead = false;
  const tokenBook: TokenBook = {
    read: async () => {
      await reading.promise;
      await sleep(20);
      isRead = true;
      return [];
    },
    append: async () => undefined,
  };
  const watch = watchTokens({ tokenBook, clock: createSystemClock() }, () => undefined);
  void watch.start();
  const stopped = watch.stop();
  await sleep(20);
  assert.equal(isRead, false);
  reading.resolve();
  await stopped;
  assert.equal(isRead, true);
});

test('a watch of the rules that stops lets nobody wait for its verdict', async () => {
  const folder = createFolder(filesNamed('one'));
  const watch = createRuleWatch({
    ...{ directory: folder.path, restMs: 50, followedRestMs: 1_000, leastCoveragePercent: 0 },
    mapping: shippedMapping(),
  });
  const asked = watch.check(setNamed('one').source);
  const refused = assert.rejects(asked, { code: 'rules-unchecked' });
  await watch.stop();
  await refused;
  await assert.rejects(watch.check(setNamed('one').source), { code: 'rules-unchecked' });
  folder.remove();
});
