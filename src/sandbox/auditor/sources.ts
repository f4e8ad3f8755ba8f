/** External sources: what a decision says that one had answered stands in the log before it, as the first answer to a question that was asked. */
import type { AuctionRecord } from '../../domain/records.ts';
import type { RequestCase } from './run.ts';
import type { Report } from './violation.ts';

type Asked = Extract<AuctionRecord, { kind: 'source-asked' }>;
type Answered = Extract<AuctionRecord, { kind: 'source-answered' }>;

/** A new owner asks once more; processes that both think they own a request may each have done so. */
const mostQuestions = 4;

function same(left: object, right: object): boolean {
  const sorted = (value: object) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return sorted(left) === sorted(right);
}

export function checkSources({ requestId, records, evidence }: RequestCase, report: Report): void {
  const asked = new Map<string, Asked[]>();
  const answers = new Map<string, Answered>();
  const decision = evidence.claim ?? evidence.pass;
  for (const record of records) {
    if (record === decision) break;
    if (record.kind !== 'source-asked' && record.kind !== 'source-answered') continue;
    const key = `${record.source} ${record.hash}`;
    if (record.kind === 'source-asked') asked.set(key, [...(asked.get(key) ?? []), record]);
    else if (!answers.has(key) && (record.failure !== null || asked.has(key))) answers.set(key, record);
  }
  for (const [key, questions] of asked)
    if (questions.length > mostQuestions)
      report('source-unheard', requestId, `the source ${key.split(' ')[0]} was asked ${questions.length} times`);
  for (const { source, hash, failure, found } of decision?.trace?.sources ?? []) {
    const answer = answers.get(`${source} ${hash}`);
    if (answer === undefined || answer.failure !== failure || !same(answer.found, found))
      report('source-unheard', requestId, `its decision notes what the log does not have of the source ${source}`);
  }
}
