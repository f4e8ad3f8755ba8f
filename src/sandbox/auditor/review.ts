/** Reviews: a bid that a person was asked about needs an answer that allows it, or that nobody answered and the rules bid all the same. */
import type { AuctionRecord } from '../../domain/records.ts';
import type { RequestCase } from './run.ts';
import type { AuditSettings, Report } from './violation.ts';

type Asked = Extract<AuctionRecord, { kind: 'review-asked' }>;
type Answered = Extract<AuctionRecord, { kind: 'review-answered' }>;

/** The first question before the decision, and the first answer to it in time, by the order of the log. */
function heardBefore(records: readonly AuctionRecord[]): { asked: Asked | null; answer: Answered | null } {
  let asked: Asked | null = null;
  for (const record of records) {
    if (record.kind === 'claimed' || (record.kind === 'passed' && !record.unread)) break;
    if (record.kind === 'review-asked') asked ??= record;
    if (record.kind === 'review-answered' && asked !== null && record.at < asked.until)
      return { asked, answer: record };
  }
  return { asked, answer: null };
}

export function checkReview(
  { requestId, records, evidence, calls }: RequestCase,
  { clockToleranceMs }: AuditSettings,
  report: Report,
): void {
  const { asked, answer } = heardBefore(records);
  const { claim, pass, unsent } = evidence;
  if (claim !== null && calls.length > 0) {
    const noted = claim.trace.review ?? null;
    if (asked === null) {
      // Where no time is left nobody is asked.
      const isOtherwise = noted?.otherwise === 'bid' && noted.until === noted.askedAt && noted.answer === null;
      if (noted !== null && !isOtherwise)
        report('unreviewed', requestId, 'its bid notes a review that the log does not have');
    } else if (answer?.decision === 'pass') {
      report('unreviewed', requestId, 'its bid went out, and a person had refused it');
    } else if (answer === null && asked.otherwise === 'pass') {
      report('unreviewed', requestId, 'its bid went out, and nobody had answered the review');
    } else if (answer === null && claim.trace.decidedAt + clockToleranceMs < asked.until) {
      report('unreviewed', requestId, 'its bid went out before the time for an answer was over');
    }
  }
  for (const { code } of [pass, unsent].flatMap((record) => record ?? [])) {
    if (code === 'review-refused' && answer?.decision !== 'pass')
      report('pass-without-reason', requestId, 'nobody refused it in a review');
    if (code === 'review-expired' && asked === null && (pass?.trace?.review ?? null) === null)
      report('pass-without-reason', requestId, 'no review was asked for');
  }
}
