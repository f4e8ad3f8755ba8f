/** A claim that was folded while views lacked something: nothing is written before room was found for it after all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBidSender } from '../../src/bidding/bid-sender.ts';
import type { Gate } from '../../src/bidding/gate.ts';
import type { Ledger } from '../../src/bidding/ledger.ts';
import type { LedgerRow, Service, Views } from '../../src/bidding/ports.ts';
import { createSendLimit } from '../../src/bidding/send-limit.ts';
import type { CapVerdict } from '../../src/domain/cap-book.ts';
import type { Usage } from '../../src/domain/offer.ts';
import { Fault } from '../../src/errors.ts';
import { createTestVault } from '../wire/vault.ts';
import { createManualClock } from './manual-clock.ts';
import { at, claimed, deadlineAt, folded, offer, requested, requestId, settings, trace } from './parts.ts';

const limitAmountCents = 2 * offer.amountCents;
const caps = [{ keys: ['day|all'], limitAmountCents, limitCount: null }];

const recordsBy = (instance: string) => [requested(), claimed(`${instance}:1`, { trace: { ...trace, caps } })];

const place = { partition: 0, key: requestId };

type Answer = Usage | 'not whole' | 'no answer';

/**
 * `answers`: what the views say of the cap, time after time; the last one again and again. `verdict`: what the cap book says first, of
 * views that have one.
 */
function setUp(answers: readonly Answer[], over: { instance?: string; hadRoom?: boolean; verdict?: CapVerdict } = {}) {
  const clock = createManualClock(at + 10);
  const records = recordsBy(over.instance ?? 'me');
  const row: LedgerRow = {
    state: folded(...records),
    reservation: 'held',
    hadRoom: over.hadRoom ?? false,
  };
  /** `reading`: everything is read again, and nothing is at hand. */
  const world = {
    reading: false,
    verdict: over.verdict ?? ('pending' as CapVerdict),
    answer: 'accepted' as 'accepted' | 'lost',
    /** Hears of each byte before it is written. */
    onWrite: () => {},
    /** Hears of each look at the cap. */
    onLook: () => {},
  };
  const bytes: string[] = [];
  let asked = 0;
  const verdicts: NonNullable<Views['verdicts']> = {
    of: (partition, asked) => {
      assert.deepEqual([partition, asked], [7, requestId]);
      return world.verdict;
    },
    areToBeHad: () => true,
    changed: (withinMs) => new Promise((resolve) => clock.after(withinMs, resolve)),
  };
  const service: Pick<Service, 'placeBid' | 'networkP99Ms' | 'clockSkewMs'> = {
    placeBid: async ({ body, mayWrite }) => {
      world.onWrite();
      if (!mayWrite()) return { kind: 'not-landed', reason: 'stopped', retryAt: null };
      bytes.push(body);
      if (world.answer === 'lost') {
        return { kind: 'unknown', reason: 'connection-lost', response: null, firstByteAt: clock.now() };
      }
      return {
        kind: 'answered',
        outcome: { kind: 'accepted', bidId: 'ours' },
        response: { status: 200, body: '' },
        firstByteAt: clock.now(),
      };
    },
    networkP99Ms: () => 40,
    clockSkewMs: () => 0,
  };
  const sender = createBidSender({
    instance: 'me',
    isBidOf: () => true,
    service: service as Service,
    vault: createTestVault(),
    clock,
    chance: () => 0.5,
    settings,
    earlierTerms: settings,
    observer: () => {},
    soleOwner: false,
    stopping: () => false,
    gate: { isOpen: () => true, control: () => null } as Gate,
    endCode: (otherwise) => otherwise,
    ledger: {
      get: () => (world.reading ? null : row),
      partitionOf: () => (world.reading ? null : 7),
    } as unknown as Ledger,
    log: { readKey: async () => records.map((record, offset) => ({ ...place, offset, record }) as never) },
    views: {
      wholeUsage: async (keys) => {
        assert.deepEqual(keys, ['day|all']);
        world.onLook();
        const answer = answers[Math.min(asked, answers.length - 1)]!;
        asked += 1;
        if (answer === 'no answer') throw new Fault('views-unavailable', 'no answer');
        return answer === 'not whole' ? null : new Map([['day|all', answer]]);
      },
      ...(over.verdict === undefined ? {} : { verdicts }),
    },
    isLive: () => !world.reading,
    owns: () => true,
    onRoom: () => undefined,
    sendLimit: createSendLimit(settings.sendLimit),
  });
  let ending: Awaited<ReturnType<typeof sender.send>> | undefined;
  if (over.instance === undefined) sender.wrote({ requestId, ...row.state.claim! });
  void sender.send(row).then((record) => {
    ending = record;
  });
  return { clock, world, bytes, asked: () => asked, ending: () => ending, sender };
}

const fits: Usage = { amountCents: limitAmountCents, count: 2 };
const tooMuch: Usage = { amountCents: limitAmountCents + 1, count: 3 };

test('a claim that had room is sent without another look', async () => {
  const { clock, bytes, asked } = setUp([tooMuch], { hadRoom: true });
  await clock.settle();
  assert.deepEqual([bytes.length, asked()], [1, 0]);
});

