/** What goes to the service as it came keeps every digit (integrator, session 56). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepAsked, withCarriedNumbers } from '../../src/http/api/requests.ts';
import { stepBodies } from '../../src/http/api/schemas.ts';
import { type JsonObject, parseJson } from '../../src/wire/json.ts';
import { refusedBy, takingHouse, uuid } from './taking-house.ts';

/** As the API reads the body of a step. */
function read(text: string): JsonObject {
  const parsed = parseJson(text);
  assert.ok(parsed.kind === 'parsed');
  return withCarriedNumbers(parsed.value, text) as JsonObject;
}

test('a signature goes out with its numbers as they were written', async (context) => {
  const { ask, start, noted, reaches, sent } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  const content =
    '{"numeroContrato":"N-1","a":1e400,"b":0.10,"c":[1.0,-0,2],"d":12345678901234567890,"e":"0.10","f":1E3}';
  const body = stepBodies.sign.parse(read(`{"signedAt":"${new Date().toISOString()}","content":${content}}`));
  assert.equal((await ask('c-701', stepAsked('sign', body))).kind, 'taken');
  await reaches('c-701', 'endorsed');
  assert.equal(sent.at(-1)!.body, content);
});

test('numbers that are not carried are read as before', () => {
  const body = read('{"amountCents":100.0,"fields":{"conta":1.0}}');
  assert.equal(body.amountCents, 100);
  assert.equal(JSON.stringify(body), '{"amountCents":100,"fields":{"conta":1.0}}');
  assert.deepEqual(read('{"dto":null,"content":1.0}'), { dto: null, content: 1 });
});

test('the CPF of somebody else is found however its number is written', async (context) => {
  const { start, noted, ask } = await takingHouse(context);
  await start('701');
  await noted('c-701', { noteNumber: 'N-1', proposalCode: uuid(1) });
  for (const number of ['11144477735', '11144477735.0', '1.1144477735e10', '1.1144477735E+10']) {
    const content = `{"numeroContrato":"N-1","assinatura":"b","documento":${number}}`;
    const body = stepBodies.sign.parse(read(`{"signedAt":"${new Date().toISOString()}","content":${content}}`));
    assert.deepEqual(refusedBy(await ask('c-701', stepAsked('sign', body))), [
      ['signer-is-worker', 'content.documento'],
    ]);
  }
});
