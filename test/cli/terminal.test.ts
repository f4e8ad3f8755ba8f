/** Tables that do not fit: what gives way, in which order, and that nothing of a cell is lost. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelledText, tableText, wrapText, writeProse } from '../../src/cli/terminal.ts';
import { languages, terminalLanguageOf, textsIn } from '../../src/cli/texts.ts';

const header = ['Id', 'State', 'Code', 'Amount', 'Batch'];
const rows = [
  ['82000000099', 'won, with a proposal', 'politically-exposed', 'R$ 1,840.00', 'e4e1d1a7'],
  ['8209000000000000065', 'lost', '', 'R$ 10.00', 'e4e1d1a7'],
];
const options = { right: [3], whole: [0], spare: [4] };
const widest = (text: string) => Math.max(...text.split('\n').map((line) => line.length));

test('a table with room is as wide as its cells, one line for each row', () => {
  const text = tableText(header, rows, options);
  assert.equal(text.split('\n').length, 4);
  assert.match(text, /^82000000099 {10}won, with a proposal {2}politically-exposed {2}R\$ 1,840\.00 {2}e4e1d1a7$/m);
});

test('texts are broken between words and after hyphens, ids and figures never; spare columns go first', () => {
  const narrow = tableText(header, rows, { ...options, width: 64 });
  assert.ok(widest(narrow) <= 64, narrow);
  assert.doesNotMatch(narrow, /Batch|e4e1d/);
  assert.match(narrow, /^8209000000000000065 {2}lost +R\$ 10\.00$/m);
  assert.match(narrow, /politically-( |$)/m);
  assert.equal(narrow.replaceAll(/[\s─]/g, '').includes('8209000000000000065'), true);
});

test('a table that fits in no way is written as paragraphs, without empty fields', () => {
  const text = tableText(header, rows, { ...options, width: 44 });
  assert.ok(widest(text) <= 44, text);
  assert.match(text, /^Id +82000000099\nState +won, with a proposal\n/);
  assert.match(text, /\n\nId +8209000000000000065\nState +lost\nAmount/);
});

test('a column may be empty, its header too', () => {
  assert.equal(tableText(['', 'A'], [['', 'x']], { width: 40 }), '  A\n  ─\n  x');
});

test('a table of more words than a call takes arguments is drawn all the same', () => {
  const many = Array.from({ length: 400 }, () => ['x', 'a-'.repeat(1_000), 'yes', 'R$ 1', 'b']);
  assert.equal(tableText(header, many).split('\n').length, 402);
  assert.ok(widest(tableText(header, many, { ...options, width: 64 })) <= 64);
  assert.ok(
    tableText(
      ['A'],
      Array.from({ length: 300_000 }, () => ['x']),
    ).endsWith('x'),
  );
});

test('the end of a line within a cell begins no row', () => {
  assert.match(tableText(['A'], [['one\ntwo']]), /^one\\ntwo$/m);
});

test('a text is wrapped to its width, a longer word broken where it has to be', () => {
  assert.deepEqual(wrapText('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrapText('at most R$ 7.350,00 a 1,79 % rate', 11), ['at most', 'R$ 7.350,00', 'a 1,79 %', 'rate']);
  assert.deepEqual(wrapText('abcdefghij', 4), ['abcd', 'efgh', 'ij']);
  assert.deepEqual(wrapText('a 25205048-ac80-4af7', 10), ['a', '25205048-', 'ac80-4af7']);
  assert.deepEqual(wrapText('', 10), ['']);
});

test('what labels say is wrapped beside them', () => {
  assert.equal(labelledText([['Next', 'sign, cancel, regenerate']], 20), 'Next  sign, cancel,\n      regenerate');
  assert.equal(
    labelledText([
      ['A', 'one\ntwo'],
      ['Long', null],
    ]),
    'A  one\n   two',
  );
});

/** What is written to a stream of that kind. */
function written(stream: { isTTY: boolean; columns?: number }, text: string): string {
  let all = '';
  writeProse({ ...stream, write: (part: string) => (all += part) } as unknown as NodeJS.WriteStream, text);
  return all;
}

