/** Which rules decide: on the embedded store, with the daemon's own thread on a real folder. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type EmbeddedStore, openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { takenAwayBy } from '../../src/bidding/held-back.ts';
import { announce, announceAheadMs, propose } from '../../src/bidding/rule-book.ts';
import { createRuleDesk, type RuleDesk, type RuleEvent } from '../../src/bidding/rule-desk.ts';
import { compileRuleSet } from '../../src/rules/rule-set.ts';
import { eventually } from '../conformance/backend.ts';
import { always, ruleOf } from '../rules/sample-request.ts';
import {
  createFolder,
  type Folder,
  filesNamed,
  policyNaming,
  setNamed,
  shortFollowedRestMs,
  watchFolder,
} from './rule-sets.ts';

const clock = createSystemClock();
const root = mkdtempSync(join(tmpdir(), 'lance-rule-desk-'));
after(() => rmSync(root, { recursive: true, force: true }));

type Life = {
  desk: RuleDesk;
  store: EmbeddedStore;
  events: RuleEvent[];
  reports: () => readonly { kind: string }[];
  followed: (at?: number) => string | null;
  told: (kind: RuleEvent['kind']) => RuleEvent[];
  /** The controls are heard as the gate hears them, until they are not. */
  deaf: (deaf: boolean) => void;
  close: () => Promise<void>;
};

/** A desk's life on the directory, as far as rules go. */
async function live(
  directory: string,
  folder: Folder,
  special: { approval?: boolean; restMs?: number; unreadable?: string } = {},
): Promise<Life> {
  const onFault = (fault: Error): never => {
    throw fault;
  };
  const store = await openEmbeddedStore({ directory: join(root, directory), onFault });
  const watch = watchFolder(folder, special.restMs);
  const events: RuleEvent[] = [];
  const desk = createRuleDesk({
    ...store,
    watch,
    clock,
    approval: special.approval ?? false,
    unreadable: special.unreadable ?? null,
    policyOf: policyNaming,
    onEvent: (event) => events.push(event),
  });
  let isDeaf = false;
  const hear = async () => {
    const readAtMs = clock.monotonicMs();
    if (!isDeaf) desk.onControl(await store.control.read(), readAtMs);
  };
  const close = async (poll?: NodeJS.Timeout) => {
    clearInterval(poll);
    await desk.stop();
    await store.close();
  };
  try {
    await desk.start();
  } catch (fault) {
    await close();
    throw fault;
  }
  const poll = setInterval(() => void hear(), 50);
  await hear();
  return {
    desk,
    store,
    events,
    reports: () => watch.reports,
    followed: (at = clock.now()) => desk.policy(at)?.ruleSet.hash ?? null,
    told: (kind) => events.filter((event) => event.kind === kind),
    deaf: (deaf) => {
      isDeaf = deaf;
    },
    close: () => close(poll),
  };
}

const a = setNamed('a').hash;
const b = setNamed('b').hash;
const bad = { path: 'rules.json', text: '{"rules": [' };

test('nothing is decided where this version does not take the economics that two persons stand for', async () => {
  const unreadable = 'this version does not take the economics';
  const life = await live('unreadable', createFolder(filesNamed('a')), { unreadable });
  try {
    assert.equal(life.desk.policy(clock.now()), null);
    assert.equal(life.desk.status().missing, unreadable);
  } finally {
    await life.close();
  }
});

