/** What the service tells once more of a note: above the bid, or one that was replaced (integrator, session 40). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CreditNote } from '../../src/domain/records.ts';
import { flowView } from '../../src/http/api/views.ts';
import { differencesOf } from '../../src/origination/differences.ts';
import { nextSteps } from '../../src/origination/next-steps.ts';
import type { JsonObject } from '../../src/wire/json.ts';
import { namesWithin } from '../../src/wire/names-within.ts';
import { readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { sampleNote } from './flow-world.ts';
import { settings } from './orders.ts';
import { heard, refusedBy, takingHouse, uuid } from './taking-house.ts';

test('a note told once more above the bid is accepted by nobody, nor signed where somebody accepted it', async (context) => {
  const { ask, start, noted, state, tellNote, sign, append, sent } = await takingHouse(context);
  for (const [requestId, change, rule] of [
    ['701', { rateMonthlyPercent: 3.51 }, 'rate-within-bid'],
    ['702', { loanCents: 10_000_000 }, 'amount-within-bid'],
  ] as const) {
    const flowId = `c-${requestId}`;
    await start(requestId);
    await noted(flowId, { noteNumber: `N-${requestId}`, proposalCode: uuid(Number(requestId)) });
    await tellNote(flowId, { ...(await state(flowId))!.note!, ...change });
    await eventually(async () => (await state(flowId))!.noteAgain != null);
    const again = (await state(flowId))!;
    assert.ok(!nextSteps(again, settings, null).includes('accept'));
    assert.deepEqual(refusedBy(await ask(flowId, { step: 'accept', reason: 'x' })), [[rule, 'step']]);
    // As earlier versions took it.
    const step = {
      kind: 'asked',
      flowId,
      at: Date.now(),
      stepId: 'old',
      by: 'ana',
      step: 'accept',
      requestHash: 'h',
    } as const;
    const rest = { terms: null, signedAt: null, requestCode: null, personKeys: [], reason: 'x', sealed: null };
    await append({ topic: 'flows', key: flowId, record: { ...step, ...rest } });
    await eventually(async () => (await state(flowId))!.noteAccepted != null);
    const signed = await sign(flowId, { numeroContrato: `N-${requestId}`, assinatura: 'b' });
    assert.deepEqual(refusedBy(signed), [[rule, 'step']]);
  }
  assert.ok(!sent.some(({ operation }) => operation === 'endorsement'));
});

test('a note whose annual rate is above the bid is taken by nobody, whatever its monthly rate says', async (context) => {
  const { ask, start, noted, state, sign } = await takingHouse(context);
  for (const [requestId, change] of [
    ['701', { rateAnnualPercent: 99 }],
    ['702', { rateAnnualPercent: 99, rateMonthlyPercent: null }],
  ] as const) {
    const flowId = `c-${requestId}`;
    await start(requestId);
    await noted(flowId, { noteNumber: `N-${requestId}`, proposalCode: uuid(Number(requestId)), ...change });
    const signed = await sign(flowId, { numeroContrato: `N-${requestId}`, assinatura: 'b' });
    assert.deepEqual(refusedBy(signed), [['rate-within-bid', 'step']], requestId);
    assert.ok(!nextSteps((await state(flowId))!, settings, null).includes('accept'));
  }
  assert.equal((await ask('c-702', { step: 'accept', reason: 'x' })).kind, 'refused');
  // However a year is reckoned: 12 months of 2.5 %, or 365 days of which 30 are one.
  for (const [requestId, rateAnnualPercent] of [
    ['703', 34.49],
    ['704', 35.04],
  ] as const) {
    await start(requestId);
    await noted(`c-${requestId}`, {
      noteNumber: `N-${requestId}`,
      proposalCode: uuid(Number(requestId)),
      rateAnnualPercent,
    });
    const signed = await sign(`c-${requestId}`, { numeroContrato: `N-${requestId}`, assinatura: 'b' });
    assert.equal(signed.kind, 'taken', requestId);
  }
});

test('an annual rate that is not of the monthly one is a difference, and what rounding makes of it is none', () => {
  const of = (rateMonthlyPercent: number | null, rateAnnualPercent: number | null) =>
    differencesOf({ rateHundredths: 250 }, { ...sampleNote, rateMonthlyPercent, rateAnnualPercent });
  // 12 months of 2.5 % are 34.49 %, and 365 days 35.04 %; of 2.495 % and 2.505 % they are 34.41 % and 35.13 %.
  for (const percent of [34.49, 34.488882, 34.41, 34.56, 35.04, 35.13, null])
    assert.deepEqual(of(2.5, percent), [], String(percent));
  for (const [percent, ours] of [
    [34.2, 3_449],
    [34.7, 3_449],
    [34.9, 3_504],
    [35.2, 3_504],
    [30, 3_449],
    [0, 3_449],
  ] as const)
    assert.deepEqual(
      of(2.5, percent),
      [{ field: 'rateAnnualHundredths', ours, theirs: Math.round(percent * 100) }],
      String(percent),
    );
  assert.deepEqual(of(2.4925, 34.36), [], 'the monthly rate is said with more digits');
  assert.deepEqual(of(null, 34.49), []);
  assert.equal(of(null, 34.9).length, 1);
  // The annual rate of another monthly one differs as that does.
  assert.deepEqual(
    of(2.6, 36.07).map(({ field }) => field),
    ['rateHundredths', 'rateAnnualHundredths'],
  );
});

test('a note whose annual rate differs a little is signed only after somebody took it', async (context) => {
  const { ask, start, noted, sign, alarms } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1), rateAnnualPercent: 34.7 });
  await eventually(() => alarms.includes('note-differs'));
  const content = { numeroContrato: 'N-1', assinatura: 'b' };
  assert.deepEqual(refusedBy(await sign('c-701', content)), [['note-accepted', 'step']]);
  assert.equal((await ask('c-701', { step: 'accept', reason: 'x' })).kind, 'taken');
  assert.equal((await sign('c-701', content)).kind, 'taken');
});

test('every note that is told for a contract stays a doubt, whatever comes after it', async (context) => {
  const { ask, start, noted, state, tellNote } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const own = (await state('c-701'))!.note!;
  const tells = async (change: object) => {
    const { strays } = (await state('c-701'))!;
    await tellNote('c-701', { ...own, ...change });
    await eventually(async () => (await state('c-701'))!.strays > strays);
  };
  const harmless = { cetMonthlyPercent: 2.71 };
  await tells({ rateMonthlyPercent: 4.9, loanCents: own.loanCents! + 10_000_000 });
  await tells(harmless);
  const twice = (await state('c-701'))!;
  assert.equal(twice.noteAgain!.note!.cetMonthlyPercent, 2.71, 'the latest is shown as such');
  assert.equal(flowView(twice, null, settings).notesAgain.length, 2);
  assert.ok(!nextSteps(twice, settings, null).includes('accept'));
  const refused = refusedBy(await ask('c-701', { step: 'accept', reason: 'x' }));
  assert.deepEqual(refused.map(([rule]) => rule).sort(), ['amount-within-bid', 'rate-within-bid']);
  // So many that they are not all kept: the worst are.
  for (let cet = 1; cet <= 25; cet += 1) await tells({ cetMonthlyPercent: cet });
  assert.ok((await state('c-701'))!.notesAgain!.length <= 20);
  assert.equal(refusedBy(await ask('c-701', { step: 'accept', reason: 'x' })).length, 2);
});

test('a note that somebody has seen and that is delivered again undoes no acceptance; another one does', async (context) => {
  const { ask, start, noted, state, tellNote } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const own = (await state('c-701'))!.note!;
  const tells = async (change: object) => {
    const { strays } = (await state('c-701'))!;
    await tellNote('c-701', { ...own, ...change });
    await eventually(async () => (await state('c-701'))!.strays > strays);
  };
  await tells({ cetMonthlyPercent: 2.71 });
  assert.equal((await ask('c-701', { step: 'accept', reason: 'x' })).kind, 'taken');
  await tells({ cetMonthlyPercent: 2.71 });
  assert.notEqual((await state('c-701'))!.noteAccepted ?? null, null);
  await tells({ cetMonthlyPercent: 2.72 });
  assert.equal((await state('c-701'))!.noteAccepted, null);
});

test('a worse note that comes after the end of a flow is not hidden by a later one', async (context) => {
  const { ask, start, reaches, noteFor, tell, state } = await takingHouse(context, { noteTimeoutMs: 1 });
  await start('701');
  await reaches('c-701', 'awaiting-note');
  const requestCode = (await state('c-701'))!.requestCode!;
  const own = await noteFor('c-701', { noteNumber: 'N-1' });
  await ask('c-701', { step: 'cancel', reason: 'x' });
  await reaches('c-701', 'cancelled');
  for (const change of [{ rateMonthlyPercent: 4.9 }, {}]) {
    const { strays } = (await state('c-701'))!;
    const event = { kind: 'credit-note', at: Date.now(), requestCode, of: 'contract', sealed: '{}' } as const;
    await tell(requestCode, { ...event, note: { ...own, ...change }, errors: [] });
    await eventually(async () => (await state('c-701'))!.strays > strays);
  }
  assert.ok(!nextSteps((await state('c-701'))!, settings, null).includes('accept'));
  assert.deepEqual(refusedBy(await ask('c-701', { step: 'accept', reason: 'x' })), [['rate-within-bid', 'step']]);
});

test('a note that was replaced and comes again as the new one is doubtful', async (context) => {
  const { ask, start, noted, state, tellNote, sign, reaches } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const { note, requestCode } = (await state('c-701'))!;
  await ask('c-701', { step: 'regenerate', reason: 'x' });
  await eventually(async () => ((await state('c-701'))!.requestCode ?? requestCode) !== requestCode);
  await tellNote('c-701', note);
  await reaches('c-701', 'awaiting-signature');
  assert.equal((await state('c-701'))!.noteHolder, 'c-701');
  const content = { numeroContrato: 'N-1', assinatura: 'b' };
  assert.deepEqual(refusedBy(await sign('c-701', content)), [['note-accepted', 'step']]);
  assert.equal((await ask('c-701', { step: 'accept', reason: 'the service says so' })).kind, 'taken');
  assert.equal((await sign('c-701', content)).kind, 'taken');
});

test('a contract that is answered with a code that its flow had before is unclear', async (context) => {
  const { ask, start, noted, state, reaches, world } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const { requestCode } = (await state('c-701'))!;
  world.answerTo = ({ operation }) => {
    const body = `{"codigoRequisicao":"${requestCode}"}`;
    const reading = readOperationAnswer(operation, 200, body);
    assert(reading.kind === 'accepted');
    return { ...reading, ...heard, response: { status: 200, body } };
  };
  await ask('c-701', { step: 'regenerate', reason: 'x' });
  await reaches('c-701', 'unclear');
  assert.match((await state('c-701'))!.operation!.reason!, /a request code that this flow had before/);
});

test('what was told under a code before somebody confirmed it comes to the flow in its order, all of it', async (context) => {
  const { ask, start, world, reaches, noteFor, tell, state, sign, sent } = await takingHouse(context);
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-503', response: null, ...heard });
  const tells = async (requestCode: string, note: CreditNote | null, errors: readonly string[] = []) => {
    const eventId = `event:${requestCode}`;
    const strays = (await state(eventId))?.strays ?? -1;
    const event = { kind: 'credit-note', of: 'contract', sealed: '{"Erros":[{"Codigo":"E1"}]}', requestCode } as const;
    await tell(requestCode, { ...event, at: Date.now(), note, errors });
    await eventually(async () => ((await state(eventId))?.strays ?? -1) > strays);
  };
  const unclear = async (requestId: string) => {
    await start(requestId);
    await reaches(`c-${requestId}`, 'unclear');
    return noteFor(`c-${requestId}`, { noteNumber: `N-${requestId}`, proposalCode: uuid(Number(requestId)) });
  };
  const confirm = (flowId: string, requestCode: string, more = {}) =>
    ask(flowId, { step: 'confirm', reason: 'no portal', requestCode, ...more });
  // A good note, and then a worse one.
  const good = await unclear('701');
  await tells('q-1', good);
  await tells('q-1', { ...good, loanCents: good.loanCents! + 100_000, rateMonthlyPercent: 4.9 });
  await tells('q-1', good);
  assert.equal((await state('event:q-1'))!.noteAgain!.note!.rateMonthlyPercent, 4.9, 'whoever reads the event sees it');
  assert.deepEqual(refusedBy(await confirm('c-701', 'q-1')), [['event-of-other-loan', 'requestCode']]);
  assert.equal((await confirm('c-701', 'q-1', { despiteEvents: true })).kind, 'taken');
  await eventually(async () => (await state('c-701'))!.noteAgain?.note?.rateMonthlyPercent === 4.9);
  const signed = await sign('c-701', { numeroContrato: 'N-701', assinatura: 'b' });
  assert.equal(signed.kind, 'refused');
  assert.ok(!nextSteps((await state('c-701'))!, settings, null).includes('accept'));
  // A failure, and then the note: it was done.
  const late = await unclear('702');
  await tells('q-2', null, ['E1']);
  await tells('q-2', late);
  assert.deepEqual(refusedBy(await ask('c-702', { step: 'deny', reason: 'x' })), [['event-of-nobody', 'step']]);
  assert.equal((await confirm('c-702', 'q-2')).kind, 'taken');
  await reaches('c-702', 'awaiting-signature');
  assert.equal((await state('c-702'))!.note!.noteNumber, 'N-702');
  // The note, and then a failure: somebody has to look.
  const failed = await unclear('703');
  await tells('q-3', failed);
  await tells('q-3', null, ['E1']);
  assert.equal((await confirm('c-703', 'q-3')).kind, 'taken');
  await eventually(async () => (await state('c-703'))!.noteAgain?.note === null);
  assert.equal((await state('c-703'))!.phase, 'awaiting-signature');
  assert.ok(!sent.some(({ operation }) => operation === 'endorsement'));
});

test('a confirmation with the code of another loan is refused, and one that was taken is corrected', async (context) => {
  const { ask, start, world, reaches, noteFor, tell, flows, state } = await takingHouse(context);
  await start('700');
  await reaches('c-700', 'awaiting-note');
  const note = await noteFor('c-700', {});
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await start('701');
  await reaches('c-701', 'unclear');
  const event = { kind: 'credit-note', of: 'contract', sealed: '{}', at: Date.now(), errors: [] } as const;
  const tells = async (requestCode: string, change: object) => {
    await tell(requestCode, { ...event, requestCode, note: { ...note, ...change } });
    await eventually(
      async () => (await flows.read([`event:${requestCode}`])).get(`event:${requestCode}`) !== undefined,
    );
  };
  await tells('q-other', { noteNumber: 'N-9', loanCents: note.loanCents! + 1_000_000 });
  await tells('q-rate', { noteNumber: 'N-8', rateMonthlyPercent: 3.51 });
  const confirm = (requestCode: string, more = {}) =>
    ask('c-701', { step: 'confirm', reason: 'no portal', requestCode, ...more });
  for (const code of ['q-other', 'q-rate']) {
    assert.deepEqual(refusedBy(await confirm(code)), [['event-of-other-loan', 'requestCode']], code);
  }
  assert.equal((await confirm('q-other', { despiteEvents: true })).kind, 'taken');
  await reaches('c-701', 'awaiting-signature');
  assert.equal((await state('c-701'))!.note!.noteNumber, 'N-9');
  assert.ok(nextSteps((await state('c-701'))!, settings, null).includes('confirm'));
  assert.deepEqual(refusedBy(await confirm('q-other')), [['code-of-other-flow', 'requestCode']]);
  await tells('q-own', { noteNumber: 'N-1' });
  assert.equal((await confirm('q-own')).kind, 'taken');
  await eventually(async () => (await state('c-701'))!.note?.noteNumber === 'N-1');
  const own = (await state('c-701'))!;
  assert.deepEqual([own.phase, own.requestCode, own.generations], ['awaiting-signature', 'q-own', 1]);
  assert.ok(!nextSteps((await state('c-700'))!, settings, null).includes('confirm'), 'nobody confirmed that one');
});

test('a code that was confirmed by mistake belongs to nobody once it is corrected, and its own flow takes it', async (context) => {
  const { ask, start, world, reaches, noteFor, tell, flows, state, history, sign } = await takingHouse(context);
  await start('700');
  await reaches('c-700', 'awaiting-note');
  const note = await noteFor('c-700', {});
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  for (const requestId of ['702', '701']) {
    await start(requestId);
    await reaches(`c-${requestId}`, 'unclear');
  }
  const event = { kind: 'credit-note', of: 'contract', sealed: '{}', at: Date.now(), errors: [] } as const;
  const eventOf = async (code: string) => (await flows.read([`event:${code}`])).get(`event:${code}`);
  const tells = async (requestCode: string, noteNumber: string, proposalCode: string) => {
    await tell(requestCode, { ...event, requestCode, note: { ...note, noteNumber, proposalCode } });
    await eventually(async () => (await eventOf(requestCode)) !== undefined);
  };
  const confirm = (flowId: string, requestCode: string) =>
    ask(flowId, { step: 'confirm', reason: 'no portal', requestCode, despiteEvents: true });
  // Under one code a note has come already, under the other nothing yet.
  await tells('q-702', 'N-2', uuid(2));
  assert.equal((await confirm('c-701', 'q-702')).kind, 'taken');
  await eventually(async () => (await state('c-701'))!.note?.noteNumber === 'N-2');
  assert.equal((await eventOf('q-702'))!.owner, 'c-701');
  assert.deepEqual(refusedBy(await confirm('c-702', 'q-702')), [['code-of-other-flow', 'requestCode']]);
  assert.equal((await confirm('c-701', 'q-mistyped')).kind, 'taken');
  await eventually(async () => (await eventOf('q-702'))!.phase === 'unclaimed');
  assert.equal((await eventOf('q-702'))!.owner, null);
  assert.equal((await confirm('c-701', 'q-701')).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  assert.equal((await flows.findByCode(['q-mistyped'])).size, 0);
  assert.deepEqual((await state('c-701'))!.earlierNotes ?? [], []);

  assert.equal((await confirm('c-702', 'q-702')).kind, 'taken');
  await eventually(async () => (await state('c-702'))!.note?.noteNumber === 'N-2');
  const right = (await state('c-702'))!;
  assert.deepEqual([right.phase, right.noteHolder, right.requestCode], ['awaiting-signature', null, 'q-702']);
  await eventually(async () => (await eventOf('q-702'))!.owner === 'c-702');
  assert.equal((await sign('c-702', { numeroContrato: 'N-2', assinatura: 'b' })).kind, 'taken');

  await tell('q-701', { ...event, requestCode: 'q-701', note: { ...note, noteNumber: 'N-1', proposalCode: uuid(1) } });
  await eventually(async () => (await state('c-701'))!.note?.noteNumber === 'N-1');
  assert.equal((await state('c-701'))!.lateNote ?? null, null);
  // Who looked first gave it to its flow, and who looked at the same time said the same.
  const given = (await history('event:q-702')).flatMap((record) =>
    record.kind === 'claimed-by' ? [`${record.owner} ${record.givenUp === true ? 'gives it up' : 'has it'}`] : [],
  );
  assert.deepEqual(
    given.filter((each, index) => each !== given[index - 1]),
    ['c-701 has it', 'c-701 gives it up', 'c-702 has it'],
  );
});

test('what a signature calls a contract is the contract of this flow, also where nobody here knows the other', async (context) => {
  const { start, noted, sign, sent, state, reaches } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: '2505512944', proposalCode: uuid(1) });
  for (const [other, field] of [
    [{ contrato: '999' }, 'content.contrato'],
    [{ contrato: 999 }, 'content.contrato'],
    [{ ccb: 'CCB-2505512943' }, 'content.ccb'],
    [{ contrato: { numero: '999' } }, 'content.contrato.numero'],
    [{ contratos: ['2505512944', '999'] }, 'content.contratos.1'],
    [{ nrContrato: '25055129440' }, 'content.nrContrato'],
    [{ contratoId: uuid(9) }, 'content.contratoId'],
    [{ dados: '{"idContrato":"999"}' }, 'content.dados.idContrato'],
    [{ biometria: { contrato: { id: '999' } } }, 'content.biometria.contrato.id'],
    [{ averbacao: { contrato: { nrContrato: '999' } } }, 'content.averbacao.contrato.nrContrato'],
    // A name that is surely a contract's number is one anywhere.
    [{ assinatura: { numeroCCB: '999' } }, 'content.assinatura.numeroCCB'],
    [{ documento: { numeroContrato: '999' } }, 'content.documento.numeroContrato'],
    [{ biometria: { numero_do_contrato: '999' } }, 'content.biometria.numero_do_contrato'],
    [{ provas: [{ ccb: '999' }] }, 'content.provas.0.ccb'],
    [{ dados: [{ numeroContrato: '999' }] }, 'content.dados.0.numeroContrato'],
    // And an id is one but within a vendor's part.
    [{ dados: [{ idContrato: '999' }] }, 'content.dados.0.idContrato'],
    [{ requisição: { codigoContrato: '999' } }, 'content.requisição.codigoContrato'],
    [{ assinatura: { contratoId: '999' } }, 'content.assinatura.contratoId'],
    [{ aprovacao: { idContrato: '999' } }, 'content.aprovacao.idContrato'],
    [{ 'requisic\u0327a\u0303o': { 'idCe\u0301dula': '999' } }, 'content.requisic\u0327a\u0303o.idCe\u0301dula'],
  ] as const) {
    const refused = await sign('c-701', { assinatura: 'b', ...other } as JsonObject);
    assert.deepEqual(refusedBy(refused), [['note-of-this-flow', field]]);
    assert.match(JSON.stringify(refused), /the note of this flow is 2505512944/);
  }
  assert.ok(!sent.some(({ operation }) => operation === 'endorsement'));
  const content: JsonObject = {
    ...{ assinatura: 'b', contrato: 'CCB 2.505.512.944', ccb: { id: uuid(1), tipo: '7' }, contratos: 2 },
    ...{ tipoContrato: '3', idContrato: (await state('c-701'))!.requestCode!, contratoHash: 'a1'.repeat(32) },
    ...{ cedula: '0002505512944', contractCopy: '9'.repeat(64), nrCCB: 2505512944, valorContrato: '999' },
    // Parts of a vendor have ids of their own.
    ...{ biometria: { idContrato: 'V-998877', provas: [{ contratoId: 4411 }] } },
    ...{
      dadosBiometricos: [{ codigoContrato: 'V-1', selfie: { idContrato: 4412 } }],
      evidência: { contrato_id: '77' },
    },
  };
  assert.equal((await sign('c-701', content)).kind, 'taken');
  await reaches('c-701', 'endorsed');
});

test('a signature names the note of another flow in no form', async (context) => {
  const { start, noted, sign, sent, reaches } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: '2505512943', proposalCode: uuid(1) });
  await start('702');
  await noted('c-702', { noteNumber: '2505512944', proposalCode: uuid(2) });
  const own = { numeroContrato: '2505512944' };
  for (const other of [
    { dados: '{"numeroContrato":"2505512943"}' },
    { dados: JSON.stringify({ x: JSON.stringify([{ y: 2505512943 }]) }) },
    { contrato: '2505512943.0' },
    { contrato: 'CCB-2505512943' },
    { contrato: '0002505512943' },
    { contrato: '2.505.512.943' },
    { contrato: '２５０５５１２９４３' },
    { url: 'https://x.example/ccb/2505512943.pdf' },
    { '2505512943': true },
    { texto: `proposta ${uuid(1)}, assinada` },
  ]) {
    for (const content of [other, { ...own, ...other }]) {
      const refused = await sign('c-702', { ...content, assinatura: 'b' });
      assert.deepEqual(
        refusedBy(refused).map(([rule]) => rule),
        ['note-of-this-flow'],
        JSON.stringify(content),
      );
      assert.match(JSON.stringify(refused), /the flow c-701/);
    }
  }
  assert.ok(!sent.some(({ operation }) => operation === 'endorsement'));
  const biometrics = Array.from({ length: 40_000 }, (_, index) => index * 7919).join('');
  const content = {
    ...own,
    dados: '{"numeroContrato":"2505512944"}',
    url: 'https://x.example/2505512944.pdf',
    biometrics,
  };
  assert.equal((await sign('c-702', content)).kind, 'taken');
  await reaches('c-702', 'endorsed');
});

test('a signature names the note of another flow in no grouping of its digits, and its own in any', async (context) => {
  const { start, noted, sign, sent, reaches } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: '2990522122', proposalCode: uuid(1) });
  await start('702');
  await noted('c-702', { noteNumber: '2990522123', proposalCode: uuid(2) });
  const own = { numeroContrato: '2990522123' };
  for (const texto of [
    'CCB 2.990.522.122',
    'CCB 2990 522122',
    'CCB nº 2990-522.122, de 26/11/2026',
    'assinada em 26/11/2026: 2990 / 522 122.',
    '1 2.990.522.122 2',
    'CCB 002990\u00a0522122',
    'CCB 29905\u200b22122',
    `proposta ${uuid(1).replaceAll('-', ' ')}`,
    `proposta ${uuid(1).replaceAll('-', '.').toUpperCase()}, assinada`,
  ]) {
    const refused = await sign('c-702', { ...own, texto, assinatura: 'b' });
    assert.deepEqual(
      refusedBy(refused).map(([rule]) => rule),
      ['note-of-this-flow'],
      texto,
    );
    assert.match(JSON.stringify(refused), /the flow c-701/);
  }
  assert.ok(!sent.some(({ operation }) => operation === 'endorsement'));
  const texto = `CCB 2.990.522.123 (2990 522123), proposta ${uuid(2).replaceAll('-', ' ')}, em 26/11/2026 às 14.30`;
  assert.equal((await sign('c-702', { ...own, texto, assinatura: 'b' })).kind, 'taken');
  await reaches('c-702', 'endorsed');
});

test('a long text of short groups of digits is read in as much time as it takes, and hides no plain number', () => {
  const groups = Array.from({ length: 3_000 }, (_, index) => index % 10).join(' ');
  const texts = Array.from({ length: 200 }, (_, index) => ({ [`t${index}`]: groups.slice(0, 4_000) }));
  const at = performance.now();
  const found = namesWithin([...texts, { last: 'CCB 2990522122' }] as never);
  assert.ok(performance.now() - at < 5_000);
  assert.ok(found.some(({ text }) => text === '2990522122'));
  assert.ok(found.length < 10_000);
});

test('a code that was confirmed by mistake is corrected also where its contract is told to have failed', async (context) => {
  const { ask, start, world, reaches, tell, flows, state, sent, tellNote } = await takingHouse(context);
  world.answerTo = () => ({ kind: 'unknown', reason: 'status-500', response: null, ...heard });
  await start('701');
  await reaches('c-701', 'unclear');
  const confirm = (requestCode: string) => ask('c-701', { step: 'confirm', reason: 'no portal', requestCode });
  assert.equal((await confirm('q-other')).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  await tellNote('c-701', null, ['E1']);
  await reaches('c-701', 'refused');
  const refused = (await state('c-701'))!;
  assert.ok(nextSteps(refused, settings, null).includes('confirm'));
  const before = sent.length;
  assert.equal((await confirm('q-own')).kind, 'taken');
  await reaches('c-701', 'awaiting-note');
  const corrected = (await state('c-701'))!;
  assert.deepEqual([corrected.requestCode, corrected.errors, corrected.generations], ['q-own', [], 1]);
  assert.ok(corrected.generatedAt !== null, 'its competence counts');
  assert.equal((await flows.findByCode(['q-other'])).size, 0);
  assert.equal(sent.length, before);
  // Under the right code it failed as well: it may be amended, and then nothing is corrected any more.
  await tell('q-own', {
    ...{ kind: 'credit-note', of: 'contract', sealed: '{"Erros":[{"Codigo":"E2"}]}', at: Date.now() },
    ...{ errors: ['E2'], requestCode: 'q-own', note: null },
  });
  await reaches('c-701', 'refused');
  assert.equal((await ask('c-701', { step: 'amend' } as never)).kind, 'taken');
  await reaches('c-701', 'unclear');
  assert.ok(!nextSteps((await state('c-701'))!, settings, null).includes('sign'));
});
