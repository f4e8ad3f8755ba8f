/** Appends in groups: nothing overtakes, nothing is lost, and what must be kept is tried again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOutbox } from '../../src/bidding/outbox.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { Fault } from '../../src/errors.ts';
import { createManualClock } from './manual-clock.ts';
import { passed } from './parts.ts';

function entry(key: string): NewEntry {
  return { topic: 'auctions', key, record: { ...passed(null), requestId: key } };
}

/** A log whose appends are decided by hand. */
function setUp() {
  const clock = createManualClock(0);
  const appends: { keys: string[]; take: () => void; refuse: () => void }[] = [];
  const refusals: unknown[] = [];
  const append = (entries: readonly NewEntry[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const refuse = (): void => reject(new Fault('log-unavailable', 'the disk is full'));
      appends.push({ keys: entries.map(({ key }) => key), take: resolve, refuse });
    });
  const log = { append } as Parameters<typeof createOutbox>[0]['log'];
  const outbox = createOutbox({ log, clock, retryMs: 100, onRefused: (fault) => refusals.push(fault) });
  return { clock, appends, refusals, outbox };
}

test('what comes in one turn goes together, and what comes later waits for no earlier append', async () => {
  const { clock, appends, outbox } = setUp();
  const done = [outbox.append([entry('a')]), outbox.append([entry('b'), entry('c')])];
  await clock.settle();
  done.push(outbox.append([entry('d')]), outbox.append([entry('e')]));
  await clock.settle();
  assert.deepEqual(
    appends.map(({ keys }) => keys),
    [
      ['a', 'b', 'c'],
      ['d', 'e'],
    ],
  );
  appends[1]!.take();
  assert.deepEqual(await Promise.all(done.slice(2)), [true, true]);
  appends[0]!.take();
  assert.deepEqual(await Promise.all(done), [true, true, true, true]);
});

test('a refused append says so to everybody in the group, and to nobody else', async () => {
  const { clock, appends, refusals, outbox } = setUp();
  const first = outbox.append([entry('a')]);
  await clock.settle();
  const second = outbox.append([entry('b')]);
  appends[0]!.refuse();
  assert.equal(await first, false);
  await clock.settle();
  appends[1]!.take();
  assert.equal(await second, true);
  assert.equal(refusals.length, 1);
});

test('keep tries until it is durable, then no more', async () => {
  const { clock, appends, outbox } = setUp();
  let kept = false;
  const keeping = outbox.keep([entry('a')]).then((isKept) => {
    kept = isKept;
  });
  await clock.settle();
  appends[0]!.refuse();
  await clock.advance(99);
  assert.equal(appends.length, 1);
  await clock.advance(1);
  assert.equal(appends.length, 2);
  assert.equal(kept, false);
  appends[1]!.take();
  await keeping;
  assert.equal(kept, true);
  await clock.advance(1_000);
  assert.equal(appends.length, 2);
});

test('close waits for what is under way and lets keep give up', async () => {
  const { clock, appends, outbox } = setUp();
  const keeping = outbox.keep([entry('a')]);
  await clock.settle();
  let closed = false;
  const closing = outbox.close().then(() => {
    closed = true;
  });
  await clock.settle();
  assert.equal(closed, false);
  appends[0]!.refuse();
  assert.equal(await keeping, false);
  await closing;
  await clock.advance(1_000);
  assert.equal(appends.length, 1);
});

test('after a refusal what comes goes together, once in a while, and at once again when the log takes it', async () => {
  const { clock, appends, outbox } = setUp();
  const first = outbox.append([entry('0')]);
  await clock.settle();
  appends[0]!.refuse();
  assert.equal(await first, false);
  const later: Promise<boolean>[] = [];
  for (let index = 1; index <= 50; index += 1) {
    later.push(outbox.append([entry(String(index))]));
    await clock.advance(1);
  }
  assert.equal(appends.length, 1);
  await clock.advance(50);
  assert.equal(appends.length, 2);
  assert.equal(appends[1]!.keys.length, 50);
  appends[1]!.take();
  assert.ok((await Promise.all(later)).every((durable) => durable));
  const last = outbox.append([entry('last')]);
  await clock.settle();
  appends[2]!.take();
  assert.equal(await last, true);
});
