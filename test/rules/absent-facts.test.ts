/** A rule on a fact that no request can bring is refused, with what to write instead (issue 20 line 3). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { whyAbsentIn } from '../../src/absent-facts.ts';
import { compileRuleSet, openRuleSet } from '../../src/rules/rule-set.ts';
import { unseenFacts } from '../../src/rules/unseen-facts.ts';
import { readRequestMapping } from '../../src/wire/mapping-table.ts';
import { codesFile, compiledFiles, ruleOf } from './sample-request.ts';

const shipped = JSON.parse(
  readFileSync(new URL('../../config/request-mapping.json', import.meta.url), 'utf8'),
) as object;

function whyAbsent(more: object = {}) {
  const read = readRequestMapping({ ...shipped, ...more });
  assert.ok(read.kind === 'read');
  return whyAbsentIn(read.mapping);
}

const scored = { scores: { bureau: ['pontuacaoBureau'] } };

test('what a mapping can never bring is told from what it may', () => {
  const why = whyAbsent(scored);
  for (const fact of ['extra.valorDescontado', 'extra.canal.tipo', 'score.bureau', 'worker.ageYears', 'list.blocked'])
    assert.equal(why(fact), null, fact);
  assert.match(why('extra.numeroConta')!, /^"numeroConta" is the name of personal data/);
  assert.match(why('extra.pessoa.cpfTrabalhador')!, /^"cpfTrabalhador" is the name of personal data/);
  assert.match(why('extra.PontuacaoBureau')!, /reads that key as "score\.bureau"; write that/);
  assert.match(why('extra.valorLiberado')!, /reads that key as a fact of the catalogue/);
  assert.match(why('score.bureua')!, /its scores are bureau.*Did you mean "score\.bureau"\?/);
  assert.match(whyAbsent()('score.bureau')!, /it maps no score; add it under "scores"/);
});

const passOn = (fact: string) =>
  ruleOf({
    name: 'Asks',
    conditions: { all: [{ fact, operator: 'greaterThan', value: 600 }] },
    event: { type: 'pass', params: { code: 'too-young', reason: 'Asked.' } },
  });

function filesWith(...rules: object[]) {
  return [codesFile, { path: 'asks.json', text: JSON.stringify({ rules }) }];
}

test('such a rule is refused where it stands, whatever of it asks; a stored set decides as it did', () => {
  const cap = ruleOf({
    name: 'Keyed',
    conditions: { all: [{ fact: 'request.installments', operator: 'greaterThan', value: 1 }] },
    event: { type: 'cap', params: { name: 'keyed', keyFacts: ['extra.conta'], window: 'day', maxCount: 2 } },
  });
  const files = filesWith(passOn('score.bureua'), cap);
  const refused = compileRuleSet(files, whyAbsent(scored));
  assert.ok(refused.kind === 'refused');
  const told = refused.faults.map(({ file, pointer, text }) => `${file}${pointer} ${text}`);
  assert.equal(told.length, 2, told.join('\n'));
  assert.match(
    told[0]!,
    /^asks\.json\/rules\/0 "Asks" asks for "score\.bureua", which can never come: .*score\.bureau/,
  );
  assert.match(told[1]!, /^asks\.json\/rules\/1 "Keyed" asks for "extra\.conta"/);
  const unknown = compileRuleSet(files);
  assert.ok(unknown.kind === 'compiled', JSON.stringify(unknown));
  assert.equal(openRuleSet(unknown.ruleSet.source).kind, 'compiled');
  assert.equal(compileRuleSet(filesWith(passOn('score.bureau')), whyAbsent(scored)).kind, 'compiled');
});

test('facts of extra that none of the latest requests brought are a warning, with the nearest that came', () => {
  const leaf = (fact: string) => ({ fact, operator: 'lessThan', value: 5 });
  const computed = {
    instalments: { description: 'd', value: { sum: { fact: 'extra.loans.*.instalment', unit: 'R$ a month' } } },
    rent: { description: 'd', value: { sub: [{ fact: 'extra.rent', unit: 'R$ a month' }, 1] } },
  };
  const names = ['extra.salario', 'extra.a.b', 'computed.instalments', 'computed.rent', 'worker.ageYears'];
  const rules = names.map((name) => ruleOf({ name: `on ${name}`, conditions: { all: [leaf(name)] } }));
  const set = compiledFiles([
    codesFile,
    { path: 'facts.json', text: JSON.stringify({ facts: computed }) },
    { path: 'rules.json', text: JSON.stringify({ rules }) },
  ]);
  const brought = ['salarios', 'a.b', 'loans.length', 'loans.0.instalment'];
  const found = (count: number, ...keys: string[]) =>
    unseenFacts(
      set,
      Array.from({ length: count }, (_, index) => (index === 0 ? keys : [])),
    );
  assert.deepEqual(found(19, ...brought), [], 'too few to say anything');
  const told = found(20, ...brought);
  assert.deepEqual(
    told.map(({ text }) => text.replace(/ asks for ("[^"]+").*?(?: (Did.*))?$/, ' $1 $2').trim()),
    ['"on computed.rent" "extra.rent"', '"on extra.salario" "extra.salario" Did you mean "extra.salarios"?'],
  );
  assert.deepEqual(new Set(told.map(({ file }) => file)), new Set(['rules.json']));
  assert.deepEqual(found(20, ...brought, 'salario', 'rent'), []);
});
