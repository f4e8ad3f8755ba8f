/**
 * Whole desks on Kafka that fold by themselves: rows in state files, caps in the book on Redis. Two of them share one log and one
 * service, which notes every byte; partitions change hands, one is gone without a word, and the book is lost.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import type { KafkaSettings } from '../../src/adapters/kafka/settings.ts';
import { openRedisStore } from '../../src/adapters/redis/store.ts';
import { createSteadySystemClock } from '../../src/adapters/system/clock.ts';
import { createDesk } from '../../src/bidding/desk.ts';
import type { DeskEvent } from '../../src/bidding/observer.ts';
import type { NewEntry, Views } from '../../src/bidding/ports.ts';
import type { PublishedBid } from '../../src/domain/offer.ts';
import type { CallbackRecord } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { openOwnPartitions } from '../../src/state/own-partitions.ts';
import { acceptedAs, createFakeService } from '../bidding/fake-service.ts';
import { bid, ended, requested, settings as roundSettings } from '../bidding/parts.ts';
import { eventually } from '../conformance/backend.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import { createRuleVariants, encode } from '../simulation/policy.ts';
import { createControlStore } from '../simulation/small-ports.ts';
import { describeOnStack } from '../stack/suite.ts';
import { createTestVault } from '../wire/vault.ts';
import { createPlace } from './state-store.ts';

const settings = { ...roundSettings, timeWitness: 'none' as const, controlMaxAgeMs: 1_000, sendLimit: 16 };
const clock = createSteadySystemClock();
const [variant] = createRuleVariants().all;
/** What the rules let bids of one employer come to in a day. */
const employerDayCents = 3_500_000;
const patienceMs = 30_000;

type Sent = { by: string; requestId: string; body: string; amountCents: number };

/** The bytes of a bid say for whom they are, and how much. */
const encodeBid: typeof encode = (requestId, offer) =>
  JSON.stringify({ requestId, amountCents: offer.amountCents, bytes: encode(requestId, offer) });

function requestOf(requestId: string, employerId: string): NewEntry {
  const receivedAt = clock.now();
  const request = { ...sampleRequest, requestId, receivedAt, workerKey: `worker of ${requestId}`, employerId };
  return { topic: 'auctions', key: requestId, record: requested({ requestId, at: receivedAt, request }) };
}

