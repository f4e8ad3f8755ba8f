/** The JSON Schema of the configuration file, beside a validator that is not ours and beside the reader. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { settingsSchema } from '../../src/config/json-schema.ts';
import { readConfig } from '../../src/config.ts';

const shipped = (name: string) => readFileSync(new URL(`../../config/${name}`, import.meta.url), 'utf8');
const schemaText = shipped('settings.schema.json');
const ajv = new Ajv({ allErrors: true, strict: true, allowUnionTypes: true });
const validate = ajv.compile(JSON.parse(schemaText));

type Json = Record<string, unknown>;
const defaults = JSON.parse(shipped('default.json')) as Json;

/** What has no default, so that every setting is somewhere. */
const others: Json = {
  dataDir: '/data',
  rulesDir: '/rules',
  pseudonymKey: 'k'.repeat(40),
  kafka: {
    brokers: ['one:9092'],
    registryUrl: 'http://registry:8081',
    registryAuth: { username: 'lance', password: 'p' },
    sasl: { mechanism: 'plain', username: 'lance', password: 'p' },
  },
  redis: { url: 'redis://redis:6379' },
  audit: { anchorFile: '/anchor', key: 'a'.repeat(40) },
  http: {
    ...{ webhookHost: 'a', webhookPort: 1, apiHost: 'b', apiPort: 2, metricsHost: 'c', metricsPort: 3 },
    webhookTokens: ['token-of-the-schema'],
  },
  service: {
    ...{ baseUrl: 'http://service', fgtsUrl: 'http://fgts', proposalUrl: 'http://proposal' },
    ...{ accessToken: 'token', tokenCommand: 'print token' },
  },
  contacts: { url: 'https://lender.example', whatsapp: null, telephone: '1133334444', email: 'a@lender.example' },
  pricing: { fundingCurve: [{ months: 12, spreadPercent: 0.5 }] },
  flows: { situations: [{ code: 1, state: 'approved' }] },
  api: { tokens: [{ name: 'ana', role: 'admin', sha256: '0'.repeat(64) }] },
};

function merged(under: Json, over: Json): Json {
  const isSection = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = Object.entries(over).map(([key, value]) => [
    key,
    isSection(value) && isSection(under[key]) ? merged(under[key] as Json, value as Json) : value,
  ]);
  return { ...under, ...Object.fromEntries(entries) };
}

const everything = merged(defaults, others);

function faultsOf(file: unknown): readonly string[] {
  const result = readConfig({ LANCE_CONFIG: 'file.json' }, (path) =>
    path === 'file.json' ? JSON.stringify(file) : readFileSync(path, 'utf8'),
  );
  return result.kind === 'refused' ? result.faults : [];
}

/** Each place in a value, as the way to it. */
function placesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, within]) => placesOf(within, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

function replaced(value: unknown, [part, ...rest]: readonly string[], by: unknown): unknown {
  if (part === undefined) return by;
  const copy = Array.isArray(value) ? [...value] : { ...(value as Json) };
  (copy as Json)[part] = replaced((value as Json)[part], rest, by);
  return copy;
}

test('the schema that is shipped is the one of the sources', () => {
  assert.equal(schemaText, settingsSchema(defaults), 'write it anew with: npm run build');
});

test('an independent validator accepts every configuration file that is shipped, and so does the reader', () => {
  for (const name of ['default.json', 'lance.example.json']) {
    const file = JSON.parse(shipped(name)) as Json;
    assert.equal(file.$schema, './settings.schema.json');
    assert.ok(validate(file), `${name}: ${ajv.errorsText(validate.errors)}`);
    const { $schema, ...settings } = file;
    assert.deepEqual(faultsOf(merged(merged(everything, settings), { $schema })), []);
  }
  assert.ok(validate(everything), ajv.errorsText(validate.errors));
  assert.deepEqual(faultsOf(everything), []);
});

test('it refuses what a hand most often gets wrong, at the place', () => {
  const cases: [file: Json, place: string][] = [
    [{ biding: {} }, ''],
    [{ bidding: { windowsMs: 60_000 } }, '/bidding'],
    [{ bidding: { windowMs: 30 } }, '/bidding/windowMs'],
    [{ bidding: { windowMs: '30000' } }, '/bidding/windowMs'],
    [{ bidding: { askCached: 'yes' } }, '/bidding/askCached'],
    [{ economics: { separationMonthly: 3.5 } }, '/economics/separationMonthly'],
    [{ economics: { contractCostCents: 15.25 } }, '/economics/contractCostCents'],
    [{ pricing: { dayCount: 'actual360' } }, '/pricing/dayCount'],
    [{ pricing: { fundingCurve: [{ months: 12 }] } }, '/pricing/fundingCurve/0'],
    [{ kafka: { sasl: { mechanism: 'plain' } } }, '/kafka/sasl'],
    [{ api: { tokens: [{ name: 'ana', role: 'admin', sha256: 'the token itself' }] } }, '/api/tokens/0/sha256'],
  ];
  for (const [file, place] of cases) {
    assert.ok(!validate(file), JSON.stringify(file));
    assert.ok(
      validate.errors?.some(({ instancePath }) => instancePath === place),
      JSON.stringify(validate.errors),
    );
  }
});

test('whatever the reader accepts, the schema accepts', () => {
  const values = [null, 0, 1, -1, 2.5, 1e12, true, 'x', 'https://a.example', [], ['x'], {}];
  const { $schema: _, ...settings } = everything;
  const places = placesOf(settings);
  assert.ok(places.length > 150, String(places.length));
  let accepted = 0;
  for (const place of places) {
    for (const value of values) {
      const file = replaced(settings, place, value);
      if (faultsOf(file).length > 0) continue;
      accepted += 1;
      assert.ok(validate(file), `${place.join('.')} = ${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`);
    }
  }
  assert.ok(accepted > 200, String(accepted));
});

test('every setting that can be named is in the schema with its default', () => {
  type Node = { properties?: Record<string, Node>; default?: unknown };
  const missing: string[] = [];
  const look = (node: Node, value: Json, path: string): void => {
    for (const [key, usual] of Object.entries(value)) {
      const known = node.properties?.[key];
      if (known?.properties !== undefined) look(known, usual as Json, `${path}${key}.`);
      // Named entries, of which there are none unless somebody names them.
      else if ('additionalProperties' in (known ?? {}) && JSON.stringify(usual) === '{}') continue;
      else if (JSON.stringify(known?.default) !== JSON.stringify(usual)) missing.push(`${path}${key}`);
    }
  };
  const { $schema: _, ...settings } = defaults;
  look(JSON.parse(schemaText), settings, '');
  assert.deepEqual(missing, []);
});
