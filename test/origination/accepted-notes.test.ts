/** A figure that differs and a note that came late: each is taken by name, and none unseen (clerk, issue 16). */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { nextText } from '../../src/cli/flows-next.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowAsked } from '../../src/domain/flow-records.ts';
import { stepAsked } from '../../src/http/api/requests.ts';
import { stepBodies } from '../../src/http/api/schemas.ts';
import { evolve } from '../../src/origination/evolve.ts';
import { kindsToAccept } from '../../src/origination/next-steps.ts';
import { eventually } from '../conformance/backend.ts';
import { plainVault, settings } from './orders.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

const reason = 'o serviço explicou';
const accept = { step: 'accept', reason } as const;
const content = { numeroContrato: 'N-NEW', assinatura: 'b' };

/** A contract that waits for its signature; an old note of it came late. `more`: of its own note. */
async function withLateNote(context: TestContext, more: object = {}) {
  const house = await takingHouse(context, { noteTimeoutMs: 1 });
  const { ask, start, noted, noteFor, state, reaches, alarms, tell } = house;
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const { requestCode } = (await state('c-701'))!;
  const note = await noteFor('c-701', { noteNumber: 'N-OLD', proposalCode: uuid(1) });
  await ask('c-701', { step: 'regenerate', reason: 'não veio' });
  await eventually(async () => (await state('c-701'))!.generations === 2);
  const event = { kind: 'credit-note', requestCode: requestCode!, of: 'contract', errors: [], sealed: '{}' } as const;
  await tell(requestCode!, { ...event, note, at: Date.now() });
  await eventually(() => alarms.includes('note-unexpected'));
  await noted('c-701', { noteNumber: 'N-NEW', proposalCode: uuid(2), ...more });
  const waiting = (await state('c-701'))!;
  assert.equal(waiting.lateNote?.note.noteNumber, 'N-OLD');
  return { ...house, waiting };
}

const differing = { cetMonthlyPercent: 9 };

test('where a figure differs and a note came late, a step that names neither is refused, and each is taken', async (context) => {
  const { ask, sign, state, waiting } = await withLateNote(context, differing);
  assert.deepEqual(kindsToAccept(waiting, settings), ['figures', 'late']);
  for (const named of [{}, { figures: true as const }]) {
    const refused = await ask('c-701', { ...accept, ...named });
    assert.deepEqual(refusedBy(refused), [['accept-each', 'late']]);
    const text = refused.kind === 'refused' ? refused.breaches[0]!.problem : '';
    assert.match(text, /the note N-OLD came late, .* not as ordered \(cetMonthlyHundredths\): look at both/);
  }
  const open = plainVault.open as never;
  const next = nextText(createFormat('en'), [waiting], { open, settings }).replaceAll(/\\\n\s+/g, '');
  assert.match(next, /came after .*N-OLD|N-OLD/);
  assert.match(next, /step c-701 accept --late --reason TEXT --by NAME/);
  assert.equal((await ask('c-701', { ...accept, late: true })).kind, 'taken');
  const seen = (await state('c-701'))!;
  assert.deepEqual([seen.lateNote, seen.noteAccepted ?? null], [null, null]);
  assert.deepEqual(refusedBy(await sign('c-701', content)), [['note-accepted', 'step']]);
  // Nothing else is left to be taken: it goes without a name, as before.
  assert.equal((await ask('c-701', accept)).kind, 'taken');
  assert.equal((await state('c-701'))!.noteAccepted?.by, 'ana');
  assert.equal((await sign('c-701', content)).kind, 'taken');
});

test('both are taken at once where both are named', async (context) => {
  const { ask, sign, state } = await withLateNote(context, differing);
  assert.equal((await ask('c-701', { ...accept, late: true, figures: true })).kind, 'taken');
  const taken = (await state('c-701'))!;
  assert.deepEqual([taken.lateNote, taken.noteAccepted?.by], [null, 'ana']);
  assert.equal((await sign('c-701', content)).kind, 'taken');
});

test('where only a late note is to be seen, nothing has to be named, and the flow goes on', async (context) => {
  const { ask, sign, state, waiting } = await withLateNote(context);
  assert.deepEqual(kindsToAccept(waiting, settings), ['late']);
  assert.equal((await ask('c-701', accept)).kind, 'taken');
  assert.equal((await state('c-701'))!.lateNote, null);
  assert.equal((await sign('c-701', content)).kind, 'taken');
});

test('a late note that comes while the figures are being taken is not taken with them; old records take both', async (context) => {
  const { waiting } = await withLateNote(context, differing);
  const asked: FlowAsked = {
    ...{ kind: 'asked', flowId: 'c-701', at: waiting.changedAt + 1, stepId: 's-1', by: 'bia', step: 'accept' },
    ...{ requestHash: 'h', terms: null, signedAt: null, requestCode: null, personKeys: [], reason: null, sealed: null },
  };
  const outcome = (accepts?: FlowAsked['accepts']) => {
    const next = evolve(waiting, { ...asked, ...(accepts === undefined ? {} : { accepts }) }, settings)!;
    return [next.steps.at(-1)!.outcome, next.lateNote?.note.noteNumber ?? null, next.noteAccepted?.by ?? null];
  };
  assert.deepEqual(outcome(['figures']), ['ignored', 'N-OLD', null]);
  assert.deepEqual(outcome(['late']), ['done', null, null]);
  assert.deepEqual(outcome(['figures', 'late']), ['done', null, 'bia']);
  assert.deepEqual(outcome(), ['done', null, 'bia'], 'of an earlier version');
  const without = evolve({ ...waiting, lateNote: null }, { ...asked, accepts: ['late'] }, settings)!;
  assert.equal(without.steps.at(-1)!.outcome, 'ignored', 'somebody else has seen it');
});

test('the names reach the flow by API and command line, and a step without them reads as before', () => {
  const read = (body: object) => stepAsked('accept', stepBodies.accept.parse(body));
  assert.deepEqual(read({ reason }), accept);
  assert.deepEqual(read({ reason, figures: true, late: true }), { ...accept, figures: true, late: true });
  assert.equal(stepBodies.accept.safeParse({ reason, late: false }).success, false);
});
