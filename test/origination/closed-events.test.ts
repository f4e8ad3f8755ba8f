/** An event that no flow knows is closed by a person who has found out whose it is not (clerk, issue 16). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import { stepAsked } from '../../src/http/api/requests.ts';
import { eventsToShow } from '../../src/origination/events-of-nobody.ts';
import { eventually } from '../conformance/backend.ts';
import { settings } from './orders.ts';
import { heard, refusedBy, takingHouse } from './taking-house.ts';

const eventId = 'event:q-lost';

/** A flow whose operation is unclear, and a note under a code that no flow knows. */
async function withLostNote(context: Parameters<typeof takingHouse>[0]) {
  const house = await takingHouse(context);
  const { start, world, reaches, noteFor, tell, state } = house;
  await start('700');
  await reaches('c-700', 'awaiting-note');
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await start('701');
  await reaches('c-701', 'unclear');
  const event = { kind: 'credit-note', requestCode: 'q-lost', of: 'contract', sealed: '{}', at: Date.now() } as const;
  await tell('q-lost', { ...event, note: await noteFor('c-700', { noteNumber: 'N-9' }), errors: [] });
  await eventually(async () => (await state(eventId))?.phase === 'unclaimed');
  return house;
}

test('an event of nobody is closed with a reason, which its history keeps, and hinders nobody any more', async (context) => {
  const { ask, state, reaches, history } = await withLostNote(context);
  const english = createFormat('en');
  assert.match(
    flowText(english, (await state(eventId))!, { open: null, settings }),
    /lance events close event:q-lost --by NAME/,
  );
  const denied = { step: 'deny', reason: 'visto' } as const;
  assert.deepEqual(refusedBy(await ask('c-701', denied)), [['event-of-nobody', 'step']]);
  assert.deepEqual(refusedBy(await ask(eventId, { step: 'accept', reason: 'x' })), [['flow-known', 'flowId']]);
  assert.equal((await ask(eventId, { step: 'cancel', reason: 'de outro sistema' })).kind, 'taken');
  await reaches(eventId, 'closed');
  const kept = (await history(eventId)).find((record) => record.kind === 'asked');
  assert.deepEqual([kept?.by, kept?.sealedReason], ['ana', '"de outro sistema"']);
  assert.match(flowText(english, (await state(eventId))!, { open: null, settings }), /cancel \(ana\): done/);
  assert.deepEqual(refusedBy(await ask(eventId, { step: 'cancel', reason: 'x' })), [['step-allowed', 'step']]);
  assert.equal((await ask('c-701', denied)).kind, 'taken');
});

test('a flow that is unclear shows the events of nobody that may be its own, and what to do', async (context) => {
  const { state, flows } = await withLostNote(context);
  const flow = (await state('c-701'))!;
  const events = await eventsToShow(flows, flow);
  assert.deepEqual(events, ['q-lost']);
  assert.match(
    flowText(createFormat('en'), flow, { open: null, settings, events }),
    /^Events of nobody +event:q-lost: see lance events show event:q-lost; .*lance contracts step c-701 confirm/m,
  );
  const awaiting = (await state('c-700'))!;
  assert.deepEqual(await eventsToShow(flows, awaiting), ['q-lost'], 'its note does not come either');
  assert.deepEqual(await eventsToShow(flows, { ...awaiting, phase: 'awaiting-signature' }), []);
});

test('that a step is taken despite events reaches the flow by API and command line', () => {
  const body = { reason: 'visto', despiteEvents: true };
  for (const step of ['confirm', 'deny', 'regenerate'] as const)
    assert.equal('despiteEvents' in stepAsked(step, body), true, step);
});

test('a closed event is given to the flow that turns out to wait for it', async (context) => {
  const { ask, reaches, state } = await withLostNote(context);
  assert.equal((await ask(eventId, { step: 'cancel', reason: 'engano' })).kind, 'taken');
  await reaches(eventId, 'closed');
  const confirmed = await ask('c-701', { step: 'confirm', reason: 'no portal', requestCode: 'q-lost' });
  assert.equal(confirmed.kind, 'taken', JSON.stringify(confirmed));
  await reaches('c-701', 'awaiting-signature');
  assert.equal((await state('c-701'))!.note!.noteNumber, 'N-9');
  await reaches(eventId, 'claimed');
});
