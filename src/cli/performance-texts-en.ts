/** What is said of loans after their release, in English. */
import type { Texts } from './texts.ts';

export const performanceEn: Texts['performance'] = {
  help: {
    performance: 'how released loans did',
    import: 'sets actual against expected losses, by vintage, segment and gap to the next bid',
    csv: 'CSV: request id, month (2026-11), status (current, late, default, not-started, settled)',
  },
  progress: 'loans',
  unknown: 'the desk does not know this request; write the number of one that it bid on',
  noBid: 'the desk made no bid on this request; leave it out',
  noLoan: 'No line names a loan of this desk.',
  noRival: 'no rival',
  hundredths: 'hundredths of a percent',
  vintage: 'vintage',
  gap: 'gap to the next bid',
  segment: 'segment',
  columns: ['loans', 'released', 'ended, expected', 'ended', 'loss, expected', 'loss', 'loss / expected'],
  about:
    'Expected: by the economics of each decision until the last month known of its loan, what winning says included. Actual: what was outstanding when a loan ended, at the loss share that the decision assumed, for a status does not say how much came back.',
};
