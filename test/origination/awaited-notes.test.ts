/** A generation that the service took and whose note has not come is not generated once more: of a renegotiation nothing is signed, so it would be a second loan. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { flowView } from '../../src/http/api/views.ts';
import { evolveAll } from '../../src/origination/evolve.ts';
import type { RenegotiationAsked, StepAsked } from '../../src/origination/orders.ts';
import { linkKeyOf, workerKeyOf } from '../../src/wire/identity.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleLink } from '../rules/sample-request.ts';
import { startFlowHouse } from './flow-house.ts';
import { sampleNote } from './flow-world.ts';
import { asked, link, plainVault, settings } from './orders.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

const { registration, employerId, employerIdType } = link.identity;
const cpf = link.identity.cpf!;
const flowId = 'r-9001';
const order = {
  renegotiation: {
    ...{ closedContract: '9001', cpf, registration: registration!, employerId: employerId!, employerIdType },
    ...{ agentCpf: '11144477735', contractType: '1', installments: 12, rateHundredths: 150 },
  },
  ...{ originalRateHundredths: 180, closedByTermination: true, openInstallments: 5, pendingCharges: false },
  ...{ linkValid: true, estimatedInstallmentCents: 50_000, authorisationNumber: '777' },
} as RenegotiationAsked;

/** A renegotiation that was acknowledged with a code, and no errors; its note is late after `noteTimeoutMs`. */
async function awaiting(context: TestContext, noteTimeoutMs: number) {
  const own = { ...settings, noteTimeoutMs };
  const house = await startFlowHouse(context, undefined, { noteTimeoutMs });
  const { world, details, front, state, sent, reaches } = house;
  const linkKey = linkKeyOf(plainVault, cpf, registration!, employerIdType!, employerId!);
  details.set(linkKey, {
    ...{ ...sampleLink, linkKey, workerKey: workerKeyOf(plainVault, cpf), eligible: true, terminationDate: null },
    ...{ availableMarginCents: 100_000, receivedAt: house.clock.now() },
  });
  world.answerTo = ({ operation }) => {
    const body = `{"CodigoRequisicao":"${uuid(sent.length)}","Origem":"/contrato/renegociacao/gerar-contrato","Conteudo":{"Mensagem":"Solicitação recebida"},"Erros":[]}`;
    const reading = readOperationAnswer(operation, operation === 'proposal' ? 404 : 200, body);
    assert(reading.kind === 'accepted' || reading.kind === 'rejected');
    return { ...reading, firstByteAt: Date.now(), attempts: 1, response: { status: 200, body } };
  };
  const start = (key: string) => front.startRenegotiation({ by: 'ana', key, via: 'api' }, order);
  assert.equal((await start('k')).kind, 'taken');
  await reaches(flowId, 'awaiting-note');
  const ask = (asked: StepAsked, by = 'ana', via: 'api' | 'offline' = 'api') =>
    front.ask(flowId, { by, key: randomUUID(), via }, asked);
  const tell = async (errors: readonly string[] = []) => {
    const requestCode = (await state(flowId))!.requestCode!;
    const note = errors.length > 0 ? null : { ...sampleNote, noteNumber: 'N-1' };
    const event = { kind: 'credit-note', at: Date.now(), requestCode, of: 'renegotiation', note, errors } as const;
    await house.tell(requestCode, { ...event, sealed: '{}' });
  };
  const view = async (at = Date.now()) => flowView((await state(flowId))!, plainVault.open, own, at);
  return { ...house, start, ask, tell, view };
}

const again = { step: 'regenerate', reason: 'demora' } as const;
const cancel = { step: 'cancel', reason: 'x' } as const;
const deny = { step: 'deny', reason: 'não existe no portal' } as const;
const accept = { step: 'accept', reason: 'também não encontrei' } as const;

