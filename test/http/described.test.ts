/** The description of the API: every field said with unit, limits, example and the contract's name, every answer named. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { z } from 'zod';
import { flowPhases } from '../../src/domain/flow-states.ts';
import { issueTexts } from '../../src/http/api/remedies.ts';
import { contractBody } from '../../src/http/api/schemas.ts';
import { startApi } from './api-house.ts';

type Schema = {
  $ref?: string;
  title?: string;
  type?: string;
  description?: string;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  'x-unit'?: string;
  'x-contract'?: string;
};
type Content = Record<string, { schema?: Schema; example?: unknown }>;
type Operation = {
  summary?: string;
  description?: string;
  parameters?: {
    in: string;
    name: string;
    description?: string;
    example?: unknown;
    examples?: Record<string, { value: unknown }>;
    schema: Schema;
  }[];
  requestBody?: { content: Content };
  responses: Record<string, { description?: string; content?: Content; headers?: object }>;
};
type Document = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } };

const units = [
  'whole cents of a real',
  'hundredths of a percent a month',
  'hundredths of a percent a year',
  'hundredths of a percent',
  'percent a month',
  'percent a year',
  'percent',
  'ms',
  'epoch ms',
  'months',
  'hours',
  'a count',
  'a probability from 0 to 1',
  'a number as it stands, without a unit',
];

/** Keys that the contract gives its fields, as the rows of the contract list them. */
const contractKeys = new Set(
  (
    JSON.parse(readFileSync(new URL('../contract/rows.json', import.meta.url), 'utf8')) as {
      groups: { fields: Record<string, string> }[];
    }
  ).groups.flatMap(({ fields }) => Object.keys(fields)),
);

/** With what it refers to written out. */
function whole(schema: unknown, components: Document['components']): unknown {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_key, inner: { $ref?: string } | null) =>
      typeof inner?.$ref === 'string' ? components.schemas[inner.$ref.slice('#/components/schemas/'.length)] : inner,
    );
  return JSON.parse(text(schema));
}

function exampleIn(example: unknown): { examples?: unknown[] } {
  return example === undefined ? {} : { examples: [example] };
}

function fits(schema: Schema, example: unknown): string | null {
  const { error } = z.fromJSONSchema(schema as never).safeParse(example);
  return error === undefined ? null : z.prettifyError(error);
}

/** Everything that a field may be, without null. */
function choicesOf(schema: Schema): Schema[] {
  const choices = schema.anyOf ?? schema.oneOf;
  return choices === undefined ? [schema] : choices.flatMap(choicesOf).filter(({ type }) => type !== 'null');
}

/** What is wrong with what is said of one field. `taken`: callers send it, so it has limits. */
function faultsOf(place: string, schema: Schema, taken: boolean, outer: Schema = schema): string[] {
  const faults: string[] = [];
  const fault = (text: string) => faults.push(`${place}: ${text}`);
  if (schema.$ref === undefined) {
    if ((outer.description ?? '').length < 4) fault('no description');
    if (outer.examples === undefined || outer.examples.length === 0) fault('no example');
    else if (fits(schema, outer.examples[0]) !== null) fault(`its example: ${fits(schema, outer.examples[0])}`);
  }
  for (const choice of choicesOf(schema)) {
    const isCode = choice.enum !== undefined || choice.const !== undefined;
    if ((choice.type === 'integer' || choice.type === 'number') && !isCode) {
      if (!units.includes(outer['x-unit'] ?? '')) fault('no unit');
      if (taken && (choice.minimum === undefined || choice.maximum === undefined)) fault('no limits');
    }
    const limited = choice.maxLength ?? choice.pattern ?? choice.format;
    if (taken && choice.type === 'string' && !isCode && limited === undefined) fault('no limit of its length');
    if (taken && choice.type === 'array' && choice.maxItems === undefined) fault('no limit of its entries');
    if (choice.items !== undefined) faults.push(...fieldsIn(`${place}[]`, choice.items, taken));
    faults.push(...fieldsIn(place, choice, taken));
  }
  return faults;
}

function fieldsIn(place: string, schema: Schema, taken: boolean): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    faultsOf(`${place}.${name}`, field, taken),
  );
  const inner = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  return inner === undefined ? own : [...own, ...fieldsIn(`${place}.*`, inner, taken)];
}

