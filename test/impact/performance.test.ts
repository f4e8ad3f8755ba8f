/** Actual and expected losses of one loan against a plain second computation; groups; every bad line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assess, choiceInput, draftOffer } from '../../src/bidding/decide.ts';
import { noRivalCell } from '../../src/domain/glossary.ts';
import { gapOf, type Loan, outcomeOf, readPerformance, reportPerformance } from '../../src/impact/performance.ts';
import { createRateTables } from '../../src/pricing/terms.ts';
import { lossMultiplier, lossShare } from '../../src/pricing/value.ts';
import { buildWinCurve } from '../../src/pricing/win-curve.ts';
import { configOf, shippedPolicy } from '../bidding/house.ts';
import { at, sampleLink, sampleRequest } from '../rules/sample-request.ts';

const config = configOf({ baseUrl: 'http://127.0.0.1:1', dataDir: 'never-opened', accessToken: 'token-for-tests' });
const policy = shippedPolicy(config);
const settings = config.bidding;
const curve = buildWinCurve({
  ...config.pricing.winCurve,
  segments: [],
  scores: [],
  prior: policy.prior,
  at,
  halfLifeMs: settings.halfLifeMs,
  breakEvens: null,
});
const assessment = assess(sampleRequest, { link: sampleLink, ledger: undefined }, policy, at);
const input = {
  assessment,
  policy,
  settings,
  curve,
  trial: null,
  operatorCaps: {},
  shadowPricePerCent: 0,
  shadowPriceVersion: null,
  tailoring: null,
  acceptance: null,
};
const asked = choiceInput(input);
const draft = draftOffer(input);
if (draft.kind === 'pass') throw new Error(`the sample request is passed: ${draft.code}`);
const { offer } = draft;

function loanWith(observations: [month: string, status: string][], change: Partial<Loan> = {}): Loan {
  const text = observations.map(([month, status]) => `1,${month},${status}`).join('\n');
  const read = readPerformance(text);
  assert.deepEqual(read.bad, []);
  const segmentKeys = ['all', 'all|a=1'];
  const own = { requestId: '1', decidedAt: at, offer, asked, segmentKeys, gapHundredths: 3 };
  return { ...own, observations: read.observations, ...change };
}

/** Balances by compounding on days, and the expected loss by its own sum. */
function plainly(due: number) {
  const { tables, economics, pledgedCents } = asked;
  const { dueDays } = tables.terms('2026-11-20', offer.installments);
  const annual = Number(((1 + offer.rateHundredths / 10_000) ** 12 - 1).toFixed(6));
  let balance = offer.financedCents;
  const balances = [balance];
  for (const [index, day] of dueDays.entries()) {
    const days = day - (index === 0 ? 0 : dueDays[index - 1]!);
    balance = balance * (1 + annual) ** (days / 365) - offer.installmentCents;
    balances.push(balance);
  }
  const share = lossShare(economics, pledgedCents, offer.financedCents);
  const alive = (index: number) =>
    index < 0
      ? 1
      : (1 - economics.neverStartedShare) * (1 - economics.separationMonthly) ** ((12 * dueDays[index]!) / 365);
  let expected = 0;
  for (let index = 0; index < due; index += 1) expected += (alive(index - 1) - alive(index)) * balances[index]! * share;
  return {
    balances,
    share,
    expected: expected * lossMultiplier(offer.rateHundredths, curve, economics),
    ended: 1 - alive(due - 1),
  };
}

test('a loan that pays: nothing lost, and the loss that was expected until then', () => {
  // Decided on 20 November 2026: first due in January 2027.
  const outcome = outcomeOf(
    loanWith([
      ['2027-01', 'current'],
      ['2027-06', 'current'],
      ['2027-03', 'late'],
    ]),
  );
  const plain = plainly(6);
  assert.equal(outcome.due, 6);
  assert.deepEqual([outcome.ended, outcome.actualLossCents], [false, 0]);
  assert.ok(Math.abs(outcome.expectedLossCents - plain.expected) < 2, `${outcome.expectedLossCents} ${plain.expected}`);
  assert.ok(Math.abs(outcome.expectedEnded - plain.ended) < 1e-12);
});

