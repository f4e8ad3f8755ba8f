/** What a flow refuses is said in Portuguese where the texts are: every sentence of the sources has one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { stepPt } from '../../src/cli/flow-words-pt.ts';
import { refusalPt } from '../../src/cli/refusal-texts-pt.ts';
import { flowSteps } from '../../src/domain/flow-records.ts';
import { issueTexts, remedyOf } from '../../src/http/api/remedies.ts';
import { stepBodies } from '../../src/http/api/schemas.ts';

const read = (path: string) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8');
const literals = /'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`([^`]*)`/g;

/** Texts of a source that are sentences: in lower case, of several words; what they name is written as `X`. */
function sentencesIn(path: string): string[] {
  const source = read(path).replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const texts = [...source.matchAll(literals)].map(([, one, two, three]) => one ?? two ?? three ?? '');
  return texts
    .map((text) => text.replaceAll(/\$\{[^}]*\}/g, 'X'))
    .filter((text) => /^(?:[a-z]|X )\S* .*\S \S+/.test(text) && !text.includes('\n'));
}

/** Parts of a sentence, and what is no refusal of a flow's order or step. */
const others = [
  ...['no step is possible now', 'no step is possible now: start it again under another key'],
  ...['possible now: X', 'X cannot be asked for while the flow is X; X'],
  'rejected after an attempt that may have been taken: X',
  ...['frozen and cancelled by X: X', 'send `next` of the page before, as it came'],
  ...[
    'begun by X at X',
    'there is such a flow already: X, X; X; look at it: lance Xs show X',
    'received for endorsement',
  ],
  ...['X; possible now: X', 'X; only if it is to be given up: its step cancel, then a start under a new key'],
  'send 1 to 200 printable ASCII characters without spaces',
];

test('every refusal of a flow has its sentence in Portuguese', () => {
  const sources = [
    'wire/checks/breach.ts',
    'wire/checks/withdrawals.ts',
    'wire/checks/worker-credit.ts',
    'origination/front.ts',
    'origination/placeholders.ts',
    'origination/withdrawals-beside.ts',
  ];
  const texts = [...sources, 'origination/evolve.ts', 'origination/fold-answers.ts'].flatMap(sentencesIn);
  const ofSchemas = sentencesIn('http/api/schemas.ts').filter((text) => /^(?:send|is blank)/.test(text));
  const refusals = [...texts, ...ofSchemas.filter((text) => !/flow|operation|decimal digits$/.test(text))];
  assert.ok(refusals.length > 70, `${refusals.length}`);
  assert.deepEqual(
    refusals.filter((text) => refusalPt(text) === text && !others.includes(text)),
    [],
  );
  const begun = 'no step is possible now: start it again under another key';
  for (const rest of ['no step is possible now', 'possible now: sign, cancel', begun]) {
    const text = `amend cannot be asked for while the flow is endorsed; ${rest}`;
    assert.match(refusalPt(text), /^amend \(corrigir\) não pode ser pedido na fase “averbado”; \S+ .+/);
  }
});

test('phases, states and next steps are said in words, with what is typed (line 18)', () => {
  const existing =
    'there is such a flow already: c-1, awaiting-note; begun by ana at 2026-03-03T15:00:00.000Z; look at it: lance contracts show c-1';
  assert.equal(
    refusalPt('inclusion cannot be asked for while the flow is started; possible now: cancel, simulation'),
    'inclusion (incluir a proposta) não pode ser pedido na fase “iniciado”; possíveis agora: cancel (cancelar), simulation (simular)',
  );
  assert.match(
    refusalPt(`${existing}; no step is possible now`),
    /^já existe esse fluxo: c-1, na fase “aguarda a CCB”; iniciado por ana em \S+Z; veja-o: lance contracts show c-1; nenhum/,
  );
  const givenUp = 'only if it is to be given up: its step cancel, then a start under a new key';
  for (const rest of ['possible now: sign', givenUp, `possible now: sign; ${givenUp}`]) {
    const said = refusalPt(`${existing}; ${rest}`);
    assert.equal(said.includes('possíveis agora: sign (entregar a assinatura)'), rest.includes('sign'), said);
    assert.equal(
      said.endsWith('desistir dele: o passo cancel e depois um start com outra chave'),
      rest.endsWith('key'),
    );
  }
  assert.match(
    refusalPt(
      'the bid of this request is won, not contemplated; once you have seen that it is, say so on the machine of the desk: lance bids resolve 1',
    ),
    /está em “.*”, não contemplado; .+: lance bids resolve 1$/,
  );
  for (const step of flowSteps) assert.match(stepPt(step), /^[a-z-]+ \(.+\)$/, step);
});

test('what a field should hold is said in Portuguese with its unit', () => {
  const issue = (rest: object) => ({ path: [], message: 'Invalid input', ...rest }) as never;
  const tooBig = remedyOf(issue({ code: 'too_big', origin: 'int', maximum: 480 }), 'hundredths of a percent a month');
  assert.equal(refusalPt(tooBig), 'escreva no máximo 480, em centésimos de por cento ao mês');
  const kind = remedyOf(issue({ code: 'invalid_type', expected: 'int' }), 'whole cents of a real');
  assert.equal(refusalPt(`is missing; ${kind}`), 'falta; escreva um número inteiro, em centavos inteiros de real');
  const count = remedyOf(issue({ code: 'invalid_type', expected: 'int' }), 'a count');
  assert.equal(refusalPt(count), 'escreva um número inteiro');
  assert.equal(refusalPt('what nobody knows'), 'what nobody knows');
  const said = (body: object) => issueTexts(stepBodies.amend.safeParse(body).error!, body, stepBodies.amend)[0]![1];
  assert.match(
    said({ installments: 48 }),
    /known are contract, .*; did you mean contract\.installments or renegotiation\.installments\?$/,
  );
  assert.match(
    refusalPt(said({ installments: 48 })),
    /^retire .*: installments; são conhecidos .*; quis dizer contract\.installments ou renegotiation\.installments\?$/,
  );
  assert.match(
    refusalPt(said({ zzzzzzzz: 48 })),
    /^retire .*: zzzzzzzz; são conhecidos contract, renegotiation, link, auth\w+, desp\w+, desp\w+, desp\w+$/,
  );
  assert.match(said({ authorizationNumber: '1' }), /did you mean authorisationNumber\?$/);
});
