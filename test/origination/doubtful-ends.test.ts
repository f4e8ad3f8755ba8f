/** An inclusion that may have been done is not cancelled as if it were not, whoever died over it (review of session 55). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextSteps } from '../../src/origination/next-steps.ts';
import { alarmsOf } from '../../src/origination/react.ts';
import { createFlowWorld, type Fate, type FlowWorld } from './flow-world.ts';
import { asked, settings, started, stepRequests, workerKey } from './orders.ts';

/** The process plans and does the next thing; what it sends has the fate. */
function goOn(real: FlowWorld, fate: Fate = 'taken'): void {
  real.plan(0);
  real.act(0, fate);
}

/** A withdrawal whose inclusion stands in the log, to be sent. */
function includingWorld(): FlowWorld {
  const real = createFlowWorld(started('withdrawal'));
  const { now } = real.world;
  real.append(asked('w-1', 'simulation', 's1', now, { request: stepRequests.simulation, personKeys: [workerKey] }));
  real.settle();
  real.append(asked('w-1', 'inclusion', 's2', now, { request: stepRequests.inclusion }));
  goOn(real);
  assert.equal(real.state().operation?.status, 'intended');
  return real;
}

const cancel = (real: FlowWorld) => real.append(asked('w-1', 'cancel', 's3', real.world.now));
const where = (real: FlowWorld) => [real.state().phase, real.state().operation?.status];

test('an inclusion that is turned away after another process may have sent it is not cancelled', () => {
  for (const fate of ['turned-away', 'not-sent'] as const) {
    const real = includingWorld();
    goOn(real, 'dies');
    goOn(real, fate);
    assert.ok(!nextSteps(real.state(), settings, null).includes('cancel'), fate);
    cancel(real);
    assert.deepEqual([...where(real), real.executed.length], ['simulated', 'intended', 2], fate);
  }
});

test('records of earlier versions, which do not say who may have sent it, are a doubt as well', () => {
  const real = includingWorld();
  const { intentId } = real.state().operation!.intent!;
  real.append({
    ...{ kind: 'answered', flowId: 'w-1', at: real.world.now, intentId, instance: 'a2' },
    ...{ result: { kind: 'not-sent', reason: 'throttled', retryAt: null }, earlierAttemptPossible: true },
    ...{ firstByteAt: null, status: null, sealedAnswer: null },
  });
  cancel(real);
  assert.deepEqual(where(real), ['simulated', 'intended']);
});

test('an inclusion that only its own process has sent is cancelled until it is due again, and no later', () => {
  const real = includingWorld();
  for (const fate of ['turned-away', 'not-sent'] as const) {
    goOn(real, fate);
    real.pass(real.state().operation!.retryAt! - real.world.now);
  }
  goOn(real, 'turned-away');
  const early = real.log.length;
  cancel(real);
  assert.deepEqual(where(real), ['cancelled', 'not-sent']);

  const late = includingWorld();
  for (const fate of ['turned-away', 'not-sent', 'turned-away'] as const) {
    goOn(late, fate);
    late.pass(late.state().operation!.retryAt! - late.world.now);
  }
  assert.equal(late.log.length, early);
  goOn(late, 'dies');
  cancel(late);
  assert.deepEqual([...where(late), late.executed.length], ['simulated', 'intended', 2]);
});

test('a rejection that proves nothing, or a doubt, brings a cancelled withdrawal back; one that proves it does not', () => {
  for (const [result, earlierAttemptPossible, othersMayHaveSent, expected] of [
    [{ kind: 'rejected', code: 'already-included', errors: [] }, true, true, ['simulated', 'unclear']],
    [{ kind: 'rejected', code: 'E1', errors: [] }, false, false, ['cancelled', 'not-sent']],
    [{ kind: 'not-sent', reason: 'throttled', retryAt: null }, true, true, ['simulated', 'unclear']],
    [{ kind: 'not-sent', reason: 'throttled', retryAt: null }, true, false, ['cancelled', 'not-sent']],
  ] as const) {
    const real = includingWorld();
    const { intentId } = real.state().operation!.intent!;
    goOn(real, 'turned-away');
    cancel(real);
    assert.deepEqual(where(real), ['cancelled', 'not-sent']);
    const before = real.state();
    const told = {
      ...({ kind: 'answered', flowId: 'w-1', at: real.world.now, intentId, instance: 'b1', result } as const),
      ...{ earlierAttemptPossible, othersMayHaveSent, firstByteAt: null, status: null, sealedAnswer: null },
    };
    real.append(told);
    assert.deepEqual(where(real), expected, result.kind);
    const isDoubt = expected[1] === 'unclear';
    assert.equal(alarmsOf(before, real.state(), settings).includes('operation-unclear'), isDoubt, result.kind);
    real.append(told);
    assert.deepEqual(where(real), expected, 'told twice');
  }
});

test('whoever dies over an inclusion, and whatever answers come late, one that was done does not stay cancelled', () => {
  const fates = ['taken', 'dies', 'late', 'lost', 'refused', 'not-sent', 'turned-away', 'turned-away'] as const;
  const acts = fc.tuple(fc.nat(1), fc.constantFrom(...fates));
  const passes = fc.constantFrom(1, 1_000, 8_000);
  const others = fc.constantFrom('cancel' as const, 'arrive' as const);
  let cancelled = 0;
  fc.assert(
    fc.property(fc.array(fc.oneof(acts, acts, passes, others), { maxLength: 16, size: 'max' }), (events) => {
      const real = includingWorld();
      for (const [index, event] of events.entries()) {
        if (event === 'cancel') real.append(asked('w-1', 'cancel', `c-${index}`, real.world.now));
        else if (event === 'arrive') real.arrive();
        else if (typeof event === 'number') real.pass(event);
        else {
          real.plan(event[0]);
          real.act(event[0], event[1]);
        }
      }
      real.arrive();
      if (real.state().phase !== 'cancelled') return;
      cancelled += 1;
      assert.ok(!real.executed.some(({ operation }) => operation === 'inclusion'));
    }),
    { numRuns: 1_000, includeErrorInReport: true },
  );
  assert.ok(cancelled > 10, 'some are cancelled');
});
