/** One claim on its way: the same bytes until there is an answer, never after the cutoff, never through a closed gate. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evolve } from '../../src/bidding/evolve.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { BidAnswer, BidAttempt, Service } from '../../src/bidding/ports.ts';
import { type ClaimWatch, cutoffOf, type SendJob, type SendWorld, sendClaim } from '../../src/bidding/send-claim.ts';
import { type AttemptEnd, createSendLimit } from '../../src/bidding/send-limit.ts';
import { refusedInDoubt } from '../../src/domain/offer.ts';
import type { Answered, Passed } from '../../src/domain/records.ts';
import { sealedPlaces } from '../../src/domain/vault.ts';
import { createTestVault } from '../wire/vault.ts';
import { createManualClock } from './manual-clock.ts';
import { accepted, at, claimed, deadlineAt, folded, requested, requestId, settings } from './parts.ts';

const vault = createTestVault();

const claim = folded(requested(), claimed('a:1')).claim!;
const response = { status: 200, body: 'as received' };
type Script = (now: number, attempt: BidAttempt) => BidAnswer;

/** Plays `script` answer by answer; the last one again and again. */
function setUp(
  script: readonly Script[],
  job: Partial<SendJob> = {},
  gateOpen = true,
  more: Partial<SendWorld & ClaimWatch> = {},
) {
  const clock = createManualClock(at + 10);
  const attempts: { at: number; attempt: BidAttempt }[] = [];
  const events: DeskEvent[] = [];
  const places: string[] = [];
  const world = { gateOpen, stopping: false, over: false, ended: false, overruled: false, othersMaySend: false };
  const service: Pick<Service, 'placeBid' | 'networkP99Ms' | 'clockSkewMs'> = {
    placeBid: async (attempt) => {
      const play = script[Math.min(attempts.length, script.length - 1)]!;
      attempts.push({ at: clock.now(), attempt });
      return play(clock.now(), attempt);
    },
    networkP99Ms: () => 40,
    clockSkewMs: () => 0,
  };
  const sendWorld: SendWorld & ClaimWatch = {
    service: service as Service,
    vault,
    clock,
    chance: () => 0.5,
    settings,
    observer: (event) => events.push(event),
    soleOwner: true,
    gateOpen: () => world.gateOpen,
    endCode: (otherwise) => (world.gateOpen ? otherwise : 'paused'),
    stopping: () => world.stopping,
    over: () => world.over,
    auctionEnded: () => world.ended,
    isOverruled: () => world.overruled,
    othersMaySend: () => world.othersMaySend,
    sendLimit: createSendLimit(settings.sendLimit),
    inFlight: () => 1,
    ownDelay: { measure: () => undefined, ms: () => 0 },
    place: {
      take: async () => places.push('taken') > 0,
      giveUp: (restMs) => void places.push(`given up for ${restMs} ms`),
    },
    ...more,
  };
  let ending: Answered | Passed | null | undefined;
  void sendClaim(sendWorld, sendWorld, { requestId, claim, deadlineAt, receivedAt: at, inherited: false, ...job }).then(
    (record) => {
      ending = record;
    },
  );
  const ended = (): Answered | Passed | null => {
    assert.notEqual(ending, undefined, 'still sending');
    return ending!;
  };
  return { clock, attempts, events, places, world, ended, isSending: () => ending === undefined };
}

const lands: Script = (now) => ({
  kind: 'answered',
  outcome: { kind: 'accepted', bidId: 'ours' },
  response,
  firstByteAt: now,
});
const lost: Script = (now) => ({ kind: 'unknown', reason: 'connection-lost', response: null, firstByteAt: now });
function turnedAway(
  reason: Extract<BidAnswer, { kind: 'not-landed' }>['reason'],
  retryAt: number | null = null,
): Script {
  return () => ({ kind: 'not-landed', reason, retryAt });
}
const cutoff = deadlineAt - settings.skewAllowanceMs - 40;

function asAnswered(record: Answered | Passed | null): Answered {
  assert.equal(record?.kind, 'answered');
  return record as Answered;
}

