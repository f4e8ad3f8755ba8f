/** `lance mapping try`, and a mapping of the user's own: used by the desk, and refused at its start where it is wrong. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lance, openStage } from './desk.ts';

const shipped = readFileSync(new URL('../../config/request-mapping.json', import.meta.url), 'utf8');

function folder(context: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'lance-mapping-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return (name: string, content: string) => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
}

const sample = JSON.stringify({
  propostas: [{ pedidoNovo: 70, valorLiberado: '7000.00', nomeTrabalhador: 'Fulana Plantada', cpf: '52998224725' }],
});
const own = shipped.replace('"requestId": [', '"requestId": ["pedidoNovo", ');

test('a sample is tried with the mapping shipped and with one of the user', async (context) => {
  const file = folder(context);
  const path = file('amostra.json', sample);
  const english = { LANCE_LANG: 'en' };
  const without = await lance(english, 'mapping', 'try', path);
  assert.equal(without.code, 1);
  assert.match(without.stdout, /Understood +no/);
  assert.match(without.stdout, /has no request id/);
  assert.match(without.stdout, /Left unread:\n.*\n.*\npedidoNovo +a number +extra\.pedidoNovo/);
  const mine = file('mapping.json', own);
  const named = await lance(english, 'mapping', 'try', path, '--mapping', mine);
  assert.deepEqual([named.code, named.stderr], [0, '']);
  assert.match(named.stdout, /Element at \/propostas\/0/);
  assert.match(named.stdout, /requestId +pedidoNovo +the element +a number +read/);
  const set = await lance({ ...english, LANCE_MAPPING: mine }, 'mapping', 'try', path, '--json');
  const trial = JSON.parse(set.stdout) as {
    understood: boolean;
    event: string;
    elements: { facts: { fact: string }[] }[];
  };
  assert.deepEqual([trial.understood, trial.event], [true, 'requests']);
  assert.deepEqual(
    trial.elements[0]!.facts.map(({ fact }) => fact),
    ['requestId', 'requestedAmount', 'cpf', 'name'],
  );
  for (const { stdout, stderr } of [without, named, set])
    assert.doesNotMatch(stdout + stderr, /Fulana|52998224725|7000\.00/);
  const broken = await lance(english, 'mapping', 'try', file('x.json', '{"cpf": "52998224725'));
  assert.equal(broken.code, 78);
  assert.match(broken.stderr, /x\.json is no file with JSON in it\. Line 1, column 9/);
  assert.doesNotMatch(broken.stderr, /5299/);
});

test('a sample with a fact that cannot be read is not understood', async (context) => {
  const file = folder(context);
  const path = file(
    'sample.json',
    '{"solicitacoes":[{"numeroSolicitacao":"374","cpf":"52998224725","valorLiberado":"muito"}]}',
  );
  const tried = await lance({ LANCE_LANG: 'en' }, 'mapping', 'try', path, '--json');
  const trial = JSON.parse(tried.stdout) as {
    understood: boolean;
    elements: { facts: { problem: string | null }[] }[];
  };
  const unread = trial.elements.some(({ facts }) => facts.some(({ problem }) => problem !== null));
  assert.deepEqual([unread, tried.code, trial.understood], [true, 1, false], tried.stdout);
});

test('a mapping that is wrong is refused at the start, with file, line, place and nearest word', async (context) => {
  const file = folder(context);
  const played = await openStage(3);
  context.after(() => played.close());
  const wrong = file(
    'mapping.json',
    own.replace('"requestedAmount"', '"requestedAmout"').replace('"closesAt", ', '"closeAt", '),
  );
  const line = (word: string) => own.split('\n').findIndex((text) => text.includes(word)) + 1;
  const start = (path: string) => lance({ ...played.environment, LANCE_MAPPING: path }, 'run');
  const refused = await start(wrong);
  assert.equal(refused.code, 78);
  const at = (pointer: string, place: number) => `${wrong}:${place} ${pointer}: `;
  assert.ok(
    refused.stderr.includes(
      `${at('/facts/requestedAmout', line('"requestedAmount"'))}"requestedAmout" is not known here; did you mean "requestedAmount"?`,
    ),
    refused.stderr,
  );
  assert.ok(
    refused.stderr.includes(
      `${at('/inherited/1', line('"inherited"'))}"closeAt" is not known here; did you mean "closesAt"?`,
    ),
    refused.stderr,
  );
  assert.ok(
    refused.stderr.includes(`${at('/facts/requestedAmount', line('"facts"'))}is missing; write a list`),
    refused.stderr,
  );
  const twice = await start(file('twice.json', own.replace('"ownOnly"', '"inherited"')));
  assert.deepEqual(
    [twice.code, /twice\.json:\d+ \/inherited: .*written twice/.test(twice.stderr)],
    [78, true],
    twice.stderr,
  );
  const absent = await start('/nowhere/mapping.json');
  assert.equal(absent.code, 78);
  assert.match(
    absent.stderr,
    /the mapping \/nowhere\/mapping\.json cannot be read \(ENOENT\): name a JSON file in LANCE_MAPPING/,
  );
  const doctor = await lance({ ...played.environment, LANCE_MAPPING: wrong }, 'doctor', '--json');
  assert.ok(doctor.stdout.includes('did you mean \\"requestedAmount\\"?'), doctor.stdout);
});
