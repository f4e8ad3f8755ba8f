/** A record that cannot be processed freezes its request: nothing is sent, what was promised stays so, and it ends explained. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { capOperations, evolve, evolveOrFreeze } from '../../src/bidding/evolve.ts';
import { createLedger } from '../../src/bidding/ledger.ts';
import type { LogBatch } from '../../src/bidding/ports.ts';
import { alarmsOf, react } from '../../src/bidding/react.ts';
import { capKeysOf } from '../../src/domain/cap-book.ts';
import { readRecord } from '../../src/domain/record-shapes.ts';
import type { AuctionRecord, Unfrozen } from '../../src/domain/records.ts';
import type { RequestState } from '../../src/domain/states.ts';
import { Fault } from '../../src/errors.ts';
import { sampleRequest } from '../rules/sample-request.ts';
import {
  accepted,
  answered,
  at,
  bid,
  claimed,
  contemplated,
  deadlineAt,
  ended,
  offer,
  passed,
  proposed,
  rejected,
  requested,
  requestId,
  resolved,
  settings,
  trace,
} from './parts.ts';

const samples: readonly AuctionRecord[] = [
  requested(),
  claimed(),
  passed(null),
  passed('a:1'),
  answered(accepted),
  answered({ kind: 'accepted-outside', bidId: null }, true),
  ended([bid('ours'), bid('theirs', { rateHundredths: 240, position: 2 })]),
  contemplated(),
  proposed(),
  resolved('cancelled'),
  { kind: 'frozen', requestId, at, problem: 'seen by hand' },
  { kind: 'unfrozen', requestId, at, action: 'cancel', by: 'ana', reason: 'seen' },
];

const place = { partition: 0, offset: 17, key: requestId };
const unreadable = readRecord('auctions', place, undefined);
const thaw = (action: Unfrozen['action']): Unfrozen => {
  return { kind: 'unfrozen', requestId, at: at + 9, action, by: 'ana', reason: 'seen with the vendor' };
};

function foldAll(records: readonly AuctionRecord[]): RequestState {
  let state: RequestState | null = null;
  for (const record of records) ({ state } = evolveOrFreeze(state, record, settings));
  return state!;
}

const hostileValues = fc.constantFrom<unknown>(
  ...[
    undefined,
    null,
    '',
    'x',
    '0123',
    -1,
    0,
    1.5,
    9e15,
    1e308,
    Number.NaN,
    true,
    [],
    [null],
    {},
    { a: 1 },
    '2026-99-99',
  ],
);

/** The record with one of its values, however deep, replaced or left out. */
function spoiled(record: unknown, path: readonly number[], value: unknown): unknown {
  if (typeof record !== 'object' || record === null || path.length === 0) return value;
  const names = Object.keys(record);
  const name = names[(path[0] ?? 0) % Math.max(1, names.length)];
  if (name === undefined) return value;
  const copy: Record<string, unknown> = Array.isArray(record)
    ? ([...record] as never)
    : { ...(record as Record<string, unknown>) };
  const inner = spoiled(copy[name], path.slice(1), value);
  if (inner === undefined) delete copy[name];
  else copy[name] = inner;
  return copy;
}

const spoiledRecord = fc
  .tuple(fc.constantFrom(...samples), fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }), hostileValues)
  .map(([record, path, value]) => spoiled(JSON.parse(JSON.stringify(record)), path, value));

test('a claim that names levels no program has freezes its request, and is not learnt from', () => {
  const claim = claimed();
  const additive = { layout: 'features-1', levels: [10, 18], locations: [250, 250, 250] };
  const trial = { breakEvens: [172], rates: [247], scale: 97, additive };
  const saying = (levels: readonly number[]) => ({
    ...claim,
    trace: { ...trace, trial: { ...trial, additive: { ...additive, levels } } },
  });
  const known = saying([10, 18]);
  assert.equal(readRecord('auctions', place, known), known);
  // Sums of each pair of levels are named by their place: one of these would fill the memory at every start.
  for (const levels of [[9e15], [1_000_000], Array.from({ length: 10_000 }, () => 1)]) {
    assert.equal(readRecord('auctions', place, saying(levels)).kind, 'unreadable', `${levels.length}, ${levels[0]}`);
  }
});

test('records as they are written are read as they are', () => {
  for (const record of samples) assert.equal(readRecord('auctions', place, record), record, record.kind);
});

