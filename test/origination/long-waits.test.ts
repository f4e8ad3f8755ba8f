/** A step that the service turns away waits no longer than is set, is sent no oftener, and a person can end it (integrator, session 54). */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { flowView } from '../../src/http/api/views.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import { allowsStep } from '../../src/origination/steps.ts';
import { type OperationResult, readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { settings } from './orders.ts';
import { heard, takingHouse } from './taking-house.ts';

const yearMs = 365 * 86_400_000;

const throttled = (retryAt: number | null): OperationResult<never> => ({
  ...{ kind: 'not-sent', reason: 'throttled', retryAt, attempts: 1 },
});
const simulated = '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}';

/** A withdrawal that is simulated; what the service answers to its inclusion is the test's. */
async function simulatedHouse(context: TestContext, change: Parameters<typeof takingHouse>[1] = {}) {
  const house = await takingHouse(context, change);
  const { world, front, state, ask } = house;
  const answer = (operation: 'simulation', body: string) =>
    ({ ...readOperationAnswer(operation, 200, body), ...heard, response: { status: 200, body } }) as ReturnType<
      typeof world.answerTo
    >;
  world.answerTo = () => answer('simulation', simulated);
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begun = await front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  await ask(flowId, { step: 'simulation', request: { cpf: '52998224725' } });
  await eventually(async () => (await state(flowId))!.phase === 'simulated');
  const include = () => ask(flowId, { step: 'inclusion', request: { period: 3, pix: { key: '+5511987654321' } } });
  const sentOf = (operation: string) => house.sent.filter((each) => each.operation === operation).length;
  return { ...house, flowId, include, sentOf };
}

test('a Retry-After of a year is waited for no longer than is set, with a key and without one', async (context) => {
  const { world, include, sentOf, state, flowId, start, reaches } = await simulatedHouse(context);
  world.answerTo = () => throttled(Date.now() + yearMs);
  assert.equal((await include()).kind, 'taken');
  await eventually(() => sentOf('inclusion') > 1);
  await start('701');
  await reaches('c-701', 'unclear');
  assert.equal(sentOf('contract'), 3);
  await eventually(async () => (await state(flowId))!.operation?.status === 'unclear');
});

test('with a key what is turned away is counted, sent so often as is set, and then somebody has to look', async (context) => {
  const { world, include, sentOf, state, flowId, ask } = await simulatedHouse(context);
  world.answerTo = () => throttled(Date.now());
  await include();
  await eventually(async () => (await state(flowId))!.operation?.status === 'unclear');
  const unclear = (await state(flowId))!;
  assert.equal(sentOf('inclusion'), 3);
  assert.equal(flowView(unclear, null, settings).operation?.attempts, 3);
  assert.match(
    flowText(createFormat('en'), unclear, { open: null, settings }),
    /3×.*turned it away each time with 401 or 429/,
  );
  assert.match(
    flowText(createFormat('pt'), unclear, { open: null, settings }),
    /3×.*recusou todas as vezes com 401 ou 429/,
  );
  assert.equal((await ask(flowId, { step: 'deny', reason: 'não está no portal' })).kind, 'taken');
  await eventually(async () => nextSteps((await state(flowId))!, settings, null).includes('inclusion'));
});

test('a withdrawal whose inclusion is turned away can be cancelled while it waits, and is not sent again', async (context) => {
  const { world, include, sentOf, state, flowId, ask, reaches } = await simulatedHouse(context, { retryMaxMs: 1_000 });
  world.answerTo = () => throttled(Date.now() + 500);
  await include();
  // Sent twice, and by nobody else.
  await eventually(async () => (await state(flowId))!.operation?.attempts === 2);
  assert.ok(nextSteps((await state(flowId))!, settings, null).includes('cancel'));
  assert.equal((await ask(flowId, { step: 'cancel', reason: 'o trabalhador desistiu' })).kind, 'taken');
  await reaches(flowId, 'cancelled');
  await new Promise((resolve) => setTimeout(resolve, 800));
  assert.equal(sentOf('inclusion'), 2);
  const { operation, steps } = (await state(flowId))!;
  assert.equal(operation?.status, 'not-sent');
  assert.equal(steps.find(({ step }) => step === 'inclusion')?.outcome, 'withheld');
});

test('an inclusion that may have been done is not cancelled', async (context) => {
  const { world, include, state, flowId } = await simulatedHouse(context, { retryMs: 5_000, retryMaxMs: 5_000 });
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await include();
  await eventually(async () => (await state(flowId))!.operation?.unknowns === 1);
  assert.ok(!allowsStep((await state(flowId))!, 'cancel'));
});

test('an answer that was on its way when its withdrawal was cancelled is taken, or is a doubt', async (context) => {
  for (const [told, phase, status] of [
    ['accepted', 'included', 'done'],
    ['unknown', 'simulated', 'unclear'],
    ['rejected', 'simulated', 'unclear'],
    ['rejected for sure', 'cancelled', 'not-sent'],
    ['said to exist', 'simulated', 'unclear'],
  ] as const) {
    const { world, include, state, flowId, ask, reaches, append, alarms } = await simulatedHouse(context, {
      retryMs: 60_000,
      retryMaxMs: 60_000,
    });
    world.answerTo = () => throttled(null);
    await include();
    await eventually(async () => (await state(flowId))!.operation?.reason === 'throttled');
    await ask(flowId, { step: 'cancel', reason: 'x' });
    await reaches(flowId, 'cancelled');
    const { intentId } = (await state(flowId))!.operation!.intent!;
    const results = {
      accepted: { kind: 'accepted', requestCode: null, proposalCode: 'p-1', situation: null },
      unknown: { kind: 'unknown', reason: 'status-500' },
      rejected: { kind: 'rejected', code: 'E1', errors: [] },
      'rejected for sure': { kind: 'rejected', code: 'E1', errors: [] },
      'said to exist': { kind: 'rejected', code: 'E1', errors: ['Já existe proposta'], saysExists: true },
    } as const;
    await append({
      topic: 'flows',
      key: flowId,
      record: {
        ...{ kind: 'answered', flowId, at: Date.now(), intentId, instance: 'a', result: results[told] },
        ...{
          earlierAttemptPossible: told === 'rejected',
          firstByteAt: null,
          attempts: 1,
          status: null,
          sealedAnswer: null,
        },
      },
    });
    await eventually(async () => (await state(flowId))!.operation?.attempts === 2);
    const after = (await state(flowId))!;
    assert.deepEqual([after.phase, after.operation?.status], [phase, status], told);
    assert.equal(after.proposalCode, told === 'accepted' ? 'p-1' : null);
    assert.equal(alarms.includes('operation-unclear'), told !== 'rejected for sure', told);
  }
});

test('an alarm names the flow that waits long to be sent again', async (context) => {
  const { world, include, alarms } = await simulatedHouse(context, { keyedAttempts: 100, retryMaxMs: 100 });
  world.answerTo = () => ({ kind: 'not-sent', reason: 'unreachable', retryAt: null });
  await include();
  await eventually(() => alarms.includes('operation-late'));
});
