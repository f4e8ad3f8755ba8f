/** An inclusion that is refused beside a code may have been made: it is not sent again by itself, and no code that was named is forgotten. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowAnswered, FlowResult } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { flowView } from '../../src/http/api/views.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import type { StepAsked } from '../../src/origination/orders.ts';
import { react } from '../../src/origination/react.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { plainVault, settings } from './orders.ts';
import { heard, refusedBy, takingHouse, uuid } from './taking-house.ts';

const [x, y] = [uuid(1), uuid(2)];
const refusedBeside = `{"Msg":null,"HasError":true,"Messages":[{"Code":"1","Context":"","Description":"Falha","Field":""}],"CodigoProposta":"${x}"}`;
const taken = (code: string) => `{"Msg":null,"HasError":false,"Messages":null,"CodigoProposta":"${code}"}`;
const told = (code: string) =>
  `{"HasError":false,"Codigo":"${code}","CodigoProposta":"${code}","Situacao":2,"VlrTotalCredito":1000.00,"PercJurosMensal":1.79,"QtdeParcelas":3}`;

/** A withdrawal that is simulated, and a service that answers its inclusions one after the other so. */
async function including(context: TestContext, ...inclusions: (readonly [status: number, body: string])[]) {
  const house = await takingHouse(context);
  const { world, front, state, sent } = house;
  const bodies: Record<string, string> = {
    simulation: '{"HasError":false,"Simulacoes":[{"Periodo":3,"VlrLiberado":1000.00}]}',
    ...{ proposal: told(y), signers: '{"hasError":false}', splits: '{"hasError":false}' },
  };
  world.answerTo = ({ operation }) => {
    const [status, body] = operation === 'inclusion' ? inclusions.shift()! : ([200, bodies[operation]!] as const);
    const reading = readOperationAnswer(operation, status, body);
    return { ...reading, ...heard, response: { status, body } } as ReturnType<typeof world.answerTo>;
  };
  const order = { cpf: '52998224725', birthDate: null, signerCpfs: [], alongside: true };
  const begun = await front.startWithdrawal({ by: 'ana', key: randomUUID() }, order);
  assert(begun.kind === 'taken');
  const { flowId } = begun.state;
  const settled = ({ steps, operation }: FlowState) =>
    operation?.status === 'unclear' || !steps.some(({ outcome }) => outcome === 'pending');
  const step = async (asked: StepAsked) => {
    const result = await house.ask(flowId, asked);
    await eventually(async () => settled((await state(flowId))!));
    return result;
  };
  await step({ step: 'simulation', request: { cpf: '52998224725' } });
  const include = () => step({ step: 'inclusion', request: { period: 3, pix: { key: '+5511987654321' } } });
  await include();
  const count = () => sent.filter(({ operation }) => operation === 'inclusion').length;
  const now = async () => (await state(flowId))!;
  const view = async () => flowView(await now(), plainVault.open, settings);
  /** What an attempt of another process brings. */
  const hears = async (result: FlowResult) => {
    const { intent } = (await now()).operation!;
    const { includedBy = intent!.intentId, strays, operation } = await now();
    const record: FlowAnswered = {
      ...{ kind: 'answered', flowId, at: Date.now(), intentId: includedBy, operation: 'inclusion', instance: 'b' },
      ...{ result, earlierAttemptPossible: true, firstByteAt: null, attempts: 1, status: 200, sealedAnswer: null },
    };
    await house.append({ topic: 'flows', key: flowId, record });
    await eventually(async () => {
      const after = await now();
      return after.strays > strays || after.operation?.status !== operation?.status;
    });
  };
  return { ...house, flowId, step, include, count, now, view, hears };
}

const signers = {
  step: 'signers',
  request: { signers: [{ document: '52998224725', signedAt: Date.now() - 1_000, ip: '1.2.3.4' }] },
} as const satisfies StepAsked;
const splits = {
  step: 'splits',
  request: { splits: [{ fieldId: '1', amountCents: 100, pixKey: { key: '+5511987654321' } }] },
} as const satisfies StepAsked;
const accepts = (proposalCode: string) =>
  ({ kind: 'accepted', requestCode: null, proposalCode, situation: null }) as const;

for (const status of [200, 400, 500]) {
  test(`an inclusion that is refused beside a code with ${status} is not sent again, and the code is shown`, async (context) => {
    const { count, now, view, alarms, step } = await including(context, [status, refusedBeside], [200, taken(y)]);
    await eventually(async () => (await now()).operation?.status === 'unclear');
    await new Promise((resolve) => setTimeout(resolve, 150));
    const { operation, phase } = await now();
    assert.deepEqual([count(), phase, operation?.reason], [1, 'simulated', 'refused-with-code']);
    assert.deepEqual((await view()).otherProposals, [x]);
    assert.match(flowText(createFormat('en'), await now(), { open: null, settings }), new RegExp(x));
    await eventually(() => alarms.includes('operation-unclear'));
    assert.deepEqual(nextSteps(await now(), settings, null), ['confirm', 'deny']);
    assert.equal((await step({ step: 'confirm', reason: 'visto no portal', requestCode: x })).kind, 'taken');
    const confirmed = await view();
    assert.deepEqual([confirmed.phase, confirmed.proposalCode, confirmed.barriers.length], ['included', x, 1]);
    assert.deepEqual(
      confirmed.barriers.map(({ rule }) => rule),
      ['proposal-asked'],
    );
  });
}