test('whatever stands in the log, folding it and going on never throws, and sends nothing once frozen (defect line 9)', () => {
  let frozen = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom<unknown>(...samples), spoiledRecord), { minLength: 1, maxLength: 7 }),
      fc.integer({ min: -10_000, max: 900_000_000 }),
      (values, laterMs) => {
        let state: RequestState | null = null;
        for (const value of values) {
          const record = readRecord('auctions', place, value);
          const before: RequestState | null = state;
          ({ state } = evolveOrFreeze(before, record, settings));
          alarmsOf(before, state);
        }
        const commands = react(state!, state!.exposure, at + laterMs, settings);
        // Kept in the views and read back.
        assert.deepEqual(JSON.parse(JSON.stringify(state)), state);
        if (state!.frozen === undefined) return;
        frozen += 1;
        assert.ok(commands.some((command) => command.kind === 'alarm' && command.code === 'request-frozen'));
        assert.ok(commands.every(({ kind }) => kind !== 'send' && kind !== 'decide'));
      },
    ),
    { numRuns: 5_000 },
  );
  assert.ok(frozen > 1_000, `${frozen} of the runs froze their request`);
});

test('a record of a program that noted no trial leaves none in the state', () => {
  const { trial: _, ...bare } = trace;
  for (const record of [claimed('a:1', { trace: bare }), { ...passed(null), trace: bare }]) {
    const state = foldAll([requested(), record]);
    assert.equal(state.frozen, undefined);
    assert.equal(state.trial, null);
    assert.deepEqual(JSON.parse(JSON.stringify(state)), state);
  }
});

test('a frozen request ends explained by itself, and keeps what it has promised', () => {
  const ends: readonly [readonly AuctionRecord[], number, string, string][] = [
    [[requested(), { kind: 'frozen', requestId, at, problem: 'seen by hand' }], deadlineAt, 'passed', 'none'],
    [[unreadable], settings.windowMs, 'passed', 'none'],
    [[requested(), claimed(), unreadable], deadlineAt, 'unknown', 'held'],
    [[requested(), claimed(), answered(accepted), unreadable], deadlineAt + 600_000, 'result-missing', 'held'],
  ];
  for (const [records, endAt, phase, exposure] of ends) {
    const state = foldAll(records);
    const early = react(state, state.exposure, endAt - 1, settings);
    assert.deepEqual(
      early.map(({ kind }) => kind),
      ['alarm', 'wait'],
    );
    const late = react(state, state.exposure, endAt, settings).find((command) => command.kind === 'append')!;
    const after = foldAll([...records, late.record]);
    assert.deepEqual([after.phase, after.exposure, after.frozen !== undefined], [phase, exposure, true]);
    if (after.pass !== null) assert.deepEqual([after.pass.code, after.pass.maybeSent], ['internal-error', true]);
  }
  const won = foldAll([requested(), claimed(), answered(accepted), ended([bid('ours')]), unreadable]);
  assert.deepEqual([won.phase, won.exposure], ['won', 'committed']);
  const years = react(won, won.exposure, at + 10 * 365 * 86_400_000, settings);
  assert.ok(
    years.every(({ kind }) => kind !== 'append'),
    'nothing is released while nobody has looked',
  );
});

test('cancelled, nothing more is sent: undecided it is passed, claimed it is unknown, and the rest goes on', () => {
  const cancel = thaw('cancel');
  const undecided = foldAll([requested(), { kind: 'frozen', requestId, at, problem: 'seen by hand' }, cancel]);
  assert.deepEqual([undecided.phase, undecided.pass?.code, undecided.frozen], ['passed', 'internal-error', undefined]);
  assert.match(undecided.pass!.reasons[0]!.text, /cancelled by ana: seen with the vendor/);
  const held = foldAll([requested(), claimed(), unreadable, cancel]);
  assert.deepEqual([held.phase, held.exposure, held.frozen], ['unknown', 'held', undefined]);
  const later = foldAll([requested(), claimed(), unreadable, answered(accepted), cancel]);
  assert.deepEqual([later.phase, later.exposure, later.frozen], ['accepted', 'held', undefined]);
  const calm = [requested(), claimed()];
  assert.deepEqual(foldAll([...calm, cancel]), foldAll(calm));
});