test('a renegotiation whose note is awaited is neither generated again, nor cancelled, nor denied', async (context) => {
  const { ask, sent, view, state, tell, reaches } = await awaiting(context, 600_000);
  const { generatedAt, requestCode } = (await state(flowId))!;
  for (const step of [again, cancel, deny]) {
    const refused = await ask(step);
    assert.deepEqual(refusedBy(refused), [['note-awaited', 'step']], step.step);
    const text = JSON.stringify(refused);
    assert.ok(text.includes(requestCode!) && text.includes(new Date(generatedAt! + 600_000).toISOString()), text);
  }
  assert.deepEqual((await view()).nextSteps, ['proposal']);
  assert.deepEqual((await view()).waitsFor, []);
  assert.equal((await state(flowId))!.phase, 'awaiting-note');
  await tell();
  await reaches(flowId, 'renegotiated');
  assert.equal(sent.length, 1);
});

test('the error of a generation ends the wait for its note', async (context) => {
  const { ask, tell, reaches, sent, start } = await awaiting(context, 600_000);
  await tell(['7']);
  await reaches(flowId, 'refused');
  assert.equal((await ask(cancel)).kind, 'taken');
  await reaches(flowId, 'cancelled');
  assert.equal((await start('k2')).kind, 'taken');
  await eventually(() => sent.length === 2);
});

test('once its note is late, two people say that nothing came of a renegotiation before it is sent again', async (context) => {
  const { ask, view, state, sent, reaches, alarms } = await awaiting(context, 1);
  await eventually(() => alarms.includes('note-late'));
  assert.deepEqual([(await view()).nextSteps, (await view()).waitsFor], [['deny', 'proposal'], ['deny']]);
  for (const step of [again, cancel]) {
    const refused = await ask(step);
    assert.deepEqual(refusedBy(refused), [['note-awaited', 'step']], step.step);
    assert.match(JSON.stringify(refused), /take the step deny/);
  }
  assert.deepEqual(refusedBy(await ask(deny, 'ana', 'offline')), [['second-person', 'step']]);
  assert.equal((await ask(deny)).kind, 'taken');
  const denied = (await state(flowId))!;
  assert.deepEqual([denied.phase, denied.lateSuccesses?.[0]?.denied?.by], ['refused', 'ana']);
  await eventually(() => alarms.includes('success-denied'));
  assert.deepEqual((await view()).waitsFor, ['accept']);
  for (const step of [cancel, { step: 'amend' } as const]) {
    assert.deepEqual(refusedBy(await ask(step)), [['success-settled', 'step']], step.step);
  }
  assert.deepEqual(refusedBy(await ask(accept)), [['second-person', 'step']]);
  assert.deepEqual(refusedBy(await ask(accept, 'bruno', 'offline')), [['second-person', 'step']]);
  assert.equal(sent.length, 1);
  assert.equal((await ask(accept, 'bruno')).kind, 'taken');
  assert.equal(sent.length, 1, 'nothing is sent by itself');
  assert.equal((await ask({ step: 'amend' })).kind, 'taken');
  await eventually(() => sent.length === 2);
  await reaches(flowId, 'awaiting-note');
});

test('the note of a renegotiation that was denied settles it', async (context) => {
  const { ask, state, sent, reaches, tell, view, alarms } = await awaiting(context, 1);
  await eventually(() => alarms.includes('note-late'));
  const query = await ask({ step: 'proposal', request: { dto: { CodigoProposta: uuid(77) } } });
  assert.equal(query.kind, 'taken', JSON.stringify(query));
  await eventually(async () => (await state(flowId))!.operation?.status === 'rejected');
  assert.equal((await ask(deny)).kind, 'taken');
  assert.equal((await state(flowId))!.lateSuccesses?.length, 1, 'a query beside it does not hide what was generated');
  await tell();
  await reaches(flowId, 'renegotiated');
  assert.deepEqual([(await state(flowId))!.lateSuccesses, (await view()).lateSuccesses], [[], []]);
  assert.equal(sent.filter(({ operation }) => operation === 'renegotiation').length, 1);
});

test('the error that the service tells of a renegotiation that was denied settles it', async (context) => {
  const { ask, state, tell, view, alarms } = await awaiting(context, 1);
  await eventually(() => alarms.includes('note-late'));
  assert.equal((await ask(deny)).kind, 'taken');
  await tell(['7']);
  await eventually(async () => (await state(flowId))!.lateSuccesses?.length === 0);
  const { phase, errors } = (await state(flowId))!;
  assert.deepEqual([phase, errors], ['refused', ['7']]);
  assert.deepEqual((await view()).nextSteps.toSorted(), ['amend', 'cancel']);
});

