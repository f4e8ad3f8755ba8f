/**
 * The API fuzzed from its own OpenAPI document: what the schemas say, and what they do not. Never a 5xx, never a trace of the
 * code, never a CPF of a worker, and every answer is of a kind that the document names.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Reply, type Role, roles, startApi } from './api-house.ts';

type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
};
type Parameter = { in: string; name: string; required?: boolean; schema: Schema };
type Operation = {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
};
type Document = {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: { Problem: { properties: { type: { enum: string[] } } } } };
};

/** Something that the schema lets through, mostly: a format that is not known here is any text. */
function fitting(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(fitting));
  switch (schema.type) {
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1e6, max: Math.min(schema.maximum ?? 1e6, 2 ** 31 - 1) });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(fitting(schema.items ?? {}), { maxLength: Math.min(3, schema.maxItems ?? 3) });
    case 'object':
      return objectOf(schema);
    case 'string':
      return textOf(schema);
    default:
      return fc.jsonValue();
  }
}

function objectOf({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, fitting(each)]));
  if (Object.keys(fields).length === 0)
    return fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue(), { maxKeys: 3 });
  return fc.record(fields, { requiredKeys: required });
}

const knownCpfs = ['52998224725', '11144477735', '39053344705'];

function textOf({ pattern, format, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<unknown> {
  if (pattern === '^\\d{11}$') return fc.constantFrom(...knownCpfs, '00000000000');
  const day = fc.date({ min: new Date('1950-01-01'), max: new Date('2030-01-01'), noInvalidDate: true });
  if (format === 'date') return day.map((date) => date.toISOString().slice(0, 10));
  if (format === 'date-time') return day.map((date) => date.toISOString());
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).map((text) => text.slice(0, 100));
  return fc.string({ minLength, maxLength: Math.min(maxLength, 40) });
}

/** What no schema lets through, put anywhere. */
const nonsense = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    null,
    -1,
    1e308,
    '',
    'x'.repeat(5_000),
    { __proto__: null, constructor: 1 },
    [[[[]]]],
    { length: { valueOf: 1, toString: 1 } },
    { size: [-6.655827637473621e-291] },
    '\u0000',
    '𝄞',
  ),
);

function bodyOf(schema: Schema): fc.Arbitrary<string> {
  const good = fitting(schema);
  const spoilt = fc.tuple(good, fc.nat(), nonsense).map(([value, place, wrong]) => {
    if (typeof value !== 'object' || value === null) return wrong;
    const keys = [...Object.keys(value), 'another'];
    return { ...value, [keys[place % keys.length]!]: wrong };
  });
  return fc.oneof(
    { weight: 6, arbitrary: good.map((value) => JSON.stringify(value)) },
    { weight: 3, arbitrary: spoilt.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: nonsense.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.constantFrom('', '{', '['.repeat(20_000), '{"a":'.repeat(500), '"', 'null', '1e999') },
  );
}

type Call = { method: string; path: string; role: Role; key: string | undefined; raw: string | undefined };

