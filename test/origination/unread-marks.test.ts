/** What came unread under a flow's code belongs to that code, is forgotten by nothing but an answer to it, and waits for a person. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flowText } from '../../src/cli/flows.ts';
import { createFormat } from '../../src/cli/format.ts';
import type { FlowRecord, FlowTold } from '../../src/domain/flow-records.ts';
import type { FlowState } from '../../src/domain/flow-states.ts';
import type { CreditNote } from '../../src/domain/records.ts';
import { evolve, evolveAll } from '../../src/origination/evolve.ts';
import { waitsFor, waitsForPerson } from '../../src/origination/next-steps.ts';
import { unreadMark } from '../../src/origination/notes.ts';
import { createFlowWorld, type FlowWorld, sampleNote } from './flow-world.ts';
import { asked, goodTerms, settings, startAt, started } from './orders.ts';

/** A contract that was generated, and whose note has still to come. */
function awaitingWorld(flow: 'contract' | 'renegotiation' = 'contract'): FlowWorld {
  const real = createFlowWorld(started(flow));
  real.settle();
  assert.equal(real.state().phase, 'awaiting-note');
  return real;
}

let steps = 0;
function ask(real: FlowWorld, step: 'accept' | 'regenerate' | 'amend', more: Parameters<typeof asked>[4] = {}): void {
  steps += 1;
  real.append(asked(real.state().flowId, step, `s-${steps}`, real.world.now, more));
}

function told(real: FlowWorld, more: Partial<FlowTold>): FlowTold {
  const { flowId, flow, requestCode } = real.state();
  const of = flow as FlowTold['of'];
  const base = { kind: 'told', flowId, at: real.world.now, requestCode: requestCode!, of, holder: null } as const;
  return { ...base, note: null, errors: [], sealed: '', ...more };
}
const tellUnread = (real: FlowWorld, bodyKey: string) => real.append(told(real, { unread: true, bodyKey }));
const tellNote = (real: FlowWorld, change: Partial<CreditNote> = {}) =>
  real.append(told(real, { note: { ...noteOf(real), ...change } }));

function noteOf(real: FlowWorld): CreditNote {
  const event = real.events.at(-1)!;
  assert(event.kind === 'told');
  return event.note!;
}

test('what came unread under the code of an earlier contract is no doubt about the next one', () => {
  const ways: Record<string, (real: FlowWorld) => void> = {
    regenerated: (real) => ask(real, 'regenerate'),
    turned: (real) => {
      tellNote(real);
      real.append({ kind: 'turned', flowId: 'c-374', at: real.world.now });
    },
    'refused and amended': (real) => {
      real.append(told(real, { errors: ['E1'] }));
      assert.equal(real.state().phase, 'refused');
      ask(real, 'amend', { terms: { ...goodTerms, rateHundredths: 240 } });
    },
    'refused, amended and then unread': (real) => {
      real.append(told(real, { errors: ['E1'] }));
      ask(real, 'amend', { terms: { ...goodTerms, rateHundredths: 240 } });
      tellUnread(real, 'late');
      assert.notEqual(unreadMark(real.state()), null);
    },
  };
  for (const [name, goOn] of Object.entries(ways)) {
    const real = awaitingWorld();
    const first = real.state().requestCode;
    tellUnread(real, 'A');
    goOn(real);
    real.settle();
    assert.deepEqual([real.state().phase, real.state().requestCode === first], ['awaiting-note', false], name);
    tellNote(real, { noteNumber: '78', proposalCode: null });
    const { noteAgain = null, phase, errors } = real.state();
    assert.deepEqual(
      [phase, noteAgain, unreadMark(real.state()), errors],
      ['awaiting-signature', null, null, []],
      name,
    );
  }
});

test('a mark of earlier versions, which does not name its code, goes with its contract too', () => {
  const real = awaitingWorld();
  const old = { ...real.state(), noteAgain: { at: startAt, note: null, unread: true as const, bodyKey: 'A' } };
  assert.notEqual(unreadMark(old), null);
  const again = evolve(old, asked('c-374', 'regenerate', 'old', startAt), settings)!;
  assert.deepEqual([again.phase, again.noteAgain ?? null, unreadMark(again)], ['preparing', null, null]);
  // What it had seen is known to the fold, whichever of the two versions saw it.
  const repeated = evolve(old, told(real, { unread: true, bodyKey: 'A' }), settings)!;
  assert.deepEqual(repeated, { ...old, strays: old.strays + 1 });
});