test('one that an earlier version cancelled while its note was awaited is not begun again before it is late', async (context) => {
  const { append, reaches, start, sent } = await awaiting(context, 600_000);
  await append({ topic: 'flows', key: flowId, record: asked(flowId, 'cancel', 'c', Date.now()) });
  await reaches(flowId, 'cancelled');
  assert.deepEqual(refusedBy(await start('k2')), [['note-awaited', 'closedContract']]);
  assert.equal(sent.length, 1);
});

test('one that was cancelled while its note was awaited is begun again only once two people say that nothing came of it', async (context) => {
  const frozen = { kind: 'frozen', flowId, problem: 'x' } as const;
  const unfrozen = { kind: 'unfrozen', flowId, action: 'cancel', by: 'ana', reason: 'r' } as const;
  const endings = [
    (at: number) => [{ ...frozen, at } as const, { ...unfrozen, at: at + 1 } as const],
    // As an earlier version took it.
    (at: number) => [asked(flowId, 'cancel', 'c', at)],
  ];
  for (const ended of endings) {
    const { append, ask, start, state, sent, reaches, alarms, view } = await awaiting(context, 1);
    await eventually(() => alarms.includes('note-late'));
    for (const record of ended(Date.now())) await append({ topic: 'flows', key: flowId, record });
    await reaches(flowId, 'cancelled');
    const refused = await start('k2');
    assert.deepEqual(refusedBy(refused), [['note-awaited', 'closedContract']]);
    assert.match(JSON.stringify(refused), /its loan may stand .* take the step deny/);
    assert.deepEqual((await view()).nextSteps, ['deny']);
    assert.deepEqual(refusedBy(await ask(deny, 'ana', 'offline')), [['second-person', 'step']]);
    assert.equal((await ask(deny)).kind, 'taken');
    assert.equal((await state(flowId))!.lateSuccesses?.[0]?.denied?.by, 'ana');
    for (const step of [cancel, { step: 'amend' } as const]) {
      assert.deepEqual(refusedBy(await ask(step)), [['success-settled', 'step']], step.step);
    }
    assert.deepEqual(refusedBy(await ask(accept)), [['second-person', 'step']]);
    assert.equal((await ask(accept, 'bruno')).kind, 'taken');
    assert.equal((await ask(cancel)).kind, 'taken');
    await reaches(flowId, 'cancelled');
    assert.equal(sent.length, 1);
    assert.equal((await start('k3')).kind, 'taken');
    await eventually(() => sent.length === 2);
  }
});

test('a record of an earlier version means what it meant', async (context) => {
  const { history } = await awaiting(context, 600_000);
  const records = await history(flowId);
  const folded = (step: 'deny' | 'cancel' | 'regenerate') =>
    evolveAll([...records, asked(flowId, step, 's', Date.now())], settings)!;
  assert.deepEqual(
    [folded('deny').phase, folded('deny').steps.at(-1)!.outcome, folded('cancel').phase, folded('regenerate').phase],
    ['awaiting-note', 'ignored', 'cancelled', 'preparing'],
  );
});

test('a contract whose note is awaited is generated or begun again only once it is late', async (context) => {
  for (const noteTimeoutMs of [600_000, 1]) {
    const { start, ask, state, reaches, sent } = await takingHouse(context, { noteTimeoutMs });
    for (const requestId of ['701', '702']) {
      await start(requestId);
      await reaches(`c-${requestId}`, 'awaiting-note');
    }
    const view = flowView((await state('c-701'))!, null, { ...settings, noteTimeoutMs }, Date.now());
    if (noteTimeoutMs > 1) {
      assert.deepEqual(view.nextSteps, ['proposal']);
      for (const step of [again, cancel]) {
        assert.deepEqual(refusedBy(await ask('c-701', step)), [['note-awaited', 'step']], step.step);
      }
      assert.equal(sent.length, 2);
    } else {
      assert.deepEqual(view.nextSteps, ['cancel', 'regenerate', 'proposal']);
      assert.equal((await ask('c-701', again)).kind, 'taken');
      assert.equal((await ask('c-702', cancel)).kind, 'taken');
      await eventually(() => sent.length === 3);
    }
  }
});
