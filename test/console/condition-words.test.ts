/** Conditions of rules in the words of a page: every fact has a name, and what the shipped rules ask is said without their notation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readRuleFiles } from '../../src/adapters/system/rule-files.ts';
import { conditionWords, factWords, writtenConditionWords } from '../../src/console/condition-words.ts';
import { wordsIn } from '../../src/console/pages.ts';
import { catalogue } from '../../src/rules/facts.ts';
import type { Json } from '../../src/rules/json.ts';
import { operators } from '../../src/rules/operators.ts';

const [pt, en] = [wordsIn('pt'), wordsIn('en')];
const textOf = (shown: typeof pt, condition: Json) =>
  conditionWords(shown, condition)
    .text.replaceAll(/<\/(?:li|span)>/g, ' | ')
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/\s+/g, ' ');

test('every fact of the catalogue, every value that only some may be, and every operator has its words', () => {
  for (const shown of [pt, en]) {
    const { facts, factValues, conditions } = shown.texts;
    // Of the calendar of a set, and so in no catalogue.
    const named = Object.keys(facts).filter((name) => name !== 'desk.holiday');
    assert.deepEqual(named.sort(), catalogue.map(({ name }) => name).sort());
    const values = new Set(catalogue.flatMap((fact) => fact.values ?? []));
    assert.deepEqual(Object.keys(factValues).sort(), [...values].sort());
    assert.deepEqual(Object.keys(conditions.operators).sort(), [...operators].sort());
  }
});

test('the conditions of the shipped rules are said without names of facts, operators or JSON', () => {
  const files = readRuleFiles(fileURLToPath(new URL('../../rules/', import.meta.url)));
  const rules = files
    .filter(({ path }) => !/\.test\.json$/.test(path))
    .flatMap(({ text }) => (JSON.parse(text) as { rules?: { conditions: Json }[] }).rules ?? []);
  assert.ok(rules.length > 30, String(rules.length));
  for (const { conditions } of rules) {
    for (const shown of [pt, en]) {
      const text = conditionWords(shown, conditions).text.replaceAll('eSocial', '');
      assert.doesNotMatch(text, /<code>|[a-z]\.[a-z]|[a-z][A-Z]|[{}[\]]/, text);
    }
    assert.doesNotMatch(textOf(pt, conditions), /\b(?:is|not|the|of|true|false)\b/);
  }
});

test('groups, comparisons and values are said as people read them', () => {
  const condition: Json = {
    all: [
      { fact: 'request.amountReais', operator: 'lessThan', value: 1500.5 },
      { any: [{ fact: 'worker.ageYears', operator: 'greaterThanInclusive', value: 21 }, { condition: 'small firm' }] },
      { not: { all: [{ fact: 'guarantee.present', operator: 'notEqual', value: true }] } },
      {
        atLeast: 2,
        of: [
          { fact: 'list.partners', operator: 'equal', value: false },
          { fact: 'score.bureau', operator: '>=', value: 640 },
        ],
      },
      { fact: 'employer.sector', operator: 'notIn', value: ['public', 'domestic'] },
      { fact: 'offer.marginShare', operator: 'greaterThan', value: { fact: 'desk.winRate' } },
      { fact: 'worker.occupationCode', operator: 'in', value: [521110, 521115] },
      { fact: 'values.cities.region', operator: 'startsWith', value: 'SP' },
      { fact: 'desk.always', operator: 'equal', value: true },
      { fact: 'alerts.codes', operator: 'everyFact:in', value: ['7'] },
    ],
  };
  assert.equal(
    textOf(pt, condition),
    [
      ...['todas estas: ', 'valor solicitado é menor que R$ 1.500,50 ', 'ao menos uma destas: '],
      ...['idade do trabalhador, em anos é no mínimo 21 ', 'condição com nome small firm ', ''],
      ...['não vale isto: ', 'há garantia: não ', ''],
      ...['ao menos 2 destas: ', 'está na lista partners: não ', 'pontuação bureau é no mínimo 640 ', ''],
      'setor do empregador não é nenhum destes: setor público, doméstico ',
      'parte da margem disponível que a parcela usa é maior que parte dos leilões que a mesa ganha ',
      ...['ocupação (código CBO) é um destes: 521110, 521115 ', 'region da tabela cities começa com “SP” '],
      ...[
        'em toda solicitação ',
        '{&quot;fact&quot;:&quot;alerts.codes&quot;,&quot;operator&quot;:&quot;everyFact:in&quot;,&quot;value&quot;:[&quot;7&quot;]} ',
        '',
      ],
    ]
      .join('| ')
      .trimEnd()
      .replace(/$/, ' '),
  );
  assert.match(textOf(en, condition), /^all of these: \| requested amount is less than R\$ 1,500\.50 \|/);
});

test('what the report of the tests writes of a condition is said in the same words', () => {
  for (const [written, said] of [
    ['worker.ageYears lessThan 21', 'idade do trabalhador, em anos é menor que 21'],
    ['offer.amountReais lessThan request.amountReais', 'valor da oferta é menor que valor solicitado'],
    ['values.cities.region is known', 'region da tabela cities: conhecido'],
    ['any row, in a test that is not generated', 'alguma linha, em um teste que não é gerado'],
    ['worker.key in ["aaaaaaaaaaaa…', 'worker.key in [&quot;aaaaaaaaaaaa…'],
  ] as const) {
    const { text } = writtenConditionWords(pt, written);
    assert.equal(text.replaceAll(/<[^>]+>/g, ''), said);
  }
  assert.equal(factWords(pt, 'toString.call'), 'toString.call');
});
