/** What an answer's reason says of the service, and that every cause has its words in both languages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { misfitText, setBackText } from '../../src/adapters/embedded/changed-texts.ts';
import {
  closedCauses,
  createBiddingWatch,
  createServiceHealth,
  type ServiceHealth,
  troubleOfReason,
} from '../../src/bidding/bidding-status.ts';
import {
  type BidAnswer,
  type QueryAnswer,
  type Service,
  type ServiceReason,
  type TimeAnswer,
  toldPause,
} from '../../src/bidding/ports.ts';
import { causeText, remedyOf } from '../../src/cli/bidding-remedy.ts';
import { shownFigures } from '../../src/cli/doctor.ts';
import { languages, textsIn } from '../../src/cli/texts.ts';
import { manualClock } from '../sandbox/clocks.ts';
import { createManualClock } from './manual-clock.ts';

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

test('a second pause hides nobody: each that stands is named, the first one first', () => {
  const said = (by: string, reason: string, at: number) => ({ by, reason, at });
  const order = (kind: 'paused' | 'resumed', revision: number, by: string, reason: string) =>
    ({ kind, revision, ...said(by, reason, revision) }) as const;
  const pause = said('rui', 'month end', 4);
  const earlier = [order('paused', 1, 'eva', 'over'), order('resumed', 2, 'eva', 'over')];
  const only = [...earlier, order('paused', 4, 'rui', 'month end')];
  assert.deepEqual(toldPause({ pause, changes: only }), pause);
  const both = [...earlier, order('paused', 3, 'ana', 'rates'), order('paused', 4, 'rui', 'month end')];
  assert.deepEqual(toldPause({ pause, changes: both }), {
    at: 3,
    by: 'ana, rui',
    reason: 'ana: rates; rui: month end',
  });
  assert.equal(toldPause({ pause: null, changes: both }), null);
});

test('a pause keeps its reason however often it is asked for, and one ordered again is told as it is', () => {
  let pause = { by: 'ana', reason: 'rates', at: 1_000 };
  const watch = createBiddingWatch({
    clock: manualClock(5_000),
    gate: {
      closedBecause: () => 'paused',
      controlTrouble: () => null,
      control: () => ({ revision: 1, pause, caps: {}, snoozes: [], ruleOrders: [], changes: [] }),
    },
    health: { trouble: () => null, lookAgain: () => undefined },
    partitionsNotLive: () => null,
    observer: () => undefined,
  });
  const closed = { kind: 'closed', cause: 'paused' };
  for (let asked = 0; asked < 3; asked += 1)
    assert.deepEqual(watch.status(), { ...closed, since: 1_000, by: 'ana', detail: 'rates' });
  pause = { by: 'rui', reason: 'month end', at: 2_000 };
  assert.deepEqual(watch.status(), { ...closed, since: 2_000, by: 'rui', detail: 'month end' });
});

test('waits of one request do not overlap, and the cause of any moment is known afterwards', () => {
  const clock = manualClock(100_000);
  const pause = { by: 'ana', reason: 'rates', at: 90_000 };
  let cause: 'paused' | 'control-stale' | null = null;
  const watch = createBiddingWatch({
    clock,
    gate: {
      closedBecause: () => cause,
      controlTrouble: () => null,
      control: () => ({ revision: 1, pause, caps: {}, snoozes: [], ruleOrders: [], changes: [] }),
    },
    health: { trouble: () => null, lookAgain: () => undefined },
    partitionsNotLive: () => null,
    observer: () => undefined,
  });
  // What is known of the pause is lost and found again: each time it was ordered at 90 000.
  for (const next of ['paused', 'control-stale', 'paused', 'control-stale', 'paused', null] as const) {
    cause = next;
    watch.status();
    clock.advance(1_000);
  }
  const waits = watch.closures(95_000, clock.now());
  assert.deepEqual(
    waits.map(({ cause: why, from, until }) => [why, from, until]),
    [
      ['paused', 95_000, 101_000],
      ['control-stale', 101_000, 102_000],
      ['paused', 102_000, 103_000],
      ['control-stale', 103_000, 104_000],
      ['paused', 104_000, 105_000],
    ],
  );
  assert.equal(watch.causeAt(95_000), 'paused');
  assert.equal(watch.causeAt(101_500), 'control-stale');
  assert.equal(watch.causeAt(89_999), null);
  assert.equal(watch.causeAt(105_500), null);

  // A pause that is ordered again goes on.
  cause = 'paused';
  pause.at = 106_000;
  watch.status();
  clock.advance(1_000);
  pause.at = 107_000;
  watch.status();
  clock.advance(1_000);
  assert.deepEqual(
    watch.closures(105_500, clock.now()).map(({ from, until }) => [from, until]),
    [[106_000, 108_000]],
  );
});

test('a server that does not answer is the cause, by its name, and not what follows from it', () => {
  const clock = manualClock(100_000);
  let atGate: 'control-stale' | 'views-incomplete' | null = 'control-stale';
  let silence: string | null = 'Kafka has not answered for 4 s (127.0.0.1:9092)';
  const watch = createBiddingWatch({
    clock,
    gate: {
      closedBecause: () => atGate,
      control: () => null,
      controlTrouble: () => 'Redis at 127.0.0.1:6379 did not do it: Connection is closed.',
    },
    health: { trouble: () => null, lookAgain: () => undefined },
    logSilence: () => silence,
    partitionsNotLive: () => 'auctions/0: being caught up, 43 % folded',
    observer: () => undefined,
  });
  const told = () => {
    const status = watch.status();
    return status.kind === 'open' ? null : [status.cause, status.detail];
  };
  assert.deepEqual(told(), ['control-stale', 'Redis at 127.0.0.1:6379 did not do it: Connection is closed.']);
  for (const cause of ['views-incomplete', null] as const) {
    atGate = cause;
    assert.deepEqual(told(), ['log-refused', 'Kafka has not answered for 4 s (127.0.0.1:9092)'], String(cause));
  }
  silence = null;
  atGate = 'views-incomplete';
  assert.deepEqual(told(), ['views-incomplete', 'auctions/0: being caught up, 43 % folded']);
  atGate = null;
  assert.deepEqual(told(), ['partitions-not-live', 'auctions/0: being caught up, 43 % folded']);
});

test('every cause is named, with its remedy, in both languages', () => {
  for (const language of languages) {
    const { causes, remedies, brokersRemedy } = textsIn(language).bidding;
    // Both stand together wherever either is shown.
    for (const cause of closedCauses) assert.ok(!remedies[cause].startsWith(causes[cause]), remedies[cause]);
    assert.ok(!brokersRemedy.startsWith(causes['log-refused']), brokersRemedy);
    assert.deepEqual(Object.keys(causes).sort(), [...closedCauses].sort());
    assert.deepEqual(Object.keys(remedies).sort(), [...closedCauses].sort());
  }
  const [pt, en] = languages.map((language) => textsIn(language).bidding);
  for (const cause of closedCauses) assert.notEqual(pt!.remedies[cause], en!.remedies[cause]);
});

/** What a service answers to a query about nobody. */
const refusedProbe: QueryAnswer = {
  kind: 'refused',
  reason: 'unclassified',
  response: { status: 400, body: '{}' },
};