/** One log, one server of the book, one service. */
function createMarket(kafka: KafkaSettings, redisUrl: string) {
  const sent: Sent[] = [];
  const control = createControlStore(clock.now(), variant!.hash);
  /** Desks of these names get no answer. */
  const unanswered = new Set<string>();
  /** What the log gets before the service answers, and the desk has folded by then. */
  const publishedFirst = new Map<string, readonly PublishedBid[]>();

  async function startDesk(name: string) {
    const fail = (fault: Error) => assert.fail(fault.message);
    const records = await openKafkaLog({
      settings: kafka,
      seal: (_place, text) => text,
      onClosed: fail,
      onStalled: fail,
    });
    const redis = await openRedisStore({ url: redisUrl, keyPrefix: `{${kafka.topicPrefix}}:` });
    const { id } = await records.genesis.begin();
    const snapshots: [number, number][] = [];
    const owned = await openOwnPartitions({
      ...{ directory: createPlace(), partitions: kafka.partitions, book: redis.capBook, controls: records.capControls },
      learnt: redis.learntBook(id),
      ...{ clock, snapshots: records.snapshots, controlMaxAgeMs: settings.controlMaxAgeMs },
      logOf: (partition) => records.partitionLog(partition, id),
      partitionOf: (requestId) => records.partitionOf('auctions', requestId),
      ends: () => records.log.ends('auctions'),
      onDiscarded: (_partition, reason) => assert.fail(reason),
      onRestoring: () => undefined,
      onLoss: () => undefined,
      onSnapshot: (...taken) => snapshots.push(taken),
      onFault: () => undefined,
      onDeath: fail,
      terms: { snapshots: { everyMs: 500, everyRecords: 1_000, lookMs: 100, pieceBytes: 100_000 } },
    });
    const missing = owned.views.missing!;
    const events: DeskEvent[] = [];
    const service = createFakeService(async (body) => {
      const { requestId, amountCents } = JSON.parse(body);
      sent.push({ by: name, requestId, body, amountCents });
      const bids = publishedFirst.get(requestId);
      if (bids !== undefined) {
        const record = { ...ended(bids), requestId, at: clock.now(), startedAt: null, endedAt: null };
        await records.log.append([{ topic: 'auctions', key: requestId, record }]);
        await eventually(async () => ((await state(requestId))?.auction ?? null) !== null, patienceMs);
      }
      return unanswered.has(name) ? new Promise(() => undefined) : acceptedAs(`bid of ${requestId}`, clock.now());
    });
    const desk = createDesk({
      ...{ instance: name, soleOwner: false, log: records.log, views: owned.views },
      margins: { read: async () => new Map(), write: async () => {} },
      control: {
        read: async () => control.state,
        setPause: async () => 0,
        resume: async () => 0,
        setCap: async () => 0,
        announceRules: async () => 0,
        snoozeRule: async () => 0,
        resumeRule: async () => 0,
        acknowledge: async () => {},
        acknowledged: async () => [],
      },
      ...{ service, vault: createTestVault(), clock, settings, earlierTerms: settings, chance: () => 0.5 },
      authorisations: { mayAsk: () => true, taken: () => {} },
      ...{ learning: true, policy: () => variant!.policy, encodeBid, isBidOf: () => true },
      observer: (event) => events.push(event),
      restoreViews: owned.take,
      leaveViews: owned.leave,
    });
    owned.start();
    await desk.start();
    let isClosed = false;
    const state = async (requestId: string): Promise<RequestState | undefined> =>
      (await owned.views.read([requestId]).catch(unlessElsewhere)).get(requestId)?.state;
    return {
      ...{ name, desk, events, state, snapshots, trouble: owned.trouble },
      views: owned.views,
      append: records.log.append,
      isWhole: () => missing().length === 0 && desk.status().live && owned.trouble() === null,
      /** `isKilled`: nothing that is under way is waited for. */
      stop: async ({ isKilled = false } = {}) => {
        if (isClosed) return;
        isClosed = true;
        const stopped = desk.stop();
        if (!isKilled) await stopped;
        await owned.close();
        await records.close();
        await redis.close();
      },
    };
  }

  return {
    ...{ sent, unanswered, publishedFirst, startDesk },
    emptyBook: async () => {
      const redis = new Redis(redisUrl);
      await redis.del(...(await redis.keys(`{${kafka.topicPrefix}}:*`)));
      await redis.quit();
    },
  };
}

type Desk = Awaited<ReturnType<ReturnType<typeof createMarket>['startDesk']>>;

/** Ids as the service gives them. */
const namesOf = (prefix: number, count: number) =>
  Array.from({ length: count }, (_, index) => String(prefix * 100 + index));

function unlessElsewhere(fault: { code: string }): Awaited<ReturnType<Views['read']>> {
  assert.equal(fault.code, 'views-unavailable');
  return new Map();
}

/** Each request is in the views of whoever owns it. */
async function phasesOf(desks: readonly Desk[], ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const id of ids) {
    for (const { state } of desks) found.push(...[(await state(id))?.phase].filter((phase) => phase !== undefined));
  }
  return found.sort();
}

async function untilAll(desks: readonly Desk[], ids: readonly string[], ...phases: string[]): Promise<void> {
  await eventually(async () => {
    const found = await phasesOf(desks, ids);
    return found.length === ids.length && found.every((phase) => phases.includes(phase));
  }, patienceMs).catch(async () => assert.fail(`${await phasesOf(desks, ids)} instead of ${phases}`));
}

function assertOneForm(sent: readonly Sent[]): void {
  for (const [requestId, all] of Map.groupBy(sent, (each) => each.requestId)) {
    assert.equal(new Set(all.map(({ body }) => body)).size, 1, `${requestId} was sent in two forms`);
  }
}

