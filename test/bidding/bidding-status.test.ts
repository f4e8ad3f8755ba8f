/** What an answer's reason says of the service, and that every cause has its words in both languages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedCauses, createBiddingWatch, troubleOfReason } from '../../src/bidding/bidding-status.ts';
import type { ServiceReason } from '../../src/bidding/ports.ts';
import { languages, textsIn } from '../../src/cli/texts.ts';
import { manualClock } from '../sandbox/clocks.ts';

test('every reason of an answer says one thing of the service', () => {
  const said = {
    unauthorised: 'service-unauthorised',
    throttled: 'service-throttled',
    unreachable: 'service-unreachable',
    'headers-timeout': 'service-unreachable',
    'body-timeout': 'service-unreachable',
    'connection-lost': 'service-unreachable',
    'answer-too-large': 'service-unreachable',
    'answer-too-slow': 'service-unreachable',
    'answer-unreadable': 'service-unreachable',
    'unreadable-success': 'service-unreachable',
    'status-503': 'service-unreachable',
    deadline: null,
    stopped: null,
    'worker-not-identified': null,
    'too-many-queries': null,
  } satisfies Record<Exclude<ServiceReason, `status-${number}`> | 'status-503', string | null>;
  for (const [reason, trouble] of Object.entries(said))
    assert.equal(troubleOfReason(reason as ServiceReason), trouble, reason);
});

test('a pause keeps its reason however often it is asked for, and one ordered again is told as it is', () => {
  let pause = { by: 'ana', reason: 'rates', at: 1_000 };
  const watch = createBiddingWatch({
    clock: manualClock(5_000),
    gate: {
      closedBecause: () => 'paused',
      control: () => ({ revision: 1, pause, caps: {}, ruleOrders: [], changes: [] }),
    },
    health: { trouble: () => null },
    partitionsNotLive: () => null,
    observer: () => undefined,
  });
  const closed = { kind: 'closed', cause: 'paused' };
  for (let asked = 0; asked < 3; asked += 1)
    assert.deepEqual(watch.status(), { ...closed, since: 1_000, by: 'ana', detail: 'rates' });
  pause = { by: 'rui', reason: 'month end', at: 2_000 };
  assert.deepEqual(watch.status(), { ...closed, since: 2_000, by: 'rui', detail: 'month end' });
});

test('every cause is named, with its remedy, in both languages', () => {
  for (const language of languages) {
    const { causes, remedies } = textsIn(language).bidding;
    assert.deepEqual(Object.keys(causes).sort(), [...closedCauses].sort());
    assert.deepEqual(Object.keys(remedies).sort(), [...closedCauses].sort());
  }
  const [pt, en] = languages.map((language) => textsIn(language).bidding);
  for (const cause of closedCauses) assert.notEqual(pt!.remedies[cause], en!.remedies[cause]);
});
