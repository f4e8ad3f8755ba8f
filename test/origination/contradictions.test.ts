/** What the service says that says both yes and no, or cannot be: nothing is ordered again before somebody has looked (integrator, session 37). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeCreditNote } from '../../src/wire/credit-notes.ts';
import { decodeProposed } from '../../src/wire/events.ts';
import { parseJson } from '../../src/wire/json.ts';
import { type OperationName, readOperationAnswer } from '../../src/wire/operations.ts';
import { eventually } from '../conformance/backend.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

const refusal = '"Erros":[{"Codigo":"X","Mensagem":"m"}]';

function jsonOf(text: string) {
  const parsed = parseJson(text);
  assert(parsed.kind === 'parsed');
  return parsed.value;
}

test('a refusal beside the code of what was done is no refusal', () => {
  const both = `{"codigoRequisicao":"q-9",${refusal}}`;
  for (const operation of ['contract', 'renegotiation', 'endorsement'] as const) {
    for (const [status, body] of [
      [200, both],
      [400, both],
      [400, '{"codigoRequisicao":"q-9"}'],
    ] as const) {
      const reading = readOperationAnswer(operation, status, body);
      assert.deepEqual(reading, { kind: 'unknown', reason: 'refused-with-code', code: 'q-9' }, `${operation} ${body}`);
    }
    const plain = readOperationAnswer(operation, 200, `{"CodigoRequisicao":null,${refusal}}`);
    assert.equal(plain.kind, 'rejected');
  }
  const included = `{"HasError":true,"Messages":[{"Code":"X"}],"CodigoProposta":"${uuid(1)}"}`;
  assert.deepEqual(readOperationAnswer('inclusion', 200, included), {
    ...{ kind: 'unknown', reason: 'refused-with-code' },
    code: uuid(1),
  });
});

test('an inclusion that does not say whether it failed is not done', () => {
  const kindOf = (flag: string) => readOperationAnswer('inclusion', 200, `{${flag}"CodigoProposta":"${uuid(1)}"}`).kind;
  assert.deepEqual(['"HasError":null,', '', '"HasError":false,'].map(kindOf), ['unknown', 'unknown', 'accepted']);
});

test('a conflict without a word says nothing of what was done, and a query has nothing to do', () => {
  const kindOf = (operation: OperationName, body: string) => readOperationAnswer(operation, 409, body).kind;
  for (const operation of ['inclusion', 'contract', 'signers'] as const) {
    assert.equal(kindOf(operation, '{}'), 'unknown', operation);
    assert.equal(kindOf(operation, `{${refusal}}`), 'rejected', operation);
  }
  assert.equal(kindOf('simulation', '{}'), 'rejected');
});

test('a contract that was refused beside its code waits for what is told under it', async (context) => {
  const { ask, start, state, reaches, world, tellNote, noteFor, sent } = await takingHouse(context);
  world.answerTo = ({ operation }) => {
    const response = { status: 200, body: `{"codigoRequisicao":"q-9",${refusal}}` };
    const reading = readOperationAnswer(operation, response.status, response.body);
    assert(reading.kind === 'unknown');
    return { ...reading, firstByteAt: Date.now(), attempts: 1, response };
  };
  await start('701');
  await reaches('c-701', 'unclear');
  const unclear = (await state('c-701'))!;
  assert.equal(unclear.requestCode, 'q-9');
  assert.equal(unclear.results.contract?.refused, true);
  assert.deepEqual(refusedBy(await ask('c-701', { step: 'amend' })), [['step-allowed', 'step']]);
  await tellNote('c-701', await noteFor('c-701', { noteNumber: 'N-1' }));
  await reaches('c-701', 'awaiting-signature');
  assert.equal(sent.length, 1);
});

test('an event with errors and a whole note is a note that somebody has to look at', async (context) => {
  const note =
    '{"CodigoRequisicao":"q-1","Payload":{"NumeroCCB":"N-1","ValorTaxaMensal":2.5,"ValorFinanciado":100},"Erros":[{"Codigo":"E1"}]}';
  const decoded = decodeCreditNote(jsonOf(note), 'contract');
  assert(decoded.kind === 'decoded');
  assert.equal(decoded.value.note?.noteNumber, 'N-1');
  assert.equal(decoded.value.errors.length, 1);
  const { ask, start, state, reaches, tellNote, noteFor, sign, alarms } = await takingHouse(context);
  await start('701');
  await reaches('c-701', 'awaiting-note');
  await tellNote('c-701', await noteFor('c-701', { noteNumber: 'N-1' }), ['E1']);
  await reaches('c-701', 'awaiting-signature');
  assert.deepEqual((await state('c-701'))!.errors, ['E1']);
  await eventually(() => alarms.length > 0);
  const content = { numeroContrato: 'N-1', assinatura: 'b' };
  assert.equal(refusedBy(await sign('c-701', content)).length, 1);
  assert.equal((await ask('c-701', { step: 'accept', reason: 'vista no portal' })).kind, 'taken');
  assert.equal((await sign('c-701', content)).kind, 'taken');
});

test('a rate between two hundredths counts as the higher one', async (context) => {
  const { start, noted, sign, state } = await takingHouse(context);
  await start('701');
  const ordered = (await state('c-701'))!.terms!.rateHundredths;
  await noted('c-701', { noteNumber: 'N-1', rateMonthlyPercent: ordered / 100 + 0.0049 });
  const { differences } = (await state('c-701'))!;
  assert.deepEqual(differences, [{ field: 'rateHundredths', ours: ordered, theirs: ordered + 1 }]);
  const content = { numeroContrato: 'N-1', assinatura: 'b' };
  assert.equal(refusedBy(await sign('c-701', content)).length, 1);
});

test('a proposal whose validity cannot be read is a proposal all the same', () => {
  const event = `{"CodigoRequisicao":"q-1","Payload":{"conteudo":{"codigo":"${uuid(2)}","dataHoraValidadeProposta":"31022027250000"}}}`;
  const decoded = decodeProposed(jsonOf(event));
  assert(decoded.kind === 'decoded', JSON.stringify(decoded));
  assert.deepEqual([decoded.value.proposalCode, decoded.value.validUntil], [uuid(2), null]);
});