test('a refusal is broken at the width of the terminal that it goes to; a pipe gets it as one line', () => {
  const refusal = `lance: ${'the contract of this request cannot be ordered now '.repeat(8).trim()}\n  a field: ${'why it is refused '.repeat(8).trim()}`;
  for (const columns of [60, 80, 132]) {
    const text = written({ isTTY: true, columns }, refusal);
    assert.ok(widest(text) <= columns, text);
    assert.ok(widest(text) > columns - 20, text);
    assert.equal(text.replaceAll(/\s+/g, ' ').trim(), refusal.replaceAll(/\s+/g, ' '));
    assert.match(text, /^ {2}a field: .+\n {2}\S/m, 'further lines stand as the first one does');
  }
  assert.equal(written({ isTTY: false }, refusal), `${refusal}\n`);
  assert.ok(widest(written({ isTTY: true, columns: 0 }, refusal)) <= 80, 'a terminal that does not say how wide it is');
});

test('a pipe to a screen that says how wide it is has an end of the line', (context) => {
  const before = process.env.COLUMNS;
  context.after(() => {
    if (before === undefined) delete process.env.COLUMNS;
    else process.env.COLUMNS = before;
  });
  const sentence = 'the contract of this request cannot be ordered now '.repeat(8).trim();
  for (const [said, most] of [
    ['80', 80],
    ['20', 40],
    ['wide', Number.POSITIVE_INFINITY],
    ['', Number.POSITIVE_INFINITY],
  ] as const) {
    process.env.COLUMNS = said;
    const text = written({ isTTY: false }, sentence);
    assert.ok(widest(text) <= most && (most < 100 || text === `${sentence}\n`), `${said}: ${text}`);
  }
});

test('tables of tokens and of dead letters fit 80 columns, whoever is named in them', () => {
  const far = 'bruno.albuquerque@banco-exemplo.com.br';
  for (const { tokens, letters } of languages.map(textsIn)) {
    const at = '28/11/2026 08:32 -03';
    const session = [
      `${'ab'.repeat(32)} (${tokens.session})`,
      far,
      'operator',
      at,
      `${far} (offline)`,
      at,
      tokens.revokedBy(far, at),
    ];
    const rows = [['4fb99c2bf8', far, 'operator', at, 'ana', at, '–'], session];
    assert.ok(widest(tableText(tokens.header, rows, { width: 80 })) <= 80);
    const pointer = '/solicitacoes/12/dadosDoTrabalhador/documentoDeIdentificacao';
    const letter = [
      '0',
      '12',
      at,
      'the value of amountReais is no number',
      pointer,
      letters.dismissedBy(at, far, 'x'.repeat(200)),
      pointer,
      '–',
    ];
    assert.ok(widest(tableText(letters.header, [letter], { right: [0, 1], width: 80 })) <= 80);
  }
});

test('a terminal in English is told the start token in English, unless a language is named', () => {
  for (const [words, environment, language] of [
    [[], { LANG: 'en_US.UTF-8' }, 'en'],
    [[], { LANG: 'en_US.UTF-8', LC_ALL: 'pt_BR.UTF-8' }, 'pt'],
    [[], { LANG: 'C.UTF-8' }, 'pt'],
    [[], { LANG: 'de_DE', LC_ALL: '' }, 'pt'],
    [[], { LANG: 'en_US.UTF-8', LANCE_LANG: 'pt' }, 'pt'],
    [['run', '--lang', 'en'], {}, 'en'],
    [[], {}, 'pt'],
  ] as const)
    assert.equal(terminalLanguageOf(words, environment), language, JSON.stringify([words, environment]));
});

test('a code is broken between its parts, and the name of a column of figures between its words', () => {
  const rows = [['1419000000000000018', 'sem lance', 'fact-missing:margin.availableReais', '2,58', 'R$ 10.770,00']];
  const text = tableText(['solicitação', 'estado', 'código', '% ao mês', 'valor'], rows, {
    ...{ right: [3, 4], whole: [0], width: 66 },
  });
  const lines = text.split('\n');
  assert.ok(!text.includes('solicitação  1419'), `a table, and no paragraphs:\n${text}`);
  for (const line of lines) assert.ok(line.length <= 66, line);
  assert.match(text, /fact-missing:/);
  assert.match(text, /margin\.|availableReais/);
  assert.match(text, /R\$ 10\.770,00/);
});
