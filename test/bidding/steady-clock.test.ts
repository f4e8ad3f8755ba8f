/** The time of day does not step: a step is held back until it is over or confirmed, a small correction is followed slowly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimeWatch } from '../../src/bidding/time-watch.ts';
import type { Timer } from '../../src/domain/clock.ts';
import { createSteadyClock } from '../../src/domain/steady-clock.ts';
import { settings } from './parts.ts';

const start = Date.UTC(2026, 10, 22, 12);

function setUp() {
  let passedMs = 0;
  let shiftMs = 0;
  let timers: { atMs: number; run: () => void }[] = [];
  const after = (delayMs: number, run: () => void): Timer => {
    const timer = { atMs: passedMs + delayMs, run };
    timers.push(timer);
    return { cancel: () => (timers = timers.filter((other) => other !== timer)) };
  };
  const clock = createSteadyClock({ wall: () => start + passedMs + shiftMs, monotonicMs: () => passedMs, after });
  const pass = async (ms: number): Promise<void> => {
    for (const untilMs = passedMs + ms; ; ) {
      const next = timers.filter(({ atMs }) => atMs <= untilMs).sort((one, other) => one.atMs - other.atMs)[0];
      passedMs = Math.max(passedMs, next?.atMs ?? untilMs);
      if (next === undefined) return;
      timers = timers.filter((timer) => timer !== next);
      next.run();
      await new Promise(setImmediate);
    }
  };
  return { clock, pass, shift: (ms: number) => (shiftMs = ms) };
}

test('a step is not followed, in neither direction, and is over when the clock is back (defect line 20)', async () => {
  const { clock, pass, shift } = setUp();
  for (const ms of [4 * 86_400_000, -1_200_000, 2_001, -2_001]) {
    shift(ms);
    await pass(1_500);
    const before = clock.now();
    assert.equal(clock.step()?.movedMs, ms);
    await pass(1_000);
    assert.equal(clock.now() - before, 1_000);
    shift(0);
    assert.equal(clock.step(), null);
    assert.equal(clock.now() - before, 1_000);
  }
});

test('a correction of less than two seconds is followed, at most a tenth faster or slower than time', async () => {
  const { clock, pass, shift } = setUp();
  for (const ms of [1_900, -100]) {
    shift(ms);
    for (let round = 0; round < 300; round += 1) {
      const before = clock.now();
      await pass(100);
      const gainedMs = clock.now() - before;
      assert.ok(gainedMs >= 89 && gainedMs <= 111, `${gainedMs} ms in 100`);
      assert.equal(clock.step(), null);
    }
    assert.ok(Math.abs(clock.now() - (start + clock.monotonicMs() + ms)) <= 5);
  }
});

test('the offset says how far the time kept is ahead, within and after a step', async () => {
  const { clock, pass, shift } = setUp();
  const isNear = () => Math.abs(clock.now() - clock.monotonicMs() - clock.offsetMs()) <= 5;
  for (const ms of [0, 3, 900, -1_500, 4 * 86_400_000, -1_200_000]) {
    shift(ms);
    for (let round = 0; round < 50; round += 1) {
      await pass(100);
      assert.ok(isNear(), `${ms} ms, round ${round}`);
    }
  }
  clock.follow();
  assert.ok(isNear());
  assert.equal(Math.round(clock.offsetMs()), start - 1_200_000);
});

test('timers: one for a time of day is set anew by a jump, one after a delay is not (defect line 20)', async () => {
  const { clock, pass, shift } = setUp();
  const rung: string[] = [];
  clock.schedule(start + 60_000, () => rung.push('time of day'));
  clock.after(5_000, () => rung.push('delay'));
  clock.onJump(() => rung.push('jump'));
  shift(70_000);
  await pass(1_000);
  assert.deepEqual(rung, []);
  clock.follow();
  assert.equal(clock.step(), null);
  assert.equal(clock.now(), start + 71_000);
  await pass(0);
  assert.deepEqual(rung, ['jump', 'time of day']);
  shift(-1_200_000);
  clock.follow();
  await pass(4_000);
  assert.deepEqual(rung, ['jump', 'time of day', 'jump', 'delay']);
});

function watched(options: {
  newestMs: number | null;
  skewMs: (movedMs: number) => number | null;
  witness?: boolean;
  /** How far ahead the Dates of the last answers were. */
  aheadMs?: () => number;
}) {
  const { clock, pass, shift } = setUp();
  const events: string[] = [];
  const ends = new Map(options.newestMs === null ? [] : [[0, 1]]);
  const entry = { partition: 0, offset: 0, key: 'k', record: { at: start + (options.newestMs ?? 0) } };
  const watch = createTimeWatch({
    clock,
    log: { ends: async () => ends, read: (async () => [entry]) as never },
    service: {
      askTime: async () => {
        const skewMs = options.skewMs(clock.step()?.movedMs ?? 0);
        return skewMs === null ? { kind: 'untold' } : { kind: 'told', skewMs };
      },
      latestSkewMs: () => options.aheadMs?.() ?? 0,
      skewBelieved: () => true,
      clockSkewMs: () => options.aheadMs?.() ?? 0,
      networkP99Ms: () => 40,
    },
    settings: { ...settings, timeWitness: options.witness === false ? 'none' : 'service' },
    observer: (event) => events.push(event.kind === 'alarm' ? event.code : event.kind),
    stopping: () => false,
  });
  return { clock, pass, shift, watch, events };
}