await describeOnStack('desks on Kafka with views of their own', (stack) => {
  test('they bid once for each request under common caps, and hand partitions over', async (t) => {
    const market = createMarket(settingsOn(stack, `${stack.prefix}desks.`), stack.redisUrl);
    const { sent } = market;
    const first = await market.startDesk('first');
    t.after(() => first.stop({ isKilled: true }));
    await eventually(first.isWhole, patienceMs);
    const second = await market.startDesk('second');
    t.after(() => second.stop({ isKilled: true }));
    const desks = [first, second];
    const areOpen = () =>
      desks.every(({ desk, trouble }) => desk.partitions().length > 0 && desk.gate() === null && trouble() === null);
    await eventually(areOpen, patienceMs);

    const apart = namesOf(71, 8);
    await first.append(apart.map((id) => requestOf(id, `employer of ${id}`)));
    await untilAll(desks, apart, 'accepted');
    assert.deepEqual(sent.map(({ requestId }) => requestId).sort(), apart);
    assert.deepEqual([...new Set(sent.map(({ by }) => by))].sort(), ['first', 'second'], 'both have bid');

    const together = namesOf(72, 10);
    await first.append(together.map((id) => requestOf(id, 'one employer')));
    await untilAll(desks, together, 'accepted', 'passed');
    const bids = sent.filter(({ requestId }) => together.includes(requestId));
    const cents = bids.reduce((sum, { amountCents }) => sum + amountCents, 0);
    assert.ok(cents <= employerDayCents, `${cents} cents for one employer`);
    assert.ok(cents > employerDayCents - 1_000_000 && bids.length < together.length, 'the cap was used');

    // The winner event is heard by all, and given to its request by the one that owns it.
    const winner: CallbackRecord = {
      ...{ kind: 'contemplated', requestCode: `bid of ${apart[0]}`, at: clock.now(), message: null, errors: [] },
    };
    await first.append([{ topic: 'callbacks', key: `bid of ${apart[0]}`, record: winner } as NewEntry]);
    await untilAll(desks, [apart[0]!], 'contemplated');

    // What is known of a partition that changes hands need not be folded again.
    await eventually(() => second.snapshots.length > 0, patienceMs);
    await second.stop();
    await eventually(first.isWhole, patienceMs);
    await untilAll([first], apart.slice(1), 'accepted');
    const after = namesOf(73, 4);
    await first.append(after.map((id) => requestOf(id, `employer of ${id}`)));
    await untilAll([first], after, 'accepted');
    assertOneForm(sent);
    await first.stop();
  });

  test('a bid that was published with other figures before its answer came raises the alarm', async (t) => {
    const market = createMarket(settingsOn(stack, `${stack.prefix}differs.`), stack.redisUrl);
    const desk = await market.startDesk('only');
    t.after(() => desk.stop({ isKilled: true }));
    await eventually(desk.isWhole, patienceMs);
    const [id] = namesOf(91, 1) as [string];
    market.publishedFirst.set(id, [bid(`bid of ${id}`, { rateHundredths: 111, amountCents: 123_45 })]);
    await desk.append([requestOf(id, 'employer')]);
    const told = () => desk.events.filter((event) => event.kind === 'alarm' && event.code === 'bid-differs');
    await eventually(() => told().length > 0, patienceMs);
    assert.match(JSON.stringify(told()), new RegExp(`"requestId":"${id}".*published 1\\.11 % a month, R\\$ 123\\.45`));
    await desk.stop();
    assert.equal(told().length, 1);
  });

  test('a desk that is gone leaves its claims to the other; a book that is lost closes bidding until it is filled', async (t) => {
    const market = createMarket(settingsOn(stack, `${stack.prefix}lost.`), stack.redisUrl);
    const { sent } = market;
    const gone = await market.startDesk('gone');
    t.after(() => gone.stop({ isKilled: true }));
    await eventually(gone.isWhole, patienceMs);
    market.unanswered.add('gone');
    const ids = namesOf(81, 4);
    await gone.append(ids.map((id) => requestOf(id, 'one employer')));
    await eventually(() => sent.length === ids.length, patienceMs);
    await gone.stop({ isKilled: true });

    const heir = await market.startDesk('heir');
    t.after(() => heir.stop({ isKilled: true }));
    await eventually(heir.isWhole, patienceMs);
    await untilAll([heir], ids, 'accepted', 'accepted-presumed');
    assert.deepEqual(
      sent
        .filter(({ by }) => by === 'heir')
        .map(({ requestId }) => requestId)
        .sort(),
      ids,
    );
    assertOneForm(sent);

    await market.emptyBook();
    await eventually(() => heir.trouble() !== null, patienceMs);
    // What is promised since before counts: there is room for one more of this employer.
    const more = namesOf(82, 3);
    await heir.append(more.map((id) => requestOf(id, 'one employer')));
    await untilAll([heir], more, 'accepted', 'passed');
    assert.ok(heir.isWhole());
    const cents = [...new Map(sent.map(({ requestId, amountCents }) => [requestId, amountCents])).values()];
    assert.ok(cents.reduce((sum, each) => sum + each, 0) <= employerDayCents, `${cents} for one employer`);
    assert.ok(
      sent.some(({ requestId }) => more.includes(requestId)),
      'it bids again',
    );
    assertOneForm(sent);
    await heir.stop();
  });
});
