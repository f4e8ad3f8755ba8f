/** A withdrawal that is finalised waits for its money, and is looked at until the service says that it is out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowText, listText } from '../../src/cli/flows.ts';
import { nextText } from '../../src/cli/flows-next.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import { flowView } from '../../src/http/api/views.ts';
import { waitsFor, waitsForPerson } from '../../src/origination/next-steps.ts';
import { situationAt } from '../../src/origination/shown-flows.ts';
import { createFlowWorld } from './flow-world.ts';
import { asked, settings, started, stepRequests, workerKey } from './orders.ts';

/** Its proposal was said to be approved before it was finalised. */
function finalised(): FlowState {
  const real = createFlowWorld(started('withdrawal'));
  for (const step of ['simulation', 'inclusion', 'proposal', 'signers', 'finalisation'] as const) {
    const personKeys = step === 'simulation' || step === 'signers' ? [workerKey] : [];
    real.append(asked('w-1', step, `s-${step}`, real.world.now, { request: stepRequests[step], personKeys }));
    real.settle();
    if (step === 'proposal') real.append(asked('w-1', 'accept', 's-accept', real.world.now, {}));
  }
  assert.equal(real.state().phase, 'finalised');
  return real.state();
}

test('it waits for the step proposal until the service says that it is released, or has ended', () => {
  const state = finalised();
  const waits = (change: Partial<FlowState>, known = settings) => waitsFor({ ...state, ...change }, known, null);
  assert.deepEqual(waits({}), ['proposal'], 'approved, as of before');
  assert.deepEqual(waits({ situation: null }), ['proposal'], 'nothing was said');
  assert.deepEqual(waits({ situation: 2 }), ['proposal'], 'finalised is not released');
  assert.deepEqual(waits({ situation: 9 }), ['proposal'], 'a number without a meaning');
  assert.deepEqual(waits({ situation: 5 }, { ...settings, situations: [] }), ['proposal'], 'no number has a meaning');
  assert.deepEqual(waits({ situation: 5 }), [], 'released');
  assert.deepEqual(waits({ ending: 'cancellation', noteAccepted: { by: 'ana', at: 1 } }), [], 'ended');
  assert.ok(waitsForPerson(state, settings, null));
  const operation = { ...state.operation!, operation: 'proposal', status: 'asked' } as const;
  assert.deepEqual(waits({ operation }), [], 'it is being asked for');
});

test('it is shown done once the service has said that it is released, and not after its end', () => {
  const state = finalised();
  const shownDone = (change: Partial<FlowState>, known = settings) =>
    flowView({ ...state, ...change }, null, known).shownDone;
  assert.equal(shownDone({}), false, 'approved');
  assert.equal(shownDone({ situation: 2 }), false, 'finalised is not released');
  assert.equal(shownDone({ situation: 5 }), true, 'released');
  assert.equal(shownDone({ situation: 5 }, { ...settings, situations: [] }), false, 'no number has a meaning');
  assert.equal(shownDone({ situation: 5, ending: 'cancellation' }), false, 'ended');
});

test('the list says the state that was said last and when, and the work list says why it is there', () => {
  const state = finalised();
  const at = state.results.proposal!.at;
  for (const [language, inList, why] of [
    [
      'en',
      /1 \(approved\), /,
      /why: the service has not said that the money is released; it said last: 1 \(approved\), /,
    ],
    [
      'pt',
      /1 \(aprovada\), /,
      /por quê: o serviço não disse que o dinheiro foi liberado; disse por último: 1 \(aprovada\), /,
    ],
  ] as const) {
    const format = createFormat(language);
    const one = (text: string) => text.replaceAll(/\s+/g, ' ');
    const listed = one(listText(format, [state], { flow: 'withdrawal', open: null, settings }));
    assert.match(listed, inList);
    assert.ok(listed.includes(format.minute(at)), listed);
    const next = nextText(format, [state], { open: null, settings });
    assert.match(one(next), why);
    assert.match(next, /lance withdrawals step w-1 proposal/);
    for (const line of next.split('\n')) assert.ok(line.length <= 80, line);
    assert.ok(one(flowText(format, state, { open: null, settings })).includes(format.minute(at)));
  }
  const english = createFormat('en');
  const unnamed = nextText(english, [{ ...state, situation: 9 }], { open: null, settings }).replaceAll(/\s+/g, ' ');
  assert.match(unnamed, /it said last: 9, .*; say in flows\.situations what this number means/);
  const unasked = nextText(english, [{ ...state, situation: null }], { open: null, settings });
  assert.match(unasked, /why: the service was not asked whether the money is released/);
  const contract = listText(english, [createFlowWorld(started('contract')).state()], {
    flow: 'contract',
    open: null,
    settings,
  });
  assert.doesNotMatch(contract, /Situation/);
});

test('a query that was refused later leaves the state and its time as they were said', () => {
  const state = finalised();
  const { at } = state.steps.find(({ step }) => step === 'proposal')!;
  const refused = {
    ...state,
    results: { ...state.results, proposal: { at: at + 9_000, sealedAnswer: null, refused: true } },
  };
  assert.equal(situationAt(refused as FlowState), at);
  assert.deepEqual(flowView(refused as FlowState, null, settings).situation, { code: 1, state: 'approved', at });
  assert.equal(situationAt({ ...(refused as FlowState), steps: [] }), null);
  assert.equal(situationAt({ ...state, situation: null }), null);
});