test('a step closes the gate until the service tells the same time, and raises one alarm (defect line 20)', async () => {
  let agrees = false;
  const { clock, pass, shift, watch, events } = watched({
    newestMs: null,
    skewMs: (movedMs) => (agrees ? movedMs + 700 : 0),
  });
  await watch.start();
  assert.equal(watch.doubt(), null);
  shift(600_000);
  assert.equal(watch.doubt(), 'clock-step');
  await pass(5_000);
  assert.equal(watch.doubt(), 'clock-step');
  assert.deepEqual(events, ['clock-step', 'time']);
  agrees = true;
  await pass(1_500);
  assert.equal(watch.doubt(), null);
  assert.equal(clock.now(), start + clock.monotonicMs() + 600_000);
  assert.deepEqual(events, ['clock-step', 'time', 'time']);
});

test('a time kept from the newest record is behind: a clock set right is taken over at once, not approached', async () => {
  const { clock, pass, shift } = setUp();
  shift(-4 * 3_600_000);
  clock.keep(start - 1_700);
  assert.ok(clock.step() !== null);
  await pass(500);
  shift(0);
  assert.equal(clock.step(), null);
  assert.equal(clock.now(), start + clock.monotonicMs());
  shift(-4 * 3_600_000);
  clock.keep(start + clock.monotonicMs());
  shift(-1_500);
  assert.ok(clock.now() >= start + clock.monotonicMs(), 'time went back behind a record');
});

test('a small step is followed only when the service is nearer to it than to the time kept', async () => {
  for (const [movedMs, saysMs, followed] of [
    [2_900, 0, false],
    [-2_900, -100, false],
    [2_900, 2_500, true],
    [-2_900, -2_000, true],
  ] as const) {
    const { clock, pass, shift, watch } = watched({ newestMs: null, skewMs: () => saysMs });
    await watch.start();
    shift(movedMs);
    await pass(3_000);
    const apartMs = clock.now() - (start + clock.monotonicMs());
    assert.equal(
      Math.abs(apartMs - movedMs) < 10,
      followed,
      `${movedMs} ms, and the service says ${saysMs}: ${apartMs}`,
    );
  }
});

test('a start before the newest record, or long after it, asks the service first (defect line 20)', async () => {
  for (const newestMs of [3_000, -4 * 86_400_000]) {
    let answer: number | null = null;
    const { clock, pass, watch } = watched({ newestMs, skewMs: (movedMs) => (answer === null ? null : movedMs) });
    await watch.start();
    assert.equal(watch.doubt(), 'clock-step');
    assert.equal(clock.now(), start + newestMs);
    answer = 0;
    await pass(1_500);
    assert.equal(watch.doubt(), null);
    assert.equal(clock.now(), start + clock.monotonicMs());
  }
});

