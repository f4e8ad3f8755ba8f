/** What somebody who answers a review is told, where another answer came first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestState } from '../../src/domain/states.ts';
import { decideReview } from '../../src/operating/reviews.ts';
import { createManualClock } from '../bidding/manual-clock.ts';
import { at, folded, requested, requestId } from '../bidding/parts.ts';

const waiting: RequestState = folded(requested(), {
  ...{ kind: 'review-asked', requestId, at: at + 1, queue: 'large', rules: ['Large'], until: at + 60_000 },
  ...{ otherwise: 'pass', ruleSetHash: 'a' },
});

type Parts = Parameters<typeof decideReview>[0];

/** The desk lives, and has folded `first` before the answer that is given. */
async function toldOf(first: { decision: 'pass' | 'bid'; reason: string }): Promise<string> {
  const clock = createManualClock(at + 10);
  const answer = { ...first, by: 'ana', via: 'api' as const, at: at + 10 };
  const states = [waiting, { ...waiting, review: { ...waiting.review!, answer } }];
  const parts = {
    clock,
    views: {
      read: async () => new Map([[requestId, { state: states.length > 1 ? states.shift()! : states[0]! }]]),
      applied: async () => 3,
    },
    log: { ends: async () => new Map([[0, 3]]) },
    control: { acknowledged: async () => [{ instance: 'a', at: at + 10, revision: 1 }] },
    append: async () => undefined,
    partitionOf: async () => 0,
  } as unknown as Parts;
  const who = { by: 'ana', via: 'api' } as const;
  return (await decideReview(parts, who, { requestId, decision: 'bid', reason: 'seen' })).kind;
}

test('an answer that another one of the same moment and person came before is told so (stranger, session 52)', async () => {
  assert.equal(await toldOf({ decision: 'bid', reason: 'seen' }), 'done');
  assert.equal(await toldOf({ decision: 'pass', reason: 'seen' }), 'answered');
  assert.equal(await toldOf({ decision: 'bid', reason: 'of another' }), 'answered');
});