function callOf(path: string, method: string, operation: Operation, ids: readonly string[]): fc.Arbitrary<Call> {
  const parameters = operation.parameters ?? [];
  const drawnFor = ({ in: where, name, schema }: Parameter) =>
    where === 'path' && name !== 'operation'
      ? fc.oneof(
          { weight: 4, arbitrary: fc.constantFrom(...ids) },
          { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 30 }) },
        )
      : fc.oneof({ weight: 3, arbitrary: fitting(schema) }, { weight: 1, arbitrary: fc.string({ maxLength: 20 }) });
  const values = fc.tuple(
    ...parameters.map((each) =>
      fc.option(drawnFor(each), { nil: undefined, freq: each.in === 'path' ? 1_000_000 : 4 }),
    ),
  );
  const schema = operation.requestBody?.content['application/json']?.schema;
  const raw = schema === undefined ? fc.constant(undefined) : bodyOf(schema);
  // A few keys, so that they meet again.
  const key = fc.oneof(
    { weight: 8, arbitrary: fc.nat(40).map((each) => `key-${each}`) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
  return fc
    .tuple(values, raw, fc.constantFrom(...roles, 'admin', 'operator'), key)
    .map(([given, body, role, named]) => {
      let target = path;
      const query = new URLSearchParams();
      for (const [index, parameter] of parameters.entries()) {
        const value = given[index];
        if (parameter.in === 'path')
          target = target.replace(`{${parameter.name}}`, encodeURIComponent(String(value ?? 'x')));
        else if (parameter.in === 'query' && value !== undefined) query.set(parameter.name, String(value));
      }
      const search = query.size > 0 ? `?${query}` : '';
      return { method: method.toUpperCase(), path: `${target}${search}`, role, key: named, raw: body };
    });
}

/** Of a document: the types of all problems. */
type Problems = ReadonlySet<string>;

function check(
  reply: Reply,
  operation: Operation,
  call: Call,
  known: { others: readonly string[]; types: Problems },
): void {
  const { others, types } = known;
  const what = `${call.role} ${call.method} ${call.path} ${call.raw} → ${reply.status} ${reply.text}`;
  assert.ok(reply.status < 500, what);
  assert.ok(
    Object.hasOwn(operation.responses, String(reply.status)) || reply.status === 404,
    `not in the document: ${what}`,
  );
  if (reply.status >= 400) {
    assert.match(reply.headers.get('content-type') ?? '', /application\/problem\+json/, what);
    assert.equal((reply.body as { status: number }).status, reply.status);
    assert.ok(types.has((reply.body as { type: string }).type), `no type of the document: ${what}`);
  }
  assert.ok(!/node_modules|\.ts:\d|\bat \w+ \(/.test(reply.text), what);
  // The one route that says who a worker is: to these roles, of the bid at hand alone, and never without a reason.
  if (reply.status === 200 && /^\/v1\/bids\/\d+\/worker$/.test(call.path)) {
    assert.ok(call.role === 'operator' || call.role === 'admin', what);
    assert.match((JSON.parse(call.raw!) as { reason: string }).reason, /\S/, what);
    assert.ok(others.filter((cpf) => reply.text.includes(cpf)).length <= 1, what);
    return;
  }
  for (const cpf of others) assert.ok(!reply.text.includes(cpf) && !reply.text.includes(cpf.replace(/^0+/, '')), what);
}

test('nothing that is sent to the API breaks it or makes it tell', async (context) => {
  const { call, sandbox } = await startApi(context);
  // On a busy machine all bids of a round may come after its deadline.
  for (let round = 0; round < 5 && sandbox.record.of('won').length === 0; round += 1) await sandbox.run(25);
  const document = (await call('GET', '/v1/openapi.json', { role: null })).body as Document;
  assert.equal(document.openapi, '3.1.0');
  const types = new Set(document.components.schemas.Problem.properties.type.enum);
  const docs = await call('GET', '/v1/docs/', { role: null });
  assert.equal(docs.status, 200);
  assert.match(docs.text, /swagger/i);
  const won = sandbox.record.of('won')[0];
  assert.ok(won, 'no bid of five rounds was won');
  const { birthDate } = sandbox.withdrawals.holder(knownCpfs[0]!);
  const account = { accountType: 2, branch: '1', branchDigit: '9', account: '1', accountDigit: '7', bankNumber: '341' };
  const { requestId, amountCents, installments, rateHundredths } = won;
  const order = {
    requestId,
    workerAccepted: true,
    amountCents,
    installments,
    rateHundredths,
    agentCpf: knownCpfs[1]!,
    account,
  };
  await call('POST', '/v1/contracts', { key: 'c', body: order });
  const begun = await call('POST', '/v1/withdrawals', { key: 'w', body: { cpf: knownCpfs[0]!, birthDate } });
  const { flowId } = begun.body as { flowId: string };
  await call('POST', `/v1/withdrawals/${flowId}/simulation`, { key: 's', body: { birthDay: birthDate } });
  const ids = [flowId, `c-${requestId}`, requestId, 'r-1', 'nobody'];
  // Workers of the auctions: only one route says who they are.
  const sent = JSON.stringify(sandbox.record.of('call').map(({ body }) => body));
  // The query that tries the token names nobody, by eleven zeros.
  const named = [...sent.matchAll(/cpfTrabalhador\W+(\d{11})/g)].map(([, cpf]) => cpf!);
  const others = [...new Set(named)].filter((cpf) => /[1-9]/.test(cpf));
  assert.ok(others.length > 0);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ operation, calls: callOf(path, method, operation, ids) })),
  );
  assert.ok(operations.length > 25, `${operations.length} operations`);
  const statuses = new Map<number, number>();
  for (const { operation, calls } of operations) {
    await fc.assert(
      fc.asyncProperty(calls, async (drawn) => {
        const { method, path, role, key, raw } = drawn;
        const reply = await call(method, path, {
          role,
          ...(key === undefined ? {} : { key }),
          ...(raw === undefined ? {} : { raw }),
        });
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
        check(reply, operation, drawn, { others: others.filter((cpf) => !knownCpfs.includes(cpf)), types });
      }),
      { numRuns: 25 },
    );
  }
  for (const status of [200, 404, 409, 422]) assert.ok(statuses.has(status), JSON.stringify([...statuses]));
  context.diagnostic(`${operations.length} operations: ${JSON.stringify([...statuses].sort(([a], [b]) => a - b))}`);
});