test('a change is followed from the announced time on, a bad one never, and the last good set also after a restart', async () => {
  const folder = createFolder(filesNamed('a'));
  const first = await live('changes', folder);
  try {
    assert.equal(first.followed(), a, 'the first set is followed at once');
    folder.put([bad]);
    await eventually(() => first.told('rules-refused').length === 1);
    const { refusal } = first.desk.status();
    assert.match(refusal!, /rules\.json/);
    assert.equal(first.followed(), a);
    folder.put(filesNamed('b'));
    await eventually(() => first.told('rules-announced').length === 2);
    assert.equal(first.desk.status().refusal, null);
    const order = (await first.store.control.read()).ruleOrders.at(-1)!;
    assert.equal(order.hash, b);
    await eventually(() => clock.now() >= order.liveAt);
    await eventually(() => first.told('rules-live').length === 2);
    assert.deepEqual([first.followed(order.liveAt - 1), first.followed(order.liveAt)], [a, b]);
    folder.put([bad]);
    await eventually(() => first.told('rules-refused').length === 2);
  } finally {
    await first.close();
  }
  const second = await live('changes', folder);
  try {
    assert.equal(second.followed(), b, 'the last good set, from the store');
    await eventually(() => second.told('rules-refused').length === 1);
    assert.equal(second.followed(), b);
    const kinds = (await second.store.ruleBook.read()).map((entry) => [
      entry.kind,
      'hash' in entry && entry.hash,
      entry.by,
    ]);
    assert.deepEqual(kinds, [
      ['proposed', a, null],
      ['activated', a, null],
      ['proposed', b, null],
      ['activated', b, null],
    ]);
    const proposed = (await second.store.ruleBook.read())[2]!;
    assert.ok(proposed.kind === 'proposed' && proposed.against === a);
    assert.deepEqual(proposed.changes, [
      { what: 'rule', name: 'Marker b', change: 'added' },
      { what: 'tests', name: 'rules', change: 'changed' },
      { what: 'rule', name: 'Marker a', change: 'removed' },
    ]);
  } finally {
    await second.close();
    folder.remove();
  }
});

test('without any set that was ever followed, a bad folder keeps a desk from starting', async () => {
  const folder = createFolder([...filesNamed('a'), bad]);
  await assert.rejects(live('bad-first', folder), { code: 'rules-refused', message: /rules\.json/ });
  folder.remove();
});