test('without a witness a clock that has come to rest is followed, and one that has not is not', async () => {
  const { pass, shift, watch } = watched({ newestMs: null, skewMs: () => null, witness: false });
  await watch.start();
  shift(600_000);
  await pass(8_000);
  shift(900_000);
  await pass(8_000);
  assert.equal(watch.doubt(), 'clock-step');
  await pass(4_000);
  assert.equal(watch.doubt(), null);
});

test('a service so far ahead that no auction is open closes the gate, and is asked until it is not', async () => {
  for (const witness of [true, false]) {
    let aheadMs = settings.windowMs;
    let asked = 0;
    const { pass, watch, events } = watched({
      newestMs: null,
      witness,
      aheadMs: () => aheadMs,
      skewMs: () => {
        asked += 1;
        if (asked > 10) aheadMs = 0;
        return aheadMs;
      },
    });
    await watch.start();
    assert.equal(watch.doubt(), 'clock-skew');
    await pass(5_000);
    assert.equal(watch.doubt(), null);
    assert.deepEqual(events, ['clock-skew', 'time', 'time']);
  }
});

test('a service that is a little ahead is asked now and then, for no answer may come', async () => {
  let asked = 0;
  const { pass, watch } = watched({
    newestMs: null,
    aheadMs: () => 20_000,
    skewMs: () => {
      asked += 1;
      return 20_000;
    },
  });
  await watch.start();
  assert.equal(watch.doubt(), null);
  await pass(20_000);
  assert.ok(asked >= 4 && asked <= 6, `asked ${asked} times`);
});

test('a clock ahead of the service, with requests that all come after their end, asks and closes the gate until it is right', async () => {
  let skewMs = 0;
  let asked = 0;
  const { clock, pass, watch, events } = watched({
    newestMs: null,
    aheadMs: () => skewMs,
    skewMs: () => {
      asked += 1;
      if (asked === 2) skewMs = -600_000;
      return skewMs;
    },
  });
  const come = (closesInMs: number | null) => {
    const receivedAt = clock.now();
    watch.requestCame({ receivedAt, closesAt: closesInMs === null ? null : receivedAt + closesInMs });
  };
  await watch.start();
  await pass(10_000);
  assert.equal(asked, 1);
  for (let index = 0; index < 5; index += 1) {
    come(-570_000);
    come(null);
  }
  await pass(1_000);
  assert.deepEqual([asked, watch.doubt()], [2, 'clock-skew']);
  assert.deepEqual(events, ['clock-skew', 'time']);
  skewMs = -100;
  await pass(1_500);
  assert.equal(watch.doubt(), null);
  skewMs = -600_000;
  assert.equal(watch.doubt(), 'clock-skew');
  come(20_000);
  assert.equal(watch.doubt(), null, 'one that came in time shows that the clock leaves time to bid');
});

test('late requests by a clock that agrees with the service close nothing, and few late ones ask nothing', async () => {
  let asked = 0;
  const { clock, pass, watch } = watched({
    newestMs: null,
    aheadMs: () => -300,
    skewMs: () => {
      asked += 1;
      return -300;
    },
  });
  await watch.start();
  const late = () => watch.requestCame({ receivedAt: clock.now(), closesAt: clock.now() - 60_000 });
  for (let index = 0; index < 4; index += 1) late();
  await pass(10_000);
  assert.equal(asked, 1);
  for (let index = 0; index < 40; index += 1) late();
  await pass(11_000);
  assert.deepEqual([asked, watch.doubt()], [4, null]);
});

test('a desk that sends nothing asks for the time once a minute', async () => {
  let asked = 0;
  const { pass, watch } = watched({
    newestMs: null,
    skewMs: () => {
      asked += 1;
      return 0;
    },
  });
  await watch.start();
  await pass(185_000);
  assert.equal(asked, 4);
});