function* fieldsOf(place: string, schema: Schema): Generator<[string, Schema]> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    yield [`${place}.${name}`, field];
    for (const choice of choicesOf(field)) {
      yield* fieldsOf(`${place}.${name}`, choice);
      if (choice.items !== undefined) yield* fieldsOf(`${place}.${name}[]`, choice.items);
    }
  }
}

test('the description of the API', async (context) => {
  const { call } = await startApi(context);
  const { paths, components } = (await call('GET', '/v1/openapi.json', { role: null })).body as Document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
  assert.ok(operations.length > 30);

  await context.test(
    'every field has a description, an example that fits, a unit and, where it is sent, limits',
    () => {
      const faults = operations.flatMap(({ name, operation }) => [
        ...(operation.parameters ?? []).flatMap(({ in: where, name: field, description = '', schema, ...shown }) => {
          const example = shown.example ?? Object.values(shown.examples ?? {})[0]?.value ?? schema.examples?.[0];
          return faultsOf(`${name} ${where} ${field}`, { ...schema, description, ...exampleIn(example) }, true);
        }),
        ...Object.values(operation.requestBody?.content ?? {}).flatMap(({ schema, example }) =>
          faultsOf(`${name} body`, { ...schema, ...exampleIn(example) }, true),
        ),
        ...Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
          Object.values(content).flatMap(({ schema }) =>
            faultsOf(`${name} ${status}`, whole(schema, components) as Schema, false),
          ),
        ),
      ]);
      faults.push(
        ...Object.entries(components.schemas).flatMap(([name, schema]) =>
          faultsOf(name, whole(schema, components) as Schema, false),
        ),
      );
      assert.deepEqual(faults, []);
    },
  );

  await context.test('other names of an account come with the CPF of its holder', async () => {
    const bodies = operations.flatMap(({ operation }) => Object.values(operation.requestBody?.content ?? {}));
    const told = bodies
      .flatMap(({ schema }) => whole(schema, components) as Schema)
      .map(JSON.stringify as (one: Schema) => string);
    const named = told.filter((text) => text.includes('"otherNames"'));
    assert.equal(named.length, 1);
    assert.match(named[0]!, /"otherNames":\{[^{}]*worker's CPF in the one for its holder/);
  });

  await context.test('every answer has a name, those with errors too', () => {
    const faults = operations.flatMap(({ name, operation }) => {
      const answers = Object.entries(operation.responses);
      const unnamed = answers.flatMap(([status, { description = '', content = {} }]) => {
        const schemas = Object.values(content).map(({ schema }) => schema?.$ref ?? '');
        const isNamed = description.length > 10 && description !== 'Default Response';
        const known = schemas.every((ref) =>
          Object.hasOwn(components.schemas, ref.replace('#/components/schemas/', '')),
        );
        // Who is sent elsewhere reads nothing here.
        const isHeld = status.startsWith('3') || (schemas.length === 1 && known);
        return isNamed && isHeld ? [] : [`${name} ${status}`];
      });
      const missing = ['401', '403', '500', '503'].filter((status) => !Object.hasOwn(operation.responses, status));
      return [...unnamed, ...missing.map((status) => `${name} ${status} is not there`)];
    });
    assert.deepEqual(faults, []);
  });

  await context.test(
    'every field of an order or a step says what the contract calls it, or that it has no name for it',
    () => {
      const faults = operations
        .filter(({ name }) => /^POST \/v1\/(contracts|renegotiations|withdrawals|lookups)/.test(name))
        .flatMap(({ name, operation }) => [
          ...fieldsOf(name, operation.requestBody?.content['application/json']?.schema ?? {}),
        ])
        .flatMap(([place, field]) => {
          const said = field['x-contract'];
          if (said === undefined) return [`${place}: no contract name`];
          if (said === 'none') return [];
          const keys = said.split(/[.,\s]+/).filter((key) => key !== '');
          const unknown = keys.filter((key) => !contractKeys.has(key));
          const shown = keys.every((key) => (field.description ?? '').includes(key));
          return [
            ...unknown.map((key) => `${place}: ${key} is no key of the contract`),
            ...(shown ? [] : [`${place}: the description does not show ${said}`]),
          ];
        });
      assert.deepEqual(faults, []);
    },
  );

  await context.test('every order has a worked example that its schema takes', () => {
    for (const { name, operation } of operations) {
      const { schema, example } = operation.requestBody?.content['application/json'] ?? {};
      if (schema === undefined) continue;
      assert.ok(schema.title !== undefined && example !== undefined, name);
      assert.equal(fits(schema, example), null, name);
    }
  });

  await context.test('every type of problem is documented wherever it may be answered, with its headers', async () => {
    const types = components.schemas.Problem!.properties!.type!.enum as string[];
    assert.ok(types.length > 10);
    for (const { name, operation } of operations) {
      const answers = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
      const documented = answers.flatMap(([, { description = '' }]) =>
        [...description.matchAll(/`([a-z-]+)`/g)].map(([, problem]) => `urn:problem:lance:${problem}`),
      );
      assert.deepEqual(documented.sort(), types.toSorted(), name);
      assert.deepEqual(Object.keys(operation.responses['405']!.headers ?? {}), ['Allow'], name);
      assert.deepEqual(Object.keys(operation.responses['503']!.headers ?? {}), ['Retry-After'], name);
    }
    const put = await call('PUT', '/v1/contracts');
    assert.ok(types.includes((put.body as { type: string }).type), put.text);
    assert.match(put.headers.get('allow') ?? '', /GET/);
  });

  const refusals = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const reply = await call('POST', path, { key: 'refused', body });
    assert.equal(reply.status, 422, reply.text);
    const { errors } = reply.body as { errors: { field: string; detail: string }[] };
    return Object.fromEntries(errors.map(({ field, detail }) => [field, detail]));
  };

  await context.test('a refusal says the key, the allowed values and the limit', async () => {
    const { example } = paths['/v1/contracts']!.post!.requestBody!.content['application/json']!;
    const order = example as Record<string, unknown> & { account: object };
    for (const [body, limit] of [
      [{ amountCents: 1e30 }, 'write at most 1000000000000, in whole cents of a real'],
      [{ amountCents: -1e30 }, 'write at least 1, in whole cents of a real'],
      [{ rateHundredths: 1e30 }, 'write at most 10000, in hundredths of a percent a month'],
      [{ installments: 1e30 }, 'write at most 480'],
    ] as const) {
      assert.deepEqual(Object.values(await refusals('/v1/contracts', { ...order, ...body })), [limit]);
    }
    // Numbers of many digits are kept as they are written.
    const digits = JSON.stringify({ ...order, amountCents: 'X' }).replace('"X"', '1234567890123456789012');
    const long = await call('POST', '/v1/contracts', { key: 'refused', raw: digits });
    assert.match(long.text, /"detail":"amountCents: write at most 1000000000000, in whole cents of a real\."/);
    const far = await call('GET', '/v1/bids?limit=1e30&since=1e30');
    assert.match(far.text, /write at most 200"/);
    assert.match(far.text, /write at most 999999999999999, in epoch ms"/);
    assert.ok(!far.text.includes('9007199254740991'), far.text);
    const wrong = {
      ...order,
      installments: 481,
      rateHundredths: 1.5,
      amountCents: 0,
      agentCpf: '111',
      workerAccepted: 'yes',
      account: { ...order.account, accountType: 3, branch: undefined, agency: '1' },
      amountCent: 1,
      'cpf 529.982.247-25': 1,
    };
    assert.deepEqual(await refusals('/v1/contracts', wrong), {
      installments: 'write at most 480',
      rateHundredths: 'write a whole number, in hundredths of a percent a month',
      amountCents: 'write at least 1, in whole cents of a real',
      agentCpf: 'send the 11 digits of a CPF, as a text without points',
      workerAccepted: 'write true or false',
      'account.accountType': 'write one of 1, 2',
      'account.branch': 'is missing; write a text',
      amountCent: 'take out what is not known here: amountCent; did you mean amountCents?',
      'cpf ***': 'take out what is not known here: cpf ***',
      'account.agency':
        'take out what is not known here: agency; known are accountType, branch, branchDigit, account, accountDigit, bankNumber',
    });
    const list = await call('GET', '/v1/bids?state=winning&limit=201');
    assert.match(list.text, /write at most 200".*write one of early-ended, requested, claimed,/);
  });

  await context.test('a field is named by its path in the body, a header and a parameter by its name', async () => {
    const fieldsOf = async (method: string, path: string, options: Parameters<typeof call>[2]) => {
      const { body, text } = await call(method, path, options);
      return (body as { errors?: { field: string }[] }).errors?.map(({ field }) => field) ?? text;
    };
    assert.deepEqual(await fieldsOf('POST', '/v1/withdrawals', { body: { cpf: '52998224725' } }), ['Idempotency-Key']);
    assert.deepEqual(await fieldsOf('POST', '/v1/withdrawals', { key: 'f1', body: [] }), ['body']);
    assert.deepEqual(await fieldsOf('GET', '/v1/bids?state=x&limit=0', {}), ['limit', 'state']);
    assert.deepEqual(await fieldsOf('GET', '/v1/bids?stat=x', {}), ['stat']);
    assert.deepEqual(await fieldsOf('GET', '/v1/bids/x', {}), ['requestId']);
    const odd = { signedAt: 'x', content: { ['52998224725 '.repeat(30)]: 1 } };
    const [signed, inner] = (await fieldsOf('POST', '/v1/contracts/c-1/sign', { key: 'f2', body: odd })) as string[];
    assert.equal(signed, 'signedAt');
    assert.ok(inner?.startsWith('content.') && !inner.includes('52998224725') && inner.length < 80, inner);
    const many = { splits: Array.from({ length: 50 }, () => ({ branch: 1, account: 1, fieldId: 1 })) };
    const { text } = await call('POST', '/v1/withdrawals/w-1/splits', { key: 'f3', body: many });
    assert.match(text, /And 149 more, in errors the first 100\./);
    assert.ok(text.length < 20_000, `${text.length}`);
    const keyed = paths['/v1/withdrawals']!.post!.parameters!.find(({ in: where }) => where === 'header');
    assert.equal(keyed?.name, 'Idempotency-Key');
  });

  await context.test(
    'a phase that flows of the kind cannot have is refused, with those that they can have',
    async () => {
      for (const [path, flow] of [
        ['contracts', 'contract'],
        ['renegotiations', 'renegotiation'],
        ['withdrawals', 'withdrawal'],
        ['lookups', 'lookup'],
        ['events', 'event'],
      ] as const) {
        const known: readonly string[] = flowPhases[flow];
        const mistyped = await call('GET', `/v1/${path}?phase=awaiting_signature`);
        assert.equal(mistyped.status, 422, mistyped.text);
        assert.deepEqual((mistyped.body as { errors: object[] }).errors, [
          { field: 'phase', rule: 'invalid_value', detail: `write one of ${known.join(', ')}` },
        ]);
        for (const phase of known) assert.equal((await call('GET', `/v1/${path}?phase=${phase}`)).status, 200, phase);
        const described = paths[`/v1/${path}`]!.get!.parameters!.find(({ name }) => name === 'phase');
        assert.deepEqual(described?.schema.enum, known);
      }
      assert.equal((await call('GET', '/v1/contracts?phase=simulated')).status, 422);
    },
  );

  await context.test('what stands in the place of words that not all may see is explained', () => {
    const { errors, operation } = components.schemas.Flow!.properties!;
    const { reason } = choicesOf(operation!)[0]!.properties!;
    for (const { description = '' } of [errors!, reason!])
      assert.match(description, /`\(sealed\)`.*operator and admin/);
  });

  await context.test('what follows from deny is said where it is asked for', () => {
    for (const kind of ['contracts', 'renegotiations'])
      assert.match(paths[`/v1/${kind}/{flowId}/deny`]!.post!.description ?? '', /sent again at once.*`cancel`/);
    assert.match(paths['/v1/withdrawals/{flowId}/deny']!.post!.description ?? '', /^Nothing is sent by itself/);
  });

  await context.test('a reason of blanks alone is refused wherever one is asked for', async () => {
    const asking = operations.filter(
      ({ operation }) => operation.requestBody?.content['application/json']?.schema?.properties?.reason !== undefined,
    );
    assert.ok(asking.length >= 10, 'steps of all flows, and the reading of a worker');
    for (const { name } of asking) {
      const path = name
        .replace('POST ', '')
        .replace('events/{flowId}', 'events/event:1')
        .replace('{flowId}', 'c-1')
        .replace('{requestId}', '1')
        .replace('{operation}', 'links')
        .replace('{id}', 'ab')
        .replace('{name}', 'mesa')
        .replace('{partition}/{offset}', '0/1');
      for (const reason of ['', ' ', '\t\n', '\u00a0\u2003']) {
        const refused = await refusals(path, { reason });
        assert.match(refused.reason ?? '', /^is blank; say why, in 1 to (?:200|2000) characters$/, path);
      }
    }
  });
});

test('an order without a value is told so with all else that is missing', () => {
  const fields = (body: object) =>
    issueTexts(contractBody.safeParse(body).error!, body, contractBody).map(([field]) => field);
  assert.ok(fields({ installments: 12 }).includes('amountCents'));
  assert.ok(!fields({ installments: 12, installmentCents: 100 }).includes('amountCents'));
});
