/** How far callbacks are dealt with, read from the log alone: never past a winner event that a request of its code lacks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventLog } from '../../src/bidding/ports.ts';
import { callbacksDealtWith, flowCallbacksDealtWith } from '../../src/dealt-with.ts';
import type { Contemplated } from '../../src/domain/records.ts';
import { linkListPath } from '../../src/wire/link-queries.ts';

const at = 1_763_700_000_000;
const graceMs = 60_000;
const holders: Readonly<Record<string, readonly string[]>> = { one: ['r1'], two: ['r2'], both: ['r1', 'r2'] };

type Event = Omit<Contemplated, 'requestId' | 'sharedWith'>;

function winner(requestCode: string, more: Partial<Event> = {}): Event {
  return { kind: 'contemplated', at, requestCode, message: null, errors: [], ...more };
}

function kept(requestId: string, event: Event, sharedWith?: string[]): Contemplated {
  // As another codec gives it back: in another order, and at another time.
  const { kind, ...rest } = event;
  return { requestId, ...rest, at: at + 5, kind, ...(sharedWith && { sharedWith }) } as Contemplated;
}

function logOf(topics: Readonly<Record<string, object[][]>>): Pick<EventLog, 'read' | 'ends'> {
  return {
    ends: async (topic: string) => new Map(topics[topic]!.map((records, partition) => [partition, records.length])),
    read: async (topic: string, partition: number, from: number, limit: number) =>
      topics[topic]![partition]!.map((record, offset) => ({ partition, offset, key: 'k', record })).slice(
        from,
        from + limit,
      ),
  } as unknown as Pick<EventLog, 'read' | 'ends'>;
}

async function dealtWith(callbacks: object[][], auctions: object[], now = at): Promise<number[]> {
  const log = logOf({ callbacks, auctions: [auctions] });
  const findByBid = async (codes: readonly string[]) =>
    new Map(codes.flatMap((code) => (holders[code] === undefined ? [] : [[code, holders[code]]])));
  return [...(await callbacksDealtWith(log, { findByBid }, { graceMs, now })).values()];
}

test('to the end where there is no winner event, or each has its record', async () => {
  const other = { kind: 'link-list', at, workerKey: 'w', links: [] };
  assert.deepEqual(await dealtWith([[other, other], []], []), [2, 0]);
  const [one, two] = [winner('one'), winner('two', { message: 'sim' })];
  assert.deepEqual(await dealtWith([[one, other], [two]], [kept('r1', one), kept('r2', two)]), [2, 1]);
  assert.deepEqual(await dealtWith([[one, { ...one, at: at + 9 }]], [kept('r1', one)]), [2], 'told again');
});

test('up to the first one that its request lacks, however old it is', async () => {
  const [one, two] = [winner('one'), winner('two')];
  const late = at + 9 * graceMs;
  assert.deepEqual(await dealtWith([[one, two, one]], [kept('r1', one)], late), [1]);
  const failed = winner('one', { errors: ['E1'] });
  assert.deepEqual(await dealtWith([[one, failed]], [kept('r1', one)], late), [1], 'another event of the same bid');
});

test('of a code of several requests each needs its record', async () => {
  const both = winner('both');
  assert.deepEqual(await dealtWith([[both]], [kept('r1', both, ['r2'])]), [0]);
  assert.deepEqual(await dealtWith([[both]], [kept('r1', both, ['r2']), kept('r2', both, ['r1'])]), [1]);
});

test('one that no request has waits as long as its bid may become known', async () => {
  assert.deepEqual(await dealtWith([[winner('nobody')]], [], at + graceMs - 1), [0]);
  assert.deepEqual(await dealtWith([[winner('nobody')]], [], at + graceMs), [1]);
});

const dayMs = 86_400_000;
const event = (sealed: string, more: object = {}) => ({ kind: 'operation-event', at, endpoint: null, sealed, ...more });
const note = (sealed: string) => ({ kind: 'credit-note', at, sealed });
const told = (sealed: string) => ({ kind: 'told', at, sealed });

async function flowsDealtWith(callbacks: object[][], flows: object[][], now = at + 2 * dayMs): Promise<number[]> {
  return [...(await flowCallbacksDealtWith(logOf({ callbacks, flows }), now)).values()];
}

test('of flows up to the first event that none was told of, in whichever partition its flow is', async () => {
  const callbacks = [[event('a'), note('b')], [winner('one'), note('c')], []];
  assert.deepEqual(await flowsDealtWith(callbacks, [[], []]), [0, 1, 0]);
  assert.deepEqual(await flowsDealtWith(callbacks, [[told('b')], [told('c')]]), [0, 2, 0]);
  assert.deepEqual(
    await flowsDealtWith(callbacks, [
      [told('a'), told('b')],
      [told('c'), told('a')],
    ]),
    [2, 2, 0],
  );
});

test('of flows link answers and unreadable records are read again behind the last event that was told', async () => {
  const unreadable = { kind: 'unreadable', problem: 'p', requestCode: null };
  const list = { kind: 'link-list', at, workerKey: 'w', links: [], sealed: 'l' };
  const refused = event('r', { endpoint: linkListPath });
  assert.deepEqual(await flowsDealtWith([[unreadable, list, event('a'), list, refused]], [[told('a')]], at + 1), [3]);
  assert.deepEqual(await flowsDealtWith([[event('a'), list, refused]], [[told('a')]]), [3], 'too old for a flow');
  assert.deepEqual(await flowsDealtWith([[event('a'), list, unreadable, event('b')]], [[told('a')]]), [2]);
  assert.deepEqual(await flowsDealtWith([[list, refused]], [[]]), [2], 'a desk without flows');
});
