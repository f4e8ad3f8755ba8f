/** No input costs more than linear time: each reader is given inputs that double, and its time must not quadruple. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { parseCsv } from '../../src/rules/csv.ts';
import { linesOf } from '../../src/rules/json.ts';
import { parseJson } from '../../src/wire/json.ts';
import { decodeRequestCode } from '../../src/wire/link-queries.ts';
import { factNames, readRequestMapping } from '../../src/wire/mapping-table.ts';
import { readBidAnswer, readOutcomeTable } from '../../src/wire/outcomes.ts';
import { errorsOf } from '../../src/wire/service-errors.ts';
import { readWebhook } from '../../src/wire/webhook.ts';

const file = (name: string) => JSON.parse(readFileSync(new URL(`../../config/${name}`, import.meta.url), 'utf8'));
const mappingRead = readRequestMapping(file('request-mapping.json'));
const outcomesRead = readOutcomeTable(file('outcomes.json'));
assert.ok(mappingRead.kind === 'read' && outcomesRead.kind === 'read');
const { mapping } = mappingRead;
const { table } = outcomesRead;
const vault = createVault('a secret of the test of linear time, long enough');

/** What does the work: made of `size` pieces. */
type Shape = { name: string; of: (size: number) => string; size: number };
type Subject = { name: string; read: (text: string) => unknown };

const webhook: Subject = {
  name: 'webhook',
  read: (text) => {
    // Keys seen before are remembered: each reading begins without them.
    const fresh = { ...mapping, personalKeys: new Map() };
    return readWebhook(text, { mapping: fresh, vault, receivedAt: 1e12, now: 1e12 });
  },
};
const bidAnswer: Subject = { name: 'answer to a bid', read: (text) => readBidAnswer(table, 400, text) };
const queryAnswer: Subject = { name: 'answer to a link query', read: decodeRequestCode };
const operationAnswer: Subject = {
  name: 'answer to an operation',
  read: (text) => {
    const parsed = parseJson(text);
    return parsed.kind === 'parsed' ? errorsOf(parsed.value) : null;
  },
};
const apiBody: Subject = { name: 'body of the API', read: (text) => parseJson(text) };
const csvFile: Subject = { name: 'list in a CSV file', read: parseCsv };
const ruleFile: Subject = {
  name: 'lines of a rule file',
  read: (text) =>
    linesOf(
      text,
      text.split('\n').map((_, index) => `/${index}`),
    ),
};
const answers = [bidAnswer, queryAnswer, operationAnswer];
const jsonReaders = [webhook, ...answers, apiBody];

/** As somebody may write a mapping: wrappers give all facts. */
const givingWebhook: Subject = {
  name: 'webhook with a mapping that gives all facts',
  read: (text) => {
    const fresh = { ...mapping, inherited: new Set(factNames), personalKeys: new Map() };
    return readWebhook(text, { mapping: fresh, vault, receivedAt: 1e12, now: 1e12 });
  },
};

/** Faster than this, growth cannot be told from noise, and nobody is harmed. */
const unharmfulMs = 60;
const times = 3;

function bestMs(read: Subject['read'], text: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < times; turn += 1) {
    const startedAt = performance.now();
    try {
      read(text);
    } catch {
      // What it makes of it is not asked here.
    }
    best = Math.min(best, performance.now() - startedAt);
    if (best < unharmfulMs / 4) break;
  }
  return best;
}

/** Judged again when it looks worse: somebody else may have had the processor. */
const judgements = 4;

function assertLinear(subject: Subject, shape: Shape): void {
  let said = '';
  for (let judgement = 0; judgement < judgements; judgement += 1) {
    const twice = bestMs(subject.read, shape.of(shape.size * 2));
    if (twice < unharmfulMs) return;
    const once = bestMs(subject.read, shape.of(shape.size));
    if (twice < once * 3.2) return;
    said = `${once.toFixed(0)} ms, of twice the size ${twice.toFixed(0)} ms`;
  }
  assert.fail(`${subject.name}, ${shape.name}: ${said}`);
}

const quoted = (text: string) => JSON.stringify(text);
const request = (field: string, value: string) => `{"numeroSolicitacao":1,"CodigoLote":"7",${quoted(field)}:${value}}`;
const marks = (size: number) => quoted('\u0301\u0316'.repeat(size));
const zeros = (size: number) => quoted(`1.${'0'.repeat(size)}1`);

const requests = (size: number) => Array.from({ length: size }, (_, id) => `{"id":${id + 1}}`).join();
const cased = (word: string, index: number) =>
  [...word].map((letter, at) => (((index >> at) & 1) === 1 ? letter.toUpperCase() : letter)).join('');
const containers = (size: number) =>
  Array.from({ length: size }, (_, index) => `"${cased('solicitacoes', index + 2)}":{"a":1}`).join();