let requests = 0;
/** A bid for a request that no other one was for. */
function anotherBid(): Parameters<Service['placeBid']>[0] {
  requests += 1;
  return bidFor(requests);
}

function bidFor(request: number): Parameters<Service['placeBid']>[0] {
  return { body: `{"numeroSolicitacao":${request}}`, deadlineAt: 9_000_000, mayWrite: () => true };
}

/** A query about a worker whom no other one was about. */
function anotherQuery(): Parameters<Service['listLinks']>[0] {
  requests += 1;
  return queryAbout(String(requests).padStart(11, '0'));
}

function queryAbout(cpf: string): Parameters<Service['listLinks']>[0] {
  const identity = { cpf, name: null, registration: null, employerId: null, employerIdType: null };
  return { identity, authorisationNumber: null, cached: false };
}

/** Looks four times a second, as a desk does, for so long. */
function looksOf(health: ServiceHealth, clock: ReturnType<typeof createManualClock>): (forMs: number) => Promise<void> {
  return async (forMs) => {
    for (let passed = 0; passed < forMs; passed += 250) {
      health.lookAgain();
      await clock.advance(250);
    }
  };
}

test('a refused token is tried again without traffic, by no bid, no more often than it may be, until it is taken', async () => {
  const clock = createManualClock(1_000_000);
  let ready = true;
  let answer: QueryAnswer = { kind: 'failed', reason: 'unauthorised' };
  let asked = 0;
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: async () => ({ kind: 'not-landed', reason: 'unauthorised', retryAt: null }),
    askToken: async () => {
      asked += 1;
      return answer;
    },
    ready: () => ready,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  answer = { kind: 'acknowledged', requestCode: null };
  await looks(5_000);
  assert.equal(asked, 1, 'asked once at the start; nothing was refused yet');
  asked = 0;
  answer = { kind: 'failed', reason: 'unauthorised' };
  await heard.placeBid(anotherBid());
  assert.equal(health.trouble(), null, 'where the token is let in, it was that bid alone which was refused');
  ready = false;
  await heard.placeBid(anotherBid());
  ready = true;
  assert.equal(health.trouble()?.cause, 'service-unauthorised');
  await looks(10_000);
  assert.equal(asked, 4, 'one in two seconds, and none while a bid has just been heard');
  ready = false;
  await looks(90_000);
  assert.equal(asked, 4, 'nobody is asked while the token is not to be used');
  ready = true;
  answer = { kind: 'failed', reason: 'throttled' };
  // Forgotten after a minute without an answer, as before.
  assert.equal(health.trouble(), null);
  await looks(2_000);
  assert.equal(health.trouble()?.cause, 'service-unauthorised', 'what says nothing of the token leaves it refused');
  answer = { kind: 'refused', reason: 'unclassified', response: { status: 400, body: '{}' } };
  await looks(3_000);
  assert.equal(health.trouble(), null);
  const before = asked;
  await looks(60_000);
  assert.equal(asked, before, 'a token that works is not tried again');
});

