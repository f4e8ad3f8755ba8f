/** What `loan quote` says, in English. */
import type { Texts } from './texts.ts';

export const quoteEn: Texts['quote'] = {
  loan: 'loan arithmetic',
  about: 'quote a loan: instalment, IOF, CET and every row of the schedule',
  options: {
    released: 'amount released to the worker, in reais; the instalment follows',
    installment: 'instalment, in reais; the released amount follows',
    rate: 'interest rate, in % a month',
    date: 'day of release, YYYY-MM-DD; today when left out',
    due: 'due dates, YYYY-MM-DD, separated by commas',
    installments: 'instead of --due: how many instalments, on the dates of the payroll calendar',
    dayCount:
      'day count: actual365 (actual days, year of 365), 30/360 (equal periods), calendar30 (actual days, month of 30)',
    financedIof: 'finance the IOF (gross-up); without it the IOF is kept back from the released amount',
    noIof: 'operation exempt from IOF',
    insurance: 'financed insurance premium, in reais',
  },
  conventions: `
Conventions:
  Equal instalments (Price), rounded half-up to the cent. The last one repays what is left; the rest of it is its interest.
  actual365: P / sum of (1+ia)^(-days/365), with ia = (1+i)^12 - 1 rounded to 6 decimals. calendar30: (1+i)^(-days/30).
  30/360: i / (1 - (1+i)^-n), one period an instalment, whatever the dates. Days are actual days since release.
  Interest of a row: rounded balance x growth since the due date before, rounded half-up to the cent.
  IOF (Decree 6.306, art. 7): by row, amortisation x 0.0082 % x days (up to 365), rounded; and 0.38 % of the principal, rounded
  once: rows share it out, the last one takes the rest. With pricing.rounding by-row, 0.38 % is rounded in each row, and the last
  instalment takes up what rounding made. A row whose interest is above the instalment repays nothing and bears no IOF; what its
  amortisation takes off the IOF is taken off the rows after it.
  Financed (--financed-iof): principal = released + insurance + IOF of the principal. Where no whole principal fits, the next one
  is taken, and the cents that are left over count as IOF of the last row. Without the option: principal = released + insurance.
  CET: internal rate between what the worker receives (released, less IOF that is not financed) and the instalments, year of 365
  days, in % with 2 decimals, half to even (NBR 5891); a month, (1+CET)^(1/12) - 1.
  Payroll calendar: endorsed up to day 20, discounted in the following month; the money comes on the lender's day of the month
  after that, or on the next bank business day (pricing.payrollCalendar). With --json: whole cents and hundredths of a %.`,
  amountRemedy: 'write reais above zero, such as 10000 or 10000.00',
  costRemedy: 'write reais, such as 0 or 45.90',
  rateRemedy: 'write % a month, from 0 to 999, with up to 6 decimals, such as 1.80',
  dateRemedy: 'write a day that exists, such as 2026-02-22',
  dueRemedy: 'write 1 to 480 days that exist, in order, such as 2026-03-22,2026-04-22',
  countRemedy: 'write a whole number from 1 to 480',
  oneAmount: 'The amount is missing: write --released or --installment, in reais.',
  oneTerm: 'The due dates are missing: write --due with the dates or --installments with how many.',
  dueBefore: (due, released) =>
    `--due: ${due} is not after the release on ${released}; write a later date or change --date.`,
  nothingLeft: 'IOF and insurance take the whole amount: raise --released or --installment.',
  outgrown:
    'At this rate and term the rounding of the instalment outgrows the loan: give fewer instalments or a lower rate.',
  title: (rate, date) => `Loan at ${rate}, released on ${date}`,
  released: 'released amount',
  disbursed: 'worker receives',
  insurance: 'insurance',
  iof: 'IOF',
  iofParts: (daily, additional) => `daily ${daily}, additional ${additional}`,
  iofFinanced: 'financed',
  iofKept: 'kept back from the released amount',
  financed: 'financed amount',
  installment: 'instalment',
  last: (count, money) => `${count} times, the last one ${money}`,
  interest: 'interest',
  total: 'total to pay',
  cet: 'CET',
  dayCount: 'day count',
  header: ['no.', 'due', 'days', 'instalment', 'interest', 'principal', 'balance', 'daily IOF', 'additional IOF'],
};
