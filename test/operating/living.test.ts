/** Who counts as alive: an acknowledgement of a dead process may lie in the future, where a clock was ahead and was set right. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEmbeddedReader } from '../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { type Control, endedAt } from '../../src/bidding/ports.ts';
import { tellControl } from '../../src/cli/control.ts';
import { refuseLiving } from '../../src/cli/export.ts';
import { createFormat } from '../../src/cli/format.ts';
import { textsIn } from '../../src/cli/texts.ts';
import type { CommandWorld, WholeStore } from '../../src/cli/world.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { Fault } from '../../src/errors.ts';
import { type ControlOutcome, changeControl } from '../../src/operating/controls.ts';
import { clockOfDesk, livesSince, living } from '../../src/operating/living.ts';
import { createManualClock } from '../bidding/manual-clock.ts';

const start = 1_000_000;

/** Waits take no time of their own. */
function quickClock(): Clock {
  let now = start;
  const after: Clock['after'] = (delayMs, run) => {
    const timer = setImmediate(() => {
      now += delayMs;
      run();
    });
    return { cancel: () => clearImmediate(timer) };
  };
  return {
    ...createManualClock(start),
    ...{ now: () => now, monotonicMs: () => now, after },
  };
}

type Sign = { instance: string; revision: number; at: number };
const tenMinutesMs = 600_000;
const dead = { instance: 'dead', revision: 1, at: start + tenMinutesMs };

function controlOf(signs: () => readonly Sign[]): Control {
  return { acknowledged: async () => signs() } as unknown as Control;
}

test('what a process that is gone acknowledged in the future is no sign of life, and no order waits for it long', async () => {
  const clock = quickClock();
  const own = () => ({ instance: 'own', revision: 2, at: clock.now() });
  const outcome = await changeControl({ clock, control: controlOf(() => [dead, own()]) }, async () => 2);
  assert.deepEqual(outcome, { revision: 2, obeyedBy: ['own'], late: [] });
  assert.ok(clock.now() - start < 4_000, `${clock.now() - start} ms`);
  const found = await living(
    controlOf(() => [dead, own()]),
    clock,
  );
  assert.deepEqual(
    found.map(({ instance }) => instance),
    ['own'],
  );
  assert.equal(
    await livesSince(
      controlOf(() => [dead]),
      clock,
      start,
    ),
    false,
  );
});

test('a process that lived when the order came and then hangs is told as one that has not confirmed', async () => {
  const clock = quickClock();
  const hung = { instance: 'hung', revision: 1, at: start - 500 };
  const longGone = { instance: 'long gone', revision: 1, at: start - 6_000 };
  const own = () => ({ instance: 'own', revision: 2, at: clock.now() });
  const outcome = await changeControl({ clock, control: controlOf(() => [hung, longGone, own()]) }, async () => 2);
  assert.deepEqual(outcome, {
    revision: 2,
    obeyedBy: ['own'],
    late: ['hung'],
    silent: [{ instance: 'hung', at: start - 500 }],
  });
  assert.ok(clock.now() - start < 7_000, `${clock.now() - start} ms`);
});

test('a process that says that it ends is not waited for', async () => {
  const clock = quickClock();
  const ending = () => ({ instance: 'ending', revision: 1, at: clock.now() - start < 1_000 ? start : endedAt });
  const own = () => ({ instance: 'own', revision: 2, at: clock.now() });
  const outcome = await changeControl({ clock, control: controlOf(() => [ending(), own()]) }, async () => 2);
  assert.deepEqual(outcome, { revision: 2, obeyedBy: ['own'], late: [] });
  assert.ok(clock.now() - start < 2_000, `${clock.now() - start} ms`);
});

test('who confirms and dies at once has confirmed; who is late and confirms within the time as well', async () => {
  const clock = quickClock();
  const brief = { instance: 'brief', revision: 2, at: start };
  const slow = () => ({ instance: 'slow', revision: clock.now() - start < 5_500 ? 1 : 2, at: clock.now() });
  const outcome = await changeControl({ clock, control: controlOf(() => [brief, slow()]) }, async () => 2);
  assert.deepEqual(outcome, { revision: 2, obeyedBy: ['slow', 'brief'], late: [] });
});

test('what is not confirmed is said by name, beside who has, with the remedy, in both languages', () => {
  const stored = { kind: 'stored', wasPaused: false, revision: 7, obeyedBy: ['a', 'b'], late: ['c'] } as const;
  const told = (language: 'en' | 'pt', outcome: ControlOutcome) => {
    const world = { format: createFormat(language) } as unknown as CommandWorld;
    const texts = () => ({ told: String, stored: String, notStored: String, unsure: String, unkept: String });
    try {
      tellControl(world, outcome, texts);
    } catch (fault) {
      assert.ok(fault instanceof Fault && fault.code === 'not-acknowledged' && fault.exitCode === 75, String(fault));
      return fault.message;
    }
    throw new assert.AssertionError({ message: 'it was not refused' });
  };
  assert.equal(
    told('en', stored),
    'Stored as revision 7. Confirmed by a, b; not confirmed within 6 s by c. Find each of these by the name in its log line "started": one that has ended needs nothing, one that hangs is to be ended (SIGKILL).',
  );
  const silent = [{ instance: 'c', at: Date.UTC(2026, 10, 26, 5, 15, 2) }];
  assert.match(
    told('en', { ...stored, silent }),
    /within 6 s by c \(nothing was heard of it since 2026-11-26 02:15:02.*: it may be gone\)\. Find/,
  );
  assert.match(
    told('pt', { ...stored, silent }),
    /por c \(nada se ouviu dele desde 26\/11\/2026 02:15:02.*: pode não existir/,
  );
  assert.match(told('en', { ...stored, obeyedBy: [] }), /^Stored as revision 7\. Confirmed by no process; not /);
  assert.match(
    told('pt', stored),
    /^Guardado como revisão 7\. Confirmado por a, b; não confirmado em 6 s por c\. .*SIGKILL\)\.$/,
  );
  assert.match(told('pt', { ...stored, obeyedBy: [] }), /Confirmado por nenhum processo; /);
});