test('what may have been a claim is never a pass: its money counts, ended by the desk or cancelled', () => {
  const asked = sampleRequest.requestedAmountCents!;
  const readable = foldAll([requested(), unreadable]);
  const commands = react(readable, readable.exposure, at + 5, settings);
  const unknownNow = commands.find((command) => command.kind === 'append')!.record;
  for (const last of [unknownNow, thaw('cancel')]) {
    const state = foldAll([requested(), unreadable, last]);
    assert.deepEqual([state.phase, state.exposure, state.pass], ['unknown', 'held', null]);
    assert.deepEqual([state.claim?.offer.amountCents, state.claim?.unread], [asked, true]);
    const { changes } = evolveOrFreeze(readable, last, settings);
    const [reserve] = changes;
    assert.ok(reserve?.kind === 'reserve' && reserve.force && reserve.amountCents === asked);
    assert.ok(reserve.expiresAt > deadlineAt + settings.graceMs);
    const unreadKeys = ['standing:unread', `standing:unread|worker.key=${sampleRequest.workerKey}`];
    assert.deepEqual(capKeysOf(reserve.caps).slice(0, 2), unreadKeys);
    assert.deepEqual(
      capOperations(readable, state, 2).map(({ kind, keys }) => [kind, ...keys.slice(0, 2)]),
      [['hold', ...unreadKeys]],
    );
    // Which published bid is ours cannot be told, so none of them ends it.
    const published = evolve(state, ended([bid('one')]), settings);
    assert.deepEqual([published.phase, published.auction?.position], ['unknown', null]);
  }
  assert.match(JSON.stringify(unknownNow), /may have been a claim: auctions\/0 at 17/);
});

test('a claim of more than was asked for counts what was asked for, and is never sent (attacker, session 49)', () => {
  const asked = sampleRequest.requestedAmountCents!;
  const huge = claimed('x:1', { offer: { ...offer, amountCents: 900_000_000_000 } });
  const found = foldAll([requested(), huge]);
  assert.deepEqual([found.phase, found.claim, found.exposure], ['requested', null, 'none']);
  assert.match(found.frozen?.problem ?? '', /^claimed: .*more than was asked for/);
  const commands = react(found, found.exposure, at + 5, settings);
  assert.deepEqual(
    commands.map((command) => command.kind),
    ['alarm', 'append'],
  );
  const unknownNow = commands.find((command) => command.kind === 'append')!.record;
  const state = foldAll([requested(), huge, unknownNow]);
  assert.deepEqual([state.phase, state.exposure, state.claim?.offer.amountCents], ['unknown', 'held', asked]);
  // A claim that comes after it is not the first one, and may be of a process that knew nothing of it.
  assert.deepEqual(foldAll([requested(), huge, claimed()]).claim?.offer.amountCents, asked);
  assert.equal(foldAll([requested(), claimed(), huge]).frozen, undefined);
  assert.equal(foldAll([requested(), claimed()]).frozen, undefined);
});

test('cancelled and resolved by a person, a claim that nothing was sent of counts under no cap', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-freeze-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  context.after(store.close);
  const ledger = createLedger(store.views, settings, store.log);
  const asked = sampleRequest.requestedAmountCents!;
  const day = trace.caps[0]!.keys[0]!;
  const unreadKey = 'standing:unread';
  const fold = async (...records: AuctionRecord[]) => {
    await store.log.append(records.map((record) => ({ topic: 'auctions', key: record.requestId, record })));
    const first = await store.views.applied(0);
    const entries = await store.log.read('auctions', 0, first, records.length);
    await ledger.fold({ partition: 0, first, next: first + records.length, entries });
    const usage = await store.views.usage([day, unreadKey], at + 20);
    return [usage.get(day)?.amountCents ?? 0, usage.get(unreadKey)?.amountCents ?? 0];
  };
  const huge = claimed('x:1', { offer: { ...offer, amountCents: 900_000_000_000 } });
  const noted = {
    kind: 'frozen',
    requestId,
    at,
    problem: 'the bytes of the claim are not those of its offer',
  } as const;
  for (const [claim, counted] of [
    [huge, [0, asked]],
    [claimed('x:1'), [offer.amountCents, 0]],
  ] as const) {
    const id = claim === huge ? requestId : `${requestId}1`;
    const request = { ...sampleRequest, requestId: id };
    const own = [requested({ requestId: id, request }), { ...claim, requestId: id }, { ...noted, requestId: id }];
    await fold(...own);
    assert.deepEqual(await fold({ ...thaw('cancel'), requestId: id }), counted);
    assert.deepEqual(await fold({ ...resolved('not-landed'), requestId: id }), [0, 0]);
  }
});

