/** What is said of loans after their release, in English. */
import type { Texts } from './texts.ts';

export const performanceEn: Texts['performance'] = {
  help: {
    performance: 'how released loans did',
    import: 'sets actual against expected losses, by vintage, segment and gap to the next bid',
    csv: 'CSV: request id, month (2026-11), status (current, late, default, not-started, settled), reais recovered by then after an end (may be left out)',
    economics: "what the lender's own loans say of the value of the next ones",
    propose:
      'writes rules with tests from a CSV as `performance import` reads it; they decide nothing until somebody puts them into the rules',
    to: 'folder to write to, outside of the rules',
  },
  progress: 'loans',
  badCell: (file, line, column, text) => `${file}, line ${line}, column ${column}: ${text}`,
  unknown: 'the desk does not know this request; write the number of one that it bid on',
  noBid: 'the desk made no bid on this request; leave it out',
  noLoan: 'No line names a loan of this desk.',
  noRival: 'no rival',
  hundredths: 'hundredths of a percent',
  vintage: 'vintage',
  gap: 'gap to the next bid',
  segment: 'segment',
  columns: ['loans', 'released', 'ended, expected', 'ended', 'loss, expected', 'loss', 'loss / expected'],
  estimates: ['loans', 'links ending a month', 'loss when one ends', 'settled early a month', 'never started'],
  about:
    'Expected: by the economics of each decision until the last month known of its loan, what winning says included. Actual: what was outstanding when a loan ended, less what came back; where the file does not say, at the loss share that the decision assumed. Estimates: mean (90 % interval), drawn to the whole book where there are few loans, and to what the decisions believed where the book has few; losses from loans without a guarantee whose recoveries are told.',
  ruleName: (segment) => `Own book: ${segment}`,
  ruleDescription: (loans, months, caution) =>
    `Estimated from ${loans} loans of the lender's own book over ${months} months, drawn to the whole book${caution === '0' ? '' : `; raised by ${caution} standard deviations for what is not known`}.`,
  insideRules: (folder) => `${folder} is part of the rules, which the desk follows; name another folder.`,
  withheld: (lines) => `Nothing was written: ${lines} lines cannot be read. Mend them or take them out.`,
  tooFew: 'Nothing was written: no line names a loan of this desk.',
  proposed: (paths, rules) => `${rules} rules with their tests: ${paths}. The desk does not follow them.`,
  changesTests: (count) => `They change what ${count} tests of the rules expect; those need a new expectation:`,
  next: 'To use them: copy both files into a copy of the rules, `lance rules check`, `lance rules impact`, then into the rules.',
};
