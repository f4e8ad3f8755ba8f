/** How many claims are begun: for the slots that are free, and for those that will be when the claim is read back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgenda } from '../../src/bidding/agenda.ts';
import { createClaimDesk } from '../../src/bidding/claim-desk.ts';
import { createOfferQueue } from '../../src/bidding/offer-queue.ts';
import { createSendLimit } from '../../src/bidding/send-limit.ts';
import type { Claimed } from '../../src/domain/records.ts';
import { createManualClock } from './manual-clock.ts';
import { at, folded, offer, requested, settings, trace } from './parts.ts';

const slots = 16;
const offers = 400;

/** Claims take `claimMs` to be read back and `heldMs` to be sent; returns the most of both together, and how many were sent. */
async function play(
  claimMs: number,
  heldMs: number,
  forMs: number,
  live = { ruleSetHash: trace.ruleSetHash, controlRevision: 1 },
  { decidedAt, startsAt }: { decidedAt: number; startsAt: number } = { decidedAt: trace.decidedAt, startsAt: at },
) {
  const decidedAnew: string[] = [];
  const clock = createManualClock(startsAt);
  const queue = createOfferQueue(offers);
  let sending = 0;
  let sent = 0;
  let mostUnderWay = 0;
  const waiting: string[] = [];
  const records: unknown[] = [];
  const sendNext = () => {
    while (sending < slots && waiting.length > 0) {
      waiting.shift();
      sending += 1;
      clock.schedule(clock.now() + heldMs, () => {
        sending -= 1;
        sent += 1;
        sendNext();
        desk.pump();
      });
    }
  };
  const desk = createClaimDesk({
    instance: 'a',
    clock,
    service: { networkP99Ms: () => 0, clockSkewMs: () => 0 } as never,
    settings,
    observer: () => undefined,
    queue,
    gate: { isOpen: () => true, control: () => ({ revision: live.controlRevision }) } as never,
    policy: () => ({ ruleSet: { hash: live.ruleSetHash }, settingsHash: trace.settingsHash }) as never,
    decideAnew: (requestIds) => decidedAnew.push(...requestIds),
    endCode: (otherwise) => otherwise,
    ledger: { get: () => ({ state: folded(requested()), reservation: 'none' }) } as never,
    outbox: {
      append: async (entries: readonly { key: string; record: unknown }[]) => {
        records.push(...entries.map(({ record }) => record));
        clock.schedule(clock.now() + claimMs, () => {
          for (const { key } of entries) {
            desk.forget(key);
            waiting.push(key);
          }
          sendNext();
          desk.pump();
        });
        return true;
      },
    } as never,
    agenda: createAgenda(clock, () => undefined),
    sender: {
      count: () => sending + waiting.length,
      retrying: () => 0,
      untried: () => sending + waiting.length,
      heldMs: () => heldMs,
      wrote: () => undefined,
    },
    sendLimit: { ...createSendLimit(slots), current: () => slots },
    owns: () => true,
    isEnding: () => false,
    end: () => assert.fail('no offer ends here'),
    spawn: (work) => void work,
  });
  const far = at + 1e9;
  const decided = { ...trace, decidedAt };
  for (let each = 0; each < offers; each += 1) {
    queue.push({
      requestId: `r${each}`,
      offer,
      trace: decided,
      body: '{}',
      deadlineAt: far,
      queuedAt: at,
      controlRevision: 1,
    });
  }
  desk.pump();
  for (let passed = 0; passed < forMs; passed += 5) {
    mostUnderWay = Math.max(mostUnderWay, desk.count() + sending + waiting.length);
    await clock.advance(5);
  }
  return { mostUnderWay, sent, records, decidedAnew };
}

test('a log that is slow beside the service does not leave slots empty', async () => {
  const { sent, mostUnderWay } = await play(50, 50, 1_000);
  // One claim after the other would keep half the slots busy: 160.
  assert.ok(sent > 250, `${sent} sent`);
  assert.equal(mostUnderWay, 2 * slots);
});

test('a log that is quick beside the service is not written far ahead', async () => {
  const { sent, mostUnderWay } = await play(5, 200, 2_000);
  assert.ok(mostUnderWay <= slots + 1, `${mostUnderWay} under way`);
  assert.ok(sent >= 8 * slots, `${sent} sent`);
});

test('a claim carries the settings that its fold needs', async () => {
  const { records } = await play(50, 50, 100);
  const { resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs } = settings;
  assert.ok(records.length > 0);
  for (const record of records as Claimed[])
    assert.deepEqual(record.terms, { resultTimeoutMs, contemplationTimeoutMs, graceMs, halfLifeMs });
});

test('offers that were decided before an order or under another set are decided anew, not sent (stranger, session 38)', async () => {
  const { ruleSetHash } = trace;
  for (const live of [
    { ruleSetHash, controlRevision: 2 },
    { ruleSetHash: 'another', controlRevision: 1 },
  ]) {
    const { records, decidedAnew } = await play(50, 50, 100, live);
    assert.equal(records.length, 0);
    assert.equal(new Set(decidedAnew).size, offers);
    assert.equal(decidedAnew.length, offers);
  }
});

test('an offer of an hour ago, or of a minute, is decided anew, so that it counts under the caps of now (stranger, session 52)', async () => {
  const hourMs = 3_600_000;
  const startsAt = Math.ceil(at / hourMs) * hourMs + 30_000;
  for (const decidedAt of [startsAt - 30_001, startsAt + 30_000 - hourMs]) {
    const { records, decidedAnew } = await play(50, 50, 100, undefined, { decidedAt, startsAt });
    assert.deepEqual([records.length, new Set(decidedAnew).size], [0, offers]);
  }
  // Minutes away from a quarter of an hour: the last one of a day begins the eve of the next.
  const midHour = startsAt + 37 * 60_000;
  const old = await play(50, 50, 100, undefined, { decidedAt: midHour - 60_001, startsAt: midHour });
  assert.deepEqual([old.records.length, new Set(old.decidedAnew).size], [0, offers]);
  const fresh = await play(50, 50, 100, undefined, { decidedAt: midHour - 59_000, startsAt: midHour });
  assert.ok(fresh.records.length > 0);
  assert.deepEqual(fresh.decidedAnew, []);
});