test('a process whose clock is ahead lives once it is seen to move, and its obedience is waited for', async () => {
  const clock = quickClock();
  const obeysAt = start + 3_000;
  const ahead = (): Sign => {
    const second = Math.floor((clock.now() - start) / 1_000);
    const revision = clock.now() >= obeysAt ? 2 : 1;
    return { instance: 'ahead', revision, at: start + tenMinutesMs + second * 1_000 };
  };
  const control = controlOf(() => [ahead()]);
  assert.deepEqual(await changeControl({ clock, control }, async () => 2), {
    ...{ revision: 2, obeyedBy: ['ahead'], late: [] },
  });
  assert.ok(clock.now() >= obeysAt);
  assert.equal((await living(control, clock)).length, 1);
  assert.equal(await livesSince(control, clock, start), true);
});

test('a desk does not move while a process shows itself, however far its clock is behind (issue 15 line 20)', async () => {
  const clock = quickClock();
  const hourMs = 3_600_000;
  const refusal = async (signs: () => readonly Sign[]) => {
    const world = { clock, format: { texts: textsIn('en') } } as unknown as CommandWorld;
    const store = { control: controlOf(signs) } as unknown as WholeStore;
    return refuseLiving(world, store).then(
      () => null,
      (fault: unknown) => (fault as Fault).message,
    );
  };
  const behind = (): Sign => ({ instance: 'behind', revision: 1, at: clock.now() - hourMs });
  assert.match((await refusal(() => [behind()])) ?? 'it was let through', /behind/);
  assert.equal(await refusal(() => [{ ...dead, at: start - hourMs }]), null, 'one that does not move is dead');
  const beforeMs = clock.now();
  assert.equal(await refusal(() => [{ ...dead, at: endedAt }]), null);
  assert.equal(clock.now(), beforeMs, 'one that said that it ends is not waited for');
});

test('a process shows life after its time was set back as well (issue 15 line 20)', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-living-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  const at = Date.now();
  await store.control.acknowledge('own', 1, at);
  await store.control.acknowledge('own', 1, at - tenMinutesMs);
  const reader = openEmbeddedReader({ directory });
  const stored = await reader.control.acknowledged();
  reader.close();
  await store.close();
  assert.deepEqual(stored, [{ instance: 'own', revision: 1, at: at - tenMinutesMs }]);
});

test('who lives now needs no second look where every acknowledgement is of now or of before', async () => {
  const clock = quickClock();
  const signs = [
    { instance: 'a', revision: 1, at: start - 1_000 },
    { instance: 'b', revision: 1, at: start + 4_000 },
    { instance: 'c', revision: 1, at: start - 6_000 },
  ];
  const found = await living(
    controlOf(() => signs),
    clock,
  );
  assert.deepEqual(
    found.map(({ instance }) => instance),
    ['a', 'b'],
  );
  assert.equal(clock.now(), start);
});

test('the last sign of a process that ends is stored, however soon after the one before', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-living-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  const at = Date.now();
  await store.control.acknowledge('own', 1, at);
  await store.control.acknowledge('own', 1, endedAt);
  await store.close();
  const reader = openEmbeddedReader({ directory });
  assert.deepEqual(await reader.control.acknowledged(), [{ instance: 'own', revision: 1, at: endedAt }]);
  reader.close();
});

test('whoever holds a data directory is alone there: those that acknowledged before it are gone', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-living-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const first = await openEmbeddedStore({ directory, onFault: assert.fail });
  await first.control.acknowledge('dead', 1, Date.now() + tenMinutesMs);
  assert.equal((await first.control.acknowledged()).length, 1);
  await first.close();
  const second = await openEmbeddedStore({ directory, onFault: assert.fail });
  await second.control.acknowledge('own', 1, Date.now());
  assert.deepEqual(
    (await second.control.acknowledged()).map(({ instance }) => instance),
    ['own'],
  );
  await second.close();
});

test('an order given beside the desk is of the time of the desk, where one lives', async () => {
  const clock = quickClock();
  for (const offMs of [-tenMinutesMs, tenMinutesMs]) {
    const sign = () => ({ instance: 'own', revision: 1, at: clock.now() + offMs });
    const there = await clockOfDesk(
      controlOf(() => [dead, { ...dead, instance: 'ended', at: endedAt }, sign()]),
      clock,
    );
    assert.ok(Math.abs(there.now() - clock.now() - offMs) < 1_000, `${there.now() - clock.now()}`);
  }
  for (const signs of [[], [dead], [dead, { instance: 'own', revision: 1, at: clock.now() - 1_500 }]]) {
    assert.equal(
      await clockOfDesk(
        controlOf(() => signs),
        clock,
      ),
      clock,
    );
  }
  const away = { acknowledged: () => Promise.reject(new Fault('views-unavailable', 'away')) } as unknown as Control;
  assert.equal(await clockOfDesk(away, clock), clock);
});
