/**
 * The cap book as processes keep it: two of them fold a partition each, from real records into state files, and tell one book. A cap
 * has room for one claim of the two. Time is moved by hand; log, controls and book are in memory.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createLedger } from '../../src/bidding/ledger.ts';
import { createCapBook } from '../../src/domain/cap-book.ts';
import type { AuctionRecord } from '../../src/domain/records.ts';
import { Fault } from '../../src/errors.ts';
import type { CapBook, CapBookLost } from '../../src/state/cap-book.ts';
import { createCapKeeper } from '../../src/state/cap-keeper.ts';
import { createBookAtHand, emptyBook } from '../../src/state/memory-cap-book.ts';
import { createManualClock } from '../bidding/manual-clock.ts';
import * as parts from '../bidding/parts.ts';
import * as windowCaps from '../conformance/window-caps.ts';
import { createPlace, endlessLog, openOwned } from './state-store.ts';

const settings = { ageLimitMs: 2_000, pollMs: 500, maxOperations: 100, controlPollMs: 100, retryMs: 100 };
const cap = [{ keys: ['day'], limitAmountCents: 1_000_000, limitCount: null }];
const { amountCents } = parts.offer;

const newest = (controls: readonly CapBookLost[]) => Math.max(...controls.map(({ epoch }) => epoch));

const lifeOf = (requestId: string, ...records: AuctionRecord[]) => records.map((record) => ({ ...record, requestId }));
const claimOf = (requestId: string) =>
  lifeOf(requestId, parts.requested(), parts.claimed('a:1', { trace: { ...parts.trace, caps: cap } }));

function createDesk() {
  const clock = createManualClock(parts.at);
  const log: AuctionRecord[][] = [[], []];
  const controls: CapBookLost[] = [];
  const faults: string[] = [];
  let names = 0;
  const newName = () => {
    names += 1;
    return String(names);
  };
  /** `isUp`: questions arrive. `isHeard`: answers come back. */
  const server = { data: emptyBook(), life: newName(), isUp: true, isHeard: true };
  const call = async <R>(ask: (book: ReturnType<typeof createBookAtHand>) => R): Promise<R> => {
    const refuse = () => {
      throw new Fault('views-unavailable', 'no answer');
    };
    if (!server.isUp) refuse();
    const answer = ask(createBookAtHand(server.data, { server: server.life, newName }));
    if (!server.isHeard) refuse();
    return answer;
  };
  const book: CapBook = {
    begin: (asked) => call((each) => each.begin(asked)),
    commit: (asked) => call((each) => each.commit(asked)),
    apply: (asked) => call((each) => each.apply(asked)),
    usage: (id, keys) => call((each) => each.usage(id, keys)),
  };

  async function createProcess(place = createPlace()) {
    let read = 0;
    const own = { areControlsCut: false, isClosed: false };
    const keeper = createCapKeeper({
      book,
      controls: {
        read: async () => {
          if (own.areControlsCut) throw new Fault('log-unavailable', 'no news');
          const from = read;
          read = controls.length;
          return controls.slice(from);
        },
        append: async (record) => void controls.push(record),
      },
      ends: async () => new Map(log.map((records, partition) => [partition, records.length])),
      partitions: log.length,
      clock,
      settings,
      onLoss: () => undefined,
      onFault: ({ message }) => faults.push(message),
    });
    const caps = { ...createCapBook(), complete: false };
    const over = { caps, partitions: log.length, book: keeper };
    const owned = await openOwned(place, () => endlessLog(), over);
    const ledger = createLedger(owned.views, parts.settings, { readKey: async () => [] });
    keeper.start();

    async function fold(): Promise<void> {
      for (const partition of owned.held().keys()) {
        const first = await owned.views.applied(partition);
        const records = log[partition]!.slice(first);
        const entries = records.map((record, index) => {
          return { partition, offset: first + index, key: record.requestId, record };
        });
        if (entries.length > 0) await ledger.fold({ partition, first, next: first + entries.length, entries });
      }
      await clock.settle();
    }

    return {
      ...{ ...owned, keeper, own, place, fold },
      verdict: (partition: number, requestId: string) => owned.views.verdicts!.of(partition, requestId),
      take: async (...partitions: number[]) => {
        for (const partition of partitions) await owned.take(partition);
        await fold();
      },
      close: async () => {
        if (own.isClosed) return;
        own.isClosed = true;
        const stopped = keeper.stop();
        await clock.advance(settings.retryMs);
        await stopped;
        await owned.close();
      },
    };
  }

  return {
    ...{ clock, log, controls, faults, server, createProcess },
    /** Another life of the server, with nothing in it. */
    empty: () => {
      server.data = emptyBook();
      server.life = newName();
    },
    /** Long enough for a loss to be told, read and waited for. */
    refill: () => clock.advance(settings.ageLimitMs + 4 * settings.pollMs),
    used: () => server.data.sums.get('day') ?? { amountCents: 0, count: 0 },
  };
}