test('an answer ends the claim with what was received', async () => {
  const { clock, attempts, ended } = setUp([lands]);
  await clock.settle();
  const record = asAnswered(ended());
  assert.deepEqual(record.outcome, accepted);
  assert.deepEqual([record.claimId, record.attempts, record.earlierAttemptPossible], ['a:1', 1, false]);
  assert.equal(record.firstByteAt, at + 10);
  const { status, body, sealedBody } = record.response!;
  assert.deepEqual([status, body], [response.status, null]);
  assert.equal(vault.open(sealedPlaces.bidAnswer(requestId), sealedBody!), response.body);
  assert.deepEqual([attempts[0]!.attempt.body, attempts[0]!.attempt.deadlineAt], [claim.body, cutoff]);
});

test('a cap by hand that is set or lowered after the decision stops a claim that was not tried here, and no other (stranger, session 38)', async () => {
  const waiting = setUp([lands], {}, false);
  await waiting.clock.settle();
  waiting.world.overruled = true;
  waiting.world.gateOpen = true;
  await waiting.clock.advance(100);
  const pass = waiting.ended() as Passed;
  assert.deepEqual([pass.kind, pass.code, pass.claimId, pass.maybeSent], ['passed', 'cap-lowered', 'a:1', undefined]);
  assert.equal(waiting.attempts.length, 0);

  // While it waits for a connection, in the turn in which the first byte would be written.
  let overruled = false;
  const script: Script = (now, attempt) => {
    overruled = true;
    return attempt.mayWrite() ? lands(now, attempt) : turnedAway('stopped')(now, attempt);
  };
  const atTheWire = setUp([script], {}, true, { isOverruled: () => overruled });
  await atTheWire.clock.advance(100);
  assert.equal((atTheWire.ended() as Passed).code, 'cap-lowered');

  const tried = setUp([lost, lands]);
  await tried.clock.settle();
  tried.world.overruled = true;
  await tried.clock.advance(1_000);
  assert.equal(asAnswered(tried.ended()).outcome.kind, 'accepted');
  assert.equal(tried.attempts.length, 2);

  const others = setUp([lands], {}, true, { soleOwner: false, isOverruled: () => true, othersMaySend: () => true });
  const found = setUp([lands], { inherited: true }, true, { isOverruled: () => true });
  for (const { clock, attempts, ended } of [others, found]) {
    await clock.settle();
    assert.equal(asAnswered(ended()).outcome.kind, 'unknown');
    assert.equal(attempts.length, 0);
  }
});

test('the codes of every attempt are told, the id of the bid once', async () => {
  const first: Script = (now) => ({
    kind: 'unknown',
    reason: 'status-503',
    codes: ['first'],
    response,
    firstByteAt: now,
  });
  const outside: Script = (now) => ({
    kind: 'answered',
    outcome: { kind: 'accepted-outside', bidId: 'bid' },
    codes: ['call', 'bid'],
    response,
    firstByteAt: now,
  });
  const { clock, ended } = setUp([first, outside]);
  await clock.advance(5_000);
  assert.deepEqual(asAnswered(ended()).codes, ['first', 'call']);
});

test('a refusal beside a code is an answer: the claim ends as unknown, and its bytes are not sent again', async () => {
  const doubtful: Script = (now) => ({
    kind: 'answered',
    outcome: { kind: 'unknown', reason: refusedInDoubt },
    codes: ['ours'],
    response,
    firstByteAt: now,
  });
  const { clock, attempts, ended, places } = setUp([doubtful, lands]);
  await clock.settle();
  const record = asAnswered(ended());
  assert.deepEqual(record.outcome, { kind: 'unknown', reason: 'refused-in-doubt', names: ['ours'] });
  assert.deepEqual([record.codes, record.attempts, attempts.length], [['ours'], 1, 1]);
  // It is no failure of the service: nobody makes room for it.
  assert.deepEqual(places, []);
  const state = evolve(folded(requested(), claimed('a:1')), record, settings);
  assert.deepEqual([state.phase, state.exposure], ['unknown', 'held']);
});

test('an inherited claim may have landed already', async () => {
  const { clock, events, ended } = setUp([lands], { inherited: true });
  await clock.settle();
  assert.equal(asAnswered(ended()).earlierAttemptPossible, true);
  assert.ok(!events.some((event) => event.kind === 'duration' && event.stage === 'received-to-first-byte'));
});