test('a proposal that somebody denies stays to be seen, and bars nothing', async (context) => {
  const { now, view, step, include, count } = await including(context, [200, refusedBeside], [200, taken(y)]);
  await eventually(async () => (await now()).operation?.status === 'unclear');
  assert.equal((await step({ step: 'deny', reason: 'não existe no portal' })).kind, 'taken');
  await include();
  await step({ step: 'proposal', request: { dto: {} } });
  const { proposalCode, otherProposals } = await view();
  assert.deepEqual([count(), proposalCode, otherProposals], [2, y, [x]]);
  assert.deepEqual(nextSteps(await now(), settings, null).includes('signers'), true);
});

for (const [what, first] of [
  ['an answer that does not say whether it failed', [200, `{"Msg":null,"CodigoProposta":"${x}"}`]],
  ['a status that says nothing', [503, taken(x)]],
] as const) {
  test(`another code than the one in ${what} is kept beside it, and nothing is signed before somebody looked`, async (context) => {
    const { now, view, step, alarms, count } = await including(context, first, [200, taken(y)]);
    await eventually(async () => (await now()).phase === 'included');
    assert.equal(count(), 2);
    await step({ step: 'proposal', request: { dto: {} } });
    const { proposalCode, otherProposals, barriers, nextSteps: next } = await view();
    assert.deepEqual([proposalCode, otherProposals], [y, [x]]);
    assert.ok(barriers.some(({ rule, problem }) => rule === 'proposal-alone' && problem.includes(x)));
    assert.ok(!next.includes('signers') && !next.includes('splits') && next.includes('accept'));
    await eventually(() => alarms.includes('proposal-differs'));
    for (const asked of [signers, splits]) {
      const rules = refusedBy(await step(asked)).map(([rule]) => rule);
      assert.ok(rules.includes('proposal-alone'), asked.step);
    }
    assert.equal((await step({ step: 'accept', reason: 'a outra foi cancelada' })).kind, 'taken');
    assert.equal((await step(signers)).kind, 'taken');
    assert.deepEqual((await view()).otherProposals, [x]);
  });
}

test('the same code told twice is one proposal', async (context) => {
  const { now, view, step } = await including(context, [503, taken(y)], [200, taken(y)]);
  await eventually(async () => (await now()).phase === 'included');
  await step({ step: 'proposal', request: { dto: {} } });
  assert.deepEqual((await view()).barriers, []);
  assert.ok(nextSteps(await now(), settings, null).includes('signers'));
});

test('a code that an answer names once the inclusion is done bars its finalisation', async (context) => {
  for (const [result, signed] of [
    [accepts(x), false],
    [accepts(x), true],
    [{ kind: 'unknown', reason: 'refused-with-code', isFinal: true, proposalCode: x }, true],
  ] as const) {
    const { now, step, hears, view, alarms } = await including(context, [200, taken(y)]);
    await step({ step: 'proposal', request: { dto: {} } });
    if (signed) assert.equal((await step(signers)).kind, 'taken');
    assert.deepEqual(
      (await view()).barriers.filter(({ rule }) => rule === 'proposal-alone'),
      [],
    );
    await hears(accepts(y));
    assert.deepEqual((await view()).otherProposals, []);
    await hears(result);
    const { barriers, proposalCode } = await view();
    assert.deepEqual([proposalCode, (await now()).otherProposals], [y, [{ code: x }]]);
    assert.ok(barriers.some(({ rule }) => rule === 'proposal-alone'));
    await eventually(() => alarms.includes('proposal-differs'));
    const refused = refusedBy(await step({ step: 'finalisation', request: {} }));
    assert.ok(refused.some(([rule]) => rule === (signed ? 'proposal-alone' : 'step-allowed')));
    await hears(result);
    assert.equal((await now()).otherProposals?.length, 1);
  }
});

test('what an earlier version refused beside a code and would send again is not sent', async (context) => {
  const { now } = await including(context, [200, refusedBeside]);
  await eventually(async () => (await now()).operation?.status === 'unclear');
  const unclear = await now();
  const { namedProposals: _, ...operation } = unclear.operation!;
  const stored = { ...unclear, operation: { ...operation, status: 'intended' as const, retryAt: 1 } };
  const around = { now: Date.now() + 60_000, instance: 'b', margin: null, tried: () => false };
  const [command] = react(stored, around, settings);
  assert(command?.kind === 'append' && command.record.kind === 'answered');
  assert.deepEqual(command.record.result, { kind: 'unknown', reason: 'refused-with-code', isFinal: true });
});