type Process = Awaited<ReturnType<ReturnType<typeof createDesk>['createProcess']>>;

/** Two processes with a partition each, and an open book. */
async function createOpenDesk(t: TestContext) {
  const desk = createDesk();
  const processes: Process[] = [];
  const createProcess = async (place?: string) => {
    const process = await desk.createProcess(place);
    processes.push(process);
    return process;
  };
  t.after(() => Promise.all(processes.map(({ close }) => close())));
  const [first, second] = [await createProcess(), await createProcess()];
  await first.take(0);
  await second.take(1);
  await desk.refill();
  assert.deepEqual([first.keeper.trouble(), second.keeper.trouble()], [null, null]);
  const fold = async () => {
    for (const process of processes) await process.fold();
    await desk.clock.settle();
  };
  const claim = async (partition: number, requestId: string) => {
    desk.log[partition]!.push(...claimOf(requestId));
    await fold();
  };
  return { ...desk, createProcess, first, second, claim, fold };
}

test('of two claims under one cap one is granted, and what ends leaves room in the book', async (t) => {
  const { first, second, claim, fold, log, used } = await createOpenDesk(t);
  await claim(0, 'a');
  assert.equal(first.verdict(0, 'a'), 'granted');
  await claim(1, 'b');
  assert.equal(second.verdict(1, 'b'), 'refused');
  assert.deepEqual(used(), { amountCents, count: 1 });
  assert.deepEqual((await second.views.usage(['day'], parts.at)).get('day'), used(), 'each asks for all partitions');
  assert.deepEqual(await second.views.wholeUsage(['day'], parts.at), new Map([['day', used()]]));
  assert.equal((await second.views.read(['b'])).get('b')?.reservation, 'held', 'no verdict is stored');
  log[1]!.push(...lifeOf('b', parts.passed('a:1', 'cap')));
  log[0]!.push(...lifeOf('a', parts.answered(parts.rejected)));
  await fold();
  assert.deepEqual(used(), { amountCents: 0, count: 0 });
  await claim(1, 'c');
  assert.equal(second.verdict(1, 'c'), 'granted');
  assert.equal(second.verdict(1, 'nobody'), 'pending');
});

test('a bid that went out though it was refused counts', async (t) => {
  const { first, claim, fold, log, used } = await createOpenDesk(t);
  await claim(0, 'a');
  await claim(0, 'b');
  assert.equal(first.verdict(0, 'b'), 'refused');
  log[0]!.push(...lifeOf('b', parts.answered(parts.accepted)));
  await fold();
  assert.deepEqual(used(), { amountCents: 2 * amountCents, count: 2 });
});

test('while the book does not answer nothing is granted, and what it took in counts once', async (t) => {
  const { first, claim, clock, server, used, faults } = await createOpenDesk(t);
  server.isHeard = false;
  await claim(0, 'a');
  assert.deepEqual([first.verdict(0, 'a'), used().count], ['pending', 1]);
  assert.match(first.keeper.trouble()!, /does not answer/);
  assert.equal(await first.views.areWhole(async () => new Map()), false);
  assert.equal(await first.views.wholeUsage(['day'], parts.at), null);
  server.isHeard = true;
  await clock.advance(settings.retryMs);
  assert.deepEqual([first.verdict(0, 'a'), used().count], ['granted', 1]);
  server.isUp = false;
  await clock.advance(settings.pollMs);
  assert.equal(first.verdict(0, 'a'), 'granted', 'one that was given stays while the controls are read');
  assert.notDeepEqual(faults, []);
});

test('who does not read the controls grants nothing', async (t) => {
  const { first, claim, clock } = await createOpenDesk(t);
  await claim(0, 'a');
  first.own.areControlsCut = true;
  await clock.advance(settings.ageLimitMs - settings.controlPollMs);
  assert.equal(first.verdict(0, 'a'), 'granted');
  await clock.advance(2 * settings.controlPollMs);
  assert.equal(first.verdict(0, 'a'), 'pending');
  assert.match(first.keeper.trouble()!, /not read for too long/);
  first.own.areControlsCut = false;
  await clock.advance(settings.controlPollMs);
  assert.equal(first.verdict(0, 'a'), 'granted');
});