test('after a refused token a service that answers nothing is the cause, as the latest probe found it', async () => {
  const clock = createManualClock(1_000_000);
  let answer: QueryAnswer = { kind: 'failed', reason: 'unauthorised' };
  let bid = { kind: 'answered' } as unknown as BidAnswer;
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: async () => bid,
    askToken: async () => answer,
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  await looks(3_000);
  assert.equal(health.trouble()?.cause, 'service-unauthorised');
  answer = { kind: 'failed', reason: 'headers-timeout' };
  await looks(2_250);
  assert.deepEqual(
    health.trouble(),
    { cause: 'service-unreachable', detail: 'headers-timeout' },
    'closed all the while',
  );
  answer = { kind: 'failed', reason: 'unauthorised' };
  await looks(10_250);
  assert.equal(health.trouble()?.cause, 'service-unauthorised');
  answer = { kind: 'failed', reason: 'connection-lost' };
  await looks(2_250);
  assert.deepEqual(health.trouble(), { cause: 'service-unreachable', detail: 'connection-lost' });
  answer = { kind: 'acknowledged', requestCode: null };
  await looks(10_250);
  assert.equal(health.trouble(), null);
  // One lost bid is the network's: no bid has failed before.
  bid = { kind: 'not-landed', reason: 'unreachable', retryAt: null };
  await heard.placeBid(anotherBid());
  assert.equal(health.trouble(), null);
});