test('a loan that ends loses what was outstanding; what comes after its end is no news', () => {
  const { balances, share } = plainly(3);
  const ended = outcomeOf(
    loanWith([
      ['2027-02', 'late'],
      ['2027-03', 'default'],
      ['2027-08', 'default'],
    ]),
  );
  assert.deepEqual([ended.due, ended.ended], [3, true]);
  assert.ok(Math.abs(ended.actualLossCents - balances[2]! * share) < 5);
  const never = outcomeOf(loanWith([['2027-03', 'not-started']]));
  assert.ok(Math.abs(never.actualLossCents - offer.financedCents * share) < 1e-6);
  const settled = outcomeOf(
    loanWith([
      ['2027-02', 'settled'],
      ['2027-09', 'settled'],
    ]),
  );
  assert.deepEqual([settled.due, settled.actualLossCents], [2, 0]);
  assert.equal(outcomeOf(loanWith([['2026-12', 'current']])).expectedLossCents, 0);
});

test('what came back is taken off the loss, as the last month tells it, and teaches the loss of loans without a guarantee', () => {
  const { balances } = plainly(3);
  const observations = readPerformance(
    '1,2027-03,default,10\n1,2027-09,default,100.50\n1,2027-12,default',
  ).observations;
  const loan = loanWith([['2027-03', 'default']], { observations });
  const outcome = outcomeOf(loan);
  assert.ok(Math.abs(outcome.actualLossCents - (balances[2]! - 10_050)) < 5);
  assert.equal(outcome.recoveredCents, 10_050);
  const { economics } = reportPerformance([loan]);
  assert.deepEqual(
    [economics.book.separationMonthly.events, economics.segments.map(({ key }) => key)],
    [1, ['all|a=1']],
  );
  const { dueDays } = asked.tables.terms('2026-11-20', offer.installments);
  const months = (12 * (dueDays[1]! + (dueDays[2]! - dueDays[1]!) / 2)) / 365;
  assert.ok(Math.abs(economics.book.separationMonthly.exposure - months) < 1e-9);
  assert.equal(economics.book.lossGivenSeparation.events, asked.pledgedCents === 0 ? 1 : 0);
  const plain = reportPerformance([{ ...loan, asked: { ...asked, pledgedCents: 0 } }]).economics.book
    .lossGivenSeparation;
  assert.ok(plain.events === 1 && plain.mean > asked.economics.lossGivenSeparation);
});

test('an instalment that falls due on the last day of a month is due in that month, whichever day that is', () => {
  const payrollCalendar = { ...config.pricing.payrollCalendar, dueDayOfMonth: 31, businessDays: 'ignored' as const };
  const tables = createRateTables({ ...config.pricing, payrollCalendar }, 8);
  const due = (...months: string[]) =>
    outcomeOf(
      loanWith(
        months.map((month) => [month, 'current']),
        { asked: { ...asked, tables } },
      ),
    ).due;
  // Decided on 20 November 2026: due on 31 January, 28 February, 31 March and 30 April 2027.
  assert.deepEqual(
    [due('2026-12'), due('2027-01'), due('2027-02'), due('2027-03'), due('2027-02', '2027-04')],
    [0, 1, 2, 3, 4],
  );
});

test('loans are told by vintage, segment and gap, and add up', () => {
  const december = Date.parse('2026-12-03T15:00:00Z');
  const loans = [
    loanWith([['2027-03', 'default']]),
    loanWith([['2027-03', 'current']], { decidedAt: december, gapHundredths: 0, segmentKeys: ['all', 'all|a=2'] }),
    loanWith([['2027-03', 'current']], { gapHundredths: 51 }),
    loanWith([['2027-03', 'current']], { gapHundredths: null }),
  ];
  const { total, vintages, segments, gaps } = reportPerformance(loans);
  const counts = (rows: readonly { key: string; loans: number }[]) => rows.map(({ key, loans: own }) => [key, own]);
  assert.deepEqual(counts(vintages), [
    ['2026-11', 3],
    ['2026-12', 1],
  ]);
  assert.deepEqual(counts(segments), [
    ['all|a=1', 3],
    ['all|a=2', 1],
  ]);
  assert.deepEqual(counts(gaps), [
    ['0', 1],
    ['1-5', 1],
    ['51+', 1],
    ['no-rival', 1],
  ]);
  assert.deepEqual([total.loans, total.actualEnded, total.releasedCents], [4, 1, 4 * offer.amountCents]);
  const wide = [60, 10, 3].map((gapHundredths) => loanWith([['2027-03', 'current']], { gapHundredths }));
  assert.deepEqual(counts(reportPerformance(wide).gaps), [
    ['1-5', 1],
    ['6-15', 1],
    ['51+', 1],
  ]);
  const outcomes = loans.map(outcomeOf);
  for (const name of ['expectedLossCents', 'actualLossCents', 'expectedEnded'] as const) {
    const singly = outcomes.reduce((all, outcome) => all + outcome[name], 0);
    const byVintage = vintages.reduce((all, row) => all + row[name], 0);
    assert.ok(singly > 0 && Math.abs(total[name] - singly) < 0.6, name);
    assert.ok(Math.abs(total[name] - byVintage) <= 2, name);
  }
});