test('an unread callback that somebody has seen is nothing new, however many came after it', () => {
  const real = awaitingWorld();
  tellUnread(real, 'A');
  tellUnread(real, 'B');
  tellNote(real);
  ask(real, 'accept');
  const { noteAccepted } = real.state();
  assert.notEqual(noteAccepted ?? null, null);
  assert.equal(unreadMark(real.state()), null);
  for (const body of ['A', 'B', 'A']) tellUnread(real, body);
  assert.deepEqual(real.state().noteAccepted, noteAccepted);
  assert.equal(unreadMark(real.state()), null);
  tellUnread(real, 'C');
  assert.equal(real.state().noteAccepted, null);
  assert.notEqual(unreadMark(real.state()), null);
  for (let count = 0; count < 50; count += 1) tellUnread(real, `more-${count}`);
  assert.ok(real.state().unreadBodies!.length <= 20);
});

test('what came unread is not forgotten for a note, a failure or another note after it', () => {
  for (const next of [
    (real: FlowWorld) => tellNote(real, { noteNumber: '99' }),
    (real: FlowWorld) => real.append(told(real, { errors: ['E1'] })),
  ]) {
    const real = awaitingWorld();
    tellUnread(real, 'A');
    tellNote(real);
    next(real);
    assert.notEqual(unreadMark(real.state()), null);
    ask(real, 'accept');
    assert.equal(unreadMark(real.state()), null);
  }
  const failing = awaitingWorld();
  tellUnread(failing, 'A');
  failing.append(told(failing, { note: noteOf(failing), errors: ['E1'] }));
  assert.notEqual(unreadMark(failing.state()), null, 'a note that comes with errors');
});

test('a flow whose note came unreadable waits for a person', () => {
  for (const flow of ['contract', 'renegotiation'] as const) {
    const real = awaitingWorld(flow);
    assert.deepEqual(waitsFor(real.state(), settings, null), [], 'the note is on the way');
    tellUnread(real, 'A');
    // The loan of a renegotiation may stand without a signature: nobody ends or repeats it before its note is late.
    const isLate = flow === 'renegotiation';
    const at = real.state().changedAt + (isLate ? settings.noteTimeoutMs : 0);
    assert.deepEqual(waitsFor(real.state(), settings, null, at), isLate ? ['deny'] : ['cancel', 'regenerate']);
    assert.ok(waitsForPerson(real.state(), settings, null, at));
    tellNote(real);
    assert.deepEqual(waitsFor(real.state(), settings, null), ['accept'], 'it came after all');
  }
});

test('a note that can be read takes the place of what was told unread under a code that no flow knows', () => {
  const event = { kind: 'told', flowId: 'event:q-9', at: startAt, requestCode: 'q-9', of: 'contract' } as const;
  const unread: FlowRecord = { ...event, note: null, unread: true, errors: [], sealed: 'u' };
  const noted: FlowRecord = { ...event, at: startAt + 1, note: sampleNote, errors: [], sealed: 'n' };
  const failed: FlowRecord = { ...event, at: startAt + 2, note: null, errors: ['E1'], sealed: 'f' };
  const after = (...records: FlowRecord[]): FlowState => evolveAll(records, settings)!;
  for (const records of [
    [unread, noted],
    [unread, noted, unread, noted],
    [unread, unread, noted],
    [failed, unread, noted],
  ]) {
    const { note, told: kept, noteAgain, strays } = after(...records);
    assert.deepEqual([note, kept?.note, kept?.sealed], [sampleNote, sampleNote, 'n']);
    assert.equal(noteAgain?.unread, true, 'what was unread is shown beside it');
    assert.equal(strays, records.length - 1);
  }
  // It may have been done, whatever failed as well.
  assert.deepEqual(after(unread, failed).told?.errors, []);
});

test('whoever reads a flow is told of what came unread, also where another note came after it', () => {
  const real = awaitingWorld();
  tellUnread(real, 'A');
  tellNote(real);
  const shown = () => flowText(createFormat('en'), real.state(), { open: null, settings });
  tellNote(real, { noteNumber: '99' });
  assert.match(shown(), /cannot be read as its note/);
  ask(real, 'accept');
  assert.doesNotMatch(shown(), /cannot be read as its note/);
});