test('a token that nobody has tried is tried at the start: refused, it closes bidding before any traffic', async () => {
  const clock = createManualClock(1_000_000);
  let answer: QueryAnswer = { kind: 'failed', reason: 'unreachable' };
  let asked = 0;
  const health = createServiceHealth(clock);
  health.heard({
    askToken: async () => {
      asked += 1;
      return answer;
    },
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  await looks(30_000);
  assert.deepEqual([asked, health.trouble()], [1, null], 'who was not reached has said nothing of the token');
  answer = { kind: 'failed', reason: 'unauthorised' };
  await looks(30_250);
  assert.deepEqual([asked, health.trouble()?.cause], [2, 'service-unauthorised'], 'it is tried again after a minute');
  answer = { kind: 'refused', reason: 'unclassified', response: { status: 400, body: '{}' } };
  await looks(3_000);
  assert.deepEqual([asked, health.trouble()], [3, null]);
  await looks(120_000);
  assert.equal(asked, 3, 'a token that works is not tried again');
});

test('a token that traffic has tried first is not tried beside it', async () => {
  const clock = createManualClock(1_000_000);
  let asked = 0;
  const health = createServiceHealth(clock);
  const heard = health.heard({
    listLinks: async () => ({ kind: 'acknowledged', requestCode: null }),
    askToken: async () => {
      asked += 1;
      return { kind: 'acknowledged', requestCode: null };
    },
    ready: () => true,
  } as unknown as Service);
  await heard.listLinks(anotherQuery());
  health.lookAgain();
  await clock.advance(120_000);
  health.lookAgain();
  assert.equal(asked, 0);
});

test('a service that is away is asked again without traffic, ever more seldom, and by no bid, until it answers', async () => {
  const clock = createManualClock(1_000_000);
  let answer: QueryAnswer = { kind: 'failed', reason: 'headers-timeout' };
  const asked: number[] = [];
  let bid: Promise<BidAnswer> = Promise.resolve({ kind: 'not-landed', reason: 'unreachable', retryAt: null });
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: () => bid,
    listLinks: async () => ({ kind: 'acknowledged', requestCode: null }),
    askToken: async () => {
      asked.push(clock.now());
      return answer;
    },
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  const fail = async () => {
    for (let failed = 0; failed < 3; failed += 1) {
      await heard.placeBid(anotherBid());
      await looks(1_000);
    }
  };
  await heard.listLinks(anotherQuery());
  await fail();
  assert.deepEqual([health.trouble(), asked.length], [{ cause: 'service-unreachable', detail: 'unreachable' }, 0]);
  const from = clock.now();
  await looks(60_000);
  const pausesMs = asked.map((at, index) => at - (asked[index - 1] ?? from));
  assert.deepEqual(pausesMs.slice(1), [10_000, 10_000, 10_000, 10_000, 10_000]);
  assert.deepEqual(
    health.trouble(),
    { cause: 'service-unreachable', detail: 'headers-timeout' },
    'also after a minute',
  );
  // A bid on its way says more than a query about nobody.
  const { promise, resolve } = Promise.withResolvers<BidAnswer>();
  bid = promise;
  const underWay = heard.placeBid(anotherBid());
  const before = asked.length;
  await looks(20_000);
  assert.equal(asked.length, before);
  resolve({ kind: 'not-landed', reason: 'unreachable', retryAt: null });
  await underWay;
  answer = { kind: 'refused', reason: 'unclassified', response: { status: 400, body: '{}' } };
  await looks(10_250);
  assert.equal(health.trouble(), null);
  const open = asked.length;
  await looks(60_000);
  assert.equal(asked.length, open, 'a service that answers is not asked again');

  bid = Promise.resolve({ kind: 'answered' } as unknown as BidAnswer);
  await heard.placeBid(anotherBid());
  bid = Promise.resolve({ kind: 'not-landed', reason: 'unreachable', retryAt: null });
  await fail();
  answer = { kind: 'failed', reason: 'unauthorised' };
  await looks(10_250);
  assert.equal(health.trouble()?.cause, 'service-unauthorised', 'another cause is told by its name');
});

test('a service that answers probes and fails bids stays away, until it takes one', async () => {
  const clock = createManualClock(1_000_000);
  let bid: BidAnswer = { kind: 'not-landed', reason: 'unreachable', retryAt: null };
  let asked = 0;
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: async () => bid,
    listLinks: async () => ({ kind: 'acknowledged', requestCode: null }),
    askToken: async () => {
      asked += 1;
      return refusedProbe;
    },
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  const place = () => heard.placeBid(anotherBid());
  await heard.listLinks(anotherQuery());
  for (let failed = 0; failed < 3; failed += 1) {
    await place();
    await looks(1_000);
  }
  await looks(6_000);
  assert.deepEqual([health.trouble(), asked], [null, 1], 'the probe was answered');
  for (let failed = 0; failed < 5; failed += 1) {
    await place();
    await looks(20_000);
    assert.deepEqual([health.trouble()?.cause, asked], ['service-unreachable', 1]);
  }
  bid = { ...bid, kind: 'answered' } as unknown as BidAnswer;
  await place();
  assert.equal(health.trouble(), null);
  bid = { kind: 'not-landed', reason: 'unreachable', retryAt: null };
  for (let failed = 0; failed < 3; failed += 1) {
    await place();
    await looks(1_000);
  }
  await looks(6_000);
  assert.deepEqual([health.trouble(), asked], [null, 2], 'probes are believed again');
});

test('a service that answers queries well and bids without a code closes bidding once, until a bid is answered', async () => {
  const clock = createManualClock(1_000_000);
  let bid: BidAnswer = { kind: 'unknown', reason: 'unreadable-success', response: null, firstByteAt: 1_000_000 };
  let probe: QueryAnswer = { kind: 'acknowledged', requestCode: null };
  const probedAt: number[] = [];
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: async () => bid,
    listLinks: async () => ({ kind: 'acknowledged', requestCode: 'a-code' }),
    askToken: async () => {
      probedAt.push(clock.now());
      return probe;
    },
    ready: () => true,
  } as unknown as Service);
  const place = () => heard.placeBid(anotherBid());
  const list = () => heard.listLinks(anotherQuery());
  let isClosed = false;
  const changes: number[] = [];
  const looks = async (forMs: number) => {
    for (let passed = 0; passed < forMs; passed += 250) {
      health.lookAgain();
      await clock.advance(250);
      if ((health.trouble() !== null) !== isClosed) changes.push(clock.now());
      isClosed = health.trouble() !== null;
    }
  };
  await looks(1_000);
  probedAt.length = 0;
  // As traffic is: each request is asked for its links, and its bid is sent again and again.
  for (let second = 0; second < 120; second += 1) {
    await list();
    await looks(500);
    await place();
    await looks(500);
  }
  assert.deepEqual([isClosed, changes.length, probedAt], [true, 1, []], 'closed once, and never opened');
  // Nothing comes any more. What answers all alike shows nothing.
  await looks(120_000);
  assert.deepEqual([isClosed, changes.length], [true, 1]);
  assert.ok(probedAt.length > 5);
  probe = refusedProbe;
  await looks(10_500);
  assert.equal(isClosed, false, 'it answers a probe as it should, and no bid has failed for a while');
  const pausesMs: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    await list();
    await place();
    const from = clock.now();
    await looks(250);
    assert.equal(isClosed, true, 'the first bid that fails closes it again');
    await list();
    probedAt.length = 0;
    while (isClosed) await looks(250);
    assert.equal(probedAt.length, 1, 'no probe before one would be believed');
    pausesMs.push(Math.round((clock.now() - from) / 1_000) * 1_000);
  }
  assert.deepEqual(pausesMs, [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
  await place();
  await looks(250);
  assert.equal(isClosed, true);
  bid = { kind: 'answered' } as unknown as BidAnswer;
  await place();
  await looks(250);
  assert.equal(isClosed, false, 'an answered bid opens at once');
});

test('a service that fails bids now in one way and now in another stays closed', async () => {
  const clock = createManualClock(1_000_000);
  let bid: BidAnswer = { kind: 'not-landed', reason: 'throttled', retryAt: null };
  const health = createServiceHealth(clock);
  const heard = health.heard({ placeBid: async () => bid, ready: () => true } as unknown as Service);
  const place = () => heard.placeBid(anotherBid());
  for (let failed = 0; failed < 3; failed += 1) {
    await place();
    await clock.advance(1_000);
  }
  assert.equal(health.trouble()?.cause, 'service-throttled');
  bid = { kind: 'not-landed', reason: 'unreachable', retryAt: null };
  await place();
  assert.equal(health.trouble()?.cause, 'service-unreachable');
  bid = { kind: 'not-landed', reason: 'throttled', retryAt: null };
  await place();
  assert.equal(health.trouble()?.cause, 'service-throttled');
  bid = { kind: 'answered' } as unknown as BidAnswer;
  await place();
  assert.equal(health.trouble(), null);
});

test('a service that answers every bid, query and probe with a page is away, until it answers as the service', async () => {
  const clock = createManualClock(1_000_000);
  let bid: BidAnswer = { kind: 'unknown', reason: 'unreadable-success', response: null, firstByteAt: 1_000_000 };
  let links: QueryAnswer = { kind: 'acknowledged', requestCode: null, isDoubtful: true };
  const page: QueryAnswer = { kind: 'failed', reason: 'unreadable-success' };
  const probes: { answer: QueryAnswer } = { answer: page };
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: async () => bid,
    listLinks: async () => links,
    askToken: async () => probes.answer,
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  const place = () => heard.placeBid(anotherBid());
  const list = () => heard.listLinks(anotherQuery());
  await looks(3_000);
  assert.equal(health.trouble(), null, 'one probe says nothing yet');
  const away = { cause: 'service-unreachable', detail: 'unreadable-success' };
  for (let failed = 0; failed < 3; failed += 1) {
    await place();
    await list();
    await looks(1_000);
  }
  assert.deepEqual(health.trouble(), away);
  await looks(90_000);
  assert.deepEqual(health.trouble(), away, 'no page opens it');
  links = page;
  await list();
  assert.deepEqual(health.trouble(), away);
  probes.answer = {
    kind: 'refused',
    reason: 'unclassified',
    response: { status: 404, body: '<html>' },
    isDoubtful: true,
  };
  await looks(30_000);
  assert.deepEqual(
    health.trouble()?.cause,
    'service-unreachable',
    'a page that refuses is no answer of the service either',
  );
  probes.answer = { kind: 'refused', reason: 'unclassified', response: { status: 400, body: '{"Mensagem":"CPF"}' } };
  await looks(12_000);
  assert.equal(health.trouble(), null);
  bid = { kind: 'not-landed', reason: 'unreachable', retryAt: null };
  await place();
  assert.equal(health.trouble()?.cause, 'service-unreachable', 'what the probe ended goes on when bids fail again');
});

test('a service that answers otherwise than the contract says is not said to be silent', () => {
  for (const language of ['pt', 'en'] as const) {
    const texts = textsIn(language).bidding;
    const { cause, remedy } = texts.answersOtherwise;
    for (const detail of ['status-500', 'status-302', 'answer-unreadable', 'unreadable-success']) {
      assert.equal(causeText(texts, 'service-unreachable', detail), cause, detail);
      assert.equal(remedyOf(texts, 'service-unreachable', detail), remedy, detail);
    }
    for (const detail of ['unreachable', 'headers-timeout', null]) {
      assert.equal(causeText(texts, 'service-unreachable', detail), texts.causes['service-unreachable']);
      assert.equal(remedyOf(texts, 'service-unreachable', detail), texts.remedies['service-unreachable']);
    }
    assert.equal(causeText(texts, 'service-throttled', 'status-500'), texts.causes['service-throttled']);
  }
});

test('doctor says why bidding is closed in the language asked for, and a pause as it was written', () => {
  const said = (language: 'pt' | 'en', cause: string, text: string) => {
    const texts = textsIn(language);
    const { findings } = texts.doctor;
    const figures = { cause, since: 'hoje', text };
    return findings['bidding-closed'](shownFigures('bidding-closed', figures, texts)).join('\n');
  };
  const read = 'the log is about to be read';
  assert.match(said('pt', 'partitions-not-live', read), /: o registro ainda vai ser lido\n/);
  assert.match(said('en', 'partitions-not-live', read), /: the log is about to be read\n/);
  const { reasons } = textsIn('pt').flows;
  assert.ok(
    said('pt', 'service-unreachable', 'headers-timeout').includes(`: ${reasons['headers-timeout']} (headers-timeout)`),
  );
  assert.match(
    said('pt', 'service-unreachable', 'status-500'),
    new RegExp(textsIn('pt').bidding.answersOtherwise.cause),
  );
  assert.match(said('pt', 'paused', read), /: the log is about to be read\n/);
  const [refused] = textsIn('pt').doctor.findings['start-refused']({ text: 'Kafka: lance.auctions gave no answer.' });
  assert.equal(refused, 'a próxima partida seria recusada: Kafka: lance.auctions não respondeu.');
});

test('topics that somebody altered are not said to be a log that takes nothing', () => {
  const detail =
    'What stands before the code may change (topics-unsafe): The topic lance.auctions has retention.ms=1; set it to -1.';
  for (const language of ['pt', 'en'] as const) {
    const texts = textsIn(language).bidding;
    assert.equal(causeText(texts, 'log-refused', detail), texts.topicsUnsafe.cause);
    assert.equal(remedyOf(texts, 'log-refused', detail), texts.topicsUnsafe.remedy);
    assert.equal(causeText(texts, 'log-refused', null), texts.causes['log-refused']);
  }
});

test('what to do about a log that takes nothing is said for the log at hand alone', () => {
  const full = '/data is full: 3 MB are left';
  const away = 'Kafka has not answered for 4 s (127.0.0.1:9092)';
  for (const language of ['pt', 'en'] as const) {
    const texts = textsIn(language).bidding;
    const [file, brokers] = [full, away].map((detail) => remedyOf(texts, 'log-refused', detail));
    assert.doesNotMatch(file!, /broker|kafka|registry/i);
    assert.doesNotMatch(brokers!, /dis[ck]o?|file|arquivo/i);
    assert.equal(remedyOf(texts, 'log-refused', null), file);
    assert.equal(remedyOf(texts, 'paused', away), texts.remedies.paused);
  }
});

test('what to do about records that were taken away goes by a code, and is not said of a record that was edited', () => {
  for (const language of ['pt', 'en'] as const) {
    const texts = textsIn(language).bidding;
    assert.equal(remedyOf(texts, 'log-changed', setBackText('auctions')), texts.recordsGoneRemedy);
    assert.equal(remedyOf(texts, 'log-changed', misfitText('auctions', 3, 2)), texts.remedies['log-changed']);
    assert.equal(remedyOf(texts, 'log-changed', null), texts.remedies['log-changed']);
  }
});

test('a service that leaves two time requests unanswered, and nothing else answered between, is away once a probe fails too', async () => {
  const clock = createManualClock(1_000_000);
  let time: TimeAnswer = { kind: 'unanswered' };
  let probe: QueryAnswer = { kind: 'failed', reason: 'unreachable' };
  let links: QueryAnswer = { kind: 'acknowledged', requestCode: 'q-1' };
  let probes = 0;
  const health = createServiceHealth(clock);
  const heard = health.heard({
    listLinks: async () => links,
    askTime: async () => time,
    askToken: async () => {
      probes += 1;
      return probe;
    },
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  const list = () => heard.listLinks(anotherQuery());
  await list();
  await heard.askTime();
  assert.equal(health.trouble(), null, 'one lost answer is the network');
  await clock.advance(5_000);
  await heard.askTime();
  assert.equal(health.trouble(), null, 'too soon after the first');
  await clock.advance(55_000);
  await list();
  await heard.askTime();
  assert.deepEqual([health.trouble(), probes], [null, 0], 'something was answered between them');
  await clock.advance(60_000);
  await heard.askTime();
  assert.deepEqual([health.trouble(), probes], [{ cause: 'service-unreachable', detail: 'unreachable' }, 1]);
  await looks(120_000);
  assert.equal(health.trouble()?.cause, 'service-unreachable', 'it is asked on and stays away');
  probe = { kind: 'refused', reason: 'unclassified', response: { status: 400, body: '{}' } };
  await looks(15_000);
  assert.equal(health.trouble(), null, 'any answer to a probe opens');
  // A server that never answers a HEAD, and answers all else.
  const before = probes;
  for (let minute = 0; minute < 4; minute += 1) {
    await heard.askTime();
    assert.equal(health.trouble(), null);
    await looks(60_000);
  }
  assert.ok(probes > before, 'the probe was what told');
  time = { kind: 'untold' };
  await heard.askTime();
  links = { kind: 'failed', reason: 'unreachable' };
  await list();
  assert.equal(health.trouble(), null);
});

test('one bid that failed long ago does not keep silence from closing bidding', async () => {
  const clock = createManualClock(1_000_000);
  const health = createServiceHealth(clock);
  const heard = health.heard({
    listLinks: async () => ({ kind: 'failed', reason: 'unreachable' }),
    askTime: async () => ({ kind: 'unanswered' }),
    askToken: async () => ({ kind: 'failed', reason: 'unreachable' }),
    ready: () => true,
  } as unknown as Service);
  await heard.listLinks(anotherQuery());
  assert.equal(health.trouble(), null, 'one lost answer is the network');
  await heard.askTime();
  await clock.advance(60_000);
  await heard.askTime();
  assert.equal(health.trouble()?.cause, 'service-unreachable');
});

test('one request that is answered without meaning again and again closes nothing while a probe is answered', async () => {
  const clock = createManualClock(1_000_000);
  const unreadable: BidAnswer = {
    kind: 'unknown',
    reason: 'unreadable-success',
    response: null,
    firstByteAt: 1_000_000,
  };
  let probe: QueryAnswer = refusedProbe;
  let links: QueryAnswer = { kind: 'acknowledged', requestCode: 'q-1' };
  let asked = 0;
  const bids = new Map<string, BidAnswer>();
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: async ({ body }: { body: string }) => bids.get(body) ?? ({ kind: 'answered' } as unknown as BidAnswer),
    listLinks: async () => links,
    askLinkDetail: async () => links,
    askToken: async () => {
      asked += 1;
      return probe;
    },
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  const poisoned = { bid: bidFor(900_001), query: queryAbout('90000000009') };
  bids.set(poisoned.bid.body, unreadable);
  await heard.listLinks(anotherQuery());
  for (let second = 0; second < 60; second += 1) {
    await heard.placeBid(poisoned.bid);
    await looks(1_000);
    assert.equal(health.trouble(), null, `after ${second} s`);
  }
  assert.ok(asked >= 5 && asked <= 13, `a probe is asked while it fails: ${asked}`);

  // Its queries fail as well: still one request.
  links = { kind: 'failed', reason: 'status-500' };
  for (let second = 0; second < 5; second += 1) {
    await heard.placeBid(poisoned.bid);
    await heard.listLinks(poisoned.query);
    await heard.askLinkDetail(poisoned.query);
    await looks(1_000);
    assert.equal(health.trouble(), null);
  }
  const before = asked;
  await looks(60_000);
  assert.ok(asked - before <= 1, 'nothing has failed since, so nothing is asked');

  // Others are answered between, and a second one fails: two in a row are none.
  const second = bidFor(900_002);
  bids.set(second.body, unreadable);
  for (let round = 0; round < 5; round += 1) {
    for (const each of [poisoned.bid, anotherBid(), second, anotherBid()]) {
      await heard.placeBid(each);
      await looks(500);
      assert.equal(health.trouble(), null);
    }
  }
  // Two requests in a row, and none answered between.
  for (const each of [poisoned.bid, second, poisoned.bid]) {
    assert.equal(health.trouble(), null);
    await heard.placeBid(each);
    await clock.advance(1_000);
  }
  assert.deepEqual(health.trouble(), { cause: 'service-unreachable', detail: 'unreadable-success' });
  await heard.placeBid(anotherBid());
  assert.equal(health.trouble(), null);

  // The one request is all there is, and the service is away indeed: a probe tells.
  probe = { kind: 'failed', reason: 'headers-timeout' };
  for (let failed = 0; failed < 3; failed += 1) {
    await heard.placeBid(poisoned.bid);
    await looks(1_000);
  }
  await looks(10_000);
  assert.deepEqual(health.trouble(), { cause: 'service-unreachable', detail: 'headers-timeout' });
});

test('one request that alone is throttled closes nothing, and is no reason to ask anything more', async () => {
  const clock = createManualClock(1_000_000);
  let asked = 0;
  const health = createServiceHealth(clock);
  const heard = health.heard({
    placeBid: async () => ({ kind: 'not-landed', reason: 'throttled', retryAt: null }),
    listLinks: async () => ({ kind: 'acknowledged', requestCode: 'q-1' }),
    askToken: async () => {
      asked += 1;
      return refusedProbe;
    },
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  await heard.listLinks(anotherQuery());
  const poisoned = anotherBid();
  for (let second = 0; second < 10; second += 1) {
    await heard.placeBid(poisoned);
    await looks(1_000);
    assert.equal(health.trouble(), null);
  }
  assert.equal(asked, 0);
  await heard.placeBid(anotherBid());
  assert.equal(health.trouble()?.cause, 'service-throttled');
});

test('an idle desk whose time request is answered with 401 shows its token, and a refused one closes bidding', async () => {
  const clock = createManualClock(1_000_000);
  let status = 200;
  let answer: QueryAnswer = { kind: 'acknowledged', requestCode: null };
  let asked = 0;
  const health = createServiceHealth(clock);
  const heard = health.heard({
    listLinks: async () => ({ kind: 'acknowledged', requestCode: null }),
    askToken: async () => {
      asked += 1;
      return answer;
    },
    askTime: async () => ({ kind: 'told', skewMs: 0, status }),
    ready: () => true,
  } as unknown as Service);
  const looks = looksOf(health, clock);
  await looks(1_000);
  assert.equal(asked, 1, 'at the start');
  await clock.advance(60_000);
  await heard.askTime();
  assert.equal(asked, 1);
  status = 401;
  await heard.askTime();
  assert.deepEqual([asked, health.trouble()], [2, null], 'this service lets nobody in without a token');
  await heard.askTime();
  assert.equal(asked, 2, 'it has just been shown');
  await clock.advance(60_000);
  await heard.listLinks(anotherQuery());
  await heard.askTime();
  assert.equal(asked, 2, 'traffic has shown it');
  await clock.advance(60_000);
  answer = { kind: 'failed', reason: 'unauthorised' };
  await heard.askTime();
  assert.equal(asked, 3);
  assert.deepEqual(health.trouble(), { cause: 'service-unauthorised', detail: 'unauthorised' });
});