test('the gap to the next bid is positive where we were cheaper; nobody else has none', () => {
  assert.deepEqual([gapOf(150, { cell: 153 }), gapOf(150, { cell: 150 }), gapOf(150, { cell: 149 })], [3, 0, -1]);
  assert.deepEqual([gapOf(150, null), gapOf(150, { cell: noRivalCell })], [null, null]);
});

test('every bad line is told', () => {
  const { observations, bad } = readPerformance(
    'id;mes;situacao\n12;2026-11;current\nx;2026-11;late\n13;2026-13;late\n14;2026-11;gone\n12;2026-11;late\n15;2026-12\n16;2026-12;Default\n17;2026-12;late;5\n18;2026-12;default;12,5\n19;2026-12;default;much\n20;2026-12;default;1;2\n',
  );
  assert.deepEqual(
    observations.map(({ requestId, status }) => [requestId, status]),
    [
      ['12', 'current'],
      ['16', 'default'],
      ['18', 'default'],
    ],
  );
  assert.deepEqual(
    bad.map(({ line, column }) => [line, column]),
    [
      [3, 1],
      [4, 2],
      [5, 3],
      [6, 1],
      [7, 2],
      [9, 4],
      [11, 4],
      [12, 5],
    ],
  );
  assert.deepEqual(
    observations.map(({ recoveredCents }) => recoveredCents),
    [null, null, 1_250],
  );
  const remedies = [
    /no request id; write its digits/,
    /like 2026-11/,
    /one of current, late/,
    /on line 2/,
    /2 cells/,
    /only a loan that ended/,
    /fourth cell is no amount/,
    /5 cells/,
  ];
  for (const [place, remedy] of remedies.entries()) assert.match(bad[place]!.text, remedy);
  assert.deepEqual(
    readPerformance('').bad.map(({ line }) => line),
    [1],
  );
});

test('what a loan earned until the last month known: interest of what was paid, less what the money cost meanwhile', () => {
  const { economics } = asked;
  const { dueDays } = asked.tables.terms('2026-11-20', offer.installments);
  const { balances } = plainly(offer.installments);
  const annual = Number(((1 + offer.rateHundredths / 10_000) ** 12 - 1).toFixed(6));
  /** Of the due days before `paid` and, of an end, before `out`. */
  const plain = (paid: number, out: number) => {
    let [interest, funding] = [0, 0];
    for (let index = 0; index < out; index += 1) {
      const years = (dueDays[index]! - (index === 0 ? 0 : dueDays[index - 1]!)) / 365;
      if (index < paid) interest += balances[index]! * ((1 + annual) ** years - 1);
      funding += balances[index]! * ((1 + economics.fundingAnnualPercent / 100) ** years - 1);
    }
    return { interest, funding };
  };
  const told = (observations: [string, string][], paid: number, out: number) => {
    const { interestCents, fundingCents } = outcomeOf(loanWith(observations));
    const { interest, funding } = plain(paid, out);
    assert.ok(Math.abs(interestCents - interest) < 10, `${interestCents} ${interest}`);
    assert.ok(Math.abs(fundingCents - funding) < 5, `${fundingCents} ${funding}`);
    return { interestCents, fundingCents };
  };
  const paying = told([['2027-06', 'current']], 6, 6);
  assert.ok(paying.interestCents > paying.fundingCents && paying.fundingCents > 0);
  // Of the third instalment, which never came, only the money was out.
  told([['2027-03', 'default']], 2, 3);
  const never = told([['2027-01', 'not-started']], 0, 1);
  assert.equal(never.interestCents, 0);
  assert.deepEqual(told([['2026-12', 'current']], 0, 0), { interestCents: 0, fundingCents: 0 });
});