const shapes: readonly (Shape & { subjects: readonly Subject[] })[] = [
  { name: 'escaped quotes', subjects: jsonReaders, size: 50_000, of: (size) => `"${'\\"'.repeat(size)}` },
  { name: 'open brackets', subjects: jsonReaders, size: 50_000, of: (size) => '['.repeat(size) },
  { name: 'one long number', subjects: jsonReaders, size: 200_000, of: (size) => `{"a":${'9'.repeat(size)}}` },
  { name: 'a long exponent', subjects: jsonReaders, size: 200_000, of: (size) => `{"a":1e${'9'.repeat(size)}}` },
  {
    name: 'long numbers and blanks',
    subjects: jsonReaders,
    size: 20_000,
    of: (size) => `[${'1234567890123456789   ,'.repeat(size)}1]`,
  },
  ...['valorLiberado', 'taxaJuros', 'dataNascimento', 'cpf', 'elegivel', 'numeroSolicitacao'].flatMap((field) => [
    { name: `zeros in ${field}`, subjects: [webhook], size: 40_000, of: (size: number) => request(field, zeros(size)) },
    { name: `marks in ${field}`, subjects: [webhook], size: 40_000, of: (size: number) => request(field, marks(size)) },
  ]),
  {
    name: 'slashes in the endpoint',
    subjects: [webhook],
    size: 40_000,
    of: (size) => `{"Endpoint":"${'/'.repeat(size)}x"}`,
  },
  {
    name: 'accents in a key',
    subjects: jsonReaders,
    size: 20_000,
    of: (size) => `{"numeroSolicitacao":1,${marks(size)}:1}`,
  },
  {
    name: 'accents in a message',
    subjects: answers,
    size: 20_000,
    of: (size) => `{"HasError":true,"Messages":[{"Description":${marks(size)}}],"Msg":${marks(size)}}`,
  },
  {
    name: 'a long key above a long list',
    subjects: jsonReaders,
    size: 10_000,
    of: (size) => `{"numeroSolicitacao":1,"${'k'.repeat(size * 10)}":[${'"@",'.repeat(size)}1]}`,
  },
  {
    name: 'keys that differ in case only',
    subjects: jsonReaders,
    size: 1_000,
    of: (size) => {
      const keys = Array.from({ length: size }, (_, index) => `"${cased('abcdefghijkl', index)}":"${'x'.repeat(200)}"`);
      return `{"numeroSolicitacao":1,${keys.join(',')}}`;
    },
  },
  {
    name: 'one key again and again',
    subjects: jsonReaders,
    size: 50_000,
    of: (size) => `{"numeroSolicitacao":1,${'"a":1,'.repeat(size)}"b":2}`,
  },
  ...['CodigoLote', 'DataHoraFimLeilao', 'observacao'].flatMap((field) =>
    [' ', 'x', '0'].map((piece) => ({
      name: `a long ${field} of ${quoted(piece)} above many requests`,
      subjects: [webhook],
      size: 1_500,
      of: (size: number) => `{"${field}":"${piece.repeat(300 * size)}x","Solicitacoes":[${requests(size)}]}`,
    })),
  ),
  {
    name: 'many containers above many requests',
    subjects: [webhook],
    size: 2_000,
    of: (size) => `{${containers(size)},"Solicitacoes":[${requests(size)}]}`,
  },
  {
    name: 'many keys above many requests, where facts of a wrapper are looked for by their paths',
    subjects: [givingWebhook],
    size: 1_000,
    of: (size) =>
      `{"garantia":{${Array.from({ length: size * 4 }, (_, index) => `"k${index}":1`)}},"Solicitacoes":[${requests(size)}]}`,
  },
  {
    name: 'a long list of alerts above many requests, given to all',
    subjects: [givingWebhook],
    size: 1_000,
    of: (size) => `{"alertas":[${'"  A  ",'.repeat(size * 4)}{}],"Solicitacoes":[${requests(size)}]}`,
  },
  { name: 'a CSV cell of quotes', subjects: [csvFile], size: 100_000, of: (size) => `a;b\nx${'"'.repeat(size)}` },
  { name: 'many lines', subjects: [ruleFile], size: 4_000, of: (size) => `[${'"x",\n'.repeat(size)}1]` },
];

suite('linear time', () => {
  for (const { subjects, ...shape } of shapes) {
    for (const subject of subjects) {
      test(`${subject.name}: ${shape.name} (defect line 6)`, () => assertLinear(subject, shape));
    }
  }

  // Anything repeated, anywhere: in a text, in a key, as a value of its own, or as it is.
  const fragment = fc
    .array(fc.constantFrom(...'"\\{}[],:019eE.-+/ \n\tàáx@', '\u0301', '\u0316', '\\u', '""', '"a":'), {
      minLength: 1,
      maxLength: 3,
    })
    .map((parts) => parts.join(''));
  const places: Readonly<Record<string, (repeated: string) => string>> = {
    bare: (repeated) => repeated,
    'a list': (repeated) => `{"Payload":{"Solicitacoes":[${repeated}1]}}`,
    'a text': (repeated) => request('valorLiberado', quoted(`1${repeated}2`)),
    'a key': (repeated) => `{"numeroSolicitacao":1,${quoted(repeated)}:1}`,
    'a message': (repeated) => `{"Endpoint":${quoted(repeated)},"Messages":[{"Description":${quoted(repeated)}}]}`,
  };
  for (const subject of [...jsonReaders, csvFile]) {
    test(`${subject.name}: any fragment, repeated (defect line 6)`, () => {
      const place = fc.constantFrom(...Object.keys(places));
      fc.assert(
        fc.property(fragment, place, (piece, where) => {
          const of = (size: number) => places[where]!(piece.repeat(size));
          assertLinear(subject, { name: `${quoted(piece)} in ${where}`, size: 10_000, of });
        }),
        { numRuns: 60 },
      );
    });
  }

  test('an endpoint that every object knows is no event (defect line 6)', () => {
    for (const name of ['constructor', '__proto__', 'constructor/']) {
      const { kind } = readWebhook(JSON.stringify({ Endpoint: name }), { mapping, vault, receivedAt: 1, now: 1 });
      assert.equal(kind, 'dead-letter');
    }
  });
});
