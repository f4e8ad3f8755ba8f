import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ViewChange } from '../../src/bidding/ports.ts';
import { windowKeys } from '../../src/domain/cap-book.ts';
import { createMemoryViews, type ExposureMove } from '../../src/impact/memory-views.ts';

const hourMs = 3_600_000;
const startsAt = 480_000 * hourMs;
const validUntil = startsAt + 24 * hourMs;

function played(then: ViewChange) {
  const moves: ExposureMove[] = [];
  const { views, apply, advance } = createMemoryViews((move) => moves.push(move));
  const [bucket] = windowKeys('desk', 240, startsAt);
  const caps = [
    { cap: 'open', keys: ['open'], limitAmountCents: null, limitCount: null },
    { cap: 'days', keys: [bucket!], limitAmountCents: null, limitCount: null },
  ];
  const order = { requestId: '7', amountCents: 500_000, expiresAt: validUntil, caps, at: startsAt, force: false };
  advance(startsAt);
  apply([{ kind: 'reserve', ...order }, then]);
  const centsAt = async (at: number) => {
    advance(at);
    const usage = await views.usage(['open', bucket!], at);
    return [usage.get('open')!.amountCents, usage.get(bucket!)!.amountCents];
  };
  return { moves, centsAt };
}

test('20, line 10: a replay counts a loan under a window of hours until the window has passed it', async () => {
  const { moves, centsAt } = played({ kind: 'commit', requestId: '7', expiresAt: validUntil });
  assert.deepEqual(await centsAt(validUntil - 1), [500_000, 500_000]);
  assert.deepEqual(await centsAt(validUntil), [0, 500_000]);
  assert.deepEqual(await centsAt(startsAt + 720 * hourMs), [0, 500_000]);
  assert.deepEqual(await centsAt(startsAt + 800 * hourMs), [0, 0]);
  assert.deepEqual(
    moves.map(({ amountCents }) => amountCents),
    [500_000, -500_000],
    'it leaves the exposure once',
  );
});

test('a replay counts a bid that was not won under nothing once its validity is over', async () => {
  const { moves, centsAt } = played({
    kind: 'learn',
    keys: [],
    additions: [],
    at: startsAt,
    halfLives: { halfLifeMs: 1, halfLifeResults: 1 },
  });
  assert.deepEqual(await centsAt(validUntil), [0, 0]);
  assert.equal(moves.length, 2);
});