test('unknown: the same bytes again, after pauses that double up to the greatest', async () => {
  const { clock, attempts, ended } = setUp([lost, lost, lost, lost, lost, lost, lost, lands]);
  await clock.advance(20_000);
  const record = asAnswered(ended());
  assert.deepEqual([record.attempts, record.earlierAttemptPossible, record.firstByteAt], [8, true, at + 10]);
  assert.ok(attempts.every(({ attempt }) => attempt.body === claim.body));
  const pauses = attempts.slice(1).map((one, index) => one.at - attempts[index]!.at);
  assert.deepEqual(pauses, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
});

test('an attempt that failed gives its place to others; where it was throttled, the place rests first', async () => {
  for (const [script, expected] of [
    [lost, ['given up for 0 ms', 'taken']],
    [turnedAway('unreachable'), ['given up for 0 ms', 'taken']],
    [turnedAway('unauthorised'), ['given up for 0 ms', 'taken']],
    [turnedAway('throttled'), ['given up for 250 ms', 'taken']],
    [turnedAway('throttled', at + 3_010), ['given up for 3000 ms', 'taken']],
    [turnedAway('throttled', at + 60_000), ['given up for 5000 ms', 'taken']],
    [turnedAway('stopped'), []],
  ] as const) {
    const { clock, places, ended } = setUp([script, lands]);
    await clock.advance(6_000);
    assert.equal(asAnswered(ended()).outcome.kind, 'accepted');
    assert.deepEqual(places, expected);
  }
});

test('what fails again and again while others are answered says nothing of the service', async () => {
  for (const script of [lost, turnedAway('throttled')]) {
    for (const othersAreAnswered of [true, false]) {
      const limit = createSendLimit(settings.sendLimit);
      const ends: AttemptEnd[] = [];
      const sendLimit = {
        ...limit,
        heard: (end: AttemptEnd) => void ends.push(end),
        answeredAtMs: () => (othersAreAnswered ? clock.monotonicMs() : Number.NEGATIVE_INFINITY),
      };
      const { clock, places } = setUp([script], {}, true, { sendLimit });
      await clock.advance(8_000);
      assert.ok(ends.length > 4);
      const told = script === lost ? 'failed' : 'throttled';
      assert.deepEqual(new Set(ends.slice(0, 2)), new Set([told]));
      assert.deepEqual(new Set(ends.slice(2)), new Set([othersAreAnswered ? 'alone' : told]));
      assert.ok(places.length > 4);
    }
  }
});

test('unknown until the deadline stays unknown', async () => {
  const { clock, attempts, ended } = setUp([lost]);
  await clock.advance(40_000);
  const record = asAnswered(ended());
  assert.equal(record.outcome.kind, 'unknown');
  assert.ok(record.at < deadlineAt + settings.retryMaxMs);
  assert.ok(attempts.every((attempt) => attempt.at < cutoff));
});

test('not landed until the deadline: a pass, since no byte was ever written', async () => {
  const codes = {
    unreachable: 'service-unreachable',
    unauthorised: 'service-unauthorised',
    throttled: 'service-throttled',
    deadline: 'deadline',
  };
  for (const reason of Object.keys(codes) as (keyof typeof codes)[]) {
    const { clock, attempts, ended } = setUp([turnedAway(reason)]);
    await clock.advance(40_000);
    const record = ended();
    assert.equal(record?.kind, 'passed');
    assert.deepEqual([(record as Passed).code, (record as Passed).claimId], [codes[reason], 'a:1']);
    assert.ok(attempts.length > 5);
  }
});

test('not landed, but inherited: somebody else may have sent it', async () => {
  const { clock, ended } = setUp([turnedAway('unreachable')], { inherited: true });
  await clock.advance(40_000);
  assert.equal(asAnswered(ended()).outcome.kind, 'unknown');
});

test('Retry-After is waited for', async () => {
  const { clock, attempts, ended } = setUp([turnedAway('throttled', at + 5_000), lands]);
  await clock.advance(4_980);
  assert.equal(attempts.length, 1);
  await clock.advance(20);
  assert.deepEqual([attempts.length, asAnswered(ended()).earlierAttemptPossible], [2, false]);
});

test('Retry-After past the deadline, or of an hour, gives the slot back at the deadline and tries before', async () => {
  const { clock, attempts, ended } = setUp([turnedAway('throttled', at + 3_600_000)]);
  await clock.advance(cutoff - at);
  assert.equal((ended() as Passed).code, 'service-throttled');
  assert.ok(attempts.length >= 5, `${attempts.length} attempts`);
  const once = setUp([turnedAway('throttled', Number.MAX_SAFE_INTEGER), lands]);
  await once.clock.advance(5_000);
  assert.equal(asAnswered(once.ended()).outcome.kind, 'accepted');
});

test('no pause outlasts the deadline', async () => {
  const { clock, ended } = setUp([turnedAway('unauthorised', deadlineAt + 30_000)]);
  await clock.advance(cutoff - at);
  assert.equal((ended() as Passed).code, 'service-unauthorised');
});

test('a closed gate keeps everything back; opened in time it goes out', async () => {
  const { clock, attempts, world, ended } = setUp([lands], {}, false);
  await clock.advance(5_000);
  assert.equal(attempts.length, 0);
  world.gateOpen = true;
  await clock.advance(25);
  assert.deepEqual([attempts.length, asAnswered(ended()).outcome.kind], [1, 'accepted']);
});

test('paused until the deadline: passed as paused, nothing sent', async () => {
  const { clock, attempts, ended, isSending } = setUp([lands], {}, false);
  await clock.advance(10_000);
  assert.equal(isSending(), true);
  await clock.advance(30_000);
  assert.equal(attempts.length, 0);
  assert.equal((ended() as Passed).code, 'paused');
});

test('stopped at the first byte is tried again soon after the gate opens', async () => {
  const { clock, attempts, ended } = setUp([turnedAway('stopped'), lands]);
  await clock.advance(25);
  assert.equal(attempts.length, 2);
  assert.equal(asAnswered(ended()).attempts, 1);
});

test('stopping leaves the claim to the log', async () => {
  const { clock, world, ended } = setUp([lost]);
  await clock.settle();
  world.stopping = true;
  await clock.advance(200);
  assert.equal(ended(), null);
});

test('over elsewhere: silent when nothing was written, told when bytes are out', async () => {
  const silent = setUp([turnedAway('unreachable')]);
  await silent.clock.settle();
  silent.world.over = true;
  await silent.clock.advance(200);
  assert.equal(silent.ended(), null);
  const told = setUp([lost]);
  await told.clock.settle();
  told.world.over = true;
  await told.clock.advance(200);
  assert.equal(asAnswered(told.ended()).outcome.kind, 'unknown');
  assert.equal(told.attempts.length, 1);
});

test('the cutoff is what the clocks and the network leave of the deadline', () => {
  const service = (skewMs: number) => ({ networkP99Ms: () => 40, clockSkewMs: () => skewMs }) as Service;
  assert.equal(cutoffOf(deadlineAt, service(0), settings), cutoff);
  assert.equal(cutoffOf(deadlineAt, service(300), settings), cutoff - 300);
  // A service that is behind gives no time back.
  assert.equal(cutoffOf(deadlineAt, service(-300), settings), cutoff);
  // Both are measured; a time of day is whole.
  assert.equal(cutoffOf(deadlineAt, service(300.25), settings), cutoff - 301);
});

test('after the cutoff not one attempt is made', async () => {
  const { clock, attempts, ended } = setUp([lands], { deadlineAt: at + 1_050 });
  await clock.settle();
  assert.equal(attempts.length, 0);
  assert.equal((ended() as Passed).code, 'deadline');
});

test("the service's answer to a bid is stored sealed, and opens in its own record alone (defect line 12)", async () => {
  const { clock, ended } = setUp([
    (now): BidAnswer => ({
      kind: 'answered',
      outcome: { kind: 'rejected', code: 'unclassified' },
      response: { status: 400, body: '{"mensagem":"Planted Name, CPF 015.049.010-02"}' },
      firstByteAt: now,
    }),
  ]);
  await clock.settle();
  const record = asAnswered(ended());
  assert.doesNotMatch(JSON.stringify(record), /Planted|015\.?049/);
  const { sealedBody } = record.response!;
  assert.match(vault.open(sealedPlaces.bidAnswer(requestId), sealedBody!), /Planted Name, CPF 015/);
  assert.throws(() => vault.open(sealedPlaces.bidAnswer(`${requestId}1`), sealedBody!), { code: 'sealed-unreadable' });
});

test('an answer that is known to be harmless is stored as it came', async () => {
  const response = { status: 200, body: '{"CodigoRequisicao":"c-1"}' };
  const { clock, ended } = setUp([
    (now): BidAnswer => ({
      ...{
        kind: 'answered',
        outcome: { kind: 'accepted', bidId: 'c-1' },
        response,
        isHarmless: true,
        firstByteAt: now,
      },
    }),
  ]);
  await clock.settle();
  assert.deepEqual(asAnswered(ended()).response, response);
});

test('attempts in vain are told with the end, those in a row that ended alike as one', async () => {
  const { clock, ended } = setUp([
    turnedAway('throttled'),
    turnedAway('throttled'),
    turnedAway('unauthorised'),
    turnedAway('stopped'),
    lost,
    lands,
  ]);
  await clock.advance(5_000);
  const { hindrances } = asAnswered(ended());
  assert.deepEqual(
    hindrances?.map(({ kind, cause, count }) => [kind, cause, count]),
    [
      ['attempt', 'throttled', 2],
      ['attempt', 'unauthorised', 1],
      ['attempt', 'connection-lost', 1],
    ],
  );
  for (const { from, until } of hindrances!) assert.ok(from >= at + 10 && until >= from && until < deadlineAt);
});

test('a claim that nothing kept from its answer has no such story', async () => {
  const { clock, ended } = setUp([lands]);
  await clock.settle();
  assert.equal('hindrances' in asAnswered(ended()), false);
});

test('a claim that was turned away until the deadline says how often', async () => {
  const { clock, ended } = setUp([turnedAway('unauthorised')]);
  await clock.advance(deadlineAt - at);
  const record = ended();
  assert.ok(record?.kind === 'passed');
  assert.equal(record.code, 'service-unauthorised');
  assert.equal(record.hindrances?.length, 1);
  assert.ok(record.hindrances[0]!.count > 2);
  const { count } = record.hindrances[0]!;
  assert.match(
    record.reasons[0]!.text,
    new RegExp(`turned away each time until the deadline: ${count} × unauthorised`),
  );
});

test('once the end of the auction is told nothing is sent any more, not even what may have landed (stranger 15)', async () => {
  // Turned away each time: surely nothing is out.
  const throttled = setUp([turnedAway('throttled'), turnedAway('throttled'), lands]);
  await throttled.clock.settle();
  throttled.world.ended = true;
  await throttled.clock.advance(10_000);
  const pass = throttled.ended() as Passed;
  assert.deepEqual(
    [pass.kind, pass.code, pass.claimId, pass.maybeSent],
    ['passed', 'service-throttled', 'a:1', undefined],
  );
  assert.match(
    pass.reasons[0]!.text,
    /^claimed, and turned away each time until the end of its auction: 1 × throttled \(service-throttled\)$/,
  );
  assert.equal(throttled.attempts.length, 1);

  // Told before the first byte: while it waits for a gate, or in the turn in which the byte would be written.
  const waiting = setUp([lands], {}, false);
  await waiting.clock.settle();
  waiting.world.ended = true;
  waiting.world.gateOpen = true;
  await waiting.clock.advance(100);
  assert.deepEqual((waiting.ended() as Passed).reasons, [
    { code: 'paused', rule: null, text: 'claimed, and never written before the end of its auction (paused)' },
  ]);
  assert.equal(waiting.attempts.length, 0);
  let isTold = false;
  const script: Script = (now, attempt) => {
    isTold = true;
    return attempt.mayWrite() ? lands(now, attempt) : turnedAway('stopped')(now, attempt);
  };
  const atTheWire = setUp([script], {}, true, { auctionEnded: () => isTold });
  await atTheWire.clock.advance(100);
  assert.equal((atTheWire.ended() as Passed).code, 'auction-ended');

  // An attempt may have landed, here or of somebody else: a repeat might land outside the auction.
  const cut = setUp([lost, lands]);
  const found = setUp([lands], { inherited: true }, false);
  const shared = setUp([turnedAway('throttled'), lands], {}, true, { soleOwner: false });
  for (const [{ clock, attempts, world, ended }, sent] of [
    [cut, 1],
    [found, 0],
    [shared, 1],
  ] as const) {
    await clock.settle();
    world.ended = true;
    world.gateOpen = true;
    await clock.advance(10_000);
    const record = asAnswered(ended());
    assert.deepEqual(record.outcome, {
      kind: 'unknown',
      reason: 'no answer that can be trusted before the end of its auction',
    });
    assert.deepEqual([record.earlierAttemptPossible, attempts.length], [true, sent]);
  }
});
