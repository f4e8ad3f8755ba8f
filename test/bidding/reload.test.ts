/** Rules are exchanged and spoilt while the whole desk decides: each decision follows one set, the one that was live at its time. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import type { NewEntry } from '../../src/bidding/ports.ts';
import { readTopic } from '../../src/bidding/read-topic.ts';
import { announce, propose } from '../../src/bidding/rule-book.ts';
import type { DecisionTrace } from '../../src/domain/offer.ts';
import { eventually } from '../conformance/backend.ts';
import { always, ruleOf, sampleRequest } from '../rules/sample-request.ts';
import { type House, openHouse } from './house.ts';
import { createFolder, filesNamed, setNamed, shortRestMs, watchFolder } from './rule-sets.ts';

const clock = createSystemClock();
const sandbox = { auction: { windowMs: 20_000, expiryMs: 40_000 } };
const bidding = { windowMs: 20_000, skewAllowanceMs: 200, retryFirstMs: 40, marginWaitMs: 600 };
/** Ends each request with its decision: nothing has to be sent to be seen. */
const passesAll = [
  ruleOf({
    name: 'Everybody',
    conditions: always,
    event: { type: 'pass', params: { code: 'too-small', reason: 'a test' } },
  }),
];

function requests(from: number, count: number): NewEntry[] {
  return Array.from({ length: count }, (_, index): NewEntry => {
    const requestId = String(70_000_000 + from + index);
    const at = clock.now();
    const request = { ...sampleRequest, requestId, receivedAt: at };
    return {
      topic: 'auctions',
      key: requestId,
      record: { kind: 'requested', requestId, at, request, sealed: 'sealed', rawHash: requestId },
    };
  });
}

/** What every decision in the log was made from. */
async function traces({ store }: House): Promise<(DecisionTrace & { at: number })[]> {
  const found: (DecisionTrace & { at: number })[] = [];
  for await (const { record } of readTopic(store.log, 'auctions')) {
    if ((record.kind === 'passed' || record.kind === 'claimed') && record.trace !== null)
      found.push({ ...record.trace, at: record.at });
  }
  return found;
}

test('100 swaps while 5 000 requests pass: each decision follows the set that was live at its time, and that one alone', async (context) => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const sets = names.map((name) => setNamed(name, passesAll));
  const folder = createFolder(filesNamed('a', passesAll));
  const ruleWatch = watchFolder(folder);
  const house = await openHouse({ seed: 1, sandbox, bidding, ruleWatch });
  const { control } = house.store;
  try {
    for (const { hash, source } of sets)
      await propose({ ...house.store, clock }, { hash, source, who: { by: 'ana', via: 'api' } });
    const swaps = 100;
    const live = [...(await control.read()).ruleOrders];
    const feeding = (async () => {
      for (let from = 0; from < 5_000; from += 25) {
        await house.store.log.append(requests(from, 25));
        await sleep(30);
      }
    })();
    for (let swap = 1; swap <= swaps; swap += 1) {
      const { hash } = sets[swap % sets.length]!;
      const { liveAt } = await announce(
        { ...house.store, clock },
        { hash, who: { by: 'ana', via: 'api' }, aheadMs: 2_000 },
      );
      live.push({ hash, liveAt });
      await sleep(55);
    }
    await feeding;
    await eventually(async () => (await traces(house)).length >= 5_000, 10_000);
    const decisions = await traces(house);
    assert.equal(decisions.length, 5_000);
    const markers = new Map(sets.map(({ hash }, index) => [hash, `Marker ${names[index]}`]));
    for (const { decidedAt, ruleSetHash, rulesFired } of decisions) {
      const order = live.findLast(({ liveAt }) => liveAt <= decidedAt);
      assert.equal(ruleSetHash, order?.hash, `at ${decidedAt}`);
      assert.deepEqual([...rulesFired].sort(), ['Everybody', markers.get(ruleSetHash)!]);
    }
    const seen = new Set(decisions.map(({ decidedAt }) => live.findLastIndex(({ liveAt }) => liveAt <= decidedAt)));
    context.diagnostic(`figure: 5 000 decisions under ${seen.size} of ${live.length} successive sets`);
    assert.ok(seen.size >= 50, `${seen.size} sets decided something`);
    for (const { hash, source } of sets) {
      const [stored] = await house.store.log.readKey('inputs', hash);
      assert.equal(stored?.record.content, source, 'what decided something can be read again');
    }
  } finally {
    await house.close();
    folder.remove();
  }
});