test('a book that is lost is filled again with every open claim, and none of them is sent any more', async (t) => {
  const { first, second, claim, clock, empty, refill, used, controls } = await createOpenDesk(t);
  await claim(0, 'a');
  assert.equal(newest(controls), 1);
  empty();
  await clock.advance(settings.pollMs + settings.controlPollMs);
  assert.equal(newest(controls), 2, 'one epoch, whoever saw the loss');
  assert.equal(first.verdict(0, 'a'), 'pending');
  assert.notEqual(second.keeper.trouble(), null);
  await claim(1, 'b');
  assert.equal(second.verdict(1, 'b'), 'pending');
  await refill();
  assert.deepEqual([first.keeper.trouble(), second.keeper.trouble()], [null, null]);
  assert.deepEqual([first.verdict(0, 'a'), second.verdict(1, 'b')], ['forfeited', 'forfeited']);
  assert.deepEqual(used(), { amountCents: 2 * amountCents, count: 2 });
  await claim(1, 'c');
  assert.equal(second.verdict(1, 'c'), 'refused');
});

test('a partition without an owner keeps the book closed, and is named', async (t) => {
  const { first, second, claim, empty, refill, clock, used } = await createOpenDesk(t);
  await claim(1, 'b');
  await second.leave(1);
  empty();
  await refill();
  assert.match(first.keeper.trouble()!, /lacks auctions\/1$/);
  await claim(0, 'a');
  assert.equal(first.verdict(0, 'a'), 'pending');
  await first.take(1);
  await clock.advance(2 * settings.pollMs);
  // What was claimed before the book was open finds the room that is left then.
  assert.deepEqual([first.keeper.trouble(), first.verdict(0, 'a'), used().count], [null, 'refused', 1]);
});

test('who takes a partition up tells the book what was not told, and gets the verdict', async (t) => {
  const { first, second, claim, clock, server, used, createProcess } = await createOpenDesk(t);
  await claim(0, 'told');
  server.isUp = false;
  await claim(0, 'untold');
  await first.leave(0);
  assert.equal(first.verdict(0, 'told'), 'pending', "it is somebody else's");
  server.isUp = true;
  await first.close();
  const again = await createProcess(first.place);
  await again.take(0);
  await clock.advance(2 * settings.pollMs);
  assert.deepEqual([again.verdict(0, 'told'), again.verdict(0, 'untold')], ['granted', 'refused']);
  assert.equal(used().count, 1);
  // Somebody who has nothing folds it all, and hears the same.
  await again.leave(0);
  await second.take(0);
  await clock.advance(2 * settings.pollMs);
  assert.deepEqual([second.verdict(0, 'told'), second.verdict(0, 'untold')], ['granted', 'refused']);
  assert.equal(used().count, 1);
});

test('a claim waits for its verdict no longer than it is told to', async (t) => {
  const { first, claim, clock, server } = await createOpenDesk(t);
  const { changed } = first.views.verdicts!;
  const heard: string[] = [];
  void changed(50).then(() => heard.push('time'));
  await clock.advance(50);
  assert.deepEqual(heard, ['time']);
  server.isUp = false;
  await claim(0, 'a');
  await clock.settle();
  void changed(60_000).then(() => heard.push(first.verdict(0, 'a')));
  server.isUp = true;
  await clock.advance(2 * settings.retryMs);
  assert.equal(heard.length, 2);
  assert.equal(first.verdict(0, 'a'), 'granted');
});

test('a loan whose proposal is over stands in a book that is filled anew, and in the file of whoever goes on with it', async (t) => {
  const { first, second, createProcess, clock, empty, refill, fold, log, server } = await createOpenDesk(t);
  const loan = windowCaps.loanRecords();
  log[0]!.push(...loan);
  await fold();
  const state = (await first.views.read(['loan'])).get('loan')!.state;
  log[0]!.push(...windowCaps.writtenAt(state, parts.at + 136 * windowCaps.hourMs));
  await fold();
  const hour = `desk|hour-${Math.floor(parts.at / windowCaps.hourMs)}`;
  const counted = () => [hour, 'loan|day'].map((key) => server.data.sums.get(key)?.count ?? 0);
  assert.deepEqual(counted(), [1, 0]);
  empty();
  await refill();
  assert.deepEqual([counted(), first.keeper.trouble()], [[1, 0], null]);
  const claim = async (requestId: string, time: number) => {
    log[1]!.push(parts.requested({ requestId }), windowCaps.claimAt(requestId, time));
    await fold();
    return second.verdict(1, requestId);
  };
  assert.equal(await claim('two', parts.at + 140 * windowCaps.hourMs), 'refused');
  assert.equal(await claim('three', parts.at + 169 * windowCaps.hourMs), 'granted');
  await first.close();
  const third = await createProcess(first.place);
  await third.take(0);
  empty();
  await refill();
  await clock.settle();
  assert.deepEqual(counted(), [1, 0]);
  const kept = (await third.views.read(['loan'])).get('loan')!.state;
  log[0]!.push(...windowCaps.writtenAt(kept, parts.at + 721 * windowCaps.hourMs));
  await fold();
  assert.deepEqual([counted(), third.keeper.trouble()], [[0, 0], null]);
});
