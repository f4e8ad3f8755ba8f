/** What any control must do: operators change it from another process, live processes obey and say so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, type StoreKind, withBackend } from './backend.ts';

const pause = { by: 'ana', reason: 'teste "é"', at: 1_763_700_000_000 };

export function testControl(kind: StoreKind): void {
  test(`${kind.name}: nothing is paused or capped at first; every change raises the revision`, () =>
    withBackend(kind, async ({ control }) => {
      const first = await control.read();
      assert.deepEqual([first.pause, first.caps], [null, {}]);
      const paused = await control.setPause(pause);
      const capped = await control.setCap('__proto__', 5, pause);
      const cappedTwice = await control.setCap('daily', 0, { ...pause, reason: null, at: pause.at + 1 });
      assert.ok(first.revision < paused && paused < capped && capped < cappedTwice);
      const read = await control.read();
      assert.deepEqual(read.pause, pause);
      assert.deepEqual(Object.entries(read.caps).sort(), [
        ['__proto__', 5],
        ['daily', 0],
      ]);
      assert.equal(read.revision, cappedTwice);
      await control.setCap('__proto__', null, { ...pause, at: pause.at + 2 });
      const resumed = await control.resume({ by: 'bia', reason: 'visto', at: pause.at + 3 });
      const { changes, ...last } = await control.read();
      assert.deepEqual(last, { revision: resumed, pause: null, caps: { daily: 0 }, snoozes: [], ruleOrders: [] });
      // Who said what and why stays known (defect line 17).
      assert.deepEqual(changes, [
        { ...pause, revision: paused, kind: 'paused' },
        { ...pause, revision: capped, kind: 'cap-set', name: '__proto__', limitCents: 5 },
        {
          by: 'ana',
          reason: null,
          at: pause.at + 1,
          revision: cappedTwice,
          kind: 'cap-set',
          name: 'daily',
          limitCents: 0,
        },
        { ...pause, at: pause.at + 2, revision: resumed - 1, kind: 'cap-removed', name: '__proto__' },
        { by: 'bia', reason: 'visto', at: pause.at + 3, revision: resumed, kind: 'resumed' },
      ]);
    }));

  test(`${kind.name}: another process pauses, and sees who obeys`, () =>
    withBackend(kind, async ({ control }, place) => {
      const beside = await kind.beside(place);
      try {
        const revision = await beside.control.setPause(pause);
        await eventually(async () => (await control.read()).revision === revision, 1_000);
        assert.deepEqual((await control.read()).pause, pause);
        await control.acknowledge('one', revision, 10);
        await control.acknowledge('two', revision - 1, 10);
        await control.acknowledge('two', revision, 11);
        await eventually(async () => {
          const seen = await beside.control.acknowledged();
          return seen.length === 2 && seen.every((each) => each.revision === revision);
        }, 1_000);
        await control.acknowledge('one', revision, 5_000);
        await eventually(async () =>
          (await beside.control.acknowledged()).some(({ instance, at }) => instance === 'one' && at === 5_000),
        );
        const own = await control.acknowledged();
        assert.deepEqual(
          [...own].sort((a, b) => a.at - b.at),
          [
            { instance: 'two', revision, at: 11 },
            { instance: 'one', revision, at: 5_000 },
          ],
        );
      } finally {
        await beside.close();
      }
    }));

  test(`${kind.name}: concurrent changes from two processes are all kept`, () =>
    withBackend(kind, async ({ control }, place) => {
      const beside = await kind.beside(place);
      try {
        const names = Array.from({ length: 20 }, (_, index) => `cap${index}`);
        const revisions = await Promise.all(
          names.map((name, index) =>
            (index % 2 === 0 ? control : beside.control).setCap(name, index, { ...pause, by: name }),
          ),
        );
        assert.equal(new Set(revisions).size, 20);
        const { caps, changes } = await control.read();
        assert.equal(Object.keys(caps).length, 20);
        assert.deepEqual(new Set(changes.map((change) => change.by)), new Set(names));
      } finally {
        await beside.close();
      }
    }));

  test(`${kind.name}: rule sets are announced once each, never before one announced earlier, by whoever comes first`, () =>
    withBackend(kind, async ({ control }, place) => {
      const beside = await kind.beside(place);
      try {
        const first = await control.announceRules({ hash: 'a', liveAt: 5_000 });
        const both = [control, beside.control].map((one) => one.announceRules({ hash: 'b', liveAt: 4_000 }));
        const [one, two] = await Promise.all(both);
        assert.equal(one, two, 'the second one finds it announced');
        assert.ok(first < one!);
        const orders = [
          { hash: 'a', liveAt: 5_000 },
          { hash: 'b', liveAt: 5_001 },
        ];
        await eventually(async () => (await beside.control.read()).revision === one);
        for (const each of [control, beside.control]) assert.deepEqual((await each.read()).ruleOrders, orders);
        const again = await beside.control.announceRules({ hash: 'a', liveAt: 9_000 });
        await eventually(async () => (await control.read()).revision === again);
        assert.deepEqual((await control.read()).ruleOrders, [...orders, { hash: 'a', liveAt: 9_000 }]);
        const names = Array.from({ length: 80 }, (_, index) => `set${index}`);
        for (const hash of names) await control.announceRules({ hash, liveAt: 10_000 });
        const kept = (await beside.control.read()).ruleOrders;
        assert.deepEqual(
          kept.map(({ hash }) => hash),
          names.slice(-kept.length),
        );
        assert.ok(kept.length >= 32);
      } finally {
        await beside.close();
      }
    }));

  test(`${kind.name}: rules sleep until they are woken or their time is over, and who said so stays known`, () =>
    withBackend(kind, async ({ control }, place) => {
      const beside = await kind.beside(place);
      try {
        const word = { by: 'ana', via: 'api' as const, reason: 'falso alarme', at: pause.at };
        const snooze = { ...word, rule: '__proto__', digest: 'd1', until: pause.at + 100 };
        const other = { ...word, rule: 'Caps "é"', digest: 'd2', until: pause.at + 200 };
        await control.snoozeRule(snooze);
        await beside.control.snoozeRule(other);
        await eventually(async () => (await control.read()).snoozes.length === 2);
        for (const each of [control, beside.control]) assert.deepEqual((await each.read()).snoozes, [snooze, other]);
        const longer = { ...other, until: pause.at + 300, at: pause.at + 1 };
        await control.snoozeRule(longer);
        assert.deepEqual((await control.read()).snoozes, [snooze, longer]);
        const capped = await control.setCap('daily', 3, { ...pause, at: pause.at + 2 });
        assert.deepEqual((await control.read()).snoozes, [snooze, longer]);
        // What is over by then is forgotten.
        const resumed = { by: 'bia', reason: 'visto', at: pause.at + 150 };
        const revision = await control.resumeRule(longer.rule, resumed);
        assert.equal(revision, capped + 1);
        const { snoozes, changes } = await control.read();
        assert.deepEqual(snoozes, []);
        assert.deepEqual(changes.at(-1), { ...resumed, revision, kind: 'rule-resumed', name: longer.rule });
        const { rule: name, ...said } = snooze;
        assert.deepEqual(changes[0], { ...said, revision: changes[0]!.revision, kind: 'rule-snoozed', name });
        assert.deepEqual(
          (await beside.control.history()).changes.map(({ kind: what }) => what),
          ['rule-snoozed', 'rule-snoozed', 'rule-snoozed', 'cap-set', 'rule-resumed'],
        );
      } finally {
        await beside.close();
      }
    }));

  test(`${kind.name}: who looks back finds every order with author, reason and time, beside a process that runs`, () =>
    withBackend(kind, async ({ control }, place) => {
      const beside = await kind.beside(place);
      try {
        assert.deepEqual(await beside.control.history(), { changes: [], ruleOrders: [] });
        const resumed = { by: 'bia', reason: 'visto', at: pause.at + 1 };
        const word = { by: 'ana', reason: null, at: pause.at + 2 };
        const order = { hash: 'a', liveAt: pause.at + 5 };
        const revisions = [
          await control.setPause(pause),
          await control.resume(resumed),
          await beside.control.setCap('daily', 7, word),
          await control.announceRules(order),
        ];
        await eventually(async () => (await control.read()).revision === revisions[3]);
        // More than every state of the controls carries with it.
        const capped = Array.from({ length: 40 }, (_, index) => ({ ...word, at: word.at + 1 + index }));
        for (const later of capped) revisions.push(await control.setCap('daily', 8, later));
        assert.deepEqual(await beside.control.history(), {
          changes: [
            { ...pause, revision: revisions[0], kind: 'paused' },
            { ...resumed, revision: revisions[1], kind: 'resumed' },
            { ...word, revision: revisions[2], kind: 'cap-set', name: 'daily', limitCents: 7 },
            ...capped.map((later, index) => ({
              ...{ ...later, revision: revisions[4 + index], kind: 'cap-set', name: 'daily', limitCents: 8 },
            })),
          ],
          ruleOrders: [order],
        });
      } finally {
        await beside.close();
      }
    }));

  test(`${kind.name}: a pause outlives a restart`, async () => {
    const place = await kind.createPlace();
    const before = await kind.open(place);
    await before.control.setPause(pause);
    await before.close();
    const after = await kind.open(place);
    try {
      assert.deepEqual((await after.control.read()).pause, pause);
    } finally {
      await after.close();
    }
  });
}
