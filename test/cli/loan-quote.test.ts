/** `lance loan quote` as people and machines call it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lance } from './desk.ts';

const due =
  '2026-03-22,2026-04-22,2026-05-22,2026-06-22,2026-07-22,2026-08-22,2026-09-22,2026-10-22,2026-11-22,2026-12-22,2027-01-22,2027-02-22';
const year = ['--rate', '1.00', '--date', '2026-02-22', '--due', due, '--day-count', 'actual365'];
const quote = (...words: string[]) => lance({}, 'loan', 'quote', ...words);

test("a lender's published loan comes out to the cent, as JSON and as a table", async () => {
  const [machine, people] = await Promise.all([
    quote('--released', '10000.00', ...year, '--json'),
    quote('--released', '10000,00', ...year, '--lang', 'en'),
  ]);
  const { rows, ...whole } = JSON.parse(machine.stdout);
  assert.deepEqual(
    [whole.financedCents, whole.installmentCents, whole.lastInstallmentCents, whole.iofCents, whole.disbursedCents],
    [1_000_000, 88_808, 88_808, 20_188, 979_812],
  );
  assert.equal(whole.totalCents, 88_808 * 12);
  assert.equal(whole.iofDailyCents + whole.iofAdditionalCents, whole.iofCents);
  assert.deepEqual(rows[1], {
    number: 2,
    due: '2026-04-22',
    days: 59,
    installmentCents: 88_808,
    interestCents: 9_381,
    principalCents: 79_427,
    balanceCents: 840_967,
    iofDailyCents: 384,
    iofAdditionalCents: 302,
  });
  assert.match(
    people.stdout,
    /2026-04-22 +59 +R\$ 888\.08 +R\$ 93\.81 +R\$ 794\.27 +R\$ 8,409\.67 +R\$ 3\.84 +R\$ 3\.02/,
  );
});

test('the other direction, the gross-up, insurance and the payroll calendar', async () => {
  const financed = ['--financed-iof', '--insurance', '45.90', '--json'];
  const [there, back, payroll] = await Promise.all([
    quote('--released', '10000', ...year, ...financed),
    quote('--installment', '910.54', ...year, ...financed),
    quote(
      '--installment',
      '355.80',
      '--rate',
      '7',
      '--date',
      '2026-06-25',
      '--installments',
      '3',
      '--no-iof',
      '--json',
    ),
  ]);
  const loan = JSON.parse(there.stdout);
  assert.equal(loan.financedCents, 1_000_000 + 4_590 + loan.iofCents);
  assert.equal(loan.installmentCents, 91_054);
  assert.ok(Math.abs(JSON.parse(back.stdout).releasedCents - 1_000_000) <= 6);
  const { rows, iofCents, rateAnnualPercent } = JSON.parse(payroll.stdout);
  assert.deepEqual(
    rows.map((row: { due: string }) => row.due),
    ['2026-09-08', '2026-10-07', '2026-11-09'],
  );
  assert.deepEqual([iofCents, rateAnnualPercent], [0, 125.219159]);
});

test('a wrong option is refused by its name with what to write instead', async () => {
  const wrong: [string[], RegExp][] = [
    [['--released', '0', ...year], /--released.*maior que zero/],
    [['--released', '10', ...year, '--no-iof', '--financed-iof'], /--no-iof.*--financed-iof/],
    [['--released', '10', '--rate', '1', '--due', '2026-02-30'], /--due.*dias que existem/],
    [
      ['--released', '10', '--rate', '1', '--date', '2026-04-01', '--due', '2026-03-30'],
      /--due: 2026-03-30.*posterior/,
    ],
    [['--rate', '1', '--installments', '3'], /--released ou --installment/],
    [['--released', '10', '--rate', '1'], /--due .* ou --installments/],
  ];
  const ended = await Promise.all(wrong.map(([words]) => quote(...words)));
  for (const [index, { code, stdout, stderr }] of ended.entries()) {
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
    assert.match(stderr, wrong[index]![1]);
  }
});

test('a long first month bears no IOF below zero, and a loan that rounding outgrows is refused', async () => {
  const long = ['--released', '10000', '--rate', '4', '--date', '2026-02-21'];
  const [printed, outgrown] = await Promise.all([
    quote(...long, '--installments', '96'),
    quote('--released', '1000', '--rate', '4.97', '--installments', '480', '--lang', 'en'),
  ]);
  assert.equal(printed.code, 0);
  assert.match(printed.stdout, /\n +1 +2026-05-\d\d .*R\$ 0,00 +R\$ 0,00\n/);
  assert.equal(outgrown.code, 65);
  assert.match(outgrown.stderr, /rounding of the instalment outgrows the loan/);
});