test('a file that is still being written is not read', async () => {
  const folder = createFolder(filesNamed('a'));
  const life = await live('torn', folder, { restMs: 600 });
  try {
    const { text } = filesNamed('b')[1]!;
    const path = join(folder.path, 'rules.json');
    writeFileSync(path, '');
    const parts = 20;
    for (let part = 0; part < parts; part += 1) {
      appendFileSync(
        path,
        text.slice(Math.floor((part * text.length) / parts), Math.floor(((part + 1) * text.length) / parts)),
      );
      await sleep(40);
    }
    folder.put(filesNamed('b'));
    await eventually(() => life.told('rules-announced').length === 2);
    assert.deepEqual(
      life.reports().map(({ kind }) => kind),
      ['good', 'good'],
    );
    assert.deepEqual(life.told('rules-refused'), []);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('what was gone back to stays so after a restart, until the folder changes', async () => {
  const folder = createFolder(filesNamed('a'));
  const first = await live('back', folder);
  folder.put(filesNamed('b'));
  await eventually(() => first.followed() === b, 8_000);
  await announce({ ...first.store, clock }, { hash: a, who: { by: 'ana', via: 'api' }, aheadMs: 0 });
  await eventually(() => first.followed() === a);
  await first.close();
  const second = await live('back', folder);
  try {
    await eventually(() => second.told('rules-not-followed').length === 1);
    assert.deepEqual([second.followed(), second.desk.status().notFollowed], [a, b]);
    folder.put(filesNamed('c'));
    await eventually(() => second.followed() === setNamed('c').hash, 8_000);
    assert.equal(second.desk.status().notFollowed, null);
  } finally {
    await second.close();
    folder.remove();
  }
});

test('a change soon after a start is followed, also to what was followed before it', async () => {
  const folder = createFolder(filesNamed('a'));
  const first = await live('soon', folder);
  folder.put(filesNamed('b'));
  await eventually(() => first.followed() === b, 8_000);
  await first.close();
  const second = await live('soon', folder);
  try {
    // The folder was looked at, and holds what is followed: nothing is said of it yet.
    await sleep(2_700);
    assert.deepEqual([second.followed(), second.reports().length], [b, 0]);
    folder.put(filesNamed('a'));
    await eventually(() => second.followed() === a, 8_000);
    assert.deepEqual(second.told('rules-not-followed'), []);
  } finally {
    await second.close();
    folder.remove();
  }
});

test('after a restart the folder is looked at later, but what has to be checked is checked at once', async () => {
  const folder = createFolder(filesNamed('a'));
  await (await live('later', folder)).close();
  const second = await live('later', folder);
  const watch = watchFolder(folder);
  try {
    await sleep(1_000);
    assert.deepEqual([second.followed(), second.reports().length], [a, 0]);
    await eventually(() => second.reports().length === 1, 10_000);
    watch.start(() => undefined, 600_000, null);
    const { hash, source } = setNamed('b');
    assert.deepEqual(await watch.check(source), { kind: 'good', hash, source });
  } finally {
    await watch.stop();
    await second.close();
    folder.remove();
  }
});

test('a folder that holds what is followed is checked after a while, one that changes at once', async () => {
  const folder = createFolder(filesNamed('a'));
  const [unchanged, changed] = [watchFolder(folder), watchFolder(folder)];
  const startedAt = performance.now();
  try {
    unchanged.start(() => undefined, 0, a);
    changed.start(() => undefined, 0, b);
    await eventually(() => changed.reports.length === 1, 10_000);
    assert.equal(unchanged.reports.length, 0);
    await eventually(() => unchanged.reports.length === 1, 20_000);
    assert(performance.now() - startedAt >= shortFollowedRestMs);
    for (const { reports } of [unchanged, changed])
      assert.deepEqual(
        reports.map((report) => report.kind === 'good' && report.hash),
        [a],
      );
  } finally {
    await unchanged.stop();
    await changed.stop();
    folder.remove();
  }
});

test('with approval two persons have to stand for a set, whoever announces it', async () => {
  const folder = createFolder(filesNamed('a'));
  const life = await live('approval', folder, { approval: true });
  const { ruleBook } = life.store;
  const approve = (hash: string, by: string) => ruleBook.append({ kind: 'approved', hash, at: clock.now(), by });
  const announceNow = (hash: string) =>
    announce({ ...life.store, clock }, { hash, who: { by: 'ana', via: 'api' }, aheadMs: 0 });
  try {
    assert.deepEqual([life.followed(), life.told('rules-await-approval').length], [null, 1]);
    await approve(a, 'ana');
    await announceNow(a);
    await eventually(() => life.told('rules-missing').length === 1);
    assert.match(life.desk.status().missing!, /two persons/);
    assert.equal(life.followed(), null, 'one approval and nobody known as the author');
    await approve(a, ' ANA ');
    await sleep(700);
    assert.equal(life.followed(), null, 'the same person twice');
    await approve(a, 'bruno');
    await eventually(() => life.followed() === a);
    folder.put(filesNamed('b'));
    await eventually(() => life.told('rules-await-approval').length === 2);
    assert.equal(life.desk.status().notFollowed, b);
    assert.equal(life.followed(), a);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('rows that may be refreshed go live under the approval of the set that they refresh, and nothing else does', async () => {
  const declaration = (words: object) => ({
    path: 'bureau.values.json',
    text: JSON.stringify({
      ...{ description: 'Scores', key: 'employer.key', refresh: true, ...words },
      columns: { score: { type: 'number', unit: 'points' } },
    }),
  });
  const rows = (scores: readonly number[]) => ({
    path: 'bureau.values.csv',
    text: `key,score\n${scores.map((score, index) => `${11_222_333 + index},${score}\n`).join('')}`,
  });
  const filesWith = (scores: readonly number[], words: object = {}) => [
    ...filesNamed('a'),
    declaration(words),
    rows(scores),
  ];
  const hashWith = (...given: Parameters<typeof filesWith>) => {
    const compiled = compileRuleSet(filesWith(...given));
    assert.ok(compiled.kind === 'compiled');
    return compiled.ruleSet.hash;
  };
  const folder = createFolder(filesWith([1, 2, 3]));
  let life = await live('refresh', folder, { approval: true });
  const first = hashWith([1, 2, 3]);
  try {
    const { ruleBook } = life.store;
    for (const by of ['ana', 'bruno']) await ruleBook.append({ kind: 'approved', hash: first, at: clock.now(), by });
    await announce({ ...life.store, clock }, { hash: first, who: { by: 'ana', via: 'api' }, aheadMs: 0 });
    await eventually(() => life.followed() === first);
    folder.put([rows([4, 5, 6, 7])]);
    await eventually(() => life.followed() === hashWith([4, 5, 6, 7]));
    folder.put([rows([8, 5, 6])]);
    await eventually(() => life.followed() === hashWith([8, 5, 6]));
    const proposals = (await ruleBook.read()).filter((entry) => entry.kind === 'proposed');
    assert.deepEqual(
      proposals.map(({ hash, refreshes }) => [hash, refreshes]),
      [
        [first, undefined],
        [hashWith([4, 5, 6, 7]), first],
        [hashWith([8, 5, 6]), hashWith([4, 5, 6, 7])],
      ],
    );
    // Also what only another process, or a restart, has to believe.
    await life.close();
    life = await live('refresh', folder, { approval: true });
    assert.equal(life.followed(), hashWith([8, 5, 6]));
    const waiting = () => life.told('rules-await-approval').map((event) => ('hash' in event ? event.hash : ''));
    folder.put([rows([8])]);
    await eventually(() => waiting().includes(hashWith([8])));
    folder.put([declaration({ description: 'Other scores' }), rows([8, 5, 7])]);
    const other = hashWith([8, 5, 7], { description: 'Other scores' });
    await eventually(() => waiting().includes(other));
    folder.put(filesNamed('b'));
    await eventually(() => waiting().length === 3);
    assert.equal(life.followed(), hashWith([8, 5, 6]));
    // Rows for a set that waits for approval wait with it.
    assert.equal(life.desk.status().missing, null);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('who has not heard the controls for 2 s follows nothing, for another set may have begun', async () => {
  const folder = createFolder(filesNamed('a'));
  const life = await live('deaf', folder);
  try {
    life.deaf(true);
    await sleep(100);
    assert.equal(life.followed(), a);
    await eventually(() => life.followed() === null, announceAheadMs + 500);
    assert.match(life.desk.status().missing!, /not known .* controls/);
    life.deaf(false);
    await eventually(() => life.followed() === a);
    assert.equal(life.desk.status().missing, null);
  } finally {
    await life.close();
    folder.remove();
  }
});

const capRule = ruleOf({
  name: 'Desk a day',
  conditions: always,
  event: { type: 'cap', params: { name: 'desk-day', keyFacts: [], window: 'day', maxAmountReais: 1_000_000 } },
});
const capped = setNamed('a', [capRule]).hash;

test('a folder that takes every cap away is not followed by itself, also after a restart; put back it is as before', async () => {
  const folder = createFolder(filesNamed('a', [capRule]));
  const first = await live('capless', folder);
  try {
    folder.put(filesNamed('b'));
    await eventually(() => first.told('rules-refused').length === 1);
    const [told] = first.told('rules-refused');
    assert.match(
      told!.kind === 'rules-refused' ? told!.text : '',
      new RegExp(
        `every cap \\(1: desk-day\\).*lance rules activate ${b.slice(0, 12)} --by NAME --reason TEXT.*put the files back`,
      ),
    );
    const { refusal, heldBack, notFollowed } = first.desk.status();
    assert.match(refusal!, /every cap/);
    const lost = { hash: b, caps: 1, capNames: ['desk-day'], rules: 2, left: 1, files: ['rules.json'] };
    assert.deepEqual([heldBack, notFollowed], [lost, b]);
    await sleep(announceAheadMs + 500);
    assert.equal(first.followed(), capped);
    assert.equal((await first.store.control.read()).ruleOrders.at(-1)!.hash, capped);
  } finally {
    await first.close();
  }
  const second = await live('capless', folder);
  try {
    assert.equal(second.followed(), capped, 'the last set, from the store');
    await eventually(() => second.told('rules-refused').length === 1);
    assert.deepEqual(second.told('rules-not-followed'), []);
    assert.equal(second.followed(), capped);
    folder.put(filesNamed('a', [capRule]));
    await eventually(() => second.told('rules-mended').length === 1);
    assert.deepEqual([second.desk.status().refusal, second.desk.status().heldBack], [null, null]);
    folder.put(filesNamed('c', [capRule]));
    await eventually(() => second.followed() === setNamed('c', [capRule]).hash, 8_000);
  } finally {
    await second.close();
    folder.remove();
  }
});

test('whoever activates a set without caps has it followed, and it is refused no more', async () => {
  const folder = createFolder(filesNamed('a', [capRule]));
  const life = await live('capless-meant', folder);
  try {
    folder.put(filesNamed('b'));
    await eventually(() => life.told('rules-refused').length === 1);
    await announce({ ...life.store, clock }, { hash: b, who: { by: 'ana', via: 'api' }, aheadMs: 0 });
    await eventually(() => life.followed() === b);
    assert.deepEqual([life.desk.status().refusal, life.desk.status().heldBack], [null, null]);
    assert.equal(life.told('rules-mended').length, 1);
    folder.put(filesNamed('c'));
    await eventually(() => life.followed() === setNamed('c').hash, 8_000);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('a folder that has lost a file with all its rules is not followed by itself, step by step either', async () => {
  const named = (name: string) => ruleOf({ name, conditions: always });
  const more = { path: 'more.json', text: JSON.stringify([named('One'), named('Two')]) };
  const last = { path: 'last.json', text: JSON.stringify([named('Three')]) };
  const folder = createFolder([...filesNamed('a', [named('Four'), named('Five'), named('Six')]), more, last]);
  const life = await live('files-lost', folder);
  const whole = life.followed();
  try {
    rmSync(join(folder.path, 'last.json'));
    await eventually(() => life.told('rules-refused').length === 1);
    assert.match(
      life.desk.status().refusal!,
      /1 of 7 rules \(last\.json\).*lance rules activate [\da-f]{12} --by NAME/,
    );
    const { hash: _, ...lost } = life.desk.status().heldBack!;
    assert.deepEqual(lost, { caps: 0, capNames: [], rules: 7, left: 6, files: ['last.json'] });
    rmSync(join(folder.path, 'more.json'));
    await eventually(() => life.told('rules-refused').length === 2);
    assert.match(life.desk.status().refusal!, /3 of 7 rules \(last\.json, more\.json\)/);
    await sleep(announceAheadMs + 500);
    assert.equal(life.followed(), whole);
    // The rules moved to another file, and one of them is left out: that is an edit.
    folder.put([{ path: 'moved.json', text: JSON.stringify([named('One'), named('Three')]) }]);
    await eventually(() => life.told('rules-announced').length === 2);
    assert.equal(life.desk.status().refusal, null);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('a folder that has lost one of two caps is not followed by itself, also in a file that is edited', async () => {
  const workerCap = ruleOf({
    name: 'Worker a day',
    conditions: always,
    event: { type: 'cap', params: { name: 'worker-day', keyFacts: ['worker.key'], window: 'day', maxCount: 3 } },
  });
  const caps = { path: 'caps.json', text: JSON.stringify([workerCap]) };
  const folder = createFolder([...filesNamed('a', [capRule]), caps]);
  const life = await live('cap-lost', folder);
  const whole = life.followed();
  try {
    rmSync(join(folder.path, 'caps.json'));
    await eventually(() => life.told('rules-refused').length === 1);
    assert.match(life.desk.status().refusal!, /would take away the cap worker-day and 1 of 3 rules \(caps\.json\)/);
    folder.put([{ path: 'caps.json', text: JSON.stringify([{ ...workerCap, name: 'Three bids a day' }]) }]);
    await eventually(() => life.told('rules-announced').length === 2);
    await eventually(() => life.followed() !== whole);
    const renamed = life.followed();
    const other = ruleOf({ name: 'One', conditions: always });
    folder.put([{ path: 'caps.json', text: JSON.stringify([other]) }]);
    await eventually(() => life.told('rules-refused').length === 2);
    assert.match(life.desk.status().refusal!, /would take away the cap worker-day: where/);
    assert.deepEqual(life.desk.status().heldBack?.files, []);
    await sleep(announceAheadMs + 500);
    assert.equal(life.followed(), renamed);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('of the shipped rules no single file can be lost without a word', () => {
  const files = readRuleFiles(fileURLToPath(new URL('../../rules', import.meta.url)));
  const compiled = (without: string | null) => {
    const found = compileRuleSet(
      files.filter(({ path }) => without === null || path.replace('.test.', '.') !== without),
    );
    return found.kind === 'compiled' ? found.ruleSet : null;
  };
  const whole = compiled(null)!;
  const withRules = [...new Set(whole.rules.map(({ file }) => file))];
  assert.ok(withRules.includes('caps.json') && withRules.length > 3);
  for (const file of withRules) {
    const next = compiled(file);
    if (next !== null) assert.ok(takenAwayBy(whole, next)?.files.includes(file), file);
  }
  assert.equal(takenAwayBy(whole, whole), null);
  const without = takenAwayBy(whole, compiled('caps.json')!);
  assert.deepEqual(without?.capNames, ['desk-day', 'employer-day', 'worker-day']);
  assert.equal(without?.caps, 0, 'one cap is left');
});

test('a set that somebody went back from does not go live from the folder after another one was activated', async () => {
  const folder = createFolder(filesNamed('a'));
  const life = await live('back-then-other', folder);
  const parts = { ...life.store, clock };
  const who = { by: 'ana', via: 'api' } as const;
  try {
    folder.put(filesNamed('b'));
    await eventually(() => life.followed() === b, 8_000);
    await announce(parts, { hash: a, who, aheadMs: 0, rollback: { from: b, reviewBy: clock.now() + 60_000 } });
    await eventually(() => life.followed() === a);
    const { hash: c, source } = setNamed('c');
    await propose(parts, { hash: c, source, who });
    await announce(parts, { hash: c, who, aheadMs: 0 });
    await eventually(() => life.followed() === c);
    folder.put([bad]);
    await eventually(() => life.told('rules-refused').length === 1);
    folder.put(filesNamed('b'));
    await eventually(() => life.told('rules-not-followed').length === 1);
    const [told] = life.told('rules-not-followed');
    assert.match(told!.kind === 'rules-not-followed' ? told!.text : '', /ana went back .*lance rules activate/);
    await sleep(announceAheadMs + 500);
    assert.equal(life.followed(), c);
    assert.equal(life.desk.status().notFollowed, b);
    await announce(parts, { hash: b, who, aheadMs: 0 });
    await eventually(() => life.followed() === b);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('what two persons have approved is followed from the folder, whatever it takes away', async () => {
  const folder = createFolder(filesNamed('a', [capRule]));
  const life = await live('capless-approved', folder);
  const { ruleBook } = life.store;
  try {
    await ruleBook.append({ kind: 'approved', hash: b, at: clock.now(), by: 'ana' });
    await ruleBook.append({ kind: 'approved', hash: b, at: clock.now(), by: 'bruno' });
    folder.put(filesNamed('b'));
    await eventually(() => life.followed() === b, 8_000);
    assert.deepEqual(life.told('rules-refused'), []);
  } finally {
    await life.close();
    folder.remove();
  }
});

test('what somebody went back from is told as that and not refused, whatever it takes away', async () => {
  const folder = createFolder(filesNamed('a', [capRule]));
  const first = await live('capless-back', folder);
  const parts = { ...first.store, clock };
  folder.put(filesNamed('b'));
  await eventually(() => first.told('rules-refused').length === 1);
  await announce(parts, { hash: b, who: { by: 'ana', via: 'api' }, aheadMs: 0 });
  const rollback = { from: b, reviewBy: clock.now() + 60_000 };
  await announce(parts, { hash: capped, who: { by: 'ana', via: 'api' }, aheadMs: 0, rollback });
  await first.close();
  const second = await live('capless-back', folder);
  try {
    await eventually(() => second.told('rules-not-followed').length === 1);
    assert.deepEqual([second.followed(), second.desk.status().heldBack], [capped, null]);
  } finally {
    await second.close();
    folder.remove();
  }
});
