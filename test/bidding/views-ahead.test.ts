/** Views that are ahead of their log are refused; ones that are behind it, or that others fold on meanwhile, are not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callbackPartition } from '../../src/bidding/ports.ts';
import { refuseViewsAhead } from '../../src/bidding/views-ahead.ts';
import type { Topic } from '../../src/domain/records.ts';
import { createManualClock } from './manual-clock.ts';

const topics = ['auctions', 'callbacks', 'flows'] as const;
type Heard = (typeof topics)[number];

/** Two partitions of each topic. `ends`: of partition 1, as they are told one after the other; the last one stays. */
async function refuse(position: Partial<Record<Heard, number>>, ends: Partial<Record<Heard, readonly number[]>>) {
  const clock = createManualClock(1_763_700_000_000);
  const told = new Map<Topic, number>();
  const at = (topic: Heard) => (partition: number) => Promise.resolve(partition === 1 ? (position[topic] ?? 0) : 0);
  const store = {
    log: {
      ends: async (topic: Topic) => {
        const list = ends[topic as Heard] ?? [0];
        const count = told.get(topic) ?? 0;
        told.set(topic, count + 1);
        return new Map([
          [0, 0],
          [1, list[Math.min(count, list.length - 1)]!],
        ]);
      },
    },
    views: {
      applied: (partition: number) =>
        partition < 0 ? at('callbacks')(callbackPartition(partition)) : at('auctions')(partition),
    },
    flows: { applied: at('flows') },
  };
  let ended = false;
  const outcome = refuseViewsAhead(store, clock)
    .then(
      () => null,
      (fault: unknown) => fault as Error,
    )
    .finally(() => {
      ended = true;
    });
  const startedAt = clock.monotonicMs();
  while (!ended) await clock.advance(100);
  return { fault: await outcome, waitedMs: clock.monotonicMs() - startedAt };
}

for (const topic of topics) {
  test(`views that have read more of ${topic} than it holds are refused, with the place and a remedy`, async () => {
    const { fault } = await refuse({ [topic]: 12 }, { [topic]: [9] });
    assert.match(String(fault?.message), new RegExp(`${topic}/1 up to 12, and it ends at 9.*accept-restore`));
    assert.equal((fault as { code?: string }).code, 'store-set-back');
  });
}

test('views that are behind, or as far as the log, are not refused, and nothing is waited for', async () => {
  const ends = { auctions: [9], callbacks: [5], flows: [0] };
  const { fault, waitedMs } = await refuse({ auctions: 9, callbacks: 4 }, ends);
  assert.equal(fault, null);
  assert.ok(waitedMs <= 100, `${waitedMs} ms`);
});

test('an end that a new leader tells late is waited for', async () => {
  const { fault, waitedMs } = await refuse({ auctions: 9 }, { auctions: [7, 7, 7, 7, 9] });
  assert.equal(fault, null);
  assert.ok(waitedMs >= 1_000, `${waitedMs} ms`);
});
