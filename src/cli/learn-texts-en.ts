/** What `learn` says, in English. */
import type { Texts } from './texts.ts';

export const learnEn: Texts['learn'] = {
  reading: 'reading',
  progress: 'learning',
  unreadable: (file, why) => `${file} cannot be read (${why}); give the path of an NDJSON file.`,
  badLine: (file, line, field) =>
    `${file}, line ${line}: ${field === 'line' ? 'not a JSON object' : `"${field}" is not usable`}; write {"id": "…", "segment": {"name": "value"}, "rates": [numbers]}.`,
  tooFew: (count, least) => `The file has ${count} auctions; at least ${least} are needed.`,
  header: ['break-even', 'auctions', 'mean', '5 %', 'histogram', '5 %'],
  liveHeader: ['break-even', 'live', 'histogram', 'with segments', 'fixed mark-up'],
  regimesHeader: ['break-even', 'live', 'histogram'],
  shifted: (shifts, orders) =>
    `The same live, rates shifted by ${shifts.join(', ')} hundredths over equal parts of the file; mean of ${orders} orders.`,
  about: (count) =>
    `Share of the surplus that somebody would earn who knows the distribution; ${count} auctions in the file. In brackets: the middle 90 % of resampled draws or batches.`,
};