test('an answer whose claim cannot be read counts, and its bid is found by its id', () => {
  const cancel = thaw('cancel');
  for (const first of [[requested(), unreadable], [requested()], [unreadable, unreadable], [unreadable, claimed()]]) {
    const state = foldAll([...first, answered(accepted)]);
    assert.deepEqual([state.phase, state.exposure, state.claim !== null], ['accepted', 'held', true]);
    assert.equal(foldAll([...first, answered(accepted), cancel]).phase, 'accepted');
  }
  for (const results of [
    [answered(accepted), ended([bid('ours'), bid('theirs', { position: 2 })])],
    [ended([bid('ours'), bid('theirs', { position: 2 })]), answered(accepted)],
  ]) {
    const state = foldAll([requested(), unreadable, ...results]);
    assert.deepEqual([state.phase, state.exposure, state.auction?.position], ['won', 'committed', 1]);
  }
  const refused = foldAll([requested(), unreadable, answered(rejected)]);
  assert.deepEqual([refused.phase, refused.exposure], ['rejected', 'none']);
  const late = foldAll([requested(), passed(null), answered(accepted)]);
  assert.deepEqual([late.phase, late.exposure, late.claim?.unread], ['accepted', 'held', true]);
});

test('a retry reads the records again: what can be processed now is as if it had always been (defect line 9)', async (context) => {
  const damaged: AuctionRecord[] = [requested(), unreadable, answered(accepted), ended([bid('ours')]), thaw('retry')];
  const mended: AuctionRecord[] = [requested(), claimed(), answered(accepted), ended([bid('ours')])];
  for (const [history, isMended] of [
    [mended, true],
    [damaged.slice(0, -1), false],
  ] as const) {
    const directory = mkdtempSync(join(tmpdir(), 'lance-freeze-'));
    const onFault = (fault: Fault) => assert.fail(fault.message);
    const { views, close } = await openEmbeddedStore({ directory, onFault });
    context.after(() => close().then(() => rmSync(directory, { recursive: true })));
    const readKey = async () => history.map((record, offset) => ({ ...place, offset, record }) as never);
    const ledger = createLedger(views, settings, { readKey });
    const entries = damaged.map((record, offset) => ({ partition: 0, offset, key: requestId, record }));
    const batch = (from: number, to: number): LogBatch<AuctionRecord> => {
      return { partition: 0, first: from, next: to, entries: entries.slice(from, to) };
    };
    await ledger.fold(batch(0, 4));
    assert.equal(ledger.frozenCount(), 1);
    const unmended = ledger.get(requestId)!.state;
    assert.deepEqual([unmended.phase, unmended.exposure], ['won', 'committed']);
    const [fold] = await ledger.fold(batch(4, 5));
    const { state } = fold!.row;
    if (isMended) {
      assert.deepEqual(state, { ...foldAll(mended), places: { offsets: [0, 1, 2, 3, 4] } });
      assert.equal((await views.read([requestId])).get(requestId)?.reservation, 'committed');
      const [day] = capKeysOf(trace.caps);
      assert.equal((await views.usage([day!], at)).get(day!)?.amountCents, offer.amountCents);
      const steps = capOperations(fold!.before ?? unmended, state, 4);
      assert.deepEqual(
        steps.map(({ kind, amountCents }) => [kind, amountCents]),
        [
          ['release', sampleRequest.requestedAmountCents],
          ['hold', offer.amountCents],
        ],
      );
    } else {
      assert.equal(state.frozen?.retriedAt, at + 9);
      assert.match(state.frozen.problem, /auctions\/0 at 17: its bytes are no JSON/);
    }
  }
});

test('assertions and faults of the world are not taken for a record that cannot be processed', () => {
  const throwing = (fault: Error) =>
    Object.defineProperty({ ...requested() }, 'rawHash', {
      get: () => {
        throw fault;
      },
    });
  const fold = (fault: Error) => evolveOrFreeze(null, throwing(fault), settings).state.frozen?.problem;
  assert.throws(() => fold(new assert.AssertionError({ message: 'ours' })), assert.AssertionError);
  assert.throws(() => fold(new Fault('log-unavailable', 'away')), Fault);
  assert.equal(fold(new TypeError('quotes 52998224725')), 'requested: TypeError');
});

test('a decision that saw more promised than one loan can be is read back (attacker, session 48)', () => {
  const usage = { 'desk-day|2026-11-27': { amountCents: 2_000_000_013_389_003, count: 2 } };
  const record = { ...passed(null, 'cap'), trace: { ...trace, usage } };
  assert.deepEqual(readRecord('auctions', place, record), record);
});
