/** What a run of the sandbox amounts to, counted from its record. */
import type { BureauCounts } from './bureau.ts';
import type { DeliveryCounts } from './deliveries.ts';
import type { AnswerFault, WebhookFault } from './faults.ts';
import type { SandboxRecord } from './record.ts';
import type { AnswerCounts } from './server.ts';

export type SandboxSummary = {
  requests: number;
  /** Bodies that arrived for incluir-lance and the queries, by path. */
  calls: Readonly<Record<string, number>>;
  /** What became of those that landed. */
  outcomes: Readonly<Record<string, number>>;
  auctionsEnded: number;
  auctionsWithOurBid: number;
  won: number;
  takenByWorkers: number;
  defaulted: number;
  /** Operations after a bid that the service executed, by path or name, and how many of their subjects more than once. */
  operations: Readonly<Record<string, number>>;
  executedTwice: number;
  /** Questions to the played source, and what befell them. */
  sources: BureauCounts;
  webhooks: { sent: number; acknowledged: number; givenUp: number };
  /** Each fault that has happened, and how often. */
  faults: Readonly<Record<AnswerFault | 'delay' | WebhookFault, number>>;
};

export function summaryOf(
  record: SandboxRecord,
  answers: AnswerCounts,
  sources: BureauCounts,
  sender: DeliveryCounts | null,
): SandboxSummary {
  const ended = record.of('ended');
  const won = record.of('won').filter((entry) => entry.errors.length === 0);
  const { sent = 0, acknowledged = 0, givenUp = 0 } = sender ?? {};
  return {
    requests: record.of('request').length,
    calls: { ...answers.calls },
    outcomes: { ...answers.outcomes },
    auctionsEnded: ended.length,
    auctionsWithOurBid: ended.filter((entry) => entry.ranked.some((bid) => bid.ours)).length,
    won: won.length,
    takenByWorkers: won.filter((entry) => entry.choice.accepted).length,
    defaulted: won.filter((entry) => entry.choice.defaultedInMonth !== null).length,
    ...executedIn(record),
    sources,
    webhooks: { sent, acknowledged, givenUp },
    faults: { ...answers.faults, ...(sender?.faults ?? { duplicate: 0, reorder: 0, late: 0, missing: 0 }) },
  };
}

function executedIn(record: SandboxRecord): Pick<SandboxSummary, 'operations' | 'executedTwice'> {
  const operations: Record<string, number> = {};
  const subjects = new Map<string, number>();
  for (const { operation, subject } of record.of('operation')) {
    operations[operation] = (operations[operation] ?? 0) + 1;
    const what = `${operation} ${subject}`;
    subjects.set(what, (subjects.get(what) ?? 0) + 1);
  }
  return { operations, executedTwice: [...subjects.values()].filter((times) => times > 1).length };
}
