/** What is wrong with rule files is said in Portuguese where the texts are: every sentence of the sources has one. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createFormat } from '../../src/cli/format.ts';
import { ruleFaultHints, ruleFaultPt, ruleFaultSentences, ruleFaultWords } from '../../src/cli/rule-fault-texts-pt.ts';
import { reasonTexts } from '../../src/cli/rules-files.ts';
import { refusalLine } from '../../src/cli/status-text.ts';
import { listFromCells, parseCsv, tableFromCells } from '../../src/rules/csv.ts';
import { catalogue } from '../../src/rules/facts.ts';
import { listValueProblem } from '../../src/rules/lists.ts';
import { type RuleVerdict, reasonsAgainst } from '../../src/rules/verdict.ts';

const absentFacts = new URL('../../src/absent-facts.ts', import.meta.url);
const rules = new URL('../../src/rules/', import.meta.url);

/** Texts of a source, outermost first or not; what a template names is written as `X`. */
function textsIn(source: string): string[] {
  const found: string[] = [];
  const afterSign = /(?:[(,=:[!&|?{};>]|return)\s*$/;
  /** The place behind the bracket that ends this part of a template, or behind everything. */
  function read(from: number, isInner: boolean): number {
    let depth = 0;
    let at = from;
    while (at < source.length) {
      const sign = source[at]!;
      if (source.startsWith('//', at)) at = source.indexOf('\n', at);
      else if (source.startsWith('/*', at)) at = source.indexOf('*/', at) + 2;
      else if (sign === "'" || sign === '"') at = readQuoted(at, sign);
      else if (sign === '`') at = readTemplate(at + 1);
      else if (sign === '/' && afterSign.test(source.slice(Math.max(0, at - 200), at))) at = skipPattern(at + 1);
      else if (sign === '}' && isInner && depth === 0) return at + 1;
      else {
        if (sign === '{') depth += 1;
        if (sign === '}') depth -= 1;
        at += 1;
      }
    }
    return at;
  }
  function readQuoted(from: number, quote: string): number {
    let text = '';
    let at = from + 1;
    for (; source[at] !== quote; at += 1) {
      if (source[at] === '\\') at += 1;
      text += source[at];
    }
    found.push(text);
    return at + 1;
  }
  function readTemplate(from: number): number {
    let text = '';
    let at = from;
    while (source[at] !== '`') {
      if (source.startsWith('${', at)) {
        at = read(at + 2, true);
        text += 'X';
        continue;
      }
      if (source[at] === '\\') at += 1;
      text += source[at];
      at += 1;
    }
    found.push(text);
    return at + 1;
  }
  function skipPattern(from: number): number {
    let isClass = false;
    let at = from;
    for (; source[at] !== '/' || isClass; at += 1) {
      if (source[at] === '\\') at += 1;
      else if (source[at] === '[') isClass = true;
      else if (source[at] === ']') isClass = false;
    }
    return at + 1;
  }
  read(0, false);
  return found;
}

/** Files that say no faults of rule files: facts and units, the decision itself, and what `reasonsAgainst` and reports say. */
const withoutFaults = [
  ...['schema.ts', 'facts.ts', 'units.ts', 'evaluate.ts', 'verdict.ts', 'rule-tests.ts', 'keys.ts', 'compile.ts'],
  // Why a request was passed.
  'worse-word.ts',
  // Said by `jsonFaultPt`.
  'json.ts',
];

function textsOfFaults(): string[] {
  const files = readdirSync(rules).filter((file) => file.endsWith('.ts') && !withoutFaults.includes(file));
  return files.flatMap((file) => textsIn(readFileSync(new URL(file, rules), 'utf8')));
}

/** Sentences that are put together of parts, each with what comes of it. */
const composed: Readonly<Record<string, readonly string[]>> = {
  'X is X; write X.': [
    'priority is "x"; write a number (higher wins).',
    'The inputs is "7"; write the number 7, without quotes.',
  ],
  'X lacks X; add X.': ['A rule lacks "name"; add it.', 'A rule lacks "name", "event"; add them.'],
  'X is compared with X; write X.': [
    '"employer.cnae" is compared with "a"; write 1 to 7 digits.',
    '"employer.cnae" is compared with "a"; write 7 digits, or use "startsWith".',
  ],
  'X Did you mean "X"?': ['There is no operator "equals". Did you mean "equal"?'],
  '"X" is X; write a list of X parts.': [
    '"sub" is 1; write a list of 2 to 9 parts.',
    '"sub" is 1; write a list of 2 parts.',
  ],
  'There is no operator X.': ['There is no operator "x". Write one of: equal, in.'],
  'There is no decorator X of operators.': ['There is no decorator "x" of operators. Write one of: not, swap.'],
  'use XX.': [
    '"greaterThan" does not compare "x"; use equal, notEqual.',
    '"in" does not compare 1; use in, notIn, or "someFact:" and "everyFact:" before others.',
  ],
  'X; name a fact of the same unit.': ['"a" is in R$ a month, "b" in % a month; name a fact of the same unit.'],
  'X, which nobody can test; name groups of them in conditions.json and count those.': [
    '9 of 30 can be chosen in more than 1000 ways, which nobody can test; name groups of them in conditions.json and count those.',
  ],
  'X and may hold at once; give one of them another priority.': [
    '"a" and "b" both decide economics fundingAnnualPercent with priority 1 and may hold at once; give one of them another priority.',
  ],
  '"X" can never be like thisX; write another value.': [
    '"a" can never be like this; write another value.',
    '"a" can never be like this (it lies within 1 … 2); write another value.',
  ],
  'X is X, outside X … X (X).X': [
    'share is 7, outside 0 … 1 (share, 0.6 is 60 %). Did you mean 0.07?',
    'share is 7, outside 0 … 1 (share, 0.6 is 60 %).',
  ],
  'X is X; write X (X).X': [
    'maxAmountReais is 5.125; write at most 2 decimals (R$). Did you mean 5125?',
    'maxAmountReais is 5.125; write at most 2 decimals (R$).',
    'share is 0.123456; write at most 4 decimals (share of the workers, 0.1 is 10 %).',
    'hours is 1.5; write a whole number (hours).',
  ],
  '"X" asks for "X", which can never come: X': [
    '"a" asks for "score.b", which can never come: the mapping knows no score of this name, its scores are bureau; add it under "scores" (LANCE_MAPPING). Did you mean "score.bureau"?',
    '"a" asks for "extra.b", which can never come: the mapping reads that key as a fact of the catalogue; write that fact: rules/schema/facts.md lists them.',
  ],
  '"X": X': ['"x": This text is empty; what is not known is null, or an empty cell.'],
  'X; close it.': ['a quote is opened here and never closed; close it.'],
  'Column X: ': ['Column 3: This text is empty; what is not known is null, or an empty cell.'],
  'X.': [
    '"1.234" can be read in two ways; write 1.234 or 1234, without signs for thousands.',
    '"1.250.000,00" cannot be read; write 1250000,00 without signs for thousands.',
    'Column 2: "1.250.000,00" cannot be read; write 1250000,00 without signs for thousands.',
  ],
};

/** What stands in places other than a fault's. */
const others = [
  // What faults elsewhere say of what a refused file makes.
  ...['There is no fact "X".', ' is not declared in X.json.', 'The code "X" is not declared in codes.json.'],
  'There is no event "X".',
  // With its one or two ways to write it, below.
  '"X" can be read in two ways; write X, without signs for thousands',
  '"X" cannot be read; write X without signs for thousands',
  // Ends of other sentences.
  ...Object.keys(ruleFaultWords),
  ...Object.keys(ruleFaultHints).map((hint) => hint.replaceAll(/\{\w+\}/g, 'X')),
];

test('every fault of rule files has its sentence in Portuguese', () => {
  const texts = [...new Set(textsOfFaults())];
  const sentences = texts.filter((text) => /\S \S/.test(text) && (/[.?]$/.test(text) || text.includes('; ')));
  assert.ok(sentences.length > 170, `${sentences.length}`);
  const known = (text: string) =>
    text in composed || others.includes(text) || others.includes(text.trim()) || ruleFaultPt(text) !== text;
  assert.deepEqual(
    sentences.filter((text) => !known(text)),
    [],
  );
  for (const [text, samples] of Object.entries(composed)) {
    assert.ok(texts.includes(text), `${text} is in no source any more`);
    for (const sample of samples) {
      const said = ruleFaultPt(sample).replaceAll(/"[^"]*"/g, '');
      assert.doesNotMatch(said, /\b(?:is|are|write|add|the|of|with|name|there|mean|without)\b/i, sample);
    }
  }
});

test('a unit is said in Portuguese, but for where it is what has to be written', () => {
  const units = [...new Set(catalogue.map(({ unit }) => unit ?? 'number'))];
  const said = units.map((unit) => ruleFaultPt(`x.y is null; write a number (${unit}).`));
  for (const text of said)
    assert.doesNotMatch(text, /\b(?:a|of|our|the|number|code|months|years|points|bids|share|loans)\b/, text);
  assert.equal(
    ruleFaultPt('"margin.availableReais" is in R$ a month, maxAmountReais in R$; name a fact of that unit.'),
    '"margin.availableReais" está em R$ a month, maxAmountReais em R$; indique um fato dessa unidade.',
  );
});

test('what lance rules import finds in a CSV file is said in Portuguese', () => {
  const table = 'when segment;set spread;x\n1;20.000;2\n1.500.000;2;3;4\n';
  const unread = (cell: string) => ({ kind: 'wrong', text: listValueProblem('employer.key', cell)! }) as const;
  const bad = [
    ...tableFromCells(parseCsv(table)).bad,
    ...tableFromCells(parseCsv('')).bad,
    ...tableFromCells(parseCsv('when a;set b\n"1;2\n')).bad,
    ...listFromCells(parseCsv(''), unread).bad,
    ...listFromCells(parseCsv('a-1\n2\n'), unread).bad,
    ...listFromCells(parseCsv('1\n1\n'), (value) => ({ kind: 'value', value })).bad,
  ];
  assert.ok(bad.length >= 9, JSON.stringify(bad));
  for (const { text } of bad) {
    const said = ruleFaultPt(text);
    assert.notEqual(said, text);
    assert.doesNotMatch(
      said.replaceAll(/"[^"]*"/g, ''),
      /\b(?:is|are|write|or|the|of|with|name|names|column|cells|same|line|file|here|without)\b/i,
      text,
    );
  }
});

test('what a queue may be called is said in Portuguese, with the word that was meant', () => {
  const said = ruleFaultPt(
    'The queue is "alçada"; write a to z without accents, digits and hyphens, a letter first, at most 40 characters, like "large-amounts". Did you mean "alcada"?',
  );
  assert.match(said, /^A fila é "alçada"; escreva letras de a a z sem acento, .* no máximo 40 .*\. Seria "alcada"\?$/);
});

test('why a set is no good is said in Portuguese', () => {
  const uncovered = [
    { rule: 'a', condition: 'b', missing: ['true'] },
    { rule: 'c', condition: null, missing: [] },
    { rule: 'd', condition: 'computed.decimoDoDia is known', missing: ['true'] },
    { rule: 'e', condition: 'any row, in a test that is not generated', missing: ['true'] },
    { rule: 'f', condition: 'worker.ageYears lessThan 21', missing: ['unknown'] },
  ];
  const failed = {
    ...{ test: { file: 't.json', pointer: '/0', name: 'um' } },
    failures: [{ field: 'kind', expected: 'pass', actual: 'offer' }],
  };
  const fault = { file: 'a.json', pointer: '', line: 3, text: 'There is no operator "x". Write one of: equal, in.' };
  const verdicts = [
    { kind: 'tests-failed', report: { results: [], uncovered, coverage: 0.5 } },
    { kind: 'tests-failed', report: { results: [failed], uncovered, coverage: 0.5 } },
    { kind: 'refused', faults: [fault] },
  ] as unknown as RuleVerdict[];
  const reasons = verdicts.map((verdict) => reasonsAgainst(verdict, reasonTexts(createFormat('pt'))));
  assert.deepEqual(reasons[0], [
    'Os testes mostram 50,0 % das regras, o que não basta.',
    '"a", b: nunca verdadeira nos testes',
    '"c": nunca  nos testes',
    '"d", computed.decimoDoDia conhecido: nunca verdadeira nos testes',
    '"e", alguma linha, em um teste que não é gerado: nunca verdadeira nos testes',
    '"f", worker.ageYears lessThan 21: nunca indefinida nos testes',
  ]);
  assert.deepEqual(reasons[1], ['t.json/0 "um": kind: esperava pass, veio offer']);
  assert.match(reasons[2]![0]!, /^a\.json:3: Não há o operador/);
  const english = verdicts.map((verdict) => reasonsAgainst(verdict));
  assert.deepEqual(
    english,
    verdicts.map((verdict) => reasonsAgainst(verdict, reasonTexts(createFormat('en')))),
  );
  assert.deepEqual(english[1], ['t.json/0 "um": kind: expected pass, got offer']);
});

test('why a fact can never come is said in Portuguese', () => {
  const texts = textsIn(readFileSync(absentFacts, 'utf8')).filter((text) =>
    /LANCE_MAPPING|^the mapping reads/.test(text),
  );
  assert.equal(texts.length, 4);
  const asked = (why: string) => ruleFaultPt(`"a" asks for "b", which can never come: ${why}`);
  for (const text of texts) {
    const why = text.replace('no score of this name, X', 'no score of this name, it maps no score');
    assert.doesNotMatch(asked(why), /the mapping|which no rule sees/, text);
  }
});

test('what a fault is about has its name in Portuguese', () => {
  const names = textsOfFaults().filter((text) => /^(?:An?|The|What) [\w "]+$/.test(text));
  assert.ok(names.length > 50, `${names.length}`);
  assert.deepEqual(
    names.filter((name) => !(name in ruleFaultWords) && name !== 'A condition with "X"'),
    [],
  );
});

test('both languages name the same', () => {
  const namesIn = (text: string) => [...text.matchAll(/\{[a-z]+\d?\}/g)].map(([name]) => name).sort();
  for (const table of [ruleFaultSentences, ruleFaultHints]) {
    for (const [english, portuguese] of Object.entries(table)) {
      assert.deepEqual(namesIn(portuguese), namesIn(english), english);
      if (english !== 'use {operators}.') assert.notEqual(portuguese, english);
    }
  }
});

test('of two sentences that fit, the one that says more is taken', () => {
  const wrong = Object.entries(ruleFaultSentences).filter(([english, portuguese]) => {
    const plain = (text: string) => text.replaceAll(/\{([a-z]+\d?)\}/g, (_, name) => `‹${name}›`);
    return ruleFaultPt(plain(english)) !== plain(portuguese);
  });
  assert.deepEqual(wrong, []);
});

test('a fault as people read it', () => {
  const said = {
    'A rule has no key "evnt". Did you mean "event"?': 'Uma regra não tem a chave "evnt". Seria "event"?',
    'A condition with "any" is a list; write an object here.':
      'Uma condição com "any" é uma lista; escreva aqui um objeto.',
    'maxRatePercent is 350, outside 0 … 20 (% a month). Did you mean 3.5?':
      'maxRatePercent é 350, fora de 0 … 20 (% ao mês). Seria 3.5?',
    'Column 2 ("key"): This key is no whole number; write digits alone.':
      'Coluna 2 ("key"): Esta chave não é um número inteiro; escreva só dígitos.',
    'Line 3, column 4: write a colon after the key.': 'Linha 3, coluna 4: escreva dois-pontos depois da chave.',
    'what nobody knows': 'what nobody knows',
  };
  for (const [english, portuguese] of Object.entries(said)) assert.equal(ruleFaultPt(english), portuguese);
});

test('what the tests of a set lack is said of a running process as rules check says it', () => {
  const format = createFormat('pt');
  const uncovered = [
    { rule: 'Young, "new"', condition: 'worker.age lessThan 21', missing: ['true', 'unknown'] },
    { rule: 'Old', condition: null, missing: ['false'] },
  ];
  const failures = [{ field: 'expect.passes', expected: '["alerts"]', actual: '[]' }];
  const results = [{ test: { file: 'a.tests.json', pointer: '/tests/0', name: 'a: b' }, failures }];
  const reports = [
    { results: [], uncovered, coverage: 0.995 },
    { results, uncovered: [], coverage: 1 },
  ];
  for (const report of reports) {
    const verdict = { kind: 'failed', report } as unknown as RuleVerdict;
    const said = reasonsAgainst(verdict).map((line) => refusalLine(format, line));
    assert.deepEqual(said, reasonsAgainst(verdict, reasonTexts(format)));
    assert.notDeepEqual(said, reasonsAgainst(verdict));
  }
});