test('while the views are not whole, or do not answer, nothing is written; then it is', async () => {
  const { clock, bytes, ending } = setUp(['not whole', 'no answer', 'not whole', fits]);
  await clock.settle();
  assert.deepEqual(bytes, []);
  for (let step = 0; step < 2; step += 1) await clock.advance(settings.retryFirstMs);
  assert.deepEqual(bytes, []);
  await clock.advance(settings.retryFirstMs);
  assert.equal(bytes.length, 1);
  const record = ending();
  assert.equal(record?.kind === 'answered' && record.outcome.kind, 'accepted');
});

test('without room a claim of this process passes, and says that others may have sent it', async () => {
  const { clock, bytes, ending, sender } = setUp([tooMuch]);
  await clock.settle();
  assert.deepEqual(bytes, []);
  const record = ending();
  assert.ok(record?.kind === 'passed');
  assert.deepEqual([record.code, record.claimId, record.maybeSent], ['cap', 'me:1', true]);
  assert.equal(sender.isSending(requestId), false);
});

test('without room the claim of another process is not sent again, and stays promised', async () => {
  const { clock, bytes, ending } = setUp([tooMuch], { instance: 'another' });
  await clock.settle();
  assert.deepEqual(bytes, []);
  const record = ending();
  assert.ok(record?.kind === 'answered');
  assert.deepEqual([record.outcome.kind, record.earlierAttemptPossible, record.attempts], ['unknown', true, 0]);
});

test('without room a claim that is lost while the cap is looked at is left to its new owner', async () => {
  const { clock, world, bytes, ending, sender } = setUp([tooMuch], { instance: 'another' });
  world.onLook = () => sender.abandon(requestId);
  await clock.settle();
  assert.deepEqual([bytes, ending() ?? null, sender.isSending(requestId)], [[], null, false]);
});

test('views that are never whole before the deadline let nothing out', async () => {
  const { clock, bytes, ending } = setUp(['not whole']);
  await clock.settle();
  while (clock.now() < deadlineAt) await clock.advance(settings.retryFirstMs);
  assert.deepEqual(bytes, []);
  assert.ok(ending()?.kind === 'answered');
});

test('read again meanwhile, a claim still needs the room that nobody has found for it', async () => {
  const { clock, world, bytes, ending } = setUp(['not whole', 'not whole', 'not whole', tooMuch]);
  await clock.settle();
  world.reading = true;
  await clock.advance(settings.retryFirstMs);
  world.reading = false;
  await clock.advance(3 * settings.retryFirstMs);
  assert.deepEqual(bytes, []);
  assert.ok(ending()?.kind === 'passed');
});

test('with a cap book nothing is written before its verdict; then it is, and the views are not asked for room', async () => {
  const { clock, world, bytes, asked, ending } = setUp([tooMuch], { verdict: 'pending' });
  await clock.settle();
  await clock.advance(10 * settings.retryFirstMs);
  assert.deepEqual([bytes, ending()], [[], undefined]);
  world.verdict = 'granted';
  await clock.advance(settings.retryFirstMs);
  assert.deepEqual([bytes.length, asked()], [1, 0]);
  const record = ending();
  assert.equal(record?.kind === 'answered' && record.outcome.kind, 'accepted');
});

for (const instance of [undefined, 'another']) {
  const whose = instance === undefined ? 'this process' : 'another process';
  test(`a claim of ${whose} that the cap book refuses passes, and one that it has forfeited stays promised`, async () => {
    const refused = setUp([fits], { verdict: 'refused', ...(instance === undefined ? {} : { instance }) });
    await refused.clock.settle();
    const pass = refused.ending();
    assert.ok(pass?.kind === 'passed');
    assert.deepEqual([pass.code, pass.maybeSent, refused.bytes.length], ['cap', true, 0]);
    const forfeited = setUp([fits], { verdict: 'forfeited', ...(instance === undefined ? {} : { instance }) });
    await forfeited.clock.settle();
    const record = forfeited.ending();
    assert.ok(record?.kind === 'answered');
    assert.deepEqual([record.outcome.kind, record.attempts, forfeited.bytes.length], ['unknown', 0, 0]);
  });
}

test('a verdict that goes away right before the first byte keeps it back until there is one again', async () => {
  const { clock, world, bytes } = setUp([fits], { verdict: 'granted' });
  world.onWrite = () => {
    world.verdict = 'pending';
  };
  await clock.settle();
  assert.deepEqual(bytes, []);
  world.onWrite = () => {};
  await clock.advance(5 * settings.retryFirstMs);
  assert.deepEqual(bytes, [], 'the gate is closed meanwhile');
  world.verdict = 'granted';
  await clock.advance(settings.retryFirstMs);
  assert.equal(bytes.length, 1);
});

test('a claim that was written and is forfeited then is not written again, and its end says so', async () => {
  const { clock, world, bytes, ending } = setUp([fits], { verdict: 'granted' });
  world.answer = 'lost';
  await clock.settle();
  assert.equal(bytes.length, 1);
  world.verdict = 'forfeited';
  await clock.advance(5_000);
  const record = ending();
  assert.ok(record?.kind === 'answered');
  assert.deepEqual([record.outcome.kind, record.attempts, bytes.length], ['unknown', 1, 1]);
  assert.match(record.outcome.kind === 'unknown' ? record.outcome.reason : '', /cap book was lost/);
});

test('without a verdict before the deadline nothing is written', async () => {
  const { clock, bytes, ending } = setUp([fits], { verdict: 'pending' });
  await clock.settle();
  while (clock.now() < deadlineAt) await clock.advance(settings.retryFirstMs);
  assert.deepEqual([bytes.length, ending()?.kind], [0, 'answered']);
});