const many = Array.from({ length: 15_000 }, (_, index) => ruleOf({ name: `${index}` }));
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
/** Each spoils the folder's `more.json`, or what else it says. */
const hostile: Readonly<Record<string, (path: string) => void>> = {
  'half of a file': (path) => writeFileSync(path, JSON.stringify(many[0]).slice(0, 80)),
  '10 MB': (path) => writeFileSync(path, Buffer.alloc(10_000_000, 32)),
  '15 000 rules': (path) => writeFileSync(path, JSON.stringify(many)),
  'a deep one': (path) => writeFileSync(path, deep),
  'bytes that are no text': (path) => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d])),
  'the prototype': (path) => writeFileSync(path, '{"__proto__": {"rules": []}, "rules": []}'),
  'a catastrophic pattern': (path) =>
    writeFileSync(
      path,
      JSON.stringify(
        ruleOf({
          name: 'x',
          conditions: { all: [{ fact: 'extra', path: '$..[?(@.a.match(/(a+)+$/))]', operator: 'equal', value: 1 }] },
        }),
      ),
    ),
  'a rule that no test shows': (path) => writeFileSync(path, JSON.stringify(ruleOf({ name: 'unseen' }))),
};

test('hostile files while decisions go on: refused, the good set is followed, and nobody waits', async (context) => {
  const folder = createFolder(filesNamed('a', passesAll));
  const ruleWatch = watchFolder(folder);
  const house = await openHouse({ seed: 2, sandbox, bidding, ruleWatch });
  const { hash } = setNamed('a', passesAll);
  const path = join(folder.path, 'more.json');
  try {
    let feeding = true;
    let from = 0;
    const feeder = (async () => {
      for (; feeding; from += 10) {
        await house.store.log.append(requests(from, 10));
        await sleep(20);
      }
    })();
    for (const [what, spoil] of Object.entries(hostile)) {
      const known = ruleWatch.reports.length;
      spoil(path);
      await eventually(() => ruleWatch.reports.length > known, 8_000);
      assert.equal(ruleWatch.reports.at(-1)!.kind, 'refused', what);
      await sleep(shortRestMs);
    }
    folder.remove();
    await eventually(() => /cannot be read/.test(JSON.stringify(ruleWatch.reports.at(-1))));
    feeding = false;
    await feeder;
    await eventually(async () => (await traces(house)).length >= from, 10_000);
    const decisions = await traces(house);
    assert.deepEqual([...new Set(decisions.map(({ ruleSetHash }) => ruleSetHash))], [hash]);
    const answer = await fetch(`${house.engine.url}/readyz?verbose`);
    const ready = await answer.text();
    assert.equal(answer.status, 200, ready);
    assert.match(ready, new RegExp(`\\[!\\] rules: ${hash.slice(0, 12)} is followed; the folder is refused`));
    assert.match(await (await fetch(`${house.engine.url}/metrics`)).text(), /^lance_rule_set_refused 1$/m);
    const received = new Map<string, number>();
    const waits: number[] = [];
    for (const { key, record } of await house.store.log.read('auctions', 0, 0, 100_000)) {
      if (record.kind === 'requested') received.set(key, record.at);
      if (record.kind === 'passed') waits.push(record.at - received.get(key)!);
    }
    const longestMs = Math.max(...waits);
    context.diagnostic(
      `figure: ${waits.length} decisions beside ${Object.keys(hostile).length + 1} hostile folders, longest wait ${longestMs} ms`,
    );
    assert.ok(longestMs < 1_000, `${longestMs} ms`);
  } finally {
    await house.close();
    folder.remove();
  }
});
