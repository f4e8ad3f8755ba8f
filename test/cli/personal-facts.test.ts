/** What rules saw of a request is told without its pseudonyms and its free text, wherever these stand in the account. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeWithoutPersonal, withoutPersonal } from '../../src/cli/bid-report.ts';
import type { RuleAccount } from '../../src/rules/account.ts';

const name = 'MARIA DA SILVA';
const pseudonym = 'pseudonym-of-a-worker';
const facts = {
  'worker.key': pseudonym,
  'employer.key': 'of-a-person',
  'employer.rootKey': 'of-a-person-too',
  'employer.idType': 'cpf',
  'extra.name': name,
  'extra.points': 7,
};

test('a name and a pseudonym are told nowhere in the account of a rule; a figure is', () => {
  const comparison = (fact: string, seen: string | number, more: object = {}) =>
    ({
      kind: 'comparison',
      fact,
      operator: 'equal',
      value: seen,
      valueFact: null,
      seen,
      truth: 'true',
      ...more,
    }) as const;
  const account: RuleAccount = {
    ...{ name: 'a', event: 'pass', file: 'a.json', pointer: '', truth: 'true', valid: true },
    condition: {
      ...{ kind: 'all', name: null, truth: 'true' },
      parts: [
        comparison('extra.name', name),
        { kind: 'not', name: null, truth: 'true', parts: [comparison('worker.key', pseudonym)] },
        comparison('list.blocked', 1, { valueFact: 'extra.name', value: name }),
        comparison('extra.points', 7),
        // Of a computed fact, a score or a row of a table: what it was made of.
        comparison('computed.score', 12, {
          from: [
            { fact: 'extra.name', seen: name, bin: null, points: 12 },
            { fact: 'extra.points', seen: 7 },
          ],
        }),
      ],
    },
    values: [
      { fact: 'extra.name', seen: name },
      {
        fact: 'computed.limit',
        seen: 100,
        from: [
          { fact: 'employer.key', seen: 'of-a-person' },
          { fact: 'employer.rootKey', seen: 'of-a-person-too' },
          { fact: 'extra.name', seen: name },
        ],
      },
    ],
  };
  const told = JSON.stringify(withoutPersonal(account, facts));
  for (const personal of [name, pseudonym, 'of-a-person']) assert.ok(!told.includes(personal), told);
  assert.match(told, /"fact":"extra.points","operator":"equal","value":7,"valueFact":null,"seen":7/);
  assert.match(told, /"fact":"extra.points","seen":7/);
  assert.match(told, /"seen":12/);
  assert.equal(changeWithoutPersonal({ fact: 'extra.name', from: name, to: 'x' }, facts).from, '…');
  assert.equal(changeWithoutPersonal({ fact: 'extra.points', from: 7, to: 8 }, facts).from, 7);
});
